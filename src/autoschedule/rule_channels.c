/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with channels last where a subgroup is a vector of a CPU. Lanes own neighbouring vectors of
 * output channels, so that any extent of the image fills them, and what they write lies together.
 *
 * Dense: a subgroup owns a piece of an image's rows, whose values it loads together, each once, straight from
 * the image (that is, implicit matrix multiplication), and reads across lanes; weights each lane loads for
 * itself. Depthwise: a lane loads the windows of its piece, which overlap, and needs no other lane. In both
 * cases what lies outside of the image is found out while loading. */
#include <string.h>

#include "autoschedule/rules.h"

typedef struct piece {
    int64_t lines, rows; /* along the last two axes of space */
} piece;

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Products with weights that lie in blocks: each of their rows is as a pixel of an image of one line. */
static bool is_product(const gpuc_te_op *op)
{
    return gpuc_rules_tag_of(op->outputs[0]) == GPUC_TAG_MATMUL;
}

static int64_t lines_of(const gpuc_te_op *op)
{
    return op->num_axes > 3 && !is_product(op) ? gpuc_rules_extent(op->axes[op->num_axes - 3]) : 1;
}

static int64_t rows_of(const gpuc_te_op *op)
{
    return gpuc_rules_extent(op->axes[op->num_axes - 2]);
}

/* Chooses the piece of the image with the min cost: a lane's own loads are used by all pixels of a piece,
 * shared loads by one, and pixels beyond the end of the image cost as much as others. */
static piece choose_piece(const gpuc_constants *c, const gpuc_te_op *op)
{
    piece best = {.lines = 1, .rows = 1};
    int64_t lines = lines_of(op), rows = rows_of(op), min = INT64_MAX;
    for (int64_t i = 1; i <= c->channels_lines && i <= lines; i++)
        for (int64_t k = 1; i * k <= c->channels_rows && k <= rows; k++) {
            int64_t cost = ceil_div(lines, i) * ceil_div(rows, k) *
                           (i * k + ceil_div(i * k, c->channels_shared) + c->channels_loads);
            if (cost > min || (cost == min && i > best.lines)) continue;
            best = (piece){.lines = i, .rows = k};
            min = cost;
        }
    return best;
}

static double elements(const gpuc_tensor *t)
{
    double count = 1;
    for (int i = 0; i < gpuc_te_ndim(t); i++) {
        int64_t d = 1;
        if (gpuc_expr_is_int(gpuc_te_shape(t)[i], &d)) count *= (double)d;
    }
    return count;
}

/* Everything but the batch. */
static bool is_static(const gpuc_te_op *op)
{
    return gpuc_rules_product(op->num_axes - 1, op->axes + 1) > 0 &&
           gpuc_rules_product(op->num_reduce, op->reduce) > 0;
}

/* Vectors of channels, of what is read and of what is written. */
static bool is_for_lanes(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    const gpuc_te_op *op = reduction->op;
    int n = gpuc_te_ndim(reduction), lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
    if (n < 3 || gpuc_te_ndim(out) != n || op->num_inputs != 2 ||
        op->num_reduce != (is_product(op) ? 1 : n - 1))
        return false;
    if (!gpuc_dtype_equal(gpuc_te_dtype(reduction), GPUC_FLOAT32) || lanes < 2) return false;
    int64_t channels;
    for (int i = 0; i < 2; i++) {
        const gpuc_tensor *in = op->inputs[i];
        int last = gpuc_te_ndim(in) - 1;
        if (!gpuc_dtype_equal(gpuc_te_dtype(in), GPUC_FLOAT32)) return false;
        if (!gpuc_expr_is_int(gpuc_te_shape(in)[last], &channels) || channels % lanes) return false;
    }
    return is_static(op) && gpuc_rules_extent(out->op->axes[n - 1]) % lanes == 0;
}

/* The output by pieces of the image and vectors of channels: order is [outer..., pieces, vectors, line, row,
 * element]. Returns how many loops are outside of a piece. */
static int split_output(gpuc_stage *st, piece p, int lanes, gpuc_iter **order)
{
    int n = gpuc_stage_num_axes(st), m = 0;
    gpuc_iter *line = NULL, *row, *element;
    for (int i = 0; i < n; i++) {
        order[m] = gpuc_stage_axis(st, i);
        if (i == n - 3 && i > 0) gpuc_stage_split(st, order[m], p.lines, &order[m], &line);
        if (i == n - 2) gpuc_stage_split(st, order[m], p.rows, &order[m], &row);
        if (i == n - 1) gpuc_stage_split(st, order[m], lanes, &order[m], &element);
        m++;
    }
    int outside = m;
    if (line) order[m++] = line;
    order[m++] = row;
    order[m++] = element;
    gpuc_stage_reorder(st, m, order);
    for (int i = outside; i < m - 1; i++) gpuc_stage_unroll(st, order[i]);
    gpuc_stage_vectorize(st, element);
    return outside;
}

/* The copy of weights [..., o, steps...] that a lane holds: vectors of o, which is axis `channels`, for each
 * step. */
static void hold_weights(const gpuc_rules *r, gpuc_tensor *weight, int channels, gpuc_stage *sum,
                         gpuc_stage *parent, gpuc_iter *at)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, gpuc_reindex_read(r->s, weight, "local", sum));
    const char *layout = "";
    gpuc_iter *order[64];
    int n = gpuc_stage_num_axes(st), m = 0;
    gpuc_stage_compute_at(st, parent, at);
    gpuc_stage_round_up(st);
    for (int i = 0; i < n; i++) {
        if (i == channels) continue;
        layout = gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + i);
        order[m++] = gpuc_stage_axis(st, i);
        gpuc_stage_unroll(st, order[m - 1]);
    }
    order[m] = gpuc_stage_axis(st, channels);
    gpuc_stage_reorder(st, n, order);
    gpuc_stage_vectorize(st, order[m]);
    gpuc_stage_transform_layout(st, gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + channels));
}

/* ---- Dense ---- */

/* The lanes load vectors of input channels of a piece in turn. */
static void load_together(const gpuc_rules *r, gpuc_tensor *data, gpuc_stage *sum, gpuc_iter *at, int lanes)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, gpuc_reindex_read(r->s, data, "warp", sum));
    int n = gpuc_stage_num_axes(st);
    gpuc_iter *axes[64], *vector, *turn, *lane;
    for (int i = 0; i < n; i++) axes[i] = gpuc_stage_axis(st, i);
    gpuc_stage_compute_at(st, sum, at);
    gpuc_stage_round_up(st);
    gpuc_stage_split(st, axes[n - 1], lanes, &axes[n - 1], &vector);
    gpuc_stage_split(st, gpuc_rules_fuse(st, n, axes), r->target->thread_warp_size, &turn, &lane);
    gpuc_stage_bind(st, lane, "threadIdx.x");
    gpuc_stage_unroll(st, turn);
    gpuc_stage_vectorize(st, vector);
}

/* Subgroups of a group, each of which costs as much as some loads: all groups are whole. */
static int64_t subgroups_together(const gpuc_rules *r, int64_t pieces, int64_t all)
{
    const gpuc_constants *c = r->constants;
    int64_t n = c->channels_subgroups;
    while (n > 1 && (pieces == 0 || pieces % n || all / n < c->channels_groups)) n--;
    return pieces ? gpuc_rules_divisor_knob(r, "subgroups", n, c->channels_subgroups, pieces) : n;
}

static void dense(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int lanes)
{
    const gpuc_te_op *op = reduction->op;
    const gpuc_constants *c = r->constants;
    gpuc_tensor *data = op->inputs[0], *weight = op->inputs[1];
    int width = (int)r->target->thread_warp_size;
    static const int64_t few[] = {1, 2, 3, 4}, many[] = {4, 6, 7, 8, 10, 12, 13, 14, 15, 16};
    piece p = choose_piece(c, op);
    p.rows = gpuc_rules_knob(r, "rows", p.rows, rows_of(op), sizeof many / sizeof *many, many);
    p.lines = gpuc_rules_knob(r, "lines", p.lines, lines_of(op), sizeof few / sizeof *few, few);
    double pieces = (double)(ceil_div(lines_of(op), p.lines) * ceil_div(rows_of(op), p.rows)),
           groups = (double)ceil_div(gpuc_rules_extent(op->axes[op->num_axes - 1]), width * lanes);
    /* Neighbouring groups share a part of one operand and go through all of the other. */
    double products = is_product(op) ? (double)gpuc_rules_product(op->num_axes - 2, op->axes) : 1;
    bool share_weights = elements(weight) / products > (double)c->channels_cached &&
                         groups * elements(data) < pieces * elements(weight);
    share_weights = gpuc_rules_knob(r, "share_weights", share_weights, 1, 2, (const int64_t[]){0, 1});
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *sum = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *order[72], *group, *lane;
    int outside = split_output(st, p, lanes, order), n = gpuc_stage_num_axes(sum), m = 0;
    gpuc_stage_split(st, order[outside - 1], width, &group, &lane);
    gpuc_iter *space = gpuc_rules_fuse(st, outside - 1, order);
    gpuc_stage_bind(st, group, share_weights ? "blockIdx.y" : "blockIdx.x");
    int64_t all = (int64_t)(pieces * groups * products),
            together = subgroups_together(r, gpuc_rules_extent(space), all);
    if (together > 1) {
        gpuc_iter *neighbour;
        gpuc_stage_split(st, space, together, &space, &neighbour);
        gpuc_stage_reorder(st, 3, (gpuc_iter *[]){space, group, neighbour});
        gpuc_stage_bind(st, neighbour, "threadIdx.y");
    }
    gpuc_stage_bind(st, space, share_weights ? "blockIdx.x" : "blockIdx.y");
    gpuc_stage_bind(st, lane, "threadIdx.x");

    gpuc_stage_compute_at(sum, st, lane);
    gpuc_stage_set_scope(sum, "local");
    gpuc_stage_round_up(sum);
    int num_reduce = gpuc_stage_num_reduce(sum), outer = num_reduce - 1;
    gpuc_iter *steps = gpuc_stage_reduce_axis(sum, outer), *inner, *block, *row;
    int64_t channels = gpuc_rules_extent(steps),
            unrolled = gpuc_rules_divisor_knob(r, "steps", lanes, c->channels_tuned_steps, channels);
    gpuc_stage_split(sum, steps, unrolled, &steps, &inner);
    while (unrolled == channels && outer > 0) { /* few channels: of several elements of a window */
        unrolled *= gpuc_rules_extent(gpuc_stage_reduce_axis(sum, outer - 1));
        if (unrolled > c->channels_steps) break;
        channels = unrolled;
        outer--;
    }
    for (int i = 0; i < outer; i++) order[m++] = gpuc_stage_reduce_axis(sum, i);
    order[m++] = steps;
    int first = m;
    for (int i = 0; i < n - 2; i++) order[m++] = gpuc_stage_axis(sum, i);
    static const int64_t blocks[] = {2, 4, 8, 16};
    int64_t max = gpuc_rules_knob(r, "block", c->channels_block, 16, sizeof blocks / sizeof *blocks, blocks);
    gpuc_stage_split(sum, gpuc_stage_axis(sum, n - 2), ceil_div(p.rows, ceil_div(p.rows, max)), &block, &row);
    order[m++] = block;
    for (int i = outer; i < num_reduce - 1; i++) order[m++] = gpuc_stage_reduce_axis(sum, i);
    order[m++] = inner;
    order[m++] = row;
    order[m++] = gpuc_stage_axis(sum, n - 1);
    gpuc_stage_reorder(sum, m, order);
    for (int i = first; i < m - 1; i++) gpuc_stage_unroll(sum, order[i]);
    gpuc_stage_vectorize(sum, order[m - 1]);
    hold_weights(r, weight, is_product(op) ? n - 2 : 0, sum, sum, steps);
    load_together(r, data, sum, steps, lanes);
}

/* ---- Depthwise ---- */

static void depthwise(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int lanes)
{
    const gpuc_te_op *op = reduction->op;
    const gpuc_constants *c = r->constants;
    gpuc_tensor *data = op->inputs[0], *weight = op->inputs[1];
    static const int64_t few[] = {1, 2, 3, 4, 5, 6, 7, 8};
    piece p = {.lines = lines_of(op) > 1 ? c->channels_own_lines : 1, .rows = c->channels_own_rows};
    if (p.rows > rows_of(op)) p.rows = rows_of(op);
    p.rows = gpuc_rules_knob(r, "rows", p.rows, rows_of(op), sizeof few / sizeof *few, few);
    p.lines = gpuc_rules_knob(r, "lines", p.lines, lines_of(op), 4, few);
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *sum = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *order[72];
    int outside = split_output(st, p, lanes, order), n = gpuc_stage_num_axes(sum),
        num_reduce = gpuc_stage_num_reduce(sum), m = 0, serial = 0;
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, outside, order));
    gpuc_stage_compute_at(sum, st, at);
    gpuc_stage_set_scope(sum, "local");
    gpuc_stage_round_up(sum);
    for (int i = 0; i < num_reduce; i++) order[m++] = gpuc_stage_reduce_axis(sum, i);
    for (int i = 0; i < n; i++) order[m++] = gpuc_stage_axis(sum, i);
    gpuc_stage_reorder(sum, m, order);
    while (serial < num_reduce - 1 &&
           gpuc_rules_product(num_reduce - serial, order + serial) > c->channels_window)
        serial++;
    for (int i = serial; i < m - 1; i++) gpuc_stage_unroll(sum, order[i]);
    gpuc_stage_vectorize(sum, order[m - 1]);
    gpuc_stage *parent = serial ? sum : st;
    if (serial) at = order[serial - 1];
    hold_weights(r, weight, 0, sum, parent, at);
    gpuc_tensor *copy = gpuc_cache_read(r->s, data, "local", 1, &sum);
    gpuc_stage *window = gpuc_schedule_stage(r->s, copy);
    gpuc_stage_compute_at(window, parent, at);
    gpuc_stage_round_up(window);
    for (int i = 0; i < n - 1; i++) gpuc_stage_unroll(window, gpuc_stage_axis(window, i));
    gpuc_stage_vectorize(window, gpuc_stage_axis(window, n - 1));
}

bool gpuc_rules_channels(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_rules_tag tag = gpuc_rules_tag_of(reduction);
    bool is_depthwise = tag == GPUC_TAG_DEPTHWISE;
    if (!is_depthwise && tag != GPUC_TAG_CONV && tag != GPUC_TAG_MATMUL) return false;
    if (!gpuc_rules_channels_last(reduction) || !gpuc_target_keeps_channels_last(r->target)) return false;
    if (!is_for_lanes(r, reduction, out)) return false;
    int lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
    if (is_depthwise)
        depthwise(r, reduction, out, lanes);
    else
        dense(r, reduction, out, lanes);
    return true;
}
