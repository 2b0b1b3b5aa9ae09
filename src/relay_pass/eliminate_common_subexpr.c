/* SPDX-License-Identifier: Apache-2.0 */
/* Merges expressions that are equal, among them small constants. A call is merged with one whose scope is around its own, or
 * the same: what only a branch computes stays in that branch. */
#include <string.h>

#include "relay/scope_tree.h"
#include "relay_pass/common/util.h"

enum { SMALL_CONSTANT = 256 }; /* bytes */

typedef struct merger {
    gpuc_ctx *ctx;
    const char *keep;   /* operators that stay, "add,exp" */
    gpuc_map class_of;  /* node -> the first node that is equal to it, wherever that stands */
    gpuc_map leader_of; /* node -> the outermost one of the equal ones whose scope is around it */
    gpuc_map made;      /* leader -> what stands for all that it leads */
} merger;

static const gpuc_rexpr *class_of(const merger *m, const gpuc_rexpr *e)
{
    const gpuc_rexpr *c = gpuc_map_get(&m->class_of, e);
    return c ? c : e;
}

static bool is_small(const gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_CONSTANT && gpuc_as_rconstant(e)->data->size <= SMALL_CONSTANT;
}

static bool is_mergeable(const merger *m, const gpuc_rexpr *e)
{
    if (gpuc_relay_call_op(e) && gpuc_op_lists(m->keep, gpuc_relay_call_op(e)->name)) return false;
    return is_small(e) || gpuc_relay_call_op(e) || e->kind == GPUC_REXPR_GET || e->kind == GPUC_REXPR_TUPLE;
}

/* ---- Classes of equal nodes: of their key, which has the classes of their parts ---- */

typedef struct key {
    const merger *m;
    const gpuc_rexpr *e;
} key;

static bool equal_constants(const gpuc_rconstant *x, const gpuc_rconstant *y)
{
    return gpuc_relay_rtype_equal(x->base.type, y->base.type) && x->data->size == y->data->size &&
           !memcmp(x->data->bytes, y->data->bytes, x->data->size);
}

static bool equal(const void *a, const void *b)
{
    const merger *m = ((const key *)a)->m;
    const gpuc_rexpr *p = ((const key *)a)->e, *q = ((const key *)b)->e, *x;
    if (p->kind != q->kind) return false;
    if (p->kind == GPUC_REXPR_CONSTANT) return equal_constants(gpuc_as_rconstant(p), gpuc_as_rconstant(q));
    if (gpuc_relay_call_op(p) != gpuc_relay_call_op(q)) return false;
    if (gpuc_relay_num_operands(p) != gpuc_relay_num_operands(q)) return false;
    for (int i = p->kind == GPUC_REXPR_CALL; (x = gpuc_relay_operand(p, i)); i++)
        if (class_of(m, x) != class_of(m, gpuc_relay_operand(q, i))) return false;
    return gpuc_relay_get_index(p) == gpuc_relay_get_index(q) &&
           gpuc_attrs_equal(gpuc_relay_get_attrs(p), gpuc_relay_get_attrs(q));
}

static uint32_t hash(const merger *m, const gpuc_rexpr *e)
{
    uint32_t h = (uint32_t)e->kind;
    const gpuc_rexpr *x;
    if (e->kind == GPUC_REXPR_CONSTANT) {
        const gpuc_const_data *data = gpuc_as_rconstant(e)->data;
        return gpuc_hash_mix(h, gpuc_hash_bytes(data->bytes, data->size, 0));
    }
    if (gpuc_relay_call_op(e)) {
        const char *name = gpuc_relay_call_op(e)->name;
        h = gpuc_hash_mix(gpuc_attrs_hash(gpuc_relay_get_attrs(e)), gpuc_hash_bytes(name, strlen(name), h));
    }
    for (int i = e->kind == GPUC_REXPR_CALL; (x = gpuc_relay_operand(e, i)); i++)
        h = gpuc_hash_mix(h, class_of(m, x)->id);
    return gpuc_hash_mix(h, (uint32_t)gpuc_relay_get_index(e));
}

static void find_classes(merger *m, const gpuc_ptrs *order)
{
    gpuc_intern table;
    gpuc_intern_init(&table, m->ctx, equal);
    for (size_t i = 0; i < order->count; i++) {
        key *k, asked = {m, order->at[i]};
        if (!is_mergeable(m, asked.e)) continue;
        uint32_t h = hash(m, asked.e);
        const key *found = gpuc_intern_find(&table, &asked, h);
        if (found) {
            gpuc_map_set(&m->class_of, asked.e, (void *)(uintptr_t)found->e);
            continue;
        }
        k = gpuc_ctx_memdup(m->ctx, &asked, sizeof asked);
        gpuc_intern_add(&table, k, h);
    }
}

/* ---- Leaders: the scopes are gone through from the outside ---- */

typedef struct entry {
    const gpuc_rexpr *class, *before; /* what led the class outside of the scope */
} entry;

typedef struct level {
    const gpuc_relay_scope *scope;
    gpuc_ptrs entered; /* entry */
} level;

static void leave(level *l, gpuc_map *leads)
{
    for (size_t i = l->entered.count; i-- > 0;) {
        const entry *e = l->entered.at[i];
        gpuc_map_set(leads, e->class, (void *)(uintptr_t)e->before);
    }
}

static void lead_scope(merger *m, level *l, const gpuc_ptrs *nodes, gpuc_map *leads)
{
    for (size_t i = 0; i < nodes->count; i++) {
        gpuc_rexpr *e = nodes->at[i];
        const gpuc_rexpr *class = class_of(m, e);
        gpuc_rexpr *leader = gpuc_map_get(leads, class);
        gpuc_map_set(&m->leader_of, e, leader ? leader : e);
        if (leader) continue;
        entry *new = gpuc_new(m->ctx, entry);
        *new = (entry){class, NULL};
        gpuc_ptrs_push(m->ctx, &l->entered, new);
        gpuc_map_set(leads, class, e);
    }
}

static void find_leaders(merger *m, const gpuc_relay_scopes *s)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_ptrs *nodes = gpuc_new_array(ctx, gpuc_ptrs, s->all.count), open = {0}, *inner;
    gpuc_map leads;
    gpuc_map_init(&leads, ctx);
    inner = gpuc_new_array(ctx, gpuc_ptrs, s->all.count);
    for (size_t i = 0; i < s->order.count; i++) {
        const gpuc_relay_scope *scope = gpuc_map_get(&s->of, s->order.at[i]);
        if (scope && is_mergeable(m, s->order.at[i]))
            gpuc_ptrs_push(ctx, &nodes[scope->number], s->order.at[i]);
    }
    for (size_t i = 1; i < s->all.count; i++) {
        const gpuc_relay_scope *scope = s->all.at[i];
        gpuc_ptrs_push(ctx, &inner[scope->parent->number], scope);
    }
    level *l = gpuc_new(ctx, level);
    l->scope = s->all.at[0];
    lead_scope(m, l, &nodes[0], &leads);
    gpuc_ptrs_push(ctx, &open, l);
    while (open.count) {
        l = open.at[open.count - 1];
        gpuc_ptrs *next = &inner[l->scope->number];
        if (!next->count) {
            leave(l, &leads);
            open.count--;
            continue;
        }
        l = gpuc_new(ctx, level);
        l->scope = next->at[--next->count];
        lead_scope(m, l, &nodes[l->scope->number], &leads);
        gpuc_ptrs_push(ctx, &open, l);
    }
}

/* ---- The pass ---- */

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    merger *m = arg;
    bool small = is_small(old);
    const gpuc_rexpr *leader = small ? class_of(m, old) : gpuc_map_get(&m->leader_of, old);
    if (!leader) return e;
    gpuc_rexpr *made = gpuc_map_get(&m->made, leader);
    if (!made) gpuc_map_set(&m->made, leader, e);
    if (made && made != e && !small) gpuc_relay_with_source(ctx, made, e->source);
    return made ? made : e;
}

void gpuc_relay_pass_eliminate_common_subexpr(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        merger m = {.ctx = p->ctx, .keep = gpuc_attrs_get_string(p->options, "keep", "")};
        gpuc_relay_scopes scopes;
        gpuc_map_init(&m.class_of, p->ctx);
        gpuc_map_init(&m.leader_of, p->ctx);
        gpuc_map_init(&m.made, p->ctx);
        gpuc_relay_find_scopes(p->ctx, functions->entries[i].value, false, &scopes);
        find_classes(&m, &scopes.order);
        find_leaders(&m, &scopes);
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &m);
    }
}
