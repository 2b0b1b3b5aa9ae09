/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static double combine(const char *op, gpuc_dtype t, double a, double b)
{
    if (!strcmp(op, "prod")) return a * b;
    if (!strcmp(op, "max")) return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    if (!strcmp(op, "min")) return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    if (!strcmp(op, "all")) return a && b;
    if (!strcmp(op, "any") || t.code == GPUC_DTYPE_BOOL) return a || b;
    return a + b; /* sum, mean */
}

static double min(gpuc_dtype t)
{
    if (ref_is_float(t)) return -INFINITY;
    return t.code == GPUC_DTYPE_INT ? -exp2(t.bits - 1) : 0;
}

static double max(gpuc_dtype t)
{
    if (ref_is_float(t)) return INFINITY;
    return t.code == GPUC_DTYPE_INT ? exp2(t.bits - 1) - 1 : exp2(t.bits) - 1;
}

static double identity(const char *op, gpuc_dtype t)
{
    if (!strcmp(op, "max")) return min(t);
    if (!strcmp(op, "min")) return max(t);
    return !strcmp(op, "prod") || !strcmp(op, "all");
}

static void reduce(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], dims[REF_DIMS], index[REF_DIMS], to[REF_DIMS], number = 1;
    int num_axes = ref_ints(c, "axis", axes), n = 0;
    bool keep = ref_int(c, "keepdims", 0), reduced[REF_DIMS];
    for (int i = 0; i < x->ndim; i++) {
        reduced[i] = num_axes == 0;
        for (int k = 0; k < num_axes; k++) reduced[i] |= axes[k] == i || axes[k] + x->ndim == i;
        if (reduced[i]) number *= x->dims[i];
        if (!reduced[i] || keep) dims[n++] = reduced[i] ? 1 : x->dims[i];
    }
    bool logic = !strcmp(c->op, "all") || !strcmp(c->op, "any");
    ref_tensor *y = ref_make(c, 0, logic ? GPUC_BOOL : x->dtype, n, dims);
    for (int64_t p = 0; p < y->count; p++) y->v[p] = identity(c->op, x->dtype);
    for (int64_t p = 0; p < x->count; p++) {
        int at = 0;
        ref_index(x, p, index);
        for (int i = 0; i < x->ndim; i++)
            if (!reduced[i] || keep) to[at++] = reduced[i] ? 0 : index[i];
        double *sum = &y->v[ref_at(y, to)];
        *sum = combine(c->op, x->dtype, *sum, x->v[p]);
    }
    for (int64_t p = 0; p < y->count && !strcmp(c->op, "mean"); p++)
        y->v[p] = ref_is_float(x->dtype) ? y->v[p] / (double)number : trunc(y->v[p] / (double)number);
}

const ref_row ref_rows_reduce[] = {
    {"sum", reduce},  {"mean", reduce}, {"max", reduce}, {"min", reduce},
    {"prod", reduce}, {"all", reduce},  {"any", reduce}, {NULL, NULL},
};
