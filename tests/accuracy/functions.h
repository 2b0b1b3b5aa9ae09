/* SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions: operators, their references in float64, and how far results may be from them. */
#ifndef GPUC_TESTS_ACCURACY_FUNCTIONS_H
#define GPUC_TESTS_ACCURACY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Whose arithmetic it is: C's library and ours; OpenCL's; Vulkan's, by the driver's instructions and ours. */
typedef enum accuracy_kind { ACCURACY_C, ACCURACY_OPENCL, ACCURACY_VULKAN, ACCURACY_KINDS } accuracy_kind;

typedef struct accuracy_function {
    const char *name;       /* in reports */
    const char *op, *attrs; /* of Relay; NULL attrs: none */
    double (*one)(double);  /* NULL: it has two arguments */
    double (*two)(double, double);
    /* The same in loops that are compiled for speed; NaN, infinities and the signs of zeros are not right. */
    void (*loop)(int n, const float *a, const float *b, double *want);
    /* The bound: units in the last place of the result, by kind; */
    double ulp[ACCURACY_KINDS];
    double per_a; /* as many more for each unit of |a|, on Vulkan; */
    double of_a;  /* as many units in the last place of a itself, where a sum is as large as a; */
    double min;   /* and this error, which is allowed everywhere. */
} accuracy_function;

/* Are all of a chunk numbers that are nearer than so many units of the last place? Quick. */
enum { ACCURACY_CHUNK = 256 };
bool accuracy_all_within(double units, const double *want, const float *got);

extern const accuracy_function accuracy_functions[];
extern const int accuracy_num_functions;

typedef void accuracy_loop(int n, const float *a, const float *b, double *want);
accuracy_loop loop_exp, loop_log, loop_log2, loop_log10, loop_sqrt, loop_rsqrt, loop_reciprocal,
    loop_power_of_half, loop_sin, loop_cos, loop_tan, loop_asin, loop_acos, loop_atan, loop_sinh, loop_cosh,
    loop_tanh, loop_asinh, loop_acosh, loop_atanh, loop_erf, loop_sigmoid, loop_softplus, loop_softsign,
    loop_swish, loop_mish, loop_elu, loop_selu, loop_gelu, loop_gelu_tanh, loop_pow, loop_fmod, loop_divide;

#endif
