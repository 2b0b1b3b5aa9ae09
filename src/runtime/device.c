/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, finds and closes the devices of a runtime. */
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

gpuc_status gpuc_runtime_add_driver(gpuc_runtime *rt, const gpuc_device_driver *driver, void *self)
{
    gpuc_driver_entry *entry = gpuc_mem_alloc(rt->allocator, sizeof *entry);
    if (!entry) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the driver of '%s'", driver->name);
    *entry = (gpuc_driver_entry){.driver = driver, .self = self};
    pthread_mutex_lock(&rt->mutex);
    bool taken = false;
    for (const gpuc_driver_entry *e = rt->drivers; e; e = e->next)
        taken = taken || e->driver->type == driver->type;
    if (!taken) {
        entry->next = rt->drivers;
        rt->drivers = entry;
    }
    pthread_mutex_unlock(&rt->mutex);
    if (!taken) return NULL;
    gpuc_mem_free(rt->allocator, entry, sizeof *entry);
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the runtime has a driver for '%s' already", driver->name);
}

static const gpuc_driver_entry *find_driver(const gpuc_runtime *rt, gpuc_device_type type)
{
    const gpuc_driver_entry *e = rt->drivers;
    while (e && e->driver->type != type) e = e->next;
    return e;
}

static gpuc_open_device *find_by_number(gpuc_runtime *rt, gpuc_device_type type, int index)
{
    gpuc_open_device *open = atomic_load_explicit(&rt->devices, memory_order_acquire);
    while (open && !(open->type == type && open->index == index)) open = open->next;
    return open;
}

gpuc_open_device *gpuc_runtime_find_open(gpuc_runtime *rt, const gpuc_device *dev)
{
    gpuc_open_device *open = atomic_load_explicit(&rt->devices, memory_order_acquire);
    while (open && open->device != dev) open = open->next;
    return open;
}

static gpuc_status count_devices(gpuc_runtime *rt, const gpuc_driver_entry *entry, int *out)
{
    *out = 0;
    gpuc_status status = entry->driver->count(rt, entry->self, out);
    if (status) *out = 0;
    return status;
}

/* Opens a device; the mutex must be held. */
static gpuc_status open_device(gpuc_runtime *rt, gpuc_device_type type, int index, gpuc_device **out)
{
    const char *name = gpuc_device_type_name(type);
    gpuc_open_device *open = find_by_number(rt, type, index);
    if (open) {
        *out = open->device;
        return NULL;
    }
    const gpuc_driver_entry *entry = find_driver(rt, type);
    if (!entry)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "this runtime has no %s devices; register them with "
                         "gpuc_%s_register, in a build that contains them",
                         name, name);
    int count;
    GPUC_TRY(count_devices(rt, entry, &count));
    if (index < 0 || index >= count) {
        if (count == 0) return gpuc_fail(GPUC_NOT_FOUND, "no %s device: the driver lists none", name);
        return gpuc_fail(GPUC_NOT_FOUND, "no device %s:%d: there are %d, the last is %s:%d", name, index,
                         count, name, count - 1);
    }
    open = gpuc_mem_alloc(rt->allocator, sizeof *open);
    if (!open) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for device %s:%d", name, index);
    open->type = type;
    open->index = index;
    gpuc_status status = entry->driver->open(rt, entry->self, index, &open->device);
    if (!status && (status = gpuc_runtime_workspace_pool_init(&open->pool, open->device)))
        open->device->api->destroy(open->device);
    if (status) {
        gpuc_mem_free(rt->allocator, open, sizeof *open);
        return gpuc_error_prefix(status, "device %s:%d", name, index);
    }
    open->next = atomic_load_explicit(&rt->devices, memory_order_relaxed);
    atomic_store_explicit(&rt->devices, open, memory_order_release);
    *out = open->device;
    return NULL;
}

gpuc_status gpuc_device_open(gpuc_runtime *rt, gpuc_device_type type, int index, gpuc_device **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    pthread_mutex_lock(&rt->mutex);
    gpuc_status status = open_device(rt, type, index, out);
    pthread_mutex_unlock(&rt->mutex);
    return status;
}

int gpuc_device_count(gpuc_runtime *rt, gpuc_device_type type)
{
    int count = 0;
    pthread_mutex_lock(&rt->mutex);
    const gpuc_driver_entry *entry = find_driver(rt, type);
    if (entry) gpuc_status_release(count_devices(rt, entry, &count));
    pthread_mutex_unlock(&rt->mutex);
    return count;
}

gpuc_attr_value gpuc_device_get_attr(gpuc_device *dev, gpuc_device_attr attr)
{
    gpuc_attr_value value = {0};
    gpuc_status status = dev->api->get_attr(dev, attr, &value);
    if (!status) return value;
    gpuc_status_release(status);
    return (gpuc_attr_value){0};
}

gpuc_status gpuc_device_check_instruction_set(gpuc_device *dev, const char *name)
{
    gpuc_attr_value have = gpuc_device_get_attr(dev, GPUC_ATTR_INSTRUCTION_SETS),
                    called = gpuc_device_get_attr(dev, GPUC_ATTR_NAME);
    const char *set = name + strlen("cpu.");
    size_t n = strlen(set);
    for (const char *at = have.s; at && (at = strstr(at, set)); at += n)
        if (at > have.s && at[-1] == ' ' && at[n] == ' ') return NULL;
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                     "it was compiled for the instruction set %.64s, which '%s' does not have", set,
                     called.s ? called.s : dev->api->name);
}

void gpuc_runtime_close_devices(gpuc_runtime *rt)
{
    gpuc_open_device *open = atomic_exchange(&rt->devices, NULL);
    while (open) {
        gpuc_open_device *next = open->next;
        gpuc_runtime_workspace_pool_deinit(&open->pool);
        open->device->api->destroy(open->device);
        gpuc_mem_free(rt->allocator, open, sizeof *open);
        open = next;
    }
    while (rt->drivers) {
        gpuc_driver_entry *entry = rt->drivers;
        rt->drivers = entry->next;
        if (entry->driver->free_self) entry->driver->free_self(rt, entry->self);
        gpuc_mem_free(rt->allocator, entry, sizeof *entry);
    }
}

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
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the stream is of another device than %s:%d",
                     gpuc_device_type_name(dev->type), dev->index);
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
                     (unsigned long long)ticket, gpuc_device_type_name(dev->type), dev->index,
                     (unsigned long long)last);
}
