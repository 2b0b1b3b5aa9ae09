/* SPDX-License-Identifier: Apache-2.0 */
/* How many steps lead from a number up to another, as operators of a program: what a range has elements. */
#include "relay/count_steps.h"

static gpuc_rexpr *as(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_dtype t)
{
    if (gpuc_dtype_equal(gpuc_relay_tensor_type(x)->dtype, t)) return x;
    return gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", t), x);
}

static gpuc_rexpr *number(gpuc_ctx *ctx, int64_t v)
{
    return gpuc_relay_const_bytes(ctx, GPUC_INT64, 0, NULL, &v);
}

static gpuc_rexpr *select(gpuc_ctx *ctx, gpuc_rexpr *cond, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {cond, a, b};
    return gpuc_relay_op(ctx, "where", NULL, 3, args);
}

/* The difference is taken in the type, the quotient in double precision, so that steps such as 0.1 are counted as they
 * are. Casts round narrow floats where a target computes with wider ones. */
static gpuc_rexpr *count_floats(gpuc_ctx *ctx, gpuc_rexpr *start, gpuc_rexpr *stop, gpuc_rexpr *step)
{
    gpuc_dtype t = gpuc_relay_tensor_type(start)->dtype, in = t.bits < 32 ? GPUC_FLOAT32 : t;
    gpuc_rexpr *span = gpuc_relay_op2(ctx, "subtract", NULL, as(ctx, stop, in), as(ctx, start, in));
    span = as(ctx, as(ctx, span, t), GPUC_FLOAT64);
    gpuc_rexpr *by = as(ctx, step, GPUC_FLOAT64), *max = gpuc_relay_const_scalar(ctx, GPUC_FLOAT64, 0x1p62);
    gpuc_rexpr *n = gpuc_relay_op2(ctx, "divide", NULL, span, by);
    gpuc_rexpr *ends = gpuc_relay_op2(ctx, "less", NULL, gpuc_relay_op1(ctx, "abs", NULL, n), max);
    gpuc_rexpr *moves =
        gpuc_relay_op2(ctx, "not_equal", NULL, by, gpuc_relay_const_scalar(ctx, GPUC_FLOAT64, 0));
    gpuc_rexpr *count = as(ctx, gpuc_relay_op1(ctx, "ceil", NULL, n), GPUC_INT64);
    count = gpuc_relay_op2(ctx, "maximum", NULL, count, number(ctx, 0));
    return select(ctx, gpuc_relay_op2(ctx, "logical_and", NULL, ends, moves), count, number(ctx, -1));
}

/* Without a sign, where any two numbers have a difference. */
static gpuc_rexpr *count_integers(gpuc_ctx *ctx, gpuc_rexpr *start, gpuc_rexpr *stop, gpuc_rexpr *step)
{
    const gpuc_dtype wide = {GPUC_DTYPE_UINT, 64, 1};
    bool is_wide = gpuc_dtype_equal(gpuc_relay_tensor_type(start)->dtype, wide);
    gpuc_dtype t = is_wide ? wide : GPUC_INT64;
    gpuc_rexpr *zero = gpuc_relay_const_scalar(ctx, t, 0), *one = gpuc_relay_const_scalar(ctx, wide, 1);
    gpuc_rexpr *low = as(ctx, start, t), *high = as(ctx, stop, t), *by = step = as(ctx, step, t);
    if (!is_wide) {
        gpuc_rexpr *up = gpuc_relay_op2(ctx, "greater", NULL, step, zero), *first = low;
        low = select(ctx, up, low, high);
        high = select(ctx, up, high, first);
        by = select(ctx, up, step, gpuc_relay_op1(ctx, "negative", NULL, step));
    }
    gpuc_rexpr *span = gpuc_relay_op2(ctx, "subtract", NULL, as(ctx, high, wide), as(ctx, low, wide));
    by = gpuc_relay_op2(ctx, "maximum", NULL, as(ctx, by, wide), one);
    gpuc_rexpr *count =
        gpuc_relay_op2(ctx, "floor_divide", NULL, gpuc_relay_op2(ctx, "subtract", NULL, span, one), by);
    count = as(ctx, gpuc_relay_op2(ctx, "add", NULL, count, one), GPUC_INT64);
    count = select(ctx, gpuc_relay_op2(ctx, "less", NULL, low, high), count, number(ctx, 0));
    return select(ctx, gpuc_relay_op2(ctx, "equal", NULL, step, zero), number(ctx, -1), count);
}

gpuc_rexpr *gpuc_relay_count_steps(gpuc_ctx *ctx, gpuc_rexpr *start, gpuc_rexpr *stop, gpuc_rexpr *step)
{
    bool real = gpuc_is_float(gpuc_relay_tensor_type(start)->dtype);
    return real ? count_floats(ctx, start, stop, step) : count_integers(ctx, start, stop, step);
}
