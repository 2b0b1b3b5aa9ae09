/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of algorithms that no single compute can state: the bodies of extern operations. Each outermost
 * parallel loop is a kernel on a GPU, a loop over cores elsewhere; kernels hand data on in workspaces.
 * Positions within a row are int32, so rows have fewer than 2^31 elements. */
#ifndef GPUC_TOPI_PARALLEL_H
#define GPUC_TOPI_PARALLEL_H

#include "topi/util.h"

/* ---- Statements ---- */
gpuc_stmt gpuc_topi_par_loop(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr extent, gpuc_stmt body); /* parallel */
/* A loop of few, long iterations on a CPU: each is a task of its own. */
gpuc_stmt gpuc_topi_par_tasks(gpuc_ctx *ctx, const gpuc_target *target, gpuc_expr var, gpuc_expr extent,
                              gpuc_stmt body);
int64_t gpuc_topi_par_cores(const gpuc_target *target); /* a guess where it does not say */
/* A kernel, for gpuc_topi_par_on_lanes: an iteration is a lane; a work-group is a subgroup, or many. */
gpuc_stmt gpuc_topi_par_lanes(gpuc_ctx *ctx, const gpuc_target *target, gpuc_expr var, gpuc_expr extent,
                              gpuc_stmt body);
gpuc_stmt gpuc_topi_par_many_lanes(gpuc_ctx *ctx, const gpuc_target *target, gpuc_expr var, gpuc_expr extent,
                                   gpuc_stmt body);
gpuc_stmt gpuc_topi_par_serial(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr extent, gpuc_stmt body);
gpuc_tir_buffer *gpuc_topi_par_workspace(gpuc_ctx *ctx, const char *name, gpuc_dtype t, gpuc_expr size);
/* A variable of an invocation: a local buffer of one element. */
gpuc_tir_buffer *gpuc_topi_par_cell(gpuc_ctx *ctx, const char *name, gpuc_dtype t);
gpuc_expr gpuc_topi_par_get(gpuc_ctx *ctx, const gpuc_tir_buffer *cell);
gpuc_stmt gpuc_topi_par_set(gpuc_ctx *ctx, const gpuc_tir_buffer *cell, gpuc_expr value);
gpuc_expr gpuc_topi_par_i32(gpuc_ctx *ctx, int64_t value);
gpuc_expr gpuc_topi_par_to_i32(gpuc_ctx *ctx, gpuc_expr e);
gpuc_expr gpuc_topi_par_index(gpuc_ctx *ctx, gpuc_expr e); /* as GPUC_INDEX */
gpuc_expr gpuc_topi_par_clamp(gpuc_ctx *ctx, gpuc_expr e, gpuc_expr lo, gpuc_expr hi);
/* for each i of [0, n), below count[0] if that is given: to[at] = value */
gpuc_stmt gpuc_topi_par_each(gpuc_ctx *ctx, gpuc_expr i, gpuc_expr n, const gpuc_tir_buffer *count,
                             const gpuc_tir_buffer *to, gpuc_expr at, gpuc_expr value);
/* The index of an element by its number in row-major order. */
void gpuc_topi_par_unravel(gpuc_ctx *ctx, int ndim, const gpuc_expr *dims, gpuc_expr linear,
                           gpuc_expr *index);
/* Returns n after checking that int32 can number so many elements; raises if not. Operators that number
 * elements also call it in infer, so that the program checks sizes known only at run time. */
gpuc_expr gpuc_topi_par_countable(const gpuc_op_call *call, gpuc_expr n);
/* The number of elements in the first ndim dimensions of a type, checked by gpuc_topi_par_countable. */
gpuc_expr gpuc_topi_par_count(const gpuc_op_call *call, const gpuc_tensor_type *t, int ndim);
gpuc_expr gpuc_topi_par_ceildiv(gpuc_ctx *ctx, gpuc_expr n, gpuc_expr by);
/* Output i of the call, 0-D: the number in a tensor of one int32. */
gpuc_tensor *gpuc_topi_par_number(const gpuc_op_call *call, int i, gpuc_tensor *count);
/* An extern operation with the outputs of these types; its body is set by the caller. */
gpuc_te_op *gpuc_topi_par_extern(const gpuc_op_call *call, const char *name, int num_in,
                                 gpuc_tensor *const *ins, int num_out, const gpuc_tensor_type *outs);
gpuc_tensor_type gpuc_topi_par_type(gpuc_ctx *ctx, gpuc_dtype t, int ndim,
                                    const gpuc_expr *dims); /* copies dims */

/* The body of an extern operation that depends on the target. Until it is known, target and knobs are NULL. */
typedef gpuc_stmt (*gpuc_topi_body)(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg,
                                    const gpuc_target *target, gpuc_knobs *knobs);
/* Sets the body; the schedule of the row is gpuc_topi_par_schedule then, and arg lives as long as the context. */
void gpuc_topi_par_set_body(gpuc_ctx *ctx, gpuc_te_op *op, gpuc_topi_body body, const void *arg);
/* A row's schedule: makes the bodies for the target. */
gpuc_schedule *gpuc_topi_par_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                      int num_outputs, gpuc_tensor *const *outputs);
/* The target if it is a CPU, also one that OpenCL drives; else, and of NULL, NULL. */
const gpuc_target *gpuc_topi_par_cpu(const gpuc_target *target);
/* The target if it is a CPU whose lanes are threads; else, and of NULL, NULL. */
const gpuc_target *gpuc_topi_par_on_lanes(const gpuc_target *target);
/* A copy of a call that lives as long as the context. */
gpuc_op_call *gpuc_topi_par_keep_call(const gpuc_op_call *call);

/* ---- Rows: the elements along one axis of a tensor, for each index of the other axes ---- */
typedef struct gpuc_rows {
    int ndim, axis;
    const gpuc_expr *dims;
    gpuc_expr count; /* of rows */
    gpuc_expr n;     /* elements of one */
} gpuc_rows;
/* The rows along an axis, whose extent gpuc_topi_par_countable checks. */
gpuc_rows gpuc_topi_rows_of(const gpuc_op_call *call, const gpuc_tensor_type *t, int axis);
void gpuc_topi_rows_index(gpuc_ctx *ctx, const gpuc_rows *r, gpuc_expr row, gpuc_expr i, gpuc_expr *index);
/* The number of the row that holds the element at an index. */
gpuc_expr gpuc_topi_rows_number(gpuc_ctx *ctx, const gpuc_rows *r, const gpuc_expr *index);

/* ---- The order of elements (merge_sort.c) ---- */
/* Sets less to 1 if element a of the row goes before b, else to another number. */
typedef struct gpuc_order gpuc_order;
typedef struct gpuc_order_list {
    const gpuc_tir_buffer *positions; /* from `from` on */
    gpuc_expr from, count;            /* of type index; count is loaded */
} gpuc_order_list;
typedef gpuc_stmt (*gpuc_order_less)(const gpuc_order *o, gpuc_expr row, gpuc_expr a, gpuc_expr b,
                                     const gpuc_tir_buffer *less);
struct gpuc_order {
    gpuc_ctx *ctx;
    gpuc_expr rows;
    gpuc_expr n, keep; /* elements of a row; those of them that are wanted: the first keep */
    gpuc_order_less less;
    void *arg;
    /* For CPUs: the key of an element, by gpuc_topi_order_key of a value of type `value`, in whose order the elements
     * go as they do by less. NULL: there is none. */
    gpuc_expr (*key)(const gpuc_order *o, gpuc_expr row, gpuc_expr i);
    gpuc_dtype value;
    const gpuc_target *target; /* the CPU, */
    const gpuc_target *lanes;  /* or that whose lanes are threads; both NULL: neither, or not known */
    /* For gpuc_topi_order_sort_rows: whether an element takes part, and what is done with those of a row in order. */
    gpuc_expr (*takes)(const gpuc_order *o, gpuc_expr row, gpuc_expr i);
    gpuc_stmt (*use)(const gpuc_order *o, gpuc_expr row, const gpuc_order_list *list);
};
/* out[row * keep + k] is the position of the element that is k-th in the order; equal ones by position. */
gpuc_stmt gpuc_topi_order_emit(const gpuc_order *o, const gpuc_tir_buffer *out);
/* On a CPU: sorts the elements of each row that take part, and uses them. Where lanes are threads, a work-group uses
 * those of a row: `use` has its threads. */
gpuc_stmt gpuc_topi_order_sort_rows(const gpuc_order *o);
/* a < b, where NaN is greater than any number. */
gpuc_expr gpuc_topi_order_below(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);
/* An int32 or int64 that goes before another one as x goes before its value; descending: after it. */
gpuc_expr gpuc_topi_order_key(gpuc_ctx *ctx, gpuc_expr x, bool descending);
/* Finds the first position in [from, to) for which `found` holds, which must then hold for all later ones;
 * `to` if there is none. The position goes to lo; found reads the one that is tested in `mid`. steps must be
 * enough to halve to - from down to 0. */
gpuc_stmt gpuc_topi_par_search(gpuc_ctx *ctx, gpuc_expr from, gpuc_expr to, int steps, gpuc_expr mid,
                               const gpuc_tir_buffer *lo, const gpuc_tir_buffer *hi, gpuc_stmt before,
                               gpuc_expr found);
int gpuc_topi_par_steps(int64_t n); /* halvings of n elements down to 0 */

/* ---- Running sums along rows (scan.c) ---- */
typedef struct gpuc_scan gpuc_scan;
struct gpuc_scan {
    gpuc_ctx *ctx;
    gpuc_expr rows, n;
    gpuc_dtype dtype;
    bool exclusive, product;
    gpuc_expr (*element)(const gpuc_scan *s, gpuc_expr row, gpuc_expr i); /* of type dtype */
    const void *arg;
};
/* out[row * n + i] */
gpuc_stmt gpuc_topi_scan_emit(const gpuc_scan *s, const gpuc_tir_buffer *out);

/* ---- Positions of flags ---- */
/* at[row * n + k] becomes the position of the k-th element of the row that flag holds for, count[row] their
 * number; the rest of at stays as it is. place, if not NULL, gets the number of flags of the row up to and
 * including each element. */
typedef struct gpuc_compact {
    gpuc_ctx *ctx;
    gpuc_expr rows, n;
    gpuc_expr (*flag)(const struct gpuc_compact *c, gpuc_expr row, gpuc_expr i); /* bool */
    const void *arg;
} gpuc_compact;
gpuc_stmt gpuc_topi_compact_emit(const gpuc_compact *c, const gpuc_tir_buffer *at,
                                 const gpuc_tir_buffer *count, const gpuc_tir_buffer *place);

#endif
