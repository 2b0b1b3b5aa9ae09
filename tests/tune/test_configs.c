/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the knobs say, the result is the same: configurations drawn by chance, run on a device, against
 * the default schedule. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/run.h"
#include "tune/search.h"

enum { DRAWN = 5, MAX_INPUTS = 3, MAX_DIMS = 4 };

typedef struct subject {
    const char *op, *attrs;
    int n;
    struct {
        int ndim;
        int64_t dims[MAX_DIMS];
    } inputs[MAX_INPUTS];
} subject;

#define CONV(groups) "strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=" #groups

#define CHANNELS_LAST ", data_layout=\"NHWC\", kernel_layout=\"IHWO\""

static const subject subjects[] = {
    {"nn.conv2d", CONV(1), 2, {{4, {1, 5, 11, 13}}, {4, {12, 5, 3, 3}}}},
    {"nn.conv2d", CONV(4), 2, {{4, {2, 8, 9, 32}}, {4, {16, 2, 3, 3}}}},
    {"nn.conv2d", CONV(6), 2, {{4, {1, 6, 14, 19}}, {4, {6, 1, 3, 3}}}},
    {"nn.conv2d", CONV(1) CHANNELS_LAST, 2, {{4, {1, 9, 13, 12}}, {4, {12, 3, 3, 40}}}},
    {"nn.conv2d", CONV(1) CHANNELS_LAST, 2, {{4, {2, 30, 31, 16}}, {4, {16, 1, 1, 64}}}},
    {"nn.conv2d", CONV(48) CHANNELS_LAST, 2, {{4, {1, 11, 10, 48}}, {4, {1, 3, 3, 48}}}},
    {"nn.max_pool2d",
     "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1]",
     1,
     {{4, {1, 3, 15, 40}}}},
    {"nn.matmul", "", 2, {{2, {37, 61}}, {2, {61, 45}}}},
    {"nn.matmul", "", 2, {{2, {64, 1100}}, {2, {1100, 80}}}},
    {"nn.matmul", "transpose_b=1", 2, {{2, {1, 128}}, {2, {100, 128}}}},
    {"add", "", 2, {{3, {7, 31, 129}}, {1, {129}}}},
    {"sum", "axis=[1]", 1, {{2, {23, 1001}}}},
    {"sum", "axis=[0]", 1, {{2, {517, 130}}}},
    {"sum", "", 1, {{1, {70001}}}},
    {"mean", "axis=[2, 3]", 1, {{4, {2, 33, 7, 9}}}},
    {"nn.softmax", "", 1, {{2, {19, 257}}}},
    {"transpose", "axes=[0, 2, 1]", 1, {{3, {3, 40, 65}}}},
};

typedef struct output {
    size_t count;
    float *at;
} output;

/* ---- Running one package ---- */

static float number(uint64_t seed)
{
    gpuc_tune_rng rng = {seed};
    return (float)gpuc_tune_uniform(&rng) * 2 - 1;
}

static gpuc_status set_input(gpuc_session *s, int which, int ndim, const int64_t *dims)
{
    size_t count = 1;
    gpuc_ndarray *a;
    for (int i = 0; i < ndim; i++) count *= (size_t)dims[i];
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++) data[i] = number(i * 16 + (uint64_t)which);
    GPUC_TRY(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, ndim, dims, &a));
    gpuc_status status = gpuc_ndarray_write(a, data, count * sizeof *data);
    free(data);
    if (!status) status = gpuc_session_set_input(s, which, a);
    gpuc_ndarray_release(a);
    return status;
}

static gpuc_status run_session(const subject *s, gpuc_session *session, output *out)
{
    gpuc_ndarray *y;
    for (int i = 0; i < s->n; i++) GPUC_TRY(set_input(session, i, s->inputs[i].ndim, s->inputs[i].dims));
    GPUC_TRY(gpuc_session_run(session));
    GPUC_TRY(gpuc_session_get_output(session, 0, &y));
    out->count = gpuc_ndarray_bytes(y) / sizeof *out->at;
    out->at = malloc(gpuc_ndarray_bytes(y));
    return gpuc_ndarray_read(y, out->at, gpuc_ndarray_bytes(y));
}

static gpuc_status run_package(const subject *s, const gpuc_buf *package, output *out)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model;
    gpuc_session *session = NULL;
    desc.bytes = package->data;
    desc.size = package->size;
    desc.device = run_device();
    desc.allow_native_code = true;
    GPUC_TRY(gpuc_model_load(run_runtime(), &desc, &model));
    run_validate(model);
    gpuc_status status = gpuc_session_create(model, &session);
    if (!status) status = run_session(s, session, out);
    gpuc_session_release(session);
    gpuc_model_release(model);
    return status;
}

static output run_config(gpuc_ctx *ctx, const subject *s, const gpuc_tune_tasks *t, const gpuc_config *config)
{
    const gpuc_tune_task *task = &t->at[0];
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_report report;
    gpuc_buf package;
    output out = {0};
    options.num_threads = 1;
    if (config) {
        gpuc_tuning *tuning = gpuc_compile_tuning_create(ctx);
        gpuc_tuned tuned = {.config = config, .source = "this test"};
        gpuc_compile_tuning_add(ctx, tuning, task->workload, t->target_text, &tuned);
        options.tuning = tuning;
    }
    gpuc_buf_init(&package, ctx->allocator);
    gpuc_build_function_bytes(ctx, task->f, t->target, &options, &package, &report);
    assert_int_equal(report.num_tuned, config != NULL);
    GPUC_RAISE_IF(ctx, run_package(s, &package, &out));
    gpuc_buf_deinit(&package);
    return out;
}

/* ---- All of them ---- */

static gpuc_rmodule *module_of(gpuc_ctx *ctx, const subject *s)
{
    gpuc_rexpr *params[MAX_INPUTS];
    for (int i = 0; i < s->n; i++)
        params[i] = gpuc_relay_var(
            ctx, gpuc_ctx_printf(ctx, "x%d", i),
            gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, s->inputs[i].ndim, s->inputs[i].dims));
    const gpuc_attrs *attrs = gpuc_op_parse_row_attrs(ctx, gpuc_op_find(s->op), s->attrs);
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rexpr *call = gpuc_relay_op(ctx, s->op, attrs, s->n, params);
    gpuc_rexpr *f = gpuc_relay_function(ctx, s->n, params, call, NULL);
    gpuc_relay_infer_type(ctx, m, f);
    gpuc_strmap_set(&m->functions, "main", f);
    return m;
}

static void compare(const subject *s, const gpuc_config *config, const output *got, const output *want)
{
    double scale = 1e-6;
    assert_int_equal(got->count, want->count);
    for (size_t i = 0; i < want->count; i++) scale = fmax(scale, fabs((double)want->at[i]));
    for (size_t i = 0; i < want->count; i++) {
        double error = fabs((double)got->at[i] - (double)want->at[i]);
        if (error <= 1e-4 * scale) continue;
        gpuc_buf text;
        gpuc_buf_init(&text, (gpuc_allocator){0});
        gpuc_config_print(&text, config);
        fail_msg("%s with %s: element %zu is %g, not %g", s->op, gpuc_buf_cstr(&text), i, (double)got->at[i],
                 (double)want->at[i]);
    }
}

static int configurations;

static void check(gpuc_ctx *ctx, void *arg)
{
    const subject *s = arg;
    gpuc_tune_tasks tasks;
    gpuc_tune_state state;
    gpuc_tune_rng rng = {(uint64_t)(s - subjects) + 1};
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_tune_extract(ctx, module_of(ctx, s), run_target(ctx), &options, &tasks);
    if (tasks.n == 0) return; /* nothing to decide on this target */
    assert_int_equal(tasks.n, 1);
    assert_int_equal(tasks.at[0].f->n, s->n); /* the function is the operator alone */
    gpuc_tune_space *space = gpuc_tune_space_create(ctx, tasks.target, tasks.at[0].f);
    gpuc_tune_state_init(&state, ctx, space);
    output want = run_config(ctx, s, &tasks, NULL);
    for (int i = 0; i <= DRAWN; i++) {
        const gpuc_tune_point *p = i ? gpuc_tune_sample(&state, &rng) : gpuc_tune_space_first(space);
        if (!p) continue;
        output got = run_config(ctx, s, &tasks, p->config);
        compare(s, p->config, &got, &want);
        free(got.at);
        configurations++;
    }
    free(want.at);
}

static void all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        run_in_ctx(check, (void *)(uintptr_t)&subjects[i]);
    print_message("cases: %d (configurations of %zu operators)\n", configurations,
                  sizeof subjects / sizeof *subjects);
    assert_true(configurations >= DRAWN * 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all)};
    if (argc < 2 || !run_begin(argv[1])) return argc < 2 ? 2 : 77;
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
