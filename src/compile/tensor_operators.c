/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the table on tensors of tensor expressions (gpuc/topi.h). A call is made as Relay makes it, so that
 * names and attributes of other systems are understood in one place, and computed from the tensors. */
#include <gpuc/topi.h>

#include "relay_pass/passes.h"

enum { FOLD_LIMIT = 1 << 20 /* bytes of constants: a call has only those that its attributes make */ };

static void check_operands(gpuc_ctx *ctx, const char *name, int n, gpuc_tensor *const *ins)
{
    if (!name) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "an operator on tensors: the name is NULL");
    if (n < 0 || (n > 0 && !ins))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the operands are %s", name,
                   n < 0 ? "fewer than 0" : "NULL");
    for (int i = 0; i < n; i++) {
        if (!ins[i]) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: operand %d is NULL", name, i);
        gpuc_te_need_tensor(ctx, ins[i], gpuc_ctx_printf(ctx, "%s: operand %d", name, i));
    }
}

/* The body of the call with what passes write as simpler operators. */
static gpuc_rexpr *simplified(gpuc_ctx *ctx, gpuc_rexpr *e, int n, gpuc_rexpr *const *args)
{
    gpuc_relay_pass_ctx p = {.ctx = ctx, .module = gpuc_rmodule_create(ctx), .fold_limit = FOLD_LIMIT};
    gpuc_rmodule_set_main(p.module, n, args, 1, &e, NULL);
    gpuc_relay_pass_simplify_inference(&p);
    return gpuc_as_rfunction(gpuc_rmodule_get(p.module, "main"))->body;
}

static gpuc_tensor **call(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs, int n,
                          gpuc_tensor *const *ins, int *num_out)
{
    check_operands(ctx, name, n, ins);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, n);
    gpuc_tensor **operands = gpuc_new_array(ctx, gpuc_tensor *, n);
    gpuc_map tensors;
    gpuc_map_init(&tensors, ctx);
    for (int i = 0; i < n; i++) {
        gpuc_dtype t = gpuc_te_dtype(ins[i]);
        operands[i] = ins[i];
        args[i] =
            gpuc_relay_var(ctx, gpuc_te_name(ins[i]),
                           gpuc_relay_rtype_tensor(ctx, t, gpuc_te_ndim(ins[i]), gpuc_te_shape(ins[i])));
        gpuc_map_set(&tensors, args[i], &operands[i]);
    }
    gpuc_rexpr *e = gpuc_relay_op(ctx, name, attrs, n, args);
    if (e->type->unknown)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: the elements of operands decide the extents of the result",
                   name);
    return gpuc_relay_results(ctx, simplified(ctx, e, n, args), NULL, &tensors, num_out);
}

int gpuc_topi_call(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs, int num_in,
                   gpuc_tensor *const *ins, int max_out, gpuc_tensor **outs)
{
    int n;
    gpuc_tensor **results = call(ctx, name, attrs, num_in, ins, &n);
    if (n > 0 && !outs) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the place for the results is NULL", name);
    if (n > max_out)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: there are %d results, and room for %d", name, n, max_out);
    for (int i = 0; i < n; i++) outs[i] = results[i];
    return n;
}

static gpuc_tensor *only(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs, int n,
                         gpuc_tensor *const *ins)
{
    int num_out;
    gpuc_tensor **results = call(ctx, name, attrs, n, ins, &num_out);
    if (num_out != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: there are %d results: use gpuc_topi_call", name, num_out);
    return results[0];
}

gpuc_tensor *gpuc_topi(gpuc_ctx *ctx, const char *name, gpuc_tensor *const *ins, int num_in, const char *text)
{
    check_operands(ctx, name, num_in, ins);
    const gpuc_attrs *attrs = NULL;
    if (text && *text) {
        gpuc_op_name what = gpuc_op_lookup_name(ctx, name);
        if (!what.op && !what.alias) gpuc_op_get(ctx, name);
        attrs = gpuc_op_parse_attrs(ctx, &what, text);
    }
    return only(ctx, name, attrs, num_in, ins);
}

/* ---- Element by element ---- */

#define UNARY(name)                                                                                          \
    gpuc_tensor *gpuc_topi_##name(gpuc_ctx *ctx, gpuc_tensor *x)                                             \
    {                                                                                                        \
        return only(ctx, #name, NULL, 1, &x);                                                                \
    }
UNARY(abs)
UNARY(negative)
UNARY(sign)
UNARY(exp)
UNARY(log)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(sin)
UNARY(cos)
UNARY(tanh)
UNARY(erf)
UNARY(sigmoid)
UNARY(floor)
UNARY(ceil)
UNARY(round)
UNARY(trunc)
UNARY(logical_not)

#define BINARY(name)                                                                                         \
    gpuc_tensor *gpuc_topi_##name(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b)                             \
    {                                                                                                        \
        return only(ctx, #name, NULL, 2, (gpuc_tensor *[]){a, b});                                           \
    }
BINARY(add)
BINARY(subtract)
BINARY(multiply)
BINARY(divide)
BINARY(power)
BINARY(maximum)
BINARY(minimum)
BINARY(equal)
BINARY(not_equal)
BINARY(less)
BINARY(less_equal)
BINARY(greater)
BINARY(greater_equal)
BINARY(logical_and)
BINARY(logical_or)

gpuc_tensor *gpuc_topi_where(gpuc_ctx *ctx, gpuc_tensor *cond, gpuc_tensor *a, gpuc_tensor *b)
{
    return only(ctx, "where", NULL, 3, (gpuc_tensor *[]){cond, a, b});
}

gpuc_tensor *gpuc_topi_cast(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_dtype dtype)
{
    return only(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", dtype), 1, &x);
}

gpuc_tensor *gpuc_topi_clip(gpuc_ctx *ctx, gpuc_tensor *x, double min, double max)
{
    return only(ctx, "clip", gpuc_attrs_float(ctx, gpuc_attrs_float(ctx, NULL, "a_min", min), "a_max", max),
                1, &x);
}

/* a with a list of integers, which a caller may have forgotten. */
static const gpuc_attrs *ints(gpuc_ctx *ctx, const char *op, const gpuc_attrs *a, const char *name, int n,
                              const int64_t *v)
{
    if (n < 0 || (n > 0 && !v))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s %s", op, name,
                   n < 0 ? "has fewer than 0 entries" : "is NULL");
    return gpuc_attrs_ints(ctx, a, name, n, v);
}

static const gpuc_attrs *sizes(gpuc_ctx *ctx, const char *op, const char *name, int n, const gpuc_expr *v)
{
    if (n < 0 || (n > 0 && !v))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s %s", op, name,
                   n < 0 ? "has fewer than 0 entries" : "is NULL");
    for (int i = 0; i < n; i++)
        gpuc_te_check_place(ctx, v[i], op, gpuc_ctx_printf(ctx, "entry %d of %s", i, name));
    return gpuc_attrs_sizes(ctx, NULL, name, n, v);
}

/* ---- Reductions ---- */

static const gpuc_attrs *over(gpuc_ctx *ctx, const char *op, int n, const int64_t *axes, bool keepdims)
{
    return gpuc_attrs_int(ctx, ints(ctx, op, NULL, "axis", n, axes), "keepdims", keepdims);
}

#define REDUCE(name)                                                                                         \
    gpuc_tensor *gpuc_topi_##name(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes, bool keepdims)  \
    {                                                                                                        \
        return only(ctx, #name, over(ctx, #name, n, axes, keepdims), 1, &x);                                 \
    }
REDUCE(sum)
REDUCE(prod)
REDUCE(max)
REDUCE(min)
REDUCE(mean)

gpuc_tensor *gpuc_topi_argmax(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis, bool keepdims)
{
    return only(ctx, "argmax", over(ctx, "argmax", 1, &axis, keepdims), 1, &x);
}

gpuc_tensor *gpuc_topi_argmin(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis, bool keepdims)
{
    return only(ctx, "argmin", over(ctx, "argmin", 1, &axis, keepdims), 1, &x);
}

/* ---- Shapes ---- */

static int ndim_of(gpuc_ctx *ctx, const char *name, gpuc_tensor *x)
{
    check_operands(ctx, name, 1, &x);
    return gpuc_te_ndim(x);
}

gpuc_tensor *gpuc_topi_transpose(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *axes)
{
    int n = ndim_of(ctx, "transpose", x);
    return only(ctx, "transpose", axes ? ints(ctx, "transpose", NULL, "axes", n, axes) : NULL, 1, &x);
}

gpuc_tensor *gpuc_topi_reshape(gpuc_ctx *ctx, gpuc_tensor *x, int n, const gpuc_expr *shape)
{
    return only(ctx, "reshape", sizes(ctx, "reshape", "newshape", n, shape), 1, &x);
}

gpuc_tensor *gpuc_topi_broadcast_to(gpuc_ctx *ctx, gpuc_tensor *x, int n, const gpuc_expr *shape)
{
    return only(ctx, "broadcast_to", sizes(ctx, "broadcast_to", "shape", n, shape), 1, &x);
}

gpuc_tensor *gpuc_topi_expand_dims(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis, int64_t count)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "axis", 1, &axis);
    return only(ctx, "expand_dims", gpuc_attrs_int(ctx, a, "num_newaxis", count), 1, &x);
}

gpuc_tensor *gpuc_topi_squeeze(gpuc_ctx *ctx, gpuc_tensor *x, int n, const int64_t *axes)
{
    return only(ctx, "squeeze", ints(ctx, "squeeze", NULL, "axis", n, axes), 1, &x);
}

gpuc_tensor *gpuc_topi_concatenate(gpuc_ctx *ctx, int n, gpuc_tensor *const *xs, int64_t axis)
{
    return only(ctx, "concatenate", gpuc_attrs_int(ctx, NULL, "axis", axis), n, xs);
}

gpuc_tensor *gpuc_topi_strided_slice(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *begin, const int64_t *end,
                                     const int64_t *strides)
{
    int n = ndim_of(ctx, "strided_slice", x);
    const gpuc_attrs *a = ints(ctx, "strided_slice", NULL, "begin", n, begin);
    a = ints(ctx, "strided_slice", a, "end", n, end);
    return only(ctx, "strided_slice", ints(ctx, "strided_slice", a, "strides", n, strides), 1, &x);
}

gpuc_tensor *gpuc_topi_take(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_tensor *indices, int64_t axis)
{
    return only(ctx, "take", gpuc_attrs_int(ctx, NULL, "axis", axis), 2, (gpuc_tensor *[]){x, indices});
}

/* ---- Neural networks ---- */

gpuc_tensor *gpuc_topi_nn_relu(gpuc_ctx *ctx, gpuc_tensor *x)
{
    return only(ctx, "nn.relu", NULL, 1, &x);
}

gpuc_tensor *gpuc_topi_nn_softmax(gpuc_ctx *ctx, gpuc_tensor *x, int64_t axis)
{
    return only(ctx, "nn.softmax", gpuc_attrs_int(ctx, NULL, "axis", axis), 1, &x);
}

gpuc_tensor *gpuc_topi_nn_dense(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_tensor *weight, gpuc_tensor *bias)
{
    return only(ctx, "nn.dense", NULL, bias ? 3 : 2, (gpuc_tensor *[]){x, weight, bias});
}

gpuc_tensor *gpuc_topi_nn_matmul(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b, bool a_transposed,
                                 bool b_transposed)
{
    const gpuc_attrs *attrs = gpuc_attrs_int(ctx, NULL, "transpose_a", a_transposed);
    attrs = gpuc_attrs_int(ctx, attrs, "transpose_b", b_transposed);
    return only(ctx, "nn.matmul", attrs, 2, (gpuc_tensor *[]){a, b});
}

gpuc_tensor *gpuc_topi_nn_conv2d(gpuc_ctx *ctx, gpuc_tensor *x, gpuc_tensor *weight, const int64_t *strides,
                                 const int64_t *padding, const int64_t *dilation, int64_t groups)
{
    const gpuc_attrs *a = ints(ctx, "nn.conv2d", NULL, "strides", 2, strides);
    a = ints(ctx, "nn.conv2d", a, "padding", 4, padding);
    a = ints(ctx, "nn.conv2d", a, "dilation", 2, dilation);
    return only(ctx, "nn.conv2d", gpuc_attrs_int(ctx, a, "groups", groups), 2, (gpuc_tensor *[]){x, weight});
}

static gpuc_tensor *pool(gpuc_ctx *ctx, const char *name, gpuc_tensor *x, const int64_t *window,
                         const int64_t *strides, const int64_t *padding)
{
    const gpuc_attrs *a = ints(ctx, name, NULL, "pool_size", 2, window);
    a = ints(ctx, name, a, "strides", 2, strides);
    return only(ctx, name, ints(ctx, name, a, "padding", 4, padding), 1, &x);
}

gpuc_tensor *gpuc_topi_nn_max_pool2d(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *window,
                                     const int64_t *strides, const int64_t *padding)
{
    return pool(ctx, "nn.max_pool2d", x, window, strides, padding);
}

gpuc_tensor *gpuc_topi_nn_avg_pool2d(gpuc_ctx *ctx, gpuc_tensor *x, const int64_t *window,
                                     const int64_t *strides, const int64_t *padding)
{
    return pool(ctx, "nn.avg_pool2d", x, window, strides, padding);
}
