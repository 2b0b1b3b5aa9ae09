/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives that put a stage between a tensor and its readers or its definition. */
#include "schedule/internal.h"

void gpuc_schedule_dataflow_replace(gpuc_dataflow *d, gpuc_stage *st, gpuc_te_op *op)
{
    gpuc_ctx *ctx = d->schedule->ctx;
    gpuc_ptrs_push(ctx, &d->stages, st);
    gpuc_ptrs_push(ctx, &d->ops, op);
    for (int i = 0; i < op->num_outputs; i++) {
        gpuc_ptrs_push(ctx, &d->from, st->op->outputs[i]);
        gpuc_ptrs_push(ctx, &d->to, op->outputs[i]);
    }
}

static bool is_among(const gpuc_stage *st, int n, gpuc_stage *const *list)
{
    for (int i = 0; i < n; i++)
        if (list[i] == st) return true;
    return false;
}

void gpuc_schedule_dataflow_carry(gpuc_dataflow *d, gpuc_tensor *t, gpuc_tensor *cache, int num_readers,
                                  gpuc_stage *const *readers)
{
    gpuc_ctx *ctx = d->schedule->ctx;
    const gpuc_ptrs *stages = &d->schedule->stages;
    for (size_t i = 0; i < stages->count; i++) {
        gpuc_stage *st = stages->at[i];
        bool given = false;
        for (size_t k = 0; k < d->stages.count; k++) given |= d->stages.at[k] == st;
        if (given) continue;
        gpuc_te_op *op =
            gpuc_te_replace_inputs(ctx, st->op, (int)d->from.count, (gpuc_tensor *const *)d->from.at,
                                   (gpuc_tensor *const *)d->to.at);
        if (is_among(st, num_readers, readers)) op = gpuc_te_replace_inputs(ctx, op, 1, &t, &cache);
        if (op != st->op) gpuc_schedule_dataflow_replace(d, st, op);
    }
}

void gpuc_schedule_dataflow_commit(gpuc_dataflow *d)
{
    gpuc_schedule *s = d->schedule;
    for (size_t i = 0; i < d->stages.count; i++) gpuc_map_set(&s->of_op, d->ops.at[i], d->stages.at[i]);
    gpuc_map_set(&s->of_op, d->added->op, d->added);
    gpuc_ptrs_push(s->ctx, &s->stages, d->added);

    size_t at = s->stages.count - 1;
    while (s->stages.at[at - 1] != d->beside) {
        s->stages.at[at] = s->stages.at[at - 1];
        at--;
    }
    if (!d->after) {
        s->stages.at[at] = s->stages.at[at - 1];
        at--;
    }
    s->stages.at[at] = d->added;
    for (size_t i = 0; i < d->stages.count; i++) ((gpuc_stage *)d->stages.at[i])->op = d->ops.at[i];
}

static gpuc_iter **copy_axes(gpuc_ctx *ctx, const gpuc_tensor *t, const char *suffix)
{
    gpuc_iter **axes = gpuc_new_array(ctx, gpuc_iter *, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        const gpuc_te_op *op = t->op;
        const char *name = op->kind == GPUC_TE_COMPUTE
                               ? gpuc_ctx_printf(ctx, "%s%s", gpuc_schedule_iter_name(op->axes[i]), suffix)
                               : gpuc_ctx_printf(ctx, "ax%d", i);
        axes[i] = gpuc_te_axis(ctx, t->shape[i], name);
    }
    return axes;
}

static gpuc_expr read_at(gpuc_ctx *ctx, gpuc_tensor *t, gpuc_iter *const *axes)
{
    gpuc_expr *index = gpuc_new_array(ctx, gpuc_expr, t->ndim);
    for (int i = 0; i < t->ndim; i++) index[i] = axes[i]->var;
    return gpuc_tir_read(ctx, t->dtype, t, t->ndim, index);
}

static gpuc_scope need_scope(const gpuc_stage *st, const char *scope, const char *primitive)
{
    gpuc_scope value;
    gpuc_stage_need(st, scope, primitive, "scope");
    if (!gpuc_scope_parse(scope, &value))
        gpuc_stage_fail(st,
                        "%s: there is no storage scope '%s'; use global, global.texel, global.texture, "
                        "shared, warp or local",
                        primitive, scope);
    if (value == GPUC_SCOPE_TEXTURE)
        gpuc_stage_fail(st,
                        "%s: only a parameter of the function can be an image (global.texture); use "
                        "global.texel",
                        primitive);
    return value;
}

gpuc_tensor *gpuc_cache_read(gpuc_schedule *s, gpuc_tensor *tensor, const char *scope, int num_readers,
                             gpuc_stage *const *readers)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_stage *st = gpuc_schedule_stage(s, tensor);
    gpuc_tensor *t = gpuc_schedule_current(s, tensor);
    gpuc_scope value = need_scope(st, scope, "cache_read");
    if (num_readers < 1) gpuc_stage_fail(st, "cache_read: no readers are given");
    gpuc_stage_need(st, readers, "cache_read", "list of readers");
    for (int i = 0; i < num_readers; i++) {
        gpuc_stage_need(st, readers[i], "cache_read", "reader");
        bool reads = false;
        for (int k = 0; k < readers[i]->op->num_inputs; k++) reads |= readers[i]->op->inputs[k] == t;
        if (readers[i]->schedule != s || !reads)
            gpuc_stage_fail(st, "cache_read: stage '%s' does not read it", readers[i]->name);
    }
    gpuc_iter **axes = copy_axes(ctx, t, "");
    gpuc_expr body = read_at(ctx, t, axes);
    gpuc_te_op *op =
        gpuc_te_op_of(ctx, gpuc_ctx_printf(ctx, "%s.%s", t->name, scope), t->ndim, axes, 0, NULL, 1, &body);
    gpuc_stage *cache = gpuc_stage_make(s, op);
    cache->has_scope = true;
    cache->scope = value;
    gpuc_dataflow d = {.schedule = s, .added = cache, .beside = st, .after = true};
    gpuc_schedule_dataflow_carry(&d, t, op->outputs[0], num_readers, readers);
    gpuc_schedule_dataflow_commit(&d);
    gpuc_stage_group *group = readers[0]->group;
    for (int i = 1; i < num_readers; i++)
        if (readers[i]->group != group) group = NULL;
    gpuc_stage_group_join(group, cache);
    return op->outputs[0];
}

typedef struct reindexer {
    gpuc_tir_mapper m;
    const gpuc_tensor *from;
    gpuc_expr read; /* NULL: not seen yet */
    bool several;   /* places are read */
    gpuc_tensor *to;
    int n;
    gpuc_expr *vars;
} reindexer;

static bool note_place(gpuc_expr e, void *arg)
{
    reindexer *r = arg;
    if (e->kind != GPUC_EXPR_READ || gpuc_as_read(e)->tensor != r->from) return true;
    r->several |= r->read && r->read != e;
    r->read = e;
    return true;
}

static gpuc_expr read_instead(gpuc_tir_mapper *m, gpuc_expr e)
{
    reindexer *r = (reindexer *)m;
    if (e == r->read) return gpuc_tir_read(m->ctx, e->dtype, r->to, r->n, r->vars);
    return gpuc_tir_map_children(m, e);
}

/* A condition of the reader may keep it inside of what it reads: elsewhere the stage holds 0. */
static gpuc_expr inside_only(gpuc_ctx *ctx, gpuc_expr e, int num_axes, gpuc_iter *const *axes)
{
    gpuc_analyzer *a = gpuc_arith_analyzer_create(ctx);
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    gpuc_expr inside = NULL;
    for (int i = 0; i < num_axes; i++)
        gpuc_arith_analyzer_bind(a, axes[i]->var, axes[i]->min, axes[i]->extent);
    for (int i = 0; i < read->n; i++) {
        gpuc_expr at = read->index[i], end = gpuc_cast(ctx, at->dtype, read->tensor->shape[i]);
        gpuc_expr ok[] = {gpuc_ge(ctx, at, gpuc_imm(ctx, at->dtype, 0)), gpuc_lt(ctx, at, end)};
        for (int k = 0; k < 2; k++)
            if (!gpuc_arith_prove(a, ok[k])) inside = inside ? gpuc_and(ctx, inside, ok[k]) : ok[k];
    }
    return inside ? gpuc_if_then_else(ctx, inside, e, gpuc_imm(ctx, e->dtype, 0)) : e;
}

gpuc_tensor *gpuc_reindex_read(gpuc_schedule *s, gpuc_tensor *tensor, const char *scope, gpuc_stage *reader)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_stage *st = gpuc_schedule_stage(s, tensor);
    gpuc_tensor *t = gpuc_schedule_current(s, tensor);
    gpuc_scope value = need_scope(st, scope, "reindex_read");
    gpuc_stage_need(st, reader, "reindex_read", "reader");
    const gpuc_te_op *to = reader->op;
    reindexer r = {.from = t};
    for (int i = 0; i < to->num_outputs && to->kind == GPUC_TE_COMPUTE; i++)
        gpuc_tir_visit(ctx, to->bodies[i], note_place, &r);
    if (reader->schedule != s || !r.read)
        gpuc_stage_fail(st, "reindex_read: stage '%s' does not read it", reader->name);
    if (r.several) gpuc_stage_fail(st, "reindex_read: stage '%s' reads it at several indices", reader->name);

    int max = to->num_axes + to->num_reduce, n = 0;
    gpuc_iter **axes = gpuc_new_array(ctx, gpuc_iter *, max);
    gpuc_expr *with = gpuc_new_array(ctx, gpuc_expr, max);
    r.vars = gpuc_new_array(ctx, gpuc_expr, max);
    for (int i = 0; i < max; i++) {
        const gpuc_iter *axis = i < to->num_axes ? to->axes[i] : to->reduce[i - to->num_axes];
        if (!gpuc_tir_uses_var(ctx, r.read, axis->var)) continue;
        axes[n] = gpuc_te_axis(ctx, axis->extent, gpuc_schedule_iter_name(axis));
        with[n] = axes[n]->var;
        r.vars[n++] = axis->var;
    }
    gpuc_expr body = inside_only(ctx, gpuc_tir_substitute(ctx, r.read, n, r.vars, with), n, axes);
    gpuc_te_op *op =
        gpuc_te_op_of(ctx, gpuc_ctx_printf(ctx, "%s.%s", t->name, scope), n, axes, 0, NULL, 1, &body);
    r.to = op->outputs[0];
    r.n = n;
    gpuc_tir_mapper_init(&r.m, ctx, read_instead, NULL);
    gpuc_expr *bodies = gpuc_new_array(ctx, gpuc_expr, to->num_outputs);
    for (int i = 0; i < to->num_outputs; i++) bodies[i] = gpuc_tir_map(&r.m, to->bodies[i]);
    gpuc_te_op *instead = gpuc_te_op_of(ctx, to->name, to->num_axes, to->axes, to->num_reduce, to->reduce,
                                        to->num_outputs, bodies);
    instead->attrs = to->attrs;

    gpuc_stage *cache = gpuc_stage_make(s, op);
    cache->has_scope = true;
    cache->scope = value;
    gpuc_dataflow d = {.schedule = s, .added = cache, .beside = st, .after = true};
    gpuc_schedule_dataflow_replace(&d, reader, instead);
    gpuc_schedule_dataflow_carry(&d, NULL, NULL, 0, NULL);
    gpuc_schedule_dataflow_commit(&d);
    return r.to;
}

static void need_unscheduled(const gpuc_stage *st, const char *primitive)
{
    const gpuc_schedule *s = st->schedule;
    bool annotated = false;
    for (int i = 0; i < st->num_leaves; i++) annotated |= gpuc_map_has(&st->notes, st->leaves[i]);
    bool moved = st->num_leaves != st->op->num_axes + st->op->num_reduce;
    for (int i = 0; i < st->num_leaves && !moved; i++)
        moved =
            st->leaves[i] != (i < st->op->num_axes ? st->op->axes[i] : st->op->reduce[i - st->op->num_axes]);
    if (st->relations.count > 0 || annotated || moved)
        gpuc_stage_fail(st, "%s: its loops have been changed already; do this first", primitive);
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *other = s->stages.at[i];
        if (other->attach == GPUC_ATTACH_AT && other->attach_stage == st)
            gpuc_stage_fail(st, "%s: stage '%s' is computed in one of its loops; do this before compute_at",
                            primitive, other->name);
    }
}

gpuc_tensor *gpuc_cache_write(gpuc_schedule *s, gpuc_tensor *tensor, const char *scope)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_stage *st = gpuc_schedule_stage(s, tensor);
    gpuc_scope value = need_scope(st, scope, "cache_write");
    const gpuc_te_op *op = st->op;
    if (op->kind == GPUC_TE_PLACEHOLDER) gpuc_stage_fail(st, "cache_write: nothing writes a placeholder");
    if (op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "cache_write: an extern operation writes its own buffers");
    need_unscheduled(st, "cache_write");

    int n = op->num_axes, count = op->num_outputs;
    gpuc_iter **axes = copy_axes(ctx, op->outputs[0], ".c");
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, n), *with = gpuc_new_array(ctx, gpuc_expr, n);
    for (int i = 0; i < n; i++) {
        vars[i] = op->axes[i]->var;
        with[i] = axes[i]->var;
    }
    gpuc_expr *bodies = gpuc_new_array(ctx, gpuc_expr, count),
              *copies = gpuc_new_array(ctx, gpuc_expr, count);
    for (int i = 0; i < count; i++) bodies[i] = gpuc_tir_substitute(ctx, op->bodies[i], n, vars, with);
    gpuc_te_op *cache_op = gpuc_te_op_of(ctx, gpuc_ctx_printf(ctx, "%s.%s", op->name, scope), n, axes,
                                         op->num_reduce, op->reduce, count, bodies);
    for (int i = 0; i < count; i++) copies[i] = read_at(ctx, cache_op->outputs[i], op->axes);
    gpuc_te_op *copy_op = gpuc_te_op_of(ctx, op->name, n, op->axes, 0, NULL, count, copies);
    copy_op->attrs = op->attrs;

    gpuc_stage *cache = gpuc_stage_make(s, cache_op);
    cache->has_scope = true;
    cache->scope = value;
    const gpuc_stage *fresh = gpuc_stage_make(s, copy_op);
    gpuc_dataflow d = {.schedule = s, .added = cache, .beside = st};
    gpuc_schedule_dataflow_replace(&d, st, copy_op);
    gpuc_schedule_dataflow_carry(&d, NULL, NULL, 0, NULL);
    gpuc_schedule_dataflow_commit(&d);
    gpuc_stage_group_join(st->group, cache);
    st->leaves = fresh->leaves;
    st->num_leaves = fresh->num_leaves;
    return cache_op->outputs[tensor->value_index];
}
