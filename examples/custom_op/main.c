/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that gpuc does not know: registered, found in an ONNX model, built for three targets into one
 * package, and run on each device that is there; then called by its name, on arrays and on tensors.
 *
 *     custom_op MODEL.onnx [PACKAGE] */
#include <math.h>
#include <stdio.h>

#include <gpuc/build.h>
#include <gpuc/devices.h>
#include <gpuc/topi.h>

#include "add2.h"

enum { ROWS = 5, COLUMNS = 7 };
static const float scale = 0.5f; /* in the model */

typedef struct build_job {
    const char *model, *package;
} build_job;

static void build(gpuc_ctx *ctx, void *arg)
{
    const build_job *job = arg;
    gpuc_op_register(ctx, &add2_op);
    gpuc_rmodule *module = gpuc_onnx_load(ctx, job->model, &GPUC_ONNX_OPTIONS_INIT);
    const gpuc_target *targets[] = {
        gpuc_target_parse(ctx, "vulkan", NULL),
        gpuc_target_parse(ctx, "opencl", NULL),
        gpuc_target_parse(ctx, "c", NULL),
    };
    gpuc_build_report report;
    gpuc_build_package(ctx, module, 3, targets, &GPUC_BUILD_OPTIONS_INIT, job->package, &report);
}

static gpuc_status set_input(gpuc_runtime *rt, gpuc_session *session, int i, int ndim, const int64_t *dims,
                             const float *values)
{
    gpuc_ndarray *array;
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, ndim, dims, &array));
    gpuc_status status = gpuc_ndarray_write(array, values, gpuc_ndarray_bytes(array));
    if (!status) status = gpuc_session_set_input(session, i, array);
    gpuc_ndarray_release(array);
    return status;
}

static gpuc_status run(gpuc_runtime *rt, gpuc_session *session, int *out_wrong)
{
    static const int64_t dims[] = {ROWS, COLUMNS};
    float a[ROWS * COLUMNS], b[COLUMNS], y[ROWS * COLUMNS];
    gpuc_ndarray *result;
    for (int i = 0; i < ROWS * COLUMNS; i++) a[i] = (float)i;
    for (int i = 0; i < COLUMNS; i++) b[i] = (float)(10 * i);
    GPUC_TRY(set_input(rt, session, 0, 2, dims, a));
    GPUC_TRY(set_input(rt, session, 1, 1, dims + 1, b));
    GPUC_TRY(gpuc_session_run(session));
    GPUC_TRY(gpuc_session_get_output(session, 0, &result));
    GPUC_TRY(gpuc_ndarray_read(result, y, sizeof y));
    *out_wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        *out_wrong += fabsf(y[i] - (a[i] + scale * b[i % COLUMNS])) > 1e-5f;
    return NULL;
}

/* 1 if the device computed what it should, 0 if there is no such device, -1 on an error. */
static int run_on(gpuc_runtime *rt, gpuc_device_type type, const char *package)
{
    static const char *const names[] = {
        [GPUC_DEVICE_CPU] = "cpu", [GPUC_DEVICE_OPENCL] = "opencl", [GPUC_DEVICE_VULKAN] = "vulkan"};
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model = NULL;
    gpuc_session *session = NULL;
    int wrong = 0;
    gpuc_status status = gpuc_device_open(rt, type, 0, &desc.device);
    if (status) {
        printf("%-7s not here: %s\n", names[type], gpuc_status_message(status));
        gpuc_status_release(status);
        return 0;
    }
    desc.path = package;
    desc.allow_native_code = true; /* we have just built it */
    status = gpuc_model_load(rt, &desc, &model);
    if (!status) status = gpuc_session_create(model, &session);
    if (!status) status = run(rt, session, &wrong);
    if (status)
        printf("%-7s failed: %s\n", names[type], gpuc_status_message(status));
    else
        printf("%-7s %s: %d of %d elements are right\n", names[type], gpuc_model_target(model),
               ROWS * COLUMNS - wrong, ROWS * COLUMNS);
    gpuc_session_release(session);
    gpuc_model_release(model);
    int result = status || wrong ? -1 : 1;
    gpuc_status_release(status);
    return result;
}

/* ---- By its name ---- */

/* topi.example.add2(a, b, y, attributes): compiled at the first call, for the CPU device here. */
static gpuc_status call_on_arrays(gpuc_runtime *rt)
{
    static const int64_t dims[] = {ROWS, COLUMNS};
    float a[ROWS * COLUMNS], y[ROWS * COLUMNS];
    gpuc_ndarray *arrays[2] = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) a[i] = (float)i;
    GPUC_TRY(gpuc_op_register_in(rt, &add2_op));
    gpuc_status status = gpuc_compiler_register(rt);
    for (int i = 0; i < 2 && !status; i++)
        status = gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 2, dims, &arrays[i]);
    if (!status) status = gpuc_ndarray_write(arrays[0], a, sizeof a);
    const gpuc_value args[] = {gpuc_arg(arrays[0]), gpuc_arg(arrays[0]), gpuc_arg(arrays[1]),
                               gpuc_arg_string("scale=2")};
    if (!status) status = gpuc_function_call(gpuc_registry_get(rt, "topi.example.add2"), args, 4, NULL);
    if (!status) status = gpuc_ndarray_read(arrays[1], y, sizeof y);
    int wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS && !status; i++) wrong += y[i] != 3 * a[i];
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(arrays[i]);
    if (wrong) return gpuc_fail(GPUC_INTERNAL, "topi.example.add2: %d elements are wrong", wrong);
    return status;
}

/* Inside of a program of tensor expressions. */
static void call_on_tensors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr shape[] = {gpuc_int(ctx, ROWS), gpuc_int(ctx, COLUMNS)};
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "a", 2, shape, GPUC_FLOAT32);
    gpuc_tensor *sum = gpuc_topi(ctx, "example.add2", (gpuc_tensor *[]){a, a}, 2, "scale=2");
    gpuc_tensor *y = gpuc_topi_nn_relu(ctx, sum);
    const gpuc_target *target = gpuc_target_parse(ctx, "c", NULL);
    gpuc_schedule *s = gpuc_topi_schedule(ctx, target, NULL, 1, &y);
    gpuc_build_source(ctx, target, gpuc_schedule_lower(s, "add2_relu", 2, (gpuc_tensor *[]){a, y}));
}

static int call_by_name(gpuc_runtime *rt)
{
    gpuc_ctx *ctx = NULL;
    gpuc_status status = call_on_arrays(rt);
    if (!status) status = gpuc_ctx_create(NULL, &ctx);
    if (!status) gpuc_ctx_set_runtime(ctx, rt);
    if (!status) status = gpuc_ctx_protect(ctx, call_on_tensors, NULL);
    gpuc_ctx_destroy(ctx);
    printf("by name %s\n",
           status ? gpuc_status_message(status) : "as topi.example.add2 and in tensor expressions");
    int result = status ? -1 : 1;
    gpuc_status_release(status);
    return result;
}

int main(int argc, char **argv)
{
    build_job job = {.model = argc > 1 ? argv[1] : "add2.onnx", .package = argc > 2 ? argv[2] : "add2.gpuc"};
    gpuc_ctx *ctx = NULL;
    gpuc_runtime *rt = NULL;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &job);
    gpuc_ctx_destroy(ctx);
    if (!status) status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &rt);
    if (!status) status = gpuc_devices_register(rt);
    if (status) {
        fprintf(stderr, "%s\n", gpuc_status_message(status));
        return 1;
    }
    const int results[] = {
        run_on(rt, GPUC_DEVICE_VULKAN, job.package),
        run_on(rt, GPUC_DEVICE_OPENCL, job.package),
        run_on(rt, GPUC_DEVICE_CPU, job.package),
        call_by_name(rt),
    };
    gpuc_runtime_release(rt);
    for (int i = 0; i < 4; i++)
        if (results[i] < 0) return 1;
    return results[2] ? 0 : 1; /* the CPU is always there */
}
