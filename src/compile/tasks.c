/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering on several threads: each function is a task with a context of its own; results are
 * joined in order, so that the number of threads does not show. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "compile/lowered.h"

typedef struct task {
    gpuc_lower_task *what;
    gpuc_ctx *ctx; /* of out */
    gpuc_lowered *out;
    gpuc_status status, misfit;
} task;

typedef struct pool {
    task *tasks;
    int count;
    atomic_int next, done;
    gpuc_ctx *caller;
    const gpuc_build_options *options;
} pool;

static void tell(const pool *p, int done)
{
    const gpuc_build_options *o = p->options;
    if (o->progress) o->progress(o->progress_user, "kernels", done, p->count);
}

static void run_body(gpuc_ctx *ctx, void *arg)
{
    task *t = arg;
    gpuc_lower_task copy = *t->what;
    copy.f = gpuc_compile_clone_function(ctx, t->what->f);
    copy.name = gpuc_ctx_strdup(ctx, t->what->name);
    copy.label = gpuc_ctx_strdup(ctx, t->what->label);
    if (t->misfit) copy.config = NULL;
    t->out = gpuc_compile_lower_function(ctx, &copy);
}

static void keep(gpuc_ctx *ctx, void *arg)
{
    task *t = arg;
    t->out = gpuc_compile_lowered_copy(ctx, t->out);
}

/* Runs a task and frees its context before the next one, since lowering needs many times the memory of its
 * result. */
static void run(const pool *p, task *t)
{
    gpuc_ctx *ctx;
    t->status = gpuc_ctx_create(&p->caller->allocator, &ctx);
    if (t->status) return;
    ctx->debug = p->caller->debug;
    gpuc_ctx_set_runtime(ctx, p->caller->runtime);
    t->status = gpuc_ctx_protect(ctx, run_body, t);
    if (!t->status) t->status = gpuc_ctx_create(&p->caller->allocator, &t->ctx);
    if (!t->status) t->status = gpuc_ctx_protect(t->ctx, keep, t);
    gpuc_ctx_destroy(ctx);
    if (!t->status || !t->what->config || t->misfit) return;
    t->misfit = t->status;
    gpuc_ctx_destroy(t->ctx);
    t->ctx = NULL;
    run(p, t);
}

/* Only the thread of the caller reports progress. */
static void work(pool *p, bool tells)
{
    for (int i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
        run(p, &p->tasks[i]);
        int done = atomic_fetch_add(&p->done, 1) + 1;
        if (tells) tell(p, done);
    }
}

static void *worker(void *arg)
{
    work(arg, false);
    return NULL;
}

static void release_tasks(void *arg)
{
    pool *p = arg;
    for (int i = 0; i < p->count; i++) {
        gpuc_status_release(p->tasks[i].status);
        gpuc_status_release(p->tasks[i].misfit);
        gpuc_ctx_destroy(p->tasks[i].ctx);
    }
}

void gpuc_compile_lower_functions(gpuc_ctx *ctx, int n, gpuc_lower_task *tasks,
                                  const gpuc_build_options *options)
{
    enum { MAX_THREADS = 64 };
    pthread_t threads[MAX_THREADS];
    pool *p = gpuc_new(ctx, pool);
    *p = (pool){
        .tasks = gpuc_new_array(ctx, task, n),
        .count = n,
        .caller = ctx,
        .options = options,
    };
    for (int i = 0; i < n; i++) p->tasks[i].what = &tasks[i];
    int num_threads = options->num_threads;
    if (num_threads <= 0) num_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (num_threads > n) num_threads = n;
    if (num_threads > MAX_THREADS) num_threads = MAX_THREADS;
    int started = 0;
    while (started + 1 < num_threads && !pthread_create(&threads[started], NULL, worker, p)) started++;
    tell(p, 0);
    work(p, true);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    tell(p, n);
    gpuc_ctx_push_cleanup(ctx, release_tasks, p);
    for (int i = 0; i < n; i++) {
        task *t = &p->tasks[i];
        if (t->status) {
            gpuc_status status = gpuc_error_prefix(t->status, "%s", tasks[i].label);
            t->status = NULL;
            gpuc_ctx_raise_status(ctx, status);
        }
        if (t->misfit) tasks[i].misfit = gpuc_ctx_strdup(ctx, gpuc_status_message(t->misfit));
        tasks[i].lowered = gpuc_compile_lowered_copy(ctx, t->out);
        gpuc_ctx_destroy(t->ctx);
        t->ctx = NULL;
    }
    gpuc_ctx_pop_cleanup(ctx, true);
}
