/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the expression for some lanes of a vector expression. */
#include "lower/common/lanes.h"

typedef struct slicer {
    gpuc_ctx *ctx;
    int first, count;
    const gpuc_map *vars;
    gpuc_map memo;
} slicer;

static gpuc_expr slice(slicer *s, gpuc_expr e);

static gpuc_expr slice_op(slicer *s, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_expr a[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3 && n->a[i]; i++) a[i] = slice(s, n->a[i]);
    return gpuc_tir_make(s->ctx, n->op, a[0], a[1], a[2]);
}

static gpuc_expr slice_ramp(slicer *s, gpuc_expr e)
{
    const gpuc_tir_ramp_node *n = gpuc_as_ramp(e);
    gpuc_expr skip = gpuc_mul(s->ctx, n->stride, gpuc_imm_int(s->ctx, n->stride->dtype, s->first));
    return gpuc_tir_ramp(s->ctx, gpuc_add(s->ctx, n->start, skip), n->stride, s->count);
}

static gpuc_expr slice_load(slicer *s, gpuc_expr e)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    gpuc_expr *index = gpuc_new_array(s->ctx, gpuc_expr, n->n);
    for (int i = 0; i < n->n; i++)
        index[i] = n->index[i]->dtype.lanes > 1 ? slice(s, n->index[i]) : n->index[i];
    return gpuc_tir_load(s->ctx, n->buffer, n->n, index);
}

static gpuc_expr slice_vector(slicer *s, gpuc_expr e)
{
    gpuc_expr *a = gpuc_new_array(s->ctx, gpuc_expr, s->count);
    for (int i = 0; i < s->count; i++) a[i] = gpuc_as_vector(e)->a[s->first + i];
    return gpuc_tir_vector(s->ctx, s->count, a);
}

/* Lane by lane from the parts that hold them. */
static gpuc_expr slice_var(slicer *s, gpuc_expr e)
{
    const gpuc_cut_var *cut = s->vars ? gpuc_map_get(s->vars, e) : NULL;
    gpuc_expr *a = gpuc_new_array(s->ctx, gpuc_expr, s->count);
    for (int i = 0; i < s->count; i++) {
        int lane = s->first + i, part = 0;
        if (!cut) {
            a[i] = gpuc_tir_lane(s->ctx, e, lane);
            continue;
        }
        while (lane >= cut->parts[part]->dtype.lanes) lane -= cut->parts[part++]->dtype.lanes;
        a[i] = gpuc_tir_lane(s->ctx, cut->parts[part], lane);
    }
    return gpuc_tir_vector(s->ctx, s->count, a);
}

static gpuc_expr slice_call(slicer *s, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_expr *a = gpuc_new_array(s->ctx, gpuc_expr, n->n + s->count);
    bool same_lanes = true;
    if (gpuc_tir_is_words(e)) {
        slicer part = {.ctx = s->ctx, .vars = s->vars};
        int each = n->args[0]->dtype.lanes / e->dtype.lanes;
        part.first = s->first * each;
        part.count = s->count * each;
        gpuc_map_init(&part.memo, s->ctx);
        a[0] = slice(&part, n->args[0]);
        return gpuc_tir_call(s->ctx, gpuc_dtype_with_lanes(e->dtype, s->count), n->fn, NULL, NULL, 1, a);
    }
    for (int i = 0; i < n->n; i++) same_lanes = same_lanes && n->args[i]->dtype.lanes == e->dtype.lanes;
    if (!same_lanes) { /* reinterpret of few wide lanes as many narrow ones: the value stays whole */
        for (int i = 0; i < s->count; i++) a[i] = gpuc_tir_lane(s->ctx, e, s->first + i);
        return gpuc_tir_vector(s->ctx, s->count, a);
    }
    for (int i = 0; i < n->n; i++) a[i] = slice(s, n->args[i]);
    return gpuc_tir_call(s->ctx, gpuc_dtype_with_lanes(e->dtype, s->count), n->fn, n->name, n->buffer, n->n,
                         a);
}

static gpuc_expr slice_once(slicer *s, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_CAST:
        return gpuc_cast(s->ctx, gpuc_dtype_with_lanes(e->dtype, s->count), slice(s, gpuc_as_cast(e)->a));
    case GPUC_EXPR_OP: return slice_op(s, e);
    case GPUC_EXPR_LOAD: return slice_load(s, e);
    case GPUC_EXPR_RAMP: return slice_ramp(s, e);
    case GPUC_EXPR_BROADCAST: return gpuc_tir_broadcast(s->ctx, gpuc_as_broadcast(e)->a, s->count);
    case GPUC_EXPR_VECTOR: return slice_vector(s, e);
    case GPUC_EXPR_VAR: return slice_var(s, e);
    case GPUC_EXPR_CALL: return slice_call(s, e);
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    GPUC_CHECK(!"an expression of one lane has no slice");
    return e;
}

static gpuc_expr slice(slicer *s, gpuc_expr e)
{
    gpuc_expr r = gpuc_map_get(&s->memo, e);
    if (r) return r;
    r = slice_once(s, e);
    gpuc_map_set(&s->memo, e, (void *)r);
    return r;
}

gpuc_expr gpuc_lower_slice(gpuc_ctx *ctx, gpuc_expr e, int first, int count, const gpuc_map *vars)
{
    if (e->dtype.lanes == 1) return e;
    if (first == 0 && count == e->dtype.lanes && !vars) return e;
    slicer s = {.ctx = ctx, .first = first, .count = count, .vars = vars};
    gpuc_map_init(&s.memo, ctx);
    return slice(&s, e);
}

gpuc_expr gpuc_lower_contiguous(gpuc_expr index)
{
    if (index->kind != GPUC_EXPR_RAMP || !gpuc_tir_is_const(gpuc_as_ramp(index)->stride, 1)) return NULL;
    return gpuc_as_ramp(index)->start;
}
