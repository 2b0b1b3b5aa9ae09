/* SPDX-License-Identifier: Apache-2.0 */
/* The strict device as a shared object that stands for the Vulkan loader: GPUC_VULKAN_LOADER names it. */
#include <dlfcn.h>
#include <pthread.h>

#include "state.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static PFN_vkGetInstanceProcAddr ours;

static void begin(void)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *system = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (system) *(void **)&ours = strict_begin(system, NULL);
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char *name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    pthread_once(&once, begin);
    return ours ? ours(instance, name) : NULL;
}
