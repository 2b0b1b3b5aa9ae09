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

#include "stencil.h"

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
    const gpuc_attrs *params = gpuc_tune_template_params(ctx, &stencil_template, text);
    for (int i = 0; i < WAYS; i++) {
        gpuc_tir_func *f =
            gpuc_tune_func(ctx, &stencil_template, params, target, i == TUNED ? tuning : NULL, &warnings);
        j->modules[i] = gpuc_build_func(ctx, j->rt, j->device, target, f);
    }
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gpuc_status run(const job *j, int way, gpuc_ndarray *const arrays[3], double *seconds)
{
    gpuc_function *f;
    GPUC_TRY(gpuc_module_get_function(j->modules[way], "example_stencil", &f));
    const gpuc_value args[] = {gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg(arrays[2])};
    double start = now();
    gpuc_status status = gpuc_function_call(f, args, 3, NULL);
    if (!status) status = j->device->api->stream_sync(j->device, NULL);
    if (now() - start < *seconds) *seconds = now() - start;
    gpuc_function_release(f);
    return status;
}

static int count_wrong(const job *j, const float *in, const float *weights, const float *out)
{
    int wrong = 0;
    for (int64_t y = 0; y < j->rows; y++)
        for (int64_t x = 0; x < j->columns; x++) {
            double sum = 0;
            for (int i = 0; i < STENCIL_SIZE; i++)
                for (int k = 0; k < STENCIL_SIZE; k++)
                    sum += (double)in[(y + i) * (j->columns + STENCIL_SIZE - 1) + x + k] *
                           weights[i * STENCIL_SIZE + k];
            wrong += !(fabs(out[y * j->columns + x] - sum) <= 1e-4);
        }
    return wrong;
}

/* Three arrays: in, weights and out. */
static gpuc_status create_arrays(const job *j, float *values[3], size_t sizes[3], gpuc_ndarray *arrays[3])
{
    const int64_t dims[3][2] = {{j->rows + STENCIL_SIZE - 1, j->columns + STENCIL_SIZE - 1},
                                {STENCIL_SIZE, STENCIL_SIZE},
                                {j->rows, j->columns}};
    for (int i = 0; i < 3; i++) {
        sizes[i] = (size_t)(dims[i][0] * dims[i][1]);
        values[i] = calloc(sizes[i], sizeof *values[i]);
        if (!values[i]) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        for (size_t k = 0; k < sizes[i] && i < 2; k++) values[i][k] = (float)(k * 7 % 31) / 31;
        GPUC_TRY(gpuc_ndarray_create(j->rt, j->device, GPUC_FLOAT32, 2, dims[i], &arrays[i]));
        GPUC_TRY(gpuc_ndarray_write(arrays[i], values[i], sizes[i] * sizeof *values[i]));
    }
    return NULL;
}

static gpuc_status measure(const job *j, double seconds[WAYS], int *wrong)
{
    float *values[3] = {0};
    size_t sizes[3];
    gpuc_ndarray *arrays[3] = {0};
    gpuc_status status = create_arrays(j, values, sizes, arrays);
    for (int i = 0; i < WAYS * RUNS && !status; i++) {
        status = run(j, i % WAYS, arrays, &seconds[i % WAYS]);
        if (i >= WAYS || status) continue; /* the first results are compared */
        status = gpuc_ndarray_read(arrays[2], values[2], sizes[2] * sizeof *values[2]);
        if (!status) *wrong += count_wrong(j, values[0], values[1], values[2]);
    }
    for (int i = 0; i < 3; i++) {
        gpuc_ndarray_release(arrays[i]);
        free(values[i]);
    }
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
        printf("%-7s own schedule %.3f ms, tuned %.3f ms: %.2f times as fast; %d elements are wrong\n",
               j.target, 1e3 * seconds[OWN], 1e3 * seconds[TUNED], seconds[OWN] / seconds[TUNED], wrong);
    bool good = !status && !wrong && seconds[TUNED] < seconds[OWN];
    gpuc_status_release(status);
    return good ? 1 : -1;
}

int main(int argc, char **argv)
{
    job j = {.log = argc > 1 ? argv[1] : "stencil.jsonl",
             .rows = argc > 3 ? atoll(argv[2]) : 384,
             .columns = argc > 3 ? atoll(argv[3]) : 512};
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
