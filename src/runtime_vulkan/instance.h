/* SPDX-License-Identifier: Apache-2.0 */
/* The loader, the instance with its physical devices, and the validation layer. */
#ifndef GPUC_RUNTIME_VULKAN_INSTANCE_H
#define GPUC_RUNTIME_VULKAN_INSTANCE_H

#include <pthread.h>

#include <gpuc/vulkan.h>

#include "base/arena.h"
#include "runtime_vulkan/error.h"

/* State of the driver in one runtime. Nothing is loaded before the first count or open. */
typedef struct gpuc_vk {
    gpuc_runtime *rt;
    gpuc_allocator allocator;
    pthread_mutex_t lock;
    bool ready;
    void *library;                            /* of dlopen; NULL if the application gave the function */
    PFN_vkGetInstanceProcAddr given_get_proc; /* of the application, or NULL */
    PFN_vkGetInstanceProcAddr get_proc;
    gpuc_vk_global_fns global;
    gpuc_vk_instance_fns fn;
    VkInstance instance;
    uint32_t api_version; /* asked for: at most 1.3 */
    bool debug_utils;
    uint32_t layer_version; /* of the validation layer; 0: it is off */
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice *devices; /* those with Vulkan 1.1 and a compute queue */
    uint32_t num_devices;
} gpuc_vk;

GPUC_NODISCARD gpuc_status gpuc_vk_load_global(gpuc_vk *vk);
GPUC_NODISCARD gpuc_status gpuc_vk_load_instance(gpuc_vk *vk);
/* An instance of the application, of which nothing is ever destroyed. */
void gpuc_vk_borrow_instance(gpuc_vk *vk, gpuc_vulkan_get_proc get_proc, VkInstance instance,
                             uint32_t api_version);
GPUC_NODISCARD gpuc_status gpuc_vk_load_device(gpuc_vk *vk, VkDevice device, gpuc_vk_device_fns *out);
void gpuc_vk_unload(gpuc_vk *vk);

/* What the validation layer is told when an instance is created. enable fills it in and chains it to info,
 * which it must outlive; the layer says nothing of what comes after the creation until listen. */
typedef struct gpuc_vk_validation {
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkValidationFeaturesEXT features;
    VkLayerSettingsCreateInfoEXT settings;
    const char *extensions[2];
} gpuc_vk_validation;

GPUC_NODISCARD gpuc_status gpuc_vk_validation_enable(gpuc_vk *vk, gpuc_vk_validation *v,
                                                     VkInstanceCreateInfo *info);
GPUC_NODISCARD gpuc_status gpuc_vk_validation_listen(gpuc_vk *vk, const gpuc_vk_validation *v);

GPUC_NODISCARD gpuc_status gpuc_vk_instance_ensure(gpuc_vk *vk);
void gpuc_vk_instance_drop(gpuc_vk *vk);
/* Index of the queue family to use, or UINT32_MAX. */
uint32_t gpuc_vk_compute_family(const gpuc_vk *vk, VkPhysicalDevice physical);
/* The properties of the first families; returns their number. */
#define GPUC_VK_MAX_FAMILIES 32
uint32_t gpuc_vk_families(const gpuc_vk *vk, VkPhysicalDevice physical, VkQueueFamilyProperties *out);
uint32_t gpuc_vk_timestamp_bits(const gpuc_vk *vk, VkPhysicalDevice physical, uint32_t family);

#endif
