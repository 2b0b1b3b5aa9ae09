/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of any spatial rank: data [N, C, spatial], weight [O, C/groups, kernel]; transposed ones with
 * weight [C, O/groups, kernel] are convolutions of the dilated, padded input with the flipped kernel. */
#include <string.h>

#include "topi/families.h"
#include "topi/util.h"

enum { MOST_RANK = 8 };

typedef struct conv_attrs {
    int rank;
    const int64_t *strides, *padding, *dilation, *output_padding;
    int64_t groups;
} conv_attrs;

static conv_attrs get_attrs(const gpuc_op_call *call)
{
    conv_attrs a = {.rank = call->in[0].ndim - 2};
    if (a.rank < 1 || a.rank > MOST_RANK || call->in[1].ndim != a.rank + 2)
        gpuc_topi_fail(call, "data of %d dimensions, weight of %d", call->in[0].ndim, call->in[1].ndim);
    a.strides = gpuc_topi_ints(call, "strides", a.rank);
    a.padding = gpuc_topi_ints(call, "padding", 2 * a.rank);
    a.dilation = gpuc_topi_ints(call, "dilation", a.rank);
    a.groups = gpuc_attrs_get_int(call->attrs, "groups", 1);
    for (int i = 0; i < a.rank; i++)
        if (a.strides[i] < 1 || a.dilation[i] < 1) gpuc_topi_fail(call, "stride or dilation %d is below 1", i);
    if (a.groups < 1) gpuc_topi_fail(call, "groups is below 1");
    if (!gpuc_dtype_equal(call->in[0].dtype, call->in[1].dtype))
        gpuc_topi_fail(call, "data and weight have different element types");
    return a;
}

static void infer_conv(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    conv_attrs a = get_attrs(call);
    gpuc_expr dims[MOST_RANK + 2];
    int64_t channels = gpuc_topi_static_dim(call, 0, 1), out = gpuc_topi_static_dim(call, 1, 0);
    int64_t per_group = gpuc_topi_static_dim(call, 1, 1);
    if (per_group * a.groups != channels || out % a.groups)
        gpuc_topi_fail(call, "%lld input channels, weight [%lld, %lld, ...] and groups=%lld do not fit", (long long)channels,
                       (long long)out, (long long)per_group, (long long)a.groups);
    dims[0] = call->in[0].dims[0];
    dims[1] = gpuc_int(ctx, out);
    for (int i = 0; i < a.rank; i++) {
        int64_t k = (gpuc_topi_static_dim(call, 1, 2 + i) - 1) * a.dilation[i] + 1, d;
        gpuc_expr span = gpuc_add(ctx, call->in[0].dims[2 + i], gpuc_int(ctx, a.padding[i] + a.padding[a.rank + i] - k));
        if (gpuc_expr_is_int(span, &d) && d < 0)
            gpuc_topi_fail(call, "the kernel (%lld) is larger than the padded input in dimension %d", (long long)k, 2 + i);
        dims[2 + i] = gpuc_add(ctx, gpuc_floordiv_(ctx, span, gpuc_int(ctx, a.strides[i])), gpuc_int(ctx, 1));
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, a.rank + 2, dims);
}

/* out[n, o, y...] = sum over ic, k... of data[n, group(o)*C/g + ic, y*stride + k*dilation] * weight(o, ic, k).
 * The weight is [O, C/g, k] or, transposed and flipped, [C, O/g, k]. */
static gpuc_tensor *convolve(const gpuc_op_call *call, gpuc_tensor *data, gpuc_tensor *weight, const conv_attrs *a,
                             const int64_t *strides, int64_t in_per_group, int64_t out_per_group, bool transposed)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[MOST_RANK + 2], x[MOST_RANK + 2], w[MOST_RANK + 2];
    gpuc_iter *over[MOST_RANK + 1];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    over[0] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, in_per_group), "ic");
    gpuc_expr ic = gpuc_iter_var(over[0]), group = gpuc_int(ctx, 0), o = vars[1];
    if (a->groups > 1) group = gpuc_floordiv_(ctx, o, gpuc_int(ctx, out_per_group));
    x[0] = vars[0];
    x[1] = gpuc_add(ctx, gpuc_mul(ctx, group, gpuc_int(ctx, in_per_group)), ic);
    w[0] = transposed ? x[1] : o;
    w[1] = !transposed ? ic : a->groups > 1 ? gpuc_floormod_(ctx, o, gpuc_int(ctx, out_per_group)) : o;
    for (int i = 0; i < a->rank; i++) {
        int64_t k = gpuc_topi_static_dim(call, 1, 2 + i);
        over[1 + i] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, k), i == a->rank - 1 ? "kx" : i == a->rank - 2 ? "ky" : "kz");
        gpuc_expr kv = gpuc_iter_var(over[1 + i]), at = gpuc_mul(ctx, vars[2 + i], gpuc_int(ctx, strides[i]));
        x[2 + i] = gpuc_add(ctx, at, gpuc_mul(ctx, kv, gpuc_int(ctx, a->dilation[i])));
        w[2 + i] = transposed ? gpuc_sub(ctx, gpuc_int(ctx, k - 1), kv) : kv;
    }
    gpuc_expr product = gpuc_mul(ctx, gpuc_te_read(ctx, data, a->rank + 2, x), gpuc_te_read(ctx, weight, a->rank + 2, w));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", product, a->rank + 1, over);
    const char *tag = a->groups > 1 && in_per_group == 1 ? "depthwise" : "conv";
    return gpuc_topi_compute(ctx, "conv", tag, a->rank + 2, axes, sum);
}

static void conv_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    conv_attrs a = get_attrs(call);
    int64_t ones[MOST_RANK], out = gpuc_topi_static_dim(call, 1, 0);
    for (int i = 0; i < a.rank; i++) ones[i] = 1;
    gpuc_tensor *data = gpuc_topi_pad_spatial(call->ctx, ins[0], a.rank, a.padding, a.padding + a.rank, ones);
    outs[0] = convolve(call, data, ins[1], &a, a.strides, gpuc_topi_static_dim(call, 1, 1), out / a.groups, false);
}

static void infer_conv_transpose(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    conv_attrs a = get_attrs(call);
    const int64_t *extra = gpuc_topi_ints(call, "output_padding", a.rank);
    gpuc_expr dims[MOST_RANK + 2];
    int64_t channels = gpuc_topi_static_dim(call, 0, 1);
    if (gpuc_topi_static_dim(call, 1, 0) != channels || channels % a.groups)
        gpuc_topi_fail(call, "%lld input channels do not fit a weight of [%lld, ...] and groups=%lld", (long long)channels,
                       (long long)gpuc_topi_static_dim(call, 1, 0), (long long)a.groups);
    dims[0] = call->in[0].dims[0];
    dims[1] = gpuc_int(ctx, gpuc_topi_static_dim(call, 1, 1) * a.groups);
    for (int i = 0; i < a.rank; i++) {
        int64_t k = (gpuc_topi_static_dim(call, 1, 2 + i) - 1) * a.dilation[i] + 1, d;
        gpuc_expr gaps = gpuc_mul(ctx, gpuc_sub(ctx, call->in[0].dims[2 + i], gpuc_int(ctx, 1)), gpuc_int(ctx, a.strides[i]));
        dims[2 + i] = gpuc_add(ctx, gaps, gpuc_int(ctx, k + extra[i] - a.padding[i] - a.padding[a.rank + i]));
        if (gpuc_expr_is_int(dims[2 + i], &d) && d < 0) gpuc_topi_fail(call, "padding is larger than the output");
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, a.rank + 2, dims);
}

static void conv_transpose_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    conv_attrs a = get_attrs(call);
    const int64_t *extra = gpuc_topi_ints(call, "output_padding", a.rank);
    int64_t lo[MOST_RANK], hi[MOST_RANK], ones[MOST_RANK];
    for (int i = 0; i < a.rank; i++) {
        int64_t reach = (gpuc_topi_static_dim(call, 1, 2 + i) - 1) * a.dilation[i];
        lo[i] = reach - a.padding[i];
        hi[i] = reach - a.padding[a.rank + i] + extra[i];
        ones[i] = 1;
    }
    gpuc_tensor *data = gpuc_topi_pad_spatial(call->ctx, ins[0], a.rank, lo, hi, a.strides);
    int64_t in_per_group = gpuc_topi_static_dim(call, 1, 0) / a.groups;
    outs[0] = convolve(call, data, ins[1], &a, ones, in_per_group, gpuc_topi_static_dim(call, 1, 1), true);
}

#define INTS(nm) {.name = nm, .kind = GPUC_ATTR_INTS, .required = true}
static const gpuc_attr_spec conv_specs[] = {
    INTS("strides"), INTS("padding"), INTS("dilation"), {.name = "groups", .kind = GPUC_ATTR_INT, .i = 1}, {0}};
static const gpuc_attr_spec transpose_specs[] = {INTS("strides"), INTS("padding"), INTS("dilation"), INTS("output_padding"),
                                                 {.name = "groups", .kind = GPUC_ATTR_INT, .i = 1}, {0}};

#define ROW(nm, at, inf, fn, tp, nn, on)                                                                  \
    {.name = nm, .min_in = 2, .max_in = 2, .attrs = at, .infer = inf, .compute = fn,                      \
     .pattern = GPUC_FUSE_OUT_FUSABLE, .topi = tp, .nnvm = nn, .onnx = on}
#define CONV(r) ROW("nn.conv" r "d", conv_specs, infer_conv, conv_compute, "conv" r "d", "conv" r "d", "Conv")
#define CONV_TRANSPOSE(r) \
    ROW("nn.conv" r "d_transpose", transpose_specs, infer_conv_transpose, conv_transpose_compute, \
        "conv" r "d_transpose", "conv" r "d_transpose", "ConvTranspose")

const gpuc_op gpuc_ops_conv[] = {
    CONV("1"), CONV("2"), CONV("3"), CONV_TRANSPOSE("1"), CONV_TRANSPOSE("2"), CONV_TRANSPOSE("3"),
};
const size_t gpuc_ops_conv_count = sizeof gpuc_ops_conv / sizeof gpuc_ops_conv[0];
