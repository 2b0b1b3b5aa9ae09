/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts wide or odd vectors into pieces that the language has. */
#include <string.h>

#include "lower/common/lanes.h"
#include "lower/common/util.h"

typedef struct cutter {
    gpuc_tir_mapper m; /* first: callbacks cast back */
    gpuc_ctx *ctx;
    const gpuc_target *target;
    const gpuc_tir_func *func;
    gpuc_map vars; /* vector variables that were cut -> gpuc_cut_var * */
} cutter;

static gpuc_expr slice(cutter *c, gpuc_expr e, int first, int count)
{
    return gpuc_lower_slice(c->ctx, e, first, count, &c->vars);
}

/* ---- How wide a value may be ------------------------------------------------------------------ */

typedef struct widest {
    int bits;
} widest;

static void look_at(gpuc_expr e, widest *w)
{
    if (e->dtype.lanes > 1 && !gpuc_is_bool(e->dtype) && e->dtype.bits > w->bits) w->bits = e->dtype.bits;
}

/* Notes the widest vectors of e. Indices do not count: those of contiguous accesses become scalars, others
 * are taken apart lane by lane. */
static void look_inside(gpuc_ctx *ctx, gpuc_expr e, widest *w, gpuc_map *seen)
{
    if (e->dtype.lanes == 1 || gpuc_map_has(seen, e)) return;
    gpuc_map_set(seen, e, (void *)e);
    look_at(e, w);
    switch (e->kind) {
    case GPUC_EXPR_CAST: look_inside(ctx, gpuc_as_cast(e)->a, w, seen); return;
    case GPUC_EXPR_OP:
        for (int i = 0; i < 3 && gpuc_as_op(e)->a[i]; i++) look_inside(ctx, gpuc_as_op(e)->a[i], w, seen);
        return;
    case GPUC_EXPR_CALL:
        for (int i = 0; i < gpuc_as_call(e)->n; i++) look_inside(ctx, gpuc_as_call(e)->args[i], w, seen);
        return;
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LOAD:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: return;
    }
}

static int piece_limit(cutter *c, gpuc_expr value)
{
    widest w = {8};
    gpuc_map seen;
    gpuc_map_init(&seen, c->ctx);
    look_inside(c->ctx, value, &w, &seen);
    return gpuc_target_max_lanes(c->target, w.bits);
}

static int next_piece(int remaining, int limit)
{
    int n = limit;
    while (n > remaining) n /= 2;
    return n;
}

static bool fits(int lanes, int limit)
{
    return lanes <= limit && (lanes & (lanes - 1)) == 0;
}

/* ---- Expressions ------------------------------------------------------------------------------ */

/* A lazy choice per lane has to be made lane by lane. */
static gpuc_expr choose_by_lane(cutter *c, gpuc_expr e)
{
    gpuc_expr *a = gpuc_new_array(c->ctx, gpuc_expr, e->dtype.lanes);
    for (int i = 0; i < e->dtype.lanes; i++) a[i] = gpuc_tir_map(&c->m, slice(c, e, i, 1));
    return gpuc_tir_vector(c->ctx, e->dtype.lanes, a);
}

static gpuc_expr cut_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    cutter *c = (cutter *)m;
    if (e->kind == GPUC_EXPR_LANE) {
        gpuc_expr a = gpuc_as_lane(e)->a;
        if (!(a->flags & GPUC_TIR_HAS_EFFECT) &&
            (gpuc_map_has(&c->vars, a) || !fits(a->dtype.lanes, piece_limit(c, a)))) {
            gpuc_expr lane = slice(c, a, gpuc_as_lane(e)->lane, 1);
            if (lane != e) return gpuc_tir_map(m, lane);
        }
    }
    if (e->kind == GPUC_EXPR_OP && e->dtype.lanes > 1 && gpuc_as_op(e)->op == GPUC_TIR_IF_THEN_ELSE &&
        gpuc_as_op(e)->a[0]->kind != GPUC_EXPR_BROADCAST)
        return choose_by_lane(c, e);
    return gpuc_tir_map_children(m, e);
}

/* ---- Statements ------------------------------------------------------------------------------- */

typedef struct hazard {
    const cutter *c;
    const gpuc_tir_buffer *buffer;
    gpuc_expr index;
    bool found;
} hazard;

static bool is_param(const gpuc_tir_func *f, const gpuc_tir_buffer *b)
{
    for (int i = 0; i < f->num_buffers; i++)
        if (f->buffers[i] == b) return true;
    return false;
}

static bool check_hazard(gpuc_expr e, void *arg)
{
    hazard *h = arg;
    if (e->kind != GPUC_EXPR_LOAD) return true;
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    if (n->buffer == h->buffer)
        h->found = h->found || n->index[0] != h->index;
    else if (h->c->func->aliased && is_param(h->c->func, n->buffer) && is_param(h->c->func, h->buffer))
        h->found = true;
    return !h->found;
}

typedef struct effects {
    cutter *c;
    gpuc_ptrs vars, values;
} effects;
typedef struct namer {
    gpuc_tir_mapper m;
    effects *fx;
} namer;

/* Scalar calls with effects inside of a vector must happen once, not once per piece. */
static gpuc_expr name_effects(gpuc_tir_mapper *m, gpuc_expr e)
{
    effects *fx = ((namer *)m)->fx;
    if (e->kind == GPUC_EXPR_CALL && e->dtype.lanes == 1 &&
        gpuc_tir_intrins[gpuc_as_call(e)->fn].effect >= GPUC_TIR_WRITES) {
        gpuc_expr var = gpuc_var(m->ctx, "once", e->dtype);
        gpuc_ptrs_push(m->ctx, &fx->vars, var);
        gpuc_ptrs_push(m->ctx, &fx->values, e);
        return var;
    }
    if (e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == GPUC_TIR_IF_THEN_ELSE &&
        e->flags & GPUC_TIR_HAS_EFFECT)
        gpuc_raise(m->ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': a call with effects inside of a lazy choice of vectors", fx->c->func->name);
    return gpuc_tir_map_children(m, e);
}

static gpuc_expr without_effects(cutter *c, gpuc_expr value, effects *fx)
{
    *fx = (effects){.c = c};
    if (!(value->flags & GPUC_TIR_HAS_EFFECT)) return value;
    namer n = {.fx = fx};
    gpuc_tir_mapper_init(&n.m, c->ctx, name_effects, NULL);
    return gpuc_tir_map(&n.m, value);
}

static gpuc_stmt with_effects(cutter *c, const effects *fx, gpuc_stmt body)
{
    for (size_t i = fx->vars.count; i-- > 0;)
        body = gpuc_tir_let(c->ctx, fx->vars.at[i], gpuc_tir_map(&c->m, fx->values.at[i]), body);
    return body;
}

/* Elements that do not lie side by side are stored one by one, in order of the lanes. */
static gpuc_stmt scatter(cutter *c, const gpuc_tir_store_node *n)
{
    gpuc_ctx *ctx = c->ctx;
    int lanes = n->value->dtype.lanes;
    gpuc_expr var = gpuc_var(ctx, "lanes", n->value->dtype);
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, lanes);
    for (int i = 0; i < lanes; i++) {
        gpuc_expr index = gpuc_tir_map(&c->m, slice(c, n->index[0], i, 1));
        stores[i] = gpuc_tir_store1(ctx, n->buffer, index, gpuc_tir_lane(ctx, var, i));
    }
    return gpuc_tir_let(ctx, var, gpuc_tir_map(&c->m, n->value), gpuc_tir_seq(ctx, lanes, stores));
}

static gpuc_stmt cut_store(cutter *c, gpuc_stmt s)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_ctx *ctx = c->ctx;
    int lanes = n->value->dtype.lanes;
    if (lanes == 1) return gpuc_tir_map_stmt_children(&c->m, s);
    int limit = piece_limit(c, n->value);
    if (fits(lanes, limit))
        return gpuc_lower_contiguous(n->index[0]) ? gpuc_tir_map_stmt_children(&c->m, s) : scatter(c, n);
    effects fx;
    gpuc_expr value = without_effects(c, n->value, &fx);
    hazard h = {.c = c, .buffer = n->buffer, .index = n->index[0]};
    gpuc_tir_visit(ctx, value, check_hazard, &h);
    gpuc_ptrs stores = {0}, vars = {0}, values = {0};
    for (int first = 0, count; first < lanes; first += count) {
        count = next_piece(lanes - first, limit);
        gpuc_expr part = gpuc_tir_map(&c->m, slice(c, value, first, count));
        gpuc_expr index = gpuc_tir_map(&c->m, slice(c, n->index[0], first, count));
        if (h.found) {
            gpuc_expr var = gpuc_var(ctx, "part", part->dtype);
            gpuc_ptrs_push(ctx, &vars, var);
            gpuc_ptrs_push(ctx, &values, part);
            part = var;
        }
        gpuc_stmt store = gpuc_tir_store1(ctx, n->buffer, index, part);
        if (count > 1 && !gpuc_lower_contiguous(index)) store = scatter(c, gpuc_as_store(store));
        gpuc_ptrs_push(ctx, &stores, store);
    }
    gpuc_stmt body = gpuc_tir_seq(ctx, (int)stores.count, (const gpuc_stmt *)stores.at);
    for (size_t i = vars.count; i-- > 0;) body = gpuc_tir_let(ctx, vars.at[i], values.at[i], body);
    return with_effects(c, &fx, body);
}

static gpuc_stmt cut_let(cutter *c, gpuc_stmt s)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    gpuc_ctx *ctx = c->ctx;
    int lanes = n->value->dtype.lanes, limit = piece_limit(c, n->value);
    if (lanes == 1 || fits(lanes, limit)) return gpuc_tir_map_stmt_children(&c->m, s);
    effects fx;
    gpuc_expr value = without_effects(c, n->value, &fx);
    gpuc_expr *parts = gpuc_new_array(ctx, gpuc_expr, lanes), *values = gpuc_new_array(ctx, gpuc_expr, lanes);
    int count = 0;
    for (int first = 0, width; first < lanes; first += width) {
        width = next_piece(lanes - first, limit);
        values[count] = gpuc_tir_map(&c->m, slice(c, value, first, width));
        parts[count++] =
            gpuc_var(ctx, gpuc_as_var(n->var)->name, gpuc_dtype_with_lanes(n->var->dtype, width));
    }
    gpuc_cut_var *cut = gpuc_new(ctx, gpuc_cut_var);
    *cut = (gpuc_cut_var){count, parts};
    gpuc_map_set(&c->vars, n->var, cut);
    gpuc_tir_mapper_forget(&c->m);
    gpuc_stmt body = gpuc_tir_map_stmt(&c->m, n->body);
    if (!body) return NULL;
    for (int i = count; i-- > 0;) body = gpuc_tir_let(ctx, parts[i], values[i], body);
    return with_effects(c, &fx, body);
}

/* A statement of fitting width may still use variables that were cut. */
static gpuc_expr join_var(cutter *c, gpuc_expr e)
{
    const gpuc_cut_var *cut = gpuc_map_get(&c->vars, e);
    return cut ? slice(c, e, 0, e->dtype.lanes) : e;
}

static gpuc_expr cut_or_join(gpuc_tir_mapper *m, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_VAR) return join_var((cutter *)m, e);
    return cut_expr(m, e);
}

static gpuc_stmt cut_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    cutter *c = (cutter *)m;
    switch (s->kind) {
    case GPUC_STMT_STORE: return cut_store(c, s);
    case GPUC_STMT_LET: return cut_let(c, s);
    case GPUC_STMT_FOR:
    case GPUC_STMT_IF:
    case GPUC_STMT_SEQ:
    case GPUC_STMT_ALLOC:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_ATTR:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return gpuc_tir_map_stmt_children(m, s);
}

gpuc_tir_func *gpuc_lower_cut_vectors(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    cutter c = {.ctx = p->ctx, .target = p->target, .func = f};
    gpuc_map_init(&c.vars, p->ctx);
    gpuc_tir_mapper_init(&c.m, p->ctx, cut_or_join, cut_stmt);
    return f->body ? gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&c.m, f->body), f->stage) : f;
}
