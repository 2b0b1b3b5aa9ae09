/* SPDX-License-Identifier: Apache-2.0 */
/* What infer functions ask of a call: attributes, extents, and what must hold of them. */
#include <stdarg.h>
#include <stdio.h>

#include "arith/arith.h"
#include "op/op.h"

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
        gpuc_raise(
            call->ctx, GPUC_UNSUPPORTED,
            "%s: dimension %d of input %d must be known when building: write it in the program, or fix it "
            "with --shape in a model",
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
    gpuc_arith_analyzer_bind(s->analyzer, e, gpuc_int(s->ctx, 0), gpuc_int(s->ctx, INT64_C(1) << 31));
    return true;
}

/* The context's analyzer, which knows the symbols of e as extents. It is one for all calls: memory that an
 * analyzer works in stays with the context, and inference asks of every size in every pass. */
static gpuc_analyzer *analyzer_of(gpuc_ctx *ctx, gpuc_expr e)
{
    symbols *s = ctx->slots[GPUC_CTX_SYMBOLS];
    if (!s) {
        s = gpuc_new(ctx, symbols);
        *s = (symbols){.ctx = ctx, .analyzer = gpuc_arith_analyzer_create(ctx)};
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
    return gpuc_arith_prove(analyzer_of(ctx, cond), cond);
}

int64_t gpuc_op_max_size(gpuc_ctx *ctx, gpuc_expr size)
{
    int64_t known;
    return gpuc_expr_is_int(size, &known) ? known
                                          : gpuc_arith_analyzer_bounds(analyzer_of(ctx, size), size).max;
}

gpuc_expr gpuc_topi_canonical(gpuc_ctx *ctx, gpuc_expr size)
{
    if (!size || size->kind == GPUC_EXPR_INT || size->kind == GPUC_EXPR_VAR) return size;
    return gpuc_arith_simplify(analyzer_of(ctx, size), size);
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

void gpuc_topi_infer_same(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
}
