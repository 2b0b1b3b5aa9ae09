/* SPDX-License-Identifier: Apache-2.0 */
/* y = conv(x, w) * s + b with constants per output channel becomes conv(x, w * s) + b, also past relu and sums between
 * them; chains of such constants behind it are gathered into one addition. Factors that find no product before them go
 * into those behind them. Exact but for rounding. */
#include <string.h>

#include "relay_pass/common/layout.h"
#include "relay_pass/common/scale.h"

/* The axis of the output that the operator's weight maps to output channels: -1 if it is not one of those. */
static int channel_axis(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op || (strncmp(op->name, "nn.conv", 7) && strcmp(op->name, "nn.dense"))) return -1;
    if (!gpuc_relay_pass_is_weight(gpuc_as_rcall(e)->args[1])) return -1;
    if (!strcmp(op->name, "nn.dense")) return gpuc_relay_tensor_type(e)->ndim - 1;
    return gpuc_relay_pass_channel_of(gpuc_as_rcall(e));
}

/* The weight with each output channel's part scaled. */
static gpuc_rexpr *scaled_weight(gpuc_ctx *ctx, const gpuc_rcall *call, gpuc_rexpr *scale, int64_t channels)
{
    gpuc_rexpr *weight = call->args[1];
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(weight);
    int64_t dims[64], split[65], shape[65], groups = gpuc_attrs_get_int(call->attrs, "groups", 1), count = 1;
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(scale), dims);
    for (int i = 0; i < gpuc_relay_tensor_type(scale)->ndim; i++) count *= dims[i];
    if (count == 1) return gpuc_relay_pass_scaled(ctx, weight, scale, 0, NULL);
    if (w->ndim > 64 || !gpuc_relay_tensor_type_static(w, dims)) return NULL;
    if (strcmp(gpuc_attrs_get_string(call->attrs, "kernel_layout", "OIHW"), "OIHW")) return NULL;
    for (int i = 0; i < 65; i++) shape[i] = 1;
    if (!strstr(gpuc_relay_call_op(&call->base)->name, "_transpose")) {
        shape[0] = channels;
        return gpuc_relay_pass_scaled(ctx, weight, scale, w->ndim, shape);
    }
    /* [C, O/groups, k...]: group by group */
    split[0] = groups;
    split[1] = dims[0] / groups;
    for (int i = 1; i < w->ndim; i++) split[i + 1] = dims[i];
    shape[0] = groups;
    shape[2] = channels / groups;
    weight = gpuc_relay_pass_scaled(ctx, gpuc_relay_pass_reshape_static(ctx, weight, w->ndim + 1, split),
                                    scale, w->ndim + 1, shape);
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

static gpuc_rexpr *scale_into(gpuc_ctx *ctx, gpuc_rexpr *y, gpuc_rexpr *scale)
{
    int axis = channel_axis(y);
    if (axis < 0) return NULL;
    const gpuc_rcall *call = gpuc_as_rcall(y);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(y);
    int64_t channels;
    if (!gpuc_expr_is_int(t->dims[axis], &channels) ||
        !gpuc_relay_pass_per_channel(scale, t->ndim, axis, channels))
        return NULL;
    if (!gpuc_dtype_equal(gpuc_relay_tensor_type(call->args[1])->dtype, t->dtype))
        return NULL; /* a wider sum */
    gpuc_rexpr *weight = scaled_weight(ctx, call, scale, channels);
    if (!weight) return NULL;
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, call->args, sizeof *args * (size_t)call->n);
    args[1] = weight;
    return gpuc_relay_op(ctx, gpuc_relay_call_op(y)->name, call->attrs, call->n, args);
}

static int64_t elements(const gpuc_rexpr *constant)
{
    int64_t dims[64], n = 1;
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(constant), dims);
    for (int i = 0; i < gpuc_relay_tensor_type(constant)->ndim; i++) n *= dims[i];
    return n;
}

/* A constant summand times the factor; NULL: it would have more elements than both. */
static gpuc_rexpr *scaled_summand(gpuc_ctx *ctx, gpuc_rexpr *b, gpuc_rexpr *scale)
{
    if (b->kind != GPUC_REXPR_CONSTANT) return NULL;
    int64_t most = elements(b) > elements(scale) ? elements(b) : elements(scale);
    gpuc_rexpr *out = gpuc_relay_pass_evaluated(ctx, "multiply", b, scale);
    return out->kind == GPUC_REXPR_CONSTANT && elements(out) <= most ? out : NULL;
}

/* y * scale with the factor in the weights of products that y is made of; NULL: it does not come there. */
static gpuc_rexpr *scaled(gpuc_ctx *ctx, const scaler *s, gpuc_rexpr *y, gpuc_rexpr *scale, int depth)
{
    enum { MOST_BETWEEN = 16 };
    if (depth > MOST_BETWEEN || !used_once(s, y) || !gpuc_relay_call_op(y)) return NULL;
    if (channel_axis(y) >= 0) return scale_into(ctx, y, scale);
    gpuc_rexpr *const *from = gpuc_as_rcall(y)->args, *args[2];
    const char *name = gpuc_relay_call_op(y)->name;
    if (gpuc_relay_pass_keeps_factors(y) && gpuc_relay_pass_all_positive(ctx, scale)) {
        args[0] = scaled(ctx, s, from[0], scale, depth + 1);
        return args[0] ? gpuc_relay_op(ctx, name, gpuc_as_rcall(y)->attrs, 1, args) : NULL;
    }
    if (!gpuc_relay_is_op(y, "add") && !gpuc_relay_is_op(y, "subtract")) return NULL;
    bool product = false;
    for (int i = 0; i < 2; i++) {
        bool summand = from[i]->kind == GPUC_REXPR_CONSTANT;
        if (!summand && !gpuc_relay_rtype_equal(from[i]->type, y->type)) return NULL;
        args[i] = summand ? scaled_summand(ctx, from[i], scale) : scaled(ctx, s, from[i], scale, depth + 1);
        if (!args[i]) return NULL;
        product |= !summand;
    }
    return product ? gpuc_relay_op(ctx, name, gpuc_as_rcall(y)->attrs, 2, args) : NULL;
}

static gpuc_rexpr *fold(gpuc_ctx *ctx, const scaler *s, gpuc_rexpr *e)
{
    bool mul = gpuc_relay_is_op(e, "multiply"), add = gpuc_relay_is_op(e, "add");
    if (!mul && !add) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *y = gpuc_relay_pass_variable_operand(c);
    if (!y || !used_once(s, y) || !gpuc_relay_rtype_equal(y->type, e->type)) return e;
    gpuc_rexpr *k = other(c, y);
    if (mul) {
        gpuc_rexpr *out = scaled(ctx, s, y, k, 0);
        return out ? out : e;
    }
    if (!gpuc_relay_is_op(y, "add")) return e;
    /* (z + b) + k, where z is a convolution. */
    const gpuc_rcall *inner = gpuc_as_rcall(y);
    gpuc_rexpr *z = gpuc_relay_pass_variable_operand(inner);
    if (!z || channel_axis(z) < 0 || !gpuc_relay_rtype_equal(z->type, y->type)) return e;
    return gpuc_relay_op2(ctx, "add", NULL, z, gpuc_relay_pass_evaluated(ctx, "add", other(inner, z), k));
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
        gpuc_rexpr *f = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &s);
        functions->entries[i].value = gpuc_relay_pass_scale_forward(p->ctx, f);
    }
}
