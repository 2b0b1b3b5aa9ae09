/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static void dense(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *w = &c->in[1];
    int64_t dims[REF_DIMS], n = w->dims[0], inner = w->dims[1], rows = 1;
    for (int i = 0; i < x->ndim; i++) dims[i] = x->dims[i];
    for (int i = 0; i < x->ndim - 1; i++) rows *= x->dims[i];
    dims[x->ndim - 1] = n;
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "out_dtype", x->dtype), x->ndim, dims);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < inner; k++) y->v[i * n + j] += x->v[i * inner + k] * w->v[j * inner + k];
}

/* b as [..., K, columns], if it is in blocks of columns: [..., N/b, K, b]. */
static ref_tensor without_blocks(const ref_call *c, double **blocks)
{
    ref_tensor b = c->in[1];
    *blocks = NULL;
    if (strcmp(ref_string(c, "b_layout", "KN"), "NKn")) return b;
    int n = b.ndim;
    int64_t count = b.dims[n - 3], inner = b.dims[n - 2], block = b.dims[n - 1], outer = 1,
            columns = ref_int(c, "columns", 0);
    for (int i = 0; i < n - 3; i++) outer *= b.dims[i];
    if (!columns) columns = count * block;
    double *v = calloc((size_t)(outer * inner * columns) + 1, sizeof *v);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < inner; k++)
            for (int64_t j = 0; j < columns; j++)
                v[(o * inner + k) * columns + j] =
                    b.v[((o * count + j / block) * inner + k) * block + j % block];
    *blocks = b.v = v;
    b.ndim = n - 1;
    b.dims[n - 3] = inner;
    b.dims[n - 2] = columns;
    return b;
}

/* A vector is a matrix of one row (a) or one column (b), and the dimension goes again at the end. */
static void matmul(ref_call *c)
{
    double *blocks;
    ref_tensor a = c->in[0], b = without_blocks(c, &blocks);
    bool row = a.ndim == 1, col = b.ndim == 1, ta = !row && ref_int(c, "transpose_a", 0),
         tb = !col && ref_int(c, "transpose_b", 0);
    if (row) {
        a.ndim = 2;
        a.dims[1] = a.dims[0];
        a.dims[0] = 1;
    }
    if (col) {
        b.ndim = 2;
        b.dims[1] = 1;
    }
    int batch = (a.ndim > b.ndim ? a.ndim : b.ndim) - 2, n = batch;
    int64_t dims[REF_DIMS], full[REF_DIMS], m = a.dims[a.ndim - (ta ? 1 : 2)],
                                            inner = a.dims[a.ndim - (ta ? 2 : 1)];
    int64_t width = b.dims[b.ndim - (tb ? 2 : 1)], outer = 1;
    for (int i = 0; i < batch; i++) {
        int ia = i - (batch - (a.ndim - 2)), ib = i - (batch - (b.ndim - 2));
        int64_t da = ia < 0 ? 1 : a.dims[ia], db = ib < 0 ? 1 : b.dims[ib];
        dims[i] = full[i] = da == 1 ? db : da;
        outer *= dims[i];
    }
    if (!row) dims[n++] = m;
    if (!col) dims[n++] = width;
    ref_tensor *y = ref_make(c, 0, ref_dtype(c, "out_dtype", a.dtype), n, dims);
    for (int64_t o = 0; o < outer; o++) {
        int64_t at_a[REF_DIMS], at_b[REF_DIMS], rest = o;
        for (int i = batch - 1; i >= 0; i--) {
            int ia = i - (batch - (a.ndim - 2)), ib = i - (batch - (b.ndim - 2));
            int64_t at = rest % full[i];
            rest /= full[i];
            if (ia >= 0) at_a[ia] = a.dims[ia] == 1 ? 0 : at;
            if (ib >= 0) at_b[ib] = b.dims[ib] == 1 ? 0 : at;
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < width; j++)
                for (int64_t k = 0; k < inner; k++) {
                    at_a[a.ndim - (ta ? 1 : 2)] = i;
                    at_a[a.ndim - (ta ? 2 : 1)] = k;
                    at_b[b.ndim - (tb ? 1 : 2)] = k;
                    at_b[b.ndim - (tb ? 2 : 1)] = j;
                    y->v[(o * m + i) * width + j] += a.v[ref_at(&a, at_a)] * b.v[ref_at(&b, at_b)];
                }
    }
    free(blocks);
}

const ref_row ref_rows_matmul[] = {{"nn.dense", dense}, {"nn.matmul", matmul}, {NULL, NULL}};
