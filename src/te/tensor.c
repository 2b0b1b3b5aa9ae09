/* SPDX-License-Identifier: Apache-2.0 */
/* Makes placeholders, operations and their outputs, and checks arguments and sizes. */
#include <string.h>

#include "te/internal.h"

void gpuc_te_need(gpuc_ctx *ctx, const void *given, const char *who, const char *what)
{
    if (!given) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the %s is NULL", who, what);
}

static GPUC_NORETURN void fail_foreign(gpuc_ctx *ctx, const char *who, const char *what)
{
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
               "%s: %s was made in another context; make it in the one that uses it", who, what);
}

void gpuc_te_need_expr(gpuc_ctx *ctx, gpuc_expr e, const char *who, const char *what)
{
    gpuc_te_need(ctx, e, who, what);
    if (e->ctx != ctx) fail_foreign(ctx, who, gpuc_ctx_printf(ctx, "the %s", what));
}

void gpuc_te_need_axes(gpuc_ctx *ctx, int n, gpuc_iter *const *axes, const char *who)
{
    if (n > 0) gpuc_te_need(ctx, axes, who, "list of axes");
    for (int i = 0; i < n; i++) {
        gpuc_te_need(ctx, axes[i], who, gpuc_ctx_printf(ctx, "axis %d", i));
        gpuc_te_need_expr(ctx, axes[i]->var, who, gpuc_as_var(axes[i]->var)->name);
    }
}

gpuc_tensor *gpuc_te_need_tensor(gpuc_ctx *ctx, gpuc_tensor *t, const char *who)
{
    gpuc_te_need(ctx, t, who, "tensor");
    if (t->op->ctx != ctx) fail_foreign(ctx, who, gpuc_ctx_printf(ctx, "the tensor '%s'", t->name));
    return t;
}

/* ---- Sizes ---------------------------------------------------------------------------------------- */

typedef struct dim_check {
    gpuc_ctx *ctx;
    gpuc_expr dim;
    const char *owner, *what; /* "extent 2" */
} dim_check;

/* An extent is known before any loop runs. */
static bool check_extent(gpuc_expr e, void *arg)
{
    const dim_check *c = arg;
    if (e->kind == GPUC_EXPR_VAR && gpuc_te_axis_find(c->ctx, e))
        gpuc_raise(
            c->ctx, GPUC_INVALID_ARGUMENT,
            "'%s': %s is %s, which depends on the axis '%s'; it is made of constants and symbols: take "
            "the largest extent, and mask what is beyond with gpuc_if_then_else",
            c->owner, c->what, gpuc_expr_text(c->ctx, c->dim), gpuc_as_var(e)->name);
    if (e->flags & (GPUC_TIR_HAS_TE | GPUC_TIR_HAS_LOAD))
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT,
                   "'%s': %s is %s, which is read from memory; it is made of constants and symbols", c->owner,
                   c->what, gpuc_expr_text(c->ctx, c->dim));
    return true;
}

gpuc_expr gpuc_te_check_place(gpuc_ctx *ctx, gpuc_expr e, const char *owner, const char *what)
{
    if (!e) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s': %s is NULL", owner, what);
    if (e->ctx != ctx) fail_foreign(ctx, gpuc_ctx_printf(ctx, "'%s'", owner), what);
    gpuc_dtype t = e->dtype;
    if (t.lanes != 1 || (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT)) {
        char name[24];
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s': %s is of type %s; wanted is an integer", owner, what,
                   gpuc_dtype_name(t, name));
    }
    e = gpuc_cast(ctx, GPUC_INDEX, e);
    dim_check c = {.ctx = ctx, .dim = e, .owner = owner, .what = what};
    gpuc_tir_visit(ctx, e, check_extent, &c);
    return e;
}

static gpuc_expr check_size_of(gpuc_ctx *ctx, gpuc_expr e, const char *owner, const char *what)
{
    int64_t value;
    e = gpuc_te_check_place(ctx, e, owner, what);
    if (gpuc_expr_is_int(e, &value) && value < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s': %s is %lld; it must not be negative", owner, what,
                   (long long)value);
    return e;
}

gpuc_expr gpuc_te_check_dim(gpuc_ctx *ctx, gpuc_expr dim, const char *owner, int number)
{
    return check_size_of(ctx, dim, owner, gpuc_ctx_printf(ctx, "extent %d", number));
}

/* Bytes are counted in int64, whatever the symbols are. */
static void check_size(gpuc_ctx *ctx, const gpuc_tensor *t)
{
    int64_t bytes = (int64_t)gpuc_dtype_bytes(t->dtype), d;
    bool empty = false, fits = true;
    for (int i = 0; i < t->ndim; i++) {
        if (!gpuc_expr_is_int(t->shape[i], &d)) continue;
        empty |= d == 0;
        fits = fits && !__builtin_mul_overflow(bytes, d ? d : 1, &bytes);
    }
    if (!empty && !fits)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "tensor '%s' would have more than 2^63 bytes", t->name);
}

static const char *name_of(const gpuc_tensor *t)
{
    return t->name;
}

gpuc_te_op *gpuc_te_op_make(gpuc_ctx *ctx, gpuc_te_op_kind kind, const char *name, int num_outputs)
{
    gpuc_tir_set_tensor_name(ctx, name_of);
    gpuc_te_op *op = gpuc_new(ctx, gpuc_te_op);
    op->ctx = ctx;
    op->kind = kind;
    op->name = gpuc_ctx_strdup(ctx, name && name[0] ? name : "t");
    op->num_outputs = num_outputs;
    op->outputs = gpuc_new_array(ctx, gpuc_tensor *, num_outputs);
    return op;
}

gpuc_tensor *gpuc_te_output_make(gpuc_ctx *ctx, gpuc_te_op *op, int value_index, int ndim,
                                 const gpuc_expr *shape, gpuc_dtype dtype)
{
    gpuc_tensor *t = gpuc_new(ctx, gpuc_tensor);
    t->op = op;
    t->value_index = value_index;
    t->ndim = ndim;
    t->shape = gpuc_ctx_memdup(ctx, shape, (size_t)ndim * sizeof(*shape));
    t->dtype = dtype;
    t->name = op->num_outputs == 1 ? op->name : gpuc_ctx_printf(ctx, "%s.v%d", op->name, value_index);
    check_size(ctx, t);
    op->outputs[value_index] = t;
    return t;
}

void gpuc_te_check_dtype(gpuc_ctx *ctx, gpuc_dtype dtype, const char *who)
{
    char text[24];
    gpuc_dtype_name(dtype, text);
    if (!gpuc_dtype_exists(dtype) || dtype.code == GPUC_DTYPE_HANDLE)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has the type %s, which does not exist", who, text);
    if (dtype.lanes != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s is of type %s; elements are scalars", who, text);
}

gpuc_tensor *gpuc_te_placeholder(gpuc_ctx *ctx, const char *name, int ndim, const gpuc_expr *shape,
                                 gpuc_dtype dtype)
{
    if (ndim < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "placeholder '%s': %d dimensions", name ? name : "", ndim);
    gpuc_te_check_dtype(ctx, dtype, gpuc_ctx_printf(ctx, "placeholder '%s'", name ? name : ""));
    if (ndim > 0)
        gpuc_te_need(ctx, shape, gpuc_ctx_printf(ctx, "placeholder '%s'", name ? name : ""), "shape");
    gpuc_te_op *op = gpuc_te_op_make(ctx, GPUC_TE_PLACEHOLDER, name, 1);
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++) dims[i] = gpuc_te_check_dim(ctx, shape[i], op->name, i);
    return gpuc_te_output_make(ctx, op, 0, ndim, dims, dtype);
}

/* Raises if constants say that an element is outside of the array. */
static void check_view(gpuc_ctx *ctx, const gpuc_tensor *t)
{
    int64_t size, low, high, n, by;
    const gpuc_te_view *v = t->view;
    if (!gpuc_expr_is_int(v->size, &size) || !gpuc_expr_is_int(v->offset, &low)) return;
    high = low;
    for (int i = 0; i < t->ndim; i++) {
        if (!gpuc_expr_is_int(t->shape[i], &n) || !gpuc_expr_is_int(v->strides[i], &by)) return;
        if (n == 0) return; /* no elements */
        if (__builtin_mul_overflow(by, n - 1, &by) ||
            (by < 0 ? __builtin_add_overflow(low, by, &low) : __builtin_add_overflow(high, by, &high)))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "placeholder '%s': the strides pass 2^63", t->name);
    }
    if (low < 0 || high >= size)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "placeholder '%s': its elements are numbers %lld to %lld of an array of %lld", t->name,
                   (long long)low, (long long)high, (long long)size);
}

gpuc_tensor *gpuc_te_placeholder_strided(gpuc_ctx *ctx, const char *name, int ndim, const gpuc_expr *shape,
                                         gpuc_dtype dtype, gpuc_expr size, const gpuc_expr *strides,
                                         gpuc_expr offset)
{
    gpuc_tensor *t = gpuc_te_placeholder(ctx, name, ndim, shape, dtype);
    if (ndim > 0)
        gpuc_te_need(ctx, strides, gpuc_ctx_printf(ctx, "placeholder '%s'", t->name), "list of strides");
    gpuc_te_view *v = gpuc_new(ctx, gpuc_te_view);
    gpuc_expr *own = gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++)
        own[i] = gpuc_te_check_place(ctx, strides[i], t->name, gpuc_ctx_printf(ctx, "stride %d", i));
    v->size = check_size_of(ctx, size, t->name, "the size of its array");
    v->offset = gpuc_te_check_place(ctx, offset, t->name, "the offset");
    v->strides = own;
    t->view = v;
    check_view(ctx, t);
    return t;
}

gpuc_expr gpuc_te_read(gpuc_ctx *ctx, gpuc_tensor *t, int n, const gpuc_expr *index)
{
    gpuc_te_need_tensor(ctx, t, "gpuc_te_read");
    if (n != t->ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "tensor '%s' has %d dimensions and is read with %d indices",
                   t->name, t->ndim, n);
    const char *who = gpuc_ctx_printf(ctx, "tensor '%s'", t->name);
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, n);
    if (n > 0) gpuc_te_need(ctx, index, who, "list of indices");
    for (int i = 0; i < n; i++) {
        gpuc_te_need_expr(ctx, index[i], who, gpuc_ctx_printf(ctx, "index %d", i));
        gpuc_dtype dt = index[i]->dtype;
        if (dt.lanes != 1 || (dt.code != GPUC_DTYPE_INT && dt.code != GPUC_DTYPE_UINT)) {
            char name[24];
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "tensor '%s': index %d is of type %s; indices are integer scalars", t->name, i,
                       gpuc_dtype_name(dt, name));
        }
        at[i] = gpuc_cast(ctx, GPUC_INDEX, index[i]);
    }
    return gpuc_tir_read(ctx, t->dtype, t, n, at);
}

void gpuc_te_set_attr(gpuc_ctx *ctx, gpuc_tensor *t, const char *key, const char *value)
{
    gpuc_te_need_tensor(ctx, t, "gpuc_te_set_attr");
    gpuc_te_need(ctx, key, "gpuc_te_set_attr", "key");
    gpuc_te_need(ctx, value, "gpuc_te_set_attr", "value");
    for (gpuc_te_attr *a = t->op->attrs; a; a = a->next) {
        if (strcmp(a->key, key) == 0) {
            a->value = gpuc_ctx_strdup(ctx, value);
            return;
        }
    }
    gpuc_te_attr *a = gpuc_new(ctx, gpuc_te_attr);
    a->key = gpuc_ctx_strdup(ctx, key);
    a->value = gpuc_ctx_strdup(ctx, value);
    a->next = t->op->attrs;
    t->op->attrs = a;
}

const char *gpuc_te_get_attr(const gpuc_tensor *t, const char *key)
{
    for (const gpuc_te_attr *a = t && key ? t->op->attrs : NULL; a; a = a->next)
        if (strcmp(a->key, key) == 0) return a->value;
    return NULL;
}

const char *gpuc_te_name(const gpuc_tensor *t)
{
    return t ? t->name : NULL;
}

int gpuc_te_ndim(const gpuc_tensor *t)
{
    return t ? t->ndim : 0;
}

const gpuc_expr *gpuc_te_shape(const gpuc_tensor *t)
{
    return t ? t->shape : NULL;
}

gpuc_dtype gpuc_te_dtype(const gpuc_tensor *t)
{
    return t ? t->dtype : (gpuc_dtype){0};
}

gpuc_te_info gpuc_te_get(const gpuc_tensor *t)
{
    const gpuc_te_op *op = t->op;
    return (gpuc_te_info){.kind = op->kind,
                          .output = t->value_index,
                          .num_outputs = op->num_outputs,
                          .outputs = op->outputs,
                          .num_inputs = op->num_inputs,
                          .inputs = op->inputs,
                          .num_axes = op->num_axes,
                          .num_reduce = op->num_reduce,
                          .axes = op->axes,
                          .reduce = op->reduce,
                          .body = op->kind == GPUC_TE_COMPUTE ? op->bodies[t->value_index] : NULL,
                          .statement = op->extern_body,
                          .input_buffers = op->input_buffers,
                          .output_buffers = op->output_buffers};
}
