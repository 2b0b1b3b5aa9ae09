/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules compute what the definition does. Arguments: [schedules per expression [first seed
 * [expression]]], so "1 SEED NAME" runs one again; or "planted": the compiler has a planted mistake, and the
 * test passes if schedules fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "random_schedule.h"

typedef struct job {
    const expr_case *c;
    uint64_t seed;
    random_counts *counts;
    random_schedule r;
    gpuc_tir_func *scheduled;
} job;

static void make_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    random_schedule_make(ctx, j->c, j->seed, j->counts, &j->r);
}

static void lower_body(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    job *j = arg;
    j->scheduled = gpuc_schedule_lower(j->r.schedule, "scheduled", j->r.graph.num_args, j->r.graph.args);
}

static void compare_body(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    compare_with_definition(&((job *)arg)->r.graph, ((job *)arg)->r.schedule);
}

typedef struct totals {
    int legal, rejected, failed;
    bool verbose, planted;
} totals;

/* Passed, failed, or refused by a primitive, by lowering or by the evaluator. */
typedef enum outcome { PASSED, REFUSED, FAILED } outcome;

static outcome run(gpuc_ctx *ctx, job *j, gpuc_status *status)
{
    *status = gpuc_ctx_protect(ctx, make_body, j);
    if (*status) return FAILED;
    *status = gpuc_ctx_protect(ctx, lower_body, j);
    if (*status) return gpuc_status_code(*status) == GPUC_INVALID_ARGUMENT ? REFUSED : FAILED;
    *status = gpuc_ctx_protect(ctx, compare_body, j);
    if (!*status) return PASSED;
    return gpuc_status_code(*status) == GPUC_UNSUPPORTED ? REFUSED : FAILED;
}

static bool still_fails(const bool *left_out, void *arg)
{
    random_counts counts = {0};
    job j = *(const job *)arg;
    gpuc_ctx *ctx;
    gpuc_status status;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    j.counts = &counts;
    j.r = (random_schedule){.left_out = left_out};
    outcome o = run(ctx, &j, &status);
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return o == FAILED;
}

static void report(gpuc_ctx *ctx, const job *failed, gpuc_status status)
{
    printf("FAILED %s#%llu: %s\nagain: test_schedule_random 1 %llu %s\n", failed->c->name,
           (unsigned long long)failed->seed, gpuc_status_message(status), (unsigned long long)failed->seed,
           failed->c->name);
    fflush(stdout);
    bool left_out[RANDOM_MAX_CALLS];
    random_counts counts = {0};
    random_schedule_shrink(failed->r.num_calls, still_fails, (void *)(uintptr_t)failed, left_out);
    job j = {.c = failed->c, .seed = failed->seed, .counts = &counts, .r.left_out = left_out};
    gpuc_status again;
    run(ctx, &j, &again);
    printf("the smallest that fails: %s\n%s%s", gpuc_status_message(again), j.r.log ? j.r.log : "",
           j.r.schedule ? gpuc_schedule_text(j.r.schedule) : "");
    if (j.scheduled) printf("%s\n", gpuc_tir_text(ctx, j.scheduled));
    gpuc_status_release(again);
    fflush(stdout);
}

static void try_schedule(const expr_case *c, uint64_t seed, random_counts *counts, totals *t)
{
    gpuc_ctx *ctx;
    gpuc_status status;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    job j = {.c = c, .seed = seed, .counts = counts};
    switch (run(ctx, &j, &status)) {
    case PASSED: t->legal++; break;
    case REFUSED:
        t->rejected++;
        if (t->verbose) printf("rejected %s: %s\n", j.r.name, gpuc_status_message(status));
        break;
    case FAILED:
        t->failed++;
        if (!t->planted || t->verbose) report(ctx, &j, status);
        break;
    }
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
}

int main(int argc, char **argv)
{
    bool planted = argc > 1 && strcmp(argv[1], "planted") == 0;
    int per_expr = planted ? 4 : argc > 1 ? atoi(argv[1]) : 24;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    random_counts counts = {0};
    totals t = {.verbose = getenv("GPUC_TEST_VERBOSE") != NULL, .planted = planted};
    const expr_case *only = argc > 3 ? expr_find(argv[3]) : NULL;
    if (argc > 3 && !only) {
        printf("there is no expression '%s'\n", argv[3]);
        return 2;
    }
    for (int e = 0; e < num_expr_cases; e++)
        for (int k = 0; k < per_expr && (!only || only == &expr_cases[e]); k++)
            try_schedule(&expr_cases[e], first + (uint64_t)k, &counts, &t);
    int min = counts.used[0];
    for (int p = 0; p < RANDOM_PRIMITIVE_COUNT; p++) {
        printf("%-16s used %5d refused %5d\n", random_primitive_names[p], counts.used[p], counts.refused[p]);
        if (counts.used[p] < min) min = counts.used[p];
    }
    printf("cases: %d (schedules of %d expressions; %d rejected, %d failed)\n", t.legal, num_expr_cases,
           t.rejected, t.failed);
    if (planted) return t.failed == 0;
    if (per_expr < 24 || only) return t.failed > 0;
    return t.failed > 0 || t.rejected >= t.legal || t.legal < 500 || min < 25;
}
