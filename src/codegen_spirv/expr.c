/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions to ids. Values are remembered as long as they dominate what follows; those that read memory
 * which the kernel writes, until the next write. */
#include "codegen_spirv/emit.h"

/* ---- Known values ----------------------------------------------------------------------------------- */

enum { NO = 1, YES = 2 };

static bool reads_memory(gpuc_spv_kernel *k, gpuc_expr e);

static bool any_child_reads(gpuc_spv_kernel *k, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_CAST: return reads_memory(k, gpuc_as_cast(e)->a);
    case GPUC_EXPR_OP:
        for (int i = 0; i < 3 && gpuc_as_op(e)->a[i]; i++)
            if (reads_memory(k, gpuc_as_op(e)->a[i])) return true;
        return false;
    case GPUC_EXPR_LOAD: {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        return k->func->aliased || gpuc_codegen_use(k->uses, n->buffer)->written ||
               reads_memory(k, n->index[0]);
    }
    case GPUC_EXPR_RAMP:
        return reads_memory(k, gpuc_as_ramp(e)->start) || reads_memory(k, gpuc_as_ramp(e)->stride);
    case GPUC_EXPR_BROADCAST: return reads_memory(k, gpuc_as_broadcast(e)->a);
    case GPUC_EXPR_LANE: return reads_memory(k, gpuc_as_lane(e)->a);
    case GPUC_EXPR_VECTOR:
        for (int i = 0; i < e->dtype.lanes; i++)
            if (reads_memory(k, gpuc_as_vector(e)->a[i])) return true;
        return false;
    case GPUC_EXPR_CALL:
        for (int i = 0; i < gpuc_as_call(e)->n; i++)
            if (reads_memory(k, gpuc_as_call(e)->args[i])) return true;
        return gpuc_as_call(e)->buffer != NULL;
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return false;
}

static bool reads_memory(gpuc_spv_kernel *k, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return false;
    intptr_t known = (intptr_t)gpuc_map_get(&k->reads_memory, e);
    if (known) return known == YES;
    bool r = any_child_reads(k, e);
    gpuc_map_set(&k->reads_memory, e, (void *)(intptr_t)(r ? YES : NO));
    return r;
}

void gpuc_spv_set_value(gpuc_spv_kernel *k, gpuc_expr e, uint32_t id)
{
    gpuc_map_set(&k->values, e, (void *)(uintptr_t)id);
    gpuc_ptrs_push(k->ctx, &k->scope, e);
    if (e->kind != GPUC_EXPR_VAR && reads_memory(k, e)) gpuc_ptrs_push(k->ctx, &k->memory, e);
}

size_t gpuc_spv_scope_begin(gpuc_spv_kernel *k)
{
    return k->scope.count;
}

void gpuc_spv_scope_end(gpuc_spv_kernel *k, size_t mark)
{
    while (k->scope.count > mark) gpuc_map_set(&k->values, k->scope.at[--k->scope.count], NULL);
}

void gpuc_spv_memory_changed(gpuc_spv_kernel *k)
{
    while (k->memory.count > 0) gpuc_map_set(&k->values, k->memory.at[--k->memory.count], NULL);
}

/* ---- Choices ---------------------------------------------------------------------------------------- */

uint32_t gpuc_spv_select(gpuc_spv_kernel *k, gpuc_dtype held, uint32_t cond, uint32_t a, uint32_t b)
{
    return gpuc_spv_calc(&k->m, SpvOpSelect, gpuc_spv_type(k, held), cond, a, b);
}

/* Whether evaluating it where the result is not used does no harm. */
static bool is_safe(gpuc_expr e)
{
    if (e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT) || e->size > 24) return false;
    if (e->kind == GPUC_EXPR_OP) {
        for (int i = 0; i < 3 && gpuc_as_op(e)->a[i]; i++)
            if (!is_safe(gpuc_as_op(e)->a[i])) return false;
        return true;
    }
    if (e->kind == GPUC_EXPR_CAST) return is_safe(gpuc_as_cast(e)->a);
    return e->kind == GPUC_EXPR_VAR || e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT ||
           e->kind == GPUC_EXPR_BROADCAST;
}

static bool is_harmless(gpuc_spv_kernel *k, gpuc_expr e);

static bool all_harmless(gpuc_spv_kernel *k, int n, const gpuc_expr *a)
{
    for (int i = 0; i < n && a[i]; i++)
        if (!is_harmless(k, a[i])) return false;
    return true;
}

/* The same where what it reads are texels of buffers of known size, which are clamped to it. */
static bool is_harmless(gpuc_spv_kernel *k, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return is_safe(e);
    if (e->flags & GPUC_TIR_HAS_EFFECT) return false;
    if (e->kind == GPUC_EXPR_LOAD) {
        gpuc_expr index = gpuc_as_load(e)->index[0];
        if (index->kind == GPUC_EXPR_RAMP) index = gpuc_as_ramp(index)->start;
        return gpuc_spv_can_clamp(k, gpuc_as_load(e)->buffer) && is_safe(index);
    }
    if (e->kind == GPUC_EXPR_VECTOR) return all_harmless(k, e->dtype.lanes, gpuc_as_vector(e)->a);
    if (e->kind == GPUC_EXPR_BROADCAST) return is_harmless(k, gpuc_as_broadcast(e)->a);
    return e->kind == GPUC_EXPR_OP && all_harmless(k, 3, gpuc_as_op(e)->a);
}

static uint32_t choose_arm(gpuc_spv_kernel *k, gpuc_expr e, uint32_t label, uint32_t merge, uint32_t *from)
{
    gpuc_spv *m = &k->m;
    gpuc_spv_label(m, label);
    size_t mark = gpuc_spv_scope_begin(k);
    uint32_t id = gpuc_spv_expr(k, e);
    gpuc_spv_scope_end(k, mark);
    *from = m->block;
    gpuc_spv_emit(m, &m->code, SpvOpBranch, merge);
    return id;
}

/* Only the chosen arm runs: a branch, and a phi of the two results. */
static uint32_t branch(gpuc_spv_kernel *k, gpuc_expr e, gpuc_expr cond, gpuc_expr a, gpuc_expr b)
{
    gpuc_spv *m = &k->m;
    uint32_t c = gpuc_spv_expr(k, cond), yes = gpuc_spv_id(m), no = gpuc_spv_id(m), merge = gpuc_spv_id(m);
    gpuc_spv_emit(m, &m->code, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
    gpuc_spv_emit(m, &m->code, SpvOpBranchConditional, c, yes, no);
    uint32_t from_a, from_b;
    uint32_t x = choose_arm(k, a, yes, merge, &from_a), y = choose_arm(k, b, no, merge, &from_b);
    gpuc_spv_label(m, merge);
    return gpuc_spv_calc(m, SpvOpPhi, gpuc_spv_type(k, gpuc_spv_held(k, e->dtype)), x, from_a, y, from_b);
}

static uint32_t choice(gpuc_spv_kernel *k, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_expr cond = n->a[0];
    bool lazy = n->op == GPUC_TIR_IF_THEN_ELSE && !(is_safe(n->a[1]) && is_safe(n->a[2]));
    /* Where threads are lanes of a vector of a CPU both arms run anyway, under masks. */
    bool both = gpuc_target_is_software(k->target) && all_harmless(k, 3, n->a);
    if (lazy && !both) {
        if (cond->kind == GPUC_EXPR_BROADCAST) cond = gpuc_as_broadcast(cond)->a;
        return branch(k, e, cond, n->a[1], n->a[2]);
    }
    uint32_t c = gpuc_spv_expr(k, cond);
    k->clamped += lazy;
    uint32_t a = gpuc_spv_expr(k, n->a[1]), b = gpuc_spv_expr(k, n->a[2]);
    k->clamped -= lazy;
    return gpuc_spv_select(k, gpuc_spv_held(k, e->dtype), c, a, b);
}

/* ---- All -------------------------------------------------------------------------------------------- */

static uint32_t constant(gpuc_spv_kernel *k, gpuc_expr e, int lanes)
{
    gpuc_dtype held = gpuc_dtype_with_lanes(gpuc_spv_held(k, e->dtype), lanes);
    if (e->kind == GPUC_EXPR_INT) return gpuc_spv_int_const(k, held, gpuc_as_int(e)->value);
    double v = gpuc_as_float(e)->value;
    if (!gpuc_is_float(held)) return gpuc_spv_int_const(k, held, (int64_t)gpuc_float_bits(e->dtype, v));
    return gpuc_spv_float_const(k, held, v);
}

static uint32_t broadcast(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_expr a = gpuc_as_broadcast(e)->a;
    if (a->kind == GPUC_EXPR_INT || a->kind == GPUC_EXPR_FLOAT) return constant(k, a, e->dtype.lanes);
    return gpuc_spv_splat(k, gpuc_spv_held(k, e->dtype), gpuc_spv_expr(k, a));
}

static uint32_t vector(gpuc_spv_kernel *k, gpuc_expr e)
{
    uint32_t lanes[4];
    for (int i = 0; i < e->dtype.lanes; i++) {
        gpuc_expr a = e->kind == GPUC_EXPR_VECTOR ? gpuc_as_vector(e)->a[i] : gpuc_tir_lane(k->ctx, e, i);
        lanes[i] = gpuc_spv_expr(k, a);
    }
    return gpuc_spv_value(&k->m, SpvOpCompositeConstruct, gpuc_spv_type(k, gpuc_spv_held(k, e->dtype)),
                          e->dtype.lanes, lanes);
}

static uint32_t compute(gpuc_spv_kernel *k, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT: return constant(k, e, 1);
    case GPUC_EXPR_CAST: {
        gpuc_expr a = gpuc_as_cast(e)->a;
        return gpuc_spv_cast(k, e->dtype, a->dtype, gpuc_spv_expr(k, a));
    }
    case GPUC_EXPR_OP:
        return gpuc_tir_ops[gpuc_as_op(e)->op].result == GPUC_TIR_ARM ? choice(k, e)
                                                                      : gpuc_spv_operator(k, e);
    case GPUC_EXPR_LOAD: return gpuc_spv_load(k, e);
    case GPUC_EXPR_BROADCAST: return broadcast(k, e);
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_VECTOR: return vector(k, e);
    case GPUC_EXPR_LANE: {
        gpuc_expr a = gpuc_as_lane(e)->a;
        uint32_t id = gpuc_spv_expr(k, a);
        return gpuc_spv_calc(&k->m, SpvOpCompositeExtract, gpuc_spv_type(k, gpuc_spv_held(k, e->dtype)), id,
                             (uint32_t)gpuc_as_lane(e)->lane);
    }
    case GPUC_EXPR_CALL: return gpuc_spv_call(k, e);
    case GPUC_EXPR_VAR:
        gpuc_raise(k->ctx, GPUC_INTERNAL, "kernel '%s': variable '%s' has no value here", k->func->name,
                   gpuc_as_var(e)->name);
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    gpuc_raise(k->ctx, GPUC_INTERNAL, "kernel '%s' reads a tensor or reduces, so it was not lowered: %s",
               k->func->name, gpuc_expr_text(k->ctx, e));
}

uint32_t gpuc_spv_expr(gpuc_spv_kernel *k, gpuc_expr e)
{
    uint32_t id = (uint32_t)(uintptr_t)gpuc_map_get(&k->values, e);
    if (id) return id;
    id = compute(k, e);
    if (!(e->flags & GPUC_TIR_HAS_EFFECT) && e->kind != GPUC_EXPR_INT && e->kind != GPUC_EXPR_FLOAT)
        gpuc_spv_set_value(k, e, id);
    return id;
}
