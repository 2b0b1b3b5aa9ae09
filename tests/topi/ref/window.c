/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

/* Element [n, y*block + b, rest] of the padded data is [(b's number)*N + n, y, rest] of the result. */
static void space_to_batch(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t block[6], before[6], after[6], dims[REF_DIMS], index[REF_DIMS], at[REF_DIMS];
    int rank = ref_ints(c, "block_shape", block);
    ref_ints(c, "pad_before", before);
    ref_ints(c, "pad_after", after);
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < rank; i++) {
        dims[0] *= block[i];
        dims[1 + i] = (x->dims[1 + i] + before[i] + after[i]) / block[i];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) y->v[p] = ref_float(c, "pad_value", 0);
    for (int64_t p = 0; p < x->count; p++) {
        int64_t number = 0;
        ref_index(x, p, index);
        memcpy(at, index, sizeof at);
        for (int i = 0; i < rank; i++) {
            int64_t padded = index[1 + i] + before[i];
            at[1 + i] = padded / block[i];
            number = number * block[i] + padded % block[i];
        }
        at[0] = number * x->dims[0] + index[0];
        y->v[ref_at(y, at)] = x->v[p];
    }
}

static void batch_to_space(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t block[6], begin[6], end[6], dims[REF_DIMS], index[REF_DIMS], at[REF_DIMS];
    int rank = ref_ints(c, "block_shape", block);
    ref_ints(c, "crop_begin", begin);
    ref_ints(c, "crop_end", end);
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < rank; i++) {
        dims[0] /= block[i];
        dims[1 + i] = x->dims[1 + i] * block[i] - begin[i] - end[i];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < x->count; p++) {
        bool inside = true;
        ref_index(x, p, index);
        memcpy(at, index, sizeof at);
        at[0] = index[0] % dims[0];
        int64_t number = index[0] / dims[0];
        for (int i = rank - 1; i >= 0; i--) {
            at[1 + i] = index[1 + i] * block[i] + number % block[i] - begin[i];
            number /= block[i];
            inside &= at[1 + i] >= 0 && at[1 + i] < dims[1 + i];
        }
        if (inside) y->v[ref_at(y, at)] = x->v[p];
    }
}

static void dilate(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t stride[REF_DIMS], dims[REF_DIMS], index[REF_DIMS];
    ref_ints(c, "strides", stride);
    for (int i = 0; i < x->ndim; i++) dims[i] = x->dims[i] ? (x->dims[i] - 1) * stride[i] + 1 : 0;
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) y->v[p] = ref_float(c, "dilation_value", 0);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        for (int i = 0; i < x->ndim; i++) index[i] *= stride[i];
        y->v[ref_at(y, index)] = x->v[p];
    }
}

/* Every element of every window is added to its place. */
static void col2im(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t image[6], block[6], stride[6], pad[12], dilation[6], dims[REF_DIMS], across[6], index[REF_DIMS],
        volume = 1;
    int rank = ref_ints(c, "image_shape", image);
    ref_ints(c, "block_shape", block);
    ref_ints(c, "strides", stride);
    ref_ints(c, "padding", pad);
    ref_ints(c, "dilation", dilation);
    for (int i = 0; i < rank; i++) {
        volume *= block[i];
        across[i] = (image[i] + pad[i] + pad[rank + i] - (block[i] - 1) * dilation[i] - 1) / stride[i] + 1;
        dims[2 + i] = image[i];
    }
    dims[0] = x->dims[0];
    dims[1] = x->dims[1] / volume;
    ref_tensor *y = ref_make(c, 0, x->dtype, rank + 2, dims);
    for (int64_t p = 0; p < x->count; p++) {
        bool inside = true;
        ref_index(x, p, index);
        int64_t at[REF_DIMS] = {index[0], index[1] / volume}, in_block = index[1] % volume, window = index[2];
        for (int i = rank - 1; i >= 0; i--) {
            at[2 + i] = window % across[i] * stride[i] + in_block % block[i] * dilation[i] - pad[i];
            window /= across[i];
            in_block /= block[i];
            inside &= at[2 + i] >= 0 && at[2 + i] < image[i];
        }
        if (inside) y->v[ref_at(y, at)] += x->v[p];
    }
}

const ref_row ref_rows_window[] = {
    {"nn.space_to_batch_nd", space_to_batch},
    {"nn.batch_to_space_nd", batch_to_space},
    {"nn.dilate", dilate},
    {"nn.col2im", col2im},
    {NULL, NULL},
};
