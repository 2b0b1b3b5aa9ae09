/* SPDX-License-Identifier: Apache-2.0 */
/* How narrow types are kept in memory and in registers. */
#ifndef GPUC_LOWER_LEGALIZE_DTYPES_LEGALIZE_H
#define GPUC_LOWER_LEGALIZE_DTYPES_LEGALIZE_H

#include "lower/common/util.h"

/* The type that the target computes t in (lanes kept). */
gpuc_dtype gpuc_lower_legal_compute(const gpuc_target *target, gpuc_dtype t);
/* The type of the elements of memory that holds t: itself, uint8 or uint16 of the same size, or uint32 words. */
gpuc_dtype gpuc_lower_legal_memory(const gpuc_target *target, gpuc_dtype t, gpuc_scope scope);

/* bits.c: bits (in the low end of uint32) and the value in the compute type. */
gpuc_expr gpuc_lower_legal_from_bits(gpuc_ctx *ctx, const gpuc_target *target, gpuc_dtype t, gpuc_expr bits);
gpuc_expr gpuc_lower_legal_to_bits(gpuc_ctx *ctx, const gpuc_target *target, gpuc_dtype t, gpuc_expr value);
/* An integer value in a wider type, brought into the range of t as t's own arithmetic would. */
gpuc_expr gpuc_lower_legal_wrap(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr value);

#endif
