/* SPDX-License-Identifier: Apache-2.0 */
/* Creates Vulkan buffers and binds memory to them. */
#include "base/size.h"
#include "runtime_vulkan/device.h"

gpuc_status gpuc_vk_raw_create(gpuc_vk_device *dev, VkDeviceSize size, VkDeviceSize alignment,
                               VkBufferUsageFlags usage, gpuc_vk_use use, gpuc_vk_raw_buffer *out)
{
    *out = (gpuc_vk_raw_buffer){.size = size};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size,
        .usage = usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    GPUC_VK_TRY("vkCreateBuffer", dev->fn.CreateBuffer(dev->handle, &info, dev->host, &out->handle));
    VkMemoryRequirements need;
    dev->fn.GetBufferMemoryRequirements(dev->handle, out->handle, &need);
    if (need.alignment < alignment) need.alignment = alignment;
    gpuc_status s = gpuc_vk_memory_alloc(dev, &need, use, &out->span);
    if (!s) {
        VkResult r =
            dev->fn.BindBufferMemory(dev->handle, out->handle, out->span.block->memory, out->span.offset);
        if (r < 0) s = gpuc_vk_error_at(r, "vkBindBufferMemory", __FILE__, __LINE__);
    }
    if (s) {
        gpuc_vk_raw_destroy(dev, out);
        return s;
    }
    out->mapped = gpuc_vk_span_mapped(&out->span);
    return NULL;
}

bool gpuc_vk_reclaim(gpuc_vk_device *dev, gpuc_status *status)
{
    if (gpuc_status_code(*status) != GPUC_OUT_OF_DEVICE_MEMORY) return false;
    gpuc_status waited = gpuc_vk_wait_all(dev);
    gpuc_status_release(waited ? waited : *status);
    if (waited) return false;
    *status = NULL;
    return true;
}

void gpuc_vk_raw_destroy(gpuc_vk_device *dev, gpuc_vk_raw_buffer *raw)
{
    if (raw->handle) dev->fn.DestroyBuffer(dev->handle, raw->handle, dev->host);
    gpuc_vk_memory_free(dev, &raw->span);
    *raw = (gpuc_vk_raw_buffer){0};
}

void gpuc_vk_buffer_fill(gpuc_vk_device *dev, gpuc_vk_buffer *b, size_t bytes)
{
    VkMemoryPropertyFlags f = gpuc_vk_span_flags(dev, &b->raw.span);
    b->id = __atomic_add_fetch(&dev->next_buffer_id, 1, __ATOMIC_RELAXED);
    b->usage = GPUC_VK_TENSOR_USAGE;
    b->owner_family = GPUC_VULKAN_SAME_FAMILY;
    b->direct = b->raw.mapped && !dev->force_staging;
    b->cached = (f & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    b->base = (gpuc_buffer){.device = &dev->base, .size = bytes};
    if (b->direct && gpuc_vk_is_unified(dev, f)) b->base.host = b->raw.mapped;
}

gpuc_status gpuc_vk_buffer_create(gpuc_device *device, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    *out = NULL;
    if (alignment & (alignment - 1))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "alignment %zu of device memory is no power of two",
                         alignment);
    if (bytes > dev->caps.max_allocation || bytes > SIZE_MAX - GPUC_VK_SIZE_ROUND)
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY,
                         "%zu bytes of device memory asked for: the largest allocation of %s is %llu bytes",
                         bytes, dev->caps.props.deviceName, (unsigned long long)dev->caps.max_allocation);
    gpuc_vk_buffer *b = gpuc_mem_alloc(dev->allocator, sizeof(*b));
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    VkDeviceSize size = bytes ? gpuc_align_up(bytes, GPUC_VK_SIZE_ROUND) : GPUC_VK_SIZE_ROUND;
    gpuc_status s =
        gpuc_vk_raw_create(dev, size, alignment, GPUC_VK_TENSOR_USAGE, GPUC_VK_USE_TENSOR, &b->raw);
    if (gpuc_vk_reclaim(dev, &s))
        s = gpuc_vk_raw_create(dev, size, alignment, GPUC_VK_TENSOR_USAGE, GPUC_VK_USE_TENSOR, &b->raw);
    if (s) {
        gpuc_mem_free(dev->allocator, b, sizeof(*b));
        return s;
    }
    gpuc_vk_buffer_fill(dev, b, bytes);
    *out = &b->base;
    return NULL;
}

void gpuc_vk_buffer_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b)
{
    if (b->image) {
        gpuc_vk_image_destroy(dev, b);
        return;
    }
    if (b->foreign) {
        gpuc_vk_foreign_destroy(dev, b);
        return;
    }
    gpuc_vk_raw_destroy(dev, &b->raw);
    gpuc_mem_free(dev->allocator, b, sizeof(*b));
}

void gpuc_vk_buffer_free(gpuc_device *device, gpuc_buffer *buffer)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    gpuc_vk_buffer *b = (gpuc_vk_buffer *)buffer;
    if (!b) return;
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status_release(gpuc_vk_poll_locked(dev));
    bool idle = b->last_use <= dev->queue.completed;
    if (!idle) {
        b->next_garbage = dev->queue.garbage;
        dev->queue.garbage = b;
    }
    pthread_mutex_unlock(&dev->queue.lock);
    if (idle) gpuc_vk_buffer_destroy(dev, b);
}
