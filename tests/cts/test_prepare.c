/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose kernels are made ahead of their first run: progress, stops, threads, variants. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cts.h"

static gpuc_status try_load(cts *c, const char *path, bool defer, gpuc_model **out)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    desc.allow_native_code = true;
    desc.defer = defer;
    return gpuc_model_load(c->rt, &desc, out);
}

static gpuc_model *load(cts *c, const char *path, bool defer)
{
    gpuc_model *m;
    cts_ok(try_load(c, path, defer, &m));
    return m;
}

/* y = 2 (x + w) + plus. */
static gpuc_status try_run(cts *c, gpuc_session *s, uint32_t seed, float plus)
{
    float x[CTS_N], w[CTS_N], y[CTS_N];
    int64_t n = CTS_N;
    gpuc_ndarray *a;
    cts_fill(x, CTS_N, seed);
    cts_weight(w);
    GPUC_TRY(gpuc_ndarray_create(c->rt, NULL, GPUC_FLOAT32, 1, &n, &a));
    gpuc_status status = gpuc_ndarray_write(a, x, sizeof x);
    if (!status) status = gpuc_session_set_input(s, 0, a);
    gpuc_ndarray_release(a);
    GPUC_TRY(status);
    GPUC_TRY(gpuc_session_run(s));
    GPUC_TRY(gpuc_session_get_output(s, 0, &a));
    GPUC_TRY(gpuc_ndarray_read(a, y, sizeof y));
    for (int i = 0; i < CTS_N; i++)
        if (y[i] != (x[i] + w[i]) * 2 + plus)
            return gpuc_fail(GPUC_INTERNAL, "item %d: %g instead of %g", i, (double)y[i],
                             (double)((x[i] + w[i]) * 2 + plus));
    return NULL;
}

static void run_model(cts *c, gpuc_model *m, float plus)
{
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    for (uint32_t r = 0; r < 2; r++) cts_ok(try_run(c, s, r, plus));
    gpuc_session_release(s);
}

/* What a preparation said. */
typedef struct watch {
    uint32_t calls, first, last, total, stop_at; /* stop_at: 0 is never */
    atomic_uint inside;
    bool wrong;
} watch;

static bool on_progress(void *user, uint32_t done, uint32_t total, const char *name)
{
    watch *w = user;
    if (atomic_fetch_add(&w->inside, 1) != 0) w->wrong = true; /* one call at a time */
    if (!name || !name[0]) w->wrong = true;
    if (w->calls == 0) {
        w->first = done;
        w->total = total;
    } else if (done != w->last + 1 || total != w->total) {
        w->wrong = true;
    }
    w->calls++;
    w->last = done;
    atomic_fetch_sub(&w->inside, 1);
    return done != w->stop_at;
}

/* Prepares, and gives the number of calls; the last one was for the total. */
static uint32_t prepare(gpuc_model *m)
{
    watch w = {0};
    cts_ok(gpuc_model_prepare(m, on_progress, &w));
    assert_false(w.wrong);
    assert_int_equal(w.last, w.total);
    if (w.calls) assert_int_equal(w.total - w.first + 1, w.calls);
    return w.calls;
}

static void progress_counts_to_the_total(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    const char *path = cts_package(CTS_STATIC, NULL);
    for (int defer = 0; defer < 2; defer++) {
        gpuc_model *m = load(&c, path, defer);
        uint32_t nodes = (uint32_t)gpuc_model_num_nodes(m);
        uint32_t calls = prepare(m);
        assert_true(defer ? calls > nodes : calls == nodes); /* each is run once, ahead */
        assert_int_equal(prepare(m), 0);                     /* nothing is left */
        run_model(&c, m, 1);
        gpuc_model_release(m);
        m = load(&c, path, defer); /* nobody asks */
        cts_ok(gpuc_model_prepare(m, NULL, NULL));
        run_model(&c, m, 1);
        gpuc_model_release(m);
    }
    cts_fails(gpuc_model_prepare(NULL, NULL, NULL), GPUC_INVALID_ARGUMENT, "'model' is NULL");
    cts_close(&c);
}

static void models_of_all_kinds_are_prepared(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    for (int model = CTS_STATIC; model <= CTS_WINDOWS; model++) {
        gpuc_model *m = load(&c, cts_package((cts_model)model, NULL), true);
        prepare(m);
        assert_int_equal(prepare(m), 0);
        gpuc_model_release(m);
    }
    cts_close(&c);
}

static void a_model_that_is_not_prepared_runs(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m = load(&c, cts_package(CTS_STATIC, NULL), true);
    run_model(&c, m, 1);
    run_model(&c, m, 1);
    gpuc_model_release(m);
    m = load(&c, cts_package(CTS_STATIC, NULL), true); /* nothing is made of it at all */
    gpuc_model_release(m);
    cts_close(&c);
}

static void it_stops_at_each_position_and_goes_on(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    const char *path = cts_package(CTS_STATIC, NULL);
    gpuc_model *m = load(&c, path, true);
    uint32_t total = prepare(m);
    gpuc_model_release(m);
    for (uint32_t at = 1; at <= total; at++)
        for (int run = 0; run < 2; run++) {
            watch w = {.stop_at = at};
            m = load(&c, path, true);
            cts_fails(gpuc_model_prepare(m, on_progress, &w), GPUC_CANCELLED, "stopped by the application");
            assert_int_equal(w.calls, at); /* none after that */
            if (run) run_model(&c, m, 1);
            assert_true(prepare(m) < total || at == 1 || at > total - (uint32_t)gpuc_model_num_nodes(m));
            run_model(&c, m, 1);
            gpuc_model_release(m);
        }
    cts_close(&c);
}

/* One more step at each call ends, too. */
static void it_can_be_made_bit_by_bit(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m = load(&c, cts_package(CTS_SYMBOLIC, NULL), true);
    for (int i = 0;; i++) {
        watch w = {.stop_at = 1};
        assert_true(i < 10);
        gpuc_status s = gpuc_model_prepare(m, on_progress, &w);
        if (!s) break;
        cts_fails(s, GPUC_CANCELLED, "");
        w.stop_at = w.last + 1;
    }
    gpuc_model_release(m);
    cts_close(&c);
}

/* ---- Threads ---- */

static void in_pieces(void *user, int64_t begin, int64_t end,
                      void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    int *loops = user;
    ++*loops;
    for (int64_t i = begin; i < end; i++) body(arg, i, i + 1);
}

static void any_number_of_threads_makes_the_same(void **state)
{
    (void)state;
    if (cts_simulated) skip();
    static const int threads[] = {0, 1, 2, 16};
    int loops = 0;
    for (size_t i = 0; i <= sizeof threads / sizeof *threads; i++) {
        gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
        bool own = i == sizeof threads / sizeof *threads;
        if (own) {
            desc.parallel_for = in_pieces;
            desc.parallel_user = &loops;
        } else {
            desc.num_threads = threads[i];
        }
        cts c = {0};
        cts_ok(cts_try_open_with(&c, desc));
        gpuc_model *m = load(&c, cts_package(CTS_FALLBACK, NULL), true);
        prepare(m);
        gpuc_model_release(m);
        m = load(&c, cts_package(CTS_STATIC, NULL), true);
        prepare(m);
        run_model(&c, m, 1);
        gpuc_model_release(m);
        cts_close(&c);
    }
    assert_true(loops > 0); /* the application's threads are taken: two devices have a part each */
}

typedef struct user {
    pthread_t thread;
    cts *c;
    gpuc_model *m;
    bool runs, rich;
    gpuc_status status;
} user;

static void *use(void *arg)
{
    user *u = arg;
    gpuc_session *s;
    watch w = {0};
    if (!u->runs) {
        u->status = gpuc_model_prepare(u->m, on_progress, &w);
        if (!u->status && (w.wrong || w.last != w.total)) u->status = gpuc_fail(GPUC_INTERNAL, "progress");
        return NULL;
    }
    u->status = gpuc_session_create(u->m, &s);
    if (u->status) return NULL;
    for (uint32_t i = 0; !u->status && i < 20; i++) {
        u->status = try_run(u->c, s, i, 1);
        if (!u->status || !u->rich) continue;
        gpuc_status_release(u->status); /* or, from some run on, by the variant */
        u->status = try_run(u->c, s, i, 2);
    }
    gpuc_session_release(s);
    return NULL;
}

static void it_may_run_meanwhile(cts *c, const cts_package_options *options)
{
    const char *path = cts_package(CTS_STATIC, options);
    for (int round = 0; round < (cts_simulated ? 1 : 5); round++) {
        user users[4];
        gpuc_model *m = load(c, path, true);
        for (int i = 0; i < 4; i++) {
            users[i] = (user){.c = c, .m = m, .runs = i % 2, .rich = options};
            assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
        }
        for (int i = 0; i < 4; i++) pthread_join(users[i].thread, NULL);
        for (int i = 0; i < 4; i++) cts_ok(users[i].status);
        run_model(c, m, options ? 2 : 1);
        gpuc_model_release(m);
    }
}

static void preparations_and_runs_side_by_side(void **state)
{
    (void)state;
    if (cts_simulated) skip();
    cts c;
    cts_open(&c);
    it_may_run_meanwhile(&c, NULL);
    const cts_package_options rich = {.rich = true};
    if (!cts_defaults) it_may_run_meanwhile(&c, &rich);
    cts_close(&c);
}

/* ---- Variants ---- */

static void the_general_kernel_runs_until_the_variant_is_made(void **state)
{
    (void)state;
    if (cts_defaults) skip();
    cts c;
    gpuc_session *s;
    cts_open(&c);
    const cts_package_options options = {.rich = true};
    const char *path = cts_package(CTS_STATIC, &options);
    gpuc_model *m = load(&c, path, false); /* which makes the variant only */
    run_model(&c, m, 2);
    gpuc_model_release(m);

    m = load(&c, path, true);
    cts_ok(gpuc_session_create(m, &s));
    for (int i = 0; i < 3; i++) cts_ok(try_run(&c, s, 1, 1));
    assert_string_equal(gpuc_model_node_step(m, 1, 0).variant, "affine");
    watch w = {.stop_at = 2}; /* as soon as it is made: the first part was */
    cts_fails(gpuc_model_prepare(m, on_progress, &w), GPUC_CANCELLED, "");
    prepare(m);
    for (int i = 0; i < 3; i++) cts_ok(try_run(&c, s, 1, 2));
    assert_string_equal(gpuc_model_node_step(m, 1, 0).variant, "affine_rich");
    gpuc_session_release(s);
    gpuc_model_release(m);

    m = load(&c, path, true); /* prepared before anything runs: as if it had not been deferred */
    prepare(m);
    run_model(&c, m, 2);
    gpuc_model_release(m);
    cts_close(&c);
}

/* The plans of a stepped session change in the middle of an inference. */
static void a_variant_comes_between_two_operators(void **state)
{
    (void)state;
    if (cts_defaults) skip();
    cts c;
    gpuc_session *s;
    gpuc_ndarray *value;
    float x[CTS_N], w[CTS_N], y[CTS_N];
    cts_open(&c);
    const cts_package_options options = {.rich = true};
    gpuc_model *m = load(&c, cts_package(CTS_STATIC, &options), true);
    cts_ok(gpuc_session_create_stepped(m, &s));
    cts_fill(x, CTS_N, 4);
    cts_weight(w);
    gpuc_ndarray *a = cts_array(&c, NULL, x, CTS_N);
    cts_ok(gpuc_session_set_input(s, 0, a));
    gpuc_ndarray_release(a);
    cts_ok(gpuc_session_run_node(s, 0));
    prepare(m);
    cts_ok(gpuc_session_run_node(s, 1));
    cts_ok(gpuc_session_get_output(s, 0, &value));
    cts_ok(gpuc_ndarray_read(value, y, sizeof y));
    for (int i = 0; i < CTS_N; i++) assert_true(y[i] == (x[i] + w[i]) * 2 + 2);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

/* ---- Out of memory ---- */

static gpuc_status try_all(cts *c, const char *path, gpuc_model **m, gpuc_session **s)
{
    watch w = {0};
    GPUC_TRY(cts_try_open(c));
    GPUC_TRY(try_load(c, path, true, m));
    GPUC_TRY(gpuc_session_create(*m, s));
    GPUC_TRY(try_run(c, *s, 1, 1));
    GPUC_TRY(gpuc_model_prepare(*m, on_progress, &w));
    return try_run(c, *s, 2, cts_defaults ? 1 : 2);
}

static void every_allocation_may_fail_as_it_is_prepared(void **state)
{
    (void)state;
    const cts_package_options options = {.rich = !cts_defaults};
    const char *path = cts_package(CTS_STATIC, &options);
    for (uint64_t at = 1;; at++) {
        cts c = {.heap.fail_at = at};
        gpuc_model *m = NULL;
        gpuc_session *s = NULL;
        gpuc_status status = try_all(&c, path, &m, &s);
        gpuc_code code = gpuc_status_code(status);
        bool reached = c.heap.calls >= at;
        if (code != GPUC_OK && code != GPUC_OUT_OF_MEMORY && code != GPUC_OUT_OF_DEVICE_MEMORY)
            fail_msg("allocation %d failed: %s", (int)at, gpuc_status_message(status));
        gpuc_status_release(status);
        if (status && m) { /* what is left is made now */
            cts_ok(gpuc_model_prepare(m, NULL, NULL));
            run_model(&c, m, cts_defaults ? 1 : 2);
        }
        gpuc_session_release(s);
        gpuc_model_release(m);
        gpuc_runtime_release(c.rt);
        assert_int_equal(c.heap.live, 0);
        if (!reached) break;
    }
}

const struct CMUnitTest cts_prepare_tests[] = {
    cmocka_unit_test(progress_counts_to_the_total),
    cmocka_unit_test(models_of_all_kinds_are_prepared),
    cmocka_unit_test(a_model_that_is_not_prepared_runs),
    cmocka_unit_test(it_stops_at_each_position_and_goes_on),
    cmocka_unit_test(it_can_be_made_bit_by_bit),
    cmocka_unit_test(any_number_of_threads_makes_the_same),
    cmocka_unit_test(preparations_and_runs_side_by_side),
    cmocka_unit_test(the_general_kernel_runs_until_the_variant_is_made),
    cmocka_unit_test(a_variant_comes_between_two_operators),
    cmocka_unit_test(every_allocation_may_fail_as_it_is_prepared),
};
const size_t cts_num_prepare_tests = sizeof cts_prepare_tests / sizeof *cts_prepare_tests;
