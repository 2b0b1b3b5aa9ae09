/* SPDX-License-Identifier: Apache-2.0 */
/* What is wanted of the presets, as shares of the limits' speed. */
#include <string.h>

#include "bench.h"

/* clang-format off */
static const struct {
    const char *target;
    double goals[BENCH_CLASSES]; /* ELEMWISE COPY SUM NORM MOVE GEMM CONV INT8 NET SMALL_NET LAUNCH */
} wanted[] = {
    {"c -mcpu=native",  {1.10, 0.85, 1.05, 0.80, 0.40, 0.85, 0.80, 1.50, 1.00, 0.83, 1e-6}},
    {"opencl/pocl",     {1.10, 0.85, 1.05, 0.80, 0.40, 0.90, 0.80, 1.00, 0.83, 0.50, 3e-6}},
    {"vulkan/llvmpipe", {0.40, 0.30, 0.90, 0.20, 0.12, 0.35, 0.30, 0, 0.25, 0, 20e-6}},
};
/* clang-format on */

const char *const bench_targets[] = {"c -mcpu=native", "opencl/pocl", "vulkan/llvmpipe"};
const size_t bench_num_targets = BENCH_COUNT(bench_targets);

double bench_goal(const char *target, bench_class of)
{
    for (size_t i = 0; i < BENCH_COUNT(wanted); i++)
        if (!strcmp(wanted[i].target, target)) return wanted[i].goals[of];
    return 0;
}
