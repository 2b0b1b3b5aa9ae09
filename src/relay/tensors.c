/* SPDX-License-Identifier: Apache-2.0 */
/* A primitive function as tensor expressions. */
#include "relay/relay.h"
#include "op/op.h"

static gpuc_op_call op_call(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_op_call call = {.ctx = ctx, .op = gpuc_relay_call_op(e), .attrs = c->attrs, .num_in = c->n};
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    const gpuc_expr **values = gpuc_new_array(ctx, const gpuc_expr *, c->n);
    for (int i = 0; i < c->n; i++) {
        in[i] = *gpuc_relay_tensor_type(c->args[i]);
        values[i] = c->args[i]->values;
    }
    call.in = in;
    call.in_values = values;
    const gpuc_rtype *t = e->type;
    call.num_out = t->kind == GPUC_RTYPE_TUPLE ? t->n : 1;
    call.out = gpuc_new_array(ctx, gpuc_tensor_type, call.num_out);
    for (int i = 0; i < call.num_out; i++)
        call.out[i] = t->kind == GPUC_RTYPE_TUPLE ? t->at[i]->tensor : t->tensor;
    call.out_values = gpuc_new_array(ctx, const gpuc_expr *, call.num_out);
    return call;
}

/* An immediate as a tensor without inputs, which is always inlined. */
static gpuc_tensor *constant_tensor(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    gpuc_iter **axes = gpuc_new_array(ctx, gpuc_iter *, t->ndim);
    for (int i = 0; i < t->ndim; i++) axes[i] = gpuc_te_axis(ctx, t->dims[i], "c");
    gpuc_expr value = gpuc_relay_const_element(ctx, gpuc_as_rconstant(e), 0);
    return gpuc_te_compute(ctx, "constant", t->ndim, axes, value);
}

gpuc_tensor **gpuc_relay_tensors(gpuc_ctx *ctx, const gpuc_rfunction *f, int *num_results)
{
    gpuc_map tensors; /* expr -> gpuc_tensor ** (one per output) */
    gpuc_map_init(&tensors, ctx);
    for (int i = 0; i < f->n; i++) {
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(f->params[i]);
        gpuc_tensor **one = gpuc_new(ctx, gpuc_tensor *);
        one[0] = gpuc_te_placeholder(ctx, gpuc_as_rvar(f->params[i])->name, t->ndim, t->dims, t->dtype);
        gpuc_map_set(&tensors, f->params[i], one);
    }
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, f->body, false, &order);
    int outs = 1;
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (e->kind == GPUC_REXPR_CONSTANT) {
            gpuc_tensor **one = gpuc_new(ctx, gpuc_tensor *);
            one[0] = constant_tensor(ctx, e);
            gpuc_map_set(&tensors, e, one);
        } else if (e->kind == GPUC_REXPR_CALL) {
            gpuc_op_call call = op_call(ctx, e);
            if (!call.op->compute)
                gpuc_raise(ctx, GPUC_UNSUPPORTED,
                           "%s%s%s cannot run on a device: its result must be known when building",
                           call.op->name, *e->source ? " of " : "", e->source);
            gpuc_tensor **ins = gpuc_new_array(ctx, gpuc_tensor *, call.num_in);
            for (int k = 0; k < call.num_in; k++)
                ins[k] = ((gpuc_tensor **)gpuc_map_get(&tensors, gpuc_as_rcall(e)->args[k]))[0];
            gpuc_tensor **results = gpuc_new_array(ctx, gpuc_tensor *, call.num_out);
            call.op->compute(&call, ins, results);
            gpuc_map_set(&tensors, e, results);
            outs = call.num_out;
        }
    }
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, f->n + outs);
    for (int i = 0; i < f->n; i++) args[i] = ((gpuc_tensor **)gpuc_map_get(&tensors, f->params[i]))[0];
    gpuc_tensor **results = gpuc_map_get(&tensors, f->body);
    for (int i = 0; i < outs; i++) args[f->n + i] = results[i];
    *num_results = outs;
    return args;
}
