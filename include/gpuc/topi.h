/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on tensors of tensor expressions (te.h), as TVM's TOPI has them: inside of a program of one's own, beside
 * computes that one writes by hand, scheduled by hand or by gpuc_topi_schedule (op.h).
 *
 *   gpuc_tensor *y = gpuc_topi(ctx, "nn.conv2d", (gpuc_tensor *[]){x, w}, 2, "padding=[1, 1], channels=64");
 *   y = gpuc_topi_nn_relu(ctx, gpuc_topi_multiply(ctx, y, gpuc_te_const(ctx, GPUC_FLOAT32, 0.5)));
 *
 * gpuc_topi takes every operator of the table, by any of its names (docs/names.md, `gpuc ops`), and those that were
 * added to the context. The functions below it are the common ones. A number is a tensor without dimensions
 * (gpuc_te_const). Operands that are broadcast follow numpy's rule. Tensors may have any number of dimensions, and
 * sizes that are symbols: that these fit each other is not checked when such a program runs, as it is in models.
 *
 * All functions raise: INVALID_ARGUMENT for NULL and for operands, types and attributes that do not fit, where the
 * message names the operator, and the operand or attribute; UNSUPPORTED for unknown names (with the nearest known), and
 * for what no target computes. Results live in the
 * context. Element types are those that `gpuc ops NAME` lists; operands of one call have the same unless said
 * otherwise. */
#ifndef GPUC_TOPI_H
#define GPUC_TOPI_H

#include <gpuc/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Any operator ---- */

/* The results of an operator in outs[0 .. n), which has room for max_out; n is returned. Raises if there are more.
 * attrs may be NULL; attributes that are left out have their defaults. */
GPUC_API int gpuc_topi_call(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs, int num_in,
                            gpuc_tensor *const *ins, int max_out, gpuc_tensor **outs);
/* The only result of an operator. attrs as Relay's text has them: "axis=[1], keepdims=1, mode=\"edge\""; NULL: none. */
GPUC_API gpuc_tensor *gpuc_topi(gpuc_ctx *ctx, const char *name, gpuc_tensor *const *ins, int num_in,
                                const char *attrs);

/* ---- Element by element ---- */

GPUC_API gpuc_tensor *gpuc_topi_abs(gpuc_ctx *ctx, gpuc_tensor *x);      /* |x| */
GPUC_API gpuc_tensor *gpuc_topi_negative(gpuc_ctx *ctx, gpuc_tensor *x); /* -x */
GPUC_API gpuc_tensor *gpuc_topi_sign(gpuc_ctx *ctx, gpuc_tensor *x);     /* -1, 0 or 1 */
GPUC_API gpuc_tensor *gpuc_topi_exp(gpuc_ctx *ctx, gpuc_tensor *x);   /* e^x; floats, as those that follow */
GPUC_API gpuc_tensor *gpuc_topi_log(gpuc_ctx *ctx, gpuc_tensor *x);   /* natural logarithm */
GPUC_API gpuc_tensor *gpuc_topi_sqrt(gpuc_ctx *ctx, gpuc_tensor *x);  /* square root */
GPUC_API gpuc_tensor *gpuc_topi_rsqrt(gpuc_ctx *ctx, gpuc_tensor *x); /* 1 / sqrt(x) */
GPUC_API gpuc_tensor *gpuc_topi_sin(gpuc_ctx *ctx, gpuc_tensor *x);   /* of radians */
GPUC_API gpuc_tensor *gpuc_topi_cos(gpuc_ctx *ctx, gpuc_tensor *x);   /* of radians */
GPUC_API gpuc_tensor *gpuc_topi_tanh(gpuc_ctx *ctx, gpuc_tensor *x);  /* hyperbolic tangent */
GPUC_API gpuc_tensor *gpuc_topi_erf(gpuc_ctx *ctx, gpuc_tensor *x);   /* error function */
GPUC_API gpuc_tensor *gpuc_topi_sigmoid(gpuc_ctx *ctx, gpuc_tensor *x); /* 1 / (1 + e^-x) */
GPUC_API gpuc_tensor *gpuc_topi_floor(gpuc_ctx *ctx, gpuc_tensor *x);   /* down to an integer */
GPUC_API gpuc_tensor *gpuc_topi_ceil(gpuc_ctx *ctx, gpuc_tensor *x);    /* up to an integer */
GPUC_API gpuc_tensor *gpuc_topi_round(gpuc_ctx *ctx,
                                      gpuc_tensor *x); /* to the nearest integer, halves to even */
GPUC_API gpuc_tensor *gpuc_topi_trunc(gpuc_ctx *ctx, gpuc_tensor *x);       /* toward zero to an integer */
GPUC_API gpuc_tensor *gpuc_topi_logical_not(gpuc_ctx *ctx, gpuc_tensor *x); /* of bool */

GPUC_API gpuc_tensor *gpuc_topi_add(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);      /* a + b */
GPUC_API gpuc_tensor *gpuc_topi_subtract(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* a - b */
GPUC_API gpuc_tensor *gpuc_topi_multiply(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* a * b */
/* a / b; integers: toward zero, and 0 where b is 0. */
GPUC_API gpuc_tensor *gpuc_topi_divide(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);
GPUC_API gpuc_tensor *gpuc_topi_power(gpuc_ctx *ctx, gpuc_tensor *a,
                                      gpuc_tensor *b); /* a to the power of b */
GPUC_API gpuc_tensor *gpuc_topi_maximum(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* the larger one */
GPUC_API gpuc_tensor *gpuc_topi_minimum(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* the smaller one */
GPUC_API gpuc_tensor *gpuc_topi_equal(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);   /* a == b, a bool */
GPUC_API gpuc_tensor *gpuc_topi_not_equal(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* a != b, a bool */
GPUC_API gpuc_tensor *gpuc_topi_less(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);      /* a < b, a bool */
GPUC_API gpuc_tensor *gpuc_topi_less_equal(gpuc_ctx *ctx, gpuc_tensor *a,
                                           gpuc_tensor *b);                             /* a <= b, a bool */
GPUC_API gpuc_tensor *gpuc_topi_greater(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* a > b, a bool */
/* a >= b, a bool */
GPUC_API gpuc_tensor *gpuc_topi_greater_equal(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);
GPUC_API gpuc_tensor *gpuc_topi_logical_and(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b); /* of bools */
GPUC_API gpuc_tensor *gpuc_topi_logical_or(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);  /* of bools */

/* a where cond, a bool, holds, b elsewhere; all three are broadcast. */
GPUC_API gpuc_tensor *gpuc_topi_where(gpuc_ctx *ctx, gpuc_tensor *cond, gpuc_tensor *a, gpuc_tensor *b);
/* Elements as numbers of another type: floats to integers toward zero, within the type's range. */
GPUC_API gpuc_tensor *gpuc_topi_cast(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_dtype dtype);
GPUC_API gpuc_tensor *gpuc_topi_clip(gpuc_ctx *ctx, gpuc_tensor *x, double min,
                                     double max); /* to [min, max] */

/* ---- Reductions: over n axes, which may be negative; n = 0: over all. keepdims: each stays, with extent 1 ---- */

/* The sum. */
GPUC_API gpuc_tensor *gpuc_topi_sum(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes, bool keepdims);
/* The product. */
GPUC_API gpuc_tensor *gpuc_topi_prod(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes,
                                     bool keepdims);
/* The largest element. */
GPUC_API gpuc_tensor *gpuc_topi_max(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes, bool keepdims);
/* The smallest element. */
GPUC_API gpuc_tensor *gpuc_topi_min(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes, bool keepdims);
/* The mean, of floats. */
GPUC_API gpuc_tensor *gpuc_topi_mean(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes,
                                     bool keepdims);
/* The position of the largest element along an axis, the first of equal ones: int32. */
GPUC_API gpuc_tensor *gpuc_topi_argmax(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis, bool keepdims);
/* The same of the smallest. */
GPUC_API gpuc_tensor *gpuc_topi_argmin(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis, bool keepdims);

/* ---- Shapes ---- */

/* Dimension i of the result is dimension axes[i] of x; axes NULL: in reverse order. */
GPUC_API gpuc_tensor *gpuc_topi_transpose(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *axes);
/* The same elements in order, with n other extents. */
GPUC_API gpuc_tensor *gpuc_topi_reshape(gpuc_ctx *ctx, gpuc_tensor *x, int n, const gpuc_expr *shape);
/* Copies along new first dimensions and those of extent 1. */
GPUC_API gpuc_tensor *gpuc_topi_broadcast_to(gpuc_ctx *ctx, gpuc_tensor *x, int n, const gpuc_expr *shape);
/* count new dimensions of extent 1, the first of which is dimension axis of the result. */
GPUC_API gpuc_tensor *gpuc_topi_expand_dims(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis, int64_t count);
/* Without n dimensions of extent 1; n = 0: without all of them. */
GPUC_API gpuc_tensor *gpuc_topi_squeeze(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes);
/* n tensors, one behind the other along an axis; their other extents are equal. */
GPUC_API gpuc_tensor *gpuc_topi_concatenate(gpuc_ctx *ctx, int n, gpuc_tensor *const *xs, int64_t axis);
/* Elements begin, begin + stride, ..., before end of each of the x's dimensions, as numpy slices. */
GPUC_API gpuc_tensor *gpuc_topi_strided_slice(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *begin,
                                              const int64_t *end, const int64_t *strides);
/* The parts of x along an axis that integers name: those outside are taken as the nearest. */
GPUC_API gpuc_tensor *gpuc_topi_take(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_tensor *indices, int64_t axis);

/* ---- Neural networks ---- */

GPUC_API gpuc_tensor *gpuc_topi_nn_relu(gpuc_ctx *ctx, gpuc_tensor *x); /* max(x, 0) */
/* e^x over its sum along an axis; floats. */
GPUC_API gpuc_tensor *gpuc_topi_nn_softmax(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis);
/* x [..., k] times weight [n, k] transposed, plus bias [n], which may be NULL: [..., n]. */
GPUC_API gpuc_tensor *gpuc_topi_nn_dense(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_tensor *weight,
                                         gpuc_tensor *bias);
/* a [..., m, k] times b [..., k, n]; the first dimensions are broadcast. transposed: its last two are swapped. */
GPUC_API gpuc_tensor *gpuc_topi_nn_matmul(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b, bool a_transposed,
                                          bool b_transposed);
/* x [n, c, h, w] with weight [o, c / groups, kh, kw]: [n, o, ...]. strides and dilation have two entries, for h and
 * w; padding has four: at the top, the left, the bottom and the right. */
GPUC_API gpuc_tensor *gpuc_topi_nn_conv2d(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_tensor *weight,
                                          const int64_t *strides, const int64_t *padding,
                                          const int64_t *dilation, int64_t groups);
/* The maximum of each window of x [n, c, h, w]; entries as for gpuc_topi_nn_conv2d. */
GPUC_API gpuc_tensor *gpuc_topi_nn_max_pool2d(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *window,
                                              const int64_t *strides, const int64_t *padding);
/* The mean of each window, without what is padded; floats. */
GPUC_API gpuc_tensor *gpuc_topi_nn_avg_pool2d(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *window,
                                              const int64_t *strides, const int64_t *padding);

#ifdef __cplusplus
}
#endif
#endif
