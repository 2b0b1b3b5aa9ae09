/* SPDX-License-Identifier: Apache-2.0 */
/* Every task is measured once; then batches go to the task from which most is to be hoped: its share of the
 * program's time, halved for every few trials in a row that did not help. */
#include <gpuc/tune.h>

#include <math.h>
#include <string.h>
#include <time.h>

#include "tune/log.h"
#include "tune/search.h"

enum { BATCH = 8, MIN_TO_LEARN = 16, PATIENCE = 16, MAX_TOGETHER = 8 };

typedef struct tuner {
    gpuc_ctx *ctx;
    const gpuc_tune_tasks *tasks;
    const gpuc_tune_options *options;
    gpuc_tune_state *states; /* per task */
    float (*workloads)[GPUC_TUNE_WORKLOAD_FEATURES];
    double *first; /* the first time of each */
    gpuc_tune_model *model;
    gpuc_tune_features features;
    gpuc_tune_rng rng;
    gpuc_tune_progress progress;
    int pairs; /* trials that another one of the same task can be compared with */
    double start;
    int task;
    const gpuc_tune_point *points[MAX_TOGETHER]; /* what is measured next, together */
    gpuc_tune_ask asks[MAX_TOGETHER];
    int num_asks;
} tuner;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_over(const tuner *t)
{
    const gpuc_tune_options *o = t->options;
    return (o->trials && t->progress.trials >= o->trials) ||
           (o->seconds > 0 && now() - t->start >= o->seconds) || (o->stop && o->stop(o->user));
}

static double best_of(const gpuc_tune_state *s)
{
    return s->best ? s->best->seconds : (double)INFINITY;
}

static void tell(tuner *t)
{
    t->progress.task = t->task;
    t->progress.best = best_of(&t->states[t->task]);
    t->progress.total = t->progress.total_own = 0;
    for (int i = 0; i < t->tasks->n; i++) {
        t->progress.total += t->tasks->at[i].uses * best_of(&t->states[i]);
        t->progress.total_own += t->tasks->at[i].uses * t->first[i];
    }
    if (t->options->progress) t->options->progress(t->options->user, &t->progress);
}

static void note(tuner *t, int task, const gpuc_tune_point *p, double seconds)
{
    gpuc_tune_note(&t->states[task], p, seconds);
    t->pairs += t->states[task].trials.count > 1;
    if (isfinite(seconds) && !isfinite(t->first[task])) t->first[task] = seconds;
}

static void measure_asked(tuner *t)
{
    gpuc_tune_result results[MAX_TOGETHER] = {{.num_costs = 0}};
    int n = t->num_asks;
    t->num_asks = 0;
    if (n == 0) return;
    t->options->measure(t->options->user, n, t->asks, results);
    for (int i = 0; i < n; i++) {
        const gpuc_tune_record r = {
            .status = results[i].status, .costs = results[i].costs, .num_costs = results[i].num_costs};
        double seconds = gpuc_tune_seconds(&r);
        t->task = t->asks[i].task;
        note(t, t->task, t->points[i], seconds);
        t->progress.trials++;
        t->progress.failures += !isfinite(seconds);
    }
    tell(t);
}

/* Measured when there are enough of them. */
static void ask(tuner *t, int task, const gpuc_tune_point *p)
{
    const gpuc_tune_options *o = t->options;
    int together = o->together < 1 ? 1 : o->together > MAX_TOGETHER ? MAX_TOGETHER : o->together;
    t->points[t->num_asks] = p;
    t->asks[t->num_asks++] = (gpuc_tune_ask){
        .task = task, .config = p->config, .best = o->confirm ? (double)INFINITY : best_of(&t->states[task])};
    bool last = o->trials && t->progress.trials + t->num_asks == o->trials;
    if (last || t->num_asks == together) measure_asked(t);
}

/* ---- What is known already ---- */

static void recall(tuner *t, const gpuc_tune_record *r)
{
    const char *problem;
    if (strcmp(r->target, t->tasks->target_text)) return;
    for (int i = 0; i < t->tasks->n; i++) {
        if (strcmp(r->workload, t->tasks->at[i].workload)) continue;
        const gpuc_tune_point *p = gpuc_tune_space_find(t->states[i].space, r->config, &problem);
        if (p)
            note(t, i, p, gpuc_tune_seconds(r));
        else
            gpuc_tune_warn(&t->options->warnings, t->ctx, "a record of %s does not fit any more: %s",
                           t->tasks->at[i].text, problem);
    }
}

/* ---- The model ---- */

static void create_model(tuner *t)
{
    if (t->options->search != GPUC_TUNE_XGB) return;
    gpuc_status status = gpuc_tune_model_create((uint32_t)t->options->seed, &t->model);
    if (status)
        gpuc_tune_warn(&t->options->warnings, t->ctx, "%s; the search anneals on what is measured instead",
                       gpuc_status_message(status));
    gpuc_status_release(status);
}

/* The best of a task has 1, half as fast is 0.5, what failed 0. */
static float label_of(const gpuc_tune_state *s, const gpuc_tune_trial *trial)
{
    return isfinite(trial->seconds) ? (float)(best_of(s) / trial->seconds) : 0;
}

static void train(tuner *t)
{
    gpuc_ctx *ctx = t->ctx;
    size_t count = 0, n = 0;
    for (int i = 0; i < t->tasks->n; i++) count += t->states[i].trials.count;
    gpuc_arena arena; /* it is done again and again */
    gpuc_arena_init(&arena, ctx->allocator);
    float *rows = gpuc_arena_alloc_array(&arena, count, sizeof *rows * GPUC_TUNE_MAX_FEATURES),
          *labels = gpuc_arena_alloc_array(&arena, count, sizeof *labels);
    unsigned *groups = gpuc_arena_alloc_array(&arena, (size_t)t->tasks->n, sizeof *groups);
    int num_groups = 0;
    gpuc_status status = rows && labels && groups ? NULL : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (int i = 0; i < t->tasks->n && !status; i++) {
        const gpuc_tune_state *s = &t->states[i];
        for (size_t k = 0; k < s->trials.count; k++, n++) {
            const gpuc_tune_trial *trial = s->trials.at[k];
            gpuc_tune_featurize(&t->features, t->workloads[i], trial->point->config,
                                rows + n * GPUC_TUNE_MAX_FEATURES);
            labels[n] = label_of(s, trial);
        }
        if (s->trials.count) groups[num_groups++] = (unsigned)s->trials.count;
    }
    gpuc_tune_rows matrix = {.n = (int)n, .num_features = GPUC_TUNE_MAX_FEATURES, .at = rows};
    if (!status) status = gpuc_tune_model_train(t->model, &matrix, labels, num_groups, groups);
    gpuc_arena_deinit(&arena);
    GPUC_RAISE_IF(ctx, status);
}

/* ---- The loop ---- */

static int propose(tuner *t, const gpuc_tune_point **out)
{
    gpuc_tune_state *s = &t->states[t->task];
    if (t->options->search == GPUC_TUNE_RANDOM) return gpuc_tune_propose_random(s, &t->rng, BATCH, out);
    if (!t->model) return gpuc_tune_propose_sa(s, &t->rng, BATCH, out);
    if (t->pairs < MIN_TO_LEARN) return gpuc_tune_propose_random(s, &t->rng, BATCH / 2, out);
    train(t);
    return gpuc_tune_propose_model(s, &t->rng, t->model, &t->features, t->workloads[t->task], BATCH, out);
}

/* The first of a task: its default schedule, or the simplest. */
static void ask_first(tuner *t, int task)
{
    gpuc_tune_state *s = &t->states[task];
    const gpuc_tune_point *p =
        t->options->ignore_default ? gpuc_tune_space_first(s->space) : gpuc_tune_space_own(s->space);
    for (int i = 0; i < BATCH && !p; i++) p = gpuc_tune_sample(s, &t->rng);
    s->exhausted = p == NULL;
    if (p && !gpuc_tune_tried(s, p)) ask(t, task, p);
}

/* The luckiest of many measurements may be no better than the first: both again, one right after the other. */
static void confirm(tuner *t, int task)
{
    const gpuc_tune_state *s = &t->states[task];
    const gpuc_tune_trial *first = s->trials.count ? s->trials.at[0] : NULL;
    if (!s->best || s->best == first) return;
    ask(t, task, first->point);
    ask(t, task, s->best->point);
    measure_asked(t);
}

static double hope(const tuner *t, int i)
{
    const gpuc_tune_state *s = &t->states[i];
    if (s->exhausted) return -1;
    if (!s->best) return 0; /* nothing of it works so far */
    return t->tasks->at[i].uses * s->best->seconds * pow(0.5, (double)s->since_best / PATIENCE);
}

static bool choose_task(tuner *t)
{
    t->task = -1;
    for (int i = 0; i < t->tasks->n; i++)
        if (hope(t, i) >= 0 && (t->task < 0 || hope(t, i) > hope(t, t->task))) t->task = i;
    return t->task >= 0;
}

static void run(tuner *t)
{
    for (int i = 0; i < t->tasks->n && !is_over(t) && t->options->confirm; i++) confirm(t, i);
    if (t->options->confirm) return;
    for (int i = 0; i < t->tasks->n && !is_over(t); i++) ask_first(t, i);
    if (!is_over(t)) measure_asked(t);
    while (!is_over(t) && choose_task(t)) {
        const gpuc_tune_point *points[BATCH];
        int n = propose(t, points), task = t->task;
        t->states[task].exhausted = n == 0;
        for (int i = 0; i < n && !is_over(t); i++) ask(t, task, points[i]);
        if (!is_over(t)) measure_asked(t);
    }
}

static void destroy_model(void *arg)
{
    gpuc_tune_model_destroy(((tuner *)arg)->model);
}

void gpuc_tune_run(gpuc_ctx *ctx, const gpuc_tune_tasks *tasks, const gpuc_tune_records *records,
                   const gpuc_tune_options *options, gpuc_tune_progress *out)
{
    if (!options->measure)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "the search: measure is NULL, and there is no other way to know costs");
    tuner *t = gpuc_new(ctx, tuner);
    *t = (tuner){.ctx = ctx, .tasks = tasks, .options = options, .start = now()};
    t->rng.state = options->seed + records->count * UINT64_C(0xd1342543de82ef95);
    t->states = gpuc_new_array(ctx, gpuc_tune_state, tasks->n);
    t->workloads = gpuc_ctx_alloc_array(ctx, (size_t)tasks->n, sizeof *t->workloads);
    t->first = gpuc_new_array(ctx, double, tasks->n);
    gpuc_tune_features_init(&t->features, ctx);
    for (int i = 0; i < tasks->n; i++) {
        gpuc_tune_space *space = gpuc_tune_space_create(ctx, tasks->target, tasks->at[i].f);
        gpuc_tune_state_init(&t->states[i], ctx, space);
        gpuc_tune_describe(&tasks->at[i], t->workloads[i]);
        t->first[i] = (double)INFINITY;
    }
    for (size_t i = 0; i < records->count; i++) recall(t, records->at[i]);
    for (int i = 0; i < tasks->n; i++) t->states[i].since_best = 0;
    gpuc_ctx_push_cleanup(ctx, destroy_model, t);
    create_model(t);
    run(t);
    gpuc_ctx_pop_cleanup(ctx, true);
    t->task = tasks->n ? 0 : -1;
    *out = t->progress;
}
