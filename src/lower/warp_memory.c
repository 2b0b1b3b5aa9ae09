/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers storage of scope warp, which the threads of a group that differ in threadIdx.x only share. Where
 * these threads are a subgroup and each writes its own part, the parts become local memory, and elements of
 * another thread are read by a shuffle: element i = (number * W + lane) * part + rest is element number *
 * part + rest of that lane. A shuffle must be in uniform control flow, and all lanes read the same element of
 * the parts. Every lane provides its element, so where only some lanes write their parts, all parts are
 * zeroed first: compilers may assume that the provided value is defined, and conclude that the lanes which do
 * not write do not exist. Elsewhere, and on targets without subgroups, the storage is shared memory, and
 * thread_sync makes the barriers. */
#include "lower/common/util.h"

typedef struct warp_buffer {
    const gpuc_tir_buffer *from;
    gpuc_tir_buffer *to;
    int64_t size, part; /* part: elements of a lane that lie together; 0: no store was seen yet */
    const char *shared; /* why it is shared memory; NULL: it is not */
    int clear;          /* elements of a store that not all lanes reach; 0: all reach all */
    bool shuffled;
} warp_buffer;

typedef struct warp_pass {
    gpuc_tir_mapper m;
    gpuc_pass_ctx *p;
    const gpuc_tir_func *f;
    gpuc_analyzer *a;
    gpuc_map buffers; /* gpuc_tir_buffer -> warp_buffer */
    gpuc_map varying; /* variables that differ between lanes */
    gpuc_expr lane;   /* threadIdx.x; NULL: there are no such threads */
    int64_t width;    /* its extent */
    int divergent;    /* conditions around that differ between lanes */
    bool shuffles;
} warp_pass;

/* ---- Which elements are whose ------------------------------------------------------------------------ */

typedef struct owner {
    gpuc_expr lane, local;
} owner;

static owner owner_of(warp_pass *w, const warp_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = w->m.ctx;
    gpuc_expr part = gpuc_imm_int(ctx, index->dtype, b->part),
              width = gpuc_imm_int(ctx, index->dtype, w->width);
    gpuc_expr number = gpuc_floordiv_(ctx, index, part);
    gpuc_expr first = gpuc_mul(ctx, gpuc_floordiv_(ctx, number, width), part);
    return (owner){
        .lane = gpuc_arith_simplify(w->a, gpuc_floormod_(ctx, number, width)),
        .local = gpuc_arith_simplify(w->a, gpuc_add(ctx, first, gpuc_floormod_(ctx, index, part))),
    };
}

static gpuc_expr element(warp_pass *w, gpuc_expr index, int i)
{
    return gpuc_arith_simplify(w->a, gpuc_tir_lane(w->m.ctx, index, i));
}

static bool is_own(warp_pass *w, gpuc_expr lane)
{
    return gpuc_arith_prove_equal(w->a, lane, gpuc_cast(w->m.ctx, lane->dtype, w->lane));
}

static bool same_node(gpuc_expr e, void *arg)
{
    if (e->kind == GPUC_EXPR_VAR) return !gpuc_map_has(&((warp_pass *)arg)->varying, e);
    return e->kind != GPUC_EXPR_LOAD &&
           (e->kind != GPUC_EXPR_CALL || gpuc_as_call(e)->fn == GPUC_TIR_CALL_REINTERPRET);
}

static bool is_uniform(warp_pass *w, gpuc_expr e)
{
    return gpuc_tir_visit(w->m.ctx, e, same_node, w);
}

/* ---- Can they be registers? -------------------------------------------------------------------------- */

static void check_store(warp_pass *w, warp_buffer *b, gpuc_expr index)
{
    for (int i = 0; i < index->dtype.lanes && !b->shared; i++) {
        gpuc_expr at = element(w, index, i), coeff, rest, var = w->lane;
        int64_t part;
        if (!gpuc_arith_linear(w->a, at, 1, &var, &coeff, &rest) || !gpuc_expr_is_int(coeff, &part) ||
            part < 1 || (b->part && b->part != part)) {
            b->shared = "a thread does not write a part of its own";
            return;
        }
        b->part = part;
        if (!is_own(w, owner_of(w, b, at).lane)) b->shared = "a thread writes the part of another";
    }
    if (w->divergent > 0 && !b->shared) b->clear = b->part % index->dtype.lanes ? 1 : index->dtype.lanes;
}

static void check_load(warp_pass *w, warp_buffer *b, gpuc_expr index)
{
    for (int i = 0; i < index->dtype.lanes && !b->shared; i++) {
        if (!b->part) { /* read before anything is written */
            b->shared = "it is read before it is written";
            return;
        }
        owner o = owner_of(w, b, element(w, index, i));
        if (is_own(w, o.lane)) continue;
        b->shuffled = true;
        if (w->divergent > 0)
            b->shared = "elements of other threads are read in flow that differs between threads";
        else if (!is_uniform(w, o.local))
            b->shared = "threads read different elements of the others' parts";
    }
}

static void check_expr(warp_pass *w, gpuc_expr e);

static void check_op(warp_pass *w, const gpuc_tir_opexpr_node *n)
{
    bool lazy = n->op == GPUC_TIR_IF_THEN_ELSE || n->op == GPUC_TIR_AND || n->op == GPUC_TIR_OR;
    check_expr(w, n->a[0]);
    bool diverges = lazy && !is_uniform(w, n->a[0]);
    w->divergent += diverges;
    for (int i = 1; i < gpuc_tir_ops[n->op].arity; i++) check_expr(w, n->a[i]);
    w->divergent -= diverges;
}

typedef struct child_check {
    gpuc_tir_mapper m;
    warp_pass *w;
} child_check;

static gpuc_expr check_child(gpuc_tir_mapper *m, gpuc_expr e)
{
    check_expr(((child_check *)m)->w, e);
    return e;
}

static void check_expr(warp_pass *w, gpuc_expr e)
{
    if (!(e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT))) return;
    if (e->kind == GPUC_EXPR_OP) {
        check_op(w, gpuc_as_op(e));
        return;
    }
    child_check c = {.w = w};
    gpuc_tir_mapper_init(&c.m, w->m.ctx, check_child, NULL);
    gpuc_tir_map_children(&c.m, e);
    warp_buffer *b = NULL;
    if (e->kind == GPUC_EXPR_LOAD && (b = gpuc_map_get(&w->buffers, gpuc_as_load(e)->buffer)))
        check_load(w, b, gpuc_as_load(e)->index[0]);
    if (e->kind == GPUC_EXPR_CALL && (b = gpuc_map_get(&w->buffers, gpuc_as_call(e)->buffer)))
        b->shared = "an intrinsic needs its address";
}

/* Why the threads cannot exchange elements; NULL: they can. */
static const char *no_shuffle(const warp_pass *w, const gpuc_tir_buffer *b)
{
    const gpuc_target *t = w->p->target;
    if (!t->subgroup_shuffle || t->thread_warp_size <= 1) return "the target has no shuffles in subgroups";
    if (!w->lane || w->width != t->thread_warp_size) return "threadIdx.x is not as long as a subgroup";
    return b->dtype.bits == 32 ? NULL : "its elements are not of 32 bits";
}

static void note_buffer(warp_pass *w, const gpuc_tir_buffer *b)
{
    if (b->scope != GPUC_SCOPE_WARP) return;
    warp_buffer *n = gpuc_map_get(&w->buffers, b);
    if (n) { /* allocated twice: it is shared memory if either must be */
        if (!n->shared) n->shared = no_shuffle(w, b);
        return;
    }
    n = gpuc_new(w->m.ctx, warp_buffer);
    *n = (warp_buffer){.from = b, .shared = no_shuffle(w, b)};
    GPUC_CHECK(gpuc_lower_const_size(b, &n->size));
    gpuc_map_set(&w->buffers, b, n);
}

static void check_stmt(warp_pass *w, gpuc_stmt s)
{
    if (!s) return;
    size_t mark = gpuc_arith_analyzer_mark(w->a);
    gpuc_lower_bind(w->a, s);
    int divergent = w->divergent;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        check_expr(w, n->min);
        check_expr(w, n->extent);
        if (!is_uniform(w, n->min)) gpuc_map_set(&w->varying, n->var, w);
        w->divergent += !is_uniform(w, n->min) || !is_uniform(w, n->extent);
        check_stmt(w, n->body);
        break;
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        check_expr(w, n->cond);
        w->divergent += !is_uniform(w, n->cond);
        check_stmt(w, n->then_body);
        check_stmt(w, n->else_body);
        break;
    }
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        warp_buffer *b = gpuc_map_get(&w->buffers, n->buffer);
        for (int i = 0; i < n->n; i++) check_expr(w, n->index[i]);
        check_expr(w, n->value);
        if (b) check_store(w, b, n->index[0]);
        break;
    }
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) check_stmt(w, gpuc_as_seq(s)->at[i]);
        break;
    case GPUC_STMT_ALLOC:
        note_buffer(w, gpuc_as_alloc(s)->buffer);
        check_stmt(w, gpuc_as_alloc(s)->body);
        break;
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        check_expr(w, n->value);
        if (!is_uniform(w, n->value)) gpuc_map_set(&w->varying, n->var, w);
        check_stmt(w, n->body);
        break;
    }
    case GPUC_STMT_EVAL: check_expr(w, gpuc_as_eval(s)->value); break;
    case GPUC_STMT_ATTR: check_stmt(w, gpuc_as_attr(s)->body); break;
    case GPUC_STMT_KIND_COUNT: break;
    }
    w->divergent = divergent;
    gpuc_arith_analyzer_rewind(w->a, mark);
}

/* ---- The new storage --------------------------------------------------------------------------------- */

/* Rows of threads along x, and the number of this thread's. */
static int64_t rows_of(const warp_pass *w, gpuc_expr *number)
{
    gpuc_ctx *ctx = w->m.ctx;
    int64_t rows = 1;
    *number = NULL;
    for (int tag = GPUC_THREAD_Y; tag <= GPUC_THREAD_Z; tag++)
        for (int i = 0; i < w->f->num_threads; i++) {
            const gpuc_tir_thread *t = &w->f->threads[i];
            int64_t extent;
            if ((int)t->tag != tag || !gpuc_expr_is_int(t->extent, &extent)) continue;
            gpuc_expr term = gpuc_mul(ctx, gpuc_cast(ctx, GPUC_INDEX, t->var), gpuc_int(ctx, rows));
            *number = *number ? gpuc_add(ctx, *number, term) : term;
            rows *= extent;
        }
    return rows;
}

static void make_storage(warp_pass *w, warp_buffer *b)
{
    gpuc_ctx *ctx = w->m.ctx;
    gpuc_expr row;
    int64_t size = b->size * rows_of(w, &row);
    if (!b->shared && b->part) {
        int64_t all = b->part * w->width;
        size = (b->size + all - 1) / all * b->part;
        w->shuffles = w->shuffles || b->shuffled;
    }
    gpuc_scope scope = b->shared ? GPUC_SCOPE_SHARED : GPUC_SCOPE_LOCAL;
    b->to = gpuc_lower_buffer_like(ctx, b->from, b->from->dtype, gpuc_int(ctx, size), scope);
}

static gpuc_stmt clear(warp_pass *w, const warp_buffer *b)
{
    gpuc_ctx *ctx = w->m.ctx;
    gpuc_dtype type = gpuc_dtype_with_lanes(b->to->dtype, b->clear);
    gpuc_ptrs stores = {0};
    int64_t size = 0;
    GPUC_CHECK(gpuc_lower_const_size(b->to, &size));
    for (int64_t i = 0; i < size; i += b->clear) {
        gpuc_expr index = gpuc_tir_ramp(ctx, gpuc_int(ctx, i), gpuc_int(ctx, 1), b->clear);
        gpuc_ptrs_push(ctx, &stores, (void *)gpuc_tir_store1(ctx, b->to, index, gpuc_imm(ctx, type, 0)));
    }
    return gpuc_tir_seq(ctx, (int)stores.count, (const gpuc_stmt *)stores.at);
}

static gpuc_expr shared_index(warp_pass *w, const warp_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = w->m.ctx;
    gpuc_expr row;
    rows_of(w, &row);
    if (!row) return index;
    row = gpuc_mul(ctx, row, gpuc_int(ctx, b->size));
    row = gpuc_cast(ctx, gpuc_dtype_with_lanes(index->dtype, 1), row);
    return gpuc_add(ctx, gpuc_tir_broadcast(ctx, row, index->dtype.lanes), index);
}

/* The elements of a vector lie in one part, or it is taken apart. */
static bool is_together(warp_pass *w, const warp_buffer *b, gpuc_expr index)
{
    int lanes = index->dtype.lanes;
    if (lanes == 1) return true;
    if (index->kind != GPUC_EXPR_RAMP || !gpuc_tir_is_const(gpuc_as_ramp(index)->stride, 1)) return false;
    owner first = owner_of(w, b, element(w, index, 0)), last = owner_of(w, b, element(w, index, lanes - 1));
    gpuc_expr reach = gpuc_imm_int(w->m.ctx, first.local->dtype, lanes - 1);
    return is_own(w, first.lane) && is_own(w, last.lane) &&
           gpuc_arith_prove_equal(w->a, gpuc_add(w->m.ctx, first.local, reach), last.local);
}

static gpuc_expr local_index(warp_pass *w, const warp_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = w->m.ctx;
    int lanes = index->dtype.lanes;
    gpuc_expr first = owner_of(w, b, element(w, index, 0)).local;
    if (lanes == 1) return first;
    if (is_together(w, b, index)) return gpuc_tir_ramp(ctx, first, gpuc_imm_int(ctx, first->dtype, 1), lanes);
    gpuc_expr *all = gpuc_new_array(ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++) all[i] = owner_of(w, b, element(w, index, i)).local;
    return gpuc_tir_vector(ctx, lanes, all);
}

static gpuc_expr read_element(warp_pass *w, const warp_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = w->m.ctx;
    owner o = owner_of(w, b, index);
    gpuc_expr own = gpuc_tir_load1(ctx, b->to, o.local);
    if (is_own(w, o.lane)) return own;
    gpuc_expr args[2] = {own, gpuc_cast(ctx, GPUC_INT32, o.lane)};
    return gpuc_tir_call(ctx, own->dtype, GPUC_TIR_CALL_SUBGROUP_SHUFFLE, NULL, NULL, 2, args);
}

static gpuc_expr read(warp_pass *w, const warp_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = w->m.ctx;
    int lanes = index->dtype.lanes;
    if (b->shared) return gpuc_tir_load1(ctx, b->to, shared_index(w, b, index));
    if (index->kind == GPUC_EXPR_BROADCAST)
        return gpuc_tir_broadcast(ctx, read_element(w, b, gpuc_as_broadcast(index)->a), lanes);
    if (lanes == 1) return read_element(w, b, index);
    if (is_together(w, b, index)) return gpuc_tir_load1(ctx, b->to, local_index(w, b, index));
    gpuc_expr *all = gpuc_new_array(ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++) all[i] = read_element(w, b, element(w, index, i));
    return gpuc_tir_vector(ctx, lanes, all);
}

static gpuc_expr warp_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    warp_pass *w = (warp_pass *)m;
    if (!(e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT))) return e;
    e = gpuc_tir_map_children(m, e);
    const warp_buffer *b;
    if (e->kind == GPUC_EXPR_LOAD && (b = gpuc_map_get(&w->buffers, gpuc_as_load(e)->buffer)))
        return read(w, b, gpuc_as_load(e)->index[0]);
    if (e->kind == GPUC_EXPR_CALL && (b = gpuc_map_get(&w->buffers, gpuc_as_call(e)->buffer)))
        return gpuc_lower_call_on(m->ctx, e, b->to, shared_index(w, b, gpuc_lower_call_index(m->ctx, e)));
    return e;
}

static gpuc_stmt warp_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    warp_pass *w = (warp_pass *)m;
    warp_buffer *b;
    size_t mark = gpuc_arith_analyzer_mark(w->a);
    gpuc_lower_bind(w->a, s);
    if (s->kind == GPUC_STMT_ALLOC && (b = gpuc_map_get(&w->buffers, gpuc_as_alloc(s)->buffer))) {
        if (!b->to) make_storage(w, b);
        gpuc_stmt body = gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body);
        if (!b->shared && b->shuffled && b->clear) body = gpuc_tir_seq2(m->ctx, clear(w, b), body);
        s = gpuc_tir_alloc(m->ctx, b->to, body);
    } else if (s->kind == GPUC_STMT_STORE && (b = gpuc_map_get(&w->buffers, gpuc_as_store(s)->buffer))) {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        gpuc_expr index = gpuc_tir_map(m, n->index[0]), value = gpuc_tir_map(m, n->value);
        index = b->shared ? shared_index(w, b, index) : local_index(w, b, index);
        s = gpuc_tir_store1(m->ctx, b->to, index, value);
    } else {
        s = gpuc_tir_map_stmt_children(m, s);
    }
    gpuc_arith_analyzer_rewind(w->a, mark);
    return s;
}

/* Raises where shuffles were required but are not possible; where they were only asked for, notes it in the
 * label of the kernel. */
static const char *label_of(const warp_pass *w)
{
    gpuc_ctx *ctx = w->m.ctx;
    const char *label = w->f->label;
    for (uint32_t i = 0; i < w->buffers.count; i++) {
        const warp_buffer *b = w->buffers.entries[i].value;
        if (!b->shared) continue;
        if (b->from->require_scope)
            gpuc_raise(ctx, GPUC_UNSUPPORTED,
                       "kernel '%s': '%s' cannot be in scope warp, which its stage requires: %s", w->f->name,
                       b->from->name, b->shared);
        label = gpuc_ctx_printf(ctx, "%s [%s of scope warp is shared memory: %s]", label ? label : w->f->name,
                                b->from->name, b->shared);
    }
    return label;
}

static void find_warp(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_ALLOC && gpuc_as_alloc(s)->buffer->scope == GPUC_SCOPE_WARP) *(bool *)arg = true;
}

gpuc_tir_func *gpuc_lower_warp_memory(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    warp_pass w = {.p = p, .f = f};
    bool found = false;
    if (f->body) gpuc_tir_visit_stmt(p->ctx, f->body, find_warp, NULL, &found);
    if (!found) return f;
    gpuc_tir_mapper_init(&w.m, p->ctx, warp_expr, warp_stmt);
    gpuc_map_init(&w.buffers, p->ctx);
    gpuc_map_init(&w.varying, p->ctx);
    w.a = gpuc_lower_analyzer(p->ctx, f);
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        if (t->tag != GPUC_THREAD_X || !gpuc_expr_is_int(t->extent, &w.width)) continue;
        w.lane = t->var;
        gpuc_map_set(&w.varying, t->var, &w);
    }
    check_stmt(&w, f->body);
    gpuc_tir_func *out = gpuc_ctx_memdup(p->ctx, f, sizeof *f);
    out->label = label_of(&w);
    out->body = gpuc_tir_map_stmt(&w.m, f->body);
    if (w.shuffles) out->subgroup_size = (uint32_t)w.width;
    return out;
}
