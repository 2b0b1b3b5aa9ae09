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
    gpuc_cl_turn t;
    gpuc_cl_turn_begin(&s->queue, false, &t);
    cl_int error = dev->fn->EnqueueWriteBuffer(s->queue.handle, mem_of(to), t.blocking, to.offset, bytes,
                                               host, t.num_waits, t.waits, t.place);
    GPUC_CL_TRY("clEnqueueWriteBuffer", gpuc_cl_turn_finish(dev, &s->queue, &t, error));
    atomic_store(&s->completed, queued); /* commands run in order */
    return NULL;
}

/* Of memory that no queued command has: it need not wait for its stream, nor must one of another stream wait. */
static gpuc_status write_fresh(gpuc_cl_device *dev, gpuc_copy_end to, const void *host, size_t bytes)
{
    GPUC_TRY(gpuc_cl_ensure_queue(dev, 0, &dev->fill_queue));
    GPUC_CL_TRY("clEnqueueWriteBuffer",
                dev->fn->EnqueueWriteBuffer(dev->fill_queue.handle, mem_of(to), CL_TRUE, to.offset, bytes,
                                            host, 0, NULL, NULL));
    return NULL;
}

static gpuc_status write_staged(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end to, const void *host,
                                size_t bytes)
{
    gpuc_cl_staging_block *block = gpuc_cl_staging_take(dev, bytes);
    if (!block) return write_now(dev, s, to, host, bytes);
    memcpy(block->bytes, host, bytes);
    cl_event event;
    gpuc_cl_turn t;
    gpuc_cl_turn_begin(&s->queue, true, &t);
    cl_int error = dev->fn->EnqueueWriteBuffer(s->queue.handle, mem_of(to), CL_FALSE, to.offset, bytes,
                                               block->bytes, t.num_waits, t.waits, t.place);
    error = gpuc_cl_turn_end(dev, &s->queue, &t, error, &event);
    atomic_fetch_add(&s->queued, 1);
    gpuc_cl_staging_give(dev, block, event);
    GPUC_CL_TRY("clEnqueueWriteBuffer", error);
    GPUC_CL_TRY("clFlush", dev->fn->Flush(s->queue.handle));
    return NULL;
}

static gpuc_status read_now(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end from, void *host,
                            size_t bytes)
{
    uint_fast64_t queued = atomic_load(&s->queued);
    gpuc_cl_turn t;
    gpuc_cl_turn_begin(&s->queue, false, &t);
    cl_int error = dev->fn->EnqueueReadBuffer(s->queue.handle, mem_of(from), t.blocking, from.offset, bytes,
                                              host, t.num_waits, t.waits, t.place);
    error = gpuc_cl_turn_finish(dev, &s->queue, &t, error);
    if (error == CL_OUT_OF_RESOURCES && gpuc_cl_stream_busy(s))
        return gpuc_cl_lost("clEnqueueReadBuffer", error);
    GPUC_CL_TRY("clEnqueueReadBuffer", error);
    atomic_store(&s->completed, queued);
    return NULL;
}

static gpuc_status copy_within(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end from, gpuc_copy_end to,
                               size_t bytes)
{
    if (from.buffer == to.buffer && from.offset == to.offset) return NULL;
    gpuc_cl_turn t;
    atomic_store(&((gpuc_cl_buffer *)from.buffer)->fresh, false);
    atomic_store(&((gpuc_cl_buffer *)to.buffer)->fresh, false);
    gpuc_cl_turn_begin(&s->queue, false, &t);
    cl_int error = dev->fn->EnqueueCopyBuffer(s->queue.handle, mem_of(from), mem_of(to), from.offset,
                                              to.offset, bytes, t.num_waits, t.waits, t.place);
    error = gpuc_cl_turn_end(dev, &s->queue, &t, error, NULL);
    atomic_fetch_add(&s->queued, 1);
    GPUC_CL_TRY("clEnqueueCopyBuffer", error);
    GPUC_CL_TRY("clFlush", dev->fn->Flush(s->queue.handle));
    return NULL;
}

static gpuc_status copy_image(gpuc_cl_device *dev, gpuc_cl_stream *s, gpuc_copy_end from, gpuc_copy_end to,
                              size_t bytes, bool now)
{
    gpuc_status status = gpuc_cl_image_copy(dev, &s->queue, from, to, bytes, now, NULL);
    atomic_fetch_add(&s->queued, 1);
    return status;
}

/* Both ends are there, on this device or on the host, and may be used so. */
static gpuc_status check_ends(const gpuc_cl_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes)
{
    GPUC_TRY(gpuc_device_check_copy(&dev->base, &from, bytes, "source"));
    GPUC_TRY(gpuc_device_check_copy(&dev->base, &to, bytes, "destination"));
    if (from.buffer)
        GPUC_TRY(gpuc_error_prefix(
            gpuc_cl_buffer_check((gpuc_cl_buffer *)from.buffer, to.buffer ? 0 : GPUC_CL_HOST_READS),
            "copy: the source"));
    if (to.buffer)
        GPUC_TRY(gpuc_error_prefix(
            gpuc_cl_buffer_check((gpuc_cl_buffer *)to.buffer, from.buffer ? 0 : GPUC_CL_HOST_WRITES),
            "copy: the destination"));
    return NULL;
}

gpuc_status gpuc_cl_copy(gpuc_device *device, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    if (bytes == 0) return NULL;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(check_ends(dev, from, to, bytes));
    if (gpuc_cl_is_image(from) || gpuc_cl_is_image(to)) return copy_image(dev, s, from, to, bytes, true);
    if (!from.buffer) {
        const char *host = (const char *)from.host + from.offset;
        if (!to.buffer) {
            memmove((char *)to.host + to.offset, host, bytes);
            return NULL;
        }
        if (!gpuc_cl_stream_waits(s)) return write_now(dev, s, to, host, bytes);
        if (atomic_load(&((gpuc_cl_buffer *)to.buffer)->fresh)) return write_fresh(dev, to, host, bytes);
        return bytes <= MAX_STAGED ? write_staged(dev, s, to, host, bytes)
                                   : write_now(dev, s, to, host, bytes);
    }
    if (!to.buffer) return read_now(dev, s, from, (char *)to.host + to.offset, bytes);
    return copy_within(dev, s, from, to, bytes);
}

gpuc_status gpuc_cl_read_later(gpuc_device *device, gpuc_copy_end from, void *host, size_t bytes,
                               gpuc_stream *stream)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    gpuc_cl_turn t;
    if (bytes == 0) return NULL;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(check_ends(dev, from, (gpuc_copy_end){.host = host}, bytes));
    if (!from.buffer) return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the source is memory of the host");
    atomic_store(&((gpuc_cl_buffer *)from.buffer)->fresh, false);
    if (gpuc_cl_is_image(from)) return copy_image(dev, s, from, (gpuc_copy_end){.host = host}, bytes, false);
    gpuc_cl_turn_begin(&s->queue, false, &t);
    cl_int error = dev->fn->EnqueueReadBuffer(s->queue.handle, mem_of(from), CL_FALSE, from.offset, bytes,
                                              host, t.num_waits, t.waits, t.place);
    error = gpuc_cl_turn_end(dev, &s->queue, &t, error, NULL);
    atomic_fetch_add(&s->queued, 1);
    GPUC_CL_TRY("clEnqueueReadBuffer", error);
    return NULL;
}
