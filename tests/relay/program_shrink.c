/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a random program that fails smaller: parts become the simplest of their type, or what is inside of them. */
#include "random_program.h"

enum { MAX_NODES = 4000, MAX_TRIALS = 3000 };

typedef struct shrinker {
    rp_program *p;
    bool (*fails)(rp_program *p, void *arg);
    void *arg;
    int trials;
} shrinker;

static bool still_fails(shrinker *s)
{
    return s->trials++ < MAX_TRIALS && s->fails(s->p, s->arg);
}

/* ---- Scopes ---- */

static void mark_pattern(const rp_pattern *p, char *bound)
{
    if (p->var) bound[p->var->id] = 1;
    for (int i = 0; i < p->n; i++) mark_pattern(p->at[i], bound);
}

/* Variables that e binds, but not what is inside of `without`; and those that e uses. */
static void mark(const rp_expr *e, const rp_expr *without, char *bound, char *used)
{
    if (e == without) return;
    if (e->kind == RP_VAR) used[e->var->id] = 1;
    if (e->kind == RP_LET || (e->kind == RP_LAMBDA && e->itself)) bound[e->var->id] = 1;
    for (int i = 0; i < e->num_params; i++) bound[e->params[i]->id] = 1;
    for (int i = 1; e->kind == RP_MATCH && i < e->n; i++) mark_pattern(e->patterns[i - 1], bound);
    for (int i = 0; i < e->n; i++) mark(e->at[i], without, bound, used);
}

/* Whether part, which is inside of e, may stand in its place. */
static bool stands_alone(shrinker *s, const rp_expr *e, const rp_expr *part)
{
    size_t n = (size_t)s->p->next_id;
    char *bound = calloc(n, 1), *used = calloc(n, 1), *unused = calloc(n, 1);
    bool alone = true;
    mark(e, part, bound, unused);
    mark(part, NULL, unused, used);
    for (size_t i = 0; i < n; i++) alone = alone && !(bound[i] && used[i]);
    free(bound);
    free(used);
    free(unused);
    return alone;
}

/* ---- The simplest of a type ---- */

static bool has_simplest(const rp_type *t)
{
    if (t->vars) return false;
    if (t->kind == RP_FN) return has_simplest(t->ret);
    for (int i = 0; i < t->n; i++)
        if (!has_simplest(t->at[i])) return false;
    return true;
}

static rp_expr *simplest(rp_program *p, const rp_type *t)
{
    static const rp_kind kinds[] = {RP_SCALAR, RP_MAKE_TUPLE, RP_LAMBDA, RP_MAKE};
    rp_expr *e = rp_new(p, t->kind == RP_TENSOR && t->ndim ? RP_CONSTANT : kinds[t->kind], t);
    if (t->kind == RP_TUPLE) {
        e->n = t->n;
        for (int i = 0; i < t->n; i++) e->at[i] = simplest(p, t->at[i]);
    } else if (t->kind == RP_DATA) {
        e->maker = &t->data->at[t->data->n - 1];
        e->n = e->maker->n;
        for (int i = 0; i < e->n; i++) e->at[i] = simplest(p, rp_substitute(p, e->maker->fields[i], t->at));
    } else if (t->kind == RP_FN) {
        e->n = 1;
        e->num_params = t->n;
        for (int i = 0; i < t->n; i++) {
            e->params[i] = gpuc_new(p->ctx, rp_var);
            *e->params[i] = (rp_var){.id = p->next_id++, .type = t->at[i]};
        }
        e->at[0] = simplest(p, t->ret);
    }
    return e;
}

static int weight(const rp_expr *e)
{
    int n = e->kind == RP_SCALAR && !e->number ? 1 : e->kind == RP_CONSTANT && !e->number ? 1 : 2;
    for (int i = 0; i < e->n; i++) n += weight(e->at[i]);
    return n;
}

/* ---- Trials ---- */

static bool try_in_place(shrinker *s, rp_expr *e, const rp_expr *by)
{
    rp_expr old = *e;
    if (weight(by) >= weight(e)) return false;
    *e = *by;
    if (still_fails(s)) return true;
    *e = old;
    return false;
}

static bool try_parts(shrinker *s, rp_expr *e, const rp_expr *below)
{
    for (int i = 0; i < below->n; i++) {
        const rp_expr *part = below->at[i];
        if (part->type == e->type && stands_alone(s, e, part) && try_in_place(s, e, part)) return true;
        if (try_parts(s, e, part)) return true;
    }
    return false;
}

static bool shrink_expr(shrinker *s, rp_expr *e)
{
    bool smaller = false;
    if (has_simplest(e->type)) smaller = try_in_place(s, e, simplest(s->p, e->type));
    while (try_parts(s, e, e)) smaller = true;
    for (int i = 0; i < e->n; i++) smaller |= shrink_expr(s, e->at[i]);
    return smaller;
}

static bool uses_function(const rp_expr *e, const rp_function *f)
{
    if (e->kind == RP_GLOBAL && e->function == f) return true;
    for (int i = 0; i < e->n; i++)
        if (uses_function(e->at[i], f)) return true;
    return false;
}

static void drop_functions(shrinker *s)
{
    rp_program *p = s->p;
    for (int i = p->num_functions - 2; i >= 0; i--) {
        rp_function *f = p->functions[i];
        bool used = !f->body;
        for (int k = 0; k < p->num_functions && !used; k++)
            used = k != i && p->functions[k]->body && uses_function(p->functions[k]->body, f);
        if (used) continue;
        rp_program old = *p;
        p->num_functions--;
        for (int k = i; k < p->num_functions; k++) p->functions[k] = p->functions[k + 1];
        int next_id = p->next_id;
        if (!still_fails(s)) *p = old;
        p->next_id = next_id;
    }
}

void rp_shrink(rp_program *p, bool (*fails)(rp_program *p, void *arg), void *arg)
{
    shrinker s = {p, fails, arg, 0};
    for (bool smaller = true; smaller && s.trials < MAX_TRIALS;) {
        smaller = false;
        drop_functions(&s);
        for (int i = p->num_functions - 1; i >= 0; i--)
            if (p->functions[i]->body) smaller |= shrink_expr(&s, p->functions[i]->body);
    }
}
