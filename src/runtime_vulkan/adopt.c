/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a device of the application's VkDevice. */
#include <string.h>

#include "base/require.h"
#include "runtime_vulkan/device.h"

#define FIELD_MISSING "gpuc_vulkan_device_desc.%s is missing"

static gpuc_status check_fields(const gpuc_vulkan_device_desc *d)
{
    const struct {
        const char *name;
        bool there;
    } fields[] = {
        {"get_instance_proc_addr", d->get_instance_proc_addr != NULL},
        {"instance", d->instance != NULL},
        {"physical_device", d->physical_device != NULL},
        {"device", d->device != NULL},
        {"queue", d->queue != NULL},
        {"extensions", d->extensions || !d->num_extensions},
        {"lock_queue, with unlock_queue,", !d->unlock_queue || d->lock_queue},
        {"unlock_queue, with lock_queue,", !d->lock_queue || d->unlock_queue},
        {"memory.allocate, with memory.free,", !d->memory.free || d->memory.allocate},
        {"memory.free, with memory.allocate,", !d->memory.allocate || d->memory.free},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!fields[i].there) return gpuc_fail(GPUC_INVALID_ARGUMENT, FIELD_MISSING, fields[i].name);
    for (uint32_t i = 0; i < d->num_extensions; i++)
        if (!d->extensions[i])
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc_vulkan_device_desc.extensions[%u] is NULL", i);
    const VkPhysicalDeviceFeatures2 *f = d->features;
    if (f && f->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "gpuc_vulkan_device_desc.features has sType %d: it must be a VkPhysicalDeviceFeatures2, "
            "with the other structures in its chain",
            (int)f->sType);
    if (d->api_version < VK_API_VERSION_1_1)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "gpuc_vulkan_device_desc.api_version is %u.%u: make the instance with 1.1 or newer in "
            "VkApplicationInfo.apiVersion",
            VK_API_VERSION_MAJOR(d->api_version), VK_API_VERSION_MINOR(d->api_version));
    return NULL;
}

static gpuc_status check_queue(const gpuc_vk_device *dev)
{
    VkQueueFamilyProperties families[GPUC_VK_MAX_FAMILIES];
    const char *name = dev->caps.props.deviceName;
    uint32_t count = gpuc_vk_families(dev->vk, dev->physical, families), family = dev->caps.queue_family;
    if (family >= count)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "gpuc_vulkan_device_desc.queue_family is %u: %s has %u families", family, name,
                         count);
    if (!(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "queue family %u of %s cannot compute: give a queue of a family with "
                         "VK_QUEUE_COMPUTE_BIT",
                         family, name);
    if (dev->caps.props.apiVersion < VK_API_VERSION_1_1)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%s has Vulkan %s; 1.1 is the minimum", name,
                         dev->caps.api_text);
    return NULL;
}

static gpuc_status start(gpuc_vk_device *dev, const gpuc_vulkan_device_desc *d)
{
    gpuc_vk_features features;
    const gpuc_vk_enabled enabled = {.extensions = d->extensions,
                                     .num_extensions = d->num_extensions,
                                     .features = d->features,
                                     .queue_family = d->queue_family};
    gpuc_vk_borrow_instance(dev->vk, d->get_instance_proc_addr, d->instance, d->api_version);
    dev->vk->debug_utils = d->debug_utils;
    GPUC_TRY(gpuc_vk_load_instance(dev->vk));
    GPUC_TRY(gpuc_vk_caps_query(dev->vk, d->physical_device, &enabled, &dev->caps, &features));
    GPUC_TRY(check_queue(dev));
    dev->handle = d->device;
    GPUC_TRY(gpuc_vk_load_device(dev->vk, dev->handle, &dev->fn));
    dev->queue.handle = d->queue;
    dev->cache = d->pipeline_cache;
    dev->app.owns_cache = d->pipeline_cache != VK_NULL_HANDLE;
    return gpuc_vk_device_start(dev);
}

static gpuc_status make(gpuc_runtime *rt, const gpuc_vulkan_device_desc *d, gpuc_vk_device **out)
{
    gpuc_vk_device *dev;
    GPUC_TRY(gpuc_vk_device_make_alone(rt, &dev));
    dev->physical = d->physical_device;
    dev->host = d->allocation_callbacks;
    dev->app.lock_queue = d->lock_queue;
    dev->app.unlock_queue = d->unlock_queue;
    dev->app.queue_user = d->queue_user;
    dev->app.memory = d->memory;
    dev->app.budget = d->memory_budget;
    gpuc_status s = start(dev, d);
    if (s)
        gpuc_vk_device_destroy(&dev->base);
    else
        *out = dev;
    return s;
}

static gpuc_status adopt(gpuc_runtime *rt, const gpuc_vulkan_device_desc *desc, gpuc_device **out)
{
    gpuc_vulkan_device_desc known = {0};
    gpuc_vk_device *dev;
    memcpy(&known, desc, desc->struct_size < sizeof known ? desc->struct_size : sizeof known);
    GPUC_TRY(check_fields(&known));
    GPUC_TRY(make(rt, &known, &dev));
    gpuc_status s = gpuc_runtime_adopt(rt, "vulkan", &dev->base);
    if (s)
        gpuc_vk_device_destroy(&dev->base);
    else
        *out = &dev->base;
    return s;
}

gpuc_status gpuc_vulkan_adopt(gpuc_runtime *rt, const gpuc_vulkan_device_desc *desc, gpuc_device **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(desc);
    return gpuc_error_prefix(adopt(rt, desc, out), "adopting a Vulkan device");
}

gpuc_status gpuc_vulkan_report_memory(gpuc_device *device, gpuc_vulkan_heap *out, uint32_t *in_out_count)
{
    GPUC_REQUIRE(device);
    GPUC_REQUIRE(in_out_count);
    uint32_t room = out ? *in_out_count : 0;
    *in_out_count = 0;
    if (device->type != GPUC_DEVICE_VULKAN)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s:%d is no Vulkan device", device->api->name,
                         device->index);
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    const VkPhysicalDeviceMemoryProperties *m = &dev->caps.memory;
    uint64_t used[VK_MAX_MEMORY_HEAPS];
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget;
    gpuc_vk_memory_by_heap(dev, used);
    gpuc_vk_memory_budget(dev, &budget);
    for (uint32_t i = 0; i < m->memoryHeapCount && i < room; i++)
        out[i] = (gpuc_vulkan_heap){.size = m->memoryHeaps[i].size,
                                    .used = used[i],
                                    .known = dev->caps.memory_budget,
                                    .budget = budget.heapBudget[i],
                                    .usage = budget.heapUsage[i]};
    *in_out_count = m->memoryHeapCount;
    return NULL;
}
