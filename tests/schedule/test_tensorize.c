/* SPDX-License-Identifier: Apache-2.0 */
/* Intrinsics in the place of loops: what they become, and what is refused. */
#include "fixture.h"

#include <string.h>

#include "compare.h"
#include "te/te.h"

typedef struct sched {
    expr_graph g;
    gpuc_schedule *s;
    gpuc_stage *c;
    gpuc_iter *i, *j, *ko, *ki;
} sched;

static void make(gpuc_ctx *ctx, const char *expr, int64_t factor, sched *x)
{
    memset(x, 0, sizeof *x);
    expr_build(expr_find(expr), ctx, &x->g);
    x->s = gpuc_schedule_create(ctx, x->g.num_outputs, &x->g.args[x->g.num_args - x->g.num_outputs]);
    x->c = gpuc_schedule_stage(x->s, x->g.args[x->g.num_args - 1]);
    x->i = gpuc_stage_axis(x->c, 0);
    x->j = gpuc_stage_axis(x->c, 1);
    gpuc_stage_split(x->c, gpuc_stage_reduce_axis(x->c, 0), factor, &x->ko, &x->ki);
}

static const char *lowered(sched *x)
{
    gpuc_buf out;
    gpuc_buf_init(&out, x->g.ctx->allocator);
    gpuc_tir_print(x->g.ctx, &out, gpuc_schedule_lower(x->s, "f", x->g.num_args, x->g.args));
    const char *text = gpuc_ctx_strdup(x->g.ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

/* ---- Dot products ---- */

static void dots_body(gpuc_ctx *ctx, void *arg)
{
    static const char *const names[] = {"dot_u8i8", "dot_i8", "dot_u8", "dot_i16"};
    (void)arg;
    for (int n = 0; n < 4; n++) {
        sched x;
        gpuc_iter *jo, *ji;
        make(ctx, names[n], n == 3 ? 2 : 4, &x);
        gpuc_stage_split(x.c, x.j, 4, &jo, &ji);
        gpuc_stage_reorder(x.c, 5, ITERS(x.i, jo, x.ko, ji, x.ki));
        gpuc_stage_vectorize(x.c, ji);
        gpuc_stage_tensorize(x.c, x.ki, gpuc_tensor_intrin_find(ctx, names[n]));
        assert_non_null(strstr(gpuc_schedule_text(x.s), gpuc_ctx_printf(ctx, "tensorize %s", names[n])));
        assert_non_null(strstr(lowered(&x), gpuc_ctx_printf(ctx, "%s(C[", names[n])));
        compare_with_definition(&x.g, x.s);
    }
    /* 24 = 18 + 6 = 4 * 4 + 2 + 4 + 2: the last runs of both parts would go past the end. */
    sched x;
    gpuc_iter *in, *out;
    make(ctx, "dot_u8i8", 18, &x);
    gpuc_stage_split(x.c, x.ki, 4, &out, &in);
    gpuc_stage_tensorize(x.c, in, gpuc_tensor_intrin_find(ctx, "dot_u8i8"));
    compare_with_definition(&x.g, x.s);
    assert_null(gpuc_tensor_intrin_find(ctx, "dot_f32"));
}

static void text_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "dot_i8", 4, &x);
    gpuc_stage_tensorize(x.c, x.ki, gpuc_tensor_intrin_find(ctx, "dot_i8"));
    expect_text(lowered(&x),
                "func f(A: int8[7, 24] global, B: int8[12, 24] global, C: int32[7, 12] global) label \"f\" {"
                "  for i in 0..7 {"
                "    for j in 0..12 {"
                "      attr reduce_init {"
                "        C[i, j] = 0"
                "      }"
                "      attr reduce_update {"
                "        for k.outer in 0..6 {"
                "          C[i, j] = dot_i8(C[i, j], reinterpret<int32>(A[i, ramp(k.outer*4, 1, 4)]),"
                " reinterpret<int32>(B[j, ramp(k.outer*4, 1, 4)]))"
                "        }"
                "      }"
                "    }"
                "  }"
                "}\n");
}

/* ---- Intrinsics of one's own ---- */

/* C[a, b] = C[a, b] + A[a, k] * B[k, b], element by element. */
static gpuc_stmt emit_block(gpuc_ctx *ctx, const gpuc_tensor_region *const *in, const gpuc_tensor_region *out,
                            void *arg)
{
    (*(int *)arg)++;
    gpuc_stmt all = NULL;
    for (int64_t n = 0; n < 2 * 3 * 4; n++) {
        const int64_t k = n / 6, at_c[] = {n % 2, n / 2 % 3}, at_a[] = {n % 2, k}, at_b[] = {k, n / 2 % 3};
        gpuc_expr product = gpuc_mul(ctx, gpuc_tensor_region_load(ctx, in[0], at_a, 1),
                                     gpuc_tensor_region_load(ctx, in[1], at_b, 1));
        gpuc_expr sum = gpuc_add(ctx, gpuc_tensor_region_load(ctx, out, at_c, 1), product);
        all = gpuc_tir_seq2(ctx, all, gpuc_tensor_region_store(ctx, out, at_c, sum));
    }
    return all;
}

static const gpuc_tensor_intrin *block(gpuc_ctx *ctx, int *runs)
{
    expr_graph g = {.ctx = ctx};
    gpuc_tensor *in[] = {input(&g, "a", GPUC_FLOAT32, 2, EXPRS(num(&g, 2), num(&g, 4))),
                         input(&g, "b", GPUC_FLOAT32, 2, EXPRS(num(&g, 4), num(&g, 3)))};
    gpuc_iter *ij[] = {axis(&g, num(&g, 2), "i"), axis(&g, num(&g, 3), "j")}, *k = raxis(&g, num(&g, 4), "k");
    gpuc_expr product = gpuc_mul(ctx, AT2(&g, in[1], V(k), V(ij[1])), AT2(&g, in[0], V(ij[0]), V(k)));
    gpuc_tensor *c = gpuc_te_compute(ctx, "c", 2, ij, gpuc_te_reduce(ctx, "sum", product, 1, &k));
    return gpuc_tensor_intrin_declare(ctx, "block", c, 2, in, emit_block, runs);
}

/* Operands the other way round, loops in another order, a buffer of the tile only. */
static void block_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    int runs = 0;
    expr_graph g = {.ctx = ctx};
    gpuc_tensor *a = input(&g, "A", GPUC_FLOAT32, 2, EXPRS(num(&g, 8), num(&g, 12))),
                *b = input(&g, "B", GPUC_FLOAT32, 2, EXPRS(num(&g, 12), num(&g, 9)));
    gpuc_iter *ij[] = {axis(&g, num(&g, 8), "i"), axis(&g, num(&g, 9), "j")},
              *k = raxis(&g, num(&g, 12), "k");
    gpuc_expr product = gpuc_mul(ctx, AT2(&g, a, V(ij[0]), V(k)), AT2(&g, b, V(k), V(ij[1])));
    output(&g, gpuc_te_compute(ctx, "C", 2, ij, gpuc_te_reduce(ctx, "sum", product, 1, &k)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[2]);
    gpuc_tensor *sum = gpuc_cache_write(s, g.args[2], "local");
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[2]), *local = gpuc_schedule_stage(s, sum);
    gpuc_iter *io, *jo, *ii, *ji, *ko, *ki, *xo, *yo, *xi, *yi;
    gpuc_stage_tile(c, gpuc_stage_axis(c, 0), gpuc_stage_axis(c, 1), 4, 3, &io, &jo, &ii, &ji);
    gpuc_stage_compute_at(local, c, jo);
    gpuc_stage_tile(local, gpuc_stage_axis(local, 0), gpuc_stage_axis(local, 1), 2, 3, &xo, &yo, &xi, &yi);
    gpuc_stage_split(local, gpuc_stage_reduce_axis(local, 0), 4, &ko, &ki);
    gpuc_stage_reorder(local, 6, ITERS(xo, yo, ko, ki, xi, yi));
    gpuc_stage_tensorize(local, ki, block(ctx, &runs));
    compare_with_definition(&g, s);
    assert_int_equal(runs, 1);
}

/* ---- Refusals ---- */

static sched *refused;

static void other_types(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_stage_tensorize(refused->c, refused->ki, gpuc_tensor_intrin_find(ctx, "dot_i8"));
}

static void other_extent(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_stage_tensorize(refused->c, refused->ko, gpuc_tensor_intrin_find(ctx, "dot_u8i8"));
}

static void data_loop(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_stage_reorder(refused->c, 2, ITERS(refused->ki, refused->i));
    gpuc_stage_tensorize(refused->c, refused->i, gpuc_tensor_intrin_find(ctx, "dot_u8i8"));
}

static void split_after(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    gpuc_stage_split(refused->c, refused->ki, 2, NULL, NULL);
}

static void refusals_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    refused = &x;
    make(ctx, "dot_u8i8", 4, &x);
    expect_error(ctx,
                 "tensorize|does not compute what dot_i8 does|A(i, k) is of type uint8, and b(k) of int8",
                 other_types, NULL);
    expect_error(ctx, "tensorize|2 loops|dot_u8i8 has 1", other_extent, NULL);
    gpuc_stage_tensorize(x.c, x.ki, gpuc_tensor_intrin_find(ctx, "dot_u8i8"));
    expect_error(ctx, "split|tensorized", split_after, NULL);
    make(ctx, "dot_u8i8", 4, &x);
    expect_error(ctx, "'i' of extent 7|fits no axis", data_loop, NULL);
}

typedef struct bad_pattern {
    expr_graph g;
    gpuc_tensor *c, *in;
} bad_pattern;

static void declare_bad(gpuc_ctx *ctx, void *arg)
{
    bad_pattern *b = arg;
    gpuc_tensor_intrin_declare(ctx, "bad", b->c, 1, &b->in, emit_block, NULL);
}

static void declarations_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    bad_pattern b = {.g = {.ctx = ctx}};
    b.in = input(&b.g, "a", GPUC_FLOAT32, 1, EXPRS(num(&b.g, 8)));
    gpuc_iter *i = axis(&b.g, num(&b.g, 4), "i"), *n = axis(&b.g, symbol(&b.g, "n", 3), "n");
    b.c = gpuc_te_compute(ctx, "c", 1, &i, AT1(&b.g, b.in, gpuc_mul(ctx, V(i), V(i))));
    expect_error(ctx, "'bad'|reads 'a' at i*i in dimension 0|no sum of multiples", declare_bad, &b);
    gpuc_tensor *square = input(&b.g, "s", GPUC_FLOAT32, 2, EXPRS(num(&b.g, 4), num(&b.g, 4)));
    b.in = square;
    b.c = gpuc_te_compute(ctx, "c", 1, &i, AT2(&b.g, square, V(i), V(i)));
    expect_error(ctx, "'bad'|dimension 0 of 's'|axis of its own", declare_bad, &b);
    b.in = b.g.args[0];
    b.c = gpuc_te_compute(ctx, "c", 1, &i,
                          gpuc_mul(ctx, AT1(&b.g, b.in, V(i)), gpuc_cast(ctx, GPUC_FLOAT32, V(i))));
    expect_error(ctx, "'bad'|uses the axis 'i' as a value", declare_bad, &b);
    b.c = gpuc_te_compute(ctx, "c", 1, &n, AT1(&b.g, b.in, V(n)));
    expect_error(ctx, "'bad'|extent of axis 'n'|not constant", declare_bad, &b);
    gpuc_tensor *other = input(&b.g, "o", GPUC_FLOAT32, 1, EXPRS(num(&b.g, 8)));
    b.c = gpuc_te_compute(ctx, "c", 1, &i, AT1(&b.g, other, V(i)));
    expect_error(ctx, "'bad'|reads 'o'|none of its inputs", declare_bad, &b);
    b.c = b.in;
    expect_error(ctx, "'bad'|must be a compute", declare_bad, &b);
}

static void test_dots(void **state)
{
    (void)state;
    run_ok(dots_body, NULL);
    run_ok(text_body, NULL);
}

static void test_own(void **state)
{
    (void)state;
    run_ok(block_body, NULL);
}

static void test_refusals(void **state)
{
    (void)state;
    run_ok(refusals_body, NULL);
    run_ok(declarations_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dots),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
