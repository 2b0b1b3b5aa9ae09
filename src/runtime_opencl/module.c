/* SPDX-License-Identifier: Apache-2.0 */
/* Creates OpenCL programs and kernels from a module, and checks kernels against the device's limits. */
#include "runtime_opencl/cl.h"

#include <string.h>

#include "base/buf.h"

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for an OpenCL module");
}

static gpuc_status add_option(gpuc_cl_module *m, const char *option, const char **options)
{
    size_t n = strlen(*options), size = n + strlen(option) + 1;
    char *all = gpuc_arena_alloc(&m->arena, size);
    if (!all) return out_of_memory();
    memcpy(all, *options, n);
    memcpy(all + n, option, size - n);
    *options = all;
    return NULL;
}

/* A copy in the module, since the bytes that it was read from need not stay. */
static gpuc_status keep_function(gpuc_cl_module *m, const gpuc_opencl_function *f,
                                 const gpuc_opencl_function **out)
{
    size_t bytes = f->num_values * sizeof *f->values;
    gpuc_opencl_function *copy = gpuc_arena_alloc(&m->arena, sizeof *copy);
    char *name = gpuc_arena_strdup(&m->arena, f->name);
    uint32_t *values = gpuc_arena_alloc(&m->arena, bytes);
    if (!copy || !name || !values) return out_of_memory();
    if (bytes) memcpy(values, f->values, bytes);
    *copy = (gpuc_opencl_function){.name = name, .num_values = f->num_values, .values = values};
    *out = copy;
    return NULL;
}

/* The programs of a module, as its bytes have them, and what is built of each. */
static gpuc_status read_programs(gpuc_cl_module *m, const void *bytes, size_t size, gpuc_opencl_module *out)
{
    GPUC_TRY(gpuc_error_prefix(gpuc_abi_opencl_read(bytes, size, &m->arena, out), "the OpenCL module"));
    m->programs = gpuc_arena_alloc_array(&m->arena, out->num_programs, sizeof *m->programs);
    if (!m->programs) return out_of_memory();
    while (m->num_programs < out->num_programs) {
        gpuc_cl_program *p = &m->programs[m->num_programs];
        p->source = &out->programs[m->num_programs++];
        p->options = p->source->options;
        if (m->dev->caps.is_pocl) GPUC_TRY(add_option(m, " -DGPUC_POCL", &p->options));
    }
    return NULL;
}

/* Builds the program of a kernel, if no kernel before it was in the same. */
static gpuc_status find_program(gpuc_cl_module *m, const gpuc_opencl_module *code, gpuc_cl_kernel *k)
{
    const gpuc_opencl_function *function;
    const gpuc_opencl_source *source = gpuc_abi_opencl_find(code, k->meta->name, &function);
    if (!source)
        return gpuc_fail(GPUC_INVALID_DATA, "the OpenCL module has no program with the kernel '%s'",
                         k->meta->name);
    gpuc_cl_program *p = &m->programs[source - code->programs];
    if (!p->handle) GPUC_TRY(gpuc_cl_program_build(m->dev, p));
    k->program = p->handle;
    k->based = strstr(source->text, "get_global_offset(") != NULL;
    return keep_function(m, function, &k->function);
}

static gpuc_status check_limits(const gpuc_cl_device *dev, const gpuc_kernel *k)
{
    uint32_t missing = k->features & ~dev->caps.features;
    if (missing)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "kernel '%s' needs %s, which '%s' lacks", k->name,
                         gpuc_feature_name((gpuc_feature)(missing & -missing)), dev->caps.name);
    if (k->subgroup_size != 0)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "kernel '%s' needs subgroups of %u; on '%s' the driver chooses their size", k->name,
                         k->subgroup_size, dev->caps.name);
    if (k->shared_bytes > dev->caps.local_bytes)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "kernel '%s' needs %u bytes of local memory, '%s' has %llu",
                         k->name, k->shared_bytes, dev->caps.name, (unsigned long long)dev->caps.local_bytes);
    for (int i = 0; i < 3; i++)
        if (k->local_size[i] > dev->caps.max_items[i])
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                             "kernel '%s' needs a work-group of %u in %c, '%s' allows %zu", k->name,
                             k->local_size[i], "xyz"[i], dev -> caps.name, dev->caps.max_items[i]);
    return NULL;
}

static gpuc_status check_group_size(const gpuc_cl_device *dev, const gpuc_kernel *k, cl_kernel handle)
{
    size_t group = 0, wants = (size_t)k->local_size[0] * k->local_size[1] * k->local_size[2];
    GPUC_CL_TRY("clGetKernelWorkGroupInfo",
                dev->fn->GetKernelWorkGroupInfo(handle, dev->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof group,
                                                &group, NULL));
    if (wants > group)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "kernel '%s' needs a work-group of %zu, '%s' allows it %zu",
                         k->name, wants, dev->caps.name, group);
    return NULL;
}

static gpuc_status check_arguments(const gpuc_cl_device *dev, const gpuc_cl_kernel *k, cl_kernel handle)
{
    const gpuc_kernel *meta = k->meta;
    cl_uint args = 0;
    GPUC_CL_TRY("clGetKernelInfo",
                dev->fn->GetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof args, &args, NULL));
    uint64_t wants = (uint64_t)2 * meta->num_tensors + meta->num_scalars + k->function->num_values;
    if (args != wants)
        return gpuc_fail(GPUC_INVALID_DATA,
                         "kernel '%s' has %u arguments in its source; %u tensors and %u scalars need %llu",
                         meta->name, args, meta->num_tensors, meta->num_scalars + k->function->num_values,
                         (unsigned long long)wants);
    return NULL;
}

static gpuc_status create(const gpuc_cl_device *dev, const gpuc_cl_kernel *k, cl_kernel *out)
{
    cl_int error;
    *out = dev->fn->CreateKernel(k->program, k->function->name, &error);
    return *out ? NULL : gpuc_cl_fail("clCreateKernel", error);
}

gpuc_status gpuc_cl_kernel_create(const gpuc_cl_device *dev, const gpuc_cl_kernel *k, cl_kernel *out)
{
    GPUC_TRY(create(dev, k, out));
    cl_uint first = 2 * k->meta->num_tensors + k->meta->num_scalars;
    for (uint32_t i = 0; i < k->function->num_values; i++) {
        cl_int error = dev->fn->SetKernelArg(*out, first + i, sizeof(cl_int), &k->function->values[i]);
        if (error == CL_SUCCESS) continue;
        dev->fn->ReleaseKernel(*out);
        *out = NULL;
        return gpuc_cl_fail("clSetKernelArg", error);
    }
    return NULL;
}

static gpuc_status check_kernel(const gpuc_cl_device *dev, const gpuc_cl_kernel *k)
{
    cl_kernel handle;
    GPUC_TRY(gpuc_error_prefix(create(dev, k, &handle), "kernel '%s'", k->meta->name));
    gpuc_status s = check_arguments(dev, k, handle);
    if (!s) s = check_group_size(dev, k->meta, handle);
    dev->fn->ReleaseKernel(handle);
    return s;
}

static gpuc_status fill_module(gpuc_cl_module *m, const void *bytes, size_t size,
                               const gpuc_kernel *const *kernels, uint32_t num_kernels)
{
    gpuc_opencl_module code;
    GPUC_TRY(read_programs(m, bytes, size, &code));
    m->kernels = gpuc_arena_alloc_array(&m->arena, num_kernels, sizeof *m->kernels);
    if (!m->kernels) return out_of_memory();
    m->num_kernels = num_kernels;
    for (uint32_t i = 0; i < num_kernels; i++) GPUC_TRY(check_limits(m->dev, kernels[i]));
    for (uint32_t i = 0; i < num_kernels; i++) {
        m->kernels[i].meta = kernels[i];
        GPUC_TRY(find_program(m, &code, &m->kernels[i]));
        GPUC_TRY(check_kernel(m->dev, &m->kernels[i]));
    }
    return NULL;
}

gpuc_status gpuc_cl_module_load(gpuc_device *device, const char *type_key, const void *bytes, size_t size,
                                const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                gpuc_code_module **out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    *out = NULL;
    if (strcmp(type_key, "opencl_c") != 0)
        return gpuc_fail(GPUC_UNSUPPORTED, "the OpenCL device loads modules of kind 'opencl_c', not '%s'",
                         type_key);
    gpuc_cl_module *m = gpuc_mem_alloc(dev->allocator, sizeof *m);
    if (!m) return out_of_memory();
    m->dev = dev;
    gpuc_arena_init(&m->arena, dev->allocator);
    gpuc_status s = fill_module(m, bytes, size, kernels, num_kernels);
    if (s) {
        gpuc_cl_module_release(device, (gpuc_code_module *)m);
        return s;
    }
    *out = (gpuc_code_module *)m;
    return NULL;
}

void gpuc_cl_module_release(gpuc_device *device, gpuc_code_module *module)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_module *m = (gpuc_cl_module *)module;
    if (!m) return;
    for (uint32_t i = 0; i < m->num_kernels; i++)
        while (m->kernels[i].sites) {
            gpuc_cl_site *site = m->kernels[i].sites;
            m->kernels[i].sites = site->next;
            gpuc_cl_site_release(dev, site);
        }
    for (uint32_t i = 0; i < m->num_programs; i++)
        if (m->programs[i].handle) dev->fn->ReleaseProgram(m->programs[i].handle);
    gpuc_arena_deinit(&m->arena);
    gpuc_mem_free(dev->allocator, m, sizeof *m);
}

gpuc_status gpuc_cl_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out)
{
    const gpuc_cl_module *m = (const gpuc_cl_module *)module;
    *out = 0;
    for (uint32_t i = 0; i < m->num_kernels; i++)
        if (strcmp(m->kernels[i].meta->name, name) == 0) {
            *out = i;
            return NULL;
        }
    return gpuc_fail(GPUC_NOT_FOUND, "the module has no kernel '%s'", name);
}
