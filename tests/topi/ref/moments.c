/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

/* The elements of one result, in v. */
typedef double moment_fn(const ref_call *c, int64_t n, const double *v, const double *means);

static double variance(const ref_call *c, int64_t n, const double *v, const double *means)
{
    double mean = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) mean += v[i] / (double)n;
    for (int64_t i = 0; i < n; i++) sum += pow(v[i] - (means ? means[i] : mean), 2);
    double y = sum / (double)(n - ref_int(c, "unbiased", 0));
    return strcmp(c->op, "std") ? y : sqrt(y);
}

static double logsumexp(const ref_call *c, int64_t n, const double *v, const double *means)
{
    double sum = 0;
    (void)c;
    (void)means;
    for (int64_t i = 0; i < n; i++) sum += exp(v[i]);
    return log(sum);
}

static void moment(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], dims[REF_DIMS], index[REF_DIMS], to[REF_DIMS], from[REF_DIMS];
    int num_axes = ref_ints(c, "axis", axes), n = 0;
    bool keep = ref_int(c, "keepdims", 0), over[REF_DIMS];
    for (int i = 0; i < x->ndim; i++) {
        over[i] = num_axes == 0;
        for (int k = 0; k < num_axes; k++) over[i] |= axes[k] == i || axes[k] + x->ndim == i;
        over[i] ^= ref_int(c, "exclude", 0);
        if (!over[i] || keep) dims[n++] = over[i] ? 1 : x->dims[i];
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, n, dims);
    double *v = malloc(sizeof *v * (size_t)(x->count + 1)),
           *means = malloc(sizeof *v * (size_t)(x->count + 1));
    for (int64_t p = 0; p < y->count; p++) {
        int64_t count = 0;
        ref_index(y, p, to);
        for (int64_t q = 0; q < x->count; q++) {
            bool here = true;
            ref_index(x, q, index);
            for (int i = 0, at = 0; i < x->ndim; i++) {
                if (!over[i]) here &= index[i] == to[at];
                at += !over[i] || keep;
            }
            if (!here) continue;
            memcpy(from, index, sizeof from);
            if (c->num_in > 1) means[count] = ref_broadcast(&c->in[1], x->ndim, from);
            v[count++] = x->v[q];
        }
        moment_fn *fn = strcmp(c->op, "logsumexp") ? variance : logsumexp;
        y->v[p] = fn(c, count, v, c->num_in > 1 ? means : NULL);
    }
    free(v);
    free(means);
}

const ref_row ref_rows_moments[] = {
    {"variance", moment}, {"std", moment}, {"logsumexp", moment}, {NULL, NULL}};
