/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "te/internal.h"

gpuc_expr gpuc_te_check_dim(gpuc_ctx *ctx, gpuc_expr dim, const char *owner, int number)
{
    if (!dim) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s': extent %d is missing", owner, number);
    gpuc_dtype t = dim->dtype;
    if (t.lanes != 1 || (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT)) {
        char name[24];
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s': extent %d is of type %s; extents are integers", owner,
                   number, gpuc_dtype_name(t, name));
    }
    dim = gpuc_cast(ctx, GPUC_INDEX, dim);
    int64_t value;
    if (gpuc_expr_is_int(dim, &value) && value < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s': extent %d is %lld; extents are not negative", owner,
                   number, (long long)value);
    return dim;
}

static const char *name_of(const gpuc_tensor *t)
{
    return t->name;
}

gpuc_te_op *gpuc_te_op_make(gpuc_ctx *ctx, gpuc_te_op_kind kind, const char *name, int num_outputs)
{
    gpuc_tir_set_tensor_name(ctx, name_of);
    gpuc_te_op *op = gpuc_new(ctx, gpuc_te_op);
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
    op->outputs[value_index] = t;
    return t;
}

gpuc_tensor *gpuc_te_placeholder(gpuc_ctx *ctx, const char *name, int ndim, const gpuc_expr *shape,
                                 gpuc_dtype dtype)
{
    if (ndim < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "placeholder '%s': %d dimensions", name ? name : "", ndim);
    if (dtype.lanes != 1) {
        char text[24];
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "placeholder '%s' is of type %s; elements are scalars",
                   name ? name : "", gpuc_dtype_name(dtype, text));
    }
    gpuc_te_op *op = gpuc_te_op_make(ctx, GPUC_TE_PLACEHOLDER, name, 1);
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++) dims[i] = gpuc_te_check_dim(ctx, shape[i], op->name, i);
    return gpuc_te_output_make(ctx, op, 0, ndim, dims, dtype);
}

gpuc_expr gpuc_te_read(gpuc_ctx *ctx, gpuc_tensor *t, int n, const gpuc_expr *index)
{
    if (n != t->ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "tensor '%s' has %d dimensions and is read with %d indices",
                   t->name, t->ndim, n);
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, n);
    for (int i = 0; i < n; i++) {
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
    for (const gpuc_te_attr *a = t->op->attrs; a; a = a->next)
        if (strcmp(a->key, key) == 0) return a->value;
    return NULL;
}

const char *gpuc_te_name(const gpuc_tensor *t)
{
    return t->name;
}

int gpuc_te_ndim(const gpuc_tensor *t)
{
    return t->ndim;
}

const gpuc_expr *gpuc_te_shape(const gpuc_tensor *t)
{
    return t->shape;
}

gpuc_dtype gpuc_te_dtype(const gpuc_tensor *t)
{
    return t->dtype;
}
