/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on quantised numbers, with the inputs of TVM's (op/quantized.h). A scale or zero point is one for the
 * tensor, or a list of one for each position of an axis. */
#include "op/quantized.h"

#include <string.h>

#include "topi/families.h"
#include "topi/nn/pool.h"
#include "topi/nn/products.h"

enum {
    DATA = GPUC_T_INT8 | GPUC_T_UINT8 | GPUC_T_INT16 | GPUC_T_UINT16,
    ZERO = DATA | GPUC_T_INT32,
    SCALE = GPUC_T_FLOAT32
};

static bool is_one(const gpuc_tensor_type *t)
{
    int64_t d;
    return t->ndim == 0 || (t->ndim == 1 && t->dims[0] && gpuc_expr_is_int(t->dims[0], &d) && d == 1);
}

/* Input i is the scale or zero point of a tensor: one, or, where axis has an extent, one for each of its positions. */
static void check_parameter(const gpuc_op_call *call, int i, const char *what, gpuc_expr axis)
{
    const gpuc_tensor_type *t = &call->in[i];
    if (is_one(t)) return;
    if (t->ndim != 1 || !axis)
        gpuc_topi_fail(call, "input %d, a %s, has %d dimensions, must be %s", i, what, t->ndim,
                       axis ? "one number, or a list along the axis" : "one number");
    gpuc_topi_require(call, gpuc_eq(call->ctx, t->dims[0], axis),
                      "input %d, a list of %ss, has %s entries for %s positions", i, what,
                      gpuc_expr_text(call->ctx, t->dims[0]), gpuc_expr_text(call->ctx, axis));
}

static void check_scale(const gpuc_op_call *call, int i, gpuc_expr axis)
{
    char name[24];
    if (!gpuc_dtype_equal(call->in[i].dtype, GPUC_FLOAT32))
        gpuc_topi_fail(call, "input %d, a scale, is %s, must be float32", i,
                       gpuc_dtype_name(call->in[i].dtype, name));
    check_parameter(call, i, "scale", axis);
}

static void check_zero(const gpuc_op_call *call, int i, gpuc_dtype of, gpuc_expr axis)
{
    char name[24], data[24];
    gpuc_dtype t = call->in[i].dtype;
    if (!gpuc_dtype_equal(t, GPUC_INT32) && !gpuc_dtype_equal(t, of))
        gpuc_topi_fail(call, "input %d, a zero point, is %s, must be int32 or, as its tensor, %s", i,
                       gpuc_dtype_name(t, name), gpuc_dtype_name(of, data));
    check_parameter(call, i, "zero point", axis);
}

/* Output 0 is what the operator on real numbers gives for the first n inputs of these types. */
static void infer_of(gpuc_op_call *call, int n, const gpuc_tensor_type *in, const gpuc_attrs *attrs)
{
    gpuc_op *row = gpuc_new(call->ctx, gpuc_op);
    *row = *gpuc_op_find(gpuc_op_quantized_find(call->op->name)->of);
    row->name = call->op->name; /* for messages */
    gpuc_op_call inner = *call;
    inner.op = row;
    inner.attrs = attrs;
    inner.num_in = n;
    inner.in = in;
    inner.in_values = gpuc_new_array(call->ctx, const gpuc_expr *, n);
    row->infer(&inner);
    call->out[0] = inner.out[0];
}

static void infer_map(gpuc_op_call *call)
{
    gpuc_tensor_type x = call->in[0];
    check_scale(call, 1, NULL);
    check_zero(call, 2, x.dtype, NULL);
    check_scale(call, 3, NULL);
    check_zero(call, 4, x.dtype, NULL);
    x.dtype = GPUC_FLOAT32;
    infer_of(call, 1, &x, call->attrs);
    call->out[0].dtype = call->in[0].dtype;
}

static gpuc_expr extent_of(const gpuc_op_call *call, int i, const char *axis)
{
    const gpuc_tensor_type *t = &call->in[i];
    return t->ndim ? t->dims[gpuc_topi_axis(call, axis, t->ndim)] : NULL;
}

static void infer_pair(gpuc_op_call *call)
{
    gpuc_dtype t = call->in[0].dtype;
    for (int i = 0; i < 2; i++) {
        gpuc_expr axis = extent_of(call, i, i ? "rhs_axis" : "lhs_axis");
        check_scale(call, 2 + 2 * i, axis);
        check_zero(call, 3 + 2 * i, t, axis);
    }
    check_scale(call, 6, NULL);
    check_zero(call, 7, t, NULL);
    infer_of(call, 2, call->in, call->attrs);
}

static void infer_join(gpuc_op_call *call)
{
    int n = (call->num_in - 2) / 3;
    char a[24], b[24];
    if (call->num_in != 3 * n + 2)
        gpuc_topi_fail(call,
                       "has %d inputs; takes n tensors, n scales, n zero points, and the result's scale and "
                       "zero point",
                       call->num_in);
    gpuc_dtype t = call->in[0].dtype;
    for (int i = 0; i < n; i++) {
        if (!gpuc_dtype_equal(call->in[i].dtype, t))
            gpuc_topi_fail(call, "input %d is %s, input 0 is %s", i, gpuc_dtype_name(call->in[i].dtype, a),
                           gpuc_dtype_name(t, b));
        check_scale(call, n + i, NULL);
        check_zero(call, 2 * n + i, t, NULL);
    }
    check_scale(call, 3 * n, NULL);
    check_zero(call, 3 * n + 1, t, NULL);
    infer_of(call, n, call->in, call->attrs);
}

/* The number of output channels, or columns, which scales and zero points of b may be for; NULL: they are not. */
static gpuc_expr channels_of(const gpuc_op_call *call, bool zero)
{
    const gpuc_tensor_type *w = &call->in[1];
    const char *name = call->op->name;
    bool transposed = !strcmp(name, "qnn.conv2d_transpose");
    int64_t groups = gpuc_attrs_get_int(call->attrs, "groups", 1);
    if (!strcmp(name, "qnn.batch_matmul") || w->ndim < 2 || (transposed && zero && groups != 1)) return NULL;
    return transposed ? gpuc_mul(call->ctx, w->dims[1], gpuc_int(call->ctx, groups)) : w->dims[0];
}

static void infer_product(gpuc_op_call *call)
{
    gpuc_dtype out = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    char a[24];
    if (!out.bits) out = GPUC_INT32;
    if (out.code != GPUC_DTYPE_INT || out.bits < 16)
        gpuc_topi_fail(call, "out_dtype is %s; sums are int16, int32 or int64", gpuc_dtype_name(out, a));
    check_zero(call, 2, call->in[0].dtype, NULL);
    check_zero(call, 3, call->in[1].dtype, channels_of(call, true));
    check_scale(call, 4, NULL);
    check_scale(call, 5, channels_of(call, false));
    infer_of(call, 2, call->in, gpuc_attrs_dtype(call->ctx, call->attrs, "out_dtype", out));
}

ATTRS(leaky, FLOAT("alpha", 0.25))
ATTRS(softmax, INT("axis", -1))
ATTRS(avg_pool, GPUC_TOPI_POOL_ATTRS, GPUC_TOPI_DATA_LAYOUT, INT("count_include_pad", 0), DATA_LAYOUTS,
      OUT_LAYOUT)
ATTRS(pair, INT("lhs_axis", -1), INT("rhs_axis", -1))
ATTRS(join, INT("axis", 0))

/* simplify_inference writes them. */
#define MAP(nm, at) ALONE("qnn." nm, 5, 5, at, infer_map, NULL, "", "", "", DATA, SCALE, ZERO, SCALE, ZERO)
#define PAIR(nm)                                                                                             \
    ALONE("qnn." nm, 8, 8, pair, infer_pair, NULL, "", "", "", DATA, GPUC_T_LIKE, SCALE, ZERO, SCALE,        \
          ZERO | SCALE)
#define PRODUCT(nm, at)                                                                                      \
    ALONE("qnn." nm, 6, 6, at, infer_product, NULL, "", "", "", DATA, DATA, ZERO, ZERO, SCALE, SCALE)

const gpuc_op gpuc_topi_ops_quantized[] = {
    MAP("abs", NULL),
    MAP("erf", NULL),
    MAP("exp", NULL),
    MAP("log", NULL),
    MAP("sqrt", NULL),
    MAP("rsqrt", NULL),
    MAP("sigmoid", NULL),
    MAP("tanh", NULL),
    MAP("hardswish", NULL),
    MAP("leaky_relu", leaky),
    MAP("softmax", softmax),
    MAP("avg_pool2d", avg_pool),
    PAIR("add"),
    PAIR("subtract"),
    PAIR("mul"),
    ALONE("qnn.concatenate", 5, -1, join, infer_join, NULL, "", "", "", DATA, ZERO | SCALE),
    PRODUCT("conv2d", gpuc_topi_conv_attrs),
    PRODUCT("conv2d_transpose", gpuc_topi_conv_transpose_attrs),
    PRODUCT("dense", gpuc_topi_dense_attrs),
    PRODUCT("batch_matmul", gpuc_topi_matmul_attrs),
};
const size_t gpuc_topi_ops_quantized_count =
    sizeof gpuc_topi_ops_quantized / sizeof gpuc_topi_ops_quantized[0];
