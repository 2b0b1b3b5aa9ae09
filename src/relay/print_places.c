/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the block that each node is printed in: the innermost one that all its uses are in. Each is printed once, however many
 * branches use it. Where blocks are nested too deep that way, as those of a chain of branches are, nodes with blocks stand as
 * far out as what they use is bound; then blocks are nested no deeper than in the text that the program was read from. */
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

/* Beyond this, nodes with blocks move out: there is room to indent. */
enum { DEEP = 400 };

/* ---- Blocks ---- */

static gpuc_relay_block *new_block(gpuc_relay_printer *p, const gpuc_rexpr *owner, gpuc_relay_place *place)
{
    gpuc_relay_block *b = gpuc_new(p->ctx, gpuc_relay_block);
    b->parent = place ? place->block : NULL;
    b->owner = owner;
    b->number = place ? place->blocks.count : 0;
    if (place) b->depth = place->block->depth + (owner->kind == GPUC_REXPR_MATCH ? 2 : 1);
    if (b->depth > p->deepest) p->deepest = b->depth;
    if (place) gpuc_ptrs_push(p->ctx, &place->blocks, b);
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
        gpuc_relay_block *b = place->block;
        if (place->continues)
            gpuc_ptrs_push(p->ctx, &place->blocks, b);
        else
            b = new_block(p, e, place);
        for (int i = 0; (c = part(e, i, &how)); i++) add_use(p, c, b, how);
        return;
    }
    for (int i = 0; (c = part(e, i, &how)); i++)
        add_use(p, c, how == BLOCK ? new_block(p, e, place) : place->block, how);
}

/* ---- What a node needs ---- */

/* Blocks that bind variables, the innermost first: each is inside of the next. */
typedef struct gpuc_relay_need {
    const gpuc_relay_block *block;
    const struct gpuc_relay_need *next;
} need;

/* The ends of lists are shared. */
static const need *merge(gpuc_ctx *ctx, const need *a, const need *b)
{
    const need *first = NULL, **end = &first;
    while (a && b && a != b) {
        const gpuc_relay_block *block = a->block->depth >= b->block->depth ? a->block : b->block;
        need *n = gpuc_new(ctx, need);
        n->block = block;
        *end = n;
        end = &n->next;
        if (a->block == block) a = a->next;
        if (b->block == block) b = b->next;
    }
    *end = a ? a : b;
    return first;
}

typedef struct needs {
    gpuc_relay_printer *p;
    gpuc_map binds; /* variable, or parameter of a type -> its gpuc_relay_block */
    bool types;     /* there are the latter */
} needs;

static void bind_pattern(needs *n, const gpuc_rpattern *pattern, gpuc_relay_block *b)
{
    if (pattern->var) gpuc_map_set(&n->binds, pattern->var, b);
    for (int i = 0; i < pattern->n; i++) bind_pattern(n, &pattern->at[i], b);
}

static void bind(needs *n, const gpuc_rexpr *e)
{
    const gpuc_relay_place *place = gpuc_map_get(&n->p->places, e);
    if (e->kind == GPUC_REXPR_LET) gpuc_map_set(&n->binds, gpuc_as_rlet(e)->var, place->blocks.at[0]);
    if (e->kind == GPUC_REXPR_FUNCTION) {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        for (int i = 0; i < f->n; i++) gpuc_map_set(&n->binds, f->params[i], place->blocks.at[0]);
        for (int i = 0; i < f->num_type_params; i++)
            gpuc_map_set(&n->binds, f->type_params[i], place->blocks.at[0]);
        n->types |= f->num_type_params > 0;
    }
    for (int i = 0; e->kind == GPUC_REXPR_MATCH && i < gpuc_as_rmatch(e)->n; i++)
        bind_pattern(n, gpuc_as_rmatch(e)->clauses[i].pattern, place->blocks.at[i]);
}

/* Adds those of a list that are around e. */
static void add_needs(needs *n, gpuc_relay_place *place, const need *list)
{
    while (list && list->block->depth > place->block->depth) list = list->next;
    place->needs = merge(n->p->ctx, place->needs, list);
}

static void add_name(needs *n, gpuc_relay_place *place, const void *name)
{
    const gpuc_relay_block *b = gpuc_map_get(&n->binds, name);
    if (!b) return;
    need *one = gpuc_new(n->p->ctx, need);
    one->block = b;
    add_needs(n, place, one);
}

static void add_type(needs *n, gpuc_relay_place *place, const gpuc_rtype *t)
{
    if (!t || !n->types || !t->varies) return;
    if (t->kind == GPUC_RTYPE_VAR) add_name(n, place, t);
    for (int i = 0; i < t->n; i++) add_type(n, place, t->at[i]);
    add_type(n, place, t->ret);
}

static void add_pattern_types(needs *n, gpuc_relay_place *place, const gpuc_rpattern *pattern)
{
    if (pattern->var) add_type(n, place, gpuc_as_rvar(pattern->var)->annotation);
    for (int i = 0; i < pattern->n; i++) add_pattern_types(n, place, &pattern->at[i]);
}

/* Those of its parts are known. */
static void find_needs(needs *n, const gpuc_rexpr *e)
{
    gpuc_relay_place *place = gpuc_map_get(&n->p->places, e);
    const gpuc_rexpr *c;
    use how;
    for (int i = 0; (c = part(e, i, &how)); i++) {
        const gpuc_relay_place *other = gpuc_map_get(&n->p->places, c);
        if (other) add_needs(n, place, other->needs);
        if (c->kind == GPUC_REXPR_VAR) add_name(n, place, c);
    }
    if (e->kind == GPUC_REXPR_LET) add_type(n, place, gpuc_as_rvar(gpuc_as_rlet(e)->var)->annotation);
    if (e->kind == GPUC_REXPR_FUNCTION) {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        for (int i = 0; i < f->n; i++) add_type(n, place, gpuc_as_rvar(f->params[i])->annotation);
        add_type(n, place, f->ret);
    }
    for (int i = 0; e->kind == GPUC_REXPR_MATCH && i < gpuc_as_rmatch(e)->n; i++)
        add_pattern_types(n, place, gpuc_as_rmatch(e)->clauses[i].pattern);
}

/* Moves a node with blocks to the innermost block that it needs. */
static void move_out(gpuc_relay_printer *p, const gpuc_rexpr *e, gpuc_relay_place *place,
                     gpuc_relay_block *outer)
{
    bool has_blocks = e->kind == GPUC_REXPR_IF || e->kind == GPUC_REXPR_MATCH ||
                      e->kind == GPUC_REXPR_FUNCTION || e->kind == GPUC_REXPR_LET;
    if (!has_blocks || place->continues) return;
    gpuc_relay_block *to = outer;
    if (place->needs && place->needs->block->owner) {
        const gpuc_relay_block *old = place->needs->block;
        to = ((gpuc_relay_place *)gpuc_map_get(&p->places, old->owner))->blocks.at[old->number];
    }
    if (to == place->block) return;
    place->block = to;
    place->alone = false;
}

/* ---- Places ---- */

/* From the root down. */
static gpuc_relay_block *place_all(gpuc_relay_printer *p, gpuc_rexpr *root, const gpuc_ptrs *order, bool move)
{
    p->deepest = 0;
    gpuc_relay_block *outer = new_block(p, NULL, NULL);
    for (size_t i = 0; i < order->count; i++) {
        gpuc_relay_place *place = gpuc_map_get(&p->places, order->at[i]);
        place->block = NULL;
        place->blocks.count = 0;
    }
    add_use(p, root, outer, BLOCK);
    for (size_t i = order->count; i-- > 0;) {
        gpuc_relay_place *place = gpuc_map_get(&p->places, order->at[i]);
        if (move) move_out(p, order->at[i], place, outer);
        place_parts(p, order->at[i], place);
    }
    return outer;
}

gpuc_relay_block *gpuc_relay_print_place(gpuc_relay_printer *p, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_map_init(&p->places, p->ctx);
    if (!named(root, NULL)) return new_block(p, NULL, NULL);
    gpuc_relay_walk_post_order(p->ctx, root, &(gpuc_relay_walk){part_of, named, NULL}, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_relay_place *place = gpuc_new(p->ctx, gpuc_relay_place);
        place->index = i;
        gpuc_map_set(&p->places, order.at[i], place);
    }
    gpuc_relay_block *outer = place_all(p, root, &order, false);
    if (p->deepest > DEEP) {
        needs n = {.p = p};
        gpuc_map_init(&n.binds, p->ctx);
        for (size_t i = 0; i < order.count; i++) bind(&n, order.at[i]);
        for (size_t i = 0; i < order.count; i++) find_needs(&n, order.at[i]);
        outer = place_all(p, root, &order, true);
    }
    if (p->deepest >= GPUC_RELAY_TEXT_DEPTH)
        gpuc_raise(p->ctx, GPUC_UNSUPPORTED, "the program has more than %d blocks inside of each other",
                   GPUC_RELAY_TEXT_DEPTH);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_relay_place *place = gpuc_map_get(&p->places, order.at[i]);
        if (!place->alone) gpuc_ptrs_push(p->ctx, &place->block->lines, order.at[i]);
    }
    return outer;
}
