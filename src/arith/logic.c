/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, && and ||, selects. */
#include "arith/private.h"

static gpuc_expr truth(gpuc_analyzer *a, bool value)
{
    return gpuc_imm_int(a->ctx, GPUC_BOOL, value);
}

/* Splits p into what is added and what is taken away, both as sums of positive terms. */
static void split_sides(gpuc_analyzer *a, const arith_poly *p, const arith_poly **plus,
                        const arith_poly **minus)
{
    bool positive[ARITH_MAX_TERMS], negative[ARITH_MAX_TERMS];
    for (int i = 0; i < p->n; i++) {
        positive[i] = p->at[i].coeff > 0;
        negative[i] = !positive[i];
    }
    *plus = arith_poly_pick(a, p, positive, false);
    *minus = arith_poly_scale(a, arith_poly_pick(a, p, negative, false), -1);
}

/* p >= 0, with the constant where it reads best. */
static gpuc_expr write_nonnegative(gpuc_analyzer *a, const arith_poly *p)
{
    const arith_poly *plus, *minus;
    split_sides(a, p, &plus, &minus);
    if (!minus || p->c == INT64_MAX || p->c == INT64_MIN) return NULL;
    int64_t c = p->c;
    gpuc_tir_op op = GPUC_TIR_LE;
    if (plus->n == 0 || (minus->n > 0 && (c == -1 || c > 0))) { /* minus < plus + c + 1 */
        op = GPUC_TIR_LT;
        plus = arith_poly_shift(a, plus, c + 1);
    } else if (minus->n == 0 || c > -1) { /* -c <= plus */
        minus = arith_poly_shift(a, minus, -c);
    } else { /* minus + (-c - 1) < plus */
        op = GPUC_TIR_LT;
        minus = arith_poly_shift(a, minus, -c - 1);
    }
    if (!plus || !minus || !arith_writable(a, plus) || !arith_writable(a, minus)) return NULL;
    return gpuc_tir_make(a->ctx, op, arith_from_poly(a, minus), arith_from_poly(a, plus), NULL);
}

/* y // d <= r and y // d >= r, where d is a size: d times as much of y. */
static const arith_poly *open_quotient(gpuc_analyzer *a, const arith_poly *p)
{
    int64_t c;
    for (int i = 0; i < p->n && p->n <= 2; i++) {
        const arith_term *t = &p->at[i];
        if (t->n != 1 || (t->coeff != 1 && t->coeff != -1) || arith_op_of(t->atom[0]) != GPUC_TIR_FLOORDIV ||
            arith_const(arith_arg(t->atom[0], 1), &c))
            continue;
        const arith_poly *y = arith_to_poly(a, arith_arg(t->atom[0], 0)),
                         *d = arith_to_poly(a, arith_arg(t->atom[0], 1)),
                         *rest = arith_poly_add(a, p, arith_poly_term(a, p, t, -1, t->coeff), -1),
                         *below = arith_poly_shift(a, d, -1);
        if (d->n != 1 || d->c || !below || !arith_nonnegative(a, below)) continue;
        if (t->coeff < 0) rest = arith_poly_shift(a, rest, 1);
        const arith_poly *end = rest ? arith_poly_mul(a, rest, d) : NULL,
                         *out = end ? arith_poly_add(a, end, y, t->coeff) : NULL;
        if (out && t->coeff < 0) out = arith_poly_shift(a, out, -1);
        if (out && arith_exact(a, out)) return out;
    }
    return NULL;
}

static gpuc_expr compare_order(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    const arith_poly *d = arith_difference(a, y, x);
    if (d && op == GPUC_TIR_LT) d = arith_poly_shift(a, d, -1);
    if (!d) return NULL;
    if (arith_nonnegative(a, d)) return truth(a, true);
    const arith_poly *opposite = arith_poly_shift(a, arith_poly_scale(a, d, -1), -1);
    if (opposite && arith_nonnegative(a, opposite)) return truth(a, false);
    const arith_poly *r = d;
    for (int iteration = 0; iteration < 4; iteration++) {
        const arith_poly *s = arith_poly_reduce_sign(a, r);
        if (s == r) s = open_quotient(a, r);
        if (!s || s->n == 0) break;
        r = s;
    }
    return write_nonnegative(a, r);
}

static gpuc_expr compare_equal(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    bool equal = op == GPUC_TIR_EQ;
    const arith_poly *p = arith_to_poly(a, x), *q = arith_to_poly(a, y);
    if (arith_poly_equal(p, q)) return truth(a, equal); /* of a ring, exact or not */
    const arith_poly *d = arith_difference(a, y, x);
    if (!d) return NULL;
    if (d->n == 0) return truth(a, (d->c == 0) == equal);
    gpuc_bounds b = arith_poly_bounds(a, d);
    if (b.min > 0 || b.max < 0) return truth(a, !equal);
    gpuc_modular m = arith_poly_modular(a, d);
    if (m.remainder != 0) return truth(a, !equal);
    const arith_poly *more = arith_poly_shift(a, d, -1);
    const arith_poly *less = arith_poly_shift(a, arith_poly_scale(a, d, -1), -1);
    if ((more && arith_nonnegative(a, more)) || (less && arith_nonnegative(a, less))) return truth(a, !equal);
    if (arith_nonnegative(a, d) && arith_nonnegative(a, arith_poly_scale(a, d, -1))) return truth(a, equal);
    int64_t g = d->c;
    for (int i = 0; i < d->n; i++) g = arith_gcd(g, d->at[i].coeff);
    const arith_poly *r = d;
    if (g > 1) {
        r = arith_poly_const(a, d->dtype, d->c / g);
        for (int i = 0; i < d->n && r; i++)
            r = arith_poly_add(a, r, arith_poly_term(a, d, &d->at[i], -1, d->at[i].coeff / g), 1);
        if (!r) return NULL;
    }
    const arith_poly *plus, *minus;
    split_sides(a, r, &plus, &minus);
    if (!minus) return NULL;
    if (plus->n == 0 || (minus->n > 0 && r->c > 0))
        plus = arith_poly_shift(a, plus, r->c);
    else
        minus = arith_poly_shift(a, minus, r->c == INT64_MIN ? 0 : -r->c);
    if (!plus || !minus || r->c == INT64_MIN || !arith_writable(a, plus) || !arith_writable(a, minus))
        return NULL;
    if (plus->n == 0) { /* the constant goes right */
        const arith_poly *swap = plus;
        plus = minus;
        minus = swap;
    }
    return gpuc_tir_make(a->ctx, op, arith_from_poly(a, plus), arith_from_poly(a, minus), NULL);
}

gpuc_expr arith_compare(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_expr plain = gpuc_tir_make(a->ctx, op, x, y, NULL);
    if (!arith_is_scalar_int(x) || plain->kind == GPUC_EXPR_INT) return plain;
    bool order = op == GPUC_TIR_LT || op == GPUC_TIR_LE;
    gpuc_expr canonical = order ? compare_order(a, op, x, y) : compare_equal(a, op, x, y);
    if (!canonical) return plain;
    gpuc_expr e = canonical->kind == GPUC_EXPR_INT ? canonical : arith_cheaper(a, canonical, plain);
    gpuc_bounds b = arith_bounds(a, e);
    if (e->kind != GPUC_EXPR_INT && b.min == b.max) return truth(a, b.min);
    return e;
}

/* One side is simplified while the other holds (of ||: fails). */
gpuc_expr arith_logic(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    bool value = op == GPUC_TIR_AND;
    for (int side = 0; side < 2; side++) {
        gpuc_expr given = side ? y : x, other = side ? x : y;
        arith_context c;
        if (given->kind == GPUC_EXPR_INT || other->kind == GPUC_EXPR_INT || !arith_enter(a, given, value, &c))
            continue;
        gpuc_expr better = arith_simplify(a, other);
        arith_leave(a, c);
        if (better == other) continue;
        if (better->kind != GPUC_EXPR_INT && arith_cost(a, better) > arith_cost(a, other)) continue;
        if (side)
            x = better;
        else
            y = better;
    }
    return gpuc_tir_make(a->ctx, op, x, y, NULL);
}

static gpuc_expr simplify_arm(gpuc_analyzer *a, gpuc_expr cond, bool value, gpuc_expr arm)
{
    arith_context c;
    gpuc_expr plain = arith_simplify(a, arm);
    if (plain->depth == 1 || cond->kind == GPUC_EXPR_INT || !arith_enter(a, cond, value, &c)) return plain;
    gpuc_expr better = arith_simplify(a, plain);
    arith_leave(a, c);
    return arith_cheaper(a, better, plain);
}

/* The arm of a select is evaluated even if it is not chosen: what it loads must stay in range then. */
gpuc_expr arith_choice(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_tir_op op = arith_op_of(e);
    gpuc_expr cond = arith_simplify(a, arith_arg(e, 0));
    gpuc_expr x = arith_arg(e, 1), y = arith_arg(e, 2);
    if (cond->kind == GPUC_EXPR_INT)
        return arith_simplify(a, ((const gpuc_tir_int_node *)cond)->value ? x : y);
    bool lazy = op == GPUC_TIR_IF_THEN_ELSE;
    uint16_t unsafe = GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT | GPUC_TIR_HAS_TE;
    bool under = cond->dtype.lanes == 1 && (lazy || !((x->flags | y->flags) & unsafe));
    x = under ? simplify_arm(a, cond, true, x) : arith_simplify(a, x);
    y = under ? simplify_arm(a, cond, false, y) : arith_simplify(a, y);
    gpuc_expr r = gpuc_tir_make(a->ctx, op, cond, x, y);
    return arith_op_of(r) == op ? arith_apply_rules(a, r) : r;
}
