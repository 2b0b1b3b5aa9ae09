/* SPDX-License-Identifier: Apache-2.0 */
/* A stable merge sort of positions. Tiles are sorted by counting, for each element, those of its tile that go
 * before it; then runs are merged in pairs, each element finding its place in the other run by bisection
 * (Satish, Harris, Garland, "Designing efficient sorting algorithms for manycore GPUs", 2009). Where only the
 * first elements are wanted, runs are cut to as many. */
#include "topi/parallel.h"

enum { TILE = 64 };

gpuc_expr gpuc_order_below(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (gpuc_is_bool(gpuc_expr_dtype(a))) return gpuc_and(ctx, gpuc_not(ctx, a), b);
    gpuc_expr less = gpuc_lt(ctx, a, b);
    if (!gpuc_is_float(gpuc_expr_dtype(a))) return less;
    gpuc_expr nan_last =
        gpuc_and(ctx, gpuc_not(ctx, gpuc_call1(ctx, "isnan", a)), gpuc_call1(ctx, "isnan", b));
    return gpuc_or(ctx, less, nan_last);
}

static gpuc_expr smaller(gpuc_ctx *ctx, int64_t a, int64_t b)
{
    return gpuc_int(ctx, a < b ? a : b);
}

/* dst[row * stride + ...]: tiles in order, each from its own position on. */
static gpuc_stmt sort_tiles(const gpuc_order *o, const gpuc_tir_buffer *dst, int64_t stride)
{
    gpuc_ctx *ctx = o->ctx;
    int64_t width = o->n < TILE ? o->n : TILE, kept = o->keep < width ? o->keep : width;
    gpuc_expr n = gpuc_int(ctx, o->n), at = gpuc_var(ctx, "e", GPUC_INDEX),
              j = gpuc_var(ctx, "j", GPUC_INDEX);
    gpuc_expr row = gpuc_floordiv_(ctx, at, n), i = gpuc_floormod_(ctx, at, n);
    gpuc_expr start =
        o->n <= TILE ? gpuc_int(ctx, 0) : gpuc_sub(ctx, i, gpuc_floormod_(ctx, i, gpuc_int(ctx, TILE)));
    gpuc_tir_buffer *rank = gpuc_par_cell(ctx, "rank", GPUC_INT32),
                    *less = gpuc_par_cell(ctx, "less", GPUC_INT32);
    gpuc_expr other = gpuc_add(ctx, start, j), before = gpuc_lt(ctx, other, i), one = gpuc_par_i32(ctx, 1);
    gpuc_expr a = gpuc_select(ctx, before, i, other), b = gpuc_select(ctx, before, other, i);
    /* of equal ones the first: what stands before goes before unless it is greater */
    gpuc_expr goes = gpuc_ne(ctx, gpuc_eq(ctx, gpuc_par_get(ctx, less), one), before);
    gpuc_expr more = gpuc_add(ctx, gpuc_par_get(ctx, rank), one);
    gpuc_stmt count = gpuc_tir_seq2(ctx, o->less(o, row, a, b, less),
                                    gpuc_tir_if_(ctx, goes, gpuc_par_set(ctx, rank, more), NULL));
    gpuc_expr valid = gpuc_ne(ctx, other, i);
    if (o->n > TILE) valid = gpuc_and(ctx, gpuc_lt(ctx, other, n), valid);
    count = gpuc_par_serial(ctx, j, gpuc_int(ctx, width), gpuc_tir_if_(ctx, valid, count, NULL));
    gpuc_expr place = gpuc_par_index(ctx, gpuc_par_get(ctx, rank));
    place = gpuc_add(ctx, gpuc_add(ctx, gpuc_mul(ctx, row, gpuc_int(ctx, stride)), start), place);
    gpuc_stmt put = gpuc_tir_store1(ctx, dst, place, gpuc_par_to_i32(ctx, i));
    if (kept < width)
        put = gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_par_get(ctx, rank), gpuc_par_i32(ctx, kept)), put, NULL);
    gpuc_stmt all[] = {gpuc_par_set(ctx, rank, gpuc_par_i32(ctx, 0)), count, put};
    gpuc_stmt body = gpuc_tir_alloc(ctx, rank, gpuc_tir_alloc(ctx, less, gpuc_tir_seq(ctx, 3, all)));
    return gpuc_par_loop(ctx, at, gpuc_mul(ctx, o->rows, n), body);
}

/* Runs of `length`, of which the first elements are kept, become runs of twice the length. */
static gpuc_stmt merge_runs(const gpuc_order *o, int64_t length, const gpuc_tir_buffer *src,
                            const gpuc_tir_buffer *dst, int64_t stride)
{
    gpuc_ctx *ctx = o->ctx;
    int64_t runs = (o->n + length - 1) / length, kept = o->keep < length ? o->keep : length;
    gpuc_expr n = gpuc_int(ctx, o->n), zero = gpuc_int(ctx, 0), two = gpuc_int(ctx, 2),
              len = gpuc_int(ctx, length);
    gpuc_expr at = gpuc_var(ctx, "e", GPUC_INDEX), k = gpuc_int(ctx, kept), count = gpuc_int(ctx, runs);
    gpuc_expr e = gpuc_floormod_(ctx, at, k), q = gpuc_floordiv_(ctx, at, k);
    gpuc_expr row = gpuc_floordiv_(ctx, q, count), run = gpuc_floormod_(ctx, q, count);
    gpuc_expr left = gpuc_eq(ctx, gpuc_floormod_(ctx, run, two), zero), pair = gpuc_floordiv_(ctx, run, two);
    gpuc_expr start = gpuc_mul(ctx, run, len), base = gpuc_mul(ctx, row, n);
    gpuc_expr turn = gpuc_sub(ctx, gpuc_int(ctx, 1), gpuc_mul(ctx, gpuc_floormod_(ctx, run, two), two));
    gpuc_expr sibling = gpuc_mul(ctx, gpuc_add(ctx, run, turn), len);
    gpuc_expr size = gpuc_min(ctx, gpuc_sub(ctx, n, start), k);
    gpuc_expr other = gpuc_par_clamp(ctx, gpuc_sub(ctx, n, sibling), zero, k);

    gpuc_tir_buffer *lo = gpuc_par_cell(ctx, "lo", GPUC_INT32), *hi = gpuc_par_cell(ctx, "hi", GPUC_INT32),
                    *less = gpuc_par_cell(ctx, "less", GPUC_INT32);
    gpuc_expr own = gpuc_var(ctx, "own", GPUC_INT32), mid = gpuc_var(ctx, "mid", GPUC_INT32),
              theirs = gpuc_var(ctx, "theirs", GPUC_INT32);
    gpuc_expr there = gpuc_add(ctx, gpuc_add(ctx, base, sibling), gpuc_par_index(ctx, mid));
    gpuc_expr a = gpuc_select(ctx, left, theirs, own), b = gpuc_select(ctx, left, own, theirs);
    gpuc_stmt compare = gpuc_tir_let(ctx, theirs, gpuc_tir_load1(ctx, src, there),
                                     o->less(o, row, gpuc_par_index(ctx, a), gpuc_par_index(ctx, b), less));
    /* a left element follows those that are less, a right one those that are not greater */
    gpuc_expr found = gpuc_ne(ctx, gpuc_eq(ctx, gpuc_par_get(ctx, less), gpuc_par_i32(ctx, 1)), left);
    gpuc_stmt search = gpuc_par_search(ctx, gpuc_par_i32(ctx, 0), gpuc_par_to_i32(ctx, other),
                                       gpuc_par_steps(kept), mid, lo, hi, compare, found);
    gpuc_expr place = gpuc_add(ctx, e, gpuc_par_index(ctx, gpuc_par_get(ctx, lo)));
    gpuc_expr to = gpuc_add(ctx, gpuc_mul(ctx, row, gpuc_int(ctx, stride)),
                            gpuc_mul(ctx, pair, gpuc_int(ctx, 2 * length)));
    gpuc_stmt put = gpuc_tir_store1(ctx, dst, gpuc_add(ctx, to, place), own);
    put = gpuc_tir_if_(ctx, gpuc_lt(ctx, place, smaller(ctx, 2 * length, o->keep)), put, NULL);
    gpuc_expr here = gpuc_add(ctx, gpuc_add(ctx, base, start), e);
    gpuc_stmt body = gpuc_tir_let(ctx, own, gpuc_tir_load1(ctx, src, here), gpuc_tir_seq2(ctx, search, put));
    body = gpuc_tir_alloc(ctx, lo, gpuc_tir_alloc(ctx, hi, gpuc_tir_alloc(ctx, less, body)));
    body = gpuc_tir_if_(ctx, gpuc_lt(ctx, e, size), body, NULL);
    return gpuc_par_loop(ctx, at, gpuc_mul(ctx, gpuc_mul(ctx, o->rows, count), k), body);
}

gpuc_stmt gpuc_order_emit(const gpuc_order *o, const gpuc_tir_buffer *out)
{
    gpuc_ctx *ctx = o->ctx;
    if (o->n == 0 || o->keep == 0) return NULL;
    if (o->n <= TILE) return sort_tiles(o, out, o->keep);
    gpuc_expr size = gpuc_mul(ctx, o->rows, gpuc_int(ctx, o->n));
    gpuc_tir_buffer *const runs[] = {gpuc_par_workspace(ctx, "runs", GPUC_INT32, size),
                                     gpuc_par_workspace(ctx, "merged", GPUC_INT32, size)};
    gpuc_stmt all = sort_tiles(o, runs[0], o->n);
    int from = 0;
    for (int64_t length = TILE; length < o->n; length *= 2, from = !from) {
        bool last = 2 * length >= o->n;
        const gpuc_tir_buffer *to = last ? out : runs[!from];
        all = gpuc_tir_seq2(ctx, all, merge_runs(o, length, runs[from], to, last ? o->keep : o->n));
    }
    all = gpuc_tir_alloc(ctx, runs[0], all);
    return o->n > 2 * TILE ? gpuc_tir_alloc(ctx, runs[1], all) : all;
}
