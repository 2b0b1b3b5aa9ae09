/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose results are as long as what they find: computed with room for all that there may be, then
 * cut to the number that was found. */
#include <math.h>

#include "onnx/onnx.h"

/* Part i of what an operator found, cut along an axis to the number that is part `count`. */
static gpuc_rexpr *cut(gpuc_onnx_node *n, gpuc_rexpr *found, int i, int count, int axis, const char *name)
{
    gpuc_rexpr *all = gpuc_relay_get(n->ctx, found, i);
    gpuc_expr max = gpuc_relay_tensor_type(all)->dims[axis];
    return gpuc_relay_truncate(n->ctx, all, axis,
                               gpuc_onnx_read_size(n, gpuc_relay_get(n->ctx, found, count), name, max));
}

static void non_zero(gpuc_onnx_node *n)
{
    static const int64_t swap[] = {1, 0};
    gpuc_rexpr *found = gpuc_onnx_op1(n, gpuc_onnx_relay(n), NULL, gpuc_onnx_in(n, 0));
    gpuc_rexpr *rows = cut(n, found, 0, 1, 0, "nonzero");
    n->out[0] = gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", 2, swap), rows);
}

/* The input and the axis; without one, the input as a list. */
static gpuc_rexpr *along_axis(gpuc_onnx_node *n, int *axis)
{
    static const int64_t all = -1;
    *axis = 0;
    if (!gpuc_onnx_attr(n, "axis")) return gpuc_onnx_reshaped(n, gpuc_onnx_in(n, 0), 1, &all);
    *axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 0), gpuc_onnx_type(n, 0)->ndim);
    return gpuc_onnx_in(n, 0);
}

static void compress(gpuc_onnx_node *n)
{
    int axis;
    gpuc_rexpr *x = along_axis(n, &axis), *args[] = {x, gpuc_onnx_in(n, 1)};
    gpuc_rexpr *found =
        gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), gpuc_attrs_int(n->ctx, NULL, "axis", axis), 2, args);
    n->out[0] = cut(n, found, 0, 1, axis, "compressed");
}

static void unique(gpuc_onnx_node *n)
{
    enum { VALUES, FIRST, INVERSE, COUNTS, COUNT };
    int axis;
    gpuc_rexpr *x = along_axis(n, &axis);
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "axis", axis);
    a = gpuc_attrs_int(n->ctx, a, "sorted", gpuc_onnx_int(n, "sorted", 1));
    gpuc_rexpr *found = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, x);
    for (int i = 0; i < n->n_out && i < COUNT; i++)
        n->out[i] = i == INVERSE ? gpuc_relay_get(n->ctx, found, i)
                                 : cut(n, found, i, COUNT, i == VALUES ? axis : 0, "unique");
}

/* ---- NonMaxSuppression ---- */

/* Input i as a scalar of a type, or a constant where there is none. */
static gpuc_rexpr *number(gpuc_onnx_node *n, int i, gpuc_dtype t, double otherwise)
{
    if (gpuc_onnx_in_empty(n, i)) return gpuc_relay_const_scalar(n->ctx, t, otherwise);
    return gpuc_onnx_as(n, gpuc_onnx_reshaped(n, gpuc_onnx_in(n, i), 0, NULL), t);
}

static void non_max_suppression(gpuc_onnx_node *n)
{
    int64_t max = -1; /* of a class; where it is known, the result needs less room */
    if (gpuc_onnx_in_empty(n, 2))
        max = 0;
    else if (gpuc_onnx_constant_in(n, 2))
        max = (int64_t)fmin(fmax(gpuc_onnx_in_number(n, 2), 0), INT32_MAX);
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "max_output_size", max);
    a = gpuc_attrs_int(n->ctx, a, "center_point_box", gpuc_onnx_int(n, "center_point_box", 0));
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1), number(n, 2, GPUC_INT64, 0),
                          number(n, 3, GPUC_FLOAT32, 0), number(n, 4, GPUC_FLOAT32, -INFINITY)};
    gpuc_rexpr *found = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 5, args);
    n->out[0] = cut(n, found, 0, 1, 0, "selected");
}

const gpuc_onnx_row gpuc_onnx_rows_found[] = {
    {"NonZero", 9, non_zero}, {"Compress", 9, compress},
    {"Unique", 11, unique},   {"NonMaxSuppression", 10, non_max_suppression},
    {NULL, 0, NULL},
};
