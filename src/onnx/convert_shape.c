/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

static void reshape(gpuc_onnx_node *n)
{
    int count, ndim = gpuc_onnx_type(n, 0)->ndim;
    const int64_t *want = gpuc_onnx_in_ints(n, 1, &count), *have = NULL;
    bool allow_zero = gpuc_onnx_int(n, "allowzero", 0);
    int64_t *dims = gpuc_new_array(n->ctx, int64_t, count + 1);
    for (int i = 0; i < count; i++) {
        dims[i] = want[i];
        if (want[i] != 0 || allow_zero) continue;
        if (i >= ndim)
            gpuc_onnx_fail(n, "dimension %d of the new shape is 0, the input has no such dimension", i);
        if (!have) have = gpuc_onnx_dims(n, 0);
        dims[i] = have[i];
    }
    n->out[0] = gpuc_onnx_reshaped(n, gpuc_onnx_in(n, 0), count, dims);
}

static void flatten(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    int64_t axis = gpuc_onnx_int(n, "axis", 1), matrix[2] = {1, 1};
    if (axis < -ndim || axis > ndim)
        gpuc_onnx_fail(n, "axis %lld is outside of %d dimensions", (long long)axis, ndim);
    if (axis < 0) axis += ndim;
    const int64_t *dims = gpuc_onnx_dims(n, 0);
    for (int i = 0; i < ndim; i++) matrix[i >= axis] *= dims[i];
    n->out[0] = gpuc_onnx_reshaped(n, gpuc_onnx_in(n, 0), 2, matrix);
}

static void transpose(gpuc_onnx_node *n)
{
    int count;
    const int64_t *perm = gpuc_onnx_ints(n, "perm", &count);
    n->out[0] =
        gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", count, perm), gpuc_onnx_in(n, 0));
}

static void concat(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", 1));
    for (int i = 0; i < n->n_in; i++) gpuc_onnx_in(n, i);
    n->out[0] = gpuc_relay_op(n->ctx, "concatenate", a, n->n_in, n->in);
}

/* ---- Slice ---- */

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void slice(gpuc_onnx_node *n, int count, const int64_t *starts, const int64_t *ends,
                  const int64_t *axes, const int64_t *steps)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const int64_t *dims = gpuc_onnx_dims(n, 0);
    int64_t *begin = gpuc_new_array(n->ctx, int64_t, ndim), *sizes = gpuc_new_array(n->ctx, int64_t, ndim);
    int64_t *strides = gpuc_new_array(n->ctx, int64_t, ndim);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = dims[i];
        strides[i] = 1;
    }
    for (int i = 0; i < count; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        int64_t d = dims[k], step = steps ? steps[i] : 1, start = starts[i], end = ends[i];
        if (step == 0) gpuc_onnx_fail(n, "the step of axis %d is 0", k);
        if (start < 0) start = start < INT64_MIN + d ? INT64_MIN : start + d;
        if (end < 0) end = end < INT64_MIN + d ? INT64_MIN : end + d;
        start = step > 0 ? clamp(start, 0, d) : clamp(start, 0, d - 1);
        end = step > 0 ? clamp(end, 0, d) : clamp(end, -1, d - 1);
        int64_t span = step > 0 ? end - start : start - end, by = step > 0            ? step
                                                                  : step == INT64_MIN ? INT64_MAX
                                                                                      : -step;
        begin[k] = start;
        sizes[k] = span > 0 && d > 0 ? (span - 1) / by + 1 : 0;
        strides[k] = step;
        if (sizes[k] <= 1) strides[k] = 1; /* also a step that would overflow */
    }
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "begin", ndim, begin);
    a = gpuc_attrs_ints(n->ctx, a, "sizes", ndim, sizes);
    n->out[0] = gpuc_onnx_op1(n, "strided_slice", gpuc_attrs_ints(n->ctx, a, "strides", ndim, strides),
                              gpuc_onnx_in(n, 0));
}

static void same_length(gpuc_onnx_node *n, int have, int want, const char *what)
{
    if (have != want) gpuc_onnx_fail(n, "%s has %d entries, starts has %d", what, have, want);
}

static void slice_1(gpuc_onnx_node *n)
{
    int count, other;
    const int64_t *starts = gpuc_onnx_ints(n, "starts", &count), *ends = gpuc_onnx_ints(n, "ends", &other);
    same_length(n, other, count, "ends");
    const int64_t *axes = gpuc_onnx_ints(n, "axes", &other);
    if (axes) same_length(n, other, count, "axes");
    slice(n, count, starts, ends, axes, NULL);
}

static void slice_10(gpuc_onnx_node *n)
{
    int count, other;
    const int64_t *starts = gpuc_onnx_in_ints(n, 1, &count), *ends = gpuc_onnx_in_ints(n, 2, &other);
    same_length(n, other, count, "ends");
    const int64_t *axes = gpuc_onnx_has(n, 3) ? gpuc_onnx_in_ints(n, 3, &other) : NULL;
    if (axes) same_length(n, other, count, "axes");
    const int64_t *steps = gpuc_onnx_has(n, 4) ? gpuc_onnx_in_ints(n, 4, &other) : NULL;
    if (steps) same_length(n, other, count, "steps");
    slice(n, count, starts, ends, axes, steps);
}

static void split(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, axis = gpuc_onnx_axis(n, gpuc_onnx_int(n, "axis", 0), ndim), count;
    const int64_t *given = gpuc_onnx_axes(n, "split", 1, &count);
    int64_t extent = gpuc_onnx_dims(n, 0)[axis], parts = gpuc_onnx_int(n, "num_outputs", n->n_out);
    int64_t *sizes = gpuc_new_array(n->ctx, int64_t, n->n_out + 1);
    if (given && count != n->n_out) gpuc_onnx_fail(n, "split has %d sizes for %d outputs", count, n->n_out);
    if (parts != n->n_out)
        gpuc_onnx_fail(n, "num_outputs is %lld, there are %d outputs", (long long)parts, n->n_out);
    int64_t each = (extent + n->n_out - 1) / n->n_out, left = extent;
    for (int i = 0; i < n->n_out; i++) {
        sizes[i] = given ? given[i] : each < left ? each : left;
        left -= sizes[i];
    }
    const gpuc_attrs *a =
        gpuc_attrs_int(n->ctx, gpuc_attrs_ints(n->ctx, NULL, "sizes", n->n_out, sizes), "axis", axis);
    gpuc_rexpr *split = gpuc_onnx_op1(n, "split", a, gpuc_onnx_in(n, 0));
    if (n->n_out == 1)
        n->out[0] = split;
    else
        for (int i = 0; i < n->n_out; i++) n->out[i] = gpuc_relay_get(n->ctx, split, i);
}

static void change_rank(gpuc_onnx_node *n, const char *op)
{
    int count;
    const int64_t *axes = gpuc_onnx_axes(n, "axes", 1, &count);
    n->out[0] = gpuc_onnx_op1(n, op, gpuc_attrs_ints(n->ctx, NULL, "axis", count, axes), gpuc_onnx_in(n, 0));
}

static void squeeze(gpuc_onnx_node *n)
{
    change_rank(n, "squeeze");
}

static void unsqueeze(gpuc_onnx_node *n)
{
    change_rank(n, "expand_dims");
}

static void gather(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    n->out[0] = gpuc_relay_op(n->ctx, "take",
                              gpuc_attrs_int(n->ctx, NULL, "axis", gpuc_onnx_int(n, "axis", 0)), 2, args);
}

static void expand(gpuc_onnx_node *n)
{
    int count, ndim = gpuc_onnx_type(n, 0)->ndim;
    const int64_t *want = gpuc_onnx_in_ints(n, 1, &count), *dims = gpuc_onnx_dims(n, 0);
    int rank = count > ndim ? count : ndim;
    int64_t *shape = gpuc_new_array(n->ctx, int64_t, rank + 1);
    for (int i = 0; i < rank; i++) {
        int64_t a = i >= rank - ndim ? dims[i - (rank - ndim)] : 1,
                b = i >= rank - count ? want[i - (rank - count)] : 1;
        if (a != b && a != 1 && b != 1)
            gpuc_onnx_fail(n, "dimension %d: %lld does not broadcast to %lld", i, (long long)a, (long long)b);
        shape[i] = a == 1 ? b : a;
    }
    n->out[0] = gpuc_onnx_op1(n, "broadcast_to", gpuc_attrs_ints(n->ctx, NULL, "shape", rank, shape),
                              gpuc_onnx_in(n, 0));
}

static void tile(gpuc_onnx_node *n)
{
    int count;
    const int64_t *reps = gpuc_onnx_in_ints(n, 1, &count);
    n->out[0] =
        gpuc_onnx_op1(n, "tile", gpuc_attrs_ints(n->ctx, NULL, "reps", count, reps), gpuc_onnx_in(n, 0));
}

static void shape(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    int64_t start = gpuc_onnx_int(n, "start", 0), end = gpuc_onnx_int(n, "end", ndim), one = 1;
    start = clamp(start < 0 ? start + ndim : start, 0, ndim);
    end = clamp(end < 0 ? end + ndim : end, 0, ndim);
    gpuc_rexpr *shape = gpuc_onnx_op1(n, "shape_of", NULL, gpuc_onnx_in(n, 0));
    if (start != 0 || end != ndim) {
        int64_t size = end > start ? end - start : 0;
        const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "begin", 1, &start);
        a = gpuc_attrs_ints(n->ctx, gpuc_attrs_ints(n->ctx, a, "sizes", 1, &size), "strides", 1, &one);
        shape = gpuc_onnx_op1(n, "strided_slice", a, shape);
    }
    n->out[0] = shape;
}

static void size(gpuc_onnx_node *n)
{
    const int64_t *dims = gpuc_onnx_dims(n, 0);
    int64_t size = 1;
    for (int i = 0; i < gpuc_onnx_type(n, 0)->ndim; i++) size *= dims[i];
    n->out[0] = gpuc_relay_const_bytes(n->ctx, GPUC_INT64, 0, NULL, &size);
}

/* ---- Pad ---- */

static bool is_empty(gpuc_onnx_node *n, int i)
{
    if (!gpuc_onnx_has(n, i)) return true;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, i);
    int64_t d;
    return t->ndim == 1 && gpuc_expr_is_int(t->dims[0], &d) && d == 0;
}

static gpuc_rexpr *pad(gpuc_onnx_node *n, const int64_t *before, const int64_t *after, double value)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const char *mode = gpuc_onnx_string(n, "mode", "constant");
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "pad_before", ndim, before);
    a = gpuc_attrs_ints(n->ctx, a, "pad_after", ndim, after);
    a = gpuc_attrs_float(n->ctx, gpuc_attrs_string(n->ctx, a, "mode", mode), "value", value);
    return gpuc_onnx_op1(n, "nn.pad", a, gpuc_onnx_in(n, 0));
}

static void pad_2(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const int64_t *pads = gpuc_onnx_ints_or(n, "pads", 2 * ndim, 0);
    n->out[0] = pad(n, pads, pads + ndim, gpuc_onnx_float(n, "value", 0));
}

static void pad_11(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, count, num_axes = ndim;
    const int64_t *pads = gpuc_onnx_in_ints(n, 1, &count), *axes = NULL;
    if (gpuc_onnx_has(n, 3)) axes = gpuc_onnx_in_ints(n, 3, &num_axes);
    if (count != 2 * num_axes) gpuc_onnx_fail(n, "pads has %d entries, needs %d", count, 2 * num_axes);
    int64_t *before = gpuc_new_array(n->ctx, int64_t, ndim), *after = gpuc_new_array(n->ctx, int64_t, ndim);
    for (int i = 0; i < num_axes; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        before[k] = pads[i];
        after[k] = pads[i + num_axes];
    }
    double value = gpuc_onnx_has(n, 2) && !is_empty(n, 2) ? gpuc_onnx_in_number(n, 2) : 0;
    n->out[0] = pad(n, before, after, value);
}

/* ---- Resize ---- */

typedef struct resize_spec {
    const char *method, *coordinate, *rounding;
    double cubic_a;
    bool exclude_outside;
} resize_spec;

static gpuc_rexpr *resize(gpuc_onnx_node *n, const int64_t *sizes, const double *scales, const resize_spec *s)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "sizes", ndim, sizes);
    a = gpuc_attrs_floats(n->ctx, a, "scales", ndim, scales);
    a = gpuc_attrs_string(n->ctx, a, "method", s->method);
    a = gpuc_attrs_string(n->ctx, a, "coordinate", s->coordinate);
    a = gpuc_attrs_string(n->ctx, a, "rounding", s->rounding);
    a = gpuc_attrs_int(n->ctx, a, "exclude_outside", s->exclude_outside);
    return gpuc_onnx_op1(n, "image.resize", gpuc_attrs_float(n->ctx, a, "cubic_a", s->cubic_a),
                         gpuc_onnx_in(n, 0));
}

static const int64_t *scaled_sizes(gpuc_onnx_node *n, int count, const double *scales)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const int64_t *dims = gpuc_onnx_dims(n, 0);
    int64_t *sizes = gpuc_new_array(n->ctx, int64_t, ndim);
    if (count != ndim) gpuc_onnx_fail(n, "scales has %d entries for %d dimensions", count, ndim);
    for (int i = 0; i < ndim; i++) {
        double size = floor((double)dims[i] * scales[i]);
        if (!(scales[i] > 0) || size > 0x1p40) gpuc_onnx_fail(n, "scale %g of dimension %d", scales[i], i);
        sizes[i] = (int64_t)size;
    }
    return sizes;
}

static const char *method_of(gpuc_onnx_node *n)
{
    const char *mode = gpuc_onnx_string(n, "mode", "nearest");
    return !strcmp(mode, "bilinear") || !strcmp(mode, "trilinear") ? "linear" : mode;
}

/* Resize-10 and Upsample know one coordinate rule; nearest takes the floor, or the ceiling to make smaller.
 */
static void resize_plain(gpuc_onnx_node *n, int count, const double *scales)
{
    resize_spec s = {
        .method = method_of(n), .coordinate = "asymmetric", .rounding = "outward", .cubic_a = -0.75};
    n->out[0] = resize(n, scaled_sizes(n, count, scales), scales, &s);
}

static void resize_10(gpuc_onnx_node *n)
{
    int count;
    const double *scales = gpuc_onnx_in_floats(n, 1, &count);
    resize_plain(n, count, scales);
}

static void upsample_9(gpuc_onnx_node *n)
{
    resize_10(n);
}

static void upsample_7(gpuc_onnx_node *n)
{
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, "scales");
    if (!a) gpuc_onnx_fail(n, "attribute 'scales' is missing");
    double *scales = gpuc_new_array(n->ctx, double, a->n_floats + 1);
    for (size_t i = 0; i < a->n_floats; i++) scales[i] = (double)a->floats[i];
    resize_plain(n, (int)a->n_floats, scales);
}

static void resize_11(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, num_axes, count;
    const int64_t *dims = gpuc_onnx_dims(n, 0), *axes = gpuc_onnx_ints(n, "axes", &num_axes);
    if (!axes) num_axes = ndim;
    resize_spec s = {
        .method = method_of(n),
        .coordinate = gpuc_onnx_string(n, "coordinate_transformation_mode", "half_pixel"),
        .rounding = gpuc_onnx_string(n, "nearest_mode", "round_prefer_floor"),
        .cubic_a = gpuc_onnx_float(n, "cubic_coeff_a", -0.75),
        .exclude_outside = gpuc_onnx_int(n, "exclude_outside", 0),
    };
    gpuc_onnx_ignore(n, "extrapolation_value"); /* of tf_crop_and_resize */
    if (!strcmp(s.coordinate, "tf_crop_and_resize"))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                   "coordinate_transformation_mode=tf_crop_and_resize is not supported");
    if (gpuc_onnx_int(n, "antialias", 0))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "antialias=1 is not supported");
    const char *policy = gpuc_onnx_string(n, "keep_aspect_ratio_policy", "stretch");
    if (strcmp(policy, "stretch") && strcmp(policy, "not_larger") && strcmp(policy, "not_smaller"))
        gpuc_onnx_fail(n, "keep_aspect_ratio_policy '%s' is not known", policy);
    int64_t *sizes = gpuc_new_array(n->ctx, int64_t, ndim);
    double *scales = gpuc_new_array(n->ctx, double, ndim);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = dims[i];
        scales[i] = 1;
    }
    if (!is_empty(n, 3)) {
        const int64_t *given = gpuc_onnx_in_ints(n, 3, &count);
        if (count != num_axes) gpuc_onnx_fail(n, "sizes has %d entries, needs %d", count, num_axes);
        double common = 0;
        for (int i = 0; i < num_axes; i++) {
            int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
            sizes[k] = given[i];
            if (dims[k] == 0) gpuc_onnx_fail(n, "dimension %d has nothing to take from", k);
            scales[k] = (double)given[i] / (double)dims[k];
            bool larger = !strcmp(policy, "not_smaller");
            if (i == 0 || (larger ? scales[k] > common : scales[k] < common)) common = scales[k];
        }
        for (int i = 0; i < num_axes && strcmp(policy, "stretch"); i++) {
            int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
            scales[k] = common;
            sizes[k] = (int64_t)floor(common * (double)dims[k] + 0.5);
        }
    } else if (!is_empty(n, 2)) {
        const double *given = gpuc_onnx_in_floats(n, 2, &count);
        if (count != num_axes) gpuc_onnx_fail(n, "scales has %d entries, needs %d", count, num_axes);
        for (int i = 0; i < num_axes; i++) scales[gpuc_onnx_axis(n, axes ? axes[i] : i, ndim)] = given[i];
        memcpy(sizes, scaled_sizes(n, ndim, scales), sizeof *sizes * (size_t)ndim);
    } else {
        gpuc_onnx_fail(n, "neither scales nor sizes are given");
    }
    n->out[0] = resize(n, sizes, scales, &s);
}

/* ---- Depth and space ---- */

static void check_rank4(gpuc_onnx_node *n)
{
    if (gpuc_onnx_type(n, 0)->ndim != 4)
        gpuc_onnx_fail(n, "the input has %d dimensions, needs 4", gpuc_onnx_type(n, 0)->ndim);
}

static gpuc_rexpr *shuffle(gpuc_onnx_node *n, const int64_t *split, const int64_t *perm,
                           const int64_t *joined)
{
    gpuc_rexpr *x = gpuc_onnx_reshaped(n, gpuc_onnx_in(n, 0), 6, split);
    x = gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", 6, perm), x);
    return gpuc_onnx_reshaped(n, x, 4, joined);
}

static void depth_to_space(gpuc_onnx_node *n)
{
    check_rank4(n);
    const int64_t *d = gpuc_onnx_dims(n, 0);
    int64_t b = gpuc_onnx_int(n, "blocksize", 0);
    const char *mode = gpuc_onnx_string(n, "mode", "DCR");
    if (b < 1 || b > INT32_MAX || d[1] % (b * b))
        gpuc_onnx_fail(n, "%lld channels do not divide by blocksize %lld squared", (long long)d[1],
                       (long long)b);
    bool crd = !strcmp(mode, "CRD");
    if (!crd && strcmp(mode, "DCR")) gpuc_onnx_fail(n, "mode '%s' is neither DCR nor CRD", mode);
    int64_t c = d[1] / (b * b), joined[] = {d[0], c, d[2] * b, d[3] * b};
    int64_t dcr[] = {d[0], b, b, c, d[2], d[3]}, crd_split[] = {d[0], c, b, b, d[2], d[3]};
    static const int64_t dcr_perm[] = {0, 3, 4, 1, 5, 2}, crd_perm[] = {0, 1, 4, 2, 5, 3};
    n->out[0] = shuffle(n, crd ? crd_split : dcr, crd ? crd_perm : dcr_perm, joined);
}

static void space_to_depth(gpuc_onnx_node *n)
{
    check_rank4(n);
    const int64_t *d = gpuc_onnx_dims(n, 0);
    int64_t b = gpuc_onnx_int(n, "blocksize", 0);
    if (b < 1 || b > INT32_MAX || d[2] % b || d[3] % b)
        gpuc_onnx_fail(n, "the input does not divide by blocksize %lld", (long long)b);
    int64_t split[] = {d[0], d[1], d[2] / b, b, d[3] / b, b},
            joined[] = {d[0], d[1] * b * b, d[2] / b, d[3] / b};
    static const int64_t perm[] = {0, 3, 5, 1, 2, 4};
    n->out[0] = shuffle(n, split, perm, joined);
}

const gpuc_onnx_row gpuc_onnx_rows_shape[] = {
    {"Reshape", 5, reshape, NULL},
    {"Flatten", 1, flatten, NULL},
    {"Transpose", 1, transpose, NULL},
    {"Concat", 4, concat, NULL},
    {"Slice", 1, slice_1, NULL},
    {"Slice", 10, slice_10, NULL},
    {"Split", 2, split, NULL},
    {"Squeeze", 1, squeeze, NULL},
    {"Unsqueeze", 1, unsqueeze, NULL},
    {"Gather", 1, gather, NULL},
    {"Expand", 8, expand, NULL},
    {"Tile", 6, tile, NULL},
    {"Shape", 1, shape, NULL},
    {"Size", 1, size, NULL},
    {"Pad", 2, pad_2, NULL},
    {"Pad", 11, pad_11, NULL},
    {"Resize", 10, resize_10, NULL},
    {"Resize", 11, resize_11, NULL},
    {"Upsample", 7, upsample_7, NULL},
    {"Upsample", 9, upsample_9, NULL},
    {"DepthToSpace", 1, depth_to_space, NULL},
    {"SpaceToDepth", 1, space_to_depth, NULL},
    {NULL, 0, NULL, NULL},
};
