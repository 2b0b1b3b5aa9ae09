/* SPDX-License-Identifier: Apache-2.0 */
/* Bound inference: which part of each stage its readers need, from the outputs backwards.
 *
 * At the place where a stage is computed some loops of its readers are open and have one value; the
 * others run while its result is in use, so that the part needed is the union over their iterations. */
#include "schedule/nest.h"

/* Storage of a scope is shared between the iterations of these loops, wherever they stand. */
static int thread_rank(gpuc_thread_tag tag)
{
    if (gpuc_is_block_tag(tag)) return 0;
    return tag == GPUC_THREAD_NONE ? -1 : 1;
}

enum { SUBGROUP = 2 };

static int scope_rank(gpuc_scope scope)
{
    switch (scope) {
    case GPUC_SCOPE_GLOBAL:
    case GPUC_SCOPE_TEXEL:
    case GPUC_SCOPE_TEXTURE: return 0;
    case GPUC_SCOPE_SHARED: return 1;
    case GPUC_SCOPE_WARP:
    case GPUC_SCOPE_COOPMAT: return SUBGROUP;
    case GPUC_SCOPE_LOCAL: return 3;
    case GPUC_SCOPE_COUNT: break;
    }
    GPUC_CHECK(false);
    return 0;
}

bool gpuc_schedule_scope_is_per_thread(gpuc_scope scope, gpuc_thread_tag tag)
{
    if (scope_rank(scope) == SUBGROUP && tag == GPUC_THREAD_X) return false;
    return scope_rank(scope) > thread_rank(tag);
}

static bool is_const(gpuc_expr e, int64_t *out)
{
    return gpuc_expr_is_int(e, out);
}

static gpuc_expr last_of(gpuc_ctx *ctx, gpuc_expr extent)
{
    return gpuc_sub(ctx, extent, gpuc_int(ctx, 1));
}

/* ---- Where a nest is ---------------------------------------------------------------------------- */

static int find_loop(const gpuc_nest *n, const gpuc_iter *iter)
{
    int i = 0;
    while (i < n->num_loops && n->loops[i].iter != iter) i++;
    GPUC_CHECK(i < n->num_loops);
    return i;
}

static void attach(gpuc_lowering *l, gpuc_nest *n)
{
    const gpuc_stage *st = n->stage;
    if (st->attach == GPUC_ATTACH_AT) {
        n->parent = gpuc_map_get(&l->of_op, st->attach_stage->op);
        if (!n->parent)
            gpuc_stage_fail(st, "it is computed at stage '%s', which is inlined", st->attach_stage->name);
        n->parent_loop = find_loop(n->parent, st->attach_iter);
        if (n->is_parameter)
            gpuc_stage_fail(st, "it is an argument of the function, so it must be computed at root");
    }
    bool blocks = false, threads = false;
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));) {
        blocks |= thread_rank(loop->note.tag) == 0;
        threads |= thread_rank(loop->note.tag) == 1;
    }
    n->scope = st->has_scope ? st->scope
               : threads     ? GPUC_SCOPE_LOCAL
               : blocks      ? GPUC_SCOPE_SHARED
                             : GPUC_SCOPE_GLOBAL;
    if ((blocks || threads) && scope_rank(n->scope) == 0)
        gpuc_stage_fail(st,
                        "it is computed inside of a kernel, where storage of scope %s cannot be made; use "
                        "shared or local",
                        gpuc_scope_name(n->scope));
}

static bool is_inside(const gpuc_nest *n, const gpuc_nest *of, int loop)
{
    if (n == of) return true;
    for (; n->parent; n = n->parent)
        if (n->parent == of && n->parent_loop >= loop) return true;
    return false;
}

/* ---- What a reader needs ------------------------------------------------------------------------ */

typedef struct need {
    gpuc_lowering *l;
    const gpuc_nest *n;    /* the producer */
    gpuc_map spans;        /* axis variable of the reader -> gpuc_interval */
    gpuc_interval *region; /* per dimension; a NULL end: everything */
    bool *known;
} need;

static void add_interval(need *d, int k, gpuc_interval v)
{
    if (!d->known[k]) {
        d->region[k] = v;
        d->known[k] = true;
    } else if (!v.min || !v.max || !d->region[k].min || !d->region[k].max) {
        d->region[k] = (gpuc_interval){NULL, NULL};
    } else {
        d->region[k] = gpuc_arith_interval_union(d->l->analyzer, d->region[k], v);
    }
}

/* Indices stay inside of the tensor, whatever the bounds of the expression say. */
static gpuc_interval clip(const need *d, gpuc_interval v, gpuc_expr size)
{
    gpuc_ctx *ctx = d->l->ctx;
    gpuc_analyzer *a = d->l->analyzer;
    if (!v.min || !v.max) return v;
    v.min = gpuc_arith_simplify(a, v.min);
    v.max = gpuc_arith_simplify(a, v.max);
    if (gpuc_arith_prove(a, gpuc_le(ctx, v.min, gpuc_int(ctx, 0))) &&
        gpuc_arith_prove(a, gpuc_le(ctx, last_of(ctx, size), v.max)))
        return (gpuc_interval){gpuc_int(ctx, 0), last_of(ctx, size)};
    int64_t low, high, n;
    if (is_const(v.min, &low) && low < 0) v.min = gpuc_int(ctx, 0);
    if (is_const(v.max, &high) && is_const(size, &n) && high >= n) v.max = last_of(ctx, size);
    return v;
}

static bool note_read(gpuc_expr e, void *arg)
{
    need *d = arg;
    if (e->kind != GPUC_EXPR_READ || gpuc_as_read(e)->tensor->op != d->n->stage->op) return true;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    for (int k = 0; k < r->n; k++)
        add_interval(
            d, k,
            clip(d, gpuc_arith_eval_interval(d->l->analyzer, r->index[k], &d->spans), r->tensor->shape[k]));
    return true;
}

static gpuc_interval relax(gpuc_lowering *l, gpuc_interval v, const gpuc_map *relaxed)
{
    if (relaxed->count == 0 || !v.min || !v.max) return v;
    gpuc_expr low = gpuc_arith_eval_interval(l->analyzer, v.min, relaxed).min;
    gpuc_expr high = gpuc_arith_eval_interval(l->analyzer, v.max, relaxed).max;
    return low && high ? (gpuc_interval){low, high} : (gpuc_interval){NULL, NULL};
}

/* All iterations of a loop, whose extent may depend on loops around it that are relaxed already. */
static void relax_loop(gpuc_lowering *l, gpuc_map *relaxed, const gpuc_nest_loop *loop)
{
    gpuc_expr last = last_of(l->ctx, loop->opened ? loop->opened->extent : loop->extent);
    if (last->kind != GPUC_EXPR_INT && relaxed->count > 0)
        last = gpuc_arith_eval_interval(l->analyzer, last, relaxed).max;
    gpuc_interval *v = gpuc_new(l->ctx, gpuc_interval);
    *v = (gpuc_interval){gpuc_int(l->ctx, 0), last};
    gpuc_map_set(relaxed, loop->var, v);
}

void gpuc_schedule_lowering_reader_spans(gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest *m,
                                         gpuc_map *spans)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_nest *parent = n ? n->parent : NULL;
    gpuc_map span, relaxed;
    gpuc_map_init(&span, ctx);
    gpuc_map_init(&relaxed, ctx);
    for (int i = 0; i < m->num_loops; i++) {
        const gpuc_nest_loop *loop = &m->loops[i];
        bool open = parent == m && i <= n->parent_loop;
        if (parent && parent != m) open = is_inside(parent, m, i);
        bool fixed = open && (loop->note.tag == GPUC_THREAD_NONE ||
                              gpuc_schedule_scope_is_per_thread(n->scope, loop->note.tag));
        gpuc_span *s = gpuc_new(ctx, gpuc_span);
        if (gpuc_tir_is_const(loop->value, 0))
            *s = (gpuc_span){loop->value, loop->value, true};
        else if (fixed)
            *s = (gpuc_span){loop->value, loop->value, false};
        else
            *s = (gpuc_span){gpuc_int(ctx, 0), last_of(ctx, loop->extent), true};
        gpuc_map_set(&span, loop->iter, s);
    }
    gpuc_ptrs loose = {0};
    gpuc_path p = gpuc_path_start(m);
    for (;;) {
        const gpuc_nest *owner = p.nest;
        int at = p.loop;
        gpuc_nest_loop *loop = gpuc_path_next(&p);
        if (!loop) break;
        bool open = parent && (parent == owner ? at <= n->parent_loop : is_inside(parent, owner, at));
        bool fixed = open && (loop->note.tag == GPUC_THREAD_NONE ||
                              gpuc_schedule_scope_is_per_thread(n->scope, loop->note.tag));
        if (!fixed) gpuc_ptrs_push(ctx, &loose, loop);
    }
    for (size_t i = loose.count; i > 0; i--) relax_loop(l, &relaxed, loose.at[i - 1]);
    gpuc_schedule_pass_up_span(ctx, l->analyzer, m->stage, &m->dom, &span);
    const gpuc_te_op *op = m->op;
    for (int i = 0; i < op->num_axes + op->num_reduce; i++) {
        const gpuc_iter *axis = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        const gpuc_span *s = gpuc_map_get(&span, axis);
        gpuc_interval v = relax(l,
                                (gpuc_interval){gpuc_arith_simplify(l->analyzer, s->min),
                                                gpuc_arith_simplify(l->analyzer, s->max)},
                                &relaxed);
        gpuc_interval *out = gpuc_new(ctx, gpuc_interval);
        *out = v;
        gpuc_map_set(spans, axis->var, out);
    }
}

/* ---- The region of a nest ----------------------------------------------------------------------- */

static void set_range(gpuc_lowering *l, gpuc_nest *n, const gpuc_iter *iter, gpuc_expr min, gpuc_expr extent)
{
    gpuc_range *r = gpuc_new(l->ctx, gpuc_range);
    *r = (gpuc_range){min, extent};
    gpuc_map_set(&n->dom, iter, r);
}

/* Max extent of a part whose extent varies: up to it, storage has the max extent, where the tensor's own
 * extent is known only at run time. */
#define MAX_PART 65536
/* The same where the part is the whole tensor, such as a slice of min(n, 1) elements. It is small since its
 * loops may be unrolled. */
#define MAX_WHOLE 16
/* The same where loops over it are unrolled or vectors, and need a constant. A tile of that many elements is as
 * large as any: a whole tensor is a part only if it is no longer than the tile. */
#define MAX_WHOLE_UNROLLED 256
/* An extent with a number this large comes from a bound, such as that of a split axis of unknown extent. It
 * is not used as a size: no memory of a kernel is that large, and the tensor rarely is. */
#define NO_SIZE (1 << 24)

static bool is_small(gpuc_expr e, void *arg)
{
    int64_t c;
    bool *all = arg;
    if (gpuc_expr_is_int(e, &c) && (c >= NO_SIZE || c <= -NO_SIZE)) *all = false;
    return *all;
}

static bool is_size(gpuc_ctx *ctx, gpuc_expr part)
{
    bool small = true;
    gpuc_tir_visit(ctx, part, is_small, &small);
    return small;
}

static gpuc_expr align_part(gpuc_lowering *l, const gpuc_iter *axis, gpuc_expr low, int64_t part,
                            int64_t factor)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr own = gpuc_int(ctx, part),
              whole = factor ? gpuc_int(ctx, (part + factor - 1) / factor * factor) : own;
    return gpuc_arith_prove(l->analyzer, gpuc_le(ctx, gpuc_add(ctx, low, whole), axis->extent)) ? whole : own;
}

/* Whether a loop that is unrolled or a vector has another extent where the axis has. */
static bool is_unrolled(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_iter *axis)
{
    gpuc_map varies;
    gpuc_map_init(&varies, ctx);
    gpuc_map_set(&varies, axis, (void *)st);
    for (size_t i = 0; i < st->relations.count; i++) {
        const gpuc_relation *r = st->relations.at[i];
        if (r->kind == GPUC_RELATION_SPLIT && gpuc_map_has(&varies, r->whole))
            gpuc_map_set(&varies, r->factor ? r->outer : r->inner, (void *)st);
        if (r->kind == GPUC_RELATION_FUSE &&
            (gpuc_map_has(&varies, r->outer) || gpuc_map_has(&varies, r->inner)))
            gpuc_map_set(&varies, r->whole, (void *)st);
    }
    for (int i = 0; i < st->num_leaves; i++) {
        gpuc_loop_kind kind = gpuc_stage_note(st, st->leaves[i]).kind;
        bool constant = kind == GPUC_LOOP_UNROLLED || kind == GPUC_LOOP_VECTORIZED;
        if (constant && gpuc_map_has(&varies, st->leaves[i])) return true;
    }
    return false;
}

/* The largest extent of a part, from which storage has all of it. */
static int64_t max_part(const need *d, const gpuc_nest *n, const gpuc_iter *axis, gpuc_expr extent)
{
    int64_t size;
    if (is_const(axis->extent, &size)) return size;
    if (!n->parent) return 0;
    if (extent != axis->extent) return MAX_PART;
    return is_unrolled(d->l->ctx, n->stage, axis) ? MAX_WHOLE_UNROLLED : MAX_WHOLE;
}

/* Chooses the range of an axis that is computed. The extent should be a constant, since storage in a kernel
 * needs one: a part whose extent varies gets the max extent, and elements beyond the tensor are guarded. A
 * stage at root computes all of the tensor unless both ends of the part are constant. */
static void choose_range(need *d, gpuc_nest *n, const gpuc_iter *axis, int k)
{
    gpuc_lowering *l = d->l;
    gpuc_ctx *ctx = l->ctx;
    gpuc_interval v = d->region[k];
    gpuc_expr low = v.min, extent = NULL;
    int64_t part, size, start;
    if (d->known[k] && v.min && v.max) {
        extent =
            gpuc_arith_simplify(l->analyzer, gpuc_add(ctx, gpuc_sub(ctx, v.max, v.min), gpuc_int(ctx, 1)));
        if (!is_const(extent, &part) && gpuc_arith_prove_equal(l->analyzer, extent, axis->extent))
            extent = axis->extent;
        if (!is_const(extent, &part)) {
            gpuc_bounds b = gpuc_arith_analyzer_bounds(l->analyzer, extent);
            if (b.max < max_part(d, n, axis, extent)) extent = gpuc_int(ctx, b.max > 0 ? b.max : 0);
        }
        bool constant = is_const(extent, &part);
        if (constant && n->stage->parts) extent = align_part(l, axis, low, part, n->stage->parts[k]);
        constant = is_const(extent, &part);
        bool fixed = is_const(axis->extent, &size);
        if (fixed ? !constant || part >= size : !is_size(ctx, extent)) extent = NULL; /* all of it */
        if (extent && !n->parent && !(constant && is_const(low, &start))) extent = NULL;
        if (extent == axis->extent) extent = NULL;
    }
    if (extent)
        set_range(l, n, axis, low, extent);
    else
        set_range(l, n, axis, axis->min, axis->extent);
}

/* A tensor at root that is rounded up fills the blocks of its layout, also where only its first elements are needed. */
static void fill_blocks(gpuc_lowering *l, gpuc_nest *n)
{
    const gpuc_te_layout *layout = n->stage->layout;
    for (int i = 0; layout && i < layout->n; i++) {
        const gpuc_te_layout_dim *d = &layout->dims[i];
        const gpuc_iter *axis = n->op->axes[d->axis];
        const gpuc_range *r = gpuc_map_get(&n->dom, axis);
        if (!d->inner) continue;
        gpuc_expr factor = gpuc_int(l->ctx, d->factor), last = gpuc_int(l->ctx, d->factor - 1);
        gpuc_expr blocks = gpuc_floordiv_(l->ctx, gpuc_add(l->ctx, r->extent, last), factor);
        gpuc_expr all = gpuc_arith_simplify(l->analyzer, gpuc_mul(l->ctx, blocks, factor));
        bool inside =
            gpuc_tir_is_const(r->min, 0) && gpuc_arith_prove(l->analyzer, gpuc_le(l->ctx, all, axis->extent));
        if (inside || r->extent == axis->extent) set_range(l, n, axis, r->min, all);
    }
}

/* Axes of which nothing is known run over their whole extent. */
static void fill_spans(gpuc_ctx *ctx, const gpuc_te_op *op, gpuc_map *spans)
{
    for (int i = 0; i < op->num_axes + op->num_reduce; i++) {
        const gpuc_iter *axis = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        gpuc_interval *v = gpuc_map_get(spans, axis->var);
        if (!v->min || !v->max) *v = (gpuc_interval){gpuc_int(ctx, 0), last_of(ctx, axis->extent)};
    }
}

static void infer_region(gpuc_lowering *l, gpuc_nest *n)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_te_op *op = n->op;
    need d = {.l = l, .n = n};
    d.region = gpuc_new_array(ctx, gpuc_interval, op->num_axes);
    d.known = gpuc_new_array(ctx, bool, op->num_axes);
    bool whole = n->is_parameter;
    for (size_t i = 0; i < l->nests.count; i++) {
        const gpuc_nest *m = l->nests.at[i];
        if (!gpuc_schedule_op_reads(m->op, n->stage->op)) continue;
        if (n->parent && !is_inside(m, n->parent, n->parent_loop))
            gpuc_stage_fail(
                n->stage,
                "it is computed at loop '%s' of stage '%s', but stage '%s' reads it outside of that loop",
                gpuc_schedule_iter_name(n->parent->loops[n->parent_loop].iter), n->parent->stage->name,
                m->stage->name);
        if (whole || op->kind == GPUC_TE_EXTERN) continue;
        if (m->op->kind == GPUC_TE_EXTERN) {
            whole = true;
            continue;
        }
        gpuc_map_init(&d.spans, ctx);
        gpuc_schedule_lowering_reader_spans(l, n, m, &d.spans);
        fill_spans(ctx, m->op, &d.spans);
        for (int k = 0; k < m->op->num_outputs; k++) gpuc_tir_visit(ctx, m->op->bodies[k], note_read, &d);
    }
    for (int k = 0; k < op->num_axes; k++) {
        if (whole) d.known[k] = false;
        choose_range(&d, n, op->axes[k], k);
    }
    if (n->stage->round_up && !n->parent) fill_blocks(l, n);
    for (int k = 0; k < op->num_reduce; k++)
        set_range(l, n, op->reduce[k], op->reduce[k]->min, op->reduce[k]->extent);
    for (int k = 0; k < n->stage->num_env; k++)
        set_range(l, n, n->stage->env[k], gpuc_int(ctx, 0), n->stage->env[k]->extent);
}

bool gpuc_schedule_lowering_read_part(gpuc_lowering *l, const gpuc_nest *m, int level, const gpuc_tensor *t,
                                      gpuc_interval *region)
{
    /* As if it were computed in the body, by each thread for itself. */
    gpuc_nest at = {.stage = gpuc_schedule_find(l->schedule, t->op),
                    .op = t->op,
                    .parent = (gpuc_nest *)(uintptr_t)m,
                    .parent_loop = level,
                    .scope = GPUC_SCOPE_LOCAL};
    need d = {.l = l, .n = &at, .region = region, .known = gpuc_new_array(l->ctx, bool, t->ndim)};
    gpuc_map_init(&d.spans, l->ctx);
    gpuc_schedule_lowering_reader_spans(l, &at, m, &d.spans);
    fill_spans(l->ctx, m->op, &d.spans);
    for (int k = 0; k < m->op->num_outputs; k++) gpuc_tir_visit(l->ctx, m->op->bodies[k], note_read, &d);
    bool known = true;
    for (int k = 0; k < t->ndim; k++) known = known && d.known[k] && region[k].min && region[k].max;
    return known;
}

/* ---- Loops ------------------------------------------------------------------------------------------ */

/* The loop around loop number i that launches the threads of the tag; NULL: none does. */
static const gpuc_nest_loop *find_open(const gpuc_nest *n, int i, gpuc_thread_tag tag)
{
    if (tag == GPUC_THREAD_NONE || tag == GPUC_VTHREAD) return NULL;
    const gpuc_nest_loop *found = NULL;
    for (int k = 0; k < i && k < n->stage->num_env; k++)
        if (n->loops[k].note.tag == tag) found = n->loops[k].opened ? n->loops[k].opened : &n->loops[k];
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));)
        if (loop->note.tag == tag) found = loop->opened ? loop->opened : loop;
    return found;
}

static const char *loop_name(const gpuc_nest_loop *loop)
{
    static const char *const names[GPUC_THREAD_TAG_COUNT] = {
        [GPUC_BLOCK_X] = "bx",  [GPUC_BLOCK_Y] = "by",  [GPUC_BLOCK_Z] = "bz", [GPUC_THREAD_X] = "tx",
        [GPUC_THREAD_Y] = "ty", [GPUC_THREAD_Z] = "tz", [GPUC_VTHREAD] = "vt",
    };
    return loop->note.tag == GPUC_THREAD_NONE ? gpuc_schedule_iter_name(loop->iter) : names[loop->note.tag];
}

static void check_thread(gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest_loop *loop)
{
    const char *tag = gpuc_thread_tag_name(loop->note.tag), *name = gpuc_schedule_iter_name(loop->iter);
    bool one = gpuc_tir_is_const(loop->extent, 1);
    if (loop->opened && !gpuc_arith_prove(l->analyzer, gpuc_le(l->ctx, loop->extent, loop->opened->extent)))
        gpuc_stage_fail(
            n->stage, "'%s' is bound to %s with extent %s inside of a loop of that thread with extent %s",
            name, tag, gpuc_expr_text(l->ctx, loop->extent), gpuc_expr_text(l->ctx, loop->opened->extent));
    bool env = loop < n->loops + n->stage->num_env;
    if (loop->iter->kind == GPUC_ITER_DATA && n->parent && !one && !env &&
        gpuc_schedule_scope_is_per_thread(n->scope, loop->note.tag))
        gpuc_stage_fail(
            n->stage,
            "'%s' is bound to %s, but each thread has its own storage of scope %s and needs all of it", name,
            tag, gpuc_scope_name(n->scope));
}

/* The leaves; but in a reduction over threads each thread first accumulates its own part: its serial
 * reduce loops are innermost. */
static gpuc_iter **loop_order(gpuc_lowering *l, const gpuc_stage *st)
{
    bool threads = false;
    gpuc_iter **order = gpuc_new_array(l->ctx, gpuc_iter *, st->num_leaves);
    for (int i = 0; i < st->num_leaves; i++)
        threads |= st->leaves[i]->kind == GPUC_ITER_REDUCE &&
                   gpuc_stage_note(st, st->leaves[i]).kind == GPUC_LOOP_THREAD;
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < st->num_leaves; i++) {
            gpuc_iter *leaf = st->leaves[i];
            bool inner = threads && leaf->kind == GPUC_ITER_REDUCE &&
                         gpuc_stage_note(st, leaf).kind != GPUC_LOOP_THREAD;
            if (inner == (pass == 1)) order[n++] = leaf;
        }
    }
    return order;
}

static void make_loops(gpuc_lowering *l, gpuc_nest *n)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_stage *st = n->stage;
    gpuc_iter **order = loop_order(l, st);
    n->num_loops = st->num_env + st->num_leaves;
    n->loops = gpuc_new_array(ctx, gpuc_nest_loop, n->num_loops);
    for (int i = 0; i < n->num_loops; i++) {
        gpuc_nest_loop *loop = &n->loops[i];
        loop->iter = i < st->num_env ? st->env[i] : order[i - st->num_env];
        loop->note = gpuc_stage_note(st, loop->iter);
        loop->extent = ((const gpuc_range *)gpuc_map_get(&n->dom, loop->iter))->extent;
        int64_t extent;
        bool constant = is_const(loop->extent, &extent);
        if (!constant && (loop->note.kind == GPUC_LOOP_VECTORIZED || loop->note.kind == GPUC_LOOP_UNROLLED))
            gpuc_stage_fail(st, "'%s' cannot be %s: its extent %s is not a constant; split it",
                            gpuc_schedule_iter_name(loop->iter),
                            loop->note.kind == GPUC_LOOP_VECTORIZED ? "vectorized" : "unrolled",
                            gpuc_expr_text(ctx, loop->extent));
        /* A thread loop of one iteration over storage of each thread: every thread runs it for itself. */
        if (loop->note.kind == GPUC_LOOP_THREAD && constant && extent == 1 && n->parent &&
            loop->iter->kind == GPUC_ITER_DATA &&
            gpuc_schedule_scope_is_per_thread(n->scope, loop->note.tag)) {
            loop->note.kind = GPUC_LOOP_SERIAL;
            loop->note.tag = GPUC_THREAD_NONE;
        }
        loop->opened = find_open(n, i, loop->note.tag);
        if (loop->opened) {
            loop->var = loop->opened->var;
        } else {
            loop->var = gpuc_var(ctx, loop_name(loop), GPUC_INDEX);
            gpuc_arith_analyzer_bind(l->analyzer, loop->var, gpuc_int(ctx, 0), loop->extent);
        }
        loop->launch = loop->opened ? loop->opened->launch : loop->extent;
        loop->value = constant && extent == 1 ? gpuc_int(ctx, 0) : loop->var;
        if (loop->note.kind == GPUC_LOOP_THREAD) check_thread(l, n, loop);
    }
}

static const gpuc_nest *root_of(const gpuc_nest *n)
{
    while (n->parent) n = n->parent;
    return n;
}

static bool reduces_over_threads(const gpuc_nest *n)
{
    for (int i = 0; i < n->num_loops; i++)
        if (n->loops[i].iter->kind == GPUC_ITER_REDUCE && n->loops[i].note.kind == GPUC_LOOP_THREAD)
            return true;
    return false;
}

/* The max number of iterations of the loop over all iterations of the loops around it: the launch needs as
 * many threads. */
static gpuc_expr max_iterations(gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest_loop *loop)
{
    gpuc_ptrs around = {0}; /* inner ones first */
    gpuc_map relaxed;
    bool varies = false;
    gpuc_path p = gpuc_path_start(n);
    for (int i = n->num_loops - 1; i >= 0; i--) gpuc_ptrs_push(l->ctx, &around, (void *)&n->loops[i]);
    for (gpuc_nest_loop *outer; (outer = gpuc_path_next(&p));) gpuc_ptrs_push(l->ctx, &around, outer);
    for (size_t i = 0; i < around.count; i++)
        varies |= gpuc_tir_uses_var(l->ctx, loop->extent, ((gpuc_nest_loop *)around.at[i])->var);
    if (!varies) return loop->extent;
    gpuc_map_init(&relaxed, l->ctx);
    for (size_t i = around.count; i > 0; i--) relax_loop(l, &relaxed, around.at[i - 1]);
    gpuc_expr max = gpuc_arith_eval_interval(l->analyzer, loop->extent, &relaxed).max;
    if (!max)
        gpuc_stage_fail(n->stage,
                        "'%s' is bound to threads and has %s iterations, whose maximum is not known, but "
                        "threads of the kernel reduce together",
                        gpuc_schedule_iter_name(loop->iter), gpuc_expr_text(l->ctx, loop->extent));
    return max;
}

/* All threads of a group take part in a reduction over threads. So where a kernel has one, its thread
 * loops have the same number of threads everywhere; those beyond a loop's extent are guarded. There is at
 * least one, which stores the identity of a sum of nothing. */
static void widen_threads(gpuc_lowering *l)
{
    for (size_t i = 0; i < l->nests.count; i++) {
        if (!reduces_over_threads(l->nests.at[i])) continue;
        const gpuc_nest *root = root_of(l->nests.at[i]);
        gpuc_expr max[GPUC_THREAD_TAG_COUNT];
        for (int tag = 0; tag < GPUC_THREAD_TAG_COUNT; tag++) max[tag] = gpuc_int(l->ctx, 1);
        for (int pass = 0; pass < 2; pass++) {
            for (size_t k = 0; k < l->nests.count; k++) {
                gpuc_nest *n = l->nests.at[k];
                for (int j = 0; j < n->num_loops && root_of(n) == root; j++) {
                    gpuc_nest_loop *loop = &n->loops[j];
                    gpuc_thread_tag tag = loop->note.tag;
                    if (!gpuc_is_thread_tag(tag)) continue;
                    if (pass == 0)
                        max[tag] = gpuc_arith_simplify(
                            l->sizes, gpuc_max(l->ctx, max[tag], max_iterations(l, n, loop)));
                    else
                        loop->launch = max[tag];
                }
            }
        }
    }
}

/* ---- Storage and the loops that share it -------------------------------------------------------- */

typedef struct bound {
    bool blocks, threads, repeats;
} bound;

static bound bound_around(const gpuc_nest *n)
{
    bound b = {0};
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));) {
        b.blocks |= gpuc_is_block_tag(loop->note.tag);
        b.threads |= gpuc_is_thread_tag(loop->note.tag);
        b.repeats |= loop->note.kind == GPUC_LOOP_THREAD || !gpuc_tir_is_const(loop->extent, 1);
    }
    return b;
}

/* Storage at root that is not global is made in a kernel, which has all later stages in it. */
static bool runs_in_its_kernel(const gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest *m)
{
    const gpuc_nest *root = root_of(n), *top = root_of(m);
    if (top == root) return true;
    if (n->parent || scope_rank(n->scope) == 0) return false;
    for (size_t i = 0; l->nests.at[i] != top; i++)
        if (l->nests.at[i] == n) return true;
    return false;
}

/* Refuses a block loop inside of a loop that is not bound: work-groups would need what other work-groups
 * compute in the same iteration. */
static void refuse_blocks(const gpuc_nest *n, const gpuc_nest *m, const gpuc_nest_loop *loop)
{
    gpuc_stage_fail(
        n->stage,
        "it is computed in global memory at loop '%s' of stage '%s', which is not bound, and '%s' "
        "of stage '%s' inside of that is bound to %s: groups cannot wait for each other; bind the "
        "loop that it is computed at or one around it, or compute it at root",
        gpuc_schedule_iter_name(n->parent->loops[n->parent_loop].iter), n->parent->stage->name,
        gpuc_schedule_iter_name(loop->iter), m->stage->name, gpuc_thread_tag_name(loop->note.tag));
}

static void refuse_outside(const gpuc_nest *n, const gpuc_nest *m, const gpuc_nest_loop *loop)
{
    const char *scope = gpuc_scope_name(n->scope), *tag = gpuc_thread_tag_name(loop->note.tag);
    if (root_of(n) == root_of(m))
        gpuc_stage_fail(n->stage,
                        "storage of scope %s is made outside of the %s loop of stage '%s'; compute it inside "
                        "of that",
                        scope, tag, m->stage->name);
    gpuc_stage_fail(n->stage,
                    "storage of scope %s is made at root, so stage '%s', which comes after it, runs in the "
                    "same kernel and outside of the %s loop of stage '%s' as well; compute it inside of that "
                    "loop, or leave it in global memory",
                    scope, m->stage->name, tag, m->stage->name);
}

/* Raises if the loop runs more often in some of the threads around n than in others that take part in what n
 * computes. */
static void check_equal(const gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest_loop *loop, bool together)
{
    if (loop->note.kind == GPUC_LOOP_THREAD || loop->extent->kind == GPUC_EXPR_INT) return;
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *thread; (thread = gpuc_path_next(&p));) {
        if (!gpuc_is_thread_tag(thread->note.tag)) continue;
        if (gpuc_schedule_scope_is_per_thread(n->scope, thread->note.tag) && !together) continue;
        if (gpuc_tir_uses_var(l->ctx, loop->extent, thread->var))
            gpuc_stage_fail(
                n->stage,
                "threads compute it together inside of loop '%s', whose extent %s differs between "
                "them; compute it outside of that loop, or for each thread in local storage",
                gpuc_schedule_iter_name(loop->iter), gpuc_expr_text(l->ctx, loop->extent));
    }
}

/* Raises where threads compute together inside of a loop that does not have the same number of iterations in
 * each of them. */
static void check_divergence(const gpuc_lowering *l, const gpuc_nest *n)
{
    bool together = reduces_over_threads(n);
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));) check_equal(l, n, loop, together);
    for (int i = 0; together && i < n->num_loops; i++)
        if (n->loops[i].iter->kind == GPUC_ITER_DATA) check_equal(l, n, &n->loops[i], together);
}

/* Raises where storage of a thread or of a work-group is allocated outside of the loops of these threads or
 * work-groups. */
static void check_storage(const gpuc_lowering *l, const gpuc_nest *n)
{
    bound around = bound_around(n);
    bool global = scope_rank(n->scope) == 0;
    if (n->is_parameter || (global && !around.repeats)) return;
    for (size_t i = 0; i < l->nests.count; i++) {
        const gpuc_nest *m = l->nests.at[i];
        if (!runs_in_its_kernel(l, n, m)) continue;
        for (int k = 0; k < m->num_loops; k++) {
            const gpuc_nest_loop *loop = &m->loops[k];
            bool block = gpuc_is_block_tag(loop->note.tag) && !around.blocks;
            bool thread = gpuc_is_thread_tag(loop->note.tag) && !global &&
                          (n->scope == GPUC_SCOPE_SHARED ? !n->parent : !around.threads);
            if (block && global) refuse_blocks(n, m, loop);
            if (block || thread) refuse_outside(n, m, loop);
        }
    }
}

void gpuc_schedule_lowering_infer(gpuc_lowering *l)
{
    for (size_t i = l->nests.count; i > 0; i--) {
        gpuc_nest *n = l->nests.at[i - 1];
        attach(l, n);
        infer_region(l, n);
        gpuc_schedule_pass_down_domain(l->analyzer, l->ctx, n->stage, &n->dom);
        make_loops(l, n);
    }
    widen_threads(l);
    for (size_t i = 0; i < l->nests.count; i++) {
        gpuc_nest *n = l->nests.at[i];
        check_storage(l, n);
        check_divergence(l, n);
        gpuc_schedule_lowering_round_up(l, n);
        gpuc_schedule_lowering_roll(l, n);
        if (n->parent) gpuc_ptrs_push(l->ctx, &n->parent->loops[n->parent_loop].inside, n);
    }
}
