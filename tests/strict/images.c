/* SPDX-License-Identifier: Apache-2.0 */
/* Images: the formats, sizes and memory that every device has. */
#include "state.h"

static const struct {
    VkFormat format;
    VkFormatFeatureFlags features;
} formats[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT},
    {VK_FORMAT_R16G16B16A16_SFLOAT,
     VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT},
    {VK_FORMAT_R32G32B32A32_SFLOAT,
     VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT},
    {VK_FORMAT_R32_SFLOAT, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT},
    {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT},
    {VK_FORMAT_R8_UNORM, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT},
    {VK_FORMAT_R16_SFLOAT, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT},
};

static VkFormatFeatureFlags features_of(VkFormat format)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format == format)
            return formats[i].features | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
                   VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    return 0;
}

VKAPI_ATTR void VKAPI_CALL strict_format_properties(VkPhysicalDevice physical, VkFormat format,
                                                    VkFormatProperties *out)
{
    (void)physical;
    *out = (VkFormatProperties){.optimalTilingFeatures = features_of(format)};
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_image(VkDevice device, const VkImageCreateInfo *info,
                                                   const VkAllocationCallbacks *callbacks, VkImage *out)
{
    VkFormatFeatureFlags have = features_of(info->format);
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (info->extent.width > strict_limits.maxImageDimension2D ||
        info->extent.height > strict_limits.maxImageDimension2D)
        return strict_violation("an image of %u x %u", info->extent.width, info->extent.height);
    if ((info->usage & VK_IMAGE_USAGE_SAMPLED_BIT && !(have & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)) ||
        (info->usage & VK_IMAGE_USAGE_STORAGE_BIT && !(have & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT)))
        return strict_violation("an image of format %d with usage 0x%x", (int)info->format, info->usage);
    return strict.real.CreateImage(device, info, callbacks, out);
}

VKAPI_ATTR void VKAPI_CALL strict_image_requirements(VkDevice device, VkImage image,
                                                     VkMemoryRequirements *out)
{
    strict.real.GetImageMemoryRequirements(device, image, out);
    out->memoryTypeBits = 1u << STRICT_TYPE_DEVICE;
    if (out->alignment < STRICT_ATOM) out->alignment = STRICT_ATOM;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_bind_image(VkDevice device, VkImage image, VkDeviceMemory memory,
                                                 VkDeviceSize offset)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (offset % strict_limits.bufferImageGranularity)
        return strict_violation("an image at byte %llu of its memory, next to buffers",
                                (unsigned long long)offset);
    return strict.real.BindImageMemory(device, image, memory, offset);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_image_view(VkDevice device, const VkImageViewCreateInfo *info,
                                                        const VkAllocationCallbacks *callbacks,
                                                        VkImageView *out)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return strict.real.CreateImageView(device, info, callbacks, out);
}
