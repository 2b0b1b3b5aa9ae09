/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static int64_t within(double v, int64_t end)
{
    return v < 0 ? 0 : v > (double)end ? end : (int64_t)v;
}

static void dense(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *data = &c->in[1], *indices = &c->in[2], *indptr = &c->in[3];
    bool left = ref_int(c, "sparse_lhs", 0) != 0, blocks = data->ndim == 3;
    int64_t h = blocks ? data->dims[1] : 1, w = blocks ? data->dims[2] : 1, rows = (indptr->count - 1) * h;
    int64_t dims[] = {left ? rows : x->dims[0], left ? x->dims[0] : rows}, columns = x->dims[1];
    ref_tensor *y = ref_make(c, 0, x->dtype, 2, dims);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t a = i / dims[1], b = i % dims[1], row = left ? a : b, of = left ? b : a;
        int64_t from = within(indptr->v[row / h], data->dims[0]),
                to = within(indptr->v[row / h + 1], data->dims[0]);
        double sum = 0;
        for (int64_t j = from; j < to; j++)
            for (int64_t k = 0; k < w && columns > 0; k++)
                sum += data->v[(j * h + row % h) * w + k] *
                       x->v[of * columns + within(indices->v[j] * (double)w + (double)k, columns - 1)];
        y->v[i] = sum;
    }
}

/* The weight of a channel, of row `row` of the matrix, times the image. */
static void conv(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *data = &c->in[1], *indices = &c->in[2], *indptr = &c->in[3];
    bool last = strcmp(ref_string(c, "layout", "NHWC"), "NCHW") != 0, blocks = data->ndim == 3;
    int64_t taps[2] = {1, 1}, h = blocks ? data->dims[1] : 1, w = blocks ? data->dims[2] : 1;
    int64_t dims[4], at[REF_DIMS], rows = (indptr->count - 1) * h;
    int channel = last ? 3 : 1, first = last ? 1 : 2;
    ref_ints(c, "kernel_size", taps);
    memcpy(dims, x->dims, sizeof dims);
    dims[channel] = rows;
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    int64_t channels = x->dims[channel], columns = channels * taps[0] * taps[1];
    for (int64_t i = 0; i < y->count; i++) {
        ref_index(y, i, at);
        int64_t row = at[channel], r = at[first], q = at[first + 1];
        int64_t from = within(indptr->v[row / h], data->dims[0]),
                to = within(indptr->v[row / h + 1], data->dims[0]);
        for (int64_t j = from; j < to; j++)
            for (int64_t k = 0; k < w && columns > 0; k++) {
                int64_t column = within(indices->v[j] * (double)w + (double)k, columns - 1),
                        tap = column / channels;
                at[channel] = column % channels;
                at[first] = r + tap / taps[1] - taps[0] / 2;
                at[first + 1] = q + tap % taps[1] - taps[1] / 2;
                if (at[first] < 0 || at[first] >= x->dims[first]) continue;
                if (at[first + 1] < 0 || at[first + 1] >= x->dims[first + 1]) continue;
                y->v[i] += data->v[(j * h + row % h) * w + k] * x->v[ref_at(x, at)];
            }
    }
}

static void add(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *data = &c->in[1];
    ref_tensor *y = ref_make(c, 0, x->dtype, 2, x->dims);
    memcpy(y->v, x->v, sizeof *y->v * (size_t)y->count);
    for (int64_t row = 0; row < x->dims[0] && x->dims[1] > 0; row++)
        for (int64_t j = within(c->in[3].v[row], data->count); j < within(c->in[3].v[row + 1], data->count);
             j++)
            y->v[row * x->dims[1] + within(c->in[2].v[j], x->dims[1] - 1)] += data->v[j];
}

static void transpose(ref_call *c)
{
    int64_t n = c->in[2].count - 1, all = c->in[0].count;
    int64_t *at = calloc((size_t)n + 1, sizeof *at);
    for (int i = 0; i < 3; i++) ref_make(c, i, c->in[i].dtype, 1, c->in[i].dims);
    c->num_out = 3;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t row = 0; row < n; row++) {
            int64_t from = within(c->in[2].v[row], all), to = within(c->in[2].v[row + 1], all);
            for (int64_t j = from; j < to; j++) {
                int64_t column = within(c->in[1].v[j], n - 1);
                if (pass == 0) {
                    c->out[2].v[column + 1]++;
                } else {
                    int64_t to_place = at[column]++;
                    if (to_place >= all) continue;
                    c->out[0].v[to_place] = c->in[0].v[j];
                    c->out[1].v[to_place] = (double)row;
                }
            }
        }
        for (int64_t row = 0; pass == 0 && row < n; row++) {
            c->out[2].v[row + 1] = fmin(c->out[2].v[row + 1] + c->out[2].v[row], (double)all);
            at[row] = (int64_t)c->out[2].v[row];
        }
    }
    free(at);
}

const ref_row ref_rows_sparse[] = {{"nn.sparse_dense", dense},
                                   {"nn.sparse_conv2d", conv},
                                   {"nn.sparse_add", add},
                                   {"nn.sparse_transpose", transpose},
                                   {NULL, NULL}};
