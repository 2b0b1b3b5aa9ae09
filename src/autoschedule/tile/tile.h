/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions whose outputs share their inputs: a tile of accumulators stays in registers while the
 * reduction runs. The parts of rule_tile.c: the shape of the output, the choice of a tile for it, the
 * copies of operands in panels, the loops of the output, the loops of the reduction. */
#ifndef GPUC_AUTOSCHEDULE_TILE_TILE_H
#define GPUC_AUTOSCHEDULE_TILE_TILE_H

#include "autoschedule/rules.h"

/* rows x lines x vectors, which run along the last axis: rows of a matrix, or output channels of a
 * convolution whose lines are rows of an image; with channels last rows and lines are those of the image, and
 * vectors hold channels. */
typedef struct gpuc_tile {
    int64_t rows, lines, vectors;
    int lanes;
} gpuc_tile;

/* What is known of the output before a tile is chosen. */
typedef struct gpuc_tile_shape {
    bool conv, depthwise, matmul, channels_last, product; /* product: of matrices, with channels last */
    int row_axis, line_axis;                              /* -1: none */
    int64_t rows, lines, row_length, others;              /* extents of the sums */
    int64_t used;                                         /* of a row: sums of windows are rounded up */
    int64_t group;     /* of a convolution: rows that read the same channels; 0: all */
    int64_t window;    /* lines of a window that windows of several lines share; 0: they do not */
    bool past_caches;  /* operands and sums are larger than the caches */
    bool inside;       /* tiles end where rows do, and read no elements behind them */
    bool stream;       /* vectors are read once per tile, from a cache further away */
    bool open;         /* row lengths are known only at run time: the tail of a row goes element by element */
    bool packs;        /* operands are packed into panels, the last one filled up */
    int64_t step;      /* row lengths are a multiple of it */
    bool pads;         /* the padded copy of what windows read is made in registers */
    bool taps;         /* sums are few and all unrolled: what is loaded serves one of them */
    bool line_vectors; /* each line has vectors of its own to load; else each row of each line has a value */
} gpuc_tile_shape;

static inline int64_t gpuc_tile_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* shape.c: false for a reduction that tiles are not for. */
bool gpuc_rules_tile_find_shape(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out,
                                gpuc_tile_shape *s);
/* choice.c: the tile of min cost, or what a tuner says. */
gpuc_tile gpuc_rules_tile_choose(const gpuc_rules *r, const gpuc_tile_shape *s, int max_lanes);
/* Whether the tail of a tile that is as wide as the output is a shorter vector: half a vector or less is
 * left. Then the vectors are not one loop, but parts of one. */
bool gpuc_rules_tile_ends_in_part(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t);
/* pack.c: blocks the columns, so that all rows use the columns of the second operand that fit a cache before
 * the next ones: [..., row, column] becomes [..., columns, row, column]. Returns the new number of loops. */
int gpuc_rules_tile_block_columns(const gpuc_rules *r, gpuc_stage *st, const gpuc_tensor *product,
                                  const gpuc_tile *t, int n, gpuc_iter **loops);
/* Whether sums of several lines take a line of the data from registers: those of a window's column are unrolled. */
bool gpuc_rules_tile_shares_lines(const gpuc_rules *r, const gpuc_tile_shape *s, const gpuc_tile *t);
/* Whether tails are whole tiles that are shifted back, which needs operands that may be read from any element on. */
bool gpuc_rules_tile_shifts(const gpuc_rules *r, const gpuc_tile_shape *s);
/* Which operands are in panels. */
typedef struct gpuc_tile_panels {
    bool rows, columns;
} gpuc_tile_panels;
/* Packs operands that exceed a cache, or whose rows map to few of its lines (their starts are a large power
 * of two apart), if each element is used often enough to pay for the copy. */
gpuc_tile_panels gpuc_rules_tile_pack_operands(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile_shape *s,
                                               const gpuc_tile *t);
/* output.c: tiles outside, the elements of a tile inside. Returns the loop in which a tile is summed. */
gpuc_iter *gpuc_rules_tile_output(const gpuc_rules *r, gpuc_stage *st, gpuc_stage *sum,
                                  const gpuc_tile_shape *s, const gpuc_tile *t, bool parts);
/* reduction.c: the reduction outside of the tile, whose elements are unrolled. */
void gpuc_rules_tile_reduction(const gpuc_rules *r, gpuc_stage *sum, const gpuc_tile_shape *s,
                               const gpuc_tile *t, bool parts);

#endif
