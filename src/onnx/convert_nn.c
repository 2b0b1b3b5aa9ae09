/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"
#include "tir/tir.h"

static gpuc_rexpr *transposed(gpuc_onnx_node *n, gpuc_rexpr *x)
{
    static const int64_t perm[] = {1, 0};
    return gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", 2, perm), x);
}

static gpuc_rexpr *scaled(gpuc_onnx_node *n, gpuc_rexpr *x, double factor)
{
    gpuc_dtype t = gpuc_relay_tensor_type(x)->dtype;
    if (factor == 1) return x;
    if (gpuc_is_integer(t) && factor != trunc(factor))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "integers are scaled by %g: cast the inputs to float", factor);
    return gpuc_onnx_op2(n, "multiply", x, gpuc_relay_const_scalar(n->ctx, t, factor));
}

static void gemm(gpuc_onnx_node *n)
{
    gpuc_rexpr *a = gpuc_onnx_in(n, 0), *b = gpuc_onnx_in(n, 1);
    if (gpuc_onnx_type(n, 0)->ndim != 2 || gpuc_onnx_type(n, 1)->ndim != 2)
        gpuc_onnx_fail(n, "A and B must be matrices");
    if (gpuc_onnx_int(n, "transA", 0)) a = transposed(n, a);
    if (!gpuc_onnx_int(n, "transB", 0)) b = transposed(n, b);
    gpuc_onnx_ignore(n, "broadcast");
    gpuc_rexpr *y = scaled(n, gpuc_onnx_op2(n, gpuc_onnx_relay(n), a, b), gpuc_onnx_float(n, "alpha", 1));
    double beta = gpuc_onnx_float(n, "beta", 1);
    if (gpuc_onnx_has(n, 2) && beta != 0) y = gpuc_onnx_op2(n, "add", y, scaled(n, n->in[2], beta));
    n->out[0] = y;
}

static void matmul(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_op2(n, gpuc_onnx_relay(n), gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1));
}

const gpuc_onnx_row gpuc_onnx_rows_nn[] = {
    {"Gemm", 1, gemm},
    {"MatMul", 1, matmul},
    {NULL, 0, NULL},
};
