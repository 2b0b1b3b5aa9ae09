/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions of functions are made of. */
#ifndef GPUC_LOWER_INTRINSICS_MATH_H
#define GPUC_LOWER_INTRINSICS_MATH_H

#include "lower/intrinsics.h"

static inline gpuc_expr num(gpuc_intrin *x, double v)
{
    return gpuc_imm(x->ctx, x->t, v);
}

static inline gpuc_expr op1(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a)
{
    return gpuc_tir_make(x->ctx, op, a, NULL, NULL);
}

static inline gpuc_expr absolute(gpuc_intrin *x, gpuc_expr a)
{
    return op1(x, GPUC_TIR_ABS, a);
}

static inline gpuc_expr negated(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_sub(x->ctx, num(x, -0.0), a);
}

/* c[0] * z^(n-1) + ... + c[n-1] */
static inline gpuc_expr polynomial(gpuc_intrin *x, gpuc_expr z, int n, const double *c)
{
    gpuc_expr p = num(x, c[0]);
    for (int i = 1; i < n; i++) p = gpuc_add(x->ctx, gpuc_mul(x->ctx, p, z), num(x, c[i]));
    return p;
}
#define POLYNOMIAL(x, z, c) polynomial((x), (z), (int)(sizeof(c) / sizeof(c)[0]), (c))

/* r >= 0 with the sign of a. */
static inline gpuc_expr with_sign(gpuc_intrin *x, gpuc_expr r, gpuc_expr a)
{
    return gpuc_select(x->ctx, gpuc_lt(x->ctx, a, num(x, 0)), negated(x, r), r);
}

#endif
