/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbouring elements of a row as channels. */
#ifndef GPUC_RELAY_PASS_COMMON_FOLD_WIDTH_H
#define GPUC_RELAY_PASS_COMMON_FOLD_WIDTH_H

#include "relay_pass/passes.h"

/* A convolution of data with channels last, args[0], and weights of OIHW, args[1], whose input channels fill no vectors
 * of `each`: where stride and window along the width have a common divisor g, g neighbours become g times the channels,
 * if more of the vectors is filled then. Returns the attributes that args then have. */
const gpuc_attrs *gpuc_relay_pass_fold_width(gpuc_ctx *ctx, const gpuc_attrs *a, gpuc_rexpr **args,
                                             int64_t each);

#endif
