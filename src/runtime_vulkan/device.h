/* SPDX-License-Identifier: Apache-2.0 */
/* A device: its handles, memory, queue and modules. */
#ifndef GPUC_RUNTIME_VULKAN_DEVICE_H
#define GPUC_RUNTIME_VULKAN_DEVICE_H

#include <gpuc/vulkan.h>

#include "runtime_vulkan/caps.h"
#include "runtime_vulkan/image.h"
#include "runtime_vulkan/module.h"
#include "runtime_vulkan/queue.h"

/* What an adopted device takes of the application; zeros for one that gpuc made. */
typedef struct gpuc_vk_app {
    gpuc_vk *vk; /* of this device alone; NULL: gpuc made it */
    void (*lock_queue)(void *user);
    void (*unlock_queue)(void *user);
    void *queue_user;
    gpuc_vulkan_memory_hook memory;
    uint64_t budget; /* bytes of memory; 0: as many as there are */
    bool owns_cache; /* the pipeline cache is the application's */
} gpuc_vk_app;

struct gpuc_vk_device {
    gpuc_device base;
    gpuc_vk *vk;
    gpuc_vk_app app;
    const VkAllocationCallbacks *host; /* of all objects; NULL: the driver's own */
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
    gpuc_vk_buffer *foreign; /* of the application, with arrays over them or in use; guarded by queue.lock */

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
/* A device without handles. */
gpuc_vk_device *gpuc_vk_device_make(gpuc_vk *vk);
/* The same with an instance of its own, which is the application's. */
GPUC_NODISCARD gpuc_status gpuc_vk_device_make_alone(gpuc_runtime *rt, gpuc_vk_device **out);
/* Memory, queue and cache of a device whose handle, functions and capabilities are there. */
GPUC_NODISCARD gpuc_status gpuc_vk_device_start(gpuc_vk_device *dev);
void gpuc_vk_device_destroy(gpuc_device *dev);
extern const gpuc_device_api gpuc_vk_api;
/* Shown by layers and debuggers. */
void gpuc_vk_name_object(const gpuc_vk_device *dev, VkObjectType type, uint64_t handle, const char *name);

#endif
