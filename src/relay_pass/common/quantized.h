/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on quantised numbers as operators on real numbers and integers. */
#ifndef GPUC_RELAY_PASS_COMMON_QUANTIZED_H
#define GPUC_RELAY_PASS_COMMON_QUANTIZED_H

#include <string.h>

#include "op/quantized.h"
#include "relay_pass/common/util.h"
#include "tir/tir.h"

/* NULL: e is none of them. */
gpuc_rexpr *gpuc_relay_pass_write_quantized(gpuc_ctx *ctx, gpuc_rexpr *e);

#endif
