/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static void scan(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = ref_axis(c, 0);
    bool product = !strcmp(c->op, "cumprod"), exclusive = ref_int(c, "exclusive", 0),
         reverse = ref_int(c, "reverse", 0);
    int64_t index[REF_DIMS], n = x->dims[axis];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t at = index[axis], first = reverse ? at + exclusive : 0, end = reverse ? n : at + !exclusive;
        double sum = product;
        for (int64_t i = first; i < end; i++) {
            index[axis] = i;
            sum = product ? sum * x->v[ref_at(x, index)] : sum + x->v[ref_at(x, index)];
        }
        y->v[p] = sum;
    }
}

const ref_row ref_rows_scan[] = {{"cumsum", scan}, {"cumprod", scan}, {NULL, NULL}};
