/* SPDX-License-Identifier: Apache-2.0 */
/* Walks with explicit stacks: a graph may be as deep as it has nodes. */
#include <string.h>

#include "relay/infer.h"
#include "relay/relay.h"

/* Child number i, or NULL after the last. Parameters and bound variables come before what uses them. */
static gpuc_rexpr *child(const gpuc_rexpr *e, int i, bool into_functions)
{
    switch (e->kind) {
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR: return NULL;
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        return i == 0 ? c->callee : i <= c->n ? c->args[i - 1] : NULL;
    }
    case GPUC_REXPR_TUPLE: {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        return i < t->n ? t->fields[i] : NULL;
    }
    case GPUC_REXPR_GET: return i == 0 ? gpuc_as_rget(e)->tuple : NULL;
    case GPUC_REXPR_LET: {
        const gpuc_rlet *l = gpuc_as_rlet(e);
        return i == 0 ? l->value : i == 1 ? l->var : i == 2 ? l->body : NULL;
    }
    case GPUC_REXPR_FUNCTION: {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        if (!into_functions) return NULL;
        return i < f->n ? f->params[i] : i == f->n ? f->body : NULL;
    }
    case GPUC_REXPR_IF: {
        const gpuc_rif *f = gpuc_as_rif(e);
        return i == 0 ? f->cond : i == 1 ? f->then_branch : i == 2 ? f->else_branch : NULL;
    }
    case GPUC_REXPR_MATCH: {
        const gpuc_rmatch *m = gpuc_as_rmatch(e);
        return i == 0 ? m->value : i <= m->n ? m->clauses[i - 1].body : NULL;
    }
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return NULL;
}

gpuc_rexpr *gpuc_relay_operand(const gpuc_rexpr *e, int i)
{
    return child(e, i, true);
}

gpuc_rexpr *gpuc_relay_child(const gpuc_rexpr *e, int i)
{
    return child(e, i, false);
}

typedef struct frame {
    gpuc_rexpr *e;
    int next;
} frame;

void gpuc_relay_walk_post_order(gpuc_ctx *ctx, gpuc_rexpr *root, const gpuc_relay_walk *w, gpuc_ptrs *out)
{
    gpuc_map seen;
    gpuc_map_init(&seen, ctx);
    size_t capacity = 0, depth = 0;
    frame *stack = gpuc_ctx_grow(ctx, NULL, 0, &capacity, sizeof *stack);
    gpuc_map_set(&seen, root, root);
    stack[depth++] = (frame){root, 0};
    while (depth) {
        frame *top = &stack[depth - 1];
        gpuc_rexpr *c = w->child(top->e, top->next++, w->arg);
        if (!c) {
            gpuc_ptrs_push(ctx, out, top->e);
            depth--;
        } else if ((!w->enters || w->enters(c, w->arg)) && !gpuc_map_has(&seen, c)) {
            gpuc_map_set(&seen, c, c);
            stack = gpuc_ctx_grow(ctx, stack, depth, &capacity, sizeof *stack);
            stack[depth++] = (frame){c, 0};
        }
    }
}

typedef struct below {
    const gpuc_rexpr *root;
    bool into_functions;
} below;

static gpuc_rexpr *child_below(const gpuc_rexpr *e, int i, void *arg)
{
    const below *b = arg;
    return child(e, i, b->into_functions || e == b->root);
}

void gpuc_relay_post_order(gpuc_ctx *ctx, gpuc_rexpr *root, bool into_functions, gpuc_ptrs *out)
{
    gpuc_relay_walk w = {.child = child_below, .arg = &(below){root, into_functions}};
    gpuc_relay_walk_post_order(ctx, root, &w, out);
}

void gpuc_relay_mark_source(gpuc_ctx *ctx, gpuc_rexpr *root, uint32_t first_id, const char *source)
{
    gpuc_ptrs stack = {0};
    if (!*source) return;
    source = gpuc_ctx_strdup(ctx, source);
    gpuc_ptrs_push(ctx, &stack, root);
    while (stack.count) {
        gpuc_rexpr *e = stack.at[--stack.count], *c;
        if (e->id < first_id || (*e->source && e != root)) continue;
        if (!*e->source) e->source = source;
        for (int i = 0; (c = child(e, i, false)); i++) gpuc_ptrs_push(ctx, &stack, c);
    }
}

typedef struct rewriter {
    gpuc_ctx *ctx;
    gpuc_map done; /* old -> new */
    bool changed;
} rewriter;

static gpuc_rexpr *get(rewriter *r, gpuc_rexpr *old)
{
    if (!old) return NULL;
    gpuc_rexpr *e = gpuc_map_get(&r->done, old);
    if (!e) e = old;
    r->changed |= e != old;
    return e;
}

static gpuc_rexpr *const *get_list(rewriter *r, int n, gpuc_rexpr *const *at)
{
    gpuc_rexpr **list = gpuc_new_array(r->ctx, gpuc_rexpr *, n);
    for (int i = 0; i < n; i++) list[i] = get(r, at[i]);
    return list;
}

static gpuc_rexpr *rebuild_match(rewriter *r, gpuc_rexpr *e)
{
    const gpuc_rmatch *m = gpuc_as_rmatch(e);
    gpuc_rexpr *value = get(r, m->value);
    gpuc_rclause *clauses = gpuc_ctx_memdup(r->ctx, m->clauses, sizeof *clauses * (size_t)m->n);
    for (int i = 0; i < m->n; i++) clauses[i].body = get(r, clauses[i].body);
    return r->changed ? gpuc_relay_match(r->ctx, value, m->n, clauses, m->partial) : e;
}

static gpuc_rexpr *rebuild(rewriter *r, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = r->ctx;
    r->changed = false;
    switch (e->kind) {
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR: return e;
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        gpuc_rexpr *callee = get(r, c->callee);
        gpuc_rexpr *const *args = get_list(r, c->n, c->args);
        if (!r->changed) return e;
        gpuc_rexpr *call = gpuc_relay_call(ctx, callee, c->attrs, c->n, args);
        ((gpuc_rcall *)call)->num_type_args = c->num_type_args;
        ((gpuc_rcall *)call)->type_args = c->type_args;
        return call;
    }
    case GPUC_REXPR_TUPLE: {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        gpuc_rexpr *const *fields = get_list(r, t->n, t->fields);
        return r->changed ? gpuc_relay_tuple(ctx, t->n, fields) : e;
    }
    case GPUC_REXPR_GET: {
        const gpuc_rget *g = gpuc_as_rget(e);
        gpuc_rexpr *tuple = get(r, g->tuple);
        return r->changed ? gpuc_relay_get(ctx, tuple, g->index) : e;
    }
    case GPUC_REXPR_LET: {
        const gpuc_rlet *l = gpuc_as_rlet(e);
        gpuc_rexpr *var = get(r, l->var), *value = get(r, l->value), *body = get(r, l->body);
        return r->changed ? gpuc_relay_let(ctx, var, value, body) : e;
    }
    case GPUC_REXPR_FUNCTION: {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        gpuc_rexpr *const *params = get_list(r, f->n, f->params);
        gpuc_rexpr *body = get(r, f->body);
        return r->changed ? gpuc_relay_function_with(ctx, f, params, body) : e;
    }
    case GPUC_REXPR_IF: {
        const gpuc_rif *f = gpuc_as_rif(e);
        gpuc_rexpr *cond = get(r, f->cond), *a = get(r, f->then_branch), *b = get(r, f->else_branch);
        return r->changed ? gpuc_relay_if(ctx, cond, a, b) : e;
    }
    case GPUC_REXPR_MATCH: return rebuild_match(r, e);
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return e;
}

/* Functions that were made of a group of operators, or for another compiler, stay as they are. */
static gpuc_rexpr *child_to_rewrite(const gpuc_rexpr *e, int i, void *root)
{
    const gpuc_attrs *attrs = e->kind == GPUC_REXPR_FUNCTION ? gpuc_as_rfunction(e)->attrs : NULL;
    bool whole = gpuc_attrs_find(attrs, "primitive") || gpuc_attrs_find(attrs, "compiler");
    return child(e, i, e == root || !whole);
}

gpuc_rexpr *gpuc_relay_rewrite(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_rewrite_fn rewrite, void *arg)
{
    gpuc_ptrs order = {0};
    gpuc_relay_walk walk = {.child = child_to_rewrite, .arg = root};
    gpuc_relay_walk_post_order(ctx, root, &walk, &order);
    rewriter r = {.ctx = ctx};
    gpuc_map_init(&r.done, ctx);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *old = order.at[i], *e = rebuild(&r, old);
        if (e != old) {
            gpuc_relay_with_source(ctx, e, old->source);
            if (!e->span.text) e->span = old->span;
            if (!e->type) gpuc_relay_infer_node(ctx, NULL, e);
        }
        uint32_t first_id = ctx->next_id;
        gpuc_rexpr *new = rewrite ? rewrite(ctx, old, e, arg) : e;
        if (new != e) gpuc_relay_mark_source(ctx, new, first_id, e->source);
        if (new != old) gpuc_map_set(&r.done, old, new);
    }
    gpuc_rexpr *result = gpuc_map_get(&r.done, root);
    return result ? result : root;
}
