/* SPDX-License-Identifier: Apache-2.0 */
/* Loop IR as a person would write it. */
#include "fixture.h"

#include <string.h>

#include "tir/tir.h"

static gpuc_schedule *make(gpuc_ctx *ctx, const char *expr, expr_graph *g)
{
    expr_build(expr_find(expr), ctx, g);
    return gpuc_schedule_create(ctx, g->num_outputs, &g->args[g->num_args - g->num_outputs]);
}

static void expect(const expr_graph *g, gpuc_schedule *s, const char *name, const char *want)
{
    gpuc_tir_func *f = gpuc_schedule_lower(s, name, g->num_args, g->args);
    gpuc_tir_validate(g->ctx, f, "schedule");
    expect_text(gpuc_tir_text(g->ctx, f), want);
}

static void add_64(gpuc_ctx *ctx, void *arg)
{
    const char *const *expr_and_text = arg;
    expr_graph g;
    gpuc_schedule *s = make(ctx, expr_and_text[0], &g);
    gpuc_stage *c = gpuc_schedule_stage(s, expr_tensor(&g, "C"));
    gpuc_iter *bx, *tx;
    gpuc_stage_split(c, gpuc_stage_axis(c, 0), 64, &bx, &tx);
    gpuc_stage_bind(c, bx, "blockIdx.x");
    gpuc_stage_bind(c, tx, "threadIdx.x");
    expect(&g, s, "add", expr_and_text[1]);
}

static void test_vector_add(void **state)
{
    (void)state;
    const char *symbolic[] = {
        "add_symbolic",
        "func add(A: float32[n] global, B: float32[n] global, C: float32[n] global, n: int64) label \"add\" {"
        "  for bx in 0..(n + 63) // 64 bind blockIdx.x {"
        "    for tx in 0..64 bind threadIdx.x {"
        "      if (bx*64 + tx < n) {"
        "        C[bx*64 + tx] = A[bx*64 + tx] + B[bx*64 + tx]"
        "      }"
        "    }"
        "  }"
        "}"};
    const char *exact[] = {
        "add_power",
        "func add(A: float32[128] global, B: float32[128] global, C: float32[128] global) label \"add\" {"
        "  for bx in 0..2 bind blockIdx.x {"
        "    for tx in 0..64 bind threadIdx.x {"
        "      C[bx*64 + tx] = A[bx*64 + tx] + B[bx*64 + tx]"
        "    }"
        "  }"
        "}"};
    run_ok(add_64, symbolic);
    run_ok(add_64, exact);
}

static void tiled_matmul(gpuc_ctx *ctx, void *arg)
{
    expr_graph g;
    gpuc_schedule *s = make(ctx, "matmul_power", &g);
    gpuc_stage *c = gpuc_schedule_stage(s, expr_tensor(&g, "C"));
    gpuc_stage *l = gpuc_schedule_stage(s, gpuc_cache_write(s, expr_tensor(&g, "C"), "local"));
    gpuc_stage *inputs[2] = {
        gpuc_schedule_stage(s, gpuc_cache_read(s, expr_tensor(&g, "A"), "shared", 1, &l)),
        gpuc_schedule_stage(s, gpuc_cache_read(s, expr_tensor(&g, "B"), "shared", 1, &l)),
    };
    gpuc_iter *by, *bx, *yi, *xi, *ty, *tx, *ko, *ki;
    gpuc_stage_tile(c, gpuc_stage_axis(c, 0), gpuc_stage_axis(c, 1), 8, 8, &by, &bx, &yi, &xi);
    gpuc_stage_split(c, yi, 2, &ty, &yi);
    gpuc_stage_split(c, xi, 2, &tx, &xi);
    gpuc_stage_reorder(c, 4, ITERS(ty, tx, yi, xi));
    gpuc_stage_bind(c, by, "blockIdx.y");
    gpuc_stage_bind(c, bx, "blockIdx.x");
    gpuc_stage_bind(c, ty, "threadIdx.y");
    gpuc_stage_bind(c, tx, "threadIdx.x");
    gpuc_stage_vectorize(c, xi);
    gpuc_stage_compute_at(l, c, tx);
    gpuc_stage_split(l, gpuc_stage_reduce_axis(l, 0), 8, &ko, &ki);
    gpuc_stage_reorder(l, 4, ITERS(ko, ki, gpuc_stage_axis(l, 0), gpuc_stage_axis(l, 1)));
    gpuc_stage_unroll(l, gpuc_stage_axis(l, 0));
    gpuc_stage_vectorize(l, gpuc_stage_axis(l, 1));
    for (int i = 0; i < 2; i++) {
        gpuc_iter *f =
            gpuc_stage_fuse(inputs[i], gpuc_stage_axis(inputs[i], 0), gpuc_stage_axis(inputs[i], 1));
        gpuc_iter *fy, *fx;
        gpuc_stage_compute_at(inputs[i], l, ko);
        gpuc_stage_split(inputs[i], f, 4, &f, &fx);
        gpuc_stage_split(inputs[i], f, 4, NULL, &fy);
        gpuc_stage_bind(inputs[i], fy, "threadIdx.y");
        gpuc_stage_bind(inputs[i], fx, "threadIdx.x");
    }
    gpuc_stage_storage_align(inputs[0], 0, 8, 1);
    expect(&g, s, "matmul", arg);
}

static void test_tiled_matmul(void **state)
{
    (void)state;
    run_ok(tiled_matmul,
           "func matmul(A: float32[16, 32] global, B: float32[32, 16] global, C: float32[16, 16] global)"
           "    label \"matmul\" {"
           "  for by in 0..2 bind blockIdx.y {"
           "    for bx in 0..2 bind blockIdx.x {"
           "      for ty in 0..4 bind threadIdx.y {"
           "        for tx in 0..4 bind threadIdx.x {"
           "          alloc C.local: float32[2, 2] local"
           "          attr reduce_init {"
           "            for i.c in 0..2 unrolled {"
           "              for j.c in 0..2 vectorized {"
           "                C.local[i.c, j.c] = 0.0"
           "              }"
           "            }"
           "          }"
           "          attr reduce_update {"
           "            for k.outer in 0..4 {"
           "              alloc A.shared: float32[8, 8] shared strides(9, 1)"
           "              for ax0.ax1.fused.outer.outer in 0..4 {"
           "                A.shared[ax0.ax1.fused.outer.outer*2 + ty // 2, ty %% 2*4 + tx] ="
           "                  A[by*8 + ax0.ax1.fused.outer.outer*2 + ty // 2, k.outer*8 + ty %% 2*4 + tx]"
           "              }"
           "              alloc B.shared: float32[8, 8] shared"
           "              for ax0.ax1.fused.outer.outer in 0..4 {"
           "                B.shared[ax0.ax1.fused.outer.outer*2 + ty // 2, ty %% 2*4 + tx] ="
           "                  B[k.outer*8 + ax0.ax1.fused.outer.outer*2 + ty // 2, bx*8 + ty %% 2*4 + tx]"
           "              }"
           "              for k.inner in 0..8 {"
           "                for i.c in 0..2 unrolled {"
           "                  for j.c in 0..2 vectorized {"
           "                    C.local[i.c, j.c] = C.local[i.c, j.c] +"
           "                      A.shared[ty*2 + i.c, k.inner]*B.shared[k.inner, tx*2 + j.c]"
           "                  }"
           "                }"
           "              }"
           "            }"
           "          }"
           "          for i.inner.inner in 0..2 {"
           "            for j.inner.inner in 0..2 vectorized {"
           "              C[by*8 + ty*2 + i.inner.inner, bx*8 + tx*2 + j.inner.inner] ="
           "                C.local[i.inner.inner, j.inner.inner]"
           "            }"
           "          }"
           "        }"
           "      }"
           "    }"
           "  }"
           "}");
}

/* A guard stands outside of the loops that it does not depend on. */
static void guarded_rows(gpuc_ctx *ctx, void *arg)
{
    expr_graph g;
    gpuc_schedule *s = make(ctx, "matmul_symbolic", &g);
    gpuc_stage *c = gpuc_schedule_stage(s, expr_tensor(&g, "C"));
    gpuc_iter *bx, *tx, *ko, *ki;
    gpuc_stage_split(c, gpuc_stage_axis(c, 0), 32, &bx, &tx);
    gpuc_stage_split(c, gpuc_stage_reduce_axis(c, 0), 4, &ko, &ki);
    gpuc_stage_reorder(c, 3, ITERS(ko, gpuc_stage_axis(c, 1), ki));
    gpuc_stage_bind(c, bx, "blockIdx.x");
    gpuc_stage_bind(c, tx, "threadIdx.x");
    gpuc_stage_vectorize(c, gpuc_stage_axis(c, 1));
    expect(&g, s, "rows", arg);
}

static void test_guards(void **state)
{
    (void)state;
    run_ok(guarded_rows,
           "func rows(A: float32[n, k] global, B: float32[k, 8] global, C: float32[n, 8] global,"
           "    n: int64, k: int64) label \"rows\" {"
           "  for bx in 0..(n + 31) // 32 bind blockIdx.x {"
           "    for tx in 0..32 bind threadIdx.x {"
           "      if (bx*32 + tx < n) {"
           "        attr reduce_init {"
           "          for j in 0..8 vectorized {"
           "            C[bx*32 + tx, j] = 0.0"
           "          }"
           "        }"
           "        attr reduce_update {"
           "          for k.outer in 0..(k + 3) // 4 {"
           "            for j in 0..8 vectorized {"
           "              for k.inner in 0..4 {"
           "                if (k.outer*4 + k.inner < k) {"
           "                  C[bx*32 + tx, j] = C[bx*32 + tx, j] +"
           "                    A[bx*32 + tx, k.outer*4 + k.inner]*B[k.outer*4 + k.inner, j]"
           "                }"
           "              }"
           "            }"
           "          }"
           "        }"
           "      }"
           "    }"
           "  }"
           "}");
}

static void softmax_rows(gpuc_ctx *ctx, void *arg)
{
    expr_graph g;
    gpuc_schedule *s = make(ctx, "softmax", &g);
    gpuc_stage *c = gpuc_schedule_stage(s, expr_tensor(&g, "C"));
    gpuc_stage *sum = gpuc_schedule_stage(s, expr_tensor(&g, "s")),
               *top = gpuc_schedule_stage(s, expr_tensor(&g, "top"));
    gpuc_stage_compute_inline(gpuc_schedule_stage(s, expr_tensor(&g, "e")));
    gpuc_stage_bind(c, gpuc_stage_axis(c, 0), "blockIdx.x");
    gpuc_stage_bind(c, gpuc_stage_axis(c, 1), "threadIdx.x");
    gpuc_stage *const rows[2] = {top, sum};
    for (int i = 0; i < 2; i++) {
        gpuc_stage_compute_at(rows[i], c, gpuc_stage_axis(c, 0));
        gpuc_stage_bind(rows[i], gpuc_stage_reduce_axis(rows[i], 0), "threadIdx.x");
    }
    expect(&g, s, "softmax", arg);
}

static void test_allreduce(void **state)
{
    (void)state;
    run_ok(softmax_rows,
           "func softmax(A: float32[6, 19] global, C: float32[6, 19] global) label \"softmax\" {"
           "  for bx in 0..6 bind blockIdx.x {"
           "    alloc top: float32[1] shared"
           "    for tx in 0..19 bind threadIdx.x {"
           "      attr allreduce \"threadIdx.x\" with max float32 {"
           "        top[0] = A[bx, tx]"
           "      }"
           "    }"
           "    alloc s: float32[1] shared"
           "    for tx in 0..19 bind threadIdx.x {"
           "      attr allreduce \"threadIdx.x\" with sum float32 {"
           "        s[0] = exp(A[bx, tx] - top[0])"
           "      }"
           "    }"
           "    for tx in 0..19 bind threadIdx.x {"
           "      C[bx, tx] = exp(A[bx, tx] - top[0])/s[0]"
           "    }"
           "  }"
           "}");
}

/* C[i, j] = B[i, j] for 14 of the 16 columns of B = 2 A. */
static void cropped(gpuc_ctx *ctx, void *arg)
{
    expr_graph g = {.ctx = ctx};
    gpuc_iter *axes[2], *crop[2];
    gpuc_expr at[2], in[2], shape[] = {gpuc_int(ctx, 3), gpuc_int(ctx, 16)};
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 2, shape, GPUC_FLOAT32);
    for (int i = 0; i < 2; i++) {
        axes[i] = gpuc_te_axis(ctx, shape[i], i ? "j" : "i");
        crop[i] = gpuc_te_axis(ctx, i ? gpuc_int(ctx, 14) : shape[i], i ? "j" : "i");
        at[i] = gpuc_iter_var(axes[i]);
        in[i] = gpuc_iter_var(crop[i]);
    }
    gpuc_expr twice = gpuc_mul(ctx, gpuc_te_read(ctx, a, 2, at), gpuc_imm(ctx, GPUC_FLOAT32, 2));
    gpuc_tensor *b = gpuc_te_compute(ctx, "B", 2, axes, twice);
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 2, crop, gpuc_te_read(ctx, b, 2, in));
    gpuc_tensor *args[] = {a, c};
    g.num_args = 2;
    memcpy(g.args, args, sizeof args);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage *st = gpuc_schedule_stage(s, b), *out = gpuc_schedule_stage(s, c);
    gpuc_stage_compute_at(st, out, gpuc_stage_axis(out, 0));
    gpuc_stage_align_bounds(st, 1, 8);
    gpuc_stage_align_bounds(st, 0, 2); /* which does not fit the tensor at its end */
    expect(&g, s, "crop", arg);
}

static void test_aligned_bounds(void **state)
{
    (void)state;
    run_ok(cropped, "func crop(A: float32[3, 16] global, C: float32[3, 14] global) label \"crop\" {"
                    "  for i in 0..3 {"
                    "    alloc B: float32[1, 16] global"
                    "    for j in 0..16 {"
                    "      B[0, j] = A[i, j]*2.0"
                    "    }"
                    "    for j in 0..14 {"
                    "      C[i, j] = B[0, j]"
                    "    }"
                    "  }"
                    "}");
}

/* C[i] = B[i], B = 2 A of 14 elements, in tiles of 4; of a copy of A that fills up its blocks. */
static void rounded_up(gpuc_ctx *ctx, const char *want, bool blocks)
{
    expr_graph g = {.ctx = ctx};
    gpuc_expr shape = gpuc_int(ctx, 14), at[2];
    gpuc_iter *axes[2], *outer, *inner;
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &shape, GPUC_FLOAT32);
    for (int i = 0; i < 2; i++) {
        axes[i] = gpuc_te_axis(ctx, shape, "i");
        at[i] = gpuc_iter_var(axes[i]);
    }
    gpuc_expr twice = gpuc_mul(ctx, gpuc_te_read(ctx, a, 1, at), gpuc_imm(ctx, GPUC_FLOAT32, 2));
    gpuc_tensor *b = gpuc_te_compute(ctx, "B", 1, axes, twice);
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, axes + 1, gpuc_te_read(ctx, b, 1, at + 1));
    gpuc_tensor *args[] = {a, c};
    g.num_args = 2;
    memcpy(g.args, args, sizeof args);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage *st = gpuc_schedule_stage(s, b), *out = gpuc_schedule_stage(s, c);
    gpuc_stage_split(out, gpuc_stage_axis(out, 0), 4, &outer, &inner);
    gpuc_stage_compute_at(st, out, outer);
    gpuc_stage_round_up(st);
    if (blocks) {
        gpuc_stage *copy = gpuc_schedule_stage(s, gpuc_cache_read(s, a, "global", 1, &st));
        gpuc_stage_transform_layout(copy, "A4a");
        gpuc_stage_round_up(copy);
    }
    expect(&g, s, "tiles", want);
}

static void rounded_up_alone(gpuc_ctx *ctx, void *arg)
{
    rounded_up(ctx, arg, false);
}

static void rounded_up_with_blocks(gpuc_ctx *ctx, void *arg)
{
    rounded_up(ctx, arg, true);
}

/* Of 20 elements of B, in blocks of 4, C reads 14: two more fill the last block of these. */
static void rounded_up_inside(gpuc_ctx *ctx, void *arg)
{
    expr_graph g = {.ctx = ctx};
    gpuc_expr shape[] = {gpuc_int(ctx, 20), gpuc_int(ctx, 14)}, at[2];
    gpuc_iter *axes[2];
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, shape, GPUC_FLOAT32);
    for (int i = 0; i < 2; i++) {
        axes[i] = gpuc_te_axis(ctx, shape[i], "i");
        at[i] = gpuc_iter_var(axes[i]);
    }
    gpuc_tensor *b = gpuc_te_compute(ctx, "B", 1, axes, gpuc_te_read(ctx, a, 1, at));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, axes + 1, gpuc_te_read(ctx, b, 1, at + 1));
    gpuc_tensor *args[] = {a, c};
    g.num_args = 2;
    memcpy(g.args, args, sizeof args);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage_transform_layout(gpuc_schedule_stage(s, b), "A4a");
    gpuc_stage_round_up(gpuc_schedule_stage(s, b));
    expect(&g, s, "inside", arg);
}

static void test_round_up(void **state)
{
    (void)state;
    run_ok(rounded_up_alone, "func tiles(A: float32[14] global, C: float32[14] global) label \"tiles\" {"
                             "  for i.outer in 0..4 {"
                             "    alloc B: float32[4] global"
                             "    for i in 0..4 {"
                             "      B[i] = A[min(i.outer*4 + i, 13)]*2.0"
                             "    }"
                             "    for i.inner in 0..4 {"
                             "      if (i.outer*4 + i.inner < 14) {"
                             "        C[i.outer*4 + i.inner] = B[i.inner]"
                             "      }"
                             "    }"
                             "  }"
                             "}");
    run_ok(rounded_up_with_blocks,
           "func tiles(A: float32[14] global, C: float32[14] global) label \"tiles\" {"
           "  alloc A.global: float32[4, 4] global"
           "  for ax0 in 0..16 {"
           "    A.global[ax0 // 4, ax0 %% 4] = A[min(ax0, 13)]"
           "  }"
           "  for i.outer in 0..4 {"
           "    alloc B: float32[4] global"
           "    for i in 0..4 {"
           "      B[i] = A.global[i.outer, i]*2.0"
           "    }"
           "    for i.inner in 0..4 {"
           "      if (i.outer*4 + i.inner < 14) {"
           "        C[i.outer*4 + i.inner] = B[i.inner]"
           "      }"
           "    }"
           "  }"
           "}");
    run_ok(rounded_up_inside, "func inside(A: float32[20] global, C: float32[14] global) label \"inside\" {"
                              "  alloc B: float32[4, 4] global"
                              "  for i in 0..16 {"
                              "    B[i // 4, i %% 4] = A[i]"
                              "  }"
                              "  for i in 0..14 {"
                              "    C[i] = B[i // 4, i %% 4]"
                              "  }"
                              "}");
}

/* B[i, j] = 2 A[i, j] in tiles of 2 x 4; those side by side may be tasks, or threads of a group. */
static void overlapped(gpuc_ctx *ctx, const char *want, bool parallel, bool threads)
{
    expr_graph g = {.ctx = ctx};
    gpuc_expr at[2], shape[] = {gpuc_int(ctx, 3), gpuc_int(ctx, 14)};
    gpuc_iter *axes[2], *outer[2], *inner[2];
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 2, shape, GPUC_FLOAT32);
    for (int i = 0; i < 2; i++) {
        axes[i] = gpuc_te_axis(ctx, shape[i], i ? "j" : "i");
        at[i] = gpuc_iter_var(axes[i]);
    }
    gpuc_expr twice = gpuc_mul(ctx, gpuc_te_read(ctx, a, 2, at), gpuc_imm(ctx, GPUC_FLOAT32, 2));
    gpuc_tensor *b = gpuc_te_compute(ctx, "B", 2, axes, twice);
    gpuc_tensor *args[] = {a, b};
    g.num_args = 2;
    memcpy(g.args, args, sizeof args);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &b);
    gpuc_stage *st = gpuc_schedule_stage(s, b);
    for (int i = 0; i < 2; i++) {
        gpuc_stage_split(st, gpuc_stage_axis(st, i), i ? 4 : 2, &outer[i], &inner[i]);
        gpuc_stage_overlap(st, inner[i]);
    }
    if (parallel) gpuc_stage_parallel(st, outer[1]);
    if (threads) gpuc_stage_bind(st, outer[1], "threadIdx.x");
    expect(&g, s, "twice", want);
}

static void overlapped_parts(gpuc_ctx *ctx, void *arg)
{
    overlapped(ctx, arg, false, false);
}

static void parallel_parts(gpuc_ctx *ctx, void *arg)
{
    overlapped(ctx, arg, true, false);
}

static void parts_of_threads(gpuc_ctx *ctx, void *arg)
{
    overlapped(ctx, arg, false, true);
}

/* Tasks may store an element twice, threads do not. */
static void test_overlap(void **state)
{
    (void)state;
    run_ok(overlapped_parts,
           "func twice(A: float32[3, 14] global, B: float32[3, 14] global) label \"twice\" {"
           "  for i.outer in 0..2 {"
           "    for i.inner in 0..2 {"
           "      for j.outer in 0..4 {"
           "        for j.inner in 0..4 {"
           "          B[i.inner + min(i.outer*2, 1), j.inner + min(j.outer*4, 10)] ="
           " A[i.inner + min(i.outer*2, 1), j.inner + min(j.outer*4, 10)]*2.0"
           "        }"
           "      }"
           "    }"
           "  }"
           "}");
    run_ok(parallel_parts, "func twice(A: float32[3, 14] global, B: float32[3, 14] global) label \"twice\" {"
                           "  for i.outer in 0..2 {"
                           "    for i.inner in 0..2 {"
                           "      for j.outer in 0..4 parallel {"
                           "        for j.inner in 0..4 {"
                           "          B[i.inner + min(i.outer*2, 1), j.inner + min(j.outer*4, 10)] ="
                           " A[i.inner + min(i.outer*2, 1), j.inner + min(j.outer*4, 10)]*2.0"
                           "        }"
                           "      }"
                           "    }"
                           "  }"
                           "}");
    run_ok(parts_of_threads,
           "func twice(A: float32[3, 14] global, B: float32[3, 14] global) label \"twice\" {"
           "  for i.outer in 0..2 {"
           "    for i.inner in 0..2 {"
           "      for tx in 0..4 bind threadIdx.x {"
           "        for j.inner in 0..4 {"
           "          if (tx*4 + j.inner < 14) {"
           "            B[i.inner + min(i.outer*2, 1), tx*4 + j.inner] ="
           " A[i.inner + min(i.outer*2, 1), tx*4 + j.inner]*2.0"
           "          }"
           "        }"
           "      }"
           "    }"
           "  }"
           "}");
}

/* B = 2 A of shape [rows, 5, 7] as one loop, cut by 16: the index is that of the loop, whatever is 1. */
static void fused(gpuc_ctx *ctx, const char *want, gpuc_expr rows)
{
    expr_graph g = {.ctx = ctx, .num_args = 2};
    gpuc_expr shape[] = {rows, gpuc_int(ctx, 5), gpuc_int(ctx, 7)}, at[3];
    gpuc_iter *axes[3], *all, *outer, *inner;
    gpuc_tensor *a = g.args[0] = gpuc_te_placeholder(ctx, "A", 3, shape, GPUC_FLOAT32);
    for (int i = 0; i < 3; i++) {
        axes[i] = gpuc_te_axis(ctx, shape[i], (const char *[]){"i", "j", "k"}[i]);
        at[i] = gpuc_iter_var(axes[i]);
    }
    gpuc_expr twice = gpuc_mul(ctx, gpuc_te_read(ctx, a, 3, at), gpuc_imm(ctx, GPUC_FLOAT32, 2));
    gpuc_tensor *b = g.args[1] = gpuc_te_compute(ctx, "B", 3, axes, twice);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &b);
    gpuc_stage *st = gpuc_schedule_stage(s, b);
    all = gpuc_stage_fuse(st, gpuc_stage_fuse(st, gpuc_stage_axis(st, 0), gpuc_stage_axis(st, 1)),
                          gpuc_stage_axis(st, 2));
    gpuc_stage_split(st, all, 16, &outer, &inner);
    expect(&g, s, "fused", want);
}

static void fused_one(gpuc_ctx *ctx, void *arg)
{
    fused(ctx, arg, gpuc_int(ctx, 1));
}

static void fused_open(gpuc_ctx *ctx, void *arg)
{
    fused(ctx, arg, gpuc_var(ctx, "n", GPUC_INDEX));
}

static void test_fused_tail(void **state)
{
    (void)state;
    run_ok(fused_one, "func fused(A: float32[1, 5, 7] global, B: float32[1, 5, 7] global) label \"fused\" {"
                      "  for i.j.fused.k.fused.outer in 0..3 {"
                      "    for i.j.fused.k.fused.inner in 0..16 {"
                      "      if (i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner < 35) {"
                      "        B[0, (i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner) // 7,"
                      "          (i.j.fused.k.fused.outer*2 + i.j.fused.k.fused.inner) %% 7] ="
                      "          A[0, (i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner) // 7,"
                      "            (i.j.fused.k.fused.outer*2 + i.j.fused.k.fused.inner) %% 7]*2.0"
                      "      }"
                      "    }"
                      "  }"
                      "}");
    run_ok(fused_open,
           "func fused(A: float32[n, 5, 7] global, B: float32[n, 5, 7] global, n: int64) label \"fused\" {"
           "  for i.j.fused.k.fused.outer in 0..(n*35 + 15) // 16 {"
           "    for i.j.fused.k.fused.inner in 0..16 {"
           "      if (i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner < n*35) {"
           "        B[(i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner) // 7 // 5,"
           "          (i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner) // 7 %% 5,"
           "          (i.j.fused.k.fused.outer*2 + i.j.fused.k.fused.inner) %% 7] ="
           "          A[(i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner) // 7 // 5,"
           "            (i.j.fused.k.fused.outer*16 + i.j.fused.k.fused.inner) // 7 %% 5,"
           "            (i.j.fused.k.fused.outer*2 + i.j.fused.k.fused.inner) %% 7]*2.0"
           "      }"
           "    }"
           "  }"
           "}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_add),     cmocka_unit_test(test_tiled_matmul),
        cmocka_unit_test(test_guards),         cmocka_unit_test(test_allreduce),
        cmocka_unit_test(test_aligned_bounds), cmocka_unit_test(test_round_up),
        cmocka_unit_test(test_overlap),        cmocka_unit_test(test_fused_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
