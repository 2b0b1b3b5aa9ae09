/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts, descriptors, views, pipelines and commands against the limits. */
#include "state.h"

static VkResult check_limit(uint64_t have, uint64_t max, const char *what)
{
    if (have <= max) return VK_SUCCESS;
    return strict_violation("%llu %s, the device has %llu", (unsigned long long)have, what,
                            (unsigned long long)max);
}

/* ---- Layouts --------------------------------------------------------------------------------- */

static VkResult count_descriptors(const VkDescriptorSetLayoutCreateInfo *info, strict_object *out)
{
    if (info->flags) return strict_violation("a descriptor set layout with flags 0x%x", info->flags);
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *b = &info->pBindings[i];
        switch ((int)b->descriptorType) {
        case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER: out->storage += b->descriptorCount; break;
        case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER: out->uniform += b->descriptorCount; break;
        case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
        case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER: out->sampled += b->descriptorCount; break;
        case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE: out->written += b->descriptorCount; break;
        default: return strict_violation("a descriptor of type %d", (int)b->descriptorType);
        }
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_set_layout(VkDevice device,
                                                        const VkDescriptorSetLayoutCreateInfo *info,
                                                        const VkAllocationCallbacks *callbacks,
                                                        VkDescriptorSetLayout *out)
{
    strict_object counts = {0};
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = count_descriptors(info, &counts);
    if (r >= 0) r = strict.real.CreateDescriptorSetLayout(device, info, callbacks, out);
    if (r < 0) return r;
    strict_object *l = strict_add(STRICT_SET_LAYOUT, STRICT_HANDLE(*out));
    if (!l) {
        strict.real.DestroyDescriptorSetLayout(device, *out, callbacks);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    l->storage = counts.storage;
    l->uniform = counts.uniform;
    l->sampled = counts.sampled;
    l->written = counts.written;
    return r;
}

VKAPI_ATTR void VKAPI_CALL strict_destroy_set_layout(VkDevice device, VkDescriptorSetLayout layout,
                                                     const VkAllocationCallbacks *callbacks)
{
    strict_remove(STRICT_SET_LAYOUT, STRICT_HANDLE(layout));
    strict.real.DestroyDescriptorSetLayout(device, layout, callbacks);
}

static VkResult check_stage(const VkPipelineLayoutCreateInfo *info)
{
    const VkPhysicalDeviceLimits *max = &strict_limits;
    uint64_t storage = 0, uniform = 0, sampled = 0, written = 0, push = 0;
    for (uint32_t i = 0; i < info->setLayoutCount; i++) {
        const strict_object *l = strict_find(STRICT_SET_LAYOUT, STRICT_HANDLE(info->pSetLayouts[i]));
        if (!l) continue;
        storage += l->storage;
        uniform += l->uniform;
        sampled += l->sampled;
        written += l->written;
    }
    for (uint32_t i = 0; i < info->pushConstantRangeCount; i++) {
        uint64_t end = (uint64_t)info->pPushConstantRanges[i].offset + info->pPushConstantRanges[i].size;
        if (end > push) push = end;
    }
    const struct {
        uint64_t have, max;
        const char *what;
    } rows[] = {
        {info->setLayoutCount, max->maxBoundDescriptorSets, "descriptor sets"},
        {storage, max->maxPerStageDescriptorStorageBuffers, "storage buffers of a stage"},
        {uniform, max->maxPerStageDescriptorUniformBuffers, "uniform buffers of a stage"},
        {sampled, max->maxPerStageDescriptorSampledImages, "texel buffers of a stage"},
        {written, max->maxPerStageDescriptorStorageImages, "storage images of a stage"},
        {storage + uniform + sampled + written, max->maxPerStageResources, "resources of a stage"},
        {push, max->maxPushConstantsSize, "bytes of push constants"},
    };
    VkResult r = VK_SUCCESS;
    for (size_t i = 0; r >= 0 && i < sizeof rows / sizeof *rows; i++)
        r = check_limit(rows[i].have, rows[i].max, rows[i].what);
    return r;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_pipeline_layout(VkDevice device,
                                                             const VkPipelineLayoutCreateInfo *info,
                                                             const VkAllocationCallbacks *callbacks,
                                                             VkPipelineLayout *out)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = check_stage(info);
    return r < 0 ? r : strict.real.CreatePipelineLayout(device, info, callbacks, out);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static void check_buffer(const VkDescriptorBufferInfo *d, bool is_storage)
{
    const VkPhysicalDeviceLimits *l = &strict_limits;
    const strict_object *b = strict_find(STRICT_BUFFER, STRICT_HANDLE(d->buffer));
    const char *kind = is_storage ? "storage" : "uniform";
    VkDeviceSize align = is_storage ? l->minStorageBufferOffsetAlignment : l->minUniformBufferOffsetAlignment;
    VkDeviceSize max = is_storage ? l->maxStorageBufferRange : l->maxUniformBufferRange;
    if (!b) {
        strict_fatal("a %s descriptor of no buffer", kind);
        return;
    }
    VkDeviceSize range = d->range == VK_WHOLE_SIZE ? b->size - d->offset : d->range;
    if (d->offset % align) strict_fatal("a %s descriptor at byte %llu", kind, (unsigned long long)d->offset);
    if (range > max) strict_fatal("a %s descriptor of %llu bytes", kind, (unsigned long long)range);
    if (d->offset >= b->size || range > b->size - d->offset)
        strict_fatal("a %s descriptor of %llu bytes at %llu, of a buffer of %llu", kind,
                     (unsigned long long)range, (unsigned long long)d->offset, (unsigned long long)b->size);
}

VKAPI_ATTR void VKAPI_CALL strict_update_sets(VkDevice device, uint32_t count,
                                              const VkWriteDescriptorSet *writes, uint32_t num_copies,
                                              const VkCopyDescriptorSet *copies)
{
    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorType type = writes[i].descriptorType;
        bool is_storage = type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        if (!is_storage && type != VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER) continue;
        for (uint32_t k = 0; k < writes[i].descriptorCount; k++)
            check_buffer(&writes[i].pBufferInfo[k], is_storage);
    }
    strict.real.UpdateDescriptorSets(device, count, writes, num_copies, copies);
}

/* Formats of uniform texel buffers that every device has, table "Mandatory format support". */
static const struct {
    VkFormat format;
    uint32_t bytes;
} formats[] = {
    {VK_FORMAT_R8_UNORM, 1},
    {VK_FORMAT_R8_SNORM, 1},
    {VK_FORMAT_R8_UINT, 1},
    {VK_FORMAT_R8_SINT, 1},
    {VK_FORMAT_R8G8_UNORM, 2},
    {VK_FORMAT_R8G8_SNORM, 2},
    {VK_FORMAT_R8G8_UINT, 2},
    {VK_FORMAT_R8G8_SINT, 2},
    {VK_FORMAT_R8G8B8A8_UNORM, 4},
    {VK_FORMAT_R8G8B8A8_SNORM, 4},
    {VK_FORMAT_R8G8B8A8_UINT, 4},
    {VK_FORMAT_R8G8B8A8_SINT, 4},
    {VK_FORMAT_R16_UINT, 2},
    {VK_FORMAT_R16_SINT, 2},
    {VK_FORMAT_R16_SFLOAT, 2},
    {VK_FORMAT_R16G16_UINT, 4},
    {VK_FORMAT_R16G16_SINT, 4},
    {VK_FORMAT_R16G16_SFLOAT, 4},
    {VK_FORMAT_R16G16B16A16_UINT, 8},
    {VK_FORMAT_R16G16B16A16_SINT, 8},
    {VK_FORMAT_R16G16B16A16_SFLOAT, 8},
    {VK_FORMAT_R32_UINT, 4},
    {VK_FORMAT_R32_SINT, 4},
    {VK_FORMAT_R32_SFLOAT, 4},
    {VK_FORMAT_R32G32_UINT, 8},
    {VK_FORMAT_R32G32_SINT, 8},
    {VK_FORMAT_R32G32_SFLOAT, 8},
    {VK_FORMAT_R32G32B32A32_UINT, 16},
    {VK_FORMAT_R32G32B32A32_SINT, 16},
    {VK_FORMAT_R32G32B32A32_SFLOAT, 16},
};

static VkResult check_view(const VkBufferViewCreateInfo *info)
{
    const strict_object *b = strict_find(STRICT_BUFFER, STRICT_HANDLE(info->buffer));
    uint32_t bytes = 0;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format == info->format) bytes = formats[i].bytes;
    if (!bytes) return strict_violation("a texel buffer of format %d", (int)info->format);
    if (info->offset % strict_limits.minTexelBufferOffsetAlignment)
        return strict_violation("a texel buffer at byte %llu", (unsigned long long)info->offset);
    VkDeviceSize range = info->range == VK_WHOLE_SIZE && b ? b->size - info->offset : info->range;
    return check_limit(range / bytes, strict_limits.maxTexelBufferElements, "texels of a buffer");
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_view(VkDevice device, const VkBufferViewCreateInfo *info,
                                                  const VkAllocationCallbacks *callbacks, VkBufferView *out)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = check_view(info);
    return r < 0 ? r : strict.real.CreateBufferView(device, info, callbacks, out);
}

/* ---- Pipelines and commands ------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL strict_create_shader(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkShaderModule *out)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = strict_check_spirv(info->pCode, info->codeSize / sizeof(uint32_t));
    return r < 0 ? r : strict.real.CreateShaderModule(device, info, callbacks, out);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *callbacks,
                                                       VkPipeline *out)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        if ((infos[i].flags & ~(VkPipelineCreateFlags)VK_PIPELINE_CREATE_DISPATCH_BASE) ||
            infos[i].stage.flags || infos[i].stage.pNext || infos[i].pNext)
            return strict_violation("a pipeline with flags or structures beyond Vulkan 1.1");
    return strict.real.CreateComputePipelines(device, cache, count, infos, callbacks, out);
}

VKAPI_ATTR void VKAPI_CALL strict_push_constants(VkCommandBuffer cb, VkPipelineLayout layout,
                                                 VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                                 const void *values)
{
    if ((uint64_t)offset + size > strict_limits.maxPushConstantsSize)
        strict_fatal("%u bytes of push constants at %u", size, offset);
    strict.real.CmdPushConstants(cb, layout, stages, offset, size, values);
}

VKAPI_ATTR void VKAPI_CALL strict_dispatch(VkCommandBuffer cb, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t *max = strict_limits.maxComputeWorkGroupCount;
    if (x > max[0] || y > max[1] || z > max[2])
        strict_fatal("a dispatch of %u x %u x %u work-groups", x, y, z);
    strict.real.CmdDispatch(cb, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL strict_dispatch_base(VkCommandBuffer cb, uint32_t first_x, uint32_t first_y,
                                                uint32_t first_z, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t *max = strict_limits.maxComputeWorkGroupCount;
    if ((uint64_t)first_x + x > max[0] || (uint64_t)first_y + y > max[1] || (uint64_t)first_z + z > max[2])
        strict_fatal("a dispatch of work-groups %u to %u, %u to %u, %u to %u", first_x, first_x + x, first_y,
                     first_y + y, first_z, first_z + z);
    strict.real.CmdDispatchBase(cb, first_x, first_y, first_z, x, y, z);
}
