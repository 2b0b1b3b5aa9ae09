/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of operators that take any number of tensors. */
#ifndef GPUC_RELAY_PASS_COMMON_SPLIT_CALL_H
#define GPUC_RELAY_PASS_COMMON_SPLIT_CALL_H

#include "relay_pass/common/util.h"

/* concatenate of calls of at most max tensors (2 or more); n parts. */
gpuc_rexpr *gpuc_relay_pass_concat(gpuc_ctx *ctx, const gpuc_attrs *attrs, int max, int n,
                                   gpuc_rexpr *const *parts);
/* The same value by calls of at most max tensors (2 or more), of concatenate, stack and elemwise_sum; others stay. */
gpuc_rexpr *gpuc_relay_pass_split_call(gpuc_ctx *ctx, gpuc_rexpr *call, int max);

#endif
