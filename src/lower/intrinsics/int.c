/* SPDX-License-Identifier: Apache-2.0 */
/* Division that gives 0 for a zero divisor and wraps for MIN / -1; shifts by any count; casts of floats that
 * saturate. What is proven is left out. */
#include "lower/intrinsics/intrinsics.h"

static gpuc_expr num(gpuc_intrin *x, gpuc_dtype t, int64_t v)
{
    return gpuc_imm_int(x->ctx, t, v);
}

/* The one constant of a scalar or broadcast. */
static bool constant(gpuc_expr e, int64_t *out)
{
    if (e->kind == GPUC_EXPR_BROADCAST) e = gpuc_as_broadcast(e)->a;
    return gpuc_expr_is_int(e, out);
}

static bool power_of_two(int64_t c, int *shift)
{
    if (c <= 0 || (c & (c - 1))) return false;
    for (*shift = 0; (int64_t)1 << *shift < c; ++*shift) {
    }
    return true;
}

/* Divides towards zero; b == 0 gives 0, and MIN / -1 wraps. */
static gpuc_expr safe_divide(gpuc_intrin *x, gpuc_tir_op op, bool may_be_zero, bool may_be_minus_one,
                             gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype t = a->dtype;
    gpuc_expr zero = num(x, t, 0), one = num(x, t, 1), is_zero = NULL, is_minus = NULL, by = b;
    if (may_be_zero) {
        is_zero = gpuc_eq(ctx, b, zero);
        by = gpuc_select(ctx, is_zero, one, by);
    }
    if (may_be_minus_one) {
        is_minus = gpuc_eq(ctx, b, num(x, t, -1));
        by = gpuc_select(ctx, is_minus, one, by);
    }
    gpuc_expr r = gpuc_tir_make(ctx, op, a, by, NULL);
    if (is_minus) r = gpuc_select(ctx, is_minus, op == GPUC_TIR_DIV ? gpuc_sub(ctx, zero, a) : zero, r);
    return is_zero ? gpuc_select(ctx, is_zero, zero, r) : r;
}

/* Whether e is a group's number, or a quotient or remainder of it. */
static bool is_of_group(const gpuc_intrin *x, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_OP) {
        gpuc_tir_op op = gpuc_as_op(e)->op;
        return (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) && is_of_group(x, gpuc_as_op(e)->a[0]);
    }
    for (int i = 0; i < x->func->num_threads; i++)
        if (x->func->threads[i].var == e) return gpuc_is_block_tag(x->func->threads[i].tag);
    return false;
}

/* Whether a division of a group's number stays a division. Kernels that differ only in numbers are compiled
 * once for drivers on CPUs (share.c), so dividing by 8 must look like dividing by 12. */
static bool keeps_division(const gpuc_intrin *x, gpuc_expr a)
{
    return !x->target->language->ahead && x->target->simd_lanes && is_of_group(x, a);
}

/* a, b >= 0 and b != 0: all roundings are the same. */
static gpuc_expr plain(gpuc_intrin *x, bool quotient, gpuc_expr a, gpuc_expr b)
{
    int64_t c;
    int shift;
    if (constant(b, &c) && power_of_two(c, &shift))
        return quotient ? gpuc_tir_make(x->ctx, GPUC_TIR_SHR, a, num(x, a->dtype, shift), NULL)
                        : gpuc_tir_make(x->ctx, GPUC_TIR_BITAND, a, num(x, a->dtype, c - 1), NULL);
    return gpuc_tir_make(x->ctx, quotient ? GPUC_TIR_DIV : GPUC_TIR_MOD, a, b, NULL);
}

static gpuc_expr floor_const(gpuc_intrin *x, bool quotient, gpuc_expr a, gpuc_expr b, int64_t c)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype t = a->dtype;
    int shift;
    if (power_of_two(c, &shift)) return plain(x, quotient, a, b); /* arithmetic shift and mask round down */
    gpuc_expr zero = num(x, t, 0), one = num(x, t, 1);
    gpuc_expr down = gpuc_sub(ctx, gpuc_div(ctx, gpuc_add(ctx, a, one), b), one);
    gpuc_expr q = gpuc_select(ctx, gpuc_lt(ctx, a, zero), down, gpuc_div(ctx, a, b));
    return quotient ? q : gpuc_sub(ctx, a, gpuc_mul(ctx, q, b));
}

/* Subtract one where the remainder's sign differs from the divisor's. */
static gpuc_expr floor_any(gpuc_intrin *x, bool quotient, gpuc_expr q, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype t = a->dtype;
    gpuc_expr zero = num(x, t, 0), r = gpuc_sub(ctx, a, gpuc_mul(ctx, q, b));
    gpuc_expr off =
        gpuc_and(ctx, gpuc_ne(ctx, r, zero), gpuc_ne(ctx, gpuc_lt(ctx, r, zero), gpuc_lt(ctx, b, zero)));
    if (quotient) return gpuc_select(ctx, off, gpuc_sub(ctx, q, num(x, t, 1)), q);
    return gpuc_select(ctx, off, gpuc_add(ctx, r, b), r);
}

static bool is_positive(gpuc_expr e)
{
    int64_t c;
    return e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == GPUC_TIR_MAX &&
           constant(gpuc_as_op(e)->a[1], &c) && c > 0;
}

static bool is_quotient(gpuc_tir_op op)
{
    return op == GPUC_TIR_DIV || op == GPUC_TIR_FLOORDIV;
}

/* ba and bb are the bounds of a and b. */
static gpuc_expr divide(gpuc_intrin *x, gpuc_tir_op op, gpuc_bounds ba, gpuc_bounds bb, gpuc_expr a,
                        gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    bool is_signed = a->dtype.code == GPUC_DTYPE_INT, quotient = is_quotient(op);
    bool floors = op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD;
    int64_t c;
    bool zero = bb.min <= 0 && bb.max >= 0;
    bool minus = is_signed && bb.min <= -1 && bb.max >= -1;
    if (constant(b, &c)) {
        zero = c == 0;
        minus = is_signed && c == -1;
    }
    if (minus && ba.min > (a->dtype.bits == 64 ? INT64_MIN : -((int64_t)1 << (a->dtype.bits - 1))))
        minus = false;
    bool positive = !is_signed || (ba.min >= 0 && bb.min > 0);
    if (positive && !zero && keeps_division(x, a))
        return gpuc_tir_make(ctx, quotient ? GPUC_TIR_DIV : GPUC_TIR_MOD, a, b, NULL);
    if (positive && !zero) return plain(x, quotient, a, b);
    if (floors && constant(b, &c) && c > 0) return floor_const(x, quotient, a, b, c);
    gpuc_expr q = safe_divide(x, GPUC_TIR_DIV, zero, minus, a, b);
    if (floors && is_signed) {
        gpuc_expr r = floor_any(x, quotient, q, a, b);
        return zero ? gpuc_select(ctx, gpuc_eq(ctx, b, num(x, b->dtype, 0)), num(x, a->dtype, 0), r) : r;
    }
    if (quotient) return q;
    if (x->target->language->c99_math) return safe_divide(x, GPUC_TIR_MOD, zero, minus, a, b);
    gpuc_expr r = gpuc_sub(ctx, a, gpuc_mul(ctx, q, b));
    return zero ? gpuc_select(ctx, gpuc_eq(ctx, b, num(x, b->dtype, 0)), num(x, a->dtype, 0), r) : r;
}

gpuc_expr gpuc_lower_intrin_divide(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr old_a, gpuc_expr old_b,
                                   gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    bool index = old_a->flags & old_b->flags & GPUC_TIR_IS_INDEX;
    gpuc_bounds ba = gpuc_arith_analyzer_bounds(x->a, old_a), bb = gpuc_arith_analyzer_bounds(x->a, old_b);
    int64_t c;
    if (!index || bb.min < 0 || constant(b, &c) || is_positive(b)) return divide(x, op, ba, bb, a, b);
    /* An extent, mostly: dividing by 1 where it is 0 is cheaper than what divide does for 0. A remainder is then
     * 0, as it must be. */
    bool may_be_zero = bb.min == 0;
    if (may_be_zero) bb.min = 1;
    gpuc_expr r = divide(x, op, ba, bb, a, gpuc_max(ctx, b, num(x, b->dtype, 1)));
    if (!may_be_zero || !is_quotient(op)) return r;
    return gpuc_select(ctx, gpuc_eq(ctx, b, num(x, b->dtype, 0)), num(x, a->dtype, 0), r);
}

gpuc_expr gpuc_lower_intrin_shift(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr old_b, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype t = a->dtype;
    gpuc_bounds bb = gpuc_arith_analyzer_bounds(x->a, old_b);
    int64_t c;
    bool inside = constant(b, &c) ? c >= 0 && c < t.bits : bb.min >= 0 && bb.max < t.bits;
    if (inside) return gpuc_tir_make(ctx, op, a, b, NULL);
    gpuc_expr zero = num(x, t, 0), last = num(x, t, t.bits - 1);
    bool fill = op == GPUC_TIR_SHR && t.code == GPUC_DTYPE_INT;
    gpuc_expr masked = gpuc_tir_make(ctx, GPUC_TIR_BITAND, b, last, NULL);
    gpuc_expr good = gpuc_le(ctx, b, last);
    if (t.code == GPUC_DTYPE_INT) good = gpuc_and(ctx, gpuc_le(ctx, zero, b), good);
    gpuc_expr r = gpuc_tir_make(ctx, op, a, masked, NULL);
    return gpuc_select(ctx, good, r, fill ? gpuc_tir_make(ctx, op, a, last, NULL) : zero);
}

/* Clamps by comparisons, which are false for NaN where drivers preserve it. */
static gpuc_expr clamp(gpuc_intrin *x, gpuc_dtype to, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype from = a->dtype, scalar = gpuc_dtype_with_lanes(to, 1);
    gpuc_expr min = gpuc_cast(ctx, from, gpuc_tir_broadcast(ctx, gpuc_tir_min_value(ctx, scalar), to.lanes)),
              max = gpuc_cast(ctx, from, gpuc_tir_broadcast(ctx, gpuc_tir_max_value(ctx, scalar), to.lanes));
    if (to.code == GPUC_DTYPE_INT || gpuc_lower_intrin_needs_bits(x))
        a = gpuc_select(ctx, gpuc_lower_intrin_isnan(x, a), gpuc_imm(ctx, from, 0), a);
    a = gpuc_select(ctx, gpuc_lt(ctx, min, a), a, min);
    return gpuc_select(ctx, gpuc_lt(ctx, a, max), a, max);
}

gpuc_expr gpuc_lower_intrin_float_to_int(gpuc_intrin *x, gpuc_dtype to, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype from = a->dtype, wide = to, scalar = gpuc_dtype_with_lanes(to, 1);
    bool is_signed = to.code == GPUC_DTYPE_INT;
    int digits = from.bits == 16 ? 11 : from.bits == 32 ? 24 : 53;
    if (to.bits < 32) wide = gpuc_dtype_with_lanes(GPUC_INT32, to.lanes); /* CPUs convert to that */
    if (to.bits - is_signed <= digits) /* the type's min and max are exact as floats */
        return gpuc_cast(ctx, to, gpuc_cast(ctx, wide, clamp(x, to, a)));
    double end = 1; /* a power of two: exact in every float type, or infinite in float16 */
    for (int i = 0; i < to.bits - is_signed; i++) end *= 2;
    gpuc_expr above = gpuc_le(ctx, gpuc_imm(ctx, from, end), a);
    gpuc_expr below = gpuc_le(ctx, a, gpuc_imm(ctx, from, is_signed ? -end : 0));
    gpuc_expr out = gpuc_or(ctx, gpuc_or(ctx, above, below), gpuc_lower_intrin_isnan(x, a));
    gpuc_expr r = gpuc_select(ctx, out, gpuc_imm(ctx, from, 0), a);
    r = gpuc_cast(ctx, to, gpuc_cast(ctx, wide, r));
    r = gpuc_select(ctx, above, gpuc_tir_broadcast(ctx, gpuc_tir_max_value(ctx, scalar), to.lanes), r);
    return gpuc_select(ctx, below, gpuc_tir_broadcast(ctx, gpuc_tir_min_value(ctx, scalar), to.lanes), r);
}
