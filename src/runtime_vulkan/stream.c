/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: all append to the one batch and the one queue, so each is the serial of what it appended last. */
#include "runtime_vulkan/device.h"

gpuc_vk_stream *gpuc_vk_stream_of(gpuc_vk_device *dev, gpuc_stream *stream)
{
    return stream ? (gpuc_vk_stream *)stream : &dev->main;
}

gpuc_status gpuc_vk_stream_create(gpuc_device *device, gpuc_stream **out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    *out = NULL;
    gpuc_vk_stream *s = gpuc_mem_alloc(dev->allocator, sizeof(*s));
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a stream");
    s->base.device = device;
    *out = &s->base;
    return NULL;
}

void gpuc_vk_stream_free(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    if (!stream) return;
    gpuc_status_release(gpuc_vk_stream_sync(device, stream));
    gpuc_mem_free(dev->allocator, stream, sizeof(gpuc_vk_stream));
}

gpuc_status gpuc_vk_stream_sync(gpuc_device *device, gpuc_stream *stream)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    pthread_mutex_lock(&dev->queue.lock);
    uint64_t last = gpuc_vk_stream_of(dev, stream)->last;
    pthread_mutex_unlock(&dev->queue.lock);
    return gpuc_vk_wait(dev, last);
}

gpuc_status gpuc_vk_stream_flush(gpuc_device *device, gpuc_stream *stream)
{
    uint64_t ticket;
    return gpuc_vk_stream_signal(device, stream, &ticket);
}

gpuc_status gpuc_vk_stream_signal(gpuc_device *device, gpuc_stream *stream, uint64_t *out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    *out = 0;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_vk_queue *q = &dev->queue;
    uint64_t last = gpuc_vk_stream_of(dev, stream)->last;
    gpuc_status s = last > q->last_serial ? gpuc_vk_flush_locked(dev) : NULL;
    if (!s) *out = last < q->last_serial ? last : q->last_serial; /* a batch that failed has no serial */
    pthread_mutex_unlock(&dev->queue.lock);
    return s;
}

static gpuc_status check_ticket(gpuc_vk_device *dev, uint64_t ticket)
{
    pthread_mutex_lock(&dev->queue.lock);
    uint64_t last = dev->queue.last_serial;
    pthread_mutex_unlock(&dev->queue.lock);
    return gpuc_device_check_ticket(&dev->base, ticket, last);
}

/* What is appended later comes later on the queue, behind a barrier. */
gpuc_status gpuc_vk_stream_wait(gpuc_device *device, gpuc_stream *stream, uint64_t ticket)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(check_ticket(dev, ticket));
    gpuc_vk_stream *s = gpuc_vk_stream_of(dev, stream);
    pthread_mutex_lock(&dev->queue.lock);
    if (s->last < ticket) s->last = ticket;
    pthread_mutex_unlock(&dev->queue.lock);
    return NULL;
}

gpuc_status gpuc_vk_ticket_wait(gpuc_device *device, uint64_t ticket, int64_t timeout_ns, bool *out_done)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    uint64_t timeout = timeout_ns == GPUC_FOREVER ? UINT64_MAX : timeout_ns > 0 ? (uint64_t)timeout_ns : 0;
    *out_done = false;
    GPUC_TRY(check_ticket(dev, ticket));
    return gpuc_vk_wait_for(dev, ticket, timeout, out_done);
}
