/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and semaphores that other devices, processes and APIs share. */
#include <fcntl.h>
#include <unistd.h>

#include "base/require.h"
#include "base/size.h"
#include "runtime/ndarray.h"
#include "runtime_vulkan/device.h"

#define SEMAPHORE_FD VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT

uint32_t gpuc_vulkan_shares(gpuc_device *dev)
{
    return dev && dev->type == GPUC_DEVICE_VULKAN ? ((gpuc_vk_device *)dev)->caps.shares : 0;
}

static gpuc_status check_device(gpuc_device *device, uint32_t how, gpuc_vk_device **out)
{
    static const struct {
        uint32_t bit;
        const char *extension;
    } rows[] = {{GPUC_VULKAN_SHARE_FD, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME},
                {GPUC_VULKAN_SHARE_DMA_BUF, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME},
                {GPUC_VULKAN_SHARE_HOST, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME},
                {GPUC_VULKAN_SHARE_SEMAPHORE, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME}};
    GPUC_REQUIRE(device);
    if (device->type != GPUC_DEVICE_VULKAN)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s:%d is no Vulkan device", device->api->name,
                         device->index);
    *out = (gpuc_vk_device *)device;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].bit == how && !((*out)->caps.shares & how))
            return gpuc_fail(GPUC_UNSUPPORTED, "%s has no %s, or it was not enabled",
                             (*out)->caps.props.deviceName, rows[i].extension);
    return NULL;
}

static gpuc_status check_memory_kind(uint32_t how)
{
    if (how == GPUC_VULKAN_SHARE_FD || how == GPUC_VULKAN_SHARE_DMA_BUF) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "memory is shared as GPUC_VULKAN_SHARE_FD or _DMA_BUF, not as %u",
                     how);
}

static VkExternalMemoryHandleTypeFlagBits type_of(uint32_t how)
{
    return how == GPUC_VULKAN_SHARE_FD        ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
           : how == GPUC_VULKAN_SHARE_DMA_BUF ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
                                              : VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
}

/* ---- Buffers ---- */

typedef struct owner {
    gpuc_vk_buffer *buffer;
    void (*released)(void *user);
    void *user;
} owner;

static void release(void *arg)
{
    owner *o = arg;
    gpuc_vk_device *dev = (gpuc_vk_device *)o->buffer->base.device;
    /* Of its memory nothing may be left when the application is told. */
    if (o->released) gpuc_status_release(gpuc_vk_wait(dev, o->buffer->last_use));
    gpuc_vk_buffer_free(&dev->base, &o->buffer->base);
    if (o->released) o->released(o->user);
    gpuc_mem_free(dev->allocator, o, sizeof *o);
}

/* How the memory of a buffer comes into being. */
typedef struct source {
    uint32_t how;
    void *next;               /* the chain of vkAllocateMemory */
    VkDeviceSize buffer_size; /* of the VkBuffer */
    VkDeviceSize memory_size; /* of the allocation; 0: what the buffer needs */
    uint32_t type_bits;       /* memory types that it can be of */
    gpuc_vk_use use;
} source;

static gpuc_status bind_memory(gpuc_vk_device *dev, const source *from, gpuc_vk_raw_buffer *raw)
{
    VkMemoryRequirements need;
    dev->fn.GetBufferMemoryRequirements(dev->handle, raw->handle, &need);
    need.memoryTypeBits &= from->type_bits;
    if (from->memory_size && need.size > from->memory_size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "a buffer of %llu bytes needs %llu bytes of memory, but %llu are shared",
                         (unsigned long long)from->buffer_size, (unsigned long long)need.size,
                         (unsigned long long)from->memory_size);
    if (from->memory_size) need.size = from->memory_size;
    GPUC_TRY(gpuc_vk_memory_alloc_shared(dev, &need, from->use, from->next, &raw->span));
    GPUC_VK_TRY("vkBindBufferMemory", dev->fn.BindBufferMemory(dev->handle, raw->handle,
                                                               raw->span.block->memory, raw->span.offset));
    raw->mapped = gpuc_vk_span_mapped(&raw->span);
    return NULL;
}

static gpuc_status make_raw(gpuc_vk_device *dev, const source *from, gpuc_vk_raw_buffer *raw)
{
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = type_of(from->how)};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = &external,
                               .size = from->buffer_size,
                               .usage = GPUC_VK_TENSOR_USAGE,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    *raw = (gpuc_vk_raw_buffer){.size = from->buffer_size};
    GPUC_VK_TRY("vkCreateBuffer", dev->fn.CreateBuffer(dev->handle, &info, dev->host, &raw->handle));
    gpuc_status s = bind_memory(dev, from, raw);
    if (s) gpuc_vk_raw_destroy(dev, raw);
    return s;
}

static gpuc_status make_buffer(gpuc_vk_device *dev, const source *from, gpuc_vk_buffer **out)
{
    *out = gpuc_mem_alloc(dev->allocator, sizeof **out);
    if (!*out) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    gpuc_status s = make_raw(dev, from, &(*out)->raw);
    if (s) {
        gpuc_mem_free(dev->allocator, *out, sizeof **out);
        return s;
    }
    gpuc_vk_buffer_fill(dev, *out, (size_t)from->buffer_size);
    (*out)->owner_family = VK_QUEUE_FAMILY_EXTERNAL;
    return NULL;
}

/* The array owns the buffer, on success. */
static gpuc_status make_array(gpuc_vk_buffer *b, uint64_t offset, gpuc_dtype dtype, int ndim,
                              const int64_t *dims, void (*released)(void *user), void *user,
                              gpuc_ndarray **out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)b->base.device;
    owner *o = gpuc_mem_alloc(dev->allocator, sizeof *o);
    if (!o) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    *o = (owner){b, released, user};
    const gpuc_binding place = {.buffer = &b->base, .offset = offset, .size = b->base.size - offset};
    gpuc_status s = gpuc_ndarray_wrap(dev->base.runtime, place, NULL, dtype, ndim, dims, release, o, out);
    if (s) gpuc_mem_free(dev->allocator, o, sizeof *o);
    return s;
}

/* ---- File descriptors ---- */

static gpuc_status export_memory(gpuc_vk_device *dev, const gpuc_vk_buffer *b, uint32_t how,
                                 gpuc_vulkan_shared *out)
{
    VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                 .memory = b->raw.span.block->memory,
                                 .handleType = type_of(how)};
    GPUC_VK_TRY("vkGetMemoryFdKHR", dev->fn.GetMemoryFdKHR(dev->handle, &info, &out->fd));
    out->how = (gpuc_vulkan_share)how;
    out->memory_size = b->raw.span.size;
    out->buffer_size = b->raw.size;
    return NULL;
}

gpuc_status gpuc_vulkan_create_shared(gpuc_device *device, gpuc_vulkan_share how, gpuc_dtype dtype, int ndim,
                                      const int64_t *dims, gpuc_vulkan_shared *out_memory, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(out_memory);
    *out_memory = (gpuc_vulkan_shared){.fd = -1};
    if (ndim > 0) GPUC_REQUIRE(dims);
    gpuc_vk_device *dev;
    gpuc_vk_buffer *b;
    size_t bytes;
    GPUC_TRY(check_memory_kind(how));
    GPUC_TRY(check_device(device, how, &dev));
    GPUC_TRY(gpuc_ndarray_measure(dtype, ndim, dims, &bytes));
    VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                       .handleTypes = type_of(how)};
    const source from = {.how = how,
                         .next = &info,
                         .buffer_size = gpuc_align_up(bytes ? bytes : 1, GPUC_VK_SIZE_ROUND),
                         .type_bits = UINT32_MAX,
                         .use = GPUC_VK_USE_TENSOR};
    GPUC_TRY(make_buffer(dev, &from, &b));
    gpuc_status s = make_array(b, 0, dtype, ndim, dims, NULL, NULL, out);
    if (s) {
        gpuc_vk_buffer_free(device, &b->base);
        return s;
    }
    s = export_memory(dev, b, how, out_memory);
    if (s) {
        gpuc_ndarray_release(*out);
        *out = NULL;
    }
    return s;
}

gpuc_status gpuc_vulkan_import_shared(gpuc_device *device, const gpuc_vulkan_shared *memory, gpuc_dtype dtype,
                                      int ndim, const int64_t *dims, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(memory);
    if (ndim > 0) GPUC_REQUIRE(dims);
    gpuc_vk_device *dev;
    gpuc_vk_buffer *b;
    size_t bytes;
    GPUC_TRY(check_memory_kind(memory->how));
    GPUC_TRY(check_device(device, memory->how, &dev));
    GPUC_TRY(gpuc_ndarray_measure(dtype, ndim, dims, &bytes));
    if (memory->fd < 0) return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc_vulkan_shared.fd is %d", memory->fd);
    if (memory->offset % GPUC_VK_SIZE_ROUND || memory->offset > memory->buffer_size ||
        memory->buffer_size - memory->offset < gpuc_align_up(bytes ? bytes : 1, GPUC_VK_SIZE_ROUND))
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "an array of %zu bytes at %llu does not fit the shared buffer of %llu, or begins at no multiple "
            "of %d",
            bytes, (unsigned long long)memory->offset, (unsigned long long)memory->buffer_size,
            GPUC_VK_SIZE_ROUND);
    VkImportMemoryFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                    .handleType = type_of(memory->how),
                                    .fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0)};
    if (info.fd < 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "gpuc_vulkan_shared.fd is %d, which is not open or is one too "
                         "many of the process",
                         memory->fd);
    const source from = {.how = memory->how,
                         .next = &info,
                         .buffer_size = memory->buffer_size,
                         .memory_size = memory->memory_size,
                         .type_bits = UINT32_MAX,
                         .use = GPUC_VK_USE_TENSOR};
    gpuc_status s = make_buffer(dev, &from, &b);
    if (info.fd >= 0) close(info.fd); /* the driver did not take it */
    GPUC_TRY(s);
    s = make_array(b, memory->offset, dtype, ndim, dims, NULL, NULL, out);
    if (s)
        gpuc_vk_buffer_free(device, &b->base);
    else
        close(memory->fd);
    return s;
}

/* ---- Memory of the host ---- */

static gpuc_status check_host(const gpuc_vk_device *dev, const void *memory, size_t size, size_t bytes)
{
    uint64_t align = dev->caps.host_align;
    if ((uintptr_t)memory % align || size % align || !size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%zu bytes at %p: address and size must be multiples of %llu for %s to use them",
                         size, memory, (unsigned long long)align, dev->caps.props.deviceName);
    if (bytes > size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "an array of %zu bytes does not fit the %zu bytes given for it", bytes, size);
    return NULL;
}

gpuc_status gpuc_vulkan_wrap_host(gpuc_device *device, void *memory, size_t size, gpuc_dtype dtype, int ndim,
                                  const int64_t *dims, void (*released)(void *user), void *user,
                                  gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(memory);
    if (ndim > 0) GPUC_REQUIRE(dims);
    gpuc_vk_device *dev;
    gpuc_vk_buffer *b;
    size_t bytes;
    GPUC_TRY(check_device(device, GPUC_VULKAN_SHARE_HOST, &dev));
    GPUC_TRY(gpuc_ndarray_measure(dtype, ndim, dims, &bytes));
    GPUC_TRY(check_host(dev, memory, size, bytes));
    VkMemoryHostPointerPropertiesEXT props = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    GPUC_VK_TRY("vkGetMemoryHostPointerPropertiesEXT",
                dev->fn.GetMemoryHostPointerPropertiesEXT(dev->handle, type_of(GPUC_VULKAN_SHARE_HOST),
                                                          memory, &props));
    VkImportMemoryHostPointerInfoEXT info = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                             .handleType = type_of(GPUC_VULKAN_SHARE_HOST),
                                             .pHostPointer = memory};
    const source from = {.how = GPUC_VULKAN_SHARE_HOST,
                         .next = &info,
                         .buffer_size = size,
                         .memory_size = size,
                         .type_bits = props.memoryTypeBits,
                         .use = GPUC_VK_USE_STAGING};
    GPUC_TRY(make_buffer(dev, &from, &b));
    gpuc_status s = make_array(b, 0, dtype, ndim, dims, released, user, out);
    if (s) gpuc_vk_buffer_free(device, &b->base);
    return s;
}

/* ---- Semaphores ---- */

static gpuc_status make_semaphore(gpuc_vk_device *dev, const void *next, VkSemaphore *out)
{
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = next};
    GPUC_VK_TRY("vkCreateSemaphore", dev->fn.CreateSemaphore(dev->handle, &info, dev->host, out));
    return NULL;
}

/* Destroys it if the call has failed. */
static gpuc_status keep(gpuc_vk_device *dev, VkResult r, const char *call, VkSemaphore made, VkSemaphore *out)
{
    if (r >= 0) {
        *out = made;
        return NULL;
    }
    dev->fn.DestroySemaphore(dev->handle, made, dev->host);
    return gpuc_vk_error_at(r, call, __FILE__, __LINE__);
}

gpuc_status gpuc_vulkan_create_semaphore(gpuc_device *device, int *out_fd, VkSemaphore *out)
{
    GPUC_REQUIRE(out);
    *out = VK_NULL_HANDLE;
    GPUC_REQUIRE(out_fd);
    *out_fd = -1;
    gpuc_vk_device *dev;
    VkSemaphore made;
    GPUC_TRY(check_device(device, GPUC_VULKAN_SHARE_SEMAPHORE, &dev));
    VkExportSemaphoreCreateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                            .handleTypes = SEMAPHORE_FD};
    GPUC_TRY(make_semaphore(dev, &exported, &made));
    VkSemaphoreGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = made, .handleType = SEMAPHORE_FD};
    return keep(dev, dev->fn.GetSemaphoreFdKHR(dev->handle, &info, out_fd), "vkGetSemaphoreFdKHR", made, out);
}

gpuc_status gpuc_vulkan_import_semaphore(gpuc_device *device, int fd, VkSemaphore *out)
{
    GPUC_REQUIRE(out);
    *out = VK_NULL_HANDLE;
    gpuc_vk_device *dev;
    VkSemaphore made;
    GPUC_TRY(check_device(device, GPUC_VULKAN_SHARE_SEMAPHORE, &dev));
    if (fd < 0) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the file descriptor of a semaphore is %d", fd);
    GPUC_TRY(make_semaphore(dev, NULL, &made));
    VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                       .semaphore = made,
                                       .handleType = SEMAPHORE_FD,
                                       .fd = fd};
    return keep(dev, dev->fn.ImportSemaphoreFdKHR(dev->handle, &info), "vkImportSemaphoreFdKHR", made, out);
}

void gpuc_vulkan_destroy_semaphore(gpuc_device *device, VkSemaphore semaphore)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    if (device && semaphore) dev->fn.DestroySemaphore(dev->handle, semaphore, dev->host);
}
