/* SPDX-License-Identifier: Apache-2.0 */
/* A reduction without reuse between its outputs. A few values each: one task, work-item or invocation for
 * some of the outputs. Many on a GPU: the threads of a group reduce together; still more for few outputs:
 * groups first. On a CPU: vectors of accumulators, along the outputs or along the values, whichever way
 * memory runs. */
#include "topi/rules.h"

enum {
    LEAST_STEPS = 8,      /* of one thread that reduces with others */
    MANY_STEPS = 2048,    /* of one thread, where groups could share the work */
    MANY_OUTPUTS = 16384, /* that fill a GPU without sharing ... */
    FEW_VALUES = 1024,    /* ... as long as each is quick */
    FEW_OUTPUTS = 64,     /* that leave a GPU idle */
    ACCUMULATORS = 4,     /* vectors of them, on a CPU */
    MOST_PIECE = 1024,    /* outputs of one task there */
    TASK_VALUES = 65536   /* of one task, where tasks share a reduction */
};

static int64_t product(int n, gpuc_iter *const *iters)
{
    int64_t count = 1;
    for (int i = 0; i < n; i++) {
        int64_t extent = gpuc_rules_extent(iters[i]);
        if (extent <= 0 || count > INT64_MAX / extent) return 0;
        count *= extent;
    }
    return count;
}

/* Threads that reduce one output together; 1: it is not worth it, or sizes are unknown. */
static int64_t choose_threads(const gpuc_rules *r, int64_t outputs, int64_t values)
{
    const gpuc_target *t = r->target;
    if (r->kind != GPUC_CLASS_GPU || outputs == 0 || values == 0) return 1;
    if (outputs >= MANY_OUTPUTS && values <= FEW_VALUES) return 1;
    int64_t most = t->max_num_threads < 256 ? t->max_num_threads : 256, threads = 1;
    if (t->max_threads_x < most) most = t->max_threads_x;
    if (t->simd_lanes && t->subgroup) most = t->thread_warp_size; /* barriers cost more than they bring */
    while (threads * 2 <= most && values / (threads * 2) >= LEAST_STEPS) threads *= 2;
    return threads;
}

static int spatial_axes(gpuc_stage *st, gpuc_iter **out)
{
    int n = gpuc_stage_num_axes(st);
    for (int i = 0; i < n; i++) out[i] = gpuc_stage_axis(st, i);
    return n;
}

static int reduce_axes(gpuc_stage *st, gpuc_iter **out)
{
    int n = gpuc_stage_num_reduce(st);
    for (int i = 0; i < n; i++) out[i] = gpuc_stage_reduce_axis(st, i);
    return n;
}

/* Each thread reduces every threads-th value, then all reduce what they have. */
static void share(const gpuc_rules *r, gpuc_tensor *reduction, int64_t threads)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64], *thread, *rest;
    gpuc_iter *all = gpuc_rules_fuse(st, reduce_axes(st, loops), loops);
    gpuc_stage_split(st, all, threads, &rest, &thread);
    gpuc_tensor *own = gpuc_rfactor(r->s, reduction, thread);
    gpuc_iter *together = gpuc_stage_reduce_axis(st, 0);
    gpuc_stage_bind(st, together, "threadIdx.x");
    gpuc_stage *part = gpuc_schedule_stage(r->s, own);
    gpuc_stage_compute_at(part, st, together);
    gpuc_stage_set_scope(part, "local");
}

static void together(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int64_t threads)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64], *block, *lead;
    block = gpuc_rules_fuse(st, spatial_axes(st, loops), loops);
    if (block && reduction != out) { /* one thread goes on with the result */
        gpuc_stage_split(st, block, 1, &block, &lead);
        gpuc_stage_bind(st, lead, "threadIdx.x");
        gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
        gpuc_stage_compute_at(inner, st, block);
        gpuc_stage_set_scope(inner, "shared");
    }
    if (block) gpuc_stage_bind(st, block, "blockIdx.x");
    share(r, reduction, threads);
}

/* ---- On a CPU ---- */

typedef struct find_last {
    const gpuc_iter *axis;
    bool found;
} find_last;

/* One more of var is one more of the index. */
static bool is_step(gpuc_expr index, gpuc_expr var)
{
    if (index == var) return true;
    if (index->kind != GPUC_EXPR_OP || gpuc_as_op(index)->op != GPUC_TIR_ADD) return false;
    return is_step(gpuc_as_op(index)->a[0], var) || is_step(gpuc_as_op(index)->a[1], var);
}

static bool check_last(gpuc_expr e, void *arg)
{
    find_last *f = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    f->found |= read->n > 0 && is_step(read->index[read->n - 1], f->axis->var);
    return true;
}

/* Do neighbours along this axis of the operation read neighbours in memory? */
static bool runs_along(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_iter *axis)
{
    find_last f = {.axis = axis};
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(r->ctx, op->bodies[i], check_last, &f);
    return f.found;
}

static int64_t width_of(const gpuc_rules *r, const gpuc_tensor *t)
{
    int lanes = gpuc_rules_lanes(r, gpuc_te_dtype(t));
    return ACCUMULATORS * (lanes > 1 ? lanes : 4);
}

/* A loop of the accumulators in vectors, a few of them unrolled. */
static void vectors(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *loop)
{
    int lanes = gpuc_rules_lanes(r, gpuc_te_dtype(gpuc_stage_tensor(st, 0)));
    gpuc_iter *outer, *few, *inner;
    if (lanes == 1) return;
    gpuc_stage_split(st, loop, lanes, &outer, &inner);
    gpuc_stage_split(st, outer, ACCUMULATORS, &outer, &few);
    gpuc_stage_unroll(st, few);
    gpuc_stage_vectorize(st, inner);
}

/* Outputs of one task, a few rows of the memory long. */
static int64_t piece_of(const gpuc_rules *r, const gpuc_tensor *reduction)
{
    const gpuc_te_op *op = reduction->op;
    int64_t least = width_of(r, reduction), length = gpuc_rules_extent(op->axes[op->num_axes - 1]);
    int64_t tasks = r->kind == GPUC_CLASS_C ? 2 * r->target->num_cores : 32, piece = least;
    while (piece < MOST_PIECE && piece * 2 * tasks <= length) piece *= 2;
    return piece;
}

/* The values become `width` partial results, vectors of which are computed in the parent's loop. */
static void fold(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_stage *parent, gpuc_iter *at,
                 int64_t width)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[68], *rest, *lane;
    gpuc_iter *all = gpuc_rules_fuse(st, reduce_axes(st, loops), loops);
    gpuc_stage_split(st, all, width, &rest, &lane);
    gpuc_stage *part = gpuc_schedule_stage(r->s, gpuc_rfactor(r->s, reduction, lane));
    gpuc_stage_compute_at(part, parent, at);
    gpuc_stage_set_scope(part, "local");
    int n = spatial_axes(part, loops);
    gpuc_iter *first = loops[0];
    for (int i = 1; i < n; i++) loops[i - 1] = loops[i];
    n = n - 1 + reduce_axes(part, loops + n - 1);
    loops[n++] = first;
    gpuc_stage_reorder(part, n, loops);
    vectors(r, part, first);
}

void gpuc_rules_along_values(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_stage *parent, gpuc_iter *at)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64];
    int n = reduce_axes(st, loops), lanes = gpuc_rules_lanes(r, gpuc_te_dtype(reduction));
    const gpuc_te_op *op = reduction->op;
    int64_t width = width_of(r, reduction);
    if (n == 0 || product(n, loops) < 2 * width || !runs_along(r, op, op->reduce[op->num_reduce - 1])) return;
    fold(r, reduction, parent, at, width);
    if (lanes > 1) fold(r, reduction, parent, at, lanes); /* the vectors become one */
}

/* Vectors of outputs: a piece of the last axis at a time. */
static void along_outputs(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *inner = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[68], *piece, *row;
    int n = spatial_axes(st, loops);
    gpuc_stage_split(st, loops[n - 1], piece_of(r, reduction), &piece, &row);
    loops[n - 1] = piece;
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, n, loops));
    gpuc_stage_compute_at(inner, st, at);
    gpuc_stage_set_scope(inner, "local");
    vectors(r, st, row);
    n = spatial_axes(inner, loops);
    gpuc_iter *last = loops[n - 1];
    n = n - 1 + reduce_axes(inner, loops + n - 1);
    loops[n++] = last;
    gpuc_stage_reorder(inner, n, loops);
    vectors(r, inner, last);
}

/* Does each task get vectors of outputs, along which memory runs? */
static bool has_rows_of_outputs(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    const gpuc_te_op *op = reduction->op, *to = out->op;
    if (!op->num_axes || op->num_axes != to->num_axes || !runs_along(r, op, op->axes[op->num_axes - 1]))
        return false;
    return gpuc_rules_extent(op->axes[op->num_axes - 1]) >= gpuc_rules_lanes(r, gpuc_te_dtype(reduction));
}

/* In how many parts tasks share each reduction; 1: there are tasks enough. */
static int64_t choose_parts(const gpuc_rules *r, int64_t outputs, int64_t values)
{
    int64_t tasks = r->kind == GPUC_CLASS_C ? 4 * r->target->num_cores : 64, parts = values / TASK_VALUES;
    if (r->kind == GPUC_CLASS_GPU || outputs == 0 || outputs >= tasks) return 1;
    return parts * outputs > tasks ? (tasks + outputs - 1) / outputs : parts;
}

static void share_out(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int64_t parts,
                      int64_t values)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64], *group, *rest;
    gpuc_iter *all = gpuc_rules_fuse(st, reduce_axes(st, loops), loops);
    gpuc_stage_split(st, all, (values + parts - 1) / parts, &group, &rest);
    gpuc_tensor *partial = gpuc_rfactor(r->s, reduction, group);
    gpuc_rules_reduce(r, partial, partial);
    gpuc_rules_reduce(r, reduction, out);
}

/* ---- Either ---- */

static void one_by_one(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64];
    gpuc_iter *loop = gpuc_rules_fuse(st, spatial_axes(st, loops), loops);
    if (!loop) return;
    gpuc_iter *at = gpuc_rules_spread(r, st, loop);
    if (reduction != out) {
        gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
        gpuc_stage_compute_at(inner, st, at);
        gpuc_stage_set_scope(inner, "local");
    }
    if (r->kind != GPUC_CLASS_GPU) gpuc_rules_along_values(r, reduction, st, at);
}

void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64];
    int64_t outputs = product(spatial_axes(st, loops), loops),
            values = product(reduce_axes(st, loops), loops);
    int64_t threads = choose_threads(r, outputs, values);
    bool rows = r->kind != GPUC_CLASS_GPU && has_rows_of_outputs(r, reduction, out);
    int64_t parts = choose_parts(r, rows ? outputs / piece_of(r, reduction) + 1 : outputs, values);
    if (threads > 1 && outputs <= FEW_OUTPUTS && values / threads > MANY_STEPS)
        parts = (values / threads + MANY_STEPS - 1) / MANY_STEPS;
    if (parts > 1)
        share_out(r, reduction, out, parts, values);
    else if (threads > 1)
        together(r, reduction, out, threads);
    else if (rows)
        along_outputs(r, reduction, out);
    else
        one_by_one(r, reduction, out);
}
