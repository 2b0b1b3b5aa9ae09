/* SPDX-License-Identifier: Apache-2.0 */
/* Whether variables are bound once and used where they are bound, and whether what is named is there. A variable is used
 * well where its scope (relay/scope_tree.h) is inside of the one that binds it. */
#include "relay/infer.h"
#include "relay/scope_tree.h"

typedef struct binder {
    const gpuc_rexpr *by; /* the node that binds the variable */
    const gpuc_relay_scope *inside;
    uint32_t function; /* number of the function that is being checked, from 1 */
} binder;

typedef struct checker {
    gpuc_ctx *ctx;
    const gpuc_rmodule *module;
    gpuc_code code;
    const char *where; /* "@main", "type List": what is checked */
    uint32_t function;
    gpuc_relay_scopes scopes; /* of its nodes */
    gpuc_map binders;         /* variable -> binder */
    gpuc_map types;           /* that were looked at */
} checker;

static GPUC_NORETURN void complain(checker *k, const char *text)
{
    gpuc_raise(k->ctx, k->code, "in %s: %s", k->where, text);
}
#define COMPLAIN(k, ...) complain((k), gpuc_ctx_printf((k)->ctx, __VA_ARGS__))

/* ---- Names ---- */

static const char *binding_node(const gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_LET ? "a let" : e->kind == GPUC_REXPR_MATCH ? "a match" : "a function";
}

static void check_type(checker *k, const gpuc_rtype *t)
{
    if (!t || gpuc_map_has(&k->types, t)) return;
    gpuc_map_set(&k->types, t, k);
    if (t->adt && gpuc_strmap_get(&k->module->adts, t->adt->name) != t->adt)
        COMPLAIN(k, "the data type %s is not one of the module", t->adt->name);
    for (int i = 0; i < t->n; i++) check_type(k, t->at[i]);
    check_type(k, t->ret);
}

static void check_constructor(checker *k, const gpuc_constructor *c)
{
    if (gpuc_strmap_get(&k->module->constructors, c->name) != c)
        COMPLAIN(k, "the constructor %s is not one of the module", c->name);
}

static void bind(checker *k, const gpuc_rexpr *by, const gpuc_rexpr *var, const gpuc_relay_scope *inside)
{
    binder *b = gpuc_map_get(&k->binders, var);
    if (b && (b->by != by || b->function == k->function))
        COMPLAIN(k, "%s is bound twice: %s%s%s", gpuc_relay_describe(k->ctx, var), binding_node(b->by),
                 b->by == by ? " has it twice" : " has it, and ", b->by == by ? "" : binding_node(by));
    if (!b) b = gpuc_new(k->ctx, binder);
    *b = (binder){by, inside, k->function};
    gpuc_map_set(&k->binders, var, b);
    check_type(k, gpuc_as_rvar(var)->annotation);
}

/* ---- Nodes ---- */

static void bind_pattern(checker *k, const gpuc_rexpr *match, const gpuc_rpattern *p,
                         const gpuc_relay_scope *inside)
{
    if (p->var) bind(k, match, p->var, inside);
    if (p->constructor) check_constructor(k, p->constructor);
    if (p->constructor && p->constructor->n != p->n)
        COMPLAIN(k, "a pattern of %s has %d fields, not %d", p->constructor->name, p->n, p->constructor->n);
    for (int i = 0; i < p->n; i++) bind_pattern(k, match, &p->at[i], inside);
}

static void check_var(checker *k, const gpuc_rexpr *var)
{
    const binder *b = gpuc_map_get(&k->binders, var);
    const gpuc_relay_scope *used = gpuc_map_get(&k->scopes.of, var);
    if (!used) return;
    if (!b || b->function != k->function) COMPLAIN(k, "%s is not bound", gpuc_relay_describe(k->ctx, var));
    if (!gpuc_relay_scope_is_in(used, b->inside))
        COMPLAIN(k, "%s is used outside of its scope: it is bound by %s", gpuc_relay_describe(k->ctx, var),
                 binding_node(b->by));
}

/* An operator has no type before it is called. */
static void check_operators(checker *k, const gpuc_rexpr *e)
{
    gpuc_rexpr *c;
    for (int i = e->kind == GPUC_REXPR_CALL; (c = gpuc_relay_operand(e, i)); i++)
        if (c->kind == GPUC_REXPR_OP)
            COMPLAIN(k, "the operator %s is a value here: call it, in a function if need be",
                     gpuc_relay_describe(k->ctx, c));
}

/* What uses e was looked at. */
static void check(checker *k, const gpuc_rexpr *e)
{
    gpuc_relay_scope *const *inside = gpuc_map_get(&k->scopes.inside, e);
    check_operators(k, e);
    switch (e->kind) {
    case GPUC_REXPR_VAR: check_var(k, e); return;
    case GPUC_REXPR_GLOBAL:
        if (!gpuc_strmap_has(&k->module->functions, gpuc_as_rglobal(e)->name))
            COMPLAIN(k, "the module has no function '@%s'", gpuc_as_rglobal(e)->name);
        return;
    case GPUC_REXPR_CONSTRUCTOR: check_constructor(k, gpuc_as_rconstructor(e)->constructor); return;
    case GPUC_REXPR_LET: bind(k, e, gpuc_as_rlet(e)->var, inside[0]); return;
    case GPUC_REXPR_FUNCTION: {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        for (int i = 0; i < f->n; i++) bind(k, e, f->params[i], inside[0]);
        check_type(k, f->ret);
        return;
    }
    case GPUC_REXPR_MATCH:
        for (int i = 0; i < gpuc_as_rmatch(e)->n; i++)
            bind_pattern(k, e, gpuc_as_rmatch(e)->clauses[i].pattern, inside[i]);
        return;
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_KIND_COUNT: break;
    }
}

static void check_types(checker *k)
{
    const gpuc_map *all = &k->module->adts.map;
    for (uint32_t i = 0; i < all->count; i++) {
        const gpuc_adt *adt = all->entries[i].value;
        k->where = gpuc_ctx_printf(k->ctx, "type %s", adt->name);
        for (int c = 0; c < adt->n; c++) {
            const gpuc_constructor *one = &adt->constructors[c];
            if (gpuc_strmap_get(&k->module->constructors, one->name) != one)
                COMPLAIN(k, "the constructor %s is defined elsewhere, too", one->name);
            for (int f = 0; f < one->n; f++) check_type(k, one->fields[f]);
        }
    }
}

void gpuc_relay_check_scopes(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code)
{
    checker k = {.ctx = ctx, .module = m, .code = code};
    gpuc_map_init(&k.binders, ctx);
    gpuc_map_init(&k.types, ctx);
    check_types(&k);
    for (uint32_t i = 0; i < m->functions.map.count; i++) {
        gpuc_rexpr *f = m->functions.map.entries[i].value;
        k.where = gpuc_ctx_printf(ctx, "@%s", (const char *)m->functions.map.entries[i].key);
        k.function = i + 1;
        gpuc_relay_find_scopes(ctx, f, false, &k.scopes);
        const gpuc_ptrs *order = &k.scopes.order;
        for (size_t n = order->count; n-- > 0;) check(&k, order->at[n]);
    }
}
