/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that try what generators must get right. Text in, lowered for the target, run on its device, held
 * to the evaluator. */
#ifndef GPUC_TESTS_CODEGEN_KERNELS_H
#define GPUC_TESTS_CODEGEN_KERNELS_H

#include <stdint.h>

enum { ON_C = 1, ON_OPENCL = 2, ON_VULKAN = 4, ON_ALL = 7, WITH_SUBGROUPS = 8, RAW = 16, WITH_INT64 = 32 };

typedef struct kernel_text {
    const char *about;
    int flags;
    int64_t scalars[44];
    const char *text;
} kernel_text;

extern const kernel_text kernel_texts[];
extern const int num_kernel_texts;

#endif
