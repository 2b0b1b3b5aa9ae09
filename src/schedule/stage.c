/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and their stages. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "schedule/internal.h"

void gpuc_stage_fail(const gpuc_stage *st, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    gpuc_raise(st->schedule->ctx, GPUC_INVALID_ARGUMENT, "stage '%s': %s", st->name, text);
}

void gpuc_stage_need(const gpuc_stage *st, const void *given, const char *primitive, const char *what)
{
    if (!given) gpuc_stage_fail(st, "%s: the %s is NULL", primitive, what);
}

void gpuc_stage_need_factor(const gpuc_stage *st, int64_t factor, const char *primitive)
{
    if (factor > INT32_MAX)
        gpuc_stage_fail(st, "%s: %lld is too much; it must be less than 2^31", primitive, (long long)factor);
}

const char *gpuc_schedule_iter_name(const gpuc_iter *iter)
{
    return gpuc_as_var(iter->var)->name;
}

bool gpuc_schedule_op_is_reduction(const gpuc_te_op *op)
{
    return op->kind == GPUC_TE_COMPUTE && op->bodies[0]->kind == GPUC_EXPR_REDUCE;
}

bool gpuc_schedule_op_reads(const gpuc_te_op *op, const gpuc_te_op *producer)
{
    for (int i = 0; i < op->num_inputs; i++)
        if (op->inputs[i]->op == producer) return true;
    return false;
}

/* Leaves: axes, then reduce axes. */
static void start_loops(gpuc_stage *st)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    const gpuc_te_op *op = st->op;
    st->num_leaves = op->num_axes + op->num_reduce;
    st->leaves = gpuc_new_array(ctx, gpuc_iter *, st->num_leaves);
    for (int i = 0; i < op->num_axes; i++) st->leaves[i] = op->axes[i];
    for (int i = 0; i < op->num_reduce; i++) st->leaves[op->num_axes + i] = op->reduce[i];
    gpuc_map_init(&st->notes, ctx);
}

gpuc_stage *gpuc_stage_make(gpuc_schedule *s, gpuc_te_op *op)
{
    gpuc_stage *st = gpuc_new(s->ctx, gpuc_stage);
    st->schedule = s;
    st->name = op->name;
    st->op = op;
    start_loops(st);
    return st;
}

gpuc_schedule *gpuc_schedule_create(gpuc_ctx *ctx, int num_outputs, gpuc_tensor *const *outputs)
{
    if (num_outputs < 1 || !outputs)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a schedule needs at least one output");
    for (int i = 0; i < num_outputs; i++) {
        const gpuc_tensor *t = gpuc_te_need_tensor(ctx, outputs[i], "gpuc_schedule_create");
        if (t->op->kind == GPUC_TE_PLACEHOLDER)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "output '%s' is a placeholder: nothing computes it",
                       t->name);
        for (int k = 0; k < i; k++)
            if (outputs[k] == t)
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                           "output '%s' is twice among the outputs of the schedule", t->name);
    }
    gpuc_schedule *s = gpuc_new(ctx, gpuc_schedule);
    s->ctx = ctx;
    gpuc_map_init(&s->of_op, ctx);
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, num_outputs, outputs, &ops);
    for (size_t i = 0; i < ops.count; i++) {
        gpuc_stage *st = gpuc_stage_make(s, ops.at[i]);
        gpuc_ptrs_push(ctx, &s->stages, st);
        gpuc_map_set(&s->of_op, ops.at[i], st);
    }
    for (int i = 0; i < num_outputs; i++) gpuc_schedule_find(s, outputs[i]->op)->is_output = true;
    return s;
}

gpuc_stage *gpuc_schedule_find(const gpuc_schedule *s, const gpuc_te_op *op)
{
    return gpuc_map_get(&s->of_op, op);
}

gpuc_stage *gpuc_schedule_stage(gpuc_schedule *s, gpuc_tensor *t)
{
    gpuc_te_need_tensor(s->ctx, t, "gpuc_schedule_stage");
    gpuc_stage *st = gpuc_schedule_find(s, t->op);
    if (!st)
        gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT, "tensor '%s' is not computed or read in this schedule",
                   t->name);
    return st;
}

gpuc_tensor *gpuc_schedule_current(gpuc_schedule *s, gpuc_tensor *t)
{
    return gpuc_schedule_stage(s, t)->op->outputs[t->value_index];
}

/* ---- What a stage has ----------------------------------------------------------------------- */

int gpuc_stage_num_leaves(const gpuc_stage *st)
{
    return st->num_leaves;
}

gpuc_iter *gpuc_stage_leaf(const gpuc_stage *st, int i)
{
    if (i < 0 || i >= st->num_leaves)
        gpuc_stage_fail(st, "there is no loop %d; it has %d", i, st->num_leaves);
    return st->leaves[i];
}

int gpuc_stage_num_axes(const gpuc_stage *st)
{
    return st->op->num_axes;
}

int gpuc_stage_num_reduce(const gpuc_stage *st)
{
    return st->op->num_reduce;
}

gpuc_iter *gpuc_stage_axis(const gpuc_stage *st, int i)
{
    if (i < 0 || i >= st->op->num_axes)
        gpuc_stage_fail(st, "there is no axis %d; it has %d", i, st->op->num_axes);
    return st->op->axes[i];
}

gpuc_iter *gpuc_stage_reduce_axis(const gpuc_stage *st, int i)
{
    if (i < 0 || i >= st->op->num_reduce)
        gpuc_stage_fail(st, "there is no reduce axis %d; it has %d", i, st->op->num_reduce);
    return st->op->reduce[i];
}

gpuc_tensor *gpuc_stage_tensor(const gpuc_stage *st, int output)
{
    if (output < 0 || output >= st->op->num_outputs)
        gpuc_stage_fail(st, "there is no output %d; it has %d", output, st->op->num_outputs);
    return st->op->outputs[output];
}

int gpuc_stage_find_leaf(const gpuc_stage *st, const gpuc_iter *iter)
{
    for (int i = 0; i < st->num_leaves; i++)
        if (st->leaves[i] == iter) return i;
    return -1;
}

static const char *leaf_names(const gpuc_stage *st)
{
    const char *names = "";
    for (int i = 0; i < st->num_leaves; i++)
        names = gpuc_ctx_printf(st->schedule->ctx, "%s%s%s", names, i ? ", " : "",
                                gpuc_schedule_iter_name(st->leaves[i]));
    return names;
}

int gpuc_stage_need_leaf(const gpuc_stage *st, const gpuc_iter *iter, const char *primitive)
{
    int at = gpuc_stage_find_leaf(st, iter);
    if (at >= 0) return at;
    gpuc_stage_need(st, iter, primitive, "loop");
    if (st->op->kind == GPUC_TE_PLACEHOLDER) gpuc_stage_fail(st, "%s: a placeholder has no loops", primitive);
    if (st->op->kind == GPUC_TE_EXTERN)
        gpuc_stage_fail(st, "%s: the loops of an extern operation cannot be scheduled", primitive);
    for (size_t i = 0; i < st->relations.count; i++) {
        const gpuc_relation *r = st->relations.at[i];
        bool split = r->kind == GPUC_RELATION_SPLIT && r->whole == iter;
        bool fused = r->kind == GPUC_RELATION_FUSE && (r->outer == iter || r->inner == iter);
        if (split || fused)
            gpuc_stage_fail(st, "%s: '%s' has been %s and is no loop any more; the loops are %s", primitive,
                            gpuc_schedule_iter_name(iter), split ? "split" : "fused", leaf_names(st));
    }
    gpuc_stage_fail(st, "%s: '%s' is not a loop of this stage; its loops are %s", primitive,
                    gpuc_schedule_iter_name(iter), leaf_names(st));
}

gpuc_loop_note gpuc_stage_note(const gpuc_stage *st, const gpuc_iter *iter)
{
    const gpuc_loop_note *note = gpuc_map_get(&st->notes, iter);
    return note ? *note : (gpuc_loop_note){.kind = GPUC_LOOP_SERIAL, .tag = GPUC_THREAD_NONE};
}

gpuc_loop_note *gpuc_stage_note_make(gpuc_stage *st, gpuc_iter *iter)
{
    gpuc_loop_note *note = gpuc_map_get(&st->notes, iter);
    if (!note) {
        note = gpuc_new(st->schedule->ctx, gpuc_loop_note);
        gpuc_map_set(&st->notes, iter, note);
    }
    return note;
}
