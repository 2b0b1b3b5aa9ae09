/* SPDX-License-Identifier: Apache-2.0 */
/* Drops operators that change nothing, and replaces others by cheaper ones. */
#include <string.h>

#include "relay_pass/util.h"
#include "tir/tir.h"

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
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    if (in == c->args[0] && gpuc_relay_is_op(e, "reshape")) return e;
    for (int i = 0; i < t->ndim; i++)
        if (!t->dims[i]) return e;
    return gpuc_relay_reshape(ctx, in, t->ndim, t->dims);
}

/* Sets perm[i] to the dimension of the operand that dimension i of the result comes from. */
static void get_perm(const gpuc_rexpr *transpose, int64_t *perm)
{
    const gpuc_attr *axes = gpuc_attrs_find(gpuc_as_rcall(transpose)->attrs, "axes");
    int n = gpuc_relay_tensor_type(transpose)->ndim;
    for (int i = 0; i < n; i++) {
        perm[i] = axes->n ? axes->ints[i] : n - 1 - i;
        if (perm[i] < 0) perm[i] += n;
    }
}

/* Only dimensions of extent 1 change places: the bytes stay as they are. */
static bool moves_nothing(const gpuc_tensor_type *in, const int64_t *perm)
{
    int64_t last = -1;
    for (int i = 0; i < in->ndim; i++) {
        if (!in->dims[i]) return false;
        if (gpuc_tir_is_const(in->dims[perm[i]], 1)) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

static gpuc_rexpr *simplify_transpose(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *in = gpuc_as_rcall(e)->args[0];
    int n = gpuc_relay_tensor_type(e)->ndim;
    int64_t perm[64], inner[64];
    if (n > 64) return e;
    get_perm(e, perm);
    if (gpuc_relay_is_op(in, "transpose")) {
        get_perm(in, inner);
        for (int i = 0; i < n; i++) perm[i] = inner[perm[i]];
        in = gpuc_as_rcall(in)->args[0];
    }
    bool neutral = true;
    for (int i = 0; i < n; i++) neutral &= perm[i] == i;
    if (neutral) return in;
    if (moves_nothing(gpuc_relay_tensor_type(in), perm))
        return gpuc_relay_reshape(ctx, in, n, gpuc_relay_tensor_type(e)->dims);
    if (in == gpuc_as_rcall(e)->args[0]) return e;
    return gpuc_relay_transpose(ctx, in, perm);
}

/* x to the power of 1, 2 or 3, as written in decomposed norms and activations. */
static gpuc_rexpr *simplify_power(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *x = gpuc_as_rcall(e)->args[0], *power = gpuc_as_rcall(e)->args[1];
    if (power->kind != GPUC_REXPR_CONSTANT || !gpuc_rtype_equal(x->type, e->type)) return e;
    const gpuc_rconstant *c = gpuc_as_rconstant(power);
    gpuc_dtype t = power->type->tensor.dtype;
    if (t.code != GPUC_DTYPE_FLOAT || c->data->size != gpuc_dtype_bytes(t)) return e;
    double v = gpuc_as_float(gpuc_relay_const_element(ctx, c, 0))->value;
    if (v == 1) return x;
    if (v != 2 && v != 3) return e;
    gpuc_rexpr *square = gpuc_relay_op2(ctx, "multiply", NULL, x, x);
    return v == 2 ? square : gpuc_relay_op2(ctx, "multiply", NULL, square, x);
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
    if (!strcmp(op->name, "power")) return simplify_power(ctx, e);
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
