/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a tile. Numbers of the cost model were fitted by hand to bench/ops on the machines of
 * docs/benchmarks; no command fits them again. */
#include "autoschedule/tile/tile.h"

const gpuc_tile_constants *gpuc_tile_constants_of(gpuc_target_class kind)
{
    static const gpuc_tile_constants constants[] = {
        [GPUC_CLASS_GPU] = {.guarded_rows = 1, .part_vectors = 1, .part_vectors_of_lines = 1, .tasks = 128},
        [GPUC_CLASS_SIMD_CPU] = {.load = 0.3,
                                 .guarded_rows = 1.15,
                                 .part_vectors = 1.3,
                                 .part_vectors_of_lines = 1.1,
                                 .chains = 8,
                                 .tasks = 64},
        [GPUC_CLASS_C] = {.load = 0.3,
                          .guarded_rows = 1.15,
                          .part_vectors = 1,
                          .part_vectors_of_lines = 1,
                          .chains = 8,
                          .tasks_of_core = 4},
    };
    return &constants[kind];
}

/* Besides the sums, compilers for CPUs keep the vectors of one operand and a value of the other of a step in
 * registers. What exceeds the registers spills in each step: tiles of 7 x 2 vectors took 1.2 to 2 times as
 * long as 6 x 2 with 16 registers. */
static bool fits_registers(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    int64_t sums = t->rows * t->lines * t->vectors, registers = r->target->vector_registers;
    if (r->kind == GPUC_CLASS_GPU || s->taps) return sums <= 8;
    return sums + t->vectors + 1 <= registers && sums <= registers * 7 / 8;
}

/* On a GPU the cost of a load hardly depends on its size, so values of other rows are loaded as vectors. */
enum { GPU_LOAD = 2, GPU_VALUES = 4 };
enum { STREAMED = 4 }; /* how many loads from a near cache cost as much as one from a far cache */

/* Of one step of the reduction of one tile, in multiply-adds of a vector. */
static double step_cost(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    const gpuc_tile_constants *c = gpuc_tile_constants_of(r->kind);
    double sums = (double)(t->rows * t->lines * t->vectors);
    if (r->kind == GPUC_CLASS_GPU)
        return sums + (double)GPU_LOAD *
                          ((double)(t->lines * t->vectors) + (double)gpuc_tile_ceil_div(t->rows, GPU_VALUES));
    int64_t loads = s->line_vectors ? t->lines * t->vectors + t->rows
                                    : (s->stream ? STREAMED : 1) * t->vectors + t->rows * t->lines;
    return (sums > c->chains ? sums : c->chains) + c->load * (double)loads;
}

/* Shorter vectors do less at a time: half of them about half. */
static double lanes_factor(const gpuc_rules *r, int lanes)
{
    enum { WIDEST = 16 };
    if (r->kind == GPUC_CLASS_GPU || lanes == WIDEST) return 1;
    return 0.55 * WIDEST / lanes / 2 + 0.05;
}

/* Time of one step of the reduction, for all of the output. */
static double cost(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    const gpuc_tile_constants *c = gpuc_tile_constants_of(r->kind);
    int64_t blocks = gpuc_tile_ceil_div(s->rows, t->rows) * gpuc_tile_ceil_div(s->lines, t->lines);
    blocks *= gpuc_tile_ceil_div(s->row_length, t->vectors * t->lanes);
    double total = step_cost(r, s, t) * (double)blocks;
    if (s->lines == 1 && s->rows % t->rows) total *= c->guarded_rows;
    if (s->row_length % (t->vectors * t->lanes))
        total *= s->lines == 1 ? c->part_vectors : c->part_vectors_of_lines;
    int64_t wanted = c->tasks + c->tasks_of_core * r->target->num_cores, have = blocks * s->others;
    return have < wanted ? total * (1 + 0.25 * (double)(wanted - have) / (double)wanted) : total;
}

/* May the tile be longer than that: do its vectors fit registers, and what is left of rows? */
static bool may_be(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    if (!fits_registers(r, s, t)) return false;
    bool guarded = s->open && !s->packs && s->step % (t->vectors * t->lanes);
    if (t->vectors > 1 && guarded && r->kind == GPUC_CLASS_C) return false;
    int64_t row = gpuc_tile_ceil_div(s->row_length, t->lanes) * t->lanes;
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
    bool whole = rows % 4 == 0 || s->group % 4; /* a vector of weights */
    if (r->kind == GPUC_CLASS_GPU && rows > 1 && !whole) return;
    for (int64_t lines = 1; lines <= 8 && lines <= s->lines; lines++) {
        /* Pixels of several rows of an image take more addresses than CPUs have registers for. */
        if (lines > 1 && rows > 1 && r->kind != GPUC_CLASS_GPU) break;
        for (int64_t vectors = 1; vectors <= 8; vectors++) {
            gpuc_tile t = {.rows = rows, .lines = lines, .vectors = vectors, .lanes = lanes};
            if (!may_be(r, s, &t)) break;
            double c = cost(r, s, &t) * lanes_factor(r, lanes);
            if (!reuse && s->row_length % lanes) c *= 2; /* the tail is computed element by element */
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
        if (lanes * 2 < max_lanes) break;
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
    int64_t left = r->kind == GPUC_CLASS_GPU ? 64 : r->target->vector_registers, divisors[ROWS];
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

gpuc_tile gpuc_tile_choose(const gpuc_rules *r, const gpuc_tile_shape *s, int max_lanes)
{
    gpuc_tile own = cheapest(r, s, max_lanes, !s->depthwise);
    return ask(r, s, max_lanes, !s->depthwise, &own);
}

bool gpuc_tile_ends_in_part(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t)
{
    enum { MIN = 4 };
    int64_t rest = s->row_length % t->lanes;
    return r->kind != GPUC_CLASS_GPU && s->stream && !s->open && s->row_length < t->vectors * t->lanes &&
           rest > 0 && 2 * rest <= t->lanes && rest % MIN == 0;
}
