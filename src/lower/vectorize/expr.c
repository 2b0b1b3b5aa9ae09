/* SPDX-License-Identifier: Apache-2.0 */
/* Makes vector expressions of the expressions in a vectorized loop. */
#include <string.h>

#include "lower/vectorize/vectorize.h"

gpuc_expr gpuc_lower_vectorize_lane(gpuc_vectorizer *v, gpuc_expr e, int lane)
{
    gpuc_ctx *ctx = v->m.ctx;
    int n = (int)v->lets.count;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, n + 1), *with = gpuc_new_array(ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++) {
        vars[i] = v->lets.at[i];
        with[i] = gpuc_tir_lane(ctx, v->vector_lets.at[i], lane);
    }
    vars[n] = v->var;
    with[n] = gpuc_add(ctx, v->start, gpuc_imm_int(ctx, v->var->dtype, lane));
    return gpuc_arith_simplify(v->a, gpuc_tir_substitute(ctx, e, n + 1, vars, with));
}

static gpuc_expr lane_by_lane(gpuc_vectorizer *v, gpuc_expr e)
{
    gpuc_expr lanes[GPUC_VECTORIZE_MAX_LANES];
    for (int i = 0; i < v->lanes; i++) lanes[i] = gpuc_lower_vectorize_lane(v, e, i);
    return gpuc_tir_vector(v->m.ctx, v->lanes, lanes);
}

gpuc_expr gpuc_lower_vectorize_all_lanes(gpuc_vectorizer *v, gpuc_expr cond)
{
    gpuc_ctx *ctx = v->m.ctx;
    if (cond->flags & GPUC_TIR_HAS_LOAD || v->lets.count > 0) return NULL;
    gpuc_expr first = gpuc_lower_vectorize_lane(v, cond, 0),
              last = gpuc_lower_vectorize_lane(v, cond, v->lanes - 1);
    gpuc_expr tries[3] = {last, first, gpuc_and(ctx, first, last)};
    for (int t = 0; t < 3; t++) {
        size_t mark = gpuc_arith_analyzer_assume(v->a, tries[t]);
        bool all = true;
        for (int i = 0; all && i < v->lanes; i++)
            all = gpuc_arith_prove(v->a, gpuc_lower_vectorize_lane(v, cond, i));
        gpuc_arith_analyzer_rewind(v->a, mark);
        if (all) return tries[t];
    }
    return NULL;
}

bool gpuc_lower_vectorize_stride(gpuc_vectorizer *v, gpuc_expr index, gpuc_expr *start, gpuc_expr *stride)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_expr coeff, rest;
    for (size_t i = 0; i < v->lets.count; i++)
        if (gpuc_tir_uses_var(ctx, index, v->lets.at[i])) return false;
    if (!gpuc_arith_linear(v->a, index, 1, &v->var, &coeff,
                           &rest)) { /* a division by a large number may give the same in all lanes */
        size_t mark = gpuc_arith_analyzer_mark(v->a);
        gpuc_arith_analyzer_bind(v->a, v->var, v->start, gpuc_imm_int(ctx, v->var->dtype, v->lanes));
        index = gpuc_arith_simplify(v->a, index);
        gpuc_arith_analyzer_rewind(v->a, mark);
        if (!gpuc_arith_linear(v->a, index, 1, &v->var, &coeff, &rest)) return false;
    }
    gpuc_expr from = v->start;
    if (!gpuc_dtype_equal(from->dtype, coeff->dtype)) from = gpuc_cast(ctx, coeff->dtype, from);
    *start = gpuc_arith_simplify(v->a, gpuc_add(ctx, rest, gpuc_mul(ctx, coeff, from)));
    *stride = coeff;
    return true;
}

static gpuc_expr widen(gpuc_vectorizer *v, gpuc_expr e)
{
    return e->dtype.lanes == 1 ? gpuc_tir_broadcast(v->m.ctx, e, v->lanes) : e;
}

static gpuc_expr vector_load(gpuc_vectorizer *v, gpuc_expr e)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    gpuc_expr start, stride, index = gpuc_tir_map(&v->m, n->index[0]);
    if (index == n->index[0]) return e;
    if (index->dtype.lanes == 1) return gpuc_tir_load1(v->m.ctx, n->buffer, index);
    if (!gpuc_lower_vectorize_stride(v, n->index[0], &start, &stride)) return lane_by_lane(v, e);
    if (gpuc_tir_is_const(stride, 0)) return gpuc_tir_load1(v->m.ctx, n->buffer, start);
    return gpuc_tir_load1(v->m.ctx, n->buffer, gpuc_tir_ramp(v->m.ctx, start, stride, v->lanes));
}

static gpuc_expr vector_lazy(gpuc_vectorizer *v, gpuc_expr e)
{
    gpuc_ctx *ctx = v->m.ctx;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_expr cond = gpuc_tir_map(&v->m, n->a[0]);
    bool uniform = cond->dtype.lanes == 1 || cond->kind == GPUC_EXPR_BROADCAST;
    bool safe = !((n->a[1]->flags | n->a[2]->flags) & GPUC_TIR_HAS_LOAD);
    if (!uniform && !safe) {
        gpuc_expr all = gpuc_lower_vectorize_all_lanes(v, n->a[0]), rest = lane_by_lane(v, e);
        gpuc_expr none = n->a[2]->flags & GPUC_TIR_HAS_LOAD ? gpuc_not(ctx, n->a[0]) : NULL;
        none = none ? gpuc_lower_vectorize_all_lanes(v, gpuc_arith_simplify(v->a, none)) : NULL;
        if (none) /* two tensors one behind the other */
            rest = gpuc_if_then_else(ctx, gpuc_tir_broadcast(ctx, none, v->lanes),
                                     widen(v, gpuc_tir_map(&v->m, n->a[2])), rest);
        if (!all) return rest;
        gpuc_expr quick = widen(v, gpuc_tir_map(&v->m, n->a[1]));
        return gpuc_if_then_else(ctx, gpuc_tir_broadcast(ctx, all, v->lanes), quick, rest);
    }
    gpuc_expr a = gpuc_tir_map(&v->m, n->a[1]), b = gpuc_tir_map(&v->m, n->a[2]);
    if (cond->dtype.lanes == 1 && a->dtype.lanes == 1 && b->dtype.lanes == 1)
        return gpuc_if_then_else(ctx, cond, a, b);
    return gpuc_tir_make(ctx, uniform ? GPUC_TIR_IF_THEN_ELSE : GPUC_TIR_SELECT, widen(v, cond), widen(v, a),
                         widen(v, b));
}

static gpuc_expr vector_op(gpuc_vectorizer *v, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (n->op == GPUC_TIR_IF_THEN_ELSE) return vector_lazy(v, e);
    gpuc_expr a[3] = {NULL};
    int lanes = 1, arity = gpuc_tir_ops[n->op].arity;
    bool same = true;
    for (int i = 0; i < arity; i++) {
        a[i] = gpuc_tir_map(&v->m, n->a[i]);
        same = same && a[i] == n->a[i];
        if (a[i]->dtype.lanes > 1) lanes = v->lanes;
    }
    if (same) return e;
    for (int i = 0; lanes > 1 && i < arity; i++) a[i] = widen(v, a[i]);
    return gpuc_tir_make(v->m.ctx, n->op, a[0], a[1], a[2]);
}

const gpuc_tir_load_node *gpuc_lower_vectorize_contiguous(gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_LOAD) return NULL;
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    if (n->n != 1 || n->index[0]->kind != GPUC_EXPR_RAMP) return NULL;
    return gpuc_tir_is_const(gpuc_as_ramp(n->index[0])->stride, 1) ? n : NULL;
}

/* A word of a load: words that follow each other are one longer load. */
static gpuc_expr vector_words(gpuc_vectorizer *v, gpuc_expr e)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_expr load = gpuc_as_call(e)->args[0], start, stride, index = gpuc_as_load(load)->index[0];
    int each = load->dtype.lanes;
    gpuc_expr one = gpuc_as_ramp(index)->stride;
    if (!gpuc_lower_vectorize_stride(v, gpuc_as_ramp(index)->start, &start, &stride))
        return lane_by_lane(v, e);
    bool same = gpuc_tir_is_const(stride, 0);
    if (!same && !gpuc_tir_is_const(stride, each)) return lane_by_lane(v, e);
    int words = same ? 1 : v->lanes;
    load = gpuc_tir_load1(ctx, gpuc_as_load(load)->buffer, gpuc_tir_ramp(ctx, start, one, each * words));
    return gpuc_tir_call(ctx, gpuc_dtype_with_lanes(e->dtype, words), GPUC_TIR_CALL_REINTERPRET, NULL, NULL,
                         1, &load);
}

static gpuc_expr vector_call(gpuc_vectorizer *v, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    if (!gpuc_tir_is_value(n->fn)) return lane_by_lane(v, e);
    if (gpuc_tir_is_words(e)) return vector_words(v, e);
    gpuc_expr *a = gpuc_new_array(v->m.ctx, gpuc_expr, n->n);
    int lanes = 1;
    for (int i = 0; i < n->n; i++) {
        a[i] = gpuc_tir_map(&v->m, n->args[i]);
        if (a[i]->dtype.lanes > 1) lanes = v->lanes;
    }
    for (int i = 0; lanes > 1 && i < n->n; i++) a[i] = widen(v, a[i]);
    return gpuc_tir_call(v->m.ctx, gpuc_dtype_with_lanes(e->dtype, lanes), n->fn, NULL, NULL, n->n, a);
}

static bool depends(gpuc_vectorizer *v, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_HAS_VAR)) return false;
    if (gpuc_tir_uses_var(v->m.ctx, e, v->var)) return true;
    for (size_t i = 0; i < v->lets.count; i++)
        if (gpuc_tir_uses_var(v->m.ctx, e, v->lets.at[i])) return true;
    return false;
}

gpuc_expr gpuc_lower_vectorize_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    gpuc_vectorizer *v = (gpuc_vectorizer *)m;
    if (e == v->var) return gpuc_tir_ramp(m->ctx, v->start, gpuc_imm_int(m->ctx, e->dtype, 1), v->lanes);
    for (size_t i = 0; i < v->lets.count; i++)
        if (v->lets.at[i] == e) return v->vector_lets.at[i];
    if (!(e->flags & GPUC_TIR_HAS_VAR)) return e;
    switch (e->kind) {
    case GPUC_EXPR_OP: return vector_op(v, e);
    case GPUC_EXPR_LOAD: return vector_load(v, e);
    case GPUC_EXPR_CALL: return depends(v, e) ? vector_call(v, e) : e;
    case GPUC_EXPR_CAST:
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return gpuc_tir_map_children(m, e);
}
