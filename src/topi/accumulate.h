/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of 16-bit floats are made in float32 and rounded once. */
#ifndef GPUC_TOPI_ACCUMULATE_H
#define GPUC_TOPI_ACCUMULATE_H

#include "topi/util.h"

static inline gpuc_dtype gpuc_topi_accumulator(gpuc_dtype t)
{
    return gpuc_is_float(t) && t.bits == 16 ? GPUC_FLOAT32 : t;
}

/* An element of t as the accumulator's type. */
static inline gpuc_expr gpuc_topi_widen(gpuc_ctx *ctx, gpuc_expr x)
{
    return gpuc_cast(ctx, gpuc_topi_accumulator(gpuc_expr_dtype(x)), x);
}

/* sum in the element type of the call's result: sum itself if it is of that type. */
static inline gpuc_tensor *gpuc_topi_rounded(const gpuc_op_call *call, gpuc_tensor *sum)
{
    gpuc_dtype t = call->out[0].dtype;
    if (gpuc_dtype_equal(gpuc_te_dtype(sum), t)) return sum;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    gpuc_expr value = gpuc_cast(call->ctx, t, gpuc_te_read(call->ctx, sum, call->out[0].ndim, vars));
    return gpuc_topi_compute(call->ctx, "rounded", "elemwise", call->out[0].ndim, axes, value);
}

#endif
