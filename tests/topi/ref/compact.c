/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

static void argwhere(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t dims[] = {x->count, x->ndim}, index[REF_DIMS], n = 0;
    ref_tensor *y = ref_make(c, 0, GPUC_INT64, 2, dims), *count = ref_make(c, 1, GPUC_INT64, 0, NULL);
    c->num_out = 2;
    for (int64_t p = 0; p < x->count; p++) {
        if (x->v[p] == 0) continue;
        ref_index(x, p, index);
        for (int k = 0; k < x->ndim; k++) y->v[n * x->ndim + k] = (double)index[k];
        n++;
    }
    count->v[0] = (double)n;
}

static void compress(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *cond = &c->in[1];
    int axis = ref_axis(c, 0);
    int64_t dims[REF_DIMS], index[REF_DIMS], n = 0;
    for (int k = 0; k < x->ndim; k++) dims[k] = x->dims[k];
    if (cond->count < dims[axis]) dims[axis] = cond->count;
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims), *count = ref_make(c, 1, GPUC_INT64, 0, NULL);
    c->num_out = 2;
    for (int64_t i = 0; i < dims[axis]; i++) {
        if (!cond->v[i]) continue;
        for (int64_t p = 0; p < x->count; p++) {
            ref_index(x, p, index);
            if (index[axis] != i) continue;
            index[axis] = n;
            y->v[ref_at(y, index)] = x->v[p];
        }
        n++;
    }
    count->v[0] = (double)n;
}

const ref_row ref_rows_compact[] = {{"argwhere", argwhere}, {"compress", compress}, {NULL, NULL}};
