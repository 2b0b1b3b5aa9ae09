/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the stencil with its own schedule and with that of a tuning log, in turn, on each device that is there and for
 * which the log has a record. Fails if a result is wrong or the tuned one is not faster.
 *
 *     tuned_stencil LOG [ROWS COLUMNS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpuc/devices.h>

#include "blur.h"

enum { OWN, TUNED, WAYS, RUNS = 12 };

typedef struct job {
    gpuc_runtime *rt;
    gpuc_device *device;
    const char *target, *log;
    int64_t rows, columns;
    gpuc_module *modules[WAYS]; /* out */
} job;

static void say(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "warning: %s\n", text);
}

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    char text[64];
    const gpuc_tune_warnings warnings = {.fn = say};
    const gpuc_target *target = gpuc_target_parse(ctx, j->target, NULL);
    const gpuc_tuning *tuning = gpuc_tuning_load(ctx, 1, &j->log, say, NULL);
    snprintf(text, sizeof text, "rows=%lld, columns=%lld", (long long)j->rows, (long long)j->columns);
    const gpuc_attrs *params = gpuc_tune_template_params(ctx, &blur_template, text);
    for (int i = 0; i < WAYS; i++) {
        gpuc_tir_func *f =
            gpuc_tune_func(ctx, &blur_template, params, target, i == TUNED ? tuning : NULL, &warnings);
        j->modules[i] = gpuc_build_func(ctx, j->rt, j->device, target, f);
    }
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gpuc_status run(const job *j, int way, gpuc_ndarray *in, gpuc_ndarray *out, double *seconds)
{
    gpuc_function *f;
    GPUC_TRY(gpuc_module_get_function(j->modules[way], "example_blur", &f));
    const gpuc_value args[] = {gpuc_arg(in), gpuc_arg(out)};
    double start = now();
    gpuc_status status = gpuc_function_call(f, args, 2, NULL);
    if (!status) status = j->device->api->stream_sync(j->device, NULL);
    if (now() - start < *seconds) *seconds = now() - start;
    gpuc_function_release(f);
    return status;
}

static int count_wrong(const job *j, const float *in, const float *out)
{
    int wrong = 0;
    for (int64_t y = 0; y < j->rows; y++)
        for (int64_t x = 0; x < j->columns; x++) {
            double sum = 0;
            for (int k = 0; k < 9; k++) sum += in[(y + k / 3) * (j->columns + 2) + x + k % 3];
            wrong += !(fabs(out[y * j->columns + x] - sum / 9) <= 1e-5);
        }
    return wrong;
}

static gpuc_status measure(const job *j, double seconds[WAYS], int *wrong)
{
    const int64_t in_dims[] = {j->rows + 2, j->columns + 2}, out_dims[] = {j->rows, j->columns};
    size_t in_size = (size_t)(in_dims[0] * in_dims[1]), out_size = (size_t)(j->rows * j->columns);
    float *values = malloc(in_size * sizeof *values), *result = malloc(out_size * sizeof *result);
    gpuc_ndarray *in = NULL, *out = NULL;
    gpuc_status status = values && result ? NULL : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (size_t i = 0; i < in_size && !status; i++) values[i] = (float)(i * 7 % 31) / 31;
    if (!status) status = gpuc_ndarray_create(j->rt, j->device, GPUC_FLOAT32, 2, in_dims, &in);
    if (!status) status = gpuc_ndarray_create(j->rt, j->device, GPUC_FLOAT32, 2, out_dims, &out);
    if (!status) status = gpuc_ndarray_write(in, values, in_size * sizeof *values);
    for (int i = 0; i < WAYS * RUNS && !status; i++) {
        status = run(j, i % WAYS, in, out, &seconds[i % WAYS]);
        if (i >= WAYS || status) continue; /* the first results are compared */
        status = gpuc_ndarray_read(out, result, out_size * sizeof *result);
        if (!status) *wrong += count_wrong(j, values, result);
    }
    gpuc_ndarray_release(in);
    gpuc_ndarray_release(out);
    free(values);
    free(result);
    return status;
}

/* 1 if the tuned stencil is right and faster, 0 if there is no such device, -1 otherwise. */
static int run_on(job j, gpuc_device_type type)
{
    double seconds[WAYS] = {INFINITY, INFINITY};
    int wrong = 0;
    gpuc_ctx *ctx = NULL;
    gpuc_status status = gpuc_device_open(j.rt, type, 0, &j.device);
    if (status) {
        printf("%-7s not here: %s\n", j.target, gpuc_status_message(status));
        gpuc_status_release(status);
        return 0;
    }
    status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, compile, &j);
    if (!status) status = measure(&j, seconds, &wrong);
    for (int i = 0; i < WAYS; i++) gpuc_module_release(j.modules[i]);
    gpuc_ctx_destroy(ctx);
    if (status)
        printf("%-7s failed: %s\n", j.target, gpuc_status_message(status));
    else
        printf("%-7s own schedule %.3f ms, tuned %.3f ms: %.2f times as fast; %d elements are wrong\n", j.target,
               1e3 * seconds[OWN], 1e3 * seconds[TUNED], seconds[OWN] / seconds[TUNED], wrong);
    bool good = !status && !wrong && seconds[TUNED] < seconds[OWN];
    gpuc_status_release(status);
    return good ? 1 : -1;
}

int main(int argc, char **argv)
{
    job j = {.log = argc > 1 ? argv[1] : "blur.jsonl",
             .rows = argc > 3 ? atoll(argv[2]) : 768,
             .columns = argc > 3 ? atoll(argv[3]) : 1024};
    gpuc_status status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &j.rt);
    if (!status) status = gpuc_devices_register(j.rt);
    if (status) {
        fprintf(stderr, "%s\n", gpuc_status_message(status));
        return 1;
    }
    static const struct {
        const char *target;
        gpuc_device_type type;
    } all[] = {{"vulkan", GPUC_DEVICE_VULKAN}, {"opencl", GPUC_DEVICE_OPENCL}, {"c", GPUC_DEVICE_CPU}};
    int good = 0, bad = 0;
    for (int i = 0; i < 3; i++) {
        j.target = all[i].target;
        int result = run_on(j, all[i].type);
        good += result > 0;
        bad += result < 0;
    }
    gpuc_runtime_release(j.rt);
    return bad || !good;
}
