/* SPDX-License-Identifier: Apache-2.0 */
/* Where tools and tests have their devices from. */
#ifndef GPUC_CLI_LOADER_H
#define GPUC_CLI_LOADER_H

#include <dlfcn.h>
#include <stdlib.h>

#include <gpuc/devices.h>

#if GPUC_HAVE_VULKAN
/* Joins the system's Vulkan devices, or for developers those of the shared object that GPUC_VULKAN_LOADER
 * names, which has a vkGetInstanceProcAddr. */
GPUC_NODISCARD static inline gpuc_status cli_vulkan_register(gpuc_runtime *rt)
{
    const char *path = getenv("GPUC_VULKAN_LOADER");
    if (!path || !*path) return gpuc_vulkan_register_with(rt, NULL);
    /* Not closed: the driver behind it keeps thread-local data. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *get_proc = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (!get_proc) return gpuc_fail(GPUC_INVALID_ARGUMENT, "GPUC_VULKAN_LOADER: %s", dlerror());
    return gpuc_vulkan_register_with(rt, get_proc);
}
#endif

/* Joins every kind that the library was built with. */
GPUC_NODISCARD static inline gpuc_status cli_devices_register(gpuc_runtime *rt)
{
    gpuc_status s = NULL;
    (void)rt; /* where there is none */
#if GPUC_HAVE_CPU
    s = gpuc_cpu_register(rt);
#endif
#if GPUC_HAVE_OPENCL
    if (!s) s = gpuc_opencl_register(rt);
#endif
#if GPUC_HAVE_VULKAN
    if (!s) s = cli_vulkan_register(rt);
#endif
    return s;
}

#endif
