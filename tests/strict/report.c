/* SPDX-License-Identifier: Apache-2.0 */
/* What the device says of itself, and that nothing else is switched on. */
#include <stdio.h>
#include <string.h>

#include "state.h"

/* The required limits of the specification, table "Required Limits". */
const VkPhysicalDeviceLimits strict_limits = {
    .maxImageDimension2D = 4096,
    .maxTexelBufferElements = 65536,
    .maxUniformBufferRange = 16384,
    .maxStorageBufferRange = 1 << 27,
    .maxPushConstantsSize = 128,
    .maxMemoryAllocationCount = 4096,
    .bufferImageGranularity = 131072,
    .maxBoundDescriptorSets = 4,
    .maxPerStageDescriptorUniformBuffers = 12,
    .maxPerStageDescriptorStorageBuffers = 4,
    .maxPerStageDescriptorSampledImages = 16,
    .maxPerStageDescriptorStorageImages = 4,
    .maxPerStageResources = 128,
    .maxDescriptorSetUniformBuffers = 72,
    .maxDescriptorSetStorageBuffers = 24,
    .maxDescriptorSetSampledImages = 96,
    .maxDescriptorSetStorageImages = 24,
    .maxComputeSharedMemorySize = 16384,
    .maxComputeWorkGroupCount = {65535, 65535, 65535},
    .maxComputeWorkGroupInvocations = 128,
    .maxComputeWorkGroupSize = {128, 128, 64},
    .minMemoryMapAlignment = 64,
    .minTexelBufferOffsetAlignment = 256,
    .minUniformBufferOffsetAlignment = 256,
    .minStorageBufferOffsetAlignment = 256,
    .optimalBufferCopyOffsetAlignment = 256,
    .optimalBufferCopyRowPitchAlignment = 256,
    .nonCoherentAtomSize = STRICT_ATOM,
};

static void lower(VkPhysicalDeviceProperties *p)
{
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    snprintf(name, sizeof name, "strict device on %.200s", p->deviceName);
    memcpy(p->deviceName, name, sizeof name);
    p->apiVersion = VK_API_VERSION_1_1;
    p->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    float period = p->limits.timestampPeriod;
    p->limits = strict_limits;
    if (strict.options.timestamps) p->limits.timestampPeriod = period;
}

VKAPI_ATTR void VKAPI_CALL strict_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties *out)
{
    strict.real.GetPhysicalDeviceProperties(physical, out);
    lower(out);
}

VKAPI_ATTR void VKAPI_CALL strict_properties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out)
{
    strict.real.GetPhysicalDeviceProperties2(physical, out);
    lower(&out->properties);
    for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
            VkPhysicalDeviceSubgroupProperties *p = (VkPhysicalDeviceSubgroupProperties *)at;
            p->supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
            p->supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
            p->quadOperationsInAllStages = VK_FALSE;
        } else if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES) {
            VkPhysicalDeviceMaintenance3Properties *p = (VkPhysicalDeviceMaintenance3Properties *)at;
            p->maxPerSetDescriptors = 1024;
            p->maxMemoryAllocationSize = STRICT_MAX_ALLOCATION;
        } else if (at->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) {
            strict_fatal("properties of structure type %d, beyond Vulkan 1.1", (int)at->sType);
        }
}

/* Robust access of buffers is the one feature that every device has. */
VKAPI_ATTR void VKAPI_CALL strict_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures *out)
{
    (void)physical;
    *out = (VkPhysicalDeviceFeatures){.robustBufferAccess = VK_TRUE};
}

static void clear_storage16(VkPhysicalDevice16BitStorageFeatures *f)
{
    f->storageBuffer16BitAccess = f->uniformAndStorageBuffer16BitAccess = VK_FALSE;
    f->storagePushConstant16 = f->storageInputOutput16 = VK_FALSE;
}

VKAPI_ATTR void VKAPI_CALL strict_features2(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out)
{
    strict_features(physical, &out->features);
    for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
            clear_storage16((VkPhysicalDevice16BitStorageFeatures *)at);
        else
            strict_fatal("features of structure type %d, beyond Vulkan 1.1", (int)at->sType);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_extensions(VkPhysicalDevice physical, const char *layer,
                                                 uint32_t *count, VkExtensionProperties *out)
{
    (void)physical;
    (void)layer;
    (void)out;
    *count = 0;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL strict_memory_properties(VkPhysicalDevice physical,
                                                    VkPhysicalDeviceMemoryProperties *out)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties real;
    strict.real.GetPhysicalDeviceMemoryProperties(physical, &real);
    for (uint32_t i = real.memoryTypeCount; i-- > 0;)
        if ((real.memoryTypes[i].propertyFlags & wanted) == wanted) strict.memory_type = i;
    *out = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = STRICT_TYPE_COUNT, .memoryHeapCount = 2};
    out->memoryTypes[STRICT_TYPE_DEVICE] = (VkMemoryType){VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    if (strict.options.resizable_bar) out->memoryTypes[STRICT_TYPE_DEVICE].propertyFlags |= wanted;
    out->memoryTypes[STRICT_TYPE_HOST] =
        (VkMemoryType){VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 1};
    out->memoryHeaps[0] = (VkMemoryHeap){strict.options.heap_bytes, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    out->memoryHeaps[1] = (VkMemoryHeap){(uint64_t)1 << 30, 0};
}

VKAPI_ATTR void VKAPI_CALL strict_memory_properties2(VkPhysicalDevice physical,
                                                     VkPhysicalDeviceMemoryProperties2 *out)
{
    strict_memory_properties(physical, &out->memoryProperties);
}

VKAPI_ATTR void VKAPI_CALL strict_queue_families(VkPhysicalDevice physical, uint32_t *count,
                                                 VkQueueFamilyProperties *out)
{
    strict.real.GetPhysicalDeviceQueueFamilyProperties(physical, count, out);
    for (uint32_t i = 0; out && i < *count; i++)
        if (!strict.options.timestamps) out[i].timestampValidBits = 0;
}

/* ---- Switching on ---------------------------------------------------------------------------- */

static VkResult check_features(const VkPhysicalDeviceFeatures *f)
{
    VkPhysicalDeviceFeatures rest = *f;
    static const VkPhysicalDeviceFeatures none;
    rest.robustBufferAccess = VK_FALSE;
    if (!memcmp(&rest, &none, sizeof none)) return VK_SUCCESS;
    strict_violation("a feature was enabled that the device does not have");
    return VK_ERROR_FEATURE_NOT_PRESENT;
}

static VkResult check_chain(const VkBaseInStructure *at)
{
    for (; at; at = at->pNext) {
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
            VkResult r = check_features(&((const VkPhysicalDeviceFeatures2 *)at)->features);
            if (r < 0) return r;
            continue;
        }
        const VkPhysicalDevice16BitStorageFeatures *f = (const VkPhysicalDevice16BitStorageFeatures *)at;
        bool none = at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES &&
                    !f->storageBuffer16BitAccess && !f->uniformAndStorageBuffer16BitAccess &&
                    !f->storagePushConstant16 && !f->storageInputOutput16;
        if (none) continue;
        strict_violation("structure type %d enables what the device does not have", (int)at->sType);
        return VK_ERROR_FEATURE_NOT_PRESENT;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    if (info->enabledExtensionCount) {
        strict_violation("device extension %s was enabled", info->ppEnabledExtensionNames[0]);
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
    VkResult r = check_chain(info->pNext);
    if (r >= 0 && info->pEnabledFeatures) r = check_features(info->pEnabledFeatures);
    return r < 0 ? r : strict.real.CreateDevice(physical, info, callbacks, out);
}
