/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that look at the elements twice: variance, standard deviation, the logarithm of a sum of exponentials. */
#include <string.h>

#include "op/rows.h"
#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/reduce/reduce.h"

static void infer_moment(gpuc_op_call *call)
{
    gpuc_topi_infer_reduce(call, call->in[0].dtype);
    if (call->num_in < 2) return;
    const gpuc_tensor_type *mean = &call->in[1];
    int more = call->in[0].ndim - mean->ndim;
    if (more < 0) gpuc_topi_fail(call, "the mean has more dimensions than the data");
    for (int i = 0; i < mean->ndim; i++)
        gpuc_topi_require_expands(call, mean->dims[i], call->in[0].dims[more + i], "mean");
}

/* A reduction of input 0 that keeps its dimensions, as ones. */
static gpuc_tensor *reduced(const gpuc_op_call *call, gpuc_tensor *in, const char *reducer)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, num_over = 0;
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter *over[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim; i++) dims[i] = flags[i] ? gpuc_int(ctx, 1) : call->in[0].dims[i];
    gpuc_tensor_type t = {.ndim = ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, index);
    for (int i = 0; i < ndim; i++) {
        if (!flags[i]) continue;
        over[num_over] = gpuc_te_reduce_axis(ctx, call->in[0].dims[i], "k");
        index[i] = gpuc_iter_var(over[num_over++]);
    }
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, in, ndim, index));
    if (num_over) x = gpuc_te_reduce(ctx, reducer, x, num_over, over);
    return gpuc_topi_compute(ctx, reducer, "reduce", ndim, axes, x);
}

/* Element of such a reduction for an index into input 0. */
static gpuc_expr read_reduced(const gpuc_op_call *call, gpuc_tensor *t, const gpuc_expr *index)
{
    int ndim = call->in[0].ndim;
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr at[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim; i++) at[i] = flags[i] ? gpuc_int(call->ctx, 0) : index[i];
    return gpuc_te_read(call->ctx, t, ndim, at);
}

static gpuc_expr count_of(const gpuc_op_call *call, gpuc_dtype t, int64_t less)
{
    gpuc_expr n = gpuc_topi_reduced_count(call);
    return gpuc_cast(call->ctx, t, gpuc_sub(call->ctx, n, gpuc_int(call->ctx, less)));
}

/* What `each` makes of an element, and the sum of it over the axes. */
typedef gpuc_expr (*element_fn)(const gpuc_op_call *call, gpuc_expr x, gpuc_tensor *first,
                                const gpuc_expr *index);

static gpuc_tensor *sum_of(const gpuc_op_call *call, gpuc_tensor *in, gpuc_tensor *first, element_fn each)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_reduction r;
    gpuc_topi_reduction_init(call, &r);
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, in, call->in[0].ndim, r.index));
    x = each(call, x, first, r.index);
    if (r.num_over) x = gpuc_te_reduce(ctx, "sum", x, r.num_over, r.over);
    return gpuc_topi_compute(ctx, "sum", "reduce", call->out[0].ndim, r.axes, x);
}

/* ---- Variance: input 1, if there is one, is the mean ---- */

static gpuc_expr square_of(const gpuc_op_call *call, gpuc_expr x, gpuc_tensor *mean, const gpuc_expr *index)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr middle = call->num_in > 1
                           ? gpuc_cast(ctx, t, gpuc_topi_read_broadcast(ctx, mean, &call->in[0], index))
                           : gpuc_div(ctx, read_reduced(call, mean, index), count_of(call, t, 0));
    gpuc_expr d = gpuc_sub(ctx, x, middle);
    return gpuc_mul(ctx, d, d);
}

static void variance_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    bool root = !strcmp(call->op->name, "std");
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor *mean = call->num_in > 1 ? ins[1] : reduced(call, ins[0], "sum");
    gpuc_tensor *sum = sum_of(call, ins[0], mean, square_of);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr total = gpuc_te_read(ctx, sum, call->out[0].ndim, vars);
    gpuc_expr y = gpuc_div(
        ctx, total, count_of(call, gpuc_expr_dtype(total), gpuc_attrs_get_int(call->attrs, "unbiased", 0)));
    if (root) y = gpuc_call1(ctx, "sqrt", y);
    outs[0] = gpuc_topi_compute(ctx, "variance", "elemwise", call->out[0].ndim, axes,
                                gpuc_cast(ctx, call->out[0].dtype, y));
}

/* ---- log(sum(exp(x))), from the distances to the largest element ---- */

/* The largest element, or 0 where it is none that exponentials can be taken from. */
static gpuc_expr finite_of(gpuc_ctx *ctx, gpuc_expr max)
{
    gpuc_expr is_infinite = gpuc_call1(ctx, "isinf", max);
    return gpuc_select(ctx, is_infinite, gpuc_imm(ctx, gpuc_expr_dtype(max), 0), max);
}

static gpuc_expr exp_of(const gpuc_op_call *call, gpuc_expr x, gpuc_tensor *max, const gpuc_expr *index)
{
    gpuc_ctx *ctx = call->ctx;
    return gpuc_call1(ctx, "exp", gpuc_sub(ctx, x, finite_of(ctx, read_reduced(call, max, index))));
}

static void logsumexp_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    bool flags[GPUC_TOPI_MAX_DIMS], keep = gpuc_attrs_get_int(call->attrs, "keepdims", 0);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor *max = reduced(call, ins[0], "max"), *sum = sum_of(call, ins[0], max, exp_of);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_topi_axis_flags(call, "axis", call->in[0].ndim, flags);
    for (int i = 0, at = 0; i < call->in[0].ndim; i++)
        index[i] = flags[i] && !keep ? gpuc_int(ctx, 0) : vars[at++];
    gpuc_expr log = gpuc_call1(ctx, "log", gpuc_te_read(ctx, sum, call->out[0].ndim, vars));
    gpuc_expr y = gpuc_add(ctx, log, finite_of(ctx, read_reduced(call, max, index)));
    outs[0] = gpuc_topi_compute(ctx, "logsumexp", "elemwise", call->out[0].ndim, axes,
                                gpuc_cast(ctx, call->out[0].dtype, y));
}

ATTRS(moment_attrs, INTS("axis"), INT("keepdims", 0), INT("unbiased", 0), EXCLUDE)
ATTRS(log_attrs, INTS("axis"), INT("keepdims", 0), EXCLUDE)

const gpuc_op gpuc_topi_ops_moments[] = {
    ALONE("variance", 1, 2, moment_attrs, infer_moment, variance_compute, "variance", "", "", GPUC_T_FLOATS,
          GPUC_T_LIKE),
    ALONE("std", 1, 1, moment_attrs, infer_moment, variance_compute, "std", "", "", GPUC_T_FLOATS),
    ALONE("logsumexp", 1, 1, log_attrs, infer_moment, logsumexp_compute, "logsumexp", "", "", GPUC_T_FLOATS),
};
const size_t gpuc_topi_ops_moments_count = sizeof gpuc_topi_ops_moments / sizeof gpuc_topi_ops_moments[0];
