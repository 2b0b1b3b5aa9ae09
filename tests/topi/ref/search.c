/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

static void searchsorted(ref_call *c)
{
    const ref_tensor *rows = &c->in[0], *v = &c->in[1];
    bool right = ref_int(c, "right", 0);
    int64_t n = rows->dims[rows->ndim - 1], per_row = rows->ndim == 1 ? v->count : v->dims[v->ndim - 1];
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "dtype", GPUC_INT32), v->ndim, v->dims);
    for (int64_t p = 0; p < v->count; p++) {
        const double *row = rows->v + (per_row ? p / per_row : 0) * n;
        int64_t place = 0;
        for (int64_t i = 0; i < n; i++) place += row[i] < v->v[p] || (right && row[i] == v->v[p]);
        y->v[p] = (double)place;
    }
}

const ref_row ref_rows_search[] = {{"searchsorted", searchsorted}, {NULL, NULL}};
