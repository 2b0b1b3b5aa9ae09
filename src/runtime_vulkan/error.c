/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime_vulkan/vk.h"

static const struct {
    VkResult result;
    gpuc_code code;
    const char *name;
} results[] = {
    {VK_ERROR_OUT_OF_HOST_MEMORY, GPUC_OUT_OF_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, GPUC_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    {VK_ERROR_INITIALIZATION_FAILED, GPUC_DEVICE_UNAVAILABLE, "VK_ERROR_INITIALIZATION_FAILED"},
    {VK_ERROR_DEVICE_LOST, GPUC_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
    {VK_ERROR_MEMORY_MAP_FAILED, GPUC_OUT_OF_MEMORY, "VK_ERROR_MEMORY_MAP_FAILED"},
    {VK_ERROR_LAYER_NOT_PRESENT, GPUC_DEVICE_UNAVAILABLE, "VK_ERROR_LAYER_NOT_PRESENT"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, GPUC_UNSUPPORTED, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    {VK_ERROR_FEATURE_NOT_PRESENT, GPUC_UNSUPPORTED, "VK_ERROR_FEATURE_NOT_PRESENT"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, GPUC_DEVICE_UNAVAILABLE, "VK_ERROR_INCOMPATIBLE_DRIVER"},
    {VK_ERROR_TOO_MANY_OBJECTS, GPUC_OUT_OF_DEVICE_MEMORY, "VK_ERROR_TOO_MANY_OBJECTS"},
    {VK_ERROR_FORMAT_NOT_SUPPORTED, GPUC_UNSUPPORTED, "VK_ERROR_FORMAT_NOT_SUPPORTED"},
    {VK_ERROR_FRAGMENTED_POOL, GPUC_OUT_OF_DEVICE_MEMORY, "VK_ERROR_FRAGMENTED_POOL"},
    {VK_ERROR_UNKNOWN, GPUC_INTERNAL, "VK_ERROR_UNKNOWN"},
    {VK_ERROR_OUT_OF_POOL_MEMORY, GPUC_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},
    {VK_ERROR_FRAGMENTATION, GPUC_OUT_OF_DEVICE_MEMORY, "VK_ERROR_FRAGMENTATION"},
    {VK_ERROR_INVALID_EXTERNAL_HANDLE, GPUC_INVALID_ARGUMENT, "VK_ERROR_INVALID_EXTERNAL_HANDLE"},
    {VK_ERROR_INVALID_SHADER_NV, GPUC_INVALID_DATA, "VK_ERROR_INVALID_SHADER_NV"},
};

const char *gpuc_vk_result_name(VkResult r)
{
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (results[i].result == r) return results[i].name;
    return NULL;
}

gpuc_status gpuc_vk_error_at(VkResult r, const char *call, const char *file, int line)
{
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (results[i].result == r)
            return gpuc_error_make(results[i].code, file, line, "%s: %s", call, results[i].name);
    return gpuc_error_make(GPUC_INTERNAL, file, line, "%s: VkResult %d", call, (int)r);
}
