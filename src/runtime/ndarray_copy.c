/* SPDX-License-Identifier: Apache-2.0 */
/* Copies whole arrays between host and devices. */
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/current.h"
#include "runtime/services.h"
#include "runtime/ndarray.h"

#define STAGE_BYTES ((size_t)8 << 20)

static gpuc_copy_end end_of(const gpuc_ndarray *a)
{
    return (gpuc_copy_end){.buffer = a->buffer, .host = a->host, .offset = a->offset};
}

/* On the default stream, in order with the thread's current one. */
static gpuc_status copy_on(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes)
{
    GPUC_TRY(gpuc_runtime_enter_default(dev));
    GPUC_TRY(dev->api->copy_data_from_to(dev, from, to, bytes, NULL));
    return to.buffer ? gpuc_runtime_leave_default(dev) : NULL;
}

/* Between two devices: through host memory, in pieces. */
static gpuc_status copy_staged(const gpuc_ndarray *from, const gpuc_ndarray *to)
{
    gpuc_allocator allocator = gpuc_runtime_allocator(from->runtime);
    bool whole = from->buffer->is_image || to->buffer->is_image;
    size_t size = whole || from->bytes < STAGE_BYTES ? from->bytes : STAGE_BYTES;
    uint8_t *stage = gpuc_mem_resize(allocator, NULL, 0, size);
    if (!stage)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for copying %zu bytes between devices",
                         from->bytes);
    gpuc_status status = NULL;
    for (size_t at = 0; !status && at < from->bytes; at += size) {
        size_t n = from->bytes - at < size ? from->bytes - at : size;
        gpuc_copy_end a = end_of(from), b = end_of(to), mid = {.host = stage};
        a.offset += at;
        b.offset += at;
        status = copy_on(from->device, a, mid, n);
        if (!status) status = copy_on(to->device, mid, b, n);
    }
    gpuc_mem_free(allocator, stage, size);
    return status;
}

static uint64_t count_elements(const gpuc_ndarray *a)
{
    return a->bytes / (gpuc_dtype_bytes(a->dtype) * a->dtype.lanes);
}

gpuc_status gpuc_ndarray_copy(const gpuc_ndarray *from, gpuc_ndarray *to)
{
    GPUC_REQUIRE(from);
    GPUC_REQUIRE(to);
    if (!gpuc_dtype_equal(from->dtype, to->dtype)) {
        char a[24], b[24];
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "cannot copy an array of %s to one of %s",
                         gpuc_dtype_name(from->dtype, a), gpuc_dtype_name(to->dtype, b));
    }
    if (from->bytes != to->bytes)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "cannot copy an array of %llu elements to one of %llu",
                         (unsigned long long)count_elements(from), (unsigned long long)count_elements(to));
    if (from->bytes == 0) return NULL;
    if (!from->device && !to->device) {
        memmove(to->host, from->host, from->bytes);
        return NULL;
    }
    if (from->device && to->device && from->device != to->device) return copy_staged(from, to);
    return copy_on(to->device ? to->device : from->device, end_of(from), end_of(to), from->bytes);
}

static gpuc_status check_size(const gpuc_ndarray *a, size_t size, const char *what)
{
    if (size == a->bytes) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "cannot %s %zu bytes: the array has %zu", what, size, a->bytes);
}

static gpuc_status check_place(const gpuc_ndarray *a, const gpuc_stream *stream)
{
    if (a->device == stream->device) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the array is %s, the stream of %s:%d",
                     a->device ? "on another device" : "on the host", stream->device->api->name,
                     stream->device->index);
}

gpuc_status gpuc_ndarray_write(gpuc_ndarray *a, const void *bytes, size_t size)
{
    GPUC_REQUIRE(a);
    GPUC_TRY(check_size(a, size, "write"));
    if (size == 0) return NULL;
    GPUC_REQUIRE(bytes);
    if (a->device) return copy_on(a->device, (gpuc_copy_end){.host = (void *)bytes}, end_of(a), size);
    memmove(a->host, bytes, size);
    return NULL;
}

gpuc_status gpuc_ndarray_read(const gpuc_ndarray *a, void *bytes, size_t size)
{
    GPUC_REQUIRE(a);
    GPUC_TRY(check_size(a, size, "read"));
    if (size == 0) return NULL;
    GPUC_REQUIRE(bytes);
    if (a->device) return copy_on(a->device, end_of(a), (gpuc_copy_end){.host = bytes}, size);
    memmove(bytes, a->host, size);
    return NULL;
}

gpuc_status gpuc_ndarray_write_on(gpuc_stream *stream, gpuc_ndarray *a, const void *bytes, size_t size)
{
    GPUC_REQUIRE(a);
    GPUC_REQUIRE(stream);
    GPUC_TRY(check_size(a, size, "write"));
    GPUC_TRY(check_place(a, stream));
    if (size == 0) return NULL;
    GPUC_REQUIRE(bytes);
    return a->device->api->copy_data_from_to(a->device, (gpuc_copy_end){.host = (void *)bytes}, end_of(a),
                                             size, stream);
}

gpuc_status gpuc_ndarray_read_on(gpuc_stream *stream, const gpuc_ndarray *a, void *bytes, size_t size)
{
    GPUC_REQUIRE(a);
    GPUC_REQUIRE(stream);
    GPUC_TRY(check_size(a, size, "read"));
    GPUC_TRY(check_place(a, stream));
    if (size == 0) return NULL;
    GPUC_REQUIRE(bytes);
    return a->device->api->read_later(a->device, end_of(a), bytes, size, stream);
}
