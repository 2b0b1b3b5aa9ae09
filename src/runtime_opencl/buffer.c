/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates OpenCL buffers. */
#include "runtime_opencl/cl.h"

#include <sys/mman.h>

#include "abi/scope.h"
#include "base/size.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* On a CPU a mapped buffer is the memory itself, and huge pages save TLB misses. The mapping is not accessed,
 * so nothing waits for it; failure does no harm. */
static void advise_huge_pages(gpuc_cl_device *dev, cl_mem mem, size_t size)
{
    cl_int error = CL_SUCCESS;
    void *at = dev->fn->EnqueueMapBuffer(dev->main.queue, mem, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                         size, 0, NULL, NULL, &error);
    if (!at || error != CL_SUCCESS) return;
    uintptr_t begin = (uintptr_t)gpuc_align_up((uintptr_t)at, HUGE_PAGE),
              end = ((uintptr_t)at + size) / HUGE_PAGE * HUGE_PAGE;
    if (begin < end) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    dev->fn->EnqueueUnmapMemObject(dev->main.queue, mem, at, 0, NULL, NULL);
    dev->fn->Flush(dev->main.queue);
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
    gpuc_cl_buffer *b = gpuc_mem_alloc(dev->allocator, sizeof *b);
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a buffer object");
    cl_mem_flags flags = CL_MEM_READ_WRITE | (dev->caps.unified ? CL_MEM_ALLOC_HOST_PTR : 0);
    cl_int error = CL_SUCCESS;
    b->mem = dev->fn->CreateBuffer(dev->context, flags, size, NULL, &error);
    if (!b->mem) {
        gpuc_mem_free(dev->allocator, b, sizeof *b);
        return gpuc_error_prefix(gpuc_cl_fail("clCreateBuffer", error), "a buffer of %zu bytes", bytes);
    }
    if (dev->caps.is_cpu && size >= 2 * HUGE_PAGE) advise_huge_pages(dev, b->mem, size);
    b->base = (gpuc_buffer){.device = device, .size = bytes};
    b->id = atomic_fetch_add(&dev->next_buffer_id, 1) + 1;
    atomic_init(&b->fresh, true);
    *out = &b->base;
    return NULL;
}

void gpuc_cl_free(gpuc_device *device, gpuc_buffer *buffer)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_buffer *b = (gpuc_cl_buffer *)buffer;
    if (!b) return;
    dev->fn->ReleaseMemObject(b->mem);
    gpuc_mem_free(dev->allocator, b, sizeof *b);
}
