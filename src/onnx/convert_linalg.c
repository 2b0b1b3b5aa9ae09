/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products by equation; determinants. */
#include "onnx/onnx.h"

static void einsum(gpuc_onnx_node *n)
{
    const char *equation = gpuc_onnx_string(n, "equation", NULL);
    if (!equation) gpuc_onnx_fail(n, "attribute 'equation' is missing");
    for (int i = 0; i < n->n_in; i++) gpuc_onnx_in(n, i);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n),
                              gpuc_attrs_string(n->ctx, NULL, "equation", equation), n->n_in, n->in);
}

const gpuc_onnx_row gpuc_onnx_rows_linalg[] = {
    {"Einsum", 12, einsum},
    {"Det", 11, gpuc_onnx_simple},
    {NULL, 0, NULL},
};
