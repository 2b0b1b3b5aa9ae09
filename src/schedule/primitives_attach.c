/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives on where a stage is computed and where its result lies. */
#include "schedule/internal.h"

/* Does st, or a stage that reads it, directly or not, lead to target? */
static bool feeds(const gpuc_schedule *s, const gpuc_stage *st, const gpuc_stage *target)
{
    gpuc_map reached;
    gpuc_map_init(&reached, s->ctx);
    gpuc_map_set(&reached, st->op, (void *)st);
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *other = s->stages.at[i];
        for (int k = 0; k < other->op->num_inputs; k++) {
            if (!gpuc_map_has(&reached, other->op->inputs[k]->op)) continue;
            if (other == target) return true;
            gpuc_map_set(&reached, other->op, (void *)other);
        }
    }
    return false;
}

static void need_intermediate(const gpuc_stage *st, const char *primitive)
{
    if (st->op->kind == GPUC_TE_PLACEHOLDER)
        gpuc_stage_fail(st, "%s: it is a placeholder; cache_read makes a stage that copies it", primitive);
    if (st->is_output)
        gpuc_stage_fail(st, "%s: it is an output; cache_write makes a stage before it", primitive);
}

static void refuse_extern_readers(const gpuc_stage *st, const char *primitive)
{
    for (size_t i = 0; i < st->schedule->stages.count; i++) {
        const gpuc_stage *other = st->schedule->stages.at[i];
        if (other->op->kind == GPUC_TE_EXTERN && gpuc_schedule_op_reads(other->op, st->op))
            gpuc_stage_fail(st, "%s: the extern operation '%s' reads it from memory", primitive, other->name);
    }
}

void gpuc_stage_need_place(const gpuc_stage *st, const gpuc_stage *parent, const gpuc_iter *iter)
{
    need_intermediate(st, "compute_at");
    gpuc_stage_need(st, parent, "compute_at", "stage whose loop it is computed in");
    if (st->schedule != parent->schedule)
        gpuc_stage_fail(st, "compute_at: stage '%s' is of another schedule", parent->name);
    if (st == parent) gpuc_stage_fail(st, "compute_at: a stage cannot be computed in its own loop");
    gpuc_stage_need_leaf(parent, iter, "compute_at");
    if (parent->attach == GPUC_ATTACH_INLINE)
        gpuc_stage_fail(st, "compute_at: stage '%s' is inlined and has no loops", parent->name);
    if (!feeds(st->schedule, st, parent))
        gpuc_stage_fail(st, "compute_at: stage '%s' does not read it, directly or through other stages",
                        parent->name);
}

void gpuc_stage_compute_at(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *iter)
{
    gpuc_stage_need_place(st, parent, iter);
    st->attach = GPUC_ATTACH_AT;
    st->attach_stage = parent;
    st->attach_iter = iter;
}

void gpuc_stage_compute_inline(gpuc_stage *st)
{
    const gpuc_schedule *s = st->schedule;
    need_intermediate(st, "compute_inline");
    if (st->op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "compute_inline: an extern operation cannot be inlined");
    if (gpuc_schedule_op_is_reduction(st->op))
        gpuc_stage_fail(st, "compute_inline: a reduction cannot be inlined; use compute_at");
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *other = s->stages.at[i];
        if (other->attach == GPUC_ATTACH_AT && other->attach_stage == st)
            gpuc_stage_fail(st, "compute_inline: stage '%s' is computed in one of its loops; move that first",
                            other->name);
    }
    if (st->predicate)
        gpuc_stage_fail(st, "compute_inline: it has a predicate for its stores, and would store nothing");
    refuse_extern_readers(st, "compute_inline");
    st->attach = GPUC_ATTACH_INLINE;
    st->attach_stage = NULL;
    st->attach_iter = NULL;
}

void gpuc_stage_compute_root(gpuc_stage *st)
{
    const gpuc_stage_group *g = st->group;
    bool together = g && g->attach == GPUC_ATTACH_AT;
    st->attach = together ? g->attach : GPUC_ATTACH_ROOT;
    st->attach_stage = together ? g->attach_stage : NULL;
    st->attach_iter = together ? g->attach_iter : NULL;
}

static void need_image(const gpuc_stage *st, bool parameter)
{
    if (!parameter)
        gpuc_stage_fail(st,
                        "set_scope: only a parameter of the function can be an image (global.texture), and "
                        "this is none; use global.texel");
    for (int i = 0; i < st->op->num_outputs; i++) {
        const gpuc_tensor *t = st->op->outputs[i];
        const char *why =
            t->view ? "its elements have strides" : gpuc_tir_not_image(t->dtype, t->ndim, t->shape);
        if (why) gpuc_stage_fail(st, "set_scope: it cannot be in global.texture: %s", why);
    }
}

void gpuc_stage_set_scope(gpuc_stage *st, const char *scope)
{
    gpuc_scope value;
    gpuc_stage_need(st, scope, "set_scope", "scope");
    if (!gpuc_scope_parse(scope, &value))
        gpuc_stage_fail(st,
                        "set_scope: there is no storage scope '%s'; use global, global.texel, "
                        "global.texture, shared, warp or local",
                        scope);
    bool parameter = st->is_output || st->op->kind == GPUC_TE_PLACEHOLDER;
    if (parameter && !gpuc_scope_is_global(value))
        gpuc_stage_fail(
            st, "set_scope: it is a parameter of the function and cannot be in scope %s; use cache_%s", scope,
            st->is_output ? "write" : "read");
    if (st->is_output && value == GPUC_SCOPE_TEXEL)
        gpuc_stage_fail(st, "set_scope: global.texel is for what is read, and this is an output");
    if (value == GPUC_SCOPE_TEXTURE) need_image(st, parameter);
    st->has_scope = true;
    st->scope = value;
}

void gpuc_stage_require_scope(gpuc_stage *st)
{
    need_intermediate(st, "require_scope");
    if (!st->has_scope) gpuc_stage_fail(st, "require_scope: it has no scope; name it with set_scope first");
    st->require_scope = true;
}

void gpuc_stage_storage_align(gpuc_stage *st, int axis, int64_t factor, int64_t offset)
{
    need_intermediate(st, "storage_align");
    int ndim = st->op->outputs[0]->ndim;
    if (axis < 0 || axis >= ndim)
        gpuc_stage_fail(st, "storage_align: there is no axis %d; it has %d", axis, ndim);
    if (factor < 1 || offset < 0 || offset >= factor)
        gpuc_stage_fail(st, "storage_align: factor %lld, offset %lld; wanted is 0 <= offset < factor",
                        (long long)factor, (long long)offset);
    gpuc_stage_need_factor(st, factor, "storage_align");
    if (!st->align) st->align = gpuc_new_array(st->schedule->ctx, gpuc_align, ndim);
    st->align[axis] = (gpuc_align){.factor = factor, .offset = offset};
}

void gpuc_stage_transform_layout(gpuc_stage *st, const char *layout)
{
    need_intermediate(st, "transform_layout");
    gpuc_stage_need(st, layout, "transform_layout", "layout");
    refuse_extern_readers(st, "transform_layout");
    if (st->op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "transform_layout: an extern operation writes its result as it is");
    st->layout = gpuc_te_layout_parse(st->schedule->ctx, layout, st->op->outputs[0]->ndim);
}

void gpuc_stage_align_bounds(gpuc_stage *st, int axis, int64_t factor)
{
    need_intermediate(st, "align_bounds");
    int ndim = st->op->outputs[0]->ndim;
    if (axis < 0 || axis >= ndim)
        gpuc_stage_fail(st, "align_bounds: there is no axis %d; it has %d", axis, ndim);
    if (factor < 1) gpuc_stage_fail(st, "align_bounds: the factor is %lld", (long long)factor);
    gpuc_stage_need_factor(st, factor, "align_bounds");
    if (!st->parts) st->parts = gpuc_new_array(st->schedule->ctx, int64_t, ndim);
    st->parts[axis] = factor;
}

void gpuc_stage_round_up(gpuc_stage *st)
{
    need_intermediate(st, "round_up");
    if (st->op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "round_up: an extern operation has its own bounds");
    st->round_up = true;
}

void gpuc_stage_double_buffer(gpuc_stage *st)
{
    need_intermediate(st, "double_buffer");
    st->double_buffer = true;
}

void gpuc_stage_rolling_buffer(gpuc_stage *st)
{
    need_intermediate(st, "rolling_buffer");
    if (st->op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "rolling_buffer: an extern operation writes all of its result");
    st->rolling = true;
}

void gpuc_stage_non_temporal(gpuc_stage *st)
{
    if (st->op->kind == GPUC_TE_PLACEHOLDER)
        gpuc_stage_fail(st, "non_temporal: it is a placeholder, which nothing stores to");
    if (st->op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "non_temporal: an extern operation writes its result as it is");
    if (gpuc_schedule_op_is_reduction(st->op))
        gpuc_stage_fail(st,
                        "non_temporal: a reduction updates its result; cache_write makes a stage that does");
    st->non_temporal = true;
}
