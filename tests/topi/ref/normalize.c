/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static int axis_of(const ref_call *c, int64_t otherwise)
{
    int64_t axis = ref_int(c, "axis", otherwise);
    return (int)(axis < 0 ? axis + c->in[0].ndim : axis);
}

static void softmax(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = axis_of(c, -1);
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        double most = -INFINITY, sum = 0;
        ref_index(x, p, index);
        for (index[axis] = 0; index[axis] < x->dims[axis]; index[axis]++)
            most = fmax(most, x->v[ref_at(x, index)]);
        for (index[axis] = 0; index[axis] < x->dims[axis]; index[axis]++)
            sum += exp(x->v[ref_at(x, index)] - most);
        y->v[p] = strcmp(c->op, "nn.softmax") ? x->v[p] - most - log(sum) : exp(x->v[p] - most) / sum;
    }
}

static void lrn(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = axis_of(c, 1);
    int64_t size = ref_int(c, "size", 1), index[REF_DIMS];
    double alpha = ref_float(c, "alpha", 1e-4), beta = ref_float(c, "beta", 0.75),
           bias = ref_float(c, "bias", 1);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        double sum = 0;
        ref_index(x, p, index);
        int64_t from = index[axis] - (size - 1) / 2, to = index[axis] + size / 2;
        for (int64_t k = from < 0 ? 0 : from; k <= to && k < x->dims[axis]; k++) {
            index[axis] = k;
            sum += pow(x->v[ref_at(x, index)], 2);
        }
        y->v[p] = x->v[p] / pow(bias + alpha / (double)size * sum, beta);
    }
}

const ref_row ref_rows_normalize[] = {
    {"nn.softmax", softmax}, {"nn.log_softmax", softmax}, {"nn.lrn", lrn}, {NULL, NULL}};
