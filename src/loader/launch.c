/* SPDX-License-Identifier: Apache-2.0 */
/* From the scalars of a step to the kernel that runs and its work-groups. */
#include "loader/loader.h"

static gpuc_code_module *module_of(const gpuc_loaded *l, uint32_t kernel)
{
    uint32_t part = l->part_of[kernel];
    return part == GPUC_NO_INDEX ? NULL : atomic_load_explicit(&l->parts[part].module, memory_order_acquire);
}

uint32_t gpuc_loader_current(const gpuc_loaded *l, uint32_t kernel)
{
    uint32_t chosen = l->chosen[kernel], limited = l->limited[kernel];
    bool made = !l->deferred || (module_of(l, chosen) && (limited == GPUC_NO_INDEX || module_of(l, limited) ||
                                                          gpuc_loader_is_within(l, chosen)));
    return made ? chosen : kernel;
}

static gpuc_status count_iterations(const gpuc_kernel *k, const gpuc_step *step, int64_t *out)
{
    *out = 0;
    if (!k->iterations.count) return NULL;
    return gpuc_error_prefix(gpuc_abi_xexpr_eval(k->iterations, step->scalars, step->num_scalars, out),
                             "loop iterations");
}

static gpuc_status choose(const gpuc_loaded *l, uint32_t general, const gpuc_step *step, uint32_t *out)
{
    const gpuc_kernel *kernels = l->program->kernels;
    int64_t iterations, limited;
    *out = gpuc_loader_current(l, general);
    if (!l->max_iterations) return NULL;
    GPUC_TRY(count_iterations(&kernels[*out], step, &iterations));
    if (iterations <= l->max_iterations) return NULL;
    if (l->limited[general] != GPUC_NO_INDEX) {
        *out = l->limited[general];
        GPUC_TRY(count_iterations(&kernels[*out], step, &limited));
        if (limited <= l->max_iterations) return NULL;
    }
    gpuc_attr_value name = gpuc_device_get_attr(l->dev, GPUC_ATTR_NAME);
    return gpuc_fail(GPUC_UNSUPPORTED, GPUC_TOO_MANY_ITERATIONS, kernels[general].label,
                     (long long)iterations, name.s ? name.s : l->dev->api->name,
                     (long long)l->max_iterations);
}

gpuc_status gpuc_loader_launch(const gpuc_loaded *l, uint32_t kernel, gpuc_step *step, uint32_t *out_kernel)
{
    GPUC_TRY(choose(l, kernel, step, out_kernel));
    const gpuc_kernel *k = &l->program->kernels[*out_kernel];
    step->module = module_of(l, *out_kernel);
    step->kernel = l->numbers[*out_kernel];
    if (!step->module) return gpuc_fail(GPUC_INTERNAL, "kernel '%s' is launched before it is made", k->name);
    for (int i = 0; i < 3; i++) {
        int64_t groups;
        GPUC_TRY(
            gpuc_error_prefix(gpuc_abi_xexpr_eval(k->launch[i], step->scalars, step->num_scalars, &groups),
                              "kernel '%s': launch size in %c", k->name, "xyz"[i]));
        if (groups < 0 || groups > UINT32_MAX)
            return gpuc_fail(GPUC_UNSUPPORTED, "kernel '%s': %lld work-groups in %c; no device has so many",
                             k->name, (long long)groups, "xyz"[i]);
        step->launch[i] = (uint32_t)groups;
    }
    return NULL;
}
