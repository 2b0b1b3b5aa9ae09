/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-bench [OPTION]... [TARGET]...: one table of workloads by targets, each beside the limit of the machine
 * or the peer that was measured in turn with it. bench/run.sh calls it. */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/devices.h>

#include "base/file.h"
#include "bench.h"

enum { BENCH_LOGS = 16, BENCH_TARGETS = 16, BENCH_RUNNERS = 1 + BENCH_PEERS + 2 * BENCH_TARGETS };

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
    bool pin;
    const char *net_limit; /* commands; NULL: none */
    const char *net_peers[BENCH_PEERS];
    int num_net_peers;
    const char *const *targets;
    int num_targets;
    bench_net_data net; /* of the network being measured */
    bench_runner runners[BENCH_RUNNERS];
    bench_row rows[BENCH_RUNNERS]; /* of these */
    int num_runners;
    bench_table table;
} bench;

typedef struct workload {
    const char *name, *unit;
    double amount, scale;
    bench_class kind;
    const bench_op *op;  /* or b->net */
    const char *limit;   /* NULL: there is nothing to compare with */
    double limit_amount; /* of one run of the limit, in the same unit */
    void (*open_limit)(bench *b, const struct workload *w, bench_row *row, bench_runner *out);
} workload;

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

static bench_runner *add_runner(bench *b, bench_row row, bench_row **its)
{
    *its = &b->rows[b->num_runners];
    **its = row;
    b->runners[b->num_runners] = (bench_runner){.difference = -1};
    return &b->runners[b->num_runners++];
}

static void drop_runner(bench *b)
{
    bench_runner *r = &b->runners[--b->num_runners];
    if (r->close) r->close(r->arg);
    gpuc_status_release(r->failure);
}

/* ---- Limits and peers ---- */

static void open_stream(bench *b, const workload *w, bench_row *row, bench_runner *out)
{
    (void)w;
    row->target = "STREAM, pinned";
    bench_stream_open(b->threads, out);
}

/* The product itself, or a large one: as fast as the machine can multiply. */
static const bench_op *gemm_of(const bench_op *op)
{
    if (op->gemm.m) return op;
    for (size_t i = 0; i < bench_num_dense_ops; i++)
        if (bench_dense_ops[i].gemm.m == 1024) return &bench_dense_ops[i];
    return NULL;
}

static void open_openblas(bench *b, const workload *w, bench_row *row, bench_runner *out)
{
    (void)b;
    row->target = "OpenBLAS";
    bench_openblas_open(gemm_of(w->op), out);
}

static void open_peer(bench *b, const char *command, bench_row *row, bench_runner *out)
{
    char name[64];
    bench_peer_open(&b->net, command, b->threads, name, out);
    row->target = strdup(name);
}

static void open_net_limit(bench *b, const workload *w, bench_row *row, bench_runner *out)
{
    (void)w;
    open_peer(b, b->net_limit, row, out);
}

/* Other programs that do the same. */
static void add_peers(bench *b, const workload *w)
{
    bench_row *row;
    if (!b->peers) return;
    if (w->op && w->op->gemm.m) {
        bench_row its = row_of(w, b->pin ? "CLBlast, opencl, pinned" : "CLBlast, opencl");
        bench_clblast_open(w->op, add_runner(b, its, &row));
    }
    for (int i = 0; i < b->num_net_peers && !w->op; i++) {
        bench_runner *r = add_runner(b, row_of(w, ""), &row);
        open_peer(b, b->net_peers[i], row, r);
    }
}

/* ---- Workloads ---- */

static void add_target(bench *b, const workload *w, const char *target, bool tuned)
{
    char name[256];
    bench_row *row;
    bench_runner *r = add_runner(b, row_of(w, target), &row);
    bench_subject s = {.num_logs = tuned ? b->num_logs : 0,
                       .logs = b->logs,
                       .rt = b->rt,
                       .target = target,
                       .plan = b->plan,
                       .threads = b->threads,
                       .pin = b->pin};
    if (w->op)
        bench_op_open(w->op, b->work, &s, r);
    else
        bench_net_open(&b->net, &s, r);
    if (s.untuned) {
        drop_runner(b);
        return;
    }
    snprintf(name, sizeof name, "%s%s%s", target, s.pin ? ", pinned" : "", tuned ? ", tuned" : "");
    row->target = strdup(name);
    row->device = strdup(s.device);
    row->goal = bench_goal(target, w->kind);
    if (w->kind == BENCH_LAUNCH && row->goal > 0) {
        row->limit = "the time that it may take";
        row->limit_seconds = row->limit_best = w->amount * row->goal;
        row->goal = 1;
    }
}

static void add_row(bench *b, bench_row row)
{
    if (b->table.count < (int)BENCH_COUNT(b->table.rows)) b->table.rows[b->table.count++] = row;
    bench_print_row(stdout, &row);
    if (row.failure) fprintf(stderr, "%s, %s: %s\n", row.workload, row.target, row.failure);
}

/* The rows, and ends all. */
static void finish_runners(bench *b, const workload *w)
{
    const bench_runner *limit = w->limit ? &b->runners[0] : NULL;
    double share = w->limit ? w->amount / w->limit_amount : 0;
    for (int i = 0; i < b->num_runners; i++) {
        const bench_runner *r = &b->runners[i];
        bench_row *row = &b->rows[i];
        row->samples = r->samples;
        row->difference = r->difference;
        if (r->failure) row->failure = strdup(gpuc_status_message(r->failure));
        if (r == limit) {
            row->amount = w->limit_amount;
        } else if (limit && !limit->failure) {
            row->limit = w->limit;
            row->limit_seconds = bench_median(&limit->samples) * share;
            row->limit_best = limit->samples.best * share;
            row->limit_noisy = limit->samples.noisy;
        }
        /* The limit itself only if it does the same, and not only uses the same library or memory. */
        if (r != limit || row->failure || w->amount == w->limit_amount) add_row(b, *row);
    }
    while (b->num_runners) drop_runner(b);
}

static void bench_workload(bench *b, const workload *w)
{
    bench_row *row;
    if (w->limit) {
        bench_runner *r = add_runner(b, row_of(w, w->limit), &row);
        w->open_limit(b, w, row, r);
    }
    add_peers(b, w);
    for (int i = 0; i < b->num_targets; i++) {
        add_target(b, w, b->targets[i], false);
        if (b->num_logs) add_target(b, w, b->targets[i], true);
    }
    bench_measure(&b->plan, b->num_runners, b->runners);
    finish_runners(b, w);
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
            w.open_limit = open_stream;
        } else {
            bench_gemm size = gemm_of(op)->gemm;
            w.unit = "GFLOP/s";
            w.amount = op->operations;
            if (b->openblas) w.limit = "OpenBLAS";
            w.limit_amount = 2.0 * size.m * size.n * size.k;
            w.open_limit = open_openblas;
        }
        bench_workload(b, &w);
    }
    return found ? NULL : bench_nothing_has(word);
}

static const char *last_word(const char *command)
{
    const char *space = strrchr(command, ' ');
    return space ? space + 1 : command;
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
                      .limit = b->net_limit ? last_word(b->net_limit) : NULL,
                      .limit_amount = 2 * net->macs,
                      .open_limit = open_net_limit};
        gpuc_status status = bench_net_init(&b->net, net, b->work);
        if (!status) bench_workload(b, &w);
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
    printf("%s\n\n", b->pin ? "; threads of drivers pinned" : "");
    if (b->open) {
        const bench_subject like = {.rt = b->rt, .plan = b->plan, .threads = b->threads, .pin = b->pin};
        return bench_open_sizes(&like, b->work, b->open, !b->all_sizes, b->num_targets, b->targets);
    }
    bench_print_header(stdout, b->threads);
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
    "  --nets[=WORD]    networks, beside other programs; without any of the three: all\n"
    "  --open[=WORD]    instead of these: operators with sizes left open beside the same with sizes pinned\n"
    "  --all-sizes      with --open: sizes 64 and 4096 too, and all sizes alike, which takes some hours\n"
    "  --threads N      of the limits, the peers and the devices (2)\n"
    "  --quick          three samples of each in two rounds, not fifteen in three\n"
    "  --pin            threads of pocl and llvmpipe onto a processor each, which is not their default\n"
    "  --no-peers       no OpenBLAS, no CLBlast, no networks' peers\n"
    "  --limit COMMAND  runs bench/peer.py: what networks are compared with; its output is the reference\n"
    "  --peer COMMAND   the same, one more beside them; repeatable\n"
    "  --work DIR       for packages and data (.)\n"
    "  --list           prints the networks' files, with what fixes their shapes, and ends\n"
    "  --tuning-log F   a second row for what this log of gpuc tune has configurations for; repeatable\n"
    "  --json FILE      all samples\n";

/* Ends the program if they say so, or make no sense. */
static void read_options(bench *b, int argc, char **argv)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"quick", no_argument, NULL, 'q'},
        {"no-peers", no_argument, NULL, 'x'},
        {"pin", no_argument, NULL, 'b'},
        {"limit", required_argument, NULL, 'm'},
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
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 't': b->threads = atoi(optarg); break;
        case 'q': b->plan = (bench_plan){.repeats = 3, .budget = 1, .rounds = 2, .losses = 60}; break;
        case 'x': b->peers = false; break;
        case 'b': b->pin = true; break;
        case 'm': b->net_limit = optarg; break;
        case 'o': b->memory = optarg ? optarg : ""; break;
        case 'd': b->dense = optarg ? optarg : ""; break;
        case 'n': b->nets = optarg ? optarg : ""; break;
        case 's': b->open = optarg ? optarg : ""; break;
        case 'a': b->all_sizes = true; break;
        case 'w': b->work = optarg; break;
        case 'p':
            if (b->num_net_peers < BENCH_PEERS) b->net_peers[b->num_net_peers++] = optarg;
            break;
        case 'j': b->json = optarg; break;
        case 'i': bench_list_nets(stdout); exit(0);
        case 'l':
            if (b->num_logs < BENCH_LOGS) b->logs[b->num_logs++] = optarg;
            break;
        default: fputs(usage, c == 'h' ? stdout : stderr); exit(c == 'h' ? 0 : 2);
        }
    }
    if (b->threads < 1 || b->threads > 64 || argc - optind > BENCH_TARGETS) {
        fputs(usage, stderr);
        exit(2);
    }
    if (!b->memory && !b->dense && !b->nets) b->memory = b->dense = b->nets = "";
    bool some = optind < argc;
    b->targets = some ? (const char *const *)argv + optind : bench_targets;
    b->num_targets = some ? argc - optind : (int)bench_num_targets;
}

int main(int argc, char **argv)
{
    bench b = {.threads = 2,
               .plan = {.repeats = 15, .budget = 4, .rounds = 3, .losses = 600},
               .peers = true,
               .work = "."};
    gpuc_file_open_standard();
    read_options(&b, argc, argv);

    /* Before any driver is loaded. */
    char count[16];
    snprintf(count, sizeof count, "%d", b.threads);
    if (b.pin)
        setenv("POCL_AFFINITY", "1", 1);
    else
        unsetenv("POCL_AFFINITY");
    setenv("POCL_MAX_PTHREAD_COUNT", count, 1);
    setenv("LP_NUM_THREADS", count, 1);
    signal(SIGPIPE, SIG_IGN); /* of a peer that ended */
    if (!b.peers) {
        b.num_net_peers = 0;
        b.net_limit = NULL;
    }
    if (b.peers && !b.open) b.openblas = bench_openblas_load(b.threads);

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
