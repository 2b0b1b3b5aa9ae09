/* SPDX-License-Identifier: Apache-2.0 */
/* Has the activation functions of recurrent operators, by their ONNX names. */
#include "topi/nn/rnn_functions.h"

#include <string.h>

#include "tir/tir.h"
#include "topi/util.h"

static gpuc_expr number(gpuc_ctx *ctx, gpuc_expr like, double v)
{
    return gpuc_imm(ctx, gpuc_expr_dtype(like), v);
}

static gpuc_expr relu(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)alpha, (void)beta;
    return gpuc_max(ctx, x, number(ctx, x, 0));
}

static gpuc_expr hyperbolic(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)alpha, (void)beta;
    return gpuc_call1(ctx, "tanh", x);
}

static gpuc_expr sigmoid(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)alpha, (void)beta;
    gpuc_expr e = gpuc_call1(ctx, "exp", gpuc_sub(ctx, number(ctx, x, 0), x)), one = number(ctx, x, 1);
    return gpuc_div(ctx, one, gpuc_add(ctx, one, e));
}

static gpuc_expr affine(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    return gpuc_add(ctx, gpuc_mul(ctx, alpha, x), beta);
}

static gpuc_expr leaky_relu(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)beta;
    return gpuc_select(ctx, gpuc_lt(ctx, x, number(ctx, x, 0)), gpuc_mul(ctx, alpha, x), x);
}

static gpuc_expr thresholded_relu(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)beta;
    return gpuc_select(ctx, gpuc_gt(ctx, x, alpha), x, number(ctx, x, 0));
}

static gpuc_expr scaled_tanh(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    return gpuc_mul(ctx, alpha, gpuc_call1(ctx, "tanh", gpuc_mul(ctx, beta, x)));
}

static gpuc_expr hard_sigmoid(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    return gpuc_max(ctx, number(ctx, x, 0), gpuc_min(ctx, number(ctx, x, 1), affine(ctx, x, alpha, beta)));
}

static gpuc_expr elu(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)beta;
    gpuc_expr zero = number(ctx, x, 0), e = gpuc_call1(ctx, "expm1", gpuc_min(ctx, x, zero));
    gpuc_expr below = gpuc_mul(ctx, alpha, e);
    return gpuc_select(ctx, gpuc_lt(ctx, x, zero), below, x);
}

static gpuc_expr softsign(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)alpha, (void)beta;
    return gpuc_div(ctx, x, gpuc_add(ctx, number(ctx, x, 1), gpuc_call1(ctx, "abs", x)));
}

static gpuc_expr softplus(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    (void)alpha, (void)beta;
    gpuc_expr zero = number(ctx, x, 0), small = gpuc_sub(ctx, zero, gpuc_call1(ctx, "abs", x));
    small = gpuc_call1(ctx, "log1p", gpuc_call1(ctx, "exp", small));
    return gpuc_add(ctx, gpuc_max(ctx, x, zero), small);
}

typedef struct row {
    const char *name;
    gpuc_rnn_function of;
} row;

static const row rows[] = {
    {"relu", relu},
    {"tanh", hyperbolic},
    {"sigmoid", sigmoid},
    {"affine", affine},
    {"leakyrelu", leaky_relu},
    {"thresholdedrelu", thresholded_relu},
    {"scaledtanh", scaled_tanh},
    {"hardsigmoid", hard_sigmoid},
    {"elu", elu},
    {"softsign", softsign},
    {"softplus", softplus},
};

/* Finds a function by a name of that length; NULL: there is none. */
static gpuc_rnn_function find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length)) return rows[i].of;
    return NULL;
}

gpuc_rnn_function gpuc_topi_rnn_activation(const gpuc_op_call *call, int i)
{
    const char *p = gpuc_attrs_get_string(call->attrs, "activations", "");
    for (; i > 0 && *p; i--) {
        p += strcspn(p, ",");
        p += *p == ',';
    }
    size_t n = strcspn(p, ",");
    gpuc_rnn_function found = find(p, n);
    if (n && !found) gpuc_topi_fail(call, "activation '%.*s' is not known", (int)n, p);
    return found;
}
