/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a target that passes and schedules ask. */
#include "target/target.h"

gpuc_target_class gpuc_target_classify(const gpuc_target *t)
{
    if (t->kind == GPUC_TARGET_C) return GPUC_CLASS_C;
    return gpuc_target_is_cpu(t) ? GPUC_CLASS_SIMD_CPU : GPUC_CLASS_GPU;
}

int gpuc_target_lanes(const gpuc_target *t, gpuc_dtype type)
{
    int64_t lanes = t->vector_bits / (type.bits ? type.bits : 8),
            most = gpuc_target_classify(t) == GPUC_CLASS_GPU ? 4 : 16;
    if (lanes < 2) return 1;
    return lanes > most ? (int)most : (int)lanes;
}

bool gpuc_target_has_dot(const gpuc_target *t, int bits)
{
    bool cpu = gpuc_target_classify(t) != GPUC_CLASS_GPU;
    return cpu ? t->vector_bits >= 128 : t->dot_product && bits == 8;
}

bool gpuc_target_lanes_are_threads(const gpuc_target *t)
{
    return gpuc_target_classify(t) == GPUC_CLASS_GPU && t->simd_lanes && t->subgroup;
}

bool gpuc_target_keeps_channels_last(const gpuc_target *t)
{
    return gpuc_target_lanes_are_threads(t) && t->subgroup_shuffle && t->thread_warp_size > 1 &&
           gpuc_target_lanes(t, GPUC_FLOAT32) > 1;
}
