/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions by integer operations: exact, denormal numbers, infinities and NaN included, halves to even. */
#include "lower/legalize_dtypes/legalize.h"

static gpuc_expr num(gpuc_ctx *ctx, gpuc_dtype t, int64_t v)
{
    return gpuc_imm_int(ctx, t, v);
}

static gpuc_expr op2(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr a, int64_t b)
{
    return gpuc_tir_make(ctx, op, a, num(ctx, a->dtype, b), NULL);
}

static gpuc_expr as_type(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr a)
{
    return gpuc_tir_call(ctx, gpuc_dtype_with_lanes(t, a->dtype.lanes), GPUC_TIR_CALL_REINTERPRET, NULL, NULL,
                         1, &a);
}

gpuc_expr gpuc_legal_wrap(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr value)
{
    int spare = value->dtype.bits - t.bits;
    if (spare <= 0) return value;
    if (t.code == GPUC_DTYPE_UINT)
        return op2(ctx, GPUC_TIR_BITAND, value, (int64_t)((UINT64_C(1) << t.bits) - 1));
    int64_t c;
    if (gpuc_expr_is_int(value, &c) && c >= -((int64_t)1 << (t.bits - 1)) && c < (int64_t)1 << (t.bits - 1))
        return value;
    return op2(ctx, GPUC_TIR_SHR, op2(ctx, GPUC_TIR_SHL, value, spare), spare);
}

/* float16 */
static gpuc_expr half_value(gpuc_ctx *ctx, gpuc_expr h)
{
    gpuc_dtype f = gpuc_dtype_with_lanes(GPUC_FLOAT32, h->dtype.lanes);
    gpuc_expr size = op2(ctx, GPUC_TIR_BITAND, h, 0x7fff), sign = op2(ctx, GPUC_TIR_BITAND, h, 0x8000);
    gpuc_expr moved = op2(ctx, GPUC_TIR_SHL, size, 13);
    gpuc_expr special = gpuc_le(ctx, num(ctx, h->dtype, 0x7c00), size);
    gpuc_expr bias = gpuc_select(ctx, special, num(ctx, h->dtype, (int64_t)224 << 23),
                                 num(ctx, h->dtype, (int64_t)112 << 23));
    gpuc_expr normal = gpuc_add(ctx, moved, bias);
    gpuc_expr tiny = as_type(ctx, GPUC_UINT32,
                             gpuc_mul(ctx, gpuc_cast(ctx, f, size), gpuc_imm(ctx, f, 5.9604644775390625e-8)));
    gpuc_expr bits = gpuc_select(ctx, gpuc_lt(ctx, size, num(ctx, h->dtype, 0x400)), tiny, normal);
    return as_type(ctx, GPUC_FLOAT32,
                   gpuc_tir_make(ctx, GPUC_TIR_BITOR, bits, op2(ctx, GPUC_TIR_SHL, sign, 16), NULL));
}

static gpuc_expr half_bits(gpuc_ctx *ctx, gpuc_expr value)
{
    gpuc_dtype f = value->dtype;
    gpuc_expr u = as_type(ctx, GPUC_UINT32, value);
    gpuc_expr size = op2(ctx, GPUC_TIR_BITAND, u, 0x7fffffff), sign = op2(ctx, GPUC_TIR_SHR, u, 16);
    sign = op2(ctx, GPUC_TIR_BITAND, sign, 0x8000);
    gpuc_expr even = op2(ctx, GPUC_TIR_BITAND, op2(ctx, GPUC_TIR_SHR, size, 13), 1);
    gpuc_expr rounded = gpuc_add(ctx, gpuc_add(ctx, size, num(ctx, u->dtype, 0xfff)), even);
    gpuc_expr normal =
        op2(ctx, GPUC_TIR_SHR, gpuc_sub(ctx, rounded, num(ctx, u->dtype, (int64_t)112 << 23)), 13);
    /* adding 1/2 leaves the bits of a number below 2^-14 at the end of the mantissa, rounded */
    gpuc_expr shifted =
        as_type(ctx, GPUC_UINT32, gpuc_add(ctx, as_type(ctx, GPUC_FLOAT32, size), gpuc_imm(ctx, f, 0.5)));
    gpuc_expr tiny = gpuc_sub(ctx, shifted, num(ctx, u->dtype, 0x3f000000));
    gpuc_expr r = gpuc_select(ctx, gpuc_lt(ctx, size, num(ctx, u->dtype, 0x38800000)), tiny, normal);
    r = gpuc_select(ctx, gpuc_le(ctx, num(ctx, u->dtype, 0x477ff000), size), num(ctx, u->dtype, 0x7c00), r);
    r = gpuc_select(ctx, gpuc_lt(ctx, num(ctx, u->dtype, 0x7f800000), size), num(ctx, u->dtype, 0x7e00), r);
    return gpuc_tir_make(ctx, GPUC_TIR_BITOR, r, sign, NULL);
}

/* bfloat16: the upper half of a float32 */
static gpuc_expr brain_value(gpuc_ctx *ctx, gpuc_expr h)
{
    return as_type(ctx, GPUC_FLOAT32, op2(ctx, GPUC_TIR_SHL, h, 16));
}

static gpuc_expr brain_bits(gpuc_ctx *ctx, gpuc_expr value)
{
    gpuc_expr u = as_type(ctx, GPUC_UINT32, value), size = op2(ctx, GPUC_TIR_BITAND, u, 0x7fffffff);
    gpuc_expr even = op2(ctx, GPUC_TIR_BITAND, op2(ctx, GPUC_TIR_SHR, u, 16), 1);
    gpuc_expr rounded = gpuc_add(ctx, gpuc_add(ctx, u, num(ctx, u->dtype, 0x7fff)), even);
    gpuc_expr quiet = op2(ctx, GPUC_TIR_BITOR, u, 0x400000);
    gpuc_expr nan = gpuc_lt(ctx, num(ctx, u->dtype, 0x7f800000), size);
    return op2(ctx, GPUC_TIR_SHR, gpuc_select(ctx, nan, quiet, rounded), 16);
}

gpuc_expr gpuc_legal_from_bits(gpuc_ctx *ctx, const gpuc_target *target, gpuc_dtype t, gpuc_expr bits)
{
    gpuc_dtype compute = gpuc_dtype_with_lanes(gpuc_legal_compute(target, t), bits->dtype.lanes);
    if (gpuc_is_coded(t)) return brain_value(ctx, bits);
    if (t.code == GPUC_DTYPE_FLOAT) return gpuc_cast(ctx, compute, half_value(ctx, bits));
    if (t.code == GPUC_DTYPE_BOOL) return gpuc_ne(ctx, bits, num(ctx, bits->dtype, 0));
    if (t.code == GPUC_DTYPE_UINT) return gpuc_cast(ctx, compute, bits);
    gpuc_dtype wide = gpuc_dtype_with_lanes(GPUC_INT32, bits->dtype.lanes);
    return gpuc_cast(ctx, compute, gpuc_legal_wrap(ctx, t, gpuc_cast(ctx, wide, bits)));
}

gpuc_expr gpuc_legal_to_bits(gpuc_ctx *ctx, const gpuc_target *target, gpuc_dtype t, gpuc_expr value)
{
    gpuc_dtype f = gpuc_dtype_with_lanes(GPUC_FLOAT32, value->dtype.lanes);
    gpuc_dtype word = gpuc_dtype_with_lanes(GPUC_UINT32, value->dtype.lanes);
    (void)target;
    if (gpuc_is_coded(t)) return brain_bits(ctx, gpuc_cast(ctx, f, value));
    if (t.code == GPUC_DTYPE_FLOAT) return half_bits(ctx, gpuc_cast(ctx, f, value));
    gpuc_expr bits = gpuc_cast(ctx, word, value);
    if (t.code == GPUC_DTYPE_BOOL || t.code == GPUC_DTYPE_UINT) return bits;
    return op2(ctx, GPUC_TIR_BITAND, bits, (int64_t)((UINT64_C(1) << t.bits) - 1));
}
