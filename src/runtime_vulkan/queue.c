/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: submissions numbered by serials, a fence each, retired in order. */
#include <string.h>

#include "runtime_vulkan/device.h"

#define SPARE_BATCHES 16
#define MAX_BATCH_STEPS 4096 /* launches may cost nothing, but take memory */

/* The application may use the queue, too. */
static void enter_queue(const gpuc_vk_device *dev)
{
    if (dev->app.lock_queue) dev->app.lock_queue(dev->app.queue_user);
}

static void leave_queue(const gpuc_vk_device *dev)
{
    if (dev->app.unlock_queue) dev->app.unlock_queue(dev->app.queue_user);
}

static void wait_idle(const gpuc_vk_device *dev)
{
    enter_queue(dev);
    dev->fn.QueueWaitIdle(dev->queue.handle);
    leave_queue(dev);
}

gpuc_status gpuc_vk_queue_init(gpuc_vk_device *dev)
{
    gpuc_vk_queue *q = &dev->queue;
    VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = dev->caps.queue_family,
    };
    GPUC_VK_TRY("vkCreateCommandPool", dev->fn.CreateCommandPool(dev->handle, &info, dev->host, &q->pool));
    return NULL;
}

static void recycle(gpuc_vk_queue *q, gpuc_vk_submission *sub)
{
    sub->next = q->spare;
    q->spare = sub;
}

static void keep_batch(gpuc_vk_device *dev, VkCommandBuffer cb)
{
    gpuc_vk_queue *q = &dev->queue;
    if (!q->spare_batches) {
        q->spare_batches = gpuc_mem_alloc(dev->allocator, SPARE_BATCHES * sizeof(VkCommandBuffer));
        if (q->spare_batches) q->spare_capacity = SPARE_BATCHES;
    }
    if (q->num_spare < q->spare_capacity)
        q->spare_batches[q->num_spare++] = cb;
    else
        dev->fn.FreeCommandBuffers(dev->handle, q->pool, 1, &cb);
}

/* The readbacks of a batch stand newest first. */
static gpuc_vk_readback *oldest_first(gpuc_vk_readback *list)
{
    gpuc_vk_readback *out = NULL;
    while (list) {
        gpuc_vk_readback *r = list;
        list = r->next;
        r->next = out;
        out = r;
    }
    return out;
}

/* Who waits for the submission hears of it. */
static void note_unread(gpuc_vk_queue *q, gpuc_status status, uint64_t serial)
{
    if (!status) return;
    gpuc_status_release(q->unread);
    q->unread = status;
    q->unread_serial = serial;
}

/* Gives back what a batch kept. If it ran, with a serial, the host gets what it asked for. */
static void release_kept(gpuc_vk_device *dev, gpuc_vk_kept *kept, uint64_t serial)
{
    if (kept->commands) keep_batch(dev, kept->commands);
    gpuc_vk_views_destroy(dev, &kept->views);
    while (kept->pools) {
        gpuc_vk_pool *pool = kept->pools;
        kept->pools = pool->next;
        dev->fn.DestroyDescriptorPool(dev->handle, pool->handle, dev->host);
        gpuc_mem_free(dev->allocator, pool, sizeof(*pool));
    }
    kept->readbacks = oldest_first(kept->readbacks);
    while (kept->readbacks) {
        gpuc_vk_readback *r = kept->readbacks;
        kept->readbacks = r->next;
        if (serial) {
            note_unread(&dev->queue, gpuc_vk_span_invalidate(dev, &r->staging.span, 0, r->staging.size),
                        serial);
            memcpy(r->host, r->staging.mapped, r->staging.size);
        }
        gpuc_vk_raw_destroy(dev, &r->staging);
        gpuc_mem_free(dev->allocator, r, sizeof(*r));
    }
    *kept = (gpuc_vk_kept){0};
}

static void free_submissions(gpuc_vk_device *dev, gpuc_vk_submission *list)
{
    while (list) {
        gpuc_vk_submission *next = list->next;
        release_kept(dev, &list->batch, 0);
        if (list->fence) dev->fn.DestroyFence(dev->handle, list->fence, dev->host);
        gpuc_mem_free(dev->allocator, list, sizeof(*list));
        list = next;
    }
}

static void free_garbage(gpuc_vk_device *dev, uint64_t completed)
{
    gpuc_vk_buffer **at = &dev->queue.garbage;
    while (*at) {
        gpuc_vk_buffer *b = *at;
        if (b->last_use > completed) {
            at = &b->next_garbage;
        } else {
            *at = b->next_garbage;
            gpuc_vk_buffer_destroy(dev, b);
        }
    }
}

void gpuc_vk_queue_deinit(gpuc_vk_device *dev)
{
    gpuc_vk_queue *q = &dev->queue;
    if (!q->pool) return;
    /* What the application has on its queue is not waited for. */
    if (dev->app.vk)
        gpuc_status_release(gpuc_vk_wait(dev, q->last_serial));
    else
        wait_idle(dev);
    free_garbage(dev, UINT64_MAX);
    gpuc_vk_raw_destroy(dev, &q->ring);
    release_kept(dev, &q->batch, 0);
    free_submissions(dev, q->first);
    free_submissions(dev, q->spare);
    dev->fn.DestroyCommandPool(dev->handle, q->pool, dev->host);
    gpuc_status_release(q->unread);
    gpuc_mem_free(dev->allocator, q->spare_batches, q->spare_capacity * sizeof(VkCommandBuffer));
    *q = (gpuc_vk_queue){.lock = q->lock};
}

static gpuc_status lost_error(void)
{
    return gpuc_fail(GPUC_DEVICE_LOST, "the Vulkan device was lost; open a new runtime");
}

static gpuc_status note_result(gpuc_vk_queue *q, VkResult r, const char *call)
{
    if (r == VK_ERROR_DEVICE_LOST) q->lost = true;
    return gpuc_vk_error_at(r, call, __FILE__, __LINE__);
}

/* ---- Completion ------------------------------------------------------------------------------ */

/* Retires every submission up to serial, which the device has finished. */
static void retire(gpuc_vk_device *dev, uint64_t serial)
{
    gpuc_vk_queue *q = &dev->queue;
    if (serial > q->completed) q->completed = serial;
    while (q->first && q->first->serial <= serial) {
        gpuc_vk_submission *sub = q->first;
        q->first = sub->next;
        if (!q->first) q->last = NULL;
        sub->next = NULL;
        release_kept(dev, &sub->batch, sub->serial);
        q->ring_tail = sub->ring_end;
        sub->retired = true;
        if (!sub->waiters) recycle(q, sub);
    }
    free_garbage(dev, q->completed);
}

gpuc_status gpuc_vk_poll_locked(gpuc_vk_device *dev)
{
    gpuc_vk_queue *q = &dev->queue;
    if (q->lost) return lost_error();
    while (q->first) {
        VkResult r = dev->fn.GetFenceStatus(dev->handle, q->first->fence);
        if (r == VK_NOT_READY) break;
        if (r < 0) return note_result(q, r, "vkGetFenceStatus");
        retire(dev, q->first->serial);
    }
    return NULL;
}

gpuc_status gpuc_vk_wait_for(gpuc_vk_device *dev, uint64_t serial, uint64_t timeout, bool *out_done)
{
    gpuc_vk_queue *q = &dev->queue;
    gpuc_status s = NULL;
    pthread_mutex_lock(&q->lock);
    if (serial > q->last_serial) s = gpuc_vk_flush_locked(dev);
    if (!s && q->lost) s = lost_error();
    if (!s && serial > q->completed) {
        gpuc_vk_submission *sub = q->first;
        while (sub && sub->serial < serial) sub = sub->next;
        if (sub) {
            sub->waiters++;
            pthread_mutex_unlock(&q->lock);
            VkResult r = dev->fn.WaitForFences(dev->handle, 1, &sub->fence, VK_TRUE, timeout);
            pthread_mutex_lock(&q->lock);
            sub->waiters--;
            if (r < 0) s = note_result(q, r, "vkWaitForFences");
            if (!sub->retired && r == VK_SUCCESS)
                retire(dev, sub->serial);
            else if (sub->retired && !sub->waiters)
                recycle(q, sub);
        }
    }
    if (!s && q->unread && serial >= q->unread_serial) {
        s = q->unread;
        q->unread = NULL;
    }
    *out_done = serial <= q->completed;
    pthread_mutex_unlock(&q->lock);
    return s;
}

gpuc_status gpuc_vk_wait(gpuc_vk_device *dev, uint64_t serial)
{
    bool done;
    return gpuc_vk_wait_for(dev, serial, UINT64_MAX, &done);
}

gpuc_status gpuc_vk_wait_all(gpuc_vk_device *dev)
{
    pthread_mutex_lock(&dev->queue.lock);
    uint64_t serial = dev->queue.last_serial + (dev->queue.batch.commands ? 1 : 0);
    pthread_mutex_unlock(&dev->queue.lock);
    return gpuc_vk_wait(dev, serial);
}

/* ---- Submission ------------------------------------------------------------------------------ */

gpuc_status gpuc_vk_batch_limit_locked(gpuc_vk_device *dev, double operations)
{
    const gpuc_vk_queue *q = &dev->queue;
    bool full = (q->cost > 0 && q->cost + operations > dev->cut_cost) || q->num_steps >= MAX_BATCH_STEPS;
    return full ? gpuc_vk_flush_locked(dev) : NULL;
}

gpuc_status gpuc_vk_batch_begin_locked(gpuc_vk_device *dev)
{
    gpuc_vk_queue *q = &dev->queue;
    if (q->batch.commands) return NULL;
    if (q->lost) return lost_error();
    VkCommandBuffer cb = VK_NULL_HANDLE;
    if (q->num_spare) {
        cb = q->spare_batches[--q->num_spare];
    } else {
        VkCommandBufferAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = q->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        GPUC_VK_TRY("vkAllocateCommandBuffers", dev->fn.AllocateCommandBuffers(dev->handle, &info, &cb));
    }
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult r = dev->fn.BeginCommandBuffer(cb, &begin);
    if (r < 0) {
        keep_batch(dev, cb);
        return gpuc_vk_error_at(r, "vkBeginCommandBuffer", __FILE__, __LINE__);
    }
    gpuc_vk_hazards_init(&q->hazards);
    q->batch.commands = cb;
    q->pipeline = VK_NULL_HANDLE;
    memset(q->room, 0, sizeof(q->room));
    return NULL;
}

static gpuc_status take_submission(gpuc_vk_device *dev, gpuc_vk_submission **out)
{
    gpuc_vk_queue *q = &dev->queue;
    gpuc_vk_submission *sub = q->spare;
    *out = NULL;
    if (sub) {
        VkResult r = dev->fn.ResetFences(dev->handle, 1, &sub->fence);
        if (r < 0) return gpuc_vk_error_at(r, "vkResetFences", __FILE__, __LINE__);
        q->spare = sub->next;
        *sub = (gpuc_vk_submission){.fence = sub->fence};
    } else {
        sub = gpuc_mem_alloc(dev->allocator, sizeof(*sub));
        if (!sub) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        VkResult r = dev->fn.CreateFence(dev->handle, &info, dev->host, &sub->fence);
        if (r < 0) {
            gpuc_mem_free(dev->allocator, sub, sizeof(*sub));
            return gpuc_vk_error_at(r, "vkCreateFence", __FILE__, __LINE__);
        }
    }
    *out = sub;
    return NULL;
}

VkResult gpuc_vk_submit_info(const gpuc_vk_device *dev, const VkSubmitInfo *info, VkFence fence)
{
    enter_queue(dev);
    VkResult r = dev->fn.QueueSubmit(dev->queue.handle, info ? 1 : 0, info, fence);
    leave_queue(dev);
    return r;
}

static VkResult submit_one(gpuc_vk_device *dev, const VkCommandBuffer *cbs, uint32_t count, VkFence fence)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = count, .pCommandBuffers = cbs};
    return gpuc_vk_submit_info(dev, &info, fence);
}

gpuc_status gpuc_vk_submit_locked(gpuc_vk_device *dev, const VkCommandBuffer *cbs, uint32_t count,
                                  uint64_t *out_serial)
{
    gpuc_vk_queue *q = &dev->queue;
    gpuc_vk_submission *sub;
    if (q->lost) return lost_error();
    GPUC_TRY(gpuc_vk_poll_locked(dev));
    GPUC_TRY(take_submission(dev, &sub));
    const char *call = "vkEndCommandBuffer";
    VkResult r = VK_SUCCESS;
    sub->batch = q->batch;
    q->batch = (gpuc_vk_kept){0};
    q->cost = 0;
    q->num_steps = 0;
    VkCommandBuffer batch = sub->batch.commands;
    if (batch) {
        gpuc_vk_host_barrier(dev, batch);
        r = dev->fn.EndCommandBuffer(batch);
        if (r >= 0) {
            call = "vkQueueSubmit";
            VkCommandBuffer both[2] = {batch, count ? cbs[0] : VK_NULL_HANDLE};
            r = submit_one(dev, both, count ? 2 : 1, count <= 1 ? sub->fence : VK_NULL_HANDLE);
        }
    }
    call = r < 0 ? call : "vkQueueSubmit";
    for (uint32_t i = batch ? 1 : 0; r >= 0 && i < count; i++)
        r = submit_one(dev, cbs + i, 1, i + 1 == count ? sub->fence : VK_NULL_HANDLE);
    if (r < 0) {
        /* The work submitted before has no fence now: wait for it, so that nothing in flight is forgotten. */
        wait_idle(dev);
        free_submissions(dev, sub);
        return note_result(q, r, call);
    }
    sub->serial = ++q->last_serial;
    sub->ring_end = q->ring_head;
    if (q->last)
        q->last->next = sub;
    else
        q->first = sub;
    q->last = sub;
    if (out_serial) *out_serial = sub->serial;
    return NULL;
}

gpuc_status gpuc_vk_flush_locked(gpuc_vk_device *dev)
{
    if (!dev->queue.batch.commands) return NULL;
    return gpuc_vk_submit_locked(dev, NULL, 0, NULL);
}
