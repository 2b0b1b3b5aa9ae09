/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of reductions: the attributes axis (none: all) and keepdims of a call. */
#ifndef GPUC_TOPI_REDUCE_REDUCE_H
#define GPUC_TOPI_REDUCE_REDUCE_H

#include "topi/util.h"

typedef struct gpuc_topi_reduction {
    gpuc_iter **axes; /* of the result */
    int num_over;
    gpuc_iter *over[GPUC_TOPI_MAX_DIMS]; /* reduced dimensions, in order */
    gpuc_expr index[GPUC_TOPI_MAX_DIMS]; /* of the element of input 0 */
} gpuc_topi_reduction;

/* The result's dimensions; its type is t. */
void gpuc_topi_infer_reduce(gpuc_op_call *call, gpuc_dtype t);
void gpuc_topi_reduction_init(const gpuc_op_call *call, gpuc_topi_reduction *r);
/* Elements that one result is made of. */
gpuc_expr gpuc_topi_reduced_count(const gpuc_op_call *call);

#endif
