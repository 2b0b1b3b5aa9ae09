/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns ints and floats of ops.def call. Who includes the table defines for the type at hand: T,
 * itself; U, the unsigned type in which its arithmetic wraps; SIGNED; BITS. */
#ifndef GPUC_TIR_OP_VALUES_H
#define GPUC_TIR_OP_VALUES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Functions, for compilers warn where a comparison has one outcome for a type. */
static inline bool gpuc_tir_below_0(int64_t a)
{
    return a < 0;
}
static inline bool gpuc_tir_same(int64_t a, int64_t b)
{
    return a == b;
}

#define is_below_0(a) (SIGNED && gpuc_tir_below_0((int64_t)(a)))
#define magnitude(a) (is_below_0(a) ? (T)(0 - (U)(a)) : (a))

#define is_minus_1(b) (SIGNED && gpuc_tir_same((int64_t)(b), -1))
#define quotient(a, b) ((T)((b) == 0 ? (T)0 : is_minus_1(b) ? (T)(0 - (U)(a)) : (T)((a) / (b))))
#define remainder_of(a, b) ((T)((b) == 0 || is_minus_1(b) ? (T)0 : (T)((a) % (b))))
/* Whether the quotient rounded towards zero lies above the exact one. */
#define is_too_large(a, b) (remainder_of(a, b) != 0 && is_below_0(remainder_of(a, b)) != is_below_0(b))
#define floor_quotient(a, b) ((T)(quotient(a, b) - is_too_large(a, b)))
#define floor_remainder(a, b) ((T)(remainder_of(a, b) + (is_too_large(a, b) ? (b) : (T)0)))

#define shift_left(a, b) ((uint64_t)(b) >= (uint64_t)(BITS) ? 0 : (uint64_t)(a) << ((uint64_t)(b)&63))
#define shift_right(a, b)                                                                                    \
    ((uint64_t)(b) >= (uint64_t)(BITS) ? 0 - (uint64_t)is_below_0(a)                                         \
     : is_below_0(a)                   ? ~(~(uint64_t)(a) >> ((uint64_t)(b)&63))                             \
                                       : (uint64_t)((a) >> ((b) & (T)(BITS - 1))))

#define lesser(a, b)                                                                                         \
    (isnan(a) || isnan(b) ? (T)NAN : (a) == (b) ? (signbit(a) ? (a) : (b)) : (a) < (b) ? (a) : (b))
#define greater(a, b)                                                                                        \
    (isnan(a) || isnan(b) ? (T)NAN : (a) == (b) ? (signbit(a) ? (b) : (a)) : (a) < (b) ? (b) : (a))

#endif
