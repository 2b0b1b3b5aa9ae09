/* SPDX-License-Identifier: Apache-2.0 */
/* Unification of types. */
#include "relay/solve.h"

#include <stdarg.h>
#include <stdio.h>

void gpuc_relay_type_fail(gpuc_relay_solver *s, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT, "%s", text);
}

const gpuc_rtype *gpuc_relay_find(const gpuc_rtype *t)
{
    while (t->kind == GPUC_RTYPE_HOLE && t->hole->is) {
        const gpuc_rtype *next = t->hole->is;
        if (next->kind == GPUC_RTYPE_HOLE && next->hole->is) t->hole->is = next->hole->is;
        t = next;
    }
    return t;
}

static void check_depth(gpuc_relay_solver *s, int depth)
{
    if (++s->work > 8 * GPUC_RELAY_TYPE_SIZE)
        gpuc_relay_type_fail(s, "a type has more than %d parts", GPUC_RELAY_TYPE_SIZE);
    if (depth > GPUC_RELAY_TYPE_DEPTH)
        gpuc_relay_type_fail(s, "a type has more than %d levels", GPUC_RELAY_TYPE_DEPTH);
}

static const gpuc_rtype *resolve(gpuc_relay_solver *s, const gpuc_rtype *t, int depth)
{
    t = gpuc_relay_find(t);
    if (!t->open || t->kind == GPUC_RTYPE_HOLE) return t;
    check_depth(s, depth);
    const gpuc_rtype **at = gpuc_new_array(s->ctx, const gpuc_rtype *, t->n + 1);
    for (int i = 0; i < t->n; i++) at[i] = resolve(s, t->at[i], depth + 1);
    const gpuc_rtype *ret = t->ret ? resolve(s, t->ret, depth + 1) : NULL;
    if (t->kind == GPUC_RTYPE_FUNC)
        return gpuc_relay_rtype_scheme(s->ctx, t->num_params, t->params, t->n, at, ret);
    return t->kind == GPUC_RTYPE_ADT ? gpuc_relay_rtype_adt(s->ctx, t->adt, t->n, at)
                                     : gpuc_relay_rtype_tuple(s->ctx, t->n, at);
}

const gpuc_rtype *gpuc_relay_resolve(gpuc_relay_solver *s, const gpuc_rtype *t)
{
    return resolve(s, t, 0);
}

const char *gpuc_relay_type_text(gpuc_relay_solver *s, const gpuc_rtype *t)
{
    return gpuc_relay_rtype_text(s->ctx, gpuc_relay_resolve(s, t));
}

/* ---- Holes ---- */

static bool has_hole(gpuc_relay_solver *s, const gpuc_rtype *t, const gpuc_rtype *hole, int depth)
{
    t = gpuc_relay_find(t);
    if (t == hole) return true;
    if (!t->open) return false;
    check_depth(s, depth);
    for (int i = 0; i < t->n; i++)
        if (has_hole(s, t->at[i], hole, depth + 1)) return true;
    return t->ret && has_hole(s, t->ret, hole, depth + 1);
}

static const gpuc_rtype *fill(gpuc_relay_solver *s, const gpuc_rtype *hole, const gpuc_rtype *t)
{
    if (has_hole(s, t, hole, 0))
        gpuc_relay_type_fail(s, "the type would contain itself: %s", gpuc_relay_type_text(s, t));
    gpuc_rhole *h = hole->hole;
    h->is = t;
    if (t->kind == GPUC_RTYPE_HOLE) { /* what waited goes on waiting, for the other */
        t->hole->fixed |= h->fixed;
        t->hole->joins = h->joins = false;
        for (size_t i = 0; i < h->waiting.count; i++)
            gpuc_ptrs_push(s->ctx, &t->hole->waiting, h->waiting.at[i]);
    } else {
        for (size_t i = 0; i < h->waiting.count; i++) gpuc_ptrs_push(s->ctx, &s->ready, h->waiting.at[i]);
    }
    h->waiting.count = 0;
    return t;
}

void gpuc_relay_wait(gpuc_relay_solver *s, const gpuc_rtype *hole, gpuc_rexpr *e)
{
    gpuc_map_set(&s->waiting, e, e);
    gpuc_ptrs_push(s->ctx, &gpuc_relay_find(hole)->hole->waiting, e);
}

const gpuc_rtype *gpuc_relay_instantiate(gpuc_relay_solver *s, const gpuc_rtype *t, gpuc_ptrs *args)
{
    t = gpuc_relay_find(t);
    if (t->kind != GPUC_RTYPE_FUNC || !t->num_params) return t;
    t = gpuc_relay_resolve(s, t);
    const gpuc_rtype **holes = gpuc_new_array(s->ctx, const gpuc_rtype *, t->num_params);
    bool itself = t->open && gpuc_map_get(&s->inside, t->params[0]);
    for (int i = 0; i < t->num_params; i++) {
        holes[i] = itself ? t->params[i] : gpuc_relay_rtype_hole(s->ctx);
        if (args) gpuc_ptrs_push(s->ctx, args, holes[i]);
    }
    const gpuc_rtype *body = gpuc_relay_rtype_func(s->ctx, t->n, t->at, t->ret);
    return gpuc_relay_rtype_substitute(s->ctx, body, t->num_params, t->params, holes);
}

/* ---- Sizes of functions ---- */

void gpuc_relay_note_named_sizes(gpuc_map *sizes, const gpuc_rtype *param, const gpuc_rtype *arg)
{
    if (param->kind == GPUC_RTYPE_HOLE) return; /* a type parameter, which is what the argument is */
    arg = gpuc_relay_find(arg);
    if (!param->symbolic || param->kind != arg->kind || param->n != arg->n || param->adt != arg->adt ||
        param->kind == GPUC_RTYPE_FUNC)
        return;
    for (int i = 0; i < param->n; i++) gpuc_relay_note_named_sizes(sizes, param->at[i], arg->at[i]);
    for (int i = 0; i < param->tensor.ndim && param->tensor.ndim == arg->tensor.ndim; i++) {
        gpuc_expr size = param->tensor.dims[i], is = arg->tensor.dims[i];
        if (size && is && size->kind == GPUC_EXPR_VAR && !gpuc_map_has(sizes, size))
            gpuc_map_set(sizes, size, (void *)(uintptr_t)is);
    }
}

typedef struct named {
    gpuc_map *sizes;
    bool all; /* names, too, are those of the function */
} named;

static bool is_said(gpuc_expr e, void *arg)
{
    const named *n = arg;
    return e->kind != GPUC_EXPR_VAR || gpuc_map_get(n->sizes, e) || !(n->all || gpuc_relay_is_any_dim(e));
}

static gpuc_expr named_size(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    const named *n = arg;
    bool said = size && gpuc_tir_visit(ctx, size, is_said, arg);
    return said ? gpuc_tir_substitute_map(ctx, size, n->sizes) : gpuc_relay_any_dim(ctx);
}

const gpuc_rtype *gpuc_relay_with_named_sizes(gpuc_ctx *ctx, const gpuc_rtype *t, gpuc_map *sizes, bool all)
{
    return gpuc_relay_rtype_map_sizes(ctx, t, named_size, &(named){sizes, all});
}

/* ---- Unification ---- */

/* Which functions with type parameters two types may have where they differ. GIVEN: b may be more general than a, what
 * is wanted. JOIN: the result is what both can be used as. MEET: it can be used as both. */
typedef enum fit { GIVEN, JOIN, MEET } fit;

/* Sizes that the build does not know may be equal when the program runs. false: they never are. Where it may be either of
 * them it is `?`. */
static bool unify_dim(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b, bool either, gpuc_expr *out)
{
    int64_t x, y;
    bool is_any = gpuc_relay_is_any_dim(a) || gpuc_relay_is_any_dim(b);
    *out = a;
    if (a == b) return true;
    if (!is_any && gpuc_expr_is_int(a, &x) && gpuc_expr_is_int(b, &y)) return false;
    if (either)
        *out = gpuc_relay_any_dim(ctx);
    else if (gpuc_relay_is_any_dim(b) && !gpuc_relay_is_any_dim(a))
        *out = b;
    return true;
}

static const gpuc_rtype *unify_tensors(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b,
                                       bool either)
{
    const gpuc_tensor_type *x = &a->tensor, *y = &b->tensor;
    bool is_a = true, is_b = true;
    if (!gpuc_dtype_equal(x->dtype, y->dtype) || x->ndim != y->ndim) return NULL;
    gpuc_expr *dims = gpuc_new_array(s->ctx, gpuc_expr, x->ndim + 1);
    for (int i = 0; i < x->ndim; i++) {
        if (!unify_dim(s->ctx, x->dims[i], y->dims[i], either, &dims[i])) return NULL;
        is_a &= dims[i] == x->dims[i];
        is_b &= dims[i] == y->dims[i];
    }
    return is_a ? a : is_b ? b : gpuc_relay_rtype_tensor(s->ctx, x->dtype, x->ndim, dims);
}

static const gpuc_rtype *unify(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b, fit how,
                               int depth);

/* What is wanted of a function's parameters is what it is given: the other way round. */
static const gpuc_rtype *unify_parts(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b, fit how,
                                     int depth)
{
    static const fit inverse[] = {[GIVEN] = GIVEN, [JOIN] = MEET, [MEET] = JOIN};
    bool is_a = true, is_b = true, back = a->kind == GPUC_RTYPE_FUNC;
    if (a->n != b->n || a->adt != b->adt) return NULL;
    const gpuc_rtype **at = gpuc_new_array(s->ctx, const gpuc_rtype *, a->n + 1), *ret = NULL;
    for (int i = 0; i < a->n; i++) {
        at[i] = unify(s, (back ? b : a)->at[i], (back ? a : b)->at[i], back ? inverse[how] : how, depth + 1);
        if (!at[i]) return NULL;
        is_a &= at[i] == gpuc_relay_find(a->at[i]);
        is_b &= at[i] == gpuc_relay_find(b->at[i]);
    }
    if (a->ret) {
        if (!(ret = unify(s, a->ret, b->ret, how, depth + 1))) return NULL;
        is_a &= ret == gpuc_relay_find(a->ret);
        is_b &= ret == gpuc_relay_find(b->ret);
    }
    if (is_a || is_b) return is_a ? a : b;
    if (a->kind == GPUC_RTYPE_FUNC) return gpuc_relay_rtype_func(s->ctx, a->n, at, ret);
    return a->kind == GPUC_RTYPE_ADT ? gpuc_relay_rtype_adt(s->ctx, a->adt, a->n, at)
                                     : gpuc_relay_rtype_tuple(s->ctx, a->n, at);
}

/* With type parameters that are types of their own, which nothing else fits. */
static const gpuc_rtype *rigid(gpuc_relay_solver *s, const gpuc_rtype *t)
{
    if (!t->num_params) return t;
    const gpuc_rtype **vars = gpuc_new_array(s->ctx, const gpuc_rtype *, t->num_params);
    for (int i = 0; i < t->num_params; i++) vars[i] = gpuc_relay_rtype_var(s->ctx, t->params[i]->name);
    t = gpuc_relay_resolve(s, t);
    const gpuc_rtype *body = gpuc_relay_rtype_func(s->ctx, t->n, t->at, t->ret);
    return gpuc_relay_rtype_substitute(s->ctx, body, t->num_params, t->params, vars);
}

/* b is used where a function of type a is wanted. */
static const gpuc_rtype *give_function(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b,
                                       int depth)
{
    const gpuc_rtype *out = unify_parts(s, rigid(s, a), gpuc_relay_instantiate(s, b, NULL), GIVEN, depth);
    return out && (a->num_params || b->num_params) ? a : out;
}

static const gpuc_rtype *unify_functions(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b,
                                         fit how, int depth)
{
    if (how == GIVEN) return give_function(s, a, b, depth);
    if (a->num_params && b->num_params) {
        bool a_is_less = give_function(s, a, b, depth), known = !a->open && !b->open;
        if (!a_is_less && !(known && give_function(s, b, a, depth))) return NULL;
        return a_is_less == (how == JOIN) ? a : b;
    }
    if (how == MEET && (a->num_params || b->num_params)) {
        const gpuc_rtype *general = a->num_params ? a : b;
        return give_function(s, a->num_params ? b : a, general, depth) ? general : NULL;
    }
    return unify_parts(s, gpuc_relay_instantiate(s, a, NULL), gpuc_relay_instantiate(s, b, NULL), how, depth);
}

/* The type with new holes for the type parameters of a function, or of those in a tuple. */
static const gpuc_rtype *instance(gpuc_relay_solver *s, const gpuc_rtype *t, int depth)
{
    t = gpuc_relay_find(t);
    if (t->kind != GPUC_RTYPE_TUPLE) return gpuc_relay_instantiate(s, t, NULL);
    check_depth(s, depth);
    bool same = true;
    const gpuc_rtype **at = gpuc_new_array(s->ctx, const gpuc_rtype *, t->n + 1);
    for (int i = 0; i < t->n; i++) {
        at[i] = instance(s, t->at[i], depth + 1);
        same &= at[i] == gpuc_relay_find(t->at[i]);
    }
    return same ? t : gpuc_relay_rtype_tuple(s->ctx, t->n, at);
}

/* The hole that a known type is reached through, so that it can become less known. */
static const gpuc_rtype *last_hole(const gpuc_rtype *t)
{
    const gpuc_rtype *hole = NULL;
    for (; t->kind == GPUC_RTYPE_HOLE && t->hole->is; t = t->hole->is) hole = t;
    return hole && hole->hole->fixed ? NULL : hole;
}

static const gpuc_rtype *unify(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b, fit how,
                               int depth)
{
    const gpuc_rtype *hole_a = last_hole(a), *hole_b = last_hole(b), *out = NULL;
    a = gpuc_relay_find(a);
    b = gpuc_relay_find(b);
    if (a == b) return a;
    check_depth(s, depth);
    if (hole_b || b->kind == GPUC_RTYPE_HOLE)
        (hole_b ? hole_b : b)->hole->joins = false; /* it must be as general as what is wanted */
    if (a->kind == GPUC_RTYPE_HOLE) return fill(s, a, how == JOIN ? instance(s, b, depth) : b);
    if (b->kind == GPUC_RTYPE_HOLE) return fill(s, b, how == JOIN ? instance(s, a, depth) : a);
    if (a->kind != b->kind) return NULL;
    const fit inside = how == GIVEN && hole_a && hole_a->hole->joins ? JOIN : how;
    switch (a->kind) {
    case GPUC_RTYPE_TENSOR: out = unify_tensors(s, a, b, how == JOIN || (how == GIVEN && hole_a)); break;
    case GPUC_RTYPE_FUNC: out = unify_functions(s, a, b, inside, depth); break;
    case GPUC_RTYPE_TUPLE:
    case GPUC_RTYPE_ADT: out = unify_parts(s, a, b, inside, depth); break;
    case GPUC_RTYPE_VAR:
    case GPUC_RTYPE_HOLE:
    case GPUC_RTYPE_KIND_COUNT: break;
    }
    if (how != GIVEN) return out; /* a and b stay what they are */
    if (out && out != a && hole_a) hole_a->hole->is = out;
    if (out && out != b && hole_b) hole_b->hole->is = out;
    return out;
}

bool gpuc_relay_fits(gpuc_ctx *ctx, const gpuc_rtype *wanted, const gpuc_rtype *given)
{
    gpuc_relay_solver s = {.ctx = ctx};
    gpuc_map_init(&s.inside, ctx);
    return wanted->open || unify(&s, wanted, given, GIVEN, 0);
}

const gpuc_rtype *gpuc_relay_join_functions(gpuc_ctx *ctx, const gpuc_rtype *a, const gpuc_rtype *b)
{
    gpuc_relay_solver s = {.ctx = ctx};
    gpuc_map_init(&s.inside, ctx);
    if (a->open || b->open) return a;
    const gpuc_rtype *t = unify(&s, a, b, JOIN, 0);
    if (!t) gpuc_relay_type_fail(&s, "branches give functions of different types");
    return gpuc_relay_resolve(&s, t);
}

const gpuc_rtype *gpuc_relay_unify(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b)
{
    return unify(s, a, b, GIVEN, 0);
}

const gpuc_rtype *gpuc_relay_join(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b)
{
    return unify(s, a, b, JOIN, 0);
}
