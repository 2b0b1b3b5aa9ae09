/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that take a shape from a second tensor, and tensors of one value. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

/* ---- One value ---- */

static void infer_shaped(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "shape");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the shape has %d dimensions", shape->n);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    for (int i = 0; i < shape->n; i++) {
        dims[i] = gpuc_attr_size(call->ctx, shape, i);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)),
                          "dimension %d of the shape is %s", i, gpuc_expr_text(call->ctx, dims[i]));
    }
    gpuc_topi_set_out(call, 0, gpuc_attrs_find(call->attrs, "dtype")->dtype, shape->n, dims);
}

static void check_number(const gpuc_op_call *call, int i)
{
    if (call->in[i].ndim)
        gpuc_topi_fail(call, "the value has %d dimensions, must be one number", call->in[i].ndim);
}

/* Without dtype, of the value's type. */
static void infer_full(gpuc_op_call *call)
{
    check_number(call, 0);
    infer_shaped(call);
    if (!call->out[0].dtype.bits) call->out[0].dtype = call->in[0].dtype;
}

static void infer_full_like(gpuc_op_call *call)
{
    check_number(call, 1);
    gpuc_topi_infer_same(call);
}

static void fill(const gpuc_op_call *call, gpuc_expr value, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_cast(call->ctx, call->out[0].dtype, value));
}

static void zeros_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    fill(call, gpuc_imm(call->ctx, call->out[0].dtype, 0), outs);
}

static void ones_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    fill(call, gpuc_imm(call->ctx, call->out[0].dtype, 1), outs);
}

/* The last input is the value. */
static void full_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    fill(call, gpuc_te_read(call->ctx, ins[call->num_in - 1], 0, NULL), outs);
}

/* ---- The shape of another tensor ---- */

/* Dimensions of input 1 that the attributes axis and exclude name. */
static void like_flags(const gpuc_op_call *call, bool *flags)
{
    int ndim = call->in[1].ndim;
    bool exclude = gpuc_attrs_get_int(call->attrs, "exclude", 0);
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim && exclude; i++) flags[i] = !flags[i];
}

/* The named dimensions are new ones. */
static void infer_expand_like(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *like = &call->in[1];
    bool fresh[GPUC_TOPI_MAX_DIMS];
    int at = 0;
    like_flags(call, fresh);
    for (int i = 0; i < like->ndim; i++) {
        if (fresh[i]) continue;
        if (at < in->ndim) gpuc_topi_require_expands(call, in->dims[at], like->dims[i], "input");
        at++;
    }
    if (at != in->ndim)
        gpuc_topi_fail(call, "the input has %d dimensions, %d dimensions are not new", in->ndim, at);
    gpuc_topi_set_out(call, 0, in->dtype, like->ndim, like->dims);
}

static void expand_like_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    bool fresh[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor_type t = {.dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    like_flags(call, fresh);
    for (int i = 0; i < call->in[1].ndim; i++) {
        if (fresh[i]) continue;
        dims[t.ndim] = call->out[0].dims[i];
        index[t.ndim++] = vars[i];
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_topi_read_broadcast(call->ctx, ins[0], &t, index));
}

static void infer_slice_like(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *like = &call->in[1];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    bool cut[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_axis_flags(call, "axis", in->ndim, cut);
    for (int i = 0; i < in->ndim; i++) {
        dims[i] = in->dims[i];
        if (!cut[i]) continue;
        if (i >= like->ndim) gpuc_topi_fail(call, "the second input has no dimension %d", i);
        dims[i] = like->dims[i];
        if (in->dims[i] && dims[i])
            gpuc_topi_require(call, gpuc_le(call->ctx, dims[i], in->dims[i]),
                              "dimension %d of %s cannot be cut to %s", i,
                              gpuc_expr_text(call->ctx, in->dims[i]), gpuc_expr_text(call->ctx, dims[i]));
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void slice_like_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(call->ctx, ins[0], call->in[0].ndim, vars));
}

static void infer_broadcast_to_like(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *like = &call->in[1];
    int more = like->ndim - in->ndim;
    if (more < 0) gpuc_topi_fail(call, "the second input has fewer dimensions than the first");
    for (int i = 0; i < in->ndim; i++)
        gpuc_topi_require_expands(call, in->dims[i], like->dims[more + i], "input");
    gpuc_topi_set_out(call, 0, in->dtype, like->ndim, like->dims);
}

static void broadcast_to_like_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    outs[0] =
        gpuc_topi_injective(call, 0, axes, gpuc_topi_read_broadcast(call->ctx, ins[0], &call->out[0], vars));
}

/* Undoes a broadcast by sums. */
static void infer_collapse(gpuc_op_call *call, const gpuc_tensor_type *like)
{
    const gpuc_tensor_type *in = &call->in[0];
    int lead = in->ndim - like->ndim;
    if (lead < 0) gpuc_topi_fail(call, "the result has more dimensions than the input");
    for (int i = 0; i < like->ndim; i++)
        if (gpuc_topi_broadcast_dim(call, like->dims[i], in->dims[lead + i]) != in->dims[lead + i])
            gpuc_topi_fail(call, "dimension %d of the result does not broadcast to the input", i);
    gpuc_topi_set_out(call, 0, in->dtype, like->ndim, like->dims);
}

static void infer_collapse_sum(gpuc_op_call *call)
{
    infer_collapse(call, &call->in[1]);
}

static void infer_collapse_sum_to(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "shape");
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    if (shape->n > call->in[0].ndim) gpuc_topi_fail(call, "the result has more dimensions than the input");
    for (int i = 0; i < shape->n; i++) dims[i] = gpuc_attr_size(call->ctx, shape, i);
    infer_collapse(call, &(gpuc_tensor_type){.ndim = shape->n, .dims = dims});
}

/* TVM: the shape is input 1. */
static void take_shape_input(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_expr *dims;
    if (value) gpuc_op_set_attr(w, spec->name, value);
    if (value || w->num_written != 2) return;
    int n = gpuc_op_values_of(w, 1, &dims);
    if (n < 0)
        gpuc_raise(w->ctx, GPUC_UNSUPPORTED, "%s: the shape, input 1, must be known when building", w->name);
    gpuc_op_set_sizes(w, spec->name, n, dims);
    w->num_in = 1;
    w->changed = true;
}

static void collapse_sum_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    int lead = in->ndim - call->out[0].ndim, reduced = 0;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter *over[GPUC_TOPI_MAX_DIMS], **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < in->ndim; i++) {
        int64_t d;
        bool keeps = i >= lead && !(gpuc_expr_is_int(call->out[0].dims[i - lead], &d) && d == 1);
        if (!keeps) over[reduced] = gpuc_te_reduce_axis(ctx, in->dims[i], "r");
        index[i] = keeps ? vars[i - lead] : gpuc_iter_var(over[reduced++]);
    }
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], in->ndim, index));
    if (reduced) x = gpuc_te_reduce(ctx, "sum", x, reduced, over);
    outs[0] = gpuc_topi_rounded(
        call, gpuc_topi_compute(ctx, "T", reduced ? "reduce" : "injective", call->out[0].ndim, axes, x));
}

/* The value as a number, in place of the last input. */
static void take_fill_value(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    bool like = w->op->min_in == 2;
    const gpuc_attr *type = gpuc_attrs_find(w->attrs, "dtype");
    gpuc_dtype t = like && w->in && w->num_in ? w->in[0].dtype
                   : type && type->dtype.bits ? type->dtype
                                              : GPUC_FLOAT32;
    if (w->num_in != w->op->min_in - 1)
        gpuc_op_written_fail(w, "%s and %d inputs; one of these is the value", spec->name, w->num_in);
    gpuc_op_constant_input(w, w->num_in++, (gpuc_tensor_type){.dtype = t},
                           value->kind == GPUC_ATTR_INT ? (double)value->i : value->f);
}
#define FILL_VALUE SPELLED("fill_value", FLOAT, take_fill_value, NULL, "the value, where no input is it")

ATTRS(shaped, SIZES("shape"), DTYPE_OR("dtype", GPUC_FLOAT32))
ATTRS(filled, SIZES("shape"), {.name = "dtype", .kind = GPUC_ATTR_DTYPE}, FILL_VALUE)
ATTRS(filled_like, FILL_VALUE)
ATTRS(like_axes, INTS("axis"), INT("exclude", 0))
ATTRS(collapse_attrs, SIZES("shape"),
      {.name = "shape",
       .kind = GPUC_ATTR_INTS,
       .take = take_shape_input,
       .always = true,
       .about = "input 1 where it is not given"})
ATTRS(axis_list, INTS("axis"), SAME("axes", INTS, "axis"))

const gpuc_op gpuc_topi_ops_like[] = {
    MOVES("zeros", 0, 0, shaped, infer_shaped, zeros_compute, "", "zeros", ""),
    MOVES("ones", 0, 0, shaped, infer_shaped, ones_compute, "", "ones", ""),
    MOVES("full", 1, 1, filled, infer_full, full_compute, "full", "full", ""),
    MOVES("zeros_like", 1, 1, NULL, gpuc_topi_infer_same, zeros_compute, "", "zeros_like", ""),
    MOVES("ones_like", 1, 1, NULL, gpuc_topi_infer_same, ones_compute, "", "ones_like", ""),
    MOVES("full_like", 2, 2, filled_like, infer_full_like, full_compute, "full_like", "full_like", ""),
    MOVES("broadcast_to_like", 2, 2, NULL, infer_broadcast_to_like, broadcast_to_like_compute,
          "broadcast_to_like", "", ""),
    MOVES("expand_like", 2, 2, like_axes, infer_expand_like, expand_like_compute, "", "expand_like", ""),
    MOVES("slice_like", 2, 2, axis_list, infer_slice_like, slice_like_compute, "", "slice_like", ""),
    {.name = "collapse_sum_like",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS},
     .infer = infer_collapse_sum,
     .compute = collapse_sum_compute,
     .pattern = GPUC_FUSE_REDUCE,
     .topi = "",
     .nnvm = "collapse_sum",
     .onnx = ""},
    {.name = "collapse_sum_to",
     .min_in = 1,
     .max_in = 1,
     .types = {GPUC_T_NUMBERS},
     .attrs = collapse_attrs,
     .infer = infer_collapse_sum_to,
     .compute = collapse_sum_compute,
     .pattern = GPUC_FUSE_REDUCE,
     .topi = "collapse_sum_to",
     .nnvm = "",
     .onnx = ""},
};
const size_t gpuc_topi_ops_like_count = sizeof gpuc_topi_ops_like / sizeof gpuc_topi_ops_like[0];
