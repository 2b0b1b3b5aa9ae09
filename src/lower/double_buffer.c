/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites `for k: { fill(B, k); use(B) }` as
 *     fill(B half 0, first); for k: { if (more) fill(B half 1 - k % 2, k + 1); use(B half k % 2) }
 * Here fill is one statement that writes B and nothing else that the loop touches, and reads nothing that the
 * loop writes; the size of B is the same in all iterations; and threads that the loop binds do not fill a global B.
 * Where that does not hold the buffer stays single. */
#include "lower/common/util.h"

typedef struct doubler {
    gpuc_tir_mapper m;
    const gpuc_tir_buffer *from;
    gpuc_tir_buffer *to;
    gpuc_expr offset; /* added to indices; NULL: none */
} doubler;

static gpuc_expr shifted(doubler *d, gpuc_expr index)
{
    gpuc_ctx *ctx = d->m.ctx;
    if (!d->offset) return index;
    gpuc_expr offset = gpuc_cast(ctx, gpuc_dtype_with_lanes(index->dtype, 1), d->offset);
    return gpuc_add(ctx, index, gpuc_tir_broadcast(ctx, offset, index->dtype.lanes));
}

static gpuc_expr move_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    doubler *d = (doubler *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    if (e->kind == GPUC_EXPR_LOAD && gpuc_as_load(e)->buffer == d->from)
        return gpuc_tir_load1(m->ctx, d->to, shifted(d, gpuc_as_load(e)->index[0]));
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer == d->from)
        return gpuc_lower_call_on(m->ctx, e, d->to, shifted(d, gpuc_lower_call_index(m->ctx, e)));
    return e;
}

static gpuc_stmt move_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    doubler *d = (doubler *)m;
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE || gpuc_as_store(s)->buffer != d->from) return s;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    return gpuc_tir_store1(m->ctx, d->to, shifted(d, n->index[0]), n->value);
}

static gpuc_stmt move(gpuc_ctx *ctx, gpuc_stmt s, const gpuc_tir_buffer *from, gpuc_tir_buffer *to,
                      gpuc_expr offset)
{
    doubler d = {.from = from, .to = to, .offset = offset};
    gpuc_tir_mapper_init(&d.m, ctx, move_expr, move_stmt);
    return gpuc_tir_map_stmt(&d.m, s);
}

/* ---- What may move --------------------------------------------------------------------------------------- */

typedef struct fill_check {
    gpuc_ctx *ctx;
    const gpuc_tir_buffer *buffer;
    gpuc_stmt loop_body, fill;
    gpuc_map own; /* buffers that the fill allocates */
    bool ok;
} fill_check;

static void note_own(gpuc_stmt s, void *arg)
{
    fill_check *c = arg;
    if (s->kind == GPUC_STMT_ALLOC) gpuc_map_set(&c->own, gpuc_as_alloc(s)->buffer, (void *)s);
    if (s->kind == GPUC_STMT_EVAL) c->ok = false;
}

static void check_access(const gpuc_lower_access *access, void *arg)
{
    fill_check *c = arg;
    if (gpuc_map_has(&c->own, access->buffer)) return;
    if (access->write && access->buffer != c->buffer) c->ok = false;
    if (access->read && access->buffer != c->buffer &&
        gpuc_lower_writes(c->ctx, c->loop_body, access->buffer))
        c->ok = false;
}

static bool can_run_ahead(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_stmt body, gpuc_stmt fill)
{
    fill_check c = {.ctx = ctx, .buffer = b, .loop_body = body, .fill = fill, .ok = true};
    gpuc_map_init(&c.own, ctx);
    gpuc_tir_visit_stmt(ctx, fill, note_own, NULL, &c);
    gpuc_lower_accesses(ctx, fill, check_access, &c);
    return c.ok;
}

static void find_thread(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_FOR && gpuc_is_thread_tag(gpuc_as_for(s)->tag)) *(bool *)arg = true;
}

/* Such a B becomes shared memory, if one kernel has all of its uses (split_kernels). The first fill in front of the
 * loop would be a kernel of its own, and B would stay global, for which no barrier orders threads. */
static bool becomes_shared(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_stmt body)
{
    bool bound = false;
    if (b->scope == GPUC_SCOPE_GLOBAL) gpuc_tir_visit_stmt(ctx, body, find_thread, NULL, &bound);
    return bound;
}

/* ---- The loop -------------------------------------------------------------------------------------------- */

/* The allocations at the head of a loop's body, as far as they are nested directly. */
static gpuc_stmt below_allocs(gpuc_stmt s, gpuc_ctx *ctx, gpuc_ptrs *allocs)
{
    while (s->kind == GPUC_STMT_ALLOC) {
        gpuc_ptrs_push(ctx, allocs, gpuc_as_alloc(s)->buffer);
        s = gpuc_as_alloc(s)->body;
    }
    return s;
}

static gpuc_stmt pipeline_buffer(gpuc_ctx *ctx, const gpuc_tir_for_node *loop, gpuc_stmt *body,
                                 gpuc_tir_buffer *b, gpuc_tir_buffer **out)
{
    gpuc_stmt inner = *body;
    /* The storage moves around the loop, so its size must not change in it. */
    if (inner->kind != GPUC_STMT_SEQ || gpuc_tir_uses_var(ctx, b->shape[0], loop->var)) return NULL;
    const gpuc_tir_seq_node *seq = gpuc_as_seq(inner);
    int at = -1;
    for (int i = 0; i < seq->n; i++) {
        if (!gpuc_lower_writes(ctx, seq->at[i], b)) continue;
        if (at >= 0) return NULL;
        at = i;
    }
    if (at < 0) return NULL;
    for (int i = 0; i < at; i++)
        if (gpuc_lower_touches(ctx, seq->at[i], b)) return NULL;
    gpuc_stmt fill = seq->at[at];
    if (!can_run_ahead(ctx, b, inner, fill) || becomes_shared(ctx, b, inner)) return NULL;
    gpuc_dtype t = loop->var->dtype;
    gpuc_expr size = gpuc_cast(ctx, t, b->shape[0]), one = gpuc_imm_int(ctx, t, 1),
              two = gpuc_imm_int(ctx, t, 2);
    gpuc_tir_buffer *both =
        gpuc_lower_buffer_like(ctx, b, b->dtype, gpuc_mul(ctx, b->shape[0], gpuc_int(ctx, 2)), b->scope);
    both->double_buffer = false;
    gpuc_expr iteration = gpuc_sub(ctx, loop->var, loop->min), next = gpuc_add(ctx, loop->var, one);
    gpuc_expr half = gpuc_floormod_(ctx, iteration, two);
    gpuc_expr here = gpuc_mul(ctx, half, size), there = gpuc_mul(ctx, gpuc_sub(ctx, one, half), size);
    gpuc_stmt first = gpuc_lower_clone(ctx, fill, 1, &loop->var, &loop->min);
    gpuc_stmt prologue = move(ctx, first, b, both, NULL);
    gpuc_stmt ahead = move(ctx, gpuc_tir_substitute_stmt(ctx, fill, 1, &loop->var, &next), b, both, there);
    gpuc_expr more = gpuc_lt(ctx, gpuc_add(ctx, iteration, one), loop->extent);
    gpuc_stmt *parts = gpuc_new_array(ctx, gpuc_stmt, seq->n);
    for (int i = 0; i < seq->n; i++)
        parts[i] = i == at ? gpuc_tir_if_(ctx, more, ahead, NULL) : move(ctx, seq->at[i], b, both, here);
    *body = gpuc_tir_seq(ctx, seq->n, parts);
    *out = both;
    gpuc_expr some = gpuc_lt(ctx, gpuc_imm_int(ctx, t, 0), loop->extent);
    return gpuc_tir_if_(ctx, some, prologue, NULL);
}

/* A copy of the buffer without the request for a double buffer. */
static gpuc_tir_buffer *settled(gpuc_ctx *ctx, const gpuc_tir_buffer *b)
{
    gpuc_tir_buffer *out = gpuc_lower_buffer_like(ctx, b, b->dtype, b->shape[0], b->scope);
    out->double_buffer = false;
    return out;
}

static gpuc_stmt double_for(gpuc_ctx *ctx, gpuc_stmt s)
{
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    gpuc_ptrs allocs = {0};
    gpuc_stmt body = below_allocs(n->body, ctx, &allocs), prologue = NULL;
    if (n->loop != GPUC_LOOP_SERIAL) return s;
    gpuc_ptrs outside = {0}, inside = {0};
    for (size_t i = 0; i < allocs.count; i++) {
        gpuc_tir_buffer *b = allocs.at[i], *both = NULL;
        gpuc_stmt first = b->double_buffer ? pipeline_buffer(ctx, n, &body, b, &both) : NULL;
        prologue = gpuc_tir_seq2(ctx, prologue, first);
        gpuc_ptrs_push(ctx, both ? &outside : &inside, both ? both : b);
    }
    if (outside.count == 0) return s;
    for (size_t i = inside.count; i-- > 0;) body = gpuc_tir_alloc(ctx, inside.at[i], body);
    s = gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    s = gpuc_tir_seq2(ctx, prologue, s);
    for (size_t i = outside.count; i-- > 0;) s = gpuc_tir_alloc(ctx, outside.at[i], s);
    return s;
}

static gpuc_stmt double_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    s = gpuc_tir_map_stmt_children(m, s);
    return s && s->kind == GPUC_STMT_FOR ? double_for(m->ctx, s) : s;
}

static gpuc_stmt settle_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_ALLOC || !gpuc_as_alloc(s)->buffer->double_buffer) return s;
    const gpuc_tir_alloc_node *n = gpuc_as_alloc(s);
    gpuc_tir_buffer *b = settled(m->ctx, n->buffer);
    return gpuc_tir_alloc(m->ctx, b, move(m->ctx, n->body, n->buffer, b, NULL));
}

gpuc_tir_func *gpuc_lower_double_buffer(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_tir_mapper m;
    gpuc_tir_mapper_init(&m, p->ctx, NULL, double_stmt);
    gpuc_stmt body = gpuc_tir_map_stmt(&m, f->body);
    gpuc_tir_mapper_init(&m, p->ctx, NULL, settle_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&m, body), f->stage);
}
