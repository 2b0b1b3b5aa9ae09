/* SPDX-License-Identifier: Apache-2.0 */
/* Loads modules of type "spirv" (abi/code.h), and checks kernels against the device's limits. */
#include <string.h>

#include "base/size.h"
#include "runtime_vulkan/device.h"

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
    out->param_bytes = gpuc_abi_kernel_param_layout(k, offsets);
    out->scalar_offsets = offsets;
    if (out->num_values) {
        out->values_offset = (uint32_t)gpuc_align_up(out->param_bytes, sizeof(uint32_t));
        out->param_bytes = out->values_offset + out->num_values * (uint32_t)sizeof(uint32_t);
    }
    GPUC_TRY(gpuc_vk_layout_get(m->dev, k, out->param_bytes, &out->layout));
    out->num_texels = (uint32_t)__builtin_popcountll(out->layout->texels);
    out->num_sampled = (uint32_t)__builtin_popcountll(out->layout->sampled);
    out->num_written = (uint32_t)__builtin_popcountll(out->layout->written);
    return NULL;
}

static gpuc_status load(gpuc_vk_module *m, const void *bytes, size_t size, const gpuc_kernel *const *kernels)
{
    gpuc_spirv_module code;
    m->kernels = gpuc_arena_alloc_array(&m->arena, m->num_kernels, sizeof *m->kernels);
    if (!m->kernels) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    GPUC_TRY(gpuc_abi_spirv_read(bytes, size, &m->arena, &code));
    for (uint32_t k = 0; k < m->num_kernels; k++) {
        gpuc_vk_kernel *kernel = &m->kernels[k];
        gpuc_spirv_kernel found = gpuc_abi_spirv_find(&code, kernels[k]->name);
        if (!found.code)
            return gpuc_fail(GPUC_INVALID_DATA, "there is no code for kernel %s", kernels[k]->name);
        kernel->code = found.code;
        kernel->num_values = found.shared ? found.shared->num_values : 0;
        kernel->values = found.shared ? found.shared->values : NULL;
        GPUC_TRY(gpuc_vk_spirv_check(m->dev, found.code->name, found.code->words, found.code->num_words));
        gpuc_status s = init_kernel(m, kernels[k], kernel);
        if (s) return gpuc_error_prefix(s, "kernel %s", kernels[k]->name);
    }
    return gpuc_vk_pipelines_create(m);
}

static void destroy(gpuc_vk_module *m)
{
    gpuc_vk_device *dev = m->dev;
    for (uint32_t k = 0; m->kernels && k < m->num_kernels; k++)
        if (m->kernels[k].pipeline && m->kernels[k].owner == k)
            dev->fn.DestroyPipeline(dev->handle, m->kernels[k].pipeline, dev->host);
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
