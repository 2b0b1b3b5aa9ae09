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
        j->a[k] = bench_float(0, 0, k);
        j->b[k] = bench_float(1, 0, k);
        j->c[k] = 0;
    }
}

static gpuc_status add_once(void *arg)
{
    stream_job *j = arg;
    cli_on_pinned_threads(j->threads, add_part, j);
    return NULL;
}

static gpuc_status run_stream(void *arg, int count, double *seconds)
{
    return bench_repeat(add_once, arg, count, seconds);
}

static gpuc_status check_stream(void *arg, double *difference)
{
    const stream_job *j = arg;
    bench_worst worst = {0};
    for (int64_t i = 0; i < BENCH_ADD_COUNT; i += 101)
        bench_look(&worst, (double)j->c[i], (double)j->a[i] + (double)j->b[i]);
    return bench_judge(&worst, difference);
}

static void close_stream(void *arg)
{
    stream_job *j = arg;
    free(j->a);
    free(j->b);
    free(j->c);
    free(j);
}

void bench_stream_open(int threads, bench_runner *out)
{
    size_t bytes = (size_t)BENCH_ADD_COUNT * sizeof(float);
    stream_job *j = calloc(1, sizeof *j);
    if (j) {
        *out = (bench_runner){run_stream, check_stream, close_stream, j, .difference = -1};
        *j = (stream_job){aligned_alloc(4096, bytes), aligned_alloc(4096, bytes), aligned_alloc(4096, bytes),
                          threads};
    }
    if (j && j->a && j->b && j->c)
        cli_on_pinned_threads(threads, fill_part, j);
    else
        out->failure = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the stream arrays");
}

/* ---- Arithmetic ---- */

typedef void (*sgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
static sgemm_fn sgemm;

const char *bench_openblas_load(int threads)
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
    const bench_op *op;
    float *matrices[3];
} gemm_job;

static gpuc_status multiply_once(void *arg)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    const gemm_job *j = arg;
    const bench_gemm *s = &j->op->gemm;
    sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, s->m, s->n, s->k, 1, j->matrices[0], s->k, j->matrices[1], s->n, 0,
          j->matrices[2], s->n);
    return NULL;
}

static gpuc_status run_openblas(void *arg, int count, double *seconds)
{
    return bench_repeat(multiply_once, arg, count, seconds);
}

static gpuc_status check_openblas(void *arg, double *difference)
{
    const gemm_job *j = arg;
    const void *ins[] = {j->matrices[0], j->matrices[1]};
    return bench_op_check(j->op, ins, GPUC_FLOAT32, j->matrices[2], (int64_t)j->op->gemm.m * j->op->gemm.n,
                          difference);
}

static void close_openblas(void *arg)
{
    gemm_job *j = arg;
    for (int i = 0; i < 3; i++) free(j->matrices[i]);
    free(j);
}

void bench_openblas_open(const bench_op *gemm, bench_runner *out)
{
    const size_t counts[] = {(size_t)gemm->gemm.m * (size_t)gemm->gemm.k,
                             (size_t)gemm->gemm.k * (size_t)gemm->gemm.n,
                             (size_t)gemm->gemm.m * (size_t)gemm->gemm.n};
    gemm_job *j = calloc(1, sizeof *j);
    if (j) *out = (bench_runner){run_openblas, check_openblas, close_openblas, j, .difference = -1};
    if (j) j->op = gemm;
    for (int i = 0; i < 3; i++) {
        if (j) j->matrices[i] = aligned_alloc(4096, (counts[i] * sizeof(float) + 4095) / 4096 * 4096);
        if (!j || !j->matrices[i]) {
            out->failure = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the matrices");
            return;
        }
        if (i < 2) bench_fill(&gemm->inputs[i], i, 0, j->matrices[i]);
    }
}
