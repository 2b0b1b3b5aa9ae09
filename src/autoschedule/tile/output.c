/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the output: tiles outside, the elements of a tile inside. */
#include <string.h>

#include "autoschedule/tile/tile.h"

typedef struct loops {
    gpuc_iter *outer[65], *inner[4];
    gpuc_iter *rows, *columns; /* of a tile; NULL: none */
    int num_outer, num_inner;
} loops;

static int64_t factor_of(const gpuc_tile_shape *s, const gpuc_tile *t, int axis, int last)
{
    return axis == last           ? t->vectors * t->lanes
           : axis == s->row_axis  ? t->rows
           : axis == s->line_axis ? t->lines
                                  : 0;
}

static void split(gpuc_stage *st, const gpuc_tile_shape *s, const gpuc_tile *t, bool parts, loops *l)
{
    int n = gpuc_stage_num_axes(st);
    for (int i = 0; i < n; i++) {
        gpuc_iter *axis = gpuc_stage_axis(st, i), *outer = axis, *vector;
        int64_t factor = factor_of(s, t, i, n - 1);
        if (factor) gpuc_stage_split(st, axis, factor, &outer, &l->inner[l->num_inner++]);
        l->outer[l->num_outer++] = outer;
        if (factor && i == n - 1)
            l->columns = l->inner[l->num_inner - 1];
        else if (factor && i == s->row_axis)
            l->rows = l->inner[l->num_inner - 1];
        if (i < n - 1 || t->lanes == 1 || parts) continue;
        gpuc_iter **last = &l->inner[l->num_inner - 1];
        if (gpuc_rules_extent(*last) <= t->lanes) continue;
        gpuc_stage_split(st, *last, t->lanes, last, &vector);
        l->inner[l->num_inner++] = vector;
    }
}

/* The weights of some channels serve all rows, or one. */
static void put_columns_first(const gpuc_tile_shape *s, loops *l)
{
    gpuc_iter *columns = l->outer[l->num_outer - 1];
    int at = s->taps || s->product ? l->num_outer - 2 : 1;
    memmove(l->outer + at + 1, l->outer + at, sizeof *l->outer * (size_t)(l->num_outer - 1 - at));
    l->outer[at] = columns;
}

/* The last tiles of a row stay with one task, where there are tasks enough: the tail of a loop is then a
 * small part. */
static bool keeps_rows(const gpuc_rules *r, const gpuc_tile_shape *s, const loops *l)
{
    const gpuc_constants *c = r->constants;
    int64_t tasks = gpuc_rules_likely_product(l->num_outer - 1, l->outer);
    if (s->taps) return r->kind != GPUC_CLASS_GPU && tasks >= c->tile_keep_taps * r->target->num_cores;
    return r->kind == GPUC_CLASS_C && l->num_outer > 1 && tasks >= c->tile_keep_tasks * r->target->num_cores;
}

gpuc_iter *gpuc_rules_tile_output(const gpuc_rules *r, gpuc_stage *st, gpuc_stage *sum,
                                  const gpuc_tile_shape *s, const gpuc_tile *t, bool parts)
{
    loops l = {.num_outer = 0};
    gpuc_iter *order[72];
    gpuc_tile_panels panels = {false, false};
    split(st, s, t, parts, &l);
    if (s->channels_last && r->kind != GPUC_CLASS_GPU) put_columns_first(s, &l);
    if (s->matmul && l.num_outer > 1 && r->kind != GPUC_CLASS_GPU) {
        l.num_outer =
            gpuc_rules_tile_block_columns(r, st, gpuc_stage_tensor(sum, 0), t, l.num_outer, l.outer);
        panels = gpuc_rules_tile_pack_operands(r, sum, s, t);
    }
    bool shifts = gpuc_rules_tile_shifts(r, s), product = s->matmul && r->kind != GPUC_CLASS_GPU;
    if ((shifts || product) && !panels.columns && l.columns)
        gpuc_stage_overlap(st, l.columns); /* element by element the tail takes longer */
    if (shifts && !panels.rows && l.rows) gpuc_stage_overlap(st, l.rows);
    memcpy(order, l.outer, sizeof *order * (size_t)l.num_outer);
    memcpy(order + l.num_outer, l.inner, sizeof *order * (size_t)l.num_inner);
    gpuc_stage_reorder(st, l.num_outer + l.num_inner, order);
    for (int i = 0; i < l.num_inner - 1; i++) gpuc_stage_unroll(st, l.inner[i]);
    if (t->lanes > 1) gpuc_stage_vectorize(st, l.inner[l.num_inner - 1]);
    gpuc_iter *at = l.outer[l.num_outer - 1];
    int spread = keeps_rows(r, s, &l) ? l.num_outer - 1 : l.num_outer;
    gpuc_iter *all = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, spread, l.outer));
    return spread == l.num_outer ? all : at;
}
