/* SPDX-License-Identifier: Apache-2.0 */
/* Makes tensors of the command line, and converts their elements to and from numbers. */
#include "tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

#define READ_AS(T)                                                                                           \
    do {                                                                                                     \
        T v;                                                                                                 \
        memcpy(&v, (const T *)t->data + i, sizeof v);                                                        \
        return (double)v;                                                                                    \
    } while (0)

double cli_tensor_get(const gpuc_host_tensor *t, size_t i)
{
    if (gpuc_dtype_is_float(t->dtype))
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

char *cli_tensor_type_text(const gpuc_host_tensor *t)
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

void cli_tensor_randomize(gpuc_host_tensor *t, uint64_t seed)
{
    size_t item = gpuc_dtype_bytes(t->dtype);
    for (size_t i = 0; i < t->count; i++) {
        uint64_t bits = splitmix64(&seed);
        if (gpuc_dtype_is_float(t->dtype)) {
            gpuc_float_store(t->dtype, (char *)t->data + i * item, (double)(bits >> 40) / 8388608 - 1);
            continue;
        }
        uint64_t v =
            bits >> (t->dtype.code == GPUC_DTYPE_BOOL ? 63 : 61); /* little-endian: the first bytes count */
        memcpy((char *)t->data + i * item, &v, item);
    }
}

char *cli_tensor_summary(const gpuc_host_tensor *t)
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
    cli_text buf = {0};
    size_t numbers = t->count - nans;
    if (t->count == 0) cli_text_add(&buf, "no elements");
    if (numbers) cli_text_printf(&buf, "min %.6g, max %.6g, mean %.6g", min, max, sum / (double)numbers);
    if (nans) cli_text_printf(&buf, "%s%zu NaN", numbers ? ", " : "", nans);
    if (t->count) cli_text_add(&buf, ", first");
    for (size_t i = 0; i < t->count && i < 4; i++) cli_text_printf(&buf, " %.6g", cli_tensor_get(t, i));
    return buf.at ? buf.at : cli_printf("%s", "");
}

gpuc_status cli_tensor_load(const char *path, gpuc_host_tensor *out)
{
    size_t n = strlen(path);
    if (gpuc_is_tensor_file(path)) return gpuc_tensor_file_load(path, out);
    *out = (gpuc_host_tensor){0};
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "'%s': an input is a .npy or a .pb file (ONNX TensorProto)%s",
                     path,
                     n >= 4 && strcmp(path + n - 4, ".npz") == 0 ? "; give archives with --inputs" : "");
}

gpuc_status cli_session_set(gpuc_runtime *rt, gpuc_session *s, int input, const gpuc_host_tensor *t)
{
    gpuc_ndarray *array;
    if (cli_tensor_is_absent(t)) return NULL;
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, t->dtype, t->ndim, t->dims, &array));
    gpuc_status status = gpuc_ndarray_write(array, t->data, t->size);
    if (!status) status = gpuc_session_set_input(s, input, array);
    gpuc_ndarray_release(array);
    return status;
}

gpuc_status cli_session_get(gpuc_session *s, int output, gpuc_host_tensor *out)
{
    gpuc_ndarray *array;
    *out = (gpuc_host_tensor){0};
    GPUC_TRY(gpuc_session_get_output(s, output, &array));
    GPUC_TRY(gpuc_host_tensor_init(gpuc_ndarray_dtype(array), gpuc_ndarray_ndim(array),
                                   gpuc_ndarray_dims(array), "output", out));
    gpuc_status status = gpuc_ndarray_read(array, out->data, out->size);
    if (status) gpuc_host_tensor_deinit(out);
    return status;
}
