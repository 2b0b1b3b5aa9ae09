/* SPDX-License-Identifier: Apache-2.0 */
/* Computes operations on cooperative matrices by loops where the target has no instruction for them. The W
 * threads along x share the elements of a matrix: thread e % W has element e, as its element e / W. Sums lie
 * in local memory of the thread; factors, which all threads read, in storage of scope warp. */
#include "lower/coopmat/coopmat.h"

#include "abi/coopmat.h"

enum { SIDE = GPUC_COOPMAT_SIDE, ELEMENTS = SIDE * SIDE };

typedef struct sharer {
    gpuc_tir_mapper m;
    const gpuc_coopmats *c;
    gpuc_analyzer *a;
    gpuc_map to;                    /* gpuc_tir_buffer -> what stands for it */
    int64_t turns;                  /* that a thread has in a matrix */
    const gpuc_tir_coopmat *inside; /* the operation at hand */
    gpuc_expr turn;
    gpuc_expr vars[2], element[2]; /* its row and column, and their values */
} sharer;

static const gpuc_tir_buffer *storage(sharer *t, const gpuc_tir_buffer *b)
{
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_tir_buffer *r = gpuc_map_get(&t->to, b);
    if (r) return r;
    const gpuc_coopmat_buffer *matrices = gpuc_lower_coopmats_get(t->c, b);
    bool sum = matrices->use == GPUC_COOPMAT_AS_SUM;
    gpuc_expr size = gpuc_int(ctx, matrices->count * (sum ? t->turns : ELEMENTS));
    gpuc_scope scope = sum || t->c->width == 1 ? GPUC_SCOPE_LOCAL : GPUC_SCOPE_WARP;
    r = gpuc_lower_buffer_like(ctx, b, b->dtype, size, scope);
    gpuc_map_set(&t->to, b, (void *)r);
    return r;
}

/* An index before the operation's row and column have values. */
static gpuc_expr place(sharer *t, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = t->m.ctx;
    if (b->scope != GPUC_SCOPE_COOPMAT || gpuc_lower_coopmats_get(t->c, b)->use != GPUC_COOPMAT_AS_SUM)
        return gpuc_tir_substitute(ctx, index, 2, t->vars, t->element);
    gpuc_coopmat_place at = gpuc_lower_coopmat_place_of(t->a, ctx, t->inside, index, 0, 1);
    gpuc_expr number = gpuc_lower_coopmat_number(t->a, ctx, &at),
              turns = gpuc_imm_int(ctx, number->dtype, t->turns);
    return gpuc_add(ctx, gpuc_mul(ctx, number, turns), gpuc_cast(ctx, number->dtype, t->turn));
}

static gpuc_expr share_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    sharer *t = (sharer *)m;
    if (e->kind != GPUC_EXPR_LOAD || !t->inside) return gpuc_tir_map_children(m, e);
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    const gpuc_tir_buffer *b = n->buffer->scope == GPUC_SCOPE_COOPMAT ? storage(t, n->buffer) : n->buffer;
    return gpuc_tir_load1(m->ctx, b, place(t, n->buffer, n->index[0]));
}

static gpuc_stmt share_operation(sharer *t, const gpuc_tir_attr_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_tir_coopmat m;
    GPUC_CHECK(!gpuc_tir_coopmat_of(ctx, n, &m));
    gpuc_expr width = gpuc_int(ctx, t->c->width), side = gpuc_int(ctx, SIDE), zero = gpuc_int(ctx, 0);
    t->turn = gpuc_var(ctx, "turn", GPUC_INDEX);
    gpuc_expr e = gpuc_mul(ctx, t->turn, width);
    if (t->c->lane) e = gpuc_add(ctx, e, gpuc_cast(ctx, GPUC_INDEX, t->c->lane));
    gpuc_expr of[] = {gpuc_floordiv_(ctx, e, side), gpuc_floormod_(ctx, e, side)};
    for (int i = 0; i < 2; i++) {
        t->vars[i] = m.loop[i]->var;
        t->element[i] = gpuc_cast(ctx, t->vars[i]->dtype, of[i]);
    }
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    for (int i = 0; i < m.num_loops; i++)
        gpuc_arith_analyzer_bind(t->a, m.loop[i]->var, m.loop[i]->min, m.loop[i]->extent);
    t->inside = &m;
    gpuc_tir_mapper_forget(&t->m);
    const gpuc_tir_buffer *to = m.store->buffer;
    gpuc_expr index = place(t, to, m.store->index[0]), value = gpuc_tir_map(&t->m, m.store->value);
    gpuc_stmt s = gpuc_tir_store1(ctx, to->scope == GPUC_SCOPE_COOPMAT ? storage(t, to) : to, index, value);
    t->inside = NULL;
    gpuc_tir_mapper_forget(&t->m);
    gpuc_arith_analyzer_rewind(t->a, mark);
    if (m.kind == GPUC_COOPMAT_MULTIPLY)
        s = gpuc_tir_for_(ctx, m.loop[2]->var, m.loop[2]->min, m.loop[2]->extent, GPUC_LOOP_SERIAL,
                          GPUC_THREAD_NONE, s);
    if (ELEMENTS % t->c->width) s = gpuc_tir_if_(ctx, gpuc_lt(ctx, e, gpuc_int(ctx, ELEMENTS)), s, NULL);
    return gpuc_tir_for_(ctx, t->turn, zero, gpuc_int(ctx, t->turns), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, s);
}

static gpuc_stmt share_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    sharer *t = (sharer *)m;
    if (gpuc_tir_is_coopmat(s)) return share_operation(t, gpuc_as_attr(s));
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, s);
    if (s->kind == GPUC_STMT_ALLOC && gpuc_as_alloc(s)->buffer->scope == GPUC_SCOPE_COOPMAT)
        s = gpuc_tir_alloc(m->ctx, storage(t, gpuc_as_alloc(s)->buffer),
                           gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body));
    else
        s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

gpuc_tir_func *gpuc_lower_coopmat(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    const gpuc_coopmats *c = f->body ? gpuc_lower_coopmats_find(p->ctx, p->target, f) : NULL;
    if (!c) return f;
    gpuc_tir_func *out = gpuc_ctx_memdup(p->ctx, f, sizeof *f);
    if (c->native) {
        out->subgroup_size = (uint32_t)c->width;
        return out;
    }
    sharer t = {.c = c, .a = gpuc_lower_analyzer(p->ctx, f)};
    t.turns = (ELEMENTS + c->width - 1) / c->width;
    gpuc_tir_mapper_init(&t.m, p->ctx, share_expr, share_stmt);
    gpuc_map_init(&t.to, p->ctx);
    out->body = gpuc_tir_map_stmt(&t.m, f->body);
    return out;
}
