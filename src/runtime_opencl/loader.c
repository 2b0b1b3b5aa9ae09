/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the OpenCL library, and lists the devices of all platforms. */
#include "runtime_opencl/cl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libOpenCL.so.1"

static void *find_in_process(void *user, const char *name)
{
    (void)user;
    return dlsym(RTLD_DEFAULT, name);
}

static void *find_in_library(void *user, const char *name)
{
    return dlsym(user, name);
}

/* An OpenCL that the process has already, linked in or preloaded (as oclgrind does), comes first. */
static gpuc_status open_library(gpuc_cl_library *l)
{
    if (l->find) return NULL;
    if (dlsym(RTLD_DEFAULT, "clGetPlatformIDs")) {
        l->find = find_in_process;
        return NULL;
    }
    /* Drivers have threads that outlive what an application releases: they are not unloaded. */
    l->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!l->handle) {
        const char *reason = dlerror();
        return gpuc_fail(
            GPUC_DEVICE_UNAVAILABLE,
            "no OpenCL loader: %s; install an ICD loader (Debian: ocl-icd-libopencl1) and a driver",
            reason ? reason : LIBRARY " not found");
    }
    l->find = find_in_library;
    l->find_user = l->handle;
    return NULL;
}

gpuc_status gpuc_cl_library_load(gpuc_cl_library *l)
{
    GPUC_TRY(open_library(l));
    const struct {
        const char *name;
        void *place;
    } table[] = {
#define GPUC_CL_FN(f) {"cl" #f, &l->fn.f},
#include "runtime_opencl/functions.def"
#undef GPUC_CL_FN
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *f = l->find(l->find_user, table[i].name);
        if (!f)
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "the OpenCL library lacks %s, which OpenCL 1.2 has",
                             table[i].name);
        memcpy(table[i].place, &f, sizeof f);
    }
    void *f = l->find(l->find_user, "clCreateCommandQueueWithProperties");
    memcpy(&l->fn.CreateCommandQueueWithProperties, &f, sizeof f);
    return NULL;
}

void gpuc_cl_library_close(gpuc_cl_library *l)
{
    if (l->handle) dlclose(l->handle);
    l->handle = NULL;
}

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory listing the OpenCL devices");
}

/* A platform without devices, or one that fails, does not hide the others. */
static gpuc_status list_platform(gpuc_cl *cl, cl_platform_id platform)
{
    cl_uint count = 0;
    if (cl->library.fn.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS ||
        count == 0)
        return NULL;
    cl_device_id *ids = gpuc_mem_alloc(cl->allocator, count * sizeof *ids);
    if (!ids) return out_of_memory();
    gpuc_status s = NULL;
    cl_uint got = 0;
    if (cl->library.fn.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, &got) == CL_SUCCESS &&
        got > 0) {
        if (got > count) got = count;
        gpuc_cl_id *grown = gpuc_mem_resize(cl->allocator, cl->devices, cl->num_devices * sizeof *grown,
                                            (cl->num_devices + got) * sizeof *grown);
        if (grown) {
            cl->devices = grown;
            for (cl_uint i = 0; i < got; i++)
                cl->devices[cl->num_devices++] = (gpuc_cl_id){.platform = platform, .device = ids[i]};
        } else {
            s = out_of_memory();
        }
    }
    gpuc_mem_free(cl->allocator, ids, count * sizeof *ids);
    return s;
}

static gpuc_status list_devices(gpuc_cl *cl)
{
    cl_uint count = 0;
    cl_int error = cl->library.fn.GetPlatformIDs(0, NULL, &count);
    if (error != CL_SUCCESS || count == 0)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "no OpenCL driver is installed (clGetPlatformIDs: %s); Debian has pocl-opencl-icd "
                         "for the processor",
                         error == CL_SUCCESS ? "no platform" : gpuc_cl_error_name(error));
    cl_platform_id *platforms = gpuc_mem_alloc(cl->allocator, count * sizeof *platforms);
    if (!platforms) return out_of_memory();
    cl_uint got = 0;
    gpuc_status s = NULL;
    error = cl->library.fn.GetPlatformIDs(count, platforms, &got);
    if (error != CL_SUCCESS) s = gpuc_cl_fail("clGetPlatformIDs", error);
    for (cl_uint i = 0; !s && i < got && i < count; i++) s = list_platform(cl, platforms[i]);
    gpuc_mem_free(cl->allocator, platforms, count * sizeof *platforms);
    if (!s && cl->num_devices == 0)
        s = gpuc_fail(
            GPUC_DEVICE_UNAVAILABLE,
            "the OpenCL drivers (%u platforms) have no device (pocl has none where it cannot write to its "
            "cache, which POCL_CACHE_DIR names)",
            count);
    return s;
}

static void forget_devices(gpuc_cl *cl)
{
    gpuc_mem_free(cl->allocator, cl->devices, cl->num_devices * sizeof *cl->devices);
    cl->devices = NULL;
    cl->num_devices = 0;
}

gpuc_status gpuc_cl_ensure(gpuc_cl *cl)
{
    gpuc_status s = NULL;
    pthread_mutex_lock(&cl->lock);
    if (!cl->ready) {
        s = gpuc_cl_library_load(&cl->library);
        if (!s) s = list_devices(cl);
        if (s)
            forget_devices(cl);
        else
            cl->ready = true;
    }
    pthread_mutex_unlock(&cl->lock);
    return s;
}

void gpuc_cl_unload(gpuc_cl *cl)
{
    forget_devices(cl);
    gpuc_cl_library_close(&cl->library);
    cl->ready = false;
}
