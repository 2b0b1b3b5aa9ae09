/* SPDX-License-Identifier: Apache-2.0 */
/* Single kernels: tensor expressions with gpuc's own default schedules, as `gpuc build` would make them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/op.h>

#include "bench.h"

typedef struct workload {
    const char *name;
    int ndim;
    const int64_t *dims; /* of all three tensors */
    gpuc_tensor *(*define)(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);
    double (*expected)(const float *a, const float *b, int64_t at);
    int64_t step; /* every how many elements the result is looked at */
} workload;

typedef struct job {
    const workload *w;
    bench_subject *s;
    gpuc_device *device;
    gpuc_module *module;
    gpuc_function *function;
    gpuc_ndarray *arrays[3];
    float *a, *b, *c;
    size_t bytes;
} job;

static int64_t count_of(const workload *w)
{
    int64_t n = 1;
    for (int i = 0; i < w->ndim; i++) n *= w->dims[i];
    return n;
}

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const workload *w = j->w;
    gpuc_device_type type;
    int index;
    gpuc_device *asked = NULL;
    if (gpuc_target_wants_device(j->s->target, &type, &index))
        GPUC_RAISE_IF(ctx, gpuc_device_open(j->s->rt, type, index, &asked));
    const gpuc_target *target = gpuc_target_parse(ctx, j->s->target, asked);
    j->device = asked;
    if (!asked)
        GPUC_RAISE_IF(ctx, gpuc_device_open(j->s->rt, gpuc_target_device_type(target), 0, &j->device));

    gpuc_expr shape[4];
    for (int i = 0; i < w->ndim; i++) shape[i] = gpuc_int(ctx, w->dims[i]);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", w->ndim, shape, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", w->ndim, shape, GPUC_FLOAT32);
    gpuc_tensor *c = w->define(ctx, a, b);
    gpuc_schedule *s = gpuc_topi_schedule(ctx, target, 1, &c);
    gpuc_tir_func *func = gpuc_schedule_lower(s, w->name, 3, (gpuc_tensor *[]){a, b, c});
    j->module = gpuc_build_func(ctx, j->s->rt, j->device, target, func);
}

static gpuc_status run(void *arg)
{
    job *j = arg;
    gpuc_value args[3];
    for (int i = 0; i < 3; i++)
        args[i] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = j->arrays[i]};
    GPUC_TRY(gpuc_function_call(j->function, args, 3, NULL));
    return j->device->api->stream_sync(j->device, NULL);
}

static gpuc_status prepare(job *j)
{
    int64_t n = count_of(j->w);
    j->bytes = (size_t)n * sizeof(float);
    j->a = malloc(j->bytes);
    j->b = malloc(j->bytes);
    j->c = malloc(j->bytes);
    if (!j->a || !j->b || !j->c) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", j->w->name);
    for (int64_t i = 0; i < n; i++) {
        j->a[i] = (float)(i * 7 % 31 - 15) / 16;
        j->b[i] = (float)(i * 11 % 29 - 14) / 16;
    }
    for (int i = 0; i < 3; i++)
        GPUC_TRY(
            gpuc_ndarray_create(j->s->rt, j->device, GPUC_FLOAT32, j->w->ndim, j->w->dims, &j->arrays[i]));
    GPUC_TRY(gpuc_ndarray_write(j->arrays[0], j->a, j->bytes));
    return gpuc_ndarray_write(j->arrays[1], j->b, j->bytes);
}

static gpuc_status check(job *j)
{
    GPUC_TRY(gpuc_ndarray_read(j->arrays[2], j->c, j->bytes));
    j->s->difference = 0;
    for (int64_t i = 0, n = count_of(j->w); i < n; i += j->w->step) {
        double d = fabs(j->w->expected(j->a, j->b, i) - j->c[i]);
        if (!(d <= j->s->difference)) j->s->difference = d;
    }
    if (j->s->difference > 1e-3)
        return gpuc_fail(GPUC_INTERNAL, "%s is wrong by %g", j->w->name, j->s->difference);
    return NULL;
}

static gpuc_status bench_workload(const workload *w, bench_subject *s)
{
    job j = {.w = w, .s = s};
    gpuc_ctx *ctx;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, compile, &j);
    gpuc_ctx_destroy(ctx);
    if (j.device) {
        gpuc_attr_value name = gpuc_device_get_attr(j.device, GPUC_ATTR_NAME);
        snprintf(s->device, sizeof s->device, "%s", name.known ? name.s : "");
    }
    if (!status) status = gpuc_module_get_function(j.module, w->name, &j.function);
    if (!status) status = prepare(&j);
    if (!status) status = run(&j);
    if (!status && j.device->type == GPUC_DEVICE_VULKAN) bench_pin_llvmpipe();
    if (!status) status = bench_measure(&s->plan, run, &j, &s->samples);
    if (!status) status = check(&j);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(j.arrays[i]);
    gpuc_function_release(j.function);
    gpuc_module_release(j.module);
    free(j.a);
    free(j.b);
    free(j.c);
    return status;
}

/* ---- add ---- */

static gpuc_tensor *define_add(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_te_shape(a)[0], "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_expr sum = gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at));
    return gpuc_te_compute(ctx, "C", 1, &i, sum);
}

static double expected_sum(const float *a, const float *b, int64_t at)
{
    return (double)(a[at] + b[at]);
}

gpuc_status bench_add(bench_subject *s)
{
    static const int64_t dims[] = {BENCH_ADD_COUNT};
    return bench_workload(&(workload){"add", 1, dims, define_add, expected_sum, 1}, s);
}

/* ---- sgemm ---- */

static gpuc_tensor *define_gemm(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b)
{
    const gpuc_expr *shape = gpuc_te_shape(a);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, shape[0], "i"), gpuc_te_axis(ctx, shape[1], "j")};
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, shape[1], "k");
    gpuc_expr at_a[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(k)};
    gpuc_expr at_b[] = {gpuc_iter_var(k), gpuc_iter_var(axes[1])};
    gpuc_expr product = gpuc_mul(ctx, gpuc_te_read(ctx, a, 2, at_a), gpuc_te_read(ctx, b, 2, at_b));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 2, axes, gpuc_te_reduce(ctx, "sum", product, 1, &k));
    gpuc_te_set_attr(ctx, c, "tag", "matmul");
    return c;
}

static double expected_dot(const float *a, const float *b, int64_t at)
{
    int64_t n = BENCH_GEMM_SIZE, row = at / n, column = at % n;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (double)a[row * n + k] * b[k * n + column];
    return sum;
}

gpuc_status bench_gemm(bench_subject *s)
{
    static const int64_t dims[] = {BENCH_GEMM_SIZE, BENCH_GEMM_SIZE};
    return bench_workload(&(workload){"sgemm", 2, dims, define_gemm, expected_dot, 101}, s);
}
