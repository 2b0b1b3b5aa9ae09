/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules, built for a target and run on its device, compute what the unscheduled definition does in
 * the evaluator. Arguments: target [schedules per expression [first seed [expression]]], or target "planted":
 * the compiler has a planted mistake, and the test passes if schedules fail. GPUC_TEST_VERBOSE=1 prints each
 * schedule and how long it ran, 2 its code too.
 *
 * PoCL 6 with LLVM 18 aborts the process over a few kernels (github.com/pocl/pocl/issues/1608). On OpenCL a
 * child process runs the schedules; where that driver aborts it, another one goes on behind the schedule that
 * did it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lower/common/util.h"
#include "random_run.h"
#include "te/te.h"

/* Schedules that drivers take long to compile or to run are left out. */
enum { PLENTY = 16, BATCH_KERNELS = 64, MAX_STEPS = 1000000, MAX_CODE = 40 << 10, MAX_BARRIERS = 16 };
enum { RARE = 50 }; /* at most one of so many schedules may be aborted by the driver */

typedef struct totals {
    int legal, rejected, too_large, too_long, failed, kernels;
    random_counts counts;
    int verbose;
    bool planted;
    bool smallest; /* what fails is known to be the smallest */
} totals;

/* How far a process has come, in memory that it shares with its parent. */
typedef struct progress {
    totals t;        /* of the batches that are done */
    int at;          /* the first schedule of the batch */
    int alone_until; /* those before it are batches of one: together the driver aborts */
    int end;         /* of the batch; 0 while none is in the driver's hands */
    int aborted;     /* schedules */
    bool driver_may_abort;
} progress;

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
        gpuc_codegen_emit(ctx, t, it->program->kernels[i], &it->code[i]);
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

static void drop(const totals *t, random_item *it, const char *what)
{
    if (t->verbose)
        printf("%s %s: %s\n", what, it->r.name, it->result ? gpuc_status_message(it->result) : "");
    gpuc_status_release(it->result);
    gpuc_ctx_destroy(it->ctx);
    free(it);
}

/* Counts the item and frees it. */
static void finish(totals *t, random_item *it)
{
    if (gpuc_status_code(it->result) ==
        GPUC_DEVICE_UNAVAILABLE) { /* its registers leave room for fewer threads */
        t->too_large++;
        drop(t, it, "too large");
        return;
    }
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

/* From p->at on; number i is schedule i % per_expr of expression i / per_expr. */
static void run_all(progress *p, int per_expr, uint64_t first, const char *only)
{
    random_item *items[BATCH_KERNELS];
    totals t = p->t;
    int n = 0, kernels = 0, total = num_expr_cases * per_expr;
    for (int i = p->at; i <= total; i++) {
        const expr_case *c = i < total ? &expr_cases[i / per_expr] : NULL;
        if (c && (!only || strcmp(only, c->name) == 0)) {
            random_item *it = make(&t, c, first + (uint64_t)(i % per_expr), i, NULL);
            if (it) {
                items[n++] = it;
                kernels += it->program->num_kernels;
            }
        }
        if (c && i >= p->alone_until && n < BATCH_KERNELS && kernels < BATCH_KERNELS) continue;
        p->end = i + 1;
        if (n) random_run(items, n);
        p->end = 0;
        for (int k = 0; k < n; k++) finish(&t, items[k]);
        n = kernels = 0;
        p->t = t;
        p->at = i + 1;
    }
}

static int check(const progress *p, bool all)
{
    const totals *t = &p->t;
    int min = t->counts.used[0], rejected = t->rejected + t->too_large + t->too_long;
    for (int p = 0; p < RANDOM_PRIMITIVE_COUNT; p++) {
        printf("%-16s used %5d refused %5d\n", random_primitive_names[p], t->counts.used[p],
               t->counts.refused[p]);
        if (t->counts.used[p] < min) min = t->counts.used[p];
    }
    printf("cases: %d (schedules of %d expressions: %d run, %d kernels on %s; rejected %d by the schedule, "
           "%d too large "
           "for the target, %d too long; %d failed)\n",
           t->legal + rejected + p->aborted, num_expr_cases, t->legal, t->kernels, run_target_text,
           t->rejected, t->too_large, t->too_long, t->failed);
    if (p->aborted) printf("the driver aborted over %d of the schedules\n", p->aborted);
    if (p->aborted * RARE > t->legal) return 1;
    if (t->planted) return t->failed == 0;
    if (!all) return t->failed > 0;
    return t->failed > 0 || rejected >= t->legal || t->legal < 500 || min < 20;
}

typedef struct arguments {
    const char *target, *only;
    int per_expr;
    uint64_t first;
} arguments;

/* The exit status of the test, or 77: it is skipped. */
static int run_from(progress *p, const arguments *a)
{
    gpuc_attr_value driver = {0};
    if (!run_begin(a->target)) return 77;
    if (!run_device()->api->get_attr(run_device(), GPUC_ATTR_DRIVER, &driver) && driver.known)
        p->driver_may_abort = strstr(driver.s, "Portable Computing Language 6.") != NULL;
    run_all(p, a->per_expr, a->first, a->only);
    return run_end(check(p, a->per_expr >= PLENTY && !a->only));
}

/* Notes which schedule the driver aborted over, or that it is to be found. False: the process died of
 * something else. */
static bool was_driver(progress *p, int status)
{
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !p->driver_may_abort || !p->end) return false;
    if (p->end - p->at > 1) {
        p->alone_until = p->end;
    } else {
        printf("the driver aborts over schedule %d\n", p->at);
        p->aborted++;
        p->at = p->end;
    }
    p->end = 0;
    return true;
}

static int run_in_children(progress *p, const arguments *a)
{
    for (;;) {
        int status;
        pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) exit(run_from(p, a));
        if (waitpid(child, &status, 0) != child) return 1;
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        if (was_driver(p, status)) continue;
        printf("FAILED: killed by signal %d\n", WTERMSIG(status));
        return 1;
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *verbose = getenv("GPUC_TEST_VERBOSE");
    progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 1;
    p->t.verbose = verbose ? atoi(verbose) : 0;
    p->t.planted = argc > 2 && strcmp(argv[2], "planted") == 0;
    arguments a = {
        .target = argc > 1 ? argv[1] : "c -cflags=-O1",
        .per_expr = p->t.planted ? 2
                    : argc > 2   ? atoi(argv[2])
                                 : 24,
        .first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
        .only = argc > 4 ? argv[4] : NULL,
    };
    return strncmp(a.target, "opencl", 6) == 0 ? run_in_children(p, &a) : run_from(p, &a);
}
