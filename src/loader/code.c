/* SPDX-License-Identifier: Apache-2.0 */
/* Loads code: each module on the devices whose steps launch kernels of it, with those kernels only, and of
 * each kernel the richest variant that the device can run. */
#include "loader/loader.h"

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading the kernels");
}

static gpuc_status load_module(gpuc_loaded *l, const gpuc_program *p, uint32_t module, const bool *used,
                               const gpuc_kernel **kernels)
{
    const gpuc_module_blob *blob = &p->modules[module];
    uint32_t count = 0;
    for (uint32_t k = 0; k < p->num_kernels; k++)
        if (used[k] && p->kernels[k].module == module) kernels[count++] = &p->kernels[k];
    if (count == 0) return NULL;
    GPUC_TRY(l->dev->api->module_load(l->dev, blob->type_key, blob->bytes, blob->size, kernels, count,
                                      &l->modules[module]));
    for (uint32_t k = 0; k < p->num_kernels; k++)
        if (used[k] && p->kernels[k].module == module)
            GPUC_TRY(l->dev->api->kernel_get(l->modules[module], p->kernels[k].name, &l->kernels[k]));
    return NULL;
}

static bool can_run(gpuc_device *dev, const gpuc_kernel *k)
{
    uint32_t features = (uint32_t)gpuc_device_get_attr(dev, GPUC_ATTR_FEATURES).i;
    if (k->features & ~features) return false;
    return k->subgroup_size == 0 || (gpuc_device_get_attr(dev, GPUC_ATTR_SUBGROUP_SIZE_CONTROL).i &&
                                     gpuc_device_get_attr(dev, GPUC_ATTR_WARP_SIZE).i == k->subgroup_size);
}

/* Chooses which variant stands in for each kernel. Variants follow the kernel that they stand in for, the
 * richest first. */
static void choose_kernels(const gpuc_program *p, gpuc_loaded *l)
{
    uint32_t general = 0;
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        const gpuc_kernel *kernel = &p->kernels[k];
        l->chosen[k] = k;
        l->limited[k] = GPUC_NO_INDEX;
        if (!kernel->variant)
            general = k;
        else if (kernel->limited && l->limited[general] == GPUC_NO_INDEX && can_run(l->dev, kernel))
            l->limited[general] = k;
        else if (!kernel->limited && l->chosen[general] == general && can_run(l->dev, kernel))
            l->chosen[general] = k;
    }
}

/* Whether the loop iterations of an invocation are within the limit of the device, whatever the scalars
 * are. */
static bool is_within(const gpuc_kernel *k, int64_t max)
{
    const gpuc_xexpr *e = &k->iterations;
    return !max || !e->count || (e->count == 1 && e->code->op == GPUC_XOP_CONST && e->code->value <= max);
}

gpuc_status gpuc_loader_load(gpuc_loaded *l, const gpuc_program *p, const bool *launched, gpuc_arena *arena)
{
    uint32_t n = p->num_kernels;
    gpuc_device_pin(l->dev);
    l->pinned = true;
    l->modules = gpuc_arena_alloc_array(arena, p->num_modules, sizeof *l->modules);
    l->kernels = gpuc_arena_alloc_array(arena, n, sizeof *l->kernels);
    l->chosen = gpuc_arena_alloc_array(arena, n, sizeof *l->chosen);
    l->limited = gpuc_arena_alloc_array(arena, n, sizeof *l->limited);
    l->max_iterations = gpuc_device_get_attr(l->dev, GPUC_ATTR_MAX_ITERATIONS).i;
    /* The devices keep what they are given of these arrays' contents, not the arrays. */
    gpuc_arena_mark mark = gpuc_arena_save(arena);
    bool *used = gpuc_arena_alloc_array(arena, n, sizeof *used);
    const gpuc_kernel **kernels = gpuc_arena_alloc_array(arena, n, sizeof *kernels);
    if (!l->modules || !l->kernels || !l->chosen || !l->limited || !used || !kernels) return out_of_memory();
    choose_kernels(p, l);
    for (uint32_t k = 0; k < n; k++) {
        if (!launched[k]) continue;
        used[l->chosen[k]] = true;
        if (l->limited[k] != GPUC_NO_INDEX && !is_within(&p->kernels[l->chosen[k]], l->max_iterations))
            used[l->limited[k]] = true;
    }
    gpuc_status s = NULL;
    for (uint32_t i = 0; !s && i < p->num_modules; i++) s = load_module(l, p, i, used, kernels);
    gpuc_arena_restore(arena, mark);
    return s;
}

void gpuc_loader_unload(gpuc_loaded *l, const gpuc_program *p)
{
    for (uint32_t i = 0; l->modules && i < p->num_modules; i++)
        if (l->modules[i]) l->dev->api->module_release(l->dev, l->modules[i]);
    if (l->pinned) gpuc_device_unpin(l->dev);
    l->pinned = false;
}
