/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that take and put elements by position, sort and run along an axis. */
#include <string.h>

#include "onnx/onnx.h"
#include "relay/infer.h"

static const gpuc_attrs *axis_attr(gpuc_onnx_node *n, int64_t otherwise)
{
    return gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", otherwise));
}

/* Positions that the model itself holds lie in the data, of which they are along dimension first, or, where
 * each index is a row of `row` of them, along those from there on. */
static void check_positions(gpuc_onnx_node *n, int first, int64_t row)
{
    const gpuc_rexpr *at = gpuc_onnx_in(n, 1);
    const gpuc_tensor_type *in = gpuc_onnx_type(n, 0), *t = gpuc_onnx_type(n, 1);
    size_t item = gpuc_dtype_bytes(t->dtype);
    if (at->kind != GPUC_REXPR_CONSTANT ||
        (t->dtype.code != GPUC_DTYPE_INT && t->dtype.code != GPUC_DTYPE_UINT))
        return;
    const gpuc_const_data *data = gpuc_as_rconstant(at)->data;
    for (size_t i = 0; i * item < data->size; i++) {
        int64_t k = first + (int64_t)i % row, extent;
        if (k >= in->ndim || !in->dims[k] || !gpuc_expr_is_int(in->dims[k], &extent)) continue;
        int64_t v = gpuc_relay_read_integer((const char *)data->bytes + i * item, t->dtype);
        if (v < -extent || v >= extent)
            gpuc_onnx_fail(n, "index %zu is %lld, outside of the %lld elements of dimension %lld", i,
                           (long long)v, (long long)extent, (long long)k);
    }
}

/* The operator has its positions along its axis. */
static void check_along_axis(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    if (ndim) check_positions(n, gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 0), ndim), 1);
}

/* Its last dimension holds positions along the dimensions behind the batch. */
static void check_tuples(gpuc_onnx_node *n, int64_t batch)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 1);
    int64_t row;
    if (t->ndim && gpuc_expr_is_int(t->dims[t->ndim - 1], &row) && row > 0 && batch >= 0 && batch < t->ndim)
        check_positions(n, (int)batch, row);
}

/* An operator whose only attribute is the axis. */
static void along_axis(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    check_along_axis(n);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), axis_attr(n, 0), 2, args);
}

static void gather(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    check_along_axis(n);
    const gpuc_attrs *a = gpuc_attrs_string(n->ctx, axis_attr(n, 0), "mode", "negative");
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 2, args);
}

static void gather_nd(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    int64_t batch = gpuc_onnx_int(n, "batch_dims", 0);
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "batch_dims", batch);
    check_tuples(n, batch);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 2, args);
}

/* ---- Scatter ---- */

static void scatter(gpuc_onnx_node *n, const gpuc_attrs *a)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1), gpuc_onnx_in(n, 2)};
    a = gpuc_attrs_string(n->ctx, a, "reduction", gpuc_onnx_string(n, "reduction", "none"));
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 3, args);
}

static void scatter_elements(gpuc_onnx_node *n)
{
    check_along_axis(n);
    scatter(n, axis_attr(n, 0));
}

static void scatter_nd(gpuc_onnx_node *n)
{
    check_tuples(n, 0);
    scatter(n, NULL);
}

static void tensor_scatter(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[3] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    bool placed = gpuc_onnx_has(n, 2);
    if (placed) args[2] = gpuc_onnx_in(n, 2);
    const gpuc_attrs *a =
        gpuc_attrs_string(n->ctx, axis_attr(n, -2), "mode", gpuc_onnx_string(n, "mode", "linear"));
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 2 + placed, args);
}

/* ---- OneHot ---- */

static int64_t whole_number(gpuc_onnx_node *n, int i, const char *what)
{
    double v = gpuc_onnx_in_number(n, i);
    if (!(v >= -0x1p53 && v <= 0x1p53)) gpuc_onnx_fail(n, "%s is %g", what, v);
    return (int64_t)v;
}

/* Element k of a list of two, as a scalar. */
static gpuc_rexpr *one_of_two(gpuc_onnx_node *n, gpuc_rexpr *list, int64_t k)
{
    int64_t one = 1;
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "begin", 1, &k);
    a = gpuc_attrs_ints(n->ctx, gpuc_attrs_ints(n->ctx, a, "sizes", 1, &one), "strides", 1, &one);
    return gpuc_onnx_reshaped(n, gpuc_onnx_op1(n, "strided_slice", a, list), 0, NULL);
}

/* The depth may be of any type; integers may be computed. */
static gpuc_expr depth_of(gpuc_onnx_node *n)
{
    gpuc_dtype t = gpuc_onnx_type(n, 1)->dtype;
    int count;
    if (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT)
        return gpuc_int(n->ctx, whole_number(n, 1, "depth"));
    const gpuc_expr *sizes = gpuc_onnx_in_sizes(n, 1, &count);
    if (count != 1) gpuc_onnx_fail(n, "depth has %d numbers, needs 1", count);
    return sizes[0];
}

static void one_hot(gpuc_onnx_node *n)
{
    gpuc_rexpr *at = gpuc_onnx_in(n, 0), *values;
    gpuc_dtype t = gpuc_onnx_type(n, 0)->dtype;
    gpuc_expr depth = depth_of(n);
    values = gpuc_onnx_list_of(n, 2, 2, "values must be a list of two: off and on");
    if (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT) at = gpuc_onnx_as(n, at, GPUC_INT64);
    gpuc_rexpr *args[] = {at, one_of_two(n, values, 1), one_of_two(n, values, 0)};
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n),
                              gpuc_attrs_sizes(n->ctx, axis_attr(n, -1), "depth", 1, &depth), 3, args);
}

/* ---- TopK, CumSum ---- */

static void topk(gpuc_onnx_node *n, gpuc_expr k)
{
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, axis_attr(n, -1), "k", 1, &k);
    a = gpuc_attrs_int(n->ctx, a, "largest", gpuc_onnx_int(n, "largest", 1));
    a = gpuc_attrs_int(n->ctx, a, "sorted", gpuc_onnx_int(n, "sorted", 1));
    gpuc_rexpr *both =
        gpuc_onnx_op1(n, "topk", gpuc_attrs_dtype(n->ctx, a, "dtype", GPUC_INT64), gpuc_onnx_in(n, 0));
    for (int i = 0; i < n->n_out && i < 2; i++) n->out[i] = gpuc_relay_get(n->ctx, both, i);
}

static void topk_1(gpuc_onnx_node *n)
{
    if (!gpuc_onnx_attr(n, "k")) gpuc_onnx_fail(n, "attribute 'k' is missing");
    topk(n, gpuc_int(n->ctx, gpuc_onnx_int(n, "k", 0)));
}

static void topk_10(gpuc_onnx_node *n)
{
    int count;
    const gpuc_onnx_size *k = gpuc_onnx_in_numbers(n, 1, &count);
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    if (count != 1) gpuc_onnx_fail(n, "K has %d numbers, needs 1", count);
    if (k->known || t->ndim == 0) {
        topk(n, k->known ? k->known : gpuc_int(n->ctx, 1));
        return;
    }
    gpuc_expr max = t->dims[gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", -1), t->ndim)];
    topk(n, gpuc_onnx_read_size(n, k->number, "k", max));
}

static void running(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "axis", whole_number(n, 1, "axis"));
    a = gpuc_attrs_int(n->ctx, a, "exclusive", gpuc_onnx_int(n, "exclusive", 0) != 0);
    a = gpuc_attrs_int(n->ctx, a, "reverse", gpuc_onnx_int(n, "reverse", 0) != 0);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

const gpuc_onnx_row gpuc_onnx_rows_index[] = {
    {"Gather", 1, gather},
    {"GatherElements", 11, along_axis},
    {"GatherND", 11, gather_nd},
    {"Scatter", 9, scatter_elements},
    {"ScatterElements", 11, scatter_elements},
    {"ScatterND", 11, scatter_nd},
    {"TensorScatter", 24, tensor_scatter},
    {"OneHot", 9, one_hot},
    {"TopK", 1, topk_1},
    {"TopK", 10, topk_10},
    {"CumSum", 11, running},
    {"CumProd", 26, running},
    {NULL, 0, NULL},
};
