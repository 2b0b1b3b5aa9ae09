/* SPDX-License-Identifier: Apache-2.0 */
/* Registers kinds of devices with a runtime. Link only what is called. Nothing is loaded before the first
 * gpuc_device_count or gpuc_device_open of the kind. */
#ifndef GPUC_DEVICES_H
#define GPUC_DEVICES_H

#include <gpuc/config.h>
#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets the runtime open the CPU device. An error if a driver of this kind is registered already. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_cpu_register(gpuc_runtime *rt);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_register(gpuc_runtime *rt); /* dlopen of libOpenCL.so.1 */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_register(gpuc_runtime *rt); /* dlopen of libvulkan.so.1 */

/* The same with the application's own vkGetInstanceProcAddr; NULL: the system's loader. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_register_with(gpuc_runtime *rt, void *get_instance_proc_addr);

/* Registers every kind that the library was built with. */
GPUC_NODISCARD static inline gpuc_status gpuc_devices_register(gpuc_runtime *rt)
{
#define GPUC_REGISTER_(name) GPUC_TRY(gpuc_##name##_register(rt));
    GPUC_EACH_DEVICE(GPUC_REGISTER_)
#undef GPUC_REGISTER_
    (void)rt; /* where there is none */
    return NULL;
}

#ifdef __cplusplus
}
#endif
#endif
