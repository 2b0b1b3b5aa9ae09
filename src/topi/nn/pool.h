/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that slide over the space of data [N, C, space] or [N, space, C]. */
#ifndef GPUC_TOPI_NN_POOL_H
#define GPUC_TOPI_NN_POOL_H

#include "op/rows.h"
#include "topi/util.h"

enum { GPUC_TOPI_MAX_RANK = 8 };

typedef struct gpuc_topi_pool {
    int rank;
    gpuc_topi_layout at;
    const int64_t *size, *strides, *dilation;
    gpuc_expr padding[2 * GPUC_TOPI_MAX_RANK];
    gpuc_expr in[GPUC_TOPI_MAX_RANK], out[GPUC_TOPI_MAX_RANK]; /* extents of the space */
} gpuc_topi_pool;

/* The attributes of a call that slides over this input, checked; out is what they make of it. */
gpuc_topi_pool gpuc_topi_pool_of(const gpuc_op_call *call, int input);
/* The type of one value per window. */
gpuc_tensor_type gpuc_topi_pool_type(const gpuc_op_call *call, int input, const gpuc_topi_pool *p);
/* One reduce axis per dimension of the window. */
void gpuc_topi_pool_axes(gpuc_ctx *ctx, const gpuc_topi_pool *p, gpuc_iter **over);
/* x[0 .. rank + 1]: the element that window vars sees at `over`. Returns whether it lies inside of the data;
 * NULL: always. */
gpuc_expr gpuc_topi_pool_source(gpuc_ctx *ctx, const gpuc_topi_pool *p, const gpuc_expr *vars,
                                gpuc_iter *const *over, gpuc_expr *x);
/* The other way: w[0 .. rank + 1] is the window that sees element vars at `over`, if there is one. */
gpuc_expr gpuc_topi_pool_window(gpuc_ctx *ctx, const gpuc_topi_pool *p, const gpuc_expr *vars,
                                gpuc_iter *const *over, gpuc_expr *w);
/* Reduces each window, with `outside` for elements beyond the data. */
gpuc_tensor *gpuc_topi_pool_reduce(const gpuc_op_call *call, const gpuc_topi_pool *p, gpuc_tensor *data,
                                   const char *reducer, gpuc_expr outside);
/* The number of elements that a window averages. */
gpuc_expr gpuc_topi_pool_count(const gpuc_op_call *call, const gpuc_topi_pool *p, const gpuc_expr *vars);

#define GPUC_TOPI_POOL_ATTRS                                                                                 \
    SPACE_REQUIRED("pool_size"), SPACE_INTS("strides", 1), SIDE_SIZES("padding"), SPACE_INTS("dilation", 1), \
        INT("ceil_mode", 0), SAME("kernel", INTS, "pool_size"), SAME("stride", INTS, "strides")

#endif
