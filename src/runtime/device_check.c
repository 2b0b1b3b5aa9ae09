/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what devices are given: buffers, streams, tensors and tickets. */
#include <gpuc/driver.h>

gpuc_status gpuc_device_check_copy(const gpuc_device *dev, const gpuc_copy_end *end, size_t bytes,
                                   const char *side)
{
    const gpuc_buffer *b = end->buffer;
    if (!b && !end->host)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the %s has neither buffer nor host address", side);
    if (!b) return NULL;
    if (b->device != dev)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the %s buffer belongs to another device", side);
    if (end->offset > b->size || bytes > b->size - end->offset)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: bytes %zu to %zu of the %s, but its buffer has %zu",
                         end->offset, end->offset + bytes, side, b->size);
    return NULL;
}

gpuc_status gpuc_device_check_stream(const gpuc_device *dev, const gpuc_stream *stream)
{
    if (!stream || stream->device == dev) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the stream is of another device than %s:%d", dev->api->name,
                     dev->index);
}

gpuc_status gpuc_device_check_tensor(const gpuc_device *dev, const gpuc_bindings *bindings,
                                     const gpuc_step_tensor *t)
{
    if (t->slot >= bindings->count || !bindings->slots[t->slot].buffer)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "slot %u is not bound to a buffer", t->slot);
    const gpuc_binding *b = &bindings->slots[t->slot];
    if (b->buffer->device != dev)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "slot %u is bound to a buffer of another device", t->slot);
    if (b->offset > b->buffer->size || b->size > b->buffer->size - b->offset)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "slot %u: the binding exceeds its buffer of %zu bytes",
                         t->slot, b->buffer->size);
    if (t->offset <= b->size && t->size <= b->size - t->offset) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "slot %u: %llu bytes at %llu exceed the %llu bytes that are bound", t->slot,
                     (unsigned long long)t->size, (unsigned long long)t->offset, (unsigned long long)b->size);
}

gpuc_status gpuc_device_check_ticket(const gpuc_device *dev, uint64_t ticket, uint64_t last)
{
    if (ticket <= last) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "ticket %llu of %s:%d was never given: the last is %llu",
                     (unsigned long long)ticket, dev->api->name, dev->index, (unsigned long long)last);
}
