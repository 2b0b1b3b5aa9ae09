/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, softmax, constants. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"
#include "relay/count_steps.h"
#include "relay/infer.h"

static void identity(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_in(n, 0);
}

/* Before opset 7, attributes say whether the second operand is broadcast, and which dimension of the first
 * one its first dimension is. */
static void broadcast_1(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    const gpuc_tensor_type *x = gpuc_onnx_type(n, 0), *y = gpuc_onnx_type(n, 1);
    bool given = gpuc_onnx_attr(n, "axis") != NULL;
    int64_t axis = gpuc_onnx_int(n, "axis", 0);
    if (gpuc_onnx_int(n, "broadcast", 0) && given && x->ndim && y->ndim) {
        int at = gpuc_onnx_axis(n, axis, x->ndim);
        gpuc_expr full[GPUC_OP_MAX_DIMS];
        if (at + y->ndim > x->ndim)
            gpuc_onnx_fail(n, "input 1 of %d dimensions does not fit behind dimension %d of input 0", y->ndim,
                           at);
        for (int i = 0; i < x->ndim - at; i++) full[i] = i < y->ndim ? y->dims[i] : gpuc_int(n->ctx, 1);
        n->in[1] = gpuc_onnx_reshaped_sizes(n, n->in[1], x->ndim - at, full);
    }
    n->out[0] = gpuc_onnx_op2(n, gpuc_onnx_relay(n), n->in[0], n->in[1]);
}

static void fold(gpuc_onnx_node *n, const char *op)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    gpuc_rexpr *all = gpuc_onnx_in(n, 0);
    for (int i = 1; i < n->n_in; i++) all = gpuc_onnx_op2(n, op, all, gpuc_onnx_in(n, i));
    n->out[0] = all;
}

static void variadic(gpuc_onnx_node *n)
{
    fold(n, gpuc_onnx_relay(n));
}

static void sum(gpuc_onnx_node *n)
{
    fold(n, "add");
}

static void mean(gpuc_onnx_node *n)
{
    sum(n);
    gpuc_dtype t = gpuc_relay_tensor_type(n->out[0])->dtype;
    n->out[0] = gpuc_onnx_op2(n, "divide", n->out[0], gpuc_relay_const_scalar(n->ctx, t, n->n_in));
}

/* The type in which a power of mixed types is computed: that of integers is exact. */
static gpuc_dtype power_type(gpuc_dtype base, gpuc_dtype exponent)
{
    if (gpuc_dtype_equal(base, exponent)) return base;
    if (gpuc_is_float(base)) return gpuc_is_float(exponent) && exponent.bits > base.bits ? exponent : base;
    if (gpuc_is_float(exponent)) return base.bits > 16 || exponent.bits > 32 ? GPUC_FLOAT64 : GPUC_FLOAT32;
    bool small = (base.code == GPUC_DTYPE_INT ? base.bits <= 32 : base.bits < 32) &&
                 (exponent.code == GPUC_DTYPE_INT ? exponent.bits <= 32 : exponent.bits < 32);
    return small ? GPUC_INT32 : GPUC_INT64;
}

static gpuc_rexpr *power_of(gpuc_onnx_node *n, gpuc_rexpr *base, gpuc_rexpr *exponent)
{
    gpuc_dtype t = gpuc_relay_tensor_type(base)->dtype,
               work = power_type(t, gpuc_relay_tensor_type(exponent)->dtype);
    gpuc_rexpr *y = gpuc_onnx_op2(n, "power", gpuc_onnx_as(n, base, work), gpuc_onnx_as(n, exponent, work));
    return gpuc_onnx_as(n, y, t);
}

static void power(gpuc_onnx_node *n)
{
    n->out[0] = power_of(n, gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1));
}

static void mod(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_op2(n, gpuc_onnx_int(n, "fmod", 0) ? "mod" : "floor_mod", gpuc_onnx_in(n, 0),
                              gpuc_onnx_in(n, 1));
}

static void bit_shift(gpuc_onnx_node *n)
{
    const char *direction = gpuc_onnx_string(n, "direction", "");
    bool left = !strcmp(direction, "LEFT");
    if (!left && strcmp(direction, "RIGHT"))
        gpuc_onnx_fail(n, "direction '%s' is neither LEFT nor RIGHT", direction);
    n->out[0] = gpuc_onnx_op2(n, left ? "left_shift" : "right_shift", gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1));
}

static void cast(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "saturate"); /* these two say something of float8 only */
    gpuc_onnx_ignore(n, "round_mode");
    int64_t to = gpuc_onnx_int(n, "to", 0);
    if (to == 0) gpuc_onnx_fail(n, "attribute 'to' is missing");
    n->out[0] = gpuc_onnx_as(n, gpuc_onnx_in(n, 0), gpuc_onnx_dtype(n->ctx, to, "attribute 'to'"));
}

static void cast_like(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "saturate");
    gpuc_onnx_ignore(n, "round_mode");
    n->out[0] = gpuc_onnx_as(n, gpuc_onnx_in(n, 0), gpuc_onnx_type(n, 1)->dtype);
}

static void clip_6(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    const gpuc_attrs *a = gpuc_attrs_float(n->ctx, NULL, "a_min", gpuc_onnx_float(n, "min", -INFINITY));
    a = gpuc_attrs_float(n->ctx, a, "a_max", gpuc_onnx_float(n, "max", INFINITY));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

static void clip_11(gpuc_onnx_node *n)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    for (int i = 1; i < 3; i++)
        if (gpuc_onnx_has(n, i))
            x = gpuc_onnx_op2(n, i == 1 ? "maximum" : "minimum", x, gpuc_onnx_reshaped(n, n->in[i], 0, NULL));
    n->out[0] = x;
}

static void is_inf(gpuc_onnx_node *n)
{
    bool negative = gpuc_onnx_int(n, "detect_negative", 1), positive = gpuc_onnx_int(n, "detect_positive", 1);
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), NULL, x);
    if (negative && positive) return;
    gpuc_rexpr *zero = gpuc_relay_const_scalar(n->ctx, gpuc_onnx_type(n, 0)->dtype, 0);
    if (!negative)
        n->out[0] = gpuc_onnx_op2(n, "logical_and", n->out[0], gpuc_onnx_op2(n, "greater", x, zero));
    if (!positive) n->out[0] = gpuc_onnx_op2(n, "logical_and", n->out[0], gpuc_onnx_op2(n, "less", x, zero));
}

/* ---- Softmax ---- */

static void softmax_13(gpuc_onnx_node *n)
{
    n->out[0] =
        gpuc_onnx_op1(n, gpuc_onnx_relay(n),
                      gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", -1)), gpuc_onnx_in(n, 0));
}

/* Before opset 13 the input is seen as a matrix whose rows start at axis. */
static void softmax_1(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 1), ndim);
    if (axis == ndim - 1) {
        n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_int(n->ctx, NULL, "axis", axis),
                                  gpuc_onnx_in(n, 0));
        return;
    }
    gpuc_rexpr *x = gpuc_onnx_matrix(n, gpuc_onnx_in(n, 0), axis);
    x = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_int(n->ctx, NULL, "axis", 1), x);
    n->out[0] = gpuc_onnx_reshaped_sizes(n, x, ndim, gpuc_onnx_type(n, 0)->dims);
}

/* ---- Constants ---- */

static void constant(gpuc_onnx_node *n)
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

static void constant_of_shape(gpuc_onnx_node *n)
{
    int count;
    const gpuc_expr *shape = gpuc_onnx_in_sizes(n, 0, &count);
    for (int i = 0; i < count; i++) {
        int64_t d;
        if (gpuc_expr_is_int(shape[i], &d) && d < 0)
            gpuc_onnx_fail(n, "dimension %d of the shape is %lld", i, (long long)d);
    }
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, "value");
    gpuc_rexpr *value =
        a && a->t ? gpuc_onnx_tensor(n->m, a->t, "value") : gpuc_relay_const_scalar(n->ctx, GPUC_FLOAT32, 0);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(value);
    if (t->ndim && gpuc_relay_tensor_type_bytes(n->ctx, t) != (int64_t)gpuc_dtype_bytes(t->dtype))
        gpuc_onnx_fail(n, "attribute 'value' has more than one element");
    value = gpuc_onnx_reshaped(n, value, 0, NULL);
    n->out[0] =
        gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_sizes(n->ctx, NULL, "shape", count, shape), value);
}

/* ---- Range ---- */

static gpuc_expr range_length(gpuc_onnx_node *n, gpuc_rexpr *const *args)
{
    gpuc_rexpr *count = gpuc_relay_count_steps(n->ctx, args[0], args[1], args[2]);
    const gpuc_rconstant *known = gpuc_onnx_constant(n, count);
    if (!known) return gpuc_onnx_read_size(n, count, "range", NULL);
    int64_t length = gpuc_relay_read_integer(known->data->bytes, GPUC_INT64);
    if (length < 0)
        gpuc_onnx_fail(n, "the step %g does not lead from %g to %g", gpuc_onnx_in_number(n, 2),
                       gpuc_onnx_in_number(n, 0), gpuc_onnx_in_number(n, 1));
    return gpuc_int(n->ctx, length);
}

static void range(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[3];
    gpuc_expr length = NULL;
    bool followed = !gpuc_is_float(gpuc_onnx_type(n, 0)->dtype); /* arange counts by known values */
    for (int i = 0; i < 3; i++) {
        const gpuc_rconstant *c = gpuc_onnx_constant_in(n, i);
        args[i] = gpuc_onnx_reshaped(n, c ? (gpuc_rexpr *)&c->base : gpuc_onnx_in(n, i), 0, NULL);
        followed &= args[i]->values && (i < 2 || args[i]->values[0]->kind == GPUC_EXPR_INT);
    }
    if (gpuc_onnx_constant_in(n, 2) && gpuc_onnx_in_number(n, 2) == 0) gpuc_onnx_fail(n, "the step is 0");
    if (!followed) length = range_length(n, args);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n),
                              length ? gpuc_attrs_sizes(n->ctx, NULL, "length", 1, &length) : NULL, 3, args);
}

const gpuc_onnx_row gpuc_onnx_rows_math[] = {
    {"Abs", 1, gpuc_onnx_simple},
    {"Acos", 7, gpuc_onnx_simple},
    {"Acosh", 9, gpuc_onnx_simple},
    {"Add", 1, broadcast_1},
    {"Add", 7, gpuc_onnx_simple},
    {"And", 1, broadcast_1},
    {"And", 7, gpuc_onnx_simple},
    {"Asin", 7, gpuc_onnx_simple},
    {"Asinh", 9, gpuc_onnx_simple},
    {"Atan", 7, gpuc_onnx_simple},
    {"Atanh", 9, gpuc_onnx_simple},
    {"BitwiseAnd", 18, gpuc_onnx_simple},
    {"BitwiseNot", 18, gpuc_onnx_simple},
    {"BitwiseOr", 18, gpuc_onnx_simple},
    {"BitwiseXor", 18, gpuc_onnx_simple},
    {"Ceil", 1, gpuc_onnx_simple},
    {"Cos", 7, gpuc_onnx_simple},
    {"Cosh", 9, gpuc_onnx_simple},
    {"Div", 1, broadcast_1},
    {"Div", 7, gpuc_onnx_simple},
    {"Equal", 1, broadcast_1},
    {"Equal", 7, gpuc_onnx_simple},
    {"Erf", 9, gpuc_onnx_simple},
    {"Exp", 1, gpuc_onnx_simple},
    {"Floor", 1, gpuc_onnx_simple},
    {"Greater", 1, broadcast_1},
    {"Greater", 7, gpuc_onnx_simple},
    {"GreaterOrEqual", 12, gpuc_onnx_simple},
    {"IsNaN", 9, gpuc_onnx_simple},
    {"Less", 1, broadcast_1},
    {"Less", 7, gpuc_onnx_simple},
    {"LessOrEqual", 12, gpuc_onnx_simple},
    {"Log", 1, gpuc_onnx_simple},
    {"Mul", 1, broadcast_1},
    {"Mul", 7, gpuc_onnx_simple},
    {"Neg", 1, gpuc_onnx_simple},
    {"Not", 1, gpuc_onnx_simple},
    {"Or", 1, broadcast_1},
    {"Or", 7, gpuc_onnx_simple},
    {"Reciprocal", 1, gpuc_onnx_simple},
    {"Round", 11, gpuc_onnx_simple},
    {"Sigmoid", 1, gpuc_onnx_simple},
    {"Sign", 9, gpuc_onnx_simple},
    {"Sin", 7, gpuc_onnx_simple},
    {"Sinh", 9, gpuc_onnx_simple},
    {"Sqrt", 1, gpuc_onnx_simple},
    {"Sub", 1, broadcast_1},
    {"Sub", 7, gpuc_onnx_simple},
    {"Tan", 7, gpuc_onnx_simple},
    {"Tanh", 1, gpuc_onnx_simple},
    {"Where", 9, gpuc_onnx_simple},
    {"Xor", 1, broadcast_1},
    {"Xor", 7, gpuc_onnx_simple},
    {"Max", 1, variadic},
    {"Min", 1, variadic},
    {"Sum", 1, sum},
    {"Mean", 1, mean},
    {"Pow", 1, broadcast_1},
    {"Pow", 7, power},
    {"Mod", 10, mod},
    {"Cast", 6, cast},
    {"CastLike", 15, cast_like},
    {"Clip", 1, clip_6},
    {"Clip", 11, clip_11},
    {"IsInf", 10, is_inf},
    {"Softmax", 1, softmax_1},
    {"Softmax", 13, softmax_13},
    {"LogSoftmax", 1, softmax_1},
    {"LogSoftmax", 13, softmax_13},
    {"Identity", 1, identity},
    {"Constant", 1, constant},
    {"ConstantOfShape", 9, constant_of_shape},
    {"Range", 11, range},
    {"BitShift", 11, bit_shift},
    {NULL, 0, NULL},
};
