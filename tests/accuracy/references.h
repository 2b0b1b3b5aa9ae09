/* SPDX-License-Identifier: Apache-2.0 */
/* What operators compute, in float64. Included by functions.c, compiled as written, and by loops.c, compiled
 * for speed. */
#ifndef GPUC_TESTS_ACCURACY_REFERENCES_H
#define GPUC_TESTS_ACCURACY_REFERENCES_H

#include <float.h>
#include <math.h>

static inline double reciprocal(double a)
{
    return 1 / a;
}

/* As pow(a, 0.5) is by C99, which GCC takes for a root: infinity for -infinity, written without the macros that
 * clang refuses in code compiled for speed. */
static inline double power_of_half(double a)
{
    return a < -DBL_MAX ? -a : fabs(sqrt(a));
}

static inline double rsqrt(double a)
{
    return 1 / sqrt(a);
}

static inline double sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}

static inline double softplus(double a)
{
    return (a > 0 ? a : 0) + log1p(exp(-fabs(a)));
}

static inline double softsign(double a)
{
    return a / (1 + fabs(a));
}

static inline double swish(double a)
{
    return a * sigmoid(a);
}

static inline double mish(double a)
{
    return a * tanh(softplus(a));
}

static inline double elu(double a)
{
    return a > 0 ? a : expm1(a);
}

static inline double selu(double a) /* the parameters are float32 */
{
    return 1.05070102214813232421875 * (a > 0 ? a : 1.67326319217681884765625 * expm1(a));
}

static inline double gelu(double a)
{
    return 0.5 * a * erfc(-a * 0.70710678118654752440);
}

static inline double gelu_tanh(double a)
{
    return a * sigmoid(2 * 0.79788456080286535588 * (a + 0.044715 * a * a * a));
}

static inline double divide(double a, double b)
{
    return a / b;
}

#endif
