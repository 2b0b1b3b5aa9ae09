/* SPDX-License-Identifier: Apache-2.0 */
/* Switches and handles that tests need; no part of the product calls them.
 *
 * A switch acts on what is made after it: buffers, modules, plans. */
#ifndef GPUC_VK_TESTING_H
#define GPUC_VK_TESTING_H

#include <gpuc/devices.h>

/* Buffers behave as if the host could not see device memory. */
void gpuc_vk_set_force_staging(gpuc_device *dev, bool on);
/* Descriptor sets from pools even where push descriptors exist. */
void gpuc_vk_set_push_descriptors(gpuc_device *dev, bool on);
/* Leaves out the barriers between the steps of a plan: the layer must complain. */
void gpuc_vk_set_barriers(gpuc_device *dev, bool on);
/* Estimated operations after which a plan starts another submission. */
void gpuc_vk_set_cut_cost(gpuc_device *dev, double operations);

/* Bytes that a storage binding holds, fewer than the device's. */
void gpuc_vk_set_max_range(gpuc_device *dev, uint32_t bytes);

/* VkDevice, and vkGetDeviceProcAddr of it; the queue's family. */
void *gpuc_vk_get_handle(gpuc_device *dev, uint32_t *out_queue_family);
void *gpuc_vk_get_queue(gpuc_device *dev);
void *gpuc_vk_get_proc(gpuc_device *dev, const char *name);
/* Bytes of device memory that are allocated, and in how many VkDeviceMemory. */
uint64_t gpuc_vk_memory_in_use(gpuc_device *dev, uint32_t *out_allocations);

#endif
