/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relay_pass/util.h"

static bool all_equal(const gpuc_attr *a, int64_t value)
{
    for (int i = 0; i < a->n; i++)
        if (a->ints[i] != value) return false;
    return true;
}

/* An alias operator on an alias operator, or one that changes nothing. */
static gpuc_rexpr *simplify_alias(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *in = c->args[0];
    const gpuc_op *below = gpuc_relay_call_op(in);
    while (below && below->alias) {
        in = gpuc_as_rcall(in)->args[0];
        below = gpuc_relay_call_op(in);
    }
    if (gpuc_rtype_equal(in->type, e->type)) return in;
    int64_t dims[64];
    if (in == c->args[0] && gpuc_relay_is_op(e, "reshape")) return e;
    if (e->type->tensor.ndim > 64 || !gpuc_tensor_type_static(&e->type->tensor, dims)) return e;
    return gpuc_relay_reshape(ctx, in, e->type->tensor.ndim, dims);
}

static gpuc_rexpr *simplify_transpose(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attr *axes = gpuc_attrs_find(c->attrs, "axes");
    gpuc_rexpr *in = c->args[0];
    int64_t perm[64], dims[64];
    int n = axes->n;
    if (n == 0 || n > 64) return e;
    memcpy(perm, axes->ints, sizeof *perm * (size_t)n);
    if (gpuc_relay_is_op(in, "transpose")) {
        const gpuc_attr *inner = gpuc_attrs_find(gpuc_as_rcall(in)->attrs, "axes");
        if (inner->n == n) {
            for (int i = 0; i < n; i++) perm[i] = inner->ints[axes->ints[i]];
            in = gpuc_as_rcall(in)->args[0];
        }
    }
    bool neutral = true;
    for (int i = 0; i < n; i++) neutral &= perm[i] == i;
    if (neutral) return in;
    /* Only dimensions of extent 1 move: the bytes stay as they are. */
    if (gpuc_tensor_type_static(gpuc_relay_tensor_type(in), dims)) {
        int64_t last = -1;
        bool moves = false;
        for (int i = 0; i < n; i++) {
            if (dims[perm[i]] == 1) continue;
            moves |= perm[i] < last;
            last = perm[i];
        }
        int64_t out[64];
        if (!moves && gpuc_tensor_type_static(gpuc_relay_tensor_type(e), out)) return gpuc_relay_reshape(ctx, in, n, out);
    }
    if (in == c->args[0]) return e;
    return gpuc_relay_op1(ctx, "transpose", gpuc_attrs_ints(ctx, NULL, "axes", n, perm), in);
}

static gpuc_rexpr *simplify(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (op->alias) return simplify_alias(ctx, e);
    if (!strcmp(op->name, "transpose")) return simplify_transpose(ctx, e);
    bool same_type = c->n > 0 && gpuc_rtype_equal(e->type, c->args[0]->type);
    if (!strcmp(op->name, "cast") && same_type) return c->args[0];
    if (!strcmp(op->name, "broadcast_to") && same_type) return c->args[0];
    if (!strcmp(op->name, "concatenate") && c->n == 1) return c->args[0];
    if (!strcmp(op->name, "nn.pad") && all_equal(gpuc_attrs_find(c->attrs, "pad_before"), 0) &&
        all_equal(gpuc_attrs_find(c->attrs, "pad_after"), 0))
        return c->args[0];
    if (!strcmp(op->name, "strided_slice") && same_type && all_equal(gpuc_attrs_find(c->attrs, "strides"), 1))
        return c->args[0];
    return e;
}

void gpuc_relay_simplify_expr(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_rewrite_module(p, simplify, NULL);
}
