/* SPDX-License-Identifier: Apache-2.0 */
/* What each primitive does to the loops, and what it refuses; after an error the schedule is as it was. */
#include "fixture.h"

#include <string.h>

#include "te/te.h"

typedef struct sched {
    expr_graph g;
    gpuc_schedule *s;
    gpuc_stage *c;    /* of the output */
    gpuc_iter *i, *j; /* its axes */
    gpuc_iter *k;     /* its reduce axis */
} sched;

static void make(gpuc_ctx *ctx, const char *expr, sched *x)
{
    memset(x, 0, sizeof *x);
    expr_build(expr_find(expr), ctx, &x->g);
    x->s = gpuc_schedule_create(ctx, x->g.num_outputs, &x->g.args[x->g.num_args - x->g.num_outputs]);
    x->c = gpuc_schedule_stage(x->s, x->g.args[x->g.num_args - 1]);
    if (gpuc_stage_num_axes(x->c) > 0) x->i = gpuc_stage_axis(x->c, 0);
    if (gpuc_stage_num_axes(x->c) > 1) x->j = gpuc_stage_axis(x->c, 1);
    if (gpuc_stage_num_reduce(x->c) > 0) x->k = gpuc_stage_reduce_axis(x->c, 0);
}

static gpuc_stage *stage(sched *x, const char *name)
{
    return gpuc_schedule_stage(x->s, expr_tensor(&x->g, name));
}

/* The lines of one stage in the schedule's text. */
static void expect_stage(sched *x, const gpuc_stage *st, const char *want)
{
    const char *text = gpuc_schedule_text(x->s);
    const char *head = gpuc_ctx_printf(x->g.ctx, "%s:", gpuc_te_name(gpuc_stage_tensor(st, 0)));
    const char *start = text;
    while (strncmp(start, head, strlen(head)) != 0) {
        start = strchr(start, '\n');
        assert_non_null(start);
        start++;
    }
    const char *end = strchr(start, '\n') + 1;
    while (*end == ' ') end = strchr(end, '\n') + 1;
    char *lines = gpuc_ctx_strdup(x->g.ctx, start);
    lines[end - start] = 0;
    expect_text(lines, want);
}

/* ---- Effects -------------------------------------------------------------------------------------- */

static void split_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "matmul_prime", &x);
    gpuc_iter *o, *n;
    gpuc_stage_split(x.c, x.i, 4, &o, &n);
    gpuc_stage_split_nparts(x.c, x.k, 3, NULL, NULL);
    assert_ptr_equal(gpuc_stage_leaf(x.c, 0), o);
    assert_ptr_equal(gpuc_stage_leaf(x.c, 1), n);
    assert_int_equal(gpuc_stage_num_leaves(x.c), 5);
    expect_stage(&x, x.c,
                 "C: output"
                 "  for i.outer < 5"
                 "  for i.inner < 4"
                 "  for j < 19"
                 "  reduce k.outer < 3"
                 "  reduce k.inner < 5");
}

static void fuse_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "conv2d_same", &x);
    gpuc_stage_fuse(x.c, gpuc_stage_reduce_axis(x.c, 1), gpuc_stage_reduce_axis(x.c, 2));
    gpuc_stage_fuse(x.c, x.i, x.j);
    expect_stage(&x, x.c,
                 "C: output"
                 "  for f.y.fused < 44"
                 "  for x < 11"
                 "  reduce rc < 3"
                 "  reduce ry.rx.fused < 9");
}

static void reorder_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "conv2d_same", &x);
    gpuc_stage_reorder(x.c, 3, ITERS(gpuc_stage_reduce_axis(x.c, 2), x.i, gpuc_stage_reduce_axis(x.c, 0)));
    expect_stage(&x, x.c,
                 "C: output"
                 "  reduce rx < 3"
                 "  for y < 11"
                 "  for x < 11"
                 "  for f < 4"
                 "  reduce ry < 3"
                 "  reduce rc < 3");
}

static void tile_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "transpose", &x);
    gpuc_iter *xo, *yo, *xi, *yi;
    gpuc_stage_tile(x.c, x.i, x.j, 4, 8, &xo, &yo, &xi, &yi);
    gpuc_stage_bind(x.c, xo, "blockIdx.y");
    gpuc_stage_bind(x.c, yo, "vthread");
    gpuc_stage_unroll(x.c, xi);
    gpuc_stage_vectorize(x.c, yi);
    gpuc_stage_pragma(x.c, xi, "auto_unroll_max_step", 3);
    expect_stage(&x, x.c,
                 "C: output"
                 "  for i.outer < 3 bind blockIdx.y"
                 "  for j.outer < 2 bind vthread"
                 "  for i.inner < 4 unroll pragma auto_unroll_max_step=3"
                 "  for j.inner < 8 vectorize");
}

static void attach_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "stencils", &x);
    gpuc_stage *t = stage(&x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_compute_at(t, x.c, x.i);
    gpuc_stage_split(x.c, x.i, 4, &o, &n);
    gpuc_stage_set_scope(t, "shared");
    gpuc_stage_double_buffer(t);
    gpuc_stage_storage_align(t, 0, 8, 1);
    gpuc_stage_transform_layout(t, "4aA");
    expect_stage(&x, t, "T: at j.inner of C in shared double_buffer align 0=8+1 layout 4aA  for i < 32");
    gpuc_stage_transform_layout(t, "A");
    gpuc_stage_compute_inline(t);
    expect_stage(&x, t, "T: inline in shared double_buffer align 0=8+1 layout A  for i < 32");
    gpuc_stage_compute_root(t);
    expect_stage(&x, t, "T: in shared double_buffer align 0=8+1 layout A  for i < 32");
}

static void non_temporal_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "bias_relu", &x);
    gpuc_stage_non_temporal(x.c);
    gpuc_stage_non_temporal(stage(&x, "T"));
    gpuc_stage_set_scope(stage(&x, "T"), "local");
    gpuc_stage_compute_at(stage(&x, "T"), x.c, x.j);
    assert_non_null(strstr(gpuc_schedule_text(x.s), "C: output non_temporal\n"));
    gpuc_tir_func *f = gpuc_schedule_lower(x.s, "f", x.g.num_args, x.g.args);
    for (int i = 0; i < f->num_buffers; i++)
        assert_int_equal(f->buffers[i]->non_temporal, !strcmp(f->buffers[i]->name, "C"));
    const char *text = gpuc_tir_text(ctx, f);
    const char *first = strstr(text, "non_temporal"); /* local storage is not */
    assert_null(strstr(first + 1, "non_temporal"));
}

static void cache_read_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "softmax", &x);
    gpuc_stage *e = stage(&x, "e"), *top = stage(&x, "top");
    gpuc_tensor *a = gpuc_cache_read(x.s, expr_tensor(&x.g, "A"), "shared", 1, &e);
    expect_stage(&x, gpuc_schedule_stage(x.s, a), "A.shared: in shared  for ax0 < 6  for ax1 < 19");
    gpuc_tensor *e_now = gpuc_stage_tensor(e, 0);
    assert_true(e_now->op->inputs[0] == a || e_now->op->inputs[1] == a);
    /* The reader and what reads it are new operations; the user's tensors still find their stages. */
    assert_ptr_not_equal(e_now, expr_tensor(&x.g, "e"));
    assert_ptr_equal(gpuc_schedule_stage(x.s, expr_tensor(&x.g, "e")), e);
    assert_ptr_equal(gpuc_schedule_stage(x.s, e_now), e);
    assert_ptr_equal(gpuc_stage_tensor(top, 0), expr_tensor(&x.g, "top"));
    gpuc_stage *s = stage(&x, "s");
    gpuc_stage *const readers[] = {s, x.c};
    gpuc_tensor *e2 = gpuc_cache_read(x.s, expr_tensor(&x.g, "e"), "local", 2, readers);
    assert_ptr_equal(gpuc_stage_tensor(gpuc_schedule_stage(x.s, e2), 0)->op->inputs[0], e_now);
}

static void reindex_read_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "conv2d_strided", &x);
    gpuc_stage *c = x.c;
    gpuc_tensor *const *in = gpuc_stage_tensor(c, 0)->op->inputs, *data = in[0], *weight = in[1];
    gpuc_stage *window = gpuc_schedule_stage(x.s, gpuc_reindex_read(x.s, data, "local", c));
    expect_stage(&x, window, "pad.local: in local  for y < 8  for x < 8  for rc < 2  for ry < 3  for rx < 3");
    gpuc_tensor *w = gpuc_reindex_read(x.s, weight, "warp", c);
    expect_stage(&x, gpuc_schedule_stage(x.s, w),
                 "W.warp: in warp  for f < 5  for rc < 2  for ry < 3  for rx < 3");
    assert_ptr_equal(gpuc_stage_tensor(c, 0)->op->inputs[1], w);
    assert_int_equal(gpuc_stage_num_reduce(c), 3);
}

static void cache_write_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "matmul_prime", &x);
    gpuc_stage *l = gpuc_schedule_stage(x.s, gpuc_cache_write(x.s, expr_tensor(&x.g, "C"), "local"));
    expect_stage(&x, l, "C.local: in local  for i.c < 17  for j.c < 19  reduce k < 13");
    expect_stage(&x, x.c, "C: output  for i < 17  for j < 19");
    assert_ptr_equal(gpuc_stage_axis(x.c, 0), x.i);
    assert_ptr_equal(gpuc_stage_reduce_axis(l, 0), x.k);
    gpuc_stage *l2 = gpuc_schedule_stage(x.s, gpuc_cache_write(x.s, gpuc_stage_tensor(l, 0), "global"));
    expect_stage(&x, l2, "C.local.global: in global  for i.c.c < 17  for j.c.c < 19  reduce k < 13");
}

static void rfactor_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "sum_two_axes", &x);
    gpuc_iter *o, *n, *io;
    gpuc_stage_split(x.c, x.k, 4, &o, &n);
    gpuc_stage_split(x.c, x.i, 2, &io, NULL);
    gpuc_stage_parallel(x.c, io);
    gpuc_stage *rf = gpuc_schedule_stage(x.s, gpuc_rfactor(x.s, expr_tensor(&x.g, "C"), n));
    expect_stage(&x, rf, "C.rf:  for r0.inner < 4  for i < 13  reduce r1 < 8  reduce r0.outer < 2");
    expect_stage(&x, x.c, "C: output  for i.outer < 7 parallel  for i.inner < 2  reduce r0.inner.v < 4");
    assert_ptr_equal(gpuc_stage_reduce_axis(rf, 0),
                     gpuc_as_reduce(expr_tensor(&x.g, "C")->op->bodies[0])->axes[1]);
}

static void test_effects(void **state)
{
    (void)state;
    run_ok(split_body, NULL);
    run_ok(fuse_body, NULL);
    run_ok(reorder_body, NULL);
    run_ok(tile_body, NULL);
    run_ok(attach_body, NULL);
    run_ok(non_temporal_body, NULL);
    run_ok(cache_read_body, NULL);
    run_ok(reindex_read_body, NULL);
    run_ok(cache_write_body, NULL);
    run_ok(rfactor_body, NULL);
}

/* ---- What is refused ------------------------------------------------------------------------------ */

typedef struct refusal {
    const char *expr;
    void (*prepare)(sched *x); /* may be NULL */
    void (*attempt)(sched *x);
    const char *words; /* of the message, separated by '|' */
} refusal;

static gpuc_iter *outer_of(gpuc_stage *st, gpuc_iter *i)
{
    gpuc_iter *o;
    gpuc_stage_split(st, i, 4, &o, NULL);
    return o;
}

static void split_i(sched *x)
{
    outer_of(x->c, x->i);
}

static void split_zero(sched *x)
{
    gpuc_stage_split(x->c, x->i, 0, NULL, NULL);
}

static void split_negative_parts(sched *x)
{
    gpuc_stage_split_nparts(x->c, x->i, -2, NULL, NULL);
}

static void split_foreign(sched *x)
{
    gpuc_stage_split(x->c, gpuc_stage_axis(stage(x, "T"), 0), 2, NULL, NULL);
}

static void split_placeholder(sched *x)
{
    gpuc_stage_split(stage(x, "A"), x->i, 2, NULL, NULL);
}

static void bind_i(sched *x)
{
    gpuc_stage_bind(x->c, x->i, "threadIdx.x");
}

static void bind_j(sched *x)
{
    gpuc_stage_bind(x->c, x->j, "threadIdx.x");
}

static void bind_nothing(sched *x)
{
    gpuc_stage_bind(x->c, x->i, "threadIdx.w");
}

static void bind_k_block(sched *x)
{
    gpuc_stage_bind(x->c, x->k, "blockIdx.x");
}

static void bind_k_vthread(sched *x)
{
    gpuc_stage_bind(x->c, x->k, "vthread");
}

static void fuse_apart(sched *x)
{
    gpuc_stage_fuse(x->c, x->i, x->k);
}

static void fuse_backwards(sched *x)
{
    gpuc_stage_fuse(x->c, x->j, x->i);
}

static void fuse_mixed(sched *x)
{
    gpuc_stage_fuse(x->c, x->j, x->k);
}

static void reorder_twice(sched *x)
{
    gpuc_stage_reorder(x->c, 3, ITERS(x->i, x->j, x->i));
}

static void tile_same(sched *x)
{
    gpuc_stage_tile(x->c, x->i, x->i, 2, 2, NULL, NULL, NULL, NULL);
}

static void tile_zero(sched *x)
{
    gpuc_stage_tile(x->c, x->i, x->j, 2, 0, NULL, NULL, NULL, NULL);
}

static void vectorize_k(sched *x)
{
    gpuc_stage_vectorize(x->c, x->k);
}

static void parallel_k(sched *x)
{
    gpuc_stage_parallel(x->c, x->k);
}

static void vectorize_i(sched *x)
{
    gpuc_stage_vectorize(x->c, x->i);
}

static void pragma_nameless(sched *x)
{
    gpuc_stage_pragma(x->c, x->i, "", 1);
}

static void pragma_unknown(sched *x)
{
    gpuc_stage_pragma(x->c, x->i, "vectorize_hint", 1);
}

static void at_itself(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_stage_compute_at(t, t, gpuc_stage_axis(t, 0));
}

static void output_at(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_stage_compute_at(x->c, t, gpuc_stage_axis(t, 0));
}

static void placeholder_at(sched *x)
{
    gpuc_stage_compute_at(stage(x, "A"), x->c, x->i);
}

static void at_non_reader(sched *x)
{
    gpuc_stage *top = stage(x, "top"), *s = stage(x, "s");
    gpuc_stage_compute_at(s, top, gpuc_stage_axis(top, 0));
}

static void t_at_i(sched *x)
{
    gpuc_stage_compute_at(stage(x, "T"), x->c, x->i);
}

static void inline_t(sched *x)
{
    gpuc_stage_compute_inline(stage(x, "T"));
}

static void inline_output(sched *x)
{
    gpuc_stage_compute_inline(x->c);
}

static void inline_placeholder(sched *x)
{
    gpuc_stage_compute_inline(stage(x, "A"));
}

static void inline_sum(sched *x)
{
    gpuc_stage_compute_inline(stage(x, "s"));
}

static void a_at_t(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_tensor *a = gpuc_cache_read(x->s, expr_tensor(&x->g, "A"), "local", 1, &t);
    gpuc_stage_compute_at(gpuc_schedule_stage(x->s, a), t, gpuc_stage_axis(t, 0));
}

static void at_inlined(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_tensor *a = gpuc_cache_read(x->s, expr_tensor(&x->g, "A"), "local", 1, &t);
    gpuc_stage_compute_inline(t);
    gpuc_stage_compute_at(gpuc_schedule_stage(x->s, a), t, gpuc_stage_axis(t, 0));
}

static void scope_unknown(sched *x)
{
    gpuc_stage_set_scope(stage(x, "T"), "register");
}

static void scope_output(sched *x)
{
    gpuc_stage_set_scope(x->c, "shared");
}

static void align_axis(sched *x)
{
    gpuc_stage_storage_align(stage(x, "T"), 1, 8, 0);
}

static void layout_axis(sched *x)
{
    gpuc_stage_transform_layout(stage(x, "T"), "AB");
}

static void layout_missing(sched *x)
{
    gpuc_stage_transform_layout(stage(x, "T"), "4a");
}

static void layout_twice(sched *x)
{
    gpuc_stage_transform_layout(stage(x, "T"), "A4a8a");
}

static void layout_factor(sched *x)
{
    gpuc_stage_transform_layout(stage(x, "T"), "A0a");
}

static void layout_output(sched *x)
{
    gpuc_stage_transform_layout(x->c, "A");
}

static void align_offset(sched *x)
{
    gpuc_stage_storage_align(stage(x, "T"), 0, 8, 8);
}

static void align_output(sched *x)
{
    gpuc_stage_storage_align(x->c, 0, 8, 0);
}

static void double_buffer_input(sched *x)
{
    gpuc_stage_double_buffer(stage(x, "A"));
}

static void non_temporal_input(sched *x)
{
    gpuc_stage_non_temporal(stage(x, "A"));
}

static void non_temporal_sum(sched *x)
{
    gpuc_stage_non_temporal(x->c);
}

static void cache_read_nobody(sched *x)
{
    gpuc_cache_read(x->s, expr_tensor(&x->g, "A"), "shared", 0, NULL);
}

static void cache_read_stranger(sched *x)
{
    gpuc_cache_read(x->s, expr_tensor(&x->g, "A"), "shared", 1, &x->c);
}

static void cache_read_scope(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_cache_read(x->s, expr_tensor(&x->g, "A"), "cache", 1, &t);
}

static void reindex_read_stranger(sched *x)
{
    gpuc_reindex_read(x->s, expr_tensor(&x->g, "A"), "shared", x->c);
}

static void reindex_read_several(sched *x)
{
    gpuc_reindex_read(x->s, expr_tensor(&x->g, "A"), "shared", stage(x, "T"));
}

static void cache_write_input(sched *x)
{
    gpuc_cache_write(x->s, expr_tensor(&x->g, "A"), "local");
}

static void cache_write_c(sched *x)
{
    gpuc_cache_write(x->s, expr_tensor(&x->g, "C"), "local");
}

static void swap_ij(sched *x)
{
    gpuc_stage_reorder(x->c, 2, ITERS(x->j, x->i));
}

static void rfactor_data(sched *x)
{
    gpuc_rfactor(x->s, expr_tensor(&x->g, "C"), x->i);
}

static void rfactor_plain(sched *x)
{
    gpuc_rfactor(x->s, expr_tensor(&x->g, "C"), x->i);
}

static void rfactor_k(sched *x)
{
    gpuc_rfactor(x->s, expr_tensor(&x->g, "C"), x->k);
}

static void unroll_k(sched *x)
{
    gpuc_stage_unroll(x->c, x->k);
}

static void a_at_k(sched *x)
{
    gpuc_tensor *a = gpuc_cache_read(x->s, expr_tensor(&x->g, "A"), "local", 1, &x->c);
    gpuc_stage_compute_at(gpuc_schedule_stage(x->s, a), x->c, x->k);
}

static void bad_leaf(sched *x)
{
    gpuc_stage_leaf(x->c, 7);
}

static void bad_axis(sched *x)
{
    gpuc_stage_reduce_axis(x->c, -1);
}

/* ---- What is missing ---- */

static void split_null(sched *x)
{
    gpuc_stage_split(x->c, NULL, 2, NULL, NULL);
}

static void split_huge(sched *x)
{
    gpuc_stage_split(x->c, x->i, INT64_MAX, NULL, NULL);
}

static void align_huge(sched *x)
{
    gpuc_stage_align_bounds(stage(x, "T"), 0, INT64_MAX);
}

static void fuse_null(sched *x)
{
    gpuc_stage_fuse(x->c, x->i, NULL);
}

static void reorder_null(sched *x)
{
    gpuc_stage_reorder(x->c, 2, NULL);
}

static void tile_null(sched *x)
{
    gpuc_stage_tile(x->c, NULL, NULL, 2, 2, NULL, NULL, NULL, NULL);
}

static void overlap_null(sched *x)
{
    gpuc_stage_overlap(x->c, NULL);
}

static void bind_null(sched *x)
{
    gpuc_stage_bind(x->c, x->i, NULL);
}

static void at_null_stage(sched *x)
{
    gpuc_stage_compute_at(stage(x, "T"), NULL, x->i);
}

static void at_null_loop(sched *x)
{
    gpuc_stage_compute_at(stage(x, "T"), x->c, NULL);
}

static void scope_null(sched *x)
{
    gpuc_stage_set_scope(stage(x, "T"), NULL);
}

static void require_unnamed(sched *x)
{
    gpuc_stage_require_scope(stage(x, "T"));
}

static void layout_null(sched *x)
{
    gpuc_stage_transform_layout(stage(x, "T"), NULL);
}

static void tensorize_null(sched *x)
{
    gpuc_stage_tensorize(x->c, x->i, NULL);
}

static void cache_read_null(sched *x)
{
    gpuc_cache_read(x->s, x->g.args[0], "local", 1, NULL);
}

static void cache_read_null_scope(sched *x)
{
    gpuc_cache_read(x->s, x->g.args[0], NULL, 1, &x->c);
}

static void reindex_null(sched *x)
{
    gpuc_reindex_read(x->s, x->g.args[0], "local", NULL);
}

static void rfactor_null(sched *x)
{
    gpuc_rfactor(x->s, NULL, x->i);
}

static void rfactor_null_loop(sched *x)
{
    gpuc_rfactor(x->s, x->g.args[x->g.num_args - 1], NULL);
}

static void stage_of_null(sched *x)
{
    gpuc_schedule_stage(x->s, NULL);
}

static void lower_null(sched *x)
{
    gpuc_schedule_lower(x->s, "f", 2, NULL);
}

static void output_twice(sched *x)
{
    gpuc_tensor *c = x->g.args[x->g.num_args - 1], *outputs[] = {c, c};
    gpuc_schedule_create(x->g.ctx, 2, outputs);
}

static void intrin_null(sched *x)
{
    gpuc_tensor_intrin_find(x->g.ctx, NULL);
}

static const refusal refusals[] = {
    {"matmul_prime", NULL, split_null, "stage 'C'|split: the loop is NULL"},
    {"matmul_prime", NULL, split_huge, "split: 9223372036854775807 is too much; it must be less than 2^31"},
    {"bias_relu", NULL, align_huge, "align_bounds: 9223372036854775807 is too much"},
    {"matmul_prime", NULL, fuse_null, "fuse: the loop is NULL"},
    {"matmul_prime", NULL, reorder_null, "reorder: the list of loops is NULL"},
    {"matmul_prime", NULL, tile_null, "tile: the loop is NULL"},
    {"matmul_prime", NULL, overlap_null, "overlap: the loop is NULL"},
    {"matmul_prime", NULL, bind_null, "bind: the thread axis is NULL"},
    {"bias_relu", NULL, at_null_stage,
     "stage 'T'|compute_at: the stage whose loop it is computed in is NULL"},
    {"bias_relu", NULL, at_null_loop, "compute_at: the loop is NULL"},
    {"bias_relu", NULL, scope_null, "set_scope: the scope is NULL"},
    {"bias_relu", NULL, require_unnamed, "stage 'T'|require_scope: it has no scope"},
    {"bias_relu", NULL, layout_null, "transform_layout: the layout is NULL"},
    {"matmul_prime", NULL, tensorize_null, "tensorize: the intrinsic is NULL"},
    {"bias_relu", NULL, cache_read_null, "cache_read: the list of readers is NULL"},
    {"bias_relu", NULL, cache_read_null_scope, "cache_read: the scope is NULL"},
    {"bias_relu", NULL, reindex_null, "reindex_read: the reader is NULL"},
    {"matmul_prime", NULL, rfactor_null, "the tensor is NULL"},
    {"matmul_prime", NULL, rfactor_null_loop, "rfactor: the loop is NULL"},
    {"matmul_prime", NULL, stage_of_null, "gpuc_schedule_stage: the tensor is NULL"},
    {"matmul_prime", NULL, lower_null, "the list of arguments is NULL"},
    {"matmul_prime", NULL, output_twice, "output 'C' is twice"},
    {"matmul_prime", NULL, intrin_null, "the name is NULL"},
    {"matmul_prime", NULL, split_zero, "stage 'C'|split|'i'|factor 0|at least 1"},
    {"matmul_prime", NULL, split_negative_parts, "stage 'C'|number of parts -2"},
    {"matmul_prime", split_i, split_i, "'i' has been split|i.outer, i.inner, j, k"},
    {"bias_relu", NULL, split_foreign, "'i' is not a loop of this stage|i, j"},
    {"bias_relu", NULL, split_placeholder, "stage 'A'|a placeholder has no loops"},
    {"matmul_prime", bind_i, split_i, "'i' is bound to threadIdx.x|before binding"},
    {"matmul_prime", vectorize_i, split_i, "'i' is annotated"},
    {"matmul_prime", bind_i, bind_i, "bound to threadIdx.x"},
    {"matmul_prime", bind_i, bind_j, "'i' is bound to threadIdx.x already|fuse"},
    {"matmul_prime", NULL, bind_nothing, "no thread axis 'threadIdx.w'"},
    {"matmul_prime", NULL, bind_k_block, "'k' is reduced over|not to blockIdx.x"},
    {"matmul_prime", NULL, bind_k_vthread, "'k' is reduced over|not to vthread"},
    {"matmul_prime", NULL, fuse_apart, "'k' is not the loop directly inside of 'i'|reorder"},
    {"matmul_prime", NULL, fuse_backwards, "'i' is not the loop directly inside of 'j'"},
    {"matmul_prime", NULL, fuse_mixed, "'j' and 'k'|one is reduced over"},
    {"matmul_prime", NULL, reorder_twice, "'i' is named twice"},
    {"matmul_prime", NULL, tile_same, "tile|'i' is named twice"},
    {"matmul_prime", NULL, tile_zero, "tile: factors 2 and 0"},
    {"matmul_prime", NULL, vectorize_k, "vectorize|'k' is reduced over|rfactor"},
    {"matmul_prime", NULL, parallel_k, "parallel|'k' is reduced over"},
    {"matmul_prime", bind_i, vectorize_i, "'i' is bound to a thread already"},
    {"matmul_prime", NULL, pragma_nameless, "pragma without a name"},
    {"matmul_prime", NULL, pragma_unknown,
     "stage 'C': pragma: 'i' gets the pragma 'vectorize_hint'|no effect"},
    {"bias_relu", NULL, at_itself, "stage 'T'|its own loop"},
    {"bias_relu", NULL, output_at, "stage 'C'|is an output|cache_write"},
    {"bias_relu", NULL, placeholder_at, "stage 'A'|placeholder|cache_read"},
    {"softmax", NULL, at_non_reader, "stage 's'|stage 'top' does not read it"},
    {"bias_relu", NULL, at_inlined, "stage 'T' is inlined"},
    {"bias_relu", a_at_t, inline_t, "stage 'T'|stage 'A.local' is computed in one of its loops"},
    {"bias_relu", NULL, inline_output, "is an output"},
    {"bias_relu", NULL, inline_placeholder, "is a placeholder"},
    {"softmax", NULL, inline_sum, "a reduction cannot be inlined"},
    {"bias_relu", NULL, scope_unknown, "no storage scope 'register'"},
    {"bias_relu", NULL, scope_output, "parameter of the function|shared|cache_write"},
    {"stencils", NULL, align_axis, "no axis 1; it has 1"},
    {"stencils", NULL, align_offset, "factor 8, offset 8"},
    {"stencils", NULL, layout_axis, "layout 'AB': no axis 'B'"},
    {"stencils", NULL, layout_missing, "layout '4a': no axis 'A'"},
    {"stencils", NULL, layout_twice, "layout 'A4a8a': twice 'a'"},
    {"stencils", NULL, layout_factor, "layout 'A0a': a bad factor of 'a'"},
    {"stencils", NULL, layout_output, "transform_layout: it is an output"},
    {"stencils", NULL, align_output, "is an output"},
    {"stencils", NULL, double_buffer_input, "is a placeholder"},
    {"bias_relu", NULL, non_temporal_input, "non_temporal: it is a placeholder"},
    {"matmul_prime", NULL, non_temporal_sum, "non_temporal: a reduction updates its result; cache_write"},
    {"bias_relu", NULL, cache_read_nobody, "no readers"},
    {"bias_relu", NULL, cache_read_stranger, "stage 'A'|stage 'C' does not read it"},
    {"bias_relu", NULL, cache_read_scope, "no storage scope 'cache'"},
    {"bias_relu", NULL, reindex_read_stranger, "reindex_read: stage 'C' does not read it"},
    {"stencils", NULL, reindex_read_several, "reindex_read: stage 'T' reads it at several indices"},
    {"bias_relu", NULL, cache_write_input, "nothing writes a placeholder"},
    {"matmul_prime", split_i, cache_write_c, "loops have been changed already"},
    {"matmul_prime", swap_ij, cache_write_c, "loops have been changed already"},
    {"matmul_prime", vectorize_i, cache_write_c, "loops have been changed already"},
    {"bias_relu", t_at_i, cache_write_c, "stage 'T' is computed in one of its loops"},
    {"matmul_prime", NULL, rfactor_data, "'i' is not reduced over"},
    {"bias_relu", NULL, rfactor_plain, "not a reduction"},
    {"matmul_prime", unroll_k, rfactor_k, "'k' is bound or annotated"},
    {"matmul_prime", a_at_k, rfactor_k, "stage 'A.local' is computed in one of its reduction loops"},
    {"matmul_prime", NULL, bad_leaf, "no loop 7; it has 3"},
    {"matmul_prime", NULL, bad_axis, "no reduce axis -1; it has 1"},
};

typedef struct attempt {
    const refusal *r;
    sched *x;
} attempt;

static void attempt_body(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    attempt *a = arg;
    a->r->attempt(a->x);
}

/* Two of the attempts make a stage before the call that is refused. */
static bool makes_stage_first(const refusal *r)
{
    return r->attempt == at_inlined;
}

static void refusal_body(gpuc_ctx *ctx, void *arg)
{
    sched x;
    attempt a = {.r = arg, .x = &x};
    make(ctx, a.r->expr, &x);
    if (a.r->prepare) a.r->prepare(&x);
    const char *before = gpuc_schedule_text(x.s);
    expect_error(ctx, a.r->words, attempt_body, &a);
    if (!makes_stage_first(a.r)) assert_string_equal(gpuc_schedule_text(x.s), before);
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        run_ok(refusal_body, (void *)&refusals[i]);
}

/* ---- What lowering refuses ------------------------------------------------------------------------- */

static void lower(sched *x)
{
    gpuc_schedule_lower(x->s, "f", x->g.num_args, x->g.args);
}

static void missing_output(sched *x)
{
    gpuc_schedule_lower(x->s, "f", x->g.num_args - 1, x->g.args);
}

static void missing_input(sched *x)
{
    gpuc_schedule_lower(x->s, "f", x->g.num_args - 1, x->g.args + 1);
}

static void top_at_s(sched *x)
{
    gpuc_stage *s = stage(x, "s");
    gpuc_stage_compute_at(stage(x, "top"), s, gpuc_stage_axis(s, 0));
}

static void symbolic_vector(sched *x)
{
    gpuc_stage_vectorize(x->c, x->i);
}

static void local_over_threads(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, x->i, 4, &o, &n);
    gpuc_stage_bind(x->c, n, "threadIdx.x");
    gpuc_stage_compute_at(t, x->c, n);
    gpuc_stage_bind(t, gpuc_stage_axis(t, 0), "threadIdx.x");
}

static void shared_at_root(sched *x)
{
    gpuc_stage_set_scope(stage(x, "T"), "shared");
    gpuc_stage_bind(x->c, x->i, "threadIdx.x");
}

/* Groups would read each other's parts of T. */
static void blocks_in_a_serial_loop(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, x->i, 4, &o, &n);
    gpuc_stage_compute_at(t, x->c, o);
    gpuc_stage_bind(t, gpuc_stage_axis(t, 0), "blockIdx.x");
}

static void blocks_after_a_serial_loop(sched *x)
{
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, x->i, 4, &o, &n);
    gpuc_stage_compute_at(stage(x, "T"), x->c, o);
    gpuc_stage_bind(x->c, n, "blockIdx.x");
}

/* All stages after it are in its kernel, those that do not read it too. */
static void local_at_root(sched *x)
{
    gpuc_stage_set_scope(stage(x, "top"), "local");
    gpuc_stage_bind(x->c, x->i, "blockIdx.x");
}

static void global_in_block(sched *x)
{
    gpuc_stage_bind(x->c, x->i, "blockIdx.x");
    gpuc_stage_set_scope(stage(x, "T"), "global");
    gpuc_stage_compute_at(stage(x, "T"), x->c, x->i);
}

static void too_many_threads(sched *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, x->i, 4, &o, &n);
    gpuc_stage_bind(x->c, n, "threadIdx.x");
    gpuc_stage_compute_at(t, x->c, n);
    gpuc_stage_set_scope(t, "shared");
    gpuc_stage_bind(t, gpuc_stage_axis(t, 0), "threadIdx.x");
}

static void different_rows(sched *x)
{
    gpuc_stage *s = stage(x, "s");
    gpuc_stage_bind(x->c, x->i, "threadIdx.x");
    gpuc_stage_compute_at(s, x->c, x->i);
    gpuc_iter *n;
    gpuc_stage_split(s, gpuc_stage_reduce_axis(s, 0), 6, NULL, &n);
    gpuc_stage_bind(s, n, "threadIdx.x");
}

/* Each thread has its own part of rows, so their number differs. */
static void shared_in_uneven_loops(sched *x)
{
    gpuc_stage *own = gpuc_schedule_stage(x->s, gpuc_cache_write(x->s, expr_tensor(&x->g, "C"), "local"));
    gpuc_stage *s = stage(x, "s");
    gpuc_iter *o, *t, *i;
    gpuc_stage_split(x->c, gpuc_stage_fuse(x->c, x->i, x->j), 64, &o, &i);
    gpuc_stage_split(x->c, i, 8, &t, &i);
    gpuc_stage_bind(x->c, t, "threadIdx.x");
    gpuc_stage_compute_at(own, x->c, t);
    gpuc_stage_compute_at(s, own, gpuc_stage_axis(own, 0));
    gpuc_stage_set_scope(s, "shared");
}

static void reduced_to_rows(sched *x)
{
    gpuc_stage *own = gpuc_schedule_stage(x->s, gpuc_cache_write(x->s, expr_tensor(&x->g, "C"), "warp"));
    gpuc_stage_bind(x->c, x->i, "threadIdx.x");
    gpuc_stage_compute_at(own, x->c, x->i);
    gpuc_stage_bind(own, gpuc_stage_reduce_axis(own, 0), "threadIdx.y");
}

static void inlined_argument_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "bias_relu", &x);
    gpuc_tensor *t = expr_tensor(&x.g, "T"), *args[4] = {x.g.args[0], x.g.args[1], t, x.g.args[2]};
    gpuc_stage_compute_inline(stage(&x, "T"));
    gpuc_schedule_lower(x.s, "f", 4, args);
}

static const refusal lowering_refusals[] = {
    {"matmul_prime", NULL, missing_output, "stage 'C'|not among the arguments"},
    {"matmul_prime", NULL, missing_input, "placeholder 'A' is read but is not among the arguments"},
    {"softmax", top_at_s, lower, "stage 'top'|loop 'p' of stage 's'|stage 'e' reads it outside"},
    {"add_symbolic", symbolic_vector, lower, "stage 'C'|'i' cannot be vectorized|n is not a constant"},
    {"stencils", local_over_threads, lower, "stage 'T'|bound to threadIdx.x|storage of scope local"},
    {"stencils", shared_at_root, lower,
     "stage 'T'|scope shared|at root|outside of the threadIdx.x loop of stage 'C'"},
    {"stencils", blocks_in_a_serial_loop, lower,
     "stage 'T'|at loop 'j.outer' of stage 'C'|'i' of stage 'T'|bound to blockIdx.x|compute it at root"},
    {"stencils", blocks_after_a_serial_loop, lower,
     "stage 'T'|at loop 'j.outer' of stage 'C'|'j.inner' of stage 'C'|bound to blockIdx.x"},
    {"softmax", local_at_root, lower,
     "stage 'top'|scope local|at root|stage 'C', which comes after it|blockIdx.x"},
    {"stencils", global_in_block, lower, "stage 'T'|inside of a kernel|scope global"},
    {"stencils", too_many_threads, lower, "stage 'T'|extent 6|extent 4"},
    {"softmax_symbolic", shared_in_uneven_loops, lower, "stage 's'|together|loop 'y.c'|differs between them"},
    {"matmul_prime", reduced_to_rows, lower, "stage 'C.warp'|'k'|threadIdx.y|scope warp|local or shared"},
    {"softmax", different_rows, lower, "stage 's'|'q.inner' is reduced over threadIdx.x|another part"},
};

static void test_lowering_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lowering_refusals / sizeof lowering_refusals[0]; i++)
        run_ok(refusal_body, (void *)&lowering_refusals[i]);
    run_error("stage 'T'|argument of the function|inlined", inlined_argument_body, NULL);
}

static void unread_argument_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sched x;
    make(ctx, "stencils", &x);
    gpuc_expr extent = gpuc_int(ctx, 7);
    gpuc_tensor *args[3] = {x.g.args[0], gpuc_te_placeholder(ctx, "U", 1, &extent, GPUC_FLOAT16), x.g.args[1]};
    const gpuc_tir_func *f = gpuc_schedule_lower(x.s, "f", 3, args);
    assert_int_equal(f->num_buffers, 3);
    assert_string_equal(f->buffers[1]->name, "U");
}

/* A function may have a parameter that it does not read. */
static void test_unread_argument(void **state)
{
    (void)state;
    run_ok(unread_argument_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_unread_argument),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_lowering_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
