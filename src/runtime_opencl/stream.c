/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and waits for streams; tickets are events. */
#include "runtime_opencl/cl.h"

#include <time.h>

#define POLL_NS 50000 /* of a wait that may end before its event */

/* ---- Tickets that are not done ---- */

static void note_complete(gpuc_cl_stream *s, uint_fast64_t count)
{
    uint_fast64_t seen = atomic_load(&s->completed);
    while (seen < count && !atomic_compare_exchange_weak(&s->completed, &seen, count)) continue;
}

static gpuc_cl_ticket **find_locked(gpuc_cl_device *dev, uint64_t number)
{
    gpuc_cl_ticket **at = &dev->tickets;
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void drop_locked(gpuc_cl_device *dev, gpuc_cl_ticket **at)
{
    gpuc_cl_ticket *t = *at;
    *at = t->next;
    dev->fn->ReleaseEvent(t->event);
    gpuc_mem_free(dev->allocator, t, sizeof *t);
}

/* Those that failed stay, for who asks. */
static void prune_locked(gpuc_cl_device *dev)
{
    while (dev->tickets && gpuc_cl_event_state(dev, dev->tickets->event) == CL_COMPLETE) {
        note_complete(dev->tickets->stream, dev->tickets->queued);
        drop_locked(dev, &dev->tickets);
    }
}

static void drop_tickets(gpuc_cl_device *dev, const gpuc_cl_stream *of)
{
    pthread_mutex_lock(&dev->lock);
    for (gpuc_cl_ticket **at = &dev->tickets; *at;)
        if ((*at)->stream == of)
            drop_locked(dev, at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&dev->lock);
}

/* ---- Queues ---- */

gpuc_status gpuc_cl_stream_init(gpuc_cl_device *dev, gpuc_cl_stream *s, cl_command_queue shared, bool chained)
{
    s->base.device = &dev->base;
    return shared ? gpuc_cl_queue_share(dev, shared, chained, &s->queue)
                  : gpuc_cl_queue_open(dev, 0, &s->queue);
}

void gpuc_cl_stream_deinit(gpuc_cl_device *dev, gpuc_cl_stream *s)
{
    if (!s->queue.handle) return;
    gpuc_cl_queue_settle(dev, &s->queue);
    drop_tickets(dev, s);
    gpuc_cl_queue_close(dev, &s->queue);
}

gpuc_cl_stream *gpuc_cl_stream_of(gpuc_cl_device *dev, gpuc_stream *stream)
{
    return stream ? (gpuc_cl_stream *)stream : &dev->main;
}

bool gpuc_cl_stream_busy(const gpuc_cl_stream *s)
{
    return atomic_load(&s->queued) != atomic_load(&s->completed);
}

bool gpuc_cl_stream_waits(const gpuc_cl_stream *s)
{
    return (s->queue.shared && !s->queue.chained) || gpuc_cl_stream_busy(s);
}

gpuc_status gpuc_cl_stream_create(gpuc_device *device, gpuc_stream **out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    *out = NULL;
    gpuc_cl_stream *s = gpuc_mem_alloc(dev->allocator, sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory creating an OpenCL stream");
    gpuc_status status =
        gpuc_cl_stream_init(dev, s, dev->one_queue ? dev->main.queue.handle : NULL, dev->main.queue.chained);
    if (status) {
        gpuc_mem_free(dev->allocator, s, sizeof *s);
        return status;
    }
    *out = (gpuc_stream *)s;
    return NULL;
}

void gpuc_cl_stream_free(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = (gpuc_cl_stream *)stream;
    if (!s) return;
    gpuc_cl_stream_deinit(dev, s);
    gpuc_mem_free(dev->allocator, s, sizeof *s);
}

gpuc_status gpuc_cl_stream_sync(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    uint_fast64_t queued = atomic_load(&s->queued);
    GPUC_TRY(gpuc_cl_queue_drain(dev, &s->queue));
    atomic_store(&s->completed, queued);
    return NULL;
}

gpuc_status gpuc_cl_ensure_queue(gpuc_cl_device *dev, cl_command_queue_properties properties,
                                 gpuc_cl_queue *queue)
{
    pthread_mutex_lock(&dev->lock);
    gpuc_status status = queue->handle ? NULL : gpuc_cl_queue_open(dev, properties, queue);
    pthread_mutex_unlock(&dev->lock);
    return status;
}

gpuc_status gpuc_cl_stream_flush(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_CL_TRY("clFlush", dev->fn->Flush(gpuc_cl_stream_of(dev, stream)->queue.handle));
    return NULL;
}

/* ---- Signals ---- */

gpuc_status gpuc_cl_stream_signal(gpuc_device *device, gpuc_stream *stream, uint64_t *out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    *out = 0;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    if (!gpuc_cl_stream_busy(s)) return NULL;
    gpuc_cl_ticket *t = gpuc_mem_alloc(dev->allocator, sizeof *t);
    if (!t) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a ticket");
    t->stream = s;
    t->queued = atomic_load(&s->queued);
    gpuc_status status = gpuc_cl_queue_mark(dev, &s->queue, &t->event);
    if (status) {
        gpuc_mem_free(dev->allocator, t, sizeof *t);
        return status;
    }
    pthread_mutex_lock(&dev->lock);
    prune_locked(dev);
    *out = t->number = ++dev->last_ticket;
    *find_locked(dev, 0) = t;
    pthread_mutex_unlock(&dev->lock);
    return NULL;
}

/* The event of a ticket, with a reference; NULL: the ticket is done. */
static gpuc_status find_event(gpuc_cl_device *dev, uint64_t ticket, cl_event *out)
{
    *out = NULL;
    pthread_mutex_lock(&dev->lock);
    gpuc_status status = gpuc_device_check_ticket(&dev->base, ticket, dev->last_ticket);
    const gpuc_cl_ticket *t = *find_locked(dev, ticket);
    cl_int error = t ? dev->fn->RetainEvent(t->event) : CL_SUCCESS;
    if (t && error == CL_SUCCESS) *out = t->event;
    if (!status && error != CL_SUCCESS) status = gpuc_cl_fail("clRetainEvent", error);
    pthread_mutex_unlock(&dev->lock);
    return status;
}

gpuc_status gpuc_cl_stream_wait(gpuc_device *device, gpuc_stream *stream, uint64_t ticket)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    cl_event event;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(find_event(dev, ticket, &event));
    if (!event) return NULL;
    gpuc_status status = gpuc_cl_queue_wait(dev, &s->queue, 1, &event);
    atomic_fetch_add(&s->queued, 1);
    dev->fn->ReleaseEvent(event);
    return status;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The state of the event when the time is over; OpenCL itself waits without a limit only. */
static cl_int wait_for_event(const gpuc_cl_device *dev, cl_event event, int64_t timeout_ns)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    if (timeout_ns == GPUC_FOREVER) return gpuc_cl_event_wait(dev, event);
    int64_t start = now_ns();
    cl_int state = gpuc_cl_event_state(dev, event);
    while (state > CL_COMPLETE && now_ns() - start < timeout_ns) {
        nanosleep(&pause, NULL);
        state = gpuc_cl_event_state(dev, event);
    }
    return state;
}

gpuc_status gpuc_cl_ticket_wait(gpuc_device *device, uint64_t ticket, int64_t timeout_ns, bool *out_done)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    cl_event event;
    *out_done = false;
    GPUC_TRY(find_event(dev, ticket, &event));
    *out_done = !event;
    if (!event) return NULL;
    cl_int state = wait_for_event(dev, event, timeout_ns);
    dev->fn->ReleaseEvent(event);
    if (state > CL_COMPLETE) return NULL;
    *out_done = true;
    pthread_mutex_lock(&dev->lock);
    gpuc_cl_ticket **at = find_locked(dev, ticket);
    if (*at && state == CL_COMPLETE) note_complete((*at)->stream, (*at)->queued);
    if (*at && state < 0) gpuc_cl_queue_forgive(dev, &(*at)->stream->queue);
    if (*at) drop_locked(dev, at);
    pthread_mutex_unlock(&dev->lock);
    if (state == CL_COMPLETE) return NULL;
    return gpuc_cl_lost("clWaitForEvents", state);
}
