/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles on CPUs as loops: tails are shifted back instead of guarded, rounded-up copies are left out, and the lines of a
 * window's column are unrolled, so that lines of the tile share what is loaded. Sums are in vectors. What of a window is in
 * instructions and in registers. */
#include "../te/protect.h"

#include <string.h>

#include "autoschedule/rules.h"
#include "base/buf.h"
#include "tir/tir.h"

#include <gpuc/schedule.h>

enum { WINDOW = 5, LINES = 28, ROUNDED = 64 };

static const char *loops_of(gpuc_ctx *ctx, const char *target, gpuc_tensor *out, int n, gpuc_tensor **args)
{
    const gpuc_target *t = gpuc_target_parse(ctx, target, NULL);
    gpuc_schedule *s = gpuc_topi_schedule(ctx, t, NULL, 1, &out);
    gpuc_buf printed;
    gpuc_buf_init(&printed, ctx->allocator);
    gpuc_tir_print(ctx, &printed, gpuc_schedule_lower(s, "f", n, args));
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&printed));
    gpuc_buf_deinit(&printed);
    return text;
}

static gpuc_tensor *product(gpuc_ctx *ctx, int64_t m, int64_t n, gpuc_tensor **args)
{
    gpuc_expr rows[] = {gpuc_int(ctx, m), gpuc_int(ctx, 8)}, columns[] = {rows[1], gpuc_int(ctx, n)};
    args[0] = gpuc_te_placeholder(ctx, "A", 2, rows, GPUC_FLOAT32);
    args[1] = gpuc_te_placeholder(ctx, "B", 2, columns, GPUC_FLOAT32);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, rows[0], "i"), gpuc_te_axis(ctx, columns[1], "j")},
              *sum = gpuc_te_reduce_axis(ctx, rows[1], "k");
    gpuc_expr at_a[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(sum)},
              at_b[] = {gpuc_iter_var(sum), gpuc_iter_var(axes[1])};
    gpuc_expr value = gpuc_mul(ctx, gpuc_te_read(ctx, args[0], 2, at_a), gpuc_te_read(ctx, args[1], 2, at_b));
    args[2] = gpuc_te_compute(ctx, "C", 2, axes, gpuc_te_reduce(ctx, "sum", value, 1, &sum));
    gpuc_te_set_attr(ctx, args[2], "tag", "matmul");
    return args[2];
}

/* An operand of 4 axes, read at these places. */
static gpuc_expr element(gpuc_ctx *ctx, gpuc_tensor *t, gpuc_iter *const *axes)
{
    gpuc_expr at[4];
    for (int i = 0; i < 4; i++) at[i] = gpuc_iter_var(axes[i]);
    return gpuc_te_read(ctx, t, 4, at);
}

/* Elements of A that are moved by so many columns, and 0 beyond. */
static gpuc_tensor *padded(gpuc_ctx *ctx, gpuc_tensor *a, int64_t columns, int64_t moved)
{
    gpuc_expr at[4];
    gpuc_iter *axes[4];
    for (int i = 0; i < 4; i++) {
        gpuc_expr extent = gpuc_te_shape(a)[i];
        axes[i] = gpuc_te_axis(ctx, i < 3 ? extent : gpuc_int(ctx, ROUNDED + WINDOW - 1), "p");
        at[i] = gpuc_iter_var(axes[i]);
    }
    at[3] = gpuc_sub(ctx, at[3], gpuc_int(ctx, moved));
    gpuc_expr inside =
        gpuc_and(ctx, gpuc_ge(ctx, at[3], gpuc_int(ctx, 0)), gpuc_lt(ctx, at[3], gpuc_int(ctx, columns)));
    gpuc_expr value =
        gpuc_if_then_else(ctx, inside, gpuc_te_read(ctx, a, 4, at), gpuc_imm(ctx, GPUC_FLOAT32, 0));
    gpuc_tensor *pad = gpuc_te_compute(ctx, "pad", 4, axes, value);
    gpuc_te_set_attr(ctx, pad, "tag", "pad");
    return pad;
}

/* A depthwise convolution whose rows of 50 sums are rounded up to 64. */
static gpuc_tensor *depthwise(gpuc_ctx *ctx, int64_t moved, gpuc_tensor **args)
{
    const int64_t used = 50, columns = used + WINDOW - 1 - moved;
    const int64_t extents[] = {1, 6, LINES + WINDOW - 1, columns}, sums[] = {1, 6, LINES, ROUNDED};
    gpuc_expr shape[4], weights[] = {gpuc_int(ctx, 6), gpuc_int(ctx, WINDOW), gpuc_int(ctx, WINDOW)};
    gpuc_iter *axes[4], *last[4], *window[2];
    for (int i = 0; i < 4; i++) {
        shape[i] = gpuc_int(ctx, extents[i]);
        axes[i] = gpuc_te_axis(ctx, gpuc_int(ctx, sums[i]), "i");
        last[i] = gpuc_te_axis(ctx, gpuc_int(ctx, i < 3 ? sums[i] : used), "o");
    }
    for (int i = 0; i < 2; i++) window[i] = gpuc_te_reduce_axis(ctx, weights[1], i ? "kx" : "ky");
    args[0] = gpuc_te_placeholder(ctx, "A", 4, shape, GPUC_FLOAT32);
    args[1] = gpuc_te_placeholder(ctx, "W", 3, weights, GPUC_FLOAT32);
    gpuc_expr ky = gpuc_iter_var(window[0]), kx = gpuc_iter_var(window[1]),
              at_w[] = {gpuc_iter_var(axes[1]), ky, kx},
              at[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(axes[1]),
                      gpuc_add(ctx, gpuc_iter_var(axes[2]), ky), gpuc_add(ctx, gpuc_iter_var(axes[3]), kx)};
    gpuc_expr value = gpuc_mul(ctx, gpuc_te_read(ctx, padded(ctx, args[0], columns, moved), 4, at),
                               gpuc_te_read(ctx, args[1], 3, at_w));
    gpuc_tensor *conv = gpuc_te_compute(ctx, "conv", 4, axes, gpuc_te_reduce(ctx, "sum", value, 2, window));
    gpuc_te_set_attr(ctx, conv, "tag", "depthwise");
    args[2] = gpuc_te_compute(ctx, "T", 4, last, element(ctx, conv, last));
    return args[2];
}

/* What the windows of a convolution read: an operand along its rows, or with four columns side by side, or with each second
 * one apart, or what is computed of it in their place. */
typedef enum columns { IN_ROWS, SIDES, APART, COMPUTED } columns;

/* Sums of windows of 2 x taps, of two channels. */
static gpuc_tensor *convolution(gpuc_ctx *ctx, gpuc_dtype type, gpuc_dtype sums, columns way, int64_t taps,
                                gpuc_tensor **args)
{
    const int64_t out[] = {1, 8, 12, 32}, weight[] = {8, 2, 2, taps};
    bool cut = way == SIDES || way == APART;
    gpuc_expr data[] = {gpuc_int(ctx, 1), gpuc_int(ctx, 2), gpuc_int(ctx, 13), gpuc_int(ctx, 96),
                        gpuc_int(ctx, way == SIDES ? 4 : 2)},
              weights[4], at_w[4];
    gpuc_iter *axes[4], *over[3];
    for (int i = 0; i < 4; i++) {
        weights[i] = gpuc_int(ctx, weight[i]);
        axes[i] = gpuc_te_axis(ctx, gpuc_int(ctx, out[i]), "i");
        if (i) over[i - 1] = gpuc_te_reduce_axis(ctx, weights[i], i == 3 ? "kx" : "k");
        if (i) at_w[i] = gpuc_iter_var(over[i - 1]);
    }
    at_w[0] = gpuc_iter_var(axes[1]);
    args[0] = gpuc_te_placeholder(ctx, "A", cut ? 5 : 4, data, type);
    args[1] = gpuc_te_placeholder(ctx, "W", 4, weights, type);
    gpuc_expr kx = at_w[3], side = data[4], x = gpuc_iter_var(axes[3]);
    gpuc_expr at[] = {gpuc_iter_var(axes[0]), at_w[1], gpuc_add(ctx, gpuc_iter_var(axes[2]), at_w[2]),
                      gpuc_add(ctx, x, cut ? gpuc_floordiv_(ctx, kx, side) : kx),
                      gpuc_floormod_(ctx, kx, side)};
    gpuc_tensor *from = args[0];
    if (way == COMPUTED) {
        gpuc_iter *all[4];
        for (int i = 0; i < 4; i++) all[i] = gpuc_te_axis(ctx, data[i], "p");
        from = gpuc_te_compute(ctx, "more", 4, all,
                               gpuc_add(ctx, element(ctx, args[0], all), gpuc_imm(ctx, type, 1)));
    }
    gpuc_expr value = gpuc_mul(ctx, gpuc_cast(ctx, sums, gpuc_te_read(ctx, from, cut ? 5 : 4, at)),
                               gpuc_cast(ctx, sums, gpuc_te_read(ctx, args[1], 4, at_w)));
    args[2] = gpuc_te_compute(ctx, "C", 4, axes, gpuc_te_reduce(ctx, "sum", value, 3, over));
    gpuc_te_set_attr(ctx, args[2], "tag", "conv");
    return args[2];
}

static const char *const cpus[] = {"c -vector_bits=512 -vector_registers=32",
                                   "c -vector_bits=256 -vector_registers=16", "opencl/pocl"};

static void check_tails(gpuc_ctx *ctx)
{
    gpuc_tensor *args[3];
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const char *text = loops_of(ctx, cpus[i], product(ctx, 31, 45, args), 3, args);
        if (strstr(text, "if (") || !strstr(text, "min("))
            fail_msg("%s: a tail has a guard:\n%s", cpus[i], text);
        text = loops_of(ctx, cpus[i], depthwise(ctx, 0, args), 3, args);
        if (strstr(text, "if (") || !strstr(text, "min("))
            fail_msg("%s: a tail has a guard:\n%s", cpus[i], text);
    }
}

static void check_copies(gpuc_ctx *ctx)
{
    gpuc_tensor *args[3];
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const char *text = loops_of(ctx, cpus[i], depthwise(ctx, 0, args), 3, args);
        if (strstr(text, "pad")) fail_msg("%s: rows are copied to be longer:\n%s", cpus[i], text);
        text = loops_of(ctx, cpus[i], depthwise(ctx, 2, args), 3, args);
        if (!strstr(text, "pad")) fail_msg("%s: what is moved is read without a copy:\n%s", cpus[i], text);
    }
}

static void check_columns(gpuc_ctx *ctx)
{
    gpuc_tensor *args[3];
    const char *text = loops_of(ctx, cpus[0], depthwise(ctx, 2, args), 3, args);
    const char *kx = strstr(text, "for kx"), *ky = strstr(text, "for ky in 0..5 unroll");
    if (!kx || !ky || kx > ky) fail_msg("lines of a column are not unrolled inside:\n%s", text);
}

/* Data that exceed the caches come from memory, which is faster along rows than across them. */
static void check_lines(gpuc_ctx *ctx)
{
    gpuc_tensor *args[3];
    const char *small = "c -vector_bits=512 -vector_registers=32 -last_level_cache=4096";
    if (!strstr(loops_of(ctx, cpus[0], depthwise(ctx, 2, args), 3, args), "i in 0..4 unroll"))
        fail_msg("lines of data in the caches do not share loads");
    const char *text = loops_of(ctx, small, depthwise(ctx, 2, args), 3, args);
    if (!strstr(text, "i in 0..2 unroll") || strstr(text, "i in 0..4 unroll"))
        fail_msg("%s: data beyond the caches are read across many lines:\n%s", small, text);
}

/* The sum of A over these axes. */
static gpuc_tensor *sum_over(gpuc_ctx *ctx, int ndim, const int64_t *dims, const bool *over,
                             gpuc_tensor **args)
{
    gpuc_expr shape[3] = {NULL}, at[3] = {NULL};
    gpuc_iter *axes[3] = {NULL}, *reduced[3] = {NULL};
    int n = 0, m = 0;
    for (int i = 0; i < ndim; i++) shape[i] = gpuc_int(ctx, dims[i]);
    args[0] = gpuc_te_placeholder(ctx, "A", ndim, shape, GPUC_FLOAT32);
    for (int i = 0; i < ndim; i++) {
        gpuc_iter *axis =
            over[i] ? gpuc_te_reduce_axis(ctx, shape[i], "k") : gpuc_te_axis(ctx, shape[i], "i");
        if (over[i]) reduced[m++] = axis;
        if (!over[i]) axes[n++] = axis;
        at[i] = gpuc_iter_var(axis);
    }
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", gpuc_te_read(ctx, args[0], ndim, at), m, reduced);
    return args[1] = gpuc_te_compute(ctx, "S", n, axes, sum);
}

/* Parts of a whole matrix are runs of memory, and rows of a part are not fused where that takes divisions. */
static void check_sums(gpuc_ctx *ctx)
{
    gpuc_tensor *args[2];
    const char *all = loops_of(
        ctx, cpus[0], sum_over(ctx, 2, (int64_t[]){1000, 1000}, (bool[]){true, true}, args), 2, args);
    if (!strstr(all, "vectorize")) fail_msg("the parts of a sum are not in vectors:\n%s", all);
    const char *some =
        loops_of(ctx, cpus[0],
                 sum_over(ctx, 3, (int64_t[]){100, 101, 103}, (bool[]){true, false, true}, args), 2, args);
    if (!strstr(some, "vectorize") || strstr(some, "//")) fail_msg("rows of a sum are fused:\n%s", some);
}

/* Instructions for sums of products are for operands that lie in rows of memory. */
static void check_dots(gpuc_ctx *ctx)
{
    static const columns ways[] = {IN_ROWS, SIDES, APART, COMPUTED};
    gpuc_tensor *args[3];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *text =
            loops_of(ctx, "opencl/pocl", convolution(ctx, GPUC_INT8, GPUC_INT32, ways[i], 4, args), 3, args);
        if ((strstr(text, "dot") != NULL) != (ways[i] <= SIDES)) fail_msg("way %d:\n%s", (int)i, text);
    }
}

/* Weights are loaded as vectors at each tap of a window that is cut into parts. */
static void check_long_windows(gpuc_ctx *ctx)
{
    static const int64_t taps[] = {3, 17, 33};
    gpuc_tensor *args[3];
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++) {
        const char *text =
            loops_of(ctx, "vulkan/llvmpipe",
                     convolution(ctx, GPUC_FLOAT32, GPUC_FLOAT32, IN_ROWS, taps[i], args), 3, args);
        if (!strstr(text, "W.local")) fail_msg("%d taps:\n%s", (int)taps[i], text);
    }
}

static void tails_are_shifted_back(void **state)
{
    (void)state;
    run_ok(check_tails);
}

static void rounded_copies_are_left_out(void **state)
{
    (void)state;
    run_ok(check_copies);
}

static void lines_share_loads(void **state)
{
    (void)state;
    run_ok(check_columns);
}

static void lines_are_few_beyond_caches(void **state)
{
    (void)state;
    run_ok(check_lines);
}

static void sums_are_in_vectors(void **state)
{
    (void)state;
    run_ok(check_sums);
}

static void dots_are_of_rows(void **state)
{
    (void)state;
    run_ok(check_dots);
}

static void long_windows_are_cut(void **state)
{
    (void)state;
    run_ok(check_long_windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_are_shifted_back), cmocka_unit_test(rounded_copies_are_left_out),
        cmocka_unit_test(lines_share_loads),      cmocka_unit_test(lines_are_few_beyond_caches),
        cmocka_unit_test(sums_are_in_vectors),    cmocka_unit_test(dots_are_of_rows),
        cmocka_unit_test(long_windows_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
