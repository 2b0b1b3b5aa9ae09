/* SPDX-License-Identifier: Apache-2.0 */
/* Times are of setting the inputs, running and fetching the outputs; making the inputs is outside of them.
 * Timestamps of kernels cost time themselves, so they are taken in runs of their own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "compare.h"
#include "inputs.h"
#include "json.h"

enum { OPT_REPEAT = CLI_LONG, OPT_WARMUP, OPT_SHAPE, OPT_THREADS, OPT_SEED, OPT_VALIDATION, OPT_JSON };

static const cli_option options[] = {
    {"device", 'd', "D", "run there: vulkan, opencl, cpu, or with a number vulkan:1"},
    {"repeat", OPT_REPEAT, "N", "measured runs; default 20"},
    {"warmup", OPT_WARMUP, "N", "runs before them; default 2"},
    {"seed", OPT_SEED, "N", "of the random inputs; default 1"},
    {"shape", OPT_SHAPE, "NAME=DIMS", "shape of an input with symbolic dimensions; repeatable"},
    {"threads", OPT_THREADS, "N", "of the CPU device; default one per processor"},
    {"validation", OPT_VALIDATION, NULL,
     "Vulkan: turn the validation layer on; its messages make the exit code 1"},
    {"json", OPT_JSON, NULL, "print JSON, with every measured time"},
    {"verbose", 'v', NULL, "say more"},
};

typedef struct bench_options {
    const char *package, *device;
    int repeat, warmup;
    uint64_t seed;
    cli_shapes shapes;
    bool json;
    cli_runtime_options runtime;
} bench_options;

/* A model, one session, and the tensors of its last run. */
typedef struct runner {
    gpuc_runtime *rt;
    gpuc_model *model;
    gpuc_session *session;
    int num_outputs;
    gpuc_host_tensor *outputs;
} runner;

typedef struct kernel_row {
    const char *kernel, *label;
    int calls;
    double ns;
} kernel_row;

typedef struct bench {
    const bench_options *o;
    cli_runtime *r;
    gpuc_device *device;
    char *name, *driver, *target, *fallback;
    double *times;
    uint64_t launches, launches_other, arena_bytes, weight_bytes;
    char *checked_against, *mismatch; /* mismatch NULL: the results agree */
    double worst_abs;
    kernel_row *rows;
    int num_rows;
    char *no_table; /* why there is none */
} bench;

static void runner_close(runner *n)
{
    cli_inputs_free(n->outputs, n->num_outputs);
    gpuc_session_release(n->session);
    gpuc_model_release(n->model);
    *n = (runner){0};
}

static gpuc_status runner_open(const bench *b, gpuc_device *dev, bool profiling, runner *out)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    *out = (runner){.rt = b->r->rt};
    desc.path = b->o->package;
    desc.device = dev;
    desc.allow_native_code = true;
    desc.profiling = profiling;
    GPUC_TRY(gpuc_model_load(b->r->rt, &desc, &out->model));
    out->num_outputs = gpuc_model_num_outputs(out->model);
    out->outputs = cli_alloc((size_t)out->num_outputs * sizeof *out->outputs);
    gpuc_status status = gpuc_session_create(out->model, &out->session);
    if (status) runner_close(out);
    return status;
}

static gpuc_status runner_run(runner *n, const gpuc_host_tensor *inputs)
{
    for (int i = 0; i < gpuc_model_num_inputs(n->model); i++)
        GPUC_TRY(cli_session_set(n->rt, n->session, i, &inputs[i]));
    GPUC_TRY(gpuc_session_run(n->session));
    for (int i = 0; i < n->num_outputs; i++) {
        gpuc_host_tensor_deinit(&n->outputs[i]);
        GPUC_TRY(cli_session_get(n->session, i, &n->outputs[i]));
    }
    return NULL;
}

/* Run number k has inputs of its own. */
static gpuc_status make_inputs(const bench *b, const runner *n, int k, gpuc_host_tensor **out)
{
    return cli_inputs_random(n->model, &b->o->shapes, b->o->seed + (uint64_t)k * UINT64_C(0x2545f4914f6cdd1d),
                             out);
}

static gpuc_status measure(bench *b, runner *n, cli_progress *progress)
{
    int total = b->o->warmup + b->o->repeat, count = gpuc_model_num_inputs(n->model);
    for (int k = 0; k < total; k++) {
        gpuc_host_tensor *inputs;
        cli_progress_show(progress, "run", k + 1, total);
        gpuc_status status = make_inputs(b, n, k, &inputs);
        double start = cli_now();
        if (!status) status = runner_run(n, inputs);
        if (k >= b->o->warmup) b->times[k - b->o->warmup] = cli_now() - start;
        cli_inputs_free(inputs, count);
        GPUC_TRY(status);
    }
    gpuc_session_stats stats = gpuc_session_get_stats(n->session);
    b->launches = stats.launches_device;
    b->launches_other = stats.launches_other;
    b->arena_bytes = stats.arena_bytes;
    b->weight_bytes = stats.weight_bytes;
    return NULL;
}

/* ---- The table of kernels ---- */

static int compare_rows(const void *a, const void *b)
{
    const kernel_row *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return strcmp(x->kernel, y->kernel);
}

static void add_step(bench *b, const gpuc_step_profile *step)
{
    int i = 0;
    while (i < b->num_rows && strcmp(b->rows[i].kernel, step->kernel) != 0) i++;
    if (i == b->num_rows) {
        b->rows = cli_grow(b->rows, (size_t)b->num_rows++, sizeof *b->rows);
        b->rows[i] =
            (kernel_row){.kernel = cli_printf("%s", step->kernel), .label = cli_printf("%s", step->label)};
    }
    b->rows[i].calls++;
    b->rows[i].ns += step->ns;
}

/* The min time of each step over some runs. */
static gpuc_status make_table(bench *b, runner *n, const gpuc_host_tensor *inputs)
{
    enum { RUNS = 9 };
    int count = 0, runs = b->o->repeat < RUNS ? b->o->repeat : RUNS;
    GPUC_TRY(gpuc_session_profile(n->session, NULL, &count));
    gpuc_step_profile *steps = cli_alloc((size_t)count * sizeof *steps);
    double *min = cli_alloc((size_t)count * sizeof *min);
    gpuc_status status = NULL;
    for (int r = 0; !status && r < runs; r++) {
        if (r > 0) status = runner_run(n, inputs);
        if (!status) status = gpuc_session_profile(n->session, steps, &count);
        for (int i = 0; !status && i < count; i++)
            if (r == 0 || steps[i].ns < min[i]) min[i] = steps[i].ns;
    }
    for (int i = 0; !status && i < count; i++) {
        steps[i].ns = min[i];
        add_step(b, &steps[i]);
    }
    free(min);
    free(steps);
    if (b->num_rows) qsort(b->rows, (size_t)b->num_rows, sizeof *b->rows, compare_rows);
    return status;
}

/* ---- Is the last result right? ---- */

static void compare_results(bench *b, const runner *got, const runner *want)
{
    for (int i = 0; i < got->num_outputs; i++) {
        cli_difference d;
        cli_tolerance t = cli_default_tolerance(want->outputs[i].dtype);
        /* Sums of thousands of products differ by more than the default between devices. */
        t.rel_l2 = 1e-3;
        cli_compare(&got->outputs[i], &want->outputs[i], t, &d);
        if (d.max_abs > b->worst_abs) b->worst_abs = d.max_abs;
        if (d.match || b->mismatch) continue;
        char *text = cli_difference_text(&d, &got->outputs[i], &want->outputs[i], t);
        b->mismatch = cli_printf("output %d '%s' %s", i, gpuc_model_output(got->model, i).name, text);
        free(text);
    }
}

static gpuc_status check_on_cpu(bench *b, const runner *last, const gpuc_host_tensor *inputs, bool *done)
{
    gpuc_device *cpu;
    runner other;
    *done = false;
    gpuc_status status = gpuc_device_open(b->r->rt, GPUC_DEVICE_CPU, 0, &cpu);
    if (!status) status = runner_open(b, cpu, false, &other);
    if (status) { /* no CPU program in the package */
        gpuc_status_release(status);
        return NULL;
    }
    status = runner_run(&other, inputs);
    if (!status) {
        compare_results(b, last, &other);
        b->checked_against = cli_printf("the CPU program (target '%s')", gpuc_model_target(other.model));
        *done = true;
    }
    runner_close(&other);
    return gpuc_error_prefix(status, "the CPU program");
}

/* More runs of the last inputs, with timestamps: they give the table and, where the package has no CPU
 * program, the result to compare with. */
static gpuc_status profile_and_check(bench *b, const runner *last)
{
    gpuc_host_tensor *inputs;
    runner second = {0};
    bool checked = false;
    int count = gpuc_model_num_inputs(last->model);
    gpuc_device *dev = gpuc_model_device(last->model);
    gpuc_status status = make_inputs(b, last, b->o->warmup + b->o->repeat - 1, &inputs);
    if (!status && dev->type != GPUC_DEVICE_CPU) status = check_on_cpu(b, last, inputs, &checked);
    bool timed = dev->api->plan_profile != NULL;
    if (!status && !timed) b->no_table = cli_printf("%s devices do not measure steps", dev->api->name);
    if (!status) status = runner_open(b, dev, timed, &second);
    if (!status) status = runner_run(&second, inputs); /* the first run of a plan makes it */
    if (!status) status = runner_run(&second, inputs);
    if (!status && !checked) {
        compare_results(b, last, &second);
        b->checked_against = cli_printf("%s", "a second run");
    }
    if (!status && timed) {
        gpuc_status table = make_table(b, &second, inputs);
        if (table) b->no_table = cli_printf("%s", gpuc_status_message(table));
        gpuc_status_release(table);
    }
    runner_close(&second);
    cli_inputs_free(inputs, count);
    return status;
}

/* ---- Reports ---- */

static double total_ns(const bench *b)
{
    double sum = 0;
    for (int i = 0; i < b->num_rows; i++) sum += b->rows[i].ns;
    return sum;
}

static void print_report(const bench *b, double median, double min)
{
    char m[32], l[32];
    printf("device  %s (%s)\ntarget  %s\n", b->name, b->driver, b->target);
    printf("runs    %d: median %s, min %s\n", b->o->repeat, cli_time_text(median, m), cli_time_text(min, l));
    printf("memory  %s activations, %s weights\n", cli_size_text(b->arena_bytes, m),
           cli_size_text(b->weight_bytes, l));
    printf("launches %llu on the device, %llu on the fallback device\n", (unsigned long long)b->launches,
           (unsigned long long)b->launches_other);
    printf("result  %s %s", b->mismatch ? "DIFFERS from" : "agrees with", b->checked_against);
    if (b->mismatch)
        printf(": %s\n", b->mismatch);
    else
        printf(" (largest difference %.3g)\n", b->worst_abs);
    if (b->no_table) {
        printf("\nno table of kernels: %s\n", b->no_table);
        return;
    }
    double sum = total_ns(b);
    printf("\n%12s %7s %6s  %s\n", "time", "share", "calls", "kernel");
    for (int i = 0; i < b->num_rows; i++)
        printf("%12s %6.1f%% %6d  %s (%s)\n", cli_time_text(b->rows[i].ns / 1e9, m),
               sum > 0 ? 100 * b->rows[i].ns / sum : 0, b->rows[i].calls, b->rows[i].label,
               b->rows[i].kernel);
    printf("%12s %7s %6s  of device time in one run\n", cli_time_text(sum / 1e9, m), "", "");
}

static void json_report(const bench *b, const double *samples, double median, double min)
{
    cli_json j;
    cli_json_init(&j);
    cli_json_object(&j, NULL);
    cli_json_string(&j, "package", b->o->package);
    cli_json_string(&j, "device", b->name);
    cli_json_string(&j, "driver", b->driver);
    cli_json_string(&j, "target", b->target);
    cli_json_string(&j, "fallback", b->fallback);
    cli_json_number(&j, "median_seconds", median);
    cli_json_number(&j, "min_seconds", min);
    cli_json_array(&j, "seconds");
    for (int i = 0; i < b->o->repeat; i++) cli_json_number(&j, NULL, samples[i]);
    cli_json_end_array(&j);
    cli_json_int(&j, "arena_bytes", (int64_t)b->arena_bytes);
    cli_json_int(&j, "weight_bytes", (int64_t)b->weight_bytes);
    cli_json_int(&j, "launches_device", (int64_t)b->launches);
    cli_json_int(&j, "launches_other", (int64_t)b->launches_other);
    cli_json_bool(&j, "result_ok", !b->mismatch);
    cli_json_string(&j, "checked_against", b->checked_against);
    cli_json_string(&j, "difference", b->mismatch);
    cli_json_number(&j, "worst_abs", b->worst_abs);
    double sum = total_ns(b);
    cli_json_array(&j, "kernels");
    for (int i = 0; i < b->num_rows; i++) {
        cli_json_object(&j, NULL);
        cli_json_string(&j, "kernel", b->rows[i].kernel);
        cli_json_string(&j, "label", b->rows[i].label);
        cli_json_int(&j, "calls", b->rows[i].calls);
        cli_json_number(&j, "seconds", b->rows[i].ns / 1e9);
        cli_json_number(&j, "share", sum > 0 ? b->rows[i].ns / sum : 0);
        cli_json_end_object(&j);
    }
    cli_json_end_array(&j);
    cli_json_end_object(&j);
    cli_json_print(&j, stdout);
    cli_json_deinit(&j);
}

static void report(bench *b)
{
    double *sorted = cli_alloc((size_t)b->o->repeat * sizeof *sorted);
    memcpy(sorted, b->times, (size_t)b->o->repeat * sizeof *sorted);
    double median = cli_median(sorted, b->o->repeat), min = sorted[0];
    if (b->o->json)
        json_report(b, b->times, median, min);
    else
        print_report(b, median, min);
    free(sorted);
}

static gpuc_status run_bench(bench *b, cli_progress *progress)
{
    runner n;
    GPUC_TRY(cli_open_device(b->r, b->o->device, &b->device));
    GPUC_TRY(runner_open(b, b->device, false, &n));
    cli_progress_clear(progress);
    gpuc_device *dev = gpuc_model_device(n.model);
    b->name = cli_printf("%s", cli_device_text(dev, GPUC_ATTR_NAME));
    b->driver = cli_printf("%s", cli_device_text(dev, GPUC_ATTR_DRIVER));
    b->target = cli_printf("%s", gpuc_model_target(n.model));
    b->fallback = cli_printf("%s", gpuc_model_fallback_reason(n.model));
    if (*b->fallback)
        cli_note("running target '%s', since the programs before it cannot run: %s", b->target, b->fallback);
    gpuc_status status = measure(b, &n, progress);
    cli_progress_show(progress, "checking the result", 0, 0);
    if (!status) status = profile_and_check(b, &n);
    runner_close(&n);
    return status;
}

static void parse(const cli_command *c, int argc, char **argv, bench_options *o)
{
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        switch (key) {
        case 'd': o->device = value; break;
        case OPT_REPEAT: o->repeat = (int)cli_int(c, "--repeat", value, 1, 1000000); break;
        case OPT_WARMUP: o->warmup = (int)cli_int(c, "--warmup", value, 0, 1000000); break;
        case OPT_SEED: o->seed = (uint64_t)cli_int(c, "--seed", value, INT64_MIN, INT64_MAX); break;
        case OPT_SHAPE: cli_shapes_add(c, &o->shapes, value); break;
        case OPT_THREADS: o->runtime.threads = (int)cli_int(c, "--threads", value, 1, 4096); break;
        case OPT_VALIDATION: o->runtime.validation = true; break;
        case OPT_JSON: o->json = true; break;
        case 'v': o->runtime.verbose = true; break;
        }
    }
    o->package = cli_only_operand(c, argc, argv, "package");
}

static void free_bench(bench *b)
{
    for (int i = 0; i < b->num_rows; i++) {
        free((char *)b->rows[i].kernel);
        free((char *)b->rows[i].label);
    }
    free(b->rows);
    char *texts[] = {b->name,     b->driver,  b->target, b->fallback, b->checked_against,
                     b->mismatch, b->no_table};
    for (size_t i = 0; i < CLI_COUNT(texts); i++) free(texts[i]);
    free(b->times);
}

static int run(const cli_command *c, int argc, char **argv)
{
    bench_options o = {.repeat = 20, .warmup = 2, .seed = 1};
    parse(c, argc, argv, &o);
    cli_runtime r;
    bench b = {.o = &o, .r = &r, .times = cli_alloc((size_t)o.repeat * sizeof *b.times)};
    gpuc_status status = cli_runtime_init(&r, &o.runtime);
    cli_progress progress;
    cli_progress_start(&progress, "loading the package");
    if (!status) status = run_bench(&b, &progress);
    cli_progress_end(&progress);
    if (!status) report(&b);
    int code = cli_report(status);
    if (b.mismatch) {
        cli_error("the last result is wrong: %s", b.mismatch);
        code = 1;
    }
    cli_runtime_deinit(&r);
    code = cli_validation_result(&r, code);
    free_bench(&b);
    cli_shapes_free(&o.shapes);
    return code;
}

const cli_command cli_bench_command = {
    .name = "bench",
    .operands = "PKG [--device D] [--repeat N] [--json]",
    .about = "measure a package",
    .details =
        "Each run sets new random inputs, runs and fetches the outputs. The last result is compared with\n"
        "the package's CPU program, if it has one, else with a second run. The times of kernels are\n"
        "timestamps of the device, each the minimum of some runs of their own.\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
