/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps freed workspace buffers of a device for the next call. */
#include "runtime/workspace_pool.h"

#include <string.h>

#include "abi/scope.h"
#include "base/arena.h"
#include "base/size.h"
#include "runtime/impl.h"

/* A buffer is reused if it exceeds the request by at most this, or by a quarter. */
#define SMALL_WASTE ((size_t)16 << 10)

gpuc_status gpuc_runtime_workspace_pool_init(gpuc_workspace_pool *pool, gpuc_device *dev)
{
    *pool = (gpuc_workspace_pool){.device = dev};
    if (pthread_mutex_init(&pool->mutex, NULL) != 0)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the mutex of a workspace pool");
    return NULL;
}

static void free_all(gpuc_workspace_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        pool->device->api->free_data_space(pool->device, pool->free[i].buffer);
    pool->count = 0;
    pool->free_bytes = 0;
}

void gpuc_runtime_workspace_pool_deinit(gpuc_workspace_pool *pool)
{
    free_all(pool);
    gpuc_mem_free(pool->device->runtime->allocator, pool->free, pool->capacity * sizeof *pool->free);
    pthread_mutex_destroy(&pool->mutex);
}

void gpuc_runtime_workspace_pool_trim(gpuc_workspace_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    free_all(pool);
    pthread_mutex_unlock(&pool->mutex);
}

/* First of the free buffers that has so many bytes; count if there is none. */
static size_t first_fit(const gpuc_workspace_pool *pool, size_t bytes)
{
    size_t low = 0, high = pool->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (pool->free[mid].buffer->size < bytes)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static gpuc_buffer *take(gpuc_workspace_pool *pool, const gpuc_stream *stream, size_t bytes, size_t waste)
{
    size_t i = first_fit(pool, bytes);
    while (i < pool->count && !pool->free[i].idle && pool->free[i].stream != stream) i++;
    if (i == pool->count || pool->free[i].buffer->size - bytes > waste) return NULL;
    gpuc_buffer *buffer = pool->free[i].buffer;
    pool->count--;
    pool->free_bytes -= buffer->size;
    memmove(&pool->free[i], &pool->free[i + 1], (pool->count - i) * sizeof *pool->free);
    return buffer;
}

gpuc_status gpuc_runtime_workspace_pool_alloc(gpuc_workspace_pool *pool, const gpuc_stream *stream,
                                              size_t bytes, gpuc_buffer **out)
{
    *out = NULL;
    if (bytes > SIZE_MAX - GPUC_SLOT_ALIGN)
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY, "a workspace of %zu bytes exceeds the address space",
                         bytes);
    bytes = (size_t)gpuc_align_up(bytes ? bytes : 1, GPUC_SLOT_ALIGN);
    pthread_mutex_lock(&pool->mutex);
    *out = take(pool, stream, bytes, bytes / 4 > SMALL_WASTE ? bytes / 4 : SMALL_WASTE);
    pthread_mutex_unlock(&pool->mutex);
    if (*out) return NULL;

    gpuc_device *dev = pool->device;
    gpuc_status status = dev->api->alloc_data_space(dev, bytes, GPUC_SLOT_ALIGN, out);
    if (gpuc_status_code(status) != GPUC_OUT_OF_DEVICE_MEMORY) return status;
    /* Out of memory: takes a free buffer of any sufficient size, else frees the unused ones and tries
     * again. */
    pthread_mutex_lock(&pool->mutex);
    *out = take(pool, stream, bytes, SIZE_MAX);
    bool freed = !*out && pool->count > 0;
    if (freed) free_all(pool);
    pthread_mutex_unlock(&pool->mutex);
    if (!*out && !freed) return status;
    gpuc_status_release(status);
    return *out ? NULL : dev->api->alloc_data_space(dev, bytes, GPUC_SLOT_ALIGN, out);
}

static bool make_room(gpuc_workspace_pool *pool)
{
    if (pool->count < pool->capacity) return true;
    size_t capacity = pool->capacity ? pool->capacity * 2 : 8;
    gpuc_workspace *list = gpuc_mem_resize(pool->device->runtime->allocator, pool->free,
                                           pool->capacity * sizeof *list, capacity * sizeof *list);
    if (!list) return false;
    pool->free = list;
    pool->capacity = capacity;
    return true;
}

void gpuc_runtime_workspace_pool_free(gpuc_workspace_pool *pool, const gpuc_stream *stream,
                                      gpuc_buffer *buffer)
{
    if (!buffer) return;
    pthread_mutex_lock(&pool->mutex);
    bool kept = make_room(pool);
    if (kept) {
        size_t i = first_fit(pool, buffer->size);
        memmove(&pool->free[i + 1], &pool->free[i], (pool->count - i) * sizeof *pool->free);
        pool->free[i] = (gpuc_workspace){.buffer = buffer, .stream = stream};
        pool->count++;
        pool->free_bytes += buffer->size;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (!kept) pool->device->api->free_data_space(pool->device, buffer);
}

gpuc_status gpuc_runtime_workspace_alloc(gpuc_device *dev, const gpuc_stream *stream, size_t bytes,
                                         gpuc_buffer **out)
{
    *out = NULL;
    if (dev->api->alloc_workspace) return dev->api->alloc_workspace(dev, bytes, out);
    gpuc_open_device *open = gpuc_runtime_find_open(dev->runtime, dev);
    if (!open)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "workspace asked of a device that its runtime did not open");
    return gpuc_runtime_workspace_pool_alloc(&open->pool, stream, bytes, out);
}

void gpuc_runtime_workspace_free(gpuc_device *dev, const gpuc_stream *stream, gpuc_buffer *buffer)
{
    if (!buffer) return;
    gpuc_open_device *open = dev->api->alloc_workspace ? NULL : gpuc_runtime_find_open(dev->runtime, dev);
    if (open)
        gpuc_runtime_workspace_pool_free(&open->pool, stream, buffer);
    else if (dev->api->free_workspace)
        dev->api->free_workspace(dev, buffer);
    else
        dev->api->free_data_space(dev, buffer);
}

void gpuc_runtime_workspace_forget(gpuc_device *dev, const gpuc_stream *stream)
{
    gpuc_open_device *open = gpuc_runtime_find_open(dev->runtime, dev);
    if (!open) return;
    pthread_mutex_lock(&open->pool.mutex);
    for (size_t i = 0; i < open->pool.count; i++)
        if (open->pool.free[i].stream == stream) open->pool.free[i].idle = true;
    pthread_mutex_unlock(&open->pool.mutex);
}
