/* SPDX-License-Identifier: Apache-2.0 */
/* Children are compared by address, since they are interned already; hashes are made of ids, never of
 * addresses, so that they are the same from run to run. */
#include "tir/intern.h"

#include <string.h>

static uint32_t hash_list(uint32_t h, const gpuc_expr *list, int n)
{
    for (int i = 0; i < n; i++) h = gpuc_hash_mix(h, list[i]->id);
    return gpuc_hash_mix(h, (uint64_t)n);
}

static uint64_t double_bits(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static uint32_t hash_node(const gpuc_tir_expr *e)
{
    uint32_t h = gpuc_hash_mix((uint32_t)e->kind + 1, (uint64_t)e->dtype.code << 24 |
                                                          (uint64_t)e->dtype.bits << 16 | e->dtype.lanes);
    switch (e->kind) {
    case GPUC_EXPR_VAR: return gpuc_hash_mix(h, e->id);
    case GPUC_EXPR_INT: return gpuc_hash_mix(h, (uint64_t)gpuc_as_int(e)->value);
    case GPUC_EXPR_FLOAT: return gpuc_hash_mix(h, double_bits(gpuc_as_float(e)->value));
    case GPUC_EXPR_CAST: return gpuc_hash_mix(h, gpuc_as_cast(e)->a->id);
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        return hash_list(gpuc_hash_mix(h, n->op), n->a, gpuc_tir_ops[n->op].arity);
    }
    case GPUC_EXPR_LOAD: {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        return hash_list(gpuc_hash_mix(h, n->buffer->id), n->index, n->n);
    }
    case GPUC_EXPR_RAMP:
        return gpuc_hash_mix(gpuc_hash_mix(h, gpuc_as_ramp(e)->start->id), gpuc_as_ramp(e)->stride->id);
    case GPUC_EXPR_BROADCAST: return gpuc_hash_mix(h, gpuc_as_broadcast(e)->a->id);
    case GPUC_EXPR_LANE:
        return gpuc_hash_mix(gpuc_hash_mix(h, gpuc_as_lane(e)->a->id), (uint64_t)gpuc_as_lane(e)->lane);
    case GPUC_EXPR_VECTOR: return hash_list(h, gpuc_as_vector(e)->a, e->dtype.lanes);
    case GPUC_EXPR_CALL: {
        const gpuc_tir_call_node *n = gpuc_as_call(e);
        h = gpuc_hash_mix(h, n->fn);
        if (n->name) h = gpuc_hash_mix(h, gpuc_hash_bytes(n->name, strlen(n->name), 0));
        if (n->buffer) h = gpuc_hash_mix(h, n->buffer->id);
        return hash_list(h, n->args, n->n);
    }
    case GPUC_EXPR_READ: return hash_list(h, gpuc_as_read(e)->index, gpuc_as_read(e)->n);
    case GPUC_EXPR_REDUCE: {
        const gpuc_tir_reduce_node *n = gpuc_as_reduce(e);
        h = hash_list(gpuc_hash_mix(h, (uint64_t)n->value_index), n->source, n->reducer->count);
        for (int i = 0; i < n->num_axes; i++) h = gpuc_hash_mix(h, n->axes[i]->var->id);
        return gpuc_hash_mix(h, n->condition ? n->condition->id : 0);
    }
    case GPUC_EXPR_KIND_COUNT: break;
    }
    GPUC_CHECK(!"an expression of no kind");
    return 0;
}

static bool same_list(const gpuc_expr *a, const gpuc_expr *b, int n)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool equal_nodes(const void *pa, const void *pb)
{
    const gpuc_tir_expr *a = pa, *b = pb;
    if (a->kind != b->kind || !gpuc_dtype_equal(a->dtype, b->dtype)) return false;
    switch (a->kind) {
    case GPUC_EXPR_VAR: return a == b;
    case GPUC_EXPR_INT: return gpuc_as_int(a)->value == gpuc_as_int(b)->value;
    case GPUC_EXPR_FLOAT: return double_bits(gpuc_as_float(a)->value) == double_bits(gpuc_as_float(b)->value);
    case GPUC_EXPR_CAST: return gpuc_as_cast(a)->a == gpuc_as_cast(b)->a;
    case GPUC_EXPR_OP:
        return gpuc_as_op(a)->op == gpuc_as_op(b)->op &&
               same_list(gpuc_as_op(a)->a, gpuc_as_op(b)->a, gpuc_tir_ops[gpuc_as_op(a)->op].arity);
    case GPUC_EXPR_LOAD: {
        const gpuc_tir_load_node *x = gpuc_as_load(a), *y = gpuc_as_load(b);
        return x->buffer == y->buffer && x->n == y->n && same_list(x->index, y->index, x->n);
    }
    case GPUC_EXPR_RAMP:
        return gpuc_as_ramp(a)->start == gpuc_as_ramp(b)->start &&
               gpuc_as_ramp(a)->stride == gpuc_as_ramp(b)->stride;
    case GPUC_EXPR_BROADCAST: return gpuc_as_broadcast(a)->a == gpuc_as_broadcast(b)->a;
    case GPUC_EXPR_LANE:
        return gpuc_as_lane(a)->a == gpuc_as_lane(b)->a && gpuc_as_lane(a)->lane == gpuc_as_lane(b)->lane;
    case GPUC_EXPR_VECTOR: return same_list(gpuc_as_vector(a)->a, gpuc_as_vector(b)->a, a->dtype.lanes);
    case GPUC_EXPR_CALL: {
        const gpuc_tir_call_node *x = gpuc_as_call(a), *y = gpuc_as_call(b);
        return x->fn == y->fn && x->buffer == y->buffer && x->n == y->n && same_name(x->name, y->name) &&
               same_list(x->args, y->args, x->n);
    }
    case GPUC_EXPR_READ: {
        const gpuc_tir_read_node *x = gpuc_as_read(a), *y = gpuc_as_read(b);
        return x->tensor == y->tensor && x->n == y->n && same_list(x->index, y->index, x->n);
    }
    case GPUC_EXPR_REDUCE: {
        const gpuc_tir_reduce_node *x = gpuc_as_reduce(a), *y = gpuc_as_reduce(b);
        return x->reducer == y->reducer && x->num_axes == y->num_axes && x->condition == y->condition &&
               x->value_index == y->value_index && same_list(x->source, y->source, x->reducer->count) &&
               (x->num_axes == 0 || memcmp(x->axes, y->axes, (size_t)x->num_axes * sizeof *x->axes) == 0);
    }
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return false;
}

gpuc_tir_state *gpuc_tir_state_get(gpuc_ctx *ctx)
{
    gpuc_tir_state *state = ctx->slots[GPUC_CTX_TIR];
    if (state) return state;
    state = gpuc_new(ctx, gpuc_tir_state);
    gpuc_intern_init(&state->exprs, ctx, equal_nodes);
    gpuc_strmap_init(&state->reducers, ctx);
    gpuc_map_init(&state->tensors, ctx);
    ctx->slots[GPUC_CTX_TIR] = state;
    return state;
}

void gpuc_tir_operands_get(gpuc_ctx *ctx, gpuc_expr e, gpuc_tir_operands *out)
{
    *out = (gpuc_tir_operands){0};
    out->at = out->own;
    switch (e->kind) {
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_KIND_COUNT: return;
    case GPUC_EXPR_CAST: out->own[out->n++] = gpuc_as_cast(e)->a; return;
    case GPUC_EXPR_OP:
        out->at = gpuc_as_op(e)->a;
        out->n = gpuc_tir_ops[gpuc_as_op(e)->op].arity;
        return;
    case GPUC_EXPR_LOAD:
        out->at = gpuc_as_load(e)->index;
        out->n = gpuc_as_load(e)->n;
        return;
    case GPUC_EXPR_RAMP:
        out->own[out->n++] = gpuc_as_ramp(e)->start;
        out->own[out->n++] = gpuc_as_ramp(e)->stride;
        return;
    case GPUC_EXPR_BROADCAST: out->own[out->n++] = gpuc_as_broadcast(e)->a; return;
    case GPUC_EXPR_LANE: out->own[out->n++] = gpuc_as_lane(e)->a; return;
    case GPUC_EXPR_VECTOR:
        out->at = gpuc_as_vector(e)->a;
        out->n = e->dtype.lanes;
        return;
    case GPUC_EXPR_CALL:
        out->at = gpuc_as_call(e)->args;
        out->n = gpuc_as_call(e)->n;
        return;
    case GPUC_EXPR_READ:
        out->at = gpuc_as_read(e)->index;
        out->n = gpuc_as_read(e)->n;
        return;
    case GPUC_EXPR_REDUCE: {
        const gpuc_tir_reduce_node *n = gpuc_as_reduce(e);
        int count = n->reducer->count;
        gpuc_expr *all = out->own;
        if (count + 1 > (int)(sizeof out->own / sizeof out->own[0]))
            all = gpuc_new_array(ctx, gpuc_expr, count + 1);
        memcpy(all, n->source, (size_t)count * sizeof *all);
        out->n = count;
        if (n->condition) all[out->n++] = n->condition;
        out->at = all;
        return;
    }
    }
}

static uint16_t own_flags(const gpuc_tir_expr *e)
{
    switch (e->kind) {
    case GPUC_EXPR_VAR:
        return GPUC_TIR_HAS_VAR |
               (e->dtype.code == GPUC_DTYPE_INT && e->dtype.bits >= 32 && e->dtype.lanes == 1
                    ? GPUC_TIR_IS_INDEX
                    : 0);
    case GPUC_EXPR_INT: return e->dtype.code == GPUC_DTYPE_INT ? GPUC_TIR_IS_INDEX : 0;
    case GPUC_EXPR_LOAD: return GPUC_TIR_HAS_LOAD;
    case GPUC_EXPR_CALL: {
        gpuc_tir_effect effect = gpuc_tir_intrins[gpuc_as_call(e)->fn].effect;
        if (effect == GPUC_TIR_PURE) return 0;
        return effect == GPUC_TIR_READS ? GPUC_TIR_HAS_LOAD : GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT;
    }
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE: return GPUC_TIR_HAS_TE;
    case GPUC_EXPR_OP:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST: return GPUC_TIR_IS_INDEX;
    case GPUC_EXPR_CAST:
        return e->dtype.code == GPUC_DTYPE_INT && e->dtype.bits >= 32 ? GPUC_TIR_IS_INDEX : 0;
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return 0;
}

/* IS_INDEX must hold of the node and all operands; the other flags add up. */
static void summarise(gpuc_ctx *ctx, gpuc_tir_expr *e)
{
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(ctx, e, &operands);
    uint16_t flags = own_flags(e), depth = 0;
    uint64_t size = 1;
    for (int i = 0; i < operands.n; i++) {
        gpuc_expr a = operands.at[i];
        flags = (uint16_t)((flags | (a->flags & ~GPUC_TIR_IS_INDEX)) & ~(~a->flags & GPUC_TIR_IS_INDEX));
        if (a->depth > depth) depth = a->depth;
        size += a->size;
    }
    e->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    e->flags = flags;
    e->depth = (uint16_t)(depth + 1);
    if (e->depth > GPUC_TIR_MAX_DEPTH)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "an expression is nested more than %d deep; compute a part of it in a tensor of its own",
                   GPUC_TIR_MAX_DEPTH);
}

static const gpuc_expr *copy_list(gpuc_ctx *ctx, const gpuc_expr *list, int n)
{
    return n ? gpuc_ctx_memdup(ctx, list, (size_t)n * sizeof *list) : NULL;
}

static void copy_arrays(gpuc_ctx *ctx, gpuc_tir_expr *e)
{
    if (e->kind == GPUC_EXPR_LOAD) {
        gpuc_tir_load_node *n = (gpuc_tir_load_node *)e;
        n->index = copy_list(ctx, n->index, n->n);
    } else if (e->kind == GPUC_EXPR_VECTOR) {
        gpuc_tir_vector_node *n = (gpuc_tir_vector_node *)e;
        n->a = copy_list(ctx, n->a, e->dtype.lanes);
    } else if (e->kind == GPUC_EXPR_CALL) {
        gpuc_tir_call_node *n = (gpuc_tir_call_node *)e;
        n->args = copy_list(ctx, n->args, n->n);
        if (n->name) n->name = gpuc_ctx_strdup(ctx, n->name);
    } else if (e->kind == GPUC_EXPR_READ) {
        gpuc_tir_read_node *n = (gpuc_tir_read_node *)e;
        n->index = copy_list(ctx, n->index, n->n);
    } else if (e->kind == GPUC_EXPR_REDUCE) {
        gpuc_tir_reduce_node *n = (gpuc_tir_reduce_node *)e;
        n->source = copy_list(ctx, n->source, n->reducer->count);
        n->axes = gpuc_ctx_memdup(ctx, n->axes, (size_t)n->num_axes * sizeof *n->axes);
    }
}

/* The number of a tensor, in the order in which they are read first. */
static uint32_t tensor_number(gpuc_tir_state *state, const struct gpuc_te_tensor *t)
{
    uintptr_t number = (uintptr_t)gpuc_map_get(&state->tensors, t);
    if (number == 0) gpuc_map_set(&state->tensors, t, (void *)(number = state->tensors.count + 1));
    return (uint32_t)number;
}

gpuc_expr gpuc_tir_intern(gpuc_ctx *ctx, const gpuc_tir_expr *probe, size_t size)
{
    gpuc_tir_state *state = gpuc_tir_state_get(ctx);
    uint32_t hash = hash_node(probe);
    if (probe->kind == GPUC_EXPR_READ)
        hash = gpuc_hash_mix(hash, tensor_number(state, gpuc_as_read(probe)->tensor));
    gpuc_expr found = gpuc_intern_find(&state->exprs, probe, hash);
    if (found) return found;
    gpuc_tir_expr *e = gpuc_ctx_memdup(ctx, probe, size);
    summarise(ctx, e);
    copy_arrays(ctx, e);
    e->hash = hash;
    e->id = ctx->next_id++;
    e->ctx = ctx;
    gpuc_intern_add(&state->exprs, e, hash);
    return e;
}
