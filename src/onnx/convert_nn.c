/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products and normalisations. */
#include <string.h>

#include "onnx/onnx.h"

static gpuc_rexpr *transposed(gpuc_onnx_node *n, gpuc_rexpr *x)
{
    static const int64_t perm[] = {1, 0};
    return gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", 2, perm), x);
}

static gpuc_rexpr *scaled(gpuc_onnx_node *n, gpuc_rexpr *x, double factor)
{
    if (factor == 1) return x;
    return gpuc_onnx_op2(n, "multiply", x,
                         gpuc_relay_const_scalar(n->ctx, gpuc_relay_tensor_type(x)->dtype, factor));
}

static void gemm(gpuc_onnx_node *n)
{
    gpuc_rexpr *a = gpuc_onnx_in(n, 0), *b = gpuc_onnx_in(n, 1);
    if (gpuc_onnx_type(n, 0)->ndim != 2 || gpuc_onnx_type(n, 1)->ndim != 2)
        gpuc_onnx_fail(n, "A and B must be matrices");
    if (gpuc_onnx_int(n, "transA", 0)) a = transposed(n, a);
    if (!gpuc_onnx_int(n, "transB", 0)) b = transposed(n, b);
    gpuc_onnx_ignore(n, "broadcast");
    gpuc_rexpr *y = scaled(n, gpuc_onnx_op2(n, "nn.dense", a, b), gpuc_onnx_float(n, "alpha", 1));
    double beta = gpuc_onnx_float(n, "beta", 1);
    if (gpuc_onnx_has(n, 2) && beta != 0) y = gpuc_onnx_op2(n, "add", y, scaled(n, n->in[2], beta));
    n->out[0] = y;
}

static void matmul(gpuc_onnx_node *n)
{
    n->out[0] = gpuc_onnx_op2(n, "nn.matmul", gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1));
}

static void batch_norm(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "momentum");
    gpuc_onnx_ignore(n, "is_test");
    if (gpuc_onnx_int(n, "training_mode", 0))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                   "training_mode=1 is not supported: export the model for inference");
    if (!gpuc_onnx_int(n, "spatial", 1)) gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "spatial=0 is not supported");
    for (int i = 0; i < 5; i++) gpuc_onnx_in(n, i);
    const gpuc_attrs *a = gpuc_attrs_float(n->ctx, NULL, "epsilon", gpuc_onnx_float(n, "epsilon", 1e-5f));
    n->out[0] = gpuc_relay_op(n->ctx, "nn.batch_norm", a, 5, n->in);
}

static void instance_norm(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    for (int i = 0; i < 3; i++) gpuc_onnx_in(n, i);
    const gpuc_attrs *a = gpuc_attrs_float(n->ctx, NULL, "epsilon", gpuc_onnx_float(n, "epsilon", 1e-5f));
    n->out[0] = gpuc_relay_op(n->ctx, "nn.instance_norm", a, 3, n->in);
}

static void layer_norm(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "stash_type");
    const gpuc_attrs *a = gpuc_attrs_float(n->ctx, NULL, "epsilon", gpuc_onnx_float(n, "epsilon", 1e-5f));
    a = gpuc_attrs_int(n->ctx, a, "axis", gpuc_onnx_int(n, "axis", -1));
    gpuc_onnx_in(n, 1);
    n->out[0] = gpuc_relay_op(n->ctx, "nn.layer_norm", a, gpuc_onnx_has(n, 2) ? 3 : 2, n->in);
}

static void lrn(gpuc_onnx_node *n)
{
    int64_t size = gpuc_onnx_int(n, "size", 0);
    if (size < 1) gpuc_onnx_fail(n, "size is %lld", (long long)size);
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "size", size);
    a = gpuc_attrs_float(n->ctx, a, "alpha", gpuc_onnx_float(n, "alpha", 1e-4));
    a = gpuc_attrs_float(n->ctx, a, "beta", gpuc_onnx_float(n, "beta", 0.75));
    a = gpuc_attrs_float(n->ctx, a, "bias", gpuc_onnx_float(n, "bias", 1));
    n->out[0] = gpuc_onnx_op1(n, "nn.lrn", a, gpuc_onnx_in(n, 0));
}

const gpuc_onnx_row gpuc_onnx_rows_nn[] = {
    {"Gemm", 1, gemm, NULL},
    {"MatMul", 1, matmul, NULL},
    {"BatchNormalization", 1, batch_norm, NULL},
    {"InstanceNormalization", 1, instance_norm, NULL},
    {"LayerNormalization", 17, layer_norm, NULL},
    {"LRN", 1, lrn, NULL},
    {NULL, 0, NULL, NULL},
};
