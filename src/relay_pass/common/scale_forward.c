/* SPDX-License-Identifier: Apache-2.0 */
/* conv(x * s, w) with constants per input channel becomes conv(x, w * s), also past relu and sums with constants between
 * them, where nothing else uses what is between. */
#include <string.h>

#include "relay_pass/common/layout.h"
#include "relay_pass/common/scale.h"

enum { MOST_BETWEEN = 16, MAX_RANK = 64 };

typedef struct spreader {
    gpuc_ctx *ctx;
    gpuc_map users;  /* expression -> gpuc_ptrs of what has it as an operand, once for each time */
    gpuc_map scales; /* expression that changes -> the factor that leaves it, or comes into its weight */
    gpuc_rexpr *scale;
    bool positive;
} spreader;

static void add_users(spreader *s, gpuc_rexpr *function)
{
    gpuc_ptrs order = {0};
    gpuc_rexpr *part;
    gpuc_relay_post_order(s->ctx, function, true, &order);
    for (size_t i = 0; i < order.count; i++)
        for (int k = 0; (part = gpuc_relay_operand(order.at[i], k)); k++) {
            gpuc_ptrs *all = gpuc_map_get(&s->users, part);
            if (!all) gpuc_map_set(&s->users, part, all = gpuc_new(s->ctx, gpuc_ptrs));
            gpuc_ptrs_push(s->ctx, all, order.at[i]);
        }
}

/* The axis of channels in the data of a product; -1: it is none. */
static int data_axis(const gpuc_rexpr *e)
{
    if (gpuc_relay_is_op(e, "nn.dense"))
        return gpuc_relay_tensor_type(gpuc_as_rcall((gpuc_rexpr *)e)->args[0])->ndim - 1;
    return gpuc_relay_pass_is_conv(e) ? gpuc_relay_pass_channel_of(gpuc_as_rcall((gpuc_rexpr *)e)) : -1;
}

/* The shape of the factor beside the weight; false: the weight does not take it. */
static bool shape_beside(const gpuc_rcall *c, int64_t channels, int64_t count, int64_t *shape)
{
    int64_t dims[MAX_RANK], groups = gpuc_attrs_get_int(c->attrs, "groups", 1);
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(c->args[1]);
    if (!gpuc_relay_tensor_type_static(w, dims) ||
        strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", "OIHW"), "OIHW") != 0)
        return false;
    for (int i = 0; i < w->ndim; i++) shape[i] = 1;
    if (groups == 1 && dims[1] == channels)
        shape[1] = count;
    else if (groups == channels && dims[0] == channels && dims[1] == 1)
        shape[0] = count;
    else
        return false;
    return true;
}

static int64_t elements(const gpuc_rexpr *constant)
{
    int64_t dims[MAX_RANK], n = 1;
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(constant), dims);
    for (int i = 0; i < gpuc_relay_tensor_type(constant)->ndim; i++) n *= dims[i];
    return n;
}

/* Whether the weight of a product takes the factor of its data x. */
static bool product_takes(const spreader *s, gpuc_rexpr *e, const gpuc_rexpr *x)
{
    int64_t channels, shape[MAX_RANK];
    int axis = data_axis(e);
    if (axis < 0) return false;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    return c->args[0] == x && c->args[1] != x && gpuc_relay_pass_is_weight(c->args[1]) &&
           gpuc_dtype_equal(gpuc_relay_tensor_type(c->args[1])->dtype, t->dtype) &&
           gpuc_expr_is_int(t->dims[axis], &channels) &&
           gpuc_relay_pass_per_channel(s->scale, t->ndim, axis, channels) &&
           shape_beside(c, channels, elements(s->scale), shape) && !gpuc_map_has(&s->scales, e);
}

/* Whether e, which uses x, passes the factor on: then its users get it. */
static bool passes_on(const spreader *s, gpuc_rexpr *e, const gpuc_rexpr *x)
{
    if (!gpuc_relay_call_op(e) || !gpuc_relay_rtype_equal(e->type, x->type)) return false;
    if (gpuc_relay_pass_keeps_factors(e)) return s->positive;
    if (!gpuc_relay_is_op(e, "add") && !gpuc_relay_is_op(e, "subtract")) return false;
    return gpuc_relay_pass_variable_operand(gpuc_as_rcall(e)) == x &&
           gpuc_relay_pass_none_zero(s->ctx, s->scale);
}

/* Puts what changes into the list; false: something needs x as it is. */
static bool spread(spreader *s, gpuc_rexpr *x, gpuc_ptrs *changed)
{
    const gpuc_ptrs *users = gpuc_map_get(&s->users, x);
    if (!users || changed->count > MOST_BETWEEN) return false;
    for (size_t i = 0; i < users->count; i++) {
        gpuc_rexpr *e = users->at[i];
        bool product = product_takes(s, e, x);
        if (!product && (!passes_on(s, e, x) || gpuc_map_has(&s->scales, e))) return false;
        gpuc_ptrs_push(s->ctx, changed, e);
        if (!product && !spread(s, e, changed)) return false;
    }
    return true;
}

static gpuc_rexpr *change(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    spreader *s = arg;
    gpuc_rexpr *scale = gpuc_map_get(&s->scales, old);
    int64_t channels, shape[MAX_RANK];
    if (!scale || gpuc_relay_pass_keeps_factors(e)) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (gpuc_relay_is_op(e, "multiply")) return gpuc_relay_pass_variable_operand(c);
    if (gpuc_relay_is_op(e, "add") || gpuc_relay_is_op(e, "subtract")) {
        gpuc_rexpr *args[] = {c->args[0], c->args[1]};
        int constant = args[0] == gpuc_relay_pass_variable_operand(c);
        args[constant] = gpuc_relay_pass_evaluated(ctx, "divide", args[constant], scale);
        return gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, c->attrs, 2, args);
    }
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
    gpuc_expr_is_int(gpuc_relay_tensor_type(c->args[0])->dims[data_axis(e)], &channels);
    shape_beside(c, channels, elements(scale), shape);
    args[1] = gpuc_relay_pass_scaled(ctx, args[1], scale, gpuc_relay_tensor_type(args[1])->ndim, shape);
    return gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, c->attrs, c->n, args);
}

gpuc_rexpr *gpuc_relay_pass_scale_forward(gpuc_ctx *ctx, gpuc_rexpr *function)
{
    spreader s = {.ctx = ctx};
    gpuc_ptrs order = {0};
    gpuc_map_init(&s.users, ctx);
    gpuc_map_init(&s.scales, ctx);
    add_users(&s, function);
    gpuc_relay_post_order(ctx, function, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (!gpuc_relay_is_op(e, "multiply") || gpuc_map_has(&s.scales, e)) continue;
        gpuc_rexpr *x = gpuc_relay_pass_variable_operand(gpuc_as_rcall(e));
        if (!x || !gpuc_relay_rtype_equal(x->type, e->type)) continue;
        gpuc_ptrs changed = {0};
        s.scale = gpuc_as_rcall(e)->args[gpuc_as_rcall(e)->args[0] == x];
        s.positive = gpuc_relay_pass_all_positive(ctx, s.scale);
        if (!spread(&s, e, &changed)) continue;
        gpuc_map_set(&s.scales, e, s.scale);
        for (size_t k = 0; k < changed.count; k++) gpuc_map_set(&s.scales, changed.at[k], s.scale);
    }
    return gpuc_relay_rewrite(ctx, function, change, &s);
}
