/* SPDX-License-Identifier: Apache-2.0 */
/* Makes functions of the module of those that stand inside of others, the innermost first: f, or, where f holds variables of
 * around, a function that gives it for their values: def @f(%held) { fn (...) { ... } }. So closures are what functions of
 * the module give, and nothing else. One that names sizes, or has types, that its parameters do not decide stays. */
#include <ctype.h>

#include "relay_pass/common/blocks.h"

typedef struct lifter {
    gpuc_relay_pass_ctx *p;
    gpuc_ctx *ctx;
    gpuc_map done;
    gpuc_map names;          /* function that is the value of a let -> the variable */
    const gpuc_rexpr *stays; /* what the function of the module gives */
} lifter;

/* What a function that is to be lifted has inside. */
typedef struct inner {
    gpuc_ctx *ctx;
    const gpuc_rfunction *f;
    const gpuc_rexpr *self; /* the variable by which it calls itself; NULL */
    gpuc_ptrs order, held;  /* nodes; variables of around, without self */
    bool recursive;
    gpuc_ptrs type_params;          /* of functions around */
    gpuc_map bound, types, decided; /* variables and type parameters that it binds; types seen; sizes and type
                                      * parameters that arguments decide */
    gpuc_map own;                   /* type parameters of the type that is being looked at */
    int depth;                      /* how many */
    bool open;                      /* something else decides one of them */
    uint32_t by_held; /* those that the values decide which it holds: the first so many of `decided` */
} inner;

/* ---- Sizes and type parameters ---- */

static bool need_name(gpuc_expr e, void *arg)
{
    inner *in = arg;
    in->open |= e->kind == GPUC_EXPR_VAR && !gpuc_map_has(&in->decided, e);
    return true;
}

static bool need_size(gpuc_expr e, void *arg)
{
    return gpuc_relay_is_any_dim(e) || need_name(e, arg);
}

static void need_sizes(inner *in, const gpuc_rtype *t)
{
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++)
        if (t->tensor.dims[i]) gpuc_tir_visit(in->ctx, t->tensor.dims[i], need_size, in);
    for (int i = 0; i < t->n; i++) need_sizes(in, t->at[i]);
    if (t->ret) need_sizes(in, t->ret);
}

/* What an argument of the type decides: type parameters, and sizes where it has the tensors themselves. */
static void decide(inner *in, const gpuc_rtype *t, bool sizes)
{
    for (int i = 0; sizes && t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++)
        if (t->tensor.dims[i] && t->tensor.dims[i]->kind == GPUC_EXPR_VAR)
            gpuc_map_set(&in->decided, t->tensor.dims[i], in);
    if (t->kind == GPUC_RTYPE_VAR) gpuc_map_set(&in->decided, t, in);
    for (int i = 0; i < t->n; i++) decide(in, t->at[i], sizes && t->kind == GPUC_RTYPE_TUPLE);
    if (t->ret) decide(in, t->ret, false);
}

/* What the tensors inside hold. */
static void decide_unknown(inner *in, const gpuc_rtype *t)
{
    if (!t || !t->unknown) return;
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++)
        if (t->tensor.dims[i] && t->tensor.dims[i]->kind == GPUC_EXPR_VAR &&
            gpuc_relay_is_any_dim(t->tensor.dims[i]))
            gpuc_map_set(&in->decided, t->tensor.dims[i], in);
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++) decide_unknown(in, t->at[i]);
}

/* Lists type parameters that nothing inside has. A type may have some of its own, which a function around may have, too. */
static void list_params(inner *in, const gpuc_rtype *t)
{
    if (!t || !t->varies || gpuc_map_has(&in->types, t)) return;
    if (t->kind == GPUC_RTYPE_VAR && !gpuc_map_get(&in->own, t) && !gpuc_map_has(&in->bound, t)) {
        gpuc_map_set(&in->bound, t, in);
        gpuc_ptrs_push(in->ctx, &in->type_params, (void *)(uintptr_t)t);
        in->open |= !gpuc_map_has(&in->decided, t);
    }
    bool *outer = gpuc_new_array(in->ctx, bool, t->num_params + 1);
    for (int i = 0; i < t->num_params; i++) {
        outer[i] = !gpuc_map_get(&in->own, t->params[i]);
        gpuc_map_set(&in->own, t->params[i], in);
    }
    in->depth += t->num_params;
    for (int i = 0; i < t->n; i++) list_params(in, t->at[i]);
    list_params(in, t->ret);
    in->depth -= t->num_params;
    for (int i = 0; i < t->num_params; i++)
        if (outer[i]) gpuc_map_set(&in->own, t->params[i], NULL);
    if (!in->depth && t->kind != GPUC_RTYPE_VAR) gpuc_map_set(&in->types, t, in);
}

/* ---- What it holds ---- */

static void bind(inner *in, const gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_LET) gpuc_map_set(&in->bound, gpuc_as_rlet(e)->var, in);
    for (int i = 0; e->kind == GPUC_REXPR_MATCH && i < gpuc_as_rmatch(e)->num_vars; i++)
        gpuc_map_set(&in->bound, gpuc_as_rmatch(e)->vars[i], in);
    if (e->kind != GPUC_REXPR_FUNCTION) return;
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    for (int i = 0; i < f->n; i++) gpuc_map_set(&in->bound, f->params[i], in);
    for (int i = 0; i < f->num_type_params; i++) gpuc_map_set(&in->bound, f->type_params[i], in);
}

static void hold(inner *in, gpuc_rexpr *var)
{
    if (var->kind != GPUC_REXPR_VAR || gpuc_map_has(&in->bound, var)) return;
    gpuc_map_set(&in->bound, var, in);
    in->recursive |= var == in->self;
    if (var == in->self) return;
    gpuc_ptrs_push(in->ctx, &in->held, var);
    decide(in, var->type, true);
}

static void check_sizes(inner *in, const gpuc_rexpr *e)
{
    const gpuc_attrs *a = gpuc_relay_get_attrs(e);
    for (int i = 0; a && i < a->count; i++)
        for (int k = 0; a->at[i].sizes && k < a->at[i].n; k++)
            gpuc_tir_visit(in->ctx, a->at[i].sizes[k], need_name, in);
    if (gpuc_relay_get_annotation(e)) need_sizes(in, gpuc_relay_get_annotation(e));
}

static void look_into(inner *in, gpuc_rexpr *e)
{
    in->f = gpuc_as_rfunction(e);
    gpuc_map_init(&in->bound, in->ctx);
    gpuc_map_init(&in->types, in->ctx);
    gpuc_map_init(&in->decided, in->ctx);
    gpuc_map_init(&in->own, in->ctx);
    gpuc_relay_walk_post_order(in->ctx, e, &(gpuc_relay_walk){0}, &in->order);
    for (size_t i = 0; i < in->order.count; i++) bind(in, in->order.at[i]);
    for (size_t i = 0; i < in->order.count; i++) hold(in, in->order.at[i]);
    in->by_held = in->decided.count;
    for (int i = 0; i < in->f->n; i++) decide(in, in->f->params[i]->type, true);
    decide(in, e->type, false);
    for (size_t i = 0; i < in->held.count; i++) need_sizes(in, ((const gpuc_rexpr *)in->held.at[i])->type);
    for (size_t i = 0; i < in->order.count; i++)
        decide_unknown(in, ((const gpuc_rexpr *)in->order.at[i])->type);
    for (size_t i = 0; i < in->order.count; i++) {
        const gpuc_rexpr *x = in->order.at[i];
        check_sizes(in, x);
        list_params(in, x->type);
        for (int k = 0; x->kind == GPUC_REXPR_CALL && k < gpuc_as_rcall(x)->num_type_args; k++)
            list_params(in, gpuc_as_rcall(x)->type_args[k]);
    }
}

/* ---- The function of the module ---- */

static const char *free_name(lifter *l, const gpuc_rexpr *f)
{
    const gpuc_rexpr *var = gpuc_map_get(&l->names, f);
    char *base = gpuc_ctx_strdup(l->ctx, var ? gpuc_as_rvar(var)->name : "lifted");
    for (char *c = base; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') *c = '_';
    if (!isalpha((unsigned char)*base)) base = gpuc_ctx_printf(l->ctx, "f%s", base);
    const char *name = base;
    for (int n = 1; gpuc_strmap_has(&l->p->module->functions, name); n++)
        name = gpuc_ctx_printf(l->ctx, "%s%d", base, n);
    return name;
}

static gpuc_rexpr *new_param(gpuc_ctx *ctx, const gpuc_rexpr *old)
{
    return gpuc_relay_var(ctx, gpuc_as_rvar(old)->name, old->type);
}

/* A type that was found, not written, does not bind what the function is given to sizes of what it holds. */
static gpuc_rexpr *own_param(const inner *in, const gpuc_rexpr *old)
{
    gpuc_rexpr *var = new_param(in->ctx, old);
    if (in->held.count && old->type->symbolic && !gpuc_relay_get_annotation(old)) {
        var = gpuc_relay_var(in->ctx, gpuc_as_rvar(old)->name, NULL);
        var->type = old->type;
    }
    return var;
}

/* The body with other variables. */
static gpuc_rexpr *renamed(gpuc_ctx *ctx, gpuc_rexpr *body, gpuc_map *done)
{
    gpuc_ptrs order = {0};
    gpuc_relay_walk_post_order(ctx, body, &(gpuc_relay_walk){0}, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        int n = gpuc_relay_pass_num_parts(e);
        if (gpuc_map_has(done, e)) continue;
        gpuc_rexpr **parts = gpuc_new_array(ctx, gpuc_rexpr *, n + 1);
        for (int k = 0; k < n; k++) parts[k] = gpuc_map_get(done, gpuc_relay_pass_part(e, k));
        gpuc_map_set(done, e, gpuc_relay_pass_with_parts(ctx, e, parts));
    }
    return gpuc_map_get(done, body);
}

/* The call that gives the function for the values of what it holds. */
static gpuc_rexpr *call_of(inner *in, gpuc_rexpr *global, gpuc_rexpr *const *args, const gpuc_rtype *type)
{
    gpuc_rexpr *call =
        gpuc_relay_call_of_types(in->ctx, global, NULL, (int)in->held.count, args, (int)in->type_params.count,
                                 (const gpuc_rtype *const *)in->type_params.at);
    call->type = type;
    return call;
}

static const gpuc_rtype *scheme_of(inner *in, int num, const gpuc_rtype *const *type_params, int n,
                                   gpuc_rexpr *const *params, const gpuc_rtype *ret)
{
    const gpuc_rtype **types = gpuc_new_array(in->ctx, const gpuc_rtype *, n + 1);
    for (int i = 0; i < n; i++) types[i] = params[i]->type;
    return gpuc_relay_rtype_scheme(in->ctx, num, type_params, n, types, ret);
}

static gpuc_rexpr *function_of(inner *in, int num, const gpuc_rtype *const *type_params, int n,
                               gpuc_rexpr *const *params, const gpuc_rtype *ret, gpuc_rexpr *body,
                               const gpuc_attrs *attrs)
{
    gpuc_rexpr *out = gpuc_relay_generic_function(in->ctx, num, type_params, n, params, ret, body, attrs);
    out->type = scheme_of(in, num, type_params, n, params, ret);
    return out;
}

/* Own type parameters come first: calls may have said what they are. */
static const gpuc_rtype *const *all_type_params(inner *in, int *n)
{
    gpuc_ptrs all = {0};
    for (int i = 0; i < in->f->num_type_params; i++)
        gpuc_ptrs_push(in->ctx, &all, (void *)(uintptr_t)in->f->type_params[i]);
    for (size_t i = 0; i < in->type_params.count; i++) gpuc_ptrs_push(in->ctx, &all, in->type_params.at[i]);
    *n = (int)all.count;
    return (const gpuc_rtype *const *)all.at;
}

/* Whether the values that it holds say for which type parameters of around it is; else its type is written. */
static bool is_decided(const inner *in)
{
    for (size_t i = 0; i < in->type_params.count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < in->by_held && !found; k++)
            found = in->decided.entries[k].key == in->type_params.at[i];
        if (!found) return false;
    }
    return true;
}

static gpuc_rexpr *typed_var(const inner *in, const char *name)
{
    gpuc_rexpr *var = gpuc_relay_var(in->ctx, name, is_decided(in) ? NULL : in->f->base.type);
    var->type = in->f->base.type;
    return var;
}

/* The global, and what is known of it. */
static gpuc_rexpr *global_of(inner *in, const char *name, const gpuc_rtype *type)
{
    gpuc_rexpr *g = gpuc_relay_global(in->ctx, name);
    g->type = type;
    return g;
}

/* It holds nothing: it is the function itself. */
static gpuc_rexpr *lift_closed(lifter *l, inner *in, const char *name, gpuc_rexpr *const *params,
                               gpuc_map *now)
{
    const gpuc_rfunction *f = in->f;
    const gpuc_rtype *ret = f->base.type->ret;
    int num;
    const gpuc_rtype *const *all = all_type_params(in, &num);
    gpuc_rexpr *g = global_of(in, name, scheme_of(in, num, all, f->n, params, ret));
    gpuc_rexpr *self = g;
    if (in->recursive && !is_decided(in)) self = typed_var(in, gpuc_as_rvar(in->self)->name);
    if (in->recursive) gpuc_map_set(now, in->self, self);
    gpuc_rexpr *body = renamed(l->ctx, f->body, now);
    if (self != g) body = gpuc_relay_let(l->ctx, self, g, body);
    gpuc_strmap_set(&l->p->module->functions, name,
                    function_of(in, num, all, f->n, params, ret, body, f->attrs));
    return g;
}

static gpuc_rexpr *lift_holding(lifter *l, inner *in, const char *name, gpuc_rexpr *const *params,
                                gpuc_map *now)
{
    const gpuc_rfunction *f = in->f;
    const gpuc_rtype *type = f->base.type;
    const gpuc_rtype *const *around = (const gpuc_rtype *const *)in->type_params.at;
    int n = (int)in->held.count, num = (int)in->type_params.count;
    gpuc_rexpr **held = gpuc_new_array(l->ctx, gpuc_rexpr *, n + 1), *self = NULL;
    for (int i = 0; i < n; i++)
        gpuc_map_set(now, in->held.at[i], held[i] = new_param(l->ctx, in->held.at[i]));
    gpuc_rexpr *g = global_of(in, name, scheme_of(in, num, around, n, held, type));
    if (in->recursive) {
        self = typed_var(in, gpuc_as_rvar(in->self)->name);
        gpuc_map_set(now, in->self, self);
    }
    gpuc_rexpr *body = renamed(l->ctx, f->body, now);
    if (self) body = gpuc_relay_let(l->ctx, self, call_of(in, g, held, type), body);
    body = function_of(in, f->num_type_params, f->type_params, f->n, params, type->ret, body, f->attrs);
    gpuc_strmap_set(&l->p->module->functions, name, function_of(in, num, around, n, held, type, body, NULL));
    return call_of(in, g, (gpuc_rexpr *const *)in->held.at, type);
}

static gpuc_rexpr *lift(lifter *l, inner *in, const gpuc_rexpr *old)
{
    const char *name = free_name(l, old);
    const gpuc_rfunction *f = in->f;
    gpuc_map now;
    gpuc_map_init(&now, l->ctx);
    gpuc_rexpr **params = gpuc_new_array(l->ctx, gpuc_rexpr *, f->n + 1);
    for (int i = 0; i < f->n; i++) gpuc_map_set(&now, f->params[i], params[i] = own_param(in, f->params[i]));
    gpuc_rexpr *out =
        in->held.count ? lift_holding(l, in, name, params, &now) : lift_closed(l, in, name, params, &now);
    if (is_decided(in)) return out;
    gpuc_rexpr *var = typed_var(in, "f");
    return gpuc_relay_let(l->ctx, var, out, var);
}

static void rebuild(lifter *l, gpuc_rexpr *e)
{
    int n = gpuc_relay_pass_num_parts(e);
    gpuc_rexpr **parts = gpuc_new_array(l->ctx, gpuc_rexpr *, n + 1);
    for (int i = 0; i < n; i++) parts[i] = gpuc_map_get(&l->done, gpuc_relay_pass_part(e, i));
    gpuc_rexpr *now = gpuc_relay_pass_with_parts(l->ctx, e, parts);
    if (e->kind == GPUC_REXPR_FUNCTION && e != l->stays && !gpuc_relay_pass_is_kernel(e)) {
        inner in = {.ctx = l->ctx, .self = gpuc_map_get(&l->names, e)};
        look_into(&in, now);
        if (!in.open) now = lift(l, &in, e);
    }
    gpuc_map_set(&l->done, e, now);
}

static void lift_from(gpuc_relay_pass_ctx *p, const char *name)
{
    lifter l = {.p = p, .ctx = p->ctx};
    gpuc_relay_blocks b;
    gpuc_rexpr *f = gpuc_rmodule_get(p->module, name);
    if (gpuc_relay_pass_is_kernel(f)) return;
    gpuc_map_init(&l.done, p->ctx);
    gpuc_map_init(&l.names, p->ctx);
    gpuc_relay_pass_find_blocks(p->ctx, f, &b);
    for (size_t i = 0; i < b.order.count; i++) {
        const gpuc_rexpr *e = b.order.at[i];
        if (e->kind == GPUC_REXPR_LET) gpuc_map_set(&l.names, gpuc_as_rlet(e)->value, gpuc_as_rlet(e)->var);
    }
    l.stays = gpuc_as_rfunction(f)->body;
    for (size_t i = 0; i + 1 < b.order.count; i++) rebuild(&l, b.order.at[i]);
    gpuc_rexpr *body = gpuc_map_get(&l.done, gpuc_as_rfunction(f)->body);
    gpuc_strmap_set(&p->module->functions, name, gpuc_relay_pass_with_parts(p->ctx, f, &body));
}

void gpuc_relay_pass_lambda_lift(gpuc_relay_pass_ctx *p)
{
    gpuc_ptrs names = {0};
    gpuc_relay_pass_bind_values(p, false); /* a node of around would be computed by each call */
    for (uint32_t i = 0; i < p->module->functions.map.count; i++)
        gpuc_ptrs_push(p->ctx, &names, p->module->functions.map.entries[i].key);
    for (size_t i = 0; i < names.count; i++) lift_from(p, names.at[i]);
}
