/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over arrays, one function per operator and type, made from tir/ops.def. */
#include "tir_eval/eval.h"

#include "tir/op_values.h"
#include "tir_eval/half.h"

const uint8_t gpuc_ev_reg_bytes[EV_TYPE_COUNT] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 4, 4, 8, 1};
const uint8_t gpuc_ev_mem_bytes[EV_TYPE_COUNT] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1};

ev_type gpuc_ev_type(gpuc_dtype t)
{
    int size = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
    switch ((gpuc_dtype_code)t.code) {
    case GPUC_DTYPE_INT: return (ev_type)(EV_I8 + size);
    case GPUC_DTYPE_UINT: return (ev_type)(EV_U8 + size);
    case GPUC_DTYPE_FLOAT: return t.bits == 16 ? EV_F16 : t.bits == 32 ? EV_F32 : EV_F64;
    case GPUC_DTYPE_BFLOAT: return EV_BF16;
    case GPUC_DTYPE_BOOL: return EV_BOOL;
    case GPUC_DTYPE_HANDLE: break;
    }
    GPUC_CHECK(!"a value of a handle type");
    return EV_I8;
}

float gpuc_ev_round_half(ev_type t, double v)
{
    float f = ev_round_odd(v);
    return t == EV_F16 ? ev_round_f16(f) : ev_round_bf16(f);
}

void gpuc_ev_half_load(ev_type t, float *d, const uint16_t *s, size_t n)
{
    if (t == EV_F16)
        for (size_t i = 0; i < n; i++) d[i] = ev_f16_value(s[i]);
    else
        for (size_t i = 0; i < n; i++) d[i] = ev_bits_float((uint32_t)s[i] << 16);
}

void gpuc_ev_half_store(ev_type t, uint16_t *d, const float *s, size_t n)
{
    if (t == EV_F16)
        for (size_t i = 0; i < n; i++) d[i] = ev_f16_bits(s[i]);
    else
        for (size_t i = 0; i < n; i++) d[i] = (uint16_t)(ev_float_bits(s[i]) >> 16);
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
#define S I8
#define T int8_t
#include "tir_eval/ops_of_type.h"
#define S I16
#define T int16_t
#include "tir_eval/ops_of_type.h"
#define S I32
#define T int32_t
#include "tir_eval/ops_of_type.h"
#undef U
#define U uint64_t
#define S I64
#define T int64_t
#include "tir_eval/ops_of_type.h"
#undef SIGNED
#define SIGNED 0
#define S U64
#define T uint64_t
#include "tir_eval/ops_of_type.h"
#undef U
#define U uint32_t
#define S U8
#define T uint8_t
#include "tir_eval/ops_of_type.h"
#define S U16
#define T uint16_t
#include "tir_eval/ops_of_type.h"
#define S U32
#define T uint32_t
#include "tir_eval/ops_of_type.h"
#undef KIND
#define KIND GPUC_TIR_LOGIC
#define S BOOL
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
#define S F16
#define T float
#define NARROW(v) ev_round_f16((float)(v))
#define WIDE(v) gpuc_ev_round_half(EV_F16, (v))
#include "tir_eval/ops_of_type.h"
#undef NARROW
#undef WIDE
#define S BF16
#define T float
#define NARROW(v) ev_round_bf16((float)(v))
#define WIDE(v) gpuc_ev_round_half(EV_BF16, (v))
#include "tir_eval/ops_of_type.h"
#undef NARROW
#undef WIDE
#define S F32
#define T float
#define NARROW(v) (v)
#define WIDE(v) (v)
#include "tir_eval/ops_of_type.h"
#undef NARROW
#undef WIDE
#define S F64
#define T double
#define NARROW(v) (v)
#define WIDE(v) (v)
#include "tir_eval/ops_of_type.h"
#undef NARROW
#undef WIDE
#undef KIND
#undef VALUE

static const ev_op_row *const rows[EV_TYPE_COUNT] = {
    [EV_I8] = ev_ops_I8,     [EV_I16] = ev_ops_I16,   [EV_I32] = ev_ops_I32, [EV_I64] = ev_ops_I64,
    [EV_U8] = ev_ops_U8,     [EV_U16] = ev_ops_U16,   [EV_U32] = ev_ops_U32, [EV_U64] = ev_ops_U64,
    [EV_F16] = ev_ops_F16,   [EV_BF16] = ev_ops_BF16, [EV_F32] = ev_ops_F32, [EV_F64] = ev_ops_F64,
    [EV_BOOL] = ev_ops_BOOL,
};

/* ---- Faster ones: division of signed integers by one positive number for all ---- */

/* Division by one d for all: q is too small by 2 at most. */
typedef struct reciprocal {
    uint64_t d, m;
} reciprocal;

static inline reciprocal reciprocal_of(uint64_t d)
{
    return (reciprocal){d, UINT64_MAX / d};
}

static inline uint64_t divide_by(uint64_t a, reciprocal r)
{
    uint64_t q = (uint64_t)((unsigned __int128)a * r.m >> 64), rest = a - q * r.d;
    if (rest >= r.d) {
        q++;
        rest -= r.d;
    }
    return q + (rest >= r.d);
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
QUICK(I8, int8_t)
QUICK(I16, int16_t)
QUICK(I32, int32_t)
QUICK(I64, int64_t)

#define QUICK_ROW(S)                                                                                         \
    [EV_##S] = {[GPUC_TIR_DIV] = quick_div_##S,                                                              \
                [GPUC_TIR_MOD] = quick_mod_##S,                                                              \
                [GPUC_TIR_FLOORDIV] = quick_floordiv_##S,                                                    \
                [GPUC_TIR_FLOORMOD] = quick_floormod_##S}
static const ev_binary_fn quick[EV_TYPE_COUNT][GPUC_TIR_OP_COUNT] = {
    QUICK_ROW(I8),
    QUICK_ROW(I16),
    QUICK_ROW(I32),
    QUICK_ROW(I64),
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
