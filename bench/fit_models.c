/* SPDX-License-Identifier: Apache-2.0 */
/* Models under other constants: which kernels differ, and how long these take. */
#include <math.h>
#include <string.h>

#include <gpuc/onnx.h>

#include "fit.h"

typedef struct tally {
    int kernels, differ, slower, open; /* open: sizes that only a run knows, not timed */
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
    gpuc_lower_functions(ctx, n, tasks, &options);
    for (int i = 0; i < n; i++) ((gpuc_graph_function *)g->functions.at[i])->lowered = tasks[i].lowered;
    return g;
}

static bool is_same(const gpuc_lowered *a, const gpuc_lowered *b)
{
    if (a->num_kernels != b->num_kernels) return false;
    for (int i = 0; i < a->num_kernels; i++) {
        const gpuc_kernel_code *x = &a->kernels[i].code, *y = &b->kernels[i].code;
        if (x->size != y->size || memcmp(x->bytes, y->bytes, x->size)) return false;
    }
    return true;
}

static void time_both(gpuc_ctx *ctx, comparison *c, const gpuc_graph_function *f,
                      const gpuc_target *const *targets)
{
    int kernels = f->lowered->num_kernels;
    if (f->lowered->num_symbols) {
        c->found.open += kernels;
        return;
    }
    for (int i = 0; i < 2; i++) fit_add(ctx, c->f, &c->trials, f, targets[i], NULL);
    fit_measure(ctx, &c->trials);
    double ratio = c->trials.at[1].seconds[FIT_BATCHES] / c->trials.at[0].seconds[FIT_BATCHES];
    if (ratio > FIT_NOISE) c->found.slower += kernels;
    printf("  %-60s %9.4g ms, new %5.2f times as long\n", f->label,
           c->trials.at[0].seconds[FIT_BATCHES] * 1e3, ratio);
    fit_close(&c->trials);
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
        if (is_same(a->lowered, b->lowered)) continue;
        c->found.differ += a->lowered->num_kernels;
        time_both(ctx, c, a, targets);
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
            all.open += c.found.open;
        }
        gpuc_status_release(status);
    }
    if (num_models && all.kernels)
        printf("all: %d kernels; %.1f%% have the same schedule, %.1f%% that or one that is not slower (%d "
               "with open sizes differ "
               "and were not timed)\n",
               all.kernels, 100.0 * (all.kernels - all.differ) / all.kernels,
               100.0 * (all.kernels - all.slower - all.open) / all.kernels, all.open);
    return NULL;
}
