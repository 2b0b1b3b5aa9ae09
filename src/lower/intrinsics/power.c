/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials, logarithms and powers of float32 by our own arithmetic, within a few units of the last place:
 * Vulkan's exp is good to 3 + 2|x| of them, its log to 2^-21 near 1, and its pow is made of both. Polynomials
 * are those of S. Moshier's Cephes library; power is that of FreeBSD's msun (e_powf.c, Sun Microsystems),
 * whose logarithm has a low part. */
#include <math.h>

#include "lower/intrinsics/math.h"

static gpuc_expr word(gpuc_intrin *x, uint32_t v)
{
    return gpuc_imm_int(x->ctx, gpuc_intrin_word_type(x), v);
}

static gpuc_expr op2(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(x->ctx, op, a, b, NULL);
}

static gpuc_dtype int_type(gpuc_intrin *x)
{
    return gpuc_dtype_with_lanes(GPUC_INT32, x->t.lanes);
}

static gpuc_expr clamped(gpuc_intrin *x, gpuc_expr a, double low, double high)
{
    gpuc_ctx *ctx = x->ctx;
    a = gpuc_select(ctx, gpuc_lt(ctx, a, num(x, low)), num(x, low), a);
    return gpuc_select(ctx, gpuc_lt(ctx, num(x, high), a), num(x, high), a);
}

/* ---- Exponentials ---- */

/* 2^n of a signed integer n in [-126, 127]. */
static gpuc_expr power_of_two(gpuc_intrin *x, gpuc_expr n)
{
    gpuc_expr biased = gpuc_add(x->ctx, n, gpuc_imm_int(x->ctx, n->dtype, 127));
    gpuc_expr u = gpuc_cast(x->ctx, gpuc_intrin_word_type(x), biased);
    return gpuc_intrin_of_bits(x, op2(x, GPUC_TIR_SHL, u, word(x, 23)));
}

/* v * 2^n in two steps, neither of which leaves the range before the result does. */
static gpuc_expr scaled(gpuc_intrin *x, gpuc_expr v, gpuc_expr n)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr half = op2(x, GPUC_TIR_SHR, n, gpuc_imm_int(ctx, n->dtype, 1));
    v = gpuc_mul(ctx, v, power_of_two(x, half));
    return gpuc_mul(ctx, v, power_of_two(x, gpuc_sub(ctx, n, half)));
}

/* a = n ln 2 + r */
static gpuc_expr split_exponent(gpuc_intrin *x, gpuc_expr a, gpuc_expr *n)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr whole = op1(x, GPUC_TIR_ROUND, gpuc_mul(ctx, a, num(x, 1.44269504088896341)));
    *n = gpuc_cast(ctx, int_type(x), whole);
    gpuc_expr r = exact(x, gpuc_sub(ctx, a, gpuc_mul(ctx, whole, num(x, 0.693359375))));
    return exact(x, gpuc_sub(ctx, r, gpuc_mul(ctx, whole, num(x, -2.12194440e-4))));
}

/* exp(r) - 1 - r near 0 */
static gpuc_expr exp_tail(gpuc_intrin *x, gpuc_expr r)
{
    static const double c[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                               4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
    return gpuc_mul(x->ctx, POLYNOMIAL(x, r, c), gpuc_mul(x->ctx, r, r));
}

/* exp(a) * 2^k, 0 and infinity where it is out of range. */
static gpuc_expr exponential(gpuc_intrin *x, gpuc_expr a, int k)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr n, r = split_exponent(x, clamped(x, a, -104, 90), &n);
    gpuc_expr p = gpuc_add(ctx, gpuc_add(ctx, exp_tail(x, r), r), num(x, 1));
    if (k) n = gpuc_add(ctx, n, gpuc_imm_int(ctx, n->dtype, k));
    return gpuc_select(ctx, gpuc_lower_intrin_isnan(x, a), a, scaled(x, p, n));
}

gpuc_expr gpuc_lower_intrin_exp(gpuc_intrin *x, gpuc_expr a)
{
    return exponential(x, a, 0);
}

/* 2^n (exp(r) - 1) + (2^n - 1), of half the size. */
gpuc_expr gpuc_lower_intrin_expm1(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr n, r = split_exponent(x, clamped(x, a, -20, 88.8), &n);
    gpuc_expr p = gpuc_add(ctx, exp_tail(x, r), r);
    gpuc_expr t = power_of_two(x, gpuc_sub(ctx, n, gpuc_imm_int(ctx, n->dtype, 1)));
    gpuc_expr e = gpuc_add(ctx, gpuc_mul(ctx, t, p), gpuc_sub(ctx, t, num(x, 0.5)));
    e = gpuc_add(ctx, e, e);
    gpuc_expr as_is =
        gpuc_or(ctx, gpuc_lt(ctx, absolute(x, a), num(x, 0x1p-25)), gpuc_lower_intrin_isnan(x, a));
    return gpuc_select(ctx, as_is, a, e);
}

/* cosh and sinh are E + 1 / (4 E) and E - 1 / (4 E), where E is e^|a| / 2. */
gpuc_expr gpuc_lower_intrin_cosh(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_expr e = exponential(x, absolute(x, a), -1);
    return gpuc_add(x->ctx, e, gpuc_div(x->ctx, num(x, 0.25), e));
}

gpuc_expr gpuc_lower_intrin_sinh(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), e = exponential(x, size, -1);
    gpuc_expr far = gpuc_sub(ctx, e, gpuc_div(ctx, num(x, 0.25), e)), z = gpuc_mul(ctx, a, a);
    gpuc_expr near = gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, c), z), size), size);
    return with_sign(x, gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 1)), near, far), a);
}

/* ---- Logarithms ---- */

/* A positive number is m * 2^e with m in [low, 2 low), where low has these bits. Subnormal ones are taken as
 * integers, since devices may take them for 0. */
static gpuc_expr split_number(gpuc_intrin *x, gpuc_expr bits, uint32_t low, gpuc_expr *e)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype i = int_type(x);
    gpuc_expr tiny = gpuc_lt(ctx, bits, word(x, 0x00800000)), u = bits;
    gpuc_expr whole = gpuc_intrin_bits(x, gpuc_cast(ctx, x->t, gpuc_cast(ctx, i, bits))); /* 2^149 as large */
    u = gpuc_sub(ctx, gpuc_select(ctx, tiny, whole, u), word(x, low));
    gpuc_expr shift = gpuc_imm_int(ctx, i, 23);
    *e = op2(x, GPUC_TIR_SHR, gpuc_cast(ctx, i, u), shift);
    *e = gpuc_sub(ctx, *e, gpuc_select(ctx, tiny, gpuc_imm_int(ctx, i, 149), gpuc_imm_int(ctx, i, 0)));
    u = gpuc_add(ctx, op2(x, GPUC_TIR_BITAND, u, word(x, 0x7fffff)), word(x, low));
    return gpuc_intrin_of_bits(x, u);
}

gpuc_expr gpuc_lower_intrin_log(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,
                               -1.2420140846e-1, 1.4249322787e-1,  -1.6668057665e-1,
                               2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr u = gpuc_intrin_bits(x, a), e;
    gpuc_expr m = gpuc_sub(ctx, split_number(x, u, 0x3f3504f3, &e), num(x, 1)); /* from sqrt(1/2) on */
    gpuc_expr z = gpuc_mul(ctx, m, m), n = gpuc_cast(ctx, x->t, e);
    gpuc_expr y = gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, m, c), m), z);
    y = gpuc_add(ctx, y, gpuc_mul(ctx, n, num(x, -2.12194440e-4)));
    y = gpuc_sub(ctx, y, gpuc_mul(ctx, z, num(x, 0.5)));
    y = gpuc_add(ctx, gpuc_add(ctx, m, y), gpuc_mul(ctx, n, num(x, 0.693359375)));
    gpuc_expr zero = gpuc_eq(ctx, op2(x, GPUC_TIR_BITAND, u, word(x, 0x7fffffff)), word(x, 0));
    gpuc_expr infinite = word(x, 0x7f800000);
    y = gpuc_select(ctx, gpuc_lt(ctx, infinite, u), num(x, NAN), y); /* negative ones too */
    y = gpuc_select(ctx, gpuc_eq(ctx, infinite, u), num(x, INFINITY), y);
    return gpuc_select(ctx, zero, num(x, -INFINITY), y);
}

/* log(w) and what rounding 1 + a to w has lost. */
gpuc_expr gpuc_lower_intrin_log1p(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr one = num(x, 1), w = exact(x, gpuc_add(ctx, a, one));
    gpuc_expr lost = exact(x, gpuc_sub(ctx, a, exact(x, gpuc_sub(ctx, w, one))));
    gpuc_expr r = gpuc_lower_intrin_log(x, w);
    /* from 2^24 on nothing of interest is lost; below, 1 + a was exact where it is 0 or less */
    gpuc_expr plain = gpuc_or(ctx, gpuc_lt(ctx, num(x, 0x1p24), a), gpuc_le(ctx, a, num(x, -1)));
    plain = gpuc_or(ctx, plain, gpuc_lower_intrin_isnan(x, a));
    r = gpuc_select(ctx, plain, r, gpuc_add(ctx, r, gpuc_div(ctx, lost, gpuc_select(ctx, plain, one, w))));
    return gpuc_select(ctx, gpuc_lt(ctx, absolute(x, a), num(x, 0x1p-25)), a, r);
}

/* ---- Powers ---- */

static gpuc_expr plus(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    return exact(x, gpuc_add(x->ctx, a, b));
}

static gpuc_expr minus(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    return exact(x, gpuc_sub(x->ctx, a, b));
}

static gpuc_expr times(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    return exact(x, gpuc_mul(x->ctx, a, b));
}

/* The leading twelve bits, so that products of two are exact. */
static gpuc_expr leading(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_intrin_of_bits(x, op2(x, GPUC_TIR_BITAND, gpuc_intrin_bits(x, a), word(x, 0xfffff000)));
}

/* The sum of two floats. */
typedef struct pair {
    gpuc_expr high, low;
} pair;

/* log2 of a finite positive number: s = (m - 1) / (m + 1) and a series in its square. high has twelve bits. */
static pair logarithm2(gpuc_intrin *x, gpuc_expr bits)
{
    static const double l[] = {2.0697501302e-01, 2.3066075146e-01, 2.7272811532e-01,
                               3.3333334327e-01, 4.2857143283e-01, 6.0000002384e-01};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr e, one = num(x, 1), three = num(x, 3);
    gpuc_expr m = split_number(x, bits, 0x3f3504f3, &e), n = gpuc_cast(ctx, x->t, e);
    gpuc_expr u = gpuc_sub(ctx, m, one), w = gpuc_add(ctx, m, one), v = gpuc_div(ctx, one, w);
    gpuc_expr s = gpuc_mul(ctx, u, v), s_h = leading(x, s);
    /* m + 1 in two parts; s_l is what s_h lacks */
    gpuc_expr t_h = leading(x, w), t_l = minus(x, m, minus(x, t_h, one));
    gpuc_expr rest = minus(x, minus(x, u, times(x, s_h, t_h)), times(x, s_h, t_l));
    gpuc_expr s_l = gpuc_mul(ctx, v, rest), z = gpuc_mul(ctx, s, s);
    gpuc_expr r = gpuc_mul(ctx, gpuc_mul(ctx, z, z), POLYNOMIAL(x, z, l));
    r = plus(x, r, gpuc_mul(ctx, s_l, gpuc_add(ctx, s_h, s)));
    z = times(x, s_h, s_h);
    t_h = leading(x, plus(x, plus(x, three, z), r));
    t_l = minus(x, r, minus(x, minus(x, t_h, three), z));
    u = times(x, s_h, t_h);
    v = plus(x, times(x, s_l, t_h), times(x, t_l, s));
    gpuc_expr p_h = leading(x, plus(x, u, v)), p_l = minus(x, v, minus(x, p_h, u));
    /* times 2 / (3 ln 2) */
    gpuc_expr z_h = times(x, p_h, num(x, 9.6191406250e-01));
    gpuc_expr z_l =
        plus(x, times(x, p_h, num(x, -1.1736857402e-04)), times(x, p_l, num(x, 9.6179670095e-01)));
    gpuc_expr high = leading(x, plus(x, plus(x, z_h, z_l), n));
    return (pair){high, minus(x, z_l, minus(x, minus(x, high, n), z_h))};
}

/* 2^(high + low) */
static gpuc_expr exponential2(gpuc_intrin *x, gpuc_expr high, gpuc_expr low)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr whole = op1(x, GPUC_TIR_ROUND, plus(x, high, low)), n = gpuc_cast(ctx, int_type(x), whole);
    high = minus(x, high, whole);
    gpuc_expr t = leading(x, plus(x, low, high)), rest = minus(x, low, minus(x, t, high));
    gpuc_expr u = times(x, t, num(x, 6.93145752e-01)); /* ln 2 in two parts */
    gpuc_expr v = plus(x, times(x, rest, num(x, 6.9314718246e-01)), times(x, t, num(x, 1.42860654e-06)));
    gpuc_expr r = plus(x, u, v), lost = minus(x, v, minus(x, r, u));
    gpuc_expr p = gpuc_add(ctx, gpuc_add(ctx, exp_tail(x, r), lost), r);
    return scaled(x, gpuc_add(ctx, p, num(x, 1)), n);
}

/* |a|^b for finite a != 0; b is cut to where results have long left the range. */
static gpuc_expr power_of_size(gpuc_intrin *x, gpuc_expr bits, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    b = clamped(x, b, -0x1p32, 0x1p32);
    gpuc_expr y_h = leading(x, b);
    pair l = logarithm2(x, bits);
    gpuc_expr low = plus(x, times(x, minus(x, b, y_h), l.high), times(x, b, l.low));
    gpuc_expr high = times(x, y_h, l.high), z = plus(x, high, low);
    gpuc_expr far = gpuc_lt(ctx, num(x, 160), absolute(x, z)); /* over and under the range */
    gpuc_expr end = gpuc_select(ctx, gpuc_lt(ctx, z, num(x, 0)), num(x, -160), num(x, 160));
    return exponential2(x, gpuc_select(ctx, far, end, high), gpuc_select(ctx, far, num(x, 0), low));
}

/* All of C99's annex F.9.4.4, by the bits of the operands. */
gpuc_expr gpuc_lower_intrin_power(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr zero = num(x, 0), one = num(x, 1), inf = num(x, INFINITY), low = word(x, 0x7fffffff);
    gpuc_expr u = gpuc_intrin_bits(x, a), size = op2(x, GPUC_TIR_BITAND, u, low), all = word(x, 0x7f800000);
    gpuc_expr b_size = op2(x, GPUC_TIR_BITAND, gpuc_intrin_bits(x, b), low), none = word(x, 0);
    gpuc_expr unit = word(x, 0x3f800000), half = gpuc_mul(ctx, b, num(x, 0.5));
    gpuc_expr whole = gpuc_or(ctx, gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, b), b), gpuc_eq(ctx, b_size, all));
    gpuc_expr even =
        gpuc_or(ctx, gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, half), half), gpuc_eq(ctx, b_size, all));
    gpuc_expr finite = gpuc_and(ctx, gpuc_ne(ctx, size, none), gpuc_lt(ctx, size, all));
    gpuc_expr falls = gpuc_lt(ctx, b, zero), r = power_of_size(x, gpuc_select(ctx, finite, size, unit), b);
    /* 0, infinity and powers of infinity */
    gpuc_expr end = gpuc_or(ctx, gpuc_not(ctx, finite), gpuc_eq(ctx, b_size, all));
    gpuc_expr grows = gpuc_ne(ctx, gpuc_lt(ctx, size, unit), gpuc_not(ctx, falls));
    r = gpuc_select(ctx, end, gpuc_select(ctx, grows, inf, zero), r);
    r = gpuc_select(ctx, gpuc_eq(ctx, size, unit), one, r);
    gpuc_expr negative = gpuc_le(ctx, word(x, 0x80000000u), u);
    gpuc_expr flips = gpuc_and(ctx, negative, gpuc_and(ctx, whole, gpuc_not(ctx, even)));
    r = gpuc_select(ctx, flips, negated(x, r), r);
    gpuc_expr nan = gpuc_and(ctx, gpuc_and(ctx, negative, finite), gpuc_not(ctx, whole));
    nan = gpuc_or(ctx, nan, gpuc_or(ctx, gpuc_lt(ctx, all, size), gpuc_lt(ctx, all, b_size)));
    r = gpuc_select(ctx, nan, num(x, NAN), r);
    return gpuc_select(ctx, gpuc_or(ctx, gpuc_eq(ctx, b_size, none), gpuc_eq(ctx, u, unit)), one, r);
}
