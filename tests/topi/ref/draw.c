/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "random.h"

static double unit(gpuc_dtype t, uint64_t word)
{
    return t.bits == 64 ? (double)(word >> 12) / 4503599627370496.0 : (double)(word >> 41) / 8388608.0;
}

static void numbers(ref_call *c, int each)
{
    gpuc_dtype t = ref_dtype(c, "out_dtype", GPUC_FLOAT32);
    int64_t dims[REF_DIMS], n = 1;
    int ndim = ref_ints(c, "out_shape", dims);
    for (int i = 0; i < ndim; i++) n *= dims[i];
    double a = c->in[1].v[0], b = c->in[2].v[0];
    uint64_t *words = ref_random_words(c, each * n);
    ref_tensor *y = ref_make(c, 1, t, ndim, dims);
    for (int64_t i = 0; i < n; i++) {
        double u = unit(t, words[i]);
        y->v[i] = each == 1
                      ? u * (b - a) + a
                      : sqrt(-2 * log(1 - u)) * sin(6.28318530717958648 * unit(t, words[n + i])) * b + a;
    }
    free(words);
    c->num_out = 2;
}

static void uniform(ref_call *c)
{
    numbers(c, 1);
}

static void normal(ref_call *c)
{
    numbers(c, 2);
}

static void multinomial(ref_call *c)
{
    const ref_tensor *p = &c->in[1];
    int64_t dims[REF_DIMS], n = 1, last = p->ndim - 1, size = p->dims[last];
    for (int i = 0; i < last; i++) dims[i] = p->dims[i];
    dims[last] = ref_int(c, "num_samples", 1);
    for (int i = 0; i <= last; i++) n *= dims[i];
    uint64_t *words = ref_random_words(c, n);
    ref_tensor *y = ref_make(c, 1, GPUC_INT32, p->ndim, dims);
    for (int64_t i = 0; i < n; i++) {
        const double *row = p->v + i / dims[last] * size;
        float all = 0, sum = 0;
        for (int64_t k = 0; k < size; k++) all += row[k] > 0 ? (float)row[k] : 0;
        float end = (float)unit(GPUC_FLOAT32, words[i]) * all;
        int64_t at = 0;
        for (int64_t k = 0; k < size; k++) {
            sum += row[k] > 0 ? (float)row[k] : 0;
            at += sum <= end;
        }
        y->v[i] = (double)(at < size ? at : size - 1);
    }
    free(words);
    c->num_out = 2;
}

const ref_row ref_rows_draw[] = {{"random.uniform", uniform},
                                 {"random.normal", normal},
                                 {"random.multinomial", multinomial},
                                 {NULL, NULL}};
