/* SPDX-License-Identifier: Apache-2.0 */
#include "random_schedule.h"

#include <string.h>

#include "random_intrin.h"
#include "schedule/internal.h"

const char *const random_primitive_names[RANDOM_PRIMITIVE_COUNT] = {
    [RANDOM_SPLIT] = "split",
    [RANDOM_SPLIT_NPARTS] = "split_nparts",
    [RANDOM_FUSE] = "fuse",
    [RANDOM_REORDER] = "reorder",
    [RANDOM_TILE] = "tile",
    [RANDOM_BIND] = "bind",
    [RANDOM_UNROLL] = "unroll",
    [RANDOM_VECTORIZE] = "vectorize",
    [RANDOM_PARALLEL] = "parallel",
    [RANDOM_PRAGMA] = "pragma",
    [RANDOM_COMPUTE_AT] = "compute_at",
    [RANDOM_COMPUTE_INLINE] = "compute_inline",
    [RANDOM_COMPUTE_ROOT] = "compute_root",
    [RANDOM_SET_SCOPE] = "set_scope",
    [RANDOM_STORAGE_ALIGN] = "storage_align",
    [RANDOM_TRANSFORM_LAYOUT] = "transform_layout",
    [RANDOM_DOUBLE_BUFFER] = "double_buffer",
    [RANDOM_ROUND_UP] = "round_up",
    [RANDOM_OVERLAP] = "overlap",
    [RANDOM_NON_TEMPORAL] = "non_temporal",
    [RANDOM_CACHE_READ] = "cache_read",
    [RANDOM_REINDEX_READ] = "reindex_read",
    [RANDOM_CACHE_WRITE] = "cache_write",
    [RANDOM_RFACTOR] = "rfactor",
    [RANDOM_TENSORIZE] = "tensorize",
    [RANDOM_TENSORIZE_OWN] = "tensorize_own",
    [RANDOM_ENV_THREADS] = "env_threads",
    [RANDOM_SET_STORE_PREDICATE] = "set_store_predicate",
    [RANDOM_PREFETCH] = "prefetch",
    [RANDOM_ROLLING_BUFFER] = "rolling_buffer",
    [RANDOM_CREATE_GROUP] = "create_group",
};

enum { MAX_LEAVES = 24, MAX_READERS = 8 };

typedef struct maker {
    gpuc_ctx *ctx;
    gpuc_schedule *s;
    uint64_t state;
    random_counts *counts;
    const char *log;
    const bool *left_out;
    int num_calls;
    bool gpu, wild; /* wild: loops are bound and scopes are set anywhere */
    int rounded;    /* how many in a hundred stages are rounded up */
} maker;

static uint64_t next_random(maker *m)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return m->state;
}

static int below(maker *m, int n)
{
    return n > 0 ? (int)((next_random(m) >> 11) % (uint64_t)n) : 0;
}

static bool chance(maker *m, int percent)
{
    return below(m, 100) < percent;
}

/* ---- One primitive, under a trap -------------------------------------------------------------------- */

typedef struct call {
    random_primitive p;
    gpuc_stage *st, *parent;
    gpuc_iter *a, *b;
    gpuc_iter *order[MAX_LEAVES];
    gpuc_stage *readers[MAX_READERS];
    int n;
    int64_t x, y;
    const char *text;
    gpuc_tensor *t;
    gpuc_iter *made[4];
    gpuc_tensor *tensor;
} call;

static void run_call(gpuc_ctx *ctx, void *arg)
{
    call *c = arg;
    gpuc_stage *st = c->st;
    switch (c->p) {
    case RANDOM_SPLIT: gpuc_stage_split(st, c->a, c->x, &c->made[0], &c->made[1]); break;
    case RANDOM_SPLIT_NPARTS: gpuc_stage_split_nparts(st, c->a, c->x, &c->made[0], &c->made[1]); break;
    case RANDOM_FUSE: c->made[0] = gpuc_stage_fuse(st, c->a, c->b); break;
    case RANDOM_REORDER: gpuc_stage_reorder(st, c->n, c->order); break;
    case RANDOM_TILE:
        gpuc_stage_tile(st, c->a, c->b, c->x, c->y, &c->made[0], &c->made[1], &c->made[2], &c->made[3]);
        break;
    case RANDOM_BIND: gpuc_stage_bind(st, c->a, c->text); break;
    case RANDOM_UNROLL: gpuc_stage_unroll(st, c->a); break;
    case RANDOM_VECTORIZE: gpuc_stage_vectorize(st, c->a); break;
    case RANDOM_PARALLEL: gpuc_stage_parallel(st, c->a); break;
    case RANDOM_PRAGMA: gpuc_stage_pragma(st, c->a, c->text, c->x); break;
    case RANDOM_COMPUTE_AT: gpuc_stage_compute_at(st, c->parent, c->a); break;
    case RANDOM_COMPUTE_INLINE: gpuc_stage_compute_inline(st); break;
    case RANDOM_COMPUTE_ROOT: gpuc_stage_compute_root(st); break;
    case RANDOM_SET_SCOPE: gpuc_stage_set_scope(st, c->text); break;
    case RANDOM_STORAGE_ALIGN: gpuc_stage_storage_align(st, c->n, c->x, c->y); break;
    case RANDOM_TRANSFORM_LAYOUT: gpuc_stage_transform_layout(st, c->text); break;
    case RANDOM_ROUND_UP: gpuc_stage_round_up(st); break;
    case RANDOM_OVERLAP: gpuc_stage_overlap(st, c->a); break;
    case RANDOM_NON_TEMPORAL: gpuc_stage_non_temporal(st); break;
    case RANDOM_DOUBLE_BUFFER: gpuc_stage_double_buffer(st); break;
    case RANDOM_CACHE_READ: c->tensor = gpuc_cache_read(st->schedule, c->t, c->text, c->n, c->readers); break;
    case RANDOM_REINDEX_READ:
        c->tensor = gpuc_reindex_read(st->schedule, c->t, c->text, c->readers[0]);
        break;
    case RANDOM_CACHE_WRITE: c->tensor = gpuc_cache_write(st->schedule, c->t, c->text); break;
    case RANDOM_RFACTOR: c->tensor = gpuc_rfactor(st->schedule, c->t, c->a); break;
    case RANDOM_TENSORIZE:
        gpuc_stage_tensorize(st, c->a, gpuc_tensor_intrin_find(st->schedule->ctx, c->text));
        break;
    case RANDOM_TENSORIZE_OWN:
        gpuc_stage_tensorize(st, c->a, random_intrin_make(ctx, st, c->n, (unsigned)c->x));
        break;
    case RANDOM_ENV_THREADS: gpuc_stage_env_threads(st, 1, &c->text, &c->x, c->made); break;
    case RANDOM_SET_STORE_PREDICATE:
        gpuc_stage_set_store_predicate(st, gpuc_eq(ctx, gpuc_iter_var(c->a), gpuc_int(ctx, c->x)));
        break;
    case RANDOM_PREFETCH: gpuc_stage_prefetch(st, c->t, c->a, c->x); break;
    case RANDOM_ROLLING_BUFFER: gpuc_stage_rolling_buffer(st); break;
    case RANDOM_CREATE_GROUP:
        gpuc_stage_group_compute_at(
            gpuc_schedule_create_group(st->schedule, 1, &st->op->outputs[0], 1, &c->t, c->x != 0), c->parent,
            c->a);
        break;
    case RANDOM_PRIMITIVE_COUNT: break;
    }
}

static void log_call(maker *m, const call *c)
{
    const char *line = gpuc_ctx_printf(m->ctx, "%s.%s(", c->st->name, random_primitive_names[c->p]);
    if (c->a) line = gpuc_ctx_printf(m->ctx, "%s%s", line, gpuc_schedule_iter_name(c->a));
    if (c->b) line = gpuc_ctx_printf(m->ctx, "%s, %s", line, gpuc_schedule_iter_name(c->b));
    if (c->p == RANDOM_REORDER)
        for (int i = 0; i < c->n; i++)
            line =
                gpuc_ctx_printf(m->ctx, "%s%s%s", line, i ? ", " : "", gpuc_schedule_iter_name(c->order[i]));
    bool names_readers = c->p == RANDOM_CACHE_READ || c->p == RANDOM_REINDEX_READ;
    for (int i = 0; names_readers && i < c->n; i++)
        line = gpuc_ctx_printf(m->ctx, "%s%s, ", line, c->readers[i]->name);
    if (c->parent) line = gpuc_ctx_printf(m->ctx, "%s of %s", line, c->parent->name);
    if (c->x) line = gpuc_ctx_printf(m->ctx, "%s, %lld, %lld", line, (long long)c->x, (long long)c->y);
    m->log = gpuc_ctx_printf(m->ctx, "%s  %s%s%s)\n", m->log, line, c->text && c->a ? ", " : "",
                             c->text ? c->text : "");
}

static bool apply(maker *m, call *c)
{
    int number = m->num_calls++;
    if (m->left_out && number < RANDOM_MAX_CALLS && m->left_out[number]) return false;
    gpuc_status status = gpuc_ctx_protect(m->ctx, run_call, c);
    if (status) {
        gpuc_status_release(status);
        m->counts->refused[c->p]++;
        return false;
    }
    log_call(m, c);
    m->counts->used[c->p]++;
    return true;
}

/* ---- Choices --------------------------------------------------------------------------------------- */

static gpuc_stage *stage_at(const maker *m, size_t i)
{
    return m->s->stages.at[i];
}

static bool is_computed(const gpuc_stage *st)
{
    return st->op->kind == GPUC_TE_COMPUTE && st->attach != GPUC_ATTACH_INLINE;
}

static gpuc_iter *any_leaf(maker *m, const gpuc_stage *st)
{
    return st->num_leaves > 0 ? st->leaves[below(m, st->num_leaves)] : NULL;
}

static gpuc_iter *any_leaf_of(maker *m, const gpuc_stage *st, gpuc_iter_kind kind)
{
    gpuc_iter *found[MAX_LEAVES];
    int n = 0;
    for (int i = 0; i < st->num_leaves && n < MAX_LEAVES; i++)
        if (st->leaves[i]->kind == kind) found[n++] = st->leaves[i];
    return n ? found[below(m, n)] : NULL;
}

static int any_factor(maker *m)
{
    static const int factors[] = {1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16, 32};
    return factors[below(m, (int)(sizeof factors / sizeof factors[0]))];
}

static int readers_of(const maker *m, const gpuc_stage *st, gpuc_stage **readers)
{
    int n = 0;
    for (size_t i = 0; i < m->s->stages.count; i++)
        if (gpuc_schedule_op_reads(stage_at(m, i)->op, st->op) && n < MAX_READERS)
            readers[n++] = stage_at(m, i);
    return n;
}

/* Is st, or what it is inlined into, computed inside of loop number leaf of parent? */
static bool runs_inside(const maker *m, const gpuc_stage *st, const gpuc_stage *parent, int leaf)
{
    if (st == parent) return true;
    switch (st->attach) {
    case GPUC_ATTACH_ROOT: return false;
    case GPUC_ATTACH_AT:
        if (st->attach_stage == parent) return gpuc_stage_find_leaf(parent, st->attach_iter) >= leaf;
        return runs_inside(m, st->attach_stage, parent, leaf);
    case GPUC_ATTACH_INLINE: {
        gpuc_stage *readers[MAX_READERS];
        int n = readers_of(m, st, readers);
        for (int i = 0; i < n; i++)
            if (!runs_inside(m, readers[i], parent, leaf)) return false;
        return n > 0;
    }
    }
    return false;
}

typedef struct place {
    gpuc_stage *stage;
    int leaf;
} place;

static int places_for(const maker *m, const gpuc_stage *st, place *places, int max)
{
    gpuc_stage *readers[MAX_READERS];
    int n = readers_of(m, st, readers), count = 0;
    for (size_t i = 0; i < m->s->stages.count; i++) {
        gpuc_stage *parent = stage_at(m, i);
        if (parent == st || !is_computed(parent)) continue;
        for (int k = 0; k < parent->num_leaves && count < max; k++) {
            bool all = n > 0;
            for (int r = 0; r < n; r++) all &= runs_inside(m, readers[r], parent, k);
            if (all) places[count++] = (place){parent, k};
        }
    }
    return count;
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static void change_dataflow(maker *m, gpuc_stage *st)
{
    static const char *const cpu_scopes[] = {"global", "local"}, *const gpu_scopes[] = {"shared", "local",
                                                                                        "warp"};
    const char *scope = m->gpu ? gpu_scopes[below(m, 3)] : cpu_scopes[below(m, 2)];
    gpuc_tensor *t = st->op->outputs[below(m, st->op->num_outputs)];
    if (gpuc_schedule_op_is_reduction(st->op) && chance(m, 25)) {
        gpuc_iter *k = any_leaf_of(m, st, GPUC_ITER_REDUCE);
        call split = {.p = RANDOM_SPLIT, .st = st, .a = k, .x = any_factor(m)};
        if (chance(m, 80) && apply(m, &split)) k = split.made[below(m, 2)];
        call c = {.p = RANDOM_RFACTOR, .st = st, .t = t, .a = k};
        apply(m, &c);
    } else if (st->op->kind == GPUC_TE_COMPUTE && chance(m, 25)) {
        call c = {.p = RANDOM_CACHE_WRITE, .st = st, .t = t, .text = scope};
        apply(m, &c);
    }
    if (chance(m, 25)) {
        gpuc_stage *readers[MAX_READERS];
        call c = {.p = RANDOM_CACHE_READ, .st = st, .t = st->op->outputs[0], .text = scope};
        int n = readers_of(m, st, readers);
        for (int i = 0; i < n; i++)
            if (n == 1 || chance(m, 70)) c.readers[c.n++] = readers[i];
        if (c.n == 1 && chance(m, 40)) c.p = RANDOM_REINDEX_READ;
        if (c.n > 0) apply(m, &c);
    }
}

static void change_loops(maker *m, gpuc_stage *st)
{
    gpuc_iter *a = any_leaf(m, st);
    if (!a || st->num_leaves > 7) return;
    int at = gpuc_stage_find_leaf(st, a);
    gpuc_iter *next = at + 1 < st->num_leaves ? st->leaves[at + 1] : NULL;
    int kind = below(m, 10);
    if (kind < 3) {
        call split = {.p = RANDOM_SPLIT, .st = st, .a = a, .x = any_factor(m)};
        if (apply(m, &split) && chance(m, 50))
            apply(m, &(call){.p = RANDOM_OVERLAP, .st = st, .a = split.made[chance(m, 95)]});
    } else if (kind < 5) {
        apply(m, &(call){.p = RANDOM_SPLIT_NPARTS, .st = st, .a = a, .x = any_factor(m)});
    } else if (kind < 7) {
        if (next && next->kind == a->kind) apply(m, &(call){.p = RANDOM_FUSE, .st = st, .a = a, .b = next});
    } else if (kind < 8) {
        if (next)
            apply(m,
                  &(call){
                      .p = RANDOM_TILE, .st = st, .a = a, .b = next, .x = any_factor(m), .y = any_factor(m)});
    } else if (st->num_leaves > 1) {
        call c = {.p = RANDOM_REORDER, .st = st};
        for (int i = 0; i < st->num_leaves; i++)
            if (chance(m, 70)) c.order[c.n++] = st->leaves[i];
        for (int i = c.n - 1; i > 0; i--) {
            int k = below(m, i + 1);
            gpuc_iter *swap = c.order[i];
            c.order[i] = c.order[k];
            c.order[k] = swap;
        }
        if (c.n > 1) apply(m, &c);
    }
}

/* The last part of a sum of small integers, innermost: the intrinsic that computes it, the others are
 * refused. */
static void tensorize(maker *m, gpuc_stage *st)
{
    static const char *const names[] = {"dot_u8i8", "dot_i8", "dot_u8", "dot_i16"};
    gpuc_iter *k = any_leaf_of(m, st, GPUC_ITER_REDUCE);
    bool small = k && st->op->num_inputs == 2 && st->op->inputs[0]->dtype.bits < 32;
    if (!small || !chance(m, 96)) return;
    call split = {.p = RANDOM_SPLIT, .st = st, .a = k, .x = st->op->inputs[0]->dtype.bits == 8 ? 4 : 2};
    if (!apply(m, &split)) return;
    call order = {.p = RANDOM_REORDER, .st = st};
    for (int i = 0; i < st->num_leaves; i++)
        if (st->leaves[i] != split.made[1]) order.order[order.n++] = st->leaves[i];
    order.order[order.n++] = split.made[1];
    apply(m, &order);
    bool done = false;
    for (int i = 0; i < 4 && !done; i++)
        done = apply(m, &(call){.p = RANDOM_TENSORIZE, .st = st, .a = split.made[1], .text = names[i]});
}

static void place_stage(maker *m, gpuc_stage *st)
{
    place places[128];
    int n = places_for(m, st, places, 128);
    if (chance(m, 8)) {
        apply(m, &(call){.p = RANDOM_COMPUTE_ROOT, .st = st});
    } else if (chance(m, 3)) {
        gpuc_stage *parent = stage_at(m, (size_t)below(m, (int)m->s->stages.count));
        gpuc_iter *leaf = any_leaf(m, parent);
        if (leaf) apply(m, &(call){.p = RANDOM_COMPUTE_AT, .st = st, .parent = parent, .a = leaf});
    } else if (n > 0 && chance(m, 75)) {
        place p = places[below(m, n)];
        apply(m, &(call){.p = RANDOM_COMPUTE_AT, .st = st, .parent = p.stage, .a = p.stage->leaves[p.leaf]});
        if (chance(m, 5)) apply(m, &(call){.p = RANDOM_COMPUTE_ROOT, .st = st});
    }
}

/* What is bound around a stage: extents of thread loops, -1 none. */
typedef struct around {
    bool blocks, threads;
    int64_t extent[GPUC_THREAD_TAG_COUNT];
} around;

static void look_around(const gpuc_stage *st, around *out)
{
    *out = (around){0};
    for (const gpuc_stage *at = st; at->attach == GPUC_ATTACH_AT; at = at->attach_stage)
        for (int i = 0; i < at->attach_stage->num_env; i++) {
            const gpuc_iter *env = at->attach_stage->env[i];
            out->threads = true;
            gpuc_expr_is_int(env->extent, &out->extent[gpuc_stage_note(at->attach_stage, env).tag]);
        }
    while (st->attach == GPUC_ATTACH_AT) {
        const gpuc_stage *parent = st->attach_stage;
        int at = gpuc_stage_find_leaf(parent, st->attach_iter);
        for (int i = 0; i <= at; i++) {
            gpuc_loop_note note = gpuc_stage_note(parent, parent->leaves[i]);
            if (note.kind != GPUC_LOOP_THREAD) continue;
            int64_t extent = 1;
            if (!gpuc_expr_is_int(parent->leaves[i]->extent, &extent)) extent = 1;
            out->blocks |= gpuc_is_block_tag(note.tag);
            out->threads |= gpuc_is_thread_tag(note.tag);
            out->extent[note.tag] = extent;
        }
        st = parent;
    }
}

static void bind_thread(maker *m, gpuc_stage *st, gpuc_iter *i, const char *tag, int64_t extent)
{
    call split = {.p = RANDOM_SPLIT, .st = st, .a = i, .x = extent};
    if (apply(m, &split)) apply(m, &(call){.p = RANDOM_BIND, .st = st, .a = split.made[1], .text = tag});
}

/* A kernel's loops: blocks outside, virtual threads and threads inside. */
static void bind_kernel(maker *m, gpuc_stage *st)
{
    static const char *const blocks[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    static const char *const threads[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
    int n = 0;
    gpuc_iter *data[MAX_LEAVES], *order[MAX_LEAVES];
    for (int i = 0; i < st->num_leaves; i++)
        if (st->leaves[i]->kind == GPUC_ITER_DATA) data[n++] = st->leaves[i];
    if (n > 3) n = 3;
    int used = 0, num_inner = 0;
    gpuc_iter *inner[6];
    for (int i = 0; i < n && i < 2 + below(m, 2); i++) {
        static const int sizes[] = {2, 4, 4, 8};
        call c = {.p = RANDOM_SPLIT, .st = st, .a = data[i], .x = sizes[below(m, 4)]};
        if (!apply(m, &c)) continue;
        gpuc_iter *block = c.made[0], *thread = c.made[1];
        if (chance(m, 25)) {
            call v = {.p = RANDOM_SPLIT, .st = st, .a = thread, .x = 2};
            if (apply(m, &v)) {
                apply(m, &(call){.p = RANDOM_BIND, .st = st, .a = v.made[0], .text = "vthread"});
                inner[num_inner++] = v.made[0];
                thread = v.made[1];
            }
        }
        apply(m, &(call){.p = RANDOM_BIND, .st = st, .a = block, .text = blocks[used]});
        apply(m, &(call){.p = RANDOM_BIND, .st = st, .a = thread, .text = threads[used]});
        order[used++] = block;
        inner[num_inner++] = thread;
    }
    for (int i = 0; i < num_inner; i++) order[used + i] = inner[i];
    if (used > 0 && chance(m, 85)) {
        call c = {.p = RANDOM_REORDER, .st = st, .n = used + num_inner};
        for (int i = 0; i < c.n; i++) c.order[i] = order[i];
        if (c.n > 1) apply(m, &c);
    }
    gpuc_iter *k = any_leaf_of(m, st, GPUC_ITER_REDUCE);
    const char *tag = used < 3 ? threads[used] : threads[2];
    if (k && chance(m, 35))
        bind_thread(m, st, k, tag, 4);
    else if (k && chance(m, 25))
        apply(m, &(call){.p = RANDOM_BIND, .st = st, .a = k, .text = tag});
}

/* Threads around serial loops: those that are bound inside share out the work, one of them does the rest. */
static void launch_around(maker *m, gpuc_stage *st)
{
    call c = {.p = RANDOM_ENV_THREADS, .st = st, .text = chance(m, 70) ? "threadIdx.x" : "threadIdx.y"};
    c.x = 1 << (1 + below(m, 2));
    if (!apply(m, &c) || st->has_scope || !chance(m, 60)) return;
    apply(m, &(call){.p = RANDOM_SET_STORE_PREDICATE, .st = st, .a = c.made[0], .x = below(m, (int)c.x)});
}

static void bind_attached(maker *m, gpuc_stage *st)
{
    around a;
    look_around(st, &a);
    if (a.threads && !st->has_scope && chance(m, 50))
        apply(m, &(call){.p = RANDOM_SET_SCOPE,
                         .st = st,
                         .text = chance(m, 50)   ? "shared"
                                 : chance(m, 50) ? "warp"
                                                 : "local"});
    else if (a.blocks && !a.threads && chance(m, 20))
        apply(m, &(call){.p = RANDOM_SET_SCOPE, .st = st, .text = "shared"});
    bool warp = st->has_scope && st->scope == GPUC_SCOPE_WARP;
    bool shared = st->has_scope ? st->scope == GPUC_SCOPE_SHARED : a.blocks && !a.threads;
    if (!(shared || warp) || !(a.blocks || a.threads)) return;
    static const char *const threads[] = {"threadIdx.x", "threadIdx.y"};
    for (int i = 0; i < (warp ? 1 : 2); i++) {
        int64_t extent = a.extent[i ? GPUC_THREAD_Y : GPUC_THREAD_X];
        if (extent == 0) extent = a.threads ? 0 : 4;
        gpuc_iter *leaf = any_leaf_of(m, st, chance(m, 80) ? GPUC_ITER_DATA : GPUC_ITER_REDUCE);
        if (leaf && extent > 0 && chance(m, 60)) bind_thread(m, st, leaf, threads[i], extent);
    }
}

/* The axes in any order, some split by a factor whose part stands anywhere. */
static const char *any_layout(maker *m, int ndim)
{
    const char *parts[2 * MAX_LEAVES], *text = "";
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        parts[n++] = gpuc_ctx_printf(m->ctx, "%c", 'A' + i);
        if (chance(m, 40)) parts[n++] = gpuc_ctx_printf(m->ctx, "%d%c", any_factor(m), 'a' + i);
    }
    for (int i = n - 1; i > 0; i--) {
        int k = below(m, i + 1);
        const char *swap = parts[i];
        parts[i] = parts[k];
        parts[k] = swap;
    }
    for (int i = 0; i < n; i++) text = gpuc_ctx_printf(m->ctx, "%s%s", text, parts[i]);
    return text;
}

static void annotate(maker *m, gpuc_stage *st)
{
    if (st->num_leaves == 0) return;
    gpuc_iter *last = st->leaves[st->num_leaves - 1], *first = st->leaves[0];
    int64_t extent;
    bool small = gpuc_expr_is_int(last->extent, &extent) && extent <= 8;
    if (last->kind == GPUC_ITER_DATA && small && chance(m, 40))
        apply(m, &(call){.p = RANDOM_VECTORIZE, .st = st, .a = last});
    else if (small && chance(m, 30))
        apply(m, &(call){.p = RANDOM_UNROLL, .st = st, .a = last});
    if (!m->gpu && first != last && first->kind == GPUC_ITER_DATA && st->attach == GPUC_ATTACH_ROOT &&
        chance(m, 40))
        apply(m, &(call){.p = RANDOM_PARALLEL, .st = st, .a = first});
    if (chance(m, 15)) {
        call c = {.p = RANDOM_PRAGMA, .st = st, .a = any_leaf(m, st), .text = "auto_unroll_max_step"};
        c.x = 4 << below(m, 3);
        apply(m, &c);
    }
    int ndim = st->op->outputs[0]->ndim;
    if (!st->is_output && ndim > 1 && chance(m, 20)) {
        call c = {.p = RANDOM_STORAGE_ALIGN, .st = st, .n = below(m, ndim - 1), .x = 8};
        c.y = below(m, 2) ? 1 : 0;
        apply(m, &c);
    }
    if (!st->is_output && st->op->kind == GPUC_TE_COMPUTE && ndim > 0 && chance(m, 20))
        apply(m, &(call){.p = RANDOM_TRANSFORM_LAYOUT, .st = st, .text = any_layout(m, ndim)});
    if (!st->is_output && st->attach == GPUC_ATTACH_AT && chance(m, 20))
        apply(m, &(call){.p = RANDOM_DOUBLE_BUFFER, .st = st});
    if (!st->is_output && chance(m, m->rounded)) apply(m, &(call){.p = RANDOM_ROUND_UP, .st = st});
    if (!m->gpu && !st->is_output && !st->has_scope && chance(m, 15))
        apply(m, &(call){.p = RANDOM_SET_SCOPE, .st = st, .text = "global"});
    if (chance(m, 25)) apply(m, &(call){.p = RANDOM_NON_TEMPORAL, .st = st});
}

/* Most of this is refused; what is not must be right. */
static void go_wild(maker *m, gpuc_stage *st)
{
    static const char *const scopes[] = {"local", "shared", "global", "warp"};
    static const char *const tags[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.x", "threadIdx.x",
                                       "threadIdx.y", "threadIdx.x", "vthread"};
    if (!st->is_output && chance(m, 30))
        apply(m, &(call){.p = RANDOM_SET_SCOPE, .st = st, .text = scopes[below(m, m->gpu ? 4 : 2)]});
    gpuc_iter *leaf = any_leaf(m, st);
    if (!leaf || !chance(m, 60)) return;
    if (m->gpu)
        apply(m, &(call){.p = RANDOM_BIND, .st = st, .a = leaf, .text = tags[below(m, 7)]});
    else
        apply(m, &(call){.p = RANDOM_PARALLEL, .st = st, .a = leaf});
}

static void schedule_stage(maker *m, gpuc_stage *st)
{
    if (!st->is_output) {
        if (!gpuc_schedule_op_is_reduction(st->op) && chance(m, 25)) {
            apply(m, &(call){.p = RANDOM_COMPUTE_INLINE, .st = st});
            return;
        }
        place_stage(m, st);
    }
    for (int n = below(m, 4); n > 0; n--) change_loops(m, st);
    if (m->wild) {
        go_wild(m, st);
    } else if (m->gpu) {
        if (st->attach == GPUC_ATTACH_ROOT && chance(m, 12))
            launch_around(m, st);
        else if (st->attach == GPUC_ATTACH_ROOT && chance(m, 85))
            bind_kernel(m, st);
        if (st->attach == GPUC_ATTACH_AT) bind_attached(m, st);
    }
    if (gpuc_schedule_op_is_reduction(st->op)) tensorize(m, st);
    annotate(m, st);
}

/* A stage with what is computed before it, at a place where its readers are. */
static void place_group(maker *m)
{
    gpuc_stage *st = stage_at(m, (size_t)below(m, (int)m->s->stages.count));
    if (st->is_output || !is_computed(st) || st->op->num_inputs == 0) return;
    place places[128];
    int n = places_for(m, st, places, 128);
    if (n == 0) return;
    place p = places[below(m, n)];
    call c = {.p = RANDOM_CREATE_GROUP, .st = st, .parent = p.stage, .a = p.stage->leaves[p.leaf]};
    c.t = st->op->inputs[below(m, st->op->num_inputs)];
    const gpuc_te_op *before = c.t->op;
    if (before->num_inputs > 0 && chance(m, 60)) c.t = before->inputs[below(m, before->num_inputs)];
    c.x = below(m, 2);
    apply(m, &c);
}

static void lower_body(gpuc_ctx *ctx, void *arg)
{
    const random_schedule *r = arg;
    (void)ctx;
    gpuc_schedule_lower(r->schedule, "tried", r->graph.num_args, r->graph.args);
}

static bool is_lowered(gpuc_ctx *ctx, random_schedule *r)
{
    gpuc_status status = gpuc_ctx_protect(ctx, lower_body, r);
    bool ok = !status;
    gpuc_status_release(status);
    return ok;
}

/* Some of the innermost loops, which are few iterations together. */
static void tensorize_own(maker *m, gpuc_stage *st, random_schedule *r)
{
    int at = st->num_leaves, most = 1 + below(m, 4);
    for (int64_t all = 1, extent; at > 0 && st->num_leaves - at < most; at--) {
        if (!gpuc_expr_is_int(st->leaves[at - 1]->extent, &extent) || extent < 1 || all * extent > 256) break;
        if (gpuc_stage_note(st, st->leaves[at - 1]).intrin) return;
        all *= extent;
    }
    if (at == st->num_leaves || !chance(m, 50)) return;
    call c = {.p = RANDOM_TENSORIZE_OWN, .st = st, .a = st->leaves[at], .n = at};
    c.x = below(m, RANDOM_INTRIN_KINDS);
    if (apply(m, &c) && !is_lowered(m->ctx, r)) {
        gpuc_stage_note_make(st, c.a)->intrin = NULL;
        m->counts->used[RANDOM_TENSORIZE_OWN]--;
    }
}

/* Whether these can be lowered depends on the parts that are computed: what is refused is taken back. */
static void try_late(maker *m, gpuc_stage *st, random_schedule *r)
{
    if (!st->is_output && st->attach == GPUC_ATTACH_AT && chance(m, 60)) {
        if (apply(m, &(call){.p = RANDOM_ROLLING_BUFFER, .st = st}) && !is_lowered(m->ctx, r)) {
            st->rolling = false;
            m->counts->used[RANDOM_ROLLING_BUFFER]--;
        }
    }
    tensorize_own(m, st, r);
    gpuc_iter *a = any_leaf(m, st);
    if (!a || st->op->num_inputs == 0 || !chance(m, 20)) return;
    call c = {.p = RANDOM_PREFETCH, .st = st, .a = a, .x = 1 + below(m, 3)};
    c.t = st->op->inputs[below(m, st->op->num_inputs)];
    if (apply(m, &c) && !is_lowered(m->ctx, r)) {
        gpuc_stage_note_make(st, a)->prefetches = NULL;
        m->counts->used[RANDOM_PREFETCH]--;
    }
}

void random_schedule_make(gpuc_ctx *ctx, const expr_case *c, uint64_t seed, random_counts *counts,
                          random_schedule *out)
{
    *out = (random_schedule){.left_out = out->left_out};
    out->name = gpuc_ctx_printf(ctx, "%s#%llu", c->name, (unsigned long long)seed);
    expr_build(c, ctx, &out->graph);
    int inputs = out->graph.num_args - out->graph.num_outputs;
    out->schedule = gpuc_schedule_create(ctx, out->graph.num_outputs, &out->graph.args[inputs]);
    maker m = {.ctx = ctx, .s = out->schedule, .counts = counts, .log = "", .left_out = out->left_out};
    m.state = gpuc_hash_bytes(c->name, strlen(c->name), seed) | 1;
    for (int i = 0; i < 4; i++) next_random(&m);
    m.gpu = chance(&m, 60);
    m.wild = chance(&m, 15);
    m.rounded = chance(&m, 20) ? 90 : 12;

    gpuc_ptrs before = {0};
    for (size_t i = 0; i < m.s->stages.count; i++) gpuc_ptrs_push(ctx, &before, stage_at(&m, i));
    for (size_t i = 0; i < before.count; i++) change_dataflow(&m, before.at[i]);
    if (chance(&m, 15)) place_group(&m);
    for (size_t i = m.s->stages.count; i > 0; i--)
        if (is_computed(stage_at(&m, i - 1))) schedule_stage(&m, stage_at(&m, i - 1));
    /* Loops change once more while stages are computed in them. */
    for (int n = below(&m, 3); n > 0; n--) {
        gpuc_stage *st = stage_at(&m, (size_t)below(&m, (int)m.s->stages.count));
        if (is_computed(st)) change_loops(&m, st);
    }
    if (is_lowered(ctx, out))
        for (size_t i = 0; i < m.s->stages.count; i++)
            if (is_computed(stage_at(&m, i))) try_late(&m, stage_at(&m, i), out);
    out->log = m.log;
    out->num_calls = m.num_calls;
}

void random_schedule_shrink(int num_calls, bool (*fails)(const bool *left_out, void *arg), void *arg,
                            bool *left_out)
{
    if (num_calls > RANDOM_MAX_CALLS) num_calls = RANDOM_MAX_CALLS;
    memset(left_out, 0, sizeof *left_out * RANDOM_MAX_CALLS);
    for (bool more = true; more;) { /* without one call, another may be one too many */
        more = false;
        for (int i = num_calls - 1; i >= 0; i--) {
            if (left_out[i]) continue;
            left_out[i] = true;
            if (fails(left_out, arg))
                more = true;
            else
                left_out[i] = false;
        }
    }
}
