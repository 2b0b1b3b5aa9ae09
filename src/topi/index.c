/* SPDX-License-Identifier: Apache-2.0 */
/* Elements taken by position, and elements made from their position. */
#include "topi/families.h"
#include "topi/rows.h"
#include "topi/util.h"

static bool is_empty(const gpuc_tensor_type *t)
{
    int64_t d;
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] && gpuc_expr_is_int(t->dims[i], &d) && d == 0) return true;
    return false;
}

static void infer_take(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    gpuc_expr dims[2 * GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim), n = 0;
    if (at->dtype.code != GPUC_DTYPE_INT && at->dtype.code != GPUC_DTYPE_UINT)
        gpuc_topi_fail(call, "indices must be integers");
    for (int i = 0; i < axis; i++) dims[n++] = in->dims[i];
    for (int i = 0; i < at->ndim; i++) dims[n++] = at->dims[i];
    for (int i = axis + 1; i < in->ndim; i++) dims[n++] = in->dims[i];
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
    int64_t count = 1, extent = -1;
    if (in->dims[axis]) gpuc_expr_is_int(in->dims[axis], &extent);
    if (extent == 0 && !is_empty(at)) gpuc_topi_fail(call, "dimension %d has no elements to take", axis);
    if (in->ndim != 1 || at->ndim > 1 || !call->in_values[0] || !call->in_values[1]) return;
    if (at->ndim) gpuc_expr_is_int(at->dims[0], &count);
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, count + 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t k;
        if (!gpuc_expr_is_int(call->in_values[1][i], &k)) return;
        if (k < -extent || k >= extent)
            gpuc_topi_fail(call, "index %lld is outside of %lld elements", (long long)k, (long long)extent);
        if (k < 0) k += extent;
        values[i] = call->in_values[0][k];
    }
    call->out_values[0] = values;
}

static void take_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr i = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, ins[1], at->ndim, vars + axis)),
              n = in->dims[axis];
    i = gpuc_select(ctx, gpuc_lt(ctx, i, gpuc_topi_num(call, 0)), gpuc_add(ctx, i, n), i);
    i = gpuc_max(ctx, gpuc_topi_num(call, 0), gpuc_min(ctx, i, gpuc_sub(ctx, n, gpuc_topi_num(call, 1))));
    for (int k = 0; k < in->ndim; k++) index[k] = k < axis ? vars[k] : k == axis ? i : vars[k + at->ndim - 1];
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

static void infer_arange(gpuc_op_call *call)
{
    int64_t length = gpuc_attrs_get_int(call->attrs, "length", -1), v[3];
    for (int i = 0; i < 3; i++) {
        if (call->in[i].ndim != 0 || !gpuc_dtype_equal(call->in[i].dtype, call->in[0].dtype))
            gpuc_topi_fail(call, "start, stop and step must be scalars of one type");
        if (length < 0 && (!call->in_values[i] || !gpuc_expr_is_int(call->in_values[i][0], &v[i])))
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "arange: the length is not known when building");
    }
    if (length < 0) {
        if (v[2] == 0) gpuc_topi_fail(call, "the step is 0");
        __int128 span = (__int128)v[1] - v[0], step = v[2];
        __int128 n = (span + step + (step > 0 ? -1 : 1)) / step;
        if (n > INT64_MAX) gpuc_topi_fail(call, "the length does not fit 63 bits");
        length = n > 0 ? (int64_t)n : 0;
    }
    gpuc_expr dim = gpuc_topi_num(call, length);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 1, &dim);
}

static void arange_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr i;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], &i);
    gpuc_expr start = gpuc_te_read(ctx, ins[0], 0, NULL), step = gpuc_te_read(ctx, ins[2], 0, NULL);
    gpuc_expr at = gpuc_cast(ctx, call->out[0].dtype, i);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_add(ctx, start, gpuc_mul(ctx, at, step)));
}

ATTRS(axis_0, INT("axis", 0))
ATTRS(arange_attrs, INT("length", -1))

const gpuc_op gpuc_ops_index[] = {
    MOVES("take", 2, 2, axis_0, infer_take, take_compute, "take", "take", "Gather"),
    MOVES("arange", 3, 3, arange_attrs, infer_arange, arange_compute, "arange", "", "Range"),
};
const size_t gpuc_ops_index_count = sizeof gpuc_ops_index / sizeof gpuc_ops_index[0];
