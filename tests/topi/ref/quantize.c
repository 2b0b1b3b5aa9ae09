/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX QuantizeLinear-21 and DequantizeLinear-21, in float32 as they say. */
#include <math.h>
#include <string.h>

#include "ref.h"

/* The element of a scale or zero point for an index of the data. */
static double parameter(const ref_call *c, int i, const int64_t *index)
{
    const ref_tensor *t = &c->in[i];
    int64_t block = ref_int(c, "block_size", 0), axis = ref_int(c, "axis", 1), own[REF_DIMS];
    if (c->num_in <= i) return 0;
    if (t->count == 1 && block == 0) return t->v[0];
    if (axis < 0) axis += c->in[0].ndim;
    if (block == 0) return t->v[index[axis]];
    for (int k = 0; k < t->ndim; k++) own[k] = k == axis ? index[k] / block : index[k];
    return t->v[ref_at(t, own)];
}

static gpuc_dtype result_type(const ref_call *c)
{
    if (c->num_in < 3) return ref_dtype(c, "out_dtype", GPUC_UINT8);
    return c->in[2].dtype.bits == 32 ? ref_dtype(c, "out_dtype", GPUC_INT8) : c->in[2].dtype;
}

static void quantize(ref_call *c)
{
    gpuc_dtype t = result_type(c);
    ref_tensor *y = ref_make(c, 0, t, c->in[0].ndim, c->in[0].dims);
    for (int64_t p = 0; p < y->count; p++) {
        int64_t index[REF_DIMS];
        ref_index(y, p, index);
        float x = (float)c->in[0].v[p] / (float)parameter(c, 1, index);
        y->v[p] = ref_saturated(t, nearbyint((double)x) + parameter(c, 2, index));
    }
}

static void dequantize(ref_call *c)
{
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "out_dtype", c->in[1].dtype), c->in[0].ndim, c->in[0].dims);
    for (int64_t p = 0; p < y->count; p++) {
        int64_t index[REF_DIMS];
        ref_index(y, p, index);
        y->v[p] = (c->in[0].v[p] - parameter(c, 2, index)) * parameter(c, 1, index);
    }
}

/* Real numbers as the integers of the type that input 1 says, or the other way. */
static void simulated(ref_call *c)
{
    static const gpuc_dtype types[] = {GPUC_INT8, GPUC_UINT8, GPUC_INT32};
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, c->in[0].ndim, c->in[0].dims);
    int64_t axis = ref_int(c, "axis", -1), type = (int64_t)c->in[1].v[0] - 1;
    bool back = !strcmp(c->op, "qnn.simulated_dequantize"), doubles = y->dtype.bits == 64;
    if (axis < 0) axis += y->ndim;
    for (int64_t p = 0; p < y->count; p++) {
        int64_t index[REF_DIMS];
        ref_index(y, p, index);
        double scale = c->in[2].v[c->in[2].count == 1 ? 0 : index[axis]],
               zero = c->in[3].v[c->in[3].count == 1 ? 0 : index[axis]], x = c->in[0].v[p];
        if (type >= 0 && type < 3 && back)
            x = (x - zero) * scale;
        else if (type >= 0 && type < 3)
            x = ref_saturated(types[type],
                              nearbyint(doubles ? x / scale : (double)((float)x / (float)scale)) + zero);
        y->v[p] = x;
    }
}

/* 31 bits of a ratio, and the power of two that they are multiplied with. */
static int64_t leading_bits(double ratio, int *exponent)
{
    double bits = nearbyint(ldexp(frexp(ratio, exponent), 31));
    *exponent -= 31;
    return (int64_t)bits;
}

/* x * leading * 2^exponent, rounded as they say: 0 to even, 1 up, 2 away from zero. */
static double fixed_product(int64_t x, double ratio, int how)
{
    int exponent;
    int64_t leading = leading_bits(ratio, &exponent);
    if (exponent >= 0) return ldexp((double)x * (double)leading, exponent);
    if (exponent < -62 || ratio == 0) return 0;
    __int128 product = (__int128)x * leading, unit = (__int128)1 << -exponent, whole = product / unit;
    __int128 rest = product - whole * unit;
    if (rest < 0) rest += unit, whole--;
    bool up = 2 * rest > unit;
    if (2 * rest == unit) up = how == 1 || (how == 2 && product > 0) || (how == 0 && whole % 2 != 0);
    return (double)(whole + up);
}

static double rounded(double x, int how)
{
    return how == 0 ? nearbyint(x) : how == 1 ? (x - floor(x) >= 0.5 ? floor(x) + 1 : floor(x)) : round(x);
}

static void requantize(ref_call *c)
{
    static const char *const ways[] = {"TOEVEN", "UPWARD", "TONEAREST"};
    bool both = c->num_in == 5;
    int zero = both ? 4 : 2, how = both ? 1 : 0;
    const char *name = ref_string(c, "rounding", "None"), *work = ref_string(c, "compute_dtype", "None");
    gpuc_dtype t = c->num_in <= zero              ? ref_dtype(c, "out_dtype", GPUC_UINT8)
                   : c->in[zero].dtype.bits == 32 ? ref_dtype(c, "out_dtype", GPUC_INT8)
                                                  : c->in[zero].dtype;
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, ways[i])) how = i;
    if (!strcmp(work, "None")) work = both ? "int64" : "float32";
    ref_tensor *y = ref_make(c, 0, t, c->in[0].ndim, c->in[0].dims); /* the parameters are no larger */
    for (int64_t p = 0; p < y->count; p++) {
        int64_t index[REF_DIMS];
        double in[5];
        ref_index(y, p, index);
        for (int i = 0; i < c->num_in; i++) in[i] = ref_broadcast(&c->in[i], y->ndim, index);
        double x = both ? in[0] - in[2] : in[0], scale = both ? in[1] / in[3] : in[1];
        if (!strcmp(work, "int64"))
            x = fixed_product((int64_t)x, scale, how);
        else if (!strcmp(work, "float64"))
            x = rounded(x * scale, how);
        else
            x = rounded((double)((float)x * (both ? (float)in[1] / (float)in[3] : (float)scale)), how);
        y->v[p] = ref_saturated(t, x + (c->num_in > zero ? in[zero] : 0));
    }
}

const ref_row ref_rows_quantize[] = {{"qnn.quantize", quantize},
                                     {"qnn.dequantize", dequantize},
                                     {"qnn.simulated_quantize", simulated},
                                     {"qnn.simulated_dequantize", simulated},
                                     {"qnn.requantize", requantize},
                                     {NULL, NULL}};
