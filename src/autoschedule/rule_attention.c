/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether attention is one kernel. On CPUs with vectors it is: lanes are queries, and the keys go by
 * in blocks, so that no score is stored. GPUs keep three kernels (product, softmax, product) unless a buffer
 * cannot hold the scores; then a thread has a query, and the threads of a group stage blocks of keys and
 * values in shared memory. */
#include "autoschedule/rules.h"

/* Lanes are queries: each takes its own bias from another row, which costs as much as the memory of scores
 * that caches hold. */
bool gpuc_rules_attends_at_once(const gpuc_target *target, const gpuc_attention_sizes *s)
{
    const gpuc_constants *c = target->constants;
    gpuc_target_class kind = gpuc_target_classify(target);
    bool sums_in_float32 = gpuc_is_float(s->dtype) && s->dtype.bits == 16;
    int64_t lanes = gpuc_target_lanes(target, sums_in_float32 ? GPUC_FLOAT32 : s->dtype),
            scores = s->batch * s->queries * s->keys;
    if (kind == GPUC_CLASS_GPU) /* threads for queries alone are few: only where there is no other way */
        return target->max_buffer_range > 0 && s->head + s->value <= c->attention_own &&
               scores > target->max_buffer_range / (int64_t)gpuc_dtype_bytes(s->dtype);
    if (lanes < c->attention_lanes || (s->queries && s->queries < lanes)) return false;
    if (2 * lanes * (s->head + s->value) > c->attention_kept) return false;
    /* each task converts all keys and values, one by one: OpenCL's conversions cost as much as the sums */
    if (kind == GPUC_CLASS_SIMD_CPU && s->dtype.bits == 16) return false;
    return !s->own_biases || !scores || scores >= c->attention_cached;
}
