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

static int axis_of(const ref_call *c, int64_t otherwise)
{
    int64_t axis = ref_int(c, "axis", otherwise);
    return (int)(axis < 0 ? axis + c->in[0].ndim : axis);
}

static void concatenate(ref_call *c)
{
    int axis = axis_of(c, 0), ndim = c->in[0].ndim;
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
    int axis = axis_of(c, 0);
    c->num_out = ref_ints(c, "sizes", parts);
    memcpy(sizes, c->in[0].dims, sizeof sizes);
    for (int i = 0; i < REF_DIMS; i++) strides[i] = 1;
    for (int i = 0; i < c->num_out; i++) {
        sizes[axis] = parts[i];
        slice_into(c, i, begin, sizes, strides);
        begin[axis] += parts[i];
    }
}

/* Where position p of a dimension of extent n comes from; -1: from nowhere. */
static int64_t pad_source(const char *mode, int64_t p, int64_t n)
{
    if (p >= 0 && p < n) return p;
    if (!strcmp(mode, "edge")) return p < 0 ? 0 : n - 1;
    if (!strcmp(mode, "wrap")) return (p % n + n) % n;
    if (strcmp(mode, "reflect")) return -1;
    while (n > 1 && (p < 0 || p >= n)) p = p < 0 ? -p : 2 * (n - 1) - p;
    return n > 1 ? p : 0;
}

static void pad(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t before[REF_DIMS], after[REF_DIMS], dims[REF_DIMS], index[REF_DIMS];
    char mode[16];
    strcpy(mode, ref_string(c, "mode", "constant"));
    ref_ints(c, "pad_before", before);
    ref_ints(c, "pad_after", after);
    for (int i = 0; i < x->ndim; i++) dims[i] = x->dims[i] + before[i] + after[i];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        bool inside = true;
        ref_index(y, p, index);
        for (int i = 0; i < x->ndim; i++) {
            index[i] = pad_source(mode, index[i] - before[i], x->dims[i]);
            inside &= index[i] >= 0;
        }
        y->v[p] = inside ? x->v[ref_at(x, index)] : ref_float(c, "value", 0);
    }
}

static void take(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *at = &c->in[1];
    int axis = axis_of(c, 0), n = 0;
    int64_t dims[REF_DIMS], index[REF_DIMS], from[REF_DIMS];
    for (int i = 0; i < axis; i++) dims[n++] = x->dims[i];
    for (int i = 0; i < at->ndim; i++) dims[n++] = at->dims[i];
    for (int i = axis + 1; i < x->ndim; i++) dims[n++] = x->dims[i];
    ref_tensor *y = ref_make(c, 0, x->dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        int64_t k = (int64_t)at->v[ref_at(at, index + axis)], extent = x->dims[axis];
        if (k < 0) k += extent;
        k = k < 0 ? 0 : k >= extent ? extent - 1 : k;
        for (int i = 0; i < axis; i++) from[i] = index[i];
        from[axis] = k;
        for (int i = axis + 1; i < x->ndim; i++) from[i] = index[i + at->ndim - 1];
        y->v[p] = x->v[ref_at(x, from)];
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

static void arange(ref_call *c)
{
    int64_t n = ref_int(c, "length", -1);
    double start = c->in[0].v[0], stop = c->in[1].v[0], step = c->in[2].v[0];
    if (n < 0)
        for (n = 0; step > 0 ? start + (double)n * step < stop : start + (double)n * step > stop;) n++;
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, 1, &n);
    for (int64_t i = 0; i < n; i++) y->v[i] = start + (double)i * step;
}

const ref_row ref_shape[] = {
    {"reshape", reshape},
    {"squeeze", squeeze},
    {"expand_dims", expand_dims},
    {"transpose", transpose},
    {"broadcast_to", broadcast_to},
    {"concatenate", concatenate},
    {"strided_slice", strided_slice},
    {"split", split},
    {"nn.pad", pad},
    {"take", take},
    {"tile", tile},
    {"arange", arange},
    {NULL, NULL},
};
