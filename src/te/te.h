/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tensors and operations. */
#ifndef GPUC_TE_TE_H
#define GPUC_TE_TE_H

#include <gpuc/te.h>

#include "tir/tir.h"

typedef struct gpuc_te_attr {
    const char *key, *value;
    struct gpuc_te_attr *next;
} gpuc_te_attr;

typedef struct gpuc_te_op {
    const gpuc_ctx *ctx;
    gpuc_te_op_kind kind;
    const char *name;
    gpuc_te_attr *attrs;
    int num_axes, num_reduce, num_outputs, num_inputs;
    gpuc_iter **axes;        /* of COMPUTE */
    gpuc_iter **reduce;      /* those of its REDUCE bodies, in order */
    const gpuc_expr *bodies; /* num_outputs */
    gpuc_tensor **outputs;
    gpuc_tensor **inputs; /* tensors that bodies read, each once, in order of appearance */
    /* of EXTERN */
    gpuc_tir_buffer **input_buffers, **output_buffers;
    gpuc_stmt extern_body;
    const void *
        extern_of; /* what the body is made of (topi/parallel.h), for the schedule that makes another; or NULL */
} gpuc_te_op;

/* Elements of a tensor in an array of one dimension. */
typedef struct gpuc_te_view {
    gpuc_expr size, offset;   /* of the array, of element 0 */
    const gpuc_expr *strides; /* per dimension */
} gpuc_te_view;

struct gpuc_te_tensor {
    gpuc_te_op *op;
    int value_index;
    int ndim;
    const gpuc_expr *shape;
    gpuc_dtype dtype;
    const char *name;
    const gpuc_te_view *view; /* of a placeholder; NULL: row-major and compact */
};

/* Extern operation: makes buffers for inputs and outputs; the caller sets op->extern_body (NULL does
 * nothing). */
gpuc_te_op *gpuc_te_extern_make(gpuc_ctx *ctx, const char *name, int num_inputs, gpuc_tensor *const *inputs,
                                int num_outputs, const int *ndims, const gpuc_expr *const *shapes,
                                const gpuc_dtype *dtypes);
/* Raises, with `who` at the front, where the statement of a user uses a buffer that is none of these and not allocated in it,
 * stores to an input, or reads tensors. */
void gpuc_te_check_body(gpuc_ctx *ctx, const char *who, gpuc_stmt body, int num_inputs,
                        const gpuc_tir_buffer *const *inputs, int num_outputs,
                        const gpuc_tir_buffer *const *outputs);
/* A compute over axes that the caller chose (they may be another operation's); bodies are not checked. */
gpuc_te_op *gpuc_te_op_of(gpuc_ctx *ctx, const char *name, int num_axes, gpuc_iter *const *axes,
                          int num_reduce, gpuc_iter *const *reduce, int count, const gpuc_expr *bodies);
/* The same operation (outputs and all) with other bodies. */
gpuc_te_op *gpuc_te_op_with_bodies(gpuc_ctx *ctx, const gpuc_te_op *op, const gpuc_expr *bodies);
/* A compute with the same axes, whose bodies read other tensors instead. Returns op itself if
 * nothing changed. */
gpuc_te_op *gpuc_te_replace_inputs(gpuc_ctx *ctx, gpuc_te_op *op, int n, gpuc_tensor *const *from,
                                   gpuc_tensor *const *to);
/* What op, a compute without reductions, gives at the place of a read of it. */
gpuc_expr gpuc_te_inlined(gpuc_ctx *ctx, const gpuc_te_op *op, const gpuc_tir_read_node *read);
/* t itself; raises if it is NULL or of another context. who: "cache_read". */
gpuc_tensor *gpuc_te_need_tensor(gpuc_ctx *ctx, gpuc_tensor *t, const char *who);
/* What is known before any loop runs, an integer of constants and symbols, as GPUC_INDEX; raises for others. owner:
 * a name, what: "extent 2" of it. */
gpuc_expr gpuc_te_check_place(gpuc_ctx *ctx, gpuc_expr e, const char *owner, const char *what);
/* Operations that the outputs depend on, producers first. */
void gpuc_te_post_order(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs, gpuc_ptrs *ops);

/* ---- Lowering, shared with schedules ---- */
/* Parameters of a function over tensors: a buffer per argument and a scalar per variable that no axis binds,
 * in order of first appearance in the arguments' shapes, then in the operations. */
typedef struct gpuc_te_params {
    int num_buffers;
    gpuc_tir_buffer **buffers;
    gpuc_ptrs scalars; /* VARs */
    gpuc_ptrs extents; /* those of them that occur in shapes and extents: never negative */
} gpuc_te_params;
/* ops: all operations of the function. Raises if a placeholder of them is not an argument. */
void gpuc_te_params_init(gpuc_ctx *ctx, gpuc_te_params *p, int num_args, gpuc_tensor *const *args,
                         const gpuc_ptrs *ops);
gpuc_tir_func *gpuc_te_params_func(gpuc_ctx *ctx, const gpuc_te_params *p, const char *name, gpuc_stmt body);

/* The dimensions of a buffer in terms of a tensor's. One that is split gives two: its index divided by the
 * factor, and the remainder. */
typedef struct gpuc_te_layout_dim {
    int axis;
    int64_t factor; /* 0: the axis is whole */
    bool inner;     /* the remainder */
} gpuc_te_layout_dim;
typedef struct gpuc_te_layout {
    int n;
    gpuc_te_layout_dim *dims;
} gpuc_te_layout;
/* Reads "BA32b". Raises, naming what is wrong, unless every axis occurs. */
const gpuc_te_layout *gpuc_te_layout_parse(gpuc_ctx *ctx, const char *text, int ndim);
const char *gpuc_te_layout_text(gpuc_ctx *ctx, const gpuc_te_layout *layout);
/* out[0 .. layout->n - 1]: the extents of the buffer (an outer one rounded up), the indices of an element. */
void gpuc_te_layout_shape(gpuc_ctx *ctx, const gpuc_te_layout *layout, const gpuc_expr *shape,
                          gpuc_expr *out);
void gpuc_te_layout_index(gpuc_ctx *ctx, const gpuc_te_layout *layout, const gpuc_expr *index,
                          gpuc_expr *out);

/* Where a tensor lies: element `origin` of it (NULL: 0) is the first of the buffer, which has `extent` elements along
 * each axis of the tensor (NULL: all). The buffer's dimensions are the layout's (NULL: the tensor's). */
typedef struct gpuc_te_place {
    const gpuc_tir_buffer *buffer;
    const gpuc_expr *origin, *extent;
    const gpuc_te_layout *layout;
    gpuc_expr
        rolling; /* extent of the buffer along rolling_axis, where it is a ring of the tensor's elements; or NULL */
    int rolling_axis;
    const gpuc_te_view *view; /* the buffer's one dimension has the tensor's elements so; or NULL */
} gpuc_te_place;
/* Statements for one element of op. places: tensor -> gpuc_te_place, for op's inputs and outputs. vars[i]
 * (axes, reduce axes) stand for with[i]; index is the element, in terms of the loops. */
typedef struct gpuc_te_emit {
    const gpuc_map *places;
    const gpuc_te_op *op;
    int n;
    const gpuc_expr *vars, *with;
    const gpuc_expr *index;
} gpuc_te_emit;
gpuc_expr gpuc_te_emit_expr(gpuc_ctx *ctx, const gpuc_te_emit *e,
                            gpuc_expr x);                           /* variables replaced, reads loaded */
gpuc_stmt gpuc_te_emit_plain(gpuc_ctx *ctx, const gpuc_te_emit *e); /* bodies that are no reductions */
gpuc_stmt gpuc_te_emit_init(gpuc_ctx *ctx, const gpuc_te_emit *e);  /* the identity */
gpuc_stmt gpuc_te_emit_update(gpuc_ctx *ctx,
                              const gpuc_te_emit *e); /* combine with one element, under its condition */
/* Asks the caches for an element of what lies there, which is in global memory. */
gpuc_stmt gpuc_te_emit_prefetch(gpuc_ctx *ctx, const gpuc_te_place *p, int n, const gpuc_expr *index);
gpuc_stmt gpuc_te_emit_extern(gpuc_ctx *ctx, const gpuc_map *places, const gpuc_te_op *op);
gpuc_stmt gpuc_te_emit_store(gpuc_ctx *ctx, const gpuc_te_emit *e, int k, gpuc_expr value); /* to output k */
/* Stores values[k] to output k; all values are computed before the first store. */
gpuc_stmt gpuc_te_emit_stores(gpuc_ctx *ctx, const gpuc_te_emit *e, const gpuc_expr *values);
/* The reducer's result for operands lhs and rhs (tuples of reducer->count). */
void gpuc_te_combine(gpuc_ctx *ctx, const gpuc_tir_reducer *r, const gpuc_expr *lhs, const gpuc_expr *rhs,
                     gpuc_expr *out);

/* Unscheduled: loops over axes, reductions inside; the meaning of the definition, for the evaluator. */
gpuc_tir_func *gpuc_te_lower_plain(gpuc_ctx *ctx, const char *name, int num_args, gpuc_tensor *const *args);

#endif
