/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a target that passes and schedules ask. */
#include "abi/kernel.h"
#include "base/element.h"
#include "target/private.h"

bool gpuc_target_is_software(const gpuc_target *t)
{
    return t->language->ahead || t->simd_lanes > 0;
}

bool gpuc_target_is_gpu(const gpuc_target *t)
{
    return gpuc_target_classify(t) == GPUC_CLASS_GPU && !t->simd_lanes;
}

bool gpuc_target_is_cpu(const gpuc_target *t)
{
    return t->language->ahead || (t->simd_lanes > 0 && t->thread_warp_size <= 1);
}

/* Kernels compute their indices in int32, and small floats in float32 where they have no arithmetic of their own. */
bool gpuc_target_computes(const gpuc_target *t, gpuc_dtype dtype)
{
    if (!t->int32 || !gpuc_is_float(dtype)) return t->int32;
    if (dtype.bits == 64) return t->float64;
    return t->float32 || (t->float16 && gpuc_dtype_equal(gpuc_dtype_with_lanes(dtype, 1), GPUC_FLOAT16));
}

bool gpuc_target_runs(const gpuc_target *t, const char *op)
{
    return !t->kind->runs || t->kind->runs(t, op);
}

uint32_t gpuc_target_features(const gpuc_target *t)
{
    uint32_t bits = 0;
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (gpuc_target_get_int(t, gpuc_feature_name((gpuc_feature)(1u << i)))) bits |= 1u << i;
    return bits;
}

gpuc_target_class gpuc_target_classify(const gpuc_target *t)
{
    if (!t->language->work_groups) return GPUC_CLASS_C;
    return gpuc_target_is_cpu(t) ? GPUC_CLASS_SIMD_CPU : GPUC_CLASS_GPU;
}

int gpuc_target_lanes(const gpuc_target *t, gpuc_dtype type)
{
    int64_t lanes = t->vector_bits / (type.bits ? type.bits : 8), max = t->constants->vector_lanes;
    if (lanes < 2) return 1;
    return lanes > max ? (int)max : (int)lanes;
}

int64_t gpuc_target_block_bits(const gpuc_target *t)
{
    int64_t block = gpuc_target_get_int(t, "weight_block");
    return block ? block * GPUC_FLOAT32.bits : t->vector_bits;
}

int gpuc_target_max_lanes(const gpuc_target *t, int bits)
{
    if (!t->language->machine_vectors) return t->language->max_lanes;
    int64_t lanes = t->vector_bits / bits;
    return lanes < 2 ? 1 : (int)lanes;
}

bool gpuc_target_has_dot(const gpuc_target *t, int bits)
{
    bool cpu = gpuc_target_classify(t) != GPUC_CLASS_GPU;
    return cpu ? t->vector_bits >= 128 : t->dot_product && bits == 8;
}

bool gpuc_target_has_matrices(const gpuc_target *t)
{
    return t->language->matrices && t->coopmat && t->float16 && t->storage_buffer_class &&
           t->thread_warp_size > 1;
}

bool gpuc_target_lanes_are_threads(const gpuc_target *t)
{
    return gpuc_target_classify(t) == GPUC_CLASS_GPU && t->simd_lanes && t->subgroup;
}

bool gpuc_target_keeps_channels_last(const gpuc_target *t)
{
    return gpuc_target_lanes_are_threads(t) && t->subgroup_shuffle && t->thread_warp_size > 1 &&
           t->vector_bits >= 2 * GPUC_FLOAT32.bits;
}

int64_t gpuc_target_recurrent_block(const gpuc_target *t, gpuc_dtype dtype)
{
    if (t->vector_bits < 128 || dtype.bits < 32) return 0;
    if (gpuc_target_is_cpu(t)) return gpuc_target_block_bits(t) / dtype.bits;
    bool exchange = gpuc_target_lanes_are_threads(t) && t->subgroup_shuffle && dtype.bits == 32;
    return exchange ? t->thread_warp_size * gpuc_target_lanes(t, dtype) : 0;
}
