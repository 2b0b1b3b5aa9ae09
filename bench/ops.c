/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose speed is that of the memory: rows of the operator table, 64 MB and more. */
#include <math.h>

#include "bench.h"
#include "topi/op.h"

typedef struct row {
    const char *op;
    const gpuc_attrs *(*attrs)(gpuc_ctx *ctx);
} row;

static gpuc_tensor *define(gpuc_ctx *ctx, const bench_kernel *k, gpuc_tensor *const *ins)
{
    const row *r = k->more;
    const gpuc_op *op = gpuc_op_find(r->op);
    gpuc_tensor_type in[8], out[GPUC_OP_MAX_OUT] = {{.ndim = 0}};
    const gpuc_expr *values[8] = {NULL}, *out_values[GPUC_OP_MAX_OUT] = {NULL};
    if (!op) gpuc_raise(ctx, GPUC_INTERNAL, "there is no operator %s", r->op);
    for (int i = 0; i < k->num_inputs; i++)
        in[i] = (gpuc_tensor_type){gpuc_te_dtype(ins[i]), gpuc_te_ndim(ins[i]), gpuc_te_shape(ins[i])};
    gpuc_op_call call = {.ctx = ctx,
                         .op = op,
                         .attrs = gpuc_op_complete_attrs(ctx, op, r->attrs ? r->attrs(ctx) : NULL),
                         .num_in = k->num_inputs,
                         .in = in,
                         .in_values = values,
                         .out = out,
                         .out_values = out_values};
    gpuc_tensor *result[GPUC_OP_MAX_OUT];
    gpuc_op_infer(&call);
    op->compute(&call, ins, result);
    return result[0];
}

/* ---- What they should give ---- */

static const float *floats(const void *const *ins, int i)
{
    return ins[i];
}

static double relu(const bench_kernel *k, const void *const *ins, int64_t at)
{
    (void)k;
    return fmax((double)floats(ins, 0)[at], 0);
}

static double sum2(const bench_kernel *k, const void *const *ins, int64_t at)
{
    (void)k;
    return (double)(floats(ins, 0)[at] + floats(ins, 1)[at]);
}

static double sum_row_vector(const bench_kernel *k, const void *const *ins, int64_t at)
{
    return (double)(floats(ins, 0)[at] + floats(ins, 1)[at % k->inputs[1].dims[0]]);
}

static double sum_all(const bench_kernel *k, const void *const *ins, int64_t at)
{
    double sum = 0;
    (void)at;
    for (int64_t i = 0; i < k->inputs[0].dims[0]; i++) sum += (double)floats(ins, 0)[i];
    return sum;
}

static double sum_row(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)floats(ins, 0)[at * n + i];
    return sum;
}

static double sum_column(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < k->inputs[0].dims[0]; i++) sum += (double)floats(ins, 0)[i * n + at];
    return sum;
}

static double softmax(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    const float *x = floats(ins, 0) + at / n * n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i]);
    return exp((double)x[at % n]) / sum;
}

static double layer_norm(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    const float *x = floats(ins, 0) + at / n * n;
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
    return ((double)x[at % n] - mean) / sqrt(square + 1e-5) * (double)floats(ins, 1)[at % n] +
           (double)floats(ins, 2)[at % n];
}

static double transposed(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    return (double)floats(ins, 0)[at % d[0] * d[1] + at / d[0]];
}

static double channels_last(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    int64_t c = at % d[1], pixel = at / d[1] % (d[2] * d[3]), n = at / d[1] / (d[2] * d[3]);
    return (double)floats(ins, 0)[(n * d[1] + c) * d[2] * d[3] + pixel];
}

static double gathered(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    return (double)floats(ins, 0)[((const int32_t *)ins[1])[at / n] * n + at % n];
}

static double concatenated(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1], column = at % (3 * n);
    return (double)floats(ins, (int)(column / n))[at / (3 * n) * n + column % n];
}

static double depthwise(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    int64_t x = at % d[3], y = at / d[3] % d[2], plane = at / d[3] / d[2];
    double sum = 0;
    for (int64_t i = 0; i < 9; i++) {
        int64_t sy = y + i / 3 - 1, sx = x + i % 3 - 1;
        if (sy < 0 || sx < 0 || sy >= d[2] || sx >= d[3]) continue;
        sum +=
            (double)(floats(ins, 0)[(plane * d[2] + sy) * d[3] + sx] * floats(ins, 1)[plane % d[1] * 9 + i]);
    }
    return sum;
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

/* ---- The table ---- */

#define MI ((int64_t)1 << 20)
#define FLOATS(n, ...)                                                                                       \
    {                                                                                                        \
        .ndim = n, .dims = { __VA_ARGS__ }                                                                   \
    }
#define INDICES(n, limit)                                                                                    \
    {                                                                                                        \
        .ndim = 1, .dims = {n}, .below = limit                                                               \
    }
/* Of num inputs; every how many elements the result is looked at. */
#define OP(text, class, size, operator, at, want, every, num, ...)                                           \
    {                                                                                                        \
        .title = text, .bytes = size, .kind = BENCH_OP_##class,                                                         \
        .kernel = {                                                                                          \
            .name = "row",                                                                                   \
            .num_inputs = num,                                                                               \
            .inputs = {__VA_ARGS__},                                                                         \
            .define = define,                                                                                \
            .expected = want,                                                                                \
            .step = every,                                                                                   \
            .more =                                                                                          \
                &(const row){                                                                                \
                    operator,                                                                                \
                    at },                                                                                    \
                }                                                                                            \
    }

/* clang-format off */
const bench_op bench_ops[] = {
    OP("relu of 16 Mi floats", ELEMWISE, 128e0 * MI, "nn.relu", NULL, relu, 101, 1, FLOATS(1, 16 * MI)),
    OP("add of 16 Mi floats", ELEMWISE, 192e0 * MI, "add", NULL, sum2, 101, 2, FLOATS(1, 16 * MI), FLOATS(1, 16 * MI)),
    OP("4096x4096 plus a row", ELEMWISE, 128e0 * MI, "add", NULL, sum_row_vector, 101, 2, FLOATS(2, 4096, 4096), FLOATS(1, 4096)),
    OP("sum of 16 Mi floats", SUM, 64e0 * MI, "sum", NULL, sum_all, 1, 1, FLOATS(1, 16 * MI)),
    OP("sums of rows, 4096x4096", SUM, 64e0 * MI, "sum", axis_1, sum_row, 101, 1, FLOATS(2, 4096, 4096)),
    OP("sums of columns, 4096x4096", SUM, 64e0 * MI, "sum", axis_0, sum_column, 101, 1, FLOATS(2, 4096, 4096)),
    OP("softmax, 16384x1024", NORM, 128e0 * MI, "nn.softmax", NULL, softmax, 10007, 1, FLOATS(2, 16384, 1024)),
    OP("layer norm, 16384x1024", NORM, 128e0 * MI, "nn.layer_norm", NULL, layer_norm, 10007, 3, FLOATS(2, 16384, 1024), FLOATS(1, 1024), FLOATS(1, 1024)),
    OP("transpose, 4096x4096", MOVE, 128e0 * MI, "transpose", NULL, transposed, 101, 1, FLOATS(2, 4096, 4096)),
    OP("NCHW to NHWC, 16x256x64x64", MOVE, 128e0 * MI, "transpose", nhwc, channels_last, 101, 1, FLOATS(4, 16, 256, 64, 64)),
    OP("gather of 65536 rows of 256", MOVE, 128e0 * MI, "take", NULL, gathered, 101, 2, FLOATS(2, 65536, 256), INDICES(65536, 65536)),
    OP("concat of three 4096x1408", ELEMWISE, 132e0 * MI, "concatenate", last_axis, concatenated, 101, 3, FLOATS(2, 4096, 1408), FLOATS(2, 4096, 1408), FLOATS(2, 4096, 1408)),
    OP("depthwise 3x3, 4x256x128x128", MOVE, 128e0 * MI, "nn.conv2d", conv, depthwise, 101, 2, FLOATS(4, 4, 256, 128, 128), FLOATS(4, 256, 1, 3, 3)),
};
/* clang-format on */
const size_t bench_num_ops = BENCH_COUNT(bench_ops);
