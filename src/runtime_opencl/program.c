/* SPDX-License-Identifier: Apache-2.0 */
/* Builds an OpenCL program from its source, or from a cached binary. */
#include "runtime_opencl/cl.h"

#include <string.h>

#include "base/buf.h"

#define LOG_LINES 12
#define LOG_BYTES 2000

static void append_names(gpuc_buf *buf, const gpuc_cl_program *p)
{
    const gpuc_opencl_source *s = p->source;
    for (uint32_t i = 0; i < s->num_functions && i < 4; i++)
        gpuc_buf_printf(buf, "%s%s", i ? ", " : "", s->functions[i].kernel);
    if (s->num_functions > 4) gpuc_buf_printf(buf, " and %u more", s->num_functions - 4);
}

static void append_log(gpuc_buf *buf, gpuc_cl_device *dev, cl_program handle)
{
    size_t size = 0;
    if (dev->fn->GetProgramBuildInfo(handle, dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS ||
        size == 0)
        return;
    char *log = gpuc_mem_alloc(dev->allocator, size + 1);
    if (!log) return;
    if (dev->fn->GetProgramBuildInfo(handle, dev->id, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    const char *p = log;
    for (int line = 0; *p && line < LOG_LINES && p - log < LOG_BYTES; line++) {
        size_t n = strcspn(p, "\n");
        gpuc_buf_printf(buf, "\n  %.*s", (int)(n < 300 ? n : 300), p);
        p += n + (p[n] == '\n');
    }
    if (*p) gpuc_buf_str(buf, "\n  ...");
    gpuc_mem_free(dev->allocator, log, size + 1);
}

static gpuc_status build_failure(gpuc_cl_device *dev, const gpuc_cl_program *p, cl_int error)
{
    gpuc_buf names, log;
    gpuc_buf_init(&names, dev->allocator);
    gpuc_buf_init(&log, dev->allocator);
    append_names(&names, p);
    append_log(&log, dev, p->handle);
    gpuc_status s =
        gpuc_fail(error == CL_OUT_OF_HOST_MEMORY ? GPUC_OUT_OF_MEMORY : GPUC_INVALID_DATA,
                  "'%s' cannot build the OpenCL kernels %s: clBuildProgram: %s (%d)%s", dev->caps.name,
                  gpuc_buf_cstr(&names), gpuc_cl_error_name(error), (int)error, gpuc_buf_cstr(&log));
    gpuc_buf_deinit(&names);
    gpuc_buf_deinit(&log);
    return s;
}

static void drop_handle(gpuc_cl_device *dev, gpuc_cl_program *p)
{
    if (p->handle) dev->fn->ReleaseProgram(p->handle);
    p->handle = NULL;
}

/* Some drivers accept a foreign binary and only fail when a kernel is made. */
static bool has_all_kernels(gpuc_cl_device *dev, const gpuc_cl_program *p)
{
    for (uint32_t i = 0; i < p->source->num_functions; i++) {
        cl_int error;
        cl_kernel k = dev->fn->CreateKernel(p->handle, p->source->functions[i].name, &error);
        if (!k) return false;
        dev->fn->ReleaseKernel(k);
    }
    return true;
}

static bool reject(gpuc_cl_device *dev)
{
    gpuc_runtime_log(dev->base.runtime, GPUC_LOG_INFO, "opencl.cache",
                     "'%s' did not accept a cached program binary; it is built from source", dev->caps.name);
    return false;
}

static bool build_from_binary(gpuc_cl_device *dev, gpuc_cl_program *p, const char *key)
{
    const void *entry;
    size_t entry_size, size;
    if (!gpuc_runtime_cache_load(dev->base.runtime, key, &entry, &entry_size)) return false;
    const unsigned char *binary = gpuc_cl_cache_open(key, entry, entry_size, &size);
    if (!binary) return reject(dev);
    cl_int error = CL_SUCCESS, binary_error = CL_SUCCESS;
    p->handle =
        dev->fn->CreateProgramWithBinary(dev->context, 1, &dev->id, &size, &binary, &binary_error, &error);
    if (!p->handle) return reject(dev);
    if (binary_error != CL_SUCCESS || error != CL_SUCCESS ||
        dev->fn->BuildProgram(p->handle, 1, &dev->id, p->options, NULL, NULL) != CL_SUCCESS ||
        !has_all_kernels(dev, p)) {
        drop_handle(dev, p);
        return reject(dev);
    }
    return true;
}

gpuc_status gpuc_cl_program_build(gpuc_cl_device *dev, gpuc_cl_program *p)
{
    char key[GPUC_CL_CACHE_KEY];
    gpuc_cl_cache_key(dev, p, key);
    if (build_from_binary(dev, p, key)) return NULL;
    if (!dev->caps.has_compiler)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "'%s' has no compiler for OpenCL C, and the cache has no binary for it",
                         dev->caps.name);
    const char *source = p->source->text;
    cl_int error;
    p->handle = dev->fn->CreateProgramWithSource(dev->context, 1, &source, NULL, &error);
    if (!p->handle) return gpuc_cl_fail("clCreateProgramWithSource", error);
    error = dev->fn->BuildProgram(p->handle, 1, &dev->id, p->options, NULL, NULL);
    if (error != CL_SUCCESS) {
        gpuc_status s = build_failure(dev, p, error);
        drop_handle(dev, p);
        return s;
    }
    if (gpuc_runtime_get_desc(dev->base.runtime)->cache_store && !dev->caps.is_pocl)
        gpuc_cl_cache_put(dev, key, p->handle);
    return NULL;
}
