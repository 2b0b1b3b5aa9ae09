/* SPDX-License-Identifier: Apache-2.0 */
/* Intrinsics in the place of loops. */
#include <string.h>

#include "schedule/internal.h"

/* ---- The primitive ---------------------------------------------------------------------------------- */

static GPUC_NORETURN void fail_match(const gpuc_stage *st, const gpuc_tensor_intrin *t, const char *why)
{
    gpuc_stage_fail(st, "tensorize: the stage does not compute what %s does: %s", t->name, why);
}

/* Which axis of the pattern each loop is. Loops of the output's axes come in the order of these, those of reduce axes too. */
static void need_axes(const gpuc_stage *st, const gpuc_tensor_intrin *t, int n, const gpuc_iter *const *loops,
                      int *axes)
{
    const gpuc_te_op *p = t->pattern;
    int next[2] = {0, p->num_axes}, end[2] = {p->num_axes, gpuc_tensor_intrin_rank(t)};
    for (int i = 0; i < n; i++) {
        int kind = loops[i]->kind == GPUC_ITER_REDUCE, k = next[kind]++;
        const gpuc_iter *axis = k < end[kind] ? gpuc_tensor_intrin_axis(t, k) : NULL;
        int64_t have = -1, want = -2;
        if (axis) gpuc_expr_is_int(axis->extent, &want);
        gpuc_expr_is_int(loops[i]->extent, &have);
        if (have == want) {
            axes[i] = k;
            continue;
        }
        const char *name = gpuc_schedule_iter_name(loops[i]);
        const char *extent = gpuc_expr_text(st->schedule->ctx, loops[i]->extent);
        const char *mend =
            have < 0 || have > want ? "split it by that" : "an intrinsic must not be larger than its loop";
        if (axis)
            gpuc_stage_fail(st, "tensorize: '%s' of extent %s fits no axis of %s, whose '%s' has %lld: %s",
                            name, extent, t->name, gpuc_schedule_iter_name(axis), (long long)want, mend);
        gpuc_stage_fail(st, "tensorize: '%s' of extent %s fits no axis of %s, which has %d %s", name, extent,
                        t->name, kind ? p->num_reduce : p->num_axes,
                        kind ? "to reduce over" : "of the output");
    }
}

/* Whether a reduce loop is outside of those from number `at` on. */
static const gpuc_iter *outer_reduce(const gpuc_stage *st, int at)
{
    for (int i = 0; i < at; i++)
        if (st->leaves[i]->kind == GPUC_ITER_REDUCE) return st->leaves[i];
    return NULL;
}

void gpuc_stage_tensorize(gpuc_stage *st, gpuc_iter *iter, const gpuc_tensor_intrin *intrin)
{
    int at = gpuc_stage_need_leaf(st, iter, "tensorize"), axes[GPUC_TENSOR_AXES];
    gpuc_tensor_match m;
    gpuc_stage_need(st, intrin, "tensorize", "intrinsic");
    const char *why = gpuc_tensor_intrin_find_match(st->schedule->ctx, intrin, st->op, NULL, NULL, &m);
    if (why) fail_match(st, intrin, why);
    int n = st->num_leaves - at;
    if (n != gpuc_tensor_intrin_rank(intrin))
        gpuc_stage_fail(st, "tensorize: %d loops from '%s' inwards, %s has %d axes", n,
                        gpuc_schedule_iter_name(iter), intrin->name, gpuc_tensor_intrin_rank(intrin));
    need_axes(st, intrin, n, (const gpuc_iter *const *)st->leaves + at, axes);
    for (int i = at; i < st->num_leaves; i++)
        if (gpuc_stage_note(st, st->leaves[i]).kind == GPUC_LOOP_THREAD)
            gpuc_stage_fail(st, "tensorize: '%s' is bound to a thread",
                            gpuc_schedule_iter_name(st->leaves[i]));
    const gpuc_iter *outer = outer_reduce(st, at);
    if (outer && !intrin->parts.update)
        gpuc_stage_fail(
            st, "tensorize: %s has no update part, so that all of the reduction must be in it; '%s' is not",
            intrin->name, gpuc_schedule_iter_name(outer));
    gpuc_stage_note_make(st, iter)->intrin = intrin;
}

/* ---- Binding ---------------------------------------------------------------------------------------- */

static const gpuc_tensor_region *input_region(const gpuc_tensor_binding *b, const gpuc_tensor_match *m,
                                              const gpuc_tensor_operand *t, const char **why)
{
    const gpuc_expr **index = gpuc_new_array(b->ctx, const gpuc_expr *, t->reads.count);
    const gpuc_tir_buffer *buffer = NULL;
    const char *name = NULL;
    for (size_t r = 0; r < t->reads.count; r++) {
        size_t i = 0;
        while (m->pattern.at[i] != ((const gpuc_tensor_intrin_read *)t->reads.at[r])->read) i++;
        const gpuc_tir_load_node *load = gpuc_as_load(gpuc_te_emit_expr(b->ctx, b->emit, m->found.at[i]));
        const char *other = gpuc_as_read(m->found.at[i])->tensor->name;
        if (buffer && buffer != load->buffer) {
            *why = gpuc_ctx_printf(b->ctx, "it has both '%s' and '%s' in the place of '%s'", name, other,
                                   t->tensor->name);
            return NULL;
        }
        name = other;
        buffer = load->buffer;
        index[r] = load->index;
    }
    return gpuc_tensor_intrin_region(b, t, name, buffer, index, why);
}

static const char *bind_inputs(const gpuc_tensor_match *m, void *arg)
{
    gpuc_tensor_binding *b = arg;
    const char *why = NULL;
    for (int i = 0; i < b->intrin->num_inputs && !why; i++)
        b->in[i] = input_region(b, m, &b->intrin->inputs[i], &why);
    return why;
}

static void bind_outputs(gpuc_tensor_binding *b)
{
    const gpuc_te_op *op = b->emit->op;
    for (int k = 0; k < op->num_outputs; k++) {
        const char *why;
        gpuc_stmt any =
            gpuc_te_emit_store(b->ctx, b->emit, k, gpuc_imm_int(b->ctx, op->outputs[k]->dtype, 0));
        const gpuc_tir_store_node *store = gpuc_as_store(any);
        b->out[k] = gpuc_tensor_intrin_region(b, &b->intrin->output, op->outputs[k]->name, store->buffer,
                                              &store->index, &why);
        if (!b->out[k]) gpuc_stage_fail(b->stage, "tensorize: %s", why);
    }
}

void gpuc_tensor_intrin_bind(gpuc_tensor_binding *b, gpuc_analyzer *a, const gpuc_stage *st,
                             const gpuc_tensor_intrin *intrin, const gpuc_te_emit *e, bool whole, int n,
                             const gpuc_iter *const *loops, const gpuc_expr *vars)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    int axes[GPUC_TENSOR_AXES], rank = whole ? gpuc_tensor_intrin_rank(intrin) : intrin->pattern->num_axes;
    if (n != rank)
        gpuc_stage_fail(st, "tensorize: the loops of %s have changed: there are %d, and it has %d axes",
                        intrin->name, n, rank);
    *b =
        (gpuc_tensor_binding){.ctx = ctx, .analyzer = a, .stage = st, .intrin = intrin, .emit = e, .rank = n};
    need_axes(st, intrin, n, loops, axes);
    for (int i = 0; i < n; i++) b->var[axes[i]] = vars[i];
    b->out = gpuc_new_array(ctx, const gpuc_tensor_region *, e->op->num_outputs);
    if (whole) {
        gpuc_tensor_match m;
        b->in = gpuc_new_array(ctx, const gpuc_tensor_region *, intrin->num_inputs + 1);
        const char *why = gpuc_tensor_intrin_find_match(ctx, intrin, e->op, bind_inputs, b, &m);
        if (why) fail_match(st, intrin, why);
    }
    bind_outputs(b);
}

bool gpuc_tensor_intrin_touches(const gpuc_tensor_binding *b, gpuc_scope scope)
{
    bool found = false;
    for (int i = 0; b->in && i < b->intrin->num_inputs; i++)
        found |= gpuc_tensor_region_buffer(b->in[i])->scope == scope;
    for (int i = 0; i < b->intrin->pattern->num_outputs; i++)
        found |= gpuc_tensor_region_buffer(b->out[i])->scope == scope;
    return found;
}

gpuc_stmt gpuc_tensor_intrin_emit(const gpuc_tensor_binding *b, gpuc_tensor_part part, const char *what)
{
    const gpuc_tensor_intrin *t = b->intrin;
    int num_in = b->in ? t->num_inputs : 0, num_out = t->pattern->num_outputs;
    const gpuc_tir_buffer **in = gpuc_new_array(b->ctx, const gpuc_tir_buffer *, num_in + 1),
                          **out = gpuc_new_array(b->ctx, const gpuc_tir_buffer *, num_out);
    gpuc_stmt s = part(b->ctx, b->in, b->out, t->parts.arg);
    for (int i = 0; i < num_in; i++) in[i] = gpuc_tensor_region_buffer(b->in[i]);
    for (int i = 0; i < num_out; i++) out[i] = gpuc_tensor_region_buffer(b->out[i]);
    const char *who = gpuc_ctx_printf(b->ctx, "the %s of intrinsic '%s'", what, t->name);
    if (s)
        gpuc_te_check_body(b->ctx, who, s, num_in, in, num_out, out);
    else if (b->in)
        gpuc_raise(b->ctx, GPUC_INVALID_ARGUMENT, "%s made no statement", who);
    return s;
}
