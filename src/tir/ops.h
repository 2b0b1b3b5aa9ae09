/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the two tables, and how operators are written. */
#ifndef GPUC_TIR_OPS_H
#define GPUC_TIR_OPS_H

#include "tir/node.h"

bool gpuc_tir_op_find(const char *text, gpuc_tir_op *out);
bool gpuc_tir_intrin_find(const char *text, gpuc_tir_intrin *out);
/* The precedence of an operator that the text form writes infix; NONE for those written as calls, and for
 * "!". */
gpuc_prec gpuc_tir_op_precedence(gpuc_tir_op op);

#endif
