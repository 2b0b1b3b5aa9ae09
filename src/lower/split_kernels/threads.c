/* SPDX-License-Identifier: Apache-2.0 */
/* Thread loops of one root statement become launch dimensions. Loops with one tag, side by side or
 * nested, are the same dimension; its extent is the largest, and smaller ones are guarded. A store to
 * shared or device memory that does not depend on a dimension is done by its first thread only. */
#include "lower/split_kernels/split.h"

typedef struct threads {
    gpuc_tir_mapper m;
    gpuc_pass_ctx *p;
    gpuc_analyzer *a;
    const gpuc_tir_func *f, *k;
    gpuc_expr var[GPUC_THREAD_TAG_COUNT], extent[GPUC_THREAD_TAG_COUNT]; /* NULL: not used */
    gpuc_map masks;          /* variable -> tags that it depends on */
    uint32_t flow;           /* tags that decide whether the current statement runs */
    uint32_t around;         /* tags of loops around */
    int parallel;            /* parallel loops around */
    gpuc_thread_tag guarded; /* of the guard being sunk */
    gpuc_stmt unguarded;     /* the body of a name that has no guard: it has none either */
} threads;

enum { MAX_THREADS = 4096 }; /* a bound of a thread loop that is larger is not used as the size of a group */

/* ---- What the launch is ------------------------------------------------------------------------------- */

static bool launch_known(threads *t, gpuc_expr e)
{
    for (int i = 0; i < t->f->num_scalars; i++)
        if (t->f->scalars[i] == e) return true;
    return false;
}

static bool only_scalars(gpuc_expr e, void *arg)
{
    return e->kind != GPUC_EXPR_VAR || launch_known(arg, e);
}

static void enter_dimension(threads *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr extent = gpuc_arith_simplify(t->a, n->extent), *known = &t->extent[n->tag];
    bool variable = extent->flags & GPUC_TIR_HAS_LOAD || !gpuc_tir_visit(ctx, extent, only_scalars, t);
    if (extent->kind != GPUC_EXPR_INT && (variable || gpuc_is_thread_tag(n->tag))) {
        int64_t max = gpuc_arith_analyzer_bounds(t->a, extent).max;
        if (max <= (gpuc_is_thread_tag(n->tag) ? MAX_THREADS : INT32_MAX - 1)) extent = gpuc_int(ctx, max);
    }
    extent = gpuc_cast(ctx, GPUC_INDEX, extent);
    if (!*known)
        *known = extent;
    else if (*known != extent)
        *known = gpuc_arith_simplify(t->a, gpuc_max(ctx, *known, extent));
    if (!t->var[n->tag]) t->var[n->tag] = gpuc_var(ctx, gpuc_as_var(n->var)->name, GPUC_INDEX);
}

static gpuc_stmt find_dimensions(gpuc_tir_mapper *m, gpuc_stmt s)
{
    threads *t = (threads *)m;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    if (s->kind == GPUC_STMT_FOR && gpuc_as_for(s)->loop == GPUC_LOOP_THREAD)
        enter_dimension(t, gpuc_as_for(s));
    gpuc_lower_bind(t->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

static bool has_threads(const threads *t)
{
    for (int i = 0; i < GPUC_THREAD_TAG_COUNT; i++)
        if (t->var[i]) return true;
    return false;
}

static void find_vector(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_STORE && gpuc_as_store(s)->value->dtype.lanes > 1) *(bool *)arg = true;
}

static void find_common(gpuc_stmt s, void *arg)
{
    if (s->kind != GPUC_STMT_ALLOC) return;
    gpuc_scope scope = gpuc_as_alloc(s)->buffer->scope;
    *(bool *)arg |= scope == GPUC_SCOPE_SHARED || scope == GPUC_SCOPE_WARP || scope == GPUC_SCOPE_COOPMAT;
}

/* A parallel loop with no thread loop in the kernel: spread it over the device. A CPU that runs work-items
 * one by one makes vectors of groups of them, unless there are vectors in the loop already. An iteration that
 * has storage which a group shares is a group. */
static gpuc_stmt spread(threads *t, gpuc_stmt s)
{
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_target *target = t->p->target;
    if (s->kind != GPUC_STMT_FOR || gpuc_as_for(s)->loop != GPUC_LOOP_PARALLEL) return s;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    bool vectors = false;
    gpuc_tir_visit_stmt(ctx, n->body, find_vector, NULL, &vectors);
    bool common = false;
    gpuc_tir_visit_stmt(ctx, n->body, find_common, NULL, &common);
    int64_t size = common || (target->simd_lanes > 0 && vectors) ? 1 : 64;
    if (size > target->max_num_threads) size = target->max_num_threads;
    if (size > target->max_threads_x) size = target->max_threads_x;
    gpuc_dtype type = n->var->dtype;
    gpuc_expr b = gpuc_var(ctx, "b", type), zero = gpuc_imm_int(ctx, type, 0), at = b;
    if (size == 1) {
        at = gpuc_add(ctx, n->min, b);
        return gpuc_tir_for_(ctx, b, zero, n->extent, GPUC_LOOP_THREAD, GPUC_BLOCK_X,
                             gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &at));
    }
    gpuc_expr width = gpuc_imm_int(ctx, type, size), i = gpuc_var(ctx, "t", type);
    gpuc_expr groups =
        gpuc_floordiv_(ctx, gpuc_add(ctx, n->extent, gpuc_imm_int(ctx, type, size - 1)), width);
    gpuc_expr flat = gpuc_add(ctx, gpuc_mul(ctx, b, width), i);
    at = gpuc_add(ctx, n->min, flat);
    gpuc_stmt body = gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &at);
    gpuc_expr inside = gpuc_lt(ctx, flat, n->extent);
    body = gpuc_tir_for_(ctx, i, zero, width, GPUC_LOOP_THREAD, GPUC_THREAD_X,
                         gpuc_tir_if_(ctx, inside, body, NULL));
    return gpuc_tir_for_(ctx, b, zero, groups, GPUC_LOOP_THREAD, GPUC_BLOCK_X, body);
}

/* ---- What depends on which dimension ------------------------------------------------------------------ */

enum { ALL_TAGS = (1 << GPUC_THREAD_TAG_COUNT) - 1 };

typedef struct mask_visit {
    threads *t;
    uint32_t mask;
} mask_visit;

static bool add_mask(gpuc_expr e, void *arg)
{
    mask_visit *v = arg;
    if (e->kind == GPUC_EXPR_VAR)
        v->mask |= (uint32_t)(uintptr_t)gpuc_map_get(&v->t->masks, e);
    else if (e->kind == GPUC_EXPR_LOAD && gpuc_as_load(e)->buffer->scope >= GPUC_SCOPE_SHARED)
        v->mask = ALL_TAGS;
    else if (e->kind == GPUC_EXPR_CALL && !gpuc_tir_is_value(gpuc_as_call(e)->fn))
        v->mask = ALL_TAGS;
    return true;
}

static uint32_t mask_of(threads *t, gpuc_expr e)
{
    mask_visit v = {.t = t};
    if (e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_LOAD) || e->kind == GPUC_EXPR_CALL)
        gpuc_tir_visit(t->m.ctx, e, add_mask, &v);
    return v.mask;
}

static void set_mask(threads *t, gpuc_expr var, uint32_t mask)
{
    gpuc_map_set(&t->masks, var, (void *)(uintptr_t)mask);
}

static bool is_single(const threads *t, int tag)
{
    return !t->extent[tag] || gpuc_tir_is_const(t->extent[tag], 1);
}

/* ---- Rewriting --------------------------------------------------------------------------------------- */

typedef struct open_search {
    gpuc_thread_tag tag;
    bool open;
} open_search;

static void find_open(gpuc_stmt s, void *arg)
{
    open_search *o = arg;
    if (s->kind == GPUC_STMT_FOR && gpuc_as_for(s)->tag == o->tag) o->open = true;
    if (gpuc_lower_is_allreduce(s)) o->open = true;
    if (s->kind == GPUC_STMT_EVAL && gpuc_as_eval(s)->value->kind == GPUC_EXPR_CALL &&
        gpuc_as_call(gpuc_as_eval(s)->value)->fn == GPUC_TIR_CALL_BARRIER)
        o->open = true;
}

/* The guard of a loop does not hold for loops of the same dimension inside of it, and stays out of what all
 * threads must reach. */
static gpuc_lower_guard choose_guard(gpuc_expr cond, gpuc_stmt s, void *arg)
{
    (void)cond;
    threads *t = arg;
    if (s->kind == GPUC_STMT_FOR && gpuc_as_for(s)->tag == t->guarded) return GPUC_LOWER_GUARD_NOT;
    open_search o = {.tag = t->guarded};
    gpuc_tir_visit_stmt(t->m.ctx, s, find_open, NULL, &o);
    if (!o.open) return GPUC_LOWER_GUARD_HERE;
    return s->kind == GPUC_STMT_EVAL ? GPUC_LOWER_GUARD_NOT : GPUC_LOWER_GUARD_BELOW;
}

static gpuc_stmt split_thread_loop(threads *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr var = is_single(t, n->tag) ? gpuc_int(ctx, 0) : t->var[n->tag];
    gpuc_expr local = gpuc_cast(ctx, n->var->dtype, var), at = gpuc_add(ctx, n->min, local);
    gpuc_stmt body = gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &at);
    gpuc_expr inside = gpuc_arith_simplify(t->a, gpuc_lt(ctx, local, n->extent));
    if (!gpuc_tir_is_const(inside, 1)) {
        t->guarded = n->tag;
        body = gpuc_lower_sink_guard(ctx, inside, body, choose_guard, t);
    }
    uint32_t around = t->around;
    t->around |= 1u << n->tag;
    body = gpuc_tir_map_stmt(&t->m, body);
    t->around = around;
    return body;
}

static gpuc_stmt split_loop(threads *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    uint32_t flow = t->flow, mask = mask_of(t, n->min) | mask_of(t, n->extent);
    gpuc_loop_kind kind = n->loop;
    bool outer = kind == GPUC_LOOP_PARALLEL && !t->p->target->language->work_groups && t->parallel == 0 &&
                 !has_threads(t);
    if (kind == GPUC_LOOP_PARALLEL && !outer) kind = GPUC_LOOP_SERIAL;
    set_mask(t, n->var, mask);
    t->flow |= mask;
    t->parallel += n->loop == GPUC_LOOP_PARALLEL;
    gpuc_arith_analyzer_bind(t->a, n->var, n->min, n->extent);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    t->parallel -= n->loop == GPUC_LOOP_PARALLEL;
    t->flow = flow;
    if (body == n->body && kind == n->loop) return &n->base;
    return gpuc_tir_for_(ctx, n->var, n->min, n->extent, kind, GPUC_THREAD_NONE, body);
}

/* The condition that all dimensions from `from` on that are not in mask are at their first thread; NULL:
 * true. */
static gpuc_expr first_of(threads *t, uint32_t mask, int from)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr cond = NULL;
    for (int tag = from; tag < GPUC_VTHREAD; tag++) {
        if (mask & 1u << tag || is_single(t, tag)) continue;
        gpuc_expr first = gpuc_eq(ctx, t->var[tag], gpuc_int(ctx, 0));
        cond = cond ? gpuc_and(ctx, cond, first) : first;
    }
    return cond;
}

static gpuc_stmt guarded_by(threads *t, gpuc_expr cond, gpuc_stmt s)
{
    return cond ? gpuc_tir_if_(t->m.ctx, cond, s, NULL) : s;
}

static gpuc_stmt by_first(threads *t, gpuc_stmt s, uint32_t mask, int from)
{
    return guarded_by(t, first_of(t, mask, from), s);
}

static bool is_private(const gpuc_tir_buffer *b)
{
    return b->scope == GPUC_SCOPE_LOCAL || b->scope == GPUC_SCOPE_WARP || b->scope == GPUC_SCOPE_COOPMAT;
}

/* Dimensions that are reduced over need no guard here: thread_allreduce handles them. */
static gpuc_stmt split_allreduce(threads *t, gpuc_stmt s)
{
    gpuc_lower_allreduce a = gpuc_lower_allreduce_of(gpuc_as_attr(s));
    const gpuc_tir_store_node *st = gpuc_lower_allreduce_store(&a, 0);
    if (is_private(st->buffer)) return s;
    uint32_t mask = t->flow | mask_of(t, st->index[0]);
    if (a.cond) mask |= mask_of(t, a.cond);
    for (int tag = GPUC_THREAD_X; tag < GPUC_VTHREAD; tag++)
        if (gpuc_lower_names_tag(a.attr->text, (gpuc_thread_tag)tag)) mask |= 1u << tag;
    gpuc_expr first = first_of(t, mask, gpuc_lower_is_shared(st->buffer) ? GPUC_THREAD_X : GPUC_BLOCK_X);
    if (!first) return s;
    return gpuc_lower_allreduce_make(t->m.ctx, &a, a.cond ? gpuc_and(t->m.ctx, a.cond, first) : first, NULL);
}

/* Statements that are reached, or not, as one. */
typedef struct region {
    threads *t;
    gpuc_map inside; /* private buffers that live in it */
    gpuc_expr cond;  /* the guard of all that it stores for others; NULL: it has stored nothing yet */
} region;

static bool guards_store(region *r, gpuc_stmt s)
{
    threads *t = r->t;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    if (is_private(n->buffer)) return gpuc_map_has(&r->inside, n->buffer);
    int from = gpuc_lower_is_shared(n->buffer) ? GPUC_THREAD_X : GPUC_BLOCK_X;
    gpuc_expr cond = first_of(t, t->flow | mask_of(t, n->index[0]), from);
    if (!cond || (r->cond && r->cond != cond)) return false;
    r->cond = cond;
    return true;
}

/* Whether one guard is right for the whole of s. */
static bool guards(region *r, gpuc_stmt s)
{
    threads *t = r->t;
    uint32_t flow = t->flow;
    bool ok = true;
    switch (s->kind) {
    case GPUC_STMT_STORE: return guards_store(r, s);
    case GPUC_STMT_LET:
        set_mask(t, gpuc_as_let(s)->var, mask_of(t, gpuc_as_let(s)->value));
        return guards(r, gpuc_as_let(s)->body);
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n && ok; i++) ok = guards(r, gpuc_as_seq(s)->at[i]);
        return ok;
    case GPUC_STMT_ALLOC:
        gpuc_map_set(&r->inside, gpuc_as_alloc(s)->buffer, r);
        return gpuc_as_alloc(s)->buffer->scope == GPUC_SCOPE_LOCAL && guards(r, gpuc_as_alloc(s)->body);
    case GPUC_STMT_IF:
        t->flow |= mask_of(t, gpuc_as_if(s)->cond);
        ok = guards(r, gpuc_as_if(s)->then_body) &&
             (!gpuc_as_if(s)->else_body || guards(r, gpuc_as_if(s)->else_body));
        break;
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        uint32_t mask = mask_of(t, n->min) | mask_of(t, n->extent);
        if (n->loop == GPUC_LOOP_THREAD || n->loop == GPUC_LOOP_PARALLEL) return false;
        set_mask(t, n->var, mask);
        t->flow |= mask;
        ok = guards(r, n->body);
        break;
    }
    case GPUC_STMT_ATTR:
        return !gpuc_lower_is_allreduce(s) && !gpuc_tir_is_coopmat(s) && guards(r, gpuc_as_attr(s)->body);
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: return false;
    }
    t->flow = flow;
    return ok;
}

/* The guard of a store, or of all that is done for stores: what is loaded for them is loaded by who stores. NULL: none,
 * or not one for all. */
static gpuc_expr guard_of(threads *t, gpuc_stmt s)
{
    region r = {.t = t};
    gpuc_map_init(&r.inside, t->m.ctx);
    return guards(&r, s) ? r.cond : NULL;
}

static gpuc_stmt split_eval(threads *t, gpuc_stmt s)
{
    gpuc_expr e = gpuc_as_eval(s)->value;
    if (e->kind != GPUC_EXPR_CALL || !gpuc_as_call(e)->buffer) return s;
    return by_first(t, s, t->flow | t->around | mask_of(t, gpuc_as_call(e)->args[0]), GPUC_BLOCK_X);
}

/* An operation on cooperative matrices: the threads along x compute it together, without a guard. */
static gpuc_stmt split_coopmat(threads *t, gpuc_stmt s)
{
    gpuc_tir_coopmat m;
    if (gpuc_tir_coopmat_of(t->m.ctx, gpuc_as_attr(s), &m) || is_private(m.store->buffer)) return s;
    int from = gpuc_lower_is_shared(m.store->buffer) ? GPUC_THREAD_X : GPUC_BLOCK_X;
    return by_first(t, s, t->flow | mask_of(t, m.store->index[0]) | 1u << GPUC_THREAD_X, from);
}

static gpuc_stmt split_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    threads *t = (threads *)m;
    uint32_t flow = t->flow;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    switch (s->kind) {
    case GPUC_STMT_FOR:
        s = gpuc_as_for(s)->loop == GPUC_LOOP_THREAD ? split_thread_loop(t, gpuc_as_for(s))
                                                     : split_loop(t, gpuc_as_for(s));
        break;
    case GPUC_STMT_STORE: return guarded_by(t, guard_of(t, s), s);
    case GPUC_STMT_EVAL: return split_eval(t, s);
    case GPUC_STMT_IF:
        t->flow |= mask_of(t, gpuc_as_if(s)->cond);
        s = gpuc_tir_map_stmt_children(m, s);
        break;
    case GPUC_STMT_LET: {
        gpuc_expr cond = s == t->unguarded ? NULL : guard_of(t, s);
        if (cond) return guarded_by(t, cond, s);
        t->unguarded = gpuc_as_let(s)->body;
        gpuc_lower_bind(t->a, s);
        s = gpuc_tir_map_stmt_children(m, s);
        break;
    }
    case GPUC_STMT_ATTR:
        if (gpuc_lower_is_allreduce(s)) return split_allreduce(t, s);
        if (gpuc_tir_is_coopmat(s)) return split_coopmat(t, s);
        return gpuc_tir_map_stmt_children(m, s);
    case GPUC_STMT_ALLOC: {
        gpuc_expr cond = guard_of(t, s);
        return cond ? guarded_by(t, cond, s) : gpuc_tir_map_stmt_children(m, s);
    }
    case GPUC_STMT_SEQ: return gpuc_tir_map_stmt_children(m, s);
    case GPUC_STMT_KIND_COUNT: break;
    }
    t->flow = flow;
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

static void list_threads(threads *t, gpuc_tir_func *k)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_tir_thread *list = gpuc_new_array(ctx, gpuc_tir_thread, GPUC_THREAD_TAG_COUNT);
    for (int tag = GPUC_BLOCK_X; tag < GPUC_VTHREAD; tag++)
        if (!is_single(t, tag))
            list[k->num_threads++] = (gpuc_tir_thread){(gpuc_thread_tag)tag, t->var[tag], t->extent[tag]};
    k->threads = list;
}

void gpuc_lower_split_threads(gpuc_pass_ctx *p, const gpuc_tir_func *f, gpuc_tir_func *k, gpuc_stmt root,
                              gpuc_ptrs *workspaces)
{
    threads t = {.p = p, .f = f, .k = k, .a = gpuc_lower_analyzer(p->ctx, f)};
    gpuc_map_init(&t.masks, p->ctx);
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, find_dimensions);
    gpuc_tir_map_stmt(&t.m, root);
    if (!has_threads(&t) && p->target->language->work_groups) {
        root = spread(&t, root);
        gpuc_tir_map_stmt(&t.m, root);
    }
    root = gpuc_lower_split_storage(p, f, k->name, root, workspaces);
    if (t.var[GPUC_VTHREAD])
        gpuc_raise(p->ctx, GPUC_INTERNAL, "kernel '%s': a vthread loop is left; run the vthread pass first",
                   k->name);
    list_threads(&t, k);
    for (int i = 0; i < k->num_threads; i++) {
        set_mask(&t, k->threads[i].var, 1u << k->threads[i].tag);
        gpuc_arith_analyzer_bind(t.a, k->threads[i].var, gpuc_int(p->ctx, 0), k->threads[i].extent);
    }
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, split_stmt);
    k->body = gpuc_tir_map_stmt(&t.m, root);
}
