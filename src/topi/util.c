/* SPDX-License-Identifier: Apache-2.0 */
/* What computes share: axes, broadcast reads, windows. */
#include "topi/util.h"

#include <string.h>

#include "arith/arith.h"

gpuc_iter **gpuc_topi_axes(gpuc_ctx *ctx, const gpuc_tensor_type *t, gpuc_expr *vars)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
    gpuc_iter **axes = gpuc_new_array(ctx, gpuc_iter *, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        axes[i] = gpuc_te_axis(ctx, t->dims[i], i < 8 ? names[i] : "i");
        vars[i] = gpuc_iter_var(axes[i]);
    }
    return axes;
}

gpuc_expr gpuc_topi_read_broadcast(gpuc_ctx *ctx, gpuc_tensor *t, const gpuc_tensor_type *out,
                                   const gpuc_expr *index)
{
    gpuc_expr at[GPUC_TOPI_MAX_DIMS];
    int n = gpuc_te_ndim(t);
    for (int k = 0; k < n; k++) {
        gpuc_expr dim = gpuc_te_shape(t)[k], i = index[k + out->ndim - n];
        int64_t d;
        if (gpuc_expr_is_int(dim, &d))
            at[k] = d == 1 ? gpuc_int(ctx, 0) : i;
        else if (dim == out->dims[k + out->ndim - n])
            at[k] = i;
        else
            at[k] = gpuc_select(ctx, gpuc_eq(ctx, dim, gpuc_int(ctx, 1)), gpuc_int(ctx, 0), i);
    }
    return gpuc_te_read(ctx, t, n, at);
}

gpuc_tensor *gpuc_topi_compute(gpuc_ctx *ctx, const char *name, const char *tag, int ndim,
                               gpuc_iter *const *axes, gpuc_expr body)
{
    gpuc_tensor *t = gpuc_te_compute(ctx, name, ndim, axes, body);
    gpuc_te_set_attr(ctx, t, "tag", tag);
    return t;
}

gpuc_tensor *gpuc_topi_injective(const gpuc_op_call *call, int i, gpuc_iter *const *axes, gpuc_expr body)
{
    return gpuc_topi_compute(call->ctx, "T", "injective", call->out[i].ndim, axes, body);
}

gpuc_expr gpuc_topi_int_of(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr low, gpuc_expr high)
{
    gpuc_expr at = gpuc_max(ctx, low, gpuc_min(ctx, x, high));
    at = gpuc_select(ctx, gpuc_call1(ctx, "isnan", at), gpuc_imm(ctx, gpuc_expr_dtype(x), 0), at);
    return gpuc_cast(ctx, GPUC_INT32, at);
}

gpuc_expr gpuc_topi_round_up(gpuc_ctx *ctx, gpuc_expr n, int64_t to)
{
    gpuc_expr count = gpuc_floordiv_(ctx, gpuc_add(ctx, n, gpuc_int(ctx, to - 1)), gpuc_int(ctx, to));
    return gpuc_topi_canonical(ctx, gpuc_mul(ctx, count, gpuc_int(ctx, to)));
}

/* Whether every position p of axis i is element p of the data. */
static bool stays_inside(gpuc_ctx *ctx, const gpuc_topi_window *w, int i, gpuc_expr have)
{
    return w->lo[i] == gpuc_int(ctx, 0) && w->step[i] == 1 &&
           gpuc_topi_proves(ctx, gpuc_le(ctx, w->size[i], have));
}

gpuc_tensor *gpuc_topi_pad_spatial(gpuc_ctx *ctx, gpuc_tensor *data, const gpuc_topi_window *window)
{
    gpuc_topi_window rounded = *window, *w = &rounded;
    int ndim = w->rank + 2, out_ndim = ndim + (w->phase > 1);
    if (w->phase > 1) {
        gpuc_expr *row = &rounded.size[w->rank - 1];
        *row = gpuc_topi_round_up(ctx, *row, w->phase * GPUC_TOPI_PHASE_ROUND);
    }
    gpuc_expr dims[16], vars[16], index[16], inside = NULL, phase = gpuc_int(ctx, w->phase);
    bool changes = w->phase > 1;
    memcpy(dims, gpuc_te_shape(data), sizeof *dims * (size_t)ndim);
    for (int i = 0; i < w->rank; i++) {
        changes |= !stays_inside(ctx, w, i, dims[w->space + i]);
        dims[w->space + i] = w->size[i];
    }
    if (!changes) return data;
    if (w->phase > 1) {
        dims[ndim] = gpuc_topi_canonical(ctx, gpuc_floordiv_(ctx, w->size[w->rank - 1], phase));
        dims[ndim - 1] = phase;
    }
    gpuc_tensor_type t = {.dtype = gpuc_te_dtype(data), .ndim = out_ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    for (int k = 0; k < ndim; k++) {
        index[k] = vars[k];
        int i = k - w->space;
        if (i < 0 || i >= w->rank) continue;
        gpuc_expr have = gpuc_te_shape(data)[k];
        if (k == ndim - 1 && w->phase > 1)
            index[k] = gpuc_add(ctx, gpuc_mul(ctx, vars[k + 1], phase), vars[k]);
        if (stays_inside(ctx, w, i, have)) continue;
        gpuc_expr at = gpuc_sub(ctx, index[k], w->lo[i]), ok = gpuc_ge(ctx, at, gpuc_int(ctx, 0));
        if (w->step[i] != 1) {
            gpuc_expr s = gpuc_int(ctx, w->step[i]);
            ok = gpuc_and(ctx, ok, gpuc_eq(ctx, gpuc_floormod_(ctx, at, s), gpuc_int(ctx, 0)));
            at = gpuc_floordiv_(ctx, at, s);
        }
        ok = gpuc_and(ctx, ok, gpuc_lt(ctx, at, have));
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
        index[k] = at;
    }
    gpuc_expr value = gpuc_te_read(ctx, data, ndim, index);
    gpuc_expr fill = w->fill ? w->fill : gpuc_imm(ctx, t.dtype, 0);
    if (inside) value = gpuc_if_then_else(ctx, inside, value, fill);
    return gpuc_topi_compute(ctx, "pad", "pad", out_ndim, axes, value);
}

void gpuc_topi_window_at(gpuc_ctx *ctx, const gpuc_topi_window *w, int i, gpuc_expr y, int64_t stride,
                         gpuc_expr shift, gpuc_expr *x)
{
    if (i == w->rank - 1 && w->phase > 1) {
        gpuc_expr s = gpuc_int(ctx, w->phase);
        x[w->space + i] = gpuc_floormod_(ctx, shift, s);
        x[w->space + i + 1] = gpuc_add(ctx, y, gpuc_floordiv_(ctx, shift, s));
    } else {
        x[w->space + i] = gpuc_add(ctx, gpuc_mul(ctx, y, gpuc_int(ctx, stride)), shift);
    }
}

gpuc_topi_layout gpuc_topi_layout_of(const gpuc_op_call *call, int ndim)
{
    const char *layout = gpuc_attrs_get_string(call->attrs, "data_layout", "NCHW");
    if (!strcmp(layout, "NCHW")) return (gpuc_topi_layout){.channel = 1, .space = 2};
    if (!strcmp(layout, "NHWC")) return (gpuc_topi_layout){.channel = ndim - 1, .space = 1};
    gpuc_topi_fail(call, "data_layout is '%s'; known are NCHW and NHWC", layout);
}

void gpuc_topi_to_layout(gpuc_topi_layout at, int ndim, gpuc_expr *list)
{
    gpuc_expr channel = list[1];
    memmove(list + at.space, list + 2, sizeof *list * (size_t)(ndim - 2));
    list[at.channel] = channel;
}

void gpuc_topi_from_layout(gpuc_topi_layout at, int ndim, gpuc_expr *list)
{
    gpuc_expr channel = list[at.channel];
    memmove(list + 2, list + at.space, sizeof *list * (size_t)(ndim - 2));
    list[1] = channel;
}
