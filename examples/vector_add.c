/* SPDX-License-Identifier: Apache-2.0 */
/* C[i] = A[i] + B[i]: written as a tensor expression, split into groups of 64, compiled for each device that
 * is there and run. n is a parameter of the kernel, and no multiple of 64. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/devices.h>

#define N 1000

typedef struct job {
    gpuc_runtime *rt;
    gpuc_device *device;
    const char *target;
    gpuc_module *module; /* out */
} job;

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_expr sum = gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, sum);

    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage *stage = gpuc_schedule_stage(s, c);
    gpuc_iter *bx, *tx;
    gpuc_stage_split(stage, gpuc_stage_axis(stage, 0), 64, &bx, &tx);
    gpuc_stage_bind(stage, bx, "blockIdx.x");
    gpuc_stage_bind(stage, tx, "threadIdx.x");

    const gpuc_target *target = gpuc_target_parse(ctx, j->target, NULL);
    gpuc_tir_func *func = gpuc_schedule_lower(s, "vector_add", 3, (gpuc_tensor *[]){a, b, c});
    j->module = gpuc_build_func(ctx, j->rt, j->device, target, func);
}

static gpuc_status call(gpuc_module *module, gpuc_ndarray *const arrays[3])
{
    gpuc_function *f;
    GPUC_TRY(gpuc_module_get_function(module, "vector_add", &f));
    gpuc_status status =
        gpuc_call(f, gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg(arrays[2]), gpuc_arg_int(N));
    gpuc_function_release(f);
    return status;
}

static gpuc_status add_on(gpuc_runtime *rt, gpuc_device *device, gpuc_module *module, int *out_wrong)
{
    static float a[N], b[N], c[N];
    gpuc_ndarray *arrays[3] = {0};
    gpuc_status status = NULL;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)(N - i);
    }
    memset(c, 0, sizeof c);
    for (int i = 0; i < 3 && !status; i++)
        status = gpuc_ndarray_create(rt, device, GPUC_FLOAT32, 1, (int64_t[]){N}, &arrays[i]);
    if (!status) status = gpuc_ndarray_write(arrays[0], a, sizeof a);
    if (!status) status = gpuc_ndarray_write(arrays[1], b, sizeof b);
    if (!status) status = call(module, arrays);
    if (!status) status = gpuc_ndarray_read(arrays[2], c, sizeof c);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    *out_wrong = 0;
    for (int i = 0; i < N; i++) *out_wrong += c[i] != a[i] + b[i];
    return status;
}

/* 1 if the device added, 0 if there is no such device, -1 on an error. */
static int run_on(gpuc_ctx *ctx, gpuc_runtime *rt, gpuc_device_type type, const char *target)
{
    job j = {.rt = rt, .target = target};
    int wrong = 0;
    gpuc_status status = gpuc_device_open(rt, type, 0, &j.device);
    if (status) {
        printf("%-7s not here: %s\n", target, gpuc_status_message(status));
        gpuc_status_release(status);
        return 0;
    }
    status = gpuc_ctx_protect(ctx, compile, &j);
    if (!status) status = add_on(rt, j.device, j.module, &wrong);
    gpuc_module_release(j.module);
    if (status)
        printf("%-7s failed: %s\n", target, gpuc_status_message(status));
    else
        printf("%-7s %d of %d sums are right (%s)\n", target, N - wrong, N,
               gpuc_device_get_attr(j.device, GPUC_ATTR_NAME).s);
    int result = status || wrong ? -1 : 1;
    gpuc_status_release(status);
    return result;
}

int main(void)
{
    gpuc_ctx *ctx = NULL;
    gpuc_runtime *rt = NULL;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &rt);
    if (!status) status = gpuc_devices_register(rt);
    if (status) {
        fprintf(stderr, "%s\n", gpuc_status_message(status));
        return 1;
    }
    int results[] = {
        run_on(ctx, rt, GPUC_DEVICE_VULKAN, "vulkan"),
        run_on(ctx, rt, GPUC_DEVICE_OPENCL, "opencl"),
        run_on(ctx, rt, GPUC_DEVICE_CPU, "c"),
    };
    gpuc_runtime_release(rt);
    gpuc_ctx_destroy(ctx);
    int ran = 0;
    for (int i = 0; i < 3; i++) {
        if (results[i] < 0) return 1;
        ran += results[i];
    }
    return ran ? 0 : 77;
}
