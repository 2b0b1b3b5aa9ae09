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
    double seconds[BENCH_MAX_SAMPLES]; /* of the attempt that counts */
    int count;
    double best; /* the min of all attempts */
    bool noisy;  /* the machine was never quiet around it */
} bench_samples;

typedef struct bench_plan {
    int repeats;   /* samples wanted of an attempt */
    double budget; /* seconds for them; at least three are taken */
    int rounds;    /* attempts at least */
    double losses; /* seconds of a whole run that may go to waiting for a quiet machine, and to measuring
                      again: not more, as on a virtual machine that is never quiet */
} bench_plan;

/* What is measured: a limit of the machine, a peer, a target of gpuc. To be closed also if it failed. */
typedef struct bench_runner {
    gpuc_status (*run)(void *arg, int count, double *seconds); /* so many runs, and what each took */
    /* Compares what the last runs gave with a reference. difference: left as it is without one. */
    gpuc_status (*check)(void *arg, double *difference);
    void (*close)(void *arg); /* NULL: nothing is open */
    void *arg;
    gpuc_status failure; /* why there are no samples; set if it could not be opened, too */
    bench_samples samples;
    double difference; /* worst, as a share of the reference's largest element; negative: not compared */
    bool slow;         /* so much that one attempt is enough */
} bench_runner;

double bench_now(void);
double bench_median(const bench_samples *s);
/* For a runner in this process. */
GPUC_NODISCARD gpuc_status bench_repeat(gpuc_status (*once)(void *arg), void *arg, int count,
                                        double *seconds);
/* Measures all in turn, in rounds: each is warmed up, then sampled. Rounds are added, up to six, while one of
 * them had no quiet attempt: the calibration loop ran at 90% of its best speed before and after it, and the
 * median of its samples is not far above the min. Of a runner's attempts that with the min median counts,
 * a quiet one if there is one. */
void bench_measure(const bench_plan *plan, int count, bench_runner *runners);

/* How far elements of an output are from what they should be. */
typedef struct bench_worst {
    double off, largest;
} bench_worst;
void bench_look(bench_worst *w, double got, double want);
/* Fails above a tolerance. */
GPUC_NODISCARD gpuc_status bench_judge(const bench_worst *w, double *difference);

extern cli_quiet *bench_quiet;

/* ---- Workloads (subject.c, data.c) ---- */

typedef struct bench_subject {
    gpuc_runtime *rt;
    const char *target; /* as the user wrote it */
    int num_logs;
    const char *const *logs; /* of gpuc tune: only what they have a record for is measured; 0: all is */
    bench_plan plan;
    int threads;
    bool
        pin; /* threads of drivers onto a processor each, not as users get them; out: whether there are any */
    char device[128]; /* out: its name */
    bool untuned;     /* out: the logs have nothing for it, and nothing was opened */
} bench_subject;

/* How its packages are built. Raises. */
gpuc_build_options bench_build_options(gpuc_ctx *ctx, const bench_subject *s);
/* Raises, and notes it, if there are logs that have nothing for it. */
void bench_need_tuned(gpuc_ctx *ctx, bench_subject *s, const gpuc_build_report *report);
/* The subject's target, and the device that it is for; notes the device's name. Raises. */
const gpuc_target *bench_open(gpuc_ctx *ctx, bench_subject *s, gpuc_device **device);
GPUC_NODISCARD gpuc_status bench_load(const bench_subject *s, const char *package, gpuc_device *device,
                                      gpuc_model **out);

typedef struct bench_shape {
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[8];
    int32_t below; /* of integers, which go from 0 on; 0: any bytes */
} bench_shape;

/* What an operator, or a network, is fed with: the n-th input of a variant. Equal numbers give equal data:
 * floats from -1 to 1, with all bits of their mantissas. */
float bench_float(int n, int variant, int64_t at);
int64_t bench_count(const bench_shape *s);
size_t bench_bytes(const bench_shape *s);
double bench_element(gpuc_dtype t, const void *data, int64_t at);
void bench_fill(const bench_shape *s, int n, int variant, void *data);

/* What is wanted of a workload, by target (goals.c). */
typedef enum bench_class {
    BENCH_ELEMWISE,
    BENCH_COPY,
    BENCH_SUM,
    BENCH_NORM,
    BENCH_MOVE,
    BENCH_GEMM,
    BENCH_CONV,
    BENCH_INT8,
    BENCH_NET,
    BENCH_SMALL_NET,
    BENCH_LAUNCH,
    BENCH_OTHER, /* nothing */
    BENCH_CLASSES
} bench_class;

/* The targets that are measured unless others are asked for. */
extern const char *const bench_targets[];
extern const size_t bench_num_targets;
/* A share of the limit's speed, of a launch the seconds that it may take; 0: none. */
double bench_goal(const char *target, bench_class of);

enum { BENCH_INPUTS = 6, BENCH_SIZES = 4 };

typedef struct bench_gemm {
    int m, n, k;
} bench_gemm;

/* Operators: at the speed of the memory, at sizes that leave the caches (ops.c), and at that of the
 * arithmetic (dense.c). One output. */
typedef struct bench_op {
    const char *title, *relay; /* the operator's name */
    const struct gpuc_attrs *(*attrs)(gpuc_ctx *ctx);
    int num_inputs;
    bench_shape inputs[BENCH_INPUTS]; /* a dimension of -n: the n-th open size, up to BENCH_SIZES */
    unsigned constants;               /* bit i: input i is a constant of the model, as weights are */
    int chain; /* how often it is applied to its own result, by a kernel each; 0: once */
    double (*expected)(const struct bench_op *op, const void *const *ins, int64_t at);
    int64_t step;      /* every how many elements the result is looked at */
    double bytes;      /* read and written by one run; 0: counted in operations */
    double operations; /* of one run */
    bench_class kind;
    bench_gemm gemm; /* m 0: it is none */
    /* What models spell by several operators, of the inputs; NULL: it is one. */
    struct gpuc_rexpr *(*spell)(gpuc_ctx *ctx, struct gpuc_rexpr *const *ins);
} bench_op;
extern const bench_op bench_ops[], bench_dense_ops[];
extern const size_t bench_num_ops, bench_num_dense_ops;
/* Built into a package in the folder work, in a session (op.c). s: is looked at only here, the device's name
 * is noted in it. UNAVAILABLE where there is no such device. */
void bench_op_open(const bench_op *op, const char *work, bench_subject *s, bench_runner *out);
/* Whether an output is what it should be; ins: the inputs. */
GPUC_NODISCARD gpuc_status bench_op_check(const bench_op *op, const void *const *ins, gpuc_dtype type,
                                          const void *got, int64_t count, double *difference);

/* The operator as a network of its own; data: of the inputs that are constants. Raises. */
gpuc_rmodule *bench_op_module(gpuc_ctx *ctx, const bench_op *op, void *const *data);

/* An operator as a network of its own, in a session. */
typedef struct bench_job {
    const bench_op *op;
    bench_subject *s;
    const char *package;
    gpuc_device *device;
    gpuc_model *model;
    gpuc_session *session;
    void *data[BENCH_INPUTS];
} bench_job;
/* Makes the session of a package that is built in the folder work. To be deinitialised also if it fails. */
GPUC_NODISCARD gpuc_status bench_job_build(bench_job *j, const char *work);
/* Gives it inputs, whose sizes j->op now states, and runs it once. */
GPUC_NODISCARD gpuc_status bench_job_feed(bench_job *j);
GPUC_NODISCARD gpuc_status bench_job_run(void *job);
/* out is to be freed. */
GPUC_NODISCARD gpuc_status bench_job_output(bench_job *j, gpuc_dtype *type, int64_t *count, void **out);
void bench_job_deinit(bench_job *j);

/* Why there are no rows for the word of an option (main.c). */
gpuc_status bench_nothing_has(const char *word);

/* Operators with sizes left open beside the same with these sizes pinned: those with word in their class or
 * title. Prints the tables (open.c). */
GPUC_NODISCARD gpuc_status bench_open_sizes(const bench_subject *like, const char *work, const char *word,
                                            bool quick, int num_targets, const char *const *targets);

/* Networks: every sample sets the inputs, which differ from those before, runs and fetches the first output
 * (nets.c). */
typedef struct bench_net {
    const char *title, *path; /* of the ONNX file, from the root of the project */
    double macs;
    bench_class kind;
    int num_inputs;
    bench_shape inputs[3];
    gpuc_shape_pin dims[2]; /* what the file leaves open */
} bench_net;
extern const bench_net bench_nets[];
extern const size_t bench_num_nets;
/* A line each: title, a tab, file, and options of `gpuc build` that fix its shapes. */
void bench_list_nets(FILE *to);

enum { BENCH_VARIANTS = 4, BENCH_PEERS = 16 };

typedef struct bench_net_data {
    const bench_net *net;
    const char *work; /* a directory for packages and data */
    void *inputs[BENCH_VARIANTS][3];
    float *reference[BENCH_VARIANTS];
    size_t reference_count;
} bench_net_data;

/* Makes the inputs, also as files for the peers. To be deinitialised also if it fails. */
GPUC_NODISCARD gpuc_status bench_net_init(bench_net_data *d, const bench_net *net, const char *work);
void bench_net_deinit(bench_net_data *d);
void bench_net_open(bench_net_data *d, bench_subject *s, bench_runner *out);
/* Compares an output; the first one is the reference. */
GPUC_NODISCARD gpuc_status bench_net_check(bench_net_data *d, int variant, const float *got, size_t count,
                                           double *difference);
/* Another program on the same, in a process that lives until it is closed (peer.c): a command in front of the
 * arguments of bench/peer.py. name: what it calls itself, or its last word. */
void bench_peer_open(bench_net_data *d, const char *command, int threads, char name[64], bench_runner *out);

/* ---- Limits of the machine, and what else does the same as an operator (limits.c, clblast.c) ---- */

#define BENCH_ADD_COUNT ((int64_t)16 << 20)

/* c = a + b over arrays of BENCH_ADD_COUNT floats. */
void bench_stream_open(int threads, bench_runner *out);
/* The name of the library, or NULL where it is not installed; then bench_openblas_open must not be called. */
const char *bench_openblas_load(int threads);
void bench_openblas_open(const bench_op *gemm, bench_runner *out);
/* CLBlast's sgemm on the first OpenCL device. UNAVAILABLE without the library or a device. */
void bench_clblast_open(const bench_op *gemm, bench_runner *out);

/* ---- Results (table.c) ---- */

typedef struct bench_row {
    const char *workload, *target, *device;
    bench_samples samples;
    double amount;     /* bytes, operations or launches of one run */
    double scale;      /* of the unit */
    const char *unit;  /* "GB/s", "GFLOP/s" */
    const char *limit; /* what it is compared with; NULL: nothing */
    /* Of the limit's median and its best, for as much work; measured in turn with this row. */
    double limit_seconds, limit_best;
    bool limit_noisy;
    double goal; /* share of the limit's speed; 0: none */
    double difference;
    char *failure; /* instead of samples */
} bench_row;

typedef struct bench_table {
    bench_row rows[1024];
    int count;
} bench_table;

void bench_print_header(FILE *to, int threads);
void bench_print_row(FILE *to, const bench_row *row);
/* The rows with every sample. */
GPUC_NODISCARD gpuc_status bench_write_json(const char *path, const bench_table *table, int threads);

#endif
