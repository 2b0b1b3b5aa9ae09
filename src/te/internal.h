/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of te: what a context knows of axes, and checks of shapes and indices. */
#ifndef GPUC_TE_INTERNAL_H
#define GPUC_TE_INTERNAL_H

#include "te/te.h"

/* An axis belongs to the first operation that uses it; later ones get a copy. */
typedef struct gpuc_te_axis_info {
    gpuc_iter *iter;
    bool owned;
} gpuc_te_axis_info;

gpuc_te_axis_info *gpuc_te_axis_find(gpuc_ctx *ctx, gpuc_expr var); /* NULL: not made by te */
/* An axis from 0 with the same extent. */
gpuc_iter *gpuc_te_axis_copy(gpuc_ctx *ctx, const gpuc_iter *axis);

/* Raise if what was given is NULL or of another context. who: "compute 'C'". */
void gpuc_te_need(gpuc_ctx *ctx, const void *given, const char *who, const char *what);
void gpuc_te_need_expr(gpuc_ctx *ctx, gpuc_expr e, const char *who, const char *what);
void gpuc_te_need_axes(gpuc_ctx *ctx, int n, gpuc_iter *const *axes, const char *who);
/* Raises if the op, whose bodies are checked, reads beyond a tensor's end whatever its symbols are. */
void gpuc_te_check_reads(gpuc_ctx *ctx, const gpuc_te_op *op);

/* A dimension as an expression of type GPUC_INDEX; raises for other types and negative constants. */
gpuc_expr gpuc_te_check_dim(gpuc_ctx *ctx, gpuc_expr dim, const char *owner, int number);
/* Raises unless elements may be of the type. who: "placeholder 'A'". */
void gpuc_te_check_dtype(gpuc_ctx *ctx, gpuc_dtype dtype, const char *who);
gpuc_te_op *gpuc_te_op_make(gpuc_ctx *ctx, gpuc_te_op_kind kind, const char *name, int num_outputs);
gpuc_tensor *gpuc_te_output_make(gpuc_ctx *ctx, gpuc_te_op *op, int value_index, int ndim,
                                 const gpuc_expr *shape, gpuc_dtype dtype);
/* The loops of a compute as it is written; of row `row` of its first axis only, unless that is NULL. */
gpuc_stmt gpuc_te_plain_rows(gpuc_ctx *ctx, const gpuc_map *places, const gpuc_te_op *op, gpuc_expr row);
/* Sets op->inputs from its bodies. */
void gpuc_te_collect_inputs(gpuc_ctx *ctx, gpuc_te_op *op);

#endif
