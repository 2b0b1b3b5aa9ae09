/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the threads of a group into loops, for CPUs, and for default schedules with more threads than a small
 * device has. There is a loop around each stretch between barriers, over vectors where the stretch allows it.
 * Storage that a thread uses across a barrier is extended to all threads, and shared memory becomes an array
 * of the group. The groups of a launch become a parallel loop where the target has none. */
#include "lower/common/util.h"

typedef struct serializer {
    gpuc_ctx *ctx;
    const gpuc_tir_func *f;
    gpuc_expr var[3], extent[3]; /* of threads; NULL: not used */
    int64_t num_threads;
    gpuc_expr flat;    /* number of the thread in its group */
    gpuc_ptrs hoisted; /* arrays of the group */
    gpuc_analyzer *a;
    bool vectors;              /* the target has them */
    int stretches, vectorized; /* how many there are */
} serializer;

static void find_barrier(gpuc_stmt s, void *arg)
{
    if (s->kind != GPUC_STMT_EVAL) return;
    gpuc_expr e = gpuc_as_eval(s)->value;
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER) *(bool *)arg = true;
}

static bool has_barrier(gpuc_ctx *ctx, gpuc_stmt s)
{
    bool found = false;
    if (s) gpuc_tir_visit_stmt(ctx, s, find_barrier, NULL, &found);
    return found;
}

/* ---- Storage --------------------------------------------------------------------------------------------- */

typedef struct mover {
    gpuc_tir_mapper m;
    serializer *t;
    gpuc_map shared;  /* buffer -> array of the group */
    gpuc_map private; /* buffer of a thread that lives across a barrier -> array of all threads */
} mover;

static gpuc_expr thread_slot(mover *v, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = v->m.ctx;
    gpuc_expr size = gpuc_cast(ctx, GPUC_INDEX, b->shape[0]), at = gpuc_mul(ctx, v->t->flat, size);
    at = gpuc_cast(ctx, gpuc_dtype_with_lanes(index->dtype, 1), at);
    return gpuc_add(ctx, gpuc_tir_broadcast(ctx, at, index->dtype.lanes), index);
}

static const gpuc_tir_buffer *moved(mover *v, const gpuc_tir_buffer *b, gpuc_expr *index)
{
    const gpuc_tir_buffer *to = gpuc_map_get(&v->shared, b);
    if (to) return to;
    to = gpuc_map_get(&v->private, b);
    if (to) *index = thread_slot(v, b, *index);
    return to;
}

static gpuc_expr move_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    mover *v = (mover *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        gpuc_expr index = gpuc_as_load(e)->index[0];
        const gpuc_tir_buffer *to = moved(v, gpuc_as_load(e)->buffer, &index);
        return to ? gpuc_tir_load1(m->ctx, to, index) : e;
    }
    if (e->kind != GPUC_EXPR_CALL || !gpuc_as_call(e)->buffer) return e;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    const gpuc_tir_buffer *to = gpuc_map_get(&v->shared, n->buffer);
    return to ? gpuc_tir_call(m->ctx, e->dtype, n->fn, n->name, to, n->n, n->args) : e;
}

static gpuc_stmt move_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    mover *v = (mover *)m;
    gpuc_ctx *ctx = m->ctx;
    if (s->kind == GPUC_STMT_ALLOC) {
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        bool shared = gpuc_lower_is_shared(b);
        if (!shared && !has_barrier(ctx, gpuc_as_alloc(s)->body)) return gpuc_tir_map_stmt_children(m, s);
        gpuc_expr size = gpuc_cast(ctx, GPUC_INDEX, b->shape[0]);
        if (!shared) size = gpuc_mul(ctx, size, gpuc_int(ctx, v->t->num_threads));
        gpuc_tir_buffer *to = gpuc_lower_buffer_like(ctx, b, b->dtype, size, GPUC_SCOPE_LOCAL);
        gpuc_map_set(shared ? &v->shared : &v->private, b, to);
        gpuc_ptrs_push(ctx, &v->t->hoisted, to);
        gpuc_tir_mapper_forget(m);
        return gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body);
    }
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_expr index = n->index[0];
    const gpuc_tir_buffer *to = moved(v, n->buffer, &index);
    return to ? gpuc_tir_store1(ctx, to, index, n->value) : s;
}

/* ---- Loops over threads ---------------------------------------------------------------------------------- */

static gpuc_stmt over_threads(serializer *t, gpuc_stmt s)
{
    gpuc_ctx *ctx = t->ctx;
    t->stretches += s != NULL;
    for (int i = 0; s && i < 3; i++) {
        if (!t->var[i]) continue;
        gpuc_expr var = gpuc_lower_var_like(ctx, t->var[i]);
        s = gpuc_tir_substitute_stmt(ctx, s, 1, &t->var[i], &var);
        bool lanes = i == 0 && t->vectors && gpuc_lower_fits_lanes(ctx, t->a, s, var);
        t->vectorized += lanes;
        s = gpuc_tir_for_(ctx, var, gpuc_imm_int(ctx, var->dtype, 0), t->extent[i],
                          lanes ? GPUC_LOOP_VECTORIZED : GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, s);
    }
    return s;
}

static bool uses_thread(serializer *t, gpuc_expr e)
{
    for (int i = 0; i < 3; i++)
        if (t->var[i] && gpuc_tir_uses_var(t->ctx, e, t->var[i])) return true;
    return false;
}

static gpuc_stmt serialize(serializer *t, gpuc_stmt s);

/* A value that each thread computes once and uses on both sides of a barrier. */
static gpuc_stmt serialize_let(serializer *t, const gpuc_tir_let_node *n)
{
    gpuc_ctx *ctx = t->ctx;
    bool loads = n->value->flags & GPUC_TIR_HAS_LOAD;
    if (!loads && !uses_thread(t, n->value))
        return gpuc_tir_let(ctx, n->var, n->value, serialize(t, n->body));
    if (!loads) return serialize(t, gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &n->value));
    int lanes = n->var->dtype.lanes;
    gpuc_expr size = gpuc_int(ctx, t->num_threads * lanes), at = gpuc_mul(ctx, t->flat, gpuc_int(ctx, lanes));
    gpuc_dtype type = gpuc_dtype_with_lanes(n->var->dtype, 1);
    gpuc_tir_buffer *b =
        gpuc_tir_buffer_make(ctx, gpuc_as_var(n->var)->name, type, 1, &size, GPUC_SCOPE_LOCAL);
    gpuc_ptrs_push(ctx, &t->hoisted, b);
    at = gpuc_tir_ramp(ctx, at, gpuc_int(ctx, 1), lanes);
    gpuc_expr value = gpuc_tir_load1(ctx, b, at);
    gpuc_stmt first = over_threads(t, gpuc_tir_store1(ctx, b, at, n->value));
    return gpuc_tir_seq2(ctx, first,
                         serialize(t, gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &value)));
}

static gpuc_stmt serialize_seq(serializer *t, const gpuc_tir_seq_node *n)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_stmt out = NULL;
    for (int i = 0; i < n->n;) {
        int end = i;
        while (end < n->n && !has_barrier(ctx, n->at[end])) end++;
        if (end > i) out = gpuc_tir_seq2(ctx, out, over_threads(t, gpuc_tir_seq(ctx, end - i, n->at + i)));
        if (end < n->n) out = gpuc_tir_seq2(ctx, out, serialize(t, n->at[end]));
        i = end + 1;
    }
    return out;
}

static gpuc_stmt serialize(serializer *t, gpuc_stmt s)
{
    gpuc_ctx *ctx = t->ctx;
    if (!s) return NULL;
    if (!has_barrier(ctx, s)) return over_threads(t, s);
    switch (s->kind) {
    case GPUC_STMT_SEQ: return serialize_seq(t, gpuc_as_seq(s));
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, serialize(t, n->body));
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        return gpuc_tir_if_(ctx, n->cond, serialize(t, n->then_body), serialize(t, n->else_body));
    }
    case GPUC_STMT_ALLOC:
        return gpuc_tir_alloc(ctx, gpuc_as_alloc(s)->buffer, serialize(t, gpuc_as_alloc(s)->body));
    case GPUC_STMT_LET: return serialize_let(t, gpuc_as_let(s));
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(s);
        return gpuc_tir_attr(ctx, n->key, n->text, n->value, n->reducer, serialize(t, n->body));
    }
    case GPUC_STMT_EVAL: return NULL; /* the barrier */
    case GPUC_STMT_STORE:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

/* ---- Groups ---------------------------------------------------------------------------------------------- */

static gpuc_stmt over_groups(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_stmt s)
{
    const gpuc_tir_thread *blocks[3] = {NULL};
    int n = 0;
    for (int tag = GPUC_BLOCK_X; tag <= GPUC_BLOCK_Z; tag++)
        for (int i = 0; i < f->num_threads; i++)
            if ((int)f->threads[i].tag == tag) blocks[n++] = &f->threads[i];
    if (n == 0 || !s) return s;
    gpuc_expr zero = gpuc_imm_int(ctx, blocks[0]->var->dtype, 0);
    if (n == 1)
        return gpuc_tir_for_(ctx, blocks[0]->var, zero, blocks[0]->extent, GPUC_LOOP_PARALLEL,
                             GPUC_THREAD_NONE, s);
    gpuc_expr group = gpuc_var(ctx, "group", blocks[0]->var->dtype), rest = group, total = NULL;
    for (int i = 0; i < n; i++) {
        gpuc_expr extent = blocks[i]->extent, value = i == n - 1 ? rest : gpuc_floormod_(ctx, rest, extent);
        s = gpuc_tir_substitute_stmt(ctx, s, 1, &blocks[i]->var, &value);
        rest = gpuc_floordiv_(ctx, rest, extent);
        total = total ? gpuc_mul(ctx, total, extent) : extent;
    }
    return gpuc_tir_for_(ctx, group, zero, total, GPUC_LOOP_PARALLEL, GPUC_THREAD_NONE, s);
}

/* Threads are loops now; groups too, unless they stay. */
static void drop_threads(gpuc_ctx *ctx, gpuc_tir_func *f, bool groups)
{
    gpuc_tir_thread *kept = gpuc_new_array(ctx, gpuc_tir_thread, f->num_threads);
    int n = 0;
    for (int i = 0; i < f->num_threads; i++)
        if (groups && gpuc_is_block_tag(f->threads[i].tag)) kept[n++] = f->threads[i];
    f->threads = kept;
    f->num_threads = n;
}

/* Whether a group has more threads than the target allows, and they may become loops. */
static bool yields(const gpuc_target *t, const gpuc_tir_func *f)
{
    const int64_t max[3] = {t->max_threads_x, t->max_threads_y, t->max_threads_z};
    int64_t all = 1, extent;
    bool crowded = false;
    if (!f->yields || f->subgroup_size) return false;
    for (int i = 0; i < f->num_threads; i++) {
        if (!gpuc_is_thread_tag(f->threads[i].tag) || !gpuc_expr_is_int(f->threads[i].extent, &extent))
            continue;
        crowded |= extent > max[f->threads[i].tag - GPUC_THREAD_X];
        all *= extent;
    }
    return crowded || all > t->max_num_threads;
}

/* An upper bound of the iterations: each stretch is a loop over the threads every time it runs. */
static gpuc_expr iterations_of_all(const serializer *t, gpuc_expr iterations)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr times = gpuc_int(ctx, t->num_threads * (t->stretches + 1));
    int64_t known;
    if (gpuc_expr_is_int(iterations, &known) && known > INT64_MAX / (t->num_threads * (t->stretches + 1)) - 1)
        return iterations;
    return gpuc_mul(ctx, gpuc_add(ctx, iterations, gpuc_int(ctx, 1)), times);
}

gpuc_tir_func *gpuc_lower_serialize_threads(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_target *target = p->target;
    bool groups = target->language->work_groups;
    bool cpu = gpuc_target_is_cpu(target);
    if ((groups && !cpu && !yields(target, f)) || f->num_threads == 0) return f;
    serializer t = {.ctx = ctx, .f = f, .num_threads = 1, .flat = gpuc_int(ctx, 0)};
    t.a = gpuc_lower_analyzer(ctx, f);
    t.vectors = target->vector_bits > 0;
    for (int tag = GPUC_THREAD_X; tag <= GPUC_THREAD_Z; tag++)
        for (int i = 0; i < f->num_threads; i++) {
            const gpuc_tir_thread *th = &f->threads[i];
            int64_t extent;
            if ((int)th->tag != tag || !gpuc_expr_is_int(th->extent, &extent)) continue;
            t.var[tag - GPUC_THREAD_X] = th->var;
            t.extent[tag - GPUC_THREAD_X] = th->extent;
            gpuc_expr step = gpuc_int(ctx, t.num_threads);
            t.flat = gpuc_add(ctx, t.flat, gpuc_mul(ctx, gpuc_cast(ctx, GPUC_INDEX, th->var), step));
            t.num_threads *= extent;
        }
    if (groups && t.num_threads == 1) return f;
    mover v = {.t = &t};
    gpuc_tir_mapper_init(&v.m, ctx, move_expr, move_stmt);
    gpuc_map_init(&v.shared, ctx);
    gpuc_map_init(&v.private, ctx);
    gpuc_stmt body = serialize(&t, gpuc_tir_map_stmt(&v.m, f->body));
    if (cpu && groups && t.vectorized < t.stretches) return f;
    for (size_t i = t.hoisted.count; body && i-- > 0;) body = gpuc_tir_alloc(ctx, t.hoisted.at[i], body);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    out->body = groups ? body : over_groups(ctx, f, body);
    drop_threads(ctx, out, groups);
    out = gpuc_lower_limit_iterations(p, out);
    if (f->iterations_as_scheduled)
        out->iterations_as_scheduled = iterations_of_all(&t, f->iterations_as_scheduled);
    return t.vectorized ? gpuc_lower_vectorize(p, out) : out;
}
