/* SPDX-License-Identifier: Apache-2.0 */
#include "cts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/gpuc/sanitize.h"
#ifdef GPUC_CTS_VULKAN
#include "../../tools/gpuc/loader.h"
#endif

gpuc_device_type cts_type;
const char *cts_type_key, *cts_target;
bool cts_simulated, cts_defaults;
static gpuc_status (*adopt)(gpuc_runtime *rt, gpuc_device **out); /* NULL: devices are opened by number */

typedef struct block {
    _Alignas(16) size_t size;
} block;

static void *heap_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    cts_heap *heap = user;
    block *old = ptr ? (block *)ptr - 1 : NULL;
    if (old ? old->size != old_size : old_size != 0) abort();
    if (new_size > 0) {
        uint64_t call = __atomic_add_fetch(&heap->calls, 1, __ATOMIC_RELAXED);
        if (call == heap->fail_at || new_size > (size_t)1 << 40) return NULL;
    }
    block *b = NULL;
    if (new_size > 0) {
        b = malloc(sizeof *b + new_size);
        if (!b) return NULL;
        b->size = new_size;
        if (old) memcpy(b + 1, ptr, old_size < new_size ? old_size : new_size);
    }
    __atomic_fetch_add(&heap->live, (int64_t)new_size - (int64_t)old_size, __ATOMIC_RELAXED);
    free(old);
    return b ? b + 1 : NULL;
}

gpuc_allocator cts_allocator(cts_heap *heap)
{
    return (gpuc_allocator){.resize = heap_resize, .user = heap};
}

static gpuc_status register_devices(gpuc_runtime *rt)
{
    gpuc_status s = NULL;
#ifdef GPUC_CTS_CPU
    s = gpuc_cpu_register(rt);
#endif
#ifdef GPUC_CTS_OPENCL
    if (!s && cts_type == GPUC_DEVICE_OPENCL) s = gpuc_opencl_register(rt);
#endif
#ifdef GPUC_CTS_VULKAN
    if (!s && cts_type == GPUC_DEVICE_VULKAN) s = cli_vulkan_register(rt);
#endif
#ifdef GPUC_CTS_FOO
    if (!s && cts_type == gpuc_device_type_named("foo")) s = cts_foo_register(rt);
#endif
    return s;
}

gpuc_status cts_try_open(cts *c)
{
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.num_threads = cts_simulated ? 1 : 4; /* the simulator compiles on one thread */
    return cts_try_open_with(c, desc);
}

gpuc_status cts_try_open_with(cts *c, gpuc_runtime_desc desc)
{
    desc.allocator = cts_allocator(&c->heap);
    GPUC_TRY(gpuc_runtime_create(&desc, &c->rt));
    GPUC_TRY(register_devices(c->rt));
    GPUC_TRY(adopt ? adopt(c->rt, &c->dev) : gpuc_device_open(c->rt, cts_type, 0, &c->dev));
    c->api = c->dev->api;
    return NULL;
}

gpuc_device *cts_model_device(const cts *c)
{
    return adopt ? c->dev : NULL;
}

void cts_open(cts *c)
{
    *c = (cts){0};
    cts_ok(cts_try_open(c));
}

void cts_close(cts *c)
{
    gpuc_runtime_release(c->rt);
    assert_int_equal(c->heap.live, 0);
}

void cts_ok_at(gpuc_status status, const char *file, int line)
{
    if (!status) return;
    print_error("%s:%d: %s: %s (%s:%d)\n", file, line, gpuc_code_name(gpuc_status_code(status)),
                gpuc_status_message(status), gpuc_status_file(status), gpuc_status_line(status));
    gpuc_status_release(status);
    _fail(file, line);
}

void cts_fails_at(gpuc_status status, gpuc_code code, const char *text, const char *file, int line)
{
    if (!status) print_error("success instead of %s: ...%s...\n", gpuc_code_name(code), text);
    bool good = status && gpuc_status_code(status) == code && strstr(gpuc_status_message(status), text);
    if (status && !good)
        print_error("got %s: %s; wanted %s: ...%s...\n", gpuc_code_name(gpuc_status_code(status)),
                    gpuc_status_message(status), gpuc_code_name(code), text);
    gpuc_status_release(status);
    if (!good) _fail(file, line);
}

bool cts_measured(gpuc_status status)
{
    bool unsupported = gpuc_status_code(status) == GPUC_UNSUPPORTED;
    if (unsupported)
        cts_fails(status, GPUC_UNSUPPORTED, "no timestamps");
    else
        cts_ok(status);
    return !unsupported;
}

static const struct {
    const char *name, *device, *type_key, *target;
    bool defaults;
    gpuc_status (*adopt)(gpuc_runtime *rt, gpuc_device **out);
} kinds[] = {{"cpu", "cpu", "cpu_so", "c", false, NULL},
             {"opencl", "opencl", "opencl_c", "opencl", false, NULL},
#ifdef GPUC_CTS_OPENCL
             {"opencl_adopted", "opencl", "opencl_c", "opencl", false, cts_adopt_opencl},
             {"opencl_out_of_order", "opencl", "opencl_c", "opencl", false, cts_adopt_opencl_out_of_order},
#endif
#ifdef GPUC_CTS_FOO
             {"foo", "foo", "foo_code", "foo", true, NULL},
#endif
#ifdef GPUC_CTS_VULKAN
             {"vulkan_adopted", "vulkan", "spirv", "vulkan", false, cts_adopt_vulkan},
#endif
             {"vulkan", "vulkan", "spirv", "vulkan", false, NULL}};

bool cts_available(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(name, kinds[i].name) != 0) continue;
        cts_type = gpuc_device_type_named(kinds[i].device);
        adopt = kinds[i].adopt;
        cts_type_key = kinds[i].type_key;
        cts_target = kinds[i].target;
        cts_defaults = kinds[i].defaults;
    }
    if (!cts_type) {
        printf("usage: test_cts");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            printf("%s%s", i ? "|" : " ", kinds[i].name);
        printf("\n");
        exit(2);
    }
    cts c = {0};
    gpuc_status s = cts_try_open(&c);
    if (!s) {
        const char *device = gpuc_device_get_attr(c.dev, GPUC_ATTR_NAME).s;
        printf("device: %s\n", device);
        cts_simulated = strstr(device, "Oclgrind");
        /* Its LLVM and clang's do not live in one process: compilers go without it. */
        if (cts_simulated) unsetenv("LD_PRELOAD");
    }
    if (!s) s = cts_prepare_kernels(cts_type, c.rt);
    if (!s) s = cts_prepare_kernels(GPUC_DEVICE_CPU, c.rt); /* for steps of the fallback device */
    if (s) printf("skipped: %s\n", gpuc_status_message(s));
    cli_keep_drivers_loaded();
    bool available = !s;
    gpuc_status_release(s);
    gpuc_runtime_release(c.rt);
    return available;
}

void cts_cleanup(void)
{
    cts_forget_kernels();
    cts_forget_package();
#ifdef GPUC_CTS_VULKAN
    cts_close_application();
#endif
}

/* ---- Buffers -------------------------------------------------------------------------------- */

gpuc_buffer *cts_buffer(cts *c, size_t bytes)
{
    gpuc_buffer *b;
    cts_ok(c->api->alloc_data_space(c->dev, bytes, 256, &b));
    assert_non_null(b);
    assert_ptr_equal(b->device, c->dev);
    return b;
}

void cts_free(cts *c, gpuc_buffer *b)
{
    c->api->free_data_space(c->dev, b);
}

void cts_write(cts *c, gpuc_buffer *b, size_t offset, const void *bytes, size_t size)
{
    cts_ok(c->api->copy_data_from_to(c->dev, (gpuc_copy_end){.host = (void *)bytes},
                                     (gpuc_copy_end){.buffer = b, .offset = offset}, size, NULL));
}

void cts_read(cts *c, gpuc_buffer *b, size_t offset, void *bytes, size_t size)
{
    cts_ok(c->api->copy_data_from_to(c->dev, (gpuc_copy_end){.buffer = b, .offset = offset},
                                     (gpuc_copy_end){.host = bytes}, size, NULL));
}

void cts_sync(cts *c)
{
    cts_ok(c->api->stream_sync(c->dev, NULL));
}

void cts_join(cts *c, gpuc_stream *from, gpuc_stream *to)
{
    uint64_t ticket;
    cts_ok(c->api->stream_signal(c->dev, from, &ticket));
    cts_ok(c->api->stream_wait(c->dev, to, ticket));
}

void cts_fill(float *out, size_t n, uint32_t seed)
{
    uint32_t x = seed * 2654435761u + 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        out[i] = (float)((int32_t)(x >> 20) - 2048) / 16.0f;
    }
}
