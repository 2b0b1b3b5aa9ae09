/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives on the threads around a stage, on which of them stores, and on what they ask the caches for. */
#include "schedule/nest.h"

void gpuc_stage_env_threads(gpuc_stage *st, int n, const char *const *threads, const int64_t *extents,
                            gpuc_iter **out)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    if (st->op->kind == GPUC_TE_PLACEHOLDER) gpuc_stage_fail(st, "env_threads: a placeholder has no loops");
    if (n < 0) gpuc_stage_fail(st, "env_threads: the number of threads is %d", n);
    if (n > 0) {
        gpuc_stage_need(st, threads, "env_threads", "list of threads");
        gpuc_stage_need(st, extents, "env_threads", "list of extents");
    }
    gpuc_iter **env = gpuc_new_array(ctx, gpuc_iter *, st->num_env + n);
    gpuc_thread_tag *tags = gpuc_new_array(ctx, gpuc_thread_tag, n);
    for (int i = 0; i < st->num_env; i++) env[i] = st->env[i];
    for (int i = 0; i < n; i++) {
        gpuc_stage_need(st, threads[i], "env_threads", "thread axis");
        if (!gpuc_thread_tag_parse(threads[i], &tags[i]) || tags[i] == GPUC_THREAD_NONE ||
            tags[i] == GPUC_VTHREAD)
            gpuc_stage_fail(st, "env_threads: '%s' is none of blockIdx.x, .y, .z, threadIdx.x, .y, .z",
                            threads[i]);
        if (extents[i] < 1)
            gpuc_stage_fail(st, "env_threads: %s has the extent %lld; it must be at least 1", threads[i],
                            (long long)extents[i]);
        gpuc_stage_need_factor(st, extents[i], "env_threads");
        for (int k = 0; k < st->num_env + i; k++)
            if ((k < st->num_env ? gpuc_stage_note(st, env[k]).tag : tags[k - st->num_env]) == tags[i])
                gpuc_stage_fail(st, "env_threads: %s is launched already", threads[i]);
        env[st->num_env + i] = gpuc_tir_iter(ctx, threads[i], gpuc_int(ctx, 0), gpuc_int(ctx, extents[i]),
                                             GPUC_ITER_DATA, GPUC_THREAD_NONE);
    }
    for (int i = 0; i < n; i++) {
        gpuc_loop_note *note = gpuc_stage_note_make(st, env[st->num_env + i]);
        note->kind = GPUC_LOOP_THREAD;
        note->tag = tags[i];
        if (out) out[i] = env[st->num_env + i];
    }
    st->env = env;
    st->num_env += n;
}

/* ---- Predicates ------------------------------------------------------------------------------------- */

static bool reads_nothing(gpuc_expr e, void *arg)
{
    (void)arg;
    return e->kind != GPUC_EXPR_READ && e->kind != GPUC_EXPR_REDUCE && e->kind != GPUC_EXPR_LOAD &&
           e->kind != GPUC_EXPR_CALL;
}

void gpuc_stage_set_store_predicate(gpuc_stage *st, gpuc_expr predicate)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    gpuc_stage_need(st, predicate, "set_store_predicate", "condition");
    if (predicate->ctx != ctx)
        gpuc_stage_fail(st, "set_store_predicate: the condition was made in another context");
    if (st->op->kind != GPUC_TE_COMPUTE)
        gpuc_stage_fail(st, "set_store_predicate: %s",
                        st->op->kind == GPUC_TE_EXTERN ? "an extern operation stores as its body says"
                                                       : "it is a placeholder, which nothing stores to");
    if (!gpuc_dtype_equal(predicate->dtype, GPUC_BOOL)) {
        char name[24];
        gpuc_stage_fail(st, "set_store_predicate: the condition is of type %s; wanted is bool",
                        gpuc_dtype_name(predicate->dtype, name));
    }
    if (!gpuc_tir_visit(ctx, predicate, reads_nothing, NULL))
        gpuc_stage_fail(st,
                        "set_store_predicate: %s reads memory; it is made of symbols and loops' variables",
                        gpuc_expr_text(ctx, predicate));
    if (st->attach == GPUC_ATTACH_INLINE)
        gpuc_stage_fail(st, "set_store_predicate: it is inlined and stores nothing");
    st->predicate = predicate;
}

typedef struct resolver {
    gpuc_lowering *l;
    const gpuc_nest *n;
    gpuc_ptrs vars, with;
} resolver;

static void resolve(resolver *r, const gpuc_iter *iter, const gpuc_map *value)
{
    gpuc_expr v = gpuc_map_get(value, iter);
    if (!v) return;
    gpuc_ptrs_push(r->l->ctx, &r->vars, iter->var);
    gpuc_ptrs_push(r->l->ctx, &r->with, v);
}

/* Loops around know the values of their own iterators only. */
static void resolve_around(resolver *r)
{
    gpuc_ctx *ctx = r->l->ctx;
    gpuc_path p = gpuc_path_start(r->n);
    for (;;) {
        const gpuc_nest *owner = p.nest;
        const gpuc_nest_loop *loop = gpuc_path_next(&p);
        if (!loop) return;
        const gpuc_range *range = gpuc_map_get(&owner->dom, loop->iter);
        gpuc_ptrs_push(ctx, &r->vars, loop->iter->var);
        gpuc_ptrs_push(ctx, &r->with, gpuc_add(ctx, loop->value, range->min));
    }
}

static bool is_known(gpuc_expr e, void *arg)
{
    const resolver *r = arg;
    if (e->kind != GPUC_EXPR_VAR) return true;
    for (size_t i = 0; i < r->vars.count; i++)
        if (r->vars.at[i] == e) return true;
    for (size_t i = 0; i < r->l->scalars->count; i++)
        if (r->l->scalars->at[i] == e) return true;
    gpuc_stage_fail(
        r->n->stage,
        "set_store_predicate: '%s' is neither a loop around the store nor a symbol of the function",
        gpuc_as_var(e)->name);
}

void gpuc_schedule_lowering_predicate(gpuc_lowering *l, const gpuc_nest *n, const gpuc_map *value,
                                      gpuc_ptrs *guards)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_stage *st = n->stage;
    if (!st->predicate) return;
    resolver r = {.l = l, .n = n};
    for (int i = 0; i < n->op->num_axes; i++) resolve(&r, n->op->axes[i], value);
    for (int i = 0; i < st->num_env; i++) resolve(&r, st->env[i], value);
    for (int i = 0; i < st->num_leaves; i++)
        if (st->leaves[i]->kind == GPUC_ITER_DATA) resolve(&r, st->leaves[i], value);
    for (size_t i = 0; i < st->relations.count; i++) {
        const gpuc_relation *rel = st->relations.at[i];
        if (rel->whole->kind == GPUC_ITER_DATA) resolve(&r, rel->whole, value);
    }
    resolve_around(&r);
    gpuc_tir_visit(ctx, st->predicate, is_known, &r);
    gpuc_expr cond = gpuc_tir_substitute(ctx, st->predicate, (int)r.vars.count, (const gpuc_expr *)r.vars.at,
                                         (const gpuc_expr *)r.with.at);
    cond = gpuc_arith_simplify(l->analyzer, cond);
    if (!gpuc_arith_prove(l->analyzer, cond)) gpuc_ptrs_push(ctx, guards, cond);
}

/* ---- Prefetches ------------------------------------------------------------------------------------- */

/* What a request brings: a line of the caches, in bytes. */
#define LINE 64

static bool reads(const gpuc_te_op *op, const gpuc_tensor *t)
{
    for (int i = 0; i < op->num_inputs; i++)
        if (op->inputs[i] == t) return true;
    return false;
}

void gpuc_stage_prefetch(gpuc_stage *st, gpuc_tensor *tensor, gpuc_iter *iter, int64_t offset)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    gpuc_stage_need(st, tensor, "prefetch", "tensor");
    gpuc_stage_need_leaf(st, iter, "prefetch");
    const gpuc_tensor *t = gpuc_schedule_current(st->schedule, tensor);
    if (st->op->kind != GPUC_TE_COMPUTE || !reads(st->op, t))
        gpuc_stage_fail(st, "prefetch: it does not read '%s'", t->name);
    if (offset < 1 || offset > INT32_MAX)
        gpuc_stage_fail(st, "prefetch: '%s' is asked for %lld iterations of '%s' ahead; wanted is 1 or more",
                        t->name, (long long)offset, gpuc_schedule_iter_name(iter));
    gpuc_prefetch *p = gpuc_new(ctx, gpuc_prefetch);
    *p = (gpuc_prefetch){.tensor = tensor, .offset = offset};
    gpuc_loop_note *note = gpuc_stage_note_make(st, iter);
    p->next = note->prefetches;
    note->prefetches = p;
}

typedef struct ahead {
    gpuc_lowering *l;
    const gpuc_te_place *place;
    const gpuc_tensor *t;
    gpuc_expr *index;
    gpuc_ptrs guards;
} ahead;

/* Keeps an index inside of what the buffer holds. */
static void keep_inside(ahead *a, int k)
{
    gpuc_ctx *ctx = a->l->ctx;
    const gpuc_te_place *p = a->place;
    gpuc_expr from = p->origin ? p->origin[k] : gpuc_int(ctx, 0);
    gpuc_expr end = gpuc_add(ctx, from, (p->extent ? p->extent : a->t->shape)[k]);
    gpuc_expr ok[] = {gpuc_le(ctx, from, a->index[k]), gpuc_lt(ctx, a->index[k], end)};
    for (int i = 0; i < 2; i++) {
        ok[i] = gpuc_arith_simplify(a->l->analyzer, ok[i]);
        if (!gpuc_arith_prove(a->l->analyzer, ok[i])) gpuc_ptrs_push(ctx, &a->guards, ok[i]);
    }
}

/* A request per row and line of the part. */
static gpuc_stmt request(ahead *a, const gpuc_interval *part)
{
    gpuc_ctx *ctx = a->l->ctx;
    int ndim = a->t->ndim;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, ndim), *counts = gpuc_new_array(ctx, gpuc_expr, ndim);
    gpuc_expr one = gpuc_int(ctx, 1), line = gpuc_int(ctx, LINE / (int64_t)gpuc_dtype_bytes(a->t->dtype));
    for (int k = 0; k < ndim; k++) {
        gpuc_expr last = gpuc_sub(ctx, part[k].max, part[k].min);
        bool lines = k == ndim - 1;
        last = gpuc_arith_simplify(a->l->analyzer, last);
        if (last->kind != GPUC_EXPR_INT)
            gpuc_ptrs_push(ctx, &a->guards, gpuc_le(ctx, gpuc_int(ctx, 0), last));
        if (lines) last = gpuc_floordiv_(ctx, gpuc_sub(ctx, gpuc_add(ctx, last, line), one), line);
        counts[k] = gpuc_arith_simplify(a->l->analyzer, gpuc_add(ctx, last, one));
        vars[k] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s.ahead%d", a->t->name, k), GPUC_INDEX);
        gpuc_arith_analyzer_bind(a->l->analyzer, vars[k], gpuc_int(ctx, 0), counts[k]);
        gpuc_expr at = gpuc_tir_is_const(counts[k], 1) ? gpuc_int(ctx, 0) : vars[k];
        at = gpuc_add(ctx, part[k].min, lines ? gpuc_mul(ctx, at, line) : at);
        if (lines) at = gpuc_min(ctx, at, part[k].max);
        a->index[k] = gpuc_arith_simplify(a->l->analyzer, at);
        keep_inside(a, k);
    }
    gpuc_stmt body = gpuc_te_emit_prefetch(ctx, a->place, ndim, a->index);
    for (size_t i = a->guards.count; i > 0; i--) body = gpuc_tir_if_(ctx, a->guards.at[i - 1], body, NULL);
    for (int k = ndim - 1; k >= 0; k--)
        if (!gpuc_tir_is_const(counts[k], 1))
            body = gpuc_tir_for_(ctx, vars[k], gpuc_int(ctx, 0), counts[k], GPUC_LOOP_SERIAL,
                                 GPUC_THREAD_NONE, body);
    return body;
}

static void check_loops(const gpuc_nest *n, int level)
{
    for (int i = 0; i <= level; i++) {
        const gpuc_nest_loop *loop = &n->loops[i];
        bool serial = loop->note.kind == GPUC_LOOP_SERIAL || loop->note.kind == GPUC_LOOP_UNROLLED;
        if (loop->note.kind == GPUC_LOOP_VECTORIZED || (i == level && !serial))
            gpuc_stage_fail(
                n->stage,
                "prefetch: '%s' is %s; it is asked for in serial and unrolled loops, outside of vectors",
                gpuc_schedule_iter_name(loop->iter),
                loop->note.kind == GPUC_LOOP_VECTORIZED ? "vectorized" : "parallel or bound");
    }
}

/* t is computed in the loop, just before it is read. */
static bool is_made_inside(const gpuc_lowering *l, const gpuc_nest *n, int level, const gpuc_tensor *t)
{
    const gpuc_nest *m = gpuc_map_get(&l->of_op, t->op);
    return m && m->parent == n && m->parent_loop >= level;
}

static gpuc_stmt prefetch(gpuc_lowering *l, const gpuc_nest *n, int level, const gpuc_prefetch *p)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_nest_loop *loop = &n->loops[level];
    const gpuc_tensor *t = gpuc_schedule_current(l->schedule, p->tensor);
    const gpuc_te_place *place = gpuc_map_get(&l->places, t);
    const char *name = gpuc_schedule_iter_name(loop->iter);
    check_loops(n, level);
    if (!place || !reads(n->op, t))
        gpuc_stage_fail(n->stage, "prefetch: it does not read '%s' at '%s' any more", t->name, name);
    if (is_made_inside(l, n, level, t))
        gpuc_stage_fail(
            n->stage,
            "prefetch: '%s' is computed in '%s', where the iterations ahead have none of it yet; compute "
            "it outside, or prefetch what it reads",
            t->name, name);
    if (place->buffer->scope != GPUC_SCOPE_GLOBAL)
        gpuc_stage_fail(n->stage, "prefetch: '%s' is in scope %s; what can be asked for is in global memory",
                        t->name, gpuc_scope_name(place->buffer->scope));
    if (loop->value != loop->var) return NULL; /* one iteration */
    gpuc_interval *part = gpuc_new_array(ctx, gpuc_interval, t->ndim);
    if (!gpuc_schedule_lowering_read_part(l, n, level, t, part))
        gpuc_stage_fail(n->stage, "prefetch: which part of '%s' an iteration of '%s' reads is not known",
                        t->name, name);
    gpuc_expr later = gpuc_add(ctx, loop->var, gpuc_int(ctx, p->offset));
    for (int k = 0; k < t->ndim; k++) {
        part[k].min = gpuc_tir_substitute(ctx, part[k].min, 1, &loop->var, &later);
        part[k].max = gpuc_tir_substitute(ctx, part[k].max, 1, &loop->var, &later);
    }
    ahead a = {.l = l, .place = place, .t = t, .index = gpuc_new_array(ctx, gpuc_expr, t->ndim)};
    gpuc_schedule_lowering_guard_threads(l, n, n->loops, level + 1, &a.guards);
    size_t mark =
        gpuc_arith_analyzer_mark(l->analyzer); /* that a loop of requests is not empty holds in it alone */
    gpuc_stmt body = request(&a, part);
    gpuc_arith_analyzer_rewind(l->analyzer, mark);
    return body;
}

void gpuc_schedule_lowering_prefetch(gpuc_lowering *l, gpuc_nest *n)
{
    for (int i = 0; i < n->num_loops; i++)
        for (const gpuc_prefetch *p = n->loops[i].note.prefetches; p; p = p->next)
            n->loops[i].ahead = gpuc_tir_seq2(l->ctx, prefetch(l, n, i, p), n->loops[i].ahead);
}
