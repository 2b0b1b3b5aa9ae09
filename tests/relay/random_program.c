/* SPDX-License-Identifier: Apache-2.0 */
/* Makes random programs from the type that each part must have. */
#include "random_program.h"

enum { MAX_VARS = 64, MAX_RIGHTS = 16, MAX_DEPTH = 7, TRIES = 6, ATTEMPTS = 60 };

/* A call that recursion may make here: of a function, or of a variable, with a smaller first argument. */
typedef struct right {
    const rp_function *function;
    rp_var *callee, *from;
    bool counts; /* the argument is from - 1, else from itself */
} right;

typedef struct maker {
    rp_program *p;
    fx_rng *r;
    rp_var *vars[MAX_VARS];
    right rights[MAX_RIGHTS];
    int num_vars, num_rights, left, depth, nested;
    int num_types; /* type parameters in scope */
    int group;
    const rp_function *function;
} maker;

static rp_expr *make(void *arg, const rp_type *t);
static rp_expr *call_of(maker *g, const rp_type *t, rp_expr *callee, rp_expr *first);
static rp_expr *leaf(maker *g, const rp_type *t);

static int below(maker *g, int n)
{
    return fx_below(g->r, n);
}

static bool chance(maker *g, int of)
{
    return below(g, of) == 0;
}

rp_expr *rp_new(rp_program *p, rp_kind kind, const rp_type *type)
{
    rp_expr *e = gpuc_new(p->ctx, rp_expr);
    *e = (rp_expr){.kind = kind, .type = type, .id = p->next_id++};
    return e;
}

static rp_var *new_var(maker *g, const rp_type *type)
{
    rp_var *v = gpuc_new(g->p->ctx, rp_var);
    *v = (rp_var){.type = type, .id = g->p->next_id++};
    return v;
}

static void bind(maker *g, rp_var *v)
{
    if (g->num_vars < MAX_VARS) g->vars[g->num_vars++] = v;
}

static void allow(maker *g, right r)
{
    if (g->num_rights < MAX_RIGHTS) g->rights[g->num_rights++] = r;
}

static rp_expr *use(maker *g, rp_var *v)
{
    rp_expr *e = rp_new(g->p, RP_VAR, v->type);
    e->var = v;
    return e;
}

static rp_expr *number(maker *g, const rp_type *t, int value)
{
    rp_expr *e = rp_new(g->p, RP_SCALAR, t);
    e->number = value;
    return e;
}

/* ---- Types ---- */

static const rp_type *random_tensor(maker *g)
{
    static const int shapes[][RP_RANK + 1] = {{1, 3}, {1, 2}, {2, 2, 3}, {2, 1, 3}, {2, 2, 1}, {3, 2, 1, 2}};
    static const rp_element elements[] = {RP_INT32,   RP_INT32,   RP_INT32, RP_BOOL,
                                          RP_FLOAT32, RP_FLOAT32, RP_INT64, RP_INT8};
    rp_element e = elements[below(g, 8)];
    const int *shape = shapes[below(g, 6)];
    return chance(g, 3) ? rp_tensor(g->p, e, shape[0], shape + 1) : rp_scalar(g->p, e);
}

static const rp_type *random_type(maker *g, int depth);

static const rp_type *random_data(maker *g, const rp_data *d, int depth)
{
    const rp_type *args[RP_FIELDS];
    for (int i = 0; i < d->num_params; i++) args[i] = random_type(g, depth - 1);
    return rp_data_of(g->p, d, args);
}

/* Type arguments that nothing decides. */
static void fill(maker *g, int n, const rp_type **args)
{
    for (int i = 0; i < n; i++)
        if (!args[i]) args[i] = random_type(g, 0);
}

/* A function of the program that may be called here; NULL. */
static const rp_function *callable(maker *g)
{
    const rp_function *found[RP_FUNCTIONS];
    int n = 0;
    for (int i = 0; i < g->p->num_functions; i++) {
        const rp_function *f = g->p->functions[i];
        if (f->group >= 0 && f->group < g->group) found[n++] = f;
    }
    return n ? found[below(g, n)] : NULL;
}

/* The type of a variable, or of what a function gives or takes. */
static const rp_type *familiar(maker *g)
{
    const rp_type *args[RP_FIELDS] = {0};
    const rp_function *f = chance(g, 2) ? callable(g) : NULL;
    if (!f) {
        const rp_var *v = g->num_vars ? g->vars[below(g, g->num_vars)] : NULL;
        return v && !v->num_types ? v->type : NULL;
    }
    fill(g, f->num_types, args);
    bool takes = f->n && chance(g, 3);
    return rp_substitute(g->p, takes ? f->params[below(g, f->n)] : f->ret, args);
}

static const rp_type *random_type(maker *g, int depth)
{
    const rp_type *at[RP_FIELDS];
    int n = 1 + below(g, 3), what = below(g, 12);
    const rp_type *known = depth > 0 && chance(g, 2) ? familiar(g) : NULL;
    if (known) return known;
    if (g->num_types && chance(g, 4)) return rp_param(g->p, below(g, g->num_types));
    if (depth <= 0 || what < 6) return random_tensor(g);
    if (what < 8) {
        if (chance(g, 8)) n = 0;
        for (int i = 0; i < n; i++) at[i] = random_type(g, depth - 1);
        return rp_tuple(g->p, n, at);
    }
    if (what < 9) {
        n = below(g, 3);
        for (int i = 0; i < n; i++) at[i] = random_type(g, depth - 1);
        return rp_fn(g->p, n, at, random_type(g, depth - 1));
    }
    return random_data(g, g->p->data.at[below(g, (int)g->p->data.count)], depth);
}

/* No functions, in fields of data either; where data has fields of its own type, as far as levels say. */
static bool first_order(rp_program *p, const rp_type *t, int levels)
{
    if (t->kind == RP_FN) return false;
    for (int i = 0; i < t->n; i++)
        if (!first_order(p, t->at[i], levels)) return false;
    for (int c = 0; levels && t->kind == RP_DATA && c < t->data->n; c++)
        for (int i = 0; i < t->data->at[c].n; i++)
            if (!first_order(p, rp_substitute(p, t->data->at[c].fields[i], t->at), levels - 1)) return false;
    return true;
}

static const rp_type *plain_type(maker *g)
{
    for (int i = 0; i < 20; i++) {
        const rp_type *t = random_type(g, 2);
        if (first_order(g->p, t, 4)) return t;
    }
    return rp_scalar(g->p, RP_INT32);
}

/* ---- Leaves ---- */

static rp_expr *from_var(maker *g, const rp_type *t)
{
    rp_var *found[MAX_VARS];
    int n = 0;
    for (int i = 0; i < g->num_vars; i++)
        if (g->vars[i]->type == t && !g->vars[i]->num_types) found[n++] = g->vars[i];
    return n ? use(g, found[below(g, n)]) : NULL;
}

static rp_expr *constructed(maker *g, const rp_type *t, int which, rp_expr *(*part)(maker *, const rp_type *))
{
    rp_expr *e = rp_new(g->p, RP_MAKE, t);
    e->maker = &t->data->at[which];
    e->n = e->maker->n;
    for (int i = 0; i < e->n; i++) e->at[i] = part(g, rp_substitute(g->p, e->maker->fields[i], t->at));
    return e;
}

static rp_expr *lambda(maker *g, const rp_type *t, rp_expr *(*body)(maker *, const rp_type *))
{
    rp_expr *e = rp_new(g->p, RP_LAMBDA, t);
    int vars = g->num_vars;
    e->num_params = t->n;
    e->n = 1;
    for (int i = 0; i < t->n; i++) bind(g, e->params[i] = new_var(g, t->at[i]));
    e->at[0] = body(g, t->ret);
    g->num_vars = vars;
    return e;
}

/* The last constructor of a type has no field of the type itself. */
static int any_constructor(maker *g, const rp_data *d)
{
    return d->n > 1 && g->nested < 4 && below(g, 3) ? below(g, d->n - 1) : d->n - 1;
}

static rp_expr *leaf(maker *g, const rp_type *t)
{
    rp_expr *e = below(g, 3) ? from_var(g, t) : NULL;
    if (e) return e;
    switch (t->kind) {
    case RP_TENSOR:
        if (!t->ndim) return number(g, t, t->element == RP_BOOL ? below(g, 2) : below(g, 9) - 3);
        e = rp_new(g->p, RP_CONSTANT, t);
        e->number = below(g, 1000);
        return e;
    case RP_TUPLE:
        e = rp_new(g->p, RP_MAKE_TUPLE, t);
        e->n = t->n;
        for (int i = 0; i < t->n; i++) e->at[i] = leaf(g, t->at[i]);
        return e;
    case RP_FN: return lambda(g, t, leaf);
    case RP_DATA: {
        int which = any_constructor(g, t->data);
        g->nested++;
        e = constructed(g, t, which, leaf);
        g->nested--;
        return e;
    }
    case RP_PARAM: break;
    }
    e = from_var(g, t);
    GPUC_CHECK(e != NULL);
    return e;
}

/* ---- Expressions of any type ---- */

static rp_expr *made(maker *g, const rp_type *t)
{
    return make(g, t);
}

static rp_expr *counting(maker *g, const rp_type *t, rp_var *counter, int before)
{
    rp_expr *e = rp_new(g->p, RP_IF, t);
    right kept[MAX_RIGHTS];
    int all = g->num_rights;
    memcpy(kept, g->rights, sizeof kept);
    e->n = 3;
    e->at[0] =
        rp_binary(g->p, "less", rp_scalar(g->p, RP_BOOL), use(g, counter), number(g, counter->type, 1));
    g->num_rights = before;
    int budget = g->left;
    g->left = budget / 3;
    e->at[1] = make(g, t);
    g->left += budget - budget / 3;
    memcpy(g->rights, kept, sizeof kept); /* what was made in between had some of its own */
    g->num_rights = all;
    e->at[2] = make(g, t);
    g->num_rights = before;
    return e;
}

/* A local function that calls itself: fn (%n, ...) { if (%n < 1) { ... } else { ... } }. */
static rp_expr *local_recursion(maker *g, const rp_type *ret, rp_var **var)
{
    const rp_type *at[RP_PARAMS] = {rp_scalar(g->p, RP_INT32)};
    int n = 1 + below(g, RP_PARAMS), vars = g->num_vars, rights = g->num_rights;
    for (int i = 1; i < n; i++) at[i] = random_type(g, 1);
    const rp_type *t = rp_fn(g->p, n, at, ret);
    rp_expr *e = rp_new(g->p, RP_LAMBDA, t);
    *var = new_var(g, t);
    (*var)->counter = true;
    e->itself = true;
    e->var = *var;
    e->num_params = n;
    e->n = 1;
    for (int i = 0; i < n; i++) bind(g, e->params[i] = new_var(g, at[i]));
    allow(g, (right){.callee = *var, .from = e->params[0], .counts = true});
    e->at[0] = counting(g, t->ret, e->params[0], rights);
    g->num_vars = vars;
    return e;
}

/* fn [C](%x: C, ...) { ... }: with type parameters of its own, which only calls give types. */
static rp_expr *local_generic(maker *g, rp_var **var)
{
    const rp_type *at[RP_PARAMS];
    int own = 1 + below(g, 2), n = 0, first = g->num_types;
    g->num_types += own;
    for (int i = 0; i < own; i++) at[n++] = rp_param(g->p, first + i);
    while (n < RP_PARAMS && chance(g, 2)) at[n++] = random_type(g, 1);
    const rp_type *ret = random_type(g, 1);
    rp_expr *e = lambda(g, rp_fn(g->p, n, at, ret), made);
    g->num_types -= own;
    *var = new_var(g, e->type);
    (*var)->num_types = own;
    (*var)->first_type = first;
    return e;
}

static rp_expr *from_let(maker *g, const rp_type *t)
{
    rp_expr *e = rp_new(g->p, RP_LET, t);
    int vars = g->num_vars;
    bool called = false; /* at once */
    e->n = 2;
    if (chance(g, 4)) {
        called = below(g, 3);
        e->at[0] = local_recursion(g, called ? t : random_type(g, 1), &e->var);
    } else if (chance(g, 4) && g->num_types < RP_FIELDS - 2) {
        e->at[0] = local_generic(g, &e->var);
    } else {
        const rp_type *bound = random_type(g, 2);
        e->at[0] = make(g, bound);
        e->var = new_var(g, bound);
        e->var->node = chance(g, 3);
    }
    bind(g, e->var);
    e->at[1] = called ? call_of(g, t, use(g, e->var), number(g, rp_scalar(g->p, RP_INT32), below(g, 4)))
                      : make(g, t);
    g->num_vars = vars;
    return e;
}

static rp_expr *from_function_var(maker *g, const rp_type *t);

/* What needs two variables of around to be told apart. */
static rp_expr *holding(maker *g, const rp_type *t)
{
    rp_expr *a = from_var(g, t), *b = from_var(g, t);
    if (t->kind != RP_TENSOR || t->element == RP_BOOL || !a) return make(g, t);
    for (int i = 0; i < 4 && b->var == a->var; i++) b = from_var(g, t);
    return rp_binary(g->p, "subtract", t, a, b);
}

/* A closure that is called behind it, or at once. */
static rp_expr *from_closure(maker *g, const rp_type *t)
{
    const rp_type *at[RP_PARAMS];
    int n = below(g, RP_PARAMS), vars = g->num_vars;
    for (int i = 0; i < n; i++) at[i] = random_type(g, 1);
    if (chance(g, 5)) return call_of(g, t, lambda(g, rp_fn(g->p, n, at, t), made), NULL);
    rp_expr *e = rp_new(g->p, RP_LET, t);
    e->n = 2;
    e->var = new_var(g, rp_fn(g->p, n, at, t));
    e->at[0] = lambda(g, e->var->type, chance(g, 2) ? holding : made);
    const rp_type *other = random_tensor(g); /* what is bound in between is not what it holds */
    rp_expr *inner = rp_new(g->p, RP_LET, t);
    bind(g, e->var);
    inner->n = 2;
    inner->var = new_var(g, other);
    inner->at[0] = make(g, other);
    bind(g, inner->var);
    inner->at[1] = from_function_var(g, t);
    if (!inner->at[1]) inner->at[1] = make(g, t); /* there was no room for it */
    e->at[1] = inner;
    g->num_vars = vars;
    return e;
}

static rp_expr *from_if(maker *g, const rp_type *t)
{
    rp_expr *e = rp_new(g->p, RP_IF, t);
    e->n = 3;
    e->at[0] = make(g, rp_scalar(g->p, RP_BOOL));
    e->at[1] = make(g, t);
    e->at[2] = make(g, t);
    return e;
}

static rp_expr *from_get(maker *g, const rp_type *t)
{
    rp_var *found[MAX_VARS];
    int at[MAX_VARS], n = 0;
    for (int i = 0; i < g->num_vars; i++)
        for (int k = 0; g->vars[i]->type->kind == RP_TUPLE && k < g->vars[i]->type->n; k++)
            if (g->vars[i]->type->at[k] == t && n < MAX_VARS) {
                at[n] = k;
                found[n++] = g->vars[i];
            }
    rp_expr *e = rp_new(g->p, RP_GET, t);
    e->n = 1;
    if (n && below(g, 4)) {
        int which = below(g, n);
        e->number = at[which];
        e->at[0] = use(g, found[which]);
        return e;
    }
    const rp_type *fields[RP_FIELDS];
    n = 1 + below(g, 3);
    e->number = below(g, n);
    bool all = chance(g, 2); /* what split gives */
    for (int i = 0; i < n; i++) fields[i] = i == e->number || all ? t : random_type(g, 1);
    e->at[0] = make(g, rp_tuple(g->p, n, fields));
    return e;
}

/* ---- Calls ---- */

static rp_expr *global(maker *g, const rp_function *f, const rp_type *t)
{
    rp_expr *e = rp_new(g->p, RP_GLOBAL, t);
    e->function = f;
    return e;
}

static rp_expr *call_of(maker *g, const rp_type *t, rp_expr *callee, rp_expr *first)
{
    rp_expr *e = rp_new(g->p, RP_CALL, t);
    e->at[e->n++] = callee;
    if (first) e->at[e->n++] = first;
    for (int i = first != NULL; i < callee->type->n; i++) e->at[e->n++] = make(g, callee->type->at[i]);
    return e;
}

/* A function that may be called here, of the type that schema has with args. */
static const rp_function *pick_function(maker *g, const rp_type *t, bool as_value, const rp_type **args)
{
    const rp_function *found[RP_FUNCTIONS];
    int n = 0;
    for (int i = g->p->num_functions - 1; i >= 0; i--) {
        const rp_function *f = g->p->functions[i];
        const rp_type *trial[RP_FIELDS] = {0};
        if (n == RP_FUNCTIONS) break;
        if (f->group >= g->group || !rp_fits(as_value ? f->type : f->ret, t, trial)) continue;
        bool often = f->group >= 0 || f->ret->kind != RP_PARAM; /* @id and folds give any type */
        found[n++] = f;
        for (int k = 0; often && k < 3 && n < RP_FUNCTIONS; k++) found[n++] = f;
    }
    if (!n) return NULL;
    const rp_function *f = found[below(g, n)];
    rp_fits(as_value ? f->type : f->ret, t, args);
    fill(g, f->num_types, args);
    return f;
}

static rp_expr *from_call(maker *g, const rp_type *t)
{
    const rp_type *args[RP_FIELDS] = {0};
    const rp_function *f = pick_function(g, t, false, args);
    if (!f) return NULL;
    rp_expr *first = f->ends == RP_COUNTS ? number(g, f->params[0], below(g, 4)) : NULL;
    return call_of(g, t, global(g, f, rp_substitute(g->p, f->type, args)), first);
}

static rp_expr *from_function_var(maker *g, const rp_type *t)
{
    rp_var *found[MAX_VARS];
    int n = 0;
    for (int i = 0; i < g->num_vars; i++)
        if (g->vars[i]->type->kind == RP_FN && g->vars[i]->type->ret == t && !g->vars[i]->num_types)
            found[n++] = g->vars[i];
    if (!n) return NULL;
    rp_var *v = found[below(g, n)];
    return call_of(g, t, use(g, v), v->counter ? number(g, v->type->at[0], below(g, 4)) : NULL);
}

static rp_expr *from_generic_var(maker *g, const rp_type *t)
{
    for (int i = 0; i < g->num_vars; i++) {
        const rp_type *args[RP_FIELDS] = {0};
        rp_var *v = g->vars[below(g, g->num_vars)];
        for (int k = 0; k < v->first_type; k++) args[k] = rp_param(g->p, k);
        if (!v->num_types || !rp_fits(v->type->ret, t, args)) continue;
        fill(g, v->first_type + v->num_types, args);
        rp_expr *callee = use(g, v);
        callee->type = rp_substitute(g->p, v->type, args);
        return call_of(g, t, callee, NULL);
    }
    return NULL;
}

static rp_expr *from_right(maker *g, const rp_type *t)
{
    if (!g->num_rights) return NULL;
    const right *r = &g->rights[below(g, g->num_rights)];
    const rp_type *args[RP_FIELDS] = {0};
    rp_expr *callee;
    if (r->callee) {
        if (r->callee->type->ret != t) return NULL;
        callee = use(g, r->callee);
    } else {
        if (!rp_fits(r->function->params[0], r->from->type, args)) return NULL;
        if (!rp_fits(r->function->ret, t, args)) return NULL;
        fill(g, r->function->num_types, args);
        callee = global(g, r->function, rp_substitute(g->p, r->function->type, args));
    }
    rp_expr *first = use(g, r->from);
    if (r->counts) first = rp_binary(g->p, "subtract", first->type, first, number(g, first->type, 1));
    return call_of(g, t, callee, first);
}

/* ---- Match ---- */

static rp_pattern *new_pattern(maker *g, const rp_type *t)
{
    rp_pattern *p = gpuc_new(g->p->ctx, rp_pattern);
    *p = (rp_pattern){.type = t};
    return p;
}

static bool is_hole(const rp_pattern *p)
{
    return !p->maker && !p->n && !p->var;
}

/* The pattern again; *place, which is inside of it, becomes its copy. */
static rp_pattern *copied(maker *g, rp_pattern *p, rp_pattern **place)
{
    rp_pattern *out = gpuc_ctx_memdup(g->p->ctx, p, sizeof *p);
    bool here = *place == p;
    for (int i = 0; i < p->n; i++) out->at[i] = copied(g, p->at[i], place);
    if (here) *place = out;
    return out;
}

static void list_holes(rp_pattern *p, int depth, rp_pattern **out, int *n)
{
    bool splits = p->type->kind == RP_DATA || (p->type->kind == RP_TUPLE && p->type->n);
    if (is_hole(p) && splits && depth < 4 && *n < 8) out[(*n)++] = p;
    for (int i = 0; i < p->n; i++) list_holes(p->at[i], depth + 1, out, n);
}

static void put_fields(maker *g, rp_pattern *p, int n, const rp_type *const *fields,
                       const rp_type *const *args)
{
    p->n = n;
    for (int i = 0; i < n; i++)
        p->at[i] = new_pattern(g, args ? rp_substitute(g->p, fields[i], args) : fields[i]);
}

/* Rows that tell all values of the type apart, at some places of them. */
static int make_rows(maker *g, const rp_type *t, rp_pattern **rows)
{
    int n = 1, steps = 1 + below(g, 4);
    rows[0] = new_pattern(g, t);
    for (int s = 0; s < steps; s++) {
        rp_pattern *holes[8], *row;
        int which = below(g, n), num_holes = 0;
        list_holes(row = rows[which], 0, holes, &num_holes);
        if (!num_holes) continue;
        rp_pattern *hole = holes[below(g, num_holes)];
        if (hole->type->kind == RP_TUPLE) {
            put_fields(g, hole, hole->type->n, hole->type->at, NULL);
            continue;
        }
        const rp_data *d = hole->type->data;
        if (n + d->n - 1 > RP_ROWS - 1) continue;
        for (int c = 0; c < d->n; c++) {
            rp_pattern *place = hole, *one = copied(g, row, &place);
            place->maker = &d->at[c];
            put_fields(g, place, d->at[c].n, d->at[c].fields, hole->type->at);
            rows[c ? n++ : which] = one;
        }
    }
    return n;
}

/* Rows in another order, which may fit more than they did. */
static int mix_rows(maker *g, const rp_type *t, rp_pattern **rows, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = below(g, i + 1);
        rp_pattern *row = rows[i];
        rows[i] = rows[k];
        rows[k] = row;
    }
    for (int i = 0; i < n; i++) {
        rp_pattern *p = rows[i];
        if (!chance(g, 4)) continue;
        while (p->n && below(g, 3)) p = p->at[below(g, p->n)];
        *p = (rp_pattern){.type = p->type};
    }
    if (chance(g, 6) && n < RP_ROWS) rows[n++] = new_pattern(g, t);
    if (chance(g, 6)) rows[n - 1] = new_pattern(g, t);
    return n;
}

static void bind_pattern(maker *g, rp_pattern *p, const rp_var *value, bool inside)
{
    if (is_hole(p) && below(g, 3)) {
        p->var = new_var(g, p->type);
        bind(g, p->var);
        bool part = value && value->size && p->type == value->type;
        p->var->size = !part ? 0 : inside ? 2 : value->size;
        for (int i = 0; p->var->size == 2 && i < g->p->num_functions; i++) {
            const rp_function *f = g->p->functions[i];
            if (f->group == g->group) allow(g, (right){.function = f, .from = p->var});
        }
    }
    for (int i = 0; i < p->n; i++) bind_pattern(g, p->at[i], value, true);
}

static rp_expr *match_of(maker *g, const rp_type *t, rp_expr *value)
{
    rp_expr *e = rp_new(g->p, RP_MATCH, t);
    int vars = g->num_vars, rights = g->num_rights;
    int n = mix_rows(g, value->type, e->patterns, make_rows(g, value->type, e->patterns));
    e->at[e->n++] = value;
    for (int i = 0; i < n; i++) {
        bind_pattern(g, e->patterns[i], value->kind == RP_VAR ? value->var : NULL, false);
        e->at[e->n++] = make(g, t);
        g->num_vars = vars;
        g->num_rights = rights;
    }
    return e;
}

static rp_expr *from_match(maker *g, const rp_type *t)
{
    rp_var *found[MAX_VARS];
    int n = 0;
    for (int i = 0; i < g->num_vars; i++) {
        const rp_type *one = g->vars[i]->type;
        if (one->kind == RP_DATA || (one->kind == RP_TUPLE && one->n)) found[n++] = g->vars[i];
    }
    if (n && below(g, 3)) return match_of(g, t, use(g, found[below(g, n)]));
    const rp_type *at[RP_FIELDS];
    const rp_data *d = g->p->data.at[below(g, (int)g->p->data.count)];
    at[0] = random_data(g, d, 1);
    if (chance(g, 2)) return match_of(g, t, make(g, at[0]));
    n = 1 + below(g, 2);
    if (n == 2) at[1] = random_type(g, 1);
    return match_of(g, t, make(g, rp_tuple(g->p, n, at)));
}

/* ---- Expressions by their type ---- */

static rp_expr *as_function(maker *g, const rp_type *t)
{
    const rp_type *args[RP_FIELDS] = {0};
    if (chance(g, 3)) {
        const rp_function *f = pick_function(g, t, true, args);
        if (f) return global(g, f, t);
    }
    for (int i = 0; chance(g, 2) && t->ret->kind == RP_DATA && i < t->ret->data->n; i++) {
        const rp_constructor *c = &t->ret->data->at[i];
        bool same = c->n == t->n && c->n;
        for (int k = 0; same && k < c->n; k++)
            same = rp_substitute(g->p, c->fields[k], t->ret->at) == t->at[k];
        if (!same) continue;
        rp_expr *e = rp_new(g->p, RP_MAKER, t);
        e->maker = c;
        return e;
    }
    return lambda(g, t, made);
}

static rp_expr *by_type(maker *g, const rp_type *t)
{
    rp_expr *e;
    switch (t->kind) {
    case RP_TENSOR: return rp_random_op(g->p, t, make, g);
    case RP_TUPLE:
        if (chance(g, 2) && (e = rp_random_op(g->p, t, make, g))) return e;
        e = rp_new(g->p, RP_MAKE_TUPLE, t);
        e->n = t->n;
        for (int i = 0; i < t->n; i++) e->at[i] = make(g, t->at[i]);
        return e;
    case RP_FN: return as_function(g, t);
    case RP_DATA: return constructed(g, t, below(g, t->data->n), made);
    case RP_PARAM: break;
    }
    return NULL;
}

static rp_expr *make(void *arg, const rp_type *t)
{
    static rp_expr *(*const kinds[])(maker *, const rp_type *) = {
        from_var,          by_type,          by_type,    by_type,      by_type,     by_type,
        from_let,          from_let,         from_if,    from_call,    from_get,    from_call,
        from_function_var, from_generic_var, from_match, from_closure, from_closure};
    maker *g = arg;
    int budget = --g->left, mine = budget * (1 + below(g, 4)) / 4;
    if (mine <= 0 || g->depth > MAX_DEPTH || below(g, MAX_DEPTH + 2) < g->depth / 2) return leaf(g, t);
    g->left = mine; /* the others are not left with nothing */
    g->depth++;
    rp_expr *e = chance(g, 2) ? from_right(g, t) : NULL;
    for (int i = 0; i < TRIES && !e; i++) e = kinds[below(g, sizeof kinds / sizeof *kinds)](g, t);
    g->depth--;
    g->left += budget - mine;
    return e ? e : leaf(g, t);
}

/* ---- Programs ---- */

static void make_data(maker *g, int number)
{
    rp_data *d = gpuc_new(g->p->ctx, rp_data);
    const rp_type *self[RP_FIELDS];
    *d = (rp_data){.num_params = below(g, 3), .n = 1 + below(g, RP_CONSTRUCTORS), .own = true};
    d->name = gpuc_ctx_printf(g->p->ctx, "Data%d", number);
    g->num_types = d->num_params;
    for (int i = 0; i < d->num_params; i++) self[i] = rp_param(g->p, i);
    for (int i = 0; i < d->n; i++) {
        rp_constructor *c = &d->at[i];
        *c = (rp_constructor){.tag = i, .data = d, .n = below(g, 4)};
        c->name = gpuc_ctx_printf(g->p->ctx, "Make%d_%d", number, i);
        for (int k = 0; k < c->n; k++) {
            bool itself = i < d->n - 1 && chance(g, 3);
            c->fields[k] = itself ? rp_data_of(g->p, d, self) : random_type(g, 1);
        }
    }
    g->num_types = 0;
    gpuc_ptrs_push(g->p->ctx, &g->p->data, d);
}

/* A type with a part that is of the type itself. */
static const rp_type *shrinking_type(maker *g, int num_types)
{
    g->num_types = num_types;
    const rp_data *d = rp_find_data(g->p, "List");
    const rp_data *other = g->p->data.at[below(g, (int)g->p->data.count)];
    const rp_type *t = random_data(g, chance(g, 2) ? d : other, 1);
    g->num_types = 0;
    return t;
}

static rp_function *declare(maker *g, const char *name, int group, int ends)
{
    rp_function *f = gpuc_new(g->p->ctx, rp_function);
    *f = (rp_function){.name = name, .group = group, .ends = (unsigned)ends};
    g->num_vars = 0;
    g->group = group;
    f->num_types = chance(g, 2) ? below(g, 3) : 0;
    if (ends == RP_COUNTS) f->params[f->n++] = rp_scalar(g->p, RP_INT32);
    if (ends == RP_SHRINKS) f->params[f->n++] = shrinking_type(g, f->num_types);
    g->num_types = f->num_types;
    for (int i = 0; i < f->num_types; i++) f->params[f->n++] = rp_param(g->p, i);
    while (f->n < RP_PARAMS && below(g, 3)) f->params[f->n++] = random_type(g, 2);
    f->ret = random_type(g, 2);
    g->num_types = 0;
    f->type = rp_fn(g->p, f->n, f->params, f->ret);
    g->p->functions[g->p->num_functions++] = f;
    return f;
}

static void define(maker *g, rp_function *f, int budget)
{
    g->num_vars = g->num_rights = g->depth = 0;
    g->left = budget;
    g->group = f->group;
    g->num_types = f->num_types;
    for (int i = 0; i < f->n; i++) bind(g, f->vars[i] = new_var(g, f->params[i]));
    if (f->ends == RP_COUNTS) {
        for (int i = 0; i < g->p->num_functions; i++)
            if (g->p->functions[i]->group == f->group)
                allow(g, (right){.function = g->p->functions[i], .from = f->vars[0], .counts = true});
        f->body = counting(g, f->ret, f->vars[0], 0);
    } else if (f->ends == RP_SHRINKS) {
        f->vars[0]->size = 1;
        f->body = match_of(g, f->ret, use(g, f->vars[0]));
    } else {
        f->body = make(g, f->ret);
    }
    g->num_types = 0;
}

static rp_expr *closed(maker *g, const rp_type *t)
{
    g->num_vars = 0;
    g->left = 0;
    return leaf(g, t);
}

static void make_main(maker *g, int group)
{
    rp_function *f = gpuc_new(g->p->ctx, rp_function);
    *f = (rp_function){.name = "main", .group = group, .n = below(g, RP_PARAMS + 1)};
    g->group = group;
    for (int i = 0; i < f->n; i++) {
        g->num_vars = 0;
        f->params[i] = plain_type(g);
        g->p->args[g->p->num_args++] = closed(g, f->params[i]);
    }
    const rp_type *rets[RP_FIELDS];
    int n = 1 + below(g, 3);
    g->num_vars = 0;
    for (int i = 0; i < n; i++) rets[i] = random_type(g, 2);
    f->ret = rp_tuple(g->p, n, rets);
    f->type = rp_fn(g->p, f->n, f->params, f->ret);
    define(g, f, 120);
    g->p->functions[g->p->num_functions++] = f;
}

static void make_program(gpuc_ctx *ctx, rp_program *p)
{
    *p = (rp_program){.ctx = ctx, .seed = p->seed, .random = p->random};
    maker *g = gpuc_new(ctx, maker);
    *g = (maker){.p = p, .r = &p->random, .group = -1};
    rp_add_prelude(p);
    rp_scalar(p, RP_INT32); /* of length */
    for (int i = below(g, 3), k = 0; k < i; k++) make_data(g, k);
    int groups = below(g, 5), names = 0;
    for (int k = 0; k < groups; k++) {
        int ends = below(g, 3), first = p->num_functions;
        for (int i = chance(g, 3) && ends ? 2 : 1; i > 0; i--)
            declare(g, gpuc_ctx_printf(ctx, "f%d", names++), k, ends);
        for (int i = first; i < p->num_functions; i++) define(g, p->functions[i], 20 + below(g, 60));
    }
    make_main(g, groups);
}

static void has_value(gpuc_ctx *ctx, void *arg)
{
    rp_run_main(ctx, arg);
}

static bool ends(rp_program *p)
{
    gpuc_ctx *ctx;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    gpuc_status status = gpuc_ctx_protect(ctx, has_value, p);
    bool internal = status && gpuc_status_code(status) == GPUC_INTERNAL;
    if (internal) fprintf(stderr, "the program that was made is wrong: %s\n", gpuc_status_message(status));
    bool ok = !status;
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    if (internal) abort();
    return ok;
}

void rp_random(gpuc_ctx *ctx, uint64_t seed, rp_program *p)
{
    *p = (rp_program){.seed = seed, .random = {seed * UINT64_C(0x9e3779b97f4a7c15)}};
    for (int i = 0; i < ATTEMPTS; i++) {
        make_program(ctx, p);
        if (ends(p)) return;
    }
    gpuc_raise(ctx, GPUC_INTERNAL, "no program of %d ends", ATTEMPTS);
}
