/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_LOWER_COMMON_CHECK_H
#define GPUC_LOWER_COMMON_CHECK_H

#include "lower/lower.h"

/* Raises if a kernel needs more of the target than it has: threads, shared memory. */
void gpuc_lower_check_limits(gpuc_pass_ctx *p, const gpuc_tir_func *k);

#endif
