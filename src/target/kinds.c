/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of targets: one row each. */
#include "abi/kernel.h"
#include "target/private.h"

const gpuc_target_kind_info gpuc_target_kinds[GPUC_TARGET_KIND_COUNT] = {
    [GPUC_TARGET_VULKAN] =
        {
            .name = "vulkan",
            .device = GPUC_DEVICE_VULKAN,
            .language = {.work_groups = true,
                         .descriptors = true,
                         .matrices = true,
                         .vector_mod = true,
                         .guarded_barriers = true,
                         .three_lanes = true,
                         .max_lanes = 4},
        },
    [GPUC_TARGET_OPENCL] =
        {
            .name = "opencl",
            .device = GPUC_DEVICE_OPENCL,
            .language = {.work_groups = true,
                         .functions = true,
                         .c99_math = true,
                         .compares_nan = true,
                         .states_iterations = true,
                         .vector_parts = true,
                         .three_lanes = true,
                         .max_lanes = 16,
                         .own_features = GPUC_FEATURE_INT8 | GPUC_FEATURE_INT16 | GPUC_FEATURE_STORAGE8 |
                                         GPUC_FEATURE_STORAGE16 | GPUC_FEATURE_ATOMIC_FLOAT |
                                         GPUC_FEATURE_FLOAT_CONTROLS},
        },
    [GPUC_TARGET_C] =
        {
            .name = "c",
            .device = GPUC_DEVICE_CPU,
            .language = {.ahead = true,
                         .functions = true,
                         .c99_math = true,
                         .vector_mod = true,
                         .guarded_barriers = true,
                         .machine_vectors = true,
                         .max_lanes = 16,
                         .own_features = UINT32_MAX},
        },
};
