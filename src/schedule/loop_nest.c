/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of a stage: its element under guards, in its loops, with what is computed inside of them.
 *
 * A reduction has two halves: the loops before its first reduce loop are common, then the initialisation
 * and the update each have loops of their own. A reduction over threads accumulates in each thread first. */
#include <string.h>

#include "schedule/nest.h"

typedef struct emitter {
    gpuc_lowering *l;
    const gpuc_nest *n;
    gpuc_map value;       /* iter -> value in terms of loop variables */
    gpuc_ptrs vars, with; /* axis variables and their values */
    gpuc_expr *index;     /* the element */
    gpuc_te_emit emit;
} emitter;

static void start(emitter *e, gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest_loop *loops,
                  int num_loops)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_te_op *op = n->op;
    *e = (emitter){.l = l, .n = n};
    gpuc_map_init(&e->value, ctx);
    for (int i = 0; i < num_loops; i++) gpuc_map_set(&e->value, loops[i].iter, (void *)loops[i].value);
    gpuc_schedule_pass_up_value(ctx, n->stage, &n->dom, &e->value);
    for (int i = 0; i < op->num_axes + op->num_reduce; i++) {
        const gpuc_iter *axis = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        gpuc_expr v = gpuc_map_get(&e->value, axis);
        if (!v) continue;
        if (n->past_end == GPUC_PAST_END_CLAMPED && i < op->num_axes)
            v = gpuc_schedule_lowering_clamp(l, n, i, gpuc_arith_simplify(l->analyzer, v));
        gpuc_ptrs_push(ctx, &e->vars, axis->var);
        gpuc_ptrs_push(ctx, &e->with, gpuc_arith_simplify(l->analyzer, v));
    }
    e->index = gpuc_new_array(ctx, gpuc_expr, op->num_axes);
    for (int i = 0; i < op->num_axes; i++)
        e->index[i] = gpuc_arith_simplify(l->analyzer, gpuc_map_get(&e->value, op->axes[i]));
    e->emit = (gpuc_te_emit){.places = &l->places,
                             .op = op,
                             .n = (int)e->vars.count,
                             .vars = (const gpuc_expr *)e->vars.at,
                             .with = (const gpuc_expr *)e->with.at,
                             .index = e->index};
}

/* ---- Guards --------------------------------------------------------------------------------------- */

static void add_guard(gpuc_lowering *l, gpuc_ptrs *list, gpuc_expr cond)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == cond) return;
    gpuc_ptrs_push(l->ctx, list, cond);
}

static void guard(gpuc_lowering *l, gpuc_ptrs *list, gpuc_expr cond)
{
    if (!gpuc_arith_prove(l->analyzer, cond)) add_guard(l, list, cond);
}

void gpuc_schedule_lowering_guard_threads(gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest_loop *loops,
                                          int num_loops, gpuc_ptrs *list)
{
    for (int i = 0; i < num_loops; i++) {
        const gpuc_nest_loop *loop = &loops[i];
        if (loop->launch != loop->extent)
            add_guard(l, list, gpuc_lt(l->ctx, loop->var, loop->extent));
        else if (loop->opened)
            guard(l, list, gpuc_lt(l->ctx, loop->var, loop->extent));
    }
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));)
        if (!loop->opened && loop->launch != loop->extent)
            add_guard(l, list, gpuc_lt(l->ctx, loop->var, loop->extent));
}

/* Adds guards that keep the part that is computed inside of the tensor. */
static void guard_domain(emitter *e, gpuc_ptrs *list)
{
    gpuc_ctx *ctx = e->l->ctx;
    const gpuc_te_op *op = e->n->op;
    for (int i = 0; i < op->num_axes && e->n->past_end == GPUC_PAST_END_GUARDED; i++) {
        const gpuc_range *r = gpuc_map_get(&e->n->dom, op->axes[i]);
        if (r->min == op->axes[i]->min && r->extent == op->axes[i]->extent) continue;
        guard(e->l, list, gpuc_le(ctx, gpuc_int(ctx, 0), e->index[i]));
        guard(e->l, list, gpuc_lt(ctx, e->index[i], op->axes[i]->extent));
    }
}

/* Adds the guard of one loop of threads unless one of the nest's loops from first on is bound to them, or the
 * predicate chooses among them. */
static void guard_lead_of(emitter *e, const gpuc_nest_loop *loop, int first, gpuc_ptrs *list)
{
    gpuc_ctx *ctx = e->l->ctx;
    const gpuc_nest *n = e->n;
    if (loop->opened || n->scope == GPUC_SCOPE_COOPMAT) return;
    if (gpuc_schedule_scope_is_per_thread(n->scope, loop->note.tag)) return;
    bool bound = n->stage->predicate && gpuc_tir_uses_var(ctx, n->stage->predicate, loop->iter->var);
    for (int i = first; i < n->num_loops; i++) bound |= n->loops[i].note.tag == loop->note.tag;
    if (!bound) guard(e->l, list, gpuc_eq(ctx, loop->var, gpuc_int(ctx, 0)));
}

/* Adds guards so that one thread writes storage that the threads of an enclosing loop share; all threads that
 * hold a cooperative matrix write it. */
static void guard_lead(emitter *e, gpuc_ptrs *list)
{
    const gpuc_nest *n = e->n;
    int num_env = n->stage->num_env;
    gpuc_path p = gpuc_path_start(n);
    for (const gpuc_nest_loop *loop; (loop = gpuc_path_next(&p));)
        if (gpuc_is_thread_tag(loop->note.tag)) guard_lead_of(e, loop, 0, list);
    for (int i = 0; i < num_env; i++) guard_lead_of(e, &n->loops[i], num_env, list);
}

/* Adds guards that keep a ring from computing what it holds, and the predicate of the schedule. */
static void guard_store(emitter *e, gpuc_ptrs *list)
{
    gpuc_ctx *ctx = e->l->ctx;
    const gpuc_nest *n = e->n;
    guard_lead(e, list);
    if (n->rolls) {
        gpuc_expr first = gpuc_eq(ctx, n->parent->loops[n->parent_loop].var, gpuc_int(ctx, 0));
        const gpuc_range *r = gpuc_map_get(&n->dom, n->op->axes[n->rolling_axis]);
        gpuc_expr at = gpuc_arith_simplify(e->l->analyzer, gpuc_sub(ctx, e->index[n->rolling_axis], r->min));
        guard(e->l, list, gpuc_or(ctx, first, gpuc_le(ctx, n->held, at)));
    }
    gpuc_schedule_lowering_predicate(e->l, n, &e->value, list);
}

/* Adds the guards of an element, in all loops of the nest. */
static void all_guards(emitter *e, gpuc_ptrs *guards)
{
    const gpuc_nest *n = e->n;
    gpuc_schedule_pass_up_guards(e->l->ctx, e->l->analyzer, n->stage, &n->dom, &e->value, guards);
    gpuc_schedule_lowering_guard_threads(e->l, n, n->loops, n->num_loops, guards);
    guard_domain(e, guards);
    guard_store(e, guards);
}

static gpuc_expr all_of(gpuc_ctx *ctx, const gpuc_ptrs *list)
{
    gpuc_expr cond = NULL;
    for (size_t i = 0; i < list->count; i++) cond = cond ? gpuc_and(ctx, cond, list->at[i]) : list->at[i];
    return cond;
}

static gpuc_stmt guarded(gpuc_ctx *ctx, const gpuc_ptrs *list, gpuc_stmt body)
{
    gpuc_expr cond = all_of(ctx, list);
    return cond && body ? gpuc_tir_if_(ctx, cond, body, NULL) : body;
}

/* ---- Indices in a form to read ---------------------------------------------------------------------- */

typedef struct tidier {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
} tidier;

static const gpuc_expr *tidy_indices(tidier *t, int n, const gpuc_expr *index)
{
    gpuc_expr *out = gpuc_new_array(t->m.ctx, gpuc_expr, n);
    for (int i = 0; i < n; i++) out[i] = gpuc_arith_simplify(t->a, index[i]);
    return out;
}

static gpuc_expr tidy_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    e = gpuc_tir_map_children(m, e);
    if (e->kind != GPUC_EXPR_LOAD) return e;
    const gpuc_tir_load_node *load = gpuc_as_load(e);
    return gpuc_tir_load(m->ctx, load->buffer, load->n, tidy_indices((tidier *)m, load->n, load->index));
}

static gpuc_stmt tidy_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *st = gpuc_as_store(s);
    return gpuc_tir_store(m->ctx, st->buffer, st->n, tidy_indices((tidier *)m, st->n, st->index), st->value);
}

static gpuc_stmt tidy(gpuc_lowering *l, gpuc_stmt s)
{
    tidier t = {.a = l->analyzer};
    gpuc_tir_mapper_init(&t.m, l->ctx, tidy_expr, tidy_stmt);
    return gpuc_tir_map_stmt(&t.m, s);
}

/* ---- Loops ------------------------------------------------------------------------------------------ */

static gpuc_stmt close_loop(gpuc_lowering *l, const gpuc_nest_loop *loop, gpuc_stmt body)
{
    gpuc_ctx *ctx = l->ctx;
    if (!body) return NULL;
    body = gpuc_tir_seq2(ctx, loop->ahead, body);
    for (const gpuc_pragma *p = loop->note.pragmas; p; p = p->next)
        body = gpuc_tir_attr(ctx, "pragma", p->key, gpuc_int(ctx, p->value), NULL, body);
    bool once = gpuc_tir_is_const(loop->extent, 1) && loop->note.kind != GPUC_LOOP_THREAD;
    if (loop->opened || once) return body;
    return gpuc_tir_for_(ctx, loop->var, gpuc_int(ctx, 0), loop->launch, loop->note.kind, loop->note.tag,
                         body);
}

/* Whether each thread computes the nest for itself: then a guard may skip it for some threads. */
static bool is_private(const gpuc_nest *n)
{
    if (n->scope != GPUC_SCOPE_LOCAL) return false;
    for (int i = 0; i < n->num_loops; i++) {
        if (n->loops[i].note.kind == GPUC_LOOP_THREAD) return false;
        for (size_t k = 0; k < n->loops[i].inside.count; k++)
            if (!is_private(n->loops[i].inside.at[k])) return false;
    }
    return true;
}

/* The innermost loop that a guard must be inside of (-1: none): what it depends on, loops that open
 * threads, and loops in which threads do something together. */
static int guard_level(gpuc_lowering *l, const gpuc_nest_loop *loops, int n, gpuc_expr cond)
{
    if (cond->flags & GPUC_TIR_HAS_LOAD) return n - 1;
    for (int i = n - 1; i >= 0; i--) {
        const gpuc_nest_loop *loop = &loops[i];
        bool opens = !loop->opened && loop->note.kind == GPUC_LOOP_THREAD;
        bool together = false;
        for (size_t k = 0; k < loop->inside.count; k++) together |= !is_private(loop->inside.at[k]);
        if (opens || together || (!loop->opened && gpuc_tir_uses_var(l->ctx, cond, loop->var))) return i;
    }
    return -1;
}

static gpuc_stmt allocate(const gpuc_lowering *l, const gpuc_nest *n, gpuc_stmt body)
{
    for (int k = n->op->num_outputs - 1; k >= 0; k--) {
        const gpuc_tir_buffer *b = gpuc_map_get(&l->allocs, n->op->outputs[k]);
        if (b && body) body = gpuc_tir_alloc(l->ctx, b, body);
    }
    return body;
}

/* Loops from first to before end around body, with the nests that are computed in them, each guard as
 * far out as it may be. */
static gpuc_stmt close_loops(gpuc_lowering *l, const gpuc_nest_loop *loops, int first, int end,
                             const gpuc_ptrs *guards, gpuc_stmt body)
{
    for (int i = end - 1; i >= first - 1; i--) {
        gpuc_ptrs here = {0};
        for (size_t k = 0; k < guards->count; k++) {
            int level = guard_level(l, &loops[first], end - first, guards->at[k]) + first;
            if (level == i) gpuc_ptrs_push(l->ctx, &here, guards->at[k]);
        }
        body = guarded(l->ctx, &here, body);
        if (i < first) continue;
        body = close_loop(l, &loops[i], gpuc_schedule_lowering_produce(l, &loops[i].inside, body));
        for (size_t k = loops[i].inside.count; k > 0; k--) {
            const gpuc_nest *n = loops[i].inside.at[k - 1];
            if (n->rolls) body = allocate(l, n, body);
        }
    }
    return body;
}

static bool is_reduce(const gpuc_nest_loop *loop)
{
    return loop->iter->kind == GPUC_ITER_REDUCE;
}

static bool is_reduce_thread(const gpuc_nest_loop *loop)
{
    return is_reduce(loop) && loop->note.kind == GPUC_LOOP_THREAD;
}

/* ---- Intrinsics ------------------------------------------------------------------------------------- */

/* The first of the loops that an intrinsic stands for; n->num_loops: none does. */
static int intrin_level(const gpuc_nest *n)
{
    int i = 0;
    while (i < n->num_loops && !n->loops[i].note.intrin) i++;
    return i;
}

/* The loops that an intrinsic stands for, in one of the places where they run. */
typedef struct tile {
    const emitter *e;
    const gpuc_tensor_intrin *intrin;
    const gpuc_nest_loop *loops;
    int first, end;
    gpuc_ptrs partial; /* guards that leave out some of their iterations */
    gpuc_expr whole;   /* when none of these does; NULL: always */
    gpuc_tensor_binding binding;
} tile;

static void check_tile(const tile *t)
{
    const gpuc_nest *n = t->e->n;
    for (int i = t->first; i < t->end; i++) {
        const gpuc_nest_loop *loop = &t->loops[i];
        const char *name = gpuc_schedule_iter_name(loop->iter);
        if (loop->inside.count) gpuc_stage_fail(n->stage, "tensorize: '%s' has stages computed in it", name);
        if (loop->opened || loop->note.kind == GPUC_LOOP_THREAD)
            gpuc_stage_fail(n->stage, "tensorize: '%s' is bound to a thread", name);
        if (!gpuc_arith_prove_equal(t->e->l->analyzer, loop->extent, loop->iter->extent))
            gpuc_stage_fail(n->stage, "tensorize: %s needs all of '%s', of which %s are computed",
                            t->intrin->name, name, gpuc_expr_text(t->e->l->ctx, loop->extent));
    }
}

/* The condition under which one of them holds in all iterations of the tile's loops: where it is linear it is hardest at an
 * end of each. NULL: it is not. */
static gpuc_expr always(const tile *t, gpuc_expr cond)
{
    gpuc_ctx *ctx = t->e->l->ctx;
    gpuc_analyzer *a = t->e->l->analyzer;
    if (cond->kind != GPUC_EXPR_OP) return NULL;
    const gpuc_tir_opexpr_node *op = gpuc_as_op(cond);
    gpuc_expr var[GPUC_TENSOR_AXES], scale[GPUC_TENSOR_AXES], with[GPUC_TENSOR_AXES], rest;
    int n = t->end - t->first;
    for (int i = 0; i < n; i++) var[i] = t->loops[t->first + i].var;
    if (op->op != GPUC_TIR_LT && op->op != GPUC_TIR_LE) return NULL;
    gpuc_expr room = gpuc_arith_simplify(a, gpuc_sub(ctx, op->a[1], op->a[0]));
    if (!gpuc_arith_linear(a, room, n, var, scale, &rest)) return NULL;
    for (int i = 0; i < n; i++) {
        int64_t by;
        if (!gpuc_expr_is_int(scale[i], &by)) return NULL;
        gpuc_expr last = gpuc_sub(ctx, t->loops[t->first + i].extent, gpuc_int(ctx, 1));
        with[i] = gpuc_cast(ctx, var[i]->dtype, by < 0 ? last : gpuc_int(ctx, 0));
    }
    return gpuc_arith_simplify(a, gpuc_tir_substitute(ctx, cond, n, var, with));
}

/* The loop of the tile that a guard depends on; -1: on none. */
static int guarded_loop(const tile *t, gpuc_expr cond)
{
    for (int i = t->first; i < t->end; i++)
        if (gpuc_tir_uses_var(t->e->l->ctx, cond, t->loops[i].var)) return i;
    return -1;
}

static void add_partial(tile *t, gpuc_expr cond, int loop)
{
    gpuc_ctx *ctx = t->e->l->ctx;
    const char *name = gpuc_schedule_iter_name(t->loops[loop].iter), *why = NULL;
    gpuc_expr whole = always(t, cond);
    bool reduces = false;
    for (int i = t->first; i < t->end; i++)
        reduces |= is_reduce(&t->loops[i]) && gpuc_tir_uses_var(ctx, cond, t->loops[i].var);
    if (!whole)
        why = "no guard tells from whole parts";
    else if (reduces && t->intrin->parts.finalise)
        why = "the finalise part does not know";
    else if (gpuc_tensor_intrin_touches(&t->binding, GPUC_SCOPE_COOPMAT))
        why = "cooperative matrices do not have";
    if (why)
        gpuc_stage_fail(
            t->e->n->stage,
            "tensorize: %s runs for all of '%s', of which some is left out (%s), which %s; split by a "
            "factor that divides, or align_bounds",
            t->intrin->name, name, gpuc_expr_text(ctx, cond), why);
    gpuc_ptrs_push(ctx, &t->partial, (void *)(uintptr_t)cond);
    if (!gpuc_arith_prove(t->e->l->analyzer, whole))
        t->whole = t->whole ? gpuc_and(ctx, t->whole, whole) : whole;
}

/* The tile of loops from first to before end, and takes the guards that leave out some of it. */
static void make_tile(tile *t, const emitter *e, const gpuc_nest_loop *loops, int first, int end,
                      gpuc_ptrs *guards)
{
    gpuc_ctx *ctx = e->l->ctx;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, end);
    const gpuc_iter **iters = gpuc_new_array(ctx, const gpuc_iter *, end);
    gpuc_ptrs others = {0};
    *t = (tile){.e = e, .loops = loops, .first = first, .end = end};
    t->intrin = e->n->loops[intrin_level(e->n)].note.intrin;
    check_tile(t);
    for (int i = first; i < end; i++) {
        vars[i - first] = loops[i].var;
        iters[i - first] = loops[i].iter;
    }
    gpuc_tensor_intrin_bind(&t->binding, e->l->analyzer, e->n->stage, t->intrin, &e->emit,
                            loops == e->n->loops, end - first, iters, vars);
    for (size_t k = 0; k < guards->count; k++) {
        int loop = guarded_loop(t, guards->at[k]);
        if (loop < 0)
            gpuc_ptrs_push(ctx, &others, guards->at[k]);
        else
            add_partial(t, guards->at[k], loop);
    }
    *guards = others;
}

/* A part in the place of the tile; where some of the tile is left out, `plain` in its loops. Either may be NULL. */
static gpuc_stmt run_tile(const tile *t, gpuc_tensor_part part, const char *what, gpuc_stmt plain)
{
    gpuc_lowering *l = t->e->l;
    gpuc_stmt s = part ? tidy(l, gpuc_tensor_intrin_emit(&t->binding, part, what)) : NULL;
    if (part && !t->whole) return s;
    plain = close_loops(l, t->loops, t->first, t->end, &t->partial, plain);
    return part ? gpuc_tir_if_(l->ctx, t->whole, s, plain) : plain;
}

static gpuc_stmt emit_plain(gpuc_lowering *l, const gpuc_nest *n)
{
    emitter e;
    gpuc_ptrs guards = {0};
    start(&e, l, n, n->loops, n->num_loops);
    all_guards(&e, &guards);
    int level = intrin_level(n);
    gpuc_stmt body = tidy(l, gpuc_te_emit_plain(l->ctx, &e.emit));
    if (level < n->num_loops) {
        tile t;
        make_tile(&t, &e, n->loops, level, n->num_loops, &guards);
        body = run_tile(&t, t.intrin->parts.body, "body", body);
    }
    return close_loops(l, n->loops, 0, level, &guards, body);
}

/* ---- Reductions ------------------------------------------------------------------------------------- */

/* The data loops from first on, with variables of their own and nothing computed inside. */
static gpuc_nest_loop *init_loops(gpuc_lowering *l, const gpuc_nest *n, int first, int *out_count)
{
    gpuc_nest_loop *loops = gpuc_new_array(l->ctx, gpuc_nest_loop, n->num_loops);
    int count = 0;
    for (int i = 0; i < n->num_loops; i++) {
        if (is_reduce(&n->loops[i])) continue;
        gpuc_nest_loop loop = n->loops[i];
        loop.inside = (gpuc_ptrs){0};
        loop.note.pragmas = NULL;
        loop.ahead = NULL;
        if (i >= first && !loop.opened) {
            bool once = loop.value != loop.var;
            loop.var = gpuc_var(l->ctx, gpuc_as_var(loop.var)->name, GPUC_INDEX);
            gpuc_arith_analyzer_bind(l->analyzer, loop.var, gpuc_int(l->ctx, 0), loop.extent);
            if (!once) loop.value = loop.var;
        }
        loops[count++] = loop;
    }
    *out_count = count;
    return loops;
}

/* Takes the guards out of both lists that may stand around both halves. */
static gpuc_ptrs take_common(gpuc_lowering *l, const gpuc_nest *n, int common, gpuc_ptrs *init,
                             gpuc_ptrs *update)
{
    gpuc_ptrs both = {0}, rest[2] = {{0}};
    for (size_t i = 0; i < update->count; i++) {
        bool in_init = false;
        for (size_t k = 0; k < init->count; k++) in_init |= init->at[k] == update->at[i];
        bool outer = in_init && guard_level(l, n->loops, n->num_loops, update->at[i]) < common;
        gpuc_ptrs_push(l->ctx, outer ? &both : &rest[1], update->at[i]);
    }
    for (size_t i = 0; i < init->count; i++) {
        bool taken = false;
        for (size_t k = 0; k < both.count; k++) taken |= both.at[k] == init->at[i];
        if (!taken) gpuc_ptrs_push(l->ctx, &rest[0], init->at[i]);
    }
    *init = rest[0];
    *update = rest[1];
    return both;
}

/* The data loops from the common ones on, once more: for what runs before or after the updates of an element. */
typedef struct data_half {
    emitter e;
    const gpuc_nest_loop *loops;
    int num_loops;
    gpuc_ptrs guards;
} data_half;

static void start_half(data_half *h, gpuc_lowering *l, const gpuc_nest *n, int common, bool in_domain)
{
    *h = (data_half){0};
    h->loops = init_loops(l, n, common, &h->num_loops);
    start(&h->e, l, n, h->loops, h->num_loops);
    gpuc_schedule_pass_up_guards(l->ctx, l->analyzer, n->stage, &n->dom, &h->e.value, &h->guards);
    gpuc_schedule_lowering_guard_threads(l, n, h->loops, h->num_loops, &h->guards);
    if (in_domain) guard_domain(&h->e, &h->guards);
    guard_store(&h->e, &h->guards);
}

/* The number of data loops outside of those that an intrinsic stands for. */
static int num_outside(const gpuc_nest *n, int level)
{
    int count = 0;
    for (int i = 0; i < level; i++) count += !is_reduce(&n->loops[i]);
    return count;
}

/* Init and update of an intrinsic, without the loops outside of the tile. */
typedef struct halves {
    gpuc_stmt init, update;
} halves;

static halves run_halves(const gpuc_nest *n, int level, data_half *h, const emitter *e, gpuc_ptrs *guards)
{
    gpuc_ctx *ctx = e->l->ctx;
    tile first, t;
    make_tile(&t, e, n->loops, level, n->num_loops, guards);
    make_tile(&first, &h->e, h->loops, num_outside(n, level), h->num_loops, &h->guards);
    halves r = {.init = tidy(e->l, gpuc_te_emit_init(ctx, &h->e.emit)),
                .update = tidy(e->l, gpuc_te_emit_update(ctx, &e->emit))};
    const gpuc_tensor_parts *parts = &t.intrin->parts;
    r.init = run_tile(&first, parts->init, "init", r.init);
    r.update = run_tile(&t, parts->update, "update", r.update);
    if (n->scope == GPUC_SCOPE_COOPMAT) r.init = gpuc_tir_attr(ctx, "coopmat", NULL, NULL, NULL, r.init);
    return r;
}

/* The finalise part, without the loops around that it has in common with the updates. both: guards there. */
static gpuc_stmt emit_finalise(gpuc_lowering *l, const gpuc_nest *n, int common, int level,
                               const gpuc_ptrs *both)
{
    data_half h;
    tile t;
    gpuc_ptrs guards = {0};
    start_half(&h, l, n, common, true);
    make_tile(&t, &h.e, h.loops, num_outside(n, level), h.num_loops, &h.guards);
    for (size_t i = 0; i < h.guards.count; i++) {
        bool around = false;
        for (size_t k = 0; k < both->count; k++) around |= both->at[k] == h.guards.at[i];
        if (!around) gpuc_ptrs_push(l->ctx, &guards, h.guards.at[i]);
    }
    gpuc_stmt s = run_tile(&t, t.intrin->parts.finalise, "finalise", NULL);
    return close_loops(l, h.loops, common, num_outside(n, level), &guards, s);
}

/* The body of an intrinsic that has all of the reduction in its loops; init and update of what is left out. */
static gpuc_stmt emit_whole(gpuc_lowering *l, const gpuc_nest *n, int level)
{
    data_half h;
    emitter e;
    tile first, t;
    gpuc_ptrs guards = {0};
    start_half(&h, l, n, level, false);
    start(&e, l, n, n->loops, n->num_loops);
    all_guards(&e, &guards);
    make_tile(&t, &e, n->loops, level, n->num_loops, &guards);
    make_tile(&first, &h.e, h.loops, level, h.num_loops, &h.guards);
    gpuc_ptrs both = take_common(l, n, level, &h.guards, &guards);
    gpuc_stmt init = run_tile(&first, NULL, "init", tidy(l, gpuc_te_emit_init(l->ctx, &h.e.emit)));
    gpuc_stmt update = run_tile(&t, NULL, "update", tidy(l, gpuc_te_emit_update(l->ctx, &e.emit)));
    init = guarded(l->ctx, &h.guards, init);
    gpuc_stmt plain = gpuc_tir_seq2(l->ctx, init, update);
    gpuc_stmt s = tidy(l, gpuc_tensor_intrin_emit(&t.binding, t.intrin->parts.body, "body"));
    for (size_t i = 0; i < guards.count; i++) gpuc_ptrs_push(l->ctx, &both, guards.at[i]);
    if (t.whole) s = gpuc_tir_if_(l->ctx, t.whole, s, plain);
    return close_loops(l, n->loops, 0, level, &both, s);
}

static gpuc_stmt emit_reduction(gpuc_lowering *l, const gpuc_nest *n)
{
    gpuc_ctx *ctx = l->ctx;
    int common = 0, level = intrin_level(n);
    bool tiled = level < n->num_loops;
    const gpuc_tensor_parts *parts = tiled ? &n->loops[level].note.intrin->parts : NULL;
    while (common < n->num_loops && common < level && !is_reduce(&n->loops[common])) common++;
    if (tiled && common == level && parts->body) return emit_whole(l, n, level);
    if (tiled && !parts->update)
        gpuc_stage_fail(n->stage,
                        "tensorize: %s has no update part, so that all of the reduction must be in it",
                        n->loops[level].note.intrin->name);

    data_half h;
    emitter e;
    gpuc_ptrs guards = {0};
    /* What an init part or a finalise part leaves to plain loops must be what the update leaves to them. */
    start_half(&h, l, n, common, tiled && parts->finalise);
    start(&e, l, n, n->loops, n->num_loops);
    all_guards(&e, &guards);
    halves s;
    if (tiled)
        s = run_halves(n, level, &h, &e, &guards);
    else
        s = (halves){tidy(l, gpuc_te_emit_init(ctx, &h.e.emit)), tidy(l, gpuc_te_emit_update(ctx, &e.emit))};

    gpuc_ptrs both = take_common(l, n, common, &h.guards, &guards);
    s.init = close_loops(l, h.loops, common, num_outside(n, level), &h.guards, s.init);
    s.update = close_loops(l, n->loops, common, level > common ? level : common, &guards, s.update);
    if (s.init) s.init = gpuc_tir_attr(ctx, "reduce_init", NULL, NULL, NULL, s.init);
    if (s.update) s.update = gpuc_tir_attr(ctx, "reduce_update", NULL, NULL, NULL, s.update);
    gpuc_stmt all = gpuc_tir_seq2(ctx, s.init, s.update);
    if (tiled && parts->finalise) all = gpuc_tir_seq2(ctx, all, emit_finalise(l, n, common, level, &both));
    return close_loops(l, n->loops, 0, common, &both, all);
}

/* ---- Reductions over threads -------------------------------------------------------------------- */

static void check_allreduce(gpuc_lowering *l, const gpuc_nest *n)
{
    for (int i = 0; i < n->num_loops; i++) {
        if (!is_reduce_thread(&n->loops[i])) continue;
        gpuc_thread_tag tag = n->loops[i].note.tag;
        if (n->scope != GPUC_SCOPE_LOCAL && gpuc_schedule_scope_is_per_thread(n->scope, tag))
            gpuc_stage_fail(
                n->stage,
                "'%s' is reduced over %s into storage of scope %s, of which each of these threads "
                "has its own; use local or shared",
                gpuc_schedule_iter_name(n->loops[i].iter), gpuc_thread_tag_name(tag),
                gpuc_scope_name(n->scope));
        for (int k = 0; k < n->op->num_axes; k++) {
            const gpuc_range *r = gpuc_map_get(&n->dom, n->op->axes[k]);
            if (gpuc_tir_uses_var(l->ctx, r->min, n->loops[i].var))
                gpuc_stage_fail(
                    n->stage,
                    "'%s' is reduced over %s, but each of these threads needs another part of the result",
                    gpuc_schedule_iter_name(n->loops[i].iter), gpuc_thread_tag_name(n->loops[i].note.tag));
        }
    }
}

static const char *reduced_tags(gpuc_lowering *l, const gpuc_nest *n)
{
    const char *text = "";
    for (int i = 0; i < n->num_loops; i++)
        if (is_reduce_thread(&n->loops[i]))
            text = gpuc_ctx_printf(l->ctx, "%s%s%s", text, text[0] ? "," : "",
                                   gpuc_thread_tag_name(n->loops[i].note.tag));
    return text;
}

static gpuc_stmt store_partial(gpuc_ctx *ctx, int count, gpuc_tir_buffer *const *partial,
                               const gpuc_expr *values)
{
    gpuc_expr zero = gpuc_int(ctx, 0);
    if (count == 1) return gpuc_tir_store1(ctx, partial[0], zero, values[0]);
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, count);
    gpuc_expr *names = gpuc_new_array(ctx, gpuc_expr, count);
    for (int k = 0; k < count; k++) {
        names[k] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s.new", partial[k]->name), values[k]->dtype);
        stores[k] = gpuc_tir_store1(ctx, partial[k], zero, names[k]);
    }
    gpuc_stmt body = gpuc_tir_seq(ctx, count, stores);
    for (int k = count - 1; k >= 0; k--) body = gpuc_tir_let(ctx, names[k], values[k], body);
    return body;
}

/* serial: the reduce loops that are not threads, with what is computed in them. values gets what each
 * thread has; the result accumulates it into partial. */
static gpuc_stmt accumulate(emitter *e, const gpuc_nest_loop *serial, int num_serial, const gpuc_ptrs *guards,
                            gpuc_tir_buffer **partial, gpuc_expr *values)
{
    gpuc_ctx *ctx = e->l->ctx;
    const gpuc_te_op *op = e->n->op;
    const gpuc_tir_reduce_node *r = gpuc_as_reduce(op->bodies[0]);
    int count = op->num_outputs;
    gpuc_expr one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    gpuc_expr *source = gpuc_new_array(ctx, gpuc_expr, count), *sum = gpuc_new_array(ctx, gpuc_expr, count);
    for (int k = 0; k < count; k++) {
        const char *name = gpuc_ctx_printf(ctx, "%s.part", op->outputs[k]->name);
        partial[k] = gpuc_tir_buffer_make(ctx, name, op->outputs[k]->dtype, 1, &one, GPUC_SCOPE_LOCAL);
        values[k] = gpuc_tir_load1(ctx, partial[k], zero);
        source[k] = gpuc_te_emit_expr(ctx, &e->emit, r->source[k]);
    }
    gpuc_te_combine(ctx, r->reducer, values, source, sum);
    gpuc_stmt init = store_partial(ctx, count, partial, r->reducer->identity);
    gpuc_stmt update = tidy(e->l, store_partial(ctx, count, partial, sum));
    update = close_loops(e->l, serial, 0, num_serial, guards, update);
    init = gpuc_tir_attr(ctx, "reduce_init", NULL, NULL, NULL, init);
    if (update) update = gpuc_tir_attr(ctx, "reduce_update", NULL, NULL, NULL, update);
    return gpuc_tir_seq2(ctx, init, update);
}

static gpuc_stmt emit_allreduce(gpuc_lowering *l, const gpuc_nest *n)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_te_op *op = n->op;
    const gpuc_tir_reduce_node *r = gpuc_as_reduce(op->bodies[0]);
    int count = op->num_outputs, num_serial = 0, num_data = 0;
    check_allreduce(l, n);
    if (intrin_level(n) < n->num_loops)
        gpuc_stage_fail(n->stage, "tensorize: threads reduce together here; an intrinsic cannot take part");
    gpuc_nest_loop *data = gpuc_new_array(ctx, gpuc_nest_loop, n->num_loops);
    for (int i = 0; i < n->num_loops; i++) {
        if (!is_reduce(&n->loops[i])) data[num_data++] = n->loops[i];
        num_serial += is_reduce(&n->loops[i]) && !is_reduce_thread(&n->loops[i]);
    }
    int num_outer = n->num_loops - num_serial;

    emitter e;
    gpuc_ptrs store_guards = {0}, guards = {0};
    start(&e, l, n, data, num_data);
    gpuc_schedule_pass_up_guards(ctx, l->analyzer, n->stage, &n->dom, &e.value, &store_guards);
    gpuc_schedule_lowering_guard_threads(l, n, data, num_data, &store_guards);
    guard_domain(&e, &store_guards);
    guard_store(&e, &store_guards);

    start(&e, l, n, n->loops, n->num_loops);
    gpuc_schedule_pass_up_guards(ctx, l->analyzer, n->stage, &n->dom, &e.value, &guards);
    gpuc_schedule_lowering_guard_threads(l, n, n->loops, n->num_loops, &guards);
    guard_domain(&e, &guards);
    if (r->condition) gpuc_ptrs_push(ctx, &guards, gpuc_te_emit_expr(ctx, &e.emit, r->condition));

    gpuc_expr *values = gpuc_new_array(ctx, gpuc_expr, count);
    gpuc_tir_buffer **partial = gpuc_new_array(ctx, gpuc_tir_buffer *, count);
    gpuc_stmt before = NULL;
    if (num_serial > 0) {
        before = accumulate(&e, n->loops + num_outer, num_serial, &guards, partial, values);
    } else {
        gpuc_expr cond = all_of(ctx, &guards);
        for (int k = 0; k < count; k++) {
            values[k] = gpuc_te_emit_expr(ctx, &e.emit, r->source[k]);
            if (cond) values[k] = gpuc_if_then_else(ctx, cond, values[k], r->reducer->identity[k]);
        }
    }
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, count);
    for (int k = 0; k < count; k++) {
        gpuc_te_emit one = e.emit;
        stores[k] = gpuc_te_emit_store(ctx, &one, k, values[k]);
    }
    gpuc_stmt store = guarded(ctx, &store_guards, tidy(l, gpuc_tir_seq(ctx, count, stores)));
    store = gpuc_tir_attr(ctx, "allreduce", reduced_tags(l, n), NULL, r->reducer, store);
    gpuc_stmt body = gpuc_tir_seq2(ctx, before, store);
    for (int k = count - 1; k >= 0 && num_serial > 0; k--) body = gpuc_tir_alloc(ctx, partial[k], body);
    gpuc_ptrs none = {0};
    return close_loops(l, n->loops, 0, num_outer, &none, body);
}

/* ---- Nests -------------------------------------------------------------------------------------------- */

gpuc_stmt gpuc_schedule_lowering_emit(gpuc_lowering *l, const gpuc_nest *n)
{
    if (n->op->kind == GPUC_TE_EXTERN) return gpuc_te_emit_extern(l->ctx, &l->places, n->op);
    if (!gpuc_schedule_op_is_reduction(n->op)) return emit_plain(l, n);
    for (int i = 0; i < n->num_loops; i++)
        if (is_reduce_thread(&n->loops[i])) return emit_allreduce(l, n);
    return emit_reduction(l, n);
}

gpuc_stmt gpuc_schedule_lowering_produce(gpuc_lowering *l, const gpuc_ptrs *nests, gpuc_stmt body)
{
    for (size_t i = nests->count; i > 0; i--) {
        const gpuc_nest *n = nests->at[i - 1];
        body = gpuc_tir_seq2(l->ctx, gpuc_schedule_lowering_emit(l, n), body);
        if (!n->rolls) body = allocate(l, n, body);
    }
    return body;
}
