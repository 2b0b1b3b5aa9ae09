/* SPDX-License-Identifier: Apache-2.0 */
/* Makes tensors of the command line, and converts their elements to and from numbers. */
#include "tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

bool cli_dtype_is_float(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_FLOAT || t.code == GPUC_DTYPE_BFLOAT;
}

static float half_to_float(uint16_t h)
{
    uint32_t exponent = h >> 10 & 31, mantissa = h & 1023;
    float v = exponent == 31  ? (mantissa ? NAN : INFINITY)
              : exponent == 0 ? ldexpf((float)mantissa, -24)
                              : ldexpf((float)(mantissa | 1024), (int)exponent - 25);
    return h >> 15 ? -v : v;
}

static float bfloat_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Rounds to nearest, ties to even. */
static uint16_t float_to_half(float v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    float a = fabsf(v);
    if (isnan(v)) return 0x7e00;
    if (a >= 65520) return sign | 0x7c00;
    int exponent;
    frexpf(a, &exponent);
    if (exponent < -13) exponent = -13; /* subnormal halves have a fixed scale */
    uint32_t mantissa = (uint32_t)lrintf(ldexpf(a, 11 - exponent));
    /* A carry out of the mantissa lands in the exponent, which is what it should do. */
    return (uint16_t)(sign + (mantissa < 1024 ? mantissa : ((uint32_t)(exponent + 13) << 10) + mantissa));
}

static uint16_t float_to_bfloat(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (isnan(v)) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define READ_AS(T)                                                                                           \
    do {                                                                                                     \
        T v;                                                                                                 \
        memcpy(&v, (const T *)t->data + i, sizeof v);                                                        \
        return (double)v;                                                                                    \
    } while (0)

static double get_float(const gpuc_host_tensor *t, size_t i)
{
    const uint16_t *halves = t->data;
    if (t->dtype.code == GPUC_DTYPE_BFLOAT) return bfloat_to_float(halves[i]);
    if (t->dtype.bits == 16) return half_to_float(halves[i]);
    if (t->dtype.bits == 32) READ_AS(float);
    READ_AS(double);
}

double cli_tensor_get(const gpuc_host_tensor *t, size_t i)
{
    if (cli_dtype_is_float(t->dtype)) return get_float(t, i);
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

static void put_float(gpuc_host_tensor *t, size_t i, float v)
{
    uint16_t half = t->dtype.code == GPUC_DTYPE_BFLOAT ? float_to_bfloat(v) : float_to_half(v);
    double wide = v;
    const void *from = t->dtype.bits == 16   ? (const void *)&half
                       : t->dtype.bits == 32 ? (const void *)&v
                                             : &wide;
    memcpy((char *)t->data + i * gpuc_dtype_bytes(t->dtype), from, gpuc_dtype_bytes(t->dtype));
}

void cli_tensor_randomize(gpuc_host_tensor *t, uint64_t seed)
{
    size_t item = gpuc_dtype_bytes(t->dtype);
    for (size_t i = 0; i < t->count; i++) {
        uint64_t bits = splitmix64(&seed);
        if (cli_dtype_is_float(t->dtype)) {
            put_float(t, i, (float)((double)(bits >> 40) / 8388608 - 1));
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
