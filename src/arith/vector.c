/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on ramps and broadcasts, lane by lane where both are linear in the lane. */
#include "arith/private.h"

/* start + lane * stride; false for other vectors. */
static bool linear_lanes(gpuc_analyzer *a, gpuc_expr e, gpuc_expr *start, gpuc_expr *stride)
{
    if (e->kind == GPUC_EXPR_RAMP) {
        *start = ((const gpuc_tir_ramp_node *)e)->start;
        *stride = ((const gpuc_tir_ramp_node *)e)->stride;
        return true;
    }
    if (e->kind != GPUC_EXPR_BROADCAST) return false;
    *start = ((const gpuc_tir_broadcast_node *)e)->a;
    *stride = arith_is_scalar_int(*start) ? gpuc_imm_int(a->ctx, (*start)->dtype, 0) : NULL;
    return *stride != NULL;
}

static gpuc_expr ramp(gpuc_analyzer *a, gpuc_expr start, gpuc_expr stride, int lanes)
{
    return gpuc_tir_ramp(a->ctx, arith_simplify(a, start), arith_simplify(a, stride), lanes);
}

static bool is_exact(gpuc_analyzer *a, gpuc_expr e)
{
    return arith_exact(a, arith_to_poly(a, e));
}

/* (start + lane * stride) by a constant c > 0, if the lanes stay between two multiples of c or the
 * stride is one. */
static gpuc_expr divide_ramp(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr start, gpuc_expr stride, int64_t c,
                             int lanes)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_dtype t = start->dtype;
    int64_t s, span;
    gpuc_expr by = gpuc_imm_int(ctx, t, c);
    bool mod = op == GPUC_TIR_FLOORMOD;
    if (!arith_const(stride, &s) || !gpuc_i64_mul(s, lanes - 1, &span) || s == INT64_MIN) return NULL;
    gpuc_expr q = arith_simplify(a, gpuc_tir_make(ctx, GPUC_TIR_FLOORDIV, start, by, NULL));
    gpuc_expr r = arith_simplify(a, gpuc_tir_make(ctx, GPUC_TIR_FLOORMOD, start, by, NULL));
    if (s % c == 0) {
        if (mod) return gpuc_tir_broadcast(ctx, r, lanes);
        return gpuc_tir_ramp(ctx, q, gpuc_imm_int(ctx, t, s / c), lanes);
    }
    gpuc_bounds b =
        arith_bounds_add(arith_bounds(a, r), (gpuc_bounds){span < 0 ? span : 0, span > 0 ? span : 0});
    /* A remainder that is known modulo some m of c reaches less far than its bounds say. */
    gpuc_modular m = arith_modular(a, start);
    int64_t step = m.coeff ? arith_gcd(m.coeff, c) : c, low = gpuc_floormod(m.remainder, step);
    bool inside = b.min >= 0 && b.max < c;
    if (span >= 0 && low + span < step) inside = true;
    if (span < 0 && low + span >= 0) inside = true;
    if (!inside) return NULL;
    return mod ? gpuc_tir_ramp(ctx, r, stride, lanes) : gpuc_tir_broadcast(ctx, q, lanes);
}

static gpuc_expr compare_lanes(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x0, gpuc_expr xs, gpuc_expr y0,
                               gpuc_expr ys, int lanes)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_expr last = gpuc_imm_int(ctx, x0->dtype, lanes - 1);
    gpuc_expr x1 = gpuc_add(ctx, x0, gpuc_mul(ctx, xs, last)),
              y1 = gpuc_add(ctx, y0, gpuc_mul(ctx, ys, last));
    if (!is_exact(a, x0) || !is_exact(a, x1) || !is_exact(a, y0) || !is_exact(a, y1)) return NULL;
    gpuc_expr first = arith_simplify(a, gpuc_tir_make(ctx, op, x0, y0, NULL));
    gpuc_expr final = arith_simplify(a, gpuc_tir_make(ctx, op, x1, y1, NULL));
    int64_t v, w;
    bool known = arith_const(first, &v) && arith_const(final, &w) && v == w;
    if (xs == ys) known = true; /* both move together */
    if ((op == GPUC_TIR_EQ || op == GPUC_TIR_NE) && xs != ys) return NULL;
    return known ? gpuc_tir_broadcast(ctx, first, lanes) : NULL;
}

static gpuc_expr lanes_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_expr x0, xs, y0, ys;
    int lanes = x->dtype.lanes;
    int64_t c;
    if (!linear_lanes(a, x, &x0, &xs) || !linear_lanes(a, y, &y0, &ys)) return NULL;
    gpuc_ctx *ctx = a->ctx;
    bool y_same = gpuc_tir_is_const(ys, 0), x_same = gpuc_tir_is_const(xs, 0);
    if (op == GPUC_TIR_ADD) return ramp(a, gpuc_add(ctx, x0, y0), gpuc_add(ctx, xs, ys), lanes);
    if (op == GPUC_TIR_SUB) return ramp(a, gpuc_sub(ctx, x0, y0), gpuc_sub(ctx, xs, ys), lanes);
    if (op == GPUC_TIR_MUL && y_same) return ramp(a, gpuc_mul(ctx, x0, y0), gpuc_mul(ctx, xs, y0), lanes);
    if (op == GPUC_TIR_MUL && x_same) return ramp(a, gpuc_mul(ctx, x0, y0), gpuc_mul(ctx, x0, ys), lanes);
    if (op == GPUC_TIR_EQ || op == GPUC_TIR_NE || op == GPUC_TIR_LT || op == GPUC_TIR_LE)
        return compare_lanes(a, op, x0, xs, y0, ys, lanes);
    if (op == GPUC_TIR_MIN || op == GPUC_TIR_MAX) {
        gpuc_expr le = compare_lanes(a, GPUC_TIR_LE, x0, xs, y0, ys, lanes);
        if (le && le->kind == GPUC_EXPR_BROADCAST &&
            arith_const(((const gpuc_tir_broadcast_node *)le)->a, &c))
            return (c != 0) == (op == GPUC_TIR_MIN) ? x : y;
        return NULL;
    }
    if ((op != GPUC_TIR_FLOORDIV && op != GPUC_TIR_FLOORMOD && op != GPUC_TIR_DIV && op != GPUC_TIR_MOD) ||
        !y_same || !arith_const(y0, &c) || c <= 0)
        return NULL;
    gpuc_expr end = gpuc_add(ctx, x0, gpuc_mul(ctx, xs, gpuc_imm_int(ctx, x0->dtype, lanes - 1)));
    if (!is_exact(a, x0) || !is_exact(a, end)) return NULL;
    if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) {
        if (arith_bounds(a, x0).min < 0 || arith_bounds(a, end).min < 0) return NULL;
        op = op == GPUC_TIR_DIV ? GPUC_TIR_FLOORDIV : GPUC_TIR_FLOORMOD;
    }
    return divide_ramp(a, op, x0, xs, c, lanes);
}

gpuc_expr arith_vector_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, gpuc_expr z)
{
    gpuc_expr plain = gpuc_tir_make(a->ctx, op, x, y, z);
    if (plain->kind == GPUC_EXPR_BROADCAST)
        return gpuc_tir_broadcast(a->ctx, arith_simplify(a, ((const gpuc_tir_broadcast_node *)plain)->a),
                                  plain->dtype.lanes);
    if (arith_op_of(plain) != op || gpuc_tir_ops[op].arity != 2 || !arith_is_int_type(x->dtype))
        return arith_op_of(plain) == op ? arith_apply_rules(a, plain) : plain;
    gpuc_expr better = lanes_op(a, op, arith_arg(plain, 0), arith_arg(plain, 1));
    return better ? better : arith_apply_rules(a, plain);
}
