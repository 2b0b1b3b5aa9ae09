/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules, built for a target and run on its device, compute what the unscheduled definition does in
 * the evaluator. Arguments: target [schedules per expression [first seed [expression]]], or target "planted":
 * the compiler has a planted mistake, and the test passes if schedules fail. GPUC_TEST_VERBOSE=1 prints each
 * schedule and how long it ran, 2 its code too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower/common/util.h"
#include "random_run.h"
#include "te/te.h"

/* Schedules that drivers take long to compile or to run are left out. */
enum { PLENTY = 16, BATCH_KERNELS = 64, MAX_STEPS = 1000000, MAX_CODE = 40 << 10, MAX_BARRIERS = 16 };

typedef struct totals {
    int legal, rejected, too_large, too_long, failed, kernels;
    random_counts counts;
    int verbose;
    bool planted;
    bool smallest; /* what fails is known to be the smallest */
} totals;

typedef struct job {
    int number;
    random_item *item;
} job;

static void make_body(gpuc_ctx *ctx, void *arg)
{
    random_item *it = ((job *)arg)->item;
    random_schedule_make(ctx, it->c, it->seed, &it->counts, &it->r);
}

static void schedule_body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    expr_graph *g = &j->item->r.graph;
    const char *name = gpuc_ctx_printf(ctx, "%s_%d", j->item->c->name, j->number);
    j->item->scheduled = gpuc_schedule_lower(j->item->r.schedule, name, g->num_args, g->args);
}

static void define_body(gpuc_ctx *ctx, void *arg)
{
    random_item *it = ((job *)arg)->item;
    expr_graph *g = &it->r.graph;
    data_fill(g, 1, &it->want);
    data_run(g, gpuc_te_lower_plain(ctx, "plain", g->num_args, g->args), &it->want);
}

static void lower_body(gpuc_ctx *ctx, void *arg)
{
    random_item *it = ((job *)arg)->item;
    it->program = gpuc_lower(ctx, it->scheduled, run_target(ctx));
}

static void emit_body(gpuc_ctx *ctx, void *arg)
{
    random_item *it = ((job *)arg)->item;
    const gpuc_target *t = run_target(ctx);
    it->code = gpuc_new_array(ctx, gpuc_kernel_code, it->program->num_kernels);
    for (int i = 0; i < it->program->num_kernels; i++)
        gpuc_codegen_get(ctx, t)->emit(ctx, t, it->program->kernels[i], &it->code[i]);
}

static void print_code(const random_item *it)
{
    printf("%s", it->r.log ? it->r.log : "");
    if (it->scheduled) printf("%s\n", gpuc_tir_text(it->ctx, it->scheduled));
    if (!it->program) return;
    for (int i = 0; i < it->program->num_kernels; i++) {
        printf("%s\n", gpuc_tir_text(it->ctx, it->program->kernels[i]));
        if (it->code && it->code[i].bytes && run_device_type() != GPUC_DEVICE_VULKAN)
            printf("%s\n", (const char *)it->code[i].bytes);
    }
}

static size_t code_size(const random_item *it)
{
    size_t size = 0;
    for (int i = 0; i < it->program->num_kernels; i++) size += it->code[i].size;
    return size;
}

static void count_barriers(gpuc_stmt s, void *arg)
{
    gpuc_expr e = s->kind == GPUC_STMT_EVAL ? gpuc_as_eval(s)->value : NULL;
    if (e && e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER) ++*(int *)arg;
}

/* Drivers that run on CPUs take time with the square of the barriers. */
static bool is_heavy(const random_item *it)
{
    for (int i = 0; i < it->program->num_kernels; i++) {
        int barriers = 0;
        if (it->program->kernels[i]->body)
            gpuc_tir_visit_stmt(it->ctx, it->program->kernels[i]->body, count_barriers, NULL, &barriers);
        if (barriers > MAX_BARRIERS) return true;
    }
    return code_size(it) > MAX_CODE;
}

static void report(const totals *t, const random_item *it)
{
    const char *name = it->r.name ? it->r.name : "a schedule";
    gpuc_status s = it->result;
    if (s && t->planted && t->verbose) printf("noticed in %s: %s\n", name, gpuc_status_message(s));
    if (s && !t->planted)
        printf("FAILED %s: %s (%s:%d)\nagain: test_codegen_random '%s' 1 %llu %s\n", name,
               gpuc_status_message(s), gpuc_status_file(s), gpuc_status_line(s), run_target_text,
               (unsigned long long)it->seed, it->c->name);
    if (!s && t->verbose) printf("%s: %zu bytes of code, %.1f ms\n", name, code_size(it), it->ms);
    if (s ? !t->planted : t->verbose > 1) print_code(it);
    fflush(stdout);
}

static void print_smallest(const random_item *failed);

/* Counts the item and frees it. */
static void finish(totals *t, random_item *it)
{
    report(t, it);
    if (it->result && !t->planted && !t->smallest) print_smallest(it);
    if (it->result) {
        t->failed++;
        gpuc_status_release(it->result);
    } else {
        t->legal++;
        t->kernels += it->program->num_kernels;
        for (int p = 0; p < RANDOM_PRIMITIVE_COUNT; p++) t->counts.used[p] += it->counts.used[p];
    }
    for (int p = 0; p < RANDOM_PRIMITIVE_COUNT; p++) t->counts.refused[p] += it->counts.refused[p];
    gpuc_ctx_destroy(it->ctx);
    free(it);
}

static void drop(const totals *t, random_item *it, const char *what)
{
    if (t->verbose)
        printf("%s %s: %s\n", what, it->r.name, it->result ? gpuc_status_message(it->result) : "");
    gpuc_status_release(it->result);
    gpuc_ctx_destroy(it->ctx);
    free(it);
}

/* An item that is ready to run, or NULL: it is counted already. */
static random_item *make(totals *t, const expr_case *c, uint64_t seed, int number, const bool *left_out)
{
    random_item *it = calloc(1, sizeof *it);
    if (!it || gpuc_ctx_create(NULL, &it->ctx)) abort();
    it->c = c;
    it->seed = seed;
    it->r.left_out = left_out;
    job j = {.number = number, .item = it};
    it->result = gpuc_ctx_protect(it->ctx, make_body, &j);
    if (!it->result) {
        it->result = gpuc_ctx_protect(it->ctx, schedule_body, &j);
        if (gpuc_status_code(it->result) == GPUC_INVALID_ARGUMENT) {
            t->rejected++;
            drop(t, it, "rejected");
            return NULL;
        }
    }
    if (!it->result) it->result = gpuc_ctx_protect(it->ctx, define_body, &j);
    if (!it->result && gpuc_lower_steps(it->scheduled->body, MAX_STEPS) >= MAX_STEPS) {
        t->too_long++; /* computes the same again and again */
        drop(t, it, "too long");
        return NULL;
    }
    if (!it->result) {
        it->result = gpuc_ctx_protect(it->ctx, lower_body, &j);
        gpuc_code code = gpuc_status_code(it->result);
        if (code == GPUC_UNSUPPORTED || code == GPUC_INVALID_ARGUMENT) {
            t->too_large++;
            drop(t, it, "too large");
            return NULL;
        }
    }
    if (!it->result) it->result = gpuc_ctx_protect(it->ctx, emit_body, &j);
    if (!it->result && is_heavy(it)) {
        t->too_long++;
        drop(t, it, "too much code");
        return NULL;
    }
    if (!it->result) return it;
    finish(t, it);
    return NULL;
}

/* Runs one alone; counts it. */
static void run_one(totals *t, const random_item *like, const bool *left_out)
{
    random_item *it = make(t, like->c, like->seed, 0, left_out);
    if (!it) return;
    random_run(&it, 1);
    finish(t, it);
}

static bool still_fails(const bool *left_out, void *arg)
{
    totals t = {.planted = true}; /* so that it is not reported */
    run_one(&t, arg, left_out);
    return t.failed > 0;
}

/* What fails among others may pass alone: then there is nothing to shrink. */
static void print_smallest(const random_item *failed)
{
    bool left_out[RANDOM_MAX_CALLS] = {false};
    if (!still_fails(left_out, (void *)(uintptr_t)failed)) {
        printf("alone it passes\n");
        return;
    }
    random_schedule_shrink(failed->r.num_calls, still_fails, (void *)(uintptr_t)failed, left_out);
    totals t = {.smallest = true};
    printf("the smallest that fails:\n");
    run_one(&t, failed, left_out);
}

static void run_all(totals *t, int per_expr, uint64_t first, const char *only)
{
    random_item *items[BATCH_KERNELS];
    int n = 0, kernels = 0, number = 0, total = num_expr_cases * per_expr;
    for (int i = 0; i <= total; i++) {
        const expr_case *c = i < total ? &expr_cases[i / per_expr] : NULL;
        if (c && (!only || strcmp(only, c->name) == 0)) {
            random_item *it = make(t, c, first + (uint64_t)(i % per_expr), number++, NULL);
            if (it) {
                items[n++] = it;
                kernels += it->program->num_kernels;
            }
        }
        if (n == 0 || (c && n < BATCH_KERNELS && kernels < BATCH_KERNELS)) continue;
        random_run(items, n);
        for (int k = 0; k < n; k++) finish(t, items[k]);
        n = kernels = 0;
    }
}

static int check(const totals *t, bool all)
{
    int least = t->counts.used[0], rejected = t->rejected + t->too_large + t->too_long;
    for (int p = 0; p < RANDOM_PRIMITIVE_COUNT; p++) {
        printf("%-16s used %5d refused %5d\n", random_primitive_names[p], t->counts.used[p],
               t->counts.refused[p]);
        if (t->counts.used[p] < least) least = t->counts.used[p];
    }
    printf("cases: %d (schedules of %d expressions: %d run, %d kernels on %s; rejected %d by the schedule, "
           "%d too large "
           "for the target, %d too long; %d failed)\n",
           t->legal + rejected, num_expr_cases, t->legal, t->kernels, run_target_text, t->rejected,
           t->too_large, t->too_long, t->failed);
    if (t->planted) return t->failed == 0;
    if (!all) return t->failed > 0;
    return t->failed > 0 || rejected >= t->legal || t->legal < 500 || least < 20;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *verbose = getenv("GPUC_TEST_VERBOSE");
    totals t = {.verbose = verbose ? atoi(verbose) : 0};
    t.planted = argc > 2 && strcmp(argv[2], "planted") == 0;
    int per_expr = t.planted ? 2 : argc > 2 ? atoi(argv[2]) : 24;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    const char *only = argc > 4 ? argv[4] : NULL;
    if (!run_begin(argc > 1 ? argv[1] : "c -cflags=-O1")) return 77;
    run_all(&t, per_expr, first, only);
    return run_end(check(&t, per_expr >= PLENTY && !only));
}
