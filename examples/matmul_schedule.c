/* SPDX-License-Identifier: Apache-2.0 */
/* C = A * B with a schedule written by hand: a group of 8 x 8 threads makes a tile of 32 x 32, each thread
 * 4 x 4 of it in registers, from slices of A and B that the group brings to shared memory. It keeps to what
 * every Vulkan and OpenCL device has. Prints the loops, then runs them on each device that is there.
 *
 *     matmul_schedule [SIZE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpuc/build.h>
#include <gpuc/devices.h>

enum { TILE = 32, THREADS = 8, STEP = 16 };

typedef struct job {
    gpuc_runtime *rt;
    gpuc_device *device;
    const char *target;
    int64_t size;
    bool print;
    gpuc_module *module; /* out */
} job;

/* All threads of the group copy: element by element, the x neighbours side by side. */
static void load_together(gpuc_stage *stage, gpuc_stage *parent, gpuc_iter *at)
{
    gpuc_stage_compute_at(stage, parent, at);
    gpuc_iter *all = gpuc_stage_fuse(stage, gpuc_stage_axis(stage, 0), gpuc_stage_axis(stage, 1));
    gpuc_iter *iteration, *thread, *ty, *tx;
    gpuc_stage_split(stage, all, THREADS * THREADS, &iteration, &thread);
    gpuc_stage_split(stage, thread, THREADS, &ty, &tx);
    gpuc_stage_bind(stage, ty, "threadIdx.y");
    gpuc_stage_bind(stage, tx, "threadIdx.x");
}

static gpuc_schedule *schedule_matmul(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b, gpuc_tensor *c)
{
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_tensor *sums = gpuc_cache_write(s, c, "local");
    gpuc_stage *acc = gpuc_schedule_stage(s, sums);
    gpuc_tensor *a_tile = gpuc_cache_read(s, a, "shared", 1, &acc);
    gpuc_tensor *b_tile = gpuc_cache_read(s, b, "shared", 1, &acc);

    gpuc_stage *out = gpuc_schedule_stage(s, c);
    gpuc_iter *by, *bx, *y, *x, *ty, *tx, *yi, *xi;
    gpuc_stage_tile(out, gpuc_stage_axis(out, 0), gpuc_stage_axis(out, 1), TILE, TILE, &by, &bx, &y, &x);
    gpuc_stage_tile(out, y, x, TILE / THREADS, TILE / THREADS, &ty, &tx, &yi, &xi);
    gpuc_stage_bind(out, by, "blockIdx.y");
    gpuc_stage_bind(out, bx, "blockIdx.x");
    gpuc_stage_bind(out, ty, "threadIdx.y");
    gpuc_stage_bind(out, tx, "threadIdx.x");

    gpuc_stage_compute_at(acc, out, tx);
    gpuc_iter *ko, *ki;
    gpuc_iter *ay = gpuc_stage_axis(acc, 0), *ax = gpuc_stage_axis(acc, 1);
    gpuc_stage_split(acc, gpuc_stage_reduce_axis(acc, 0), STEP, &ko, &ki);
    gpuc_stage_reorder(acc, 4, (gpuc_iter *[]){ko, ki, ay, ax});
    gpuc_stage_unroll(acc, ay);
    gpuc_stage_unroll(acc, ax);

    load_together(gpuc_schedule_stage(s, a_tile), acc, ko);
    load_together(gpuc_schedule_stage(s, b_tile), acc, ko);
    return s;
}

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    gpuc_expr n = gpuc_int(ctx, j->size), shape[] = {n, n};
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 2, shape, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 2, shape, GPUC_FLOAT32);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, n, "i"), gpuc_te_axis(ctx, n, "j")};
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, n, "k");
    gpuc_expr at_a[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(k)};
    gpuc_expr at_b[] = {gpuc_iter_var(k), gpuc_iter_var(axes[1])};
    gpuc_expr product = gpuc_mul(ctx, gpuc_te_read(ctx, a, 2, at_a), gpuc_te_read(ctx, b, 2, at_b));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 2, axes, gpuc_te_reduce(ctx, "sum", product, 1, &k));

    gpuc_schedule *s = schedule_matmul(ctx, a, b, c);
    gpuc_tir_func *func = gpuc_schedule_lower(s, "matmul", 3, (gpuc_tensor *[]){a, b, c});
    if (j->print) printf("%s\n", gpuc_schedule_text(s));
    j->module = gpuc_build_func(ctx, j->rt, j->device, gpuc_target_parse(ctx, j->target, NULL), func);
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gpuc_status multiply(const job *j, gpuc_ndarray *const arrays[3], double *out_seconds)
{
    gpuc_function *f;
    GPUC_TRY(gpuc_module_get_function(j->module, "matmul", &f));
    const gpuc_value args[] = {gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg(arrays[2])};
    gpuc_status status = gpuc_function_call(f, args, 3, NULL); /* drivers finish compiling in the first run */
    double start = now();
    if (!status) status = gpuc_function_call(f, args, 3, NULL);
    if (!status) status = j->device->api->stream_sync(j->device, NULL);
    *out_seconds = now() - start;
    gpuc_function_release(f);
    return status;
}

static gpuc_status run(const job *j, const float *a, const float *b, float *c, double *out_seconds)
{
    gpuc_ndarray *arrays[3] = {0};
    gpuc_status status = NULL;
    int64_t dims[] = {j->size, j->size};
    size_t bytes = (size_t)(j->size * j->size) * sizeof(float);
    for (int i = 0; i < 3 && !status; i++)
        status = gpuc_ndarray_create(j->rt, j->device, GPUC_FLOAT32, 2, dims, &arrays[i]);
    if (!status) status = gpuc_ndarray_write(arrays[0], a, bytes);
    if (!status) status = gpuc_ndarray_write(arrays[1], b, bytes);
    if (!status) status = multiply(j, arrays, out_seconds);
    if (!status) status = gpuc_ndarray_read(arrays[2], c, bytes);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    return status;
}

/* Largest difference from sums in double precision, over some rows. */
static double worst_difference(int64_t n, const float *a, const float *b, const float *c)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i += n / 7 + 1)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += (double)a[i * n + k] * b[k * n + j];
            double d = fabs(sum - c[i * n + j]);
            if (!(d <= worst)) worst = d;
        }
    return worst;
}

/* 1 if the device multiplied, 0 if there is no such device, -1 on an error. */
static int run_on(gpuc_ctx *ctx, job j, gpuc_device_type type, const float *a, const float *b, float *c)
{
    double seconds = 0, worst = 0, n = (double)j.size;
    gpuc_status status = gpuc_device_open(j.rt, type, 0, &j.device);
    if (status) {
        printf("%-7s not here: %s\n", j.target, gpuc_status_message(status));
        gpuc_status_release(status);
        return 0;
    }
    status = gpuc_ctx_protect(ctx, compile, &j);
    if (!status) status = run(&j, a, b, c, &seconds);
    gpuc_module_release(j.module);
    if (status) {
        printf("%-7s failed: %s\n", j.target, gpuc_status_message(status));
        gpuc_status_release(status);
        return -1;
    }
    worst = worst_difference(j.size, a, b, c);
    printf("%-7s %.2f ms, %.1f GFLOP/s, worst difference %.2g (%s)\n", j.target, seconds * 1e3,
           2e-9 * n * n * n / seconds, worst, gpuc_device_get_attr(j.device, GPUC_ATTR_NAME).s);
    return worst <= 1e-5 * n ? 1 : -1;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 256;
    if (n < 1 || n > 8192) {
        fprintf(stderr, "usage: %s [SIZE], 1 to 8192\n", argv[0]);
        return 2;
    }
    gpuc_ctx *ctx = NULL;
    gpuc_runtime *rt = NULL;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &rt);
    if (!status) status = gpuc_devices_register(rt);
    float *a = malloc(sizeof *a * (size_t)(n * n)), *b = malloc(sizeof *b * (size_t)(n * n));
    float *c = malloc(sizeof *c * (size_t)(n * n));
    if (status || !a || !b || !c) {
        fprintf(stderr, "%s\n", status ? gpuc_status_message(status) : "out of memory");
        return 1;
    }
    for (int64_t i = 0; i < n * n; i++) {
        a[i] = (float)(i * 7 % 31 - 15) / 16;
        b[i] = (float)(i * 11 % 29 - 14) / 16;
    }
    int results[] = {
        run_on(ctx, (job){.rt = rt, .target = "vulkan", .size = n, .print = true}, GPUC_DEVICE_VULKAN, a, b,
               c),
        run_on(ctx, (job){.rt = rt, .target = "opencl", .size = n}, GPUC_DEVICE_OPENCL, a, b, c),
        run_on(ctx, (job){.rt = rt, .target = "c", .size = n}, GPUC_DEVICE_CPU, a, b, c),
    };
    free(a);
    free(b);
    free(c);
    gpuc_runtime_release(rt);
    gpuc_ctx_destroy(ctx);
    int ran = 0;
    for (int i = 0; i < 3; i++) {
        if (results[i] < 0) return 1;
        ran += results[i];
    }
    return ran ? 0 : 77;
}
