/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs of p >= 0 by bounds, by facts, and by putting the ends of their ranges for variables and
 * what is known of x // c, min and max for these. */
#include "arith/private.h"

enum { MAX_ELIMINATIONS = 6 };

const arith_poly *gpuc_arith_difference(gpuc_analyzer *a, gpuc_expr y, gpuc_expr x)
{
    const arith_poly *p = gpuc_arith_to_poly(a, y), *q = gpuc_arith_to_poly(a, x);
    if (!gpuc_arith_exact(a, p) || !gpuc_arith_exact(a, q)) return NULL;
    const arith_poly *d = gpuc_arith_poly_add(a, p, q, -1);
    if (!d) return NULL;
    arith_poly *exact = gpuc_arith_pool_alloc(a->ctx, &a->scratch, sizeof *exact);
    *exact = *d;
    exact->value = true;
    return gpuc_arith_recombine(a, exact);
}

static bool prove_nonnegative(gpuc_analyzer *a, const arith_poly *p, int level);

/* p - k * fact >= 0 with k that cancels the fact's first term. */
static bool by_facts(gpuc_analyzer *a, const arith_poly *p)
{
    for (size_t i = a->num_facts; i-- > 0;) {
        const arith_poly *f = a->facts[i];
        if (!gpuc_dtype_equal(f->dtype, p->dtype)) continue;
        for (int j = 0; j < p->n; j++) {
            if (gpuc_arith_monomial_compare(&p->at[j], &f->at[0]) != 0 ||
                p->at[j].coeff % f->at[0].coeff != 0)
                continue;
            int64_t k = p->at[j].coeff / f->at[0].coeff;
            const arith_poly *d = k > 0 ? gpuc_arith_poly_add(a, p, f, -k) : NULL;
            if (d && gpuc_arith_poly_bounds(a, d).min >= 0) return true;
        }
    }
    return false;
}

/* p with coeff * cofactor * atom (atom number `at` of term i) replaced by scaled * cofactor * end. */
static const arith_poly *substitute(gpuc_analyzer *a, const arith_poly *p, int i, int at,
                                    const arith_poly *end, int64_t scaled)
{
    const arith_term *t = &p->at[i];
    const arith_poly *rest = gpuc_arith_poly_add(a, p, gpuc_arith_poly_term(a, p, t, -1, t->coeff), -1);
    const arith_poly *q = gpuc_arith_poly_add(
        a, rest, gpuc_arith_poly_mul(a, gpuc_arith_poly_term(a, p, t, at, scaled), end), 1);
    return q ? gpuc_arith_recombine(a, q) : NULL;
}

/* All occurrences of a variable in terms where it stands alone or has a factor of known sign. */
static const arith_poly *replace_variable(gpuc_analyzer *a, const arith_poly *p, gpuc_expr var, gpuc_expr min,
                                          gpuc_expr max)
{
    const arith_poly *q = p;
    for (int iteration = 0; iteration < 8; iteration++) {
        int i = 0, at = -1;
        for (; i < q->n && at < 0; i++)
            for (int j = 0; j < q->at[i].n && at < 0; j++)
                if (q->at[i].atom[j] == var) at = j;
        if (at < 0) return q;
        i--;
        const arith_poly *cofactor = gpuc_arith_poly_term(a, q, &q->at[i], at, q->at[i].coeff);
        gpuc_bounds sign = gpuc_arith_poly_bounds(a, cofactor);
        if (sign.min < 0 && sign.max > 0) return NULL;
        const arith_poly *end = gpuc_arith_to_poly(a, sign.min >= 0 ? min : max);
        q = gpuc_arith_exact(a, end) ? substitute(a, q, i, at, end, q->at[i].coeff) : NULL;
        if (!q) return NULL;
    }
    return NULL;
}

static bool by_variables(gpuc_analyzer *a, const arith_poly *p, int level)
{
    const arith_known *newest = NULL;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->at[i].n; j++) {
            const arith_known *k = gpuc_arith_known_get(a, p->at[i].atom[j]);
            if (!k || k <= newest) continue;
            /* Constant ends matter in products only: bounds know them in sums. */
            if (k->min || (p->at[i].n > 1 && arith_finite(k->bounds))) newest = k;
        }
    if (!newest) return false;
    gpuc_expr var = newest->e, min = newest->min, max = newest->max;
    if (!min) {
        min = gpuc_imm_int(a->ctx, var->dtype, newest->bounds.min);
        max = gpuc_imm_int(a->ctx, var->dtype, newest->bounds.max);
    }
    const arith_poly *q = replace_variable(a, p, var, min, max);
    return q && prove_nonnegative(a, q, level + 1);
}

static bool by_values(gpuc_analyzer *a, const arith_poly *p, int level)
{
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->at[i].n; j++) {
            const arith_known *k = gpuc_arith_known_get(a, p->at[i].atom[j]);
            if (!k || !k->value || k->value == k->e || !arith_is_scalar_int(k->value)) continue;
            const arith_poly *v = gpuc_arith_to_poly(a, k->value);
            if (!gpuc_arith_exact(a, v)) continue;
            const arith_poly *q = substitute(a, p, i, j, v, p->at[i].coeff);
            return q && prove_nonnegative(a, q, level + 1);
        }
    return false;
}

/* x - c + 1 <= c * (x // c) <= x, after scaling all by what the coefficient lacks of c. Of an integer it is enough that
 * scale times it is above -scale. */
static bool by_division(gpuc_analyzer *a, const arith_poly *p, int level)
{
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[i];
        int64_t c;
        if (t->n != 1 || arith_op_of(t->atom[0]) != GPUC_TIR_FLOORDIV ||
            !arith_const(arith_arg(t->atom[0], 1), &c) || c <= 0)
            continue;
        int64_t scale = c / gpuc_arith_gcd(t->coeff, c), coeff;
        if (!gpuc_i64_mul(t->coeff, scale, &coeff)) continue;
        const arith_poly *x = gpuc_arith_to_poly(a, arith_arg(t->atom[0], 0));
        if (!gpuc_arith_exact(a, x)) continue;
        const arith_poly *end = coeff > 0 ? gpuc_arith_poly_shift(a, x, 1 - c) : x;
        const arith_poly *scaled = gpuc_arith_poly_scale(a, p, scale);
        if (scaled) scaled = gpuc_arith_poly_shift(a, scaled, scale - 1);
        const arith_poly *q = scaled && end ? substitute(a, scaled, i, 0, end, coeff / c) : NULL;
        if (q && prove_nonnegative(a, q, level + 1)) return true;
    }
    return false;
}

/* Loops that were fused: a variable below m * z was made of x // y and x % y, where y is z, or max(z, 1) so
 * that nothing is divided by 0. Where the variable has a value there is an iteration, so z is at least 1. */
static const arith_poly *iterations_of(gpuc_analyzer *a, gpuc_expr x, gpuc_expr y, gpuc_expr *out_z);

/* Some e > x. */
static const arith_poly *end_of(gpuc_analyzer *a, gpuc_expr x)
{
    gpuc_expr z;
    if (arith_op_of(x) == GPUC_TIR_FLOORDIV) return iterations_of(a, arith_arg(x, 0), arith_arg(x, 1), &z);
    const arith_known *k = gpuc_arith_known_get(a, x);
    const arith_poly *last = k && k->max && k->bounds.min >= 0 ? gpuc_arith_to_poly(a, k->max) : NULL;
    return last && gpuc_arith_exact(a, last) ? gpuc_arith_poly_shift(a, last, 1) : NULL;
}

/* m; NULL: it is no such x and y. */
static const arith_poly *iterations_of(gpuc_analyzer *a, gpuc_expr x, gpuc_expr y, gpuc_expr *out_z)
{
    int64_t one;
    const arith_poly *end = end_of(a, x);
    if (!end || end->n != 1 || end->c != 0) return NULL;
    *out_z = arith_op_of(y) == GPUC_TIR_MAX && arith_const(arith_arg(y, 1), &one) && one == 1
                 ? arith_arg(y, 0)
                 : y;
    if (gpuc_arith_bounds(a, *out_z).min < 0) return NULL;
    for (int i = 0; i < end->at[0].n; i++)
        if (end->at[0].atom[i] == *out_z)
            return gpuc_arith_poly_term(a, end, &end->at[0], i, end->at[0].coeff);
    return NULL;
}

/* 0 <= x // y <= m - 1 for loops that were fused. */
static bool by_iterations(gpuc_analyzer *a, const arith_poly *p, int level)
{
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[i];
        gpuc_expr z;
        if (t->n != 1 || t->coeff > 0 || arith_op_of(t->atom[0]) != GPUC_TIR_FLOORDIV) continue;
        const arith_poly *m = iterations_of(a, arith_arg(t->atom[0], 0), arith_arg(t->atom[0], 1), &z);
        const arith_poly *last = m ? gpuc_arith_poly_shift(a, m, -1) : NULL;
        const arith_poly *q = last ? substitute(a, p, i, 0, last, t->coeff) : NULL;
        if (q && prove_nonnegative(a, q, level + 1)) return true;
    }
    return false;
}

/* 0 <= x % y <= y - 1 for a positive y. */
static bool by_remainder(gpuc_analyzer *a, const arith_poly *p, int level)
{
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[i];
        if (t->n != 1 || arith_op_of(t->atom[0]) != GPUC_TIR_FLOORMOD) continue;
        gpuc_expr by = arith_arg(t->atom[0], 1);
        if (gpuc_arith_bounds(a, by).min <= 0) continue;
        gpuc_expr zero = gpuc_imm_int(a->ctx, by->dtype, 0), size;
        if (iterations_of(a, arith_arg(t->atom[0], 0), by, &size)) by = size;
        const arith_poly *end = gpuc_arith_to_poly(a, t->coeff > 0 ? zero : by);
        if (t->coeff < 0 && gpuc_arith_exact(a, end)) end = gpuc_arith_poly_shift(a, end, -1);
        const arith_poly *q = end && gpuc_arith_exact(a, end) ? substitute(a, p, i, 0, end, t->coeff) : NULL;
        if (q && prove_nonnegative(a, q, level + 1)) return true;
    }
    return false;
}

/* min and max against the sign: one operand is enough; with it: both are needed. */
static bool by_extremum(gpuc_analyzer *a, const arith_poly *p, int level)
{
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[i];
        gpuc_tir_op op = arith_op_of(t->atom[0]);
        bool choice = op == GPUC_TIR_SELECT || op == GPUC_TIR_IF_THEN_ELSE;
        if (t->n != 1 || (op != GPUC_TIR_MIN && op != GPUC_TIR_MAX && !choice)) continue;
        bool any = !choice && (op == GPUC_TIR_MAX) == (t->coeff > 0);
        int proven = 0;
        for (int k = 0; k < 2; k++) {
            const arith_poly *x = gpuc_arith_to_poly(a, arith_arg(t->atom[0], k + choice));
            const arith_poly *q = gpuc_arith_exact(a, x) ? substitute(a, p, i, 0, x, t->coeff) : NULL;
            bool ok = q && prove_nonnegative(a, q, level + 1);
            if (ok && any) return true;
            proven += ok;
            if (!ok && !any) break;
        }
        return proven == 2;
    }
    return false;
}

/* Of all but the constant term, which is the lower half. */
static uint64_t key_of(const arith_poly *p)
{
    uint32_t h = gpuc_hash_mix((uint32_t)p->n, (uint64_t)p->dtype.code << 16 | (uint64_t)p->dtype.bits << 8 |
                                                   (uint64_t)p->index << 1 | p->value);
    for (int i = 0; i < p->n; i++) {
        h = gpuc_hash_mix(h, (uint64_t)p->at[i].coeff);
        for (int j = 0; j < p->at[i].n; j++) h = gpuc_hash_mix(h, p->at[i].atom[j]->id + 1);
    }
    return (uint64_t)h << 32 ^ (uint64_t)p->c;
}

static bool prove_nonnegative(gpuc_analyzer *a, const arith_poly *p, int level)
{
    if (a->steps++ > ARITH_PROOF_STEPS) return false;
    gpuc_bounds b = gpuc_arith_poly_bounds(a, p);
    if (b.min >= 0) return true;
    if (p->n == 0 || b.max < 0 || level > MAX_ELIMINATIONS || a->depth > ARITH_MAX_DEPTH) return false;
    uint64_t key = key_of(p);
    arith_failed *failed = &a->failed[(key ^ key >> 32) % ARITH_FAILED_PROOFS];
    if (failed->key == key && failed->gen == a->gen && failed->level <= level && failed->depth <= a->depth)
        return false;
    a->depth += 4;
    bool proven = by_facts(a, p) || by_variables(a, p, level) || by_extremum(a, p, level) ||
                  by_division(a, p, level) || by_iterations(a, p, level) || by_remainder(a, p, level) ||
                  by_values(a, p, level);
    a->depth -= 4;
    if (!proven && a->steps <= ARITH_PROOF_STEPS)
        *failed = (arith_failed){key, a->gen, (int16_t)level, (int16_t)a->depth};
    return proven;
}

bool gpuc_arith_nonnegative(gpuc_analyzer *a, const arith_poly *p)
{
    return p && prove_nonnegative(a, p, 0);
}

static bool prove(gpuc_analyzer *a, gpuc_expr cond, bool value)
{
    gpuc_tir_op op = arith_op_of(cond);
    if (cond->kind == GPUC_EXPR_INT) return (((const gpuc_tir_int_node *)cond)->value != 0) == value;
    if (op == GPUC_TIR_NOT) return prove(a, arith_arg(cond, 0), !value);
    if (op == GPUC_TIR_AND || op == GPUC_TIR_OR) {
        bool both = (op == GPUC_TIR_AND) == value;
        bool first = prove(a, arith_arg(cond, 0), value);
        return both == first ? prove(a, arith_arg(cond, 1), value) : first;
    }
    gpuc_bounds b = gpuc_arith_bounds(a, cond);
    if (b.min == b.max && b.min >= 0) return (b.min != 0) == value;
    return false;
}

bool gpuc_arith_prove(gpuc_analyzer *a, gpuc_expr cond)
{
    gpuc_arith_begin(a);
    return prove(a, gpuc_arith_simplify_nested(a, cond), true);
}

bool gpuc_arith_prove_equal(gpuc_analyzer *a, gpuc_expr x, gpuc_expr y)
{
    gpuc_arith_begin(a);
    if (x == y) return !(x->flags & GPUC_TIR_HAS_EFFECT);
    if (arith_is_scalar_int(x) && arith_is_scalar_int(y) && !gpuc_dtype_equal(x->dtype, y->dtype)) {
        gpuc_dtype wide = x->dtype.bits > y->dtype.bits ? x->dtype : y->dtype;
        x = gpuc_cast(a->ctx, wide, x);
        y = gpuc_cast(a->ctx, wide, y);
    }
    if (gpuc_arith_simplify_nested(a, x) == gpuc_arith_simplify_nested(a, y)) return true;
    if (!arith_is_scalar_int(x) || !gpuc_dtype_equal(x->dtype, y->dtype)) return false;
    const arith_poly *p = gpuc_arith_to_poly(a, x), *q = gpuc_arith_to_poly(a, y);
    if (gpuc_arith_poly_equal(p, q)) return true;
    const arith_poly *d = gpuc_arith_difference(a, x, y);
    if (!d) return false;
    if (d->n == 0) return d->c == 0;
    return gpuc_arith_nonnegative(a, d) && gpuc_arith_nonnegative(a, gpuc_arith_poly_scale(a, d, -1));
}
