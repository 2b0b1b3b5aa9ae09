/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of any spatial rank: data [N, C, spatial], weight [O, C/groups, kernel]; transposed ones with
 * weight [C, O/groups, kernel] are convolutions of the dilated, padded input with the flipped kernel. Data may have
 * channels last. */
#include <string.h>

#include "base/names.h"
#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/nn/products.h"

enum { MAX_RANK = 8 };

/* Where the weight's dimensions are: "OIHW" is [O, C/g, kernel], of any spatial rank. "IHWO", [C/g, kernel,
 * O], loads the weights of neighbouring output channels as one vector; "OHWIo", [O/b, kernel, C/g, b], has b
 * of them for all steps of a sum one behind the other, and zeros behind the last; "OHWIoi", [O/b, kernel,
 * C/g/s, b, s], has s input channels of each side by side. */
typedef struct weight_layout {
    int in, kernel, out; /* dimensions; out: of the whole channel number, or of its block */
    int block;           /* dimension of the channels of a block; 0: none */
    int side;            /* dimension of the input channels side by side; 0: none */
} weight_layout;

typedef struct conv_attrs {
    int rank;
    gpuc_topi_layout at;
    weight_layout weight;
    const int64_t *strides, *dilation;
    gpuc_expr padding[2 * MAX_RANK];
    int64_t groups;
} conv_attrs;

static weight_layout layout_of_weight(const gpuc_op_call *call)
{
    static const struct {
        const char *name;
        weight_layout w; /* negative: from the end */
    } known[] = {{"OIHW", {.in = 1, .kernel = 2, .out = 0}},
                 {"IHWO", {.in = 0, .kernel = 1, .out = -1}},
                 {"OHWIo", {.in = -2, .kernel = 1, .out = 0, .block = -1}},
                 {"OHWIoi", {.in = -3, .kernel = 1, .out = 0, .block = -2, .side = -1}}};
    const char *name = gpuc_attrs_get_string(call->attrs, "kernel_layout", "OIHW");
    int ndim = call->in[1].ndim;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        weight_layout w = known[i].w;
        if (strcmp(known[i].name, name)) continue;
        if (ndim != call->in[0].ndim + (w.block != 0) + (w.side != 0))
            gpuc_topi_fail(call, "data of %d dimensions, weight of %d", call->in[0].ndim, ndim);
        if (w.in < 0) w.in += ndim;
        if (w.out < 0) w.out += ndim;
        if (w.block < 0) w.block += ndim;
        if (w.side < 0) w.side += ndim;
        return w;
    }
    gpuc_topi_fail(call, "kernel_layout is '%s'; known are OIHW, IHWO, OHWIo and OHWIoi", name);
}

static int64_t weight_out(const gpuc_op_call *call)
{
    weight_layout w = layout_of_weight(call);
    int64_t have = gpuc_topi_static_dim(call, 1, w.out), some;
    if (w.block) have *= gpuc_topi_static_dim(call, 1, w.block);
    some = gpuc_attrs_get_int(call->attrs, "channels", 0);
    if (some < 0 || some > have)
        gpuc_topi_fail(call, "channels=%lld, the weight has %lld", (long long)some, (long long)have);
    return some ? some : have;
}

static int64_t weight_in(const gpuc_op_call *call)
{
    weight_layout w = layout_of_weight(call);
    return gpuc_topi_static_dim(call, 1, w.in) * (w.side ? gpuc_topi_static_dim(call, 1, w.side) : 1);
}

static int64_t kernel_extent(const gpuc_op_call *call, int i)
{
    return gpuc_topi_static_dim(call, 1, layout_of_weight(call).kernel + i);
}

static conv_attrs get_attrs(const gpuc_op_call *call)
{
    conv_attrs a = {.rank = call->in[0].ndim - 2, .at = gpuc_topi_layout_of(call, call->in[0].ndim)};
    if (a.rank < 1 || a.rank > MAX_RANK) gpuc_topi_fail(call, "data of %d dimensions", call->in[0].ndim);
    a.weight = layout_of_weight(call);
    a.strides = gpuc_topi_ints(call, "strides", a.rank);
    gpuc_topi_sizes(call, "padding", 2 * a.rank, a.padding);
    a.dilation = gpuc_topi_ints(call, "dilation", a.rank);
    a.groups = gpuc_attrs_get_int(call->attrs, "groups", 1);
    for (int i = 0; i < a.rank; i++)
        if (a.strides[i] < 1 || a.dilation[i] < 1)
            gpuc_topi_fail(call, "stride or dilation %d is below 1", i);
    if (a.groups < 1) gpuc_topi_fail(call, "groups is below 1");
    return a;
}

static void infer_conv(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    conv_attrs a = get_attrs(call);
    gpuc_expr dims[MAX_RANK + 2];
    int64_t channels = gpuc_topi_static_dim(call, 0, a.at.channel), out = weight_out(call),
            per_group = weight_in(call);
    if (per_group * a.groups != channels || out % a.groups)
        gpuc_topi_fail(call, "%lld input channels, weight [%lld, %lld, ...] and groups=%lld do not fit",
                       (long long)channels, (long long)out, (long long)per_group, (long long)a.groups);
    dims[0] = call->in[0].dims[0];
    dims[a.at.channel] = gpuc_int(ctx, out);
    for (int i = 0; i < a.rank; i++) {
        int64_t k = (kernel_extent(call, i) - 1) * a.dilation[i] + 1;
        int d = a.at.space + i;
        gpuc_expr more = gpuc_sub(ctx, gpuc_add(ctx, a.padding[i], a.padding[a.rank + i]), gpuc_int(ctx, k)),
                  span = gpuc_topi_canonical(ctx, gpuc_add(ctx, call->in[0].dims[d], more));
        gpuc_topi_require(call, gpuc_ge(ctx, span, gpuc_int(ctx, 0)),
                          "the kernel (%lld) is larger than the padded input in dimension %d", (long long)k,
                          d);
        dims[d] = gpuc_add(ctx, gpuc_floordiv_(ctx, span, gpuc_int(ctx, a.strides[i])), gpuc_int(ctx, 1));
    }
    gpuc_topi_set_out(call, 0, gpuc_topi_product_type(call), a.rank + 2, dims);
}

typedef struct conv_case {
    conv_attrs a;
    int64_t strides[MAX_RANK], dilate[MAX_RANK]; /* of the window over the data */
    gpuc_expr lo[MAX_RANK];
    int64_t in_per_group, out_per_group;
    bool transposed;
} conv_case;

/* out[n, o, y...] = sum over ic, k... of data[n, group(o)*C/g + ic, y*stride + k*dilation] * weight(o, ic,
 * k). The weight is [O, C/g, k] or, transposed and flipped, [C, O/g, k]. A strided last axis is read from a
 * copy of the data in which each phase lies together, so that neighbours in y are neighbours in memory. With
 * channels last, vectors run along them. */
static gpuc_tensor *convolve(const gpuc_op_call *call, gpuc_tensor *const *ins, const conv_case *c)
{
    gpuc_ctx *ctx = call->ctx;
    const conv_attrs *a = &c->a;
    const weight_layout *in = &a->weight;
    int ndim = a->rank + 2, last = a->rank - 1, space = a->at.space;
    bool channels_last = space == 1;
    gpuc_expr vars[MAX_RANK + 3], x[MAX_RANK + 3], w[MAX_RANK + 3], dims[MAX_RANK + 2];
    gpuc_iter *over[MAX_RANK + 1];
    gpuc_topi_window window = {
        .rank = a->rank, .space = space, .phase = channels_last ? 1 : c->strides[last]};
    memcpy(dims, call->out[0].dims, sizeof *dims * (size_t)ndim);
    int64_t whole = 1; /* vectors along the last axis */
    if (!channels_last)
        whole = GPUC_TOPI_ROW_ROUND;
    else if (in->block && a->groups == 1) /* else the last vector would read channels that there are not */
        whole = gpuc_topi_static_dim(call, 1, in->block);
    dims[ndim - 1] = gpuc_topi_round_up(ctx, dims[ndim - 1], whole);
    for (int i = 0; i < a->rank; i++) {
        int64_t reach = (kernel_extent(call, i) - 1) * a->dilation[i] + 1;
        window.lo[i] = c->lo[i];
        window.step[i] = c->dilate[i];
        window.size[i] = gpuc_add(ctx, gpuc_mul(ctx, dims[space + i], gpuc_int(ctx, c->strides[i])),
                                  gpuc_int(ctx, reach - c->strides[i]));
    }
    gpuc_tensor *data = gpuc_topi_pad_spatial(ctx, ins[0], &window), *weight = ins[1];
    gpuc_tensor_type t = {.dtype = call->out[0].dtype, .ndim = ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars), *channels;
    channels = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c->in_per_group), "ic");
    gpuc_expr ic = gpuc_iter_var(channels), group = gpuc_int(ctx, 0), o = vars[a->at.channel];
    if (a->groups > 1) group = gpuc_floordiv_(ctx, o, gpuc_int(ctx, c->out_per_group));
    x[0] = vars[0];
    x[a->at.channel] = gpuc_add(ctx, gpuc_mul(ctx, group, gpuc_int(ctx, c->in_per_group)), ic);
    w[in->out] = c->transposed ? x[a->at.channel] : o;
    w[in->in] = !c->transposed  ? ic
                : a->groups > 1 ? gpuc_floormod_(ctx, o, gpuc_int(ctx, c->out_per_group))
                                : o;
    if (in->block) {
        gpuc_expr block = call->in[1].dims[in->block];
        w[in->out] = gpuc_floordiv_(ctx, o, block);
        w[in->block] = gpuc_floormod_(ctx, o, block);
    }
    if (in->side) {
        gpuc_expr side = call->in[1].dims[in->side];
        w[in->side] = gpuc_floormod_(ctx, w[in->in], side);
        w[in->in] = gpuc_floordiv_(ctx, w[in->in], side);
    }
    for (int i = 0; i < a->rank; i++) {
        int64_t k = kernel_extent(call, i);
        gpuc_iter *along = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, k),
                                               i == last       ? "kx"
                                               : i == last - 1 ? "ky"
                                                               : "kz");
        gpuc_expr kv = gpuc_iter_var(along), shift = gpuc_mul(ctx, kv, gpuc_int(ctx, a->dilation[i]));
        over[channels_last ? i : 1 + i] = along;
        w[in->kernel + i] = c->transposed ? gpuc_sub(ctx, gpuc_int(ctx, k - 1), kv) : kv;
        gpuc_topi_window_at(ctx, &window, i, vars[space + i], c->strides[i], shift, x);
    }
    over[channels_last ? a->rank : 0] = channels; /* innermost where they lie side by side */
    gpuc_expr value = gpuc_topi_factor(call, gpuc_te_read(ctx, data, gpuc_te_ndim(data), x));
    gpuc_expr weights = gpuc_te_read(ctx, weight, gpuc_te_ndim(weight), w);
    gpuc_expr product = gpuc_mul(ctx, value, gpuc_topi_factor(call, weights));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", product, a->rank + 1, over);
    bool depthwise = a->groups > 1 && c->in_per_group == 1;
    const char *tag = channels_last ? (depthwise ? "depthwise_nsc" : "conv_nsc")
                      : depthwise   ? "depthwise"
                                    : "conv";
    gpuc_tensor *conv = gpuc_topi_compute(ctx, "conv", tag, ndim, axes, sum);
    bool all = dims[ndim - 1] == call->out[0].dims[ndim - 1];
    if (all && gpuc_dtype_equal(gpuc_te_dtype(conv), call->out[0].dtype)) return conv;
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr sum_at = gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, conv, ndim, vars));
    return gpuc_topi_compute(ctx, "crop", "elemwise", ndim, axes, sum_at);
}

static void conv_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    conv_case c = {.a = get_attrs(call), .in_per_group = weight_in(call)};
    c.out_per_group = weight_out(call) / c.a.groups;
    for (int i = 0; i < c.a.rank; i++) {
        c.strides[i] = c.a.strides[i];
        c.lo[i] = c.a.padding[i];
        c.dilate[i] = 1;
    }
    outs[0] = convolve(call, ins, &c);
}

static void infer_conv_transpose(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    conv_attrs a = get_attrs(call);
    const int64_t *extra = gpuc_topi_ints(call, "output_padding", a.rank);
    gpuc_expr dims[MAX_RANK + 2];
    int64_t channels = gpuc_topi_static_dim(call, 0, a.at.channel);
    if (gpuc_topi_static_dim(call, 1, 0) != channels || channels % a.groups)
        gpuc_topi_fail(call, "%lld input channels do not fit a weight of [%lld, ...] and groups=%lld",
                       (long long)channels, (long long)gpuc_topi_static_dim(call, 1, 0), (long long)a.groups);
    dims[0] = call->in[0].dims[0];
    dims[a.at.channel] = gpuc_int(ctx, gpuc_topi_static_dim(call, 1, 1) * a.groups);
    for (int i = 0; i < a.rank; i++) {
        int64_t k = (gpuc_topi_static_dim(call, 1, 2 + i) - 1) * a.dilation[i] + 1;
        gpuc_expr gaps = gpuc_mul(ctx, gpuc_sub(ctx, call->in[0].dims[a.at.space + i], gpuc_int(ctx, 1)),
                                  gpuc_int(ctx, a.strides[i]));
        gpuc_expr less = gpuc_add(ctx, a.padding[i], a.padding[a.rank + i]);
        gpuc_expr extent = gpuc_add(ctx, gaps, gpuc_sub(ctx, gpuc_int(ctx, k + extra[i]), less));
        dims[a.at.space + i] = extent;
        gpuc_topi_require(call, gpuc_ge(ctx, extent, gpuc_int(ctx, 0)), "padding is larger than the output");
    }
    gpuc_topi_set_out(call, 0, gpuc_topi_product_type(call), a.rank + 2, dims);
}

static void conv_transpose_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    conv_case c = {
        .a = get_attrs(call), .transposed = true, .out_per_group = gpuc_topi_static_dim(call, 1, 1)};
    c.in_per_group = gpuc_topi_static_dim(call, 1, 0) / c.a.groups;
    for (int i = 0; i < c.a.rank; i++) {
        c.strides[i] = 1;
        int64_t reach = (gpuc_topi_static_dim(call, 1, 2 + i) - 1) * c.a.dilation[i];
        c.lo[i] = gpuc_sub(call->ctx, gpuc_int(call->ctx, reach), c.a.padding[i]);
        c.dilate[i] = c.a.strides[i];
    }
    outs[0] = convolve(call, ins, &c);
}

/* ---- Other spellings: what they say of the weight must be so ---- */

static bool plain_weight(const gpuc_op_written *w)
{
    const char *layout = gpuc_attrs_get_string(w->attrs, "kernel_layout", "OIHW");
    return !strcmp(layout, "OIHW");
}

/* What the row computes with, or another order of the dimensions. */
static void take_kernel_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    static const char *const computed[] = {"OIHW", "IHWO", "OHWIo", "OHWIoi"};
    for (size_t i = 0; i < sizeof computed / sizeof computed[0]; i++) {
        if (strcmp(computed[i], gpuc_names_now(spec->name, value->s))) continue;
        gpuc_op_set_attr(w, "kernel_layout", value);
        return;
    }
    gpuc_op_take_order(w, &(gpuc_attr_spec){.name = spec->name, .to = "1=OIHW"}, value);
}

/* Layouts that passes choose have room for more channels than there are. */
static void take_channels(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    bool plain = plain_weight(w);
    if (plain && value->kind == GPUC_ATTR_INT && value->i) gpuc_op_must_be(w, spec->name, value->i, 1, 0);
    gpuc_attr all = *value;
    if (plain && value->kind == GPUC_ATTR_INT) all.i = 0;
    gpuc_op_set_attr(w, "channels", &all);
}

static void take_transposed_channels(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int64_t groups = gpuc_attrs_get_int(w->attrs, "groups", 1);
    if (value->kind != GPUC_ATTR_INT || value->i < 0 || (groups > 0 && value->i % groups))
        gpuc_op_written_fail(w, "%s must be a number of channels, a multiple of groups", spec->name);
    if (value->i && groups > 0) gpuc_op_must_be(w, "channels / groups", value->i / groups, 1, 1);
}

static void take_kernel_size(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int n, rank = w->in && w->num_written > 0 ? w->in[0].ndim - 2 : 0;
    const int64_t *size = gpuc_op_ints_of(w, value, &n);
    if (n > 1 && rank > 0 && n != rank)
        gpuc_op_written_fail(w, "%s has %d entries for %d spatial dimensions", spec->name, n, rank);
    for (int i = 0; i < rank && n && plain_weight(w); i++)
        gpuc_op_must_be(w, spec->name, size[n > 1 ? i : 0], 1, 2 + i);
}

#define KERNEL_SIZE SPELLED("kernel_size", INTS, take_kernel_size, NULL, "must be that of the weight")
#define CHANNELS(fn) SPELLED("channels", INT, fn, NULL, "must be those of the weight")

const gpuc_attr_spec gpuc_topi_conv_attrs[] = {
    SPACE_INTS("strides", 1),
    SIDE_SIZES("padding"),
    SPACE_INTS("dilation", 1),
    WINDOW_INT("groups", 1),
    GPUC_TOPI_OUT_DTYPE,
    GPUC_TOPI_DATA_LAYOUT,
    STRING("kernel_layout", "OIHW"),
    INT("channels", 0),
    DATA_LAYOUTS,
    OUT_LAYOUT,
    SPELLED("kernel_layout", STRING, take_kernel_layout, NULL, "OIHW, or these letters in another order"),
    KERNEL_SIZE,
    CHANNELS(take_channels),
    USE_BIAS_ALWAYS,
    {0}};
const gpuc_attr_spec gpuc_topi_conv_transpose_attrs[] = {SPACE_INTS("strides", 1),
                                                         SIDE_SIZES("padding"),
                                                         SPACE_INTS("dilation", 1),
                                                         SPACE_INTS("output_padding", 0),
                                                         WINDOW_INT("groups", 1),
                                                         GPUC_TOPI_OUT_DTYPE,
                                                         GPUC_TOPI_DATA_LAYOUT,
                                                         DATA_LAYOUTS,
                                                         OUT_LAYOUT,
                                                         WEIGHT_ORDER("IOHW"),
                                                         KERNEL_SIZE,
                                                         CHANNELS(take_transposed_channels),
                                                         USE_BIAS_ALWAYS,
                                                         {0}};

#define CONV(r, names)                                                                                       \
    ANCHOR("nn.conv" r "d", 2, 2, gpuc_topi_conv_attrs, infer_conv, conv_compute, "conv" r "d," names,       \
           "conv" r "d", "Conv", GPUC_T_NUMBERS)
#define CONV_TRANSPOSE(r, names)                                                                             \
    ANCHOR("nn.conv" r "d_transpose", 2, 2, gpuc_topi_conv_transpose_attrs, infer_conv_transpose,            \
           conv_transpose_compute, "conv" r "d_transpose," names, "conv" r "d_transpose", "ConvTranspose",   \
           GPUC_T_NUMBERS)

const gpuc_op gpuc_topi_ops_conv[] = {
    CONV("1", "conv1d_ncw,group_conv1d_ncw,depthwise_conv1d_ncw"),
    CONV("2", "conv2d_nchw,group_conv2d_nchw,depthwise_conv2d_nchw"),
    CONV("3", "conv3d_ncdhw,group_conv3d_ncdhw,depthwise_conv3d_ncdhw"),
    CONV_TRANSPOSE("1", "conv1d_transpose_ncw,group_conv1d_transpose_ncw"),
    CONV_TRANSPOSE("2", "conv2d_transpose_nchw,group_conv2d_transpose_nchw"),
    CONV_TRANSPOSE("3", "conv3d_transpose_ncdhw,group_conv3d_transpose_ncdhw"),
};
const size_t gpuc_topi_ops_conv_count = sizeof gpuc_topi_ops_conv / sizeof gpuc_topi_ops_conv[0];
