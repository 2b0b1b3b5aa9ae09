/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-bench [OPTION]... [TARGET]...: one table of workloads by targets, each beside the limit of the machine
 * or the peer that was measured around it. bench/run.sh calls it. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/devices.h>

#include "bench.h"

gpuc_quiet *bench_quiet;

typedef struct bench {
    gpuc_runtime *rt;
    int threads;
    bench_plan plan;
    const char *openblas, *json;
    const char *ops; /* operators at the speed of the memory with this in their titles, instead of the rest */
    const char *dense; /* the same for those at the speed of the arithmetic */
    const char *tuning_log;
    bench_model model;
    bench_table table;
} bench;

typedef struct target_goal {
    const char *target;
    double add, gemm, model;
    double ops[BENCH_OP_CLASSES]; /* 0: none */
} target_goal;

/* The presets, what is wanted of them, and the bare kinds. */
static const target_goal goals[] = {
    {"c -mcpu=native", 0.80, 0.50, 1.0 / 3, {0.85, 0.60, 0.60, 0.40, 0, 0.85, 0.80}},
    {"opencl/pocl", 0.80, 0.50, 1.0 / 3, {0.85, 0.60, 0.60, 0.40, 0, 0.90, 0.80}},
    {"vulkan/llvmpipe", 0.25, 0.05, 1.0 / 20, {0.30, 0.50, 0.12, 0.12, 0, 0.35, 0.30}},
    {"c", 0, 0, 0, {0}},
    {"opencl", 0, 0, 0, {0}},
    {"vulkan", 0, 0, 0, {0}},
};

enum { PRESETS = 3 };

static const target_goal *goals_of(const char *target)
{
    static const target_goal none;
    for (size_t i = 0; i < BENCH_COUNT(goals); i++)
        if (!strcmp(goals[i].target, target)) return &goals[i];
    return &none;
}

static void add_row(bench *b, bench_row row)
{
    if (b->table.count < (int)BENCH_COUNT(b->table.rows)) b->table.rows[b->table.count++] = row;
    bench_print_row(stdout, &row);
}

static gpuc_status add_limit(bench *b, const char *workload, const char *name, double amount,
                             const char *unit, const bench_samples *s)
{
    add_row(b, (bench_row){.workload = workload,
                           .target = name,
                           .device = "",
                           .samples = *s,
                           .amount = amount,
                           .unit = unit,
                           .difference = -1});
    return NULL;
}

/* A target that cannot be measured is a row that says why. */
static void add_result(bench *b, bench_row row, const bench_subject *s, gpuc_status status)
{
    row.target = s->target;
    row.device = strdup(s->device);
    row.samples = s->samples;
    row.difference = s->difference;
    if (status) row.failure = strdup(gpuc_status_message(status));
    gpuc_status_release(status);
    add_row(b, row);
}

/* The limit is measured before and after the row; the quicker one counts. */
static gpuc_status measure_limit(bench *b, bench_row *row, gpuc_status (*limit)(bench *b, bench_samples *out))
{
    bench_samples s;
    if (!limit) return NULL;
    GPUC_TRY(limit(b, &s));
    double seconds = bench_median(&s);
    if (row->limit_seconds == 0 || seconds < row->limit_seconds) row->limit_seconds = seconds;
    return NULL;
}

typedef struct workload {
    const char *name, *limit, *unit;
    double amount, limit_amount; /* of an operator and of its limit: they count in the same unit */
    gpuc_status (*measure_limit)(bench *b, bench_samples *out); /* NULL: there is nothing to compare with */
    gpuc_status (*run)(bench *b, bench_subject *s);
    double (*goal)(const target_goal *g);
    const bench_op *op;
} workload;

#define STREAM_BYTES (12.0 * BENCH_ADD_COUNT)
#define GEMM_OPERATIONS (2.0 * BENCH_GEMM_SIZE * BENCH_GEMM_SIZE * BENCH_GEMM_SIZE)

static double goal_of(const workload *w, const char *target)
{
    const target_goal *g = goals_of(target);
    return w->op ? g->ops[w->op->kind] : w->goal(g);
}

static gpuc_status bench_workload(bench *b, const workload *w, int num_targets, const char *const *targets)
{
    bench_samples limit;
    if (w->measure_limit && !w->op) {
        GPUC_TRY(w->measure_limit(b, &limit));
        GPUC_TRY(add_limit(b, w->name, w->limit, w->amount, w->unit, &limit));
    }
    for (int i = 0; i < num_targets; i++) {
        bench_row row = {
            .workload = w->name, .amount = w->amount, .unit = w->unit, .goal = goal_of(w, targets[i])};
        bench_subject s = {.tuning_log = b->tuning_log,
                           .rt = b->rt,
                           .target = targets[i],
                           .plan = b->plan,
                           .threads = b->threads,
                           .difference = -1};
        if (w->measure_limit) row.limit = w->limit;
        GPUC_TRY(measure_limit(b, &row, w->measure_limit));
        gpuc_status status = w->op ? bench_run_op(w->op, b->model.work, &s) : w->run(b, &s);
        GPUC_TRY(measure_limit(b, &row, w->measure_limit));
        if (w->op) row.limit_seconds *= w->amount / w->limit_amount;
        add_result(b, row, &s, status);
    }
    return NULL;
}

static gpuc_status stream_limit(bench *b, bench_samples *out)
{
    return bench_stream(&b->plan, b->threads, out);
}

static gpuc_status openblas_limit(bench *b, bench_samples *out)
{
    return bench_openblas(&b->plan, out);
}

static gpuc_status model_peer(bench *b, bench_samples *out)
{
    return bench_model_peer(&b->model, &b->plan, b->threads, out);
}

static gpuc_status run_add(bench *b, bench_subject *s)
{
    (void)b;
    return bench_add(s);
}

static gpuc_status run_gemm(bench *b, bench_subject *s)
{
    (void)b;
    return bench_gemm(s);
}

static gpuc_status run_model(bench *b, bench_subject *s)
{
    return bench_model_run(&b->model, s);
}

static double goal_add(const target_goal *g)
{
    return g->add;
}

static double goal_gemm(const target_goal *g)
{
    return g->gemm;
}

static double goal_model(const target_goal *g)
{
    return g->model;
}

static gpuc_status bench_ops_of(bench *b, size_t n, const bench_op *ops, const char *word, int num_targets,
                                const char *const *targets)
{
    for (size_t i = 0; i < n; i++) {
        const bench_op *op = &ops[i];
        bool memory = op->bytes > 0;
        if (*word && !strstr(op->title, word)) continue;
        workload w = {.name = op->title,
                      .limit = memory ? "STREAM" : "OpenBLAS",
                      .unit = memory ? "GB/s" : "GFLOP/s",
                      .amount = memory ? op->bytes : op->operations,
                      .limit_amount = memory ? STREAM_BYTES : GEMM_OPERATIONS,
                      .measure_limit = memory        ? stream_limit
                                       : b->openblas ? openblas_limit
                                                     : NULL,
                      .op = op};
        GPUC_TRY(bench_workload(b, &w, num_targets, targets));
    }
    return NULL;
}

static gpuc_status run(bench *b, int num_targets, const char *const *targets)
{
    workload add = {.name = "add of 16 Mi floats",
                    .limit = "STREAM add",
                    .unit = "GB/s",
                    .amount = STREAM_BYTES,
                    .measure_limit = stream_limit,
                    .run = run_add,
                    .goal = goal_add};
    workload gemm = {.name = "sgemm 1024",
                     .limit = "OpenBLAS",
                     .unit = "GFLOP/s",
                     .amount = GEMM_OPERATIONS,
                     .measure_limit = b->openblas ? openblas_limit : NULL,
                     .run = run_gemm,
                     .goal = goal_gemm};
    workload net = {.name = "resnet18",
                    .limit = "onnxruntime",
                    .unit = "GFLOP/s",
                    .amount = 2 * b->model.macs,
                    .measure_limit = b->model.peer ? model_peer : NULL,
                    .run = run_model,
                    .goal = goal_model};
    bench_quiet = gpuc_quiet_create(b->threads, 1);
    if (!bench_quiet) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the calibration loop");
    printf("%d threads; the calibration loop makes %.0f GFLOP/s", b->threads,
           gpuc_quiet_best(bench_quiet) * 1e-9);
    if (b->openblas) printf("; %s", b->openblas);
    printf("\n\n");
    bench_print_header(stdout);
    if (b->ops) GPUC_TRY(bench_ops_of(b, bench_num_ops, bench_ops, b->ops, num_targets, targets));
    if (b->dense)
        GPUC_TRY(bench_ops_of(b, bench_num_dense_ops, bench_dense_ops, b->dense, num_targets, targets));
    if (b->ops || b->dense) return b->json ? bench_write_json(b->json, &b->table, b->threads) : NULL;
    GPUC_TRY(bench_workload(b, &add, num_targets, targets));
    GPUC_TRY(bench_workload(b, &gemm, num_targets, targets));
    if (b->model.path) {
        GPUC_TRY(bench_model_init(&b->model));
        GPUC_TRY(bench_workload(b, &net, num_targets, targets));
        if (b->model.peer) printf("\nThe peer of the network is %s.\n", b->model.peer_name);
    }
    return b->json ? bench_write_json(b->json, &b->table, b->threads) : NULL;
}

static void log_warning(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)user;
    if (level != GPUC_LOG_INFO) fprintf(stderr, "%s: %s\n", id, message);
}

static const char usage[] =
    "usage: gpuc-bench [OPTION]... [TARGET]...\n"
    "  --threads N      of the limits, the peers and the devices (2)\n"
    "  --quick          three samples each\n"
    "  --no-peers       no OpenBLAS, no onnxruntime\n"
    "  --ops[=WORD]     operators at the speed of the memory (those with WORD in the title) on the presets\n"
    "  --dense[=WORD]   the same for operators at the speed of the arithmetic, beside OpenBLAS\n"
    "  --model FILE     the ONNX file of resnet18; without it the network is left out\n"
    "  --work DIR       for packages and data (.)\n"
    "  --peer COMMAND   runs bench/onnxruntime_peer.py\n"
    "  --tuning-log F   packages are built with the configurations of this log of gpuc tune\n"
    "  --json FILE      all samples\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"quick", no_argument, NULL, 'q'},
        {"no-peers", no_argument, NULL, 'n'},
        {"ops", optional_argument, NULL, 'o'},
        {"dense", optional_argument, NULL, 'd'},
        {"model", required_argument, NULL, 'm'},
        {"work", required_argument, NULL, 'w'},
        {"peer", required_argument, NULL, 'p'},
        {"json", required_argument, NULL, 'j'},
        {"tuning-log", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    bench b = {.threads = 2, .plan = {.repeats = 15, .budget = 4}, .model = {.work = ".", .macs = 1814.07e6}};
    bool peers = true;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 't': b.threads = atoi(optarg); break;
        case 'q': b.plan = (bench_plan){.repeats = 3, .budget = 1}; break;
        case 'n': peers = false; break;
        case 'o': b.ops = optarg ? optarg : ""; break;
        case 'd': b.dense = optarg ? optarg : ""; break;
        case 'm': b.model.path = optarg; break;
        case 'w': b.model.work = optarg; break;
        case 'p': b.model.peer = optarg; break;
        case 'j': b.json = optarg; break;
        case 'l': b.tuning_log = optarg; break;
        default: fputs(usage, c == 'h' ? stdout : stderr); return c == 'h' ? 0 : 2;
        }
    }
    if (b.threads < 1 || b.threads > 64) {
        fputs(usage, stderr);
        return 2;
    }
    const char *all[BENCH_COUNT(goals)];
    for (size_t i = 0; i < BENCH_COUNT(goals); i++) all[i] = goals[i].target;
    bool some = optind < argc;

    /* Before any driver is loaded. */
    char count[16];
    snprintf(count, sizeof count, "%d", b.threads);
    setenv("POCL_AFFINITY", "1", 0);
    setenv("POCL_MAX_PTHREAD_COUNT", count, 0);
    setenv("LP_NUM_THREADS", count, 0);
    if (!peers) b.model.peer = NULL;
    if (peers) b.openblas = bench_openblas_open(b.threads);

    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.num_threads = b.threads;
    desc.log = log_warning;
    gpuc_status status = gpuc_runtime_create(&desc, &b.rt);
    if (!status) status = gpuc_devices_register(b.rt);
    if (!status)
        status = run(&b,
                     some               ? argc - optind
                     : b.ops || b.dense ? PRESETS
                                        : (int)BENCH_COUNT(all),
                     some ? (const char *const *)argv + optind : all);
    int code = status ? 1 : 0;
    if (status) fprintf(stderr, "gpuc-bench: %s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    bench_model_deinit(&b.model);
    gpuc_quiet_destroy(bench_quiet);
    gpuc_runtime_release(b.rt);
    return code;
}
