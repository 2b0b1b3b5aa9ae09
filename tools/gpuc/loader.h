/* SPDX-License-Identifier: Apache-2.0 */
/* Where tools and tests have their Vulkan devices from. */
#ifndef GPUC_CLI_LOADER_H
#define GPUC_CLI_LOADER_H

#include <dlfcn.h>
#include <stdlib.h>

#include "runtime_vulkan/testing.h"

/* Joins the system's, or for developers those of the shared object that GPUC_VULKAN_LOADER names, which has a
 * vkGetInstanceProcAddr. */
GPUC_NODISCARD static inline gpuc_status cli_register_vulkan(gpuc_runtime *rt)
{
    const char *path = getenv("GPUC_VULKAN_LOADER");
    if (!path || !*path) return gpuc_vk_register_with(rt, NULL);
    /* Not closed: the driver behind it keeps thread-local data. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *get_proc = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (!get_proc) return gpuc_fail(GPUC_INVALID_ARGUMENT, "GPUC_VULKAN_LOADER: %s", dlerror());
    return gpuc_vk_register_with(rt, get_proc);
}

#endif
