/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, finds and closes the devices of a runtime. */
#include "base/arena.h"
#include "base/require.h"
#include "runtime/current.h"
#include "runtime/impl.h"

static gpuc_open_device *find_by_number(gpuc_runtime *rt, gpuc_device_type type, int index)
{
    gpuc_open_device *open = atomic_load_explicit(&rt->devices, memory_order_acquire);
    while (open && !(open->device && open->type == type && open->index == index)) open = open->next;
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
    gpuc_status status = entry->driver.count(rt, entry->self, out);
    if (!status && *out < 0)
        status = gpuc_fail(GPUC_INTERNAL, "the driver of '%s' counts %d devices", entry->driver.name, *out);
    if (status) *out = 0;
    return status;
}

static gpuc_status no_driver(gpuc_device_type type)
{
    const char *name = gpuc_device_type_name(NULL, type);
    if (type >= GPUC_DEVICE_USER_FIRST)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "this runtime has no devices of type %d; load the plug-in that registers them",
                         type);
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                     "this runtime has no %s devices; register them with gpuc_%s_register, in a build that "
                     "contains them",
                     name, name);
}

/* Fills the record of a device, and the device's head. */
static gpuc_status enter(gpuc_runtime *rt, gpuc_driver_entry *entry, gpuc_device *dev, gpuc_open_device *open)
{
    dev->launches = 0;
    dev->api = &entry->api;
    dev->runtime = rt;
    dev->type = open->type;
    dev->index = open->index;
    GPUC_TRY(gpuc_runtime_workspace_pool_init(&open->pool, dev));
    atomic_init(&open->pins, 0);
    open->device = dev;
    gpuc_runtime_fill_dimensions(open);
    return NULL;
}

/* Opens a device that has no record yet. */
static gpuc_status open_new(gpuc_runtime *rt, gpuc_driver_entry *entry, gpuc_open_device *open)
{
    gpuc_device *dev = NULL;
    GPUC_TRY(entry->driver.open(rt, entry->self, open->index, &dev));
    if (!dev) return gpuc_fail(GPUC_INTERNAL, "the driver opened nothing and gave no reason");
    gpuc_status status = enter(rt, entry, dev, open);
    if (status) entry->api.destroy(dev);
    return status;
}

static void publish(gpuc_runtime *rt, gpuc_open_device *open)
{
    open->next = atomic_load_explicit(&rt->devices, memory_order_relaxed);
    atomic_store_explicit(&rt->devices, open, memory_order_release);
}

/* Opens a device; the mutex must be held. */
static gpuc_status open_device(gpuc_runtime *rt, gpuc_device_type type, int index, gpuc_device **out)
{
    gpuc_open_device *open = find_by_number(rt, type, index);
    if (open) {
        *out = open->device;
        return NULL;
    }
    gpuc_driver_entry *entry = gpuc_runtime_find_driver(rt, type);
    if (!entry) return no_driver(type);
    const char *name = entry->driver.name;
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
    gpuc_status status = open_new(rt, entry, open);
    if (status) {
        gpuc_mem_free(rt->allocator, open, sizeof *open);
        return gpuc_error_prefix(status, "device %s:%d", name, index);
    }
    publish(rt, open);
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

/* Enters an adopted device; the mutex must be held. */
static gpuc_status adopt(gpuc_runtime *rt, const char *driver, gpuc_device *dev)
{
    gpuc_device_type type = gpuc_device_type_named(driver);
    gpuc_driver_entry *entry = gpuc_runtime_find_driver(rt, type);
    if (!entry) return no_driver(type);
    gpuc_open_device *open = atomic_load_explicit(&rt->devices, memory_order_relaxed);
    while (open && open->device) open = open->next;
    gpuc_open_device *made = open ? NULL : gpuc_mem_alloc(rt->allocator, sizeof *made);
    if (!open && !made) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a device");
    open = open ? open : made;
    open->type = type;
    open->index = GPUC_ADOPTED_FIRST;
    while (find_by_number(rt, type, open->index)) open->index++;
    gpuc_status status = enter(rt, entry, dev, open);
    if (status)
        gpuc_mem_free(rt->allocator, made, sizeof *made);
    else if (made)
        publish(rt, made);
    return status;
}

gpuc_status gpuc_runtime_adopt(gpuc_runtime *rt, const char *driver, gpuc_device *dev)
{
    pthread_mutex_lock(&rt->mutex);
    gpuc_status status = adopt(rt, driver, dev);
    pthread_mutex_unlock(&rt->mutex);
    return status;
}

gpuc_status gpuc_device_close(gpuc_device *dev)
{
    GPUC_REQUIRE(dev);
    gpuc_open_device *open = gpuc_runtime_find_open(dev->runtime, dev);
    if (!open || open->index < GPUC_ADOPTED_FIRST)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%s:%d is not the application's device: the runtime closes it", dev->api->name,
                         dev->index);
    size_t pins = atomic_load(&open->pins);
    if (pins)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%zu arrays, streams, modules or models are still on %s:%d: release them first",
                         pins, dev->api->name, dev->index);
    gpuc_runtime_forget_device(dev);
    gpuc_runtime_workspace_pool_deinit(&open->pool);
    pthread_mutex_lock(&dev->runtime->mutex);
    open->device = NULL;
    pthread_mutex_unlock(&dev->runtime->mutex);
    dev->api->destroy(dev);
    return NULL;
}

void gpuc_device_pin(gpuc_device *dev)
{
    gpuc_open_device *open = gpuc_runtime_find_open(dev->runtime, dev);
    if (open) atomic_fetch_add_explicit(&open->pins, 1, memory_order_relaxed);
    gpuc_runtime_pin(dev->runtime);
}

void gpuc_device_unpin(gpuc_device *dev)
{
    gpuc_open_device *open = gpuc_runtime_find_open(dev->runtime, dev);
    if (open) atomic_fetch_sub_explicit(&open->pins, 1, memory_order_release);
    gpuc_runtime_unpin(dev->runtime);
}

int gpuc_device_count(gpuc_runtime *rt, gpuc_device_type type)
{
    int count = 0;
    pthread_mutex_lock(&rt->mutex);
    const gpuc_driver_entry *entry = gpuc_runtime_find_driver(rt, type);
    if (entry) gpuc_status_release(count_devices(rt, entry, &count));
    pthread_mutex_unlock(&rt->mutex);
    return count;
}

void gpuc_runtime_close_devices(gpuc_runtime *rt)
{
    gpuc_open_device *open = atomic_exchange(&rt->devices, NULL);
    while (open) {
        gpuc_open_device *next = open->next;
        if (open->device) {
            gpuc_runtime_workspace_pool_deinit(&open->pool);
            open->device->api->destroy(open->device);
        }
        gpuc_mem_free(rt->allocator, open, sizeof *open);
        open = next;
    }
    gpuc_driver_entry *entry = atomic_exchange(&rt->drivers, NULL);
    while (entry) {
        gpuc_driver_entry *next = entry->next;
        if (entry->driver.free_self) entry->driver.free_self(rt, entry->self);
        gpuc_mem_free(rt->allocator, entry, sizeof *entry);
        entry = next;
    }
}
