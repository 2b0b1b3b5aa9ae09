/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over arrays, one function per operator and type, made from tir/ops.def. */
#include "tir_eval/eval.h"

#include "tir/op_values.h"
#include "tir_eval/half.h"

#define GPUC_ELEMENT(name, code, bits, ...) (bits) / 8,
const uint8_t gpuc_ev_mem_bytes[EV_TYPE_COUNT] = {
#include "base/elements.def"
};
#undef GPUC_ELEMENT
#define GPUC_ELEMENT(name, code, bits, kind, significand, ...) (significand) && (bits) < 32 ? 4 : (bits) / 8,
const uint8_t gpuc_ev_reg_bytes[EV_TYPE_COUNT] = {
#include "base/elements.def"
};
#undef GPUC_ELEMENT

ev_type gpuc_ev_type(gpuc_dtype t)
{
    const gpuc_element *e = gpuc_element_of(t);
    GPUC_CHECK(e != NULL);
    return (ev_type)(e - gpuc_elements);
}

float gpuc_ev_round_half(ev_type t, double v)
{
    float f = ev_round_odd(v);
#define ROUND(S, round, M, value, bits)                                                                      \
    if (t == EV_##S) return round(f);
    EV_HALVES(ROUND)
    return f;
}

void gpuc_ev_half_load(ev_type t, float *d, const void *s, size_t n)
{
#define LOAD(S, round, M, value, bits)                                                                       \
    if (t == EV_##S)                                                                                         \
        for (size_t i = 0; i < n; i++) d[i] = value(((const M *)s)[i]);
    EV_HALVES(LOAD)
}

void gpuc_ev_half_store(ev_type t, void *d, const float *s, size_t n)
{
#define STORE(S, round, M, value, bits)                                                                      \
    if (t == EV_##S)                                                                                         \
        for (size_t i = 0; i < n; i++) ((M *)d)[i] = bits(s[i]);
    EV_HALVES(STORE)
}

/* ---- Building ---------------------------------------------------------------------------------- */

/* expr is over a and b of type T. */
#define BINARY(name, T, R, expr)                                                                             \
    static void name(void *dst, const void *pa, const void *pb, size_t n, int mode)                          \
    {                                                                                                        \
        R *d = dst;                                                                                          \
        const T *p = pa, *q = pb;                                                                            \
        if (mode == 0) {                                                                                     \
            for (size_t i = 0; i < n; i++) {                                                                 \
                T a = p[i], b = q[i];                                                                        \
                (void)a, (void)b;                                                                            \
                d[i] = (R)(expr);                                                                            \
            }                                                                                                \
        } else if (mode == 1) {                                                                              \
            T a = *p;                                                                                        \
            (void)a;                                                                                         \
            for (size_t i = 0; i < n; i++) {                                                                 \
                T b = q[i];                                                                                  \
                (void)b;                                                                                     \
                d[i] = (R)(expr);                                                                            \
            }                                                                                                \
        } else {                                                                                             \
            T b = *q;                                                                                        \
            (void)b;                                                                                         \
            for (size_t i = 0; i < n; i++) {                                                                 \
                T a = p[i];                                                                                  \
                (void)a;                                                                                     \
                d[i] = (R)(expr);                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
#define UNARY(name, T, R, expr)                                                                              \
    static void name(void *dst, const void *pa, size_t n)                                                    \
    {                                                                                                        \
        R *d = dst;                                                                                          \
        const T *p = pa;                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                     \
            T a = p[i];                                                                                      \
            (void)a;                                                                                         \
            d[i] = (R)(expr);                                                                                \
        }                                                                                                    \
    }

/* a is what was gathered, b the next. */
#define FOLDING(name, T, expr)                                                                               \
    static void name(void *acc, const void *values, size_t n)                                                \
    {                                                                                                        \
        const T *v = values;                                                                                 \
        T a = *(T *)acc;                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                     \
            T b = v[i];                                                                                      \
            (void)b;                                                                                         \
            a = (T)(expr);                                                                                   \
        }                                                                                                    \
        *(T *)acc = a;                                                                                       \
    }

/* NULL: not on this type. */
typedef struct ev_op_row {
    ev_unary_fn unary;
    ev_binary_fn binary;
    void (*fold)(void *acc, const void *values, size_t n);
} ev_op_row;

/* ---- Integers and bool: types of less than 32 bits wrap as parts of 32 ---- */

#define VALUE(ints, floats) ints
#define BITS (8 * sizeof(T))
#define KIND GPUC_TIR_INT
#define SIGNED 1
#define U uint32_t
#define S INT8
#define T int8_t
#include "tir_eval/ops_of_type.h"
#define S INT16
#define T int16_t
#include "tir_eval/ops_of_type.h"
#define S INT32
#define T int32_t
#include "tir_eval/ops_of_type.h"
#undef U
#define U uint64_t
#define S INT64
#define T int64_t
#include "tir_eval/ops_of_type.h"
#undef SIGNED
#define SIGNED 0
#define S UINT64
#define T uint64_t
#include "tir_eval/ops_of_type.h"
#undef U
#define U uint32_t
#define S UINT8
#define T uint8_t
#include "tir_eval/ops_of_type.h"
#define S UINT16
#define T uint16_t
#include "tir_eval/ops_of_type.h"
#define S UINT32
#define T uint32_t
#include "tir_eval/ops_of_type.h"
#undef KIND
#define KIND GPUC_TIR_LOGIC
#define S BOOL8
#define T uint8_t
#include "tir_eval/ops_of_type.h"
#undef U
#undef KIND
#undef SIGNED
#undef BITS
#undef VALUE

/* ---- Floats ---- */

#define VALUE(ints, floats) floats
#define KIND GPUC_TIR_FLT
#define EV_TEMPLATE "tir_eval/ops_of_type.h"
#include "tir_eval/half.h"
#define S FLOAT32
#define T float
#define NARROW(v) (v)
#define WIDE(v) (v)
#include "tir_eval/ops_of_type.h"
#undef NARROW
#undef WIDE
#define S FLOAT64
#define T double
#define NARROW(v) (v)
#define WIDE(v) (v)
#include "tir_eval/ops_of_type.h"
#undef NARROW
#undef WIDE
#undef KIND
#undef VALUE

static const ev_op_row *const rows[EV_TYPE_COUNT] = {
#define GPUC_ELEMENT(name, code, bits, ...) ev_ops_##code##bits,
#include "base/elements.def"
#undef GPUC_ELEMENT
};

/* ---- Faster ones: division of signed integers by one positive number for all ---- */

/* Division by one d for all. m / 2^64 is at least 1 / d - 1 / 2^64, so that q is too small by 1 at most. */
typedef struct reciprocal {
    uint64_t d, m;
} reciprocal;

static inline reciprocal reciprocal_of(uint64_t d)
{
    return (reciprocal){d, UINT64_MAX / d};
}

static inline uint64_t divide_by(uint64_t a, reciprocal r)
{
    uint64_t q = (uint64_t)((unsigned __int128)a * r.m >> 64);
    return q + (a - q * r.d >= r.d);
}

static inline int64_t floor_of(int64_t r, int64_t b)
{
    return r < 0 ? r + b : r;
}

/* q is x / b towards zero. */
#define DIVISION(name, slow, T, expr)                                                                        \
    static void name(void *dst, const void *pa, const void *pb, size_t n, int mode)                          \
    {                                                                                                        \
        int64_t b = *(const T *)pb;                                                                          \
        if (mode != 2 || b <= 0) {                                                                           \
            slow(dst, pa, pb, n, mode);                                                                      \
            return;                                                                                          \
        }                                                                                                    \
        T *d = dst;                                                                                          \
        const T *p = pa;                                                                                     \
        reciprocal by = reciprocal_of((uint64_t)b);                                                          \
        for (size_t i = 0; i < n; i++) {                                                                     \
            int64_t x = p[i];                                                                                \
            uint64_t u = divide_by(x < 0 ? 0 - (uint64_t)x : (uint64_t)x, by);                               \
            int64_t q = (int64_t)(x < 0 ? 0 - u : u);                                                        \
            d[i] = (T)(expr);                                                                                \
        }                                                                                                    \
    }

#define QUICK(S, T)                                                                                          \
    DIVISION(quick_div_##S, ev_DIV_##S, T, q)                                                                \
    DIVISION(quick_mod_##S, ev_MOD_##S, T, (int64_t)((uint64_t)x - (uint64_t)q * (uint64_t)b))               \
    DIVISION(quick_floordiv_##S, ev_FLOORDIV_##S, T,                                                         \
             q - (x < 0 && (uint64_t)q * (uint64_t)b != (uint64_t)x))                                        \
    DIVISION(quick_floormod_##S, ev_FLOORMOD_##S, T,                                                         \
             floor_of((int64_t)((uint64_t)x - (uint64_t)q * (uint64_t)b), b))
QUICK(INT8, int8_t)
QUICK(INT16, int16_t)
QUICK(INT32, int32_t)
QUICK(INT64, int64_t)

#define QUICK_ROW(S)                                                                                         \
    [EV_##S] = {[GPUC_TIR_DIV] = quick_div_##S,                                                              \
                [GPUC_TIR_MOD] = quick_mod_##S,                                                              \
                [GPUC_TIR_FLOORDIV] = quick_floordiv_##S,                                                    \
                [GPUC_TIR_FLOORMOD] = quick_floormod_##S}
static const ev_binary_fn quick[EV_TYPE_COUNT][GPUC_TIR_OP_COUNT] = {
    QUICK_ROW(INT8),
    QUICK_ROW(INT16),
    QUICK_ROW(INT32),
    QUICK_ROW(INT64),
};

/* ---- Look-ups ---- */

ev_binary_fn gpuc_ev_binary(gpuc_tir_op op, ev_type t)
{
    return quick[t][op] ? quick[t][op] : rows[t][op].binary;
}

ev_unary_fn gpuc_ev_unary(gpuc_tir_op op, ev_type t)
{
    return rows[t][op].unary;
}

bool gpuc_ev_fold(gpuc_tir_op op, ev_type t, void *acc, const void *values, size_t n)
{
    if (!rows[t][op].fold) return false;
    rows[t][op].fold(acc, values, n);
    return true;
}

/* ---- Select ------------------------------------------------------------------------------- */

#define CHOOSE(T)                                                                                            \
    do {                                                                                                     \
        T *r = d;                                                                                            \
        const T *p = a, *q = b;                                                                              \
        if (steps[0] & steps[1] & steps[2])                                                                  \
            for (size_t i = 0; i < n; i++) r[i] = c[i] ? p[i] : q[i];                                        \
        else                                                                                                 \
            for (size_t i = 0, x = 0, y = 0, z = 0; i < n; i++) {                                            \
                r[i] = c[z] ? p[x] : q[y];                                                                   \
                x += (size_t)steps[1], y += (size_t)steps[2], z += (size_t)steps[0];                         \
            }                                                                                                \
    } while (0)

void gpuc_ev_select(void *d, const uint8_t *c, const void *a, const void *b, size_t n, int bytes,
                    const int *steps)
{
    if (bytes == 1)
        CHOOSE(uint8_t);
    else if (bytes == 2)
        CHOOSE(uint16_t);
    else if (bytes == 4)
        CHOOSE(uint32_t);
    else
        CHOOSE(uint64_t);
}
