/* SPDX-License-Identifier: Apache-2.0 */
/* Names OpenCL errors and maps them to status codes. */
#include "runtime_opencl/cl.h"

#define PLATFORM_NOT_FOUND_KHR (-1001) /* cl_khr_icd */

static const struct {
    cl_int error;
    gpuc_code code;
    const char *name;
} errors[] = {
#define ROW(e, c)                                                                                            \
    {                                                                                                        \
        e, c, #e                                                                                             \
    }
    ROW(CL_DEVICE_NOT_FOUND, GPUC_DEVICE_UNAVAILABLE),
    ROW(CL_DEVICE_NOT_AVAILABLE, GPUC_DEVICE_LOST),
    ROW(CL_COMPILER_NOT_AVAILABLE, GPUC_DEVICE_UNAVAILABLE),
    ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE, GPUC_OUT_OF_DEVICE_MEMORY),
    ROW(CL_OUT_OF_RESOURCES, GPUC_OUT_OF_DEVICE_MEMORY),
    ROW(CL_OUT_OF_HOST_MEMORY, GPUC_OUT_OF_MEMORY),
    ROW(CL_PROFILING_INFO_NOT_AVAILABLE, GPUC_UNSUPPORTED),
    ROW(CL_MEM_COPY_OVERLAP, GPUC_INVALID_ARGUMENT),
    ROW(CL_BUILD_PROGRAM_FAILURE, GPUC_INVALID_DATA),
    ROW(CL_MAP_FAILURE, GPUC_INTERNAL),
    ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET, GPUC_INTERNAL),
    ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, GPUC_DEVICE_LOST),
    ROW(CL_COMPILE_PROGRAM_FAILURE, GPUC_INVALID_DATA),
    ROW(CL_LINKER_NOT_AVAILABLE, GPUC_DEVICE_UNAVAILABLE),
    ROW(CL_LINK_PROGRAM_FAILURE, GPUC_INVALID_DATA),
    ROW(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, GPUC_UNSUPPORTED),
    ROW(CL_INVALID_VALUE, GPUC_INTERNAL),
    ROW(CL_INVALID_DEVICE_TYPE, GPUC_INTERNAL),
    ROW(CL_INVALID_PLATFORM, GPUC_DEVICE_UNAVAILABLE),
    ROW(CL_INVALID_DEVICE, GPUC_DEVICE_UNAVAILABLE),
    ROW(CL_INVALID_CONTEXT, GPUC_INTERNAL),
    ROW(CL_INVALID_QUEUE_PROPERTIES, GPUC_UNSUPPORTED),
    ROW(CL_INVALID_COMMAND_QUEUE, GPUC_DEVICE_LOST),
    ROW(CL_INVALID_HOST_PTR, GPUC_INTERNAL),
    ROW(CL_INVALID_MEM_OBJECT, GPUC_INTERNAL),
    ROW(CL_INVALID_BINARY, GPUC_INVALID_DATA),
    ROW(CL_INVALID_BUILD_OPTIONS, GPUC_INVALID_DATA),
    ROW(CL_INVALID_PROGRAM, GPUC_INTERNAL),
    ROW(CL_INVALID_PROGRAM_EXECUTABLE, GPUC_INVALID_DATA),
    ROW(CL_INVALID_KERNEL_NAME, GPUC_INVALID_DATA),
    ROW(CL_INVALID_KERNEL_DEFINITION, GPUC_INVALID_DATA),
    ROW(CL_INVALID_KERNEL, GPUC_INTERNAL),
    ROW(CL_INVALID_ARG_INDEX, GPUC_INVALID_DATA),
    ROW(CL_INVALID_ARG_VALUE, GPUC_INVALID_DATA),
    ROW(CL_INVALID_ARG_SIZE, GPUC_INVALID_DATA),
    ROW(CL_INVALID_KERNEL_ARGS, GPUC_INVALID_DATA),
    ROW(CL_INVALID_WORK_DIMENSION, GPUC_INTERNAL),
    ROW(CL_INVALID_WORK_GROUP_SIZE, GPUC_UNSUPPORTED),
    ROW(CL_INVALID_WORK_ITEM_SIZE, GPUC_UNSUPPORTED),
    ROW(CL_INVALID_GLOBAL_OFFSET, GPUC_INTERNAL),
    ROW(CL_INVALID_EVENT_WAIT_LIST, GPUC_INTERNAL),
    ROW(CL_INVALID_EVENT, GPUC_INTERNAL),
    ROW(CL_INVALID_OPERATION, GPUC_INTERNAL),
    ROW(CL_INVALID_BUFFER_SIZE, GPUC_OUT_OF_DEVICE_MEMORY),
    ROW(CL_INVALID_GLOBAL_WORK_SIZE, GPUC_UNSUPPORTED),
    ROW(CL_INVALID_PROPERTY, GPUC_INTERNAL),
    ROW(CL_INVALID_COMPILER_OPTIONS, GPUC_INVALID_DATA),
    ROW(CL_INVALID_LINKER_OPTIONS, GPUC_INVALID_DATA),
#undef ROW
    {PLATFORM_NOT_FOUND_KHR, GPUC_DEVICE_UNAVAILABLE, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#define NUM_ERRORS (sizeof errors / sizeof *errors)

static size_t find(cl_int error)
{
    size_t i = 0;
    while (i < NUM_ERRORS && errors[i].error != error) i++;
    return i;
}

const char *gpuc_cl_error_name(cl_int error)
{
    size_t i = find(error);
    return i < NUM_ERRORS ? errors[i].name : "an error without a name";
}

gpuc_status gpuc_cl_lost(const char *call, cl_int error)
{
    return gpuc_fail(
        GPUC_DEVICE_LOST, "%s: %s (%d): the device failed while running kernels%s", call,
        gpuc_cl_error_name(error), (int)error,
        error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? ", or an event that they wait for did" : "");
}

gpuc_status gpuc_cl_wait_error(const char *call, cl_int error)
{
    if (error == CL_SUCCESS) return NULL;
    bool lost = error == CL_OUT_OF_RESOURCES || error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return lost ? gpuc_cl_lost(call, error) : gpuc_cl_fail(call, error);
}

gpuc_status gpuc_cl_error_at(cl_int error, const char *call, const char *file, int line)
{
    size_t i = find(error);
    return gpuc_error_make(i < NUM_ERRORS ? errors[i].code : GPUC_INTERNAL, file, line, "%s: %s (%d)", call,
                           gpuc_cl_error_name(error), (int)error);
}
