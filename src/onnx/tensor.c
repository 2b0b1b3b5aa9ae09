/* SPDX-License-Identifier: Apache-2.0 */
/* Makes constants of the tensors in a model. */
#include <string.h>

#include "base/element.h"
#include "onnx/onnx.h"

/* How ONNX calls its element types, by number. */
static const char *const names[] = {
    "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",
};

bool gpuc_onnx_dtype_of(int64_t data_type, gpuc_dtype *out)
{
    *out = (gpuc_dtype){0};
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++)
        if (gpuc_elements[i].onnx == data_type) *out = gpuc_elements[i].dtype;
    return out->bits > 0;
}

gpuc_dtype gpuc_onnx_dtype(gpuc_ctx *ctx, int64_t data_type, const char *where)
{
    int64_t count = (int64_t)(sizeof names / sizeof names[0]);
    gpuc_dtype found;
    if (gpuc_onnx_dtype_of(data_type, &found)) return found;
    if (data_type < 0 || data_type >= count)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: element type %lld is not one of ONNX", where,
                   (long long)data_type);
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: tensors of type %s are not supported", where, names[data_type]);
}

/* The typed field that holds an element type: count, start, and bytes of an entry. Narrow types stand one to
 * an int32, uint32 in uint64s. */
typedef struct fields {
    size_t count, stride;
    const void *at;
} fields;

static fields fields_of(const Onnx__TensorProto *t)
{
    switch (t->data_type) {
    case 1: return (fields){t->n_float_data, 4, t->float_data};
    case 7: return (fields){t->n_int64_data, 8, t->int64_data};
    case 11: return (fields){t->n_double_data, 8, t->double_data};
    case 12:
    case 13: return (fields){t->n_uint64_data, 8, t->uint64_data};
    default: return (fields){t->n_int32_data, 4, t->int32_data};
    }
}

/* Before memory is asked for: a shape may claim anything. */
static void check_fields(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name, size_t count)
{
    size_t have = fields_of(t).count;
    if (have != count)
        gpuc_raise(m->ctx, GPUC_INVALID_DATA, "tensor %s: has %zu elements, its shape needs %zu", name, have,
                   count);
}

static void copy_fields(const Onnx__TensorProto *t, gpuc_dtype dtype, size_t count, gpuc_const_data *out)
{
    fields f = fields_of(t);
    size_t item = gpuc_dtype_bytes(dtype);
    if (item == f.stride) {
        memcpy(out->bytes, f.at, count * item);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy((char *)out->bytes + i * item, (const char *)f.at + i * f.stride, item);
    if (gpuc_dtype_equal(dtype, GPUC_BOOL))
        for (size_t i = 0; i < count; i++) ((uint8_t *)out->bytes)[i] = ((const int32_t *)f.at)[i] != 0;
}

static void free_raw(gpuc_onnx *m, Onnx__TensorProto *t)
{
    m->memory->free(m->memory->allocator_data, t->raw_data.data);
    t->raw_data.data = NULL;
    t->raw_data.len = 0;
}

gpuc_rexpr *gpuc_onnx_tensor(gpuc_onnx *m, Onnx__TensorProto *t, const char *name)
{
    gpuc_ctx *ctx = m->ctx;
    const char *where = gpuc_ctx_printf(ctx, "tensor %s", name);
    gpuc_dtype dtype = gpuc_onnx_dtype(ctx, t->data_type, where);
    int64_t bytes = (int64_t)gpuc_dtype_bytes(dtype);
    if (t->n_dims > GPUC_OP_MAX_DIMS)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: has %zu dimensions, at most %d are supported", where,
                   t->n_dims, GPUC_OP_MAX_DIMS);
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(bytes, t->dims[i], &bytes))
            gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: dimension %zu is %lld", where, i, (long long)t->dims[i]);
    const gpuc_rtype *type = gpuc_relay_rtype_tensor_static(ctx, dtype, (int)t->n_dims, t->dims);
    size_t size = (size_t)bytes;
    gpuc_const_data *data;
    if (t->data_location == 1) {
        data = gpuc_onnx_external(m, t, name, dtype, size);
    } else if (t->raw_data.len) {
        if (t->raw_data.len != size)
            gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: has %zu bytes, its shape needs %zu", where,
                       t->raw_data.len, size);
        data = gpuc_relay_const_data_create(ctx, size);
        memcpy(data->bytes, t->raw_data.data, size);
        free_raw(m, t);
    } else {
        check_fields(m, t, name, size / gpuc_dtype_bytes(dtype));
        data = gpuc_relay_const_data_create(ctx, size);
        if (size) copy_fields(t, dtype, size / gpuc_dtype_bytes(dtype), data);
    }
    for (size_t i = 0; i < size && gpuc_dtype_equal(dtype, GPUC_BOOL); i++)
        ((uint8_t *)data->bytes)[i] = ((uint8_t *)data->bytes)[i] != 0;
    return gpuc_relay_constant(ctx, type, data);
}
