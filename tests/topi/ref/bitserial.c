/* SPDX-License-Identifier: Apache-2.0 */
/* By the bits of each element; no word is made but for packing. */
#include <string.h>

#include "ref.h"

static int bit_of(double v, int64_t b)
{
    return (int)((uint64_t)(int64_t)v >> b & 1);
}

static void pack(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    gpuc_dtype word = ref_dtype(c, "pack_type", GPUC_UINT32);
    int64_t bits = ref_int(c, "bits", 1), axis = ref_int(c, "pack_axis", 1),
            plane = ref_int(c, "bit_axis", -1);
    int64_t dims[REF_DIMS], index[REF_DIMS], to[REF_DIMS];
    if (axis < 0) axis += x->ndim;
    if (plane < 0) plane += x->ndim + 1;
    for (int k = 0, from = 0; k <= x->ndim; k++) {
        dims[k] = k == plane ? bits : x->dims[from] / (from == axis ? word.bits : 1);
        from += k != plane;
    }
    ref_tensor *y = ref_make(c, 0, word, x->ndim + 1, dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        int64_t bit = word.bits - 1 - index[axis] % word.bits;
        index[axis] /= word.bits;
        for (int64_t b = 0; b < bits; b++) {
            for (int k = 0, from = 0; k <= x->ndim; k++) {
                to[k] = k == plane ? b : index[from];
                from += k != plane;
            }
            y->v[ref_at(y, to)] += bit_of(x->v[p], b) ? (double)((uint64_t)1 << bit) : 0;
        }
    }
}

/* The number that the low bits of the data are, times that of the weight: of each bit 1, or 1 and -1. */
static double product(const ref_call *c, const char *data_bits, double x, const double *weight_bits)
{
    int64_t db = ref_int(c, data_bits, 1), wb = ref_int(c, "weight_bits", 1);
    bool unipolar = ref_int(c, "unipolar", 1);
    double a = 0, b = 0;
    for (int64_t k = 0; k < db; k++) a += bit_of(x, k) ? (double)((int64_t)1 << k) : 0;
    for (int64_t k = 0; k < wb; k++)
        b += (weight_bits[k] != 0 ? 1.0 : unipolar ? -1.0 : 0.0) * (double)((int64_t)1 << k);
    return a * b;
}

/* Bits of a weight at an index without the axis of bits, and element `in` of dimension axis. */
static void weight_bits(const ref_call *c, const int64_t *index, int ndim, int axis, int plane, double *out)
{
    const ref_tensor *w = &c->in[1];
    int64_t wb = ref_int(c, "weight_bits", 1), at[REF_DIMS];
    for (int64_t k = 0; k < wb; k++) {
        if (w->ndim == ndim) {
            out[k] = bit_of(w->v[ref_at(w, index)], k);
            continue;
        }
        int width = w->dtype.bits;
        for (int d = 0, from = 0; d <= ndim; d++) {
            at[d] = d == plane ? k : index[from] / (from == axis ? width : 1);
            from += d != plane;
        }
        out[k] = (int)((uint64_t)w->v[ref_at(w, at)] >> (width - 1 - index[axis] % width) & 1);
    }
}

static void dense(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t dims[REF_DIMS], K = x->dims[x->ndim - 1];
    memcpy(dims, x->dims, sizeof dims);
    dims[x->ndim - 1] = c->in[1].dims[0];
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "out_dtype", GPUC_INT16), x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++)
        for (int64_t k = 0; k < K; k++) {
            double bits[8];
            int64_t units = c->in[1].dims[0], at[] = {p % units, k};
            weight_bits(c, at, 2, 1, 1, bits);
            y->v[p] += product(c, "data_bits", x->v[p / units * K + k], bits);
        }
}

static void conv(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *w = &c->in[1];
    bool last = !strcmp(ref_string(c, "data_layout", "NCHW"), "NHWC");
    int ch = last ? 3 : 1, sp = last ? 1 : 2, wo = last ? 3 : 0, wi = last ? 2 : 1, ws = last ? 0 : 2;
    int64_t strides[REF_DIMS], padding[REF_DIMS], dims[4] = {x->dims[0]}, i[REF_DIMS];
    ref_ints(c, "strides", strides);
    ref_ints(c, "padding", padding);
    dims[ch] = w->dims[wo];
    for (int k = 0; k < 2; k++)
        dims[sp + k] = (x->dims[sp + k] + padding[k] + padding[2 + k] - w->dims[ws + k]) / strides[k] + 1;
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "out_dtype", GPUC_INT16), 4, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, i);
        for (int64_t q = 0; q < x->dims[ch] * w->dims[ws] * w->dims[ws + 1]; q++) {
            int64_t at[4] = {i[0]}, of[4], k[] = {q / w->dims[ws + 1] % w->dims[ws], q % w->dims[ws + 1]};
            bool inside = true;
            at[ch] = of[wi] = q / w->dims[ws + 1] / w->dims[ws];
            of[wo] = i[ch];
            for (int s = 0; s < 2; s++) {
                of[ws + s] = k[s];
                at[sp + s] = i[sp + s] * strides[s] + k[s] - padding[s];
                inside &= at[sp + s] >= 0 && at[sp + s] < x->dims[sp + s];
            }
            double bits[8];
            if (!inside) continue;
            weight_bits(c, of, 4, wi, 4, bits);
            y->v[p] += product(c, "activation_bits", x->v[ref_at(x, at)], bits);
        }
    }
}

const ref_row ref_rows_bitserial[] = {
    {"nn.bitpack", pack}, {"nn.bitserial_dense", dense}, {"nn.bitserial_conv2d", conv}, {NULL, NULL}};
