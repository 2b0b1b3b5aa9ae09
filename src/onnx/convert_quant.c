/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators. Products are convolutions and matrix products of what is left without the zero points,
 * summed in int32. */
#include "onnx/onnx.h"
#include "tir/tir.h"

static gpuc_rexpr *parametrised(gpuc_onnx_node *n, const char *op, const gpuc_attrs *a)
{
    gpuc_rexpr *args[3];
    int count = gpuc_onnx_has(n, 2) ? 3 : 2;
    for (int i = 0; i < count; i++) args[i] = gpuc_onnx_in(n, i);
    int rank = gpuc_onnx_type(n, 0)->ndim;
    int64_t axis = gpuc_onnx_int(n, "axis", 1), block = gpuc_onnx_int(n, "block_size", 0);
    bool scalar = gpuc_onnx_type(n, 1)->ndim == 0; /* then axis says nothing */
    a = gpuc_attrs_int(n->ctx, a, "axis",
                       scalar ? 0 : gpuc_onnx_axis(n, rank == 1 && axis == 1 ? 0 : axis, rank));
    return gpuc_relay_op(n->ctx, op, gpuc_attrs_int(n->ctx, a, "block_size", block), count, args);
}

/* Attribute output_dtype, or none. */
static gpuc_dtype output_type(gpuc_onnx_node *n)
{
    int64_t type = gpuc_onnx_int(n, "output_dtype", 0);
    return type ? gpuc_onnx_dtype(n->ctx, type, "attribute 'output_dtype'") : (gpuc_dtype){0};
}

static void quantize_linear(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "saturate"); /* of float8 only */
    if (gpuc_onnx_int(n, "precision", 0) == 11 &&
        !gpuc_dtype_equal(gpuc_onnx_type(n, 0)->dtype, GPUC_FLOAT64))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "precision=DOUBLE is not supported: cast the input to double");
    n->out[0] =
        parametrised(n, gpuc_onnx_relay(n), gpuc_attrs_dtype(n->ctx, NULL, "out_dtype", output_type(n)));
}

static void dequantize_linear(gpuc_onnx_node *n)
{
    n->out[0] =
        parametrised(n, gpuc_onnx_relay(n), gpuc_attrs_dtype(n->ctx, NULL, "out_dtype", output_type(n)));
}

static gpuc_rexpr *number(gpuc_onnx_node *n, double v)
{
    return gpuc_relay_const_scalar(n->ctx, GPUC_FLOAT32, v);
}

/* A float32 between 0 and 255, rounded. */
static gpuc_rexpr *as_uint8(gpuc_onnx_node *n, gpuc_rexpr *x)
{
    const gpuc_attrs *range =
        gpuc_attrs_float(n->ctx, gpuc_attrs_float(n->ctx, NULL, "a_min", 0), "a_max", 255);
    x = gpuc_onnx_op1(n, "round", NULL, gpuc_onnx_op1(n, "clip", range, x));
    return gpuc_onnx_as(n, x, GPUC_UINT8);
}

/* uint8 that covers the range of the data and 0. */
static void dynamic_quantize_linear(gpuc_onnx_node *n)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, 0), *zero = number(n, 0);
    gpuc_rexpr *min = gpuc_onnx_op2(n, "minimum", gpuc_onnx_op1(n, "min", NULL, x), zero);
    gpuc_rexpr *max = gpuc_onnx_op2(n, "maximum", gpuc_onnx_op1(n, "max", NULL, x), zero);
    gpuc_rexpr *scale = gpuc_onnx_op2(n, "divide", gpuc_onnx_op2(n, "subtract", max, min), number(n, 255));
    gpuc_rexpr *at_zero = gpuc_onnx_op2(n, "divide", gpuc_onnx_op2(n, "subtract", zero, min), scale);
    /* Of zeros only, any scale is right. */
    gpuc_rexpr *none[] = {gpuc_onnx_op2(n, "equal", scale, zero), zero, at_zero};
    gpuc_rexpr *zero_point = as_uint8(n, gpuc_relay_op(n->ctx, "where", NULL, 3, none));
    none[1] = number(n, 1);
    none[2] = scale;
    scale = gpuc_relay_op(n->ctx, "where", NULL, 3, none);
    gpuc_rexpr *args[] = {x, scale, zero_point};
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), gpuc_attrs_int(n->ctx, NULL, "axis", 0), 3, args);
    if (n->n_out > 1) n->out[1] = scale;
    if (n->n_out > 2) n->out[2] = zero_point;
}

/* A list of parameters, one for each position of dimension `axis` of a tensor of rank ndim; others broadcast
 * as they are. */
static gpuc_rexpr *along(gpuc_onnx_node *n, gpuc_rexpr *p, int axis, int ndim)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(p);
    int64_t axes[GPUC_OP_MAX_DIMS];
    int count = ndim - 1 - axis;
    if (t->ndim != 1 || count <= 0) return p;
    for (int i = 0; i < count; i++) axes[i] = 1 + i;
    return gpuc_onnx_op1(n, "expand_dims", gpuc_attrs_ints(n->ctx, NULL, "axis", count, axes), p);
}

static bool is_zero(const gpuc_rconstant *c)
{
    for (size_t i = 0; c && i < c->data->size; i++)
        if (((const char *)c->data->bytes)[i]) return false;
    return c != NULL;
}

/* Input x without zero point input `zero`, which has one element per position of axis, or one. */
static gpuc_rexpr *centered(gpuc_onnx_node *n, int x, int zero, int axis)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, x);
    char name[24];
    if (!gpuc_is_integer(t->dtype) || t->dtype.bits != 8)
        gpuc_onnx_fail(n, "input %d is %s, needs int8 or uint8", x, gpuc_dtype_name(t->dtype, name));
    if (!gpuc_onnx_has(n, zero) || is_zero(gpuc_onnx_constant_in(n, zero))) return gpuc_onnx_in(n, x);
    if (!gpuc_dtype_equal(gpuc_onnx_type(n, zero)->dtype, t->dtype))
        gpuc_onnx_fail(n, "input %d is a zero point of another type than input %d", zero, x);
    gpuc_rexpr *q = gpuc_onnx_as(n, gpuc_onnx_in(n, x), GPUC_INT16);
    gpuc_rexpr *z = along(n, gpuc_onnx_as(n, gpuc_onnx_in(n, zero), GPUC_INT16), axis, t->ndim);
    return gpuc_onnx_op2(n, "subtract", q, z);
}

static gpuc_rexpr *conv_of(gpuc_onnx_node *n, gpuc_rexpr *x, gpuc_rexpr *w, gpuc_rexpr *bias)
{
    gpuc_rexpr *args[] = {x, w, bias};
    gpuc_onnx_node inner = *n;
    inner.in = args;
    inner.n_in = 3;
    return gpuc_onnx_conv(&inner, GPUC_INT32);
}

static gpuc_rexpr *product(gpuc_onnx_node *n, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {a, b};
    return gpuc_relay_op(n->ctx, "nn.matmul", gpuc_attrs_dtype(n->ctx, NULL, "out_dtype", GPUC_INT32), 2,
                         args);
}

static int row_axis(gpuc_onnx_node *n, int i)
{
    int ndim = gpuc_onnx_type(n, i)->ndim;
    return ndim < 2 ? 0 : ndim - 2;
}

static void matmul_integer(gpuc_onnx_node *n)
{
    int columns = gpuc_onnx_type(n, 1)->ndim - 1;
    n->out[0] = product(n, centered(n, 0, 2, row_axis(n, 0)), centered(n, 1, 3, columns));
}

static void conv_integer(gpuc_onnx_node *n)
{
    n->out[0] = conv_of(n, centered(n, 0, 2, 1), centered(n, 1, 3, 0), NULL);
}

/* sums in the type of the zero point, input `scale` + 1 */
static gpuc_rexpr *requantized(gpuc_onnx_node *n, gpuc_rexpr *sums, gpuc_rexpr *scales, int scale, int axis)
{
    int ndim = gpuc_relay_tensor_type(sums)->ndim;
    gpuc_rexpr *y_scale = along(n, gpuc_onnx_in(n, scale), axis, ndim);
    gpuc_rexpr *args[] = {sums, gpuc_onnx_op2(n, "divide", scales, y_scale),
                          along(n, gpuc_onnx_in(n, scale + 1), axis, ndim)};
    return gpuc_relay_op(n->ctx, "qnn.requantize", NULL, 3, args);
}

static void qlinear_conv(gpuc_onnx_node *n)
{
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    gpuc_rexpr *bias = gpuc_onnx_has(n, 8) ? n->in[8] : NULL;
    gpuc_rexpr *sums = conv_of(n, centered(n, 0, 2, 1), centered(n, 3, 5, 0), bias);
    gpuc_rexpr *scales =
        gpuc_onnx_op2(n, "multiply", gpuc_onnx_in(n, 1), along(n, gpuc_onnx_in(n, 4), 1, ndim));
    n->out[0] = requantized(n, sums, scales, 6, 1);
}

static void qlinear_matmul(gpuc_onnx_node *n)
{
    int columns = gpuc_onnx_type(n, 3)->ndim - 1;
    gpuc_rexpr *sums = product(n, centered(n, 0, 2, row_axis(n, 0)), centered(n, 3, 5, columns));
    int ndim = gpuc_relay_tensor_type(sums)->ndim, rows = ndim < 2 ? 0 : ndim - 2;
    gpuc_rexpr *a = along(n, gpuc_onnx_in(n, 1), rows, ndim), *b = gpuc_onnx_in(n, 4);
    n->out[0] = requantized(n, sums, gpuc_onnx_op2(n, "multiply", a, b), 6, rows);
}

const gpuc_onnx_row gpuc_onnx_rows_quant[] = {
    {"QuantizeLinear", 10, quantize_linear},
    {"DequantizeLinear", 10, dequantize_linear},
    {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
    {"MatMulInteger", 10, matmul_integer},
    {"ConvInteger", 10, conv_integer},
    {"QLinearConv", 10, qlinear_conv},
    {"QLinearMatMul", 10, qlinear_matmul},
    {NULL, 0, NULL},
};
