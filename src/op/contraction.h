/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products over named dimensions: what calls of einsum and tensordot say. */
#ifndef GPUC_OP_CONTRACTION_H
#define GPUC_OP_CONTRACTION_H

#include "op/op.h"

/* Labels: letters, then the dimensions of an ellipsis, counted from the last. */
enum {
    GPUC_OP_LETTERS = 52,
    GPUC_OP_LABELS = GPUC_OP_LETTERS + GPUC_TOPI_MAX_DIMS,
    GPUC_OP_MAX_FACTORS = 16
};

/* The labels of a tensor's dimensions. */
typedef struct gpuc_op_term {
    int n;
    int label[GPUC_TOPI_MAX_DIMS];
} gpuc_op_term;

typedef struct gpuc_op_contraction {
    int operands;
    gpuc_op_term in[GPUC_OP_MAX_FACTORS], out;
    gpuc_expr extent[GPUC_OP_LABELS]; /* what the dimensions of a label broadcast to; NULL: not used */
} gpuc_op_contraction;

/* Reads the attributes; raises where they do not fit the inputs. */
const gpuc_op_contraction *gpuc_op_contraction_of(const gpuc_op_call *call);

#endif
