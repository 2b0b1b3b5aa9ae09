/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"

#include <stdint.h>
#include <string.h>

#include "references.h"

#define ONE(fn) .one = fn, .loop = loop_##fn
#define TWO(fn) .two = fn, .loop = loop_##fn

/* OpenCL's bounds are its table of the full profile; what we compute ourselves is held to the same. Vulkan's
 * are those of its specification where the driver's instruction is used (exp: 3 + 2|a|, roots, division). */
const accuracy_function accuracy_functions[] = {
    {"exp", "exp", NULL, ONE(exp), .ulp = {3, 3, 4}, .per_a = 2},
    {"log", "log", NULL, ONE(log), .ulp = {3, 3, 3}},
    {"log2", "log2", NULL, ONE(log2), .ulp = {4, 4, 4}},
    {"log10", "log10", NULL, ONE(log10), .ulp = {4, 4, 4}},
    {"sqrt", "sqrt", NULL, ONE(sqrt), .ulp = {0.5, 3, 4.5}},
    {"rsqrt", "rsqrt", NULL, ONE(rsqrt), .ulp = {1.5, 5, 5}},
    {"reciprocal", "reciprocal", NULL, ONE(reciprocal), .ulp = {0.5, 2.5, 2.5}},
    {"sin", "sin", NULL, ONE(sin), .ulp = {4, 4, 4}},
    {"cos", "cos", NULL, ONE(cos), .ulp = {4, 4, 4}},
    {"tan", "tan", NULL, ONE(tan), .ulp = {5, 5, 5}},
    {"asin", "asin", NULL, ONE(asin), .ulp = {4, 4, 4}},
    {"acos", "acos", NULL, ONE(acos), .ulp = {4, 4, 4}},
    {"atan", "atan", NULL, ONE(atan), .ulp = {5, 5, 5}},
    {"sinh", "sinh", NULL, ONE(sinh), .ulp = {4, 4, 4}},
    {"cosh", "cosh", NULL, ONE(cosh), .ulp = {4, 4, 4}},
    {"tanh", "tanh", NULL, ONE(tanh), .ulp = {5, 5, 5}},
    {"asinh", "asinh", NULL, ONE(asinh), .ulp = {4, 4, 4}},
    {"acosh", "acosh", NULL, ONE(acosh), .ulp = {4, 4, 4}},
    {"atanh", "atanh", NULL, ONE(atanh), .ulp = {5, 5, 5}},
    {"erf", "erf", NULL, ONE(erf), .ulp = {16, 16, 16}},
    {"sigmoid", "sigmoid", NULL, ONE(sigmoid), .ulp = {5, 6, 8}, .per_a = 2, .min = 0x1p-126},
    {"softplus", "nn.softplus", NULL, ONE(softplus), .ulp = {6, 8, 8}, .per_a = 2},
    {"softsign", "nn.softsign", NULL, ONE(softsign), .ulp = {1.5, 4, 4}},
    {"swish", "nn.swish", NULL, ONE(swish), .ulp = {6, 8, 8}, .per_a = 2, .min = 0x1p-119},
    {"mish", "nn.mish", NULL, ONE(mish), .ulp = {8, 8, 8}, .per_a = 2, .min = 0x1p-119},
    {"elu", "nn.elu", NULL, ONE(elu), .ulp = {3, 3, 3}},
    {"selu", "nn.selu", NULL, ONE(selu), .ulp = {4, 4, 4}},
    {"gelu", "nn.gelu", NULL, ONE(gelu), .ulp = {8, 8, 8}, .of_a = 8},
    {"gelu (tanh)", "nn.gelu", "approximate=1", ONE(gelu_tanh), .ulp = {192, 192, 192}, .per_a = 24,
     .min = 0x1p-119},
    {"power", "power", NULL, TWO(pow), .ulp = {16, 16, 16}},
    {"power of 1/2", "pow_scalar", "scalar=0.5", ONE(power_of_half), .ulp = {16, 16, 16}},
    {"mod", "mod", NULL, TWO(fmod), .ulp = {0, 0, 0}},
    {"divide", "divide", NULL, TWO(divide), .ulp = {0.5, 2.5, 2.5}},
};
const int accuracy_num_functions = sizeof accuracy_functions / sizeof *accuracy_functions;

bool accuracy_all_within(double units, const double *want, const float *got)
{
    int beyond = 0;
    for (int i = 0; i < ACCURACY_CHUNK; i++) {
        double size = fabs(want[i]), power;
        size = size < 0x1p-126 ? 0x1p-126 : size;
        uint64_t bits;
        memcpy(&bits, &size, sizeof bits);
        bits &= UINT64_C(0x7ff0000000000000);
        memcpy(&power, &bits, sizeof power);
        beyond |= !(fabs(got[i] - want[i]) <= units * 0x1p-23 * power); /* of NaN too */
    }
    return !beyond;
}
