/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of functions: constants in their place, and names of their sizes. */
#include <string.h>

#include "relay/infer.h"
#include "tir/intern.h"

typedef struct binding {
    gpuc_map by;    /* parameter -> constant */
    gpuc_map sizes; /* symbol of a type -> the constant's extent in its place */
} binding;

/* A size with the numbers that are known. */
static gpuc_expr bound_size(gpuc_ctx *ctx, gpuc_expr size, void *sizes)
{
    return size ? gpuc_tir_substitute_map(ctx, size, sizes) : NULL;
}

static const gpuc_rtype *bound_type(gpuc_ctx *ctx, binding *b, const gpuc_rtype *t)
{
    return t ? gpuc_relay_rtype_map_sizes(ctx, t, bound_size, &b->sizes) : NULL;
}

static gpuc_rexpr *bound_var(gpuc_ctx *ctx, binding *b, gpuc_rexpr *e)
{
    const gpuc_rvar *v = gpuc_as_rvar(e);
    const gpuc_rtype *t = bound_type(ctx, b, v->annotation);
    return t == v->annotation ? e : gpuc_relay_var(ctx, v->name, t);
}

static gpuc_rexpr *function_of(gpuc_ctx *ctx, binding *b, const gpuc_rfunction *f, int n,
                               gpuc_rexpr *const *params, gpuc_rexpr *body)
{
    if (!f->num_type_params && !f->ret) return gpuc_relay_function(ctx, n, params, body, f->attrs);
    return gpuc_relay_generic_function(ctx, f->num_type_params, f->type_params, n, params,
                                       bound_type(ctx, b, f->ret), body, f->attrs);
}

static gpuc_rexpr *bind(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    binding *b = arg;
    gpuc_rexpr *by = gpuc_map_get(&b->by, old);
    if (by) return by;
    if (e->kind == GPUC_REXPR_VAR) return bound_var(ctx, b, e);
    if (e->kind == GPUC_REXPR_FUNCTION && gpuc_as_rfunction(e)->ret) {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        if (bound_type(ctx, b, f->ret) != f->ret) return function_of(ctx, b, f, f->n, f->params, f->body);
    }
    if (e->kind != GPUC_REXPR_CALL) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = gpuc_op_attrs_substitute(ctx, c->attrs, &b->sizes);
    return attrs == c->attrs ? e : gpuc_relay_call(ctx, c->callee, attrs, c->n, c->args);
}

/* ---- Constants of parameters ---- */

static gpuc_rexpr *find_param(gpuc_ctx *ctx, const gpuc_rfunction *f, const char *name)
{
    gpuc_rexpr *found = NULL;
    const char **names = gpuc_new_array(ctx, const char *, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        names[i] = gpuc_as_rvar(f->params[i])->name;
        if (strcmp(names[i], name)) continue;
        if (found) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "two parameters of the function are '%s'", name);
        found = f->params[i];
    }
    const char *near = found ? NULL : gpuc_suggest(name, names, (size_t)f->n);
    if (!found)
        gpuc_raise(ctx, GPUC_NOT_FOUND, "the function has no parameter '%s'%s%s%s", name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return found;
}

static void check_constant(gpuc_ctx *ctx, const char *name, const gpuc_rtype *t, const gpuc_rexpr *c)
{
    if (c->kind != GPUC_REXPR_CONSTANT)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parameter '%s': a constant is expected, not %s", name,
                   gpuc_relay_describe(ctx, c));
    if (!t || gpuc_relay_fits(ctx, t, c->type)) return;
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parameter '%s' is %s, the constant %s", name,
               gpuc_relay_rtype_text(ctx, t), gpuc_relay_rtype_text(ctx, c->type));
}

/* A size with a name is one number in all constants that are bound. */
static void bind_sizes(gpuc_ctx *ctx, binding *b, const char *name, const gpuc_rexpr *param,
                       const gpuc_rexpr *c)
{
    if (!param->type || param->type->kind != GPUC_RTYPE_TENSOR) return;
    for (int i = 0; i < param->type->tensor.ndim; i++) {
        gpuc_expr size = param->type->tensor.dims[i], extent = c->type->tensor.dims[i];
        if (!size || size->kind != GPUC_EXPR_VAR || gpuc_relay_is_any_dim(size)) continue;
        gpuc_expr before = gpuc_map_get(&b->sizes, size);
        if (before && before != extent)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "parameter '%s': '%s' is %s in its constant, and %s in that of what stands before it",
                       name, gpuc_as_var(size)->name, gpuc_tir_short_text(ctx, extent),
                       gpuc_tir_short_text(ctx, before));
        gpuc_map_set(&b->sizes, size, (void *)extent);
    }
}

gpuc_rexpr *gpuc_relay_bind_params(gpuc_ctx *ctx, gpuc_rexpr *function, int n, const char *const *names,
                                   gpuc_rexpr *const *constants)
{
    binding b;
    gpuc_ptrs left = {0};
    gpuc_map_init(&b.by, ctx);
    gpuc_map_init(&b.sizes, ctx);
    gpuc_relay_need(ctx, "binding parameters", "function", function);
    if (function->kind != GPUC_REXPR_FUNCTION)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "binding parameters: a function is expected, not %s",
                   gpuc_relay_describe(ctx, function));
    gpuc_relay_need_list(ctx, "binding parameters", "name", n, names);
    gpuc_relay_need_list(ctx, "binding parameters", "constant", n, constants);
    const gpuc_rfunction *f = gpuc_as_rfunction(function);
    for (int i = 0; i < n; i++) {
        gpuc_rexpr *param = find_param(ctx, f, names[i]);
        check_constant(ctx, names[i], param->type, constants[i]);
        if (gpuc_map_has(&b.by, param))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parameter '%s' is bound twice", names[i]);
        bind_sizes(ctx, &b, names[i], param, constants[i]);
        gpuc_map_set(&b.by, param, constants[i]);
    }
    for (int i = 0; i < n; i++) /* extents that are computed of named sizes */
        check_constant(ctx, names[i], bound_type(ctx, &b, find_param(ctx, f, names[i])->type), constants[i]);
    for (int i = 0; i < f->n; i++) {
        if (gpuc_map_has(&b.by, f->params[i])) continue;
        gpuc_rexpr *param = bound_var(ctx, &b, f->params[i]);
        gpuc_map_set(&b.by, f->params[i], param);
        gpuc_ptrs_push(ctx, &left, param);
    }
    gpuc_rexpr *body = gpuc_relay_mutate(ctx, f->body, bind, &b);
    return function_of(ctx, &b, f, (int)left.count, (gpuc_rexpr *const *)left.at, body);
}

/* ---- Names of sizes ---- */

/* Stands for an extent without a name: d0, d1 and so on, but none that a parameter has. */
static gpuc_expr new_size(gpuc_ctx *ctx, const gpuc_rfunction *f, int *number)
{
    for (;;) {
        const char *name = gpuc_ctx_printf(ctx, "d%d", (*number)++);
        bool taken = false;
        for (int i = 0; i < f->n; i++)
            for (int k = 0;
                 f->params[i]->type->kind == GPUC_RTYPE_TENSOR && k < f->params[i]->type->tensor.ndim; k++) {
                gpuc_expr size = f->params[i]->type->tensor.dims[k];
                taken |= size && size->kind == GPUC_EXPR_VAR && !strcmp(gpuc_as_var(size)->name, name);
            }
        if (!taken) return gpuc_var(ctx, name, GPUC_INDEX);
    }
}

static gpuc_rexpr *with_names(gpuc_ctx *ctx, binding *b, const gpuc_rfunction *f, gpuc_rexpr *param,
                              int *number)
{
    const gpuc_tensor_type *t = &param->type->tensor;
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, t->ndim);
    bool changed = false;
    for (int k = 0; param->type->kind == GPUC_RTYPE_TENSOR && k < t->ndim; k++) {
        dims[k] = t->dims[k];
        if (dims[k] && (dims[k]->kind != GPUC_EXPR_VAR || !gpuc_relay_is_any_dim(dims[k]))) continue;
        dims[k] = dims[k] ? gpuc_map_get(&b->sizes, dims[k]) : NULL;
        if (!dims[k]) dims[k] = new_size(ctx, f, number);
        if (t->dims[k]) gpuc_map_set(&b->sizes, t->dims[k], (void *)dims[k]);
        changed = true;
    }
    if (!changed) return param;
    return gpuc_relay_var(ctx, gpuc_as_rvar(param)->name,
                          gpuc_relay_rtype_tensor(ctx, t->dtype, t->ndim, dims));
}

void gpuc_relay_name_sizes(gpuc_rmodule *m)
{
    gpuc_ctx *ctx = m->ctx;
    binding b;
    int number = 0;
    bool changed = false;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, f->n);
    gpuc_map_init(&b.by, ctx);
    gpuc_map_init(&b.sizes, ctx);
    for (int i = 0; i < f->n; i++) {
        params[i] = with_names(ctx, &b, f, f->params[i], &number);
        changed |= params[i] != f->params[i];
    }
    if (!changed) return;
    for (int i = 0; i < f->n; i++) {
        if (params[i] == f->params[i]) params[i] = bound_var(ctx, &b, params[i]);
        gpuc_map_set(&b.by, f->params[i], params[i]);
    }
    gpuc_rexpr *body = gpuc_relay_mutate(ctx, f->body, bind, &b);
    gpuc_rmodule_replace_function(m, "main", function_of(ctx, &b, f, f->n, params, body));
    gpuc_relay_infer_module(ctx, m);
}
