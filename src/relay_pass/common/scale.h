/* SPDX-License-Identifier: Apache-2.0 */
/* Factors per channel, and products whose weights take them: for fold_scale_axis. */
#ifndef GPUC_RELAY_PASS_COMMON_SCALE_H
#define GPUC_RELAY_PASS_COMMON_SCALE_H

#include "relay_pass/common/util.h"

/* Whether c is constant, with one value per channel at axis when broadcast against a tensor of rank ndim. */
bool gpuc_relay_pass_per_channel(const gpuc_rexpr *c, int ndim, int axis, int64_t channels);
/* Whether all elements of a constant are greater than 0, or all other than 0. */
bool gpuc_relay_pass_all_positive(gpuc_ctx *ctx, const gpuc_rexpr *constant);
bool gpuc_relay_pass_none_zero(gpuc_ctx *ctx, const gpuc_rexpr *constant);
/* Evaluates an operator on constants per channel at once, since the next rewrite looks for a constant. */
gpuc_rexpr *gpuc_relay_pass_evaluated(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b);
/* weight * scale, which is reshaped to this shape. */
gpuc_rexpr *gpuc_relay_pass_scaled(gpuc_ctx *ctx, gpuc_rexpr *weight, gpuc_rexpr *scale, int ndim,
                                   const int64_t *shape);
/* A constant, or one multiplied by this pass. */
bool gpuc_relay_pass_is_weight(const gpuc_rexpr *e);
/* Whether f(x * s) = f(x) * s for all s > 0. */
bool gpuc_relay_pass_keeps_factors(const gpuc_rexpr *e);
/* The operand that is not constant, of a call with one constant operand; else NULL. */
gpuc_rexpr *gpuc_relay_pass_variable_operand(const gpuc_rcall *c);
/* Moves constant factors of data into the weights of the products that are all that uses it, in the function. */
gpuc_rexpr *gpuc_relay_pass_scale_forward(gpuc_ctx *ctx, gpuc_rexpr *function);

#endif
