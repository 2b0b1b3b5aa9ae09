/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which models spell attention become one operator, with the same values; what is no attention,
 * or costs less as it is, stays. */
#include <math.h>

#include "pass_test.h"

#define LANES "c -vector_bits=128"
enum { BATCH = 2, HEADS = 3, QUERIES = 6, KEYS = 5, SIZE = 4 };

typedef struct parts {
    gpuc_rexpr *in[4]; /* query, key, value, mask */
} parts;

static parts begin(gpuc_ctx *ctx)
{
    parts p = {{fx_var(ctx, "q", FX_DIMS(BATCH, HEADS, QUERIES, SIZE)),
                fx_var(ctx, "k", FX_DIMS(BATCH, HEADS, KEYS, SIZE)),
                fx_var(ctx, "v", FX_DIMS(BATCH, HEADS, KEYS, SIZE)),
                fx_var(ctx, "m", FX_DIMS(BATCH, 1, 1, KEYS))}};
    return p;
}

static gpuc_rexpr *number(gpuc_ctx *ctx, double v)
{
    return gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, v);
}

static gpuc_rexpr *scores_of(gpuc_ctx *ctx, gpuc_rexpr *q, gpuc_rexpr *k)
{
    gpuc_rexpr *args[] = {q, k};
    return fx_op(ctx, "nn.matmul", "transpose_b=1", 2, args);
}

static gpuc_rexpr *weighed(gpuc_ctx *ctx, gpuc_rexpr *scores, gpuc_rexpr *v)
{
    return fx_op2(ctx, "nn.matmul", fx_op1(ctx, "nn.softmax", "axis=-1", scores), v);
}

static gpuc_rexpr *chosen(gpuc_ctx *ctx, gpuc_rexpr *condition, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {condition, a, b};
    return fx_op(ctx, "where", NULL, 3, args);
}

/* The module after the pass, with the same values. */
static gpuc_rexpr *after(gpuc_ctx *ctx, const parts *p, gpuc_rexpr *body, const char *target)
{
    gpuc_rmodule *m = fx_module(ctx, body, 4, p->in),
                 *out = run_pass(ctx, m, gpuc_relay_pass_fuse_attention, target);
    interp_expect_equal(ctx, m, out, 77, 1e-5);
    return body_of(out);
}

static void expect_one(gpuc_ctx *ctx, const parts *p, gpuc_rexpr *body)
{
    gpuc_rexpr *out = after(ctx, p, body, LANES);
    assert_int_equal(count_op(ctx, out, "nn.attention"), 1);
    assert_int_equal(count_op(ctx, out, "nn.softmax"), 0);
    assert_int_equal(count_op(ctx, out, "nn.matmul"), 0);
}

static void expect_none(gpuc_ctx *ctx, const parts *p, gpuc_rexpr *body, const char *target)
{
    assert_int_equal(count_op(ctx, after(ctx, p, body, target), "nn.attention"), 0);
}

static void spellings(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p = begin(ctx);
    gpuc_rexpr *q = p.in[0], *k = p.in[1], *v = p.in[2], *mask = p.in[3], *s = scores_of(ctx, q, k);
    expect_one(ctx, &p, weighed(ctx, s, v));
    fx_expect_text(
        fx_text(ctx,
                after(ctx, &p,
                      weighed(ctx, fx_op2(ctx, "add", fx_op2(ctx, "divide", s, number(ctx, 2)), mask), v),
                      LANES)),
        "nn.attention(%q, %k, %v, %m, empty_is_zero=0, fill=-inf, key_axes=[], out_axes=[], query_axes=[], "
        "scale=0.5, value_axes=[])");
    expect_one(ctx, &p,
               weighed(ctx, fx_op2(ctx, "multiply", number(ctx, 3), fx_op2(ctx, "add", mask, s)), v));
    gpuc_rexpr *half = number(ctx, 0.5);
    s = scores_of(ctx, fx_op2(ctx, "multiply", q, half), fx_op2(ctx, "multiply", k, half));
    expect_one(ctx, &p, weighed(ctx, fx_op2(ctx, "add", mask, s), v));
    expect_one(ctx, &p, weighed(ctx, fx_op2(ctx, "add", fx_op2(ctx, "add", mask, s), mask), v));
}

static void conditions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p = begin(ctx);
    gpuc_rexpr *q = p.in[0], *k = p.in[1], *v = p.in[2], *mask = p.in[3], *s = scores_of(ctx, q, k),
               *positive = fx_op2(ctx, "greater", mask, number(ctx, 0));
    expect_one(ctx, &p, weighed(ctx, chosen(ctx, positive, s, number(ctx, -1)), v));
    expect_one(ctx, &p, weighed(ctx, chosen(ctx, positive, number(ctx, -2), s), v));
    gpuc_rexpr *min = number(ctx, -3e38);
    expect_one(ctx, &p, weighed(ctx, fx_op2(ctx, "add", chosen(ctx, positive, min, s), mask), v));
    expect_one(ctx, &p, weighed(ctx, chosen(ctx, positive, min, fx_op2(ctx, "add", s, mask)), v));
    /* what is added to a small number counts */
    expect_none(ctx, &p, weighed(ctx, fx_op2(ctx, "add", chosen(ctx, positive, number(ctx, -2), s), mask), v),
                LANES);
}

/* Rows without a key, as the ONNX operator has them. */
static void empty_rows(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p = begin(ctx);
    gpuc_rexpr *s = scores_of(ctx, p.in[0], p.in[1]),
               *bias = chosen(ctx, fx_op2(ctx, "greater", p.in[3], number(ctx, 0.9)), number(ctx, 0),
                              number(ctx, -INFINITY)),
               *empty = fx_op2(ctx, "equal", fx_op1(ctx, "max", "axis=[-1] keepdims=1", bias),
                               number(ctx, -INFINITY)),
               *weights = fx_op1(ctx, "nn.softmax", "axis=-1", fx_op2(ctx, "add", s, bias));
    expect_one(ctx, &p, fx_op2(ctx, "nn.matmul", chosen(ctx, empty, number(ctx, 0), weights), p.in[2]));
    expect_none(ctx, &p, fx_op2(ctx, "nn.matmul", chosen(ctx, empty, number(ctx, 1), weights), p.in[2]),
                LANES);
}

static void transposed_operands(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char swap[] = "axes=[0, 2, 1, 3]";
    parts p = {{fx_var(ctx, "q", FX_DIMS(BATCH, QUERIES, HEADS, SIZE)),
                fx_var(ctx, "k", FX_DIMS(BATCH, KEYS, HEADS, SIZE)),
                fx_var(ctx, "v", FX_DIMS(BATCH, KEYS, HEADS, SIZE)), fx_var(ctx, "m", FX_DIMS(1))}};
    gpuc_rexpr *q = fx_op1(ctx, "transpose", swap, p.in[0]),
               *k = fx_op1(ctx, "transpose", "axes=[0, 2, 3, 1]", p.in[1]),
               *v = fx_op1(ctx, "transpose", swap, p.in[2]),
               *out = fx_op1(ctx, "transpose", swap, weighed(ctx, fx_op2(ctx, "nn.matmul", q, k), v));
    fx_expect_text(fx_text(ctx, after(ctx, &p, out, LANES)),
                   "nn.attention(%q, %k, %v, empty_is_zero=0, fill=-inf, key_axes=[0, 2, 1, 3], out_axes=[0, "
                   "2, 1, 3], query_axes=[0, 2, 1, 3], scale=1, value_axes=[0, 2, 1, 3])");
}

/* Scores that no buffer of the target holds. */
static void scores_beyond_a_buffer(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p = begin(ctx);
    gpuc_rexpr *body = weighed(ctx, scores_of(ctx, p.in[0], p.in[1]), p.in[2]);
    enum { BYTES = BATCH * HEADS * QUERIES * KEYS * 4 };
    expect_none(ctx, &p, body, gpuc_ctx_printf(ctx, "vulkan -max_buffer_range=%d", BYTES));
    gpuc_rexpr *out = after(ctx, &p, body, gpuc_ctx_printf(ctx, "vulkan -max_buffer_range=%d", BYTES - 4));
    assert_int_equal(count_op(ctx, out, "nn.attention"), 1);
}

static void what_stays(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p = begin(ctx);
    gpuc_rexpr *q = p.in[0], *k = p.in[1], *v = p.in[2], *s = scores_of(ctx, q, k);
    expect_none(ctx, &p, weighed(ctx, s, v), "c -vector_bits=512"); /* fewer queries than lanes */
    expect_none(ctx, &p, weighed(ctx, s, v), "vulkan");
    parts half = p;
    for (int i = 0; i < 3; i++)
        half.in[i] = gpuc_relay_var(
            ctx, "h", fx_type(ctx, GPUC_FLOAT16, FX_DIMS(BATCH, HEADS, i ? KEYS : 2 * QUERIES, SIZE)));
    gpuc_rexpr *halves = weighed(ctx, scores_of(ctx, half.in[0], half.in[1]), half.in[2]);
    gpuc_rmodule *m = fx_module(ctx, halves, 4, half.in);
    static const char *const targets[] = {LANES, "opencl/pocl -vector_bits=256"};
    for (int i = 0; i < 2; i++)
        assert_int_equal(count_op(ctx, body_of(run_pass(ctx, m, gpuc_relay_pass_fuse_attention, targets[i])),
                                  "nn.attention"),
                         i == 0);
    expect_none(ctx, &p, fx_op2(ctx, "nn.matmul", fx_op1(ctx, "nn.softmax", "axis=2", s), v), LANES);
    gpuc_rexpr *weights = fx_op1(ctx, "nn.softmax", "axis=-1", s),
               *out = fx_op2(ctx, "nn.matmul", weights, v);
    gpuc_rexpr *both[] = {out, weights};
    expect_none(ctx, &p, gpuc_relay_tuple(ctx, 2, both), LANES); /* somebody reads the weights */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(spellings),
        fx_test(conditions),
        fx_test(empty_rows),
        fx_test(transposed_operands),
        fx_test(scores_beyond_a_buffer),
        fx_test(what_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
