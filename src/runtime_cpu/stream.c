/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the CPU device: who runs them, and what is appended. */
#include "runtime_cpu/stream.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/size.h"

/* What is appended between two flushes at most, and what an unknown kernel counts for. */
#define FLUSH_OPS 1e8
#define FLUSH_RECORDS 1024
#define UNKNOWN_OPS 1e6
#define OPS_PER_BYTE 1.0

/* Allocators give memory at multiples of 16. */
#define BLOCK_BYTES (sizeof(gpuc_cpu_stream) + _Alignof(gpuc_cpu_stream))

/* ---- Running ---- */

static void init_lock(gpuc_cpu_stream *s)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attr);
    pthread_condattr_destroy(&attr);
}

/* As in the pool: in a forked child one thread makes anew what threads of the parent may hold. */
static void enter_process(gpuc_cpu_stream *s)
{
    int here = getpid(), seen = atomic_load(&s->process);
    while (seen != here) {
        if (seen != 0 && atomic_compare_exchange_strong(&s->process, &seen, 0)) {
            init_lock(s);
            s->running = s->started = false;
            atomic_store(&s->sleepers, 0);
            atomic_store(&s->process, here);
            return;
        }
        seen = atomic_load(&s->process);
    }
}

void gpuc_cpu_stream_wake(gpuc_cpu_stream *s)
{
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void gpuc_cpu_stream_fail(gpuc_cpu_stream *s, gpuc_status status)
{
    pthread_mutex_lock(&s->lock);
    gpuc_status second = s->error ? status : NULL;
    if (!second) {
        s->error = status;
        s->failed_at = atomic_load(&s->done);
    }
    atomic_store(&s->failed, true);
    pthread_mutex_unlock(&s->lock);
    gpuc_status_release(second);
}

gpuc_status gpuc_cpu_stream_error(gpuc_cpu_stream *s, uint64_t position)
{
    gpuc_status status = NULL;
    if (!atomic_load(&s->failed)) return NULL;
    enter_process(s);
    pthread_mutex_lock(&s->lock);
    if (s->error && s->failed_at < position)
        status = gpuc_error_make(gpuc_status_code(s->error), gpuc_status_file(s->error),
                                 gpuc_status_line(s->error), "%s", gpuc_status_message(s->error));
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* For who synchronizes the stream: what comes later starts afresh; tickets that were given keep the error. */
static gpuc_status take_error(gpuc_cpu_stream *s)
{
    if (!atomic_load(&s->failed)) return NULL;
    enter_process(s);
    pthread_mutex_lock(&s->dev->lock);
    gpuc_cpu_tickets_settle_locked(s->dev, s);
    pthread_mutex_lock(&s->lock);
    gpuc_status status = s->error;
    s->error = NULL;
    atomic_store(&s->failed, false);
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&s->dev->lock);
    return status;
}

/* Sleeps until a record is done, with the lock held. deadline NULL: none. False: it is over. */
static bool sleep_locked(gpuc_cpu_stream *s, uint64_t position, const struct timespec *deadline)
{
    int rc = 0;
    atomic_fetch_add(&s->sleepers, 1); /* before done is read: who runs does the two in the opposite order */
    if (atomic_load(&s->done) < position)
        rc = deadline ? pthread_cond_timedwait(&s->changed, &s->lock, deadline)
                      : pthread_cond_wait(&s->changed, &s->lock);
    atomic_fetch_sub(&s->sleepers, 1);
    return rc != ETIMEDOUT;
}

/* Makes the calling thread the one that runs the stream; false: so many records are done. */
static bool claim(gpuc_cpu_stream *s, uint64_t position)
{
    if (atomic_load(&s->done) >= position) return false;
    enter_process(s);
    pthread_mutex_lock(&s->lock);
    while (atomic_load(&s->done) < position && s->running) sleep_locked(s, position, NULL);
    bool mine = atomic_load(&s->done) < position;
    if (mine) s->running = true;
    pthread_mutex_unlock(&s->lock);
    return mine;
}

static void leave(gpuc_cpu_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->running = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* A stream that waits for another one stays claimed while that one is run. They make no circle: what a ticket stands
 * for was appended before any wait for it. */
void gpuc_cpu_stream_run_to(gpuc_cpu_stream *s, uint64_t position)
{
    gpuc_cpu_stream *waiting = NULL; /* innermost first */
    bool claimed = claim(s, position);
    for (;;) {
        const gpuc_cpu_record *wait = claimed ? gpuc_cpu_queue_run(s, position) : NULL;
        if (wait) {
            s->behind = waiting;
            s->goal = position;
            waiting = s;
            s = wait->other;
            position = wait->amount;
            claimed = claim(s, position);
            continue;
        }
        if (claimed) leave(s);
        if (!waiting) return;
        s = waiting;
        position = s->goal;
        waiting = s->behind;
        claimed = true;
    }
}

static void *serve(void *self)
{
    gpuc_cpu_stream *s = self;
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        uint64_t position = s->flushed;
        if (atomic_load(&s->done) >= position) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        gpuc_cpu_stream_run_to(s, position);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Where the application runs the loops, or wants one thread, there is none but its own: the queue runs here. */
void gpuc_cpu_stream_hand_over(gpuc_cpu_stream *s)
{
    uint64_t position = atomic_load(&s->queued);
    if (atomic_load(&s->done) >= position) return;
    enter_process(s);
    pthread_mutex_lock(&s->lock);
    if (!s->started && s->dev->pool && s->dev->num_threads > 1)
        s->started = gpuc_cpu_thread_start(&s->thread, serve, s);
    bool served = s->started;
    if (s->flushed < position) s->flushed = position;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (!served) gpuc_cpu_stream_run_to(s, position);
}

gpuc_status gpuc_cpu_stream_flush(gpuc_device *device, gpuc_stream *stream)
{
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    gpuc_cpu_stream_hand_over(gpuc_cpu_stream_of((gpuc_cpu_device *)device, stream));
    return NULL;
}

static struct timespec deadline_after(int64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec += (long)(ns % 1000000000);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

void gpuc_cpu_stream_wait_until(gpuc_cpu_stream *s, uint64_t position, int64_t timeout_ns)
{
    struct timespec deadline = deadline_after(timeout_ns);
    gpuc_cpu_stream_hand_over(s); /* a launch that is begun here may last longer */
    pthread_mutex_lock(&s->lock);
    while (atomic_load(&s->done) < position && sleep_locked(s, position, &deadline)) continue;
    pthread_mutex_unlock(&s->lock);
}

/* ---- Life ---- */

gpuc_cpu_stream *gpuc_cpu_stream_of(gpuc_cpu_device *dev, gpuc_stream *stream)
{
    return stream ? (gpuc_cpu_stream *)stream : dev->main;
}

bool gpuc_cpu_stream_idle(gpuc_cpu_stream *s)
{
    return atomic_load(&s->done) == atomic_load(&s->queued);
}

gpuc_status gpuc_cpu_stream_create(gpuc_device *device, gpuc_stream **out)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    *out = NULL;
    void *block = gpuc_mem_alloc(dev->allocator, BLOCK_BYTES);
    if (!block) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a stream of the CPU device");
    gpuc_cpu_stream *s = (void *)(uintptr_t)gpuc_align_up((uintptr_t)block, _Alignof(gpuc_cpu_stream));
    s->block = block;
    s->base.device = device;
    s->dev = dev;
    gpuc_status status = gpuc_cpu_queue_init(s);
    if (status) {
        gpuc_mem_free(dev->allocator, block, BLOCK_BYTES);
        return status;
    }
    atomic_init(&s->refs, 1);
    atomic_init(&s->process, getpid());
    pthread_mutex_init(&s->append_lock, NULL);
    init_lock(s);
    pthread_mutex_lock(&dev->lock);
    s->next = dev->streams;
    dev->streams = s;
    pthread_mutex_unlock(&dev->lock);
    *out = &s->base;
    return NULL;
}

void gpuc_cpu_stream_unref(gpuc_cpu_stream *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    gpuc_status_release(s->error);
    gpuc_cpu_queue_deinit(s);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->append_lock);
    gpuc_mem_free(s->dev->allocator, s->block, BLOCK_BYTES);
}

void gpuc_cpu_stream_free(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s = (gpuc_cpu_stream *)stream;
    if (!s) return;
    gpuc_cpu_stream_run_to(s, atomic_load(&s->queued));
    enter_process(s);
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->started) pthread_join(s->thread, NULL);
    pthread_mutex_lock(&dev->lock);
    gpuc_cpu_tickets_settle_locked(dev, s);
    gpuc_cpu_stream **at = &dev->streams;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&dev->lock);
    gpuc_cpu_stream_unref(s);
}

gpuc_status gpuc_cpu_stream_sync(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cpu_stream *s = gpuc_cpu_stream_of((gpuc_cpu_device *)device, stream);
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    gpuc_cpu_stream_run_to(s, atomic_load(&s->queued));
    return take_error(s);
}

/* ---- Appending ---- */

/* Fills the record of a launch; the buffers of its tensors are known to be there. */
static void fill_launch(gpuc_cpu_record *r, const gpuc_cpu_kernel *k, const gpuc_step *step,
                        const gpuc_bindings *bindings)
{
    r->kernel = k;
    r->amount = k ? 0 : step->tensors[0].size;
    for (uint32_t t = 0; t < step->num_tensors; t++)
        gpuc_cpu_record_buffers(r)[t] = bindings->slots[step->tensors[t].slot].buffer;
    if (step->num_scalars)
        memcpy(gpuc_cpu_record_more(r), step->scalars, step->num_scalars * sizeof *step->scalars);
}

static double cost_of(const gpuc_cpu_kernel *k, const gpuc_step *step)
{
    if (!k) return OPS_PER_BYTE * (double)step->tensors[0].size;
    double ops = (double)k->meta->cost_ops, bytes = OPS_PER_BYTE * (double)k->meta->cost_bytes;
    if (ops < 0 && bytes < 0) return UNKNOWN_OPS;
    return ops > bytes ? ops : bytes;
}

/* With append_lock held; says whether the stream should be flushed. */
static bool publish(gpuc_cpu_stream *s, const gpuc_cpu_record *r, double cost)
{
    gpuc_cpu_queue_publish(s, r);
    s->cost += cost;
    bool full = ++s->num_unflushed >= FLUSH_RECORDS || s->cost > FLUSH_OPS;
    if (full) s->cost = s->num_unflushed = 0;
    return full;
}

static gpuc_status launch(gpuc_cpu_device *dev, gpuc_cpu_stream *s, const gpuc_step *step,
                          const gpuc_bindings *bindings)
{
    const gpuc_cpu_kernel *k;
    gpuc_cpu_record *r;
    bool empty, full = false;
    GPUC_TRY(gpuc_cpu_check_step(dev, step, &k, &empty));
    pthread_mutex_lock(&s->append_lock);
    gpuc_status status =
        gpuc_cpu_queue_reserve(s, step->num_tensors, step->num_scalars * sizeof(int64_t), &r);
    if (!status)
        status =
            gpuc_cpu_resolve(dev, k, step->tensors, step->num_tensors, bindings, gpuc_cpu_record_tensors(r));
    if (!status && !empty) {
        fill_launch(r, k, step, bindings);
        full = publish(s, r, cost_of(k, step));
    }
    pthread_mutex_unlock(&s->append_lock);
    if (full) gpuc_cpu_stream_hand_over(s);
    return k ? gpuc_error_prefix(status, "kernel '%s'", k->meta->name) : status;
}

gpuc_status gpuc_cpu_launch(gpuc_device *device, gpuc_stream *stream, const gpuc_step *step,
                            const gpuc_bindings *bindings)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    return gpuc_error_prefix(launch(dev, gpuc_cpu_stream_of(dev, stream), step, bindings), "launch");
}

gpuc_status gpuc_cpu_stream_copy(gpuc_cpu_stream *s, void *to, const void *from, size_t bytes, bool staged,
                                 gpuc_buffer *to_buffer, gpuc_buffer *from_buffer)
{
    gpuc_cpu_record *r;
    bool full = false;
    pthread_mutex_lock(&s->append_lock);
    gpuc_status status = gpuc_cpu_queue_reserve(s, 2, staged ? bytes : 0, &r);
    if (!status) {
        void **ends = gpuc_cpu_record_tensors(r);
        ends[0] = staged ? gpuc_cpu_record_more(r) : (void *)from;
        ends[1] = to;
        if (staged) memcpy(ends[0], from, bytes);
        r->amount = bytes;
        gpuc_cpu_record_buffers(r)[0] = from_buffer;
        gpuc_cpu_record_buffers(r)[1] = to_buffer;
        full = publish(s, r, OPS_PER_BYTE * (double)bytes);
    }
    pthread_mutex_unlock(&s->append_lock);
    if (full) gpuc_cpu_stream_hand_over(s);
    return status;
}
