/* SPDX-License-Identifier: Apache-2.0 */
/* A device whose memory is the host's, but not reachable as such unless asked: enough of a backend to
 * test what lies above it. */
#ifndef GPUC_TESTS_FAKE_DEVICE_H
#define GPUC_TESTS_FAKE_DEVICE_H

#include "base/arena.h"
#include "runtime/services.h"

typedef struct fake_driver {
    int num_devices;
    bool missing; /* no driver on this machine */
    bool fail_open;
    bool mapped;   /* buffers can be reached by the host */
    size_t memory; /* bytes that can be allocated; 0: no limit */
    int opened, destroyed, freed;
    size_t live; /* bytes of buffers */
    int allocs, copies, launches;
} fake_driver;

typedef struct fake_device {
    gpuc_device base;
    fake_driver *driver;
} fake_device;

typedef struct fake_buffer {
    gpuc_buffer base;
    uint8_t *bytes;
} fake_buffer;

static inline gpuc_status fake_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    (void)dev;
    if (attr == GPUC_ATTR_COUNT) return gpuc_fail(GPUC_DEVICE_LOST, "gone");
    if (attr == GPUC_ATTR_NAME) *out = (gpuc_attr_value){.known = true, .s = "fake"};
    return NULL;
}

static inline gpuc_status fake_alloc(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    fake_driver *d = ((fake_device *)dev)->driver;
    (void)alignment;
    *out = NULL;
    if (d->memory && d->live + bytes > d->memory)
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY, "the device is full");
    gpuc_allocator a = gpuc_runtime_allocator(dev->runtime);
    fake_buffer *b = gpuc_mem_alloc(a, sizeof *b);
    uint8_t *memory = b ? gpuc_mem_resize(a, NULL, 0, bytes) : NULL;
    if (!memory) {
        gpuc_mem_free(a, b, sizeof *b);
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a buffer");
    }
    b->base = (gpuc_buffer){.device = dev, .size = bytes, .host = d->mapped ? memory : NULL};
    b->bytes = memory;
    d->live += bytes;
    d->allocs++;
    *out = &b->base;
    return NULL;
}

static inline void fake_free(gpuc_device *dev, gpuc_buffer *buffer)
{
    fake_buffer *b = (fake_buffer *)buffer;
    gpuc_allocator a = gpuc_runtime_allocator(dev->runtime);
    ((fake_device *)dev)->driver->live -= buffer->size;
    gpuc_mem_free(a, b->bytes, buffer->size);
    gpuc_mem_free(a, b, sizeof *b);
}

static inline uint8_t *fake_end(gpuc_copy_end e)
{
    return (e.buffer ? ((fake_buffer *)e.buffer)->bytes : (uint8_t *)e.host) + e.offset;
}

static inline gpuc_status fake_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                                    gpuc_stream *stream)
{
    (void)stream;
    ((fake_device *)dev)->driver->copies++;
    if ((from.buffer && from.buffer->device != dev) || (to.buffer && to.buffer->device != dev))
        return gpuc_fail(GPUC_INTERNAL, "a buffer of another device");
    memmove(fake_end(to), fake_end(from), bytes);
    return NULL;
}

static inline void fake_destroy(gpuc_device *dev)
{
    ((fake_device *)dev)->driver->destroyed++;
    gpuc_mem_free(gpuc_runtime_allocator(dev->runtime), dev, sizeof(fake_device));
}

static inline gpuc_status fake_module_load(gpuc_device *dev, const char *type_key, const void *bytes,
                                           size_t size, const gpuc_kernel *const *kernels,
                                           uint32_t num_kernels, gpuc_code_module **out)
{
    (void)dev, (void)type_key, (void)bytes, (void)size, (void)kernels, (void)num_kernels;
    *out = NULL;
    return gpuc_fail(GPUC_UNSUPPORTED, "a fake device runs nothing");
}

static inline void fake_module_release(gpuc_device *dev, gpuc_code_module *module)
{
    (void)dev, (void)module;
}

static inline gpuc_status fake_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out)
{
    (void)module, (void)name;
    *out = 0;
    return gpuc_fail(GPUC_NOT_FOUND, "a fake device has no kernels");
}

static inline gpuc_status fake_launch(gpuc_device *dev, gpuc_stream *stream, const gpuc_step *step,
                                      const gpuc_bindings *bindings)
{
    (void)stream, (void)step, (void)bindings;
    ((fake_device *)dev)->driver->launches++;
    return NULL;
}

static const gpuc_device_api fake_api = {
    .struct_size = sizeof(gpuc_device_api),
    .get_attr = fake_get_attr,
    .alloc_data_space = fake_alloc,
    .free_data_space = fake_free,
    .copy_data_from_to = fake_copy,
    .module_load = fake_module_load,
    .module_release = fake_module_release,
    .kernel_get = fake_kernel_get,
    .launch = fake_launch,
    .destroy = fake_destroy,
};

static inline gpuc_status fake_count(gpuc_runtime *rt, void *self, int *out)
{
    fake_driver *d = self;
    (void)rt;
    *out = 77;
    if (d->missing) return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "libfake.so.1 is not installed");
    *out = d->num_devices;
    return NULL;
}

static inline gpuc_status fake_open(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    fake_driver *d = self;
    (void)index;
    *out = NULL;
    if (d->fail_open) return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "it is broken");
    fake_device *dev = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *dev);
    if (!dev) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a device");
    dev->driver = d;
    d->opened++;
    *out = &dev->base;
    return NULL;
}

static inline void fake_free_self(gpuc_runtime *rt, void *self)
{
    (void)rt;
    ((fake_driver *)self)->freed++;
}

#define FAKE_DRIVER(its_name)                                                                                \
    {                                                                                                        \
        .struct_size = sizeof(gpuc_driver), .name = (its_name), .api = &fake_api, .count = fake_count,       \
        .open = fake_open, .free_self = fake_free_self                                                       \
    }
static const gpuc_driver fake_vulkan = FAKE_DRIVER("vulkan"), fake_cpu = FAKE_DRIVER("cpu");

/* A runtime over the counting heap, with two fake Vulkan devices and a fake CPU. */
typedef struct fixture {
    test_heap heap;
    gpuc_runtime *rt;
    fake_driver vulkan, cpu;
} fixture;

static inline void fixture_init(fixture *f)
{
    *f = (fixture){.vulkan = {.num_devices = 2}, .cpu = {.num_devices = 1, .mapped = true}};
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.allocator = test_heap_allocator(&f->heap);
    expect_success(gpuc_runtime_create(&desc, &f->rt));
    expect_success(gpuc_driver_register(f->rt, &fake_vulkan, &f->vulkan));
    expect_success(gpuc_driver_register(f->rt, &fake_cpu, &f->cpu));
}

static inline gpuc_device *fixture_device(fixture *f, gpuc_device_type type, int index)
{
    gpuc_device *dev;
    expect_success(gpuc_device_open(f->rt, type, index, &dev));
    return dev;
}

static inline void fixture_deinit(fixture *f)
{
    gpuc_runtime_release(f->rt);
    assert_int_equal(f->vulkan.live + f->cpu.live, 0);
    assert_int_equal(f->vulkan.opened, f->vulkan.destroyed);
    assert_int_equal(f->cpu.opened, f->cpu.destroyed);
    assert_int_equal(f->vulkan.freed + f->cpu.freed, 2);
    assert_int_equal(f->heap.live, 0);
}

#endif
