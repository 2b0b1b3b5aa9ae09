/* SPDX-License-Identifier: Apache-2.0 */
/* Imports and exports arrays as DLPack tensors. */
#include <gpuc/dlpack.h>

#include "base/arena.h"
#include "base/size.h"
#include "runtime/services.h"
#include "runtime/ndarray.h"

_Static_assert(sizeof(gpuc_dtype) == sizeof(DLDataType), "gpuc_dtype has DLPack's bytes");
_Static_assert((int)GPUC_DTYPE_BFLOAT == (int)kDLBfloat && (int)GPUC_DTYPE_HANDLE == (int)kDLOpaqueHandle,
               "gpuc_dtype has DLPack's codes");
_Static_assert((int)GPUC_DEVICE_CPU == (int)kDLCPU && (int)GPUC_DEVICE_OPENCL == (int)kDLOpenCL &&
                   (int)GPUC_DEVICE_VULKAN == (int)kDLVulkan,
               "gpuc_device_type has DLPack's numbers");

static void delete_imported(void *owner)
{
    DLManagedTensor *tensor = owner;
    if (tensor->deleter) tensor->deleter(tensor);
}

static gpuc_status check_compact(const DLTensor *t)
{
    if (!t->strides) return NULL;
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0) return NULL; /* no elements: any stride will do */
    int64_t want = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->shape[d] != 1 && t->strides[d] != want)
            return gpuc_fail(GPUC_UNSUPPORTED,
                             "DLPack tensor: stride %lld of dimension %d, where a compact array "
                             "has %lld; make a contiguous copy first",
                             (long long)t->strides[d], d, (long long)want);
        want *= t->shape[d]; /* the product was checked by gpuc_ndarray_measure */
    }
    return NULL;
}

static gpuc_status find_memory(gpuc_runtime *rt, const DLTensor *t, size_t bytes, gpuc_binding *out,
                               void **out_host)
{
    *out = (gpuc_binding){0};
    *out_host = NULL;
    if (!t->data) {
        if (bytes == 0) return NULL;
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "DLPack tensor: data is NULL");
    }
    if (t->device.device_type == kDLCPU) {
        uint8_t *host = (uint8_t *)t->data + t->byte_offset;
        size_t align = ((size_t)t->dtype.bits + 7) / 8;
        if ((uintptr_t)host % align != 0)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "DLPack tensor: its address with byte_offset %llu is not a "
                             "multiple of the %zu bytes of an element",
                             (unsigned long long)t->byte_offset, align);
        *out_host = host;
        return NULL;
    }
    if (t->device.device_type != kDLVulkan && t->device.device_type != kDLOpenCL)
        return gpuc_fail(GPUC_UNSUPPORTED, "DLPack tensor: device type %d is none of CPU, OpenCL and Vulkan",
                         (int)t->device.device_type);
    gpuc_buffer *buffer = t->data;
    if (buffer->device->runtime != rt || (int)buffer->device->type != (int)t->device.device_type ||
        buffer->device->index != t->device.device_id)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "DLPack tensor: its buffer belongs to another device or runtime");
    *out = (gpuc_binding){.buffer = buffer, .offset = t->byte_offset, .size = bytes};
    return NULL;
}

gpuc_status gpuc_ndarray_from_dlpack(gpuc_runtime *rt, DLManagedTensor *tensor, gpuc_ndarray **out)
{
    *out = NULL;
    const DLTensor *t = &tensor->dl_tensor;
    gpuc_dtype dtype = {.code = t->dtype.code, .bits = t->dtype.bits, .lanes = t->dtype.lanes};
    size_t bytes;
    gpuc_binding binding;
    void *host;
    if (t->ndim > 0 && !t->shape) return gpuc_fail(GPUC_INVALID_ARGUMENT, "DLPack tensor: shape is NULL");
    GPUC_TRY(gpuc_error_prefix(gpuc_ndarray_measure(dtype, t->ndim, t->shape, &bytes), "DLPack tensor"));
    GPUC_TRY(check_compact(t));
    GPUC_TRY(find_memory(rt, t, bytes, &binding, &host));
    return gpuc_ndarray_wrap(rt, binding, host, dtype, t->ndim, t->shape, delete_imported, tensor, out);
}

/* The tensor, its array, and shape and strides behind them, in one block. */
typedef struct exported {
    DLManagedTensor tensor;
    gpuc_ndarray *array;
    size_t size;
    int64_t dims[];
} exported;

static void delete_exported(DLManagedTensor *tensor)
{
    exported *e = (exported *)tensor;
    gpuc_ndarray *a = e->array;
    gpuc_mem_free(gpuc_runtime_allocator(a->runtime), e, e->size);
    gpuc_ndarray_release(a);
}

gpuc_status gpuc_ndarray_to_dlpack(gpuc_ndarray *a, DLManagedTensor **out)
{
    *out = NULL;
    size_t size = sizeof(exported) + 2 * (size_t)a->ndim * sizeof(int64_t);
    exported *e = gpuc_mem_alloc(gpuc_runtime_allocator(a->runtime), size);
    if (!e) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a DLPack tensor");
    e->array = gpuc_ndarray_retain(a);
    e->size = size;
    int64_t *shape = e->dims, *strides = shape + a->ndim, stride = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        shape[d] = a->dims[d];
        strides[d] = stride;
        if (a->bytes) stride *= a->dims[d];
    }
    DLTensor *t = &e->tensor.dl_tensor;
    t->device = (DLDevice){.device_type = kDLCPU};
    t->ndim = a->ndim;
    t->dtype = (DLDataType){.code = a->dtype.code, .bits = a->dtype.bits, .lanes = a->dtype.lanes};
    t->shape = shape;
    t->strides = strides;
    if (a->device && a->device->type != GPUC_DEVICE_CPU) {
        t->device = (DLDevice){.device_type = (DLDeviceType)a->device->type, .device_id = a->device->index};
        t->data = a->buffer;
        t->byte_offset = a->offset;
    } else {
        t->data = gpuc_ndarray_host(a);
    }
    e->tensor.manager_ctx = e;
    e->tensor.deleter = delete_exported;
    *out = &e->tensor;
    return NULL;
}
