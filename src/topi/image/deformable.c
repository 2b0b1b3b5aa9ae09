/* SPDX-License-Identifier: Apache-2.0 */
/* Data sampled between its elements, at positions that are data themselves. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

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
    bool corners = gpuc_attrs_get_int(call->attrs, "align_corners", 0);
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
 * offset [N, og*kernel*r, out], mask [N, og*kernel, out]. Positions outside of the data are zeros. ---- */

typedef struct deform {
    int rank;
    const int64_t *strides, *padding, *dilation;
    int64_t groups, offset_groups, channels, volume; /* of the kernel */
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
    deform d = {.rank = data->ndim - 2, .volume = 1};
    if (d.rank < 1 || d.rank > MAX_RANK) gpuc_topi_fail(call, "data of %d dimensions", data->ndim);
    for (int i = 1; i < call->num_in; i++)
        if (call->in[i].ndim != data->ndim)
            gpuc_topi_fail(call, "input %d has another rank than the data", i);
    d.strides = gpuc_topi_ints(call, "strides", d.rank);
    d.padding = gpuc_topi_ints(call, "padding", 2 * d.rank);
    d.dilation = gpuc_topi_ints(call, "dilation", d.rank);
    d.groups = gpuc_attrs_get_int(call->attrs, "groups", 1);
    d.offset_groups = gpuc_attrs_get_int(call->attrs, "deformable_groups", 1);
    d.channels = gpuc_topi_static_dim(call, 0, 1);
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
        int64_t span = gpuc_topi_static_dim(call, 0, 2 + i) + d.padding[i] + d.padding[d.rank + i] -
                       (d.kernel[i] - 1) * d.dilation[i] - 1;
        if (span < 0 || d.kernel[i] < 1)
            gpuc_topi_fail(call, "the kernel is empty or larger than the padded input in dimension %d",
                           2 + i);
        d.out[i] = span / d.strides[i] + 1;
        if (__builtin_mul_overflow(d.volume, d.kernel[i], &d.volume) || d.volume > INT32_MAX)
            gpuc_topi_fail(call, "the kernel has too many elements");
        check_dim(call, 2, 2 + i, d.out[i]);
        if (call->num_in > 3) check_dim(call, 3, 2 + i, d.out[i]);
    }
    check_dim(call, 2, 1, d.offset_groups * d.volume * d.rank);
    if (call->num_in > 3) check_dim(call, 3, 1, d.offset_groups * d.volume);
    return d;
}

static void infer_deform(gpuc_op_call *call)
{
    deform d = deform_of(call);
    gpuc_expr dims[MAX_RANK + 2] = {call->in[0].dims[0], call->in[1].dims[0]};
    for (int i = 0; i < d.rank; i++) dims[2 + i] = gpuc_int(call->ctx, d.out[i]);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, d.rank + 2, dims);
}

/* The data between its elements at a position: products of the weights of neighbours along each axis. */
static gpuc_expr interpolate(const gpuc_op_call *call, const deform *d, gpuc_tensor *data,
                             const gpuc_expr *n_c, const gpuc_expr *position)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr low[MAX_RANK], part[MAX_RANK], sum = NULL, x[MAX_RANK + 2] = {n_c[0], n_c[1]};
    gpuc_dtype t = gpuc_expr_dtype(position[0]);
    for (int i = 0; i < d->rank; i++) {
        double extent = (double)gpuc_topi_static_dim(call, 0, 2 + i);
        /* positions far outside, and NaN, are clamped to just outside: they fit an index and read nothing */
        gpuc_expr p =
            gpuc_select(ctx, gpuc_gt(ctx, position[i], gpuc_imm(ctx, t, -2)),
                        gpuc_min(ctx, position[i], gpuc_imm(ctx, t, extent + 1)), gpuc_imm(ctx, t, -2));
        gpuc_expr floor = gpuc_call1(ctx, "floor", p);
        low[i] = gpuc_cast(ctx, GPUC_INDEX, floor);
        part[i] = gpuc_sub(ctx, p, floor);
    }
    for (int corner = 0; corner < 1 << d->rank; corner++) {
        gpuc_expr weight = NULL, inside = NULL;
        for (int i = 0; i < d->rank; i++) {
            int up = corner >> i & 1;
            gpuc_expr w = up ? part[i] : gpuc_sub(ctx, gpuc_imm(ctx, t, 1), part[i]);
            weight = weight ? gpuc_mul(ctx, weight, w) : w;
            x[2 + i] = gpuc_add(ctx, low[i], gpuc_int(ctx, up));
            gpuc_expr ok = gpuc_and(ctx, gpuc_ge(ctx, x[2 + i], gpuc_int(ctx, 0)),
                                    gpuc_lt(ctx, x[2 + i], call->in[0].dims[2 + i]));
            inside = inside ? gpuc_and(ctx, inside, ok) : ok;
        }
        gpuc_expr v = gpuc_mul(ctx, weight, gpuc_topi_widen(ctx, gpuc_te_read(ctx, data, d->rank + 2, x)));
        v = gpuc_if_then_else(ctx, inside, v, gpuc_imm(ctx, t, 0));
        sum = sum ? gpuc_add(ctx, sum, v) : v;
    }
    return sum;
}

/* [N, C, kernel, out]: what each position of the kernel sees. */
static gpuc_tensor *sampled(const gpuc_op_call *call, const deform *d, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = 2 + 2 * d->rank;
    gpuc_expr dims[2 + 2 * MAX_RANK] = {call->in[0].dims[0], call->in[0].dims[1]}, vars[2 + 2 * MAX_RANK];
    gpuc_expr position[MAX_RANK] = {NULL}, at[MAX_RANK + 2];
    for (int i = 0; i < d->rank; i++) {
        dims[2 + i] = gpuc_int(ctx, d->kernel[i]);
        dims[2 + d->rank + i] = gpuc_int(ctx, d->out[i]);
    }
    gpuc_tensor_type t = {.ndim = ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    gpuc_expr group = gpuc_floordiv_(ctx, vars[1], gpuc_int(ctx, d->channels / d->offset_groups)), k = group;
    for (int i = 0; i < d->rank; i++)
        k = gpuc_add(ctx, gpuc_mul(ctx, k, gpuc_int(ctx, d->kernel[i])), vars[2 + i]);
    at[0] = vars[0];
    for (int i = 0; i < d->rank; i++) at[2 + i] = vars[2 + d->rank + i];
    for (int i = 0; i < d->rank; i++) {
        at[1] = gpuc_add(ctx, gpuc_mul(ctx, k, gpuc_int(ctx, d->rank)), gpuc_int(ctx, i));
        gpuc_expr offset = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[2], d->rank + 2, at));
        gpuc_expr start = gpuc_mul(ctx, vars[2 + d->rank + i], gpuc_int(ctx, d->strides[i]));
        start = gpuc_sub(ctx, start, gpuc_int(ctx, d->padding[i]));
        start = gpuc_add(ctx, start, gpuc_mul(ctx, vars[2 + i], gpuc_int(ctx, d->dilation[i])));
        position[i] = gpuc_add(ctx, gpuc_cast(ctx, gpuc_expr_dtype(offset), start), offset);
    }
    gpuc_expr value = interpolate(call, d, ins[0], vars, position);
    at[1] = k;
    if (call->num_in > 3)
        value = gpuc_mul(ctx, value, gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[3], d->rank + 2, at)));
    return gpuc_topi_compute(ctx, "sampled", "pad", ndim, axes, value);
}

static void deform_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    deform d = deform_of(call);
    gpuc_tensor *columns = sampled(call, &d, ins);
    gpuc_expr vars[MAX_RANK + 2], x[2 + 2 * MAX_RANK], w[MAX_RANK + 2];
    gpuc_iter *over[MAX_RANK + 1], **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int64_t per_group = gpuc_topi_static_dim(call, 1, 1),
            outs_per_group = gpuc_topi_static_dim(call, 1, 0) / d.groups;
    over[0] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, per_group), "ic");
    gpuc_expr ic = gpuc_iter_var(over[0]), group = gpuc_int(ctx, 0);
    if (d.groups > 1) group = gpuc_floordiv_(ctx, vars[1], gpuc_int(ctx, outs_per_group));
    x[0] = vars[0];
    x[1] = gpuc_add(ctx, gpuc_mul(ctx, group, gpuc_int(ctx, per_group)), ic);
    w[0] = vars[1];
    w[1] = ic;
    for (int i = 0; i < d.rank; i++) {
        over[1 + i] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, d.kernel[i]), i == d.rank - 1 ? "kx" : "ky");
        x[2 + i] = w[2 + i] = gpuc_iter_var(over[1 + i]);
        x[2 + d.rank + i] = vars[2 + i];
    }
    gpuc_expr value = gpuc_te_read(ctx, columns, 2 + 2 * d.rank, x);
    gpuc_expr weight = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[1], d.rank + 2, w));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", gpuc_mul(ctx, value, weight), d.rank + 1, over);
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "conv", "conv", d.rank + 2, axes, sum));
}

#define DEFORM_PADDING                                                                                       \
    {                                                                                                        \
        .name = "padding", .kind = GPUC_ATTR_INTS, .each = GPUC_EACH_SIDE, .max = GPUC_OP_MAX_WINDOW         \
    }
ATTRS(grid_specs, WINDOW_INTS("target_shape"), INT("align_corners", 0))
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
      WINDOW_INT("groups", 1), WINDOW_INT("deformable_groups", 1), NCHW_ONLY("data_layout"),
      ONLY("kernel_layout", STRING, "OIHW"), OUT_LAYOUT,
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
