/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with -ffast-math, so that the C library's functions of vectors serve, where it has some: they are
 * within a few units of float64's last place. */
#include "functions.h"
#include "references.h"

#define ONE(fn)                                                                                              \
    void loop_##fn(int n, const float *restrict a, const float *restrict b, double *restrict want)           \
    {                                                                                                        \
        (void)b;                                                                                             \
        for (int i = 0; i < n; i++) want[i] = fn((double)a[i]);                                              \
    }
#define TWO(fn)                                                                                              \
    void loop_##fn(int n, const float *restrict a, const float *restrict b, double *restrict want)           \
    {                                                                                                        \
        for (int i = 0; i < n; i++) want[i] = fn((double)a[i], (double)b[i]);                                \
    }
ONE(exp)
ONE(log)
ONE(log2)
ONE(log10)
ONE(sqrt)
ONE(rsqrt)
ONE(power_of_half)
ONE(reciprocal)
ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(asinh)
ONE(acosh)
ONE(atanh)
ONE(erf)
ONE(sigmoid)
ONE(softplus)
ONE(softsign)
ONE(swish)
ONE(mish)
ONE(elu)
ONE(selu)
ONE(gelu)
ONE(gelu_tanh)
TWO(pow)
TWO(fmod)
TWO(divide)
