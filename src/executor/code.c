/* SPDX-License-Identifier: Apache-2.0 */
/* Loads code: each module on the devices whose steps launch kernels of it, with those kernels only, and of
 * each kernel the richest variant that the device can run. */
#include "executor/model.h"

typedef struct module_use {
    bool *used;                  /* by kernel number, on one device */
    const gpuc_kernel **kernels; /* of one module */
} module_use;

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading the kernels");
}

static gpuc_status load_module(const gpuc_model *m, gpuc_program_device *d, uint32_t module, module_use *use)
{
    const gpuc_program *p = m->program;
    const gpuc_module_blob *blob = &p->modules[module];
    uint32_t count = 0;
    for (uint32_t k = 0; k < p->num_kernels; k++)
        if (use->used[k] && p->kernels[k].module == module) use->kernels[count++] = &p->kernels[k];
    if (count == 0) return NULL;
    GPUC_TRY(d->dev->api->module_load(d->dev, blob->type_key, blob->bytes, blob->size, use->kernels, count,
                                      &d->modules[module]));
    for (uint32_t k = 0; k < p->num_kernels; k++)
        if (use->used[k] && p->kernels[k].module == module)
            GPUC_TRY(d->dev->api->kernel_get(d->modules[module], p->kernels[k].name, &d->kernels[k]));
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
static void choose_kernels(const gpuc_program *p, gpuc_program_device *d)
{
    uint32_t general = 0;
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        const gpuc_kernel *kernel = &p->kernels[k];
        d->chosen[k] = k;
        d->limited[k] = GPUC_NO_INDEX;
        if (!kernel->variant)
            general = k;
        else if (kernel->limited && d->limited[general] == GPUC_NO_INDEX && can_run(d->dev, kernel))
            d->limited[general] = k;
        else if (!kernel->limited && d->chosen[general] == general && can_run(d->dev, kernel))
            d->chosen[general] = k;
    }
}

/* Whether the loop iterations of an invocation are within the limit of the device, whatever the scalars
 * are. */
static bool is_within(const gpuc_kernel *k, int64_t max)
{
    const gpuc_xexpr *e = &k->iterations;
    return !max || !e->count || (e->count == 1 && e->code->op == GPUC_XOP_CONST && e->code->value <= max);
}

static void use_kernel(const gpuc_program *p, const gpuc_program_device *d, uint32_t kernel, bool *used)
{
    used[d->chosen[kernel]] = true;
    if (d->limited[kernel] != GPUC_NO_INDEX && !is_within(&p->kernels[d->chosen[kernel]], d->max_iterations))
        used[d->limited[kernel]] = true;
}

static gpuc_status load_on_device(gpuc_model *m, uint32_t number)
{
    const gpuc_program *p = m->program;
    gpuc_program_device *d = &m->devices[number];
    d->modules = gpuc_arena_alloc_array(&m->arena, p->num_modules, sizeof *d->modules);
    d->kernels = gpuc_arena_alloc_array(&m->arena, p->num_kernels, sizeof *d->kernels);
    d->chosen = gpuc_arena_alloc_array(&m->arena, p->num_kernels, sizeof *d->chosen);
    d->limited = gpuc_arena_alloc_array(&m->arena, p->num_kernels, sizeof *d->limited);
    d->max_iterations = gpuc_device_get_attr(d->dev, GPUC_ATTR_MAX_ITERATIONS).i;
    /* The devices keep what they are given of these arrays' contents, not the arrays. */
    gpuc_arena_mark mark = gpuc_arena_save(&m->arena);
    module_use use = {
        .used = gpuc_arena_alloc_array(&m->arena, p->num_kernels, sizeof *use.used),
        .kernels = gpuc_arena_alloc_array(&m->arena, p->num_kernels, sizeof *use.kernels),
    };
    if (!d->modules || !d->kernels || !d->chosen || !d->limited || !use.used || !use.kernels)
        return out_of_memory();
    choose_kernels(p, d);
    for (uint32_t i = 0; i < m->exec->num_steps; i++) {
        const gpuc_exec_step *s = &m->exec->steps[i];
        if (s->kind == GPUC_STEP_LAUNCH && s->device == number) use_kernel(p, d, s->kernel, use.used);
    }
    gpuc_status s = NULL;
    for (uint32_t i = 0; !s && i < p->num_modules; i++) s = load_module(m, d, i, &use);
    gpuc_arena_restore(&m->arena, mark);
    return s;
}

gpuc_status gpuc_model_load_code(gpuc_model *m)
{
    for (uint32_t i = 0; i < m->exec->num_devices; i++) GPUC_TRY(load_on_device(m, i));
    return NULL;
}

void gpuc_model_unload_code(gpuc_model *m)
{
    for (uint32_t i = 0; m->exec && i < m->exec->num_devices; i++) {
        gpuc_program_device *d = &m->devices[i];
        for (uint32_t k = 0; d->modules && k < m->program->num_modules; k++)
            if (d->modules[k]) d->dev->api->module_release(d->dev, d->modules[k]);
    }
}
