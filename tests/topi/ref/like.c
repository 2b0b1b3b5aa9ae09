/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static ref_tensor *shaped(ref_call *c)
{
    int64_t dims[REF_DIMS];
    int n = ref_ints(c, "shape", dims);
    return ref_make(c, 0, ref_dtype(c, "dtype", GPUC_FLOAT32), n, dims);
}

static ref_tensor *like(ref_call *c, int of, int i)
{
    return ref_make(c, 0, c->in[of].dtype, c->in[i].ndim, c->in[i].dims);
}

static void fill(ref_tensor *y, double value)
{
    for (int64_t p = 0; p < y->count; p++) y->v[p] = value;
}

static void zeros(ref_call *c)
{
    shaped(c);
}

static void ones(ref_call *c)
{
    fill(shaped(c), 1);
}

static void full(ref_call *c)
{
    fill(shaped(c), c->in[0].v[0]);
}

static void zeros_like(ref_call *c)
{
    like(c, 0, 0);
}

static void ones_like(ref_call *c)
{
    fill(like(c, 0, 0), 1);
}

static void full_like(ref_call *c)
{
    fill(like(c, 0, 0), c->in[1].v[0]);
}

static void expand_like(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], index[REF_DIMS], from[REF_DIMS];
    int n = ref_ints(c, "axis", axes), ndim = c->in[1].ndim;
    bool exclude = ref_int(c, "exclude", 0);
    ref_tensor *y = like(c, 0, 1);
    for (int64_t p = 0; p < y->count; p++) {
        int at = 0;
        ref_index(y, p, index);
        for (int i = 0; i < ndim; i++) {
            bool named = n == 0;
            for (int k = 0; k < n; k++) named |= axes[k] == i || axes[k] + ndim == i;
            if (named == exclude) from[at++] = index[i];
        }
        y->v[p] = ref_broadcast(x, at, from);
    }
}

static void slice_like(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], dims[REF_DIMS], index[REF_DIMS];
    int n = ref_ints(c, "axis", axes);
    memcpy(dims, n ? x->dims : c->in[1].dims, sizeof dims);
    for (int k = 0; k < n; k++) {
        int64_t axis = axes[k] < 0 ? axes[k] + x->ndim : axes[k];
        dims[axis] = c->in[1].dims[axis];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void collapse_sum(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t index[REF_DIMS];
    ref_tensor *y = like(c, 0, 1);
    int lead = x->ndim - y->ndim;
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        for (int i = 0; i < y->ndim; i++)
            if (y->dims[i] == 1) index[lead + i] = 0;
        y->v[ref_at(y, index + lead)] += x->v[p];
    }
}

static void broadcast_to_like(ref_call *c)
{
    int64_t index[REF_DIMS];
    ref_tensor *y = like(c, 0, 1);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        y->v[p] = ref_broadcast(&c->in[0], y->ndim, index);
    }
}

static void collapse_sum_to(ref_call *c)
{
    int64_t dims[REF_DIMS], index[REF_DIMS];
    const ref_tensor *x = &c->in[0];
    ref_tensor *y = ref_make(c, 0, x->dtype, ref_ints(c, "shape", dims), dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        int64_t *to = index + (x->ndim - y->ndim);
        for (int i = 0; i < y->ndim; i++) to[i] = y->dims[i] == 1 ? 0 : to[i];
        y->v[ref_at(y, to)] += x->v[p];
    }
}

const ref_row ref_rows_like[] = {
    {"zeros", zeros},
    {"ones", ones},
    {"full", full},
    {"zeros_like", zeros_like},
    {"ones_like", ones_like},
    {"full_like", full_like},
    {"expand_like", expand_like},
    {"slice_like", slice_like},
    {"collapse_sum_like", collapse_sum},
    {"collapse_sum_to", collapse_sum_to},
    {"broadcast_to_like", broadcast_to_like},
    {NULL, NULL},
};
