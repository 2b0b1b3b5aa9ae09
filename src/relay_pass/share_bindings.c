/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a kernel beyond the target's number of buffers share a binding, so they must lie in one buffer:
 * that of intermediate results. Inputs, constants and outputs among them are copied. */
#include "relay_pass/util.h"

/* An input or a constant, perhaps of another shape. */
static bool lies_elsewhere(const gpuc_rexpr *e)
{
    for (const gpuc_op *op; (op = gpuc_relay_call_op(e)) && op->alias;) e = gpuc_as_rcall(e)->args[0];
    return e->kind == GPUC_REXPR_VAR || e->kind == GPUC_REXPR_CONSTANT;
}

static gpuc_rexpr *copied(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return gpuc_relay_with_source(ctx, gpuc_relay_op1(ctx, "identity", NULL, e), e->source);
}

static bool has_too_many(const gpuc_relay_pass_ctx *p, const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op || op->alias) return false;
    int outs = e->type->kind == GPUC_RTYPE_TUPLE ? e->type->n : 1;
    return gpuc_as_rcall(e)->n + outs > p->target->max_storage_buffers;
}

static gpuc_rexpr *copy_args(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    const gpuc_relay_pass_ctx *p = arg;
    if (!has_too_many(p, e)) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
    bool same = true;
    for (int i = (int)p->target->max_storage_buffers - 1; i < c->n; i++) {
        if (!lies_elsewhere(args[i])) continue;
        args[i] = copied(ctx, args[i]);
        same = false;
    }
    return same ? e : gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, c->attrs, c->n, args);
}

/* Is the output made by such a call? */
static gpuc_rexpr *copy_output(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    const gpuc_rexpr *maker = e;
    for (const gpuc_op *op; (op = gpuc_relay_call_op(maker)) && op->alias;)
        maker = gpuc_as_rcall(maker)->args[0];
    if (maker->kind == GPUC_REXPR_GET) maker = gpuc_as_rget(maker)->tuple;
    return has_too_many(p, maker) ? copied(p->ctx, e) : e;
}

void gpuc_relay_share_bindings(gpuc_relay_pass_ctx *p)
{
    gpuc_ctx *ctx = p->ctx;
    gpuc_relay_rewrite_module(p, copy_args, p);
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(p->module, "main"));
    gpuc_rexpr *body = f->body;
    if (body->kind == GPUC_REXPR_TUPLE) {
        const gpuc_rtuple *t = gpuc_as_rtuple(body);
        gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
        for (int i = 0; i < t->n; i++) fields[i] = copy_output(p, t->fields[i]);
        body = gpuc_relay_tuple(ctx, t->n, fields);
    } else if (body->type->kind == GPUC_RTYPE_TENSOR) {
        body = copy_output(p, body);
    }
    gpuc_rexpr *out = gpuc_relay_function(ctx, f->n, f->params, body, f->attrs);
    gpuc_relay_infer_type(ctx, p->module, out);
    gpuc_strmap_set(&p->module->functions, "main", out);
}
