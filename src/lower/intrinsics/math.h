/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions of functions are made of. */
#ifndef GPUC_LOWER_INTRINSICS_MATH_H
#define GPUC_LOWER_INTRINSICS_MATH_H

#include "lower/intrinsics/intrinsics.h"

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

/* Rounded by itself, whatever reads it. */
static inline gpuc_expr exact(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_tir_call(x->ctx, a->dtype, GPUC_TIR_CALL_EXACT, NULL, NULL, 1, &a);
}

/* Unsigned integers as wide as the operands, and as many. */
static inline gpuc_dtype gpuc_intrin_word_type(const gpuc_intrin *x)
{
    gpuc_dtype t = x->t;
    t.code = GPUC_DTYPE_UINT;
    return t;
}

static inline gpuc_expr gpuc_intrin_bits(gpuc_intrin *x, gpuc_expr a)
{
    return gpuc_tir_call(x->ctx, gpuc_intrin_word_type(x), GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &a);
}

static inline gpuc_expr gpuc_intrin_of_bits(gpuc_intrin *x, gpuc_expr u)
{
    return gpuc_tir_call(x->ctx, x->t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &u);
}

/* c[0] * z^(n-1) + ... + c[n-1] */
static inline gpuc_expr polynomial(gpuc_intrin *x, gpuc_expr z, int n, const double *c)
{
    gpuc_expr p = num(x, c[0]);
    for (int i = 1; i < n; i++) p = gpuc_add(x->ctx, gpuc_mul(x->ctx, p, z), num(x, c[i]));
    return p;
}
#define POLYNOMIAL(x, z, c) polynomial((x), (z), (int)(sizeof(c) / sizeof(c)[0]), (c))

/* r >= 0 with the sign of a, which -0 has, too. In float64 r is 0 where a is. */
static inline gpuc_expr with_sign(gpuc_intrin *x, gpuc_expr r, gpuc_expr a)
{
    if (x->t.bits == 32) {
        gpuc_expr top = gpuc_imm_int(x->ctx, gpuc_intrin_word_type(x), INT64_C(0x80000000));
        gpuc_expr sign = gpuc_tir_make(x->ctx, GPUC_TIR_BITAND, gpuc_intrin_bits(x, a), top, NULL);
        return gpuc_intrin_of_bits(x,
                                   gpuc_tir_make(x->ctx, GPUC_TIR_BITOR, gpuc_intrin_bits(x, r), sign, NULL));
    }
    r = gpuc_select(x->ctx, gpuc_lt(x->ctx, a, num(x, 0)), negated(x, r), r);
    return gpuc_select(x->ctx, gpuc_eq(x->ctx, a, num(x, 0)), a, r);
}

#endif
