/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "ref.h"

static double product(double x, double m, double left, double right)
{
    return floor(x * exp2(left) * m / exp2(31 + right) + 0.5);
}

static void multiply(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    double m = (double)ref_int(c, "multiplier", 0), by = (double)ref_int(c, "shift", 0);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) y->v[p] = product(x->v[p], m, by > 0 ? by : 0, by < 0 ? -by : 0);
}

static void per_axis(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t axes[REF_DIMS], index[REF_DIMS], at[REF_DIMS];
    int n = ref_ints(c, "axes", axes);
    bool left = ref_int(c, "is_lshift_required", 0), right = ref_int(c, "is_rshift_required", 0);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        for (int k = 0; k < n; k++) at[k] = index[axes[k] < 0 ? axes[k] + x->ndim : axes[k]];
        int64_t k = ref_at(&c->in[1], at);
        y->v[p] = product(x->v[p], c->in[1].v[k], left ? c->in[2].v[k] : 0, right ? c->in[3].v[k] : 0);
    }
}

const ref_row ref_rows_fixed_point[] = {
    {"fixed_point_multiply", multiply}, {"fixed_point_multiply_per_axis", per_axis}, {NULL, NULL}};
