/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and pooling. */
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/window.h"

#define UNKNOWN_AUTO_PAD "auto_pad '%s' is not NOTSET, VALID, SAME_UPPER or SAME_LOWER"

void gpuc_onnx_check_range(gpuc_onnx_node *n, int count, const int64_t *list, int64_t min, const char *what)
{
    for (int i = 0; i < count; i++)
        if (list[i] < min || list[i] > INT32_MAX)
            gpuc_onnx_fail(n, "%s has %lld, which is not in %lld..%d", what, (long long)list[i],
                           (long long)min, INT32_MAX);
}

gpuc_expr *gpuc_onnx_pads(gpuc_onnx_node *n, int rank, int64_t min)
{
    const int64_t *given = gpuc_onnx_ints_or(n, "pads", 2 * rank, 0);
    gpuc_expr *pads = gpuc_new_array(n->ctx, gpuc_expr, 2 * rank);
    gpuc_onnx_check_range(n, 2 * rank, given, min, "pads");
    for (int i = 0; i < 2 * rank; i++) pads[i] = gpuc_int(n->ctx, given[i]);
    return pads;
}

/* Splits the total padding of an axis between both sides; an odd element goes behind, or before. */
static void halve(gpuc_onnx_node *n, gpuc_expr total, bool upper, gpuc_expr *before, gpuc_expr *after)
{
    gpuc_expr half = gpuc_floordiv_(n->ctx, total, gpuc_int(n->ctx, 2)), rest = gpuc_sub(n->ctx, total, half);
    *before = upper ? half : rest;
    *after = upper ? rest : half;
}

gpuc_expr *gpuc_onnx_padding(gpuc_onnx_node *n, int rank, const int64_t *reach, const int64_t *strides)
{
    gpuc_ctx *ctx = n->ctx;
    const char *mode = gpuc_onnx_string(n, "auto_pad", "NOTSET");
    gpuc_expr *pads = gpuc_onnx_pads(n, rank, -INT32_MAX), zero = gpuc_int(ctx, 0);
    if (!strcmp(mode, "NOTSET") || !*mode) return pads;
    for (int i = 0; i < 2 * rank; i++) pads[i] = zero;
    bool upper = !strcmp(mode, "SAME_UPPER");
    if (!strcmp(mode, "VALID")) return pads;
    if (!upper && strcmp(mode, "SAME_LOWER")) gpuc_onnx_fail(n, UNKNOWN_AUTO_PAD, mode);
    for (int i = 0; i < rank; i++) {
        gpuc_expr total = gpuc_int(ctx, reach[i] - 1); /* with a stride of 1, whatever the extent is */
        if (strides[i] > 1) {
            gpuc_expr in = gpuc_onnx_type(n, 0)->dims[2 + i], s = gpuc_int(ctx, strides[i]),
                      out = gpuc_floordiv_(ctx, gpuc_add(ctx, in, gpuc_int(ctx, strides[i] - 1)), s),
                      last = gpuc_mul(ctx, gpuc_sub(ctx, out, gpuc_int(ctx, 1)), s);
            total = gpuc_sub(ctx, gpuc_add(ctx, last, gpuc_int(ctx, reach[i])), in);
            if (!gpuc_topi_proves(ctx, gpuc_ge(ctx, total, zero))) total = gpuc_max(ctx, total, zero);
        }
        halve(n, total, upper, &pads[i], &pads[rank + i]);
    }
    return pads;
}

int gpuc_onnx_spatial_rank(gpuc_onnx_node *n)
{
    int rank = gpuc_onnx_type(n, 0)->ndim - 2;
    if (rank < 1 || rank > GPUC_ONNX_MAX_SPATIAL)
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

const gpuc_attrs *gpuc_onnx_window_attrs(gpuc_ctx *ctx, int rank, const int64_t *strides,
                                         const gpuc_expr *pads, const int64_t *dilations)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", rank, strides);
    a = gpuc_attrs_sizes(ctx, a, "padding", 2 * rank, pads);
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
    gpuc_ctx *ctx = n->ctx;
    gpuc_expr *pads = gpuc_onnx_pads(n, rank, -INT32_MAX), zero = gpuc_int(ctx, 0);
    gpuc_onnx_check_range(n, rank, strides, 1, "strides");
    gpuc_onnx_check_range(n, rank, dilations, 1, "dilations");
    gpuc_onnx_check_range(n, rank, extra, 0, "output_padding");
    if (shape && count < rank) gpuc_onnx_fail(n, "output_shape has %d entries", count);
    if (shape) gpuc_onnx_check_range(n, count, shape, 0, "output_shape");
    bool upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
    if (!same && strcmp(mode, "NOTSET") && strcmp(mode, "VALID")) gpuc_onnx_fail(n, UNKNOWN_AUTO_PAD, mode);
    for (int i = 0; i < rank; i++) {
        if (!strcmp(mode, "VALID")) pads[i] = pads[rank + i] = zero;
        if (!shape && !same) continue;
        /* Without output_shape the extent of the input cancels out. */
        gpuc_expr in = shape ? gpuc_onnx_type(n, 0)->dims[2 + i] : zero,
                  total = gpuc_mul(ctx, gpuc_sub(ctx, in, gpuc_int(ctx, 1)), gpuc_int(ctx, strides[i]));
        int64_t reach = extra[i] + (k[i] - 1) * dilations[i] + 1;
        total = gpuc_add(ctx, total, gpuc_int(ctx, reach - (shape ? shape[count - rank + i] : 0)));
        /* Pads the output with zeros behind the result of the convolution. */
        halve(n, gpuc_max(ctx, total, zero), upper, &pads[i], &pads[rank + i]);
        pads[rank + i] = gpuc_sub(ctx, total, pads[i]);
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

static gpuc_rexpr *pooled(gpuc_onnx_node *n, const char *op, int rank, const gpuc_attrs *a)
{
    return gpuc_onnx_op1(n, gpuc_ctx_printf(n->ctx, "%s%dd", op, rank), a, gpuc_onnx_in(n, 0));
}

static void max_pool(gpuc_onnx_node *n)
{
    int rank;
    const gpuc_attrs *a = pool_attrs(n, &rank);
    int64_t order = gpuc_onnx_int(n, "storage_order", 0);
    if (!gpuc_onnx_wants(n, 1)) {
        n->out[0] = pooled(n, "nn.max_pool", rank, a);
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
    n->out[0] =
        pooled(n, "nn.avg_pool", rank,
               gpuc_attrs_int(n->ctx, a, "count_include_pad", gpuc_onnx_int(n, "count_include_pad", 0)));
}

static void lp_pool(gpuc_onnx_node *n)
{
    int rank;
    const gpuc_attrs *a = pool_attrs(n, &rank);
    double p = n->m->opset < 2 ? gpuc_onnx_float(n, "p", 2) : (double)gpuc_onnx_int(n, "p", 2);
    n->out[0] = pooled(n, "nn.lp_pool", rank, gpuc_attrs_float(n->ctx, a, "p", p));
}

static void global_pool(gpuc_onnx_node *n, const char *op)
{
    int64_t axes[64];
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    if (ndim < 3) gpuc_onnx_fail(n, "an input of %d dimensions", ndim);
    for (int i = 2; i < ndim; i++) axes[i - 2] = i;
    const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "axis", ndim - 2, axes);
    n->out[0] = gpuc_onnx_op1(n, op, gpuc_attrs_int(n->ctx, a, "keepdims", 1), gpuc_onnx_in(n, 0));
}

static void global_average_pool(gpuc_onnx_node *n)
{
    global_pool(n, "mean");
}

static void global_max_pool(gpuc_onnx_node *n)
{
    global_pool(n, "max");
}

const gpuc_onnx_row gpuc_onnx_rows_pool[] = {
    {"Conv", 1, conv},
    {"ConvTranspose", 1, conv_transpose},
    {"MaxPool", 1, max_pool},
    {"AveragePool", 1, avg_pool},
    {"LpPool", 1, lp_pool},
    {"GlobalAveragePool", 1, global_average_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {NULL, 0, NULL},
};
