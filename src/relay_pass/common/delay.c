/* SPDX-License-Identifier: Apache-2.0 */
/* Makes functions of shared nodes that no let may compute where they are shared. */
#include "relay_pass/common/blocks.h"

/* A use of a node. */
typedef struct user {
    const gpuc_relay_scope *block;
    bool surely; /* whenever the block is entered */
} user;

/* A call that stands for a node in a block, and in those inside of it. */
typedef struct place {
    const gpuc_relay_scope *block;
    gpuc_rexpr *call;
} place;

typedef struct delayer {
    gpuc_ctx *ctx;
    gpuc_relay_blocks b;
    gpuc_map users;   /* node -> gpuc_ptrs of user */
    gpuc_map sure;    /* nodes that are computed whenever their block is entered */
    gpuc_map fails;   /* nodes whose value there may never be */
    gpuc_map places;  /* node that is delayed -> gpuc_ptrs of place */
    gpuc_map vars;    /* the same -> the variable that is the function */
    gpuc_map delayed; /* variables that are such functions */
    gpuc_map done;
    gpuc_relay_bindings *lists; /* of each scope */
} delayer;

/* ---- What may have no value ---- */

static bool has_open_extents(const gpuc_rtype *t)
{
    bool open = false;
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++)
        open |= !t->tensor.dims[i] || t->tensor.dims[i]->kind != GPUC_EXPR_INT;
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++) open |= has_open_extents(t->at[i]);
    return open;
}

/* An operator fails where extents do not fit, which only the run knows of those that are open. */
static bool call_may_fail(const gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (c->callee->kind == GPUC_REXPR_CONSTRUCTOR) return false;
    if (c->callee->kind != GPUC_REXPR_OP && !gpuc_relay_pass_is_kernel(c->callee)) return true;
    bool open = has_open_extents(e->type);
    for (int i = 0; i < c->n; i++) open = open || has_open_extents(c->args[i]->type);
    return open;
}

static void mark_fails(delayer *d, const gpuc_rexpr *e)
{
    bool fails = e->kind == GPUC_REXPR_CALL && call_may_fail(e);
    fails |= e->kind == GPUC_REXPR_MATCH && gpuc_as_rmatch(e)->partial;
    if (e->kind == GPUC_REXPR_FUNCTION) return; /* a closure is made */
    const gpuc_rexpr *c;
    for (int i = 0; !fails && (c = gpuc_relay_pass_part(e, i)); i++) fails = gpuc_map_has(&d->fails, c);
    if (fails) gpuc_map_set(&d->fails, e, d);
}

/* ---- What is computed whenever its block is entered ---- */

static bool is_shared(const delayer *d, const gpuc_rexpr *e)
{
    const gpuc_ptrs *users = gpuc_map_get(&d->users, e);
    for (size_t i = 0; users && i < users->count; i++)
        if (((const user *)users->at[i])->block != gpuc_relay_pass_block_of(&d->b, e)) return true;
    return false;
}

/* All branches of what is sure there are, or all of one that is in each of those. */
static bool all_branches_use(delayer *d, const gpuc_rexpr *e)
{
    const gpuc_ptrs *users = gpuc_map_get(&d->users, e);
    const gpuc_relay_scope *own = gpuc_relay_pass_block_of(&d->b, e);
    gpuc_map marked, counts;
    gpuc_map_init(&marked, d->ctx);
    gpuc_map_init(&counts, d->ctx);
    for (size_t i = 0; i < users->count; i++) {
        const user *u = users->at[i];
        for (const gpuc_relay_scope *block = u->block; u->surely && !gpuc_map_has(&marked, block);) {
            if (block == own) return true;
            gpuc_map_set(&marked, block, d);
            const gpuc_rexpr *owner = d->b.owner[block->number];
            uintptr_t n = (uintptr_t)gpuc_map_get(&counts, owner) + 1;
            gpuc_map_set(&counts, owner, (void *)n);
            int branches = gpuc_relay_pass_num_parts(owner) - 1;
            if (owner->kind == GPUC_REXPR_FUNCTION || (int)n < branches || !gpuc_map_has(&d->sure, owner))
                break;
            block = gpuc_relay_pass_block_of(&d->b, owner);
        }
    }
    return false;
}

/* Those that use e were looked at. */
static void mark_sure(delayer *d, const gpuc_rexpr *e)
{
    gpuc_rexpr *c;
    bool root = e == d->b.order.at[d->b.order.count - 1], sure = root || all_branches_use(d, e);
    if (sure) gpuc_map_set(&d->sure, e, d);
    for (int i = 0; (c = gpuc_relay_pass_part(e, i)); i++) {
        gpuc_ptrs *users = gpuc_map_get(&d->users, c);
        if (!users) gpuc_map_set(&d->users, c, users = gpuc_new(d->ctx, gpuc_ptrs));
        user *u = gpuc_new(d->ctx, user);
        u->block = d->b.from[gpuc_relay_pass_where(&d->b, e, i)->number];
        u->surely = sure || gpuc_relay_pass_begins(e, i);
        gpuc_ptrs_push(d->ctx, users, u);
    }
}

/* ---- Functions, and their calls ---- */

/* A call of a function that stands for a node already needs no second one: only calls of its own for each block. */
static gpuc_rexpr *known_var(const delayer *d, const gpuc_rexpr *e)
{
    gpuc_rexpr *callee = e->kind == GPUC_REXPR_CALL ? gpuc_as_rcall(e)->callee : NULL;
    return callee && gpuc_map_has(&d->delayed, callee) ? callee : NULL;
}

static void delay(delayer *d, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = d->ctx;
    gpuc_rexpr *var = known_var(d, e);
    if (!var) {
        var = gpuc_relay_var(ctx, "later", NULL);
        var->type = gpuc_relay_rtype_func(ctx, 0, NULL, e->type);
        gpuc_map_set(&d->delayed, var, var);
    }
    gpuc_map_set(&d->vars, e, var);
    gpuc_map_set(&d->places, e, gpuc_new(ctx, gpuc_ptrs));
}

static bool uses_surely_in(const delayer *d, const gpuc_rexpr *e, const gpuc_relay_scope *block)
{
    const gpuc_ptrs *users = gpuc_map_get(&d->users, e);
    for (size_t i = 0; i < users->count; i++) {
        const user *u = users->at[i];
        if (u->block == block && u->surely) return true;
    }
    return false;
}

/* The call in a block: that of the outermost block around it which surely uses e, if there is one. */
static gpuc_rexpr *call_in(delayer *d, const gpuc_rexpr *e, const gpuc_relay_scope *block)
{
    gpuc_ptrs *places = gpuc_map_get(&d->places, e);
    const gpuc_relay_scope *own = gpuc_relay_pass_block_of(&d->b, e), *at = block;
    for (const gpuc_relay_scope *s = block; s != own; s = d->b.from[s->parent->number])
        if (uses_surely_in(d, e, s)) at = s;
    for (size_t i = 0; i < places->count; i++)
        if (((const place *)places->at[i])->block == at) return ((const place *)places->at[i])->call;
    place *p = gpuc_new(d->ctx, place);
    *p = (place){at, gpuc_relay_call(d->ctx, gpuc_map_get(&d->vars, e), NULL, 0, NULL)};
    p->call->type = e->type;
    gpuc_ptrs_push(d->ctx, places, p);
    return p->call;
}

static void rebuild(delayer *d, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = d->ctx;
    int n = gpuc_relay_pass_num_parts(e);
    gpuc_rexpr **parts = gpuc_new_array(ctx, gpuc_rexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        gpuc_rexpr *c = gpuc_relay_pass_part(e, i);
        const gpuc_relay_scope *where = gpuc_relay_pass_where(&d->b, e, i);
        parts[i] =
            gpuc_map_has(&d->places, c) ? call_in(d, c, d->b.from[where->number]) : gpuc_map_get(&d->done, c);
        if (where != gpuc_relay_pass_scope_of(&d->b, e))
            parts[i] = gpuc_relay_pass_bind(ctx, &d->lists[where->number], parts[i]);
    }
    gpuc_rexpr *now = gpuc_relay_pass_with_parts(ctx, e, parts), *var = gpuc_map_get(&d->vars, e);
    gpuc_map_set(&d->done, e, now);
    if (!var || known_var(d, e)) return;
    gpuc_rexpr *f = gpuc_relay_function(ctx, 0, NULL, now, NULL);
    f->type = var->type;
    gpuc_relay_pass_add_binding(ctx, &d->lists[gpuc_relay_pass_scope_of(&d->b, e)->number], var, f);
}

gpuc_rexpr *gpuc_relay_pass_delay_shared(gpuc_ctx *ctx, gpuc_rexpr *function)
{
    delayer d = {.ctx = ctx};
    gpuc_map_init(&d.delayed, ctx);
    for (bool again = true; again;) { /* the calls may be shared further inside */
        again = false;
        gpuc_map *const maps[] = {&d.users, &d.sure, &d.fails, &d.places, &d.vars, &d.done};
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) gpuc_map_init(maps[i], ctx);
        gpuc_relay_pass_find_blocks(ctx, function, &d.b);
        const gpuc_ptrs *order = &d.b.order;
        for (size_t i = 0; i < order->count; i++) mark_fails(&d, order->at[i]);
        for (size_t i = order->count; i-- > 0;) mark_sure(&d, order->at[i]);
        for (size_t i = 0; i < order->count; i++) {
            gpuc_rexpr *e = order->at[i];
            if (!gpuc_map_has(&d.fails, e) || gpuc_map_has(&d.sure, e) || !is_shared(&d, e)) continue;
            delay(&d, e);
            again = true;
        }
        if (!again) break;
        d.lists = gpuc_new_array(ctx, gpuc_relay_bindings, d.b.scopes.all.count);
        for (size_t i = 0; i < order->count; i++) rebuild(&d, order->at[i]);
        function = gpuc_map_get(&d.done, function);
    }
    return function;
}
