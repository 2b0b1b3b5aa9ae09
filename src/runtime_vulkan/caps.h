/* SPDX-License-Identifier: Apache-2.0 */
/* What a physical device can do. */
#ifndef GPUC_RUNTIME_VULKAN_CAPS_H
#define GPUC_RUNTIME_VULKAN_CAPS_H

#include "abi/kernel.h"
#include "runtime_vulkan/instance.h"

/* The feature structures that matter, chained as far as the device knows them. */
typedef struct gpuc_vk_features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceShaderFloat16Int8Features float16_int8;
    VkPhysicalDeviceSubgroupSizeControlFeatures size_control;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot_product;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR coopmat;
} gpuc_vk_features;

#define GPUC_VK_MAX_EXTENSIONS 24

typedef struct gpuc_vk_caps {
    VkPhysicalDeviceProperties props;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t api_version; /* usable: the lower of ours and the device's */
    char api_text[24];
    char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
    uint32_t subgroup_size, min_subgroup_size, max_subgroup_size, max_subgroups;
    bool size_control; /* a size can be required in compute, with full subgroups */
    bool push_descriptors;
    uint32_t max_push_descriptors;
    uint64_t max_allocation;
    bool memory_budget;       /* the driver tells what memory is free */
    bool global_priority;     /* asked for, and the device has it */
    uint32_t shares;          /* gpuc_vulkan_share bits */
    uint64_t host_align;      /* of memory of the host that is imported */
    uint32_t multiprocessors; /* 0: not told */
    uint32_t features;        /* gpuc_feature bits */
    uint32_t queue_family, timestamp_bits;
    const char *extensions[GPUC_VK_MAX_EXTENSIONS]; /* to enable */
    uint32_t num_extensions;
} gpuc_vk_caps;

/* What an application made a device with. */
typedef struct gpuc_vk_enabled {
    const char *const *extensions;
    uint32_t num_extensions;
    const VkPhysicalDeviceFeatures2 *features; /* with its chain; NULL: none */
    uint32_t queue_family;
} gpuc_vk_enabled;

/* Fills caps, and features as they are to be enabled (core.pNext is the chain). enabled NULL: the device is to be
 * made; all that is of use is taken. */
GPUC_NODISCARD gpuc_status gpuc_vk_caps_query(const gpuc_vk *vk, VkPhysicalDevice physical,
                                              const gpuc_vk_enabled *enabled, gpuc_vk_caps *caps,
                                              gpuc_vk_features *features);
/* enabled.c: takes away what is not in the chain; NULL: all. */
void gpuc_vk_features_restrict(gpuc_vk_features *f, const VkPhysicalDeviceFeatures2 *enabled);
/* coopmat.c: adds GPUC_FEATURE_COOPMAT if the device multiplies all of gpuc_coopmat_rows. */
GPUC_NODISCARD gpuc_status gpuc_vk_coopmat_query(const gpuc_vk *vk, VkPhysicalDevice physical,
                                                 const gpuc_vk_features *features, uint32_t *bits);
gpuc_status gpuc_vk_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out);

#endif
