/* SPDX-License-Identifier: Apache-2.0 */
/* The table of expressions of a context, and children of any node. */
#ifndef GPUC_TIR_INTERN_H
#define GPUC_TIR_INTERN_H

#include "tir/tir.h"

typedef struct gpuc_tir_state {
    gpuc_intern exprs;
    gpuc_strmap reducers; /* "sum float32" -> gpuc_tir_reducer */
    gpuc_map tensors;     /* tensor that is read -> its number */
    const char *(*tensor_name)(const struct gpuc_te_tensor *t);
} gpuc_tir_state;

gpuc_tir_state *gpuc_tir_state_get(gpuc_ctx *ctx);

/* The interned node equal to probe, a node of any kind of the given size whose kind, dtype and own
 * fields are filled. All that it points to is copied when it is new. */
gpuc_expr gpuc_tir_intern(gpuc_ctx *ctx, const gpuc_tir_expr *probe, size_t size);

/* The direct operands. REDUCE: its sources, then the condition if there is one; not its axes. The list is
 * valid as long as the struct is. */
typedef struct gpuc_tir_operands {
    const gpuc_expr *at;
    int n;
    gpuc_expr own[4];
} gpuc_tir_operands;
void gpuc_tir_operands_get(gpuc_ctx *ctx, gpuc_expr e, gpuc_tir_operands *out);

/* e itself; raises if it is NULL or of another context. what: whose operand it is. */
gpuc_expr gpuc_tir_need(gpuc_ctx *ctx, gpuc_expr e, const char *what);
/* Raises, with what they are, if one of them is NULL. */
void gpuc_tir_check_list(gpuc_ctx *ctx, int n, const gpuc_expr *list, const char *what);
/* Checks the indices of an access and gives its number of lanes. */
int gpuc_tir_index_lanes(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *index);

const char *gpuc_tir_type_text(gpuc_ctx *ctx, gpuc_dtype t);
/* An expression for a message, cut to a readable length. */
const char *gpuc_tir_short_text(gpuc_ctx *ctx, gpuc_expr e);

#endif
