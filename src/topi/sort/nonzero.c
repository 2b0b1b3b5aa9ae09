/* SPDX-License-Identifier: Apache-2.0 */
/* Compacts the elements for which a condition holds. Their number is known on the device only: results have
 * the max extent, are zero beyond the elements that were found, and a separate result holds the number. */
#include <string.h>

#include "topi/families.h"
#include "topi/parallel.h"
#include "op/rows.h"

typedef struct condition {
    const gpuc_tir_buffer *in;
    const gpuc_tensor_type *type;
} condition;

static gpuc_expr holds(const gpuc_compact *c, gpuc_expr row, gpuc_expr i)
{
    const condition *x = c->arg;
    (void)row;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_par_unravel(c->ctx, x->type->ndim, x->type->dims, i, index);
    gpuc_expr v = gpuc_tir_load(c->ctx, x->in, x->type->ndim, index);
    return gpuc_is_bool(x->type->dtype) ? v : gpuc_ne(c->ctx, v, gpuc_imm(c->ctx, x->type->dtype, 0));
}

/* Finds the positions of nonzero elements among the first n of input `in`: outputs {positions int32 [n],
 * number int32 [1]}. */
static gpuc_te_op *found(const gpuc_op_call *call, gpuc_tensor *const *ins, int in, gpuc_expr n)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr one = gpuc_int(ctx, 1);
    gpuc_tensor_type types[] = {gpuc_topi_par_type(ctx, GPUC_INT32, 1, &n),
                                gpuc_topi_par_type(ctx, GPUC_INT32, 1, &one)};
    gpuc_te_op *op = gpuc_topi_par_extern(call, "found", 1, &ins[in], 2, types);
    condition x = {.in = op->input_buffers[0], .type = &call->in[in]};
    gpuc_compact c = {.ctx = ctx, .rows = one, .n = n, .flag = holds, .arg = &x};
    op->extern_body = gpuc_topi_compact_emit(&c, op->output_buffers[0], op->output_buffers[1], NULL);
    return op;
}

/* value where k is below the number, else zero. */
static gpuc_expr below_number(gpuc_ctx *ctx, gpuc_te_op *op, gpuc_expr k, gpuc_expr value)
{
    gpuc_expr zero = gpuc_int(ctx, 0), number = gpuc_te_read(ctx, op->outputs[1], 1, &zero);
    return gpuc_if_then_else(ctx, gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, k), number), value,
                             gpuc_imm(ctx, gpuc_expr_dtype(value), 0));
}

/* ---- argwhere: the indices of elements that are not zero, in row-major order ---- */

static void infer_argwhere(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr dims[] = {gpuc_topi_par_count(call, in, in->ndim), gpuc_topi_num(call, in->ndim)};
    gpuc_topi_set_out(call, 0, GPUC_INT64, 2, dims);
    gpuc_topi_set_out(call, 1, GPUC_INT64, 0, NULL);
    call->num_out = 2;
}

static void argwhere_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_te_op *op = found(call, ins, 0, gpuc_topi_par_count(call, in, in->ndim));
    gpuc_expr vars[2], index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr at = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[0], 1, vars)),
              value = gpuc_int(ctx, 0);
    gpuc_topi_par_unravel(ctx, in->ndim, in->dims, at, index);
    for (int k = in->ndim - 1; k >= 0; k--)
        value = gpuc_select(ctx, gpuc_eq(ctx, vars[1], gpuc_int(ctx, k)), index[k], value);
    outs[0] = gpuc_topi_injective(call, 0, axes, below_number(ctx, op, vars[0], value));
    outs[1] = gpuc_topi_par_number(call, 1, op->outputs[1]);
}

/* ---- compress: the slices along an axis whose condition holds ---- */

static void infer_compress(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *cond = &call->in[1];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (in->ndim == 0) gpuc_topi_fail(call, "the input has no dimensions");
    if (cond->ndim != 1) gpuc_topi_fail(call, "the condition has %d dimensions, needs 1", cond->ndim);
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_expr max = gpuc_topi_par_countable(call, in->dims[axis]),
              given = gpuc_topi_par_countable(call, cond->dims[0]);
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    dims[axis] = gpuc_min(call->ctx, given, max);
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
    gpuc_topi_set_out(call, 1, GPUC_INT64, 0, NULL);
    call->num_out = 2;
}

static void compress_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_rows rows = gpuc_topi_rows_of(call, &call->out[0], axis);
    gpuc_te_op *op = found(call, ins, 1, rows.n);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr k = vars[axis], at = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[0], 1, &k));
    vars[axis] =
        gpuc_topi_par_clamp(ctx, at, gpuc_int(ctx, 0), gpuc_sub(ctx, in->dims[axis], gpuc_int(ctx, 1)));
    gpuc_expr value = gpuc_te_read(ctx, ins[0], in->ndim, vars);
    outs[0] = gpuc_topi_injective(call, 0, axes, below_number(ctx, op, k, value));
    outs[1] = gpuc_topi_par_number(call, 1, op->outputs[1]);
}

ATTRS(axis_0, INT("axis", 0))

const gpuc_op gpuc_topi_ops_compact[] = {
    ALONE("argwhere", 1, 1, NULL, infer_argwhere, argwhere_compute, "argwhere,non_zero", "", "NonZero",
          GPUC_T_ANY),
    ALONE("compress", 2, 2, axis_0, infer_compress, compress_compute, "compress", "", "Compress", GPUC_T_ANY,
          GPUC_T_BOOL),
};
const size_t gpuc_topi_ops_compact_count = sizeof gpuc_topi_ops_compact / sizeof gpuc_topi_ops_compact[0];
