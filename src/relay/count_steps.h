/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_RELAY_COUNT_STEPS_H
#define GPUC_RELAY_COUNT_STEPS_H

#include "relay/relay.h"

/* max(0, ceil((stop - start) / step)) of three scalars of one type, as an int64 that the program computes; -1 where the
 * step is 0, or the number does not fit. Integers are counted exactly. */
gpuc_rexpr *gpuc_relay_count_steps(gpuc_ctx *ctx, gpuc_rexpr *start, gpuc_rexpr *stop, gpuc_rexpr *step);

#endif
