/* SPDX-License-Identifier: Apache-2.0 */
/* Types of whole programs: a walk that gives each node a type, which may have holes, and unifies what must be the
 * same. A node that needs to know more of its operands waits for their holes. Functions whose return type is not
 * written come before those that call them. */
#include <string.h>

#include "relay/solve.h"

/* The type of an operand, with type parameters that are new holes. */
static const gpuc_rtype *type_of(gpuc_relay_solver *s, const gpuc_rexpr *e)
{
    return gpuc_relay_instantiate(s, e->type, NULL);
}

/* The message shows a part of the node if that stands inside of it: a variable stands where it is bound. */
static void show_part(gpuc_relay_solver *s, const gpuc_rexpr *part)
{
    const gpuc_relay_span *whole = &s->at->span, *at = &part->span;
    bool inside = at->line > whole->line || (at->line == whole->line && at->column > whole->column);
    if (at->text && at->text == whole->text && inside && part->kind != GPUC_REXPR_VAR) s->place = *at;
}

/* ---- Operators ---- */

/* A hole among the types of the arguments; NULL: all are known. */
static const gpuc_rtype *hole_in(const gpuc_rcall *c)
{
    for (int i = 0; i < c->n; i++) {
        const gpuc_rtype *t = gpuc_relay_find(c->args[i]->type);
        if (t->kind == GPUC_RTYPE_HOLE) return t;
        for (int k = 0; t->kind == GPUC_RTYPE_TUPLE && k < t->n; k++)
            if (gpuc_relay_find(t->at[k])->kind == GPUC_RTYPE_HOLE) return gpuc_relay_find(t->at[k]);
    }
    return NULL;
}

static const gpuc_tensor_type *known_tensor(const gpuc_rexpr *e)
{
    const gpuc_rtype *t = gpuc_relay_find(e->type);
    return t->kind == GPUC_RTYPE_TENSOR ? &t->tensor : NULL;
}

/* The weight of a dense layer or a convolution follows from its data and attributes. */
static void solve_weight(gpuc_relay_solver *s, const gpuc_rcall *c)
{
    const char *name = gpuc_as_rop(c->callee)->name;
    bool dense = !strcmp(name, "nn.dense"), bias = !strcmp(name, "nn.bias_add");
    int64_t units = gpuc_attrs_get_int(c->attrs, dense ? "units" : "channels", 0);
    const gpuc_tensor_type *data = c->n == 2 ? known_tensor(c->args[0]) : NULL;
    if (!data || gpuc_relay_find(c->args[1]->type)->kind != GPUC_RTYPE_HOLE || data->ndim < 1) return;
    gpuc_expr dims[GPUC_OP_MAX_DIMS];
    int n = 0;
    if (bias) {
        int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 1);
        if (axis < 0) axis += data->ndim;
        if (axis < 0 || axis >= data->ndim) return;
        dims[n++] = data->dims[axis];
    } else if (dense && units) {
        dims[n++] = gpuc_int(s->ctx, units);
        dims[n++] = data->dims[data->ndim - 1];
    } else if (!strcmp(name, "nn.conv2d") && units && data->ndim == 4) {
        const gpuc_attr *kernel = gpuc_attrs_find(c->attrs, "kernel_size");
        int64_t groups = gpuc_attrs_get_int(c->attrs, "groups", 1), in;
        if (!kernel || kernel->n != 2 || kernel->sizes || gpuc_attrs_find(c->attrs, "data_layout")) return;
        if (groups < 1 || !data->dims[1] || !gpuc_expr_is_int(data->dims[1], &in)) return;
        dims[n++] = gpuc_int(s->ctx, units);
        dims[n++] = gpuc_int(s->ctx, in / groups);
        for (int i = 0; i < 2; i++) dims[n++] = gpuc_int(s->ctx, kernel->ints[i]);
    } else {
        return;
    }
    const gpuc_rtype *t = gpuc_relay_rtype_tensor(s->ctx, data->dtype, n, dims);
    gpuc_relay_unify(s, c->args[1]->type, t);
    if (c->args[1]->kind == GPUC_REXPR_VAR)
        ((gpuc_rvar *)c->args[1])->annotation = t; /* the row has no such attribute */
}

/* Operators of TVM that take many tensors get them as one tuple; rows get them one by one. */
static void take_tuples_apart(gpuc_relay_solver *s, gpuc_rcall *c)
{
    gpuc_ptrs args = {0};
    for (int i = 0; i < c->n; i++) {
        const gpuc_rtype *t = c->args[i]->type;
        if (t->kind != GPUC_RTYPE_TUPLE) gpuc_ptrs_push(s->ctx, &args, c->args[i]);
        for (int k = 0; t->kind == GPUC_RTYPE_TUPLE && k < t->n; k++) {
            gpuc_rexpr *field = gpuc_relay_get(s->ctx, c->args[i], k);
            field->type = field->type ? gpuc_relay_resolve(s, field->type) : t->at[k];
            gpuc_ptrs_push(s->ctx, &args, field);
        }
    }
    c->n = (int)args.count;
    c->args = (gpuc_rexpr *const *)args.at;
}

static void set_type(gpuc_relay_solver *s, gpuc_rexpr *e, const gpuc_rtype *t)
{
    if (e->type && !gpuc_relay_unify(s, e->type, t))
        gpuc_relay_type_fail(s, "this is %s, it must be %s", gpuc_relay_type_text(s, t),
                             gpuc_relay_type_text(s, e->type));
    if (!e->type) e->type = t;
}

static void infer_op(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    gpuc_rcall *c = (gpuc_rcall *)e;
    bool is_row = gpuc_as_rop(c->callee)->op, is_new = !e->type || e->type->kind == GPUC_RTYPE_HOLE;
    if (is_row && !is_new && !s->check) return; /* a graph: its calls have types from the beginning */
    if (!is_row) solve_weight(s, c);
    const gpuc_rtype *hole = hole_in(c), *expected = e->type;
    if (hole) {
        if (!e->type) e->type = gpuc_relay_rtype_hole(s->ctx);
        gpuc_relay_wait(s, hole, e);
        return;
    }
    bool any = false;
    for (int i = 0; i < c->n; i++) {
        c->args[i]->type = gpuc_relay_resolve(s, c->args[i]->type);
        any |= c->args[i]->type->kind == GPUC_RTYPE_TUPLE;
    }
    if (any && !is_row) take_tuples_apart(s, c);
    const gpuc_expr *values = e->values;
    bool rebuilt = !is_row || e->type_before; /* what is named before in the text may be known by now */
    if (rebuilt && !s->check) c->attrs = gpuc_op_attrs_substitute(s->ctx, c->attrs, &s->sizes);
    if (is_row)
        gpuc_relay_infer_call(s->ctx, e);
    else
        gpuc_relay_complete_call(s->ctx, e);
    if (!is_row && e->type_before) { /* the text names its sizes */
        e->type = NULL;
        gpuc_relay_infer_call(s->ctx, e);
    }
    if (s->check) e->values = values;
    const gpuc_rtype *t = e->type;
    e->type = expected;
    set_type(s, e, t);
    if (expected && !s->check) e->type = t;
}

/* ---- Calls ---- */

static const char *callee_name(gpuc_relay_solver *s, const gpuc_rexpr *callee)
{
    if (callee->kind == GPUC_REXPR_GLOBAL)
        return gpuc_ctx_printf(s->ctx, "@%s", gpuc_as_rglobal(callee)->name);
    if (callee->kind == GPUC_REXPR_VAR) return gpuc_ctx_printf(s->ctx, "%%%s", gpuc_as_rvar(callee)->name);
    if (callee->kind == GPUC_REXPR_CONSTRUCTOR) return gpuc_as_rconstructor(callee)->constructor->name;
    return "the function";
}

static const gpuc_rtype *callee_type(gpuc_relay_solver *s, gpuc_rcall *c)
{
    const gpuc_rtype *t = gpuc_relay_find(c->callee->type);
    gpuc_ptrs args = {0};
    if (t->kind != GPUC_RTYPE_FUNC || !t->num_params) return t;
    t = gpuc_relay_instantiate(s, t, &args);
    for (int i = 0; i < c->num_type_args && i < (int)args.count; i++)
        if (!gpuc_relay_unify(s, args.at[i], c->type_args[i]))
            gpuc_relay_type_fail(s, "type argument %d does not fit", i);
    c->num_type_args = (int)args.count;
    c->type_args = (const gpuc_rtype *const *)args.at;
    return t;
}

/* While the arguments of a call are looked at, functions that they give for one type parameter join, as branches do. */
static void set_joins(const gpuc_rcall *c, bool joins)
{
    for (int i = 0; i < c->num_type_args; i++) {
        const gpuc_rtype *t = c->type_args[i];
        if (t->kind == GPUC_RTYPE_HOLE) t->hole->joins = joins && !t->hole->is;
    }
}

/* The type of a parameter, with the sizes that arguments say. */
static const gpuc_rtype *wanted_argument(gpuc_relay_solver *s, const gpuc_rtype *param, gpuc_map *sizes)
{
    bool named = sizes->count && param->symbolic && !param->open;
    return named ? gpuc_relay_with_named_sizes(s->ctx, param, sizes, false) : param;
}

static void check_argument(gpuc_relay_solver *s, const gpuc_rcall *c, int i, const gpuc_rtype *wanted,
                           const char *name, const char *hint)
{
    const gpuc_rtype *t = type_of(s, c->args[i]);
    if (gpuc_relay_unify(s, wanted, t)) return;
    show_part(s, c->args[i]);
    gpuc_relay_type_fail(s, "argument %d of %s is %s, it must be %s%s", i, name, gpuc_relay_type_text(s, t),
                         gpuc_relay_type_text(s, wanted), hint);
}

/* The type that says sizes of a variable. */
static const gpuc_rtype *type_that_says(const gpuc_rexpr *var)
{
    const gpuc_rtype *written = gpuc_relay_get_annotation(var);
    return written ? written : var->type ? gpuc_relay_find(var->type) : NULL;
}

static bool says(gpuc_relay_solver *s, const gpuc_rexpr *var, gpuc_expr size)
{
    gpuc_map sizes;
    gpuc_map_init(&sizes, s->ctx);
    gpuc_relay_rtype_find_sizes(type_that_says(var), &sizes);
    return gpuc_map_get(&sizes, size);
}

/* Sizes of a local function's result. What is in scope around it is the same size in each of its calls: where an argument has
 * another, or may have, the size is not known. */
static void add_sizes_around(gpuc_relay_solver *s, const gpuc_rexpr *callee, gpuc_map *sizes)
{
    const gpuc_rexpr *self =
        gpuc_map_get(&s->selves, callee); /* its own are in scope where it calls itself */
    for (uint32_t i = 0; i < sizes->count; i++) {
        gpuc_expr size = sizes->entries[i].key, is = sizes->entries[i].value;
        uintptr_t own = 0;
        if (size == is || !gpuc_map_get(&s->around, size)) continue;
        for (int k = 0; self && k < gpuc_as_rfunction(self)->n; k++)
            own += says(s, gpuc_as_rfunction(self)->params[k], size);
        if ((uintptr_t)gpuc_map_get(&s->around, size) > own) gpuc_map_set(sizes, size, NULL);
    }
    for (uint32_t i = 0; i < s->around.count; i++) {
        const gpuc_map_entry *e = &s->around.entries[i];
        if (e->value && !gpuc_map_has(sizes, e->key)) gpuc_map_set(sizes, e->key, (void *)(uintptr_t)e->key);
    }
}

static void run_ready(gpuc_relay_solver *s);

/* What waited for holes that are known now. */
static void infer_waiting(gpuc_relay_solver *s)
{
    const gpuc_rexpr *at = s->at;
    const gpuc_relay_span place = s->place;
    run_ready(s);
    s->at = at;
    s->place = place;
}

static void infer_call(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    gpuc_rcall *c = (gpuc_rcall *)e;
    if (c->callee->kind == GPUC_REXPR_OP) {
        infer_op(s, e);
        return;
    }
    const gpuc_rtype *f = callee_type(s, c);
    bool itself = c->num_type_args && c->type_args[0]->kind == GPUC_RTYPE_VAR && f->open;
    const char *hint = itself ? ": write the types of all parameters and of the result" : "";
    const char *name = callee_name(s, c->callee);
    if (f->kind == GPUC_RTYPE_HOLE) {
        const gpuc_rtype **args = gpuc_new_array(s->ctx, const gpuc_rtype *, c->n + 1);
        for (int i = 0; i < c->n; i++) args[i] = type_of(s, c->args[i]);
        const gpuc_rtype *ret = gpuc_relay_rtype_hole(s->ctx);
        gpuc_relay_unify(s, f, gpuc_relay_rtype_func(s->ctx, c->n, args, ret));
        set_type(s, e, ret);
        return;
    }
    if (f->kind != GPUC_RTYPE_FUNC)
        gpuc_relay_type_fail(s, "%s is %s, no function that could be called", name,
                             gpuc_relay_type_text(s, f));
    if (f->n != c->n) gpuc_relay_type_fail(s, "%s takes %d arguments, not %d", name, f->n, c->n);
    gpuc_map sizes;
    gpuc_map_init(&sizes, s->ctx);
    set_joins(c, true);
    for (int i = 0; i < c->n; i++) {
        check_argument(s, c, i, wanted_argument(s, f->at[i], &sizes), name, hint);
        const gpuc_rtype *param = c->num_type_args ? f->at[i] : gpuc_relay_resolve(s, f->at[i]);
        gpuc_relay_note_named_sizes(&sizes, param, c->args[i]->type);
    }
    for (int i = 0; i < c->n; i++) { /* arguments behind one may say its sizes */
        const gpuc_rtype *wanted = wanted_argument(s, f->at[i], &sizes);
        if (wanted != f->at[i]) check_argument(s, c, i, wanted, name, hint);
    }
    set_joins(c, false);
    if (gpuc_relay_find(f->ret)->kind == GPUC_RTYPE_HOLE) infer_waiting(s); /* for types of parameters */
    /* what stands for type parameters has the sizes of the caller */
    const gpuc_rtype *ret = c->num_type_args ? f->ret : gpuc_relay_resolve(s, f->ret);
    if (c->callee->kind != GPUC_REXPR_GLOBAL && ret->symbolic) add_sizes_around(s, c->callee, &sizes);
    ret = gpuc_relay_with_named_sizes(s->ctx, ret, &sizes, true);
    ret = gpuc_relay_resolve(s, ret);
    set_type(s, e, gpuc_relay_rtype_keep_any(s->ctx, ret, e->type_before));
}

/* ---- Other nodes ---- */

static void infer_global(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const char *name = gpuc_as_rglobal(e)->name;
    const gpuc_map *all = &s->module->functions.map;
    const gpuc_rexpr *f = gpuc_strmap_get(&s->module->functions, name);
    if (f) {
        e->type = f->type;
        return;
    }
    const char **names = gpuc_new_array(s->ctx, const char *, all->count + 1);
    for (uint32_t i = 0; i < all->count; i++) names[i] = all->entries[i].key;
    const char *near = gpuc_suggest(name, names, all->count);
    gpuc_relay_type_fail(s, "the module has no function '@%s'%s%s%s", name, near ? "; did you mean '@" : "",
                         near ? near : "", near ? "'?" : "");
}

static void infer_get(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const gpuc_rget *g = gpuc_as_rget(e);
    const gpuc_rtype *t = gpuc_relay_find(g->tuple->type);
    if (t->kind == GPUC_RTYPE_HOLE) {
        if (!e->type) e->type = gpuc_relay_rtype_hole(s->ctx);
        gpuc_relay_wait(s, t, e);
        return;
    }
    if (t->kind != GPUC_RTYPE_TUPLE || g->index >= t->n || g->index < 0)
        gpuc_relay_type_fail(s, "there is no field %d in %s", g->index, gpuc_relay_type_text(s, t));
    set_type(s, e, t->at[g->index]);
}

static void infer_function(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    const gpuc_rtype *own = e->type ? gpuc_relay_find(e->type) : NULL;
    const gpuc_rtype *ret = f->ret ? f->ret : own && own->kind == GPUC_RTYPE_FUNC ? own->ret : NULL;
    bool free =
        !ret || gpuc_relay_find(ret)->kind == GPUC_RTYPE_HOLE; /* it may give what has type parameters */
    const gpuc_rtype *body = free ? f->body->type : type_of(s, f->body);
    if (ret && !gpuc_relay_unify(s, ret, body)) {
        show_part(s, f->body);
        gpuc_relay_type_fail(s, "the function gives %s, it must give %s", gpuc_relay_type_text(s, body),
                             gpuc_relay_type_text(s, ret));
    }
    if (own) return;
    const gpuc_rtype **types = gpuc_new_array(s->ctx, const gpuc_rtype *, f->n + 1);
    for (int i = 0; i < f->n; i++) types[i] = f->params[i]->type;
    e->type =
        gpuc_relay_rtype_scheme(s->ctx, f->num_type_params, f->type_params, f->n, types, ret ? ret : body);
}

static void infer_if(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const gpuc_rif *f = gpuc_as_rif(e);
    const gpuc_rtype *t = type_of(s, f->cond);
    if (!gpuc_relay_unify(s, t, gpuc_relay_rtype_tensor(s->ctx, GPUC_BOOL, 0, NULL))) {
        show_part(s, f->cond);
        gpuc_relay_type_fail(s, "the condition is %s, it must be bool", gpuc_relay_type_text(s, t));
    }
    const gpuc_rtype *a = f->then_branch->type, *b = f->else_branch->type;
    t = gpuc_relay_join(s, a, b);
    if (!t)
        gpuc_relay_type_fail(s, "the branches have different types: %s and %s", gpuc_relay_type_text(s, a),
                             gpuc_relay_type_text(s, b));
    set_type(s, e, gpuc_relay_rtype_keep_any(s->ctx, t, e->type_before));
}

static void infer_match(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const gpuc_rmatch *m = gpuc_as_rmatch(e);
    const gpuc_rtype *t = NULL;
    for (int i = 0; i < m->n; i++) {
        const gpuc_rexpr *body = m->clauses[i].body;
        const gpuc_rtype *one = body->type, *both = t ? gpuc_relay_join(s, t, one) : one;
        if (!both) {
            s->place = body->span.text ? body->span : m->clauses[i].pattern->span;
            gpuc_relay_type_fail(s, "the clauses have different types: %s, and before it %s",
                                 gpuc_relay_type_text(s, one), gpuc_relay_type_text(s, t));
        }
        t = both;
    }
    gpuc_relay_check_exhaustive(s, m);
    if (!t) t = gpuc_relay_rtype_hole(s->ctx);
    set_type(s, e, gpuc_relay_rtype_keep_any(s->ctx, t, e->type_before));
}

/* The value is known, the body comes next. */
static void bind_let(gpuc_relay_solver *s, const gpuc_rlet *l)
{
    gpuc_rexpr *var = l->var;
    if (!var->values) var->values = l->value->values;
    if (var->type == l->value->type) return;
    if (!var->type) {
        var->type = l->value->type;
        return;
    }
    const gpuc_rtype *t = type_of(s, l->value);
    if (gpuc_relay_unify(s, var->type, t)) return;
    show_part(s, l->value);
    gpuc_relay_type_fail(s, "%%%s is %s, its value %s", gpuc_as_rvar(var)->name,
                         gpuc_relay_type_text(s, var->type), gpuc_relay_type_text(s, t));
}

/* What was found with the type of a variable holds for all that it gets: that type does not change. */
static void fix(const gpuc_rtype *t)
{
    t = gpuc_relay_find(t);
    if (t->kind == GPUC_RTYPE_HOLE) t->hole->fixed = true;
}

/* All operands have types. */
static void infer(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    s->at = e;
    s->place = (gpuc_relay_span){0};
    s->work = 0;
    switch (e->kind) {
    case GPUC_REXPR_VAR:
        if (!e->type) e->type = gpuc_relay_rtype_hole(s->ctx);
        fix(e->type);
        break;
    case GPUC_REXPR_GLOBAL: infer_global(s, e); break;
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    case GPUC_REXPR_CALL: infer_call(s, e); break;
    case GPUC_REXPR_TUPLE: {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        const gpuc_rtype **fields = gpuc_new_array(s->ctx, const gpuc_rtype *, t->n + 1);
        for (int i = 0; i < t->n; i++) fields[i] = t->fields[i]->type;
        set_type(s, e, gpuc_relay_rtype_tuple(s->ctx, t->n, fields));
        break;
    }
    case GPUC_REXPR_GET: infer_get(s, e); break;
    case GPUC_REXPR_LET: set_type(s, e, gpuc_as_rlet(e)->body->type); break;
    case GPUC_REXPR_FUNCTION: infer_function(s, e); break;
    case GPUC_REXPR_IF: infer_if(s, e); break;
    case GPUC_REXPR_MATCH: infer_match(s, e); break;
    }
    gpuc_relay_note_sizes(&s->sizes, e->type_before, e->type);
}

/* ---- The walk ---- */

typedef struct frame {
    gpuc_rexpr *e;
    int next;
    size_t said; /* how many sizes were in scope */
} frame;

/* The type of a function before its body is known. */
static void declare(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    if (e->type) return;
    const gpuc_rtype **types = gpuc_new_array(s->ctx, const gpuc_rtype *, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        if (!f->params[i]->type) f->params[i]->type = gpuc_relay_rtype_hole(s->ctx);
        types[i] = f->params[i]->type;
    }
    e->type = gpuc_relay_rtype_scheme(s->ctx, f->num_type_params, f->type_params, f->n, types,
                                      f->ret ? f->ret : gpuc_relay_rtype_hole(s->ctx));
}

/* A function that calls itself has its type parameters before its body is known, and so it has types of parameters, whose
 * sizes differ from call to call. */
static void declare_let(gpuc_relay_solver *s, const gpuc_rlet *l)
{
    if (l->var->type || l->value->kind != GPUC_REXPR_FUNCTION) return;
    const gpuc_rfunction *f = gpuc_as_rfunction(l->value);
    bool written = true;
    for (int i = 0; i < f->n; i++) written &= gpuc_relay_get_annotation(f->params[i]) != NULL;
    if (!f->num_type_params && !written) return;
    declare(s, l->value);
    l->var->type = l->value->type;
}

/* Variables come into scope. */
static void say_all(gpuc_relay_solver *s, int n, gpuc_rexpr *const *vars)
{
    for (int i = 0; i < n; i++) {
        gpuc_map sizes;
        gpuc_map_init(&sizes, s->ctx);
        gpuc_relay_rtype_find_sizes(type_that_says(vars[i]), &sizes);
        for (uint32_t k = 0; k < sizes.count; k++) {
            const void *size = sizes.entries[k].value;
            if (!size) continue;
            uintptr_t said = (uintptr_t)gpuc_map_get(&s->around, size);
            gpuc_map_set(&s->around, size, (void *)(said + 1));
            gpuc_ptrs_push(s->ctx, &s->said, size);
        }
    }
}

/* Those that came since then leave it. */
static void unsay(gpuc_relay_solver *s, size_t since)
{
    while (s->said.count > since) {
        const void *size = s->said.at[--s->said.count];
        gpuc_map_set(&s->around, size, (void *)((uintptr_t)gpuc_map_get(&s->around, size) - 1));
    }
}

/* What happens between the operands of a node. */
static void between(gpuc_relay_solver *s, gpuc_rexpr *e, int next)
{
    if (next == 0 && e->kind == GPUC_REXPR_LET) {
        const gpuc_rlet *l = gpuc_as_rlet(e);
        declare_let(s, l);
        if (l->value->kind == GPUC_REXPR_FUNCTION) gpuc_map_set(&s->selves, l->var, l->value);
    }
    if (next != 1 || (e->kind != GPUC_REXPR_LET && e->kind != GPUC_REXPR_MATCH)) return;
    s->at = e;
    s->place = (gpuc_relay_span){0};
    if (e->kind == GPUC_REXPR_LET) {
        bind_let(s, gpuc_as_rlet(e));
        gpuc_map_set(&s->selves, gpuc_as_rlet(e)->var, NULL);
        say_all(s, 1, &gpuc_as_rlet(e)->var);
    } else {
        gpuc_relay_infer_patterns(s, gpuc_as_rmatch(e));
        say_all(s, gpuc_as_rmatch(e)->num_vars, gpuc_as_rmatch(e)->vars);
    }
}

static void run_ready(gpuc_relay_solver *s)
{
    while (s->ready.count) {
        gpuc_rexpr *e = s->ready.at[--s->ready.count];
        gpuc_map_set(&s->waiting, e, NULL);
        infer(s, e);
    }
}

/* The walk goes into a function, or comes out of it. */
static void enter(gpuc_relay_solver *s, const gpuc_rexpr *e, bool in)
{
    if (e->kind != GPUC_REXPR_FUNCTION) return;
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    for (int i = 0; i < f->num_type_params; i++) gpuc_map_set(&s->inside, f->type_params[i], in ? s : NULL);
    if (in) say_all(s, f->n, f->params);
}

static void walk(gpuc_relay_solver *s, gpuc_rexpr *root)
{
    size_t capacity = 0, depth = 0;
    frame *stack = gpuc_ctx_grow(s->ctx, NULL, 0, &capacity, sizeof *stack);
    gpuc_map_set(&s->done, root, root);
    stack[depth++] = (frame){root, 0, s->said.count};
    while (depth) {
        frame *top = &stack[depth - 1];
        if (top->next == 0) enter(s, top->e, true);
        between(s, top->e, top->next);
        gpuc_rexpr *c = gpuc_relay_operand(top->e, top->next);
        if (!c) {
            infer(s, top->e);
            enter(s, top->e, false);
            unsay(s, top->said);
            run_ready(s);
            gpuc_ptrs_push(s->ctx, &s->visited, top->e);
            depth--;
            continue;
        }
        top->next++;
        if (gpuc_map_has(&s->done, c)) continue;
        gpuc_map_set(&s->done, c, c);
        stack = gpuc_ctx_grow(s->ctx, stack, depth, &capacity, sizeof *stack);
        stack[depth++] = (frame){c, 0, s->said.count};
    }
}

/* ---- Modules ---- */

/* Functions below e, which the order of inference depends on: those without a return type. */
static void open_callees(gpuc_relay_solver *s, gpuc_rexpr *e, gpuc_ptrs *out)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(s->ctx, e, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *g = order.at[i];
        if (g->kind != GPUC_REXPR_GLOBAL) continue;
        gpuc_rexpr *f = gpuc_strmap_get(&s->module->functions, gpuc_as_rglobal(g)->name);
        if (f && f->type->open) gpuc_ptrs_push(s->ctx, out, f);
    }
}

typedef struct visit {
    gpuc_rexpr *f;
    gpuc_ptrs callees;
    size_t next;
} visit;

/* Walks a function after those that it calls and whose types are not written. */
static void walk_function(gpuc_relay_solver *s, gpuc_rexpr *f, gpuc_map *begun)
{
    gpuc_ptrs stack = {0};
    visit *v = gpuc_new(s->ctx, visit);
    v->f = f;
    if (gpuc_map_has(begun, f)) return;
    gpuc_map_set(begun, f, f);
    open_callees(s, f, &v->callees);
    gpuc_ptrs_push(s->ctx, &stack, v);
    while (stack.count) {
        v = stack.at[stack.count - 1];
        if (v->next == v->callees.count) {
            walk(s, v->f);
            v->f->type = gpuc_relay_resolve(s, v->f->type);
            stack.count--;
            continue;
        }
        gpuc_rexpr *callee = v->callees.at[v->next++];
        if (gpuc_map_has(begun, callee)) continue;
        gpuc_map_set(begun, callee, callee);
        visit *deeper = gpuc_new(s->ctx, visit);
        deeper->f = callee;
        open_callees(s, callee, &deeper->callees);
        gpuc_ptrs_push(s->ctx, &stack, deeper);
    }
}

/* Types without holes; what still waits does so for an input that nothing says the type of. */
static void finish(gpuc_relay_solver *s)
{
    for (size_t i = 0; i < s->visited.count; i++) {
        gpuc_rexpr *e = s->visited.at[i];
        if (e->kind == GPUC_REXPR_OP) continue;
        s->at = e;
        s->place = (gpuc_relay_span){0};
        s->work = 0;
        if (gpuc_map_get(&s->waiting, e))
            gpuc_relay_type_fail(
                s, "the type of an operand is not known: write it, as in %%x: Tensor[(2), float32]");
        const gpuc_rtype *t = gpuc_relay_resolve(s, e->type);
        if (t->open)
            gpuc_relay_type_fail(s, "the type is not known, only %s: write it where it begins",
                                 gpuc_relay_type_text(s, t));
        e->type = t;
        gpuc_rcall *c = e->kind == GPUC_REXPR_CALL ? (gpuc_rcall *)e : NULL;
        const gpuc_rtype **args =
            c && c->num_type_args ? gpuc_new_array(s->ctx, const gpuc_rtype *, c->num_type_args) : NULL;
        for (int k = 0; args && k < c->num_type_args; k++) args[k] = gpuc_relay_resolve(s, c->type_args[k]);
        if (args) c->type_args = args;
    }
}

static void infer_all(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_solver *s = arg;
    const gpuc_map *all = &s->module->functions.map;
    gpuc_map begun;
    gpuc_map_init(&begun, ctx);
    gpuc_map_init(&s->waiting, ctx);
    gpuc_map_init(&s->done, ctx);
    gpuc_map_init(&s->inside, ctx);
    gpuc_map_init(&s->around, ctx);
    gpuc_map_init(&s->selves, ctx);
    gpuc_map_init(&s->sizes, ctx);
    for (uint32_t i = s->first; i < all->count; i++) declare(s, all->entries[i].value);
    for (uint32_t i = s->first; i < all->count; i++) walk_function(s, all->entries[i].value, &begun);
    finish(s);
    for (uint32_t i = s->first; i < all->count; i++) gpuc_relay_check_type_params(s, all->entries[i].value);
}

/* "in @f: the call of add: ", where the node has no place in text. */
static const char *function_of(gpuc_relay_solver *s)
{
    const gpuc_map *all = &s->module->functions.map;
    for (uint32_t i = s->first; s->at && i < all->count; i++) {
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(s->ctx, all->entries[i].value, true, &order);
        for (size_t k = 0; k < order.count; k++)
            if (order.at[k] == s->at)
                return gpuc_ctx_printf(s->ctx, "in @%s: %s: ", (const char *)all->entries[i].key,
                                       gpuc_relay_describe(s->ctx, s->at));
    }
    return "";
}

static void solve(gpuc_relay_solver *s, gpuc_code given)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_status status = gpuc_ctx_protect(ctx, infer_all, s);
    if (!status) return;
    gpuc_code code = gpuc_status_code(status);
    gpuc_relay_span place = s->place.text || !s->at ? s->place : s->at->span;
    const char *message = gpuc_ctx_strdup(ctx, gpuc_status_message(status));
    if (code != GPUC_OUT_OF_MEMORY && !place.text)
        message = gpuc_ctx_printf(ctx, "%s%s", function_of(s), message);
    message = gpuc_relay_located(ctx, place, message);
    gpuc_status_release(status);
    gpuc_raise(ctx, code == GPUC_INVALID_ARGUMENT ? given : code, "%s", message);
}

void gpuc_relay_infer_module(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    gpuc_relay_need(ctx, "inferring types", "module", m);
    gpuc_relay_check_scopes(ctx, m, GPUC_INVALID_ARGUMENT);
    gpuc_relay_infer_functions(ctx, m, 0);
}

void gpuc_relay_infer_functions(gpuc_ctx *ctx, gpuc_rmodule *m, uint32_t first)
{
    gpuc_relay_solver s = {.ctx = ctx, .module = m, .first = first};
    solve(&s, GPUC_INVALID_ARGUMENT);
}

void gpuc_relay_check_types(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code)
{
    gpuc_relay_solver s = {.ctx = ctx, .module = (gpuc_rmodule *)m, .check = true};
    solve(&s, code);
}
