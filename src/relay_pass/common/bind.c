/* SPDX-License-Identifier: Apache-2.0 */
/* Gives values lets, in the scopes that they belong to, each behind what it uses. */
#include "relay_pass/common/blocks.h"

typedef struct binder {
    gpuc_ctx *ctx;
    bool all;
    gpuc_relay_blocks b;
    gpuc_map shared;            /* nodes that other blocks use than their own */
    gpuc_map names;             /* value of a let -> its variable */
    gpuc_map done;              /* node -> what stands for it: a variable where it has a let */
    gpuc_relay_bindings *lists; /* of each scope */
} binder;

static bool is_atom(const gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_VAR || e->kind == GPUC_REXPR_GLOBAL || e->kind == GPUC_REXPR_OP ||
           e->kind == GPUC_REXPR_CONSTRUCTOR || gpuc_relay_pass_is_kernel(e);
}

/* What gives the value of a let: behind those inside of it. */
static gpuc_rexpr *value_of(const gpuc_rexpr *let)
{
    gpuc_rexpr *value = gpuc_as_rlet(let)->value;
    while (value->kind == GPUC_REXPR_LET) value = gpuc_as_rlet(value)->body;
    return value;
}

static void note(binder *b, const gpuc_rexpr *e)
{
    gpuc_rexpr *c;
    if (e->kind == GPUC_REXPR_LET && !gpuc_map_has(&b->names, value_of(e)))
        gpuc_map_set(&b->names, value_of(e), gpuc_as_rlet(e)->var);
    for (int i = 0; (c = gpuc_relay_pass_part(e, i)); i++)
        if (b->b.from[gpuc_relay_pass_where(&b->b, e, i)->number] != gpuc_relay_pass_block_of(&b->b, c))
            gpuc_map_set(&b->shared, c, b);
}

/* Whether a function is the value of a let and uses the variable: it stays there. */
static bool calls_itself(binder *b, gpuc_rexpr *e)
{
    gpuc_ptrs order = {0};
    const gpuc_rexpr *name = e->kind == GPUC_REXPR_FUNCTION ? gpuc_map_get(&b->names, e) : NULL;
    if (name) gpuc_relay_post_order(b->ctx, e, true, &order);
    for (size_t i = 0; i < order.count; i++)
        if (order.at[i] == name) return true;
    return false;
}

static bool gets_let(binder *b, gpuc_rexpr *e)
{
    if (is_atom(e) || e->kind == GPUC_REXPR_LET) return !b->all && !is_atom(e) && gpuc_map_has(&b->shared, e);
    if (b->all) return true;
    return e->kind != GPUC_REXPR_CONSTANT && gpuc_map_has(&b->shared, e) && !calls_itself(b, e);
}

static gpuc_relay_bindings *list_of(binder *b, const gpuc_relay_scope *scope)
{
    return &b->lists[scope->number];
}

/* A let becomes a part of the list of its scope. */
static void flatten(binder *b, const gpuc_rexpr *let)
{
    const gpuc_rlet *l = gpuc_as_rlet(let);
    gpuc_relay_bindings *to = list_of(b, gpuc_relay_pass_scope_of(&b->b, let)),
                        *from = list_of(b, gpuc_relay_pass_where(&b->b, let, 1));
    gpuc_rexpr *value = gpuc_map_get(&b->done, l->value);
    if (value != l->var) gpuc_relay_pass_add_binding(b->ctx, to, l->var, value);
    for (size_t i = 0; i < from->vars.count; i++)
        gpuc_relay_pass_add_binding(b->ctx, to, from->vars.at[i], from->values.at[i]);
    gpuc_map_set(&b->done, let, gpuc_map_get(&b->done, l->body));
}

static void rebuild(binder *b, gpuc_rexpr *e, bool root)
{
    int n = gpuc_relay_pass_num_parts(e);
    gpuc_rexpr **parts = gpuc_new_array(b->ctx, gpuc_rexpr *, n + 1);
    if (e->kind == GPUC_REXPR_LET && b->all) {
        flatten(b, e);
        return;
    }
    const gpuc_relay_scope *scope = gpuc_relay_pass_scope_of(&b->b, e);
    for (int i = 0; i < n; i++) {
        const gpuc_relay_scope *where = gpuc_relay_pass_where(&b->b, e, i);
        parts[i] = gpuc_map_get(&b->done, gpuc_relay_pass_part(e, i));
        if (where != scope) parts[i] = gpuc_relay_pass_bind(b->ctx, list_of(b, where), parts[i]);
    }
    gpuc_rexpr *now = gpuc_relay_pass_with_parts(b->ctx, e, parts);
    if (!root && gets_let(b, e)) {
        gpuc_rexpr *name = b->all ? gpuc_map_get(&b->names, e) : NULL;
        if (!name) name = gpuc_relay_pass_var_for(b->ctx, "x", e);
        gpuc_relay_pass_add_binding(b->ctx, list_of(b, scope), name, now);
        now = name;
    }
    gpuc_map_set(&b->done, e, now);
}

void gpuc_relay_pass_bind_values(gpuc_relay_pass_ctx *p, bool all)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_rexpr *f = functions->entries[i].value;
        if (gpuc_relay_pass_is_kernel(f)) continue;
        binder b = {.ctx = p->ctx, .all = all};
        f = gpuc_relay_pass_delay_shared(p->ctx, f);
        gpuc_relay_pass_find_blocks(p->ctx, f, &b.b);
        b.lists = gpuc_new_array(p->ctx, gpuc_relay_bindings, b.b.scopes.all.count);
        gpuc_map_init(&b.shared, p->ctx);
        gpuc_map_init(&b.names, p->ctx);
        gpuc_map_init(&b.done, p->ctx);
        const gpuc_ptrs *order = &b.b.order;
        for (size_t k = 0; k < order->count; k++) note(&b, order->at[k]);
        for (size_t k = 0; k < order->count; k++) rebuild(&b, order->at[k], order->at[k] == f);
        functions->entries[i].value = gpuc_map_get(&b.done, f);
    }
}
