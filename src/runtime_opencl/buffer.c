/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates OpenCL buffers, and says how they may be used. */
#include "runtime_opencl/cl.h"

#include "abi/scope.h"
#include "base/size.h"

/* On a CPU a mapped buffer is the memory itself. */
static void ask_huge_pages(gpuc_cl_device *dev, cl_mem mem, size_t size)
{
    cl_int error = CL_SUCCESS;
    gpuc_status status = gpuc_cl_ensure_queue(dev, 0, &dev->fill_queue);
    void *at =
        status ? NULL
               : dev->fn->EnqueueMapBuffer(dev->fill_queue.handle, mem, CL_TRUE,
                                           CL_MAP_WRITE_INVALIDATE_REGION, 0, size, 0, NULL, NULL, &error);
    gpuc_status_release(status);
    if (!at || error != CL_SUCCESS) return;
    gpuc_mem_ask_huge_pages(at, size);
    dev->fn->EnqueueUnmapMemObject(dev->fill_queue.handle, mem, at, 0, NULL, NULL);
    dev->fn->Finish(dev->fill_queue.handle);
}

gpuc_status gpuc_cl_buffer_create(gpuc_cl_device *dev, cl_mem mem, size_t size, gpuc_cl_buffer **out)
{
    gpuc_cl_buffer *b = gpuc_mem_alloc(dev->allocator, sizeof *b);
    *out = b;
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a buffer object");
    b->base = (gpuc_buffer){.device = &dev->base, .size = size};
    b->mem = mem;
    b->id = atomic_fetch_add(&dev->next_buffer_id, 1) + 1;
    atomic_init(&b->fresh, false);
    atomic_init(&b->limits, 0);
    return NULL;
}

gpuc_status gpuc_cl_buffer_check(const gpuc_cl_buffer *b, unsigned use)
{
    static const struct {
        unsigned limit;
        const char *text;
    } rows[] = {
        {GPUC_CL_MAPPED, "the host has mapped it: gpuc_opencl_unmap gives it back"},
        {GPUC_CL_KERNEL_READS, "a kernel reads it, but it was made with CL_MEM_WRITE_ONLY: make it with "
                               "CL_MEM_READ_WRITE"},
        {GPUC_CL_KERNEL_WRITES, "a kernel writes it, but it was made with CL_MEM_READ_ONLY: make it with "
                                "CL_MEM_READ_WRITE"},
        {GPUC_CL_HOST_READS, "the host reads it, but it was made with CL_MEM_HOST_WRITE_ONLY or "
                             "CL_MEM_HOST_NO_ACCESS: make it without"},
        {GPUC_CL_HOST_WRITES, "the host writes it, but it was made with CL_MEM_HOST_READ_ONLY or "
                              "CL_MEM_HOST_NO_ACCESS: make it without"},
    };
    unsigned bad = atomic_load_explicit(&b->limits, memory_order_relaxed) & (use | GPUC_CL_MAPPED);
    if (!bad) return NULL;
    size_t i = 0;
    while (!(rows[i].limit & bad)) i++;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the buffer cannot be used so: %s", rows[i].text);
}

/* Drivers align buffers to CL_DEVICE_MEM_BASE_ADDR_ALIGN; there is no way to ask for more. */
gpuc_status gpuc_cl_alloc(gpuc_device *device, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    (void)alignment;
    *out = NULL;
    if (bytes > dev->caps.max_alloc)
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY,
                         "a buffer of %zu bytes exceeds the largest that '%s' allows, %llu bytes", bytes,
                         dev->caps.name, (unsigned long long)dev->caps.max_alloc);
    size_t size = gpuc_align_up(bytes ? bytes : 1, GPUC_SLOT_ROUND);
    cl_mem_flags flags = CL_MEM_READ_WRITE | (dev->caps.unified ? CL_MEM_ALLOC_HOST_PTR : 0);
    cl_int error = CL_SUCCESS;
    cl_mem mem = dev->fn->CreateBuffer(dev->context, flags, size, NULL, &error);
    if (!mem) return gpuc_error_prefix(gpuc_cl_fail("clCreateBuffer", error), "a buffer of %zu bytes", bytes);
    gpuc_cl_buffer *b;
    gpuc_status status = gpuc_cl_buffer_create(dev, mem, bytes, &b);
    if (status) {
        dev->fn->ReleaseMemObject(mem);
        return status;
    }
    if (dev->caps.is_cpu && size >= 2 * GPUC_HUGE_PAGE) ask_huge_pages(dev, mem, size);
    atomic_store(&b->fresh, true);
    *out = &b->base;
    return NULL;
}

void gpuc_cl_free(gpuc_device *device, gpuc_buffer *buffer)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_buffer *b = (gpuc_cl_buffer *)buffer;
    if (!b) return;
    gpuc_status_release(gpuc_cl_buffer_unmap(dev, b));
    dev->fn->ReleaseMemObject(b->mem);
    gpuc_mem_free(dev->allocator, b, sizeof *b);
}
