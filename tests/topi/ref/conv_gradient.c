/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

/* Each product of a result's gradient and an element that the result was made of goes to the weight that joined them. */
static void conv_gradient(ref_call *c)
{
    const ref_tensor *grad = &c->in[0], *data = &c->in[1];
    int rank = data->ndim - 2;
    int64_t groups = ref_int(c, "groups", 1), strides[REF_DIMS], dilation[REF_DIMS], padding[REF_DIMS] = {0},
            kernel[REF_DIMS], dims[REF_DIMS] = {grad->dims[1], data->dims[1] / groups}, g[REF_DIMS],
            w[REF_DIMS];
    for (int i = 0; i < rank; i++) strides[i] = dilation[i] = 1;
    ref_ints(c, "strides", strides);
    ref_ints(c, "dilation", dilation);
    ref_ints(c, "padding", padding);
    int given = ref_ints(c, "kernel_size", kernel);
    for (int i = 0; i < rank; i++) {
        int64_t space =
            data->dims[2 + i] + padding[i] + padding[rank + i] - (grad->dims[2 + i] - 1) * strides[i];
        dims[2 + i] = given ? kernel[i] : (space - 1) / dilation[i] + 1;
    }
    ref_tensor *y = ref_make(c, 0, grad->dtype, data->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) y->v[p] = 0;
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, w);
        for (int64_t q = 0; q < grad->count; q++) {
            ref_index(grad, q, g);
            int64_t at[REF_DIMS] = {g[0], w[0] / (dims[0] / groups) * dims[1] + w[1]};
            bool inside = g[1] == w[0];
            for (int i = 0; i < rank; i++) {
                at[2 + i] = g[2 + i] * strides[i] + w[2 + i] * dilation[i] - padding[i];
                inside = inside && at[2 + i] >= 0 && at[2 + i] < data->dims[2 + i];
            }
            if (inside) y->v[p] += grad->v[q] * data->v[ref_at(data, at)];
        }
    }
}

const ref_row ref_rows_conv_gradient[] = {{"nn.conv2d_backward_weight", conv_gradient}, {NULL, NULL}};
