/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, waits for and orders OpenCL queues. */
#include "runtime_opencl/cl.h"

gpuc_status gpuc_cl_stream_init(gpuc_cl_device *dev, gpuc_cl_stream *s)
{
    cl_int error;
    s->queue = dev->fn->CreateCommandQueue(dev->context, dev->id, 0, &error);
    if (!s->queue) return gpuc_cl_fail("clCreateCommandQueue", error);
    return NULL;
}

void gpuc_cl_stream_deinit(gpuc_cl_device *dev, gpuc_cl_stream *s)
{
    if (!s->queue) return;
    dev->fn->Finish(s->queue);
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

gpuc_status gpuc_cl_stream_join(gpuc_device *device, gpuc_stream *from, gpuc_stream *to)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *a = gpuc_cl_stream_of(dev, from), *b = gpuc_cl_stream_of(dev, to);
    if (a == b) return NULL;
    atomic_fetch_add(&b->queued, 1);
    return gpuc_cl_queue_join(dev, a->queue, b->queue);
}
