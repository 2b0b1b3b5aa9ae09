/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static bool less(double a, double b)
{
    return a < b || (!isnan(a) && isnan(b));
}

/* Insertion: slow, stable, plain. */
static void order(const double *v, int64_t n, bool descending, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i;
        for (; k > 0; k--) {
            double before = v[out[k - 1]];
            if (!(descending ? less(before, v[i]) : less(v[i], before))) break;
            out[k] = out[k - 1];
        }
        out[k] = i;
    }
}

/* Output 0: values or positions; output 1, of topk that has both: positions. */
static void sort(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    const char *ret = ref_string(c, "ret_type", "both");
    bool top = !strcmp(c->op, "topk"), both = top && !strcmp(ret, "both");
    bool argsort = !strcmp(c->op, "argsort") || !strcmp(ret, "indices");
    bool descending = top ? ref_int(c, "largest", 1) : !ref_int(c, "is_ascend", 1);
    int axis = x->ndim ? ref_axis(c, -1) : 0;
    bool wide = strstr(c->attrs, "int64");
    gpuc_dtype type = wide ? GPUC_INT64 : GPUC_INT32;
    int64_t dims[REF_DIMS + 1] = {1}, index[REF_DIMS + 1] = {0}, n = x->ndim ? x->dims[axis] : 1;
    memcpy(dims, x->dims, sizeof dims[0] * (size_t)x->ndim);
    if (top) dims[axis] = ref_int(c, "k", 1);
    ref_tensor *y = ref_make(c, 0, argsort ? type : x->dtype, x->ndim, dims), *at = NULL;
    if (both) at = ref_make(c, 1, type, x->ndim, dims);
    c->num_out = 1 + both;
    double *v = malloc(sizeof *v * (size_t)(n + 1));
    int64_t *positions = malloc(sizeof *positions * (size_t)(n + 1));
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        if (x->ndim && index[axis] != 0) continue; /* each row once */
        for (int64_t i = 0; i < n; i++) {
            index[axis] = i;
            v[i] = x->v[ref_at(x, index)];
        }
        order(v, n, descending, positions);
        for (int64_t i = 0; i < (x->ndim ? dims[axis] : 1); i++) {
            index[axis] = i;
            int64_t to = ref_at(y, index);
            y->v[to] = argsort ? (double)positions[i] : v[positions[i]];
            if (at) at->v[to] = (double)positions[i];
        }
    }
    free(v);
    free(positions);
}

/* Of a list that is no permutation, the order of its elements. */
static void invert_permutation(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    ref_tensor *y = ref_make(c, 0, x->dtype, 1, x->dims);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t place = 0;
        for (int64_t k = 0; k < x->count; k++) place += x->v[k] < x->v[i] || (x->v[k] == x->v[i] && k < i);
        y->v[place] = (double)i;
    }
}

const ref_row ref_rows_sort[] = {{"invert_permutation", invert_permutation},
                                 {"sort", sort},
                                 {"argsort", sort},
                                 {"topk", sort},
                                 {NULL, NULL}};
