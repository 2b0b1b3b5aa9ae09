/* SPDX-License-Identifier: Apache-2.0 */
/* Image views of a Vulkan application as inputs and outputs. No Vulkan header is needed, and one may be included
 * before or after. */
#ifndef GPUC_VULKAN_IMAGE_H
#define GPUC_VULKAN_IMAGE_H

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#if UINTPTR_MAX > 0xffffffffu
typedef struct VkImageView_T *VkImageView;
#else
typedef uint64_t VkImageView;
#endif

/* A view of one level and one layer of a 2D image, with memory bound. */
typedef struct gpuc_vulkan_image {
    VkImageView view; /* of the device's VkDevice */
    /* VkFormat of the view: R8G8B8A8_UNORM, B8G8R8A8_UNORM and R8_UNORM are arrays of uint8, R16G16B16A16_SFLOAT and
     * R16_SFLOAT of float16, R32G32B32A32_SFLOAT and R32_SFLOAT of float32. No SRGB format: gpuc decodes and
     * encodes by itself, on a UNORM view of the image. */
    uint32_t format;
    /* VkImageLayout that it is in while gpuc uses it: GENERAL, or, for what is only read, SHADER_READ_ONLY_OPTIMAL.
     * gpuc changes no layout. */
    uint32_t layout;
    uint32_t width, height; /* in texels */
    uint32_t usage;         /* VkImageUsageFlags of the image: SAMPLED for inputs, STORAGE for outputs */
} gpuc_vulkan_image;

/* Makes an array [height, width, 4 or 1 channels] of an image, to be bound as an input or output that is an image.
 * gpuc does not copy from it or to it, and does not see that two arrays are of one image: wrap it once. It stays the application's, and must live until released(user) is called,
 * which may be NULL: once the array has been released and the work that uses it is done. UNSUPPORTED for a format
 * or size that it cannot be, INVALID_ARGUMENT for another layout. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_wrap_image(gpuc_device *dev, const gpuc_vulkan_image *image,
                                                           void (*released)(void *user), void *user,
                                                           gpuc_ndarray **out);

#ifdef __cplusplus
}
#endif
#endif
