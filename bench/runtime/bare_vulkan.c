/* SPDX-License-Identifier: Apache-2.0 */
/* vkCmdBindPipeline, descriptors, push constants, a barrier and vkCmdDispatch into one command buffer. */
#include <stdlib.h>

#include "launches.h"
#include "runtime_vulkan/plan.h"

enum { SETS = 1000 };

typedef struct state {
    launches *l;
    gpuc_vk_device *dev;
    const gpuc_vk_kernel *kernel;
    gpuc_arena arena;
    gpuc_vk_views views;
    gpuc_vk_bound_step bound; /* what gpuc binds: the same ranges and parameters */
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkDescriptorPool descriptors, first; /* of a chain; of the binding, which is not used */
} state;

static gpuc_status bind(state *s)
{
    gpuc_vk_steps steps = {.dev = s->dev, .arena = &s->arena};
    gpuc_vk_slot slots[3];
    const gpuc_bindings bindings = {.slots = s->l->slots, .count = 3};
    GPUC_TRY(gpuc_vk_add_given(&steps, &s->l->step));
    for (int i = 0; i < 3; i++) GPUC_TRY(gpuc_vk_resolve(s->dev, &bindings, &s->l->tensors[i], &slots[i]));
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    GPUC_VK_TRY("vkCreateDescriptorPool",
                s->dev->fn.CreateDescriptorPool(s->dev->handle, &info, NULL, &s->first));
    gpuc_vk_binder binder = {
        .dev = s->dev, .arena = &s->arena, .slots = slots, .views = &s->views, .descriptors = s->first};
    s->kernel = steps.list[0].kernel;
    return gpuc_vk_bind_step(&binder, &steps.list[0], &s->bound);
}

static gpuc_status open_bare(launches *l, void **out)
{
    state *s = calloc(1, sizeof *s);
    *out = s;
    s->l = l;
    gpuc_vk_device *dev = s->dev = (gpuc_vk_device *)l->dev;
    gpuc_arena_init(&s->arena, dev->allocator);
    GPUC_TRY(bind(s));
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = dev->caps.queue_family};
    GPUC_VK_TRY("vkCreateCommandPool", dev->fn.CreateCommandPool(dev->handle, &pool, NULL, &s->pool));
    VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = s->pool,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = 1};
    GPUC_VK_TRY("vkAllocateCommandBuffers",
                dev->fn.AllocateCommandBuffers(dev->handle, &buffers, &s->commands));
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    GPUC_VK_TRY("vkCreateFence", dev->fn.CreateFence(dev->handle, &fence, NULL, &s->fence));
    return NULL;
}

static gpuc_status begin(void *self)
{
    state *s = self;
    gpuc_vk_device *dev = s->dev;
    if (s->descriptors) dev->fn.DestroyDescriptorPool(dev->handle, s->descriptors, NULL);
    s->descriptors = VK_NULL_HANDLE;
    if (!s->kernel->layout->pushed) {
        VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * SETS};
        VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = SETS,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = &size};
        GPUC_VK_TRY("vkCreateDescriptorPool",
                    dev->fn.CreateDescriptorPool(dev->handle, &info, NULL, &s->descriptors));
    }
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    GPUC_VK_TRY("vkBeginCommandBuffer", dev->fn.BeginCommandBuffer(s->commands, &info));
    return NULL;
}

static void give_descriptors(state *s)
{
    gpuc_vk_device *dev = s->dev;
    const gpuc_vk_layout *l = s->kernel->layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    VkWriteDescriptorSet writes[8];
    if (!l->pushed) {
        VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = s->descriptors,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &l->set};
        dev->fn.AllocateDescriptorSets(dev->handle, &info, &set);
    }
    for (uint32_t b = 0; b < l->num_storage; b++)
        writes[b] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = b,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &s->bound.buffers[b]};
    if (l->pushed) {
        dev->fn.CmdPushDescriptorSetKHR(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->pipeline, 0,
                                        l->num_storage, writes);
        return;
    }
    dev->fn.UpdateDescriptorSets(dev->handle, l->num_storage, writes, 0, NULL);
    dev->fn.CmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->pipeline, 0, 1, &set, 0,
                                  NULL);
}

static gpuc_status append(void *self, int count)
{
    state *s = self;
    gpuc_vk_device *dev = s->dev;
    const gpuc_vk_layout *l = s->kernel->layout;
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    for (int i = 0; i < count; i++) {
        dev->fn.CmdPipelineBarrier(s->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
        dev->fn.CmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->kernel->pipeline);
        give_descriptors(s);
        if (l->push_bytes)
            dev->fn.CmdPushConstants(s->commands, l->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, l->push_bytes,
                                     s->bound.params);
        dev->fn.CmdDispatch(s->commands, s->l->step.launch[0], 1, 1);
    }
    return NULL;
}

static gpuc_status again(void *self)
{
    state *s = self;
    gpuc_vk_device *dev = s->dev;
    GPUC_VK_TRY("vkResetFences", dev->fn.ResetFences(dev->handle, 1, &s->fence));
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &s->commands};
    GPUC_VK_TRY("vkQueueSubmit", dev->fn.QueueSubmit(dev->queue.handle, 1, &info, s->fence));
    return NULL;
}

static gpuc_status submit(void *self)
{
    state *s = self;
    GPUC_VK_TRY("vkEndCommandBuffer", s->dev->fn.EndCommandBuffer(s->commands));
    return again(self);
}

static gpuc_status wait_for(void *self)
{
    state *s = self;
    gpuc_vk_device *dev = s->dev;
    GPUC_VK_TRY("vkWaitForFences", dev->fn.WaitForFences(dev->handle, 1, &s->fence, VK_TRUE, UINT64_MAX));
    return NULL;
}

static void close_bare(void *self)
{
    state *s = self;
    gpuc_vk_device *dev = s->dev;
    if (s->fence) dev->fn.DestroyFence(dev->handle, s->fence, NULL);
    if (s->pool) dev->fn.DestroyCommandPool(dev->handle, s->pool, NULL);
    if (s->descriptors) dev->fn.DestroyDescriptorPool(dev->handle, s->descriptors, NULL);
    if (s->first) dev->fn.DestroyDescriptorPool(dev->handle, s->first, NULL);
    gpuc_vk_views_destroy(dev, &s->views);
    gpuc_arena_deinit(&s->arena);
    free(s);
}

const bare bare_vulkan = {open_bare, begin, append, submit, again, wait_for, close_bare};
