/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates random programs: the rules of the language, over the tree that was made, sharing no code with gpuc's. */
#include "random_program.h"

enum { MAX_STEPS = 20000, MAX_DEPTH = 400, MAX_LIST = 64 };

typedef struct rp_env {
    const rp_var *var;
    const rp_value *value;
    const struct rp_env *next;
} rp_env;

typedef struct machine {
    gpuc_ctx *ctx;
    const rp_program *p;
    int steps, depth;
} machine;

static const rp_value *eval(machine *m, const rp_expr *e, const rp_env *env);

static const rp_env *bind(machine *m, const rp_env *env, const rp_var *var, const rp_value *value)
{
    rp_env *out = gpuc_new(m->ctx, rp_env);
    *out = (rp_env){var, value, env};
    return out;
}

static rp_value *new_fields(machine *m, const rp_constructor *maker, int n, const rp_value *const *fields)
{
    rp_value *v = gpuc_new(m->ctx, rp_value);
    *v = (rp_value){.maker = maker, .n = n};
    for (int i = 0; i < n; i++) v->fields[i] = fields[i];
    return v;
}

static void spend(machine *m)
{
    if (++m->steps > MAX_STEPS || m->depth > MAX_DEPTH)
        gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "the program takes too long");
}

/* ---- Lists and trees of the prelude ---- */

static const rp_constructor *maker(machine *m, const char *data, int tag)
{
    return &rp_find_data(m->p, data)->at[tag];
}

static int take_list(machine *m, const rp_value *list, const rp_value **out)
{
    int n = 0;
    for (; list->n; list = list->fields[1]) {
        if (n == MAX_LIST) gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "a list is too long");
        spend(m);
        out[n++] = list->fields[0];
    }
    return n;
}

static const rp_value *give_list(machine *m, int n, const rp_value *const *at, const rp_value *tail)
{
    const rp_value *v = tail ? tail : new_fields(m, maker(m, "List", 1), 0, NULL);
    while (n--) v = new_fields(m, maker(m, "List", 0), 2, (const rp_value *[]){at[n], v});
    return v;
}

static const rp_value *scalar_of(machine *m, int number)
{
    const rp_type *t = NULL;
    for (size_t i = 0; i < m->p->types.count && !t; i++) {
        const rp_type *one = m->p->types.at[i];
        if (one->kind == RP_TENSOR && one->element == RP_INT32 && !one->ndim) t = one;
    }
    rp_value *v = rp_new_tensor(m->ctx, t);
    v->cells[0].i = number;
    return v;
}

static const rp_value *apply(machine *m, const rp_value *f, int n, const rp_value *const *args);

static const rp_value *apply1(machine *m, const rp_value *f, const rp_value *a)
{
    return apply(m, f, 1, &a);
}

static const rp_value *apply2(machine *m, const rp_value *f, const rp_value *a, const rp_value *b)
{
    return apply(m, f, 2, (const rp_value *[]){a, b});
}

static const rp_value *tmap(machine *m, const rp_value *f, const rp_value *tree)
{
    const rp_value *below[MAX_LIST];
    int n = take_list(m, tree->fields[1], below);
    for (int i = 0; i < n; i++) below[i] = tmap(m, f, below[i]);
    const rp_value *fields[] = {apply1(m, f, tree->fields[0]), give_list(m, n, below, NULL)};
    return new_fields(m, tree->maker, 2, fields);
}

static int size(machine *m, const rp_value *tree)
{
    const rp_value *below[MAX_LIST];
    int n = take_list(m, tree->fields[1], below), total = 1;
    for (int i = 0; i < n; i++) total += size(m, below[i]);
    return total;
}

static const rp_value *map_accum(machine *m, const rp_value *const *a, bool right)
{
    const rp_value *at[MAX_LIST], *state = a[1], *out[MAX_LIST];
    int n = take_list(m, a[2], at);
    for (int i = 0; i < n; i++) {
        int from = right ? n - 1 - i : i;
        const rp_value *pair = apply2(m, a[0], state, at[from]);
        state = pair->fields[0];
        out[n - 1 - i] = pair->fields[1]; /* both: what comes last stands first */
    }
    return new_fields(m, NULL, 2, (const rp_value *[]){state, give_list(m, n, out, NULL)});
}

static const rp_value *fold(machine *m, const rp_value *const *a, bool right)
{
    const rp_value *at[MAX_LIST], *v = a[1];
    int n = take_list(m, a[2], at);
    for (int i = 0; i < n; i++) v = right ? apply2(m, a[0], at[n - 1 - i], v) : apply2(m, a[0], v, at[i]);
    return v;
}

static const rp_value *map(machine *m, const rp_value *const *a, bool keep)
{
    const rp_value *at[MAX_LIST];
    int n = take_list(m, a[1], at), kept = 0;
    for (int i = 0; i < n; i++) {
        const rp_value *y = apply1(m, a[0], at[i]);
        if (!keep)
            at[i] = y;
        else if (y->cells[0].i)
            at[kept++] = at[i];
    }
    return give_list(m, keep ? kept : n, at, NULL);
}

static const rp_value *zip(machine *m, const rp_value *const *a)
{
    const rp_value *x[MAX_LIST], *y[MAX_LIST];
    int n = take_list(m, a[0], x), k = take_list(m, a[1], y);
    if (k < n) n = k;
    for (int i = 0; i < n; i++) x[i] = new_fields(m, NULL, 2, (const rp_value *[]){x[i], y[i]});
    return give_list(m, n, x, NULL);
}

static const rp_value *call_prelude(machine *m, const rp_function *f, const rp_value *const *a)
{
    const char *name = f->name;
    const rp_value *at[MAX_LIST];
    if (!strcmp(name, "id")) return a[0];
    if (!strcmp(name, "foldl")) return fold(m, a, false);
    if (!strcmp(name, "foldr")) return fold(m, a, true);
    if (!strcmp(name, "map")) return map(m, a, false);
    if (!strcmp(name, "filter")) {
        const rp_value *swapped[] = {a[0], a[1]};
        return map(m, swapped, true);
    }
    if (!strcmp(name, "zip")) return zip(m, a);
    if (!strcmp(name, "map_accumr")) return map_accum(m, a, true);
    if (!strcmp(name, "map_accuml")) return map_accum(m, a, false);
    if (!strcmp(name, "tmap")) return tmap(m, a[0], a[1]);
    if (!strcmp(name, "size")) return scalar_of(m, size(m, a[0]));
    int n = take_list(m, a[0], at);
    if (!strcmp(name, "length")) return scalar_of(m, n);
    if (!strcmp(name, "concat")) return give_list(m, n, at, a[1]);
    if (!strcmp(name, "sum")) {
        uint32_t total = 0;
        for (int i = 0; i < n; i++) total += (uint32_t)at[i]->cells[0].i;
        return scalar_of(m, (int)total);
    }
    GPUC_CHECK(!strcmp(name, "rev"));
    for (int i = 0; i < n / 2; i++) {
        const rp_value *v = at[i];
        at[i] = at[n - 1 - i];
        at[n - 1 - i] = v;
    }
    return give_list(m, n, at, NULL);
}

/* ---- Calls ---- */

static const rp_value *partial(machine *m, const rp_function *f, int n, const rp_value *const *held)
{
    rp_value *v = new_fields(m, NULL, n, held);
    v->function = f;
    return v;
}

static const rp_value *call(machine *m, const rp_function *f, const rp_value *const *args)
{
    const rp_env *env = NULL;
    if (f->body) {
        for (int i = 0; i < f->n; i++) env = bind(m, env, f->vars[i], args[i]);
        return eval(m, f->body, env);
    }
    bool wraps = !strcmp(f->name, "compose") || !strcmp(f->name, "flip");
    return wraps ? partial(m, f, f->n, args) : call_prelude(m, f, args);
}

static const rp_value *apply(machine *m, const rp_value *f, int n, const rp_value *const *args)
{
    const rp_value *out;
    const rp_env *env = f->env;
    spend(m);
    m->depth++;
    if (f->is_maker) {
        out = new_fields(m, f->maker, n, args);
    } else if (f->function && f->n == 2) { /* compose(f, g) */
        out = apply1(m, f->fields[0], apply1(m, f->fields[1], args[0]));
    } else if (f->function && f->n == 1) { /* flip(f) */
        out = apply2(m, f->fields[0], args[1], args[0]);
    } else if (f->function) {
        out = call(m, f->function, args);
    } else {
        if (f->lambda->itself) env = bind(m, env, f->lambda->var, f);
        for (int i = 0; i < n; i++) env = bind(m, env, f->lambda->params[i], args[i]);
        out = eval(m, f->lambda->at[0], env);
    }
    m->depth--;
    return out;
}

/* ---- Expressions ---- */

static bool matches(machine *m, const rp_pattern *p, const rp_value *v, const rp_env **env)
{
    if (p->maker && v->maker != p->maker) return false;
    if (p->var) *env = bind(m, *env, p->var, v);
    for (int i = 0; i < p->n; i++)
        if (!matches(m, p->at[i], v->fields[i], env)) return false;
    return true;
}

static const rp_value *eval_match(machine *m, const rp_expr *e, const rp_env *env)
{
    const rp_value *v = eval(m, e->at[0], env);
    for (int i = 1; i < e->n; i++) {
        const rp_env *inside = env;
        if (matches(m, e->patterns[i - 1], v, &inside)) return eval(m, e->at[i], inside);
    }
    gpuc_raise(m->ctx, GPUC_INTERNAL, "no clause fits");
}

static const rp_value *closure(machine *m, const rp_expr *e, const rp_env *env)
{
    rp_value *v = gpuc_new(m->ctx, rp_value);
    *v = (rp_value){.lambda = e->kind == RP_LAMBDA ? e : NULL,
                    .function = e->kind == RP_GLOBAL ? e->function : NULL,
                    .maker = e->kind == RP_MAKER ? e->maker : NULL,
                    .is_maker = e->kind == RP_MAKER,
                    .env = env};
    return v;
}

static const rp_value *constant(machine *m, const rp_expr *e)
{
    rp_value *v = rp_new_tensor(m->ctx, e->type);
    if (e->kind == RP_CONSTANT)
        rp_constant_cells(e->type, e->number, v->cells);
    else if (e->type->element == RP_FLOAT32)
        v->cells[0].f = e->number;
    else
        v->cells[0].i = e->number;
    return v;
}

static const rp_value *eval_parts(machine *m, const rp_expr *e, const rp_env *env)
{
    const rp_value *at[RP_ROWS + 1];
    for (int i = 0; i < e->n; i++) at[i] = eval(m, e->at[i], env);
    if (e->kind == RP_OP) return rp_apply_op(m->ctx, e, at);
    if (e->kind == RP_CALL && e->at[0]->kind == RP_GLOBAL) return call(m, e->at[0]->function, at + 1);
    if (e->kind == RP_CALL) return apply(m, at[0], e->n - 1, at + 1);
    return new_fields(m, e->kind == RP_MAKE ? e->maker : NULL, e->n, at);
}

static const rp_value *eval_here(machine *m, const rp_expr *e, const rp_env *env)
{
    switch (e->kind) {
    case RP_VAR:
        for (; env; env = env->next)
            if (env->var == e->var) return env->value;
        gpuc_raise(m->ctx, GPUC_INTERNAL, "variable %d has no value", e->var->id);
    case RP_SCALAR:
    case RP_CONSTANT: return constant(m, e);
    case RP_GET: return eval(m, e->at[0], env)->fields[e->number];
    case RP_LET: return eval(m, e->at[1], bind(m, env, e->var, eval(m, e->at[0], env)));
    case RP_IF: return eval(m, e->at[eval(m, e->at[0], env)->cells[0].i ? 1 : 2], env);
    case RP_MATCH: return eval_match(m, e, env);
    case RP_LAMBDA:
    case RP_GLOBAL:
    case RP_MAKER: return closure(m, e, env);
    case RP_OP:
    case RP_MAKE_TUPLE:
    case RP_CALL:
    case RP_MAKE: return eval_parts(m, e, env);
    }
    return NULL;
}

static const rp_value *eval(machine *m, const rp_expr *e, const rp_env *env)
{
    spend(m);
    m->depth++;
    const rp_value *v = eval_here(m, e, env);
    m->depth--;
    return v;
}

void rp_constant_cells(const rp_type *t, int seed, rp_cell *cells)
{
    fx_rng r = {(uint64_t)seed};
    for (int i = 0; i < rp_count(t); i++) {
        int v = fx_below(&r, 7) - 3;
        if (t->element == RP_FLOAT32)
            cells[i].f = v;
        else
            cells[i].i = t->element == RP_BOOL ? v > 0 : v;
    }
}

const rp_value *rp_evaluate(gpuc_ctx *ctx, const rp_program *p, const rp_expr *closed)
{
    machine m = {.ctx = ctx, .p = p};
    return eval(&m, closed, NULL);
}

const rp_value *rp_run_main(gpuc_ctx *ctx, const rp_program *p)
{
    machine m = {.ctx = ctx, .p = p};
    const rp_value *args[RP_PARAMS];
    for (int i = 0; i < p->num_args; i++) args[i] = eval(&m, p->args[i], NULL);
    return call(&m, p->functions[p->num_functions - 1], args);
}
