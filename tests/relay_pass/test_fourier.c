/* SPDX-License-Identifier: Apache-2.0 */
/* fourier: transforms of every kind of length become products, and stay what they are. */
#include "pass_test.h"

static gpuc_rexpr *signal_of(gpuc_ctx *ctx, gpuc_dtype t, int ndim, const int64_t *dims)
{
    return gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims));
}

/* The body of main after the pass, which leaves no transform. */
static gpuc_rexpr *replaced(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params,
                            double tolerance)
{
    gpuc_rmodule *before = fx_module(ctx, body, n, params),
                 *after = run_pass(ctx, before, gpuc_relay_pass_fourier, NULL);
    gpuc_rexpr *now = body_of(after);
    assert_int_equal(count_op(ctx, now, "dft") + count_op(ctx, now, "stft"), 0);
    assert_true(count_op(ctx, now, "nn.matmul") > 0);
    interp_expect_equal(ctx, before, after, 77, tolerance);
    return now;
}

static gpuc_rexpr *dft(gpuc_ctx *ctx, gpuc_rexpr *x, int64_t length, int axis, bool inverse, bool onesided)
{
    return fx_op1(ctx, "dft",
                  gpuc_ctx_printf(ctx, "length=%d axis=%d inverse=%d onesided=%d", (int)length, axis, inverse,
                                  onesided),
                  x);
}

/* 67, 97: primes; 521, 1042: beyond the longest product, so by a chirp; the others by two, three or four products. */
static const int64_t lengths[] = {1,  2,  3,  4,  5,   6,   7,   8,   12,  16,  25,   30,
                                  49, 64, 67, 97, 100, 128, 210, 256, 400, 521, 1000, 1042};

static void forward_and_back(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int inverse = 0; inverse < 2; inverse++) {
            gpuc_rexpr *x = signal_of(ctx, GPUC_FLOAT32, FX_DIMS(2, lengths[i], 2));
            replaced(ctx, dft(ctx, x, lengths[i], 1, inverse, false), 1, &x, 1e-3);
        }
}

static void of_real_numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int kind = 0; kind < 3; kind++) {
            gpuc_rexpr *x = signal_of(ctx, GPUC_FLOAT32, FX_DIMS(3, lengths[i], 1));
            replaced(ctx, dft(ctx, x, lengths[i], -2, kind == 1, kind == 2), 1, &x, 1e-3);
        }
}

/* Axes anywhere, signals that are cut or filled, no rows at all. */
static void axes_and_extents(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        int64_t dims[4], length;
        int axis;
    } rows[] = {{{7, 3, 5, 1}, 7, 0},    {{2, 12, 3, 2}, 12, 1},    {{2, 3, 20, 2}, 20, -2},
                {{2, 12, 3, 1}, 9, 1},   {{2, 5, 3, 2}, 30, 1},     {{0, 12, 3, 2}, 12, 1},
                {{2, 100, 3, 2}, 64, 1}, {{2, 40, 1, 1}, 100, 1},   {{2, 12, 8, 2}, 12, 1},
                {{2, 64, 24, 1}, 64, 1}, {{100, 3, 11, 2}, 100, 0}, {{1, 499, 16, 1}, 499, 1},
                {{1, 521, 8, 2}, 521, 1}};
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gpuc_rexpr *x = signal_of(ctx, GPUC_FLOAT32, 4, rows[i].dims);
        replaced(ctx, dft(ctx, x, rows[i].length, rows[i].axis, false, false), 1, &x, 1e-4);
    }
}

static void types(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        gpuc_dtype type;
        double tolerance;
    } rows[] = {{GPUC_FLOAT16, 3e-2}, {GPUC_FLOAT64, 1e-11}};
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int64_t n = 30; n < 600; n = n * 4 + 1) {
            gpuc_rexpr *x = signal_of(ctx, rows[i].type, FX_DIMS(2, n, 2));
            gpuc_rexpr *now = replaced(ctx, dft(ctx, x, n, 1, false, false), 1, &x, rows[i].tolerance);
            assert_true(gpuc_dtype_equal(gpuc_relay_tensor_type(now)->dtype, rows[i].type));
        }
}

static void frames(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        int64_t time, parts, length, step;
        bool window, onesided;
    } rows[] = {{29, 1, 8, 3, true, true},
                {60, 2, 25, 5, false, false},
                {200, 1, 100, 40, true, true},
                {100, 1, 100, 1, true, false},
                {700, 2, 600, 7, true, false}};
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gpuc_rexpr *params[] = {signal_of(ctx, GPUC_FLOAT32, FX_DIMS(2, rows[i].time, rows[i].parts)),
                                fx_var(ctx, "w", FX_DIMS(rows[i].length))};
        int n = 1 + rows[i].window;
        const char *attrs = gpuc_ctx_printf(ctx, "length=%d step=%d onesided=%d", (int)rows[i].length,
                                            (int)rows[i].step, rows[i].onesided);
        replaced(ctx, fx_op(ctx, "stft", attrs, n, params), n, params, 1e-3);
    }
}

/* What is open stays open; an open signal is cut or filled to the length. */
static void open_sizes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_var(ctx, "rows", GPUC_INDEX), gpuc_int(ctx, 100), gpuc_int(ctx, 2)};
    for (int k = 0; k < 2; k++) {
        if (k) dims[1] = gpuc_var(ctx, "time", GPUC_INDEX);
        gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 3, dims));
        gpuc_rexpr *e = dft(ctx, x, 100, 1, false, false);
        gpuc_rexpr *now = body_of(run_pass(ctx, fx_module(ctx, e, 1, &x), gpuc_relay_pass_fourier, NULL));
        assert_int_equal(count_op(ctx, now, "dft"), 0);
        assert_ptr_equal(gpuc_relay_tensor_type(now)->dims[0], dims[0]);
    }
}

/* A matrix grows with the square of a length: long ones are cut, so that constants stay small. */
static void constants_stay_small(gpuc_ctx *ctx, void *arg)
{
    static const int64_t long_ones[] = {1024, 4096, 65536, 10007, 99991};
    (void)arg;
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        gpuc_rexpr *x = signal_of(ctx, GPUC_FLOAT32, FX_DIMS(1, long_ones[i], 2));
        gpuc_rexpr *e = dft(ctx, x, long_ones[i], 1, false, false);
        gpuc_rexpr *now = body_of(run_pass(ctx, fx_module(ctx, e, 1, &x), gpuc_relay_pass_fourier, NULL));
        gpuc_ptrs order = {0};
        size_t bytes = 0;
        gpuc_relay_post_order(ctx, now, true, &order);
        for (size_t k = 0; k < order.count; k++) {
            const gpuc_rexpr *c = order.at[k];
            if (c->kind == GPUC_REXPR_CONSTANT) bytes += gpuc_as_rconstant(c)->data->size;
        }
        assert_in_range(bytes, 0, 500000 + 200 * (size_t)long_ones[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(forward_and_back), fx_test(of_real_numbers), fx_test(axes_and_extents),    fx_test(types),
        fx_test(frames),           fx_test(open_sizes),      fx_test(constants_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
