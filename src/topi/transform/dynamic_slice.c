/* SPDX-License-Identifier: Apache-2.0 */
/* A slice whose bounds are tensors: begin, end and strides of the first dimensions. Its extents are those of
 * the attribute sizes, or follow from the bounds (op/dynamic.h). */
#include <string.h>

#include "op/dynamic.h"
#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

static void infer_dynamic_slice(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *sizes = gpuc_attrs_find(call->attrs, "sizes");
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], zero = gpuc_topi_num(call, 0);
    int64_t n = -1;
    for (int i = 1; i < call->num_in; i++) {
        if (call->in[i].ndim != 1)
            gpuc_topi_fail(call, "input %d has %d dimensions, needs 1", i, call->in[i].ndim);
        int64_t have = gpuc_topi_static_dim(call, i, 0);
        if (n >= 0 && have != n)
            gpuc_topi_fail(call, "the bounds have %lld and %lld entries", (long long)n, (long long)have);
        n = have;
    }
    if (n > in->ndim) gpuc_topi_fail(call, "there are %lld bounds for %d dimensions", (long long)n, in->ndim);
    if (!sizes->n && n) {
        gpuc_op_dynamic_infer(call);
        return;
    }
    if (sizes->n != n) gpuc_topi_fail(call, "sizes has %d entries, needs %lld", sizes->n, (long long)n);
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    for (int i = 0; i < n; i++) {
        dims[i] = gpuc_attr_size(call->ctx, sizes, i);
        gpuc_expr none = gpuc_eq(call->ctx, dims[i], zero), some = gpuc_gt(call->ctx, in->dims[i], zero);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], zero), "size %s of dimension %d",
                          gpuc_expr_text(call->ctx, dims[i]), i);
        gpuc_topi_require(call, gpuc_or(call->ctx, none, some), "dimension %d has no elements to take", i);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static gpuc_expr bound(const gpuc_op_call *call, gpuc_tensor *t, int i)
{
    gpuc_expr at = gpuc_topi_num(call, i);
    return gpuc_cast(call->ctx, GPUC_INDEX, gpuc_te_read(call->ctx, t, 1, &at));
}

static gpuc_expr clamped(gpuc_ctx *ctx, gpuc_expr e, gpuc_expr last)
{
    return gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, e, last));
}

static void dynamic_slice_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    int64_t n = gpuc_topi_static_dim(call, 1, 0);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], zero = gpuc_topi_num(call, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < n && i < ndim; i++) {
        gpuc_expr d = call->in[0].dims[i], last = gpuc_sub(ctx, d, gpuc_topi_num(call, 1));
        gpuc_expr begin = bound(call, ins[1], i), stride = gpuc_topi_num(call, 1);
        /* A stride beyond the extent acts like the extent: it is clamped so that products do not overflow. */
        if (call->num_in > 3)
            stride = gpuc_max(ctx, gpuc_sub(ctx, zero, d), gpuc_min(ctx, bound(call, ins[3], i), d));
        begin = gpuc_select(ctx, gpuc_lt(ctx, begin, zero), gpuc_add(ctx, begin, d), begin);
        vars[i] = gpuc_add(ctx, clamped(ctx, begin, last), gpuc_mul(ctx, vars[i], stride));
        vars[i] = clamped(ctx, vars[i], last);
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], ndim, vars));
}

ATTRS(slice_attrs, SIZES_UP_TO("sizes", GPUC_OP_MAX_WINDOW))

const gpuc_op gpuc_topi_ops_dynamic_slice[] = {
    MOVES_OF("dyn.strided_slice", 3, 4, slice_attrs, infer_dynamic_slice, dynamic_slice_compute,
             "dynamic_strided_slice", "", "", GPUC_T_ANY, GPUC_T_INTS),
};
const size_t gpuc_topi_ops_dynamic_slice_count =
    sizeof gpuc_topi_ops_dynamic_slice / sizeof gpuc_topi_ops_dynamic_slice[0];
