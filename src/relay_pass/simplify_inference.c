/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relay_pass/util.h"

/* A per-channel vector, shaped to broadcast along axis of a tensor of rank ndim. */
static gpuc_rexpr *per_channel(gpuc_ctx *ctx, gpuc_rexpr *v, int ndim, int64_t axis)
{
    int64_t dims[64], channels;
    if (axis < 0) axis += ndim;
    if (!gpuc_tensor_type_static(gpuc_relay_tensor_type(v), &channels)) return v;
    int rank = ndim - (int)axis;
    for (int i = 0; i < rank; i++) dims[i] = 1;
    dims[0] = channels;
    return gpuc_relay_reshape(ctx, v, rank, dims);
}

static gpuc_rexpr *as(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_dtype t)
{
    if (gpuc_dtype_equal(gpuc_relay_tensor_type(x)->dtype, t)) return x;
    return gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", t), x);
}

/* What sums of t are made in. */
static gpuc_dtype wide(gpuc_dtype t)
{
    return t.bits < 32 ? GPUC_FLOAT32 : t;
}

/* Scale and shift per channel, made in the statistics' type. */
static gpuc_rexpr *batch_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    gpuc_rexpr *data = c->args[0], *v[4];
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(data);
    gpuc_dtype work = wide(gpuc_relay_tensor_type(c->args[4])->dtype);
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 1);
    for (int i = 0; i < 4; i++) v[i] = as(ctx, c->args[1 + i], work);
    gpuc_rexpr *gamma = v[0], *beta = v[1], *mean = v[2], *var = v[3];
    gpuc_rexpr *eps = gpuc_relay_const_scalar(ctx, work, gpuc_attrs_get_float(c->attrs, "epsilon", 1e-5));
    gpuc_rexpr *std = gpuc_relay_op1(ctx, "sqrt", NULL, gpuc_relay_op2(ctx, "add", NULL, var, eps));
    gpuc_rexpr *scale = gpuc_relay_op2(ctx, "divide", NULL, gamma, std);
    gpuc_rexpr *shift =
        gpuc_relay_op2(ctx, "subtract", NULL, beta, gpuc_relay_op2(ctx, "multiply", NULL, mean, scale));
    scale = per_channel(ctx, as(ctx, scale, t->dtype), t->ndim, axis);
    shift = per_channel(ctx, as(ctx, shift, t->dtype), t->ndim, axis);
    return gpuc_relay_op2(ctx, "add", NULL, gpuc_relay_op2(ctx, "multiply", NULL, data, scale), shift);
}

/* Mean and variance over `axes`, two passes over the data for accuracy, then scale and shift. */
static gpuc_rexpr *normalize(gpuc_ctx *ctx, gpuc_rexpr *data, int num_axes, const int64_t *axes,
                             double epsilon)
{
    const gpuc_attrs *over =
        gpuc_attrs_int(ctx, gpuc_attrs_ints(ctx, NULL, "axis", num_axes, axes), "keepdims", 1);
    gpuc_dtype t = gpuc_relay_tensor_type(data)->dtype;
    data = as(ctx, data, wide(t));
    gpuc_rexpr *mean = gpuc_relay_op1(ctx, "mean", over, data);
    gpuc_rexpr *centered = gpuc_relay_op2(ctx, "subtract", NULL, data, mean);
    gpuc_rexpr *var =
        gpuc_relay_op1(ctx, "mean", over, gpuc_relay_op2(ctx, "multiply", NULL, centered, centered));
    gpuc_rexpr *eps = gpuc_relay_const_scalar(ctx, wide(t), epsilon);
    gpuc_rexpr *std = gpuc_relay_op1(ctx, "sqrt", NULL, gpuc_relay_op2(ctx, "add", NULL, var, eps));
    return as(ctx, gpuc_relay_op2(ctx, "divide", NULL, centered, std), t);
}

static gpuc_rexpr *instance_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    int64_t axes[64];
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    for (int i = 2; i < ndim; i++) axes[i - 2] = i;
    gpuc_rexpr *y =
        normalize(ctx, c->args[0], ndim - 2, axes, gpuc_attrs_get_float(c->attrs, "epsilon", 1e-5));
    y = gpuc_relay_op2(ctx, "multiply", NULL, y, per_channel(ctx, c->args[1], ndim, 1));
    return gpuc_relay_op2(ctx, "add", NULL, y, per_channel(ctx, c->args[2], ndim, 1));
}

static gpuc_rexpr *layer_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    int64_t axes[64], axis = gpuc_attrs_get_int(c->attrs, "axis", -1);
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    if (axis < 0) axis += ndim;
    for (int i = (int)axis; i < ndim; i++) axes[i - axis] = i;
    gpuc_rexpr *y =
        normalize(ctx, c->args[0], ndim - (int)axis, axes, gpuc_attrs_get_float(c->attrs, "epsilon", 1e-5));
    y = gpuc_relay_op2(ctx, "multiply", NULL, y, c->args[1]);
    return c->n > 2 ? gpuc_relay_op2(ctx, "add", NULL, y, c->args[2]) : y;
}

static gpuc_rexpr *split(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]);
    int64_t begin[64] = {0}, sizes[64], steps[64], axis = gpuc_attrs_get_int(c->attrs, "axis", 0);
    if (axis < 0) axis += t->ndim;
    if (!gpuc_tensor_type_static(t, sizes)) return NULL;
    for (int i = 0; i < t->ndim; i++) steps[i] = 1;
    const gpuc_attr *parts = gpuc_attrs_find(c->attrs, "sizes");
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, parts->n);
    for (int i = 0; i < parts->n; i++) {
        sizes[axis] = parts->ints[i];
        const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", t->ndim, begin);
        a = gpuc_attrs_ints(ctx, a, "sizes", t->ndim, sizes);
        fields[i] = gpuc_relay_op1(ctx, "strided_slice", gpuc_attrs_ints(ctx, a, "strides", t->ndim, steps),
                                   c->args[0]);
        begin[axis] += parts->ints[i];
    }
    return parts->n == 1 ? fields[0] : gpuc_relay_tuple(ctx, parts->n, fields);
}

static gpuc_rexpr *simplify(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *out = NULL;
    if (!strcmp(op->name, "nn.batch_norm"))
        out = batch_norm(ctx, c);
    else if (!strcmp(op->name, "nn.instance_norm"))
        out = instance_norm(ctx, c);
    else if (!strcmp(op->name, "nn.layer_norm"))
        out = layer_norm(ctx, c);
    else if (!strcmp(op->name, "split"))
        out = split(ctx, c);
    else if (!strcmp(op->name, "nn.dropout") || !strcmp(op->name, "identity"))
        out = c->args[0];
    else if (!strcmp(op->name, "nn.bias_add")) {
        int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
        out = gpuc_relay_op2(ctx, "add", NULL, c->args[0],
                             per_channel(ctx, c->args[1], ndim, gpuc_attrs_get_int(c->attrs, "axis", 1)));
    }
    return out ? out : e;
}

void gpuc_relay_simplify_inference(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_rewrite_module(p, simplify, NULL);
    gpuc_relay_fold_constant(p); /* scales and shifts of constants */
}
