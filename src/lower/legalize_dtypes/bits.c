/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions by integer operations: exact, denormal numbers, infinities and NaN included, halves to even. */
#include <math.h>

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

gpuc_expr gpuc_lower_legal_wrap(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr value)
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

/* Of a float, by how much the exponents of float32 are larger, and the bits that its fraction is shorter. */
static int64_t bias_of(const gpuc_float_format *f)
{
    return (int64_t)(127 - f->bias) << 23;
}

static int shift_of(const gpuc_float_format *f)
{
    return 23 - f->fraction_bits;
}

static gpuc_expr float_value(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr h)
{
    gpuc_float_format f = gpuc_float_format_of(t);
    gpuc_dtype single = gpuc_dtype_with_lanes(GPUC_FLOAT32, h->dtype.lanes);
    if (!bias_of(&f)) return as_type(ctx, GPUC_FLOAT32, op2(ctx, GPUC_TIR_SHL, h, 32 - t.bits));
    gpuc_expr size = op2(ctx, GPUC_TIR_BITAND, h, (int64_t)f.sign - 1);
    gpuc_expr sign = op2(ctx, GPUC_TIR_BITAND, h, (int64_t)f.sign);
    gpuc_expr moved = op2(ctx, GPUC_TIR_SHL, size, shift_of(&f));
    gpuc_expr special = gpuc_le(ctx, num(ctx, h->dtype, (int64_t)f.infinity), size);
    gpuc_expr bias =
        gpuc_select(ctx, special, num(ctx, h->dtype, 2 * bias_of(&f)), num(ctx, h->dtype, bias_of(&f)));
    gpuc_expr normal = gpuc_add(ctx, moved, bias);
    gpuc_expr unit = gpuc_imm(ctx, single, ldexp(1, f.min));
    gpuc_expr tiny = as_type(ctx, GPUC_UINT32, gpuc_mul(ctx, gpuc_cast(ctx, single, size), unit));
    gpuc_expr denormal = gpuc_lt(ctx, size, num(ctx, h->dtype, (int64_t)1 << f.fraction_bits));
    gpuc_expr bits = gpuc_select(ctx, denormal, tiny, normal);
    return as_type(ctx, GPUC_FLOAT32,
                   gpuc_tir_make(ctx, GPUC_TIR_BITOR, bits, op2(ctx, GPUC_TIR_SHL, sign, 32 - t.bits), NULL));
}

/* Of a float with the exponents of float32: the upper part of its bits. */
static gpuc_expr upper_bits(gpuc_ctx *ctx, int shift, gpuc_expr value)
{
    gpuc_expr u = as_type(ctx, GPUC_UINT32, value), size = op2(ctx, GPUC_TIR_BITAND, u, 0x7fffffff);
    gpuc_expr even = op2(ctx, GPUC_TIR_BITAND, op2(ctx, GPUC_TIR_SHR, u, shift), 1);
    gpuc_expr half = num(ctx, u->dtype, ((int64_t)1 << (shift - 1)) - 1);
    gpuc_expr rounded = gpuc_add(ctx, gpuc_add(ctx, u, half), even);
    gpuc_expr quiet = op2(ctx, GPUC_TIR_BITOR, u, 0x400000);
    gpuc_expr nan = gpuc_lt(ctx, num(ctx, u->dtype, 0x7f800000), size);
    return op2(ctx, GPUC_TIR_SHR, gpuc_select(ctx, nan, quiet, rounded), shift);
}

static gpuc_expr float_bits(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr value)
{
    gpuc_float_format f = gpuc_float_format_of(t);
    int shift = shift_of(&f);
    if (!bias_of(&f)) return upper_bits(ctx, shift, value);
    gpuc_expr u = as_type(ctx, GPUC_UINT32, value);
    gpuc_expr size = op2(ctx, GPUC_TIR_BITAND, u, 0x7fffffff);
    gpuc_expr sign = op2(ctx, GPUC_TIR_SHR, u, 32 - t.bits);
    sign = op2(ctx, GPUC_TIR_BITAND, sign, (int64_t)f.sign);
    gpuc_expr even = op2(ctx, GPUC_TIR_BITAND, op2(ctx, GPUC_TIR_SHR, size, shift), 1);
    int64_t half = (int64_t)1 << (shift - 1);
    gpuc_expr rounded = gpuc_add(ctx, gpuc_add(ctx, size, num(ctx, u->dtype, half - 1)), even);
    gpuc_expr normal = op2(ctx, GPUC_TIR_SHR, gpuc_sub(ctx, rounded, num(ctx, u->dtype, bias_of(&f))), shift);
    /* what has its last bit where the type's smallest number has leaves, when added, the bits of a denormal
     * number at the end of the mantissa, rounded */
    double unit = ldexp(1, f.min + 23);
    gpuc_expr shifted = as_type(
        ctx, GPUC_UINT32, gpuc_add(ctx, as_type(ctx, GPUC_FLOAT32, size), gpuc_imm(ctx, value->dtype, unit)));
    gpuc_expr tiny = gpuc_sub(ctx, shifted, num(ctx, u->dtype, (int64_t)gpuc_float_bits(GPUC_FLOAT32, unit)));
    int64_t min_normal = bias_of(&f) + ((int64_t)1 << 23);
    int64_t beyond = (int64_t)gpuc_float_bits(GPUC_FLOAT32, gpuc_float_largest(t)) + half;
    gpuc_expr r = gpuc_select(ctx, gpuc_lt(ctx, size, num(ctx, u->dtype, min_normal)), tiny, normal);
    r = gpuc_select(ctx, gpuc_le(ctx, num(ctx, u->dtype, beyond), size),
                    num(ctx, u->dtype, (int64_t)f.infinity), r);
    r = gpuc_select(ctx, gpuc_lt(ctx, num(ctx, u->dtype, 0x7f800000), size),
                    num(ctx, u->dtype, (int64_t)f.nan), r);
    return gpuc_tir_make(ctx, GPUC_TIR_BITOR, r, sign, NULL);
}

/* Whether the language's helper functions convert float16, which instructions may do. */
static bool has_half_casts(const gpuc_target *target, gpuc_dtype t)
{
    return target->language->half_casts && t.code == GPUC_DTYPE_FLOAT && t.bits == 16;
}

gpuc_expr gpuc_lower_legal_from_bits(gpuc_ctx *ctx, const gpuc_target *target, gpuc_dtype t, gpuc_expr bits)
{
    gpuc_dtype compute = gpuc_dtype_with_lanes(gpuc_lower_legal_compute(target, t), bits->dtype.lanes);
    if (has_half_casts(target, t)) {
        gpuc_dtype half = gpuc_dtype_with_lanes(GPUC_UINT16, bits->dtype.lanes);
        return gpuc_cast(ctx, compute, as_type(ctx, t, gpuc_cast(ctx, half, bits)));
    }
    if (gpuc_is_float(t)) return gpuc_cast(ctx, compute, float_value(ctx, t, bits));
    if (t.code == GPUC_DTYPE_BOOL) return gpuc_ne(ctx, bits, num(ctx, bits->dtype, 0));
    if (t.code == GPUC_DTYPE_UINT) return gpuc_cast(ctx, compute, bits);
    gpuc_dtype wide = gpuc_dtype_with_lanes(GPUC_INT32, bits->dtype.lanes);
    return gpuc_cast(ctx, compute, gpuc_lower_legal_wrap(ctx, t, gpuc_cast(ctx, wide, bits)));
}

gpuc_expr gpuc_lower_legal_to_bits(gpuc_ctx *ctx, const gpuc_target *target, gpuc_dtype t, gpuc_expr value)
{
    gpuc_dtype f = gpuc_dtype_with_lanes(GPUC_FLOAT32, value->dtype.lanes);
    gpuc_dtype word = gpuc_dtype_with_lanes(GPUC_UINT32, value->dtype.lanes);
    if (has_half_casts(target, t)) {
        gpuc_expr half = gpuc_cast(ctx, gpuc_dtype_with_lanes(t, f.lanes), gpuc_cast(ctx, f, value));
        return gpuc_cast(ctx, word, as_type(ctx, GPUC_UINT16, half));
    }
    if (gpuc_is_float(t)) return float_bits(ctx, t, gpuc_cast(ctx, f, value));
    gpuc_expr bits = gpuc_cast(ctx, word, value);
    if (t.code == GPUC_DTYPE_BOOL || t.code == GPUC_DTYPE_UINT) return bits;
    return op2(ctx, GPUC_TIR_BITAND, bits, (int64_t)((UINT64_C(1) << t.bits) - 1));
}
