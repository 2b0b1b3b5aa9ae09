/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

/* Each pair is turned by its angle. */
static void rotary(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *cosine = &c->in[1], *sine = &c->in[2];
    int64_t half = cosine->dims[2], index[REF_DIMS];
    bool neighbours = ref_int(c, "interleaved", 0);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    memcpy(y->v, x->v, sizeof *y->v * (size_t)x->count);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        if (index[3] >= half) continue;
        int64_t k = index[3], angle[] = {cosine->dims[0] == 1 ? 0 : index[0], index[2], k};
        double u = cosine->v[ref_at(cosine, angle)], v = sine->v[ref_at(sine, angle)];
        index[3] = neighbours ? 2 * k : k;
        int64_t first = ref_at(x, index);
        index[3] = neighbours ? 2 * k + 1 : half + k;
        int64_t second = ref_at(x, index);
        y->v[first] = u * x->v[first] - v * x->v[second];
        y->v[second] = v * x->v[first] + u * x->v[second];
    }
}

const ref_row ref_rows_attention[] = {{"nn.rotary_embedding", rotary}, {NULL, NULL}};
