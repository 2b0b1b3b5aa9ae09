/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose extents are tensors: which row has these as attributes. Most of them have no definition: where the elements
 * are known, or are read by the program, they are written as that row (relay_pass/common/dynamic.c). */
#ifndef GPUC_OP_DYNAMIC_H
#define GPUC_OP_DYNAMIC_H

#include "op/op.h"

typedef enum gpuc_op_extents_form {
    GPUC_EXTENTS_SIZES, /* a list of integers from 0 on */
    GPUC_EXTENTS_SHAPE, /* the same, but -1 is what the others leave, and 0 a dimension of input 0 */
    GPUC_EXTENTS_SIZE,  /* one of them */
    GPUC_EXTENTS_PAIRS, /* two of them for each dimension */
    GPUC_EXTENTS_AXES,  /* a list of dimensions; negative ones count from the end */
    GPUC_EXTENTS_AXIS, /* where num_newaxis dimensions begin; a negative one counts from the end of the result */
    GPUC_EXTENTS_SCALE, /* a real number that a dimension is multiplied by, to the nearest integer */
    GPUC_EXTENTS_BOUND, /* where steps begin, or what they do not reach: a list, or one number */
    GPUC_EXTENTS_STEP,  /* the steps, which are not 0 */
    GPUC_EXTENTS_REALS, /* a list of numbers that decide no extent */
} gpuc_op_extents_form;

/* An input that has extents, and the attribute that has them in the other row. */
typedef struct gpuc_op_extents {
    int input;
    const char *attr;
    gpuc_op_extents_form form;
} gpuc_op_extents;
#define GPUC_OP_EXTENTS 3 /* most inputs of extents */

typedef struct gpuc_op_dynamic {
    const char *name, *of; /* this row; the name that stands for the other one, which may be this one */
    /* Of inputs that decide extents together: the attribute that takes the extents where some input is not known. With own
     * it is this row that has it, beside all its inputs, and a call that has it is none of these. */
    const char *together;
    bool own;
    int n; /* of from; the last inputs may be left out */
    gpuc_op_extents from[GPUC_OP_EXTENTS];
} gpuc_op_dynamic;

/* The entry of a call with these attributes. NULL: it is not one of them. */
const gpuc_op_dynamic *gpuc_op_dynamic_find(const char *name, const gpuc_attrs *attrs);
/* How many of the entry's inputs a call of num_in inputs has. */
int gpuc_op_dynamic_num(const gpuc_op_dynamic *d, int num_in);
/* The entry's number of input i; -1: it has no extents. */
int gpuc_op_dynamic_at(const gpuc_op_dynamic *d, int i);
/* The number of elements that input i has by its type, which its form allows. Raises where it is not known. */
int gpuc_op_dynamic_count(gpuc_ctx *ctx, const gpuc_op_dynamic *d, int k, const gpuc_tensor_type *t);
/* Whether an attribute of this form can have these elements: axes, scales and steps are numbers there. */
bool gpuc_op_dynamic_takes(const gpuc_op_extents *x, int n, const gpuc_expr *elements);
/* attrs, of a call of the dynamic row, as attributes for the other one: with the elements of each input of extents, as
 * many as its type says, as numbers or sizes. */
const gpuc_attrs *gpuc_op_dynamic_attrs(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_attrs *attrs,
                                        int num_in, const gpuc_tensor_type *in,
                                        const gpuc_expr *const *elements);
/* The same with n extents that inputs decide together. */
const gpuc_attrs *gpuc_op_dynamic_sized(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_attrs *attrs,
                                        int n, const gpuc_expr *extents);
/* An infer function: by the other row, where extents that are not known are sizes that nobody knows. */
void gpuc_op_dynamic_infer(gpuc_op_call *call);

/* A size that nobody knows: a new symbol, which is printed as `?`. */
gpuc_expr gpuc_op_any_size(gpuc_ctx *ctx);

#endif
