/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the benchmark share: measuring under a noise gate, limits, workloads, the table. */
#ifndef GPUC_BENCH_H
#define GPUC_BENCH_H

#include <stdio.h>

#include <gpuc/build.h>
#include <gpuc/runtime.h>
#include <gpuc/target.h>
#include <gpuc/te.h>

#include "tune/quiet.h"

#define BENCH_MAX_SAMPLES 64
#define BENCH_COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- Measuring (measure.c) ---- */

typedef struct bench_samples {
    double seconds[BENCH_MAX_SAMPLES];
    int count;
    bool noisy; /* the machine was never quiet around it */
} bench_samples;

typedef struct bench_plan {
    int repeats;   /* samples wanted */
    double budget; /* seconds for them; at least three are taken */
} bench_plan;

double bench_now(void);
double bench_median(const bench_samples *s);
double bench_min(const bench_samples *s);
/* One run to warm up, then samples. It is done again, a few times, until the calibration loop ran at 90% of
 * its best speed both before and after. */
GPUC_NODISCARD gpuc_status bench_measure(const bench_plan *plan, gpuc_status (*run)(void *arg), void *arg,
                                         bench_samples *out);

extern gpuc_quiet *bench_quiet; /* the noise gate */
#define BENCH_PATIENCE 1.5      /* seconds that it waits */

/* ---- Limits of the machine, and peers (limits.c) ---- */

/* Sizes of the workloads. */
#define BENCH_ADD_COUNT ((int64_t)16 << 20)
#define BENCH_GEMM_SIZE 1024

/* c = a + b over arrays of BENCH_ADD_COUNT floats. */
GPUC_NODISCARD gpuc_status bench_stream(const bench_plan *plan, int threads, bench_samples *out);
/* The name of the library, or NULL where it is not installed; then bench_openblas must not be called. */
const char *bench_openblas_open(int threads);
GPUC_NODISCARD gpuc_status bench_openblas(const bench_plan *plan, bench_samples *out);

/* ---- Workloads (subject.c, kernels.c, ops.c, models.c) ---- */

typedef struct bench_subject {
    gpuc_runtime *rt;
    const char *target;     /* as the user wrote it */
    const char *tuning_log; /* NULL: none */
    bench_plan plan;
    int threads;
    char device[128];      /* out: its name */
    double difference;     /* out: worst, from a reference; negative: not compared */
    bench_samples samples; /* out */
} bench_subject;

/* How its packages are built. Raises. */
gpuc_build_options bench_build_options(gpuc_ctx *ctx, const bench_subject *s);
/* The subject's target, and the device that it is for; notes the device's name. Raises. */
const gpuc_target *bench_open(gpuc_ctx *ctx, bench_subject *s, gpuc_device **device);
GPUC_NODISCARD gpuc_status bench_load(const bench_subject *s, const char *package, gpuc_device *device,
                                      gpuc_model **out);

typedef struct bench_shape {
    int ndim;
    int64_t dims[8];
    int32_t below; /* 0: floats; else indices, integers from 0 on */
} bench_shape;

/* One output of floats. */
typedef struct bench_kernel {
    const char *name;
    int num_inputs;
    bench_shape inputs[6];
    gpuc_tensor *(*define)(gpuc_ctx *ctx, const struct bench_kernel *k, gpuc_tensor *const *ins);
    double (*expected)(const struct bench_kernel *k, const void *const *ins, int64_t at);
    int64_t step; /* every how many elements the result is looked at */
} bench_kernel;

int64_t bench_count(const bench_shape *s);
void bench_fill(const bench_shape *s, int which, void *data); /* which of the inputs */
/* Fails where got is not what is expected. */
GPUC_NODISCARD gpuc_status bench_compare(const bench_kernel *k, const void *const *inputs, const float *got,
                                         int64_t count, bench_subject *s);

/* UNAVAILABLE where there is no such device. */
GPUC_NODISCARD gpuc_status bench_add(bench_subject *s);
GPUC_NODISCARD gpuc_status bench_gemm(bench_subject *s);

/* Operators: at the speed of the memory, at sizes that leave the caches (ops.c), and at that of the
 * arithmetic (dense.c). */
typedef enum bench_op_class {
    BENCH_OP_ELEMWISE,
    BENCH_OP_SUM,
    BENCH_OP_NORM,
    BENCH_OP_MOVE,
    BENCH_OP_SORT,
    BENCH_OP_GEMM,
    BENCH_OP_CONV,
    BENCH_OP_CLASSES
} bench_op_class;
typedef struct bench_op {
    const char *title, *relay; /* the operator's name */
    const struct gpuc_attrs *(*attrs)(gpuc_ctx *ctx);
    bench_kernel kernel;
    double bytes;        /* read and written by one run; 0: counted in operations */
    double operations;   /* of one run */
    bench_op_class kind; /* what is wanted of it */
    unsigned constants;  /* bit i: input i is a constant of the model, as weights are */
} bench_op;
extern const bench_op bench_ops[], bench_dense_ops[];
extern const size_t bench_num_ops, bench_num_dense_ops;
/* Built into a package in the folder work, and run in a session. */
GPUC_NODISCARD gpuc_status bench_run_op(const bench_op *op, const char *work, bench_subject *s);

/* A network: input and reference output are made once. */
typedef struct bench_model {
    const char *path; /* of the ONNX file */
    const char *work; /* a directory for packages and data */
    const char *peer; /* command in front of the arguments of bench/onnxruntime_peer.py, or NULL */
    double macs;
    char peer_name[64]; /* out */
    float *input, *reference;
    size_t input_count, reference_count;
} bench_model;

GPUC_NODISCARD gpuc_status bench_model_init(bench_model *m);
void bench_model_deinit(bench_model *m);
GPUC_NODISCARD gpuc_status bench_model_peer(bench_model *m, const bench_plan *plan, int threads,
                                            bench_samples *out);
GPUC_NODISCARD gpuc_status bench_model_run(bench_model *m, bench_subject *s);

/* ---- Results (table.c) ---- */

typedef struct bench_row {
    const char *workload, *target, *device;
    bench_samples samples;
    double amount;        /* bytes or operations of one run */
    const char *unit;     /* "GB/s", "GFLOP/s" */
    const char *limit;    /* what it is compared with; NULL: it is a limit itself */
    double limit_seconds; /* measured around this row */
    double goal;          /* share of the limit's speed; 0: none */
    double difference;
    char *failure; /* instead of samples */
} bench_row;

typedef struct bench_table {
    bench_row rows[256];
    int count;
} bench_table;

void bench_print_header(FILE *to);
void bench_print_row(FILE *to, const bench_row *row);
/* The rows with every sample. */
GPUC_NODISCARD gpuc_status bench_write_json(const char *path, const bench_table *table, int threads);

#endif
