/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: layouts, SPIR-V modules, pipelines and their cache. */
#ifndef GPUC_RUNTIME_VULKAN_MODULE_H
#define GPUC_RUNTIME_VULKAN_MODULE_H

#include "abi/code.h"
#include "abi/kernel.h"
#include "base/arena.h"
#include "runtime_vulkan/memory.h"

#define GPUC_VK_MAX_BINDINGS 64
#define GPUC_VK_NO_BINDING UINT32_MAX

/* Descriptor and pipeline layout of all kernels with the same signature. */
typedef struct gpuc_vk_layout {
    struct gpuc_vk_layout *next;
    uint32_t num_storage; /* bindings 0 .. num_storage - 1 */
    uint64_t texels;      /* bit per binding that is a texel view */
    uint64_t sampled;     /* the same for images that are read */
    uint64_t written;     /* for those that are written */
    uint32_t uniform;     /* binding of the parameter block, or NO_BINDING */
    uint32_t push_bytes;
    bool pushed; /* push descriptors */
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
} gpuc_vk_layout;

typedef struct gpuc_vk_module gpuc_vk_module;

typedef struct gpuc_vk_kernel {
    const gpuc_kernel *meta;
    const gpuc_vk_layout *layout;
    const gpuc_spirv_code *code; /* until pipelines are made: it is in the bytes that are loaded */
    VkPipeline pipeline;
    uint32_t owner;                    /* the kernel of the module whose pipeline it is */
    uint32_t param_bytes;              /* with the values */
    uint32_t num_texels;               /* distinct texel bindings */
    uint32_t num_sampled, num_written; /* images */
    const uint32_t *scalar_offsets;
    uint32_t num_values, values_offset; /* numbers that the code takes behind the parameters */
    const uint32_t *values;
} gpuc_vk_kernel;

/* The size of the parameter block if it is a uniform buffer. */
static inline VkDeviceSize gpuc_vk_uniform_bytes(const gpuc_vk_kernel *k)
{
    return ((VkDeviceSize)k->param_bytes + 15) / 16 * 16 + (k->param_bytes ? 0 : 16);
}

struct gpuc_vk_module {
    gpuc_vk_device *dev;
    gpuc_arena arena;
    uint32_t num_kernels;
    gpuc_vk_kernel *kernels;
};

/* Finds or makes; layouts live as long as the device. */
GPUC_NODISCARD gpuc_status gpuc_vk_layout_get(gpuc_vk_device *dev, const gpuc_kernel *k, uint32_t param_bytes,
                                              const gpuc_vk_layout **out);
void gpuc_vk_layouts_destroy(gpuc_vk_device *dev);
/* RGBA format of a texel view of elements, or VK_FORMAT_UNDEFINED. */
VkFormat gpuc_vk_texel_format(gpuc_dtype dtype);

/* Checks the words: header, instruction lengths, an entry point of that name for compute. */
GPUC_NODISCARD gpuc_status gpuc_vk_spirv_check(const gpuc_vk_device *dev, const char *name,
                                               const uint32_t *words, size_t count);
/* Kernels of the same code and layout get one pipeline. */
GPUC_NODISCARD gpuc_status gpuc_vk_pipelines_create(gpuc_vk_module *m);

gpuc_status gpuc_vk_module_load(gpuc_device *dev, const char *type_key, const void *bytes, size_t size,
                                const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                gpuc_code_module **out);
void gpuc_vk_module_release(gpuc_device *dev, gpuc_code_module *module);
gpuc_status gpuc_vk_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out);

/* The pipeline cache: made from what cache_load gives, handed to cache_store when it grew. */
GPUC_NODISCARD gpuc_status gpuc_vk_cache_init(gpuc_vk_device *dev);
void gpuc_vk_cache_store(gpuc_device *dev);
void gpuc_vk_cache_deinit(gpuc_vk_device *dev);

#endif
