/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the bodies of functions with the attribute inline=1 in the place of their calls, those that they call first. Calls
 * inside of a cycle of calls stay, and those of functions that call themselves, that have type parameters, or whose body
 * names sizes that no argument says. Functions that went are dropped, but not those that nothing called. */
#include <string.h>

#include "relay/infer.h"
#include "relay/solve.h"
#include "relay_pass/common/util.h"

typedef struct inliner {
    gpuc_relay_pass_ctx *p;
    gpuc_strmap begun;  /* name of a function -> it, as it was */
    gpuc_strmap called; /* name of a function -> one of those that name it */
    gpuc_strmap ready;  /* name of a function whose calls go -> it, as it is now */
    gpuc_map args;      /* of the call that goes: parameter -> argument */
    gpuc_ptrs types,
        own;          /* type parameters of functions in the body that takes its place, and new ones for it */
    gpuc_map extents; /* of the call that goes: size that the body may name -> what it is there */
    gpuc_map sizes;   /* function that is ready -> number of its nodes */
    size_t made;      /* nodes that took the places of calls */
    gpuc_map results; /* size that a call which went gave, and nothing knew -> what its body gives */
} inliner;

/* ---- Sizes ---- */

static const gpuc_rtype *type_of(const gpuc_rexpr *e)
{
    return e->type ? e->type : e->type_before;
}

typedef struct sizes_in {
    gpuc_ctx *ctx;
    gpuc_map *known; /* size -> what it is */
    bool adds; /* makes others known, which are new ones or themselves; else looks for one that is not */
    bool is_new, found;
} sizes_in;

static bool visit_size(gpuc_expr e, void *arg)
{
    sizes_in *in = arg;
    if (e->kind != GPUC_EXPR_VAR || gpuc_map_has(in->known, e)) return true;
    gpuc_expr own = e;
    if (in->is_new)
        own = gpuc_relay_is_any_dim(e) ? gpuc_relay_any_dim(in->ctx)
                                       : gpuc_var(in->ctx, gpuc_as_var(e)->name, e->dtype);
    if (in->adds)
        gpuc_map_set(in->known, e, (void *)(uintptr_t)own);
    else
        in->found = true;
    return true;
}

static gpuc_expr visit_extent(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    if (size) gpuc_tir_visit(ctx, size, visit_size, arg);
    return size;
}

/* Only what a node's tensors hold. */
static gpuc_expr visit_unknown(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    return gpuc_relay_is_any_dim(size) ? visit_extent(ctx, size, arg) : size;
}

/* Sizes that a variable's type names, or that a node's tensors hold, differ from call to call; a node that calls share has
 * its own. */
static void add_sizes(gpuc_ctx *ctx, gpuc_map *known, const gpuc_rexpr *e, bool is_new)
{
    sizes_in in = {.ctx = ctx, .known = known, .adds = true, .is_new = is_new};
    bool is_var = e->kind == GPUC_REXPR_VAR;
    const gpuc_rtype *t = is_var ? gpuc_as_rvar(e)->annotation : type_of(e);
    if (t && e->kind != GPUC_REXPR_FUNCTION)
        gpuc_relay_rtype_map_sizes(ctx, t, is_var ? visit_extent : visit_unknown, &in);
}

static bool all_known(gpuc_ctx *ctx, gpuc_map *known, const gpuc_attrs *attrs, const gpuc_rtype *written)
{
    sizes_in in = {.ctx = ctx, .known = known};
    for (int i = 0; attrs && i < attrs->count; i++)
        for (int k = 0; attrs->at[i].sizes && k < attrs->at[i].n; k++)
            visit_extent(ctx, attrs->at[i].sizes[k], &in);
    if (written) gpuc_relay_rtype_map_sizes(ctx, written, visit_extent, &in);
    return !in.found;
}

static bool may_go(inliner *in, const char *name, const gpuc_rexpr *function)
{
    gpuc_ctx *ctx = in->p->ctx;
    const gpuc_rfunction *f = gpuc_as_rfunction(function);
    gpuc_ptrs order = {0};
    gpuc_map known;
    gpuc_map_init(&known, ctx);
    bool asked = gpuc_attrs_get_int(in->p->options, "all", 0) || gpuc_attrs_get_int(f->attrs, "inline", 0) ||
                 gpuc_attrs_get_int(f->attrs, "Inline", 0);
    if (!asked || f->num_type_params || gpuc_attrs_find(f->attrs, "compiler")) return false;
    for (int i = 0; i < f->n; i++)
        gpuc_relay_note_named_sizes(&known, f->params[i]->type, f->params[i]->type);
    gpuc_relay_post_order(ctx, f->body, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        bool is_param = false;
        for (int k = 0; e->kind == GPUC_REXPR_VAR && k < f->n; k++) is_param |= f->params[k] == e;
        if (e->kind == GPUC_REXPR_GLOBAL && strcmp(gpuc_as_rglobal(e)->name, name) == 0) return false;
        if (is_param) continue;
        const gpuc_rtype *written = gpuc_relay_get_annotation(e);
        add_sizes(ctx, &known, e, true);
        if (!all_known(ctx, &known, gpuc_relay_get_attrs(e), written)) return false;
    }
    return true;
}

static gpuc_expr own_size(gpuc_ctx *ctx, gpuc_expr size, void *extents)
{
    return size ? gpuc_tir_substitute_map(ctx, size, extents) : NULL;
}

/* ---- Bodies ---- */

static const gpuc_rtype *own_type(gpuc_ctx *ctx, inliner *in, const gpuc_rtype *t)
{
    if (t && in->types.count)
        t = gpuc_relay_rtype_substitute(ctx, t, (int)in->types.count, (const gpuc_rtype *const *)in->types.at,
                                        (const gpuc_rtype *const *)in->own.at);
    return t && in->extents.count ? gpuc_relay_rtype_map_sizes(ctx, t, own_size, &in->extents) : t;
}

static gpuc_rexpr *own_function(gpuc_ctx *ctx, inliner *in, gpuc_rexpr *e)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    if (!f->num_type_params && !f->ret) return e;
    const gpuc_rtype **params = gpuc_new_array(ctx, const gpuc_rtype *, f->num_type_params + 1);
    for (int i = 0; i < f->num_type_params; i++) params[i] = own_type(ctx, in, f->type_params[i]);
    return gpuc_relay_generic_function(ctx, f->num_type_params, params, f->n, f->params,
                                       own_type(ctx, in, f->ret), f->body, f->attrs);
}

static gpuc_rexpr *own_call(gpuc_ctx *ctx, inliner *in, const gpuc_rexpr *old, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    bool varies = in->types.count && old->type && old->type->varies;
    const gpuc_attrs *attrs = gpuc_op_attrs_substitute(ctx, c->attrs, &in->extents);
    if (!varies && !c->num_type_args && attrs == c->attrs) return e;
    const gpuc_rtype **types = gpuc_new_array(ctx, const gpuc_rtype *, c->num_type_args + 1);
    for (int i = 0; i < c->num_type_args; i++) types[i] = own_type(ctx, in, c->type_args[i]);
    gpuc_rexpr *own = gpuc_relay_call_of_types(ctx, c->callee, attrs, c->n, c->args, c->num_type_args, types);
    own->span = e->span;
    return own;
}

/* Parameters become arguments, other variables, type parameters and sizes new ones. */
static gpuc_rexpr *rename_names(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    inliner *in = arg;
    gpuc_rexpr *given = old->kind == GPUC_REXPR_VAR ? gpuc_map_get(&in->args, old) : NULL;
    if (given) return given;
    if (old->kind == GPUC_REXPR_VAR) {
        add_sizes(ctx, &in->extents, old, true);
        return gpuc_relay_var(ctx, gpuc_as_rvar(old)->name, own_type(ctx, in, gpuc_as_rvar(old)->annotation));
    }
    gpuc_rexpr *own = e;
    if (old->kind == GPUC_REXPR_FUNCTION && in->types.count + in->extents.count)
        own = own_function(ctx, in, e);
    if (old->kind == GPUC_REXPR_CALL) own = own_call(ctx, in, old, e);
    add_sizes(ctx, &in->extents, old, own != old);
    if (own != old) own->type_before = own_type(ctx, in, type_of(old));
    return own;
}

static void find_type_params(gpuc_ctx *ctx, inliner *in, gpuc_rexpr *body)
{
    gpuc_ptrs order = {0};
    in->types.count = in->own.count = 0;
    gpuc_relay_post_order(ctx, body, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        if (((gpuc_rexpr *)order.at[i])->kind != GPUC_REXPR_FUNCTION) continue;
        const gpuc_rfunction *f = gpuc_as_rfunction(order.at[i]);
        for (int k = 0; k < f->num_type_params; k++) {
            gpuc_ptrs_push(ctx, &in->types, (void *)(uintptr_t)f->type_params[k]);
            gpuc_ptrs_push(ctx, &in->own,
                           (void *)(uintptr_t)gpuc_relay_rtype_var(ctx, f->type_params[k]->name));
        }
    }
}

/* A type that a function says of what it takes or gives, and that may follow from nothing else, is kept by a let. */
static bool is_said(const gpuc_rtype *written)
{
    return written && gpuc_relay_pass_is_generic(written);
}

static gpuc_rexpr *let_at(gpuc_ctx *ctx, const gpuc_rcall *c, gpuc_rexpr *var, gpuc_rexpr *value,
                          gpuc_rexpr *body)
{
    gpuc_rexpr *let = gpuc_relay_let(ctx, var, value, body);
    let->span = c->base.span;
    return let;
}

static gpuc_rexpr *with_types(gpuc_ctx *ctx, inliner *in, const gpuc_rfunction *f, const gpuc_rcall *c,
                              gpuc_rexpr *const *args, gpuc_rexpr *body)
{
    if (is_said(f->ret)) {
        gpuc_rexpr *var = gpuc_relay_var(ctx, "result", own_type(ctx, in, f->ret));
        body = let_at(ctx, c, var, body, var);
    }
    for (int i = f->n; i-- > 0;)
        if (args[i] != c->args[i]) body = let_at(ctx, c, args[i], c->args[i], body);
    return body;
}

/* Each function that calls another one twice doubles the program: some dozens would fill any memory. */
static void count_made(inliner *in, gpuc_relay_span span, const gpuc_rexpr *callee, const char *name)
{
    enum { MAX_NODES = 1 << 18 };
    gpuc_ctx *ctx = in->p->ctx;
    in->made += (size_t)(uintptr_t)gpuc_map_get(&in->sizes, callee);
    if (in->made <= MAX_NODES) return;
    const char *text = gpuc_ctx_printf(ctx,
                                       "inline: the bodies of functions that are put in the places of calls "
                                       "have more than %d nodes; call @%s, "
                                       "or what it calls, in fewer places",
                                       MAX_NODES, name);
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s", gpuc_relay_located(ctx, span, text));
}

static const gpuc_rtype *with_results(gpuc_ctx *ctx, inliner *in, const gpuc_rtype *t)
{
    return t && in->results.count ? gpuc_relay_rtype_map_sizes(ctx, t, own_size, &in->results) : t;
}

/* A node that stays names what the calls before it gave as the bodies do. */
static gpuc_rexpr *behind_calls(gpuc_ctx *ctx, inliner *in, gpuc_rexpr *old, gpuc_rexpr *e)
{
    gpuc_rexpr *own = gpuc_relay_pass_put_sizes(ctx, e, &in->results);
    if (own != old) own->type_before = with_results(ctx, in, type_of(old));
    return own;
}

static gpuc_rexpr *inline_call(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    inliner *in = arg;
    const gpuc_rcall *c = e->kind == GPUC_REXPR_CALL ? gpuc_as_rcall(e) : NULL;
    bool is_global = c && c->callee->kind == GPUC_REXPR_GLOBAL;
    const gpuc_rexpr *callee =
        is_global ? gpuc_strmap_get(&in->ready, gpuc_as_rglobal(c->callee)->name) : NULL;
    if (!callee) return behind_calls(ctx, in, old, e);
    const gpuc_rfunction *f = gpuc_as_rfunction(callee);
    count_made(in, old->span, callee, gpuc_as_rglobal(c->callee)->name);
    gpuc_map_init(&in->args, ctx);
    gpuc_map_init(&in->extents, ctx);
    for (int i = 0; i < f->n; i++)
        gpuc_relay_note_named_sizes(&in->extents, f->params[i]->type,
                                    with_results(ctx, in, type_of(gpuc_as_rcall(old)->args[i])));
    find_type_params(ctx, in, f->body);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        const gpuc_rvar *param = gpuc_as_rvar(f->params[i]);
        args[i] = is_said(param->annotation)
                      ? gpuc_relay_var(ctx, param->name, own_type(ctx, in, param->annotation))
                      : c->args[i];
        gpuc_map_set(&in->args, f->params[i], args[i]);
    }
    gpuc_rexpr *body = with_types(ctx, in, f, c, args, gpuc_relay_mutate(ctx, f->body, rename_names, in));
    if (!type_of(body)) body->type_before = own_type(ctx, in, type_of(f->body));
    gpuc_relay_note_sizes(&in->results, type_of(old), type_of(body));
    return body;
}

typedef struct visit {
    const char *name;
    gpuc_ptrs callees; /* names */
    size_t next;
} visit;

static visit *begin(inliner *in, const char *name)
{
    gpuc_ptrs order = {0};
    gpuc_rexpr *f = gpuc_strmap_get(&in->p->module->functions, name);
    visit *v = gpuc_new(in->p->ctx, visit);
    *v = (visit){.name = name};
    gpuc_strmap_set(&in->begun, name, f);
    gpuc_relay_post_order(in->p->ctx, f, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_GLOBAL) continue;
        const char *callee = gpuc_as_rglobal(e)->name;
        gpuc_ptrs_push(in->p->ctx, &v->callees, callee);
        if (strcmp(callee, name) != 0) gpuc_strmap_set(&in->called, callee, f);
    }
    return v;
}

/* Those that it calls were done. */
static void end(inliner *in, const char *name)
{
    gpuc_ctx *ctx = in->p->ctx;
    gpuc_strmap *functions = &in->p->module->functions;
    gpuc_rexpr *f = gpuc_strmap_get(functions, name), *now = gpuc_relay_mutate(ctx, f, inline_call, in);
    if (now != f) gpuc_strmap_set(functions, name, now);
    if (!strcmp(name, "main") || !may_go(in, name, now)) return;
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, now, true, &order);
    gpuc_map_set(&in->sizes, now, (void *)(uintptr_t)order.count);
    gpuc_strmap_set(&in->ready, name, now);
}

static void visit_all(inliner *in, const char *name)
{
    gpuc_ptrs stack = {0};
    if (gpuc_strmap_has(&in->begun, name)) return;
    gpuc_ptrs_push(in->p->ctx, &stack, begin(in, name));
    while (stack.count) {
        visit *v = stack.at[stack.count - 1];
        if (v->next == v->callees.count) {
            end(in, v->name);
            stack.count--;
            continue;
        }
        const char *callee = v->callees.at[v->next++];
        if (!gpuc_strmap_has(&in->begun, callee)) gpuc_ptrs_push(in->p->ctx, &stack, begin(in, callee));
    }
}

void gpuc_relay_pass_inline(gpuc_relay_pass_ctx *p)
{
    gpuc_ctx *ctx = p->ctx;
    inliner in = {.p = p};
    gpuc_strmap_init(&in.begun, ctx);
    gpuc_map_init(&in.sizes, ctx);
    gpuc_map_init(&in.results, ctx);
    gpuc_strmap_init(&in.called, ctx);
    gpuc_strmap_init(&in.ready, ctx);
    gpuc_ptrs names = {0}, entries = {0};
    for (uint32_t i = 0; i < p->module->functions.map.count; i++)
        gpuc_ptrs_push(ctx, &names, p->module->functions.map.entries[i].key);
    for (size_t i = 0; i < names.count; i++) visit_all(&in, names.at[i]);
    gpuc_relay_infer_module(ctx, p->module);
    for (size_t i = 0; i < names.count; i++)
        if (!gpuc_strmap_has(&in.ready, names.at[i]) || !gpuc_strmap_has(&in.called, names.at[i]))
            gpuc_ptrs_push(ctx, &entries, names.at[i]);
    gpuc_relay_pass_keep_reachable(p, &entries);
}
