/* SPDX-License-Identifier: Apache-2.0 */
/* Has what passes over layouts share: transpositions of channels, and how they sink. */
#include "relay_pass/common/layout.h"

#include <string.h>

enum { MAX_RANK = GPUC_RELAY_PASS_IMAGE_RANK };

bool gpuc_relay_pass_is_conv(const gpuc_rexpr *e)
{
    return gpuc_relay_is_op(e, "nn.conv1d") || gpuc_relay_is_op(e, "nn.conv2d") ||
           gpuc_relay_is_op(e, "nn.conv3d");
}

int gpuc_relay_pass_channel_of(const gpuc_rcall *c)
{
    const char *layout = gpuc_attrs_get_string(c->attrs, "data_layout", "");
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    if (ndim < 3) return -1;
    return !strcmp(layout, "NCHW") ? 1 : !strcmp(layout, "NHWC") ? ndim - 1 : -1;
}

/* ---- Transpositions between [N, C, space] and [N, space, C] ---- */

static int64_t to_last(int n, int i) /* the axis of [N, C, space] that is axis i of [N, space, C] */
{
    return i == 0 ? 0 : i == n - 1 ? 1 : i + 1;
}

static int64_t to_first(int n, int i)
{
    return i == 0 ? 0 : i == 1 ? n - 1 : i - 1;
}

/* The axis of what is computed that is axis i of the program's, and the other way round. */
static int64_t computed_axis(bool last, int n, int i)
{
    return last ? to_first(n, i) : to_last(n, i);
}

static int64_t program_axis(bool last, int n, int i)
{
    return last ? to_last(n, i) : to_first(n, i);
}

/* Of channels, in the program. */
static int channel_axis(bool last, int n)
{
    return last ? 1 : n - 1;
}

gpuc_rexpr *gpuc_relay_pass_outside(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    int64_t perm[MAX_RANK];
    int n = gpuc_relay_tensor_type(e)->ndim;
    for (int i = 0; i < n; i++) perm[i] = computed_axis(last, n, i);
    return gpuc_relay_pass_transpose(ctx, e, perm);
}

gpuc_rexpr *gpuc_relay_pass_inside(bool last, gpuc_rexpr *e)
{
    if (!gpuc_relay_is_op(e, "transpose")) return NULL;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attr *axes = gpuc_attrs_find(c->attrs, "axes");
    if (axes->n < 3 || axes->n > MAX_RANK) return NULL;
    for (int i = 0; i < axes->n; i++)
        if (axes->ints[i] != computed_axis(last, axes->n, i)) return NULL;
    return c->args[0];
}

gpuc_rexpr *gpuc_relay_pass_into(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    int64_t perm[MAX_RANK];
    int n = gpuc_relay_tensor_type(e)->ndim;
    gpuc_rexpr *in = gpuc_relay_pass_inside(last, e);
    if (in) return in;
    for (int i = 0; i < n; i++) perm[i] = program_axis(last, n, i);
    return gpuc_relay_pass_transpose(ctx, e, perm);
}

/* ---- Operators behind one ---- */

/* An operand of an elementwise operator of rank n as it is computed with, if that moves no bytes; else NULL. */
static gpuc_rexpr *operand(gpuc_ctx *ctx, bool last, gpuc_rexpr *e, int n)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    gpuc_expr dims[MAX_RANK] = {0}, moved[MAX_RANK];
    int64_t size, wide = 0;
    if (t->ndim == n && gpuc_relay_pass_inside(last, e)) return gpuc_relay_pass_inside(last, e);
    if (t->ndim > n) return NULL;
    for (int i = 0; i < n; i++) {
        dims[i] = i < n - t->ndim ? gpuc_int(ctx, 1) : t->dims[i - (n - t->ndim)];
        wide += i > 0 && !(gpuc_expr_is_int(dims[i], &size) && size == 1);
    }
    bool one_channel = gpuc_expr_is_int(dims[channel_axis(last, n)], &size) && size == 1;
    if (wide > 1 && !one_channel) return NULL;
    for (int i = 0; i < n; i++) moved[i] = dims[program_axis(last, n, i)];
    return gpuc_relay_pass_reshape(ctx, e, n, moved);
}

static gpuc_rexpr *elementwise(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_relay_call_op(e);
    int n = -1, rank = gpuc_relay_tensor_type(e)->ndim;
    if (op->pattern > GPUC_FUSE_BROADCAST || gpuc_attrs_find(c->attrs, "axis")) return NULL;
    for (int i = 0; i < c->n; i++)
        if (gpuc_relay_pass_inside(last, c->args[i]) && gpuc_relay_tensor_type(c->args[i])->ndim == rank)
            n = rank;
    if (n < 0) return NULL;
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++)
        if (!(args[i] = operand(ctx, last, c->args[i], n))) return NULL;
    return gpuc_relay_pass_outside(ctx, last, gpuc_relay_op(ctx, op->name, c->attrs, c->n, args));
}

static gpuc_rexpr *pool(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attr *layout = gpuc_attrs_find(c->attrs, "data_layout");
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    if (!x || c->n != 1 || !layout || strcmp(layout->s, last ? "NCHW" : "NHWC")) return NULL;
    const gpuc_attrs *attrs = gpuc_attrs_string(ctx, c->attrs, "data_layout", last ? "NHWC" : "NCHW");
    return gpuc_relay_pass_outside(ctx, last, gpuc_relay_op1(ctx, gpuc_relay_call_op(e)->name, attrs, x));
}

/* A reduction of space. */
static gpuc_rexpr *reduction(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    static const char *const ops[] = {"sum", "mean", "max", "min", "prod"};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attr *axes = gpuc_attrs_find(c->attrs, "axis");
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    int64_t moved[MAX_RANK];
    bool known = false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) known |= gpuc_relay_is_op(e, ops[i]);
    if (!x || !known || axes->n == 0) return NULL;
    int n = gpuc_relay_tensor_type(x)->ndim;
    for (int i = 0; i < axes->n; i++) {
        int axis = (int)(axes->ints[i] < 0 ? axes->ints[i] + n : axes->ints[i]);
        if (axis == 0 || axis == channel_axis(last, n)) return NULL;
        moved[i] = computed_axis(last, n, axis);
    }
    gpuc_rexpr *y = gpuc_relay_op1(ctx, gpuc_relay_call_op(e)->name,
                                   gpuc_attrs_ints(ctx, c->attrs, "axis", axes->n, moved), x);
    return gpuc_relay_tensor_type(y)->ndim < 3 ? y : gpuc_relay_pass_outside(ctx, last, y);
}

static gpuc_rexpr *concatenation(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
    int n = gpuc_relay_tensor_type(e)->ndim;
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 0);
    if (!gpuc_relay_is_op(e, "concatenate")) return NULL;
    for (int i = 0; i < c->n; i++)
        if (!(args[i] = gpuc_relay_pass_inside(last, c->args[i]))) return NULL;
    if (axis < 0) axis += n;
    const gpuc_attrs *attrs = gpuc_attrs_int(ctx, c->attrs, "axis", computed_axis(last, n, (int)axis));
    return gpuc_relay_pass_outside(ctx, last, gpuc_relay_op(ctx, "concatenate", attrs, c->n, args));
}

static gpuc_rexpr *padded(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    static const char *const names[] = {"pad_before", "pad_after"};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = c->attrs;
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    if (!x || c->n != 1 || !gpuc_relay_is_op(e, "nn.pad")) return NULL;
    int n = gpuc_relay_tensor_type(x)->ndim;
    for (int k = 0; k < 2; k++) {
        const gpuc_attr *old = gpuc_attrs_find(attrs, names[k]);
        gpuc_expr moved[MAX_RANK];
        if (old->n != n) return NULL;
        for (int i = 0; i < n; i++) moved[i] = gpuc_attr_size(ctx, old, (int)program_axis(last, n, i));
        attrs = gpuc_attrs_sizes(ctx, attrs, names[k], n, moved);
    }
    return gpuc_relay_pass_outside(ctx, last, gpuc_relay_op1(ctx, "nn.pad", attrs, x));
}

/* [N, C, space] to [N, C, space of another shape]. */
static gpuc_rexpr *reshaped(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *to = gpuc_relay_tensor_type(e), *from;
    gpuc_expr moved[MAX_RANK];
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    if (!x || !gpuc_relay_is_op(e, "reshape") || to->ndim < 3 || to->ndim > MAX_RANK) return NULL;
    from = gpuc_relay_tensor_type(c->args[0]);
    int channel = channel_axis(last, from->ndim), now = channel_axis(last, to->ndim);
    if (from->dims[0] != to->dims[0] || from->dims[channel] != to->dims[now]) return NULL;
    for (int i = 0; i < to->ndim; i++) moved[i] = to->dims[program_axis(last, to->ndim, i)];
    return gpuc_relay_pass_outside(ctx, last, gpuc_relay_pass_reshape(ctx, x, to->ndim, moved));
}

gpuc_rexpr *gpuc_relay_pass_sink(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    static gpuc_rexpr *(*const sink[])(gpuc_ctx *, bool, gpuc_rexpr *) = {elementwise,   pool,   reduction,
                                                                          concatenation, padded, reshaped};
    gpuc_rexpr *out = NULL;
    for (size_t i = 0; i < sizeof sink / sizeof sink[0] && !out; i++) out = sink[i](ctx, last, e);
    return out;
}

/* ---- Transpositions that move no bytes ---- */

static gpuc_rexpr *tidy(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    if (!gpuc_relay_is_op(e, "transpose")) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attr *axes = gpuc_attrs_find(c->attrs, "axes");
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]), *to = gpuc_relay_tensor_type(e);
    int64_t before = -1, size;
    for (int i = 0; i < axes->n; i++) {
        int64_t axis = axes->ints[i] < 0 ? axes->ints[i] + t->ndim : axes->ints[i];
        if (gpuc_expr_is_int(t->dims[axis], &size) && size == 1) continue;
        if (axis < before) return e;
        before = axis;
    }
    return axes->n ? gpuc_relay_pass_reshape(ctx, c->args[0], to->ndim, to->dims) : e;
}

void gpuc_relay_pass_tidy_transposes(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, tidy, NULL);
}
