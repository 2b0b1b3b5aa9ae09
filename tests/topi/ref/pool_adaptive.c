/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static void pool(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int rank = x->ndim - 2;
    bool maximum = strstr(c->op, "max") != NULL;
    int64_t size[6] = {1, 1, 1, 1, 1, 1}, dims[REF_DIMS] = {x->dims[0], x->dims[1]}, index[REF_DIMS],
            at[REF_DIMS];
    ref_ints(c, "output_size", size);
    memcpy(dims + 2, size, sizeof *size * (size_t)rank);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        double sum = maximum ? -INFINITY : 0;
        int number = 0;
        ref_index(y, p, index);
        for (int64_t q = 0; q < x->count; q++) {
            ref_index(x, q, at);
            bool inside = at[0] == index[0] && at[1] == index[1];
            for (int i = 2; i < x->ndim; i++) {
                double each = (double)x->dims[i] / (double)dims[i];
                inside &= at[i] >= (int64_t)floor((double)index[i] * each + 1e-9) &&
                          at[i] < (int64_t)ceil((double)(index[i] + 1) * each - 1e-9);
            }
            if (!inside) continue;
            number++;
            sum = !maximum ? sum + x->v[q] : x->v[q] > sum ? x->v[q] : sum;
        }
        y->v[p] = maximum ? sum : sum / number;
    }
}

const ref_row ref_rows_pool_adaptive[] = {
    {"nn.adaptive_max_pool1d", pool},
    {"nn.adaptive_max_pool2d", pool},
    {"nn.adaptive_max_pool3d", pool},
    {"nn.adaptive_avg_pool1d", pool},
    {"nn.adaptive_avg_pool2d", pool},
    {"nn.adaptive_avg_pool3d", pool},
    {"nn.global_max_pool1d", pool},
    {"nn.global_max_pool2d", pool},
    {"nn.global_max_pool3d", pool},
    {"nn.global_avg_pool1d", pool},
    {"nn.global_avg_pool2d", pool},
    {"nn.global_avg_pool3d", pool},
    {NULL, NULL},
};
