/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

static int64_t at_least_one(int64_t v)
{
    return v < 1 ? 1 : v;
}

static void sparse_reshape(ref_call *c)
{
    const ref_tensor *at = &c->in[0], *from = &c->in[1], *to = &c->in[2];
    int64_t all = 1, known = 1, dims[] = {at->dims[0], to->count};
    c->num_out = 2;
    ref_tensor *places = ref_make(c, 0, at->dtype, 2, dims), *shape = ref_make(c, 1, to->dtype, 1, to->dims);
    for (int64_t i = 0; i < from->count; i++) all *= (int64_t)from->v[i];
    for (int64_t i = 0; i < to->count; i++) known *= to->v[i] == -1 ? 1 : (int64_t)to->v[i];
    for (int64_t i = 0; i < to->count; i++) /* extents are not negative, but for -1 */
        shape->v[i] = to->v[i] == -1 ? (double)(all / at_least_one(known)) : to->v[i];
    for (int64_t n = 0; n < at->dims[0]; n++) {
        int64_t flat = 0;
        for (int64_t i = 0; i < from->count; i++)
            flat = flat * (int64_t)from->v[i] + (int64_t)at->v[n * from->count + i];
        for (int64_t i = to->count - 1; i >= 0; i--) {
            int64_t extent = at_least_one((int64_t)shape->v[i]);
            places->v[n * to->count + i] = (double)(flat % extent);
            flat /= extent;
        }
    }
}

const ref_row ref_rows_sparse_reshape[] = {{"sparse_reshape", sparse_reshape}, {NULL, NULL}};
