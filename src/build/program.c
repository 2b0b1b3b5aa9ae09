/* SPDX-License-Identifier: Apache-2.0 */
#include "build/program.h"

#include <string.h>

static void lower_all(gpuc_ctx *ctx, gpuc_graph *g, const gpuc_build_options *options)
{
    int n = (int)g->functions.count;
    const gpuc_rfunction **functions = gpuc_new_array(ctx, const gpuc_rfunction *, n);
    const char **names = gpuc_new_array(ctx, const char *, n),
               **labels = gpuc_new_array(ctx, const char *, n);
    gpuc_lowered **lowered = gpuc_new_array(ctx, gpuc_lowered *, n);
    for (int i = 0; i < n; i++) {
        const gpuc_graph_function *f = g->functions.at[i];
        functions[i] = f->f;
        names[i] = f->name;
        labels[i] = f->label;
    }
    gpuc_lower_functions(ctx, g->target, n, functions, names, labels, options->num_threads, options->progress,
                         options->progress_user, lowered);
    for (int i = 0; i < n; i++) ((gpuc_graph_function *)g->functions.at[i])->lowered = lowered[i];
}

/* One block for all weights, at the offsets of the graph. */
static void gather_weights(gpuc_ctx *ctx, gpuc_graph *g, bool release, gpuc_program *out)
{
    gpuc_const_data *block = gpuc_const_data_create(ctx, g->weight_bytes);
    for (size_t i = 0; i < g->weights.count; i++) {
        const gpuc_graph_weight *w = g->weights.at[i];
        const gpuc_const_data *data = w->constant->data;
        if (data->size) memcpy((char *)block->bytes + w->offset, data->bytes, data->size);
    }
    if (release)
        for (size_t i = 0; i < g->weights.count; i++)
            gpuc_const_data_release(((gpuc_graph_weight *)g->weights.at[i])->constant->data);
    out->weights = block->bytes;
    out->weights_size = g->weight_bytes;
}

static void check_bindings(gpuc_ctx *ctx, gpuc_graph *g)
{
    int64_t limit = g->target->max_buffer_range;
    for (size_t i = 0; limit && i < g->steps.count; i++) {
        const gpuc_graph_step *s = g->steps.at[i];
        for (int t = 0; s->kernel && t < s->num_tensors; t++) {
            const gpuc_graph_value *v = g->values.at[s->values[t]];
            int64_t bytes = gpuc_tensor_type_bytes(ctx, &v->type->tensor);
            if (bytes > limit)
                gpuc_raise(
                    ctx, GPUC_UNSUPPORTED,
                    "tensor %s%sof %s has %lld bytes; one binding of target %s holds max_buffer_range=%lld; "
                    "build for a device that holds more, or for c",
                    v->name, *v->name ? " " : "", s->kernel->code.meta.label, (long long)bytes,
                    gpuc_target_text(ctx, g->target), (long long)limit);
        }
    }
}

void gpuc_build_program(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                        const gpuc_build_options *options, bool release_constants, gpuc_built_program *out)
{
    memset(out, 0, sizeof *out);
    gpuc_graph *g = gpuc_graph_create(ctx, m, target);
    out->graph = g;
    lower_all(ctx, g, options);
    gpuc_graph_plan(g);
    check_bindings(ctx, g);
    uint32_t n = g->num_kernels, at = 0;
    gpuc_kernel_code *code = gpuc_new_array(ctx, gpuc_kernel_code, n);
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_lowered *l = ((gpuc_graph_function *)g->functions.at[i])->lowered;
        for (int k = 0; k < l->num_kernels; k++) code[at++] = l->kernels[k].code;
    }
    if (options->progress) options->progress(options->progress_user, "linking kernels", 0, 0);
    gpuc_codegen_get(ctx, target)->link(ctx, target, (int)n, code, &out->linked);
    gpuc_kernel *kernels = gpuc_new_array(ctx, gpuc_kernel, n);
    for (uint32_t i = 0; i < n; i++) {
        kernels[i] = code[i].meta;
        kernels[i].module = out->linked.kernel_module[i];
    }
    gpuc_program *p = &out->program;
    p->target = gpuc_target_text(ctx, target);
    p->device_type = gpuc_target_device_type(target);
    p->num_requirements = gpuc_program_requirements(g, n, kernels, &p->requirements);
    p->num_kernels = n;
    p->kernels = kernels;
    p->num_modules = (uint32_t)out->linked.num_modules;
    p->modules = out->linked.modules;
    gpuc_graph_to_exec(g, &p->exec);
    gather_weights(ctx, g, release_constants, p);
}
