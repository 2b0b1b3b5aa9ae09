/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the current device and stream of each thread. */
#include "runtime/current.h"

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

typedef struct device_stream {
    struct device_stream *next;
    const gpuc_device *device;
    gpuc_stream *stream; /* NULL: the default one */
} device_stream;

/* What one thread has set in one runtime. It lives as long as the runtime. */
struct gpuc_thread_current {
    gpuc_thread_current *next;
    uint64_t thread;
    gpuc_device *device;
    device_stream *streams;
};

/* Threads and runtimes have numbers that are never used twice in a process. */
static _Thread_local uint64_t thread_number;
static _Thread_local const gpuc_launch_stream *launching;

/* What a thread has found lately; NULL: nothing is set. Only the thread itself sets something. */
enum { CACHED = 4 };
static _Thread_local struct {
    uint64_t runtime;
    gpuc_thread_current *current;
} cache[CACHED];
static _Thread_local unsigned next_cached;

static uint64_t this_thread(void)
{
    static atomic_uint_fast64_t last;
    if (!thread_number) thread_number = atomic_fetch_add(&last, 1) + 1;
    return thread_number;
}

static void remember(const gpuc_runtime *rt, gpuc_thread_current *c)
{
    unsigned i = 0;
    while (i < CACHED && cache[i].runtime != rt->serial) i++;
    if (i == CACHED) i = next_cached++ % CACHED;
    cache[i].runtime = rt->serial;
    cache[i].current = c;
}

static gpuc_thread_current *find(gpuc_runtime *rt)
{
    for (int i = 0; i < CACHED; i++)
        if (cache[i].runtime == rt->serial) return cache[i].current;
    uint64_t thread = this_thread();
    pthread_mutex_lock(&rt->current_mutex);
    gpuc_thread_current *c = rt->currents;
    while (c && c->thread != thread) c = c->next;
    pthread_mutex_unlock(&rt->current_mutex);
    remember(rt, c);
    return c;
}

static gpuc_status find_or_add(gpuc_runtime *rt, gpuc_thread_current **out)
{
    *out = find(rt);
    if (*out) return NULL;
    gpuc_thread_current *c = gpuc_mem_alloc(rt->allocator, sizeof *c);
    if (!c) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the current device of a thread");
    c->thread = this_thread();
    pthread_mutex_lock(&rt->current_mutex);
    c->next = rt->currents;
    rt->currents = c;
    pthread_mutex_unlock(&rt->current_mutex);
    remember(rt, c);
    *out = c;
    return NULL;
}

void gpuc_runtime_free_currents(gpuc_runtime *rt)
{
    while (rt->currents) {
        gpuc_thread_current *c = rt->currents;
        rt->currents = c->next;
        while (c->streams) {
            device_stream *s = c->streams;
            c->streams = s->next;
            gpuc_mem_free(rt->allocator, s, sizeof *s);
        }
        gpuc_mem_free(rt->allocator, c, sizeof *c);
    }
}

gpuc_status gpuc_runtime_set_device(gpuc_device *dev)
{
    gpuc_thread_current *c;
    GPUC_REQUIRE(dev);
    GPUC_TRY(find_or_add(dev->runtime, &c));
    c->device = dev;
    return NULL;
}

gpuc_device *gpuc_runtime_current_device(gpuc_runtime *rt)
{
    const gpuc_thread_current *c = find(rt);
    return c ? c->device : NULL;
}

static device_stream *find_stream(const gpuc_thread_current *c, const gpuc_device *dev)
{
    device_stream *s = c ? c->streams : NULL;
    while (s && s->device != dev) s = s->next;
    return s;
}

gpuc_status gpuc_runtime_set_stream(gpuc_device *dev, gpuc_stream *stream)
{
    gpuc_thread_current *c;
    GPUC_REQUIRE(dev);
    GPUC_TRY(gpuc_device_check_stream(dev, stream));
    GPUC_TRY(find_or_add(dev->runtime, &c));
    device_stream *s = find_stream(c, dev);
    if (!s) {
        s = gpuc_mem_alloc(dev->runtime->allocator, sizeof *s);
        if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the current stream of a thread");
        s->device = dev;
        s->next = c->streams;
        c->streams = s;
    }
    s->stream = stream;
    return NULL;
}

void gpuc_runtime_forget_stream(const gpuc_stream *stream)
{
    device_stream *s = find_stream(find(stream->device->runtime), stream->device);
    if (s && s->stream == stream) s->stream = NULL;
}

void gpuc_runtime_forget_device(const gpuc_device *dev)
{
    pthread_mutex_lock(&dev->runtime->current_mutex);
    for (gpuc_thread_current *c = dev->runtime->currents; c; c = c->next) {
        device_stream *s = find_stream(c, dev);
        if (s) s->stream = NULL;
        if (c->device == dev) c->device = NULL;
    }
    pthread_mutex_unlock(&dev->runtime->current_mutex);
}

gpuc_stream *gpuc_runtime_current_stream(gpuc_device *dev)
{
    for (const gpuc_launch_stream *l = launching; l; l = l->outer)
        if (l->stream->device == dev) return l->stream;
    const device_stream *s = find_stream(find(dev->runtime), dev);
    return s ? s->stream : NULL;
}

void gpuc_runtime_enter_launch(gpuc_launch_stream *l, gpuc_stream *stream)
{
    *l = (gpuc_launch_stream){.outer = launching, .stream = stream};
    launching = l;
}

void gpuc_runtime_leave_launch(const gpuc_launch_stream *l)
{
    launching = l->outer;
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
