/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a tile: that of the least cost. */
#include "autoschedule/tile/tile.h"

/* Besides the sums, compilers for CPUs keep the vectors of one operand and a value of the other of a step in
 * registers. What exceeds the registers spills in each step. */
static bool fits_registers(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    int64_t sums = t->rows * t->lines * t->vectors, registers = r->target->vector_registers;
    if (r->kind == GPUC_CLASS_GPU || s->taps) return sums <= r->constants->tile_sums;
    if (gpuc_rules_tile_shares_lines(r, s, t)) return 2 * sums + 1 <= registers;
    return sums + t->vectors + 1 <= registers &&
           (double)sums <= (double)registers * r->constants->tile_register_share;
}

bool gpuc_rules_tile_shares_lines(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    return t->lines > 1 && s->window &&
           t->rows * t->lines * t->vectors * s->window <= r->constants->tile_shared_taps;
}

/* Of one step of the reduction of one tile, in multiply-adds of a vector. On a GPU the cost of a load hardly
 * depends on its size, so values of other rows are loaded as vectors. */
static double step_cost(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    const gpuc_constants *c = r->constants;
    bool shares = gpuc_rules_tile_shares_lines(r, s, t);
    double sums = (double)(t->rows * t->lines * t->vectors),
           lines = (shares ? (double)(t->lines + s->window - 1) / (double)s->window : (double)t->lines) *
                   (double)t->vectors,
           values = (double)gpuc_tile_ceil_div(t->rows, c->tile_values),
           loads = s->line_vectors || r->kind == GPUC_CLASS_GPU
                       ? lines + values
                       : (s->stream ? c->tile_streamed : 1) * (double)t->vectors + values * (double)t->lines;
    return (sums > c->tile_chains ? sums : c->tile_chains) + c->tile_load * loads;
}

/* Shorter vectors do less at a time. */
static double lanes_factor(const gpuc_rules *r, int lanes)
{
    const gpuc_constants *c = r->constants;
    double widest = (double)c->vector_lanes;
    if (r->kind == GPUC_CLASS_GPU || lanes == c->vector_lanes) return 1;
    return c->tile_half_vector * widest / lanes / 2 + c->tile_vector;
}

/* Time of one step of the reduction, for all of the output. */
static double cost(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    const gpuc_constants *c = r->constants;
    int64_t blocks = gpuc_tile_ceil_div(s->rows, t->rows) * gpuc_tile_ceil_div(s->lines, t->lines);
    int64_t width = t->vectors * t->lanes;
    bool shifts = gpuc_rules_tile_shifts(r, s) && !s->packs; /* panels are filled up instead */
    blocks *= gpuc_tile_ceil_div(shifts ? s->used : s->row_length, width);
    double total = step_cost(r, s, t) * (double)blocks;
    if (s->lines == 1 && s->rows % t->rows) total *= c->tile_guarded_rows;
    if (s->row_length % width && !shifts)
        total *= s->lines == 1 ? c->tile_part_vectors : c->tile_part_vectors_of_lines;
    if (s->row_length % width && shifts && width > s->used) total *= c->tile_beyond;
    int64_t wanted = c->tile_tasks + c->tile_tasks_of_core * r->target->num_cores, have = blocks * s->others;
    if (have >= wanted || have < 1) return total;
    /* Threads of a GPU that are not there take as long as those that are. */
    bool threads = gpuc_target_is_gpu(r->target);
    return total * (1 + c->tile_idle * (double)(wanted - have) / (double)(threads ? have : wanted));
}

/* May the tile be longer than that: do its vectors fit registers, and what is left of rows? */
static bool may_be(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    if (!fits_registers(r, s, t)) return false;
    bool guarded = s->open && !s->packs && s->step % (t->vectors * t->lanes);
    if (t->vectors > 1 && guarded && r->kind == GPUC_CLASS_C) return false;
    int64_t row = s->inside ? s->used : gpuc_tile_ceil_div(s->row_length, t->lanes) * t->lanes;
    return t->vectors == 1 || t->vectors * t->lanes <= row;
}

typedef struct best {
    gpuc_tile tile;
    double cost;
    bool any;
} best;

/* Tiles of so many rows and lanes. */
static void try_rows(const gpuc_rules *r, const gpuc_tile_shape *s, bool reuse, int64_t rows, int lanes,
                     best *b)
{
    if (rows > s->rows || (!reuse && rows > 1)) return;
    if (s->group && s->group % rows) return;
    const gpuc_constants *k = r->constants;
    bool whole = rows % k->tile_values == 0 || s->group % k->tile_values; /* a vector of weights */
    if (r->kind == GPUC_CLASS_GPU && rows > 1 && !whole) return;
    int64_t max_lines = s->window && s->past_caches ? k->tile_lines_past_caches : k->tile_lines;
    for (int64_t lines = 1; lines <= max_lines && lines <= s->lines; lines++) {
        /* Pixels of several rows of an image take more addresses than CPUs have registers for. */
        if (lines > 1 && rows > 1 && r->kind != GPUC_CLASS_GPU) break;
        for (int64_t vectors = 1; vectors <= k->tile_vectors; vectors++) {
            gpuc_tile t = {.rows = rows, .lines = lines, .vectors = vectors, .lanes = lanes};
            if (!may_be(r, s, &t)) break;
            double c = cost(r, s, &t) * lanes_factor(r, lanes);
            if (!reuse && s->row_length % lanes && !gpuc_rules_tile_shifts(r, s)) c *= k->tile_scalar_tail;
            if (!b->any || c < b->cost) *b = (best){t, c, true};
        }
    }
}

static gpuc_tile cheapest(const gpuc_rules *r, const gpuc_tile_shape *s, int max_lanes, bool reuse)
{
    static const int64_t rows[] = {1, 2, 3, 4, 6, 7, 8, 12};
    best b = {.tile = {.rows = 1, .lines = 1, .vectors = 1, .lanes = max_lanes}};
    for (int lanes = max_lanes; lanes >= 1; lanes /= 2) {
        if (lanes > s->row_length && lanes > 1) continue;
        if (lanes * 2 < max_lanes || (s->product && lanes < max_lanes && b.any))
            break; /* columns are in blocks */
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) try_rows(r, s, reuse, rows[i], lanes, &b);
    }
    return b.tile;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Knobs for the tile: what fits registers, and what may spill, is best measured. */
static gpuc_tile ask(const gpuc_rules *r, const gpuc_tile_shape *s, int max_lanes, bool reuse,
                     const gpuc_tile *own)
{
    enum { FEW = 8, ROWS = 14 };
    static const int64_t powers[] = {1, 2, 4, 8, 16}, few[FEW] = {1, 2, 3, 4, 5, 6, 7, 8},
                         rows[ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 28};
    int64_t left = r->kind == GPUC_CLASS_GPU ? r->constants->tile_tuned_sums : r->target->vector_registers,
            divisors[ROWS];
    gpuc_tile t;
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (!s->group || s->group % rows[i] == 0) divisors[n++] = rows[i];
    t.lanes = (int)gpuc_rules_knob(r, "lanes", own->lanes, smaller(max_lanes, s->row_length), 5, powers);
    t.rows = gpuc_rules_knob(r, "rows", own->rows, reuse ? s->rows : 1, n, divisors);
    left = left > t.rows ? left / t.rows : 1;
    t.lines = gpuc_rules_knob(r, "lines", smaller(own->lines, left), smaller(s->lines, left), FEW, few);
    left = left > t.lines ? left / t.lines : 1;
    int64_t vectors = gpuc_tile_ceil_div(s->row_length, t.lanes);
    t.vectors = gpuc_rules_knob(r, "vectors", smaller(own->vectors, left), smaller(vectors, left), FEW, few);
    return t;
}

gpuc_tile gpuc_rules_tile_choose(const gpuc_rules *r, const gpuc_tile_shape *s, int max_lanes)
{
    gpuc_tile own = cheapest(r, s, max_lanes, !s->depthwise);
    return ask(r, s, max_lanes, !s->depthwise, &own);
}

bool gpuc_rules_tile_shifts(const gpuc_rules *r, const gpuc_tile_shape *s)
{
    return r->kind != GPUC_CLASS_GPU && !s->channels_last && !s->open;
}

bool gpuc_rules_tile_ends_in_part(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    int64_t rest = s->row_length % t->lanes;
    return r->kind != GPUC_CLASS_GPU && s->stream && !s->open && s->row_length < t->vectors * t->lanes &&
           rest > 0 && 2 * rest <= t->lanes && rest % r->constants->tile_min_part == 0;
}
