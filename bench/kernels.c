/* SPDX-License-Identifier: Apache-2.0 */
/* Single kernels: tensor expressions with gpuc's own default schedules, as `gpuc build` would make them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/op.h>

#include "bench.h"

enum { MOST_ARRAYS = 8 };

typedef struct job {
    const bench_kernel *k;
    bench_subject *s;
    gpuc_device *device;
    gpuc_module *module;
    gpuc_function *function;
    int num_arrays; /* inputs, then the output */
    bench_shape shapes[MOST_ARRAYS];
    gpuc_ndarray *arrays[MOST_ARRAYS];
    void *data[MOST_ARRAYS];
    size_t bytes[MOST_ARRAYS];
} job;

int64_t bench_count(const bench_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) n *= s->dims[i];
    return n;
}

static void note_output(gpuc_ctx *ctx, job *j, const gpuc_tensor *t)
{
    bench_shape *out = &j->shapes[j->k->num_inputs];
    out->ndim = gpuc_te_ndim(t);
    for (int i = 0; i < out->ndim; i++)
        if (!gpuc_expr_is_int(gpuc_te_shape(t)[i], &out->dims[i]))
            gpuc_raise(ctx, GPUC_INTERNAL, "%s: dimension %d is not known", j->k->name, i);
}

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const bench_kernel *k = j->k;
    const gpuc_target *target = bench_open(ctx, j->s, &j->device);

    gpuc_tensor *args[MOST_ARRAYS];
    j->num_arrays = k->num_inputs + 1;
    for (int i = 0; i < k->num_inputs; i++) {
        gpuc_expr dims[8];
        const bench_shape *s = &k->inputs[i];
        j->shapes[i] = *s;
        for (int d = 0; d < s->ndim; d++) dims[d] = gpuc_int(ctx, s->dims[d]);
        args[i] = gpuc_te_placeholder(ctx, "x", s->ndim, dims, s->below ? GPUC_INT32 : GPUC_FLOAT32);
    }
    gpuc_tensor **out = &args[k->num_inputs];
    *out = k->define(ctx, k, args);
    note_output(ctx, j, *out);
    gpuc_schedule *s = gpuc_topi_schedule(ctx, target, NULL, 1, out);
    gpuc_tir_func *func = gpuc_schedule_lower(s, k->name, j->num_arrays, args);
    j->module = gpuc_build_func(ctx, j->s->rt, j->device, target, func);
}

static gpuc_status run(void *arg)
{
    job *j = arg;
    gpuc_value args[MOST_ARRAYS];
    for (int i = 0; i < j->num_arrays; i++)
        args[i] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = j->arrays[i]};
    GPUC_TRY(gpuc_function_call(j->function, args, j->num_arrays, NULL));
    return j->device->api->stream_sync(j->device, NULL);
}

void bench_fill(const bench_shape *s, int which, void *data)
{
    int64_t n = bench_count(s), step = which ? 11 : 7, period = which ? 29 : 31;
    for (int64_t i = 0; i < n; i++) {
        if (s->below)
            ((int32_t *)data)[i] = (int32_t)(i * 7919 % s->below);
        else
            ((float *)data)[i] = (float)(i * step % period - period / 2) / 16;
    }
}

gpuc_status bench_compare(const bench_kernel *k, const void *const *inputs, const float *got, int64_t count,
                          bench_subject *s)
{
    s->difference = 0;
    for (int64_t i = 0; i < count; i += k->step) {
        double want = k->expected(k, inputs, i);
        double d = fabs(want - (double)got[i]) / (1 + fabs(want) / 16);
        if (!(d <= s->difference)) s->difference = d;
    }
    if (s->difference > 1e-3) return gpuc_fail(GPUC_INTERNAL, "%s is wrong by %g", k->name, s->difference);
    return NULL;
}

static gpuc_status prepare(job *j)
{
    for (int i = 0; i < j->num_arrays; i++) {
        const bench_shape *s = &j->shapes[i];
        gpuc_dtype t = s->below ? GPUC_INT32 : GPUC_FLOAT32;
        j->bytes[i] = (size_t)bench_count(s) * 4;
        j->data[i] = malloc(j->bytes[i]);
        if (!j->data[i]) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", j->k->name);
        GPUC_TRY(gpuc_ndarray_create(j->s->rt, j->device, t, s->ndim, s->dims, &j->arrays[i]));
        if (i == j->k->num_inputs) break;
        bench_fill(s, i, j->data[i]);
        GPUC_TRY(gpuc_ndarray_write(j->arrays[i], j->data[i], j->bytes[i]));
    }
    return NULL;
}

static gpuc_status check(job *j)
{
    int out = j->k->num_inputs;
    GPUC_TRY(gpuc_ndarray_read(j->arrays[out], j->data[out], j->bytes[out]));
    return bench_compare(j->k, (const void *const *)j->data, j->data[out], bench_count(&j->shapes[out]),
                         j->s);
}

static gpuc_status run_kernel(const bench_kernel *k, bench_subject *s)
{
    job j = {.k = k, .s = s};
    gpuc_ctx *ctx;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, compile, &j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = gpuc_module_get_function(j.module, k->name, &j.function);
    if (!status) status = prepare(&j);
    if (!status) status = run(&j);
    if (!status && j.device->type == GPUC_DEVICE_VULKAN) gpuc_pin_llvmpipe();
    if (!status) status = bench_measure(&s->plan, run, &j, &s->samples);
    if (!status) status = check(&j);
    for (int i = 0; i < MOST_ARRAYS; i++) {
        gpuc_ndarray_release(j.arrays[i]);
        free(j.data[i]);
    }
    gpuc_function_release(j.function);
    gpuc_module_release(j.module);
    return status;
}

/* ---- add ---- */

static gpuc_tensor *define_add(gpuc_ctx *ctx, const bench_kernel *k, gpuc_tensor *const *ins)
{
    (void)k;
    gpuc_tensor *a = ins[0], *b = ins[1];
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_te_shape(a)[0], "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_expr sum = gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at));
    return gpuc_te_compute(ctx, "C", 1, &i, sum);
}

static double expected_sum(const bench_kernel *k, const void *const *ins, int64_t at)
{
    (void)k;
    const float *a = ins[0], *b = ins[1];
    return (double)(a[at] + b[at]);
}

gpuc_status bench_add(bench_subject *s)
{
    static const bench_kernel add = {.name = "add",
                                     .num_inputs = 2,
                                     .inputs = {{1, {BENCH_ADD_COUNT}}, {1, {BENCH_ADD_COUNT}}},
                                     .define = define_add,
                                     .expected = expected_sum,
                                     .step = 1};
    return run_kernel(&add, s);
}

/* ---- sgemm ---- */

static gpuc_tensor *define_gemm(gpuc_ctx *ctx, const bench_kernel *kernel, gpuc_tensor *const *ins)
{
    (void)kernel;
    gpuc_tensor *a = ins[0], *b = ins[1];
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

static double expected_dot(const bench_kernel *kernel, const void *const *ins, int64_t at)
{
    (void)kernel;
    const float *a = ins[0], *b = ins[1];
    int64_t n = BENCH_GEMM_SIZE, row = at / n, column = at % n;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (double)a[row * n + k] * b[k * n + column];
    return sum;
}

gpuc_status bench_gemm(bench_subject *s)
{
    enum { N = BENCH_GEMM_SIZE };
    static const bench_kernel gemm = {.name = "sgemm",
                                      .num_inputs = 2,
                                      .inputs = {{2, {N, N}}, {2, {N, N}}},
                                      .define = define_gemm,
                                      .expected = expected_dot,
                                      .step = 101};
    return run_kernel(&gemm, s);
}
