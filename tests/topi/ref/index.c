/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

static void take(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *at = &c->in[1];
    int axis = ref_axis(c, 0), n = 0;
    int64_t dims[REF_DIMS], index[REF_DIMS], from[REF_DIMS];
    for (int i = 0; i < axis; i++) dims[n++] = x->dims[i];
    for (int i = 0; i < at->ndim; i++) dims[n++] = at->dims[i];
    for (int i = axis + 1; i < x->ndim; i++) dims[n++] = x->dims[i];
    ref_tensor *y = ref_make(c, 0, x->dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t k = (int64_t)at->v[ref_at(at, index + axis)], extent = x->dims[axis];
        if (k < 0) k += extent;
        k = k < 0 ? 0 : k >= extent ? extent - 1 : k;
        for (int i = 0; i < axis; i++) from[i] = index[i];
        from[axis] = k;
        for (int i = axis + 1; i < x->ndim; i++) from[i] = index[i + at->ndim - 1];
        y->v[p] = x->v[ref_at(x, from)];
    }
}

static void arange(ref_call *c)
{
    int64_t n = ref_int(c, "length", -1);
    double start = c->in[0].v[0], stop = c->in[1].v[0], step = c->in[2].v[0];
    if (n < 0)
        for (n = 0; step > 0 ? start + (double)n * step < stop : start + (double)n * step > stop;) n++;
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, 1, &n);
    for (int64_t i = 0; i < n; i++) y->v[i] = start + (double)i * step;
}

const ref_row ref_rows_index[] = {
    {"take", take},
    {"arange", arange},
    {NULL, NULL},
};
