/* SPDX-License-Identifier: Apache-2.0 */
#include "build/program.h"

static void need(gpuc_requirement *list, uint32_t *n, const char *name, int64_t value)
{
    if (value > 0) list[(*n)++] = (gpuc_requirement){.name = name, .at_least = value};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What one binding and one texel view must reach: values start at bindings of their own, rounded as slots
 * are. */
static void largest_tensors(gpuc_graph *g, int64_t *range, int64_t *texels)
{
    *range = *texels = 0;
    for (size_t i = 0; i < g->steps.count; i++) {
        const gpuc_graph_step *s = g->steps.at[i];
        for (int t = 0; s->kernel && s->device == 0 && t < s->num_tensors; t++) {
            const gpuc_kernel_tensor *tensor = &s->kernel->code.meta.tensors[t];
            const gpuc_graph_value *v = g->values.at[s->values[t]];
            int64_t bytes;
            if (!gpuc_expr_is_int(gpuc_sizes_bytes(&g->sizes, &v->type->tensor), &bytes)) continue;
            int64_t rounded = (bytes + GPUC_SLOT_ROUND - 1) / GPUC_SLOT_ROUND * GPUC_SLOT_ROUND;
            if (tensor->texel)
                *texels = larger(*texels, rounded / (4 * (int64_t)gpuc_dtype_bytes(tensor->dtype)));
            if (!tensor->texel || tensor->access != GPUC_ACCESS_READ) *range = larger(*range, bytes);
        }
    }
}

uint32_t gpuc_program_requirements(gpuc_graph *g, const gpuc_kernel *kernels, const gpuc_linked *linked,
                                   const gpuc_requirement **out)
{
    gpuc_ctx *ctx = g->ctx;
    const gpuc_target *t = g->target;
    int64_t threads = 0, x = 0, y = 0, z = 0, shared = 0, buffers = 0, push = 0, subgroup = 0;
    uint32_t features = 0;
    for (size_t i = 0; i < g->steps.count; i++) {
        const gpuc_graph_step *s = g->steps.at[i];
        if (!s->kernel || s->device) continue;
        const gpuc_kernel *k = &kernels[s->kernel_number];
        threads = larger(threads, (int64_t)k->local_size[0] * k->local_size[1] * k->local_size[2]);
        x = larger(x, k->local_size[0]);
        y = larger(y, k->local_size[1]);
        z = larger(z, k->local_size[2]);
        shared = larger(shared, k->shared_bytes);
        buffers = larger(buffers, k->num_bindings);
        subgroup = larger(subgroup, k->subgroup_size);
        features |= k->features;
        if (!k->params_in_buffer) push = larger(push, gpuc_kernel_param_layout(k, NULL));
    }
    int64_t range, texels;
    largest_tensors(g, &range, &texels);
    gpuc_requirement *list =
        gpuc_new_array(ctx, gpuc_requirement, 16 + GPUC_FEATURE_COUNT + linked->num_instruction_sets);
    uint32_t count = 0;
    if (t->kind != GPUC_TARGET_C) {
        need(list, &count, "max_num_threads", threads);
        need(list, &count, "max_threads_x", x);
        need(list, &count, "max_threads_y", y);
        need(list, &count, "max_threads_z", z);
        need(list, &count, "max_shared_memory", shared);
        need(list, &count, "max_storage_buffers", buffers);
        need(list, &count, "max_buffer_range", range);
        need(list, &count, "max_texels", texels);
        if (t->kind == GPUC_TARGET_VULKAN) need(list, &count, "max_push_constants", push);
        need(list, &count, "thread_warp_size", subgroup);
        for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
            if (features >> i & 1) need(list, &count, gpuc_feature_name((gpuc_feature)(1u << i)), 1);
    }
    for (int i = 0; i < linked->num_instruction_sets; i++) need(list, &count, linked->instruction_sets[i], 1);
    *out = list;
    return count;
}
