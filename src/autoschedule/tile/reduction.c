/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the reduction, with the tile inside. */
#include <string.h>

#include "autoschedule/tile/tile.h"

/* Sums along a window are unrolled and share what is loaded into registers, in parts where it is long. Gives the loop in
 * which that is loaded, and in tap the one along the window. */
static gpuc_iter *share_window(const gpuc_rules *r, gpuc_stage *sum, int lanes, gpuc_iter **tap)
{
    int n = gpuc_stage_num_reduce(sum);
    gpuc_iter *last = *tap = gpuc_stage_reduce_axis(sum, n - 1);
    int64_t extent = gpuc_rules_extent(last), max = r->constants->tile_shared_window;
    if (n < 2 || extent < 2) return last;
    if (extent <= max) {
        gpuc_stage_unroll(sum, last);
        return gpuc_stage_reduce_axis(sum, n - 2);
    }
    int64_t parts = gpuc_tile_ceil_div(extent, max), each = gpuc_tile_ceil_div(extent, parts);
    gpuc_stage_split(sum, last, gpuc_tile_ceil_div(each, lanes) * lanes, &last, tap);
    gpuc_stage_unroll(sum, *tap);
    return last;
}

static void window_operands(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile_shape *s,
                            const gpuc_tile *t)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    gpuc_tensor *data = op->inputs[0], *weight = op->num_inputs > 1 ? op->inputs[1] : NULL;
    if (!gpuc_rules_starts_rows_at_vectors(data, t->lanes)) {
        data = gpuc_cache_read(r->s, data, "global", 1, &sum);
        gpuc_rules_copy_rows(r, gpuc_schedule_stage(r->s, data));
    }
    gpuc_iter *tap, *at = share_window(r, sum, t->lanes, &tap);
    if (s->pads)
        gpuc_rules_compute_in_registers(gpuc_schedule_stage(r->s, data), sum, at, t->lanes);
    else
        gpuc_rules_load_to_registers(r, sum, data, sum, at, t->lanes);
    if (weight && t->rows % t->lanes == 0) gpuc_rules_load_to_registers(r, sum, weight, sum, tap, t->lanes);
}

/* Vectors of both operands run along memory: those of one along the reduction, which goes in steps of a
 * vector. */
static void matmul_operands(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile *t)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    int last = op->num_reduce - 1;
    gpuc_iter *k = gpuc_stage_reduce_axis(sum, last), *outer, *inner;
    gpuc_tensor *operands[] = {op->inputs[0], op->inputs[1]};
    bool along[2];
    if (gpuc_rules_extent(k) % t->lanes || gpuc_rules_extent(k) == 0) return;
    for (int i = 0; i < 2; i++)
        along[i] =
            gpuc_rules_dimension_of(r, op, operands[i], op->reduce[last]) == gpuc_te_ndim(operands[i]) - 1;
    gpuc_stage_split(sum, k, t->lanes, &outer, &inner);
    gpuc_stage_unroll(sum, inner);
    for (int i = 0; i < 2; i++)
        gpuc_rules_load_to_registers(r, sum, operands[i], sum, along[i] ? outer : inner, t->lanes);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Unrolls some steps of the last of m reduction loops; code and compile time grow with them. Returns the new
 * number of loops. */
static int unroll(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile *t, int m, gpuc_iter **loops)
{
    const gpuc_constants *c = r->constants;
    if (m == 0 || gpuc_rules_extent(loops[m - 1]) < 2) return m;
    int64_t max = smaller(c->tile_unroll, c->tile_unrolled_sums / (t->rows * t->lines * t->vectors)),
            steps = gpuc_rules_divisor_knob(r, "unroll", 1, max, gpuc_rules_extent(loops[m - 1]));
    if (steps == 1) return m;
    gpuc_stage_split(sum, loops[m - 1], steps, &loops[m - 1], &loops[m]);
    gpuc_stage_unroll(sum, loops[m]);
    return m + 1;
}

/* Neighbours in the tile share what is loaded for their windows, along each axis that is unrolled. Where
 * whole windows are too much code, other axes become loops outside of the one with most neighbours. loops is
 * of space, then channels. Returns how many of the loops stay loops. */
static int order_window(const gpuc_rules *r, const gpuc_tile *t, int n, gpuc_iter **loops)
{
    int64_t taps = t->rows * t->lines * t->vectors;
    int shared = t->lines > t->rows && n > 2 ? n - 3 : n - 2, outside = 0;
    for (int i = 0; i < n; i++) taps *= gpuc_rules_extent(loops[i]);
    for (int i = 0; i < n - 1 && taps > r->constants->tile_taps; i++) {
        gpuc_iter *loop = loops[i];
        if (i == shared) continue;
        taps /= gpuc_rules_extent(loop);
        memmove(loops + outside + 1, loops + outside, sizeof *loops * (size_t)(i - outside));
        loops[outside++] = loop;
    }
    return outside;
}

/* The lines of a window's column become the innermost loop, next to the lines of the tile, which share the data. */
static void unroll_column(gpuc_stage *sum, int m, gpuc_iter **loops)
{
    gpuc_iter *lines = loops[m - 2];
    loops[m - 2] = loops[m - 1];
    loops[m - 1] = lines;
    gpuc_stage_unroll(sum, lines);
}

/* The loops of a tile: its axes, and the vectors along the last one (NULL: none). */
static int tile_loops(gpuc_stage *sum, const gpuc_tile *t, bool parts, gpuc_iter **loops, gpuc_iter **vector)
{
    int n = gpuc_stage_num_axes(sum), count = n;
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_axis(sum, i);
    *vector = parts ? loops[n - 1] : NULL;
    if (parts || t->lanes == 1) return count;
    gpuc_stage_split(sum, loops[n - 1], t->lanes, &loops[n - 1], vector);
    loops[count++] = *vector;
    return count;
}

void gpuc_rules_tile_reduction(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile_shape *s,
                               const gpuc_tile *t, bool parts)
{
    gpuc_iter *order[72], *tile[65], *vector, *dot_loop = NULL;
    const gpuc_tensor_intrin *dot = NULL;
    int m = 0, n = gpuc_stage_num_axes(sum), num_reduce = gpuc_stage_num_reduce(sum);
    for (int i = 0; i < num_reduce; i++) order[m++] = gpuc_stage_reduce_axis(sum, i);
    int outside = s->taps ? order_window(r, t, m, order) : 0;
    bool column = gpuc_rules_tile_shares_lines(r, s, t);
    if (column) unroll_column(sum, m, order);
    if (m > 0 && !column) dot = gpuc_rules_dot(r, sum, &order[m - 1], &dot_loop);
    bool loads = !dot && r->target->texel && t->lanes > 1; /* elsewhere caches serve loads of any alignment */
    if (!loads && !column) m = unroll(r, sum, t, m, order);
    int count = tile_loops(sum, t, parts, tile, &vector);
    memcpy(order + m, tile, sizeof *order * (size_t)count);
    if (dot) order[m + count] = dot_loop;
    gpuc_stage_reorder(sum, m + count + (dot != NULL), order);
    if (dot) gpuc_stage_tensorize(sum, dot_loop, dot);
    for (int i = 0; i < n; i++)
        if (tile[i] != vector) gpuc_stage_unroll(sum, tile[i]);
    for (int i = outside; i < num_reduce && s->taps; i++)
        if (gpuc_rules_extent(order[i]) <= r->constants->tile_window) gpuc_stage_unroll(sum, order[i]);
    if (vector) gpuc_stage_vectorize(sum, vector);
    if (!loads && s->pads)
        gpuc_stage_compute_inline(gpuc_schedule_stage(r->s, gpuc_stage_tensor(sum, 0)->op->inputs[0]));
    if (!loads) return;
    if (s->conv || s->depthwise) window_operands(r, sum, s, t);
    if (s->matmul || s->channels_last) matmul_operands(r, sum, t);
}
