/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules products and convolutions where a subgroup is a vector of a CPU: a load costs as much as several
 * sums, whether all lanes load the same address or each its own. A subgroup computes some rows of the output
 * by one vector of columns per lane. The operand that has rows is loaded by the subgroup together, each of
 * its values once, and read across lanes; of the other operand each lane loads its own columns. */
#include <string.h>

#include "autoschedule/rules.h"

typedef struct warp_tile {
    int row_axis, first_column; /* axes of the output: first_column and those behind are columns */
    int64_t rows;
    int lanes;
    gpuc_tensor *common, *own; /* operands: with rows, with columns */
    bool pack_common, pack_own;
    bool along; /* vectors of the first run along the sum, not along rows */
} warp_tile;

/* The rows of a tile: a compromise between the rows that are computed beyond the last one and the loads of
 * columns. */
static int64_t choose_rows(const gpuc_rules *r, int64_t rows)
{
    static const int64_t sizes[] = {4, 8, 16};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    int64_t best = 0, min = INT64_MAX;
    for (int i = 0; i < SIZES; i++) {
        int64_t cost = (rows + sizes[i] - 1) / sizes[i] * (sizes[i] + r->constants->warp_loads);
        if (cost > min) continue;
        best = sizes[i];
        min = cost;
    }
    return gpuc_rules_knob(r, "rows", best, INT64_MAX, SIZES, sizes);
}

static double elements(const gpuc_tensor *t)
{
    double count = 1;
    for (int i = 0; i < gpuc_te_ndim(t); i++) {
        int64_t d;
        count *= gpuc_expr_is_int(gpuc_te_shape(t)[i], &d) ? (double)d : GPUC_COMMON_symbolic;
    }
    return count;
}

/* Whether neighbouring groups should share a part of the columns and stream through the rows. Each operand is
 * read once per part of the other that is shared, so the order decides how much is read in all. */
static bool streams_rows(const warp_tile *t, int64_t rows, int64_t vectors, int width)
{
    return (double)vectors / width * elements(t->common) < (double)rows / (double)t->rows * elements(t->own);
}

/* 0: only a run knows it. */
static int64_t row_length(const gpuc_tensor *t)
{
    int64_t length = 0;
    gpuc_expr_is_int(gpuc_te_shape(t)[gpuc_te_ndim(t) - 1], &length);
    return length;
}

typedef struct panels {
    int across, along; /* dimensions of an operand: rows or columns, and steps of the sum */
} panels;

static panels find_panels(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_tensor *t, int axis)
{
    return (panels){
        .across = gpuc_rules_dimension_of(r, op, t, op->axes[axis]),
        .along = gpuc_rules_dimension_of(r, op, t, op->reduce[op->num_reduce - 1]),
    };
}

/* Whether an operand needs panels: its rows start at distances that map to few lines of a cache, or do not
 * start at multiples of the vector width. */
static bool wants_panels(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_tensor *t, int axis, int lanes,
                         bool vectors_along, int64_t uses, const char *knob)
{
    const gpuc_constants *c = r->constants;
    static const int64_t choices[] = {0, 1};
    panels p = find_panels(r, op, t, axis);
    int last = gpuc_te_ndim(t) - 1;
    if (!gpuc_rules_is_matmul(op->outputs[0])) return false;
    if (p.across < 0 || p.along < 0 || p.across == p.along) return false;
    if (row_length(t) == 0 || row_length(t) % lanes ||
        !(p.across == last || (vectors_along && p.along == last)))
        return true;
    return gpuc_rules_knob(r, knob, uses >= c->warp_often && row_length(t) * 4 >= c->warp_far, 1, 2, choices);
}

static bool find_operands(const gpuc_rules *r, const gpuc_te_op *op, warp_tile *t)
{
    if (op->num_inputs != 2) return false;
    for (int i = 0; i < 2; i++) {
        gpuc_tensor *in = op->inputs[i];
        if (!gpuc_dtype_equal(gpuc_te_dtype(in), GPUC_FLOAT32)) return false;
        if (gpuc_rules_dimension_of(r, op, in, op->axes[t->row_axis]) >= 0)
            t->common = in;
        else
            t->own = in;
    }
    return t->common && t->own && gpuc_te_ndim(t->own) > 0;
}

/* The steps of a part of a loop that is too long to unroll. If nothing divides the extent, the tail is
 * shorter. */
static int64_t part_of(const gpuc_rules *r, const warp_tile *t, int64_t extent, int64_t left, bool last)
{
    int64_t block = r->constants->warp_block;
    if (extent == 0)
        return t->along && last ? t->lanes : block / 2; /* the end of an open one goes step by step */
    if (t->along && last) return left < block || extent < block ? t->lanes : block;
    for (int64_t i = left < block ? left : block; i >= block / 2; i--)
        if (extent % i == 0) return i;
    return left < block ? 1 : block;
}

/* Iterations of the next loop after which all lanes have the same number of loads. */
static int64_t part_of_iterations(const gpuc_rules *r, const warp_tile *t, int64_t extent, int64_t steps)
{
    const gpuc_constants *c = r->constants;
    int64_t part = 1, vectors = steps * t->rows / t->lanes;
    while (vectors * part % r->target->thread_warp_size && part < c->warp_block) part++;
    return extent % part == 0 && steps * part * t->rows <= c->warp_sums ? part : 1;
}

/* Steps of the sum that are unrolled: whole loops from the last on, and a part of the next one. Returns where
 * the loads are; loops[0 .. *count) are the reduction loops, the first *outer of them not unrolled. */
static void split_steps(const gpuc_rules *r, gpuc_stage *sum, const warp_tile *t, int *outer, int *count,
                        gpuc_iter **loops)
{
    int n = gpuc_stage_num_reduce(sum), first = n;
    int64_t steps = 1;
    int64_t left =
        gpuc_rules_knob(r, "steps", r->constants->warp_steps, INT64_MAX, 4, (const int64_t[]){4, 8, 12, 16});
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_reduce_axis(sum, i);
    while (first > 0) {
        int64_t extent = gpuc_rules_extent(loops[first - 1]);
        bool whole = extent > 0 && extent <= left && !(t->along && first == n && extent % t->lanes);
        if (whole) {
            left /= extent;
            steps *= extent;
            first--;
            continue;
        }
        int64_t part = part_of(r, t, extent, left, first == n);
        if (part == 1) part = part_of_iterations(r, t, extent, steps);
        if (part == 1) break;
        memmove(loops + first + 1, loops + first, sizeof *loops * (size_t)(n - first));
        gpuc_stage_split(sum, loops[first - 1], part, &loops[first - 1], &loops[first]);
        n++;
        break;
    }
    *outer = first;
    *count = n;
}

/* A copy of an operand in panels of as many rows or columns as a tile has, the vectors of each step side by
 * side. */
static gpuc_tensor *pack(const gpuc_rules *r, gpuc_stage *sum, gpuc_tensor *t, int axis, int64_t width,
                         bool vectors_along, int lanes)
{
    panels p = find_panels(r, gpuc_stage_tensor(sum, 0)->op, t, axis);
    gpuc_tensor *copy = gpuc_cache_read(r->s, t, "global", 1, &sum);
    gpuc_stage *st = gpuc_schedule_stage(r->s, copy);
    gpuc_iter *order[68], *vector, *row = gpuc_stage_axis(st, p.across), *step = gpuc_stage_axis(st, p.along);
    int m = gpuc_rules_panels(r, st, p.across, p.along, width, vectors_along ? lanes : 1, order);
    gpuc_stage_round_up(st);
    gpuc_stage_split(st, row, width, &order[m], &row);
    if (vectors_along)
        gpuc_stage_split(st, step, lanes, &step, &vector);
    else
        gpuc_stage_split(st, row, lanes, &row, &vector);
    order[m + 1] = step;
    order[m + 2] = row;
    order[m + 3] = vector;
    gpuc_stage_reorder(st, m + 4, order);
    gpuc_stage_vectorize(st, vector);
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, m + 3, order));
    return copy;
}

/* The lanes load the vectors of a tile in memory order. */
static void load_together(const gpuc_rules *r, gpuc_stage *sum, const warp_tile *t, gpuc_iter *at)
{
    gpuc_tensor *copy = gpuc_cache_read(r->s, t->common, "warp", 1, &sum);
    gpuc_stage *st = gpuc_schedule_stage(r->s, copy);
    int n = gpuc_stage_num_axes(st);
    gpuc_iter *axes[64], *vector, *turn, *lane;
    for (int i = 0; i < n; i++) axes[i] = gpuc_stage_axis(st, i);
    gpuc_stage_compute_at(st, sum, at);
    gpuc_stage_round_up(st);
    gpuc_stage_split(st, axes[n - 1], t->lanes, &axes[n - 1], &vector);
    gpuc_stage_split(st, gpuc_rules_fuse(st, n, axes), r->target->thread_warp_size, &turn, &lane);
    gpuc_stage_bind(st, lane, "threadIdx.x");
    gpuc_stage_unroll(st, turn);
    gpuc_stage_vectorize(st, vector);
}

/* Do vectors of the operand that has rows run along them, or along the last steps of the sum? */
static bool find_vectors(const gpuc_rules *r, const gpuc_te_op *op, warp_tile *t, int64_t rows,
                         int64_t length)
{
    panels p = find_panels(r, op, t->common, t->row_axis);
    int last = gpuc_te_ndim(t->common) - 1;
    t->along = p.along == last;
    if (!t->along && p.across != last) return false;
    t->pack_common = wants_panels(r, op, t->common, t->row_axis, t->lanes, t->along, length, "pack_rows");
    t->pack_own = wants_panels(r, op, t->own, op->num_axes - 1, t->lanes, false, rows, "pack_columns");
    return t->pack_common || (row_length(t->common) > 0 && row_length(t->common) % t->lanes == 0);
}

static int64_t likely(gpuc_iter *axis)
{
    return gpuc_rules_likely_product(1, &axis);
}

/* With padding and sizes known only at run time, each read of a convolution is a long expression, and
 * simplifying its unrolled code takes minutes. */
static bool has_places(const gpuc_te_op *op, bool conv)
{
    int64_t (*product)(int, gpuc_iter *const *) = conv ? gpuc_rules_product : gpuc_rules_likely_product;
    return product(op->num_axes, op->axes) > 0 && product(op->num_reduce, op->reduce) > 0;
}

bool gpuc_rules_warp_tile(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    const gpuc_te_op *op = reduction->op;
    bool conv = gpuc_rules_tag_of(reduction) == GPUC_TAG_CONV && !gpuc_rules_channels_last(reduction),
         matmul = gpuc_rules_is_matmul(reduction);
    int n = gpuc_te_ndim(out), width = (int)r->target->thread_warp_size;
    if (!(conv || matmul) || n < 2 || gpuc_te_ndim(reduction) != n) return false;
    if (!gpuc_target_lanes_are_threads(r->target) || !r->target->subgroup_shuffle) return false;
    warp_tile t = {.lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(out)), .row_axis = conv ? 1 : n - 2};
    t.first_column = t.row_axis + 1;
    if (t.lanes < 2 || !gpuc_dtype_equal(gpuc_te_dtype(reduction), GPUC_FLOAT32)) return false;
    if (!find_operands(r, op, &t)) return false;
    int64_t rows = likely(op->axes[t.row_axis]), length = likely(out->op->axes[n - 1]);
    if (rows < t.lanes || !has_places(op, conv)) return false;
    t.rows = choose_rows(r, rows);
    if (!find_vectors(r, op, &t, rows, length)) return false;
    int64_t groups = (length + t.lanes - 1) / t.lanes;
    for (int i = t.first_column; i < n - 1; i++) groups *= likely(out->op->axes[i]);
    if (groups < width) return false;

    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *sum = gpuc_schedule_stage(r->s, reduction);
    find_operands(r, gpuc_stage_tensor(sum, 0)->op,
                  &t); /* schedules of other stages may have replaced them */
    gpuc_iter *outer[64], *columns[64], *order[72], *row, *lane, *vector, *group;
    int num_outer = 0, num_columns = 0, m = 0;
    for (int i = 0; i < t.row_axis; i++) outer[num_outer++] = gpuc_stage_axis(st, i);
    gpuc_stage_split(st, gpuc_stage_axis(st, t.row_axis), t.rows, &outer[num_outer], &row);
    num_outer++;
    for (int i = t.first_column; i < n; i++) columns[num_columns++] = gpuc_stage_axis(st, i);
    gpuc_stage_split(st, columns[num_columns - 1], t.lanes, &columns[num_columns - 1], &vector);
    memcpy(order, outer, sizeof *outer * (size_t)num_outer);
    memcpy(order + num_outer, columns, sizeof *columns * (size_t)num_columns);
    m = num_outer + num_columns;
    order[m++] = row;
    order[m++] = vector;
    gpuc_stage_reorder(st, m, order);
    gpuc_stage_split(st, gpuc_rules_fuse(st, num_columns, columns), width, &group, &lane);
    bool rows_first = gpuc_rules_knob(r, "rows_first", streams_rows(&t, rows, groups, width), 1, 2,
                                      (const int64_t[]){0, 1});
    gpuc_stage_bind(st, group, rows_first ? "blockIdx.y" : "blockIdx.x");
    gpuc_stage_bind(st, outer[num_outer - 1], rows_first ? "blockIdx.x" : "blockIdx.y");
    if (num_outer > 1) gpuc_stage_bind(st, gpuc_rules_fuse(st, num_outer - 1, outer), "blockIdx.z");
    gpuc_stage_bind(st, lane, "threadIdx.x");
    gpuc_stage_unroll(st, row);
    gpuc_stage_vectorize(st, vector);

    gpuc_stage_compute_at(sum, st, lane);
    gpuc_stage_set_scope(sum, "local");
    gpuc_stage_round_up(sum);
    int steps_at, num_steps;
    gpuc_iter *steps[64], *block;
    split_steps(r, sum, &t, &steps_at, &num_steps, steps);
    m = 0;
    for (int i = 0; i < steps_at; i++) order[m++] = steps[i];
    for (int i = 0; i < n; i++)
        if (i != t.row_axis) order[m++] = gpuc_stage_axis(sum, i);
    vector = order[m - 1];
    int64_t together =
        gpuc_rules_knob(r, "block", r->constants->warp_block, t.rows, 3, (const int64_t[]){4, 8, 16});
    gpuc_stage_split(sum, gpuc_stage_axis(sum, t.row_axis), together, &block, &row);
    order[m - 1] = block;
    for (int i = steps_at; i < num_steps; i++) order[m++] = steps[i];
    order[m++] = row;
    order[m++] = vector;
    gpuc_stage_reorder(sum, m, order);
    for (int i = steps_at; i < m - 1; i++) gpuc_stage_unroll(sum, order[i]);
    gpuc_stage_vectorize(sum, vector);
    if (!steps_at) return true; /* few steps: what loads would serve is little */
    gpuc_tensor *own = t.own;
    if (t.pack_own) own = pack(r, sum, own, n - 1, t.lanes * width, false, t.lanes);
    if (t.pack_common) t.common = pack(r, sum, t.common, t.row_axis, t.rows, t.along, t.lanes);
    if (!gpuc_rules_starts_rows_at_vectors(own, t.lanes)) {
        own = gpuc_cache_read(r->s, own, "global", 1, &sum);
        gpuc_rules_copy_rows(r, gpuc_schedule_stage(r->s, own));
    }
    gpuc_stage_round_up(gpuc_rules_load_to_registers(r, sum, own, sum, order[steps_at - 1], t.lanes));
    load_together(r, sum, &t, order[steps_at - 1]);
    return true;
}
