/* SPDX-License-Identifier: Apache-2.0 */
/* Casts over arrays: every type to every other. */
#include "tir_eval/eval.h"

#include <math.h>

#include "tir_eval/half.h"

#define SIGNED(X) X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t) X(INT64, int64_t)
#define UNSIGNED(X)                                                                                          \
    X(UINT8, uint8_t) X(UINT16, uint16_t) X(UINT32, uint32_t) X(UINT64, uint64_t) X(BOOL8, uint8_t)
#define FLOATS(X) X(FLOAT32, float) X(FLOAT64, double) /* halves are held as FLOAT32 */

#define LOOP(from, F, to, T, expr)                                                                           \
    static void cast_##from##_##to(void *dst, const void *src, size_t n)                                     \
    {                                                                                                        \
        T *d = dst;                                                                                          \
        const F *s = src;                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                     \
            F v = s[i];                                                                                      \
            d[i] = (T)(expr);                                                                                \
        }                                                                                                    \
    }

/* Truncates and saturates; lowest and beyond are powers of two. */
static inline int64_t saturate(double v, double lowest, double beyond, int64_t min, int64_t max)
{
    if (v != v) return 0;
    if (v <= lowest) return min;
    return v >= beyond ? max : (int64_t)v;
}

static inline uint64_t saturate_u64(double v)
{
    if (!(v > 0)) return 0;
    return v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

/* Rounds once, though the double on the way may not hold all bits. */
static inline float half_of_int(ev_type t, uint64_t magnitude, bool negative)
{
    double d = magnitude >> 53 ? ldexp((double)(magnitude >> 11 | ((magnitude & 2047) != 0)), 11)
                               : (double)magnitude;
    return gpuc_ev_round_half(t, negative ? -d : d);
}

#define FROM_INT(to, T, from, F) LOOP(from, F, to, T, v)
#define FROM_ANY_INT(from, F)                                                                                \
    FROM_INT(INT8, int8_t, from, F)                                                                          \
    FROM_INT(INT16, int16_t, from, F)                                                                        \
    FROM_INT(INT32, int32_t, from, F)                                                                        \
    FROM_INT(INT64, int64_t, from, F)                                                                        \
    FROM_INT(UINT8, uint8_t, from, F)                                                                        \
    FROM_INT(UINT16, uint16_t, from, F)                                                                      \
    FROM_INT(UINT32, uint32_t, from, F)                                                                      \
    FROM_INT(UINT64, uint64_t, from, F) FROM_INT(FLOAT32, float, from, F) FROM_INT(FLOAT64, double, from, F) \
        LOOP(from, F, BOOL8, uint8_t, v != 0)
#define HALF_OF_SIGNED(S, round, M, value, bits, from, F)                                                    \
    LOOP(from, F, S, float, half_of_int(EV_##S, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0))
#define HALF_OF_UNSIGNED(S, round, M, value, bits, from, F)                                                  \
    LOOP(from, F, S, float, half_of_int(EV_##S, v, false))
#define HALF_OF_FLOAT(S, round, M, value, bits, from, F)                                                     \
    LOOP(from, F, S, float, gpuc_ev_round_half(EV_##S, (double)v))
#define FROM_SIGNED(from, F) FROM_ANY_INT(from, F) EV_HALVES(HALF_OF_SIGNED, from, F)
#define FROM_UNSIGNED(from, F) FROM_ANY_INT(from, F) EV_HALVES(HALF_OF_UNSIGNED, from, F)
#define FROM_ANY_FLOAT(from, F)                                                                              \
    LOOP(from, F, INT8, int8_t, saturate((double)v, -128, 128, INT8_MIN, INT8_MAX))                          \
    LOOP(from, F, INT16, int16_t, saturate((double)v, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX))                \
    LOOP(from, F, INT32, int32_t, saturate((double)v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX))                \
    LOOP(from, F, INT64, int64_t, saturate((double)v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX))                \
    LOOP(from, F, UINT8, uint8_t, saturate((double)v, 0, 256, 0, UINT8_MAX))                                 \
    LOOP(from, F, UINT16, uint16_t, saturate((double)v, 0, 0x1p16, 0, UINT16_MAX))                           \
    LOOP(from, F, UINT32, uint32_t, saturate((double)v, 0, 0x1p32, 0, UINT32_MAX))                           \
    LOOP(from, F, UINT64, uint64_t, saturate_u64((double)v))                                                 \
    LOOP(from, F, BOOL8, uint8_t, v != 0)                                                                    \
    EV_HALVES(HALF_OF_FLOAT, from, F)                                                                        \
    LOOP(from, F, FLOAT32, float, v) LOOP(from, F, FLOAT64, double, v)

SIGNED(FROM_SIGNED)
UNSIGNED(FROM_UNSIGNED)
FLOATS(FROM_ANY_FLOAT)

#define HALF_ENTRY(S, round, M, value, bits, from) [EV_##S] = cast_##from##_##S,
#define ROW(from, F)                                                                                         \
    [EV_##from] = {[EV_INT8] = cast_##from##_INT8,       [EV_INT16] = cast_##from##_INT16,                   \
                   [EV_INT32] = cast_##from##_INT32,     [EV_INT64] = cast_##from##_INT64,                   \
                   [EV_UINT8] = cast_##from##_UINT8,     [EV_UINT16] = cast_##from##_UINT16,                 \
                   [EV_UINT32] = cast_##from##_UINT32,   [EV_UINT64] = cast_##from##_UINT64,                 \
                   [EV_BOOL8] = cast_##from##_BOOL8,     [EV_FLOAT32] = cast_##from##_FLOAT32,               \
                   [EV_FLOAT64] = cast_##from##_FLOAT64, EV_HALVES(HALF_ENTRY, from)},

static const ev_unary_fn casts[EV_TYPE_COUNT][EV_TYPE_COUNT] = {SIGNED(ROW) UNSIGNED(ROW) FLOATS(ROW)};

ev_unary_fn gpuc_ev_cast(ev_type to, ev_type from)
{
    return casts[gpuc_ev_is_half(from) ? EV_FLOAT32 : from][to];
}
