/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-bench [OPTION]... [TARGET]...: one table of workloads by targets, each beside the limit of the machine
 * or the peer that was measured around it. bench/run.sh calls it. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/devices.h>

#include "base/file.h"
#include "bench.h"

enum { BENCH_LOGS = 16 };

cli_quiet *bench_quiet;

typedef struct bench {
    gpuc_runtime *rt;
    int threads;
    bench_plan plan;
    bool peers;
    const char *openblas; /* its name; NULL: not here */
    const char *json, *work;
    const char *logs[BENCH_LOGS];
    int num_logs;
    const char *memory, *dense, *nets; /* the groups that are measured, as far as titles have this in them */
    const char *open;                  /* instead: operators with open sizes, as far as ... */
    bool all_sizes;                    /* of these more than a quick set */
    const char *net_peers[BENCH_PEERS];
    int num_net_peers;
    const char *const *targets;
    int num_targets;
    bench_net_data net; /* of the network being measured */
    bench_table table;
} bench;

typedef struct workload {
    const char *name, *unit;
    double amount, scale;
    bench_class kind;
    const bench_op *op;  /* or b->net */
    const char *limit;   /* NULL: there is nothing to compare with */
    double limit_amount; /* of one run of the limit, in the same unit */
    gpuc_status (*measure_limit)(bench *b, const struct workload *w, bench_row *row);
} workload;

static void add_row(bench *b, bench_row row)
{
    if (b->table.count < (int)BENCH_COUNT(b->table.rows)) b->table.rows[b->table.count++] = row;
    bench_print_row(stdout, &row);
}

/* Takes the status: what cannot be measured is a row that says why. */
static void add_result(bench *b, bench_row row, gpuc_status status)
{
    if (status) row.failure = strdup(gpuc_status_message(status));
    gpuc_status_release(status);
    add_row(b, row);
}

static bench_row row_of(const workload *w, const char *target)
{
    return (bench_row){.workload = w->name,
                       .target = target,
                       .device = "",
                       .amount = w->amount,
                       .scale = w->scale,
                       .unit = w->unit,
                       .difference = -1};
}

/* ---- Limits and peers ---- */

static gpuc_status stream_limit(bench *b, const workload *w, bench_row *row)
{
    (void)w;
    return bench_stream(&b->plan, b->threads, &row->samples);
}

static bench_gemm gemm_of(const workload *w)
{
    static const bench_gemm peak = {BENCH_GEMM_SIZE, BENCH_GEMM_SIZE, BENCH_GEMM_SIZE};
    return w->op && w->op->gemm.m ? w->op->gemm : peak;
}

static gpuc_status openblas_limit(bench *b, const workload *w, bench_row *row)
{
    return bench_openblas(&b->plan, gemm_of(w), &row->samples);
}

static gpuc_status net_peer(bench *b, const char *command, bench_row *row)
{
    char name[64] = "peer";
    gpuc_status status =
        bench_net_peer(&b->net, command, &b->plan, b->threads, name, &row->difference, &row->samples);
    row->target = strdup(name);
    return status;
}

static gpuc_status net_limit(bench *b, const workload *w, bench_row *row)
{
    (void)w;
    return net_peer(b, b->net_peers[0], row);
}

static double limit_seconds(const workload *w, const bench_row *limit)
{
    return bench_median(&limit->samples) * w->amount / w->limit_amount;
}

/* Other programs that do the same, once. */
static void add_peers(bench *b, const workload *w, double seconds)
{
    if (!b->peers) return;
    if (w->op && w->op->gemm.m) {
        bench_row row = row_of(w, "CLBlast, opencl");
        row.limit = w->limit;
        row.limit_seconds = seconds;
        gpuc_status status = bench_clblast(&b->plan, w->op->gemm, &row.samples);
        add_result(b, row, status);
    }
    for (int i = 1; i < b->num_net_peers && !w->op; i++) {
        bench_row row = row_of(w, "");
        row.limit = w->limit;
        row.limit_seconds = seconds;
        gpuc_status status = net_peer(b, b->net_peers[i], &row);
        add_result(b, row, status);
    }
}

/* ---- Workloads ---- */

static const char *tuned_name(const char *target)
{
    char name[256];
    snprintf(name, sizeof name, "%s, tuned", target);
    return strdup(name);
}

/* No samples and no failure: it was to be tuned, and the logs have nothing for it. */
static bench_row run_target(bench *b, const workload *w, const char *target, bool tuned, gpuc_status *status)
{
    bench_subject s = {.num_logs = tuned ? b->num_logs : 0,
                       .logs = b->logs,
                       .rt = b->rt,
                       .target = target,
                       .plan = b->plan,
                       .threads = b->threads,
                       .difference = -1};
    *status = w->op ? bench_run_op(w->op, b->work, &s) : bench_net_run(&b->net, &s);
    if (s.untuned) {
        gpuc_status_release(*status);
        *status = NULL;
    }
    bench_row row = row_of(w, tuned ? tuned_name(target) : target);
    row.device = strdup(s.device);
    row.samples = s.samples;
    row.difference = s.difference;
    row.goal = bench_goal(target, w->kind);
    if (w->kind == BENCH_LAUNCH && row.goal > 0) {
        row.limit = "the time that it may take";
        row.limit_seconds = w->amount * row.goal;
        row.goal = 1;
    }
    return row;
}

/* The limit is measured before and after; the quicker one counts. */
static gpuc_status bench_target(bench *b, const workload *w, const char *target, bool tuned, double *before)
{
    gpuc_status status;
    bench_row row = run_target(b, w, target, tuned, &status), limit = {0};
    if (!status && row.samples.count == 0) return NULL;
    if (w->limit) {
        gpuc_status after = w->measure_limit(b, w, &limit);
        if (after) gpuc_status_release(status);
        GPUC_TRY(after);
        double seconds = limit_seconds(w, &limit);
        row.limit = w->limit;
        row.limit_seconds = seconds < *before ? seconds : *before;
        *before = seconds;
    }
    add_result(b, row, status);
    return NULL;
}

static gpuc_status bench_workload(bench *b, const workload *w)
{
    double before = 0;
    if (w->limit) {
        bench_row limit = row_of(w, w->limit);
        limit.amount = w->limit_amount;
        GPUC_TRY(w->measure_limit(b, w, &limit));
        before = limit_seconds(w, &limit);
        bool same = w->amount == w->limit_amount; /* not only the same library or memory */
        if (same) add_row(b, limit);
        add_peers(b, w, before);
    }
    for (int i = 0; i < b->num_targets; i++) {
        GPUC_TRY(bench_target(b, w, b->targets[i], false, &before));
        if (b->num_logs) GPUC_TRY(bench_target(b, w, b->targets[i], true, &before));
    }
    return NULL;
}

gpuc_status bench_nothing_has(const char *word)
{
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "no title has '%s': give a part of one, or no word for all rows",
                     word);
}

static gpuc_status bench_op_group(bench *b, size_t n, const bench_op *ops, const char *word)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        const bench_op *op = &ops[i];
        if (!strstr(op->title, word)) continue;
        found = true;
        workload w = {.name = op->title, .scale = 1e-9, .kind = op->kind, .op = op};
        if (op->chain) {
            w.unit = "k launches/s";
            w.scale = 1e-3;
            w.amount = op->chain;
        } else if (op->bytes > 0) {
            w.unit = "GB/s";
            w.amount = op->bytes;
            w.limit = "STREAM";
            w.limit_amount = 12.0 * BENCH_ADD_COUNT;
            w.measure_limit = stream_limit;
        } else {
            bench_gemm size = gemm_of(&w);
            w.unit = "GFLOP/s";
            w.amount = op->operations;
            if (b->openblas) w.limit = "OpenBLAS";
            w.limit_amount = 2.0 * size.m * size.n * size.k;
            w.measure_limit = openblas_limit;
        }
        GPUC_TRY(bench_workload(b, &w));
    }
    return found ? NULL : bench_nothing_has(word);
}

static gpuc_status bench_net_group(bench *b, const char *word)
{
    bool found = false;
    for (size_t i = 0; i < bench_num_nets; i++) {
        const bench_net *net = &bench_nets[i];
        if (!strstr(net->title, word)) continue;
        found = true;
        workload w = {.name = net->title,
                      .unit = "GFLOP/s",
                      .amount = 2 * net->macs,
                      .scale = 1e-9,
                      .kind = net->kind,
                      .limit = b->num_net_peers ? "onnxruntime" : NULL,
                      .limit_amount = 2 * net->macs,
                      .measure_limit = net_limit};
        gpuc_status status = bench_net_init(&b->net, net, b->work);
        if (!status) status = bench_workload(b, &w);
        bench_net_deinit(&b->net);
        GPUC_TRY(status);
    }
    return found ? NULL : bench_nothing_has(word);
}

static gpuc_status run(bench *b)
{
    bench_quiet = cli_quiet_create(b->threads, 1);
    if (!bench_quiet) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the calibration loop");
    printf("%d threads; the calibration loop makes %.0f GFLOP/s", b->threads,
           cli_quiet_best(bench_quiet) * 1e-9);
    if (b->openblas) printf("; %s", b->openblas);
    printf("\n\n");
    if (b->open) {
        const bench_subject like = {.rt = b->rt, .plan = b->plan, .threads = b->threads};
        return bench_open_sizes(&like, b->work, b->open, !b->all_sizes, b->num_targets, b->targets);
    }
    bench_print_header(stdout);
    if (b->memory) GPUC_TRY(bench_op_group(b, bench_num_ops, bench_ops, b->memory));
    if (b->dense) GPUC_TRY(bench_op_group(b, bench_num_dense_ops, bench_dense_ops, b->dense));
    if (b->nets) GPUC_TRY(bench_net_group(b, b->nets));
    return b->json ? bench_write_json(b->json, &b->table, b->threads) : NULL;
}

static void log_warning(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)user;
    if (level != GPUC_LOG_INFO) fprintf(stderr, "%s: %s\n", id, message);
}

static const char usage[] =
    "usage: gpuc-bench [OPTION]... [TARGET]...\n"
    "  --ops[=WORD]     operators at the speed of the memory (those with WORD in the title), beside STREAM\n"
    "  --dense[=WORD]   operators at the speed of the arithmetic, beside OpenBLAS\n"
    "  --nets[=WORD]    networks, beside the first peer; without any of the three: all\n"
    "  --open[=WORD]    instead of these: operators with sizes left open beside the same with sizes pinned\n"
    "  --all-sizes      with --open: sizes 64 and 4096 too, and all sizes alike, which takes some hours\n"
    "  --threads N      of the limits, the peers and the devices (2)\n"
    "  --quick          three samples each\n"
    "  --no-peers       no OpenBLAS, no CLBlast, no networks' peers\n"
    "  --peer COMMAND   runs bench/peer.py; the output of the first one is the reference\n"
    "  --work DIR       for packages and data (.)\n"
    "  --list           prints the networks' files, with what fixes their shapes, and ends\n"
    "  --tuning-log F   a second row for what this log of gpuc tune has configurations for; repeatable\n"
    "  --json FILE      all samples\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"quick", no_argument, NULL, 'q'},
        {"no-peers", no_argument, NULL, 'x'},
        {"ops", optional_argument, NULL, 'o'},
        {"dense", optional_argument, NULL, 'd'},
        {"nets", optional_argument, NULL, 'n'},
        {"open", optional_argument, NULL, 's'},
        {"all-sizes", no_argument, NULL, 'a'},
        {"work", required_argument, NULL, 'w'},
        {"peer", required_argument, NULL, 'p'},
        {"json", required_argument, NULL, 'j'},
        {"tuning-log", required_argument, NULL, 'l'},
        {"list", no_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    bench b = {.threads = 2, .plan = {.repeats = 15, .budget = 4, .losses = 600}, .peers = true, .work = "."};
    gpuc_file_open_standard();
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 't': b.threads = atoi(optarg); break;
        case 'q': b.plan = (bench_plan){.repeats = 3, .budget = 1, .losses = 60}; break;
        case 'x': b.peers = false; break;
        case 'o': b.memory = optarg ? optarg : ""; break;
        case 'd': b.dense = optarg ? optarg : ""; break;
        case 'n': b.nets = optarg ? optarg : ""; break;
        case 's': b.open = optarg ? optarg : ""; break;
        case 'a': b.all_sizes = true; break;
        case 'w': b.work = optarg; break;
        case 'p':
            if (b.num_net_peers < BENCH_PEERS) b.net_peers[b.num_net_peers++] = optarg;
            break;
        case 'j': b.json = optarg; break;
        case 'i': bench_list_nets(stdout); return 0;
        case 'l':
            if (b.num_logs < BENCH_LOGS) b.logs[b.num_logs++] = optarg;
            break;
        default: fputs(usage, c == 'h' ? stdout : stderr); return c == 'h' ? 0 : 2;
        }
    }
    if (b.threads < 1 || b.threads > 64) {
        fputs(usage, stderr);
        return 2;
    }
    if (!b.memory && !b.dense && !b.nets) b.memory = b.dense = b.nets = "";
    bool some = optind < argc;
    b.targets = some ? (const char *const *)argv + optind : bench_targets;
    b.num_targets = some ? argc - optind : (int)bench_num_targets;

    /* Before any driver is loaded. */
    char count[16];
    snprintf(count, sizeof count, "%d", b.threads);
    setenv("POCL_AFFINITY", "1", 0);
    setenv("POCL_MAX_PTHREAD_COUNT", count, 0);
    setenv("LP_NUM_THREADS", count, 0);
    if (!b.peers) b.num_net_peers = 0;
    if (b.peers && !b.open) b.openblas = bench_openblas_open(b.threads);

    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.num_threads = b.threads;
    desc.log = log_warning;
    gpuc_status status = gpuc_runtime_create(&desc, &b.rt);
    if (!status) status = gpuc_devices_register(b.rt);
    if (!status) status = run(&b);
    int code = status ? 1 : 0;
    if (status) fprintf(stderr, "gpuc-bench: %s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    cli_quiet_destroy(bench_quiet);
    gpuc_runtime_release(b.rt);
    return code;
}
