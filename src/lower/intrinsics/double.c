/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of float64 by arithmetic alone: no bits are looked at, so that a target without 64-bit integers
 * has them too. Polynomials are those of S. Moshier's Cephes library (double precision). */
#include <math.h>

#include "lower/intrinsics/math.h"

#define LN2 0.69314718055994530942
#define HALF_PI 1.57079632679489661923
#define PI 3.14159265358979323846

static gpuc_expr rational(gpuc_intrin *x, gpuc_expr z, int n, const double *p, int m, const double *q)
{
    return gpuc_div(x->ctx, polynomial(x, z, n, p), polynomial(x, z, m, q));
}
#define RATIONAL(x, z, p, q)                                                                                 \
    rational((x), (z), (int)(sizeof(p) / sizeof(p)[0]), (p), (int)(sizeof(q) / sizeof(q)[0]), (q))

static gpuc_expr scaled(gpuc_intrin *x, gpuc_expr a, double by)
{
    return gpuc_mul(x->ctx, a, num(x, by));
}

static gpuc_expr plus(gpuc_intrin *x, gpuc_expr a, double b)
{
    return gpuc_add(x->ctx, a, num(x, b));
}

/* True of -0 too. */
static gpuc_expr is_minus(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr zero = num(x, 0), below = gpuc_lt(ctx, gpuc_div(ctx, num(x, 1), a), zero);
    return gpuc_or(ctx, gpuc_lt(ctx, a, zero), gpuc_and(ctx, gpuc_eq(ctx, a, zero), below));
}

/* ---- Exponentials and logarithms ---- */

/* 2^n of a whole n, |n| < 1024: a factor for each of its bits. */
static gpuc_expr power_of_two(gpuc_intrin *x, gpuc_expr n)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr rest = absolute(x, n), p = num(x, 1);
    for (int k = 9; k >= 0; k--) {
        gpuc_expr set = gpuc_le(ctx, num(x, ldexp(1, k)), rest);
        rest = gpuc_select(ctx, set, plus(x, rest, -ldexp(1, k)), rest);
        p = gpuc_select(ctx, set, scaled(x, p, ldexp(1, 1 << k)), p);
    }
    return gpuc_select(ctx, gpuc_lt(ctx, n, num(x, 0)), gpuc_div(ctx, num(x, 1), p), p);
}

static gpuc_expr exponential(gpuc_intrin *x, gpuc_expr a)
{
    static const double p[] = {1.26177193074810590878e-4, 3.02994407707441961300e-2,
                               9.99999999999999999910e-1};
    static const double q[] = {3.00198505138664455042e-6, 2.52448340349684104192e-3,
                               2.27265548208155028766e-1, 2.00000000000000000009e0};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr high = gpuc_lt(ctx, num(x, 709.78271289338397), a), low = gpuc_lt(ctx, a, num(x, -745.14));
    gpuc_expr inside = gpuc_select(ctx, gpuc_or(ctx, high, low), num(x, 0), a);
    gpuc_expr n = op1(x, GPUC_TIR_ROUND, scaled(x, inside, 1.4426950408889634074));
    gpuc_expr r = gpuc_sub(ctx, inside, scaled(x, n, 6.93145751953125e-1));
    r = gpuc_sub(ctx, r, scaled(x, n, 1.42860682030941723212e-6));
    gpuc_expr z = gpuc_mul(ctx, r, r), t = gpuc_mul(ctx, r, POLYNOMIAL(x, z, p));
    gpuc_expr e = gpuc_div(ctx, t, gpuc_sub(ctx, POLYNOMIAL(x, z, q), t));
    e = plus(x, gpuc_add(ctx, e, e), 1);
    /* in two steps, neither of which leaves the range before the result does */
    gpuc_expr half = op1(x, GPUC_TIR_FLOOR, scaled(x, n, 0.5));
    e = gpuc_mul(ctx, gpuc_mul(ctx, e, power_of_two(x, gpuc_sub(ctx, n, half))), power_of_two(x, half));
    e = gpuc_select(ctx, high, num(x, INFINITY), gpuc_select(ctx, low, num(x, 0), e));
    return gpuc_select(ctx, gpuc_ne(ctx, a, a), a, e);
}

/* a > 0 is m * 2^e with m in [1, 2). */
static void split(gpuc_intrin *x, gpuc_expr a, gpuc_expr *mantissa, gpuc_expr *exponent)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr tiny = gpuc_lt(ctx, a, num(x, 0x1p-1022));
    gpuc_expr m = gpuc_select(ctx, tiny, scaled(x, a, 0x1p54), a);
    gpuc_expr e = gpuc_select(ctx, tiny, num(x, -54), num(x, 0));
    for (int k = 9; k >= 0; k--) {
        gpuc_expr large = gpuc_le(ctx, num(x, ldexp(1, 1 << k)), m);
        m = gpuc_select(ctx, large, scaled(x, m, ldexp(1, -(1 << k))), m);
        e = gpuc_select(ctx, large, plus(x, e, 1 << k), e);
    }
    for (int k = 9; k >= 0; k--) {
        gpuc_expr small = gpuc_lt(ctx, m, num(x, ldexp(1, 1 - (1 << k))));
        m = gpuc_select(ctx, small, scaled(x, m, ldexp(1, 1 << k)), m);
        e = gpuc_select(ctx, small, plus(x, e, -(1 << k)), e);
    }
    *mantissa = m;
    *exponent = e;
}

static gpuc_expr logarithm(gpuc_intrin *x, gpuc_expr a)
{
    static const double p[] = {1.01875663804580931796e-4, 4.97494994976747001425e-1,
                               4.70579119878881725854e0,  1.44989225341610930846e1,
                               1.79368678507819816313e1,  7.70838733755885391666e0};
    static const double q[] = {1,
                               1.12873587189167450590e1,
                               4.52279145837532221105e1,
                               8.29875266912776603211e1,
                               7.11544750618563894466e1,
                               2.31251620126765340583e1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr m, e;
    split(x, a, &m, &e);
    gpuc_expr upper = gpuc_lt(ctx, num(x, 1.41421356237309504880), m);
    m = gpuc_select(ctx, upper, scaled(x, m, 0.5), m);
    e = gpuc_select(ctx, upper, plus(x, e, 1), e);
    gpuc_expr z = plus(x, m, -1), zz = gpuc_mul(ctx, z, z);
    gpuc_expr y = gpuc_mul(ctx, z, gpuc_mul(ctx, zz, RATIONAL(x, z, p, q)));
    y = gpuc_sub(ctx, y, scaled(x, e, 2.121944400546905827679e-4));
    y = gpuc_sub(ctx, y, scaled(x, zz, 0.5));
    gpuc_expr r = gpuc_add(ctx, gpuc_add(ctx, z, y), scaled(x, e, 0.693359375)), zero = num(x, 0);
    r = gpuc_select(ctx, gpuc_eq(ctx, a, num(x, INFINITY)), a, r);
    gpuc_expr other = gpuc_select(ctx, gpuc_eq(ctx, a, zero), num(x, -INFINITY), num(x, NAN));
    return gpuc_select(ctx, gpuc_lt(ctx, zero, a), r, other);
}

/* log(1 + u): what rounding 1 + u loses is made good by a quotient (W. Kahan). */
static gpuc_expr logarithm_plus_1(gpuc_intrin *x, gpuc_expr u)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr w = plus(x, u, 1), d = plus(x, w, -1), l = logarithm(x, w);
    gpuc_expr usable = gpuc_and(ctx, gpuc_ne(ctx, d, num(x, 0)), gpuc_lt(ctx, w, num(x, INFINITY)));
    gpuc_expr r = gpuc_mul(ctx, l, gpuc_div(ctx, u, gpuc_select(ctx, usable, d, num(x, 1))));
    return gpuc_select(ctx, gpuc_eq(ctx, d, num(x, 0)), u, gpuc_select(ctx, usable, r, l));
}

static gpuc_expr power(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr zero = num(x, 0), one = num(x, 1), size = absolute(x, a), half = scaled(x, b, 0.5);
    gpuc_expr is_zero = gpuc_eq(ctx, size, zero);
    gpuc_expr whole = gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, b), b);
    gpuc_expr even = gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, half), half);
    gpuc_expr base = gpuc_select(ctx, is_zero, one, size);
    gpuc_expr r = exponential(x, gpuc_mul(ctx, b, logarithm(x, base)));
    /* whole powers of whole numbers are whole */
    gpuc_expr exact = gpuc_and(ctx, whole, gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, size), size));
    exact = gpuc_and(ctx, exact, gpuc_and(ctx, gpuc_le(ctx, zero, b), gpuc_lt(ctx, r, num(x, 0x1p44))));
    r = gpuc_select(ctx, exact, op1(x, GPUC_TIR_ROUND, r), r);
    r = gpuc_select(ctx, is_zero, gpuc_select(ctx, gpuc_lt(ctx, b, zero), num(x, INFINITY), zero), r);
    r = gpuc_select(ctx, gpuc_eq(ctx, size, one), one, r);
    gpuc_expr below = gpuc_select(ctx, whole, gpuc_select(ctx, even, r, negated(x, r)), num(x, NAN));
    gpuc_expr unsigned_base = gpuc_or(ctx, is_zero, gpuc_eq(ctx, size, num(x, INFINITY)));
    below = gpuc_select(ctx, gpuc_and(ctx, unsigned_base, gpuc_not(ctx, whole)), r, below);
    below = gpuc_select(ctx, gpuc_eq(ctx, absolute(x, b), num(x, INFINITY)), r, below);
    r = gpuc_select(ctx, is_minus(x, a), below, r);
    gpuc_expr nan = gpuc_or(ctx, gpuc_ne(ctx, a, a), gpuc_ne(ctx, b, b));
    r = gpuc_select(ctx, nan, num(x, NAN), r);
    return gpuc_select(ctx, gpuc_or(ctx, gpuc_eq(ctx, b, zero), gpuc_eq(ctx, a, one)), one, r);
}

/* ---- Remainder ---- */

/* Without integers of 64 bits. Subtracts |b| * 2^k as long division does, which is exact for quotients below
 * 2^64; what is beyond is brought near first. */
static gpuc_expr remainder_of(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr p = absolute(x, a), q = absolute(x, b), quotient = gpuc_div(ctx, p, q), r = p;
    gpuc_expr far = gpuc_sub(ctx, p, gpuc_mul(ctx, op1(x, GPUC_TIR_TRUNC, quotient), q));
    far = gpuc_select(ctx, gpuc_lt(ctx, far, num(x, 0)), gpuc_add(ctx, far, q), far);
    r = gpuc_select(ctx, gpuc_lt(ctx, quotient, num(x, 0x1p63)), p, far);
    for (int k = 63; k >= 0; k--) {
        gpuc_expr t = scaled(x, q, ldexp(1, k));
        r = gpuc_select(ctx, gpuc_le(ctx, t, r), gpuc_sub(ctx, r, t), r);
    }
    gpuc_expr inf = num(x, INFINITY), finite = gpuc_lt(ctx, p, inf);
    r = gpuc_select(ctx, gpuc_and(ctx, gpuc_eq(ctx, q, inf), finite), p, r);
    r = gpuc_select(ctx, gpuc_and(ctx, finite, gpuc_lt(ctx, num(x, 0), q)), r, num(x, NAN));
    return gpuc_select(ctx, is_minus(x, a), negated(x, r), r);
}

/* ---- Arcs ---- */

static gpuc_expr arc_tangent(gpuc_intrin *x, gpuc_expr a)
{
    static const double p[] = {-8.750608600031904122785e-1, -1.615753718733365076637e1,
                               -7.500855792314704667340e1, -1.228866684490136173410e2,
                               -6.485021904942025371773e1};
    static const double q[] = {1,
                               2.485846490142306297962e1,
                               1.650270098316988542046e2,
                               4.328810604912902668951e2,
                               4.853903996359136964868e2,
                               1.945506571482613964425e2};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), large = gpuc_lt(ctx, num(x, 2.41421356237309504880), size);
    gpuc_expr middle = gpuc_lt(ctx, num(x, 0.66), size);
    gpuc_expr shifted = gpuc_div(ctx, plus(x, size, -1), plus(x, size, 1));
    gpuc_expr r =
        gpuc_select(ctx, large, gpuc_div(ctx, num(x, -1), size), gpuc_select(ctx, middle, shifted, size));
    gpuc_expr base =
        gpuc_select(ctx, large, num(x, HALF_PI), gpuc_select(ctx, middle, num(x, HALF_PI / 2), num(x, 0)));
    gpuc_expr rest = gpuc_select(ctx, large, num(x, 6.123233995736765886130e-17), /* what the base lacks */
                                 gpuc_select(ctx, middle, num(x, 3.061616997868382943065e-17), num(x, 0)));
    gpuc_expr z = gpuc_mul(ctx, r, r);
    z = gpuc_mul(ctx, gpuc_mul(ctx, RATIONAL(x, z, p, q), z), r);
    return with_sign(x, gpuc_add(ctx, base, gpuc_add(ctx, gpuc_add(ctx, z, rest), r)), a);
}

static gpuc_expr arc_tangent2(gpuc_intrin *x, gpuc_expr b, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr p = absolute(x, a), q = absolute(x, b), zero = num(x, 0), one = num(x, 1);
    gpuc_expr steep = gpuc_lt(ctx, p, q), big = gpuc_select(ctx, steep, q, p),
              small = gpuc_select(ctx, steep, p, q);
    gpuc_expr ratio = gpuc_div(ctx, small, gpuc_select(ctx, gpuc_eq(ctx, big, zero), one, big));
    ratio = gpuc_select(ctx, gpuc_eq(ctx, p, q), gpuc_select(ctx, gpuc_eq(ctx, p, zero), zero, one), ratio);
    gpuc_expr r = arc_tangent(x, ratio);
    r = gpuc_select(ctx, steep, gpuc_sub(ctx, num(x, HALF_PI), r), r);
    r = gpuc_select(ctx, is_minus(x, a), gpuc_sub(ctx, num(x, PI), r), r);
    r = gpuc_select(ctx, is_minus(x, b), negated(x, r), r);
    return gpuc_select(ctx, gpuc_or(ctx, gpuc_ne(ctx, a, a), gpuc_ne(ctx, b, b)), num(x, NAN), r);
}

/* asin(a) = atan(a / sqrt((1 - a)(1 + a))), acos(a) = 2 atan(sqrt((1 - a) / (1 + a))) */
static gpuc_expr arc_sine(gpuc_intrin *x, gpuc_expr a, bool cosine)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr left = gpuc_sub(ctx, num(x, 1), a), right = plus(x, a, 1), r;
    gpuc_expr size = absolute(x, a), one = num(x, 1), inside = gpuc_lt(ctx, size, one);
    if (cosine) {
        gpuc_expr ratio = gpuc_div(ctx, left, gpuc_select(ctx, inside, right, one));
        r = scaled(x, arc_tangent(x, op1(x, GPUC_TIR_SQRT, gpuc_select(ctx, inside, ratio, one))), 2);
        gpuc_expr end = gpuc_select(ctx, gpuc_lt(ctx, a, num(x, 0)), num(x, PI), num(x, 0));
        r = gpuc_select(ctx, inside, r, end);
    } else {
        gpuc_expr root = op1(x, GPUC_TIR_SQRT, gpuc_select(ctx, inside, gpuc_mul(ctx, left, right), one));
        r = gpuc_select(ctx, inside, arc_tangent(x, gpuc_div(ctx, a, root)),
                        with_sign(x, num(x, HALF_PI), a));
    }
    return gpuc_select(ctx, gpuc_le(ctx, size, one), r, num(x, NAN));
}

/* ---- Hyperbolic ---- */

/* e^|a| / 2 +- e^-|a| / 2, by e^(|a| / 2): no overflow before the result's. */
static gpuc_expr hyperbolic_halves(gpuc_intrin *x, gpuc_expr a, bool add)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr e = exponential(x, scaled(x, absolute(x, a), 0.5));
    gpuc_expr big = gpuc_mul(ctx, scaled(x, e, 0.5), e),
              small = gpuc_div(ctx, gpuc_div(ctx, num(x, 0.5), e), e);
    return add ? gpuc_add(ctx, big, small) : gpuc_sub(ctx, big, small);
}

/* The series of sinh, for |a| <= 1. */
static gpuc_expr sine_series(gpuc_intrin *x, gpuc_expr a)
{
    enum { TERMS = 9 };
    double c[TERMS], factorial = 1;
    for (int i = 0; i < TERMS; i++) {
        factorial *= (2 * i + 2) * (2 * i + 3);
        c[TERMS - 1 - i] = 1 / factorial;
    }
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr z = gpuc_mul(ctx, a, a);
    return gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, c), z), a), a);
}

static gpuc_expr hyperbolic_sine(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_expr near = gpuc_lt(x->ctx, absolute(x, a), num(x, 1));
    return gpuc_select(x->ctx, near, sine_series(x, a), with_sign(x, hyperbolic_halves(x, a, false), a));
}

static gpuc_expr hyperbolic_tangent(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), e = exponential(x, gpuc_add(ctx, size, size));
    gpuc_expr far = gpuc_sub(ctx, num(x, 1), gpuc_div(ctx, num(x, 2), plus(x, e, 1)));
    gpuc_expr near = gpuc_div(ctx, sine_series(x, a), hyperbolic_halves(x, a, true));
    return gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0.5)), near, with_sign(x, far, a));
}

/* e^a - 1 = 2 e^(a/2) sinh(a/2) near 0 */
static gpuc_expr exponential_minus_1(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr half = scaled(x, a, 0.5), near = gpuc_mul(ctx, exponential(x, half), sine_series(x, half));
    gpuc_expr far = plus(x, exponential(x, a), -1);
    gpuc_expr size = absolute(x, a),
              r = gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 1)), scaled(x, near, 2), far);
    return gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0x1p-54)), a, r);
}

static const double huge = 1e150; /* its square is near the end of the range */

static gpuc_expr area_sine(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), far = gpuc_lt(ctx, num(x, huge), size);
    gpuc_expr s = gpuc_select(ctx, far, num(x, 1), size), square = gpuc_mul(ctx, s, s);
    gpuc_expr root = plus(x, op1(x, GPUC_TIR_SQRT, plus(x, square, 1)), 1);
    gpuc_expr near = logarithm_plus_1(x, gpuc_add(ctx, s, gpuc_div(ctx, square, root)));
    gpuc_expr r = gpuc_select(ctx, far, plus(x, logarithm(x, size), LN2), near);
    return gpuc_select(ctx, gpuc_eq(ctx, a, num(x, 0)), a,
                       gpuc_select(ctx, gpuc_ne(ctx, a, a), a, with_sign(x, r, a)));
}

static gpuc_expr area_cosine(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr one = num(x, 1), valid = gpuc_le(ctx, one, a), far = gpuc_lt(ctx, num(x, huge), a);
    gpuc_expr t = plus(x, gpuc_select(ctx, gpuc_and(ctx, valid, gpuc_not(ctx, far)), a, one), -1);
    gpuc_expr root = op1(x, GPUC_TIR_SQRT, gpuc_add(ctx, gpuc_add(ctx, t, t), gpuc_mul(ctx, t, t)));
    gpuc_expr near = logarithm_plus_1(x, gpuc_add(ctx, t, root));
    gpuc_expr r = gpuc_select(ctx, far, plus(x, logarithm(x, a), LN2), near);
    return gpuc_select(ctx, valid, r, num(x, NAN));
}

static gpuc_expr area_tangent(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1), inside = gpuc_lt(ctx, size, one);
    gpuc_expr s = gpuc_select(ctx, inside, size, num(x, 0.5));
    gpuc_expr ratio = gpuc_div(ctx, gpuc_add(ctx, s, s), gpuc_sub(ctx, one, s));
    gpuc_expr r = scaled(x, logarithm_plus_1(x, ratio), 0.5);
    gpuc_expr outside = gpuc_select(ctx, gpuc_eq(ctx, size, one), num(x, INFINITY), num(x, NAN));
    return with_sign(x, gpuc_select(ctx, inside, r, outside), a);
}

/* ---- Error function ---- */

static gpuc_expr error_function(gpuc_intrin *x, gpuc_expr a)
{
    static const double t[] = {9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
                               7.00332514112805075473e3, 5.55923013010394962768e4};
    static const double u[] = {1,
                               3.35617141647503099647e1,
                               5.21357949780152679795e2,
                               4.59432382970980127987e3,
                               2.26290000613890934246e4,
                               4.92673942608635921086e4};
    static const double p[] = {
        2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
        4.86371970985681366614e1,   1.96520832956077098242e2,  5.26445194995477358631e2,
        9.34528527171957607540e2,   1.02755188689515710272e3,  5.57535335369399327526e2};
    static const double q[] = {1,
                               1.32281951154744992508e1,
                               8.67072140885989742329e1,
                               3.54937778887819891062e2,
                               9.75708501743205489753e2,
                               1.82390916687909736289e3,
                               2.24633760818710981792e3,
                               1.65666309194161350182e3,
                               5.57535340817727675546e2};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1), z = gpuc_mul(ctx, a, a);
    gpuc_expr s = gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 7)), size, num(x, 7)); /* 1 from 6 on */
    gpuc_expr tail = gpuc_mul(ctx, exponential(x, negated(x, gpuc_mul(ctx, s, s))), RATIONAL(x, s, p, q));
    gpuc_expr far = with_sign(x, gpuc_sub(ctx, one, tail), a);
    gpuc_expr r = gpuc_select(ctx, gpuc_lt(ctx, one, size), far, gpuc_mul(ctx, a, RATIONAL(x, z, t, u)));
    return gpuc_select(ctx, gpuc_ne(ctx, a, a), a, r);
}

gpuc_expr gpuc_lower_intrin_double(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    if (op == GPUC_TIR_SIN || op == GPUC_TIR_COS || op == GPUC_TIR_TAN)
        return gpuc_lower_intrin_double_circular(x, op, a);
    if (op == GPUC_TIR_EXP) return exponential(x, a);
    if (op == GPUC_TIR_EXPM1) return exponential_minus_1(x, a);
    if (op == GPUC_TIR_LOG1P) return logarithm_plus_1(x, a);
    if (op == GPUC_TIR_LOG) return logarithm(x, a);
    if (op == GPUC_TIR_POW) return power(x, a, b);
    if (op == GPUC_TIR_MOD)
        return x->target->int64 ? gpuc_lower_intrin_remainder(x, a, b) : remainder_of(x, a, b);
    if (op == GPUC_TIR_ASIN || op == GPUC_TIR_ACOS) return arc_sine(x, a, op == GPUC_TIR_ACOS);
    if (op == GPUC_TIR_ATAN) return arc_tangent(x, a);
    if (op == GPUC_TIR_ATAN2) return arc_tangent2(x, a, b);
    if (op == GPUC_TIR_SINH) return hyperbolic_sine(x, a);
    if (op == GPUC_TIR_COSH) return hyperbolic_halves(x, a, true);
    if (op == GPUC_TIR_TANH) return hyperbolic_tangent(x, a);
    if (op == GPUC_TIR_ASINH) return area_sine(x, a);
    if (op == GPUC_TIR_ACOSH) return area_cosine(x, a);
    if (op == GPUC_TIR_ATANH) return area_tangent(x, a);
    if (op == GPUC_TIR_ERF) return error_function(x, a);
    return NULL;
}
