/* SPDX-License-Identifier: Apache-2.0 */
/* Adds, scales and multiplies polynomials: the sums of monomials that canonical forms are made of. */
#include "arith/private.h"

int gpuc_arith_monomial_compare(const arith_term *x, const arith_term *y)
{
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    for (int i = 0; i < x->n; i++)
        if (x->atom[i] != y->atom[i]) return x->atom[i]->id < y->atom[i]->id ? -1 : 1;
    return 0;
}

static arith_poly *new_poly(gpuc_analyzer *a, gpuc_dtype t, int max_terms, arith_term **terms)
{
    arith_poly *p =
        gpuc_arith_pool_alloc(a->ctx, &a->scratch, sizeof *p + sizeof **terms * (size_t)max_terms);
    *terms = (arith_term *)(p + 1);
    *p = (arith_poly){.dtype = t, .index = true, .at = *terms};
    return p;
}

const arith_poly *gpuc_arith_poly_const(gpuc_analyzer *a, gpuc_dtype t, int64_t value)
{
    arith_term *terms;
    arith_poly *p = new_poly(a, t, 0, &terms);
    p->c = value;
    return p;
}

const arith_poly *gpuc_arith_poly_atom(gpuc_analyzer *a, gpuc_expr atom)
{
    arith_term *terms;
    arith_poly *p = new_poly(a, atom->dtype, 1, &terms);
    terms[0] = (arith_term){.coeff = 1, .n = 1, .atom = {atom}};
    p->n = 1;
    p->index = gpuc_arith_contract(a, atom);
    return p;
}

const arith_poly *gpuc_arith_poly_add(gpuc_analyzer *a, const arith_poly *x, const arith_poly *y,
                                      int64_t scale)
{
    if (!x || !y) return NULL;
    arith_term *out;
    arith_poly *p = new_poly(a, x->dtype, x->n + y->n, &out);
    p->index = x->index && y->index;
    p->value = x->value || y->value;
    int64_t c;
    if (!gpuc_i64_mul(y->c, scale, &c) || !gpuc_i64_add(x->c, c, &p->c)) return NULL;
    int n = 0;
    for (int i = 0, j = 0; i < x->n || j < y->n;) {
        int order = i == x->n ? 1 : j == y->n ? -1 : gpuc_arith_monomial_compare(&x->at[i], &y->at[j]);
        int64_t coeff = 0;
        if (order >= 0 && !gpuc_i64_mul(y->at[j].coeff, scale, &coeff)) return NULL;
        if (order <= 0 && !gpuc_i64_add(coeff, x->at[i].coeff, &coeff)) return NULL;
        const arith_term *from = order <= 0 ? &x->at[i] : &y->at[j];
        i += order <= 0;
        j += order >= 0;
        if (coeff == 0) continue;
        out[n] = *from;
        out[n++].coeff = coeff;
    }
    p->n = n;
    return n <= ARITH_MAX_TERMS ? p : NULL;
}

const arith_poly *gpuc_arith_poly_scale(gpuc_analyzer *a, const arith_poly *x, int64_t k)
{
    if (!x || k == 1) return x;
    const arith_poly *sum = gpuc_arith_poly_add(a, gpuc_arith_poly_const(a, x->dtype, 0), x, k);
    return sum;
}

const arith_poly *gpuc_arith_poly_shift(gpuc_analyzer *a, const arith_poly *x, int64_t c)
{
    if (!x || c == 0) return x;
    return gpuc_arith_poly_add(a, x, gpuc_arith_poly_const(a, x->dtype, c), 1);
}

static bool multiply_terms(const arith_term *x, const arith_term *y, arith_term *out)
{
    if (x->n + y->n > ARITH_MAX_DEGREE) return false;
    if (!gpuc_i64_mul(x->coeff, y->coeff, &out->coeff)) return false;
    out->n = x->n + y->n;
    for (int i = 0, j = 0, k = 0; k < out->n; k++)
        out->atom[k] =
            j == y->n || (i < x->n && x->atom[i]->id <= y->atom[j]->id) ? x->atom[i++] : y->atom[j++];
    return true;
}

/* x times one term: the order of the monomials stays, except where ids interleave. */
static const arith_poly *multiply_by_term(gpuc_analyzer *a, const arith_poly *x, const arith_term *t)
{
    arith_term *out;
    arith_poly *p = new_poly(a, x->dtype, x->n + 1, &out);
    p->index = x->index;
    p->value = x->value;
    for (int i = 0; i < x->n; i++)
        if (!multiply_terms(&x->at[i], t, &out[i])) return NULL;
    p->n = x->n;
    if (x->c != 0) {
        out[p->n] = *t;
        if (!gpuc_i64_mul(t->coeff, x->c, &out[p->n++].coeff)) return NULL;
    }
    for (int i = 1; i < p->n; i++)
        for (int j = i; j > 0 && gpuc_arith_monomial_compare(&out[j - 1], &out[j]) > 0; j--) {
            arith_term swap = out[j];
            out[j] = out[j - 1];
            out[j - 1] = swap;
        }
    return p;
}

const arith_poly *gpuc_arith_poly_mul(gpuc_analyzer *a, const arith_poly *x, const arith_poly *y)
{
    if (!x || !y) return NULL;
    bool index = x->index && y->index, value = x->value || y->value;
    const arith_poly *sum;
    if (y->n == 0) {
        sum = gpuc_arith_poly_scale(a, x, y->c);
    } else if (x->n == 0) {
        sum = gpuc_arith_poly_scale(a, y, x->c);
    } else {
        if ((x->n + 1) * (y->n + 1) > ARITH_MAX_TERMS) return NULL;
        sum = gpuc_arith_poly_scale(a, x, y->c);
        for (int i = 0; i < y->n && sum; i++) {
            const arith_poly *part = multiply_by_term(a, x, &y->at[i]);
            sum = part ? gpuc_arith_poly_add(a, sum, part, 1) : NULL;
        }
    }
    if (!sum || (sum->index == index && sum->value == value)) return sum;
    arith_poly *p = gpuc_arith_pool_alloc(a->ctx, &a->scratch, sizeof *p);
    *p = *sum;
    p->index = index;
    p->value = value;
    return p;
}

const arith_poly *gpuc_arith_poly_term(gpuc_analyzer *a, const arith_poly *x, const arith_term *t, int skip,
                                       int64_t coeff)
{
    arith_term *out;
    arith_poly *p = new_poly(a, x->dtype, 1, &out);
    p->index = x->index;
    p->value = x->value;
    if (coeff == 0) return p;
    if (t->n == (skip >= 0 ? 1 : 0)) {
        p->c = coeff;
        return p;
    }
    out[0] = (arith_term){.coeff = coeff};
    for (int i = 0; i < t->n; i++)
        if (i != skip) out[0].atom[out[0].n++] = t->atom[i];
    p->n = 1;
    return p;
}

const arith_poly *gpuc_arith_poly_pick(gpuc_analyzer *a, const arith_poly *x, const bool *mask,
                                       bool with_const)
{
    arith_term *out;
    arith_poly *p = new_poly(a, x->dtype, x->n, &out);
    p->index = x->index;
    p->value = x->value;
    p->c = with_const ? x->c : 0;
    for (int i = 0; i < x->n; i++)
        if (mask[i]) out[p->n++] = x->at[i];
    return p;
}

bool gpuc_arith_poly_equal(const arith_poly *x, const arith_poly *y)
{
    if (x->n != y->n || x->c != y->c) return false;
    for (int i = 0; i < x->n; i++)
        if (x->at[i].coeff != y->at[i].coeff || gpuc_arith_monomial_compare(&x->at[i], &y->at[i]) != 0)
            return false;
    return true;
}

const arith_poly *gpuc_arith_poly_copy(gpuc_ctx *ctx, arith_pool *pool, const arith_poly *x)
{
    arith_poly *p = gpuc_arith_pool_alloc(ctx, pool, sizeof *p + sizeof *x->at * (size_t)x->n);
    *p = *x;
    p->at = (arith_term *)(p + 1);
    if (x->n) memcpy(p + 1, x->at, sizeof *x->at * (size_t)x->n);
    return p;
}
