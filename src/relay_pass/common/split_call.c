/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts calls with many tensors. */
#include "relay_pass/common/split_call.h"

gpuc_rexpr *gpuc_relay_pass_concat(gpuc_ctx *ctx, const gpuc_attrs *attrs, int max, int n,
                                   gpuc_rexpr *const *parts)
{
    if (n <= max) return n == 1 ? parts[0] : gpuc_relay_op(ctx, "concatenate", attrs, n, parts);
    int groups = (n + max - 1) / max;
    gpuc_rexpr **outer = gpuc_new_array(ctx, gpuc_rexpr *, groups);
    for (int i = 0; i < groups; i++) {
        int first = i * max, count = n - first < max ? n - first : max;
        outer[i] = gpuc_relay_pass_concat(ctx, attrs, max, count, parts + first);
    }
    return gpuc_relay_pass_concat(ctx, attrs, max, groups, outer);
}

/* Stacks, joined along the axis that they have now. */
static gpuc_rexpr *stack(gpuc_ctx *ctx, const gpuc_rcall *c, int max)
{
    int groups = (c->n + max - 1) / max;
    gpuc_rexpr **outer = gpuc_new_array(ctx, gpuc_rexpr *, groups);
    for (int i = 0; i < groups; i++) {
        int first = i * max, count = c->n - first < max ? c->n - first : max;
        outer[i] = gpuc_relay_op(ctx, "stack", c->attrs, count, c->args + first);
    }
    return gpuc_relay_pass_concat(ctx, c->attrs, max, groups, outer);
}

/* Each sum begins with the one before: the order in which elements are added stays. */
static gpuc_rexpr *sum(gpuc_ctx *ctx, const gpuc_rcall *c, int max)
{
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, max), *so_far = c->args[0];
    for (int next = 1; next < c->n;) {
        int n = 0;
        args[n++] = so_far;
        while (n < max && next < c->n) args[n++] = c->args[next++];
        so_far = gpuc_relay_op(ctx, "elemwise_sum", c->attrs, n, args);
    }
    return so_far;
}

gpuc_rexpr *gpuc_relay_pass_split_call(gpuc_ctx *ctx, gpuc_rexpr *call, int max)
{
    if (!gpuc_relay_call_op(call) || gpuc_as_rcall(call)->n <= max) return call;
    const gpuc_rcall *c = gpuc_as_rcall(call);
    if (gpuc_relay_is_op(call, "concatenate"))
        return gpuc_relay_pass_concat(ctx, c->attrs, max, c->n, c->args);
    if (gpuc_relay_is_op(call, "stack")) return stack(ctx, c, max);
    return gpuc_relay_is_op(call, "elemwise_sum") ? sum(ctx, c, max) : call;
}
