/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that a kernel allocates for itself. What one invocation uses alone becomes local if
 * it is small, else a slice of a workspace per iteration of the parallel loops around; what the threads of a
 * group share becomes shared. */
#include "lower/split_kernels/split.h"

enum { LOCAL_BYTES_C = 64 << 10, LOCAL_BYTES_GPU = 1 << 10, MAX_BOUND = 1 << 20, MAX_LOOPS = 32 };

typedef struct placement {
    const gpuc_tir_buffer *buffer;
    gpuc_expr offset; /* of the slice; NULL: none */
} placement;

typedef struct placer {
    gpuc_tir_mapper m;
    gpuc_pass_ctx *p;
    gpuc_analyzer *a;
    const gpuc_tir_func *f;
    const char *kernel;
    gpuc_ptrs *workspaces;
    gpuc_map placed;
    const gpuc_tir_for_node *loops[MAX_LOOPS]; /* parallel and thread loops around */
    int num_loops;
} placer;

static void note_thread_loop(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_FOR && gpuc_is_thread_tag(gpuc_as_for(s)->tag)) *(bool *)arg = true;
}

static gpuc_expr constant_size(placer *t, const gpuc_tir_buffer *b, gpuc_expr e, const char *what)
{
    if (e->kind == GPUC_EXPR_INT) return e;
    int64_t max = gpuc_arith_analyzer_bounds(t->a, e).max;
    if (max > MAX_BOUND)
        gpuc_raise(
            t->m.ctx, GPUC_UNSUPPORTED,
            "kernel '%s': the buffer '%s' inside of it needs %s of %s, which has no constant bound; compute "
            "'%s' at the root, or split its loops by constant factors",
            t->kernel, b->name, what, gpuc_expr_text(t->m.ctx, e), b->name);
    return gpuc_imm_int(t->m.ctx, e->dtype, max);
}

typedef struct scope_search {
    const placer *t;
    bool outside;
} scope_search;

static bool is_known_before(gpuc_expr e, void *arg)
{
    scope_search *s = arg;
    if (e->kind != GPUC_EXPR_VAR) return true;
    for (int i = 0; i < s->t->f->num_scalars; i++)
        if (s->t->f->scalars[i] == e) return true;
    s->outside = true;
    return false;
}

static gpuc_expr launch_time(placer *t, const gpuc_tir_buffer *b, gpuc_expr e, const char *what)
{
    scope_search s = {.t = t};
    gpuc_tir_visit(t->m.ctx, e, is_known_before, &s);
    return s.outside || e->flags & GPUC_TIR_HAS_LOAD ? constant_size(t, b, e, what) : e;
}

static placement workspace_slice(placer *t, const gpuc_tir_buffer *b)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr size = launch_time(t, b, b->shape[0], "a size"), zero = gpuc_imm_int(ctx, size->dtype, 0);
    /* The size of what no iteration needs may be below 0: the last element minus the first, and one. */
    bool known = gpuc_arith_prove(t->a, gpuc_le(ctx, zero, size));
    gpuc_expr total = known ? size : gpuc_max(ctx, size, zero), slice = NULL;
    for (int i = 0; i < t->num_loops; i++) {
        const gpuc_tir_for_node *n = t->loops[i];
        gpuc_expr extent = launch_time(t, b, n->extent, "an extent"), at = gpuc_sub(ctx, n->var, n->min);
        slice = slice ? gpuc_add(ctx, gpuc_mul(ctx, slice, extent), at) : at;
        total = gpuc_mul(ctx, total, extent);
    }
    placement out = {
        .buffer = gpuc_lower_buffer_like(ctx, b, b->dtype, total, GPUC_SCOPE_GLOBAL),
        .offset = slice ? gpuc_mul(ctx, slice, size) : NULL,
    };
    gpuc_ptrs_push(ctx, t->workspaces, out.buffer);
    return out;
}

static placement place(placer *t, const gpuc_tir_alloc_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_tir_buffer *b = n->buffer;
    bool threads_inside = false, inside = false;
    gpuc_tir_visit_stmt(ctx, n->body, note_thread_loop, NULL, &threads_inside);
    for (int i = 0; i < t->num_loops; i++) inside = inside || gpuc_is_thread_tag(t->loops[i]->tag);
    if (threads_inside && !inside) {
        gpuc_expr size = constant_size(t, b, b->shape[0], "a size");
        return (placement){.buffer = gpuc_lower_buffer_like(ctx, b, b->dtype, size, GPUC_SCOPE_SHARED)};
    }
    int64_t count, limit = t->p->target->language->work_groups ? LOCAL_BYTES_GPU : LOCAL_BYTES_C;
    if (gpuc_expr_is_int(b->shape[0], &count) && count <= limit / (int64_t)gpuc_dtype_bytes(b->dtype))
        return (placement){.buffer = gpuc_lower_buffer_like(ctx, b, b->dtype, b->shape[0], GPUC_SCOPE_LOCAL)};
    return workspace_slice(t, b);
}

static gpuc_expr moved(placer *t, const placement *at, gpuc_expr index)
{
    if (!at->offset) return index;
    gpuc_expr offset =
        gpuc_tir_broadcast(t->m.ctx, gpuc_cast(t->m.ctx, gpuc_dtype_with_lanes(index->dtype, 1), at->offset),
                           index->dtype.lanes);
    return gpuc_add(t->m.ctx, index, offset);
}

static gpuc_expr place_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    placer *t = (placer *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD) || t->placed.count == 0) return e;
    e = gpuc_tir_map_children(m, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        const placement *at = gpuc_map_get(&t->placed, n->buffer);
        return at ? gpuc_tir_load1(m->ctx, at->buffer, moved(t, at, n->index[0])) : e;
    }
    if (e->kind != GPUC_EXPR_CALL || !gpuc_as_call(e)->buffer) return e;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    const placement *at = gpuc_map_get(&t->placed, n->buffer);
    if (!at) return e;
    gpuc_expr *args = gpuc_ctx_memdup(m->ctx, n->args, (size_t)n->n * sizeof *args);
    if (n->n > 0) args[0] = moved(t, at, args[0]);
    return gpuc_tir_call(m->ctx, e->dtype, n->fn, n->name, at->buffer, n->n, args);
}

static gpuc_stmt place_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    placer *t = (placer *)m;
    if (s->kind == GPUC_STMT_ALLOC) {
        const gpuc_tir_alloc_node *n = gpuc_as_alloc(s);
        if (!gpuc_scope_is_global(n->buffer->scope)) return gpuc_tir_map_stmt_children(m, s);
        placement *at = gpuc_new(m->ctx, placement);
        *at = place(t, n);
        gpuc_map_set(&t->placed, n->buffer, at);
        gpuc_tir_mapper_forget(m);
        gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
        return at->buffer->scope == GPUC_SCOPE_GLOBAL ? body : gpuc_tir_alloc(m->ctx, at->buffer, body);
    }
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, s);
    const gpuc_tir_for_node *n = s->kind == GPUC_STMT_FOR ? gpuc_as_for(s) : NULL;
    bool parallel = n && (n->loop == GPUC_LOOP_PARALLEL || n->loop == GPUC_LOOP_THREAD);
    if (parallel) {
        if (t->num_loops == MAX_LOOPS)
            gpuc_raise(m->ctx, GPUC_UNSUPPORTED, "kernel '%s': more than %d nested parallel loops", t->kernel,
                       MAX_LOOPS);
        t->loops[t->num_loops++] = n;
    }
    s = gpuc_tir_map_stmt_children(m, s);
    t->num_loops -= parallel;
    gpuc_arith_analyzer_rewind(t->a, mark);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *st = gpuc_as_store(s);
    const placement *at = gpuc_map_get(&t->placed, st->buffer);
    return at ? gpuc_tir_store1(m->ctx, at->buffer, moved(t, at, st->index[0]), st->value) : s;
}

gpuc_stmt gpuc_lower_split_storage(gpuc_pass_ctx *p, const gpuc_tir_func *f, const char *kernel,
                                   gpuc_stmt root, gpuc_ptrs *workspaces)
{
    placer t = {
        .p = p, .a = gpuc_lower_analyzer(p->ctx, f), .f = f, .kernel = kernel, .workspaces = workspaces};
    gpuc_tir_mapper_init(&t.m, p->ctx, place_expr, place_stmt);
    gpuc_map_init(&t.placed, p->ctx);
    return gpuc_tir_map_stmt(&t.m, root);
}
