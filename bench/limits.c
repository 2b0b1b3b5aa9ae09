/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>

#include "bench.h"

/* ---- Memory ---- */

typedef struct stream_job {
    float *a, *b, *c;
    int threads;
} stream_job;

static void add_part(void *arg, int i)
{
    const stream_job *j = arg;
    int64_t from = BENCH_ADD_COUNT / j->threads * i;
    int64_t to = i + 1 == j->threads ? BENCH_ADD_COUNT : from + BENCH_ADD_COUNT / j->threads;
    const float *restrict a = j->a, *restrict b = j->b;
    float *restrict c = j->c;
    for (int64_t k = from; k < to; k++) c[k] = a[k] + b[k];
}

static void fill_part(void *arg, int i)
{
    const stream_job *j = arg;
    int64_t from = BENCH_ADD_COUNT / j->threads * i;
    int64_t to = i + 1 == j->threads ? BENCH_ADD_COUNT : from + BENCH_ADD_COUNT / j->threads;
    for (int64_t k = from; k < to; k++) {
        j->a[k] = (float)(k % 1000);
        j->b[k] = 1;
        j->c[k] = 0;
    }
}

static gpuc_status run_stream(void *arg)
{
    stream_job *j = arg;
    cli_on_pinned_threads(j->threads, add_part, j);
    return NULL;
}

gpuc_status bench_stream(const bench_plan *plan, int threads, bench_samples *out)
{
    size_t bytes = (size_t)BENCH_ADD_COUNT * sizeof(float);
    stream_job j = {
        .a = aligned_alloc(4096, bytes),
        .b = aligned_alloc(4096, bytes),
        .c = aligned_alloc(4096, bytes),
        .threads = threads,
    };
    gpuc_status status = NULL;
    if (!j.a || !j.b || !j.c) status = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the stream arrays");
    if (!status) cli_on_pinned_threads(threads, fill_part, &j);
    if (!status) status = bench_measure(plan, run_stream, &j, out);
    free(j.a);
    free(j.b);
    free(j.c);
    return status;
}

/* ---- Arithmetic ---- */

typedef void (*sgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
static sgemm_fn sgemm;

const char *bench_openblas_open(int threads)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    for (size_t i = 0; i < BENCH_COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    sgemm = (sgemm_fn)dlsym(library, "cblas_sgemm");
    void (*set_threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
    char *(*config)(void) = (char *(*)(void))dlsym(library, "openblas_get_config");
    if (!sgemm || !set_threads) return NULL;
    set_threads(threads);
    return config ? config() : "OpenBLAS";
}

typedef struct gemm_job {
    bench_gemm size;
    float *a, *b, *c;
} gemm_job;

static gpuc_status run_openblas(void *arg)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    const gemm_job *j = arg;
    const bench_gemm *s = &j->size;
    sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, s->m, s->n, s->k, 1, j->a, s->k, j->b, s->n, 0, j->c, s->n);
    return NULL;
}

static float *matrix(int rows, int columns, int period)
{
    size_t count = (size_t)rows * (size_t)columns;
    float *data = aligned_alloc(4096, (count * sizeof(float) + 4095) / 4096 * 4096);
    for (size_t i = 0; data && i < count; i++) data[i] = (float)(i % (size_t)period) * 0.1f;
    return data;
}

gpuc_status bench_openblas(const bench_plan *plan, bench_gemm size, bench_samples *out)
{
    gemm_job j = {size, matrix(size.m, size.k, 13), matrix(size.k, size.n, 7), matrix(size.m, size.n, 1)};
    gpuc_status status = NULL;
    if (!j.a || !j.b || !j.c) status = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the matrices");
    if (!status) status = bench_measure(plan, run_openblas, &j, out);
    free(j.a);
    free(j.b);
    free(j.c);
    return status;
}
