/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/onnx.h"

typedef struct type_row {
    const char *name;
    gpuc_dtype dtype; /* bits 0: not carried */
} type_row;

static const type_row types[] = {
    [0] = {"undefined", {0}},       [1] = {"float", GPUC_FLOAT32},   [2] = {"uint8", GPUC_UINT8},
    [3] = {"int8", GPUC_INT8},      [4] = {"uint16", GPUC_UINT16},   [5] = {"int16", GPUC_INT16},
    [6] = {"int32", GPUC_INT32},    [7] = {"int64", GPUC_INT64},     [8] = {"string", {0}},
    [9] = {"bool", GPUC_BOOL},      [10] = {"float16", GPUC_FLOAT16},[11] = {"double", GPUC_FLOAT64},
    [12] = {"uint32", GPUC_UINT32}, [13] = {"uint64", GPUC_UINT64},  [14] = {"complex64", {0}},
    [15] = {"complex128", {0}},     [16] = {"bfloat16", GPUC_BFLOAT16}, [17] = {"float8e4m3fn", {0}},
    [18] = {"float8e4m3fnuz", {0}}, [19] = {"float8e5m2", {0}},      [20] = {"float8e5m2fnuz", {0}},
    [21] = {"uint4", {0}},          [22] = {"int4", {0}},            [23] = {"float4e2m1", {0}},
    [24] = {"float8e8m0", {0}},
};

gpuc_dtype gpuc_onnx_dtype(gpuc_ctx *ctx, int64_t data_type, const char *where)
{
    int64_t count = (int64_t)(sizeof types / sizeof types[0]);
    if (data_type < 0 || data_type >= count)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: element type %lld is not one of ONNX", where, (long long)data_type);
    if (!types[data_type].dtype.bits)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: tensors of type %s are not supported", where, types[data_type].name);
    return types[data_type].dtype;
}

static const char *external(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && !strcmp(t->external_data[i]->key, key)) return t->external_data[i]->value;
    return NULL;
}

static void close_fd(void *fd)
{
    close((int)(intptr_t)fd);
}

/* External data lies in the model's own folder: no absolute paths, no way out through "..". */
static void read_external(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name, gpuc_const_data *out)
{
    gpuc_ctx *ctx = m->ctx;
    const char *location = external(t, "location"), *offset = external(t, "offset"), *length = external(t, "length");
    if (!location || !*location || location[0] == '/' || strstr(location, ".."))
        gpuc_raise(ctx, GPUC_INVALID_DATA, "tensor %s: external data '%s' is not in the model's folder", name,
                   location ? location : "");
    if (length && strtoull(length, NULL, 10) != out->size)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "tensor %s: external data of %s bytes, the shape needs %zu", name, length,
                   out->size);
    const char *path = gpuc_ctx_printf(ctx, "%s/%s", m->dir, location);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) gpuc_raise(ctx, GPUC_IO, "tensor %s: cannot open external data %s: %s", name, path, strerror(errno));
    gpuc_ctx_push_cleanup(ctx, close_fd, (void *)(intptr_t)fd);
    uint64_t start = offset ? strtoull(offset, NULL, 10) : 0;
    for (size_t done = 0; done < out->size;) {
        ssize_t n = pread(fd, (char *)out->bytes + done, out->size - done, (off_t)(start + done));
        if (n <= 0)
            gpuc_raise(ctx, GPUC_INVALID_DATA, "tensor %s: external data %s ends after %zu of %zu bytes", name, path, done,
                       out->size);
        done += (size_t)n;
    }
    gpuc_ctx_pop_cleanup(ctx, true);
}

/* The typed field that holds an element type, with narrow types one to an int32. */
static void copy_fields(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name, gpuc_dtype dtype, size_t count,
                        gpuc_const_data *out)
{
    size_t have = 0, item = gpuc_dtype_bytes(dtype);
    const void *from = NULL;
    bool narrow = false;
    switch (t->data_type) {
    case 1: have = t->n_float_data, from = t->float_data; break;
    case 7: have = t->n_int64_data, from = t->int64_data; break;
    case 11: have = t->n_double_data, from = t->double_data; break;
    case 12: /* uint32 in uint64s */
    case 13: have = t->n_uint64_data, from = t->uint64_data; break;
    default: have = t->n_int32_data, from = t->int32_data, narrow = true; break;
    }
    if (have != count)
        gpuc_raise(m->ctx, GPUC_INVALID_DATA, "tensor %s: has %zu elements, its shape %zu", name, have, count);
    if (!narrow && t->data_type != 12) {
        memcpy(out->bytes, from, count * item);
        return;
    }
    size_t stride = narrow ? 4 : 8;
    for (size_t i = 0; i < count; i++) memcpy((char *)out->bytes + i * item, (const char *)from + i * stride, item);
}

gpuc_rexpr *gpuc_onnx_tensor(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name)
{
    gpuc_ctx *ctx = m->ctx;
    const char *where = gpuc_ctx_printf(ctx, "tensor %s", name);
    gpuc_dtype dtype = gpuc_onnx_dtype(ctx, t->data_type, where);
    int64_t size = (int64_t)gpuc_dtype_bytes(dtype);
    if (t->n_dims > 64) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: has %zu dimensions", where, t->n_dims);
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(size, t->dims[i], &size))
            gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: dimension %zu is %lld", where, i, (long long)t->dims[i]);
    const gpuc_rtype *type = gpuc_rtype_tensor_static(ctx, dtype, (int)t->n_dims, t->dims);
    bool outside = t->data_location == 1;
    size_t given = t->raw_data.len ? t->raw_data.len
                                   : 8 * (t->n_float_data + t->n_int32_data + t->n_int64_data + t->n_double_data + t->n_uint64_data);
    if (!outside && (size_t)size > given)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: its shape needs %lld bytes, the file has %zu", where, (long long)size, given);
    gpuc_const_data *data = gpuc_const_data_create(ctx, (size_t)size);
    if (outside) {
        read_external(m, t, name, data);
    } else if (t->raw_data.len) {
        if (t->raw_data.len != (size_t)size)
            gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: has %zu bytes, its shape needs %lld", where, t->raw_data.len,
                       (long long)size);
        memcpy(data->bytes, t->raw_data.data, (size_t)size);
    } else if (size) {
        copy_fields(m, t, name, dtype, (size_t)size / gpuc_dtype_bytes(dtype), data);
    }
    return gpuc_relay_constant(ctx, type, data);
}
