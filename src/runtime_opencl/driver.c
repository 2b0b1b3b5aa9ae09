/* SPDX-License-Identifier: Apache-2.0 */
/* Registers OpenCL devices with a runtime. */
#include <gpuc/devices.h>

#include "runtime_opencl/cl.h"
#include "runtime_opencl/testing.h"

static gpuc_status count(gpuc_runtime *rt, void *self, int *out)
{
    gpuc_cl *cl = self;
    (void)rt;
    *out = 0;
    GPUC_TRY(gpuc_cl_ensure(cl));
    *out = (int)cl->num_devices;
    return NULL;
}

static gpuc_status open_device(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    (void)rt;
    return gpuc_cl_device_open(self, index, out);
}

static void free_self(gpuc_runtime *rt, void *self)
{
    gpuc_cl *cl = self;
    (void)rt;
    gpuc_cl_unload(cl);
    pthread_mutex_destroy(&cl->lock);
    gpuc_mem_free(cl->allocator, cl, sizeof *cl);
}

gpuc_status gpuc_cl_register_with(gpuc_runtime *rt, void *(*find)(void *user, const char *name), void *user)
{
    static const gpuc_driver driver = {.struct_size = sizeof driver,
                                       .name = "opencl",
                                       .api = &gpuc_cl_api,
                                       .count = count,
                                       .open = open_device,
                                       .free_self = free_self};
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    gpuc_cl *cl = gpuc_mem_alloc(a, sizeof *cl);
    if (!cl) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory registering OpenCL");
    cl->rt = rt;
    cl->allocator = a;
    cl->library.find = find;
    cl->library.find_user = user;
    pthread_mutex_init(&cl->lock, NULL);
    gpuc_status s = gpuc_driver_register(rt, &driver, cl);
    if (s) free_self(rt, cl);
    return s;
}

gpuc_status gpuc_opencl_register(gpuc_runtime *rt)
{
    return gpuc_cl_register_with(rt, NULL, NULL);
}
