/* SPDX-License-Identifier: Apache-2.0 */
/* Slots to buffers: descriptors, texel views, parameter blocks and access ranges of every step for
 * one set of bindings. A plan keeps the last few sets. */
#include <string.h>

#include "base/size.h"
#include "runtime_vulkan/plan.h"

#define MAX_BOUNDS 4 /* kept, besides those in command buffers of the application that may be pending */
#define MIN_ALIGN 16 /* of a descriptor: a vector load needs it */

/* ---- Slots ----------------------------------------------------------------------------------- */

gpuc_status gpuc_vk_resolve(const gpuc_vk_device *dev, const gpuc_bindings *bindings,
                            const gpuc_step_tensor *tensor, gpuc_vk_slot *out)
{
    *out = (gpuc_vk_slot){0};
    GPUC_TRY(gpuc_device_check_tensor(&dev->base, bindings, tensor));
    const gpuc_binding *at = &bindings->slots[tensor->slot];
    const gpuc_vk_buffer *b = (const gpuc_vk_buffer *)at->buffer;
    *out = (gpuc_vk_slot){b->id, at->offset, b->raw.handle, b->raw.size, b->usage, b->image};
    return NULL;
}

/* A slot of a plan, of which the steps touch the first slot_end bytes. */
static gpuc_status resolve_slot(const gpuc_vk_plan *plan, const gpuc_bindings *bindings, uint32_t slot,
                                gpuc_vk_slot *out)
{
    gpuc_step_tensor all = {.slot = slot, .size = plan->slot_end[slot]};
    *out = (gpuc_vk_slot){0};
    if (!plan->slot_access[slot]) return NULL;
    return gpuc_error_prefix(gpuc_vk_resolve(plan->dev, bindings, &all, out), "plan");
}

static bool same_slots(const gpuc_vk_plan *plan, const gpuc_vk_bound *b, const gpuc_vk_slot *slots)
{
    for (uint32_t i = 0; i < plan->num_slots; i++)
        if (b->slots[i].id != slots[i].id || b->slots[i].offset != slots[i].offset) return false;
    return true;
}

/* ---- Texel views ----------------------------------------------------------------------------- */

static gpuc_status view_get(gpuc_vk_device *dev, gpuc_vk_views *views, const gpuc_vk_slot *slot,
                            VkDeviceSize offset, VkDeviceSize range, VkFormat format, uint32_t *out)
{
    uint32_t place = views->count;
    *out = 0;
    for (uint32_t i = 0; i < views->count; i++) {
        gpuc_vk_view *v = &views->list[i];
        if (!v->handle) {
            place = i;
        } else if (v->buffer == slot->id && v->offset == offset && v->range == range && v->format == format) {
            v->refs++;
            *out = i;
            return NULL;
        }
    }
    if (place == views->capacity) {
        uint32_t grown = 2 * views->capacity + 16;
        gpuc_vk_view *list = gpuc_mem_resize(dev->allocator, views->list, views->capacity * sizeof(*list),
                                             grown * sizeof(*list));
        if (!list) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        views->list = list;
        views->capacity = grown;
    }
    VkBufferViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
        .buffer = slot->handle,
        .format = format,
        .offset = offset,
        .range = range,
    };
    VkBufferView handle;
    GPUC_VK_TRY("vkCreateBufferView", dev->fn.CreateBufferView(dev->handle, &info, dev->host, &handle));
    views->list[place] = (gpuc_vk_view){slot->id, offset, range, format, handle, 1};
    if (place == views->count) views->count++;
    *out = place;
    return NULL;
}

static void view_drop(gpuc_vk_device *dev, gpuc_vk_views *views, uint32_t number)
{
    gpuc_vk_view *v = &views->list[number];
    if (--v->refs) return;
    dev->fn.DestroyBufferView(dev->handle, v->handle, dev->host);
    v->handle = VK_NULL_HANDLE;
}

void gpuc_vk_views_destroy(gpuc_vk_device *dev, gpuc_vk_views *views)
{
    for (uint32_t i = 0; i < views->count; i++)
        if (views->list[i].handle) dev->fn.DestroyBufferView(dev->handle, views->list[i].handle, dev->host);
    gpuc_mem_free(dev->allocator, views->list, views->capacity * sizeof(gpuc_vk_view));
    *views = (gpuc_vk_views){0};
}

/* ---- One step -------------------------------------------------------------------------------- */

/* The part of a buffer that the tensors of one binding cover together. */
typedef struct window {
    const gpuc_vk_slot *slot;
    uint64_t begin, end, align, texel_end;
    bool write, plain; /* written; read otherwise than by texels */
    const char *name;  /* of a tensor at the end; "" */
} window;

static gpuc_status gather(const gpuc_vk_binder *b, const gpuc_vk_step *step, window *windows)
{
    const gpuc_kernel *k = step->kernel->meta;
    const VkPhysicalDeviceLimits *limits = &b->dev->caps.props.limits;
    uint64_t align = limits->minStorageBufferOffsetAlignment;
    if (align < MIN_ALIGN) align = MIN_ALIGN;
    for (uint32_t i = 0; i < k->num_bindings; i++)
        windows[i] = (window){.begin = UINT64_MAX, .align = align, .name = ""};
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        const gpuc_kernel_tensor *tensor = &k->tensors[t];
        const gpuc_step_tensor *ref = &step->tensors[t];
        const gpuc_vk_slot *slot = &b->slots[ref->slot];
        GPUC_TRY(gpuc_vk_image_check(k, t, ref->name ? ref->name : "", slot->image));
        if (tensor->image) continue;
        window *w = &windows[tensor->binding];
        uint64_t begin = slot->offset + ref->offset, end = begin + ref->size;
        if (w->slot && w->slot->id != slot->id)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "tensor %u shares binding %u with one of another buffer",
                             t, tensor->binding);
        if (tensor->alignment && begin % tensor->alignment)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "tensor %u is at byte %llu of its buffer, no multiple of %u", t,
                             (unsigned long long)begin, tensor->alignment);
        w->slot = slot;
        if (begin < w->begin) w->begin = begin;
        if (end > w->end) {
            w->end = end;
            w->name = ref->name ? ref->name : "";
        }
        if (tensor->alignment > w->align) w->align = tensor->alignment;
        if (tensor->texel) {
            if (w->align < limits->minTexelBufferOffsetAlignment)
                w->align = limits->minTexelBufferOffsetAlignment;
            if (end > w->texel_end) w->texel_end = end;
        }
        if (!tensor->texel || tensor->access != GPUC_ACCESS_READ) w->plain = true;
        if ((tensor->access | ref->access) & GPUC_ACCESS_WRITE) w->write = true;
    }
    return NULL;
}

static uint64_t window_end(const window *w, uint64_t end)
{
    end = gpuc_align_up(end, GPUC_VK_SIZE_ROUND);
    if (end <= w->begin) end = w->begin + GPUC_VK_SIZE_ROUND; /* of an empty tensor */
    return end < w->slot->limit ? end : w->slot->limit;
}

/* Aligns the windows and makes the storage descriptors of them. */
static gpuc_status fill_buffers(const gpuc_vk_binder *b, const gpuc_vk_step *step, window *windows,
                                gpuc_vk_bound_step *out)
{
    uint64_t limit = b->dev->caps.props.limits.maxStorageBufferRange;
    for (uint32_t i = 0; i < step->kernel->meta->num_bindings; i++) {
        window *w = &windows[i];
        if (!w->slot) return gpuc_fail(GPUC_INVALID_DATA, "no tensor has binding %u", i);
        if (w->begin >= w->slot->limit) w->begin = w->slot->limit - 1;
        w->begin = w->begin / w->align * w->align;
        w->end = window_end(w, w->end);
        uint64_t range = w->end - w->begin;
        if (range > limit && w->plain)
            return gpuc_fail(
                GPUC_UNSUPPORTED,
                "binding %u ('%.64s') covers %llu bytes, the device's limit is %llu (maxStorageBufferRange)",
                i, w->name, (unsigned long long)range, (unsigned long long)limit);
        if (range > limit) range = limit;
        out->buffers[i] = (VkDescriptorBufferInfo){w->slot->handle, w->begin, range};
        out->accesses[out->num_accesses++] =
            (gpuc_vk_access){w->slot->id, w->begin, w->end, w->write, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT};
    }
    return NULL;
}

static gpuc_status fill_texels(gpuc_vk_binder *b, const gpuc_vk_step *step, const window *windows,
                               gpuc_vk_bound_step *out)
{
    const gpuc_vk_layout *l = step->kernel->layout;
    const gpuc_kernel *k = step->kernel->meta;
    uint64_t max_texels = b->dev->caps.props.limits.maxTexelBufferElements;
    uint32_t n = 0;
    for (uint32_t binding = l->num_storage; binding < GPUC_VK_MAX_BINDINGS; binding++) {
        if (!(l->texels >> binding & 1)) continue;
        uint32_t t = 0;
        while (!k->tensors[t].texel || k->tensors[t].texel_binding != binding) t++;
        const window *w = &windows[k->tensors[t].binding];
        uint64_t range = window_end(w, w->texel_end) - w->begin;
        uint64_t texel_bytes = 4 * gpuc_dtype_bytes(k->tensors[t].dtype);
        if (range / texel_bytes > max_texels)
            return gpuc_fail(GPUC_UNSUPPORTED,
                             "tensor %u ('%.64s') has %llu texels, the device's limit is %llu", t, w->name,
                             (unsigned long long)(range / texel_bytes), (unsigned long long)max_texels);
        GPUC_TRY(gpuc_vk_check_usage(w->slot->usage, VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT,
                                     "a kernel that reads it by texels"));
        uint32_t number = 0;
        GPUC_TRY(view_get(b->dev, b->views, w->slot, w->begin, range,
                          gpuc_vk_texel_format(k->tensors[t].dtype), &number));
        if (b->used_views) b->used_views[b->num_used_views++] = number;
        out->texels[n++] = b->views->list[number].handle;
        out->accesses[out->num_accesses++] = (gpuc_vk_access){w->slot->id, w->begin, w->begin + range, false,
                                                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT};
    }
    return NULL;
}

static gpuc_status fill_images(const gpuc_vk_binder *b, const gpuc_vk_step *step, gpuc_vk_bound_step *out)
{
    const gpuc_vk_layout *l = step->kernel->layout;
    const gpuc_kernel *k = step->kernel->meta;
    uint32_t n = 0;
    for (uint32_t binding = l->num_storage; binding < GPUC_VK_MAX_BINDINGS; binding++) {
        if (!((l->sampled | l->written) >> binding & 1)) continue;
        uint32_t t = 0;
        while (!k->tensors[t].image || k->tensors[t].binding != binding) t++;
        const gpuc_step_tensor *ref = &step->tensors[t];
        const gpuc_vk_slot *slot = &b->slots[ref->slot];
        if (slot->offset || ref->offset || ref->size != slot->limit)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "tensor %u has %llu bytes, and the image that is bound %llu: it is bound whole",
                             t, (unsigned long long)ref->size, (unsigned long long)slot->limit);
        out->images[n++] = (VkDescriptorImageInfo){VK_NULL_HANDLE, slot->image->view, slot->image->layout};
        out->accesses[out->num_accesses++] =
            (gpuc_vk_access){slot->image->order, 0, UINT64_MAX, (l->written >> binding & 1) != 0,
                             VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT};
    }
    return NULL;
}

static gpuc_status fill_params(const gpuc_vk_binder *b, const gpuc_vk_step *step, const window *windows,
                               uint8_t *out)
{
    const gpuc_kernel *k = step->kernel->meta;
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        const gpuc_step_tensor *ref = &step->tensors[t];
        if (k->tensors[t].image) {
            memset(out + 4 * t, 0, 4);
            continue;
        }
        uint64_t start = b->slots[ref->slot].offset + ref->offset - windows[k->tensors[t].binding].begin;
        int64_t bytes = (int64_t)start - (int64_t)(step->skipped ? step->skipped[t] : 0);
        int64_t item = (int64_t)gpuc_dtype_bytes(k->tensors[t].dtype);
        if (!item || bytes % item || bytes / item > INT32_MAX || bytes / item < -INT32_MAX)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "tensor %u: byte %lld of its binding is no element of 32-bit number", t,
                             (long long)bytes);
        int32_t element = (int32_t)(bytes / item);
        memcpy(out + 4 * t, &element, 4);
    }
    for (uint32_t i = 0; i < k->num_scalars; i++) {
        uint8_t *at = out + step->kernel->scalar_offsets[i];
        int64_t value = step->scalars[i];
        if (k->scalars[i].code == GPUC_DTYPE_FLOAT) {
            double wide;
            memcpy(&wide, &value, 8);
            float narrow = (float)wide;
            memcpy(at, &narrow, 4);
        } else if (k->scalars[i].bits == 64) {
            memcpy(at, &value, 8);
        } else {
            bool is_signed = k->scalars[i].code == GPUC_DTYPE_INT;
            if (value < (is_signed ? INT32_MIN : 0) || value > (is_signed ? (int64_t)INT32_MAX : UINT32_MAX))
                return gpuc_fail(GPUC_INVALID_ARGUMENT, "scalar %u is %lld, which does not fit 32 bits", i,
                                 (long long)value);
            int32_t narrow = (int32_t)value;
            memcpy(at, &narrow, 4);
        }
    }
    const gpuc_vk_kernel *kernel = step->kernel;
    if (kernel->num_values)
        memcpy(out + kernel->values_offset, kernel->values, kernel->num_values * sizeof *kernel->values);
    return NULL;
}

static gpuc_status bind_launch(gpuc_vk_binder *b, const gpuc_vk_step *step, gpuc_vk_bound_step *out)
{
    gpuc_vk_device *dev = b->dev;
    const gpuc_vk_kernel *k = step->kernel;
    const gpuc_vk_layout *l = k->layout;
    window windows[GPUC_VK_MAX_BINDINGS];
    out->buffers = gpuc_arena_alloc(b->arena, (l->num_storage + 1) * sizeof(*out->buffers));
    out->texels = gpuc_arena_alloc(b->arena, (k->num_texels + 1) * sizeof(*out->texels));
    uint32_t images = k->num_sampled + k->num_written;
    out->images = gpuc_arena_alloc(b->arena, (images + 1) * sizeof(*out->images));
    out->accesses =
        gpuc_arena_alloc(b->arena, (l->num_storage + k->num_texels + images + 1) * sizeof(*out->accesses));
    out->params = gpuc_arena_alloc(b->arena, k->param_bytes + 1);
    if (!out->buffers || !out->texels || !out->images || !out->accesses || !out->params)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    GPUC_TRY(gather(b, step, windows));
    GPUC_TRY(fill_buffers(b, step, windows, out));
    GPUC_TRY(fill_texels(b, step, windows, out));
    GPUC_TRY(fill_images(b, step, out));
    GPUC_TRY(fill_params(b, step, windows, out->params));
    if (l->uniform != GPUC_VK_NO_BINDING) {
        VkDeviceSize at =
            gpuc_align_up(b->param_offset, dev->caps.props.limits.minUniformBufferOffsetAlignment);
        VkDeviceSize range = gpuc_vk_uniform_bytes(k);
        if (k->param_bytes) memcpy(b->params->mapped + at, out->params, k->param_bytes);
        out->buffers[l->num_storage] = (VkDescriptorBufferInfo){b->params->handle, at, range};
        b->param_offset = at + range;
    }
    if (l->pushed || (!l->num_storage && !l->texels && !images && l->uniform == GPUC_VK_NO_BINDING))
        return NULL;
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = b->descriptors,
        .descriptorSetCount = 1,
        .pSetLayouts = &l->set,
    };
    GPUC_VK_TRY("vkAllocateDescriptorSets", dev->fn.AllocateDescriptorSets(dev->handle, &info, &out->set));
    gpuc_vk_update_set(dev, l, out);
    return NULL;
}

static gpuc_status bind_copy(gpuc_vk_binder *b, const gpuc_vk_step *step, gpuc_vk_bound_step *out)
{
    const gpuc_vk_slot *from = &b->slots[step->tensors[0].slot], *to = &b->slots[step->tensors[1].slot];
    out->from_image = from->image;
    out->to_image = to->image;
    if (!from->image)
        GPUC_TRY(gpuc_vk_check_usage(from->usage, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "a copy from it"));
    if (!to->image)
        GPUC_TRY(gpuc_vk_check_usage(to->usage, VK_BUFFER_USAGE_TRANSFER_DST_BIT, "a copy to it"));
    out->copy_from = from->handle;
    out->copy_to = to->handle;
    out->copy = (VkBufferCopy){from->offset + step->tensors[0].offset, to->offset + step->tensors[1].offset,
                               step->tensors[0].size};
    if (from->id == to->id && out->copy.srcOffset < out->copy.dstOffset + out->copy.size &&
        out->copy.dstOffset < out->copy.srcOffset + out->copy.size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "source and target of the copy overlap");
    if (from->image || to->image)
        GPUC_TRY(gpuc_vk_image_check_copy(from->image, to->image,
                                          from->image ? out->copy.dstOffset : out->copy.srcOffset));
    if ((from->image && (out->copy.srcOffset || out->copy.size != from->limit)) ||
        (to->image && (out->copy.dstOffset || out->copy.size != to->limit)))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the copy is of a part of an image");
    out->accesses = gpuc_arena_alloc(b->arena, 2 * sizeof(*out->accesses));
    if (!out->accesses) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    out->num_accesses = 2;
    out->accesses[0] = (gpuc_vk_access){from->id, out->copy.srcOffset, out->copy.srcOffset + out->copy.size,
                                        false, VK_PIPELINE_STAGE_TRANSFER_BIT};
    out->accesses[1] = (gpuc_vk_access){to->id, out->copy.dstOffset, out->copy.dstOffset + out->copy.size,
                                        true, VK_PIPELINE_STAGE_TRANSFER_BIT};
    return NULL;
}

gpuc_status gpuc_vk_bind_step(gpuc_vk_binder *b, const gpuc_vk_step *step, gpuc_vk_bound_step *out)
{
    return step->kernel ? gpuc_error_prefix(bind_launch(b, step, out), "kernel %s", step->kernel->meta->name)
                        : bind_copy(b, step, out);
}

/* ---- All steps ------------------------------------------------------------------------------- */

static gpuc_status create_pool(gpuc_vk_plan *plan, gpuc_vk_bound *b)
{
    VkDescriptorPoolSize sizes[GPUC_VK_POOL_KINDS];
    uint32_t n = 0;
    if (plan->num_storage)
        sizes[n++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, plan->num_storage};
    if (plan->num_texels)
        sizes[n++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, plan->num_texels};
    if (plan->num_uniforms)
        sizes[n++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, plan->num_uniforms};
    if (plan->num_sampled)
        sizes[n++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, plan->num_sampled};
    if (plan->num_written)
        sizes[n++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, plan->num_written};
    if (!plan->num_sets || !n) return NULL;
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = plan->num_sets,
        .poolSizeCount = n,
        .pPoolSizes = sizes,
    };
    GPUC_VK_TRY("vkCreateDescriptorPool", plan->dev->fn.CreateDescriptorPool(
                                              plan->dev->handle, &info, plan->dev->host, &b->descriptors));
    return NULL;
}

static gpuc_status resolve(gpuc_vk_plan *plan, gpuc_vk_bound *b)
{
    gpuc_vk_device *dev = plan->dev;
    uint32_t views = 0, count = plan->steps.count;
    for (uint32_t i = 0; i < count; i++)
        if (plan->steps.list[i].kernel) views += plan->steps.list[i].kernel->num_texels;
    b->steps = gpuc_arena_alloc(&b->arena, (count + (size_t)1) * sizeof(*b->steps));
    b->views = gpuc_arena_alloc(&b->arena, (views + (size_t)1) * sizeof(*b->views));
    b->commands = gpuc_arena_alloc(&b->arena, plan->num_cuts * sizeof(*b->commands));
    if (!b->steps || !b->views || !b->commands) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    GPUC_TRY(create_pool(plan, b));
    if (plan->param_bytes)
        GPUC_TRY(gpuc_vk_raw_create(dev, plan->param_bytes, 1, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                                    GPUC_VK_USE_UNIFORM, &b->params));
    gpuc_vk_binder binder = {.dev = dev,
                             .arena = &b->arena,
                             .slots = b->slots,
                             .views = &plan->views,
                             .used_views = b->views,
                             .descriptors = b->descriptors,
                             .params = &b->params};
    gpuc_status s = NULL;
    for (uint32_t i = 0; i < count && !s; i++)
        if (!plan->steps.list[i].empty)
            s = gpuc_error_prefix(gpuc_vk_bind_step(&binder, &plan->steps.list[i], &b->steps[i]),
                                  "plan: step %u", i);
    b->num_views = binder.num_used_views;
    if (!s && plan->param_bytes) s = gpuc_vk_span_flush(dev, &b->params.span, 0, plan->param_bytes);
    return s;
}

void gpuc_vk_bound_destroy(gpuc_vk_plan *plan, gpuc_vk_bound *b)
{
    gpuc_vk_device *dev = plan->dev;
    if (plan->last_run == b) plan->last_run = NULL;
    for (uint32_t i = 0; i < b->num_views; i++) view_drop(dev, &plan->views, b->views[i]);
    if (b->commands && b->commands[0])
        dev->fn.FreeCommandBuffers(dev->handle, plan->pool, plan->num_cuts, b->commands);
    if (b->queries) dev->fn.DestroyQueryPool(dev->handle, b->queries, dev->host);
    if (b->descriptors) dev->fn.DestroyDescriptorPool(dev->handle, b->descriptors, dev->host);
    gpuc_vk_raw_destroy(dev, &b->params);
    gpuc_arena_deinit(&b->arena);
    gpuc_mem_free(dev->allocator, b, sizeof(*b));
}

/* Whether a command buffer of the application that runs it may still be pending. */
static bool is_in_flight(const gpuc_vk_plan *plan, const gpuc_vk_bound *b)
{
    return b->external && (!plan->in_flight || plan->recordings - b->recorded_at < plan->in_flight);
}

/* The least recently used bound, if there are as many as are kept. */
static gpuc_vk_bound **victim(gpuc_vk_plan *plan)
{
    gpuc_vk_bound **last = NULL;
    uint32_t count = 0;
    for (gpuc_vk_bound **at = &plan->bounds; *at; at = &(*at)->next)
        if (!is_in_flight(plan, *at)) {
            last = at;
            count++;
        }
    return count >= MAX_BOUNDS ? last : NULL;
}

static gpuc_status create(gpuc_vk_plan *plan, const gpuc_vk_slot *slots, gpuc_vk_bound **out)
{
    gpuc_vk_device *dev = plan->dev;
    gpuc_vk_bound *b = gpuc_mem_alloc(dev->allocator, sizeof(*b));
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    gpuc_arena_init(&b->arena, dev->allocator);
    b->slots = gpuc_arena_alloc(&b->arena, (plan->num_slots + (size_t)1) * sizeof(gpuc_vk_slot));
    gpuc_status s = b->slots ? NULL : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    if (!s) {
        memcpy(b->slots, slots, plan->num_slots * sizeof(gpuc_vk_slot));
        s = resolve(plan, b);
    }
    if (s) {
        gpuc_vk_bound_destroy(plan, b);
        return s;
    }
    *out = b;
    return NULL;
}

static gpuc_status find_or_create(gpuc_vk_plan *plan, const gpuc_vk_slot *slots, gpuc_vk_bound **out)
{
    for (gpuc_vk_bound **at = &plan->bounds; *at; at = &(*at)->next) {
        gpuc_vk_bound *b = *at;
        if (!same_slots(plan, b, slots)) continue;
        *at = b->next;
        b->next = plan->bounds;
        plan->bounds = *out = b;
        return NULL;
    }
    /* The old one is freed after the new one is made, since the new one takes over its views. */
    GPUC_TRY(create(plan, slots, out));
    gpuc_vk_bound **old = victim(plan), *gone = old ? *old : NULL;
    gpuc_status s = NULL;
    if (gone) {
        s = gpuc_vk_wait(plan->dev, gone->serial);
        *old = gone->next;
        gpuc_vk_bound_destroy(plan, gone);
    }
    (*out)->next = plan->bounds;
    plan->bounds = *out;
    return s;
}

gpuc_status gpuc_vk_bind(gpuc_vk_plan *plan, const gpuc_bindings *bindings, gpuc_vk_bound **out)
{
    *out = plan->bounds;
    if (bindings->version && *out && (*out)->version == bindings->version) return NULL;
    *out = NULL;
    for (uint32_t i = 0; i < plan->num_slots; i++)
        GPUC_TRY(resolve_slot(plan, bindings, i, &plan->scratch[i]));
    GPUC_TRY(find_or_create(plan, plan->scratch, out));
    (*out)->version = bindings->version;
    return NULL;
}
