/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts rows by the digits of their keys, the lowest first, where lanes of a CPU are threads: a lane owns
 * a part of a row, and counts its digits in an array of its own. A running sum over all digits, and over
 * the lanes for each, tells where the elements of a lane go. Of few lanes, each makes that sum for itself:
 * a kernel more takes longer. Where few elements are wanted, those that cannot be among them are left out
 * before: as many pieces of the row as are wanted have a first element that is no later than the
 * threshold. */
#include "target/constants.h"
#include "target/target.h"
#include "topi/sort/order.h"

enum { DIGITS = GPUC_TOPI_ORDER_DIGITS };

typedef struct sorter {
    const gpuc_order *o;
    gpuc_ctx *ctx;
    gpuc_expr width, parts;         /* elements of a lane at most, lanes of a row */
    gpuc_expr lane, row, part;      /* of a kernel: variables */
    gpuc_expr share;                /* elements of a lane: a variable, where not all take part; else NULL */
    const gpuc_tir_buffer *list;    /* [rows * n]: positions that take part */
    const gpuc_tir_buffer *totals;  /* [rows]: their numbers. Both NULL: every element takes part */
    const gpuc_tir_buffer *counts;  /* [rows * DIGITS * parts]; NULL: a lane has a whole row */
    const gpuc_tir_buffer *offsets; /* the same; NULL: lanes make the sum for themselves */
    const gpuc_tir_buffer *digits;  /* of a lane */
} sorter;

static gpuc_expr zero_of(gpuc_ctx *ctx)
{
    return gpuc_topi_par_i32(ctx, 0);
}

static gpuc_expr plus_one(gpuc_ctx *ctx, gpuc_expr e)
{
    return gpuc_add(ctx, e, gpuc_topi_par_i32(ctx, 1));
}

/* A kernel whose lanes own the parts of rows. */
static gpuc_stmt each_lane(const sorter *s, gpuc_stmt body)
{
    gpuc_ctx *ctx = s->ctx;
    if (s->share) {
        gpuc_expr total = gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, s->totals, s->row));
        gpuc_expr fair = gpuc_topi_par_ceildiv(ctx, total, s->parts),
                  min = gpuc_int(ctx, GPUC_COMMON_digits_part);
        body = gpuc_tir_let(ctx, s->share, gpuc_min(ctx, gpuc_max(ctx, fair, min), s->width), body);
    }
    body = gpuc_tir_let(ctx, s->part, gpuc_floormod_(ctx, s->lane, s->parts), body);
    body = gpuc_tir_let(ctx, s->row, gpuc_floordiv_(ctx, s->lane, s->parts), body);
    return gpuc_topi_par_lanes(ctx, s->o->lanes, s->lane, gpuc_mul(ctx, s->o->rows, s->parts), body);
}

static gpuc_expr in_row(const sorter *s, gpuc_expr i)
{
    return gpuc_add(s->ctx, gpuc_mul(s->ctx, s->row, s->o->n), i);
}

static gpuc_expr width_of(const sorter *s)
{
    return s->share ? s->share : s->width;
}

static gpuc_expr first_of(const sorter *s)
{
    return gpuc_mul(s->ctx, s->part, width_of(s));
}

/* The elements of a lane. */
static gpuc_expr count_of(const sorter *s)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr total = s->share ? gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, s->totals, s->row)) : s->o->n;
    return gpuc_topi_par_clamp(ctx, gpuc_sub(ctx, total, first_of(s)), gpuc_int(ctx, 0), width_of(s));
}

/* ---- One digit ---- */

typedef struct pass {
    int digit, digits;
    const gpuc_tir_buffer *from, *to; /* from: NULL: the first pass */
    bool last;                        /* to holds what is wanted of each row only */
} pass;

/* For each element of the lane in order: what `visit` makes of its position and the place of its digit. */
static gpuc_stmt each_element(const sorter *s, const pass *p, gpuc_expr position, gpuc_expr slot,
                              gpuc_stmt visit)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr j = gpuc_var(ctx, "j", GPUC_INDEX), at = gpuc_add(ctx, first_of(s), j);
    const gpuc_tir_buffer *from = p->from ? p->from : s->list;
    gpuc_expr key = s->o->key(s->o, s->row, gpuc_topi_par_index(ctx, position));
    visit = gpuc_tir_let(ctx, slot, gpuc_topi_order_digit(ctx, key, p->digit, p->digits), visit);
    gpuc_expr value = from ? gpuc_tir_load1(ctx, from, in_row(s, at)) : gpuc_topi_par_to_i32(ctx, at);
    return gpuc_topi_par_serial(ctx, j, count_of(s), gpuc_tir_let(ctx, position, value, visit));
}

static gpuc_stmt each_digit(const sorter *s, gpuc_expr b, gpuc_stmt body)
{
    return gpuc_topi_par_serial(s->ctx, b, gpuc_int(s->ctx, DIGITS), body);
}

static gpuc_stmt count_digits(const sorter *s, const pass *p)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr b = gpuc_var(ctx, "b", GPUC_INDEX), position = gpuc_var(ctx, "position", GPUC_INT32),
              slot = gpuc_var(ctx, "slot", GPUC_INDEX);
    gpuc_expr more = plus_one(ctx, gpuc_tir_load1(ctx, s->digits, slot));
    return gpuc_tir_seq2(ctx, each_digit(s, b, gpuc_tir_store1(ctx, s->digits, b, zero_of(ctx))),
                         each_element(s, p, position, slot, gpuc_tir_store1(ctx, s->digits, slot, more)));
}

/* Where the count of a digit of a lane of the row stands. */
static gpuc_expr count_at(const sorter *s, gpuc_expr b, gpuc_expr part)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr line = gpuc_add(ctx, gpuc_mul(ctx, s->row, gpuc_int(ctx, DIGITS)), b);
    return gpuc_add(ctx, gpuc_mul(ctx, line, s->parts), part);
}

/* Moves the elements to where the digits of the lane say. */
static gpuc_stmt move(const sorter *s, const pass *p)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_order *o = s->o;
    gpuc_expr position = gpuc_var(ctx, "position", GPUC_INT32), slot = gpuc_var(ctx, "slot", GPUC_INDEX),
              place = gpuc_var(ctx, "place", GPUC_INT32), i = gpuc_topi_par_index(ctx, place);
    gpuc_expr at = p->last ? gpuc_add(ctx, gpuc_mul(ctx, s->row, o->keep), i) : in_row(s, i);
    gpuc_stmt put = gpuc_tir_store1(ctx, p->to, at, position);
    if (p->last && !gpuc_topi_proves(ctx, gpuc_eq(ctx, o->keep, o->n)))
        put = gpuc_tir_if_(ctx, gpuc_lt(ctx, i, o->keep), put, NULL);
    put = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, s->digits, slot, plus_one(ctx, place)), put);
    return each_element(s, p, position, slot,
                        gpuc_tir_let(ctx, place, gpuc_tir_load1(ctx, s->digits, slot), put));
}

static void set_zero(gpuc_ctx *ctx, gpuc_stmt *body, const gpuc_tir_buffer *cell)
{
    *body = gpuc_tir_alloc(ctx, cell, gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, cell, zero_of(ctx)), *body));
}

/* digits = where the elements of the lane go, by the counts of all lanes of the row */
static gpuc_stmt scan_counts(const sorter *s)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", GPUC_INT32),
                    *before = gpuc_topi_par_cell(ctx, "before", GPUC_INT32);
    gpuc_expr b = gpuc_var(ctx, "b", GPUC_INDEX), c = gpuc_var(ctx, "c", GPUC_INDEX),
              count = gpuc_var(ctx, "count", GPUC_INT32);
    gpuc_expr so_far = gpuc_topi_par_get(ctx, sum), earlier = gpuc_topi_par_get(ctx, before);
    gpuc_expr more = gpuc_select(ctx, gpuc_lt(ctx, c, s->part), count, zero_of(ctx));
    gpuc_stmt add = gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, so_far, count)),
                                  gpuc_topi_par_set(ctx, before, gpuc_add(ctx, earlier, more)));
    add = gpuc_tir_let(ctx, count, gpuc_tir_load1(ctx, s->counts, count_at(s, b, c)), add);
    gpuc_stmt step[] = {gpuc_topi_par_set(ctx, before, so_far), gpuc_topi_par_serial(ctx, c, s->parts, add),
                        gpuc_tir_store1(ctx, s->digits, b, earlier)};
    gpuc_stmt body = each_digit(s, b, gpuc_tir_seq(ctx, 3, step));
    set_zero(ctx, &body, sum);
    return gpuc_tir_alloc(ctx, before, body);
}

static gpuc_stmt scan_own(const sorter *s)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", GPUC_INT32);
    gpuc_expr b = gpuc_var(ctx, "b", GPUC_INDEX), count = gpuc_var(ctx, "count", GPUC_INT32),
              so_far = gpuc_topi_par_get(ctx, sum);
    gpuc_stmt step = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, s->digits, b, so_far),
                                   gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, so_far, count)));
    gpuc_stmt body = each_digit(s, b, gpuc_tir_let(ctx, count, gpuc_tir_load1(ctx, s->digits, b), step));
    set_zero(ctx, &body, sum);
    return body;
}

static gpuc_expr digit_count(const gpuc_scan *scan, gpuc_expr row, gpuc_expr i)
{
    return gpuc_tir_load1(scan->ctx, scan->arg, gpuc_add(scan->ctx, gpuc_mul(scan->ctx, row, scan->n), i));
}

/* A digit, where a lane has a whole row. */
static gpuc_stmt sort_own(const sorter *s, const pass *p)
{
    gpuc_stmt all[] = {count_digits(s, p), scan_own(s), move(s, p)};
    return gpuc_tir_seq(s->ctx, 3, all);
}

/* A digit, where lanes share a row. */
static gpuc_stmt sort_shared(const sorter *s, const pass *p)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr b = gpuc_var(ctx, "b", GPUC_INDEX), c = gpuc_var(ctx, "b", GPUC_INDEX);
    gpuc_stmt tell =
        gpuc_tir_store1(ctx, s->counts, count_at(s, b, s->part), gpuc_tir_load1(ctx, s->digits, b));
    gpuc_stmt count = each_lane(
        s, gpuc_tir_alloc(ctx, s->digits, gpuc_tir_seq2(ctx, count_digits(s, p), each_digit(s, b, tell))));
    if (!s->offsets)
        return gpuc_tir_seq2(
            ctx, count,
            each_lane(s, gpuc_tir_alloc(ctx, s->digits, gpuc_tir_seq2(ctx, scan_counts(s), move(s, p)))));
    gpuc_expr offset = gpuc_tir_load1(ctx, s->offsets, count_at(s, c, s->part));
    gpuc_stmt hear = gpuc_tir_store1(ctx, s->digits, c, offset);
    gpuc_scan scan = {.ctx = ctx,
                      .rows = s->o->rows,
                      .n = gpuc_mul(ctx, gpuc_int(ctx, DIGITS), s->parts),
                      .dtype = GPUC_INT32,
                      .exclusive = true,
                      .element = digit_count,
                      .arg = s->counts};
    gpuc_stmt all[] = {
        count,
        gpuc_topi_scan_emit(&scan, s->offsets),
        each_lane(s, gpuc_tir_alloc(ctx, s->digits, gpuc_tir_seq2(ctx, each_digit(s, c, hear), move(s, p)))),
    };
    return gpuc_tir_seq(ctx, 3, all);
}

/* All digits; what is wanted goes to out, all that take part to out where it is [rows * n]. Where a lane has a whole
 * row, that is one kernel. */
static gpuc_stmt sort_by_digits(sorter *s, const gpuc_tir_buffer *out, bool all_of_row)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr size = gpuc_mul(ctx, s->o->rows, s->o->n), digits = gpuc_int(ctx, DIGITS);
    int n = gpuc_topi_order_digits(s->o->value);
    int64_t parts = 0;
    bool known = gpuc_expr_is_int(s->parts, &parts), alone = known && parts == 1,
         few = known && parts <= GPUC_COMMON_digits_parts;
    gpuc_tir_buffer *const places[] = {gpuc_topi_par_workspace(ctx, "places", GPUC_INT32, size),
                                       gpuc_topi_par_workspace(ctx, "others", GPUC_INT32, size)};
    gpuc_expr all_counts = gpuc_mul(ctx, gpuc_mul(ctx, s->o->rows, digits), s->parts);
    gpuc_tir_buffer *counts = gpuc_topi_par_workspace(ctx, "counts", GPUC_INT32, all_counts),
                    *offsets = gpuc_topi_par_workspace(ctx, "offsets", GPUC_INT32, all_counts);
    s->counts = alone ? NULL : counts;
    s->offsets = few ? NULL : offsets;
    s->digits = gpuc_tir_buffer_make(ctx, "digits", GPUC_INT32, 1, &digits, GPUC_SCOPE_LOCAL);
    gpuc_stmt body = NULL;
    for (int d = 0; d < n; d++) {
        bool last = d == n - 1;
        pass p = {.digit = d,
                  .digits = n,
                  .from = d ? places[(d - 1) % 2] : NULL,
                  .to = last ? out : places[d % 2],
                  .last = last && !all_of_row};
        gpuc_stmt one = alone ? sort_own(s, &p) : sort_shared(s, &p);
        body = body ? gpuc_tir_seq2(ctx, body, one) : one;
    }
    if (alone) body = each_lane(s, gpuc_tir_alloc(ctx, s->digits, body));
    for (int i = 0; i < 2; i++)
        if (n > 1 + i) body = gpuc_tir_alloc(ctx, places[i], body);
    if (!few) body = gpuc_tir_alloc(ctx, offsets, body);
    return alone ? body : gpuc_tir_alloc(ctx, counts, body);
}

/* ---- Who takes part ---- */

/* The condition under which element i of the row takes part; ties: those that equal the threshold, so far. */
typedef struct gate {
    const gpuc_tir_buffer *threshold; /* of each row, in keys; NULL: o->takes says */
    const gpuc_tir_buffer *ties;
} gate;

static gpuc_stmt take(const sorter *s, const gate *g, gpuc_expr i, const gpuc_tir_buffer *took,
                      const gpuc_tir_buffer *count)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr number = gpuc_topi_par_get(ctx, count);
    gpuc_expr at = in_row(s, gpuc_add(ctx, first_of(s), gpuc_topi_par_index(ctx, number)));
    gpuc_stmt put = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, took, at, gpuc_topi_par_to_i32(ctx, i)),
                                  gpuc_topi_par_set(ctx, count, plus_one(ctx, number)));
    if (!g->threshold) return gpuc_tir_if_(ctx, s->o->takes(s->o, s->row, i), put, NULL);
    gpuc_expr value = s->o->key(s->o, s->row, i), key = gpuc_var(ctx, "key", gpuc_expr_dtype(value)),
              limit = gpuc_tir_load1(ctx, g->threshold, s->row), ties = gpuc_topi_par_get(ctx, g->ties);
    gpuc_expr before = gpuc_lt(ctx, key, limit);
    gpuc_expr more = gpuc_lt(ctx, ties, gpuc_topi_par_to_i32(ctx, s->o->keep));
    gpuc_stmt one = gpuc_tir_seq2(ctx, gpuc_tir_if_(ctx, gpuc_or(ctx, before, more), put, NULL),
                                  gpuc_tir_if_(ctx, gpuc_eq(ctx, key, limit),
                                               gpuc_topi_par_set(ctx, g->ties, plus_one(ctx, ties)), NULL));
    return gpuc_tir_let(ctx, key, value, gpuc_tir_if_(ctx, gpuc_le(ctx, key, limit), one, NULL));
}

/* took: from the first element of each lane on, the positions of those of its own that take part; taken:
 * their numbers */
static gpuc_stmt take_all(const sorter *s, const gate *g, const gpuc_tir_buffer *took,
                          const gpuc_tir_buffer *taken)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tir_buffer *count = gpuc_topi_par_cell(ctx, "count", GPUC_INT32);
    gpuc_expr j = gpuc_var(ctx, "j", GPUC_INDEX), i = gpuc_add(ctx, first_of(s), j);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, count, zero_of(ctx)),
                       g->ties ? gpuc_topi_par_set(ctx, g->ties, zero_of(ctx)) : NULL,
                       gpuc_topi_par_serial(ctx, j, count_of(s), take(s, g, i, took, count)),
                       gpuc_tir_store1(ctx, taken, s->lane, gpuc_topi_par_get(ctx, count))};
    gpuc_stmt body = gpuc_tir_alloc(ctx, count, gpuc_tir_seq(ctx, 4, all));
    if (g->ties) body = gpuc_tir_alloc(ctx, g->ties, body);
    return each_lane(s, body);
}

/* list: what the lanes took, one lane after the other; totals: their numbers */
static gpuc_stmt join_taken(const sorter *s, const gpuc_tir_buffer *took, const gpuc_tir_buffer *taken)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", GPUC_INT32);
    gpuc_expr c = gpuc_var(ctx, "c", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX),
              own = gpuc_var(ctx, "own", GPUC_INT32), so_far = gpuc_topi_par_get(ctx, sum);
    gpuc_expr one = gpuc_tir_load1(ctx, taken, gpuc_add(ctx, gpuc_mul(ctx, s->row, s->parts), c));
    gpuc_stmt add = gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, so_far, one));
    gpuc_expr to = in_row(s, gpuc_add(ctx, gpuc_topi_par_index(ctx, so_far), j)),
              from = in_row(s, gpuc_add(ctx, first_of(s), j));
    gpuc_stmt put = gpuc_tir_store1(ctx, s->list, to, gpuc_tir_load1(ctx, took, from));
    gpuc_expr last = gpuc_eq(ctx, s->part, gpuc_sub(ctx, s->parts, gpuc_int(ctx, 1)));
    gpuc_stmt all[] = {
        gpuc_topi_par_serial(ctx, c, s->part, add),
        gpuc_topi_par_serial(ctx, j, gpuc_min(ctx, s->width, gpuc_topi_par_index(ctx, own)), put),
        gpuc_tir_if_(ctx, last, gpuc_tir_store1(ctx, s->totals, s->row, gpuc_add(ctx, so_far, own)), NULL)};
    gpuc_stmt body = gpuc_tir_let(ctx, own, gpuc_tir_load1(ctx, taken, s->lane), gpuc_tir_seq(ctx, 3, all));
    set_zero(ctx, &body, sum);
    return each_lane(s, body);
}

static void make_list(sorter *s)
{
    gpuc_ctx *ctx = s->ctx;
    s->list = gpuc_topi_par_workspace(ctx, "list", GPUC_INT32, gpuc_mul(ctx, s->o->rows, s->o->n));
    s->totals = gpuc_topi_par_workspace(ctx, "totals", GPUC_INT32, s->o->rows);
}

/* Sorts those that pass the gate, and does `then`, which may read them. */
static gpuc_stmt sort_taken(sorter *s, const gate *g, const gpuc_tir_buffer *out, bool all_of_row,
                            gpuc_stmt then)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tir_buffer *took =
                        gpuc_topi_par_workspace(ctx, "took", GPUC_INT32, gpuc_mul(ctx, s->o->rows, s->o->n)),
                    *taken = gpuc_topi_par_workspace(ctx, "taken", GPUC_INT32,
                                                     gpuc_mul(ctx, s->o->rows, s->parts));
    gpuc_stmt all[] = {take_all(s, g, took, taken), join_taken(s, took, taken), NULL, then};
    s->share = gpuc_var(ctx, "share", GPUC_INDEX);
    int64_t n;
    if (g->threshold && gpuc_expr_is_int(s->o->n, &n) && n <= GPUC_COMMON_digits_long) {
        /* few are left: one kernel sorts them sooner than lanes together, in several */
        s->parts = gpuc_int(ctx, 1);
        s->width = s->o->n;
    }
    all[2] = sort_by_digits(s, out, all_of_row);
    gpuc_stmt body = gpuc_tir_seq(ctx, then ? 4 : 3, all);
    const gpuc_tir_buffer *const spaces[] = {took, taken, s->list, s->totals};
    for (int i = 0; i < 4; i++) body = gpuc_tir_alloc(ctx, spaces[i], body);
    return body;
}

/* ---- The threshold ---- */

typedef struct pieces {
    int64_t count, width; /* of a row; elements of one. No piece is empty */
} pieces;

/* firsts[row * count + q] = the key of the first element of piece q in the order */
static gpuc_stmt find_firsts(const gpuc_order *o, const pieces *p, gpuc_dtype type,
                             const gpuc_tir_buffer *firsts)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_tir_buffer *min = gpuc_topi_par_cell(ctx, "min", type);
    gpuc_expr lane = gpuc_var(ctx, "lane", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX),
              count = gpuc_int(ctx, p->count), width = gpuc_int(ctx, p->width);
    gpuc_expr row = gpuc_floordiv_(ctx, lane, count),
              from = gpuc_mul(ctx, gpuc_floormod_(ctx, lane, count), width);
    gpuc_expr key = o->key(o, row, gpuc_add(ctx, from, j));
    gpuc_stmt step = gpuc_topi_par_set(ctx, min, gpuc_min(ctx, gpuc_topi_par_get(ctx, min), key));
    gpuc_expr size = gpuc_min(ctx, width, gpuc_sub(ctx, o->n, from));
    gpuc_expr last = gpuc_imm_int(ctx, type, type.bits == 64 ? INT64_MAX : INT32_MAX);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, min, last), gpuc_topi_par_serial(ctx, j, size, step),
                       gpuc_tir_store1(ctx, firsts, lane, gpuc_topi_par_get(ctx, min))};
    return gpuc_topi_par_lanes(ctx, o->lanes, lane, gpuc_mul(ctx, o->rows, count),
                               gpuc_tir_alloc(ctx, min, gpuc_tir_seq(ctx, 3, all)));
}

/* threshold[row] = that of the firsts which is as many in order as are wanted */
static gpuc_stmt find_threshold(const gpuc_order *o, const pieces *p, const gpuc_tir_buffer *firsts,
                                const gpuc_tir_buffer *threshold)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_tir_buffer *rank = gpuc_topi_par_cell(ctx, "rank", GPUC_INT32);
    gpuc_expr lane = gpuc_var(ctx, "lane", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX),
              own = gpuc_var(ctx, "own", firsts->dtype), count = gpuc_int(ctx, p->count);
    gpuc_expr row = gpuc_floordiv_(ctx, lane, count), q = gpuc_floormod_(ctx, lane, count);
    gpuc_expr other = gpuc_tir_load1(ctx, firsts, gpuc_add(ctx, gpuc_mul(ctx, row, count), j));
    gpuc_expr before =
        gpuc_select(ctx, gpuc_lt(ctx, j, q), gpuc_le(ctx, other, own), gpuc_lt(ctx, other, own));
    gpuc_expr more = gpuc_add(ctx, gpuc_topi_par_get(ctx, rank), gpuc_cast(ctx, GPUC_INT32, before));
    gpuc_expr wanted =
        gpuc_eq(ctx, plus_one(ctx, gpuc_topi_par_get(ctx, rank)), gpuc_topi_par_to_i32(ctx, o->keep));
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, rank, zero_of(ctx)),
                       gpuc_topi_par_serial(ctx, j, count, gpuc_topi_par_set(ctx, rank, more)),
                       gpuc_tir_if_(ctx, wanted, gpuc_tir_store1(ctx, threshold, row, own), NULL)};
    gpuc_stmt body = gpuc_tir_let(ctx, own, gpuc_tir_load1(ctx, firsts, lane), gpuc_tir_seq(ctx, 3, all));
    return gpuc_topi_par_lanes(ctx, o->lanes, lane, gpuc_mul(ctx, o->rows, count),
                               gpuc_tir_alloc(ctx, rank, body));
}

/* ---- Sizes ---- */

static int64_t lanes_of(const gpuc_order *o)
{
    return gpuc_topi_par_cores(o->lanes) * o->lanes->simd_lanes * GPUC_COMMON_digits_tasks;
}

static int64_t ceil_of(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* As many parts as keep all lanes busy, none of them so small that its digits take longer than its elements. */
static sorter sorter_of(const gpuc_order *o)
{
    gpuc_ctx *ctx = o->ctx;
    int64_t rows, n, parts = 0;
    if (gpuc_expr_is_int(o->n, &n) && gpuc_expr_is_int(o->rows, &rows)) {
        parts = ceil_of(lanes_of(o), rows > 0 ? rows : 1);
        if (parts > n / GPUC_COMMON_digits_part) parts = n / GPUC_COMMON_digits_part;
        if (parts < ceil_of(n, GPUC_COMMON_digits_long)) parts = ceil_of(n, GPUC_COMMON_digits_long);
        if (parts < 1) parts = 1;
    }
    gpuc_expr width = parts ? gpuc_int(ctx, ceil_of(n, parts)) : gpuc_int(ctx, GPUC_COMMON_digits_open);
    return (sorter){.o = o,
                    .ctx = ctx,
                    .width = width,
                    .parts = parts ? gpuc_int(ctx, parts) : gpuc_topi_par_ceildiv(ctx, o->n, width),
                    .lane = gpuc_var(ctx, "lane", GPUC_INDEX),
                    .row = gpuc_var(ctx, "row", GPUC_INDEX),
                    .part = gpuc_var(ctx, "part", GPUC_INDEX)};
}

/* Whether leaving elements out pays: then their pieces. */
static bool selects(const gpuc_order *o, pieces *p)
{
    int64_t rows, n, keep;
    if (!gpuc_expr_is_int(o->n, &n) || !gpuc_expr_is_int(o->keep, &keep) || !gpuc_expr_is_int(o->rows, &rows))
        return false;
    if (keep < 1 || keep > GPUC_COMMON_digits_few || keep > n / GPUC_COMMON_digits_share) return false;
    p->count = 2 * keep;
    if (p->count < ceil_of(lanes_of(o), rows > 0 ? rows : 1))
        p->count = ceil_of(lanes_of(o), rows > 0 ? rows : 1);
    if (p->count < ceil_of(n, GPUC_COMMON_digits_long)) p->count = ceil_of(n, GPUC_COMMON_digits_long);
    if (p->count > n) p->count = n;
    p->width = n / p->count;
    p->count = ceil_of(n, p->width);
    return true;
}

gpuc_stmt gpuc_topi_order_by_digits(const gpuc_order *o, const gpuc_tir_buffer *out)
{
    gpuc_ctx *ctx = o->ctx;
    sorter s = sorter_of(o);
    pieces p;
    if (!selects(o, &p)) return sort_by_digits(&s, out, false);
    gpuc_dtype type = gpuc_expr_dtype(o->key(o, gpuc_int(ctx, 0), gpuc_int(ctx, 0)));
    gpuc_tir_buffer *firsts = gpuc_topi_par_workspace(ctx, "firsts", type,
                                                      gpuc_mul(ctx, o->rows, gpuc_int(ctx, p.count))),
                    *threshold = gpuc_topi_par_workspace(ctx, "threshold", type, o->rows);
    gate g = {threshold, gpuc_topi_par_cell(ctx, "ties", GPUC_INT32)};
    make_list(&s);
    gpuc_stmt all[] = {find_firsts(o, &p, type, firsts), find_threshold(o, &p, firsts, threshold),
                       sort_taken(&s, &g, out, false, NULL)};
    return gpuc_tir_alloc(ctx, firsts, gpuc_tir_alloc(ctx, threshold, gpuc_tir_seq(ctx, 3, all)));
}

gpuc_stmt gpuc_topi_order_rows_by_digits(const gpuc_order *o)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_order all = *o;
    all.keep = o->n;
    sorter s = sorter_of(&all);
    gate g = {NULL, NULL};
    gpuc_tir_buffer *order = gpuc_topi_par_workspace(ctx, "order", GPUC_INT32, gpuc_mul(ctx, o->rows, o->n));
    make_list(&s);
    gpuc_expr row = gpuc_var(ctx, "row", GPUC_INDEX), count = gpuc_tir_load1(ctx, s.totals, row);
    const gpuc_order_list list = {order, gpuc_mul(ctx, row, o->n),
                                  gpuc_min(ctx, o->n, gpuc_topi_par_index(ctx, count))};
    gpuc_stmt use = gpuc_topi_par_tasks(ctx, o->lanes, row, o->rows, o->use(o, row, &list));
    return gpuc_tir_alloc(ctx, order, sort_taken(&s, &g, order, true, use));
}
