/* SPDX-License-Identifier: Apache-2.0 */
/* Losses. */
#include <string.h>

#include "onnx/onnx.h"

static gpuc_rexpr *negative_log_likelihood(gpuc_onnx_node *n, gpuc_rexpr *log_prob)
{
    gpuc_rexpr *args[] = {log_prob, gpuc_onnx_in(n, 1), gpuc_onnx_has(n, 2) ? n->in[2] : NULL};
    const gpuc_attrs *a =
        gpuc_attrs_string(n->ctx, NULL, "reduction", gpuc_onnx_string(n, "reduction", "mean"));
    /* A class number that no target has, so that nothing is ignored. */
    a = gpuc_attrs_int(n->ctx, a, "ignore_index", gpuc_onnx_int(n, "ignore_index", INT64_MIN));
    return gpuc_relay_op(n->ctx, "nn.nll_loss", a, args[2] ? 3 : 2, args);
}

static void nll_loss(gpuc_onnx_node *n)
{
    n->out[0] = negative_log_likelihood(n, gpuc_onnx_in(n, 0));
}

static void softmax_cross_entropy(gpuc_onnx_node *n)
{
    gpuc_rexpr *log_prob =
        gpuc_onnx_op1(n, "nn.log_softmax", gpuc_attrs_int(n->ctx, NULL, "axis", 1), gpuc_onnx_in(n, 0));
    n->out[0] = negative_log_likelihood(n, log_prob);
    if (n->n_out > 1) n->out[1] = log_prob;
}

const gpuc_onnx_row gpuc_onnx_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, nll_loss},
    {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy},
    {NULL, 0, NULL},
};
