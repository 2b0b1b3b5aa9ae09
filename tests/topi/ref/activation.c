/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static double attr(const ref_call *c, const char *name, double otherwise)
{
    return ref_float(c, name, otherwise);
}

static double gelu(const ref_call *c, double x)
{
    if (!ref_int(c, "approximate", 0)) return 0.5 * x * (1 + erf(x / sqrt(2)));
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double softplus(double x)
{
    return log1p(exp(-fabs(x))) + (x > 0 ? x : 0);
}

static double hard_sigmoid(double x, double alpha, double beta)
{
    double y = alpha * x + beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double shrink(double x, double lambd, double bias)
{
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}

static double of(const ref_call *c, double x)
{
    const char *op = c->op + strlen("nn.");
    double alpha = attr(c, "alpha", 1);
    if (!strcmp(op, "relu")) return x > 0 || isnan(x) ? x : 0;
    if (!strcmp(op, "leaky_relu")) return x > 0 ? x : x * attr(c, "alpha", 0.25);
    if (!strcmp(op, "thresholded_relu")) return x > alpha ? x : 0;
    if (!strcmp(op, "elu")) return x > 0 ? x : alpha * (exp(x) - 1);
    if (!strcmp(op, "celu")) return fmax(0, x) + fmin(0, alpha * (exp(x / alpha) - 1));
    if (!strcmp(op, "selu"))
        return attr(c, "gamma", 1.05070102214813232421875) *
               (x > 0 ? x : attr(c, "alpha", 1.67326319217681884765625) * (exp(x) - 1));
    if (!strcmp(op, "softplus")) return softplus(x);
    if (!strcmp(op, "softsign")) return x / (1 + fabs(x));
    if (!strcmp(op, "hard_sigmoid")) return hard_sigmoid(x, attr(c, "alpha", 0.2), attr(c, "beta", 0.5));
    if (!strcmp(op, "hard_swish")) return x * hard_sigmoid(x, 1.0 / 6, 0.5);
    if (!strcmp(op, "swish")) return x / (1 + exp(-alpha * x));
    if (!strcmp(op, "mish")) return x * tanh(softplus(x));
    if (!strcmp(op, "shrink")) return shrink(x, attr(c, "lambd", 0.5), attr(c, "bias", 0));
    return gelu(c, x);
}

static void activation(ref_call *c)
{
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t i = 0; i < x->count; i++) y->v[i] = of(c, x->v[i]);
}

const ref_row ref_rows_activation[] = {
    {"nn.relu", activation},       {"nn.leaky_relu", activation}, {"nn.thresholded_relu", activation},
    {"nn.elu", activation},        {"nn.celu", activation},       {"nn.selu", activation},
    {"nn.softplus", activation},   {"nn.softsign", activation},   {"nn.hard_sigmoid", activation},
    {"nn.hard_swish", activation}, {"nn.swish", activation},      {"nn.mish", activation},
    {"nn.gelu", activation},       {"nn.shrink", activation},     {NULL, NULL},
};
