/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline as a whole: levels, disabled passes, names, and random graphs whose values stay. */
#include "pass_test.h"

static gpuc_rexpr *network(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *v[5] = {conv1(ctx, x, random_floats(ctx, 1, FX_DIMS(6, 4, 3)))};
    for (int i = 1; i < 5; i++) v[i] = random_floats(ctx, 10 + (uint64_t)i, FX_DIMS(6));
    v[4] = fx_op1(ctx, "exp", NULL, v[4]);
    gpuc_rexpr *y = fx_op1(ctx, "nn.relu", NULL, fx_op(ctx, "nn.batch_norm", NULL, 5, v));
    gpuc_rexpr *args[] = {y, random_floats(ctx, 2, FX_DIMS(6, 6, 1))};
    gpuc_rexpr *z = fx_op(ctx, "nn.conv1d", "strides=[1] padding=[0, 0] dilation=[1]", 2, args);
    z = fx_op2(ctx, "add", fx_op1(ctx, "nn.dropout", NULL, z), y);
    gpuc_rexpr *flat =
        fx_op1(ctx, "reshape", "newshape=[1, -1]", fx_op1(ctx, "mean", "axis=[2] keepdims=1", z));
    return fx_op1(ctx, "nn.softmax", NULL,
                  fx_op2(ctx, "nn.dense", flat, random_floats(ctx, 3, FX_DIMS(5, 6))));
}

static void run_all(gpuc_relay_pass_ctx *p)
{
    const gpuc_target *target = p->target;
    p->target = NULL;
    gpuc_relay_pass_optimize(p);
    p->target = target;
    gpuc_relay_pass_optimize_for_target(p);
}

static void levels(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const targets[] = {"vulkan", "opencl", "c", "vulkan/llvmpipe", "opencl/pocl"};
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 9));
    gpuc_rmodule *m = fx_module(ctx, network(ctx, x), 1, &x);
    int last = 1000;
    for (int level = 0; level <= 3; level++)
        for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
            gpuc_rmodule *copy = fx_module(ctx, body_of(m), 1, &x);
            gpuc_relay_pass_ctx p = pass_ctx(ctx, copy);
            p.opt_level = level;
            p.target = gpuc_target_parse(ctx, targets[t], NULL);
            run_all(&p);
            interp_expect_equal(ctx, m, copy, 21, 1e-5);
            gpuc_ptrs order = {0};
            int calls = 0;
            gpuc_relay_post_order(ctx, body_of(copy), false, &order);
            for (size_t i = 0; i < order.count; i++)
                calls += ((gpuc_rexpr *)order.at[i])->kind == GPUC_REXPR_CALL;
            if (t == 0) {
                assert_true(calls <= last);
                last = calls;
            }
        }
    assert_true(last <= 6);
}

static void need_pass(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_pass_need(ctx, arg);
}

static void every_pass_can_be_left_out(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const names[] = {"simplify_expr",   "fold_scale_axis",    "eliminate_common_subexpr",
                                        "dead_code",       "fuse_ops",           "flatten_pointwise",
                                        "transpose_dense", "alter_kernel_layout"};
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 4, 9));
    gpuc_rmodule *m = fx_module(ctx, network(ctx, x), 1, &x);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        gpuc_rmodule *copy = fx_module(ctx, body_of(m), 1, &x);
        gpuc_relay_pass_ctx p = pass_ctx(ctx, copy);
        assert_non_null(gpuc_relay_pass_find(names[i]));
        p.disabled = &names[i];
        p.num_disabled = 1;
        p.target = gpuc_target_parse(ctx, "vulkan", NULL);
        run_all(&p);
        interp_expect_equal(ctx, m, copy, 21, 1e-5);
    }
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "no pass 'fold_constants'; did you mean 'fold_constant'", need_pass,
              "fold_constants");
}

/* ---- Random graphs ---- */

static gpuc_rexpr *random_step(gpuc_ctx *ctx, fx_rng *r, gpuc_rexpr *a, gpuc_rexpr *b)
{
    static const char *const unary[] = {"negative", "abs",      "nn.relu",   "sigmoid",
                                        "tanh",     "identity", "nn.dropout"};
    static const char *const binary[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    int64_t dims[64];
    gpuc_rexpr *k;
    switch (fx_below(r, 11)) {
    case 0:
    case 1: return fx_op1(ctx, unary[fx_below(r, 7)], NULL, a);
    case 2:
    case 3: return fx_op2(ctx, binary[fx_below(r, 5)], a, b);
    case 4: return fx_op2(ctx, binary[fx_below(r, 3)], a, random_floats(ctx, fx_next(r), FX_DIMS(4, 1)));
    case 5:
        return fx_op2(ctx, binary[fx_below(r, 3)], gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, fx_real(r)), a);
    case 6: return conv1(ctx, a, random_floats(ctx, fx_next(r), FX_DIMS(4, 4, 3)));
    case 7:
        k = fx_op1(ctx, "transpose", "axes=[0, 2, 1]", a);
        return fx_op1(ctx, "transpose", "axes=[0, 2, 1]", fx_op1(ctx, unary[fx_below(r, 7)], NULL, k));
    case 8:
        gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(a), dims);
        k = fx_op1(ctx, "reshape", "newshape=[-1]", a);
        return gpuc_relay_op1(ctx, "reshape", gpuc_attrs_ints(ctx, NULL, "newshape", 3, dims),
                              fx_op1(ctx, "tanh", NULL, k));
    case 9: return fx_op2(ctx, "subtract", a, fx_op1(ctx, "mean", "axis=[2] keepdims=1", a));
    default:
        k = fx_op1(ctx, "split", "sizes=[1, 3] axis=1", a);
        gpuc_rexpr *parts[] = {gpuc_relay_get(ctx, k, 1), gpuc_relay_get(ctx, k, 0)};
        return fx_op(ctx, "concatenate", "axis=1", 2, parts);
    }
}

static void random_graphs(void **state)
{
    (void)state;
    static const char *const targets[] = {"vulkan", "c", "vulkan -max_storage_buffers=3",
                                          "opencl -max_buffer_range=1024"};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        fx_rng r = {seed};
        gpuc_rexpr *pool[24], *params[2];
        for (int i = 0; i < 2; i++) params[i] = pool[i] = fx_var(ctx, i ? "y" : "x", FX_DIMS(1, 4, 6));
        int n = 2, length = 4 + fx_below(&r, 18);
        while (n < length) {
            gpuc_rexpr *a = pool[n - 1 - fx_below(&r, n < 4 ? n : 4)], *b = pool[fx_below(&r, n)];
            pool[n] = random_step(ctx, &r, a, b);
            n++;
        }
        gpuc_rexpr *fields[3];
        for (int i = 0; i < 3; i++) fields[i] = pool[n - 1 - fx_below(&r, n)];
        fields[0] = pool[n - 1];
        gpuc_rmodule *m = fx_module(ctx, gpuc_relay_tuple(ctx, 3, fields), 2, params);
        for (int level = 0; level <= 3; level += 3)
            for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
                gpuc_rmodule *copy = fx_module(ctx, body_of(m), 2, params);
                gpuc_relay_pass_ctx p = pass_ctx(ctx, copy);
                p.opt_level = level;
                p.target = gpuc_target_parse(ctx, targets[t], NULL);
                run_all(&p);
                interp_expect_equal(ctx, m, copy, seed, 2e-4);
            }
        gpuc_ctx_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(levels),
        fx_test(every_pass_can_be_left_out),
        cmocka_unit_test(random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
