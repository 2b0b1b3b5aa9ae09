/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static void pack(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = ref_axis(c, -1);
    int64_t dims[REF_DIMS], index[REF_DIMS];
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] /= 32;
    ref_tensor *y = ref_make(c, 0, GPUC_UINT32, x->ndim, dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        int64_t bit = 31 - index[axis] % 32;
        index[axis] /= 32;
        if (x->v[p] >= 0) y->v[ref_at(y, index)] += (double)((int64_t)1 << bit);
    }
}

static void dense(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *w = &c->in[1];
    int64_t words = x->dims[1], dims[] = {x->dims[0], w->dims[0]};
    ref_tensor *y = ref_make(c, 0, GPUC_FLOAT32, 2, dims);
    for (int64_t p = 0; p < y->count; p++)
        for (int64_t k = 0; k < words * 32; k++) {
            uint32_t a = (uint32_t)x->v[p / dims[1] * words + k / 32],
                     b = (uint32_t)w->v[p % dims[1] * words + k / 32];
            y->v[p] += (a >> k % 32 & 1) == (b >> k % 32 & 1) ? 1 : -1;
        }
}

const ref_row ref_rows_binary[] = {{"nn.binarize_pack", pack}, {"nn.binary_dense", dense}, {NULL, NULL}};
