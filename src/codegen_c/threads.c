/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel for a GPU's grid as loops. Blocks are the outer loops, the first of them parallel. The threads of a block run
 * one after another; a barrier ends their loop and the next one begins after it, so control flow around a barrier
 * must be the same for all threads, and what one thread keeps across it gets an element per thread. */
#include "codegen_c/private.h"

typedef struct serializer {
    gpuc_tir_mapper m; /* first; rewrites accesses to expanded buffers */
    gpuc_ctx *ctx;
    const gpuc_tir_func *func;
    gpuc_expr thread;  /* number of the thread in its block */
    int64_t count;     /* threads of a block */
    gpuc_map expanded; /* local buffer -> its per-thread version */
} serializer;

static bool is_barrier(gpuc_expr e)
{
    return e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER;
}

static bool look_for_barrier(gpuc_expr e, void *arg)
{
    if (is_barrier(e)) *(bool *)arg = true;
    return !*(bool *)arg;
}

static bool has_barrier(gpuc_ctx *ctx, gpuc_stmt s)
{
    bool found = false;
    gpuc_tir_visit_stmt(ctx, s, NULL, look_for_barrier, &found);
    return found;
}

static bool uses_threads(serializer *z, gpuc_expr e)
{
    for (int i = 0; i < z->func->num_threads; i++)
        if (gpuc_is_thread_tag(z->func->threads[i].tag) && gpuc_tir_uses_var(z->ctx, e, z->func->threads[i].var))
            return true;
    return false;
}

/* ---- Per-thread storage ---------------------------------------------------------------------------- */

static gpuc_expr per_thread(serializer *z, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_dtype t = gpuc_dtype_with_lanes(index->dtype, 1);
    gpuc_expr base = gpuc_mul(z->ctx, gpuc_cast(z->ctx, t, z->thread), gpuc_imm_int(z->ctx, t, gpuc_codegen_elements(z->ctx, b)));
    if (index->kind == GPUC_EXPR_RAMP) {
        const gpuc_tir_ramp_node *r = gpuc_as_ramp(index);
        return gpuc_tir_ramp(z->ctx, gpuc_add(z->ctx, base, r->start), r->stride, index->dtype.lanes);
    }
    return gpuc_add(z->ctx, gpuc_tir_broadcast(z->ctx, base, index->dtype.lanes), index);
}

static gpuc_expr expand_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    serializer *z = (serializer *)m;
    e = gpuc_tir_map_children(m, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        const gpuc_tir_buffer *b = gpuc_map_get(&z->expanded, n->buffer);
        if (b) return gpuc_tir_load1(z->ctx, b, per_thread(z, n->buffer, n->index[0]));
    }
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer) {
        const gpuc_tir_call_node *n = gpuc_as_call(e);
        const gpuc_tir_buffer *b = gpuc_map_get(&z->expanded, n->buffer);
        if (!b) return e;
        gpuc_expr *args = gpuc_ctx_memdup(z->ctx, n->args, (size_t)n->n * sizeof *args);
        args[0] = per_thread(z, n->buffer, args[0]);
        return gpuc_tir_call(z->ctx, e->dtype, n->fn, n->name, b, n->n, args);
    }
    return e;
}

static gpuc_stmt expand_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    serializer *z = (serializer *)m;
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    const gpuc_tir_buffer *b = gpuc_map_get(&z->expanded, n->buffer);
    return b ? gpuc_tir_store1(z->ctx, b, per_thread(z, n->buffer, n->index[0]), n->value) : s;
}

static gpuc_tir_buffer *make_expanded(serializer *z, const char *name, gpuc_dtype t, int64_t elements)
{
    gpuc_expr size = gpuc_int(z->ctx, elements * z->count);
    return gpuc_tir_buffer_make(z->ctx, name, t, 1, &size, GPUC_SCOPE_LOCAL);
}

/* ---- Regions --------------------------------------------------------------------------------------- */

static gpuc_stmt region(serializer *z, gpuc_stmt s);

static gpuc_stmt wrap(serializer *z, gpuc_stmt s)
{
    for (int tag = GPUC_THREAD_X; s && tag <= GPUC_THREAD_Z; tag++)
        for (int i = 0; i < z->func->num_threads; i++) {
            const gpuc_tir_thread *t = &z->func->threads[i];
            if ((int)t->tag == tag)
                s = gpuc_tir_for_(z->ctx, t->var, gpuc_imm_int(z->ctx, t->var->dtype, 0), t->extent, GPUC_LOOP_SERIAL,
                                  GPUC_THREAD_NONE, s);
        }
    return s;
}

static gpuc_stmt seq_region(serializer *z, gpuc_stmt s)
{
    const gpuc_tir_seq_node *n = gpuc_as_seq(s);
    gpuc_ptrs out = {0}, run = {0};
    for (int i = 0; i <= n->n; i++) {
        if (i < n->n && !has_barrier(z->ctx, n->at[i])) {
            gpuc_ptrs_push(z->ctx, &run, n->at[i]);
            continue;
        }
        if (run.count > 0) {
            const gpuc_stmt *list = gpuc_ctx_memdup(z->ctx, run.at, run.count * sizeof *run.at);
            gpuc_ptrs_push(z->ctx, &out, wrap(z, gpuc_tir_seq(z->ctx, (int)run.count, list)));
            run.count = 0;
        }
        gpuc_stmt part = i < n->n ? region(z, n->at[i]) : NULL;
        if (part) gpuc_ptrs_push(z->ctx, &out, part);
    }
    return gpuc_tir_seq(z->ctx, (int)out.count, (const gpuc_stmt *)out.at);
}

static void need_uniform(serializer *z, gpuc_expr e, const char *what)
{
    if (uses_threads(z, e))
        gpuc_raise(z->ctx, GPUC_UNSUPPORTED, "kernel '%s': a barrier stands under %s that differs between threads: %s",
                   z->func->name, what, gpuc_expr_text(z->ctx, e));
}

static gpuc_stmt let_region(serializer *z, gpuc_stmt s)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    if (!uses_threads(z, n->value)) {
        gpuc_stmt body = region(z, n->body);
        return body ? gpuc_tir_let(z->ctx, n->var, n->value, body) : NULL;
    }
    if (!(n->value->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT)))
        return region(z, gpuc_tir_substitute_stmt(z->ctx, n->body, 1, &n->var, &n->value));
    gpuc_dtype t = gpuc_dtype_with_lanes(n->var->dtype, 1);
    int lanes = n->var->dtype.lanes;
    gpuc_tir_buffer *kept = make_expanded(z, gpuc_as_var(n->var)->name, t, lanes);
    gpuc_expr one = gpuc_imm_int(z->ctx, z->thread->dtype, 1);
    gpuc_expr start = gpuc_mul(z->ctx, z->thread, gpuc_imm_int(z->ctx, z->thread->dtype, lanes));
    gpuc_expr at = lanes > 1 ? gpuc_tir_ramp(z->ctx, start, one, lanes) : start;
    gpuc_expr value = gpuc_tir_load1(z->ctx, kept, at);
    gpuc_stmt body = region(z, gpuc_tir_substitute_stmt(z->ctx, n->body, 1, &n->var, &value));
    gpuc_stmt keep = wrap(z, gpuc_tir_store1(z->ctx, kept, at, n->value));
    return gpuc_tir_alloc(z->ctx, kept, gpuc_tir_seq2(z->ctx, keep, body));
}

static gpuc_stmt alloc_region(serializer *z, gpuc_stmt s)
{
    const gpuc_tir_alloc_node *n = gpuc_as_alloc(s);
    if (n->buffer->scope == GPUC_SCOPE_SHARED) {
        gpuc_stmt body = region(z, n->body);
        return body ? gpuc_tir_alloc(z->ctx, n->buffer, body) : NULL;
    }
    gpuc_tir_buffer *b = make_expanded(z, n->buffer->name, n->buffer->dtype, gpuc_codegen_elements(z->ctx, n->buffer));
    gpuc_map_set(&z->expanded, n->buffer, b);
    gpuc_tir_mapper_forget(&z->m);
    gpuc_stmt body = gpuc_tir_map_stmt(&z->m, n->body);
    gpuc_map_set(&z->expanded, n->buffer, NULL);
    body = body ? region(z, body) : NULL;
    return body ? gpuc_tir_alloc(z->ctx, b, body) : NULL;
}

static gpuc_stmt region(serializer *z, gpuc_stmt s)
{
    if (!has_barrier(z->ctx, s)) return wrap(z, s);
    switch (s->kind) {
    case GPUC_STMT_SEQ: return seq_region(z, s);
    case GPUC_STMT_EVAL:
        if (is_barrier(gpuc_as_eval(s)->value)) return NULL;
        break;
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        need_uniform(z, n->min, "a loop bound");
        need_uniform(z, n->extent, "a loop bound");
        gpuc_stmt body = region(z, n->body);
        return body ? gpuc_tir_for_(z->ctx, n->var, n->min, n->extent, n->loop, n->tag, body) : NULL;
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        need_uniform(z, n->cond, "a condition");
        gpuc_stmt then_body = region(z, n->then_body), else_body = n->else_body ? region(z, n->else_body) : NULL;
        return gpuc_tir_if_(z->ctx, n->cond, then_body, else_body);
    }
    case GPUC_STMT_LET: return let_region(z, s);
    case GPUC_STMT_ALLOC: return alloc_region(z, s);
    case GPUC_STMT_ATTR: return region(z, gpuc_as_attr(s)->body);
    case GPUC_STMT_STORE:
    case GPUC_STMT_KIND_COUNT: break;
    }
    gpuc_raise(z->ctx, GPUC_INTERNAL, "kernel '%s': a barrier inside of an expression", z->func->name);
}

/* ---- The grid -------------------------------------------------------------------------------------- */

static void number_threads(serializer *z)
{
    z->count = 1;
    z->thread = NULL;
    for (int tag = GPUC_THREAD_X; tag <= GPUC_THREAD_Z; tag++)
        for (int i = 0; i < z->func->num_threads; i++) {
            const gpuc_tir_thread *t = &z->func->threads[i];
            int64_t extent;
            if ((int)t->tag != tag) continue;
            if (!gpuc_expr_is_int(t->extent, &extent) || extent < 1)
                gpuc_raise(z->ctx, GPUC_UNSUPPORTED, "kernel '%s': the extent of %s is not constant", z->func->name,
                           gpuc_thread_tag_name(t->tag));
            gpuc_expr step = gpuc_mul(z->ctx, t->var, gpuc_imm_int(z->ctx, t->var->dtype, z->count));
            z->thread = z->thread ? gpuc_add(z->ctx, z->thread, gpuc_cast(z->ctx, z->thread->dtype, step)) : step;
            z->count *= extent;
        }
    if (!z->thread) z->thread = gpuc_imm_int(z->ctx, GPUC_INT32, 0);
}

static gpuc_stmt loop_over_blocks(serializer *z, gpuc_stmt body)
{
    const gpuc_tir_thread *order[16];
    int n = 0;
    for (int tag = GPUC_BLOCK_X; tag <= GPUC_BLOCK_Z; tag++)
        for (int i = 0; i < z->func->num_threads && n < 16; i++)
            if ((int)z->func->threads[i].tag == tag) order[n++] = &z->func->threads[i];
    int outermost = n - 1;
    while (outermost > 0 && gpuc_tir_is_const(order[outermost]->extent, 1)) outermost--;
    for (int i = 0; i < n && body; i++)
        body = gpuc_tir_for_(z->ctx, order[i]->var, gpuc_imm_int(z->ctx, order[i]->var->dtype, 0), order[i]->extent,
                             i == outermost ? GPUC_LOOP_PARALLEL : GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    return body;
}

const gpuc_tir_func *gpuc_c_serialize_threads(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    if (f->num_threads == 0 || !f->body) return f;
    serializer z = {.ctx = ctx, .func = f};
    gpuc_map_init(&z.expanded, ctx);
    gpuc_tir_mapper_init(&z.m, ctx, expand_expr, expand_stmt);
    number_threads(&z);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    out->body = loop_over_blocks(&z, region(&z, f->body));
    out->num_threads = 0;
    out->threads = NULL;
    return out;
}
