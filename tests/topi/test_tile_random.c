/* SPDX-License-Identifier: Apache-2.0 */
/* test_topi_tile_random TARGET [CASES [SEED]]: products, convolutions and pools of random sizes beside their definitions:
 * rows with and without a tail, with and without padding, of a few elements or of several tiles. */
#include <stdlib.h>

#include "../codegen/run.h"
#include "on_device.h"

static const char *random_type(fx_rng *r)
{
    static const char *const types[] = {"float32", "float32", "float32", "float64", "float16", "int32"};
    const char *type = types[fx_below(r, 6)];
    return type;
}

/* "[a, b, ...]" of n numbers from lo on, all the same where that is wanted. */
static const char *numbers(gpuc_ctx *ctx, fx_rng *r, int n, int lo, int count, bool same)
{
    const char *text = "[";
    int first = lo + fx_below(r, count);
    for (int i = 0; i < n; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%d", text, i ? ", " : "", same ? first : lo + fx_below(r, count));
    return gpuc_ctx_printf(ctx, "%s]", text);
}

/* Extents of rank spatial axes, the last of up to most elements from least on: "7, 40". */
static const char *space(gpuc_ctx *ctx, fx_rng *r, int rank, int least, int most)
{
    const char *text = "";
    for (int i = 0; i < rank - 1; i++) text = gpuc_ctx_printf(ctx, "%s, %d", text, 9 + fx_below(r, 7));
    return gpuc_ctx_printf(ctx, "%s, %d", text, least + fx_below(r, most));
}

static op_case matmul(gpuc_ctx *ctx, fx_rng *r)
{
    static const int sizes[] = {1, 2, 5, 7, 13, 16, 31, 48, 50, 97, 150};
    int m = sizes[fx_below(r, 11)], n = sizes[fx_below(r, 11)] + fx_below(r, 9), k = 1 + fx_below(r, 60),
        a = fx_below(r, 2), b = fx_below(r, 2);
    if (fx_below(r, 6) == 0) k = fx_below(r, 2) ? 1 : 4001, m = 1 + m % 9;
    const char *type = random_type(r), *batch = fx_below(r, 2) ? "3, " : "";
    return (op_case){.op = "nn.matmul",
                     .attrs = gpuc_ctx_printf(ctx, "transpose_a=%d transpose_b=%d", a, b),
                     .in = gpuc_ctx_printf(ctx, "%s[%s%d, %d] %s[%s%d, %d]", type, batch, a ? k : m,
                                           a ? m : k, type, batch, b ? n : k, b ? k : n)};
}

static op_case convolution(gpuc_ctx *ctx, fx_rng *r)
{
    int rank = 1 + fx_below(r, 3), way = fx_below(r, 3), groups = 1, in = 1 + fx_below(r, 9),
        out = 1 + fx_below(r, 20);
    if (way == 1) groups = in = out; /* depthwise */
    if (way == 2) groups = 1 + fx_below(r, 4), in *= groups, out *= groups;
    if (way == 0 && rank < 3 && fx_below(r, 4) == 0) in += fx_below(r, 62), out += fx_below(r, 51);
    const char *type = random_type(r), *window = "", *pads = fx_below(r, 2) ? "0" : NULL, *of = type,
               *sum = "";
    if (fx_below(r, 4) == 0) { /* some targets have instructions for sums of these */
        static const char *const bytes[] = {"int8", "uint8"};
        type = bytes[fx_below(r, 2)], of = bytes[fx_below(r, 2)], sum = " out_dtype=int32";
    }
    bool wide = way == 1 && fx_below(r, 3) == 0; /* of one channel: up to 40 taps along a row */
    for (int i = 0; i < rank; i++) {
        int most = wide && i == rank - 1 ? 40 : rank == 1 ? 7 : 4;
        window = gpuc_ctx_printf(ctx, "%s, %d", window, 1 + fx_below(r, most));
    }
    return (op_case){.op = gpuc_ctx_printf(ctx, "nn.conv%dd", rank),
                     .attrs = gpuc_ctx_printf(ctx, "strides=%s padding=%s dilation=%s groups=%d%s",
                                              numbers(ctx, r, rank, 1, fx_below(r, 2) ? 1 : 3, false),
                                              numbers(ctx, r, 2 * rank, 0, pads ? 1 : 4, false),
                                              numbers(ctx, r, rank, 1, 2, false), groups, sum),
                     .in = gpuc_ctx_printf(ctx, "%s[%d, %d%s] %s[%d, %d%s]", type, 1 + fx_below(r, 2), in,
                                           space(ctx, r, rank, wide ? 79 : 9, rank == 1 ? 200 : 70), of, out,
                                           in / groups, window)};
}

static op_case transposed(gpuc_ctx *ctx, fx_rng *r)
{
    int rank = 1 + fx_below(r, 3), groups = 1 + fx_below(r, 2), channels = 6 * groups;
    const char *type = random_type(r), *window = "", *places = space(ctx, r, rank, 9, rank == 1 ? 60 : 20);
    bool last = fx_below(r, 2);
    for (int i = 0; i < rank; i++) window = gpuc_ctx_printf(ctx, "%s, %d", window, 2 + fx_below(r, 3));
    places = last ? gpuc_ctx_printf(ctx, "%s, %d", places, channels)
                  : gpuc_ctx_printf(ctx, ", %d%s", channels, places);
    return (op_case){.op = gpuc_ctx_printf(ctx, "nn.conv%dd_transpose", rank),
                     .attrs = gpuc_ctx_printf(
                         ctx,
                         "strides=%s padding=%s dilation=%s output_padding=%s groups=%d data_layout=\"%s\"",
                         numbers(ctx, r, rank, 1, 3, false), numbers(ctx, r, 2 * rank, 0, 2, false),
                         numbers(ctx, r, rank, 1, 2, false), numbers(ctx, r, rank, 0, 1, true), groups,
                         last ? "NHWC" : "NCHW"),
                     .in = gpuc_ctx_printf(ctx, "%s[%d%s] %s[%d, %d%s]", type, 1 + fx_below(r, 2), places,
                                           type, channels, 1 + fx_below(r, 17), window)};
}

static op_case pool(gpuc_ctx *ctx, fx_rng *r)
{
    int rank = 1 + fx_below(r, 3);
    return (op_case){
        .op = gpuc_ctx_printf(ctx, "nn.%s_pool%dd", fx_below(r, 2) ? "max" : "avg", rank),
        .attrs = gpuc_ctx_printf(ctx, "pool_size=%s strides=%s padding=%s dilation=%s",
                                 numbers(ctx, r, rank, 2, 4, false), numbers(ctx, r, rank, 1, 4, false),
                                 numbers(ctx, r, 2 * rank, 0, 2, true), numbers(ctx, r, rank, 1, 1, true)),
        .in = gpuc_ctx_printf(ctx, "float32[1, %d%s]", 1 + fx_below(r, 6), space(ctx, r, rank, 9, 70))};
}

static void check(gpuc_ctx *ctx, void *arg)
{
    on_device_case *c = arg;
    fx_rng *r = &c->rng;
    int way = fx_below(r, 6);
    op_case one = way < 1   ? matmul(ctx, r)
                  : way < 4 ? convolution(ctx, r)
                  : way < 5 ? pool(ctx, r)
                            : transposed(ctx, r);
    one.lo = 1; /* no sum is small beside its terms */
    one.hi = 3;
    if (getenv("GPUC_TEST_VERBOSE"))
        print_message("seed %llu: %s(%s) %s\n", (unsigned long long)c->seed, one.op, one.attrs, one.in);
    on_device_check_all(&one, 1);
}

int main(int argc, char **argv)
{
    return on_device_main(argc, argv, 40, check);
}
