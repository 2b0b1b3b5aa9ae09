/* SPDX-License-Identifier: Apache-2.0 */
/* The transformations of Winograd convolutions, on both sides of the products: a tile of a vector of channels
 * is loaded as a whole and stays in registers, or near, while one axis after the other is transformed. With
 * channels first neighbouring tiles are side by side, and each is a task of its own. */
#include <string.h>

#include "autoschedule/rules.h"

gpuc_winograd_part gpuc_rules_winograd_part(const gpuc_te_op *op)
{
    switch (gpuc_rules_tag_of(op->outputs[0])) {
    case GPUC_TAG_WINOGRAD_DATA: return GPUC_WINOGRAD_DATA;
    case GPUC_TAG_WINOGRAD_PART: return GPUC_WINOGRAD_INSIDE;
    case GPUC_TAG_WINOGRAD: return GPUC_WINOGRAD_OUTPUT;
    case GPUC_TAG_NONE:
    case GPUC_TAG_CONV:
    case GPUC_TAG_DEPTHWISE:
    case GPUC_TAG_WINDOW:
    case GPUC_TAG_MATMUL:
    case GPUC_TAG_PAD:
    case GPUC_TAG_TABLE:
    case GPUC_TAG_SHARED_TABLE:
    case GPUC_TAG_COUNT: break;
    }
    return GPUC_WINOGRAD_NONE;
}

/* A GPU's registers have no numbers that a program computes: all loops over the places of a tile are
 * unrolled. On a CPU only the last is, over the axis that is transformed: that runs about as fast, and is
 * a fifth of the code to compile. Returns the innermost that stays a loop, or NULL. */
static gpuc_iter *unroll_places(const gpuc_rules *r, gpuc_stage *st, int n, gpuc_iter *const *places)
{
    int first = r->kind == GPUC_CLASS_GPU ? 0 : n - 1;
    for (int i = first; i < n; i++) gpuc_stage_unroll(st, places[i]);
    return first > 0 ? places[first - 1] : NULL;
}

/* What is read of a stage in that loop of parent; its last axis is the vector. */
static void to_registers(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *at, int lanes)
{
    gpuc_iter *last = gpuc_stage_axis(st, gpuc_stage_num_axes(st) - 1);
    gpuc_stage_compute_at(st, parent, at);
    gpuc_stage_set_scope(st, "local");
    if (lanes > 1) {
        gpuc_stage_round_up(st);
        gpuc_stage_vectorize(st, last);
    } else {
        gpuc_stage_unroll(st, last);
    }
}

/* The parts of a transformation from the last, t, down, each of which transforms one dimension. t is made in
 * the loop `inner` of parent, the others as a whole in `at`; what the first takes from memory, which is
 * returned, is read in its own loops. */
static gpuc_tensor *chain_at(const gpuc_rules *r, gpuc_tensor *t, gpuc_stage *parent, gpuc_iter *at,
                             gpuc_iter *inner, int lanes)
{
    gpuc_stage *reader = parent, *loads = parent;
    int dimension = 0;
    if (r->kind != GPUC_CLASS_GPU) gpuc_stage_pragma(parent, at, "auto_unroll_max_step", 0);
    for (gpuc_tensor *u = t; gpuc_rules_winograd_part(u->op) == GPUC_WINOGRAD_INSIDE; u = u->op->inputs[0])
        dimension++;
    gpuc_iter *loop = inner, *load_at = inner;
    for (; dimension > 0; dimension--, t = t->op->inputs[0]) {
        int n = 0;
        gpuc_iter *places[8];
        reader = gpuc_schedule_stage(r->s, t);
        to_registers(reader, parent, loop, lanes);
        for (int i = 0; i < gpuc_stage_num_axes(reader) - 1; i++)
            if (i != dimension) places[n++] = gpuc_stage_axis(reader, i);
        places[n++] = gpuc_stage_axis(reader, dimension);
        gpuc_stage_reorder(reader, n, places);
        gpuc_iter *rolled = unroll_places(r, reader, n, places);
        loads = rolled ? reader : parent;
        load_at = rolled ? rolled : loop;
        loop = at;
    }
    gpuc_stage *copy = gpuc_schedule_stage(r->s, gpuc_cache_read(r->s, t, "local", 1, &reader));
    to_registers(copy, loads, load_at, lanes);
    for (int i = 0; i < gpuc_stage_num_axes(copy) - 1; i++) gpuc_stage_unroll(copy, gpuc_stage_axis(copy, i));
    return t;
}

/* Spreads tiles, and their channels where tiles alone are too few. order: tiles first, then `more` loops.
 * Returns the loop in which one tile of a vector of channels is made. */
static gpuc_iter *spread(const gpuc_rules *r, gpuc_stage *st, int num_tiles, int more, gpuc_iter **order)
{
    const gpuc_constants *c = r->constants;
    int64_t wanted = c->winograd_tasks + c->winograd_tasks_of_core * r->target->num_cores;
    gpuc_iter *inside = more ? order[num_tiles + more - 1] : NULL;
    bool few = gpuc_rules_likely_product(num_tiles, order) < wanted;
    int all = few || r->kind == GPUC_CLASS_GPU ? num_tiles + more : num_tiles;
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, all, order));
    return all == num_tiles && inside ? inside : at;
}

static int lanes_of(const gpuc_rules *r, const gpuc_tensor *t, const gpuc_iter *channels)
{
    int lanes = gpuc_rules_channels_last(t) ? gpuc_target_lanes(r->target, GPUC_FLOAT32) : 1;
    int64_t extent = gpuc_rules_extent(channels);
    while (lanes > 1 && extent < lanes) lanes /= 2;
    return lanes;
}

static gpuc_iter *split_channels(gpuc_stage *st, gpuc_iter **channels, int lanes)
{
    gpuc_iter *vector;
    gpuc_stage_split(st, *channels, lanes, channels, &vector);
    gpuc_stage_overlap(st, vector);
    return vector;
}

void gpuc_rules_winograd_data(const gpuc_rules *r, gpuc_tensor *data)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, data);
    int n = gpuc_stage_num_axes(st), rank = n - 2, m = 0;
    bool last = gpuc_rules_channels_last(data);
    gpuc_iter *order[8], *channels = gpuc_stage_axis(st, last ? n - 1 : n - 2),
                         *tiles = gpuc_stage_axis(st, last ? n - 2 : n - 1), *vector = NULL;
    int lanes = lanes_of(r, data, channels);
    if (lanes > 1) vector = split_channels(st, &channels, lanes);
    order[m++] = last ? tiles : channels;
    order[m++] = last ? channels : tiles;
    for (int i = 0; i < rank; i++) order[m++] = gpuc_stage_axis(st, i);
    if (vector) order[m++] = vector;
    gpuc_stage_reorder(st, m, order);
    unroll_places(r, st, rank, order + 2);
    if (vector) gpuc_stage_vectorize(st, vector);
    gpuc_iter *at = spread(r, st, 1, 1, order);
    chain_at(r, data->op->inputs[0], st, at, at, lanes);
}

void gpuc_rules_winograd_output(const gpuc_rules *r, gpuc_tensor *result, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_tensor *part = result->op->inputs[0];
    int n = gpuc_stage_num_axes(st), rank = n - 2, m = 0;
    bool last = gpuc_rules_channels_last(result);
    gpuc_iter *order[10], *channels = gpuc_stage_axis(st, last ? n - 1 : 1), *vector = NULL, *places[8];
    int lanes = lanes_of(r, result, channels);
    if (lanes > 1) vector = split_channels(st, &channels, lanes);
    order[m++] = gpuc_stage_axis(st, 0);
    if (!last) order[m++] = channels;
    for (int i = 0; i < rank; i++) {
        int64_t tile = gpuc_rules_extent(part->op->axes[1 + i]);
        gpuc_stage_split(st, gpuc_stage_axis(st, (last ? 1 : 2) + i), tile, &order[m++], &places[i]);
    }
    if (last) order[m++] = channels;
    int outside = m;
    for (int i = 0; i < rank; i++) order[m++] = places[i];
    if (vector) order[m++] = vector;
    gpuc_stage_reorder(st, m, order);
    gpuc_iter *inner = unroll_places(r, st, rank, places);
    if (vector) gpuc_stage_vectorize(st, vector);
    gpuc_iter *at = spread(r, st, outside - 1, 1, order);
    if (result != out) gpuc_stage_compute_inline(gpuc_schedule_stage(r->s, result));
    gpuc_tensor *products = chain_at(r, part, st, at, inner ? inner : at, lanes);
    if (lanes > 1) gpuc_stage_align_bounds(gpuc_schedule_stage(r->s, products), n - 1, lanes / 2);
}
