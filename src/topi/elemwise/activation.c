/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: elementwise functions of networks, with their parameters as attributes. */
#include "topi/elemwise/elemwise.h"

#include <math.h>

#include "topi/families.h"

static gpuc_expr attr(const gpuc_op_call *call, gpuc_expr like, const char *name)
{
    return gpuc_topi_imm(call->ctx, like, gpuc_attrs_get_float(call->attrs, name, 0));
}

static gpuc_expr zero_of(gpuc_ctx *ctx, gpuc_expr x)
{
    return gpuc_topi_imm(ctx, x, 0);
}

/* log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)). */
static gpuc_expr softplus(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr small = gpuc_call1(ctx, "exp", gpuc_sub(ctx, zero_of(ctx, x), gpuc_call1(ctx, "abs", x)));
    return gpuc_add(ctx, gpuc_max(ctx, x, zero_of(ctx, x)), gpuc_call1(ctx, "log1p", small));
}

/* x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2); from 20 on that is x. */
static gpuc_expr mish(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr two = gpuc_topi_imm(ctx, x, 2);
    gpuc_expr e = gpuc_call1(ctx, "exp", gpuc_min(ctx, x, gpuc_topi_imm(ctx, x, 20)));
    gpuc_expr n = gpuc_mul(ctx, e, gpuc_add(ctx, e, two));
    return gpuc_mul(ctx, x, gpuc_div(ctx, n, gpuc_add(ctx, n, two)));
}

/* x where it is above 0, else alpha * (exp(x / scale) - 1). */
static gpuc_expr elu(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr scale)
{
    gpuc_expr below = gpuc_min(ctx, x, zero_of(ctx, x));
    gpuc_expr e = gpuc_call1(ctx, "expm1", scale ? gpuc_div(ctx, below, scale) : below);
    gpuc_expr negative = gpuc_mul(ctx, alpha, e);
    return gpuc_select(ctx, gpuc_gt(ctx, x, zero_of(ctx, x)), x, negative);
}

static gpuc_expr gelu(const gpuc_op_call *call, gpuc_expr x)
{
    gpuc_ctx *ctx = call->ctx;
    if (gpuc_attrs_get_int(call->attrs, "approximate", 0)) { /* (1 + tanh(t)) / 2 is sigmoid(2 t) */
        gpuc_expr square = gpuc_mul(ctx, x, x), c = gpuc_topi_imm(ctx, x, 2 * 0.7978845608028654 * 0.044715);
        gpuc_expr t = gpuc_add(ctx, gpuc_topi_imm(ctx, x, 2 * 0.7978845608028654), gpuc_mul(ctx, c, square));
        return gpuc_mul(ctx, x, gpuc_topi_sigmoid(ctx, gpuc_mul(ctx, x, t)));
    }
    gpuc_expr half = gpuc_mul(ctx, gpuc_topi_imm(ctx, x, 0.5), x);
    gpuc_expr t = gpuc_call1(ctx, "erf", gpuc_mul(ctx, gpuc_topi_imm(ctx, x, M_SQRT1_2), x));
    return gpuc_mul(ctx, half, gpuc_add(ctx, gpuc_topi_imm(ctx, x, 1), t));
}

static gpuc_expr hard_sigmoid(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta)
{
    gpuc_expr line = gpuc_add(ctx, gpuc_mul(ctx, x, alpha), beta);
    return gpuc_max(ctx, zero_of(ctx, x), gpuc_min(ctx, gpuc_topi_imm(ctx, x, 1), line));
}

/* x moved towards 0 by bias outside of [-lambd, lambd]; 0 inside. */
static gpuc_expr shrink(const gpuc_op_call *call, gpuc_expr x)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr limit = attr(call, x, "lambd"), bias = attr(call, x, "bias");
    gpuc_expr low = gpuc_lt(ctx, x, gpuc_topi_imm(ctx, x, -gpuc_attrs_get_float(call->attrs, "lambd", 0)));
    gpuc_expr above = gpuc_select(ctx, gpuc_gt(ctx, x, limit), gpuc_sub(ctx, x, bias), zero_of(ctx, x));
    return gpuc_select(ctx, low, gpuc_add(ctx, x, bias), above);
}

UNARY(relu, gpuc_max(ctx, x, zero_of(ctx, x)))
UNARY_WIDE(leaky_relu,
           gpuc_select(ctx, gpuc_gt(ctx, x, zero_of(ctx, x)), x, gpuc_mul(ctx, x, attr(call, x, "alpha"))))
UNARY(thresholded_relu, gpuc_select(ctx, gpuc_gt(ctx, x, attr(call, x, "alpha")), x, zero_of(ctx, x)))
UNARY_WIDE(elu, elu(ctx, x, attr(call, x, "alpha"), NULL))
UNARY_WIDE(celu, elu(ctx, x, attr(call, x, "alpha"), attr(call, x, "alpha")))
UNARY_WIDE(selu, gpuc_mul(ctx, attr(call, x, "gamma"), elu(ctx, x, attr(call, x, "alpha"), NULL)))
UNARY_WIDE(softplus, softplus(ctx, x))
UNARY_WIDE(softsign, gpuc_div(ctx, x, gpuc_add(ctx, gpuc_topi_imm(ctx, x, 1), gpuc_call1(ctx, "abs", x))))
UNARY_WIDE(hard_sigmoid, hard_sigmoid(ctx, x, attr(call, x, "alpha"), attr(call, x, "beta")))
UNARY_WIDE(hard_swish,
           gpuc_mul(ctx, x, hard_sigmoid(ctx, x, gpuc_topi_imm(ctx, x, 1.0 / 6), gpuc_topi_imm(ctx, x, 0.5))))
UNARY_WIDE(swish, gpuc_mul(ctx, x, gpuc_topi_sigmoid(ctx, gpuc_mul(ctx, attr(call, x, "alpha"), x))))
UNARY_WIDE(mish, mish(ctx, x))
UNARY_WIDE(gelu, gelu(call, x))
UNARY_WIDE(shrink, shrink(call, x))

ATTRS(leaky, FLOAT("alpha", 0.25))
ATTRS(alpha_1, FLOAT("alpha", 1))
ATTRS(selu_attrs, FLOAT("alpha", 1.67326319217681884765625), FLOAT("gamma", 1.05070102214813232421875))
ATTRS(hard_sigmoid_attrs, FLOAT("alpha", 0.2), FLOAT("beta", 0.5))
ATTRS(shrink_attrs, FLOAT("lambd", 0.5), FLOAT("bias", 0))
ATTRS(gelu_attrs, INT("approximate", 0))

#define ROW(nm, fn, set, at, tp, nn, on) ROW1(nm, fn, gpuc_topi_infer_same, set, at, tp, nn, on)

const gpuc_op gpuc_topi_ops_activation[] = {
    ROW("nn.relu", relu, GPUC_T_NUMBERS, NULL, "relu", "relu", "Relu"),
    ROW("nn.leaky_relu", leaky_relu, GPUC_T_FLOATS, leaky, "leaky_relu", "leaky_relu", "LeakyRelu"),
    ROW("nn.thresholded_relu", thresholded_relu, GPUC_T_FLOATS, alpha_1, "", "", "ThresholdedRelu"),
    ROW("nn.elu", elu, GPUC_T_FLOATS, alpha_1, "", "", "Elu"),
    ROW("nn.celu", celu, GPUC_T_FLOATS, alpha_1, "", "", "Celu"),
    ROW("nn.selu", selu, GPUC_T_FLOATS, selu_attrs, "", "", "Selu"),
    ROW("nn.softplus", softplus, GPUC_T_FLOATS, NULL, "", "", "Softplus"),
    ROW("nn.softsign", softsign, GPUC_T_FLOATS, NULL, "", "", "Softsign"),
    ROW("nn.hard_sigmoid", hard_sigmoid, GPUC_T_FLOATS, hard_sigmoid_attrs, "", "", "HardSigmoid"),
    ROW("nn.hard_swish", hard_swish, GPUC_T_FLOATS, NULL, "", "", "HardSwish"),
    ROW("nn.swish", swish, GPUC_T_FLOATS, alpha_1, "", "", "Swish"),
    ROW("nn.mish", mish, GPUC_T_FLOATS, NULL, "", "", "Mish"),
    ROW("nn.gelu", gelu, GPUC_T_FLOATS, gelu_attrs, "", "", "Gelu"),
    ROW("nn.shrink", shrink, GPUC_T_NUMBERS, shrink_attrs, "", "", "Shrink"),
};
const size_t gpuc_topi_ops_activation_count =
    sizeof gpuc_topi_ops_activation / sizeof gpuc_topi_ops_activation[0];
