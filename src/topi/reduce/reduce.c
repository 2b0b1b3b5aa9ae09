/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over named axes. */
#include "topi/reduce/reduce.h"

#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

/* Sets out_of_in[d] to the dimension of the result that dimension d of the input becomes, or -1; returns the
 * rank of the result. */
static int result_index(const gpuc_op_call *call, bool *reduced, int *out_of_in)
{
    int n = 0;
    bool keep = gpuc_attrs_get_int(call->attrs, "keepdims", 0);
    gpuc_topi_axis_flags(call, "axis", call->in[0].ndim, reduced);
    for (int i = 0; i < call->in[0].ndim; i++) {
        out_of_in[i] = reduced[i] && !keep ? -1 : n;
        n += !reduced[i] || keep;
    }
    return n;
}

void gpuc_topi_infer_reduce(gpuc_op_call *call, gpuc_dtype t)
{
    const gpuc_tensor_type *in = &call->in[0];
    bool reduced[GPUC_TOPI_MAX_DIMS];
    int out_of_in[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int n = result_index(call, reduced, out_of_in);
    for (int i = 0; i < in->ndim; i++)
        if (out_of_in[i] >= 0) dims[out_of_in[i]] = reduced[i] ? gpuc_int(call->ctx, 1) : in->dims[i];
    gpuc_topi_set_out(call, 0, t, n, dims);
}

void gpuc_topi_reduction_init(const gpuc_op_call *call, gpuc_topi_reduction *r)
{
    gpuc_ctx *ctx = call->ctx;
    bool reduced[GPUC_TOPI_MAX_DIMS];
    int out_of_in[GPUC_TOPI_MAX_DIMS];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    r->axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    r->num_over = 0;
    result_index(call, reduced, out_of_in);
    for (int i = 0; i < call->in[0].ndim; i++) {
        if (reduced[i]) {
            r->over[r->num_over] = gpuc_te_reduce_axis(ctx, call->in[0].dims[i], "k");
            r->index[i] = gpuc_iter_var(r->over[r->num_over++]);
        } else {
            r->index[i] = vars[out_of_in[i]];
        }
    }
}

gpuc_expr gpuc_topi_reduced_count(const gpuc_op_call *call)
{
    bool reduced[GPUC_TOPI_MAX_DIMS];
    gpuc_expr count = gpuc_int(call->ctx, 1);
    gpuc_topi_axis_flags(call, "axis", call->in[0].ndim, reduced);
    for (int i = 0; i < call->in[0].ndim; i++)
        if (reduced[i]) count = gpuc_mul(call->ctx, count, call->in[0].dims[i]);
    return count;
}

static void infer_same(gpuc_op_call *call)
{
    gpuc_topi_infer_reduce(call, call->in[0].dtype);
}

static void infer_bool(gpuc_op_call *call)
{
    gpuc_topi_infer_reduce(call, GPUC_BOOL);
}

/* Computes sums and products of known sizes, such as the number of elements of a shape. */
static void infer_followed(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    int64_t n = 0;
    infer_same(call);
    if (in->ndim != 1 || !call->in_values[0] || !gpuc_dtype_equal(in->dtype, GPUC_INT64) ||
        !gpuc_expr_is_int(in->dims[0], &n))
        return;
    bool product = !strcmp(call->op->name, "prod");
    gpuc_expr *v = gpuc_new(call->ctx, gpuc_expr);
    *v = gpuc_int(call->ctx, product);
    for (int64_t i = 0; i < n; i++)
        *v = product ? gpuc_mul(call->ctx, *v, call->in_values[0][i])
                     : gpuc_add(call->ctx, *v, call->in_values[0][i]);
    call->out_values[0] = v;
}

/* Input 0, reduced; sums (and such) are made in type t. */
static gpuc_tensor *reduce(const gpuc_op_call *call, gpuc_tensor *in, const char *reducer, gpuc_dtype t)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_reduction r;
    gpuc_topi_reduction_init(call, &r);
    gpuc_expr value = gpuc_cast(ctx, t, gpuc_te_read(ctx, in, call->in[0].ndim, r.index));
    if (r.num_over) value = gpuc_te_reduce(ctx, reducer, value, r.num_over, r.over);
    return gpuc_topi_compute(ctx, "T_red", "reduce", call->out[0].ndim, r.axes, value);
}

/* A sum of bools is whether any is true. */
static void sum_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    if (gpuc_is_bool(call->in[0].dtype)) {
        outs[0] = reduce(call, ins[0], "any", GPUC_BOOL);
        return;
    }
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    outs[0] = gpuc_topi_rounded(call, reduce(call, ins[0], call->op->name, t));
}

/* The min or max. For bools, max is whether any is true, and min whether all are. */
static void limit_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    const char *reducer = call->op->name;
    if (gpuc_is_bool(call->in[0].dtype)) reducer = !strcmp(reducer, "max") ? "any" : "all";
    outs[0] = reduce(call, ins[0], reducer, call->in[0].dtype);
}

static void logic_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    outs[0] = reduce(call, ins[0], call->op->name, GPUC_BOOL);
}

static void mean_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    if (gpuc_is_integer(t) && t.bits < 32) t.bits = 32;
    gpuc_tensor *sum = reduce(call, ins[0], "sum", t);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    gpuc_expr value =
        gpuc_div(ctx, gpuc_te_read(ctx, sum, ndim, vars), gpuc_cast(ctx, t, gpuc_topi_reduced_count(call)));
    value = gpuc_cast(ctx, call->out[0].dtype, value);
    outs[0] = gpuc_topi_compute(ctx, "T_mean", "elemwise", ndim, axes, value);
}

ATTRS(reduce_attrs, INTS("axis"), INT("keepdims", 0), EXCLUDE,
      REFUSED("dtype", DTYPE, "it has no effect in NNVM; cast the input"))

#define ROW(nm, inf, set, fn, on)                                                                            \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .types = {set}, .attrs = reduce_attrs, .infer = inf,           \
        .compute = fn, .pattern = GPUC_FUSE_REDUCE, .topi = nm, .nnvm = nm, .onnx = on                       \
    }

const gpuc_op gpuc_topi_ops_reduce[] = {
    ROW("sum", infer_followed, GPUC_T_ANY, sum_compute,
        "ReduceSum,ReduceL1,ReduceL2,ReduceSumSquare,ReduceLogSum,ReduceLogSumExp"),
    ROW("mean", infer_same, GPUC_T_NUMBERS, mean_compute, "ReduceMean,GlobalAveragePool"),
    ROW("max", infer_same, GPUC_T_ANY, limit_compute, "ReduceMax,GlobalMaxPool"),
    ROW("min", infer_same, GPUC_T_ANY, limit_compute, "ReduceMin"),
    ROW("prod", infer_followed, GPUC_T_NUMBERS, sum_compute, "ReduceProd"),
    ROW("all", infer_bool, GPUC_T_ANY, logic_compute, ""),
    ROW("any", infer_bool, GPUC_T_ANY, logic_compute, ""),
};
const size_t gpuc_topi_ops_reduce_count = sizeof gpuc_topi_ops_reduce / sizeof gpuc_topi_ops_reduce[0];
