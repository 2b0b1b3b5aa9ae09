/* SPDX-License-Identifier: Apache-2.0 */
/* Real numbers as integers: x = (q - zero point) * scale. Quantising rounds halves to even and saturates. */
#include <string.h>

#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

/* The scale or zero point of an element: t has one for all, one per position of an axis, or one per block of
 * positions. */
static gpuc_expr parameter_at(const gpuc_op_call *call, gpuc_tensor *t, const gpuc_expr *vars)
{
    gpuc_ctx *ctx = call->ctx;
    int n = gpuc_te_ndim(t);
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    int64_t block = gpuc_attrs_get_int(call->attrs, "block_size", 0), d;
    for (int k = 0; k < n; k++) {
        index[k] = gpuc_int(ctx, 0);
        if (gpuc_expr_is_int(gpuc_te_shape(t)[k], &d) && d == 1) continue; /* data may be without the axis */
        int axis = gpuc_topi_axis(call, "axis", call->in[0].ndim);
        index[k] = block > 0 ? vars[k] : vars[axis];
        if (block > 0 && k == axis) index[k] = gpuc_floordiv_(ctx, vars[k], gpuc_int(ctx, block));
    }
    return gpuc_te_read(ctx, t, n, index);
}

static bool differ(gpuc_expr a, gpuc_expr b)
{
    int64_t x, y;
    return a && b && gpuc_expr_is_int(a, &x) && gpuc_expr_is_int(b, &y) && x != y;
}

static void check_parameter(const gpuc_op_call *call, int i)
{
    const gpuc_tensor_type *x = &call->in[0], *t = &call->in[i];
    int64_t block = gpuc_attrs_get_int(call->attrs, "block_size", 0), d;
    if (t->ndim == 0 || (t->ndim == 1 && gpuc_expr_is_int(t->dims[0], &d) && d == 1 && block == 0)) return;
    int axis = gpuc_topi_axis(call, "axis", x->ndim);
    if (block == 0) {
        if (t->ndim != 1 || differ(t->dims[0], x->dims[axis]))
            gpuc_topi_fail(
                call, "input %d must be a scalar, or have one element for each position of axis %d", i, axis);
        return;
    }
    if (t->ndim != x->ndim)
        gpuc_topi_fail(call, "input %d has %d dimensions, blocks of data of %d need as many", i, t->ndim,
                       x->ndim);
    for (int k = 0; k < x->ndim; k++) {
        gpuc_expr want = x->dims[k];
        if (want && k == axis)
            want = gpuc_floordiv_(call->ctx, gpuc_add(call->ctx, want, gpuc_int(call->ctx, block - 1)),
                                  gpuc_int(call->ctx, block));
        if (differ(t->dims[k], want))
            gpuc_topi_fail(call, "dimension %d of input %d does not fit blocks of %lld", k, i,
                           (long long)block);
    }
}

static void check_parameters(const gpuc_op_call *call)
{
    int64_t block = gpuc_attrs_get_int(call->attrs, "block_size", 0);
    if (block < 0) gpuc_topi_fail(call, "block_size is %lld", (long long)block);
    for (int i = 1; i < call->num_in; i++) check_parameter(call, i);
}

/* The type of the result: the zero point's, or out_dtype, which is int8 by default for a zero point of int32, as TVM
 * has them. Integers of at most 16 bits are exact as float32. */
static gpuc_dtype quantized_type(const gpuc_op_call *call, int zero_point)
{
    char a[24];
    gpuc_dtype out = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    if (call->num_in > zero_point) {
        gpuc_dtype zero = call->in[zero_point].dtype;
        bool wide = gpuc_dtype_equal(zero, GPUC_INT32);
        if (out.bits && !wide && !gpuc_dtype_equal(out, zero))
            gpuc_topi_fail(call, "the zero point is %s, unlike out_dtype", gpuc_dtype_name(zero, a));
        if (!wide || !out.bits) out = wide ? GPUC_INT8 : zero;
    }
    if (!out.bits) out = GPUC_UINT8;
    if (!gpuc_is_integer(out) || out.bits > 16)
        gpuc_topi_fail(call, "quantises to integers of 8 or 16 bits, not %s", gpuc_dtype_name(out, a));
    return out;
}

/* round(x) + zero point; the conversion saturates. */
static gpuc_expr saturated(const gpuc_op_call *call, gpuc_expr x, gpuc_expr zero_point)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype out = call->out[0].dtype, work = gpuc_expr_dtype(x);
    x = gpuc_call1(ctx, "round", x);
    if (zero_point) x = gpuc_add(ctx, x, gpuc_cast(ctx, work, zero_point));
    return gpuc_cast(ctx, out, x);
}

static void infer_quantize(gpuc_op_call *call)
{
    check_parameters(call);
    call->out[0] = call->in[0];
    call->out[0].dtype = quantized_type(call, 2);
}

static gpuc_dtype work_type(gpuc_dtype t)
{
    return gpuc_dtype_equal(t, GPUC_FLOAT64) ? GPUC_FLOAT64 : GPUC_FLOAT32;
}

static void quantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_dtype work = work_type(call->in[0].dtype);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_cast(ctx, work, gpuc_te_read(ctx, ins[0], ndim, vars));
    x = gpuc_div(ctx, x, gpuc_cast(ctx, work, parameter_at(call, ins[1], vars)));
    gpuc_expr value = saturated(call, x, call->num_in > 2 ? parameter_at(call, ins[2], vars) : NULL);
    outs[0] = gpuc_topi_compute(ctx, "quantize", "broadcast", ndim, axes, value);
}

static void infer_dequantize(gpuc_op_call *call)
{
    char a[24];
    gpuc_dtype out = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    check_parameters(call);
    if (call->num_in > 2 && !gpuc_dtype_equal(call->in[2].dtype, GPUC_INT32) &&
        !gpuc_dtype_equal(call->in[2].dtype, call->in[0].dtype))
        gpuc_topi_fail(call, "the zero point is %s, must be int32 or as the data",
                       gpuc_dtype_name(call->in[2].dtype, a));
    if (out.bits && !gpuc_is_float(out))
        gpuc_topi_fail(call, "the result is of floats, not %s", gpuc_dtype_name(out, a));
    call->out[0] = call->in[0];
    call->out[0].dtype = out.bits ? out : call->in[1].dtype;
}

static void dequantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_dtype out = call->out[0].dtype, work = work_type(out);
    gpuc_dtype difference = call->in[0].dtype.bits < 32 ? GPUC_INT32 : call->in[0].dtype;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_cast(ctx, difference, gpuc_te_read(ctx, ins[0], ndim, vars));
    if (call->num_in > 2) x = gpuc_sub(ctx, x, gpuc_cast(ctx, difference, parameter_at(call, ins[2], vars)));
    x = gpuc_mul(ctx, gpuc_cast(ctx, work, x), gpuc_cast(ctx, work, parameter_at(call, ins[1], vars)));
    outs[0] = gpuc_topi_compute(ctx, "dequantize", "broadcast", ndim, axes, gpuc_cast(ctx, out, x));
}

/* ---- Simulated: real numbers stay real, and a run says of which integers they are as ---- */

enum { OF_INT8 = 1, OF_UINT8, OF_INT32 }; /* what input 1 says, as in TVM; others: they stay as they are */

/* Input i: one number, or one for each position of the axis; which of both may be for a run to tell. */
static void check_simulated(const gpuc_op_call *call, int i)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *x = &call->in[0], *t = &call->in[i];
    if (t->ndim == 0) return;
    if (t->ndim > 1)
        gpuc_topi_fail(call, "input %d has %d dimensions, must be one number or a list", i, t->ndim);
    gpuc_expr n = t->dims[0], one = gpuc_int(ctx, 1), is_one = gpuc_eq(ctx, n, one);
    if (x->ndim)
        is_one = gpuc_or(ctx, is_one, gpuc_eq(ctx, n, x->dims[gpuc_topi_axis(call, "axis", x->ndim)]));
    gpuc_topi_require(call, is_one, "input %d must have one element, or one for each position of axis %lld",
                      i, (long long)gpuc_attrs_get_int(call->attrs, "axis", -1));
}

static void infer_simulated(gpuc_op_call *call)
{
    int64_t n = 1;
    const gpuc_tensor_type *code = &call->in[1];
    if (code->ndim > 1 || (code->ndim == 1 && !(gpuc_expr_is_int(code->dims[0], &n) && n == 1)))
        gpuc_topi_fail(call, "input 1, which says the type, must be one number");
    for (int i = 2; i < 4; i++) check_simulated(call, i);
    gpuc_topi_infer_same(call);
}

/* The element of input i for that of the data. */
static gpuc_expr simulated_at(const gpuc_op_call *call, gpuc_tensor *const *ins, int i, const gpuc_expr *vars)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr at = gpuc_int(ctx, 0), one = gpuc_int(ctx, 1);
    if (call->in[i].ndim && call->in[0].ndim) {
        at = vars[gpuc_topi_axis(call, "axis", call->in[0].ndim)];
        at = gpuc_select(ctx, gpuc_eq(ctx, call->in[i].dims[0], one), gpuc_int(ctx, 0), at);
    }
    return gpuc_te_read(ctx, ins[i], call->in[i].ndim, &at);
}

typedef struct simulated {
    gpuc_iter **axes;
    gpuc_expr x, scale, zero, code; /* x and its parameters, of the type in which they are joined */
} simulated;

static simulated simulated_of(const gpuc_op_call *call, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype work = work_type(call->in[0].dtype);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], first = gpuc_int(ctx, 0);
    simulated s = {.axes = gpuc_topi_axes(ctx, &call->out[0], vars)};
    s.x = gpuc_cast(ctx, work, gpuc_te_read(ctx, ins[0], call->in[0].ndim, vars));
    s.scale = gpuc_cast(ctx, work, simulated_at(call, ins, 2, vars));
    s.zero = gpuc_cast(ctx, work, simulated_at(call, ins, 3, vars));
    s.code = gpuc_cast(ctx, GPUC_INT32, gpuc_te_read(ctx, ins[1], call->in[1].ndim, &first));
    return s;
}

static gpuc_expr is_of(gpuc_ctx *ctx, const simulated *s, int code)
{
    return gpuc_eq(ctx, s->code, gpuc_imm_int(ctx, GPUC_INT32, code));
}

/* What was made of the data, where input 1 names a type; else the data. */
static gpuc_tensor *where_named(const gpuc_op_call *call, const simulated *s, gpuc_expr made)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr named = gpuc_or(ctx, is_of(ctx, s, OF_INT8), is_of(ctx, s, OF_UINT8));
    made = gpuc_select(ctx, gpuc_or(ctx, named, is_of(ctx, s, OF_INT32)), made, s->x);
    return gpuc_topi_compute(ctx, "simulated", "broadcast", call->out[0].ndim, s->axes,
                             gpuc_cast(ctx, call->out[0].dtype, made));
}

static void simulated_quantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    simulated s = simulated_of(call, ins);
    gpuc_dtype t = gpuc_expr_dtype(s.x);
    gpuc_expr low = gpuc_imm(ctx, t, INT32_MIN), high = gpuc_imm(ctx, t, INT32_MAX);
    low = gpuc_select(ctx, is_of(ctx, &s, OF_INT8), gpuc_imm(ctx, t, INT8_MIN), low);
    low = gpuc_select(ctx, is_of(ctx, &s, OF_UINT8), gpuc_imm(ctx, t, 0), low);
    high = gpuc_select(ctx, is_of(ctx, &s, OF_INT8), gpuc_imm(ctx, t, INT8_MAX), high);
    high = gpuc_select(ctx, is_of(ctx, &s, OF_UINT8), gpuc_imm(ctx, t, UINT8_MAX), high);
    gpuc_expr q = gpuc_add(ctx, gpuc_call1(ctx, "round", gpuc_div(ctx, s.x, s.scale)), s.zero);
    outs[0] = where_named(call, &s, gpuc_max(ctx, low, gpuc_min(ctx, q, high)));
}

static void simulated_dequantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins,
                                         gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    simulated s = simulated_of(call, ins);
    outs[0] = where_named(call, &s, gpuc_mul(ctx, gpuc_sub(ctx, s.x, s.zero), s.scale));
}

/* ---- requantize ---- */

/* Sums of products of quantised numbers in units of the result: round(x * scale) + zero point, or, with TVM's inputs,
 * round((x - zero point) * scale / the result's) + the result's zero point. The parameters broadcast. */

typedef enum rounding { TO_EVEN, UPWARD, AWAY_FROM_ZERO } rounding; /* of halves */

static bool has_both_sides(const gpuc_op_call *call)
{
    return call->num_in == 5;
}

/* Without a word on it, ONNX's way for ONNX's inputs, and TVM's for TVM's. */
static rounding rounding_of(const gpuc_op_call *call)
{
    const char *name = gpuc_attrs_get_string(call->attrs, "rounding", "None");
    if (!strcmp(name, "TOEVEN")) return TO_EVEN;
    if (!strcmp(name, "UPWARD")) return UPWARD;
    if (!strcmp(name, "TONEAREST")) return AWAY_FROM_ZERO;
    if (strcmp(name, "None"))
        gpuc_topi_fail(call, "rounding is '%s'; known are None, TOEVEN, UPWARD and TONEAREST", name);
    return has_both_sides(call) ? AWAY_FROM_ZERO : TO_EVEN;
}

/* The type of products: a float, or int64 for those of fixed point. */
static gpuc_dtype compute_type_of(const gpuc_op_call *call)
{
    const char *name = gpuc_attrs_get_string(call->attrs, "compute_dtype", "None");
    if (!strcmp(name, "float32")) return GPUC_FLOAT32;
    if (!strcmp(name, "float64")) return GPUC_FLOAT64;
    if (!strcmp(name, "int64")) return GPUC_INT64;
    if (strcmp(name, "None"))
        gpuc_topi_fail(call, "compute_dtype is '%s'; known are None, float32, float64 and int64", name);
    return has_both_sides(call) ? GPUC_INT64 : work_type(call->in[1].dtype);
}

static void infer_requantize(gpuc_op_call *call)
{
    if (call->num_in == 4)
        gpuc_topi_fail(
            call, "has 4 inputs: the data, a scale and the result's zero point, or the data, its scale and "
                  "zero point, and the result's");
    gpuc_dtype out = quantized_type(call, has_both_sides(call) ? 4 : 2);
    gpuc_topi_broadcast_types(call, 0, call->num_in, &call->out[0]);
    call->out[0].dtype = out;
    rounding_of(call);
    compute_type_of(call);
}

static gpuc_expr rounded(gpuc_ctx *ctx, gpuc_expr x, rounding how)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr zero = gpuc_imm(ctx, t, 0), size = x;
    if (how == TO_EVEN) return gpuc_call1(ctx, "round", x);
    if (how == AWAY_FROM_ZERO) size = gpuc_call1(ctx, "abs", x);
    gpuc_expr whole = gpuc_call1(ctx, "floor", size), over = gpuc_sub(ctx, size, whole);
    whole = gpuc_add(ctx, whole,
                     gpuc_select(ctx, gpuc_ge(ctx, over, gpuc_imm(ctx, t, 0.5)), gpuc_imm(ctx, t, 1), zero));
    return how == UPWARD ? whole : gpuc_select(ctx, gpuc_lt(ctx, x, zero), gpuc_sub(ctx, zero, whole), whole);
}

/* ---- Fixed point: x times the 31 leading bits of the scale, shifted ---- */

enum { LEADING = 31 };

static gpuc_expr long_of(gpuc_ctx *ctx, int64_t v)
{
    return gpuc_imm_int(ctx, GPUC_INT64, v);
}

static gpuc_expr shift(gpuc_ctx *ctx, const char *how, gpuc_expr x, gpuc_expr by)
{
    return gpuc_call2(ctx, how, x, gpuc_cast(ctx, GPUC_INT64, by));
}

/* What is not of 32 bits becomes the nearest number that is. Only halves are compared: llvmpipe 22.3 gets comparisons
 * of 64 bits wrong. */
static gpuc_expr narrowed(gpuc_ctx *ctx, gpuc_expr v)
{
    gpuc_expr none = gpuc_imm_int(ctx, GPUC_INT32, 0), low = gpuc_cast(ctx, GPUC_INT32, v),
              high = gpuc_cast(ctx, GPUC_INT32,
                               shift(ctx, "shr", v, long_of(ctx, LEADING))); /* 0, -1: it fits */
    gpuc_expr fits =
        gpuc_or(ctx, gpuc_eq(ctx, high, none), gpuc_eq(ctx, high, gpuc_imm_int(ctx, GPUC_INT32, -1)));
    gpuc_expr nearest = gpuc_select(ctx, gpuc_lt(ctx, high, none), gpuc_imm_int(ctx, GPUC_INT32, INT32_MIN),
                                    gpuc_imm_int(ctx, GPUC_INT32, INT32_MAX));
    return gpuc_select(ctx, fits, low, nearest);
}

/* A float32 that is not negative: significand * 2^(exponent - 150). */
typedef struct parts {
    gpuc_expr significand, exponent; /* int32, of 24 bits */
} parts;

static parts parts_of(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr hidden = gpuc_imm_int(ctx, GPUC_INT32, 1 << 23),
              mask = gpuc_imm_int(ctx, GPUC_INT32, (1 << 23) - 1);
    x = gpuc_cast(ctx, GPUC_FLOAT32, x);
    x = gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &x);
    gpuc_expr exponent = gpuc_call2(ctx, "shr", x, gpuc_imm_int(ctx, GPUC_INT32, 23));
    return (parts){gpuc_add(ctx, gpuc_call2(ctx, "bitand", x, mask), hidden),
                   gpuc_call2(ctx, "bitand", exponent, gpuc_imm_int(ctx, GPUC_INT32, 255))};
}

/* leading * 2^(exponent - 30), rounded to 31 bits */
typedef struct fixed {
    gpuc_expr leading, exponent; /* int64, int32 */
} fixed;

/* The scale, or the ratio of two, which no float64 is needed for. */
static fixed fixed_of(gpuc_ctx *ctx, gpuc_expr scale, gpuc_expr of)
{
    parts a = parts_of(ctx, scale);
    gpuc_expr one = gpuc_imm_int(ctx, GPUC_INT32, 1), none = gpuc_imm_int(ctx, GPUC_INT32, 0),
              leading = gpuc_cast(ctx, GPUC_INT64, a.significand);
    if (!of)
        return (fixed){shift(ctx, "shl", leading, long_of(ctx, LEADING - 24)),
                       gpuc_sub(ctx, a.exponent, gpuc_imm_int(ctx, GPUC_INT32, 127))};
    parts b = parts_of(ctx, of);
    gpuc_expr less = gpuc_select(ctx, gpuc_lt(ctx, a.significand, b.significand), one, none);
    gpuc_expr by = gpuc_cast(ctx, GPUC_INT64, b.significand);
    leading = shift(ctx, "shl", leading, gpuc_add(ctx, less, gpuc_imm_int(ctx, GPUC_INT32, LEADING)));
    leading = gpuc_div(ctx, gpuc_add(ctx, leading, by), gpuc_add(ctx, by, by));
    return (fixed){leading, gpuc_sub(ctx, gpuc_sub(ctx, a.exponent, b.exponent), less)};
}

/* An int32, of a difference x of as many bits. */
static gpuc_expr fixed_product(gpuc_ctx *ctx, gpuc_expr x, const fixed *scale, rounding how)
{
    gpuc_expr one = long_of(ctx, 1), none = gpuc_imm_int(ctx, GPUC_INT32, 0);
    gpuc_expr total = gpuc_sub(ctx, gpuc_imm_int(ctx, GPUC_INT32, LEADING - 1), scale->exponent);
    gpuc_expr by = gpuc_max(ctx, gpuc_imm_int(ctx, GPUC_INT32, 1),
                            gpuc_min(ctx, total, gpuc_imm_int(ctx, GPUC_INT32, 62)));
    gpuc_expr product = gpuc_mul(ctx, gpuc_cast(ctx, GPUC_INT64, x), scale->leading),
              half = shift(ctx, "shl", one, gpuc_sub(ctx, by, gpuc_imm_int(ctx, GPUC_INT32, 1)));
    if (how == AWAY_FROM_ZERO)
        half = gpuc_sub(ctx, half, gpuc_cast(ctx, GPUC_INT64, gpuc_lt(ctx, x, none)));
    else if (how == TO_EVEN)
        half = gpuc_add(ctx, gpuc_sub(ctx, half, one),
                        gpuc_call2(ctx, "bitand", shift(ctx, "shr", product, by), one));
    gpuc_expr value = narrowed(ctx, shift(ctx, "shr", gpuc_add(ctx, product, half), by));
    /* Scales of 2^30 and more take every number beyond what results hold. */
    return gpuc_select(ctx, gpuc_gt(ctx, total, gpuc_imm_int(ctx, GPUC_INT32, 62)), none, value);
}

/* The sum of an int32 and a zero point, in the type of the result. */
static gpuc_expr shifted(const gpuc_op_call *call, gpuc_expr x, gpuc_expr zero)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr low = gpuc_imm_int(ctx, GPUC_INT32, -(1 << 30)),
              high = gpuc_imm_int(ctx, GPUC_INT32, (1 << 30) - 1);
    x = gpuc_max(ctx, low, gpuc_min(ctx, x, high));
    if (zero) {
        zero = gpuc_cast(ctx, GPUC_INT32, zero);
        x = gpuc_add(ctx, x, gpuc_max(ctx, low, gpuc_min(ctx, zero, high)));
    }
    gpuc_dtype out = call->out[0].dtype;
    bool is_signed = out.code == GPUC_DTYPE_INT;
    int64_t most = ((int64_t)1 << (out.bits - is_signed)) - 1;
    x = gpuc_max(ctx, gpuc_imm_int(ctx, GPUC_INT32, is_signed ? -most - 1 : 0),
                 gpuc_min(ctx, x, gpuc_imm_int(ctx, GPUC_INT32, most)));
    return gpuc_cast(ctx, out, x);
}

static void requantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->out[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], in[5] = {NULL};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < call->num_in; i++) in[i] = gpuc_topi_read_broadcast(ctx, ins[i], &call->out[0], vars);
    gpuc_dtype work = compute_type_of(call);
    bool both = has_both_sides(call), floats = gpuc_is_float(work);
    rounding how = rounding_of(call);
    gpuc_expr x = gpuc_cast(ctx, floats ? work : GPUC_INT32, in[0]), zero = both ? in[4] : in[2], value;
    if (both) x = gpuc_sub(ctx, x, gpuc_cast(ctx, gpuc_expr_dtype(x), in[2]));
    if (floats) {
        gpuc_expr scale = gpuc_cast(ctx, work, in[1]);
        if (both) scale = gpuc_div(ctx, scale, gpuc_cast(ctx, work, in[3]));
        value = rounded(ctx, gpuc_mul(ctx, x, scale), how);
        if (zero) value = gpuc_add(ctx, value, gpuc_cast(ctx, work, zero));
        value = gpuc_cast(ctx, call->out[0].dtype, value); /* saturates */
    } else {
        fixed scale = fixed_of(ctx, in[1], both ? in[3] : NULL);
        value = shifted(call, fixed_product(ctx, x, &scale, how), zero);
    }
    outs[0] = gpuc_topi_compute(ctx, "requantize", "broadcast", ndim, axes, value);
}

/* TVM: of the data's scale and zero point, where these are lists. */
static void take_axis(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int64_t axis = value ? value->i : -1, n;
    if (!w->in || w->num_written != 5) return;
    int ndim = w->in[0].ndim;
    if (axis < 0) axis += ndim;
    if (ndim && (axis < 0 || axis >= ndim))
        gpuc_op_written_fail(w, "%s is outside of the %d dimensions", spec->name, ndim);
    for (int i = 1; i < 3; i++) {
        gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
        if (w->in[i].ndim != 1 || axis == ndim - 1) continue;
        if (gpuc_expr_is_int(w->in[i].dims[0], &n) && n == 1) continue;
        for (int64_t k = axis; k < ndim; k++)
            dims[k - axis] = k == axis ? w->in[i].dims[0] : gpuc_int(w->ctx, 1);
        gpuc_op_reshape_input(w, i, ndim - (int)axis, dims);
    }
}

#define SIMULATED(nm, fn)                                                                                    \
    {                                                                                                        \
        .name = "qnn.simulated_" nm, .min_in = 4, .max_in = 4,                                               \
        .types = {GPUC_T_FLOATS, GPUC_T_INT32 | GPUC_T_INT64, GPUC_T_FLOATS, SMALL | GPUC_T_INT32},          \
        .attrs = simulated_attrs, .infer = infer_simulated, .compute = fn, .pattern = GPUC_FUSE_BROADCAST,   \
        .topi = "simulated_" nm, .nnvm = "", .onnx = ""                                                      \
    }

enum { SMALL = GPUC_T_INT8 | GPUC_T_UINT8 | GPUC_T_INT16 | GPUC_T_UINT16 };

static const gpuc_attr_spec axis_attrs[] = {{.name = "axis", .kind = GPUC_ATTR_INT, .i = 1},
                                            {.name = "block_size", .kind = GPUC_ATTR_INT}, /* 0: no blocks */
                                            {.name = "out_dtype", .kind = GPUC_ATTR_DTYPE},
                                            {0}};
static const gpuc_attr_spec simulated_attrs[] = {{.name = "axis", .kind = GPUC_ATTR_INT, .i = -1}, {0}};
ATTRS(requantize_attrs, DTYPE_OR("out_dtype", {0}), STRING("rounding", "None"),
      STRING("compute_dtype", "None"),
      {.name = "axis",
       .kind = GPUC_ATTR_INT,
       .take = take_axis,
       .always = true,
       .about = "of five inputs: that of scales and zero points of the data"})

const gpuc_op gpuc_topi_ops_quantize[] = {
    {.name = "qnn.quantize",
     .min_in = 2,
     .max_in = 3,
     .types = {GPUC_T_NUMBERS, GPUC_T_FLOATS, SMALL | GPUC_T_INT32},
     .attrs = axis_attrs,
     .infer = infer_quantize,
     .compute = quantize_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "quantize",
     .nnvm = "",
     .onnx = "QuantizeLinear,DynamicQuantizeLinear"},
    {.name = "qnn.dequantize",
     .min_in = 2,
     .max_in = 3,
     .types = {SMALL | GPUC_T_INT32, GPUC_T_FLOATS, SMALL | GPUC_T_INT32},
     .attrs = axis_attrs,
     .infer = infer_dequantize,
     .compute = dequantize_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "dequantize",
     .nnvm = "",
     .onnx = "DequantizeLinear"},
    SIMULATED("quantize", simulated_quantize_compute),
    SIMULATED("dequantize", simulated_dequantize_compute),
    {.name = "qnn.requantize",
     .min_in = 2,
     .max_in = 5,
     .types = {GPUC_T_INTS, GPUC_T_FLOATS, SMALL | GPUC_T_INT32, GPUC_T_FLOATS, SMALL | GPUC_T_INT32},
     .attrs = requantize_attrs,
     .infer = infer_requantize,
     .compute = requantize_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "requantize",
     .nnvm = "",
     .onnx = "QLinearConv,QLinearMatMul"},
};
const size_t gpuc_topi_ops_quantize_count = sizeof gpuc_topi_ops_quantize / sizeof gpuc_topi_ops_quantize[0];
