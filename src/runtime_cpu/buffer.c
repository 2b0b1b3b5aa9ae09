/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates and copies memory of the CPU device. */
#include "runtime_cpu/cpu.h"

#include <string.h>

#include "abi/scope.h"
#include "base/arena.h"
#include "base/size.h"

static bool is_power_of_two(size_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* Memory is not zeroed, so that the threads which use a page touch it first. */
gpuc_status gpuc_cpu_alloc(gpuc_device *device, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    *out = NULL;
    if (alignment < GPUC_SLOT_ALIGN) alignment = GPUC_SLOT_ALIGN;
    if (!is_power_of_two(alignment))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "buffer alignment %zu is not a power of two", alignment);
    if (bytes >= 2 * GPUC_HUGE_PAGE && alignment < GPUC_HUGE_PAGE) alignment = GPUC_HUGE_PAGE;

    size_t size;
    if (!gpuc_size_add(bytes, alignment + GPUC_SLOT_ROUND - 1, &size))
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "a buffer of %zu bytes exceeds the address space", bytes);
    gpuc_cpu_buffer *b = gpuc_mem_alloc(dev->allocator, sizeof *b);
    void *block = b ? gpuc_mem_resize(dev->allocator, NULL, 0, size) : NULL;
    if (!block) {
        gpuc_mem_free(dev->allocator, b, sizeof *b);
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a buffer of %zu bytes", bytes);
    }
    void *host = (void *)(uintptr_t)gpuc_align_up((uintptr_t)block, alignment);
    gpuc_mem_ask_huge_pages(host, bytes);
    b->base = (gpuc_buffer){.device = device, .size = bytes, .host = host};
    atomic_init(&b->refs, 1);
    b->block = block;
    b->block_size = size;
    *out = &b->base;
    return NULL;
}

void gpuc_cpu_free(gpuc_device *device, gpuc_buffer *buffer)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_buffer *b = (gpuc_cpu_buffer *)buffer;
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    gpuc_mem_free(dev->allocator, b->block, b->block_size);
    gpuc_mem_free(dev->allocator, b, sizeof *b);
}

static char *address(gpuc_copy_end end)
{
    return (char *)(end.buffer ? end.buffer->host : end.host) + end.offset;
}

static gpuc_status check(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream)
{
    GPUC_TRY(gpuc_device_check_stream(dev, stream));
    GPUC_TRY(gpuc_device_check_copy(dev, &from, bytes, "source"));
    return gpuc_device_check_copy(dev, &to, bytes, "destination");
}

gpuc_status gpuc_cpu_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                          gpuc_stream *stream)
{
    gpuc_cpu_stream *s = gpuc_cpu_stream_of((gpuc_cpu_device *)dev, stream);
    if (bytes == 0) return NULL;
    GPUC_TRY(check(dev, from, to, bytes, stream));
    bool queued = to.buffer && !gpuc_cpu_stream_idle(s);
    if (queued)
        return gpuc_cpu_stream_copy(s, address(to), address(from), bytes, !from.buffer, to.buffer,
                                    from.buffer);
    if (from.buffer) GPUC_TRY(gpuc_cpu_stream_sync(dev, stream));
    memmove(address(to), address(from), bytes);
    return NULL;
}

gpuc_status gpuc_cpu_read_later(gpuc_device *dev, gpuc_copy_end from, void *host, size_t bytes,
                                gpuc_stream *stream)
{
    gpuc_cpu_stream *s = gpuc_cpu_stream_of((gpuc_cpu_device *)dev, stream);
    if (bytes == 0) return NULL;
    GPUC_TRY(check(dev, from, (gpuc_copy_end){.host = host}, bytes, stream));
    if (!from.buffer) return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the source is memory of the host");
    return gpuc_cpu_stream_copy(s, host, address(from), bytes, false, NULL, from.buffer);
}
