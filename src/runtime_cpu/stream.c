/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the CPU device, and tickets for what they have. */
#include "runtime_cpu/stream.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

/* What is appended between two flushes at most, and what an unknown kernel counts for. */
#define FLUSH_OPS 1e8
#define FLUSH_RECORDS 1024
#define UNKNOWN_OPS 1e6
#define OPS_PER_BYTE 1.0

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
    if (!second) s->error = status;
    atomic_store(&s->failed, true);
    pthread_mutex_unlock(&s->lock);
    gpuc_status_release(second);
}

static gpuc_status take_error(gpuc_cpu_stream *s)
{
    if (!atomic_load(&s->failed)) return NULL;
    pthread_mutex_lock(&s->lock);
    gpuc_status status = s->error;
    s->error = NULL;
    atomic_store(&s->failed, false);
    pthread_mutex_unlock(&s->lock);
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

void gpuc_cpu_stream_run_to(gpuc_cpu_stream *s, uint64_t position)
{
    if (atomic_load(&s->done) >= position) return;
    enter_process(s);
    pthread_mutex_lock(&s->lock);
    while (atomic_load(&s->done) < position) {
        if (s->running) {
            sleep_locked(s, position, NULL);
            continue;
        }
        s->running = true;
        pthread_mutex_unlock(&s->lock);
        gpuc_cpu_queue_run(s, position);
        pthread_mutex_lock(&s->lock);
        s->running = false;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
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
static void flush(gpuc_cpu_stream *s)
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
    gpuc_cpu_stream *s = gpuc_mem_alloc(dev->allocator, sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a stream of the CPU device");
    s->base.device = device;
    s->dev = dev;
    gpuc_status status = gpuc_cpu_queue_init(s);
    if (status) {
        gpuc_mem_free(dev->allocator, s, sizeof *s);
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
    gpuc_mem_free(s->dev->allocator, s, sizeof *s);
}

/* Frees the tickets that are done, or those of one stream. Those of a stream with an error stay for who asks. */
static void prune_locked(gpuc_cpu_device *dev, const gpuc_cpu_stream *of)
{
    for (gpuc_cpu_ticket **at = &dev->tickets; *at;) {
        gpuc_cpu_ticket *t = *at;
        bool over = of ? t->stream == of
                       : atomic_load(&t->stream->done) >= t->position && !atomic_load(&t->stream->failed);
        if (!over && !of) return;
        if (over) {
            *at = t->next;
            gpuc_mem_free(dev->allocator, t, sizeof *t);
        } else {
            at = &t->next;
        }
    }
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
    prune_locked(dev, s);
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

void gpuc_cpu_finish_all(gpuc_cpu_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    for (gpuc_cpu_stream *s = dev->streams; s; s = s->next)
        gpuc_cpu_stream_run_to(s, atomic_load(&s->queued));
    pthread_mutex_unlock(&dev->lock);
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
    if (full) flush(s);
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
    if (full) flush(s);
    return status;
}

/* ---- Tickets ---- */

gpuc_status gpuc_cpu_stream_flush(gpuc_device *device, gpuc_stream *stream)
{
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    flush(gpuc_cpu_stream_of((gpuc_cpu_device *)device, stream));
    return NULL;
}

gpuc_status gpuc_cpu_stream_signal(gpuc_device *device, gpuc_stream *stream, uint64_t *out)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s = gpuc_cpu_stream_of(dev, stream);
    *out = 0;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    uint64_t position = atomic_load(&s->queued);
    if (atomic_load(&s->done) >= position && !atomic_load(&s->failed)) return NULL;
    gpuc_cpu_ticket *t = gpuc_mem_alloc(dev->allocator, sizeof *t);
    if (!t) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a ticket of the CPU device");
    t->position = position;
    t->stream = s;
    pthread_mutex_lock(&dev->lock);
    prune_locked(dev, NULL);
    gpuc_cpu_ticket **at = &dev->tickets;
    while (*at) at = &(*at)->next;
    *at = t;
    *out = t->number = ++dev->last_ticket;
    pthread_mutex_unlock(&dev->lock);
    flush(s);
    return NULL;
}

/* The stream of a ticket, with a reference, and the position in it; NULL: the ticket is done. */
static gpuc_status find_ticket(gpuc_cpu_device *dev, uint64_t ticket, gpuc_cpu_stream **out,
                               uint64_t *out_position)
{
    *out = NULL;
    pthread_mutex_lock(&dev->lock);
    gpuc_status status = gpuc_device_check_ticket(&dev->base, ticket, dev->last_ticket);
    const gpuc_cpu_ticket *t = dev->tickets;
    while (t && t->number != ticket) t = t->next;
    if (t) {
        *out = t->stream;
        *out_position = t->position;
        atomic_fetch_add_explicit(&t->stream->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&dev->lock);
    return status;
}

gpuc_status gpuc_cpu_stream_wait(gpuc_device *device, gpuc_stream *stream, uint64_t ticket)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s = gpuc_cpu_stream_of(dev, stream), *other;
    gpuc_cpu_record *r;
    uint64_t position;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(find_ticket(dev, ticket, &other, &position));
    if (!other) return NULL;
    bool over = other == s || atomic_load(&other->done) >= position;
    gpuc_status status = NULL;
    if (!over) {
        pthread_mutex_lock(&s->append_lock);
        status = gpuc_cpu_queue_reserve(s, 0, 0, &r);
        if (!status) {
            r->other = other;
            r->amount = position;
            publish(s, r, 0);
        }
        pthread_mutex_unlock(&s->append_lock);
    }
    if (over || status) gpuc_cpu_stream_unref(other);
    return status;
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

static void wait_until(gpuc_cpu_stream *s, uint64_t position, int64_t timeout_ns)
{
    struct timespec deadline = deadline_after(timeout_ns);
    flush(s); /* a launch that is begun here may last longer */
    pthread_mutex_lock(&s->lock);
    while (atomic_load(&s->done) < position && sleep_locked(s, position, &deadline)) continue;
    pthread_mutex_unlock(&s->lock);
}

gpuc_status gpuc_cpu_ticket_wait(gpuc_device *device, uint64_t ticket, int64_t timeout_ns, bool *out_done)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s;
    uint64_t position;
    *out_done = false;
    GPUC_TRY(find_ticket(dev, ticket, &s, &position));
    *out_done = !s;
    if (!s) return NULL;
    if (timeout_ns == GPUC_FOREVER)
        gpuc_cpu_stream_run_to(s, position);
    else if (timeout_ns > 0 && atomic_load(&s->done) < position)
        wait_until(s, position, timeout_ns);
    *out_done = atomic_load(&s->done) >= position;
    gpuc_status status = *out_done ? take_error(s) : NULL;
    gpuc_cpu_stream_unref(s);
    return status;
}
