/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor expressions say what to compute; a schedule (schedule.h) says how. Functions with a context
 * raise, also for NULL arguments and for objects of another context; functions without one return NULL or
 * 0 for NULL. Extents are expressions of constants and symbols (variables that are not those of axes).
 *
 *   gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
 *   gpuc_expr at = gpuc_iter_var(i);
 *   gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at),
 *                                                              gpuc_te_read(ctx, b, 1, &at))); */
#ifndef GPUC_TE_H
#define GPUC_TE_H

#include <gpuc/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_te_tensor gpuc_tensor; /* a placeholder, or an output of a compute */
typedef struct gpuc_iter gpuc_iter;        /* an axis of a compute, or a loop of a stage */

/* An input of that shape; the name is for messages and generated code, and copied. Extents are integers or
 * symbols; elements are scalars. */
GPUC_API gpuc_tensor *gpuc_te_placeholder(gpuc_ctx *ctx, const char *name, int ndim, const gpuc_expr *shape,
                                          gpuc_dtype dtype);
/* An input whose elements lie anywhere in an array of one dimension and `size` elements, which is the function's
 * parameter: element [i, j, ...] is number offset + i * strides[0] + j * strides[1] + ..., counted in elements. Strides may
 * be 0 or negative; all are integers of constants and symbols, copied. An error if constants say that elements are
 * outside of the array. */
GPUC_API gpuc_tensor *gpuc_te_placeholder_strided(gpuc_ctx *ctx, const char *name, int ndim,
                                                  const gpuc_expr *shape, gpuc_dtype dtype, gpuc_expr size,
                                                  const gpuc_expr *strides, gpuc_expr offset);
GPUC_API gpuc_iter *gpuc_te_axis(gpuc_ctx *ctx, gpuc_expr extent, const char *name);        /* [0, extent) */
GPUC_API gpuc_iter *gpuc_te_reduce_axis(gpuc_ctx *ctx, gpuc_expr extent, const char *name); /* [0, extent) */
/* Axes whose variable runs from min, an integer of constants and symbols that may be negative, to min + extent - 1. The
 * dimension of a compute has extent elements all the same: element 0 is that of min. */
GPUC_API gpuc_iter *gpuc_te_axis_from(gpuc_ctx *ctx, gpuc_expr min, gpuc_expr extent, const char *name);
/* The same of an axis that is reduced. */
GPUC_API gpuc_iter *gpuc_te_reduce_axis_from(gpuc_ctx *ctx, gpuc_expr min, gpuc_expr extent,
                                             const char *name);
/* The variable that stands for the axis in expressions. Schedules know the axis by gpuc_stage_axis and
 * gpuc_stage_reduce_axis: an operation has copies, from 0, of axes that another has, or that begin elsewhere. */
GPUC_API gpuc_expr gpuc_iter_var(const gpuc_iter *iter);
/* The first value of the variable; NULL for NULL. */
GPUC_API gpuc_expr gpuc_iter_min(const gpuc_iter *iter);
/* The number of iterations of the axis. */
GPUC_API gpuc_expr gpuc_iter_extent(const gpuc_iter *iter);

/* An element of t at n indices, one per dimension. An index that is always out of bounds is an error of the
 * compute that reads there; a read that may be out of bounds stands in an arm of gpuc_if_then_else. */
GPUC_API gpuc_expr gpuc_te_read(gpuc_ctx *ctx, gpuc_tensor *t, int n, const gpuc_expr *index);
/* "sum", "prod", "min", "max", "all", "any" over the axes; must be the whole body of a compute. */
GPUC_API gpuc_expr gpuc_te_reduce(gpuc_ctx *ctx, const char *reducer, gpuc_expr value, int num_axes,
                                  gpuc_iter *const *axes);

/* A reducer of `count` values at once, as te.comm_reducer of TVM: an index with its maximum, a count with a mean and a sum
 * of squares, a maximum with a sum of exponentials. lhs[i] and rhs[i] are scalar variables (gpuc_var) of one type per i;
 * result[i], of the same type, is what joining the tuples gives; it uses these variables and constants only. identity[i]
 * are constants that change nothing. Loops, threads and rfactor join parts in any order: the laws for that are tried on
 * a few values, and an error says which does not hold: commutative, associative, the identity on either side, and with
 * itself (a sum of no elements: so no -inf that is subtracted from -inf). Types may differ between values; the arrays are
 * copied, and the reducer is the context's. */
GPUC_API const gpuc_tir_reducer *gpuc_te_comm_reducer(gpuc_ctx *ctx, const char *name, int count,
                                                      const gpuc_expr *lhs, const gpuc_expr *rhs,
                                                      const gpuc_expr *result, const gpuc_expr *identity);
/* A reduction of tuples: values[i] of the type of the reducer's value i, for each point of the axes where the condition
 * (bool; NULL: always) holds. outs[0 .. count) get its parts, which are the bodies of one gpuc_te_compute_n, in order; a
 * reducer of one value gives the body of a gpuc_te_compute. Errors: types that do not fit, axes that are no reduce axes. */
GPUC_API void gpuc_te_reduce_n(gpuc_ctx *ctx, const gpuc_tir_reducer *reducer, const gpuc_expr *values,
                               int num_axes, gpuc_iter *const *axes, gpuc_expr condition, gpuc_expr *outs);

/* A tensor with one dimension per axis (none: 0-D); its shape is the axes' extents. */
GPUC_API gpuc_tensor *gpuc_te_compute(gpuc_ctx *ctx, const char *name, int ndim, gpuc_iter *const *axes,
                                      gpuc_expr body);
/* A compute with several outputs of one shape, outs[0 .. count). Bodies are plain, or the parts of one tuple
 * reduction. */
GPUC_API void gpuc_te_compute_n(gpuc_ctx *ctx, const char *name, int ndim, gpuc_iter *const *axes, int count,
                                const gpuc_expr *bodies, gpuc_tensor **outs);
/* A number: a tensor without dimensions, whose element is the value, rounded as a conversion from double is. */
GPUC_API gpuc_tensor *gpuc_te_const(gpuc_ctx *ctx, gpuc_dtype dtype, double value);
/* Makes the statement of an extern operation over its buffers: in[i] has input i, row by row, out[i] output i, and all of
 * it is written. Loops, allocations and calls are made with gpuc/ir.h; gpuc_tir_intrinsic "extern" calls a C function on
 * target c, which may get elements by their address. NULL does nothing. */
typedef gpuc_stmt (*gpuc_te_extern_body)(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                                         const gpuc_tir_buffer *const *out, void *arg);
/* An operation whose body is loop IR: num_outputs tensors of ndims[i], shapes[i] and dtypes[i] (shapes[i] may be NULL for
 * rank 0) from any number of inputs; outs gets them. body is called once, with arg. Schedules compute it as a whole: its
 * loops are its own. Errors: no outputs, wrong types or shapes; a body that uses a buffer of others, stores to an
 * input, or reads tensors. That indices are inside of the buffers is the body's part: the evaluator says where they are
 * not. */
GPUC_API void gpuc_te_extern(gpuc_ctx *ctx, const char *name, int num_inputs, gpuc_tensor *const *inputs,
                             int num_outputs, const int *ndims, const gpuc_expr *const *shapes,
                             const gpuc_dtype *dtypes, gpuc_te_extern_body body, void *arg,
                             gpuc_tensor **outs);
/* A recurrence over the first dimension, as te.scan of TVM. state[k] is a placeholder of shape [rows, ...] that stands for
 * the result; init[k], of shape [first, ...], gives its first rows; update[k], of shape [rows - first, ...] and the state's
 * type, computes the others from rows of any of the states before. Its first axis t is
 * gpuc_te_axis_from(ctx, first, rows - first, "t"), so that state[k] is read at t - 1: an inclusive sum is S[t - 1] + X[t],
 * an exclusive one S[t - 1] + X[t - 1]. What an update is computed from may depend on the states too: computes with the
 * same first axis, read at t - first. outs[0 .. num_states) get the results. The recurrence runs step by step, in one
 * thread; what does not depend on states is computed before, by stages of its own. Errors name the scan, the state and the
 * read: shapes and types that differ, a row that is not before the step, a state that is no plain placeholder. */
GPUC_API void gpuc_te_scan(gpuc_ctx *ctx, const char *name, int num_states, gpuc_tensor *const *init,
                           gpuc_tensor *const *update, gpuc_tensor *const *state, gpuc_tensor **outs);
/* Attaches a note for schedules to a tensor: the key "tag" is its operator class, other keys are by
 * agreement. Key and value are copied; a second value of a key replaces the first. */
GPUC_API void gpuc_te_set_attr(gpuc_ctx *ctx, gpuc_tensor *t, const char *key, const char *value);
GPUC_API const char *gpuc_te_get_attr(const gpuc_tensor *t, const char *key); /* NULL: not set */

/* The name that it was made with. */
GPUC_API const char *gpuc_te_name(const gpuc_tensor *t);
/* The number of dimensions. */
GPUC_API int gpuc_te_ndim(const gpuc_tensor *t);
/* The extents, outermost first: ndim of them, borrowed. */
GPUC_API const gpuc_expr *gpuc_te_shape(const gpuc_tensor *t);
/* The type of an element. */
GPUC_API gpuc_dtype gpuc_te_dtype(const gpuc_tensor *t);

/* ---- Looking at operations ---- */

/* What computes a tensor. */
typedef enum gpuc_te_op_kind {
    GPUC_TE_PLACEHOLDER, /* nothing: it is an input */
    GPUC_TE_COMPUTE,     /* an expression per element */
    GPUC_TE_EXTERN,      /* a statement over the buffers of its inputs and outputs */
    GPUC_TE_OP_KIND_COUNT
} gpuc_te_op_kind;

/* The operation of a tensor; what it points to is borrowed. */
typedef struct gpuc_te_info {
    gpuc_te_op_kind kind;                  /* which of the following it has */
    int output, num_outputs;               /* which of the operation's outputs the tensor is, of how many */
    gpuc_tensor *const *outputs;           /* the tensor itself, and those beside it */
    int num_inputs;                        /* of COMPUTE and EXTERN */
    gpuc_tensor *const *inputs;            /* tensors that are read, each once, in order of appearance */
    int num_axes, num_reduce;              /* of COMPUTE */
    gpuc_iter *const *axes;                /* one per dimension */
    gpuc_iter *const *reduce;              /* those of a reduction */
    gpuc_expr body;                        /* of COMPUTE: the element; READs and perhaps a REDUCE are in it */
    gpuc_stmt statement;                   /* of EXTERN; NULL does nothing */
    gpuc_tir_buffer *const *input_buffers; /* of EXTERN: num_inputs that the statement reads */
    gpuc_tir_buffer *const *output_buffers; /* of EXTERN: num_outputs that it writes */
} gpuc_te_info;
/* The operation that computes t, which is not NULL. */
GPUC_API gpuc_te_info gpuc_te_get(const gpuc_tensor *t);

#ifdef __cplusplus
}
#endif
#endif
