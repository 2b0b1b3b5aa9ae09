/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules reductions without reuse between outputs. Short reductions: a task or thread computes some
 * outputs. Outputs contiguous in memory: each thread computes vectors of them. Values contiguous: vectors of
 * partial results on a CPU, threads that reduce together on a GPU. Few outputs: the values are split into
 * parts that are reduced first. */
#include "arith/arith.h"
#include "autoschedule/rules.h"

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

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- On a CPU ---- */

typedef struct find_last {
    const gpuc_iter *axis;
    bool found;
} find_last;

/* Whether the index grows by one with var. */
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

/* Whether elements that are neighbours along this axis are neighbours in memory. */
static bool runs_along(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_iter *axis)
{
    find_last f = {.axis = axis};
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(r->ctx, op->bodies[i], check_last, &f);
    return f.found;
}

/* How the values of a reduction lie in memory. */
typedef struct run {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    int n; /* reduce axes */
    gpuc_iter *const *axes;
    gpuc_expr *vars, *coeff;
    bool along;   /* neighbours along the last axis are neighbours in some tensor */
    int together; /* so many of the last axes are one in each tensor, without divisions */
} run;

static gpuc_expr place_in_memory(gpuc_ctx *ctx, const gpuc_tir_read_node *read)
{
    const gpuc_te_view *v = read->tensor->view;
    gpuc_expr at = gpuc_int(ctx, 0);
    for (int d = 0; d < read->n; d++) {
        if (!v) at = gpuc_mul(ctx, at, read->tensor->shape[d]);
        at = gpuc_add(ctx, at, v ? gpuc_mul(ctx, read->index[d], v->strides[d]) : read->index[d]);
    }
    return at;
}

static bool note_run(gpuc_expr e, void *arg)
{
    run *x = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    gpuc_expr rest, at = gpuc_arith_simplify(x->a, place_in_memory(x->ctx, gpuc_as_read(e)));
    if (!gpuc_arith_linear(x->a, at, x->n, x->vars, x->coeff, &rest)) {
        x->together = 1;
        return true;
    }
    x->along |= gpuc_tir_is_const(x->coeff[x->n - 1], 1);
    for (int k = 1; k < x->together; k++) {
        int i = x->n - k;
        gpuc_expr whole = gpuc_mul(x->ctx, x->coeff[i], gpuc_iter_extent(x->axes[i]));
        if (!gpuc_arith_prove_equal(x->a, x->coeff[i - 1], whole)) x->together = k;
    }
    return true;
}

static run run_of(const gpuc_rules *r, const gpuc_te_op *op)
{
    gpuc_ctx *ctx = r->ctx;
    int n = op->num_reduce;
    run x = {.ctx = ctx,
             .a = gpuc_arith_analyzer_create(ctx),
             .n = n,
             .axes = op->reduce,
             .vars = gpuc_new_array(ctx, gpuc_expr, n),
             .coeff = gpuc_new_array(ctx, gpuc_expr, n),
             .together = n};
    gpuc_expr zero = gpuc_int(ctx, 0);
    for (int i = 0; i < op->num_axes; i++)
        gpuc_arith_analyzer_bind(x.a, op->axes[i]->var, zero, gpuc_iter_extent(op->axes[i]));
    for (int i = 0; i < n; i++) {
        x.vars[i] = op->reduce[i]->var;
        gpuc_arith_analyzer_bind(x.a, x.vars[i], zero, gpuc_iter_extent(op->reduce[i]));
    }
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(ctx, op->bodies[i], note_run, &x);
    return x;
}

static int64_t width_of(const gpuc_rules *r, const gpuc_tensor *t, int64_t accumulators)
{
    int lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(t));
    return accumulators * (lanes > 1 ? lanes : r->constants->reduce_scalars);
}

static int64_t ask_accumulators(const gpuc_rules *r)
{
    static const int64_t counts[] = {1, 2, 4, 8, 16};
    return gpuc_rules_knob(r, "accumulators", r->constants->reduce_accumulators, 16,
                           sizeof counts / sizeof *counts, counts);
}

/* A loop of the accumulators in vectors, a few of them unrolled. */
static void vectors(gpuc_stage *st, gpuc_iter *loop, int lanes, int64_t count)
{
    gpuc_iter *outer, *few, *inner;
    if (lanes == 1) return;
    gpuc_stage_split(st, loop, lanes, &outer, &inner);
    gpuc_stage_split(st, outer, count, &outer, &few);
    gpuc_stage_unroll(st, few);
    gpuc_stage_vectorize(st, inner);
}

/* Outputs of one task, invocation or subgroup, side by side: vectors of them, some at a time. */
typedef struct piece {
    int lanes;
    int64_t count, length;
    bool together; /* by the threads of a subgroup */
} piece;

/* The length of a piece: long, so that memory is read in long runs, but short enough for enough tasks (where
 * there are many values, parts of them are tasks too). All pieces of a row have the same length, a multiple
 * of `width`. */
static int64_t cpu_piece(const gpuc_rules *r, const gpuc_te_op *op, int64_t row, int64_t width)
{
    const gpuc_constants *c = r->constants;
    int64_t tasks = c->reduce_piece_tasks + c->reduce_piece_tasks_of_core * r->target->num_cores,
            length = width, rows = gpuc_rules_likely_product(op->num_axes - 1, op->axes),
            values = gpuc_rules_product(op->num_reduce, op->reduce);
    while (length < c->reduce_piece && length < row) {
        int64_t parts = values / ceil_div(c->reduce_task_values, 2 * length);
        if (rows * ceil_div(row, 2 * length) * (parts > 1 ? parts : 1) < tasks) break;
        length *= 2;
    }
    int64_t pieces = ceil_div(row, length);
    return pieces ? ceil_div(ceil_div(row, pieces), width) * width : width;
}

static piece piece_of(const gpuc_rules *r, const gpuc_tensor *reduction)
{
    const gpuc_te_op *op = reduction->op;
    const gpuc_constants *c = r->constants;
    piece p = {.lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction)), .count = 1};
    int64_t row = op->num_axes ? gpuc_rules_extent(op->axes[op->num_axes - 1]) : 1;
    if (r->kind == GPUC_CLASS_GPU) {
        if (row == 0 || row % p.lanes) p.lanes = 1; /* whole vectors need no guards */
        p.length = p.lanes;
        p.together = gpuc_target_lanes_are_threads(r->target) && row >= p.lanes * r->target->thread_warp_size;
        if (!p.together) return p;
        p.length *= r->target->thread_warp_size;
        bool few = gpuc_rules_product(op->num_reduce, op->reduce) < c->reduce_steps;
        int64_t max = few ? c->reduce_few_turns : c->reduce_turns;
        int64_t iterations = ceil_div(row, p.length), threads = ceil_div(iterations, max);
        p.count = ceil_div(iterations, threads);
        p.length *= p.count;
        return p;
    }
    p.count = c->reduce_accumulators;
    p.length = cpu_piece(r, op, row, width_of(r, reduction, p.count));
    return p;
}

/* Knobs for the piece: how many vectors are in flight and stay in the first cache of a CPU is best
 * measured. */
static piece ask_piece(const gpuc_rules *r, piece p)
{
    static const int64_t iterations[] = {1, 2, 4, 8, 16, 32, 64, 128};
    if (r->kind == GPUC_CLASS_GPU) return p;
    p.count = ask_accumulators(r);
    int64_t once = p.count * p.lanes, own = p.length > once ? p.length / once : 1;
    own =
        gpuc_rules_knob(r, "iterations", own, INT64_MAX, sizeof iterations / sizeof *iterations, iterations);
    p.length = own * once;
    return p;
}

/* Splits the reduction into `width` partial results, whose vectors are computed in the parent's loop. The last
 * `fused` of the reduce axes are one loop. */
static void fold(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_stage *parent, gpuc_iter *at, int fused,
                 int64_t width, int64_t accumulators)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[68], *rest, *lane;
    int reduced = reduce_axes(st, loops);
    gpuc_iter *row = gpuc_rules_fuse(st, fused, loops + reduced - fused);
    gpuc_stage_split(st, row, width, &rest, &lane);
    gpuc_stage *part = gpuc_schedule_stage(r->s, gpuc_rfactor(r->s, reduction, lane));
    gpuc_stage_compute_at(part, parent, at);
    gpuc_stage_set_scope(part, "local");
    int n = spatial_axes(part, loops);
    gpuc_iter *first = loops[0];
    for (int i = 1; i < n; i++) loops[i - 1] = loops[i];
    n = n - 1 + reduce_axes(part, loops + n - 1);
    loops[n++] = first;
    gpuc_stage_reorder(part, n, loops);
    vectors(part, first, gpuc_target_lanes(r->target, gpuc_te_dtype(reduction)), accumulators);
}

void gpuc_rules_along_values(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_stage *parent, gpuc_iter *at)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64];
    int n = reduce_axes(st, loops), lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
    const gpuc_te_op *op = reduction->op;
    bool open = n > 0 && !gpuc_rules_product(n, loops);
    int64_t values = open ? gpuc_rules_likely_product(1, loops + n - 1) : gpuc_rules_product(n, loops);
    if (n == 0 || values < 2 * width_of(r, reduction, 1)) return;
    run x = run_of(r, op);
    if (!x.along && !runs_along(r, op, op->reduce[op->num_reduce - 1])) return;
    int64_t accumulators = open ? r->constants->reduce_open_accumulators : ask_accumulators(r),
            width = width_of(r, reduction, accumulators);
    if (values < 2 * width) return;
    /* Fused axes that are not one in memory take divisions, but short ones give no vectors. */
    int fused = open ? 1 : n;
    int64_t side_by_side = open ? 0 : gpuc_rules_product(x.together, loops + n - x.together);
    for (int64_t few = accumulators; few > 0 && fused > x.together; few /= 2) {
        if (side_by_side < 2 * width_of(r, reduction, few)) continue;
        fused = x.together;
        accumulators = few;
        width = width_of(r, reduction, few);
    }
    fold(r, reduction, parent, at, fused, width, accumulators);
    if (lanes > 1)
        fold(r, reduction, parent, at, 1, lanes,
             r->constants->reduce_accumulators); /* the vectors become one */
}

/* Values that are added to a vector of outputs at a time: as many streams of memory are under way. */
static int64_t steps_of(const gpuc_rules *r, int64_t extent)
{
    int64_t streams = r->constants->reduce_streams;
    for (int64_t i = streams; i >= streams / 2 && i > 0; i--)
        if (extent % i == 0) return i;
    return extent > streams ? streams : 1;
}

/* Vectors of outputs: a piece of the last axis at a time. */
static void along_outputs(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, piece p)
{
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *inner = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[72], *row;
    int n = spatial_axes(st, loops);
    gpuc_stage_split(st, loops[n - 1], p.length, &loops[n - 1], &row);
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, n, loops));
    gpuc_stage_compute_at(inner, st, at);
    gpuc_stage_set_scope(inner, "local");
    vectors(st, row, p.lanes, p.count);
    n = spatial_axes(inner, loops);
    gpuc_iter *last = loops[n - 1], *few = NULL, *vector;
    n = n - 1 + reduce_axes(inner, loops + n - 1);
    if (r->constants->reduce_streams > 0 && p.lanes > 1 && n > 0) {
        int64_t steps = steps_of(r, gpuc_rules_extent(loops[n - 1]));
        if (steps > 1) gpuc_stage_split(inner, loops[n - 1], steps, &loops[n - 1], &few);
    }
    if (!few) {
        loops[n++] = last;
        gpuc_stage_reorder(inner, n, loops);
        vectors(inner, last, p.lanes, p.count);
        return;
    }
    gpuc_stage_split(inner, last, p.lanes * p.count, &loops[n], &last);
    gpuc_stage_split(inner, last, p.lanes, &last, &vector);
    loops[n + 1] = few;
    loops[n + 2] = last;
    loops[n + 3] = vector;
    gpuc_stage_reorder(inner, n + 4, loops);
    gpuc_stage_unroll(inner, few);
    gpuc_stage_unroll(inner, last);
    gpuc_stage_vectorize(inner, vector);
}

/* Does each task get vectors of outputs, along which memory runs? */
static bool has_rows_of_outputs(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    const gpuc_te_op *op = reduction->op, *to = out->op;
    if (!op->num_axes || op->num_axes != to->num_axes || !runs_along(r, op, op->axes[op->num_axes - 1]))
        return false;
    bool open = gpuc_iter_extent(op->axes[op->num_axes - 1])->kind != GPUC_EXPR_INT;
    if (open && (r->kind != GPUC_CLASS_GPU || gpuc_target_lanes_are_threads(r->target))) return true;
    return gpuc_rules_extent(op->axes[op->num_axes - 1]) >=
           gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
}

/* That fill a GPU. */
static int64_t all_threads(const gpuc_rules *r)
{
    int64_t threads = r->constants->reduce_threads_of_core * r->target->num_cores;
    return threads > r->constants->reduce_threads ? threads : r->constants->reduce_threads;
}

/* The number of parts that the values are split into so that all cores have work; 1: they have already. */
static int64_t choose_parts(const gpuc_rules *r, const gpuc_tensor *reduction, int64_t outputs,
                            int64_t values, bool columns)
{
    piece p = piece_of(r, reduction);
    const gpuc_constants *c = r->constants;
    int64_t min = c->reduce_task_values, threads = columns ? 1 : gpuc_rules_team(r, reduction).threads,
            tasks = c->reduce_tasks + c->reduce_tasks_of_core * r->target->num_cores;
    if (columns) outputs = ceil_div(outputs, p.length);
    if (columns && r->kind != GPUC_CLASS_GPU) min = ceil_div(min, p.length);
    if (r->kind == GPUC_CLASS_GPU) {
        tasks = all_threads(r) / threads;
        if (gpuc_target_lanes_are_threads(r->target))
            tasks = c->reduce_subgroups * (columns && !p.together ? r->target->thread_warp_size : 1);
        min = c->reduce_steps * threads;
    }
    int64_t parts = values / min;
    if (outputs >= tasks) return 1;
    return outputs > 0 && parts * outputs > tasks ? (tasks + outputs - 1) / outputs : parts;
}

static void reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, bool asks);

/* The same where the number of values is known only at run time: the values of one task; 0: all, since there
 * are enough tasks. */
static int64_t open_part(const gpuc_rules *r, const gpuc_tensor *reduction, int64_t outputs, bool columns)
{
    const gpuc_constants *c = r->constants;
    int64_t threads = columns ? 1 : gpuc_rules_team(r, reduction).threads,
            tasks = c->reduce_tasks + c->reduce_tasks_of_core * r->target->num_cores;
    if (r->kind == GPUC_CLASS_C && r->target->num_cores == 1) return 0;
    if (r->kind == GPUC_CLASS_GPU)
        tasks = gpuc_target_lanes_are_threads(r->target) ? c->reduce_subgroups : all_threads(r) / threads;
    return outputs < tasks ? ceil_div(c->reduce_task_values, columns ? outputs : 1) : 0;
}

static void share_out(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int64_t part)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64], *group, *rest;
    gpuc_iter *all = gpuc_rules_fuse(st, reduce_axes(st, loops), loops);
    gpuc_stage_split(st, all, part, &group, &rest);
    gpuc_tensor *partial = gpuc_rfactor(r->s, reduction, group);
    reduce(r, partial, partial, false);
    reduce(r, reduction, out, false);
}

/* ---- Either ---- */

static void one_by_one(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64], *each = NULL;
    int n = spatial_axes(st, loops);
    /* The index of an output takes divisions by sizes known only at run time: neighbouring outputs share
     * them. */
    if (r->kind != GPUC_CLASS_GPU && n > 1 && !gpuc_rules_product(n, loops))
        gpuc_stage_split(st, loops[n - 1], r->constants->reduce_side_by_side, &loops[n - 1], &each);
    gpuc_iter *loop = gpuc_rules_fuse(st, n, loops);
    if (!loop) return;
    gpuc_iter *at = gpuc_rules_spread(r, st, loop);
    if (each) at = each;
    if (reduction != out) {
        gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
        gpuc_stage_compute_at(inner, st, at);
        gpuc_stage_set_scope(inner, "local");
    }
    if (r->kind != GPUC_CLASS_GPU) gpuc_rules_along_values(r, reduction, st, at);
}

static int64_t ask_parts(const gpuc_rules *r, int64_t own, int64_t values)
{
    static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    int64_t min = r->constants->reduce_tuned_part;
    if (values < min) return own;
    return gpuc_rules_knob(r, "parts", own, values / min, sizeof counts / sizeof *counts, counts);
}

static void reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, bool asks)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64];
    int64_t outputs = gpuc_rules_product(spatial_axes(st, loops), loops),
            values = gpuc_rules_product(reduce_axes(st, loops), loops);
    gpuc_team team = gpuc_rules_team(r, reduction);
    bool columns = has_rows_of_outputs(r, reduction, out);
    int64_t parts = outputs > 0 ? choose_parts(r, reduction, outputs, values, columns) : 1;
    piece p = piece_of(r, reduction);
    if (asks && outputs > 0) parts = ask_parts(r, parts, values);
    const gpuc_constants *c = r->constants;
    int64_t step = columns && c->reduce_streams > 0 ? c->reduce_streams : c->reduce_part,
            part = parts > 1 ? ceil_div(ceil_div(values, parts), step) * step : values;
    bool open = asks && outputs > 0 && values == 0;
    if (open) part = open_part(r, reduction, outputs, columns);
    if (open ? part > 0 : part < values)
        share_out(r, reduction, out, part);
    else if (columns && p.together)
        gpuc_rules_columns_by_lanes(r, reduction, out, p.lanes, p.count);
    else if (columns)
        along_outputs(r, reduction, out, ask_piece(r, p));
    else if (team.threads > 1)
        gpuc_rules_reduce_by_team(r, reduction, out, team);
    else
        one_by_one(r, reduction, out);
}

void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    reduce(r, reduction, out, true);
}
