/* SPDX-License-Identifier: Apache-2.0 */
/* Stores constant weights of dense operators as [..., K, N], in which rows of the result are computed. */
#include "relay_pass/common/util.h"

/* A constant weight is stored the way in which rows of the result are computed: [..., K, N]. */
static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    bool dense = gpuc_relay_is_op(e, "nn.dense");
    if (!dense && !gpuc_relay_is_op(e, "nn.matmul")) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (c->args[1]->kind != GPUC_REXPR_CONSTANT) return e;
    int n = gpuc_relay_tensor_type(c->args[1])->ndim;
    if (!dense && (n < 2 || !gpuc_attrs_get_int(c->attrs, "transpose_b", 0))) return e;
    int64_t perm[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < n; i++) perm[i] = i < n - 2 ? i : 2 * n - 3 - i;
    gpuc_rexpr *w = gpuc_relay_pass_transpose(ctx, c->args[1], perm);
    const gpuc_attrs *attrs =
        gpuc_attrs_dtype(ctx, NULL, "out_dtype", gpuc_attrs_find(c->attrs, "out_dtype")->dtype);
    attrs = gpuc_attrs_int(ctx, attrs, "transpose_a", gpuc_attrs_get_int(c->attrs, "transpose_a", 0));
    return gpuc_relay_op2(ctx, "nn.matmul", attrs, c->args[0], w);
}

void gpuc_relay_pass_transpose_dense(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, rewrite, NULL);
}
