/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees arrays on the host and on devices. */
#include "runtime/ndarray.h"

#include <string.h>

#include "abi/scope.h"
#include "base/arena.h"
#include "base/require.h"
#include "base/size.h"
#include "runtime/services.h"

#define MAX_NDIM 1024
#define ZEROS ((size_t)1 << 20)

gpuc_status gpuc_ndarray_measure(gpuc_dtype dtype, int ndim, const int64_t *dims, size_t *out)
{
    char name[24];
    *out = 0;
    if (!gpuc_dtype_exists(dtype))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s is not a type that an array can have",
                         gpuc_dtype_name(dtype, name));
    if (ndim < 0 || ndim > MAX_NDIM)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "an array cannot have %d dimensions", ndim);
    size_t bytes = gpuc_dtype_bytes(dtype) * dtype.lanes;
    bool overflow = false, empty = false;
    for (int d = 0; d < ndim; d++) {
        if (dims[d] < 0)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "dimension %d of an array is %lld", d,
                             (long long)dims[d]);
        empty = empty || dims[d] == 0;
        overflow = overflow || (uint64_t)dims[d] > SIZE_MAX || !gpuc_size_mul(bytes, (size_t)dims[d], &bytes);
    }
    if (!empty && (overflow || bytes > PTRDIFF_MAX))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "an array of %s with these %d dimensions exceeds the address space",
                         gpuc_dtype_name(dtype, name), ndim);
    *out = empty ? 0 : bytes;
    return NULL;
}

bool gpuc_ndarray_overlap(const gpuc_ndarray *a, const gpuc_ndarray *b)
{
    if (!a->buffer || !b->buffer || !a->bytes || !b->bytes) return false;
    uintptr_t x = a->offset, y = b->offset;
    if (a->buffer->host && b->buffer->host) { /* two buffers may be made of one memory of the application */
        x += (uintptr_t)a->buffer->host;
        y += (uintptr_t)b->buffer->host;
    } else if (a->buffer != b->buffer) {
        if (!a->origin || a->origin != b->origin) return false;
        x += (uintptr_t)a->origin_offset;
        y += (uintptr_t)b->origin_offset;
    }
    return x < y + b->bytes && y < x + a->bytes;
}

static size_t struct_bytes(int ndim)
{
    return sizeof(gpuc_ndarray) + (size_t)ndim * sizeof(int64_t);
}

/* Makes an array that has no memory yet. */
static gpuc_status make_head(gpuc_runtime *rt, gpuc_device *dev, gpuc_dtype dtype, int ndim,
                             const int64_t *dims, gpuc_ndarray **out)
{
    size_t bytes;
    *out = NULL;
    GPUC_TRY(gpuc_ndarray_measure(dtype, ndim, dims, &bytes));
    gpuc_ndarray *a = gpuc_mem_alloc(gpuc_runtime_allocator(rt), struct_bytes(ndim));
    if (!a) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for an array");
    a->runtime = rt;
    atomic_init(&a->refs, 1);
    a->bytes = bytes;
    a->dtype = dtype;
    a->ndim = ndim;
    if (ndim > 0) memcpy(a->dims, dims, (size_t)ndim * sizeof *dims);
    a->device = dev;
    if (dev)
        gpuc_device_pin(dev);
    else
        gpuc_runtime_pin(rt);
    *out = a;
    return NULL;
}

static gpuc_status clear_device(gpuc_ndarray *a)
{
    if (a->buffer->host) {
        memset(a->buffer->host, 0, a->bytes);
        return NULL;
    }
    if (a->bytes == 0) return NULL;
    gpuc_allocator allocator = gpuc_runtime_allocator(a->runtime);
    size_t size = a->bytes < ZEROS || a->buffer->is_image ? a->bytes : ZEROS;
    void *zeros = gpuc_mem_alloc(allocator, size);
    gpuc_status status =
        zeros ? NULL : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for clearing %zu bytes", a->bytes);
    for (size_t at = 0; at < a->bytes && !status; at += size) {
        size_t n = a->bytes - at < size ? a->bytes - at : size;
        gpuc_copy_end from = {.host = zeros}, to = {.buffer = a->buffer, .offset = at};
        status = a->device->api->copy_data_from_to(a->device, from, to, n, NULL);
    }
    gpuc_mem_free(allocator, zeros, size);
    return status;
}

static gpuc_status alloc_host(gpuc_ndarray *a)
{
    a->memory_size = (size_t)gpuc_align_up(a->bytes, GPUC_SLOT_ROUND) + GPUC_SLOT_ALIGN;
    a->memory = gpuc_mem_alloc(gpuc_runtime_allocator(a->runtime), a->memory_size);
    if (!a->memory) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for an array of %zu bytes", a->bytes);
    a->host = (uint8_t *)(uintptr_t)gpuc_align_up((uintptr_t)a->memory, GPUC_SLOT_ALIGN);
    return NULL;
}

static gpuc_status no_memory(const gpuc_ndarray *a)
{
    return gpuc_fail(GPUC_INTERNAL, "the device %s:%d gave no memory and no reason", a->device->api->name,
                     a->device->index);
}

static gpuc_status alloc_device(gpuc_ndarray *a)
{
    size_t size = (size_t)gpuc_align_up(a->bytes ? a->bytes : 1, GPUC_SLOT_ROUND);
    GPUC_TRY(a->device->api->alloc_data_space(a->device, size, GPUC_SLOT_ALIGN, &a->buffer));
    if (!a->buffer) return no_memory(a);
    a->owns_buffer = true;
    return clear_device(a);
}

static gpuc_status alloc_image(gpuc_ndarray *a)
{
    if (a->ndim != 3)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "an image of %d dimensions: it has height, width and channels", a->ndim);
    if (a->dims[2] != 1 && a->dims[2] != 4)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "an image of %lld channels: it has 1 or 4",
                         (long long)a->dims[2]);
    GPUC_TRY(a->device->api->alloc_image(a->device, a->dtype, a->dims[0], a->dims[1], (int)a->dims[2],
                                         &a->buffer));
    if (!a->buffer) return no_memory(a);
    a->owns_buffer = true;
    return clear_device(a);
}

gpuc_status gpuc_ndarray_create_image(gpuc_device *dev, gpuc_dtype dtype, int ndim, const int64_t *dims,
                                      gpuc_ndarray **out)
{
    gpuc_ndarray *a;
    *out = NULL;
    GPUC_TRY(make_head(dev->runtime, dev, dtype, ndim, dims, &a));
    gpuc_status status = alloc_image(a);
    if (status)
        gpuc_ndarray_release(a);
    else
        *out = a;
    return status;
}

gpuc_status gpuc_ndarray_create(gpuc_runtime *rt, gpuc_device *dev, gpuc_dtype dtype, int ndim,
                                const int64_t *dims, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    gpuc_ndarray *a;
    *out = NULL;
    GPUC_REQUIRE(rt);
    if (ndim > 0) GPUC_REQUIRE(dims);
    if (dev && dev->runtime != rt)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the device of an array belongs to another runtime");
    GPUC_TRY(make_head(rt, dev, dtype, ndim, dims, &a));
    gpuc_status status = dev ? alloc_device(a) : alloc_host(a);
    if (status)
        gpuc_ndarray_release(a);
    else
        *out = a;
    return status;
}

gpuc_status gpuc_ndarray_wrap(gpuc_runtime *rt, gpuc_binding binding, void *host, gpuc_dtype dtype, int ndim,
                              const int64_t *dims, void (*free_owner)(void *owner), void *owner,
                              gpuc_ndarray **out)
{
    gpuc_ndarray *a;
    *out = NULL;
    if (binding.buffer && binding.buffer->device->runtime != rt)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the buffer of an array belongs to another runtime");
    GPUC_TRY(make_head(rt, binding.buffer ? binding.buffer->device : NULL, dtype, ndim, dims, &a));
    size_t have = binding.size;
    if (binding.buffer) {
        size_t whole = binding.buffer->size;
        size_t rest = binding.offset <= whole ? whole - (size_t)binding.offset : 0;
        have = have == 0 || have > rest ? rest : have;
    }
    gpuc_status status = NULL;
    if ((binding.buffer || have) && a->bytes > have)
        status = gpuc_fail(GPUC_INVALID_ARGUMENT,
                           "an array of %zu bytes does not fit the %zu bytes given for it", a->bytes, have);
    else if (!binding.buffer && !host && a->bytes)
        status = gpuc_fail(GPUC_INVALID_ARGUMENT, "an array of %zu bytes at the null address", a->bytes);
    if (status) {
        gpuc_ndarray_release(a);
        return status;
    }
    a->buffer = binding.buffer;
    a->offset = (size_t)binding.offset;
    a->host = host;
    a->free_owner = free_owner;
    a->owner = owner;
    *out = a;
    return NULL;
}

gpuc_ndarray *gpuc_ndarray_retain(gpuc_ndarray *a)
{
    if (a) atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void gpuc_ndarray_release(gpuc_ndarray *a)
{
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
    gpuc_runtime *rt = a->runtime;
    if (a->owns_buffer) a->device->api->free_data_space(a->device, a->buffer);
    gpuc_allocator allocator = gpuc_runtime_allocator(rt);
    gpuc_mem_free(allocator, a->memory, a->memory_size);
    if (a->free_owner) a->free_owner(a->owner);
    gpuc_device *dev = a->device;
    gpuc_mem_free(allocator, a, struct_bytes(a->ndim));
    if (dev)
        gpuc_device_unpin(dev);
    else
        gpuc_runtime_unpin(rt);
}

gpuc_dtype gpuc_ndarray_dtype(const gpuc_ndarray *a)
{
    return a->dtype;
}

int gpuc_ndarray_ndim(const gpuc_ndarray *a)
{
    return a->ndim;
}

const int64_t *gpuc_ndarray_dims(const gpuc_ndarray *a)
{
    return a->dims;
}

size_t gpuc_ndarray_bytes(const gpuc_ndarray *a)
{
    return a->bytes;
}

gpuc_device *gpuc_ndarray_device(const gpuc_ndarray *a)
{
    return a->device;
}

void *gpuc_ndarray_host(const gpuc_ndarray *a)
{
    if (!a->buffer) return a->host;
    return a->buffer->host ? (uint8_t *)a->buffer->host + a->offset : NULL;
}

gpuc_binding gpuc_ndarray_binding(const gpuc_ndarray *a)
{
    if (!a->buffer) return (gpuc_binding){0};
    return (gpuc_binding){.buffer = a->buffer, .offset = a->offset, .size = a->bytes};
}
