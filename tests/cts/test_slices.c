/* SPDX-License-Identifier: Apache-2.0 */
/* Inferences in slices give what a run gives, whatever the budget, and end where they must. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cts.h"

#define LENGTH 777 /* of a symbolic extent */

static void set_inputs_of(cts *c, gpuc_session *s, uint32_t seed, int64_t length)
{
    gpuc_model *m = gpuc_session_model(s);
    for (int i = 0; i < gpuc_model_num_inputs(m); i++) {
        gpuc_tensor_info t = gpuc_model_input(m, i);
        int64_t n = t.ndim == 0 ? 1 : t.dims[0] < 0 ? length : t.dims[0], number = length;
        float x[CTS_N];
        bool floats = gpuc_dtype_equal(t.dtype, GPUC_FLOAT32);
        gpuc_ndarray *a;
        cts_fill(x, CTS_N, seed + (uint32_t)i);
        cts_ok(gpuc_ndarray_create(c->rt, NULL, t.dtype, t.ndim, &n, &a));
        cts_ok(gpuc_ndarray_write(a, floats ? (void *)x : &number, gpuc_ndarray_bytes(a)));
        cts_ok(gpuc_session_set_input(s, i, a));
        gpuc_ndarray_release(a);
    }
}

static void set_inputs(cts *c, gpuc_session *s, uint32_t seed)
{
    set_inputs_of(c, s, seed, LENGTH);
}

static void same_outputs(gpuc_session *a, gpuc_session *b)
{
    for (int i = 0; i < gpuc_model_num_outputs(gpuc_session_model(a)); i++) {
        gpuc_ndarray *x, *y;
        float of_x[CTS_N], of_y[CTS_N];
        cts_ok(gpuc_session_get_output(a, i, &x));
        cts_ok(gpuc_session_get_output(b, i, &y));
        size_t bytes = gpuc_ndarray_bytes(x);
        assert_int_equal(bytes, gpuc_ndarray_bytes(y));
        cts_ok(gpuc_ndarray_read(x, of_x, bytes));
        cts_ok(gpuc_ndarray_read(y, of_y, bytes));
        assert_memory_equal(of_x, of_y, bytes);
    }
}

/* Returns the number of slices. */
static int run_in_slices(gpuc_session *s, uint32_t budget_us, bool wait)
{
    gpuc_slice_progress before = {0}, now;
    for (int slices = 1;; slices++) {
        gpuc_ndarray *none;
        assert_true(slices < 1000);
        cts_ok(gpuc_session_run_slice(s, budget_us, &now));
        if (wait) cts_ok(gpuc_session_sync(s));
        assert_int_equal(now.num_operators, gpuc_model_num_nodes(gpuc_session_model(s)));
        assert_true(now.operators >= before.operators && now.operators <= now.num_operators);
        assert_true(now.fraction >= before.fraction && now.fraction <= 1 && now.device_us >= 0);
        if (now.complete) {
            assert_int_equal(now.operators, now.num_operators);
            assert_true(now.fraction == 1);
            return slices;
        }
        cts_fails(gpuc_session_get_output(s, 0, &none), GPUC_INVALID_ARGUMENT, "no run has filled it");
        before = now;
    }
}

static gpuc_session *open_session(gpuc_model *m)
{
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    return s;
}

static void slices_are_a_run(void **state)
{
    (void)state;
    static const cts_model models[] = {CTS_STATIC, CTS_SYMBOLIC, CTS_COMPUTED, CTS_FALLBACK,
                                       CTS_SHARED, CTS_CHAIN,    CTS_WINDOWS};
    static const uint32_t budgets[] = {0, 1, 3, 10, 40, 200, 1000, UINT32_MAX, 0, 7};
    cts c;
    cts_open(&c);
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        if (models[k] == CTS_FALLBACK && cts_type == GPUC_DEVICE_CPU) continue;
        gpuc_model *m = cts_load(&c, models[k], NULL);
        gpuc_session *whole = open_session(m), *cut = open_session(m);
        for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
            set_inputs(&c, whole, (uint32_t)i);
            set_inputs(&c, cut, (uint32_t)i);
            cts_ok(gpuc_session_run(whole));
            int slices = run_in_slices(cut, budgets[i], i % 2);
            if (budgets[i] == UINT32_MAX) assert_true(slices == 1 || models[k] == CTS_FALLBACK);
            if (budgets[i] == 0 && models[k] == CTS_CHAIN) assert_true(slices >= 6);
            same_outputs(whole, cut);
        }
        gpuc_session_release(whole);
        gpuc_session_release(cut);
        gpuc_model_release(m);
    }
    cts_close(&c);
}

/* Each of the 16 work-groups of a kernel runs in a slice of its own where the device can cut. */
static void a_kernel_is_cut(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_CHAIN, NULL);
    gpuc_session *s = open_session(m);
    set_inputs(&c, s, 1);
    bool cuts = !cts_defaults;
    int slices = run_in_slices(s, 0, true), groups = (CTS_N + 63) / 64;
    assert_int_equal(slices, cuts ? 6 * groups : 6);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void an_inference_ends_in_the_middle(void **state)
{
    (void)state;
    cts c;
    gpuc_slice_progress p, first;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_CHAIN, NULL);
    gpuc_session *whole = open_session(m), *s = open_session(m);
    gpuc_ndarray *out = cts_array(&c, c.dev, NULL, CTS_N), *in = cts_array(&c, c.dev, NULL, CTS_N);
    for (uint32_t how = 0; how < 4; how++) {
        set_inputs(&c, whole, how);
        set_inputs(&c, s, how + 100);
        cts_ok(gpuc_session_run_slice(s, 0, &first));
        for (int i = 0; i < 3; i++) cts_ok(gpuc_session_run_slice(s, 0, NULL));
        if (how == 2) cts_ok(gpuc_session_bind_output(s, 0, out));
        if (how == 3) cts_ok(gpuc_session_bind_input(s, 0, in));
        set_inputs(&c, s, how);
        if (how == 1) cts_ok(gpuc_session_run(s));
        cts_ok(gpuc_session_run_slice(s, 0, &p));
        assert_int_equal(p.operators, first.operators);
        assert_false(p.complete);
        run_in_slices(s, how, true);
        cts_ok(gpuc_session_run(whole));
        same_outputs(whole, s);
    }
    gpuc_session_release(s);
    gpuc_session_release(whole);
    gpuc_ndarray_release(out);
    gpuc_ndarray_release(in);
    gpuc_model_release(m);
    cts_fails(gpuc_session_run_slice(NULL, 1, &p), GPUC_INVALID_ARGUMENT, "");
    cts_close(&c);
}

/* Other extents, or a plan for some, end an inference; those that come again find their plans and times. */
static void extents_change_between_slices(void **state)
{
    (void)state;
    static const int64_t lengths[] = {900, 5, 640, 1, 900, 64, 5, 320, 900};
    static const cts_model models[] = {CTS_SYMBOLIC, CTS_COMPUTED};
    cts c;
    cts_open(&c);
    for (int k = 0; k < 2; k++) {
        gpuc_model *m = cts_load(&c, models[k], NULL);
        gpuc_session *whole = open_session(m), *cut = open_session(m);
        for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            gpuc_slice_progress p;
            set_inputs_of(&c, whole, i, lengths[i]);
            set_inputs_of(&c, cut, i, lengths[i]);
            cts_ok(gpuc_session_run(whole));
            if (i % 3 == 1) { /* one is under way meanwhile */
                const int64_t other = 100;
                const int64_t *const planned[] = {&other, &other};
                cts_ok(gpuc_session_run_slice(cut, 0, NULL));
                if (models[k] == CTS_SYMBOLIC) cts_ok(gpuc_session_plan(cut, planned));
            }
            run_in_slices(cut, i % 2 ? 0 : 20, i % 4 == 0);
            same_outputs(whole, cut);
            cts_ok(gpuc_session_run_slice(cut, 0, &p)); /* of the next, which the next extents end */
        }
        gpuc_session_release(whole);
        gpuc_session_release(cut);
        gpuc_model_release(m);
    }
    cts_close(&c);
}

/* Each session is as far as its own slices. */
static void sessions_slice_in_turns(void **state)
{
    (void)state;
    enum { SESSIONS = 3 };
    static const cts_model models[] = {CTS_CHAIN, CTS_COMPUTED};
    cts c;
    cts_open(&c);
    for (int k = 0; k < 2; k++) {
        gpuc_model *m = cts_load(&c, models[k], NULL);
        gpuc_session *whole = open_session(m), *cut[SESSIONS];
        gpuc_slice_progress p[SESSIONS] = {0};
        for (uint32_t i = 0; i < SESSIONS; i++) {
            cut[i] = open_session(m);
            set_inputs(&c, cut[i], i);
        }
        for (int left = SESSIONS, turn = 0; left > 0; turn++) {
            int i = turn % SESSIONS;
            gpuc_slice_progress before = p[i];
            assert_true(turn < 1000);
            if (before.complete || (i == 2 && turn % 2)) continue; /* the last has half as many turns */
            cts_ok(gpuc_session_run_slice(cut[i], 0, &p[i]));
            assert_true(p[i].operators >= before.operators && p[i].fraction >= before.fraction);
            left -= p[i].complete;
        }
        for (uint32_t i = 0; i < SESSIONS; i++) {
            set_inputs(&c, whole, i);
            cts_ok(gpuc_session_run(whole));
            same_outputs(whole, cut[i]);
            gpuc_session_release(cut[i]);
        }
        gpuc_session_release(whole);
        gpuc_model_release(m);
    }
    cts_close(&c);
}

/* Runs are still in flight where slices begin, and slices where runs do; what goes away is waited for. */
static void slices_and_runs_in_flight(void **state)
{
    (void)state;
    static const cts_model models[] = {CTS_STATIC, CTS_CHAIN, CTS_COMPUTED, CTS_FALLBACK};
    cts c;
    cts_open(&c);
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        if (models[k] == CTS_FALLBACK && cts_type == GPUC_DEVICE_CPU) continue;
        gpuc_model *m = cts_load(&c, models[k], NULL);
        gpuc_session *whole = open_session(m), *cut = open_session(m);
        for (uint32_t i = 0; i < 6; i++) {
            set_inputs(&c, whole, i);
            set_inputs(&c, cut, i + 50);
            cts_ok(gpuc_session_run(whole));
            cts_ok(gpuc_session_run(cut));
            set_inputs(&c, cut, i);
            run_in_slices(cut, i, false);
            same_outputs(whole, cut);
            set_inputs(&c, cut, i + 60);
            cts_ok(gpuc_session_run_slice(cut, 0, NULL));
            set_inputs(&c, cut, i);
            cts_ok(gpuc_session_run(cut));
            same_outputs(whole, cut);
            cts_ok(gpuc_session_run_slice(cut, i, NULL));
            if (i < 4) continue;
            gpuc_session_release(cut); /* in the middle, its slice still in flight */
            cut = open_session(m);
        }
        set_inputs(&c, cut, 1);
        cts_ok(gpuc_session_run_slice(cut, 0, NULL));
        gpuc_session_release(whole);
        gpuc_model_release(m);
        gpuc_session_release(cut); /* the last that holds the model */
    }
    cts_close(&c);
}

static void an_input_is_missing(void **state)
{
    (void)state;
    cts c;
    gpuc_slice_progress p;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL);
    gpuc_session *s = open_session(m);
    cts_fails(gpuc_session_run_slice(s, 100, &p), GPUC_INVALID_ARGUMENT, "'x' has not been set");
    assert_false(p.complete);
    set_inputs(&c, s, 1);
    run_in_slices(s, 100, true);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

/* Where steps are measured, slices are. */
static void slices_are_measured(void **state)
{
    (void)state;
    if (cts_defaults || cts_simulated) skip();
    cts c;
    gpuc_slice_progress p;
    double told = 0;
    gpuc_step_profile steps[8];
    int count = 8;
    cts_open(&c);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *m;
    desc.path = cts_package(CTS_CHAIN, NULL);
    desc.allow_native_code = desc.profiling = true;
    cts_ok(gpuc_model_load(c.rt, &desc, &m));
    gpuc_session *s = open_session(m);
    set_inputs(&c, s, 1);
    cts_ok(gpuc_session_run(s));
    bool measured = cts_measured(gpuc_session_profile(s, steps, &count));
    for (int i = 0; i < 4; i++) {
        do {
            cts_ok(gpuc_session_run_slice(s, 0, &p));
            cts_ok(gpuc_session_sync(s));
            told += p.device_us;
        } while (!p.complete);
    }
    assert_true(told > 0 || !measured);
    cts_fails(gpuc_session_profile(s, steps, &count), GPUC_INVALID_ARGUMENT, "or was in slices");
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

typedef struct worker {
    cts *c;
    gpuc_model *m;
    uint32_t seed;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    gpuc_session *whole = open_session(w->m), *cut = open_session(w->m);
    for (uint32_t i = 0; i < 20; i++) {
        set_inputs(w->c, whole, w->seed + i);
        set_inputs(w->c, cut, w->seed + i);
        run_in_slices(cut, i % 3, i % 5 == 0);
        cts_ok(gpuc_session_run(whole));
        same_outputs(whole, cut);
    }
    gpuc_session_release(whole);
    gpuc_session_release(cut);
    return NULL;
}

static void several_threads_slice(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    if (cts_simulated) skip();
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_CHAIN, NULL);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){&c, m, 1000 * i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    gpuc_model_release(m);
    cts_close(&c);
}

const struct CMUnitTest cts_slice_tests[] = {
    cmocka_unit_test(slices_are_a_run),
    cmocka_unit_test(a_kernel_is_cut),
    cmocka_unit_test(an_inference_ends_in_the_middle),
    cmocka_unit_test(extents_change_between_slices),
    cmocka_unit_test(sessions_slice_in_turns),
    cmocka_unit_test(slices_and_runs_in_flight),
    cmocka_unit_test(an_input_is_missing),
    cmocka_unit_test(slices_are_measured),
    cmocka_unit_test(several_threads_slice),
};
const size_t cts_num_slice_tests = sizeof cts_slice_tests / sizeof *cts_slice_tests;
