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
        const gpuc_rtype *own =
            gpuc_relay_rtype_keep_any(s->ctx, gpuc_relay_resolve(s, t), p->var->type_before);
        if (!gpuc_relay_unify(s, p->var->type, own)) wrong(s, p, gpuc_relay_type_text(s, p->var->type), t);
    } else if (p->constructor) {
        const gpuc_adt *adt = p->constructor->adt;
        const gpuc_rtype **args = gpuc_new_array(s->ctx, const gpuc_rtype *, adt->num_params + 1);
        for (int i = 0; i < adt->num_params; i++) args[i] = gpuc_relay_rtype_hole(s->ctx);
        const gpuc_rtype *own = gpuc_relay_rtype_adt(s->ctx, adt, adt->num_params, args);
        if (!gpuc_relay_unify(s, t, own)) wrong(s, p, gpuc_relay_type_text(s, own), t);
        const gpuc_rtype **fields = gpuc_new_array(s->ctx, const gpuc_rtype *, p->n + 1);
        for (int i = 0; i < p->n; i++)
            fields[i] =
                gpuc_relay_rtype_substitute(s->ctx, gpuc_relay_rtype_fresh(s->ctx, p->constructor->fields[i]),
                                            adt->num_params, adt->params, args);
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
        type_pattern(s, m->clauses[i].pattern, gpuc_relay_instantiate(s, t, NULL));
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

static const gpuc_rpattern *const *row_of(const matrix *m, int r)
{
    return m->at + (size_t)r * (size_t)m->columns;
}

/* Rows n of m with the first column replaced by the fields of a constructor or of a tuple. */
static matrix specialize(gpuc_ctx *ctx, const matrix *m, int n, const int *rows, int fields)
{
    matrix out = {n, m->columns - 1 + fields, NULL};
    const gpuc_rpattern **at = gpuc_new_array(ctx, const gpuc_rpattern *, (size_t)n *(size_t)out.columns + 1);
    out.at = at;
    for (int r = 0; r < n; r++) {
        const gpuc_rpattern *const *row = row_of(m, rows[r]);
        for (int i = 0; i < fields; i++) *at++ = is_wild(row[0]) ? NULL : &row[0]->at[i];
        for (int i = 1; i < m->columns; i++) *at++ = row[i];
    }
    return out;
}

/* The rows that fit values of any shape, without the first columns. */
static matrix only_wild(gpuc_ctx *ctx, const matrix *m, int columns)
{
    matrix out = {0, m->columns - columns, NULL};
    for (int r = 0; r < m->rows; r++) out.rows += is_wild(row_of(m, r)[0]);
    const gpuc_rpattern **at =
        gpuc_new_array(ctx, const gpuc_rpattern *, (size_t)out.rows *(size_t)out.columns + 1);
    out.at = at;
    for (int r = 0; r < m->rows; r++)
        for (int i = columns; i < m->columns && is_wild(row_of(m, r)[0]); i++) *at++ = row_of(m, r)[i];
    return out;
}

typedef struct search {
    gpuc_relay_solver *s;
    int64_t work;
} search;

/* The first pattern of a column that is no wildcard; NULL: all are. */
static const gpuc_rpattern *first_shape(const matrix *m, int column)
{
    for (int r = 0; r < m->rows; r++) {
        const gpuc_rpattern *p = row_of(m, r)[column];
        if (!is_wild(p)) return p;
    }
    return NULL;
}

static const gpuc_constructor *missing_constructor(gpuc_ctx *ctx, const matrix *m, const gpuc_adt *adt)
{
    bool *there = gpuc_new_array(ctx, bool, adt->n + 1);
    for (int r = 0; r < m->rows; r++) {
        const gpuc_rpattern *p = row_of(m, r)[0];
        if (!is_wild(p)) there[p->constructor->tag] = true;
    }
    for (int k = 0; k < adt->n; k++)
        if (!there[k]) return &adt->constructors[k];
    return NULL;
}

/* "C(_, x), y" of values that no row fits; NULL: there are none. The text of n values is the first part. */
static const char *const *find_gap(search *f, const matrix *m, int level);

static const char *const *gap_with(search *f, const matrix *inner, const matrix *m, const gpuc_constructor *c,
                                   int n, int level)
{
    gpuc_ctx *ctx = f->s->ctx;
    const char *const *parts = find_gap(f, inner, level + 1);
    if (!parts) return NULL;
    const char **out = gpuc_new_array(ctx, const char *, m->columns + 1), *text = c ? c->name : "";
    for (int i = 0; i < n; i++) text = gpuc_ctx_printf(ctx, "%s%s%s", text, i ? ", " : "(", parts[i]);
    out[0] = n ? gpuc_ctx_printf(ctx, "%s%s)", text, !c && n == 1 ? "," : "") : c ? text : "()";
    for (int i = 1; i < m->columns; i++) out[i] = parts[n + i - 1];
    return out;
}

static const char *const *gap_of_tuples(search *f, const matrix *m, int n, int level)
{
    int *rows = gpuc_new_array(f->s->ctx, int, m->rows + 1);
    for (int r = 0; r < m->rows; r++) rows[r] = r;
    matrix inner = specialize(f->s->ctx, m, m->rows, rows, n);
    return gap_with(f, &inner, m, NULL, n, level);
}

/* Every constructor has a row: each is looked at with its own rows and those that fit any. */
static const char *const *gap_of_constructors(search *f, const matrix *m, const gpuc_adt *adt, int level)
{
    gpuc_ctx *ctx = f->s->ctx;
    gpuc_ptrs *own = gpuc_new_array(ctx, gpuc_ptrs, adt->n + 1), *wild = &own[adt->n];
    for (int r = 0; r < m->rows; r++) {
        const gpuc_rpattern *p = row_of(m, r)[0];
        gpuc_ptrs_push(ctx, is_wild(p) ? wild : &own[p->constructor->tag], (void *)(uintptr_t)r);
    }
    for (int k = 0; k < adt->n; k++) {
        const gpuc_constructor *c = &adt->constructors[k];
        int n = 0, *rows = gpuc_new_array(ctx, int, own[k].count + wild->count + 1);
        for (size_t i = 0; i < own[k].count; i++) rows[n++] = (int)(uintptr_t)own[k].at[i];
        for (size_t i = 0; i < wild->count; i++) rows[n++] = (int)(uintptr_t)wild->at[i];
        matrix inner = specialize(ctx, m, n, rows, c->n);
        const char *const *gap = gap_with(f, &inner, m, c, c->n, level);
        if (gap) return gap;
    }
    return NULL;
}

static bool has_wild_row(const matrix *m)
{
    for (int r = 0; r < m->rows; r++) {
        int i = 0;
        while (i < m->columns && is_wild(row_of(m, r)[i])) i++;
        if (i == m->columns) return true;
    }
    return false;
}

static const char *const *find_gap(search *f, const matrix *m, int level)
{
    static const char *const nothing[] = {NULL};
    gpuc_ctx *ctx = f->s->ctx;
    f->work += (int64_t)m->rows * (m->columns + 1) + 1;
    if (f->work > MAX_WORK || level > MAX_LEVELS)
        gpuc_relay_type_fail(f->s, "the patterns are too many to check: write match?");
    if (has_wild_row(m)) return NULL;
    if (m->columns == 0) return nothing;
    int columns = 0; /* at the beginning, that tell nothing */
    while (columns < m->columns && !first_shape(m, columns)) columns++;
    const gpuc_rpattern *shape = columns ? NULL : first_shape(m, 0);
    if (shape && shape->tuple) return gap_of_tuples(f, m, shape->n, level);
    const gpuc_constructor *missing = shape ? missing_constructor(ctx, m, shape->constructor->adt) : NULL;
    if (shape && !missing) return gap_of_constructors(f, m, shape->constructor->adt, level);
    columns += shape != NULL;
    matrix inner = only_wild(ctx, m, columns);
    const char *const *parts = find_gap(f, &inner, level + 1);
    if (!parts) return NULL;
    const char **out = gpuc_new_array(ctx, const char *, m->columns + 1);
    for (int i = 0; i < m->columns; i++) out[i] = i < columns ? "_" : parts[i - columns];
    if (missing) {
        out[0] = missing->name;
        for (int i = 0; i < missing->n; i++) out[0] = gpuc_ctx_printf(ctx, "%s%s", out[0], i ? ", _" : "(_");
        if (missing->n) out[0] = gpuc_ctx_printf(ctx, "%s)", out[0]);
    }
    return out;
}

void gpuc_relay_check_exhaustive(gpuc_relay_solver *s, const gpuc_rmatch *m)
{
    if (m->partial) return;
    const gpuc_rpattern **at = gpuc_new_array(s->ctx, const gpuc_rpattern *, m->n + 1);
    for (int i = 0; i < m->n; i++) at[i] = m->clauses[i].pattern;
    search f = {.s = s};
    matrix all = {m->n, 1, at};
    const char *const *gap = find_gap(&f, &all, 0);
    if (gap) gpuc_relay_type_fail(s, "no clause fits %s: add one, or write match?", gap[0]);
}
