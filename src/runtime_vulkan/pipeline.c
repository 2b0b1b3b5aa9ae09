/* SPDX-License-Identifier: Apache-2.0 */
/* Compute pipelines. */
#include <string.h>

#include "runtime_vulkan/plan.h"

#define SPIRV_MAGIC 0x07230203u
#define SPIRV_HEADER 5
#define OP_ENTRY_POINT 15
#define EXECUTION_MODEL_GLCOMPUTE 5

/* Highest SPIR-V version that every device of this Vulkan version takes. */
static uint32_t spirv_version(uint32_t api)
{
    if (api >= VK_API_VERSION_1_3) return 0x00010600;
    if (api >= VK_API_VERSION_1_2) return 0x00010500;
    return 0x00010300;
}

/* The name operand of OpEntryPoint: little-endian bytes, 0-terminated inside the instruction. */
static bool entry_is(const uint32_t *operands, uint32_t count, const char *name)
{
    size_t length = strlen(name);
    if (count < 3 || operands[0] != EXECUTION_MODEL_GLCOMPUTE) return false;
    const char *text = (const char *)(operands + 2);
    size_t room = (count - 2) * sizeof(uint32_t);
    return length < room && memcmp(text, name, length + 1) == 0;
}

gpuc_status gpuc_vk_spirv_check(const gpuc_vk_device *dev, const char *name, const uint32_t *words,
                                size_t count)
{
    if (count < SPIRV_HEADER || words[0] != SPIRV_MAGIC)
        return gpuc_fail(GPUC_INVALID_DATA, "kernel %s: its code is not SPIR-V", name);
    if (words[1] > spirv_version(dev->caps.api_version))
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "kernel %s: SPIR-V %u.%u is too new for a device of Vulkan %s", name,
                         words[1] >> 16 & 0xff, words[1] >> 8 & 0xff, dev->caps.api_text);
    bool found = false;
    for (size_t at = SPIRV_HEADER; at < count;) {
        uint32_t length = words[at] >> 16;
        if (!length || length > count - at)
            return gpuc_fail(GPUC_INVALID_DATA, "kernel %s: the SPIR-V instruction at word %zu is cut off",
                             name, at);
        if ((words[at] & 0xffff) == OP_ENTRY_POINT && entry_is(words + at + 1, length - 1, name))
            found = true;
        at += length;
    }
    if (!found)
        return gpuc_fail(GPUC_INVALID_DATA, "kernel %s: its SPIR-V has no entry point of that name", name);
    return NULL;
}

static gpuc_status create_one(gpuc_vk_device *dev, gpuc_vk_kernel *k)
{
    VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = (size_t)k->code->num_words * sizeof(uint32_t),
        .pCode = k->code->words,
    };
    VkShaderModule module;
    GPUC_VK_TRY("vkCreateShaderModule", dev->fn.CreateShaderModule(dev->handle, &code, dev->host, &module));
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = k->meta->subgroup_size,
    };
    bool sized = k->meta->subgroup_size != 0;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage =
            {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = sized ? &subgroup : NULL,
                .flags = sized ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = k->code->name,
            },
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE, /* windows and parts of plans cut launches */
        .layout = k->layout->pipeline,
    };
    VkResult r = dev->fn.CreateComputePipelines(dev->handle, dev->cache, 1, &info, dev->host, &k->pipeline);
    dev->fn.DestroyShaderModule(dev->handle, module, dev->host);
    if (r < 0) k->pipeline = VK_NULL_HANDLE;
    GPUC_VK_TRY("vkCreateComputePipelines", r);
    gpuc_vk_name_object(dev, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)k->pipeline, k->meta->name);
    return NULL;
}

static bool same_pipeline(const gpuc_vk_kernel *a, const gpuc_vk_kernel *b)
{
    return a->code == b->code && a->layout == b->layout && a->meta->subgroup_size == b->meta->subgroup_size;
}

gpuc_status gpuc_vk_pipelines_create(gpuc_vk_module *m)
{
    for (uint32_t k = 0; k < m->num_kernels; k++) {
        gpuc_vk_kernel *kernel = &m->kernels[k];
        while (!same_pipeline(&m->kernels[kernel->owner], kernel)) kernel->owner++;
        if (kernel->owner == k)
            GPUC_TRY(gpuc_error_prefix(create_one(m->dev, kernel), "kernel %s", kernel->meta->name));
        kernel->pipeline = m->kernels[kernel->owner].pipeline;
    }
    return NULL;
}
