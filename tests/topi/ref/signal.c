/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

/* Adds a number turned by angle to a complex one. */
static void add_turned(double *out, double re, double im, double angle)
{
    out[0] += re * cos(angle) - im * sin(angle);
    out[1] += re * sin(angle) + im * cos(angle);
}

static void dft(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int ndim = x->ndim, axis = (int)ref_int(c, "axis", -2);
    bool inverse = ref_int(c, "inverse", 0), complex = x->dims[ndim - 1] == 2;
    int64_t n = ref_int(c, "length", 0), dims[REF_DIMS], at[REF_DIMS];
    if (axis < 0) axis += ndim;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = ref_int(c, "onesided", 0) ? n / 2 + 1 : n;
    dims[ndim - 1] = 2;
    ref_tensor *y = ref_make(c, 0, x->dtype, ndim, dims);
    for (int64_t p = 0; p < y->count; p += 2) {
        ref_index(y, p, at);
        int64_t k = at[axis];
        for (int64_t i = 0; i < n && i < x->dims[axis]; i++) {
            at[axis] = i;
            at[ndim - 1] = 0;
            int64_t from = ref_at(x, at);
            double angle = 2 * M_PI * (double)(i * k % n) / (double)n;
            add_turned(y->v + p, x->v[from], complex ? x->v[from + 1] : 0, inverse ? angle : -angle);
        }
        for (int64_t i = 0; i < 2 && inverse; i++) y->v[p + i] /= (double)n;
    }
}

static void stft(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t n = ref_int(c, "length", 0), step = ref_int(c, "step", 0), parts = x->dims[2];
    int64_t dims[] = {x->dims[0], (x->dims[1] - n) / step + 1, ref_int(c, "onesided", 1) ? n / 2 + 1 : n, 2};
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    for (int64_t p = 0; p < y->count; p += 2) {
        int64_t at[REF_DIMS];
        ref_index(y, p, at);
        for (int64_t i = 0; i < n; i++) {
            int64_t from = (at[0] * x->dims[1] + at[1] * step + i) * parts;
            double w = c->num_in > 1 ? c->in[1].v[i] : 1, im = parts == 2 ? x->v[from + 1] : 0;
            add_turned(y->v + p, w * x->v[from], w * im, -2 * M_PI * (double)(i * at[2] % n) / (double)n);
        }
    }
}

static void window(ref_call *c)
{
    int64_t size = ref_int(c, "size", 0), period = ref_int(c, "periodic", 1) ? size : size - 1;
    double a[8];
    ref_floats(c, "terms", a);
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "dtype", GPUC_FLOAT32), 1, &size);
    for (int64_t i = 0; i < size; i++) {
        double x = period ? 2 * M_PI * (double)i / (double)period : 0,
               v = a[0] - a[1] * cos(x) + a[2] * cos(2 * x);
        y->v[i] = ref_is_float(y->dtype) ? v : trunc(v);
    }
}

/* As the function of ONNX's reference does it. */
static void mel(ref_call *c)
{
    int64_t bands = ref_int(c, "num_mel_bins", 0), length = ref_int(c, "dft_length", 0);
    int64_t dims[] = {length / 2 + 1, bands};
    double low = 2595 * log10(1 + c->in[1].v[0] / 700), high = 2595 * log10(1 + c->in[2].v[0] / 700);
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "dtype", GPUC_FLOAT32), 2, dims);
    for (int64_t b = 0; b < bands; b++) {
        int64_t edge[3];
        for (int i = 0; i < 3; i++) {
            double mel = (double)(b + i) * (high - low) / (double)(bands + 2) + low;
            edge[i] = (int64_t)floor((double)(length + 1) * 700 * (pow(10, mel / 2595) - 1) / c->in[0].v[0]);
        }
        if (edge[0] == edge[1] && edge[1] < dims[0]) y->v[edge[1] * bands + b] = 1;
        for (int64_t j = edge[0]; j <= edge[1] && j < dims[0] && edge[1] > edge[0]; j++)
            y->v[j * bands + b] = (double)(j - edge[0]) / (double)(edge[1] - edge[0]);
        for (int64_t j = edge[1]; j < edge[2] && j < dims[0]; j++)
            y->v[j * bands + b] = (double)(edge[2] - j) / (double)(edge[2] - edge[1]);
    }
}

const ref_row ref_rows_signal[] = {
    {"dft", dft}, {"stft", stft}, {"window", window}, {"mel_weight_matrix", mel}, {NULL, NULL}};
