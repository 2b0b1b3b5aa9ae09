/* SPDX-License-Identifier: Apache-2.0 */
/* Products of int32 with fixed-point numbers of 31 bits: x * m * 2^(shift - 31), rounded to nearest, halves up. */
#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

static gpuc_expr shift(gpuc_ctx *ctx, const char *how, gpuc_expr x, gpuc_expr by)
{
    return gpuc_call2(ctx, how, x, gpuc_cast(ctx, GPUC_INT64, by));
}

/* round(x * 2^left * m / 2^(31 + right)) */
static gpuc_expr product(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr m, gpuc_expr left, gpuc_expr right)
{
    gpuc_expr wide = gpuc_cast(ctx, GPUC_INT64, x), by = gpuc_cast(ctx, GPUC_INT64, m);
    if (left) wide = shift(ctx, "shl", wide, left);
    gpuc_expr total = gpuc_imm_int(ctx, GPUC_INT64, 31);
    if (right) total = gpuc_add(ctx, total, gpuc_cast(ctx, GPUC_INT64, right));
    gpuc_expr one = gpuc_imm_int(ctx, GPUC_INT64, 1),
              half = shift(ctx, "shl", one, gpuc_sub(ctx, total, one));
    return gpuc_cast(ctx, GPUC_INT32, shift(ctx, "shr", gpuc_add(ctx, gpuc_mul(ctx, wide, by), half), total));
}

static void infer_fixed(gpuc_op_call *call)
{
    int64_t by = gpuc_attrs_get_int(call->attrs, "shift", 0),
            m = gpuc_attrs_get_int(call->attrs, "multiplier", 0);
    if (by < -31 || by > 31) gpuc_topi_fail(call, "shift=%lld is outside of -31 to 31", (long long)by);
    if (m < INT32_MIN || m > INT32_MAX)
        gpuc_topi_fail(call, "multiplier=%lld does not fit int32", (long long)m);
    gpuc_topi_infer_same(call);
}

static void fixed_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    int ndim = call->out[0].ndim;
    int64_t by = gpuc_attrs_get_int(call->attrs, "shift", 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr m = gpuc_imm_int(ctx, GPUC_INT32, gpuc_attrs_get_int(call->attrs, "multiplier", 0));
    gpuc_expr y = product(ctx, gpuc_te_read(ctx, ins[0], ndim, vars), m,
                          by > 0 ? gpuc_imm_int(ctx, GPUC_INT64, by) : NULL,
                          by < 0 ? gpuc_imm_int(ctx, GPUC_INT64, -by) : NULL);
    outs[0] = gpuc_topi_compute(ctx, "T", "elemwise", ndim, axes, y);
}

/* Inputs 1 to 3 have the extents of the dimensions in axes: multiplier, left shift, right shift. */
static void infer_per_axis(gpuc_op_call *call)
{
    const gpuc_attr *axes = gpuc_attrs_find(call->attrs, "axes");
    for (int i = 1; i < 4; i++) {
        if (call->in[i].ndim != axes->n)
            gpuc_topi_fail(call, "input %d has %d dimensions, axes has %d entries", i, call->in[i].ndim,
                           axes->n);
        for (int k = 0; k < axes->n; k++) {
            int64_t axis = axes->ints[k] < 0 ? axes->ints[k] + call->in[0].ndim : axes->ints[k];
            if (axis < 0 || axis >= call->in[0].ndim)
                gpuc_topi_fail(call, "axes has %lld, outside of the %d dimensions", (long long)axes->ints[k],
                               call->in[0].ndim);
            gpuc_topi_same_dim(call, call->in[i].dims[k], call->in[0].dims[axis], "input and axis");
        }
    }
    gpuc_topi_infer_same(call);
}

static void per_axis_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_attr *axes = gpuc_attrs_find(call->attrs, "axes");
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS], with[4] = {NULL};
    static const char *const needed[] = {NULL, NULL, "is_lshift_required", "is_rshift_required"};
    int ndim = call->out[0].ndim;
    gpuc_iter **iters = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int k = 0; k < axes->n; k++) at[k] = vars[axes->ints[k] < 0 ? axes->ints[k] + ndim : axes->ints[k]];
    for (int i = 1; i < 4; i++)
        if (!needed[i] || gpuc_attrs_get_int(call->attrs, needed[i], 0))
            with[i] = gpuc_te_read(ctx, ins[i], axes->n, at);
    /* Shifts are of 0 to 31. That also leaves out comparisons in 64 bits, which llvmpipe 22.3 gets wrong. */
    for (int i = 2; i < 4; i++)
        if (with[i])
            with[i] = gpuc_max(ctx, gpuc_imm_int(ctx, GPUC_INT32, 0),
                               gpuc_min(ctx, with[i], gpuc_imm_int(ctx, GPUC_INT32, 31)));
    gpuc_expr y = product(ctx, gpuc_te_read(ctx, ins[0], ndim, vars), with[1], with[2], with[3]);
    outs[0] = gpuc_topi_compute(ctx, "T", "broadcast", ndim, iters, y);
}

ATTRS(fixed_attrs, {.name = "multiplier", .kind = GPUC_ATTR_INT, .required = true},
      {.name = "shift", .kind = GPUC_ATTR_INT, .required = true})
ATTRS(per_axis_attrs, INT("is_lshift_required", 0), INT("is_rshift_required", 0), INTS("axes"))

const gpuc_op gpuc_topi_ops_fixed_point[] = {
    {.name = "fixed_point_multiply",
     .min_in = 1,
     .max_in = 1,
     .types = {GPUC_T_INT32},
     .attrs = fixed_attrs,
     .infer = infer_fixed,
     .compute = fixed_compute,
     .pattern = GPUC_FUSE_ELEMWISE,
     .topi = "fixed_point_multiply",
     .nnvm = "",
     .onnx = ""},
    {.name = "fixed_point_multiply_per_axis",
     .min_in = 4,
     .max_in = 4,
     .types = {GPUC_T_INT32},
     .attrs = per_axis_attrs,
     .infer = infer_per_axis,
     .compute = per_axis_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "fixed_point_multiply_per_axis",
     .nnvm = "",
     .onnx = ""},
};
const size_t gpuc_topi_ops_fixed_point_count =
    sizeof gpuc_topi_ops_fixed_point / sizeof gpuc_topi_ops_fixed_point[0];
