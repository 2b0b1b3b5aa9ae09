/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tensors and operations. */
#ifndef GPUC_TE_TE_H
#define GPUC_TE_TE_H

#include <gpuc/te.h>

#include "tir/tir.h"

typedef enum gpuc_te_op_kind {
    GPUC_TE_PLACEHOLDER,
    GPUC_TE_COMPUTE,
    GPUC_TE_EXTERN,      /* a statement over the buffers of its inputs and outputs */
    GPUC_TE_OP_KIND_COUNT
} gpuc_te_op_kind;

typedef struct gpuc_te_attr { const char *key, *value; struct gpuc_te_attr *next; } gpuc_te_attr;

typedef struct gpuc_te_op {
    gpuc_te_op_kind kind;
    const char *name;
    gpuc_te_attr *attrs;
    int num_axes, num_reduce, num_outputs, num_inputs;
    gpuc_iter **axes;            /* of COMPUTE */
    gpuc_iter **reduce;          /* those of its REDUCE bodies, in order */
    const gpuc_expr *bodies;     /* num_outputs */
    gpuc_tensor **outputs;
    gpuc_tensor **inputs;        /* tensors that bodies read, each once, in order of appearance */
    /* of EXTERN */
    gpuc_tir_buffer **input_buffers, **output_buffers;
    gpuc_stmt extern_body;
} gpuc_te_op;

struct gpuc_te_tensor {
    gpuc_te_op *op;
    int value_index;
    int ndim;
    const gpuc_expr *shape;
    gpuc_dtype dtype;
    const char *name;
};

/* Extern operation: makes buffers for inputs and outputs; the caller sets op->extern_body. */
gpuc_te_op *gpuc_te_extern(gpuc_ctx *ctx, const char *name, int num_inputs, gpuc_tensor *const *inputs,
                           int num_outputs, const int *ndims, const gpuc_expr *const *shapes,
                           const gpuc_dtype *dtypes);
/* A compute with the same axes' extents, whose bodies read other tensors instead. Returns op itself if
 * nothing changed. */
gpuc_te_op *gpuc_te_replace_inputs(gpuc_ctx *ctx, gpuc_te_op *op, int n, gpuc_tensor *const *from,
                                   gpuc_tensor *const *to);
/* Operations that the outputs depend on, producers first. */
void gpuc_te_post_order(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs, gpuc_ptrs *ops);
/* Unscheduled: loops over axes, reductions inside; the meaning of the definition, for the evaluator. */
gpuc_tir_func *gpuc_te_lower_plain(gpuc_ctx *ctx, const char *name, int num_args, gpuc_tensor *const *args);

#endif
