/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of remainders. A coefficient of 0 means a constant. */
#include "arith/private.h"

static const gpuc_modular anything = {1, 0};

static gpuc_modular normal(int64_t coeff, int64_t remainder)
{
    if (coeff < 0) return anything;
    return (gpuc_modular){coeff, coeff ? gpuc_floormod(remainder, coeff) : remainder};
}

static gpuc_modular join(gpuc_modular x, gpuc_modular y)
{
    int64_t d;
    if (!gpuc_i64_sub(x.remainder, y.remainder, &d)) return anything;
    return normal(gpuc_arith_gcd(gpuc_arith_gcd(x.coeff, y.coeff), d), x.remainder);
}

static gpuc_modular add(gpuc_modular x, gpuc_modular y)
{
    int64_t r;
    if (!gpuc_i64_add(x.remainder, y.remainder, &r)) return anything;
    return normal(gpuc_arith_gcd(x.coeff, y.coeff), r);
}

static gpuc_modular mul(gpuc_modular x, gpuc_modular y)
{
    int64_t pq, pr, qr, r;
    if (!gpuc_i64_mul(x.coeff, y.coeff, &pq) || !gpuc_i64_mul(x.coeff, y.remainder, &pr) ||
        !gpuc_i64_mul(y.coeff, x.remainder, &qr) || !gpuc_i64_mul(x.remainder, y.remainder, &r))
        return anything;
    return normal(gpuc_arith_gcd(gpuc_arith_gcd(pq, pr), qr), r);
}

gpuc_modular gpuc_arith_poly_modular(gpuc_analyzer *a, const arith_poly *p)
{
    gpuc_modular sum = {0, p->c};
    for (int i = 0; i < p->n; i++) {
        gpuc_modular m = {0, p->at[i].coeff};
        for (int j = 0; j < p->at[i].n; j++) m = mul(m, gpuc_arith_modular(a, p->at[i].atom[j]));
        sum = add(sum, m);
    }
    return sum;
}

/* After wrap-around only a power of two survives. */
static gpuc_modular wrapped(gpuc_modular m, gpuc_dtype t)
{
    int bits = t.bits < 62 ? t.bits : 62;
    return normal(gpuc_arith_gcd(m.coeff, INT64_C(1) << bits), m.remainder); /* gcd(0, x) == x */
}

static gpuc_modular compute_modular(gpuc_analyzer *a, gpuc_expr e)
{
    int64_t c;
    if (arith_const(e, &c)) return (gpuc_modular){0, c};
    gpuc_tir_op op = arith_op_of(e);
    if (op == GPUC_TIR_FLOORDIV && arith_const(arith_arg(e, 1), &c) && c > 0) {
        gpuc_modular m = gpuc_arith_modular(a, arith_arg(e, 0));
        return m.coeff % c == 0 ? normal(m.coeff / c, gpuc_floordiv(m.remainder, c)) : anything;
    }
    if (op == GPUC_TIR_FLOORMOD && arith_const(arith_arg(e, 1), &c) && c > 0) {
        gpuc_modular m = gpuc_arith_modular(a, arith_arg(e, 0));
        if (m.coeff % c == 0) return (gpuc_modular){0, gpuc_floormod(m.remainder, c)};
        return normal(gpuc_arith_gcd(m.coeff, c), m.remainder);
    }
    if (op == GPUC_TIR_MIN || op == GPUC_TIR_MAX)
        return join(gpuc_arith_modular(a, arith_arg(e, 0)), gpuc_arith_modular(a, arith_arg(e, 1)));
    if (op == GPUC_TIR_SELECT || op == GPUC_TIR_IF_THEN_ELSE)
        return join(gpuc_arith_modular(a, arith_arg(e, 1)), gpuc_arith_modular(a, arith_arg(e, 2)));
    if (op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL || op == GPUC_TIR_SHL) {
        const arith_poly *p = gpuc_arith_to_poly(a, e);
        if (p->n == 1 && p->c == 0 && p->at[0].n == 1 && p->at[0].coeff == 1) return anything;
        gpuc_modular m = gpuc_arith_poly_modular(a, p);
        return gpuc_arith_exact(a, p) ? m : wrapped(m, e->dtype);
    }
    if (e->kind == GPUC_EXPR_CAST) {
        gpuc_expr x = ((const gpuc_tir_cast_node *)e)->a;
        if (!arith_is_scalar_int(x)) return anything;
        bool fits = arith_within(gpuc_arith_bounds(a, x), gpuc_arith_type_bounds(e->dtype)) &&
                    !(x->dtype.code == GPUC_DTYPE_UINT && x->dtype.bits == 64);
        return fits ? gpuc_arith_modular(a, x) : wrapped(gpuc_arith_modular(a, x), e->dtype);
    }
    return anything;
}

gpuc_modular gpuc_arith_modular(gpuc_analyzer *a, gpuc_expr e)
{
    if (!arith_is_scalar_int(e)) return anything;
    const arith_memo_entry *memo = gpuc_arith_memo_get(&a->modulars, e, a->gen);
    if (memo) return (gpuc_modular){memo->v[0], memo->v[1]};
    if (a->depth > ARITH_MAX_DEPTH) return anything;
    a->depth++;
    gpuc_modular m = compute_modular(a, e);
    const arith_known *k = gpuc_arith_known_get(a, e);
    if (k && m.coeff != 0) {
        if (k->bounds.min == k->bounds.max)
            m = (gpuc_modular){0, k->bounds.min};
        else if (k->modular.coeff == 0 || k->modular.coeff > m.coeff)
            m = k->modular;
    }
    a->depth--;
    gpuc_arith_memo_set(a, &a->modulars, e, a->gen, m.coeff, m.remainder);
    return m;
}

gpuc_modular gpuc_arith_analyzer_modular(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_arith_begin(a);
    if (!arith_is_scalar_int(e)) return anything;
    const arith_poly *p = gpuc_arith_to_poly(a, e);
    gpuc_modular m = gpuc_arith_poly_modular(a, p);
    return gpuc_arith_exact(a, p) ? m : wrapped(m, e->dtype);
}
