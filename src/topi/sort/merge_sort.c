/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts positions by a stable merge sort. In tiles, each element counts those of its tile that go before it;
 * then runs are merged in pairs. Each invocation makes a piece of the merged run: bisection finds how many
 * elements come from either run (Green, McColl, Bader, "GPU merge path", 2012), and it merges these. Where
 * only the first elements are wanted, runs are cut to that length. CPUs sort large tiles by keys
 * instead, and those whose lanes are threads by digits of keys. */
#include "target/constants.h"
#include "topi/sort/order.h"

gpuc_expr gpuc_topi_order_below(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (gpuc_is_bool(gpuc_expr_dtype(a))) return gpuc_and(ctx, gpuc_not(ctx, a), b);
    gpuc_expr less = gpuc_lt(ctx, a, b);
    if (!gpuc_is_float(gpuc_expr_dtype(a))) return less;
    gpuc_expr nan_last =
        gpuc_and(ctx, gpuc_not(ctx, gpuc_call1(ctx, "isnan", a)), gpuc_call1(ctx, "isnan", b));
    return gpuc_or(ctx, less, nan_last);
}

gpuc_stmt gpuc_topi_order_put(const gpuc_order *o, const gpuc_order_target *t, gpuc_expr row, gpuc_expr i,
                              gpuc_expr position)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_expr last = gpuc_add(ctx, gpuc_mul(ctx, row, o->keep), i),
              first = gpuc_add(ctx, gpuc_mul(ctx, row, o->n), i);
    gpuc_stmt out = t->out ? gpuc_tir_store1(ctx, t->out, last, position) : NULL,
              runs = t->runs ? gpuc_tir_store1(ctx, t->runs, first, position) : NULL;
    return out && runs ? gpuc_tir_if_(ctx, t->whole, out, runs) : out ? out : runs;
}

/* Sorts each tile, into its own positions of the row. */
static gpuc_stmt sort_tiles(const gpuc_order *o, int64_t tile, const gpuc_order_target *to)
{
    gpuc_ctx *ctx = o->ctx;
    int64_t max = gpuc_op_max_size(ctx, o->n), width = max < tile ? max : tile;
    gpuc_expr kept = gpuc_min(ctx, o->keep, gpuc_int(ctx, width)), n = o->n;
    gpuc_expr at = gpuc_var(ctx, "e", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX);
    gpuc_expr row = gpuc_floordiv_(ctx, at, n), i = gpuc_floormod_(ctx, at, n);
    gpuc_expr start =
        max <= tile ? gpuc_int(ctx, 0) : gpuc_sub(ctx, i, gpuc_floormod_(ctx, i, gpuc_int(ctx, tile)));
    gpuc_tir_buffer *rank = gpuc_topi_par_cell(ctx, "rank", GPUC_INT32),
                    *less = gpuc_topi_par_cell(ctx, "less", GPUC_INT32);
    gpuc_expr other = gpuc_add(ctx, start, j), before = gpuc_lt(ctx, other, i),
              one = gpuc_topi_par_i32(ctx, 1);
    gpuc_expr a = gpuc_select(ctx, before, i, other), b = gpuc_select(ctx, before, other, i);
    /* stable: of equal elements the one at the lower position goes first */
    gpuc_expr goes = gpuc_ne(ctx, gpuc_eq(ctx, gpuc_topi_par_get(ctx, less), one), before);
    gpuc_expr more = gpuc_add(ctx, gpuc_topi_par_get(ctx, rank), one);
    gpuc_stmt count = gpuc_tir_seq2(ctx, o->less(o, row, a, b, less),
                                    gpuc_tir_if_(ctx, goes, gpuc_topi_par_set(ctx, rank, more), NULL));
    gpuc_expr valid = gpuc_ne(ctx, other, i);
    if (!gpuc_topi_proves(ctx, gpuc_eq(ctx, n, gpuc_int(ctx, width))))
        valid = gpuc_and(ctx, gpuc_lt(ctx, other, n), valid);
    count = gpuc_topi_par_serial(ctx, j, gpuc_int(ctx, width), gpuc_tir_if_(ctx, valid, count, NULL));
    gpuc_expr place = gpuc_topi_par_index(ctx, gpuc_topi_par_get(ctx, rank));
    gpuc_stmt put =
        gpuc_topi_order_put(o, to, row, gpuc_add(ctx, start, place), gpuc_topi_par_to_i32(ctx, i));
    if (o->keep != n && !gpuc_topi_proves(ctx, gpuc_le(ctx, gpuc_int(ctx, width), o->keep)))
        put = gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_topi_par_get(ctx, rank), gpuc_topi_par_to_i32(ctx, kept)),
                           put, NULL);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, rank, gpuc_topi_par_i32(ctx, 0)), count, put};
    gpuc_stmt body = gpuc_tir_alloc(ctx, rank, gpuc_tir_alloc(ctx, less, gpuc_tir_seq(ctx, 3, all)));
    return gpuc_topi_par_loop(ctx, at, gpuc_mul(ctx, o->rows, n), body);
}

/* One of two runs that are merged. */
typedef struct run {
    gpuc_expr start, size;        /* in src, of type index; elements, int32 */
    const gpuc_tir_buffer *taken; /* number of elements that were taken so far */
    const gpuc_tir_buffer *head;  /* the next position in the run, if there is one left */
} run;

static run run_of(const gpuc_order *o, const char *taken, const char *head, gpuc_expr base, gpuc_expr start,
                  gpuc_expr kept)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_expr rest = gpuc_sub(ctx, o->n, start);
    gpuc_expr size = gpuc_topi_par_clamp(ctx, rest, gpuc_int(ctx, 0), kept);
    return (run){.start = gpuc_add(ctx, base, start),
                 .size = gpuc_topi_par_to_i32(ctx, size),
                 .taken = gpuc_topi_par_cell(ctx, taken, GPUC_INT32),
                 .head = gpuc_topi_par_cell(ctx, head, GPUC_INT32)};
}

static gpuc_expr element_of(gpuc_ctx *ctx, const gpuc_tir_buffer *src, const run *r, gpuc_expr i)
{
    return gpuc_tir_load1(ctx, src, gpuc_add(ctx, r->start, gpuc_topi_par_index(ctx, i)));
}

static gpuc_expr is_left(gpuc_ctx *ctx, const run *r)
{
    return gpuc_lt(ctx, gpuc_topi_par_get(ctx, r->taken), r->size);
}

static gpuc_stmt read_head(gpuc_ctx *ctx, const gpuc_tir_buffer *src, const run *r)
{
    gpuc_expr next = element_of(ctx, src, r, gpuc_topi_par_get(ctx, r->taken));
    return gpuc_tir_if_(ctx, is_left(ctx, r), gpuc_topi_par_set(ctx, r->head, next), NULL);
}

/* Stores the head of r as element `at` of the merged run, and advances r. */
static gpuc_stmt take(const gpuc_order *o, const gpuc_tir_buffer *src, const run *r,
                      const gpuc_order_target *to, gpuc_expr row, gpuc_expr at)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_expr more = gpuc_add(ctx, gpuc_topi_par_get(ctx, r->taken), gpuc_topi_par_i32(ctx, 1));
    gpuc_stmt all[] = {gpuc_topi_order_put(o, to, row, at, gpuc_topi_par_get(ctx, r->head)),
                       gpuc_topi_par_set(ctx, r->taken, more), read_head(ctx, src, r)};
    return gpuc_tir_seq(ctx, 3, all);
}

/* Merges runs of `length` (cut to the elements that are wanted) in pairs; after the last pass a run is a
 * row. */
static gpuc_stmt merge_runs(const gpuc_order *o, int64_t length, bool last, const gpuc_tir_buffer *src,
                            const gpuc_order_target *to)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_expr one = gpuc_int(ctx, 1), both_runs = gpuc_int(ctx, 2 * length);
    gpuc_expr kept = gpuc_min(ctx, o->keep, gpuc_int(ctx, length)), max = gpuc_min(ctx, o->keep, both_runs);
    int64_t known,
        many = gpuc_expr_is_int(o->n, &known) ? known : 4 * length,
        piece = many < GPUC_COMMON_sort_many ? GPUC_COMMON_sort_piece : GPUC_COMMON_sort_large_piece;
    gpuc_expr at = gpuc_var(ctx, "p", GPUC_INDEX),
              pieces = gpuc_topi_par_ceildiv(ctx, max, gpuc_int(ctx, piece));
    /* 0 where runs are whole rows already: then the pass launches nothing */
    gpuc_expr longer =
        gpuc_min(ctx, one, gpuc_floordiv_(ctx, gpuc_sub(ctx, o->n, one), gpuc_int(ctx, length)));
    gpuc_expr count = last ? one : gpuc_topi_par_ceildiv(ctx, o->n, both_runs),
              filled = last ? gpuc_min(ctx, o->n, one) : count;
    gpuc_expr q = gpuc_floordiv_(ctx, at, pieces), row = gpuc_floordiv_(ctx, q, count);
    gpuc_expr start = gpuc_mul(ctx, gpuc_floormod_(ctx, q, count), both_runs);
    gpuc_expr base = gpuc_mul(ctx, row, o->n);
    run left = run_of(o, "i", "a", base, start, kept),
        right = run_of(o, "j", "b", base, gpuc_add(ctx, start, gpuc_int(ctx, length)), kept);
    gpuc_expr size = gpuc_min(ctx, gpuc_add(ctx, left.size, right.size), gpuc_topi_par_to_i32(ctx, max));
    gpuc_expr from = gpuc_mul(ctx, gpuc_topi_par_to_i32(ctx, gpuc_floormod_(ctx, at, pieces)),
                              gpuc_topi_par_i32(ctx, piece));

    /* Finds how many elements of the left run go before this piece: the first number for which the opposite
     * element of the right run goes before the next one of the left. */
    gpuc_tir_buffer *hi = gpuc_topi_par_cell(ctx, "hi", GPUC_INT32),
                    *less = gpuc_topi_par_cell(ctx, "less", GPUC_INT32);
    gpuc_expr mid = gpuc_var(ctx, "mid", GPUC_INT32), zero = gpuc_topi_par_i32(ctx, 0);
    gpuc_expr opposite = gpuc_sub(ctx, gpuc_sub(ctx, from, gpuc_topi_par_i32(ctx, 1)), mid);
    gpuc_expr a = gpuc_var(ctx, "own", GPUC_INT32), b = gpuc_var(ctx, "theirs", GPUC_INT32);
    gpuc_stmt compare = o->less(o, row, gpuc_topi_par_index(ctx, b), gpuc_topi_par_index(ctx, a), less);
    compare = gpuc_tir_let(ctx, b, element_of(ctx, src, &right, opposite), compare);
    compare = gpuc_tir_let(ctx, a, element_of(ctx, src, &left, mid), compare);
    gpuc_expr right_first = gpuc_eq(ctx, gpuc_topi_par_get(ctx, less), gpuc_topi_par_i32(ctx, 1));
    gpuc_stmt search = gpuc_topi_par_search(
        ctx, gpuc_max(ctx, zero, gpuc_sub(ctx, from, right.size)), gpuc_min(ctx, from, left.size),
        gpuc_topi_par_steps(gpuc_op_max_size(ctx, kept)), mid, left.taken, hi, compare, right_first);

    /* Merges the elements of the piece. */
    gpuc_expr k = gpuc_var(ctx, "k", GPUC_INDEX), place = gpuc_add(ctx, gpuc_topi_par_index(ctx, from), k);
    gpuc_expr in_row = gpuc_add(ctx, start, place);
    gpuc_stmt decide = o->less(o, row, gpuc_topi_par_index(ctx, gpuc_topi_par_get(ctx, right.head)),
                               gpuc_topi_par_index(ctx, gpuc_topi_par_get(ctx, left.head)), less);
    gpuc_expr both = gpuc_and(ctx, is_left(ctx, &left), is_left(ctx, &right));
    gpuc_expr ended = gpuc_cast(ctx, GPUC_INT32, gpuc_not(ctx, is_left(ctx, &left)));
    decide = gpuc_tir_if_(ctx, both, decide, gpuc_topi_par_set(ctx, less, ended));
    gpuc_stmt step = gpuc_tir_seq2(ctx, decide,
                                   gpuc_tir_if_(ctx, right_first, take(o, src, &right, to, row, in_row),
                                                take(o, src, &left, to, row, in_row)));
    step = gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, place), size), step, NULL);
    gpuc_expr rest = gpuc_sub(ctx, from, gpuc_topi_par_get(ctx, left.taken));
    gpuc_stmt all[] = {search, gpuc_topi_par_set(ctx, right.taken, rest), read_head(ctx, src, &left),
                       read_head(ctx, src, &right), gpuc_topi_par_serial(ctx, k, gpuc_int(ctx, piece), step)};
    gpuc_stmt body = gpuc_tir_if_(ctx, gpuc_lt(ctx, from, size), gpuc_tir_seq(ctx, 5, all), NULL);
    const gpuc_tir_buffer *const cells[] = {left.taken, left.head, right.taken, right.head, hi, less};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) body = gpuc_tir_alloc(ctx, cells[i], body);
    return gpuc_topi_par_loop(
        ctx, at, gpuc_mul(ctx, gpuc_mul(ctx, gpuc_mul(ctx, o->rows, filled), pieces), longer), body);
}

/* The target of a pass that makes runs of this length. */
static gpuc_order_target target_of(const gpuc_order *o, int64_t length, const gpuc_tir_buffer *out,
                                   const gpuc_tir_buffer *runs)
{
    gpuc_expr whole = gpuc_le(o->ctx, o->n, gpuc_int(o->ctx, length));
    int64_t known = gpuc_op_max_size(o->ctx, o->n) <= length;
    if (!known && !gpuc_expr_is_int(whole, &known))
        return (gpuc_order_target){.whole = whole, .out = out, .runs = runs};
    return (gpuc_order_target){.whole = whole, .out = known ? out : NULL, .runs = known ? NULL : runs};
}

gpuc_stmt gpuc_topi_order_emit(const gpuc_order *o, const gpuc_tir_buffer *out)
{
    gpuc_ctx *ctx = o->ctx;
    int64_t max = gpuc_op_max_size(ctx, o->n), keyed = gpuc_topi_order_key_tile(o),
            tile = keyed                              ? keyed
                   : max <= GPUC_COMMON_sort_one_tile ? GPUC_COMMON_sort_one_tile
                                                      : GPUC_COMMON_sort_tile;
    if (max == 0 || gpuc_op_max_size(ctx, o->keep) == 0) return NULL;
    if (o->lanes && o->key && max > GPUC_COMMON_sort_one_tile) return gpuc_topi_order_by_digits(o, out);
    if (max > INT32_MAX) max = INT32_MAX;
    gpuc_expr size = gpuc_mul(ctx, o->rows, o->n);
    gpuc_tir_buffer *const runs[] = {gpuc_topi_par_workspace(ctx, "runs", GPUC_INT32, size),
                                     gpuc_topi_par_workspace(ctx, "merged", GPUC_INT32, size)};
    gpuc_order_target to = target_of(o, tile, out, runs[0]);
    gpuc_stmt all = keyed ? gpuc_topi_order_sort_keys(o, tile, &to) : sort_tiles(o, tile, &to);
    int from = 0;
    for (int64_t length = tile; length < max; length *= 2, from = !from) {
        to = target_of(o, 2 * length, out, runs[!from]);
        all = gpuc_tir_seq2(ctx, all, merge_runs(o, length, 2 * length >= max, runs[from], &to));
    }
    if (max > tile) all = gpuc_tir_alloc(ctx, runs[0], all);
    return max > 2 * tile ? gpuc_tir_alloc(ctx, runs[1], all) : all;
}
