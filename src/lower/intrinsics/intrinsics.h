/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the intrinsics pass: each gives an expression for an operator on mapped operands. */
#ifndef GPUC_LOWER_INTRINSICS_INTRINSICS_H
#define GPUC_LOWER_INTRINSICS_INTRINSICS_H

#include "lower/common/util.h"

typedef struct gpuc_intrin {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    const gpuc_target *target;
    const gpuc_tir_func *func;
    gpuc_dtype t; /* of the operands */
} gpuc_intrin;

/* int.c. old: the operands as they were, which the analyzer knows about. */
gpuc_expr gpuc_lower_intrin_divide(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr old_a, gpuc_expr old_b,
                                   gpuc_expr a, gpuc_expr b);
gpuc_expr gpuc_lower_intrin_shift(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr old_b, gpuc_expr a, gpuc_expr b);
gpuc_expr gpuc_lower_intrin_float_to_int(gpuc_intrin *x, gpuc_dtype to, gpuc_expr a);

/* float.c */
/* A driver that need not preserve NaN may take a != a for false: then bits tell. */
bool gpuc_lower_intrin_needs_bits(const gpuc_intrin *x);
gpuc_expr gpuc_lower_intrin_isnan(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_isinf(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_minmax(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b);
/* NULL: the target has the operator. */
gpuc_expr gpuc_lower_intrin_float(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b);

/* circle.c: sin, cos or tan of float32 */
gpuc_expr gpuc_lower_intrin_circular(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a);

/* power.c: of float32 */
gpuc_expr gpuc_lower_intrin_exp(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_expm1(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_log(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_log1p(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_cosh(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_sinh(gpuc_intrin *x, gpuc_expr a);
gpuc_expr gpuc_lower_intrin_power(gpuc_intrin *x, gpuc_expr a, gpuc_expr b);

/* mod.c: of float32, and of float64 where the target has 64-bit integers */
gpuc_expr gpuc_lower_intrin_remainder(gpuc_intrin *x, gpuc_expr a, gpuc_expr b);

/* double.c: the same for float64, of which Vulkan has arithmetic and roots only. */
gpuc_expr gpuc_lower_intrin_double(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a, gpuc_expr b);
/* double_circle.c: sin, cos or tan of float64 */
gpuc_expr gpuc_lower_intrin_double_circular(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a);

#endif
