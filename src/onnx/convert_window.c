/* SPDX-License-Identifier: Apache-2.0 */
/* Windows put together again, moved, or cut out of regions. */
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/window.h"

/* ---- MaxUnpool: each value goes where its index says, in what the windows covered ---- */

static void max_unpool(gpuc_onnx_node *n)
{
    gpuc_ctx *ctx = n->ctx;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 0);
    int rank = gpuc_onnx_spatial_rank(n), ndim = rank + 2, count;
    const int64_t *k = gpuc_onnx_ints(n, "kernel_shape", &count),
                  *strides = gpuc_onnx_ints_or(n, "strides", rank, 1);
    const gpuc_expr *pads = gpuc_onnx_pads(n, rank, 0), *want = NULL;
    if (!k || count != rank) gpuc_onnx_fail(n, "kernel_shape has %d entries, needs %d", count, rank);
    gpuc_onnx_check_range(n, rank, k, 1, "kernel_shape");
    gpuc_onnx_check_range(n, rank, strides, 1, "strides");
    if (gpuc_onnx_has(n, 2)) {
        want = gpuc_onnx_in_sizes(n, 2, &count);
        if (count != ndim) gpuc_onnx_fail(n, "output_shape has %d entries, needs %d", count, ndim);
    }
    gpuc_expr covered[GPUC_ONNX_MAX_SPATIAL + 2], before[GPUC_ONNX_MAX_SPATIAL + 2],
        after[GPUC_ONNX_MAX_SPATIAL + 2], total = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    for (int i = 0; i < ndim; i++) {
        int s = i - 2;
        covered[i] = before[i] = after[i] = zero;
        covered[i] = t->dims[i];
        if (i >= 2) {
            gpuc_expr last = gpuc_mul(ctx, gpuc_sub(ctx, t->dims[i], gpuc_int(ctx, 1)),
                                      gpuc_int(ctx, strides[s])),
                      padding = gpuc_add(ctx, pads[s], pads[rank + s]);
            covered[i] = gpuc_add(ctx, last, gpuc_sub(ctx, gpuc_int(ctx, k[s]), padding));
            covered[i] = gpuc_max(ctx, covered[i], zero);
        }
        if (want) after[i] = gpuc_sub(ctx, want[i], covered[i]);
        total = gpuc_mul(ctx, total, covered[i]);
    }
    gpuc_expr have = gpuc_onnx_elements(n, 0, ndim);
    gpuc_rexpr *zeros = gpuc_onnx_op1(n, "broadcast_to", gpuc_attrs_sizes(ctx, NULL, "shape", 1, &total),
                                      gpuc_relay_const_scalar(ctx, t->dtype, 0));
    gpuc_rexpr *args[] = {zeros, gpuc_onnx_reshaped_sizes(n, gpuc_onnx_in(n, 1), 1, &have),
                          gpuc_onnx_reshaped_sizes(n, gpuc_onnx_in(n, 0), 1, &have)};
    gpuc_rexpr *y = gpuc_relay_op(ctx, "scatter_elements", NULL, 3, args);
    y = gpuc_onnx_reshaped_sizes(n, y, ndim, covered);
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "pad_before", ndim, before);
    n->out[0] = want ? gpuc_onnx_op1(n, "nn.pad", gpuc_attrs_sizes(ctx, a, "pad_after", ndim, after), y) : y;
}

/* ---- Regions of interest ---- */

static void roi_align(gpuc_onnx_node *n)
{
    int64_t size[] = {gpuc_onnx_int(n, "output_height", 1), gpuc_onnx_int(n, "output_width", 1)};
    const char *mode = gpuc_onnx_string(n, "mode", "avg");
    const char *usual = n->m->opset < 16 ? "output_half_pixel" : "half_pixel",
               *coordinates = gpuc_onnx_string(n, "coordinate_transformation_mode", usual);
    bool aligned = !strcmp(coordinates, "half_pixel");
    if (!aligned && strcmp(coordinates, "output_half_pixel"))
        gpuc_onnx_fail(n, "coordinate_transformation_mode '%s' is neither half_pixel nor output_half_pixel",
                       coordinates);
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "pooled_size", 2, size);
    a = gpuc_attrs_int(n->ctx, a, "sampling_ratio", gpuc_onnx_int(n, "sampling_ratio", 0));
    a = gpuc_attrs_float(n->ctx, a, "spatial_scale", gpuc_onnx_float(n, "spatial_scale", 1));
    a = gpuc_attrs_string(n->ctx, gpuc_attrs_int(n->ctx, a, "aligned", aligned), "mode", mode);
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1), gpuc_onnx_in(n, 2)};
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 3, args);
}

/* rois are [number, 5], the image first. */
static void max_roi_pool(gpuc_onnx_node *n)
{
    int count;
    const int64_t *size = gpuc_onnx_ints(n, "pooled_shape", &count);
    const gpuc_tensor_type *rois = gpuc_onnx_type(n, 1);
    if (!size || count != 2) gpuc_onnx_fail(n, "pooled_shape has %d entries, needs 2", count);
    if (rois->ndim != 2 || gpuc_onnx_dim(n, 1, 1) != 5) gpuc_onnx_fail(n, "rois must be [number, 5]");
    gpuc_rexpr *parts[2];
    for (int64_t i = 0; i < 2; i++) {
        int64_t begin[] = {0, i}, steps[] = {1, 1};
        gpuc_expr sizes[] = {rois->dims[0], gpuc_int(n->ctx, i ? 4 : 1)};
        const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "begin", 2, begin);
        a = gpuc_attrs_ints(n->ctx, gpuc_attrs_sizes(n->ctx, a, "sizes", 2, sizes), "strides", 2, steps);
        parts[i] = gpuc_onnx_op1(n, "strided_slice", a, gpuc_onnx_in(n, 1));
    }
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "pooled_size", 2, size);
    a = gpuc_attrs_float(n->ctx, a, "spatial_scale", gpuc_onnx_float(n, "spatial_scale", 1));
    gpuc_rexpr *image = gpuc_onnx_as(n, gpuc_onnx_reshaped_sizes(n, parts[0], 1, rois->dims), GPUC_INT32);
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), parts[1], image};
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 3, args);
}

/* ---- Col2Im, AffineGrid, DeformConv ---- */

static void col2im(gpuc_onnx_node *n)
{
    int rank, other;
    const int64_t *image = gpuc_onnx_in_ints(n, 1, &rank), *block = gpuc_onnx_in_ints(n, 2, &other);
    if (other != rank) gpuc_onnx_fail(n, "image_shape has %d entries, block_shape %d", rank, other);
    const gpuc_attrs *a = gpuc_onnx_window_attrs(n->ctx, rank, gpuc_onnx_ints_or(n, "strides", rank, 1),
                                                 gpuc_onnx_pads(n, rank, -INT32_MAX),
                                                 gpuc_onnx_ints_or(n, "dilations", rank, 1));
    a = gpuc_attrs_ints(n->ctx, a, "image_shape", rank, image);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_ints(n->ctx, a, "block_shape", rank, block),
                              gpuc_onnx_in(n, 0));
}

static void affine_grid(gpuc_onnx_node *n)
{
    int count;
    const int64_t *size = gpuc_onnx_in_ints(n, 1, &count);
    if (count < 4 || count > 5) gpuc_onnx_fail(n, "size has %d entries, needs 4 or 5", count);
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "target_shape", count - 2, size + 2);
    a = gpuc_attrs_int(n->ctx, a, "align_corners", gpuc_onnx_int(n, "align_corners", 0));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

static void deform_conv(gpuc_onnx_node *n)
{
    int rank = gpuc_onnx_spatial_rank(n);
    const gpuc_attrs *a = gpuc_onnx_window_attrs(n->ctx, rank, gpuc_onnx_ints_or(n, "strides", rank, 1),
                                                 gpuc_onnx_pads(n, rank, -INT32_MAX),
                                                 gpuc_onnx_ints_or(n, "dilations", rank, 1));
    a = gpuc_attrs_int(n->ctx, a, "groups", gpuc_onnx_int(n, "group", 1));
    a = gpuc_attrs_int(n->ctx, a, "deformable_groups", gpuc_onnx_int(n, "offset_group", 1));
    gpuc_onnx_ignore(n, "kernel_shape"); /* the weight has it */
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1), gpuc_onnx_in(n, 2),
                          gpuc_onnx_has(n, 4) ? n->in[4] : NULL};
    gpuc_rexpr *y = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, args[3] ? 4 : 3, args);
    n->out[0] = gpuc_onnx_has(n, 3) ? gpuc_onnx_op2(n, "nn.bias_add", y, n->in[3]) : y;
}

const gpuc_onnx_row gpuc_onnx_rows_window[] = {
    {"MaxUnpool", 9, max_unpool},
    {"RoiAlign", 10, roi_align},
    {"MaxRoiPool", 1, max_roi_pool},
    {"Col2Im", 18, col2im},
    {"AffineGrid", 20, affine_grid},
    {"DeformConv", 19, deform_conv},
    {NULL, 0, NULL},
};
