/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule as a function of the loop IR. */
#include "schedule/nest.h"
#include "tir/validate.h"

static gpuc_nest *nest_of(const gpuc_lowering *l, const gpuc_tensor *t)
{
    return gpuc_map_get(&l->of_op, t->op);
}

static void check_arguments(gpuc_lowering *l, int n, gpuc_tensor *const *args)
{
    const gpuc_schedule *s = l->schedule;
    for (int i = 0; i < n; i++) {
        const gpuc_stage *st = gpuc_schedule_find(s, args[i]->op);
        if (args[i]->op->kind == GPUC_TE_PLACEHOLDER) continue;
        gpuc_nest *nest = nest_of(l, args[i]);
        if (!nest) gpuc_stage_fail(st, "it is an argument of the function, so it cannot be inlined");
        if (st->has_scope && st->scope != GPUC_SCOPE_GLOBAL && st->scope != GPUC_SCOPE_TEXTURE)
            gpuc_stage_fail(st, "it is an argument of the function, so it cannot be in scope %s",
                            gpuc_scope_name(st->scope));
        nest->is_parameter = true;
    }
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *st = s->stages.at[i];
        const gpuc_nest *nest = gpuc_map_get(&l->of_op, st->op);
        if (st->is_output && !nest->is_parameter)
            gpuc_stage_fail(st,
                            "it is an output of the schedule but not among the arguments of the function");
    }
}

static bool is_zero(gpuc_expr e)
{
    return gpuc_tir_is_const(e, 0);
}

/* Row strides when some dimension is aligned: from the innermost outwards, each is made k * factor + offset.
 * Of a dimension that the layout splits the outer part is aligned. */
static const gpuc_expr *strides_of(gpuc_lowering *l, const gpuc_stage *st, int ndim, const gpuc_expr *shape)
{
    static const gpuc_align none = {0};
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr *strides = gpuc_new_array(ctx, gpuc_expr, ndim), stride = gpuc_int(ctx, 1);
    for (int k = ndim - 1; k >= 0; k--) {
        const gpuc_te_layout_dim *d = st->layout ? &st->layout->dims[k] : NULL;
        const gpuc_align *a = d && d->inner ? &none : &st->align[d ? d->axis : k];
        if (a->factor > 0) {
            gpuc_expr factor = gpuc_int(ctx, a->factor);
            gpuc_expr missing = gpuc_floormod_(ctx, gpuc_sub(ctx, gpuc_int(ctx, a->offset), stride), factor);
            stride = gpuc_arith_simplify(l->analyzer, gpuc_add(ctx, stride, missing));
        }
        strides[k] = stride;
        stride = gpuc_arith_simplify(l->analyzer, gpuc_mul(ctx, stride, shape[k]));
    }
    return strides;
}

static void make_storage(gpuc_lowering *l, const gpuc_nest *n, const gpuc_tensor *t)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_te_op *op = n->op;
    gpuc_te_place *place = gpuc_new(ctx, gpuc_te_place);
    const gpuc_expr *shape = t->shape;
    int ndim = t->ndim;
    if (op->kind == GPUC_TE_COMPUTE) {
        gpuc_expr *part = gpuc_new_array(ctx, gpuc_expr, t->ndim),
                  *origin = gpuc_new_array(ctx, gpuc_expr, t->ndim);
        bool moved = false;
        for (int k = 0; k < t->ndim; k++) {
            const gpuc_range *r = gpuc_map_get(&n->dom, op->axes[k]);
            part[k] = r->extent;
            origin[k] = r->min;
            moved |= !is_zero(r->min);
        }
        shape = place->extent = part;
        if (moved) place->origin = origin;
        if (n->rolls) place->rolling = part[n->rolling_axis], place->rolling_axis = n->rolling_axis;
    }
    if ((place->layout = n->stage->layout)) {
        ndim = place->layout->n;
        gpuc_expr *laid = gpuc_new_array(ctx, gpuc_expr, ndim);
        gpuc_te_layout_shape(ctx, place->layout, shape, laid);
        for (int k = 0; k < ndim; k++) laid[k] = gpuc_arith_simplify(l->analyzer, laid[k]);
        shape = laid;
    }
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, t->name, t->dtype, ndim, shape, n->scope);
    b->double_buffer = n->stage->double_buffer;
    b->require_scope = n->stage->require_scope;
    b->non_temporal = n->stage->non_temporal && n->scope == GPUC_SCOPE_GLOBAL;
    if (n->stage->align) b->strides = strides_of(l, n->stage, ndim, shape);
    place->buffer = b;
    gpuc_map_set(&l->places, t, place);
    gpuc_map_set(&l->allocs, t, b);
}

static void make_places(gpuc_lowering *l, const gpuc_te_params *params, int n, gpuc_tensor *const *args)
{
    for (int i = 0; i < n; i++) {
        const gpuc_stage *st = gpuc_schedule_find(l->schedule, args[i]->op);
        if (st && st->has_scope) params->buffers[i]->scope = st->scope;
        params->buffers[i]->non_temporal = st && st->non_temporal;
        gpuc_te_place *place = gpuc_new(l->ctx, gpuc_te_place);
        place->buffer = params->buffers[i];
        place->view = args[i]->view;
        gpuc_map_set(&l->places, args[i], place);
    }
    for (size_t i = 0; i < l->nests.count; i++) {
        const gpuc_nest *nest = l->nests.at[i];
        for (int k = 0; k < nest->op->num_outputs; k++)
            if (!gpuc_map_has(&l->places, nest->op->outputs[k])) make_storage(l, nest, nest->op->outputs[k]);
    }
}

/* What is wrong may be of the parts of an intrinsic, which users write. */
static void validate(const gpuc_schedule *s, const gpuc_tir_func *f)
{
    const char *after = NULL;
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *st = s->stages.at[i];
        for (int k = 0; k < st->num_leaves; k++) {
            const gpuc_tensor_intrin *t = gpuc_stage_note(st, st->leaves[k]).intrin;
            if (t)
                after = gpuc_ctx_printf(
                    s->ctx, "%s'%s'",
                    after ? gpuc_ctx_printf(s->ctx, "%s and ", after) : "the parts of intrinsic ", t->name);
        }
    }
    if (after)
        gpuc_tir_validate_given(s->ctx, f, after);
    else
        gpuc_tir_validate(s->ctx, f, "schedule lowering");
}

gpuc_tir_func *gpuc_schedule_lower(gpuc_schedule *s, const char *name, int num_args, gpuc_tensor *const *args)
{
    gpuc_ctx *ctx = s->ctx;
    if (num_args < 0 || (num_args > 0 && !args))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "lowering '%s': %s", name ? name : "",
                   num_args < 0 ? "the number of arguments is negative" : "the list of arguments is NULL");
    gpuc_tensor **current = gpuc_new_array(ctx, gpuc_tensor *, num_args);
    for (int i = 0; i < num_args; i++) {
        bool unread = args[i] && args[i]->op->kind == GPUC_TE_PLACEHOLDER && !gpuc_schedule_find(s, args[i]->op);
        current[i] = unread ? args[i] : gpuc_schedule_current(s, args[i]);
    }
    gpuc_ptrs ops = {0};
    for (size_t i = 0; i < s->stages.count; i++)
        gpuc_ptrs_push(ctx, &ops, ((gpuc_stage *)s->stages.at[i])->op);
    gpuc_te_params params;
    gpuc_te_params_init(ctx, &params, num_args, current, &ops);

    gpuc_lowering l = {.ctx = ctx,
                       .schedule = s,
                       .analyzer = gpuc_arith_analyzer_create(ctx),
                       .sizes = gpuc_arith_analyzer_create(ctx),
                       .scalars = &params.scalars};
    gpuc_map_init(&l.of_op, ctx);
    gpuc_map_init(&l.places, ctx);
    gpuc_map_init(&l.allocs, ctx);
    for (size_t i = 0; i < params.extents.count; i++) {
        gpuc_expr none = gpuc_int(ctx, 0), end = gpuc_int(ctx, (int64_t)1 << 31);
        gpuc_arith_analyzer_bind(l.analyzer, params.extents.at[i], none, end);
        gpuc_arith_analyzer_bind(l.sizes, params.extents.at[i], none, end);
    }
    gpuc_schedule_lowering_make_nests(&l);
    check_arguments(&l, num_args, current);
    gpuc_schedule_lowering_infer(&l);
    make_places(&l, &params, num_args, current);

    for (size_t i = 0; i < l.nests.count; i++) gpuc_schedule_lowering_prefetch(&l, l.nests.at[i]);
    gpuc_ptrs roots = {0};
    for (size_t i = 0; i < l.nests.count; i++)
        if (!((const gpuc_nest *)l.nests.at[i])->parent) gpuc_ptrs_push(ctx, &roots, l.nests.at[i]);
    gpuc_tir_func *f =
        gpuc_te_params_func(ctx, &params, name, gpuc_schedule_lowering_produce(&l, &roots, NULL));
    validate(s, f);
    return f;
}
