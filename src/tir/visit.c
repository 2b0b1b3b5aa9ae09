/* SPDX-License-Identifier: Apache-2.0 */
/* The set of what was seen starts on the stack, since most expressions are small, and moves to the heap. */
#include <string.h>

#include "tir/intern.h"

#define FIRST_SLOTS 64

typedef struct seen_set {
    gpuc_ctx *ctx;
    gpuc_expr *slots;
    uint32_t num_slots, count;
    gpuc_expr first[FIRST_SLOTS];
} seen_set;

static void seen_free(void *data)
{
    seen_set *set = data;
    if (set->slots != set->first)
        gpuc_mem_free(set->ctx->allocator, set->slots, set->num_slots * sizeof *set->slots);
    set->slots = set->first;
}

static void seen_init(seen_set *set, gpuc_ctx *ctx)
{
    set->ctx = ctx;
    set->slots = set->first;
    set->num_slots = FIRST_SLOTS;
    set->count = 0;
    memset(set->first, 0, sizeof set->first);
    gpuc_ctx_push_cleanup(ctx, seen_free, set);
}

static void enter(gpuc_expr *slots, uint32_t num_slots, gpuc_expr e)
{
    uint32_t i = (e->id * 0x9e3779b1u) >> 7 & (num_slots - 1);
    while (slots[i]) i = (i + 1) & (num_slots - 1);
    slots[i] = e;
}

/* True if e is new. */
static bool seen_add(seen_set *set, gpuc_expr e)
{
    for (uint32_t i = (e->id * 0x9e3779b1u) >> 7 & (set->num_slots - 1); set->slots[i];
         i = (i + 1) & (set->num_slots - 1))
        if (set->slots[i] == e) return false;
    if (++set->count > set->num_slots - set->num_slots / 3) {
        uint32_t more = set->num_slots * 4;
        gpuc_expr *slots = gpuc_mem_alloc(set->ctx->allocator, more * sizeof *slots);
        if (!slots) gpuc_raise(set->ctx, GPUC_OUT_OF_MEMORY, "out of memory for visiting an expression");
        for (uint32_t i = 0; i < set->num_slots; i++)
            if (set->slots[i]) enter(slots, more, set->slots[i]);
        seen_free(set);
        set->slots = slots;
        set->num_slots = more;
    }
    enter(set->slots, set->num_slots, e);
    return true;
}

typedef struct visitor {
    seen_set seen;
    bool (*on_expr)(gpuc_expr e, void *arg);
    void (*on_stmt)(gpuc_stmt s, void *arg);
    void *arg;
} visitor;

static bool visit(visitor *v, gpuc_expr e)
{
    if (!seen_add(&v->seen, e)) return true;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(v->seen.ctx, e, &operands);
    for (int i = 0; i < operands.n; i++)
        if (!visit(v, operands.at[i])) return false;
    if (e->kind == GPUC_EXPR_REDUCE) {
        const gpuc_tir_reduce_node *n = gpuc_as_reduce(e);
        for (int i = 0; i < n->num_axes; i++)
            if (!visit(v, n->axes[i]->min) || !visit(v, n->axes[i]->extent)) return false;
    }
    return v->on_expr(e, v->arg);
}

bool gpuc_tir_visit(gpuc_ctx *ctx, gpuc_expr e, bool (*on_expr)(gpuc_expr e, void *arg), void *arg)
{
    visitor v = {.on_expr = on_expr, .arg = arg};
    if (!e || !on_expr) return true;
    seen_init(&v.seen, ctx);
    bool all = visit(&v, e);
    gpuc_ctx_pop_cleanup(ctx, true);
    return all;
}

static bool visit_list(visitor *v, int n, const gpuc_expr *list)
{
    if (!v->on_expr || !list) return true;
    for (int i = 0; i < n; i++)
        if (!visit(v, list[i])) return false;
    return true;
}

static bool visit_one(visitor *v, gpuc_expr e)
{
    return !v->on_expr || !e || visit(v, e);
}

static bool visit_stmt(visitor *v, gpuc_stmt s);

static bool visit_stmt_children(visitor *v, gpuc_stmt s)
{
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        return visit_one(v, n->min) && visit_one(v, n->extent) && visit_stmt(v, n->body);
    }
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        return visit_list(v, n->n, n->index) && visit_one(v, n->value);
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        return visit_one(v, n->cond) && visit_stmt(v, n->then_body) && visit_stmt(v, n->else_body);
    }
    case GPUC_STMT_SEQ: {
        const gpuc_tir_seq_node *n = gpuc_as_seq(s);
        for (int i = 0; i < n->n; i++)
            if (!visit_stmt(v, n->at[i])) return false;
        return true;
    }
    case GPUC_STMT_ALLOC: {
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        return visit_list(v, b->ndim, b->shape) && visit_list(v, b->ndim, b->strides) &&
               visit_stmt(v, gpuc_as_alloc(s)->body);
    }
    case GPUC_STMT_LET: return visit_one(v, gpuc_as_let(s)->value) && visit_stmt(v, gpuc_as_let(s)->body);
    case GPUC_STMT_EVAL: return visit_one(v, gpuc_as_eval(s)->value);
    case GPUC_STMT_ATTR: return visit_one(v, gpuc_as_attr(s)->value) && visit_stmt(v, gpuc_as_attr(s)->body);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return true;
}

static bool visit_stmt(visitor *v, gpuc_stmt s)
{
    if (!s) return true;
    if (v->on_stmt) v->on_stmt(s, v->arg);
    return visit_stmt_children(v, s);
}

void gpuc_tir_visit_stmt(gpuc_ctx *ctx, gpuc_stmt s, void (*on_stmt)(gpuc_stmt s, void *arg),
                         bool (*on_expr)(gpuc_expr e, void *arg), void *arg)
{
    visitor v = {.on_expr = on_expr, .on_stmt = on_stmt, .arg = arg};
    seen_init(&v.seen, ctx);
    visit_stmt(&v, s);
    gpuc_ctx_pop_cleanup(ctx, true);
}

static bool is_not(gpuc_expr e, void *arg)
{
    return e != (gpuc_expr)arg;
}

bool gpuc_tir_uses_var(gpuc_ctx *ctx, gpuc_expr e, gpuc_expr var)
{
    if (e == var) return true;
    if (!(e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_TE))) return false;
    return !gpuc_tir_visit(ctx, e, is_not, (void *)var);
}

typedef struct var_search {
    gpuc_expr var;
    bool found;
} var_search;

static bool search_var(gpuc_expr e, void *arg)
{
    var_search *search = arg;
    if (e == search->var) search->found = true;
    return !search->found;
}

bool gpuc_tir_stmt_uses_var(gpuc_ctx *ctx, gpuc_stmt s, gpuc_expr var)
{
    var_search search = {.var = var};
    gpuc_tir_visit_stmt(ctx, s, NULL, search_var, &search);
    return search.found;
}
