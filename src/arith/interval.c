/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic intervals, for bound inference. */
#include "arith/private.h"

static const gpuc_interval everything = {NULL, NULL};

typedef struct relaxer {
    gpuc_analyzer *a;
    const gpuc_map *relax;
    gpuc_map memo; /* expr -> gpuc_interval* */
    gpuc_map uses; /* expr -> 1 no, 2 yes */
    int depth;
} relaxer;

typedef struct condition {
    gpuc_tir_mapper m;
    const gpuc_map *relax;
} condition;

static gpuc_interval interval_of(relaxer *r, gpuc_expr e);

static bool has_relaxed(gpuc_expr e, void *arg)
{
    return !gpuc_map_has(((relaxer *)arg)->relax, e);
}

static bool uses_relaxed(relaxer *r, gpuc_expr e)
{
    uintptr_t known = (uintptr_t)gpuc_map_get(&r->uses, e);
    if (!known) {
        known = gpuc_tir_visit(r->a->ctx, e, has_relaxed, r) ? 1 : 2;
        gpuc_map_set(&r->uses, e, (void *)known);
    }
    return known == 2;
}

static gpuc_interval point(gpuc_expr e)
{
    return (gpuc_interval){e, e};
}

static bool is_point(gpuc_interval i)
{
    return i.min && i.min == i.max;
}

/* An end near that of its type only says what the type does. */
static gpuc_expr end_of(gpuc_analyzer *a, gpuc_dtype t, int64_t v)
{
    int64_t far = gpuc_arith_type_bounds(t).max / 4;
    return t.bits >= 32 && (v > far || v < -far) ? NULL : gpuc_imm_int(a->ctx, t, v);
}

static gpuc_interval of_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_bounds b = gpuc_arith_bounds(a, e);
    return (gpuc_interval){end_of(a, e->dtype, b.min), end_of(a, e->dtype, b.max)};
}

static bool overflows(gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    int64_t p, q, r;
    if (!arith_const(x, &p) || !arith_const(y, &q)) return false;
    bool fits = op == GPUC_TIR_ADD   ? gpuc_i64_add(p, q, &r)
                : op == GPUC_TIR_SUB ? gpuc_i64_sub(p, q, &r)
                : op == GPUC_TIR_MUL ? gpuc_i64_mul(p, q, &r)
                                     : (r = 0, true);
    return !fits || !arith_within((gpuc_bounds){r, r}, gpuc_arith_type_bounds(x->dtype));
}

static gpuc_expr op2(relaxer *r, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    if (!x || !y || overflows(op, x, y)) return NULL;
    return gpuc_arith_simplify_nested(r->a, gpuc_tir_make(r->a->ctx, op, x, y, NULL));
}

static gpuc_interval add(relaxer *r, gpuc_interval x, gpuc_interval y)
{
    return (gpuc_interval){op2(r, GPUC_TIR_ADD, x.min, y.min), op2(r, GPUC_TIR_ADD, x.max, y.max)};
}

static gpuc_interval scale(relaxer *r, gpuc_interval x, gpuc_expr by)
{
    gpuc_bounds sign = gpuc_arith_bounds(r->a, by);
    if (is_point(x)) return point(op2(r, GPUC_TIR_MUL, x.min, by));
    if (sign.min >= 0)
        return (gpuc_interval){op2(r, GPUC_TIR_MUL, x.min, by), op2(r, GPUC_TIR_MUL, x.max, by)};
    if (sign.max <= 0)
        return (gpuc_interval){op2(r, GPUC_TIR_MUL, x.max, by), op2(r, GPUC_TIR_MUL, x.min, by)};
    return everything;
}

static bool proven(relaxer *r, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    if (!x || !y) return false;
    gpuc_expr e = gpuc_arith_simplify_nested(r->a, gpuc_tir_make(r->a->ctx, op, x, y, NULL));
    return gpuc_tir_is_const(e, 1);
}

static gpuc_interval remainder_of(relaxer *r, gpuc_interval x, gpuc_expr by)
{
    gpuc_expr zero = gpuc_imm_int(r->a->ctx, by->dtype, 0);
    gpuc_expr one = gpuc_imm_int(r->a->ctx, by->dtype, 1);
    gpuc_expr low = op2(r, GPUC_TIR_FLOORDIV, x.min, by), high = op2(r, GPUC_TIR_FLOORDIV, x.max, by);
    if (low && high && (low == high || proven(r, GPUC_TIR_EQ, low, high)))
        return (gpuc_interval){op2(r, GPUC_TIR_FLOORMOD, x.min, by), op2(r, GPUC_TIR_FLOORMOD, x.max, by)};
    gpuc_expr top = op2(r, GPUC_TIR_SUB, by, one);
    if (proven(r, GPUC_TIR_LE, zero, x.min) && x.max && proven(r, GPUC_TIR_LE, x.max, top)) return x;
    return (gpuc_interval){zero, top};
}

static gpuc_interval divide(relaxer *r, gpuc_expr e)
{
    gpuc_tir_op op = arith_op_of(e);
    gpuc_interval x = interval_of(r, arith_arg(e, 0)), y = interval_of(r, arith_arg(e, 1));
    if (!y.min || y.min != y.max || gpuc_arith_bounds(r->a, y.min).min <= 0) {
        gpuc_expr one = gpuc_imm_int(r->a->ctx, e->dtype, 1);
        if (!y.min || y.min != y.max || !proven(r, GPUC_TIR_LE, one, y.min)) return of_bounds(r->a, e);
    }
    bool mod = op == GPUC_TIR_FLOORMOD || op == GPUC_TIR_MOD;
    if (op == GPUC_TIR_MOD && !(x.min && gpuc_arith_bounds(r->a, x.min).min >= 0)) return of_bounds(r->a, e);
    if (mod) return remainder_of(r, x, y.min);
    return (gpuc_interval){op2(r, op, x.min, y.min), op2(r, op, x.max, y.min)};
}

static gpuc_interval extremum(relaxer *r, gpuc_tir_op op, gpuc_interval x, gpuc_interval y)
{
    gpuc_interval i = {op2(r, op, x.min, y.min), op2(r, op, x.max, y.max)};
    if (op == GPUC_TIR_MIN && !i.max) i.max = x.max ? x.max : y.max;
    if (op == GPUC_TIR_MAX && !i.min) i.min = x.min ? x.min : y.min;
    return i;
}

static gpuc_interval join(gpuc_analyzer *a, gpuc_interval x, gpuc_interval y)
{
    gpuc_interval r;
    r.min = x.min && y.min ? gpuc_arith_simplify_nested(a, gpuc_min(a->ctx, x.min, y.min)) : NULL;
    r.max = x.max && y.max ? gpuc_arith_simplify_nested(a, gpuc_max(a->ctx, x.max, y.max)) : NULL;
    return r;
}

static bool relaxed_to_points(gpuc_expr e, void *arg)
{
    relaxer *r = arg;
    const gpuc_interval *given = gpuc_map_get(r->relax, e);
    return !given || (e->kind == GPUC_EXPR_VAR && is_point(*given));
}

static gpuc_expr at_its_point(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_interval *given = gpuc_map_get(((const condition *)m)->relax, e);
    return given ? given->min : gpuc_tir_map_children(m, e);
}

/* The condition with a point for each variable that is relaxed; NULL if one of them has several values. */
static gpuc_expr fixed_condition(relaxer *r, gpuc_expr cond)
{
    if (!uses_relaxed(r, cond)) return cond;
    if (!gpuc_tir_visit(r->a->ctx, cond, relaxed_to_points, r)) return NULL;
    condition c = {.relax = r->relax};
    gpuc_tir_mapper_init(&c.m, r->a->ctx, at_its_point, NULL);
    return gpuc_tir_map(&c.m, cond);
}

/* One of two points, where that is the same for all values of what is relaxed, is a point. */
static gpuc_interval choice(relaxer *r, gpuc_expr e)
{
    gpuc_interval x = interval_of(r, arith_arg(e, 1)), y = interval_of(r, arith_arg(e, 2));
    gpuc_expr cond = is_point(x) && is_point(y) ? fixed_condition(r, arith_arg(e, 0)) : NULL;
    if (cond) return point(gpuc_arith_simplify_nested(r->a, gpuc_select(r->a->ctx, cond, x.min, y.min)));
    return join(r->a, x, y);
}

/* An atom that has relaxed variables inside. */
static gpuc_interval atom_interval(relaxer *r, gpuc_expr e)
{
    const gpuc_interval *given = gpuc_map_get(r->relax, e);
    if (given) {
        gpuc_interval i = {given->min ? gpuc_arith_simplify_nested(r->a, given->min) : NULL,
                           given->max ? gpuc_arith_simplify_nested(r->a, given->max) : NULL};
        return i;
    }
    if (e->kind == GPUC_EXPR_CAST) {
        gpuc_expr x = ((const gpuc_tir_cast_node *)e)->a;
        if (!arith_is_scalar_int(x) ||
            !arith_within(gpuc_arith_bounds(r->a, x), gpuc_arith_type_bounds(e->dtype)))
            return of_bounds(r->a, e);
        gpuc_interval i = interval_of(r, x);
        if (i.min) i.min = gpuc_arith_simplify_nested(r->a, gpuc_cast(r->a->ctx, e->dtype, i.min));
        if (i.max) i.max = gpuc_arith_simplify_nested(r->a, gpuc_cast(r->a->ctx, e->dtype, i.max));
        return i;
    }
    gpuc_tir_op op = arith_op_of(e);
    if (op == GPUC_TIR_MIN || op == GPUC_TIR_MAX)
        return extremum(r, op, interval_of(r, arith_arg(e, 0)), interval_of(r, arith_arg(e, 1)));
    if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD)
        return divide(r, e);
    if (op == GPUC_TIR_SELECT || op == GPUC_TIR_IF_THEN_ELSE) return choice(r, e);
    return of_bounds(r->a, e);
}

/* Terms without relaxed variables stay together as a symbol; of the others each is relaxed alone, grouped
 * by nothing, since equal monomials are one term. */
static gpuc_interval poly_interval(relaxer *r, const arith_poly *p)
{
    gpuc_analyzer *a = r->a;
    bool fixed[ARITH_MAX_TERMS];
    for (int i = 0; i < p->n; i++) {
        fixed[i] = true;
        for (int j = 0; j < p->at[i].n; j++) fixed[i] = fixed[i] && !uses_relaxed(r, p->at[i].atom[j]);
    }
    gpuc_interval sum = point(gpuc_arith_from_poly(a, gpuc_arith_poly_pick(a, p, fixed, true)));
    for (int i = 0; i < p->n; i++) {
        if (fixed[i]) continue;
        const arith_term *t = &p->at[i];
        gpuc_interval product = point(gpuc_imm_int(a->ctx, p->dtype, 1));
        for (int pass = 0; pass < 2; pass++) /* relaxed atoms first, then what scales them */
            for (int j = 0; j < t->n; j++) {
                if (uses_relaxed(r, t->atom[j]) != (pass == 0)) continue;
                gpuc_interval x = pass == 0 ? atom_interval(r, t->atom[j]) : point(t->atom[j]);
                if (is_point(x))
                    product = scale(r, product, x.min);
                else if (is_point(product))
                    product = scale(r, x, product.min);
                else if (product.min && x.min && gpuc_arith_bounds(a, product.min).min >= 0 &&
                         gpuc_arith_bounds(a, x.min).min >= 0)
                    product = (gpuc_interval){op2(r, GPUC_TIR_MUL, product.min, x.min),
                                              op2(r, GPUC_TIR_MUL, product.max, x.max)};
                else
                    product = everything;
            }
        sum = add(r, sum, scale(r, product, gpuc_imm_int(a->ctx, p->dtype, t->coeff)));
    }
    return sum;
}

static gpuc_interval compute(relaxer *r, gpuc_expr e)
{
    gpuc_analyzer *a = r->a;
    if (!uses_relaxed(r, e)) return point(gpuc_arith_simplify_nested(a, e));
    if (e->dtype.lanes != 1) return everything;
    if (e->dtype.code == GPUC_DTYPE_BOOL)
        return (gpuc_interval){gpuc_imm_int(a->ctx, GPUC_BOOL, 0), gpuc_imm_int(a->ctx, GPUC_BOOL, 1)};
    if (!arith_is_int_type(e->dtype)) return everything;
    if (r->depth > ARITH_MAX_DEPTH / 4) return of_bounds(a, e);
    if (gpuc_map_has(r->relax, e)) return atom_interval(r, e);
    const arith_poly *p = gpuc_arith_to_poly(a, e);
    if (!gpuc_arith_exact(a, p)) return of_bounds(a, e);
    gpuc_interval i = poly_interval(r, p);
    gpuc_interval known = of_bounds(a, e);
    if (!i.min) i.min = known.min;
    if (!i.max) i.max = known.max;
    return i;
}

static gpuc_interval interval_of(relaxer *r, gpuc_expr e)
{
    const gpuc_interval *known = gpuc_map_get(&r->memo, e);
    if (known) return *known;
    r->depth++;
    gpuc_interval i = compute(r, e);
    r->depth--;
    gpuc_interval *kept = gpuc_new(r->a->ctx, gpuc_interval);
    *kept = i;
    gpuc_map_set(&r->memo, e, kept);
    return i;
}

gpuc_interval gpuc_arith_eval_interval(gpuc_analyzer *a, gpuc_expr e, const gpuc_map *relax)
{
    gpuc_arith_begin(a);
    relaxer r = {.a = a, .relax = relax};
    gpuc_map_init(&r.memo, a->ctx);
    gpuc_map_init(&r.uses, a->ctx);
    return interval_of(&r, e);
}

gpuc_interval gpuc_arith_interval_union(gpuc_analyzer *a, gpuc_interval x, gpuc_interval y)
{
    gpuc_arith_begin(a);
    return join(a, x, y);
}
