/* SPDX-License-Identifier: Apache-2.0 */
/* Tunes the functions of a model and appends records to a log: gpuc tune. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bind.h"
#include "tune/tune.h"

enum {
    OPT_LOG = CLI_LONG,
    OPT_PICK,
    OPT_TEMPLATE,
    OPT_TRIALS,
    OPT_TIME,
    OPT_SEARCH,
    OPT_IGNORE,
    OPT_CONFIRM,
    OPT_GAIN,
    OPT_SEED,
    OPT_TIMEOUT,
    OPT_NO_WAIT,
    OPT_PROCESSES,
    OPT_SHAPE,
    OPT_BIND,
    OPT_INPUT_IMAGE,
    OPT_OUTPUT_IMAGE,
    OPT_PLANT
};

static const cli_option options[] = {
    {"target", 't', "T", "tune for this; default vulkan"},
    {"device", 'd', "D", "measure there; default: the first device of the target's kind"},
    {"log", OPT_LOG, "FILE", "where records go; what it has already is not measured again"},
    {"template", OPT_TEMPLATE, "NAME(N=64,...)",
     "tune this template of a plug-in (gpuc/tune.h) instead of a model; repeatable; without a model: all of "
     "them"},
    {"pick-best", OPT_PICK, "FILE",
     "instead of tuning: write the best records of this log to the one of --log, which is replaced; "
     "repeatable"},
    {"trials", OPT_TRIALS, "N", "measure at most N configurations; default 1000, or any number with --time"},
    {"time", OPT_TIME, "T", "end after this time: 90s, 10m, 2h"},
    {"search", OPT_SEARCH, "HOW",
     "xgb: simulated annealing on a cost model that learns to rank (default); sa: annealing on what was "
     "measured; random"},
    {"ignore-default", OPT_IGNORE, NULL, "begin with the simplest schedules instead of the default ones"},
    {"confirm", OPT_CONFIRM, NULL,
     "instead of searching: measure the first and the best configuration of each function again, in turn"},
    {"gain", OPT_GAIN, "PERCENT",
     "with --pick-best: leave out what takes not so much less time than the first configuration; default 0"},
    {"seed", OPT_SEED, "N", "of the random choices; default 1"},
    {"timeout", OPT_TIMEOUT, "T", "longest time of one trial; default 30s"},
    {"no-wait", OPT_NO_WAIT, NULL, "measure at once, even while other programs keep the processors busy"},
    {"processes", OPT_PROCESSES, "N",
     "configurations that are compiled and checked side by side, 1 to 8; default one per processor, at most "
     "4"},
    {"shape", OPT_SHAPE, "NAME=DIMS", "as for `gpuc build`; repeatable"},
    {"bind", OPT_BIND, "NAME=FILE", "as for `gpuc build`; repeatable"},
    {"input-image", OPT_INPUT_IMAGE, "NAME=FORMAT,...", "as for `gpuc build`; repeatable"},
    {"output-image", OPT_OUTPUT_IMAGE, "NAME=FORMAT,...", "as for `gpuc build`; repeatable"},
    {"optimize", 'O', "LEVEL", "0 to 3; default 3"},
    {"verbose", 'v', NULL, "a line for every trial"},
    {"plant", OPT_PLANT, "KIND:N", NULL}, /* for tests: a mistake in trial N */
};

typedef struct tune_args {
    const char *model, *log; /* model NULL: templates */
    cli_text program;        /* the text of a model that is Relay */
    cli_shapes shapes;
    cli_images images;
    cli_strings binds, picked, templates;
    int level, gain;
    gpuc_tune_options search;
    tune_setup setup;
} tune_args;

typedef struct tune_run {
    const tune_args *args;
    cli_runtime *runtime; /* without devices */
    tune_pool pool;
    int log;
    cli_progress line;
    double start, told;
    int trials_told;
    gpuc_status status; /* why no more can be measured, or written */
} tune_run;

/* ---- Options ---- */

static gpuc_tune_search search_of(const cli_command *c, const char *text)
{
    static const char *const names[] = {
        [GPUC_TUNE_XGB] = "xgb", [GPUC_TUNE_SA] = "sa", [GPUC_TUNE_RANDOM] = "random"};
    for (size_t i = 0; i < CLI_COUNT(names); i++)
        if (!strcmp(text, names[i])) return (gpuc_tune_search)i;
    cli_usage(c, "--search is one of xgb, sa, random, not '%s'", text);
}

static int default_processes(void)
{
    enum { MAX = 4 };
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX ? MAX : (int)n;
}

static void plant_of(const cli_command *c, const char *text, tune_planted *out)
{
    struct {
        const char *name;
        int *to;
    } kinds[] = {{"endless:", &out->endless}, {"wrong:", &out->wrong}, {"crash:", &out->crash}};
    for (size_t i = 0; i < CLI_COUNT(kinds); i++) {
        size_t n = strlen(kinds[i].name);
        if (strncmp(text, kinds[i].name, n)) continue;
        *kinds[i].to = (int)cli_int(c, "--plant", text + n, 1, INT32_MAX);
        return;
    }
    cli_usage(c, "--plant is endless:N, wrong:N or crash:N, not '%s'", text);
}

static void parse(const cli_command *c, int argc, char **argv, tune_args *a)
{
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        switch (key) {
        case 't':
            if (a->setup.target) cli_usage(c, "one --target at a time; a log holds the records of several");
            a->setup.target = value;
            break;
        case 'd': a->setup.device = value; break;
        case OPT_LOG: a->log = value; break;
        case OPT_PICK: cli_strings_add(&a->picked, value); break;
        case OPT_TEMPLATE: cli_strings_add(&a->templates, value); break;
        case OPT_TRIALS: a->search.trials = (int)cli_int(c, "--trials", value, 1, INT32_MAX); break;
        case OPT_TIME: a->search.seconds = cli_seconds(c, "--time", value); break;
        case OPT_SEARCH: a->search.search = search_of(c, value); break;
        case OPT_IGNORE: a->search.ignore_default = true; break;
        case OPT_CONFIRM: a->search.confirm = true; break;
        case OPT_GAIN: a->gain = (int)cli_int(c, "--gain", value, 0, 99); break;
        case OPT_SEED: a->search.seed = (uint64_t)cli_int(c, "--seed", value, 0, INT64_MAX); break;
        case OPT_TIMEOUT: a->setup.timeout = cli_seconds(c, "--timeout", value); break;
        case OPT_NO_WAIT: a->setup.no_wait = true; break;
        case OPT_PROCESSES:
            a->setup.processes = (int)cli_int(c, "--processes", value, 1, TUNE_MAX_PROCESSES);
            break;
        case OPT_SHAPE: cli_shapes_add(c, &a->shapes, value); break;
        case OPT_BIND: cli_strings_add(&a->binds, value); break;
        case OPT_INPUT_IMAGE: cli_strings_add(&a->images.inputs, value); break;
        case OPT_OUTPUT_IMAGE: cli_strings_add(&a->images.outputs, value); break;
        case OPT_PLANT: plant_of(c, value, &a->setup.planted); break;
        case 'O': a->level = (int)cli_int(c, "-O", value, 0, 3); break;
        case 'v': a->setup.verbose = true; break;
        }
    }
    if (a->picked.count || a->templates.count)
        cli_no_operands(c, argc, argv);
    else if (optind < argc || !cli_has_plugins())
        a->model = cli_only_operand(c, argc, argv, "model");
    if (!a->model && !a->picked.count &&
        (a->shapes.count || a->binds.count || a->images.inputs.count || a->images.outputs.count))
        cli_usage(c, "--shape, --bind, --input-image and --output-image are for a model");
    if (!a->log) cli_usage(c, "say where records go: --log FILE");
    if (!a->setup.target) a->setup.target = "vulkan";
    if (!a->search.trials && !(a->search.seconds > 0)) a->search.trials = 1000;
    if (!a->setup.processes) a->setup.processes = default_processes();
}

/* ---- One trial ---- */

static gpuc_status append(gpuc_ctx *ctx, tune_run *r, int task, const gpuc_config *config,
                          const gpuc_tune_result *result)
{
    const tune_shared *texts = tune_worker_texts(r->pool.at[0]);
    const gpuc_tune_tasks *tasks = &r->args->setup.tasks;
    gpuc_tune_record record = {
        .workload = tasks->at[task].workload,
        .task = tasks->at[task].text,
        .target = tasks->target_text,
        .config = config,
        .num_costs = result->num_costs,
        .costs = result->costs,
        .status = result->status,
        .device = texts->device,
        .driver = texts->driver,
        .version = GPUC_VERSION,
        .time = (int64_t)time(NULL),
    };
    return gpuc_tune_log_append(r->log, r->args->log, gpuc_tune_record_text(ctx, &record));
}

typedef struct trial {
    tune_run *run;
    int task;
    const gpuc_config *config;
    const gpuc_tune_result *result;
} trial;

static void append_body(gpuc_ctx *ctx, void *arg)
{
    trial *t = arg;
    GPUC_RAISE_IF(ctx, append(ctx, t->run, t->task, t->config, t->result));
}

static gpuc_status note(trial *t)
{
    gpuc_ctx *ctx;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, append_body, t);
    gpuc_ctx_destroy(ctx);
    return status;
}

static void say_trial(const tune_run *r, int task, const gpuc_config *config, const gpuc_tune_result *result)
{
    char seconds[32];
    double costs[GPUC_TUNE_MAX_COSTS];
    bool ok = !strcmp(result->status, GPUC_TUNE_OK);
    if (ok && !r->args->setup.verbose) return;
    char *text = tune_config_text(config);
    memcpy(costs, result->costs, sizeof costs);
    if (ok)
        cli_note("%s %s: %s", r->args->setup.tasks.at[task].text, text,
                 cli_time_text(cli_median(costs, result->num_costs), seconds));
    else
        cli_note("%s %s: %s: %s", r->args->setup.tasks.at[task].text, text, result->status, result->message);
    free(text);
}

static void measure(void *user, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results)
{
    tune_run *r = user;
    r->status = tune_pool_measure(&r->pool, n, asks, results);
    for (int i = 0; i < n && !r->status; i++) {
        trial t = {.run = r, .task = asks[i].task, .config = asks[i].config, .result = &results[i]};
        r->status = note(&t);
        if (r->status) return;
        cli_progress_clear(&r->line);
        say_trial(r, t.task, t.config, t.result);
    }
}

static bool stop(void *user)
{
    const tune_run *r = user;
    return r->status || cli_interrupted;
}

/* ---- Progress ---- */

static const char *time_or_unknown(double seconds, char out[32])
{
    return isfinite(seconds) ? cli_time_text(seconds, out) : "?";
}

static void left_text(const tune_run *r, const gpuc_tune_progress *p, char out[64])
{
    const gpuc_tune_options *o = &r->args->search;
    double spent = cli_now() - r->start, left = o->seconds > 0 ? o->seconds - spent : INFINITY;
    if (o->trials && p->trials) left = fmin(left, spent / p->trials * (o->trials - p->trials));
    left = fmax(left, 0);
    snprintf(out, 64, "%d:%02d left", (int)(left / 60), (int)left % 60);
}

/* Prints a line now and then where stderr is no terminal. */
static void progress(void *user, const gpuc_tune_progress *p)
{
    enum { SELDOM = 10 };
    tune_run *r = user;
    char best[32], total[32], own[32], left[64], what[256];
    left_text(r, p, left);
    snprintf(what, sizeof what, "trial %d: best %s, all %s (was %s), %s", p->trials,
             time_or_unknown(p->best, best), time_or_unknown(p->total, total),
             time_or_unknown(p->total_own, own), left);
    cli_progress_show(&r->line, what, 0, 0);
    if (r->line.terminal || cli_now() - r->told < SELDOM) return;
    r->told = cli_now();
    cli_note("%s", what);
}

/* ---- The run ---- */

typedef struct tune_body_arg {
    tune_args *args;
    tune_run *run;
    const gpuc_target *target;
    const cli_fixed *fixed;
    gpuc_tune_progress out;
} tune_body_arg;

static void extract_model(gpuc_ctx *ctx, tune_body_arg *t)
{
    tune_args *a = t->args;
    gpuc_onnx_options onnx = GPUC_ONNX_OPTIONS_INIT;
    gpuc_build_options build = GPUC_BUILD_OPTIONS_INIT;
    onnx.pins = t->fixed->pins;
    onnx.num_pins = t->fixed->num_pins;
    onnx.binds = t->fixed->binds.at;
    onnx.num_binds = t->fixed->binds.count;
    onnx.keep_symbolic = true;
    build.opt_level = a->level;
    gpuc_rmodule *module = cli_is_relay(a->model) ? cli_relay_load(ctx, &a->program, a->model)
                                                  : gpuc_onnx_load(ctx, a->model, &onnx);
    cli_images_apply(ctx, module, &a->images);
    cli_progress_show(&t->run->line, "folding and fusing", 0, 0);
    gpuc_tune_extract(ctx, module, t->target, &build, &a->setup.tasks);
    cli_progress_clear(&t->run->line);
    char open[128] = "";
    if (a->setup.tasks.num_open)
        snprintf(open, sizeof open,
                 "%d functions are left out, since the model leaves sizes of them open: %s",
                 a->setup.tasks.num_open,
                 cli_is_relay(a->model) ? "write them in the program" : "fix them with --shape");
    if (a->setup.tasks.n == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is nothing to tune in it%s%s", *open ? "; " : "", open);
    if (*open) cli_note("%s", open);
}

static void extract(gpuc_ctx *ctx, tune_body_arg *t)
{
    tune_args *a = t->args;
    if (a->model)
        extract_model(ctx, t);
    else
        gpuc_tune_extract_templates(ctx, a->templates.count, (const char *const *)a->templates.at, t->target,
                                    &a->setup.tasks);
}

static void body(gpuc_ctx *ctx, void *arg)
{
    tune_body_arg *t = arg;
    tune_args *a = t->args;
    t->target = gpuc_target_parse(ctx, a->setup.target, NULL);
    extract(ctx, t);
    a->search.warnings = (gpuc_tune_warnings){.fn = cli_warn};
    gpuc_tune_records records = gpuc_tune_logs_read(ctx, 1, &a->log, &a->search.warnings);
    int uses = 0;
    for (int i = 0; i < a->setup.tasks.n; i++) uses += a->setup.tasks.at[i].uses;
    cli_note("%d functions to tune, of %d operators, for %s on %s; %zu records in %s", a->setup.tasks.n, uses,
             a->setup.tasks.target_text, tune_worker_texts(t->run->pool.at[0])->device, records.count,
             a->log);
    t->run->start = cli_now();
    gpuc_tune_run(ctx, &a->setup.tasks, &records, &a->search, &t->out);
}

/* Prints how the time was spent. */
static void say_stages(const tune_run *r)
{
    cli_note("%.1f s, of which the processes spent", cli_now() - r->start);
    for (int i = 0; i < TUNE_STAGES; i++) {
        double spent = 0;
        for (int k = 0; k < r->pool.n; k++) spent += tune_worker_texts(r->pool.at[k])->spent[i];
        cli_note("%6.1f s %s", spent, tune_stage_text((tune_stage)i));
    }
}

static void report(const tune_run *r, const gpuc_tune_progress *p)
{
    char total[32], own[32];
    printf("%d trials, %d of them failed; operators take %s, with the first schedules %s\n", p->trials,
           p->failures, time_or_unknown(p->total, total), time_or_unknown(p->total_own, own));
    if (!r->args->model)
        printf("%s: use it with gpuc_tuning_load and gpuc_tune_func (gpuc/tune.h)\n", r->args->log);
    else
        printf("%s: use it with gpuc build --target '%s' --tuning-log %s\n", r->args->log,
               r->args->setup.tasks.target_text, r->args->log);
}

static gpuc_status tune_with(tune_args *a, tune_run *r, gpuc_ctx *ctx)
{
    cli_fixed fixed = {0};
    tune_body_arg t = {.args = a, .run = r, .fixed = &fixed};
    gpuc_status status = NULL;
    if (a->model && cli_is_relay(a->model)) status = cli_text_read(&a->program, a->model);
    if (a->model && !status) status = cli_fix_inputs(r->runtime, a->model, &a->shapes, &a->binds, &fixed);
    if (!status) status = gpuc_tune_log_open(a->log, &r->log);
    if (!status) status = tune_worker_probe(r->pool.at[0]);
    a->setup.target = tune_worker_texts(r->pool.at[0])->target;
    if (!status) {
        status = gpuc_ctx_protect(ctx, body, &t);
        bool named = !a->model || !status || strstr(gpuc_status_message(status), a->model);
        if (!named) status = gpuc_error_prefix(status, "'%s'", a->model);
    }
    if (!status && r->status) {
        status = r->status;
        r->status = NULL;
    }
    cli_progress_end(&r->line);
    if (!status || (cli_interrupted && t.out.trials)) report(r, &t.out);
    if (a->setup.verbose) say_stages(r);
    cli_fixed_free(&fixed);
    cli_text_free(&a->program);
    return status;
}

static gpuc_status tune(tune_args *a, cli_runtime *runtime)
{
    gpuc_ctx *ctx = NULL;
    tune_run r = {.args = a, .runtime = runtime, .log = -1};
    a->search.measure = measure;
    a->search.progress = progress;
    a->search.stop = stop;
    a->search.user = &r;
    GPUC_TRY(cli_ctx_create(runtime, &ctx));
    tune_pool_init(&r.pool, &a->setup);
    cli_progress_start(&r.line, "opening the device");
    gpuc_status status = tune_with(a, &r, ctx);
    cli_progress_end(&r.line);
    tune_pool_deinit(&r.pool);
    gpuc_status_release(r.status);
    if (r.log >= 0) close(r.log);
    gpuc_ctx_destroy(ctx);
    return status;
}

static int run(const cli_command *c, int argc, char **argv)
{
    tune_args a = {.level = 3, .search = {.seed = 1}, .setup = {.timeout = 30}};
    parse(c, argc, argv, &a);
    enum { ROUNDS = 10 };
    if (a.search.confirm && a.setup.processes < 2) a.setup.processes = 2; /* one for each of the pair */
    a.setup.rounds = a.search.confirm ? ROUNDS : 1;
    a.search.together = a.setup.processes;
    cli_defer_interrupts(true);
    cli_runtime r;
    gpuc_status status =
        cli_runtime_init(&r, &(cli_runtime_options){.no_devices = true, .verbose = a.setup.verbose});
    if (!status) status = a.picked.count ? tune_pick_best(&r, &a.picked, a.log, a.gain) : tune(&a, &r);
    cli_runtime_deinit(&r);
    cli_strings_free(&a.picked);
    cli_strings_free(&a.templates);
    cli_shapes_free(&a.shapes);
    cli_images_free(&a.images);
    cli_strings_free(&a.binds);
    if (cli_interrupted) {
        gpuc_status_release(status);
        cli_interrupt_now();
    }
    cli_defer_interrupts(false);
    return cli_report(status);
}

const cli_command cli_tune_command = {
    .name = "tune",
    .operands = "[MODEL] --target T --log FILE [--device D] [--trials N] [--time 10m]",
    .about = "search for faster schedules on a device",
    .details =
        "Each trial builds one function of the network with another configuration, checks its result and\n"
        "measures it, in a process of its own. The log is used by `gpuc build --tuning-log FILE`; a run "
        "that\n"
        "was ended goes on where it was. MODEL is an ONNX model or a Relay program, as for `gpuc build`.\n"
        "Without MODEL it tunes the templates of plug-ins (--plugin).\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
