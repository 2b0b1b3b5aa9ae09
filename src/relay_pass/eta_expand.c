/* SPDX-License-Identifier: Apache-2.0 */
/* Writes functions of the module and constructors that are values as functions around a call: fn (%x) { @f(%x) }. */
#include "relay_pass/common/blocks.h"

typedef struct expander {
    gpuc_ctx *ctx;
    bool constructors, globals;
    gpuc_map done; /* node -> what stands for it where it is called */
    gpuc_map made; /* global, constructor -> what stands for it where it is a value */
} expander;

/* Names of sizes are of the function that has them: elsewhere they are `?`. */
static const gpuc_rtype *outside(gpuc_ctx *ctx, const gpuc_rtype *t)
{
    if (t->kind == GPUC_RTYPE_TENSOR) {
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, t->tensor.ndim + 1);
        for (int i = 0; i < t->tensor.ndim; i++) {
            bool is_known = t->tensor.dims[i] && t->tensor.dims[i]->kind == GPUC_EXPR_INT;
            dims[i] = is_known ? t->tensor.dims[i] : gpuc_relay_any_dim(ctx);
        }
        return gpuc_relay_rtype_tensor(ctx, t->tensor.dtype, t->tensor.ndim, dims);
    }
    const gpuc_rtype **at = gpuc_new_array(ctx, const gpuc_rtype *, t->n + 1);
    for (int i = 0; i < t->n; i++) at[i] = outside(ctx, t->at[i]);
    if (t->kind == GPUC_RTYPE_TUPLE) return gpuc_relay_rtype_tuple(ctx, t->n, at);
    if (t->kind == GPUC_RTYPE_ADT) return gpuc_relay_rtype_adt(ctx, t->adt, t->n, at);
    if (t->kind != GPUC_RTYPE_FUNC) return t;
    return gpuc_relay_rtype_scheme(ctx, t->num_params, t->params, t->n, at, outside(ctx, t->ret));
}

static gpuc_rexpr *expand(gpuc_ctx *ctx, gpuc_rexpr *callee)
{
    const gpuc_rtype *t = outside(ctx, callee->type), **own, *plain;
    own = gpuc_new_array(ctx, const gpuc_rtype *, t->num_params + 1);
    for (int i = 0; i < t->num_params; i++) own[i] = gpuc_relay_rtype_var(ctx, t->params[i]->name);
    plain = gpuc_relay_rtype_func(ctx, t->n, t->at, t->ret);
    plain = gpuc_relay_rtype_substitute(ctx, plain, t->num_params, t->params, own);
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, t->n + 1);
    for (int i = 0; i < t->n; i++) params[i] = gpuc_relay_var(ctx, "x", plain->at[i]);
    gpuc_rexpr *call = gpuc_relay_call(ctx, callee, NULL, t->n, params);
    call->type = plain->ret;
    ((gpuc_rcall *)call)->num_type_args = t->num_params;
    ((gpuc_rcall *)call)->type_args = own;
    gpuc_rexpr *f =
        gpuc_relay_generic_function(ctx, t->num_params, own, t->n, params, plain->ret, call, NULL);
    f->type = gpuc_relay_rtype_scheme(ctx, t->num_params, own, t->n, plain->at, plain->ret);
    return f;
}

static gpuc_rexpr *as_value(expander *x, gpuc_rexpr *e)
{
    bool constructor = e->kind == GPUC_REXPR_CONSTRUCTOR && x->constructors;
    if (!constructor && !(e->kind == GPUC_REXPR_GLOBAL && x->globals)) return gpuc_map_get(&x->done, e);
    gpuc_rexpr *f = gpuc_map_get(&x->made, e);
    if (!f) gpuc_map_set(&x->made, e, f = expand(x->ctx, e));
    return f;
}

void gpuc_relay_pass_eta_expand(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    expander x = {.ctx = p->ctx,
                  .constructors = gpuc_attrs_get_int(p->options, "expand_constructor", 0),
                  .globals = gpuc_attrs_get_int(p->options, "expand_global_var", 0)};
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_relay_blocks b;
        gpuc_map_init(&x.done, p->ctx);
        gpuc_map_init(&x.made, p->ctx);
        gpuc_relay_pass_find_blocks(p->ctx, functions->entries[i].value, &b);
        for (size_t k = 0; k < b.order.count; k++) {
            gpuc_rexpr *e = b.order.at[k];
            int n = gpuc_relay_pass_num_parts(e);
            gpuc_rexpr **parts = gpuc_new_array(p->ctx, gpuc_rexpr *, n + 1);
            for (int j = 0; j < n; j++) {
                gpuc_rexpr *part = gpuc_relay_pass_part(e, j);
                bool called = e->kind == GPUC_REXPR_CALL && j == 0;
                parts[j] = called ? gpuc_map_get(&x.done, part) : as_value(&x, part);
            }
            gpuc_map_set(&x.done, e, gpuc_relay_pass_with_parts(p->ctx, e, parts));
        }
        functions->entries[i].value = gpuc_map_get(&x.done, functions->entries[i].value);
    }
}
