/* SPDX-License-Identifier: Apache-2.0 */
/* What rows and computes share. */
#ifndef GPUC_TOPI_UTIL_H
#define GPUC_TOPI_UTIL_H

#include "topi/op.h"

#define GPUC_TOPI_MAX_DIMS 64

/* Raises "<operator>: <text>". */
#define gpuc_topi_fail(call, fmt, ...)                                                                       \
    gpuc_raise((call)->ctx, GPUC_INVALID_ARGUMENT, "%s: " fmt, (call)->op->name, ##__VA_ARGS__)

void gpuc_topi_set_out(gpuc_op_call *call, int i, gpuc_dtype dtype, int ndim, const gpuc_expr *dims);
/* Room for any number of outputs; those beyond the first are set next. */
void gpuc_topi_set_num_out(gpuc_op_call *call, int n);
/* The attribute, counted from the end if negative, checked against [0, ndim). */
int gpuc_topi_axis(const gpuc_op_call *call, const char *attr, int ndim);
/* flags[i] for each axis listed in an ints attribute; an empty list means all. */
void gpuc_topi_axis_flags(const gpuc_op_call *call, const char *attr, int ndim, bool *flags);
/* An ints attribute of exactly n entries. */
const int64_t *gpuc_topi_ints(const gpuc_op_call *call, const char *attr, int n);
/* Dimension k of input i, which must be a number. */
int64_t gpuc_topi_static_dim(const gpuc_op_call *call, int i, int k);
/* The dimension of two operands that meet, numpy's rule; raises if they cannot. */
gpuc_expr gpuc_topi_broadcast_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b);
void gpuc_topi_broadcast_types(gpuc_op_call *call, int first, int count, gpuc_tensor_type *out);

/* One axis per dimension of a type; vars[i] is the variable of axis i. */
gpuc_iter **gpuc_topi_axes(gpuc_ctx *ctx, const gpuc_tensor_type *t, gpuc_expr *vars);
/* Element of t for the output index (ndim entries) under numpy broadcasting. */
gpuc_expr gpuc_topi_read_broadcast(gpuc_ctx *ctx, gpuc_tensor *t, int ndim, const gpuc_expr *index);
/* A compute with a tag attribute. */
gpuc_tensor *gpuc_topi_compute(gpuc_ctx *ctx, const char *name, const char *tag, int ndim,
                               gpuc_iter *const *axes, gpuc_expr body);

/* Output i of an operator that moves elements. */
gpuc_tensor *gpuc_topi_injective(const gpuc_op_call *call, int i, gpuc_iter *const *axes, gpuc_expr body);
static inline gpuc_expr gpuc_topi_num(const gpuc_op_call *call, int64_t v)
{
    return gpuc_int(call->ctx, v);
}

/* Inference shared by families. */
void gpuc_topi_infer_same(gpuc_op_call *call); /* out 0 is like input 0 */
/* A window into data, with zeros outside of it. Spatial axis i (axis 2 + i of data) has size[i] positions;
 * position p is data[(p - lo[i]) / step[i]] where that divides and lies inside. With phase > 1 the last axis
 * is cut into [phase][size / phase]: position q*phase + r is element [r][q], so that every phase'th position
 * lies together. Returns data itself where that is the same. Tagged "pad". */
typedef struct gpuc_topi_window {
    int rank;
    int64_t lo[8], size[8], step[8], phase;
} gpuc_topi_window;
gpuc_tensor *gpuc_topi_pad_spatial(gpuc_ctx *ctx, gpuc_tensor *data, const gpuc_topi_window *w);

#endif
