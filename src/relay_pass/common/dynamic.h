/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose extents are tensors (op/dynamic.h), written as those that have them as attributes. */
#ifndef GPUC_RELAY_PASS_COMMON_DYNAMIC_H
#define GPUC_RELAY_PASS_COMMON_DYNAMIC_H

#include "op/dynamic.h"
#include "relay_pass/common/util.h"

/* The row's entry, of a call of such an operator; NULL: e is none. */
const gpuc_op_dynamic *gpuc_relay_pass_dynamic(const gpuc_rexpr *e);
/* The call with these elements of each input of extents. */
gpuc_rexpr *gpuc_relay_pass_static_call(gpuc_ctx *ctx, const gpuc_rexpr *e, const gpuc_expr *const *elements);
/* The call with n extents that its inputs decide together. */
gpuc_rexpr *gpuc_relay_pass_sized_call(gpuc_ctx *ctx, const gpuc_rexpr *e, int n, const gpuc_expr *extents);
/* The same with those that are known, and depend on no size that nobody knows. NULL: e is no such operator, or its
 * extents are not known. */
gpuc_rexpr *gpuc_relay_pass_write_static(gpuc_ctx *ctx, const gpuc_rexpr *e);

#endif
