/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

static void mask(ref_call *c)
{
    int64_t dims[REF_DIMS], seed = ref_int(c, "seed", 0);
    int ndim = ref_ints(c, "shape", dims);
    ref_tensor *y = ref_make(c, 0, GPUC_BOOL, ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        uint32_t h = (uint32_t)p * 2654435769u + (uint32_t)seed;
        h = (h ^ h >> 16) * 2246822507u;
        h = (h ^ h >> 13) * 3266489909u;
        h ^= h >> 16;
        y->v[p] = (double)(h >> 8) / 16777216 >= c->in[0].v[0];
    }
}

const ref_row ref_rows_dropout[] = {{"nn.dropout_mask", mask}, {NULL, NULL}};
