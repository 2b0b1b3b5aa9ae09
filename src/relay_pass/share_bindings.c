/* SPDX-License-Identifier: Apache-2.0 */
/* Copies inputs, constants and outputs of kernels that have more tensors than the target has buffers. Tensors
 * beyond that number share a binding, so they must lie in one buffer, that of intermediate results. */
#include "relay_pass/common/util.h"

static bool has_too_many(const gpuc_relay_pass_ctx *p, const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op || op->alias || gpuc_relay_pass_needs_fallback(p->target, e)) return false;
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
        if (!gpuc_relay_pass_is_stored(args[i])) continue;
        args[i] = gpuc_relay_pass_copied(ctx, args[i]);
        same = false;
    }
    return same ? e : gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, c->attrs, c->n, args);
}

static gpuc_rexpr *copy_output(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    const gpuc_rexpr *maker = e;
    for (const gpuc_op *op; (op = gpuc_relay_call_op(maker)) && op->alias;)
        maker = gpuc_as_rcall(maker)->args[0];
    if (maker->kind == GPUC_REXPR_GET) maker = gpuc_as_rget(maker)->tuple;
    return has_too_many(p, maker) ? gpuc_relay_pass_copied(p->ctx, e) : e;
}

void gpuc_relay_pass_share_bindings(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, copy_args, p);
    gpuc_relay_pass_rewrite_outputs(p, copy_output);
}
