/* SPDX-License-Identifier: Apache-2.0 */
/* The remainder of floats as C's fmod gives it, exact for any quotient: a long division of the mantissas,
 * some twenty bits of the quotient (float64: forty-eight) at a time. Floats estimate a digit, integers that
 * wrap take it off. Numbers are taken apart and put together by their bits, as devices may take subnormal
 * ones for 0. */
#include <math.h>

#include "lower/intrinsics/math.h"

typedef struct division {
    gpuc_intrin *x;
    gpuc_dtype u; /* integers as wide as the floats */
    int mantissa; /* bits, without the hidden one */
    gpuc_expr by, inverse;
} division;

static gpuc_expr whole(const division *d, uint64_t v)
{
    return gpuc_imm_int(d->x->ctx, d->u, (int64_t)v);
}

static gpuc_expr op2(const division *d, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(d->x->ctx, op, a, b, NULL);
}

static gpuc_expr as(const division *d, gpuc_dtype t, gpuc_expr a)
{
    return gpuc_tir_call(d->x->ctx, t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &a);
}

/* (r * 2^shift + low) mod by, where r < by and the quotient is below 2^20 (2^48): its estimate is off by one
 * at most. */
static gpuc_expr next(const division *d, gpuc_expr r, gpuc_expr shift, gpuc_expr low)
{
    gpuc_ctx *ctx = d->x->ctx;
    gpuc_dtype f = d->x->t;
    gpuc_expr scale = gpuc_cast(ctx, f, op2(d, GPUC_TIR_SHL, whole(d, 1), shift));
    gpuc_expr estimate = gpuc_mul(ctx, gpuc_cast(ctx, f, r), scale), v = op2(d, GPUC_TIR_SHL, r, shift);
    if (low) {
        estimate = gpuc_add(ctx, estimate, gpuc_cast(ctx, f, low));
        v = gpuc_add(ctx, v, low);
    }
    gpuc_expr digit = gpuc_cast(ctx, d->u, gpuc_mul(ctx, estimate, d->inverse));
    v = gpuc_sub(ctx, v, gpuc_mul(ctx, digit, d->by));
    gpuc_expr negative = gpuc_le(ctx, whole(d, UINT64_C(1) << (d->u.bits - 1)), v);
    v = gpuc_select(ctx, negative, gpuc_add(ctx, v, d->by), v);
    return gpuc_select(ctx, gpuc_le(ctx, d->by, v), gpuc_sub(ctx, v, d->by), v);
}

static gpuc_expr exponent_of(const division *d, gpuc_expr bits)
{
    return op2(d, GPUC_TIR_SHR, bits, whole(d, (uint64_t)d->mantissa));
}

/* The exponent of a magnitude. Subnormal numbers have the smallest exponent and no hidden bit. */
static void take_apart(const division *d, gpuc_expr bits, gpuc_expr *exponent, gpuc_expr *mantissa)
{
    gpuc_ctx *ctx = d->x->ctx;
    gpuc_expr hidden = whole(d, UINT64_C(1) << d->mantissa), below = gpuc_lt(ctx, bits, hidden);
    gpuc_expr fraction = op2(d, GPUC_TIR_BITAND, bits, whole(d, (UINT64_C(1) << d->mantissa) - 1));
    *exponent = gpuc_select(ctx, below, whole(d, 1), exponent_of(d, bits));
    *mantissa = gpuc_select(ctx, below, bits, op2(d, GPUC_TIR_BITOR, fraction, hidden));
}

/* The bits of r * 2^(exponent - 1), in units of the smallest number. */
static gpuc_expr put_together(const division *d, gpuc_expr r, gpuc_expr exponent)
{
    gpuc_ctx *ctx = d->x->ctx;
    uint64_t bias = (UINT64_C(1) << (d->u.bits - d->mantissa - 2)) - 1;
    gpuc_expr bits = as(d, d->u, gpuc_cast(ctx, d->x->t, r)), min = whole(d, bias + (uint64_t)d->mantissa);
    gpuc_expr moved = gpuc_sub(ctx, exponent, min), length = whole(d, (uint64_t)d->mantissa);
    gpuc_expr normal = gpuc_add(ctx, bits, op2(d, GPUC_TIR_SHL, moved, length));
    gpuc_expr shift = gpuc_min(ctx, gpuc_sub(ctx, exponent, whole(d, 1)), length);
    gpuc_expr is_normal = gpuc_lt(ctx, min, gpuc_add(ctx, exponent_of(d, bits), exponent));
    is_normal = gpuc_and(ctx, is_normal, gpuc_ne(ctx, r, whole(d, 0)));
    return gpuc_select(ctx, is_normal, normal, op2(d, GPUC_TIR_SHL, r, shift));
}

gpuc_expr gpuc_lower_intrin_remainder(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    bool wide = x->t.bits == 64;
    division d = {.x = x, .u = x->t, .mantissa = wide ? 52 : 23};
    d.u.code = GPUC_DTYPE_UINT;
    uint64_t top = UINT64_C(1) << (d.u.bits - 1), max = wide ? 48 : 20, half = wide ? 26 : 12,
             exponents = wide ? 2045 : 253, inf = top - (UINT64_C(1) << d.mantissa);
    gpuc_expr bits = as(&d, d.u, a), sign = op2(&d, GPUC_TIR_BITAND, bits, whole(&d, top));
    gpuc_expr p = op2(&d, GPUC_TIR_BITAND, bits, whole(&d, top - 1)),
              q = op2(&d, GPUC_TIR_BITAND, as(&d, d.u, b), whole(&d, top - 1));
    gpuc_expr from, to, r;
    take_apart(&d, p, &from, &r);
    take_apart(&d, q, &to, &d.by);
    d.by = gpuc_max(ctx, d.by, whole(&d, 1));
    d.inverse = gpuc_div(ctx, num(x, 1), gpuc_cast(ctx, x->t, d.by));
    gpuc_expr upper = op2(&d, GPUC_TIR_SHR, r, whole(&d, half)),
              lower = op2(&d, GPUC_TIR_BITAND, r, whole(&d, (UINT64_C(1) << half) - 1));
    r = next(&d, next(&d, whole(&d, 0), whole(&d, 0), upper), whole(&d, half), lower);
    gpuc_expr left = gpuc_sub(ctx, gpuc_max(ctx, from, to), to);
    for (uint64_t done = 0; done < exponents; done += max) {
        gpuc_expr shift = gpuc_min(ctx, left, whole(&d, max));
        r = next(&d, r, shift, NULL);
        left = gpuc_sub(ctx, left, shift);
    }
    r = gpuc_select(ctx, gpuc_lt(ctx, p, q), p, put_together(&d, r, to));
    gpuc_expr none = gpuc_or(ctx, gpuc_le(ctx, whole(&d, inf), p),
                             gpuc_or(ctx, gpuc_lt(ctx, whole(&d, inf), q), gpuc_eq(ctx, q, whole(&d, 0))));
    return gpuc_select(ctx, none, num(x, NAN), as(&d, x->t, op2(&d, GPUC_TIR_BITOR, r, sign)));
}
