/* SPDX-License-Identifier: Apache-2.0 */
/* Terms that are more together: digits of one number, a number and its remainder, min and what cancels
 * inside of it. (y // low) % (high / low) is what y has between the places low and high; so is
 * (x // low + k) % (high / low) of y = x + k * low. */
#include "arith/private.h"

typedef struct digits {
    gpuc_expr y;
    int64_t low, high; /* high 0: no end */
} digits;

static bool decode_digits(gpuc_expr e, digits *out)
{
    gpuc_tir_op op = arith_op_of(e);
    int64_t c, low;
    if ((op != GPUC_TIR_FLOORDIV && op != GPUC_TIR_FLOORMOD) || !arith_const(arith_arg(e, 1), &c) || c <= 0)
        return false;
    gpuc_expr y = arith_arg(e, 0);
    if (op == GPUC_TIR_FLOORDIV) {
        *out = (digits){y, c, 0};
        return true;
    }
    *out = (digits){y, 1, c};
    if (arith_op_of(y) == GPUC_TIR_FLOORDIV && arith_const(arith_arg(y, 1), &low) && low > 0) {
        *out = (digits){arith_arg(y, 0), low, 0};
        return gpuc_i64_mul(low, c, &out->high);
    }
    return true;
}

static bool same_but_one(const arith_term *x, int skip_x, const arith_term *y, int skip_y)
{
    if (x->n != y->n) return false;
    for (int i = 0, j = 0; i < x->n; i++, j++) {
        i += i == skip_x;
        j += j == skip_y;
        if (i < x->n && j < y->n && x->atom[i] != y->atom[j]) return false;
    }
    return true;
}

/* p without terms i and j (j may be -1), plus the rest of term i times value * scale. */
static const arith_poly *replace(gpuc_analyzer *a, const arith_poly *p, int i, int atom, int j,
                                 const arith_poly *value, int64_t scale)
{
    bool keep[ARITH_MAX_TERMS];
    for (int k = 0; k < p->n; k++) keep[k] = k != i && k != j;
    const arith_poly *others = gpuc_arith_poly_pick(a, p, keep, true);
    return gpuc_arith_poly_add(
        a, others, gpuc_arith_poly_mul(a, value, gpuc_arith_poly_term(a, p, &p->at[i], atom, scale)), 1);
}

static const arith_poly *digits_to_poly(gpuc_analyzer *a, digits d)
{
    gpuc_expr low = gpuc_imm_int(a->ctx, d.y->dtype, d.low);
    if (d.high == 0)
        return d.low == 1 ? gpuc_arith_to_poly(a, d.y)
                          : gpuc_arith_poly_op(a, GPUC_TIR_FLOORDIV, d.y, low, true);
    gpuc_expr y = d.low == 1 ? d.y : gpuc_tir_make(a->ctx, GPUC_TIR_FLOORDIV, d.y, low, NULL);
    return gpuc_arith_poly_op(a, GPUC_TIR_FLOORMOD, y, gpuc_imm_int(a->ctx, d.y->dtype, d.high / d.low),
                              true);
}

/* The lowest digits of x // low + k are those of x + k * low from low on. */
static digits open_sum(gpuc_analyzer *a, digits d)
{
    if (d.low != 1 || !d.high) return d;
    const arith_poly *p = gpuc_arith_to_poly(a, d.y);
    int64_t low, high, by;
    bool sole = p->n == 1 && p->at[0].n == 1 && p->at[0].coeff == 1 && p->c != 0;
    gpuc_expr q = sole ? p->at[0].atom[0] : NULL;
    if (!q || arith_op_of(q) != GPUC_TIR_FLOORDIV || !arith_const(arith_arg(q, 1), &low) || low <= 0 ||
        !gpuc_i64_mul(low, d.high, &high) || !gpuc_i64_mul(low, p->c, &by))
        return d;
    const arith_poly *x = gpuc_arith_to_poly(a, arith_arg(q, 0)), *y = gpuc_arith_poly_shift(a, x, by);
    if (!y || !gpuc_arith_exact(a, p) || !gpuc_arith_exact(a, x) || !gpuc_arith_exact(a, y)) return d;
    return (digits){gpuc_arith_from_poly(a, y), low, high};
}

/* Do x and y differ by a multiple of m, which may be 0? */
static bool are_congruent(gpuc_analyzer *a, gpuc_expr x, gpuc_expr y, int64_t m)
{
    if (x == y) return true;
    if (!gpuc_dtype_equal(x->dtype, y->dtype)) return false;
    const arith_poly *p = gpuc_arith_to_poly(a, x), *q = gpuc_arith_to_poly(a, y);
    const arith_poly *d = gpuc_arith_poly_add(a, p, q, -1);
    return d && d->n == 0 && d->c % m == 0 && gpuc_arith_exact(a, p) && gpuc_arith_exact(a, q);
}

/* k * lower + k * (place of higher) * higher is k times both together. The lower digits of y are those of what
 * differs from it by a multiple of the place of the higher ones. */
static const arith_poly *join_digits(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits lower)
{
    if (!lower.y) return NULL;
    lower = open_sum(a, lower);
    for (int j = 0; j < p->n; j++)
        for (int aj = 0; aj < p->at[j].n && j != i; aj++) {
            digits upper;
            int64_t scaled;
            if (!decode_digits(p->at[j].atom[aj], &upper)) continue;
            upper = open_sum(a, upper);
            if (upper.low != lower.high) continue;
            if (!same_but_one(&p->at[i], ai, &p->at[j], aj)) continue;
            if (!are_congruent(a, upper.y, lower.y, lower.high)) continue;
            if (upper.high / lower.low > gpuc_arith_type_bounds(p->dtype).max) continue;
            if (!gpuc_i64_mul(p->at[i].coeff, lower.high / lower.low, &scaled) || scaled != p->at[j].coeff)
                continue;
            const arith_poly *both = digits_to_poly(a, (digits){upper.y, lower.low, upper.high});
            if (p->value && !gpuc_arith_exact(a, both)) continue;
            return replace(a, p, i, ai, j, both, p->at[i].coeff);
        }
    return NULL;
}

/* Is the term k * c * (y // c), which may be rewritten through y? */
static bool is_scaled_quotient(gpuc_analyzer *a, const arith_poly *p, int i, digits d)
{
    return d.y && p->at[i].coeff % d.low == 0 &&
           (!p->value || gpuc_arith_exact(a, gpuc_arith_to_poly(a, d.y)));
}

static bool is_known_modulo(gpuc_analyzer *a, digits d)
{
    return gpuc_arith_modular(a, d.y).coeff % d.low == 0; /* coeff 0 too */
}

/* (y // c) * c is y - r for a y that is r modulo c. */
static const arith_poly *multiply_quotient(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits d)
{
    if (!is_scaled_quotient(a, p, i, d) || !is_known_modulo(a, d)) return NULL;
    int64_t r = gpuc_floormod(gpuc_arith_modular(a, d.y).remainder, d.low);
    return replace(a, p, i, ai, -1, gpuc_arith_poly_shift(a, gpuc_arith_to_poly(a, d.y), -r),
                   p->at[i].coeff / d.low);
}

/* y - (y // c) * c is y % c, where that has fewer terms. */
static const arith_poly *take_remainder(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits d)
{
    if (!is_scaled_quotient(a, p, i, d) || is_known_modulo(a, d)) return NULL;
    const arith_poly *y = gpuc_arith_to_poly(a, d.y), *mod = digits_to_poly(a, (digits){d.y, 1, d.low});
    const arith_poly *q =
        replace(a, p, i, ai, -1, gpuc_arith_poly_add(a, y, mod, -1), p->at[i].coeff / d.low);
    return q && q->n < p->n ? q : NULL;
}

/* y - y % c is (y // c) * c, where that has fewer terms. */
static const arith_poly *take_quotient(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits d)
{
    int64_t k = p->at[i].coeff, scaled;
    if (!d.y || d.low != 1 || !gpuc_i64_mul(k, d.high, &scaled)) return NULL;
    const arith_poly *y = gpuc_arith_to_poly(a, d.y);
    if (p->value && !gpuc_arith_exact(a, y)) return NULL;
    const arith_poly *div = digits_to_poly(a, (digits){d.y, d.high, 0});
    const arith_poly *q = replace(a, p, i, ai, -1, gpuc_arith_poly_add(a, y, div, -d.high), k);
    return q && q->n < p->n ? q : NULL;
}

/* min(x, y) + rest with rest moved inside where it cancels. */
static const arith_poly *absorb(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits none)
{
    (void)none;
    const arith_term *t = &p->at[i];
    gpuc_tir_op op = arith_op_of(t->atom[ai]);
    if (t->n != 1 || (t->coeff != 1 && t->coeff != -1) || p->n < 2 || !gpuc_arith_exact(a, p)) return NULL;
    const arith_poly *x = gpuc_arith_to_poly(a, arith_arg(t->atom[0], 0)),
                     *y = gpuc_arith_to_poly(a, arith_arg(t->atom[0], 1));
    if (!gpuc_arith_exact(a, x) || !gpuc_arith_exact(a, y)) return NULL;
    bool keep[ARITH_MAX_TERMS];
    for (int k = 0; k < p->n; k++) keep[k] = k != i;
    const arith_poly *rest = gpuc_arith_poly_pick(a, p, keep, true);
    const arith_poly *x2 = gpuc_arith_poly_add(a, rest, x, t->coeff),
                     *y2 = gpuc_arith_poly_add(a, rest, y, t->coeff);
    if (!x2 || !y2 || x2->n + y2->n > x->n + y->n) return NULL;
    if (!gpuc_arith_writable(a, x2) || !gpuc_arith_writable(a, y2)) return NULL;
    if (t->coeff < 0) op = op == GPUC_TIR_MIN ? GPUC_TIR_MAX : GPUC_TIR_MIN;
    gpuc_expr e = gpuc_tir_make(a->ctx, op, gpuc_arith_from_poly(a, x2), gpuc_arith_from_poly(a, y2), NULL);
    return gpuc_arith_poly_add(a, gpuc_arith_to_poly(a, e), rest, 0); /* of rest the flags only */
}

/* Does the term at j have the atoms of the one at i, with one replaced by y // c and those of c? */
static bool is_quotient(const arith_term *x, int skip_x, const arith_term *y, gpuc_expr mod,
                        const arith_term *c)
{
    bool used[ARITH_MAX_DEGREE] = {false};
    bool has = false;
    if (y->n != x->n + c->n) return false;
    for (int i = 0; i < y->n && !has; i++) {
        gpuc_expr q = y->atom[i];
        has = arith_op_of(q) == GPUC_TIR_FLOORDIV && arith_arg(q, 0) == arith_arg(mod, 0) &&
              arith_arg(q, 1) == arith_arg(mod, 1);
        used[i] = has;
    }
    for (int i = 0; i < x->n + c->n && has; i++) {
        if (i == skip_x) continue;
        gpuc_expr atom = i < x->n ? x->atom[i] : c->atom[i - x->n];
        int j = 0;
        while (j < y->n && (used[j] || y->atom[j] != atom)) j++;
        has = j < y->n;
        if (has) used[j] = true;
    }
    return has;
}

/* k * (y % c) + k * c * (y // c) is k * y, for a c that is no constant, but above 0. */
static const arith_poly *join_remainder(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits d)
{
    if (d.y) return NULL;
    gpuc_expr mod = p->at[i].atom[ai];
    int64_t scaled;
    if (gpuc_arith_bounds(a, arith_arg(mod, 1)).min <= 0) return NULL;
    const arith_poly *c = gpuc_arith_to_poly(a, arith_arg(mod, 1));
    if (c->n != 1 || c->c != 0 || !gpuc_i64_mul(p->at[i].coeff, c->at[0].coeff, &scaled)) return NULL;
    for (int j = 0; j < p->n; j++) {
        if (j == i || p->at[j].coeff != scaled || !is_quotient(&p->at[i], ai, &p->at[j], mod, &c->at[0]))
            continue;
        const arith_poly *y = gpuc_arith_to_poly(a, arith_arg(mod, 0));
        if (p->value && !gpuc_arith_exact(a, y)) return NULL;
        return replace(a, p, i, ai, j, y, p->at[i].coeff);
    }
    return NULL;
}

/* Each looks at one atom of one term, and the digits that it is (y NULL: it is none); NULL: it does not
 * fit. */
static const struct {
    const char *name;
    gpuc_tir_op op; /* of the atom */
    const arith_poly *(*apply)(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits d);
} rules[] = {
    {"sum_into_min", GPUC_TIR_MIN, absorb},
    {"sum_into_max", GPUC_TIR_MAX, absorb},
    {"sum_of_symbolic_digits", GPUC_TIR_FLOORMOD, join_remainder},
    {"sum_of_digits", GPUC_TIR_FLOORMOD, join_digits},
    {"difference_is_quotient", GPUC_TIR_FLOORMOD, take_quotient},
    {"multiple_of_quotient", GPUC_TIR_FLOORDIV, multiply_quotient},
    {"difference_is_remainder", GPUC_TIR_FLOORDIV, take_remainder},
};
const gpuc_rule_table gpuc_arith_recombinations = GPUC_RULE_TABLE(rules);

static const arith_poly *recombine_once(gpuc_analyzer *a, const arith_poly *p)
{
    for (int i = 0; i < p->n; i++)
        for (int ai = 0; ai < p->at[i].n; ai++) {
            gpuc_tir_op op = arith_op_of(p->at[i].atom[ai]);
            digits d;
            if (op == GPUC_TIR_OP_COUNT) continue;
            if (!decode_digits(p->at[i].atom[ai], &d)) d.y = NULL;
            for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
                const arith_poly *q = rules[r].op == op ? rules[r].apply(a, p, i, ai, d) : NULL;
                if (!q) continue;
                gpuc_rule_fired(a->ctx, rules[r].name);
                return q;
            }
        }
    return NULL;
}

const arith_poly *gpuc_arith_recombine(gpuc_analyzer *a, const arith_poly *p)
{
    if (p->n == 0 || a->depth > ARITH_MAX_DEPTH) return p;
    a->depth += 2;
    for (int iteration = 0; iteration < 16; iteration++) {
        const arith_poly *q = recombine_once(a, p);
        if (!q) break;
        p = q;
    }
    a->depth -= 2;
    return p;
}
