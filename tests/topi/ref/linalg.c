/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "ref.h"

/* Laplace's expansion along the first row. */
static double determinant(const double *a, int64_t n)
{
    double sum = 0, *minor = malloc(sizeof *minor * (size_t)(n * n + 1));
    for (int64_t skip = 0; skip < n; skip++) {
        double *m = minor;
        for (int64_t i = 1; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (j != skip) *m++ = a[i * n + j];
        sum += (skip % 2 ? -1 : 1) * a[skip] * determinant(minor, n - 1);
    }
    free(minor);
    return n ? sum : 1;
}

static void det(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t n = x->dims[x->ndim - 1];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim - 2, x->dims);
    for (int64_t i = 0; i < y->count; i++) y->v[i] = determinant(x->v + i * n * n, n);
}

const ref_row ref_rows_linalg[] = {{"det", det}, {NULL, NULL}};
