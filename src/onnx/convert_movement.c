/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

static void transpose(gpuc_onnx_node *n)
{
    int count;
    const int64_t *perm = gpuc_onnx_ints(n, "perm", &count);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_ints(n->ctx, NULL, "axes", count, perm),
                              gpuc_onnx_in(n, 0));
}

static void concat(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", 1));
    for (int i = 0; i < n->n_in; i++) gpuc_onnx_in(n, i);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, n->n_in, n->in);
}

/* ---- Slice ---- */

/* A start or end as a position: from the end if negative, then in [lo, hi]. Numbers beyond the extent stand
 * for the end. */
static gpuc_expr position(gpuc_ctx *ctx, gpuc_expr v, gpuc_expr extent, gpuc_expr lo, gpuc_expr hi)
{
    int64_t known;
    if (gpuc_expr_is_int(v, &known)) {
        if (known >= INT32_MAX) return hi;
        if (known <= INT32_MIN) return lo;
        if (known < 0) v = gpuc_add(ctx, extent, v);
    } else {
        v = gpuc_select(ctx, gpuc_lt(ctx, v, gpuc_int(ctx, 0)), gpuc_add(ctx, v, extent), v);
    }
    return gpuc_max(ctx, lo, gpuc_min(ctx, v, hi));
}

/* Positions that are taken along an axis of an extent that is not known, or from ends that are not. */
static void slice_axis(gpuc_ctx *ctx, gpuc_expr extent, gpuc_expr start, gpuc_expr end, int64_t step,
                       gpuc_expr *begin, gpuc_expr *size)
{
    gpuc_expr zero = gpuc_int(ctx, 0), one = gpuc_int(ctx, 1), last = gpuc_sub(ctx, extent, one), span;
    int64_t by = step > 0 ? step : -step;
    if (step > 0) {
        *begin = position(ctx, start, extent, zero, extent);
        span = gpuc_sub(ctx, position(ctx, end, extent, zero, extent), *begin);
    } else {
        *begin = position(ctx, start, extent, zero, last);
        span = gpuc_sub(ctx, *begin, position(ctx, end, extent, gpuc_int(ctx, -1), last));
    }
    *size = gpuc_floordiv_(ctx, gpuc_add(ctx, span, gpuc_int(ctx, by - 1)), gpuc_int(ctx, by));
    *size = gpuc_max(ctx, *size, zero);
    if (step < 0) *size = gpuc_min(ctx, *size, extent); /* nothing has no last element */
}

static gpuc_rexpr *clamped(gpuc_onnx_node *n, gpuc_rexpr *x, gpuc_rexpr *lo, gpuc_rexpr *hi)
{
    return gpuc_onnx_op2(n, "maximum", lo, gpuc_onnx_op2(n, "minimum", x, hi));
}

/* As position, of numbers that the program computes. */
static gpuc_rexpr *computed_position(gpuc_onnx_node *n, gpuc_rexpr *v, gpuc_rexpr *extent, gpuc_rexpr *lo,
                                     gpuc_rexpr *hi)
{
    gpuc_rexpr *args[] = {gpuc_onnx_op2(n, "less", v, gpuc_onnx_number(n, 0)),
                          gpuc_onnx_op2(n, "add", v, extent), v};
    return clamped(n, gpuc_relay_op(n->ctx, "where", NULL, 3, args), lo, hi);
}

/* As slice_axis, where only the program knows the start or the end. It computes where the slice begins and
 * how long it is; neither exceeds the extent. */
static void computed_slice_axis(gpuc_onnx_node *n, gpuc_expr extent, gpuc_onnx_size start, gpuc_onnx_size end,
                                int64_t step, gpuc_expr *begin, gpuc_expr *size)
{
    int64_t by = step > 0 ? step : -step;
    gpuc_rexpr *d = gpuc_onnx_number_of(n, (gpuc_onnx_size){.known = extent}), *zero = gpuc_onnx_number(n, 0),
               *one = gpuc_onnx_number(n, 1), *last = gpuc_onnx_op2(n, "subtract", d, one), *span,
               *hi = step > 0 ? d : last, *before = step > 0 ? zero : gpuc_onnx_number(n, -1);
    gpuc_rexpr *from = computed_position(n, gpuc_onnx_number_of(n, start), d, zero, hi),
               *to = computed_position(n, gpuc_onnx_number_of(n, end), d, before, hi);
    span = step > 0 ? gpuc_onnx_op2(n, "subtract", to, from) : gpuc_onnx_op2(n, "subtract", from, to);
    span = gpuc_onnx_op2(n, "add", span, gpuc_onnx_number(n, by - 1));
    span = gpuc_onnx_op2(n, "floor_divide", span, gpuc_onnx_number(n, by));
    *begin = gpuc_onnx_read_size(n, from, "begin", extent);
    *size = gpuc_onnx_read_size(n, clamped(n, span, zero, d), "slice", extent);
}

static void slice(gpuc_onnx_node *n, int count, const gpuc_onnx_size *starts, const gpuc_onnx_size *ends,
                  const int64_t *axes, const int64_t *steps)
{
    gpuc_ctx *ctx = n->ctx;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    int ndim = t->ndim;
    gpuc_expr *begin = gpuc_new_array(ctx, gpuc_expr, ndim), *sizes = gpuc_new_array(ctx, gpuc_expr, ndim);
    int64_t *strides = gpuc_new_array(ctx, int64_t, ndim);
    for (int i = 0; i < ndim; i++) {
        begin[i] = gpuc_int(ctx, 0);
        sizes[i] = t->dims[i];
        strides[i] = 1;
    }
    for (int i = 0; i < count; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        int64_t d, step = steps ? steps[i] : 1, start, end;
        if (step == 0) gpuc_onnx_fail(n, "the step of axis %d is 0", k);
        bool computed = !starts[i].known || !ends[i].known;
        if (computed || !gpuc_expr_is_int(t->dims[k], &d) || !gpuc_expr_is_int(starts[i].known, &start) ||
            !gpuc_expr_is_int(ends[i].known, &end)) {
            if (step < -INT32_MAX || step > INT32_MAX)
                gpuc_onnx_fail(n, "the step of axis %d is too large", k);
            if (computed)
                computed_slice_axis(n, t->dims[k], starts[i], ends[i], step, &begin[k], &sizes[k]);
            else
                slice_axis(ctx, t->dims[k], starts[i].known, ends[i].known, step, &begin[k], &sizes[k]);
            strides[k] = step;
            continue;
        }
        if (start < 0) start = start < INT64_MIN + d ? INT64_MIN : start + d;
        if (end < 0) end = end < INT64_MIN + d ? INT64_MIN : end + d;
        start = step > 0 ? gpuc_onnx_clamp(start, 0, d) : gpuc_onnx_clamp(start, 0, d - 1);
        end = step > 0 ? gpuc_onnx_clamp(end, 0, d) : gpuc_onnx_clamp(end, -1, d - 1);
        int64_t span = step > 0 ? end - start : start - end, by = step > 0            ? step
                                                                  : step == INT64_MIN ? INT64_MAX
                                                                                      : -step;
        int64_t size = span > 0 && d > 0 ? (span - 1) / by + 1 : 0;
        begin[k] = gpuc_int(ctx, start);
        sizes[k] = gpuc_int(ctx, size);
        strides[k] = size > 1 ? step : 1; /* also a step that would overflow */
    }
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, NULL, "begin", ndim, begin);
    a = gpuc_attrs_sizes(n->ctx, a, "sizes", ndim, sizes);
    n->out[0] = gpuc_onnx_op1(n, "strided_slice", gpuc_attrs_ints(n->ctx, a, "strides", ndim, strides),
                              gpuc_onnx_in(n, 0));
}

static void same_length(gpuc_onnx_node *n, int have, int want, const char *what)
{
    if (have != want) gpuc_onnx_fail(n, "%s has %d entries, starts has %d", what, have, want);
}

static const gpuc_onnx_size *attr_numbers(gpuc_onnx_node *n, const char *name, int *count)
{
    const int64_t *list = gpuc_onnx_ints(n, name, count);
    gpuc_onnx_size *out = gpuc_new_array(n->ctx, gpuc_onnx_size, *count + 1);
    for (int i = 0; i < *count; i++) out[i].known = gpuc_int(n->ctx, list[i]);
    return out;
}

static void slice_1(gpuc_onnx_node *n)
{
    int count, other;
    const gpuc_onnx_size *starts = attr_numbers(n, "starts", &count), *ends = attr_numbers(n, "ends", &other);
    same_length(n, other, count, "ends");
    const int64_t *axes = gpuc_onnx_ints(n, "axes", &other);
    if (axes) same_length(n, other, count, "axes");
    slice(n, count, starts, ends, axes, NULL);
}

static void slice_10(gpuc_onnx_node *n)
{
    int count, other;
    const gpuc_onnx_size *starts = gpuc_onnx_in_numbers(n, 1, &count),
                         *ends = gpuc_onnx_in_numbers(n, 2, &other);
    same_length(n, other, count, "ends");
    const int64_t *axes = gpuc_onnx_has(n, 3) ? gpuc_onnx_in_ints(n, 3, &other) : NULL;
    if (axes) same_length(n, other, count, "axes");
    const int64_t *steps = gpuc_onnx_has(n, 4) ? gpuc_onnx_in_ints(n, 4, &other) : NULL;
    if (steps) same_length(n, other, count, "steps");
    slice(n, count, starts, ends, axes, steps);
}

static const gpuc_expr *attr_sizes(gpuc_onnx_node *n, const char *name, int *count)
{
    const int64_t *list = gpuc_onnx_ints(n, name, count);
    gpuc_expr *out = gpuc_new_array(n->ctx, gpuc_expr, *count + 1);
    for (int i = 0; i < *count; i++) out[i] = gpuc_int(n->ctx, list[i]);
    return out;
}

static void split(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 0), ndim), count;
    gpuc_ctx *ctx = n->ctx;
    const gpuc_expr *given = gpuc_onnx_attr(n, "split") ? attr_sizes(n, "split", &count)
                             : gpuc_onnx_has(n, 1)      ? gpuc_onnx_in_sizes(n, 1, &count)
                                                        : NULL;
    int64_t parts = gpuc_onnx_int(n, "num_outputs", n->n_out);
    gpuc_expr *sizes = gpuc_new_array(ctx, gpuc_expr, n->n_out + 1);
    if (given && count != n->n_out) gpuc_onnx_fail(n, "split has %d sizes for %d outputs", count, n->n_out);
    if (parts != n->n_out)
        gpuc_onnx_fail(n, "num_outputs is %lld, there are %d outputs", (long long)parts, n->n_out);
    gpuc_expr left = gpuc_onnx_type(n, 0)->dims[axis], outs = gpuc_int(ctx, n->n_out);
    gpuc_expr each = gpuc_floordiv_(ctx, gpuc_add(ctx, left, gpuc_int(ctx, n->n_out - 1)), outs);
    for (int i = 0; i < n->n_out; i++) {
        sizes[i] = given ? given[i] : gpuc_min(ctx, each, left);
        left = gpuc_sub(ctx, left, sizes[i]);
    }
    const gpuc_attrs *a =
        gpuc_attrs_int(ctx, gpuc_attrs_sizes(ctx, NULL, "sizes", n->n_out, sizes), "axis", axis);
    gpuc_rexpr *split = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
    if (n->n_out == 1)
        n->out[0] = split;
    else
        for (int i = 0; i < n->n_out; i++) n->out[i] = gpuc_relay_get(n->ctx, split, i);
}

static void expand(gpuc_onnx_node *n)
{
    int count, ndim = gpuc_onnx_type(n, 0)->ndim;
    gpuc_ctx *ctx = n->ctx;
    const gpuc_expr *want = gpuc_onnx_in_sizes(n, 1, &count);
    int rank = count > ndim ? count : ndim;
    gpuc_expr *shape = gpuc_new_array(ctx, gpuc_expr, rank + 1);
    for (int i = 0; i < rank; i++) shape[i] = i < rank - count ? gpuc_int(ctx, 1) : want[i - (rank - count)];
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "shape", rank, shape);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_int(ctx, a, "mutual", 1), gpuc_onnx_in(n, 0));
}

static void tile(gpuc_onnx_node *n)
{
    int count;
    const gpuc_expr *reps = gpuc_onnx_in_sizes(n, 1, &count);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_sizes(n->ctx, NULL, "reps", count, reps),
                              gpuc_onnx_in(n, 0));
}

/* ---- Pad ---- */

static gpuc_rexpr *pad(gpuc_onnx_node *n, gpuc_rexpr *x, const gpuc_expr *before, const gpuc_expr *after,
                       double value)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const char *mode = gpuc_onnx_string(n, "mode", "constant");
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, NULL, "pad_before", ndim, before);
    a = gpuc_attrs_sizes(n->ctx, a, "pad_after", ndim, after);
    a = gpuc_attrs_float(n->ctx, gpuc_attrs_string(n->ctx, a, "mode", mode), "value", value);
    return gpuc_onnx_op1(n, "nn.pad", a, x);
}

/* Sizes for all dimensions, 0 so far. */
static gpuc_expr *zeros(gpuc_onnx_node *n, int ndim)
{
    gpuc_expr *out = gpuc_new_array(n->ctx, gpuc_expr, ndim + 1);
    for (int i = 0; i < ndim; i++) out[i] = gpuc_int(n->ctx, 0);
    return out;
}

static void pad_2(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const int64_t *pads = gpuc_onnx_ints_or(n, "pads", 2 * ndim, 0);
    gpuc_expr *sizes = zeros(n, 2 * ndim);
    for (int i = 0; i < 2 * ndim; i++) sizes[i] = gpuc_int(n->ctx, pads[i]);
    n->out[0] = pad(n, gpuc_onnx_in(n, 0), sizes, sizes + ndim, gpuc_onnx_float(n, "value", 0));
}

static void pad_11(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, count, num_axes = ndim;
    const gpuc_onnx_size *pads = gpuc_onnx_in_numbers(n, 1, &count);
    const int64_t *axes = gpuc_onnx_has(n, 3) ? gpuc_onnx_in_ints(n, 3, &num_axes) : NULL;
    if (count != 2 * num_axes) gpuc_onnx_fail(n, "pads has %d entries, needs %d", count, 2 * num_axes);
    gpuc_expr *before = zeros(n, ndim), *after = zeros(n, ndim);
    for (int i = 0; i < num_axes; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        before[k] = gpuc_onnx_read_signed(n, pads[i], "pad");
        after[k] = gpuc_onnx_read_signed(n, pads[i + num_axes], "pad");
    }
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    bool given = gpuc_onnx_has(n, 2) && !gpuc_onnx_in_empty(n, 2),
         known = !given || gpuc_onnx_constant_in(n, 2);
    double value = given && known ? gpuc_onnx_in_number(n, 2) : 0;
    /* An attribute is a double, which does not have all integers of 64 bits. */
    if (known && (gpuc_is_float(gpuc_onnx_type(n, 0)->dtype) || fabs(value) < 0x1p53)) {
        n->out[0] = pad(n, x, before, after, value);
        return;
    }
    /* Ones of the same shape are padded by zeros: where those stand, the value does. */
    gpuc_rexpr *ones = gpuc_onnx_op1(n, "ones_like", NULL, x),
               *inside = gpuc_onnx_as(n, pad(n, ones, before, after, 0), GPUC_BOOL);
    gpuc_rexpr *args[] = {inside, pad(n, x, before, after, 0), gpuc_onnx_reshaped(n, n->in[2], 0, NULL)};
    n->out[0] = gpuc_relay_op(n->ctx, "where", NULL, 3, args);
}

/* Cut or filled up with zeros on both sides, to the extents in input 1 of the listed axes. */
static void center_crop_pad(gpuc_onnx_node *n)
{
    gpuc_ctx *ctx = n->ctx;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    int ndim = t->ndim, count, num_axes = ndim;
    const gpuc_expr *want = gpuc_onnx_in_sizes(n, 1, &count);
    const int64_t *axes = gpuc_onnx_ints(n, "axes", &num_axes);
    gpuc_expr *before = zeros(n, ndim), *after = zeros(n, ndim), two = gpuc_int(ctx, 2),
              zero = gpuc_int(ctx, 0);
    if (!axes) num_axes = ndim;
    if (count != num_axes) gpuc_onnx_fail(n, "shape has %d entries, needs %d", count, num_axes);
    for (int i = 0; i < count; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        int64_t known;
        if (gpuc_expr_is_int(want[i], &known) && (known < 0 || known > INT64_MAX / 4))
            gpuc_onnx_fail(n, "extent %lld of axis %d", (long long)known, k);
        gpuc_expr more = gpuc_sub(ctx, want[i], t->dims[k]), less = gpuc_sub(ctx, t->dims[k], want[i]);
        before[k] =
            gpuc_select(ctx, gpuc_lt(ctx, more, zero), gpuc_sub(ctx, zero, gpuc_floordiv_(ctx, less, two)),
                        gpuc_floordiv_(ctx, more, two));
        after[k] = gpuc_sub(ctx, more, before[k]);
    }
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "pad_before", ndim, before);
    n->out[0] =
        gpuc_onnx_op1(n, "nn.pad", gpuc_attrs_sizes(ctx, a, "pad_after", ndim, after), gpuc_onnx_in(n, 0));
}

/* ---- Depth and space ---- */

static void space_to_depth(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "block_size", gpuc_onnx_int(n, "blocksize", 0));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

static void depth_to_space(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "block_size", gpuc_onnx_int(n, "blocksize", 0));
    a = gpuc_attrs_string(n->ctx, a, "mode", gpuc_onnx_string(n, "mode", "DCR"));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

/* ---- Sequences and triangles ---- */

static void reverse_sequence(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "seq_axis", gpuc_onnx_int(n, "time_axis", 0));
    a = gpuc_attrs_int(n->ctx, a, "batch_axis", gpuc_onnx_int(n, "batch_axis", 1));
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 2, args);
}

static void trilu(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_has(n, 1) ? gpuc_onnx_in(n, 1) : NULL};
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "upper", gpuc_onnx_int(n, "upper", 1));
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, args[1] ? 2 : 1, args);
}

static void eye_like(gpuc_onnx_node *n)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    int64_t given = gpuc_onnx_int(n, "dtype", 0);
    if (t->ndim != 2) gpuc_onnx_fail(n, "the input has %d dimensions, needs 2", t->ndim);
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, NULL, "n", 1, &t->dims[0]);
    a = gpuc_attrs_int(n->ctx, gpuc_attrs_sizes(n->ctx, a, "m", 1, &t->dims[1]), "k",
                       gpuc_onnx_int(n, "k", 0));
    a = gpuc_attrs_dtype(n->ctx, a, "dtype",
                         given ? gpuc_onnx_dtype(n->ctx, given, "attribute 'dtype'") : t->dtype);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 0, NULL);
}

const gpuc_onnx_row gpuc_onnx_rows_movement[] = {
    {"Transpose", 1, transpose},
    {"Concat", 4, concat},
    {"Slice", 1, slice_1},
    {"Slice", 10, slice_10},
    {"Split", 2, split},
    {"Expand", 8, expand},
    {"Tile", 6, tile},
    {"Pad", 2, pad_2},
    {"Pad", 11, pad_11},
    {"DepthToSpace", 1, depth_to_space},
    {"SpaceToDepth", 1, space_to_depth},
    {"CenterCropPad", 18, center_crop_pad},
    {"ReverseSequence", 10, reverse_sequence},
    {"Trilu", 14, trilu},
    {"EyeLike", 9, eye_like},
    {NULL, 0, NULL},
};
