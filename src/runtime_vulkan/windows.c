/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a launch into several where a tensor is larger than one binding: each has a range of work-groups,
 * and windows of the tensors. */
#include "abi/window.h"

#include "abi/scope.h"
#include "runtime_vulkan/plan.h"

typedef struct splitter {
    gpuc_vk_steps *steps;
    const gpuc_vk_step *step;
    const gpuc_launch_shape *shape;
} splitter;

static gpuc_status add_part(void *user, const gpuc_groups *g)
{
    const splitter *s = user;
    gpuc_vk_steps *steps = s->steps;
    uint32_t n = s->step->num_tensors;
    gpuc_vk_step *out;
    gpuc_step_tensor *tensors = gpuc_arena_alloc(steps->arena, (n + (size_t)1) * sizeof *tensors);
    uint64_t *skipped = gpuc_arena_alloc(steps->arena, (n + (size_t)1) * sizeof *skipped);
    if (!tensors || !skipped) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t t = 0; t < n; t++) {
        gpuc_window w;
        GPUC_TRY(gpuc_abi_window_of(s->shape, g, t, steps->arena, &w));
        tensors[t] = s->step->tensors[t];
        uint64_t begin = w.begin / GPUC_SLOT_ALIGN * GPUC_SLOT_ALIGN;
        if (begin < tensors[t].offset) begin = tensors[t].offset;
        skipped[t] = begin - tensors[t].offset;
        tensors[t].offset = begin;
        tensors[t].size = w.end - begin;
    }
    GPUC_TRY(gpuc_vk_add_step(steps, &out));
    *out = *s->step;
    out->tensors = tensors;
    out->skipped = skipped;
    for (int i = 0; i < 3; i++) {
        out->first[i] = g->first[i];
        out->launch[i] = g->count[i];
    }
    return NULL;
}

static bool has_windows(const gpuc_kernel *k)
{
    for (uint32_t t = 0; t < k->num_tensors; t++)
        if (k->tensors[t].windowed) return true;
    return false;
}

/* Whether anything may exceed the limits. Most steps do not. */
static bool is_large(const gpuc_vk_step *step, gpuc_window_limits limits)
{
    for (uint32_t t = 0; t < step->num_tensors; t++) {
        const gpuc_kernel_tensor *tensor = &step->kernel->meta->tensors[t];
        uint64_t size = tensor->image ? 0 : step->tensors[t].size;
        if (size > limits.range / 2) return true;
        if (tensor->texel && size / (4 * gpuc_dtype_bytes(tensor->dtype)) > limits.texels / 2) return true;
    }
    return false;
}

gpuc_status gpuc_vk_add_launch(gpuc_vk_steps *steps, const gpuc_vk_step *step)
{
    const VkPhysicalDeviceLimits *device = &steps->dev->caps.props.limits;
    const gpuc_kernel *k = step->kernel->meta;
    /* Less than a slot's alignment may come before a tensor, where the application binds it. */
    gpuc_window_limits limits = {.range = device->maxStorageBufferRange - GPUC_SLOT_ALIGN,
                                 .texels = device->maxTexelBufferElements - GPUC_SLOT_ALIGN};
    if (step->empty || !has_windows(k) || !is_large(step, limits)) {
        gpuc_vk_step *out;
        GPUC_TRY(gpuc_vk_add_step(steps, &out));
        *out = *step;
        return NULL;
    }
    gpuc_window_tensor *tensors =
        gpuc_arena_alloc(steps->arena, (step->num_tensors + (size_t)1) * sizeof *tensors);
    if (!tensors) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t t = 0; t < step->num_tensors; t++)
        tensors[t] =
            (gpuc_window_tensor){step->tensors[t].slot, step->tensors[t].offset, step->tensors[t].size};
    gpuc_launch_shape shape = {.kernel = k, .tensors = tensors, .scalars = step->scalars};
    for (int i = 0; i < 3; i++) shape.groups[i] = step->launch[i];
    splitter s = {.steps = steps, .step = step, .shape = &shape};
    return gpuc_abi_launch_cut(&shape, limits, steps->arena, add_part, &s);
}
