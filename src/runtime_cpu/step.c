/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a step, finds the addresses of its tensors, and calls its kernel. */
#include "runtime_cpu/cpu.h"

static gpuc_status check_launch(const gpuc_step *step, const gpuc_kernel *k)
{
    if (step->num_tensors != k->num_tensors || step->num_scalars != k->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "kernel '%s' takes %u tensors and %u scalars, the step has %u and %u", k->name,
                         k->num_tensors, k->num_scalars, step->num_tensors, step->num_scalars);
    for (int i = 1; i < 3; i++)
        if (step->launch[i] > 1)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "kernel '%s': a launch on the CPU device is N,1,1, not %u,%u,%u", k->name,
                             step->launch[0], step->launch[1], step->launch[2]);
    return NULL;
}

gpuc_status gpuc_cpu_check_step(const gpuc_cpu_device *dev, const gpuc_step *step,
                                const gpuc_cpu_kernel **out, bool *out_empty)
{
    const gpuc_cpu_module *m = (const gpuc_cpu_module *)step->module;
    *out = NULL;
    if (!m) {
        if (step->num_tensors != 2 || step->tensors[0].size != step->tensors[1].size)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy step needs two tensors of one size");
        *out_empty = step->tensors[0].size == 0;
        return NULL;
    }
    if (m->dev != dev || step->kernel >= m->num_kernels)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "kernel number %u of a module with %u", step->kernel,
                         m->num_kernels);
    *out = &m->kernels[step->kernel];
    *out_empty = step->launch[0] == 0 || step->launch[1] == 0 || step->launch[2] == 0;
    return check_launch(step, (*out)->meta);
}

gpuc_status gpuc_cpu_resolve(const gpuc_cpu_device *dev, const gpuc_cpu_kernel *k,
                             const gpuc_step_tensor *tensors, uint32_t count, const gpuc_bindings *bindings,
                             void **out)
{
    for (uint32_t t = 0; t < count; t++) {
        GPUC_TRY(
            gpuc_error_prefix(gpuc_device_check_tensor(&dev->base, bindings, &tensors[t]), "tensor %u", t));
        const gpuc_binding *b = &bindings->slots[tensors[t].slot];
        out[t] = (char *)b->buffer->host + b->offset + tensors[t].offset;
        uint32_t alignment = k ? k->meta->tensors[t].alignment : 1;
        if (alignment > 1 && (uintptr_t)out[t] % alignment != 0)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "tensor %u is not aligned to %u bytes", t, alignment);
    }
    return NULL;
}

gpuc_status gpuc_cpu_call(gpuc_cpu_device *dev, const gpuc_cpu_env *env, const gpuc_cpu_kernel *k,
                          void *const *tensors, const int64_t *scalars)
{
    int rc = k->fn(env, tensors, scalars);
    __atomic_fetch_add(&dev->base.launches, 1, __ATOMIC_RELAXED);
    if (rc != 0) return gpuc_fail(GPUC_INTERNAL, "kernel '%s' returned %d", k->name, rc);
    return NULL;
}
