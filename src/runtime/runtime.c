/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees a runtime, and reaches the application's callbacks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/current.h"
#include "runtime/impl.h"

static gpuc_status copy_desc(const gpuc_runtime_desc *desc, gpuc_runtime_desc *out)
{
    *out = GPUC_RUNTIME_DESC_INIT;
    if (!desc) return NULL;
    if (desc->struct_size < offsetof(gpuc_runtime_desc, allocator) + sizeof desc->allocator)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "gpuc_runtime_desc.struct_size is %u; start from GPUC_RUNTIME_DESC_INIT",
                         desc->struct_size);
    /* A newer application may ask for what this library does not know: fields after our last. */
    const char *bytes = (const char *)desc;
    for (size_t i = sizeof *desc; i < desc->struct_size; i++)
        if (bytes[i] != 0)
            return gpuc_fail(
                GPUC_UNSUPPORTED,
                "gpuc_runtime_desc has a field at byte %zu that this version of the library does not know",
                i);
    memcpy(out, desc, desc->struct_size < sizeof *out ? desc->struct_size : sizeof *out);
    out->struct_size = sizeof *out;
    if (out->num_threads < 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "gpuc_runtime_desc.num_threads is %d; 0 means one per processor", out->num_threads);
    if ((unsigned)out->queue_priority > GPUC_QUEUE_PRIORITY_HIGH)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "gpuc_runtime_desc.queue_priority is %u, no gpuc_queue_priority",
                         (unsigned)out->queue_priority);
    return NULL;
}

gpuc_status gpuc_runtime_create(const gpuc_runtime_desc *desc, gpuc_runtime **out)
{
    GPUC_REQUIRE(out);
    static atomic_uint_fast64_t next_serial = 1;
    gpuc_runtime_desc copy;
    *out = NULL;
    GPUC_TRY(copy_desc(desc, &copy));
    gpuc_runtime *rt = gpuc_mem_alloc(copy.allocator, sizeof *rt);
    if (!rt) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a runtime");
    rt->desc = copy;
    rt->allocator = copy.allocator;
    rt->serial = atomic_fetch_add(&next_serial, 1);
    atomic_init(&rt->pins, 1);
    atomic_init(&rt->drivers, NULL);
    atomic_init(&rt->devices, NULL);
    int failed = pthread_mutex_init(&rt->mutex, NULL);
    if (!failed && (failed = pthread_mutex_init(&rt->current_mutex, NULL)) != 0)
        pthread_mutex_destroy(&rt->mutex);
    if (failed) {
        gpuc_mem_free(copy.allocator, rt, sizeof *rt);
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a mutex");
    }
    gpuc_status status = gpuc_runtime_current_register(rt);
    if (status)
        gpuc_runtime_release(rt);
    else
        *out = rt;
    return status;
}

void gpuc_runtime_pin(gpuc_runtime *rt)
{
    atomic_fetch_add_explicit(&rt->pins, 1, memory_order_relaxed);
}

void gpuc_runtime_unpin(gpuc_runtime *rt)
{
    if (atomic_fetch_sub_explicit(&rt->pins, 1, memory_order_acq_rel) != 1) return;
    gpuc_runtime_close_devices(rt);
    gpuc_runtime_free_currents(rt);
    pthread_mutex_destroy(&rt->current_mutex);
    pthread_mutex_destroy(&rt->mutex);
    gpuc_runtime_close_plugins(rt); /* last: devices and functions above may be code of theirs */
    gpuc_mem_free(rt->allocator, rt, sizeof *rt);
}

void gpuc_runtime_release(gpuc_runtime *rt)
{
    if (!rt) return;
    gpuc_registry_clear(rt);
    gpuc_runtime_unpin(rt);
}

gpuc_allocator gpuc_runtime_allocator(gpuc_runtime *rt)
{
    return rt->allocator;
}

const gpuc_runtime_desc *gpuc_runtime_get_desc(gpuc_runtime *rt)
{
    return &rt->desc;
}

void gpuc_runtime_log(gpuc_runtime *rt, gpuc_log_level level, const char *id, const char *fmt, ...)
{
    if (!rt->desc.log) return;
    char small[512], *text = small;
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (length < 0) return;
    size_t size = (size_t)length + 1;
    if (size > sizeof small) {
        text = gpuc_mem_alloc(rt->allocator, size);
        va_start(args, fmt);
        if (text) vsnprintf(text, size, fmt, args);
        va_end(args);
    }
    rt->desc.log(rt->desc.log_user, level, id, text ? text : small);
    if (text != small) gpuc_mem_free(rt->allocator, text, size);
}

bool gpuc_runtime_cache_load(gpuc_runtime *rt, const char *key, const void **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    return rt->desc.cache_load && rt->desc.cache_load(rt->desc.cache_user, key, bytes, size);
}

void gpuc_runtime_cache_store(gpuc_runtime *rt, const char *key, const void *bytes, size_t size)
{
    if (rt->desc.cache_store) rt->desc.cache_store(rt->desc.cache_user, key, bytes, size);
}
