/* SPDX-License-Identifier: Apache-2.0 */
/* Substitutes expressions for variables. */
#include "tir/intern.h"

static gpuc_expr keep(gpuc_tir_mapper *m, gpuc_expr e)
{
    return e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_TE) ? gpuc_tir_map_children(m, e) : e;
}

static void init(gpuc_tir_mapper *m, gpuc_ctx *ctx, int n, const gpuc_expr *vars, const gpuc_expr *with)
{
    gpuc_tir_mapper_init(m, ctx, keep, NULL);
    for (int i = 0; i < n; i++) {
        if (!gpuc_dtype_equal(vars[i]->dtype, with[i]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' of type %s cannot be replaced by %s of type %s",
                       gpuc_tir_short_text(ctx, vars[i]), gpuc_tir_type_text(ctx, vars[i]->dtype),
                       gpuc_tir_short_text(ctx, with[i]), gpuc_tir_type_text(ctx, with[i]->dtype));
        gpuc_map_set(&m->memo, vars[i], (void *)with[i]);
    }
}

gpuc_expr gpuc_tir_substitute(gpuc_ctx *ctx, gpuc_expr e, int n, const gpuc_expr *vars, const gpuc_expr *with)
{
    if (n == 0 || !(e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_TE))) return e;
    gpuc_tir_mapper m;
    init(&m, ctx, n, vars, with);
    return gpuc_tir_map(&m, e);
}

typedef struct by_map {
    gpuc_tir_mapper m;
    const gpuc_map *by;
} by_map;

static gpuc_expr look_up(gpuc_tir_mapper *m, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_VAR) return keep(m, e);
    gpuc_expr with = gpuc_map_get(((const by_map *)m)->by, e);
    return with ? with : e;
}

gpuc_expr gpuc_tir_substitute_map(gpuc_ctx *ctx, gpuc_expr e, const gpuc_map *by)
{
    if (by->count == 0 || !(e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_TE))) return e;
    by_map s = {.by = by};
    gpuc_tir_mapper_init(&s.m, ctx, look_up, NULL);
    return gpuc_tir_map(&s.m, e);
}

/* ---- Of statements: allocations whose sizes change are other buffers ---- */

typedef struct substitution {
    gpuc_tir_mapper m;
    gpuc_map buffers; /* from those that the statement allocates to those with other sizes */
} substitution;

static gpuc_expr replace(gpuc_tir_mapper *m, gpuc_expr e)
{
    const substitution *s = (const substitution *)m;
    if (s->buffers.count == 0) return keep(m, e);
    return e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_TE)
               ? gpuc_tir_with_buffers(m->ctx, gpuc_tir_map_children(m, e), &s->buffers)
               : e;
}

static gpuc_stmt replace_stmt(gpuc_tir_mapper *m, gpuc_stmt stmt)
{
    substitution *s = (substitution *)m;
    if (stmt->kind == GPUC_STMT_ALLOC) {
        const gpuc_tir_alloc_node *n = gpuc_as_alloc(stmt);
        gpuc_tir_buffer *b = gpuc_map_get(&s->buffers, n->buffer);
        if (!b) b = gpuc_tir_map_buffer(m, n->buffer);
        if (!b) return gpuc_tir_map_stmt_children(m, stmt);
        gpuc_map_set(&s->buffers, n->buffer, b);
        return gpuc_tir_alloc(m->ctx, b, gpuc_tir_map_stmt(m, n->body));
    }
    stmt = gpuc_tir_map_stmt_children(m, stmt);
    if (!stmt || stmt->kind != GPUC_STMT_STORE || s->buffers.count == 0) return stmt;
    const gpuc_tir_store_node *n = gpuc_as_store(stmt);
    const gpuc_tir_buffer *b = gpuc_map_get(&s->buffers, n->buffer);
    return b ? gpuc_tir_store(m->ctx, b, n->n, n->index, n->value) : stmt;
}

gpuc_stmt gpuc_tir_substitute_stmt(gpuc_ctx *ctx, gpuc_stmt s, int n, const gpuc_expr *vars,
                                   const gpuc_expr *with)
{
    if (n == 0) return s;
    substitution all;
    init(&all.m, ctx, n, vars, with);
    all.m.expr = replace;
    all.m.stmt = replace_stmt;
    gpuc_map_init(&all.buffers, ctx);
    return gpuc_tir_map_stmt(&all.m, s);
}
