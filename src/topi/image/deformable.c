/* SPDX-License-Identifier: Apache-2.0 */
/* Data sampled between its elements, at positions that are data themselves. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"
#include "topi/image/taps.h"

enum { MAX_RANK = 3 };

/* ---- affine_grid (ONNX AffineGrid-20): theta [N, r, r + 1] to positions [N, space, r], x first ---- */

static void infer_affine_grid(gpuc_op_call *call)
{
    const gpuc_tensor_type *theta = &call->in[0];
    const gpuc_attr *size = gpuc_attrs_find(call->attrs, "target_shape");
    if (size->n < 1 || size->n > MAX_RANK) gpuc_topi_fail(call, "target_shape has %d entries", size->n);
    if (theta->ndim != 3 || gpuc_topi_static_dim(call, 0, 1) != size->n ||
        gpuc_topi_static_dim(call, 0, 2) != size->n + 1)
        gpuc_topi_fail(call, "theta must be [N, %d, %d] for a target of %d dimensions", size->n, size->n + 1,
                       size->n);
    gpuc_expr dims[MAX_RANK + 2] = {theta->dims[0]};
    for (int i = 0; i < size->n; i++) {
        if (size->ints[i] < 0) gpuc_topi_fail(call, "target_shape has %lld", (long long)size->ints[i]);
        dims[1 + i] = gpuc_int(call->ctx, size->ints[i]);
    }
    dims[1 + size->n] = gpuc_int(call->ctx, size->n);
    gpuc_topi_set_out(call, 0, theta->dtype, size->n + 2, dims);
}

static void affine_grid_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_attr *size = gpuc_attrs_find(call->attrs, "target_shape");
    int rank = size->n;
    bool corners = gpuc_attrs_get_int(call->attrs, "align_corners", 1);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_expr vars[MAX_RANK + 2];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr at[] = {vars[0], vars[1 + rank], gpuc_int(ctx, rank)};
    gpuc_expr sum = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 3, at));
    for (int i = 0; i < rank; i++) { /* theta's columns are x first */
        int64_t n = size->ints[rank - 1 - i];
        gpuc_expr p = gpuc_cast(ctx, t, vars[rank - i]);
        double step = corners ? n > 1 ? 2.0 / (double)(n - 1) : 0 : n > 0 ? 2.0 / (double)n : 0;
        p = gpuc_add(ctx, gpuc_mul(ctx, p, gpuc_imm(ctx, t, step)),
                     gpuc_imm(ctx, t, corners ? -1 : step / 2 - 1));
        at[2] = gpuc_int(ctx, i);
        sum = gpuc_add(ctx, sum, gpuc_mul(ctx, gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 3, at)), p));
    }
    outs[0] =
        gpuc_topi_compute(ctx, "grid", "injective", rank + 2, axes, gpuc_cast(ctx, call->out[0].dtype, sum));
}

/* ---- deformable_conv (Dai et al., 2017; ONNX DeformConv-19): data [N, C, space], weight [O, C/g, kernel],
 * offset [N, og*kernel*r, out], mask [N, og*kernel, out], or all but the weight with channels last. Positions outside of
 * the data are zeros. ---- */

typedef struct deform {
    int rank;
    gpuc_topi_layout at; /* of data, offsets, mask and result */
    const int64_t *strides, *padding, *dilation;
    int64_t groups, offset_groups, channels, volume, places; /* elements of the kernel, of the result */
    int64_t kernel[MAX_RANK], out[MAX_RANK];
} deform;

static void check_dim(const gpuc_op_call *call, int input, int k, int64_t want)
{
    int64_t have = gpuc_topi_static_dim(call, input, k);
    if (have != want)
        gpuc_topi_fail(call, "dimension %d of input %d is %lld, must be %lld", k, input, (long long)have,
                       (long long)want);
}

static deform deform_of(const gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0];
    deform d = {.rank = data->ndim - 2, .volume = 1, .places = 1};
    if (d.rank < 1 || d.rank > MAX_RANK) gpuc_topi_fail(call, "data of %d dimensions", data->ndim);
    for (int i = 1; i < call->num_in; i++)
        if (call->in[i].ndim != data->ndim)
            gpuc_topi_fail(call, "input %d has another rank than the data", i);
    d.strides = gpuc_topi_ints(call, "strides", d.rank);
    d.padding = gpuc_topi_ints(call, "padding", 2 * d.rank);
    d.dilation = gpuc_topi_ints(call, "dilation", d.rank);
    d.groups = gpuc_attrs_get_int(call->attrs, "groups", 1);
    d.offset_groups = gpuc_attrs_get_int(call->attrs, "deformable_groups", 1);
    d.at = gpuc_topi_layout_of(call, data->ndim);
    d.channels = gpuc_topi_static_dim(call, 0, d.at.channel);
    int64_t outs = gpuc_topi_static_dim(call, 1, 0), per_group = gpuc_topi_static_dim(call, 1, 1);
    if (d.groups < 1 || d.offset_groups < 1 || d.channels % d.offset_groups || outs % d.groups ||
        per_group * d.groups != d.channels)
        gpuc_topi_fail(
            call,
            "%lld channels, weight [%lld, %lld, ...], groups=%lld and deformable_groups=%lld do not fit",
            (long long)d.channels, (long long)outs, (long long)per_group, (long long)d.groups,
            (long long)d.offset_groups);
    for (int i = 0; i < d.rank; i++) {
        if (d.strides[i] < 1 || d.dilation[i] < 1)
            gpuc_topi_fail(call, "stride or dilation %d is below 1", i);
        d.kernel[i] = gpuc_topi_static_dim(call, 1, 2 + i);
        int64_t span = gpuc_topi_static_dim(call, 0, d.at.space + i) + d.padding[i] + d.padding[d.rank + i] -
                       (d.kernel[i] - 1) * d.dilation[i] - 1;
        if (span < 0 || d.kernel[i] < 1)
            gpuc_topi_fail(call, "the kernel is empty or larger than the padded input in dimension %d",
                           d.at.space + i);
        d.out[i] = span / d.strides[i] + 1;
        if (__builtin_mul_overflow(d.places, d.out[i], &d.places) || d.places > INT32_MAX)
            gpuc_topi_fail(call, "the result has too many elements");
        if (__builtin_mul_overflow(d.volume, d.kernel[i], &d.volume) || d.volume > INT32_MAX)
            gpuc_topi_fail(call, "the kernel has too many elements");
        check_dim(call, 2, d.at.space + i, d.out[i]);
        if (call->num_in > 3) check_dim(call, 3, d.at.space + i, d.out[i]);
    }
    check_dim(call, 2, d.at.channel, d.offset_groups * d.volume * d.rank);
    if (call->num_in > 3) check_dim(call, 3, d.at.channel, d.offset_groups * d.volume);
    return d;
}

static void infer_deform(gpuc_op_call *call)
{
    deform d = deform_of(call);
    gpuc_topi_taps_check(call);
    gpuc_expr dims[MAX_RANK + 2] = {call->in[0].dims[0], call->in[1].dims[0]};
    for (int i = 0; i < d.rank; i++) dims[2 + i] = gpuc_int(call->ctx, d.out[i]);
    gpuc_topi_to_layout(d.at, d.rank + 2, dims);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, d.rank + 2, dims);
}

/* The elements that a position along an axis reads: the two around it. Positions outside of the data, and NaN, read
 * nothing. */
static gpuc_taps neighbours(const gpuc_op_call *call, gpuc_expr position, int64_t extent)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = gpuc_expr_dtype(position);
    gpuc_expr low = gpuc_imm(ctx, t, -2), high = gpuc_imm(ctx, t, (double)extent + 1);
    gpuc_expr p = gpuc_select(ctx, gpuc_gt(ctx, position, low), gpuc_min(ctx, position, high), low);
    gpuc_expr floor = gpuc_call1(ctx, "floor", p), first = gpuc_topi_int_of(ctx, floor, low, high);
    gpuc_taps taps = {.count = 2, .weight = {NULL, gpuc_sub(ctx, p, floor)}};
    gpuc_expr zero = gpuc_imm_int(ctx, GPUC_INT32, 0), last = gpuc_imm_int(ctx, GPUC_INT32, extent - 1);
    for (int k = 0; k < 2; k++) {
        gpuc_expr at = gpuc_add(ctx, first, gpuc_imm_int(ctx, GPUC_INT32, k));
        taps.inside[k] = gpuc_and(ctx, gpuc_ge(ctx, at, zero), gpuc_le(ctx, at, last));
        taps.index[k] = gpuc_max(ctx, zero, gpuc_min(ctx, at, last));
    }
    return taps;
}

/* Cuts a number into an index of these sizes, the last the fastest. */
static void cut(gpuc_ctx *ctx, gpuc_expr number, int n, const int64_t *sizes, gpuc_expr *index)
{
    for (int i = n - 1; i >= 0; i--) {
        index[i] = i ? gpuc_floormod_(ctx, number, gpuc_int(ctx, sizes[i])) : number;
        if (i) number = gpuc_floordiv_(ctx, number, gpuc_int(ctx, sizes[i]));
    }
}

/* An element of the offsets or the mask, in the type of sums. */
static gpuc_expr read_beside(gpuc_ctx *ctx, const deform *d, gpuc_tensor *from, const gpuc_expr *at)
{
    gpuc_expr index[MAX_RANK + 2];
    memcpy(index, at, sizeof *at * (size_t)(d->rank + 2));
    gpuc_topi_to_layout(d->at, d->rank + 2, index);
    return gpuc_topi_widen(ctx, gpuc_te_read(ctx, from, d->rank + 2, index));
}

/* Of all images, elements of the kernel of all offset groups, and results: which elements these see. */
static gpuc_taps_table *tabulate(const gpuc_op_call *call, const deform *d, gpuc_tensor *offsets)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr dims[] = {call->in[0].dims[0], gpuc_int(ctx, d->offset_groups * d->volume),
                        gpuc_int(ctx, d->places)},
              v[3], kernel[MAX_RANK], at[MAX_RANK + 2];
    gpuc_tensor_type type = {.ndim = 3, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, v);
    cut(ctx, gpuc_floormod_(ctx, v[1], gpuc_int(ctx, d->volume)), d->rank, d->kernel, kernel);
    at[0] = v[0];
    cut(ctx, v[2], d->rank, d->out, at + 2);
    gpuc_taps taps[MAX_RANK];
    for (int i = 0; i < d->rank; i++) {
        at[1] = gpuc_add(ctx, gpuc_mul(ctx, v[1], gpuc_int(ctx, d->rank)), gpuc_int(ctx, i));
        gpuc_expr offset = read_beside(ctx, d, offsets, at);
        gpuc_expr start = gpuc_mul(ctx, at[2 + i], gpuc_int(ctx, d->strides[i]));
        start = gpuc_sub(ctx, start, gpuc_int(ctx, d->padding[i]));
        start = gpuc_add(ctx, start, gpuc_mul(ctx, kernel[i], gpuc_int(ctx, d->dilation[i])));
        gpuc_expr position = gpuc_add(ctx, gpuc_cast(ctx, gpuc_expr_dtype(offset), start), offset);
        taps[i] = neighbours(call, position, gpuc_topi_static_dim(call, 0, d->at.space + i));
    }
    return gpuc_topi_taps_tabulate(ctx, 3, axes, d->rank, taps, call->in[0].dims + d->at.space,
                                   gpuc_topi_accumulator(call->in[0].dtype));
}

/* [N, C * kernel, out]: what each element of the kernel sees. */
static gpuc_tensor *sampled(const gpuc_op_call *call, const deform *d, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_taps_table *table = tabulate(call, d, ins[2]);
    gpuc_expr dims[] = {call->in[0].dims[0], gpuc_int(ctx, d->channels * d->volume),
                        gpuc_int(ctx, d->places)},
              v[3], volume = gpuc_int(ctx, d->volume);
    gpuc_tensor_type type = {.ndim = 3, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, v);
    gpuc_expr channel = gpuc_floordiv_(ctx, v[1], volume),
              group = gpuc_floordiv_(ctx, channel, gpuc_int(ctx, d->channels / d->offset_groups));
    gpuc_expr k = gpuc_add(ctx, gpuc_mul(ctx, group, volume), gpuc_floormod_(ctx, v[1], volume));
    gpuc_expr place[] = {v[0], k, v[2]}, at[MAX_RANK + 2] = {v[0], k};
    gpuc_expr value = gpuc_topi_taps_sum(ctx, table, ins[0], d->at, v[0], channel, place);
    cut(ctx, v[2], d->rank, d->out, at + 2);
    if (call->num_in > 3) value = gpuc_mul(ctx, value, read_beside(ctx, d, ins[3], at));
    return gpuc_topi_compute(ctx, "sampled", "pad", 3, axes, value);
}

/* The product of the kernel and what it sees, of each group. */
static void deform_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    deform d = deform_of(call);
    gpuc_tensor *columns = sampled(call, &d, ins);
    int64_t per_group = gpuc_topi_static_dim(call, 1, 1) * d.volume,
            outs_per_group = gpuc_topi_static_dim(call, 1, 0) / d.groups;
    gpuc_expr dims[] = {call->in[0].dims[0], gpuc_int(ctx, d.groups), gpuc_int(ctx, outs_per_group),
                        gpuc_int(ctx, d.places)},
              v[4], vars[MAX_RANK + 2], w[MAX_RANK + 2];
    gpuc_tensor_type type = {.ndim = 4, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, v),
              *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, per_group), "k");
    gpuc_expr at = gpuc_iter_var(k);
    gpuc_expr x[] = {v[0], gpuc_add(ctx, gpuc_mul(ctx, v[1], gpuc_int(ctx, per_group)), at), v[3]};
    w[0] = gpuc_add(ctx, gpuc_mul(ctx, v[1], gpuc_int(ctx, outs_per_group)), v[2]);
    w[1] = gpuc_floordiv_(ctx, at, gpuc_int(ctx, d.volume));
    cut(ctx, gpuc_floormod_(ctx, at, gpuc_int(ctx, d.volume)), d.rank, d.kernel, w + 2);
    gpuc_expr weight = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[1], d.rank + 2, w));
    gpuc_expr sum =
        gpuc_te_reduce(ctx, "sum", gpuc_mul(ctx, weight, gpuc_te_read(ctx, columns, 3, x)), 1, &k);
    gpuc_tensor *product = gpuc_topi_compute(ctx, "product", "matmul", 4, axes, sum);

    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_topi_from_layout(d.at, d.rank + 2, vars);
    gpuc_expr place = vars[2], of = gpuc_int(ctx, outs_per_group);
    for (int i = 1; i < d.rank; i++)
        place = gpuc_add(ctx, gpuc_mul(ctx, place, gpuc_int(ctx, d.out[i])), vars[2 + i]);
    gpuc_expr from[] = {vars[0], gpuc_floordiv_(ctx, vars[1], of), gpuc_floormod_(ctx, vars[1], of), place};
    gpuc_expr value = gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, product, 4, from));
    outs[0] = gpuc_topi_compute(ctx, "conv", "injective", d.rank + 2, axes, value);
}

#define DEFORM_PADDING                                                                                       \
    {                                                                                                        \
        .name = "padding", .kind = GPUC_ATTR_INTS, .each = GPUC_EACH_SIDE, .max = GPUC_OP_MAX_WINDOW         \
    }
ATTRS(grid_specs, WINDOW_INTS("target_shape"), INT("align_corners", 1))
/* What is said of the weight, input 1, must be so. */
static void take_weight(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int n, rank = w->in && w->num_written ? w->in[0].ndim - 2 : 0, weight = w->inputs[1].from;
    const int64_t *v = gpuc_op_ints_of(w, value, &n);
    bool channels = !strcmp(spec->name, "channels");
    if (channels && n == 1 && v[0]) gpuc_op_must_be(w, spec->name, v[0], weight, 0);
    for (int i = 0; i < rank && n && !channels; i++)
        gpuc_op_must_be(w, spec->name, v[n == rank ? i : 0], weight, 2 + i);
}

ATTRS(deform_specs, SPACE_INTS("strides", 1), DEFORM_PADDING, SPACE_INTS("dilation", 1),
      WINDOW_INT("groups", 1), WINDOW_INT("deformable_groups", 1), GPUC_TOPI_DATA_LAYOUT, DATA_LAYOUTS,
      WEIGHT_ORDER("OIHW"), OUT_LAYOUT,
      SPELLED("kernel_size", INTS, take_weight, NULL, "must be that of the weight"),
      SPELLED("channels", INT, take_weight, NULL, "must be those of the weight"),
      SPELLED("out_dtype", DTYPE, gpuc_op_take_out_type, NULL, "the result is cast to it"))

const gpuc_op gpuc_topi_ops_sample[] = {
    INJECTIVE("image.affine_grid", 1, 1, grid_specs, infer_affine_grid, affine_grid_compute, "affine_grid",
              "", "AffineGrid", GPUC_T_FLOATS),
    ANCHOR("nn.deformable_conv", 3, 4, deform_specs, infer_deform, deform_compute,
           "deformable_conv2d,deformable_conv2d_nchw", "", "DeformConv", GPUC_T_FLOATS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_sample_count = sizeof gpuc_topi_ops_sample / sizeof gpuc_topi_ops_sample[0];
