/* SPDX-License-Identifier: Apache-2.0 */
/* Copies operands into panels, and cuts columns into blocks that a cache holds. Where an extent is known
 * only at run time the last panel is filled up, so that the sums need no guards and only what is stored
 * has some. */
#include "autoschedule/tile/tile.h"

/* The largest divisor of n up to max. */
static int64_t divisor(int64_t n, int64_t max)
{
    int64_t d = max < n ? max : n;
    while (d > 1 && n % d != 0) d--;
    return d;
}

int gpuc_rules_tile_block_columns(const gpuc_rules *r, gpuc_stage *st, const gpuc_tensor *product,
                                  const gpuc_tile *t, int n, gpuc_iter **loops)
{
    int64_t depth = gpuc_rules_extent(product->op->reduce[0]),
            bytes = (int64_t)gpuc_dtype_bytes(gpuc_te_dtype(product));
    int64_t column = depth * t->vectors * t->lanes * bytes,
            fit = column > 0 ? r->constants->tile_cached / column : 1;
    gpuc_iter *rows = loops[n - 2];
    static const int64_t blocks[] = {1, 2, 4, 8, 16, 32, 64};
    int64_t tiles = gpuc_rules_extent(loops[n - 1]);
    bool open = !tiles; /* a partial block would have guards in all of its tiles */
    fit = gpuc_rules_knob(r, "block", fit > 1 && !open ? divisor(tiles, fit) : 1, open ? 1 : 64,
                          sizeof blocks / sizeof *blocks, blocks);
    gpuc_stage_split(st, loops[n - 1], fit, &loops[n - 2], &loops[n]);
    loops[n - 1] = rows;
    return n + 1;
}

/* A copy of an operand in panels of as many rows or columns as a tile has, in the order in which the tile's
 * sums read them. */
static bool pack(const gpuc_rules *r, gpuc_stage *sum, int operand, int axis, int64_t width)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    gpuc_tensor *t = op->inputs[operand];
    int n = gpuc_te_ndim(t), across = gpuc_rules_dimension_of(r, op, t, op->axes[axis]),
        along = gpuc_rules_dimension_of(r, op, t, op->reduce[0]),
        lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(t));
    if (across < 0 || along < 0 || across == along) return false;
    gpuc_stage *st = gpuc_schedule_stage(r->s, gpuc_cache_read(r->s, t, "global", 1, &sum));
    gpuc_stage_round_up(st);
    gpuc_iter *order[68], *vector = NULL;
    int m = gpuc_rules_panels(r, st, across, along, width, 1, order), outer = m + 1;
    order[m + 1] = gpuc_stage_axis(st, along);
    gpuc_stage_split(st, gpuc_stage_axis(st, across), width, &order[m], &order[m + 2]);
    m += 3;
    if (across == n - 1 && lanes > 1 && width % lanes == 0) {
        gpuc_stage_split(st, order[m - 1], lanes, &order[m - 1], &vector);
        order[m++] = vector;
    }
    gpuc_stage_reorder(st, m, order);
    if (vector) gpuc_stage_vectorize(st, vector);
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, outer, order));
    return true;
}

gpuc_tile_panels gpuc_rules_tile_pack_operands(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile_shape *s,
                                               const gpuc_tile *t)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    const gpuc_constants *c = r->constants;
    int64_t bytes = (int64_t)gpuc_dtype_bytes(gpuc_te_dtype(op->inputs[0])), depth;
    gpuc_tile_panels packed = {false, false};
    if (op->num_inputs != 2 || op->num_reduce != 1) return packed;
    depth = gpuc_rules_likely_product(1, op->reduce);
    static const int64_t choices[] = {0, 1};
    int64_t width = t->vectors * t->lanes;
    bool open_rows = !gpuc_rules_extent(op->axes[op->num_axes - 2]),
         open = s->open || open_rows || !gpuc_rules_extent(op->reduce[0]);
    bool columns = s->rows >= c->tile_often && (open || depth * s->row_length * bytes > c->tile_cached);
    if (gpuc_rules_knob(r, "pack_columns", columns, 1, 2, choices))
        packed.columns = pack(r, sum, 1, op->num_axes - 1, width);
    bool rows = s->row_length >= c->tile_often && (open || depth * s->rows * bytes > c->tile_cached);
    if (gpuc_rules_knob(r, "pack_rows", rows, 1, 2, choices))
        packed.rows = pack(r, sum, 0, op->num_axes - 2, t->rows);
    bool whole = (packed.rows || (!open_rows && s->rows % t->rows == 0)) &&
                 (packed.columns || (!s->open && s->row_length % width == 0));
    if (whole) gpuc_stage_round_up(sum); /* the last panels are whole: filled up */
    return packed;
}
