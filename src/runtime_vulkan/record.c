/* SPDX-License-Identifier: Apache-2.0 */
/* Records steps into command buffers: of a plan into its own, of a launch into the open batch. */
#include "runtime_vulkan/plan.h"

static uint32_t fill_writes(const gpuc_vk_layout *l, const gpuc_vk_bound_step *s, VkDescriptorSet set,
                            VkWriteDescriptorSet *out)
{
    uint32_t n = 0, texel = 0, image = 0;
    for (uint32_t b = 0; b < l->num_storage; b++)
        out[n++] = (VkWriteDescriptorSet){.dstBinding = b,
                                          .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                          .pBufferInfo = &s->buffers[b]};
    for (uint32_t b = l->num_storage; b < GPUC_VK_MAX_BINDINGS; b++) {
        if (l->texels >> b & 1)
            out[n++] = (VkWriteDescriptorSet){.dstBinding = b,
                                              .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                                              .pTexelBufferView = &s->texels[texel++]};
        if ((l->sampled | l->written) >> b & 1)
            out[n++] = (VkWriteDescriptorSet){.dstBinding = b,
                                              .descriptorType = l->sampled >> b & 1
                                                                    ? VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE
                                                                    : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                              .pImageInfo = &s->images[image++]};
    }
    if (l->uniform != GPUC_VK_NO_BINDING)
        out[n++] = (VkWriteDescriptorSet){.dstBinding = l->uniform,
                                          .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                          .pBufferInfo = &s->buffers[l->num_storage]};
    for (uint32_t i = 0; i < n; i++) {
        out[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        out[i].dstSet = set;
        out[i].descriptorCount = 1;
    }
    return n;
}

void gpuc_vk_update_set(gpuc_vk_device *dev, const gpuc_vk_layout *l, const gpuc_vk_bound_step *s)
{
    VkWriteDescriptorSet writes[GPUC_VK_MAX_BINDINGS + 1];
    uint32_t n = fill_writes(l, s, s->set, writes);
    dev->fn.UpdateDescriptorSets(dev->handle, n, writes, 0, NULL);
}

static void dispatch(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_vk_step *step,
                     const gpuc_vk_bound_step *s)
{
    const gpuc_vk_kernel *k = step->kernel;
    const gpuc_vk_layout *l = k->layout;
    if (l->pushed) {
        VkWriteDescriptorSet writes[GPUC_VK_MAX_BINDINGS + 1];
        uint32_t n = fill_writes(l, s, VK_NULL_HANDLE, writes);
        dev->fn.CmdPushDescriptorSetKHR(cb, VK_PIPELINE_BIND_POINT_COMPUTE, l->pipeline, 0, n, writes);
    } else if (s->set) {
        dev->fn.CmdBindDescriptorSets(cb, VK_PIPELINE_BIND_POINT_COMPUTE, l->pipeline, 0, 1, &s->set, 0,
                                      NULL);
    }
    if (l->push_bytes)
        dev->fn.CmdPushConstants(cb, l->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, l->push_bytes, s->params);
    const uint32_t *from = step->first, *n = step->launch;
    if (from[0] || from[1] || from[2])
        dev->fn.CmdDispatchBase(cb, from[0], from[1], from[2], n[0], n[1], n[2]);
    else
        dev->fn.CmdDispatch(cb, n[0], n[1], n[2]);
}

/* The end of a step, after everything before it: also the start of the next. */
void gpuc_vk_timestamp(const gpuc_vk_device *dev, VkCommandBuffer cb, VkQueryPool queries, uint32_t number)
{
    if (queries) dev->fn.CmdWriteTimestamp(cb, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, number);
}

void gpuc_vk_label_begin(const gpuc_vk_device *dev, VkCommandBuffer cb, const char *label)
{
    if (!label || !dev->vk->debug_utils || !dev->fn.CmdBeginDebugUtilsLabelEXT) return;
    VkDebugUtilsLabelEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = label};
    dev->fn.CmdBeginDebugUtilsLabelEXT(cb, &info);
}

void gpuc_vk_label_end(const gpuc_vk_device *dev, VkCommandBuffer cb, const char *label)
{
    if (label && dev->vk->debug_utils && dev->fn.CmdEndDebugUtilsLabelEXT)
        dev->fn.CmdEndDebugUtilsLabelEXT(cb);
}

void gpuc_vk_record_step(const gpuc_vk_device *dev, const gpuc_vk_recorder *r, const gpuc_vk_step *step,
                         const gpuc_vk_bound_step *s)
{
    bool first_barrier = r->hazards->all && !r->hazards->count;
    bool wanted = first_barrier || !dev->no_barriers;
    if (wanted && (r->one_by_one || gpuc_vk_hazards_conflict(r->hazards, s->accesses, s->num_accesses)))
        gpuc_vk_hazards_barrier(dev, r->hazards, r->commands, r->stages);
    gpuc_vk_hazards_add(r->hazards, s->accesses, s->num_accesses);
    gpuc_vk_label_begin(dev, r->commands, step->label);
    if (step->kernel) {
        if (step->kernel->pipeline != *r->pipeline)
            dev->fn.CmdBindPipeline(r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, step->kernel->pipeline);
        *r->pipeline = step->kernel->pipeline;
        dispatch(dev, r->commands, step, s);
    } else if (s->from_image || s->to_image) {
        gpuc_vk_image_record_copy(dev, r->commands, s);
    } else {
        dev->fn.CmdCopyBuffer(r->commands, s->copy_from, s->copy_to, 1, &s->copy);
    }
    gpuc_vk_label_end(dev, r->commands, step->label);
}

void gpuc_vk_batch_step_locked(gpuc_vk_device *dev, const gpuc_vk_step *step, const gpuc_vk_bound_step *s)
{
    gpuc_vk_queue *q = &dev->queue;
    gpuc_vk_recorder r = {.commands = q->batch.commands,
                          .hazards = &q->hazards,
                          .stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                          .pipeline = &q->pipeline};
    gpuc_vk_record_step(dev, &r, step, s);
    q->cost += gpuc_vk_step_cost(step);
    q->num_steps++;
}

void gpuc_vk_record_steps(gpuc_vk_plan *plan, const gpuc_vk_bound *b, VkCommandBuffer cb, uint32_t first,
                          uint32_t end, VkQueryPool queries, gpuc_vk_hazards *hazards)
{
    const gpuc_vk_device *dev = plan->dev;
    VkPipeline pipeline = VK_NULL_HANDLE;
    gpuc_vk_recorder r = {.commands = cb,
                          .hazards = hazards,
                          .stages = plan->stages,
                          .pipeline = &pipeline,
                          .one_by_one = queries != VK_NULL_HANDLE}; /* timed steps */
    for (uint32_t i = first; i < end; i++) {
        if (!plan->steps.list[i].empty) gpuc_vk_record_step(dev, &r, &plan->steps.list[i], &b->steps[i]);
        gpuc_vk_timestamp(dev, cb, queries, i + 1);
    }
}

static gpuc_status record_cut(gpuc_vk_plan *plan, gpuc_vk_bound *b, uint32_t number, gpuc_vk_hazards *hazards)
{
    const gpuc_vk_device *dev = plan->dev;
    VkCommandBuffer cb = b->commands[number];
    /* A run may be queued again before the last one has finished. */
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
    };
    GPUC_VK_TRY("vkBeginCommandBuffer", dev->fn.BeginCommandBuffer(cb, &begin));
    if (number == 0 && b->queries) {
        dev->fn.CmdResetQueryPool(cb, b->queries, 0, plan->steps.count + 1);
        gpuc_vk_timestamp(dev, cb, b->queries, 0);
    }
    gpuc_vk_record_steps(plan, b, cb, number ? plan->cuts[number - 1] : 0, plan->cuts[number], b->queries,
                         hazards);
    if (number + 1 == plan->num_cuts) gpuc_vk_host_barrier(dev, cb);
    GPUC_VK_TRY("vkEndCommandBuffer", dev->fn.EndCommandBuffer(cb));
    return NULL;
}

gpuc_status gpuc_vk_record(gpuc_vk_plan *plan, gpuc_vk_bound *b)
{
    gpuc_vk_device *dev = plan->dev;
    if (!b->commands[0]) {
        VkCommandBufferAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = plan->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = plan->num_cuts,
        };
        VkResult r = dev->fn.AllocateCommandBuffers(dev->handle, &info, b->commands);
        if (r < 0) b->commands[0] = VK_NULL_HANDLE;
        GPUC_VK_TRY("vkAllocateCommandBuffers", r);
    }
    if (plan->profiling && dev->caps.timestamp_bits && !b->queries) {
        VkQueryPoolCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
            .queryType = VK_QUERY_TYPE_TIMESTAMP,
            .queryCount = plan->steps.count + 1,
        };
        GPUC_VK_TRY("vkCreateQueryPool", dev->fn.CreateQueryPool(dev->handle, &info, dev->host, &b->queries));
    }
    gpuc_vk_hazards hazards;
    gpuc_vk_hazards_init(&hazards);
    gpuc_status s = NULL;
    for (uint32_t i = 0; i < plan->num_cuts && !s; i++) s = record_cut(plan, b, i, &hazards);
    b->recorded = !s;
    if (s) {
        dev->fn.FreeCommandBuffers(dev->handle, plan->pool, plan->num_cuts, b->commands);
        b->commands[0] = VK_NULL_HANDLE;
    }
    return s;
}
