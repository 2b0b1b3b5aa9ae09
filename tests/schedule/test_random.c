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

static void report(gpuc_ctx *ctx, const job *j, gpuc_status status)
{
    printf("FAILED %s#%llu: %s\nagain: test_schedule_random 1 %llu %s\n%s%s", j->c->name,
           (unsigned long long)j->seed, gpuc_status_message(status), (unsigned long long)j->seed, j->c->name,
           j->r.log ? j->r.log : "", j->r.schedule ? gpuc_schedule_text(j->r.schedule) : "");
    if (j->scheduled) printf("%s\n", gpuc_tir_text(ctx, j->scheduled));
    fflush(stdout);
}

static void try_schedule(const expr_case *c, uint64_t seed, random_counts *counts, totals *t)
{
    gpuc_ctx *ctx;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    job j = {.c = c, .seed = seed, .counts = counts};
    gpuc_status status = gpuc_ctx_protect(ctx, make_body, &j);
    if (!status) {
        status = gpuc_ctx_protect(ctx, lower_body, &j);
        bool refused = gpuc_status_code(status) == GPUC_INVALID_ARGUMENT;
        if (!status) {
            status = gpuc_ctx_protect(ctx, compare_body, &j);
            refused = gpuc_status_code(status) == GPUC_UNSUPPORTED; /* by the evaluator */
        }
        if (refused) {
            t->rejected++;
            if (t->verbose) printf("rejected %s: %s\n", j.r.name, gpuc_status_message(status));
            gpuc_status_release(status);
            gpuc_ctx_destroy(ctx);
            return;
        }
    }
    if (status) {
        if (!t->planted) report(ctx, &j, status);
        t->failed++;
    } else {
        t->legal++;
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
    int least = counts.used[0];
    for (int p = 0; p < RANDOM_PRIMITIVE_COUNT; p++) {
        printf("%-16s used %5d refused %5d\n", random_primitive_names[p], counts.used[p], counts.refused[p]);
        if (counts.used[p] < least) least = counts.used[p];
    }
    printf("cases: %d (schedules of %d expressions; %d rejected, %d failed)\n", t.legal, num_expr_cases,
           t.rejected, t.failed);
    if (planted) return t.failed == 0;
    if (per_expr < 24 || only) return t.failed > 0;
    return t.failed > 0 || t.rejected >= t.legal || t.legal < 500 || least < 25;
}
