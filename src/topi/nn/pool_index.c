/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling that knows where its maxima are: indices beside the values, and gradients. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/nn/pool.h"

/* Elements of one channel. */
static gpuc_expr plane(gpuc_ctx *ctx, const gpuc_topi_pool *p)
{
    gpuc_expr n = gpuc_int(ctx, 1);
    for (int i = 0; i < p->rank; i++) n = gpuc_mul(ctx, n, p->in[i]);
    return n;
}

/* The type of positions in a channel. */
static gpuc_dtype position_type(gpuc_ctx *ctx, const gpuc_topi_pool *p)
{
    int64_t count;
    return gpuc_expr_is_int(plane(ctx, p), &count) && count <= INT32_MAX ? GPUC_INT32 : GPUC_INT64;
}

static gpuc_expr position(gpuc_ctx *ctx, const gpuc_topi_pool *p, const gpuc_expr *x)
{
    gpuc_expr at = gpuc_int(ctx, 0);
    for (int i = 0; i < p->rank; i++) at = gpuc_add(ctx, gpuc_mul(ctx, at, p->in[i]), x[2 + i]);
    return gpuc_cast(ctx, position_type(ctx, p), at);
}

/* The position in its channel of the first maximum of each window. */
static gpuc_tensor *first_maximum(const gpuc_op_call *call, const gpuc_topi_pool *p, gpuc_tensor *data,
                                  gpuc_tensor *max)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = p->rank + 2;
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2], x[GPUC_TOPI_MAX_RANK + 2];
    gpuc_iter *over[GPUC_TOPI_MAX_RANK];
    gpuc_tensor_type t = {.ndim = ndim, .dims = gpuc_te_shape(max)};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    gpuc_topi_pool_axes(ctx, p, over);
    gpuc_expr inside = gpuc_topi_pool_source(ctx, p, vars, over, x);
    gpuc_expr value = gpuc_te_read(ctx, data, ndim, x);
    gpuc_expr found = gpuc_eq(ctx, value, gpuc_te_read(ctx, max, ndim, vars));
    if (gpuc_is_float(gpuc_te_dtype(data))) found = gpuc_or(ctx, found, gpuc_call1(ctx, "isnan", value));
    gpuc_expr last = gpuc_sub(ctx, plane(ctx, p), gpuc_int(ctx, 1));
    gpuc_expr none = gpuc_cast(ctx, position_type(ctx, p), gpuc_max(ctx, last, gpuc_int(ctx, 0)));
    gpuc_expr at = gpuc_select(ctx, found, position(ctx, p, x), none);
    if (inside) at = gpuc_if_then_else(ctx, inside, at, none);
    return gpuc_topi_compute(ctx, "position", "pool", ndim, axes,
                             gpuc_te_reduce(ctx, "min", at, p->rank, over));
}

static gpuc_tensor *maximum(const gpuc_op_call *call, const gpuc_topi_pool *p, gpuc_tensor *data)
{
    return gpuc_topi_pool_reduce(call, p, data, "max", gpuc_tir_min_value(call->ctx, gpuc_te_dtype(data)));
}

/* ---- ONNX MaxPool with Indices: into the flattened data, rows or (storage_order 1) columns first ---- */

static void infer_with_argmax(gpuc_op_call *call)
{
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 0);
    call->num_out = 2;
    call->out[0] = call->out[1] = gpuc_topi_pool_type(call, 0, &p);
    call->out[1].dtype = GPUC_INT64;
}

static void with_argmax_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 0);
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2];
    int ndim = p.rank + 2;
    outs[0] = maximum(call, &p, ins[0]);
    gpuc_tensor *first = first_maximum(call, &p, ins[0], outs[0]);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[1], vars);
    gpuc_expr at = gpuc_te_read(ctx, first, ndim, vars);
    if (gpuc_attrs_get_int(call->attrs, "storage_order", 0)) {
        gpuc_dtype t = position_type(ctx, &p);
        gpuc_expr rest = at;
        at = gpuc_imm_int(ctx, t, 0);
        for (int i = p.rank - 1; i >= 0; i--) {
            gpuc_expr extent = gpuc_cast(ctx, t, p.in[i]), stride = gpuc_int(ctx, 1);
            for (int k = 0; k < i; k++) stride = gpuc_mul(ctx, stride, p.in[k]);
            gpuc_expr x = gpuc_mul(ctx, gpuc_floormod_(ctx, rest, extent), gpuc_cast(ctx, t, stride));
            at = gpuc_add(ctx, at, x);
            rest = gpuc_floordiv_(ctx, rest, extent);
        }
    }
    gpuc_expr channel = gpuc_add(ctx, gpuc_mul(ctx, vars[0], call->in[0].dims[1]), vars[1]);
    channel = gpuc_cast(ctx, GPUC_INT64, gpuc_mul(ctx, channel, plane(ctx, &p)));
    at = gpuc_add(ctx, channel, gpuc_cast(ctx, GPUC_INT64, at));
    outs[1] = gpuc_topi_compute(ctx, "index", "elemwise", ndim, axes, at);
}

/* ---- Gradients: grad is of the windows, the result of the data ---- */

static void infer_grad(gpuc_op_call *call)
{
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 1);
    if (call->in[0].ndim != p.rank + 2)
        gpuc_topi_fail(call, "a gradient of %d dimensions, data of %d", call->in[0].ndim, p.rank + 2);
    for (int i = 0; i < p.rank + 2; i++) {
        gpuc_expr want = i < 2 ? call->in[1].dims[i] : p.out[i - 2], have = call->in[0].dims[i];
        gpuc_topi_require(call, gpuc_eq(call->ctx, have, want),
                          "dimension %d of the gradient is %s, the windows make it %s", i,
                          gpuc_expr_text(call->ctx, have), gpuc_expr_text(call->ctx, want));
    }
    call->out[0] = call->in[1];
}

static gpuc_tensor *spread_back(const gpuc_op_call *call, const gpuc_topi_pool *p, gpuc_tensor *grad,
                                gpuc_tensor *first)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = p->rank + 2;
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2], w[GPUC_TOPI_MAX_RANK + 2];
    gpuc_iter *over[GPUC_TOPI_MAX_RANK];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_topi_pool_axes(ctx, p, over);
    gpuc_expr seen = gpuc_topi_pool_window(ctx, p, vars, over, w);
    gpuc_expr value = gpuc_topi_widen(ctx, gpuc_te_read(ctx, grad, ndim, w)),
              zero = gpuc_imm(ctx, gpuc_expr_dtype(value), 0);
    if (first)
        value = gpuc_select(ctx, gpuc_eq(ctx, gpuc_te_read(ctx, first, ndim, w), position(ctx, p, vars)),
                            value, zero);
    else
        value =
            gpuc_div(ctx, value, gpuc_cast(ctx, gpuc_expr_dtype(value), gpuc_topi_pool_count(call, p, w)));
    value = gpuc_if_then_else(ctx, seen, value, zero);
    return gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "grad", "pool", ndim, axes,
                                                     gpuc_te_reduce(ctx, "sum", value, p->rank, over)));
}

static void max_grad_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 1);
    outs[0] = spread_back(call, &p, ins[0], first_maximum(call, &p, ins[1], maximum(call, &p, ins[1])));
}

static void avg_grad_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 1);
    outs[0] = spread_back(call, &p, ins[0], NULL);
}

ATTRS(argmax_specs, GPUC_TOPI_POOL_ATTRS, INT("storage_order", 0), NCHW_ONLY("layout"), OUT_LAYOUT)
ATTRS(max_specs, GPUC_TOPI_POOL_ATTRS, NCHW_ONLY("layout"), OUT_LAYOUT)
ATTRS(avg_specs, GPUC_TOPI_POOL_ATTRS, INT("count_include_pad", 0), NCHW_ONLY("layout"), OUT_LAYOUT)

const gpuc_op gpuc_topi_ops_pool_index[] = {
    ALONE("nn.max_pool_with_argmax", 1, 1, argmax_specs, infer_with_argmax, with_argmax_compute,
          "max_pool_with_argmax", "", "MaxPool", GPUC_T_NUMBERS),
    ANCHOR("nn.max_pool_grad", 2, 2, max_specs, infer_grad, max_grad_compute, "max_pool_grad", "", "",
           GPUC_T_FLOATS, GPUC_T_LIKE),
    ANCHOR("nn.avg_pool_grad", 2, 2, avg_specs, infer_grad, avg_grad_compute, "avg_pool_grad", "", "",
           GPUC_T_FLOATS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_pool_index_count =
    sizeof gpuc_topi_ops_pool_index / sizeof gpuc_topi_ops_pool_index[0];
