/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy suppression: in order, each element that is left suppresses later ones that overlap it too much. A
 * work-group takes a row. Its threads go through the elements together: the thread that owns an element tells
 * the others through shared memory whether it is left, and each tests its own elements against it. Device
 * memory that a thread writes is read only by that thread. */
#include "topi/vision/non_max_suppression.h"
#include "target/constants.h"

enum { THREADS = GPUC_COMMON_boxes_threads };

static gpuc_expr corner(const gpuc_suppress *s, gpuc_expr row, gpuc_expr i, int k)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, row, s->n), i);
    return gpuc_tir_load1(ctx, s->corners,
                          gpuc_add(ctx, gpuc_mul(ctx, at, gpuc_int(ctx, 4)), gpuc_int(ctx, k)));
}

static gpuc_expr area(gpuc_ctx *ctx, const gpuc_expr *box)
{
    return gpuc_mul(ctx, gpuc_sub(ctx, box[2], box[0]), gpuc_sub(ctx, box[3], box[1]));
}

/* Whether their intersection over union exceeds the threshold. */
gpuc_expr gpuc_topi_suppress_overlap(const gpuc_suppress *s, const gpuc_expr *a, const gpuc_expr *b)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr zero = gpuc_imm(ctx, GPUC_FLOAT32, 0), side[2];
    for (int k = 0; k < 2; k++) {
        gpuc_expr from = gpuc_max(ctx, a[k], b[k]), to = gpuc_min(ctx, a[2 + k], b[2 + k]);
        side[k] = gpuc_max(ctx, zero, gpuc_sub(ctx, to, from));
    }
    gpuc_expr shared = gpuc_mul(ctx, side[0], side[1]);
    gpuc_expr all = gpuc_sub(ctx, gpuc_add(ctx, area(ctx, a), area(ctx, b)), shared);
    gpuc_expr part = gpuc_div(ctx, shared, all);
    gpuc_expr over = s->at_threshold ? gpuc_ge(ctx, part, s->threshold) : gpuc_lt(ctx, s->threshold, part);
    return gpuc_and(ctx, gpuc_and(ctx, gpuc_lt(ctx, zero, shared), gpuc_lt(ctx, zero, all)), over);
}

gpuc_expr gpuc_topi_suppress_class(const gpuc_suppress *s, gpuc_expr a, gpuc_expr b)
{
    gpuc_expr has = gpuc_ge(s->ctx, a, gpuc_imm(s->ctx, GPUC_FLOAT32, 0));
    return s->any_class ? has : gpuc_and(s->ctx, has, gpuc_eq(s->ctx, a, b));
}

gpuc_stmt gpuc_topi_suppress_emit(const gpuc_suppress *s)
{
    gpuc_ctx *ctx = s->ctx;
    if (gpuc_op_max_size(ctx, s->n) == 0) return NULL;
    gpuc_expr row = gpuc_var(ctx, "row", GPUC_INDEX), tx = gpuc_var(ctx, "tx", GPUC_INDEX);
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), q = gpuc_var(ctx, "q", GPUC_INDEX), one = gpuc_int(ctx, 1);
    gpuc_expr width = gpuc_int(ctx, THREADS), n = s->n, base = gpuc_mul(ctx, row, n);
    gpuc_tir_buffer *there = gpuc_tir_buffer_make(ctx, "there", GPUC_INT32, 1, &one, GPUC_SCOPE_SHARED);
    gpuc_tir_buffer *count = gpuc_topi_par_cell(ctx, "count", GPUC_INT32);
    gpuc_expr zero = gpuc_topi_par_i32(ctx, 0), takes_part = gpuc_topi_par_i32(ctx, 1),
              here = gpuc_add(ctx, base, i);
    gpuc_expr mine = gpuc_eq(ctx, gpuc_floormod_(ctx, i, width), tx);

    gpuc_expr j = gpuc_add(ctx, gpuc_mul(ctx, q, width), tx), there_j = gpuc_add(ctx, base, j);
    gpuc_expr a[4], b[4], names[4];
    for (int k = 0; k < 4; k++) {
        names[k] = a[k] = gpuc_var(ctx, "a", GPUC_FLOAT32);
        b[k] = corner(s, row, j, k);
    }
    gpuc_stmt drop = gpuc_tir_store1(ctx, s->there, there_j, zero);
    drop = gpuc_tir_if_(ctx, gpuc_topi_suppress_overlap(s, a, b), drop, NULL);
    if (s->classes) {
        gpuc_expr own = gpuc_tir_load1(ctx, s->classes, here),
                  other = gpuc_tir_load1(ctx, s->classes, there_j);
        drop = gpuc_tir_if_(ctx, gpuc_topi_suppress_class(s, own, other), drop, NULL);
    }
    drop = gpuc_tir_if_(ctx, gpuc_eq(ctx, gpuc_tir_load1(ctx, s->there, there_j), takes_part), drop, NULL);
    drop = gpuc_tir_if_(ctx, gpuc_and(ctx, gpuc_lt(ctx, i, j), gpuc_lt(ctx, j, n)), drop, NULL);
    drop = gpuc_topi_par_serial(
        ctx, q, gpuc_floordiv_(ctx, gpuc_add(ctx, n, gpuc_int(ctx, THREADS - 1)), width), drop);
    for (int k = 3; k >= 0; k--) drop = gpuc_tir_let(ctx, names[k], corner(s, row, i, k), drop);
    if (s->max) {
        gpuc_expr more = gpuc_add(ctx, gpuc_topi_par_get(ctx, count), gpuc_topi_par_i32(ctx, 1));
        gpuc_stmt away = gpuc_tir_if_(ctx, mine, gpuc_tir_store1(ctx, s->there, here, zero), NULL);
        drop = gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, count, more), drop);
        drop = gpuc_tir_if_(ctx, gpuc_eq(ctx, gpuc_topi_par_get(ctx, there), takes_part), drop, NULL);
        drop = gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_topi_par_get(ctx, count), s->max), drop, away);
    }
    gpuc_stmt tell = gpuc_topi_par_set(ctx, there, gpuc_tir_load1(ctx, s->there, here));
    gpuc_stmt step =
        gpuc_tir_seq2(ctx, gpuc_tir_if_(ctx, mine, tell, NULL),
                      gpuc_tir_if_(ctx, gpuc_ne(ctx, gpuc_topi_par_get(ctx, there), zero), drop, NULL));
    gpuc_stmt body =
        gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, count, zero), gpuc_topi_par_serial(ctx, i, n, step));
    body = gpuc_tir_alloc(ctx, count, body);
    body = gpuc_tir_for_(ctx, tx, gpuc_int(ctx, 0), width, GPUC_LOOP_THREAD, GPUC_THREAD_X, body);
    return gpuc_tir_for_(ctx, row, gpuc_int(ctx, 0), s->rows, GPUC_LOOP_THREAD, GPUC_BLOCK_X,
                         gpuc_tir_alloc(ctx, there, body));
}
