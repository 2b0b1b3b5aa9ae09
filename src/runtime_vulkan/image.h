/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that are images: gpuc's own, always in the layout GENERAL, and views of the application. */
#ifndef GPUC_RUNTIME_VULKAN_IMAGE_H
#define GPUC_RUNTIME_VULKAN_IMAGE_H

#include "runtime_vulkan/buffer.h"

typedef struct gpuc_vk_image {
    VkImage handle; /* that gpuc made; NULL: the application's */
    VkImage foreign;
    VkImageView view;
    uint64_t order; /* the same for all arrays over one image: of hazards */
    VkFormat format;
    VkImageLayout layout;
    VkImageUsageFlags usage;
    uint32_t width, height, channels;
    gpuc_dtype dtype;
    gpuc_vk_span span;
    void (*released)(void *user); /* of the application's; may be NULL */
    void *user;
} gpuc_vk_image;

typedef struct gpuc_vk_bound_step gpuc_vk_bound_step;

/* A kernel's tensor that is an image, with what is bound to it (image NULL: a buffer). */
GPUC_NODISCARD gpuc_status gpuc_vk_image_check(const gpuc_kernel *k, uint32_t tensor, const char *name,
                                               const gpuc_vk_image *image);
gpuc_status gpuc_vk_image_create(gpuc_device *dev, gpuc_dtype dtype, int64_t height, int64_t width,
                                 int channels, gpuc_buffer **out);
/* Of a buffer that is an image, which nothing uses. */
void gpuc_vk_image_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b);
/* gpuc_vk_copy, where an end is an image. */
GPUC_NODISCARD gpuc_status gpuc_vk_image_copy(gpuc_vk_device *dev, gpuc_copy_end from, gpuc_copy_end to,
                                              size_t bytes, gpuc_stream *stream);
/* copy.c: queues a copy whose ends are buffers or, one of them, an image. */
GPUC_NODISCARD gpuc_status gpuc_vk_copy_on_device(gpuc_vk_device *dev, gpuc_copy_end from, gpuc_copy_end to,
                                                  size_t bytes, gpuc_stream *stream);
/* A copy of all of an image to or from a buffer at an offset. */
GPUC_NODISCARD gpuc_status gpuc_vk_image_check_copy(const gpuc_vk_image *from, const gpuc_vk_image *to,
                                                    VkDeviceSize buffer_offset);
/* gpuc_vk_take_over of one that another queue family owns. */
void gpuc_vk_image_take_over(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_vk_buffer *b,
                             bool back);
void gpuc_vk_image_record_copy(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_vk_bound_step *s);

#endif
