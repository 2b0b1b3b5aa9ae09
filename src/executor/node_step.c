/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a step, out of the module that it lies in. */
#include <string.h>

#include "executor/model.h"

/* The name of the code that a kernel runs. */
static const char *code_of(gpuc_reader r, const char *kernel)
{
    for (uint32_t left = gpuc_read_count(&r, 8); left && !r.failed; left--) {
        gpuc_read_lstr(&r);
        gpuc_read_bytes(&r, 4 * (size_t)gpuc_read_count(&r, 4));
    }
    for (uint32_t left = gpuc_read_count(&r, 12); left && !r.failed; left--) {
        const char *name = gpuc_read_lstr(&r), *code = gpuc_read_lstr(&r);
        gpuc_read_bytes(&r, 4 * (size_t)gpuc_read_count(&r, 4));
        if (!r.failed && strcmp(name, kernel) == 0) return code;
    }
    return kernel;
}

static void find_spirv(const gpuc_module_blob *blob, const char *kernel, gpuc_node_step *out)
{
    gpuc_reader r = {.data = blob->bytes, .size = blob->size};
    const char *code = code_of(r, kernel);
    for (uint32_t left = gpuc_read_count(&r, 8); left && !r.failed; left--) {
        const char *name = gpuc_read_lstr(&r);
        size_t size = (size_t)gpuc_read_count(&r, 4) * 4;
        const void *words = gpuc_read_bytes(&r, size);
        if (words && strcmp(name, code) == 0) {
            out->code = words;
            out->code_size = size;
            return;
        }
    }
}

static void find_opencl(const gpuc_module_blob *blob, const char *kernel, gpuc_node_step *out)
{
    gpuc_reader r = {.data = blob->bytes, .size = blob->size};
    for (uint32_t left = gpuc_read_count(&r, 12); left && !r.failed; left--) {
        gpuc_read_lstr(&r); /* options */
        const char *source = gpuc_read_lstr(&r);
        bool found = false;
        for (uint32_t entries = gpuc_read_count(&r, 20); entries && !r.failed; entries--) {
            found |= strcmp(gpuc_read_lstr(&r), kernel) == 0;
            gpuc_read_lstr(&r); /* the function that it is */
            gpuc_read_bytes(&r, 4 * (size_t)gpuc_read_count(&r, 4));
        }
        if (found && !r.failed) {
            out->code = source;
            out->code_size = strlen(source);
            return;
        }
    }
}

static void find_object(const gpuc_module_blob *blob, const char *kernel, gpuc_node_step *out)
{
    (void)kernel; /* all are in it */
    out->code = blob->bytes;
    out->code_size = blob->size;
}

gpuc_node_step gpuc_model_node_step(const gpuc_model *m, int node, int i)
{
    static const struct {
        const char *type_key;
        void (*find)(const gpuc_module_blob *blob, const char *kernel, gpuc_node_step *out);
    } forms[] = {{"spirv", find_spirv}, {"opencl_c", find_opencl}, {"cpu_so", find_object}};
    const gpuc_exec *e = m->exec;
    if (node < 0 || (uint32_t)node >= e->num_nodes) return (gpuc_node_step){0};
    const gpuc_exec_node *n = &e->nodes[node];
    if (i < 0 || (uint32_t)i >= n->num_steps) return (gpuc_node_step){0};
    const gpuc_exec_step *step = &e->steps[n->first_step + (uint32_t)i];
    if (step->kind != GPUC_STEP_LAUNCH) return (gpuc_node_step){0};
    const gpuc_kernel *k = &m->program->kernels[m->devices[step->device].code.chosen[step->kernel]];
    const gpuc_module_blob *blob = &m->program->modules[k->module];
    gpuc_node_step out = {
        .kernel = m->program->kernels[step->kernel].name, .variant = k->name, .code_type = blob->type_key};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (strcmp(forms[f].type_key, blob->type_key) == 0) forms[f].find(blob, k->name, &out);
    return out;
}
