/* SPDX-License-Identifier: Apache-2.0 */
/* Puts commands on queues in the order of their streams, on queues that run them out of order by events. */
#include "runtime_opencl/cl.h"

#include <string.h>

#include "base/arena.h"

/* cl_khr_priority_hints */
#define QUEUE_PRIORITY_KHR 0x1096
#define QUEUE_PRIORITY_HIGH_KHR (1 << 0)
#define QUEUE_PRIORITY_LOW_KHR (1 << 2)

gpuc_status gpuc_cl_queue_open(const gpuc_cl_device *dev, cl_command_queue_properties properties,
                               gpuc_cl_queue *q)
{
    bool high = gpuc_runtime_get_desc(dev->base.runtime)->queue_priority == GPUC_QUEUE_PRIORITY_HIGH;
    const cl_ulong list[] = {CL_QUEUE_PROPERTIES, properties, QUEUE_PRIORITY_KHR,
                             high ? QUEUE_PRIORITY_HIGH_KHR : QUEUE_PRIORITY_LOW_KHR, 0};
    cl_int error;
    q->handle = dev->caps.priorities
                    ? dev->fn->CreateCommandQueueWithProperties(dev->context, dev->id, list, &error)
                    : dev->fn->CreateCommandQueue(dev->context, dev->id, properties, &error);
    return q->handle ? NULL : gpuc_cl_fail("clCreateCommandQueue", error);
}

gpuc_status gpuc_cl_queue_share(const gpuc_cl_device *dev, cl_command_queue handle, bool chained,
                                gpuc_cl_queue *q)
{
    GPUC_CL_TRY("clRetainCommandQueue", dev->fn->RetainCommandQueue(handle));
    q->handle = handle;
    q->shared = true;
    q->chained = chained;
    if (chained) pthread_mutex_init(&q->lock, NULL);
    return NULL;
}

void gpuc_cl_queue_close(const gpuc_cl_device *dev, gpuc_cl_queue *q)
{
    if (!q->handle) return;
    if (q->last) dev->fn->ReleaseEvent(q->last);
    if (q->chained) pthread_mutex_destroy(&q->lock);
    dev->fn->ReleaseCommandQueue(q->handle);
    *q = (gpuc_cl_queue){0};
}

/* ---- Events ---- */

cl_int gpuc_cl_event_state(const gpuc_cl_device *dev, cl_event event)
{
    cl_int state = CL_COMPLETE;
    cl_int error =
        dev->fn->GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return error == CL_SUCCESS ? state : error;
}

cl_int gpuc_cl_event_wait(const gpuc_cl_device *dev, cl_event event)
{
    cl_int error = dev->fn->WaitForEvents(1, &event);
    cl_int state = gpuc_cl_event_state(dev, event);
    /* What the command uses may go away after the failure that is reported. */
    if (error != CL_SUCCESS && state > CL_COMPLETE) dev->fn->WaitForEvents(1, &event);
    return state < 0 || error == CL_SUCCESS ? state : error;
}

/* ---- Turns ---- */

void gpuc_cl_turn_begin(gpuc_cl_queue *q, bool with_event, gpuc_cl_turn *t)
{
    *t = (gpuc_cl_turn){.blocking = !q->chained};
    t->place = q->chained || with_event ? &t->event : NULL;
    if (!q->chained) return;
    pthread_mutex_lock(&q->lock);
    if (!q->last) return;
    t->num_waits = 1;
    t->waits = &q->last;
}

cl_int gpuc_cl_turn_end(const gpuc_cl_device *dev, gpuc_cl_queue *q, gpuc_cl_turn *t, cl_int error,
                        cl_event *out_event)
{
    if (out_event) *out_event = NULL;
    if (!q->chained) {
        if (out_event && error == CL_SUCCESS) *out_event = t->event;
        return error;
    }
    if (error == CL_SUCCESS) {
        if (q->last) dev->fn->ReleaseEvent(q->last);
        q->last = t->event;
        if (out_event && (error = dev->fn->RetainEvent(t->event)) == CL_SUCCESS)
            *out_event = t->event;
        else if (out_event)
            gpuc_cl_event_wait(dev, t->event); /* the caller may free what the command uses */
    }
    pthread_mutex_unlock(&q->lock);
    return error;
}

cl_int gpuc_cl_turn_finish(const gpuc_cl_device *dev, gpuc_cl_queue *q, gpuc_cl_turn *t, cl_int error)
{
    cl_event event;
    if (!q->chained) return gpuc_cl_turn_end(dev, q, t, error, NULL);
    error = gpuc_cl_turn_end(dev, q, t, error, &event);
    if (error != CL_SUCCESS) return error;
    error = gpuc_cl_event_wait(dev, event);
    dev->fn->ReleaseEvent(event);
    return error;
}

void gpuc_cl_queue_forgive(const gpuc_cl_device *dev, gpuc_cl_queue *q)
{
    if (!q->chained) return;
    pthread_mutex_lock(&q->lock);
    if (q->last && gpuc_cl_event_state(dev, q->last) < 0) {
        dev->fn->ReleaseEvent(q->last);
        q->last = NULL;
    }
    pthread_mutex_unlock(&q->lock);
}

/* ---- Order ---- */

/* A barrier would hold back the application's commands, too; a marker with a list holds back what waits for it. */
static gpuc_status wait_chained(const gpuc_cl_device *dev, gpuc_cl_queue *q, cl_uint count,
                                const cl_event *events)
{
    size_t size = ((size_t)count + 1) * sizeof(cl_event);
    cl_event *all = gpuc_mem_alloc(dev->allocator, size);
    gpuc_cl_turn t;
    if (!all) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a list of %u events", count);
    memcpy(all, events, count * sizeof *all);
    gpuc_cl_turn_begin(q, true, &t);
    if (t.num_waits) all[count] = *t.waits;
    cl_int error = dev->fn->EnqueueMarkerWithWaitList(q->handle, count + t.num_waits, all, t.place);
    error = gpuc_cl_turn_end(dev, q, &t, error, NULL);
    gpuc_mem_free(dev->allocator, all, size);
    GPUC_CL_TRY("clEnqueueMarkerWithWaitList", error);
    return NULL;
}

gpuc_status gpuc_cl_queue_wait(const gpuc_cl_device *dev, gpuc_cl_queue *q, cl_uint count,
                               const cl_event *events)
{
    if (q->chained) return wait_chained(dev, q, count, events);
    GPUC_CL_TRY("clEnqueueBarrierWithWaitList",
                dev->fn->EnqueueBarrierWithWaitList(q->handle, count, events, NULL));
    return NULL;
}

gpuc_status gpuc_cl_queue_mark(const gpuc_cl_device *dev, gpuc_cl_queue *q, cl_event *out)
{
    gpuc_cl_turn t;
    gpuc_cl_turn_begin(q, true, &t);
    cl_int error = dev->fn->EnqueueMarkerWithWaitList(q->handle, t.num_waits, t.waits, t.place);
    GPUC_CL_TRY("clEnqueueMarkerWithWaitList", gpuc_cl_turn_end(dev, q, &t, error, out));
    error = dev->fn->Flush(q->handle);
    if (error == CL_SUCCESS) return NULL;
    dev->fn->ReleaseEvent(*out);
    *out = NULL;
    return gpuc_cl_fail("clFlush", error);
}

gpuc_status gpuc_cl_queue_join(const gpuc_cl_device *dev, gpuc_cl_queue *from, gpuc_cl_queue *to)
{
    cl_event event;
    GPUC_TRY(gpuc_cl_queue_mark(dev, from, &event));
    gpuc_status status = gpuc_cl_queue_wait(dev, to, 1, &event);
    dev->fn->ReleaseEvent(event);
    return status;
}

static cl_int wait_for_last(const gpuc_cl_device *dev, gpuc_cl_queue *q)
{
    pthread_mutex_lock(&q->lock);
    cl_event last = q->last;
    cl_int error = last ? dev->fn->RetainEvent(last) : CL_SUCCESS;
    pthread_mutex_unlock(&q->lock);
    if (!last || error != CL_SUCCESS) return error;
    error = gpuc_cl_event_wait(dev, last);
    dev->fn->ReleaseEvent(last);
    gpuc_cl_queue_forgive(dev, q);
    return error;
}

gpuc_status gpuc_cl_queue_drain(const gpuc_cl_device *dev, gpuc_cl_queue *q)
{
    if (q->chained) return gpuc_cl_wait_error("clWaitForEvents", wait_for_last(dev, q));
    return gpuc_cl_wait_error("clFinish", dev->fn->Finish(q->handle));
}

void gpuc_cl_queue_settle(const gpuc_cl_device *dev, gpuc_cl_queue *q)
{
    for (int i = 0; i < 2; i++) {
        gpuc_status status = gpuc_cl_queue_drain(dev, q);
        if (!status) return;
        gpuc_status_release(status);
    }
}
