/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose extents are tensors (op/dynamic.h), written as those that have them as attributes. */
#ifndef GPUC_RELAY_PASS_COMMON_DYNAMIC_H
#define GPUC_RELAY_PASS_COMMON_DYNAMIC_H

#include "op/dynamic.h"
#include "relay_pass/common/util.h"

/* The row's entry, of a call of such an operator; NULL: e is none. */
const gpuc_op_dynamic *gpuc_relay_pass_dynamic(const gpuc_rexpr *e);
/* The elements of a tensor of n of them; NULL: they are not known. */
const gpuc_expr *gpuc_relay_pass_elements(gpuc_ctx *ctx, const gpuc_rexpr *e, int n);
/* The call with these elements of each input of extents. */
gpuc_rexpr *gpuc_relay_pass_static_call(gpuc_ctx *ctx, const gpuc_rexpr *e, const gpuc_expr *const *elements);
/* The same with those that are known, and depend on no size that nobody knows. NULL: e is no such operator, or its
 * extents are not known. */
gpuc_rexpr *gpuc_relay_pass_write_static(gpuc_ctx *ctx, const gpuc_rexpr *e);

/* Sizes of results that nobody knew, and what they are by now: attributes of nodes behind name them. */
typedef struct gpuc_relay_pass_sizes {
    gpuc_map by; /* symbol -> gpuc_expr */
} gpuc_relay_pass_sizes;
/* old became new, whose extents are better known. */
void gpuc_relay_pass_note_sizes(gpuc_relay_pass_sizes *s, const gpuc_rexpr *old, const gpuc_rexpr *new);
/* The call with the noted sizes in its attributes, and its type, if its arguments have theirs; e, if it has none of them. */
gpuc_rexpr *gpuc_relay_pass_put_sizes(gpuc_ctx *ctx, const gpuc_relay_pass_sizes *s, gpuc_rexpr *e);

#endif
