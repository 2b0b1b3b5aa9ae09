/* SPDX-License-Identifier: Apache-2.0 */
/* Floor division and remainder of polynomials. With p = g * s + t and t in [k * g, (k + 1) * g)
 * for a divisor g of c: p // c is (s + k) // (c / g), and p % c is g * ((s + k) % (c / g)) + t - k * g. */
#include "arith/private.h"

/* p = c * quotient + rest; the rest's coefficients are below c, its constant in [0, c). */
static bool split_off(gpuc_analyzer *a, const arith_poly *p, int64_t c, const arith_poly **quotient,
                      const arith_poly **rest)
{
    const arith_poly *q = arith_poly_const(a, p->dtype, gpuc_floordiv(p->c, c));
    const arith_poly *r = arith_poly_const(a, p->dtype, gpuc_floormod(p->c, c));
    for (int i = 0; i < p->n; i++) {
        int64_t k = p->at[i].coeff;
        if (k / c) q = arith_poly_add(a, q, arith_poly_term(a, p, &p->at[i], -1, k / c), 1);
        if (k % c) r = arith_poly_add(a, r, arith_poly_term(a, p, &p->at[i], -1, k % c), 1);
    }
    *quotient = q;
    *rest = r;
    return q && r && (r->n == 0 || arith_exact(a, r)); /* r's constant may be larger than p's */
}

/* Divides out g: p = g * s + t, *s gets the k of t already. False if t spans a multiple of g. */
static bool divide_out(gpuc_analyzer *a, const arith_poly *p, int64_t g, const arith_poly **s,
                       const arith_poly **t)
{
    bool small[ARITH_MAX_TERMS];
    const arith_poly *high = arith_poly_const(a, p->dtype, 0);
    for (int i = 0; i < p->n; i++) {
        small[i] = p->at[i].coeff % g != 0;
        if (!small[i])
            high = arith_poly_add(a, high, arith_poly_term(a, p, &p->at[i], -1, p->at[i].coeff / g), 1);
    }
    const arith_poly *low = arith_poly_pick(a, p, small, true);
    gpuc_bounds b = arith_poly_bounds(a, low);
    if (!high || !arith_finite(b)) return false;
    int64_t k = gpuc_floordiv(b.min, g), down;
    if (k != gpuc_floordiv(b.max, g) || !gpuc_i64_mul(-k, g, &down)) return false;
    *s = arith_poly_shift(a, high, k);
    if (t) *t = arith_poly_shift(a, low, down);
    return *s && (!t || *t);
}

/* The next smaller gcd of c and a coefficient; 0: none. */
static int64_t next_divisor(const arith_poly *p, int64_t c, int64_t below)
{
    int64_t best = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t g = arith_gcd(p->at[i].coeff, c);
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
    return arith_poly_op(a, op, arith_from_poly(a, x), gpuc_imm_int(a->ctx, x->dtype, c), x->index);
}

static const arith_poly *sum_or(gpuc_analyzer *a, const arith_poly *x, const arith_poly *y, int64_t scale,
                                gpuc_tir_op op, const arith_poly *whole, int64_t c)
{
    const arith_poly *sum = arith_poly_add(a, x, y, scale);
    return sum ? arith_recombine(a, sum) : make(a, op, whole, c);
}

static const arith_poly *floordiv_rest(gpuc_analyzer *a, const arith_poly *r, int64_t c)
{
    for (int64_t g = c; g > 0; g = next_divisor(r, c, g)) {
        const arith_poly *s;
        if (divide_out(a, r, g, &s, NULL)) return g == c ? s : arith_poly_floordiv(a, s, c / g);
    }
    gpuc_expr x;
    int64_t k, product, shift;
    if (sole_atom(r, GPUC_TIR_FLOORDIV, &x, &k) && gpuc_i64_mul(k, c, &product) &&
        gpuc_i64_mul(r->c, k, &shift) && product <= arith_type_bounds(r->dtype).max) {
        const arith_poly *y = arith_poly_shift(a, arith_to_poly(a, x), shift);
        if (y && arith_exact(a, y)) return arith_poly_floordiv(a, y, product);
    }
    if (r->c == 0 && sole_atom(r, GPUC_TIR_FLOORMOD, &x, &k) && k % c == 0) {
        const arith_poly *y = arith_to_poly(a, x);
        if (arith_exact(a, y)) return arith_poly_floormod(a, arith_poly_floordiv(a, y, c), k / c);
    }
    if (r->c != 0) { /* a remainder that is known does not carry */
        const arith_poly *t = arith_poly_shift(a, r, -r->c);
        gpuc_modular m = t ? arith_poly_modular(a, t) : (gpuc_modular){1, 0};
        if (m.coeff % c == 0 && arith_exact(a, t)) {
            int64_t carry = (gpuc_floormod(m.remainder, c) + r->c) / c;
            const arith_poly *q = arith_poly_shift(a, make(a, GPUC_TIR_FLOORDIV, t, c), carry);
            if (q) return q;
        }
    }
    return make(a, GPUC_TIR_FLOORDIV, r, c);
}

const arith_poly *arith_poly_floordiv(gpuc_analyzer *a, const arith_poly *p, int64_t c)
{
    const arith_poly *q, *r;
    if (c == 1) return p;
    if (a->depth > ARITH_MAX_DEPTH || c > INT64_MAX / 4) return make(a, GPUC_TIR_FLOORDIV, p, c);
    a->depth++;
    const arith_poly *result = NULL;
    if (p->n > 0 && divide_out(a, p, c, &q, NULL)) {
        result = q;
    } else if (split_off(a, p, c, &q, &r) && (r->n > 0 || q->n > 0)) {
        result = r->n == 0 ? q : sum_or(a, q, floordiv_rest(a, r, c), 1, GPUC_TIR_FLOORDIV, p, c);
    } else if (p->n == 0) {
        result = arith_poly_const(a, p->dtype, gpuc_floordiv(p->c, c));
    }
    a->depth--;
    return result ? result : make(a, GPUC_TIR_FLOORDIV, p, c);
}

/* Inner remainders by multiples of c vanish: (x % (k * c) + y) % c. */
static const arith_poly *open_remainders(gpuc_analyzer *a, const arith_poly *p, int64_t c)
{
    for (int i = 0; i < p->n; i++) {
        int64_t k;
        if (p->at[i].n != 1 || arith_op_of(p->at[i].atom[0]) != GPUC_TIR_FLOORMOD) continue;
        if (!arith_const(arith_arg(p->at[i].atom[0], 1), &k) || k <= 0 || k % c != 0) continue;
        const arith_poly *x = arith_to_poly(a, arith_arg(p->at[i].atom[0], 0));
        const arith_poly *others =
            arith_poly_add(a, p, arith_poly_term(a, p, &p->at[i], -1, p->at[i].coeff), -1);
        const arith_poly *sum = arith_poly_add(a, others, x, p->at[i].coeff);
        if (sum && arith_exact(a, sum)) return sum;
    }
    return NULL;
}

static const arith_poly *floormod_rest(gpuc_analyzer *a, const arith_poly *r, int64_t c)
{
    gpuc_modular m = arith_poly_modular(a, r);
    if (m.coeff % c == 0) return arith_poly_const(a, r->dtype, gpuc_floormod(m.remainder, c));
    for (int64_t g = c; g > 0; g = next_divisor(r, c, g)) {
        const arith_poly *s, *t;
        if (!divide_out(a, r, g, &s, &t)) continue;
        if (g == c) return t;
        return sum_or(a, t, arith_poly_floormod(a, s, c / g), g, GPUC_TIR_FLOORMOD, r, c);
    }
    const arith_poly *open = open_remainders(a, r, c);
    return open ? arith_poly_floormod(a, open, c) : make(a, GPUC_TIR_FLOORMOD, r, c);
}

const arith_poly *arith_poly_floormod(gpuc_analyzer *a, const arith_poly *p, int64_t c)
{
    const arith_poly *q, *r, *t;
    if (c == 1) return arith_poly_const(a, p->dtype, 0);
    if (a->depth > ARITH_MAX_DEPTH || c > INT64_MAX / 4) return make(a, GPUC_TIR_FLOORMOD, p, c);
    a->depth++;
    const arith_poly *result = NULL;
    if (divide_out(a, p, c, &q, &t))
        result = t;
    else if (split_off(a, p, c, &q, &r))
        result = r->n == 0 ? r : floormod_rest(a, r, c);
    a->depth--;
    return result ? result : make(a, GPUC_TIR_FLOORMOD, p, c);
}

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

const arith_poly *arith_poly_divmod_symbolic(gpuc_analyzer *a, const arith_poly *x, const arith_poly *d,
                                             bool mod)
{
    const arith_poly *below = arith_poly_shift(a, d, -1);
    if (!below || !arith_nonnegative(a, below)) return NULL;
    const arith_poly *q = arith_poly_const(a, x->dtype, 0), *r = x;
    const arith_term *lead = &d->at[0];
    for (int i = 0; i < x->n && q && r; i++) {
        arith_term t;
        if (lead->coeff == -1 || !divide_terms(&x->at[i], lead, &t)) continue;
        const arith_poly *part =
            t.n ? arith_poly_term(a, x, &t, -1, t.coeff) : arith_poly_const(a, x->dtype, t.coeff);
        q = arith_poly_add(a, q, part, 1);
        const arith_poly *product = arith_poly_mul(a, part, d);
        r = product ? arith_poly_add(a, r, product, -1) : NULL;
    }
    if (!q || !r || r->n > x->n) return NULL;
    const arith_poly *room = arith_poly_add(a, below, r, -1);
    if (arith_exact(a, r) && room && arith_nonnegative(a, r) && arith_nonnegative(a, room))
        return mod ? r : q;
    if (q->n == 0 && q->c == 0) return NULL;
    gpuc_expr rest = arith_from_poly(a, r), by = arith_from_poly(a, d);
    if (mod) return arith_poly_op(a, GPUC_TIR_FLOORMOD, rest, by, x->index);
    const arith_poly *sum = arith_poly_add(a, q, arith_poly_op(a, GPUC_TIR_FLOORDIV, rest, by, x->index), 1);
    return sum ? arith_recombine(a, sum) : NULL;
}

const arith_poly *arith_poly_reduce_sign(gpuc_analyzer *a, const arith_poly *p)
{
    int64_t all = 0;
    for (int i = 0; i < p->n; i++) all = arith_gcd(all, p->at[i].coeff);
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
