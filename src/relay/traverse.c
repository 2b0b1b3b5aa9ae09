/* SPDX-License-Identifier: Apache-2.0 */
/* Walks with explicit stacks: a graph may be as deep as it has nodes. */
#include <string.h>

#include "relay/infer.h"
#include "relay/relay.h"

/* Child number i, or NULL after the last. Parameters and bound variables come before what uses them. */
static gpuc_rexpr *child(const gpuc_rexpr *e, int i, bool into_functions)
{
    switch (e->kind) {
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR: return NULL;
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        return i == 0 ? c->callee : i <= c->n ? c->args[i - 1] : NULL;
    }
    case GPUC_REXPR_TUPLE: {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        return i < t->n ? t->fields[i] : NULL;
    }
    case GPUC_REXPR_GET: return i == 0 ? gpuc_as_rget(e)->tuple : NULL;
    case GPUC_REXPR_LET: {
        const gpuc_rlet *l = gpuc_as_rlet(e);
        return i == 0 ? l->value : i == 1 ? l->var : i == 2 ? l->body : NULL;
    }
    case GPUC_REXPR_FUNCTION: {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        if (!into_functions) return NULL;
        return i < f->n ? f->params[i] : i == f->n ? f->body : NULL;
    }
    case GPUC_REXPR_IF: {
        const gpuc_rif *f = gpuc_as_rif(e);
        return i == 0 ? f->cond : i == 1 ? f->then_branch : i == 2 ? f->else_branch : NULL;
    }
    case GPUC_REXPR_MATCH: {
        const gpuc_rmatch *m = gpuc_as_rmatch(e);
        return i == 0 ? m->value : i <= m->n ? m->clauses[i - 1].body : NULL;
    }
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return NULL;
}

gpuc_rexpr *gpuc_relay_result_of(gpuc_rexpr *e)
{
    while (e->kind == GPUC_REXPR_LET) e = gpuc_as_rlet(e)->body;
    return e->kind == GPUC_REXPR_CALL || e->kind == GPUC_REXPR_IF || e->kind == GPUC_REXPR_MATCH ? e : NULL;
}

gpuc_rexpr *gpuc_relay_operand(const gpuc_rexpr *e, int i)
{
    return e && i >= 0 ? child(e, i, true) : NULL;
}

gpuc_rexpr *gpuc_relay_scoped_operand(const gpuc_rexpr *e, int i)
{
    if (e->kind != GPUC_REXPR_MATCH || i == 0) return child(e, i, true);
    const gpuc_rmatch *m = gpuc_as_rmatch(e);
    return i <= m->num_vars ? m->vars[i - 1] : child(e, i - m->num_vars, true);
}

gpuc_rexpr *gpuc_relay_child(const gpuc_rexpr *e, int i)
{
    return child(e, i, false);
}

typedef struct frame {
    gpuc_rexpr *e;
    int next;
} frame;

void gpuc_relay_walk_post_order(gpuc_ctx *ctx, gpuc_rexpr *root, const gpuc_relay_walk *w, gpuc_ptrs *out)
{
    gpuc_map seen;
    gpuc_map_init(&seen, ctx);
    size_t capacity = 0, depth = 0;
    frame *stack = gpuc_ctx_grow(ctx, NULL, 0, &capacity, sizeof *stack);
    gpuc_map_set(&seen, root, root);
    stack[depth++] = (frame){root, 0};
    while (depth) {
        frame *top = &stack[depth - 1];
        int i = top->next++;
        gpuc_rexpr *c = w->child ? w->child(top->e, i, w->arg) : gpuc_relay_scoped_operand(top->e, i);
        if (!c) {
            gpuc_ptrs_push(ctx, out, top->e);
            depth--;
        } else if ((!w->enters || w->enters(c, w->arg)) && !gpuc_map_has(&seen, c)) {
            gpuc_map_set(&seen, c, c);
            stack = gpuc_ctx_grow(ctx, stack, depth, &capacity, sizeof *stack);
            stack[depth++] = (frame){c, 0};
        }
    }
}

typedef struct below {
    const gpuc_rexpr *root;
    bool into_functions;
} below;

static gpuc_rexpr *child_below(const gpuc_rexpr *e, int i, void *arg)
{
    const below *b = arg;
    return child(e, i, b->into_functions || e == b->root);
}

void gpuc_relay_post_order(gpuc_ctx *ctx, gpuc_rexpr *root, bool into_functions, gpuc_ptrs *out)
{
    gpuc_relay_walk w = {.child = child_below, .arg = &(below){root, into_functions}};
    gpuc_relay_walk_post_order(ctx, root, &w, out);
}

void gpuc_relay_mark_source(gpuc_ctx *ctx, gpuc_rexpr *root, uint32_t first_id, const char *source)
{
    gpuc_ptrs stack = {0};
    if (!*source) return;
    source = gpuc_ctx_strdup(ctx, source);
    gpuc_ptrs_push(ctx, &stack, root);
    while (stack.count) {
        gpuc_rexpr *e = stack.at[--stack.count], *c;
        if (e->id < first_id || (*e->source && e != root)) continue;
        if (!*e->source) e->source = source;
        for (int i = 0; (c = child(e, i, false)); i++) gpuc_ptrs_push(ctx, &stack, c);
    }
}
