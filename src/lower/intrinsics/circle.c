/* SPDX-License-Identifier: Apache-2.0 */
/* sin, cos and tan of float32, within a few units of the last place for every argument. Small ones lose a
 * multiple of pi/2 in parts whose products are exact (Cody and Waite); from 2^10 on, 96 bits of 2/pi are
 * multiplied with the mantissa in integers (Payne and Hanek). Polynomials are those of S. Moshier's Cephes
 * library. */
#include <math.h>

#include "lower/intrinsics/math.h"

enum { SMALL_EXPONENT = 127 + 10 };

/* |a| = (4k + quadrant) * pi/2 + rest */
typedef struct reduced {
    gpuc_expr quadrant; /* its two lowest bits count */
    gpuc_expr rest;     /* in [-pi/4, pi/4], a little more at the ends */
} reduced;

static gpuc_expr word(gpuc_intrin *x, uint32_t v)
{
    return gpuc_imm_int(x->ctx, gpuc_intrin_word_type(x), v);
}

static gpuc_expr op2(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(x->ctx, op, a, b, NULL);
}

static gpuc_expr shifted(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, int by)
{
    return op2(x, op, a, word(x, (uint32_t)by));
}

/* ---- Arguments below 2^10 ---- */

/* Three parts of 14 bits, so that products with n < 2^10 are exact, and the rest. */
static reduced reduce_small(gpuc_intrin *x, gpuc_expr size)
{
    static const double parts[] = {0x1.9218p+0, 0x1.ed5p-14, 0x1.10ap-30, 0x1.4611a6p-42};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr n = op1(x, GPUC_TIR_ROUND, gpuc_mul(ctx, size, num(x, 0.63661977236758134308))), r = size;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        r = exact(x, gpuc_sub(ctx, r, gpuc_mul(ctx, n, num(x, parts[i]))));
    gpuc_dtype i = gpuc_dtype_with_lanes(GPUC_INT32, x->t.lanes);
    return (reduced){gpuc_cast(ctx, gpuc_intrin_word_type(x), gpuc_cast(ctx, i, n)), r};
}

/* ---- Any argument ---- */

/* The upper word of a * b, for a < 2^24. */
static gpuc_expr upper_product(gpuc_intrin *x, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr half = word(x, 0xffff);
    gpuc_expr a1 = shifted(x, GPUC_TIR_SHR, a, 16), a0 = op2(x, GPUC_TIR_BITAND, a, half);
    gpuc_expr b1 = shifted(x, GPUC_TIR_SHR, b, 16), b0 = op2(x, GPUC_TIR_BITAND, b, half);
    gpuc_expr low = shifted(x, GPUC_TIR_SHR, gpuc_mul(ctx, a0, b0), 16);
    gpuc_expr middle = gpuc_add(ctx, gpuc_mul(ctx, a0, b1), low);
    gpuc_expr other = gpuc_add(ctx, gpuc_mul(ctx, a1, b0), op2(x, GPUC_TIR_BITAND, middle, half));
    gpuc_expr high = gpuc_add(ctx, gpuc_mul(ctx, a1, b1), shifted(x, GPUC_TIR_SHR, middle, 16));
    return gpuc_add(ctx, high, shifted(x, GPUC_TIR_SHR, other, 16));
}

/* Three words of 2/pi, beginning with the bit that counts 2 when it is multiplied with the unit in the last
 * place of a number with this (biased) exponent. What is above gives whole turns. */
static void window(gpuc_intrin *x, gpuc_expr exponent, gpuc_expr *w)
{
    /* after fifteen zeros, so that the window of 2^10 begins at the first bit */
    static const uint32_t bits[] = {0x000145f3, 0x06dc9c88, 0x2a53f84e, 0xafa3ea69,
                                    0xbb81b6c5, 0x2b327887, 0x2083fca2};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr at = gpuc_sub(ctx, exponent, word(x, SMALL_EXPONENT)), zero = word(x, 0);
    gpuc_expr two = gpuc_ne(ctx, op2(x, GPUC_TIR_BITAND, at, word(x, 64)), zero);
    gpuc_expr one = gpuc_ne(ctx, op2(x, GPUC_TIR_BITAND, at, word(x, 32)), zero);
    gpuc_expr left = op2(x, GPUC_TIR_BITAND, at, word(x, 31));
    gpuc_expr right = op2(x, GPUC_TIR_BITAND, op1(x, GPUC_TIR_BITNOT, at), word(x, 31)); /* 31 - left */
    gpuc_expr by_two[5], by_one[4];
    for (int i = 0; i < 5; i++) by_two[i] = gpuc_select(ctx, two, word(x, bits[i + 2]), word(x, bits[i]));
    for (int i = 0; i < 4; i++) by_one[i] = gpuc_select(ctx, one, by_two[i + 1], by_two[i]);
    for (int i = 0; i < 3; i++) {
        gpuc_expr next = op2(x, GPUC_TIR_SHR, shifted(x, GPUC_TIR_SHR, by_one[i + 1], 1), right);
        w[i] = op2(x, GPUC_TIR_BITOR, op2(x, GPUC_TIR_SHL, by_one[i], left), next);
    }
}

/* Reduces an argument from 2^10 on. The upper two words of the product are enough: no float is nearer to a
 * multiple of pi/2 than 2^-30 of it. */
static reduced reduce_any(gpuc_intrin *x, gpuc_expr size)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr u = gpuc_intrin_bits(x, size), zero = word(x, 0), w[3];
    gpuc_expr m = op2(x, GPUC_TIR_BITOR, op2(x, GPUC_TIR_BITAND, u, word(x, 0x7fffff)), word(x, 0x800000));
    window(x, shifted(x, GPUC_TIR_SHR, u, 23), w);
    gpuc_expr part = gpuc_mul(ctx, m, w[1]), low = gpuc_add(ctx, part, upper_product(x, m, w[2]));
    gpuc_expr carry = gpuc_select(ctx, gpuc_lt(ctx, low, part), word(x, 1), zero);
    gpuc_expr high = gpuc_add(ctx, gpuc_add(ctx, gpuc_mul(ctx, m, w[0]), upper_product(x, m, w[1])), carry);
    /* two bits of quadrant; as a signed number, the rest is in [-1/2, 1/2) of one */
    gpuc_expr quadrant = shifted(x, GPUC_TIR_SHR, gpuc_add(ctx, high, word(x, 0x20000000)), 30);
    gpuc_expr top =
        op2(x, GPUC_TIR_BITOR, shifted(x, GPUC_TIR_SHL, high, 2), shifted(x, GPUC_TIR_SHR, low, 30));
    gpuc_expr rest = shifted(x, GPUC_TIR_SHL, low, 2);
    gpuc_expr minus = gpuc_le(ctx, word(x, 0x80000000u), top);
    top = gpuc_select(ctx, minus, op1(x, GPUC_TIR_BITNOT, top), top);
    rest = gpuc_select(ctx, minus, op1(x, GPUC_TIR_BITNOT, rest), rest);
    gpuc_dtype i = gpuc_dtype_with_lanes(GPUC_INT32, x->t.lanes);
    gpuc_expr large = gpuc_cast(ctx, x->t, gpuc_cast(ctx, i, top));
    gpuc_expr tiny = gpuc_cast(ctx, x->t, gpuc_cast(ctx, i, shifted(x, GPUC_TIR_SHR, rest, 8)));
    gpuc_expr r = gpuc_add(ctx, large, gpuc_mul(ctx, tiny, num(x, 0x1p-24)));
    r = gpuc_mul(ctx, r, num(x, 0x1.921fb6p-32)); /* pi/2 of 2^32 */
    return (reduced){quadrant, gpuc_select(ctx, minus, negated(x, r), r)};
}

/* ---- The functions ---- */

/* v, its sign changed where the bit 2 of turn is set, and where it is in sign. */
static gpuc_expr flipped(gpuc_intrin *x, gpuc_expr v, gpuc_expr turn, gpuc_expr sign)
{
    gpuc_expr top = shifted(x, GPUC_TIR_SHL, op2(x, GPUC_TIR_BITAND, turn, word(x, 2)), 30);
    if (sign) top = op2(x, GPUC_TIR_BITXOR, top, sign);
    return gpuc_intrin_of_bits(x, op2(x, GPUC_TIR_BITXOR, gpuc_intrin_bits(x, v), top));
}

static gpuc_expr finish(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr sign, const reduced *r)
{
    static const double s[] = {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1};
    static const double c[] = {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr z = gpuc_mul(ctx, r->rest, r->rest), q = r->quadrant;
    gpuc_expr p = gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, s), z), r->rest), r->rest);
    gpuc_expr e = gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, c), z), z);
    e = gpuc_add(ctx, gpuc_sub(ctx, e, gpuc_mul(ctx, z, num(x, 0.5))), num(x, 1));
    gpuc_expr swap = gpuc_ne(ctx, op2(x, GPUC_TIR_BITAND, q, word(x, 1)), word(x, 0));
    gpuc_expr sine = gpuc_select(ctx, swap, e, p), cosine = gpuc_select(ctx, swap, p, e);
    gpuc_expr next = gpuc_add(ctx, q, word(x, 1)); /* where the cosine has its sign */
    if (op == GPUC_TIR_SIN) return flipped(x, sine, q, sign);
    if (op == GPUC_TIR_COS) return flipped(x, cosine, next, NULL);
    return flipped(x, gpuc_div(ctx, sine, cosine), op2(x, GPUC_TIR_BITXOR, q, next), sign);
}

/* The max of the lanes, which are unsigned. */
static gpuc_expr max_of_lanes(gpuc_intrin *x, gpuc_expr u)
{
    gpuc_expr max = u;
    if (u->dtype.lanes == 1) return u;
    for (int i = 0; i < u->dtype.lanes; i++) {
        gpuc_expr lane = gpuc_tir_lane(x->ctx, u, i);
        max = i ? gpuc_max(x->ctx, max, lane) : lane;
    }
    return max;
}

gpuc_expr gpuc_lower_intrin_circular(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    int lanes = x->t.lanes;
    gpuc_expr size = absolute(x, a), u = gpuc_intrin_bits(x, size);
    gpuc_expr sign = op2(x, GPUC_TIR_BITAND, gpuc_intrin_bits(x, a), word(x, 0x80000000u));
    gpuc_expr max = max_of_lanes(x, u), limit = gpuc_imm_int(ctx, GPUC_UINT32, SMALL_EXPONENT << 23);
    reduced near = reduce_small(x, size), far = reduce_any(x, size);
    if (lanes > 1) { /* some of the lanes may be small */
        gpuc_expr small = gpuc_lt(ctx, u, word(x, SMALL_EXPONENT << 23));
        far.quadrant = gpuc_select(ctx, small, near.quadrant, far.quadrant);
        far.rest = gpuc_select(ctx, small, near.rest, far.rest);
    }
    gpuc_expr any =
        gpuc_select(ctx, gpuc_le(ctx, word(x, 0x7f800000), u), num(x, NAN), finish(x, op, sign, &far));
    gpuc_expr all_small = gpuc_tir_broadcast(ctx, gpuc_lt(ctx, max, limit), lanes);
    return gpuc_if_then_else(ctx, all_small, finish(x, op, sign, &near), any);
}
