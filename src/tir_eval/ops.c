/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over arrays, one function per operator and type. value.c is their reference. */
#include "tir_eval/eval.h"

#include <math.h>

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
                d[i] = (R)(expr);                                                                            \
            }                                                                                                \
        } else if (mode == 1) {                                                                              \
            T a = *p;                                                                                        \
            for (size_t i = 0; i < n; i++) {                                                                 \
                T b = q[i];                                                                                  \
                d[i] = (R)(expr);                                                                            \
            }                                                                                                \
        } else {                                                                                             \
            T b = *q;                                                                                        \
            for (size_t i = 0; i < n; i++) {                                                                 \
                T a = p[i];                                                                                  \
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
            d[i] = (R)(expr);                                                                                \
        }                                                                                                    \
    }

/* ---- Integers: T, the unsigned type that its arithmetic wraps in, bits ---------------------------- */

#define SIGNED_TYPES(X)                                                                                      \
    X(I8, int8_t, uint32_t, 8)                                                                               \
    X(I16, int16_t, uint32_t, 16) X(I32, int32_t, uint32_t, 32) X(I64, int64_t, uint64_t, 64)
#define UNSIGNED_TYPES(X)                                                                                    \
    X(U8, uint8_t, uint32_t, 8)                                                                              \
    X(U16, uint16_t, uint32_t, 16) X(U32, uint32_t, uint32_t, 32) X(U64, uint64_t, uint64_t, 64)

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

#define ARITH(S, T, U, BITS)                                                                                 \
    BINARY(add_##S, T, T, (U)a + (U)b)                                                                       \
    BINARY(sub_##S, T, T, (U)a - (U)b)                                                                       \
    BINARY(mul_##S, T, T, (U)a *(U)b)                                                                        \
    BINARY(min_##S, T, T, b < a ? b : a)                                                                     \
    BINARY(max_##S, T, T, a < b ? b : a)                                                                     \
    BINARY(eq_##S, T, uint8_t, a == b)                                                                       \
    BINARY(ne_##S, T, uint8_t, a != b)                                                                       \
    BINARY(lt_##S, T, uint8_t, a < b)                                                                        \
    BINARY(le_##S, T, uint8_t, a <= b)                                                                       \
    BINARY(bitand_##S, T, T, a &b)                                                                           \
    BINARY(bitor_##S, T, T, a | b)                                                                           \
    BINARY(bitxor_##S, T, T, a ^ b)                                                                          \
    BINARY(shl_##S, T, T, (uint64_t)b >= BITS ? 0 : (uint64_t)a << ((uint64_t)b & 63))                       \
    UNARY(bitnot_##S, T, T, ~a)

#define SIGNED(S, T, U, BITS)                                                                                \
    ARITH(S, T, U, BITS)                                                                                     \
    static inline T quotient_##S(T a, T b)                                                                   \
    {                                                                                                        \
        return (T)(b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b);                                            \
    }                                                                                                        \
    static inline T remainder_##S(T a, T b)                                                                  \
    {                                                                                                        \
        return (T)(b == 0 || b == -1 ? 0 : a % b);                                                           \
    }                                                                                                        \
    static inline T floor_quotient_##S(T a, T b)                                                             \
    {                                                                                                        \
        T q = quotient_##S(a, b), r = remainder_##S(a, b);                                                   \
        return (T)(q - (r != 0 && (r < 0) != (b < 0)));                                                      \
    }                                                                                                        \
    static inline T floor_remainder_##S(T a, T b)                                                            \
    {                                                                                                        \
        T r = remainder_##S(a, b);                                                                           \
        return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                                \
    }                                                                                                        \
    BINARY(slow_div_##S, T, T, quotient_##S(a, b))                                                           \
    BINARY(slow_mod_##S, T, T, remainder_##S(a, b))                                                          \
    BINARY(slow_fdiv_##S, T, T, floor_quotient_##S(a, b))                                                    \
    BINARY(slow_fmod_##S, T, T, floor_remainder_##S(a, b))                                                   \
    BINARY(shr_##S, T, T,                                                                                    \
           (uint64_t)b >= BITS ? -(int64_t)(a < 0)                                                           \
           : a < 0             ? (int64_t) ~(~(uint64_t)(int64_t)a >> b)                                     \
                               : (int64_t)a >> b)                                                                        \
    UNARY(abs_##S, T, T, a < 0 ? (T)(0 - (U)a) : a)                                                          \
    DIVISION(div_##S, slow_div_##S, T, q)                                                                    \
    DIVISION(mod_##S, slow_mod_##S, T, (int64_t)((uint64_t)x - (uint64_t)q * (uint64_t)b))                   \
    DIVISION(fdiv_##S, slow_fdiv_##S, T, q - (x < 0 && (uint64_t)q * (uint64_t)b != (uint64_t)x))            \
    DIVISION(fmod_##S, slow_fmod_##S, T, floor_of((int64_t)((uint64_t)x - (uint64_t)q * (uint64_t)b), b))

static inline int64_t floor_of(int64_t r, int64_t b)
{
    return r < 0 ? r + b : r;
}

/* By a positive b for all: q is x / b towards zero. */
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

#define UNSIGNED(S, T, U, BITS)                                                                              \
    ARITH(S, T, U, BITS)                                                                                     \
    BINARY(div_##S, T, T, b == 0 ? 0 : a / b)                                                                \
    BINARY(mod_##S, T, T, b == 0 ? 0 : a % b)                                                                \
    BINARY(shr_##S, T, T, (uint64_t)b >= BITS ? 0 : a >> b)                                                  \
    UNARY(abs_##S, T, T, a)

SIGNED_TYPES(SIGNED)
UNSIGNED_TYPES(UNSIGNED)

/* ---- Bool ---------------------------------------------------------------------------------------- */

BINARY(eq_BOOL, uint8_t, uint8_t, a == b)
BINARY(ne_BOOL, uint8_t, uint8_t, a != b)
BINARY(and_BOOL, uint8_t, uint8_t, a &b)
BINARY(or_BOOL, uint8_t, uint8_t, a | b)
UNARY(not_BOOL, uint8_t, uint8_t, !a)

/* ---- Floats: T in registers, D computes, ROUND to the type ----------------------------------------- */

#define SELF(v) (v)
#define HALF_F16(v) ev_round_f16((float)(v))
#define HALF_BF16(v) ev_round_bf16((float)(v))
#define WIDE_F16(v) gpuc_ev_round_half(EV_F16, (v))
#define WIDE_BF16(v) gpuc_ev_round_half(EV_BF16, (v))
#define FLOAT_TYPES(X)                                                                                       \
    X(F16, float, HALF_F16, WIDE_F16)                                                                        \
    X(BF16, float, HALF_BF16, WIDE_BF16) X(F32, float, SELF, SELF) X(F64, double, SELF, SELF)

#define LESSER(a, b) (isnan(a) || isnan(b) ? NAN : a == b ? (signbit(a) ? a : b) : a < b ? a : b)
#define GREATER(a, b) (isnan(a) || isnan(b) ? NAN : a == b ? (signbit(a) ? b : a) : a < b ? b : a)

#define FLOATS(S, T, ROUND, WIDE)                                                                            \
    BINARY(add_##S, T, T, ROUND(a + b))                                                                      \
    BINARY(sub_##S, T, T, ROUND(a - b))                                                                      \
    BINARY(mul_##S, T, T, ROUND(a *b))                                                                       \
    BINARY(div_##S, T, T, ROUND(a / b))                                                                      \
    BINARY(mod_##S, T, T, ROUND((T)fmod((double)a, (double)b)))                                              \
    BINARY(min_##S, T, T, LESSER(a, b))                                                                      \
    BINARY(max_##S, T, T, GREATER(a, b))                                                                     \
    BINARY(eq_##S, T, uint8_t, a == b)                                                                       \
    BINARY(ne_##S, T, uint8_t, a != b)                                                                       \
    BINARY(lt_##S, T, uint8_t, a < b)                                                                        \
    BINARY(le_##S, T, uint8_t, a <= b)                                                                       \
    BINARY(pow_##S, T, T, WIDE(pow((double)a, (double)b)))                                                   \
    BINARY(atan2_##S, T, T, WIDE(atan2((double)a, (double)b)))                                               \
    UNARY(abs_##S, T, T, fabs((double)a))                                                                    \
    UNARY(floor_##S, T, T, ROUND((T)floor((double)a)))                                                       \
    UNARY(ceil_##S, T, T, ROUND((T)ceil((double)a)))                                                         \
    UNARY(trunc_##S, T, T, ROUND((T)trunc((double)a)))                                                       \
    UNARY(round_##S, T, T, ROUND((T)rint((double)a)))                                                        \
    UNARY(sqrt_##S, T, T, WIDE(sqrt((double)a)))                                                             \
    UNARY(exp_##S, T, T, WIDE(exp((double)a)))                                                               \
    UNARY(expm1_##S, T, T, WIDE(expm1((double)a)))                                                           \
    UNARY(log_##S, T, T, WIDE(log((double)a)))                                                               \
    UNARY(log1p_##S, T, T, WIDE(log1p((double)a)))                                                           \
    UNARY(sin_##S, T, T, WIDE(sin((double)a)))                                                               \
    UNARY(cos_##S, T, T, WIDE(cos((double)a)))                                                               \
    UNARY(tan_##S, T, T, WIDE(tan((double)a)))                                                               \
    UNARY(asin_##S, T, T, WIDE(asin((double)a)))                                                             \
    UNARY(acos_##S, T, T, WIDE(acos((double)a)))                                                             \
    UNARY(atan_##S, T, T, WIDE(atan((double)a)))                                                             \
    UNARY(sinh_##S, T, T, WIDE(sinh((double)a)))                                                             \
    UNARY(cosh_##S, T, T, WIDE(cosh((double)a)))                                                             \
    UNARY(tanh_##S, T, T, WIDE(tanh((double)a)))                                                             \
    UNARY(asinh_##S, T, T, WIDE(asinh((double)a)))                                                           \
    UNARY(acosh_##S, T, T, WIDE(acosh((double)a)))                                                           \
    UNARY(atanh_##S, T, T, WIDE(atanh((double)a)))                                                           \
    UNARY(erf_##S, T, T, WIDE(erf((double)a)))                                                               \
    UNARY(isnan_##S, T, uint8_t, isnan(a) != 0)                                                              \
    UNARY(isinf_##S, T, uint8_t, isinf(a) != 0)

FLOAT_TYPES(FLOATS)

/* ---- Tables --------------------------------------------------------------------------------------- */

#define INT_ROWS(S, D, M)                                                                                    \
    [EV_##                                                                                                   \
        S] = {[GPUC_TIR_ADD] = add_##S,       [GPUC_TIR_SUB] = sub_##S,       [GPUC_TIR_MUL] = mul_##S,      \
              [GPUC_TIR_DIV] = div_##S,       [GPUC_TIR_MOD] = mod_##S,       [GPUC_TIR_FLOORDIV] = D##_##S, \
              [GPUC_TIR_FLOORMOD] = M##_##S,  [GPUC_TIR_MIN] = min_##S,       [GPUC_TIR_MAX] = max_##S,      \
              [GPUC_TIR_EQ] = eq_##S,         [GPUC_TIR_NE] = ne_##S,         [GPUC_TIR_LT] = lt_##S,        \
              [GPUC_TIR_LE] = le_##S,         [GPUC_TIR_BITAND] = bitand_##S, [GPUC_TIR_BITOR] = bitor_##S,  \
              [GPUC_TIR_BITXOR] = bitxor_##S, [GPUC_TIR_SHL] = shl_##S,       [GPUC_TIR_SHR] = shr_##S},
#define SIGNED_ROWS(S, T, U, BITS) INT_ROWS(S, fdiv, fmod)
#define UNSIGNED_ROWS(S, T, U, BITS) INT_ROWS(S, div, mod)
#define FLOAT_ROWS(S, T, ROUND, WIDE)                                                                        \
    [EV_##S] = {[GPUC_TIR_ADD] = add_##S,    [GPUC_TIR_SUB] = sub_##S, [GPUC_TIR_MUL] = mul_##S,             \
                [GPUC_TIR_DIV] = div_##S,    [GPUC_TIR_MOD] = mod_##S, [GPUC_TIR_MIN] = min_##S,             \
                [GPUC_TIR_MAX] = max_##S,    [GPUC_TIR_EQ] = eq_##S,   [GPUC_TIR_NE] = ne_##S,               \
                [GPUC_TIR_LT] = lt_##S,      [GPUC_TIR_LE] = le_##S,   [GPUC_TIR_POW] = pow_##S,             \
                [GPUC_TIR_ATAN2] = atan2_##S},

static const ev_binary_fn binary[EV_TYPE_COUNT][GPUC_TIR_OP_COUNT] = {
    SIGNED_TYPES(SIGNED_ROWS) UNSIGNED_TYPES(UNSIGNED_ROWS)
        FLOAT_TYPES(FLOAT_ROWS)[EV_BOOL] = {[GPUC_TIR_EQ] = eq_BOOL,
                                            [GPUC_TIR_NE] = ne_BOOL,
                                            [GPUC_TIR_AND] = and_BOOL,
                                            [GPUC_TIR_OR] = or_BOOL},
};

#define INT_UNARY(S, T, U, BITS) [EV_##S] = {[GPUC_TIR_BITNOT] = bitnot_##S, [GPUC_TIR_ABS] = abs_##S},
#define FLOAT_UNARY(S, T, ROUND, WIDE)                                                                       \
    [EV_##S] = {[GPUC_TIR_ABS] = abs_##S,     [GPUC_TIR_FLOOR] = floor_##S, [GPUC_TIR_CEIL] = ceil_##S,      \
                [GPUC_TIR_TRUNC] = trunc_##S, [GPUC_TIR_ROUND] = round_##S, [GPUC_TIR_SQRT] = sqrt_##S,      \
                [GPUC_TIR_EXP] = exp_##S,     [GPUC_TIR_LOG] = log_##S,     [GPUC_TIR_SIN] = sin_##S,        \
                [GPUC_TIR_COS] = cos_##S,     [GPUC_TIR_TAN] = tan_##S,     [GPUC_TIR_ASIN] = asin_##S,      \
                [GPUC_TIR_ACOS] = acos_##S,   [GPUC_TIR_ATAN] = atan_##S,   [GPUC_TIR_SINH] = sinh_##S,      \
                [GPUC_TIR_COSH] = cosh_##S,   [GPUC_TIR_TANH] = tanh_##S,   [GPUC_TIR_ASINH] = asinh_##S,    \
                [GPUC_TIR_ACOSH] = acosh_##S, [GPUC_TIR_ATANH] = atanh_##S, [GPUC_TIR_ERF] = erf_##S,        \
                [GPUC_TIR_EXPM1] = expm1_##S, [GPUC_TIR_LOG1P] = log1p_##S, [GPUC_TIR_ISNAN] = isnan_##S,    \
                [GPUC_TIR_ISINF] = isinf_##S},

static const ev_unary_fn unary[EV_TYPE_COUNT][GPUC_TIR_OP_COUNT] = {
    SIGNED_TYPES(INT_UNARY) UNSIGNED_TYPES(INT_UNARY)
        FLOAT_TYPES(FLOAT_UNARY)[EV_BOOL] = {[GPUC_TIR_NOT] = not_BOOL},
};

ev_binary_fn gpuc_ev_binary(gpuc_tir_op op, ev_type t)
{
    return binary[t][op];
}

ev_unary_fn gpuc_ev_unary(gpuc_tir_op op, ev_type t)
{
    return unary[t][op];
}

/* ---- Select and folds ------------------------------------------------------------------------------- */

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

#define FOLD(T, expr)                                                                                        \
    do {                                                                                                     \
        const T *v = values;                                                                                 \
        T a = *(T *)acc;                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                     \
            T b = v[i];                                                                                      \
            a = (T)(expr);                                                                                   \
        }                                                                                                    \
        *(T *)acc = a;                                                                                       \
        return true;                                                                                         \
    } while (0)
#define FOLD_OPS(T, sum, product, least, most)                                                               \
    if (op == GPUC_TIR_ADD) FOLD(T, sum);                                                                    \
    if (op == GPUC_TIR_MUL) FOLD(T, product);                                                                \
    if (op == GPUC_TIR_MIN) FOLD(T, least);                                                                  \
    if (op == GPUC_TIR_MAX) FOLD(T, most);                                                                   \
    return false
#define FOLD_INT(S, T, U, BITS)                                                                              \
    case EV_##S:                                                                                             \
        FOLD_OPS(T, (U)a + (U)b, (U)a * (U)b, b < a ? b : a, a < b ? b : a);
#define FOLD_FLOAT(S, T, ROUND, WIDE)                                                                        \
    case EV_##S: FOLD_OPS(T, ROUND(a + b), ROUND(a *b), LESSER(a, b), GREATER(a, b));

bool gpuc_ev_fold(gpuc_tir_op op, ev_type t, void *acc, const void *values, size_t n)
{
    switch (t) {
        SIGNED_TYPES(FOLD_INT)
        UNSIGNED_TYPES(FOLD_INT)
        FLOAT_TYPES(FOLD_FLOAT)
    case EV_BOOL:
        if (op == GPUC_TIR_AND) FOLD(uint8_t, a & b);
        if (op == GPUC_TIR_OR) FOLD(uint8_t, a | b);
        return false;
    case EV_TYPE_COUNT: break;
    }
    return false;
}
