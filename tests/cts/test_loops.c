/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose parallel loops the application runs: on the CPU device, and where that is the fallback device. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cts.h"

/* The application's threads: the caller, and one more for the second half of each loop. */
typedef struct team {
    pthread_t caller; /* whose loops it runs */
    int loops, wrong; /* wrong: of another caller */
} team;

typedef struct half {
    int64_t begin, end;
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
} half;

static void *run_half(void *arg)
{
    half *h = arg;
    h->body(h->arg, h->begin, h->end);
    return NULL;
}

static void run_loop(void *user, int64_t begin, int64_t end,
                     void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    team *t = user;
    pthread_t other;
    half second = {.begin = begin + (end - begin) / 2, .end = end, .body = body, .arg = arg};
    t->loops++;
    t->wrong += !pthread_equal(t->caller, pthread_self());
    bool started = pthread_create(&other, NULL, run_half, &second) == 0;
    body(arg, begin, second.begin);
    if (started)
        pthread_join(other, NULL);
    else
        run_half(&second);
}

static void run_once(cts *c, gpuc_session *s, uint32_t seed)
{
    float x[CTS_N], w[CTS_N], y[CTS_N], back[CTS_N];
    gpuc_ndarray *out;
    cts_weight(w);
    cts_fill(x, CTS_N, seed);
    for (int i = 0; i < CTS_N; i++) y[i] = ((x[i] + w[i]) * 3 + 1) + w[i];
    gpuc_ndarray *in = cts_array(c, NULL, x, CTS_N);
    cts_ok(gpuc_session_set_input(s, 0, in));
    gpuc_ndarray_release(in);
    cts_ok(gpuc_session_run(s));
    cts_ok(gpuc_session_get_output(s, 0, &out));
    cts_ok(gpuc_ndarray_read(out, back, sizeof back));
    assert_memory_equal(back, y, sizeof y);
}

/* The loops of a run: of all steps, or of the one that is on the fallback device. */
static int loops_of_run(void)
{
    return cts_type == GPUC_DEVICE_CPU ? 3 : 1;
}

static void a_session_has_loops_of_its_own(void **state)
{
    (void)state;
    team first = {.caller = pthread_self()}, second = first;
    gpuc_session *s, *other;
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_FALLBACK, NULL);
    int n = loops_of_run();
    cts_ok(gpuc_session_create(m, &s));
    cts_ok(gpuc_session_create(m, &other));
    run_once(&c, s, 1);
    cts_ok(gpuc_session_set_parallel_for(s, run_loop, &first));
    run_once(&c, s, 2); /* with the plans of the run before */
    assert_int_equal(first.loops, n);
    run_once(&c, other, 3);
    assert_int_equal(first.loops, n);
    cts_ok(gpuc_session_set_parallel_for(s, run_loop, &second));
    run_once(&c, s, 4);
    assert_int_equal(first.loops, n);
    assert_int_equal(second.loops, n);
    cts_ok(gpuc_session_set_parallel_for(s, NULL, NULL));
    run_once(&c, s, 5);
    assert_int_equal(first.loops + second.loops, 2 * n);
    cts_fails(gpuc_session_set_parallel_for(NULL, run_loop, &first), GPUC_INVALID_ARGUMENT, "NULL");
    gpuc_session_release(other);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

typedef struct worker {
    cts *c;
    gpuc_model *model;
    team team;
    bool own;
    uint32_t seed;
} worker;

enum { RUNS = 50 };

static void *work(void *arg)
{
    worker *w = arg;
    gpuc_session *s;
    w->team.caller = pthread_self();
    cts_ok(gpuc_session_create(w->model, &s));
    if (w->own) cts_ok(gpuc_session_set_parallel_for(s, run_loop, &w->team));
    for (uint32_t r = 0; r < RUNS; r++) run_once(w->c, s, w->seed + r);
    gpuc_session_release(s);
    return NULL;
}

static void sessions_of_several_threads_have_different_loops(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    if (cts_simulated) skip();
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_FALLBACK, NULL);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.c = &c, .model = m, .own = i < 2, .seed = 1000 * i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].team.loops, workers[i].own ? RUNS * loops_of_run() : 0);
        assert_int_equal(workers[i].team.wrong, 0);
    }
    gpuc_model_release(m);
    cts_close(&c);
}

const struct CMUnitTest cts_loop_tests[] = {
    cmocka_unit_test(a_session_has_loops_of_its_own),
    cmocka_unit_test(sessions_of_several_threads_have_different_loops),
};
const size_t cts_num_loop_tests = sizeof cts_loop_tests / sizeof *cts_loop_tests;
