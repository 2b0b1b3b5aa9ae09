/* SPDX-License-Identifier: Apache-2.0 */
/* Foo's devices: memory of their own, which copies alone reach, and launches that run at once. What is not here (streams,
 * tickets, plans, workspaces) are gpuc's defaults. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include <gpuc/driver.h>

#include "foo.h"

enum { NUM_DEVICES = 2, ALIGNMENT = 64 };
#define MEMORY_BYTES ((uint64_t)4 << 30)

/* ---- State ---- */

/* What foo.counter counts; the order of names below. */
typedef enum counter {
    ALLOCS,
    FREES,
    COPIES_IN,
    COPIES_OUT,
    COPIES_WITHIN,
    MODULES,
    LAUNCHES,
    NUM_COUNTERS
} counter;
static const char *const counter_names[NUM_COUNTERS] = {"allocs",        "frees",   "copies_in", "copies_out",
                                                        "copies_within", "modules", "launches"};

/* Of a runtime: shared by its devices, which several threads may use. */
typedef struct driver {
    pthread_mutex_t lock;
    int64_t counters[NUM_COUNTERS];
    int64_t limit; /* max iterations of a launch; 0: none */
} driver;

typedef struct buffer {
    gpuc_buffer base;
    uint64_t offset;     /* in the device's memory */
    struct buffer *next; /* by offset */
} buffer;

typedef struct device {
    gpuc_device base;
    driver *driver;
    pthread_mutex_t lock; /* of what follows, and of launches */
    uint8_t *memory;      /* moves when it grows: buffers are offsets */
    size_t capacity, scratch_size;
    buffer *buffers;
    void *scratch;
} device;

typedef struct code_module {
    device *dev;
    foo_program program;
    uint32_t num_kernels;
    const gpuc_kernel **kernels; /* as the package describes them */
    const foo_kernel **code;     /* of each */
} code_module;

static void count(device *dev, counter which)
{
    pthread_mutex_lock(&dev->driver->lock);
    dev->driver->counters[which]++;
    pthread_mutex_unlock(&dev->driver->lock);
}

static gpuc_allocator allocator_of(const device *dev)
{
    return gpuc_runtime_allocator(dev->base.runtime);
}

static gpuc_status out_of_memory(const char *what)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s of a foo device", what);
}

/* ---- Attributes ---- */

static gpuc_status get_attr(gpuc_device *base, gpuc_device_attr attr, gpuc_attr_value *out)
{
    device *dev = (device *)base;
    *out = (gpuc_attr_value){.known = true};
    switch ((int)attr) {
    case GPUC_ATTR_EXISTS:
    case GPUC_ATTR_IS_SOFTWARE:
    case GPUC_ATTR_MAX_THREADS_PER_BLOCK:
    case GPUC_ATTR_WARP_SIZE:
    case GPUC_ATTR_MULTI_PROCESSOR_COUNT: out->i = 1; break;
    case GPUC_ATTR_NAME: out->s = base->index ? "foo, the second" : "foo, the first"; break;
    case GPUC_ATTR_DRIVER: out->s = "libfoo 1"; break;
    case GPUC_ATTR_COMPUTE_VERSION: out->s = "foo 1.0"; break;
    case GPUC_ATTR_TOTAL_GLOBAL_BYTES:
    case GPUC_ATTR_MAX_ALLOC_BYTES: out->i = (int64_t)MEMORY_BYTES; break;
    case GPUC_ATTR_BUFFER_ALIGN: out->i = ALIGNMENT; break;
    case GPUC_ATTR_VECTOR_BITS: out->i = 512; break;
    case GPUC_ATTR_FEATURES:
        out->i =
            GPUC_FEATURE_FLOAT64 | GPUC_FEATURE_INT64 | GPUC_FEATURE_STORAGE8 | GPUC_FEATURE_FLOAT_CONTROLS;
        break;
    case GPUC_ATTR_MAX_ITERATIONS:
        pthread_mutex_lock(&dev->driver->lock);
        out->i = dev->driver->limit;
        pthread_mutex_unlock(&dev->driver->lock);
        out->known = out->i > 0;
        break;
    default: out->known = false;
    }
    return NULL;
}

/* ---- Memory ---- */

/* The first gap that is large enough: *out_link is where the buffer goes into the list. */
static uint64_t find_gap(device *dev, uint64_t bytes, uint64_t alignment, buffer ***out_link)
{
    uint64_t at = 0;
    buffer **link = &dev->buffers;
    for (; *link; link = &(*link)->next) {
        if (at + bytes <= (*link)->offset) break;
        at = ((*link)->offset + (*link)->base.size + alignment - 1) / alignment * alignment;
    }
    *out_link = link;
    return at;
}

static bool reserve(device *dev, uint64_t bytes)
{
    if (bytes <= dev->capacity) return true;
    size_t wanted = bytes < 2 * dev->capacity ? 2 * dev->capacity : bytes;
    uint8_t *memory = foo_resize(allocator_of(dev), dev->memory, dev->capacity, wanted);
    if (!memory) return false;
    dev->memory = memory;
    dev->capacity = wanted;
    return true;
}

static gpuc_status place(device *dev, buffer *b, uint64_t bytes, uint64_t alignment)
{
    buffer **link;
    if (alignment < ALIGNMENT) alignment = ALIGNMENT;
    if (bytes > MEMORY_BYTES || alignment > MEMORY_BYTES)
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY, "foo:%d has no %llu bytes", dev->base.index,
                         (unsigned long long)bytes);
    uint64_t at = find_gap(dev, bytes, alignment, &link);
    if (at > MEMORY_BYTES - bytes || !reserve(dev, at + bytes + ALIGNMENT))
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY, "foo:%d has no %llu bytes left", dev->base.index,
                         (unsigned long long)bytes);
    *b = (buffer){.base = {.device = &dev->base, .size = bytes}, .offset = at, .next = *link};
    *link = b;
    return NULL;
}

static gpuc_status alloc_data_space(gpuc_device *base, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    device *dev = (device *)base;
    *out = NULL;
    buffer *b = foo_resize(allocator_of(dev), NULL, 0, sizeof *b);
    if (!b) return out_of_memory("a buffer");
    pthread_mutex_lock(&dev->lock);
    gpuc_status status = place(dev, b, bytes, alignment);
    pthread_mutex_unlock(&dev->lock);
    if (status) {
        foo_resize(allocator_of(dev), b, sizeof *b, 0);
        return status;
    }
    count(dev, ALLOCS);
    *out = &b->base;
    return NULL;
}

static void free_data_space(gpuc_device *base, gpuc_buffer *b)
{
    device *dev = (device *)base;
    if (!b) return;
    pthread_mutex_lock(&dev->lock);
    buffer **link = &dev->buffers;
    while (*link != (buffer *)b) link = &(*link)->next;
    *link = (*link)->next;
    pthread_mutex_unlock(&dev->lock);
    foo_resize(allocator_of(dev), b, sizeof(buffer), 0);
    count(dev, FREES);
}

static uint8_t *address(device *dev, gpuc_copy_end end)
{
    uint8_t *start = end.buffer ? dev->memory + ((buffer *)end.buffer)->offset : end.host;
    return start + end.offset;
}

static gpuc_status copy_data_from_to(gpuc_device *base, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                                     gpuc_stream *stream)
{
    device *dev = (device *)base;
    GPUC_TRY(gpuc_device_check_stream(base, stream));
    GPUC_TRY(gpuc_device_check_copy(base, &from, bytes, "source"));
    GPUC_TRY(gpuc_device_check_copy(base, &to, bytes, "destination"));
    pthread_mutex_lock(&dev->lock);
    if (bytes) memmove(address(dev, to), address(dev, from), bytes);
    pthread_mutex_unlock(&dev->lock);
    count(dev, !from.buffer ? COPIES_IN : !to.buffer ? COPIES_OUT : COPIES_WITHIN);
    return NULL;
}

/* ---- Code ---- */

static void module_release(gpuc_device *base, gpuc_code_module *module)
{
    code_module *m = (code_module *)module;
    if (!m) return;
    gpuc_allocator a = allocator_of((device *)base);
    foo_program_free(&m->program);
    foo_resize(a, m->kernels, m->num_kernels * sizeof *m->kernels, 0);
    foo_resize(a, m->code, m->num_kernels * sizeof *m->code, 0);
    foo_resize(a, m, sizeof *m, 0);
}

static const foo_kernel *find_code(const foo_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->num_kernels; i++)
        if (strcmp(p->kernels[i].name, name) == 0) return &p->kernels[i];
    return NULL;
}

static gpuc_status match(code_module *m, const gpuc_kernel *const *kernels, uint32_t n)
{
    gpuc_allocator a = m->program.allocator;
    m->kernels = foo_resize(a, NULL, 0, n * sizeof *m->kernels);
    m->code = foo_resize(a, NULL, 0, n * sizeof *m->code);
    m->num_kernels = n;
    if (n && (!m->kernels || !m->code)) return out_of_memory("kernels");
    for (uint32_t i = 0; i < n; i++) {
        const foo_kernel *k = find_code(&m->program, kernels[i]->name);
        if (!k) return gpuc_fail(GPUC_NOT_FOUND, "the code has no kernel '%s'", kernels[i]->name);
        if (k->num_tensors != kernels[i]->num_tensors || k->num_scalars != kernels[i]->num_scalars)
            return gpuc_fail(
                GPUC_INVALID_DATA, "kernel '%s' has %u tensors and %u scalars, its code %u and %u", k->name,
                kernels[i]->num_tensors, kernels[i]->num_scalars, k->num_tensors, k->num_scalars);
        m->kernels[i] = kernels[i];
        m->code[i] = k;
    }
    return NULL;
}

static gpuc_status module_load(gpuc_device *base, const char *type_key, const void *bytes, size_t size,
                               const gpuc_kernel *const *kernels, uint32_t num_kernels,
                               gpuc_code_module **out)
{
    device *dev = (device *)base;
    *out = NULL;
    if (strcmp(type_key, FOO_MODULE_TYPE) != 0)
        return gpuc_fail(GPUC_UNSUPPORTED, "foo devices run '" FOO_MODULE_TYPE "', not '%s'", type_key);
    code_module *m = foo_resize(allocator_of(dev), NULL, 0, sizeof *m);
    if (!m) return out_of_memory("a module");
    *m = (code_module){.dev = dev};
    gpuc_status status = foo_program_read(allocator_of(dev), bytes, size, &m->program);
    if (!status) status = match(m, kernels, num_kernels);
    if (status) {
        module_release(base, (gpuc_code_module *)m);
        return status;
    }
    count(dev, MODULES);
    *out = (gpuc_code_module *)m;
    return NULL;
}

static gpuc_status kernel_get(gpuc_code_module *module, const char *name, uint32_t *out)
{
    const code_module *m = (code_module *)module;
    *out = 0;
    for (uint32_t i = 0; i < m->num_kernels; i++) {
        if (strcmp(m->kernels[i]->name, name) != 0) continue;
        *out = i;
        return NULL;
    }
    return gpuc_fail(GPUC_NOT_FOUND, "the module has no kernel '%s'", name);
}

/* ---- Launches ---- */

static gpuc_status check_step(const device *dev, const gpuc_step *step, const gpuc_bindings *bindings)
{
    for (uint32_t i = 0; i < step->num_tensors; i++)
        GPUC_TRY(gpuc_error_prefix(gpuc_device_check_tensor(&dev->base, bindings, &step->tensors[i]),
                                   "tensor %u", i));
    const code_module *m = (const code_module *)step->module;
    if (!m) {
        if (step->num_tensors == 2 && step->tensors[0].size == step->tensors[1].size) return NULL;
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy step needs two tensors of one size");
    }
    if (m->dev != dev || step->kernel >= m->num_kernels)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "kernel number %u of a module with %u", step->kernel,
                         m->num_kernels);
    const gpuc_kernel *k = m->kernels[step->kernel];
    if (step->num_tensors != k->num_tensors || step->num_scalars != k->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "kernel '%s' takes %u tensors and %u scalars, the step has %u and %u", k->name,
                         k->num_tensors, k->num_scalars, step->num_tensors, step->num_scalars);
    for (int i = 0; i < 3; i++)
        if (step->launch[i] > 1)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "kernel '%s': a launch on foo is 1,1,1", k->name);
    return NULL;
}

/* The tensor, and what follows it in its last word: small elements that the target has no storage for are parts of
 * words. */
static foo_span span_of(device *dev, const gpuc_step_tensor *t, const gpuc_bindings *bindings)
{
    const gpuc_binding *b = &bindings->slots[t->slot];
    uint64_t start = ((buffer *)b->buffer)->offset + b->offset + t->offset,
             end = (start + t->size + 3) / 4 * 4;
    return (foo_span){dev->memory + start, t->size ? end - start : 0};
}

/* Memory for a launch: what the kernel needs, then the places of its tensors. It is kept for the next. */
static gpuc_status grow_scratch(device *dev, size_t bytes)
{
    if (bytes <= dev->scratch_size) return NULL;
    void *scratch = foo_resize(allocator_of(dev), dev->scratch, dev->scratch_size, bytes);
    if (!scratch) return out_of_memory("a launch");
    dev->scratch = scratch;
    dev->scratch_size = bytes;
    return NULL;
}

static gpuc_status run_step(device *dev, const gpuc_step *step, const gpuc_bindings *bindings, int64_t budget)
{
    if (!step->module) {
        foo_span from = span_of(dev, &step->tensors[0], bindings),
                 to = span_of(dev, &step->tensors[1], bindings);
        if (from.bytes) memmove(to.at, from.at, step->tensors[0].size);
        return NULL;
    }
    const foo_kernel *k = ((const code_module *)step->module)->code[step->kernel];
    size_t bytes = foo_kernel_scratch(k);
    GPUC_TRY(grow_scratch(dev, bytes + step->num_tensors * sizeof(foo_span)));
    foo_span *spans = (foo_span *)((char *)dev->scratch + bytes);
    for (uint32_t i = 0; i < step->num_tensors; i++) spans[i] = span_of(dev, &step->tensors[i], bindings);
    return foo_kernel_run(k, spans, step->scalars, dev->scratch, budget);
}

static gpuc_status launch(gpuc_device *base, gpuc_stream *stream, const gpuc_step *step,
                          const gpuc_bindings *bindings)
{
    device *dev = (device *)base;
    GPUC_TRY(gpuc_device_check_stream(base, stream));
    GPUC_TRY(check_step(dev, step, bindings));
    if (step->module && (!step->launch[0] || !step->launch[1] || !step->launch[2])) return NULL;
    gpuc_attr_value limit;
    GPUC_TRY(get_attr(base, GPUC_ATTR_MAX_ITERATIONS, &limit));
    pthread_mutex_lock(&dev->lock);
    gpuc_status status = run_step(dev, step, bindings, limit.known ? limit.i : INT64_MAX);
    if (step->module) base->launches++;
    pthread_mutex_unlock(&dev->lock);
    count(dev, step->module ? LAUNCHES : COPIES_WITHIN);
    return status;
}

static void destroy(gpuc_device *base)
{
    device *dev = (device *)base;
    gpuc_allocator a = allocator_of(dev);
    foo_resize(a, dev->memory, dev->capacity, 0);
    foo_resize(a, dev->scratch, dev->scratch_size, 0);
    pthread_mutex_destroy(&dev->lock);
    foo_resize(a, dev, sizeof *dev, 0);
}

static const gpuc_device_api foo_api = {
    .struct_size = sizeof(gpuc_device_api),
    .get_attr = get_attr,
    .alloc_data_space = alloc_data_space,
    .free_data_space = free_data_space,
    .copy_data_from_to = copy_data_from_to,
    .module_load = module_load,
    .launch = launch,
    .module_release = module_release,
    .kernel_get = kernel_get,
    .destroy = destroy,
};

/* ---- The driver ---- */

static gpuc_status count_devices(gpuc_runtime *rt, void *self, int *out)
{
    (void)rt, (void)self;
    *out = NUM_DEVICES;
    return NULL;
}

static gpuc_status open_device(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    (void)index; /* the runtime fills it in */
    device *dev = foo_resize(gpuc_runtime_allocator(rt), NULL, 0, sizeof *dev);
    *out = NULL;
    if (!dev) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a foo device");
    *dev = (device){.driver = self};
    pthread_mutex_init(&dev->lock, NULL);
    *out = &dev->base;
    return NULL;
}

static void free_driver(gpuc_runtime *rt, void *self)
{
    driver *d = self;
    pthread_mutex_destroy(&d->lock);
    foo_resize(gpuc_runtime_allocator(rt), d, sizeof *d, 0);
}

static const gpuc_driver foo_driver = {.struct_size = sizeof(gpuc_driver),
                                       .name = "foo",
                                       .api = &foo_api,
                                       .count = count_devices,
                                       .open = open_device,
                                       .free_self = free_driver};

/* foo.counter(name) -> calls of all foo devices so far. */
static gpuc_status get_counter(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    driver *d = self;
    if (num_args != 1 || args[0].kind != GPUC_VALUE_STRING)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "foo.counter takes the name of a counter");
    for (int i = 0; i < NUM_COUNTERS; i++) {
        if (strcmp(args[0].as.string, counter_names[i]) != 0) continue;
        pthread_mutex_lock(&d->lock);
        *ret = gpuc_arg_int(d->counters[i]);
        pthread_mutex_unlock(&d->lock);
        return NULL;
    }
    const char *near = gpuc_suggest(args[0].as.string, counter_names, NUM_COUNTERS);
    return gpuc_fail(GPUC_NOT_FOUND, "foo has no counter '%s'%s%s%s", args[0].as.string,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* foo.limit(iterations): of all loops of a launch, from now on; 0: none. */
static gpuc_status set_limit(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    driver *d = self;
    (void)ret;
    if (num_args != 1 || args[0].kind != GPUC_VALUE_INT || args[0].as.i < 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "foo.limit takes a number of iterations; 0: no limit");
    pthread_mutex_lock(&d->lock);
    d->limit = args[0].as.i;
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

gpuc_status foo_driver_register(gpuc_runtime *rt)
{
    driver *d = foo_resize(gpuc_runtime_allocator(rt), NULL, 0, sizeof *d);
    if (!d) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the foo driver");
    *d = (driver){.limit = 0};
    pthread_mutex_init(&d->lock, NULL);
    gpuc_status status = gpuc_driver_register(rt, &foo_driver, d);
    if (status) {
        free_driver(rt, d);
        return status;
    }
    GPUC_TRY(gpuc_registry_set_fn(rt, "foo.counter", get_counter, d, NULL, false));
    return gpuc_registry_set_fn(rt, "foo.limit", set_limit, d, NULL, false);
}
