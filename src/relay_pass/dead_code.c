/* SPDX-License-Identifier: Apache-2.0 */
/* Drops functions and lets that nothing uses, and reads of sizes whose value is never used. */
#include <string.h>

#include "relay/infer.h"
#include "relay_pass/common/util.h"

/* Variables of lets and their values, of those that the walk came to. */
static gpuc_rexpr *live_part(const gpuc_rexpr *e, int i, void *arg)
{
    gpuc_map *values = arg;
    if (e->kind == GPUC_REXPR_VAR) return i == 0 ? gpuc_map_get(values, e) : NULL;
    if (e->kind != GPUC_REXPR_LET) return gpuc_relay_operand(e, i);
    if (i == 0) gpuc_map_set(values, gpuc_as_rlet(e)->var, gpuc_as_rlet(e)->value);
    return i == 0 ? gpuc_as_rlet(e)->body : NULL;
}

static gpuc_rexpr *drop_lets(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    (void)old;
    const gpuc_map *live = arg;
    if (e->kind != GPUC_REXPR_LET) return e;
    return gpuc_map_has(live, gpuc_as_rlet(e)->var) ? e : gpuc_as_rlet(e)->body;
}

/* A let whose variable only lets use that nothing uses goes, too. */
static gpuc_rexpr *without_unused_lets(gpuc_ctx *ctx, gpuc_rexpr *f)
{
    gpuc_map values, live;
    gpuc_ptrs order = {0};
    gpuc_map_init(&values, ctx);
    gpuc_map_init(&live, ctx);
    gpuc_relay_walk_post_order(ctx, f, &(gpuc_relay_walk){live_part, NULL, &values}, &order);
    for (size_t i = 0; i < order.count; i++) gpuc_map_set(&live, order.at[i], order.at[i]);
    return gpuc_relay_rewrite(ctx, f, drop_lets, &live);
}

typedef struct users {
    gpuc_ctx *ctx;
    gpuc_map symbols, seen; /* variables of sizes, and expressions, that were visited */
} users;

static bool note_symbol(gpuc_expr e, void *arg)
{
    users *u = arg;
    if (e->kind == GPUC_EXPR_VAR) gpuc_map_set(&u->symbols, e, u);
    return true;
}

static void note_size(users *u, gpuc_expr size)
{
    if (size && size->kind != GPUC_EXPR_INT) gpuc_tir_visit(u->ctx, size, note_symbol, u);
}

static void note_type(users *u, const gpuc_rtype *t)
{
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++) note_size(u, t->tensor.dims[i]);
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++) note_type(u, t->at[i]);
}

/* Notes the sizes that computing e uses. */
static void note_users(users *u, gpuc_rexpr *e)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(u->ctx, e, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *x = order.at[i];
        if (gpuc_map_has(&u->seen, x)) continue;
        gpuc_map_set(&u->seen, x, u);
        if (x->type) note_type(u, x->type);
        const gpuc_attrs *a = x->kind == GPUC_REXPR_CALL ? gpuc_as_rcall(x)->attrs : NULL;
        for (int k = 0; a && k < a->count; k++)
            for (int j = 0; a->at[k].sizes && j < a->at[k].n; j++) note_size(u, a->at[k].sizes[j]);
    }
}

/* Drops reads of sizes whose value is never used. */
static void drop_reads(gpuc_relay_pass_ctx *p)
{
    gpuc_rmodule *m = p->module;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    gpuc_ptrs kept = {0};
    users u = {.ctx = p->ctx};
    if (!m->reads.count || f->body->kind != GPUC_REXPR_TUPLE) return;
    int n = gpuc_rmodule_num_outputs(m);
    gpuc_map_init(&u.symbols, p->ctx);
    gpuc_map_init(&u.seen, p->ctx);
    gpuc_rexpr *const *fields = gpuc_as_rtuple(f->body)->fields;
    bool *used = gpuc_new_array(p->ctx, bool, m->reads.count);
    for (int i = 0; i < n; i++) note_users(&u, fields[i]);
    for (size_t i = 0; i < m->conditions.count; i++) /* conditions use sizes, too */
        note_size(&u, ((const gpuc_op_condition *)m->conditions.at[i])->cond);
    for (size_t i = m->reads.count; i-- > 0;) {
        const gpuc_relay_read *r = m->reads.at[i];
        used[i] = gpuc_map_has(&u.symbols, r->symbol);
        if (!used[i]) continue;
        note_users(&u, fields[n + (int)i]);
        note_size(&u, r->max);
    }
    for (size_t i = 0; i < m->reads.count; i++) {
        gpuc_relay_read *r = m->reads.at[i];
        if (!used[i]) continue;
        r->number = fields[n + (int)i];
        gpuc_ptrs_push(p->ctx, &kept, r);
    }
    if (kept.count == m->reads.count) return;
    gpuc_rmodule_set_main(m, f->n, f->params, n, fields, &kept);
    gpuc_relay_infer_type(p->ctx, m, gpuc_rmodule_get(m, "main"));
}

void gpuc_relay_pass_dead_code(gpuc_relay_pass_ctx *p)
{
    drop_reads(p);
    gpuc_ptrs entries = {0};
    gpuc_ptrs_push(p->ctx, &entries, "main");
    gpuc_relay_pass_keep_reachable(p, &entries);
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++)
        functions->entries[i].value = without_unused_lets(p->ctx, functions->entries[i].value);
}
