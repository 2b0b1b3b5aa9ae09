/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose speed is that of the memory: rows of the operator table, 50 MB and
 * more. Sorting, which goes over its data many times, stands beside the memory, too. */
#include <math.h>

#include "bench_ops.h"

/* ---- What they should give ---- */

static const float *floats(const void *const *ins, int i)
{
    return ins[i];
}

static double relu(const bench_op *op, const void *const *ins, int64_t at)
{
    (void)op;
    return fmax((double)floats(ins, 0)[at], 0);
}

static double sum2(const bench_op *op, const void *const *ins, int64_t at)
{
    (void)op;
    return (double)floats(ins, 0)[at] + (double)floats(ins, 1)[at];
}

static double sum_chain(const bench_op *op, const void *const *ins, int64_t at)
{
    return (double)floats(ins, 0)[at] + op->chain * (double)floats(ins, 1)[at];
}

static double sum_row_vector(const bench_op *op, const void *const *ins, int64_t at)
{
    return (double)floats(ins, 0)[at] + (double)floats(ins, 1)[at % op->inputs[1].dims[0]];
}

static double sum_all(const bench_op *op, const void *const *ins, int64_t at)
{
    double sum = 0;
    (void)at;
    for (int64_t i = 0; i < op->inputs[0].dims[0]; i++) sum += (double)floats(ins, 0)[i];
    return sum;
}

static double sum_row(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)floats(ins, 0)[at * n + i];
    return sum;
}

static double sum_column(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < op->inputs[0].dims[0]; i++) sum += (double)floats(ins, 0)[i * n + at];
    return sum;
}

static double by_matrix(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[1].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < op->inputs[1].dims[0]; i++)
        sum += (double)floats(ins, 0)[i] * (double)floats(ins, 1)[i * n + at];
    return sum;
}

static double softmax(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[1];
    const float *x = floats(ins, 0) + at / n * n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i]);
    return exp((double)x[at % n]) / sum;
}

static double layer_norm(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[1];
    const float *x = floats(ins, 0) + at / n * n;
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
    return ((double)x[at % n] - mean) / sqrt(square + 1e-5) * (double)floats(ins, 1)[at % n] +
           (double)floats(ins, 2)[at % n];
}

static double transposed(const bench_op *op, const void *const *ins, int64_t at)
{
    const int64_t *d = op->inputs[0].dims;
    return (double)floats(ins, 0)[at % d[0] * d[1] + at / d[0]];
}

static double channels_last(const bench_op *op, const void *const *ins, int64_t at)
{
    const int64_t *d = op->inputs[0].dims;
    int64_t c = at % d[1], pixel = at / d[1] % (d[2] * d[3]), n = at / d[1] / (d[2] * d[3]);
    return (double)floats(ins, 0)[(n * d[1] + c) * d[2] * d[3] + pixel];
}

static double gathered(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[1];
    return (double)floats(ins, 0)[((const int32_t *)ins[1])[at / n] * n + at % n];
}

static double concatenated(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[1], column = at % (3 * n);
    return (double)floats(ins, (int)(column / n))[at / (3 * n) * n + column % n];
}

static double depthwise(const bench_op *op, const void *const *ins, int64_t at)
{
    const int64_t *d = op->inputs[0].dims;
    int64_t x = at % d[3], y = at / d[3] % d[2], plane = at / d[3] / d[2];
    double sum = 0;
    for (int64_t i = 0; i < 9; i++) {
        int64_t sy = y + i / 3 - 1, sx = x + i % 3 - 1;
        if (sy < 0 || sx < 0 || sy >= d[2] || sx >= d[3]) continue;
        sum += (double)floats(ins, 0)[(plane * d[2] + sy) * d[3] + sx] *
               (double)floats(ins, 1)[plane % d[1] * 9 + i];
    }
    return sum;
}

static double pooled(const bench_op *op, const void *const *ins, int64_t at)
{
    const int64_t *d = op->inputs[0].dims;
    int64_t h = d[2] / 2, w = d[3] / 2, x = at % w * 2, y = at / w % h * 2, plane = at / w / h;
    double max = -INFINITY;
    for (int64_t i = 0; i < 9; i++) {
        int64_t sy = y + i / 3 - 1, sx = x + i % 3 - 1;
        if (sy < 0 || sx < 0 || sy >= d[2] || sx >= d[3]) continue;
        max = fmax(max, (double)floats(ins, 0)[(plane * d[2] + sy) * d[3] + sx]);
    }
    return max;
}

/* The element that as many are not greater than as stand before it: by halving the range of values. */
static double sorted(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[0].dims[0];
    const float *x = floats(ins, 0);
    float lo = x[0], hi = x[0];
    for (int64_t i = 1; i < n; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    while (lo < hi) {
        float mid = lo + (hi - lo) / 2, below = lo, above = hi; /* values of x on both sides of mid */
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) {
            count += x[i] <= mid;
            if (x[i] <= mid) below = fmaxf(below, x[i]);
            if (x[i] > mid) above = fminf(above, x[i]);
        }
        if (count > at)
            hi = below;
        else
            lo = above;
    }
    return (double)lo;
}

/* ---- Attributes ---- */

static const gpuc_attrs *axis_0(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){0});
}

static const gpuc_attrs *axis_1(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){1});
}

static const gpuc_attrs *last_axis(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, NULL, "axis", -1);
}

static const gpuc_attrs *rows(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, NULL, "axis", 0);
}

static const gpuc_attrs *nhwc(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axes", 4, (int64_t[]){0, 2, 3, 1});
}

static const gpuc_attrs *conv(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 2, (int64_t[]){1, 1});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){1, 1, 1, 1});
    a = gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
    return gpuc_attrs_int(ctx, a, "groups", 256);
}

static const gpuc_attrs *pool(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "pool_size", 2, (int64_t[]){3, 3});
    a = gpuc_attrs_ints(ctx, a, "strides", 2, (int64_t[]){2, 2});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){1, 1, 1, 1});
    return gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
}

/* ---- The table ---- */

/* clang-format off */
const bench_op bench_ops[] = {
    OP("relu of 16 Mi floats", ELEMWISE, BYTES(128e0 * MI), "nn.relu", NULL, relu, 101, 1, FLOATS(1, 16 * MI)),
    OP("add of 16 Mi floats", ELEMWISE, BYTES(192e0 * MI), "add", NULL, sum2, 101, 2, FLOATS(1, 16 * MI), FLOATS(1, 16 * MI)),
    OP("4096x4096 plus a row", COPY, BYTES(128e0 * MI), "add", NULL, sum_row_vector, 101, 2, FLOATS(2, 4096, 4096), FLOATS(1, 4096)),
    OP("sum of 16 Mi floats", SUM, BYTES(64e0 * MI), "sum", NULL, sum_all, 1, 1, FLOATS(1, 16 * MI)),
    OP("sums of rows, 4096x4096", SUM, BYTES(64e0 * MI), "sum", axis_1, sum_row, 101, 1, FLOATS(2, 4096, 4096)),
    OP("sums of columns, 4096x4096", SUM, BYTES(64e0 * MI), "sum", axis_0, sum_column, 101, 1, FLOATS(2, 4096, 4096)),
    OP("softmax, 16384x1024", NORM, BYTES(128e0 * MI), "nn.softmax", NULL, softmax, 10007, 1, FLOATS(2, 16384, 1024)),
    OP("softmax, 1024x1024", NORM, BYTES(8e0 * MI), "nn.softmax", NULL, softmax, 10007, 1, FLOATS(2, 1024, 1024)),
    OP("layer norm, 16384x1024", NORM, BYTES(128e0 * MI), "nn.layer_norm", NULL, layer_norm, 10007, 3, FLOATS(2, 16384, 1024), FLOATS(1, 1024), FLOATS(1, 1024)),
    OP("transpose, 4096x4096", MOVE, BYTES(128e0 * MI), "transpose", NULL, transposed, 101, 1, FLOATS(2, 4096, 4096)),
    OP("NCHW to NHWC, 16x256x64x64", MOVE, BYTES(128e0 * MI), "transpose", nhwc, channels_last, 101, 1, FLOATS(4, 16, 256, 64, 64)),
    OP("gather of 65536 rows of 256", MOVE, BYTES(128e0 * MI), "take", rows, gathered, 101, 2, FLOATS(2, 65536, 256), INDICES(32, 65536, 1, 65536)),
    OP("concat of three 4096x1408", COPY, BYTES(132e0 * MI), "concatenate", last_axis, concatenated, 101, 3, FLOATS(2, 4096, 1408), FLOATS(2, 4096, 1408), FLOATS(2, 4096, 1408)),
    OP("depthwise 3x3, 4x256x128x128", MOVE, BYTES(128e0 * MI), "nn.conv2d", conv, depthwise, 101, 2, FLOATS(4, 4, 256, 128, 128), FLOATS(4, 256, 1, 3, 3)),
    OP("max of 3x3 every 2, 4x256x112x112", MOVE, BYTES(61.25 * MI), "nn.max_pool2d", pool, pooled, 101, 1, FLOATS(4, 4, 256, 112, 112)),
    OP("vector by matrix, 4096x4096", OTHER, BYTES(64e0 * MI), "nn.matmul", NULL, by_matrix, 11, 2, FLOATS(2, 1, 4096), FLOATS(2, 4096, 4096)),
    OP("256 launches of a small kernel", LAUNCH, .chain = 256, "add", NULL, sum_chain, 1, 2, FLOATS(1, 64), FLOATS(1, 64)),
    OP("sort of 1 Mi floats", OTHER, BYTES(8e0 * MI), "sort", NULL, sorted, 262147, 1, FLOATS(1, MI)),
};
/* clang-format on */
const size_t bench_num_ops = BENCH_COUNT(bench_ops);
