/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the current device and stream of each thread. */
#include "runtime/current.h"

#include "base/require.h"
#include "runtime/impl.h"

#define NUM_RUNTIMES 4
#define NUM_STREAMS 8

/* Keyed by the runtime's serial number, so that a new runtime at an old address starts afresh. */
typedef struct thread_current {
    uint64_t runtime;
    gpuc_device *device;
    struct {
        const gpuc_device *device;
        gpuc_stream *stream;
    } streams[NUM_STREAMS];
} thread_current;

static _Thread_local thread_current current[NUM_RUNTIMES];
static _Thread_local unsigned next_current;

static thread_current *find(const gpuc_runtime *rt)
{
    for (int i = 0; i < NUM_RUNTIMES; i++)
        if (current[i].runtime == rt->serial) return &current[i];
    return NULL;
}

static thread_current *find_or_add(const gpuc_runtime *rt)
{
    thread_current *c = find(rt);
    if (c) return c;
    c = &current[next_current++ % NUM_RUNTIMES];
    *c = (thread_current){.runtime = rt->serial};
    return c;
}

gpuc_status gpuc_runtime_set_device(gpuc_device *dev)
{
    GPUC_REQUIRE(dev);
    find_or_add(dev->runtime)->device = dev;
    return NULL;
}

gpuc_device *gpuc_runtime_current_device(gpuc_runtime *rt)
{
    const thread_current *c = find(rt);
    return c ? c->device : NULL;
}

gpuc_status gpuc_runtime_set_stream(gpuc_device *dev, gpuc_stream *stream)
{
    GPUC_REQUIRE(dev);
    GPUC_TRY(gpuc_device_check_stream(dev, stream));
    thread_current *c = find_or_add(dev->runtime);
    for (int i = 0; i < NUM_STREAMS; i++) {
        if (c->streams[i].device && c->streams[i].device != dev) continue;
        c->streams[i].device = dev;
        c->streams[i].stream = stream;
        return NULL;
    }
    return gpuc_fail(GPUC_UNSUPPORTED, "this thread has set the streams of %d devices already", NUM_STREAMS);
}

void gpuc_runtime_clear_stream(gpuc_device *dev)
{
    thread_current *c = find(dev->runtime);
    for (int i = 0; c && i < NUM_STREAMS; i++)
        if (c->streams[i].device == dev) c->streams[i].stream = NULL;
}

gpuc_stream *gpuc_runtime_current_stream(gpuc_device *dev)
{
    const thread_current *c = find(dev->runtime);
    for (int i = 0; c && i < NUM_STREAMS; i++)
        if (c->streams[i].device == dev) return c->streams[i].stream;
    return NULL;
}

static gpuc_status check_args(const char *name, const gpuc_value *args, int num_args, int want)
{
    if (num_args != want)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s takes %d arguments, not %d", name, want, num_args);
    if (args[0].kind != GPUC_VALUE_DEVICE || !args[0].as.device)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument 0 is %s, not a device", name,
                         gpuc_value_kind_name(args[0].kind));
    return NULL;
}

static gpuc_status packed_set_device(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)ret, (void)self;
    GPUC_TRY(check_args("runtime.set_device", args, num_args, 1));
    return gpuc_runtime_set_device(args[0].as.device);
}

static gpuc_status packed_set_stream(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)ret, (void)self;
    GPUC_TRY(check_args("runtime.set_stream", args, num_args, 2));
    if (args[1].kind != GPUC_VALUE_HANDLE && args[1].kind != GPUC_VALUE_NULL)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "runtime.set_stream: argument 1 is %s, not a handle",
                         gpuc_value_kind_name(args[1].kind));
    return gpuc_runtime_set_stream(args[0].as.device,
                                   args[1].kind == GPUC_VALUE_NULL ? NULL : args[1].as.handle);
}

gpuc_status gpuc_runtime_current_register(gpuc_runtime *rt)
{
    static const struct {
        const char *name;
        gpuc_packed_fn fn;
    } rows[] = {{"runtime.set_device", packed_set_device}, {"runtime.set_stream", packed_set_stream}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        GPUC_TRY(gpuc_registry_set_fn(rt, rows[i].name, rows[i].fn, NULL, NULL, false));
    return NULL;
}
