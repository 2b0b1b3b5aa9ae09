/* SPDX-License-Identifier: Apache-2.0 */
/* A reduction without reuse between its outputs. A few values each: one task, work-item or invocation for
 * some of the outputs. Many on a GPU: the threads of a group reduce together; still more for few outputs:
 * groups first. */
#include "topi/rules.h"

enum {
    LEAST_STEPS = 8,      /* of one thread that reduces with others */
    MANY_STEPS = 2048,    /* of one thread, where groups could share the work */
    MANY_OUTPUTS = 16384, /* that fill a GPU without sharing ... */
    FEW_VALUES = 1024,    /* ... as long as each is quick */
    FEW_OUTPUTS = 64      /* that leave a GPU idle */
};

static int64_t product(int n, gpuc_iter *const *iters)
{
    int64_t count = 1;
    for (int i = 0; i < n; i++) {
        int64_t extent = gpuc_rules_extent(iters[i]);
        if (extent <= 0 || count > INT64_MAX / extent) return 0;
        count *= extent;
    }
    return count;
}

/* Threads that reduce one output together; 1: it is not worth it, or sizes are unknown. */
static int64_t choose_threads(const gpuc_rules *r, int64_t outputs, int64_t values)
{
    const gpuc_target *t = r->target;
    if (r->kind != GPUC_CLASS_GPU || outputs == 0 || values == 0) return 1;
    if (outputs >= MANY_OUTPUTS && values <= FEW_VALUES) return 1;
    int64_t most = t->max_num_threads < 256 ? t->max_num_threads : 256, threads = 1;
    if (t->max_threads_x < most) most = t->max_threads_x;
    if (t->simd_lanes && t->subgroup) most = t->thread_warp_size; /* barriers cost more than they bring */
    while (threads * 2 <= most && values / (threads * 2) >= LEAST_STEPS) threads *= 2;
    return threads;
}

static int spatial_axes(gpuc_stage *st, gpuc_iter **out)
{
    int n = gpuc_stage_num_axes(st);
    for (int i = 0; i < n; i++) out[i] = gpuc_stage_axis(st, i);
    return n;
}

static int reduce_axes(gpuc_stage *st, gpuc_iter **out)
{
    int n = gpuc_stage_num_reduce(st);
    for (int i = 0; i < n; i++) out[i] = gpuc_stage_reduce_axis(st, i);
    return n;
}

/* Each thread reduces every threads-th value, then all reduce what they have. */
static void share(const gpuc_rules *r, gpuc_tensor *reduction, int64_t threads)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64], *thread, *rest;
    gpuc_iter *all = gpuc_rules_fuse(st, reduce_axes(st, loops), loops);
    gpuc_stage_split(st, all, threads, &rest, &thread);
    gpuc_tensor *own = gpuc_rfactor(r->s, reduction, thread);
    gpuc_iter *together = gpuc_stage_reduce_axis(st, 0);
    gpuc_stage_bind(st, together, "threadIdx.x");
    gpuc_stage *part = gpuc_schedule_stage(r->s, own);
    gpuc_stage_compute_at(part, st, together);
    gpuc_stage_set_scope(part, "local");
}

static void together(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int64_t threads)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64], *block, *lead;
    block = gpuc_rules_fuse(st, spatial_axes(st, loops), loops);
    if (block && reduction != out) { /* one thread goes on with the result */
        gpuc_stage_split(st, block, 1, &block, &lead);
        gpuc_stage_bind(st, lead, "threadIdx.x");
        gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
        gpuc_stage_compute_at(inner, st, block);
        gpuc_stage_set_scope(inner, "shared");
    }
    if (block) gpuc_stage_bind(st, block, "blockIdx.x");
    share(r, reduction, threads);
}

static void one_by_one(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64];
    gpuc_iter *loop = gpuc_rules_fuse(st, spatial_axes(st, loops), loops);
    if (!loop) return;
    gpuc_iter *at = gpuc_rules_spread(r, st, loop);
    if (reduction == out) return;
    gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
    gpuc_stage_compute_at(inner, st, at);
    gpuc_stage_set_scope(inner, "local");
}

void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64], *group, *rest;
    int64_t outputs = product(spatial_axes(st, loops), loops),
            values = product(reduce_axes(st, loops), loops);
    int64_t threads = choose_threads(r, outputs, values);
    if (threads > 1 && outputs <= FEW_OUTPUTS && values / threads > MANY_STEPS) {
        int64_t groups = (values / threads + MANY_STEPS - 1) / MANY_STEPS;
        gpuc_iter *all = gpuc_rules_fuse(st, reduce_axes(st, loops), loops);
        gpuc_stage_split(st, all, (values + groups - 1) / groups, &group, &rest);
        gpuc_tensor *partial = gpuc_rfactor(r->s, reduction, group);
        gpuc_rules_reduce(r, partial, partial);
        gpuc_rules_reduce(r, reduction, out);
        return;
    }
    if (threads > 1)
        together(r, reduction, out, threads);
    else
        one_by_one(r, reduction, out);
}
