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
    *plus = gpuc_arith_poly_pick(a, p, positive, false);
    *minus = gpuc_arith_poly_scale(a, gpuc_arith_poly_pick(a, p, negative, false), -1);
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
        plus = gpuc_arith_poly_shift(a, plus, c + 1);
    } else if (minus->n == 0 || c > -1) { /* -c <= plus */
        minus = gpuc_arith_poly_shift(a, minus, -c);
    } else { /* minus + (-c - 1) < plus */
        op = GPUC_TIR_LT;
        minus = gpuc_arith_poly_shift(a, minus, -c - 1);
    }
    if (!plus || !minus || !gpuc_arith_writable(a, plus) || !gpuc_arith_writable(a, minus)) return NULL;
    return gpuc_tir_make(a->ctx, op, gpuc_arith_from_poly(a, minus), gpuc_arith_from_poly(a, plus), NULL);
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
        const arith_poly *y = gpuc_arith_to_poly(a, arith_arg(t->atom[0], 0)),
                         *d = gpuc_arith_to_poly(a, arith_arg(t->atom[0], 1)),
                         *rest = gpuc_arith_poly_add(a, p, gpuc_arith_poly_term(a, p, t, -1, t->coeff), -1),
                         *below = gpuc_arith_poly_shift(a, d, -1);
        if (d->n != 1 || d->c || !below || !gpuc_arith_nonnegative(a, below)) continue;
        if (t->coeff < 0) rest = gpuc_arith_poly_shift(a, rest, 1);
        const arith_poly *end = rest ? gpuc_arith_poly_mul(a, rest, d) : NULL,
                         *out = end ? gpuc_arith_poly_add(a, end, y, t->coeff) : NULL;
        if (out && t->coeff < 0) out = gpuc_arith_poly_shift(a, out, -1);
        if (out && gpuc_arith_exact(a, y) && gpuc_arith_exact(a, out)) return out;
    }
    return NULL;
}

/* min(y, c) <= r and its like, where c does not decide: y <= r. */
static const arith_poly *open_choice(gpuc_analyzer *a, const arith_poly *p)
{
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[i];
        gpuc_tir_op op = t->n == 1 ? arith_op_of(t->atom[0]) : GPUC_TIR_OP_COUNT;
        if ((op != GPUC_TIR_MIN && op != GPUC_TIR_MAX) || (t->coeff != 1 && t->coeff != -1)) continue;
        bool both = (op == GPUC_TIR_MIN) == (t->coeff > 0); /* must hold, not one of both */
        const arith_poly *rest = gpuc_arith_poly_add(a, p, gpuc_arith_poly_term(a, p, t, -1, t->coeff), -1);
        for (int k = 0; rest && k < 2; k++) {
            int64_t c;
            if (!arith_const(arith_arg(t->atom[0], k), &c)) continue;
            const arith_poly *y = gpuc_arith_to_poly(a, arith_arg(t->atom[0], 1 - k)),
                             *out = gpuc_arith_poly_add(a, rest, y, t->coeff),
                             *other = t->coeff > 0 || c != INT64_MIN
                                          ? gpuc_arith_poly_shift(a, rest, t->coeff > 0 ? c : -c)
                                          : NULL;
            if (other && !both) other = gpuc_arith_poly_shift(a, gpuc_arith_poly_scale(a, other, -1), -1);
            if (out && other && gpuc_arith_exact(a, y) && gpuc_arith_nonnegative(a, other)) return out;
        }
    }
    return NULL;
}

typedef enum verdict { UNKNOWN, NO, YES } verdict;

static verdict order_proven(gpuc_analyzer *a, const arith_poly *d)
{
    return gpuc_arith_nonnegative(a, d) ? YES : UNKNOWN;
}

static verdict order_refuted(gpuc_analyzer *a, const arith_poly *d)
{
    const arith_poly *opposite = gpuc_arith_poly_shift(a, gpuc_arith_poly_scale(a, d, -1), -1);
    return opposite && gpuc_arith_nonnegative(a, opposite) ? NO : UNKNOWN;
}

typedef struct decision {
    const char *name;
    verdict (*decide)(gpuc_analyzer *a, const arith_poly *d);
} decision;
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static verdict decide(gpuc_analyzer *a, size_t n, const decision *rules, const arith_poly *d)
{
    for (size_t i = 0; i < n; i++) {
        verdict v = rules[i].decide(a, d);
        if (v == UNKNOWN) continue;
        gpuc_rule_fired(a->ctx, rules[i].name);
        return v;
    }
    return UNKNOWN;
}

static const decision order_rules[] = {
    /* is d >= 0? */
    {"order_proven", order_proven},
    {"order_refuted", order_refuted},
};
const gpuc_rule_table gpuc_arith_order_decisions = GPUC_RULE_TABLE(order_rules);

static const arith_poly *divide_sign(gpuc_analyzer *a, const arith_poly *p)
{
    const arith_poly *s = gpuc_arith_poly_reduce_sign(a, p);
    return s == p ? NULL : s;
}

static const struct {
    const char *name;
    const arith_poly *(*apply)(gpuc_analyzer *a, const arith_poly *p); /* of the same sign; NULL: no fit */
} order_forms[] = {
    {"order_divided", divide_sign},
    {"order_of_quotient", open_quotient},
    {"order_of_choice", open_choice},
};
const gpuc_rule_table gpuc_arith_order_forms = GPUC_RULE_TABLE(order_forms);

static const arith_poly *simpler_order(gpuc_analyzer *a, const arith_poly *p)
{
    for (size_t i = 0; i < COUNT(order_forms); i++) {
        const arith_poly *s = order_forms[i].apply(a, p);
        if (!s) continue;
        gpuc_rule_fired(a->ctx, order_forms[i].name);
        return s;
    }
    return NULL;
}

static gpuc_expr compare_order(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    const arith_poly *d = gpuc_arith_difference(a, y, x);
    if (d && op == GPUC_TIR_LT) d = gpuc_arith_poly_shift(a, d, -1);
    if (!d) return NULL;
    verdict v = decide(a, COUNT(order_rules), order_rules, d);
    if (v) return truth(a, v == YES);
    for (int iteration = 0; iteration < 4; iteration++) {
        const arith_poly *s = simpler_order(a, d);
        if (!s || s->n == 0) break;
        d = s;
    }
    return write_nonnegative(a, d);
}

static verdict equal_constant(gpuc_analyzer *a, const arith_poly *d)
{
    (void)a;
    return d->n > 0 ? UNKNOWN : d->c == 0 ? YES : NO;
}

static verdict unequal_bounds(gpuc_analyzer *a, const arith_poly *d)
{
    gpuc_bounds b = gpuc_arith_poly_bounds(a, d);
    return b.min > 0 || b.max < 0 ? NO : UNKNOWN;
}

static verdict unequal_modulo(gpuc_analyzer *a, const arith_poly *d)
{
    return gpuc_arith_poly_modular(a, d).remainder != 0 ? NO : UNKNOWN;
}

static verdict unequal_proven(gpuc_analyzer *a, const arith_poly *d)
{
    const arith_poly *more = gpuc_arith_poly_shift(a, d, -1);
    const arith_poly *less = gpuc_arith_poly_shift(a, gpuc_arith_poly_scale(a, d, -1), -1);
    return (more && gpuc_arith_nonnegative(a, more)) || (less && gpuc_arith_nonnegative(a, less)) ? NO
                                                                                                  : UNKNOWN;
}

static verdict equal_proven(gpuc_analyzer *a, const arith_poly *d)
{
    return gpuc_arith_nonnegative(a, d) && gpuc_arith_nonnegative(a, gpuc_arith_poly_scale(a, d, -1))
               ? YES
               : UNKNOWN;
}

static const decision equal_rules[] = {
    /* is d == 0? */
    {"equal_constant", equal_constant}, {"unequal_bounds", unequal_bounds},
    {"unequal_modulo", unequal_modulo}, {"unequal_proven", unequal_proven},
    {"equal_proven", equal_proven},
};
const gpuc_rule_table gpuc_arith_equal_decisions = GPUC_RULE_TABLE(equal_rules);

/* d == 0, written with positive terms on both sides. */
static gpuc_expr write_zero(gpuc_analyzer *a, gpuc_tir_op op, const arith_poly *d)
{
    int64_t g = d->c;
    for (int i = 0; i < d->n; i++) g = gpuc_arith_gcd(g, d->at[i].coeff);
    const arith_poly *r = d;
    if (g > 1) {
        r = gpuc_arith_poly_const(a, d->dtype, d->c / g);
        for (int i = 0; i < d->n && r; i++)
            r = gpuc_arith_poly_add(a, r, gpuc_arith_poly_term(a, d, &d->at[i], -1, d->at[i].coeff / g), 1);
        if (!r) return NULL;
    }
    const arith_poly *plus, *minus;
    split_sides(a, r, &plus, &minus);
    if (!minus) return NULL;
    if (plus->n == 0 || (minus->n > 0 && r->c > 0))
        plus = gpuc_arith_poly_shift(a, plus, r->c);
    else
        minus = gpuc_arith_poly_shift(a, minus, r->c == INT64_MIN ? 0 : -r->c);
    if (!plus || !minus || r->c == INT64_MIN || !gpuc_arith_writable(a, plus) ||
        !gpuc_arith_writable(a, minus))
        return NULL;
    if (plus->n == 0) { /* the constant goes right */
        const arith_poly *swap = plus;
        plus = minus;
        minus = swap;
    }
    return gpuc_tir_make(a->ctx, op, gpuc_arith_from_poly(a, plus), gpuc_arith_from_poly(a, minus), NULL);
}

enum { EQUAL_TERMS, CANONICAL, SINGLE_VALUE, GIVEN_OTHER, DECIDED_CHOICE, GIVEN_CONDITION };
/* What is no pattern: named where it is done. */
static const struct {
    const char *name;
} steps[] = {
    [EQUAL_TERMS] = {"equal_terms"},        /* of a ring, exact or not */
    [CANONICAL] = {"comparison_canonical"}, /* terms on the side where they are positive, constants last */
    [SINGLE_VALUE] = {"comparison_known"},  /* by its bounds: a condition that holds or fails */
    [GIVEN_OTHER] = {"logic_given_other"},  /* one side while the other holds (of ||: fails) */
    [DECIDED_CHOICE] = {"choice_decided"},  /* the condition is a constant */
    [GIVEN_CONDITION] = {"arm_given_condition"},
};
const gpuc_rule_table gpuc_arith_logic_steps = GPUC_RULE_TABLE(steps);

static gpuc_expr did(gpuc_analyzer *a, int step, gpuc_expr result)
{
    gpuc_rule_fired(a->ctx, steps[step].name);
    return result;
}

static gpuc_expr compare_equal(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    bool equal = op == GPUC_TIR_EQ;
    const arith_poly *p = gpuc_arith_to_poly(a, x), *q = gpuc_arith_to_poly(a, y);
    if (gpuc_arith_poly_equal(p, q)) return did(a, EQUAL_TERMS, truth(a, equal));
    const arith_poly *d = gpuc_arith_difference(a, y, x);
    if (!d) return NULL;
    verdict v = decide(a, COUNT(equal_rules), equal_rules, d);
    return v ? truth(a, (v == YES) == equal) : write_zero(a, op, d);
}

gpuc_expr gpuc_arith_compare(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_expr plain = gpuc_tir_make(a->ctx, op, x, y, NULL);
    if (!arith_is_scalar_int(x) || plain->kind == GPUC_EXPR_INT) return plain;
    bool order = op == GPUC_TIR_LT || op == GPUC_TIR_LE;
    gpuc_expr canonical = order ? compare_order(a, op, x, y) : compare_equal(a, op, x, y);
    if (!canonical) return plain;
    if (canonical->kind == GPUC_EXPR_INT) return canonical;
    gpuc_expr e = gpuc_arith_cheaper(a, canonical, plain);
    gpuc_bounds b = gpuc_arith_bounds(a, e);
    if (b.min == b.max) return did(a, SINGLE_VALUE, truth(a, b.min));
    return e == plain ? e : did(a, CANONICAL, e);
}

/* One side is simplified while the other holds (of ||: fails). Both sides are computed whatever the other is: what
 * loads keeps its indices, which may be inside of the tensor only where the other holds. */
gpuc_expr gpuc_arith_logic(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    bool value = op == GPUC_TIR_AND;
    for (int side = 0; side < 2; side++) {
        gpuc_expr given = side ? y : x, other = side ? x : y;
        arith_context c;
        if (given->kind == GPUC_EXPR_INT || other->kind == GPUC_EXPR_INT ||
            !gpuc_arith_enter(a, given, value, &c))
            continue;
        gpuc_expr better = gpuc_arith_simplify_nested(a, other);
        gpuc_arith_leave(a, c);
        if (better == other || (better->kind != GPUC_EXPR_INT && other->flags & GPUC_TIR_HAS_LOAD)) continue;
        if (better->kind != GPUC_EXPR_INT && gpuc_arith_cost(a, better) > gpuc_arith_cost(a, other)) continue;
        *(side ? &x : &y) = did(a, GIVEN_OTHER, better);
    }
    return gpuc_tir_make(a->ctx, op, x, y, NULL);
}

static gpuc_expr simplify_arm(gpuc_analyzer *a, gpuc_expr cond, bool value, gpuc_expr arm)
{
    arith_context c;
    gpuc_expr plain = gpuc_arith_simplify_nested(a, arm);
    if (plain->depth == 1 || cond->kind == GPUC_EXPR_INT || !gpuc_arith_enter(a, cond, value, &c))
        return plain;
    gpuc_expr better = gpuc_arith_simplify_nested(a, plain);
    gpuc_arith_leave(a, c);
    better = gpuc_arith_cheaper(a, better, plain);
    return better == plain ? plain : did(a, GIVEN_CONDITION, better);
}

/* The arm of a select is evaluated even if it is not chosen: what it loads must stay in range then. */
gpuc_expr gpuc_arith_choice(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_tir_op op = arith_op_of(e);
    gpuc_expr cond = gpuc_arith_simplify_nested(a, arith_arg(e, 0));
    gpuc_expr x = arith_arg(e, 1), y = arith_arg(e, 2), one = cond; /* for all lanes */
    if (cond->kind == GPUC_EXPR_BROADCAST) one = ((const gpuc_tir_broadcast_node *)cond)->a;
    if (one->kind == GPUC_EXPR_INT)
        return did(a, DECIDED_CHOICE,
                   gpuc_arith_simplify_nested(a, ((const gpuc_tir_int_node *)one)->value ? x : y));
    bool lazy = op == GPUC_TIR_IF_THEN_ELSE;
    uint16_t unsafe = GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT | GPUC_TIR_HAS_TE;
    bool under = one->dtype.lanes == 1 && (lazy || !((x->flags | y->flags) & unsafe));
    x = under ? simplify_arm(a, one, true, x) : gpuc_arith_simplify_nested(a, x);
    y = under ? simplify_arm(a, one, false, y) : gpuc_arith_simplify_nested(a, y);
    gpuc_expr r = gpuc_tir_make(a->ctx, op, cond, x, y);
    return arith_op_of(r) == op ? gpuc_arith_apply_rules(a, r) : r;
}
