/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator fails at the first call, then at the second, ... until everything goes well. Each
 * time the failure is a status, and no memory is left. */
#include <stdlib.h>
#include <string.h>

#include "cts.h"

static float x[CTS_N], y[CTS_N];

static gpuc_status try_session(cts *c, gpuc_model *m, gpuc_session **out)
{
    gpuc_ndarray *in = NULL, *result = NULL;
    const int64_t n = CTS_N;
    float back[CTS_N];
    GPUC_TRY(gpuc_session_create(m, out));
    gpuc_status s = gpuc_ndarray_create(c->rt, NULL, GPUC_FLOAT32, 1, &n, &in);
    if (!s) s = gpuc_ndarray_write(in, x, sizeof x);
    if (!s) s = gpuc_session_set_input(*out, 0, in);
    if (!s) s = gpuc_session_run(*out);
    if (!s) s = gpuc_session_get_output(*out, 0, &result);
    if (!s) s = gpuc_ndarray_read(result, back, sizeof back);
    if (!s && memcmp(back, y, sizeof y) != 0) s = gpuc_fail(GPUC_INTERNAL, "wrong results");
    gpuc_ndarray_release(in);
    return s;
}

static gpuc_status try_all(cts *c, const char *path)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    desc.allow_native_code = true;
    GPUC_TRY(cts_try_open(c));
    gpuc_model *m = NULL;
    gpuc_session *session = NULL;
    gpuc_status s = gpuc_model_load(c->rt, &desc, &m);
    if (!s) s = try_session(c, m, &session);
    gpuc_session_release(session);
    gpuc_model_release(m);
    return s;
}

static void check_failure(gpuc_status s, uint64_t at)
{
    gpuc_code code = gpuc_status_code(s);
    if (code != GPUC_OUT_OF_MEMORY && code != GPUC_OUT_OF_DEVICE_MEMORY)
        fail_msg("allocation %d failed, but the status is %s: %s", (int)at, gpuc_code_name(code),
                 gpuc_status_message(s));
    gpuc_status_release(s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const char *path = cts_package(CTS_STATIC, NULL);
    float w[CTS_N];
    cts_weight(w);
    cts_fill(x, CTS_N, 5);
    for (int i = 0; i < CTS_N; i++) y[i] = (x[i] + w[i]) * 2 + 1;
    uint64_t at = 1;
    for (;; at++) {
        cts c = {.heap.fail_at = at};
        gpuc_status s = try_all(&c, path);
        bool reached = c.heap.calls >= at;
        gpuc_runtime_release(c.rt);
        assert_int_equal(c.heap.live, 0);
        if (s) check_failure(s, at);
        if (!reached) {
            assert_true(at > 10);
            break;
        }
    }
    print_message("%d allocations\n", (int)at - 1);
}

/* A session that ran out of memory can be run again. */
static void a_failed_run_can_be_repeated(void **state)
{
    (void)state;
    float w[CTS_N];
    cts c;
    cts_open(&c);
    cts_weight(w);
    cts_fill(x, CTS_N, 6);
    for (int i = 0; i < CTS_N; i++) y[i] = (x[i] + w[i]) * 2 + 1;
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL);
    gpuc_ndarray *in = cts_array(&c, NULL, x, CTS_N), *out;
    for (uint64_t at = 1;; at++) {
        float back[CTS_N];
        gpuc_session *s;
        cts_ok(gpuc_session_create(m, &s));
        cts_ok(gpuc_session_set_input(s, 0, in));
        c.heap.calls = 0;
        c.heap.fail_at = at;
        gpuc_status status = gpuc_session_run(s);
        c.heap.fail_at = 0;
        bool failed = status != NULL;
        if (failed) check_failure(status, at);
        if (failed) cts_ok(gpuc_session_run(s));
        cts_ok(gpuc_session_get_output(s, 0, &out));
        cts_ok(gpuc_ndarray_read(out, back, sizeof back));
        assert_memory_equal(back, y, sizeof y);
        gpuc_session_release(s);
        if (c.heap.calls < at) break;
    }
    gpuc_ndarray_release(in);
    gpuc_model_release(m);
    cts_close(&c);
}

const struct CMUnitTest cts_fault_tests[] = {
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(a_failed_run_can_be_repeated),
};
const size_t cts_num_fault_tests = sizeof cts_fault_tests / sizeof *cts_fault_tests;
