/* SPDX-License-Identifier: Apache-2.0 */
/* einsum: equations become products of matrices, with as few transpositions as they need, and stay what they are. */
#include "pass_test.h"

typedef struct row {
    const char *equation;
    int64_t dims[3][5]; /* 0 ends them; -1: only a run knows it */
    int count[5];       /* of nn.matmul, transpose, sum, multiply, einsum */
} row;

static const row rows[] = {
    {"ij,jk->ik", {{3, 4}, {4, 5}}, {1, 0, 0, 0, 0}},
    {"ij,jk->ki", {{3, 4}, {4, 5}}, {1, 0, 0, 0, 0}},
    {"ij,kj->ki", {{20, 16}, {24, 16}}, {1, 1, 0, 0, 0}},
    {"rijp,ipkq->rjkq", {{2, 3, 4, 5}, {3, 5, 2, 6}}, {1, 1, 0, 0, 0}},
    {"bij,bjk->bik", {{-1, 3, 4}, {-1, 4, 5}}, {1, 0, 0, 0, 0}},
    {"...ij,...jk", {{2, 3, 4}, {2, 4, 5}}, {1, 0, 0, 0, 0}},
    {"...ij,...jk", {{2, 3, 4}, {1, 4, 5}}, {1, 0, 0, 0, 0}},
    {"bhwc,hkc->bhwk", {{2, 3, 16, 4}, {3, 17, 4}}, {1, 1, 0, 0, 0}},
    {"bic,bjd->bij", {{2, 3, 4}, {2, 5, 3}}, {0, 0, 2, 1, 0}},
    {"bi,bj->bji", {{2, 3}, {2, 4}}, {0, 0, 0, 1, 0}},
    {"bi,bi->b", {{2, 3}, {2, 3}}, {0, 0, 0, 0, 1}},
    {"iji,ik->jk", {{3, 2, 3}, {3, 5}}, {1, 0, 0, 0, 1}},
    {"ii->", {{3, 3}}, {0, 0, 0, 0, 1}},
    {"ij->j", {{3, 4}}, {0, 0, 1, 0, 0}},
    {"ij->ji", {{3, 4}}, {0, 1, 0, 0, 0}},
    {"ai,bi,ci->abc", {{2, 9}, {3, 9}, {4, 9}}, {1, 2, 0, 1, 0}},
    {"a,b,ab->", {{3}, {4}, {3, 4}}, {1, 0, 0, 0, 1}},
};

static gpuc_rexpr *input_of(gpuc_ctx *ctx, const int64_t *dims, gpuc_dtype t, int k, gpuc_expr open)
{
    gpuc_expr shape[5];
    int n = 0;
    for (; n < 5 && dims[n]; n++) shape[n] = dims[n] < 0 ? open : gpuc_int(ctx, dims[n]);
    return gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", k), gpuc_relay_rtype_tensor(ctx, t, n, shape));
}

static void equations(gpuc_ctx *ctx, void *arg)
{
    static const gpuc_dtype types[] = {GPUC_FLOAT32, GPUC_FLOAT16, GPUC_INT32};
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 3; i++) {
        const row *r = &rows[i / 3];
        gpuc_rexpr *in[3];
        gpuc_expr open = gpuc_var(ctx, "n", GPUC_INDEX);
        int n = 0;
        for (; n < 3 && r->dims[n][0]; n++) in[n] = input_of(ctx, r->dims[n], types[i % 3], n, open);
        gpuc_rexpr *e = fx_op(ctx, "einsum", gpuc_ctx_printf(ctx, "equation=\"%s\"", r->equation), n, in);
        gpuc_rmodule *before = fx_module(ctx, e, n, in),
                     *after = run_pass(ctx, before, gpuc_relay_pass_einsum, NULL);
        gpuc_rexpr *now = body_of(after);
        int got[] = {count_op(ctx, now, "nn.matmul"), count_op(ctx, now, "transpose"),
                     count_op(ctx, now, "sum"), count_op(ctx, now, "multiply"), count_op(ctx, now, "einsum")};
        for (int k = 0; k < 5; k++)
            if (got[k] != r->count[k])
                fail_msg("%s: %d calls of operator %d, not %d", r->equation, got[k], k, r->count[k]);
        if (r->dims[0][0] > 0) interp_expect_equal(ctx, before, after, 77, i % 3 == 1 ? 2e-3 : 1e-5);
    }
}

/* Two sizes of a letter that may differ: one of them may be 1. */
static void may_broadcast(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t a[5] = {2, -1}, b[5] = {-1, 4};
    gpuc_rexpr *in[] = {input_of(ctx, a, GPUC_FLOAT32, 0, gpuc_var(ctx, "n", GPUC_INDEX)),
                        input_of(ctx, b, GPUC_FLOAT32, 1, gpuc_var(ctx, "m", GPUC_INDEX))};
    gpuc_rexpr *e = fx_op(ctx, "einsum", "equation=\"ij,jk->ik\"", 2, in);
    gpuc_rexpr *now = body_of(run_pass(ctx, fx_module(ctx, e, 2, in), gpuc_relay_pass_einsum, NULL));
    assert_int_equal(count_op(ctx, now, "einsum"), 1);
}

/* Products in between may have as many dimensions as there are letters; beyond them the equation stays. */
static void many_labels(gpuc_ctx *ctx, void *arg)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    (void)arg;
    for (int dots = 0; dots < 2; dots++) {
        gpuc_expr dims[GPUC_OP_MAX_DIMS], open = gpuc_var(ctx, "n", GPUC_INDEX);
        int ndims[] = {26, 26 + dots, 26, 26};
        gpuc_rexpr *in[4];
        for (int k = 0; k < GPUC_OP_MAX_DIMS; k++) dims[k] = open;
        for (int k = 0; k < 4; k++)
            in[k] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", k),
                                   gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, ndims[k], dims));
        const char *text =
            gpuc_ctx_printf(ctx, "equation=\"%.26s,%s%s,%.26s,%s->%s\"", letters, dots ? "..." : "",
                            letters + 26, letters, letters + 26, dots ? "..." : "");
        gpuc_rexpr *e = fx_op(ctx, "einsum", text, 4, in);
        gpuc_rexpr *now = body_of(run_pass(ctx, fx_module(ctx, e, 4, in), gpuc_relay_pass_einsum, NULL));
        if (!dots) assert_true(count_op(ctx, now, "nn.matmul") > 0);
        if (dots) assert_int_equal(gpuc_as_rcall(now)->n, 4);
    }
}

static void by_axes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t a[5] = {2, 3, 4}, b[5] = {4, 3, 5};
    gpuc_rexpr *in[] = {input_of(ctx, a, GPUC_FLOAT32, 0, NULL), input_of(ctx, b, GPUC_FLOAT32, 1, NULL)};
    gpuc_rexpr *e = fx_op(ctx, "tensordot", "a_axes=[1, 2] b_axes=[1, 0]", 2, in);
    gpuc_rmodule *before = fx_module(ctx, e, 2, in),
                 *after = run_pass(ctx, before, gpuc_relay_pass_einsum, NULL);
    assert_int_equal(count_op(ctx, body_of(after), "nn.matmul"), 1);
    interp_expect_equal(ctx, before, after, 77, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(equations), fx_test(may_broadcast), fx_test(many_labels),
                                       fx_test(by_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
