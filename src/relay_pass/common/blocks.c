/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the blocks of a function, and puts lets into them. */
#include "relay_pass/common/blocks.h"

gpuc_rexpr *gpuc_relay_pass_part(const gpuc_rexpr *e, int i)
{
    if (e->kind == GPUC_REXPR_LET)
        return i == 0 ? gpuc_as_rlet(e)->value : i == 1 ? gpuc_as_rlet(e)->body : NULL;
    if (e->kind == GPUC_REXPR_FUNCTION)
        return i == 0 && !gpuc_relay_pass_is_kernel(e) ? gpuc_as_rfunction(e)->body : NULL;
    return gpuc_relay_operand(e, i);
}

int gpuc_relay_pass_num_parts(const gpuc_rexpr *e)
{
    int n = 0;
    while (gpuc_relay_pass_part(e, n)) n++;
    return n;
}

bool gpuc_relay_pass_begins(const gpuc_rexpr *e, int i)
{
    return e->kind == GPUC_REXPR_FUNCTION ||
           (i > 0 && (e->kind == GPUC_REXPR_IF || e->kind == GPUC_REXPR_MATCH));
}

const gpuc_relay_scope *gpuc_relay_pass_scope_of(const gpuc_relay_blocks *b, const gpuc_rexpr *e)
{
    return gpuc_map_get(&b->scopes.of, e);
}

const gpuc_relay_scope *gpuc_relay_pass_block_of(const gpuc_relay_blocks *b, const gpuc_rexpr *e)
{
    return b->from[gpuc_relay_pass_scope_of(b, e)->number];
}

const gpuc_relay_scope *gpuc_relay_pass_where(const gpuc_relay_blocks *b, const gpuc_rexpr *e, int i)
{
    gpuc_relay_scope *const *inside = gpuc_map_get(&b->scopes.inside, e);
    if (e->kind == GPUC_REXPR_LET && i == 1) return inside[0];
    if (gpuc_relay_pass_begins(e, i)) return inside[e->kind == GPUC_REXPR_FUNCTION ? 0 : i - 1];
    return gpuc_relay_pass_scope_of(b, e);
}

static gpuc_rexpr *part_of(const gpuc_rexpr *e, int i, void *arg)
{
    (void)arg;
    return gpuc_relay_pass_part(e, i);
}

void gpuc_relay_pass_find_blocks(gpuc_ctx *ctx, gpuc_rexpr *function, gpuc_relay_blocks *out)
{
    *out = (gpuc_relay_blocks){0};
    gpuc_relay_find_scopes(ctx, function, true, &out->scopes);
    gpuc_relay_walk_post_order(ctx, function, &(gpuc_relay_walk){.child = part_of}, &out->order);
    const gpuc_ptrs *all = &out->scopes.all, *order = &out->scopes.order;
    out->from = gpuc_new_array(ctx, const gpuc_relay_scope *, all->count);
    out->owner = gpuc_new_array(ctx, gpuc_rexpr *, all->count);
    for (size_t i = 0; i < order->count; i++) {
        gpuc_rexpr *e = order->at[i];
        gpuc_relay_scope *const *inside = gpuc_map_get(&out->scopes.inside, e);
        for (int k = 0; inside && inside[k]; k++) out->owner[inside[k]->number] = e;
    }
    for (size_t i = 0; i < all->count; i++) {
        const gpuc_relay_scope *s = all->at[i];
        bool goes_on = out->owner[i] && out->owner[i]->kind == GPUC_REXPR_LET;
        out->from[i] = goes_on ? out->from[s->parent->number] : s;
    }
}

static gpuc_rexpr *remade(gpuc_ctx *ctx, const gpuc_rexpr *e, gpuc_rexpr *const *parts)
{
    switch (e->kind) {
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        gpuc_rexpr *call = gpuc_relay_call(ctx, parts[0], c->attrs, c->n, parts + 1);
        ((gpuc_rcall *)call)->num_type_args = c->num_type_args;
        ((gpuc_rcall *)call)->type_args = c->type_args;
        return call;
    }
    case GPUC_REXPR_TUPLE: return gpuc_relay_tuple(ctx, gpuc_as_rtuple(e)->n, parts);
    case GPUC_REXPR_GET: return gpuc_relay_get(ctx, parts[0], gpuc_as_rget(e)->index);
    case GPUC_REXPR_LET: return gpuc_relay_let(ctx, gpuc_as_rlet(e)->var, parts[0], parts[1]);
    case GPUC_REXPR_FUNCTION:
        return gpuc_relay_function_with(ctx, gpuc_as_rfunction(e), gpuc_as_rfunction(e)->params, parts[0]);
    case GPUC_REXPR_IF: return gpuc_relay_if(ctx, parts[0], parts[1], parts[2]);
    case GPUC_REXPR_MATCH: {
        const gpuc_rmatch *m = gpuc_as_rmatch(e);
        gpuc_rclause *clauses = gpuc_ctx_memdup(ctx, m->clauses, sizeof *clauses * (size_t)m->n);
        for (int i = 0; i < m->n; i++) clauses[i].body = parts[i + 1];
        return gpuc_relay_match(ctx, parts[0], m->n, clauses, m->partial);
    }
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return NULL;
}

gpuc_rexpr *gpuc_relay_pass_with_parts(gpuc_ctx *ctx, gpuc_rexpr *e, gpuc_rexpr *const *parts)
{
    bool same = true;
    for (int i = 0; gpuc_relay_pass_part(e, i); i++) same = same && gpuc_relay_pass_part(e, i) == parts[i];
    if (same) return e;
    uint32_t first_id = ctx->next_id;
    gpuc_rexpr *out = remade(ctx, e, parts);
    if (out->id < first_id) return out; /* a field of a tuple that is one of the parts */
    out->type = e->type;
    out->values = e->values;
    out->span = e->span;
    return gpuc_relay_with_source(ctx, out, e->source);
}

void gpuc_relay_pass_add_binding(gpuc_ctx *ctx, gpuc_relay_bindings *list, gpuc_rexpr *var, gpuc_rexpr *value)
{
    gpuc_ptrs_push(ctx, &list->vars, var);
    gpuc_ptrs_push(ctx, &list->values, value);
}

gpuc_rexpr *gpuc_relay_pass_bind(gpuc_ctx *ctx, const gpuc_relay_bindings *list, gpuc_rexpr *body)
{
    for (size_t i = list->vars.count; i-- > 0;)
        body = gpuc_relay_let(ctx, list->vars.at[i], list->values.at[i], body);
    return body;
}

gpuc_rexpr *gpuc_relay_pass_var_for(gpuc_ctx *ctx, const char *name, const gpuc_rexpr *e)
{
    bool written = gpuc_relay_pass_is_generic(e->type) && e->kind != GPUC_REXPR_FUNCTION;
    gpuc_rexpr *var = gpuc_relay_var(ctx, name, written ? e->type : NULL);
    var->type = e->type;
    var->values = e->values;
    return var;
}
