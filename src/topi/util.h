/* SPDX-License-Identifier: Apache-2.0 */
/* What rows and computes share. */
#ifndef GPUC_TOPI_UTIL_H
#define GPUC_TOPI_UTIL_H

#include "op/op.h"

/* Output i of an operator that moves elements. */
gpuc_tensor *gpuc_topi_injective(const gpuc_op_call *call, int i, gpuc_iter *const *axes, gpuc_expr body);
static inline gpuc_expr gpuc_topi_num(const gpuc_op_call *call, int64_t v)
{
    return gpuc_int(call->ctx, v);
}

/* A real number, cut to [low, high] and towards zero, as an int32; a NaN is 0. */
gpuc_expr gpuc_topi_int_of(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr low, gpuc_expr high);

/* Where the attribute data_layout puts the channels and the first spatial axis: "NCHW" is batch, channels,
 * then the spatial axes, of any number; "NHWC" has channels last. */
typedef struct gpuc_topi_layout {
    int channel, space;
} gpuc_topi_layout;
gpuc_topi_layout gpuc_topi_layout_of(const gpuc_op_call *call, int ndim);
/* Puts what is in the order of channels first into that of the layout, and back. */
void gpuc_topi_to_layout(gpuc_topi_layout at, int ndim, gpuc_expr *list);
void gpuc_topi_from_layout(gpuc_topi_layout at, int ndim, gpuc_expr *list);
#define GPUC_TOPI_DATA_LAYOUT                                                                                \
    {                                                                                                        \
        .name = "data_layout", .kind = GPUC_ATTR_STRING, .s = "NCHW"                                         \
    }

/* A window into data, with `fill` (NULL: 0) outside of it. Spatial axis i (axis space + i of data) has
 * size[i] positions; position p is data[(p - lo[i]) / step[i]] where that divides and lies inside. With phase
 * > 1 the last axis is cut into [phase][size / phase], in whole vectors: position q*phase + r is element [r][q], so that every
 * phase'th position lies together. Returns data itself where that is the same. Tagged "pad". */
typedef struct gpuc_topi_window {
    int rank, space;
    gpuc_expr size[8], lo[8], fill;
    int64_t step[8], phase;
} gpuc_topi_window;
gpuc_expr gpuc_topi_round_up(gpuc_ctx *ctx, gpuc_expr n, int64_t to); /* to a multiple */
/* Rows of sliding windows are computed in whole vectors of this many elements. */
#define GPUC_TOPI_ROW_ROUND 8
/* Phases are copied in whole vectors of this many, the shortest of any target. */
#define GPUC_TOPI_PHASE_ROUND 4
gpuc_tensor *gpuc_topi_pad_spatial(gpuc_ctx *ctx, gpuc_tensor *data, const gpuc_topi_window *window);
/* Position y*stride + shift of spatial axis i in what that returns: x[space + i], and the next of a last axis
 * that is cut (whose stride is the phase). */
void gpuc_topi_window_at(gpuc_ctx *ctx, const gpuc_topi_window *w, int i, gpuc_expr y, int64_t stride,
                         gpuc_expr shift, gpuc_expr *x);

#endif
