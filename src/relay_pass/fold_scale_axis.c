/* SPDX-License-Identifier: Apache-2.0 */
/* y = conv(x, w) * s + b with constants per output channel becomes conv(x, w * s) + b; and chains of such
 * constants behind it are gathered into one addition. Exact but for rounding. */
#include <string.h>

#include "relay_pass/common/util.h"

/* A constant, or one multiplied by this pass. */
static bool is_weight(const gpuc_rexpr *e)
{
    for (; gpuc_relay_call_op(e); e = gpuc_as_rcall(e)->args[0])
        if (!gpuc_relay_is_op(e, "multiply") && !gpuc_relay_is_op(e, "reshape")) return false;
    return e->kind == GPUC_REXPR_CONSTANT;
}

/* The axis of the output that the operator's weight maps to output channels: -1 if it is not one of those. */
static int channel_axis(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    bool dense = op && !strcmp(op->name, "nn.dense");
    if (!op || (strncmp(op->name, "nn.conv", 7) && !dense)) return -1;
    if (!is_weight(gpuc_as_rcall(e)->args[1])) return -1;
    return dense ? gpuc_relay_tensor_type(e)->ndim - 1 : 1;
}

/* Whether c is constant, with one value per channel at axis when broadcast against a tensor of rank ndim. */
static bool per_channel(const gpuc_rexpr *c, int ndim, int axis, int64_t channels)
{
    int64_t dims[64];
    if (c->kind != GPUC_REXPR_CONSTANT) return false;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c);
    if (t->ndim > ndim || !gpuc_relay_tensor_type_static(t, dims)) return false;
    for (int i = 0; i < t->ndim; i++) {
        bool at_axis = i + ndim - t->ndim == axis;
        if (dims[i] != 1 && !(at_axis && dims[i] == channels)) return false;
    }
    return true;
}

static gpuc_rexpr *multiplied(gpuc_ctx *ctx, gpuc_rexpr *weight, gpuc_rexpr *scale, int ndim,
                              const int64_t *shape)
{
    return gpuc_relay_op2(ctx, "multiply", NULL, weight,
                          gpuc_relay_pass_reshape_static(ctx, scale, ndim, shape));
}

/* The weight with each output channel's part scaled. */
static gpuc_rexpr *scaled_weight(gpuc_ctx *ctx, const gpuc_rcall *call, gpuc_rexpr *scale, int64_t channels)
{
    gpuc_rexpr *weight = call->args[1];
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(weight);
    int64_t dims[64], split[65], shape[65], groups = gpuc_attrs_get_int(call->attrs, "groups", 1), count = 1;
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(scale), dims);
    for (int i = 0; i < gpuc_relay_tensor_type(scale)->ndim; i++) count *= dims[i];
    if (count == 1) return multiplied(ctx, weight, scale, 0, NULL);
    if (w->ndim > 64 || !gpuc_relay_tensor_type_static(w, dims)) return NULL;
    for (int i = 0; i < 65; i++) shape[i] = 1;
    if (!strstr(gpuc_relay_call_op(&call->base)->name, "_transpose")) {
        shape[0] = channels;
        return multiplied(ctx, weight, scale, w->ndim, shape);
    }
    /* [C, O/groups, k...]: group by group */
    split[0] = groups;
    split[1] = dims[0] / groups;
    for (int i = 1; i < w->ndim; i++) split[i + 1] = dims[i];
    shape[0] = groups;
    shape[2] = channels / groups;
    weight = multiplied(ctx, gpuc_relay_pass_reshape_static(ctx, weight, w->ndim + 1, split), scale,
                        w->ndim + 1, shape);
    return gpuc_relay_pass_reshape_static(ctx, weight, w->ndim, dims);
}

typedef struct scaler {
    gpuc_map uses; /* of old expressions, and of what they were rewritten to */
} scaler;

/* Whether e has one use. Expressions that this pass made are used once, where they were made. */
static bool used_once(const scaler *s, const gpuc_rexpr *e)
{
    return gpuc_relay_uses(&s->uses, e) <= 1;
}

static gpuc_rexpr *other(const gpuc_rcall *c, const gpuc_rexpr *one)
{
    return c->args[0] == one ? c->args[1] : c->args[0];
}

/* The operand that is not constant, of a commutative call with a constant operand; else NULL. */
static gpuc_rexpr *variable_operand(const gpuc_rcall *c)
{
    bool first = c->args[0]->kind == GPUC_REXPR_CONSTANT, second = c->args[1]->kind == GPUC_REXPR_CONSTANT;
    return first == second ? NULL : c->args[first ? 1 : 0];
}

static gpuc_rexpr *scale_into(gpuc_ctx *ctx, gpuc_rexpr *y, gpuc_rexpr *scale)
{
    int axis = channel_axis(y);
    if (axis < 0) return NULL;
    const gpuc_rcall *call = gpuc_as_rcall(y);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(y);
    int64_t channels;
    if (!gpuc_expr_is_int(t->dims[axis], &channels) || !per_channel(scale, t->ndim, axis, channels))
        return NULL;
    if (!gpuc_dtype_equal(gpuc_relay_tensor_type(call->args[1])->dtype, t->dtype))
        return NULL; /* a wider sum */
    gpuc_rexpr *weight = scaled_weight(ctx, call, scale, channels);
    if (!weight) return NULL;
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, call->args, sizeof *args * (size_t)call->n);
    args[1] = weight;
    return gpuc_relay_op(ctx, gpuc_relay_call_op(y)->name, call->attrs, call->n, args);
}

/* Evaluates an operator on constants per channel at once, since the next rewrite looks for a constant. */
static gpuc_rexpr *evaluated(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_relay_budget budget = {.bytes = 1 << 20, .work = 1 << 20};
    gpuc_rexpr *call = gpuc_relay_op2(ctx, op, NULL, a, b),
               *out = gpuc_relay_evaluate_call(ctx, call, &budget);
    return out ? out : call;
}

static gpuc_rexpr *fold(gpuc_ctx *ctx, const scaler *s, gpuc_rexpr *e)
{
    bool mul = gpuc_relay_is_op(e, "multiply"), add = gpuc_relay_is_op(e, "add");
    if (!mul && !add) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *y = variable_operand(c);
    if (!y || !used_once(s, y) || !gpuc_relay_rtype_equal(y->type, e->type)) return e;
    gpuc_rexpr *k = other(c, y);
    if (mul) {
        gpuc_rexpr *scaled = scale_into(ctx, y, k);
        if (scaled) return scaled;
    }
    if (!gpuc_relay_is_op(y, "add")) return e;
    /* (z + b) * k and (z + b) + k, where z is a convolution. */
    const gpuc_rcall *inner = gpuc_as_rcall(y);
    gpuc_rexpr *z = variable_operand(inner);
    if (!z || channel_axis(z) < 0 || !gpuc_relay_rtype_equal(z->type, y->type)) return e;
    gpuc_rexpr *b = other(inner, z);
    if (add) return gpuc_relay_op2(ctx, "add", NULL, z, evaluated(ctx, "add", b, k));
    gpuc_rexpr *scaled = used_once(s, z) ? scale_into(ctx, z, k) : NULL;
    return scaled ? gpuc_relay_op2(ctx, "add", NULL, scaled, evaluated(ctx, "multiply", b, k)) : e;
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    scaler *s = arg;
    gpuc_rexpr *out = fold(ctx, s, e);
    if (out != old) gpuc_map_set(&s->uses, out, (void *)gpuc_relay_uses(&s->uses, old));
    return out;
}

void gpuc_relay_pass_fold_scale_axis(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        scaler s = {0};
        gpuc_relay_pass_count_uses(p->ctx, functions->entries[i].value, &s.uses);
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &s);
    }
}
