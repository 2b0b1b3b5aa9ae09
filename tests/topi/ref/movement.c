/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

static void transpose(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t perm[REF_DIMS], dims[REF_DIMS], index[REF_DIMS], from[REF_DIMS];
    if (!ref_ints(c, "axes", perm))
        for (int i = 0; i < x->ndim; i++) perm[i] = x->ndim - 1 - i;
    for (int i = 0; i < x->ndim; i++) dims[i] = x->dims[perm[i]];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < x->ndim; i++) from[perm[i]] = index[i];
        y->v[p] = x->v[ref_at(x, from)];
    }
}

static void broadcast_to(ref_call *c)
{
    int64_t dims[REF_DIMS], index[REF_DIMS];
    int n = ref_ints(c, "shape", dims);
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        y->v[p] = ref_broadcast(&c->in[0], n, index);
    }
}

static void concatenate(ref_call *c)
{
    int axis = ref_axis(c, 0), ndim = c->in[0].ndim;
    int64_t dims[REF_DIMS], index[REF_DIMS];
    memcpy(dims, c->in[0].dims, sizeof dims);
    for (int i = 1; i < c->num_in; i++) dims[axis] += c->in[i].dims[axis];
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        int i = 0;
        for (ref_index(y, p, index); index[axis] >= c->in[i].dims[axis]; i++)
            index[axis] -= c->in[i].dims[axis];
        y->v[p] = c->in[i].v[ref_at(&c->in[i], index)];
    }
}

static void slice_into(ref_call *c, int out, const int64_t *begin, const int64_t *sizes,
                       const int64_t *strides)
{
    const ref_tensor *x = &c->in[0];
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, out, x->dtype, x->ndim, sizes);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < x->ndim; i++) index[i] = begin[i] + index[i] * strides[i];
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void strided_slice(ref_call *c)
{
    int64_t begin[REF_DIMS], sizes[REF_DIMS], strides[REF_DIMS];
    ref_ints(c, "begin", begin);
    ref_ints(c, "sizes", sizes);
    ref_ints(c, "strides", strides);
    slice_into(c, 0, begin, sizes, strides);
}

static void split(ref_call *c)
{
    int64_t parts[REF_OUTS], begin[REF_DIMS] = {0}, sizes[REF_DIMS], strides[REF_DIMS];
    int axis = ref_axis(c, 0);
    c->num_out = ref_ints(c, "sizes", parts);
    memcpy(sizes, c->in[0].dims, sizeof sizes);
    for (int i = 0; i < REF_DIMS; i++) strides[i] = 1;
    for (int i = 0; i < c->num_out; i++) {
        sizes[axis] = parts[i];
        slice_into(c, i, begin, sizes, strides);
        begin[axis] += parts[i];
    }
}

static void tile(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t reps[REF_DIMS], dims[REF_DIMS], index[REF_DIMS];
    ref_ints(c, "reps", reps);
    for (int i = 0; i < x->ndim; i++) dims[i] = x->dims[i] * reps[i];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < x->ndim; i++) index[i] %= x->dims[i];
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void reverse(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = ref_axis(c, 0);
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        index[axis] = x->dims[axis] - 1 - index[axis];
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void repeat(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = ref_axis(c, 0);
    int64_t n = ref_int(c, "repeats", 1), index[REF_DIMS], dims[REF_DIMS];
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] *= n;
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        index[axis] /= n;
        y->v[p] = x->v[ref_at(x, index)];
    }
}

static void stack(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axis = ref_int(c, "axis", 0), index[REF_DIMS], dims[REF_DIMS], from[REF_DIMS];
    if (axis < 0) axis += x->ndim + 1;
    for (int i = 0; i <= x->ndim; i++)
        dims[i] = i < axis ? x->dims[i] : i == axis ? c->num_in : x->dims[i - 1];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim + 1, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < x->ndim; i++) from[i] = index[i < axis ? i : i + 1];
        y->v[p] = c->in[index[axis]].v[ref_at(x, from)];
    }
}

static void sliding_window(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = ref_axis(c, 0);
    int64_t window[REF_DIMS], strides[REF_DIMS], dims[REF_DIMS], index[REF_DIMS];
    int n = ref_ints(c, "window_shape", window);
    ref_ints(c, "strides", strides);
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < n; i++) {
        dims[axis + i] = (x->dims[axis + i] - window[i]) / strides[i] + 1;
        dims[x->ndim + i] = window[i];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim + n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < n; i++) index[axis + i] = index[axis + i] * strides[i] + index[x->ndim + i];
        y->v[p] = x->v[ref_at(x, index)];
    }
}

/* numpy's slices of the first dimensions, at run time; sizes cut or go on at the last element. */
static void dynamic_strided_slice(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t sizes[REF_DIMS], dims[REF_DIMS], begin[REF_DIMS], stride[REF_DIMS], index[REF_DIMS];
    int given = ref_ints(c, "sizes", sizes), n = (int)c->in[1].count;
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < n; i++) {
        int64_t d = x->dims[i], b = (int64_t)c->in[1].v[i], e = (int64_t)c->in[2].v[i];
        int64_t s = c->num_in > 3 ? (int64_t)c->in[3].v[i] : 1;
        b = b < 0 ? b + d : b;
        e = e < 0 ? e + d : e;
        begin[i] = b < 0 ? 0 : b >= d ? d - 1 : b;
        stride[i] = s;
        dims[i] = given ? sizes[i] : 0;
        if (given) continue;
        for (int64_t at = b < 0 && s > 0    ? 0
                          : b >= d && s < 0 ? d - 1
                                            : b;
             s > 0 ? at < e && at < d : at > e && at >= 0; at += s)
            dims[i]++;
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        for (int i = 0; i < n; i++) {
            int64_t at = begin[i] + index[i] * stride[i];
            index[i] = at < 0 ? 0 : at >= x->dims[i] ? x->dims[i] - 1 : at;
        }
        y->v[p] = x->v[ref_at(x, index)];
    }
}

const ref_row ref_rows_movement[] = {
    {"reverse", reverse},
    {"repeat", repeat},
    {"stack", stack},
    {"sliding_window", sliding_window},
    {"dyn.strided_slice", dynamic_strided_slice},
    {"transpose", transpose},
    {"broadcast_to", broadcast_to},
    {"concatenate", concatenate},
    {"strided_slice", strided_slice},
    {"split", split},
    {"tile", tile},
    {NULL, NULL},
};
