/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy suppression on CPUs: a box that comes in order is left if none of those that are left overlaps it too much.
 * These lie corner by corner, so that vectors of them are compared at a time. Boxes behind the last one that may be
 * left are not looked at. */
#include "target/constants.h"
#include "topi/vision/non_max_suppression.h"

enum { BLOCK = GPUC_COMMON_boxes_block };

/* Where corner k, or the class (4), of number i of those that are left is. */
static gpuc_expr left_at(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr i, int k)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr line = gpuc_add(ctx, gpuc_mul(ctx, row, gpuc_int(ctx, 5)), gpuc_int(ctx, k));
    return gpuc_add(ctx, gpuc_mul(ctx, line, s->s.n), i);
}

/* Counts those that are left and overlap a box too much, to hits; a block without any is enough to go on. */
static gpuc_stmt compare(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_expr *box,
                         const gpuc_tir_buffer *left, const gpuc_tir_buffer *hits)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), c = gpuc_var(ctx, "c", GPUC_INDEX),
              block = gpuc_int(ctx, BLOCK), zero = gpuc_topi_par_i32(ctx, 0);
    gpuc_expr count = gpuc_topi_par_index(ctx, gpuc_topi_par_get(ctx, left)), from = gpuc_mul(ctx, c, block);
    gpuc_expr other[5];
    for (int k = 0; k < 5; k++)
        other[k] = gpuc_tir_load1(ctx, s->left, left_at(s, row, gpuc_add(ctx, from, i), k));
    gpuc_expr hit = gpuc_topi_suppress_overlap(&s->s, other, box);
    if (s->class_of) hit = gpuc_and(ctx, hit, gpuc_eq(ctx, other[4], box[4]));
    gpuc_expr sum = gpuc_add(ctx, gpuc_topi_par_get(ctx, hits), gpuc_cast(ctx, GPUC_INT32, hit));
    gpuc_stmt look = gpuc_topi_par_serial(ctx, i, gpuc_min(ctx, block, gpuc_sub(ctx, count, from)),
                                          gpuc_topi_par_set(ctx, hits, sum));
    look = gpuc_tir_if_(ctx, gpuc_eq(ctx, gpuc_topi_par_get(ctx, hits), zero), look, NULL);
    return gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, hits, zero),
                         gpuc_topi_par_serial(ctx, c, gpuc_topi_par_ceildiv(ctx, count, block), look));
}

gpuc_stmt gpuc_topi_suppress_in_order(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_order_list *list)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_tir_buffer *left = gpuc_topi_par_cell(ctx, "left", GPUC_INT32),
                    *hits = gpuc_topi_par_cell(ctx, "hits", GPUC_INT32);
    gpuc_expr q = gpuc_var(ctx, "q", GPUC_INDEX), number = gpuc_var(ctx, "box", GPUC_INT32), own[5];
    gpuc_expr box = gpuc_topi_par_index(ctx, number), zero = gpuc_topi_par_i32(ctx, 0),
              one = gpuc_topi_par_i32(ctx, 1), count = gpuc_topi_par_get(ctx, left);
    gpuc_expr k = gpuc_topi_par_index(ctx, count);
    int values = s->class_of ? 5 : 4;
    for (int i = 0; i < values; i++) own[i] = gpuc_var(ctx, "own", GPUC_FLOAT32);
    gpuc_stmt keep[7] = {s->keep(s, row, q, k, box)};
    for (int i = 0; i < values; i++)
        keep[1 + i] = gpuc_tir_store1(ctx, s->left, left_at(s, row, k, i), own[i]);
    keep[1 + values] = gpuc_topi_par_set(ctx, left, gpuc_add(ctx, count, one));
    gpuc_expr stays = gpuc_eq(ctx, gpuc_topi_par_get(ctx, hits), zero);
    gpuc_stmt drop = s->drop ? s->drop(s, row, q, box) : NULL;
    gpuc_stmt step = gpuc_tir_seq2(ctx, compare(s, row, own, left, hits),
                                   gpuc_tir_if_(ctx, stays, gpuc_tir_seq(ctx, 2 + values, keep), drop));
    for (int i = 0; i < values; i++)
        step = gpuc_tir_let(ctx, own[i], i < 4 ? s->corner(s, row, box, i) : s->class_of(s, row, box), step);
    gpuc_expr at = gpuc_add(ctx, list->from, q);
    step = gpuc_tir_let(ctx, number, gpuc_tir_load1(ctx, list->positions, at), step);
    if (s->s.max) step = gpuc_tir_if_(ctx, gpuc_lt(ctx, count, s->s.max), step, NULL);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, left, zero), gpuc_topi_par_serial(ctx, q, list->count, step),
                       s->end ? s->end(s, row, count) : NULL};
    return gpuc_tir_alloc(ctx, left, gpuc_tir_alloc(ctx, hits, gpuc_tir_seq(ctx, 3, all)));
}
