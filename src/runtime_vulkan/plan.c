/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan of steps, cuts it into submissions of bounded length, and runs it. */
#include <string.h>

#include "base/size.h"
#include "runtime_vulkan/plan.h"

/* Counts the descriptors and bytes that a step takes from the pools. */
static void count_step(gpuc_vk_plan *plan, const gpuc_vk_step *step)
{
    const VkPhysicalDeviceLimits *limits = &plan->dev->caps.props.limits;
    const gpuc_vk_kernel *k = step->kernel;
    plan->stages |= k ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT;
    if (!k) return;
    plan->num_launches++;
    if (!k->layout->pushed) {
        plan->num_sets++;
        plan->num_storage += k->layout->num_storage;
        plan->num_texels += k->num_texels;
        plan->num_sampled += k->num_sampled;
        plan->num_written += k->num_written;
    }
    if (k->layout->uniform != GPUC_VK_NO_BINDING) {
        VkDeviceSize align = limits->minUniformBufferOffsetAlignment;
        plan->num_uniforms++;
        plan->param_bytes = gpuc_align_up(plan->param_bytes, align) + gpuc_vk_uniform_bytes(k);
    }
}

static void note_slots(gpuc_vk_plan *plan)
{
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const gpuc_vk_step *step = &plan->steps.list[i];
        for (uint32_t t = 0; t < step->num_tensors && !step->empty; t++) {
            const gpuc_step_tensor *tensor = &step->tensors[t];
            plan->slot_access[tensor->slot] |= gpuc_vk_step_access(step, t);
            if (tensor->offset + tensor->size > plan->slot_end[tensor->slot])
                plan->slot_end[tensor->slot] = tensor->offset + tensor->size;
        }
    }
}

/* Cuts the steps into submissions of bounded run time, of at least one step each. */
static void cut(gpuc_vk_plan *plan)
{
    double sum = 0;
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        double c = gpuc_vk_step_cost(&plan->steps.list[i]);
        if (sum > 0 && sum + c > plan->dev->cut_cost) {
            plan->cuts[plan->num_cuts++] = i;
            sum = 0;
        }
        sum += c;
    }
    plan->cuts[plan->num_cuts++] = plan->steps.count;
}

static gpuc_status copy_step(gpuc_vk_plan *plan, const gpuc_step *step)
{
    size_t tensor_bytes = step->num_tensors * sizeof(gpuc_step_tensor);
    size_t scalar_bytes = step->num_scalars * sizeof(int64_t);
    gpuc_step_tensor *tensors = gpuc_arena_alloc(&plan->arena, tensor_bytes + 1);
    int64_t *scalars = gpuc_arena_alloc(&plan->arena, scalar_bytes + 1);
    gpuc_step copy = *step;
    if (!tensors || !scalars) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    if (tensor_bytes) memcpy(tensors, step->tensors, tensor_bytes);
    if (scalar_bytes) memcpy(scalars, step->scalars, scalar_bytes);
    copy.tensors = tensors;
    copy.scalars = scalars;
    GPUC_TRY(gpuc_vk_add_given(&plan->steps, &copy));
    for (uint32_t t = 0; t < step->num_tensors; t++)
        if (tensors[t].slot >= plan->num_slots) plan->num_slots = tensors[t].slot + 1;
    return NULL;
}

static gpuc_status copy_steps(gpuc_vk_plan *plan, const gpuc_step *steps, uint32_t count)
{
    plan->num_given = count;
    plan->first_steps = gpuc_arena_alloc(&plan->arena, (count + (size_t)1) * sizeof(uint32_t));
    if (!plan->first_steps) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        plan->first_steps[i] = plan->steps.count;
        GPUC_TRY(gpuc_error_prefix(copy_step(plan, &steps[i]), "plan: step %u", i));
    }
    plan->first_steps[count] = plan->steps.count;
    for (uint32_t i = 0; i < plan->steps.count; i++)
        if (!plan->steps.list[i].empty) count_step(plan, &plan->steps.list[i]);
    plan->cuts = gpuc_arena_alloc(&plan->arena, (plan->steps.count + (size_t)1) * sizeof(uint32_t));
    plan->slot_access = gpuc_arena_alloc(&plan->arena, plan->num_slots + (size_t)1);
    plan->slot_end = gpuc_arena_alloc(&plan->arena, (plan->num_slots + (size_t)1) * sizeof(uint64_t));
    plan->scratch = gpuc_arena_alloc_array(&plan->arena, plan->num_slots, sizeof *plan->scratch);
    if (!plan->cuts || !plan->slot_access || !plan->slot_end || !plan->scratch)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    note_slots(plan);
    cut(plan);
    return NULL;
}

gpuc_status gpuc_vk_plan_create(gpuc_device *device, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                gpuc_plan **out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    *out = NULL;
    gpuc_vk_plan *plan = gpuc_mem_alloc(dev->allocator, sizeof(*plan));
    if (!plan) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    plan->dev = dev;
    plan->profiling = flags & GPUC_PLAN_PROFILING;
    gpuc_arena_init(&plan->arena, dev->allocator);
    plan->steps = (gpuc_vk_steps){.dev = dev, .arena = &plan->arena};
    gpuc_status s = copy_steps(plan, steps, count);
    if (!s) {
        VkCommandPoolCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
            .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            .queueFamilyIndex = dev->caps.queue_family,
        };
        VkResult r = dev->fn.CreateCommandPool(dev->handle, &info, dev->host, &plan->pool);
        if (r < 0) s = gpuc_vk_error_at(r, "vkCreateCommandPool", __FILE__, __LINE__);
    }
    if (s) {
        gpuc_vk_plan_destroy((gpuc_plan *)plan);
        return s;
    }
    *out = (gpuc_plan *)plan;
    return NULL;
}

void gpuc_vk_plan_destroy(gpuc_plan *p)
{
    gpuc_vk_plan *plan = (gpuc_vk_plan *)p;
    if (!plan) return;
    gpuc_vk_device *dev = plan->dev;
    uint64_t serial = 0;
    for (const gpuc_vk_bound *b = plan->bounds; b; b = b->next)
        if (b->serial > serial) serial = b->serial;
    gpuc_status_release(gpuc_vk_wait(dev, serial)); /* after a loss nothing runs either */
    while (plan->bounds) {
        gpuc_vk_bound *b = plan->bounds;
        plan->bounds = b->next;
        gpuc_vk_bound_destroy(plan, b);
    }
    gpuc_vk_timers_destroy(plan);
    gpuc_vk_views_destroy(dev, &plan->views);
    if (plan->pool) dev->fn.DestroyCommandPool(dev->handle, plan->pool, dev->host);
    gpuc_arena_deinit(&plan->arena);
    gpuc_mem_free(dev->allocator, plan, sizeof(*plan));
}

/* ---- Running --------------------------------------------------------------------------------- */

void gpuc_vk_note_use_locked(const gpuc_vk_plan *plan, const gpuc_bindings *bindings, uint64_t serial)
{
    for (uint32_t i = 0; i < plan->num_slots; i++) {
        if (!plan->slot_access[i]) continue;
        gpuc_vk_buffer *b = (gpuc_vk_buffer *)bindings->slots[i].buffer;
        b->last_use = serial;
        if (plan->slot_access[i] & GPUC_ACCESS_WRITE) b->last_write = serial;
    }
}

gpuc_status gpuc_vk_plan_run(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    gpuc_vk_plan *plan = (gpuc_vk_plan *)p;
    gpuc_vk_device *dev = plan->dev;
    gpuc_vk_bound *b;
    GPUC_TRY(gpuc_device_check_stream(&dev->base, stream));
    if (!plan->stages) return NULL; /* nothing to do in any step */
    GPUC_TRY(gpuc_vk_bind(plan, bindings, &b));
    if (!b->recorded) GPUC_TRY(gpuc_vk_record(plan, b));
    uint64_t serial;
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status s = gpuc_vk_submit_locked(dev, b->commands, plan->num_cuts, &serial);
    if (!s) gpuc_vk_note_use_locked(plan, bindings, serial);
    if (!s) gpuc_vk_stream_of(dev, stream)->last = serial;
    pthread_mutex_unlock(&dev->queue.lock);
    GPUC_TRY(s);
    b->serial = serial;
    plan->last_run = b;
    __atomic_fetch_add(&dev->base.launches, plan->num_launches, __ATOMIC_RELAXED);
    return NULL;
}

static void record_given(gpuc_vk_plan *plan, const gpuc_bindings *bindings, const gpuc_vk_bound *b,
                         uint32_t first, uint32_t end, const gpuc_recording *r)
{
    gpuc_vk_device *dev = plan->dev;
    VkCommandBuffer cb = r->commands;
    const gpuc_vulkan_sync *sync = r->sync;
    gpuc_vk_hazards hazards;
    gpuc_vk_hazards_init(&hazards);
    if (sync && r->opens) gpuc_vk_hazards_after(&hazards, sync->src_stages, sync->src_access);
    if (r->num_queries) {
        dev->fn.CmdResetQueryPool(cb, sync->query_pool, sync->first_query, r->num_queries);
        gpuc_vk_timestamp(dev, cb, sync->query_pool, sync->first_query);
    }
    gpuc_vk_label_begin(dev, cb, r->label);
    if (r->first) gpuc_vk_take_over(dev, cb, bindings, false);
    gpuc_vk_record_steps(plan, b, cb, first, end, VK_NULL_HANDLE, &hazards);
    if (sync && r->opens && hazards.all && !hazards.count) /* no step has done it */
        gpuc_vk_hazards_barrier(dev, &hazards, cb,
                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT);
    if (r->last) gpuc_vk_take_over(dev, cb, bindings, true);
    gpuc_vk_label_end(dev, cb, r->label);
    if (r->query != UINT32_MAX) gpuc_vk_timestamp(dev, cb, sync->query_pool, r->query);
    if (sync && r->closes && sync->dst_stages)
        gpuc_vk_end_barrier(dev, cb, sync->dst_stages, sync->dst_access);
}

/* Copies and launches in the open batch come before the command buffer. */
static gpuc_status submit_before(gpuc_vk_plan *plan, const gpuc_bindings *bindings)
{
    gpuc_vk_queue *q = &plan->dev->queue;
    gpuc_status s = NULL;
    pthread_mutex_lock(&q->lock);
    for (uint32_t i = 0; i < plan->num_slots && !s; i++)
        if (plan->slot_access[i] && ((gpuc_vk_buffer *)bindings->slots[i].buffer)->last_use > q->last_serial)
            s = gpuc_vk_flush_locked(plan->dev);
    pthread_mutex_unlock(&q->lock);
    return s;
}

gpuc_status gpuc_vk_plan_record(gpuc_plan *p, const gpuc_bindings *bindings, uint32_t first, uint32_t count,
                                const gpuc_recording *r)
{
    gpuc_vk_plan *plan = (gpuc_vk_plan *)p;
    gpuc_vk_bound *b;
    if (first > plan->num_given || count > plan->num_given - first)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "plan: steps %u to %llu of %u cannot be recorded", first,
                         (unsigned long long)first + count, plan->num_given);
    if (!r->commands) return gpuc_fail(GPUC_INVALID_ARGUMENT, "plan: no command buffer to record into");
    if ((r->query != UINT32_MAX || r->num_queries) && !plan->dev->caps.timestamp_bits)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s has no timestamps", plan->dev->caps.props.deviceName);
    plan->recordings = r->number;
    plan->in_flight = r->in_flight;
    GPUC_TRY(gpuc_vk_bind(plan, bindings, &b));
    GPUC_TRY(submit_before(plan, bindings));
    b->external = true;
    b->recorded_at = r->number;
    uint32_t begin = plan->first_steps[first], end = plan->first_steps[first + count], launches = 0;
    record_given(plan, bindings, b, begin, end, r);
    for (uint32_t i = begin; i < end; i++)
        launches += plan->steps.list[i].kernel && !plan->steps.list[i].empty;
    __atomic_fetch_add(&plan->dev->base.launches, launches, __ATOMIC_RELAXED);
    return NULL;
}

gpuc_status gpuc_vk_plan_profile(gpuc_plan *p, double *out_ns, uint32_t count)
{
    gpuc_vk_plan *plan = (gpuc_vk_plan *)p;
    gpuc_vk_device *dev = plan->dev;
    memset(out_ns, 0, count * sizeof(double));
    if (!plan->profiling) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the plan was made without profiling");
    if (!dev->caps.timestamp_bits)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s has no timestamps", dev->caps.props.deviceName);
    if (!plan->stages) return NULL;
    const gpuc_vk_bound *b = plan->last_run;
    if (!b) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the plan has not run yet");
    GPUC_TRY(gpuc_vk_wait(dev, b->serial));
    size_t bytes = (plan->steps.count + (size_t)1) * sizeof(uint64_t);
    uint64_t *ticks = gpuc_mem_alloc(dev->allocator, bytes);
    if (!ticks) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    VkResult r =
        dev->fn.GetQueryPoolResults(dev->handle, b->queries, 0, plan->steps.count + 1, bytes, ticks,
                                    sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    uint64_t mask =
        dev->caps.timestamp_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << dev->caps.timestamp_bits) - 1;
    for (uint32_t i = 0; r >= 0 && i < count && i < plan->num_given; i++)
        for (uint32_t part = plan->first_steps[i]; part < plan->first_steps[i + 1]; part++)
            if (!plan->steps.list[part].empty)
                out_ns[i] +=
                    (double)((ticks[part + 1] - ticks[part]) & mask) * dev->caps.props.limits.timestampPeriod;
    gpuc_mem_free(dev->allocator, ticks, bytes);
    GPUC_VK_TRY("vkGetQueryPoolResults", r);
    return NULL;
}
