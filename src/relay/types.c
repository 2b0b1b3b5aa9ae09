/* SPDX-License-Identifier: Apache-2.0 */
/* Builds, compares, prints and measures Relay types. */
#include <string.h>

#include "relay/relay.h"

static gpuc_rtype *make(gpuc_ctx *ctx, gpuc_rtype_kind kind, int n, const gpuc_rtype *const *at)
{
    gpuc_rtype *t = gpuc_new(ctx, gpuc_rtype);
    t->kind = kind;
    t->n = n;
    t->at = n ? gpuc_ctx_memdup(ctx, at, sizeof(const gpuc_rtype *) * (size_t)n) : NULL;
    return t;
}

const gpuc_rtype *gpuc_relay_rtype_tensor(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim, const gpuc_expr *dims)
{
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_TENSOR, 0, NULL);
    t->tensor = (gpuc_tensor_type){
        .dtype = dtype,
        .ndim = ndim,
        .dims = ndim ? gpuc_ctx_memdup(ctx, dims, sizeof(gpuc_expr) * (size_t)ndim) : NULL,
    };
    return t;
}

const gpuc_rtype *gpuc_relay_rtype_tensor_static(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim,
                                                 const int64_t *dims)
{
    gpuc_expr *e = gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++) e[i] = gpuc_int(ctx, dims[i]);
    return gpuc_relay_rtype_tensor(ctx, dtype, ndim, e);
}

const gpuc_rtype *gpuc_relay_rtype_tuple(gpuc_ctx *ctx, int n, const gpuc_rtype *const *fields)
{
    return make(ctx, GPUC_RTYPE_TUPLE, n, fields);
}

const gpuc_rtype *gpuc_relay_rtype_func(gpuc_ctx *ctx, int n, const gpuc_rtype *const *params,
                                        const gpuc_rtype *ret)
{
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_FUNC, n, params);
    t->ret = ret;
    return t;
}

bool gpuc_relay_rtype_equal(const gpuc_rtype *a, const gpuc_rtype *b)
{
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind || a->n != b->n || a->adt != b->adt) return false;
    if (a->kind == GPUC_RTYPE_TENSOR) {
        if (!gpuc_dtype_equal(a->tensor.dtype, b->tensor.dtype) || a->tensor.ndim != b->tensor.ndim)
            return false;
        for (int i = 0; i < a->tensor.ndim; i++)
            if (a->tensor.dims[i] != b->tensor.dims[i]) return false;
    }
    for (int i = 0; i < a->n; i++)
        if (!gpuc_relay_rtype_equal(a->at[i], b->at[i])) return false;
    return a->kind != GPUC_RTYPE_FUNC || gpuc_relay_rtype_equal(a->ret, b->ret);
}

static void print_list(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rtype *t)
{
    gpuc_buf_str(out, "(");
    for (int i = 0; i < t->n; i++) {
        if (i) gpuc_buf_str(out, ", ");
        gpuc_relay_rtype_print(ctx, out, t->at[i]);
    }
    gpuc_buf_str(out, t->n == 1 && t->kind == GPUC_RTYPE_TUPLE ? ",)" : ")");
}

void gpuc_relay_rtype_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rtype *t)
{
    char name[24];
    if (!t) {
        gpuc_buf_str(out, "?");
        return;
    }
    switch (t->kind) {
    case GPUC_RTYPE_TENSOR:
        gpuc_buf_str(out, "Tensor[(");
        for (int i = 0; i < t->tensor.ndim; i++) {
            if (i) gpuc_buf_str(out, ", ");
            gpuc_buf_str(out, t->tensor.dims[i] ? gpuc_expr_text(ctx, t->tensor.dims[i]) : "?");
        }
        gpuc_buf_printf(out, "), %s]", gpuc_dtype_name(t->tensor.dtype, name));
        break;
    case GPUC_RTYPE_TUPLE: print_list(ctx, out, t); break;
    case GPUC_RTYPE_FUNC:
        gpuc_buf_str(out, "fn ");
        print_list(ctx, out, t);
        gpuc_buf_str(out, " -> ");
        gpuc_relay_rtype_print(ctx, out, t->ret);
        break;
    case GPUC_RTYPE_ADT:
        gpuc_buf_str(out, t->adt->name);
        if (t->n) print_list(ctx, out, t);
        break;
    case GPUC_RTYPE_KIND_COUNT: break;
    }
}

bool gpuc_relay_tensor_type_static(const gpuc_tensor_type *t, int64_t *out)
{
    for (int i = 0; i < t->ndim; i++)
        if (!t->dims[i] || !gpuc_expr_is_int(t->dims[i], &out[i])) return false;
    return true;
}

int64_t gpuc_relay_tensor_type_bytes(gpuc_ctx *ctx, const gpuc_tensor_type *t)
{
    int64_t bytes = (int64_t)gpuc_dtype_bytes(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        int64_t d;
        if (!t->dims[i] || !gpuc_expr_is_int(t->dims[i], &d))
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "dimension %d of a tensor is not known at build time", i);
        if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a tensor's size does not fit 63 bits");
    }
    return bytes;
}
