/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of Vulkan that are loaded: of the loader, an instance, a device. */
#ifndef GPUC_RUNTIME_VULKAN_FUNCTIONS_H
#define GPUC_RUNTIME_VULKAN_FUNCTIONS_H

#define VK_NO_PROTOTYPES 1
#include <vulkan/vulkan.h>

#include "runtime_vulkan/khr.h"

typedef struct gpuc_vk_global_fns {
#define GPUC_VK_GLOBAL(name, optional) PFN_vk##name name;
#include "runtime_vulkan/functions.def"
} gpuc_vk_global_fns;

typedef struct gpuc_vk_instance_fns {
#define GPUC_VK_INSTANCE(name, optional) PFN_vk##name name;
#include "runtime_vulkan/functions.def"
} gpuc_vk_instance_fns;

typedef struct gpuc_vk_device_fns {
#define GPUC_VK_DEVICE(name, optional) PFN_vk##name name;
#include "runtime_vulkan/functions.def"
} gpuc_vk_device_fns;

#endif
