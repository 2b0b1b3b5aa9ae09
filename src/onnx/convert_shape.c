/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give the same elements another shape, and those that tell a shape. */
#include "onnx/onnx.h"

static gpuc_rexpr *choose(gpuc_onnx_node *n, gpuc_rexpr *x, int64_t if_equal, gpuc_rexpr *then)
{
    gpuc_rexpr *args[] = {gpuc_onnx_op2(n, "equal", x, gpuc_onnx_number(n, if_equal)), then, x};
    return gpuc_relay_op(n->ctx, "where", NULL, 3, args);
}

/* Computed sizes may be 0, for that of the input, or -1, for what the others leave. The program puts the
 * extents in their place, so that what is read are extents. */
static void resolve(gpuc_onnx_node *n, bool allow_zero, int count, gpuc_onnx_size *sizes)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    gpuc_rexpr *known = gpuc_onnx_number(n, 1), *all, *left;
    int computed = 0;
    for (int i = 0; i < count; i++) computed += !sizes[i].known;
    if (!computed) return;
    for (int i = 0; i < count; i++) {
        gpuc_onnx_size extent = {.known = i < t->ndim ? t->dims[i] : NULL};
        gpuc_rexpr *size = gpuc_onnx_number_of(n, sizes[i]);
        if (!allow_zero && extent.known) size = choose(n, size, 0, gpuc_onnx_number_of(n, extent));
        if (!sizes[i].known) sizes[i].number = size;
        known = gpuc_onnx_op2(n, "multiply", known, choose(n, size, -1, gpuc_onnx_number(n, 1)));
    }
    all = gpuc_onnx_number_of(n, (gpuc_onnx_size){.known = gpuc_onnx_elements(n, 0, t->ndim)});
    left = gpuc_onnx_op2(n, "floor_divide", all, gpuc_onnx_op2(n, "maximum", known, gpuc_onnx_number(n, 1)));
    for (int i = 0; i < count; i++)
        if (!sizes[i].known) sizes[i].number = choose(n, sizes[i].number, -1, left);
}

static void reshape(gpuc_onnx_node *n)
{
    int count, ndim = gpuc_onnx_type(n, 0)->ndim;
    gpuc_onnx_size *want = gpuc_onnx_in_numbers(n, 1, &count);
    bool allow_zero = gpuc_onnx_int(n, "allowzero", 0);
    gpuc_expr *dims = gpuc_new_array(n->ctx, gpuc_expr, count);
    resolve(n, allow_zero, count, want);
    for (int i = 0; i < count; i++) {
        dims[i] = want[i].known ? want[i].known : gpuc_onnx_read_size(n, want[i].number, "size", NULL);
        if (allow_zero || !gpuc_tir_is_const(dims[i], 0)) continue;
        if (i >= ndim)
            gpuc_onnx_fail(n, "dimension %d of the new shape is 0, the input has no such dimension", i);
        dims[i] = gpuc_onnx_type(n, 0)->dims[i];
    }
    n->out[0] = gpuc_onnx_reshaped_sizes(n, gpuc_onnx_in(n, 0), count, dims);
}

static void flatten(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", 1));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

static void change_rank(gpuc_onnx_node *n, const char *op)
{
    int count;
    const int64_t *axes = gpuc_onnx_axes(n, "axes", 1, &count);
    n->out[0] = gpuc_onnx_op1(n, op, gpuc_attrs_ints(n->ctx, NULL, "axis", count, axes), gpuc_onnx_in(n, 0));
}

static void squeeze(gpuc_onnx_node *n)
{
    change_rank(n, gpuc_onnx_relay(n));
}

static void unsqueeze(gpuc_onnx_node *n)
{
    change_rank(n, gpuc_onnx_relay(n));
}

static void shape(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    int64_t start = gpuc_onnx_int(n, "start", 0), end = gpuc_onnx_int(n, "end", ndim), one = 1;
    start = gpuc_onnx_clamp(start < 0 ? start + ndim : start, 0, ndim);
    end = gpuc_onnx_clamp(end < 0 ? end + ndim : end, 0, ndim);
    gpuc_rexpr *shape = gpuc_onnx_op1(n, gpuc_onnx_relay(n), NULL, gpuc_onnx_in(n, 0));
    if (start != 0 || end != ndim) {
        int64_t size = end > start ? end - start : 0;
        const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "begin", 1, &start);
        a = gpuc_attrs_ints(n->ctx, gpuc_attrs_ints(n->ctx, a, "sizes", 1, &size), "strides", 1, &one);
        shape = gpuc_onnx_op1(n, "strided_slice", a, shape);
    }
    n->out[0] = shape;
}

const gpuc_onnx_row gpuc_onnx_rows_shape[] = {
    {"Reshape", 5, reshape}, {"Flatten", 1, flatten},
    {"Squeeze", 1, squeeze}, {"Unsqueeze", 1, unsqueeze},
    {"Shape", 1, shape},     {"Size", 1, gpuc_onnx_simple},
    {NULL, 0, NULL},
};
