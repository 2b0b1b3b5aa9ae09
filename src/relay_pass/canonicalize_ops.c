/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operators that are others in a special shape as those: a bias is an addition that broadcasts. */
#include "relay_pass/common/util.h"

static gpuc_rexpr *canonicalize(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    if (!gpuc_relay_is_op(e, "nn.bias_add")) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int ndim = t->ndim;
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 1), behind[GPUC_OP_MAX_DIMS];
    if (axis < 0) axis += ndim;
    int n = ndim - 1 - (int)axis;
    for (int i = 0; i < n; i++) behind[i] = i + 1;
    gpuc_rexpr *bias = gpuc_relay_pass_reshape(ctx, c->args[1], 1, &t->dims[axis]);
    if (n) bias = gpuc_relay_op1(ctx, "expand_dims", gpuc_attrs_ints(ctx, NULL, "axis", n, behind), bias);
    return gpuc_relay_op2(ctx, "add", NULL, c->args[0], bias);
}

void gpuc_relay_pass_canonicalize_ops(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, canonicalize, NULL);
}
