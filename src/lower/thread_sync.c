/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the kernel in order with the accesses since the last barrier, and puts a barrier in front of the
 * first statement that conflicts with one of them. A loop whose body conflicts with its own next iteration
 * begins with a barrier. A statement that only some threads reach is treated as one; if it needs a barrier
 * inside, its guard is moved down so that the barrier is outside of the guard. In OpenCL the same is done for
 * conditions in loops that are equal for all threads: barriers under them are legal, but PoCL 3.1 runs such
 * kernels wrongly or forever. */
#include "lower/thread_sync/sync.h"

typedef struct syncer {
    gpuc_sync_checker c;
    const gpuc_tir_func *f;
    gpuc_map divergent; /* variables that differ between threads of a group */
    gpuc_ptrs guards;   /* conditions around, without loads */
    int barriers;       /* inserted so far */
    bool guarded;       /* the language allows barriers under a condition in an open loop */
} syncer;

static gpuc_stmt barrier(syncer *t)
{
    t->barriers++;
    return gpuc_tir_eval(t->c.ctx,
                         gpuc_tir_call(t->c.ctx, GPUC_INT32, GPUC_TIR_CALL_BARRIER, NULL, NULL, 0, NULL));
}

static bool is_barrier(gpuc_stmt s)
{
    if (s->kind != GPUC_STMT_EVAL) return false;
    gpuc_expr e = gpuc_as_eval(s)->value;
    return e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER;
}

/* ---- Divergence -------------------------------------------------------------------------------------- */

static bool same_in_group(gpuc_expr e, void *arg)
{
    const syncer *t = arg;
    if (e->kind == GPUC_EXPR_VAR) return !gpuc_map_has(&t->divergent, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        gpuc_scope scope = gpuc_as_load(e)->buffer->scope;
        return gpuc_scope_is_global(scope) || scope == GPUC_SCOPE_SHARED;
    }
    return e->kind != GPUC_EXPR_CALL || gpuc_tir_is_value(gpuc_as_call(e)->fn);
}

static bool is_uniform(syncer *t, gpuc_expr e)
{
    return gpuc_tir_visit(t->c.ctx, e, same_in_group, t);
}

/* ---- Accesses ---------------------------------------------------------------------------------------- */

typedef struct collector {
    syncer *t;
    gpuc_sync_list *list;
    gpuc_stmt store;
    gpuc_expr const *guards;
} collector;

static void collect(const gpuc_lower_access *access, void *arg)
{
    collector *k = arg;
    if (!gpuc_lower_is_shared(access->buffer)) return;
    gpuc_sync_access entry = {
        .buffer = access->buffer,
        .index = access->index,
        .store = access->write && !access->read ? k->store : NULL,
        .write = access->write,
        .atomic = access->atomic,
        .num_guards = (int)k->t->guards.count,
        .guards = k->guards,
    };
    gpuc_lower_sync_push(k->t->c.ctx, k->list, &entry);
}

static void collect_expr(syncer *t, gpuc_expr e, gpuc_sync_list *out)
{
    size_t n = t->guards.count;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return;
    collector k = {.t = t,
                   .list = out,
                   .guards = n ? gpuc_ctx_memdup(t->c.ctx, t->guards.at, n * sizeof(void *)) : NULL};
    gpuc_lower_expr_accesses(t->c.ctx, e, collect, &k);
}

static void collect_store(syncer *t, gpuc_stmt s, gpuc_sync_list *reads, gpuc_sync_list *writes)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    collect_expr(t, n->value, reads);
    collect_expr(t, n->index[0], reads);
    if (!gpuc_lower_is_shared(n->buffer)) return;
    gpuc_sync_access entry = {.buffer = n->buffer, .index = n->index[0], .store = s, .write = true};
    entry.num_guards = (int)t->guards.count;
    if (entry.num_guards > 0)
        entry.guards = gpuc_ctx_memdup(t->c.ctx, t->guards.at, t->guards.count * sizeof(void *));
    gpuc_lower_sync_push(t->c.ctx, writes, &entry);
}

static void append(syncer *t, gpuc_sync_list *to, const gpuc_sync_list *from)
{
    for (size_t i = 0; i < from->count; i++) gpuc_lower_sync_push(t->c.ctx, to, &from->at[i]);
}

static void push_guard(syncer *t, gpuc_expr cond)
{
    if (!(cond->flags & GPUC_TIR_HAS_LOAD)) gpuc_ptrs_push(t->c.ctx, &t->guards, cond);
}

static void note_bounds(syncer *t, const gpuc_tir_for_node *n)
{
    gpuc_bounds *b = gpuc_new(t->c.ctx, gpuc_bounds);
    *b = gpuc_arith_analyzer_bounds(t->c.a, n->var);
    gpuc_map_set(&t->c.bounds, n->var, b);
}

/* ---- The walk ---------------------------------------------------------------------------------------- */

/* The region since the last barrier, and what a statement adds: head is what it accesses before
 * its first barrier, tail after its last one; without a barrier in it, both are all that it accesses. */
typedef struct effect {
    gpuc_sync_list head, tail;
    bool has_barrier; /* that every path through it reaches */
} effect;

static gpuc_stmt walk(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, effect *out);

/* s follows pending; a barrier goes in front if it must. */
static gpuc_stmt simple(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, const gpuc_sync_list *own,
                        effect *out)
{
    out->tail = *own;
    if (!gpuc_lower_sync_conflict_lists(&t->c, pending, own, NULL, false)) {
        out->head = *own;
        return s;
    }
    out->has_barrier = true;
    return gpuc_tir_seq2(t->c.ctx, barrier(t), s);
}

/* A store that reads what it overwrites in other threads: all threads read into a variable, then a barrier,
 * then the store. */
static gpuc_stmt walk_store(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, effect *out)
{
    gpuc_ctx *ctx = t->c.ctx;
    gpuc_sync_list reads = {0}, writes = {0};
    collect_store(t, s, &reads, &writes);
    if (!gpuc_lower_sync_conflict_lists(&t->c, &reads, &writes, NULL, false)) {
        append(t, &reads, &writes);
        return simple(t, s, pending, &reads, out);
    }
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_expr v = gpuc_var(ctx, "v", n->value->dtype);
    gpuc_stmt store = gpuc_tir_seq2(ctx, barrier(t), gpuc_tir_store1(ctx, n->buffer, n->index[0], v));
    s = simple(t, gpuc_tir_let(ctx, v, n->value, store), pending, &reads, out);
    out->has_barrier = true;
    out->tail = writes;
    return s;
}

static gpuc_stmt walk_seq(syncer *t, const gpuc_tir_seq_node *n, const gpuc_sync_list *pending, effect *out)
{
    gpuc_stmt *at = gpuc_new_array(t->c.ctx, gpuc_stmt, n->n);
    gpuc_sync_list since = {0};
    append(t, &since, pending);
    bool same = true;
    for (int i = 0; i < n->n; i++) {
        effect e = {0};
        at[i] = walk(t, n->at[i], &since, &e);
        same = same && at[i] == n->at[i];
        if (!out->has_barrier) append(t, &out->head, &e.head);
        if (e.has_barrier) {
            out->has_barrier = true;
            since = e.tail;
            out->tail = e.tail;
        } else {
            append(t, &since, &e.tail);
            append(t, &out->tail, &e.tail);
        }
    }
    return same ? &n->base : gpuc_tir_seq(t->c.ctx, n->n, at);
}

/* Everything a statement accesses, when it is taken as one. */
static gpuc_stmt dry_walk(syncer *t, gpuc_stmt s, gpuc_sync_list *all, int *needed)
{
    gpuc_sync_list none = {0};
    effect e = {0};
    int before = t->barriers;
    gpuc_stmt r = walk(t, s, &none, &e);
    *needed = t->barriers - before + e.has_barrier;
    t->barriers = before;
    append(t, all, &e.head);
    append(t, all, &e.tail);
    return r;
}

static gpuc_lower_guard choose(gpuc_expr cond, gpuc_stmt s, void *arg)
{
    syncer *t = arg;
    gpuc_sync_list all = {0};
    size_t guards = t->guards.count;
    int needed;
    if (is_barrier(s)) return GPUC_LOWER_GUARD_NOT;
    push_guard(t, cond);
    dry_walk(t, s, &all, &needed);
    t->guards.count = guards;
    return needed > 0 ? GPUC_LOWER_GUARD_BELOW : GPUC_LOWER_GUARD_HERE;
}

static gpuc_stmt sink_if(syncer *t, const gpuc_tir_if_node *n)
{
    gpuc_ctx *ctx = t->c.ctx;
    if (!n->else_body) return gpuc_lower_sink_guard(ctx, n->cond, n->then_body, choose, t);
    gpuc_expr p = gpuc_var(ctx, "active", GPUC_BOOL);
    gpuc_lower_sync_let(&t->c, p, n->cond);
    gpuc_stmt then_body = gpuc_lower_sink_guard(ctx, p, n->then_body, choose, t);
    gpuc_stmt else_body = gpuc_lower_sink_guard(ctx, gpuc_not(ctx, p), n->else_body, choose, t);
    return gpuc_tir_let(ctx, p, n->cond, gpuc_tir_seq2(ctx, then_body, else_body));
}

static gpuc_stmt branch(syncer *t, gpuc_stmt s, gpuc_expr cond, const gpuc_sync_list *pending, effect *out)
{
    size_t guards = t->guards.count;
    push_guard(t, cond);
    if (s) s = walk(t, s, pending, out);
    t->guards.count = guards;
    return s;
}

static gpuc_stmt walk_if(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, effect *out)
{
    gpuc_ctx *ctx = t->c.ctx;
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    gpuc_sync_list own = {0}, none = {0};
    collect_expr(t, n->cond, &own);
    bool uniform = is_uniform(t, n->cond);
    if (!uniform || (!t->guarded && t->c.open.count > 0)) {
        int before = t->barriers;
        effect a = {0}, b = {0};
        branch(t, n->then_body, n->cond, &none, &a);
        branch(t, n->else_body, gpuc_not(ctx, n->cond), &none, &b);
        bool inside = t->barriers > before || a.has_barrier || b.has_barrier;
        t->barriers = before;
        if (inside) {
            gpuc_stmt sunk = sink_if(t, n);
            if (sunk->kind != GPUC_STMT_IF) return walk(t, sunk, pending, out);
            if (!uniform)
                gpuc_raise(
                    ctx, GPUC_UNSUPPORTED,
                    "kernel '%s': a statement that only some threads run reads and writes shared memory of "
                    "other threads; move its guard inside",
                    t->f->name);
        } else {
            append(t, &own, &a.head);
            append(t, &own, &b.head);
            return simple(t, s, pending, &own, out);
        }
    }
    effect a = {0}, b = {0}, e = {0};
    gpuc_sync_list since = {0};
    bool before = gpuc_lower_sync_conflict_lists(&t->c, pending, &own, NULL, false);
    if (!before) append(t, &since, pending);
    append(t, &since, &own);
    gpuc_stmt then_body = branch(t, n->then_body, n->cond, &since, &a);
    gpuc_stmt else_body = branch(t, n->else_body, gpuc_not(ctx, n->cond), &since, &b);
    if (then_body != n->then_body || else_body != n->else_body)
        s = gpuc_tir_if_(ctx, n->cond, then_body, else_body);
    append(t, &e.head, &own);
    append(t, &e.head, &a.head);
    append(t, &e.head, &b.head);
    append(t, &e.tail, &own);
    append(t, &e.tail, &a.tail);
    append(t, &e.tail, &b.tail);
    e.has_barrier = before || (a.has_barrier && b.has_barrier);
    if (before) e.head.count = 0;
    *out = e;
    return before ? gpuc_tir_seq2(ctx, barrier(t), s) : s;
}

/* The max number of iterations over all threads; NULL: not known. */
static gpuc_expr max_iterations(syncer *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->c.ctx;
    gpuc_map relax;
    gpuc_map_init(&relax, ctx);
    for (int i = 0; i < t->f->num_threads; i++) {
        const gpuc_tir_thread *th = &t->f->threads[i];
        gpuc_interval *r = gpuc_new(ctx, gpuc_interval);
        gpuc_expr one = gpuc_imm_int(ctx, th->extent->dtype, 1);
        if (!gpuc_is_thread_tag(th->tag)) continue;
        *r = (gpuc_interval){gpuc_imm_int(ctx, th->var->dtype, 0), gpuc_sub(ctx, th->extent, one)};
        gpuc_map_set(&relax, th->var, r);
    }
    gpuc_expr max = gpuc_arith_eval_interval(t->c.a, n->extent, &relax).max;
    if (max && gpuc_dtype_equal(max->dtype, n->extent->dtype) && is_uniform(t, max)) return max;
    int64_t bound = gpuc_arith_analyzer_bounds(t->c.a, n->extent).max;
    return bound > INT32_MAX ? NULL : gpuc_imm_int(ctx, n->extent->dtype, bound);
}

/* A loop with the same number of iterations for all threads; iterations that a thread does not need are
 * guarded. */
static gpuc_stmt uniform_loop(syncer *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->c.ctx;
    gpuc_expr max = max_iterations(t, n);
    if (!max)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': threads of a group run the loop over '%s' %s times, which differs between "
                   "them and has "
                   "no constant bound, and it needs barriers inside",
                   t->f->name, gpuc_as_var(n->var)->name, gpuc_expr_text(ctx, n->extent));
    gpuc_dtype type = n->var->dtype;
    gpuc_expr i = gpuc_lower_var_like(ctx, n->var), at = gpuc_add(ctx, n->min, i);
    gpuc_stmt body = gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &at);
    return gpuc_tir_for_(ctx, i, gpuc_imm_int(ctx, type, 0), max, n->loop, n->tag,
                         gpuc_tir_if_(ctx, gpuc_lt(ctx, i, n->extent), body, NULL));
}

static gpuc_stmt walk_body(syncer *t, const gpuc_tir_for_node *n, const gpuc_sync_list *pending, effect *out)
{
    size_t mark = gpuc_arith_analyzer_mark(t->c.a), open = t->c.open.count;
    gpuc_arith_analyzer_bind(t->c.a, n->var, n->min, n->extent);
    note_bounds(t, n);
    gpuc_ptrs_push(t->c.ctx, &t->c.open, n->var);
    gpuc_stmt body = walk(t, n->body, pending, out);
    t->c.open.count = open;
    gpuc_arith_analyzer_rewind(t->c.a, mark);
    return body;
}

/* Whether an iteration conflicts with a later one; with a barrier in each iteration, only the next one
 * matters. */
static bool carries(syncer *t, const gpuc_tir_for_node *n, const effect *e)
{
    size_t mark = gpuc_arith_analyzer_mark(t->c.a), open = t->c.open.count;
    gpuc_arith_analyzer_bind(t->c.a, n->var, n->min, n->extent);
    gpuc_ptrs_push(t->c.ctx, &t->c.open, n->var);
    bool r = gpuc_lower_sync_conflict_lists(&t->c, &e->tail, &e->head, n->var, e->has_barrier);
    t->c.open.count = open;
    gpuc_arith_analyzer_rewind(t->c.a, mark);
    return r;
}

static gpuc_stmt walk_for(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, effect *out)
{
    gpuc_ctx *ctx = t->c.ctx;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    gpuc_sync_list none = {0};
    effect e = {0};
    bool uniform = is_uniform(t, n->min) && is_uniform(t, n->extent);
    if (!uniform) gpuc_map_set(&t->divergent, n->var, (void *)n->var);
    int before = t->barriers;
    gpuc_stmt body = walk_body(t, n, &none, &e);
    bool carried = carries(t, n, &e);
    if (!uniform) {
        bool inside = t->barriers > before || e.has_barrier || carried;
        t->barriers = before;
        if (inside) return walk(t, uniform_loop(t, n), pending, out);
        return simple(t, s, pending, &e.head, out);
    }
    if (carried) body = gpuc_tir_seq2(ctx, barrier(t), body);
    if (body != n->body) s = gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    bool runs = gpuc_arith_analyzer_bounds(t->c.a, n->extent).min >= 1;
    out->tail = e.tail;
    if (carried) {
        out->has_barrier = runs;
        return s;
    }
    if (gpuc_lower_sync_conflict_lists(&t->c, pending, &e.head, NULL, false)) {
        out->has_barrier = true;
        return gpuc_tir_seq2(ctx, barrier(t), s);
    }
    out->head = e.head;
    out->has_barrier = e.has_barrier && runs;
    if (e.has_barrier && !runs) append(t, &out->tail, &e.head);
    return s;
}

static gpuc_stmt walk_let(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, effect *out)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    gpuc_sync_list own = {0}, since = {0};
    effect e = {0};
    if (!is_uniform(t, n->value)) gpuc_map_set(&t->divergent, n->var, (void *)n->var);
    gpuc_lower_sync_let(&t->c, n->var, n->value);
    collect_expr(t, n->value, &own);
    bool before = gpuc_lower_sync_conflict_lists(&t->c, pending, &own, NULL, false);
    if (!before) append(t, &since, pending);
    append(t, &since, &own);
    gpuc_stmt body = walk(t, n->body, &since, &e);
    if (body != n->body) s = gpuc_tir_let(t->c.ctx, n->var, n->value, body);
    if (!before) {
        append(t, &out->head, &own);
        append(t, &out->head, &e.head);
    }
    if (!e.has_barrier) append(t, &out->tail, &own);
    append(t, &out->tail, &e.tail);
    out->has_barrier = before || e.has_barrier;
    return before ? gpuc_tir_seq2(t->c.ctx, barrier(t), s) : s;
}

/* Treats an operation on cooperative matrices, the loops around its store, as one statement of all
 * threads. */
static void collect_operation(syncer *t, gpuc_stmt s, gpuc_sync_list *own)
{
    for (; s->kind == GPUC_STMT_FOR; s = gpuc_as_for(s)->body) {
        gpuc_arith_analyzer_bind(t->c.a, gpuc_as_for(s)->var, gpuc_as_for(s)->min, gpuc_as_for(s)->extent);
        note_bounds(t, gpuc_as_for(s));
    }
    collect_store(t, s, own, own);
}

static gpuc_stmt walk(syncer *t, gpuc_stmt s, const gpuc_sync_list *pending, effect *out)
{
    gpuc_ctx *ctx = t->c.ctx;
    gpuc_sync_list own = {0};
    gpuc_stmt body;
    switch (s->kind) {
    case GPUC_STMT_FOR: return walk_for(t, s, pending, out);
    case GPUC_STMT_STORE: return walk_store(t, s, pending, out);
    case GPUC_STMT_IF: return walk_if(t, s, pending, out);
    case GPUC_STMT_SEQ: return walk_seq(t, gpuc_as_seq(s), pending, out);
    case GPUC_STMT_LET: return walk_let(t, s, pending, out);
    case GPUC_STMT_EVAL:
        if (is_barrier(s)) {
            out->has_barrier = true;
            return s;
        }
        collect_expr(t, gpuc_as_eval(s)->value, &own);
        return simple(t, s, pending, &own, out);
    case GPUC_STMT_ALLOC:
        body = walk(t, gpuc_as_alloc(s)->body, pending, out);
        return body == gpuc_as_alloc(s)->body ? s : gpuc_tir_alloc(ctx, gpuc_as_alloc(s)->buffer, body);
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(s);
        if (gpuc_tir_is_coopmat(s)) {
            collect_operation(t, n->body, &own);
            return simple(t, s, pending, &own, out);
        }
        body = walk(t, n->body, pending, out);
        return body == n->body ? s : gpuc_tir_attr(ctx, n->key, n->text, n->value, n->reducer, body);
    }
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

static void find_shared(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_ALLOC && gpuc_lower_is_shared(gpuc_as_alloc(s)->buffer)) *(bool *)arg = true;
}

gpuc_tir_func *gpuc_lower_thread_sync(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    syncer t = {.c = {.ctx = ctx, .a = gpuc_lower_analyzer(ctx, f), .f = f},
                .f = f,
                .guarded = p->target->language->guarded_barriers};
    bool shared = false;
    if (!f->body) return f;
    gpuc_tir_visit_stmt(ctx, f->body, find_shared, NULL, &shared);
    gpuc_map_init(&t.c.bounds, ctx);
    gpuc_map_init(&t.c.lets, ctx);
    gpuc_map_init(&t.divergent, ctx);
    bool threads = false;
    for (int i = 0; i < f->num_threads; i++) {
        if (!gpuc_is_thread_tag(f->threads[i].tag)) continue;
        gpuc_map_set(&t.divergent, f->threads[i].var, (void *)f->threads[i].var);
        threads = true;
    }
    if (!shared || !threads) return f;
    gpuc_sync_list none = {0};
    effect e = {0};
    return gpuc_lower_with_body(ctx, f, walk(&t, f->body, &none, &e), f->stage);
}
