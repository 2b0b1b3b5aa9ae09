/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static void strided_set(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *v = &c->in[1];
    int64_t begin[REF_DIMS], strides[REF_DIMS], index[REF_DIMS], to[REF_DIMS];
    int begins = ref_ints(c, "begin", begin), steps = ref_ints(c, "strides", strides);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    memcpy(y->v, x->v, sizeof *y->v * (size_t)y->count);
    for (int64_t p = 0; p < v->count; p++) {
        ref_index(v, p, index);
        for (int i = 0; i < x->ndim; i++) {
            int64_t first = i < begins ? begin[i] : 0;
            to[i] = (first < 0 ? first + x->dims[i] : first) + index[i] * (i < steps ? strides[i] : 1);
        }
        y->v[ref_at(y, to)] = v->v[p];
    }
}

static void fifo_buffer(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *old = &c->in[1];
    int axis = ref_axis(c, 0);
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, old->ndim, old->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t at = index[axis] + x->dims[axis];
        bool kept = at < old->dims[axis];
        index[axis] = kept ? at : at - old->dims[axis];
        y->v[p] = kept ? old->v[ref_at(old, index)] : x->v[ref_at(x, index)];
    }
}

const ref_row ref_rows_set_part[] = {
    {"strided_set", strided_set}, {"nn.fifo_buffer", fifo_buffer}, {NULL, NULL}};
