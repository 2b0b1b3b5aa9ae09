/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel is given: the parameter block, and its place in the launch. */
#include "codegen_spirv/emit.h"

/* Parameter p of the block (element offsets of tensors, then scalars). */
static gpuc_dtype member_dtype(const gpuc_spv_kernel *k, uint32_t p)
{
    return p < k->meta->num_tensors ? GPUC_INT32 : k->meta->scalars[p - k->meta->num_tensors];
}

static uint32_t declare_block(gpuc_spv_kernel *k)
{
    gpuc_spv *m = &k->m;
    uint32_t n = k->meta->num_tensors + k->meta->num_scalars;
    uint32_t *types = gpuc_new_array(k->ctx, uint32_t, n), *offsets = gpuc_new_array(k->ctx, uint32_t, n + 1);
    gpuc_abi_kernel_param_layout(k->meta, offsets + k->meta->num_tensors);
    for (uint32_t i = 0; i < k->meta->num_tensors; i++) offsets[i] = 4 * i;
    for (uint32_t i = 0; i < n; i++) types[i] = gpuc_spv_type(k, member_dtype(k, i));
    uint32_t type = gpuc_spv_global(m, SpvOpTypeStruct, 0, (int)n, types, 1, NULL);
    gpuc_spv_decorate(m, type, SpvDecorationBlock, 0, NULL);
    for (uint32_t i = 0; i < n; i++)
        gpuc_spv_emit(m, &m->decorations, SpvOpMemberDecorate, type, i, SpvDecorationOffset, offsets[i]);
    bool uniform = k->meta->params_in_buffer;
    uint32_t var = gpuc_spv_variable(m, uniform ? SpvStorageClassUniform : SpvStorageClassPushConstant, type);
    gpuc_spv_name(m, var, "params");
    if (uniform) {
        uint32_t binding = k->meta->num_bindings, set = 0;
        for (uint32_t i = 0; i < k->meta->num_tensors; i++)
            binding += k->meta->tensors[i].texel || k->meta->tensors[i].image;
        gpuc_spv_decorate(m, var, SpvDecorationDescriptorSet, 1, &set);
        gpuc_spv_decorate(m, var, SpvDecorationBinding, 1, &binding);
    }
    return var;
}

static uint32_t load_member(gpuc_spv_kernel *k, uint32_t p)
{
    gpuc_spv *m = &k->m;
    if (!k->block_var) k->block_var = declare_block(k);
    uint32_t type = gpuc_spv_type(k, member_dtype(k, p));
    SpvStorageClass storage =
        k->meta->params_in_buffer ? SpvStorageClassUniform : SpvStorageClassPushConstant;
    uint32_t number = gpuc_spv_const_u32(m, p), pointer_type = gpuc_spv_type_pointer(m, storage, type);
    uint32_t pointer = gpuc_spv_calc(m, SpvOpAccessChain, pointer_type, k->block_var, number);
    return gpuc_spv_calc(m, SpvOpLoad, type, pointer);
}

/* Everything at the start: it is the same for all invocations, and dominates all uses. */
void gpuc_spv_load_params(gpuc_spv_kernel *k)
{
    gpuc_spv *m = &k->m;
    k->params = gpuc_new_array(k->ctx, gpuc_spv_param, k->func->num_buffers);
    for (int i = 0; i < k->func->num_buffers; i++) {
        const gpuc_buffer_use *use = gpuc_codegen_use(k->uses, k->func->buffers[i]);
        if ((!use->read && !use->written) || k->meta->tensors[i].image) continue;
        uint32_t type = gpuc_spv_type(k, GPUC_INT32), *offset = k->params[i].offset;
        offset[0] = load_member(k, (uint32_t)i);
        gpuc_spv_name(m, offset[0], gpuc_ctx_printf(k->ctx, "%s_offset", k->func->buffers[i]->name));
        uint32_t per_element = (uint32_t)gpuc_dtype_bytes(k->func->buffers[i]->dtype);
        for (int shift = 1; shift <= 2; shift++)
            if (k->meta->tensors[i].alignment >= per_element << shift)
                offset[shift] = gpuc_spv_calc(m, SpvOpShiftRightArithmetic, type, offset[0],
                                              gpuc_spv_const_u32(m, (uint32_t)shift));
    }
    for (int i = 0; i < k->func->num_scalars; i++) {
        gpuc_expr var = k->func->scalars[i];
        if (!k->func->body || !gpuc_tir_stmt_uses_var(k->ctx, k->func->body, var)) continue;
        uint32_t id = load_member(k, k->meta->num_tensors + (uint32_t)i);
        gpuc_spv_name(m, id, gpuc_as_var(var)->name);
        gpuc_spv_set_value(k, var, id);
    }
}

uint32_t gpuc_spv_param_offset(gpuc_spv_kernel *k, int tensor, int lanes)
{
    uint32_t id = k->params[tensor].offset[lanes == 4 ? 2 : lanes == 2 ? 1 : 0];
    GPUC_CHECK(id != 0);
    return id;
}

uint32_t gpuc_spv_builtin(gpuc_spv_kernel *k, SpvBuiltIn which)
{
    gpuc_spv *m = &k->m;
    int slot = which == SpvBuiltInWorkgroupId         ? 0
               : which == SpvBuiltInLocalInvocationId ? 1
               : which == SpvBuiltInSubgroupId        ? 2
                                                      : 3;
    if (k->builtins[slot]) return k->builtins[slot];
    uint32_t type = gpuc_spv_type_int(m, 32, false);
    if (slot < 2) type = gpuc_spv_type_vector(m, type, 3);
    uint32_t var = gpuc_spv_variable(m, SpvStorageClassInput, type);
    gpuc_map_set(&m->interface, (void *)(uintptr_t)var, m);
    const uint32_t number = (uint32_t)which;
    gpuc_spv_decorate(m, var, SpvDecorationBuiltIn, 1, &number);
    return k->builtins[slot] = gpuc_spv_calc(m, SpvOpLoad, type, var);
}

/* A kernel that relies on subgroups takes its threads' numbers from their places in them: that a subgroup is
 * neighbours along x is nowhere promised. */
static uint32_t thread_in_subgroups(gpuc_spv_kernel *k, uint32_t axis)
{
    gpuc_spv *m = &k->m;
    const uint32_t *size = k->meta->local_size, type = gpuc_spv_type(k, GPUC_INT32);
    uint32_t lane = gpuc_spv_builtin(k, SpvBuiltInSubgroupLocalInvocationId),
             all = size[0] * size[1] * size[2];
    gpuc_spv_capability(m, SpvCapabilityGroupNonUniform);
    uint32_t id = lane;
    if (all != k->func->subgroup_size) {
        uint32_t first = gpuc_spv_builtin(k, SpvBuiltInSubgroupId);
        first = gpuc_spv_calc(m, SpvOpIMul, type, first, gpuc_spv_const_u32(m, k->func->subgroup_size));
        id = gpuc_spv_calc(m, SpvOpIAdd, type, first, id);
    }
    for (uint32_t i = 0; i < axis; i++) {
        if (size[i] > 1) id = gpuc_spv_calc(m, SpvOpUDiv, type, id, gpuc_spv_const_u32(m, size[i]));
        all /= size[i];
    }
    if (all != size[axis]) id = gpuc_spv_calc(m, SpvOpUMod, type, id, gpuc_spv_const_u32(m, size[axis]));
    return id;
}

/* Numbers of lanes that the driver's compiler does not see to be constant. */
static void load_hidden_lanes(gpuc_spv_kernel *k)
{
    gpuc_spv *m = &k->m;
    uint32_t type = gpuc_spv_type(k, GPUC_INT32);
    k->hidden_lanes = gpuc_new_array(k->ctx, uint32_t, k->func->subgroup_size);
    uint32_t zero =
        gpuc_spv_calc(m, SpvOpCompositeExtract, type, gpuc_spv_builtin(k, SpvBuiltInWorkgroupId), 0);
    zero = gpuc_spv_calc(m, SpvOpShiftRightLogical, type, zero, gpuc_spv_const_u32(m, 31)); /* is small */
    for (uint32_t i = 0; i < k->func->subgroup_size; i++)
        k->hidden_lanes[i] = gpuc_spv_calc(m, SpvOpIAdd, type, zero, gpuc_spv_const_u32(m, i));
}

void gpuc_spv_load_threads(gpuc_spv_kernel *k)
{
    gpuc_spv *m = &k->m;
    bool sized = k->func->subgroup_size > 0;
    for (int i = 0; i < k->func->num_threads; i++) {
        const gpuc_tir_thread *t = &k->func->threads[i];
        if (!k->func->body || !gpuc_tir_stmt_uses_var(k->ctx, k->func->body, t->var)) continue;
        bool block = gpuc_is_block_tag(t->tag);
        uint32_t axis = (uint32_t)t->tag - (uint32_t)(block ? GPUC_BLOCK_X : GPUC_THREAD_X), id;
        if (sized && !block) {
            id = thread_in_subgroups(k, axis);
        } else {
            uint32_t all = gpuc_spv_builtin(k, block ? SpvBuiltInWorkgroupId : SpvBuiltInLocalInvocationId);
            id = gpuc_spv_calc(m, SpvOpCompositeExtract, gpuc_spv_type(k, GPUC_INT32), all, axis);
        }
        id = gpuc_spv_cast(k, t->var->dtype, GPUC_UINT32, id);
        gpuc_spv_name(m, id, gpuc_as_var(t->var)->name);
        gpuc_spv_set_value(k, t->var, id);
    }
    /* Subgroup built-ins have to be loaded where they dominate all uses. */
    if (k->uses->has_subgroup) gpuc_spv_builtin(k, SpvBuiltInSubgroupLocalInvocationId);
    if (k->uses->has_subgroup && sized && k->target->hidden_lanes) load_hidden_lanes(k);
}
