/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static void put(const char *reduction, double *to, double v)
{
    if (!strcmp(reduction, "add")) v = *to + v;
    if (!strcmp(reduction, "mul")) v = *to * v;
    if (!strcmp(reduction, "min")) v = isnan(*to) || isnan(v) ? NAN : fmin(*to, v);
    if (!strcmp(reduction, "max")) v = isnan(*to) || isnan(v) ? NAN : fmax(*to, v);
    *to = v;
}

static ref_tensor *copy_of(ref_call *c, const ref_tensor *x)
{
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    if (y->count) memcpy(y->v, x->v, sizeof *y->v * (size_t)y->count);
    return y;
}

static void scatter_elements(ref_call *c)
{
    const ref_tensor *at = &c->in[1], *updates = &c->in[2];
    int axis = ref_axis(c, 0);
    int64_t index[REF_DIMS];
    ref_tensor *y = copy_of(c, &c->in[0]);
    for (int64_t p = 0; p < at->count; p++) {
        int64_t i = (int64_t)at->v[p], n = y->dims[axis];
        if (i < 0) i += n;
        if (i < 0 || i >= n) continue;
        ref_index(at, p, index);
        index[axis] = i;
        put(ref_string(c, "reduction", "none"), &y->v[ref_at(y, index)], updates->v[p]);
    }
}

static void scatter_nd(ref_call *c)
{
    const ref_tensor *at = &c->in[1], *updates = &c->in[2];
    int64_t depth = at->dims[at->ndim - 1], index[REF_DIMS], tuples = 1, slice = 1;
    ref_tensor *y = copy_of(c, &c->in[0]);
    for (int k = 0; k < at->ndim - 1; k++) tuples *= at->dims[k];
    for (int k = (int)depth; k < y->ndim; k++) slice *= y->dims[k];
    for (int64_t t = 0; t < tuples; t++) {
        bool ok = true;
        memset(index, 0, sizeof index);
        for (int64_t k = 0; k < depth; k++) {
            index[k] = (int64_t)at->v[t * depth + k];
            if (index[k] < 0) index[k] += y->dims[k];
            ok = ok && index[k] >= 0 && index[k] < y->dims[k];
        }
        for (int64_t i = 0; ok && i < slice; i++)
            put(ref_string(c, "reduction", "none"), &y->v[ref_at(y, index) + i], updates->v[t * slice + i]);
    }
}

static void sparse_to_dense(ref_call *c)
{
    const ref_tensor *at = &c->in[0], *values = &c->in[1];
    int64_t dims[REF_DIMS], index[REF_DIMS], n = at->ndim ? at->dims[0] : 1;
    int depth = ref_ints(c, "output_shape", dims);
    ref_tensor *y = ref_make(c, 0, values->dtype, depth, dims);
    for (int64_t p = 0; p < y->count; p++) y->v[p] = c->in[2].v[0];
    for (int64_t t = 0; t < n; t++) {
        bool ok = true;
        for (int k = 0; k < depth; k++) {
            index[k] = (int64_t)at->v[t * depth + k];
            ok = ok && index[k] >= 0 && index[k] < dims[k];
        }
        if (ok) y->v[ref_at(y, index)] = values->v[values->ndim ? t : 0];
    }
}

static void tensor_scatter(ref_call *c)
{
    const ref_tensor *update = &c->in[1];
    int axis = (int)ref_int(c, "axis", -2);
    int64_t index[REF_DIMS];
    bool circular = !strcmp(ref_string(c, "mode", "linear"), "circular");
    ref_tensor *y = copy_of(c, &c->in[0]);
    if (axis < 0) axis += y->ndim;
    for (int64_t p = 0; p < update->count; p++) {
        ref_index(update, p, index);
        index[axis] += c->num_in > 2 ? (int64_t)c->in[2].v[index[0]] : 0;
        int64_t n = y->dims[axis];
        if (circular) index[axis] = (index[axis] % n + n) % n;
        if (index[axis] >= 0 && index[axis] < n) y->v[ref_at(y, index)] = update->v[p];
    }
}

const ref_row ref_rows_scatter[] = {
    {"scatter_elements", scatter_elements},
    {"scatter_nd", scatter_nd},
    {"sparse_to_dense", sparse_to_dense},
    {"tensor_scatter", tensor_scatter},
    {NULL, NULL},
};
