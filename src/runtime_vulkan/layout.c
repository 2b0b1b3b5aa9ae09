/* SPDX-License-Identifier: Apache-2.0 */
/* Makes descriptor set and pipeline layouts, one for all kernels with equal bindings. */
#include "runtime_vulkan/device.h"

static const struct {
    uint8_t code, bits;
    VkFormat format;
} texel_formats[] = {
    {GPUC_DTYPE_FLOAT, 32, VK_FORMAT_R32G32B32A32_SFLOAT},
    {GPUC_DTYPE_FLOAT, 16, VK_FORMAT_R16G16B16A16_SFLOAT},
    {GPUC_DTYPE_INT, 32, VK_FORMAT_R32G32B32A32_SINT},
    {GPUC_DTYPE_UINT, 32, VK_FORMAT_R32G32B32A32_UINT},
    {GPUC_DTYPE_INT, 16, VK_FORMAT_R16G16B16A16_SINT},
    {GPUC_DTYPE_UINT, 16, VK_FORMAT_R16G16B16A16_UINT},
    {GPUC_DTYPE_INT, 8, VK_FORMAT_R8G8B8A8_SINT},
    {GPUC_DTYPE_UINT, 8, VK_FORMAT_R8G8B8A8_UINT},
    {GPUC_DTYPE_BOOL, 8, VK_FORMAT_R8G8B8A8_UINT},
};

/* Each of these is a uniform texel buffer format that Vulkan requires. */
VkFormat gpuc_vk_texel_format(gpuc_dtype dtype)
{
    for (size_t i = 0; i < sizeof(texel_formats) / sizeof(texel_formats[0]); i++)
        if (texel_formats[i].code == dtype.code && texel_formats[i].bits == dtype.bits)
            return texel_formats[i].format;
    return VK_FORMAT_UNDEFINED;
}

static gpuc_status signature(const gpuc_vk_device *dev, const gpuc_kernel *k, uint32_t param_bytes,
                             gpuc_vk_layout *out)
{
    const VkPhysicalDeviceLimits *limits = &dev->caps.props.limits;
    *out = (gpuc_vk_layout){.num_storage = k->num_bindings, .uniform = GPUC_VK_NO_BINDING};
    if (k->num_bindings > GPUC_VK_MAX_BINDINGS)
        return gpuc_fail(GPUC_UNSUPPORTED, "%u bindings are more than %d", k->num_bindings,
                         GPUC_VK_MAX_BINDINGS);
    if (k->num_bindings > limits->maxPerStageDescriptorStorageBuffers)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%u storage buffers are needed, the device has %u",
                         k->num_bindings, limits->maxPerStageDescriptorStorageBuffers);
    uint32_t end = k->num_bindings, num_texels = 0, num_written = 0;
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        const gpuc_kernel_tensor *tensor = &k->tensors[t];
        if (tensor->image) {
            uint64_t *bits = tensor->access == GPUC_ACCESS_WRITE ? &out->written : &out->sampled;
            if (tensor->binding < k->num_bindings || tensor->binding >= GPUC_VK_MAX_BINDINGS)
                return gpuc_fail(GPUC_INVALID_DATA, "tensor %u cannot be an image at binding %u", t,
                                 tensor->binding);
            *bits |= UINT64_C(1) << tensor->binding;
            num_texels += bits == &out->sampled;
            num_written += bits == &out->written;
            if (tensor->binding >= end) end = tensor->binding + 1;
            continue;
        }
        if (tensor->binding >= k->num_bindings)
            return gpuc_fail(GPUC_INVALID_DATA, "tensor %u has binding %u of %u", t, tensor->binding,
                             k->num_bindings);
        if (!tensor->texel) continue;
        uint32_t b = tensor->texel_binding;
        if (b < k->num_bindings || b >= GPUC_VK_MAX_BINDINGS || gpuc_vk_texel_format(tensor->dtype) == 0)
            return gpuc_fail(GPUC_INVALID_DATA, "tensor %u cannot have a texel view at binding %u", t, b);
        if (b >= end) end = b + 1;
        if (!(out->texels >> b & 1)) num_texels++;
        out->texels |= UINT64_C(1) << b;
    }
    if (num_texels > limits->maxPerStageDescriptorSampledImages)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%u texel buffers and images are needed, the device has %u",
                         num_texels, limits->maxPerStageDescriptorSampledImages);
    if (num_written > limits->maxPerStageDescriptorStorageImages)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%u images are written, the device has %u", num_written,
                         limits->maxPerStageDescriptorStorageImages);
    if (k->params_in_buffer) {
        out->uniform = end++;
        if (param_bytes > limits->maxUniformBufferRange)
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%u bytes of parameters are needed, the device has %u",
                             param_bytes, limits->maxUniformBufferRange);
    } else {
        out->push_bytes = param_bytes;
        if (param_bytes > limits->maxPushConstantsSize)
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                             "%u bytes of push constants are needed, the device has %u", param_bytes,
                             limits->maxPushConstantsSize);
    }
    uint32_t descriptors = k->num_bindings + num_texels + num_written + k->params_in_buffer;
    out->pushed = dev->caps.push_descriptors && !dev->no_push_descriptors && descriptors > 0 &&
                  descriptors <= dev->caps.max_push_descriptors;
    return NULL;
}

static bool same(const gpuc_vk_layout *a, const gpuc_vk_layout *b)
{
    return a->num_storage == b->num_storage && a->texels == b->texels && a->sampled == b->sampled &&
           a->written == b->written && a->uniform == b->uniform && a->push_bytes == b->push_bytes &&
           a->pushed == b->pushed;
}

static uint32_t fill_bindings(const gpuc_vk_layout *l, VkDescriptorSetLayoutBinding *out)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < GPUC_VK_MAX_BINDINGS; b++) {
        VkDescriptorType type;
        if (b < l->num_storage)
            type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        else if (l->texels >> b & 1)
            type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        else if (l->sampled >> b & 1)
            type = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
        else if (l->written >> b & 1)
            type = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
        else
            continue;
        out[n++] = (VkDescriptorSetLayoutBinding){b, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    }
    if (l->uniform != GPUC_VK_NO_BINDING)
        out[n++] = (VkDescriptorSetLayoutBinding){l->uniform, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1,
                                                  VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    return n;
}

static void destroy(gpuc_vk_device *dev, gpuc_vk_layout *l)
{
    if (l->pipeline) dev->fn.DestroyPipelineLayout(dev->handle, l->pipeline, dev->host);
    if (l->set) dev->fn.DestroyDescriptorSetLayout(dev->handle, l->set, dev->host);
    gpuc_mem_free(dev->allocator, l, sizeof(*l));
}

static gpuc_status create(gpuc_vk_device *dev, gpuc_vk_layout *l)
{
    VkDescriptorSetLayoutBinding bindings[GPUC_VK_MAX_BINDINGS + 1];
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = l->pushed ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
        .bindingCount = fill_bindings(l, bindings),
        .pBindings = bindings,
    };
    GPUC_VK_TRY("vkCreateDescriptorSetLayout",
                dev->fn.CreateDescriptorSetLayout(dev->handle, &set, dev->host, &l->set));
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, l->push_bytes};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &l->set,
        .pushConstantRangeCount = l->push_bytes ? 1 : 0,
        .pPushConstantRanges = &push,
    };
    GPUC_VK_TRY("vkCreatePipelineLayout",
                dev->fn.CreatePipelineLayout(dev->handle, &info, dev->host, &l->pipeline));
    return NULL;
}

static gpuc_status find_or_create(gpuc_vk_device *dev, const gpuc_vk_layout *wanted,
                                  const gpuc_vk_layout **out)
{
    for (const gpuc_vk_layout *l = dev->layouts; l; l = l->next)
        if (same(l, wanted)) {
            *out = l;
            return NULL;
        }
    gpuc_vk_layout *l = gpuc_mem_alloc(dev->allocator, sizeof(*l));
    if (!l) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    *l = *wanted;
    gpuc_status s = create(dev, l);
    if (s) {
        destroy(dev, l);
        return s;
    }
    l->next = dev->layouts;
    dev->layouts = l;
    *out = l;
    return NULL;
}

gpuc_status gpuc_vk_layout_get(gpuc_vk_device *dev, const gpuc_kernel *k, uint32_t param_bytes,
                               const gpuc_vk_layout **out)
{
    gpuc_vk_layout wanted;
    *out = NULL;
    GPUC_TRY(signature(dev, k, param_bytes, &wanted));
    pthread_mutex_lock(&dev->module_lock);
    gpuc_status s = find_or_create(dev, &wanted, out);
    pthread_mutex_unlock(&dev->module_lock);
    return s;
}

void gpuc_vk_layouts_destroy(gpuc_vk_device *dev)
{
    while (dev->layouts) {
        gpuc_vk_layout *l = dev->layouts;
        dev->layouts = l->next;
        destroy(dev, l);
    }
}
