/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between OpenCL buffers and the host. */
#include "runtime_opencl/cl.h"

#include <string.h>

/* Writes up to this size are copied aside when the queue is busy; larger ones wait their turn. */
#define MAX_STAGED ((size_t)16 << 20)

static cl_mem mem_of(gpuc_copy_end end)
{
    return ((gpuc_cl_buffer *)end.buffer)->mem;
}

static gpuc_status write_now(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end to, const void *host,
                             size_t bytes)
{
    uint_fast64_t queued = atomic_load(&s->queued);
    GPUC_CL_TRY("clEnqueueWriteBuffer", dev->fn->EnqueueWriteBuffer(s->queue, mem_of(to), CL_TRUE, to.offset,
                                                                    bytes, host, 0, NULL, NULL));
    atomic_store(&s->completed, queued); /* the queue is in order */
    return NULL;
}

/* Of memory that no queued command has: it need not wait for its stream, nor must one of another stream wait. */
static gpuc_status write_fresh(gpuc_cl_device *dev, gpuc_copy_end to, const void *host, size_t bytes)
{
    GPUC_TRY(gpuc_cl_ensure_queue(dev, 0, &dev->fill_queue));
    GPUC_CL_TRY("clEnqueueWriteBuffer", dev->fn->EnqueueWriteBuffer(dev->fill_queue, mem_of(to), CL_TRUE,
                                                                    to.offset, bytes, host, 0, NULL, NULL));
    return NULL;
}

static gpuc_status write_staged(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end to, const void *host,
                                size_t bytes)
{
    gpuc_cl_staging_block *block = gpuc_cl_staging_take(dev, bytes);
    if (!block) return write_now(dev, s, to, host, bytes);
    memcpy(block->bytes, host, bytes);
    cl_event event = NULL;
    atomic_fetch_add(&s->queued, 1);
    cl_int error = dev->fn->EnqueueWriteBuffer(s->queue, mem_of(to), CL_FALSE, to.offset, bytes, block->bytes,
                                               0, NULL, &event);
    gpuc_cl_staging_give(dev, block, event);
    if (error != CL_SUCCESS) return gpuc_cl_fail("clEnqueueWriteBuffer", error);
    GPUC_CL_TRY("clFlush", dev->fn->Flush(s->queue));
    return NULL;
}

static gpuc_status read_now(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end from, void *host,
                            size_t bytes)
{
    uint_fast64_t queued = atomic_load(&s->queued);
    cl_int error =
        dev->fn->EnqueueReadBuffer(s->queue, mem_of(from), CL_TRUE, from.offset, bytes, host, 0, NULL, NULL);
    if (error == CL_OUT_OF_RESOURCES && gpuc_cl_stream_busy(s))
        return gpuc_fail(GPUC_DEVICE_LOST,
                         "clEnqueueReadBuffer: %s (%d): the device failed while running kernels",
                         gpuc_cl_error_name(error), (int)error);
    if (error != CL_SUCCESS) return gpuc_cl_fail("clEnqueueReadBuffer", error);
    atomic_store(&s->completed, queued);
    return NULL;
}

gpuc_status gpuc_cl_copy(gpuc_device *device, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    if (bytes == 0) return NULL;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(gpuc_device_check_copy(device, &from, bytes, "source"));
    GPUC_TRY(gpuc_device_check_copy(device, &to, bytes, "destination"));
    if (gpuc_cl_is_image(from) || gpuc_cl_is_image(to)) {
        atomic_fetch_add(&s->queued, 1);
        return gpuc_cl_image_copy(dev, s->queue, from, to, bytes, true, NULL);
    }
    if (!from.buffer) {
        const char *host = (const char *)from.host + from.offset;
        if (!to.buffer) {
            memmove((char *)to.host + to.offset, host, bytes);
            return NULL;
        }
        if (gpuc_cl_stream_busy(s) && atomic_load(&((gpuc_cl_buffer *)to.buffer)->fresh))
            return write_fresh(dev, to, host, bytes);
        return gpuc_cl_stream_busy(s) && bytes <= MAX_STAGED ? write_staged(dev, s, to, host, bytes)
                                                             : write_now(dev, s, to, host, bytes);
    }
    if (!to.buffer) return read_now(dev, s, from, (char *)to.host + to.offset, bytes);
    if (from.buffer == to.buffer && from.offset == to.offset) return NULL;
    atomic_store(&((gpuc_cl_buffer *)from.buffer)->fresh, false);
    atomic_store(&((gpuc_cl_buffer *)to.buffer)->fresh, false);
    atomic_fetch_add(&s->queued, 1);
    GPUC_CL_TRY("clEnqueueCopyBuffer",
                dev->fn->EnqueueCopyBuffer(s->queue, mem_of(from), mem_of(to), from.offset, to.offset, bytes,
                                           0, NULL, NULL));
    GPUC_CL_TRY("clFlush", dev->fn->Flush(s->queue));
    return NULL;
}

gpuc_status gpuc_cl_read_later(gpuc_device *device, gpuc_copy_end from, void *host, size_t bytes,
                               gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    gpuc_copy_end to = {.host = host};
    if (bytes == 0) return NULL;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(gpuc_device_check_copy(device, &from, bytes, "source"));
    GPUC_TRY(gpuc_device_check_copy(device, &to, bytes, "destination"));
    if (!from.buffer) return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the source is memory of the host");
    atomic_store(&((gpuc_cl_buffer *)from.buffer)->fresh, false);
    atomic_fetch_add(&s->queued, 1);
    if (gpuc_cl_is_image(from)) return gpuc_cl_image_copy(dev, s->queue, from, to, bytes, false, NULL);
    GPUC_CL_TRY("clEnqueueReadBuffer", dev->fn->EnqueueReadBuffer(s->queue, mem_of(from), CL_FALSE,
                                                                  from.offset, bytes, host, 0, NULL, NULL));
    return NULL;
}
