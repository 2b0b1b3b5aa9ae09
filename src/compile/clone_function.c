/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a primitive function between contexts, so that a task shares nothing with the build, or with
 * numbers for some of its sizes. */
#include <string.h>

#include "compile/lowered.h"

typedef struct cloner {
    gpuc_ctx *ctx;
    bool same_context; /* variables are kept */
    gpuc_map exprs;    /* relay */
    gpuc_map scalars;  /* tir */
} cloner;

static gpuc_expr clone_scalar(cloner *c, gpuc_expr e)
{
    if (!e) return NULL;
    gpuc_expr known = gpuc_map_get(&c->scalars, e), out = NULL;
    if (known) return known;
    switch (e->kind) {
    case GPUC_EXPR_INT: out = gpuc_imm_int(c->ctx, e->dtype, gpuc_as_int(e)->value); break;
    case GPUC_EXPR_VAR: out = c->same_context ? e : gpuc_var(c->ctx, gpuc_as_var(e)->name, e->dtype); break;
    case GPUC_EXPR_CAST: out = gpuc_cast(c->ctx, e->dtype, clone_scalar(c, gpuc_as_cast(e)->a)); break;
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
        gpuc_expr a[3];
        for (int i = 0; i < 3; i++) a[i] = clone_scalar(c, o->a[i]);
        out = gpuc_tir_make(c->ctx, o->op, a[0], a[1], a[2]);
        break;
    }
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LOAD:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: gpuc_raise(c->ctx, GPUC_INTERNAL, "a dimension is not an expression of sizes");
    }
    gpuc_map_set(&c->scalars, e, (void *)(uintptr_t)out);
    return out;
}

static const gpuc_rtype *clone_type(cloner *c, const gpuc_rtype *t)
{
    if (t->kind == GPUC_RTYPE_TENSOR) {
        gpuc_expr *dims = gpuc_new_array(c->ctx, gpuc_expr, t->tensor.ndim);
        for (int i = 0; i < t->tensor.ndim; i++) dims[i] = clone_scalar(c, t->tensor.dims[i]);
        return gpuc_relay_rtype_tensor(c->ctx, t->tensor.dtype, t->tensor.ndim, dims);
    }
    GPUC_CHECK(t->kind == GPUC_RTYPE_TUPLE);
    const gpuc_rtype **fields = gpuc_new_array(c->ctx, const gpuc_rtype *, t->n);
    for (int i = 0; i < t->n; i++) fields[i] = clone_type(c, t->at[i]);
    return gpuc_relay_rtype_tuple(c->ctx, t->n, fields);
}

static const gpuc_attrs *clone_ints(cloner *c, const gpuc_attrs *out, const gpuc_attr *at)
{
    if (!at->sizes) return gpuc_attrs_ints(c->ctx, out, at->name, at->n, at->ints);
    gpuc_expr *sizes = gpuc_new_array(c->ctx, gpuc_expr, at->n);
    for (int i = 0; i < at->n; i++) sizes[i] = clone_scalar(c, at->sizes[i]);
    return gpuc_attrs_sizes(c->ctx, out, at->name, at->n, sizes);
}

static const gpuc_attrs *clone_attrs(cloner *c, const gpuc_attrs *a)
{
    gpuc_ctx *ctx = c->ctx;
    const gpuc_attrs *out = NULL;
    for (int i = 0; a && i < a->count; i++) {
        const gpuc_attr *at = &a->at[i];
        switch (at->kind) {
        case GPUC_ATTR_INT: out = gpuc_attrs_int(ctx, out, at->name, at->i); break;
        case GPUC_ATTR_FLOAT: out = gpuc_attrs_float(ctx, out, at->name, at->f); break;
        case GPUC_ATTR_STRING: out = gpuc_attrs_string(ctx, out, at->name, at->s); break;
        case GPUC_ATTR_INTS: out = clone_ints(c, out, at); break;
        case GPUC_ATTR_FLOATS: out = gpuc_attrs_floats(ctx, out, at->name, at->n, at->floats); break;
        case GPUC_ATTR_DTYPE: out = gpuc_attrs_dtype(ctx, out, at->name, at->dtype); break;
        case GPUC_ATTR_KIND_COUNT: break;
        }
    }
    return out;
}

static const gpuc_expr *clone_values(cloner *c, const gpuc_rexpr *e)
{
    if (!e->values) return NULL;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t count = 1, d = 0;
    for (int i = 0; i < t->ndim; i++) {
        gpuc_expr_is_int(t->dims[i], &d);
        count *= d;
    }
    gpuc_expr *values = gpuc_new_array(c->ctx, gpuc_expr, count + 1);
    for (int64_t i = 0; i < count; i++) values[i] = clone_scalar(c, e->values[i]);
    return values;
}

static gpuc_rexpr *get(cloner *c, gpuc_rexpr *e)
{
    gpuc_rexpr *out = gpuc_map_get(&c->exprs, e);
    GPUC_CHECK(out);
    return out;
}

static gpuc_rexpr *clone_expr(cloner *c, gpuc_rexpr *e)
{
    switch (e->kind) {
    case GPUC_REXPR_VAR: {
        gpuc_rexpr *v = gpuc_relay_var(c->ctx, gpuc_as_rvar(e)->name, clone_type(c, e->type));
        v->values = clone_values(c, e);
        return v;
    }
    case GPUC_REXPR_CONSTANT: {
        const gpuc_const_data *data = gpuc_as_rconstant(e)->data;
        gpuc_const_data *copy = gpuc_relay_const_data_create(c->ctx, data->size);
        if (data->size) memcpy(copy->bytes, data->bytes, data->size);
        return gpuc_relay_constant(c->ctx, clone_type(c, e->type), copy);
    }
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *call = gpuc_as_rcall(e);
        gpuc_rexpr **args = gpuc_new_array(c->ctx, gpuc_rexpr *, call->n);
        for (int i = 0; i < call->n; i++) args[i] = get(c, call->args[i]);
        gpuc_rexpr *out =
            gpuc_relay_call(c->ctx, get(c, call->callee), clone_attrs(c, call->attrs), call->n, args);
        out->type = clone_type(c, e->type);
        out->values = clone_values(c, e);
        return out;
    }
    case GPUC_REXPR_OP: {
        gpuc_rop *op = gpuc_new(c->ctx, gpuc_rop);
        *op = *gpuc_as_rop(e);
        return &op->base;
    }
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_LET:
    case GPUC_REXPR_FUNCTION:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_MATCH:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    gpuc_raise(c->ctx, GPUC_INTERNAL, "a primitive function has a node of kind %d", (int)e->kind);
}

static cloner make_cloner(gpuc_ctx *ctx, bool same_context)
{
    cloner c = {.ctx = ctx, .same_context = same_context};
    gpuc_map_init(&c.exprs, ctx);
    gpuc_map_init(&c.scalars, ctx);
    return c;
}

static gpuc_rfunction *clone_function(cloner *c, const gpuc_rfunction *f)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, f->n);
    for (int i = 0; i < f->n; i++) {
        params[i] = clone_expr(c, f->params[i]);
        gpuc_map_set(&c->exprs, f->params[i], params[i]);
    }
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, f->body, false, &order);
    for (size_t i = 0; i < order.count; i++)
        if (!gpuc_map_has(&c->exprs, order.at[i]))
            gpuc_map_set(&c->exprs, order.at[i], clone_expr(c, order.at[i]));
    gpuc_rexpr *out = gpuc_relay_function(ctx, f->n, params, get(c, f->body), clone_attrs(c, f->attrs));
    return (gpuc_rfunction *)out;
}

gpuc_rfunction *gpuc_compile_clone_function(gpuc_ctx *ctx, const gpuc_rfunction *f)
{
    cloner c = make_cloner(ctx, false);
    return clone_function(&c, f);
}

gpuc_rfunction *gpuc_compile_pin_to_one(gpuc_ctx *ctx, const gpuc_rfunction *f, int n,
                                        const gpuc_expr *symbols)
{
    cloner c = make_cloner(ctx, true);
    for (int i = 0; i < n; i++)
        gpuc_map_set(&c.scalars, symbols[i], (void *)(uintptr_t)gpuc_imm_int(ctx, symbols[i]->dtype, 1));
    return clone_function(&c, f);
}
