/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, tuples, data and closures: counted, and freed without recursion. */
#include <string.h>

#include "base/size.h"
#include "relay_eval/eval.h"

enum { ALIGN = 16 };

void *gpuc_relay_eval_resize(gpuc_relay_eval_heap *heap, void *block, size_t old_size, size_t new_size)
{
    gpuc_allocator a = heap->allocator;
    bool fits = new_size <= old_size || new_size - old_size <= heap->max - heap->used;
    void *out = fits ? gpuc_mem_alloc(a, new_size) : NULL;
    if (!out) {
        heap->refused = new_size;
        return NULL;
    }
    if (old_size) memcpy(out, block, old_size < new_size ? old_size : new_size);
    gpuc_mem_free(a, block, old_size);
    heap->used = heap->used - old_size + new_size;
    return out;
}

static gpuc_relay_value *make(gpuc_relay_eval_heap *heap, gpuc_relay_value_kind kind, size_t bytes);

void gpuc_relay_eval_heap_release(gpuc_relay_eval_heap *heap)
{
    if (--heap->refs == 0) gpuc_mem_free(heap->allocator, heap, sizeof *heap);
}

/* Values whose last reference goes wait in a list: a value of a million parts needs no deep stack. */
static void destroy(gpuc_object *object)
{
    gpuc_relay_value *list = (gpuc_relay_value *)object;
    list->next = NULL;
    while (list) {
        gpuc_relay_value *v = list;
        gpuc_relay_eval_heap *heap = v->heap;
        list = v->next;
        for (int i = 0; v->kind != GPUC_RELAY_TENSOR && i < v->n; i++) {
            gpuc_relay_value *part = v->at.fields[i];
            if (!part || atomic_fetch_sub_explicit(&part->object.refs, 1, memory_order_acq_rel) != 1)
                continue;
            part->next = list;
            list = part;
        }
        heap->used -= v->bytes;
        gpuc_mem_free(heap->allocator, v, v->bytes);
        gpuc_relay_eval_heap_release(heap);
    }
}

static const gpuc_object_ops value_ops = {.type_key = "relay.value", .destroy = destroy};

static gpuc_relay_value *make(gpuc_relay_eval_heap *heap, gpuc_relay_value_kind kind, size_t bytes)
{
    gpuc_relay_value *v = bytes > heap->max - heap->used ? NULL : gpuc_mem_alloc(heap->allocator, bytes);
    if (!v) {
        heap->refused = bytes;
        return NULL;
    }
    gpuc_object_init(&v->object, &value_ops);
    v->kind = kind;
    v->bytes = bytes;
    v->heap = heap;
    heap->refs++;
    heap->used += bytes;
    return v;
}

static size_t header_of(int ndim)
{
    size_t header = offsetof(gpuc_relay_value, at) + sizeof(int64_t) * (size_t)ndim;
    return (header + ALIGN - 1) / ALIGN * ALIGN;
}

gpuc_relay_value *gpuc_relay_eval_tensor(gpuc_relay_eval_heap *heap, gpuc_dtype dtype, int ndim,
                                         const int64_t *dims)
{
    size_t size = gpuc_dtype_bytes(dtype), bytes;
    bool fits = true;
    for (int i = 0; i < ndim; i++) fits &= dims[i] >= 0 && gpuc_size_mul(size, (size_t)dims[i], &size);
    /* the evaluator's accesses may be as wide as a vector */
    if (!fits || !gpuc_size_add(size, header_of(ndim) + ALIGN, &bytes)) {
        heap->refused = SIZE_MAX;
        return NULL;
    }
    gpuc_relay_value *v = make(heap, GPUC_RELAY_TENSOR, bytes);
    if (!v) return NULL;
    v->n = ndim;
    v->dtype = dtype;
    v->size = size;
    if (ndim) memcpy(v->at.dims, dims, sizeof *dims * (size_t)ndim);
    return v;
}

void *gpuc_relay_eval_data(const gpuc_relay_value *tensor)
{
    return (char *)tensor + header_of(tensor->n);
}

void gpuc_relay_eval_fill(gpuc_relay_value *tensor, const void *bytes)
{
    uint8_t *out = gpuc_relay_eval_data(tensor);
    if (tensor->size) memcpy(out, bytes, tensor->size);
    for (size_t i = 0; gpuc_is_bool(tensor->dtype) && i < tensor->size; i++) out[i] = out[i] != 0;
}

gpuc_relay_value *gpuc_relay_eval_fields(gpuc_relay_eval_heap *heap, gpuc_relay_value_kind kind, int n)
{
    size_t bytes = offsetof(gpuc_relay_value, at) + sizeof(gpuc_relay_value *) * (size_t)n;
    if (bytes < sizeof(gpuc_relay_value)) bytes = sizeof(gpuc_relay_value);
    gpuc_relay_value *v = make(heap, kind, bytes);
    if (v) v->n = n;
    return v;
}

/* ---- What gpuc/relay.h says of values ---- */

gpuc_relay_value *gpuc_relay_value_retain(gpuc_relay_value *v)
{
    return v ? gpuc_relay_eval_retain(v) : NULL;
}

void gpuc_relay_value_release(gpuc_relay_value *v)
{
    gpuc_relay_eval_release(v);
}

gpuc_relay_value_kind gpuc_relay_value_get_kind(const gpuc_relay_value *v)
{
    return v->kind;
}

gpuc_dtype gpuc_relay_value_dtype(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_TENSOR ? v->dtype : (gpuc_dtype){0};
}

int gpuc_relay_value_ndim(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_TENSOR ? v->n : 0;
}

const int64_t *gpuc_relay_value_dims(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_TENSOR ? v->at.dims : NULL;
}

const void *gpuc_relay_value_data(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_TENSOR ? gpuc_relay_eval_data(v) : NULL;
}

size_t gpuc_relay_value_bytes(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_TENSOR ? v->size : 0;
}

static bool has_fields(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_TUPLE || v->kind == GPUC_RELAY_DATA;
}

int gpuc_relay_value_num_fields(const gpuc_relay_value *v)
{
    return has_fields(v) ? v->n : 0;
}

gpuc_relay_value *gpuc_relay_value_field(const gpuc_relay_value *v, int i)
{
    return i >= 0 && i < gpuc_relay_value_num_fields(v) ? v->at.fields[i] : NULL;
}

const char *gpuc_relay_value_constructor(const gpuc_relay_value *v)
{
    return v->kind == GPUC_RELAY_DATA ? v->constructor->name : NULL;
}
