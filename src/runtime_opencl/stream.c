/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, waits for and orders OpenCL queues; tickets are events. */
#include "runtime_opencl/cl.h"

#include <time.h>

#define POLL_NS 50000 /* of a wait that may end before its event */

/* ---- Tickets that are not done ---- */

static void note_complete(gpuc_cl_stream *s, uint_fast64_t count)
{
    uint_fast64_t seen = atomic_load(&s->completed);
    while (seen < count && !atomic_compare_exchange_weak(&s->completed, &seen, count)) continue;
}

static cl_int state_of(const gpuc_cl_device *dev, cl_event event)
{
    cl_int state = CL_COMPLETE;
    cl_int error =
        dev->fn->GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return error == CL_SUCCESS ? state : error;
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
    while (dev->tickets && state_of(dev, dev->tickets->event) == CL_COMPLETE) {
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

gpuc_status gpuc_cl_stream_init(gpuc_cl_device *dev, gpuc_cl_stream *s)
{
    cl_int error;
    s->base.device = &dev->base;
    s->queue = dev->fn->CreateCommandQueue(dev->context, dev->id, 0, &error);
    if (!s->queue) return gpuc_cl_fail("clCreateCommandQueue", error);
    return NULL;
}

void gpuc_cl_stream_deinit(gpuc_cl_device *dev, gpuc_cl_stream *s)
{
    if (!s->queue) return;
    dev->fn->Finish(s->queue);
    drop_tickets(dev, s);
    dev->fn->ReleaseCommandQueue(s->queue);
    s->queue = NULL;
}

gpuc_cl_stream *gpuc_cl_stream_of(gpuc_cl_device *dev, gpuc_stream *stream)
{
    return stream ? (gpuc_cl_stream *)stream : &dev->main;
}

bool gpuc_cl_stream_busy(const gpuc_cl_stream *s)
{
    return atomic_load(&s->queued) != atomic_load(&s->completed);
}

gpuc_status gpuc_cl_stream_create(gpuc_device *device, gpuc_stream **out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    *out = NULL;
    gpuc_cl_stream *s = gpuc_mem_alloc(dev->allocator, sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory creating an OpenCL stream");
    gpuc_status status = gpuc_cl_stream_init(dev, s);
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

/* Out of resources while waiting is how drivers report that a kernel faulted or hung. */
gpuc_status gpuc_cl_stream_sync(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    uint_fast64_t queued = atomic_load(&s->queued);
    cl_int error = dev->fn->Finish(s->queue);
    if (error == CL_OUT_OF_RESOURCES)
        return gpuc_fail(GPUC_DEVICE_LOST, "clFinish: %s (%d): the device failed while running kernels",
                         gpuc_cl_error_name(error), (int)error);
    if (error != CL_SUCCESS) return gpuc_cl_fail("clFinish", error);
    atomic_store(&s->completed, queued);
    return NULL;
}

gpuc_status gpuc_cl_queue_join(gpuc_cl_device *dev, cl_command_queue from, cl_command_queue to)
{
    cl_event event;
    GPUC_CL_TRY("clEnqueueMarkerWithWaitList", dev->fn->EnqueueMarkerWithWaitList(from, 0, NULL, &event));
    cl_int flushed = dev->fn->Flush(from);
    cl_int joined =
        flushed == CL_SUCCESS ? dev->fn->EnqueueBarrierWithWaitList(to, 1, &event, NULL) : CL_SUCCESS;
    dev->fn->ReleaseEvent(event);
    GPUC_CL_TRY("clFlush", flushed);
    GPUC_CL_TRY("clEnqueueBarrierWithWaitList", joined);
    return NULL;
}

gpuc_status gpuc_cl_ensure_queue(gpuc_cl_device *dev, cl_command_queue_properties properties,
                                 cl_command_queue *queue)
{
    cl_int error = CL_SUCCESS;
    pthread_mutex_lock(&dev->lock);
    if (!*queue) *queue = dev->fn->CreateCommandQueue(dev->context, dev->id, properties, &error);
    bool ok = *queue != NULL;
    pthread_mutex_unlock(&dev->lock);
    return ok ? NULL : gpuc_cl_fail("clCreateCommandQueue", error);
}

gpuc_status gpuc_cl_stream_flush(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_CL_TRY("clFlush", dev->fn->Flush(gpuc_cl_stream_of(dev, stream)->queue));
    return NULL;
}

/* ---- Signals ---- */

static gpuc_status enqueue_marker(gpuc_cl_device *dev, gpuc_cl_stream *s, cl_event *out)
{
    *out = NULL;
    GPUC_CL_TRY("clEnqueueMarkerWithWaitList", dev->fn->EnqueueMarkerWithWaitList(s->queue, 0, NULL, out));
    cl_int error = dev->fn->Flush(s->queue);
    if (error == CL_SUCCESS) return NULL;
    dev->fn->ReleaseEvent(*out);
    return gpuc_cl_fail("clFlush", error);
}

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
    gpuc_status status = enqueue_marker(dev, s, &t->event);
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
    atomic_fetch_add(&s->queued, 1);
    cl_int error = dev->fn->EnqueueBarrierWithWaitList(s->queue, 1, &event, NULL);
    dev->fn->ReleaseEvent(event);
    GPUC_CL_TRY("clEnqueueBarrierWithWaitList", error);
    return NULL;
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
    if (timeout_ns == GPUC_FOREVER) {
        cl_int error = dev->fn->WaitForEvents(1, &event);
        cl_int state = state_of(dev, event);
        return state < 0 || error == CL_SUCCESS ? state : error;
    }
    int64_t start = now_ns();
    cl_int state = state_of(dev, event);
    while (state > CL_COMPLETE && now_ns() - start < timeout_ns) {
        nanosleep(&pause, NULL);
        state = state_of(dev, event);
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
    if (*at) drop_locked(dev, at);
    pthread_mutex_unlock(&dev->lock);
    if (state == CL_COMPLETE) return NULL;
    return gpuc_fail(GPUC_DEVICE_LOST, "clWaitForEvents: %s (%d): the device failed while running kernels",
                     gpuc_cl_error_name(state), (int)state);
}
