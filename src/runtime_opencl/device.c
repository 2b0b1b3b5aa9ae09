/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes an OpenCL device. */
#include "runtime_opencl/cl.h"

static gpuc_status open_device(gpuc_cl_device *dev)
{
    GPUC_TRY(gpuc_cl_caps_query(dev));
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)dev->platform, 0};
    cl_int error;
    dev->context = dev->fn->CreateContext(properties, 1, &dev->id, NULL, NULL, &error);
    if (!dev->context) return gpuc_cl_fail("clCreateContext", error);
    return gpuc_cl_stream_init(dev, &dev->main, NULL, false);
}

void gpuc_cl_device_destroy(gpuc_device *device)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream_deinit(dev, &dev->main);
    gpuc_cl_queue *others[] = {&dev->profiling_queue, &dev->fill_queue};
    for (int i = 0; i < 2; i++)
        if (others[i]->handle) {
            gpuc_cl_queue_settle(dev, others[i]);
            gpuc_cl_queue_close(dev, others[i]);
        }
    gpuc_cl_staging_deinit(dev);
    if (dev->context) dev->fn->ReleaseContext(dev->context);
    if (dev->id_retained) dev->fn->ReleaseDevice(dev->id);
    gpuc_cl_library_close(&dev->library);
    pthread_mutex_destroy(&dev->staging.lock);
    pthread_mutex_destroy(&dev->lock);
    gpuc_mem_free(dev->allocator, dev, sizeof *dev);
}

gpuc_status gpuc_cl_device_create(gpuc_runtime *rt, gpuc_cl_device **out)
{
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    gpuc_cl_device *dev = *out = gpuc_mem_alloc(a, sizeof *dev);
    if (!dev) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory opening an OpenCL device");
    dev->base.runtime = rt;
    dev->base.type = GPUC_DEVICE_OPENCL;
    dev->fn = &dev->library.fn;
    dev->allocator = a;
    pthread_mutex_init(&dev->lock, NULL);
    pthread_mutex_init(&dev->staging.lock, NULL);
    return NULL;
}

gpuc_status gpuc_cl_device_of(gpuc_device *device, const char *name, gpuc_cl_device **out)
{
    *out = NULL;
    if (!device) return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s is not on an OpenCL device", name);
    if (device->type != GPUC_DEVICE_OPENCL)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s is on %s:%d, not on an OpenCL device", name,
                         device->api->name, device->index);
    *out = (gpuc_cl_device *)device;
    return NULL;
}

gpuc_status gpuc_cl_device_open(gpuc_cl *cl, int index, gpuc_device **out)
{
    *out = NULL;
    GPUC_TRY(gpuc_cl_ensure(cl));
    if (index < 0 || (uint32_t)index >= cl->num_devices)
        return gpuc_fail(GPUC_NOT_FOUND, "there is no OpenCL device %d: the devices are 0 to %u", index,
                         cl->num_devices - 1);
    gpuc_cl_device *dev;
    GPUC_TRY(gpuc_cl_device_create(cl->rt, &dev));
    dev->fn = &cl->library.fn;
    dev->platform = cl->devices[index].platform;
    dev->id = cl->devices[index].device;
    gpuc_status s = open_device(dev);
    if (s) {
        gpuc_cl_device_destroy(&dev->base);
        return gpuc_error_prefix(s, "OpenCL device %d", index);
    }
    *out = &dev->base;
    return NULL;
}

const gpuc_device_api gpuc_cl_api = {
    .struct_size = sizeof(gpuc_device_api),
    .get_attr = gpuc_cl_get_attr,
    .alloc_data_space = gpuc_cl_alloc,
    .free_data_space = gpuc_cl_free,
    .alloc_image = gpuc_cl_image_create,
    .copy_data_from_to = gpuc_cl_copy,
    .read_later = gpuc_cl_read_later,
    .create_stream = gpuc_cl_stream_create,
    .free_stream = gpuc_cl_stream_free,
    .stream_sync = gpuc_cl_stream_sync,
    .stream_flush = gpuc_cl_stream_flush,
    .stream_signal = gpuc_cl_stream_signal,
    .stream_wait = gpuc_cl_stream_wait,
    .ticket_wait = gpuc_cl_ticket_wait,
    .module_load = gpuc_cl_module_load,
    .module_release = gpuc_cl_module_release,
    .kernel_get = gpuc_cl_kernel_get,
    .launch = gpuc_cl_launch_step,
    .plan_create = gpuc_cl_plan_create,
    .plan_run = gpuc_cl_plan_run,
    .plan_units = gpuc_cl_plan_units,
    .plan_run_part = gpuc_cl_plan_run_part,
    .plan_profile = gpuc_cl_plan_profile,
    .plan_destroy = gpuc_cl_plan_destroy,
    .destroy = gpuc_cl_device_destroy,
};
