/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX QuantizeLinear-21 and DequantizeLinear-21, in float32 as they say. */
#include <math.h>

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

static void requantize(ref_call *c)
{
    gpuc_dtype t = result_type(c);
    ref_tensor *y = ref_make(c, 0, t, c->in[0].ndim, c->in[0].dims); /* the parameters are no larger */
    for (int64_t p = 0; p < y->count; p++) {
        int64_t index[REF_DIMS];
        ref_index(y, p, index);
        float x = (float)c->in[0].v[p] * (float)ref_broadcast(&c->in[1], y->ndim, index);
        y->v[p] = ref_saturated(t, nearbyint((double)x) +
                                       (c->num_in > 2 ? ref_broadcast(&c->in[2], y->ndim, index) : 0));
    }
}

const ref_row ref_rows_quantize[] = {
    {"qnn.quantize", quantize}, {"qnn.dequantize", dequantize}, {"qnn.requantize", requantize}, {NULL, NULL}};
