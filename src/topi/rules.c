/* SPDX-License-Identifier: Apache-2.0 */
#include "topi/rules.h"

gpuc_target_class gpuc_target_classify(const gpuc_target *t)
{
    if (t->kind == GPUC_TARGET_C) return GPUC_CLASS_C;
    if (t->simd_lanes == 0) return GPUC_CLASS_GPU;
    return t->thread_warp_size > 1 ? GPUC_CLASS_SIMD_GPU : GPUC_CLASS_SIMD_CPU;
}

int gpuc_rules_lanes(const gpuc_rules *r, gpuc_dtype t)
{
    int64_t lanes = r->target->vector_bits / (t.bits ? t.bits : 8);
    if (lanes < 2) return 1;
    return lanes > 16 ? 16 : (int)lanes;
}

int64_t gpuc_rules_extent(const gpuc_iter *iter)
{
    int64_t n;
    return gpuc_expr_is_int(gpuc_iter_extent(iter), &n) ? n : 0;
}

gpuc_iter *gpuc_rules_fuse(gpuc_stage *st, int first, int last)
{
    if (first >= last) return NULL;
    gpuc_iter *loop = gpuc_stage_leaf(st, first);
    for (int i = first + 1; i < last; i++) loop = gpuc_stage_fuse(st, loop, gpuc_stage_leaf(st, first + 1));
    return loop;
}

void gpuc_rules_spread(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *loop, int64_t per_thread)
{
    gpuc_iter *block, *thread;
    int64_t threads = 64;
    (void)per_thread;
    switch (r->kind) {
    case GPUC_CLASS_C: gpuc_stage_parallel(st, loop); return;
    case GPUC_CLASS_SIMD_CPU:
        gpuc_stage_bind(st, loop, "blockIdx.x");
        return;
    case GPUC_CLASS_SIMD_GPU:
    case GPUC_CLASS_GPU:
        if (threads > r->target->max_num_threads) threads = r->target->max_num_threads;
        gpuc_stage_split(st, loop, threads, &block, &thread);
        gpuc_stage_bind(st, block, "blockIdx.x");
        gpuc_stage_bind(st, thread, "threadIdx.x");
        return;
    }
}
