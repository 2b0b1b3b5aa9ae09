/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites expressions: what a node's parts became is kept by node, so that what was shared stays shared, and a variable is
 * the same where it is bound and where it is used. */
#include "relay/infer.h"

typedef struct rewriter {
    gpuc_ctx *ctx;
    gpuc_relay_rewrite_fn rewrite; /* NULL: nodes stay as they are */
    void *arg;
    bool is_graph;     /* primitive functions are left alone, types follow at once */
    gpuc_map done;     /* old -> new */
    gpuc_map seen;     /* old -> itself */
    gpuc_map value_of; /* variable whose type follows from a value -> that */
    gpuc_map sizes;    /* of a graph: symbol that nobody knew -> what it is by now */
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

/* Of a variable where it is bound. */
static gpuc_rexpr *get_bound(rewriter *r, gpuc_rexpr *old)
{
    gpuc_rexpr *e = get(r, old);
    if (e->kind != GPUC_REXPR_VAR)
        gpuc_raise(r->ctx, GPUC_INVALID_ARGUMENT,
                   "%s cannot stand for %s where that is bound: a variable could",
                   gpuc_relay_describe(r->ctx, e), gpuc_relay_describe(r->ctx, old));
    return e;
}

static gpuc_rpattern rebuild_pattern(rewriter *r, const gpuc_rpattern *p)
{
    gpuc_rpattern out = *p, *at = p->n ? gpuc_new_array(r->ctx, gpuc_rpattern, p->n) : NULL;
    if (p->var) out.var = get_bound(r, p->var);
    for (int i = 0; i < p->n; i++) at[i] = rebuild_pattern(r, &p->at[i]);
    out.at = at;
    return out;
}

static gpuc_rexpr *rebuild_match(rewriter *r, gpuc_rexpr *e)
{
    const gpuc_rmatch *m = gpuc_as_rmatch(e);
    gpuc_rexpr *value = get(r, m->value);
    gpuc_rclause *clauses = gpuc_ctx_memdup(r->ctx, m->clauses, sizeof *clauses * (size_t)m->n);
    for (int i = 0; i < m->num_vars; i++) get_bound(r, m->vars[i]);
    bool renamed = r->changed;
    for (int i = 0; i < m->n; i++) {
        gpuc_rpattern *pattern = renamed ? gpuc_new(r->ctx, gpuc_rpattern) : NULL;
        if (pattern) *pattern = rebuild_pattern(r, clauses[i].pattern);
        clauses[i] = (gpuc_rclause){pattern ? pattern : clauses[i].pattern, get(r, clauses[i].body)};
    }
    return r->changed ? gpuc_relay_match(r->ctx, value, m->n, clauses, m->partial) : e;
}

/* ---- Sizes that nobody knew, and that become known: attributes of nodes behind name them ---- */

void gpuc_relay_note_sizes(gpuc_map *sizes, const gpuc_rtype *old, const gpuc_rtype *new)
{
    if (!old || !new || old == new || !old->unknown || old->kind != new->kind || old->n != new->n) return;
    for (int i = 0; old->kind == GPUC_RTYPE_TUPLE && i < old->n; i++)
        gpuc_relay_note_sizes(sizes, old->at[i], new->at[i]);
    for (int i = 0; old->kind == GPUC_RTYPE_TENSOR && i < old->tensor.ndim && i < new->tensor.ndim; i++) {
        gpuc_expr was = old->tensor.dims[i], is = new->tensor.dims[i];
        if (was != is && was->kind == GPUC_EXPR_VAR && gpuc_relay_is_any_dim(was))
            gpuc_map_set(sizes, was, (void *)(uintptr_t)is);
    }
}

static const gpuc_attrs *known_attrs(rewriter *r, const gpuc_rcall *c)
{
    if (!r->sizes.count || !gpuc_attrs_symbolic(c->attrs)) return c->attrs;
    const gpuc_attrs *attrs = gpuc_op_attrs_substitute(r->ctx, c->attrs, &r->sizes);
    r->changed |= attrs != c->attrs;
    return attrs;
}

/* ---- Nodes ---- */

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
        const gpuc_attrs *attrs = known_attrs(r, c);
        if (!r->changed) return e;
        if (!r->is_graph)
            return gpuc_relay_call(ctx, callee, attrs, c->n, args); /* inference finds types again */
        return gpuc_relay_call_of_types(ctx, callee, attrs, c->n, args, c->num_type_args, c->type_args);
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
        if (r->is_graph && get(r, l->var)->kind != GPUC_REXPR_VAR) return get(r, l->body);
        gpuc_rexpr *var = get_bound(r, l->var), *value = get(r, l->value), *body = get(r, l->body);
        return r->changed ? gpuc_relay_let(ctx, var, value, body) : e;
    }
    case GPUC_REXPR_FUNCTION: {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        gpuc_rexpr *const *params = get_list(r, f->n, f->params);
        for (int i = 0; i < f->n; i++) get_bound(r, f->params[i]);
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
static gpuc_rexpr *graph_operand(const gpuc_rexpr *e, int i, void *root)
{
    const gpuc_attrs *attrs = e->kind == GPUC_REXPR_FUNCTION ? gpuc_as_rfunction(e)->attrs : NULL;
    bool whole = gpuc_attrs_find(attrs, "primitive") || gpuc_attrs_find(attrs, "compiler");
    return e == root || !whole ? gpuc_relay_operand(e, i) : NULL;
}

static void list(rewriter *r, gpuc_rexpr *root, gpuc_ptrs *order)
{
    gpuc_relay_walk graph = {.child = graph_operand, .arg = root}, whole = {0};
    gpuc_relay_walk_post_order(r->ctx, root, r->is_graph ? &graph : &whole, order);
}

static void begin(rewriter *r)
{
    gpuc_map_init(&r->done, r->ctx);
    gpuc_map_init(&r->seen, r->ctx);
    gpuc_map_init(&r->value_of, r->ctx);
    gpuc_map_init(&r->sizes, r->ctx);
}

static void note_value(rewriter *r, const gpuc_rexpr *var, gpuc_rexpr *value)
{
    if (!gpuc_as_rvar(var)->annotation) gpuc_map_set(&r->value_of, var, value);
}

/* A variable whose type follows from a value that changes is a new one, with a type that is found again. Not that of a
 * function, which may stand in it. */
static void note_values(rewriter *r, const gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_LET && gpuc_as_rlet(e)->value->kind != GPUC_REXPR_FUNCTION)
        note_value(r, gpuc_as_rlet(e)->var, gpuc_as_rlet(e)->value);
    for (int i = 0; e->kind == GPUC_REXPR_MATCH && i < gpuc_as_rmatch(e)->num_vars; i++)
        note_value(r, gpuc_as_rmatch(e)->vars[i], gpuc_as_rmatch(e)->value);
}

static gpuc_rexpr *rebuild_var(rewriter *r, gpuc_rexpr *var)
{
    const gpuc_rexpr *value = gpuc_map_get(&r->value_of, var);
    bool again = value && gpuc_map_has(&r->done, value);
    return again ? gpuc_relay_var(r->ctx, gpuc_as_rvar(var)->name, NULL) : var;
}

static void rewrite_node(rewriter *r, gpuc_rexpr *old)
{
    gpuc_ctx *ctx = r->ctx;
    gpuc_rexpr *e = old->kind == GPUC_REXPR_VAR ? rebuild_var(r, old) : rebuild(r, old);
    if (e != old) {
        gpuc_relay_with_source(ctx, e, old->source);
        if (!e->span.text) e->span = old->span;
        e->type_before = old->type ? old->type : old->type_before;
        if (!e->type && r->is_graph) gpuc_relay_infer_node(ctx, NULL, e);
    }
    uint32_t first_id = ctx->next_id;
    gpuc_rexpr *new = r->rewrite ? r->rewrite(ctx, old, e, r->arg) : e;
    if (!new)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the rewrite of %s gives NULL", gpuc_relay_describe(ctx, old));
    if (new != e) gpuc_relay_mark_source(ctx, new, first_id, e->source);
    if (new != old && !new->type && !new->type_before) new->type_before = old->type;
    if (new != old) gpuc_map_set(&r->done, old, new);
    if (r->is_graph) gpuc_relay_note_sizes(&r->sizes, old->type, new->type);
}

static gpuc_rexpr *rewrite_all(rewriter *r, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    list(r, root, &order);
    for (size_t i = 0; i < order.count && !r->is_graph; i++) note_values(r, order.at[i]);
    for (size_t i = 0; i < order.count; i++) {
        if (gpuc_map_has(&r->seen, order.at[i])) continue; /* in another function */
        gpuc_map_set(&r->seen, order.at[i], order.at[i]);
        rewrite_node(r, order.at[i]);
    }
    gpuc_rexpr *result = gpuc_map_get(&r->done, root);
    return result ? result : root;
}

gpuc_rexpr *gpuc_relay_rewrite(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_rewrite_fn rewrite, void *arg)
{
    rewriter r = {.ctx = ctx, .rewrite = rewrite, .arg = arg, .is_graph = true};
    begin(&r);
    return rewrite_all(&r, root);
}

gpuc_rexpr *gpuc_relay_mutate(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_rewrite_fn rewrite, void *arg)
{
    rewriter r = {.ctx = ctx, .rewrite = rewrite, .arg = arg};
    gpuc_relay_need(ctx, "a rewrite", "expression", root);
    begin(&r);
    return rewrite_all(&r, root);
}

gpuc_rmodule *gpuc_rmodule_mutate(gpuc_rmodule *m, gpuc_relay_rewrite_fn rewrite, void *arg)
{
    gpuc_ctx *ctx = m->ctx;
    rewriter r = {.ctx = ctx, .rewrite = rewrite, .arg = arg};
    gpuc_rmodule *out = gpuc_rmodule_create(ctx);
    begin(&r);
    gpuc_rmodule_copy_types(out, m);
    gpuc_rmodule_copy_interface(out, m);
    for (uint32_t i = 0; i < m->functions.map.count; i++) {
        const gpuc_map_entry *f = &m->functions.map.entries[i];
        gpuc_rmodule_add_function(out, f->key, rewrite_all(&r, f->value));
    }
    for (size_t i = 0; i < m->reads.count; i++) {
        gpuc_relay_read *read = gpuc_ctx_memdup(ctx, m->reads.at[i], sizeof *read);
        read->number = rewrite_all(&r, read->number);
        gpuc_ptrs_push(ctx, &out->reads, read);
    }
    gpuc_relay_infer_module(ctx, out);
    return out;
}

/* ---- Visits ---- */

void gpuc_relay_visit(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_visit_fn visit, void *arg)
{
    gpuc_ptrs order = {0};
    gpuc_relay_need(ctx, "a visit", "expression", root);
    gpuc_relay_need(ctx, "a visit", "function", (const void *)(uintptr_t)visit);
    gpuc_relay_walk_post_order(ctx, root, &(gpuc_relay_walk){0}, &order);
    for (size_t i = 0; i < order.count; i++) visit(order.at[i], arg);
}

void gpuc_rmodule_visit(const gpuc_rmodule *m, gpuc_relay_visit_fn visit, void *arg)
{
    gpuc_map seen;
    gpuc_map_init(&seen, m->ctx);
    gpuc_relay_need(m->ctx, "a visit", "function", (const void *)(uintptr_t)visit);
    for (uint32_t i = 0; i < m->functions.map.count; i++) {
        gpuc_ptrs order = {0};
        gpuc_rexpr *f = m->functions.map.entries[i].value;
        gpuc_relay_walk_post_order(m->ctx, f, &(gpuc_relay_walk){0}, &order);
        for (size_t k = 0; k < order.count; k++) {
            if (gpuc_map_has(&seen, order.at[k])) continue;
            gpuc_map_set(&seen, order.at[k], order.at[k]);
            visit(order.at[k], arg);
        }
    }
}
