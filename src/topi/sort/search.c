/* SPDX-License-Identifier: Apache-2.0 */
/* searchsorted: where values would stand in sorted rows. */
#include "op/rows.h"
#include "topi/accumulate.h"
#include "topi/families.h"

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
    gpuc_topi_set_out(call, 0, t, values->ndim, values->dims);
}

/* The number of elements below the value, or not above it: each is looked at, since rows are short. */
static void search_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *rows = &call->in[0];
    bool right = gpuc_attrs_get_int(call->attrs, "right", 0);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars),
              *k = gpuc_te_reduce_axis(ctx, rows->dims[rows->ndim - 1], "k");
    for (int i = 0; i < rows->ndim - 1; i++) at[i] = vars[i];
    at[rows->ndim - 1] = gpuc_iter_var(k);
    gpuc_expr x = gpuc_te_read(ctx, ins[0], rows->ndim, at),
              v = gpuc_te_read(ctx, ins[1], call->in[1].ndim, vars);
    gpuc_expr before = right ? gpuc_le(ctx, x, v) : gpuc_lt(ctx, x, v);
    gpuc_expr count = gpuc_te_reduce(ctx, "sum", gpuc_cast(ctx, call->out[0].dtype, before), 1, &k);
    outs[0] = gpuc_topi_compute(ctx, "place", "reduce", call->out[0].ndim, axes, count);
}

ATTRS(search_attrs, INT("right", 0), DTYPE_OR("dtype", GPUC_INT32))

const gpuc_op gpuc_topi_ops_search[] = {
    {.name = "searchsorted",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .attrs = search_attrs,
     .infer = infer_search,
     .compute = search_compute,
     .pattern = GPUC_FUSE_REDUCE,
     .topi = "searchsorted",
     .nnvm = "",
     .onnx = ""},
};
const size_t gpuc_topi_ops_search_count = sizeof gpuc_topi_ops_search / sizeof gpuc_topi_ops_search[0];
