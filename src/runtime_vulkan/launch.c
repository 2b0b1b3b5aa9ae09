/* SPDX-License-Identifier: Apache-2.0 */
/* Appends one step to the open batch: it is bound as in a plan, from memory that the batch keeps, and recorded. */
#include "base/size.h"
#include "runtime_vulkan/plan.h"

/* Descriptors of a pool: sets, and what they hold. One kernel has at most GPUC_VK_MAX_BINDINGS. */
enum { SETS, STORAGE, TEXELS, UNIFORMS, SAMPLED, WRITTEN };
static const uint32_t pool_room[GPUC_VK_POOL_KINDS] = {64, 512, 256, 64, 64, 64};

static gpuc_status add_pool_locked(gpuc_vk_device *dev)
{
    gpuc_vk_queue *q = &dev->queue;
    VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, pool_room[STORAGE]},
                                    {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, pool_room[TEXELS]},
                                    {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, pool_room[UNIFORMS]},
                                    {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, pool_room[SAMPLED]},
                                    {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, pool_room[WRITTEN]}};
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = pool_room[SETS],
        .poolSizeCount = GPUC_VK_POOL_KINDS - 1,
        .pPoolSizes = sizes,
    };
    gpuc_vk_pool *pool = gpuc_mem_alloc(dev->allocator, sizeof(*pool));
    if (!pool) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    VkResult r = dev->fn.CreateDescriptorPool(dev->handle, &info, dev->host, &pool->handle);
    if (r < 0) {
        gpuc_mem_free(dev->allocator, pool, sizeof(*pool));
        return gpuc_vk_error_at(r, "vkCreateDescriptorPool", __FILE__, __LINE__);
    }
    pool->next = q->batch.pools;
    q->batch.pools = pool;
    for (int i = 0; i < GPUC_VK_POOL_KINDS; i++) q->room[i] = pool_room[i];
    return NULL;
}

static gpuc_status take_descriptors_locked(gpuc_vk_device *dev, const gpuc_vk_kernel *k,
                                           VkDescriptorPool *out)
{
    gpuc_vk_queue *q = &dev->queue;
    const gpuc_vk_layout *l = k->layout;
    uint32_t need[GPUC_VK_POOL_KINDS] = {
        1, l->num_storage, k->num_texels, l->uniform != GPUC_VK_NO_BINDING, k->num_sampled, k->num_written};
    bool enough = q->batch.pools != NULL;
    *out = VK_NULL_HANDLE;
    if (l->pushed) return NULL;
    for (int i = 0; i < GPUC_VK_POOL_KINDS; i++) enough = enough && need[i] <= q->room[i];
    if (!enough) GPUC_TRY(add_pool_locked(dev));
    for (int i = 0; i < GPUC_VK_POOL_KINDS; i++) q->room[i] -= need[i];
    *out = q->batch.pools->handle;
    return NULL;
}

/* Room in the upload ring for the parameter blocks that are no push constants. */
static gpuc_status take_params_locked(const gpuc_vk_steps *steps, gpuc_vk_binder *binder)
{
    gpuc_vk_device *dev = steps->dev;
    VkDeviceSize align = dev->caps.props.limits.minUniformBufferOffsetAlignment, bytes = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        const gpuc_vk_kernel *k = steps->list[i].empty ? NULL : steps->list[i].kernel;
        if (k && k->layout->uniform != GPUC_VK_NO_BINDING)
            bytes = gpuc_align_up(bytes, align) + gpuc_vk_uniform_bytes(k);
    }
    if (!bytes) return NULL;
    binder->params = &dev->queue.ring;
    return gpuc_vk_ring_take_locked(dev, bytes, &binder->param_offset);
}

static gpuc_status bind_locked(const gpuc_vk_steps *steps, gpuc_vk_binder *binder, gpuc_vk_bound_step *bound)
{
    gpuc_vk_device *dev = steps->dev;
    VkDeviceSize params = binder->param_offset;
    for (uint32_t i = 0; i < steps->count; i++) {
        const gpuc_vk_step *step = &steps->list[i];
        if (step->empty) continue;
        if (step->kernel) GPUC_TRY(take_descriptors_locked(dev, step->kernel, &binder->descriptors));
        GPUC_TRY(gpuc_vk_bind_step(binder, step, &bound[i]));
    }
    if (binder->param_offset == params) return NULL;
    return gpuc_vk_span_flush(dev, &binder->params->span, params, binder->param_offset - params);
}

static void note_use_locked(gpuc_vk_device *dev, const gpuc_vk_step *step, const gpuc_bindings *bindings)
{
    uint64_t serial = dev->queue.last_serial + 1;
    for (uint32_t t = 0; t < step->num_tensors; t++) {
        gpuc_vk_buffer *b = (gpuc_vk_buffer *)bindings->slots[step->tensors[t].slot].buffer;
        b->last_use = serial;
        if (gpuc_vk_step_access(step, t) & GPUC_ACCESS_WRITE) b->last_write = serial;
    }
}

static gpuc_status append_locked(gpuc_vk_steps *steps, gpuc_vk_slot *slots, const gpuc_bindings *bindings,
                                 gpuc_vk_stream *stream)
{
    gpuc_vk_device *dev = steps->dev;
    gpuc_vk_queue *q = &dev->queue;
    gpuc_vk_binder binder = {.dev = dev, .arena = steps->arena, .slots = slots, .views = &q->batch.views};
    gpuc_vk_bound_step *bound = gpuc_arena_alloc_array(steps->arena, steps->count, sizeof *bound);
    double cost = 0;
    if (!bound) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < steps->count; i++) cost += gpuc_vk_step_cost(&steps->list[i]);
    GPUC_TRY(gpuc_vk_batch_limit_locked(dev, cost));
    GPUC_TRY(take_params_locked(steps, &binder)); /* first, as it may submit the batch */
    GPUC_TRY(gpuc_vk_batch_begin_locked(dev));
    GPUC_TRY(bind_locked(steps, &binder, bound));
    for (uint32_t i = 0; i < steps->count; i++) {
        if (steps->list[i].empty) continue;
        gpuc_vk_batch_step_locked(dev, &steps->list[i], &bound[i]);
        note_use_locked(dev, &steps->list[i], bindings);
        if (steps->list[i].kernel) __atomic_fetch_add(&dev->base.launches, 1, __ATOMIC_RELAXED);
    }
    stream->last = q->last_serial + 1;
    return NULL;
}

static gpuc_status launch(gpuc_vk_device *dev, gpuc_vk_stream *stream, const gpuc_step *step,
                          const gpuc_bindings *bindings, gpuc_arena *arena)
{
    gpuc_vk_steps steps = {.dev = dev, .arena = arena};
    uint32_t num_slots = 0;
    bool empty = true;
    GPUC_TRY(gpuc_vk_add_given(&steps, step));
    for (uint32_t t = 0; t < step->num_tensors; t++)
        if (step->tensors[t].slot >= num_slots) num_slots = step->tensors[t].slot + 1;
    if (num_slots > bindings->count) num_slots = bindings->count;
    gpuc_vk_slot *slots = gpuc_arena_alloc_array(steps.arena, num_slots, sizeof *slots);
    if (!slots) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t t = 0; t < step->num_tensors; t++) {
        gpuc_vk_slot slot;
        GPUC_TRY(gpuc_error_prefix(gpuc_vk_resolve(dev, bindings, &step->tensors[t], &slot), "tensor %u", t));
        slots[step->tensors[t].slot] = slot;
    }
    for (uint32_t i = 0; i < steps.count; i++) empty = empty && steps.list[i].empty;
    if (empty) return NULL;
    pthread_mutex_lock(&dev->queue.lock);
    gpuc_status s = append_locked(&steps, slots, bindings, stream);
    pthread_mutex_unlock(&dev->queue.lock);
    return s;
}

gpuc_status gpuc_vk_launch(gpuc_device *device, gpuc_stream *stream, const gpuc_step *step,
                           const gpuc_bindings *bindings)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    gpuc_arena arena;
    _Alignas(16) unsigned char memory[4096]; /* most launches need no more, and allocating takes long */
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    gpuc_arena_init_at(&arena, dev->allocator, memory, sizeof memory);
    gpuc_status s = launch(dev, gpuc_vk_stream_of(dev, stream), step, bindings, &arena);
    gpuc_arena_deinit(&arena);
    return gpuc_error_prefix(s, "launch");
}
