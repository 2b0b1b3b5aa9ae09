/* SPDX-License-Identifier: Apache-2.0 */
/* Domains, values and conditions carried along splits and fuses. Relations are in order of making: forwards
 * leads from the axes to the leaves, backwards from the leaves to the axes. */
#include "schedule/internal.h"

static const gpuc_range *range_of(const gpuc_map *dom, const gpuc_iter *iter)
{
    const gpuc_range *r = gpuc_map_get(dom, iter);
    GPUC_CHECK(r);
    return r;
}

static void set_extent(gpuc_ctx *ctx, gpuc_map *dom, const gpuc_iter *iter, gpuc_expr extent)
{
    gpuc_range *r = gpuc_new(ctx, gpuc_range);
    r->min = gpuc_int(ctx, 0);
    r->extent = extent;
    gpuc_map_set(dom, iter, r);
}

static gpuc_expr ceil_div(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_floordiv_(ctx, gpuc_add(ctx, a, gpuc_sub(ctx, b, gpuc_int(ctx, 1))), b);
}

/* Whether storage of subgroups is allocated in loops of st: then its threads must be whole subgroups. */
static bool holds_warps(const gpuc_stage *st)
{
    const gpuc_ptrs *stages = &st->schedule->stages;
    for (size_t i = 0; i < stages->count; i++) {
        const gpuc_stage *other = stages->at[i];
        bool has =
            other->has_scope && (other->scope == GPUC_SCOPE_WARP || other->scope == GPUC_SCOPE_COOPMAT);
        if (!has) continue;
        while (other->attach == GPUC_ATTACH_AT && other != st) other = other->attach_stage;
        if (other == st) return true;
    }
    return false;
}

/* The extent of the constant part of a split: no longer than the whole, so that a short loop needs no
 * guard. */
static gpuc_expr clamp_part(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_relation *r, gpuc_expr extent)
{
    int64_t whole, part = r->factor ? r->factor : r->nparts;
    bool is_longer = gpuc_expr_is_int(extent, &whole) && whole < part;
    if (!is_longer) return gpuc_int(ctx, part);
    if (r->factor && gpuc_stage_note(st, r->inner).tag == GPUC_THREAD_X && holds_warps(st))
        return gpuc_int(ctx, part);
    return gpuc_int(ctx, whole > 0 ? whole : 1);
}

/* Whether the tail of a split is shifted back from the end. Some elements are then computed twice, with the same
 * result: by two tasks or groups perhaps, but not by two threads of a group, which may share what they compute. */
static bool overlaps(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_relation *r, const gpuc_map *dom)
{
    int64_t whole, part;
    if (!r->overlap || gpuc_schedule_op_is_reduction(st->op)) return false;
    if (!gpuc_expr_is_int(range_of(dom, r->whole)->extent, &whole) ||
        !gpuc_expr_is_int(range_of(dom, r->inner)->extent, &part) || whole <= part || whole % part == 0)
        return false;
    gpuc_map marks;
    gpuc_map_init(&marks, ctx);
    gpuc_map_set(&marks, r->whole, (void *)r);
    gpuc_schedule_pass_down_mark(st, &marks);
    for (int i = 0; i < st->num_leaves; i++) {
        gpuc_loop_note note = gpuc_stage_note(st, st->leaves[i]);
        bool thread = note.kind == GPUC_LOOP_THREAD && !gpuc_is_block_tag(note.tag);
        if (gpuc_map_has(&marks, st->leaves[i]) && thread) return false;
    }
    return true;
}

/* Where the part of that number starts. */
static gpuc_expr start_of(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_relation *r, const gpuc_map *dom,
                          gpuc_expr outer)
{
    gpuc_expr part = range_of(dom, r->inner)->extent, start = gpuc_mul(ctx, outer, part);
    if (!overlaps(ctx, st, r, dom)) return start;
    return gpuc_min(ctx, start, gpuc_sub(ctx, range_of(dom, r->whole)->extent, part));
}

void gpuc_schedule_pass_down_domain(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_stage *st, gpuc_map *dom)
{
    for (size_t i = 0; i < st->relations.count; i++) {
        const gpuc_relation *r = st->relations.at[i];
        switch (r->kind) {
        case GPUC_RELATION_SPLIT: {
            gpuc_expr extent = range_of(dom, r->whole)->extent;
            gpuc_expr part = clamp_part(ctx, st, r, extent);
            gpuc_expr other = gpuc_arith_simplify(a, ceil_div(ctx, extent, part));
            set_extent(ctx, dom, r->outer, r->factor ? other : part);
            set_extent(ctx, dom, r->inner, r->factor ? part : other);
            break;
        }
        case GPUC_RELATION_FUSE:
            set_extent(ctx, dom, r->whole,
                       gpuc_arith_simplify(a, gpuc_mul(ctx, range_of(dom, r->outer)->extent,
                                                       range_of(dom, r->inner)->extent)));
            break;
        }
    }
}

static gpuc_expr value_of(const gpuc_map *value, const gpuc_iter *iter)
{
    gpuc_expr v = gpuc_map_get(value, iter);
    GPUC_CHECK(v);
    return v;
}

/* Whether the outer part of a fuse is one iteration: then the whole is the inner part, beyond its end too. */
static bool is_inner_alone(const gpuc_relation *r, const gpuc_map *dom)
{
    return gpuc_tir_is_const(range_of(dom, r->outer)->extent, 1);
}

static void set_value(gpuc_ctx *ctx, gpuc_map *value, const gpuc_map *dom, const gpuc_iter *iter, gpuc_expr v)
{
    gpuc_map_set(value, iter, (void *)gpuc_add(ctx, v, range_of(dom, iter)->min));
}

void gpuc_schedule_pass_up_value(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_map *dom, gpuc_map *value)
{
    /* Leaves that are axes: their loops start at 0, the axis at its region's minimum. */
    for (int i = 0; i < st->num_leaves; i++) {
        gpuc_expr v = gpuc_map_get(value, st->leaves[i]);
        if (v) set_value(ctx, value, dom, st->leaves[i], v);
    }
    for (size_t i = st->relations.count; i > 0; i--) {
        const gpuc_relation *r = st->relations.at[i - 1];
        gpuc_expr size = range_of(dom, r->inner)->extent;
        switch (r->kind) {
        case GPUC_RELATION_SPLIT:
            if (!gpuc_map_has(value, r->outer)) break;
            set_value(ctx, value, dom, r->whole,
                      gpuc_add(ctx, start_of(ctx, st, r, dom, value_of(value, r->outer)),
                               value_of(value, r->inner)));
            break;
        case GPUC_RELATION_FUSE: {
            if (!gpuc_map_has(value, r->whole)) break;
            gpuc_expr v = value_of(value, r->whole);
            bool alone = is_inner_alone(r, dom);
            set_value(ctx, value, dom, r->outer, alone ? gpuc_int(ctx, 0) : gpuc_floordiv_(ctx, v, size));
            set_value(ctx, value, dom, r->inner, alone ? v : gpuc_floormod_(ctx, v, size));
            break;
        }
        }
    }
}

/* ---- Spans ---------------------------------------------------------------------------------------- */

static const gpuc_span *span_of(const gpuc_map *span, const gpuc_iter *iter)
{
    const gpuc_span *s = gpuc_map_get(span, iter);
    GPUC_CHECK(s);
    return s;
}

static void set_span(gpuc_ctx *ctx, gpuc_map *span, const gpuc_map *dom, const gpuc_iter *iter, gpuc_expr min,
                     gpuc_expr max)
{
    gpuc_expr base = range_of(dom, iter)->min;
    gpuc_span *s = gpuc_new(ctx, gpuc_span);
    s->min = gpuc_add(ctx, min, base);
    s->max = gpuc_add(ctx, max, base);
    gpuc_map_set(span, iter, s);
}

static void set_full(gpuc_ctx *ctx, gpuc_map *span, const gpuc_map *dom, const gpuc_iter *iter)
{
    const gpuc_range *r = range_of(dom, iter);
    set_span(ctx, span, dom, iter, gpuc_int(ctx, 0), gpuc_sub(ctx, r->extent, gpuc_int(ctx, 1)));
    ((gpuc_span *)gpuc_map_get(span, iter))->full = true;
}

static bool divides(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_expr x, gpuc_expr by)
{
    return gpuc_arith_prove_equal(a, gpuc_floormod_(ctx, x, by), gpuc_int(ctx, 0));
}

static void span_of_fused(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_relation *r, const gpuc_map *dom,
                          gpuc_map *span)
{
    const gpuc_span *whole = span_of(span, r->whole);
    gpuc_expr size = range_of(dom, r->inner)->extent;
    if (whole->full) {
        set_full(ctx, span, dom, r->outer);
        set_full(ctx, span, dom, r->inner);
        return;
    }
    if (is_inner_alone(r, dom)) {
        set_full(ctx, span, dom, r->outer);
        set_span(ctx, span, dom, r->inner, whole->min, whole->max);
        return;
    }
    gpuc_expr low = gpuc_floordiv_(ctx, whole->min, size), high = gpuc_floordiv_(ctx, whole->max, size);
    gpuc_expr in_low = gpuc_floormod_(ctx, whole->min, size);
    gpuc_expr length =
        gpuc_arith_simplify(a, gpuc_add(ctx, gpuc_sub(ctx, whole->max, whole->min), gpuc_int(ctx, 1)));
    if (whole->min == whole->max) {
        set_span(ctx, span, dom, r->outer, low, low);
        set_span(ctx, span, dom, r->inner, in_low, in_low);
    } else if (divides(ctx, a, size, length) && divides(ctx, a, whole->min, length)) {
        /* The piece stays in one row. */
        set_span(ctx, span, dom, r->outer, low, low);
        set_span(ctx, span, dom, r->inner, in_low,
                 gpuc_add(ctx, in_low, gpuc_sub(ctx, length, gpuc_int(ctx, 1))));
    } else if (divides(ctx, a, length, size) && divides(ctx, a, whole->min, size)) {
        /* Whole rows: their number does not depend on where they start. */
        gpuc_expr rows = gpuc_floordiv_(ctx, length, size);
        set_span(ctx, span, dom, r->outer, low, gpuc_add(ctx, low, gpuc_sub(ctx, rows, gpuc_int(ctx, 1))));
        set_full(ctx, span, dom, r->inner);
    } else {
        /* A piece of known length touches a bounded number of rows, wherever it starts. */
        int64_t n, row;
        if (gpuc_expr_is_int(length, &n) && gpuc_expr_is_int(size, &row) && row > 0)
            high = gpuc_add(ctx, low, gpuc_int(ctx, (n + row - 2) / row));
        set_span(ctx, span, dom, r->outer, low, high);
        set_full(ctx, span, dom, r->inner);
    }
}

void gpuc_schedule_pass_up_span(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_stage *st, const gpuc_map *dom,
                                gpuc_map *span)
{
    for (int i = 0; i < st->num_leaves; i++) {
        const gpuc_span *s = span_of(span, st->leaves[i]);
        bool full = s->full;
        set_span(ctx, span, dom, st->leaves[i], s->min, s->max);
        ((gpuc_span *)gpuc_map_get(span, st->leaves[i]))->full = full;
    }
    for (size_t i = st->relations.count; i > 0; i--) {
        const gpuc_relation *r = st->relations.at[i - 1];
        switch (r->kind) {
        case GPUC_RELATION_SPLIT: {
            const gpuc_span *outer = span_of(span, r->outer), *inner = span_of(span, r->inner);
            if (outer->full && inner->full)
                set_full(ctx, span, dom, r->whole);
            else
                set_span(ctx, span, dom, r->whole,
                         gpuc_add(ctx, start_of(ctx, st, r, dom, outer->min), inner->min),
                         gpuc_add(ctx, start_of(ctx, st, r, dom, outer->max), inner->max));
            break;
        }
        case GPUC_RELATION_FUSE: span_of_fused(ctx, a, r, dom, span); break;
        }
    }
}

/* ---- Guards ----------------------------------------------------------------------------------------- */

static void add_guard(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_map *dom, const gpuc_map *value,
                      const gpuc_iter *iter, gpuc_ptrs *guards)
{
    const gpuc_range *r = range_of(dom, iter);
    gpuc_expr at = gpuc_arith_simplify(a, gpuc_sub(ctx, value_of(value, iter), r->min));
    gpuc_expr cond = gpuc_lt(ctx, at, r->extent);
    if (!gpuc_arith_prove(a, cond)) gpuc_ptrs_push(ctx, guards, cond);
}

static bool passes_end(const gpuc_map *over, const gpuc_iter *iter)
{
    return gpuc_map_has(over, iter);
}

/* `over` holds the iterators whose value may exceed their extent. If the outer part of a split does, the
 * whole does too, and the guard of the whole is enough. If the inner part does, it would compute an element
 * of the next outer iteration once more, so it needs a guard of its own. What is fused is guarded before it is
 * divided: its parts are then inside of their extents. */
void gpuc_schedule_pass_up_guards(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_stage *st, const gpuc_map *dom,
                                  const gpuc_map *value, gpuc_ptrs *guards)
{
    gpuc_map over;
    gpuc_map_init(&over, ctx);
    for (size_t i = st->relations.count; i > 0; i--) {
        const gpuc_relation *r = st->relations.at[i - 1];
        if (!gpuc_map_has(value, r->whole)) continue;
        switch (r->kind) {
        case GPUC_RELATION_SPLIT: {
            if (passes_end(&over, r->inner)) add_guard(ctx, a, dom, value, r->inner, guards);
            if (overlaps(ctx, st, r, dom)) {
                if (passes_end(&over, r->outer)) add_guard(ctx, a, dom, value, r->outer, guards);
                break;
            }
            gpuc_expr product =
                gpuc_mul(ctx, range_of(dom, r->outer)->extent, range_of(dom, r->inner)->extent);
            if (passes_end(&over, r->outer) ||
                !gpuc_arith_prove_equal(a, product, range_of(dom, r->whole)->extent))
                gpuc_map_set(&over, r->whole, (void *)r);
            break;
        }
        case GPUC_RELATION_FUSE:
            if (passes_end(&over, r->whole)) add_guard(ctx, a, dom, value, r->whole, guards);
            break;
        }
    }
    const gpuc_te_op *op = st->op;
    for (int i = 0; i < op->num_axes; i++)
        if (passes_end(&over, op->axes[i])) add_guard(ctx, a, dom, value, op->axes[i], guards);
    for (int i = 0; i < op->num_reduce; i++)
        if (passes_end(&over, op->reduce[i])) add_guard(ctx, a, dom, value, op->reduce[i], guards);
}

/* ---- Marks ------------------------------------------------------------------------------------------ */

static void mark(gpuc_map *marks, const gpuc_iter *iter)
{
    if (!gpuc_map_has(marks, iter)) gpuc_map_set(marks, iter, (void *)iter);
}

void gpuc_schedule_pass_down_mark(const gpuc_stage *st, gpuc_map *marks)
{
    for (size_t i = 0; i < st->relations.count; i++) {
        const gpuc_relation *r = st->relations.at[i];
        if (r->kind == GPUC_RELATION_SPLIT && gpuc_map_has(marks, r->whole)) {
            mark(marks, r->outer);
            mark(marks, r->inner);
        }
        if (r->kind == GPUC_RELATION_FUSE && (gpuc_map_has(marks, r->outer) || gpuc_map_has(marks, r->inner)))
            mark(marks, r->whole);
    }
}

void gpuc_schedule_pass_up_mark(const gpuc_stage *st, gpuc_map *marks)
{
    for (size_t i = st->relations.count; i > 0; i--) {
        const gpuc_relation *r = st->relations.at[i - 1];
        if (r->kind == GPUC_RELATION_FUSE && gpuc_map_has(marks, r->whole)) {
            mark(marks, r->outer);
            mark(marks, r->inner);
        }
        if (r->kind == GPUC_RELATION_SPLIT &&
            (gpuc_map_has(marks, r->outer) || gpuc_map_has(marks, r->inner)))
            mark(marks, r->whole);
    }
}
