/* SPDX-License-Identifier: Apache-2.0 */
/* In a run of stores, expressions with loads that several of them evaluate, and that none of them writes
 * to, are given names before the first. Then, at each statement from the top down, an expression
 * without loads that occurs in two of its parts, or a slow one in a loop, is named around it; inside one
 * store, or in names that follow each other, whatever occurs twice.
 *
 * Names, sequences, conditions and allocations nest as deep as a body is long. What such a chain shares is found from one
 * walk over it (chain.c); a loop, whose nest is short, walks over its body. */
#include "lower/hoist_common/hoist.h"

/* ---- Runs of stores -------------------------------------------------------------------------------------- */

typedef struct run_walk {
    gpuc_tir_mapper m;
    gpuc_hoister *h;
} run_walk;

static bool is_plain_store(gpuc_stmt s)
{
    if (s->kind != GPUC_STMT_STORE) return false;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    return !((n->value->flags | n->index[0]->flags) & GPUC_TIR_HAS_EFFECT);
}

/* The names of part i + 1 are those at head[i], and at next of each, the last first. */
static void by_part(gpuc_ctx *ctx, const gpuc_hoist_names *b, int n, size_t **head, size_t **next)
{
    *head = gpuc_new_array(ctx, size_t, n);
    *next = gpuc_new_array(ctx, size_t, b->num + 1);
    for (int i = 0; i < n; i++) (*head)[i] = b->num;
    for (size_t k = 0; k < b->num; k++) {
        (*next)[k] = (*head)[b->at[k].part - 1];
        (*head)[b->at[k].part - 1] = k;
    }
}

/* A run of stores at[0..n): loads that several share come before the first of them. */
static gpuc_stmt hoist_run(gpuc_hoister *h, gpuc_stmt *at, int n)
{
    enum { MAX_NAMES = GPUC_TIR_MAX_NESTING / 4 }; /* each nests twice: a name, and what follows it */
    gpuc_ctx *ctx = h->ctx;
    gpuc_hoist_survey v;
    gpuc_tir_mapper m;
    gpuc_ptrs list = {0};
    gpuc_lower_hoist_start(&v, h);
    v.loads = v.only_loads = true;
    for (int i = 0; i < n; i++) {
        const gpuc_tir_buffer *b = gpuc_as_store(at[i])->buffer;
        gpuc_map_set(&v.written, b, (void *)b);
        v.any_written_param |= b->scope == GPUC_SCOPE_GLOBAL;
    }
    for (int i = 0; i < n; i++) {
        v.part = i + 1;
        gpuc_lower_hoist_roots(&v, at[i], gpuc_lower_hoist_count);
    }
    gpuc_stmt all = gpuc_tir_seq(ctx, n, at);
    gpuc_lower_hoist_choose(&v, all, gpuc_lower_hoist_roots, &list);
    if (list.count == 0) return all;
    if (list.count > MAX_NAMES && n >= 4)
        return gpuc_tir_seq2(ctx, hoist_run(h, at, n / 2), hoist_run(h, at + n / 2, n - n / 2));
    gpuc_lower_hoist_limit(h, &list.count);
    gpuc_hoist_names b = gpuc_lower_hoist_bind(&v, &list, &m);
    size_t *head, *next;
    by_part(ctx, &b, n, &head, &next);
    gpuc_stmt *mapped = gpuc_new_array(ctx, gpuc_stmt, n + 1), out = NULL;
    for (int i = 0; i < n; i++) mapped[i] = gpuc_tir_map_stmt(&m, at[i]);
    for (int i = n, end = n; i-- > 0;) {
        if (i > 0 && head[i] == list.count) continue;
        mapped[end] = out;
        out = gpuc_tir_seq(ctx, end - i + 1, mapped + i);
        for (size_t k = head[i]; k < list.count; k = next[k])
            out = gpuc_tir_let(ctx, b.at[k].var, b.at[k].value, out);
        end = i;
    }
    return out;
}

/* Handles runs of stores first, since naming a load may leave its index with one use. */
static gpuc_stmt hoist_runs(gpuc_tir_mapper *m, gpuc_stmt s)
{
    gpuc_hoister *h = ((run_walk *)m)->h;
    if (s->kind != GPUC_STMT_SEQ) return gpuc_tir_map_stmt_children(m, s);
    const gpuc_tir_seq_node *n = gpuc_as_seq(s);
    gpuc_stmt *at = gpuc_ctx_memdup(m->ctx, n->at, (size_t)n->n * sizeof *at);
    gpuc_stmt *out = gpuc_new_array(m->ctx, gpuc_stmt, n->n);
    int filled = 0;
    for (int i = 0; i < n->n;) {
        int end = i;
        while (end < n->n && is_plain_store(at[end])) end++;
        if (end - i >= 2) {
            out[filled++] = hoist_run(h, at + i, end - i);
            i = end;
        } else {
            out[filled++] = gpuc_tir_map_stmt(m, at[i++]);
        }
    }
    return gpuc_tir_seq(m->ctx, filled, out);
}

/* ---- Loops and branches ---------------------------------------------------------------------------------- */

/* Names around a loop or a branch what occurs in two of its parts. */
static gpuc_stmt hoist_parts(gpuc_hoister *h, gpuc_stmt s, gpuc_hoist_names *around)
{
    gpuc_hoist_survey v;
    gpuc_tir_mapper m;
    gpuc_ptrs list = {0};
    if (s->kind != GPUC_STMT_FOR && s->kind != GPUC_STMT_IF) return s;
    gpuc_lower_hoist_start(&v, h);
    gpuc_tir_visit_stmt(h->ctx, s, gpuc_lower_hoist_bound, NULL, &v);
    v.part = 1;
    if (s->kind == GPUC_STMT_FOR) {
        gpuc_lower_hoist_count(gpuc_as_for(s)->min, &v);
        gpuc_lower_hoist_count(gpuc_as_for(s)->extent, &v);
        v.part++;
        v.repeats = true;
        gpuc_lower_hoist_roots(&v, gpuc_as_for(s)->body, gpuc_lower_hoist_count);
    } else {
        gpuc_lower_hoist_count(gpuc_as_if(s)->cond, &v);
        v.part++;
        gpuc_lower_hoist_roots(&v, gpuc_as_if(s)->then_body, gpuc_lower_hoist_count);
        v.part++;
        gpuc_lower_hoist_roots(&v, gpuc_as_if(s)->else_body, gpuc_lower_hoist_count);
    }
    gpuc_lower_hoist_choose(&v, s, gpuc_lower_hoist_roots, &list);
    gpuc_lower_hoist_limit(h, &list.count);
    if (list.count == 0) return s;
    *around = gpuc_lower_hoist_bind(&v, &list, &m);
    return gpuc_tir_map_stmt(&m, s);
}

gpuc_stmt gpuc_lower_hoist_below(gpuc_hoister *h, gpuc_stmt s)
{
    gpuc_ctx *ctx = h->ctx;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_stmt body = gpuc_lower_hoist(h, n->body);
        return body == n->body ? s : gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        gpuc_stmt then_body = gpuc_lower_hoist(h, n->then_body),
                  else_body = n->else_body ? gpuc_lower_hoist(h, n->else_body) : NULL;
        return then_body == n->then_body && else_body == n->else_body
                   ? s
                   : gpuc_tir_if_(ctx, n->cond, then_body, else_body);
    }
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        gpuc_stmt body = n->body->kind == GPUC_STMT_LET ? gpuc_lower_hoist_chain(h, n->body, false)
                                                        : gpuc_lower_hoist(h, n->body);
        return body == n->body ? s : gpuc_tir_let(ctx, n->var, n->value, body);
    }
    case GPUC_STMT_SEQ:
    case GPUC_STMT_ALLOC:
    case GPUC_STMT_ATTR:
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

/* The statement's own expressions, not those of statements inside. Of names in a row it is one statement: nothing
 * is written between them. */
static void own_roots(void *arg, gpuc_stmt s, gpuc_hoist_expr_fn fn)
{
    for (; s->kind == GPUC_STMT_LET; s = gpuc_as_let(s)->body) {
        fn(gpuc_as_let(s)->value, arg);
        if (gpuc_as_let(s)->body->kind != GPUC_STMT_LET) return;
    }
    if (s->kind == GPUC_STMT_IF)
        fn(gpuc_as_if(s)->cond, arg);
    else if (s->kind == GPUC_STMT_STORE || s->kind == GPUC_STMT_EVAL)
        gpuc_lower_hoist_roots(arg, s, fn);
}

gpuc_stmt gpuc_lower_hoist_map_own(gpuc_tir_mapper *m, gpuc_stmt s)
{
    if (s->kind == GPUC_STMT_LET) {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        gpuc_stmt body = n->body->kind == GPUC_STMT_LET ? gpuc_lower_hoist_map_own(m, n->body) : n->body;
        gpuc_expr value = gpuc_tir_map(m, n->value);
        if (value->kind != GPUC_EXPR_VAR) return gpuc_tir_let(m->ctx, n->var, value, body);
        return gpuc_tir_substitute_stmt(m->ctx, body, 1, &n->var, &value); /* what had a name has another */
    }
    if (s->kind == GPUC_STMT_IF)
        return gpuc_tir_if_(m->ctx, gpuc_tir_map(m, gpuc_as_if(s)->cond), gpuc_as_if(s)->then_body,
                            gpuc_as_if(s)->else_body);
    return gpuc_tir_map_stmt(m, s);
}

gpuc_hoist_names gpuc_lower_hoist_uses(gpuc_hoister *h, gpuc_stmt s, gpuc_tir_mapper *m)
{
    gpuc_hoist_survey v;
    gpuc_ptrs list = {0};
    gpuc_lower_hoist_start(&v, h);
    v.by_edges = true;
    v.loads = true;
    v.part = 1;
    for (gpuc_stmt in = s; in->kind == GPUC_STMT_LET; in = gpuc_as_let(in)->body)
        gpuc_lower_hoist_bound(in, &v);
    own_roots(&v, s, gpuc_lower_hoist_count);
    if (v.infos.count == 0) return (gpuc_hoist_names){0};
    gpuc_lower_hoist_choose(&v, s, own_roots, &list);
    gpuc_lower_hoist_limit(h, &list.count);
    if (list.count == 0) return (gpuc_hoist_names){0};
    return gpuc_lower_hoist_bind(&v, &list, m);
}

/* ---- Statements ------------------------------------------------------------------------------------------ */

gpuc_stmt gpuc_lower_hoist(gpuc_hoister *h, gpuc_stmt s)
{
    if (gpuc_lower_hoist_last(s)) return gpuc_lower_hoist_chain(h, s, true);
    gpuc_hoist_names around = {0}, own;
    gpuc_tir_mapper m;
    uint32_t nesting = h->nesting;
    s = hoist_parts(h, s, &around);
    h->nesting += (uint32_t)around.num;
    own = gpuc_lower_hoist_uses(h, s, &m);
    h->nesting += (uint32_t)own.num;
    gpuc_stmt rest = own.num ? gpuc_lower_hoist_map_own(&m, s) : s;
    s = rest->kind == s->kind ? gpuc_lower_hoist_below(h, rest) : gpuc_lower_hoist(h, rest);
    h->nesting = nesting;
    return gpuc_lower_hoist_wrap(h->ctx, &around, gpuc_lower_hoist_wrap(h->ctx, &own, s));
}

gpuc_tir_func *gpuc_lower_hoist_common(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_hoister h = {.ctx = p->ctx, .aliased = f->aliased};
    gpuc_map_init(&h.nonzero, p->ctx);
    run_walk w = {.h = &h};
    gpuc_tir_mapper_init(&w.m, p->ctx, NULL, hoist_runs);
    h.nesting = f->body->depth;
    gpuc_stmt body = gpuc_tir_map_stmt(&w.m, f->body);
    h.nesting = body->depth;
    return gpuc_lower_with_body(p->ctx, f, gpuc_lower_hoist(&h, body), f->stage);
}
