/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, local response normalisation, and the normalisations that simplify_inference writes as arithmetic.
 */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"

/* ---- Rows without a compute of their own ---- */

static void check_channels(const gpuc_op_call *call, int axis)
{
    int64_t channels = gpuc_topi_static_dim(call, 0, axis);
    for (int i = 1; i < call->num_in; i++)
        if (call->in[i].ndim != 1 || gpuc_topi_static_dim(call, i, 0) != channels)
            gpuc_topi_fail(call, "input %d must be a vector of %lld", i, (long long)channels);
}

static void check_float(const gpuc_op_call *call)
{
    char name[24];
    if (!gpuc_is_float(call->in[0].dtype))
        gpuc_topi_fail(call, "takes floats, not %s", gpuc_dtype_name(call->in[0].dtype, name));
}

static void infer_bias_add(gpuc_op_call *call)
{
    if (call->in[0].ndim < 1) gpuc_topi_fail(call, "the input has no channels");
    if (!gpuc_dtype_equal(call->in[0].dtype, call->in[1].dtype))
        gpuc_topi_fail(call, "the element types differ");
    check_channels(call, gpuc_topi_axis(call, "axis", call->in[0].ndim));
    call->out[0] = call->in[0];
}

static void infer_batch_norm(gpuc_op_call *call)
{
    check_float(call);
    if (call->in[0].ndim < 2) gpuc_topi_fail(call, "the input has no channels");
    check_channels(call, gpuc_topi_axis(call, "axis", call->in[0].ndim));
    call->out[0] = call->in[0];
}

static void infer_instance_norm(gpuc_op_call *call)
{
    check_float(call);
    if (call->in[0].ndim < 3)
        gpuc_topi_fail(call, "an input of %d dimensions has no space to normalise", call->in[0].ndim);
    check_channels(call, 1);
    call->out[0] = call->in[0];
}

static void infer_layer_norm(gpuc_op_call *call)
{
    check_float(call);
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    for (int i = 1; i < call->num_in; i++) {
        const gpuc_tensor_type *t = &call->in[i];
        if (t->ndim > ndim - axis)
            gpuc_topi_fail(call, "input %d has more dimensions than are normalised", i);
        for (int k = 0; k < t->ndim; k++) {
            gpuc_expr d = call->in[0].dims[ndim - t->ndim + k];
            if (gpuc_topi_broadcast_dim(call, t->dims[k], d) != d)
                gpuc_topi_fail(call, "input %d does not broadcast to the normalised dimensions", i);
        }
    }
    call->out[0] = call->in[0];
}

/* ---- Softmax ---- */

/* A reduction of f(x) over `axis`, as a tensor with extent 1 there. */
static gpuc_tensor *along(const gpuc_op_call *call, int axis, const char *reducer, gpuc_tensor *x)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_tensor_type t = call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], vars[GPUC_TOPI_MAX_DIMS];
    memcpy(dims, t.dims, sizeof *dims * (size_t)t.ndim);
    dims[axis] = gpuc_int(ctx, 1);
    t.dims = dims;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars),
              *k = gpuc_te_reduce_axis(ctx, call->in[0].dims[axis], "k");
    vars[axis] = gpuc_iter_var(k);
    gpuc_expr value = gpuc_te_read(ctx, x, t.ndim, vars);
    return gpuc_topi_compute(ctx, reducer, "reduce", t.ndim, axes,
                             gpuc_te_reduce(ctx, reducer, value, 1, &k));
}

static void softmax(const gpuc_op_call *call, gpuc_tensor *x, gpuc_tensor **out, bool logarithm)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor *most = along(call, axis, "max", x);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(at, vars, sizeof *at * (size_t)ndim);
    at[axis] = gpuc_int(ctx, 0);
    gpuc_expr shifted = gpuc_topi_widen(ctx, gpuc_te_read(ctx, x, ndim, vars));
    shifted = gpuc_sub(ctx, shifted, gpuc_topi_widen(ctx, gpuc_te_read(ctx, most, ndim, at)));
    gpuc_tensor *e = gpuc_topi_compute(ctx, "exp", "elemwise", ndim, axes, gpuc_call1(ctx, "exp", shifted));
    gpuc_tensor *sum = along(call, axis, "sum", e);
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(at, vars, sizeof *at * (size_t)ndim);
    at[axis] = gpuc_int(ctx, 0);
    gpuc_expr total = gpuc_te_read(ctx, sum, ndim, at), value;
    if (logarithm) {
        shifted = gpuc_topi_widen(ctx, gpuc_te_read(ctx, x, ndim, vars));
        shifted = gpuc_sub(ctx, shifted, gpuc_topi_widen(ctx, gpuc_te_read(ctx, most, ndim, at)));
        value = gpuc_sub(ctx, shifted, gpuc_call1(ctx, "log", total));
    } else {
        value = gpuc_div(ctx, gpuc_te_read(ctx, e, ndim, vars), total);
    }
    *out =
        gpuc_topi_compute(ctx, "softmax", "softmax", ndim, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

static void softmax_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    softmax(call, ins[0], outs, false);
}

static void log_softmax_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    softmax(call, ins[0], outs, true);
}

static void infer_axis(gpuc_op_call *call)
{
    check_float(call);
    gpuc_topi_axis(call, "axis", call->in[0].ndim);
    call->out[0] = call->in[0];
}

/* ---- LRN (ONNX LRN-13): x / (bias + alpha/size * sum of squares over a window of channels) ^ beta ---- */

static void lrn_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    int64_t size = gpuc_attrs_get_int(call->attrs, "size", 1);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars),
              *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, size), "k");
    memcpy(at, vars, sizeof *at * (size_t)ndim);
    at[axis] = gpuc_add(ctx, vars[axis], gpuc_sub(ctx, gpuc_iter_var(k), gpuc_int(ctx, (size - 1) / 2)));
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], ndim, at));
    gpuc_expr inside = gpuc_and(ctx, gpuc_ge(ctx, at[axis], gpuc_int(ctx, 0)),
                                gpuc_lt(ctx, at[axis], call->in[0].dims[axis]));
    gpuc_expr square = gpuc_if_then_else(ctx, inside, gpuc_mul(ctx, x, x), gpuc_imm(ctx, t, 0));
    gpuc_tensor *sum =
        gpuc_topi_compute(ctx, "squares", "pool", ndim, axes, gpuc_te_reduce(ctx, "sum", square, 1, &k));
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr scale = gpuc_imm(ctx, t, gpuc_attrs_get_float(call->attrs, "alpha", 1e-4) / (double)size);
    gpuc_expr base = gpuc_add(ctx, gpuc_imm(ctx, t, gpuc_attrs_get_float(call->attrs, "bias", 1)),
                              gpuc_mul(ctx, scale, gpuc_te_read(ctx, sum, ndim, vars)));
    gpuc_expr power =
        gpuc_call2(ctx, "pow", base, gpuc_imm(ctx, t, gpuc_attrs_get_float(call->attrs, "beta", 0.75)));
    gpuc_expr value = gpuc_div(ctx, gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], ndim, vars)), power);
    outs[0] =
        gpuc_topi_compute(ctx, "lrn", "elemwise", ndim, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

static void infer_lrn(gpuc_op_call *call)
{
    if (gpuc_attrs_get_int(call->attrs, "size", 1) < 1) gpuc_topi_fail(call, "size is below 1");
    infer_axis(call);
}

#define INT(nm, def)                                                                                         \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .i = def                                                          \
    }
#define F(nm, def)                                                                                           \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_FLOAT, .f = def                                                        \
    }
static const gpuc_attr_spec axis_1[] = {INT("axis", 1), {0}}, axis_last[] = {INT("axis", -1), {0}};
static const gpuc_attr_spec batch_norm[] = {INT("axis", 1), F("epsilon", 1e-5), {0}};
static const gpuc_attr_spec epsilon[] = {F("epsilon", 1e-5), {0}};
static const gpuc_attr_spec layer_norm[] = {INT("axis", -1), F("epsilon", 1e-5), {0}};
static const gpuc_attr_spec lrn[] = {
    {.name = "size", .kind = GPUC_ATTR_INT, .i = 1, .most = GPUC_OP_MOST_WINDOW},
    INT("axis", 1),
    F("bias", 1),
    F("alpha", 1e-4),
    F("beta", 0.75),
    {0}};

#define ROW(nm, lo, hi, at, inf, fn, tp, nn, on)                                                             \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .attrs = at, .infer = inf, .compute = fn,                    \
        .pattern = GPUC_FUSE_OPAQUE, .topi = tp, .nnvm = nn, .onnx = on                                      \
    }

const gpuc_op gpuc_ops_normalize[] = {
    ROW("nn.softmax", 1, 1, axis_last, infer_axis, softmax_compute, "softmax", "softmax", "Softmax"),
    ROW("nn.log_softmax", 1, 1, axis_last, infer_axis, log_softmax_compute, "log_softmax", "log_softmax",
        "LogSoftmax"),
    ROW("nn.lrn", 1, 1, lrn, infer_lrn, lrn_compute, "lrn", "lrn", "LRN"),
    ROW("nn.bias_add", 2, 2, axis_1, infer_bias_add, NULL, "bias_add", "", ""),
    ROW("nn.batch_norm", 5, 5, batch_norm, infer_batch_norm, NULL, "", "batch_norm", "BatchNormalization"),
    ROW("nn.instance_norm", 3, 3, epsilon, infer_instance_norm, NULL, "instance_norm", "",
        "InstanceNormalization"),
    ROW("nn.layer_norm", 2, 3, layer_norm, infer_layer_norm, NULL, "layer_norm", "", "LayerNormalization"),
};
const size_t gpuc_ops_normalize_count = sizeof gpuc_ops_normalize / sizeof gpuc_ops_normalize[0];
