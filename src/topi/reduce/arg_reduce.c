/* SPDX-License-Identifier: Apache-2.0 */
/* Where the largest or smallest element is: a reduction of pairs of index and value. As in numpy, a NaN is
 * larger and smaller than all else, and several axes count as one row-major axis. */
#include <string.h>

#include "topi/families.h"
#include "topi/reduce/reduce.h"
#include "op/rows.h"

enum { INDEX, VALUE };

static void infer_arg(gpuc_op_call *call)
{
    gpuc_dtype t = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    const gpuc_tensor_type *in = &call->in[0];
    bool reduced[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", in->ndim, reduced);
    for (int i = 0; i < in->ndim; i++)
        if (reduced[i] && in->dims[i])
            gpuc_topi_require(call, gpuc_gt(call->ctx, in->dims[i], gpuc_topi_num(call, 0)),
                              "there is no element to choose");
    if (!t.bits) t = GPUC_INT32;
    if (!gpuc_is_integer(t)) gpuc_topi_fail(call, "dtype must be an integer type");
    gpuc_topi_infer_reduce(call, t);
}

static gpuc_expr is_nan(gpuc_ctx *ctx, gpuc_expr x)
{
    return gpuc_call1(ctx, "isnan", x);
}

/* Whether the right pair wins. Of equal values the first wins, or the last. */
static gpuc_expr wins(gpuc_ctx *ctx, bool max, bool last, const gpuc_expr *l, const gpuc_expr *r)
{
    gpuc_expr better = max ? gpuc_gt(ctx, r[VALUE], l[VALUE]) : gpuc_lt(ctx, r[VALUE], l[VALUE]);
    gpuc_expr same = gpuc_eq(ctx, l[VALUE], r[VALUE]);
    if (gpuc_is_float(gpuc_expr_dtype(l[VALUE]))) {
        gpuc_expr left = is_nan(ctx, l[VALUE]), right = is_nan(ctx, r[VALUE]);
        better = gpuc_or(ctx, better, gpuc_and(ctx, right, gpuc_not(ctx, left)));
        same = gpuc_or(ctx, same, gpuc_and(ctx, left, right));
    }
    gpuc_expr order = last ? gpuc_gt(ctx, r[INDEX], l[INDEX]) : gpuc_lt(ctx, r[INDEX], l[INDEX]);
    return gpuc_or(ctx, better, gpuc_and(ctx, same, order));
}

static const gpuc_tir_reducer *reducer_of(gpuc_ctx *ctx, const char *name, bool last, gpuc_dtype index,
                                          gpuc_dtype t)
{
    bool max = !strcmp(name, "argmax");
    gpuc_expr lhs[2], rhs[2], result[2], identity[2];
    lhs[INDEX] = gpuc_var(ctx, "i", index);
    rhs[INDEX] = gpuc_var(ctx, "j", index);
    lhs[VALUE] = gpuc_var(ctx, "x", t);
    rhs[VALUE] = gpuc_var(ctx, "y", t);
    gpuc_expr right = wins(ctx, max, last, lhs, rhs);
    for (int k = 0; k < 2; k++) result[k] = gpuc_select(ctx, right, rhs[k], lhs[k]);
    /* An index that loses against every real one. */
    identity[INDEX] = last ? gpuc_imm_int(ctx, index, -1) : gpuc_tir_max_value(ctx, index);
    identity[VALUE] = max ? gpuc_tir_min_value(ctx, t) : gpuc_tir_max_value(ctx, t);
    return gpuc_te_comm_reducer(ctx, name, 2, lhs, rhs, result, identity);
}

static void arg_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_reduction r;
    int64_t count;
    int ndim = call->out[0].ndim;
    bool narrow = gpuc_expr_is_int(gpuc_topi_reduced_count(call), &count) && count < INT32_MAX;
    gpuc_topi_reduction_init(call, &r);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at = gpuc_int(ctx, 0), body;
    for (int i = 0; i < r.num_over; i++)
        at = gpuc_add(ctx, gpuc_mul(ctx, at, gpuc_iter_extent(r.over[i])), gpuc_iter_var(r.over[i]));
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    if (r.num_over) {
        gpuc_expr x = gpuc_te_read(ctx, ins[0], call->in[0].ndim, r.index);
        if (gpuc_is_bool(gpuc_expr_dtype(x))) x = gpuc_cast(ctx, GPUC_UINT8, x);
        gpuc_dtype index = narrow ? GPUC_INT32 : GPUC_INT64;
        gpuc_expr source[] = {gpuc_cast(ctx, index, at), x}, bodies[2];
        bool last = gpuc_attrs_get_int(call->attrs, "select_last_index", 0);
        const gpuc_tir_reducer *reducer = reducer_of(ctx, call->op->name, last, index, gpuc_expr_dtype(x));
        gpuc_tensor *pair[2];
        gpuc_te_reduce_n(ctx, reducer, source, r.num_over, r.over, NULL, bodies);
        gpuc_te_compute_n(ctx, "T_arg", ndim, r.axes, 2, bodies, pair);
        gpuc_te_set_attr(ctx, pair[0], "tag", "reduce");
        body = gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, pair[INDEX], ndim, vars));
    } else {
        body = gpuc_imm_int(ctx, call->out[0].dtype, 0);
    }
    outs[0] = gpuc_topi_compute(ctx, "T_index", "elemwise", ndim, axes, body);
}

ATTRS(arg_attrs, INTS("axis"), INT("keepdims", 0), INT("select_last_index", 0),
      {.name = "dtype", .kind = GPUC_ATTR_DTYPE}, EXCLUDE) /* of the result; int32 if not given */

#define ROW(nm, on)                                                                                          \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .types = {GPUC_T_ANY}, .attrs = arg_attrs, .infer = infer_arg, \
        .compute = arg_compute, .pattern = GPUC_FUSE_REDUCE, .topi = nm, .nnvm = nm, .onnx = on              \
    }

const gpuc_op gpuc_topi_ops_arg_reduce[] = {
    ROW("argmax", "ArgMax,Hardmax"),
    ROW("argmin", "ArgMin"),
};
const size_t gpuc_topi_ops_arg_reduce_count =
    sizeof gpuc_topi_ops_arg_reduce / sizeof gpuc_topi_ops_arg_reduce[0];
