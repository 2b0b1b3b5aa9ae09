/* SPDX-License-Identifier: Apache-2.0 */
/* Converts activation functions. */
#include <string.h>

#include "onnx/onnx.h"

/* ONNX's default, which is that of the row but for one that TVM has another for. */
static double default_of(gpuc_onnx_node *n, const gpuc_attr_spec *spec)
{
    return !strcmp(gpuc_onnx_relay(n), "nn.leaky_relu") ? 0.01 : spec->f;
}

/* The operator that the row names, whose float attributes have ONNX's names. */
static void with_floats(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = NULL;
    gpuc_onnx_ignore(n, "consumed_inputs");
    for (const gpuc_attr_spec *spec = gpuc_onnx_op(n)->attrs; spec && spec->name; spec++)
        a = gpuc_attrs_float(n->ctx, a, spec->name, gpuc_onnx_float(n, spec->name, default_of(n, spec)));
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), a, gpuc_onnx_in(n, 0));
}

static void gelu(gpuc_onnx_node *n)
{
    const char *how = gpuc_onnx_string(n, "approximate", "none");
    bool tanh = !strcmp(how, "tanh");
    if (!tanh && strcmp(how, "none")) gpuc_onnx_fail(n, "approximate '%s' is neither none nor tanh", how);
    n->out[0] = gpuc_onnx_op1(n, gpuc_onnx_relay(n), gpuc_attrs_int(n->ctx, NULL, "approximate", tanh),
                              gpuc_onnx_in(n, 0));
}

/* Before opset 7, one slope for all or one for each channel. */
static void prelu_1(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    int ndim = gpuc_onnx_type(n, 0)->ndim;
    if (gpuc_onnx_type(n, 1)->ndim == 1 && ndim > 1) {
        gpuc_expr *dims = gpuc_new_array(n->ctx, gpuc_expr, ndim);
        for (int i = 0; i < ndim - 1; i++) dims[i] = i ? gpuc_int(n->ctx, 1) : gpuc_onnx_type(n, 1)->dims[0];
        n->in[1] = gpuc_onnx_reshaped_sizes(n, n->in[1], ndim - 1, dims);
    }
    gpuc_onnx_simple(n);
}

/* The slope broadcasts as in numpy, also one of one dimension. */
static void prelu_7(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {gpuc_onnx_in(n, 0), gpuc_onnx_in(n, 1)};
    bool last = gpuc_onnx_type(n, 1)->ndim == 1 && gpuc_onnx_type(n, 0)->ndim > 1;
    const gpuc_attrs *a = last ? gpuc_attrs_int(n->ctx, NULL, "axis", -1) : NULL;
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 2, args);
}

const gpuc_onnx_row gpuc_onnx_rows_activation[] = {
    {"Relu", 1, gpuc_onnx_simple},
    {"Softplus", 1, gpuc_onnx_simple},
    {"Softsign", 1, gpuc_onnx_simple},
    {"LeakyRelu", 1, with_floats},
    {"ThresholdedRelu", 1, with_floats},
    {"Elu", 1, with_floats},
    {"Celu", 12, with_floats},
    {"Selu", 6, with_floats},
    {"Shrink", 9, with_floats},
    {"HardSigmoid", 1, with_floats},
    {"HardSwish", 14, gpuc_onnx_simple},
    {"Swish", 24, with_floats},
    {"Mish", 18, gpuc_onnx_simple},
    {"Gelu", 20, gelu},
    {"PRelu", 1, prelu_1},
    {"PRelu", 7, prelu_7},
    {NULL, 0, NULL},
};
