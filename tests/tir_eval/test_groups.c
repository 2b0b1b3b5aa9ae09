/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a group: masks, shared and private memory, what they do together, and what goes wrong. */
#include "eval_test.h"

enum { THREADS = 64 };

static gpuc_stmt barrier(gpuc_ctx *c)
{
    return gpuc_tir_eval(c, gpuc_tir_call(c, GPUC_BOOL, GPUC_TIR_CALL_BARRIER, NULL, NULL, 0, NULL));
}

static gpuc_expr call1(gpuc_ctx *c, gpuc_tir_intrin fn, gpuc_expr a)
{
    return gpuc_tir_call(c, a->dtype, fn, NULL, NULL, 1, &a);
}

/* A kernel of `groups` times THREADS threads. */
static gpuc_tir_func kernel(gpuc_ctx *c, gpuc_expr bx, int groups, gpuc_expr tx, int num_threads)
{
    gpuc_tir_thread *t = gpuc_new_array(c, gpuc_tir_thread, 2);
    t[0] = (gpuc_tir_thread){GPUC_BLOCK_X, bx, I(c, groups)};
    t[1] = (gpuc_tir_thread){GPUC_THREAD_X, tx, I(c, num_threads)};
    return (gpuc_tir_func){.stage = GPUC_TIR_STAGE_TARGET, .num_threads = 2, .threads = t};
}

/* bx * 64 + tx under a guard, in loop form and in kernel form. */
static void guarded_copy(gpuc_ctx *c, void *arg)
{
    (void)arg;
    enum { N = 150 };
    float a[N], out[N + 8];
    for (int i = 0; i < N; i++) a[i] = (float)i;
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_FLOAT32, N, 0), buffer1(c, "B", GPUC_FLOAT32, N, 0)};
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_expr i = gpuc_add(c, gpuc_mul(c, bx, I(c, THREADS)), tx);
    gpuc_stmt copy = gpuc_tir_store1(
        c, buffers[1], i, gpuc_add(c, gpuc_tir_load1(c, buffers[0], i), gpuc_imm(c, GPUC_FLOAT32, 1)));
    gpuc_stmt body = gpuc_tir_if_(c, gpuc_lt(c, i, I(c, N)), copy, NULL);
    for (int form = 0; form < 4; form++) {
        gpuc_tir_func f = {0};
        gpuc_stmt s = body;
        if (form < 2)
            s = threads(c, bx, 3, GPUC_BLOCK_X, threads(c, tx, THREADS, GPUC_THREAD_X, s));
        else
            f = kernel(c, bx, 3, tx, THREADS);
        memset(out, 0, sizeof out);
        assert_null(run_with(c, &f, s, 2, buffers, (void *[]){a, out}, form % 2));
        for (int k = 0; k < N; k++) assert_true(out[k] == a[k] + 1);
        assert_true(out[N] == 0);
    }
    /* without the guard: out of range, with the thread in the message */
    gpuc_tir_func f = kernel(c, bx, 3, tx, THREADS);
    expect_failure(run_with(c, &f, copy, 2, buffers, (void *[]){a, out}, false), "thread (22, 0, 0)", "150");
}

/* Reverses each group through shared memory. */
static gpuc_stmt reverse_body(gpuc_ctx *c, gpuc_tir_buffer *const *b, gpuc_expr bx, gpuc_expr tx,
                              bool with_barrier)
{
    gpuc_tir_buffer *s = buffer1(c, "S", GPUC_INT32, THREADS, GPUC_SCOPE_SHARED);
    gpuc_expr i = gpuc_add(c, gpuc_mul(c, bx, I(c, THREADS)), tx);
    gpuc_stmt put = gpuc_tir_store1(c, s, tx, gpuc_tir_load1(c, b[0], i));
    gpuc_stmt get = gpuc_tir_store1(c, b[1], i, gpuc_tir_load1(c, s, gpuc_sub(c, I(c, THREADS - 1), tx)));
    gpuc_stmt list[] = {put, with_barrier ? barrier(c) : NULL, get};
    return gpuc_tir_alloc(c, s, gpuc_tir_seq(c, 3, list));
}

static void shared_memory(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t a[3 * THREADS], out[3 * THREADS];
    for (int i = 0; i < 3 * THREADS; i++) a[i] = i * 3;
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_INT32, 3 * THREADS, 0),
                                  buffer1(c, "B", GPUC_INT32, 3 * THREADS, 0)};
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_tir_func f = kernel(c, bx, 3, tx, THREADS);
    for (int check = 0; check < 2; check++) {
        memset(out, 0, sizeof out);
        assert_null(
            run_with(c, &f, reverse_body(c, buffers, bx, tx, true), 2, buffers, (void *[]){a, out}, check));
        for (int i = 0; i < 3 * THREADS; i++)
            assert_int_equal(out[i], a[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
    }
    expect_failure(
        run_with(c, &f, reverse_body(c, buffers, bx, tx, false), 2, buffers, (void *[]){a, out}, true),
        "a race: 'S'[63] is read by thread (0, 0, 0) and written by thread (63, 0, 0)", "without a barrier");
    /* before thread_sync a nested function has none, and that is right */
    f = (gpuc_tir_func){0};
    gpuc_stmt nested =
        threads(c, bx, 3, GPUC_BLOCK_X,
                threads(c, tx, THREADS, GPUC_THREAD_X, reverse_body(c, buffers, bx, tx, false)));
    assert_null(run_with(c, &f, nested, 2, buffers, (void *[]){a, out}, true));
    assert_int_equal(out[0], a[THREADS - 1]);
}

/* Several thread loops in one block, of different extents: the same threads. */
static void sibling_loops(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t out[2 * 32];
    gpuc_tir_buffer *b = buffer1(c, "B", GPUC_INT32, 64, 0),
                    *s = buffer1(c, "S", GPUC_INT32, 32, GPUC_SCOPE_SHARED),
                    *l = buffer1(c, "L", GPUC_INT32, 2, GPUC_SCOPE_LOCAL);
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), t1 = gpuc_var(c, "t1", GPUC_INDEX),
              t2 = gpuc_var(c, "t2", GPUC_INDEX);
    gpuc_expr one = gpuc_imm_int(c, GPUC_INT32, 1);
    gpuc_stmt first = threads(c, t1, 16, GPUC_THREAD_X,
                              gpuc_tir_seq2(c, gpuc_tir_store1(c, s, t1, gpuc_cast(c, GPUC_INT32, t1)),
                                            gpuc_tir_store1(c, s, gpuc_add(c, t1, I(c, 16)), one)));
    gpuc_stmt own = threads(c, t2, 32, GPUC_THREAD_X,
                            gpuc_tir_store1(c, l, I(c, 1), gpuc_add(c, gpuc_tir_load1(c, s, t2), one)));
    gpuc_expr t3 = gpuc_var(c, "t3", GPUC_INDEX), at = gpuc_add(c, gpuc_mul(c, bx, I(c, 32)), t3);
    gpuc_stmt use =
        threads(c, t3, 32, GPUC_THREAD_X, gpuc_tir_store1(c, b, at, gpuc_tir_load1(c, l, I(c, 1))));
    gpuc_stmt list[] = {first, own, use};
    gpuc_stmt body = gpuc_tir_alloc(c, s, gpuc_tir_alloc(c, l, gpuc_tir_seq(c, 3, list)));
    gpuc_tir_func f = {0};
    for (int check = 0; check < 2; check++) {
        assert_null(run_with(c, &f, threads(c, bx, 2, GPUC_BLOCK_X, body), 1, &b, (void *[]){out}, check));
        for (int i = 0; i < 64; i++) assert_int_equal(out[i], i % 32 < 16 ? i % 32 + 1 : 2);
    }
}

/* Loops whose length differs between lanes, nested ifs, lazy arms that would be out of range. */
static void divergence(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t a[8] = {5, 7, 1, 0, 3, 9, 2, 4}, out[32];
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_INT32, 8, 0), buffer1(c, "B", GPUC_INT32, 32, 0)};
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX),
              k = gpuc_var(c, "k", GPUC_INDEX);
    gpuc_expr in_range = gpuc_lt(c, tx, I(c, 8));
    gpuc_expr n =
        gpuc_if_then_else(c, in_range, gpuc_tir_load1(c, buffers[0], tx), gpuc_imm_int(c, GPUC_INT32, 2));
    gpuc_expr old = gpuc_tir_load1(c, buffers[1], tx);
    gpuc_stmt odd = gpuc_tir_store1(c, buffers[1], tx, gpuc_add(c, old, gpuc_imm_int(c, GPUC_INT32, 10)));
    gpuc_stmt even = gpuc_tir_store1(c, buffers[1], tx, gpuc_add(c, old, gpuc_imm_int(c, GPUC_INT32, 1)));
    gpuc_stmt inner =
        gpuc_tir_if_(c, gpuc_eq(c, gpuc_floormod_(c, gpuc_add(c, k, tx), I(c, 2)), I(c, 1)), odd, even);
    gpuc_stmt count =
        gpuc_tir_for_(c, k, I(c, 0), gpuc_cast(c, GPUC_INDEX, n), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, inner);
    gpuc_stmt body =
        gpuc_tir_seq2(c, gpuc_tir_store1(c, buffers[1], tx, gpuc_imm_int(c, GPUC_INT32, 0)), count);
    gpuc_tir_func f = kernel(c, bx, 1, tx, 32);
    for (int check = 0; check < 2; check++) {
        assert_null(run_with(c, &f, body, 2, buffers, (void *[]){a, out}, check));
        for (int t = 0; t < 32; t++) {
            int expected = 0, iterations = t < 8 ? a[t] : 2;
            for (int r = 0; r < iterations; r++) expected += (r + t) % 2 ? 10 : 1;
            assert_int_equal(out[t], expected);
        }
    }
    /* a select evaluates both arms */
    gpuc_expr both =
        gpuc_select(c, in_range, gpuc_tir_load1(c, buffers[0], tx), gpuc_imm_int(c, GPUC_INT32, 2));
    expect_failure(
        run_with(c, &f, gpuc_tir_store1(c, buffers[1], tx, both), 2, buffers, (void *[]){a, out}, true),
        "index 0 of 'A' is 8 by thread (8, 0, 0)", "not in [0, 8)");
}

static void divergent_barrier(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t out[32];
    gpuc_tir_buffer *b = buffer1(c, "B", GPUC_INT32, 32, 0);
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_tir_func f = kernel(c, bx, 1, tx, 32);
    gpuc_stmt put = gpuc_tir_store1(c, b, tx, gpuc_imm_int(c, GPUC_INT32, 1));
    gpuc_stmt body = gpuc_tir_if_(c, gpuc_lt(c, tx, I(c, 20)), gpuc_tir_seq2(c, put, barrier(c)), NULL);
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true),
                   "a barrier is reached by 20 of 32 threads", "barrier");
    /* under a condition that is the same for all it is fine */
    body = gpuc_tir_if_(c, gpuc_lt(c, bx, I(c, 20)), gpuc_tir_seq2(c, put, barrier(c)), NULL);
    assert_null(run_with(c, &f, body, 1, &b, (void *[]){out}, true));
}

static void races(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t out[64] = {0};
    gpuc_tir_buffer *b = buffer1(c, "B", GPUC_INT32, 64, 0);
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_tir_func f = kernel(c, bx, 2, tx, 32);
    gpuc_expr value = gpuc_cast(c, GPUC_INT32, gpuc_add(c, tx, I(c, 1)));
    /* two threads, one element */
    gpuc_stmt body = gpuc_tir_store1(c, b, gpuc_floordiv_(c, tx, I(c, 2)), value);
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true),
                   "a race: 'B'[0] is written by thread (1, 0, 0)", "by thread (0, 0, 0)");
    /* the same value is no harm */
    body = gpuc_tir_store1(c, b, gpuc_add(c, gpuc_mul(c, bx, I(c, 32)), gpuc_floordiv_(c, tx, I(c, 2))),
                           gpuc_imm_int(c, GPUC_INT32, 7));
    assert_null(run_with(c, &f, body, 1, &b, (void *[]){out}, true));
    /* two groups, one element */
    body = gpuc_tir_store1(c, b, tx, gpuc_cast(c, GPUC_INT32, gpuc_add(c, gpuc_mul(c, bx, I(c, 100)), tx)));
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true), "'B'[0]", "of another group");
    /* global memory is not ordered by barriers */
    gpuc_expr at = gpuc_add(c, gpuc_mul(c, bx, I(c, 32)), tx);
    gpuc_expr beside =
        gpuc_add(c, gpuc_mul(c, bx, I(c, 32)), gpuc_floormod_(c, gpuc_add(c, tx, I(c, 1)), I(c, 32)));
    gpuc_stmt list[] = {gpuc_tir_store1(c, b, at, value), barrier(c),
                        gpuc_tir_store1(c, b, at, gpuc_tir_load1(c, b, beside))};
    expect_failure(run_with(c, &f, gpuc_tir_seq(c, 3, list), 1, &b, (void *[]){out}, true), "a race",
                   "is read");
    /* atomics do not race */
    gpuc_expr args[] = {I(c, 5), gpuc_imm_int(c, GPUC_INT32, 2)};
    memset(out, 0, sizeof out);
    gpuc_expr add = gpuc_tir_call(c, GPUC_INT32, GPUC_TIR_CALL_ATOMIC_ADD, NULL, b, 2, args);
    assert_null(run_with(c, &f, gpuc_tir_eval(c, add), 1, &b, (void *[]){out}, true));
    assert_int_equal(out[5], 128);
}

static void parallel_loops(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t out[64] = {0};
    gpuc_tir_buffer *b = buffer1(c, "B", GPUC_INT32, 64, 0),
                    *t = buffer1(c, "T", GPUC_INT32, 4, GPUC_SCOPE_GLOBAL);
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), j = gpuc_var(c, "j", GPUC_INDEX),
              one = gpuc_imm_int(c, GPUC_INT32, 1);
    gpuc_tir_func f = {0};
    gpuc_expr half = gpuc_floordiv_(c, i, I(c, 2)), v = gpuc_cast(c, GPUC_INT32, i);
    gpuc_stmt body =
        gpuc_tir_for_(c, i, I(c, 0), I(c, 64), GPUC_LOOP_PARALLEL, 0, gpuc_tir_store1(c, b, half, v));
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true), "'B'[0] is written by iteration 1",
                   "written by iteration 0");
    gpuc_stmt sum = gpuc_tir_store1(c, b, I(c, 3), gpuc_add(c, gpuc_tir_load1(c, b, I(c, 3)), one));
    body = gpuc_tir_for_(c, i, I(c, 0), I(c, 64), GPUC_LOOP_PARALLEL, 0, sum);
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true), "a race: 'B'[3]", "iteration");
    /* apart, but not by a linear index; each iteration has its own storage */
    gpuc_expr swapped = gpuc_call2(c, "bitxor", i, I(c, 1));
    gpuc_stmt inner = loop(c, j, 4, gpuc_tir_store1(c, t, j, v));
    gpuc_stmt use = gpuc_tir_store1(c, b, swapped, gpuc_tir_load1(c, t, I(c, 3)));
    body = gpuc_tir_for_(c, i, I(c, 0), I(c, 64), GPUC_LOOP_PARALLEL, 0,
                         gpuc_tir_alloc(c, t, gpuc_tir_seq2(c, inner, use)));
    assert_null(run_with(c, &f, body, 1, &b, (void *[]){out}, true));
    assert_int_equal(out[6], 7);
}

static void uninitialised(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t out[40];
    gpuc_tir_buffer *b = buffer1(c, "B", GPUC_INT32, 40, 0),
                    *t = buffer1(c, "T", GPUC_INT32, 40, GPUC_SCOPE_GLOBAL);
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), j = gpuc_var(c, "j", GPUC_INDEX);
    gpuc_stmt put = loop(c, i, 39, gpuc_tir_store1(c, t, i, gpuc_cast(c, GPUC_INT32, i)));
    gpuc_stmt get = loop(c, j, 40, gpuc_tir_store1(c, b, j, gpuc_tir_load1(c, t, j)));
    gpuc_tir_func f = {0};
    gpuc_stmt body = gpuc_tir_alloc(c, t, gpuc_tir_seq2(c, put, get));
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true),
                   "'T'[39] is read at j = 39 before anything was written", "B[j] = T[j]");
    assert_null(run_with(c, &f, body, 1, &b, (void *[]){out}, false));
    assert_int_equal(out[38], 38);
    /* every iteration of a loop has a new one */
    gpuc_expr k = gpuc_var(c, "k", GPUC_INDEX);
    gpuc_stmt once = gpuc_tir_if_(c, gpuc_eq(c, k, I(c, 0)),
                                  gpuc_tir_store1(c, t, I(c, 0), gpuc_imm_int(c, GPUC_INT32, 1)), NULL);
    gpuc_stmt read = gpuc_tir_store1(c, b, k, gpuc_tir_load1(c, t, I(c, 0)));
    body = loop(c, k, 3, gpuc_tir_alloc(c, t, gpuc_tir_seq2(c, once, read)));
    expect_failure(run_with(c, &f, body, 1, &b, (void *[]){out}, true), "'T'[0]", "k = 1");
}

static void subgroups(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t a[32], out[96];
    for (int i = 0; i < 32; i++) a[i] = i * i % 13;
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_INT32, 32, 0), buffer1(c, "B", GPUC_INT32, 96, 0)};
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_tir_func f = kernel(c, bx, 1, tx, 32);
    f.subgroup_size = 16;
    gpuc_expr x = gpuc_tir_load1(c, buffers[0], tx);
    gpuc_expr lane = gpuc_tir_call(c, GPUC_INT32, GPUC_TIR_CALL_SUBGROUP_LANE, NULL, NULL, 0, NULL);
    gpuc_expr shuffle[] = {x, gpuc_floormod_(c, gpuc_add(c, lane, gpuc_imm_int(c, GPUC_INT32, 1)),
                                             gpuc_imm_int(c, GPUC_INT32, 16))};
    gpuc_stmt list[] = {
        gpuc_tir_store1(c, buffers[1], tx, call1(c, GPUC_TIR_CALL_SUBGROUP_ADD, x)),
        gpuc_tir_store1(c, buffers[1], gpuc_add(c, tx, I(c, 32)), call1(c, GPUC_TIR_CALL_SUBGROUP_MAX, x)),
        gpuc_tir_store1(c, buffers[1], gpuc_add(c, tx, I(c, 64)),
                        gpuc_tir_call(c, GPUC_INT32, GPUC_TIR_CALL_SUBGROUP_SHUFFLE, NULL, NULL, 2, shuffle)),
    };
    assert_null(run_with(c, &f, gpuc_tir_seq(c, 3, list), 2, buffers, (void *[]){a, out}, true));
    for (int i = 0; i < 32; i++) {
        int sum = 0, max = 0, first = i / 16 * 16;
        for (int k = first; k < first + 16; k++) {
            sum += a[k];
            if (a[k] > max) max = a[k];
        }
        assert_int_equal(out[i], sum);
        assert_int_equal(out[32 + i], max);
        assert_int_equal(out[64 + i], a[first + (i % 16 + 1) % 16]);
    }
    /* only the active lanes take part */
    gpuc_stmt some = gpuc_tir_if_(c, gpuc_lt(c, tx, I(c, 5)), list[0], NULL);
    assert_null(run_with(c, &f, some, 2, buffers, (void *[]){a, out}, true));
    assert_int_equal(out[0], a[0] + a[1] + a[2] + a[3] + a[4]);
}

static void atomics(gpuc_ctx *c, void *arg)
{
    static const struct {
        gpuc_tir_intrin fn;
        int32_t start, expected;
    } cases[] = {
        {GPUC_TIR_CALL_ATOMIC_ADD, 10, 10 + 31 * 32 / 2},
        {GPUC_TIR_CALL_ATOMIC_MIN, 10, 0},
        {GPUC_TIR_CALL_ATOMIC_MAX, 10, 31},
        {GPUC_TIR_CALL_ATOMIC_AND, 15, 0},
        {GPUC_TIR_CALL_ATOMIC_OR, 32, 63},
        {GPUC_TIR_CALL_ATOMIC_XOR, 5, 5},
        {GPUC_TIR_CALL_ATOMIC_EXCHANGE, 5, 31},
    };
    (void)arg;
    gpuc_tir_buffer *buffers[] = {buffer1(c, "B", GPUC_INT32, 4, 0), buffer1(c, "O", GPUC_INT32, 32, 0)};
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_tir_func f = kernel(c, bx, 1, tx, 32);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t b[4] = {0, cases[i].start}, out[32];
        gpuc_expr args[] = {I(c, 1), gpuc_cast(c, GPUC_INT32, tx)};
        gpuc_stmt s = gpuc_tir_store1(c, buffers[1], tx,
                                      gpuc_tir_call(c, GPUC_INT32, cases[i].fn, NULL, buffers[0], 2, args));
        assert_null(run_with(c, &f, s, 2, buffers, (void *[]){b, out}, true));
        assert_int_equal(b[1], cases[i].expected);
        assert_int_equal(out[0], cases[i].start);
    }
    /* a lock: one thread wins */
    int32_t b[4] = {0}, out[32];
    gpuc_expr args[] = {I(c, 2), gpuc_imm_int(c, GPUC_INT32, 0),
                        gpuc_cast(c, GPUC_INT32, gpuc_add(c, tx, I(c, 1)))};
    gpuc_stmt s = gpuc_tir_store1(
        c, buffers[1], tx, gpuc_tir_call(c, GPUC_INT32, GPUC_TIR_CALL_ATOMIC_CAS, NULL, buffers[0], 3, args));
    assert_null(run_with(c, &f, s, 2, buffers, (void *[]){b, out}, true));
    assert_int_equal(b[2], 1);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[9], 1);
}

/* Sums over threadIdx.x for each threadIdx.y, and an argmax tuple by hand. */
static void allreduce(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t a[4 * 8], out[4];
    for (int i = 0; i < 32; i++) a[i] = i * 7 % 19;
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_INT32, 32, 0), buffer1(c, "B", GPUC_INT32, 4, 0)};
    gpuc_expr tx = gpuc_var(c, "tx", GPUC_INDEX), ty = gpuc_var(c, "ty", GPUC_INDEX);
    gpuc_expr x = gpuc_tir_load1(c, buffers[0], gpuc_add(c, gpuc_mul(c, ty, I(c, 8)), tx));
    for (int form = 0; form < 4; form++) { /* into memory or a local, under a condition or not */
        gpuc_tir_buffer *l = buffer1(c, "L", GPUC_INT32, 1, GPUC_SCOPE_LOCAL);
        gpuc_stmt store =
            form % 2 ? gpuc_tir_store1(c, l, I(c, 0), x) : gpuc_tir_store1(c, buffers[1], ty, x);
        if (form / 2) store = gpuc_tir_if_(c, gpuc_lt(c, ty, I(c, 3)), store, NULL);
        gpuc_stmt s = gpuc_tir_attr(c, "allreduce", "threadIdx.x", NULL,
                                    gpuc_tir_reducer_get(c, "sum", GPUC_INT32), store);
        if (form % 2) {
            gpuc_stmt copy = gpuc_tir_store1(c, buffers[1], ty, gpuc_tir_load1(c, l, I(c, 0)));
            gpuc_stmt zero = gpuc_tir_store1(c, l, I(c, 0), gpuc_imm_int(c, GPUC_INT32, -1));
            gpuc_stmt list[] = {zero, s, copy};
            s = gpuc_tir_alloc(c, l, gpuc_tir_seq(c, 3, list));
        }
        gpuc_tir_func f = {0};
        for (int k = 0; k < 4; k++) out[k] = -1;
        s = threads(c, ty, 4, GPUC_THREAD_Y, threads(c, tx, 8, GPUC_THREAD_X, s));
        assert_null(run_with(c, &f, s, 2, buffers, (void *[]){a, out}, true));
        for (int k = 0; k < 4; k++) {
            int sum = 0;
            for (int q = 0; q < 8; q++) sum += a[k * 8 + q];
            assert_int_equal(out[k], form / 2 && k == 3 ? -1 : sum);
        }
    }
}

#define CASE(name)                                                                                           \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        with_context(name, NULL);                                                                            \
    }
CASE(guarded_copy)
CASE(shared_memory)
CASE(sibling_loops)
CASE(divergence)
CASE(divergent_barrier)
CASE(races)
CASE(parallel_loops)
CASE(uninitialised)
CASE(subgroups)
CASE(atomics)
CASE(allreduce)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guarded_copy),      cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_sibling_loops),     cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_divergent_barrier), cmocka_unit_test(test_races),
        cmocka_unit_test(test_uninitialised),     cmocka_unit_test(test_subgroups),
        cmocka_unit_test(test_atomics),           cmocka_unit_test(test_allreduce),
        cmocka_unit_test(test_parallel_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
