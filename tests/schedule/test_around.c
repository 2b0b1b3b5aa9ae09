/* SPDX-License-Identifier: Apache-2.0 */
/* Threads around stages, which of them stores, prefetches, rings and groups: the loops that they give, that these
 * compute what the definition does, and what is refused. */
#include "compare.h"
#include "fixture.h"

typedef struct around {
    expr_graph g;
    gpuc_schedule *s;
    gpuc_stage *c; /* of the output */
} around;

static void make(gpuc_ctx *ctx, const char *expr, around *x)
{
    expr_build(expr_find(expr), ctx, &x->g);
    gpuc_tensor *const *outputs = &x->g.args[x->g.num_args - x->g.num_outputs];
    x->s = gpuc_schedule_create(ctx, x->g.num_outputs, outputs);
    x->c = gpuc_schedule_stage(x->s, outputs[0]);
}

static gpuc_stage *stage(around *x, const char *name)
{
    return gpuc_schedule_stage(x->s, expr_tensor(&x->g, name));
}

static gpuc_iter *axis_of(gpuc_stage *st, int i)
{
    return gpuc_stage_axis(st, i);
}

typedef struct case_of {
    const char *name, *expr;
    void (*apply)(around *x);
    const char *want; /* the loops, or words of the error; NULL: the loops do not matter */
} case_of;

/* ---- Threads and predicates ------------------------------------------------------------------------- */

/* A serial row, whose pads the threads of one kernel compute together. */
static void one_kernel(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *inner;
    gpuc_stage_env_threads(x->c, 1, (const char *[]){"threadIdx.x"}, (int64_t[]){4}, NULL);
    gpuc_stage_split(x->c, axis_of(x->c, 0), 6, NULL, &inner);
    gpuc_stage_compute_at(t, x->c, gpuc_stage_leaf(x->c, 0));
    gpuc_stage_set_scope(t, "shared");
    gpuc_stage_split(t, axis_of(t, 0), 4, NULL, &inner);
    gpuc_stage_bind(t, inner, "threadIdx.x");
}

static void last_thread_stores(around *x)
{
    gpuc_iter *tx;
    gpuc_stage_env_threads(x->c, 1, (const char *[]){"threadIdx.x"}, (int64_t[]){3}, &tx);
    gpuc_stage_set_store_predicate(x->c, gpuc_eq(x->g.ctx, V(tx), gpuc_int(x->g.ctx, 2)));
}

/* The thread of the loop around stores the shared sums. */
static void chosen_thread_stores(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, axis_of(x->c, 0), 5, &o, &n);
    gpuc_stage_bind(x->c, o, "blockIdx.x");
    gpuc_stage_bind(x->c, n, "threadIdx.x");
    gpuc_stage_compute_at(t, x->c, n);
    gpuc_stage_set_scope(t, "shared");
    gpuc_stage_set_store_predicate(t, gpuc_eq(x->g.ctx, V(n), gpuc_int(x->g.ctx, 4)));
}

static void own_loops_share(around *x)
{
    gpuc_iter *inner;
    gpuc_stage_env_threads(x->c, 2, (const char *[]){"blockIdx.x", "threadIdx.x"}, (int64_t[]){2, 8}, NULL);
    gpuc_stage_split(x->c, axis_of(x->c, 0), 8, NULL, &inner);
    gpuc_stage_bind(x->c, inner, "threadIdx.x");
}

/* ---- Prefetches ------------------------------------------------------------------------------------- */

static void rows_ahead(around *x)
{
    gpuc_stage_prefetch(x->c, x->g.args[0], axis_of(x->c, 0), 2);
}

static void steps_ahead(around *x)
{
    gpuc_iter *ko;
    gpuc_stage_split(x->c, gpuc_stage_reduce_axis(x->c, 0), 4, &ko, NULL);
    gpuc_stage_reorder(x->c, 2, ITERS(ko, axis_of(x->c, 1)));
    gpuc_stage_prefetch(x->c, x->g.args[1], ko, 1);
    gpuc_stage_prefetch(x->c, x->g.args[0], ko, 3);
}

/* Only 17 x 17 of the 18 x 18 padded elements are read, and kept, in another layout. */
static void part_ahead(around *x)
{
    gpuc_stage *pad = stage(x, "pad");
    gpuc_stage_compute_at(pad, x->c, axis_of(x->c, 0));
    gpuc_stage_transform_layout(pad, "BCA");
    gpuc_stage_prefetch(x->c, gpuc_stage_tensor(pad, 0), gpuc_stage_reduce_axis(x->c, 2), 3);
}

/* The rows of a step, in another layout and not from row 0 on. */
static void moved_part_ahead(around *x)
{
    gpuc_stage *pad = stage(x, "pad");
    gpuc_stage_compute_at(pad, x->c, axis_of(x->c, 1));
    gpuc_stage_transform_layout(pad, "CBA");
    gpuc_stage_prefetch(x->c, gpuc_stage_tensor(pad, 0), axis_of(x->c, 2), 2);
}

/* Five of eight threads compute a part, and ask for what they read. */
static void ahead_in_few_threads(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, axis_of(x->c, 0), 8, &o, &n);
    gpuc_stage_bind(x->c, o, "blockIdx.x");
    gpuc_stage_bind(x->c, n, "threadIdx.x");
    gpuc_stage_compute_at(t, x->c, o);
    gpuc_stage_set_scope(t, "shared");
    gpuc_stage_split(t, axis_of(t, 0), 2, &o, &n);
    gpuc_stage_bind(t, o, "threadIdx.x");
    gpuc_stage_prefetch(t, x->g.args[0], n, 1);
}

/* The last of the blocks begins earlier, so that it ends with the tensor: what is asked for ahead of it does not. */
static void ahead_of_overlap(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(t, axis_of(t, 0), 2, &o, &n);
    gpuc_stage_overlap(t, n);
    gpuc_stage_split(t, o, 4, &o, NULL);
    gpuc_stage_prefetch(t, x->g.args[0], o, 3);
}

/* ---- Rings ------------------------------------------------------------------------------------------ */

static void ring(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_stage_compute_at(t, x->c, axis_of(x->c, 0));
    gpuc_stage_rolling_buffer(t);
}

static void ring_of_tiles(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, axis_of(x->c, 0), 4, &o, &n);
    gpuc_stage_compute_at(t, x->c, o);
    gpuc_stage_rolling_buffer(t);
}

static void ring_of_rows(around *x)
{
    gpuc_stage *pad = stage(x, "pad");
    gpuc_iter *yo, *yi;
    gpuc_stage_split(x->c, axis_of(x->c, 1), 3, &yo, &yi);
    gpuc_stage_compute_at(pad, x->c, yi);
    gpuc_stage_rolling_buffer(pad);
    gpuc_stage_transform_layout(pad, "2bCA5cB");
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static void chain_in_rows(around *x)
{
    gpuc_tensor *from = expr_tensor(&x->g, "top"), *to = expr_tensor(&x->g, "s");
    gpuc_stage_group *g = gpuc_schedule_create_group(x->s, 1, &to, 1, &from, true);
    gpuc_stage_group_compute_at(g, x->c, axis_of(x->c, 0));
    gpuc_stage *own = gpuc_schedule_stage(x->s, gpuc_cache_write(x->s, to, "local"));
    assert_int_equal(gpuc_stage_get(own).attach, GPUC_ATTACH_AT);
    assert_ptr_equal(gpuc_stage_get(own).at, axis_of(x->c, 0));
    gpuc_stage_compute_root(own);
    assert_int_equal(gpuc_stage_get(own).attach, GPUC_ATTACH_AT);
    gpuc_iter *outer, *inner;
    gpuc_stage_split(x->c, axis_of(x->c, 0), 2, &outer, &inner);
    gpuc_stage_group_compute_at(g, x->c, outer);
    assert_ptr_equal(gpuc_stage_get(own).at, outer);
    gpuc_stage_group_compute_root(g);
    assert_int_equal(gpuc_stage_get(own).attach, GPUC_ATTACH_ROOT);
    gpuc_stage_group_compute_at(g, x->c, inner);
}

/* ---- What is refused -------------------------------------------------------------------------------- */

static void env_of_vthread(around *x)
{
    gpuc_stage_env_threads(x->c, 1, (const char *[]){"vthread"}, (int64_t[]){4}, NULL);
}

static void env_twice(around *x)
{
    gpuc_stage_env_threads(x->c, 2, (const char *[]){"threadIdx.x", "threadIdx.x"}, (int64_t[]){4, 4}, NULL);
}

static void env_of_nothing(around *x)
{
    gpuc_stage_env_threads(x->c, 1, (const char *[]){"threadIdx.y"}, (int64_t[]){0}, NULL);
}

static void env_of_placeholder(around *x)
{
    gpuc_stage_env_threads(gpuc_schedule_stage(x->s, x->g.args[0]), 0, NULL, NULL, NULL);
}

static void predicate_of_number(around *x)
{
    gpuc_stage_set_store_predicate(x->c, V(axis_of(x->c, 0)));
}

static void predicate_reads(around *x)
{
    gpuc_expr i = V(axis_of(x->c, 0));
    gpuc_stage_set_store_predicate(x->c, gpuc_lt(x->g.ctx, AT1(&x->g, x->g.args[0], i), real(&x->g, 0)));
}

static void predicate_elsewhere(around *x)
{
    gpuc_iter *i = axis_of(stage(x, "T"), 0);
    gpuc_stage_set_store_predicate(x->c, gpuc_eq(x->g.ctx, V(i), gpuc_int(x->g.ctx, 0)));
}

static void predicate_of_sum(around *x)
{
    gpuc_iter *k = gpuc_stage_reduce_axis(x->c, 0);
    gpuc_stage_set_store_predicate(x->c, gpuc_eq(x->g.ctx, V(k), gpuc_int(x->g.ctx, 0)));
}

static void inlined_with_predicate(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_stage_set_store_predicate(t, gpuc_eq(x->g.ctx, V(axis_of(t, 0)), gpuc_int(x->g.ctx, 0)));
    gpuc_stage_compute_inline(t);
}

static void ahead_of_unread(around *x)
{
    gpuc_stage_prefetch(x->c, x->g.args[0], axis_of(x->c, 0), 1);
}

static void ahead_by_nothing(around *x)
{
    gpuc_stage_prefetch(x->c, x->g.args[0], axis_of(x->c, 0), 0);
}

static void ahead_in_vectors(around *x)
{
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, axis_of(x->c, 0), 4, &o, &n);
    gpuc_stage_reorder(x->c, 2, ITERS(n, o));
    gpuc_stage_vectorize(x->c, n);
    gpuc_stage_prefetch(x->c, x->g.args[0], o, 1);
}

static void ahead_of_shared(around *x)
{
    gpuc_stage *copy = gpuc_schedule_stage(x->s, gpuc_cache_read(x->s, x->g.args[0], "shared", 1, &x->c));
    gpuc_iter *o, *n;
    gpuc_stage_split(x->c, axis_of(x->c, 0), 4, &o, &n);
    gpuc_stage_bind(x->c, o, "blockIdx.x");
    gpuc_stage_compute_at(copy, x->c, o);
    gpuc_stage_prefetch(x->c, gpuc_stage_tensor(copy, 0), n, 1);
}

static void ahead_of_made(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_stage_compute_at(t, x->c, axis_of(x->c, 0));
    gpuc_stage_prefetch(x->c, gpuc_stage_tensor(t, 0), axis_of(x->c, 0), 1);
}

static void split_after_prefetch(around *x)
{
    rows_ahead(x);
    gpuc_stage_split(x->c, axis_of(x->c, 0), 4, NULL, NULL);
}

static void ring_at_root(around *x)
{
    gpuc_stage_rolling_buffer(stage(x, "T"));
}

static void ring_in_parallel(around *x)
{
    ring(x);
    gpuc_stage_parallel(x->c, axis_of(x->c, 0));
}

static void ring_without_overlap(around *x)
{
    gpuc_stage *t = stage(x, "T");
    gpuc_stage_compute_at(t, x->c, axis_of(x->c, 1));
    gpuc_stage_rolling_buffer(t);
}

static void ring_doubled(around *x)
{
    ring(x);
    gpuc_stage_double_buffer(stage(x, "T"));
}

static void ring_of_output(around *x)
{
    gpuc_stage_rolling_buffer(x->c);
}

static void group_of_nothing(around *x)
{
    gpuc_tensor *from = x->g.args[x->g.num_args - 1], *to = expr_tensor(&x->g, "top");
    gpuc_schedule_create_group(x->s, 1, &to, 1, &from, false);
}

static void group_twice(around *x)
{
    gpuc_tensor *from = expr_tensor(&x->g, "top"), *to = expr_tensor(&x->g, "s");
    gpuc_schedule_create_group(x->s, 1, &to, 1, &from, true);
    gpuc_schedule_create_group(x->s, 1, &to, 1, &from, false);
}

static void group_in_itself(around *x)
{
    gpuc_tensor *from = expr_tensor(&x->g, "top"), *to = expr_tensor(&x->g, "s");
    gpuc_stage_group *g = gpuc_schedule_create_group(x->s, 1, &to, 1, &from, true);
    gpuc_stage_group_compute_at(g, stage(x, "s"), axis_of(stage(x, "s"), 0));
}

static void group_with_output(around *x)
{
    gpuc_tensor *from = expr_tensor(&x->g, "s"), *to = x->g.args[x->g.num_args - 1];
    gpuc_stage_group *g = gpuc_schedule_create_group(x->s, 1, &to, 1, &from, false);
    gpuc_stage_group_compute_at(g, stage(x, "top"), axis_of(stage(x, "top"), 0));
}

static const case_of refused[] = {
    {"threads", "stencils", env_of_vthread, "stage 'C': env_threads: 'vthread'"},
    {"threads", "stencils", env_twice, "stage 'C': env_threads: threadIdx.x is launched already"},
    {"threads", "stencils", env_of_nothing, "env_threads: threadIdx.y has the extent 0"},
    {"threads", "stencils", env_of_placeholder, "stage 'A': env_threads: a placeholder"},
    {"predicate", "stencils", predicate_of_number, "stage 'C': set_store_predicate|of type int64"},
    {"predicate", "stencils", predicate_reads, "set_store_predicate|reads memory"},
    {"predicate", "stencils", predicate_elsewhere, "stage 'C': set_store_predicate: 'i' is neither a loop"},
    {"predicate", "matmul_prime", predicate_of_sum, "set_store_predicate: 'k' is neither a loop"},
    {"predicate", "stencils", inlined_with_predicate, "stage 'T': compute_inline|predicate"},
    {"prefetch", "stencils", ahead_of_unread, "stage 'C': prefetch: it does not read 'A'"},
    {"prefetch", "transpose", ahead_by_nothing, "prefetch: 'A' is asked for 0 iterations of 'i' ahead"},
    {"prefetch", "add_prime", ahead_in_vectors, "stage 'C': prefetch: 'i.inner' is vectorized"},
    {"prefetch", "add_prime", ahead_of_shared, "stage 'C': prefetch: 'A.shared' is in scope shared"},
    {"prefetch", "stencils", ahead_of_made, "stage 'C': prefetch: 'T' is computed in 'j'"},
    {"prefetch", "transpose", split_after_prefetch, "stage 'C': split: 'i' is annotated"},
    {"ring", "stencils", ring_at_root, "stage 'T': rolling_buffer: it is computed at root"},
    {"ring", "stencils", ring_in_parallel, "rolling_buffer: the iterations of 'j' of stage 'C'"},
    {"ring", "bias_relu", ring_without_overlap, "rolling_buffer: along|1 elements|none in common"},
    {"ring", "stencils", ring_doubled, "stage 'T': rolling_buffer|double buffer"},
    {"ring", "stencils", ring_of_output, "stage 'C': rolling_buffer: it is an output"},
    {"group", "softmax", group_of_nothing, "create_group: no stage is between 'C' and 'top'"},
    {"group", "softmax", group_twice, "stage 'e': create_group: it is in the group 's' already"},
    {"group", "softmax", group_in_itself, "compute_at: stage 's' is in the same group 's'"},
    {"group", "softmax", group_with_output, "stage 'C': compute_at: it is an output"},
};

static void apply_and_lower(gpuc_ctx *ctx, void *arg)
{
    const case_of *c = arg;
    around x = {.s = NULL};
    make(ctx, c->expr, &x);
    c->apply(&x);
    gpuc_schedule_lower(x.s, "f", x.g.num_args, x.g.args);
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        run_error(refused[i].want, apply_and_lower, (void *)(uintptr_t)&refused[i]);
}

static const case_of cases[] = {
    {"a kernel of a serial loop", "stencils", one_kernel,
     "func f(A: float32[34] global, C: float32[30] global) label \"f\" { "
     "  for tx in 0..4 bind threadIdx.x { "
     "    for j.outer in 0..5 { "
     "      alloc T: float32[8] shared "
     "      for i.outer in 0..2 { "
     "        T[i.outer*4 + tx] = A[j.outer*6 + i.outer*4 + tx] + A[j.outer*6 + i.outer*4 + tx + 2] + "
     "A[j.outer*6 + i.outer*4 + tx + 1]*2.0 "
     "      } "
     "      if (tx == 0) { "
     "        for j.inner in 0..6 { "
     "          C[j.outer*6 + j.inner] = T[j.inner] + T[j.inner + 2] + T[j.inner + 1]*2.0 "
     "        } "
     "      } "
     "    } "
     "  } "
     "} "},
    {"the last thread stores", "stencils", last_thread_stores,
     "func f(A: float32[34] global, C: float32[30] global) label \"f\" { "
     "  alloc T: float32[32] global "
     "  for i in 0..32 { "
     "    T[i] = A[i] + A[i + 2] + A[i + 1]*2.0 "
     "  } "
     "  for tx in 0..3 bind threadIdx.x { "
     "    if (tx == 2) { "
     "      for j in 0..30 { "
     "        C[j] = T[j] + T[j + 2] + T[j + 1]*2.0 "
     "      } "
     "    } "
     "  } "
     "} "},
    {"the last thread sums", "matmul_prime", last_thread_stores, NULL},
    {"a chosen thread stores shared sums", "dense_bias_relu", chosen_thread_stores, NULL},
    {"own loops share out", "add_prime", own_loops_share,
     "func f(A: float32[97] global, B: float32[97] global, C: float32[97] global) label \"f\" { "
     "  for bx in 0..2 bind blockIdx.x { "
     "    for tx in 0..8 bind threadIdx.x { "
     "      if (bx == 0) { "
     "        for i.outer in 0..13 { "
     "          if (i.outer*8 + tx < 97) { "
     "            C[i.outer*8 + tx] = A[i.outer*8 + tx] + B[i.outer*8 + tx] "
     "          } "
     "        } "
     "      } "
     "    } "
     "  } "
     "} "},
    {"rows ahead", "transpose", rows_ahead,
     "func f(A: float32[16, 11] global, C: float32[11, 16] global) label \"f\" { "
     "  for i in 0..11 { "
     "    for A.ahead0 in 0..16 { "
     "      if (i < 9) { "
     "        prefetch<bool>(&A, A.ahead0, i + 2) "
     "      } "
     "    } "
     "    for j in 0..16 { "
     "      C[i, j] = A[j, i] "
     "    } "
     "  } "
     "} "},
    {"rows ahead of n", "add_symbolic", rows_ahead, NULL},
    {"steps ahead", "matmul_prime", steps_ahead,
     "func f(A: float32[17, 13] global, B: float32[13, 19] global, C: float32[17, 19] global) label \"f\" { "
     "  for i in 0..17 { "
     "    attr reduce_init { "
     "      for j in 0..19 { "
     "        C[i, j] = 0.0 "
     "      } "
     "    } "
     "    attr reduce_update { "
     "      for k.outer in 0..4 { "
     "        for B.ahead0 in 0..4 { "
     "          for B.ahead1 in 0..3 { "
     "            if (k.outer*4 + B.ahead0 < 9) { "
     "              prefetch<bool>(&B, k.outer*4 + B.ahead0 + 4, min(B.ahead1*16, 18)) "
     "            } "
     "          } "
     "        } "
     "        for A.ahead1 in 0..2 { "
     "          if (A.ahead1*4 + k.outer < 1) { "
     "            prefetch<bool>(&A, i, k.outer*4 + min(A.ahead1*16 + 12, 15)) "
     "          } "
     "        } "
     "        for j in 0..19 { "
     "          for k.inner in 0..4 { "
     "            if (k.outer*4 + k.inner < 13) { "
     "              C[i, j] = C[i, j] + A[i, k.outer*4 + k.inner]*B[k.outer*4 + k.inner, j] "
     "            } "
     "          } "
     "        } "
     "      } "
     "    } "
     "  } "
     "} "},
    {"a part ahead", "conv2d_strided", part_ahead, NULL},
    {"a moved part ahead", "conv2d_strided", moved_part_ahead, NULL},
    {"ahead in few threads", "stencils", ahead_in_few_threads, NULL},
    {"ahead of overlap", "reverse", ahead_of_overlap, NULL},
    {"a ring", "stencils", ring,
     "func f(A: float32[34] global, C: float32[30] global) label \"f\" { "
     "  alloc T: float32[3] global "
     "  for j in 0..30 { "
     "    for i in 0..3 { "
     "      if (j == 0 || i >= 2) { "
     "        T[(j + i) %% 3] = A[j + i] + A[j + i + 2] + A[j + i + 1]*2.0 "
     "      } "
     "    } "
     "    C[j] = T[j %% 3] + T[(j + 2) %% 3] + T[(j + 1) %% 3]*2.0 "
     "  } "
     "} "},
    {"a ring of tiles", "stencils", ring_of_tiles, NULL},
    {"a ring of rows", "conv2d_same", ring_of_rows, NULL},
    {"a chain in rows", "softmax", chain_in_rows, NULL},
};

static void run_case(gpuc_ctx *ctx, void *arg)
{
    const case_of *c = arg;
    around x = {.s = NULL};
    make(ctx, c->expr, &x);
    c->apply(&x);
    gpuc_tir_func *f = gpuc_schedule_lower(x.s, "f", x.g.num_args, x.g.args);
    if (c->want) expect_text(gpuc_tir_text(ctx, f), c->want);
    compare_with_definition(&x.g, x.s);
}

static void test_loops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_ok(run_case, (void *)(uintptr_t)&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
