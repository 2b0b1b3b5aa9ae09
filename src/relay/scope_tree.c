/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the scope of each node. Scopes are as many as lets, one inside of the other: each has a second, longer link to a scope
 * around it (Myers, "An applicative random-access stack", 1983), so that the way to another one takes logarithmic time. */
#include "relay/scope_tree.h"

#include "relay/infer.h"

typedef struct finder {
    gpuc_ctx *ctx;
    gpuc_relay_scopes *s;
    bool values_outside;
} finder;

static gpuc_relay_scope *new_scope(finder *f, gpuc_relay_scope *parent)
{
    gpuc_relay_scope *s = gpuc_new(f->ctx, gpuc_relay_scope);
    s->parent = parent;
    s->jump = s;
    s->number = (uint32_t)f->s->all.count;
    gpuc_ptrs_push(f->ctx, &f->s->all, s);
    if (!parent) return s;
    gpuc_relay_scope *far = parent->jump;
    s->depth = parent->depth + 1;
    s->jump = parent->depth - far->depth == far->depth - far->jump->depth ? far->jump : parent;
    return s;
}

static const gpuc_relay_scope *at_depth(const gpuc_relay_scope *s, int depth)
{
    while (s->depth > depth) s = s->jump->depth >= depth ? s->jump : s->parent;
    return s;
}

static gpuc_relay_scope *common(gpuc_relay_scope *a, gpuc_relay_scope *b)
{
    int depth = a->depth < b->depth ? a->depth : b->depth;
    a = (gpuc_relay_scope *)at_depth(a, depth);
    b = (gpuc_relay_scope *)at_depth(b, depth);
    while (a != b) {
        bool far = a->jump != b->jump;
        a = far ? a->jump : a->parent;
        b = far ? b->jump : b->parent;
    }
    return a;
}

bool gpuc_relay_scope_is_in(const gpuc_relay_scope *inner, const gpuc_relay_scope *outer)
{
    return inner->depth >= outer->depth && at_depth(inner, outer->depth) == outer;
}

static void use(finder *f, const gpuc_rexpr *e, gpuc_relay_scope *where)
{
    gpuc_relay_scope *before = gpuc_map_get(&f->s->of, e);
    gpuc_map_set(&f->s->of, e, before ? common(before, where) : where);
}

/* n scopes of e. */
static gpuc_relay_scope **open(finder *f, const gpuc_rexpr *e, int n)
{
    gpuc_relay_scope *around = gpuc_map_get(&f->s->of, e),
                     **list = gpuc_new_array(f->ctx, gpuc_relay_scope *, n + 1);
    for (int i = 0; i < n; i++) list[i] = new_scope(f, around);
    gpuc_map_set(&f->s->inside, e, list);
    return list;
}

/* All uses of e are known: those of its parts follow. */
static void use_parts(finder *f, const gpuc_rexpr *e)
{
    gpuc_relay_scope *s = gpuc_map_get(&f->s->of, e), **inside;
    gpuc_rexpr *c;
    switch (e->kind) {
    case GPUC_REXPR_LET: {
        const gpuc_rlet *l = gpuc_as_rlet(e);
        inside = open(f, e, 1);
        bool within = l->value->kind == GPUC_REXPR_FUNCTION && !f->values_outside;
        use(f, l->value, within ? inside[0] : s);
        use(f, l->body, inside[0]);
        return;
    }
    case GPUC_REXPR_FUNCTION: use(f, gpuc_as_rfunction(e)->body, open(f, e, 1)[0]); return;
    case GPUC_REXPR_IF: {
        const gpuc_rif *i = gpuc_as_rif(e);
        inside = open(f, e, 2);
        use(f, i->cond, s);
        use(f, i->then_branch, inside[0]);
        use(f, i->else_branch, inside[1]);
        return;
    }
    case GPUC_REXPR_MATCH: {
        const gpuc_rmatch *m = gpuc_as_rmatch(e);
        inside = open(f, e, m->n);
        use(f, m->value, s);
        for (int i = 0; i < m->n; i++) use(f, m->clauses[i].body, inside[i]);
        return;
    }
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    for (int i = 0; (c = gpuc_relay_operand(e, i)); i++) use(f, c, s);
}

void gpuc_relay_find_scopes(gpuc_ctx *ctx, gpuc_rexpr *root, bool values_outside, gpuc_relay_scopes *out)
{
    finder f = {ctx, out, values_outside};
    *out = (gpuc_relay_scopes){0};
    gpuc_map_init(&out->of, ctx);
    gpuc_map_init(&out->inside, ctx);
    gpuc_relay_walk_post_order(ctx, root, &(gpuc_relay_walk){0}, &out->order);
    use(&f, root, new_scope(&f, NULL));
    for (size_t n = out->order.count; n-- > 0;)
        if (gpuc_map_get(&out->of, out->order.at[n])) use_parts(&f, out->order.at[n]);
}
