/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy suppression on CPUs: a box that comes in order is left if none of those that are left overlaps it
 * too much. These lie corner by corner, so that vectors of them are compared at a time. Boxes behind the
 * last one that may be left are not looked at. */
#include "target/constants.h"
#include "target/target.h"
#include "topi/vision/non_max_suppression.h"

enum { BLOCK = GPUC_COMMON_boxes_block, LINES = 5 /* corners and the class */ };

/* Each corner has a line of whole vectors, the last of which ends with empty boxes. */
static gpuc_expr line_length(gpuc_ctx *ctx, gpuc_expr n, int lanes)
{
    return gpuc_mul(ctx, gpuc_topi_par_ceildiv(ctx, n, gpuc_int(ctx, lanes)), gpuc_int(ctx, lanes));
}

gpuc_tir_buffer *gpuc_topi_suppress_space(gpuc_ctx *ctx, const gpuc_target *cpu, gpuc_expr rows, gpuc_expr n)
{
    gpuc_expr size =
        gpuc_mul(ctx, line_length(ctx, n, gpuc_target_lanes(cpu, GPUC_FLOAT32)), gpuc_int(ctx, LINES));
    return gpuc_topi_par_workspace(ctx, "left", GPUC_FLOAT32, gpuc_mul(ctx, rows, size));
}

static int lanes_of(const gpuc_suppress_row *s)
{
    return gpuc_target_lanes(s->target, GPUC_FLOAT32);
}

/* Where corner k, or the class (4), of number i of those that are left is. */
static gpuc_expr left_at(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr i, int k)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr line = gpuc_add(ctx, gpuc_mul(ctx, row, gpuc_int(ctx, LINES)), gpuc_int(ctx, k));
    return gpuc_add(ctx, gpuc_mul(ctx, line, line_length(ctx, s->s.n, lanes_of(s))), i);
}

static gpuc_stmt for_lanes(const gpuc_suppress_row *s, gpuc_expr lane, gpuc_stmt body)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr lanes = gpuc_int(ctx, lanes_of(s));
    if (lanes_of(s) == 1) return gpuc_topi_par_serial(ctx, lane, lanes, body);
    return gpuc_tir_for_(ctx, lane, gpuc_int(ctx, 0), lanes, GPUC_LOOP_VECTORIZED, GPUC_THREAD_NONE, body);
}

/* 1 if number i of those that are left overlaps a box too much, else 0. */
static gpuc_expr overlaps(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr i, const gpuc_expr *box)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr other[LINES];
    for (int k = 0; k < LINES; k++) other[k] = gpuc_tir_load1(ctx, s->left, left_at(s, row, i, k));
    gpuc_expr hit = gpuc_topi_suppress_overlap(&s->s, other, box);
    if (s->class_of) hit = gpuc_and(ctx, hit, gpuc_topi_suppress_class(&s->s, other[4], box[4]));
    return gpuc_cast(ctx, GPUC_INT32, hit);
}

/* Counts those that are left and overlap a box too much, to hits; a block with some is enough. */
static gpuc_stmt compare(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_expr *box,
                         const gpuc_tir_buffer *left, const gpuc_tir_buffer *hits,
                         const gpuc_tir_buffer *sums)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr v = gpuc_var(ctx, "v", GPUC_INDEX), c = gpuc_var(ctx, "c", GPUC_INDEX), lane[3],
              lanes = gpuc_int(ctx, lanes_of(s)), zero = gpuc_topi_par_i32(ctx, 0);
    gpuc_expr vectors =
                  gpuc_topi_par_ceildiv(ctx, gpuc_topi_par_index(ctx, gpuc_topi_par_get(ctx, left)), lanes),
              block = gpuc_int(ctx, BLOCK > lanes_of(s) ? BLOCK / lanes_of(s) : 1),
              from = gpuc_mul(ctx, c, block);
    for (int k = 0; k < 3; k++) lane[k] = gpuc_var(ctx, "lane", GPUC_INDEX);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, gpuc_add(ctx, from, v), lanes), lane[0]);
    gpuc_expr sum = gpuc_add(ctx, gpuc_tir_load1(ctx, sums, lane[0]), overlaps(s, row, at, box));
    gpuc_stmt look = gpuc_topi_par_serial(ctx, v, gpuc_min(ctx, block, gpuc_sub(ctx, vectors, from)),
                                          for_lanes(s, lane[0], gpuc_tir_store1(ctx, sums, lane[0], sum)));
    gpuc_expr all = gpuc_add(ctx, gpuc_topi_par_get(ctx, hits), gpuc_tir_load1(ctx, sums, lane[1]));
    look = gpuc_tir_seq2(ctx, look,
                         gpuc_topi_par_serial(ctx, lane[1], lanes, gpuc_topi_par_set(ctx, hits, all)));
    look = gpuc_tir_if_(ctx, gpuc_eq(ctx, gpuc_topi_par_get(ctx, hits), zero), look, NULL);
    gpuc_stmt steps[] = {gpuc_topi_par_set(ctx, hits, zero),
                         for_lanes(s, lane[2], gpuc_tir_store1(ctx, sums, lane[2], zero)),
                         gpuc_topi_par_serial(ctx, c, gpuc_topi_par_ceildiv(ctx, vectors, block), look)};
    return gpuc_tir_seq(ctx, 3, steps);
}

/* Number k of those that are left; the first of a vector has empty boxes behind it. */
static gpuc_stmt keep_values(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr k, int values,
                             const gpuc_expr *own)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr lane = gpuc_var(ctx, "lane", GPUC_INDEX), lanes = gpuc_int(ctx, lanes_of(s));
    gpuc_stmt put[LINES] = {0}, empty[LINES] = {0};
    for (int i = 0; i < values; i++) {
        put[i] = gpuc_tir_store1(ctx, s->left, left_at(s, row, k, i), own[i]);
        empty[i] = gpuc_tir_store1(ctx, s->left, left_at(s, row, gpuc_add(ctx, k, lane), i),
                                   gpuc_imm(ctx, GPUC_FLOAT32, 0));
    }
    gpuc_expr first = gpuc_eq(ctx, gpuc_floormod_(ctx, k, lanes), gpuc_int(ctx, 0));
    gpuc_stmt begin = gpuc_topi_par_serial(ctx, lane, lanes, gpuc_tir_seq(ctx, LINES, empty));
    return gpuc_tir_seq2(ctx, gpuc_tir_if_(ctx, first, begin, NULL), gpuc_tir_seq(ctx, LINES, put));
}

gpuc_stmt gpuc_topi_suppress_in_order(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_order_list *list)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_tir_buffer *left = gpuc_topi_par_cell(ctx, "left", GPUC_INT32),
                    *hits = gpuc_topi_par_cell(ctx, "hits", GPUC_INT32);
    gpuc_expr lanes = gpuc_int(ctx, lanes_of(s));
    gpuc_tir_buffer *sums = gpuc_tir_buffer_make(ctx, "sums", GPUC_INT32, 1, &lanes, GPUC_SCOPE_LOCAL);
    gpuc_expr q = gpuc_var(ctx, "q", GPUC_INDEX), number = gpuc_var(ctx, "box", GPUC_INT32), own[LINES];
    gpuc_expr box = gpuc_topi_par_index(ctx, number), zero = gpuc_topi_par_i32(ctx, 0),
              one = gpuc_topi_par_i32(ctx, 1), count = gpuc_topi_par_get(ctx, left);
    gpuc_expr k = gpuc_topi_par_index(ctx, count);
    int values = s->class_of ? 5 : 4;
    for (int i = 0; i < values; i++) own[i] = gpuc_var(ctx, "own", GPUC_FLOAT32);
    gpuc_stmt keep[] = {s->keep(s, row, q, k, box), keep_values(s, row, k, values, own),
                        gpuc_topi_par_set(ctx, left, gpuc_add(ctx, count, one))};
    gpuc_expr stays = gpuc_eq(ctx, gpuc_topi_par_get(ctx, hits), zero);
    gpuc_stmt drop = s->drop ? s->drop(s, row, q, box) : NULL;
    gpuc_stmt step = gpuc_tir_seq2(ctx, compare(s, row, own, left, hits, sums),
                                   gpuc_tir_if_(ctx, stays, gpuc_tir_seq(ctx, 3, keep), drop));
    if (s->idle) step = gpuc_tir_if_(ctx, s->idle(s, row, box), s->keep(s, row, q, k, box), step);
    for (int i = 0; i < values; i++)
        step = gpuc_tir_let(ctx, own[i], i < 4 ? s->corner(s, row, box, i) : s->class_of(s, row, box), step);
    gpuc_expr at = gpuc_add(ctx, list->from, q);
    step = gpuc_tir_let(ctx, number, gpuc_tir_load1(ctx, list->positions, at), step);
    if (s->s.max) step = gpuc_tir_if_(ctx, gpuc_lt(ctx, count, s->s.max), step, NULL);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, left, zero), gpuc_topi_par_serial(ctx, q, list->count, step),
                       s->end ? s->end(s, row, count) : NULL};
    gpuc_stmt body = gpuc_tir_alloc(ctx, left, gpuc_tir_alloc(ctx, hits, gpuc_tir_seq(ctx, 3, all)));
    return gpuc_tir_alloc(ctx, sums, body);
}

/* ---- Lanes that are threads ---- */

static int64_t most_left(const gpuc_suppress_row *s)
{
    int64_t n = gpuc_op_max_size(s->s.ctx, s->s.n);
    return s->most > 0 && s->most < n ? s->most : n;
}

bool gpuc_topi_suppress_fits_lanes(const gpuc_suppress_row *s)
{
    int64_t n = gpuc_op_max_size(s->s.ctx, s->s.n), each = most_left(s) / s->target->simd_lanes + 4;
    return n <= GPUC_COMMON_boxes_iterations / each;
}

/* Counts to hits those that overlap a box too much, of the ones that the thread holds: each lanes-th of
 * those that are left. */
static gpuc_stmt compare_own(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr thread,
                             const gpuc_expr *box, gpuc_expr count, const gpuc_tir_buffer *hits)
{
    gpuc_ctx *ctx = s->s.ctx;
    int64_t width = s->target->simd_lanes;
    gpuc_expr c = gpuc_var(ctx, "c", GPUC_INDEX), lanes = gpuc_int(ctx, width);
    gpuc_expr k = gpuc_add(ctx, gpuc_mul(ctx, c, lanes), thread);
    gpuc_expr sum = gpuc_add(ctx, gpuc_topi_par_get(ctx, hits), overlaps(s, row, k, box));
    gpuc_expr left = gpuc_sub(ctx, gpuc_topi_par_index(ctx, count), thread);
    gpuc_expr own = gpuc_topi_par_clamp(ctx, gpuc_topi_par_ceildiv(ctx, left, lanes), gpuc_int(ctx, 0),
                                        gpuc_int(ctx, (most_left(s) + width - 1) / width));
    return gpuc_topi_par_serial(ctx, c, own, gpuc_topi_par_set(ctx, hits, sum));
}

/* The box is left: the thread whose turn it is holds it. */
static gpuc_stmt keep_box(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr thread, gpuc_expr q,
                          gpuc_expr box, const gpuc_expr *own, const gpuc_tir_buffer *left)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_expr count = gpuc_topi_par_get(ctx, left), k = gpuc_topi_par_index(ctx, count);
    gpuc_stmt all[1 + LINES] = {s->keep(s, row, q, k, box)};
    int values = s->class_of ? 5 : 4;
    for (int i = 0; i < values; i++)
        all[1 + i] = gpuc_tir_store1(ctx, s->left, left_at(s, row, k, i), own[i]);
    gpuc_expr turn = gpuc_eq(ctx, gpuc_floormod_(ctx, k, gpuc_int(ctx, s->target->simd_lanes)), thread);
    return gpuc_tir_seq2(ctx, gpuc_tir_if_(ctx, turn, gpuc_tir_seq(ctx, 1 + values, all), NULL),
                         gpuc_topi_par_set(ctx, left, gpuc_add(ctx, count, gpuc_topi_par_i32(ctx, 1))));
}

static gpuc_stmt with_box(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box, const gpuc_expr *own,
                          gpuc_stmt body)
{
    for (int i = 0; i < 4; i++) body = gpuc_tir_let(s->s.ctx, own[i], s->corner(s, row, box, i), body);
    return s->class_of ? gpuc_tir_let(s->s.ctx, own[4], s->class_of(s, row, box), body) : body;
}

/* A box is read when it is compared, and again when it is left, since most are not. */
gpuc_stmt gpuc_topi_suppress_on_lanes(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_order_list *list)
{
    gpuc_ctx *ctx = s->s.ctx;
    gpuc_tir_buffer *left = gpuc_topi_par_cell(ctx, "left", GPUC_INT32),
                    *hits = gpuc_topi_par_cell(ctx, "hits", GPUC_INT32);
    gpuc_expr q = gpuc_var(ctx, "q", GPUC_INDEX), thread = gpuc_var(ctx, "thread", GPUC_INDEX), own[LINES],
              number = gpuc_var(ctx, "box", GPUC_INT32), zero = gpuc_topi_par_i32(ctx, 0),
              first = gpuc_eq(ctx, thread, gpuc_int(ctx, 0));
    gpuc_expr count = gpuc_topi_par_get(ctx, left), box = gpuc_topi_par_index(ctx, number);
    for (int i = 0; i < LINES; i++) own[i] = gpuc_var(ctx, "own", GPUC_FLOAT32);
    gpuc_stmt look = with_box(s, row, box, own, compare_own(s, row, thread, own, count, hits));
    gpuc_stmt sum = gpuc_topi_par_set(ctx, hits, gpuc_topi_par_get(ctx, hits));
    sum = gpuc_tir_attr(ctx, "allreduce", gpuc_thread_tag_name(GPUC_THREAD_X), NULL,
                        gpuc_tir_reducer_get(ctx, "sum", GPUC_INT32), sum);
    gpuc_expr stays = gpuc_eq(ctx, gpuc_topi_par_get(ctx, hits), zero), more = NULL;
    gpuc_stmt drop = s->drop ? gpuc_tir_if_(ctx, first, s->drop(s, row, q, box), NULL) : NULL;
    for (int i = 0; i < LINES; i++) own[i] = gpuc_var(ctx, "own", GPUC_FLOAT32);
    gpuc_stmt keep = with_box(s, row, box, own, keep_box(s, row, thread, q, box, own, left));
    gpuc_stmt decide = gpuc_tir_if_(ctx, stays, keep, drop);
    if (s->idle) {
        gpuc_expr idle = s->idle(s, row, box);
        look = gpuc_tir_if_(ctx, gpuc_not(ctx, idle), look, NULL);
        gpuc_stmt put = s->keep(s, row, q, gpuc_topi_par_index(ctx, count), box);
        decide = gpuc_tir_if_(ctx, idle, gpuc_tir_if_(ctx, first, put, NULL), decide);
    }
    if (s->s.max) {
        more = gpuc_lt(ctx, count, s->s.max);
        look = gpuc_tir_if_(ctx, more, look, NULL);
        decide = gpuc_tir_if_(ctx, more, decide, NULL);
    }
    gpuc_stmt steps[] = {gpuc_topi_par_set(ctx, hits, zero), look, sum, decide};
    gpuc_stmt step = gpuc_tir_seq(ctx, 4, steps);
    step =
        gpuc_tir_let(ctx, number, gpuc_tir_load1(ctx, list->positions, gpuc_add(ctx, list->from, q)), step);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, left, zero), gpuc_topi_par_serial(ctx, q, list->count, step),
                       s->end ? gpuc_tir_if_(ctx, first, s->end(s, row, count), NULL) : NULL};
    gpuc_stmt body = gpuc_tir_alloc(ctx, left, gpuc_tir_alloc(ctx, hits, gpuc_tir_seq(ctx, 3, all)));
    return gpuc_tir_for_(ctx, thread, gpuc_int(ctx, 0), gpuc_int(ctx, s->target->simd_lanes),
                         GPUC_LOOP_THREAD, GPUC_THREAD_X, body);
}
