/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the drivers of a runtime, and finds them. */
#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/default_api.h"
#include "runtime/device_api.h"
#include "runtime/impl.h"

static gpuc_status check_name(const gpuc_driver *d)
{
    size_t length = strspn(d->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (length == 0 || d->name[length] || length >= GPUC_DRIVER_NAME_SIZE || isdigit((unsigned char)*d->name))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "'%.64s' is no name for a driver: it must be a C identifier of less than %d bytes",
                         d->name, GPUC_DRIVER_NAME_SIZE);
    return NULL;
}

static gpuc_status check_driver(const gpuc_driver *d)
{
    if (d->struct_size != sizeof *d)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "gpuc_driver.struct_size is %zu, this version's is %zu: compile the driver anew",
                         d->struct_size, sizeof *d);
    GPUC_REQUIRE(d->name);
    GPUC_TRY(check_name(d));
    if (!d->api || !d->count || !d->open)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the driver of '%s' has no '%s'", d->name,
                         !d->api     ? "api"
                         : !d->count ? "count"
                                     : "open");
    return NULL;
}

gpuc_driver_entry *gpuc_runtime_find_driver(gpuc_runtime *rt, gpuc_device_type type)
{
    gpuc_driver_entry *e = atomic_load_explicit(&rt->drivers, memory_order_acquire);
    while (e && e->type != type) e = e->next;
    return e;
}

/* Enters it unless its number is taken; then gives the one that has it. */
static const gpuc_driver_entry *enter(gpuc_runtime *rt, gpuc_driver_entry *entry)
{
    pthread_mutex_lock(&rt->mutex);
    const gpuc_driver_entry *other = gpuc_runtime_find_driver(rt, entry->type);
    if (!other) {
        entry->next = atomic_load_explicit(&rt->drivers, memory_order_relaxed);
        atomic_store_explicit(&rt->drivers, entry, memory_order_release);
    }
    pthread_mutex_unlock(&rt->mutex);
    return other;
}

static gpuc_status add(gpuc_runtime *rt, gpuc_driver_entry *entry)
{
    GPUC_TRY(gpuc_runtime_complete_api(entry->driver.name, entry->driver.api, &entry->api));
    const char *name = entry->driver.name;
    const gpuc_driver_entry *other = enter(rt, entry);
    if (!other) return NULL;
    if (strcmp(other->driver.name, name) == 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the runtime has a driver for '%s' already", name);
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "the number of the name '%s' is that of '%s': choose another name", name,
                     other->driver.name);
}

static void leave(gpuc_runtime *rt, gpuc_driver_entry *entry)
{
    pthread_mutex_lock(&rt->mutex);
    atomic_store_explicit(&rt->drivers, entry->next, memory_order_release);
    pthread_mutex_unlock(&rt->mutex);
}

static bool has_devices(gpuc_runtime *rt, const gpuc_driver_entry *entry)
{
    for (const gpuc_open_device *o = atomic_load(&rt->devices); o; o = o->next)
        if (o->device && o->type == entry->type) return true;
    return false;
}

void gpuc_runtime_remove_drivers(gpuc_runtime *rt, const gpuc_driver_entry *last)
{
    for (gpuc_driver_entry *e; (e = atomic_load(&rt->drivers)) != last && !has_devices(rt, e);) {
        leave(rt, e);
        if (e->driver.free_self) e->driver.free_self(rt, e->self);
        gpuc_mem_free(rt->allocator, e, sizeof *e);
    }
}

gpuc_status gpuc_driver_register(gpuc_runtime *rt, const gpuc_driver *driver, void *self)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(driver);
    GPUC_TRY(check_driver(driver));
    gpuc_driver_entry *entry = gpuc_mem_alloc(rt->allocator, sizeof *entry);
    if (!entry) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the driver of '%s'", driver->name);
    *entry = (gpuc_driver_entry){
        .runtime = rt, .driver = *driver, .type = gpuc_device_type_named(driver->name), .self = self};
    gpuc_status status = add(rt, entry);
    if (!status && (status = gpuc_runtime_device_api_register(entry))) leave(rt, entry);
    if (status) gpuc_mem_free(rt->allocator, entry, sizeof *entry);
    return status;
}

static size_t count_drivers(gpuc_runtime *rt)
{
    size_t count = 0;
    for (const gpuc_driver_entry *e = atomic_load(&rt->drivers); e; e = e->next) count++;
    return count;
}

size_t gpuc_driver_count(gpuc_runtime *rt)
{
    return count_drivers(rt);
}

const char *gpuc_driver_name(gpuc_runtime *rt, size_t i)
{
    size_t count = count_drivers(rt);
    if (i >= count) return NULL;
    const gpuc_driver_entry *e = atomic_load(&rt->drivers); /* the newest first */
    for (size_t k = count - 1; k > i; k--) e = e->next;
    return e->driver.name;
}
