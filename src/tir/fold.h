/* SPDX-License-Identifier: Apache-2.0 */
/* What builders do beyond making the node that was asked for. Every rule is exact: for wrapping
 * integers, for IEEE floats, NaN and signed zeros included. */
#ifndef GPUC_TIR_FOLD_H
#define GPUC_TIR_FOLD_H

#include "tir/rules.h"
#include "tir/value.h"

/* Gets the value of an INT or FLOAT, or of a BROADCAST of one; false if e is none of these. */
bool gpuc_tir_const_get(gpuc_expr e, gpuc_tir_value *out);
/* The constant of a type (a BROADCAST if it has lanes). */
gpuc_expr gpuc_tir_const(gpuc_ctx *ctx, gpuc_dtype t, gpuc_tir_value v);

/* The folded form of op applied to checked operands; NULL if it must become a node of its own. Swaps a[0] and
 * a[1] to put constants right. */
gpuc_expr gpuc_tir_fold_op(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr *a);
gpuc_expr gpuc_tir_fold_cast(gpuc_ctx *ctx, gpuc_dtype to, gpuc_expr a);
const gpuc_rule_table *const *gpuc_tir_fold_rules(void); /* for gpuc_tir_rule_name */

#endif
