/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the code of a program for a device: of each kernel that is launched there the richest variant that the
 * device can run, and the parts that these are made in. */
#include <string.h>

#include "abi/code.h"
#include "loader/loader.h"

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading the kernels");
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
        l->limited[k] = l->part_of[k] = GPUC_NO_INDEX;
        if (!kernel->variant)
            general = k;
        else if (kernel->limited && l->limited[general] == GPUC_NO_INDEX && can_run(l->dev, kernel))
            l->limited[general] = k;
        else if (!kernel->limited && l->chosen[general] == general && can_run(l->dev, kernel))
            l->chosen[general] = k;
    }
}

bool gpuc_loader_is_within(const gpuc_loaded *l, uint32_t kernel)
{
    const gpuc_xexpr *e = &l->program->kernels[kernel].iterations;
    return !l->max_iterations || !e->count ||
           (e->count == 1 && e->code->op == GPUC_XOP_CONST && e->code->value <= l->max_iterations);
}

/* ---- Parts ---- */

/* The piece of the module that each used kernel of it is in, by address. Where the module cannot be looked into, by
 * its type or as it is damaged, it is one piece, and the device tells what is wrong with it. */
static void find_pieces(const gpuc_program *p, uint32_t module, const bool *used, const void **pieces,
                        gpuc_arena *arena)
{
    const gpuc_module_blob *blob = &p->modules[module];
    bool is_spirv = strcmp(blob->type_key, "spirv") == 0, is_opencl = strcmp(blob->type_key, "opencl_c") == 0;
    gpuc_spirv_module spirv;
    gpuc_opencl_module opencl;
    const gpuc_opencl_function *function;
    gpuc_status damaged = is_spirv    ? gpuc_abi_spirv_read(blob->bytes, blob->size, arena, &spirv)
                          : is_opencl ? gpuc_abi_opencl_read(blob->bytes, blob->size, arena, &opencl)
                                      : NULL;
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        if (!used[k] || p->kernels[k].module != module) continue;
        if (!damaged && is_spirv) pieces[k] = gpuc_abi_spirv_find(&spirv, p->kernels[k].name).code;
        if (!damaged && is_opencl) pieces[k] = gpuc_abi_opencl_find(&opencl, p->kernels[k].name, &function);
        if (!pieces[k]) pieces[k] = blob;
    }
    gpuc_status_release(damaged);
}

/* Kernels of one piece become one part, in the order of the program. */
static void make_parts(gpuc_loaded *l, const bool *used, const void *const *pieces, const gpuc_kernel **list)
{
    const gpuc_program *p = l->program;
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        if (!used[k] || l->part_of[k] != GPUC_NO_INDEX) continue;
        gpuc_code_part *part = &l->parts[l->num_parts];
        part->blob = &p->modules[p->kernels[k].module];
        part->kernels = list;
        for (uint32_t i = k; i < p->num_kernels; i++) {
            if (!used[i] || pieces[i] != pieces[k]) continue;
            l->part_of[i] = l->num_parts;
            *list++ = &p->kernels[i];
            part->num_kernels++;
        }
        l->num_parts++;
    }
}

static void use(const gpuc_loaded *l, uint32_t kernel, uint32_t general, bool *used)
{
    used[kernel] = true;
    if (l->limited[general] != GPUC_NO_INDEX && !gpuc_loader_is_within(l, kernel))
        used[l->limited[general]] = true;
}

static gpuc_status find_parts(gpuc_loaded *l, gpuc_arena *arena)
{
    const gpuc_program *p = l->program;
    uint32_t n = p->num_kernels;
    gpuc_code_part *parts = gpuc_arena_alloc_array(arena, n, sizeof *parts);
    const gpuc_kernel **list = gpuc_arena_alloc_array(arena, n, sizeof *list);
    gpuc_arena_mark mark = gpuc_arena_save(arena);
    bool *used = gpuc_arena_alloc_array(arena, n, sizeof *used);
    const void **pieces = gpuc_arena_alloc_array(arena, n, sizeof *pieces);
    if (!parts || !list || !used || !pieces) return out_of_memory();
    for (uint32_t k = 0; k < n; k++) {
        if (!l->launched[k]) continue;
        use(l, l->chosen[k], k, used);
        if (l->deferred) use(l, k, k, used);
    }
    for (uint32_t i = 0; i < p->num_modules; i++) find_pieces(p, i, used, pieces, arena);
    l->parts = parts;
    gpuc_device_pin(l->dev);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    make_parts(l, used, pieces, list);
    gpuc_arena_restore(arena, mark);
    return NULL;
}

gpuc_status gpuc_loader_load(gpuc_loaded *l, const gpuc_program *p, const bool *launched, bool deferred,
                             gpuc_arena *arena)
{
    uint32_t n = p->num_kernels;
    l->program = p;
    l->launched = launched;
    l->deferred = deferred;
    l->chosen = gpuc_arena_alloc_array(arena, n, sizeof *l->chosen);
    l->limited = gpuc_arena_alloc_array(arena, n, sizeof *l->limited);
    l->part_of = gpuc_arena_alloc_array(arena, n, sizeof *l->part_of);
    l->numbers = gpuc_arena_alloc_array(arena, n, sizeof *l->numbers);
    l->max_iterations = gpuc_device_get_attr(l->dev, GPUC_ATTR_MAX_ITERATIONS).i;
    if (!l->chosen || !l->limited || !l->part_of || !l->numbers) return out_of_memory();
    choose_kernels(p, l);
    return find_parts(l, arena);
}

void gpuc_loader_unload(gpuc_loaded *l)
{
    if (!l->parts) return;
    for (uint32_t i = 0; i < l->num_parts; i++) {
        gpuc_code_module *module = atomic_load(&l->parts[i].module);
        if (module) l->dev->api->module_release(l->dev, module);
    }
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    gpuc_device_unpin(l->dev);
}
