/* SPDX-License-Identifier: Apache-2.0 */
/* A transposed convolution of stride s computes s neighbouring outputs, its phases, from the same inputs,
 * each with a part of the window: that is a convolution with s times the channels and a window of ceil(k /
 * s), whose channels then go to their places (sub-pixel convolution, Shi et al. 2016). Nothing is multiplied
 * by the zeros between inputs, and all that is known of convolutions serves it. */
#include <string.h>

#include "relay_pass/common/util.h"

enum { MAX_RANK = 3 };

/* One axis of space. */
typedef struct axis {
    int64_t window, stride, taps; /* of the window for one phase */
    int64_t lo, hi;               /* padding of the convolution */
    int64_t skip;                 /* outputs that are computed before the first one that is wanted */
} axis;

typedef struct transposed {
    int rank;
    bool last;               /* data has channels last */
    int64_t groups, in, out; /* channels of a group */
    axis at[MAX_RANK];
} transposed;

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The first axis of space. */
static int space_of(const transposed *t)
{
    return t->last ? 1 : 2;
}

static int64_t entry(const gpuc_rcall *c, const char *name, int i)
{
    return gpuc_attrs_find(c->attrs, name)->ints[i];
}

/* Describes axis i; false if a transposed convolution with this padding or dilation is no convolution. */
static bool describe_axis(const gpuc_rcall *c, const transposed *t, int i, const int64_t *weight, axis *out)
{
    int64_t extent, before = entry(c, "padding", i), after = entry(c, "padding", t->rank + i);
    axis a = {.window = weight[2 + i], .stride = entry(c, "strides", i)};
    if (before == GPUC_ATTR_UNKNOWN || after == GPUC_ATTR_UNKNOWN || before < 0) return false;
    if (entry(c, "dilation", i) != 1) return false;
    int64_t more =
        a.window + entry(c, "output_padding", i) - before - after; /* out = (in - 1) * stride + more */
    bool one =
        gpuc_expr_is_int(gpuc_relay_tensor_type(c->args[0])->dims[space_of(t) + i], &extent) && extent == 1;
    if (one && a.stride < a.window) a.stride = a.window; /* nothing overlaps */
    a.taps = divide_up(a.window, a.stride);
    a.skip = before % a.stride;
    a.lo = a.taps - 1 - before / a.stride;
    a.hi = divide_up(a.skip + more, a.stride) + a.taps - 2 - a.lo;
    if (more < 1 || a.lo < 0 || a.hi < 0) return false;
    *out = a;
    return true;
}

static bool describe(gpuc_rexpr *e, transposed *out)
{
    static const char *const names[MAX_RANK] = {"nn.conv1d_transpose", "nn.conv2d_transpose",
                                                "nn.conv3d_transpose"};
    transposed t = {0};
    for (int i = 0; i < MAX_RANK; i++)
        if (gpuc_relay_is_op(e, names[i])) t.rank = i + 1;
    if (!t.rank || gpuc_as_rcall(e)->args[1]->kind != GPUC_REXPR_CONSTANT) return false;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int64_t weight[MAX_RANK + 2];
    if (!gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(c->args[1]), weight)) return false;
    t.last = !strcmp(gpuc_attrs_get_string(c->attrs, "data_layout", ""), "NHWC");
    t.groups = gpuc_attrs_get_int(c->attrs, "groups", 1);
    t.in = weight[0] / t.groups;
    t.out = weight[1];
    for (int i = 0; i < t.rank; i++)
        if (weight[2 + i] < 1 || !describe_axis(c, &t, i, weight, &t.at[i])) return false;
    *out = t;
    return true;
}

/* [groups * in, out, window...] as [groups * phases * out, in, taps...], the last tap of a phase first. */
static gpuc_rexpr *phase_weights(gpuc_ctx *ctx, const transposed *t, gpuc_rexpr *w)
{
    int r = t->rank, n = 3 + 2 * r;
    int64_t none[MAX_RANK + 2] = {0}, fill[MAX_RANK + 2] = {0}, split[3 + 2 * MAX_RANK],
                            perm[3 + 2 * MAX_RANK], dims[MAX_RANK + 2];
    split[0] = t->groups;
    split[1] = dims[1] = t->in;
    split[2] = t->out;
    dims[0] = t->groups * t->out;
    perm[0] = 0;
    perm[1 + r] = 2;
    perm[2 + r] = 1;
    for (int i = 0; i < r; i++) {
        const axis *a = &t->at[i];
        fill[2 + i] = a->taps * a->stride - a->window;
        split[3 + 2 * i] = dims[2 + i] = a->taps;
        split[4 + 2 * i] = a->stride;
        perm[1 + i] = 4 + 2 * i;
        perm[3 + r + i] = 3 + 2 * i;
        dims[0] *= a->stride;
    }
    const gpuc_attrs *pads = gpuc_attrs_ints(ctx, NULL, "pad_before", r + 2, none);
    w = gpuc_relay_op1(ctx, "nn.pad", gpuc_attrs_ints(ctx, pads, "pad_after", r + 2, fill), w);
    w = gpuc_relay_pass_transpose(ctx, gpuc_relay_pass_reshape_static(ctx, w, n, split), perm);
    w = gpuc_relay_pass_reshape_static(ctx, w, r + 2, dims);
    for (int i = 0; i < r; i++)
        if (t->at[i].taps > 1)
            w = gpuc_relay_op1(ctx, "reverse", gpuc_attrs_int(ctx, NULL, "axis", 2 + i), w);
    return w;
}

static gpuc_rexpr *convolved(gpuc_ctx *ctx, const transposed *t, const gpuc_rcall *c)
{
    static const char *const names[MAX_RANK] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};
    int64_t one[MAX_RANK], padding[2 * MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        one[i] = 1;
        padding[i] = t->at[i].lo;
        padding[t->rank + i] = t->at[i].hi;
    }
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", t->rank, one);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_ints(ctx, a, "dilation", t->rank, one), "padding", 2 * t->rank,
                        padding);
    a = gpuc_attrs_int(ctx, a, "groups", t->groups);
    a = gpuc_attrs_string(ctx, a, "data_layout", t->last ? "NHWC" : "NCHW");
    a = gpuc_attrs_dtype(ctx, a, "out_dtype", gpuc_attrs_find(c->attrs, "out_dtype")->dtype);
    gpuc_rexpr *args[] = {c->args[0], phase_weights(ctx, t, c->args[1])};
    return gpuc_relay_op(ctx, names[t->rank - 1], a, 2, args);
}

/* [batch, groups * phases * out, place...] as [batch, groups * out, place * stride + phase...], or both with channels
 * last. */
static gpuc_rexpr *in_place(gpuc_ctx *ctx, const transposed *t, gpuc_rexpr *y)
{
    int r = t->rank, n = 3 + 2 * r, space = space_of(t);
    int group = t->last ? 1 + r : 1, place = t->last ? 1 : 3 + r; /* in what is split: channels are groups, */
    int to_group = t->last ? 1 + 2 * r : 1, to_place = t->last ? 1 : 3; /* phases, and those of a phase */
    const gpuc_tensor_type *from = gpuc_relay_tensor_type(y);
    gpuc_expr split[3 + 2 * MAX_RANK], dims[MAX_RANK + 2];
    int64_t perm[3 + 2 * MAX_RANK];
    split[0] = dims[0] = from->dims[0];
    split[group] = gpuc_int(ctx, t->groups);
    split[group + 1 + r] = gpuc_int(ctx, t->out);
    dims[t->last ? 1 + r : 1] = gpuc_int(ctx, t->groups * t->out);
    perm[0] = 0;
    perm[to_group] = group;
    perm[to_group + 1] = group + 1 + r;
    for (int i = 0; i < r; i++) {
        split[group + 1 + i] = gpuc_int(ctx, t->at[i].stride);
        split[place + i] = from->dims[space + i];
        dims[space + i] = gpuc_mul(ctx, from->dims[space + i], split[group + 1 + i]);
        perm[to_place + 2 * i] = place + i;
        perm[to_place + 1 + 2 * i] = group + 1 + i;
    }
    y = gpuc_relay_pass_transpose(ctx, gpuc_relay_pass_reshape(ctx, y, n, split), perm);
    return gpuc_relay_pass_reshape(ctx, y, r + 2, dims);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    transposed t;
    if (!describe(e, &t)) return e;
    int64_t begin[MAX_RANK + 2] = {0}, ones[] = {1, 1, 1, 1, 1}, phases = 1;
    for (int i = 0; i < t.rank; i++) {
        begin[space_of(&t) + i] = t.at[i].skip;
        phases *= t.at[i].stride;
    }
    gpuc_rexpr *y = convolved(ctx, &t, gpuc_as_rcall(e));
    if (phases == 1) return y;
    gpuc_relay_with_source(ctx, y, e->source);
    const gpuc_tensor_type *to = gpuc_relay_tensor_type(e);
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", to->ndim, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", to->ndim, to->dims), "strides", to->ndim,
                        ones);
    return gpuc_relay_op1(ctx, "strided_slice", a, in_place(ctx, &t, y));
}

void gpuc_relay_pass_transposed_conv(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, rewrite, NULL);
}
