/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that replace expressions by equal ones: text before and after, and the same values. */
#include "../tir/rule_totals.h"
#include "pass_test.h"
#include "base/element.h"

#define AFTER(pass, body, text)                                                                              \
    fx_expect_text(after_pass(ctx, body, 1, &x, gpuc_relay_pass_##pass, NULL), text)
#define SAME(pass, body)                                                                                     \
    do {                                                                                                     \
        gpuc_rexpr *same_body_ = (body);                                                                     \
        gpuc_rmodule *same_module_ = fx_module(ctx, same_body_, 1, &x);                                      \
        assert_ptr_equal(body_of(run_pass(ctx, same_module_, gpuc_relay_pass_##pass, NULL)), same_body_);    \
    } while (0)

/* ---- simplify_inference ---- */

static void norms_become_arithmetic(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 5)), *v[5] = {x};
    for (int i = 1; i < 5; i++) v[i] = random_floats(ctx, (uint64_t)i, FX_DIMS(3));
    v[4] = fx_floats(ctx, FX_DIMS(3), (float[]){0.5f, 1, 2});
    AFTER(simplify_inference, fx_op(ctx, "nn.batch_norm", "epsilon=0.001", 5, v),
          "%0 = multiply(%x, const(Tensor[(3, 1), float32])); /* Tensor[(2, 3, 5), float32] */"
          "add(%0, const(Tensor[(3, 1), float32]))");
    gpuc_rexpr *last[] = {x, v[1], v[2], v[3], v[4]};
    for (int i = 1; i < 5; i++)
        last[i] = i < 4 ? random_floats(ctx, (uint64_t)i, FX_DIMS(5))
                        : fx_floats(ctx, FX_DIMS(5), (float[]){1, 2, 3, 4, 5});
    AFTER(simplify_inference, fx_op(ctx, "nn.batch_norm", "axis=-1", 5, last),
          "%0 = multiply(%x, const(Tensor[(5), float32])); /* Tensor[(2, 3, 5), float32] */"
          "add(%0, const(Tensor[(5), float32]))");
    AFTER(simplify_inference, fx_op2(ctx, "nn.bias_add", x, v[1]), "add(%x, const(Tensor[(3, 1), float32]))");
    gpuc_rexpr *inst[] = {x, v[1], v[2]};
    gpuc_rmodule *m = fx_module(ctx, fx_op(ctx, "nn.instance_norm", "epsilon=0.1", 3, inst), 1, &x);
    gpuc_rmodule *after = run_pass(ctx, m, gpuc_relay_pass_simplify_inference, NULL);
    interp_expect_equal(ctx, m, after, 5, 1e-5);
    assert_int_equal(count_op(ctx, body_of(after), "mean"), 2);
    for (int k = 2; k <= 3; k++) {
        gpuc_rexpr *layer[] = {x, random_floats(ctx, 9, FX_DIMS(3, 5)), random_floats(ctx, 8, FX_DIMS(5))};
        m = fx_module(ctx, fx_op(ctx, "nn.layer_norm", "axis=1", k, layer), 1, &x);
        interp_expect_equal(ctx, m, run_pass(ctx, m, gpuc_relay_pass_simplify_inference, NULL), 6, 1e-5);
    }
}

static void statistics_of_another_type(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, GPUC_FLOAT16, FX_DIMS(1, 2, 3))), *v[5] = {x};
    for (int i = 1; i < 5; i++) v[i] = fx_floats(ctx, FX_DIMS(2), (float[]){1, 2});
    gpuc_rmodule *m = fx_module(ctx, fx_op(ctx, "nn.batch_norm", NULL, 5, v), 1, &x);
    gpuc_rexpr *after = body_of(run_pass(ctx, m, gpuc_relay_pass_simplify_inference, NULL));
    assert_true(gpuc_dtype_equal(after->type->tensor.dtype, GPUC_FLOAT16));
    fx_expect_text(fx_text(ctx, after),
                   "%0 = multiply(%x, const(Tensor[(2, 1), float16])); /* Tensor[(1, 2, 3), float16] */"
                   "add(%0, const(Tensor[(2, 1), float16]))");
    gpuc_rexpr *scale = gpuc_relay_op1(ctx, "cast", fx_attrs(ctx, "dtype=float16"), v[1]),
               *norm[] = {x, scale, scale};
    m = fx_module(ctx, fx_op(ctx, "nn.instance_norm", NULL, 3, norm), 1, &x);
    after = body_of(run_pass(ctx, m, gpuc_relay_pass_simplify_inference, NULL));
    assert_true(gpuc_dtype_equal(after->type->tensor.dtype, GPUC_FLOAT16)); /* sums are made in float32 */
    assert_int_equal(count_op(ctx, after, "cast"), 2);
}

static void what_does_nothing_goes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(4, 3));
    AFTER(simplify_inference, fx_op1(ctx, "nn.dropout", NULL, fx_op1(ctx, "identity", NULL, x)), "%x");
    gpuc_rexpr *split = fx_op1(ctx, "split", "sizes=[1, 3] axis=0", x);
    AFTER(simplify_inference,
          fx_op2(ctx, "add", gpuc_relay_get(ctx, split, 0), gpuc_relay_get(ctx, split, 1)),
          "%0 = strided_slice(%x, begin=[0, 0], sizes=[1, 3], strides=[1, 1]); /* Tensor[(1, 3), float32] */"
          "%1 = strided_slice(%x, begin=[1, 0], sizes=[3, 3], strides=[1, 1]); /* Tensor[(3, 3), float32] */"
          "add(%0, %1)");
    gpuc_relay_with_source(ctx, split, "Split_1");
    gpuc_rmodule *m = fx_module(ctx, gpuc_relay_get(ctx, split, 1), 1, &x);
    assert_string_equal(body_of(run_pass(ctx, m, gpuc_relay_pass_simplify_inference, NULL))->source,
                        "Split_1");
}

/* ---- simplify_expr ---- */

static void aliases(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 4));
    gpuc_rexpr *a = fx_op1(ctx, "reshape", "newshape=[6, 4]", x),
               *b = fx_op1(ctx, "expand_dims", "axis=[0]", a);
    AFTER(simplify_expr, b, "reshape(%x, newshape=[1, 6, 4])");
    AFTER(simplify_expr, fx_op1(ctx, "reshape", "newshape=[2, 3, 4]", b), "%x");
    AFTER(simplify_expr, fx_op1(ctx, "squeeze", "axis=[0]", b), "reshape(%x, newshape=[6, 4])");
    SAME(simplify_expr, a);
}

static void transposes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 4)), *t = fx_op1(ctx, "transpose", "axes=[1, 2, 0]", x);
    AFTER(simplify_expr, fx_op1(ctx, "transpose", "axes=[2, 0, 1]", t), "%x");
    AFTER(simplify_expr, fx_op1(ctx, "transpose", "axes=[1, 0, 2]", t), "transpose(%x, axes=[2, 1, 0])");
    AFTER(simplify_expr, fx_op1(ctx, "transpose", "axes=[-1, -2, 0]", t), "transpose(%x, axes=[0, 2, 1])");
    AFTER(simplify_expr, fx_op1(ctx, "transpose", NULL, fx_op1(ctx, "transpose", NULL, x)), "%x");
    SAME(simplify_expr, t);
    gpuc_rexpr *y = fx_var(ctx, "y", FX_DIMS(1, 3, 1, 4));
    x = y;
    AFTER(simplify_expr, fx_op1(ctx, "transpose", "axes=[1, 0, 3, 2]", y),
          "reshape(%y, newshape=[3, 1, 4, 1])");
    SAME(simplify_expr, fx_op1(ctx, "transpose", "axes=[3, 0, 1, 2]", y));
}

static void neutral_operators(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3));
    AFTER(simplify_expr, fx_op1(ctx, "cast", "dtype=float32", x), "%x");
    AFTER(simplify_expr, fx_op1(ctx, "broadcast_to", "shape=[2, 3]", x), "%x");
    AFTER(simplify_expr, fx_op(ctx, "concatenate", NULL, 1, &x), "%x");
    AFTER(simplify_expr, fx_op1(ctx, "nn.pad", "pad_before=[0, 0] pad_after=[0, 0]", x), "%x");
    AFTER(simplify_expr, fx_op1(ctx, "strided_slice", "begin=[0, 0] sizes=[2, 3] strides=[1, 1]", x), "%x");
    SAME(simplify_expr, fx_op1(ctx, "strided_slice", "begin=[1, 2] sizes=[2, 3] strides=[-1, -1]", x));
    SAME(simplify_expr, fx_op1(ctx, "nn.pad", "pad_before=[0, 1] pad_after=[0, -1]", x));
    SAME(simplify_expr, fx_op1(ctx, "cast", "dtype=float16", x));
    gpuc_rexpr *two = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 2),
               *three = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 3);
    AFTER(simplify_expr, fx_op2(ctx, "power", x, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1)), "%x");
    AFTER(simplify_expr, fx_op2(ctx, "power", x, two), "multiply(%x, %x)");
    AFTER(simplify_expr, fx_op2(ctx, "power", x, three),
          "%0 = multiply(%x, %x); /* Tensor[(2, 3), float32] */ multiply(%0, %x)");
    SAME(simplify_expr, fx_op2(ctx, "power", x, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 0.5)));
    SAME(simplify_expr, fx_op2(ctx, "power", x, fx_floats(ctx, FX_DIMS(3), (float[]){2, 2, 2})));
}

/* Updates go to places along an axis that all of a slice have in common: a negative one and equal ones among them. */
static gpuc_rexpr *scattered(gpuc_ctx *ctx, gpuc_rexpr *updates, const char *attrs, int n,
                             const char *indices, const char *all)
{
    static const float zeros[12];
    gpuc_rexpr *at = fx_ints(ctx, n, (const int64_t[]){-1, 0, -1});
    at = fx_op1(ctx, "broadcast_to", all, fx_op1(ctx, "reshape", indices, at));
    gpuc_rexpr *args[] = {fx_floats(ctx, FX_DIMS(3, 4), zeros), at, updates};
    return fx_op(ctx, "scatter_elements", attrs, 3, args);
}

static void scattered_slices(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(3, 4));
    const char *rows = "newshape=[3, 1]", *all = "shape=[3, 4]";
    AFTER(simplify_expr, scattered(ctx, x, "axis=0 reduction=\"add\"", 3, rows, all),
          "%0 = reshape(const([-1, 0, -1], Tensor[(3), int64]), newshape=[3, 1]); /* Tensor[(3, 1), int64] */"
          "scatter_nd(const(Tensor[(3, 4), float32]), %0, %x, reduction=\"add\")");
    AFTER(simplify_expr, scattered(ctx, x, "axis=-2 reduction=\"none\"", 3, rows, all),
          "%0 = reshape(const([-1, 0, -1], Tensor[(3), int64]), newshape=[3, 1]); /* Tensor[(3, 1), int64] */"
          "scatter_nd(const(Tensor[(3, 4), float32]), %0, %x, reduction=\"none\")");
    SAME(simplify_expr, scattered(ctx, x, "axis=0", 1, "newshape=[1, 1]", all));
    x = fx_var(ctx, "x", FX_DIMS(3, 3));
    SAME(simplify_expr, scattered(ctx, x, "axis=0", 3, rows, "shape=[3, 3]"));
    SAME(simplify_expr, scattered(ctx, x, "axis=0", 3, "newshape=[1, 3]", "shape=[3, 3]"));
    SAME(simplify_expr, scattered(ctx, x, "axis=1", 3, rows, "shape=[3, 3]"));
}

/* ---- eliminate_common_subexpr, dead_code ---- */

static void common_subexpressions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3));
    gpuc_rexpr *a =
        fx_op2(ctx, "add", fx_op1(ctx, "exp", NULL, x), gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1));
    gpuc_rexpr *b =
        fx_op2(ctx, "add", fx_op1(ctx, "exp", NULL, x), gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1));
    gpuc_relay_with_source(ctx, a, "a");
    gpuc_relay_with_source(ctx, b, "b");
    gpuc_rmodule *m = fx_module(ctx, fx_op2(ctx, "multiply", a, b), 1, &x),
                 *after = run_pass(ctx, m, gpuc_relay_pass_eliminate_common_subexpr, NULL);
    interp_expect_equal(ctx, m, after, 1, 0);
    fx_expect_text(fx_text(ctx, body_of(after)),
                   "%0 = exp(%x); /* Tensor[(2, 3), float32] */"
                   "%1 = add(%0, const(1.0, Tensor[(), float32])); /* Tensor[(2, 3), float32] */"
                   "multiply(%1, %1)");
    assert_string_equal(gpuc_as_rcall(body_of(after))->args[0]->source, "a,b");
    gpuc_rexpr *other = fx_op1(ctx, "sum", "axis=[0]", x), *sum = fx_op1(ctx, "sum", "axis=[1]", x);
    gpuc_rexpr *fields[] = {other, sum};
    SAME(eliminate_common_subexpr, gpuc_relay_tuple(ctx, 2, fields));
    const int32_t one = 0x3f800000; /* the bytes of 1.0 */
    gpuc_rexpr *alike[] = {gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1),
                           gpuc_relay_const_scalar(ctx, GPUC_INT32, one),
                           fx_floats(ctx, FX_DIMS(1), (float[]){1})};
    SAME(eliminate_common_subexpr, gpuc_relay_tuple(ctx, 3, alike));
}

static void dead_lets_and_functions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2)), *v = fx_var(ctx, "v", FX_DIMS(2)),
               *w = fx_var(ctx, "w", FX_DIMS(2));
    gpuc_rexpr *call = gpuc_relay_call(ctx, gpuc_relay_global(ctx, "used"), NULL, 1, &w);
    gpuc_rexpr *body = gpuc_relay_let(ctx, v, fx_op1(ctx, "exp", NULL, x),
                                      gpuc_relay_let(ctx, w, fx_op1(ctx, "abs", NULL, x), call));
    gpuc_rmodule *m = fx_module(ctx, body, 1, &x);
    gpuc_strmap_set(&m->functions, "used",
                    gpuc_relay_function(ctx, 1, &x, fx_op1(ctx, "sin", NULL, x), NULL));
    gpuc_strmap_set(&m->functions, "unused", gpuc_relay_function(ctx, 1, &x, x, NULL));
    gpuc_rmodule *after = run_pass(ctx, m, gpuc_relay_pass_dead_code, NULL);
    assert_true(gpuc_strmap_has(&after->functions, "used"));
    assert_false(gpuc_strmap_has(&after->functions, "unused"));
    fx_expect_text(fx_text(ctx, body_of(after)), "let %w: Tensor[(2), float32] = abs(%x); @used(%w)");
}

/* ---- fold_scale_axis ---- */

static gpuc_rexpr *floats_from(gpuc_ctx *ctx, uint64_t seed, int ndim, const int64_t *dims)
{
    return random_floats(ctx, seed, ndim, dims);
}

static const char *scaled(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params)
{
    gpuc_rmodule *before = fx_module(ctx, body, n, params);
    gpuc_rmodule *after = run_pass(ctx, before, gpuc_relay_pass_fold_scale_axis, NULL);
    after = run_pass(ctx, after, gpuc_relay_pass_fold_constant, NULL);
    interp_expect_equal(ctx, before, after, 77, 1e-5);
    return fx_text(ctx, body_of(after));
}

static void scales_move_into_weights(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 7)), *w = floats_from(ctx, 1, FX_DIMS(6, 4, 3));
    gpuc_rexpr *s = floats_from(ctx, 2, FX_DIMS(6, 1)), *b = floats_from(ctx, 3, FX_DIMS(6, 1)),
               *k = floats_from(ctx, 4, FX_DIMS(1, 6, 1));
    gpuc_rexpr *conv = conv1(ctx, x, w), *biased = fx_op2(ctx, "add", conv, b);
    /* ((conv + b) * s + k) * 0.5 */
    gpuc_rexpr *y = fx_op2(ctx, "add", fx_op2(ctx, "multiply", s, biased), k);
    y = fx_op2(ctx, "multiply", y, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 0.5));
    const char *text = scaled(ctx, y, 1, &x);
    assert_non_null(strstr(text, "%0 = nn.conv1d(%x, const(Tensor[(6, 4, 3), float32])"));
    if (!strstr(text, "\nadd(%0, const(Tensor[")) fail_msg("%s", text);
    gpuc_rexpr *dense_x = fx_var(ctx, "x", FX_DIMS(2, 5)), *dw = floats_from(ctx, 5, FX_DIMS(3, 5)),
               *ds = floats_from(ctx, 6, FX_DIMS(3));
    text = scaled(ctx, fx_op2(ctx, "multiply", fx_op2(ctx, "nn.dense", dense_x, dw), ds), 1, &dense_x);
    fx_expect_text(text, "nn.dense(%x, const(Tensor[(3, 5), float32]), out_dtype=none)");
}

static void scales_of_transposed_convolutions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int groups = 1; groups <= 2; groups++) {
        gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 5)), *w = floats_from(ctx, 1, FX_DIMS(4, 3, 2)),
                   *args[] = {x, w};
        const gpuc_attrs *a = fx_attrs(ctx, "strides=[2] padding=[0, 0] dilation=[1] output_padding=[0]");
        gpuc_rexpr *y =
            gpuc_relay_op(ctx, "nn.conv1d_transpose", gpuc_attrs_int(ctx, a, "groups", groups), 2, args);
        gpuc_rexpr *s = floats_from(ctx, 7, 2, (int64_t[]){3 * groups, 1});
        const char *text = scaled(ctx, fx_op2(ctx, "multiply", y, s), 1, &x);
        assert_true(!strncmp(text, "nn.conv1d_transpose(%x, const(Tensor[(4, 3, 2)", 46));
    }
}

static void scales_that_stay(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 7)), *w = floats_from(ctx, 1, FX_DIMS(6, 4, 3));
    gpuc_rexpr *s = floats_from(ctx, 2, FX_DIMS(6, 1)), *b = floats_from(ctx, 3, FX_DIMS(6, 1)),
               *conv = conv1(ctx, x, w);
    SAME(fold_scale_axis,
         fx_op2(ctx, "multiply", conv, floats_from(ctx, 5, FX_DIMS(1, 1, 7)))); /* along the space */
    SAME(fold_scale_axis,
         fx_op2(ctx, "multiply", conv, floats_from(ctx, 5, FX_DIMS(2, 6, 7)))); /* makes it larger */
    gpuc_rexpr *fields[] = {fx_op2(ctx, "multiply", conv, s), conv}; /* the convolution itself is needed */
    SAME(fold_scale_axis, gpuc_relay_tuple(ctx, 2, fields));
    gpuc_rexpr *sum = fx_op2(ctx, "add", conv, b), *both[] = {fx_op2(ctx, "multiply", sum, s), conv};
    SAME(fold_scale_axis, gpuc_relay_tuple(ctx, 2, both));
    SAME(fold_scale_axis, fx_op2(ctx, "multiply", conv, conv));
    gpuc_rexpr *var = fx_var(ctx, "w", FX_DIMS(6, 4, 3)), *params[] = {x, var};
    gpuc_rexpr *open = fx_op2(ctx, "multiply", conv1(ctx, x, var), s); /* the weight is no constant */
    gpuc_rmodule *m = fx_module(ctx, open, 2, params);
    assert_ptr_equal(body_of(run_pass(ctx, m, gpuc_relay_pass_fold_scale_axis, NULL)), open);
}

/* A second user of the convolution keeps it, also when everything below it is rewritten. */
static void scales_of_rewritten_users(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 6, 7)), *w = floats_from(ctx, 1, FX_DIMS(6, 6, 3));
    gpuc_rexpr *s = floats_from(ctx, 2, FX_DIMS(6, 1)), *b = floats_from(ctx, 3, FX_DIMS(6, 1));
    gpuc_rexpr *first = fx_op2(ctx, "multiply", conv1(ctx, x, w), s), *second = conv1(ctx, first, w);
    gpuc_rexpr *sum = fx_op2(ctx, "add", second, b), *fields[] = {fx_op2(ctx, "multiply", sum, s), second};
    gpuc_rmodule *m = fx_module(ctx, gpuc_relay_tuple(ctx, 2, fields), 1, &x);
    gpuc_rmodule *after = run_pass(ctx, m, gpuc_relay_pass_fold_scale_axis, NULL);
    interp_expect_equal(ctx, m, after, 4, 1e-4);
    assert_int_equal(count_op(ctx, body_of(after), "nn.conv1d"), 2);
}

/* ---- transposed_conv ---- */

static void phases_become_channels(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        const char *op, *attrs;
        int left;       /* transposed convolutions behind the pass */
        int x[5], w[5]; /* up to a zero */
    } cases[] = {
        {"nn.conv1d_transpose",
         "strides=[2] padding=[1, 1] dilation=[1] output_padding=[0]",
         0,
         {2, 3, 5},
         {3, 4, 4}},
        {"nn.conv1d_transpose",
         "strides=[3] padding=[4, 0] dilation=[1] output_padding=[0]",
         0,
         {1, 2, 4},
         {2, 3, 7}},
        {"nn.conv1d_transpose",
         "strides=[3] padding=[0, 2] dilation=[1] output_padding=[2]",
         0,
         {1, 2, 4},
         {2, 3, 2}},
        {"nn.conv1d_transpose",
         "strides=[1] padding=[1, 0] dilation=[1] output_padding=[0]",
         0,
         {1, 2, 4},
         {2, 3, 3}},
        {"nn.conv1d_transpose",
         "strides=[2] padding=[3, 1] dilation=[1] output_padding=[0]",
         0,
         {1, 2, 1},
         {2, 3, 6}},
        {"nn.conv1d_transpose",
         "strides=[2] padding=[1, 1] dilation=[1] groups=3 output_padding=[0]",
         0,
         {2, 6, 4},
         {6, 2, 3}},
        {"nn.conv2d_transpose",
         "strides=[2, 3] padding=[1, 0, 0, 2] dilation=[1, 1] output_padding=[1, 0]",
         0,
         {1, 3, 4, 3},
         {3, 2, 3, 5}},
        {"nn.conv2d_transpose",
         "strides=[1, 2] padding=[0, 0, 0, 0] dilation=[1, 1] output_padding=[0, 0]",
         0,
         {2, 3, 1, 5},
         {3, 2, 4, 4}},
        {"nn.conv2d_transpose",
         "strides=[2, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=2 output_padding=[0, 0]",
         0,
         {1, 4, 3, 3},
         {4, 3, 3, 3}},
        {"nn.conv3d_transpose",
         "strides=[2, 1, 2] padding=[0, 1, 0, 0, 1, 1] dilation=[1, 1, 1] output_padding=[0, 0, 0]",
         0,
         {1, 2, 2, 3, 2},
         {2, 2, 3, 3, 2}},
        {"nn.conv1d_transpose",
         "strides=[2] padding=[1, 1] dilation=[1] groups=3 output_padding=[1] data_layout=\"NHWC\"",
         0,
         {2, 4, 6},
         {6, 2, 3}},
        {"nn.conv2d_transpose",
         "strides=[2, 3] padding=[1, 0, 0, 2] dilation=[1, 1] output_padding=[1, 0] data_layout=\"NHWC\"",
         0,
         {1, 4, 1, 3},
         {3, 2, 3, 5}},
        {"nn.conv3d_transpose",
         "strides=[2, 1, 2] padding=[0, 1, 0, 0, 1, 1] dilation=[1, 1, 1] output_padding=[0, 0, 0] "
         "data_layout=\"NHWC\"",
         0,
         {1, 2, 3, 2, 2},
         {2, 2, 3, 3, 2}},
        {"nn.conv1d_transpose",
         "strides=[2] padding=[0, 0] dilation=[2] output_padding=[0]",
         1,
         {1, 2, 4},
         {2, 3, 3}},
        {"nn.conv1d_transpose",
         "strides=[2] padding=[7, 0] dilation=[1] output_padding=[0]",
         1,
         {1, 2, 9},
         {2, 3, 3}},
        {"nn.conv1d_transpose",
         "strides=[2] padding=[0, -6] dilation=[1] output_padding=[0]",
         0,
         {1, 2, 4},
         {2, 3, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t dims[2][5];
        int n = 0;
        for (; n < 5 && cases[i].x[n]; n++) {
            dims[0][n] = cases[i].x[n];
            dims[1][n] = cases[i].w[n];
        }
        gpuc_rexpr *x = fx_var(ctx, "x", n, dims[0]), *args[] = {x, random_floats(ctx, i, n, dims[1])};
        gpuc_rmodule *m = fx_module(ctx, fx_op(ctx, cases[i].op, cases[i].attrs, 2, args), 1, &x);
        gpuc_rmodule *after = run_pass(ctx, m, gpuc_relay_pass_transposed_conv, NULL);
        interp_expect_equal(ctx, m, after, (uint64_t)i, 1e-5);
        assert_int_equal(count_op(ctx, body_of(after), cases[i].op), cases[i].left);
    }
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 2, 4)), *args[] = {x, fx_var(ctx, "w", FX_DIMS(2, 3, 4))};
    SAME(transposed_conv, fx_op(ctx, "nn.conv1d_transpose",
                                "strides=[2] padding=[1, 1] dilation=[1] output_padding=[0]", 2, args));
}

/* ---- flatten_pointwise, transpose_dense ---- */

/* Extents of space that are as many as the channels: a layout that is not looked at makes no error. */
static void pointwise_convolutions_with_channels_last(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char last[] = "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1] data_layout=\"NHWC\"";
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 4, 4, 4)), *other = fx_var(ctx, "o", FX_DIMS(2, 4, 4, 6));
    gpuc_rexpr *args[] = {x, floats_from(ctx, 1, FX_DIMS(6, 4, 1, 1))}, *params[] = {x, other};
    gpuc_rexpr *y = fx_op2(ctx, "add", fx_op(ctx, "nn.conv2d", last, 2, args), other);
    y = fx_op2(ctx, "multiply", y, floats_from(ctx, 2, FX_DIMS(6)));
    y = fx_op1(ctx, "nn.relu", NULL, fx_op2(ctx, "add", y, floats_from(ctx, 3, FX_DIMS(1, 1, 6))));
    y = fx_op2(ctx, "add", y, floats_from(ctx, 4, FX_DIMS(4, 1, 1))); /* of rows: the reshape stays here */
    gpuc_rmodule *m = fx_module(ctx, y, 2, params),
                 *after = run_pass(ctx, m, gpuc_relay_pass_flatten_pointwise, NULL);
    interp_expect_equal(ctx, m, after, 8, 1e-5);
    assert_int_equal(count_op(ctx, body_of(after), "nn.conv2d"), 0);
    assert_true(gpuc_relay_is_op(gpuc_as_rcall(body_of(after))->args[0], "reshape"));
    args[1] = floats_from(ctx, 5, FX_DIMS(4, 1, 1, 1)); /* weights whose last dimensions are no window */
    const char *turned = gpuc_ctx_printf(ctx, "%s kernel_layout=\"IHWO\"", last);
    SAME(flatten_pointwise, fx_op(ctx, "nn.conv2d", turned, 2, args));
}

static void pointwise_convolutions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char conv[] = "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]";
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 4, 3, 5)), *w = floats_from(ctx, 1, FX_DIMS(6, 4, 1, 1)),
               *args[] = {x, w};
    gpuc_rexpr *y = fx_op(ctx, "nn.conv2d", conv, 2, args), *b = floats_from(ctx, 2, FX_DIMS(6, 1, 1));
    y = fx_op1(ctx, "nn.relu", NULL, fx_op2(ctx, "add", y, b));
    y = fx_op2(ctx, "add", y, fx_op1(ctx, "exp", NULL, y)); /* used twice: the reshape stays here */
    gpuc_rmodule *m = fx_module(ctx, y, 1, &x),
                 *after = run_pass(ctx, m, gpuc_relay_pass_flatten_pointwise, NULL);
    interp_expect_equal(ctx, m, after, 8, 1e-5);
    assert_int_equal(count_op(ctx, body_of(after), "nn.conv1d"), 1);
    assert_int_equal(count_op(ctx, body_of(after), "nn.conv2d"), 0);
    gpuc_rexpr *strided =
        fx_op(ctx, "nn.conv2d", "strides=[2, 1] padding=[0, 0, 0, 0] dilation=[1, 1]", 2, args);
    SAME(flatten_pointwise, strided);
    gpuc_rexpr *d = fx_var(ctx, "x", FX_DIMS(2, 5));
    x = d;
    fx_expect_text(
        scaled(ctx,
               body_of(run_pass(
                   ctx, fx_module(ctx, fx_op2(ctx, "nn.dense", d, floats_from(ctx, 3, FX_DIMS(3, 5))), 1, &d),
                   gpuc_relay_pass_transpose_dense, NULL)),
               1, &d),
        "nn.matmul(%x, const(Tensor[(5, 3), float32]), out_dtype=none, "
        "transpose_a=0, transpose_b=0)");
    gpuc_rexpr *columns[] = {fx_var(ctx, "x", FX_DIMS(4, 2)), floats_from(ctx, 4, FX_DIMS(7, 3, 4))};
    m = fx_module(ctx, fx_op(ctx, "nn.matmul", "transpose_a=1 transpose_b=1", 2, columns), 1, columns);
    after = run_pass(ctx, m, gpuc_relay_pass_transpose_dense, NULL);
    interp_expect_equal(ctx, m, after, 2, 1e-5);
    fx_expect_text(scaled(ctx, body_of(after), 1, columns),
                   "nn.matmul(%x, const(Tensor[(7, 4, 3), float32]), out_dtype=none, "
                   "transpose_a=1, transpose_b=0)");
}

/* ---- widen_floats ---- */

static const char *widened(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params,
                           const char *target)
{
    return fx_text(
        ctx, body_of(run_pass(ctx, fx_module(ctx, body, n, params), gpuc_relay_pass_widen_floats, target)));
}

static void narrow_floats_are_computed_wide(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, GPUC_FLOAT16, FX_DIMS(4, 2)));
    uint16_t numbers[] = {gpuc_float_bits(GPUC_FLOAT16, 0.5), gpuc_float_bits(GPUC_FLOAT16, -65504)};
    gpuc_rexpr *w = gpuc_relay_const_bytes(ctx, GPUC_FLOAT16, FX_DIMS(2), numbers);
    gpuc_rexpr *y = fx_op1(ctx, "tanh", NULL, fx_op2(ctx, "multiply", x, w));
    const char *wide = "%0 = cast(%x, dtype=float32); /* Tensor[(4, 2), float32] */"
                       "%1 = multiply(%0, const(Tensor[(2), float32])); /* Tensor[(4, 2), float32] */"
                       "%2 = tanh(%1); /* Tensor[(4, 2), float32] */"
                       "cast(%2, dtype=float16)";
    fx_expect_text(widened(ctx, y, 1, &x, "c"), wide);
    fx_expect_text(widened(ctx, y, 1, &x, "opencl/pocl"), wide);
    fx_expect_text(widened(ctx, y, 1, &x, "vulkan/llvmpipe"), wide);
    assert_string_equal(widened(ctx, y, 1, &x, "vulkan/desktop"), fx_text(ctx, y));
    gpuc_rmodule *m = run_pass(ctx, fx_module(ctx, y, 1, &x), gpuc_relay_pass_widen_floats, "c");
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, body_of(m), true, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_CONSTANT) continue;
        const float *values = gpuc_as_rconstant(e)->data->bytes;
        assert_true(values[0] == 0.5f && values[1] == -65504);
    }
}

/* What the model says about types holds: its casts round, and parts of tuples keep theirs. */
static void casts_of_the_model_stay(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(3));
    gpuc_rexpr *h = gpuc_relay_op1(ctx, "cast", fx_attrs(ctx, "dtype=bfloat16"), x);
    gpuc_rexpr *fields[] = {fx_op1(ctx, "sqrt", NULL, h), x,
                            gpuc_relay_op1(ctx, "cast", fx_attrs(ctx, "dtype=int32"), h)};
    fx_expect_text(widened(ctx, gpuc_relay_tuple(ctx, 3, fields), 1, &x, "c"),
                   "%0 = cast(%x, dtype=bfloat16); /* Tensor[(3), bfloat16] */"
                   "%1 = cast(%0, dtype=float32); /* Tensor[(3), float32] */"
                   "%2 = sqrt(%1); /* Tensor[(3), float32] */"
                   "%3 = cast(%2, dtype=bfloat16); /* Tensor[(3), bfloat16] */"
                   "%4 = cast(%1, dtype=int32); /* Tensor[(3), int32] */"
                   "(%3, %x, %4)");
    gpuc_rexpr *bits = gpuc_relay_op1(ctx, "reinterpret", fx_attrs(ctx, "dtype=uint16"), h);
    assert_string_equal(widened(ctx, bits, 1, &x, "c"), fx_text(ctx, bits));
}

/* simplify_expr.rly has what comes of these. */
static void rules_of_texts(gpuc_ctx *ctx, void *arg)
{
    static const char text[] =
        "def @main(%x: Tensor[(2, 4, 3, 5), float32], %y: Tensor[(5), float32], %i: Tensor[(2, 3), int8]) {\n"
        "  %0 = (0f + %x, %x - zeros_like(%x), %x * ones_like(%x), %x / 1f, 1f / sqrt(%y), %y + %y, (%y + "
        "1f) + 2f, (%y * 2f) * 3f);\n"
        "  %1 = (((%y * 2f) + 1f) * 3f, ((%y + 1f) * 2f) + 3f, %y + full(2f, shape=[5]), full(2f, shape=[5]) "
        "- %y);\n"
        "  %2 = (%y * full_like(%y, 2f), full(2f, shape=[5]) / %y, reshape_like(%x, reshape(%x, newshape=[8, "
        "15])));\n"
        "  %3 = (broadcast_to_like(%y, %x), collapse_sum_like(%x, %y), cast_like(%x, %i), cast(cast(%i, "
        "dtype=\"int16\"), dtype=\"int32\"));\n"
        "  %4 = (cast(cast(clip(%y, a_min=0f, a_max=9f), dtype=\"int8\"), dtype=\"int32\"), clip(%i, "
        "a_min=-128f, a_max=127f));\n"
        "  %5 = qnn.dequantize(%i, 2f, 0);\n"
        "  %6 = (argmax(%5, axis=[1]), argmin(%5, axis=[1]), argsort(%5, axis=1));\n"
        "  %7 = layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW2c\");\n"
        "  %8 = layout_transform(%7, src_layout=\"NCHW2c\", dst_layout=\"NCHW4c\");\n"
        "  %9 = transpose(layout_transform(%7, src_layout=\"NCHW2c\", dst_layout=\"NCHW\"), axes=[0, 2, 3, "
        "1]);\n"
        "  %10 = layout_transform(transpose(%x, axes=[0, 2, 3, 1]), src_layout=\"NHWC\", "
        "dst_layout=\"NCHW2c\");\n"
        "  %11 = transpose(layout_transform(nn.relu(%7), src_layout=\"NCHW2c\", dst_layout=\"NCHW\"), "
        "axes=[0, 2, 3, 1]);\n"
        "  (%0, %1, %2, %3, %4, %6, %8, %9, %10, %11, layout_transform(%x, src_layout=\"NCHW\", "
        "dst_layout=\"NHWC\"))\n"
        "}\n";
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text, "text", NULL);
    gpuc_rmodule *after = run_pass(ctx, m, gpuc_relay_pass_simplify_expr, NULL);
    static const char *const gone[] = {"_like", "full", "subtract(%x", " sqrt", "int16", "dequantize"};
    const char *printed = gpuc_relay_text(ctx, after, 0);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strstr(printed, gone[i])) fail_msg("%s is still there:\n%s", gone[i], printed);
}

static void every_rule_fires(gpuc_ctx *ctx, void *arg)
{
    rule_totals rules = {0};
    rule_totals_of(&rules, gpuc_relay_pass_simplify_rules());
    rule_totals_watch(ctx);
    aliases(ctx, arg);
    transposes(ctx, arg);
    neutral_operators(ctx, arg);
    scattered_slices(ctx, arg);
    rules_of_texts(ctx, arg);
    rule_totals_add(&rules, ctx);
    assert_int_equal(rule_totals_print(&rules, "the tests of simplify_expr"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(norms_become_arithmetic),
        fx_test(statistics_of_another_type),
        fx_test(what_does_nothing_goes),
        fx_test(aliases),
        fx_test(transposes),
        fx_test(neutral_operators),
        fx_test(scattered_slices),
        fx_test(rules_of_texts),
        fx_test(every_rule_fires),
        fx_test(common_subexpressions),
        fx_test(dead_lets_and_functions),
        fx_test(scales_move_into_weights),
        fx_test(scales_of_transposed_convolutions),
        fx_test(scales_that_stay),
        fx_test(scales_of_rewritten_users),
        fx_test(phases_become_channels),
        fx_test(pointwise_convolutions),
        fx_test(pointwise_convolutions_with_channels_last),
        fx_test(narrow_floats_are_computed_wide),
        fx_test(casts_of_the_model_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
