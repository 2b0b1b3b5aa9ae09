/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before and behind an inference on the queue: the application's semaphores and fence, and buffers that other
 * queue families own. Semaphores are waited for and signalled by submissions of their own, which order what the queue
 * has got before and gets later. */
#include "runtime_vulkan/plan.h"

static gpuc_status check_list(const VkSemaphore *list, uint32_t count, const char *what)
{
    if (count && !list)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc_vulkan_submit.%s is NULL, but num_%s is %u", what, what,
                         count);
    for (uint32_t i = 0; i < count; i++)
        if (!list[i])
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc_vulkan_submit.%s[%u] is no semaphore", what, i);
    return NULL;
}

static gpuc_status submit(gpuc_vk_device *dev, const VkSubmitInfo *info, VkFence fence)
{
    VkResult r = gpuc_vk_submit_info(dev, info, fence);
    if (r == VK_ERROR_DEVICE_LOST) dev->queue.lost = true;
    GPUC_VK_TRY("vkQueueSubmit", r);
    return NULL;
}

/* All stages of what follows wait; a stage for each semaphore. */
static gpuc_status wait_locked(gpuc_vk_device *dev, const gpuc_vulkan_submit *s)
{
    enum { FEW = 8 };
    VkPipelineStageFlags stages[FEW];
    for (uint32_t i = 0; i < FEW; i++) stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    for (uint32_t i = 0; i < s->num_wait; i += FEW) {
        uint32_t n = s->num_wait - i < FEW ? s->num_wait - i : FEW;
        VkTimelineSemaphoreSubmitInfo values = {
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = n,
            .pWaitSemaphoreValues = s->wait_values ? s->wait_values + i : NULL,
        };
        VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .pNext = s->wait_values ? &values : NULL,
                             .waitSemaphoreCount = n,
                             .pWaitSemaphores = s->wait + i,
                             .pWaitDstStageMask = stages};
        GPUC_TRY(submit(dev, &info, VK_NULL_HANDLE));
    }
    return NULL;
}

static gpuc_status signal_locked(gpuc_vk_device *dev, const gpuc_vulkan_submit *s)
{
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .signalSemaphoreValueCount = s->num_signal,
                                            .pSignalSemaphoreValues = s->signal_values};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = s->signal_values ? &values : NULL,
                         .signalSemaphoreCount = s->num_signal,
                         .pSignalSemaphores = s->signal};
    if (!s->num_signal && !s->fence) return NULL;
    return submit(dev, s->num_signal ? &info : NULL, s->fence);
}

/* Whether another family owns some of them; those are in use up to the serial, if there is one. */
static bool any_foreign_owner(const gpuc_vk_device *dev, const gpuc_bindings *bindings, uint64_t serial)
{
    bool any = false;
    for (uint32_t i = 0; i < bindings->count; i++) {
        gpuc_vk_buffer *b = (gpuc_vk_buffer *)bindings->slots[i].buffer;
        if (!b || b->base.device != &dev->base || b->owner_family == GPUC_VULKAN_SAME_FAMILY) continue;
        if (serial) b->last_use = serial;
        any = true;
    }
    return any;
}

static gpuc_status take_over_locked(gpuc_vk_device *dev, const gpuc_bindings *bindings, bool back)
{
    if (!any_foreign_owner(dev, bindings, 0)) return NULL;
    GPUC_TRY(gpuc_vk_batch_begin_locked(dev));
    gpuc_vk_take_over(dev, dev->queue.batch.commands, bindings, back);
    any_foreign_owner(dev, bindings, dev->queue.last_serial + 1);
    return NULL;
}

gpuc_status gpuc_vk_submit_end(gpuc_device *device, const gpuc_bindings *bindings,
                               const gpuc_vulkan_submit *s, bool end)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    GPUC_TRY(check_list(s->wait, s->num_wait, "wait"));
    GPUC_TRY(check_list(s->signal, s->num_signal, "signal"));
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status status = NULL;
    if (end) {
        status = take_over_locked(dev, bindings, true);
        if (!status) status = gpuc_vk_flush_locked(dev);
        if (!status) status = signal_locked(dev, s);
    } else {
        status = gpuc_vk_flush_locked(dev);
        if (!status) status = wait_locked(dev, s);
        if (!status) status = take_over_locked(dev, bindings, false);
    }
    pthread_mutex_unlock(&dev->queue.lock);
    return status;
}
