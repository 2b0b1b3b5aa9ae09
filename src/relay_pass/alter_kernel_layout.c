/* SPDX-License-Identifier: Apache-2.0 */
/* Constant weights in the layout that the target's kernels load best. */
#include <string.h>

#include "relay_pass/common/pack.h"
#include "relay_pass/common/util.h"

/* [O, I, kernel] -> [I, kernel, O] where invocations hold several output channels and load them as a vector. */
static gpuc_rexpr *convolution(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (c->args[1]->kind != GPUC_REXPR_CONSTANT || gpuc_attrs_get_int(c->attrs, "groups", 1) != 1) return e;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", ""), "OIHW")) return e;
    gpuc_rexpr *args[] = {c->args[0], gpuc_relay_pass_turn_weights(ctx, c->args[1])};
    return gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name,
                         gpuc_attrs_string(ctx, c->attrs, "kernel_layout", "IHWO"), 2, args);
}

/* [directions, units, gates * units] -> [directions, units / b, units, gates, b] where each step of a layer
 * reads all of them on one core: a sum then takes what lies side by side. A layer of less than a vector, or
 * half of a subgroup's, would mostly multiply what fills it up. */
static gpuc_rexpr *recurrent(gpuc_ctx *ctx, gpuc_rexpr *e, const gpuc_target *t)
{
    enum { WEIGHTS = 1, MAX_ARGS = 6 };
    static const int64_t order[] = {0, 3, 1, 2, 4};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int64_t dims[5];
    gpuc_rexpr *w = c->args[WEIGHTS], *args[MAX_ARGS];
    const gpuc_tensor_type *type = gpuc_relay_tensor_type(w);
    int64_t block = gpuc_target_recurrent_block(t, type->dtype);
    if (w->kind != GPUC_REXPR_CONSTANT || type->ndim != 3 || block == 0) return e;
    if (!gpuc_relay_tensor_type_static(type, dims)) return e;
    if (dims[1] < (gpuc_target_lanes_are_threads(t) ? block / 2 : block)) return e;
    int64_t gates[] = {dims[0], dims[1], dims[2] / dims[1], dims[1]};
    w = gpuc_relay_pass_filled_up(ctx, gpuc_relay_pass_reshape_static(ctx, w, 4, gates), 3, block);
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(w), dims);
    dims[3] /= block;
    dims[4] = block;
    memcpy(args, c->args, sizeof *args * (size_t)c->n);
    args[WEIGHTS] = gpuc_relay_pass_transpose(ctx, gpuc_relay_pass_reshape_static(ctx, w, 5, dims), order);
    return gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, c->attrs, c->n, args);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    const gpuc_target *t = arg;
    bool conv = gpuc_relay_is_op(e, "nn.conv1d") || gpuc_relay_is_op(e, "nn.conv2d") ||
                gpuc_relay_is_op(e, "nn.conv3d");
    if (conv && t->texel) return convolution(ctx, e);
    bool layer =
        gpuc_relay_is_op(e, "nn.rnn") || gpuc_relay_is_op(e, "nn.gru") || gpuc_relay_is_op(e, "nn.lstm");
    return layer ? recurrent(ctx, e, t) : e;
}

void gpuc_relay_pass_alter_kernel_layout(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, rewrite, (void *)(uintptr_t)p->target);
}
