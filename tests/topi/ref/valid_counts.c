/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

static void valid(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t id = ref_int(c, "id_index", 0), score = ref_int(c, "score_index", 1), size = x->dims[2];
    ref_tensor *count = ref_make(c, 0, GPUC_INT32, 1, x->dims), *boxes = ref_make(c, 1, x->dtype, 3, x->dims),
               *from = ref_make(c, 2, GPUC_INT32, 2, x->dims);
    c->num_out = 3;
    for (int64_t i = 0; i < boxes->count; i++) boxes->v[i] = -1;
    for (int64_t i = 0; i < from->count; i++) from->v[i] = -1;
    for (int64_t i = 0; i < from->count; i++) {
        const double *box = x->v + i * size;
        int64_t row = i / x->dims[1], to = row * x->dims[1] + (int64_t)count->v[row];
        if (!(box[score] > c->in[1].v[0]) || (id >= 0 && !(box[id] >= 0))) continue;
        for (int64_t k = 0; k < size; k++) boxes->v[to * size + k] = box[k];
        from->v[to] = (double)(i % x->dims[1]);
        count->v[row]++;
    }
}

const ref_row ref_rows_valid_counts[] = {{"vision.get_valid_counts", valid}, {NULL, NULL}};
