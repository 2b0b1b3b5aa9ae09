/* SPDX-License-Identifier: Apache-2.0 */
/* Which accesses since the last barrier must be over before the next. */
#ifndef GPUC_RUNTIME_VULKAN_HAZARD_H
#define GPUC_RUNTIME_VULKAN_HAZARD_H

#include "runtime_vulkan/memory.h"

typedef struct gpuc_vk_access {
    uint64_t buffer; /* id */
    uint64_t begin, end;
    bool write;
    VkPipelineStageFlags stage;
} gpuc_vk_access;

#define GPUC_VK_MAX_ACCESSES 256

/* The accesses since the last barrier. When the list is full, or `all` is set, everything conflicts: a
 * barrier too many is harmless. */
typedef struct gpuc_vk_hazards {
    gpuc_vk_access list[GPUC_VK_MAX_ACCESSES];
    uint32_t count;
    bool all;
    VkPipelineStageFlags stages;
    VkAccessFlags writes;
} gpuc_vk_hazards;

/* The state at the head of a command buffer: anything may have run before. */
void gpuc_vk_hazards_init(gpuc_vk_hazards *h);
/* Other stages of the application ran before, too. */
void gpuc_vk_hazards_after(gpuc_vk_hazards *h, VkPipelineStageFlags stages, VkAccessFlags accesses);
/* Orders compute and transfer work so far before these stages and accesses. */
void gpuc_vk_end_barrier(const gpuc_vk_device *dev, VkCommandBuffer cb, VkPipelineStageFlags stages,
                         VkAccessFlags accesses);
bool gpuc_vk_hazards_conflict(const gpuc_vk_hazards *h, const gpuc_vk_access *a, uint32_t n);
void gpuc_vk_hazards_add(gpuc_vk_hazards *h, const gpuc_vk_access *a, uint32_t n);
/* Orders what is in h before everything of `stages` that follows, and empties h. */
void gpuc_vk_hazards_barrier(const gpuc_vk_device *dev, gpuc_vk_hazards *h, VkCommandBuffer cb,
                             VkPipelineStageFlags stages);
/* Makes all writes so far visible to the host. */
void gpuc_vk_host_barrier(const gpuc_vk_device *dev, VkCommandBuffer cb);

#endif
