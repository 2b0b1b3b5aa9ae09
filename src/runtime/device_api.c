/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of devices as packed functions: `device_api.<name>.<method>`. */
#include "runtime/device_api.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "runtime/current.h"
#include "runtime/ndarray.h"

/* ---- Arguments and results ---- */

/* Kinds of arguments behind the device, one letter each. */
enum {
    INT = 'i',
    ATTRIBUTE = 'a', /* a number of gpuc_device_attr, or a name */
    BUFFER = 'b',    /* a handle */
    STREAM = 's',    /* a handle, or null for the default stream */
    END = 'e'        /* of a copy: a buffer, or an array of the host */
};

typedef struct method {
    const char *name;
    const char *kinds;
    /* v: the arguments behind the device */
    gpuc_status (*call)(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret);
} method;

static bool is_handle(const gpuc_value *v)
{
    return v->kind == GPUC_VALUE_HANDLE && v->as.handle;
}

static bool is_of_kind(const gpuc_value *v, char kind)
{
    switch (kind) {
    case INT: return v->kind == GPUC_VALUE_INT;
    case ATTRIBUTE: return v->kind == GPUC_VALUE_INT || (v->kind == GPUC_VALUE_STRING && v->as.string);
    case BUFFER: return is_handle(v);
    case STREAM: return is_handle(v) || v->kind == GPUC_VALUE_NULL;
    default:
        return is_handle(v) || (v->kind == GPUC_VALUE_NDARRAY && v->as.ndarray && !v->as.ndarray->device);
    }
}

static const char *kind_words(char kind)
{
    switch (kind) {
    case INT: return "an int";
    case ATTRIBUTE: return "the number or the name of an attribute";
    case BUFFER: return "the handle of a buffer";
    case STREAM: return "the handle of a stream, or null";
    default: return "the handle of a buffer, or an array of the host";
    }
}

static gpuc_stream *stream_of(const gpuc_value *v)
{
    return v->kind == GPUC_VALUE_HANDLE ? v->as.handle : NULL;
}

static void give_int(gpuc_value *ret, int64_t i)
{
    *ret = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = i};
}

static void give_handle(gpuc_value *ret, void *handle)
{
    *ret = (gpuc_value){.kind = GPUC_VALUE_HANDLE, .as.handle = handle};
}

/* ---- Methods ---- */

static gpuc_status attribute_of(const gpuc_value *v, gpuc_device_attr *out)
{
    if (v->kind == GPUC_VALUE_STRING) return gpuc_device_attr_named(v->as.string, out);
    if (v->as.i < 0 || v->as.i >= GPUC_ATTR_COUNT)
        return gpuc_fail(GPUC_NOT_FOUND, "devices have no attribute %lld", (long long)v->as.i);
    *out = (gpuc_device_attr)v->as.i;
    return NULL;
}

static gpuc_status get_attr(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    gpuc_device_attr attr;
    GPUC_TRY(attribute_of(&v[0], &attr));
    gpuc_attr_value value = gpuc_device_get_attr(dev, attr);
    if (value.known && value.s) return gpuc_value_set_string(dev->runtime, ret, value.s);
    if (value.known) give_int(ret, value.i);
    return NULL;
}

static gpuc_status alloc_data_space(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    gpuc_buffer *buffer;
    if (v[0].as.i < 0 || v[1].as.i < 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%lld bytes at multiples of %lld", (long long)v[0].as.i,
                         (long long)v[1].as.i);
    GPUC_TRY(dev->api->alloc_data_space(dev, (size_t)v[0].as.i, (size_t)v[1].as.i, &buffer));
    give_handle(ret, buffer);
    return NULL;
}

static gpuc_status free_data_space(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    dev->api->free_data_space(dev, v[0].as.handle);
    return NULL;
}

static gpuc_status alloc_workspace(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    gpuc_buffer *buffer;
    if (v[0].as.i < 0) return gpuc_fail(GPUC_INVALID_ARGUMENT, "%lld bytes", (long long)v[0].as.i);
    GPUC_TRY(gpuc_runtime_workspace_alloc(dev, gpuc_runtime_current_stream(dev), (size_t)v[0].as.i, &buffer));
    give_handle(ret, buffer);
    return NULL;
}

static gpuc_status free_workspace(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    gpuc_runtime_workspace_free(dev, gpuc_runtime_current_stream(dev), v[0].as.handle);
    return NULL;
}

static gpuc_status end_of(const gpuc_value *v, int64_t offset, int64_t bytes, gpuc_copy_end *out)
{
    if (offset < 0 || bytes < 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy of %lld bytes at %lld", (long long)bytes,
                         (long long)offset);
    *out = (gpuc_copy_end){.buffer = v->as.handle, .offset = (size_t)offset};
    if (v->kind == GPUC_VALUE_HANDLE) return NULL;
    const gpuc_ndarray *a = v->as.ndarray;
    if ((uint64_t)offset > a->bytes || (uint64_t)bytes > a->bytes - (size_t)offset)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy of %lld bytes at %lld: the array has %zu",
                         (long long)bytes, (long long)offset, a->bytes);
    *out = (gpuc_copy_end){.host = a->host + offset};
    return NULL;
}

/* from, its offset, to, its offset, bytes, stream */
static gpuc_status copy_data_from_to(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    gpuc_copy_end from, to;
    GPUC_TRY(end_of(&v[0], v[1].as.i, v[4].as.i, &from));
    GPUC_TRY(end_of(&v[2], v[3].as.i, v[4].as.i, &to));
    return dev->api->copy_data_from_to(dev, from, to, (size_t)v[4].as.i, stream_of(&v[5]));
}

static gpuc_status create_stream(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)v;
    gpuc_stream *stream;
    GPUC_TRY(gpuc_stream_create(dev, &stream));
    give_handle(ret, stream);
    return NULL;
}

static gpuc_status free_stream(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    GPUC_TRY(gpuc_device_check_stream(dev, stream_of(&v[0])));
    gpuc_stream_release(stream_of(&v[0]));
    return NULL;
}

static gpuc_status set_stream(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    return gpuc_runtime_set_stream(dev, stream_of(&v[0]));
}

static gpuc_status stream_sync(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    return dev->api->stream_sync(dev, stream_of(&v[0]));
}

static gpuc_status stream_flush(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    return dev->api->stream_flush(dev, stream_of(&v[0]));
}

static gpuc_status stream_signal(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    uint64_t ticket;
    GPUC_TRY(dev->api->stream_signal(dev, stream_of(&v[0]), &ticket));
    give_int(ret, (int64_t)ticket);
    return NULL;
}

static gpuc_status stream_wait(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    return dev->api->stream_wait(dev, stream_of(&v[0]), (uint64_t)v[1].as.i);
}

static gpuc_status ticket_wait(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    bool done;
    GPUC_TRY(dev->api->ticket_wait(dev, (uint64_t)v[0].as.i, v[1].as.i, &done));
    give_int(ret, done);
    return NULL;
}

/* Work of the second stream from now on waits for the work of the first. */
static gpuc_status sync_stream_from_to(gpuc_device *dev, const gpuc_value *v, gpuc_value *ret)
{
    (void)ret;
    uint64_t ticket;
    GPUC_TRY(dev->api->stream_signal(dev, stream_of(&v[0]), &ticket));
    return dev->api->stream_wait(dev, stream_of(&v[1]), ticket);
}

static const method methods[] = {
    {"get_attr", "a", get_attr},
    {"alloc_data_space", "ii", alloc_data_space},
    {"free_data_space", "b", free_data_space},
    {"alloc_workspace", "i", alloc_workspace},
    {"free_workspace", "b", free_workspace},
    {"copy_data_from_to", "eieiis", copy_data_from_to},
    {"create_stream", "", create_stream},
    {"free_stream", "s", free_stream},
    {"set_stream", "s", set_stream},
    {"stream_sync", "s", stream_sync},
    {"stream_flush", "s", stream_flush},
    {"stream_signal", "s", stream_signal},
    {"stream_wait", "si", stream_wait},
    {"sync_stream_from_to", "ss", sync_stream_from_to},
    {"ticket_wait", "ii", ticket_wait},
};
#define NUM_METHODS (sizeof methods / sizeof methods[0])

/* ---- Calls ---- */

typedef struct method_self {
    gpuc_driver_entry *entry;
    const method *method;
} method_self;

static gpuc_status find_device(const gpuc_driver_entry *e, const gpuc_value *v, gpuc_device **out)
{
    if (v->kind == GPUC_VALUE_INT)
        return gpuc_device_open(e->runtime, e->type, v->as.i == (int)v->as.i ? (int)v->as.i : -1, out);
    *out = v->kind == GPUC_VALUE_DEVICE ? v->as.device : NULL;
    if (!*out)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "argument 0 is %s, not a device or its number",
                         gpuc_value_kind_name(v->kind));
    if ((*out)->runtime != e->runtime || (*out)->type != e->type)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "argument 0 is a device of another driver");
    return NULL;
}

static gpuc_status call(const method_self *s, const gpuc_value *args, int num_args, gpuc_value *ret)
{
    const method *m = s->method;
    gpuc_device *dev;
    int want = 1 + (int)strlen(m->kinds);
    if (num_args != want)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it takes %d arguments, not %d", want, num_args);
    for (int i = 1; i < want; i++)
        if (!is_of_kind(&args[i], m->kinds[i - 1]))
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "argument %d is %s, not %s", i,
                             gpuc_value_kind_name(args[i].kind), kind_words(m->kinds[i - 1]));
    GPUC_TRY(find_device(s->entry, &args[0], &dev));
    return m->call(dev, args + 1, ret);
}

static gpuc_status call_method(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    const method_self *s = self;
    return gpuc_error_prefix(call(s, args, num_args, ret), "device_api.%s.%s", s->entry->driver.name,
                             s->method->name);
}

static gpuc_status give_table(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args, (void)num_args;
    gpuc_driver_entry *entry = self;
    give_handle(ret, &entry->api);
    return NULL;
}

static gpuc_status count_devices(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args, (void)num_args;
    const gpuc_driver_entry *entry = self;
    give_int(ret, gpuc_device_count(entry->runtime, entry->type));
    return NULL;
}

static void free_method(void *self)
{
    method_self *s = self;
    gpuc_mem_free(gpuc_runtime_allocator(s->entry->runtime), s, sizeof *s);
}

static gpuc_status register_method(gpuc_driver_entry *entry, const char *name, const method *m)
{
    gpuc_allocator a = gpuc_runtime_allocator(entry->runtime);
    method_self *s = gpuc_mem_alloc(a, sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", name);
    *s = (method_self){.entry = entry, .method = m};
    return gpuc_registry_set_fn(entry->runtime, name, call_method, s, free_method, false);
}

/* i: of the methods, behind them the table and the count. */
static void name_of(const gpuc_driver_entry *entry, size_t i, char *out, size_t size)
{
    const char *method = i < NUM_METHODS ? methods[i].name : "count";
    bool is_table = i > NUM_METHODS;
    snprintf(out, size, "device_api.%s%s%s", entry->driver.name, is_table ? "" : ".", is_table ? "" : method);
}

gpuc_status gpuc_runtime_device_api_register(gpuc_driver_entry *entry)
{
    char name[96];
    gpuc_status status = NULL;
    gpuc_registry_change *mark = gpuc_registry_begin_changes(entry->runtime);
    for (size_t i = 0; i < NUM_METHODS + 2 && !status; i++) {
        name_of(entry, i, name, sizeof name);
        status = i < NUM_METHODS ? register_method(entry, name, &methods[i])
                                 : gpuc_registry_set_fn(entry->runtime, name,
                                                        i == NUM_METHODS ? count_devices : give_table, entry,
                                                        NULL, false);
    }
    gpuc_registry_end_changes(entry->runtime, mark, status != NULL);
    return status;
}
