/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_reshape: places [n, rank] of the elements of a sparse tensor of one shape as places in another shape, of which
 * one extent may be -1: what is left. */
#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

static void infer_sparse_reshape(gpuc_op_call *call)
{
    const gpuc_tensor_type *at = &call->in[0], *from = &call->in[1], *to = &call->in[2];
    if (at->ndim != 2) gpuc_topi_fail(call, "the places have %d dimensions, must have 2", at->ndim);
    for (int i = 1; i < 3; i++)
        if (call->in[i].ndim != 1)
            gpuc_topi_fail(call, "input %d, a shape, has %d dimensions, must have 1", i, call->in[i].ndim);
    gpuc_topi_require(call, gpuc_eq(call->ctx, at->dims[1], from->dims[0]),
                      "places have %s numbers, the old shape has %s", gpuc_expr_text(call->ctx, at->dims[1]),
                      gpuc_expr_text(call->ctx, from->dims[0]));
    gpuc_topi_set_num_out(call, 2);
    gpuc_expr dims[] = {at->dims[0], to->dims[0]};
    gpuc_topi_set_out(call, 0, at->dtype, 2, dims);
    call->out[1] = *to;
}

static gpuc_expr read1(gpuc_ctx *ctx, gpuc_tensor *t, gpuc_expr i)
{
    return gpuc_te_read(ctx, t, 1, &i);
}

/* A list, or one number (n is NULL), of products of the extents of a shape: all, or those behind the index. */
static gpuc_tensor *products(gpuc_ctx *ctx, gpuc_dtype t, gpuc_tensor *shape, gpuc_expr n, bool without_rest)
{
    gpuc_tensor_type type = {.ndim = n != NULL, .dims = &n};
    gpuc_expr v = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, &v), *k;
    k = gpuc_te_reduce_axis(ctx, gpuc_te_shape(shape)[0], "k");
    gpuc_expr one = gpuc_imm_int(ctx, t, 1), each = gpuc_cast(ctx, t, read1(ctx, shape, gpuc_iter_var(k)));
    if (without_rest) each = gpuc_select(ctx, gpuc_eq(ctx, each, gpuc_imm_int(ctx, t, -1)), one, each);
    if (n) each = gpuc_select(ctx, gpuc_gt(ctx, gpuc_iter_var(k), v), each, one);
    return gpuc_topi_compute(ctx, "extents", "table", type.ndim, axes,
                             gpuc_te_reduce(ctx, "prod", each, 1, &k));
}

/* Divisors of what a shape with no element leaves of any place. */
static gpuc_expr at_least_one(gpuc_ctx *ctx, gpuc_expr e)
{
    return gpuc_max(ctx, e, gpuc_imm_int(ctx, gpuc_expr_dtype(e), 1));
}

static void sparse_reshape_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype wide = GPUC_INT64; /* places of 32 bits are of more elements */
    gpuc_expr v[2], number = call->in[0].dims[0];
    gpuc_tensor *all = products(ctx, wide, ins[1], NULL, false),
                *known = products(ctx, wide, ins[2], NULL, true);

    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[1], v);
    gpuc_expr extent = gpuc_cast(ctx, wide, read1(ctx, ins[2], v[0])),
              rest = gpuc_floordiv_(ctx, gpuc_te_read(ctx, all, 0, NULL),
                                    at_least_one(ctx, gpuc_te_read(ctx, known, 0, NULL)));
    extent = gpuc_select(ctx, gpuc_eq(ctx, extent, gpuc_imm_int(ctx, wide, -1)), rest, extent);
    outs[1] = gpuc_topi_compute(ctx, "shape", "table", 1, axes, gpuc_cast(ctx, call->out[1].dtype, extent));

    gpuc_tensor *steps = products(ctx, wide, ins[1], call->in[1].dims[0], false),
                *divisors = products(ctx, wide, outs[1], call->in[2].dims[0], false);
    gpuc_tensor_type list = {.ndim = 1, .dims = &number};
    axes = gpuc_topi_axes(ctx, &list, v);
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, call->in[1].dims[0], "k");
    gpuc_expr at[] = {v[0], gpuc_iter_var(k)};
    gpuc_expr part =
        gpuc_mul(ctx, gpuc_cast(ctx, wide, gpuc_te_read(ctx, ins[0], 2, at)), read1(ctx, steps, at[1]));
    gpuc_tensor *flat =
        gpuc_topi_compute(ctx, "flat", "table", 1, axes, gpuc_te_reduce(ctx, "sum", part, 1, &k));

    axes = gpuc_topi_axes(ctx, &call->out[0], v);
    gpuc_expr place =
        gpuc_floordiv_(ctx, read1(ctx, flat, v[0]), at_least_one(ctx, read1(ctx, divisors, v[1])));
    place = gpuc_floormod_(ctx, place, at_least_one(ctx, gpuc_cast(ctx, wide, read1(ctx, outs[1], v[1]))));
    outs[0] =
        gpuc_topi_compute(ctx, "places", "injective", 2, axes, gpuc_cast(ctx, call->out[0].dtype, place));
}

#define INDICES (GPUC_T_INT32 | GPUC_T_INT64)

const gpuc_op gpuc_topi_ops_sparse_reshape[] = {
    ALONE("sparse_reshape", 3, 3, NULL, infer_sparse_reshape, sparse_reshape_compute, "sparse_reshape", "",
          "", INDICES, INDICES, INDICES),
};
const size_t gpuc_topi_ops_sparse_reshape_count =
    sizeof gpuc_topi_ops_sparse_reshape / sizeof gpuc_topi_ops_sparse_reshape[0];
