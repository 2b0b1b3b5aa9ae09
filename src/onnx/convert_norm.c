/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations and dropout. */
#include <string.h>

#include "onnx/onnx.h"

static gpuc_rexpr *scalar(gpuc_onnx_node *n, gpuc_dtype t, double v)
{
    return gpuc_relay_const_scalar(n->ctx, t, v);
}

static gpuc_dtype dtype_of(gpuc_rexpr *x)
{
    return gpuc_relay_tensor_type(x)->dtype;
}

static const gpuc_attrs *epsilon(gpuc_onnx_node *n)
{
    return gpuc_attrs_float(n->ctx, NULL, "epsilon", gpuc_onnx_float(n, "epsilon", 1e-5f));
}

/* ---- BatchNormalization ---- */

/* Until opset 8 statistics may be of every element of an image: they broadcast to it. */
static gpuc_rexpr *per_element(gpuc_onnx_node *n)
{
    gpuc_dtype t = gpuc_onnx_type(n, 4)->dtype;
    gpuc_rexpr *eps = scalar(n, t, gpuc_onnx_float(n, "epsilon", 1e-5f));
    gpuc_rexpr *deviation = gpuc_onnx_op1(n, "sqrt", NULL, gpuc_onnx_op2(n, "add", n->in[4], eps));
    gpuc_rexpr *y = gpuc_onnx_op2(n, "divide", gpuc_onnx_op2(n, "subtract", n->in[0], n->in[3]), deviation);
    return gpuc_onnx_op2(n, "add", gpuc_onnx_op2(n, "multiply", y, n->in[1]), n->in[2]);
}

static void batch_norm(gpuc_onnx_node *n)
{
    int64_t opset = n->m->opset;
    double momentum = gpuc_onnx_float(n, "momentum", 0.9f);
    bool tested = gpuc_onnx_int(n, "is_test", 0), asked = gpuc_onnx_int(n, "training_mode", 0);
    bool training = opset < 7 ? !tested : opset < 14 ? gpuc_onnx_wants(n, 1) : asked;
    gpuc_onnx_ignore(n, "consumed_inputs");
    for (int i = 0; i < 5; i++) gpuc_onnx_in(n, i);
    if (!gpuc_onnx_int(n, "spatial", 1)) {
        if (training)
            gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                       "spatial=0 in training is not supported: use opset 9 or newer");
        n->out[0] = per_element(n);
        return;
    }
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, epsilon(n), "training", training);
    gpuc_rexpr *y = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n),
                                  gpuc_attrs_float(n->ctx, a, "momentum", momentum), 5, n->in);
    n->out[0] = y;
    for (int i = 0; training && i < n->n_out && i < 3; i++) n->out[i] = gpuc_relay_get(n->ctx, y, i);
}

/* ---- Instance, group, layer, RMS ---- */

static void instance_norm(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    for (int i = 0; i < 3; i++) gpuc_onnx_in(n, i);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), epsilon(n), 3, n->in);
}

static void group_norm(gpuc_onnx_node *n, bool per_group)
{
    int64_t groups = gpuc_onnx_int(n, "num_groups", 0), channels = 0;
    gpuc_rexpr *args[3];
    gpuc_onnx_ignore(n, "stash_type");
    for (int i = 0; i < 3; i++) args[i] = gpuc_onnx_in(n, i);
    if (gpuc_onnx_type(n, 0)->ndim < 2) gpuc_onnx_fail(n, "the input has no channels");
    channels = gpuc_onnx_dim(n, 0, 1);
    if (groups < 1 || channels % groups)
        gpuc_onnx_fail(n, "%lld channels do not divide into num_groups=%lld", (long long)channels,
                       (long long)groups);
    for (int i = 1; per_group && i < 3; i++) {
        int64_t column[] = {groups, 1}, repeated[] = {groups, channels / groups};
        args[i] = gpuc_onnx_reshaped(n, args[i], 2, column);
        args[i] =
            gpuc_onnx_op1(n, "broadcast_to", gpuc_attrs_ints(n->ctx, NULL, "shape", 2, repeated), args[i]);
        args[i] = gpuc_onnx_reshaped(n, args[i], 1, &channels);
    }
    n->out[0] = gpuc_relay_op(n->ctx, "nn.group_norm",
                              gpuc_attrs_int(n->ctx, epsilon(n), "num_groups", groups), 3, args);
}

static void group_norm_18(gpuc_onnx_node *n)
{
    group_norm(n, true);
}

static void group_norm_21(gpuc_onnx_node *n)
{
    group_norm(n, false);
}

/* The axes from `axis` to the last, kept as 1. */
static const gpuc_attrs *from_axis(gpuc_onnx_node *n, int axis)
{
    int64_t axes[64];
    int count = 0;
    for (int i = axis; i < gpuc_onnx_type(n, 0)->ndim; i++) axes[count++] = i;
    return gpuc_attrs_int(n->ctx, gpuc_attrs_ints(n->ctx, NULL, "axis", count, axes), "keepdims", 1);
}

static void layer_norm(gpuc_onnx_node *n)
{
    int axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", -1), gpuc_onnx_type(n, 0)->ndim);
    int64_t stash = gpuc_onnx_int(n, "stash_type", 1);
    gpuc_onnx_in(n, 1);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), gpuc_attrs_int(n->ctx, epsilon(n), "axis", axis),
                              gpuc_onnx_has(n, 2) ? 3 : 2, n->in);
    if (!gpuc_onnx_wants(n, 1) && !gpuc_onnx_wants(n, 2)) return;
    gpuc_dtype t = gpuc_onnx_dtype(n->ctx, stash, "attribute 'stash_type'");
    const gpuc_attrs *over = from_axis(n, axis);
    gpuc_rexpr *x = gpuc_onnx_as(n, gpuc_onnx_in(n, 0), t), *mean = gpuc_onnx_op1(n, "mean", over, x);
    gpuc_rexpr *centered = gpuc_onnx_op2(n, "subtract", x, mean);
    gpuc_rexpr *variance = gpuc_onnx_op1(n, "mean", over, gpuc_onnx_op2(n, "multiply", centered, centered));
    gpuc_rexpr *eps = scalar(n, t, gpuc_onnx_float(n, "epsilon", 1e-5f));
    if (gpuc_onnx_wants(n, 1)) n->out[1] = mean;
    if (gpuc_onnx_wants(n, 2))
        n->out[2] = gpuc_onnx_op1(n, "rsqrt", NULL, gpuc_onnx_op2(n, "add", variance, eps));
}

static void lrn(gpuc_onnx_node *n)
{
    int64_t size = gpuc_onnx_int(n, "size", 0);
    if (size < 1) gpuc_onnx_fail(n, "size is %lld", (long long)size);
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "size", size);
    a = gpuc_attrs_float(n->ctx, a, "alpha", gpuc_onnx_float(n, "alpha", 1e-4));
    a = gpuc_attrs_float(n->ctx, a, "beta", gpuc_onnx_float(n, "beta", 0.75));
    a = gpuc_attrs_float(n->ctx, a, "bias", gpuc_onnx_float(n, "bias", 1));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

static void mean_variance(gpuc_onnx_node *n)
{
    static const int64_t usual[] = {0, 2, 3};
    int count;
    const int64_t *axes = gpuc_onnx_ints(n, "axes", &count);
    const gpuc_attrs *over = gpuc_attrs_ints(n->ctx, NULL, "axis", axes ? count : 3, axes ? axes : usual);
    over = gpuc_attrs_int(n->ctx, over, "keepdims", 1);
    gpuc_rexpr *x = gpuc_onnx_in(n, 0), *mean = gpuc_onnx_op1(n, "mean", over, x);
    gpuc_rexpr *centered = gpuc_onnx_op2(n, "subtract", x, mean);
    gpuc_rexpr *variance = gpuc_onnx_op1(n, "mean", over, gpuc_onnx_op2(n, "multiply", centered, centered));
    gpuc_rexpr *deviation = gpuc_onnx_op1(n, "sqrt", NULL, variance);
    n->out[0] = gpuc_onnx_op2(n, "divide", centered,
                              gpuc_onnx_op2(n, "add", deviation, scalar(n, dtype_of(x), 1e-9)));
}

/* ---- Norms of order p ---- */

static gpuc_rexpr *norm(gpuc_onnx_node *n, const gpuc_attrs *over, double p)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    gpuc_dtype t = dtype_of(x);
    if (!(p > 0)) gpuc_onnx_fail(n, "p=%g is not above 0", p);
    if (p == 2)
        return gpuc_onnx_op1(n, "sqrt", NULL,
                             gpuc_onnx_op1(n, "sum", over, gpuc_onnx_op2(n, "multiply", x, x)));
    gpuc_rexpr *size = gpuc_onnx_op1(n, "abs", NULL, x);
    if (p == 1) return gpuc_onnx_op1(n, "sum", over, size);
    gpuc_rexpr *sum = gpuc_onnx_op1(n, "sum", over, gpuc_onnx_op2(n, "power", size, scalar(n, t, p)));
    return gpuc_onnx_op2(n, "power", sum, scalar(n, t, 1 / p));
}

/* Where the norm is 0, so is the result. */
static void lp_normalization(gpuc_onnx_node *n)
{
    int64_t axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", -1), gpuc_onnx_type(n, 0)->ndim);
    const gpuc_attrs *over =
        gpuc_attrs_int(n->ctx, gpuc_attrs_ints(n->ctx, NULL, "axis", 1, &axis), "keepdims", 1);
    gpuc_rexpr *size = norm(n, over, (double)gpuc_onnx_int(n, "p", 2));
    gpuc_dtype t = dtype_of(size);
    gpuc_rexpr *args[] = {gpuc_onnx_op2(n, "equal", size, scalar(n, t, 0)), scalar(n, t, 1), size};
    n->out[0] = gpuc_onnx_op2(n, "divide", gpuc_onnx_in(n, 0), gpuc_relay_op(n->ctx, "where", NULL, 3, args));
}

static void global_lp_pool(gpuc_onnx_node *n)
{
    if (gpuc_onnx_type(n, 0)->ndim < 3)
        gpuc_onnx_fail(n, "an input of %d dimensions has no space", gpuc_onnx_type(n, 0)->ndim);
    n->out[0] = norm(n, from_axis(n, 2), (double)gpuc_onnx_int(n, "p", 2));
}

/* ---- Dropout: training and a ratio above 0 draw a mask ---- */

static gpuc_rexpr *ratio_of(gpuc_onnx_node *n)
{
    if (gpuc_onnx_has(n, 1)) return gpuc_onnx_reshaped(n, gpuc_onnx_as(n, n->in[1], GPUC_FLOAT32), 0, NULL);
    return scalar(n, GPUC_FLOAT32, n->m->opset < 12 ? gpuc_onnx_float(n, "ratio", 0.5) : 0.5);
}

/* NULL: it is known to be false. */
static gpuc_rexpr *training_of(gpuc_onnx_node *n)
{
    if (n->m->opset < 7) return gpuc_onnx_int(n, "is_test", 0) ? NULL : scalar(n, GPUC_BOOL, 1);
    if (!gpuc_onnx_has(n, 2)) return NULL;
    if (gpuc_onnx_constant_in(n, 2)) return gpuc_onnx_in_number(n, 2) ? scalar(n, GPUC_BOOL, 1) : NULL;
    return gpuc_onnx_reshaped(n, n->in[2], 0, NULL);
}

static void dropout(gpuc_onnx_node *n)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, 0), *training = training_of(n);
    const gpuc_tensor_type *type = gpuc_onnx_type(n, 0);
    gpuc_dtype t = type->dtype, mask_type = n->m->opset < 10 ? t : GPUC_BOOL;
    int64_t seed = gpuc_onnx_int(n, "seed", 0);
    gpuc_onnx_ignore(n, "ratio");
    gpuc_onnx_ignore(n, "consumed_inputs");
    n->out[0] = x;
    if (!training && !gpuc_onnx_wants(n, 1)) return;
    const gpuc_attrs *shape = gpuc_attrs_sizes(n->ctx, NULL, "shape", type->ndim, type->dims);
    if (!training) {
        n->out[1] = gpuc_onnx_op1(n, "broadcast_to", shape, scalar(n, mask_type, 1));
        return;
    }
    gpuc_rexpr *args[3] = {training, ratio_of(n), scalar(n, GPUC_FLOAT32, 0)};
    gpuc_rexpr *ratio = gpuc_relay_op(n->ctx, "where", NULL, 3, args);
    gpuc_rexpr *mask =
        gpuc_onnx_op1(n, "nn.dropout_mask", gpuc_attrs_int(n->ctx, shape, "seed", seed), ratio);
    gpuc_rexpr *rest = gpuc_onnx_as(n, gpuc_onnx_op2(n, "subtract", scalar(n, GPUC_FLOAT32, 1), ratio), t);
    gpuc_rexpr *kept[] = {mask, gpuc_onnx_op2(n, "divide", x, rest), scalar(n, t, 0)};
    n->out[0] = gpuc_relay_op(n->ctx, "where", NULL, 3, kept);
    if (n->n_out > 1) n->out[1] = gpuc_onnx_as(n, mask, mask_type);
}

const gpuc_onnx_row gpuc_onnx_rows_norm[] = {
    {"BatchNormalization", 1, batch_norm},
    {"InstanceNormalization", 1, instance_norm},
    {"GroupNormalization", 18, group_norm_18},
    {"GroupNormalization", 21, group_norm_21},
    {"LayerNormalization", 17, layer_norm},
    {"RMSNormalization", 23, layer_norm},
    {"LRN", 1, lrn},
    {"MeanVarianceNormalization", 9, mean_variance},
    {"LpNormalization", 1, lp_normalization},
    {"GlobalLpPool", 1, global_lp_pool},
    {"Dropout", 1, dropout},
    {NULL, 0, NULL},
};
