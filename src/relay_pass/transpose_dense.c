/* SPDX-License-Identifier: Apache-2.0 */
#include "relay_pass/util.h"

/* A constant weight is stored the way in which rows of the result are computed: [K, N]. */
static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    static const int64_t perm[] = {1, 0};
    if (!gpuc_relay_is_op(e, "nn.dense") || gpuc_as_rcall(e)->args[1]->kind != GPUC_REXPR_CONSTANT) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *w = gpuc_relay_op1(ctx, "transpose", gpuc_attrs_ints(ctx, NULL, "axes", 2, perm), c->args[1]);
    gpuc_dtype out = gpuc_attrs_find(c->attrs, "out_dtype")->dtype;
    return gpuc_relay_op2(ctx, "nn.matmul", gpuc_attrs_dtype(ctx, NULL, "out_dtype", out), c->args[0], w);
}

void gpuc_relay_transpose_dense(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_rewrite_module(p, rewrite, NULL);
}
