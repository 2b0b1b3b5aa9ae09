/* SPDX-License-Identifier: Apache-2.0 */
/* rfactor: a reduction becomes partial reductions, one per iteration of a loop, and a reduction of those.
 * Suriana, Adams, Kamil: Parallel associative reductions in Halide (CGO 2017). */
#include "schedule/internal.h"

/* What becomes of the reduction's iterators in the partial stage. */
typedef struct factoring {
    gpuc_ctx *ctx;
    gpuc_stage *st;
    const gpuc_tir_reduce_node *reduce;
    gpuc_iter *factored;
    gpuc_ptrs axes, reduce_axes; /* of the partial stage */
    gpuc_ptrs vars, with;        /* the definition's variables there */
    gpuc_expr condition;         /* NULL: always */
} factoring;

static void check(const gpuc_stage *st, const gpuc_iter *iter)
{
    const gpuc_schedule *s = st->schedule;
    if (!gpuc_schedule_op_is_reduction(st->op)) gpuc_stage_fail(st, "rfactor: it is not a reduction");
    gpuc_stage_need_leaf(st, iter, "rfactor");
    if (iter->kind != GPUC_ITER_REDUCE)
        gpuc_stage_fail(st, "rfactor: '%s' is not reduced over", gpuc_schedule_iter_name(iter));
    for (int i = 0; i < st->num_leaves; i++) {
        if (st->leaves[i]->kind == GPUC_ITER_REDUCE && gpuc_map_has(&st->notes, st->leaves[i]))
            gpuc_stage_fail(st, "rfactor: '%s' is bound or annotated; do this before",
                            gpuc_schedule_iter_name(st->leaves[i]));
    }
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *other = s->stages.at[i];
        if (other->attach == GPUC_ATTACH_AT && other->attach_stage == st &&
            other->attach_iter->kind == GPUC_ITER_REDUCE)
            gpuc_stage_fail(
                st,
                "rfactor: stage '%s' is computed in one of its reduction loops; do this before compute_at",
                other->name);
    }
}

static void rename_var(factoring *f, gpuc_expr var, gpuc_expr with)
{
    gpuc_ptrs_push(f->ctx, &f->vars, var);
    gpuc_ptrs_push(f->ctx, &f->with, with);
}

static void add_condition(factoring *f, gpuc_expr cond)
{
    f->condition = f->condition ? gpuc_and(f->ctx, f->condition, cond) : cond;
}

static gpuc_expr rewrite(const factoring *f, gpuc_expr e)
{
    return gpuc_tir_substitute(f->ctx, e, (int)f->vars.count, (const gpuc_expr *)f->vars.at,
                               (const gpuc_expr *)f->with.at);
}

static void factor_axes(factoring *f)
{
    gpuc_ctx *ctx = f->ctx;
    const gpuc_stage *st = f->st;
    const gpuc_te_op *op = st->op;
    gpuc_analyzer *a = gpuc_arith_analyzer_create(ctx);
    gpuc_map touched, dom, value;
    gpuc_map_init(&touched, ctx);
    gpuc_map_init(&dom, ctx);
    gpuc_map_init(&value, ctx);
    gpuc_map_set(&touched, f->factored, f->factored);
    gpuc_schedule_pass_up_mark(st, &touched);
    gpuc_schedule_pass_down_mark(st, &touched);
    for (int i = 0; i < op->num_axes + op->num_reduce; i++) {
        const gpuc_iter *axis = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        gpuc_range *r = gpuc_new(ctx, gpuc_range);
        *r = (gpuc_range){.min = axis->min, .extent = axis->extent};
        gpuc_map_set(&dom, axis, r);
    }
    gpuc_schedule_pass_down_domain(a, ctx, st, &dom);

    const gpuc_range *r = gpuc_map_get(&dom, f->factored);
    gpuc_iter *own = gpuc_te_axis(ctx, r->extent, gpuc_schedule_iter_name(f->factored));
    gpuc_ptrs_push(ctx, &f->axes, own);
    gpuc_arith_analyzer_bind(a, own->var, own->min, own->extent);
    gpuc_map_set(&value, f->factored, (void *)own->var);
    for (int i = 0; i < op->num_axes; i++) {
        gpuc_iter *axis = gpuc_te_axis(ctx, op->axes[i]->extent, gpuc_schedule_iter_name(op->axes[i]));
        gpuc_ptrs_push(ctx, &f->axes, axis);
        rename_var(f, op->axes[i]->var, axis->var);
    }
    for (int i = 0; i < op->num_reduce; i++)
        if (!gpuc_map_has(&touched, op->reduce[i])) gpuc_ptrs_push(ctx, &f->reduce_axes, op->reduce[i]);
    for (int i = 0; i < st->num_leaves; i++) {
        const gpuc_iter *leaf = st->leaves[i];
        if (leaf == f->factored || !gpuc_map_has(&touched, leaf)) continue;
        r = gpuc_map_get(&dom, leaf);
        gpuc_iter *copy = gpuc_te_reduce_axis(ctx, r->extent, gpuc_schedule_iter_name(leaf));
        gpuc_arith_analyzer_bind(a, copy->var, copy->min, copy->extent);
        gpuc_ptrs_push(ctx, &f->reduce_axes, copy);
        gpuc_map_set(&value, leaf, (void *)copy->var);
    }
    gpuc_schedule_pass_up_value(ctx, st, &dom, &value);

    gpuc_ptrs guards = {0};
    gpuc_schedule_pass_up_guards(ctx, a, st, &dom, &value, &guards);
    for (int i = 0; i < op->num_reduce; i++)
        if (gpuc_map_has(&touched, op->reduce[i]))
            rename_var(f, op->reduce[i]->var, gpuc_arith_simplify(a, gpuc_map_get(&value, op->reduce[i])));
    for (size_t i = 0; i < guards.count; i++) add_condition(f, guards.at[i]);
    if (f->reduce->condition) add_condition(f, rewrite(f, f->reduce->condition));
}

static gpuc_te_op *partial_op(const factoring *f)
{
    gpuc_ctx *ctx = f->ctx;
    const gpuc_tir_reducer *r = f->reduce->reducer;
    gpuc_expr *source = gpuc_new_array(ctx, gpuc_expr, r->count),
              *bodies = gpuc_new_array(ctx, gpuc_expr, r->count);
    for (int i = 0; i < r->count; i++) source[i] = rewrite(f, f->reduce->source[i]);
    int n = (int)f->reduce_axes.count;
    gpuc_iter *const *axes = (gpuc_iter *const *)f->reduce_axes.at;
    for (int i = 0; i < r->count; i++) {
        if (n > 0)
            bodies[i] = gpuc_tir_reduce(ctx, r, source, n, axes, f->condition, i);
        else
            bodies[i] =
                f->condition ? gpuc_if_then_else(ctx, f->condition, source[i], r->identity[i]) : source[i];
    }
    return gpuc_te_op_of(ctx, gpuc_ctx_printf(ctx, "%s.rf", f->st->op->name), (int)f->axes.count,
                         (gpuc_iter *const *)f->axes.at, n, axes, r->count, bodies);
}

static gpuc_te_op *final_op(const factoring *f, const gpuc_te_op *partial)
{
    gpuc_ctx *ctx = f->ctx;
    const gpuc_te_op *op = f->st->op;
    const gpuc_tir_reducer *r = f->reduce->reducer;
    gpuc_iter *over = gpuc_te_reduce_axis(ctx, partial->axes[0]->extent,
                                          gpuc_ctx_printf(ctx, "%s.v", gpuc_schedule_iter_name(f->factored)));
    gpuc_expr *index = gpuc_new_array(ctx, gpuc_expr, op->num_axes + 1);
    index[0] = over->var;
    for (int i = 0; i < op->num_axes; i++) index[i + 1] = op->axes[i]->var;
    gpuc_expr *source = gpuc_new_array(ctx, gpuc_expr, r->count),
              *bodies = gpuc_new_array(ctx, gpuc_expr, r->count);
    for (int i = 0; i < r->count; i++)
        source[i] =
            gpuc_tir_read(ctx, partial->outputs[i]->dtype, partial->outputs[i], op->num_axes + 1, index);
    for (int i = 0; i < r->count; i++) bodies[i] = gpuc_tir_reduce(ctx, r, source, 1, &over, NULL, i);
    gpuc_te_op *out = gpuc_te_op_of(ctx, op->name, op->num_axes, op->axes, 1, &over, r->count, bodies);
    out->attrs = op->attrs;
    return out;
}

/* The data loops stay as they are; the reduction's loops become the one over the partial results. */
static void replace_reduce_loops(gpuc_stage *st, gpuc_ptrs data_relations)
{
    st->relations = data_relations;
    int n = 0;
    bool placed = false;
    for (int i = 0; i < st->num_leaves; i++) {
        if (st->leaves[i]->kind != GPUC_ITER_REDUCE) {
            st->leaves[n++] = st->leaves[i];
        } else if (!placed) {
            st->leaves[n++] = st->op->reduce[0];
            placed = true;
        }
    }
    st->num_leaves = n;
}

gpuc_tensor *gpuc_rfactor(gpuc_schedule *s, gpuc_tensor *t, gpuc_iter *iter)
{
    gpuc_stage *st = gpuc_schedule_stage(s, t);
    check(st, iter);
    factoring f = {.ctx = s->ctx, .st = st, .factored = iter, .reduce = gpuc_as_reduce(st->op->bodies[0])};
    factor_axes(&f);
    gpuc_te_op *partial = partial_op(&f);
    gpuc_te_op *final = final_op(&f, partial);
    gpuc_dataflow d = {.schedule = s, .added = gpuc_stage_make(s, partial), .beside = st};
    gpuc_schedule_dataflow_replace(&d, st, final);
    gpuc_schedule_dataflow_carry(&d, NULL, NULL, 0, NULL);
    gpuc_ptrs kept = {0};
    for (size_t i = 0; i < st->relations.count; i++) {
        const gpuc_relation *r = st->relations.at[i];
        if (r->whole->kind != GPUC_ITER_REDUCE) gpuc_ptrs_push(s->ctx, &kept, r);
    }
    gpuc_schedule_dataflow_commit(&d);
    gpuc_stage_group_join(st->group, d.added);
    replace_reduce_loops(st, kept);
    return partial->outputs[t->value_index];
}
