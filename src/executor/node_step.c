/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a step, out of the module that it lies in. */
#include <string.h>

#include "abi/code.h"
#include "executor/model.h"

static gpuc_status find_spirv(const gpuc_module_blob *blob, const char *kernel, gpuc_arena *arena,
                              gpuc_node_step *out)
{
    gpuc_spirv_module m;
    GPUC_TRY(gpuc_abi_spirv_read(blob->bytes, blob->size, arena, &m));
    const gpuc_spirv_code *code = gpuc_abi_spirv_find(&m, kernel).code;
    out->code = code ? code->words : NULL; /* in the package, where modules are aligned for words */
    out->code_size = code ? code->num_words * sizeof(uint32_t) : 0;
    return NULL;
}

static gpuc_status find_opencl(const gpuc_module_blob *blob, const char *kernel, gpuc_arena *arena,
                               gpuc_node_step *out)
{
    gpuc_opencl_module m;
    const gpuc_opencl_function *function;
    GPUC_TRY(gpuc_abi_opencl_read(blob->bytes, blob->size, arena, &m));
    const gpuc_opencl_source *source = gpuc_abi_opencl_find(&m, kernel, &function);
    out->code = source ? source->text : NULL;
    out->code_size = source ? strlen(source->text) : 0;
    return NULL;
}

static gpuc_status find_object(const gpuc_module_blob *blob, const char *kernel, gpuc_arena *arena,
                               gpuc_node_step *out)
{
    (void)kernel, (void)arena; /* all are in it */
    out->code = blob->bytes;
    out->code_size = blob->size;
    return NULL;
}

/* Leaves the code NULL where it is not found. */
static void find_code(const gpuc_module_blob *blob, const char *kernel, gpuc_allocator allocator,
                      gpuc_node_step *out)
{
    static const struct {
        const char *type_key;
        gpuc_status (*find)(const gpuc_module_blob *blob, const char *kernel, gpuc_arena *arena,
                            gpuc_node_step *out);
    } forms[] = {{"spirv", find_spirv}, {"opencl_c", find_opencl}, {"cpu_so", find_object}};
    gpuc_arena arena;
    gpuc_arena_init(&arena, allocator);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (strcmp(forms[f].type_key, blob->type_key) == 0)
            gpuc_status_release(forms[f].find(blob, kernel, &arena, out));
    gpuc_arena_deinit(&arena);
}

gpuc_node_step gpuc_model_node_step(const gpuc_model *m, int node, int i)
{
    const gpuc_exec *e = m->exec;
    if (node < 0 || (uint32_t)node >= e->num_nodes) return (gpuc_node_step){0};
    const gpuc_exec_node *n = &e->nodes[node];
    if (i < 0 || (uint32_t)i >= n->num_steps) return (gpuc_node_step){0};
    const gpuc_exec_step *step = &e->steps[n->first_step + (uint32_t)i];
    if (step->kind != GPUC_STEP_LAUNCH) return (gpuc_node_step){0};
    const gpuc_kernel *k =
        &m->program->kernels[gpuc_loader_current(&m->devices[step->device].code, step->kernel)];
    const gpuc_module_blob *blob = &m->program->modules[k->module];
    gpuc_node_step out = {
        .kernel = m->program->kernels[step->kernel].name, .variant = k->name, .code_type = blob->type_key};
    find_code(blob, k->name, gpuc_runtime_allocator(m->rt), &out);
    return out;
}
