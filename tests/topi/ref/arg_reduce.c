/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static bool better(bool max, double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
    return max ? a > b : a < b;
}

static void arg_reduce(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], dims[REF_DIMS], index[REF_DIMS], to[REF_DIMS];
    int num_axes = ref_ints(c, "axis", axes), n = 0;
    bool keep = ref_int(c, "keepdims", 0), last = ref_int(c, "select_last_index", 0), reduced[REF_DIMS];
    for (int i = 0; i < x->ndim; i++) {
        reduced[i] = num_axes == 0;
        for (int k = 0; k < num_axes; k++) reduced[i] |= axes[k] == i || axes[k] + x->ndim == i;
        if (!reduced[i] || keep) dims[n++] = reduced[i] ? 1 : x->dims[i];
    }
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "dtype", GPUC_INT32), n, dims);
    double *best = y->count ? ref_make(c, 1, x->dtype, n, dims)->v : NULL;
    for (int64_t p = 0; p < x->count; p++) {
        int at = 0;
        int64_t number = 0;
        ref_index(x, p, index);
        for (int i = 0; i < x->ndim; i++) {
            if (reduced[i]) number = number * x->dims[i] + index[i];
            if (!reduced[i] || keep) to[at++] = reduced[i] ? 0 : index[i];
        }
        int64_t o = ref_at(y, to);
        bool same = best[o] == x->v[p] || (isnan(best[o]) && isnan(x->v[p]));
        bool wins = number == 0 || better(!strcmp(c->op, "argmax"), x->v[p], best[o]) || (same && last);
        if (wins) best[o] = x->v[p];
        if (wins) y->v[o] = (double)number;
    }
    free(best);
}

const ref_row ref_rows_arg_reduce[] = {{"argmax", arg_reduce}, {"argmin", arg_reduce}, {NULL, NULL}};
