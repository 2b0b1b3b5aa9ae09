/* SPDX-License-Identifier: Apache-2.0 */
/* Elements beyond the end of a tensor, in the part of a stage that is rounded up.
 *
 * They need no guard where all that they read is there. That is decided by regions: an element is computed
 * as it stands if what the stage reads at its place is computed and stored, or else from the last elements of
 * the tensor if there are some and what those read is. Where neither is proven the elements are left out, as
 * in a stage that is not rounded up; stages that read it then find no elements beyond its end. */
#include "schedule/nest.h"

static gpuc_expr last_of(gpuc_ctx *ctx, gpuc_expr extent)
{
    return gpuc_sub(ctx, extent, gpuc_int(ctx, 1));
}

static bool is_whole(const gpuc_nest *n, int k)
{
    const gpuc_iter *axis = n->op->axes[k];
    const gpuc_range *r = gpuc_map_get(&n->dom, axis);
    return r->min == axis->min && r->extent == axis->extent;
}

/* ---- The end of an axis ----------------------------------------------------------------------------- */

typedef struct find_end {
    gpuc_tir_mapper m;
    const gpuc_lowering *l;
    const gpuc_iter *axis;
    gpuc_expr end; /* of all that is read along the axis; NULL: nothing was found */
    bool other;    /* it has other uses */
} find_end;

static void note_end(find_end *f, gpuc_expr end)
{
    int64_t a, b;
    if (!f->end || f->end == end)
        f->end = end;
    else if (gpuc_expr_is_int(f->end, &a) && gpuc_expr_is_int(end, &b))
        f->end = a < b ? f->end : end;
    else
        f->other = true;
}

static gpuc_expr find_reads(gpuc_tir_mapper *m, gpuc_expr e)
{
    find_end *f = (find_end *)m;
    f->other |= e == f->axis->var;
    if (e->kind != GPUC_EXPR_READ) return gpuc_tir_map_children(m, e);
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    const gpuc_nest *in = gpuc_map_get(&f->l->of_op, read->tensor->op);
    for (int i = 0; i < read->n; i++) {
        if (read->index[i] != f->axis->var) {
            f->other |= gpuc_tir_uses_var(m->ctx, read->index[i], f->axis->var);
            continue;
        }
        gpuc_expr end = f->axis->extent;
        if (in && in->op->kind == GPUC_TE_COMPUTE && in->past_end != GPUC_PAST_END_GUARDED) {
            const gpuc_range *r = gpuc_map_get(&in->dom, in->op->axes[i]);
            if (gpuc_tir_is_const(r->min, 0)) end = r->extent;
        }
        note_end(f, end);
    }
    return e;
}

/* The end of an axis: the extent, or the end of what is read along it if that is larger. */
static gpuc_expr end_of(const gpuc_lowering *l, const gpuc_nest *n, int k)
{
    const gpuc_te_op *op = n->op;
    find_end f = {.l = l, .axis = op->axes[k]};
    gpuc_tir_mapper_init(&f.m, l->ctx, find_reads, NULL);
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_map(&f.m, op->bodies[i]);
    return f.end && !f.other ? f.end : op->axes[k]->extent;
}

/* A vector that lies beyond the end as a whole becomes the last one. */
static bool clamp_vector(gpuc_lowering *l, const gpuc_nest *n, gpuc_expr *index, gpuc_expr end)
{
    gpuc_ctx *ctx = l->ctx;
    for (int i = 0; i < n->num_loops; i++) {
        const gpuc_nest_loop *loop = &n->loops[i];
        gpuc_expr coeff, rest, var = loop->var;
        int64_t lanes;
        if (loop->note.kind != GPUC_LOOP_VECTORIZED || !gpuc_expr_is_int(loop->extent, &lanes)) continue;
        if (!gpuc_arith_linear(l->analyzer, *index, 1, &var, &coeff, &rest) || !gpuc_tir_is_const(coeff, 1))
            continue;
        gpuc_expr width = gpuc_int(ctx, lanes), zero = gpuc_int(ctx, 0);
        if (!gpuc_arith_prove_equal(l->analyzer, gpuc_floormod_(ctx, rest, width), zero) ||
            !gpuc_arith_prove_equal(l->analyzer, gpuc_floormod_(ctx, end, width), zero))
            return false;
        *index = gpuc_add(ctx, gpuc_min(ctx, rest, gpuc_sub(ctx, end, width)), var);
        return true;
    }
    return false;
}

gpuc_expr gpuc_schedule_lowering_clamp(gpuc_lowering *l, const gpuc_nest *n, int k, gpuc_expr index)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr end = end_of(l, n, k), zero = gpuc_int(ctx, 0);
    bool above = gpuc_arith_prove(l->analyzer, gpuc_lt(ctx, index, end)),
         below = gpuc_arith_prove(l->analyzer, gpuc_le(ctx, zero, index));
    if (!above && !clamp_vector(l, n, &index, end))
        index = gpuc_min(ctx, index, gpuc_sub(ctx, end, gpuc_int(ctx, 1)));
    return below ? index : gpuc_max(ctx, index, zero);
}

/* ---- What is read --------------------------------------------------------------------------------- */

typedef struct check {
    gpuc_lowering *l;
    const gpuc_nest *n;
    bool clamped, covered;
} check;

/* The values that an axis takes when it is clamped; a clamped vector starts at most its width before the
 * end. */
static void clamp_span(const check *c, int k, gpuc_interval *v)
{
    gpuc_ctx *ctx = c->l->ctx;
    gpuc_analyzer *a = c->l->analyzer;
    gpuc_expr end = end_of(c->l, c->n, k), zero = gpuc_int(ctx, 0);
    if (!v->min || !v->max) *v = (gpuc_interval){zero, last_of(ctx, end)};
    int64_t width = 1, lanes;
    for (int i = 0; i < c->n->num_loops; i++) {
        const gpuc_nest_loop *loop = &c->n->loops[i];
        if (loop->note.kind == GPUC_LOOP_VECTORIZED && gpuc_expr_is_int(loop->extent, &lanes) &&
            lanes > width)
            width = lanes;
    }
    if (!gpuc_arith_prove(a, gpuc_lt(ctx, v->max, end))) {
        v->min = gpuc_min(ctx, v->min, gpuc_sub(ctx, end, gpuc_int(ctx, width)));
        v->max = gpuc_min(ctx, v->max, last_of(ctx, end));
    }
    if (!gpuc_arith_prove(a, gpuc_le(ctx, zero, v->min))) {
        v->min = gpuc_max(ctx, v->min, zero);
        v->max = gpuc_max(ctx, v->max, zero);
    }
}

static void spans_of(const check *c, const gpuc_nest *in, gpuc_map *spans)
{
    gpuc_map_init(spans, c->l->ctx);
    gpuc_schedule_lowering_reader_spans(c->l, in, c->n, spans);
    for (int k = 0; c->clamped && k < c->n->op->num_axes; k++)
        clamp_span(c, k, gpuc_map_get(spans, c->n->op->axes[k]->var));
}

static bool is_between(const check *c, gpuc_interval v, gpuc_expr min, gpuc_expr extent)
{
    gpuc_ctx *ctx = c->l->ctx;
    gpuc_analyzer *a = c->l->analyzer;
    gpuc_expr length = gpuc_arith_simplify(a, gpuc_sub(ctx, v.max, min));
    return gpuc_arith_prove(a, gpuc_le(ctx, min, v.min)) && gpuc_arith_prove(a, gpuc_lt(ctx, length, extent));
}

static bool covers(const check *c, const gpuc_nest *in, const gpuc_tir_read_node *read, int k,
                   const gpuc_map *spans)
{
    bool part = in && in->op->kind == GPUC_TE_COMPUTE && !is_whole(in, k);
    /* Clamped elements are elements of the tensor, and their definition reads elements inside of the
     * tensors. */
    if (c->clamped && !part) return true;
    for (int i = 0; i < c->n->op->num_axes + c->n->op->num_reduce; i++) {
        const gpuc_te_op *op = c->n->op;
        gpuc_expr var = (i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes])->var;
        const gpuc_interval *span = gpuc_map_get(spans, var);
        if ((!span->min || !span->max) && gpuc_tir_uses_var(c->l->ctx, read->index[k], var)) return false;
    }
    gpuc_interval v = gpuc_arith_eval_interval(c->l->analyzer, read->index[k], spans);
    if (!v.min || !v.max) return false;
    if (part) {
        const gpuc_range *r = gpuc_map_get(&in->dom, in->op->axes[k]);
        if (!is_between(c, v, r->min, r->extent)) return false;
        if (in->past_end != GPUC_PAST_END_GUARDED || c->clamped) return true;
    }
    return is_between(c, v, gpuc_int(c->l->ctx, 0), read->tensor->shape[k]);
}

static bool check_read(gpuc_expr e, void *arg)
{
    check *c = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    const gpuc_nest *in = gpuc_map_get(&c->l->of_op, read->tensor->op);
    gpuc_map spans;
    spans_of(c, in, &spans);
    for (int k = 0; c->covered && k < read->n; k++) c->covered = covers(c, in, read, k, &spans);
    return c->covered;
}

/* ---- Is there an end? ------------------------------------------------------------------------------ */

typedef struct runs {
    gpuc_lowering *l;
    const gpuc_nest *n;
    gpuc_ptrs vars, more; /* sizes that are at least 1, each with what stands for it then */
} runs;

static bool is_nothing(const runs *r, gpuc_expr extent, gpuc_expr size)
{
    gpuc_expr zero = gpuc_int(r->l->ctx, 0);
    return gpuc_tir_uses_var(r->l->ctx, extent, size) &&
           gpuc_arith_prove(
               r->l->sizes,
               gpuc_le(r->l->ctx, gpuc_tir_substitute(r->l->ctx, extent, 1, &size, &zero), zero));
}

/* Notes a size that is at least 1 where the loop runs, since the loop has no iterations if it is 0. */
static bool note_size(gpuc_expr e, void *arg)
{
    runs *r = arg;
    gpuc_ctx *ctx = r->l->ctx;
    if (e->kind != GPUC_EXPR_VAR) return true;
    bool more = false;
    for (int i = 0; i < r->n->num_loops; i++) more |= is_nothing(r, r->n->loops[i].extent, e);
    gpuc_path p = gpuc_path_start(r->n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));) more |= is_nothing(r, loop->extent, e);
    if (!more) return true;
    gpuc_expr rest = gpuc_var(ctx, "rest", e->dtype);
    gpuc_arith_analyzer_bind(r->l->sizes, rest, gpuc_int(ctx, 0), gpuc_int(ctx, (int64_t)1 << 31));
    gpuc_ptrs_push(ctx, &r->vars, e);
    gpuc_ptrs_push(ctx, &r->more, gpuc_add(ctx, rest, gpuc_int(ctx, 1)));
    return true;
}

/* Whether the tensor has at least one element along each clamped axis wherever the nest runs. */
static bool has_elements(gpuc_lowering *l, const gpuc_nest *n)
{
    gpuc_ctx *ctx = l->ctx;
    for (int k = 0; k < n->op->num_axes; k++) {
        gpuc_expr size = n->op->axes[k]->extent, one = gpuc_int(ctx, 1);
        if (is_whole(n, k) || gpuc_arith_prove(l->sizes, gpuc_le(ctx, one, size))) continue;
        runs r = {.l = l, .n = n};
        gpuc_tir_visit(ctx, size, note_size, &r);
        size = gpuc_tir_substitute(ctx, size, (int)r.vars.count, (const gpuc_expr *)r.vars.at,
                                   (const gpuc_expr *)r.more.at);
        if (!gpuc_arith_prove(l->sizes, gpuc_le(ctx, one, gpuc_arith_simplify(l->sizes, size)))) return false;
    }
    return true;
}

/* ---- The decision ----------------------------------------------------------------------------------- */

/* Whether everything that the elements of the part read is stored, with their indices as they are or
 * clamped. */
static bool is_covered(gpuc_lowering *l, const gpuc_nest *n, bool clamped)
{
    check c = {.l = l, .n = n, .clamped = clamped, .covered = true};
    for (int i = 0; c.covered && i < n->op->num_outputs; i++)
        gpuc_tir_visit(l->ctx, n->op->bodies[i], check_read, &c);
    return c.covered;
}

static bool reads_parts(const gpuc_lowering *l, const gpuc_nest *n)
{
    for (int i = 0; i < n->op->num_inputs; i++) {
        const gpuc_nest *in = gpuc_map_get(&l->of_op, n->op->inputs[i]->op);
        if (in && in->parent) return true;
    }
    return false;
}

void gpuc_schedule_lowering_round_up(gpuc_lowering *l, gpuc_nest *n)
{
    n->past_end = GPUC_PAST_END_GUARDED;
    if (!n->stage->round_up) return;
    if (reads_parts(l, n) && is_covered(l, n, false))
        n->past_end = GPUC_PAST_END_COMPUTED;
    else if (has_elements(l, n) && is_covered(l, n, true))
        n->past_end = GPUC_PAST_END_CLAMPED;
}
