/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static int axis_of(const ref_call *c, int64_t otherwise)
{
    int64_t axis = ref_int(c, "axis", otherwise);
    return (int)(axis < 0 ? axis + c->in[0].ndim : axis);
}

static void softmax(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = axis_of(c, -1);
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        double max = -INFINITY, sum = 0;
        ref_index(x, p, index);
        for (index[axis] = 0; index[axis] < x->dims[axis]; index[axis]++)
            max = fmax(max, x->v[ref_at(x, index)]);
        for (index[axis] = 0; index[axis] < x->dims[axis]; index[axis]++)
            sum += exp(x->v[ref_at(x, index)] - max);
        y->v[p] = strcmp(c->op, "nn.softmax") ? x->v[p] - max - log(sum) : exp(x->v[p] - max) / sum;
    }
}

static void lrn(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int axis = axis_of(c, 1);
    int64_t size = ref_int(c, "size", 1), index[REF_DIMS];
    double alpha = ref_float(c, "alpha", 1e-4), beta = ref_float(c, "beta", 0.75),
           bias = ref_float(c, "bias", 2);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        double sum = 0;
        ref_index(x, p, index);
        int64_t from = index[axis] - (size - 1) / 2, to = index[axis] + size / 2;
        for (int64_t k = from < 0 ? 0 : from; k <= to && k < x->dims[axis]; k++) {
            index[axis] = k;
            sum += pow(x->v[ref_at(x, index)], 2);
        }
        y->v[p] = x->v[p] / pow(bias + alpha / (double)size * sum, beta);
    }
}

/* Which set of statistics element p belongs to: those with the same numbers share. */
typedef enum sharing { PER_CHANNEL, PER_INSTANCE, PER_GROUP, PER_ROW } sharing;

static int64_t set_of(const ref_call *c, sharing how, int64_t p)
{
    const ref_tensor *x = &c->in[0];
    int64_t index[REF_DIMS], set = 0, groups = ref_int(c, "num_groups", 1);
    int axis = axis_of(c, how == PER_ROW ? -1 : 1);
    ref_index(x, p, index);
    if (how == PER_CHANNEL) return index[axis];
    if (how == PER_INSTANCE) return index[0] * x->dims[1] + index[1];
    if (how == PER_GROUP) return index[0] * groups + index[1] / (x->dims[1] / groups);
    for (int i = 0; i < axis; i++) set = set * x->dims[i] + index[i];
    return set;
}

/* Mean and variance of the set that p belongs to (mean of squares, if raw). */
static void statistics(const ref_call *c, sharing how, int64_t p, bool raw, double *mean, double *variance)
{
    const ref_tensor *x = &c->in[0];
    int64_t set = set_of(c, how, p), n = 0;
    *mean = *variance = 0;
    for (int64_t q = 0; q < x->count; q++) {
        if (set_of(c, how, q) != set) continue;
        *mean += x->v[q];
        n++;
    }
    *mean = raw ? 0 : *mean / (double)n;
    for (int64_t q = 0; q < x->count; q++)
        if (set_of(c, how, q) == set) *variance += (x->v[q] - *mean) * (x->v[q] - *mean) / (double)n;
}

static void batch_norm(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *gamma = &c->in[1], *beta = &c->in[2];
    double eps = ref_float(c, "epsilon", 1e-5), momentum = ref_float(c, "momentum", 0.9);
    bool training = ref_int(c, "training", 0);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int i = 1; training && i < 3; i++) ref_make(c, i, c->in[2 + i].dtype, 1, gamma->dims);
    if (training) c->num_out = 3;
    for (int64_t p = 0; p < x->count; p++) {
        int64_t k = set_of(c, PER_CHANNEL, p);
        double mean = c->in[3].v[k], variance = c->in[4].v[k];
        if (training) {
            statistics(c, PER_CHANNEL, p, false, &mean, &variance);
            c->out[1].v[k] = c->in[3].v[k] * momentum + mean * (1 - momentum);
            c->out[2].v[k] = c->in[4].v[k] * momentum + variance * (1 - momentum);
        }
        y->v[p] = (x->v[p] - mean) / sqrt(variance + eps) * gamma->v[k] + beta->v[k];
    }
}

static void normalize(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    double eps = ref_float(c, "epsilon", 1e-5), mean, variance;
    bool rms = strstr(c->op, "rms") != NULL;
    sharing how = strstr(c->op, "instance") ? PER_INSTANCE : strstr(c->op, "group") ? PER_GROUP : PER_ROW;
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        int64_t index[REF_DIMS];
        ref_index(x, p, index);
        statistics(c, how, p, rms, &mean, &variance);
        y->v[p] = (x->v[p] - mean) / sqrt(variance + eps);
        for (int i = 1; i < c->num_in; i++) {
            double v = how == PER_ROW ? ref_broadcast(&c->in[i], x->ndim, index) : c->in[i].v[index[1]];
            y->v[p] = i == 1 ? y->v[p] * v : y->v[p] + v;
        }
    }
}

/* x * scale + shift; bias_add has the shift alone. */
static void scale_shift(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    bool bias = strstr(c->op, "bias") != NULL;
    int axis = axis_of(c, strstr(c->op, "nhwc") ? -1 : 1);
    int64_t index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        y->v[p] = x->v[p] * (bias ? 1 : c->in[1].v[index[axis]]);
        if (bias || c->num_in > 2) y->v[p] += c->in[bias ? 1 : 2].v[index[axis]];
    }
}

static void l2_normalize(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], index[REF_DIMS], other[REF_DIMS];
    int n = ref_ints(c, "axis", axes);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        double sum = 0;
        ref_index(x, p, index);
        for (int64_t q = 0; q < x->count; q++) {
            bool shared = true;
            ref_index(x, q, other);
            for (int i = 0; i < x->ndim; i++) {
                bool over = n == 0;
                for (int k = 0; k < n; k++) over |= (axes[k] + x->ndim) % x->ndim == i;
                shared &= over || other[i] == index[i];
            }
            if (shared) sum += x->v[q] * x->v[q];
        }
        y->v[p] = x->v[p] / sqrt(fmax(sum, ref_float(c, "eps", 1e-12)));
    }
}

const ref_row ref_rows_normalize[] = {
    {"nn.softmax", softmax},
    {"nn.log_softmax", softmax},
    {"nn.lrn", lrn},
    {"nn.l2_normalize", l2_normalize},
    {"nn.scale_shift_nchw", scale_shift},
    {"nn.scale_shift_nhwc", scale_shift},
    {"nn.bias_add", scale_shift},
    {"nn.batch_norm", batch_norm},
    {"nn.instance_norm", normalize},
    {"nn.group_norm", normalize},
    {"nn.layer_norm", normalize},
    {"nn.rms_norm", normalize},
    {NULL, NULL},
};
