/* SPDX-License-Identifier: Apache-2.0 */
/* Has what graph passes share: counted uses, type checks against the target, casts, transpositions,
 * reshapes. */
#include "relay_pass/common/util.h"

bool gpuc_relay_pass_is_generic(const gpuc_rtype *t)
{
    bool found = t->varies || (t->kind == GPUC_RTYPE_ADT && t->n) || t->num_params;
    for (int i = 0; i < t->n && !found; i++) found = gpuc_relay_pass_is_generic(t->at[i]);
    return found || (t->kind == GPUC_RTYPE_FUNC && gpuc_relay_pass_is_generic(t->ret));
}

gpuc_rexpr *gpuc_relay_pass_put_sizes(gpuc_ctx *ctx, gpuc_rexpr *e, const gpuc_map *sizes)
{
    if (!gpuc_relay_call_op(e) || !gpuc_attrs_symbolic(gpuc_as_rcall(e)->attrs)) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = gpuc_op_attrs_substitute(ctx, c->attrs, sizes);
    return attrs == c->attrs ? e : gpuc_relay_call(ctx, c->callee, attrs, c->n, c->args);
}

void gpuc_relay_pass_rewrite_module(gpuc_relay_pass_ctx *p, gpuc_relay_rewrite_fn fn, void *arg)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++)
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, fn, arg);
}

static void count(gpuc_map *uses, gpuc_rexpr *e)
{
    gpuc_map_set(uses, e, (void *)(gpuc_relay_uses(uses, e) + 1));
}

void gpuc_relay_pass_count_uses(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_map *uses)
{
    gpuc_map_init(uses, ctx);
    gpuc_relay_pass_add_uses(ctx, root, uses);
}

void gpuc_relay_pass_add_uses(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_map *uses)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        switch (e->kind) {
        case GPUC_REXPR_CALL:
            count(uses, gpuc_as_rcall(e)->callee);
            for (int k = 0; k < gpuc_as_rcall(e)->n; k++) count(uses, gpuc_as_rcall(e)->args[k]);
            break;
        case GPUC_REXPR_TUPLE:
            for (int k = 0; k < gpuc_as_rtuple(e)->n; k++) count(uses, gpuc_as_rtuple(e)->fields[k]);
            break;
        case GPUC_REXPR_GET: count(uses, gpuc_as_rget(e)->tuple); break;
        case GPUC_REXPR_LET:
            count(uses, gpuc_as_rlet(e)->value);
            count(uses, gpuc_as_rlet(e)->body);
            break;
        case GPUC_REXPR_FUNCTION: count(uses, gpuc_as_rfunction(e)->body); break;
        case GPUC_REXPR_IF:
            count(uses, gpuc_as_rif(e)->cond);
            count(uses, gpuc_as_rif(e)->then_branch);
            count(uses, gpuc_as_rif(e)->else_branch);
            break;
        case GPUC_REXPR_MATCH:
            count(uses, gpuc_as_rmatch(e)->value);
            for (int k = 0; k < gpuc_as_rmatch(e)->n; k++) count(uses, gpuc_as_rmatch(e)->clauses[k].body);
            break;
        case GPUC_REXPR_VAR:
        case GPUC_REXPR_GLOBAL:
        case GPUC_REXPR_CONSTANT:
        case GPUC_REXPR_OP:
        case GPUC_REXPR_CONSTRUCTOR:
        case GPUC_REXPR_KIND_COUNT: break;
        }
    }
}

static bool computes_type(const gpuc_target *target, const gpuc_rtype *t)
{
    if (t->kind == GPUC_RTYPE_TENSOR) return gpuc_target_computes(target, t->tensor.dtype);
    for (int i = 0; i < t->n; i++)
        if (!computes_type(target, t->at[i])) return false;
    return true;
}

bool gpuc_relay_pass_needs_fallback(const gpuc_target *target, const gpuc_rexpr *call)
{
    const gpuc_rcall *c = gpuc_as_rcall(call);
    const gpuc_op *op = gpuc_relay_call_op(call);
    if (op && !op->alias && !gpuc_target_runs(target, op->name)) return true;
    for (int i = 0; i < c->n; i++)
        if (!computes_type(target, c->args[i]->type)) return true;
    return !computes_type(target, call->type);
}

bool gpuc_relay_pass_function_needs_fallback(gpuc_ctx *ctx, const gpuc_target *target,
                                             const gpuc_rfunction *f)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, f->body, false, &order);
    for (size_t i = 0; i < order.count; i++)
        if (gpuc_relay_call_op(order.at[i]) && gpuc_relay_pass_needs_fallback(target, order.at[i]))
            return true;
    return false;
}

bool gpuc_relay_pass_is_stored(const gpuc_rexpr *e)
{
    for (const gpuc_op *op; (op = gpuc_relay_call_op(e)) && op->alias;) e = gpuc_as_rcall(e)->args[0];
    return e->kind == GPUC_REXPR_VAR || e->kind == GPUC_REXPR_CONSTANT;
}

gpuc_rexpr *gpuc_relay_pass_copied(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return gpuc_relay_with_source(ctx, gpuc_relay_op1(ctx, "identity", NULL, e), e->source);
}

void gpuc_relay_pass_rewrite_outputs(gpuc_relay_pass_ctx *p,
                                     gpuc_rexpr *(*rewrite)(gpuc_relay_pass_ctx *p, gpuc_rexpr *output))
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(p->module, "main"));
    gpuc_rexpr *body = f->body;
    if (body->kind == GPUC_REXPR_TUPLE) {
        const gpuc_rtuple *t = gpuc_as_rtuple(body);
        gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
        bool same = true;
        for (int i = 0; i < t->n; i++) {
            fields[i] = rewrite(p, t->fields[i]);
            same = same && fields[i] == t->fields[i];
        }
        if (!same) body = gpuc_relay_tuple(ctx, t->n, fields);
    } else if (body->type->kind == GPUC_RTYPE_TENSOR) {
        body = rewrite(p, body);
    }
    if (body == f->body) return;
    gpuc_rexpr *out = gpuc_relay_function_with(ctx, f, f->params, body);
    gpuc_relay_infer_type(ctx, p->module, out);
    gpuc_strmap_set(&p->module->functions, "main", out);
}

gpuc_rexpr *gpuc_relay_pass_cast(gpuc_ctx *ctx, gpuc_rexpr *e, gpuc_dtype t)
{
    if (gpuc_dtype_equal(gpuc_relay_tensor_type(e)->dtype, t)) return e;
    return gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", t), e);
}

gpuc_rexpr *gpuc_relay_pass_transpose(gpuc_ctx *ctx, gpuc_rexpr *e, const int64_t *axes)
{
    int n = gpuc_relay_tensor_type(e)->ndim;
    return gpuc_relay_op1(ctx, "transpose", gpuc_attrs_ints(ctx, NULL, "axes", n, axes), e);
}

gpuc_rexpr *gpuc_relay_pass_reshape(gpuc_ctx *ctx, gpuc_rexpr *e, int ndim, const gpuc_expr *dims)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    bool same = t->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = t->dims[i] == dims[i];
    if (same) return e;
    return gpuc_relay_reshape(ctx, e, ndim, dims);
}

gpuc_rexpr *gpuc_relay_pass_reshape_static(gpuc_ctx *ctx, gpuc_rexpr *e, int ndim, const int64_t *dims)
{
    gpuc_expr *list = gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++) list[i] = gpuc_int(ctx, dims[i]);
    return gpuc_relay_pass_reshape(ctx, e, ndim, list);
}
