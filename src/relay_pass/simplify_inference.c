/* SPDX-License-Identifier: Apache-2.0 */
/* Writes normalizations, bias_add, split, dropout and operators on quantised numbers as the simpler operators that they
 * are at inference. */
#include <string.h>

#include "relay_pass/common/quantized.h"

/* A per-channel vector, shaped to broadcast along axis of x: of the extent that x has there, so that the result
 * is of its shape. */
static gpuc_rexpr *per_channel(gpuc_ctx *ctx, gpuc_rexpr *v, const gpuc_rexpr *x, int64_t axis)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr dims[64];
    if (axis < 0) axis += t->ndim;
    int rank = t->ndim - (int)axis;
    for (int i = 0; i < rank; i++) dims[i] = gpuc_int(ctx, 1);
    dims[0] = t->dims[axis];
    return gpuc_relay_pass_reshape(ctx, v, rank, dims);
}

/* The type in which elements of type t are summed. */
static gpuc_dtype wide(gpuc_dtype t)
{
    return t.bits < 32 ? GPUC_FLOAT32 : t;
}

static gpuc_rexpr *binary(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    return gpuc_relay_op2(ctx, op, NULL, a, b);
}

static gpuc_rexpr *scalar_like(gpuc_ctx *ctx, gpuc_rexpr *x, double v)
{
    return gpuc_relay_const_scalar(ctx, gpuc_relay_tensor_type(x)->dtype, v);
}

static double epsilon_of(const gpuc_rcall *c)
{
    return gpuc_attrs_get_float(c->attrs, "epsilon", 1e-5);
}

/* x as floats wide enough for sums, its mean over some axes (kept as 1), what is left, and the variance: two
 * passes over the data for accuracy. */
typedef struct moments {
    const gpuc_attrs *over;
    gpuc_rexpr *mean, *centered, *variance;
} moments;

static moments moments_of(gpuc_ctx *ctx, gpuc_rexpr *x, int num_axes, const int64_t *axes)
{
    moments m = {.over =
                     gpuc_attrs_int(ctx, gpuc_attrs_ints(ctx, NULL, "axis", num_axes, axes), "keepdims", 1)};
    x = gpuc_relay_pass_cast(ctx, x, wide(gpuc_relay_tensor_type(x)->dtype));
    m.mean = gpuc_relay_op1(ctx, "mean", m.over, x);
    m.centered = binary(ctx, "subtract", x, m.mean);
    m.variance = gpuc_relay_op1(ctx, "mean", m.over, binary(ctx, "multiply", m.centered, m.centered));
    return m;
}

static gpuc_rexpr *root(gpuc_ctx *ctx, gpuc_rexpr *x, double epsilon)
{
    return gpuc_relay_op1(ctx, "sqrt", NULL, binary(ctx, "add", x, scalar_like(ctx, x, epsilon)));
}

static gpuc_rexpr *normalize(gpuc_ctx *ctx, gpuc_rexpr *x, int num_axes, const int64_t *axes, double epsilon)
{
    moments m = moments_of(ctx, x, num_axes, axes);
    return gpuc_relay_pass_cast(ctx, binary(ctx, "divide", m.centered, root(ctx, m.variance, epsilon)),
                                gpuc_relay_tensor_type(x)->dtype);
}

static gpuc_rexpr *scale_shift(gpuc_ctx *ctx, gpuc_rexpr *y, gpuc_rexpr *scale, gpuc_rexpr *shift,
                               int64_t axis)
{
    y = binary(ctx, "multiply", y, per_channel(ctx, scale, y, axis));
    return binary(ctx, "add", y, per_channel(ctx, shift, y, axis));
}

static gpuc_rexpr *instance_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    int64_t axes[64];
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    for (int i = 2; i < ndim; i++) axes[i - 2] = i;
    gpuc_rexpr *y = normalize(ctx, c->args[0], ndim - 2, axes, epsilon_of(c));
    return scale_shift(ctx, y, c->args[1], c->args[2], 1);
}

/* Channels of a group lie together: [N, groups, rest]. */
static gpuc_rexpr *group_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]);
    int64_t axis = 2;
    gpuc_expr groups = gpuc_int(ctx, gpuc_attrs_get_int(c->attrs, "num_groups", 1));
    gpuc_expr grouped[] = {t->dims[0], groups, gpuc_floordiv_(ctx, t->dims[1], groups)};
    for (int i = 2; i < t->ndim; i++) grouped[2] = gpuc_mul(ctx, grouped[2], t->dims[i]);
    gpuc_rexpr *y = gpuc_relay_pass_reshape(ctx, c->args[0], 3, grouped);
    y = gpuc_relay_pass_reshape(ctx, normalize(ctx, y, 1, &axis, epsilon_of(c)), t->ndim, t->dims);
    return scale_shift(ctx, y, c->args[1], c->args[2], 1);
}

/* The axes from the attribute `axis` on. */
static int last_axes(const gpuc_rcall *c, int64_t *axes)
{
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", -1);
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim, n = 0;
    for (int64_t i = axis < 0 ? axis + ndim : axis; i < ndim; i++) axes[n++] = i;
    return n;
}

static gpuc_rexpr *layer_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    int64_t axes[64];
    int n = last_axes(c, axes);
    gpuc_rexpr *y = binary(ctx, "multiply", normalize(ctx, c->args[0], n, axes, epsilon_of(c)), c->args[1]);
    return c->n > 2 ? binary(ctx, "add", y, c->args[2]) : y;
}

static gpuc_rexpr *rms_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    int64_t axes[64];
    int n = last_axes(c, axes);
    gpuc_dtype t = gpuc_relay_tensor_type(c->args[0])->dtype;
    const gpuc_attrs *over = gpuc_attrs_int(ctx, gpuc_attrs_ints(ctx, NULL, "axis", n, axes), "keepdims", 1);
    gpuc_rexpr *x = gpuc_relay_pass_cast(ctx, c->args[0], wide(t));
    gpuc_rexpr *square = gpuc_relay_op1(ctx, "mean", over, binary(ctx, "multiply", x, x));
    gpuc_rexpr *y = gpuc_relay_pass_cast(ctx, binary(ctx, "divide", x, root(ctx, square, epsilon_of(c))), t);
    return binary(ctx, "multiply", y, c->args[1]);
}

/* old * momentum + now * (1 - momentum), in the type of old. */
static gpuc_rexpr *running(gpuc_ctx *ctx, const gpuc_rcall *c, gpuc_rexpr *old, gpuc_rexpr *now)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(old);
    double momentum = gpuc_attrs_get_float(c->attrs, "momentum", 0.9);
    gpuc_dtype work = gpuc_relay_tensor_type(now)->dtype;
    now = gpuc_relay_pass_reshape(ctx, now, 1, t->dims);
    gpuc_rexpr *kept =
        binary(ctx, "multiply", gpuc_relay_pass_cast(ctx, old, work), scalar_like(ctx, now, momentum));
    return gpuc_relay_pass_cast(
        ctx, binary(ctx, "add", kept, binary(ctx, "multiply", now, scalar_like(ctx, now, 1 - momentum))),
        t->dtype);
}

static gpuc_rexpr *batch_norm_training(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]);
    int64_t axes[64], axis = gpuc_attrs_get_int(c->attrs, "axis", 1);
    int n = 0;
    if (axis < 0) axis += t->ndim;
    for (int i = 0; i < t->ndim; i++)
        if (i != axis) axes[n++] = i;
    moments m = moments_of(ctx, c->args[0], n, axes);
    gpuc_dtype work = gpuc_relay_tensor_type(m.mean)->dtype;
    gpuc_rexpr *y = binary(ctx, "divide", m.centered, root(ctx, m.variance, epsilon_of(c)));
    y = scale_shift(ctx, y, gpuc_relay_pass_cast(ctx, c->args[1], work),
                    gpuc_relay_pass_cast(ctx, c->args[2], work), axis);
    gpuc_rexpr *fields[] = {gpuc_relay_pass_cast(ctx, y, t->dtype), running(ctx, c, c->args[3], m.mean),
                            running(ctx, c, c->args[4], m.variance)};
    return gpuc_relay_tuple(ctx, 3, fields);
}

/* Scale and shift per channel, made in the statistics' type. */
static gpuc_rexpr *batch_norm(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    if (gpuc_attrs_get_int(c->attrs, "training", 0)) return batch_norm_training(ctx, c);
    gpuc_rexpr *data = c->args[0], *v[4];
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(data);
    gpuc_dtype work = wide(gpuc_relay_tensor_type(c->args[4])->dtype);
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 1);
    for (int i = 0; i < 4; i++) v[i] = gpuc_relay_pass_cast(ctx, c->args[1 + i], work);
    gpuc_rexpr *gamma = v[0], *beta = v[1], *mean = v[2], *var = v[3];
    gpuc_rexpr *scale = binary(ctx, "divide", gamma, root(ctx, var, epsilon_of(c)));
    gpuc_rexpr *shift = binary(ctx, "subtract", beta, binary(ctx, "multiply", mean, scale));
    scale = per_channel(ctx, gpuc_relay_pass_cast(ctx, scale, t->dtype), data, axis);
    shift = per_channel(ctx, gpuc_relay_pass_cast(ctx, shift, t->dtype), data, axis);
    return binary(ctx, "add", binary(ctx, "multiply", data, scale), shift);
}

static gpuc_rexpr *bias_add(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 1);
    return binary(ctx, "add", c->args[0], per_channel(ctx, c->args[1], c->args[0], axis));
}

static gpuc_rexpr *operand(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    (void)ctx;
    return c->args[0];
}

static gpuc_rexpr *split(gpuc_ctx *ctx, const gpuc_rcall *c)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]);
    int64_t steps[64], axis = gpuc_attrs_get_int(c->attrs, "axis", 0);
    gpuc_expr begin[64], sizes[64];
    if (axis < 0) axis += t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        begin[i] = gpuc_int(ctx, 0);
        sizes[i] = t->dims[i];
        steps[i] = 1;
    }
    const gpuc_attr *parts = gpuc_attrs_find(c->attrs, "sizes");
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, parts->n);
    for (int i = 0; i < parts->n; i++) {
        sizes[axis] = gpuc_attr_size(ctx, parts, i);
        const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "begin", t->ndim, begin);
        a = gpuc_attrs_sizes(ctx, a, "sizes", t->ndim, sizes);
        fields[i] = gpuc_relay_op1(ctx, "strided_slice", gpuc_attrs_ints(ctx, a, "strides", t->ndim, steps),
                                   c->args[0]);
        begin[axis] = gpuc_add(ctx, begin[axis], sizes[axis]);
    }
    return parts->n == 1 ? fields[0] : gpuc_relay_tuple(ctx, parts->n, fields);
}

/* Rewrites each operator as arithmetic; the function returns NULL where sizes are not known. */
static const struct {
    const char *op;
    gpuc_rexpr *(*write)(gpuc_ctx *ctx, const gpuc_rcall *c);
} written[] = {
    {"nn.batch_norm", batch_norm},
    {"nn.instance_norm", instance_norm},
    {"nn.group_norm", group_norm},
    {"nn.layer_norm", layer_norm},
    {"nn.rms_norm", rms_norm},
    {"nn.bias_add", bias_add},
    {"split", split},
    {"nn.dropout", operand},
    {"identity", operand},
};

/* A requantize that does not say how it rounds and computes, as the options say. */
static gpuc_rexpr *requantized(gpuc_ctx *ctx, gpuc_rexpr *e, const gpuc_attrs *options)
{
    static const char *const names[] = {"rounding", "compute_dtype"};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = c->attrs;
    for (int i = 0; i < 2; i++) {
        const char *wanted = gpuc_attrs_get_string(options, names[i], "None");
        if (strcmp(wanted, "None") && !strcmp(gpuc_attrs_get_string(attrs, names[i], "None"), "None"))
            attrs = gpuc_attrs_string(ctx, attrs, names[i], wanted);
    }
    return attrs == c->attrs ? e : gpuc_relay_op(ctx, "qnn.requantize", attrs, c->n, c->args);
}

static gpuc_rexpr *simplify(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (gpuc_relay_is_op(e, "qnn.requantize")) return requantized(ctx, e, arg);
    for (size_t i = 0; op && i < sizeof written / sizeof written[0]; i++) {
        if (strcmp(op->name, written[i].op)) continue;
        gpuc_rexpr *out = written[i].write(ctx, gpuc_as_rcall(e));
        return out ? out : e;
    }
    gpuc_rexpr *real = op ? gpuc_relay_pass_write_quantized(ctx, e) : NULL;
    return real ? real : e;
}

void gpuc_relay_pass_simplify_inference(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, simplify, (void *)(uintptr_t)p->options);
    gpuc_relay_pass_fold_constant(p); /* scales and shifts of constants */
}
