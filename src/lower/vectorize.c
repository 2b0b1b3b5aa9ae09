/* SPDX-License-Identifier: Apache-2.0 */
/* A vectorised loop of W iterations is rewritten by giving its variable the value ramp(start, 1, W):
 * whatever depends on it becomes a vector. Expressions that have no vector form are built lane by lane;
 * statements that have none are copied per lane. Loops whose iterations depend on each other stay
 * loops. */
#include "lower/vectorize/vectorize.h"

enum {
    MAX_CHUNKS = 8, /* straight copies of one vector; more become a loop */
    MAX_UNROLLED = 16,
    MAX_COPIED = 32, /* nodes of copies per lane; more become a loop */
    MAX_PARTS = 5    /* of 16 lanes, of which a known number is left: 8, 4, 2, 1 and what is not */
};

/* ---- Statements of the body ------------------------------------------------------------------------- */

static gpuc_stmt lane_copy(gpuc_vectorizer *v, gpuc_stmt s, int lane)
{
    gpuc_ctx *ctx = v->m.ctx;
    int n = (int)v->lets.count;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, n + 1), *with = gpuc_new_array(ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++) {
        vars[i] = v->lets.at[i];
        with[i] = gpuc_tir_lane(ctx, v->vector_lets.at[i], lane);
    }
    vars[n] = v->var;
    with[n] = gpuc_add(ctx, v->start, gpuc_imm_int(ctx, v->var->dtype, lane));
    return gpuc_lower_clone(ctx, s, n + 1, vars, with);
}

static gpuc_stmt per_lane(gpuc_vectorizer *v, gpuc_stmt s)
{
    gpuc_ctx *ctx = v->m.ctx;
    if (v->lets.count == 0 && !v->widened && gpuc_lower_size(ctx, s) * v->lanes > MAX_COPIED) {
        gpuc_expr k = gpuc_lower_var_like(ctx, v->var), at = gpuc_add(ctx, v->start, k);
        gpuc_dtype t = v->var->dtype;
        return gpuc_tir_for_(ctx, k, gpuc_imm_int(ctx, t, 0), gpuc_imm_int(ctx, t, v->lanes),
                             GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, gpuc_lower_clone(ctx, s, 1, &v->var, &at));
    }
    gpuc_stmt at[GPUC_VECTORIZE_MAX_LANES];
    for (int i = 0; i < v->lanes; i++) at[i] = lane_copy(v, s, i);
    return gpuc_tir_seq(ctx, v->lanes, at);
}

/* Stores a vector to places that are not side by side, lane by lane; the value is computed as one vector. */
static gpuc_stmt scatter(gpuc_vectorizer *v, const gpuc_tir_store_node *n, gpuc_expr value)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_stmt at[GPUC_VECTORIZE_MAX_LANES];
    bool named =
        value->kind != GPUC_EXPR_VECTOR && value->kind != GPUC_EXPR_BROADCAST && value->kind != GPUC_EXPR_VAR;
    gpuc_expr whole = named ? gpuc_var(ctx, "v", value->dtype) : value;
    for (int i = 0; i < v->lanes; i++)
        at[i] = gpuc_tir_store1(ctx, n->buffer, gpuc_lower_vectorize_lane(v, n->index[0], i),
                                gpuc_tir_lane(ctx, whole, i));
    gpuc_stmt all = gpuc_tir_seq(ctx, v->lanes, at);
    return named ? gpuc_tir_let(ctx, whole, value, all) : all;
}

static gpuc_stmt vector_store(gpuc_vectorizer *v, gpuc_stmt s)
{
    gpuc_ctx *ctx = v->m.ctx;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_expr value = gpuc_tir_map(&v->m, n->value), start, stride;
    if (value->dtype.lanes == 1) value = gpuc_tir_broadcast(ctx, value, v->lanes);
    if (gpuc_lower_vectorize_stride(v, n->index[0], &start, &stride) && gpuc_tir_is_const(stride, 1))
        return gpuc_tir_store1(ctx, n->buffer, gpuc_tir_ramp(ctx, start, stride, v->lanes), value);
    return scatter(v, n, value);
}

static gpuc_stmt vector_let(gpuc_vectorizer *v, gpuc_stmt s)
{
    gpuc_ctx *ctx = v->m.ctx;
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    gpuc_expr value = gpuc_tir_map(&v->m, n->value);
    if (value->dtype.lanes == 1) return gpuc_tir_let(ctx, n->var, value, gpuc_tir_map_stmt(&v->m, n->body));
    gpuc_expr var = gpuc_var(ctx, gpuc_as_var(n->var)->name, value->dtype);
    gpuc_ptrs_push(ctx, &v->lets, n->var);
    gpuc_ptrs_push(ctx, &v->vector_lets, var);
    gpuc_tir_mapper_forget(&v->m);
    gpuc_stmt body = gpuc_tir_map_stmt(&v->m, n->body);
    v->lets.count--;
    v->vector_lets.count--;
    return gpuc_tir_let(ctx, var, value, body);
}

static gpuc_vectorizer lanes_of(const gpuc_vectorizer *v, int first, int count);
static gpuc_stmt vector_of(gpuc_vectorizer *v, gpuc_stmt s);

static bool in_all_lanes(gpuc_vectorizer *v, gpuc_expr cond, bool value)
{
    for (int i = 0; i < v->lanes; i++) {
        gpuc_expr lane = gpuc_lower_vectorize_lane(v, cond, i);
        if (!gpuc_arith_prove(v->a, value ? lane : gpuc_not(v->m.ctx, lane))) return false;
    }
    return true;
}

/* The condition of all lanes, where it is that of each; else NULL. */
static gpuc_expr condition_alike(gpuc_vectorizer *v, gpuc_expr cond)
{
    gpuc_ctx *ctx = v->m.ctx;
    if (in_all_lanes(v, cond, true)) return gpuc_imm_int(ctx, GPUC_BOOL, true);
    if (in_all_lanes(v, cond, false)) return gpuc_imm_int(ctx, GPUC_BOOL, false);
    gpuc_expr all = gpuc_lower_vectorize_all_lanes(v, cond);
    if (!all) return NULL;
    size_t mark = gpuc_arith_analyzer_assume(v->a, gpuc_not(ctx, all));
    bool none = in_all_lanes(v, cond, false);
    gpuc_arith_analyzer_rewind(v->a, mark);
    return none ? all : NULL;
}

/* Adds the halves of lanes, halves of these and so on in which the guard holds in all lanes or in none.
 * False: there are too many. */
static bool add_parts(const gpuc_vectorizer *v, const gpuc_tir_if_node *n, int first, int count,
                      gpuc_ptrs *parts)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_vectorizer part = lanes_of(v, first, count);
    gpuc_expr holds = condition_alike(&part, n->cond);
    int half = count / 2;
    if (!holds)
        return half > 0 && add_parts(v, n, first, half, parts) &&
               add_parts(v, n, first + half, count - half, parts);
    if (gpuc_tir_is_const(holds, 0)) return true;
    if (parts->count == MAX_PARTS) return false;
    gpuc_ptrs_push(ctx, parts, gpuc_tir_if_(ctx, holds, vector_of(&part, n->then_body), NULL));
    return true;
}

/* Handles a vector whose guard does not hold in all lanes: in parts, since lane by lane would be much
 * code. */
static gpuc_stmt rest_of(gpuc_vectorizer *v, const gpuc_tir_if_node *n, gpuc_expr all)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_ptrs parts = {0};
    if (!v->parts || n->else_body || v->lets.count > 0) return per_lane(v, &n->base);
    size_t mark = gpuc_arith_analyzer_mark(v->a);
    if (all) gpuc_arith_analyzer_assume(v->a, gpuc_not(ctx, all));
    bool known = add_parts(v, n, 0, v->lanes, &parts);
    gpuc_arith_analyzer_rewind(v->a, mark);
    return known ? gpuc_tir_seq(ctx, (int)parts.count, (gpuc_stmt *)parts.at) : per_lane(v, &n->base);
}

/* A condition that is true in all lanes but at an end of the data: vector code under one test, and
 * the rest in parts or lane by lane. */
static gpuc_stmt vector_if(gpuc_vectorizer *v, gpuc_stmt s)
{
    gpuc_ctx *ctx = v->m.ctx;
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    gpuc_expr cond = gpuc_tir_map(&v->m, n->cond);
    if (cond->kind == GPUC_EXPR_BROADCAST) cond = gpuc_as_broadcast(cond)->a;
    if (cond->dtype.lanes == 1)
        return gpuc_tir_if_(ctx, cond, gpuc_tir_map_stmt(&v->m, n->then_body),
                            gpuc_tir_map_stmt(&v->m, n->else_body));
    gpuc_expr all = n->else_body ? NULL : gpuc_lower_vectorize_all_lanes(v, n->cond);
    gpuc_stmt rest = rest_of(v, n, all);
    return all ? gpuc_tir_if_(ctx, all, gpuc_tir_map_stmt(&v->m, n->then_body), rest) : rest;
}

static gpuc_stmt vector_for(gpuc_vectorizer *v, gpuc_stmt s)
{
    gpuc_ctx *ctx = v->m.ctx;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    gpuc_expr min = gpuc_tir_map(&v->m, n->min), extent = gpuc_tir_map(&v->m, n->extent);
    if (min->dtype.lanes > 1 || extent->dtype.lanes > 1 || n->loop == GPUC_LOOP_THREAD) return per_lane(v, s);
    size_t mark = gpuc_arith_analyzer_mark(v->a);
    gpuc_arith_analyzer_bind(v->a, n->var, min, extent);
    gpuc_stmt body = gpuc_tir_map_stmt(&v->m, n->body);
    gpuc_arith_analyzer_rewind(v->a, mark);
    return gpuc_tir_for_(ctx, n->var, min, extent, n->loop, n->tag, body);
}

static gpuc_stmt vector_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    gpuc_vectorizer *v = (gpuc_vectorizer *)m;
    switch (s->kind) {
    case GPUC_STMT_FOR: return vector_for(v, s);
    case GPUC_STMT_STORE: return vector_store(v, s);
    case GPUC_STMT_IF: return vector_if(v, s);
    case GPUC_STMT_LET: return vector_let(v, s);
    case GPUC_STMT_EVAL: return per_lane(v, s);
    case GPUC_STMT_SEQ:
    case GPUC_STMT_ALLOC: return gpuc_tir_map_stmt_children(m, s);
    case GPUC_STMT_ATTR: return per_lane(v, s);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

static gpuc_vectorizer lanes_of(const gpuc_vectorizer *v, int first, int count)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_vectorizer part = {.a = v->a, .var = v->var, .lanes = count, .widened = v->widened};
    part.start = gpuc_add(ctx, v->start, gpuc_imm_int(ctx, v->var->dtype, first));
    part.parts = v->parts;
    gpuc_tir_mapper_init(&part.m, ctx, gpuc_lower_vectorize_expr, vector_stmt);
    return part;
}

static gpuc_stmt vector_of(gpuc_vectorizer *v, gpuc_stmt s)
{
    return v->lanes == 1 ? lane_copy(v, s, 0) : gpuc_tir_map_stmt(&v->m, s);
}

/* ---- Storage of the body: each iteration has its own, so lanes get a dimension -------------------- */

typedef struct lane_widener {
    gpuc_tir_mapper m;
    gpuc_map wide;
    gpuc_expr lane; /* var - start */
    int lanes;
} lane_widener;

static gpuc_expr lane_index(lane_widener *w, gpuc_expr index)
{
    gpuc_ctx *ctx = w->m.ctx;
    gpuc_expr lane = gpuc_cast(ctx, index->dtype, w->lane);
    return gpuc_add(ctx, gpuc_mul(ctx, index, gpuc_imm_int(ctx, index->dtype, w->lanes)), lane);
}

static gpuc_expr widen_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    lane_widener *w = (lane_widener *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    const gpuc_tir_buffer *wide =
        e->kind == GPUC_EXPR_LOAD ? gpuc_map_get(&w->wide, gpuc_as_load(e)->buffer) : NULL;
    return wide ? gpuc_tir_load1(m->ctx, wide, lane_index(w, gpuc_as_load(e)->index[0])) : e;
}

static gpuc_stmt widen_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    lane_widener *w = (lane_widener *)m;
    gpuc_ctx *ctx = m->ctx;
    if (s->kind == GPUC_STMT_ALLOC) {
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        gpuc_expr size = gpuc_mul(ctx, b->shape[0], gpuc_imm_int(ctx, b->shape[0]->dtype, w->lanes));
        gpuc_tir_buffer *wide = gpuc_lower_buffer_like(ctx, b, b->dtype, size, b->scope);
        gpuc_map_set(&w->wide, b, wide);
        return gpuc_tir_alloc(ctx, wide, gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body));
    }
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    const gpuc_tir_buffer *wide = gpuc_map_get(&w->wide, n->buffer);
    return wide ? gpuc_tir_store1(ctx, wide, lane_index(w, n->index[0]), n->value) : s;
}

static void note_alloc(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_ALLOC) *(bool *)arg = true;
}

static gpuc_stmt widen_storage(gpuc_ctx *ctx, gpuc_stmt body, gpuc_expr var, gpuc_expr start, int lanes)
{
    lane_widener w = {.lane = gpuc_sub(ctx, var, start), .lanes = lanes};
    gpuc_tir_mapper_init(&w.m, ctx, widen_expr, widen_stmt);
    gpuc_map_init(&w.wide, ctx);
    return gpuc_tir_map_stmt(&w.m, body);
}

/* ---- Loops -------------------------------------------------------------------------------------------- */

typedef struct loop_pass {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    const gpuc_target *target;
} loop_pass;

static int widest(const loop_pass *t, int64_t lanes)
{
    static const int widths[] = {16, 8, 4, 2};
    int max = t->target->language->max_lanes;
    if (lanes == 3 && t->target->language->three_lanes) return 3;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (widths[i] <= max && widths[i] <= lanes) return widths[i];
    return 1;
}

/* Iterations start, ..., start + lanes - 1 of the loop. */
static gpuc_stmt one_vector(loop_pass *t, const gpuc_tir_for_node *n, gpuc_stmt body, gpuc_expr start,
                            int lanes)
{
    gpuc_ctx *ctx = t->m.ctx;
    if (lanes == 1) return gpuc_lower_clone(ctx, body, 1, &n->var, &start);
    bool storage = false;
    gpuc_tir_visit_stmt(ctx, body, note_alloc, NULL, &storage);
    if (storage) body = widen_storage(ctx, body, n->var, start, lanes);
    gpuc_vectorizer v = {.a = t->a, .var = n->var, .start = start, .lanes = lanes, .widened = storage};
    v.parts = t->target->language->vector_parts;
    gpuc_tir_mapper_init(&v.m, ctx, gpuc_lower_vectorize_expr, vector_stmt);
    gpuc_stmt s = gpuc_tir_map_stmt(&v.m, body);
    return s ? gpuc_lower_clone(ctx, s, 0, NULL, NULL) : NULL;
}

static gpuc_stmt chunks(loop_pass *t, const gpuc_tir_for_node *n, gpuc_stmt body, int64_t extent)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_dtype type = n->var->dtype;
    gpuc_stmt all = NULL;
    for (int64_t done = 0; done < extent;) {
        int lanes = widest(t, extent - done);
        int64_t count = (extent - done) / lanes;
        gpuc_expr start = gpuc_add(ctx, n->min, gpuc_imm_int(ctx, type, done));
        if (count <= MAX_CHUNKS) {
            all = gpuc_tir_seq2(ctx, all, one_vector(t, n, body, start, lanes));
            done += lanes;
            continue;
        }
        gpuc_expr k = gpuc_lower_var_like(ctx, n->var), zero = gpuc_imm_int(ctx, type, 0);
        gpuc_expr times = gpuc_imm_int(ctx, type, count);
        start = gpuc_add(ctx, start, gpuc_mul(ctx, k, gpuc_imm_int(ctx, type, lanes)));
        size_t mark = gpuc_arith_analyzer_mark(t->a);
        gpuc_arith_analyzer_bind(t->a, k, zero, times);
        gpuc_stmt inside = one_vector(t, n, body, start, lanes);
        gpuc_arith_analyzer_rewind(t->a, mark);
        all = gpuc_tir_seq2(ctx, all,
                            gpuc_tir_for_(ctx, k, zero, times, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, inside));
        done += count * lanes;
    }
    return all;
}

typedef struct find_vectors {
    gpuc_map in_words; /* loads that are read as one word, and their indices */
    bool found;
} find_vectors;

static bool note_words(gpuc_expr e, void *arg)
{
    find_vectors *f = arg;
    if (!gpuc_tir_is_words(e) || e->dtype.lanes > 1) return true;
    const gpuc_tir_load_node *load = gpuc_lower_vectorize_contiguous(gpuc_as_call(e)->args[0]);
    if (!load) return true;
    gpuc_map_set(&f->in_words, load, f);
    gpuc_map_set(&f->in_words, load->index[0], f);
    return true;
}

static bool note_vector(gpuc_expr e, void *arg)
{
    find_vectors *f = arg;
    f->found |= e->dtype.lanes > 1 && !gpuc_map_has(&f->in_words, e);
    return !f->found;
}

static bool has_vectors(gpuc_ctx *ctx, gpuc_stmt body)
{
    find_vectors f = {0};
    gpuc_map_init(&f.in_words, ctx);
    gpuc_tir_visit_stmt(ctx, body, NULL, note_words, &f);
    gpuc_tir_visit_stmt(ctx, body, NULL, note_vector, &f);
    return f.found;
}

static void note_image(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_STORE && gpuc_as_store(s)->buffer->scope == GPUC_SCOPE_TEXTURE)
        *(bool *)arg = true;
}

/* Images are written in whole texels: without vectors their elements have to stand side by side. */
static bool writes_image(gpuc_ctx *ctx, gpuc_stmt body)
{
    bool found = false;
    gpuc_tir_visit_stmt(ctx, body, note_image, NULL, &found);
    return found;
}

static gpuc_stmt vectorize_loop(loop_pass *t, const gpuc_tir_for_node *n, gpuc_stmt body)
{
    gpuc_ctx *ctx = t->m.ctx;
    int64_t extent;
    bool vectors = has_vectors(ctx, body);
    bool known = gpuc_expr_is_int(n->extent, &extent);
    gpuc_loop_kind kind = GPUC_LOOP_SERIAL;
    if (known && extent <= MAX_UNROLLED && (vectors || writes_image(ctx, body))) kind = GPUC_LOOP_UNROLLED;
    if (known && !vectors && extent > 1 && t->target->vector_bits > 0) {
        size_t mark = gpuc_arith_analyzer_mark(t->a);
        gpuc_arith_analyzer_bind(t->a, n->var, n->min, n->extent);
        gpuc_stmt probe = widen_storage(ctx, body, n->var, n->min, (int)(extent < 4096 ? extent : 4096));
        bool free = gpuc_lower_vectorize_independent(ctx, t->a, probe, n->var, extent < 64 ? extent : 64);
        gpuc_arith_analyzer_rewind(t->a, mark);
        if (free) return chunks(t, n, body, extent);
    }
    return gpuc_tir_for_(ctx, n->var, n->min, n->extent, kind, GPUC_THREAD_NONE, body);
}

static gpuc_stmt pass_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    loop_pass *t = (loop_pass *)m;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    if (s->kind != GPUC_STMT_FOR || gpuc_as_for(s)->loop != GPUC_LOOP_VECTORIZED) {
        gpuc_lower_bind(t->a, s);
        s = gpuc_tir_map_stmt_children(m, s);
        gpuc_arith_analyzer_rewind(t->a, mark);
        return s;
    }
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    gpuc_arith_analyzer_bind(t->a, n->var, n->min, n->extent);
    gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return body ? vectorize_loop(t, n, body) : NULL;
}

gpuc_tir_func *gpuc_lower_vectorize(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    loop_pass t = {.a = gpuc_lower_analyzer(p->ctx, f), .target = p->target};
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, pass_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
