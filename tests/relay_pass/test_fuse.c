/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_ops: groups by the rules of dominance, within what a kernel binds; and limit_arguments before it. */
#include "pass_test.h"

/* The primitive functions of main in order, each as its operators in order: "conv1d+add+relu conv1d". */
static const char *groups_of(gpuc_ctx *ctx, const gpuc_rmodule *m)
{
    gpuc_ptrs order = {0};
    const char *out = "";
    gpuc_relay_post_order(ctx, body_of(m), false, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_CALL) continue;
        assert_null(gpuc_relay_call_op(e)); /* no operator is left outside */
        const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_as_rcall(e)->callee);
        assert_int_equal(gpuc_attrs_get_int(f->attrs, "primitive", 0), 1);
        gpuc_ptrs inner = {0};
        const char *sign = *out ? " " : "";
        gpuc_relay_post_order(ctx, f->body, false, &inner);
        for (size_t k = 0; k < inner.count; k++) {
            const gpuc_op *op = gpuc_relay_call_op(inner.at[k]);
            if (!op) continue;
            const char *dot = strrchr(op->name, '.');
            out = gpuc_ctx_printf(ctx, "%s%s%s", out, sign, dot ? dot + 1 : op->name);
            sign = "+";
        }
    }
    return out;
}

static const char *fused(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params,
                         const char *target)
{
    gpuc_rmodule *before = fx_module(ctx, body, n, params),
                 *after = run_pass(ctx, before, gpuc_relay_pass_fuse_ops, target);
    interp_expect_equal(ctx, before, after, 99, 0);
    return groups_of(ctx, after);
}
#define FUSED(body, text) assert_string_equal(fused(ctx, body, 1, &x, "vulkan"), text)

static gpuc_rexpr *weight(gpuc_ctx *ctx)
{
    return random_floats(ctx, 1, FX_DIMS(4, 4, 3));
}

static gpuc_rexpr *bias(gpuc_ctx *ctx)
{
    return random_floats(ctx, 2, FX_DIMS(4, 1));
}

static gpuc_rexpr *relu(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op1(ctx, "nn.relu", NULL, x);
}

static void convolutions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 8)), *w = weight(ctx), *b = bias(ctx);
    gpuc_rexpr *y = relu(ctx, fx_op2(ctx, "add", conv1(ctx, x, w), b));
    FUSED(y, "conv1d+add+relu");
    FUSED(conv1(ctx, y, w), "conv1d+add+relu conv1d");
    FUSED(relu(ctx, fx_op2(ctx, "add", fx_op2(ctx, "add", conv1(ctx, y, w), b), y)),
          "conv1d+add+relu conv1d+add+add+relu");
    /* two convolutions do not meet in one kernel */
    FUSED(relu(ctx,
               fx_op2(ctx, "add", conv1(ctx, x, w), conv1(ctx, x, random_floats(ctx, 3, FX_DIMS(4, 4, 3))))),
          "conv1d conv1d+add+relu");
    /* an activation with two uses of its input */
    gpuc_rexpr *c = conv1(ctx, x, w);
    FUSED(fx_op2(ctx, "multiply", c, fx_op1(ctx, "sigmoid", NULL, c)), "conv1d+sigmoid+multiply");
    /* a small result is not computed again for each element that reads it */
    gpuc_rexpr *pooled = fx_op1(ctx, "mean", "axis=[2] keepdims=1", y),
               *v = random_floats(ctx, 5, FX_DIMS(4, 4, 1));
    gpuc_rexpr *args[] = {pooled, v};
    gpuc_rexpr *gate = fx_op1(ctx, "sigmoid", NULL,
                              fx_op(ctx, "nn.conv1d", "strides=[1] padding=[0, 0] dilation=[1]", 2, args));
    FUSED(fx_op2(ctx, "multiply", y, gate), "conv1d+add+relu mean conv1d+sigmoid multiply");
}

static void injective_chains(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 4));
    gpuc_rexpr *t = fx_op1(ctx, "transpose", "axes=[0, 2, 1]", fx_op1(ctx, "exp", NULL, x));
    FUSED(fx_op1(ctx, "abs", NULL, t), "exp+transpose+abs");
    FUSED(fx_op1(ctx, "sum", "axis=[1]", fx_op1(ctx, "exp", NULL, x)), "exp+sum");
    FUSED(fx_op1(ctx, "sqrt", NULL, fx_op1(ctx, "sum", "axis=[1]", fx_op1(ctx, "exp", NULL, x))),
          "exp+sum sqrt");
    FUSED(fx_op1(ctx, "nn.softmax", NULL, fx_op1(ctx, "exp", NULL, x)), "exp softmax");
    FUSED(fx_op1(ctx, "reshape", "newshape=[6, 4]", x), "reshape");
    /* both arms of a diamond, and what joins them */
    gpuc_rexpr *e = fx_op1(ctx, "exp", NULL, x),
               *d = fx_op2(ctx, "add", fx_op1(ctx, "abs", NULL, e), fx_op1(ctx, "negative", NULL, e));
    FUSED(d, "exp+abs+negative+add");
    /* a reduction on one arm keeps them apart */
    gpuc_rexpr *mean = fx_op1(ctx, "mean", "axis=[2] keepdims=1", e);
    FUSED(fx_op2(ctx, "subtract", e, mean), "exp mean subtract");
}

/* x less its mean, over a power of what is left: what layer normalization is made of. */
static gpuc_rexpr *normalized(gpuc_ctx *ctx, gpuc_rexpr *x, const char *over)
{
    gpuc_rexpr *centered = fx_op2(ctx, "subtract", x, fx_op1(ctx, "mean", over, x));
    gpuc_rexpr *variance = fx_op1(ctx, "mean", over, fx_op2(ctx, "multiply", centered, centered));
    return fx_op2(ctx, "divide", centered, fx_op1(ctx, "sqrt", NULL, variance));
}

static void rows_join_their_reductions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char last[] = "axis=[2] keepdims=1", all[] = "mean+subtract+multiply+mean+sqrt+divide";
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 40)), *scale = random_floats(ctx, 1, FX_DIMS(40));
#define ROWS(body, target, text) assert_string_equal(fused(ctx, body, 1, &x, target), text)
    static const char *const targets[] = {"vulkan", "opencl/pocl", "c"};
    for (int i = 0; i < 3; i++) {
        gpuc_rexpr *y = normalized(ctx, x, last);
        ROWS(y, targets[i], all);
        ROWS(normalized(ctx, x, "axis=[1, 2] keepdims=1"), targets[i], all);
        /* elementwise operators on either side */
        ROWS(relu(ctx, fx_op2(ctx, "multiply", normalized(ctx, relu(ctx, x), last), scale)), targets[i],
             "relu+mean+subtract+multiply+mean+sqrt+divide+multiply+relu");
        gpuc_rexpr *e = fx_op2(ctx, "subtract", x, fx_op1(ctx, "max", last, x));
        e = fx_op1(ctx, "exp", NULL, e);
        ROWS(fx_op2(ctx, "divide", e, fx_op1(ctx, "sum", last, e)), targets[i],
             "max+subtract+exp+sum+divide");
        /* columns */
        ROWS(normalized(ctx, x, "axis=[1] keepdims=1"), targets[i],
             "mean subtract multiply+mean sqrt+divide");
        /* a copy that crosses rows stays outside */
        ROWS(fx_op1(ctx, "transpose", "axes=[0, 2, 1]", y), targets[i],
             "mean+subtract+multiply+mean+sqrt+divide transpose");
        /* what is an output is in memory */
        gpuc_rexpr *mean = fx_op1(ctx, "mean", last, x);
        gpuc_rexpr *both[] = {fx_op2(ctx, "subtract", x, mean), mean};
        ROWS(gpuc_relay_tuple(ctx, 2, both), targets[i], "mean subtract");
        ROWS(fx_op1(ctx, "sqrt", NULL, fx_op1(ctx, "mean", last, x)), targets[i], "mean sqrt");
    }
    /* as many rows as elements: the means run along the row */
    gpuc_rexpr *s = fx_var(ctx, "x", FX_DIMS(40, 40)), *m = fx_op1(ctx, "mean", "axis=[1]", s);
    assert_string_equal(fused(ctx, fx_op2(ctx, "subtract", s, m), 1, &s, "c"), "mean subtract");
    /* rows that no cache holds, and those that are too short for threads to share */
    gpuc_rexpr *l = fx_var(ctx, "x", FX_DIMS(1, 70001)), *k = fx_var(ctx, "x", FX_DIMS(2, 7));
    static const char over[] = "axis=[1] keepdims=1", apart[] = "mean subtract multiply+mean sqrt+divide";
    gpuc_rmodule *after =
        run_pass(ctx, fx_module(ctx, normalized(ctx, l, over), 1, &l), gpuc_relay_pass_fuse_ops, "c");
    assert_string_equal(groups_of(ctx, after), apart);
    assert_string_equal(fused(ctx, normalized(ctx, k, over), 1, &k, "vulkan"), apart);
    assert_string_equal(fused(ctx, normalized(ctx, k, over), 1, &k, "c"), all);
    /* no more tensors than a kernel binds */
    gpuc_rexpr *y = normalized(ctx, x, last);
    for (int i = 0; i < 3; i++) y = fx_op2(ctx, "add", y, random_floats(ctx, 2, FX_DIMS(40)));
    ROWS(y, "vulkan", "mean+subtract+multiply+mean+sqrt+divide+add+add add");
    /* a complex operator keeps what follows it */
    gpuc_rexpr *c = fx_var(ctx, "x", FX_DIMS(1, 4, 40)), *conv = relu(ctx, conv1(ctx, c, weight(ctx)));
    assert_string_equal(fused(ctx, normalized(ctx, conv, last), 1, &c, "c"),
                        "conv1d+relu mean+subtract+multiply+mean+sqrt+divide");
}

static void outputs_stay(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3));
    gpuc_rexpr *e = fx_op1(ctx, "exp", NULL, x), *a = fx_op1(ctx, "abs", NULL, e),
               *n = fx_op1(ctx, "negative", NULL, a);
    gpuc_rexpr *fields[] = {n, a, x};
    FUSED(gpuc_relay_tuple(ctx, 3, fields), "exp+abs negative");
    gpuc_rexpr *same[] = {a, a};
    FUSED(gpuc_relay_tuple(ctx, 2, same), "exp+abs");
    gpuc_rexpr *split = fx_op1(ctx, "split", "sizes=[1, 1]", e);
    FUSED(fx_op2(ctx, "add", gpuc_relay_get(ctx, split, 0), gpuc_relay_get(ctx, split, 1)), "exp+split add");
    FUSED(x, "");
}

static void constants_of_one_element_are_immediates(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3)), *k = fx_floats(ctx, FX_DIMS(1, 1), (float[]){2});
    gpuc_rmodule *m = fx_module(ctx, fx_op2(ctx, "multiply", x, k), 1, &x),
                 *after = run_pass(ctx, m, gpuc_relay_pass_fuse_ops, "vulkan");
    const gpuc_rcall *call = gpuc_as_rcall(body_of(after));
    assert_int_equal(call->n, 1);
    assert_int_equal(gpuc_as_rfunction(call->callee)->n, 1);
}

/* The vulkan minimum of four storage buffers. */
static void bindings_are_counted(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *v[8], *sum = NULL;
    for (int i = 0; i < 8; i++) {
        v[i] = fx_var(ctx, gpuc_ctx_printf(ctx, "v%d", i), FX_DIMS(5));
        sum = sum ? fx_op2(ctx, "add", sum, v[i]) : v[0];
    }
    gpuc_rmodule *m = fx_module(ctx, sum, 8, v),
                 *after = run_pass(ctx, m, gpuc_relay_pass_fuse_ops, "vulkan");
    interp_expect_equal(ctx, m, after, 3, 0);
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, body_of(after), false, &order);
    int calls = 0;
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_CALL) continue;
        calls++;
        assert_true(gpuc_as_rcall(e)->n + 1 <= 4);
    }
    assert_in_range(calls, 3, 4);
    assert_string_equal(fused(ctx, sum, 8, v, "vulkan -max_storage_buffers=16"),
                        "add+add+add+add+add+add+add");
    assert_string_equal(fused(ctx, sum, 8, v, "c"), "add+add+add+add+add+add+add");
}

static void large_groups_are_cut(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(5)), *e = x;
    for (int i = 0; i < 1000; i++) e = fx_op1(ctx, i % 2 ? "negative" : "abs", NULL, e);
    gpuc_rmodule *m = fx_module(ctx, e, 1, &x), *after = run_pass(ctx, m, gpuc_relay_pass_fuse_ops, "vulkan");
    gpuc_ptrs order = {0};
    int calls = 0;
    gpuc_relay_post_order(ctx, body_of(after), false, &order);
    for (size_t i = 0; i < order.count; i++) calls += ((gpuc_rexpr *)order.at[i])->kind == GPUC_REXPR_CALL;
    assert_in_range(calls, 8, 20);
    interp_expect_equal(ctx, m, after, 3, 0);
}

/* Branches that meet again, again and again. */
static void diamonds_are_cut(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { DIAMONDS = 9, ARM = 20 };
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(5)), *e = x;
    for (int i = 0; i < DIAMONDS; i++) {
        gpuc_rexpr *a = e, *b = e;
        for (int k = 0; k < ARM; k++) {
            a = fx_op1(ctx, "abs", NULL, a);
            b = fx_op1(ctx, "negative", NULL, b);
        }
        e = fx_op2(ctx, "add", a, b);
    }
    gpuc_rmodule *m = fx_module(ctx, e, 1, &x), *after = run_pass(ctx, m, gpuc_relay_pass_fuse_ops, "vulkan");
    gpuc_ptrs order = {0};
    int calls = 0;
    gpuc_relay_post_order(ctx, body_of(after), false, &order);
    for (size_t i = 0; i < order.count; i++) calls += ((gpuc_rexpr *)order.at[i])->kind == GPUC_REXPR_CALL;
    assert_in_range(calls, 3, DIAMONDS); /* of 369 operators */
    interp_expect_equal(ctx, m, after, 3, 0);
}

/* Long arms of a diamond, deep chains and many nodes: no recursion, no quadratic time. */
static void large_graphs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { LENGTH = 50000 };
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(5)), *a = fx_op1(ctx, "exp", NULL, x), *b = a;
    for (int i = 0; i < LENGTH; i++) b = fx_op1(ctx, "abs", NULL, b);
    gpuc_rmodule *m = fx_module(ctx, fx_op2(ctx, "add", a, b), 1, &x);
    run_pass(ctx, m, gpuc_relay_pass_fuse_ops, "vulkan");
    gpuc_rexpr *c = x;
    for (int i = 0; i < LENGTH / 2; i++) c = fx_op2(ctx, "add", c, fx_op1(ctx, "abs", NULL, c));
    run_pass(ctx, fx_module(ctx, c, 1, &x), gpuc_relay_pass_fuse_ops, "vulkan");
}

static void at_level_0_nothing_joins(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 8));
    gpuc_rmodule *m =
        fx_module(ctx, relu(ctx, fx_op2(ctx, "add", conv1(ctx, x, weight(ctx)), bias(ctx))), 1, &x);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, m);
    p.opt_level = 0;
    p.target = gpuc_target_parse(ctx, "vulkan", NULL);
    gpuc_relay_pass_fuse_ops(&p);
    assert_string_equal(groups_of(ctx, m), "conv1d add relu");
}

static void sources_are_joined(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 8)), *c = conv1(ctx, x, weight(ctx)), *r = relu(ctx, c);
    gpuc_relay_with_source(ctx, c, "Conv_0");
    gpuc_relay_with_source(ctx, r, "Relu_1");
    gpuc_rmodule *after = run_pass(ctx, fx_module(ctx, r, 1, &x), gpuc_relay_pass_fuse_ops, "vulkan");
    assert_string_equal(body_of(after)->source, "Conv_0,Relu_1");
}

/* ---- limit_arguments ---- */

static gpuc_rexpr *concat_of(gpuc_ctx *ctx, int n, gpuc_rexpr **v)
{
    for (int i = 0; i < n; i++) v[i] = fx_var(ctx, gpuc_ctx_printf(ctx, "v%d", i), FX_DIMS(2, i % 3 + 1));
    return fx_op(ctx, "concatenate", "axis=1", n, v);
}

static void concatenations_are_cut(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int sizes[] = {1, 3, 4, 7, 10, 31};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        gpuc_rexpr *v[32], *c = concat_of(ctx, sizes[s], v);
        gpuc_rmodule *m = fx_module(ctx, c, sizes[s], v),
                     *after = run_pass(ctx, m, gpuc_relay_pass_limit_arguments, "vulkan");
        interp_expect_equal(ctx, m, after, 3, 0);
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(ctx, body_of(after), false, &order);
        for (size_t i = 0; i < order.count; i++)
            if (gpuc_relay_call_op(order.at[i])) assert_true(gpuc_as_rcall(order.at[i])->n <= 3);
    }
}

static void large_weights_are_cut(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char target[] = "vulkan -max_buffer_range=16384";
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 32, 4)), *w = random_floats(ctx, 1, FX_DIMS(77, 32, 3)),
               *args[] = {x, w};
    gpuc_rexpr *conv = fx_op(ctx, "nn.conv1d", CONV1, 2, args), *y = fx_var(ctx, "x", FX_DIMS(2, 300));
    gpuc_rexpr *tw = random_floats(ctx, 2, FX_DIMS(32, 50, 3)), *targs[] = {x, tw};
    gpuc_rexpr *last = fx_var(ctx, "x", FX_DIMS(1, 4, 32)), *largs[] = {last, w}, *tlargs[] = {last, tw};
    gpuc_rexpr *cases[] = {
        fx_op(ctx, "nn.conv1d", CONV1 " data_layout=\"NHWC\"", 2, largs),
        fx_op(ctx, "nn.conv1d_transpose",
              "strides=[2] padding=[0, 0] dilation=[1] output_padding=[0] data_layout=\"NHWC\"", 2, tlargs),
        conv,
        fx_op(ctx, "nn.conv1d_transpose", "strides=[2] padding=[0, 0] dilation=[1] output_padding=[0]", 2,
              targs),
        fx_op2(ctx, "nn.dense", y, random_floats(ctx, 3, FX_DIMS(33, 300))),
        fx_op2(ctx, "nn.matmul", y, random_floats(ctx, 4, FX_DIMS(300, 41))),
        gpuc_relay_op2(ctx, "nn.matmul", fx_attrs(ctx, "transpose_b=1"), y,
                       random_floats(ctx, 5, FX_DIMS(41, 300))),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpuc_rexpr *param = i < 2 ? last : i < 4 ? x : y;
        gpuc_rmodule *m = fx_module(ctx, cases[i], 1, &param),
                     *after = run_pass(ctx, m, gpuc_relay_pass_limit_arguments, target);
        interp_expect_equal(ctx, m, after, 3, 1e-6);
        after = run_pass(ctx, after, gpuc_relay_pass_fold_constant, target);
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(ctx, body_of(after), false, &order);
        assert_true(gpuc_relay_is_op(body_of(after), "concatenate"));
        for (size_t k = 0; k < order.count; k++)
            if (((gpuc_rexpr *)order.at[k])->kind == GPUC_REXPR_CONSTANT)
                assert_true(gpuc_as_rconstant(order.at[k])->data->size <= 16384);
    }
}

static void limit(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_relay_pass_limit_arguments(arg);
}

static void too_few_buffers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *v[8], *c = concat_of(ctx, 5, v);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, fx_module(ctx, c, 5, v));
    p.target = gpuc_target_parse(ctx, "vulkan -max_storage_buffers=2", NULL);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "max_storage_buffers=2|at least 3", limit, &p);
}

/* What the fallback device runs is not in a kernel of the target. */
static void helped_operators(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3));
    gpuc_rexpr *wide = gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", GPUC_FLOAT64),
                                      fx_op1(ctx, "abs", NULL, x));
    gpuc_rexpr *y = relu(ctx, gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", GPUC_FLOAT32),
                                             fx_op1(ctx, "exp", NULL, wide)));
    FUSED(y, "abs cast+exp+cast relu");
    assert_string_equal(fused(ctx, y, 1, &x, "vulkan -float64=1"), "abs+cast+exp+cast+relu");
    /* an output that is an input is copied by a kernel */
    gpuc_rmodule *m = fx_module(ctx, x, 1, &x);
    assert_int_equal(
        count_op(ctx, body_of(run_pass(ctx, m, gpuc_relay_pass_copy_outputs, "vulkan")), "identity"), 1);
}

/* Tensors that share a binding lie in one buffer. */
static void bindings_are_shared(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *v[] = {fx_var(ctx, "x", FX_DIMS(5, 2, 12)), fx_var(ctx, "r", FX_DIMS(1, 3, 12)),
                       fx_var(ctx, "h", FX_DIMS(1, 2, 3)), fx_var(ctx, "c", FX_DIMS(1, 2, 3)),
                       random_floats(ctx, 1, FX_DIMS(1, 9))};
    gpuc_rexpr *lstm = fx_op(
        ctx, "nn.lstm", "activations=\"sigmoid,tanh,tanh\" alpha=[0.0, 0.0, 0.0] beta=[0.0, 0.0, 0.0]", 5, v);
    gpuc_rexpr *outs[] = {gpuc_relay_get(ctx, lstm, 0), relu(ctx, gpuc_relay_get(ctx, lstm, 1))};
    gpuc_rexpr *body = gpuc_relay_tuple(ctx, 2, outs);
    gpuc_rmodule *m = fx_module(ctx, body, 4, v);
    /* the last two inputs, and the output that no operator follows */
    assert_int_equal(
        count_op(ctx, body_of(run_pass(ctx, m, gpuc_relay_pass_share_bindings, "vulkan")), "identity"), 3);
    m = fx_module(ctx, body, 4, v);
    assert_int_equal(count_op(ctx,
                              body_of(run_pass(ctx, m, gpuc_relay_pass_share_bindings, "vulkan/llvmpipe")),
                              "identity"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(convolutions),
        fx_test(injective_chains),
        fx_test(rows_join_their_reductions),
        fx_test(outputs_stay),
        fx_test(constants_of_one_element_are_immediates),
        fx_test(bindings_are_counted),
        fx_test(large_groups_are_cut),
        fx_test(diamonds_are_cut),
        fx_test(large_graphs),
        fx_test(at_level_0_nothing_joins),
        fx_test(sources_are_joined),
        fx_test(concatenations_are_cut),
        fx_test(large_weights_are_cut),
        fx_test(too_few_buffers),
        fx_test(helped_operators),
        fx_test(bindings_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
