/* SPDX-License-Identifier: Apache-2.0 */
/* Types of patterns, and whether clauses fit every value (Maranget, "Warnings for pattern matching", 2007). */
#include <string.h>

#include "relay/solve.h"

/* ---- Types ---- */

static void type_pattern(gpuc_relay_solver *s, const gpuc_rpattern *p, const gpuc_rtype *t);

static void type_fields(gpuc_relay_solver *s, const gpuc_rpattern *p, const gpuc_rtype *const *fields)
{
    for (int i = 0; i < p->n; i++) type_pattern(s, &p->at[i], fields[i]);
}

static void wrong(gpuc_relay_solver *s, const gpuc_rpattern *p, const char *what, const gpuc_rtype *t)
{
    s->place = p->span;
    gpuc_relay_type_fail(s, "the pattern fits %s, the value is %s", what, gpuc_relay_type_text(s, t));
}

static void type_pattern(gpuc_relay_solver *s, const gpuc_rpattern *p, const gpuc_rtype *t)
{
    if (p->var) {
        if (!p->var->type) p->var->type = gpuc_relay_rtype_hole(s->ctx);
        const gpuc_rtype *fresh = gpuc_relay_rtype_fresh(s->ctx, gpuc_relay_resolve(s, t));
        if (!gpuc_relay_unify(s, p->var->type, fresh)) wrong(s, p, gpuc_relay_type_text(s, p->var->type), t);
    } else if (p->constructor) {
        const gpuc_adt *adt = p->constructor->adt;
        const gpuc_rtype **args = gpuc_new_array(s->ctx, const gpuc_rtype *, adt->num_params + 1);
        for (int i = 0; i < adt->num_params; i++) args[i] = gpuc_relay_rtype_hole(s->ctx);
        const gpuc_rtype *own = gpuc_relay_rtype_adt(s->ctx, adt, adt->num_params, args);
        if (!gpuc_relay_unify(s, t, own)) wrong(s, p, gpuc_relay_type_text(s, own), t);
        const gpuc_rtype **fields = gpuc_new_array(s->ctx, const gpuc_rtype *, p->n + 1);
        for (int i = 0; i < p->n; i++)
            fields[i] = gpuc_relay_rtype_substitute(s->ctx, p->constructor->fields[i], adt->num_params,
                                                    adt->params, args);
        type_fields(s, p, fields);
    } else if (p->tuple) {
        const gpuc_rtype **fields = gpuc_new_array(s->ctx, const gpuc_rtype *, p->n + 1);
        for (int i = 0; i < p->n; i++) fields[i] = gpuc_relay_rtype_hole(s->ctx);
        if (!gpuc_relay_unify(s, t, gpuc_relay_rtype_tuple(s->ctx, p->n, fields)))
            wrong(s, p, gpuc_ctx_printf(s->ctx, "a tuple of %d fields", p->n), t);
        type_fields(s, p, fields);
    }
}

void gpuc_relay_infer_patterns(gpuc_relay_solver *s, const gpuc_rmatch *m)
{
    for (int i = 0; i < m->n; i++) {
        const gpuc_rtype *t = m->value->type;
        type_pattern(s, &m->clauses[i].pattern, gpuc_relay_instantiate(s, t, NULL));
    }
    s->place = (gpuc_relay_span){0};
}

/* ---- Exhaustiveness ---- */

/* Rows of patterns, each as wide as the list of values that they fit; NULL is the wildcard. */
typedef struct matrix {
    int rows, columns;
    const gpuc_rpattern *const *at;
} matrix;

enum { MAX_WORK = 1 << 20, MAX_LEVELS = 300 };

static bool is_wild(const gpuc_rpattern *p)
{
    return !p || (!p->constructor && !p->tuple);
}

/* The rows that fit values made by c (NULL: by a tuple of n), with the first column replaced by its fields. */
static matrix specialize(gpuc_ctx *ctx, const matrix *m, const gpuc_constructor *c, int n)
{
    matrix out = {.columns = m->columns - 1 + n};
    const gpuc_rpattern **at =
        gpuc_new_array(ctx, const gpuc_rpattern *, (size_t)m->rows *(size_t)out.columns + 1);
    for (int r = 0; r < m->rows; r++) {
        const gpuc_rpattern *const *row = m->at + (size_t)r * (size_t)m->columns;
        const gpuc_rpattern **to = at + (size_t)out.rows * (size_t)out.columns;
        if (!is_wild(row[0]) && row[0]->constructor != c) continue;
        for (int i = 0; i < n; i++) to[i] = is_wild(row[0]) ? NULL : &row[0]->at[i];
        for (int i = 1; i < m->columns; i++) to[n + i - 1] = row[i];
        out.rows++;
    }
    out.at = at;
    return out;
}

static matrix only_wild(gpuc_ctx *ctx, const matrix *m)
{
    matrix out = {.columns = m->columns - 1};
    const gpuc_rpattern **at =
        gpuc_new_array(ctx, const gpuc_rpattern *, (size_t)m->rows *(size_t)out.columns + 1);
    for (int r = 0; r < m->rows; r++) {
        const gpuc_rpattern *const *row = m->at + (size_t)r * (size_t)m->columns;
        if (!is_wild(row[0])) continue;
        for (int i = 1; i < m->columns; i++)
            at[(size_t)out.rows * (size_t)out.columns + (size_t)i - 1] = row[i];
        out.rows++;
    }
    out.at = at;
    return out;
}

typedef struct search {
    gpuc_relay_solver *s;
    int64_t work;
} search;

/* The first pattern of the first column that is no wildcard; NULL: all are. */
static const gpuc_rpattern *first_shape(const matrix *m)
{
    for (int r = 0; r < m->rows; r++) {
        const gpuc_rpattern *p = m->at[(size_t)r * (size_t)m->columns];
        if (!is_wild(p)) return p;
    }
    return NULL;
}

static const gpuc_constructor *missing_constructor(const matrix *m, const gpuc_adt *adt)
{
    for (int k = 0; k < adt->n; k++) {
        bool there = false;
        for (int r = 0; r < m->rows; r++) {
            const gpuc_rpattern *p = m->at[(size_t)r * (size_t)m->columns];
            there |= !is_wild(p) && p->constructor == &adt->constructors[k];
        }
        if (!there) return &adt->constructors[k];
    }
    return NULL;
}

/* "C(_, x), y" of values that no row fits; NULL: there are none. The text of n values is the first part. */
static const char *const *find_gap(search *f, const matrix *m, int level);

static const char *const *gap_with(search *f, const matrix *m, const gpuc_constructor *c, int n, bool tuple,
                                   int level)
{
    gpuc_ctx *ctx = f->s->ctx;
    matrix inner = specialize(ctx, m, c, n);
    const char *const *parts = find_gap(f, &inner, level + 1);
    if (!parts) return NULL;
    const char **out = gpuc_new_array(ctx, const char *, m->columns + 1), *text = c ? c->name : "";
    for (int i = 0; i < n; i++) text = gpuc_ctx_printf(ctx, "%s%s%s", text, i ? ", " : "(", parts[i]);
    out[0] = n ? gpuc_ctx_printf(ctx, "%s)", text) : tuple ? "()" : text;
    for (int i = 1; i < m->columns; i++) out[i] = parts[n + i - 1];
    return out;
}

static const char *const *find_gap(search *f, const matrix *m, int level)
{
    static const char *const nothing[] = {NULL};
    gpuc_ctx *ctx = f->s->ctx;
    f->work += (int64_t)m->rows * (m->columns + 1) + 1;
    if (f->work > MAX_WORK || level > MAX_LEVELS)
        gpuc_relay_type_fail(f->s, "the patterns are too many to check: write match?");
    if (m->columns == 0) return m->rows ? NULL : nothing;
    const gpuc_rpattern *shape = first_shape(m);
    if (shape && shape->tuple) return gap_with(f, m, NULL, shape->n, true, level);
    const gpuc_constructor *missing = shape ? missing_constructor(m, shape->constructor->adt) : NULL;
    if (shape && !missing) {
        const gpuc_adt *adt = shape->constructor->adt;
        const char *const *gap = NULL;
        for (int k = 0; k < adt->n && !gap; k++)
            gap = gap_with(f, m, &adt->constructors[k], adt->constructors[k].n, false, level);
        return gap;
    }
    matrix inner = only_wild(ctx, m);
    const char *const *parts = find_gap(f, &inner, level + 1);
    if (!parts) return NULL;
    const char **out = gpuc_new_array(ctx, const char *, m->columns + 1);
    out[0] = "_";
    if (missing) {
        out[0] = missing->name;
        for (int i = 0; i < missing->n; i++) out[0] = gpuc_ctx_printf(ctx, "%s%s", out[0], i ? ", _" : "(_");
        if (missing->n) out[0] = gpuc_ctx_printf(ctx, "%s)", out[0]);
    }
    for (int i = 1; i < m->columns; i++) out[i] = parts[i - 1];
    return out;
}

void gpuc_relay_check_exhaustive(gpuc_relay_solver *s, const gpuc_rmatch *m)
{
    if (m->partial) return;
    const gpuc_rpattern **at = gpuc_new_array(s->ctx, const gpuc_rpattern *, m->n + 1);
    for (int i = 0; i < m->n; i++) at[i] = &m->clauses[i].pattern;
    search f = {.s = s};
    matrix all = {m->n, 1, at};
    const char *const *gap = find_gap(&f, &all, 0);
    if (gap) gpuc_relay_type_fail(s, "no clause fits %s: add one, or write match?", gap[0]);
}
