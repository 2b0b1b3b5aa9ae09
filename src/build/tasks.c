/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering on several threads: each function is a task with a context of its own; results are
 * joined in order, so that the number of threads does not show. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "build/lowered.h"

typedef struct task {
    const gpuc_target *target;
    const gpuc_rfunction *f;
    const char *name, *label;
    uint32_t debug;
    gpuc_ctx *ctx;
    gpuc_lowered *out;
    gpuc_status status;
} task;

typedef struct pool {
    task *tasks;
    int count;
    atomic_int next, done;
    gpuc_allocator allocator;
    void (*progress)(void *user, const char *what, int done, int total);
    void *user;
} pool;

static void run_body(gpuc_ctx *ctx, void *arg)
{
    task *t = arg;
    const gpuc_rfunction *copy = gpuc_relay_clone_function(ctx, t->f);
    t->out = gpuc_lower_function(ctx, t->target, copy, gpuc_ctx_strdup(ctx, t->name),
                                 gpuc_ctx_strdup(ctx, t->label));
}

/* Only the caller's own thread tells how far the work is. */
static void work(pool *p, bool tells)
{
    for (int i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
        task *t = &p->tasks[i];
        t->status = gpuc_ctx_create(&p->allocator, &t->ctx);
        if (!t->status) {
            t->ctx->debug = t->debug;
            t->status = gpuc_ctx_protect(t->ctx, run_body, t);
        }
        int done = atomic_fetch_add(&p->done, 1) + 1;
        if (tells && p->progress) p->progress(p->user, "kernels", done, p->count);
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
        gpuc_ctx_destroy(p->tasks[i].ctx);
    }
}

void gpuc_lower_functions(gpuc_ctx *ctx, const gpuc_target *const *targets, int n,
                          const gpuc_rfunction *const *functions, const char *const *names,
                          const char *const *labels, int num_threads,
                          void (*progress)(void *user, const char *what, int done, int total), void *user,
                          gpuc_lowered **out)
{
    enum { MOST_THREADS = 64 };
    pthread_t threads[MOST_THREADS];
    pool *p = gpuc_new(ctx, pool);
    p->tasks = gpuc_new_array(ctx, task, n);
    p->count = n;
    p->allocator = ctx->allocator;
    p->progress = progress;
    p->user = user;
    for (int i = 0; i < n; i++)
        p->tasks[i] = (task){
            .target = targets[i],
            .f = functions[i],
            .name = names[i],
            .label = labels[i],
            .debug = ctx->debug,
        };
    if (num_threads <= 0) num_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (num_threads > n) num_threads = n;
    if (num_threads > MOST_THREADS) num_threads = MOST_THREADS;
    int started = 0;
    while (started + 1 < num_threads && !pthread_create(&threads[started], NULL, worker, p)) started++;
    if (progress) progress(user, "kernels", 0, n);
    work(p, true);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (progress) progress(user, "kernels", n, n);
    gpuc_ctx_push_cleanup(ctx, release_tasks, p);
    for (int i = 0; i < n; i++) {
        task *t = &p->tasks[i];
        if (t->status) {
            gpuc_status status = gpuc_error_prefix(t->status, "%s", labels[i]);
            t->status = NULL;
            gpuc_ctx_raise_status(ctx, status);
        }
        out[i] = gpuc_lowered_copy(ctx, t->out);
        gpuc_ctx_destroy(t->ctx);
        t->ctx = NULL;
    }
    gpuc_ctx_pop_cleanup(ctx, true);
}
