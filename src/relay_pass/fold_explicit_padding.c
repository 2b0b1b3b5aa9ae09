/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nn.pad before a convolution or a pooling its padding, where that pads with the same value: no padded tensor is
 * stored. */
#include <math.h>
#include <string.h>

#include "relay_pass/common/layout.h"
#include "relay_pass/common/util.h"
#include "tir/tir.h"

enum { MAX_SPACE = GPUC_OP_MAX_DIMS };

static bool scalar_value(gpuc_ctx *ctx, const gpuc_rexpr *e, double *value)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    if (e->kind != GPUC_REXPR_CONSTANT || t->ndim > 1 || (t->ndim && !gpuc_tir_is_const(t->dims[0], 1)))
        return false;
    gpuc_expr v = gpuc_relay_const_element(ctx, gpuc_as_rconstant((gpuc_rexpr *)e), 0);
    int64_t i;
    if (gpuc_expr_is_int(v, &i)) *value = (double)i;
    return gpuc_expr_is_int(v, &i) ||
           (v->kind == GPUC_EXPR_FLOAT && (*value = gpuc_as_float(v)->value, true));
}

/* The value that nn.pad fills in. */
static bool padded_value(gpuc_ctx *ctx, const gpuc_rcall *pad, double *value)
{
    if (strcmp(gpuc_attrs_get_string(pad->attrs, "mode", "constant"), "constant")) return false;
    *value = gpuc_attrs_get_float(pad->attrs, "value", 0);
    return pad->n == 1 || scalar_value(ctx, pad->args[1], value);
}

/* What a pooling for the greatest has where it pads. */
static double lowest(gpuc_dtype t)
{
    return gpuc_is_float(t) ? -INFINITY : t.code == GPUC_DTYPE_UINT ? 0 : -ldexp(1, t.bits - 1);
}

/* The attributes of an operator that pads with this value itself; NULL: it does not. */
static const gpuc_attrs *padding_itself(gpuc_ctx *ctx, const gpuc_rcall *c, double value)
{
    const char *name = gpuc_relay_call_op(&c->base)->name;
    const gpuc_attr *own = gpuc_attrs_find(c->attrs, "padding");
    if (!strcmp(name, "nn.conv1d") || !strcmp(name, "nn.conv2d") || !strcmp(name, "nn.conv3d"))
        return value == 0 ? c->attrs : NULL;
    double zero;
    if (!strcmp(name, "qnn.conv2d"))
        return scalar_value(ctx, c->args[2], &zero) && zero == value ? c->attrs : NULL;
    bool max = !strncmp(name, "nn.max_pool", 11), average = !strncmp(name, "nn.avg_pool", 11);
    if ((!max && !average) || c->n != 1 || !own || gpuc_attrs_get_int(c->attrs, "ceil_mode", 0)) return NULL;
    if (max) return value == lowest(gpuc_relay_tensor_type(&c->base)->dtype) ? c->attrs : NULL;
    bool pads = false, counts = gpuc_attrs_get_int(c->attrs, "count_include_pad", 0);
    for (int i = 0; i < own->n; i++) pads |= own->ints[i] != 0;
    if (value != 0 || (pads && !counts)) return NULL;
    return gpuc_attrs_int(ctx, c->attrs, "count_include_pad", 1);
}

/* Adds what pad puts around space; false: it puts something elsewhere, or takes away. */
static bool add_padding(const gpuc_rcall *pad, const gpuc_attr *own, int ndim, int channel, int64_t *sum)
{
    const gpuc_attr *before = gpuc_attrs_find(pad->attrs, "pad_before"),
                    *after = gpuc_attrs_find(pad->attrs, "pad_after");
    int space = ndim - 2;
    if (before->n != ndim || after->n != ndim || before->sizes || after->sizes || own->n != 2 * space)
        return false;
    for (int i = 0, k = 0; i < ndim; i++) {
        int64_t begin = before->ints[i], end = after->ints[i];
        bool is_space = i != 0 && i != channel;
        if (begin < 0 || end < 0 || (!is_space && (begin || end))) return false;
        if (!is_space) continue;
        sum[k] = own->ints[k] + begin;
        sum[space + k] = own->ints[space + k] + end;
        if (sum[k] > GPUC_OP_MAX_WINDOW || sum[space + k] > GPUC_OP_MAX_WINDOW) return false;
        k++;
    }
    return true;
}

static gpuc_rexpr *fold(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    int64_t sum[2 * MAX_SPACE];
    double value;
    if (!gpuc_relay_call_op(e) || gpuc_as_rcall(e)->n == 0) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int channel = gpuc_relay_pass_channel_of(c);
    if (channel < 0 || !gpuc_relay_is_op(c->args[0], "nn.pad")) return e;
    const gpuc_rcall *pad = gpuc_as_rcall(c->args[0]);
    const gpuc_attrs *attrs = padded_value(ctx, pad, &value) ? padding_itself(ctx, c, value) : NULL;
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    if (!attrs || !add_padding(pad, gpuc_attrs_find(attrs, "padding"), ndim, channel, sum)) return e;
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
    args[0] = pad->args[0];
    attrs = gpuc_attrs_ints(ctx, attrs, "padding", 2 * (ndim - 2), sum);
    gpuc_rexpr *out = gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, attrs, c->n, args);
    return gpuc_relay_rtype_equal(out->type, e->type) ? out : e;
}

void gpuc_relay_pass_fold_explicit_padding(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, fold, NULL);
}
