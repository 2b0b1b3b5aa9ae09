/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the block that each node is printed in: the innermost one that all its uses are in. Each is printed once, however many
 * branches use it. */
#include "relay/print.h"

typedef enum use { OPERAND, VALUE, BODY, BLOCK } use;

/* Part number i of a node: operands are evaluated where it stands, arguments before the callee. */
static gpuc_rexpr *part(const gpuc_rexpr *e, int i, use *how)
{
    *how = OPERAND;
    switch (e->kind) {
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        gpuc_rexpr *whole = gpuc_relay_print_whole_tuple(e);
        if (whole) return i == 0 ? whole : i == 1 ? c->callee : NULL;
        return i < c->n ? c->args[i] : i == c->n ? c->callee : NULL;
    }
    case GPUC_REXPR_LET:
        *how = i == 0 ? VALUE : BODY;
        return i == 0 ? gpuc_as_rlet(e)->value : i == 1 ? gpuc_as_rlet(e)->body : NULL;
    case GPUC_REXPR_FUNCTION: *how = BLOCK; return i == 0 ? gpuc_as_rfunction(e)->body : NULL;
    case GPUC_REXPR_IF:
    case GPUC_REXPR_MATCH: *how = i ? BLOCK : OPERAND; break;
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return gpuc_relay_child(e, i);
}

static gpuc_rexpr *part_of(const gpuc_rexpr *e, int i, void *arg)
{
    use how;
    (void)arg;
    return part(e, i, &how);
}

static bool named(const gpuc_rexpr *e, void *arg)
{
    (void)arg;
    switch (e->kind) {
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_FUNCTION:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_LET:
    case GPUC_REXPR_MATCH: return true;
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return false;
}

static gpuc_relay_block *new_block(gpuc_ctx *ctx, gpuc_relay_block *parent)
{
    gpuc_relay_block *b = gpuc_new(ctx, gpuc_relay_block);
    b->parent = parent;
    b->depth = parent ? parent->depth + 1 : 0;
    return b;
}

static gpuc_relay_block *common(gpuc_relay_block *a, gpuc_relay_block *b)
{
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

static void add_use(gpuc_relay_printer *p, const gpuc_rexpr *e, gpuc_relay_block *block, use how)
{
    gpuc_relay_place *place = gpuc_map_get(&p->places, e);
    if (!place) return;
    place->alone = !place->block && how != OPERAND;
    place->continues = place->alone && how != VALUE && e->kind == GPUC_REXPR_LET;
    place->block = place->block ? common(place->block, block) : block;
}

/* All uses of e are known: those of its parts follow. */
static void place_parts(gpuc_relay_printer *p, const gpuc_rexpr *e, gpuc_relay_place *place)
{
    gpuc_rexpr *c;
    use how;
    if (e->kind == GPUC_REXPR_LET) {
        gpuc_relay_block *b = place->continues ? place->block : new_block(p->ctx, place->block);
        gpuc_ptrs_push(p->ctx, &place->blocks, b);
        for (int i = 0; (c = part(e, i, &how)); i++) add_use(p, c, b, how);
        return;
    }
    for (int i = 0; (c = part(e, i, &how)); i++) {
        gpuc_relay_block *b = how == BLOCK ? new_block(p->ctx, place->block) : place->block;
        if (how == BLOCK) gpuc_ptrs_push(p->ctx, &place->blocks, b);
        add_use(p, c, b, how);
    }
}

gpuc_relay_block *gpuc_relay_print_place(gpuc_relay_printer *p, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_relay_block *outer = new_block(p->ctx, NULL);
    gpuc_map_init(&p->places, p->ctx);
    if (!named(root, NULL)) return outer;
    gpuc_relay_walk_post_order(p->ctx, root, &(gpuc_relay_walk){part_of, named, NULL}, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_relay_place *place = gpuc_new(p->ctx, gpuc_relay_place);
        place->index = i;
        gpuc_map_set(&p->places, order.at[i], place);
    }
    add_use(p, root, outer, BLOCK);
    for (size_t i = order.count; i-- > 0;) place_parts(p, order.at[i], gpuc_map_get(&p->places, order.at[i]));
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_relay_place *place = gpuc_map_get(&p->places, order.at[i]);
        if (!place->alone) gpuc_ptrs_push(p->ctx, &place->block->lines, order.at[i]);
    }
    return outer;
}
