/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what gpuc calls: it gets these functions of the device in place of the driver's, and this allocator. An
 * application does not need any of it. */
#include "postprocess.h"

#include <stdlib.h>
#include <string.h>

counts counted;

static PFN_vkGetDeviceProcAddr real_device_proc;

/* Which count, the type of the result, how it is given, the function, its parameters and arguments. */
#define COUNTED(X)                                                                                           \
    X(submits, VkResult, return, QueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f),     \
      (q, n, i, f))                                                                                          \
    X(waits, VkResult, return, WaitForFences,                                                                \
      (VkDevice d, uint32_t n, const VkFence *f, VkBool32 all, uint64_t t), (d, n, f, all, t))               \
    X(waits, VkResult, return, WaitSemaphores, (VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t t),       \
      (d, i, t))                                                                                             \
    X(waits, VkResult, return, WaitSemaphoresKHR, (VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t t),    \
      (d, i, t))                                                                                             \
    X(waits, VkResult, return, QueueWaitIdle, (VkQueue q), (q))                                              \
    X(waits, VkResult, return, DeviceWaitIdle, (VkDevice d), (d))                                            \
    X(allocations, VkResult, return, AllocateMemory,                                                         \
      (VkDevice d, const VkMemoryAllocateInfo *i, const VkAllocationCallbacks *c, VkDeviceMemory *o),        \
      (d, i, c, o))                                                                                          \
    X(allocations, VkResult, return, CreateBuffer,                                                           \
      (VkDevice d, const VkBufferCreateInfo *i, const VkAllocationCallbacks *c, VkBuffer *o), (d, i, c, o))  \
    X(allocations, VkResult, return, CreateBufferView,                                                       \
      (VkDevice d, const VkBufferViewCreateInfo *i, const VkAllocationCallbacks *c, VkBufferView *o),        \
      (d, i, c, o))                                                                                          \
    X(allocations, VkResult, return, CreateImage,                                                            \
      (VkDevice d, const VkImageCreateInfo *i, const VkAllocationCallbacks *c, VkImage *o), (d, i, c, o))    \
    X(allocations, VkResult, return, CreateImageView,                                                        \
      (VkDevice d, const VkImageViewCreateInfo *i, const VkAllocationCallbacks *c, VkImageView *o),          \
      (d, i, c, o))                                                                                          \
    X(allocations, VkResult, return, CreateDescriptorPool,                                                   \
      (VkDevice d, const VkDescriptorPoolCreateInfo *i, const VkAllocationCallbacks *c,                      \
       VkDescriptorPool *o),                                                                                 \
      (d, i, c, o))                                                                                          \
    X(allocations, VkResult, return, AllocateDescriptorSets,                                                 \
      (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))                     \
    X(allocations, VkResult, return, AllocateCommandBuffers,                                                 \
      (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))                     \
    X(copies, VkResult, return, MapMemory,                                                                   \
      (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f, void **p),          \
      (d, m, o, s, f, p))                                                                                    \
    X(copies, VkResult, return, FlushMappedMemoryRanges,                                                     \
      (VkDevice d, uint32_t n, const VkMappedMemoryRange *r), (d, n, r))                                     \
    X(copies, VkResult, return, InvalidateMappedMemoryRanges,                                                \
      (VkDevice d, uint32_t n, const VkMappedMemoryRange *r), (d, n, r))                                     \
    X(copies, void, , CmdUpdateBuffer,                                                                       \
      (VkCommandBuffer cb, VkBuffer b, VkDeviceSize o, VkDeviceSize s, const void *p), (cb, b, o, s, p))     \
    X(copies, void, , CmdCopyBuffer,                                                                         \
      (VkCommandBuffer cb, VkBuffer a, VkBuffer b, uint32_t n, const VkBufferCopy *r), (cb, a, b, n, r))     \
    X(copies, void, , CmdCopyBufferToImage,                                                                  \
      (VkCommandBuffer cb, VkBuffer a, VkImage b, VkImageLayout l, uint32_t n, const VkBufferImageCopy *r),  \
      (cb, a, b, l, n, r))                                                                                   \
    X(copies, void, , CmdCopyImageToBuffer,                                                                  \
      (VkCommandBuffer cb, VkImage a, VkImageLayout l, VkBuffer b, uint32_t n, const VkBufferImageCopy *r),  \
      (cb, a, l, b, n, r))                                                                                   \
    X(descriptor_writes, void, , UpdateDescriptorSets,                                                       \
      (VkDevice d, uint32_t n, const VkWriteDescriptorSet *w, uint32_t m, const VkCopyDescriptorSet *c),     \
      (d, n, w, m, c))                                                                                       \
    X(dispatches, void, , CmdDispatch, (VkCommandBuffer cb, uint32_t x, uint32_t y, uint32_t z),             \
      (cb, x, y, z))

#define X(count, type, give, name, parameters, arguments)                                                    \
    static PFN_vk##name real_##name;                                                                         \
    static VKAPI_ATTR type VKAPI_CALL counted_##name parameters                                              \
    {                                                                                                        \
        __atomic_fetch_add(&counted.count, 1, __ATOMIC_RELAXED);                                             \
        give real_##name arguments;                                                                          \
    }
COUNTED(X)
#undef X

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction f = real_device_proc(device, name);
#define X(count, type, give, fn, parameters, arguments)                                                      \
    if (f && !strcmp(name, "vk" #fn)) {                                                                      \
        real_##fn = (PFN_vk##fn)f;                                                                           \
        return (PFN_vkVoidFunction)counted_##fn;                                                             \
    }
    COUNTED(X)
#undef X
    return f;
}

gpuc_vulkan_function counting_instance_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction f = vkGetInstanceProcAddr(instance, name);
    if (!f || strcmp(name, "vkGetDeviceProcAddr")) return (gpuc_vulkan_function)f;
    real_device_proc = (PFN_vkGetDeviceProcAddr)f;
    return (gpuc_vulkan_function)device_proc;
}

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    if (!new_size) {
        free(block);
        return NULL;
    }
    if (new_size > old_size) __atomic_fetch_add(&counted.allocations, 1, __ATOMIC_RELAXED);
    return realloc(block, new_size);
}

const gpuc_allocator counting_allocator = {.resize = resize};
