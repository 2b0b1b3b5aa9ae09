/* SPDX-License-Identifier: Apache-2.0 */
/* Computes convolutions of programs with channels last with channels first, and what is behind them: that is what passes and
 * schedules know most of. Targets that want channels last get them so afterwards (alter_op_layout.c). */
#include <string.h>

#include "relay_pass/common/layout.h"

static bool has_channels_last(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op || (strncmp(op->name, "nn.conv1d", 9) && strncmp(op->name, "nn.conv2d", 9) &&
                strncmp(op->name, "nn.conv3d", 9)))
        return false;
    const gpuc_rcall *c = gpuc_as_rcall((gpuc_rexpr *)e);
    return gpuc_relay_pass_channel_of(c) > 1 &&
           gpuc_relay_tensor_type(c->args[0])->ndim <= GPUC_RELAY_PASS_IMAGE_RANK &&
           !strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", "OIHW"), "OIHW");
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    if (!gpuc_relay_call_op(e) || gpuc_as_rcall(e)->n == 0) return e;
    if (!has_channels_last(e)) {
        gpuc_rexpr *out = gpuc_relay_pass_sink(ctx, false, e);
        return out ? out : e;
    }
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *args[] = {gpuc_relay_pass_into(ctx, false, c->args[0]), c->args[1]};
    const gpuc_attrs *a = gpuc_attrs_string(ctx, c->attrs, "data_layout", "NCHW");
    return gpuc_relay_pass_outside(ctx, false, gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, a, 2, args));
}

/* Programs without such convolutions keep the transpositions that they have where these stand. */
static bool has_any(gpuc_relay_pass_ctx *p)
{
    const gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(p->ctx, functions->entries[i].value, true, &order);
        for (size_t k = 0; k < order.count; k++)
            if (has_channels_last(order.at[k])) return true;
    }
    return false;
}

void gpuc_relay_pass_channels_first(gpuc_relay_pass_ctx *p)
{
    if (!has_any(p)) return;
    gpuc_relay_pass_rewrite_module(p, rewrite, NULL);
    gpuc_relay_pass_tidy_transposes(p);
}
