/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers over spans of device memory, and copies between them. */
#ifndef GPUC_RUNTIME_VULKAN_BUFFER_H
#define GPUC_RUNTIME_VULKAN_BUFFER_H

#include <gpuc/vulkan.h>

#include "runtime_vulkan/memory.h"

/* A 16-byte read of the last element stays inside. */
#define GPUC_VK_SIZE_ROUND 16

/* A VkBuffer over a span: staging, parameters, and the inside of a gpuc_buffer. */
typedef struct gpuc_vk_raw_buffer {
    VkBuffer handle;
    gpuc_vk_span span;
    VkDeviceSize size;
    uint8_t *mapped; /* NULL if the host cannot see it */
} gpuc_vk_raw_buffer;

GPUC_NODISCARD gpuc_status gpuc_vk_raw_create(gpuc_vk_device *dev, VkDeviceSize size, VkDeviceSize alignment,
                                              VkBufferUsageFlags usage, gpuc_vk_use use,
                                              gpuc_vk_raw_buffer *out);
void gpuc_vk_raw_destroy(gpuc_vk_device *dev, gpuc_vk_raw_buffer *raw);
/* Where *status says that memory of the device is out: waits until what was freed is in use no more, releases it, and
 * returns true, to try once more. Without queue.lock. */
bool gpuc_vk_reclaim(gpuc_vk_device *dev, gpuc_status *status);

typedef struct gpuc_vk_buffer {
    gpuc_buffer base;
    gpuc_vk_raw_buffer raw; /* raw.size: base.size rounded up to 16 */
    uint64_t id;            /* never used twice, unlike the address and the handle */
    bool direct;            /* the host may write it by itself when it is idle */
    bool cached;            /* and reads it at full speed */
    uint64_t last_use, last_write;
    struct gpuc_vk_image *image; /* NULL: it is none */
    struct gpuc_vk_buffer *next_garbage;
    VkBufferUsageFlags usage;
    uint32_t owner_family; /* GPUC_VULKAN_SAME_FAMILY: none but gpuc's */
    /* Of a buffer of the application: how many arrays are over it, and what those did not tell yet that were. */
    bool foreign;
    uint32_t wraps;
    struct gpuc_vk_wrap *released;
    struct gpuc_vk_buffer *next_foreign;
} gpuc_vk_buffer;

/* One array over a buffer of the application. */
typedef struct gpuc_vk_wrap {
    struct gpuc_vk_wrap *next;
    gpuc_vk_buffer *buffer;
    void (*released)(void *user);
    void *user;
} gpuc_vk_wrap;

#define GPUC_VK_TENSOR_USAGE                                                                                 \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |                         \
     VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

/* Fills what is not raw, of a buffer of gpuc's with memory. */
void gpuc_vk_buffer_fill(gpuc_vk_device *dev, gpuc_vk_buffer *b, size_t bytes);
gpuc_status gpuc_vk_buffer_create(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out);
/* Frees the buffer at once if the device no longer uses it, else later, when that is noticed. */
void gpuc_vk_buffer_free(gpuc_device *dev, gpuc_buffer *buffer);
void gpuc_vk_buffer_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b);

/* foreign.c: calls what was to be called once the buffer is used no more, and frees it; with queue.lock, or alone. */
void gpuc_vk_foreign_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b);
/* INVALID_ARGUMENT if the buffer was not made for this use, which is for what; for buffers of the application. */
GPUC_NODISCARD gpuc_status gpuc_vk_check_usage(VkBufferUsageFlags usage, VkBufferUsageFlags need,
                                               const char *what);
/* Takes the buffers among the bindings over from other queue families, or gives them back. */
void gpuc_vk_take_over(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_bindings *bindings,
                       bool back);

gpuc_status gpuc_vk_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream);
gpuc_status gpuc_vk_read_later(gpuc_device *dev, gpuc_copy_end from, void *host, size_t bytes,
                               gpuc_stream *stream);

#endif
