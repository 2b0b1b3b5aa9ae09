/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan in parts: work-groups of its steps go to the open batch, which is submitted. The units of a launch are its
 * work-groups along the axis that has the most. */
#include "runtime_vulkan/plan.h"

/* ---- Units ---- */

static uint32_t axis_of(const gpuc_vk_plan *plan, uint32_t given, uint32_t *out_units)
{
    uint32_t best = 0;
    *out_units = 1;
    for (uint32_t k = plan->first_steps[given]; k < plan->first_steps[given + 1]; k++) {
        const gpuc_vk_step *step = &plan->steps.list[k];
        for (uint32_t axis = 0; axis < 3 && step->kernel && !step->empty; axis++) {
            uint32_t end = step->first[axis] + step->launch[axis];
            if (end <= *out_units) continue;
            *out_units = end;
            best = axis;
        }
    }
    return best;
}

uint32_t gpuc_vk_plan_units(const gpuc_plan *plan, uint32_t step)
{
    uint32_t units;
    axis_of((const gpuc_vk_plan *)plan, step, &units);
    return units;
}

/* The work-groups of a step among units [from, to); false: none. */
static bool cut(const gpuc_vk_step *step, uint32_t axis, uint32_t from, uint32_t to, gpuc_vk_step *out)
{
    *out = *step;
    if (step->empty || !step->kernel) return !step->empty;
    uint32_t first = step->first[axis], end = first + step->launch[axis];
    if (first < from) first = from;
    if (end > to) end = to;
    if (first >= end) return false;
    out->first[axis] = first;
    out->launch[axis] = end - first;
    return true;
}

/* ---- Times ---- */

static gpuc_status read_timer(gpuc_vk_plan *plan, gpuc_vk_timer *timer, gpuc_plan_part *part)
{
    gpuc_vk_device *dev = plan->dev;
    uint32_t count = timer->end - timer->step;
    uint64_t *ticks = plan->ticks;
    uint64_t mask =
        dev->caps.timestamp_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << dev->caps.timestamp_bits) - 1;
    double period = dev->caps.props.limits.timestampPeriod;
    timer->serial = 0;
    VkResult r =
        dev->fn.GetQueryPoolResults(dev->handle, timer->pool, 0, count + 1, (count + 1) * sizeof *ticks,
                                    ticks, sizeof *ticks, VK_QUERY_RESULT_64_BIT);
    if (r == VK_NOT_READY) return NULL;
    GPUC_VK_TRY("vkGetQueryPoolResults", r);
    for (uint32_t i = 0; i < count; i++) {
        double ns = (double)((ticks[i + 1] - ticks[i]) & mask) * period;
        double share = i == 0 ? timer->first_share : i + 1 == count ? timer->last_share : 1;
        if (share > 0) part->step_ns[timer->step + i] = ns / share;
        part->device_ns += ns;
    }
    return NULL;
}

/* Reads what is there, and gives a timer that is free; NULL: none, or the device has no timestamps. */
static gpuc_status take_timer_locked(gpuc_vk_plan *plan, gpuc_plan_part *part, gpuc_vk_timer **out)
{
    gpuc_vk_device *dev = plan->dev;
    *out = NULL;
    if (!dev->caps.timestamp_bits) return NULL;
    GPUC_TRY(gpuc_vk_poll_locked(dev));
    if (!plan->ticks)
        plan->ticks = gpuc_arena_alloc_array(&plan->arena, plan->num_given + (size_t)1, sizeof *plan->ticks);
    if (!plan->ticks) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (int i = 0; i < GPUC_VK_TIMERS; i++) {
        gpuc_vk_timer *timer = &plan->timers[i];
        if (timer->serial && timer->serial <= dev->queue.completed) GPUC_TRY(read_timer(plan, timer, part));
        if (!timer->serial) *out = timer;
    }
    if (!*out || (*out)->pool) return NULL;
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = plan->num_given + 1,
    };
    GPUC_VK_TRY("vkCreateQueryPool", dev->fn.CreateQueryPool(dev->handle, &info, dev->host, &(*out)->pool));
    return NULL;
}

void gpuc_vk_timers_destroy(gpuc_vk_plan *plan)
{
    for (int i = 0; i < GPUC_VK_TIMERS; i++)
        if (plan->timers[i].pool)
            plan->dev->fn.DestroyQueryPool(plan->dev->handle, plan->timers[i].pool, plan->dev->host);
}

/* ---- Running ---- */

/* Units [from, to) of a step that was given. */
static gpuc_status append_units_locked(gpuc_vk_plan *plan, const gpuc_vk_bound *b, uint32_t given,
                                       uint32_t from, uint32_t to)
{
    gpuc_vk_device *dev = plan->dev;
    uint32_t units, axis = axis_of(plan, given, &units);
    for (uint32_t k = plan->first_steps[given]; k < plan->first_steps[given + 1]; k++) {
        gpuc_vk_step piece;
        if (!cut(&plan->steps.list[k], axis, from, to, &piece)) continue;
        GPUC_TRY(gpuc_vk_batch_limit_locked(dev, gpuc_vk_step_cost(&piece)));
        GPUC_TRY(gpuc_vk_batch_begin_locked(dev));
        gpuc_vk_batch_step_locked(dev, &piece, &b->steps[k]);
        if (piece.kernel) __atomic_fetch_add(&dev->base.launches, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static gpuc_status append_part_locked(gpuc_vk_plan *plan, const gpuc_vk_bound *b, const gpuc_plan_part *part,
                                      gpuc_vk_timer *timer)
{
    gpuc_vk_device *dev = plan->dev;
    uint32_t end = part->end_step + (part->end_unit > 0);
    GPUC_TRY(gpuc_vk_batch_begin_locked(dev));
    if (timer) {
        timer->step = part->step;
        timer->end = end;
        dev->fn.CmdResetQueryPool(dev->queue.batch.commands, timer->pool, 0, end - part->step + 1);
        gpuc_vk_timestamp(dev, dev->queue.batch.commands, timer->pool, 0);
    }
    for (uint32_t i = part->step; i < end; i++) {
        uint32_t units = gpuc_vk_plan_units((const gpuc_plan *)plan, i);
        uint32_t from = i == part->step ? part->unit : 0, to = i == part->end_step ? part->end_unit : units;
        GPUC_TRY(append_units_locked(plan, b, i, from, to));
        if (!timer) continue;
        gpuc_vk_timestamp(dev, dev->queue.batch.commands, timer->pool, i - part->step + 1);
        double share = (double)(to - from) / units;
        if (i == part->step) timer->first_share = share;
        timer->last_share = share;
    }
    return gpuc_vk_flush_locked(dev);
}

static gpuc_status run_part_locked(gpuc_vk_plan *plan, gpuc_vk_bound *b, const gpuc_bindings *bindings,
                                   gpuc_plan_part *part, gpuc_vk_stream *stream)
{
    gpuc_vk_queue *q = &plan->dev->queue;
    gpuc_vk_timer *timer;
    GPUC_TRY(take_timer_locked(plan, part, &timer));
    gpuc_status s = append_part_locked(plan, b, part, timer);
    /* After an error the batch may have a piece, and is still open. */
    uint64_t serial = q->last_serial + (q->batch.commands ? 1 : 0);
    if (timer && !s) timer->serial = serial;
    gpuc_vk_note_use_locked(plan, bindings, serial);
    stream->last = b->serial = serial;
    return s;
}

gpuc_status gpuc_vk_plan_run_part(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                  gpuc_stream *stream)
{
    gpuc_vk_plan *plan = (gpuc_vk_plan *)p;
    gpuc_vk_device *dev = plan->dev;
    gpuc_vk_bound *b;
    GPUC_TRY(gpuc_device_check_stream(&dev->base, stream));
    if (!plan->stages) return NULL; /* nothing to do in any step */
    GPUC_TRY(gpuc_vk_bind(plan, bindings, &b));
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status s = run_part_locked(plan, b, bindings, part, gpuc_vk_stream_of(dev, stream));
    pthread_mutex_unlock(&dev->queue.lock);
    return s;
}
