/* SPDX-License-Identifier: Apache-2.0 */
/* Checks steps, and makes of each what one dispatch or copy does. */
#include <string.h>

#include "base/size.h"
#include "runtime_vulkan/plan.h"

#define MAX_SLOTS ((uint32_t)1 << 24)
#define OPS_PER_BYTE 10.0 /* what a device computes in the time of moving a byte */
#define OPS_PER_THREAD_UNKNOWN 256.0

double gpuc_vk_copy_cost(uint64_t bytes)
{
    return 2 * OPS_PER_BYTE * (double)bytes;
}

double gpuc_vk_step_cost(const gpuc_vk_step *step)
{
    if (step->empty) return 0;
    if (!step->kernel) return gpuc_vk_copy_cost(step->tensors[0].size);
    const gpuc_kernel *k = step->kernel->meta;
    double ops = (double)k->cost_ops, bytes = OPS_PER_BYTE * (double)k->cost_bytes;
    if (k->cost_ops < 0 && k->cost_bytes < 0) {
        ops = OPS_PER_THREAD_UNKNOWN;
        for (int i = 0; i < 3; i++) ops *= (double)step->launch[i] * k->local_size[i];
    }
    return ops > bytes ? ops : bytes;
}

uint8_t gpuc_vk_step_access(const gpuc_vk_step *step, uint32_t t)
{
    uint8_t own =
        step->kernel ? step->kernel->meta->tensors[t].access : (t ? GPUC_ACCESS_WRITE : GPUC_ACCESS_READ);
    return own | step->tensors[t].access;
}

gpuc_status gpuc_vk_add_step(gpuc_vk_steps *steps, gpuc_vk_step **out)
{
    if (steps->count == steps->capacity) {
        uint32_t capacity = 2 * steps->capacity + 1;
        gpuc_vk_step *list = gpuc_arena_alloc_array(steps->arena, capacity, sizeof *list);
        if (!list) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        if (steps->count) memcpy(list, steps->list, steps->count * sizeof *list);
        steps->list = list;
        steps->capacity = capacity;
    }
    *out = &steps->list[steps->count++];
    **out = (gpuc_vk_step){0};
    return NULL;
}

static gpuc_status check_tensors(const gpuc_step *step)
{
    for (uint32_t t = 0; t < step->num_tensors; t++)
        if (step->tensors[t].slot >= MAX_SLOTS ||
            step->tensors[t].offset > UINT64_MAX - step->tensors[t].size)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "tensor %u: slot or offset out of range", t);
    return NULL;
}

static gpuc_status init_launch(const gpuc_vk_device *dev, const gpuc_step *step, gpuc_vk_step *out)
{
    const gpuc_vk_module *m = (const gpuc_vk_module *)step->module;
    const VkPhysicalDeviceLimits *limits = &dev->caps.props.limits;
    if (m->dev != dev || step->kernel >= m->num_kernels)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it names no kernel of this device");
    const gpuc_vk_kernel *k = out->kernel = &m->kernels[step->kernel];
    if (step->num_tensors != k->meta->num_tensors || step->num_scalars != k->meta->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it gives %u tensors and %u scalars, not %u and %u",
                         step->num_tensors, step->num_scalars, k->meta->num_tensors, k->meta->num_scalars);
    for (int i = 0; i < 3; i++) {
        if (step->launch[i] > limits->maxComputeWorkGroupCount[i])
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "it is launched with %u work-groups in %c, the device has %u", step->launch[i],
                             "xyz"[i], limits -> maxComputeWorkGroupCount[i]);
        out->launch[i] = step->launch[i];
        if (!step->launch[i]) out->empty = true;
    }
    return NULL;
}

gpuc_status gpuc_vk_add_given(gpuc_vk_steps *steps, const gpuc_step *step)
{
    gpuc_vk_step s = {.tensors = step->tensors,
                      .scalars = step->scalars,
                      .num_tensors = step->num_tensors,
                      .label = step->label},
                 *copy;
    GPUC_TRY(check_tensors(step));
    if (step->module) {
        gpuc_status status = init_launch(steps->dev, step, &s);
        if (!status) status = gpuc_vk_add_launch(steps, &s);
        return s.kernel ? gpuc_error_prefix(status, "kernel %s", s.kernel->meta->name) : status;
    }
    if (step->num_tensors != 2 || step->tensors[0].size != step->tensors[1].size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it is a copy, but not of one tensor to another of its size");
    s.empty = step->tensors[0].size == 0;
    GPUC_TRY(gpuc_vk_add_step(steps, &copy));
    *copy = s;
    return NULL;
}
