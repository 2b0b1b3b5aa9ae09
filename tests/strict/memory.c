/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define MAP_ALIGN 64 /* minMemoryMapAlignment */

/* Whoever reads what nobody wrote gets one of these. */
enum { POISON_DEVICE = 0x5a, POISON_HOST = 0xa5 };

VKAPI_ATTR void VKAPI_CALL strict_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    strict.real.GetBufferMemoryRequirements(device, buffer, out);
    out->memoryTypeBits = (1u << STRICT_TYPE_COUNT) - 1;
    if (out->alignment < STRICT_ATOM) out->alignment = STRICT_ATOM;
}

static VkResult fill(VkDevice device, strict_object *m)
{
    VkDeviceMemory handle = (VkDeviceMemory)(uintptr_t)m->handle;
    void *real;
    VkResult r = strict.real.MapMemory(device, handle, 0, VK_WHOLE_SIZE, 0, &real);
    if (r < 0) return r;
    m->real = real;
    memset(m->real, POISON_DEVICE, m->size);
    if (m->type == STRICT_TYPE_DEVICE) return r;
    m->shadow = aligned_alloc(MAP_ALIGN, (m->size + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN);
    if (!m->shadow) return VK_ERROR_OUT_OF_HOST_MEMORY;
    memset(m->shadow, POISON_HOST, m->size);
    return r;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkDeviceMemory *out)
{
    uint32_t type = info->memoryTypeIndex;
    VkDeviceSize size = info->allocationSize;
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (type >= STRICT_TYPE_COUNT) return strict_violation("memory of type %u, which was not reported", type);
    if (size > STRICT_MAX_ALLOCATION)
        return strict_violation("an allocation of %llu bytes", (unsigned long long)size);
    uint64_t *in_use = &strict.in_use;
    if (type == STRICT_TYPE_DEVICE &&
        __atomic_load_n(in_use, __ATOMIC_RELAXED) + size > strict.options.heap_bytes)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkMemoryAllocateInfo real = *info;
    real.memoryTypeIndex = strict.memory_type;
    VkResult r = strict.real.AllocateMemory(device, &real, callbacks, out);
    if (r < 0) return r;
    strict_object *m = strict_add(STRICT_MEMORY, STRICT_HANDLE(*out));
    r = m ? r : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (m) {
        m->type = type;
        m->size = size;
        if (type == STRICT_TYPE_DEVICE) __atomic_add_fetch(in_use, size, __ATOMIC_RELAXED);
        r = fill(device, m);
    }
    if (r < 0) strict_free_memory(device, *out, callbacks);
    return r;
}

VKAPI_ATTR void VKAPI_CALL strict_free_memory(VkDevice device, VkDeviceMemory handle,
                                              const VkAllocationCallbacks *callbacks)
{
    strict_object *m = strict_find(STRICT_MEMORY, STRICT_HANDLE(handle));
    if (m) {
        if (m->type == STRICT_TYPE_DEVICE) __atomic_sub_fetch(&strict.in_use, m->size, __ATOMIC_RELAXED);
        free(m->shadow);
        strict_remove(STRICT_MEMORY, STRICT_HANDLE(handle));
    }
    strict.real.FreeMemory(device, handle, callbacks);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_map_memory(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset,
                                                 VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    strict_object *m = strict_find(STRICT_MEMORY, STRICT_HANDLE(handle));
    (void)device;
    (void)size;
    (void)flags;
    bool visible = m && (m->type == STRICT_TYPE_HOST || strict.options.resizable_bar);
    if (!visible || m->mapped) {
        strict_violation("memory that the host cannot see, or that is mapped, was mapped");
        return VK_ERROR_MEMORY_MAP_FAILED;
    }
    m->mapped = true;
    *out = (m->shadow ? m->shadow : m->real) + offset;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL strict_unmap_memory(VkDevice device, VkDeviceMemory handle)
{
    strict_object *m = strict_find(STRICT_MEMORY, STRICT_HANDLE(handle));
    (void)device;
    if (!m || !m->mapped)
        strict_fatal("memory that is not mapped was unmapped");
    else
        m->mapped = false;
}

static VkResult move(uint32_t count, const VkMappedMemoryRange *ranges, bool to_device)
{
    for (uint32_t i = 0; i < count; i++) {
        strict_object *m = strict_find(STRICT_MEMORY, STRICT_HANDLE(ranges[i].memory));
        VkDeviceSize offset = ranges[i].offset, size = ranges[i].size;
        if (m && size == VK_WHOLE_SIZE) size = m->size - offset;
        if (!m || !m->mapped || offset % STRICT_ATOM || offset > m->size || size > m->size - offset ||
            (size % STRICT_ATOM && offset + size != m->size))
            return strict_violation("%s of [%llu, +%llu): not mapped, or not aligned to atoms of %d",
                                    to_device ? "flush" : "invalidation", (unsigned long long)offset,
                                    (unsigned long long)size, STRICT_ATOM);
        if (to_device)
            memcpy(m->real + offset, m->shadow + offset, size);
        else
            memcpy(m->shadow + offset, m->real + offset, size);
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_flush(VkDevice device, uint32_t count,
                                            const VkMappedMemoryRange *ranges)
{
    (void)device;
    return move(count, ranges, true);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_invalidate(VkDevice device, uint32_t count,
                                                 const VkMappedMemoryRange *ranges)
{
    (void)device;
    return move(count, ranges, false);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (info->flags) return strict_violation("a sparse or protected buffer");
    VkResult r = strict.real.CreateBuffer(device, info, callbacks, out);
    if (r < 0) return r;
    strict_object *b = strict_add(STRICT_BUFFER, STRICT_HANDLE(*out));
    if (b) {
        b->size = info->size;
        return r;
    }
    strict.real.DestroyBuffer(device, *out, callbacks);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL strict_destroy_buffer(VkDevice device, VkBuffer buffer,
                                                 const VkAllocationCallbacks *callbacks)
{
    strict_remove(STRICT_BUFFER, STRICT_HANDLE(buffer));
    strict.real.DestroyBuffer(device, buffer, callbacks);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_bind_buffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (offset % STRICT_ATOM)
        return strict_violation("a buffer at byte %llu of its memory: its alignment is %d",
                                (unsigned long long)offset, STRICT_ATOM);
    return strict.real.BindBufferMemory(device, buffer, memory, offset);
}
