/* SPDX-License-Identifier: Apache-2.0 */
/* Builds, compares, prints and measures Relay types. */
#include <string.h>

#include "relay/infer.h"
#include "relay/solve.h"
#include "op/dynamic.h"

static void add_inside(gpuc_ctx *ctx, gpuc_rtype *t, const gpuc_rtype *inside)
{
    if (!inside) return;
    t->open |= inside->open;
    t->varies |= inside->varies;
    t->unknown |= inside->unknown;
    t->symbolic |= inside->symbolic;
    t->size += inside->size;
    if (t->size > GPUC_RELAY_TYPE_SIZE)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a type has more than %d parts", GPUC_RELAY_TYPE_SIZE);
    if (inside->depth >= t->depth) t->depth = inside->depth + 1;
    if (t->depth > GPUC_RELAY_TYPE_DEPTH)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a type has more than %d levels", GPUC_RELAY_TYPE_DEPTH);
}

static gpuc_rtype *make(gpuc_ctx *ctx, gpuc_rtype_kind kind, int n, const gpuc_rtype *const *at)
{
    gpuc_relay_need_list(ctx, "a type", "part", n, at);
    gpuc_rtype *t = gpuc_new(ctx, gpuc_rtype);
    t->kind = kind;
    t->n = n;
    t->size = 1;
    t->at = n ? gpuc_ctx_memdup(ctx, at, sizeof(const gpuc_rtype *) * (size_t)n) : NULL;
    for (int i = 0; i < n; i++) add_inside(ctx, t, at[i]);
    return t;
}

static void check_extent(gpuc_ctx *ctx, int i, gpuc_expr dim)
{
    int64_t number;
    char name[24];
    if (dim && !gpuc_dtype_equal(dim->dtype, GPUC_INDEX))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "the type of a tensor: extent %d, %s, is %s: it must be int64, as GPUC_INDEX is", i,
                   gpuc_expr_text(ctx, dim), gpuc_dtype_name(dim->dtype, name));
    if (dim && gpuc_expr_is_int(dim, &number) && number < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the type of a tensor: extent %d is %lld", i,
                   (long long)number);
}

const gpuc_rtype *gpuc_relay_rtype_tensor(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim, const gpuc_expr *dims)
{
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_TENSOR, 0, NULL);
    if (ndim < 0 || ndim > GPUC_OP_MAX_DIMS || (ndim && !dims))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the type of a tensor: %d dimensions%s, it may have 0 to %d",
                   ndim, ndim > 0 && !dims ? " in a list that is NULL" : "", GPUC_OP_MAX_DIMS);
    for (int i = 0; i < ndim; i++) check_extent(ctx, i, dims[i]);
    if (!gpuc_dtypes_have(GPUC_T_ANY, dtype))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "the type of a tensor: code %d of %d bits and %d lanes is no element type", dtype.code,
                   dtype.bits, dtype.lanes);
    t->tensor = (gpuc_tensor_type){
        .dtype = dtype,
        .ndim = ndim,
        .dims = ndim ? gpuc_ctx_memdup(ctx, dims, sizeof(gpuc_expr) * (size_t)ndim) : NULL,
    };
    for (int i = 0; i < ndim; i++) {
        int64_t number;
        t->unknown |= gpuc_relay_is_any_dim(dims[i]);
        t->symbolic |= !dims[i] || !gpuc_expr_is_int(dims[i], &number);
    }
    return t;
}

const gpuc_rtype *gpuc_relay_rtype_tensor_static(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim,
                                                 const int64_t *dims)
{
    gpuc_expr e[GPUC_OP_MAX_DIMS] = {0};
    for (int i = 0; dims && i < ndim && i < GPUC_OP_MAX_DIMS; i++) e[i] = gpuc_int(ctx, dims[i]);
    return gpuc_relay_rtype_tensor(ctx, dtype, ndim, dims ? e : NULL);
}

const gpuc_rtype *gpuc_relay_rtype_tuple(gpuc_ctx *ctx, int n, const gpuc_rtype *const *fields)
{
    return make(ctx, GPUC_RTYPE_TUPLE, n, fields);
}

const gpuc_rtype *gpuc_relay_rtype_func(gpuc_ctx *ctx, int n, const gpuc_rtype *const *params,
                                        const gpuc_rtype *ret)
{
    return gpuc_relay_rtype_scheme(ctx, 0, NULL, n, params, ret);
}

const gpuc_rtype *gpuc_relay_rtype_scheme(gpuc_ctx *ctx, int num_params, const gpuc_rtype *const *params,
                                          int n, const gpuc_rtype *const *args, const gpuc_rtype *ret)
{
    gpuc_relay_need_type_params(ctx, "the type of a function", num_params, params);
    gpuc_relay_need(ctx, "the type of a function", "result", ret);
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_FUNC, n, args);
    t->ret = ret;
    t->num_params = num_params;
    t->params = num_params ? gpuc_ctx_memdup(ctx, params, sizeof *params * (size_t)num_params) : NULL;
    add_inside(ctx, t, ret);
    return t;
}

const gpuc_rtype *gpuc_relay_rtype_adt(gpuc_ctx *ctx, const gpuc_adt *adt, int n,
                                       const gpuc_rtype *const *args)
{
    gpuc_relay_need(ctx, "a type", "data type", adt);
    if (n != adt->num_params && adt->num_params >= 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' has %d type parameters, not %d", adt->name,
                   adt->num_params, n);
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_ADT, n, args);
    t->adt = adt;
    return t;
}

const gpuc_rtype *gpuc_relay_rtype_var(gpuc_ctx *ctx, const char *name)
{
    gpuc_relay_need_name(ctx, "a type parameter", name);
    gpuc_relay_need_free_name(ctx, "the type parameter", name);
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_VAR, 0, NULL);
    t->name = gpuc_ctx_strdup(ctx, name);
    t->varies = true;
    return t;
}

const gpuc_rtype *gpuc_relay_rtype_hole(gpuc_ctx *ctx)
{
    gpuc_rtype *t = make(ctx, GPUC_RTYPE_HOLE, 0, NULL);
    t->hole = gpuc_new(ctx, gpuc_rhole);
    t->open = true;
    return t;
}

/* ---- Rebuilding ---- */

typedef struct substitution {
    int n; /* of variables */
    const gpuc_rtype *const *vars, *const *by;
    gpuc_relay_size_fn *size; /* NULL: sizes stay */
    void *arg;
    bool named; /* it is asked about sizes that have names, too */
} substitution;

static const gpuc_rtype *with_sizes(gpuc_ctx *ctx, const gpuc_rtype *t, const substitution *s)
{
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, t->tensor.ndim);
    bool same = true;
    for (int i = 0; i < t->tensor.ndim; i++)
        same &= (dims[i] = s->size(ctx, t->tensor.dims[i], s->arg)) == t->tensor.dims[i];
    return same ? t : gpuc_relay_rtype_tensor(ctx, t->tensor.dtype, t->tensor.ndim, dims);
}

static const gpuc_rtype *replace_var(const gpuc_rtype *t, const substitution *s)
{
    for (int i = 0; i < s->n; i++)
        if (t == s->vars[i]) return s->by[i];
    return t;
}

/* Looks only where something may change: parts are shared, a type has more of them than memory. */
static const gpuc_rtype *rebuild(gpuc_ctx *ctx, const gpuc_rtype *t, const substitution *s)
{
    if (!t || !(s->size ? t->unknown || (s->named && t->symbolic) : t->varies)) return t;
    if (t->kind == GPUC_RTYPE_TENSOR) return with_sizes(ctx, t, s);
    if (t->kind == GPUC_RTYPE_VAR) return replace_var(t, s);
    const gpuc_rtype **at = gpuc_new_array(ctx, const gpuc_rtype *, t->n + 1);
    const gpuc_rtype *ret = rebuild(ctx, t->ret, s);
    bool same = ret == t->ret;
    for (int i = 0; i < t->n; i++) same &= (at[i] = rebuild(ctx, t->at[i], s)) == t->at[i];
    if (same) return t;
    if (t->kind == GPUC_RTYPE_FUNC)
        return gpuc_relay_rtype_scheme(ctx, t->num_params, t->params, t->n, at, ret);
    return t->kind == GPUC_RTYPE_ADT ? gpuc_relay_rtype_adt(ctx, t->adt, t->n, at)
                                     : gpuc_relay_rtype_tuple(ctx, t->n, at);
}

const gpuc_rtype *gpuc_relay_rtype_substitute(gpuc_ctx *ctx, const gpuc_rtype *t, int n,
                                              const gpuc_rtype *const *vars, const gpuc_rtype *const *by)
{
    substitution s = {.n = n, .vars = vars, .by = by};
    return rebuild(ctx, t, &s);
}

gpuc_expr gpuc_relay_any_dim(gpuc_ctx *ctx)
{
    return gpuc_op_any_size(ctx);
}

static bool is_known(gpuc_expr e, void *arg)
{
    (void)arg;
    return e->kind != GPUC_EXPR_VAR || strcmp(gpuc_as_var(e)->name, "?") != 0;
}

bool gpuc_relay_is_any_dim(gpuc_expr dim)
{
    if (!dim || dim->kind == GPUC_EXPR_VAR) return !dim || !is_known(dim, NULL);
    return dim->flags & GPUC_TIR_HAS_VAR && !gpuc_tir_visit((gpuc_ctx *)dim->ctx, dim, is_known, NULL);
}

static gpuc_expr fresh(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    (void)arg;
    return gpuc_relay_is_any_dim(size) ? gpuc_relay_any_dim(ctx) : size;
}

const gpuc_rtype *gpuc_relay_rtype_fresh(gpuc_ctx *ctx, const gpuc_rtype *t)
{
    return rebuild(ctx, t, &(substitution){.size = fresh});
}

const gpuc_rtype *gpuc_relay_rtype_map_sizes(gpuc_ctx *ctx, const gpuc_rtype *t, gpuc_relay_size_fn *fn,
                                             void *arg)
{
    return rebuild(ctx, t, &(substitution){.size = fn, .arg = arg, .named = true});
}

const gpuc_rtype *gpuc_relay_rtype_keep_any(gpuc_ctx *ctx, const gpuc_rtype *t, const gpuc_rtype *before)
{
    if (!t || !before || t == before || !t->unknown || t->kind != before->kind || t->n != before->n) return t;
    if (t->kind == GPUC_RTYPE_TENSOR && t->tensor.ndim == before->tensor.ndim) {
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, t->tensor.ndim);
        for (int i = 0; i < t->tensor.ndim; i++) {
            gpuc_expr is = t->tensor.dims[i], was = before->tensor.dims[i];
            dims[i] = gpuc_relay_is_any_dim(is) && gpuc_relay_is_any_dim(was) ? was : is;
        }
        return gpuc_relay_rtype_tensor(ctx, t->tensor.dtype, t->tensor.ndim, dims);
    }
    if (t->kind != GPUC_RTYPE_TUPLE) return t;
    const gpuc_rtype **at = gpuc_new_array(ctx, const gpuc_rtype *, t->n + 1);
    for (int i = 0; i < t->n; i++) at[i] = gpuc_relay_rtype_keep_any(ctx, t->at[i], before->at[i]);
    return gpuc_relay_rtype_tuple(ctx, t->n, at);
}

void gpuc_relay_rtype_find_sizes(const gpuc_rtype *t, gpuc_map *sizes)
{
    if (!t || !t->symbolic || t->kind == GPUC_RTYPE_FUNC || gpuc_map_has(sizes, t)) return;
    if (t->n) gpuc_map_set(sizes, t, NULL); /* parts are shared */
    for (int i = 0; i < t->n; i++) gpuc_relay_rtype_find_sizes(gpuc_relay_find(t->at[i]), sizes);
    for (int i = 0; i < t->tensor.ndim; i++) {
        gpuc_expr size = t->tensor.dims[i];
        if (size && size->kind == GPUC_EXPR_VAR) gpuc_map_set(sizes, size, (void *)(uintptr_t)size);
    }
}

bool gpuc_relay_rtype_equal(const gpuc_rtype *a, const gpuc_rtype *b)
{
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind || a->n != b->n || a->adt != b->adt) return false;
    if (a->kind == GPUC_RTYPE_VAR || a->kind == GPUC_RTYPE_HOLE) return false;
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

static void print_list(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rtype *t, const char *open, const char *close)
{
    gpuc_buf_str(out, open);
    for (int i = 0; i < t->n; i++) {
        if (i) gpuc_buf_str(out, ", ");
        gpuc_relay_rtype_print(ctx, out, t->at[i]);
    }
    gpuc_buf_str(out, t->n == 1 && t->kind == GPUC_RTYPE_TUPLE ? "," : "");
    gpuc_buf_str(out, close);
}

static void print_tensor(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_tensor_type *t)
{
    char name[24];
    gpuc_dtype_name(t->dtype, name);
    if (t->ndim) gpuc_buf_str(out, "Tensor[(");
    for (int i = 0; i < t->ndim; i++) {
        if (i) gpuc_buf_str(out, ", ");
        gpuc_buf_str(out, gpuc_relay_is_any_dim(t->dims[i]) ? "?" : gpuc_expr_text(ctx, t->dims[i]));
    }
    gpuc_buf_printf(out, t->ndim ? "), %s]" : "%s", name);
}

void gpuc_relay_rtype_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rtype *t)
{
    if (!t) {
        gpuc_buf_str(out, "_");
        return;
    }
    switch (t->kind) {
    case GPUC_RTYPE_TENSOR: print_tensor(ctx, out, &t->tensor); break;
    case GPUC_RTYPE_TUPLE: print_list(ctx, out, t, "(", ")"); break;
    case GPUC_RTYPE_FUNC:
        gpuc_buf_str(out, "fn ");
        for (int i = 0; i < t->num_params; i++)
            gpuc_buf_printf(out, "%s%s", i ? ", " : "[", t->params[i]->name);
        gpuc_buf_str(out, t->num_params ? "]" : "");
        print_list(ctx, out, t, "(", ")");
        gpuc_buf_str(out, " -> ");
        gpuc_relay_rtype_print(ctx, out, t->ret);
        break;
    case GPUC_RTYPE_ADT:
        gpuc_buf_str(out, t->adt->name);
        if (t->n) print_list(ctx, out, t, "[", "]");
        break;
    case GPUC_RTYPE_VAR: gpuc_buf_str(out, t->name); break;
    case GPUC_RTYPE_HOLE:
        if (t->hole->is)
            gpuc_relay_rtype_print(ctx, out, t->hole->is);
        else
            gpuc_buf_str(out, "_");
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
