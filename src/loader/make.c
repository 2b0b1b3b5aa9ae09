/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the parts of code that are asked for, on several threads, and says how far it is. */
#include <signal.h>
#include <unistd.h>

#include "loader/loader.h"

#define MAX_THREADS 64

typedef struct job {
    gpuc_loaded *loaded;
    gpuc_code_part *part;
} job;

typedef struct work {
    const gpuc_making *making;
    job *jobs;
    uint32_t count, before; /* parts to make, and those that were there */
    atomic_uint next;
    atomic_bool stop;
    pthread_mutex_t lock; /* of what follows, and of calls of progress */
    uint32_t done;
    gpuc_status status;
} work;

/* ---- One part ---- */

static gpuc_status load_part(gpuc_loaded *l, const gpuc_code_part *part, gpuc_code_module **out)
{
    const gpuc_device_api *api = l->dev->api;
    GPUC_TRY(api->module_load(l->dev, part->blob->type_key, part->blob->bytes, part->blob->size,
                              part->kernels, part->num_kernels, out));
    gpuc_status status = NULL;
    for (uint32_t i = 0; !status && i < part->num_kernels; i++) {
        const gpuc_kernel *k = part->kernels[i];
        status = api->kernel_get(*out, k->name, &l->numbers[k - l->program->kernels]);
    }
    if (status) api->module_release(l->dev, *out);
    return status;
}

/* Once for all callers: whoever comes while a thread is at it waits. */
static gpuc_status make_part(gpuc_loaded *l, gpuc_code_part *part)
{
    pthread_mutex_lock(&l->lock);
    while (part->busy) pthread_cond_wait(&l->changed, &l->lock);
    bool mine = part->busy = !atomic_load(&part->module);
    pthread_mutex_unlock(&l->lock);
    if (!mine) return NULL;
    gpuc_code_module *module;
    gpuc_status status = load_part(l, part, &module);
    if (!status) atomic_store(&part->module, module);
    pthread_mutex_lock(&l->lock);
    part->busy = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* ---- What to make ---- */

static void want(work *w, gpuc_loaded *l, uint32_t kernel, bool *seen)
{
    uint32_t number = l->part_of[kernel];
    if (seen[number]) return;
    seen[number] = true;
    if (atomic_load(&l->parts[number].module))
        w->before++;
    else
        w->jobs[w->count++] = (job){l, &l->parts[number]};
}

static void want_all(work *w, gpuc_loaded *l, bool *seen)
{
    for (uint32_t k = 0; k < l->program->num_kernels; k++) {
        if (!l->launched[k]) continue;
        uint32_t kernel = w->making->richest ? l->chosen[k] : gpuc_loader_current(l, k);
        want(w, l, kernel, seen);
        if (l->limited[k] != GPUC_NO_INDEX && !gpuc_loader_is_within(l, kernel))
            want(w, l, l->limited[k], seen);
    }
}

static gpuc_status list_jobs(work *w, gpuc_arena *arena)
{
    const gpuc_making *m = w->making;
    size_t total = 0;
    for (uint32_t i = 0; i < m->num_loaded; i++) total += m->loaded[i]->num_parts;
    w->jobs = gpuc_arena_alloc_array(arena, total, sizeof *w->jobs);
    bool *seen = gpuc_arena_alloc_array(arena, total, sizeof *seen);
    if (!w->jobs || !seen) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory making kernels");
    for (uint32_t i = 0; i < m->num_loaded; seen += m->loaded[i++]->num_parts)
        want_all(w, m->loaded[i], seen);
    w->done = w->before;
    return NULL;
}

/* ---- Threads ---- */

static void note(work *w, const job *j, gpuc_status status)
{
    const gpuc_making *m = w->making;
    uint32_t total = w->before + w->count;
    pthread_mutex_lock(&w->lock);
    if (!status) w->done++;
    if (!status && m->progress && !atomic_load(&w->stop) &&
        !m->progress(m->user, w->done, total, j->part->kernels[0]->name))
        status = gpuc_fail(GPUC_CANCELLED, "stopped by the application when %u of %u parts were made",
                           w->done, total);
    if (status) atomic_store(&w->stop, true);
    if (!w->status)
        w->status = status;
    else
        gpuc_status_release(status);
    pthread_mutex_unlock(&w->lock);
}

static bool work_once(work *w)
{
    if (atomic_load(&w->stop)) return false;
    uint32_t i = atomic_fetch_add(&w->next, 1);
    if (i >= w->count) return false;
    note(w, &w->jobs[i], make_part(w->jobs[i].loaded, w->jobs[i].part));
    return true;
}

static void *work_on(void *arg)
{
    while (work_once(arg)) {
    }
    return NULL;
}

static void work_range(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) work_once(arg);
}

static void run(work *w, const gpuc_runtime_desc *desc)
{
    pthread_t threads[MAX_THREADS];
    int64_t wanted = desc->num_threads > 0 ? desc->num_threads : sysconf(_SC_NPROCESSORS_ONLN), started = 0;
    if (wanted > w->count) wanted = w->count;
    if (wanted > MAX_THREADS) wanted = MAX_THREADS;
    sigset_t all, old;
    sigfillset(&all); /* signals are for the application's threads */
    if (desc->parallel_for && w->count > 1) {
        desc->parallel_for(desc->parallel_user, 0, w->count, work_range, w);
        wanted = 1;
    }
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work_on, w) == 0) started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    work_on(w);
    for (int64_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static bool has_variant(const gpuc_code_part *part)
{
    for (uint32_t i = 0; i < part->num_kernels; i++)
        if (part->kernels[i]->variant) return true;
    return false;
}

/* Sessions plan anew where a variant came that they did not have. */
static void announce(const work *w)
{
    const gpuc_making *m = w->making;
    for (uint32_t i = 0; i < w->count; i++) {
        const job *j = &w->jobs[i];
        if (j->loaded->deferred && has_variant(j->part) && atomic_load(&j->part->module))
            atomic_fetch_add(&j->loaded->richer, 1);
    }
    for (uint32_t i = 0; i < m->num_loaded; i++) {
        gpuc_device *dev = m->loaded[i]->dev;
        if (w->count && dev->api->store_cache) dev->api->store_cache(dev);
        if (!w->status) atomic_store(&m->loaded[i]->runnable, true);
    }
}

gpuc_status gpuc_loader_make(gpuc_runtime *rt, const gpuc_making *making)
{
    bool runnable = !making->richest;
    for (uint32_t i = 0; i < making->num_loaded; i++)
        runnable = runnable && atomic_load(&making->loaded[i]->runnable);
    if (runnable) return NULL;
    work w = {.making = making};
    gpuc_arena arena;
    gpuc_arena_init(&arena, gpuc_runtime_allocator(rt));
    gpuc_status status = list_jobs(&w, &arena);
    if (!status) {
        pthread_mutex_init(&w.lock, NULL);
        run(&w, gpuc_runtime_get_desc(rt));
        pthread_mutex_destroy(&w.lock);
        announce(&w);
        status = w.status;
    }
    gpuc_arena_deinit(&arena);
    return status;
}
