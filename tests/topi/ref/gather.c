/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static int64_t position(int64_t i, int64_t n, const char *mode)
{
    if (!strcmp(mode, "wrap")) i = (i % n + n) % n;
    if (!strcmp(mode, "negative") && i < 0) i += n;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static void take(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *at = &c->in[1];
    int axis = ref_axis(c, 0), n = 0;
    int64_t dims[REF_DIMS], index[REF_DIMS], from[REF_DIMS];
    for (int i = 0; i < axis; i++) dims[n++] = x->dims[i];
    for (int i = 0; i < at->ndim; i++) dims[n++] = at->dims[i];
    for (int i = axis + 1; i < x->ndim; i++) dims[n++] = x->dims[i];
    ref_tensor *y = ref_make(c, 0, x->dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t k = (int64_t)at->v[ref_at(at, index + axis)], extent = x->dims[axis];
        k = position(k, extent, ref_string(c, "mode", "clip"));
        for (int i = 0; i < axis; i++) from[i] = index[i];
        from[axis] = k;
        for (int i = axis + 1; i < x->ndim; i++) from[i] = index[i + at->ndim - 1];
        y->v[p] = x->v[ref_at(x, from)];
    }
}

static void gather(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *at = &c->in[1];
    int axis = ref_axis(c, 0);
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, at->ndim, at->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        index[axis] = position((int64_t)at->v[p], x->dims[axis], "negative");
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void gather_nd(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *at = &c->in[1];
    int batch = (int)ref_int(c, "batch_dims", 0), depth = (int)at->dims[at->ndim - 1], n = 0;
    int64_t dims[REF_DIMS], index[REF_DIMS], from[REF_DIMS], where[REF_DIMS];
    for (int i = 0; i < at->ndim - 1; i++) dims[n++] = at->dims[i];
    for (int i = batch + depth; i < x->ndim; i++) dims[n++] = x->dims[i];
    ref_tensor *y = ref_make(c, 0, x->dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < at->ndim - 1; i++) where[i] = index[i];
        for (int i = 0; i < batch; i++) from[i] = index[i];
        for (int i = 0; i < depth; i++) {
            where[at->ndim - 1] = i;
            from[batch + i] = position((int64_t)at->v[ref_at(at, where)], x->dims[batch + i], "negative");
        }
        for (int i = batch + depth; i < x->ndim; i++) from[i] = index[at->ndim - 1 + i - batch - depth];
        y->v[p] = x->v[ref_at(x, from)];
    }
}

static void adv_index(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int indexed = c->num_in - 1, rank = 0, n = 0;
    int64_t dims[REF_DIMS] = {0}, index[REF_DIMS], from[REF_DIMS];
    for (int i = 1; i < c->num_in; i++) rank = c->in[i].ndim > rank ? c->in[i].ndim : rank;
    for (int k = 0; k < rank; k++) {
        dims[n] = 1;
        for (int i = 1; i < c->num_in; i++) {
            int own = k - (rank - c->in[i].ndim);
            if (own >= 0 && c->in[i].dims[own] != 1) dims[n] = c->in[i].dims[own];
        }
        n++;
    }
    for (int k = indexed; k < x->ndim; k++) dims[n++] = x->dims[k];
    ref_tensor *y = ref_make(c, 0, x->dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int k = 0; k < indexed; k++)
            from[k] = position((int64_t)ref_broadcast(&c->in[1 + k], rank, index), x->dims[k], "negative");
        for (int k = indexed; k < x->ndim; k++) from[k] = index[rank + k - indexed];
        y->v[p] = x->v[ref_at(x, from)];
    }
}

static void one_hot(ref_call *c)
{
    const ref_tensor *at = &c->in[0];
    int ndim = at->ndim + 1, axis = (int)ref_int(c, "axis", -1), from = 0;
    int64_t dims[REF_DIMS], index[REF_DIMS], where[REF_DIMS], depth = ref_int(c, "depth", 0);
    if (axis < 0) axis += ndim;
    for (int k = 0; k < ndim; k++) dims[k] = k == axis ? depth : at->dims[from++];
    ref_tensor *y = ref_make(c, 0, c->in[1].dtype, ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        int n = 0;
        ref_index(y, p, index);
        for (int k = 0; k < ndim; k++)
            if (k != axis) where[n++] = index[k];
        int64_t i = (int64_t)at->v[ref_at(at, where)];
        if (i < 0) i += depth;
        y->v[p] = i == index[axis] ? c->in[1].v[0] : c->in[2].v[0];
    }
}

const ref_row ref_rows_gather[] = {
    {"take", take},           {"gather", gather},   {"gather_nd", gather_nd},
    {"adv_index", adv_index}, {"one_hot", one_hot}, {NULL, NULL},
};
