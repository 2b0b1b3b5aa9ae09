/* SPDX-License-Identifier: Apache-2.0 */
/* Which features an application's device was made with. Each stands in a structure of its own, or, since it became
 * core, in one of the structures of a Vulkan version. */
#include <stddef.h>

#include "runtime_vulkan/caps.h"

typedef struct feature_row {
    size_t at; /* in gpuc_vk_features */
    VkStructureType type, core_type;
    size_t offset, core_offset; /* in the structures of these types */
} feature_row;

#define NO_CORE VK_STRUCTURE_TYPE_MAX_ENUM
#define ROW(field, own_type, own, member, core, core_struct)                                                 \
    {                                                                                                        \
        offsetof(gpuc_vk_features, field) + offsetof(own, member),                                           \
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##own_type, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##core,          \
            offsetof(own, member), offsetof(core_struct, member)                                             \
    }
#define ALONE(field, own_type, own, member)                                                                  \
    {                                                                                                        \
        offsetof(gpuc_vk_features, field) + offsetof(own, member),                                           \
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##own_type, NO_CORE, offsetof(own, member), 0                  \
    }

static const feature_row rows[] = {
    ALONE(core, FEATURES_2, VkPhysicalDeviceFeatures2, features.shaderFloat64),
    ALONE(core, FEATURES_2, VkPhysicalDeviceFeatures2, features.shaderInt64),
    ALONE(core, FEATURES_2, VkPhysicalDeviceFeatures2, features.shaderInt16),
    ALONE(core, FEATURES_2, VkPhysicalDeviceFeatures2, features.shaderStorageImageWriteWithoutFormat),
    ROW(storage16, 16BIT_STORAGE_FEATURES, VkPhysicalDevice16BitStorageFeatures, storageBuffer16BitAccess,
        VULKAN_1_1_FEATURES, VkPhysicalDeviceVulkan11Features),
    ROW(storage16, 16BIT_STORAGE_FEATURES, VkPhysicalDevice16BitStorageFeatures,
        uniformAndStorageBuffer16BitAccess, VULKAN_1_1_FEATURES, VkPhysicalDeviceVulkan11Features),
    ROW(storage8, 8BIT_STORAGE_FEATURES, VkPhysicalDevice8BitStorageFeatures, storageBuffer8BitAccess,
        VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features),
    ROW(storage8, 8BIT_STORAGE_FEATURES, VkPhysicalDevice8BitStorageFeatures,
        uniformAndStorageBuffer8BitAccess, VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features),
    ROW(float16_int8, SHADER_FLOAT16_INT8_FEATURES, VkPhysicalDeviceShaderFloat16Int8Features, shaderFloat16,
        VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features),
    ROW(float16_int8, SHADER_FLOAT16_INT8_FEATURES, VkPhysicalDeviceShaderFloat16Int8Features, shaderInt8,
        VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features),
    ROW(size_control, SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures,
        subgroupSizeControl, VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features),
    ROW(size_control, SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures,
        computeFullSubgroups, VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features),
    ROW(dot_product, SHADER_INTEGER_DOT_PRODUCT_FEATURES, VkPhysicalDeviceShaderIntegerDotProductFeatures,
        shaderIntegerDotProduct, VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features),
    ALONE(atomic_float, SHADER_ATOMIC_FLOAT_FEATURES_EXT, VkPhysicalDeviceShaderAtomicFloatFeaturesEXT,
          shaderBufferFloat32AtomicAdd),
    ROW(memory_model, VULKAN_MEMORY_MODEL_FEATURES, VkPhysicalDeviceVulkanMemoryModelFeatures,
        vulkanMemoryModel, VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features),
    ROW(memory_model, VULKAN_MEMORY_MODEL_FEATURES, VkPhysicalDeviceVulkanMemoryModelFeatures,
        vulkanMemoryModelDeviceScope, VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features),
    {offsetof(gpuc_vk_features, coopmat) +
         offsetof(VkPhysicalDeviceCooperativeMatrixFeaturesKHR, cooperativeMatrix),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, NO_CORE,
     offsetof(VkPhysicalDeviceCooperativeMatrixFeaturesKHR, cooperativeMatrix), 0},
};

static VkBool32 bool_at(const void *structure, size_t offset)
{
    return *(const VkBool32 *)((const char *)structure + offset);
}

static bool is_enabled(const feature_row *row, const VkPhysicalDeviceFeatures2 *enabled)
{
    for (const VkBaseInStructure *s = (const VkBaseInStructure *)enabled; s; s = s->pNext) {
        if (s->sType == row->type && bool_at(s, row->offset)) return true;
        if (s->sType == row->core_type && bool_at(s, row->core_offset)) return true;
    }
    return false;
}

void gpuc_vk_features_restrict(gpuc_vk_features *f, const VkPhysicalDeviceFeatures2 *enabled)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        VkBool32 *feature = (VkBool32 *)((char *)f + rows[i].at);
        *feature = *feature && is_enabled(&rows[i], enabled);
    }
}
