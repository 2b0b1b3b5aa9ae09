/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a device of the application's context, device and queue. */
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime_opencl/cl.h"

#define QUEUE_ON_DEVICE ((cl_command_queue_properties)1 << 2) /* OpenCL 2.0 */
#define FIELD(name) "gpuc_opencl_device_desc." name

static gpuc_status copy_desc(const gpuc_opencl_device_desc *desc, gpuc_opencl_device_desc *out)
{
    *out = GPUC_OPENCL_DEVICE_DESC_INIT;
    if (desc->struct_size < offsetof(gpuc_opencl_device_desc, device) + sizeof desc->device)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         FIELD("struct_size") " is %u; start from GPUC_OPENCL_DEVICE_DESC_INIT",
                         desc->struct_size);
    const char *bytes = (const char *)desc;
    for (size_t i = sizeof *desc; i < desc->struct_size; i++)
        if (bytes[i] != 0)
            return gpuc_fail(GPUC_UNSUPPORTED,
                             "gpuc_opencl_device_desc has a field at byte %zu that this version of the "
                             "library does not know",
                             i);
    memcpy(out, desc, desc->struct_size < sizeof *out ? desc->struct_size : sizeof *out);
    const char *missing = !out->context ? "context" : !out->device ? "device" : NULL;
    if (missing) return gpuc_fail(GPUC_INVALID_ARGUMENT, FIELD("%s") " is NULL", missing);
    if (out->one_queue && !out->queue)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, FIELD("one_queue") " is set, but there is no queue");
    return NULL;
}

/* A handle that OpenCL does not know is a wrong argument; other errors are OpenCL's own. */
static gpuc_status ask_error(cl_int error, cl_int unknown, const char *field, const char *call)
{
    if (error != unknown) return gpuc_cl_fail(call, error);
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "%s is not known to this OpenCL (%s: %s): if the application uses another library, give "
                     "its functions by " FIELD("find"),
                     field, call, gpuc_cl_error_name(error));
}

static gpuc_status check_context(const gpuc_cl_device *dev, const gpuc_opencl_device_desc *desc)
{
    size_t size = 0;
    cl_int error = dev->fn->GetContextInfo(desc->context, CL_CONTEXT_DEVICES, 0, NULL, &size);
    if (error != CL_SUCCESS)
        return ask_error(error, CL_INVALID_CONTEXT, FIELD("context"), "clGetContextInfo");
    cl_device_id *ids = gpuc_mem_alloc(dev->allocator, size ? size : 1);
    if (!ids) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the devices of a context");
    error = dev->fn->GetContextInfo(desc->context, CL_CONTEXT_DEVICES, size, ids, NULL);
    bool found = false;
    for (size_t i = 0; error == CL_SUCCESS && i < size / sizeof *ids; i++)
        found = found || ids[i] == desc->device;
    gpuc_mem_free(dev->allocator, ids, size ? size : 1);
    GPUC_CL_TRY("clGetContextInfo", error);
    if (found) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     FIELD("device") " is none of the %zu devices of " FIELD("context"), size / sizeof *ids);
}

static gpuc_status check_queue(const gpuc_cl_device *dev, const gpuc_opencl_device_desc *desc, bool *chained)
{
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    const struct {
        cl_command_queue_info what;
        size_t size;
        void *to;
    } rows[] = {{CL_QUEUE_CONTEXT, sizeof context, &context},
                {CL_QUEUE_DEVICE, sizeof device, &device},
                {CL_QUEUE_PROPERTIES, sizeof properties, &properties}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cl_int error =
            dev->fn->GetCommandQueueInfo(desc->queue, rows[i].what, rows[i].size, rows[i].to, NULL);
        if (error != CL_SUCCESS)
            return ask_error(error, CL_INVALID_COMMAND_QUEUE, FIELD("queue"), "clGetCommandQueueInfo");
    }
    const char *other = context != desc->context ? "context" : device != desc->device ? "device" : NULL;
    if (other)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, FIELD("queue") " is of another %s than " FIELD("%s"), other,
                         other);
    if (properties & QUEUE_ON_DEVICE)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            FIELD("queue") " is a queue on the device (CL_QUEUE_ON_DEVICE): give one of the host");
    *chained = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    return NULL;
}

static gpuc_status fill(gpuc_cl_device *dev, const gpuc_opencl_device_desc *desc)
{
    bool chained = false;
    dev->library.find = desc->find;
    dev->library.find_user = desc->find_user;
    GPUC_TRY(gpuc_cl_library_load(&dev->library));
    GPUC_TRY(check_context(dev, desc));
    if (desc->queue) GPUC_TRY(check_queue(dev, desc, &chained));
    dev->id = desc->device;
    GPUC_CL_TRY("clGetDeviceInfo", dev->fn->GetDeviceInfo(dev->id, CL_DEVICE_PLATFORM, sizeof dev->platform,
                                                          &dev->platform, NULL));
    GPUC_TRY(gpuc_cl_caps_query(dev));
    GPUC_CL_TRY("clRetainDevice", dev->fn->RetainDevice(dev->id));
    dev->id_retained = true;
    GPUC_CL_TRY("clRetainContext", dev->fn->RetainContext(desc->context));
    dev->context = desc->context;
    dev->one_queue = desc->one_queue;
    return gpuc_cl_stream_init(dev, &dev->main, desc->queue, chained);
}

gpuc_status gpuc_opencl_adopt(gpuc_runtime *rt, const gpuc_opencl_device_desc *desc, gpuc_device **out)
{
    gpuc_opencl_device_desc copy;
    gpuc_cl_device *dev;
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(desc);
    GPUC_TRY(copy_desc(desc, &copy));
    GPUC_TRY(gpuc_cl_device_create(rt, &dev));
    gpuc_status status = fill(dev, &copy);
    if (!status) status = gpuc_runtime_adopt(rt, "opencl", &dev->base);
    if (status)
        gpuc_cl_device_destroy(&dev->base);
    else
        *out = &dev->base;
    return gpuc_error_prefix(status, "gpuc_opencl_adopt");
}
