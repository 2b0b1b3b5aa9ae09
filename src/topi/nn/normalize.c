/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, local response normalisation, and the normalisations that simplify_inference writes as arithmetic. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

/* ---- Rows without a compute of their own ---- */

static void check_channels(const gpuc_op_call *call, int axis)
{
    gpuc_expr channels = call->in[0].dims[axis];
    for (int i = 1; i < call->num_in; i++) {
        const char *count = channels ? gpuc_expr_text(call->ctx, channels) : "?";
        if (call->in[i].ndim != 1) gpuc_topi_fail(call, "input %d must be a vector of %s", i, count);
        gpuc_expr have = call->in[i].dims[0];
        if (channels && have && have != channels)
            gpuc_topi_require(call, gpuc_eq(call->ctx, have, channels), "input %d must be a vector of %s", i,
                              count);
    }
}

static void infer_bias_add(gpuc_op_call *call)
{
    if (call->in[0].ndim < 1) gpuc_topi_fail(call, "the input has no channels");
    check_channels(call, gpuc_topi_axis(call, "axis", call->in[0].ndim));
    call->out[0] = call->in[0];
}

/* With training, statistics are those of the data, and the outputs are the result and the new running mean
 * and variance. */
static void infer_batch_norm(gpuc_op_call *call)
{
    if (call->in[0].ndim < 2) gpuc_topi_fail(call, "the input has no channels");
    check_channels(call, gpuc_topi_axis(call, "axis", call->in[0].ndim));
    call->out[0] = call->in[0];
    if (!gpuc_attrs_get_int(call->attrs, "training", 0)) return;
    call->num_out = 3;
    call->out[1] = call->in[3];
    call->out[2] = call->in[4];
}

static void infer_group_norm(gpuc_op_call *call)
{
    int64_t groups = gpuc_attrs_get_int(call->attrs, "num_groups", 1);
    if (call->in[0].ndim < 2) gpuc_topi_fail(call, "the input has no channels");
    check_channels(call, 1);
    int64_t channels = gpuc_topi_static_dim(call, 0, 1);
    if (groups < 1 || channels % groups)
        gpuc_topi_fail(call, "%lld channels do not divide into num_groups=%lld", (long long)channels,
                       (long long)groups);
    call->out[0] = call->in[0];
}

static void infer_instance_norm(gpuc_op_call *call)
{
    if (call->in[0].ndim < 3)
        gpuc_topi_fail(call, "an input of %d dimensions has no space to normalise", call->in[0].ndim);
    check_channels(call, 1);
    call->out[0] = call->in[0];
}

/* Checks layer_norm and rms_norm, which normalise the dimensions from axis on. */
static void infer_layer_norm(gpuc_op_call *call)
{
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    for (int i = 1; i < call->num_in; i++) {
        const gpuc_tensor_type *t = &call->in[i];
        if (t->ndim > ndim - axis)
            gpuc_topi_fail(call, "input %d has more dimensions than are normalised", i);
        for (int k = 0; k < t->ndim; k++)
            gpuc_topi_require_expands(call, t->dims[k], call->in[0].dims[ndim - t->ndim + k],
                                      i == 1 ? "scale" : "bias");
    }
    call->out[0] = call->in[0];
}

/* ---- Softmax ---- */

/* The shape of the data with one element along `axis`, and axes over it. */
static gpuc_iter **axes_of_rows(const gpuc_op_call *call, int axis, gpuc_expr *vars)
{
    gpuc_tensor_type t = call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    memcpy(dims, t.dims, sizeof *dims * (size_t)t.ndim);
    dims[axis] = gpuc_int(call->ctx, 1);
    t.dims = dims;
    return gpuc_topi_axes(call->ctx, &t, vars);
}

/* A reduction of x over `axis`. */
static gpuc_tensor *along(const gpuc_op_call *call, int axis, const char *reducer, gpuc_tensor *x)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = axes_of_rows(call, axis, vars),
              *k = gpuc_te_reduce_axis(ctx, call->in[0].dims[axis], "k");
    vars[axis] = gpuc_iter_var(k);
    gpuc_expr value = gpuc_te_read(ctx, x, ndim, vars);
    return gpuc_topi_compute(ctx, reducer, "reduce", ndim, axes, gpuc_te_reduce(ctx, reducer, value, 1, &k));
}

/* The factor, or the number to subtract, that all elements of a row share. */
static gpuc_tensor *scale_of(const gpuc_op_call *call, int axis, gpuc_tensor *sum, bool logarithm)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = axes_of_rows(call, axis, vars);
    gpuc_expr total = gpuc_te_read(ctx, sum, ndim, vars);
    total = logarithm ? gpuc_call1(ctx, "log", total)
                      : gpuc_div(ctx, gpuc_imm(ctx, gpuc_expr_dtype(total), 1), total);
    return gpuc_topi_compute(ctx, logarithm ? "log" : "scale", "elemwise", ndim, axes, total);
}

static void softmax(const gpuc_op_call *call, gpuc_tensor *x, gpuc_tensor **out, bool logarithm)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor *max = along(call, axis, "max", x);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(at, vars, sizeof *at * (size_t)ndim);
    at[axis] = gpuc_int(ctx, 0);
    gpuc_expr shifted = gpuc_topi_widen(ctx, gpuc_te_read(ctx, x, ndim, vars));
    shifted = gpuc_sub(ctx, shifted, gpuc_topi_widen(ctx, gpuc_te_read(ctx, max, ndim, at)));
    gpuc_tensor *e = gpuc_topi_compute(ctx, "exp", "elemwise", ndim, axes, gpuc_call1(ctx, "exp", shifted));
    gpuc_tensor *scale = scale_of(call, axis, along(call, axis, "sum", e), logarithm);
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(at, vars, sizeof *at * (size_t)ndim);
    at[axis] = gpuc_int(ctx, 0);
    gpuc_expr by = gpuc_te_read(ctx, scale, ndim, at), value;
    if (logarithm) {
        shifted = gpuc_topi_widen(ctx, gpuc_te_read(ctx, x, ndim, vars));
        shifted = gpuc_sub(ctx, shifted, gpuc_topi_widen(ctx, gpuc_te_read(ctx, max, ndim, at)));
        value = gpuc_sub(ctx, shifted, by);
    } else {
        value = gpuc_mul(ctx, gpuc_te_read(ctx, e, ndim, vars), by);
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

/* ---- x * scale + shift, per channel ---- */

static void infer_scale_shift(gpuc_op_call *call)
{
    check_channels(call, gpuc_topi_axis(call, "axis", call->in[0].ndim));
    call->out[0] = call->in[0];
}

static void scale_shift_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_te_read(ctx, ins[0], ndim, vars);
    x = gpuc_mul(ctx, x, gpuc_te_read(ctx, ins[1], 1, &vars[axis]));
    if (call->num_in > 2) x = gpuc_add(ctx, x, gpuc_te_read(ctx, ins[2], 1, &vars[axis]));
    outs[0] = gpuc_topi_compute(ctx, "T", "broadcast", ndim, axes, x);
}

/* ---- x / sqrt(max(sum of squares over the axes, eps)) ---- */

static void infer_l2_normalize(gpuc_op_call *call)
{
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", call->in[0].ndim, flags);
    call->out[0] = call->in[0];
}

static void l2_normalize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, num_over = 0;
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS];
    gpuc_iter *over[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim; i++) dims[i] = flags[i] ? gpuc_int(ctx, 1) : call->in[0].dims[i];
    gpuc_tensor_type t = {.ndim = ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    for (int i = 0; i < ndim; i++) {
        if (!flags[i]) continue;
        over[num_over] = gpuc_te_reduce_axis(ctx, call->in[0].dims[i], "k");
        vars[i] = gpuc_iter_var(over[num_over++]);
    }
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], ndim, vars)), square = gpuc_mul(ctx, x, x);
    if (num_over) square = gpuc_te_reduce(ctx, "sum", square, num_over, over);
    gpuc_tensor *sum = gpuc_topi_compute(ctx, "squares", "reduce", ndim, axes, square);
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) at[i] = flags[i] ? gpuc_int(ctx, 0) : vars[i];
    gpuc_expr total = gpuc_te_read(ctx, sum, ndim, at);
    gpuc_expr eps = gpuc_imm(ctx, gpuc_expr_dtype(total), gpuc_attrs_get_float(call->attrs, "eps", 1e-12));
    gpuc_expr norm = gpuc_call1(ctx, "sqrt", gpuc_max(ctx, total, eps));
    gpuc_expr value = gpuc_div(ctx, gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], ndim, vars)), norm);
    outs[0] = gpuc_topi_compute(ctx, "normalized", "elemwise", ndim, axes,
                                gpuc_cast(ctx, call->out[0].dtype, value));
}

ATTRS(axis_1, INT("axis", 1))
ATTRS(axis_last, INT("axis", -1))
#define AFFINE                                                                                               \
    UNUSED_INPUT("scale", "1=1", "0: input 1 is not used"),                                                  \
        UNUSED_INPUT("center", "2=0", "0: input 2 is not used")
#define AXIS_1 ONLY("axis", INT, "1")
ATTRS(batch_norm, INT("axis", 1), FLOAT("epsilon", 1e-5), INT("training", 0), FLOAT("momentum", 0.9), AFFINE)
ATTRS(group_norm, WINDOW_INT("num_groups", 1), FLOAT("epsilon", 1e-5), AXIS_1, AFFINE)
ATTRS(instance_norm, FLOAT("epsilon", 1e-5), AXIS_1, AFFINE)
ATTRS(layer_norm, INT("axis", -1), FLOAT("epsilon", 1e-5), AFFINE)
ATTRS(rms_norm, INT("axis", -1), FLOAT("epsilon", 1e-5))
ATTRS(l2_normalize, INTS("axis"), FLOAT("eps", 1e-12))
ATTRS(lrn, WINDOW_INT("size", 5), INT("axis", 1), FLOAT("bias", 2), FLOAT("alpha", 1e-4), FLOAT("beta", 0.75))

/* A row that simplify_inference writes as arithmetic. */
#define REWRITTEN(nm, lo, hi, at, inf, tp, nn, on, ...)                                                      \
    ALONE("nn." nm, lo, hi, at, inf, NULL, tp, nn, on, __VA_ARGS__)
#define SCALE_SHIFT(nm, at)                                                                                  \
    {                                                                                                        \
        .name = "nn." nm, .min_in = 2, .max_in = 3, .types = {GPUC_T_NUMBERS, GPUC_T_LIKE}, .attrs = at,     \
        .infer = infer_scale_shift, .compute = scale_shift_compute, .pattern = GPUC_FUSE_INJECTIVE,          \
        .topi = nm, .nnvm = "", .onnx = ""                                                                   \
    }

const gpuc_op gpuc_topi_ops_normalize[] = {
    ALONE("nn.softmax", 1, 1, axis_last, infer_axis, softmax_compute, "softmax", "softmax", "Softmax",
          GPUC_T_FLOATS),
    ALONE("nn.log_softmax", 1, 1, axis_last, infer_axis, log_softmax_compute, "log_softmax", "log_softmax",
          "LogSoftmax", GPUC_T_FLOATS),
    ALONE("nn.lrn", 1, 1, lrn, infer_lrn, lrn_compute, "lrn", "lrn", "LRN", GPUC_T_FLOATS),
    ALONE("nn.l2_normalize", 1, 1, l2_normalize, infer_l2_normalize, l2_normalize_compute, "l2_normalize",
          "l2_normalize", "", GPUC_T_FLOATS),
    SCALE_SHIFT("scale_shift_nchw", axis_1),
    SCALE_SHIFT("scale_shift_nhwc", axis_last),
    REWRITTEN("bias_add", 2, 2, axis_1, infer_bias_add, "bias_add", "", "", GPUC_T_NUMBERS, GPUC_T_LIKE),
    REWRITTEN("batch_norm", 5, 5, batch_norm, infer_batch_norm, "batch_norm", "batch_norm",
              "BatchNormalization", GPUC_T_FLOATS),
    REWRITTEN("instance_norm", 3, 3, instance_norm, infer_instance_norm, "instance_norm", "",
              "InstanceNormalization", GPUC_T_FLOATS, GPUC_T_LIKE),
    REWRITTEN("group_norm", 3, 3, group_norm, infer_group_norm, "group_norm", "", "GroupNormalization",
              GPUC_T_FLOATS, GPUC_T_LIKE),
    REWRITTEN("layer_norm", 2, 3, layer_norm, infer_layer_norm, "layer_norm", "", "LayerNormalization",
              GPUC_T_FLOATS, GPUC_T_LIKE),
    REWRITTEN("rms_norm", 2, 2, rms_norm, infer_layer_norm, "rms_norm", "", "RMSNormalization", GPUC_T_FLOATS,
              GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_normalize_count =
    sizeof gpuc_topi_ops_normalize / sizeof gpuc_topi_ops_normalize[0];
