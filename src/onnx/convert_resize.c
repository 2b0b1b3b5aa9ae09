/* SPDX-License-Identifier: Apache-2.0 */
/* Converts Resize, Upsample and GridSample. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"
#include "tir/tir.h"
#include "op/scale.h"

typedef struct resize_spec {
    const char *method, *coordinate, *rounding;
    double cubic_a, extrapolation_value;
    bool exclude_outside, antialias;
    const double *roi; /* NULL: none */
} resize_spec;

static gpuc_rexpr *resize(gpuc_onnx_node *n, const gpuc_expr *sizes, const double *scales,
                          const resize_spec *s)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, NULL, "sizes", ndim, sizes);
    a = gpuc_attrs_floats(n->ctx, a, "scales", ndim, scales);
    a = gpuc_attrs_string(n->ctx, a, "method", s->method);
    a = gpuc_attrs_string(n->ctx, a, "coordinate", s->coordinate);
    a = gpuc_attrs_string(n->ctx, a, "rounding", s->rounding);
    a = gpuc_attrs_int(n->ctx, a, "exclude_outside", s->exclude_outside);
    a = gpuc_attrs_floats(n->ctx, a, "roi", s->roi ? 2 * ndim : 0, s->roi);
    a = gpuc_attrs_float(n->ctx, a, "extrapolation_value", s->extrapolation_value);
    const char *op =
        s->antialias && strcmp(s->method, "nearest") ? "image.resize_antialiased" : "image.resize";
    gpuc_rexpr *x = gpuc_onnx_in(n, 0);
    gpuc_dtype t = gpuc_relay_tensor_type(x)->dtype;
    if (s->antialias && gpuc_is_integer(t)) x = gpuc_onnx_as(n, x, GPUC_FLOAT32);
    return gpuc_onnx_as(n, gpuc_onnx_op1(n, op, gpuc_attrs_float(n->ctx, a, "cubic_a", s->cubic_a), x), t);
}

static const gpuc_expr *scaled_sizes(gpuc_onnx_node *n, int count, const double *scales)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    gpuc_expr *sizes = gpuc_new_array(n->ctx, gpuc_expr, ndim);
    if (count != ndim) gpuc_onnx_fail(n, "scales has %d entries for %d dimensions", count, ndim);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = gpuc_onnx_type(n, 0)->dims[i];
        if (scales[i] == 1) continue;
        if (!(scales[i] > 0) || scales[i] > 0x1p30)
            gpuc_onnx_fail(n, "scale %g of dimension %d", scales[i], i);
        int64_t known;
        if (gpuc_expr_is_int(sizes[i], &known) && (double)known * scales[i] > 0x1p40)
            gpuc_onnx_fail(n, "scale %g of dimension %d", scales[i], i);
        gpuc_scale s = gpuc_op_scale(scales[i]);
        sizes[i] =
            gpuc_floordiv_(n->ctx, gpuc_mul(n->ctx, sizes[i], gpuc_int(n->ctx, s.p)), gpuc_int(n->ctx, s.q));
    }
    return sizes;
}

static const char *method_of(gpuc_onnx_node *n)
{
    const char *mode = gpuc_onnx_string(n, "mode", "nearest");
    return !strcmp(mode, "bilinear") || !strcmp(mode, "trilinear") ? "linear" : mode;
}

/* Resize-10 and Upsample know one coordinate rule; nearest takes the floor, or the ceiling to make smaller. */
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
    int count;
    const double *scales = gpuc_onnx_floats(n, "scales", &count);
    if (!scales) gpuc_onnx_fail(n, "attribute 'scales' is missing");
    resize_plain(n, count, scales);
}

/* The starts and ends of all dimensions, as parts of them; those that roi does not name are whole. */
static const double *region(gpuc_onnx_node *n, int num_axes, const int64_t *axes)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, count;
    double *out = gpuc_new_array(n->ctx, double, 2 * ndim);
    const double *given = gpuc_onnx_in_floats(n, 1, &count);
    if (count != 2 * num_axes) gpuc_onnx_fail(n, "roi has %d entries, needs %d", count, 2 * num_axes);
    for (int i = 0; i < ndim; i++) out[ndim + i] = 1;
    for (int i = 0; i < num_axes; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        out[k] = given[i];
        out[ndim + k] = given[num_axes + i];
    }
    return out;
}

/* The same scale for all axes: the min or the max of those that the sizes say. */
static void keep_aspect(gpuc_onnx_node *n, int num_axes, const int64_t *axes, bool min, gpuc_expr *sizes,
                        double *scales)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    double common = 0;
    for (int i = 0; i < num_axes; i++) {
        int64_t k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim), want = 1, have = 1;
        if (sizes[k] != gpuc_onnx_type(n, 0)->dims[k]) have = gpuc_onnx_dim(n, 0, (int)k);
        if (have != 1 && !gpuc_expr_is_int(sizes[k], &want))
            gpuc_raise(
                n->ctx, GPUC_UNSUPPORTED,
                "the size of dimension %lld must be known when building to keep the aspect ratio: give "
                "the input that it comes from with --bind NAME=FILE",
                (long long)k);
        if (have == 0) gpuc_onnx_fail(n, "dimension %lld has no elements to sample", (long long)k);
        double scale = (double)want / (double)have;
        if (i == 0 || (min ? scale < common : scale > common)) common = scale;
    }
    for (int i = 0; i < num_axes; i++) {
        int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
        scales[k] = common;
        sizes[k] = gpuc_onnx_type(n, 0)->dims[k];
        if (common != 1)
            sizes[k] = gpuc_int(n->ctx, (int64_t)floor(common * (double)gpuc_onnx_dim(n, 0, k) + 0.5));
    }
}

static void resize_11(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim, num_axes, count;
    const gpuc_expr *dims = gpuc_onnx_type(n, 0)->dims;
    const int64_t *axes = gpuc_onnx_ints(n, "axes", &num_axes);
    if (!axes) num_axes = ndim;
    resize_spec s = {
        .method = method_of(n),
        .coordinate = gpuc_onnx_string(n, "coordinate_transformation_mode", "half_pixel"),
        .rounding = gpuc_onnx_string(n, "nearest_mode", "round_prefer_floor"),
        .cubic_a = gpuc_onnx_float(n, "cubic_coeff_a", -0.75),
        .extrapolation_value = gpuc_onnx_float(n, "extrapolation_value", 0),
        .exclude_outside = gpuc_onnx_int(n, "exclude_outside", 0),
        .antialias = gpuc_onnx_int(n, "antialias", 0),
    };
    if (!strcmp(s.coordinate, "tf_crop_and_resize")) s.roi = region(n, num_axes, axes);
    const char *policy = gpuc_onnx_string(n, "keep_aspect_ratio_policy", "stretch");
    if (strcmp(policy, "stretch") && strcmp(policy, "not_larger") && strcmp(policy, "not_smaller"))
        gpuc_onnx_fail(n, "keep_aspect_ratio_policy '%s' is not known", policy);
    gpuc_expr *sizes = gpuc_new_array(n->ctx, gpuc_expr, ndim);
    double *scales = gpuc_new_array(n->ctx, double, ndim);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = dims[i];
        scales[i] = 1;
    }
    if (!gpuc_onnx_in_empty(n, 3)) {
        const gpuc_expr *given = gpuc_onnx_in_sizes(n, 3, &count);
        if (count != num_axes) gpuc_onnx_fail(n, "sizes has %d entries, needs %d", count, num_axes);
        for (int i = 0; i < num_axes; i++) {
            int k = gpuc_onnx_axis(n, axes ? axes[i] : i, ndim);
            sizes[k] = given[i];
            scales[k] = 0; /* what the sizes say */
        }
        if (strcmp(policy, "stretch"))
            keep_aspect(n, num_axes, axes, !strcmp(policy, "not_larger"), sizes, scales);
    } else if (!gpuc_onnx_in_empty(n, 2)) {
        const double *given = gpuc_onnx_in_floats(n, 2, &count);
        if (count != num_axes) gpuc_onnx_fail(n, "scales has %d entries, needs %d", count, num_axes);
        for (int i = 0; i < num_axes; i++) scales[gpuc_onnx_axis(n, axes ? axes[i] : i, ndim)] = given[i];
        memcpy(sizes, scaled_sizes(n, ndim, scales), sizeof *sizes * (size_t)ndim);
    } else {
        gpuc_onnx_fail(n, "neither scales nor sizes are given");
    }
    n->out[0] = resize(n, sizes, scales, &s);
}

static void grid_sample(gpuc_onnx_node *n)
{
    static const char *const names[][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
    const char *mode = gpuc_onnx_string(n, "mode", "linear");
    for (int i = 0; i < 2; i++)
        if (!strcmp(mode, names[i][0])) mode = names[i][1]; /* names before opset 20 */
    const gpuc_attrs *a = gpuc_attrs_string(n->ctx, NULL, "method", mode);
    a = gpuc_attrs_string(n->ctx, a, "padding_mode", gpuc_onnx_string(n, "padding_mode", "zeros"));
    a = gpuc_attrs_int(n->ctx, a, "align_corners", gpuc_onnx_int(n, "align_corners", 0));
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 2, args);
}

const gpuc_onnx_row gpuc_onnx_rows_resize[] = {
    {"Resize", 10, resize_10},   {"Resize", 11, resize_11},       {"Upsample", 7, upsample_7},
    {"Upsample", 9, upsample_9}, {"GridSample", 16, grid_sample}, {NULL, 0, NULL},
};
