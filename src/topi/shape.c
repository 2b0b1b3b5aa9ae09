/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give the same bytes another shape, and those that tell a shape. */
#include "topi/families.h"
#include "topi/rows.h"
#include "topi/util.h"

/* Elements by linear position; strides of static or symbolic dims. */
static void alias_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], linear = gpuc_topi_num(call, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    const gpuc_tensor_type *in = &call->in[0], *out = &call->out[0];
    for (int k = 0; k < out->ndim; k++) linear = gpuc_add(ctx, gpuc_mul(ctx, linear, out->dims[k]), vars[k]);
    for (int k = in->ndim - 1; k >= 0; k--) {
        index[k] = k ? gpuc_floormod_(ctx, linear, in->dims[k]) : linear;
        if (k) linear = gpuc_floordiv_(ctx, linear, in->dims[k]);
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

static gpuc_expr element_count(const gpuc_op_call *call, const gpuc_tensor_type *t)
{
    gpuc_expr n = gpuc_topi_num(call, 1);
    for (int i = 0; i < t->ndim; i++) {
        if (!t->dims[i])
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "%s: dimension %d of the input is unknown",
                       call->op->name, i);
        n = gpuc_mul(call->ctx, n, t->dims[i]);
    }
    return n;
}

static void infer_reshape(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "newshape");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the new shape has %d dimensions", shape->n);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    int64_t want = 1;
    int guess = -1;
    for (int i = 0; i < shape->n; i++) {
        if (shape->ints[i] == -1) {
            if (guess >= 0) gpuc_topi_fail(call, "two dimensions of the new shape are -1");
            guess = i;
            continue;
        }
        if (shape->ints[i] < 0)
            gpuc_topi_fail(call, "dimension %lld of the new shape", (long long)shape->ints[i]);
        dims[i] = gpuc_topi_num(call, shape->ints[i]);
        if (__builtin_mul_overflow(want, shape->ints[i], &want))
            gpuc_topi_fail(call, "the new shape does not fit 63 bits");
    }
    gpuc_expr count = element_count(call, &call->in[0]), known = gpuc_topi_num(call, want);
    int64_t have;
    bool fixed = gpuc_expr_is_int(count, &have);
    if (guess >= 0) {
        if (fixed && (want == 0 || have % want))
            gpuc_topi_fail(call, "%lld elements do not divide into a shape of %lld and -1", (long long)have,
                           (long long)want);
        dims[guess] = fixed ? gpuc_topi_num(call, have / want) : gpuc_floordiv_(call->ctx, count, known);
    } else if (fixed && have != want) {
        gpuc_topi_fail(call, "%lld elements do not fit a shape of %lld", (long long)have, (long long)want);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, shape->n, dims);
    if (shape->n <= 1) call->out_values[0] = call->in_values[0];
}

static void infer_squeeze(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    bool all = gpuc_attrs_find(call->attrs, "axis")->n == 0;
    gpuc_topi_axis_flags(call, "axis", in->ndim, flags);
    int n = 0;
    for (int i = 0; i < in->ndim; i++) {
        int64_t d = -1;
        if (in->dims[i]) gpuc_expr_is_int(in->dims[i], &d);
        if (flags[i] && d == 1) continue;
        if (flags[i] && !all) gpuc_topi_fail(call, "dimension %d is not 1", i);
        dims[n++] = in->dims[i];
    }
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
    call->out_values[0] = call->in_values[0];
}

static void infer_expand_dims(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *axis = gpuc_attrs_find(call->attrs, "axis");
    int ndim = in->ndim + axis->n, from = 0;
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (ndim > GPUC_TOPI_MAX_DIMS) gpuc_topi_fail(call, "%d dimensions are too many", ndim);
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim; i++) dims[i] = axis->n && flags[i] ? gpuc_topi_num(call, 1) : in->dims[from++];
    gpuc_topi_set_out(call, 0, in->dtype, ndim, dims);
    if (ndim <= 1) call->out_values[0] = call->in_values[0];
}

static void infer_batch_flatten(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    int64_t axis = gpuc_attrs_get_int(call->attrs, "axis", 1);
    if (axis < -in->ndim || axis > in->ndim)
        gpuc_topi_fail(call, "axis=%lld is outside of the %d dimensions of the input", (long long)axis,
                       in->ndim);
    if (axis < 0) axis += in->ndim;
    gpuc_expr dims[2] = {gpuc_topi_num(call, 1), gpuc_topi_num(call, 1)};
    for (int i = 0; i < in->ndim; i++) {
        gpuc_expr *d = &dims[i >= axis];
        *d = *d && in->dims[i] ? gpuc_mul(call->ctx, *d, in->dims[i]) : NULL;
    }
    gpuc_topi_set_out(call, 0, in->dtype, 2, dims);
}

/* The second input has the shape; its elements are not read. */
static void infer_reshape_like(gpuc_op_call *call)
{
    int64_t have, want;
    const gpuc_tensor_type *like = &call->in[1];
    if (gpuc_expr_is_int(element_count(call, &call->in[0]), &have) &&
        gpuc_expr_is_int(element_count(call, like), &want) && have != want)
        gpuc_topi_fail(call, "%lld elements do not fit a shape of %lld", (long long)have, (long long)want);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, like->ndim, like->dims);
}

static void infer_ndarray_size(gpuc_op_call *call)
{
    gpuc_expr *count = gpuc_new(call->ctx, gpuc_expr);
    *count = element_count(call, &call->in[0]);
    gpuc_topi_set_out(call, 0, gpuc_attrs_find(call->attrs, "dtype")->dtype, 0, NULL);
    if (!gpuc_is_float(call->out[0].dtype)) call->out_values[0] = count;
}

static void ndarray_size_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    gpuc_expr count = gpuc_cast(call->ctx, call->out[0].dtype, element_count(call, &call->in[0]));
    outs[0] = gpuc_topi_injective(call, 0, NULL, count);
}

static void infer_shape_of(gpuc_op_call *call)
{
    gpuc_expr n = gpuc_topi_num(call, call->in[0].ndim);
    gpuc_topi_set_out(call, 0, gpuc_attrs_find(call->attrs, "dtype")->dtype, 1, &n);
    for (int i = 0; i < call->in[0].ndim; i++)
        if (!call->in[0].dims[i]) return;
    call->out_values[0] = call->in[0].dims;
}

ATTRS(newshape, INTS("newshape"))
ATTRS(axis_list, INTS("axis"))
ATTRS(axis_1, INT("axis", 1))
ATTRS(dtype_attrs, DTYPE_OR("dtype", GPUC_INT64))

#define ALIAS(nm, at, inf, tp, nn, on)                                                                       \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .attrs = at, .infer = inf, .compute = alias_compute,           \
        .alias = true, .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on                    \
    }

const gpuc_op gpuc_ops_shape[] = {
    ALIAS("reshape", newshape, infer_reshape, "reshape", "reshape", "Reshape"),
    ALIAS("nn.batch_flatten", axis_1, infer_batch_flatten, "flatten", "flatten", "Flatten"),
    ALIAS("squeeze", axis_list, infer_squeeze, "squeeze", "squeeze", "Squeeze"),
    ALIAS("expand_dims", axis_list, infer_expand_dims, "expand_dims", "expand_dims", "Unsqueeze"),
    MOVES("reshape_like", 2, 2, NULL, infer_reshape_like, alias_compute, "", "reshape_like", ""),
    MOVES("ndarray_size", 1, 1, dtype_attrs, infer_ndarray_size, ndarray_size_compute, "ndarray_size", "",
          "Size"),
    MOVES("shape_of", 1, 1, dtype_attrs, infer_shape_of, NULL, "shape", "", "Shape"),
};
const size_t gpuc_ops_shape_count = sizeof gpuc_ops_shape / sizeof gpuc_ops_shape[0];
