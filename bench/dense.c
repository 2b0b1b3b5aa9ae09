/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose speed is that of the arithmetic: products and convolutions, among them shapes of ResNet-50
 * and shapes that nothing divides. Weights are constants, as models have them. */
#include <math.h>

#include "bench_ops.h"
#include "relay/relay.h"

static double matmul(const bench_op *op, const void *const *ins, int64_t at)
{
    int64_t n = op->inputs[1].dims[1], depth = op->inputs[0].dims[1];
    gpuc_dtype a = op->inputs[0].dtype, b = op->inputs[1].dtype;
    double sum = 0;
    for (int64_t i = 0; i < depth; i++)
        sum += bench_element(a, ins[0], at / n * depth + i) * bench_element(b, ins[1], at % n + i * n);
    return sum;
}

/* One element of a convolution of [N, C, H, W] by [O, C/groups, K, K] with padding K/2. */
static double convolved(const bench_op *op, const void *const *ins, int64_t at, int64_t stride)
{
    const int64_t *d = op->inputs[0].dims, *w = op->inputs[1].dims;
    int64_t pad = w[2] / 2, height = (d[2] - 1) / stride + 1, width = (d[3] - 1) / stride + 1;
    int64_t x = at % width * stride - pad, y = at / width % height * stride - pad,
            o = at / width / height % w[0], n = at / width / height / w[0],
            first = o / (w[0] / (d[1] / w[1])) * w[1];
    gpuc_dtype data = op->inputs[0].dtype, weight = op->inputs[1].dtype;
    double sum = 0;
    for (int64_t c = 0; c < w[1]; c++) {
        for (int64_t i = 0; i < w[2] * w[3]; i++) {
            int64_t sy = y + i / w[3], sx = x + i % w[3];
            if (sy < 0 || sx < 0 || sy >= d[2] || sx >= d[3]) continue;
            double value = bench_element(data, ins[0], ((n * d[1] + first + c) * d[2] + sy) * d[3] + sx);
            sum += value * bench_element(weight, ins[1], (o * w[1] + c) * w[2] * w[3] + i);
        }
    }
    return sum;
}

static double conv_1(const bench_op *op, const void *const *ins, int64_t at)
{
    return convolved(op, ins, at, 1);
}

static double conv_2(const bench_op *op, const void *const *ins, int64_t at)
{
    return convolved(op, ins, at, 2);
}

static const gpuc_attrs *window(gpuc_ctx *ctx, int64_t kernel, int64_t stride)
{
    int64_t pad = kernel / 2;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 2, (int64_t[]){stride, stride});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){pad, pad, pad, pad});
    return gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
}

static const gpuc_attrs *pointwise(gpuc_ctx *ctx)
{
    return window(ctx, 1, 1);
}

static const gpuc_attrs *pointwise_2(gpuc_ctx *ctx)
{
    return window(ctx, 1, 2);
}

static const gpuc_attrs *window_3(gpuc_ctx *ctx)
{
    return window(ctx, 3, 1);
}

static const gpuc_attrs *sums_of_int32(gpuc_ctx *ctx)
{
    return gpuc_attrs_dtype(ctx, NULL, "out_dtype", GPUC_INT32);
}

static const gpuc_attrs *window_3_int32(gpuc_ctx *ctx)
{
    return gpuc_attrs_dtype(ctx, window_3(ctx), "out_dtype", GPUC_INT32);
}

static const gpuc_attrs *window_3_2(gpuc_ctx *ctx)
{
    return window(ctx, 3, 2);
}

static const gpuc_attrs *window_7_2(gpuc_ctx *ctx)
{
    return window(ctx, 7, 2);
}

/* One element of softmax(Q K^T / sqrt(size)) V of [1, heads, length, size]. */
static double attended(const bench_op *op, const void *const *ins, int64_t at)
{
    const int64_t *d = op->inputs[0].dims;
    int64_t length = d[2], size = d[3], head = at / size / length;
    const float *q = (const float *)ins[0] + at / size * size,
                *k = (const float *)ins[1] + head * length * size,
                *v = (const float *)ins[2] + head * length * size;
    double total = 0, sum = 0;
    for (int64_t j = 0; j < length; j++) {
        double dot = 0;
        for (int64_t i = 0; i < size; i++) dot += (double)q[i] * (double)k[j * size + i];
        double weight = exp(dot / sqrt((double)size));
        total += weight;
        sum += weight * (double)v[j * size + at % size];
    }
    return sum / total;
}

static gpuc_rexpr *attention(gpuc_ctx *ctx, gpuc_rexpr *const *ins)
{
    int64_t size;
    gpuc_expr_is_int(gpuc_relay_tensor_type(ins[0])->dims[3], &size);
    gpuc_rexpr *root = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, sqrt((double)size));
    gpuc_rexpr *scores =
        gpuc_relay_op2(ctx, "nn.matmul", gpuc_attrs_int(ctx, NULL, "transpose_b", 1), ins[0], ins[1]);
    scores = gpuc_relay_op2(ctx, "divide", NULL, scores, root);
    gpuc_rexpr *weights = gpuc_relay_op1(ctx, "nn.softmax", gpuc_attrs_int(ctx, NULL, "axis", -1), scores);
    return gpuc_relay_op2(ctx, "nn.matmul", NULL, weights, ins[2]);
}

#define ATTENTION(heads, length, size)                                                                       \
    {                                                                                                        \
        .title = "attention, " #heads " heads, " #length " x " #size, .spell = attention,                    \
        .kind = BENCH_OTHER, .operations = 4.0 * heads * length * length * size, .num_inputs = 3,            \
        .inputs = {FLOATS(4, 1, heads, length, size), FLOATS(4, 1, heads, length, size),                     \
                   FLOATS(4, 1, heads, length, size)},                                                       \
        .expected = attended, .step = 1009                                                                   \
    }
#define OPERATIONS_WITH_WEIGHTS(n) .constants = 2, .operations = n
#define GEMM(M, N, K)                                                                                        \
    {                                                                                                        \
        .title = "sgemm " #M " x " #N " x " #K, .relay = "nn.matmul", .kind = BENCH_GEMM, .gemm = {M, N, K}, \
        .operations = 2.0 * M * N * K, .num_inputs = 2, .inputs = {FLOATS(2, M, K), FLOATS(2, K, N)},        \
        .expected = matmul, .step = 101                                                                      \
    }
/* Channels in and out, height and width of the input, kernel, stride. */
#define CONV(c, o, h, w, kernel, stride, at, want)                                                           \
    OP("conv " #kernel "x" #kernel "/" #stride ", " #c " to " #o ", " #h "x" #w, CONV,                       \
       OPERATIONS_WITH_WEIGHTS(2.0 * c * o * kernel * kernel * (((h)-1) / stride + 1) *                      \
                               (((w)-1) / stride + 1)),                                                      \
       "nn.conv2d", at, want, 101, 2, FLOATS(4, 1, c, h, w), FLOATS(4, o, c, kernel, kernel))

#define BYTES_OF(code, n, ...)                                                                               \
    {                                                                                                        \
        .dtype = {GPUC_DTYPE_##code, 8, 1}, .ndim = n, .dims = { __VA_ARGS__ }                               \
    }
/* uint8 by int8, summed in int32. */
#define GEMM_INT8(m, n, k)                                                                                   \
    OP("int8 gemm " #m " x " #n " x " #k, INT8, OPERATIONS_WITH_WEIGHTS(2.0 * m * n * k), "nn.matmul",       \
       sums_of_int32, matmul, 101, 2, BYTES_OF(UINT, 2, m, k), BYTES_OF(INT, 2, k, n))
#define CONV_INT8(c, o, h, w, kernel, at, want)                                                              \
    OP("int8 conv " #kernel "x" #kernel ", " #c " to " #o ", " #h "x" #w, INT8,                              \
       OPERATIONS_WITH_WEIGHTS(2.0 * c * o * kernel * kernel * h * w), "nn.conv2d", at, want, 101, 2,        \
       BYTES_OF(UINT, 4, 1, c, h, w), BYTES_OF(INT, 4, o, c, kernel, kernel))

/* clang-format off */
const bench_op bench_dense_ops[] = {
    GEMM(256, 256, 256),
    GEMM(512, 512, 512),
    GEMM(1024, 1024, 1024),
    GEMM(2048, 2048, 2048),
    GEMM(1021, 1013, 1019),
    CONV(3, 64, 224, 224, 7, 2, window_7_2, conv_2),
    CONV(64, 64, 56, 56, 3, 1, window_3, conv_1),
    CONV(64, 256, 56, 56, 1, 1, pointwise, conv_1),
    CONV(256, 64, 56, 56, 1, 1, pointwise, conv_1),
    CONV(128, 128, 28, 28, 3, 1, window_3, conv_1),
    CONV(128, 128, 56, 56, 3, 2, window_3_2, conv_2),
    CONV(256, 512, 56, 56, 1, 2, pointwise_2, conv_2),
    CONV(256, 256, 14, 14, 3, 1, window_3, conv_1),
    CONV(1024, 256, 14, 14, 1, 1, pointwise, conv_1),
    CONV(512, 512, 7, 7, 3, 1, window_3, conv_1),
    CONV(512, 2048, 7, 7, 1, 1, pointwise, conv_1),
    CONV(60, 52, 55, 57, 3, 1, window_3, conv_1),
    CONV_INT8(64, 64, 56, 56, 3, window_3_int32, conv_1),
    CONV_INT8(60, 52, 55, 57, 3, window_3_int32, conv_1),
    GEMM_INT8(512, 512, 512),
    ATTENTION(12, 128, 64),
    ATTENTION(12, 512, 64),
};
/* clang-format on */
const size_t bench_num_dense_ops = BENCH_COUNT(bench_dense_ops);
