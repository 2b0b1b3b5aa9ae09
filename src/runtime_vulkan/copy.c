/* SPDX-License-Identifier: Apache-2.0 */
/* Copies. Memory that the host sees is written directly while the device has no work queued on it;
 * everything else goes through staging memory, in order with the queue. Uploads gather in the
 * batch. */
#include <string.h>

#include "base/size.h"
#include "runtime_vulkan/plan.h"

#define RING_BYTES ((VkDeviceSize)16 << 20)
#define UPLOAD_CHUNK (RING_BYTES / 4)
#define RING_ALIGN 16
#define READBACK_BYTES ((VkDeviceSize)8 << 20) /* two halves: one is copied out while one fills */
#define SMALL_READ 4096

static const VkBufferUsageFlags staging_usage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
static const VkBufferUsageFlags ring_usage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;

/* A copy in the batch. A NULL side is staging memory, which nothing else touches meanwhile. */
static gpuc_status batch_copy_locked(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *from,
                                     VkBuffer from_handle, VkDeviceSize from_offset, gpuc_vk_buffer *to,
                                     VkBuffer to_handle, VkDeviceSize to_offset, VkDeviceSize bytes)
{
    gpuc_vk_queue *q = &dev->queue;
    gpuc_step_tensor sizes[2] = {{.size = bytes}, {.size = bytes}};
    gpuc_vk_step step = {.tensors = sizes, .num_tensors = 2};
    gpuc_vk_access accesses[2];
    gpuc_vk_bound_step bound = {.accesses = accesses,
                                .from_image = from ? from->image : NULL,
                                .to_image = to ? to->image : NULL,
                                .copy_from = from_handle,
                                .copy_to = to_handle,
                                .copy = {from_offset, to_offset, bytes}};
    GPUC_TRY(gpuc_vk_batch_begin_locked(dev));
    if (from)
        accesses[bound.num_accesses++] = (gpuc_vk_access){from->id, from_offset, from_offset + bytes, false,
                                                          VK_PIPELINE_STAGE_TRANSFER_BIT};
    if (to)
        accesses[bound.num_accesses++] =
            (gpuc_vk_access){to->id, to_offset, to_offset + bytes, true, VK_PIPELINE_STAGE_TRANSFER_BIT};
    gpuc_vk_batch_step_locked(dev, &step, &bound);
    uint64_t serial = q->last_serial + 1;
    stream->last = serial;
    if (from) from->last_use = serial;
    if (to) to->last_use = to->last_write = serial;
    return NULL;
}

static gpuc_status check_copy_usage(const gpuc_vk_buffer *from, const gpuc_vk_buffer *to)
{
    if (from) GPUC_TRY(gpuc_vk_check_usage(from->usage, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "copies from it"));
    return to ? gpuc_vk_check_usage(to->usage, VK_BUFFER_USAGE_TRANSFER_DST_BIT, "copies to it") : NULL;
}

/* ---- Upload ---------------------------------------------------------------------------------- */

static gpuc_status wait_for_ring_locked(gpuc_vk_device *dev)
{
    gpuc_vk_queue *q = &dev->queue;
    GPUC_TRY(gpuc_vk_flush_locked(dev));
    uint64_t oldest = q->first ? q->first->serial : q->completed;
    if (!q->first) q->ring_tail = q->ring_head; /* nothing in flight */
    pthread_mutex_unlock(&q->lock);
    gpuc_status s = gpuc_vk_wait(dev, oldest);
    pthread_mutex_lock(&q->lock);
    return s;
}

gpuc_status gpuc_vk_ring_take_locked(gpuc_vk_device *dev, VkDeviceSize bytes, VkDeviceSize *out)
{
    gpuc_vk_queue *q = &dev->queue;
    uint64_t align = dev->caps.props.limits.minUniformBufferOffsetAlignment;
    if (align < RING_ALIGN) align = RING_ALIGN;
    if (!q->ring.handle)
        GPUC_TRY(gpuc_vk_raw_create(dev, RING_BYTES, 1, ring_usage, GPUC_VK_USE_STAGING, &q->ring));
    for (;;) {
        uint64_t start = gpuc_align_up(q->ring_head, align);
        if (start % RING_BYTES + bytes > RING_BYTES) start += RING_BYTES - start % RING_BYTES;
        if (start + bytes - q->ring_tail <= RING_BYTES) {
            q->ring_head = start + bytes;
            *out = start % RING_BYTES;
            return NULL;
        }
        GPUC_TRY(wait_for_ring_locked(dev));
    }
}

static gpuc_status upload_staged_locked(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *to,
                                        VkDeviceSize offset, const uint8_t *from, VkDeviceSize bytes)
{
    gpuc_vk_queue *q = &dev->queue;
    while (bytes) {
        VkDeviceSize chunk = bytes < UPLOAD_CHUNK ? bytes : UPLOAD_CHUNK, at;
        GPUC_TRY(gpuc_vk_batch_limit_locked(dev, gpuc_vk_copy_cost(chunk)));
        GPUC_TRY(gpuc_vk_ring_take_locked(dev, chunk, &at));
        memcpy(q->ring.mapped + at, from, chunk);
        GPUC_TRY(gpuc_vk_span_flush(dev, &q->ring.span, at, chunk));
        GPUC_TRY(batch_copy_locked(dev, stream, NULL, q->ring.handle, at, to, to->raw.handle, offset, chunk));
        from += chunk;
        offset += chunk;
        bytes -= chunk;
    }
    return NULL;
}

static gpuc_status upload(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *to,
                          VkDeviceSize offset, const void *from, VkDeviceSize bytes)
{
    gpuc_vk_queue *q = &dev->queue;
    gpuc_status s = NULL;
    pthread_mutex_lock(&q->lock);
    if (to->direct && to->last_use > q->completed) s = gpuc_vk_poll_locked(dev);
    bool direct = to->direct && to->last_use <= q->completed;
    if (!s && !direct) s = check_copy_usage(NULL, to);
    if (!s && !direct) s = upload_staged_locked(dev, stream, to, offset, from, bytes);
    pthread_mutex_unlock(&q->lock);
    if (s || !direct) return s;
    memcpy(to->raw.mapped + offset, from, bytes);
    return gpuc_vk_span_flush(dev, &to->raw.span, offset, bytes);
}

/* ---- Download -------------------------------------------------------------------------------- */

static gpuc_status queue_readback(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *from,
                                  VkDeviceSize offset, VkDeviceSize at, VkDeviceSize bytes,
                                  uint64_t *out_serial)
{
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status s =
        batch_copy_locked(dev, stream, from, from->raw.handle, offset, NULL, dev->readback.handle, at, bytes);
    if (!s) s = gpuc_vk_submit_locked(dev, NULL, 0, out_serial);
    pthread_mutex_unlock(&dev->queue.lock);
    return s;
}

static gpuc_status create_staging(gpuc_vk_device *dev, VkDeviceSize bytes, gpuc_vk_raw_buffer *out)
{
    gpuc_status s = gpuc_vk_raw_create(dev, bytes, 1, staging_usage, GPUC_VK_USE_STAGING, out);
    if (gpuc_vk_reclaim(dev, &s))
        s = gpuc_vk_raw_create(dev, bytes, 1, staging_usage, GPUC_VK_USE_STAGING, out);
    return s;
}

static gpuc_status download_staged(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *from,
                                   VkDeviceSize offset, uint8_t *to, VkDeviceSize bytes)
{
    const VkDeviceSize half = READBACK_BYTES / 2;
    if (!dev->readback.handle) GPUC_TRY(create_staging(dev, READBACK_BYTES, &dev->readback));
    VkDeviceSize queued = 0, done = 0;
    uint64_t serials[2] = {0};
    while (done < bytes) {
        while (queued < bytes && queued - done < 2 * half) {
            VkDeviceSize n = bytes - queued < half ? bytes - queued : half;
            uint32_t side = (uint32_t)(queued / half % 2);
            GPUC_TRY(queue_readback(dev, stream, from, offset + queued, side * half, n, &serials[side]));
            queued += n;
        }
        VkDeviceSize n = bytes - done < half ? bytes - done : half;
        uint32_t side = (uint32_t)(done / half % 2);
        GPUC_TRY(gpuc_vk_wait(dev, serials[side]));
        GPUC_TRY(gpuc_vk_span_invalidate(dev, &dev->readback.span, side * half, n));
        memcpy(to + done, dev->readback.mapped + side * half, n);
        done += n;
    }
    return NULL;
}

static gpuc_status download(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *from,
                            VkDeviceSize offset, void *to, VkDeviceSize bytes)
{
    if (from->direct && (from->cached || bytes <= SMALL_READ)) {
        pthread_mutex_lock(&dev->queue.lock);
        uint64_t serial = from->last_write;
        pthread_mutex_unlock(&dev->queue.lock);
        GPUC_TRY(gpuc_vk_wait(dev, serial));
        GPUC_TRY(gpuc_vk_span_invalidate(dev, &from->raw.span, offset, bytes));
        memcpy(to, from->raw.mapped + offset, bytes);
        return NULL;
    }
    GPUC_TRY(check_copy_usage(from, NULL));
    pthread_mutex_lock(&dev->readback_lock);
    gpuc_status s = download_staged(dev, stream, from, offset, to, bytes);
    pthread_mutex_unlock(&dev->readback_lock);
    return s;
}

static gpuc_status queue_later(gpuc_vk_device *dev, gpuc_vk_stream *stream, gpuc_vk_buffer *from,
                               VkDeviceSize offset, gpuc_vk_readback *r)
{
    gpuc_vk_queue *q = &dev->queue;
    pthread_mutex_lock(&q->lock);
    gpuc_status s = gpuc_vk_batch_limit_locked(dev, gpuc_vk_copy_cost(r->staging.size));
    if (!s)
        s = batch_copy_locked(dev, stream, from, from->raw.handle, offset, NULL, r->staging.handle, 0,
                              r->staging.size);
    if (!s) {
        r->next = q->batch.readbacks;
        q->batch.readbacks = r;
    }
    pthread_mutex_unlock(&q->lock);
    return s;
}

gpuc_status gpuc_vk_read_later(gpuc_device *device, gpuc_copy_end from, void *host, size_t bytes,
                               gpuc_stream *stream)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    gpuc_copy_end to = {.host = host};
    if (!bytes) return NULL;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(gpuc_device_check_copy(device, &from, bytes, "source"));
    GPUC_TRY(gpuc_device_check_copy(device, &to, bytes, "destination"));
    if (!from.buffer) return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the source is memory of the host");
    if (from.buffer->is_image) {
        GPUC_TRY(gpuc_vk_image_check_copy(((gpuc_vk_buffer *)from.buffer)->image, NULL, from.offset));
        if (bytes != from.buffer->size) return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: a part of an image");
    }
    GPUC_TRY(check_copy_usage((gpuc_vk_buffer *)from.buffer, NULL));
    gpuc_vk_readback *r = gpuc_mem_alloc(dev->allocator, sizeof(*r));
    if (!r) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    r->host = host;
    gpuc_status s = create_staging(dev, bytes, &r->staging);
    if (!s)
        s = queue_later(dev, gpuc_vk_stream_of(dev, stream), (gpuc_vk_buffer *)from.buffer, from.offset, r);
    if (!s) return NULL;
    gpuc_vk_raw_destroy(dev, &r->staging);
    gpuc_mem_free(dev->allocator, r, sizeof(*r));
    return s;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

gpuc_status gpuc_vk_copy_on_device(gpuc_vk_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                                   gpuc_stream *stream)
{
    gpuc_vk_buffer *source = (gpuc_vk_buffer *)from.buffer, *target = (gpuc_vk_buffer *)to.buffer;
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status s = gpuc_vk_batch_limit_locked(dev, gpuc_vk_copy_cost(bytes));
    if (!s)
        s = batch_copy_locked(dev, gpuc_vk_stream_of(dev, stream), source, source->raw.handle, from.offset,
                              target, target->raw.handle, to.offset, bytes);
    pthread_mutex_unlock(&dev->queue.lock);
    return s;
}

gpuc_status gpuc_vk_copy(gpuc_device *device, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    gpuc_vk_buffer *source = (gpuc_vk_buffer *)from.buffer, *target = (gpuc_vk_buffer *)to.buffer;
    gpuc_vk_stream *on = gpuc_vk_stream_of(dev, stream);
    if (!bytes) return NULL;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(gpuc_device_check_copy(device, &from, bytes, "source"));
    GPUC_TRY(gpuc_device_check_copy(device, &to, bytes, "destination"));
    if (!source && !target) {
        memmove((uint8_t *)to.host + to.offset, (const uint8_t *)from.host + from.offset, bytes);
        return NULL;
    }
    if ((source && source->image) || (target && target->image))
        return gpuc_vk_image_copy(dev, from, to, bytes, stream);
    if (!source) return upload(dev, on, target, to.offset, (const uint8_t *)from.host + from.offset, bytes);
    if (!target) return download(dev, on, source, from.offset, (uint8_t *)to.host + to.offset, bytes);
    if (source == target && from.offset < to.offset + bytes && to.offset < from.offset + bytes)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: source and target overlap");
    GPUC_TRY(check_copy_usage(source, target));
    return gpuc_vk_copy_on_device(dev, from, to, bytes, stream);
}
