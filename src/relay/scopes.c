/* SPDX-License-Identifier: Apache-2.0 */
/* Whether variables are bound once and used where they are bound, and whether what is named is there.
 *
 * A node stands in every scope that uses it, so it belongs to the innermost scope that holds all of them. A variable is
 * used well where that scope is inside of the one that binds it. Scopes are as many as lets, one inside of the other: each
 * has a second, longer link to a scope around it (Myers, "An applicative random-access stack", 1983), so that the way to
 * another one takes logarithmic time. */
#include "relay/infer.h"

typedef gpuc_relay_scope scope;

typedef struct binder {
    const gpuc_rexpr *by; /* the node that binds the variable */
    scope *inside;
    uint32_t function; /* number of the function that is being checked, from 1 */
} binder;

typedef struct checker {
    gpuc_ctx *ctx;
    const gpuc_rmodule *module;
    gpuc_code code;
    const char *name; /* of the function */
    uint32_t function;
    gpuc_map scopes;  /* node -> the innermost scope that has all of its uses */
    gpuc_map binders; /* variable -> binder */
    gpuc_map types;   /* that were looked at */
} checker;

static GPUC_NORETURN void complain(checker *k, const char *text)
{
    gpuc_raise(k->ctx, k->code, "in @%s: %s", k->name, text);
}
#define COMPLAIN(k, ...) complain((k), gpuc_ctx_printf((k)->ctx, __VA_ARGS__))

/* ---- Scopes ---- */

static scope *new_scope(checker *k, scope *parent)
{
    return gpuc_relay_scope_inside(k->ctx, parent);
}

gpuc_relay_scope *gpuc_relay_scope_inside(gpuc_ctx *ctx, gpuc_relay_scope *parent)
{
    scope *s = gpuc_new(ctx, scope);
    s->parent = s->jump = s;
    if (!parent) return s;
    scope *far = parent->jump;
    s->parent = parent;
    s->depth = parent->depth + 1;
    s->jump = parent->depth - far->depth == far->depth - far->jump->depth ? far->jump : parent;
    return s;
}

static scope *at_depth(scope *s, int depth)
{
    while (s->depth > depth) s = s->jump->depth >= depth ? s->jump : s->parent;
    return s;
}

gpuc_relay_scope *gpuc_relay_scope_common(gpuc_relay_scope *a, gpuc_relay_scope *b)
{
    int depth = a->depth < b->depth ? a->depth : b->depth;
    a = at_depth(a, depth);
    b = at_depth(b, depth);
    while (a != b) {
        bool far = a->jump != b->jump;
        a = far ? a->jump : a->parent;
        b = far ? b->jump : b->parent;
    }
    return a;
}

static void use(checker *k, const gpuc_rexpr *e, scope *where)
{
    scope *before = gpuc_map_get(&k->scopes, e);
    gpuc_map_set(&k->scopes, e, before ? gpuc_relay_scope_common(before, where) : where);
}

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

static void bind(checker *k, const gpuc_rexpr *by, const gpuc_rexpr *var, scope *inside)
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

static void bind_pattern(checker *k, const gpuc_rexpr *match, const gpuc_rpattern *p, scope *inside)
{
    if (p->var) bind(k, match, p->var, inside);
    if (p->constructor) check_constructor(k, p->constructor);
    if (p->constructor && p->constructor->n != p->n)
        COMPLAIN(k, "a pattern of %s has %d fields, not %d", p->constructor->name, p->n, p->constructor->n);
    for (int i = 0; i < p->n; i++) bind_pattern(k, match, &p->at[i], inside);
}

static void check_var(checker *k, const gpuc_rexpr *var, scope *used)
{
    const binder *b = gpuc_map_get(&k->binders, var);
    if (!used) return;
    if (!b || b->function != k->function) COMPLAIN(k, "%s is not bound", gpuc_relay_describe(k->ctx, var));
    if (used->depth < b->inside->depth || at_depth(used, b->inside->depth) != b->inside)
        COMPLAIN(k, "%s is used outside of its scope: it is bound by %s", gpuc_relay_describe(k->ctx, var),
                 binding_node(b->by));
}

static void check_let(checker *k, const gpuc_rexpr *e, scope *s)
{
    const gpuc_rlet *l = gpuc_as_rlet(e);
    scope *inside = new_scope(k, s);
    bind(k, e, l->var, inside);
    use(k, l->value, l->value->kind == GPUC_REXPR_FUNCTION ? inside : s);
    use(k, l->body, inside);
}

static void check_function(checker *k, const gpuc_rexpr *e, scope *s)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    scope *inside = new_scope(k, s);
    for (int i = 0; i < f->n; i++) bind(k, e, f->params[i], inside);
    check_type(k, f->ret);
    use(k, f->body, inside);
}

static void check_match(checker *k, const gpuc_rexpr *e, scope *s)
{
    const gpuc_rmatch *m = gpuc_as_rmatch(e);
    use(k, m->value, s);
    for (int i = 0; i < m->n; i++) {
        scope *inside = new_scope(k, s);
        bind_pattern(k, e, m->clauses[i].pattern, inside);
        use(k, m->clauses[i].body, inside);
    }
}

/* All uses of e are known. */
static void check(checker *k, const gpuc_rexpr *e)
{
    scope *s = gpuc_map_get(&k->scopes, e);
    switch (e->kind) {
    case GPUC_REXPR_VAR: check_var(k, e, s); return;
    case GPUC_REXPR_GLOBAL:
        if (!gpuc_strmap_has(&k->module->functions, gpuc_as_rglobal(e)->name))
            COMPLAIN(k, "the module has no function '@%s'", gpuc_as_rglobal(e)->name);
        return;
    case GPUC_REXPR_CONSTRUCTOR: check_constructor(k, gpuc_as_rconstructor(e)->constructor); return;
    case GPUC_REXPR_LET: check_let(k, e, s); return;
    case GPUC_REXPR_FUNCTION: check_function(k, e, s); return;
    case GPUC_REXPR_MATCH: check_match(k, e, s); return;
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    gpuc_rexpr *c;
    for (int i = 0; (c = gpuc_relay_operand(e, i)); i++) use(k, c, s);
}

static void check_types(checker *k)
{
    const gpuc_map *all = &k->module->adts.map;
    for (uint32_t i = 0; i < all->count; i++) {
        const gpuc_adt *adt = all->entries[i].value;
        for (int c = 0; c < adt->n; c++)
            if (gpuc_strmap_get(&k->module->constructors, adt->constructors[c].name) != &adt->constructors[c])
                gpuc_raise(k->ctx, k->code, "the constructor %s of %s is defined elsewhere, too",
                           adt->constructors[c].name, adt->name);
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
        gpuc_ptrs order = {0};
        k.name = m->functions.map.entries[i].key;
        k.function = i + 1;
        gpuc_map_init(&k.scopes, ctx);
        gpuc_relay_walk_post_order(ctx, f, &(gpuc_relay_walk){0}, &order);
        use(&k, f, new_scope(&k, NULL));
        for (size_t n = order.count; n-- > 0;) check(&k, order.at[n]);
    }
}
