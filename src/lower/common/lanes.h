/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_LOWER_COMMON_LANES_H
#define GPUC_LOWER_COMMON_LANES_H

#include "base/map.h"
#include "tir/tir.h"

/* A vector variable that became several. */
typedef struct gpuc_cut_var {
    int n;
    const gpuc_expr *parts; /* variables; their lanes add up to those of the original */
} gpuc_cut_var;
/* Lanes [first, first + count) of e, as an expression of count lanes. vars maps variables that
 * were cut (var -> gpuc_cut_var *), may be NULL. Calls with effects must not be inside. */
gpuc_expr gpuc_lower_slice(gpuc_ctx *ctx, gpuc_expr e, int first, int count, const gpuc_map *vars);
/* A stride-1 ramp's start, else NULL. */
gpuc_expr gpuc_lower_contiguous(gpuc_expr index);

#endif
