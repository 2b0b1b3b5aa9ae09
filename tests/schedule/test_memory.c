/* SPDX-License-Identifier: Apache-2.0 */
/* A primitive that runs out of memory leaves the schedule as it was, wherever in the primitive that happens. */
#include "../base/test_heap.h"

#include "base/ctx.h"
#include "exprs.h"
#include "tir/tir.h"

typedef struct sched {
    expr_graph g;
    gpuc_schedule *s;
    gpuc_stage *c, *l, *a; /* C, its write cache, the read cache of A */
    gpuc_iter *i, *j, *k, *xo, *yo, *xi, *yi, *ko, *ki;
} sched;

static void create(sched *x)
{
    x->s = gpuc_schedule_create(x->g.ctx, 1, &x->g.args[2]);
    x->c = gpuc_schedule_stage(x->s, x->g.args[2]);
    x->i = gpuc_stage_axis(x->c, 0);
    x->j = gpuc_stage_axis(x->c, 1);
    x->k = gpuc_stage_reduce_axis(x->c, 0);
}

static void cache_write(sched *x)
{
    x->l = gpuc_schedule_stage(x->s, gpuc_cache_write(x->s, x->g.args[2], "local"));
}

static void cache_read(sched *x)
{
    x->a = gpuc_schedule_stage(x->s, gpuc_cache_read(x->s, x->g.args[0], "shared", 1, &x->l));
}

static void tile(sched *x)
{
    gpuc_stage_tile(x->c, x->i, x->j, 4, 8, &x->xo, &x->yo, &x->xi, &x->yi);
}

static void split(sched *x)
{
    gpuc_stage_split(x->l ? x->l : x->c, x->k, 4, &x->ko, &x->ki);
}

static void bind(sched *x)
{
    gpuc_stage_bind(x->c, x->xo, "blockIdx.x");
}

static void vectorize(sched *x)
{
    gpuc_stage_vectorize(x->c, x->yi);
}

static void pragma(sched *x)
{
    gpuc_stage_pragma(x->c, x->xi, "auto_unroll_max_step", 2);
}

static void attach(sched *x)
{
    gpuc_stage_compute_at(x->l, x->c, x->yo);
}

static void attach_deeper(sched *x)
{
    gpuc_stage_compute_at(x->a, x->l, x->ko);
}

static void fuse(sched *x)
{
    gpuc_stage_fuse(x->a, gpuc_stage_axis(x->a, 0), gpuc_stage_axis(x->a, 1));
}

static void reorder(sched *x)
{
    gpuc_stage_reorder(x->l, 2, ITERS(x->ko, gpuc_stage_axis(x->l, 0)));
}

static void align(sched *x)
{
    gpuc_stage_storage_align(x->a, 0, 8, 1);
}

static void rfactor(sched *x)
{
    gpuc_rfactor(x->s, gpuc_stage_tensor(x->c, 0), x->ki);
}

static void lower(sched *x)
{
    gpuc_tir_func *f = gpuc_schedule_lower(x->s, "f", x->g.num_args, x->g.args);
    gpuc_tir_validate(x->g.ctx, f, "schedule");
}

typedef void step_fn(sched *x);

static step_fn *const tiled[] = {create, cache_write, cache_read,    tile, split,   bind,  vectorize,
                                 pragma, attach,      attach_deeper, fuse, reorder, align, lower};
static step_fn *const factored[] = {create, split, rfactor, tile, lower};

typedef struct job {
    step_fn *step;
    sched *x;
    int chunks;
    const char *text;
} job;

static void build_body(gpuc_ctx *ctx, void *arg)
{
    expr_build(expr_find("matmul_prime"), ctx, &((job *)arg)->x->g);
}

static void step_body(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    job *j = arg;
    j->step(j->x);
}

static void text_body(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    job *j = arg;
    j->text = j->x->s ? gpuc_schedule_text(j->x->s) : "";
}

static void fill_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    for (;; j->chunks++) gpuc_ctx_alloc(ctx, 16);
}

static void fill_some_body(gpuc_ctx *ctx, void *arg)
{
    for (int i = 0; i < ((job *)arg)->chunks; i++) gpuc_ctx_alloc(ctx, 16);
}

static void expect_out_of_memory(gpuc_status status)
{
    assert_non_null(status);
    assert_int_equal(gpuc_status_code(status), GPUC_OUT_OF_MEMORY);
    gpuc_status_release(status);
}

/* Runs a step with room for 0, 1, 2, ... chunks of memory until it succeeds, or until the arena's block is
 * all free and it gets another one. */
static int run_step(gpuc_ctx *ctx, test_heap *heap, sched *x, step_fn *step)
{
    for (int room = 0;; room++) {
        job j = {.step = step, .x = x};
        expect_success(gpuc_ctx_protect(ctx, text_body, &j));
        const char *before = j.text;
        gpuc_arena_mark mark = gpuc_arena_save(&ctx->arena);
        heap->fail_at = heap->calls + 1;
        expect_out_of_memory(gpuc_ctx_protect(ctx, fill_body, &j));
        gpuc_arena_restore(&ctx->arena, mark);
        heap->fail_at = 0;
        j.chunks -= room;
        if (j.chunks > 0) {
            expect_success(gpuc_ctx_protect(ctx, fill_some_body, &j));
            heap->fail_at = heap->calls + 1;
        }
        gpuc_status status = gpuc_ctx_protect(ctx, step_body, &j);
        heap->fail_at = 0;
        if (!status) return room;
        expect_out_of_memory(status);
        expect_success(gpuc_ctx_protect(ctx, text_body, &j));
        assert_string_equal(j.text, before);
    }
}

static void run_steps(size_t n, step_fn *const *steps)
{
    test_heap heap = {0};
    gpuc_allocator allocator = test_heap_allocator(&heap);
    gpuc_ctx *ctx;
    expect_success(gpuc_ctx_create(&allocator, &ctx));
    sched x = {0};
    job j = {.x = &x};
    expect_success(gpuc_ctx_protect(ctx, build_body, &j));
    int failures = 0;
    for (size_t i = 0; i < n; i++) failures += run_step(ctx, &heap, &x, steps[i]);
    assert_true(failures > 100);
    gpuc_ctx_destroy(ctx);
    assert_int_equal(heap.live, 0);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    run_steps(sizeof tiled / sizeof tiled[0], tiled);
    run_steps(sizeof factored / sizeof factored[0], factored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
