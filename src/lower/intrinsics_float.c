/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one or two floats where the target promises too little: Vulkan leaves sin and cos beyond
 * [-pi, pi], pow of negatives, log and sqrt outside of their domain and the ends of the hyperbolic ones open,
 * and has no erf. Polynomials are those of S. Moshier's Cephes library (single precision), erf is N. Juffa's.
 */
#include <math.h>

#include "lower/intrinsics_math.h"

/* a + a * z * p(z), z = a * a: odd functions near 0. */
static gpuc_expr odd(gpuc_intrin *x, gpuc_expr a, int n, const double *c)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr z = gpuc_mul(ctx, a, a);
    return gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, polynomial(x, z, n, c), z), a), a);
}
#define ODD(x, a, c) odd((x), (a), (int)(sizeof(c) / sizeof(c)[0]), (c))

/* ---- Bits
 * ------------------------------------------------------------------------------------------------------ */

static gpuc_expr bits_of(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_dtype t = a->dtype;
    t.code = GPUC_DTYPE_UINT;
    return gpuc_tir_call(x->ctx, t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &a);
}

static gpuc_expr magnitude_bits(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_expr u = bits_of(x, a);
    gpuc_expr mask = gpuc_imm_int(x->ctx, u->dtype, (int64_t)((UINT64_C(1) << (u->dtype.bits - 1)) - 1));
    return gpuc_tir_make(x->ctx, GPUC_TIR_BITAND, u, mask, NULL);
}

static gpuc_expr infinity_bits(gpuc_intrin *x, gpuc_dtype t)
{
    int mantissa = t.bits == 16 ? 10 : t.bits == 32 ? 23 : 52;
    uint64_t all = (UINT64_C(1) << (t.bits - 1)) - 1, low = (UINT64_C(1) << mantissa) - 1;
    t.code = GPUC_DTYPE_UINT;
    return gpuc_imm_int(x->ctx, t, (int64_t)(all & ~low));
}

gpuc_expr gpuc_intrin_isnan(gpuc_intrin *x, gpuc_expr a)
{
    bool by_bits = x->target->kind == GPUC_TARGET_VULKAN &&
                   (a->dtype.bits == 32 || (a->dtype.bits == 64 && x->target->int64));
    if (!by_bits) return op1(x, GPUC_TIR_ISNAN, a);
    return gpuc_lt(x->ctx, infinity_bits(x, a->dtype), magnitude_bits(x, a));
}

gpuc_expr gpuc_intrin_isinf(gpuc_intrin *x, gpuc_expr a)
{
    bool by_bits = x->target->kind == GPUC_TARGET_VULKAN &&
                   (a->dtype.bits == 32 || (a->dtype.bits == 64 && x->target->int64));
    if (!by_bits) return op1(x, GPUC_TIR_ISINF, a);
    return gpuc_eq(x->ctx, infinity_bits(x, a->dtype), magnitude_bits(x, a));
}

/* ---- min and max
 * ----------------------------------------------------------------------------------------------- */

static bool never_nan(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_BROADCAST) return never_nan(gpuc_as_broadcast(e)->a);
    if (e->kind == GPUC_EXPR_FLOAT) return !isnan(gpuc_as_float(e)->value);
    if (e->kind == GPUC_EXPR_CAST) return !gpuc_is_float(gpuc_as_cast(e)->a->dtype);
    return false;
}

/* With a never NaN, a comparison that fails gives b, NaN or not. */
gpuc_expr gpuc_intrin_minmax(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    if (x->target->fast_math) return gpuc_tir_make(ctx, op, a, b, NULL);
    if (!never_nan(a) && never_nan(b)) {
        gpuc_expr swap = a;
        a = b;
        b = swap;
    }
    gpuc_expr first = op == GPUC_TIR_MIN ? gpuc_lt(ctx, a, b) : gpuc_lt(ctx, b, a);
    if (!never_nan(a)) first = gpuc_or(ctx, first, gpuc_ne(ctx, a, a));
    return gpuc_select(ctx, first, a, b);
}

/* ---- Roots, logarithms, powers
 * ------------------------------------------------------------------------------------- */

static gpuc_expr safe_log(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr zero = num(x, 0);
    gpuc_expr other = gpuc_select(ctx, gpuc_eq(ctx, a, zero), num(x, -INFINITY), num(x, NAN));
    return gpuc_select(ctx, gpuc_lt(ctx, zero, a), op1(x, GPUC_TIR_LOG, a), other);
}

static gpuc_expr safe_sqrt(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_select(x->ctx, gpuc_lt(x->ctx, a, num(x, 0)), num(x, NAN), op1(x, GPUC_TIR_SQRT, a));
}

static gpuc_expr power(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr zero = num(x, 0), one = num(x, 1), size = absolute(x, a), half = gpuc_mul(ctx, b, num(x, 0.5));
    gpuc_expr is_zero = gpuc_eq(ctx, size, zero);
    gpuc_expr r = gpuc_tir_make(ctx, GPUC_TIR_POW, gpuc_select(ctx, is_zero, one, size), b, NULL);
    r = gpuc_select(ctx, is_zero, gpuc_select(ctx, gpuc_lt(ctx, b, zero), num(x, INFINITY), zero), r);
    r = gpuc_select(ctx, gpuc_eq(ctx, size, one), one, r);
    gpuc_expr whole = gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, b), b);
    gpuc_expr even = gpuc_eq(ctx, op1(x, GPUC_TIR_FLOOR, half), half);
    gpuc_expr below = gpuc_select(ctx, whole, gpuc_select(ctx, even, r, negated(x, r)), num(x, NAN));
    gpuc_dtype bits = bits_of(x, a)->dtype; /* -0 has a sign too */
    gpuc_expr top = gpuc_imm_int(ctx, bits, (int64_t)(UINT64_C(1) << (bits.bits - 1)));
    gpuc_expr minus = gpuc_le(ctx, top, bits_of(x, a));
    below = gpuc_select(ctx, gpuc_and(ctx, is_zero, gpuc_not(ctx, whole)), r, below);
    r = gpuc_select(ctx, minus, below, r);
    r = gpuc_select(ctx, gpuc_or(ctx, gpuc_intrin_isnan(x, a), gpuc_intrin_isnan(x, b)), num(x, NAN), r);
    return gpuc_select(ctx, gpuc_or(ctx, gpuc_eq(ctx, b, zero), gpuc_eq(ctx, a, one)), one, r);
}

/* ---- Circular
 * ----------------------------------------------------------------------------------------------------------
 */

/* x = n * pi/2 + r. The parts of pi/2 have 8 bits each, so that their products with n < 2^16 are exact. */
static gpuc_expr reduce_circle(gpuc_intrin *x, gpuc_expr a, gpuc_expr *quadrant)
{
    static const double parts[] = {1.5703125, 0.0004825592041015625, 1.2665987014770508e-06,
                                   9.920935184482005e-10};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr n = op1(x, GPUC_TIR_ROUND, gpuc_mul(ctx, a, num(x, 0.63661977236758134)));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        a = gpuc_sub(ctx, a, gpuc_mul(ctx, n, num(x, parts[i])));
    gpuc_expr turns = op1(x, GPUC_TIR_FLOOR, gpuc_mul(ctx, n, num(x, 0.25)));
    *quadrant = gpuc_sub(ctx, n, gpuc_mul(ctx, turns, num(x, 4)));
    return a;
}

static void sine_cosine(gpuc_intrin *x, gpuc_expr a, gpuc_expr *sine, gpuc_expr *cosine)
{
    static const double s[] = {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1};
    static const double c[] = {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr quadrant, r = reduce_circle(x, a, &quadrant), z = gpuc_mul(ctx, r, r);
    gpuc_expr p = ODD(x, r, s);
    gpuc_expr q = gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, c), z), z);
    q = gpuc_add(ctx, gpuc_sub(ctx, q, gpuc_mul(ctx, z, num(x, 0.5))), num(x, 1));
    gpuc_expr first = gpuc_eq(ctx, quadrant, num(x, 1)), third = gpuc_eq(ctx, quadrant, num(x, 3));
    gpuc_expr second = gpuc_eq(ctx, quadrant, num(x, 2)), swap = gpuc_or(ctx, first, third);
    gpuc_expr one = gpuc_select(ctx, swap, q, p), other = gpuc_select(ctx, swap, p, q);
    *sine = gpuc_select(ctx, gpuc_or(ctx, second, third), negated(x, one), one);
    *cosine = gpuc_select(ctx, gpuc_or(ctx, first, second), negated(x, other), other);
}

static const double atan_coeffs[] = {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1,
                                     -3.33329491539e-1};

static gpuc_expr arc_tangent(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1);
    gpuc_expr large = gpuc_lt(ctx, num(x, 2.414213562373095), size);
    gpuc_expr middle = gpuc_lt(ctx, num(x, 0.4142135623730950), size);
    gpuc_expr shifted = gpuc_div(ctx, gpuc_sub(ctx, size, one), gpuc_add(ctx, size, one));
    gpuc_expr r =
        gpuc_select(ctx, large, gpuc_div(ctx, num(x, -1), size), gpuc_select(ctx, middle, shifted, size));
    gpuc_expr base = gpuc_select(ctx, large, num(x, 1.5707963267948966),
                                 gpuc_select(ctx, middle, num(x, 0.78539816339744831), num(x, 0)));
    return with_sign(x, gpuc_add(ctx, base, ODD(x, r, atan_coeffs)), a);
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
    r = gpuc_select(ctx, steep, gpuc_sub(ctx, num(x, 1.5707963267948966), r), r);
    gpuc_dtype bits = bits_of(x, a)->dtype;
    gpuc_expr top = gpuc_imm_int(ctx, bits, (int64_t)(UINT64_C(1) << (bits.bits - 1)));
    r = gpuc_select(ctx, gpuc_le(ctx, top, bits_of(x, a)), gpuc_sub(ctx, num(x, 3.1415926535897932), r), r);
    r = gpuc_select(ctx, gpuc_le(ctx, top, bits_of(x, b)), negated(x, r), r);
    return gpuc_select(ctx, gpuc_or(ctx, gpuc_intrin_isnan(x, a), gpuc_intrin_isnan(x, b)), num(x, NAN), r);
}

/* asin and acos share asin(sqrt((1 - |a|) / 2)) for |a| > 1/2. */
static gpuc_expr arc_sine(gpuc_intrin *x, gpuc_expr a, bool cosine)
{
    static const double c[] = {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2,
                               1.6666752422e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1), quarter = num(x, 1.5707963267948966);
    gpuc_expr far = gpuc_lt(ctx, num(x, 0.5), size);
    gpuc_expr root = op1(x, GPUC_TIR_SQRT, gpuc_mul(ctx, gpuc_sub(ctx, one, size), num(x, 0.5)));
    gpuc_expr r = gpuc_select(ctx, far, root, size), p = ODD(x, r, c), twice = gpuc_add(ctx, p, p);
    gpuc_expr valid = gpuc_le(ctx, size, one), nan = num(x, NAN);
    gpuc_expr sine = with_sign(x, gpuc_select(ctx, far, gpuc_sub(ctx, quarter, twice), p), a);
    if (!cosine) return gpuc_select(ctx, valid, sine, nan);
    gpuc_expr negative = gpuc_lt(ctx, a, num(x, 0));
    gpuc_expr outer = gpuc_select(ctx, negative, gpuc_sub(ctx, num(x, 3.1415926535897932), twice), twice);
    return gpuc_select(ctx, valid, gpuc_select(ctx, far, outer, gpuc_sub(ctx, quarter, sine)), nan);
}

/* ---- Hyperbolic
 * ----------------------------------------------------------------------------------------------------------
 */

static gpuc_expr hyperbolic_tangent(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
                               -3.33332819422e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1);
    gpuc_expr e = op1(x, GPUC_TIR_EXP, gpuc_add(ctx, size, size));
    gpuc_expr far = gpuc_sub(ctx, one, gpuc_div(ctx, num(x, 2), gpuc_add(ctx, e, one)));
    return gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0.625)), ODD(x, a, c), with_sign(x, far, a));
}

/* e^|a| / 2 +- e^-|a| / 2, by e^(|a| / 2): no overflow before the result's. */
static gpuc_expr hyperbolic_halves(gpuc_intrin *x, gpuc_expr a, bool plus)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr half = num(x, 0.5), e = op1(x, GPUC_TIR_EXP, gpuc_mul(ctx, absolute(x, a), half));
    gpuc_expr big = gpuc_mul(ctx, gpuc_mul(ctx, half, e), e),
              small = gpuc_div(ctx, gpuc_div(ctx, half, e), e);
    return plus ? gpuc_add(ctx, big, small) : gpuc_sub(ctx, big, small);
}

static gpuc_expr hyperbolic_sine(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1};
    gpuc_expr near = gpuc_lt(x->ctx, absolute(x, a), num(x, 1));
    return gpuc_select(x->ctx, near, ODD(x, a, c), with_sign(x, hyperbolic_halves(x, a, false), a));
}

static gpuc_expr area_sine(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1), huge = gpuc_lt(ctx, num(x, 1500), size);
    gpuc_expr root = op1(x, GPUC_TIR_SQRT, gpuc_add(ctx, gpuc_mul(ctx, size, size), one));
    gpuc_expr r = safe_log(x, gpuc_select(ctx, huge, size, gpuc_add(ctx, size, root)));
    r = gpuc_select(ctx, huge, gpuc_add(ctx, r, num(x, 0.69314718055994531)), r);
    return gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0.5)), ODD(x, a, c), with_sign(x, r, a));
}

static gpuc_expr area_cosine(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {1.7596881071e-3, -7.5272886713e-3, 2.6454905019e-2, -1.1784741703e-1,
                               1.4142135263e0};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr one = num(x, 1), t = gpuc_sub(ctx, a, one), huge = gpuc_lt(ctx, num(x, 1500), a);
    gpuc_expr near = gpuc_mul(ctx, POLYNOMIAL(x, t, c), safe_sqrt(x, t));
    gpuc_expr root = safe_sqrt(x, gpuc_mul(ctx, t, gpuc_add(ctx, a, one)));
    gpuc_expr r = safe_log(x, gpuc_select(ctx, huge, a, gpuc_add(ctx, a, root)));
    r = gpuc_select(ctx, huge, gpuc_add(ctx, r, num(x, 0.69314718055994531)), r);
    r = gpuc_select(ctx, gpuc_lt(ctx, t, num(x, 0.5)), near, r);
    return gpuc_select(ctx, gpuc_le(ctx, one, a), r, num(x, NAN));
}

static gpuc_expr area_tangent(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1, 1.99782164500e-1,
                               3.33337300303e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr one = num(x, 1), ratio = gpuc_div(ctx, gpuc_add(ctx, one, a), gpuc_sub(ctx, one, a));
    gpuc_expr far = gpuc_mul(ctx, num(x, 0.5), safe_log(x, ratio));
    return gpuc_select(ctx, gpuc_lt(ctx, absolute(x, a), num(x, 0.5)), ODD(x, a, c), far);
}

static gpuc_expr error_function(gpuc_intrin *x, gpuc_expr a)
{
    static const double near[] = {-5.96761703e-4, 4.99119423e-3,  -2.67681349e-2,
                                  1.12819925e-1,  -3.76125336e-1, 1.28379166e-1};
    static const double far[] = {-1.72853470e-5, 3.83197126e-4,  -3.88396438e-3, 2.42546219e-2,
                                 -1.06777877e-1, -6.34846687e-1, -1.28717512e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), z = gpuc_mul(ctx, a, a);
    gpuc_expr p = gpuc_sub(ctx, gpuc_mul(ctx, POLYNOMIAL(x, size, far), size), size);
    gpuc_expr tail = with_sign(x, gpuc_sub(ctx, num(x, 1), op1(x, GPUC_TIR_EXP, p)), a);
    gpuc_expr middle = gpuc_add(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, near), a), a);
    gpuc_expr r = gpuc_select(ctx, gpuc_lt(ctx, num(x, 0.921875), size), tail, middle);
    return r;
}

/* ---- The table
 * -----------------------------------------------------------------------------------------------------------
 */

static gpuc_expr single(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    gpuc_expr sine, cosine;
    if (op == GPUC_TIR_SIN || op == GPUC_TIR_COS || op == GPUC_TIR_TAN) {
        sine_cosine(x, a, &sine, &cosine);
        return op == GPUC_TIR_SIN ? sine : op == GPUC_TIR_COS ? cosine : gpuc_div(x->ctx, sine, cosine);
    }
    if (op == GPUC_TIR_LOG) return safe_log(x, a);
    if (op == GPUC_TIR_SQRT) return safe_sqrt(x, a);
    if (op == GPUC_TIR_POW) return power(x, a, b);
    if (op == GPUC_TIR_MOD) return gpuc_intrin_remainder(x, a, b);
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

static bool is_square(gpuc_expr b)
{
    if (b->kind == GPUC_EXPR_BROADCAST) b = gpuc_as_broadcast(b)->a;
    return b->kind == GPUC_EXPR_FLOAT && gpuc_as_float(b)->value == 2;
}

gpuc_expr gpuc_intrin_float(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    if (op == GPUC_TIR_POW && is_square(b)) return gpuc_mul(ctx, a, a);
    bool vector = op == GPUC_TIR_MOD && a->dtype.lanes > 1 && x->target->kind == GPUC_TARGET_OPENCL;
    if (x->target->kind != GPUC_TARGET_VULKAN && !vector) return NULL; /* PoCL has a wrong fmod of vectors */
    if (x->target->fast_math && op != GPUC_TIR_ERF && op != GPUC_TIR_POW) return NULL;
    if (a->dtype.bits == 32) return single(x, op, a, b);
    if (a->dtype.bits == 64) return gpuc_intrin_double(x, op, a, b);
    bool listed = op == GPUC_TIR_EXP || (op >= GPUC_TIR_LOG && op <= GPUC_TIR_ERF) || op == GPUC_TIR_MOD;
    if (!listed) return NULL;
    gpuc_dtype t = gpuc_dtype_with_lanes(GPUC_FLOAT32, a->dtype.lanes);
    x->t = t;
    gpuc_expr wide_a = gpuc_cast(ctx, t, a), wide_b = b ? gpuc_cast(ctx, t, b) : NULL;
    gpuc_expr r = single(x, op, wide_a, wide_b);
    if (!r) r = gpuc_tir_make(ctx, op, wide_a, wide_b, NULL);
    return gpuc_cast(ctx, a->dtype, r);
}
