/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of 16-bit floats are made in float32 and rounded once. Sums of integer products are made in the type
 * of the result: out_dtype of a product widens its operands. */
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

/* The element type of a product of inputs 0 and 1: theirs, or out_dtype. */
static inline gpuc_dtype gpuc_topi_product_type(const gpuc_op_call *call)
{
    gpuc_dtype a = call->in[0].dtype, b = call->in[1].dtype,
               out = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    char x[24], y[24], z[24];
    bool integers = gpuc_is_integer(a) && gpuc_is_integer(b) && gpuc_is_integer(out) && out.bits,
         alike = gpuc_dtype_equal(a, b) && !gpuc_is_bool(a);
    if (integers || (alike && (!out.bits || gpuc_is_float(a) == gpuc_is_float(out))))
        return out.bits ? out : a;
    if (out.bits)
        gpuc_topi_fail(call,
                       "takes tensors of integers, or of one type of floats, for out_dtype=%s; not %s and %s",
                       gpuc_dtype_name(out, z), gpuc_dtype_name(a, x), gpuc_dtype_name(b, y));
    gpuc_topi_fail(call, "takes two tensors of one type of numbers, not %s and %s", gpuc_dtype_name(a, x),
                   gpuc_dtype_name(b, y));
}

/* An operand of a product, in the type in which it is summed. */
static inline gpuc_expr gpuc_topi_factor(const gpuc_op_call *call, gpuc_expr x)
{
    return gpuc_cast(call->ctx, gpuc_topi_accumulator(call->out[0].dtype), x);
}

#define GPUC_TOPI_OUT_DTYPE                                                                                  \
    {                                                                                                        \
        .name = "out_dtype", .kind = GPUC_ATTR_DTYPE                                                         \
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
