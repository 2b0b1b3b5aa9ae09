/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each elementwise operator a cast to a wider type of its own: it is computed where it is used, and the narrow tensor
 * is what is stored and read. */
#include "relay_pass/common/util.h"

static bool widens(const gpuc_rexpr *e)
{
    if (!gpuc_relay_is_op(e, "cast")) return false;
    return gpuc_relay_tensor_type(gpuc_as_rcall(e)->args[0])->dtype.bits <
           gpuc_relay_tensor_type(e)->dtype.bits;
}

/* The first user keeps the cast, the others get one of their own. */
static gpuc_rexpr *own_casts(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    gpuc_map *used = arg;
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op || op->pattern > GPUC_FUSE_BROADCAST) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **args = NULL;
    for (int i = 0; i < c->n; i++) {
        if (!widens(c->args[i])) continue;
        const gpuc_rexpr *user = gpuc_map_get(used, c->args[i]);
        if (!user) gpuc_map_set(used, c->args[i], e);
        if (!user || user == e) continue;
        const gpuc_rcall *cast = gpuc_as_rcall(c->args[i]);
        if (!args) args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
        args[i] = gpuc_relay_op1(ctx, "cast", cast->attrs, cast->args[0]);
        for (int k = i + 1; k < c->n; k++)
            if (args[k] == &cast->base) args[k] = args[i];
    }
    return args ? gpuc_relay_op(ctx, op->name, c->attrs, c->n, args) : e;
}

void gpuc_relay_pass_canonicalize_cast(gpuc_relay_pass_ctx *p)
{
    gpuc_map used;
    gpuc_map_init(&used, p->ctx);
    gpuc_relay_pass_rewrite_module(p, own_casts, &used);
}
