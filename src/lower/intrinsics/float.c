/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one or two floats where the target promises too little: Vulkan leaves sin and cos beyond
 * [-pi, pi], sqrt outside of its domain and the ends of the hyperbolic ones open, is coarse in most others,
 * and has no erf. Polynomials are those of S. Moshier's Cephes library (single precision), erf is N. Juffa's. */
#include <math.h>

#include "lower/intrinsics/math.h"

#define LN2 0.69314718055994530942

/* a + a * z * p(z), z = a * a: odd functions near 0. */
static gpuc_expr odd(gpuc_intrin *x, gpuc_expr a, int n, const double *c)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr z = gpuc_mul(ctx, a, a);
    return gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, polynomial(x, z, n, c), z), a), a);
}
#define ODD(x, a, c) odd((x), (a), (int)(sizeof(c) / sizeof(c)[0]), (c))

/* ---- Bits ------------------------------------------------------------------------------------------------ */

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

bool gpuc_lower_intrin_needs_bits(const gpuc_intrin *x)
{
    return !x->target->language->c99_math && !x->target->float_controls;
}

gpuc_expr gpuc_lower_intrin_isnan(gpuc_intrin *x, gpuc_expr a)
{
    bool plain = a->dtype.code == GPUC_DTYPE_FLOAT && a->dtype.bits >= 32;
    if (x->target->language->compares_nan && plain) return gpuc_ne(x->ctx, a, a);
    if (x->target->language->c99_math) return op1(x, GPUC_TIR_ISNAN, a);
    if (!gpuc_lower_intrin_needs_bits(x)) return gpuc_ne(x->ctx, a, a);
    if (a->dtype.bits != 32 && !(a->dtype.bits == 64 && x->target->int64)) return op1(x, GPUC_TIR_ISNAN, a);
    return gpuc_lt(x->ctx, infinity_bits(x, a->dtype), magnitude_bits(x, a));
}

gpuc_expr gpuc_lower_intrin_isinf(gpuc_intrin *x, gpuc_expr a)
{
    bool by_bits =
        !x->target->language->c99_math && (a->dtype.bits == 32 || (a->dtype.bits == 64 && x->target->int64));
    if (!by_bits) return op1(x, GPUC_TIR_ISINF, a);
    return gpuc_eq(x->ctx, infinity_bits(x, a->dtype), magnitude_bits(x, a));
}

/* ---- min and max ----------------------------------------------------------------------------------------- */

static bool never_nan(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_BROADCAST) return never_nan(gpuc_as_broadcast(e)->a);
    if (e->kind == GPUC_EXPR_FLOAT) return !isnan(gpuc_as_float(e)->value);
    if (e->kind == GPUC_EXPR_CAST) return !gpuc_is_float(gpuc_as_cast(e)->a->dtype);
    return false;
}

/* a is never NaN, so where the comparison fails the result is b, NaN or not. A driver that need not preserve
 * NaN may have reversed the comparison. */
gpuc_expr gpuc_lower_intrin_minmax(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    if (x->target->fast_math) return gpuc_tir_make(ctx, op, a, b, NULL);
    if (!never_nan(a) && never_nan(b)) {
        gpuc_expr swap = a;
        a = b;
        b = swap;
    }
    gpuc_expr first = op == GPUC_TIR_MIN ? gpuc_lt(ctx, a, b) : gpuc_lt(ctx, b, a);
    if (!never_nan(a))
        first = gpuc_or(ctx, first,
                        gpuc_lower_intrin_needs_bits(x) ? gpuc_lower_intrin_isnan(x, a) : gpuc_ne(ctx, a, a));
    if (gpuc_lower_intrin_needs_bits(x) && !never_nan(b))
        first = gpuc_and(ctx, first, gpuc_not(ctx, gpuc_lower_intrin_isnan(x, b)));
    return gpuc_select(ctx, first, a, b);
}

/* ---- Roots, logarithms, powers --------------------------------------------------------------------------- */

static gpuc_expr safe_sqrt(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_select(x->ctx, gpuc_lt(x->ctx, a, num(x, 0)), num(x, NAN), op1(x, GPUC_TIR_SQRT, a));
}

/* ---- Circular -------------------------------------------------------------------------------------------- */

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
    return gpuc_select(ctx, gpuc_or(ctx, gpuc_lower_intrin_isnan(x, a), gpuc_lower_intrin_isnan(x, b)),
                       num(x, NAN), r);
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

/* ---- Hyperbolic ------------------------------------------------------------------------------------------ */

static gpuc_expr hyperbolic_tangent(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
                               -3.33332819422e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1);
    gpuc_expr e = op1(x, GPUC_TIR_EXP, gpuc_add(ctx, size, size));
    gpuc_expr far = gpuc_sub(ctx, one, gpuc_div(ctx, num(x, 2), gpuc_add(ctx, e, one)));
    return with_sign(x, gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0.625)), ODD(x, size, c), far), a);
}

/* log1p(|a| + a^2 / (1 + sqrt(1 + a^2))) */
static gpuc_expr area_sine(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1), huge = gpuc_lt(ctx, num(x, 0x1p40), size);
    gpuc_expr s = gpuc_select(ctx, huge, one, size), square = gpuc_mul(ctx, s, s);
    gpuc_expr root = gpuc_add(ctx, op1(x, GPUC_TIR_SQRT, gpuc_add(ctx, square, one)), one);
    gpuc_expr part = gpuc_add(ctx, s, gpuc_div(ctx, square, root));
    gpuc_expr r = gpuc_lower_intrin_log1p(x, gpuc_select(ctx, huge, size, part));
    r = gpuc_select(ctx, huge, gpuc_add(ctx, r, num(x, LN2)), r);
    return with_sign(x, gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0.5)), ODD(x, size, c), r), a);
}

/* log1p(t + sqrt(2t + t^2)) with t = a - 1 */
static gpuc_expr area_cosine(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr one = num(x, 1), valid = gpuc_le(ctx, one, a), huge = gpuc_lt(ctx, num(x, 0x1p40), a);
    gpuc_expr inside = gpuc_and(ctx, valid, gpuc_not(ctx, huge));
    gpuc_expr t = gpuc_sub(ctx, gpuc_select(ctx, inside, a, one), one);
    gpuc_expr root = op1(x, GPUC_TIR_SQRT, gpuc_add(ctx, gpuc_add(ctx, t, t), gpuc_mul(ctx, t, t)));
    gpuc_expr r = gpuc_lower_intrin_log1p(x, gpuc_select(ctx, huge, a, gpuc_add(ctx, t, root)));
    r = gpuc_select(ctx, huge, gpuc_add(ctx, r, num(x, LN2)), r);
    return gpuc_select(ctx, gpuc_and(ctx, valid, gpuc_not(ctx, gpuc_lower_intrin_isnan(x, a))), r,
                       num(x, NAN));
}

/* log1p(2|a| / (1 - |a|)) / 2 */
static gpuc_expr area_tangent(gpuc_intrin *x, gpuc_expr a)
{
    static const double c[] = {1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1, 1.99782164500e-1,
                               3.33337300303e-1};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr size = absolute(x, a), one = num(x, 1), inside = gpuc_lt(ctx, size, one);
    gpuc_expr s = gpuc_select(ctx, inside, size, num(x, 0.5));
    gpuc_expr ratio = gpuc_div(ctx, gpuc_add(ctx, s, s), gpuc_sub(ctx, one, s));
    gpuc_expr far = gpuc_mul(ctx, num(x, 0.5), gpuc_lower_intrin_log1p(x, ratio));
    gpuc_expr outside = gpuc_select(ctx, gpuc_eq(ctx, size, one), num(x, INFINITY), num(x, NAN));
    far = gpuc_select(ctx, inside, far, outside);
    return with_sign(x, gpuc_select(ctx, gpuc_lt(ctx, size, num(x, 0.5)), ODD(x, size, c), far), a);
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
    gpuc_expr tail = gpuc_sub(ctx, num(x, 1), op1(x, GPUC_TIR_EXP, p));
    gpuc_expr middle = gpuc_add(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, near), size), size);
    return with_sign(x, gpuc_select(ctx, gpuc_lt(ctx, num(x, 0.921875), size), tail, middle), a);
}

/* ---- The table ------------------------------------------------------------------------------------------- */

static gpuc_expr single(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    if (op == GPUC_TIR_SIN || op == GPUC_TIR_COS || op == GPUC_TIR_TAN)
        return gpuc_lower_intrin_circular(x, op, a);
    if (op == GPUC_TIR_EXPM1) return gpuc_lower_intrin_expm1(x, a);
    if (op == GPUC_TIR_LOG) return gpuc_lower_intrin_log(x, a);
    if (op == GPUC_TIR_LOG1P) return gpuc_lower_intrin_log1p(x, a);
    if (op == GPUC_TIR_SQRT) return safe_sqrt(x, a);
    if (op == GPUC_TIR_POW) return gpuc_lower_intrin_power(x, a, b);
    if (op == GPUC_TIR_MOD) return gpuc_lower_intrin_remainder(x, a, b);
    if (op == GPUC_TIR_ASIN || op == GPUC_TIR_ACOS) return arc_sine(x, a, op == GPUC_TIR_ACOS);
    if (op == GPUC_TIR_ATAN) return arc_tangent(x, a);
    if (op == GPUC_TIR_ATAN2) return arc_tangent2(x, a, b);
    if (op == GPUC_TIR_SINH) return gpuc_lower_intrin_sinh(x, a);
    if (op == GPUC_TIR_COSH) return gpuc_lower_intrin_cosh(x, a);
    if (op == GPUC_TIR_TANH) return hyperbolic_tangent(x, a);
    if (op == GPUC_TIR_ASINH) return area_sine(x, a);
    if (op == GPUC_TIR_ACOSH) return area_cosine(x, a);
    if (op == GPUC_TIR_ATANH) return area_tangent(x, a);
    if (op == GPUC_TIR_ERF) return error_function(x, a);
    return NULL;
}

static bool is_float(gpuc_expr b, double value)
{
    if (b->kind == GPUC_EXPR_BROADCAST) b = gpuc_as_broadcast(b)->a;
    return b->kind == GPUC_EXPR_FLOAT && gpuc_as_float(b)->value == value;
}

/* a to the power of 1/2, which C99 defines for -infinity and -0, unlike the root. GCC's vectors of pow are roots. */
static gpuc_expr root(gpuc_intrin *x, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr r = gpuc_call1(ctx, "sqrt", gpuc_add(ctx, a, num(x, 0)));
    return gpuc_select(ctx, gpuc_eq(ctx, a, num(x, -INFINITY)), num(x, INFINITY), r);
}

static bool is_zero(gpuc_expr e, bool *negative)
{
    if (e->kind == GPUC_EXPR_BROADCAST) return is_zero(gpuc_as_broadcast(e)->a, negative);
    if (e->kind != GPUC_EXPR_FLOAT || gpuc_as_float(e)->value != 0) return false;
    *negative = signbit(gpuc_as_float(e)->value);
    return true;
}

static gpuc_expr is_special(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_or(x->ctx, gpuc_lower_intrin_isnan(x, a), gpuc_lower_intrin_isinf(x, a));
}

/* Drivers take a product with a constant 0, and 0 divided by anything, for 0, though it may be NaN: those
 * that need not know NaN; and llvmpipe, which does not know -0.0. A quotient by 0 is undefined there. */
static gpuc_expr with_zero(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr zero = num(x, 0), nan = num(x, NAN), minus = num(x, -1);
    bool negative;
    if (op == GPUC_TIR_MUL && is_zero(a, &negative) && !is_zero(b, &negative)) return with_zero(x, op, b, a);
    if (op == GPUC_TIR_MUL && is_zero(b, &negative)) {
        if (gpuc_lower_intrin_needs_bits(x))
            return gpuc_select(ctx, is_special(x, a), nan, gpuc_mul(ctx, a, b));
        return negative ? NULL : gpuc_mul(ctx, gpuc_mul(ctx, a, num(x, -0.0)), minus);
    }
    if (op == GPUC_TIR_DIV && is_zero(b, &negative)) {
        double above = negative ? -INFINITY : INFINITY;
        return gpuc_select(ctx, gpuc_lt(ctx, zero, a), num(x, above),
                           gpuc_select(ctx, gpuc_lt(ctx, a, zero), num(x, -above), nan));
    }
    if (op == GPUC_TIR_DIV && is_zero(a, &negative)) {
        if (gpuc_lower_intrin_needs_bits(x)) {
            gpuc_expr none = gpuc_or(ctx, gpuc_eq(ctx, b, zero), gpuc_lower_intrin_isnan(x, b));
            return gpuc_select(ctx, none, nan, gpuc_div(ctx, a, b));
        }
        return negative ? NULL : gpuc_mul(ctx, gpuc_div(ctx, num(x, -0.0), b), minus);
    }
    return NULL;
}

/* Functions of vectors that the language lacks, or that are a call for each lane. */
static bool is_slow(const gpuc_intrin *x, gpuc_tir_op op, gpuc_dtype t)
{
    const gpuc_target *target = x->target;
    if (t.lanes == 1) return false;
    bool simd = gpuc_target_classify(target) == GPUC_CLASS_SIMD_CPU;
    if (op == GPUC_TIR_MOD) return !target->language->vector_mod && !(simd && t.bits == 32);
    return op == GPUC_TIR_ERF && t.bits < 64 && simd;
}

gpuc_expr gpuc_lower_intrin_float(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    if (op == GPUC_TIR_POW && is_float(b, 2)) return gpuc_mul(ctx, a, a);
    if (op == GPUC_TIR_POW && is_float(b, 0.5) && x->target->language->c99_math) return root(x, a);
    if (x->target->language->c99_math && !is_slow(x, op, a->dtype)) return NULL;
    if (x->target->fast_math && op != GPUC_TIR_ERF && op != GPUC_TIR_POW) return NULL;
    if (op == GPUC_TIR_MUL || op == GPUC_TIR_DIV) {
        gpuc_expr r = with_zero(x, op, a, b);
        if (r) return r;
    }
    if (a->dtype.bits == 32) return single(x, op, a, b);
    if (a->dtype.bits == 64) return gpuc_lower_intrin_double(x, op, a, b);
    bool listed = gpuc_tir_ops[op].flags & GPUC_TIR_FUNC || op == GPUC_TIR_MOD;
    if (!listed) return NULL;
    gpuc_dtype t = gpuc_dtype_with_lanes(GPUC_FLOAT32, a->dtype.lanes);
    x->t = t;
    gpuc_expr wide_a = gpuc_cast(ctx, t, a), wide_b = b ? gpuc_cast(ctx, t, b) : NULL;
    gpuc_expr r = single(x, op, wide_a, wide_b);
    if (!r) r = gpuc_tir_make(ctx, op, wide_a, wide_b, NULL);
    return gpuc_cast(ctx, a->dtype, r);
}
