/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution with a kernel of one element sees its space as one long row: rows of any width fill whole
 * vectors. Elementwise operators behind it move in front of the reshape back, so that they still fuse. */
#include <string.h>

#include "relay_pass/common/layout.h"

typedef struct flattener {
    gpuc_map uses;
} flattener;

static bool all_equal(const gpuc_attrs *attrs, const char *name, int64_t value)
{
    const gpuc_attr *a = gpuc_attrs_find(attrs, name);
    for (int i = 0; i < a->n; i++)
        if (a->ints[i] != value) return false;
    return true;
}

/* [N, C, a, b, ...] as [N, C, a*b*...], or [N, a, b, ..., C] as [N, a*b*..., C]. */
static gpuc_rexpr *flat(gpuc_ctx *ctx, gpuc_rexpr *x, bool last)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr dims[3] = {t->dims[0], gpuc_int(ctx, 1), gpuc_int(ctx, 1)}, *row = &dims[last ? 1 : 2];
    for (int i = 0; i < t->ndim - 2; i++) *row = gpuc_mul(ctx, *row, t->dims[last ? 1 + i : 2 + i]);
    dims[last ? 2 : 1] = t->dims[last ? t->ndim - 1 : 1];
    return gpuc_relay_pass_reshape(ctx, x, 3, dims);
}

static gpuc_rexpr *like(gpuc_ctx *ctx, gpuc_rexpr *x, const gpuc_rexpr *shape)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(shape);
    return gpuc_relay_pass_reshape(ctx, x, t->ndim, t->dims);
}

static gpuc_rexpr *flatten_conv(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (strcmp(op->name, "nn.conv2d") && strcmp(op->name, "nn.conv3d")) return NULL;
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(c->args[1]);
    int64_t dims[64];
    int channel = gpuc_relay_pass_channel_of(c);
    if (channel < 0 || strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", ""), "OIHW")) return NULL;
    if (!gpuc_relay_tensor_type_static(w, dims)) return NULL;
    for (int i = 2; i < w->ndim; i++)
        if (dims[i] != 1) return NULL;
    if (!all_equal(c->attrs, "strides", 1) || !all_equal(c->attrs, "padding", 0)) return NULL;
    static const int64_t one[] = {1}, zero[] = {0, 0};
    gpuc_expr weight[] = {w->dims[0], w->dims[1], gpuc_int(ctx, 1)};
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 1, one);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_ints(ctx, a, "dilation", 1, one), "padding", 2, zero);
    a = gpuc_attrs_int(ctx, a, "groups", gpuc_attrs_get_int(c->attrs, "groups", 1));
    a = gpuc_attrs_string(ctx, a, "data_layout", channel > 1 ? "NHWC" : "NCHW");
    a = gpuc_attrs_dtype(ctx, a, "out_dtype", gpuc_attrs_find(c->attrs, "out_dtype")->dtype);
    gpuc_rexpr *args[] = {flat(ctx, c->args[0], channel > 1),
                          gpuc_relay_pass_reshape(ctx, c->args[1], 3, weight)};
    return like(ctx, gpuc_relay_op(ctx, "nn.conv1d", a, 2, args), e);
}

/* The operand of a reshape from [N, C, row] to [N, C, ...], or with channels last; NULL: x is not such a reshape. */
static gpuc_rexpr *flattened(gpuc_rexpr *x, bool *last)
{
    if (!gpuc_relay_is_op(x, "reshape")) return NULL;
    gpuc_rexpr *in = gpuc_as_rcall(x)->args[0];
    const gpuc_tensor_type *a = gpuc_relay_tensor_type(in), *b = gpuc_relay_tensor_type(x);
    if (a->ndim != 3 || b->ndim <= 3 || a->dims[0] != b->dims[0]) return NULL;
    *last = a->dims[1] != b->dims[1];
    return !*last || a->dims[2] == b->dims[b->ndim - 1] ? in : NULL;
}

/* The other operand in flattened form, if it is of the same shape, one element, or one per channel; else
 * NULL. */
static gpuc_rexpr *flatten_operand(gpuc_ctx *ctx, gpuc_rexpr *x, const gpuc_rexpr *shape, bool last)
{
    int64_t dims[64], count = 1;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x), *full = gpuc_relay_tensor_type(shape);
    if (gpuc_relay_rtype_equal(x->type, shape->type)) return flat(ctx, x, last);
    if (!gpuc_relay_tensor_type_static(t, dims)) return NULL;
    for (int i = 0; i < t->ndim; i++) count *= dims[i];
    if (count == 1) return gpuc_relay_pass_reshape(ctx, x, 0, NULL);
    int of = last ? full->ndim - 1 : 1, channel = t->ndim - (full->ndim - of); /* where channels stand in x */
    if (channel < 0 || t->dims[channel] != full->dims[of] || dims[channel] != count) return NULL;
    gpuc_expr column[] = {gpuc_int(ctx, count), gpuc_int(ctx, 1)};
    return gpuc_relay_pass_reshape(ctx, x, last ? 1 : 2, column);
}

static gpuc_rexpr *sink_reshape(gpuc_ctx *ctx, const flattener *f, gpuc_rexpr *old, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (op->pattern > GPUC_FUSE_BROADCAST || c->n > 2) return NULL;
    for (int i = 0; i < c->n; i++) {
        bool last;
        gpuc_rexpr *in = flattened(c->args[i], &last), *args[2];
        if (!in || gpuc_relay_uses(&f->uses, gpuc_as_rcall(old)->args[i]) != 1) continue;
        if (!gpuc_relay_rtype_equal(c->args[i]->type, e->type) && c->n == 2) continue;
        args[i] = in;
        if (c->n == 2 && !(args[1 - i] = flatten_operand(ctx, c->args[1 - i], c->args[i], last))) continue;
        return like(ctx, gpuc_relay_op(ctx, op->name, c->attrs, c->n, args), e);
    }
    return NULL;
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    if (!gpuc_relay_call_op(e)) return e;
    gpuc_rexpr *out = flatten_conv(ctx, e);
    if (!out) out = sink_reshape(ctx, arg, old, e);
    if (!out) return e;
    gpuc_rexpr *inner = gpuc_as_rcall(out)->args[0];
    gpuc_relay_with_source(ctx, inner, e->source);
    return out;
}

void gpuc_relay_pass_flatten_pointwise(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        flattener f = {0};
        gpuc_relay_pass_count_uses(p->ctx, functions->entries[i].value, &f.uses);
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &f);
    }
}
