/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

/* An input as it is meant: its dimension axes[i] is dimension i. */
static ref_tensor meant(const ref_call *c, int i, const char *attr)
{
    int64_t axes[REF_DIMS];
    if (ref_ints(c, attr, axes) == 0)
        for (int k = 0; k < REF_DIMS; k++) axes[k] = k;
    return ref_transpose(&c->in[i], axes);
}

/* Weighs the rows of v by softmax(q k^T * scale + bias): for one row of q, index [batch..., row, 0]. */
static void attend_row(const ref_call *c, const ref_tensor *q, const ref_tensor *k, const ref_tensor *v,
                       const int64_t *index, int ndim, ref_tensor *y)
{
    int64_t keys = k->dims[k->ndim - 2], size = q->dims[q->ndim - 1], at[REF_DIMS];
    double *score = malloc(sizeof *score * (size_t)(keys + 1)), max = -INFINITY, total = 0,
           fill = ref_float(c, "fill", -INFINITY), scale = ref_float(c, "scale", 1);
    for (int64_t j = 0; j < keys; j++) {
        double dot = 0;
        for (int64_t d = 0; d < size; d++) {
            memcpy(at, index, sizeof at);
            at[ndim - 1] = d;
            double x = ref_broadcast(q, ndim, at);
            at[ndim - 2] = j;
            dot += x * ref_broadcast(k, ndim, at);
        }
        score[j] = dot * scale;
        memcpy(at, index, sizeof at);
        at[ndim - 1] = j;
        if (c->num_in > 3) {
            double bias = ref_broadcast(&c->in[3], ndim, at);
            if (c->in[3].dtype.code != GPUC_DTYPE_BOOL)
                score[j] += bias;
            else if (bias == 0)
                score[j] = fill;
        }
        if (score[j] > max) max = score[j];
    }
    bool none = max == -INFINITY && ref_int(c, "empty_is_zero", 0);
    for (int64_t j = 0; j < keys; j++) total += score[j] = none ? 0 : exp(score[j] - max);
    for (int64_t e = 0; e < y->dims[ndim - 1]; e++) {
        double sum = 0;
        for (int64_t j = 0; j < keys; j++) {
            memcpy(at, index, sizeof at);
            at[ndim - 2] = j;
            at[ndim - 1] = e;
            sum += (none ? 0 : score[j] / total) * ref_broadcast(v, ndim, at);
        }
        memcpy(at, index, sizeof at);
        at[ndim - 1] = e;
        y->v[ref_at(y, at)] = sum;
    }
    free(score);
}

static void attention(ref_call *c)
{
    static const char *const attrs[] = {"query_axes", "key_axes", "value_axes"};
    ref_tensor x[3], y = {.dtype = c->in[0].dtype, .count = 1};
    int64_t index[REF_DIMS], axes[REF_DIMS];
    for (int i = 0; i < 3; i++) x[i] = meant(c, i, attrs[i]);
    for (int i = 0; i < c->num_in; i++)
        if (c->in[i].ndim > y.ndim) y.ndim = c->in[i].ndim;
    for (int k = 0; k < y.ndim - 2; k++) {
        y.dims[k] = 1;
        for (int i = 0; i < c->num_in; i++) {
            const ref_tensor *t = i < 3 ? &x[i] : &c->in[i];
            int own = k - (y.ndim - t->ndim);
            if (own >= 0 && t->dims[own] != 1) y.dims[k] = t->dims[own];
        }
    }
    y.dims[y.ndim - 2] = x[0].dims[x[0].ndim - 2];
    y.dims[y.ndim - 1] = x[2].dims[x[2].ndim - 1];
    for (int k = 0; k < y.ndim; k++) y.count *= y.dims[k];
    y.v = calloc((size_t)y.count + 1, sizeof *y.v);
    for (int64_t p = 0; p < y.count; p++) {
        ref_index(&y, p, index);
        if (index[y.ndim - 1] == 0) attend_row(c, &x[0], &x[1], &x[2], index, y.ndim, &y);
    }
    if (ref_ints(c, "out_axes", axes) == 0)
        for (int k = 0; k < REF_DIMS; k++) axes[k] = k;
    ref_tensor stored = ref_transpose(&y, axes), *out = ref_make(c, 0, y.dtype, stored.ndim, stored.dims);
    memcpy(out->v, stored.v, sizeof *out->v * (size_t)out->count);
    for (int i = 0; i < 3; i++) free(x[i].v);
    free(y.v);
    free(stored.v);
}

/* Each pair is turned by its angle. */
static void rotary(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *cosine = &c->in[1], *sine = &c->in[2];
    int64_t half = cosine->dims[2], index[REF_DIMS];
    bool neighbours = ref_int(c, "interleaved", 0);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    memcpy(y->v, x->v, sizeof *y->v * (size_t)x->count);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        if (index[3] >= half) continue;
        int64_t k = index[3], angle[] = {cosine->dims[0] == 1 ? 0 : index[0], index[2], k};
        double u = cosine->v[ref_at(cosine, angle)], v = sine->v[ref_at(sine, angle)];
        index[3] = neighbours ? 2 * k : k;
        int64_t first = ref_at(x, index);
        index[3] = neighbours ? 2 * k + 1 : half + k;
        int64_t second = ref_at(x, index);
        y->v[first] = u * x->v[first] - v * x->v[second];
        y->v[second] = v * x->v[first] + u * x->v[second];
    }
}

const ref_row ref_rows_attention[] = {
    {"nn.attention", attention}, {"nn.rotary_embedding", rotary}, {NULL, NULL}};
