/* SPDX-License-Identifier: Apache-2.0 */
/* The device that a target under test is for: of several Vulkan or OpenCL devices, llvmpipe and pocl for their tags, the
 * first for others. */
#ifndef GPUC_TESTS_CODEGEN_DEVICE_H
#define GPUC_TESTS_CODEGEN_DEVICE_H

#include <string.h>

#include <gpuc/base.h>
#include <gpuc/runtime.h>

static inline gpuc_status test_device_open(gpuc_runtime *rt, gpuc_device_type type, const char *target,
                                           gpuc_device **out)
{
    static const char *const drivers[][2] = {{"vulkan/llvmpipe", "llvmpipe"},
                                             {"opencl/pocl", "Portable Computing Language"}};
    const char *wanted = NULL;
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (!strncmp(target, drivers[i][0], strlen(drivers[i][0]))) wanted = drivers[i][1];
    for (int number = 0;; number++) {
        gpuc_status status = gpuc_device_open(rt, type, number, out);
        if (status && (number == 0 || !wanted)) return status;
        gpuc_status_release(status);
        if (status)
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no driver here is '%s', which '%s' is for", wanted,
                             target);
        const char *driver = gpuc_device_get_attr(*out, GPUC_ATTR_DRIVER).s;
        const char *name = gpuc_device_get_attr(*out, GPUC_ATTR_NAME).s; /* Vulkan 1.1 tells no driver's */
        if (!wanted || (driver && strstr(driver, wanted)) || (name && strstr(name, wanted))) return NULL;
    }
}

#endif
