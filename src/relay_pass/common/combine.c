/* SPDX-License-Identifier: Apache-2.0 */
/* Finds calls over the same data in the same scope, and makes one of them: their weights side by side, slices behind it. */
#include "relay_pass/common/combine.h"

#include <string.h>

#include "relay/scope_tree.h"

/* Calls that become one, and how many operators behind them do. */
typedef struct group {
    gpuc_rexpr *data;
    const gpuc_relay_scope *scope;
    gpuc_relay_sides sides;
    gpuc_ptrs calls;          /* of the operator; then what their last operators are */
    gpuc_ptrs steps;          /* lists like calls: one for each elementwise operator behind them */
    gpuc_rexpr *made;         /* all of it */
    int64_t *begin, *extents; /* of each in the result */
} group;

typedef struct combiner {
    gpuc_ctx *ctx;
    bool (*sides_of)(const gpuc_rexpr *e, gpuc_relay_sides *out);
    gpuc_relay_scopes scopes;
    gpuc_map uses, users; /* node -> how often it is used; a call that uses it */
    gpuc_map depends;     /* nodes that may depend on a call that is combined */
    gpuc_map member;      /* last operator -> its group */
    gpuc_map data;        /* data of groups -> what it became */
    gpuc_ptrs groups;
} combiner;

/* What an operator computes from constants and variables does not depend on those that are combined. */
static void find_dependent(combiner *k, gpuc_rexpr *e)
{
    gpuc_relay_sides sides;
    gpuc_rexpr *c;
    bool simple = e->kind == GPUC_REXPR_VAR || e->kind == GPUC_REXPR_CONSTANT || e->kind == GPUC_REXPR_OP ||
                  e->kind == GPUC_REXPR_TUPLE || e->kind == GPUC_REXPR_GET || gpuc_relay_call_op(e);
    bool depends = !simple || k->sides_of(e, &sides);
    for (int i = 0; !depends && (c = gpuc_relay_operand(e, i)); i++) depends = gpuc_map_has(&k->depends, c);
    if (depends) gpuc_map_set(&k->depends, e, k);
    for (int i = 0; gpuc_relay_call_op(e) && i < gpuc_as_rcall(e)->n; i++)
        gpuc_map_set(&k->users, gpuc_as_rcall(e)->args[i], e);
}

/* ---- Groups ---- */

static bool same_but(const gpuc_tensor_type *a, const gpuc_tensor_type *b, int axis)
{
    if (a->ndim != b->ndim || !gpuc_dtype_equal(a->dtype, b->dtype)) return false;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis && (!a->dims[i] || a->dims[i] != b->dims[i])) return false;
    return true;
}

static bool equal(const void *x, const void *y)
{
    const group *a = x, *b = y;
    const gpuc_rcall *p = gpuc_as_rcall(a->calls.at[0]), *q = gpuc_as_rcall(b->calls.at[0]);
    return a->data == b->data && a->scope == b->scope && a->sides.weight == b->sides.weight &&
           gpuc_attrs_equal(p->attrs, q->attrs) &&
           gpuc_relay_call_op(&p->base) == gpuc_relay_call_op(&q->base) &&
           same_but(gpuc_relay_tensor_type(p->args[1]), gpuc_relay_tensor_type(q->args[1]),
                    a->sides.weight) &&
           same_but(gpuc_relay_tensor_type(&p->base), gpuc_relay_tensor_type(&q->base), a->sides.result);
}

static uint32_t hash(const group *g)
{
    const gpuc_rcall *c = gpuc_as_rcall(g->calls.at[0]);
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(c->args[1]);
    uint32_t h = gpuc_hash_mix(gpuc_attrs_hash(c->attrs), g->data->id);
    for (int i = 0; i < w->ndim; i++)
        if (i != g->sides.weight) h = gpuc_hash_mix(h, gpuc_hash_bytes(&w->dims[i], sizeof w->dims[i], 0));
    return h;
}

static void add_call(combiner *k, gpuc_intern *table, gpuc_rexpr *e)
{
    gpuc_relay_sides sides;
    int64_t extent;
    if (!gpuc_relay_call_op(e) || !k->sides_of(e, &sides)) return;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (c->n != 2 || gpuc_map_has(&k->depends, c->args[1])) return;
    if (!gpuc_expr_is_int(gpuc_relay_tensor_type(c->args[1])->dims[sides.weight], &extent) || extent < 1)
        return;
    group *g = gpuc_new(k->ctx, group);
    *g = (group){.data = c->args[0], .scope = gpuc_map_get(&k->scopes.of, e), .sides = sides};
    gpuc_ptrs_push(k->ctx, &g->calls, e);
    uint32_t h = hash(g);
    group *found = (group *)(uintptr_t)gpuc_intern_find(table, g, h);
    if (found) {
        gpuc_ptrs_push(k->ctx, &found->calls, e);
        return;
    }
    gpuc_intern_add(table, g, h);
    gpuc_ptrs_push(k->ctx, &k->groups, g);
}

/* ---- Elementwise operators behind them ---- */

static bool same_value(const gpuc_rexpr *a, const gpuc_rexpr *b)
{
    if (a == b) return true;
    if (a->kind != GPUC_REXPR_CONSTANT || b->kind != GPUC_REXPR_CONSTANT ||
        !gpuc_relay_rtype_equal(a->type, b->type))
        return false;
    const gpuc_const_data *x = gpuc_as_rconstant(a)->data, *y = gpuc_as_rconstant(b)->data;
    return x->size == y->size && x->size <= 256 && !memcmp(x->bytes, y->bytes, x->size);
}

/* The dimension of an operand that lies along the channels of the result; -1: none, it is the same for all. */
static int channel_in(const group *g, const gpuc_rexpr *result, const gpuc_rexpr *operand)
{
    int n = gpuc_relay_tensor_type(operand)->ndim,
        at = g->sides.result - gpuc_relay_tensor_type(result)->ndim + n;
    int64_t extent;
    if (at < 0) return -1;
    return gpuc_expr_is_int(gpuc_relay_tensor_type(operand)->dims[at], &extent) && extent == 1 ? -1 : at;
}

/* Whether operand i of two calls is what was combined in both, the same value, or values per channel. */
static bool operands_fit(const combiner *k, const group *g, const gpuc_rexpr *x, const gpuc_rexpr *y,
                         const gpuc_rexpr *below_x, const gpuc_rexpr *below_y, int i)
{
    const gpuc_rexpr *a = gpuc_as_rcall(x)->args[i], *b = gpuc_as_rcall(y)->args[i];
    if (a == below_x || b == below_y) return a == below_x && b == below_y;
    if (gpuc_map_has(&k->depends, a) || gpuc_map_has(&k->depends, b)) return false;
    int at = channel_in(g, x, a);
    if (at != channel_in(g, y, b)) return false;
    if (at < 0) return same_value(a, b);
    return gpuc_relay_tensor_type(a)->dims[at] == gpuc_relay_tensor_type(x)->dims[g->sides.result] &&
           gpuc_relay_tensor_type(b)->dims[at] == gpuc_relay_tensor_type(y)->dims[g->sides.result] &&
           same_but(gpuc_relay_tensor_type(a), gpuc_relay_tensor_type(b), at);
}

/* The elementwise operator that is the only use of e, in its scope; NULL. */
static gpuc_rexpr *next_of(const combiner *k, const group *g, gpuc_rexpr *e)
{
    gpuc_rexpr *user = gpuc_relay_uses(&k->uses, e) == 1 ? gpuc_map_get(&k->users, e) : NULL;
    if (!user || gpuc_map_get(&k->scopes.of, user) != g->scope || user->type->kind != GPUC_RTYPE_TENSOR)
        return NULL;
    if (gpuc_relay_call_op(user)->pattern > GPUC_FUSE_BROADCAST) return NULL;
    if (gpuc_attrs_find(gpuc_as_rcall(user)->attrs, "axis")) return NULL;
    return same_but(gpuc_relay_tensor_type(e), gpuc_relay_tensor_type(user), -1) ? user : NULL;
}

static bool add_step(combiner *k, group *g)
{
    gpuc_ptrs next = {0};
    for (size_t i = 0; i < g->calls.count; i++) {
        gpuc_rexpr *e = next_of(k, g, g->calls.at[i]), *first = i ? next.at[0] : e;
        if (!e || gpuc_relay_call_op(e) != gpuc_relay_call_op(first)) return false;
        const gpuc_rcall *c = gpuc_as_rcall(e), *f = gpuc_as_rcall(first);
        if (c->n != f->n || !gpuc_attrs_equal(c->attrs, f->attrs)) return false;
        for (int n = 0; n < c->n; n++)
            if (!operands_fit(k, g, first, e, g->calls.at[0], g->calls.at[i], n)) return false;
        gpuc_ptrs_push(k->ctx, &next, e);
    }
    gpuc_ptrs *step = gpuc_new(k->ctx, gpuc_ptrs);
    *step = g->calls;
    gpuc_ptrs_push(k->ctx, &g->steps, step);
    g->calls = next;
    return true;
}

/* ---- What is made ---- */

/* Operand i of the calls, side by side. */
static gpuc_rexpr *joined(combiner *k, const gpuc_ptrs *calls, int i, int axis)
{
    gpuc_rexpr **parts = gpuc_new_array(k->ctx, gpuc_rexpr *, calls->count);
    for (size_t n = 0; n < calls->count; n++) parts[n] = gpuc_as_rcall(calls->at[n])->args[i];
    return gpuc_relay_op(k->ctx, "concatenate", gpuc_attrs_int(k->ctx, NULL, "axis", axis), (int)calls->count,
                         parts);
}

static gpuc_rexpr *make_step(combiner *k, const group *g, const gpuc_ptrs *below, const gpuc_ptrs *calls)
{
    const gpuc_rcall *c = gpuc_as_rcall(calls->at[0]);
    gpuc_rexpr **args = gpuc_new_array(k->ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++) {
        if (c->args[i] == below->at[0]) {
            args[i] = g->made;
            continue;
        }
        int at = channel_in(g, &c->base, c->args[i]);
        args[i] = at < 0 ? c->args[i] : joined(k, calls, i, at);
    }
    return gpuc_relay_op(k->ctx, gpuc_relay_call_op(&c->base)->name, c->attrs, c->n, args);
}

static void make(combiner *k, group *g)
{
    const gpuc_ptrs *first = g->steps.count ? g->steps.at[0] : &g->calls;
    const gpuc_rcall *c = gpuc_as_rcall(first->at[0]);
    gpuc_rexpr *data = gpuc_map_get(&k->data, g->data);
    g->made = gpuc_relay_op2(k->ctx, gpuc_relay_call_op(&c->base)->name, c->attrs, data ? data : g->data,
                             joined(k, first, 1, g->sides.weight));
    for (size_t i = 0; i < g->steps.count; i++)
        g->made = make_step(k, g, g->steps.at[i], i + 1 < g->steps.count ? g->steps.at[i + 1] : &g->calls);
}

static gpuc_rexpr *slice_of(gpuc_ctx *ctx, const group *g, const gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t begin[GPUC_OP_MAX_DIMS] = {0}, ones[GPUC_OP_MAX_DIMS], extent;
    for (size_t i = 0; g->calls.at[i] != e; i++) {
        gpuc_expr_is_int(gpuc_relay_tensor_type(g->calls.at[i])->dims[g->sides.result], &extent);
        begin[g->sides.result] += extent;
    }
    for (int i = 0; i < t->ndim; i++) ones[i] = 1;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", t->ndim, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", t->ndim, t->dims), "strides", t->ndim, ones);
    return gpuc_relay_op1(ctx, "strided_slice", a, g->made);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    combiner *k = arg;
    group *g = gpuc_map_get(&k->member, old);
    if (gpuc_map_has(&k->data, old)) gpuc_map_set(&k->data, old, e);
    if (!g) return e;
    if (!g->made) make(k, g);
    gpuc_rexpr *out = slice_of(ctx, g, old);
    if (gpuc_map_has(&k->data, old)) gpuc_map_set(&k->data, old, out);
    return out;
}

void gpuc_relay_pass_combine(gpuc_relay_pass_ctx *p,
                             bool (*sides_of)(const gpuc_rexpr *e, gpuc_relay_sides *out))
{
    gpuc_map *functions = &p->module->functions.map;
    size_t least = (size_t)gpuc_attrs_get_int(p->options, "min_num_branches", 3);
    for (uint32_t i = 0; i < functions->count; i++) {
        combiner k = {.ctx = p->ctx, .sides_of = sides_of};
        gpuc_intern table;
        gpuc_rexpr *f = functions->entries[i].value;
        gpuc_map *maps[] = {&k.users, &k.depends, &k.member, &k.data};
        for (size_t n = 0; n < sizeof maps / sizeof *maps; n++) gpuc_map_init(maps[n], p->ctx);
        gpuc_relay_pass_count_uses(p->ctx, f, &k.uses);
        gpuc_intern_init(&table, p->ctx, equal);
        gpuc_relay_find_scopes(p->ctx, f, false, &k.scopes);
        const gpuc_ptrs *order = &k.scopes.order;
        for (size_t n = 0; n < order->count; n++) find_dependent(&k, order->at[n]);
        for (size_t n = 0; n < order->count; n++) add_call(&k, &table, order->at[n]);
        for (size_t n = 0; n < k.groups.count; n++) {
            group *g = k.groups.at[n];
            if (g->calls.count < least || g->calls.count < 2) continue;
            while (add_step(&k, g)) continue;
            gpuc_map_set(&k.data, g->data, g->data);
            for (size_t c = 0; c < g->calls.count; c++) gpuc_map_set(&k.member, g->calls.at[c], g);
        }
        if (k.member.count) functions->entries[i].value = gpuc_relay_rewrite(p->ctx, f, rewrite, &k);
    }
}
