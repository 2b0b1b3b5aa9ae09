/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static void pool(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int rank = x->ndim - 2;
    int64_t size[6], stride[6], pad[6], dilation[6], dims[REF_DIMS] = {x->dims[0], x->dims[1]}, window = 1;
    bool ceil_mode = ref_int(c, "ceil_mode", 0), include = ref_int(c, "count_include_pad", 0);
    bool maximum = strstr(c->op, "max") != NULL, norm = strstr(c->op, "lp_") != NULL;
    double order = ref_float(c, "p", 2);
    ref_ints(c, "pool_size", size);
    ref_ints(c, "strides", stride);
    ref_ints(c, "padding", pad);
    ref_ints(c, "dilation", dilation);
    for (int i = 0; i < rank; i++) {
        double span = (double)(x->dims[2 + i] + pad[i] + pad[rank + i] - (size[i] - 1) * dilation[i] - 1) /
                      (double)stride[i];
        dims[2 + i] = (int64_t)(ceil_mode ? ceil(span) : floor(span)) + 1;
        /* a window that starts behind the input and its padding before it does not count */
        if (ceil_mode && (dims[2 + i] - 1) * stride[i] >= x->dims[2 + i] + pad[i]) dims[2 + i]--;
        window *= size[i];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        int64_t index[REF_DIMS], at[REF_DIMS];
        double sum = maximum ? -INFINITY : 0;
        int number = 0;
        ref_index(y, p, index);
        for (int64_t q = 0; q < window; q++) {
            bool inside = true, padded = true;
            int64_t rest = q;
            at[0] = index[0];
            at[1] = index[1];
            for (int i = rank - 1; i >= 0; i--) {
                at[2 + i] = index[2 + i] * stride[i] + rest % size[i] * dilation[i] - pad[i];
                rest /= size[i];
                inside &= at[2 + i] >= 0 && at[2 + i] < x->dims[2 + i];
                padded &= at[2 + i] < x->dims[2 + i] + pad[rank + i];
            }
            number += include ? padded : inside;
            if (!inside) continue;
            double v = x->v[ref_at(x, at)];
            if (norm) v = pow(fabs(v), order);
            sum = !maximum ? sum + v : v > sum ? v : sum;
        }
        y->v[p] = maximum ? sum : norm ? pow(sum, 1 / order) : sum / number;
    }
}

static void any_pool(ref_call *c)
{
    ref_with_layout(c, pool);
}

const ref_row ref_rows_pool[] = {
    {"nn.max_pool1d", any_pool}, {"nn.max_pool2d", any_pool},
    {"nn.max_pool3d", any_pool}, {"nn.avg_pool1d", any_pool},
    {"nn.avg_pool2d", any_pool}, {"nn.avg_pool3d", any_pool},
    {"nn.lp_pool1d", any_pool},  {"nn.lp_pool2d", any_pool},
    {"nn.lp_pool3d", any_pool},  {NULL, NULL},
};
