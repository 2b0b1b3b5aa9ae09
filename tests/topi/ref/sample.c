/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static void affine_grid(ref_call *c)
{
    const ref_tensor *theta = &c->in[0];
    int64_t size[3], dims[REF_DIMS] = {theta->dims[0]}, index[REF_DIMS];
    int rank = ref_ints(c, "target_shape", size);
    bool corners = ref_int(c, "align_corners", 1);
    for (int i = 0; i < rank; i++) dims[1 + i] = size[i];
    dims[1 + rank] = rank;
    ref_tensor *y = ref_make(c, 0, theta->dtype, rank + 2, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        const double *row = theta->v + (index[0] * rank + index[1 + rank]) * (rank + 1);
        double sum = row[rank];
        for (int i = 0; i < rank; i++) {
            double n = (double)size[i], at = (double)index[1 + i];
            double place = !corners ? (2 * at + 1) / n - 1 : n > 1 ? 2 * at / (n - 1) - 1 : -1;
            sum += row[rank - 1 - i] * place;
        }
        y->v[p] = sum;
    }
}

/* Data [n, c] between its elements, zeros around it. */
static double between(const ref_tensor *x, int64_t n, int64_t ch, int rank, const double *position)
{
    double sum = 0;
    for (int corner = 0; corner < 1 << rank; corner++) {
        double weight = 1;
        int64_t at[REF_DIMS] = {n, ch};
        bool inside = true;
        for (int i = 0; i < rank; i++) {
            double low = floor(position[i]), part = position[i] - low;
            weight *= corner >> i & 1 ? part : 1 - part;
            at[2 + i] = (int64_t)low + (corner >> i & 1);
            inside &= at[2 + i] >= 0 && at[2 + i] < x->dims[2 + i];
        }
        if (inside) sum += weight * x->v[ref_at(x, at)];
    }
    return sum;
}

static void deformed(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *w = &c->in[1], *offset = &c->in[2];
    int rank = x->ndim - 2;
    int64_t stride[3], pad[6], dilation[3], volume = 1, index[REF_DIMS], k[REF_DIMS];
    int64_t groups = ref_int(c, "groups", 1), offset_groups = ref_int(c, "deformable_groups", 1),
            dims[REF_DIMS];
    ref_ints(c, "strides", stride);
    ref_ints(c, "padding", pad);
    ref_ints(c, "dilation", dilation);
    dims[0] = x->dims[0];
    dims[1] = w->dims[0];
    for (int i = 0; i < rank; i++) {
        volume *= w->dims[2 + i];
        dims[2 + i] = offset->dims[2 + i];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int64_t q = 0; q < w->dims[1] * volume; q++) {
            int64_t ch = index[1] / (w->dims[0] / groups) * w->dims[1] + q / volume, rest = q % volume;
            int64_t group = ch / (x->dims[1] / offset_groups), place = group * volume + rest;
            double position[3], mask = 1;
            for (int i = rank - 1; i >= 0; i--) {
                k[i] = rest % w->dims[2 + i];
                rest /= w->dims[2 + i];
            }
            int64_t at[REF_DIMS] = {index[0]};
            for (int i = 0; i < rank; i++) at[2 + i] = index[2 + i];
            for (int i = 0; i < rank; i++) {
                at[1] = place * rank + i;
                position[i] = (double)(index[2 + i] * stride[i] - pad[i] + k[i] * dilation[i]) +
                              offset->v[ref_at(offset, at)];
            }
            at[1] = place;
            if (c->num_in > 3) mask = c->in[3].v[ref_at(&c->in[3], at)];
            y->v[p] +=
                w->v[index[1] * w->dims[1] * volume + q] * mask * between(x, index[0], ch, rank, position);
        }
    }
}

/* Data, offsets and mask have the layout. */
static void deformable_conv(ref_call *c)
{
    ref_tensor given[4];
    int64_t first[REF_DIMS] = {0}, n = c->in[0].ndim;
    bool last = !strcmp(ref_string(c, "data_layout", "NCHW"), "NHWC");
    for (int64_t i = 1; i < n; i++) first[i] = i == 1 ? n - 1 : i - 1;
    for (int i = 2; i < c->num_in && last; i++) {
        given[i] = c->in[i];
        c->in[i] = ref_transpose(&given[i], first);
    }
    ref_with_layout(c, deformed);
    for (int i = 2; i < c->num_in && last; i++) {
        free(c->in[i].v);
        c->in[i] = given[i];
    }
}

const ref_row ref_rows_sample[] = {
    {"image.affine_grid", affine_grid}, {"nn.deformable_conv", deformable_conv}, {NULL, NULL}};
