/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, in blocks that buffers share. */
#ifndef GPUC_RUNTIME_VULKAN_MEMORY_H
#define GPUC_RUNTIME_VULKAN_MEMORY_H

#include <pthread.h>
#include "runtime_vulkan/error.h"

typedef struct gpuc_vk_device gpuc_vk_device;

typedef enum gpuc_vk_use {
    GPUC_VK_USE_TENSOR,  /* device-local; mapped as well where that costs nothing */
    GPUC_VK_USE_STAGING, /* mapped, cached by the host if possible */
    GPUC_VK_USE_UNIFORM, /* mapped, near the device if possible */
    GPUC_VK_USE_COUNT
} gpuc_vk_use;

typedef struct gpuc_vk_range {
    VkDeviceSize offset, size;
} gpuc_vk_range;

/* One VkDeviceMemory. free_ranges is sorted and has room for every range that a free can add. */
typedef struct gpuc_vk_block {
    struct gpuc_vk_block *next;
    VkDeviceMemory memory;
    VkDeviceSize size;
    uint32_t type, num_live;
    bool dedicated;
    bool hooked;       /* a part of memory of the application, which starts at base */
    VkDeviceSize base; /* bytes into the VkDeviceMemory */
    void *id;          /* of the application's hook */
    uint8_t *mapped;   /* address of the byte at base */
    gpuc_vk_range *free_ranges;
    uint32_t num_free, capacity;
} gpuc_vk_block;

typedef struct gpuc_vk_span {
    gpuc_vk_block *block;
    VkDeviceSize offset, size;
} gpuc_vk_span;

typedef struct gpuc_vk_memory {
    pthread_mutex_t lock;
    gpuc_vk_block *blocks[VK_MAX_MEMORY_TYPES];
    uint32_t ranking[GPUC_VK_USE_COUNT][VK_MAX_MEMORY_TYPES]; /* types, best first */
    uint32_t num_ranked[GPUC_VK_USE_COUNT];
    uint32_t num_allocations;
    uint64_t allocated_bytes;
    bool fell_back; /* and the log says so */
} gpuc_vk_memory;

void gpuc_vk_memory_init(gpuc_vk_device *dev);
void gpuc_vk_memory_deinit(gpuc_vk_device *dev);
GPUC_NODISCARD gpuc_status gpuc_vk_memory_alloc(gpuc_vk_device *dev, const VkMemoryRequirements *need,
                                                gpuc_vk_use use, gpuc_vk_span *out);
/* Memory of its own, with a chain for vkAllocateMemory: to export or to import. */
GPUC_NODISCARD gpuc_status gpuc_vk_memory_alloc_shared(gpuc_vk_device *dev, const VkMemoryRequirements *need,
                                                       gpuc_vk_use use, void *next, gpuc_vk_span *out);
void gpuc_vk_memory_free(gpuc_vk_device *dev, gpuc_vk_span *span);
uint8_t *gpuc_vk_span_mapped(const gpuc_vk_span *span); /* NULL if the host cannot see it */
/* What the driver tells of each heap; zeros if it does not. */
void gpuc_vk_memory_budget(const gpuc_vk_device *dev, VkPhysicalDeviceMemoryBudgetPropertiesEXT *out);
/* Bytes that are allocated in each heap. */
void gpuc_vk_memory_by_heap(gpuc_vk_device *dev, uint64_t out[VK_MAX_MEMORY_HEAPS]);
VkMemoryPropertyFlags gpuc_vk_span_flags(const gpuc_vk_device *dev, const gpuc_vk_span *span);
/* Whether the host works on memory with these flags as on its own: it need not flush, and reads are not over a bus. */
bool gpuc_vk_is_unified(const gpuc_vk_device *dev, VkMemoryPropertyFlags flags);
/* Flushes mapped memory that is not coherent; does nothing for other memory. */
GPUC_NODISCARD gpuc_status gpuc_vk_span_flush(gpuc_vk_device *dev, const gpuc_vk_span *span,
                                              VkDeviceSize offset, VkDeviceSize size);
GPUC_NODISCARD gpuc_status gpuc_vk_span_invalidate(gpuc_vk_device *dev, const gpuc_vk_span *span,
                                                   VkDeviceSize offset, VkDeviceSize size);

#endif
