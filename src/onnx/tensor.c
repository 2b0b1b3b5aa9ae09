/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onnx/onnx.h"

typedef struct type_row {
    const char *name;
    gpuc_dtype dtype; /* bits 0: not carried */
} type_row;

static const type_row types[] = {
    [0] = {"undefined", {0}},
    [1] = {"float", GPUC_FLOAT32},
    [2] = {"uint8", GPUC_UINT8},
    [3] = {"int8", GPUC_INT8},
    [4] = {"uint16", GPUC_UINT16},
    [5] = {"int16", GPUC_INT16},
    [6] = {"int32", GPUC_INT32},
    [7] = {"int64", GPUC_INT64},
    [8] = {"string", {0}},
    [9] = {"bool", GPUC_BOOL},
    [10] = {"float16", GPUC_FLOAT16},
    [11] = {"double", GPUC_FLOAT64},
    [12] = {"uint32", GPUC_UINT32},
    [13] = {"uint64", GPUC_UINT64},
    [14] = {"complex64", {0}},
    [15] = {"complex128", {0}},
    [16] = {"bfloat16", GPUC_BFLOAT16},
    [17] = {"float8e4m3fn", {0}},
    [18] = {"float8e4m3fnuz", {0}},
    [19] = {"float8e5m2", {0}},
    [20] = {"float8e5m2fnuz", {0}},
    [21] = {"uint4", {0}},
    [22] = {"int4", {0}},
    [23] = {"float4e2m1", {0}},
    [24] = {"float8e8m0", {0}},
};

bool gpuc_onnx_dtype_of(int64_t data_type, gpuc_dtype *out)
{
    bool known = data_type >= 0 && data_type < (int64_t)(sizeof types / sizeof types[0]);
    *out = known ? types[data_type].dtype : (gpuc_dtype){0};
    return out->bits > 0;
}

gpuc_dtype gpuc_onnx_dtype(gpuc_ctx *ctx, int64_t data_type, const char *where)
{
    int64_t count = (int64_t)(sizeof types / sizeof types[0]);
    if (data_type < 0 || data_type >= count)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: element type %lld is not one of ONNX", where,
                   (long long)data_type);
    if (!types[data_type].dtype.bits)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: tensors of type %s are not supported", where,
                   types[data_type].name);
    return types[data_type].dtype;
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
    const gpuc_rtype *type = gpuc_rtype_tensor_static(ctx, dtype, (int)t->n_dims, t->dims);
    size_t size = (size_t)bytes;
    gpuc_const_data *data;
    if (t->data_location == 1) {
        data = gpuc_onnx_external(m, t, name, dtype, size);
    } else if (t->raw_data.len) {
        if (t->raw_data.len != size)
            gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: has %zu bytes, its shape needs %zu", where,
                       t->raw_data.len, size);
        data = gpuc_const_data_create(ctx, size);
        memcpy(data->bytes, t->raw_data.data, size);
        free_raw(m, t);
    } else {
        check_fields(m, t, name, size / gpuc_dtype_bytes(dtype));
        data = gpuc_const_data_create(ctx, size);
        if (size) copy_fields(t, dtype, size / gpuc_dtype_bytes(dtype), data);
    }
    for (size_t i = 0; i < size && gpuc_dtype_equal(dtype, GPUC_BOOL); i++)
        ((uint8_t *)data->bytes)[i] = ((uint8_t *)data->bytes)[i] != 0;
    return gpuc_relay_constant(ctx, type, data);
}
