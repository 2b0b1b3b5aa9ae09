/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules, lowered for each target, compute in the evaluator what the definition does, without
 * races, bad indices or reads of what was not written. Arguments: [schedules per expression [first seed
 * [target [expression]]]], so "1 SEED TARGET NAME" runs one again; "" is any target. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../schedule/compare.h"
#include "../schedule/random_schedule.h"
#include "../tir/rule_totals.h"
#include "lower/common/util.h"
#include "te/te.h"
#include "tir/fold.h"

static const char *const targets[] = {
    "c",
    "c -mcpu=native",
    "opencl",
    "opencl/pocl",
    "vulkan -max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 -max_grid_x=5",
    "vulkan/llvmpipe",
};
enum { NUM_TARGETS = sizeof targets / sizeof targets[0], MAX_STEPS = 200000 };

typedef struct job {
    const expr_case *c;
    uint64_t seed;
    const char *target; /* NULL: not lowered for one yet */
    random_counts *counts;
    random_schedule r;
    gpuc_tir_func *scheduled;
    gpuc_tir_program *program;
    data_set want;
} job;

static void make_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    random_schedule_make(ctx, j->c, j->seed, j->counts, &j->r);
}

static void schedule_body(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    job *j = arg;
    j->scheduled = gpuc_schedule_lower(j->r.schedule, "scheduled", j->r.graph.num_args, j->r.graph.args);
}

static void define_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    expr_graph *g = &j->r.graph;
    data_fill(g, 1, &j->want);
    data_run(g, gpuc_te_lower_plain(ctx, "plain", g->num_args, g->args), &j->want);
}

static void lower_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    j->program = gpuc_lower(ctx, j->scheduled, gpuc_target_parse(ctx, j->target, NULL));
}

static int64_t count_of(gpuc_ctx *ctx, const gpuc_tir_buffer *b, const gpuc_tir_func *f,
                        const int64_t *scalars)
{
    gpuc_expr with[EXPR_MAX_SYMBOLS];
    int64_t n = -1;
    for (int i = 0; i < f->num_scalars; i++) with[i] = gpuc_imm_int(ctx, f->scalars[i]->dtype, scalars[i]);
    if (!gpuc_expr_is_int(gpuc_tir_substitute(ctx, b->shape[0], f->num_scalars, f->scalars, with), &n))
        gpuc_raise(ctx, GPUC_INTERNAL, "the size of workspace '%s' is not known before the launch: %s",
                   b->name, gpuc_expr_text(ctx, b->shape[0]));
    return n;
}

static void run_kernel(gpuc_ctx *ctx, const job *j, int i, const gpuc_tir_arg *all, const int64_t *scalars)
{
    const gpuc_tir_func *k = j->program->kernels[i];
    const gpuc_tir_kernel_args *from = &j->program->args[i];
    gpuc_tir_arg args[64];
    int64_t own[EXPR_MAX_SYMBOLS];
    GPUC_CHECK(k->num_buffers <= 64);
    for (int b = 0; b < k->num_buffers; b++) args[b] = all[from->buffers[b]];
    for (int s = 0; s < k->num_scalars; s++) own[s] = scalars[from->scalars[s]];
    GPUC_RAISE_IF(ctx, gpuc_error_prefix(gpuc_ev_run(ctx, k, args, own, true), "kernel '%s'", k->name));
}

static void run_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    expr_graph *g = &j->r.graph;
    const gpuc_tir_func *f = j->scheduled;
    data_set got;
    gpuc_tir_arg all[64];
    int64_t scalars[EXPR_MAX_SYMBOLS] = {0};
    data_fill(g, 1, &got);
    for (int i = 0; i < f->num_scalars; i++)
        for (int k = 0; k < g->num_symbols; k++)
            if (f->scalars[i] == g->symbols[k]) scalars[i] = g->values[k];
    GPUC_CHECK(f->num_buffers + j->program->num_workspaces <= 64);
    for (int i = 0; i < f->num_buffers; i++) all[i] = got.args[i];
    for (int i = 0; i < j->program->num_workspaces; i++) {
        const gpuc_tir_buffer *b = j->program->workspaces[i];
        gpuc_tir_arg *a = &all[f->num_buffers + i];
        a->size = ((size_t)count_of(ctx, b, f, scalars) * gpuc_dtype_bytes(b->dtype) + 15) / 16 * 16;
        a->data = gpuc_ctx_alloc(ctx, a->size);
    }
    for (int i = 0; i < j->program->num_kernels; i++) run_kernel(ctx, j, i, all, scalars);
    data_compare(g, &got, &j->want);
}

typedef struct totals {
    int legal[NUM_TARGETS], small[NUM_TARGETS], failed, rejected, slow;
    bool verbose;
    const char *only;
    rule_totals rules;
} totals;

typedef enum outcome { PASSED, REFUSED, TOO_LONG, FAILED } outcome;

/* The schedule, and what its result must be. */
static outcome prepare(gpuc_ctx *ctx, job *j, gpuc_status *status)
{
    *status = gpuc_ctx_protect(ctx, make_body, j);
    if (*status) return FAILED;
    *status = gpuc_ctx_protect(ctx, schedule_body, j);
    if (*status) return gpuc_status_code(*status) == GPUC_INVALID_ARGUMENT ? REFUSED : FAILED;
    *status = gpuc_ctx_protect(ctx, define_body, j);
    if (*status) return FAILED;
    /* It computes the same again and again: the evaluator would take long. */
    return gpuc_lower_steps(j->scheduled->body, MAX_STEPS) >= MAX_STEPS ? TOO_LONG : PASSED;
}

static outcome run(gpuc_ctx *ctx, job *j, gpuc_status *status)
{
    j->program = NULL;
    *status = gpuc_ctx_protect(ctx, lower_body, j);
    gpuc_code code = gpuc_status_code(*status);
    if (code == GPUC_UNSUPPORTED || code == GPUC_INVALID_ARGUMENT) return REFUSED;
    if (!*status) *status = gpuc_ctx_protect(ctx, run_body, j);
    return *status ? FAILED : PASSED;
}

static bool still_fails(const bool *left_out, void *arg)
{
    const job *failed = arg;
    random_counts counts = {0};
    job j = {.c = failed->c, .seed = failed->seed, .counts = &counts, .target = failed->target};
    j.r.left_out = left_out;
    gpuc_ctx *ctx;
    gpuc_status status;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    outcome o = prepare(ctx, &j, &status);
    if (o == PASSED && j.target) o = run(ctx, &j, &status);
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return o == FAILED;
}

static void report(gpuc_ctx *ctx, const job *failed, gpuc_status status)
{
    const char *target = failed->target ? failed->target : "";
    printf("FAILED %s#%llu for '%s': %s (%s:%d)\nagain: test_lower_random 1 %llu '%s' %s\n", failed->c->name,
           (unsigned long long)failed->seed, target, gpuc_status_message(status), gpuc_status_file(status),
           gpuc_status_line(status), (unsigned long long)failed->seed, target, failed->c->name);
    fflush(stdout);
    bool left_out[RANDOM_MAX_CALLS];
    random_counts counts = {0};
    random_schedule_shrink(failed->r.num_calls, still_fails, (void *)(uintptr_t)failed, left_out);
    job j = {.c = failed->c, .seed = failed->seed, .counts = &counts, .target = failed->target};
    j.r.left_out = left_out;
    gpuc_status again;
    if (prepare(ctx, &j, &again) == PASSED && j.target) run(ctx, &j, &again);
    printf("the smallest that fails: %s\n%s", gpuc_status_message(again), j.r.log ? j.r.log : "");
    if (j.scheduled) printf("%s\n", gpuc_tir_text(ctx, j.scheduled));
    for (int i = 0; j.program && i < j.program->num_kernels; i++)
        printf("%s\n", gpuc_tir_text(ctx, j.program->kernels[i]));
    gpuc_status_release(again);
    fflush(stdout);
}

static void try_target(gpuc_ctx *ctx, job *j, int target, totals *t)
{
    gpuc_status status;
    j->target = targets[target];
    switch (run(ctx, j, &status)) {
    case REFUSED:
        t->small[target]++;
        if (t->verbose) printf("refused %s for %s: %s\n", j->r.name, j->target, gpuc_status_message(status));
        break;
    case FAILED:
        t->failed++;
        report(ctx, j, status);
        break;
    case TOO_LONG:
    case PASSED: t->legal[target]++; break;
    }
    gpuc_status_release(status);
}

static void try_schedule(const expr_case *c, uint64_t seed, random_counts *counts, totals *t)
{
    gpuc_ctx *ctx;
    gpuc_status status;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    rule_totals_watch(ctx);
    job j = {.c = c, .seed = seed, .counts = counts};
    switch (prepare(ctx, &j, &status)) {
    case PASSED:
        for (int i = 0; i < NUM_TARGETS; i++)
            if (!t->only || strcmp(t->only, targets[i]) == 0) try_target(ctx, &j, i, t);
        break;
    case REFUSED: t->rejected++; break;
    case TOO_LONG: t->slow++; break;
    case FAILED:
        t->failed++;
        report(ctx, &j, status);
        break;
    }
    gpuc_status_release(status);
    rule_totals_add(&t->rules, ctx);
    gpuc_ctx_destroy(ctx);
}

int main(int argc, char **argv)
{
    int per_expr = argc > 1 ? atoi(argv[1]) : 2;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    random_counts counts = {0};
    totals t = {.verbose = getenv("GPUC_TEST_VERBOSE") != NULL,
                .only = argc > 3 && argv[3][0] ? argv[3] : NULL};
    rule_totals_of(&t.rules, gpuc_tir_fold_rules());
    rule_totals_of(&t.rules, gpuc_arith_rules());
    rule_totals_of(&t.rules, gpuc_lower_simplify_rules());
    for (int e = 0; e < num_expr_cases; e++)
        for (int k = 0; k < per_expr && (argc < 5 || strcmp(argv[4], expr_cases[e].name) == 0); k++)
            try_schedule(&expr_cases[e], first + (uint64_t)k, &counts, &t);
    int min = -1, ran = 0;
    for (int i = 0; i < NUM_TARGETS; i++) {
        printf("%-90s %5d ran, %5d too large for it\n", targets[i], t.legal[i], t.small[i]);
        if (min < 0 || t.legal[i] < min) min = t.legal[i];
        ran += t.legal[i];
    }
    rule_totals_print(&t.rules, "random schedules");
    printf("cases: %d (%d expressions, %d schedules rejected, %d too long, %d failed)\n", ran, num_expr_cases,
           t.rejected, t.slow, t.failed);
    return t.failed > 0 || (argc < 4 && min < num_expr_cases * per_expr / 4);
}
