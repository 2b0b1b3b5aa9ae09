/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator fails at the first call, then at the second, ... until everything goes well. Each
 * time the failure is a status, and no memory is left. */
#include <stdlib.h>
#include <string.h>

#include "cts.h"

static float x[CTS_N], y[CTS_N];
static cts_model tried;
static int64_t length; /* of the result */

static void choose(cts_model model, uint32_t seed)
{
    float w[CTS_N];
    tried = model;
    length = model == CTS_COMPUTED ? 700 : CTS_N;
    cts_weight(w);
    cts_fill(x, CTS_N, seed);
    for (int i = 0; i < CTS_N; i++)
        y[i] = model == CTS_COMPUTED ? 0.5f * (2 * x[i] + 1) + 1 : (x[i] + w[i]) * 2 + 1;
}

static gpuc_status set_input(cts *c, gpuc_session *s, int i, gpuc_dtype t, int64_t n, const void *bytes)
{
    gpuc_ndarray *a;
    GPUC_TRY(gpuc_ndarray_create(c->rt, NULL, t, 1, &n, &a));
    gpuc_status status = gpuc_ndarray_write(a, bytes, (size_t)n * gpuc_dtype_bytes(t));
    if (!status) status = gpuc_session_set_input(s, i, a);
    gpuc_ndarray_release(a);
    return status;
}

static gpuc_status set_inputs(cts *c, gpuc_session *s)
{
    GPUC_TRY(set_input(c, s, 0, GPUC_FLOAT32, CTS_N, x));
    return tried == CTS_COMPUTED ? set_input(c, s, 1, GPUC_INT64, 1, &length) : NULL;
}

static gpuc_status check_result(gpuc_session *s)
{
    gpuc_ndarray *result;
    float back[CTS_N];
    size_t bytes = (size_t)length * sizeof *y;
    GPUC_TRY(gpuc_session_get_output(s, 0, &result));
    assert_int_equal(gpuc_ndarray_dims(result)[0], length);
    GPUC_TRY(gpuc_ndarray_read(result, back, bytes));
    return memcmp(back, y, bytes) ? gpuc_fail(GPUC_INTERNAL, "wrong results") : NULL;
}

static gpuc_status try_session(cts *c, gpuc_model *m, gpuc_session **out)
{
    GPUC_TRY(gpuc_session_create(m, out));
    GPUC_TRY(set_inputs(c, *out));
    for (gpuc_slice_progress p = {0}; !p.complete;) GPUC_TRY(gpuc_session_run_slice(*out, 0, &p));
    GPUC_TRY(check_result(*out));
    GPUC_TRY(gpuc_session_run(*out));
    return check_result(*out);
}

static gpuc_status try_all(cts *c, const char *path)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    desc.allow_native_code = true;
    GPUC_TRY(cts_try_open(c));
    desc.device = cts_model_device(c);
    gpuc_model *m = NULL;
    gpuc_session *session = NULL;
    gpuc_status s = gpuc_model_load(c->rt, &desc, &m);
    if (!s) s = try_session(c, m, &session);
    gpuc_session_release(session);
    gpuc_model_release(m);
    return s;
}

/* Launches, copies and tickets, without a session. */
static gpuc_status try_launches(cts *c, gpuc_code_module **module, gpuc_buffer *b[2], gpuc_stream *s[2])
{
    const gpuc_kernel *kernel = cts_kernel(cts_type, CTS_AFFINE);
    gpuc_module_blob blob = cts_blob(cts_type);
    const int64_t scalars[2] = {cts_float_scalar(2), CTS_N};
    const gpuc_step_tensor tensors[2] = {{.slot = 0, .size = sizeof x}, {.slot = 1, .size = sizeof x}};
    gpuc_step step = {.num_tensors = 2, .num_scalars = 2, .tensors = tensors, .scalars = scalars};
    gpuc_copy_end host = {.host = x}, end;
    float *back = y;
    uint64_t ticket;
    bool done;
    GPUC_TRY(cts_try_open(c));
    GPUC_TRY(c->api->module_load(c->dev, blob.type_key, blob.bytes, blob.size, &kernel, 1, module));
    for (int i = 0; i < 2; i++) {
        GPUC_TRY(c->api->alloc_data_space(c->dev, sizeof x, 256, &b[i]));
        GPUC_TRY(c->api->create_stream(c->dev, &s[i]));
    }
    step.module = *module;
    cts_launch(kernel, scalars, step.launch);
    const gpuc_binding slots[2] = {{.buffer = b[0], .size = sizeof x}, {.buffer = b[1], .size = sizeof x}};
    const gpuc_bindings bindings = {.slots = slots, .count = 2};
    end = (gpuc_copy_end){.buffer = b[0]};
    for (int i = 0; i < 3; i++) {
        GPUC_TRY(c->api->copy_data_from_to(c->dev, host, end, sizeof x, s[0]));
        GPUC_TRY(c->api->launch(c->dev, s[0], &step, &bindings));
    }
    GPUC_TRY(c->api->stream_signal(c->dev, s[0], &ticket));
    GPUC_TRY(c->api->stream_wait(c->dev, s[1], ticket));
    end.buffer = b[1];
    GPUC_TRY(c->api->read_later(c->dev, end, back, sizeof x, s[1]));
    GPUC_TRY(c->api->stream_flush(c->dev, s[1]));
    GPUC_TRY(c->api->stream_signal(c->dev, s[1], &ticket));
    GPUC_TRY(c->api->ticket_wait(c->dev, ticket, GPUC_FOREVER, &done));
    for (int i = 0; i < CTS_N; i++)
        if (back[i] != 2 * x[i] + 1) return gpuc_fail(GPUC_INTERNAL, "wrong results");
    return NULL;
}

static void check_failure(gpuc_status s, uint64_t at)
{
    gpuc_code code = gpuc_status_code(s);
    if (code != GPUC_OUT_OF_MEMORY && code != GPUC_OUT_OF_DEVICE_MEMORY)
        fail_msg("allocation %d failed, but the status is %s: %s", (int)at, gpuc_code_name(code),
                 gpuc_status_message(s));
    gpuc_status_release(s);
}

static void fail_everywhere(cts_model model)
{
    const char *path = cts_package(model, NULL);
    choose(model, 5);
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

static void every_allocation_of_a_launch_may_fail(void **state)
{
    (void)state;
    choose(CTS_STATIC, 8);
    for (uint64_t at = 1;; at++) {
        cts c = {.heap.fail_at = at};
        gpuc_code_module *module = NULL;
        gpuc_buffer *b[2] = {0};
        gpuc_stream *streams[2] = {0};
        gpuc_status s = try_launches(&c, &module, b, streams);
        bool reached = c.heap.calls >= at;
        for (int i = 0; i < 2 && c.dev; i++) {
            c.api->free_data_space(c.dev, b[i]);
            c.api->free_stream(c.dev, streams[i]);
        }
        if (c.dev) c.api->module_release(c.dev, module);
        gpuc_runtime_release(c.rt);
        assert_int_equal(c.heap.live, 0);
        if (s) check_failure(s, at);
        if (!reached) break;
        assert_true(s || at > 5);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_everywhere(CTS_STATIC);
}

static void every_allocation_may_fail_as_sizes_are_read(void **state)
{
    (void)state;
    fail_everywhere(CTS_COMPUTED);
}

/* A session that ran out of memory can be run again. */
static void repeat_after_failures(cts_model model)
{
    cts c;
    cts_open(&c);
    choose(model, 6);
    gpuc_model *m = cts_load(&c, model, NULL);
    for (uint64_t at = 1;; at++) {
        gpuc_session *s;
        cts_ok(gpuc_session_create(m, &s));
        cts_ok(set_inputs(&c, s));
        c.heap.calls = 0;
        c.heap.fail_at = at;
        gpuc_status status = gpuc_session_run(s);
        c.heap.fail_at = 0;
        bool failed = status != NULL;
        if (failed) check_failure(status, at);
        if (failed) cts_ok(gpuc_session_run(s));
        cts_ok(check_result(s));
        gpuc_session_release(s);
        if (c.heap.calls < at) break;
    }
    gpuc_model_release(m);
    cts_close(&c);
}

static void a_failed_run_can_be_repeated(void **state)
{
    (void)state;
    repeat_after_failures(CTS_STATIC);
}

static void a_run_that_failed_as_sizes_were_read_can_be_repeated(void **state)
{
    (void)state;
    repeat_after_failures(CTS_COMPUTED);
}

/* Whatever number is read, the session goes on with the next. */
static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        gpuc_code code;
        const char *text;
    } wrong[] = {
        {-1, GPUC_INVALID_DATA, "'n' is computed as -1, beyond 0 to 2147483648"},
        {INT64_MIN, GPUC_INVALID_DATA, "beyond 0 to 2147483648"},
        {INT64_MAX, GPUC_INVALID_DATA, "beyond 0 to 2147483648"},
        {CTS_N + 1, GPUC_INVALID_ARGUMENT, "sizes that the model computes do not fit: 'x' has 1000 elements"},
        {GPUC_MAX_EXTENT, GPUC_INVALID_ARGUMENT, "'x' has 1000 elements"},
    };
    static const int64_t right[] = {0, 1, CTS_N, 3, 999};
    cts c;
    gpuc_session *s;
    cts_open(&c);
    choose(CTS_COMPUTED, 7);
    gpuc_model *m = cts_load(&c, CTS_COMPUTED, NULL);
    cts_ok(gpuc_session_create(m, &s));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        length = wrong[i].n;
        cts_ok(set_inputs(&c, s));
        cts_fails(gpuc_session_run(s), wrong[i].code, wrong[i].text);
        length = right[i];
        cts_ok(set_inputs(&c, s));
        cts_ok(gpuc_session_run(s));
        cts_ok(check_result(s));
    }
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

const struct CMUnitTest cts_fault_tests[] = {
    cmocka_unit_test(every_allocation_of_a_launch_may_fail),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(every_allocation_may_fail_as_sizes_are_read),
    cmocka_unit_test(a_failed_run_can_be_repeated),
    cmocka_unit_test(a_run_that_failed_as_sizes_were_read_can_be_repeated),
    cmocka_unit_test(wrong_sizes_are_refused),
};
const size_t cts_num_fault_tests = sizeof cts_fault_tests / sizeof *cts_fault_tests;
