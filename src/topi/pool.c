/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over windows of any spatial rank. ONNX MaxPool-12 and AveragePool-19: a window that starts in the
 * padding after the end is not taken in ceil mode. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"

enum { MOST_RANK = 8 };

typedef struct pool_attrs {
    int rank;
    const int64_t *size, *strides, *padding, *dilation;
} pool_attrs;

static pool_attrs get_attrs(const gpuc_op_call *call)
{
    pool_attrs a = {.rank = call->in[0].ndim - 2};
    if (a.rank < 1 || a.rank > MOST_RANK) gpuc_topi_fail(call, "data of %d dimensions", call->in[0].ndim);
    a.size = gpuc_topi_ints(call, "pool_size", a.rank);
    a.strides = gpuc_topi_ints(call, "strides", a.rank);
    a.padding = gpuc_topi_ints(call, "padding", 2 * a.rank);
    a.dilation = gpuc_topi_ints(call, "dilation", a.rank);
    for (int i = 0; i < a.rank; i++)
        if (a.size[i] < 1 || a.strides[i] < 1 || a.dilation[i] < 1)
            gpuc_topi_fail(call, "pool_size, strides or dilation %d is below 1", i);
    for (int i = 0; i < 2 * a.rank; i++)
        if (a.padding[i] < 0) gpuc_topi_fail(call, "padding has %lld", (long long)a.padding[i]);
    return a;
}

static void infer_pool(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    pool_attrs a = get_attrs(call);
    gpuc_expr dims[MOST_RANK + 2];
    bool ceil_mode = gpuc_attrs_get_int(call->attrs, "ceil_mode", 0);
    dims[0] = call->in[0].dims[0];
    dims[1] = call->in[0].dims[1];
    for (int i = 0; i < a.rank; i++) {
        int64_t reach = (a.size[i] - 1) * a.dilation[i] + 1, s = a.strides[i];
        int64_t in = gpuc_topi_static_dim(call, 0, 2 + i),
                span = in + a.padding[i] + a.padding[a.rank + i] - reach;
        if (span < 0)
            gpuc_topi_fail(call, "the window is larger than the padded input in dimension %d", 2 + i);
        int64_t out = (ceil_mode ? span + s - 1 : span) / s + 1;
        if (ceil_mode && (out - 1) * s >= in + a.padding[i]) out--;
        dims[2 + i] = gpuc_int(ctx, out);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, a.rank + 2, dims);
}

/* The reduction over the window, with `outside` where it leaves the input. */
static gpuc_tensor *window(const gpuc_op_call *call, gpuc_tensor *in, const char *reducer, gpuc_expr outside,
                           const char *tag)
{
    gpuc_ctx *ctx = call->ctx;
    pool_attrs a = get_attrs(call);
    gpuc_expr vars[MOST_RANK + 2], x[MOST_RANK + 2], inside = NULL;
    gpuc_iter *over[MOST_RANK];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    x[0] = vars[0];
    x[1] = vars[1];
    for (int i = 0; i < a.rank; i++) {
        int64_t out = 0, in_dim = gpuc_topi_static_dim(call, 0, 2 + i);
        gpuc_expr_is_int(call->out[0].dims[2 + i], &out);
        over[i] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, a.size[i]), i == a.rank - 1 ? "kx" : "ky");
        gpuc_expr k = gpuc_mul(ctx, gpuc_iter_var(over[i]), gpuc_int(ctx, a.dilation[i]));
        gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, vars[2 + i], gpuc_int(ctx, a.strides[i])), k);
        x[2 + i] = gpuc_sub(ctx, at, gpuc_int(ctx, a.padding[i]));
        int64_t last = (out - 1) * a.strides[i] + (a.size[i] - 1) * a.dilation[i] - a.padding[i];
        gpuc_expr ok = a.padding[i] > 0 ? gpuc_ge(ctx, x[2 + i], gpuc_int(ctx, 0)) : NULL;
        if (last >= in_dim) {
            gpuc_expr below = gpuc_lt(ctx, x[2 + i], gpuc_int(ctx, in_dim));
            ok = ok ? gpuc_and(ctx, ok, below) : below;
        }
        if (ok) inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, in, a.rank + 2, x);
    if (!strcmp(reducer, "sum")) value = gpuc_topi_widen(ctx, value);
    if (inside) value = gpuc_if_then_else(ctx, inside, value, outside);
    return gpuc_topi_compute(ctx, "pool", tag, a.rank + 2, axes,
                             gpuc_te_reduce(ctx, reducer, value, a.rank, over));
}

static void max_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    outs[0] = window(call, ins[0], "max", gpuc_tir_min_value(call->ctx, call->in[0].dtype), "pool");
}

/* Elements of the window along one axis that count: those of the input, or of the input and its padding. */
static gpuc_expr window_count(gpuc_ctx *ctx, const pool_attrs *a, int i, gpuc_expr y, int64_t in,
                              bool include_pad)
{
    gpuc_expr start =
        gpuc_sub(ctx, gpuc_mul(ctx, y, gpuc_int(ctx, a->strides[i])), gpuc_int(ctx, a->padding[i]));
    int64_t end = include_pad ? in + a->padding[a->rank + i] : in, d = a->dilation[i];
    gpuc_expr zero = gpuc_int(ctx, 0), size = gpuc_int(ctx, a->size[i]), step = gpuc_int(ctx, d);
    gpuc_expr room = gpuc_sub(ctx, gpuc_int(ctx, end + d - 1), start);
    gpuc_expr hi = gpuc_min(ctx, size, gpuc_floordiv_(ctx, room, step));
    if (include_pad) return hi;
    gpuc_expr before = gpuc_floordiv_(ctx, gpuc_sub(ctx, gpuc_int(ctx, d - 1), start), step);
    return gpuc_sub(ctx, hi, gpuc_max(ctx, zero, before));
}

static void avg_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    pool_attrs a = get_attrs(call);
    bool include_pad = gpuc_attrs_get_int(call->attrs, "count_include_pad", 0);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_tensor *sum = window(call, ins[0], "sum", gpuc_imm(ctx, t, 0), "pool");
    gpuc_expr vars[MOST_RANK + 2], count = gpuc_int(ctx, 1);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < a.rank; i++) {
        int64_t in = gpuc_topi_static_dim(call, 0, 2 + i), out = 0;
        gpuc_expr_is_int(call->out[0].dims[2 + i], &out);
        int64_t last = (out - 1) * a.strides[i] + (a.size[i] - 1) * a.dilation[i] - a.padding[i];
        bool whole =
            (include_pad || a.padding[i] == 0) && last < in + (include_pad ? a.padding[a.rank + i] : 0);
        gpuc_expr n =
            whole ? gpuc_int(ctx, a.size[i]) : window_count(ctx, &a, i, vars[2 + i], in, include_pad);
        count = gpuc_mul(ctx, count, n);
    }
    gpuc_expr value = gpuc_div(ctx, gpuc_te_read(ctx, sum, a.rank + 2, vars), gpuc_cast(ctx, t, count));
    value = gpuc_cast(ctx, call->out[0].dtype, value);
    outs[0] = gpuc_topi_compute(ctx, "avg", "elemwise", a.rank + 2, axes, value);
}

#define INTS(nm)                                                                                             \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .required = true, .most = GPUC_OP_MOST_WINDOW                    \
    }
#define INT(nm)                                                                                              \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT                                                                    \
    }
static const gpuc_attr_spec pool_specs[] = {INTS("pool_size"),
                                            INTS("strides"),
                                            INTS("padding"),
                                            INTS("dilation"),
                                            INT("ceil_mode"),
                                            INT("count_include_pad"),
                                            {0}};

#define ROW(nm, fn, tp, nn, on)                                                                              \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .attrs = pool_specs, .infer = infer_pool, .compute = fn,       \
        .pattern = GPUC_FUSE_OUT_FUSABLE, .topi = tp, .nnvm = nn, .onnx = on                                 \
    }

const gpuc_op gpuc_ops_pool[] = {
    ROW("nn.max_pool1d", max_compute, "pool1d", "", "MaxPool"),
    ROW("nn.max_pool2d", max_compute, "pool2d", "max_pool2d", "MaxPool"),
    ROW("nn.max_pool3d", max_compute, "pool3d", "", "MaxPool"),
    ROW("nn.avg_pool1d", avg_compute, "pool1d", "", "AveragePool"),
    ROW("nn.avg_pool2d", avg_compute, "pool2d", "avg_pool2d", "AveragePool"),
    ROW("nn.avg_pool3d", avg_compute, "pool3d", "", "AveragePool"),
};
const size_t gpuc_ops_pool_count = sizeof gpuc_ops_pool / sizeof gpuc_ops_pool[0];
