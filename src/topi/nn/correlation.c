/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation of two images: patches of one with those of the other that are displaced by up to so many pixels, each
 * displacement a channel of the result (Dosovitskiy et al. 2015, FlowNet, section 3). */
#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

typedef struct correlation {
    int64_t kernel, reach, stride1, stride2;
    int64_t radius, size; /* of displacements along an axis: in steps of stride2, and their number */
    gpuc_expr padding[4];
} correlation;

static int64_t at_least(const gpuc_op_call *call, const char *attr, int64_t min)
{
    int64_t v = gpuc_attrs_get_int(call->attrs, attr, 1);
    if (v < min) gpuc_topi_fail(call, "%s=%lld is below %lld", attr, (long long)v, (long long)min);
    return v;
}

static correlation correlation_of(const gpuc_op_call *call)
{
    correlation c = {.kernel = at_least(call, "kernel_size", 1),
                     .reach = at_least(call, "max_displacement", 0),
                     .stride1 = at_least(call, "stride1", 1),
                     .stride2 = at_least(call, "stride2", 1)};
    if (c.kernel % 2 == 0) gpuc_topi_fail(call, "kernel_size=%lld is even", (long long)c.kernel);
    c.radius = c.reach / c.stride2;
    c.size = 2 * c.radius + 1;
    gpuc_topi_sizes(call, "padding", 4, c.padding);
    return c;
}

static void infer_correlation(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *a = &call->in[0], *b = &call->in[1];
    gpuc_expr dims[4], same[4];
    if (a->ndim != 4 || b->ndim != 4)
        gpuc_topi_fail(call, "takes data of 4 dimensions, not %d and %d", a->ndim, b->ndim);
    correlation c = correlation_of(call);
    for (int k = 0; k < 4; k++) same[k] = gpuc_topi_same_dim(call, a->dims[k], b->dims[k], "the two images");
    dims[0] = same[0];
    dims[1] = gpuc_int(ctx, c.size * c.size);
    for (int i = 0; i < 2; i++) {
        gpuc_expr span = gpuc_add(ctx, same[2 + i], gpuc_add(ctx, c.padding[i], c.padding[2 + i]));
        span = gpuc_sub(ctx, span, gpuc_int(ctx, 2 * c.reach + c.kernel - 1));
        gpuc_topi_require(call, gpuc_ge(ctx, span, gpuc_int(ctx, 0)),
                          "the kernel and displacements are larger than the padded input in dimension %d",
                          2 + i);
        span = gpuc_add(ctx, span, gpuc_int(ctx, c.stride1 - 1));
        dims[2 + i] = gpuc_floordiv_(ctx, span, gpuc_int(ctx, c.stride1));
    }
    gpuc_topi_set_out(call, 0, a->dtype, 4, dims);
}

/* The element at a position of the padded image. */
static gpuc_expr padded(const gpuc_op_call *call, const correlation *c, gpuc_tensor *t, const gpuc_expr *at)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr x[] = {at[0], at[1], NULL, NULL}, inside = NULL;
    for (int i = 2; i < 4; i++) {
        x[i] = gpuc_sub(ctx, at[i], c->padding[i - 2]);
        gpuc_expr ok =
            gpuc_and(ctx, gpuc_ge(ctx, x[i], gpuc_int(ctx, 0)), gpuc_lt(ctx, x[i], gpuc_te_shape(t)[i]));
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_dtype sum = gpuc_topi_accumulator(call->out[0].dtype);
    gpuc_expr value = gpuc_cast(ctx, sum, gpuc_te_read(ctx, t, 4, x));
    return gpuc_if_then_else(ctx, inside, value, gpuc_imm(ctx, sum, 0));
}

static void correlation_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    correlation c = correlation_of(call);
    gpuc_expr vars[4], a[4], b[4], size = gpuc_int(ctx, c.size);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, call->in[0].dims[1], "rc"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c.kernel), "ry"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c.kernel), "rx")};
    gpuc_expr step[] = {gpuc_floordiv_(ctx, vars[1], size), gpuc_floormod_(ctx, vars[1], size)};
    a[0] = b[0] = vars[0];
    a[1] = b[1] = gpuc_iter_var(over[0]);
    for (int i = 0; i < 2; i++) {
        gpuc_expr from =
            gpuc_add(ctx, gpuc_mul(ctx, vars[2 + i], gpuc_int(ctx, c.stride1)), gpuc_int(ctx, c.reach));
        a[2 + i] = gpuc_add(ctx, from, gpuc_iter_var(over[1 + i]));
        gpuc_expr by =
            gpuc_mul(ctx, gpuc_sub(ctx, step[i], gpuc_int(ctx, c.radius)), gpuc_int(ctx, c.stride2));
        b[2 + i] = gpuc_add(ctx, a[2 + i], by);
    }
    gpuc_expr x = padded(call, &c, ins[0], a), y = padded(call, &c, ins[1], b);
    gpuc_expr value = gpuc_attrs_get_int(call->attrs, "is_multiply", 1)
                          ? gpuc_mul(ctx, x, y)
                          : gpuc_call1(ctx, "abs", gpuc_sub(ctx, x, y));
    gpuc_tensor *sum =
        gpuc_topi_compute(ctx, "correlation", "reduce", 4, axes, gpuc_te_reduce(ctx, "sum", value, 3, over));
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr count = gpuc_mul(ctx, call->in[0].dims[1], gpuc_int(ctx, c.kernel * c.kernel));
    value = gpuc_te_read(ctx, sum, 4, vars);
    value = gpuc_div(ctx, value, gpuc_cast(ctx, gpuc_expr_dtype(value), count));
    outs[0] = gpuc_topi_compute(ctx, "mean", "elemwise", 4, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

ATTRS(attrs, WINDOW_INT("kernel_size", 1), WINDOW_INT("max_displacement", 1), WINDOW_INT("stride1", 1),
      WINDOW_INT("stride2", 1), SIDE_SIZES("padding"), INT("is_multiply", 1), ONLY("layout", STRING, "NCHW"))

const gpuc_op gpuc_topi_ops_correlation[] = {
    ANCHOR("nn.correlation", 2, 2, attrs, infer_correlation, correlation_compute, "", "", "", GPUC_T_FLOATS,
           GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_correlation_count =
    sizeof gpuc_topi_ops_correlation / sizeof gpuc_topi_ops_correlation[0];
