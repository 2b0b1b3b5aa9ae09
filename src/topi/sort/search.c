/* SPDX-License-Identifier: Apache-2.0 */
/* searchsorted: where values would stand in rows that ascend, found by halving. A NaN is greater than any number. */
#include "op/rows.h"
#include "topi/families.h"
#include "topi/parallel.h"

static void infer_search(gpuc_op_call *call)
{
    const gpuc_tensor_type *rows = &call->in[0], *values = &call->in[1];
    gpuc_dtype t = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    char name[24];
    if (!gpuc_is_integer(t) || t.bits < 32)
        gpuc_topi_fail(call, "dtype %s cannot hold indices; int32 or int64 can", gpuc_dtype_name(t, name));
    if (rows->ndim != 1 && (rows->ndim != values->ndim || rows->ndim == 0))
        gpuc_topi_fail(call, "the sorted rows have %d dimensions, the values %d; a list is for all values",
                       rows->ndim, values->ndim);
    for (int i = 0; i < rows->ndim - 1; i++)
        gpuc_topi_same_dim(call, rows->dims[i], values->dims[i], "rows and values");
    gpuc_topi_par_countable(call, rows->dims[rows->ndim - 1]);
    gpuc_topi_par_count(call, values, values->ndim);
    gpuc_topi_set_out(call, 0, t, values->ndim, values->dims);
}

/* places[i]: of value number i in its row. */
static gpuc_stmt search_body(const gpuc_op_call *call, const gpuc_te_op *op, gpuc_expr count)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *rows = &call->in[0], *values = &call->in[1];
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), mid = gpuc_var(ctx, "mid", GPUC_INT32),
              value = gpuc_var(ctx, "value", rows->dtype), n = rows->dims[rows->ndim - 1];
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS];
    gpuc_tir_buffer *lo = gpuc_topi_par_cell(ctx, "lo", GPUC_INT32),
                    *hi = gpuc_topi_par_cell(ctx, "hi", GPUC_INT32);
    gpuc_topi_par_unravel(ctx, values->ndim, values->dims, i, index);
    for (int k = 0; k < rows->ndim - 1; k++) at[k] = index[k];
    at[rows->ndim - 1] = gpuc_topi_par_index(ctx, mid);
    gpuc_expr x = gpuc_tir_load(ctx, op->input_buffers[0], rows->ndim, at);
    gpuc_expr behind = gpuc_attrs_get_int(call->attrs, "right", 0)
                           ? gpuc_topi_order_below(ctx, value, x)
                           : gpuc_not(ctx, gpuc_topi_order_below(ctx, x, value));
    int steps = gpuc_topi_par_steps(gpuc_op_max_size(ctx, n));
    gpuc_stmt search = gpuc_topi_par_search(ctx, gpuc_topi_par_i32(ctx, 0), gpuc_topi_par_to_i32(ctx, n),
                                            steps < 31 ? steps : 31, mid, lo, hi, NULL, behind);
    gpuc_stmt store = gpuc_tir_store1(ctx, op->output_buffers[0], i, gpuc_topi_par_get(ctx, lo));
    gpuc_stmt all = gpuc_tir_alloc(ctx, lo, gpuc_tir_alloc(ctx, hi, gpuc_tir_seq2(ctx, search, store)));
    all = gpuc_tir_let(ctx, value, gpuc_tir_load(ctx, op->input_buffers[1], values->ndim, index), all);
    return gpuc_topi_par_loop(ctx, i, count, all);
}

static void search_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *values = &call->in[1];
    gpuc_expr count = gpuc_topi_par_count(call, values, values->ndim), vars[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor_type type = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &count);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "places", 2, ins, 1, &type);
    op->extern_body = search_body(call, op, count);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr number = gpuc_int(ctx, 0);
    for (int k = 0; k < values->ndim; k++)
        number = gpuc_add(ctx, gpuc_mul(ctx, number, values->dims[k]), vars[k]);
    gpuc_expr place = gpuc_te_read(ctx, op->outputs[0], 1, &number);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_cast(ctx, call->out[0].dtype, place));
}

ATTRS(search_attrs, INT("right", 0), DTYPE_OR("dtype", GPUC_INT32))

const gpuc_op gpuc_topi_ops_search[] = {
    ALONE("searchsorted", 2, 2, search_attrs, infer_search, search_compute, "searchsorted", "", "",
          GPUC_T_NUMBERS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_search_count = sizeof gpuc_topi_ops_search / sizeof gpuc_topi_ops_search[0];
