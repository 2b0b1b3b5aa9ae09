/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and pooling. */
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/window.h"

#define UNKNOWN_AUTO_PAD "auto_pad '%s' is not NOTSET, VALID, SAME_UPPER or SAME_LOWER"

void gpuc_onnx_check_range(gpuc_onnx_node *n, int count, const int64_t *list, int64_t least, const char *what)
{
    for (int i = 0; i < count; i++)
        if (list[i] < least || list[i] > INT32_MAX)
            gpuc_onnx_fail(n, "%s has %lld, which is not in %lld..%d", what, (long long)list[i],
                           (long long)least, INT32_MAX);
}

int64_t *gpuc_onnx_padding(gpuc_onnx_node *n, int rank, const int64_t *reach, const int64_t *strides)
{
    const char *mode = gpuc_onnx_string(n, "auto_pad", "NOTSET");
    const int64_t *given = gpuc_onnx_ints_or(n, "pads", 2 * rank, 0);
    int64_t *pads = gpuc_new_array(n->ctx, int64_t, 2 * rank);
    gpuc_onnx_check_range(n, 2 * rank, given, -INT32_MAX, "pads");
    if (!strcmp(mode, "NOTSET") || !*mode) {
        memcpy(pads, given, sizeof *pads * (size_t)(2 * rank));
        return pads;
    }
    bool upper = !strcmp(mode, "SAME_UPPER");
    if (!strcmp(mode, "VALID")) return pads;
    if (!upper && strcmp(mode, "SAME_LOWER")) gpuc_onnx_fail(n, UNKNOWN_AUTO_PAD, mode);
    for (int i = 0; i < rank; i++) {
        int64_t total = reach[i] - 1; /* with a stride of 1, whatever the extent is */
        if (strides[i] > 1) {
            int64_t in = gpuc_onnx_dim(n, 0, 2 + i), out = (in + strides[i] - 1) / strides[i];
            total = (out - 1) * strides[i] + reach[i] - in;
        }
        if (total < 0) total = 0;
        pads[i] = upper ? total / 2 : total - total / 2;
        pads[rank + i] = total - pads[i];
    }
    return pads;
}

int gpuc_onnx_spatial_rank(gpuc_onnx_node *n)
{
    int rank = gpuc_onnx_type(n, 0)->ndim - 2;
    if (rank < 1 || rank > 3)
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "an input of %d dimensions; 3 to 5 are supported", rank + 2);
    for (int i = 0; i < rank; i++) {
        int64_t d;
        if (gpuc_expr_is_int(gpuc_onnx_type(n, 0)->dims[2 + i], &d))
            gpuc_onnx_check_range(n, 1, &d, 0, "the shape of the input");
    }
    return rank;
}

/* kernel_shape, or what the weight says. */
static const int64_t *kernel_shape(gpuc_onnx_node *n, int rank)
{
    const int64_t *weight = gpuc_onnx_dims(n, 1);
    int count;
    const int64_t *given = gpuc_onnx_ints(n, "kernel_shape", &count);
    if (gpuc_onnx_type(n, 1)->ndim != rank + 2)
        gpuc_onnx_fail(n, "the weight has %d dimensions, the data %d", gpuc_onnx_type(n, 1)->ndim, rank + 2);
    for (int i = 0; given && i < rank; i++)
        if (count != rank || given[i] != weight[2 + i])
            gpuc_onnx_fail(n, "kernel_shape does not fit the weight");
    gpuc_onnx_check_range(n, rank, weight + 2, 1, "the shape of the weight");
    return weight + 2;
}

static gpuc_rexpr *with_bias(gpuc_onnx_node *n, gpuc_rexpr *y)
{
    return gpuc_onnx_has(n, 2) ? gpuc_onnx_op2(n, "nn.bias_add", y, n->in[2]) : y;
}

const gpuc_attrs *gpuc_onnx_window_attrs(gpuc_ctx *ctx, int rank, const int64_t *strides, const int64_t *pads,
                                         const int64_t *dilations)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", rank, strides);
    a = gpuc_attrs_ints(ctx, a, "padding", 2 * rank, pads);
    return gpuc_attrs_ints(ctx, a, "dilation", rank, dilations);
}

gpuc_rexpr *gpuc_onnx_conv(gpuc_onnx_node *n, gpuc_dtype out)
{
    int rank = gpuc_onnx_spatial_rank(n);
    const int64_t *k = kernel_shape(n, rank), *strides = gpuc_onnx_ints_or(n, "strides", rank, 1);
    const int64_t *dilations = gpuc_onnx_ints_or(n, "dilations", rank, 1);
    int64_t reach[3];
    gpuc_onnx_check_range(n, rank, strides, 1, "strides");
    gpuc_onnx_check_range(n, rank, dilations, 1, "dilations");
    for (int i = 0; i < rank; i++) reach[i] = (k[i] - 1) * dilations[i] + 1;
    const gpuc_attrs *a =
        gpuc_onnx_window_attrs(n->ctx, rank, strides, gpuc_onnx_padding(n, rank, reach, strides), dilations);
    a = gpuc_attrs_int(n->ctx, a, "groups", gpuc_onnx_int(n, "group", 1));
    a = gpuc_attrs_dtype(n->ctx, a, "out_dtype", out);
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    return with_bias(n, gpuc_relay_op(n->ctx, gpuc_ctx_printf(n->ctx, "nn.conv%dd", rank), a, 2, args));
}

static void conv(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_conv(n, (gpuc_dtype){0});
}

static void conv_transpose(gpuc_onnx_node *n)
{
    int rank = gpuc_onnx_spatial_rank(n), count;
    const int64_t *k = kernel_shape(n, rank), *strides = gpuc_onnx_ints_or(n, "strides", rank, 1);
    const int64_t *dilations = gpuc_onnx_ints_or(n, "dilations", rank, 1);
    const int64_t *extra = gpuc_onnx_ints_or(n, "output_padding", rank, 0);
    const int64_t *shape = gpuc_onnx_ints(n, "output_shape", &count);
    const char *mode = gpuc_onnx_string(n, "auto_pad", "NOTSET");
    const int64_t *given = gpuc_onnx_ints_or(n, "pads", 2 * rank, 0);
    int64_t *pads = gpuc_new_array(n->ctx, int64_t, 2 * rank);
    gpuc_onnx_check_range(n, rank, strides, 1, "strides");
    gpuc_onnx_check_range(n, rank, dilations, 1, "dilations");
    gpuc_onnx_check_range(n, 2 * rank, given, -INT32_MAX, "pads");
    gpuc_onnx_check_range(n, rank, extra, 0, "output_padding");
    if (shape && count < rank) gpuc_onnx_fail(n, "output_shape has %d entries", count);
    if (shape) gpuc_onnx_check_range(n, count, shape, 0, "output_shape");
    memcpy(pads, given, sizeof *pads * (size_t)(2 * rank));
    bool upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
    if (!same && strcmp(mode, "NOTSET") && strcmp(mode, "VALID")) gpuc_onnx_fail(n, UNKNOWN_AUTO_PAD, mode);
    for (int i = 0; i < rank; i++) {
        if (!strcmp(mode, "VALID")) pads[i] = pads[rank + i] = 0;
        if (!shape && !same) continue;
        /* Without output_shape the extent of the input cancels out. */
        int64_t in = shape ? gpuc_onnx_dim(n, 0, 2 + i) : 0, want = shape ? shape[count - rank + i] : 0;
        int64_t total = strides[i] * (in - 1) + extra[i] + (k[i] - 1) * dilations[i] + 1 - want;
        /* What the output has beyond the convolution is zeros behind it. */
        pads[i] = total < 0 ? 0 : upper ? total / 2 : total - total / 2;
        pads[rank + i] = total - pads[i];
    }
    const gpuc_attrs *a = gpuc_onnx_window_attrs(n->ctx, rank, strides, pads, dilations);
    a = gpuc_attrs_ints(n->ctx, a, "output_padding", rank, extra);
    a = gpuc_attrs_int(n->ctx, a, "groups", gpuc_onnx_int(n, "group", 1));
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    n->out[0] = with_bias(
        n, gpuc_relay_op(n->ctx, gpuc_ctx_printf(n->ctx, "nn.conv%dd_transpose", rank), a, 2, args));
}

/* The rank, and the attributes that all pooling has. */
static const gpuc_attrs *pool_attrs(gpuc_onnx_node *n, int *rank_out)
{
    int rank = gpuc_onnx_spatial_rank(n), count;
    const int64_t *k = gpuc_onnx_ints(n, "kernel_shape", &count),
                  *strides = gpuc_onnx_ints_or(n, "strides", rank, 1);
    const int64_t *dilations = gpuc_onnx_ints_or(n, "dilations", rank, 1);
    int64_t reach[3];
    if (!k || count != rank) gpuc_onnx_fail(n, "kernel_shape has %d entries, needs %d", count, rank);
    gpuc_onnx_check_range(n, rank, k, 1, "kernel_shape");
    gpuc_onnx_check_range(n, rank, strides, 1, "strides");
    gpuc_onnx_check_range(n, rank, dilations, 1, "dilations");
    for (int i = 0; i < rank; i++) reach[i] = (k[i] - 1) * dilations[i] + 1;
    const gpuc_attrs *a =
        gpuc_onnx_window_attrs(n->ctx, rank, strides, gpuc_onnx_padding(n, rank, reach, strides), dilations);
    *rank_out = rank;
    a = gpuc_attrs_ints(n->ctx, a, "pool_size", rank, k);
    return gpuc_attrs_int(n->ctx, a, "ceil_mode", gpuc_onnx_int(n, "ceil_mode", 0));
}

static gpuc_rexpr *pooled(gpuc_onnx_node *n, int rank, const gpuc_attrs *a)
{
    return gpuc_onnx_op1(n, gpuc_ctx_printf(n->ctx, "%s%dd", n->relay, rank), a, gpuc_onnx_in(n, 0));
}

static void max_pool(gpuc_onnx_node *n)
{
    int rank;
    const gpuc_attrs *a = pool_attrs(n, &rank);
    int64_t order = gpuc_onnx_int(n, "storage_order", 0);
    if (!gpuc_onnx_wants(n, 1)) {
        n->out[0] = pooled(n, rank, a);
        return;
    }
    a = gpuc_attrs_int(n->ctx, a, "storage_order", order);
    gpuc_rexpr *both = gpuc_onnx_op1(n, "nn.max_pool_with_argmax", a, gpuc_onnx_in(n, 0));
    for (int i = 0; i < 2; i++) n->out[i] = gpuc_relay_get(n->ctx, both, i);
}

static void avg_pool(gpuc_onnx_node *n)
{
    int rank;
    const gpuc_attrs *a = pool_attrs(n, &rank);
    n->out[0] = pooled(
        n, rank, gpuc_attrs_int(n->ctx, a, "count_include_pad", gpuc_onnx_int(n, "count_include_pad", 0)));
}

static void lp_pool(gpuc_onnx_node *n)
{
    int rank;
    const gpuc_attrs *a = pool_attrs(n, &rank);
    double p = n->m->opset < 2 ? gpuc_onnx_float(n, "p", 2) : (double)gpuc_onnx_int(n, "p", 2);
    n->out[0] = pooled(n, rank, gpuc_attrs_float(n->ctx, a, "p", p));
}

static void global_pool(gpuc_onnx_node *n)
{
    int64_t axes[64];
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    if (ndim < 3) gpuc_onnx_fail(n, "an input of %d dimensions", ndim);
    for (int i = 2; i < ndim; i++) axes[i - 2] = i;
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "axis", ndim - 2, axes);
    n->out[0] = gpuc_onnx_op1(n, n->relay, gpuc_attrs_int(n->ctx, a, "keepdims", 1), gpuc_onnx_in(n, 0));
}

const gpuc_onnx_row gpuc_onnx_rows_pool[] = {
    {"Conv", 1, conv, NULL},
    {"ConvTranspose", 1, conv_transpose, NULL},
    {"MaxPool", 1, max_pool, "nn.max_pool"},
    {"AveragePool", 1, avg_pool, "nn.avg_pool"},
    {"LpPool", 1, lp_pool, "nn.lp_pool"},
    {"GlobalAveragePool", 1, global_pool, "mean"},
    {"GlobalMaxPool", 1, global_pool, "max"},
    {NULL, 0, NULL, NULL},
};
