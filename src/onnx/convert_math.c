/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, activations, reductions, constants. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

void gpuc_onnx_simple(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    for (int i = 0; i < n->n_in; i++) gpuc_onnx_in(n, i);
    n->out[0] = gpuc_relay_op(n->ctx, n->relay, NULL, n->n_in, n->in);
}

void gpuc_onnx_identity(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_in(n, 0);
}

void gpuc_onnx_variadic(gpuc_onnx_node *n)
{
    gpuc_rexpr *sum = gpuc_onnx_in(n, 0);
    for (int i = 1; i < n->n_in; i++) sum = gpuc_onnx_op2(n, n->relay, sum, gpuc_onnx_in(n, i));
    n->out[0] = sum;
}

void gpuc_onnx_mean(gpuc_onnx_node *n)
{
    n->relay = "add";
    gpuc_onnx_variadic(n);
    gpuc_dtype t = gpuc_relay_tensor_type(n->out[0])->dtype;
    n->out[0] = gpuc_onnx_op2(n, "divide", n->out[0], gpuc_relay_const_scalar(n->ctx, t, n->n_in));
}

void gpuc_onnx_pow(gpuc_onnx_node *n)
{
    gpuc_dtype t = gpuc_onnx_type(n, 0)->dtype;
    gpuc_rexpr *base = gpuc_onnx_in(n, 0), *power = gpuc_onnx_in(n, 1);
    bool is_float = t.code == GPUC_DTYPE_FLOAT || t.code == GPUC_DTYPE_BFLOAT;
    gpuc_dtype work = is_float ? t : t.bits > 16 ? GPUC_FLOAT64 : GPUC_FLOAT32;
    gpuc_rexpr *y = gpuc_onnx_op2(n, "power", gpuc_onnx_as(n, base, work), gpuc_onnx_as(n, power, work));
    n->out[0] = gpuc_onnx_as(n, y, t);
}

void gpuc_onnx_mod(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_op2(n, gpuc_onnx_int(n, "fmod", 0) ? "mod" : "floor_mod", gpuc_onnx_in(n, 0),
                              gpuc_onnx_in(n, 1));
}

void gpuc_onnx_bit_shift(gpuc_onnx_node *n)
{
    const char *direction = gpuc_onnx_string(n, "direction", "");
    bool left = !strcmp(direction, "LEFT");
    if (!left && strcmp(direction, "RIGHT"))
        gpuc_onnx_fail(n, "direction '%s' is neither LEFT nor RIGHT", direction);
    n->out[0] = gpuc_onnx_op2(n, left ? "left_shift" : "right_shift", gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1));
}

void gpuc_onnx_cast(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "saturate"); /* these two say something of float8 only */
    gpuc_onnx_ignore(n, "round_mode");
    int64_t to = gpuc_onnx_int(n, "to", 0);
    if (to == 0) gpuc_onnx_fail(n, "attribute 'to' is missing");
    n->out[0] = gpuc_onnx_as(n, gpuc_onnx_in(n, 0), gpuc_onnx_dtype(n->ctx, to, "attribute 'to'"));
}

static gpuc_rexpr *activation(gpuc_onnx_node *n, const char *op, const gpuc_attrs *attrs)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    return gpuc_onnx_op1(n, op, attrs, gpuc_onnx_in(n, 0));
}

void gpuc_onnx_clip_6(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_float(n->ctx, NULL, "a_min", gpuc_onnx_float(n, "min", -INFINITY));
    n->out[0] =
        activation(n, "clip", gpuc_attrs_float(n->ctx, a, "a_max", gpuc_onnx_float(n, "max", INFINITY)));
}

void gpuc_onnx_clip_11(gpuc_onnx_node *n)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    for (int i = 1; i < 3; i++)
        if (gpuc_onnx_has(n, i))
            x = gpuc_onnx_op2(n, i == 1 ? "maximum" : "minimum", x, gpuc_onnx_reshaped(n, n->in[i], 0, NULL));
    n->out[0] = x;
}

void gpuc_onnx_leaky_relu(gpuc_onnx_node *n)
{
    n->out[0] = activation(n, "nn.leaky_relu",
                           gpuc_attrs_float(n->ctx, NULL, "alpha", gpuc_onnx_float(n, "alpha", 0.01)));
}

void gpuc_onnx_elu(gpuc_onnx_node *n)
{
    n->out[0] =
        activation(n, "nn.elu", gpuc_attrs_float(n->ctx, NULL, "alpha", gpuc_onnx_float(n, "alpha", 1)));
}

void gpuc_onnx_selu(gpuc_onnx_node *n)
{
    const gpuc_attrs *a =
        gpuc_attrs_float(n->ctx, NULL, "alpha", gpuc_onnx_float(n, "alpha", 1.67326319217681884765625));
    n->out[0] = activation(
        n, "nn.selu",
        gpuc_attrs_float(n->ctx, a, "gamma", gpuc_onnx_float(n, "gamma", 1.05070102214813232421875)));
}

void gpuc_onnx_hard_sigmoid(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_float(n->ctx, NULL, "alpha", gpuc_onnx_float(n, "alpha", 0.2));
    n->out[0] = activation(n, "nn.hard_sigmoid",
                           gpuc_attrs_float(n->ctx, a, "beta", gpuc_onnx_float(n, "beta", 0.5)));
}

void gpuc_onnx_hard_swish(gpuc_onnx_node *n)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    const gpuc_attrs *a =
        gpuc_attrs_float(n->ctx, gpuc_attrs_float(n->ctx, NULL, "alpha", 1.0 / 6), "beta", 0.5);
    n->out[0] = gpuc_onnx_op2(n, "multiply", x, gpuc_onnx_op1(n, "nn.hard_sigmoid", a, x));
}

void gpuc_onnx_is_inf(gpuc_onnx_node *n)
{
    bool negative = gpuc_onnx_int(n, "detect_negative", 1), positive = gpuc_onnx_int(n, "detect_positive", 1);
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    n->out[0] = gpuc_onnx_op1(n, "isinf", NULL, x);
    if (negative && positive) return;
    gpuc_rexpr *zero = gpuc_relay_const_scalar(n->ctx, gpuc_onnx_type(n, 0)->dtype, 0);
    if (!negative)
        n->out[0] = gpuc_onnx_op2(n, "logical_and", n->out[0], gpuc_onnx_op2(n, "greater", x, zero));
    if (!positive) n->out[0] = gpuc_onnx_op2(n, "logical_and", n->out[0], gpuc_onnx_op2(n, "less", x, zero));
}

void gpuc_onnx_gelu(gpuc_onnx_node *n)
{
    const char *how = gpuc_onnx_string(n, "approximate", "none");
    bool tanh = !strcmp(how, "tanh");
    if (!tanh && strcmp(how, "none")) gpuc_onnx_fail(n, "approximate '%s' is neither none nor tanh", how);
    n->out[0] = activation(n, "nn.gelu", gpuc_attrs_int(n->ctx, NULL, "approximate", tanh));
}

void gpuc_onnx_prelu(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_op2(n, "nn.prelu", gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1));
}

void gpuc_onnx_dropout(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "ratio");
    gpuc_onnx_ignore(n, "seed");
    gpuc_onnx_ignore(n, "is_test");
    n->out[0] = gpuc_onnx_in(n, 0);
    if (gpuc_onnx_has(n, 2)) {
        const gpuc_rconstant *training = gpuc_onnx_constant_in(n, 2);
        if (!training || gpuc_onnx_in_number(n, 2) != 0)
            gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                       "training_mode is not false: export the model for inference");
    }
    if (n->n_out < 2) return;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    const gpuc_attrs *shape = gpuc_attrs_ints(n->ctx, NULL, "shape", t->ndim, gpuc_onnx_dims(n, 0));
    gpuc_dtype mask = n->m->opset < 10 ? t->dtype : GPUC_BOOL;
    n->out[1] = gpuc_onnx_op1(n, "broadcast_to", shape, gpuc_relay_const_scalar(n->ctx, mask, 1));
}

/* ---- Softmax ---- */

void gpuc_onnx_softmax_13(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_op1(n, n->relay, gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", -1)),
                              gpuc_onnx_in(n, 0));
}

/* Before opset 13 the input is seen as a matrix whose rows start at axis. */
void gpuc_onnx_softmax_1(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 1), ndim);
    if (axis == ndim - 1) {
        n->out[0] =
            gpuc_onnx_op1(n, n->relay, gpuc_attrs_int(n->ctx, NULL, "axis", axis), gpuc_onnx_in(n, 0));
        return;
    }
    const int64_t *dims = gpuc_onnx_dims(n, 0);
    int64_t matrix[2] = {1, 1};
    for (int i = 0; i < ndim; i++) matrix[i >= axis] *= dims[i];
    gpuc_rexpr *x = gpuc_onnx_reshaped(n, gpuc_onnx_in(n, 0), 2, matrix);
    x = gpuc_onnx_op1(n, n->relay, gpuc_attrs_int(n->ctx, NULL, "axis", 1), x);
    n->out[0] = gpuc_onnx_reshaped(n, x, ndim, dims);
}

/* ---- Reductions ---- */

/* max + log(sum(exp(x - max))), with the maximum made finite: infinities come out as they are. */
static gpuc_rexpr *log_sum_exp(gpuc_onnx_node *n, gpuc_rexpr *x, const gpuc_attrs *a)
{
    gpuc_dtype t = gpuc_relay_tensor_type(x)->dtype;
    double limit = t.bits == 64 ? DBL_MAX : t.bits == 32 || t.code == GPUC_DTYPE_BFLOAT ? 0x1.fep127 : 65504;
    const gpuc_attrs *finite =
        gpuc_attrs_float(n->ctx, gpuc_attrs_float(n->ctx, NULL, "a_min", -limit), "a_max", limit);
    const gpuc_attrs *keep = gpuc_attrs_int(n->ctx, a, "keepdims", 1);
    gpuc_rexpr *most = gpuc_onnx_op1(n, "clip", finite, gpuc_onnx_op1(n, "max", keep, x));
    gpuc_rexpr *e = gpuc_onnx_op1(n, "exp", NULL, gpuc_onnx_op2(n, "subtract", x, most));
    gpuc_rexpr *log = gpuc_onnx_op1(n, "log", NULL, gpuc_onnx_op1(n, "sum", a, e));
    return gpuc_onnx_op2(n, "add", log, gpuc_onnx_op1(n, "clip", finite, gpuc_onnx_op1(n, "max", a, x)));
}

void gpuc_onnx_reduce(gpuc_onnx_node *n)
{
    int count;
    const int64_t *axes = gpuc_onnx_axes(n, "axes", 1, &count);
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    bool nothing = gpuc_onnx_int(n, "noop_with_empty_axes", 0) && count == 0;
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "axis", count, axes);
    a = gpuc_attrs_int(n->ctx, a, "keepdims", gpuc_onnx_int(n, "keepdims", 1));
    const char *kind = n->relay, *op = "sum";
    if (gpuc_dtype_equal(gpuc_onnx_type(n, 0)->dtype, GPUC_BOOL)) /* since opset 20 */
        kind = !strcmp(kind, "max") ? "any" : !strcmp(kind, "min") ? "all" : kind;
    if (!strcmp(kind, "l1"))
        x = gpuc_onnx_op1(n, "abs", NULL, x);
    else if (!strcmp(kind, "l2") || !strcmp(kind, "sum_square"))
        x = gpuc_onnx_op2(n, "multiply", x, x);
    else if (!strcmp(kind, "log_sum_exp")) {
        n->out[0] = nothing ? x : log_sum_exp(n, x, a);
        return;
    } else if (strcmp(kind, "log_sum")) {
        op = kind;
    }
    if (!nothing) x = gpuc_onnx_op1(n, op, a, x);
    if (!strcmp(kind, "l2")) x = gpuc_onnx_op1(n, "sqrt", NULL, x);
    if (!strcmp(kind, "log_sum")) x = gpuc_onnx_op1(n, "log", NULL, x);
    n->out[0] = x;
}

/* ---- Constants ---- */

void gpuc_onnx_constant(gpuc_onnx_node *n)
{
    gpuc_ctx *ctx = n->ctx;
    const Onnx__AttributeProto *a;
    int64_t count;
    if ((a = gpuc_onnx_attr(n, "value"))) {
        if (!a->t) gpuc_onnx_fail(n, "attribute 'value' holds no tensor");
        n->out[0] = gpuc_onnx_tensor(n->m, a->t, n->proto->n_output ? n->proto->output[0] : "");
    } else if ((a = gpuc_onnx_attr(n, "value_float"))) {
        n->out[0] = gpuc_relay_const_bytes(ctx, GPUC_FLOAT32, 0, NULL, &a->f);
    } else if ((a = gpuc_onnx_attr(n, "value_int"))) {
        n->out[0] = gpuc_relay_const_bytes(ctx, GPUC_INT64, 0, NULL, &a->i);
    } else if ((a = gpuc_onnx_attr(n, "value_floats"))) {
        count = (int64_t)a->n_floats;
        n->out[0] = gpuc_relay_const_bytes(ctx, GPUC_FLOAT32, 1, &count, a->floats);
    } else if ((a = gpuc_onnx_attr(n, "value_ints"))) {
        count = (int64_t)a->n_ints;
        n->out[0] = gpuc_relay_const_bytes(ctx, GPUC_INT64, 1, &count, a->ints);
    } else {
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "the constant is neither a tensor nor numbers");
    }
}

void gpuc_onnx_constant_of_shape(gpuc_onnx_node *n)
{
    int count;
    const int64_t *shape = gpuc_onnx_in_ints(n, 0, &count);
    for (int i = 0; i < count; i++)
        if (shape[i] < 0) gpuc_onnx_fail(n, "dimension %d of the shape is %lld", i, (long long)shape[i]);
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, "value");
    gpuc_rexpr *value =
        a && a->t ? gpuc_onnx_tensor(n->m, a->t, "value") : gpuc_relay_const_scalar(n->ctx, GPUC_FLOAT32, 0);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(value);
    if (t->ndim && gpuc_tensor_type_bytes(n->ctx, t) != (int64_t)gpuc_dtype_bytes(t->dtype))
        gpuc_onnx_fail(n, "attribute 'value' has more than one element");
    value = gpuc_onnx_reshaped(n, value, 0, NULL);
    n->out[0] = gpuc_onnx_op1(n, "broadcast_to", gpuc_attrs_ints(n->ctx, NULL, "shape", count, shape), value);
}

static bool is_float(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_FLOAT || t.code == GPUC_DTYPE_BFLOAT;
}

void gpuc_onnx_range(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[3];
    const gpuc_attrs *a = NULL;
    for (int i = 0; i < 3; i++) args[i] = gpuc_onnx_reshaped(n, gpuc_onnx_in(n, i), 0, NULL);
    if (is_float(gpuc_onnx_type(n, 0)->dtype)) {
        double start = gpuc_onnx_in_number(n, 0), limit = gpuc_onnx_in_number(n, 1),
               step = gpuc_onnx_in_number(n, 2);
        double length = ceil((limit - start) / step);
        if (!(fabs(length) < 0x1p62))
            gpuc_onnx_fail(n, "the step %g does not lead from %g to %g", step, start, limit);
        a = gpuc_attrs_int(n->ctx, NULL, "length", length > 0 ? (int64_t)length : 0);
    } else {
        for (int i = 0; i < 3; i++) { /* arange reads known values */
            const gpuc_rconstant *c = gpuc_onnx_constant_in(n, i);
            if (c) args[i] = gpuc_onnx_reshaped(n, (gpuc_rexpr *)&c->base, 0, NULL);
        }
    }
    n->out[0] = gpuc_relay_op(n->ctx, "arange", a, 3, args);
}
