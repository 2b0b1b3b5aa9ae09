/* SPDX-License-Identifier: Apache-2.0 */
/* Puts bodies of primitive functions where they are called. */
#include "relay_pass/common/inline_primitive.h"

static gpuc_rexpr *put_argument(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    gpuc_rexpr *given = gpuc_map_get(arg, old);
    return given ? given : e;
}

typedef struct inliner {
    bool (*which)(gpuc_ctx *ctx, const gpuc_rfunction *f);
} inliner;

static gpuc_rexpr *put_body(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    const inliner *in = arg;
    if (e->kind != GPUC_REXPR_CALL || gpuc_as_rcall(e)->callee->kind != GPUC_REXPR_FUNCTION) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_rfunction *f = gpuc_as_rfunction(c->callee);
    if (!gpuc_attrs_find(f->attrs, "primitive") || gpuc_attrs_find(f->attrs, "compiler") ||
        !in->which(ctx, f))
        return e;
    gpuc_map given;
    gpuc_map_init(&given, ctx);
    for (int i = 0; i < f->n; i++) gpuc_map_set(&given, f->params[i], c->args[i]);
    return gpuc_relay_rewrite(ctx, f->body, put_argument, &given);
}

void gpuc_relay_pass_inline_primitive(gpuc_relay_pass_ctx *p,
                                      bool (*which)(gpuc_ctx *ctx, const gpuc_rfunction *f))
{
    inliner in = {which};
    gpuc_relay_pass_rewrite_module(p, put_body, &in);
}
