/* SPDX-License-Identifier: Apache-2.0 */
/* Validates expressions: types, lanes, accesses, and barriers under divergent conditions. */
#include "tir/validate.h"

static const char *type(gpuc_tir_validator *v, gpuc_dtype t)
{
    return gpuc_tir_type_text(v->ctx, t);
}

static const char *text(gpuc_tir_validator *v, gpuc_expr e)
{
    return gpuc_tir_short_text(v->ctx, e);
}

static bool lanes_exist(gpuc_tir_stage stage, gpuc_expr e)
{
    int lanes = e->dtype.lanes;
    bool in_words = e->kind == GPUC_EXPR_RAMP || (e->kind == GPUC_EXPR_LOAD && e->dtype.bits < 32);
    if (stage != GPUC_TIR_STAGE_TARGET || in_words) return lanes >= 1 && lanes <= 64;
    return (lanes >= 1 && lanes <= 4) || lanes == 8 || lanes == 16;
}

/* ---- Barriers ------------------------------------------------------------------------------------------ */

static bool varies(gpuc_tir_validator *v, gpuc_expr e);

static bool is_uniform_node(gpuc_expr e, void *arg)
{
    gpuc_tir_validator *v = arg;
    if (e->kind == GPUC_EXPR_CALL) {
        gpuc_tir_intrin fn = gpuc_as_call(e)->fn;
        return gpuc_tir_intrins[fn].effect == GPUC_TIR_PURE && fn != GPUC_TIR_CALL_SUBGROUP_LANE &&
               fn != GPUC_TIR_CALL_THREAD_DECIDES;
    }
    if (e->kind != GPUC_EXPR_VAR) return true;
    uintptr_t known = (uintptr_t)gpuc_map_get(&v->varies[v->team], e);
    gpuc_expr value = known ? NULL : gpuc_map_get(&v->values, e);
    if (value) {
        known = varies(v, value) ? GPUC_TIR_VARIES : GPUC_TIR_UNIFORM;
        gpuc_map_set(&v->varies[v->team], e, (void *)known);
    }
    return known != GPUC_TIR_VARIES;
}

static bool varies(gpuc_tir_validator *v, gpuc_expr e)
{
    return !gpuc_tir_visit(v->ctx, e, is_uniform_node, v);
}

gpuc_expr gpuc_tir_divergent(gpuc_tir_validator *v, gpuc_tir_team team)
{
    v->team = team;
    for (const gpuc_tir_guard *g = v->guard; g; g = g->outer) {
        if (varies(v, g->a)) return g->a;
        if (g->b && varies(v, g->b)) return g->b;
    }
    return NULL;
}

static void check_barrier(gpuc_tir_validator *v)
{
    gpuc_expr of = gpuc_tir_divergent(v, GPUC_TIR_GROUP);
    if (of)
        gpuc_tir_complain(v, "the barrier is not reached by all threads: %s differs between them",
                          text(v, of));
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

static bool fits_op(gpuc_tir_op op, gpuc_dtype t)
{
    int flags = gpuc_tir_ops[op].flags;
    return gpuc_is_integer(t) ? flags & GPUC_TIR_INT
           : gpuc_is_float(t) ? flags & GPUC_TIR_FLT
                              : flags & GPUC_TIR_LOGIC;
}

static void check_op(gpuc_tir_validator *v, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    const gpuc_tir_op_info *info = &gpuc_tir_ops[n->op];
    int first = info->result == GPUC_TIR_ARM;
    gpuc_dtype t = n->a[first]->dtype;
    if (first && (!gpuc_is_bool(n->a[0]->dtype) || n->a[0]->dtype.lanes != t.lanes))
        gpuc_tir_complain(v, "the condition of %s has type %s", text(v, e), type(v, n->a[0]->dtype));
    for (int i = first; i < info->arity; i++)
        if (!gpuc_dtype_equal(n->a[i]->dtype, t))
            gpuc_tir_complain(v, "operands of %s have types %s and %s", text(v, e), type(v, t),
                              type(v, n->a[i]->dtype));
    if (!fits_op(n->op, t)) gpuc_tir_complain(v, "'%s' on %s in %s", info->text, type(v, t), text(v, e));
    gpuc_dtype result = info->result == GPUC_TIR_BOOL ? gpuc_dtype_with_lanes(GPUC_BOOL, t.lanes) : t;
    if (!gpuc_dtype_equal(e->dtype, result))
        gpuc_tir_complain(v, "%s has type %s, not %s", text(v, e), type(v, e->dtype), type(v, result));
}

int gpuc_tir_validate_access(gpuc_tir_validator *v, const gpuc_tir_buffer *b, int n, const gpuc_expr *index)
{
    int lanes = 1;
    if (!gpuc_map_get(&v->scope, b)) gpuc_tir_complain(v, "the buffer '%s' is not defined here", b->name);
    if (n != b->ndim)
        gpuc_tir_complain(v, "'%s' has %d dimensions and is accessed with %d indices", b->name, b->ndim, n);
    for (int i = 0; i < n; i++) {
        gpuc_dtype t = index[i]->dtype;
        if (!gpuc_is_integer(t)) gpuc_tir_complain(v, "index %d of '%s' has type %s", i, b->name, type(v, t));
        if (t.lanes > 1 && lanes > 1 && t.lanes != lanes)
            gpuc_tir_complain(v, "indices of '%s' have %d and %d lanes", b->name, lanes, t.lanes);
        if (t.lanes > 1) lanes = t.lanes;
    }
    return lanes;
}

static void check_load(gpuc_tir_validator *v, gpuc_expr e)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    int lanes = gpuc_tir_validate_access(v, n->buffer, n->n, n->index);
    gpuc_dtype t = gpuc_dtype_with_lanes(n->buffer->dtype, lanes);
    if (!gpuc_dtype_equal(e->dtype, t))
        gpuc_tir_complain(v, "the load %s has type %s, not %s", text(v, e), type(v, e->dtype), type(v, t));
}

static void check_count(gpuc_tir_validator *v, const gpuc_tir_call_node *n, int wanted)
{
    if (n->n != wanted)
        gpuc_tir_complain(v, "'%s' takes %d operands, not %d", gpuc_tir_intrins[n->fn].text, wanted, n->n);
}

static void check_prefetch(gpuc_tir_validator *v, const gpuc_tir_call_node *n)
{
    if (!n->buffer || !gpuc_map_get(&v->scope, n->buffer)) {
        gpuc_tir_complain(v, "'prefetch' has no buffer that is defined here");
        return;
    }
    if (n->n != n->buffer->ndim)
        gpuc_tir_complain(v, "'prefetch' of '%s' has %d indices for %d dimensions", n->buffer->name, n->n,
                          n->buffer->ndim);
    for (int i = 0; i < n->n; i++)
        if (!gpuc_is_integer(n->args[i]->dtype) || n->args[i]->dtype.lanes != 1)
            gpuc_tir_complain(v, "the index of 'prefetch' has type %s", type(v, n->args[i]->dtype));
}

/* What belongs to a call of a C function, and to nothing else. */
static bool is_address(gpuc_expr e)
{
    return e->kind == GPUC_EXPR_CALL && (gpuc_as_call(e)->fn == GPUC_TIR_CALL_ADDRESS ||
                                         gpuc_as_call(e)->fn == GPUC_TIR_CALL_CONST_ADDRESS);
}

static void check_address(gpuc_tir_validator *v, const gpuc_tir_call_node *n)
{
    const char *name = gpuc_tir_intrins[n->fn].text;
    if (!n->buffer) {
        gpuc_tir_complain(v, "'%s' has no buffer", name);
        return;
    }
    int lanes = gpuc_tir_validate_access(v, n->buffer, n->n, n->args);
    if (lanes > 1) gpuc_tir_complain(v, "'%s' of '%s' has %d lanes", name, n->buffer->name, lanes);
    if (!gpuc_dtype_equal(n->base.dtype, GPUC_INT64))
        gpuc_tir_complain(v, "'%s' has type %s, not int64", name, type(v, n->base.dtype));
}

static void check_stride(gpuc_tir_validator *v, const gpuc_tir_call_node *n)
{
    int64_t dim;
    check_count(v, n, 1);
    if (!n->buffer || v->func->stage != GPUC_TIR_STAGE_NESTED)
        gpuc_tir_complain(v, n->buffer ? "'stride' after storage_flatten" : "'stride' has no buffer");
    else if (n->n && (!gpuc_expr_is_int(n->args[0], &dim) || dim < 0 || dim >= n->buffer->ndim))
        gpuc_tir_complain(v, "'stride' of '%s': %s is none of its %d dimensions", n->buffer->name,
                          text(v, n->args[0]), n->buffer->ndim);
    if (!gpuc_dtype_equal(n->base.dtype, GPUC_INT64))
        gpuc_tir_complain(v, "'stride' has type %s, not int64", type(v, n->base.dtype));
}

static void check_atomic(gpuc_tir_validator *v, const gpuc_tir_call_node *n, int operands)
{
    const char *name = gpuc_tir_intrins[n->fn].text;
    check_count(v, n, operands);
    if (!n->buffer) {
        gpuc_tir_complain(v, "'%s' has no buffer", name);
        return;
    }
    if (n->n == 0) return;
    if (!gpuc_map_get(&v->scope, n->buffer))
        gpuc_tir_complain(v, "the buffer '%s' is not defined here", n->buffer->name);
    if (!gpuc_is_integer(n->args[0]->dtype))
        gpuc_tir_complain(v, "the index of '%s' has type %s", name, type(v, n->args[0]->dtype));
    gpuc_dtype t = gpuc_dtype_with_lanes(n->buffer->dtype, n->args[0]->dtype.lanes);
    for (int i = 1; i < n->n; i++)
        if (!gpuc_dtype_equal(n->args[i]->dtype, t))
            gpuc_tir_complain(v, "'%s' on '%s' gets %s, not %s", name, n->buffer->name,
                              type(v, n->args[i]->dtype), type(v, t));
    if (!gpuc_dtype_equal(n->base.dtype, t))
        gpuc_tir_complain(v, "'%s' on '%s' has type %s, not %s", name, n->buffer->name,
                          type(v, n->base.dtype), type(v, t));
}

static void check_texture(gpuc_tir_validator *v, const gpuc_tir_call_node *n, int operands)
{
    const char *name = gpuc_tir_intrins[n->fn].text;
    int channels = n->buffer ? gpuc_tir_image_channels(n->buffer) : 0;
    check_count(v, n, operands);
    if (channels == 0) {
        gpuc_tir_complain(v, "'%s' is of no image", name);
        return;
    }
    if (!gpuc_map_get(&v->scope, n->buffer))
        gpuc_tir_complain(v, "the buffer '%s' is not defined here", n->buffer->name);
    for (int i = 0; i < 2 && i < n->n; i++)
        if (!gpuc_is_integer(n->args[i]->dtype) || n->args[i]->dtype.lanes != 1)
            gpuc_tir_complain(v, "the %s of '%s' has type %s", i ? "column" : "row", name,
                              type(v, n->args[i]->dtype));
    if (n->base.dtype.lanes != channels || n->base.dtype.code != n->buffer->dtype.code ||
        (n->n == 3 && !gpuc_dtype_equal(n->args[2]->dtype, n->base.dtype)))
        gpuc_tir_complain(v, "'%s' on '%s' has type %s", name, n->buffer->name, type(v, n->base.dtype));
}

static void check_subgroup(gpuc_tir_validator *v, const gpuc_tir_call_node *n, int operands)
{
    check_count(v, n, operands);
    if (n->n && !gpuc_dtype_equal(n->base.dtype, n->args[0]->dtype))
        gpuc_tir_complain(v, "'%s' of %s has type %s", gpuc_tir_intrins[n->fn].text,
                          type(v, n->args[0]->dtype), type(v, n->base.dtype));
    if (n->n > 1 && !gpuc_is_integer(n->args[1]->dtype))
        gpuc_tir_complain(v, "the lane of '%s' has type %s", gpuc_tir_intrins[n->fn].text,
                          type(v, n->args[1]->dtype));
}

static void check_call(gpuc_tir_validator *v, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    switch (n->fn) {
    case GPUC_TIR_CALL_REINTERPRET:
        check_count(v, n, 1);
        if (n->n && !gpuc_tir_makes_words(e->dtype, n->args[0]->dtype) &&
            (n->args[0]->dtype.bits != e->dtype.bits || n->args[0]->dtype.lanes != e->dtype.lanes))
            gpuc_tir_complain(v, "%s of type %s is read as %s", text(v, n->args[0]),
                              type(v, n->args[0]->dtype), type(v, e->dtype));
        return;
    case GPUC_TIR_CALL_EXACT:
        check_count(v, n, 1);
        if (n->n && !(gpuc_is_float(e->dtype) && gpuc_dtype_equal(e->dtype, n->args[0]->dtype)))
            gpuc_tir_complain(v, "'exact' of %s has type %s", type(v, n->args[0]->dtype), type(v, e->dtype));
        return;
    case GPUC_TIR_CALL_DOT_I8:
    case GPUC_TIR_CALL_DOT_U8I8:
    case GPUC_TIR_CALL_DOT_U8:
    case GPUC_TIR_CALL_DOT_I16:
        check_count(v, n, 3);
        for (int i = 0; i < n->n; i++)
            if (!gpuc_same_element(n->args[i]->dtype, GPUC_INT32) ||
                n->args[i]->dtype.lanes != e->dtype.lanes)
                gpuc_tir_complain(v, "operand %d of '%s' has type %s", i, gpuc_tir_intrins[n->fn].text,
                                  type(v, n->args[i]->dtype));
        return;
    case GPUC_TIR_CALL_BARRIER:
        check_count(v, n, 0);
        check_barrier(v);
        return;
    case GPUC_TIR_CALL_ATOMIC_ADD:
    case GPUC_TIR_CALL_ATOMIC_MIN:
    case GPUC_TIR_CALL_ATOMIC_MAX:
    case GPUC_TIR_CALL_ATOMIC_AND:
    case GPUC_TIR_CALL_ATOMIC_OR:
    case GPUC_TIR_CALL_ATOMIC_XOR:
    case GPUC_TIR_CALL_ATOMIC_EXCHANGE: check_atomic(v, n, 2); return;
    case GPUC_TIR_CALL_ATOMIC_CAS: check_atomic(v, n, 3); return;
    case GPUC_TIR_CALL_PREFETCH: check_prefetch(v, n); return;
    case GPUC_TIR_CALL_ADDRESS:
    case GPUC_TIR_CALL_CONST_ADDRESS: check_address(v, n); return;
    case GPUC_TIR_CALL_STRIDE: check_stride(v, n); return;
    case GPUC_TIR_CALL_THREAD_DECIDES:
        check_count(v, n, 0);
        if (!gpuc_dtype_equal(e->dtype, GPUC_BOOL))
            gpuc_tir_complain(v, "'thread_decides' has type %s", type(v, e->dtype));
        return;
    case GPUC_TIR_CALL_TEXTURE2D_LOAD: check_texture(v, n, 2); return;
    case GPUC_TIR_CALL_TEXTURE2D_STORE: check_texture(v, n, 3); return;
    case GPUC_TIR_CALL_SUBGROUP_LANE: check_count(v, n, 0); return;
    case GPUC_TIR_CALL_SUBGROUP_ADD:
    case GPUC_TIR_CALL_SUBGROUP_MUL:
    case GPUC_TIR_CALL_SUBGROUP_MIN:
    case GPUC_TIR_CALL_SUBGROUP_MAX: check_subgroup(v, n, 1); return;
    case GPUC_TIR_CALL_SUBGROUP_SHUFFLE: check_subgroup(v, n, 2); return;
    case GPUC_TIR_CALL_EXTERN:
        if (!n->name || !*n->name)
            gpuc_tir_complain(v, "an extern call has no name");
        else if (!gpuc_tir_is_identifier(n->name))
            gpuc_tir_complain(v, "'%s' cannot name a C function: use letters, digits and '_'", n->name);
        if (n->buffer && !gpuc_map_get(&v->scope, n->buffer))
            gpuc_tir_complain(v, "the buffer '%s' is not defined here", n->buffer->name);
        return;
    case GPUC_TIR_INTRIN_COUNT: return;
    }
}

static void check_vector(gpuc_tir_validator *v, gpuc_expr e)
{
    for (int i = 0; i < e->dtype.lanes; i++) {
        gpuc_dtype t = gpuc_as_vector(e)->a[i]->dtype;
        if (t.lanes != 1 || !gpuc_same_element(t, e->dtype))
            gpuc_tir_complain(v, "lane %d of a vector of type %s has type %s", i, type(v, e->dtype),
                              type(v, t));
    }
}

static void check_whose(gpuc_tir_validator *v, gpuc_expr e)
{
    gpuc_tir_operands operands;
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_EXTERN) return;
    gpuc_tir_operands_get(v->ctx, e, &operands);
    for (int i = 0; i < operands.n; i++)
        if (is_address(operands.at[i]))
            gpuc_tir_complain(v, "%s is no argument of a C function", text(v, operands.at[i]));
}

static bool check_node(gpuc_expr e, void *arg)
{
    gpuc_tir_validator *v = arg;
    if (e->flags & GPUC_TIR_HAS_EFFECT) check_whose(v, e);
    if (!lanes_exist(v->func->stage, e))
        gpuc_tir_complain(v, "%s has %d lanes, which stage %s does not know", text(v, e), e->dtype.lanes,
                          v->func->stage == GPUC_TIR_STAGE_TARGET ? "target" : "before target");
    switch (e->kind) {
    case GPUC_EXPR_VAR:
        if (!gpuc_map_get(&v->scope, e))
            gpuc_tir_complain(v, "the variable '%s' is not defined here", gpuc_as_var(e)->name);
        break;
    case GPUC_EXPR_OP: check_op(v, e); break;
    case GPUC_EXPR_LOAD: check_load(v, e); break;
    case GPUC_EXPR_CAST:
        if (gpuc_as_cast(e)->a->dtype.lanes != e->dtype.lanes)
            gpuc_tir_complain(v, "the cast %s changes lanes", text(v, e));
        break;
    case GPUC_EXPR_RAMP: {
        const gpuc_tir_ramp_node *n = gpuc_as_ramp(e);
        if (n->start->dtype.lanes != 1 || !gpuc_dtype_equal(n->start->dtype, n->stride->dtype) ||
            !gpuc_same_element(n->start->dtype, e->dtype) || !gpuc_is_integer(e->dtype))
            gpuc_tir_complain(v, "the types in %s do not fit", text(v, e));
        break;
    }
    case GPUC_EXPR_BROADCAST:
        if (gpuc_as_broadcast(e)->a->dtype.lanes != 1 ||
            !gpuc_same_element(gpuc_as_broadcast(e)->a->dtype, e->dtype))
            gpuc_tir_complain(v, "the types in %s do not fit", text(v, e));
        break;
    case GPUC_EXPR_LANE: {
        const gpuc_tir_lane_node *n = gpuc_as_lane(e);
        if (n->lane < 0 || n->lane >= n->a->dtype.lanes)
            gpuc_tir_complain(v, "%s does not exist", text(v, e));
        break;
    }
    case GPUC_EXPR_VECTOR: check_vector(v, e); break;
    case GPUC_EXPR_CALL: check_call(v, e); break;
    case GPUC_EXPR_READ:
        gpuc_tir_complain(v, "a tensor is read, which no lowered function does: %s", text(v, e));
        break;
    case GPUC_EXPR_REDUCE: gpuc_tir_complain(v, "a reduction is left: %s", text(v, e)); break;
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return true;
}

void gpuc_tir_validate_expr(gpuc_tir_validator *v, gpuc_expr e)
{
    if (is_address(e)) gpuc_tir_complain(v, "%s is no argument of a C function", text(v, e));
    gpuc_tir_visit(v->ctx, e, check_node, v);
}
