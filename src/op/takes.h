/* SPDX-License-Identifier: Apache-2.0 */
/* Take functions (gpuc_attr_take_fn) that rows share, beside those of gpuc/op.h. */
#ifndef GPUC_OP_TAKES_H
#define GPUC_OP_TAKES_H

#include "op/op.h"

/* The row's attribute spec->to is 1 where this is 0, and 0 where it is 1. */
void gpuc_op_take_not(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* Pairs of an axis each, as one list: their first entries are one attribute, their second another. spec->to is
 * "pad_before,pad_after". */
void gpuc_op_take_pairs(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* If true, the row's attribute spec->to gets the axes of input 0 that are not in it. */
void gpuc_op_take_others(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* The layout of the output must be that of the data, the attribute spec->to. */
void gpuc_op_take_out_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* If false, an input is not used, but a constant of its type: spec->to is "1=1", the input and the value. */
void gpuc_op_take_unused(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* The input behind those of the row is added along the axis of channels: always, for NULL; where value is not 0. */
void gpuc_op_take_bias(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* Input 0 has one dimension where the call does not have the attribute spec->to. */
void gpuc_op_take_flat(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* Input 0 in this element type. */
void gpuc_op_take_in_type(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* The result in this element type. */
void gpuc_op_take_out_type(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* The layout of an input of the row, whose dimensions may stand in any order: spec->to is "1=IOHW", the input and the row's order, of
 * which the last letters are D, H, W, or those of them that there are. Other letters are refused. */
void gpuc_op_take_order(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* Raises unless a size is what the input has: `what` ("units") is value, dimension k of written input i, as the row gets
 * it, is the size. */
void gpuc_op_must_be(gpuc_op_written *w, const char *what, int64_t value, int i, int k);
/* An attribute of integers for the row. */
void gpuc_op_set_ints(gpuc_op_written *w, const char *name, int n, const int64_t *v);
void gpuc_op_set_sizes(gpuc_op_written *w, const char *name, int n, const gpuc_expr *v);
/* A written attribute as integers: n of them, or one; raises for anything else. */
const int64_t *gpuc_op_ints_of(gpuc_op_written *w, const gpuc_attr *value, int *n);
/* The integers in written input i, a list: how many, or -1 where they are not known. */
int gpuc_op_values_of(gpuc_op_written *w, int i, const gpuc_expr **out);
/* Input i of the row has these dimensions, of which one may be -1. */
void gpuc_op_reshape_input(gpuc_op_written *w, int i, int ndim, const gpuc_expr *dims);
/* Input i of the row is a constant of this type. */
void gpuc_op_constant_input(gpuc_op_written *w, int i, gpuc_tensor_type type, double value);

#endif
