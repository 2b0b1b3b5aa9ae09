/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline cache. Drivers trust its bytes, so they are wrapped with a checksum:
 * u64 magic, u64 XXH64 of the data, the data. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "runtime_vulkan/device.h"

#define CACHE_MAGIC UINT64_C(0x31656863616b7647) /* "Gvkache1" */
#define WRAP_BYTES 16

static void make_key(gpuc_vk_device *dev)
{
    const VkPhysicalDeviceProperties *p = &dev->caps.props;
    char driver[2 * VK_UUID_SIZE + 1], cache[2 * VK_UUID_SIZE + 1];
    for (uint32_t i = 0; i < VK_UUID_SIZE; i++) {
        snprintf(driver + 2 * i, 3, "%02x", dev->caps.driver_uuid[i]);
        snprintf(cache + 2 * i, 3, "%02x", p->pipelineCacheUUID[i]);
    }
    snprintf(dev->cache_key, sizeof(dev->cache_key), "vulkan-pipelines-%s-%s-%04x-%04x-%08x", driver, cache,
             p->vendorID, p->deviceID, p->driverVersion);
}

/* The data inside the wrapping, if it is whole and made by this very driver. */
static const void *unwrap(const gpuc_vk_device *dev, const void *bytes, size_t size, size_t *out_size)
{
    const VkPhysicalDeviceProperties *p = &dev->caps.props;
    VkPipelineCacheHeaderVersionOne head;
    uint64_t wrap[2];
    *out_size = 0;
    if (size < WRAP_BYTES + sizeof(head)) return NULL;
    memcpy(wrap, bytes, WRAP_BYTES);
    const uint8_t *data = (const uint8_t *)bytes + WRAP_BYTES;
    if (wrap[0] != CACHE_MAGIC || wrap[1] != gpuc_hash_bytes(data, size - WRAP_BYTES, 0)) return NULL;
    memcpy(&head, data, sizeof(head));
    if (head.headerSize < sizeof(head) || head.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE ||
        head.vendorID != p->vendorID || head.deviceID != p->deviceID ||
        memcmp(head.pipelineCacheUUID, p->pipelineCacheUUID, VK_UUID_SIZE) != 0)
        return NULL;
    *out_size = size - WRAP_BYTES;
    return data;
}

gpuc_status gpuc_vk_cache_init(gpuc_vk_device *dev)
{
    if (dev->app.owns_cache) return NULL;
    make_key(dev);
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    const void *bytes;
    size_t size;
    if (gpuc_runtime_cache_load(dev->base.runtime, dev->cache_key, &bytes, &size)) {
        info.pInitialData = unwrap(dev, bytes, size, &info.initialDataSize);
        if (!info.pInitialData)
            gpuc_runtime_log(
                dev->base.runtime, GPUC_LOG_WARNING, "vulkan.cache",
                "the stored pipeline cache %s is damaged or of another driver; starting a new one",
                dev->cache_key);
    }
    VkResult r = dev->fn.CreatePipelineCache(dev->handle, &info, dev->host, &dev->cache);
    if (r < 0 && info.initialDataSize) {
        info.pInitialData = NULL;
        info.initialDataSize = 0;
        r = dev->fn.CreatePipelineCache(dev->handle, &info, dev->host, &dev->cache);
    }
    GPUC_VK_TRY("vkCreatePipelineCache", r);
    dev->cache_size = info.initialDataSize;
    return NULL;
}

/* A cache that cannot be stored costs time only. */
static void store(gpuc_vk_device *dev)
{
    size_t size = 0;
    if (dev->fn.GetPipelineCacheData(dev->handle, dev->cache, &size, NULL) < 0 || size <= dev->cache_size)
        return;
    size_t room = WRAP_BYTES + size;
    uint8_t *bytes = gpuc_mem_alloc(dev->allocator, room);
    if (!bytes) return;
    if (dev->fn.GetPipelineCacheData(dev->handle, dev->cache, &size, bytes + WRAP_BYTES) == VK_SUCCESS) {
        uint64_t wrap[2] = {CACHE_MAGIC, gpuc_hash_bytes(bytes + WRAP_BYTES, size, 0)};
        memcpy(bytes, wrap, WRAP_BYTES);
        gpuc_runtime_cache_store(dev->base.runtime, dev->cache_key, bytes, WRAP_BYTES + size);
        dev->cache_size = size;
    }
    gpuc_mem_free(dev->allocator, bytes, room);
}

void gpuc_vk_cache_store(gpuc_device *device)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    if (dev->app.owns_cache || !gpuc_runtime_get_desc(dev->base.runtime)->cache_store) return;
    pthread_mutex_lock(&dev->module_lock);
    store(dev);
    pthread_mutex_unlock(&dev->module_lock);
}

void gpuc_vk_cache_deinit(gpuc_vk_device *dev)
{
    if (dev->cache && !dev->app.owns_cache) dev->fn.DestroyPipelineCache(dev->handle, dev->cache, dev->host);
    dev->cache = VK_NULL_HANDLE;
}
