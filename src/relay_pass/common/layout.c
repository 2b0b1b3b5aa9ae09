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
    bool one = true;
    if (t->ndim == n && gpuc_relay_pass_inside(last, e)) return gpuc_relay_pass_inside(last, e);
    if (t->ndim > n) return NULL;
    for (int i = 0; i < n; i++) {
        dims[i] = i < n - t->ndim ? gpuc_int(ctx, 1) : t->dims[i - (n - t->ndim)];
        bool is_wide = !(gpuc_expr_is_int(dims[i], &size) && size == 1);
        wide += i > 0 && is_wide;
        one &= !is_wide;
    }
    if (one) return e;
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

/* Reads the attribute `axis`, a number or a list, of an operator on rank n; the number of entries, -1: there is none. */
static int read_axes(const gpuc_rcall *c, int n, int *axes)
{
    const gpuc_attr *a = gpuc_attrs_find(c->attrs, "axis");
    int count = !a ? -1 : a->kind == GPUC_ATTR_INT ? 1 : a->n;
    for (int i = 0; i < count; i++) {
        int64_t axis = a->kind == GPUC_ATTR_INT ? a->i : a->ints[i];
        axes[i] = (int)(axis < 0 ? axis + n : axis);
    }
    return count;
}

/* The attributes with `axis` as it is computed. */
static const gpuc_attrs *with_axes(gpuc_ctx *ctx, bool last, const gpuc_rcall *c, int n, int count,
                                   const int *axes)
{
    int64_t moved[MAX_RANK];
    for (int i = 0; i < count; i++) moved[i] = computed_axis(last, n, axes[i]);
    if (gpuc_attrs_find(c->attrs, "axis")->kind == GPUC_ATTR_INT)
        return gpuc_attrs_int(ctx, c->attrs, "axis", moved[0]);
    return gpuc_attrs_ints(ctx, c->attrs, "axis", count, moved);
}

/* y, that is computed without some axes of the program, as the program has it: the others in their order. */
static gpuc_rexpr *without(gpuc_ctx *ctx, bool last, gpuc_rexpr *y, int n, const bool *gone)
{
    int64_t perm[MAX_RANK];
    bool moves = false;
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (gone[i]) continue;
        int64_t axis = computed_axis(last, n, i), at = 0;
        for (int k = 0; k < n; k++) at += !gone[k] && computed_axis(last, n, k) < axis;
        moves |= at != count;
        perm[count++] = at;
    }
    return moves ? gpuc_relay_pass_transpose(ctx, y, perm) : y;
}

static bool is_one_of(gpuc_rexpr *e, size_t count, const char *const *ops)
{
    for (size_t i = 0; i < count; i++)
        if (gpuc_relay_is_op(e, ops[i])) return true;
    return false;
}

/* A reduction. Where the greatest is, is counted along the axes in their order. */
static gpuc_rexpr *reduction(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    static const char *const ops[] = {"sum", "mean", "max", "min", "prod", "argmax", "argmin"};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    int axes[MAX_RANK];
    bool gone[MAX_RANK] = {false};
    if (!x || !is_one_of(e, sizeof ops / sizeof ops[0], ops)) return NULL;
    int n = gpuc_relay_tensor_type(x)->ndim, count = read_axes(c, n, axes);
    bool arg = !strncmp(gpuc_relay_call_op(e)->name, "arg", 3);
    if (count < 0 || count > n || (arg && count != 1)) return NULL;
    for (int i = 0; i < count; i++) gone[axes[i]] = true;
    const gpuc_attrs *attrs = with_axes(ctx, last, c, n, count, axes);
    gpuc_rexpr *y = gpuc_relay_op1(ctx, gpuc_relay_call_op(e)->name, attrs, x);
    int rank = gpuc_relay_tensor_type(y)->ndim;
    if (rank == 0) return y;
    return rank == n ? gpuc_relay_pass_outside(ctx, last, y) : without(ctx, last, y, n, gone);
}

/* What works along axes, and has results of the rank of its first operand. */
static gpuc_rexpr *along_axes(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    static const char *const ops[] = {"nn.l2_normalize",
                                      "nn.lrn",
                                      "nn.softmax",
                                      "nn.log_softmax",
                                      "nn.prelu",
                                      "topk",
                                      "split",
                                      "slice_like",
                                      "reverse",
                                      "qnn.quantize",
                                      "qnn.dequantize",
                                      "qnn.simulated_quantize",
                                      "qnn.simulated_dequantize"};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    int axes[MAX_RANK];
    if (!x || !is_one_of(e, sizeof ops / sizeof ops[0], ops)) return NULL;
    int n = gpuc_relay_tensor_type(x)->ndim, count = read_axes(c, n, axes);
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
    args[0] = x;
    if (gpuc_relay_is_op(e, "slice_like") && !(args[1] = gpuc_relay_pass_inside(last, args[1]))) return NULL;
    if (count < 1 || count > n) return NULL;
    gpuc_rexpr *y =
        gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, with_axes(ctx, last, c, n, count, axes), c->n, args);
    if (y->type->kind == GPUC_RTYPE_TENSOR) return gpuc_relay_pass_outside(ctx, last, y);
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, y->type->n);
    for (int i = 0; i < y->type->n; i++)
        fields[i] = gpuc_relay_pass_outside(ctx, last, gpuc_relay_get(ctx, y, i));
    return gpuc_relay_tuple(ctx, y->type->n, fields);
}

/* A transposition of the program's. */
static gpuc_rexpr *turned(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int64_t perm[MAX_RANK];
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    if (!x || !gpuc_relay_is_op(e, "transpose")) return NULL;
    const gpuc_attr *axes = gpuc_attrs_find(c->attrs, "axes");
    int n = gpuc_relay_tensor_type(x)->ndim;
    bool moves = false;
    for (int i = 0; i < n; i++) {
        int64_t axis = axes->n ? axes->ints[i] : n - 1 - i;
        perm[i] = computed_axis(last, n, (int)(axis < 0 ? axis + n : axis));
        moves |= perm[i] != i;
    }
    return moves ? gpuc_relay_pass_transpose(ctx, x, perm) : x;
}

/* The same without dimensions of one element. */
static gpuc_rexpr *squeezed(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    int axes[MAX_RANK];
    bool gone[MAX_RANK] = {false};
    if (!x || !gpuc_relay_is_op(e, "squeeze")) return NULL;
    int n = gpuc_relay_tensor_type(x)->ndim, count = read_axes(c, n, axes);
    if (count < 1 || count > n) return NULL;
    for (int i = 0; i < count; i++) gone[axes[i]] = true;
    return without(ctx, last, gpuc_relay_op1(ctx, "squeeze", with_axes(ctx, last, c, n, count, axes), x), n,
                   gone);
}

/* The attributes with lists of a number for each dimension, a NULL-terminated list of names, as they are computed. */
static const gpuc_attrs *with_lists(gpuc_ctx *ctx, bool last, const gpuc_attrs *attrs, int n,
                                    const char *const *names)
{
    for (; *names; names++) {
        const gpuc_attr *old = gpuc_attrs_find(attrs, *names);
        gpuc_expr sizes[MAX_RANK];
        double floats[MAX_RANK];
        if (!old || old->n != n) return NULL;
        for (int i = 0; i < n; i++) {
            int from = (int)program_axis(last, n, i);
            if (old->kind == GPUC_ATTR_FLOATS)
                floats[i] = old->floats[from];
            else
                sizes[i] = gpuc_attr_size(ctx, old, from);
        }
        attrs = old->kind == GPUC_ATTR_FLOATS ? gpuc_attrs_floats(ctx, attrs, *names, n, floats)
                                              : gpuc_attrs_sizes(ctx, attrs, *names, n, sizes);
    }
    return attrs;
}

/* What has lists of a number for each dimension. */
static gpuc_rexpr *by_dimensions(gpuc_ctx *ctx, bool last, gpuc_rexpr *e)
{
    static const struct {
        const char *op, *lists[4];
    } rows[] = {{"nn.pad", {"pad_before", "pad_after"}},
                {"strided_slice", {"begin", "sizes", "strides"}},
                {"image.resize", {"sizes", "scales"}},
                {"tile", {"reps"}}};
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *x = gpuc_relay_pass_inside(last, c->args[0]);
    for (size_t i = 0; x && c->n == 1 && i < sizeof rows / sizeof rows[0]; i++) {
        if (!gpuc_relay_is_op(e, rows[i].op)) continue;
        const gpuc_attr *roi = gpuc_attrs_find(c->attrs, "roi");
        const gpuc_attrs *attrs =
            with_lists(ctx, last, c->attrs, gpuc_relay_tensor_type(x)->ndim, rows[i].lists);
        if (!attrs || (roi && roi->n)) return NULL;
        return gpuc_relay_pass_outside(ctx, last, gpuc_relay_op1(ctx, rows[i].op, attrs, x));
    }
    return NULL;
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
    static gpuc_rexpr *(*const sink[])(gpuc_ctx *, bool, gpuc_rexpr *) = {
        along_axes, elementwise, pool, reduction, concatenation, by_dimensions, reshaped, turned, squeezed};
    gpuc_rexpr *out = NULL;
    size_t count =
        e->type->kind == GPUC_RTYPE_TENSOR ? sizeof sink / sizeof sink[0] : 1; /* others have one result */
    for (size_t i = 0; i < count && !out; i++) out = sink[i](ctx, last, e);
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
