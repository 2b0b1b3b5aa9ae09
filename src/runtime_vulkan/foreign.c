/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the application. Arrays over one VkBuffer share one gpuc_vk_buffer, so that what they do to the same bytes
 * is put in order. */
#include "base/require.h"
#include "base/size.h"
#include "runtime/ndarray.h"
#include "runtime_vulkan/device.h"

gpuc_status gpuc_vk_check_usage(VkBufferUsageFlags usage, VkBufferUsageFlags need, const char *what)
{
    static const struct {
        VkBufferUsageFlags bit;
        const char *name;
    } names[] = {{VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, "STORAGE_BUFFER"},
                 {VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "TRANSFER_SRC"},
                 {VK_BUFFER_USAGE_TRANSFER_DST_BIT, "TRANSFER_DST"},
                 {VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, "UNIFORM_TEXEL_BUFFER"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((need & names[i].bit) && !(usage & names[i].bit))
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "the application's buffer was made without VK_BUFFER_USAGE_%s_BIT, which %s needs",
                names[i].name, what);
    return NULL;
}

/* The device of a Vulkan driver, or NULL. */
static gpuc_vk_device *vulkan_device(gpuc_device *dev)
{
    return dev && dev->type == GPUC_DEVICE_VULKAN ? (gpuc_vk_device *)dev : NULL;
}

static gpuc_status check_range(const gpuc_vk_device *dev, const gpuc_vulkan_buffer *b, size_t bytes)
{
    uint64_t align = dev->caps.props.limits.minStorageBufferOffsetAlignment, need;
    if (align < GPUC_VK_SIZE_ROUND) align = GPUC_VK_SIZE_ROUND;
    if (!b->buffer) return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc_vulkan_buffer.buffer is missing");
    if (b->offset % align)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "offset %llu of the application's buffer is no multiple of %llu",
                         (unsigned long long)b->offset, (unsigned long long)align);
    if (b->size == VK_WHOLE_SIZE)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "gpuc_vulkan_buffer.size is VK_WHOLE_SIZE: Vulkan does not tell "
                         "the size of a buffer, so say it in bytes");
    /* Kernels may read the last 16 bytes at once. */
    need = gpuc_align_up(bytes ? bytes : 1, GPUC_VK_SIZE_ROUND);
    if (b->size < need || b->size > SIZE_MAX || b->offset > SIZE_MAX - b->size)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "%llu bytes at %llu of the application's buffer: the array has %zu, and the range must go "
            "on to a multiple of %d, %llu",
            (unsigned long long)b->size, (unsigned long long)b->offset, bytes, GPUC_VK_SIZE_ROUND,
            (unsigned long long)need);
    if (b->owner_family != GPUC_VULKAN_SAME_FAMILY && b->owner_family == dev->caps.queue_family)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the application's buffer is owned by family %u, which is that of gpuc's queue: say "
                         "GPUC_VULKAN_SAME_FAMILY",
                         b->owner_family);
    return gpuc_vk_check_usage(b->usage, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, "every array");
}

/* The address of byte 0 of the buffer, of which the application gave that at an offset. */
static void *host_base(const gpuc_vulkan_buffer *b)
{
    return b->mapped ? (void *)((uintptr_t)b->mapped - (uintptr_t)b->offset) : NULL;
}

static bool says_same(const gpuc_vk_buffer *b, const gpuc_vulkan_buffer *more)
{
    return b->usage == more->usage && b->owner_family == more->owner_family &&
           b->base.host == host_base(more);
}

static gpuc_status extend(gpuc_vk_buffer *b, const gpuc_vulkan_buffer *more)
{
    if (!says_same(b, more))
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "another array over the same buffer says otherwise about its usage, owner or address");
    if (more->offset + more->size > b->base.size) b->base.size = b->raw.size = more->offset + more->size;
    return NULL;
}

/* One that no array is over, but that queued work uses, is found, too: what comes next is put in order with that work. */
static gpuc_vk_buffer *find_locked(gpuc_vk_device *dev, const gpuc_vulkan_buffer *from)
{
    gpuc_vk_buffer *b, **at = &dev->queue.garbage;
    gpuc_status_release(
        gpuc_vk_poll_locked(dev)); /* a handle may be of another buffer, once the work is done */
    b = dev->foreign;
    while (b && (b->raw.handle != from->buffer || (!b->wraps && !says_same(b, from)))) b = b->next_foreign;
    if (!b || b->wraps) return b;
    while (*at != b) at = &(*at)->next_garbage;
    *at = b->next_garbage;
    return b;
}

static gpuc_status find_or_make_locked(gpuc_vk_device *dev, const gpuc_vulkan_buffer *from,
                                       gpuc_vk_buffer **out)
{
    gpuc_vk_buffer *b = *out = find_locked(dev, from);
    if (b) return extend(b, from);
    b = gpuc_mem_alloc(dev->allocator, sizeof *b);
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    size_t size = (size_t)(from->offset + from->size);
    b->base = (gpuc_buffer){.device = &dev->base, .size = size, .host = host_base(from)};
    b->raw = (gpuc_vk_raw_buffer){.handle = from->buffer, .size = size, .mapped = b->base.host};
    b->id = __atomic_add_fetch(&dev->next_buffer_id, 1, __ATOMIC_RELAXED);
    b->foreign = true;
    b->usage = from->usage;
    b->owner_family = from->owner_family;
    b->direct = from->mapped != NULL;
    b->cached =
        !(from->usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT); /* nobody knows: by copies where they can be */
    b->next_foreign = dev->foreign;
    dev->foreign = *out = b;
    return NULL;
}

static void unlink_locked(gpuc_vk_device *dev, const gpuc_vk_buffer *b)
{
    gpuc_vk_buffer **at = &dev->foreign;
    while (*at != b) at = &(*at)->next_foreign;
    *at = b->next_foreign;
}

/* One array less. True: nothing uses the buffer, and it is in no list any more. */
static bool drop_locked(gpuc_vk_device *dev, gpuc_vk_buffer *b)
{
    if (--b->wraps) return false;
    if (b->last_use <= dev->queue.completed) {
        unlink_locked(dev, b);
        return true;
    }
    b->next_garbage = dev->queue.garbage;
    dev->queue.garbage = b;
    return false;
}

/* Tells those that were to be told. */
static void forget(gpuc_vk_device *dev, gpuc_vk_buffer *b)
{
    while (b->released) {
        gpuc_vk_wrap *w = b->released;
        b->released = w->next;
        w->released(w->user);
        gpuc_mem_free(dev->allocator, w, sizeof *w);
    }
    gpuc_mem_free(dev->allocator, b, sizeof *b);
}

/* With the last array over it the buffer is given back, once the work that uses it is done. */
static void release(void *owner)
{
    gpuc_vk_wrap *w = owner;
    gpuc_vk_buffer *b = w->buffer;
    gpuc_vk_device *dev = (gpuc_vk_device *)b->base.device;
    bool silent = !w->released;
    pthread_mutex_lock(&dev->queue.lock);
    if (!silent) {
        w->next = b->released;
        b->released = w;
    }
    gpuc_status_release(gpuc_vk_poll_locked(dev));
    bool gone = drop_locked(dev, b);
    pthread_mutex_unlock(&dev->queue.lock);
    if (silent) gpuc_mem_free(dev->allocator, w, sizeof *w);
    if (gone) forget(dev, b);
}

void gpuc_vk_foreign_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b)
{
    unlink_locked(dev, b);
    forget(dev, b);
}

static gpuc_status wrap(gpuc_vk_device *dev, const gpuc_vulkan_buffer *from, gpuc_dtype dtype, int ndim,
                        const int64_t *dims, gpuc_vk_wrap *w, gpuc_ndarray **out)
{
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status s = find_or_make_locked(dev, from, &w->buffer);
    if (!s) w->buffer->wraps++;
    pthread_mutex_unlock(&dev->queue.lock);
    GPUC_TRY(s);
    gpuc_binding place = {.buffer = &w->buffer->base, .offset = from->offset, .size = from->size};
    s = gpuc_ndarray_wrap(dev->base.runtime, place, NULL, dtype, ndim, dims, release, w, out);
    if (!s) return NULL;
    pthread_mutex_lock(&dev->queue.lock);
    bool gone = drop_locked(dev, w->buffer);
    pthread_mutex_unlock(&dev->queue.lock);
    if (gone) forget(dev, w->buffer);
    return s;
}

gpuc_status gpuc_vulkan_wrap_buffer(gpuc_device *device, const gpuc_vulkan_buffer *buffer, gpuc_dtype dtype,
                                    int ndim, const int64_t *dims, void (*released)(void *user), void *user,
                                    gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(device);
    GPUC_REQUIRE(buffer);
    if (ndim > 0) GPUC_REQUIRE(dims);
    gpuc_vk_device *dev = vulkan_device(device);
    size_t bytes;
    if (!dev)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s:%d is no Vulkan device", device->api->name,
                         device->index);
    GPUC_TRY(gpuc_ndarray_measure(dtype, ndim, dims, &bytes));
    GPUC_TRY(check_range(dev, buffer, bytes));
    gpuc_vk_wrap *w = gpuc_mem_alloc(dev->allocator, sizeof *w);
    if (!w) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    *w = (gpuc_vk_wrap){.released = released, .user = user};
    gpuc_status s = wrap(dev, buffer, dtype, ndim, dims, w, out);
    if (s) gpuc_mem_free(dev->allocator, w, sizeof *w);
    return s;
}

gpuc_status gpuc_vulkan_get_buffer(const gpuc_ndarray *array, gpuc_vulkan_buffer *out)
{
    GPUC_REQUIRE(out);
    *out = (gpuc_vulkan_buffer){.owner_family = GPUC_VULKAN_SAME_FAMILY};
    GPUC_REQUIRE(array);
    if (!vulkan_device(array->device))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the array is not on a Vulkan device");
    const gpuc_vk_buffer *b = (const gpuc_vk_buffer *)array->buffer;
    if (b->image) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the array is an image, not a buffer");
    *out = (gpuc_vulkan_buffer){.buffer = b->raw.handle,
                                .offset = array->offset,
                                .size = array->bytes,
                                .usage = b->usage,
                                .owner_family = b->owner_family,
                                .mapped = gpuc_ndarray_host(array)};
    return NULL;
}

/* A slot before this one may be of the same buffer or image. */
static bool is_first(const gpuc_bindings *bindings, uint32_t i)
{
    const gpuc_vk_buffer *b = (const gpuc_vk_buffer *)bindings->slots[i].buffer;
    for (uint32_t k = 0; k < i; k++) {
        const gpuc_vk_buffer *a = (const gpuc_vk_buffer *)bindings->slots[k].buffer;
        if (a == b) return false;
        if (a && b->image && a->base.device == b->base.device && a->image &&
            a->image->order == b->image->order)
            return false;
    }
    return true;
}

void gpuc_vk_take_over(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_bindings *bindings,
                       bool back)
{
    const VkPipelineStageFlags ours = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkAccessFlags accesses = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                   VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    for (uint32_t i = 0; i < bindings->count; i++) {
        const gpuc_vk_buffer *b = (const gpuc_vk_buffer *)bindings->slots[i].buffer;
        if (!b || b->base.device != &dev->base || b->owner_family == GPUC_VULKAN_SAME_FAMILY ||
            !is_first(bindings, i))
            continue;
        if (b->image) {
            gpuc_vk_image_take_over(dev, cb, b, back);
            continue;
        }
        VkBufferMemoryBarrier barrier = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            .srcAccessMask =
                back ? accesses & (VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT) : 0,
            .dstAccessMask = back ? 0 : accesses,
            .srcQueueFamilyIndex = back ? dev->caps.queue_family : b->owner_family,
            .dstQueueFamilyIndex = back ? b->owner_family : dev->caps.queue_family,
            .buffer = b->raw.handle,
            .size = VK_WHOLE_SIZE,
        };
        dev->fn.CmdPipelineBarrier(cb, back ? ours : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                   back ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : ours, 0, 0, NULL, 1, &barrier,
                                   0, NULL);
    }
}
