/* SPDX-License-Identifier: Apache-2.0 */
/* Converts reductions, ArgMin, ArgMax and Hardmax. */
#include <float.h>
#include <string.h>

#include "base/element.h"
#include "onnx/onnx.h"

/* max + log(sum(exp(x - max))), with the maximum made finite: infinities come out as they are. */
static gpuc_rexpr *log_sum_exp(gpuc_onnx_node *n, gpuc_rexpr *x, const gpuc_attrs *a)
{
    gpuc_dtype t = gpuc_relay_tensor_type(x)->dtype;
    double limit = t.bits == 64 ? DBL_MAX : t.bits == 32 ? 0x1.fep127 : gpuc_float_largest(t);
    const gpuc_attrs *finite =
        gpuc_attrs_float(n->ctx, gpuc_attrs_float(n->ctx, NULL, "a_min", -limit), "a_max", limit);
    const gpuc_attrs *keep = gpuc_attrs_int(n->ctx, a, "keepdims", 1);
    gpuc_rexpr *max = gpuc_onnx_op1(n, "clip", finite, gpuc_onnx_op1(n, "max", keep, x));
    gpuc_rexpr *e = gpuc_onnx_op1(n, "exp", NULL, gpuc_onnx_op2(n, "subtract", x, max));
    gpuc_rexpr *log = gpuc_onnx_op1(n, "log", NULL, gpuc_onnx_op1(n, "sum", a, e));
    return gpuc_onnx_op2(n, "add", log, gpuc_onnx_op1(n, "clip", finite, gpuc_onnx_op1(n, "max", a, x)));
}

/* What is done to the elements before, and to the result after. */
typedef struct reduction {
    const char *op_type, *before, *after;
} reduction;

static const reduction reductions[] = {
    {"ReduceL1", "abs", NULL},     {"ReduceL2", "square", "sqrt"},    {"ReduceSumSquare", "square", NULL},
    {"ReduceLogSum", NULL, "log"}, {"ReduceLogSumExp", "exp", "log"}, {NULL, NULL, NULL},
};

/* The float type for functions of elements of type t. */
static gpuc_dtype float_for(gpuc_dtype t)
{
    return t.bits <= 16 || (gpuc_is_float(t) && t.bits == 32) ? GPUC_FLOAT32 : GPUC_FLOAT64;
}

static gpuc_rexpr *reduced(gpuc_onnx_node *n, const reduction *r, const gpuc_attrs *a, bool nothing,
                           gpuc_rexpr *x)
{
    gpuc_dtype t = gpuc_relay_tensor_type(x)->dtype;
    if (gpuc_is_float(t) && (r->before || r->after)) x = gpuc_onnx_as(n, x, float_for(t));
    if (r->before && !strcmp(r->before, "exp")) {
        if (!nothing) x = log_sum_exp(n, gpuc_onnx_as(n, x, float_for(t)), a);
        return gpuc_onnx_as(n, x, t);
    }
    if (r->before && !strcmp(r->before, "square"))
        x = gpuc_onnx_op2(n, "multiply", x, x);
    else if (r->before)
        x = gpuc_onnx_op1(n, r->before, NULL, x);
    if (!nothing) x = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, x);
    if (r->after) x = gpuc_onnx_op1(n, r->after, NULL, gpuc_onnx_as(n, x, float_for(t)));
    return gpuc_onnx_as(n, x, t);
}

static void reduce(gpuc_onnx_node *n)
{
    int count;
    if (gpuc_is_bool(gpuc_onnx_type(n, 0)->dtype) && !strcmp(gpuc_onnx_relay(n), "sum"))
        gpuc_onnx_fail(n, "ONNX has no sum of bools");
    const int64_t *axes = gpuc_onnx_axes(n, "axes", 1, &count);
    bool nothing = gpuc_onnx_int(n, "noop_with_empty_axes", 0) && count == 0;
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "axis", count, axes);
    a = gpuc_attrs_int(n->ctx, a, "keepdims", gpuc_onnx_int(n, "keepdims", 1));
    const reduction *r = reductions;
    while (r->op_type && strcmp(r->op_type, n->proto->op_type)) r++;
    n->out[0] = reduced(n, r, a, nothing, gpuc_onnx_in(n, 0));
}

static gpuc_rexpr *arg(gpuc_onnx_node *n, const char *op, gpuc_rexpr *x, int64_t axis, bool keep, bool last)
{
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "axis", 1, &axis);
    a = gpuc_attrs_int(n->ctx, a, "keepdims", keep);
    a = gpuc_attrs_int(n->ctx, a, "select_last_index", last);
    return gpuc_onnx_op1(n, op, gpuc_attrs_dtype(n->ctx, a, "dtype", GPUC_INT64), x);
}

static void arg_reduce(gpuc_onnx_node *n)
{
    int64_t axis = gpuc_onnx_int(n, "axis", 0);
    bool keep = gpuc_onnx_int(n, "keepdims", 1), last = gpuc_onnx_int(n, "select_last_index", 0);
    n->out[0] = arg(n, gpuc_onnx_relay(n), gpuc_onnx_in(n, 0), axis, keep, last);
}

/* 1 where an element is the first largest one along the axis, else 0. */
static gpuc_rexpr *hardmax(gpuc_onnx_node *n, gpuc_rexpr *x, int axis)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, NULL, "depth", 1, &t->dims[axis]);
    gpuc_rexpr *args[] = {arg(n, "argmax", x, axis, false, false),
                          gpuc_relay_const_scalar(n->ctx, t->dtype, 1),
                          gpuc_relay_const_scalar(n->ctx, t->dtype, 0)};
    return gpuc_relay_op(n->ctx, "one_hot", gpuc_attrs_int(n->ctx, a, "axis", axis), 3, args);
}

static void hardmax_13(gpuc_onnx_node *n)
{
    int axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", -1), gpuc_onnx_type(n, 0)->ndim);
    n->out[0] = hardmax(n, gpuc_onnx_in(n, 0), axis);
}

/* Before opset 13 the input is seen as a matrix whose rows start at axis. */
static void hardmax_1(gpuc_onnx_node *n)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    int axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 1), t->ndim);
    gpuc_rexpr *ones = hardmax(n, gpuc_onnx_matrix(n, gpuc_onnx_in(n, 0), axis), 1);
    n->out[0] = gpuc_onnx_reshaped_sizes(n, ones, t->ndim, t->dims);
}

const gpuc_onnx_row gpuc_onnx_rows_reduce[] = {
    {"ReduceSum", 1, reduce},       {"ReduceMean", 1, reduce},      {"ReduceMax", 1, reduce},
    {"ReduceMin", 1, reduce},       {"ReduceProd", 1, reduce},      {"ReduceL1", 1, reduce},
    {"ReduceL2", 1, reduce},        {"ReduceSumSquare", 1, reduce}, {"ReduceLogSum", 1, reduce},
    {"ReduceLogSumExp", 1, reduce}, {"ArgMax", 1, arg_reduce},      {"ArgMin", 1, arg_reduce},
    {"Hardmax", 1, hardmax_1},      {"Hardmax", 13, hardmax_13},    {NULL, 0, NULL},
};
