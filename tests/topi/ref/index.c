/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static void arange(ref_call *c)
{
    int64_t given[REF_DIMS], n = ref_ints(c, "length", given) ? given[0] : -1;
    double start = c->in[0].v[0], stop = c->in[1].v[0], step = c->in[2].v[0];
    if (n < 0)
        for (n = 0; step > 0 ? start + (double)n * step < stop : start + (double)n * step > stop;) n++;
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, 1, &n);
    for (int64_t i = 0; i < n; i++) y->v[i] = start + (double)i * step;
}

static void eye(ref_call *c)
{
    int64_t dims[] = {ref_int(c, "n", 0), ref_int(c, "m", 0)}, k = ref_int(c, "k", 0);
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "dtype", GPUC_FLOAT32), 2, dims);
    for (int64_t i = 0; i < dims[0]; i++)
        if (i + k >= 0 && i + k < dims[1]) y->v[i * dims[1] + i + k] = 1;
}

static void trilu(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t k = c->num_in > 1 ? (int64_t)c->in[1].v[0] : ref_int(c, "k", 0), index[REF_DIMS];
    bool upper = ref_int(c, "upper", 1);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t diagonal = index[x->ndim - 1] - index[x->ndim - 2];
        if (upper ? diagonal >= k : diagonal <= k) y->v[p] = x->v[p];
    }
}

static void meshgrid(ref_call *c)
{
    bool xy = !strcmp(ref_string(c, "indexing", "ij"), "xy") && c->num_in > 1;
    int64_t dims[REF_DIMS], index[REF_DIMS];
    c->num_out = c->num_in;
    for (int i = 0; i < c->num_in; i++) dims[xy && i < 2 ? 1 - i : i] = c->in[i].count;
    for (int i = 0; i < c->num_in; i++) {
        ref_tensor *y = ref_make(c, i, c->in[i].dtype, c->num_in, dims);
        for (int64_t p = 0; p < y->count; p++) {
            ref_index(y, p, index);
            y->v[p] = c->in[i].v[index[xy && i < 2 ? 1 - i : i]];
        }
    }
}

static void unravel_index(ref_call *c)
{
    const ref_tensor *at = &c->in[0], *shape = &c->in[1];
    int64_t dims[REF_DIMS] = {shape->count};
    for (int i = 0; i < at->ndim; i++) dims[i + 1] = at->dims[i];
    ref_tensor *y = ref_make(c, 0, at->dtype, at->ndim + 1, dims);
    for (int64_t p = 0; p < at->count; p++) {
        int64_t left = (int64_t)at->v[p];
        for (int64_t i = shape->count - 1; i >= 0; i--) {
            y->v[i * at->count + p] = (double)(left % (int64_t)shape->v[i]);
            left /= (int64_t)shape->v[i];
        }
    }
}

static void sequence_mask(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axis = ref_int(c, "axis", 0), index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        bool inside = (double)index[axis] < c->in[1].v[index[1 - axis]];
        y->v[p] = inside ? x->v[p] : ref_float(c, "mask_value", 0);
    }
}

static void reverse_sequence(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t seq = ref_int(c, "seq_axis", 1), batch = ref_int(c, "batch_axis", 0), index[REF_DIMS];
    if (seq < 0) seq += x->ndim;
    if (batch < 0) batch += x->ndim;
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t n = (int64_t)c->in[1].v[index[batch]];
        if (n > x->dims[seq]) n = x->dims[seq];
        if (index[seq] < n) index[seq] = n - 1 - index[seq];
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void matrix_set_diag(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *d = &c->in[1];
    int64_t k1 = ref_int(c, "k1", 0), k2 = ref_int(c, "k2", 0), index[REF_DIMS], at[REF_DIMS];
    bool right_above = ref_int(c, "super_diag_right_align", 1),
         right_below = ref_int(c, "sub_diag_right_align", 0);
    int n = x->ndim - 2;
    int64_t rows = x->dims[n], columns = x->dims[n + 1], longest = d->dims[d->ndim - 1];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t k = index[n + 1] - index[n], along = k < 0 ? index[n + 1] : index[n], length = 0;
        y->v[p] = x->v[p];
        if (k < k1 || k > k2) continue;
        for (int64_t i = 0; i < rows; i++) length += i + k >= 0 && i + k < columns;
        if (k1 != k2 && (k >= 0 ? right_above : right_below)) along += longest - length;
        memcpy(at, index, sizeof at);
        at[n] = k1 == k2 ? along : k2 - k;
        at[n + 1] = along;
        y->v[p] = d->v[ref_at(d, at)];
    }
}

const ref_row ref_rows_index[] = {
    {"eye", eye},
    {"trilu", trilu},
    {"meshgrid", meshgrid},
    {"unravel_index", unravel_index},
    {"sequence_mask", sequence_mask},
    {"reverse_sequence", reverse_sequence},
    {"matrix_set_diag", matrix_set_diag},
    {"arange", arange},
    {NULL, NULL},
};
