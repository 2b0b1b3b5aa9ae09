/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces 64-bit integers on targets without them. Each 64-bit expression that narrow_index left becomes two
 * words, and each buffer of n 64-bit elements becomes one of 2n words, the low word first. */
#include "lower/legalize_int64/pairs.h"

typedef struct pairer {
    gpuc_tir_mapper m;
    const gpuc_tir_func *f;
    gpuc_analyzer *a;
    gpuc_map pairs;   /* 64-bit expression -> gpuc_pair */
    gpuc_map buffers; /* buffer of 64-bit elements -> buffer of words */
} pairer;

static bool is_long(gpuc_dtype t)
{
    return gpuc_is_integer(t) && t.bits == 64;
}

static bool is_signed(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_INT;
}

static gpuc_tir_buffer *words_of(pairer *p, const gpuc_tir_buffer *b)
{
    gpuc_tir_buffer *r = gpuc_map_get(&p->buffers, b);
    if (r || !is_long(b->dtype)) return r ? r : (gpuc_tir_buffer *)b;
    gpuc_expr size = gpuc_mul(p->m.ctx, b->shape[0], gpuc_imm_int(p->m.ctx, b->shape[0]->dtype, 2));
    r = gpuc_lower_buffer_like(p->m.ctx, b, GPUC_UINT32, size, b->scope);
    gpuc_map_set(&p->buffers, b, r);
    return r;
}

GPUC_NORETURN static void refuse(pairer *p, gpuc_expr e)
{
    gpuc_raise(p->m.ctx, GPUC_UNSUPPORTED,
               "kernel '%s' needs 64-bit integers, which the target does not have (int64=0), for %s",
               p->f->name, gpuc_expr_text(p->m.ctx, e));
}

/* The index of the low words. */
static gpuc_expr word_index(pairer *p, gpuc_expr index)
{
    gpuc_expr i = gpuc_tir_map(&p->m, index);
    return gpuc_mul(p->m.ctx, i, gpuc_imm_int(p->m.ctx, i->dtype, 2));
}

static gpuc_pair pair_of(pairer *p, gpuc_expr e);

static gpuc_pair pair_of_load(pairer *p, const gpuc_tir_load_node *n)
{
    gpuc_ctx *ctx = p->m.ctx;
    gpuc_expr at = word_index(p, n->index[0]), next = gpuc_add(ctx, at, gpuc_imm_int(ctx, at->dtype, 1));
    const gpuc_tir_buffer *b = words_of(p, n->buffer);
    return (gpuc_pair){gpuc_tir_load1(ctx, b, at), gpuc_tir_load1(ctx, b, next)};
}

static gpuc_pair pair_of_lanes(pairer *p, gpuc_expr e)
{
    gpuc_ctx *ctx = p->m.ctx;
    int lanes = e->dtype.lanes;
    gpuc_expr *lo = gpuc_new_array(ctx, gpuc_expr, lanes), *hi = gpuc_new_array(ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++) {
        gpuc_pair one =
            pair_of(p, e->kind == GPUC_EXPR_VECTOR ? gpuc_as_vector(e)->a[i] : gpuc_tir_lane(ctx, e, i));
        lo[i] = one.lo;
        hi[i] = one.hi;
    }
    return (gpuc_pair){gpuc_tir_vector(ctx, lanes, lo), gpuc_tir_vector(ctx, lanes, hi)};
}

static gpuc_pair pair_of_op(pairer *p, gpuc_expr e)
{
    gpuc_ctx *ctx = p->m.ctx;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (gpuc_tir_ops[n->op].result == GPUC_TIR_ARM)
        return gpuc_lower_pair_select(ctx, n->op, gpuc_tir_map(&p->m, n->a[0]), pair_of(p, n->a[1]),
                                      pair_of(p, n->a[2]));
    gpuc_pair a = pair_of(p, n->a[0]), b = n->a[1] ? pair_of(p, n->a[1]) : a;
    return gpuc_lower_pair_op(ctx, n->op, is_signed(e->dtype), a, b);
}

/* The upper word of what is never negative is 0, which simplify would not find everywhere. */
static gpuc_pair pair_of_cast(pairer *p, gpuc_expr e)
{
    gpuc_expr from = gpuc_as_cast(e)->a;
    if (is_long(from->dtype)) return pair_of(p, from);
    gpuc_expr x = gpuc_tir_map(&p->m, from);
    if (gpuc_dtype_equal(from->dtype, GPUC_INT32) && gpuc_arith_analyzer_bounds(p->a, from).min >= 0)
        x = gpuc_cast(p->m.ctx, GPUC_UINT32, x);
    return gpuc_lower_pair_from(p->m.ctx, is_signed(e->dtype), x);
}

static gpuc_pair make_pair(pairer *p, gpuc_expr e)
{
    gpuc_ctx *ctx = p->m.ctx;
    gpuc_pair a;
    switch (e->kind) {
    case GPUC_EXPR_INT: return gpuc_lower_pair_const(ctx, gpuc_as_int(e)->value, 1);
    case GPUC_EXPR_CAST: return pair_of_cast(p, e);
    case GPUC_EXPR_OP: return pair_of_op(p, e);
    case GPUC_EXPR_LOAD: return pair_of_load(p, gpuc_as_load(e));
    case GPUC_EXPR_BROADCAST:
        a = pair_of(p, gpuc_as_broadcast(e)->a);
        return (gpuc_pair){gpuc_tir_broadcast(ctx, a.lo, e->dtype.lanes),
                           gpuc_tir_broadcast(ctx, a.hi, e->dtype.lanes)};
    case GPUC_EXPR_LANE:
        a = pair_of(p, gpuc_as_lane(e)->a);
        return (gpuc_pair){gpuc_tir_lane(ctx, a.lo, gpuc_as_lane(e)->lane),
                           gpuc_tir_lane(ctx, a.hi, gpuc_as_lane(e)->lane)};
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_VECTOR: return pair_of_lanes(p, e);
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    refuse(p, e);
}

static gpuc_pair pair_of(pairer *p, gpuc_expr e)
{
    gpuc_pair *known = gpuc_map_get(&p->pairs, e);
    if (known) return *known;
    known = gpuc_new(p->m.ctx, gpuc_pair);
    *known = make_pair(p, e);
    gpuc_map_set(&p->pairs, e, known);
    return *known;
}

static gpuc_expr pair_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    pairer *p = (pairer *)m;
    if (is_long(e->dtype)) return e->kind == GPUC_EXPR_INT ? e : pair_of(p, e).lo; /* an index: below 2^31 */
    if (e->kind == GPUC_EXPR_CAST && is_long(gpuc_as_cast(e)->a->dtype))
        return gpuc_lower_pair_to(m->ctx, e->dtype, is_signed(gpuc_as_cast(e)->a->dtype),
                                  pair_of(p, gpuc_as_cast(e)->a));
    if (e->kind == GPUC_EXPR_OP && gpuc_tir_ops[gpuc_as_op(e)->op].result == GPUC_TIR_BOOL &&
        is_long(gpuc_as_op(e)->a[0]->dtype)) {
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        return gpuc_lower_pair_compare(m->ctx, n->op, is_signed(n->a[0]->dtype), pair_of(p, n->a[0]),
                                       pair_of(p, n->a[1]));
    }
    if (e->kind == GPUC_EXPR_CALL) {
        const gpuc_tir_call_node *n = gpuc_as_call(e);
        if (n->buffer && is_long(n->buffer->dtype)) refuse(p, e);
        if (n->fn == GPUC_TIR_CALL_REINTERPRET && is_long(n->args[0]->dtype)) refuse(p, e);
    }
    return gpuc_tir_map_children(m, e);
}

static gpuc_stmt pair_store(pairer *p, const gpuc_tir_store_node *n)
{
    gpuc_ctx *ctx = p->m.ctx;
    gpuc_pair v = pair_of(p, n->value);
    const gpuc_tir_buffer *b = words_of(p, n->buffer);
    int lanes = v.lo->dtype.lanes;
    gpuc_expr at = word_index(p, n->index[0]), lo = gpuc_var(ctx, "lo", v.lo->dtype),
              hi = gpuc_var(ctx, "hi", v.hi->dtype);
    gpuc_stmt s = NULL;
    for (int i = 0; i < lanes; i++) {
        gpuc_expr one = gpuc_tir_lane(ctx, at, i),
                  next = gpuc_add(ctx, one, gpuc_imm_int(ctx, one->dtype, 1));
        s = gpuc_tir_seq2(ctx, s, gpuc_tir_store1(ctx, b, one, gpuc_tir_lane(ctx, lo, i)));
        s = gpuc_tir_seq2(ctx, s, gpuc_tir_store1(ctx, b, next, gpuc_tir_lane(ctx, hi, i)));
    }
    return gpuc_tir_let(ctx, lo, v.lo, gpuc_tir_let(ctx, hi, v.hi, s));
}

static gpuc_stmt pair_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    pairer *p = (pairer *)m;
    gpuc_ctx *ctx = m->ctx;
    if (s->kind == GPUC_STMT_STORE && is_long(gpuc_as_store(s)->buffer->dtype))
        return pair_store(p, gpuc_as_store(s));
    if (s->kind == GPUC_STMT_ALLOC && is_long(gpuc_as_alloc(s)->buffer->dtype))
        return gpuc_tir_alloc(ctx, words_of(p, gpuc_as_alloc(s)->buffer),
                              gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body));
    if (s->kind == GPUC_STMT_FOR && is_long(gpuc_as_for(s)->var->dtype)) refuse(p, gpuc_as_for(s)->extent);
    if (s->kind != GPUC_STMT_LET || !is_long(gpuc_as_let(s)->var->dtype))
        return gpuc_tir_map_stmt_children(m, s);
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    gpuc_pair v = pair_of(p, n->value), *names = gpuc_new(ctx, gpuc_pair);
    const char *name = gpuc_as_var(n->var)->name;
    *names = (gpuc_pair){gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s_lo", name), v.lo->dtype),
                         gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s_hi", name), v.hi->dtype)};
    gpuc_map_set(&p->pairs, n->var, names);
    gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
    return gpuc_tir_let(ctx, names->lo, v.lo, gpuc_tir_let(ctx, names->hi, v.hi, body));
}

static bool is_short(gpuc_expr e, void *arg)
{
    if (is_long(e->dtype) && e->kind != GPUC_EXPR_INT) *(bool *)arg = true;
    return true;
}

static void note_storage(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_ALLOC && is_long(gpuc_as_alloc(s)->buffer->dtype)) *(bool *)arg = true;
}

gpuc_tir_func *gpuc_lower_legalize_int64(gpuc_pass_ctx *ctx, gpuc_tir_func *f)
{
    bool found = false;
    if (ctx->target->int64) return f;
    gpuc_tir_visit_stmt(ctx->ctx, f->body, note_storage, is_short, &found);
    pairer p = {.f = f, .a = gpuc_lower_analyzer(ctx->ctx, f)};
    gpuc_tir_mapper_init(&p.m, ctx->ctx, pair_expr, pair_stmt);
    gpuc_map_init(&p.pairs, ctx->ctx);
    gpuc_map_init(&p.buffers, ctx->ctx);
    gpuc_tir_buffer **buffers = gpuc_new_array(ctx->ctx, gpuc_tir_buffer *, f->num_buffers);
    for (int i = 0; i < f->num_buffers; i++) {
        buffers[i] = words_of(&p, f->buffers[i]);
        found = found || buffers[i] != f->buffers[i];
    }
    for (int i = 0; i < f->num_scalars; i++)
        if (is_long(f->scalars[i]->dtype)) refuse(&p, f->scalars[i]);
    if (!found) return f;
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx->ctx, f, sizeof *f);
    out->buffers = buffers;
    out->body = gpuc_tir_map_stmt(&p.m, f->body);
    return out;
}
