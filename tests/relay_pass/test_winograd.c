/* SPDX-License-Identifier: Apache-2.0 */
/* winograd: what gains is replaced, values stay, and alter_op_layout goes on from there. */
#include "pass_test.h"

#define TARGET "c -vector_bits=256"
#define LANES "vulkan/llvmpipe"
#define ONCE "strides=[1, 1] padding=[1, 0, 1, 2] dilation=[1, 1]"

static gpuc_rexpr *image(gpuc_ctx *ctx, int64_t channels, int64_t size)
{
    return fx_var(ctx, "x", FX_DIMS(1, channels, size, size));
}

static gpuc_rexpr *conv(gpuc_ctx *ctx, gpuc_rexpr *x, int64_t out, int64_t in, int64_t window,
                        const char *attrs)
{
    gpuc_rexpr *args[] = {x, random_floats(ctx, 5, FX_DIMS(out, in, window, window))};
    return fx_op(ctx, "nn.conv2d", attrs, 2, args);
}

static gpuc_rexpr *replaced(gpuc_ctx *ctx, gpuc_rexpr *body, gpuc_rexpr *x, const char *target)
{
    gpuc_rmodule *before = fx_module(ctx, body, 1, &x),
                 *after = run_pass(ctx, before, gpuc_relay_pass_winograd, target);
    interp_expect_equal(ctx, before, after, 77, 1e-3);
    return body_of(after);
}

static const gpuc_attrs *attrs_of(gpuc_rexpr *e)
{
    assert_true(gpuc_relay_is_op(e, "nn.conv_winograd"));
    return gpuc_as_rcall(e)->attrs;
}

static void what_gains(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = image(ctx, 40, 30), *e = conv(ctx, x, 48, 40, 3, ONCE);
    static const char *const targets[] = {"c", TARGET, "opencl/pocl", "vulkan"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const gpuc_attr *tile = gpuc_attrs_find(attrs_of(replaced(ctx, e, x, targets[i])), "tile");
        assert_int_equal(tile->n, 2);
        assert_int_equal(tile->ints[0], 4);
        assert_int_equal(tile->ints[1], 4);
    }
    const gpuc_attrs *smaller = attrs_of(replaced(ctx, e, x, TARGET " -winograd=2"));
    assert_int_equal(gpuc_attrs_find(smaller, "tile")->ints[1], 2);
    assert_int_equal(count_op(ctx, replaced(ctx, e, x, TARGET " -winograd=1"), "nn.conv_winograd"), 0);
}

static void what_does_not(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = image(ctx, 24, 33), *few = image(ctx, 24, 5),
               *w = fx_var(ctx, "w", FX_DIMS(32, 24, 3, 3)), *given[] = {x, w};
    gpuc_rexpr *const stay[] = {
        conv(ctx, x, 32, 24, 3, "strides=[1, 2] padding=[1, 1, 1, 1] dilation=[1, 1]"),
        conv(ctx, x, 32, 24, 3, "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[2, 1]"),
        conv(ctx, x, 32, 12, 3, "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=2"),
        conv(ctx, x, 32, 24, 5, ONCE),
        conv(ctx, x, 32, 24, 1, "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]"),
        conv(ctx, few, 32, 24, 3, ONCE), /* less than the kernels that it would be cost */
    };
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
        assert_ptr_equal(replaced(ctx, stay[i], gpuc_as_rcall(stay[i])->args[0], TARGET), stay[i]);
    gpuc_rexpr *e = fx_op(ctx, "nn.conv2d", ONCE, 2, given);
    assert_ptr_equal(body_of(run_pass(ctx, fx_module(ctx, e, 2, given), gpuc_relay_pass_winograd, TARGET)),
                     e);
}

/* A window along one axis only. */
static void axes_differ(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = image(ctx, 64, 34), *args[] = {x, random_floats(ctx, 5, FX_DIMS(64, 64, 1, 3))};
    gpuc_rexpr *e = fx_op(ctx, "nn.conv2d", "strides=[1, 1] padding=[0, 1, 0, 1] dilation=[1, 1]", 2, args);
    const gpuc_attr *tile = gpuc_attrs_find(attrs_of(replaced(ctx, e, x, TARGET)), "tile");
    assert_int_equal(tile->ints[0], 1);
    assert_int_equal(tile->ints[1], 4);
}

/* Tiles of three dimensions have many points: targets that unroll all of them take smaller ones, or none. */
static void points_are_limited(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *target;
        int64_t tile; /* 0: the direct convolution */
    } rows[] = {{TARGET, 4}, {"opencl/pocl", 4}, {LANES, 0}, {"vulkan", 2}, {"opencl", 2}};
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 24, 8, 24, 24)),
               *args[] = {x, random_floats(ctx, 5, FX_DIMS(24, 24, 3, 3, 3))};
    gpuc_rexpr *e =
        fx_op(ctx, "nn.conv3d", "strides=[1, 1, 1] padding=[1, 1, 1, 1, 1, 1] dilation=[1, 1, 1]", 2, args);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gpuc_rexpr *now =
            body_of(run_pass(ctx, fx_module(ctx, e, 1, &x), gpuc_relay_pass_winograd, rows[i].target));
        assert_int_equal(count_op(ctx, now, "nn.conv_winograd"), rows[i].tile > 0);
        if (rows[i].tile > 0) assert_int_equal(gpuc_attrs_find(attrs_of(now), "tile")->ints[0], rows[i].tile);
    }
}

/* Two of them turn channels last once, and their weights lie in blocks. */
static void layouts(gpuc_ctx *ctx, void *arg)
{
    static const char *const targets[] = {TARGET, LANES};
    (void)arg;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        gpuc_rexpr *x = image(ctx, 127, 30), *y = conv(ctx, x, 132, 127, 3, ONCE);
        gpuc_rexpr *e = conv(ctx, fx_op1(ctx, "nn.relu", NULL, y), 132, 132, 3, ONCE);
        gpuc_rmodule *before = fx_module(ctx, e, 1, &x),
                     *between = run_pass(ctx, before, gpuc_relay_pass_winograd, targets[i]),
                     *after = run_pass(ctx, between, gpuc_relay_pass_alter_op_layout, targets[i]);
        interp_expect_equal(ctx, before, after, 77, 1e-2); /* of sums of some hundreds */
        gpuc_rexpr *body = body_of(after);
        assert_int_equal(count_op(ctx, body, "nn.conv_winograd"), 2);
        assert_true(gpuc_relay_is_op(body, "transpose"));
        const gpuc_attrs *a = attrs_of(gpuc_as_rcall(body)->args[0]);
        assert_string_equal(gpuc_attrs_get_string(a, "data_layout", ""), "NHWC");
        assert_string_equal(gpuc_attrs_get_string(a, "kernel_layout", ""), "HWOIo");
        gpuc_rexpr *relu = gpuc_as_rcall(gpuc_as_rcall(body)->args[0])->args[0];
        assert_true(gpuc_relay_is_op(relu, "nn.relu"));
        assert_true(gpuc_relay_is_op(gpuc_as_rcall(relu)->args[0], "nn.conv_winograd"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(what_gains), fx_test(what_does_not), fx_test(axes_differ),
                                       fx_test(points_are_limited), fx_test(layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
