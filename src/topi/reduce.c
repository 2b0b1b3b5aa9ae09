/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over named axes. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"

static int result_index(const gpuc_op_call *call, const bool *reduced, int *out_of_in)
{
    int n = 0;
    bool keep = gpuc_attrs_get_int(call->attrs, "keepdims", 0);
    for (int i = 0; i < call->in[0].ndim; i++) {
        out_of_in[i] = reduced[i] && !keep ? -1 : n;
        n += !reduced[i] || keep;
    }
    return n;
}

static void infer_reduce(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    bool reduced[GPUC_TOPI_MAX_DIMS];
    int out_of_in[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", in->ndim, reduced);
    int n = result_index(call, reduced, out_of_in);
    for (int i = 0; i < in->ndim; i++)
        if (out_of_in[i] >= 0) dims[out_of_in[i]] = reduced[i] ? gpuc_int(call->ctx, 1) : in->dims[i];
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
}

/* Of a list of sizes, sums and products stay known: the number of elements of a shape. */
static void infer_followed(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    int64_t n = 0;
    infer_reduce(call);
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

/* in, reduced by sums (and such) that are made in type t. */
static gpuc_tensor *reduce(const gpuc_op_call *call, gpuc_tensor *in, const char *reducer, gpuc_dtype t)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, num_reduce = 0, out_of_in[GPUC_TOPI_MAX_DIMS];
    bool reduced[GPUC_TOPI_MAX_DIMS];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter *over[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_topi_axis_flags(call, "axis", ndim, reduced);
    result_index(call, reduced, out_of_in);
    for (int i = 0; i < ndim; i++) {
        if (reduced[i]) {
            over[num_reduce] = gpuc_te_reduce_axis(ctx, call->in[0].dims[i], "k");
            index[i] = gpuc_iter_var(over[num_reduce++]);
        } else {
            index[i] = vars[out_of_in[i]];
        }
    }
    gpuc_expr value = gpuc_te_read(ctx, in, ndim, index);
    value = gpuc_cast(ctx, t, value);
    if (num_reduce) value = gpuc_te_reduce(ctx, reducer, value, num_reduce, over);
    return gpuc_topi_compute(ctx, "T_red", "reduce", call->out[0].ndim, axes, value);
}

static void named_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    const char *reducer = call->op->name;
    gpuc_dtype t = call->in[0].dtype;
    bool sums = !strcmp(reducer, "sum") || !strcmp(reducer, "prod");
    outs[0] = gpuc_topi_rounded(call, reduce(call, ins[0], reducer, sums ? gpuc_topi_accumulator(t) : t));
}

static void mean_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    if (gpuc_is_integer(t) && t.bits < 32) t.bits = 32;
    gpuc_tensor *sum = reduce(call, ins[0], "sum", t);
    bool reduced[GPUC_TOPI_MAX_DIMS];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], count = gpuc_int(ctx, 1);
    gpuc_topi_axis_flags(call, "axis", call->in[0].ndim, reduced);
    for (int i = 0; i < call->in[0].ndim; i++)
        if (reduced[i]) count = gpuc_mul(ctx, count, call->in[0].dims[i]);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    gpuc_expr value = gpuc_div(ctx, gpuc_te_read(ctx, sum, ndim, vars), gpuc_cast(ctx, t, count));
    value = gpuc_cast(ctx, call->out[0].dtype, value);
    outs[0] = gpuc_topi_compute(ctx, "T_mean", "elemwise", ndim, axes, value);
}

static const gpuc_attr_spec reduce_attrs[] = {
    {.name = "axis", .kind = GPUC_ATTR_INTS}, {.name = "keepdims", .kind = GPUC_ATTR_INT}, {0}};

#define ROW(nm, inf, set, fn, on)                                                                            \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .types = {set}, .attrs = reduce_attrs, .infer = inf,           \
        .compute = fn, .pattern = GPUC_FUSE_REDUCE, .topi = nm, .nnvm = nm, .onnx = on                       \
    }

const gpuc_op gpuc_ops_reduce[] = {
    ROW("sum", infer_followed, GPUC_T_NUMBERS, named_compute, "ReduceSum"),
    ROW("mean", infer_reduce, GPUC_T_NUMBERS, mean_compute, "ReduceMean,GlobalAveragePool"),
    ROW("max", infer_reduce, GPUC_T_NUMBERS, named_compute, "ReduceMax,GlobalMaxPool"),
    ROW("min", infer_reduce, GPUC_T_NUMBERS, named_compute, "ReduceMin"),
    ROW("prod", infer_followed, GPUC_T_NUMBERS, named_compute, "ReduceProd"),
    ROW("all", infer_reduce, GPUC_T_BOOL, named_compute, ""),
    ROW("any", infer_reduce, GPUC_T_BOOL, named_compute, ""),
};
const size_t gpuc_ops_reduce_count = sizeof gpuc_ops_reduce / sizeof gpuc_ops_reduce[0];
