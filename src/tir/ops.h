/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the two tables, and how operators are written. */
#ifndef GPUC_TIR_OPS_H
#define GPUC_TIR_OPS_H

#include "tir/node.h"

bool gpuc_tir_op_find(const char *text, gpuc_tir_op *out);
bool gpuc_tir_intrin_find(const char *text, gpuc_tir_intrin *out);
/* Of infix operators, 1 (binds least) to 6; 0 for those written as calls, and for "!". */
int gpuc_tir_op_precedence(gpuc_tir_op op);
#define GPUC_TIR_PREC_COMPARE 4
#define GPUC_TIR_PREC_ADD 5
#define GPUC_TIR_PREC_MUL 6
#define GPUC_TIR_PREC_UNARY 7
#define GPUC_TIR_PREC_ATOM 8

#endif
