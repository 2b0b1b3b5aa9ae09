/* SPDX-License-Identifier: Apache-2.0 */
/* Floor division and remainder of polynomials. With p = g * s + t and t in [k * g, (k + 1) * g)
 * for a divisor g of c: p // c is (s + k) // (c / g), and p % c is g * ((s + k) % (c / g)) + t - k * g. */
#include "arith/private.h"

/* p = c * quotient + rest; the rest's coefficients are below c, its constant in [0, c). */
static bool split_off(gpuc_analyzer *a, const arith_poly *p, int64_t c, const arith_poly **quotient,
                      const arith_poly **rest)
{
    const arith_poly *q = gpuc_arith_poly_const(a, p->dtype, gpuc_floordiv(p->c, c));
    const arith_poly *r = gpuc_arith_poly_const(a, p->dtype, gpuc_floormod(p->c, c));
    for (int i = 0; i < p->n; i++) {
        int64_t k = p->at[i].coeff;
        if (k / c) q = gpuc_arith_poly_add(a, q, gpuc_arith_poly_term(a, p, &p->at[i], -1, k / c), 1);
        if (k % c) r = gpuc_arith_poly_add(a, r, gpuc_arith_poly_term(a, p, &p->at[i], -1, k % c), 1);
    }
    *quotient = q;
    *rest = r;
    return q && r && (r->n == 0 || gpuc_arith_exact(a, r)); /* r's constant may be larger than p's */
}

/* Divides out g: p = g * s + t, *s gets the k of t already. False if t spans a multiple of g. */
static bool divide_out(gpuc_analyzer *a, const arith_poly *p, int64_t g, const arith_poly **s,
                       const arith_poly **t)
{
    bool small[ARITH_MAX_TERMS];
    const arith_poly *high = gpuc_arith_poly_const(a, p->dtype, 0);
    for (int i = 0; i < p->n; i++) {
        small[i] = p->at[i].coeff % g != 0;
        if (!small[i])
            high = gpuc_arith_poly_add(a, high, gpuc_arith_poly_term(a, p, &p->at[i], -1, p->at[i].coeff / g),
                                       1);
    }
    const arith_poly *low = gpuc_arith_poly_pick(a, p, small, true);
    gpuc_bounds b = gpuc_arith_poly_bounds(a, low);
    if (!high || !arith_finite(b)) return false;
    int64_t k = gpuc_floordiv(b.min, g), down;
    if (k != gpuc_floordiv(b.max, g) || !gpuc_i64_mul(-k, g, &down)) return false;
    *s = gpuc_arith_poly_shift(a, high, k);
    if (t) *t = gpuc_arith_poly_shift(a, low, down);
    return *s && (!t || *t);
}

/* The next smaller gcd of c and a coefficient; 0: none. */
static int64_t next_divisor(const arith_poly *p, int64_t c, int64_t below)
{
    int64_t best = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t g = gpuc_arith_gcd(p->at[i].coeff, c);
        if (g > best && g < below) best = g;
    }
    return best > 1 ? best : 0;
}

static bool sole_atom(const arith_poly *p, gpuc_tir_op op, gpuc_expr *x, int64_t *c)
{
    if (p->n != 1 || p->at[0].n != 1 || p->at[0].coeff != 1 || arith_op_of(p->at[0].atom[0]) != op)
        return false;
    *x = arith_arg(p->at[0].atom[0], 0);
    return arith_const(arith_arg(p->at[0].atom[0], 1), c) && *c > 0;
}

static const arith_poly *make(gpuc_analyzer *a, gpuc_tir_op op, const arith_poly *x, int64_t c)
{
    return gpuc_arith_poly_op(a, op, gpuc_arith_from_poly(a, x), gpuc_imm_int(a->ctx, x->dtype, c), x->index);
}

static const arith_poly *sum_or(gpuc_analyzer *a, const arith_poly *x, const arith_poly *y, int64_t scale,
                                gpuc_tir_op op, const arith_poly *whole, int64_t c)
{
    const arith_poly *sum = gpuc_arith_poly_add(a, x, y, scale);
    return sum ? gpuc_arith_recombine(a, sum) : make(a, op, whole, c);
}

/* p and c > 0 of p // c or p % c. p = c * q + r once the rule of sums has asked. */
typedef struct division {
    const arith_poly *p;
    int64_t c;
    const arith_poly *q, *r;
} division;
typedef struct division_rule {
    const char *name;
    const arith_poly *(*apply)(gpuc_analyzer *a, division *d); /* NULL: it does not fit */
} division_rule;
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const arith_poly *first_of(gpuc_analyzer *a, size_t n, const division_rule *rules, division *d)
{
    for (size_t i = 0; i < n; i++) {
        const arith_poly *result = rules[i].apply(a, d);
        if (!result) continue;
        gpuc_rule_fired(a->ctx, rules[i].name);
        return result;
    }
    return NULL;
}

/* ---- p // c -------------------------------------------------------------------------------------- */

static const arith_poly *div_common(gpuc_analyzer *a, division *d)
{
    for (int64_t g = d->c; g > 0; g = next_divisor(d->p, d->c, g)) {
        const arith_poly *s;
        if (divide_out(a, d->p, g, &s, NULL)) return g == d->c ? s : gpuc_arith_poly_floordiv(a, s, d->c / g);
    }
    return NULL;
}

/* (x // k + n) // c is (x + n * k) // (k * c). */
static const arith_poly *div_quotient(gpuc_analyzer *a, division *d)
{
    gpuc_expr x;
    int64_t k, product, shift;
    if (!sole_atom(d->p, GPUC_TIR_FLOORDIV, &x, &k) || !gpuc_i64_mul(k, d->c, &product) ||
        !gpuc_i64_mul(d->p->c, k, &shift) || product > gpuc_arith_type_bounds(d->p->dtype).max)
        return NULL;
    const arith_poly *y = gpuc_arith_poly_shift(a, gpuc_arith_to_poly(a, x), shift);
    return y && gpuc_arith_exact(a, y) ? gpuc_arith_poly_floordiv(a, y, product) : NULL;
}

/* (x % (k * c)) // c is (x // c) % k. */
static const arith_poly *div_remainder(gpuc_analyzer *a, division *d)
{
    gpuc_expr x;
    int64_t k;
    if (d->p->c != 0 || !sole_atom(d->p, GPUC_TIR_FLOORMOD, &x, &k) || k % d->c != 0) return NULL;
    const arith_poly *y = gpuc_arith_to_poly(a, x);
    return gpuc_arith_exact(a, y)
               ? gpuc_arith_poly_floormod(a, gpuc_arith_poly_floordiv(a, y, d->c), k / d->c)
               : NULL;
}

/* A remainder that is known does not carry. */
static const arith_poly *div_known(gpuc_analyzer *a, division *d)
{
    const arith_poly *r = d->p;
    if (r->c == 0) return NULL;
    const arith_poly *t = gpuc_arith_poly_shift(a, r, -r->c);
    gpuc_modular m = t ? gpuc_arith_poly_modular(a, t) : (gpuc_modular){1, 0};
    if (m.coeff % d->c != 0 || !gpuc_arith_exact(a, t)) return NULL;
    int64_t carry = (gpuc_floormod(m.remainder, d->c) + r->c) / d->c;
    return gpuc_arith_poly_shift(a, make(a, GPUC_TIR_FLOORDIV, t, d->c), carry);
}

static const division_rule rest_quotients[] = {
    {"quotient_of_common", div_common},
    {"quotient_of_quotient", div_quotient},
    {"quotient_of_remainder", div_remainder},
    {"quotient_of_known", div_known},
};
const gpuc_rule_table gpuc_arith_rest_quotients = GPUC_RULE_TABLE(rest_quotients);

static const arith_poly *div_parts(gpuc_analyzer *a, const division *d)
{
    division rest = {.p = d->r, .c = d->c};
    if (d->r->n == 0) return d->q;
    const arith_poly *r = first_of(a, COUNT(rest_quotients), rest_quotients, &rest);
    return sum_or(a, d->q, r ? r : make(a, GPUC_TIR_FLOORDIV, d->r, d->c), 1, GPUC_TIR_FLOORDIV, d->p, d->c);
}

static const arith_poly *div_between(gpuc_analyzer *a, division *d)
{
    const arith_poly *q;
    return d->p->n > 0 && divide_out(a, d->p, d->c, &q, NULL) ? q : NULL;
}

static const arith_poly *div_constant(gpuc_analyzer *a, division *d)
{
    return d->p->n == 0 ? gpuc_arith_poly_const(a, d->p->dtype, gpuc_floordiv(d->p->c, d->c)) : NULL;
}

static bool has_multiples(gpuc_analyzer *a, division *d)
{
    if (!split_off(a, d->p, d->c, &d->q, &d->r)) d->q = d->r = NULL;
    return d->q && (d->q->n > 0 || d->q->c != 0);
}

static const arith_poly *div_sum(gpuc_analyzer *a, division *d)
{
    return has_multiples(a, d) ? div_parts(a, d) : NULL;
}

static const division_rule quotients[] = {
    {"quotient_between_multiples", div_between}, /* p stays between two multiples of c */
    {"quotient_of_constant", div_constant},
    {"quotient_of_sum", div_sum}, /* multiples of c leave it */
};
const gpuc_rule_table gpuc_arith_quotients = GPUC_RULE_TABLE(quotients);

const arith_poly *gpuc_arith_poly_floordiv(gpuc_analyzer *a, const arith_poly *p, int64_t c)
{
    if (c == 1) return p;
    if (a->depth > ARITH_MAX_DEPTH || c > INT64_MAX / 4) return make(a, GPUC_TIR_FLOORDIV, p, c);
    a->depth++;
    division d = {.p = p, .c = c};
    const arith_poly *result = first_of(a, COUNT(quotients), quotients, &d);
    if (!result && d.q) result = div_parts(a, &d);
    a->depth--;
    return result ? result : make(a, GPUC_TIR_FLOORDIV, p, c);
}

/* ---- p % c --------------------------------------------------------------------------------------- */

/* Inner remainders by multiples of c vanish: (x % (k * c) + y) % c. */
static const arith_poly *open_remainders(gpuc_analyzer *a, const arith_poly *p, int64_t c)
{
    for (int i = 0; i < p->n; i++) {
        int64_t k;
        if (p->at[i].n != 1 || arith_op_of(p->at[i].atom[0]) != GPUC_TIR_FLOORMOD) continue;
        if (!arith_const(arith_arg(p->at[i].atom[0], 1), &k) || k <= 0 || k % c != 0) continue;
        const arith_poly *x = gpuc_arith_to_poly(a, arith_arg(p->at[i].atom[0], 0));
        const arith_poly *others =
            gpuc_arith_poly_add(a, p, gpuc_arith_poly_term(a, p, &p->at[i], -1, p->at[i].coeff), -1);
        const arith_poly *sum = gpuc_arith_poly_add(a, others, x, p->at[i].coeff);
        if (sum && gpuc_arith_exact(a, sum)) return sum;
    }
    return NULL;
}

static const arith_poly *mod_known(gpuc_analyzer *a, division *d)
{
    gpuc_modular m = gpuc_arith_poly_modular(a, d->p);
    if (m.coeff % d->c != 0) return NULL;
    return gpuc_arith_poly_const(a, d->p->dtype, gpuc_floormod(m.remainder, d->c));
}

static const arith_poly *mod_common(gpuc_analyzer *a, division *d)
{
    for (int64_t g = d->c; g > 0; g = next_divisor(d->p, d->c, g)) {
        const arith_poly *s, *t;
        if (!divide_out(a, d->p, g, &s, &t)) continue;
        if (g == d->c) return t;
        return sum_or(a, t, gpuc_arith_poly_floormod(a, s, d->c / g), g, GPUC_TIR_FLOORMOD, d->p, d->c);
    }
    return NULL;
}

static const arith_poly *mod_remainder(gpuc_analyzer *a, division *d)
{
    const arith_poly *open = open_remainders(a, d->p, d->c);
    return open ? gpuc_arith_poly_floormod(a, open, d->c) : NULL;
}

static const division_rule rest_remainders[] = {
    {"remainder_known", mod_known},
    {"remainder_of_common", mod_common},
    {"remainder_of_remainder", mod_remainder},
};
const gpuc_rule_table gpuc_arith_rest_remainders = GPUC_RULE_TABLE(rest_remainders);

static const arith_poly *mod_rest(gpuc_analyzer *a, const division *d)
{
    division rest = {.p = d->r, .c = d->c};
    if (d->r->n == 0) return d->r;
    const arith_poly *r = first_of(a, COUNT(rest_remainders), rest_remainders, &rest);
    return r ? r : make(a, GPUC_TIR_FLOORMOD, d->r, d->c);
}

static const arith_poly *mod_between(gpuc_analyzer *a, division *d)
{
    const arith_poly *q, *t;
    return divide_out(a, d->p, d->c, &q, &t) ? t : NULL;
}

static const arith_poly *mod_sum(gpuc_analyzer *a, division *d)
{
    return has_multiples(a, d) ? mod_rest(a, d) : NULL;
}

static const division_rule remainders[] = {
    {"remainder_between_multiples", mod_between},
    {"remainder_of_sum", mod_sum},
};
const gpuc_rule_table gpuc_arith_remainders = GPUC_RULE_TABLE(remainders);

const arith_poly *gpuc_arith_poly_floormod(gpuc_analyzer *a, const arith_poly *p, int64_t c)
{
    if (c == 1) return gpuc_arith_poly_const(a, p->dtype, 0);
    if (a->depth > ARITH_MAX_DEPTH || c > INT64_MAX / 4) return make(a, GPUC_TIR_FLOORMOD, p, c);
    a->depth++;
    division d = {.p = p, .c = c};
    const arith_poly *result = first_of(a, COUNT(remainders), remainders, &d);
    if (!result && d.r) result = mod_rest(a, &d);
    a->depth--;
    return result ? result : make(a, GPUC_TIR_FLOORMOD, p, c);
}

/* ---- By what is no constant ------------------------------------------------------------------------ */

/* x / y of monomials, if y divides x. */
static bool divide_terms(const arith_term *x, const arith_term *y, arith_term *out)
{
    if (x->n < y->n || x->coeff % y->coeff != 0) return false;
    *out = (arith_term){.coeff = x->coeff / y->coeff};
    int j = 0;
    for (int i = 0; i < x->n; i++) {
        if (j < y->n && x->atom[i] == y->atom[j])
            j++;
        else
            out->atom[out->n++] = x->atom[i];
    }
    return j == y->n;
}

/* x = d * q + r */
typedef struct symbolic {
    const arith_poly *x, *d, *q, *r;
    bool mod;
} symbolic;

static bool divide_symbolic(gpuc_analyzer *a, symbolic *s)
{
    const arith_poly *x = s->x, *q = gpuc_arith_poly_const(a, x->dtype, 0), *r = x;
    const arith_term *lead = &s->d->at[0];
    for (int i = 0; i < x->n && q && r; i++) {
        arith_term t;
        if (lead->coeff == -1 || !divide_terms(&x->at[i], lead, &t)) continue;
        const arith_poly *part =
            t.n ? gpuc_arith_poly_term(a, x, &t, -1, t.coeff) : gpuc_arith_poly_const(a, x->dtype, t.coeff);
        q = gpuc_arith_poly_add(a, q, part, 1);
        const arith_poly *product = gpuc_arith_poly_mul(a, part, s->d);
        r = product ? gpuc_arith_poly_add(a, r, product, -1) : NULL;
    }
    s->q = q;
    s->r = r;
    return q && r && r->n <= x->n;
}

/* r is in [0, d). */
static const arith_poly *symbolic_between(gpuc_analyzer *a, const symbolic *s)
{
    const arith_poly *below = gpuc_arith_poly_shift(a, s->d, -1),
                     *room = gpuc_arith_poly_add(a, below, s->r, -1);
    bool inside = gpuc_arith_exact(a, s->r) && room && gpuc_arith_nonnegative(a, s->r) &&
                  gpuc_arith_nonnegative(a, room);
    return !inside ? NULL : s->mod ? s->r : s->q;
}

static const arith_poly *symbolic_sum(gpuc_analyzer *a, const symbolic *s)
{
    if (s->q->n == 0 && s->q->c == 0) return NULL;
    gpuc_expr rest = gpuc_arith_from_poly(a, s->r), by = gpuc_arith_from_poly(a, s->d);
    if (s->mod) return gpuc_arith_poly_op(a, GPUC_TIR_FLOORMOD, rest, by, s->x->index);
    const arith_poly *sum =
        gpuc_arith_poly_add(a, s->q, gpuc_arith_poly_op(a, GPUC_TIR_FLOORDIV, rest, by, s->x->index), 1);
    return sum ? gpuc_arith_recombine(a, sum) : NULL;
}

static const struct {
    const char *name;
    const arith_poly *(*apply)(gpuc_analyzer *a, const symbolic *s);
} symbolics[] = {
    {"division_between_sizes", symbolic_between},
    {"division_of_sizes", symbolic_sum},
};
const gpuc_rule_table gpuc_arith_symbolic_divisions = GPUC_RULE_TABLE(symbolics);

const arith_poly *gpuc_arith_poly_divmod_symbolic(gpuc_analyzer *a, const arith_poly *x, const arith_poly *d,
                                                  bool mod)
{
    symbolic s = {.x = x, .d = d, .mod = mod};
    const arith_poly *below = gpuc_arith_poly_shift(a, d, -1);
    if (!below || !gpuc_arith_nonnegative(a, below) || !divide_symbolic(a, &s)) return NULL;
    for (size_t i = 0; i < COUNT(symbolics); i++) {
        const arith_poly *result = symbolics[i].apply(a, &s);
        if (!result) continue;
        gpuc_rule_fired(a->ctx, symbolics[i].name);
        return result;
    }
    return NULL;
}

const arith_poly *gpuc_arith_poly_reduce_sign(gpuc_analyzer *a, const arith_poly *p)
{
    int64_t all = 0;
    for (int i = 0; i < p->n; i++) all = gpuc_arith_gcd(all, p->at[i].coeff);
    int64_t widest = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t k = p->at[i].coeff == INT64_MIN ? INT64_MAX
                    : p->at[i].coeff < 0        ? -p->at[i].coeff
                                                : p->at[i].coeff;
        if (k > widest) widest = k;
    }
    /* Candidates are the coefficients' magnitudes, from above, and what all of them share. */
    for (int64_t below = INT64_MAX; widest > 1;) {
        int64_t g = 0;
        for (int i = 0; i < p->n; i++) {
            int64_t k = p->at[i].coeff < 0 && p->at[i].coeff != INT64_MIN ? -p->at[i].coeff : p->at[i].coeff;
            if (k > g && k < below) g = k;
        }
        const arith_poly *s;
        if (g <= 1) break;
        if (divide_out(a, p, g, &s, NULL) && s->n > 0) return s;
        below = g;
    }
    const arith_poly *s;
    if (all > 1 && divide_out(a, p, all, &s, NULL)) return s;
    return p;
}
