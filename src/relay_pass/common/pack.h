/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in the order in which a schedule reads them. Blocks of channels that there are only in part are
 * filled up with zeros. */
#ifndef GPUC_RELAY_PASS_COMMON_PACK_H
#define GPUC_RELAY_PASS_COMMON_PACK_H

#include "relay_pass/passes.h"

/* e with zeros behind the last elements of an axis, to a multiple of `to`. */
gpuc_rexpr *gpuc_relay_pass_filled_up(gpuc_ctx *ctx, gpuc_rexpr *e, int axis, int64_t to);
/* The first elements along an axis. */
gpuc_rexpr *gpuc_relay_pass_first(gpuc_ctx *ctx, gpuc_rexpr *e, int axis, int64_t count);
/* [O, I, kernel] as [O/b, kernel, I, b]. */
gpuc_rexpr *gpuc_relay_pass_pack_weights(gpuc_ctx *ctx, gpuc_rexpr *w, int64_t block);
/* [O, I, kernel] as [O/b, kernel, I/s, b, s]. */
gpuc_rexpr *gpuc_relay_pass_pack_sides(gpuc_ctx *ctx, gpuc_rexpr *w, int64_t block, int64_t side);
/* [points, I, O] as [points, O/b, I, b]. */
gpuc_rexpr *gpuc_relay_pass_pack_points(gpuc_ctx *ctx, gpuc_rexpr *w, int64_t block);
/* [O, I, kernel] as [I, kernel, O]. */
gpuc_rexpr *gpuc_relay_pass_turn_weights(gpuc_ctx *ctx, gpuc_rexpr *w);

#endif
