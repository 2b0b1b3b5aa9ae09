/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers, and large local ones, of one element type share memory when their lifetimes do not meet. A
 * lifetime is a stretch of the kernel's text from first to last access; an access in a loop that lies inside
 * of the allocation covers the whole loop. What is allocated in a parallel loop stays there, since each
 * iteration needs its own. */
#include <stdlib.h>

#include "lower/common/util.h"

enum { LOCAL_BYTES = 1024 }; /* smaller local arrays are registers */

typedef struct lifetime {
    const gpuc_tir_buffer *buffer;
    int64_t count;
    int first, last; /* positions in the text; first 0: never accessed */
    int depth;       /* loops around the allocation */
    gpuc_stmt home;  /* the innermost parallel loop around it, or NULL */
    int group;
} lifetime;

typedef struct planner {
    gpuc_ctx *ctx;
    gpuc_map lives; /* buffer -> lifetime */
    gpuc_ptrs order;
    gpuc_ptrs loops; /* around the current place: lists of lifetimes to stretch */
    gpuc_stmt home;
    int position;
} planner;

static bool takes_part(const gpuc_tir_buffer *b)
{
    int64_t count;
    if (!gpuc_lower_const_size(b, &count)) return false;
    return gpuc_lower_is_shared(b) ||
           (b->scope == GPUC_SCOPE_LOCAL && count * (int64_t)gpuc_dtype_bytes(b->dtype) > LOCAL_BYTES);
}

static void touch(const gpuc_lower_access *access, void *arg)
{
    planner *p = arg;
    lifetime *l = gpuc_map_get(&p->lives, access->buffer);
    if (!l) return;
    if (l->first == 0) l->first = p->position;
    l->last = p->position;
    for (size_t i = (size_t)l->depth; i < p->loops.count; i++) gpuc_ptrs_push(p->ctx, p->loops.at[i], l);
}

static void touch_expr(planner *p, gpuc_expr e)
{
    gpuc_lower_expr_accesses(p->ctx, e, touch, p);
}

static void plan(planner *p, gpuc_stmt s);

static void plan_loop(planner *p, const gpuc_tir_for_node *n)
{
    gpuc_ptrs inside = {0};
    touch_expr(p, n->min);
    touch_expr(p, n->extent);
    int start = ++p->position;
    gpuc_ptrs_push(p->ctx, &p->loops, &inside);
    gpuc_stmt home = p->home;
    if (n->loop == GPUC_LOOP_PARALLEL) p->home = &n->base;
    plan(p, n->body);
    p->home = home;
    p->loops.count--;
    int end = ++p->position;
    for (size_t i = 0; i < inside.count; i++) {
        lifetime *l = inside.at[i];
        if (l->first > start) l->first = start;
        l->last = end;
    }
}

static void plan(planner *p, gpuc_stmt s)
{
    if (!s) return;
    p->position++;
    switch (s->kind) {
    case GPUC_STMT_FOR: plan_loop(p, gpuc_as_for(s)); return;
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        touch_expr(p, n->index[0]);
        touch_expr(p, n->value);
        gpuc_lower_access access = {.buffer = n->buffer, .write = true};
        touch(&access, p);
        return;
    }
    case GPUC_STMT_IF:
        touch_expr(p, gpuc_as_if(s)->cond);
        plan(p, gpuc_as_if(s)->then_body);
        plan(p, gpuc_as_if(s)->else_body);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) plan(p, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC: {
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        if (takes_part(b)) {
            lifetime *l = gpuc_new(p->ctx, lifetime);
            *l = (lifetime){.buffer = b, .depth = (int)p->loops.count, .home = p->home, .group = -1};
            gpuc_lower_const_size(b, &l->count);
            gpuc_map_set(&p->lives, b, l);
            gpuc_ptrs_push(p->ctx, &p->order, l);
        }
        plan(p, gpuc_as_alloc(s)->body);
        return;
    }
    case GPUC_STMT_LET:
        touch_expr(p, gpuc_as_let(s)->value);
        plan(p, gpuc_as_let(s)->body);
        return;
    case GPUC_STMT_EVAL: touch_expr(p, gpuc_as_eval(s)->value); return;
    case GPUC_STMT_ATTR: plan(p, gpuc_as_attr(s)->body); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

/* ---- Groups: large buffers first, each joins the first group that it does not meet ----------------------- */

static int larger_first(const void *pa, const void *pb)
{
    const lifetime *a = *(lifetime *const *)pa, *b = *(lifetime *const *)pb;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->buffer->id < b->buffer->id ? -1 : a->buffer->id > b->buffer->id;
}

static bool can_join(const lifetime *a, const lifetime *b)
{
    bool apart = a->first == 0 || b->first == 0 || a->last < b->first || b->last < a->first;
    return apart && a->home == b->home && a->buffer->scope == b->buffer->scope &&
           gpuc_dtype_equal(a->buffer->dtype, b->buffer->dtype);
}

static int make_groups(gpuc_ptrs *list)
{
    int groups = 0;
    if (list->count > 1) qsort(list->at, list->count, sizeof *list->at, larger_first);
    for (size_t i = 0; i < list->count; i++) {
        lifetime *l = list->at[i];
        for (int g = 0; g < groups && l->group < 0; g++) {
            bool fits = true;
            for (size_t j = 0; fits && j < i; j++) {
                const lifetime *other = list->at[j];
                fits = other->group != g || can_join(l, other);
            }
            if (fits) l->group = g;
        }
        if (l->group < 0) l->group = groups++;
    }
    return groups;
}

/* ---- Rewriting ------------------------------------------------------------------------------------------- */

typedef struct renamer {
    gpuc_tir_mapper m;
    gpuc_map to; /* buffer -> the one that stands for its group */
    const lifetime **heads;
    int groups;
} renamer;

static gpuc_stmt allocate(const renamer *r, gpuc_stmt home, gpuc_stmt body)
{
    for (int g = r->groups; g-- > 0;)
        if (r->heads[g]->home == home) body = gpuc_tir_alloc(r->m.ctx, r->heads[g]->buffer, body);
    return body;
}

static gpuc_expr rename_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    renamer *r = (renamer *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    const gpuc_tir_buffer *to;
    if (e->kind == GPUC_EXPR_LOAD && (to = gpuc_map_get(&r->to, gpuc_as_load(e)->buffer)))
        return gpuc_tir_load1(m->ctx, to, gpuc_as_load(e)->index[0]);
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer &&
        (to = gpuc_map_get(&r->to, gpuc_as_call(e)->buffer))) {
        const gpuc_tir_call_node *n = gpuc_as_call(e);
        return gpuc_tir_call(m->ctx, e->dtype, n->fn, n->name, to, n->n, n->args);
    }
    return e;
}

static gpuc_stmt rename_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    renamer *r = (renamer *)m;
    const gpuc_tir_buffer *to;
    if (s->kind == GPUC_STMT_ALLOC && gpuc_map_has(&r->to, gpuc_as_alloc(s)->buffer))
        return gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body);
    if (s->kind == GPUC_STMT_FOR && gpuc_as_for(s)->loop == GPUC_LOOP_PARALLEL) {
        gpuc_stmt loop = gpuc_tir_map_stmt_children(m, s);
        const gpuc_tir_for_node *n = gpuc_as_for(loop);
        gpuc_stmt body = allocate(r, s, n->body);
        return body == n->body ? loop
                               : gpuc_tir_for_(m->ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    }
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE || !(to = gpuc_map_get(&r->to, gpuc_as_store(s)->buffer))) return s;
    return gpuc_tir_store1(m->ctx, to, gpuc_as_store(s)->index[0], gpuc_as_store(s)->value);
}

gpuc_tir_func *gpuc_lower_storage_reuse(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    planner pl = {.ctx = ctx};
    gpuc_map_init(&pl.lives, ctx);
    plan(&pl, f->body);
    int groups = make_groups(&pl.order);
    if ((size_t)groups == pl.order.count) return f;
    renamer r;
    gpuc_tir_mapper_init(&r.m, ctx, rename_expr, rename_stmt);
    gpuc_map_init(&r.to, ctx);
    r.groups = groups;
    r.heads = gpuc_new_array(ctx, const lifetime *, groups);
    for (size_t i = 0; i < pl.order.count; i++) { /* the first of a group is its largest */
        const lifetime *l = pl.order.at[i];
        if (!r.heads[l->group]) r.heads[l->group] = l;
        gpuc_map_set(&r.to, l->buffer, (void *)r.heads[l->group]->buffer);
    }
    gpuc_stmt body = allocate(&r, NULL, gpuc_tir_map_stmt(&r.m, f->body));
    return gpuc_lower_with_body(ctx, f, body, f->stage);
}
