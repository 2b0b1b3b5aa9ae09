/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives on the loops of one stage. */
#include <string.h>

#include "schedule/internal.h"

static gpuc_iter *derived_iter(gpuc_stage *st, const char *name, gpuc_expr extent, gpuc_iter_kind kind)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    return gpuc_tir_iter(ctx, name, gpuc_int(ctx, 0), extent, kind, GPUC_THREAD_NONE);
}

/* Raises if the loop is bound, tensorized or annotated: splitting or fusing it would lose that. */
static void need_plain(const gpuc_stage *st, const gpuc_iter *iter, const char *primitive)
{
    gpuc_loop_note note = gpuc_stage_note(st, iter);
    if (note.kind == GPUC_LOOP_THREAD)
        gpuc_stage_fail(st, "%s: '%s' is bound to %s; do this before binding", primitive,
                        gpuc_schedule_iter_name(iter), gpuc_thread_tag_name(note.tag));
    if (note.intrin)
        gpuc_stage_fail(st, "%s: '%s' is tensorized (%s); do this before", primitive,
                        gpuc_schedule_iter_name(iter), note.intrin->name);
    if (note.kind != GPUC_LOOP_SERIAL || note.pragmas || note.prefetches)
        gpuc_stage_fail(
            st, "%s: '%s' is annotated (vectorize, unroll, parallel, pragma or prefetch); do this before",
            primitive, gpuc_schedule_iter_name(iter));
}

/* Stages that are computed at a loop follow it when it is split or fused. */
static void move_attached(gpuc_stage *st, const gpuc_iter *from, gpuc_iter *to)
{
    gpuc_schedule *s = st->schedule;
    for (size_t i = 0; i < s->stages.count; i++) {
        gpuc_stage *other = s->stages.at[i];
        if (other->attach == GPUC_ATTACH_AT && other->attach_stage == st && other->attach_iter == from)
            other->attach_iter = to;
    }
    for (size_t i = 0; i < s->groups.count; i++) {
        gpuc_stage_group *g = s->groups.at[i];
        if (g->attach == GPUC_ATTACH_AT && g->attach_stage == st && g->attach_iter == from)
            g->attach_iter = to;
    }
}

static gpuc_expr ceil_div(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_floordiv_(ctx, gpuc_add(ctx, a, gpuc_sub(ctx, b, gpuc_int(ctx, 1))), b);
}

static gpuc_relation *make_split(gpuc_stage *st, gpuc_iter *iter, int64_t factor, int64_t nparts)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    gpuc_stage_need_leaf(st, iter, "split");
    if (factor <= 0 && nparts <= 0)
        gpuc_stage_fail(st, "split: '%s' by %s %lld; it must be at least 1", gpuc_schedule_iter_name(iter),
                        nparts ? "number of parts" : "factor", (long long)(nparts ? nparts : factor));
    gpuc_stage_need_factor(st, factor > nparts ? factor : nparts, "split");
    need_plain(st, iter, "split");

    gpuc_expr part = gpuc_int(ctx, factor > 0 ? factor : nparts);
    gpuc_expr other = ceil_div(ctx, iter->extent, part);
    const char *name = gpuc_schedule_iter_name(iter);
    gpuc_relation *r = gpuc_new(ctx, gpuc_relation);
    r->kind = GPUC_RELATION_SPLIT;
    r->whole = iter;
    r->factor = factor > 0 ? factor : 0;
    r->nparts = factor > 0 ? 0 : nparts;
    r->outer =
        derived_iter(st, gpuc_ctx_printf(ctx, "%s.outer", name), factor > 0 ? other : part, iter->kind);
    r->inner =
        derived_iter(st, gpuc_ctx_printf(ctx, "%s.inner", name), factor > 0 ? part : other, iter->kind);
    return r;
}

/* Puts the parts in the place of the wholes. If there is no memory for that, nothing has changed. */
static void add_splits(gpuc_stage *st, int n, gpuc_relation *const *splits)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    gpuc_iter **leaves = gpuc_new_array(ctx, gpuc_iter *, st->num_leaves + n);
    gpuc_ptrs relations = {0};
    for (size_t i = 0; i < st->relations.count; i++) gpuc_ptrs_push(ctx, &relations, st->relations.at[i]);
    for (int i = 0; i < n; i++) gpuc_ptrs_push(ctx, &relations, splits[i]);
    int count = 0;
    for (int i = 0; i < st->num_leaves; i++) {
        const gpuc_relation *r = NULL;
        for (int k = 0; k < n; k++)
            if (splits[k]->whole == st->leaves[i]) r = splits[k];
        leaves[count++] = r ? r->outer : st->leaves[i];
        if (r) leaves[count++] = r->inner;
    }
    st->relations = relations;
    st->leaves = leaves;
    st->num_leaves = count;
    for (int i = 0; i < n; i++) move_attached(st, splits[i]->whole, splits[i]->inner);
}

static void split(gpuc_stage *st, gpuc_iter *iter, int64_t factor, int64_t nparts, gpuc_iter **outer,
                  gpuc_iter **inner)
{
    gpuc_relation *r = make_split(st, iter, factor, nparts);
    add_splits(st, 1, &r);
    if (outer) *outer = r->outer;
    if (inner) *inner = r->inner;
}

void gpuc_stage_split(gpuc_stage *st, gpuc_iter *iter, int64_t factor, gpuc_iter **outer, gpuc_iter **inner)
{
    split(st, iter, factor, 0, outer, inner);
}

void gpuc_stage_split_nparts(gpuc_stage *st, gpuc_iter *iter, int64_t nparts, gpuc_iter **outer,
                             gpuc_iter **inner)
{
    split(st, iter, 0, nparts, outer, inner);
}

void gpuc_stage_overlap(gpuc_stage *st, gpuc_iter *inner)
{
    gpuc_relation *split = NULL;
    gpuc_stage_need(st, inner, "overlap", "loop");
    for (size_t i = 0; i < st->relations.count; i++) {
        gpuc_relation *r = st->relations.at[i];
        if (r->kind == GPUC_RELATION_SPLIT && r->inner == inner) split = r;
    }
    if (!split)
        gpuc_stage_fail(st, "overlap: '%s' is not the inner loop of a split", gpuc_schedule_iter_name(inner));
    split->overlap = true;
}

gpuc_iter *gpuc_stage_fuse(gpuc_stage *st, gpuc_iter *outer, gpuc_iter *inner)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    int at = gpuc_stage_need_leaf(st, outer, "fuse");
    int next = gpuc_stage_need_leaf(st, inner, "fuse");
    if (next != at + 1)
        gpuc_stage_fail(st, "fuse: '%s' is not the loop directly inside of '%s'; reorder them first",
                        gpuc_schedule_iter_name(inner), gpuc_schedule_iter_name(outer));
    if (outer->kind != inner->kind)
        gpuc_stage_fail(st, "fuse: '%s' and '%s': one is reduced over, the other is not",
                        gpuc_schedule_iter_name(outer), gpuc_schedule_iter_name(inner));
    need_plain(st, outer, "fuse");
    need_plain(st, inner, "fuse");
    int64_t n, m;
    if (gpuc_expr_is_int(outer->extent, &n) && gpuc_expr_is_int(inner->extent, &m) &&
        __builtin_mul_overflow(n, m, &n))
        gpuc_stage_fail(st, "fuse: '%s' and '%s' have more than 2^63 iterations together",
                        gpuc_schedule_iter_name(outer), gpuc_schedule_iter_name(inner));

    gpuc_relation *r = gpuc_new(ctx, gpuc_relation);
    r->kind = GPUC_RELATION_FUSE;
    r->outer = outer;
    r->inner = inner;
    r->whole = derived_iter(
        st,
        gpuc_ctx_printf(ctx, "%s.%s.fused", gpuc_schedule_iter_name(outer), gpuc_schedule_iter_name(inner)),
        gpuc_mul(ctx, outer->extent, inner->extent), outer->kind);
    gpuc_ptrs_push(ctx, &st->relations, r);
    st->leaves[at] = r->whole;
    for (int i = next; i + 1 < st->num_leaves; i++) st->leaves[i] = st->leaves[i + 1];
    st->num_leaves--;
    move_attached(st, outer, r->whole);
    move_attached(st, inner, r->whole);
    return r->whole;
}

/* Puts the iterators into the given order, at the places that they hold together. */
static void permute(gpuc_stage *st, int n, gpuc_iter *const *order, const bool *taken)
{
    int next = 0;
    for (int i = 0; i < st->num_leaves && next < n; i++)
        if (taken[i]) st->leaves[i] = order[next++];
}

void gpuc_stage_reorder(gpuc_stage *st, int n, gpuc_iter *const *order)
{
    bool *taken = gpuc_new_array(st->schedule->ctx, bool, st->num_leaves);
    if (n > 0) gpuc_stage_need(st, order, "reorder", "list of loops");
    for (int i = 0; i < n; i++) {
        int at = gpuc_stage_need_leaf(st, order[i], "reorder");
        if (taken[at]) gpuc_stage_fail(st, "reorder: '%s' is named twice", gpuc_schedule_iter_name(order[i]));
        taken[at] = true;
    }
    permute(st, n, order, taken);
}

void gpuc_stage_tile(gpuc_stage *st, gpuc_iter *x, gpuc_iter *y, int64_t xf, int64_t yf, gpuc_iter **xo,
                     gpuc_iter **yo, gpuc_iter **xi, gpuc_iter **yi)
{
    int at_x = gpuc_stage_need_leaf(st, x, "tile"), at_y = gpuc_stage_need_leaf(st, y, "tile");
    if (x == y) gpuc_stage_fail(st, "tile: '%s' is named twice", gpuc_schedule_iter_name(x));
    if (xf <= 0 || yf <= 0)
        gpuc_stage_fail(st, "tile: factors %lld and %lld; they must be at least 1", (long long)xf,
                        (long long)yf);
    gpuc_stage_need_factor(st, xf > yf ? xf : yf, "tile");
    gpuc_relation *splits[2] = {make_split(st, x, xf, 0), make_split(st, y, yf, 0)};
    gpuc_iter *order[4] = {splits[0]->outer, splits[1]->outer, splits[0]->inner, splits[1]->inner};
    bool *taken = gpuc_new_array(st->schedule->ctx, bool, st->num_leaves + 2);
    at_x += at_y < at_x;
    at_y += at_x < at_y;
    taken[at_x] = taken[at_x + 1] = taken[at_y] = taken[at_y + 1] = true;
    add_splits(st, 2, splits);
    permute(st, 4, order, taken);
    if (xo) *xo = order[0];
    if (yo) *yo = order[1];
    if (xi) *xi = order[2];
    if (yi) *yi = order[3];
}

/* ---- How a loop runs ---------------------------------------------------------------------------- */

void gpuc_stage_bind(gpuc_stage *st, gpuc_iter *iter, const char *thread)
{
    gpuc_stage_need_leaf(st, iter, "bind");
    gpuc_thread_tag tag;
    gpuc_stage_need(st, thread, "bind", "thread axis");
    if (!gpuc_thread_tag_parse(thread, &tag) || tag == GPUC_THREAD_NONE)
        gpuc_stage_fail(
            st, "bind: there is no thread axis '%s'; use blockIdx.x, .y, .z, threadIdx.x, .y, .z or vthread",
            thread);
    need_plain(st, iter, "bind");
    if (iter->kind == GPUC_ITER_REDUCE && !gpuc_is_thread_tag(tag))
        gpuc_stage_fail(
            st, "bind: '%s' is reduced over; it can be bound to threadIdx.x, .y or .z only, not to %s",
            gpuc_schedule_iter_name(iter), thread);
    for (int i = 0; i < st->num_leaves && tag != GPUC_VTHREAD; i++) {
        gpuc_loop_note other = gpuc_stage_note(st, st->leaves[i]);
        if (other.kind == GPUC_LOOP_THREAD && other.tag == tag)
            gpuc_stage_fail(st, "bind: '%s' is bound to %s already; fuse the loops to bind both",
                            gpuc_schedule_iter_name(st->leaves[i]), thread);
    }
    gpuc_loop_note *note = gpuc_stage_note_make(st, iter);
    note->kind = GPUC_LOOP_THREAD;
    note->tag = tag;
}

static void annotate(gpuc_stage *st, gpuc_iter *iter, gpuc_loop_kind kind, const char *primitive)
{
    gpuc_stage_need_leaf(st, iter, primitive);
    gpuc_loop_note note = gpuc_stage_note(st, iter);
    if (note.kind != GPUC_LOOP_SERIAL && note.kind != kind)
        gpuc_stage_fail(st, "%s: '%s' is %s already", primitive, gpuc_schedule_iter_name(iter),
                        note.kind == GPUC_LOOP_THREAD ? "bound to a thread" : "annotated in another way");
    if (iter->kind == GPUC_ITER_REDUCE && kind != GPUC_LOOP_UNROLLED)
        gpuc_stage_fail(st,
                        "%s: '%s' is reduced over: its iterations depend on each other; use rfactor first",
                        primitive, gpuc_schedule_iter_name(iter));
    gpuc_stage_note_make(st, iter)->kind = kind;
}

void gpuc_stage_unroll(gpuc_stage *st, gpuc_iter *iter)
{
    annotate(st, iter, GPUC_LOOP_UNROLLED, "unroll");
}

void gpuc_stage_vectorize(gpuc_stage *st, gpuc_iter *iter)
{
    annotate(st, iter, GPUC_LOOP_VECTORIZED, "vectorize");
}

void gpuc_stage_parallel(gpuc_stage *st, gpuc_iter *iter)
{
    annotate(st, iter, GPUC_LOOP_PARALLEL, "parallel");
}

void gpuc_stage_pragma(gpuc_stage *st, gpuc_iter *iter, const char *key, int64_t value)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    gpuc_stage_need_leaf(st, iter, "pragma");
    if (!key || !key[0])
        gpuc_stage_fail(st, "pragma: '%s' gets a pragma without a name", gpuc_schedule_iter_name(iter));
    if (strcmp(key, "auto_unroll_max_step") != 0)
        gpuc_stage_fail(
            st, "pragma: '%s' gets the pragma '%s', which has no effect; there is auto_unroll_max_step",
            gpuc_schedule_iter_name(iter), key);
    gpuc_pragma *p = gpuc_new(ctx, gpuc_pragma);
    p->key = gpuc_ctx_strdup(ctx, key);
    p->value = value;
    gpuc_loop_note *note = gpuc_stage_note_make(st, iter);
    p->next = note->pragmas;
    note->pragmas = p;
}
