/* SPDX-License-Identifier: Apache-2.0 */
/* Constant convolution weights in the layout that the target's schedules load best. */
#include <string.h>

#include "relay_pass/pack.h"
#include "relay_pass/util.h"

/* [O, I, kernel] -> [I, kernel, O] where invocations hold several output channels and load them as a vector.
 */
static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op ||
        (strcmp(op->name, "nn.conv1d") && strcmp(op->name, "nn.conv2d") && strcmp(op->name, "nn.conv3d")))
        return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (c->args[1]->kind != GPUC_REXPR_CONSTANT || gpuc_attrs_get_int(c->attrs, "groups", 1) != 1) return e;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", ""), "OIK")) return e;
    gpuc_rexpr *args[] = {c->args[0], gpuc_relay_turn_weights(ctx, c->args[1])};
    return gpuc_relay_op(ctx, op->name, gpuc_attrs_string(ctx, c->attrs, "kernel_layout", "IKO"), 2, args);
}

void gpuc_relay_alter_kernel_layout(gpuc_relay_pass_ctx *p)
{
    if (p->target->texel) gpuc_relay_rewrite_module(p, rewrite, NULL);
}
