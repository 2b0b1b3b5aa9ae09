/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays over memory of the application, memory of arrays for the application, and memory that the host has for a while. */
#include "abi/scope.h"
#include "base/arena.h"
#include "base/require.h"
#include "runtime/current.h"
#include "runtime/ndarray.h"
#include "runtime_opencl/cl.h"

gpuc_status gpuc_cl_mem_ask(const gpuc_cl_device *dev, cl_mem mem, gpuc_cl_mem_info *out)
{
    const struct {
        cl_mem_info what;
        size_t size;
        void *to;
    } rows[] = {{CL_MEM_TYPE, sizeof out->type, &out->type},
                {CL_MEM_CONTEXT, sizeof out->context, &out->context},
                {CL_MEM_FLAGS, sizeof out->flags, &out->flags},
                {CL_MEM_SIZE, sizeof out->size, &out->size},
                {CL_MEM_HOST_PTR, sizeof out->host, &out->host},
                {CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem), &out->parent},
                {CL_MEM_OFFSET, sizeof out->offset, &out->offset}};
    *out = (gpuc_cl_mem_info){0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cl_int error = dev->fn->GetMemObjectInfo(mem, rows[i].what, rows[i].size, rows[i].to, NULL);
        if (error == CL_INVALID_MEM_OBJECT)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "it is no memory object of the device's OpenCL (clGetMemObjectInfo: %s)",
                             gpuc_cl_error_name(error));
        GPUC_CL_TRY("clGetMemObjectInfo", error);
    }
    return NULL;
}

static gpuc_status check_mem(const gpuc_cl_device *dev, const gpuc_cl_mem_info *m)
{
    if (m->type != CL_MEM_OBJECT_BUFFER)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "it is an image (CL_MEM_TYPE is 0x%x), not a buffer: gpuc_opencl_wrap_image takes it",
            (unsigned)m->type);
    if (m->context != dev->context)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "it is of another context than %s:%d: adopt the device of that context",
                         dev->base.api->name, dev->base.index);
    if (m->parent && dev->caps.base_align && m->offset % dev->caps.base_align != 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "it is a sub-buffer at byte %zu, no multiple of the %u bytes that the device needs "
                         "(CL_DEVICE_MEM_BASE_ADDR_ALIGN)",
                         m->offset, dev->caps.base_align);
    return NULL;
}

static gpuc_status check_part(const gpuc_opencl_buffer *part, const gpuc_cl_mem_info *m, gpuc_dtype dtype)
{
    size_t element = gpuc_dtype_bytes(dtype);
    if (part->offset > m->size || part->size > m->size - part->offset)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%llu bytes at %llu: it has %zu",
                         (unsigned long long)part->size, (unsigned long long)part->offset, m->size);
    if (element && part->offset % element != 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "offset %llu is no multiple of the %zu bytes of an element",
                         (unsigned long long)part->offset, element);
    return NULL;
}

unsigned gpuc_cl_limits_of(cl_mem_flags flags)
{
    unsigned limits = 0;
    if (flags & CL_MEM_READ_ONLY) limits |= GPUC_CL_KERNEL_WRITES;
    if (flags & CL_MEM_WRITE_ONLY) limits |= GPUC_CL_KERNEL_READS;
    if (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY)) limits |= GPUC_CL_HOST_WRITES;
    if (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY)) limits |= GPUC_CL_HOST_READS;
    return limits;
}

static void free_buffer(void *owner)
{
    gpuc_buffer *b = owner;
    gpuc_cl_free(b->device, b);
}

void gpuc_cl_mem_origin(const gpuc_cl_device *dev, cl_mem mem, const gpuc_cl_mem_info *m, gpuc_ndarray *a)
{
    a->origin = m->host ? (const void *)dev : m->parent ? (const void *)m->parent : (const void *)mem;
    a->origin_offset = m->host ? (uintptr_t)m->host : m->offset;
}

/* Takes the reference of mem. */
static gpuc_status wrap(gpuc_cl_device *dev, cl_mem mem, const gpuc_cl_mem_info *m,
                        const gpuc_opencl_buffer *part, gpuc_dtype dtype, int ndim, const int64_t *dims,
                        gpuc_ndarray **out)
{
    gpuc_cl_buffer *b;
    gpuc_status status = gpuc_cl_buffer_create(dev, mem, m->size, &b);
    if (status) {
        dev->fn->ReleaseMemObject(mem);
        return status;
    }
    b->foreign = true;
    b->skew = (uint32_t)((uintptr_t)m->host % GPUC_SLOT_ALIGN);
    atomic_store(&b->limits, gpuc_cl_limits_of(m->flags));
    gpuc_binding binding = {.buffer = &b->base, .offset = part->offset, .size = part->size};
    status = gpuc_ndarray_wrap(dev->base.runtime, binding, NULL, dtype, ndim, dims, free_buffer, b, out);
    if (status) {
        gpuc_cl_free(&dev->base, &b->base);
        return status;
    }
    gpuc_cl_mem_origin(dev, mem, m, *out);
    return NULL;
}

gpuc_status gpuc_opencl_wrap_buffer(gpuc_device *device, const gpuc_opencl_buffer *buffer, gpuc_dtype dtype,
                                    int ndim, const int64_t *dims, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    gpuc_cl_device *dev;
    gpuc_cl_mem_info m;
    GPUC_REQUIRE(device);
    GPUC_REQUIRE(buffer);
    GPUC_REQUIRE(buffer->mem);
    if (ndim > 0) GPUC_REQUIRE(dims);
    GPUC_TRY(gpuc_cl_device_of(device, "the array", &dev));
    gpuc_status status = gpuc_cl_mem_ask(dev, buffer->mem, &m);
    if (!status) status = check_mem(dev, &m);
    if (!status) status = check_part(buffer, &m, dtype);
    cl_int error = status ? CL_SUCCESS : dev->fn->RetainMemObject(buffer->mem);
    if (error != CL_SUCCESS) status = gpuc_cl_fail("clRetainMemObject", error);
    if (!status) status = wrap(dev, buffer->mem, &m, buffer, dtype, ndim, dims, out);
    return gpuc_error_prefix(status, "the cl_mem");
}

gpuc_status gpuc_opencl_wrap_host(gpuc_device *device, void *host, size_t size, gpuc_dtype dtype, int ndim,
                                  const int64_t *dims, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    gpuc_cl_device *dev;
    GPUC_REQUIRE(device);
    GPUC_REQUIRE(host);
    GPUC_REQUIRE(size);
    if (ndim > 0) GPUC_REQUIRE(dims);
    GPUC_TRY(gpuc_cl_device_of(device, "the array", &dev));
    if (!dev->caps.unified)
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "'%s' has memory of its own (CL_DEVICE_HOST_UNIFIED_MEMORY is 0): make an array with "
            "gpuc_ndarray_create and copy with gpuc_ndarray_write",
            dev->caps.name);
    if (dev->caps.base_align && (uintptr_t)host % dev->caps.base_align != 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%p is no multiple of the %u bytes that '%s' needs (CL_DEVICE_MEM_BASE_ADDR_ALIGN): "
                         "allocate it with aligned_alloc",
                         host, dev->caps.base_align, dev->caps.name);
    const gpuc_cl_mem_info m = {.flags = CL_MEM_READ_WRITE, .size = size, .host = host};
    const gpuc_opencl_buffer whole = {.size = size};
    cl_int error = CL_SUCCESS;
    cl_mem mem =
        dev->fn->CreateBuffer(dev->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, host, &error);
    if (!mem) return gpuc_error_prefix(gpuc_cl_fail("clCreateBuffer", error), "%zu bytes at %p", size, host);
    return gpuc_error_prefix(wrap(dev, mem, &m, &whole, dtype, ndim, dims, out), "the memory of the host");
}

/* The buffer of an array on an OpenCL device. */
static gpuc_status buffer_of(const gpuc_ndarray *a, gpuc_cl_device **dev, gpuc_cl_buffer **out)
{
    GPUC_TRY(gpuc_cl_device_of(a->device, "the array", dev));
    *out = (gpuc_cl_buffer *)a->buffer;
    return NULL;
}

gpuc_status gpuc_opencl_get_buffer(const gpuc_ndarray *a, gpuc_opencl_buffer *out)
{
    GPUC_REQUIRE(out);
    *out = (gpuc_opencl_buffer){0};
    gpuc_cl_device *dev;
    gpuc_cl_buffer *b;
    GPUC_REQUIRE(a);
    GPUC_TRY(buffer_of(a, &dev, &b));
    atomic_store(&b->fresh, false); /* the application may queue commands that use it */
    if (!b->foreign) ((gpuc_ndarray *)a)->origin = b->mem; /* it may come back, wrapped */
    *out = (gpuc_opencl_buffer){.mem = b->mem, .offset = a->offset, .size = a->bytes};
    return NULL;
}

/* ---- The host's turn ---- */

static gpuc_status map(gpuc_cl_device *dev, gpuc_cl_buffer *b, void **out)
{
    unsigned limits = atomic_load(&b->limits);
    cl_map_flags flags =
        (limits & GPUC_CL_HOST_READS ? 0 : CL_MAP_READ) | (limits & GPUC_CL_HOST_WRITES ? 0 : CL_MAP_WRITE);
    if (!flags) return gpuc_cl_buffer_check(b, GPUC_CL_HOST_READS);
    if (b->channels) return gpuc_fail(GPUC_UNSUPPORTED, "it is an image: clEnqueueMapImage maps it");
    GPUC_TRY(gpuc_cl_buffer_check(b, 0));
    gpuc_cl_queue *q = &dev->main.queue;
    uint_fast64_t queued = atomic_load(&dev->main.queued);
    cl_int error = CL_SUCCESS;
    gpuc_cl_turn t;
    atomic_store(&b->fresh, false);
    gpuc_cl_turn_begin(q, false, &t);
    void *at = dev->fn->EnqueueMapBuffer(q->handle, b->mem, t.blocking, flags, 0, b->base.size, t.num_waits,
                                         t.waits, t.place, &error);
    if (!at && error == CL_SUCCESS) error = CL_MAP_FAILURE;
    error = gpuc_cl_turn_finish(dev, q, &t, error);
    b->mapped = at;
    if (error != CL_SUCCESS) {
        gpuc_status_release(gpuc_cl_buffer_unmap(dev, b)); /* it may be mapped, and the wait have failed */
        return gpuc_cl_wait_error("clEnqueueMapBuffer", error);
    }
    atomic_store(&dev->main.completed, queued);
    atomic_fetch_or(&b->limits, GPUC_CL_MAPPED);
    *out = at;
    return NULL;
}

gpuc_status gpuc_cl_buffer_unmap(gpuc_cl_device *dev, gpuc_cl_buffer *b)
{
    if (!b->mapped) return NULL;
    gpuc_cl_queue *q = &dev->main.queue;
    gpuc_cl_turn t;
    gpuc_cl_turn_begin(q, false, &t);
    cl_int error =
        dev->fn->EnqueueUnmapMemObject(q->handle, b->mem, b->mapped, t.num_waits, t.waits, t.place);
    error = gpuc_cl_turn_end(dev, q, &t, error, NULL);
    atomic_fetch_add(&dev->main.queued, 1);
    GPUC_CL_TRY("clEnqueueUnmapMemObject", error);
    b->mapped = NULL;
    atomic_fetch_and(&b->limits, ~(unsigned)GPUC_CL_MAPPED);
    GPUC_CL_TRY("clFlush", dev->fn->Flush(q->handle));
    return NULL;
}

gpuc_status gpuc_opencl_map(gpuc_ndarray *a, void **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    gpuc_cl_device *dev;
    gpuc_cl_buffer *b;
    void *at = NULL;
    GPUC_REQUIRE(a);
    GPUC_TRY(buffer_of(a, &dev, &b));
    GPUC_TRY(gpuc_runtime_enter_default(&dev->base));
    GPUC_TRY(gpuc_error_prefix(map(dev, b, &at), "gpuc_opencl_map"));
    *out = (char *)at + a->offset;
    return NULL;
}

gpuc_status gpuc_opencl_unmap(gpuc_ndarray *a)
{
    gpuc_cl_device *dev;
    gpuc_cl_buffer *b;
    GPUC_REQUIRE(a);
    GPUC_TRY(buffer_of(a, &dev, &b));
    if (!b->mapped) return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc_opencl_unmap: the array is not mapped");
    GPUC_TRY(gpuc_cl_buffer_unmap(dev, b));
    return gpuc_runtime_leave_default(&dev->base);
}
