/* SPDX-License-Identifier: Apache-2.0 */
/* Casts over arrays: every type to every other. */
#include "tir_eval/eval.h"

#include <math.h>

#include "tir_eval/half.h"

#define SIGNED(X) X(I8, int8_t) X(I16, int16_t) X(I32, int32_t) X(I64, int64_t)
#define UNSIGNED(X) X(U8, uint8_t) X(U16, uint16_t) X(U32, uint32_t) X(U64, uint64_t) X(BOOL, uint8_t)
#define FLOATS(X) X(F16, float) X(BF16, float) X(F32, float) X(F64, double)

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
    FROM_INT(I8, int8_t, from, F)                                                                            \
    FROM_INT(I16, int16_t, from, F)                                                                          \
    FROM_INT(I32, int32_t, from, F)                                                                          \
    FROM_INT(I64, int64_t, from, F)                                                                          \
    FROM_INT(U8, uint8_t, from, F)                                                                           \
    FROM_INT(U16, uint16_t, from, F) FROM_INT(U32, uint32_t, from, F) FROM_INT(U64, uint64_t, from, F)       \
        FROM_INT(F32, float, from, F) FROM_INT(F64, double, from, F) LOOP(from, F, BOOL, uint8_t, v != 0)
#define FROM_SIGNED(from, F)                                                                                 \
    FROM_ANY_INT(from, F)                                                                                    \
    LOOP(from, F, F16, float, half_of_int(EV_F16, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0))             \
    LOOP(from, F, BF16, float, half_of_int(EV_BF16, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0))
#define FROM_UNSIGNED(from, F)                                                                               \
    FROM_ANY_INT(from, F)                                                                                    \
    LOOP(from, F, F16, float, half_of_int(EV_F16, v, false))                                                 \
    LOOP(from, F, BF16, float, half_of_int(EV_BF16, v, false))
#define FROM_ANY_FLOAT(from, F)                                                                              \
    LOOP(from, F, I8, int8_t, saturate((double)v, -128, 128, INT8_MIN, INT8_MAX))                            \
    LOOP(from, F, I16, int16_t, saturate((double)v, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX))                  \
    LOOP(from, F, I32, int32_t, saturate((double)v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX))                  \
    LOOP(from, F, I64, int64_t, saturate((double)v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX))                  \
    LOOP(from, F, U8, uint8_t, saturate((double)v, 0, 256, 0, UINT8_MAX))                                    \
    LOOP(from, F, U16, uint16_t, saturate((double)v, 0, 0x1p16, 0, UINT16_MAX))                              \
    LOOP(from, F, U32, uint32_t, saturate((double)v, 0, 0x1p32, 0, UINT32_MAX))                              \
    LOOP(from, F, U64, uint64_t, saturate_u64((double)v))                                                    \
    LOOP(from, F, BOOL, uint8_t, v != 0)                                                                     \
    LOOP(from, F, F16, float, gpuc_ev_round_half(EV_F16, (double)v))                                         \
    LOOP(from, F, BF16, float, gpuc_ev_round_half(EV_BF16, (double)v))                                       \
    LOOP(from, F, F32, float, v) LOOP(from, F, F64, double, v)

SIGNED(FROM_SIGNED)
UNSIGNED(FROM_UNSIGNED)
FLOATS(FROM_ANY_FLOAT)

#define ROW(from, F)                                                                                         \
    [EV_##from] = {                                                                                          \
        [EV_I8] = cast_##from##_I8,   [EV_I16] = cast_##from##_I16,   [EV_I32] = cast_##from##_I32,          \
        [EV_I64] = cast_##from##_I64, [EV_U8] = cast_##from##_U8,     [EV_U16] = cast_##from##_U16,          \
        [EV_U32] = cast_##from##_U32, [EV_U64] = cast_##from##_U64,   [EV_BOOL] = cast_##from##_BOOL,        \
        [EV_F16] = cast_##from##_F16, [EV_BF16] = cast_##from##_BF16, [EV_F32] = cast_##from##_F32,          \
        [EV_F64] = cast_##from##_F64},

static const ev_unary_fn casts[EV_TYPE_COUNT][EV_TYPE_COUNT] = {SIGNED(ROW) UNSIGNED(ROW) FLOATS(ROW)};

ev_unary_fn gpuc_ev_cast(ev_type to, ev_type from)
{
    return casts[from][to];
}
