/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a Vulkan device. */
#include <string.h>

#include "runtime_vulkan/testing.h"
#include "runtime_vulkan/plan.h"

#define DEFAULT_CUT_COST 2e9

static const struct {
    float among_own;
    VkQueueGlobalPriorityKHR among_all;
} priorities[] = {
    [GPUC_QUEUE_PRIORITY_DEFAULT] = {0.5f, VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR},
    [GPUC_QUEUE_PRIORITY_LOW] = {0, VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR},
    [GPUC_QUEUE_PRIORITY_HIGH] = {1, VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR},
};

static gpuc_status create_handle(gpuc_vk_device *dev, const gpuc_vk_features *features)
{
    gpuc_queue_priority wanted = gpuc_runtime_get_desc(dev->vk->rt)->queue_priority;
    float priority = priorities[wanted].among_own;
    VkDeviceQueueGlobalPriorityCreateInfoKHR global = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
        .globalPriority = priorities[wanted].among_all,
    };
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .pNext = dev->caps.global_priority ? &global : NULL,
        .queueFamilyIndex = dev->caps.queue_family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features->core,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = dev->caps.num_extensions,
        .ppEnabledExtensionNames = dev->caps.extensions,
    };
    VkResult r = dev->vk->fn.CreateDevice(dev->physical, &info, NULL, &dev->handle);
    if (r < 0 && queue.pNext) { /* the process may not have it */
        queue.pNext = NULL;
        r = dev->vk->fn.CreateDevice(dev->physical, &info, NULL, &dev->handle);
    }
    GPUC_VK_TRY("vkCreateDevice", r);
    if (wanted && !queue.pNext)
        gpuc_runtime_log(dev->vk->rt, GPUC_LOG_INFO, "vulkan.priority",
                         "the device has no queue_priority for this process");
    return gpuc_vk_load_device(dev->vk, dev->handle, &dev->fn);
}

static gpuc_status open_device(gpuc_vk_device *dev)
{
    gpuc_vk_features features;
    GPUC_TRY(gpuc_vk_caps_query(dev->vk, dev->physical, NULL, &dev->caps, &features));
    GPUC_TRY(create_handle(dev, &features));
    dev->fn.GetDeviceQueue(dev->handle, dev->caps.queue_family, 0, &dev->queue.handle);
    return gpuc_vk_device_start(dev);
}

gpuc_status gpuc_vk_device_start(gpuc_vk_device *dev)
{
    gpuc_vk_memory_init(dev);
    GPUC_TRY(gpuc_vk_queue_init(dev));
    return gpuc_vk_cache_init(dev);
}

gpuc_vk_device *gpuc_vk_device_make(gpuc_vk *vk)
{
    gpuc_vk_device *dev = gpuc_mem_alloc(vk->allocator, sizeof(*dev));
    if (!dev) return NULL;
    dev->base.runtime = vk->rt;
    dev->vk = vk;
    dev->allocator = vk->allocator;
    dev->cut_cost = DEFAULT_CUT_COST;
    dev->force_staging = gpuc_runtime_get_desc(vk->rt)->vulkan_staging;
    pthread_mutex_init(&dev->readback_lock, NULL);
    pthread_mutex_init(&dev->module_lock, NULL);
    pthread_mutex_init(&dev->memory.lock, NULL);
    pthread_mutex_init(&dev->queue.lock, NULL);
    return dev;
}

gpuc_status gpuc_vk_device_make_alone(gpuc_runtime *rt, gpuc_vk_device **out)
{
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    gpuc_vk *vk = gpuc_mem_alloc(a, sizeof *vk);
    *out = NULL;
    if (!vk) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a Vulkan device");
    vk->rt = rt;
    vk->allocator = a;
    *out = gpuc_vk_device_make(vk);
    if (*out) {
        (*out)->app.vk = vk;
        return NULL;
    }
    gpuc_mem_free(a, vk, sizeof *vk);
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a Vulkan device");
}

gpuc_status gpuc_vk_device_open(gpuc_vk *vk, int index, gpuc_device **out)
{
    *out = NULL;
    GPUC_TRY(gpuc_vk_instance_ensure(vk));
    if (index < 0 || (uint32_t)index >= vk->num_devices)
        return gpuc_fail(GPUC_NOT_FOUND, "there is no Vulkan device %d: the devices are 0 to %u", index,
                         vk->num_devices - 1);
    gpuc_vk_device *dev = gpuc_vk_device_make(vk);
    if (!dev) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory opening Vulkan device %d", index);
    dev->physical = vk->devices[index];
    gpuc_status s = open_device(dev);
    if (s) {
        gpuc_vk_device_destroy(&dev->base);
        return s;
    }
    *out = &dev->base;
    return NULL;
}

void gpuc_vk_device_destroy(gpuc_device *device)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    if (dev->handle && dev->fn.DestroyDevice) {
        gpuc_vk_queue_deinit(dev);
        gpuc_vk_raw_destroy(dev, &dev->readback);
        gpuc_vk_cache_deinit(dev);
        gpuc_vk_layouts_destroy(dev);
        gpuc_vk_memory_deinit(dev);
        if (!dev->app.vk) dev->fn.DestroyDevice(dev->handle, NULL);
    }
    gpuc_mem_free(dev->allocator, dev->app.vk, sizeof(gpuc_vk));
    pthread_mutex_destroy(&dev->queue.lock);
    pthread_mutex_destroy(&dev->memory.lock);
    pthread_mutex_destroy(&dev->module_lock);
    pthread_mutex_destroy(&dev->readback_lock);
    gpuc_mem_free(dev->allocator, dev, sizeof(*dev));
}

void gpuc_vk_name_object(const gpuc_vk_device *dev, VkObjectType type, uint64_t handle, const char *name)
{
    if (!dev->vk->debug_utils || !dev->fn.SetDebugUtilsObjectNameEXT) return;
    VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = name,
    };
    dev->fn.SetDebugUtilsObjectNameEXT(dev->handle, &info);
}

const gpuc_device_api gpuc_vk_api = {
    .struct_size = sizeof(gpuc_device_api),
    .get_attr = gpuc_vk_get_attr,
    .alloc_data_space = gpuc_vk_buffer_create,
    .free_data_space = gpuc_vk_buffer_free,
    .alloc_image = gpuc_vk_image_create,
    .copy_data_from_to = gpuc_vk_copy,
    .read_later = gpuc_vk_read_later,
    .create_stream = gpuc_vk_stream_create,
    .free_stream = gpuc_vk_stream_free,
    .stream_sync = gpuc_vk_stream_sync,
    .stream_flush = gpuc_vk_stream_flush,
    .stream_signal = gpuc_vk_stream_signal,
    .stream_wait = gpuc_vk_stream_wait,
    .ticket_wait = gpuc_vk_ticket_wait,
    .module_load = gpuc_vk_module_load,
    .module_release = gpuc_vk_module_release,
    .kernel_get = gpuc_vk_kernel_get,
    .store_cache = gpuc_vk_cache_store,
    .launch = gpuc_vk_launch,
    .plan_create = gpuc_vk_plan_create,
    .plan_run = gpuc_vk_plan_run,
    .plan_units = gpuc_vk_plan_units,
    .plan_run_part = gpuc_vk_plan_run_part,
    .plan_record = gpuc_vk_plan_record,
    .submit_end = gpuc_vk_submit_end,
    .plan_profile = gpuc_vk_plan_profile,
    .plan_destroy = gpuc_vk_plan_destroy,
    .destroy = gpuc_vk_device_destroy,
};

/* ---- Switches and handles for tests --------------------------------------------------------- */

void gpuc_vk_set_force_staging(gpuc_device *dev, bool on)
{
    ((gpuc_vk_device *)dev)->force_staging = on;
}

void gpuc_vk_set_push_descriptors(gpuc_device *dev, bool on)
{
    ((gpuc_vk_device *)dev)->no_push_descriptors = !on;
}

void gpuc_vk_set_barriers(gpuc_device *dev, bool on)
{
    ((gpuc_vk_device *)dev)->no_barriers = !on;
}

void gpuc_vk_set_cut_cost(gpuc_device *dev, double operations)
{
    ((gpuc_vk_device *)dev)->cut_cost = operations;
}

void gpuc_vk_set_max_range(gpuc_device *dev, uint32_t bytes)
{
    ((gpuc_vk_device *)dev)->caps.props.limits.maxStorageBufferRange = bytes;
}

void *gpuc_vk_get_handle(gpuc_device *device, uint32_t *out_queue_family)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    if (out_queue_family) *out_queue_family = dev->caps.queue_family;
    return dev->handle;
}

void *gpuc_vk_get_queue(gpuc_device *dev)
{
    return ((gpuc_vk_device *)dev)->queue.handle;
}

void *gpuc_vk_get_proc(gpuc_device *device, const char *name)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    return (void *)(uintptr_t)dev->vk->fn.GetDeviceProcAddr(dev->handle, name);
}

uint64_t gpuc_vk_memory_in_use(gpuc_device *device, uint32_t *out_allocations)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    pthread_mutex_lock(&dev->memory.lock);
    uint64_t bytes = dev->memory.allocated_bytes;
    if (out_allocations) *out_allocations = dev->memory.num_allocations;
    pthread_mutex_unlock(&dev->memory.lock);
    return bytes;
}
