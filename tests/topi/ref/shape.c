/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static void copy_as(ref_call *c, int ndim, const int64_t *dims)
{
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, ndim, dims);
    memcpy(y->v, c->in[0].v, sizeof *y->v * (size_t)y->count);
}

static void reshape(ref_call *c)
{
    int64_t dims[REF_DIMS], known = 1;
    int n = ref_ints(c, "newshape", dims);
    for (int i = 0; i < n; i++) known *= dims[i] < 0 ? 1 : dims[i];
    for (int i = 0; i < n; i++)
        if (dims[i] < 0) dims[i] = c->in[0].count / known;
    copy_as(c, n, dims);
}

static bool listed(const int64_t *axes, int n, int axis, int ndim)
{
    for (int i = 0; i < n; i++)
        if (axes[i] == axis || axes[i] + ndim == axis) return true;
    return false;
}

static void squeeze(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], dims[REF_DIMS];
    int n = ref_ints(c, "axis", axes), out = 0;
    for (int i = 0; i < x->ndim; i++)
        if (x->dims[i] != 1 || (n && !listed(axes, n, i, x->ndim))) dims[out++] = x->dims[i];
    copy_as(c, out, dims);
}

static void expand_dims(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], dims[REF_DIMS];
    int n = ref_ints(c, "axis", axes), from = 0;
    for (int i = 0; i < x->ndim + n; i++) dims[i] = listed(axes, n, i, x->ndim + n) ? 1 : x->dims[from++];
    copy_as(c, x->ndim + n, dims);
}

static void sizes(ref_call *c)
{
    int64_t v[REF_DIMS], n = ref_ints(c, "values", v);
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "dtype", GPUC_INT64), 1, &n);
    for (int64_t i = 0; i < n; i++) y->v[i] = (double)v[i];
}

static void batch_flatten(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axis = ref_int(c, "axis", 1), dims[2] = {1, 1};
    if (axis < 0) axis += x->ndim;
    for (int i = 0; i < x->ndim; i++) dims[i >= axis] *= x->dims[i];
    copy_as(c, 2, dims);
}

static void reshape_like(ref_call *c)
{
    copy_as(c, c->in[1].ndim, c->in[1].dims);
}

static void ndarray_size(ref_call *c)
{
    ref_make(c, 0, ref_dtype(c, "dtype", GPUC_INT64), 0, NULL)->v[0] = (double)c->in[0].count;
}

const ref_row ref_rows_shape[] = {
    {"nn.batch_flatten", batch_flatten},
    {"reshape_like", reshape_like},
    {"ndarray_size", ndarray_size},
    {"reshape", reshape},
    {"squeeze", squeeze},
    {"expand_dims", expand_dims},
    {"sizes", sizes},
    {NULL, NULL},
};
