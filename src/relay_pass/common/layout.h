/* SPDX-License-Identifier: Apache-2.0 */
/* Where operators on images have their channels, and how they get them elsewhere: computed with the channels last where the
 * program has them first (or the other way round), each is a transposition, the operator, and a transposition back, which
 * sinks below the operators behind it: where it meets the next one, both go. `last` says where they are computed. */
#ifndef GPUC_RELAY_PASS_COMMON_LAYOUT_H
#define GPUC_RELAY_PASS_COMMON_LAYOUT_H

#include "relay_pass/common/util.h"

enum { GPUC_RELAY_PASS_IMAGE_RANK = 10 }; /* of what sinks, at most */

/* Whether e is nn.conv1d, nn.conv2d or nn.conv3d. */
bool gpuc_relay_pass_is_conv(const gpuc_rexpr *e);
/* The dimension of channels in the data of an operator with a data_layout; -1: it has none, or is of another rank. */
int gpuc_relay_pass_channel_of(const gpuc_rcall *c);

/* What was computed, as the program has it: the transposition back. */
gpuc_rexpr *gpuc_relay_pass_outside(gpuc_ctx *ctx, bool last, gpuc_rexpr *e);
/* What a transposition back has inside; NULL: e is none. */
gpuc_rexpr *gpuc_relay_pass_inside(bool last, gpuc_rexpr *e);
/* A value of the program, as it is computed with. */
gpuc_rexpr *gpuc_relay_pass_into(gpuc_ctx *ctx, bool last, gpuc_rexpr *e);
/* A call behind a transposition back, with that behind it; NULL: it cannot sink. */
gpuc_rexpr *gpuc_relay_pass_sink(gpuc_ctx *ctx, bool last, gpuc_rexpr *e);
/* Makes reshapes of transpositions that move no bytes. */
void gpuc_relay_pass_tidy_transposes(gpuc_relay_pass_ctx *p);

#endif
