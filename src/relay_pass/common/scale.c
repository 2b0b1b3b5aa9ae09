/* SPDX-License-Identifier: Apache-2.0 */
/* Has what both directions of fold_scale_axis share. */
#include "relay_pass/common/scale.h"

#include <string.h>

enum { MAX_RANK = 64, MOST_CHANNELS = 1 << 16 };

bool gpuc_relay_pass_is_weight(const gpuc_rexpr *e)
{
    for (; gpuc_relay_call_op(e); e = gpuc_as_rcall(e)->args[0])
        if (!gpuc_relay_is_op(e, "multiply") && !gpuc_relay_is_op(e, "reshape")) return false;
    return e->kind == GPUC_REXPR_CONSTANT;
}

bool gpuc_relay_pass_per_channel(const gpuc_rexpr *c, int ndim, int axis, int64_t channels)
{
    int64_t dims[MAX_RANK];
    if (c->kind != GPUC_REXPR_CONSTANT) return false;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c);
    if (t->ndim > ndim || !gpuc_relay_tensor_type_static(t, dims)) return false;
    for (int i = 0; i < t->ndim; i++) {
        bool at_axis = i + ndim - t->ndim == axis;
        if (dims[i] != 1 && !(at_axis && dims[i] == channels)) return false;
    }
    return true;
}

/* Whether all elements are floats, greater than 0, or other than 0. */
static bool all(gpuc_ctx *ctx, const gpuc_rexpr *constant, bool negative)
{
    const gpuc_rconstant *c = gpuc_as_rconstant((gpuc_rexpr *)constant);
    size_t size = gpuc_dtype_bytes(gpuc_relay_tensor_type(constant)->dtype), n = c->data->size / size;
    if (n > MOST_CHANNELS) return false;
    for (size_t i = 0; i < n; i++) {
        gpuc_expr v = gpuc_relay_const_element(ctx, c, (int64_t)i);
        if (v->kind != GPUC_EXPR_FLOAT) return false;
        double x = gpuc_as_float(v)->value;
        if (!(x > 0 || (negative && x < 0))) return false;
    }
    return true;
}

bool gpuc_relay_pass_all_positive(gpuc_ctx *ctx, const gpuc_rexpr *constant)
{
    return all(ctx, constant, false);
}

bool gpuc_relay_pass_none_zero(gpuc_ctx *ctx, const gpuc_rexpr *constant)
{
    return all(ctx, constant, true);
}

gpuc_rexpr *gpuc_relay_pass_evaluated(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_relay_budget budget = {.bytes = 1 << 20, .work = 1 << 20};
    gpuc_rexpr *call = gpuc_relay_op2(ctx, op, NULL, a, b),
               *out = gpuc_relay_evaluate_call(ctx, call, &budget);
    return out ? out : call;
}

gpuc_rexpr *gpuc_relay_pass_scaled(gpuc_ctx *ctx, gpuc_rexpr *weight, gpuc_rexpr *scale, int ndim,
                                   const int64_t *shape)
{
    return gpuc_relay_op2(ctx, "multiply", NULL, weight,
                          gpuc_relay_pass_reshape_static(ctx, scale, ndim, shape));
}

bool gpuc_relay_pass_keeps_factors(const gpuc_rexpr *e)
{
    return gpuc_relay_is_op(e, "nn.relu") || gpuc_relay_is_op(e, "nn.leaky_relu");
}

gpuc_rexpr *gpuc_relay_pass_variable_operand(const gpuc_rcall *c)
{
    bool first = c->args[0]->kind == GPUC_REXPR_CONSTANT, second = c->args[1]->kind == GPUC_REXPR_CONSTANT;
    return first == second ? NULL : c->args[first ? 1 : 0];
}
