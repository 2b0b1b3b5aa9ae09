/* SPDX-License-Identifier: Apache-2.0 */
#include "topi/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arith/arith.h"

const char *gpuc_topi_printf(gpuc_ctx *ctx, const char *fmt, ...)
{
    va_list args;
    char text[512];
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return gpuc_ctx_strdup(ctx, text);
}

void gpuc_topi_set_out(gpuc_op_call *call, int i, gpuc_dtype dtype, int ndim, const gpuc_expr *dims)
{
    gpuc_expr *copy = gpuc_new_array(call->ctx, gpuc_expr, ndim);
    for (int k = 0; k < ndim; k++) copy[k] = dims[k];
    call->out[i] = (gpuc_tensor_type){.dtype = dtype, .ndim = ndim, .dims = copy};
}

void gpuc_topi_set_num_out(gpuc_op_call *call, int n)
{
    if (n > GPUC_OP_MAX_OUT) {
        call->out = gpuc_new_array(call->ctx, gpuc_tensor_type, n);
        call->out_values = gpuc_new_array(call->ctx, const gpuc_expr *, n);
    }
    call->num_out = n;
}

int gpuc_topi_axis(const gpuc_op_call *call, const char *attr, int ndim)
{
    int64_t axis = gpuc_attrs_get_int(call->attrs, attr, 0);
    if (axis < -ndim || axis >= ndim)
        gpuc_topi_fail(call, "%s=%lld is outside of the %d dimensions of the input", attr, (long long)axis,
                       ndim);
    return (int)(axis < 0 ? axis + ndim : axis);
}

void gpuc_topi_axis_flags(const gpuc_op_call *call, const char *attr, int ndim, bool *flags)
{
    const gpuc_attr *a = gpuc_attrs_find(call->attrs, attr);
    for (int i = 0; i < ndim; i++) flags[i] = a->n == 0;
    for (int i = 0; i < a->n; i++) {
        int64_t axis = a->ints[i] < 0 ? a->ints[i] + ndim : a->ints[i];
        if (axis < 0 || axis >= ndim)
            gpuc_topi_fail(call, "%s has %lld, outside of the %d dimensions of the input", attr,
                           (long long)a->ints[i], ndim);
        if (flags[axis]) gpuc_topi_fail(call, "%s names dimension %lld twice", attr, (long long)axis);
        flags[axis] = true;
    }
}

const int64_t *gpuc_topi_ints(const gpuc_op_call *call, const char *attr, int n)
{
    const gpuc_attr *a = gpuc_attrs_find(call->attrs, attr);
    if (!a || a->n != n) gpuc_topi_fail(call, "%s has %d entries, needs %d", attr, a ? a->n : 0, n);
    return a->ints;
}

int64_t gpuc_topi_static_dim(const gpuc_op_call *call, int i, int k)
{
    int64_t d;
    if (!call->in[i].dims[k] || !gpuc_expr_is_int(call->in[i].dims[k], &d))
        gpuc_raise(call->ctx, GPUC_UNSUPPORTED,
                   "%s: dimension %d of input %d must be known when building: fix it with --shape",
                   call->op->name, k, i);
    return d;
}

void gpuc_topi_sizes(const gpuc_op_call *call, const char *attr, int n, gpuc_expr *out)
{
    gpuc_topi_ints(call, attr, n);
    for (int i = 0; i < n; i++) out[i] = gpuc_attr_size(call->ctx, gpuc_attrs_find(call->attrs, attr), i);
}

typedef struct symbols {
    gpuc_ctx *ctx;
    gpuc_analyzer *analyzer;
    gpuc_map seen;
} symbols;

static bool bind_symbol(gpuc_expr e, void *arg)
{
    symbols *s = arg;
    if (e->kind != GPUC_EXPR_VAR || gpuc_map_has(&s->seen, e)) return true;
    gpuc_map_set(&s->seen, e, s);
    gpuc_analyzer_bind(s->analyzer, e, gpuc_int(s->ctx, 0), gpuc_int(s->ctx, INT64_C(1) << 31));
    return true;
}

/* The context's analyzer, which knows the symbols of e as extents. It is one for all calls: memory that an
 * analyzer works in stays with the context, and inference asks of every size in every pass. */
static gpuc_analyzer *analyzer_of(gpuc_ctx *ctx, gpuc_expr e)
{
    symbols *s = ctx->slots[GPUC_CTX_SYMBOLS];
    if (!s) {
        s = gpuc_new(ctx, symbols);
        *s = (symbols){.ctx = ctx, .analyzer = gpuc_analyzer_create(ctx)};
        gpuc_map_init(&s->seen, ctx);
        ctx->slots[GPUC_CTX_SYMBOLS] = s;
    }
    gpuc_tir_visit(ctx, e, bind_symbol, s);
    return s->analyzer;
}

bool gpuc_topi_proves(gpuc_ctx *ctx, gpuc_expr cond)
{
    int64_t known;
    if (gpuc_expr_is_int(cond, &known)) return known;
    return gpuc_prove(analyzer_of(ctx, cond), cond);
}

int64_t gpuc_topi_most(gpuc_ctx *ctx, gpuc_expr size)
{
    int64_t known;
    return gpuc_expr_is_int(size, &known) ? known : gpuc_analyzer_bounds(analyzer_of(ctx, size), size).max;
}

gpuc_expr gpuc_topi_canonical(gpuc_ctx *ctx, gpuc_expr size)
{
    if (!size || size->kind == GPUC_EXPR_INT || size->kind == GPUC_EXPR_VAR) return size;
    return gpuc_simplify(analyzer_of(ctx, size), size);
}

void gpuc_topi_require(const gpuc_op_call *call, gpuc_expr cond, const char *fmt, ...)
{
    char text[256];
    int64_t known;
    va_list args;
    if (gpuc_topi_proves(call->ctx, cond)) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (gpuc_expr_is_int(cond, &known) || gpuc_topi_proves(call->ctx, gpuc_not(call->ctx, cond)))
        gpuc_topi_fail(call, "%s", text);
    if (!call->conditions) return;
    gpuc_op_condition *c = gpuc_new(call->ctx, gpuc_op_condition);
    *c =
        (gpuc_op_condition){.cond = cond, .text = gpuc_ctx_printf(call->ctx, "%s: %s", call->op->name, text)};
    gpuc_ptrs_push(call->ctx, call->conditions, c);
}

gpuc_expr gpuc_topi_same_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b, const char *what)
{
    if (!a || !b) return a ? a : b;
    if (a == b) return a;
    gpuc_topi_require(call, gpuc_eq(call->ctx, a, b), "%s %s and %s differ", what,
                      gpuc_expr_text(call->ctx, a), gpuc_expr_text(call->ctx, b));
    return a->kind == GPUC_EXPR_INT ? a : b->kind == GPUC_EXPR_INT ? b : a;
}

/* Equal, or one of them 1. */
static void require_broadcast(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr one = gpuc_int(ctx, 1), ones = gpuc_or(ctx, gpuc_eq(ctx, a, one), gpuc_eq(ctx, b, one));
    gpuc_topi_require(call, gpuc_or(ctx, gpuc_eq(ctx, a, b), ones), "dimensions %s and %s do not broadcast",
                      gpuc_expr_text(ctx, a), gpuc_expr_text(ctx, b));
}

gpuc_expr gpuc_topi_broadcast_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b)
{
    int64_t x, y;
    if (a == b) return a;
    if (a && gpuc_expr_is_int(a, &x) && x == 1) return b;
    if (b && gpuc_expr_is_int(b, &y) && y == 1) return a;
    if (!a || !b) return a ? a : b;
    require_broadcast(call, a, b);
    if (gpuc_expr_is_int(a, &x)) return a;
    if (gpuc_expr_is_int(b, &y)) return b;
    gpuc_ctx *ctx = call->ctx;
    return gpuc_select(ctx, gpuc_eq(ctx, a, gpuc_int(ctx, 1)), b, a);
}

void gpuc_topi_require_expands(const gpuc_op_call *call, gpuc_expr dim, gpuc_expr to, const char *what)
{
    gpuc_ctx *ctx = call->ctx;
    if (!dim || !to || dim == to) return;
    gpuc_topi_require(call, gpuc_or(ctx, gpuc_eq(ctx, dim, gpuc_int(ctx, 1)), gpuc_eq(ctx, dim, to)),
                      "dimension %s of the %s does not broadcast to %s", gpuc_expr_text(ctx, dim), what,
                      gpuc_expr_text(ctx, to));
}

void gpuc_topi_broadcast_types(gpuc_op_call *call, int first, int count, gpuc_tensor_type *out)
{
    int ndim = 0;
    for (int i = first; i < first + count; i++) ndim = call->in[i].ndim > ndim ? call->in[i].ndim : ndim;
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, ndim);
    for (int k = 0; k < ndim; k++) {
        gpuc_expr d = gpuc_int(call->ctx, 1);
        for (int i = first; i < first + count; i++) {
            int at = k - (ndim - call->in[i].ndim);
            if (at >= 0) d = gpuc_topi_broadcast_dim(call, d, call->in[i].dims[at]);
        }
        dims[k] = d;
    }
    *out = (gpuc_tensor_type){.dtype = call->in[first].dtype, .ndim = ndim, .dims = dims};
}

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

void gpuc_topi_infer_same(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
}

gpuc_expr gpuc_topi_round_up(gpuc_ctx *ctx, gpuc_expr n, int64_t to)
{
    gpuc_expr count = gpuc_floordiv_(ctx, gpuc_add(ctx, n, gpuc_int(ctx, to - 1)), gpuc_int(ctx, to));
    return gpuc_topi_canonical(ctx, gpuc_mul(ctx, count, gpuc_int(ctx, to)));
}

/* Does position p of axis i never leave the data, at its own place? */
static bool stays_inside(gpuc_ctx *ctx, const gpuc_topi_window *w, int i, gpuc_expr have)
{
    return w->lo[i] == gpuc_int(ctx, 0) && w->step[i] == 1 &&
           gpuc_topi_proves(ctx, gpuc_le(ctx, w->size[i], have));
}

gpuc_tensor *gpuc_topi_pad_spatial(gpuc_ctx *ctx, gpuc_tensor *data, const gpuc_topi_window *w)
{
    int ndim = w->rank + 2, out_ndim = ndim + (w->phase > 1);
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
    const char *layout = gpuc_attrs_get_string(call->attrs, "data_layout", "NCS");
    if (!strcmp(layout, "NCS")) return (gpuc_topi_layout){.channel = 1, .space = 2};
    if (!strcmp(layout, "NSC")) return (gpuc_topi_layout){.channel = ndim - 1, .space = 1};
    gpuc_topi_fail(call, "data_layout is '%s'; known are NCS and NSC", layout);
}
