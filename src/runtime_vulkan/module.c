/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of type "spirv": u32 count, then per kernel its name (gpuc_buf_lstr), u32 number of
 * words, the words. Each kernel is a SPIR-V module of its own. */
#include <string.h>

#include "runtime_vulkan/vk.h"

static gpuc_status check_limits(const gpuc_vk_device *dev, const gpuc_kernel *k)
{
    const VkPhysicalDeviceLimits *limits = &dev->caps.props.limits;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!k->local_size[i] || k->local_size[i] > limits->maxComputeWorkGroupSize[i])
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                             "a work-group of %u threads in %c is needed, the device has %u",
                             k->local_size[i], "xyz"[i], limits -> maxComputeWorkGroupSize[i]);
        threads *= k->local_size[i];
    }
    if (threads > limits->maxComputeWorkGroupInvocations)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "a work-group of %llu threads is needed, the device has %u",
                         (unsigned long long)threads, limits->maxComputeWorkGroupInvocations);
    if (k->shared_bytes > limits->maxComputeSharedMemorySize)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%u bytes of shared memory are needed, the device has %u",
                         k->shared_bytes, limits->maxComputeSharedMemorySize);
    uint32_t lacking = k->features & ~dev->caps.features;
    if (lacking)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "the device lacks %s",
                         gpuc_feature_name(lacking & -lacking));
    uint32_t n = k->subgroup_size;
    if (!n) return NULL;
    if (!dev->caps.size_control || n < dev->caps.min_subgroup_size || n > dev->caps.max_subgroup_size ||
        (n & (n - 1)))
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "subgroups of %u are needed, the device can ask for %u to %u", n,
                         dev->caps.min_subgroup_size, dev->caps.max_subgroup_size);
    if (k->local_size[0] % n || threads > (uint64_t)n * dev->caps.max_subgroups)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "a work-group of %u,%u,%u threads is not made of at most %u full subgroups of %u",
                         k->local_size[0], k->local_size[1], k->local_size[2], dev->caps.max_subgroups, n);
    return NULL;
}

static gpuc_status init_kernel(gpuc_vk_module *m, const gpuc_kernel *k, gpuc_vk_kernel *out)
{
    GPUC_TRY(check_limits(m->dev, k));
    uint32_t *offsets = gpuc_arena_alloc(&m->arena, (k->num_scalars + 1) * sizeof(uint32_t));
    if (!offsets) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    out->meta = k;
    out->param_bytes = gpuc_kernel_param_layout(k, offsets);
    out->scalar_offsets = offsets;
    GPUC_TRY(gpuc_vk_layout_get(m->dev, k, out->param_bytes, &out->layout));
    out->num_texels = (uint32_t)__builtin_popcountll(out->layout->texels);
    return NULL;
}

typedef struct code {
    const char *name;
    const uint32_t *words;
    uint32_t num_words;
} code;

/* Words in place, or a copy if the bytes are not aligned for them. */
static gpuc_status read_code(gpuc_vk_module *m, gpuc_reader *r, code *out)
{
    out->name = gpuc_read_lstr(r);
    out->num_words = gpuc_read_count(r, sizeof(uint32_t));
    size_t bytes = (size_t)out->num_words * sizeof(uint32_t);
    const void *words = gpuc_read_bytes(r, bytes);
    if (r->failed || !words) return gpuc_fail(GPUC_INVALID_DATA, "the module ends inside a kernel");
    if ((uintptr_t)words % sizeof(uint32_t)) {
        void *copy = gpuc_arena_alloc(&m->arena, bytes);
        if (!copy) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        words = memcpy(copy, words, bytes);
    }
    out->words = words;
    return NULL;
}

static gpuc_status load(gpuc_vk_module *m, const void *bytes, size_t size, const gpuc_kernel *const *kernels)
{
    gpuc_reader r = {.data = bytes, .size = size};
    uint32_t count = gpuc_read_count(&r, 2 * sizeof(uint32_t));
    if (r.failed) return gpuc_fail(GPUC_INVALID_DATA, "the number of kernels cannot be right");
    m->kernels = gpuc_arena_alloc(&m->arena, (m->num_kernels + 1) * sizeof(gpuc_vk_kernel));
    const uint32_t **words = gpuc_arena_alloc(&m->arena, (m->num_kernels + 1) * sizeof(*words));
    uint32_t *num_words = gpuc_arena_alloc(&m->arena, (m->num_kernels + 1) * sizeof(*num_words));
    if (!m->kernels || !words || !num_words) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        code c = {0};
        GPUC_TRY(read_code(m, &r, &c));
        for (uint32_t k = 0; k < m->num_kernels; k++) {
            if (words[k] || strcmp(kernels[k]->name, c.name) != 0) continue;
            GPUC_TRY(gpuc_vk_spirv_check(m->dev, c.name, c.words, c.num_words));
            words[k] = c.words;
            num_words[k] = c.num_words;
            break;
        }
    }
    for (uint32_t k = 0; k < m->num_kernels; k++) {
        if (!words[k])
            return gpuc_fail(GPUC_INVALID_DATA, "there is no code for kernel %s", kernels[k]->name);
        gpuc_status s = init_kernel(m, kernels[k], &m->kernels[k]);
        if (s) return gpuc_error_prefix(s, "kernel %s", kernels[k]->name);
    }
    return gpuc_vk_pipelines_create(m, words, num_words);
}

static void destroy(gpuc_vk_module *m)
{
    gpuc_vk_device *dev = m->dev;
    for (uint32_t k = 0; m->kernels && k < m->num_kernels; k++)
        if (m->kernels[k].pipeline) dev->fn.DestroyPipeline(dev->handle, m->kernels[k].pipeline, NULL);
    gpuc_arena_deinit(&m->arena);
    gpuc_mem_free(dev->allocator, m, sizeof(*m));
}

gpuc_status gpuc_vk_module_load(gpuc_device *device, const char *type_key, const void *bytes, size_t size,
                                const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                gpuc_code_module **out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    *out = NULL;
    if (strcmp(type_key, "spirv") != 0)
        return gpuc_fail(GPUC_UNSUPPORTED, "the Vulkan device loads modules of type spirv, not %s", type_key);
    gpuc_vk_module *m = gpuc_mem_alloc(dev->allocator, sizeof(*m));
    if (!m) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    m->dev = dev;
    m->num_kernels = num_kernels;
    gpuc_arena_init(&m->arena, dev->allocator);
    gpuc_status s = load(m, bytes, size, kernels);
    if (s) {
        destroy(m);
        return gpuc_error_prefix(s, "SPIR-V module");
    }
    gpuc_vk_cache_store(dev);
    *out = (gpuc_code_module *)m;
    return NULL;
}

void gpuc_vk_module_release(gpuc_device *device, gpuc_code_module *module)
{
    if (!module) return;
    gpuc_status_release(gpuc_vk_wait_all((gpuc_vk_device *)device)); /* a lost device is idle too */
    destroy((gpuc_vk_module *)module);
}

gpuc_status gpuc_vk_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out)
{
    const gpuc_vk_module *m = (const gpuc_vk_module *)module;
    *out = 0;
    for (uint32_t k = 0; k < m->num_kernels; k++)
        if (strcmp(m->kernels[k].meta->name, name) == 0) {
            *out = k;
            return NULL;
        }
    return gpuc_fail(GPUC_NOT_FOUND, "the SPIR-V module has no kernel %s", name);
}
