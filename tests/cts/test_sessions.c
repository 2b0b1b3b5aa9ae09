/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cts.h"

#define MAX_N 5000

static void set_host_input(cts *c, gpuc_session *s, int i, const float *values, int64_t n)
{
    gpuc_ndarray *a = cts_array(c, NULL, values, n);
    cts_ok(gpuc_session_set_input(s, i, a));
    gpuc_ndarray_release(a);
}

static void check_output(gpuc_session *s, int i, const float *expect, int64_t n)
{
    static float back[MAX_N];
    gpuc_ndarray *a;
    cts_ok(gpuc_session_get_output(s, i, &a));
    assert_int_equal(gpuc_ndarray_ndim(a), 1);
    assert_int_equal(gpuc_ndarray_dims(a)[0], n);
    cts_ok(gpuc_ndarray_read(a, back, (size_t)n * 4));
    for (int64_t j = 0; j < n; j++)
        if (back[j] != expect[j])
            fail_msg("output %d, item %d: %g instead of %g", i, (int)j, back[j], expect[j]);
}

static void expect_static(const float *x, float *y)
{
    float w[CTS_N];
    cts_weight(w);
    for (int i = 0; i < CTS_N; i++) y[i] = (x[i] + w[i]) * 2 + 1;
}

static void a_model_runs_again_and_again(void **state)
{
    (void)state;
    float x[CTS_N], y[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL);
    assert_ptr_equal(gpuc_model_device(m), c.dev);
    assert_string_equal(gpuc_model_target(m), cts_target);
    assert_string_equal(gpuc_model_fallback_reason(m), "");
    assert_int_equal(gpuc_model_num_inputs(m), 1);
    assert_int_equal(gpuc_model_num_outputs(m), 1);
    assert_string_equal(gpuc_model_input(m, 0).name, "x");
    assert_int_equal(gpuc_model_input(m, 0).dims[0], CTS_N);
    assert_null(gpuc_model_input(m, 1).name);
    assert_int_equal(gpuc_model_find_input(m, "x"), 0);
    assert_int_equal(gpuc_model_find_input(m, "w"), -1);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    gpuc_model_release(m);
    for (uint32_t r = 0; r < 5; r++) {
        cts_fill(x, CTS_N, r);
        expect_static(x, y);
        set_host_input(&c, s, 0, x, CTS_N);
        uint64_t before = c.dev->launches;
        cts_ok(gpuc_session_run(s));
        check_output(s, 0, y, CTS_N);
        assert_int_equal(c.dev->launches - before, 2);
    }
    gpuc_session_stats stats = gpuc_session_get_stats(s);
    assert_int_equal(stats.launches_device, 2);
    assert_int_equal(stats.launches_other, 0);
    assert_int_equal(stats.arena_chunks, 1);
    assert_true(stats.arena_bytes >= CTS_N * 4 && stats.weight_bytes >= CTS_N * 4);
    cts_ok(gpuc_session_sync(s));
    gpuc_session_release(s);
    cts_close(&c);
}

static void inputs_from_a_device_array(void **state)
{
    (void)state;
    float x[CTS_N], y[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    cts_fill(x, CTS_N, 3);
    expect_static(x, y);
    gpuc_ndarray *a = cts_array(&c, c.dev, x, CTS_N);
    cts_ok(gpuc_session_set_input(s, 0, a));
    gpuc_ndarray_release(a);
    cts_ok(gpuc_session_run(s));
    check_output(s, 0, y, CTS_N);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void bound_arrays_are_used_in_place(void **state)
{
    (void)state;
    float x[CTS_N], y[CTS_N], back[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    gpuc_ndarray *in = cts_array(&c, c.dev, NULL, CTS_N), *out[2], *got;
    for (int i = 0; i < 2; i++) out[i] = cts_array(&c, c.dev, NULL, CTS_N);
    cts_ok(gpuc_session_bind_input(s, 0, in));
    for (uint32_t r = 0; r < 4; r++) {
        cts_fill(x, CTS_N, r);
        expect_static(x, y);
        cts_ok(gpuc_ndarray_write(in, x, sizeof x));
        cts_ok(gpuc_session_bind_output(s, 0, out[r % 2]));
        cts_ok(gpuc_session_run(s));
        cts_ok(gpuc_session_get_output(s, 0, &got));
        assert_ptr_equal(got, out[r % 2]);
        cts_ok(gpuc_ndarray_read(out[r % 2], back, sizeof back));
        assert_memory_equal(back, y, sizeof y);
    }
    cts_ok(gpuc_session_bind_output(s, 0, NULL)); /* the session's own again */
    set_host_input(&c, s, 0, x, CTS_N);
    cts_ok(gpuc_session_run(s));
    cts_ok(gpuc_session_get_output(s, 0, &got));
    assert_ptr_not_equal(got, out[1]);
    check_output(s, 0, y, CTS_N);
    gpuc_ndarray_release(in);
    gpuc_ndarray_release(out[0]);
    gpuc_ndarray_release(out[1]);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void run_symbolic(cts *c, gpuc_session *s, int64_t n, uint32_t seed)
{
    static float x[MAX_N], z[MAX_N], y[MAX_N];
    cts_fill(x, (size_t)n, seed);
    cts_fill(z, (size_t)n, seed + 1);
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] + z[i]) * 0.5f + 1;
    set_host_input(c, s, 0, x, n);
    set_host_input(c, s, 1, z, n);
    cts_ok(gpuc_session_run(s));
    check_output(s, 0, y, n);
}

static void shapes_change_from_run_to_run(void **state)
{
    (void)state;
    static const int64_t sizes[] = {7,   1000, 7, 64, 3333, 1,    1000, 128, 129,
                                    130, 131,  7, 0,  5,    5000, 0,    3333};
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_SYMBOLIC, NULL);
    assert_int_equal(gpuc_model_input(m, 0).dims[0], -1);
    assert_string_equal(gpuc_model_input(m, 0).dim_names[0], "n");
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) run_symbolic(&c, s, sizes[i], i);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_SYMBOLIC, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    run_symbolic(&c, s, 10, 1);
    float *values = calloc(100000, sizeof *values);
    set_host_input(&c, s, 0, values, 11);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "input 'z': dimension 0 is 10");
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "'n'");
    set_host_input(&c, s, 0, values, 100000);
    set_host_input(&c, s, 1, values, 100000);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "'x' must be shorter than 100000");
    free(values);
    run_symbolic(&c, s, 12, 2);
    gpuc_ndarray *out = cts_array(&c, c.dev, NULL, 12);
    cts_ok(gpuc_session_bind_output(s, 0, out));
    run_symbolic(&c, s, 12, 3);
    float more[13] = {0};
    set_host_input(&c, s, 0, more, 13);
    set_host_input(&c, s, 1, more, 13);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "output 'y': dimension 0 of the bound array is 12");
    gpuc_ndarray_release(out);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void wrong_arrays_are_refused(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_SYMBOLIC, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    gpuc_ndarray *out = (gpuc_ndarray *)&c, *a;
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "inputs 'x', 'z' have not been set");
    cts_fails(gpuc_session_get_output(s, 0, &out), GPUC_INVALID_ARGUMENT, "'y': no run has filled it");
    assert_null(out);
    float x[4] = {1, 2, 3, 4};
    set_host_input(&c, s, 0, x, 4);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "input 'z' has not been set");

    const int64_t dims[] = {2, 2};
    cts_ok(gpuc_ndarray_create(c.rt, NULL, GPUC_FLOAT32, 2, dims, &a));
    cts_fails(gpuc_session_set_input(s, 1, a), GPUC_INVALID_ARGUMENT,
              "input 'z' is float32[n], but the array given is float32[2,2]");
    cts_fails(gpuc_session_set_input(s, 2, a), GPUC_INVALID_ARGUMENT, "input 2: the model has 2");
    cts_fails(gpuc_session_set_input(s, -1, a), GPUC_INVALID_ARGUMENT, "input -1");
    cts_fails(gpuc_session_set_input(s, 0, NULL), GPUC_INVALID_ARGUMENT, "'x'");
    gpuc_ndarray_release(a);
    cts_ok(gpuc_ndarray_create(c.rt, c.dev, GPUC_INT32, 1, dims, &a));
    cts_fails(gpuc_session_set_input(s, 1, a), GPUC_INVALID_ARGUMENT, "int32[2]");
    cts_fails(gpuc_session_bind_input(s, 1, a), GPUC_INVALID_ARGUMENT, "int32[2]");
    cts_fails(gpuc_session_bind_output(s, 0, a), GPUC_INVALID_ARGUMENT, "output 'y' is float32[n]");
    gpuc_ndarray_release(a);
    a = cts_array(&c, NULL, x, 4);
    cts_fails(gpuc_session_bind_input(s, 1, a), GPUC_INVALID_ARGUMENT, "the host");
    gpuc_ndarray_release(a);
    gpuc_session_release(s);

    gpuc_model *fixed = cts_load(&c, CTS_STATIC, NULL);
    cts_ok(gpuc_session_create(fixed, &s));
    a = cts_array(&c, NULL, x, 4);
    cts_fails(gpuc_session_set_input(s, 0, a), GPUC_INVALID_ARGUMENT,
              "float32[1000], but the array given is float32[4]");
    gpuc_ndarray_release(a);
    gpuc_session_release(s);
    gpuc_session_release(NULL);
    gpuc_model_release(fixed);
    gpuc_model_release(m);
    gpuc_model_release(NULL);
    cts_close(&c);
}

#define REFUSED(call, name) cts_fails(call, GPUC_INVALID_ARGUMENT, ": '" name "' is NULL")

static void null_models_and_sessions_are_refused(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL), *none;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.device = cts_model_device(&c);
    gpuc_session *s, *other;
    gpuc_ndarray *a;
    int count = 0;
    REFUSED(gpuc_model_load(NULL, &desc, &none), "rt");
    REFUSED(gpuc_model_load(c.rt, NULL, &none), "desc");
    REFUSED(gpuc_model_load(c.rt, &desc, NULL), "out");
    cts_fails(gpuc_model_load(c.rt, &desc, &none), GPUC_INVALID_ARGUMENT, "the path or the bytes");
    REFUSED(gpuc_session_create(NULL, &other), "model");
    REFUSED(gpuc_session_create(m, NULL), "out");
    REFUSED(gpuc_session_create_stepped(NULL, &other), "model");
    REFUSED(gpuc_session_create_stepped(m, NULL), "out");
    cts_ok(gpuc_session_create_stepped(m, &s));
    REFUSED(gpuc_session_set_input(NULL, 0, NULL), "s");
    REFUSED(gpuc_session_bind_input(NULL, 0, NULL), "s");
    REFUSED(gpuc_session_bind_output(NULL, 0, NULL), "s");
    REFUSED(gpuc_session_run(NULL), "s");
    REFUSED(gpuc_session_sync(NULL), "s");
    REFUSED(gpuc_session_get_output(NULL, 0, &a), "s");
    REFUSED(gpuc_session_get_output(s, 0, NULL), "out");
    REFUSED(gpuc_session_run_node(NULL, 0), "s");
    REFUSED(gpuc_session_read_value(NULL, 0, &a), "s");
    REFUSED(gpuc_session_read_value(s, 0, NULL), "out");
    REFUSED(gpuc_session_write_value(NULL, 0, NULL), "s");
    REFUSED(gpuc_session_profile(NULL, NULL, &count), "s");
    REFUSED(gpuc_session_profile(s, NULL, NULL), "in_out_count");
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void a_helper_device_does_a_part(void **state)
{
    (void)state;
    float x[CTS_N], w[CTS_N], y[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_FALLBACK, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    cts_weight(w);
    for (uint32_t r = 0; r < 3; r++) {
        cts_fill(x, CTS_N, r);
        for (int i = 0; i < CTS_N; i++) y[i] = ((x[i] + w[i]) * 3 + 1) + w[i];
        set_host_input(&c, s, 0, x, CTS_N);
        cts_ok(gpuc_session_run(s));
        check_output(s, 0, y, CTS_N);
    }
    gpuc_session_stats stats = gpuc_session_get_stats(s);
    assert_int_equal(stats.launches_device, 2);
    assert_int_equal(stats.launches_other, 1);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void outputs_that_are_something_else_too(void **state)
{
    (void)state;
    float x[CTS_N], w[CTS_N], sum[CTS_N], late[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_SHARED, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    cts_weight(w);
    gpuc_ndarray *bound = cts_array(&c, c.dev, NULL, CTS_N), *got;
    for (uint32_t r = 0; r < 3; r++) {
        cts_fill(x, CTS_N, r);
        for (int i = 0; i < CTS_N; i++) {
            sum[i] = x[i] + w[i];
            late[i] = sum[i] * 2 + 1;
        }
        set_host_input(&c, s, 0, x, CTS_N);
        if (r == 1) cts_ok(gpuc_session_bind_output(s, 0, bound));
        cts_ok(gpuc_session_run(s));
        const float *expect[] = {x, w, sum, sum, late};
        for (int i = 0; i < 5; i++) check_output(s, i, expect[i], CTS_N);
        cts_ok(gpuc_session_get_output(s, 0, &got));
        assert_int_equal(got == bound, r > 0);
    }
    gpuc_ndarray_release(bound);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void many_weights(void **state)
{
    (void)state;
    float x[CTS_N], w[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_CHAIN, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    cts_fill(x, CTS_N, 8);
    set_host_input(&c, s, 0, x, CTS_N);
    cts_ok(gpuc_session_run(s));
    for (int i = 0; i < 6; i++) {
        cts_weight_of(i, w);
        for (int j = 0; j < CTS_N; j++) x[j] += w[j];
    }
    check_output(s, 0, x, CTS_N);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void windows_into_values(void **state)
{
    (void)state;
    float x[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_WINDOWS, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    cts_fill(x, CTS_N, 8);
    set_host_input(&c, s, 0, x, CTS_N);
    cts_ok(gpuc_session_run(s));
    for (int i = 0; i < CTS_N; i++) x[i] = 2 * x[i] + 1;
    check_output(s, 0, x, CTS_N);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void profiles_of_a_model(void **state)
{
    (void)state;
    float x[CTS_N];
    cts c;
    cts_open(&c);
    if (!c.api->plan_profile) {
        cts_close(&c);
        skip();
    }
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.device = cts_model_device(&c);
    desc.path = cts_package(CTS_FALLBACK, NULL);
    desc.allow_native_code = true;
    desc.profiling = true;
    gpuc_model *m;
    gpuc_session *s;
    cts_ok(gpuc_model_load(c.rt, &desc, &m));
    cts_ok(gpuc_session_create(m, &s));
    cts_fill(x, CTS_N, 1);
    gpuc_step_profile steps[8];
    int count = 8;
    cts_fails(gpuc_session_profile(s, steps, &count), GPUC_INVALID_ARGUMENT, "not been run");
    set_host_input(&c, s, 0, x, CTS_N);
    cts_ok(gpuc_session_run(s));
    count = 0;
    cts_ok(gpuc_session_profile(s, NULL, &count));
    assert_int_equal(count, 5);
    count = 8;
    bool measured = cts_measured(gpuc_session_profile(s, steps, &count));
    assert_int_equal(count, 5);
    static const char *const kernels[] = {"vadd", "copy", "affine_host", "copy", "vadd"};
    for (int i = 0; measured && i < 5; i++) {
        assert_string_equal(steps[i].kernel, kernels[i]);
        assert_true(steps[i].ns >= 0 && steps[i].ns < 1e10);
    }
    if (measured) {
        assert_string_equal(steps[2].label, "affine");
        assert_string_equal(steps[0].node, "add_node");
        assert_true(steps[0].ns > 0);
    }
    gpuc_session_release(s);
    gpuc_model_release(m);
    m = cts_load(&c, CTS_STATIC, NULL);
    cts_ok(gpuc_session_create(m, &s));
    cts_fails(gpuc_session_profile(s, steps, &count), GPUC_INVALID_ARGUMENT, "without profiling");
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void check_value(gpuc_session *s, uint32_t value, const float *expect)
{
    gpuc_ndarray *a;
    cts_ok(gpuc_session_read_value(s, value, &a));
    assert_int_equal(gpuc_ndarray_bytes(a), CTS_N * 4);
    assert_memory_equal(gpuc_ndarray_host(a), expect, CTS_N * 4);
    gpuc_ndarray_release(a);
}

/* Every sum of the chain is seen, though they share memory; what is written in between goes on. */
static void operators_one_by_one(void **state)
{
    (void)state;
    float x[CTS_N], sum[CTS_N], w[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_CHAIN, NULL);
    gpuc_session *s, *plain;
    gpuc_ndarray *a;
    cts_ok(gpuc_session_create_stepped(m, &s));
    cts_ok(gpuc_session_create(m, &plain));
    cts_fill(x, CTS_N, 9);
    int count = gpuc_model_num_nodes(m);
    assert_int_equal(count, 6);
    assert_string_equal(gpuc_model_node(m, 2).source, "add_node");
    assert_ptr_equal(gpuc_model_node(m, 2).device, c.dev);
    cts_fails(gpuc_session_run_node(plain, 0), GPUC_INVALID_ARGUMENT, "create_stepped");
    cts_fails(gpuc_session_run_node(s, 0), GPUC_INVALID_ARGUMENT, "'x' has not been set");
    cts_fails(gpuc_session_run_node(s, 6), GPUC_INVALID_ARGUMENT, "operator 6: the program has 6");
    cts_fails(gpuc_session_read_value(s, 0, &a), GPUC_INVALID_ARGUMENT, "no operator has been run");
    set_host_input(&c, s, 0, x, CTS_N);
    for (int round = 0; round < 3; round++) {
        memcpy(sum, x, sizeof sum);
        for (int i = 0; i < count; i++) {
            gpuc_node_info n = gpuc_model_node(m, i);
            if (i == 3) cts_fails(gpuc_session_run_node(s, 4), GPUC_INVALID_ARGUMENT, "the next one is 3");
            cts_ok(gpuc_session_run_node(s, i));
            cts_weight_of(i, w);
            for (int k = 0; k < CTS_N; k++) sum[k] += w[k];
            check_value(s, n.values[n.num_inputs], sum);
            check_value(s, n.values[1], w);
            if (round == 1 && i == 2) {
                for (int k = 0; k < CTS_N; k++) sum[k] = (float)k;
                a = cts_array(&c, NULL, sum, CTS_N);
                cts_ok(gpuc_session_write_value(s, n.values[n.num_inputs], a));
                cts_fails(gpuc_session_write_value(s, n.values[1], a), GPUC_INVALID_ARGUMENT, "a weight");
                gpuc_ndarray_release(a);
                a = cts_array(&c, NULL, sum, CTS_N - 1);
                cts_fails(gpuc_session_write_value(s, n.values[n.num_inputs], a), GPUC_INVALID_ARGUMENT,
                          "bytes");
                gpuc_ndarray_release(a);
                int64_t dims[] = {CTS_N};
                cts_ok(gpuc_ndarray_create(c.rt, NULL, GPUC_INT32, 1, dims, &a));
                cts_fails(gpuc_session_write_value(s, n.values[n.num_inputs], a), GPUC_INVALID_ARGUMENT,
                          "of float32, the array of int32");
                gpuc_ndarray_release(a);
            }
        }
        check_output(s, 0, sum, CTS_N);
    }
    cts_fails(gpuc_session_read_value(s, 1000, &a), GPUC_INVALID_ARGUMENT, "value 1000");
    cts_ok(gpuc_session_run(s));
    check_output(s, 0, sum, CTS_N);
    gpuc_session_release(s);
    gpuc_session_release(plain);
    gpuc_model_release(m);
    cts_close(&c);
}

/* Copies between devices belong to their operators. */
static void operators_of_two_devices(void **state)
{
    (void)state;
    float x[CTS_N], y[CTS_N], w[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_FALLBACK, NULL);
    gpuc_session *s;
    cts_ok(gpuc_session_create_stepped(m, &s));
    cts_fill(x, CTS_N, 4);
    cts_weight(w);
    for (int i = 0; i < CTS_N; i++) y[i] = 3 * (x[i] + w[i]) + 1 + w[i];
    set_host_input(&c, s, 0, x, CTS_N);
    for (int i = 0; i < gpuc_model_num_nodes(m); i++) cts_ok(gpuc_session_run_node(s, i));
    check_output(s, 0, y, CTS_N);
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

/* Runs the first operator on an array that nobody else holds. */
static void begin_stepped(cts *c, gpuc_session *s, const float *x)
{
    gpuc_ndarray *a = cts_array(c, c->dev, x, CTS_N);
    cts_ok(gpuc_session_bind_input(s, 0, a));
    gpuc_ndarray_release(a);
    cts_ok(gpuc_session_run_node(s, 0));
}

static void expect_ended(cts *c, gpuc_session *s)
{
    gpuc_ndarray *a = cts_array(c, NULL, NULL, CTS_N), *read;
    cts_fails(gpuc_session_read_value(s, 0, &read), GPUC_INVALID_ARGUMENT, "no operator has been run");
    assert_null(read);
    cts_fails(gpuc_session_write_value(s, 1, a), GPUC_INVALID_ARGUMENT, "no operator has been run");
    cts_fails(gpuc_session_run_node(s, 1), GPUC_INVALID_ARGUMENT, "begin with operator 0");
    gpuc_ndarray_release(a);
}

/* The arrays that a stepped inference uses may be gone once they are replaced: it ends. */
static void inputs_that_change_between_operators(void **state)
{
    (void)state;
    float x[CTS_N], y[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_WINDOWS, NULL);
    gpuc_session *s;
    gpuc_ndarray *other = cts_array(&c, c.dev, NULL, CTS_N), *host = cts_array(&c, NULL, NULL, CTS_N);
    cts_ok(gpuc_session_create_stepped(m, &s));
    cts_fill(x, CTS_N, 12);
    for (int i = 0; i < CTS_N; i++) y[i] = 2 * x[i] + 1;
    begin_stepped(&c, s, x);
    cts_ok(gpuc_session_bind_input(s, 0, other));
    expect_ended(&c, s);
    begin_stepped(&c, s, x);
    cts_ok(gpuc_session_set_input(s, 0, host));
    expect_ended(&c, s);
    cts_ok(gpuc_session_run_node(s, 0));
    cts_ok(gpuc_session_set_input(s, 0, host)); /* into the array that is there */
    expect_ended(&c, s);
    begin_stepped(&c, s, x);
    cts_ok(gpuc_session_bind_output(s, 0, other));
    expect_ended(&c, s);
    begin_stepped(&c, s, x);
    cts_ok(gpuc_session_bind_output(s, 0, NULL));
    expect_ended(&c, s);
    begin_stepped(&c, s, x);
    cts_fails(gpuc_session_write_value(s, 1, NULL), GPUC_INVALID_ARGUMENT, "no array given");
    cts_ok(gpuc_session_bind_input(s, 0, NULL));
    expect_ended(&c, s);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "'x' has not been set");
    begin_stepped(&c, s, x);
    for (int i = 1; i < gpuc_model_num_nodes(m); i++) cts_ok(gpuc_session_run_node(s, i));
    check_output(s, 0, y, CTS_N);
    assert_null(gpuc_model_node(m, gpuc_model_num_nodes(m)).name);
    assert_null(gpuc_model_node(m, -1).name);
    gpuc_session_release(s);
    gpuc_ndarray_release(other);
    gpuc_ndarray_release(host);
    gpuc_model_release(m);
    cts_close(&c);
}

/* A run that fails leaves no output of the one before; a session that has failed steps on from the beginning. */
static void a_failed_run_has_no_output(void **state)
{
    (void)state;
    float x[100] = {0};
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_SYMBOLIC, NULL);
    gpuc_session *s;
    gpuc_ndarray *out;
    cts_ok(gpuc_session_create_stepped(m, &s));
    run_symbolic(&c, s, 100, 5);
    set_host_input(&c, s, 1, x, 50);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "dimension 0");
    cts_fails(gpuc_session_get_output(s, 0, &out), GPUC_INVALID_ARGUMENT, "the last one failed");
    assert_null(out);
    set_host_input(&c, s, 0, x, 50);
    cts_ok(gpuc_session_run_node(s, 0));
    cts_fails(gpuc_session_get_output(s, 0, &out), GPUC_INVALID_ARGUMENT, "no run has filled it");
    cts_ok(gpuc_session_run_node(s, 1));
    cts_ok(gpuc_session_get_output(s, 0, &out));
    cts_ok(gpuc_session_run_node(s, 0));
    set_host_input(&c, s, 1, x, 100);
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "dimension 0");
    cts_fails(gpuc_session_run_node(s, 1), GPUC_INVALID_ARGUMENT, "begin with operator 0");
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(&c);
}

static void programs_for_absent_devices_are_passed_over(void **state)
{
    (void)state;
    float x[CTS_N], y[CTS_N];
    cts c;
    cts_open(&c);
    const cts_package_options options = {.absent_first = true};
    gpuc_model *m = cts_load(&c, CTS_STATIC, &options);
    assert_string_equal(gpuc_model_target(m), cts_target);
    if (!cts_model_device(&c)) /* with the device given there is no reason to keep */
        assert_non_null(
            strstr(gpuc_model_fallback_reason(m), "target 'somewhere else': this runtime has no"));
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    cts_fill(x, CTS_N, 3);
    expect_static(x, y);
    set_host_input(&c, s, 0, x, CTS_N);
    cts_ok(gpuc_session_run(s));
    check_output(s, 0, y, CTS_N);
    gpuc_session_release(s);
    gpuc_model_release(m);

    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = cts_package(CTS_STATIC, &options);
    desc.allow_native_code = true;
    desc.device = c.dev;
    cts_ok(gpuc_model_load(c.rt, &desc, &m));
    assert_string_equal(gpuc_model_fallback_reason(m), "");
    gpuc_model_release(m);
    cts_close(&c);
}

static void requirements_are_checked(void **state)
{
    (void)state;
    static const struct {
        gpuc_requirement need;
        const char *message;
    } cases[] = {
        {{"max_num_threads", 1 << 30}, "it needs max_num_threads of at least 1073741824"},
        {{"coopmat", 1}, "it needs coopmat, which"},
        {{"an_invention", 1}, "'an_invention', which this version of gpuc does not know"},
        {{"max_texels", INT64_MAX}, "it needs max_texels of at least 9223372036854775807, '"},
        {{"max_image_width", INT64_MAX}, "it needs max_image_width of at least 9223372036854775807, '"},
        {{"max_image_height", INT64_MAX}, "it needs max_image_height of at least 9223372036854775807, '"},
        {{"cpu.wings", 1}, "it was compiled for the instruction set wings, which '"},
    };
    cts c;
    cts_open(&c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].need.at_least == INT64_MAX) {
            gpuc_device_attr attr;
            cts_ok(gpuc_device_attr_named(cases[i].need.name, &attr));
            if (!gpuc_device_get_attr(c.dev, attr).known) continue; /* no limit */
        }
        if (strncmp(cases[i].need.name, "cpu.", 4) == 0 && cts_type != GPUC_DEVICE_CPU) continue;
        const cts_package_options options = {.requirements = &cases[i].need, .num_requirements = 1};
        gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
        desc.device = cts_model_device(&c);
        desc.path = cts_package(CTS_STATIC, &options);
        desc.allow_native_code = true;
        gpuc_model *m;
        gpuc_status s = gpuc_model_load(c.rt, &desc, &m);
        assert_null(m);
        cts_fails(s, i == 2 ? GPUC_UNSUPPORTED : GPUC_DEVICE_UNAVAILABLE, cases[i].message);
    }
    static const gpuc_requirement met[] = {
        {"max_num_threads", 1}, {"coopmat", 0}, {"max_buffer_range", 1000}};
    const cts_package_options options = {.requirements = met, .num_requirements = 3};
    gpuc_model_release(cts_load(&c, CTS_STATIC, &options));
    cts_close(&c);
}

static void native_code_needs_permission(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.device = cts_model_device(&c);
    desc.path = cts_package(CTS_FALLBACK, NULL);
    gpuc_model *m;
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_INVALID_ARGUMENT, "native code");
    assert_null(m);
    cts_close(&c);
}

static void damaged_and_missing_packages(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_model *m;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.device = cts_model_device(&c);
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_INVALID_ARGUMENT, "path");
    desc.path = "/no/such/model.gpuc";
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_NOT_FOUND, "/no/such/model.gpuc");
    gpuc_mapping file;
    cts_ok(gpuc_file_map(cts_package(CTS_STATIC, NULL), &file));
    desc.path = NULL;
    desc.bytes = file.data;
    desc.allow_native_code = true;
    for (size_t size = 0; size < file.size; size += 1 + size / 3) {
        desc.size = size;
        gpuc_status s = gpuc_model_load(c.rt, &desc, &m);
        assert_int_equal(gpuc_status_code(s), GPUC_INVALID_DATA);
        assert_null(m);
        gpuc_status_release(s);
    }
    desc.size = file.size;
    desc.check_weights = true;
    cts_ok(gpuc_model_load(c.rt, &desc, &m)); /* bytes instead of a path */
    gpuc_model_release(m);
    gpuc_file_unmap(&file);
    cts_close(&c);
}

typedef struct worker {
    cts *c;
    gpuc_model *model;
    uint32_t seed;
    int burst; /* runs before each wait */
    int wrong;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    float *x = malloc(CTS_N * 4), *y = malloc(CTS_N * 4), *back = malloc(CTS_N * 4);
    gpuc_session *s;
    gpuc_ndarray *in = cts_array(w->c, NULL, NULL, CTS_N), *out;
    cts_ok(gpuc_session_create(w->model, &s));
    for (uint32_t r = 0; r < 25; r++) {
        cts_fill(x, CTS_N, w->seed + r);
        expect_static(x, y);
        cts_ok(gpuc_ndarray_write(in, x, CTS_N * 4));
        cts_ok(gpuc_session_set_input(s, 0, in));
        for (int i = 0; i < w->burst; i++) cts_ok(gpuc_session_run(s));
        cts_ok(gpuc_session_sync(s));
        cts_ok(gpuc_session_get_output(s, 0, &out));
        cts_ok(gpuc_ndarray_read(out, back, CTS_N * 4));
        w->wrong += memcmp(back, y, CTS_N * 4) != 0;
    }
    gpuc_session_release(s);
    gpuc_ndarray_release(in);
    free(x);
    free(y);
    free(back);
    return NULL;
}

static void sessions_of_several_threads_share_a_model(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    if (cts_simulated) skip();
    cts c;
    cts_open(&c);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.device = cts_model_device(&c);
    gpuc_model *models[2]; /* one of them profiled, where the device can */
    desc.path = cts_package(CTS_STATIC, NULL);
    desc.allow_native_code = true;
    cts_ok(gpuc_model_load(c.rt, &desc, &models[0]));
    desc.profiling = c.api->plan_profile != NULL;
    cts_ok(gpuc_model_load(c.rt, &desc, &models[1]));
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.c = &c, .model = models[i % 2], .seed = 1000 * i, .burst = i / 2 ? 10 : 1};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    for (int i = 0; i < 2; i++) gpuc_model_release(models[i]);
    cts_close(&c);
}

/* Several frames in flight: nothing waits between the runs, and no session sees another's data. */
static void sessions_in_flight(void **state)
{
    (void)state;
    enum { FRAMES = 3 };
    float x[FRAMES][CTS_N], y[CTS_N];
    cts c;
    cts_open(&c);
    gpuc_model *m = cts_load(&c, CTS_STATIC, NULL);
    gpuc_session *s[FRAMES];
    for (int i = 0; i < FRAMES; i++) cts_ok(gpuc_session_create(m, &s[i]));
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < FRAMES; i++) {
            cts_fill(x[i], CTS_N, 10 * round + i);
            set_host_input(&c, s[i], 0, x[i], CTS_N);
            cts_ok(gpuc_session_run(s[i]));
        }
        for (int i = 0; i < FRAMES; i++) {
            expect_static(x[i], y);
            check_output(s[i], 0, y, CTS_N);
        }
    }
    for (int i = 0; i < FRAMES; i++) gpuc_session_release(s[i]);
    gpuc_model_release(m);
    cts_close(&c);
}

const struct CMUnitTest cts_session_tests[] = {
    cmocka_unit_test(a_model_runs_again_and_again),
    cmocka_unit_test(inputs_from_a_device_array),
    cmocka_unit_test(bound_arrays_are_used_in_place),
    cmocka_unit_test(shapes_change_from_run_to_run),
    cmocka_unit_test(shapes_that_do_not_fit),
    cmocka_unit_test(wrong_arrays_are_refused),
    cmocka_unit_test(null_models_and_sessions_are_refused),
    cmocka_unit_test(a_helper_device_does_a_part),
    cmocka_unit_test(outputs_that_are_something_else_too),
    cmocka_unit_test(many_weights),
    cmocka_unit_test(windows_into_values),
    cmocka_unit_test(profiles_of_a_model),
    cmocka_unit_test(programs_for_absent_devices_are_passed_over),
    cmocka_unit_test(requirements_are_checked),
    cmocka_unit_test(native_code_needs_permission),
    cmocka_unit_test(damaged_and_missing_packages),
    cmocka_unit_test(sessions_of_several_threads_share_a_model),
    cmocka_unit_test(sessions_in_flight),
    cmocka_unit_test(operators_one_by_one),
    cmocka_unit_test(operators_of_two_devices),
    cmocka_unit_test(inputs_that_change_between_operators),
    cmocka_unit_test(a_failed_run_has_no_output),
};
const size_t cts_num_session_tests = sizeof cts_session_tests / sizeof *cts_session_tests;
