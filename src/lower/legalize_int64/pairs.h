/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit integers as two uint32 expressions (of as many lanes). */
#ifndef GPUC_LOWER_LEGALIZE_INT64_PAIRS_H
#define GPUC_LOWER_LEGALIZE_INT64_PAIRS_H

#include "lower/common/util.h"

typedef struct gpuc_pair {
    gpuc_expr lo, hi;
} gpuc_pair;

gpuc_pair gpuc_lower_pair_const(gpuc_ctx *ctx, int64_t value, int lanes);
gpuc_pair gpuc_lower_pair_select(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr cond, gpuc_pair a, gpuc_pair b);
/* Operators that give a 64-bit value, as tir/ops.def says. */
gpuc_pair gpuc_lower_pair_op(gpuc_ctx *ctx, gpuc_tir_op op, bool is_signed, gpuc_pair a, gpuc_pair b);
gpuc_expr gpuc_lower_pair_compare(gpuc_ctx *ctx, gpuc_tir_op op, bool is_signed, gpuc_pair a, gpuc_pair b);
/* Converts from bool, integers of up to 32 bits and floats, and to these. */
gpuc_pair gpuc_lower_pair_from(gpuc_ctx *ctx, bool is_signed, gpuc_expr value);
gpuc_expr gpuc_lower_pair_to(gpuc_ctx *ctx, gpuc_dtype t, bool is_signed, gpuc_pair a);

#endif
