/* SPDX-License-Identifier: Apache-2.0 */
/* One trial: a function is built with a configuration, run on random numbers, compared with what its default
 * schedule, or that of a template plain loops, give on the CPU, and measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "inputs.h"
#include "tensor.h"
#include "tune/tune.h"
#include "tune/quiet.h"

#define REFERENCE_TARGET "c -cflags=-O1" /* it runs once */
enum { SAMPLES = 5, MAX_RUNS = 256, ATTEMPTS = 3, SEED = 1 };
#define SAMPLE_SECONDS 0.004 /* runs are put together to last so long */
#define TRIAL_SECONDS 0.5    /* of one attempt, but for slow kernels */
#define CALIBRATION 0.4
#define PATIENCE 0.05 /* seconds to wait for a quiet machine */
/* Shares of the best time so far: between the first two a busy machine may decide what is better; beyond the
 * third one run is enough. */
#define CLEARLY_BETTER 0.6
#define CLEARLY_WORSE 1.25
#define CUTOFF 3

/* The correct results of a task, computed when it is first measured. */
typedef struct reference {
    bool there;
    gpuc_host_tensor *inputs, *outputs;
    int num_inputs, num_outputs;
} reference;

/* A function on a device, ready to run. */
typedef struct program {
    void *package;
    gpuc_model *model;
    gpuc_session *session;
} program;

struct tune_bench {
    const tune_setup *setup;
    tune_shared *shared;
    cli_runtime runtime;
    gpuc_device *device, *filled_from;
    gpuc_device *cpu; /* for references; NULL: the device itself */
    cli_quiet *quiet;
    reference *references;
    program program; /* of the trial at hand */
    bool pinned;
    cli_pins *unpinned; /* where threads belong when something is measured */
    double since;       /* when its stage began */
};

/* ---- The device ---- */

static gpuc_status open_for(tune_bench *b, const gpuc_target *t)
{
    const tune_setup *s = b->setup;
    gpuc_device_type type = gpuc_target_device_type(t);
    if (s->device)
        GPUC_TRY(cli_open_device(&b->runtime, s->device, &b->device));
    else if (b->filled_from)
        b->device = b->filled_from;
    else
        GPUC_TRY(gpuc_device_open(b->runtime.rt, type, 0, &b->device));
    if (b->device->type == type) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "--device %s cannot run target '%s'; give a device of kind %s",
                     s->device, s->target, gpuc_device_type_name(b->runtime.rt, type));
}

static gpuc_status open_device(tune_bench *b)
{
    gpuc_ctx *ctx = NULL;
    const gpuc_target *target = NULL;
    tune_shared *shared = b->shared;
    GPUC_TRY(cli_ctx_create(&b->runtime, &ctx));
    gpuc_status status = cli_target_device(&b->runtime, ctx, b->setup->target, &b->filled_from);
    if (!status) status = cli_target_parse(ctx, b->setup->target, b->filled_from, &target);
    if (!status) status = open_for(b, target);
    if (!status) {
        snprintf(shared->target, sizeof shared->target, "%s", gpuc_target_text(ctx, target));
        snprintf(shared->device, sizeof shared->device, "%s", cli_device_text(b->device, GPUC_ATTR_NAME));
        snprintf(shared->driver, sizeof shared->driver, "%s", cli_device_text(b->device, GPUC_ATTR_DRIVER));
    }
    gpuc_ctx_destroy(ctx);
    return status;
}

gpuc_status tune_bench_create(const tune_setup *setup, tune_shared *shared, tune_bench **out)
{
    tune_bench *b = cli_alloc(sizeof *b);
    *out = b;
    b->setup = setup;
    b->shared = shared;
    b->references = cli_alloc((size_t)setup->tasks.n * sizeof *b->references);
    /* No caches: what is tried once is not worth keeping. */
    GPUC_TRY(
        cli_runtime_init(&b->runtime, &(cli_runtime_options){.no_cache = true, .verbose = setup->verbose}));
    GPUC_TRY(open_device(b));
    gpuc_status none = gpuc_device_open(b->runtime.rt, GPUC_DEVICE_CPU, 0, &b->cpu);
    gpuc_status_release(none);
    bool measures = setup->tasks.n > 0 && !setup->no_wait;
    if (measures) b->quiet = cli_quiet_create((int)sysconf(_SC_NPROCESSORS_ONLN), CALIBRATION);
    return NULL;
}

static void close_program(program *p)
{
    gpuc_session_release(p->session);
    gpuc_model_release(p->model);
    free(p->package);
    *p = (program){0};
}

static void free_tensors(gpuc_host_tensor *tensors, int n)
{
    for (int i = 0; tensors && i < n; i++) gpuc_host_tensor_deinit(&tensors[i]);
    free(tensors);
}

void tune_bench_destroy(tune_bench *b)
{
    for (int i = 0; i < b->setup->tasks.n; i++) {
        free_tensors(b->references[i].inputs, b->references[i].num_inputs);
        free_tensors(b->references[i].outputs, b->references[i].num_outputs);
    }
    free(b->references);
    close_program(&b->program);
    cli_pin_again(b->unpinned);
    cli_quiet_destroy(b->quiet);
    if (b->runtime.rt) cli_runtime_deinit(&b->runtime);
    free(b);
}

/* ---- Building ---- */

typedef struct build_job {
    const tune_bench *b;
    const char *target;
    const gpuc_config *config; /* NULL: for the reference */
    gpuc_bytes out;
} build_job;

static void build_body(gpuc_ctx *ctx, void *arg)
{
    build_job *j = arg;
    const gpuc_tune_task *task = &j->b->setup->tasks.at[j->b->shared->task];
    const gpuc_target *target = gpuc_target_parse(ctx, j->target, NULL);
    j->out = j->config ? gpuc_tune_build(ctx, task, target, j->config)
                       : gpuc_tune_build_reference(ctx, task, target);
}

static void set_stage(tune_bench *b, tune_stage stage)
{
    double now = cli_now();
    b->shared->spent[b->shared->stage] += now - b->since;
    b->shared->stage = stage;
    b->since = now;
}

static gpuc_status open_program(tune_bench *b, const char *target, gpuc_device *device,
                                const gpuc_config *config, program *p)
{
    build_job job = {.b = b, .target = target, .config = config};
    gpuc_ctx *ctx = NULL;
    *p = (program){0};
    if (config) set_stage(b, TUNE_BUILDING);
    GPUC_TRY(cli_ctx_create(&b->runtime, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, build_body, &job);
    if (!status) {
        p->package = cli_alloc(job.out.size);
        memcpy(p->package, job.out.data, job.out.size);
    }
    gpuc_ctx_destroy(ctx);
    GPUC_TRY(status);
    if (config) set_stage(b, TUNE_LOADING);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.bytes = p->package;
    desc.size = job.out.size;
    desc.device = device;
    desc.allow_native_code = true; /* made here */
    GPUC_TRY(gpuc_model_load(b->runtime.rt, &desc, &p->model));
    return gpuc_session_create(p->model, &p->session);
}

static gpuc_status set_inputs(tune_bench *b, program *p, const reference *r)
{
    for (int i = 0; i < r->num_inputs; i++)
        GPUC_TRY(cli_session_set(b->runtime.rt, p->session, i, &r->inputs[i]));
    return NULL;
}

/* ---- What it should give ---- */

static gpuc_status compute_reference(tune_bench *b, program *p, reference *r)
{
    const cli_shapes fixed = {0};
    r->num_inputs = gpuc_model_num_inputs(p->model);
    r->num_outputs = gpuc_model_num_outputs(p->model);
    r->outputs = cli_alloc((size_t)r->num_outputs * sizeof *r->outputs);
    GPUC_TRY(cli_inputs_random(p->model, &fixed, SEED, &r->inputs));
    GPUC_TRY(set_inputs(b, p, r));
    GPUC_TRY(gpuc_session_run(p->session));
    for (int i = 0; i < r->num_outputs; i++) GPUC_TRY(cli_session_get(p->session, i, &r->outputs[i]));
    return NULL;
}

static gpuc_status make_reference(tune_bench *b, reference *r)
{
    program p;
    set_stage(b, TUNE_REFERENCE);
    gpuc_status status =
        open_program(b, b->cpu ? REFERENCE_TARGET : b->setup->target, b->cpu ? b->cpu : b->device, NULL, &p);
    if (!status) status = compute_reference(b, &p, r);
    close_program(&p);
    r->there = !status;
    return gpuc_error_prefix(status, "computing the reference");
}

static cli_tolerance tolerance_for(gpuc_dtype t)
{
    cli_tolerance out = cli_default_tolerance(t);
    out.rel_l2 = t.bits <= 16 ? 1e-2 : 1e-4; /* sums of random numbers cancel */
    return out;
}

static bool is_planted(const tune_bench *b, int trial)
{
    return trial && b->shared->trial == trial;
}

static gpuc_status check(tune_bench *b, program *p, const reference *r)
{
    for (int i = 0; i < r->num_outputs; i++) {
        gpuc_host_tensor got;
        cli_difference d;
        const gpuc_host_tensor *want = &r->outputs[i];
        GPUC_TRY(cli_session_get(p->session, i, &got));
        if (is_planted(b, b->setup->planted.wrong) && got.size)
            for (size_t k = 0; k < got.size; k++) ((uint8_t *)got.data)[k] ^= 0x55;
        cli_tolerance t = tolerance_for(want->dtype);
        cli_compare(&got, want, t, &d);
        gpuc_status status = NULL;
        if (!d.match) {
            char *text = cli_difference_text(&d, &got, want, t);
            status = gpuc_fail(GPUC_INVALID_DATA, "output %d %s", i, text);
            free(text);
        }
        gpuc_host_tensor_deinit(&got);
        GPUC_TRY(status);
    }
    return NULL;
}

/* ---- Measuring ---- */

static gpuc_status run_for(program *p, int runs, double *seconds)
{
    double start = cli_now();
    for (int i = 0; i < runs; i++) GPUC_TRY(gpuc_session_run(p->session));
    GPUC_TRY(gpuc_session_sync(p->session));
    *seconds = (cli_now() - start) / runs;
    return NULL;
}

static gpuc_status take_samples(program *p, int runs, double *costs, int *count)
{
    double start = cli_now();
    for (*count = 0; *count < SAMPLES; ++*count) {
        if (*count >= 3 && cli_now() - start > TRIAL_SECONDS) break;
        GPUC_TRY(run_for(p, runs, &costs[*count]));
    }
    return NULL;
}

static double median_of(const double *costs, int n)
{
    double sorted[SAMPLES];
    memcpy(sorted, costs, sizeof *sorted * (size_t)n);
    return cli_median(sorted, n);
}

static bool is_quiet(tune_bench *b, double patience)
{
    if (!b->quiet) return true;
    set_stage(b, TUNE_WAITING);
    bool quiet = cli_quiet_wait(b->quiet, patience);
    set_stage(b, TUNE_MEASURING);
    return quiet;
}

/* Measures a promising configuration again until the machine was quiet after it, a few times at most. */
static gpuc_status measure(tune_bench *b, program *p, gpuc_tune_result *out)
{
    double first, min = (double)INFINITY;
    if (b->device->type == GPUC_DEVICE_VULKAN && !b->pinned) cli_pin_llvmpipe();
    b->pinned = true;
    GPUC_TRY(run_for(p, 1, &first));
    int runs = first > 0 ? (int)fmin(SAMPLE_SECONDS / first, MAX_RUNS) : MAX_RUNS;
    if (runs < 1) runs = 1;
    if (first > CUTOFF * b->shared->best && first > SAMPLE_SECONDS) {
        out->costs[0] = first;
        out->num_costs = 1;
        return NULL;
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double costs[SAMPLES];
        int n;
        GPUC_TRY(take_samples(p, runs, costs, &n));
        double median = median_of(costs, n);
        if (median < min) {
            memcpy(out->costs, costs, sizeof *costs * (size_t)n);
            out->num_costs = n;
            min = median;
        }
        double share = min / b->shared->best;
        if (share < CLEARLY_BETTER || share > CLEARLY_WORSE || is_quiet(b, PATIENCE)) break;
    }
    return NULL;
}

static gpuc_status first_run(tune_bench *b, program *p, const reference *r, gpuc_tune_result *out)
{
    double seconds;
    set_stage(b, TUNE_RUNNING);
    GPUC_TRY(set_inputs(b, p, r));
    if (is_planted(b, b->setup->planted.crash)) abort();
    do GPUC_TRY(run_for(p, 1, &seconds));
    while (is_planted(b, b->setup->planted.endless));
    set_stage(b, TUNE_COMPARING);
    gpuc_status status = check(b, p, r);
    if (status) snprintf(out->status, sizeof out->status, "wrong");
    return status;
}

/* Takes the status. */
static void end_stage(tune_bench *b, gpuc_status status)
{
    gpuc_tune_result *out = &b->shared->result;
    if (status)
        snprintf(out->message, sizeof out->message, "%s", gpuc_status_message(status));
    else
        snprintf(out->status, sizeof out->status, "%s", GPUC_TUNE_OK);
    if (status) close_program(&b->program);
    gpuc_status_release(status);
    set_stage(b, TUNE_BUILDING);
}

void tune_bench_prepare(tune_bench *b)
{
    tune_shared *s = b->shared;
    gpuc_knob_value at[TUNE_MAX_KNOBS];
    gpuc_config config = {.n = s->num_knobs, .at = at};
    reference *r = &b->references[s->task];
    b->since = cli_now();
    if (!b->unpinned) b->unpinned = cli_unpin(); /* others compile at the same time */
    s->result = (gpuc_tune_result){.status = "error"};
    for (int i = 0; i < s->num_knobs; i++)
        at[i] = (gpuc_knob_value){.name = s->knobs[i].name, .value = s->knobs[i].value};
    close_program(&b->program);
    gpuc_status status = r->there ? NULL : make_reference(b, r);
    if (!status) status = open_program(b, b->setup->tasks.target_text, b->device, &config, &b->program);
    if (!status) status = first_run(b, &b->program, r, &s->result);
    end_stage(b, status);
}

void tune_bench_measure(tune_bench *b)
{
    b->since = cli_now();
    b->shared->result = (gpuc_tune_result){.status = "error"};
    cli_pin_again(b->unpinned);
    b->unpinned = NULL;
    set_stage(b, TUNE_MEASURING);
    end_stage(b, measure(b, &b->program, &b->shared->result));
}
