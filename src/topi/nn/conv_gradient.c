/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a convolution's weight [O, C/groups, kernel] from that of its result [N, O, space] and from its data
 * [N, C, space], in any spatial rank. */
#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

enum { MAX_RANK = 3 };

typedef struct gradient {
    int rank;
    const int64_t *strides, *dilation;
    gpuc_expr padding[2 * MAX_RANK];
    int64_t groups;
} gradient;

static gradient gradient_of(const gpuc_op_call *call)
{
    gradient g = {.rank = call->in[1].ndim - 2, .groups = gpuc_attrs_get_int(call->attrs, "groups", 1)};
    if (g.rank < 1 || g.rank > MAX_RANK || call->in[0].ndim != call->in[1].ndim)
        gpuc_topi_fail(call,
                       "a gradient of %d dimensions and data of %d; both have [N, C, space], of up to %d",
                       call->in[0].ndim, call->in[1].ndim, 2 + MAX_RANK);
    g.strides = gpuc_topi_ints(call, "strides", g.rank);
    g.dilation = gpuc_topi_ints(call, "dilation", g.rank);
    gpuc_topi_sizes(call, "padding", 2 * g.rank, g.padding);
    for (int i = 0; i < g.rank; i++)
        if (g.strides[i] < 1 || g.dilation[i] < 1)
            gpuc_topi_fail(call, "stride or dilation %d is below 1", i);
    if (g.groups < 1) gpuc_topi_fail(call, "groups is below 1");
    return g;
}

/* The extent of the kernel along an axis: what is written, or the largest for which the data are enough. */
static gpuc_expr kernel_of(const gpuc_op_call *call, const gradient *g, int i, const gpuc_attr *size)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr one = gpuc_int(ctx, 1), steps = gpuc_sub(ctx, call->in[0].dims[2 + i], one);
    gpuc_expr space =
        gpuc_add(ctx, call->in[1].dims[2 + i], gpuc_add(ctx, g->padding[i], g->padding[g->rank + i]));
    gpuc_expr rest =
        gpuc_sub(ctx, gpuc_sub(ctx, space, gpuc_mul(ctx, steps, gpuc_int(ctx, g->strides[i]))), one);
    gpuc_expr largest = gpuc_add(ctx, gpuc_floordiv_(ctx, rest, gpuc_int(ctx, g->dilation[i])), one);
    gpuc_expr kernel = size->n ? gpuc_int(ctx, size->ints[i]) : largest;
    gpuc_topi_require(call, gpuc_and(ctx, gpuc_ge(ctx, kernel, one), gpuc_le(ctx, kernel, largest)),
                      "the kernel, or the gradient, is too large for the padded data in dimension %d", 2 + i);
    return kernel;
}

static void infer_gradient(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    gradient g = gradient_of(call);
    const gpuc_attr *size = gpuc_attrs_find(call->attrs, "kernel_size");
    gpuc_dtype out = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    int64_t rows = gpuc_topi_static_dim(call, 0, 1), channels = gpuc_topi_static_dim(call, 1, 1),
            wanted = gpuc_attrs_get_int(call->attrs, "channels", 0);
    gpuc_expr dims[2 + MAX_RANK];
    if (size->n && size->n != g.rank)
        gpuc_topi_fail(call, "kernel_size has %d entries, not %d", size->n, g.rank);
    if (rows % g.groups || channels % g.groups)
        gpuc_topi_fail(call, "%lld and %lld channels are no multiples of groups=%lld", (long long)rows,
                       (long long)channels, (long long)g.groups);
    if (wanted && wanted != rows)
        gpuc_topi_fail(call, "channels=%lld, but the gradient has %lld", (long long)wanted, (long long)rows);
    gpuc_topi_same_dim(call, call->in[0].dims[0], call->in[1].dims[0], "the batches of gradient and data");
    dims[0] = gpuc_int(ctx, rows);
    dims[1] = gpuc_int(ctx, channels / g.groups);
    for (int i = 0; i < g.rank; i++) dims[2 + i] = kernel_of(call, &g, i, size);
    gpuc_topi_set_out(call, 0, out.bits ? out : call->in[0].dtype, 2 + g.rank, dims);
}

static void gradient_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gradient g = gradient_of(call);
    gpuc_dtype sum = gpuc_topi_accumulator(call->out[0].dtype);
    gpuc_expr vars[2 + MAX_RANK], from[2 + MAX_RANK], at[2 + MAX_RANK], inside = gpuc_imm_int(ctx, GPUC_BOOL, 1);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars), *over[1 + MAX_RANK];
    over[0] = gpuc_te_reduce_axis(ctx, call->in[0].dims[0], "rn");
    for (int i = 0; i < g.rank; i++) over[1 + i] = gpuc_te_reduce_axis(ctx, call->in[0].dims[2 + i], "r");
    int64_t rows = gpuc_topi_static_dim(call, 0, 1), channels = gpuc_topi_static_dim(call, 1, 1);
    gpuc_expr group = gpuc_floordiv_(ctx, vars[0], gpuc_int(ctx, rows / g.groups));
    from[0] = at[0] = gpuc_iter_var(over[0]);
    from[1] = vars[0];
    at[1] = gpuc_add(ctx, gpuc_mul(ctx, group, gpuc_int(ctx, channels / g.groups)), vars[1]);
    for (int i = 0; i < g.rank; i++) {
        from[2 + i] = gpuc_iter_var(over[1 + i]);
        gpuc_expr x = gpuc_mul(ctx, from[2 + i], gpuc_int(ctx, g.strides[i]));
        x = gpuc_add(ctx, x, gpuc_mul(ctx, vars[2 + i], gpuc_int(ctx, g.dilation[i])));
        at[2 + i] = gpuc_sub(ctx, x, g.padding[i]);
        inside = gpuc_and(ctx, inside, gpuc_ge(ctx, at[2 + i], gpuc_int(ctx, 0)));
        inside = gpuc_and(ctx, inside, gpuc_lt(ctx, at[2 + i], call->in[1].dims[2 + i]));
    }
    int n = 2 + g.rank;
    gpuc_expr data =
        gpuc_if_then_else(ctx, inside, gpuc_te_read(ctx, ins[1], n, at), gpuc_imm(ctx, call->in[1].dtype, 0));
    gpuc_expr value =
        gpuc_mul(ctx, gpuc_cast(ctx, sum, gpuc_te_read(ctx, ins[0], n, from)), gpuc_cast(ctx, sum, data));
    gpuc_tensor *all = gpuc_topi_compute(ctx, "gradient", "reduce", n, axes,
                                         gpuc_te_reduce(ctx, "sum", value, 1 + g.rank, over));
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    outs[0] = gpuc_topi_compute(ctx, "weight", "elemwise", n, axes,
                                gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, all, n, vars)));
}

ATTRS(attrs, SPACE_INTS("strides", 1), SIDE_SIZES("padding"), SPACE_INTS("dilation", 1), INT("groups", 1),
      INT("channels", 0), INTS_UP_TO("kernel_size", GPUC_OP_MAX_WINDOW),
      {.name = "out_dtype", .kind = GPUC_ATTR_DTYPE}, ONLY("grad_layout", STRING, "NCHW"),
      ONLY("data_layout", STRING, "NCHW"), ONLY("kernel_layout", STRING, "OIHW"),
      ONLY("out_layout", STRING, "NCHW,"))

const gpuc_op gpuc_topi_ops_conv_gradient[] = {
    ANCHOR("nn.conv2d_backward_weight", 2, 2, attrs, infer_gradient, gradient_compute, "", "", "",
           GPUC_T_FLOATS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_conv_gradient_count =
    sizeof gpuc_topi_ops_conv_gradient / sizeof gpuc_topi_ops_conv_gradient[0];
