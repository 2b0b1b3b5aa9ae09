/* SPDX-License-Identifier: Apache-2.0 */
/* Real numbers as integers: x = (q - zero point) * scale. Quantising rounds halves to even and saturates. */
#include "topi/nn/quantize.h"

#include "op/rows.h"
#include "topi/families.h"

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

static void check_parameter(const gpuc_op_call *call, int i)
{
    const gpuc_tensor_type *x = &call->in[0], *t = &call->in[i];
    int64_t block = gpuc_attrs_get_int(call->attrs, "block_size", 0), d;
    if (t->ndim == 0 || (t->ndim == 1 && gpuc_expr_is_int(t->dims[0], &d) && d == 1 && block == 0)) return;
    int axis = gpuc_topi_axis(call, "axis", x->ndim);
    if (block == 0) {
        gpuc_expr fits = gpuc_imm_int(call->ctx, GPUC_BOOL, t->ndim == 1);
        if (t->ndim == 1 && t->dims[0] && x->dims[axis]) fits = gpuc_eq(call->ctx, t->dims[0], x->dims[axis]);
        gpuc_topi_require(call, fits,
                          "input %d must be a scalar, or have one element for each position of axis %d", i,
                          axis);
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
        if (want && t->dims[k] && want != t->dims[k])
            gpuc_topi_require(call, gpuc_eq(call->ctx, t->dims[k], want),
                              "dimension %d of input %d does not fit blocks of %lld", k, i, (long long)block);
    }
}

static void check_parameters(const gpuc_op_call *call)
{
    int64_t block = gpuc_attrs_get_int(call->attrs, "block_size", 0);
    if (block < 0) gpuc_topi_fail(call, "block_size is %lld", (long long)block);
    for (int i = 1; i < call->num_in; i++) check_parameter(call, i);
}

gpuc_dtype gpuc_topi_quantized_type(const gpuc_op_call *call, int zero_point)
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
    if (!gpuc_is_integer(out) || (out.bits > 16 && !gpuc_dtype_equal(out, GPUC_INT32)))
        gpuc_topi_fail(call, "quantises to integers of 8 or 16 bits, or to int32, not %s",
                       gpuc_dtype_name(out, a));
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
    call->out[0].dtype = gpuc_topi_quantized_type(call, 2);
}

gpuc_dtype gpuc_topi_quantize_work(gpuc_dtype t)
{
    return gpuc_dtype_equal(t, GPUC_FLOAT64) ? GPUC_FLOAT64 : GPUC_FLOAT32;
}

static void quantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_dtype work = gpuc_topi_quantize_work(call->in[0].dtype);
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
    gpuc_dtype out = call->out[0].dtype, work = gpuc_topi_quantize_work(out);
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
    gpuc_dtype work = gpuc_topi_quantize_work(call->in[0].dtype);
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

#define SIMULATED(nm, fn)                                                                                    \
    {                                                                                                        \
        .name = "qnn.simulated_" nm, .min_in = 4, .max_in = 4,                                               \
        .types = {GPUC_T_FLOATS, GPUC_T_INT32 | GPUC_T_INT64, GPUC_T_FLOATS,                                 \
                  GPUC_TOPI_QUANTIZED | GPUC_T_INT32},                                                       \
        .attrs = simulated_attrs, .infer = infer_simulated, .compute = fn, .pattern = GPUC_FUSE_BROADCAST,   \
        .topi = "simulated_" nm, .nnvm = "", .onnx = ""                                                      \
    }

static const gpuc_attr_spec axis_attrs[] = {{.name = "axis", .kind = GPUC_ATTR_INT, .i = 1},
                                            {.name = "block_size", .kind = GPUC_ATTR_INT}, /* 0: no blocks */
                                            {.name = "out_dtype", .kind = GPUC_ATTR_DTYPE},
                                            {0}};
static const gpuc_attr_spec simulated_attrs[] = {{.name = "axis", .kind = GPUC_ATTR_INT, .i = -1}, {0}};
const gpuc_op gpuc_topi_ops_quantize[] = {
    {.name = "qnn.quantize",
     .min_in = 2,
     .max_in = 3,
     .types = {GPUC_T_NUMBERS, GPUC_T_FLOATS, GPUC_TOPI_QUANTIZED | GPUC_T_INT32},
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
     .types = {GPUC_TOPI_QUANTIZED | GPUC_T_INT32, GPUC_T_FLOATS, GPUC_TOPI_QUANTIZED | GPUC_T_INT32},
     .attrs = axis_attrs,
     .infer = infer_dequantize,
     .compute = dequantize_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "dequantize",
     .nnvm = "",
     .onnx = "DequantizeLinear"},
    SIMULATED("quantize", simulated_quantize_compute),
    SIMULATED("dequantize", simulated_dequantize_compute),
};
const size_t gpuc_topi_ops_quantize_count = sizeof gpuc_topi_ops_quantize / sizeof gpuc_topi_ops_quantize[0];
