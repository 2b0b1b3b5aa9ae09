/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <gpuc/opencl.h>

#include "cts.h"

/* Also the simulator's, which is preloaded. */
static void *find(void *user, const char *name)
{
    static void *library;
    (void)user;
    void *f = dlsym(RTLD_DEFAULT, name);
    if (!f && !library) library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return f || !library ? f : dlsym(library, name);
}

#define CL(name) ((__typeof__(&name))find(NULL, #name))

static gpuc_status adopt(gpuc_runtime *rt, cl_command_queue_properties properties, bool one_queue,
                         gpuc_device **out)
{
    gpuc_opencl_device_desc desc = GPUC_OPENCL_DEVICE_DESC_INIT;
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    *out = NULL;
    if (!find(NULL, "clGetPlatformIDs")) return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no OpenCL loader");
    if (CL(clGetPlatformIDs)(1, &platform, NULL) != CL_SUCCESS ||
        CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no OpenCL device");
    cl_context context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = CL(clCreateCommandQueue)(context, device, properties, &error);
    desc.context = context;
    desc.device = device;
    desc.queue = queue;
    desc.find = find;
    desc.one_queue = one_queue;
    gpuc_status status = gpuc_opencl_adopt(rt, &desc, out);
    CL(clReleaseCommandQueue)(queue); /* gpuc has references of its own */
    CL(clReleaseContext)(context);
    return status;
}

gpuc_status cts_adopt_opencl(gpuc_runtime *rt, gpuc_device **out)
{
    return adopt(rt, 0, false, out);
}

gpuc_status cts_adopt_opencl_out_of_order(gpuc_runtime *rt, gpuc_device **out)
{
    return adopt(rt, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true, out);
}
