/* SPDX-License-Identifier: Apache-2.0 */
/* A device: its handles, memory, queue and modules. */
#ifndef GPUC_RUNTIME_VULKAN_DEVICE_H
#define GPUC_RUNTIME_VULKAN_DEVICE_H

#include "runtime_vulkan/caps.h"
#include "runtime_vulkan/image.h"
#include "runtime_vulkan/module.h"
#include "runtime_vulkan/queue.h"

struct gpuc_vk_device {
    gpuc_device base;
    gpuc_vk *vk;
    gpuc_allocator allocator;
    VkPhysicalDevice physical;
    VkDevice handle;
    gpuc_vk_device_fns fn;
    gpuc_vk_caps caps;
    gpuc_vk_memory memory;
    gpuc_vk_queue queue;
    gpuc_vk_stream main;           /* the default one */
    pthread_mutex_t readback_lock; /* taken before queue.lock */
    gpuc_vk_raw_buffer readback;
    uint64_t next_buffer_id; /* atomic */

    pthread_mutex_t module_lock; /* layouts and the cache's bookkeeping */
    gpuc_vk_layout *layouts;
    VkPipelineCache cache;
    size_t cache_size; /* bytes when last loaded or stored */
    char cache_key[160];

    bool force_staging; /* the switches of testing.h */
    bool no_push_descriptors;
    bool no_barriers;
    double cut_cost; /* operations per submission */
};

GPUC_NODISCARD gpuc_status gpuc_vk_device_open(gpuc_vk *vk, int index, gpuc_device **out);
void gpuc_vk_device_destroy(gpuc_device *dev);
extern const gpuc_device_api gpuc_vk_api;
/* Shown by layers and debuggers. */
void gpuc_vk_name_object(const gpuc_vk_device *dev, VkObjectType type, uint64_t handle, const char *name);

#endif
