/* SPDX-License-Identifier: Apache-2.0 */
/* Finding Vulkan's functions. No function is linked: a machine without Vulkan runs the rest. */
#include <dlfcn.h>

#include "runtime_vulkan/instance.h"

static gpuc_status missing(const char *name)
{
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "the Vulkan driver has no function %s", name);
}

static gpuc_status open_library(gpuc_vk *vk)
{
    /* Not unloaded with the last reference: layers and drivers keep thread-local data. */
    vk->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!vk->library) {
        const char *why = dlerror();
        return gpuc_fail(
            GPUC_DEVICE_UNAVAILABLE,
            "no Vulkan loader: %s (Debian packages: libvulkan1 and a driver such as mesa-vulkan-drivers)",
            why ? why : "libvulkan.so.1 cannot be opened");
    }
    *(void **)&vk->get_proc = dlsym(vk->library, "vkGetInstanceProcAddr");
    return vk->get_proc ? NULL : missing("vkGetInstanceProcAddr");
}

gpuc_status gpuc_vk_load_global(gpuc_vk *vk)
{
    if (vk->given_get_proc)
        vk->get_proc = vk->given_get_proc;
    else
        GPUC_TRY(open_library(vk));
#define GPUC_VK_GLOBAL(name, optional)                                                                       \
    vk->global.name = (PFN_vk##name)vk->get_proc(VK_NULL_HANDLE, "vk" #name);                                \
    if (!vk->global.name && !optional) return missing("vk" #name);
#include "runtime_vulkan/functions.def"
    return NULL;
}

gpuc_status gpuc_vk_load_instance(gpuc_vk *vk)
{
#define GPUC_VK_INSTANCE(name, optional)                                                                     \
    vk->fn.name = (PFN_vk##name)vk->get_proc(vk->instance, "vk" #name);                                      \
    if (!vk->fn.name && !optional) return missing("vk" #name);
#include "runtime_vulkan/functions.def"
    return NULL;
}

void gpuc_vk_borrow_instance(gpuc_vk *vk, gpuc_vulkan_get_proc get_proc, VkInstance instance,
                             uint32_t api_version)
{
    vk->get_proc = (PFN_vkGetInstanceProcAddr)get_proc;
    vk->instance = instance;
    vk->api_version = api_version < VK_API_VERSION_1_3 ? api_version : VK_API_VERSION_1_3;
}

gpuc_status gpuc_vk_load_device(gpuc_vk *vk, VkDevice device, gpuc_vk_device_fns *out)
{
#define GPUC_VK_DEVICE(name, optional)                                                                       \
    out->name = (PFN_vk##name)vk->fn.GetDeviceProcAddr(device, "vk" #name);                                  \
    if (!out->name && !optional) return missing("vk" #name);
#include "runtime_vulkan/functions.def"
    return NULL;
}

void gpuc_vk_unload(gpuc_vk *vk)
{
    if (vk->library) dlclose(vk->library);
    vk->library = NULL;
    vk->get_proc = NULL;
}
