/* SPDX-License-Identifier: Apache-2.0 */
/* A slice whose bounds are tensors: begin, end and strides of the first dimensions. Its extents are those of
 * the attribute sizes, or follow from bounds that are known when building. */
#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

/* The number of elements that begin:end:stride takes of d; negative bounds count from the end, and bounds are
 * clamped. */
static int64_t slice_length(int64_t d, int64_t begin, int64_t end, int64_t stride)
{
    int64_t lo = stride > 0 ? 0 : -1, hi = stride > 0 ? d : d - 1;
    if (begin < 0) begin += d;
    if (end < 0) end += d;
    begin = begin < lo ? lo : begin > hi ? hi : begin;
    end = end < lo ? lo : end > hi ? hi : end;
    __int128 span = stride > 0 ? (__int128)end - begin : (__int128)begin - end;
    __int128 step = stride > 0 ? stride : -(__int128)stride;
    return span > 0 ? (int64_t)((span + step - 1) / step) : 0;
}

static bool known_value(const gpuc_op_call *call, int input, int i, int64_t *out)
{
    return call->in_values[input] && gpuc_expr_is_int(call->in_values[input][i], out);
}

static int64_t length_of(const gpuc_op_call *call, int i)
{
    int64_t begin, end, stride = 1;
    bool known = known_value(call, 1, i, &begin) && known_value(call, 2, i, &end);
    if (call->num_in > 3) known &= known_value(call, 3, i, &stride);
    if (!known)
        gpuc_raise(call->ctx, GPUC_UNSUPPORTED,
                   "%s: the bounds of dimension %d are not known when building: give the extents as sizes",
                   call->op->name, i);
    if (stride == 0) gpuc_topi_fail(call, "the stride of dimension %d is 0", i);
    return slice_length(gpuc_topi_static_dim(call, 0, i), begin, end, stride);
}

static void infer_dynamic_slice(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *sizes = gpuc_attrs_find(call->attrs, "sizes");
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
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
    if (sizes->n && sizes->n != n)
        gpuc_topi_fail(call, "sizes has %d entries, needs %lld", sizes->n, (long long)n);
    for (int i = 0; i < in->ndim; i++) {
        dims[i] = in->dims[i];
        if (i >= n) continue;
        int64_t length = sizes->n ? sizes->ints[i] : length_of(call, i);
        if (length < 0) gpuc_topi_fail(call, "size %lld of dimension %d", (long long)length, i);
        if (length > 0 && gpuc_topi_static_dim(call, 0, i) == 0)
            gpuc_topi_fail(call, "dimension %d has no elements to take", i);
        dims[i] = gpuc_topi_num(call, length);
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

ATTRS(slice_attrs, INTS_UP_TO("sizes", GPUC_OP_MAX_WINDOW))

const gpuc_op gpuc_topi_ops_dynamic_slice[] = {
    MOVES_OF("dyn.strided_slice", 3, 4, slice_attrs, infer_dynamic_slice, dynamic_slice_compute,
             "dynamic_strided_slice", "", "", GPUC_T_ANY, GPUC_T_INTS),
};
const size_t gpuc_topi_ops_dynamic_slice_count =
    sizeof gpuc_topi_ops_dynamic_slice / sizeof gpuc_topi_ops_dynamic_slice[0];
