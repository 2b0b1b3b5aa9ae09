/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over windows of any spatial rank. ONNX MaxPool-12 and AveragePool-19: a window that starts in the
 * padding after the end is not taken in ceil mode. */
#include "topi/nn/pool.h"

#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

/* The number of windows along an axis. */
static gpuc_expr windows(const gpuc_op_call *call, const gpuc_topi_pool *p, int i, bool ceil_mode)
{
    gpuc_ctx *ctx = call->ctx;
    int64_t reach = (p->size[i] - 1) * p->dilation[i] + 1, s = p->strides[i];
    gpuc_expr step = gpuc_int(ctx, s), padding = gpuc_add(ctx, p->padding[i], p->padding[p->rank + i]),
              span = gpuc_add(ctx, p->in[i], gpuc_sub(ctx, padding, gpuc_int(ctx, reach)));
    gpuc_topi_require(call, gpuc_ge(ctx, span, gpuc_int(ctx, 0)),
                      "the window is larger than the padded input in dimension %d", 2 + i);
    if (ceil_mode) span = gpuc_add(ctx, span, gpuc_int(ctx, s - 1));
    gpuc_expr last = gpuc_topi_canonical(ctx, gpuc_floordiv_(ctx, span, step));
    if (ceil_mode) { /* no window starts beyond the end of the input */
        gpuc_expr end = gpuc_add(ctx, p->in[i], p->padding[i]);
        gpuc_expr behind = gpuc_ge(ctx, gpuc_mul(ctx, last, step), end);
        last = gpuc_select(ctx, behind, gpuc_sub(ctx, last, gpuc_int(ctx, 1)), last);
    }
    return gpuc_topi_canonical(ctx, gpuc_add(ctx, last, gpuc_int(ctx, 1)));
}

/* Whether the last window along an axis ends before `end`. */
static bool ends_before(gpuc_ctx *ctx, const gpuc_topi_pool *p, int i, gpuc_expr end)
{
    gpuc_expr start = gpuc_mul(ctx, gpuc_sub(ctx, p->out[i], gpuc_int(ctx, 1)), gpuc_int(ctx, p->strides[i]));
    gpuc_expr reach = gpuc_sub(ctx, gpuc_int(ctx, (p->size[i] - 1) * p->dilation[i]), p->padding[i]);
    return gpuc_topi_proves(ctx, gpuc_lt(ctx, gpuc_add(ctx, start, reach), end));
}

gpuc_topi_pool gpuc_topi_pool_of(const gpuc_op_call *call, int input)
{
    const gpuc_tensor_type *data = &call->in[input];
    gpuc_topi_pool p = {.rank = data->ndim - 2, .at = gpuc_topi_layout_of(call, data->ndim)};
    bool ceil_mode = gpuc_attrs_get_int(call->attrs, "ceil_mode", 0);
    if (p.rank < 1 || p.rank > GPUC_TOPI_MAX_RANK) gpuc_topi_fail(call, "data of %d dimensions", data->ndim);
    p.size = gpuc_topi_ints(call, "pool_size", p.rank);
    p.strides = gpuc_topi_ints(call, "strides", p.rank);
    gpuc_topi_sizes(call, "padding", 2 * p.rank, p.padding);
    p.dilation = gpuc_topi_ints(call, "dilation", p.rank);
    for (int i = 0; i < 2 * p.rank; i++)
        gpuc_topi_require(call, gpuc_ge(call->ctx, p.padding[i], gpuc_topi_num(call, 0)), "padding has %s",
                          gpuc_expr_text(call->ctx, p.padding[i]));
    for (int i = 0; i < p.rank; i++) {
        if (p.size[i] < 1 || p.strides[i] < 1 || p.dilation[i] < 1)
            gpuc_topi_fail(call, "pool_size, strides or dilation %d is below 1", i);
        p.in[i] = data->dims[p.at.space + i];
        p.out[i] = windows(call, &p, i, ceil_mode);
    }
    return p;
}

gpuc_tensor_type gpuc_topi_pool_type(const gpuc_op_call *call, int input, const gpuc_topi_pool *p)
{
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, p->rank + 2);
    memcpy(dims, call->in[input].dims, sizeof *dims * (size_t)(p->rank + 2));
    for (int i = 0; i < p->rank; i++) dims[p->at.space + i] = p->out[i];
    return (gpuc_tensor_type){.dtype = call->in[input].dtype, .ndim = p->rank + 2, .dims = dims};
}

void gpuc_topi_pool_axes(gpuc_ctx *ctx, const gpuc_topi_pool *p, gpuc_iter **over)
{
    for (int i = 0; i < p->rank; i++)
        over[i] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, p->size[i]), i == p->rank - 1 ? "kx" : "ky");
}

static gpuc_expr both(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return a && b ? gpuc_and(ctx, a, b) : a ? a : b;
}

/* Whether windows along an axis may start before the input. */
static bool is_padded(gpuc_ctx *ctx, const gpuc_topi_pool *p, int i)
{
    return !gpuc_topi_proves(ctx, gpuc_le(ctx, p->padding[i], gpuc_int(ctx, 0)));
}

gpuc_expr gpuc_topi_pool_source(gpuc_ctx *ctx, const gpuc_topi_pool *p, const gpuc_expr *vars,
                                gpuc_iter *const *over, gpuc_expr *x)
{
    gpuc_expr inside = NULL;
    x[0] = vars[0];
    x[p->at.channel] = vars[p->at.channel];
    for (int i = 0; i < p->rank; i++) {
        gpuc_expr k = gpuc_mul(ctx, gpuc_iter_var(over[i]), gpuc_int(ctx, p->dilation[i]));
        gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, vars[p->at.space + i], gpuc_int(ctx, p->strides[i])), k);
        x[p->at.space + i] = gpuc_sub(ctx, at, p->padding[i]);
        if (is_padded(ctx, p, i))
            inside = both(ctx, inside, gpuc_ge(ctx, x[p->at.space + i], gpuc_int(ctx, 0)));
        if (!ends_before(ctx, p, i, p->in[i]))
            inside = both(ctx, inside, gpuc_lt(ctx, x[p->at.space + i], p->in[i]));
    }
    return inside;
}

gpuc_expr gpuc_topi_pool_window(gpuc_ctx *ctx, const gpuc_topi_pool *p, const gpuc_expr *vars,
                                gpuc_iter *const *over, gpuc_expr *w)
{
    gpuc_expr seen = NULL, zero = gpuc_int(ctx, 0);
    w[0] = vars[0];
    w[p->at.channel] = vars[p->at.channel];
    for (int i = 0; i < p->rank; i++) {
        gpuc_expr k = gpuc_mul(ctx, gpuc_iter_var(over[i]), gpuc_int(ctx, p->dilation[i])),
                  s = gpuc_int(ctx, p->strides[i]);
        gpuc_expr start = gpuc_sub(ctx, gpuc_add(ctx, vars[p->at.space + i], p->padding[i]), k);
        w[p->at.space + i] = gpuc_floordiv_(ctx, start, s);
        seen = both(ctx, seen, gpuc_ge(ctx, start, zero));
        seen = both(ctx, seen, gpuc_lt(ctx, w[p->at.space + i], p->out[i]));
        if (p->strides[i] > 1) seen = both(ctx, seen, gpuc_eq(ctx, gpuc_floormod_(ctx, start, s), zero));
    }
    return seen;
}

gpuc_tensor *gpuc_topi_pool_reduce(const gpuc_op_call *call, const gpuc_topi_pool *p, gpuc_tensor *data,
                                   const char *reducer, gpuc_expr outside)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2], x[GPUC_TOPI_MAX_RANK + 2];
    gpuc_iter *over[GPUC_TOPI_MAX_RANK];
    gpuc_expr dims[GPUC_TOPI_MAX_RANK + 2];
    memcpy(dims, gpuc_te_shape(data), sizeof *dims * (size_t)(p->rank + 2));
    for (int i = 0; i < p->rank; i++) dims[p->at.space + i] = p->out[i];
    gpuc_tensor_type t = {.ndim = p->rank + 2, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    gpuc_topi_pool_axes(ctx, p, over);
    gpuc_expr inside = gpuc_topi_pool_source(ctx, p, vars, over, x);
    gpuc_expr value = gpuc_te_read(ctx, data, p->rank + 2, x);
    if (!strcmp(reducer, "sum")) value = gpuc_topi_widen(ctx, value);
    if (inside) value = gpuc_if_then_else(ctx, inside, value, outside);
    return gpuc_topi_compute(ctx, "pool", "pool", p->rank + 2, axes,
                             gpuc_te_reduce(ctx, reducer, value, p->rank, over));
}

/* Elements of the window along one axis that count: those of the input, or of the input and its padding. */
static gpuc_expr count_along(gpuc_ctx *ctx, const gpuc_topi_pool *p, int i, gpuc_expr y, bool include_pad)
{
    int64_t d = p->dilation[i];
    gpuc_expr end = include_pad ? gpuc_add(ctx, p->in[i], p->padding[p->rank + i]) : p->in[i];
    gpuc_expr size = gpuc_int(ctx, p->size[i]), step = gpuc_int(ctx, d);
    if ((include_pad || !is_padded(ctx, p, i)) && ends_before(ctx, p, i, end)) return size;
    gpuc_expr start = gpuc_sub(ctx, gpuc_mul(ctx, y, gpuc_int(ctx, p->strides[i])), p->padding[i]);
    gpuc_expr room = gpuc_sub(ctx, gpuc_add(ctx, end, gpuc_int(ctx, d - 1)), start);
    gpuc_expr hi = gpuc_min(ctx, size, gpuc_floordiv_(ctx, room, step));
    if (include_pad) return hi;
    gpuc_expr before = gpuc_floordiv_(ctx, gpuc_sub(ctx, gpuc_int(ctx, d - 1), start), step);
    return gpuc_sub(ctx, hi, gpuc_max(ctx, gpuc_int(ctx, 0), before));
}

gpuc_expr gpuc_topi_pool_count(const gpuc_op_call *call, const gpuc_topi_pool *p, const gpuc_expr *vars)
{
    gpuc_expr count = gpuc_int(call->ctx, 1);
    bool include_pad = gpuc_attrs_get_int(call->attrs, "count_include_pad", 0);
    for (int i = 0; i < p->rank; i++)
        count = gpuc_mul(call->ctx, count, count_along(call->ctx, p, i, vars[p->at.space + i], include_pad));
    return count;
}

static void infer_pool(gpuc_op_call *call)
{
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 0);
    call->out[0] = gpuc_topi_pool_type(call, 0, &p);
}

/* The same over a padded copy of the data, a vector of windows at a time: the last axis of the result is
 * rounded up. Rows shorter than a vector are not worth the copy; with
 * channels last, vectors run along those. */
static gpuc_tensor *slide(const gpuc_op_call *call, const gpuc_topi_pool *p, gpuc_tensor *data,
                          const char *reducer, gpuc_expr outside)
{
    gpuc_ctx *ctx = call->ctx;
    int last = p->rank - 1;
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2], x[GPUC_TOPI_MAX_RANK + 3], dims[GPUC_TOPI_MAX_RANK + 2];
    gpuc_iter *over[GPUC_TOPI_MAX_RANK];
    int64_t row;
    bool is_short = gpuc_expr_is_int(p->out[last], &row) && row < GPUC_TOPI_ROW_ROUND;
    if (is_short || p->at.space == 1) return gpuc_topi_pool_reduce(call, p, data, reducer, outside);
    gpuc_topi_window w = {.rank = p->rank, .space = p->at.space, .phase = p->strides[last]};
    w.fill = gpuc_cast(ctx, gpuc_te_dtype(data), outside);
    for (int i = 0; i < p->rank + 2; i++) dims[i] = gpuc_te_shape(data)[i];
    for (int i = 0; i < p->rank; i++) {
        dims[p->at.space + i] =
            i == last ? gpuc_topi_round_up(ctx, p->out[i], GPUC_TOPI_ROW_ROUND) : p->out[i];
        w.lo[i] = p->padding[i];
        w.step[i] = 1;
        int64_t reach = (p->size[i] - 1) * p->dilation[i] + 1;
        w.size[i] = gpuc_add(ctx, gpuc_mul(ctx, dims[p->at.space + i], gpuc_int(ctx, p->strides[i])),
                             gpuc_int(ctx, reach - p->strides[i]));
    }
    gpuc_tensor *padded = gpuc_topi_pad_spatial(ctx, data, &w);
    gpuc_tensor_type t = {.ndim = p->rank + 2, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    gpuc_topi_pool_axes(ctx, p, over);
    x[0] = vars[0];
    x[p->at.channel] = vars[p->at.channel];
    for (int i = 0; i < p->rank; i++) {
        gpuc_expr shift = gpuc_mul(ctx, gpuc_iter_var(over[i]), gpuc_int(ctx, p->dilation[i]));
        gpuc_topi_window_at(ctx, &w, i, vars[p->at.space + i], p->strides[i], shift, x);
    }
    gpuc_expr value = gpuc_te_read(ctx, padded, gpuc_te_ndim(padded), x);
    if (!strcmp(reducer, "sum")) value = gpuc_topi_widen(ctx, value);
    return gpuc_topi_compute(ctx, "pool", "window", p->rank + 2, axes,
                             gpuc_te_reduce(ctx, reducer, value, p->rank, over));
}

static void max_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 0);
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2];
    int ndim = p.rank + 2;
    gpuc_tensor *max = slide(call, &p, ins[0], "max", gpuc_tir_min_value(call->ctx, call->in[0].dtype));
    outs[0] = max;
    if (gpuc_te_shape(max)[ndim - 1] == call->out[0].dims[ndim - 1]) return;
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    outs[0] = gpuc_topi_compute(call->ctx, "crop", "elemwise", ndim, axes,
                                gpuc_te_read(call->ctx, max, ndim, vars));
}

static void avg_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_pool p = gpuc_topi_pool_of(call, 0);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_tensor *sum = slide(call, &p, ins[0], "sum", gpuc_imm(ctx, t, 0));
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr count = gpuc_cast(ctx, t, gpuc_topi_pool_count(call, &p, vars));
    gpuc_expr value = gpuc_div(ctx, gpuc_te_read(ctx, sum, p.rank + 2, vars), count);
    value = gpuc_cast(ctx, call->out[0].dtype, value);
    outs[0] = gpuc_topi_compute(ctx, "avg", "elemwise", p.rank + 2, axes, value);
}

/* ---- The p-norm of each window ---- */

static void infer_lp(gpuc_op_call *call)
{
    double p = gpuc_attrs_get_float(call->attrs, "p", 2);
    if (!(p > 0)) gpuc_topi_fail(call, "p=%g is not above 0", p);
    infer_pool(call);
}

static void lp_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_pool w = gpuc_topi_pool_of(call, 0);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    double p = gpuc_attrs_get_float(call->attrs, "p", 2);
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2];
    int ndim = w.rank + 2;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->in[0], vars);
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], ndim, vars)),
              size = gpuc_call1(ctx, "abs", x);
    gpuc_expr power = p == 2   ? gpuc_mul(ctx, x, x)
                      : p == 1 ? size
                               : gpuc_call2(ctx, "pow", size, gpuc_imm(ctx, t, p));
    gpuc_tensor *powers = gpuc_topi_compute(ctx, "power", "elemwise", ndim, axes, power);
    gpuc_tensor *sum = slide(call, &w, powers, "sum", gpuc_imm(ctx, t, 0));
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr total = gpuc_te_read(ctx, sum, ndim, vars);
    gpuc_expr root = p == 2   ? gpuc_call1(ctx, "sqrt", total)
                     : p == 1 ? total
                              : gpuc_call2(ctx, "pow", total, gpuc_imm(ctx, t, 1 / p));
    outs[0] =
        gpuc_topi_compute(ctx, "norm", "elemwise", ndim, axes, gpuc_cast(ctx, call->out[0].dtype, root));
}

ATTRS(max_specs, GPUC_TOPI_POOL_ATTRS, GPUC_TOPI_DATA_LAYOUT, DATA_LAYOUTS, OUT_LAYOUT)
ATTRS(avg_specs, GPUC_TOPI_POOL_ATTRS, GPUC_TOPI_DATA_LAYOUT, INT("count_include_pad", 0), DATA_LAYOUTS,
      OUT_LAYOUT)
ATTRS(lp_specs, GPUC_TOPI_POOL_ATTRS, GPUC_TOPI_DATA_LAYOUT, FLOAT("p", 2), DATA_LAYOUTS, OUT_LAYOUT)

#define ROWS(r)                                                                                              \
    ANCHOR("nn.max_pool" r "d", 1, 1, max_specs, infer_pool, max_compute, "max_pool" r "d",                  \
           "max_pool" r "d", "MaxPool", GPUC_T_NUMBERS),                                                     \
        ANCHOR("nn.avg_pool" r "d", 1, 1, avg_specs, infer_pool, avg_compute, "avg_pool" r "d",              \
               "avg_pool" r "d", "AveragePool", GPUC_T_FLOATS),                                              \
        ANCHOR("nn.lp_pool" r "d", 1, 1, lp_specs, infer_lp, lp_compute, "lp_pool" r "d", "",                \
               "LpPool,GlobalLpPool", GPUC_T_FLOATS)

const gpuc_op gpuc_topi_ops_pool[] = {ROWS("1"), ROWS("2"), ROWS("3")};
const size_t gpuc_topi_ops_pool_count = sizeof gpuc_topi_ops_pool / sizeof gpuc_topi_ops_pool[0];
