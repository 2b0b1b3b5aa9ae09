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
    return gpuc_tir_ramp(a->ctx, gpuc_arith_simplify_nested(a, start), gpuc_arith_simplify_nested(a, stride),
                         lanes);
}

static bool is_exact(gpuc_analyzer *a, gpuc_expr e)
{
    return gpuc_arith_exact(a, gpuc_arith_to_poly(a, e));
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
    gpuc_expr q = gpuc_arith_simplify_nested(a, gpuc_tir_make(ctx, GPUC_TIR_FLOORDIV, start, by, NULL));
    gpuc_expr r = gpuc_arith_simplify_nested(a, gpuc_tir_make(ctx, GPUC_TIR_FLOORMOD, start, by, NULL));
    if (s % c == 0) {
        if (mod) return gpuc_tir_broadcast(ctx, r, lanes);
        return gpuc_tir_ramp(ctx, q, gpuc_imm_int(ctx, t, s / c), lanes);
    }
    gpuc_bounds b = gpuc_arith_bounds_add(gpuc_arith_bounds(a, r),
                                          (gpuc_bounds){span < 0 ? span : 0, span > 0 ? span : 0});
    /* A remainder that is known modulo some m of c reaches less far than its bounds say. */
    gpuc_modular m = gpuc_arith_modular(a, start);
    int64_t step = m.coeff ? gpuc_arith_gcd(m.coeff, c) : c, low = gpuc_floormod(m.remainder, step);
    bool inside = b.min >= 0 && b.max < c;
    if (span >= 0 && low + span < step) inside = true;
    if (span < 0 && low + span >= 0) inside = true;
    if (!inside) return NULL;
    return mod ? gpuc_tir_ramp(ctx, r, stride, lanes) : gpuc_tir_broadcast(ctx, q, lanes);
}

/* x = x0 + lane * xs, y = y0 + lane * ys */
typedef struct lanes {
    gpuc_tir_op op;
    gpuc_expr x, y, x0, xs, y0, ys;
    int n;
} lanes;

static gpuc_expr compare_lanes(gpuc_analyzer *a, gpuc_tir_op op, const lanes *l)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_expr last = gpuc_imm_int(ctx, l->x0->dtype, l->n - 1);
    gpuc_expr x1 = gpuc_add(ctx, l->x0, gpuc_mul(ctx, l->xs, last)),
              y1 = gpuc_add(ctx, l->y0, gpuc_mul(ctx, l->ys, last));
    if (!is_exact(a, l->x0) || !is_exact(a, x1) || !is_exact(a, l->y0) || !is_exact(a, y1)) return NULL;
    gpuc_expr first = gpuc_arith_simplify_nested(a, gpuc_tir_make(ctx, op, l->x0, l->y0, NULL));
    gpuc_expr final = gpuc_arith_simplify_nested(a, gpuc_tir_make(ctx, op, x1, y1, NULL));
    int64_t v, w;
    bool known = arith_const(first, &v) && arith_const(final, &w) && v == w;
    if (l->xs == l->ys) known = true; /* both move together */
    if ((op == GPUC_TIR_EQ || op == GPUC_TIR_NE) && l->xs != l->ys) return NULL;
    return known ? gpuc_tir_broadcast(ctx, first, l->n) : NULL;
}

static gpuc_expr compare(gpuc_analyzer *a, const lanes *l)
{
    return compare_lanes(a, l->op, l);
}

static gpuc_expr scale_left(gpuc_analyzer *a, const lanes *l)
{
    if (!gpuc_tir_is_const(l->ys, 0)) return NULL;
    return ramp(a, gpuc_mul(a->ctx, l->x0, l->y0), gpuc_mul(a->ctx, l->xs, l->y0), l->n);
}

static gpuc_expr scale_right(gpuc_analyzer *a, const lanes *l)
{
    if (!gpuc_tir_is_const(l->xs, 0)) return NULL;
    return ramp(a, gpuc_mul(a->ctx, l->x0, l->y0), gpuc_mul(a->ctx, l->x0, l->ys), l->n);
}

static gpuc_expr extremum(gpuc_analyzer *a, const lanes *l)
{
    int64_t c;
    gpuc_expr le = compare_lanes(a, GPUC_TIR_LE, l);
    if (!le || le->kind != GPUC_EXPR_BROADCAST || !arith_const(((const gpuc_tir_broadcast_node *)le)->a, &c))
        return NULL;
    return (c != 0) == (l->op == GPUC_TIR_MIN) ? l->x : l->y;
}

static gpuc_expr divide(gpuc_analyzer *a, const lanes *l)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_tir_op op = l->op;
    int64_t c;
    if (!gpuc_tir_is_const(l->ys, 0) || !arith_const(l->y0, &c) || c <= 0) return NULL;
    gpuc_expr end = gpuc_add(ctx, l->x0, gpuc_mul(ctx, l->xs, gpuc_imm_int(ctx, l->x0->dtype, l->n - 1)));
    if (!is_exact(a, l->x0) || !is_exact(a, end)) return NULL;
    if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) {
        if (gpuc_arith_bounds(a, l->x0).min < 0 || gpuc_arith_bounds(a, end).min < 0) return NULL;
        op = op == GPUC_TIR_DIV ? GPUC_TIR_FLOORDIV : GPUC_TIR_FLOORMOD;
    }
    return divide_ramp(a, op, l->x0, l->xs, c, l->n);
}

/* Sums of ramps are folded by the builder. */
static const struct {
    const char *name;
    gpuc_tir_op op;
    gpuc_expr (*apply)(gpuc_analyzer *a, const lanes *l); /* NULL: it does not fit */
} rules[] = {
    {"ramp_times_broadcast", GPUC_TIR_MUL, scale_left},
    {"broadcast_times_ramp", GPUC_TIR_MUL, scale_right},
    {"ramp_eq", GPUC_TIR_EQ, compare},
    {"ramp_ne", GPUC_TIR_NE, compare},
    {"ramp_lt", GPUC_TIR_LT, compare},
    {"ramp_le", GPUC_TIR_LE, compare},
    {"ramp_min", GPUC_TIR_MIN, extremum},
    {"ramp_max", GPUC_TIR_MAX, extremum},
    {"ramp_floordiv", GPUC_TIR_FLOORDIV, divide},
    {"ramp_floormod", GPUC_TIR_FLOORMOD, divide},
    {"ramp_div", GPUC_TIR_DIV, divide},
    {"ramp_mod", GPUC_TIR_MOD, divide},
};
const gpuc_rule_table gpuc_arith_vector_rules = GPUC_RULE_TABLE(rules);

static gpuc_expr lanes_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    lanes l = {.op = op, .x = x, .y = y, .n = x->dtype.lanes};
    if (!linear_lanes(a, x, &l.x0, &l.xs) || !linear_lanes(a, y, &l.y0, &l.ys)) return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        gpuc_expr better = rules[i].op == op ? rules[i].apply(a, &l) : NULL;
        if (!better) continue;
        gpuc_rule_fired(a->ctx, rules[i].name);
        return better;
    }
    return NULL;
}

gpuc_expr gpuc_arith_vector_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, gpuc_expr z)
{
    gpuc_expr plain = gpuc_tir_make(a->ctx, op, x, y, z);
    if (plain->kind == GPUC_EXPR_BROADCAST)
        return gpuc_tir_broadcast(a->ctx,
                                  gpuc_arith_simplify_nested(a, ((const gpuc_tir_broadcast_node *)plain)->a),
                                  plain->dtype.lanes);
    if (arith_op_of(plain) != op || gpuc_tir_ops[op].arity != 2 || !arith_is_int_type(x->dtype))
        return arith_op_of(plain) == op ? gpuc_arith_apply_rules(a, plain) : plain;
    gpuc_expr better = lanes_op(a, op, arith_arg(plain, 0), arith_arg(plain, 1));
    return better ? better : gpuc_arith_apply_rules(a, plain);
}
