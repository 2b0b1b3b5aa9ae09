/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a barrier is needed. Accesses are compared by the ranges of their descriptors, as the
 * synchronization layer does. */
#include "runtime_vulkan/device.h"

#define COMPUTE_WRITE VK_ACCESS_SHADER_WRITE_BIT
#define TRANSFER_WRITE VK_ACCESS_TRANSFER_WRITE_BIT

void gpuc_vk_hazards_init(gpuc_vk_hazards *h)
{
    h->count = 0;
    h->all = true;
    h->stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    h->writes = COMPUTE_WRITE | TRANSFER_WRITE;
}

void gpuc_vk_hazards_after(gpuc_vk_hazards *h, VkPipelineStageFlags stages, VkAccessFlags accesses)
{
    h->stages |= stages;
    h->writes |= accesses;
}

bool gpuc_vk_hazards_conflict(const gpuc_vk_hazards *h, const gpuc_vk_access *a, uint32_t n)
{
    if (h->all) return true;
    if (h->count && h->count + n > GPUC_VK_MAX_ACCESSES) return true;
    for (uint32_t i = 0; i < h->count; i++)
        for (uint32_t j = 0; j < n; j++)
            if (h->list[i].buffer == a[j].buffer && (h->list[i].write || a[j].write) &&
                h->list[i].begin < a[j].end && a[j].begin < h->list[i].end)
                return true;
    return false;
}

void gpuc_vk_hazards_add(gpuc_vk_hazards *h, const gpuc_vk_access *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        h->stages |= a[i].stage;
        if (a[i].write)
            h->writes |= a[i].stage == VK_PIPELINE_STAGE_TRANSFER_BIT ? TRANSFER_WRITE : COMPUTE_WRITE;
        if (h->count == GPUC_VK_MAX_ACCESSES)
            h->all = true;
        else
            h->list[h->count++] = a[i];
    }
}

void gpuc_vk_hazards_barrier(const gpuc_vk_device *dev, gpuc_vk_hazards *h, VkCommandBuffer cb,
                             VkPipelineStageFlags stages)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = h->writes};
    if (!h->stages) return;
    if (stages & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT)
        barrier.dstAccessMask |= VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    if (stages & VK_PIPELINE_STAGE_TRANSFER_BIT)
        barrier.dstAccessMask |= VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    /* After reads alone, an execution dependency is enough. */
    dev->fn.CmdPipelineBarrier(cb, h->stages, stages, 0, h->writes ? 1 : 0, &barrier, 0, NULL, 0, NULL);
    h->count = 0;
    h->all = false;
    h->stages = 0;
    h->writes = 0;
}

void gpuc_vk_end_barrier(const gpuc_vk_device *dev, VkCommandBuffer cb, VkPipelineStageFlags stages,
                         VkAccessFlags accesses)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = COMPUTE_WRITE | TRANSFER_WRITE,
        .dstAccessMask = accesses,
    };
    dev->fn.CmdPipelineBarrier(cb, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                               stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

void gpuc_vk_host_barrier(const gpuc_vk_device *dev, VkCommandBuffer cb)
{
    gpuc_vk_end_barrier(dev, cb, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}
