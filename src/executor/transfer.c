/* SPDX-License-Identifier: Apache-2.0 */
/* Copies values between the devices of a program, and reads numbers back to the host. */
#include <string.h>
#include <time.h>

#include "executor/session.h"

#define PIECE ((uint64_t)8 << 20)

static gpuc_status copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, uint64_t bytes)
{
    return dev->api->copy_data_from_to(dev, from, to, bytes, NULL);
}

/* Memory of the CPU device is the host's. */
static void *host_of(gpuc_copy_end end)
{
    bool is_host = end.buffer->device->type == GPUC_DEVICE_CPU && end.buffer->host;
    return is_host ? (char *)end.buffer->host + end.offset : NULL;
}

static gpuc_status copy_in_pieces(const gpuc_session *s, gpuc_copy_end from, gpuc_copy_end to, uint64_t bytes)
{
    uint64_t size = bytes < PIECE ? bytes : PIECE;
    void *piece = gpuc_mem_resize(s->allocator, NULL, 0, size);
    if (!piece) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a copy between devices");
    gpuc_copy_end middle = {.host = piece};
    gpuc_status status = NULL;
    for (uint64_t at = 0; !status && at < bytes; at += size) {
        uint64_t n = bytes - at < size ? bytes - at : size;
        gpuc_copy_end a = from, b = to;
        a.offset += at;
        b.offset += at;
        status = copy(from.buffer->device, a, middle, n);
        if (!status) status = copy(to.buffer->device, middle, b, n);
    }
    gpuc_mem_free(s->allocator, piece, size);
    return status;
}

static gpuc_status place(const gpuc_session *s, const gpuc_extent *x, gpuc_copy_end *out)
{
    const gpuc_binding *b = &s->bindings[x->slot];
    if (x->offset > b->size || x->size > b->size - x->offset)
        return gpuc_fail(GPUC_INVALID_DATA, "a copy of %llu bytes at %llu exceeds the %llu bytes of slot %u",
                         (unsigned long long)x->size, (unsigned long long)x->offset,
                         (unsigned long long)b->size, x->slot);
    *out = (gpuc_copy_end){.buffer = b->buffer, .offset = b->offset + x->offset};
    return NULL;
}

static gpuc_status transfer(const gpuc_session *s, const gpuc_segment *segment)
{
    gpuc_copy_end from, to;
    uint64_t bytes = segment->from.size;
    if (bytes == 0) return NULL;
    GPUC_TRY(place(s, &segment->from, &from));
    GPUC_TRY(place(s, &segment->to, &to));
    void *source = host_of(from), *target = host_of(to);
    gpuc_device *host = target ? to.buffer->device : from.buffer->device;
    if (target || source) GPUC_TRY(host->api->stream_sync(host, NULL)); /* it may have launches */
    if (target) return copy(from.buffer->device, from, (gpuc_copy_end){.host = target}, bytes);
    if (source) return copy(to.buffer->device, (gpuc_copy_end){.host = source}, to, bytes);
    return copy_in_pieces(s, from, to, bytes);
}

gpuc_status gpuc_session_read_number(const gpuc_session *s, const gpuc_extent *x, int64_t *out)
{
    gpuc_copy_end from;
    GPUC_TRY(place(s, x, &from));
    if (x->size != sizeof *out)
        return gpuc_fail(GPUC_INVALID_DATA, "a number of %llu bytes", (unsigned long long)x->size);
    return copy(from.buffer->device, from, (gpuc_copy_end){.host = out}, sizeof *out);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

gpuc_status gpuc_session_transfer(const gpuc_session *s, gpuc_segment *segment)
{
    double start = s->model->profiling ? now_ns() : 0;
    GPUC_TRY(transfer(s, segment));
    if (s->model->profiling) segment->transfer_ns = now_ns() - start;
    return NULL;
}
