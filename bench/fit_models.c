/* SPDX-License-Identifier: Apache-2.0 */
/* Models under other constants: which kernels differ, and how long these take. */
#include <math.h>
#include <string.h>

#include <gpuc/onnx.h>

#include "fit.h"

typedef struct tally {
    int kernels, differ, slower, untimed;
} tally;

typedef struct comparison {
    const fit *f;
    const char *path;
    tally found;
    fit_trials trials;
} comparison;

static gpuc_graph *lower(gpuc_ctx *ctx, const comparison *c, const gpuc_target *target)
{
    gpuc_onnx_options from = GPUC_ONNX_OPTIONS_INIT;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    from.keep_symbolic = true;
    gpuc_graph *g = fit_graph(ctx, gpuc_onnx_load(ctx, c->path, &from), target);
    int n = (int)g->functions.count;
    gpuc_lower_task *tasks = gpuc_new_array(ctx, gpuc_lower_task, n);
    for (int i = 0; i < n; i++) {
        const gpuc_graph_function *f = g->functions.at[i];
        tasks[i] = (gpuc_lower_task){.target = gpuc_graph_target(g, f->device),
                                     .f = f->f,
                                     .name = f->name,
                                     .label = f->label,
                                     .placed = f->placed,
                                     .place = f->place};
    }
    gpuc_compile_lower_functions(ctx, n, tasks, &options);
    for (int i = 0; i < n; i++) ((gpuc_graph_function *)g->functions.at[i])->lowered = tasks[i].lowered;
    return g;
}

/* Kernels of a with other code than those of b. */
static int count_others(const gpuc_lowered *a, const gpuc_lowered *b)
{
    int count = 0;
    if (a->num_kernels != b->num_kernels) return a->num_kernels;
    for (int i = 0; i < a->num_kernels; i++) {
        const gpuc_kernel_code *x = &a->kernels[i].code, *y = &b->kernels[i].code;
        count += x->size != y->size || memcmp(x->bytes, y->bytes, x->size);
    }
    return count;
}

/* What the schedule decides for its knobs. */
static void print_knobs(gpuc_ctx *ctx, const gpuc_graph_function *f, const gpuc_target *target)
{
    gpuc_knobs knobs = {.ctx = ctx};
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_compile_schedule_function(ctx, target, gpuc_compile_clone_function(ctx, f->f), &knobs);
    gpuc_config_print(&text, gpuc_knobs_config(ctx, &knobs));
    printf("    %s\n", gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
}

typedef struct timing {
    comparison *c;
    const gpuc_graph_function *f;
    int others; /* kernels that differ */
    const gpuc_target *const *targets;
} timing;

static void time_both(gpuc_ctx *ctx, void *arg)
{
    const timing *t = arg;
    comparison *c = t->c;
    for (int i = 0; i < 2; i++) {
        if (c->f->verbose) print_knobs(ctx, t->f, t->targets[i]);
        fit_add(ctx, c->f, &c->trials, t->f, t->targets[i], NULL);
    }
    double old, ratio = INFINITY;
    for (int i = 0; i < 3 && ratio > FIT_NOISE; i++) { /* what seems slower is timed longer */
        fit_measure(ctx, &c->trials);
        old = c->trials.at[0].seconds[FIT_BATCHES];
        ratio = c->trials.at[1].seconds[FIT_BATCHES] / old;
    }
    if (ratio > FIT_NOISE) c->found.slower += t->others;
    printf("  %-60s %9.4g ms, new %5.2f times as long\n", t->f->label, old * 1e3, ratio);
}

/* In a context of its own: what cannot be timed is counted. */
static void try_both(comparison *c, const gpuc_graph_function *f, int others,
                     const gpuc_target *const *targets)
{
    gpuc_ctx *ctx;
    timing t = {.c = c, .f = f, .others = others, .targets = targets};
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) {
        status = gpuc_ctx_protect(ctx, time_both, &t);
        fit_close(&c->trials);
        gpuc_ctx_destroy(ctx);
    }
    if (!status) return;
    printf("  %-60s not timed: %s\n", f->label, gpuc_status_message(status));
    gpuc_status_release(status);
    c->found.untimed += others;
}

static void compare(gpuc_ctx *ctx, void *arg)
{
    comparison *c = arg;
    const gpuc_target *targets[] = {fit_target(ctx, c->f, &c->f->old), fit_target(ctx, c->f, &c->f->new)};
    gpuc_graph *old = lower(ctx, c, targets[0]), *new = lower(ctx, c, targets[1]);
    if (old->functions.count != new->functions.count) gpuc_raise(ctx, GPUC_UNSUPPORTED, "other functions");
    for (size_t i = 0; i < old->functions.count; i++) {
        const gpuc_graph_function *a = old->functions.at[i], *b = new->functions.at[i];
        c->found.kernels += a->lowered->num_kernels;
        int others = count_others(a->lowered, b->lowered);
        c->found.differ += others;
        if (others) try_both(c, a, others, targets);
    }
}

gpuc_status fit_compare(const fit *f, int num_models, char *const *models)
{
    tally all = {0};
    for (int i = 0; i < num_models; i++) {
        gpuc_ctx *ctx;
        GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
        comparison c = {.f = f, .path = models[i]};
        gpuc_status status = gpuc_ctx_protect(ctx, compare, &c);
        fit_close(&c.trials);
        gpuc_ctx_destroy(ctx);
        printf("%s: %d kernels, %d with another schedule, %d of them slower", models[i], c.found.kernels,
               c.found.differ, c.found.slower);
        printf(status ? ", left out: %s\n" : "\n", gpuc_status_message(status));
        fflush(stdout);
        if (!status) {
            all.kernels += c.found.kernels;
            all.differ += c.found.differ;
            all.slower += c.found.slower;
            all.untimed += c.found.untimed;
        }
        gpuc_status_release(status);
    }
    if (num_models && all.kernels)
        printf("all: %d kernels, %d of them differ and were not timed; %.1f%% have the same schedule, %.1f%% "
               "that "
               "or one that is not slower\n",
               all.kernels, all.untimed, 100.0 * (all.kernels - all.differ) / all.kernels,
               100.0 * (all.kernels - all.slower - all.untimed) / all.kernels);
    return NULL;
}
