/* SPDX-License-Identifier: Apache-2.0 */
/* Makes tensors of the command line, and converts their elements to and from numbers. */
#include "tensor_files/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/size.h"
#include "cli.h"

gpuc_status cli_tensor_create(gpuc_dtype dtype, int ndim, const int64_t *dims, const char *what,
                              cli_tensor *out)
{
    *out = (cli_tensor){.dtype = dtype, .ndim = ndim, .count = 1};
    if (ndim > CLI_MAX_DIMS)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s: has %d dimensions, this tool carries %d", what, ndim,
                         CLI_MAX_DIMS);
    bool zero = false, fits = true;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] < 0)
            return gpuc_fail(GPUC_INVALID_DATA, "%s: dimension %d is %lld", what, i, (long long)dims[i]);
        out->dims[i] = dims[i];
        zero = zero || dims[i] == 0;
        fits = fits && gpuc_size_mul(out->count, (size_t)dims[i], &out->count);
    }
    if (zero) {
        out->count = 0;
        fits = true;
    }
    fits = fits && gpuc_size_mul(out->count, gpuc_dtype_bytes(dtype), &out->size);
    out->data = fits ? calloc(1, out->size ? out->size : 1) : NULL;
    if (out->data) return NULL;
    char *type = cli_dims_text(ndim, dims, NULL);
    gpuc_status status =
        gpuc_fail(GPUC_OUT_OF_MEMORY, "%s: out of memory for a tensor of shape [%s]", what, type);
    free(type);
    return status;
}

void cli_tensor_free(cli_tensor *t)
{
    free(t->name);
    free(t->data);
    *t = (cli_tensor){0};
}

#define READ_AS(T)                                                                                           \
    do {                                                                                                     \
        T v;                                                                                                 \
        memcpy(&v, (const T *)t->data + i, sizeof v);                                                        \
        return (double)v;                                                                                    \
    } while (0)

double cli_tensor_get(const cli_tensor *t, size_t i)
{
    if (gpuc_is_float(t->dtype))
        return gpuc_float_load(t->dtype, (const char *)t->data + i * gpuc_dtype_bytes(t->dtype));
    bool is_signed = t->dtype.code == GPUC_DTYPE_INT;
    switch (t->dtype.bits) {
    case 8:
        if (is_signed) READ_AS(int8_t);
        READ_AS(uint8_t);
    case 16:
        if (is_signed) READ_AS(int16_t);
        READ_AS(uint16_t);
    case 32:
        if (is_signed) READ_AS(int32_t);
        READ_AS(uint32_t);
    default:
        if (is_signed) READ_AS(int64_t);
        READ_AS(uint64_t);
    }
}

char *cli_tensor_type_text(const cli_tensor *t)
{
    char dtype[24], *dims = cli_dims_text(t->ndim, t->dims, NULL);
    char *text = cli_printf("%s[%s]", gpuc_dtype_name(t->dtype, dtype), dims);
    free(dims);
    return text;
}

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void put_float(cli_tensor *t, size_t i, float v)
{
    gpuc_float_store(t->dtype, (char *)t->data + i * gpuc_dtype_bytes(t->dtype), v);
}

void cli_tensor_randomize(cli_tensor *t, uint64_t seed)
{
    size_t item = gpuc_dtype_bytes(t->dtype);
    for (size_t i = 0; i < t->count; i++) {
        uint64_t bits = splitmix64(&seed);
        if (gpuc_is_float(t->dtype)) {
            put_float(t, i, (float)((double)(bits >> 40) / 8388608 - 1));
            continue;
        }
        uint64_t v =
            bits >> (t->dtype.code == GPUC_DTYPE_BOOL ? 63 : 61); /* little-endian: the first bytes count */
        memcpy((char *)t->data + i * item, &v, item);
    }
}

char *cli_tensor_summary(const cli_tensor *t)
{
    double min = INFINITY, max = -INFINITY, sum = 0;
    size_t nans = 0;
    for (size_t i = 0; i < t->count; i++) {
        double v = cli_tensor_get(t, i);
        if (isnan(v)) {
            nans++;
            continue;
        }
        if (v < min) min = v;
        if (v > max) max = v;
        sum += v;
    }
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    size_t numbers = t->count - nans;
    if (t->count == 0) gpuc_buf_str(&buf, "no elements");
    if (numbers) gpuc_buf_printf(&buf, "min %.6g, max %.6g, mean %.6g", min, max, sum / (double)numbers);
    if (nans) gpuc_buf_printf(&buf, "%s%zu NaN", numbers ? ", " : "", nans);
    if (t->count) gpuc_buf_str(&buf, ", first");
    for (size_t i = 0; i < t->count && i < 4; i++) gpuc_buf_printf(&buf, " %.6g", cli_tensor_get(t, i));
    char *text = cli_printf("%s", gpuc_buf_cstr(&buf));
    gpuc_buf_deinit(&buf);
    return text;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool cli_is_tensor_file(const char *name)
{
    return ends_with(name, ".npy") || ends_with(name, ".pb");
}

gpuc_status cli_tensor_load(const char *path, cli_tensor *out)
{
    *out = (cli_tensor){0};
    if (!cli_is_tensor_file(path))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "'%s': an input is a .npy or a .pb file (ONNX TensorProto)%s",
                         path, ends_with(path, ".npz") ? "; give archives with --inputs" : "");
    gpuc_mapping map;
    GPUC_TRY(gpuc_file_map(path, &map));
    gpuc_status status = ends_with(path, ".npy") ? cli_npy_parse(map.data, map.size, path, out)
                                                 : cli_pb_parse(map.data, map.size, path, out);
    gpuc_file_unmap(&map);
    return status;
}

gpuc_status cli_session_set(gpuc_runtime *rt, gpuc_session *s, int input, const cli_tensor *t)
{
    gpuc_ndarray *array;
    if (cli_tensor_is_absent(t)) return NULL;
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, t->dtype, t->ndim, t->dims, &array));
    gpuc_status status = gpuc_ndarray_write(array, t->data, t->size);
    if (!status) status = gpuc_session_set_input(s, input, array);
    gpuc_ndarray_release(array);
    return status;
}

gpuc_status cli_session_get(gpuc_session *s, int output, cli_tensor *out)
{
    gpuc_ndarray *array;
    *out = (cli_tensor){0};
    GPUC_TRY(gpuc_session_get_output(s, output, &array));
    GPUC_TRY(cli_tensor_create(gpuc_ndarray_dtype(array), gpuc_ndarray_ndim(array), gpuc_ndarray_dims(array),
                               "output", out));
    gpuc_status status = gpuc_ndarray_read(array, out->data, out->size);
    if (status) cli_tensor_free(out);
    return status;
}
