/* SPDX-License-Identifier: Apache-2.0 */
/* Computes 64-bit integers as pairs of 32-bit words. */
#include "lower/legalize_int64/pairs.h"

static gpuc_expr word(gpuc_ctx *ctx, gpuc_expr like, int64_t v)
{
    return gpuc_imm_int(ctx, gpuc_dtype_with_lanes(GPUC_UINT32, like->dtype.lanes), v);
}

static gpuc_expr as_int(gpuc_ctx *ctx, gpuc_expr u)
{
    return gpuc_cast(ctx, gpuc_dtype_with_lanes(GPUC_INT32, u->dtype.lanes), u);
}

static gpuc_expr as_word(gpuc_ctx *ctx, gpuc_expr e)
{
    return gpuc_cast(ctx, gpuc_dtype_with_lanes(GPUC_UINT32, e->dtype.lanes), e);
}

static gpuc_expr make(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, op, a, b, NULL);
}

static gpuc_pair zero_of(gpuc_ctx *ctx, gpuc_pair a)
{
    return (gpuc_pair){word(ctx, a.lo, 0), word(ctx, a.lo, 0)};
}

gpuc_pair gpuc_lower_pair_const(gpuc_ctx *ctx, int64_t value, int lanes)
{
    gpuc_dtype t = gpuc_dtype_with_lanes(GPUC_UINT32, lanes);
    return (gpuc_pair){gpuc_imm_int(ctx, t, value & 0xffffffff),
                       gpuc_imm_int(ctx, t, value >> 32 & 0xffffffff)};
}

gpuc_pair gpuc_lower_pair_select(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr cond, gpuc_pair a, gpuc_pair b)
{
    return (gpuc_pair){gpuc_tir_make(ctx, op, cond, a.lo, b.lo), gpuc_tir_make(ctx, op, cond, a.hi, b.hi)};
}

static gpuc_pair choose(gpuc_ctx *ctx, gpuc_expr cond, gpuc_pair a, gpuc_pair b)
{
    return gpuc_lower_pair_select(ctx, GPUC_TIR_SELECT, cond, a, b);
}

/* ---- Sums and products ----------------------------------------------------------------------------------- */

static gpuc_pair add(gpuc_ctx *ctx, gpuc_pair a, gpuc_pair b)
{
    gpuc_expr lo = gpuc_add(ctx, a.lo, b.lo), carry = as_word(ctx, gpuc_lt(ctx, lo, a.lo));
    return (gpuc_pair){lo, gpuc_add(ctx, gpuc_add(ctx, a.hi, b.hi), carry)};
}

static gpuc_pair sub(gpuc_ctx *ctx, gpuc_pair a, gpuc_pair b)
{
    gpuc_expr borrow = as_word(ctx, gpuc_lt(ctx, a.lo, b.lo));
    return (gpuc_pair){gpuc_sub(ctx, a.lo, b.lo), gpuc_sub(ctx, gpuc_sub(ctx, a.hi, b.hi), borrow)};
}

static gpuc_expr negative(gpuc_ctx *ctx, gpuc_pair a)
{
    return gpuc_lt(ctx, as_int(ctx, a.hi), as_int(ctx, word(ctx, a.hi, 0)));
}

static gpuc_pair magnitude(gpuc_ctx *ctx, gpuc_pair a)
{
    return choose(ctx, negative(ctx, a), sub(ctx, zero_of(ctx, a), a), a);
}

/* The high word of a product, by halves. */
static gpuc_expr high_product(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    gpuc_expr half = word(ctx, a, 0xffff), n = word(ctx, a, 16);
    gpuc_expr a0 = make(ctx, GPUC_TIR_BITAND, a, half), a1 = make(ctx, GPUC_TIR_SHR, a, n);
    gpuc_expr b0 = make(ctx, GPUC_TIR_BITAND, b, half), b1 = make(ctx, GPUC_TIR_SHR, b, n);
    gpuc_expr low = make(ctx, GPUC_TIR_SHR, gpuc_mul(ctx, a0, b0), n);
    gpuc_expr x = gpuc_add(ctx, gpuc_mul(ctx, a1, b0), low);
    gpuc_expr y = gpuc_add(ctx, gpuc_mul(ctx, a0, b1), make(ctx, GPUC_TIR_BITAND, x, half));
    gpuc_expr high = gpuc_add(ctx, gpuc_mul(ctx, a1, b1), make(ctx, GPUC_TIR_SHR, x, n));
    return gpuc_add(ctx, high, make(ctx, GPUC_TIR_SHR, y, n));
}

static gpuc_pair mul(gpuc_ctx *ctx, gpuc_pair a, gpuc_pair b)
{
    gpuc_expr cross = gpuc_add(ctx, gpuc_mul(ctx, a.lo, b.hi), gpuc_mul(ctx, a.hi, b.lo));
    return (gpuc_pair){gpuc_mul(ctx, a.lo, b.lo), gpuc_add(ctx, high_product(ctx, a.lo, b.lo), cross)};
}

/* ---- Shifts ---------------------------------------------------------------------------------------------- */

/* The bits that enter a word from the other one in a shift by 0 <= n < 32. */
static gpuc_expr spill(gpuc_ctx *ctx, gpuc_tir_op back, gpuc_expr from, gpuc_expr n)
{
    gpuc_expr zero = word(ctx, n, 0), none = gpuc_eq(ctx, n, zero);
    gpuc_expr other = gpuc_sub(ctx, word(ctx, n, 32), gpuc_select(ctx, none, word(ctx, n, 1), n));
    return gpuc_select(ctx, none, zero, make(ctx, back, from, other));
}

static gpuc_pair shift(gpuc_ctx *ctx, bool left, bool is_signed, gpuc_pair a, gpuc_pair count)
{
    gpuc_expr n = make(ctx, GPUC_TIR_BITAND, count.lo, word(ctx, a.lo, 31)), thirty_two = word(ctx, a.lo, 32);
    gpuc_expr zero = word(ctx, a.lo, 0), far = gpuc_le(ctx, thirty_two, count.lo);
    gpuc_expr outside =
        gpuc_or(ctx, gpuc_ne(ctx, count.hi, zero), gpuc_le(ctx, word(ctx, a.lo, 64), count.lo));
    gpuc_expr sign =
        is_signed ? as_word(ctx, make(ctx, GPUC_TIR_SHR, as_int(ctx, a.hi), as_int(ctx, word(ctx, a.lo, 31))))
                  : zero;
    gpuc_pair near, beyond;
    if (left) {
        near.lo = make(ctx, GPUC_TIR_SHL, a.lo, n);
        near.hi =
            make(ctx, GPUC_TIR_BITOR, make(ctx, GPUC_TIR_SHL, a.hi, n), spill(ctx, GPUC_TIR_SHR, a.lo, n));
        beyond = (gpuc_pair){zero, near.lo};
        return choose(ctx, outside, zero_of(ctx, a), choose(ctx, far, beyond, near));
    }
    near.hi = is_signed ? as_word(ctx, make(ctx, GPUC_TIR_SHR, as_int(ctx, a.hi), as_int(ctx, n)))
                        : make(ctx, GPUC_TIR_SHR, a.hi, n);
    near.lo = make(ctx, GPUC_TIR_BITOR, make(ctx, GPUC_TIR_SHR, a.lo, n), spill(ctx, GPUC_TIR_SHL, a.hi, n));
    beyond = (gpuc_pair){near.hi, sign};
    return choose(ctx, outside, (gpuc_pair){sign, sign}, choose(ctx, far, beyond, near));
}

/* ---- Division -------------------------------------------------------------------------------------------- */

/* Of a word that is not 0. */
static gpuc_expr leading_zeros(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr n = word(ctx, x, 0);
    for (int k = 16; k; k /= 2) {
        gpuc_expr few = gpuc_lt(ctx, x, word(ctx, x, INT64_C(1) << (32 - k)));
        n = gpuc_add(ctx, n, gpuc_select(ctx, few, word(ctx, x, k), word(ctx, x, 0)));
        x = gpuc_select(ctx, few, make(ctx, GPUC_TIR_SHL, x, word(ctx, x, k)), x);
    }
    return n;
}

/* The 16 bits of the quotient of (*rest, next 16 bits) by d, whose highest bit is set; *rest < d is replaced.
 * The upper half of d gives a quotient that is at most two too large (Knuth, Algorithm D). */
static gpuc_expr digit(gpuc_ctx *ctx, gpuc_expr *rest, gpuc_expr next, gpuc_expr d)
{
    gpuc_expr n = word(ctx, d, 16), low = make(ctx, GPUC_TIR_BITAND, d, word(ctx, d, 0xffff));
    gpuc_expr high =
        gpuc_max(ctx, make(ctx, GPUC_TIR_SHR, d, n), word(ctx, d, 0x8000)); /* never 0, provably */
    gpuc_expr q = make(ctx, GPUC_TIR_DIV, *rest, high), m = gpuc_mul(ctx, q, low), zero = word(ctx, d, 0);
    gpuc_expr r = gpuc_sub(ctx, *rest, gpuc_mul(ctx, q, high));
    r = make(ctx, GPUC_TIR_BITOR, make(ctx, GPUC_TIR_SHL, r, n), next);
    gpuc_expr over = gpuc_lt(ctx, r, m);
    r = gpuc_add(ctx, r, gpuc_select(ctx, over, d, zero));
    gpuc_expr carries = gpuc_lt(ctx, r, d), again = gpuc_and(ctx, gpuc_lt(ctx, r, m), gpuc_not(ctx, carries));
    again = gpuc_and(ctx, over, again);
    r = gpuc_add(ctx, r, gpuc_select(ctx, again, d, zero));
    *rest = gpuc_sub(ctx, r, m);
    return gpuc_sub(ctx, gpuc_sub(ctx, q, as_word(ctx, over)), as_word(ctx, again));
}

/* Of n by d, whose highest bit is set; n.hi < d. */
static gpuc_expr divide_by_word(gpuc_ctx *ctx, gpuc_pair n, gpuc_expr d)
{
    gpuc_expr rest = n.hi, half = word(ctx, d, 16);
    gpuc_expr high = digit(ctx, &rest, make(ctx, GPUC_TIR_SHR, n.lo, half), d);
    gpuc_expr low = digit(ctx, &rest, make(ctx, GPUC_TIR_BITAND, n.lo, word(ctx, d, 0xffff)), d);
    return make(ctx, GPUC_TIR_BITOR, make(ctx, GPUC_TIR_SHL, high, half), low);
}

/* The upper word of (hi, lo) << count, for count < 32. */
static gpuc_expr upper_shifted(gpuc_ctx *ctx, gpuc_expr hi, gpuc_expr lo, gpuc_expr count)
{
    gpuc_expr back = gpuc_sub(ctx, word(ctx, lo, 31), count),
              half = make(ctx, GPUC_TIR_SHR, lo, word(ctx, lo, 1));
    return make(ctx, GPUC_TIR_BITOR, make(ctx, GPUC_TIR_SHL, hi, count), make(ctx, GPUC_TIR_SHR, half, back));
}

/* By divisions of words: drivers take minutes for 64 steps over bits. A divisor of one word divides the upper
 * word, and then its rest with the lower. One of two words: its 32 leading bits divide half of a, which is at
 * most one too large (Warren, Hacker's Delight); that is taken off, and given back where the rest shows it.
 * Both go one way, and choose between constants and inputs only: simplify would copy what a choice holds for
 * the case it is in. b == 0 gives anything and is replaced by the caller. */
static void divide_words(gpuc_ctx *ctx, gpuc_pair a, gpuc_pair b, gpuc_pair *quotient, gpuc_pair *rest)
{
    gpuc_expr zero = word(ctx, a.lo, 0), one = word(ctx, a.lo, 1), last = word(ctx, a.lo, 31);
    gpuc_expr small = gpuc_eq(ctx, b.hi, zero);
    gpuc_expr at_most = gpuc_select(ctx, small, zero, last),
              mask = gpuc_select(ctx, small, word(ctx, a.lo, -1), zero);
    gpuc_expr upper = make(ctx, GPUC_TIR_DIV, a.hi, gpuc_max(ctx, b.lo, one));
    gpuc_expr left = gpuc_sub(ctx, a.hi, gpuc_mul(ctx, upper, b.lo));
    upper = make(ctx, GPUC_TIR_BITAND, upper, mask);
    left = make(ctx, GPUC_TIR_BITAND, left, mask);

    gpuc_expr lead = gpuc_select(ctx, small, b.lo, b.hi), count = leading_zeros(ctx, lead);
    gpuc_expr d = upper_shifted(ctx, lead, gpuc_select(ctx, small, zero, b.lo), count);
    gpuc_expr middle = gpuc_select(ctx, small, a.lo, a.hi), by = gpuc_max(ctx, count, at_most);
    gpuc_pair n = {upper_shifted(ctx, middle, gpuc_select(ctx, small, zero, a.lo), by),
                   upper_shifted(ctx, left, middle, by)};
    gpuc_expr lower = divide_by_word(ctx, n, d), back = gpuc_sub(ctx, last, count);
    lower = make(ctx, GPUC_TIR_SHR, lower, gpuc_min(ctx, back, at_most));
    lower = gpuc_sub(ctx, lower, gpuc_min(ctx, lower, gpuc_select(ctx, small, zero, one)));

    gpuc_pair q = {lower, upper}, r = sub(ctx, a, mul(ctx, q, b));
    gpuc_expr fits = gpuc_lower_pair_compare(ctx, GPUC_TIR_LE, false, b, r);
    *quotient = (gpuc_pair){gpuc_add(ctx, q.lo, as_word(ctx, fits)), q.hi};
    *rest = choose(ctx, fits, sub(ctx, r, b), r);
}

static gpuc_pair divide(gpuc_ctx *ctx, gpuc_tir_op op, bool is_signed, gpuc_pair a, gpuc_pair b)
{
    gpuc_pair zero = zero_of(ctx, a), one = {word(ctx, a.lo, 1), word(ctx, a.lo, 0)}, q, r;
    gpuc_expr by_zero = gpuc_lower_pair_compare(ctx, GPUC_TIR_EQ, is_signed, b, zero);
    bool quotient = op == GPUC_TIR_DIV || op == GPUC_TIR_FLOORDIV;
    if (!is_signed) {
        divide_words(ctx, a, b, &q, &r);
        return choose(ctx, by_zero, zero, quotient ? q : r);
    }
    gpuc_expr a_negative = negative(ctx, a), differ = gpuc_ne(ctx, a_negative, negative(ctx, b));
    divide_words(ctx, magnitude(ctx, a), magnitude(ctx, b), &q, &r);
    q = choose(ctx, differ, sub(ctx, zero, q), q);
    r = choose(ctx, a_negative, sub(ctx, zero, r), r);
    if (op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD) {
        gpuc_expr off = gpuc_and(ctx, differ, gpuc_lower_pair_compare(ctx, GPUC_TIR_NE, true, r, zero));
        q = choose(ctx, off, sub(ctx, q, one), q);
        r = choose(ctx, off, add(ctx, r, b), r);
    }
    return choose(ctx, by_zero, zero, quotient ? q : r);
}

/* ---- All ------------------------------------------------------------------------------------------------- */

gpuc_expr gpuc_lower_pair_compare(gpuc_ctx *ctx, gpuc_tir_op op, bool is_signed, gpuc_pair a, gpuc_pair b)
{
    gpuc_expr same = gpuc_eq(ctx, a.hi, b.hi);
    if (op == GPUC_TIR_EQ) return gpuc_and(ctx, same, gpuc_eq(ctx, a.lo, b.lo));
    if (op == GPUC_TIR_NE) return gpuc_or(ctx, gpuc_ne(ctx, a.hi, b.hi), gpuc_ne(ctx, a.lo, b.lo));
    gpuc_expr above =
        is_signed ? gpuc_lt(ctx, as_int(ctx, a.hi), as_int(ctx, b.hi)) : gpuc_lt(ctx, a.hi, b.hi);
    return gpuc_or(ctx, above, gpuc_and(ctx, same, make(ctx, op, a.lo, b.lo)));
}

gpuc_pair gpuc_lower_pair_op(gpuc_ctx *ctx, gpuc_tir_op op, bool is_signed, gpuc_pair a, gpuc_pair b)
{
    switch ((int)op) {
    case GPUC_TIR_ADD: return add(ctx, a, b);
    case GPUC_TIR_SUB: return sub(ctx, a, b);
    case GPUC_TIR_MUL: return mul(ctx, a, b);
    case GPUC_TIR_DIV:
    case GPUC_TIR_MOD:
    case GPUC_TIR_FLOORDIV:
    case GPUC_TIR_FLOORMOD: return divide(ctx, op, is_signed, a, b);
    case GPUC_TIR_MIN: return choose(ctx, gpuc_lower_pair_compare(ctx, GPUC_TIR_LT, is_signed, a, b), a, b);
    case GPUC_TIR_MAX: return choose(ctx, gpuc_lower_pair_compare(ctx, GPUC_TIR_LT, is_signed, b, a), a, b);
    case GPUC_TIR_BITAND:
    case GPUC_TIR_BITOR:
    case GPUC_TIR_BITXOR: return (gpuc_pair){make(ctx, op, a.lo, b.lo), make(ctx, op, a.hi, b.hi)};
    case GPUC_TIR_BITNOT: return (gpuc_pair){make(ctx, op, a.lo, NULL), make(ctx, op, a.hi, NULL)};
    case GPUC_TIR_SHL: return shift(ctx, true, is_signed, a, b);
    case GPUC_TIR_SHR: return shift(ctx, false, is_signed, a, b);
    case GPUC_TIR_ABS: return is_signed ? magnitude(ctx, a) : a;
    }
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "'%s' of 64-bit integers on a target without them",
               gpuc_tir_ops[op].text);
}

static gpuc_pair from_float(gpuc_ctx *ctx, bool is_signed, gpuc_expr x)
{
    gpuc_dtype f = gpuc_dtype_with_lanes(GPUC_FLOAT32, x->dtype.lanes);
    int lanes = x->dtype.lanes;
    if (x->dtype.bits != 64) x = gpuc_cast(ctx, f, x);
    f = x->dtype;
    gpuc_expr zero = gpuc_imm(ctx, f, 0), limit = gpuc_imm(ctx, f, is_signed ? 0x1p63 : 0x1p64);
    gpuc_expr size = gpuc_call1(ctx, "abs", x), below = gpuc_lt(ctx, x, zero);
    gpuc_expr inside = gpuc_lt(ctx, size, limit), is_nan = gpuc_ne(ctx, x, x);
    size = gpuc_select(ctx, inside, size, zero);
    gpuc_expr high = gpuc_call1(ctx, "floor", gpuc_mul(ctx, size, gpuc_imm(ctx, f, 0x1p-32)));
    gpuc_expr low = gpuc_sub(ctx, size, gpuc_mul(ctx, high, gpuc_imm(ctx, f, 0x1p32)));
    gpuc_pair r = {as_word(ctx, low), as_word(ctx, high)}, none = gpuc_lower_pair_const(ctx, 0, lanes);
    r = choose(ctx, below, is_signed ? sub(ctx, none, r) : none, r);
    gpuc_pair max = gpuc_lower_pair_const(ctx, is_signed ? INT64_MAX : -1, lanes);
    gpuc_pair min = gpuc_lower_pair_const(ctx, is_signed ? INT64_MIN : 0, lanes);
    return choose(ctx, gpuc_or(ctx, inside, is_nan), choose(ctx, is_nan, none, r),
                  choose(ctx, below, min, max));
}

gpuc_pair gpuc_lower_pair_from(gpuc_ctx *ctx, bool is_signed, gpuc_expr value)
{
    gpuc_dtype t = value->dtype, wide = gpuc_dtype_with_lanes(GPUC_INT32, t.lanes);
    if (gpuc_is_float(t)) return from_float(ctx, is_signed, value);
    if (t.code != GPUC_DTYPE_INT) {
        gpuc_expr lo = as_word(ctx, value);
        return (gpuc_pair){lo, word(ctx, lo, 0)};
    }
    gpuc_expr x = gpuc_cast(ctx, wide, value);
    return (gpuc_pair){as_word(ctx, x),
                       as_word(ctx, make(ctx, GPUC_TIR_SHR, x, gpuc_imm_int(ctx, wide, 31)))};
}

gpuc_expr gpuc_lower_pair_to(gpuc_ctx *ctx, gpuc_dtype t, bool is_signed, gpuc_pair a)
{
    if (gpuc_is_bool(t)) return gpuc_ne(ctx, make(ctx, GPUC_TIR_BITOR, a.lo, a.hi), word(ctx, a.lo, 0));
    if (!gpuc_is_float(t)) return gpuc_cast(ctx, t, a.lo);
    gpuc_dtype f = t.bits == 64 ? t : gpuc_dtype_with_lanes(GPUC_FLOAT32, t.lanes);
    gpuc_pair m = is_signed ? magnitude(ctx, a) : a;
    gpuc_expr high = gpuc_mul(ctx, gpuc_cast(ctx, f, m.hi), gpuc_imm(ctx, f, 0x1p32));
    gpuc_expr x = gpuc_add(ctx, high, gpuc_cast(ctx, f, m.lo));
    if (is_signed) x = gpuc_select(ctx, negative(ctx, a), gpuc_sub(ctx, gpuc_imm(ctx, f, -0.0), x), x);
    return gpuc_cast(ctx, t, x);
}
