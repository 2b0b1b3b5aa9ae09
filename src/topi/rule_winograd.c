/* SPDX-License-Identifier: Apache-2.0 */
/* The transformations of Winograd convolutions, on both sides of the products: a tile of a vector of channels
 * is loaded as a whole and stays in registers, or near, while one axis after the other is transformed. With
 * channels first neighbouring tiles are side by side, and each is a task of its own. */
#include <string.h>

#include "topi/rules.h"

static bool is_tagged(const gpuc_tensor *t, const char *tag)
{
    const char *has = gpuc_rules_tag(t);
    size_t n = strlen(tag);
    return !strncmp(has, tag, n) && (!has[n] || !strcmp(has + n, "_nsc"));
}

static bool has_channels_last(const gpuc_tensor *t)
{
    return strstr(gpuc_rules_tag(t), "_nsc") != NULL;
}

gpuc_winograd_part gpuc_rules_winograd_part(const gpuc_te_op *op)
{
    const gpuc_tensor *t = op->outputs[0];
    return is_tagged(t, "winograd_data")   ? GPUC_WINOGRAD_DATA
           : is_tagged(t, "winograd_part") ? GPUC_WINOGRAD_INSIDE
           : is_tagged(t, "winograd")      ? GPUC_WINOGRAD_OUTPUT
                                           : GPUC_WINOGRAD_NONE;
}

/* All of a stage in that loop of parent. */
static void whole_at(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *at, int lanes)
{
    int n = gpuc_stage_num_axes(st);
    gpuc_stage_compute_at(st, parent, at);
    gpuc_stage_set_scope(st, "local");
    if (lanes > 1) gpuc_stage_round_up(st);
    for (int i = 0; i < n - 1; i++) gpuc_stage_unroll(st, gpuc_stage_axis(st, i));
    if (lanes > 1)
        gpuc_stage_vectorize(st, gpuc_stage_axis(st, n - 1));
    else
        gpuc_stage_unroll(st, gpuc_stage_axis(st, n - 1));
}

/* A part that `reader` reads, and what that reads, up to what lies in memory. */
static void chain_at(const gpuc_rules *r, gpuc_tensor *t, gpuc_stage *reader, gpuc_stage *parent,
                     gpuc_iter *at, int lanes)
{
    while (gpuc_rules_winograd_part(t->op) == GPUC_WINOGRAD_INSIDE) {
        reader = gpuc_schedule_stage(r->s, t);
        t = t->op->inputs[0];
        whole_at(reader, parent, at, lanes);
    }
    whole_at(gpuc_schedule_stage(r->s, gpuc_cache_read(r->s, t, "local", 1, &reader)), parent, at, lanes);
}

/* Spreads tiles, and their channels where tiles alone are too few. order: tiles first, then `more` loops.
 * Returns the loop in which one tile of a vector of channels is made. */
static gpuc_iter *spread(const gpuc_rules *r, gpuc_stage *st, int num_tiles, int more, gpuc_iter **order)
{
    enum { TASKS = 16, ITEMS = 64 };
    int64_t wanted = r->kind == GPUC_CLASS_C ? TASKS * r->target->num_cores : ITEMS;
    gpuc_iter *inside = more ? order[num_tiles + more - 1] : NULL;
    bool few = gpuc_rules_likely_product(num_tiles, order) < wanted;
    int all = few || r->kind == GPUC_CLASS_GPU ? num_tiles + more : num_tiles;
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, all, order));
    return all == num_tiles && inside ? inside : at;
}

static int lanes_of(const gpuc_rules *r, const gpuc_tensor *t, const gpuc_iter *channels)
{
    int lanes = has_channels_last(t) ? gpuc_rules_lanes(r, GPUC_FLOAT32) : 1;
    int64_t extent = gpuc_rules_extent(channels);
    while (lanes > 1 && extent < lanes) lanes /= 2;
    return lanes;
}

void gpuc_rules_winograd_data(const gpuc_rules *r, gpuc_tensor *data)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, data);
    int n = gpuc_stage_num_axes(st), rank = n - 2, m = 0;
    bool last = has_channels_last(data);
    gpuc_iter *order[8], *channels = gpuc_stage_axis(st, last ? n - 1 : n - 2),
                         *tiles = gpuc_stage_axis(st, last ? n - 2 : n - 1), *vector = NULL;
    int lanes = lanes_of(r, data, channels);
    if (lanes > 1) gpuc_stage_split(st, channels, lanes, &channels, &vector);
    order[m++] = last ? tiles : channels;
    order[m++] = last ? channels : tiles;
    for (int i = 0; i < rank; i++) order[m++] = gpuc_stage_axis(st, i);
    if (vector) order[m++] = vector;
    gpuc_stage_reorder(st, m, order);
    for (int i = 0; i < rank; i++) gpuc_stage_unroll(st, order[2 + i]);
    if (vector) gpuc_stage_vectorize(st, vector);
    gpuc_iter *at = spread(r, st, 1, 1, order);
    chain_at(r, data->op->inputs[0], st, st, at, lanes);
}

void gpuc_rules_winograd_output(const gpuc_rules *r, gpuc_tensor *result, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_tensor *part = result->op->inputs[0];
    int n = gpuc_stage_num_axes(st), rank = n - 2, m = 0;
    bool last = has_channels_last(result);
    gpuc_iter *order[10], *channels = gpuc_stage_axis(st, last ? n - 1 : 1), *vector = NULL, *places[8];
    int lanes = lanes_of(r, result, channels);
    if (lanes > 1) gpuc_stage_split(st, channels, lanes, &channels, &vector);
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
    for (int i = 0; i < rank; i++) gpuc_stage_unroll(st, places[i]);
    if (vector) gpuc_stage_vectorize(st, vector);
    gpuc_iter *at = spread(r, st, outside - 1, 1, order);
    if (result != out) gpuc_stage_compute_inline(gpuc_schedule_stage(r->s, result));
    chain_at(r, part, st, st, at, lanes);
}
