/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts tiles of rows on CPUs, by keys that are integers. A task goes through a tile once. Few elements that are
 * wanted stay in order in a short list, into which those that go before its last one are inserted. Else what goes
 * before the last one that may be wanted is gathered; a full buffer is sorted by its digits, and cut to those that
 * are wanted. Both are stable: elements come by their positions. */
#include "target/constants.h"
#include "target/target.h"
#include "topi/sort/order.h"

enum { BLOCK = GPUC_COMMON_sort_block, LIST = GPUC_COMMON_sort_list, DIGITS = GPUC_TOPI_ORDER_DIGITS };

/* ---- Keys ---- */

static gpuc_expr as_bits(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr x)
{
    return gpuc_dtype_equal(t, gpuc_expr_dtype(x))
               ? x
               : gpuc_tir_call(ctx, t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &x);
}

gpuc_expr gpuc_topi_order_key(gpuc_ctx *ctx, gpuc_expr x, bool descending)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    bool is_float = gpuc_is_float(t), is_signed = t.code == GPUC_DTYPE_INT;
    gpuc_dtype wide = t.bits > 32 ? GPUC_INT64 : GPUC_INT32;
    gpuc_expr max = gpuc_imm_int(ctx, wide, wide.bits == 64 ? INT64_MAX : INT32_MAX),
              min = gpuc_imm_int(ctx, wide, wide.bits == 64 ? INT64_MIN : INT32_MIN), key;
    if (is_float) {
        x = gpuc_cast(ctx, wide.bits == 64 ? GPUC_FLOAT64 : GPUC_FLOAT32, x);
        key = as_bits(ctx, wide, x);
        key = gpuc_select(ctx, gpuc_lt(ctx, key, gpuc_imm_int(ctx, wide, 0)), gpuc_sub(ctx, min, key), key);
        key = gpuc_select(ctx, gpuc_call1(ctx, "isnan", x), max, key);
    } else if (is_signed || t.bits < 32) {
        key = gpuc_cast(ctx, wide, x);
    } else {
        key = gpuc_call2(ctx, "bitxor", as_bits(ctx, wide, x), min);
    }
    return descending ? gpuc_call1(ctx, "bitnot", key) : key;
}

int gpuc_topi_order_digits(gpuc_dtype value)
{
    if (gpuc_is_float(value) && value.bits < 32) return 4;
    int bits = value.bits;
    if (value.code != GPUC_DTYPE_INT && !gpuc_is_float(value) && bits < 32) bits++; /* no sign of its own */
    return bits <= 32 ? (bits + 7) / 8 : 8;
}

gpuc_expr gpuc_topi_order_digit(gpuc_ctx *ctx, gpuc_expr key, int d, int digits)
{
    gpuc_dtype t = gpuc_expr_dtype(key);
    gpuc_expr part = gpuc_call2(ctx, "shr", key, gpuc_imm_int(ctx, t, 8 * d));
    part = gpuc_call2(ctx, "bitand", part, gpuc_imm_int(ctx, t, DIGITS - 1));
    if (d == digits - 1) part = gpuc_call2(ctx, "bitxor", part, gpuc_imm_int(ctx, t, DIGITS / 2));
    return gpuc_topi_par_index(ctx, part);
}

/* ---- What a task has ---- */

typedef struct tile {
    const gpuc_order *o;
    gpuc_ctx *ctx;
    const gpuc_order_target *to;
    gpuc_dtype type;                      /* of keys */
    gpuc_expr row, start, size, wanted;   /* of the tile: variables */
    const gpuc_tir_buffer *keys, *places; /* of elements that were taken */
    const gpuc_tir_buffer *count;         /* of them: a cell */
    const gpuc_tir_buffer *passing;       /* a cell, too */
    /* of gathered elements: two parts of so many from base on, and which of them holds the elements */
    gpuc_expr base, room;
    const gpuc_tir_buffer *part, *last, *digits, *sum;
} tile;

static gpuc_expr one_of(gpuc_ctx *ctx)
{
    return gpuc_topi_par_i32(ctx, 1);
}

static gpuc_expr cell(const tile *t, const gpuc_tir_buffer *b)
{
    return gpuc_topi_par_index(t->ctx, gpuc_topi_par_get(t->ctx, b));
}

static gpuc_expr key_of(const tile *t, gpuc_expr i)
{
    return t->o->key(t->o, t->row, gpuc_add(t->ctx, t->start, i));
}

/* Stores the first elements that are wanted. */
static gpuc_stmt put_first(const tile *t, gpuc_expr from)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr j = gpuc_var(ctx, "j", GPUC_INDEX);
    gpuc_stmt put = gpuc_topi_order_put(t->o, t->to, t->row, gpuc_add(ctx, t->start, j),
                                        gpuc_tir_load1(ctx, t->places, gpuc_add(ctx, from, j)));
    return gpuc_topi_par_serial(ctx, j, t->wanted, put);
}

/* Runs take for each of a block of elements from `from` on, with its key and number in the tile, unless none is
 * below last and not `always`. The last block, which may not be whole, is not looked at first. */
static gpuc_stmt each_of_block(const tile *t, gpuc_expr from, gpuc_expr last, gpuc_expr always, gpuc_expr key,
                               gpuc_expr number, gpuc_stmt take)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX),
              bound = gpuc_var(ctx, "bound", t->type), zero = gpuc_topi_par_i32(ctx, 0),
              block = gpuc_int(ctx, BLOCK);
    gpuc_expr below = gpuc_cast(ctx, GPUC_INT32, gpuc_lt(ctx, key_of(t, gpuc_add(ctx, from, i)), bound));
    gpuc_expr more = gpuc_add(ctx, gpuc_topi_par_get(ctx, t->passing), below);
    gpuc_stmt test = gpuc_topi_par_serial(ctx, i, block, gpuc_topi_par_set(ctx, t->passing, more));
    test = gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, t->passing, zero), gpuc_tir_let(ctx, bound, last, test));
    gpuc_expr whole = gpuc_le(ctx, gpuc_add(ctx, from, block), t->size);
    if (always) whole = gpuc_and(ctx, whole, gpuc_not(ctx, always));
    test = gpuc_tir_if_(ctx, whole, test, gpuc_topi_par_set(ctx, t->passing, one_of(ctx)));
    take = gpuc_tir_let(ctx, key, key_of(t, number), take);
    take = gpuc_tir_let(ctx, number, gpuc_add(ctx, from, j), take);
    take = gpuc_topi_par_serial(ctx, j, gpuc_min(ctx, block, gpuc_sub(ctx, t->size, from)), take);
    gpuc_expr some = gpuc_lt(ctx, zero, gpuc_topi_par_get(ctx, t->passing));
    return gpuc_tir_seq2(ctx, test, gpuc_tir_if_(ctx, some, take, NULL));
}

static gpuc_stmt with_cells(gpuc_ctx *ctx, int n, const gpuc_tir_buffer *const *cells, gpuc_stmt body)
{
    for (int i = 0; i < n; i++) body = gpuc_tir_alloc(ctx, cells[i], body);
    return body;
}

static gpuc_expr position_of(const tile *t, gpuc_expr number)
{
    return gpuc_topi_par_to_i32(t->ctx, gpuc_add(t->ctx, t->start, number));
}

/* ---- The short list ---- */

/* Slots 1 on hold the elements in order; slot 0 is before all. */
typedef struct list {
    gpuc_expr slots; /* that there are, without slot 0 */
    const gpuc_tir_buffer *keys, *places, *next_keys, *next_places;
} list;

static gpuc_stmt copy(gpuc_ctx *ctx, const gpuc_tir_buffer *to, const gpuc_tir_buffer *from, gpuc_expr n)
{
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), at = gpuc_add(ctx, i, gpuc_int(ctx, 1));
    return gpuc_topi_par_serial(ctx, i, n, gpuc_tir_store1(ctx, to, at, gpuc_tir_load1(ctx, from, i)));
}

/* Inserts an element behind those that do not go after it; of a full list the last one leaves. All slots are made
 * anew, so that this is the work of vectors. */
static gpuc_stmt insert(const tile *t, const list *l, gpuc_expr key, gpuc_expr number)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), next = gpuc_add(ctx, i, gpuc_int(ctx, 1)),
              position = gpuc_var(ctx, "position", GPUC_INT32), count = gpuc_topi_par_get(ctx, t->count);
    gpuc_expr held[2], place[2], goes_after[2];
    for (int k = 0; k < 2; k++) {
        gpuc_expr slot = k ? next : i;
        held[k] = gpuc_tir_load1(ctx, l->keys, slot);
        place[k] = gpuc_tir_load1(ctx, l->places, slot);
        goes_after[k] =
            gpuc_or(ctx, gpuc_lt(ctx, key, held[k]), gpuc_lt(ctx, count, gpuc_topi_par_to_i32(ctx, slot)));
    }
    gpuc_expr new_key = gpuc_select(ctx, goes_after[1], key, held[1]),
              new_place = gpuc_select(ctx, goes_after[1], position, place[1]);
    gpuc_stmt make = gpuc_tir_seq2(
        ctx, gpuc_tir_store1(ctx, l->next_keys, i, gpuc_select(ctx, goes_after[0], held[0], new_key)),
        gpuc_tir_store1(ctx, l->next_places, i, gpuc_select(ctx, goes_after[0], place[0], new_place)));
    gpuc_expr more = gpuc_min(ctx, gpuc_add(ctx, count, one_of(ctx)), gpuc_topi_par_to_i32(ctx, t->wanted));
    gpuc_stmt all[] = {
        gpuc_topi_par_serial(ctx, i, l->slots, make), copy(ctx, l->keys, l->next_keys, l->slots),
        copy(ctx, l->places, l->next_places, l->slots), gpuc_topi_par_set(ctx, t->count, more)};
    return gpuc_tir_let(ctx, position, position_of(t, number), gpuc_tir_seq(ctx, 4, all));
}

static gpuc_stmt sort_few(const gpuc_order *o, tile t)
{
    gpuc_ctx *ctx = t.ctx;
    int64_t known = gpuc_op_max_size(ctx, o->keep);
    gpuc_expr one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0), b = gpuc_var(ctx, "b", GPUC_INDEX);
    gpuc_expr slots = gpuc_int(ctx, known < LIST ? known : LIST), size = gpuc_add(ctx, slots, one);
    list l = {.slots = gpuc_expr_is_int(o->keep, &known) ? slots : t.wanted};
    t.keys = l.keys = gpuc_tir_buffer_make(ctx, "list", t.type, 1, &size, GPUC_SCOPE_LOCAL);
    t.places = l.places = gpuc_tir_buffer_make(ctx, "list_places", GPUC_INT32, 1, &size, GPUC_SCOPE_LOCAL);
    l.next_keys = gpuc_tir_buffer_make(ctx, "next", t.type, 1, &slots, GPUC_SCOPE_LOCAL);
    l.next_places = gpuc_tir_buffer_make(ctx, "next_places", GPUC_INT32, 1, &slots, GPUC_SCOPE_LOCAL);
    gpuc_expr key = gpuc_var(ctx, "key", t.type), number = gpuc_var(ctx, "number", GPUC_INDEX),
              s = gpuc_var(ctx, "s", GPUC_INDEX);
    gpuc_expr last = gpuc_tir_load1(ctx, t.keys, t.wanted), count = gpuc_topi_par_get(ctx, t.count);
    gpuc_expr is_short = gpuc_lt(ctx, count, gpuc_topi_par_to_i32(ctx, t.wanted));
    gpuc_stmt take =
        gpuc_tir_if_(ctx, gpuc_or(ctx, is_short, gpuc_lt(ctx, key, last)), insert(&t, &l, key, number), NULL);
    gpuc_stmt block =
        each_of_block(&t, gpuc_mul(ctx, b, gpuc_int(ctx, BLOCK)), last, is_short, key, number, take);
    gpuc_expr least = gpuc_imm_int(ctx, t.type, t.type.bits == 64 ? INT64_MIN : INT32_MIN);
    gpuc_stmt begin = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, t.keys, s, least),
                                    gpuc_tir_store1(ctx, t.places, s, gpuc_topi_par_i32(ctx, 0)));
    gpuc_stmt all[] = {
        gpuc_topi_par_set(ctx, t.count, gpuc_topi_par_i32(ctx, 0)), gpuc_topi_par_serial(ctx, s, size, begin),
        gpuc_topi_par_serial(ctx, b, gpuc_topi_par_ceildiv(ctx, t.size, gpuc_int(ctx, BLOCK)), block),
        put_first(&t, one)};
    gpuc_stmt body = gpuc_tir_if_(ctx, gpuc_lt(ctx, zero, t.wanted), gpuc_tir_seq(ctx, 4, all), NULL);
    const gpuc_tir_buffer *const cells[] = {l.keys, l.places, l.next_keys, l.next_places, t.count, t.passing};
    return with_cells(ctx, 6, cells, body);
}

/* ---- Gathered elements ---- */

/* Where element i of the part that holds them is; of the other part. */
static gpuc_expr held(const tile *t, gpuc_expr i)
{
    return gpuc_add(t->ctx, gpuc_add(t->ctx, t->base, cell(t, t->part)), i);
}

static gpuc_expr other(const tile *t, gpuc_expr i)
{
    gpuc_expr to = gpuc_sub(t->ctx, t->room, cell(t, t->part));
    return gpuc_add(t->ctx, gpuc_add(t->ctx, t->base, to), i);
}

static gpuc_stmt count_digits(const tile *t, int digits)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr b = gpuc_var(ctx, "b", GPUC_INDEX), i = gpuc_var(ctx, "i", GPUC_INDEX),
              key = gpuc_var(ctx, "key", t->type);
    gpuc_stmt counts = NULL;
    for (int d = 0; d < digits; d++) {
        gpuc_expr at = gpuc_add(ctx, gpuc_int(ctx, d * DIGITS), gpuc_topi_order_digit(ctx, key, d, digits));
        gpuc_expr more = gpuc_add(ctx, gpuc_tir_load1(ctx, t->digits, at), one_of(ctx));
        gpuc_stmt put = gpuc_tir_store1(ctx, t->digits, at, more);
        counts = counts ? gpuc_tir_seq2(ctx, counts, put) : put;
    }
    counts = gpuc_tir_let(ctx, key, gpuc_tir_load1(ctx, t->keys, held(t, i)), counts);
    gpuc_stmt clear = gpuc_tir_store1(ctx, t->digits, b, gpuc_topi_par_i32(ctx, 0));
    return gpuc_tir_seq2(ctx, gpuc_topi_par_serial(ctx, b, gpuc_int(ctx, digits * DIGITS), clear),
                         gpuc_topi_par_serial(ctx, i, cell(t, t->count), counts));
}

/* Moves all to the other part, in the order of a digit, unless it is the same in all. */
static gpuc_stmt sort_by_digit(const tile *t, int d, int digits)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr b = gpuc_var(ctx, "b", GPUC_INDEX), i = gpuc_var(ctx, "i", GPUC_INDEX), zero = gpuc_int(ctx, 0);
    gpuc_expr key = gpuc_var(ctx, "key", t->type), first = gpuc_var(ctx, "first", t->type),
              n = gpuc_var(ctx, "n", GPUC_INT32), to = gpuc_var(ctx, "to", GPUC_INT32);
    gpuc_expr slot = gpuc_add(ctx, gpuc_int(ctx, d * DIGITS), b),
              at = gpuc_add(ctx, gpuc_int(ctx, d * DIGITS), gpuc_topi_order_digit(ctx, key, d, digits));
    gpuc_expr sum = gpuc_topi_par_get(ctx, t->sum);
    gpuc_stmt begin = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, t->digits, slot, sum),
                                    gpuc_topi_par_set(ctx, t->sum, gpuc_add(ctx, sum, n)));
    begin = gpuc_tir_let(ctx, n, gpuc_tir_load1(ctx, t->digits, slot), begin);
    gpuc_expr there = other(t, gpuc_topi_par_index(ctx, to));
    gpuc_stmt move[] = {gpuc_tir_store1(ctx, t->digits, at, gpuc_add(ctx, to, one_of(ctx))),
                        gpuc_tir_store1(ctx, t->keys, there, key),
                        gpuc_tir_store1(ctx, t->places, there, gpuc_tir_load1(ctx, t->places, held(t, i)))};
    gpuc_stmt moves = gpuc_tir_let(ctx, to, gpuc_tir_load1(ctx, t->digits, at), gpuc_tir_seq(ctx, 3, move));
    moves = gpuc_tir_let(ctx, key, gpuc_tir_load1(ctx, t->keys, held(t, i)), moves);
    gpuc_expr flipped = gpuc_sub(ctx, gpuc_topi_par_to_i32(ctx, t->room), gpuc_topi_par_get(ctx, t->part));
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, t->sum, gpuc_topi_par_i32(ctx, 0)),
                       gpuc_topi_par_serial(ctx, b, gpuc_int(ctx, DIGITS), begin),
                       gpuc_topi_par_serial(ctx, i, cell(t, t->count), moves),
                       gpuc_topi_par_set(ctx, t->part, flipped)};
    gpuc_expr same = gpuc_add(ctx, gpuc_int(ctx, d * DIGITS), gpuc_topi_order_digit(ctx, first, d, digits));
    gpuc_expr differs = gpuc_ne(ctx, gpuc_tir_load1(ctx, t->digits, same), gpuc_topi_par_get(ctx, t->count));
    return gpuc_tir_let(ctx, first, gpuc_tir_load1(ctx, t->keys, held(t, zero)),
                        gpuc_tir_if_(ctx, differs, gpuc_tir_seq(ctx, 4, all), NULL));
}

/* Sorts what was gathered, and cuts it to those that are wanted. */
static gpuc_stmt sort_gathered(const tile *t, int digits)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr end = gpuc_max(ctx, gpuc_sub(ctx, cell(t, t->count), gpuc_int(ctx, 1)), gpuc_int(ctx, 0));
    gpuc_stmt all = count_digits(t, digits);
    for (int d = 0; d < digits; d++) all = gpuc_tir_seq2(ctx, all, sort_by_digit(t, d, digits));
    gpuc_expr fewer = gpuc_min(ctx, gpuc_topi_par_get(ctx, t->count), gpuc_topi_par_to_i32(ctx, t->wanted));
    gpuc_stmt cut[] = {all, gpuc_topi_par_set(ctx, t->count, fewer),
                       gpuc_topi_par_set(ctx, t->last, gpuc_tir_load1(ctx, t->keys, held(t, end)))};
    return gpuc_tir_seq(ctx, 3, cut);
}

/* Puts an element behind those that were gathered. */
static gpuc_stmt gather(const tile *t, gpuc_expr key, gpuc_expr number, gpuc_expr more)
{
    gpuc_ctx *ctx = t->ctx;
    gpuc_expr at = held(t, cell(t, t->count)), count = gpuc_topi_par_get(ctx, t->count);
    gpuc_stmt all[] = {gpuc_tir_store1(ctx, t->keys, at, key),
                       gpuc_tir_store1(ctx, t->places, at, position_of(t, number)),
                       gpuc_topi_par_set(ctx, t->count, gpuc_add(ctx, count, more))};
    return gpuc_tir_seq(ctx, 3, all);
}

static gpuc_stmt sort_many(tile t, int digits)
{
    gpuc_ctx *ctx = t.ctx;
    const gpuc_order *o = t.o;
    gpuc_expr counts = gpuc_int(ctx, digits * DIGITS), zero = gpuc_topi_par_i32(ctx, 0),
              block = gpuc_int(ctx, BLOCK);
    t.part = gpuc_topi_par_cell(ctx, "part", GPUC_INT32);
    t.last = gpuc_topi_par_cell(ctx, "last", t.type);
    t.sum = gpuc_topi_par_cell(ctx, "sum", GPUC_INT32);
    t.digits = gpuc_tir_buffer_make(ctx, "digits", GPUC_INT32, 1, &counts, GPUC_SCOPE_LOCAL);
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), b = gpuc_var(ctx, "b", GPUC_INDEX),
              key = gpuc_var(ctx, "key", t.type), number = gpuc_var(ctx, "number", GPUC_INDEX);
    /* the first ones fill the buffer */
    gpuc_expr first = gpuc_min(ctx, t.size, t.room), at = gpuc_add(ctx, t.base, i);
    gpuc_stmt fill = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, t.keys, at, key_of(&t, i)),
                                   gpuc_tir_store1(ctx, t.places, at, position_of(&t, i)));
    gpuc_stmt filled = gpuc_topi_par_set(ctx, t.count, gpuc_topi_par_to_i32(ctx, first));
    if (o->takes) {
        gpuc_expr taken = gpuc_cast(ctx, GPUC_INT32, o->takes(o, t.row, i));
        fill = gather(&t, key_of(&t, i), i, taken);
        filled = NULL;
    }
    gpuc_expr rest = gpuc_sub(ctx, t.size, first), blocks = gpuc_topi_par_ceildiv(ctx, rest, block);
    gpuc_expr from = gpuc_add(ctx, first, gpuc_mul(ctx, b, block));
    gpuc_expr below = gpuc_cast(ctx, GPUC_INT32, gpuc_lt(ctx, key, gpuc_topi_par_get(ctx, t.last)));
    gpuc_stmt next = each_of_block(&t, from, gpuc_topi_par_get(ctx, t.last), NULL, key, number,
                                   gather(&t, key, number, below));
    gpuc_expr full = gpuc_lt(ctx, gpuc_sub(ctx, t.room, block), cell(&t, t.count));
    gpuc_stmt step = gpuc_tir_seq2(
        ctx, gpuc_tir_if_(ctx, gpuc_or(ctx, gpuc_eq(ctx, b, blocks), full), sort_gathered(&t, digits), NULL),
        gpuc_tir_if_(ctx, gpuc_lt(ctx, b, blocks), next, NULL));
    const gpuc_order_list list = {t.places, held(&t, gpuc_int(ctx, 0)), cell(&t, t.count)};
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, t.part, zero),
                       gpuc_topi_par_set(ctx, t.last, gpuc_imm_int(ctx, t.type, 0)),
                       gpuc_topi_par_set(ctx, t.count, zero),
                       gpuc_topi_par_serial(ctx, i, first, fill),
                       filled,
                       gpuc_topi_par_serial(ctx, b, gpuc_add(ctx, blocks, gpuc_int(ctx, 1)), step),
                       o->use ? o->use(o, t.row, &list) : put_first(&t, list.from)};
    return with_cells(ctx, 6,
                      (const gpuc_tir_buffer *const[]){t.part, t.last, t.sum, t.digits, t.count, t.passing},
                      gpuc_tir_seq(ctx, 7, all));
}

/* ---- Tiles ---- */

static int64_t tasks_of(const gpuc_order *o)
{
    return gpuc_topi_par_cores(o->target) * GPUC_COMMON_sort_tasks;
}

int64_t gpuc_topi_order_key_tile(const gpuc_order *o)
{
    if (!o->key || !o->target) return 0;
    if (gpuc_op_max_size(o->ctx, o->keep) > GPUC_COMMON_sort_few) return GPUC_COMMON_sort_core_tile;
    int64_t size, fair = 0; /* for half of the tasks: fewer runs are merged */
    if (gpuc_expr_is_int(gpuc_mul(o->ctx, o->rows, o->n), &size)) fair = 2 * (size / tasks_of(o) + 1);
    return fair > GPUC_COMMON_sort_core_tile_of_few ? fair : GPUC_COMMON_sort_core_tile_of_few;
}

gpuc_stmt gpuc_topi_order_sort_keys(const gpuc_order *o, int64_t tile_size, const gpuc_order_target *to)
{
    gpuc_ctx *ctx = o->ctx;
    bool whole = gpuc_op_max_size(ctx, o->n) <= tile_size;
    gpuc_expr width = whole ? o->n : gpuc_min(ctx, o->n, gpuc_int(ctx, tile_size)), zero = gpuc_int(ctx, 0),
              one = gpuc_int(ctx, 1);
    gpuc_expr tiles = whole ? one : gpuc_topi_par_ceildiv(ctx, o->n, gpuc_int(ctx, tile_size));
    gpuc_expr items = gpuc_mul(ctx, o->rows, tiles), task = gpuc_var(ctx, "task", GPUC_INDEX),
              own = gpuc_var(ctx, "own", GPUC_INDEX), item = gpuc_var(ctx, "item", GPUC_INDEX);
    gpuc_expr tasks = gpuc_min(ctx, items, gpuc_int(ctx, tasks_of(o))),
              each = gpuc_topi_par_ceildiv(ctx, items, gpuc_max(ctx, tasks, one));
    gpuc_expr twice =
        gpuc_add(ctx, gpuc_mul(ctx, o->keep, gpuc_int(ctx, 2)), gpuc_int(ctx, GPUC_COMMON_sort_room));
    gpuc_expr room = gpuc_min(ctx, width, twice), two = gpuc_mul(ctx, room, gpuc_int(ctx, 2));
    gpuc_expr some = o->key(o, zero, zero);
    tile t = {.o = o, .ctx = ctx, .to = to, .type = gpuc_expr_dtype(some), .room = room};
    t.row = gpuc_var(ctx, "row", GPUC_INDEX);
    t.start = gpuc_var(ctx, "start", GPUC_INDEX);
    t.size = gpuc_var(ctx, "size", GPUC_INDEX);
    t.wanted = gpuc_var(ctx, "wanted", GPUC_INDEX);
    t.base = gpuc_mul(ctx, task, two);
    t.count = gpuc_topi_par_cell(ctx, "count", GPUC_INT32);
    t.passing = gpuc_topi_par_cell(ctx, "passing", GPUC_INT32);

    gpuc_expr few = gpuc_le(ctx, o->keep, gpuc_int(ctx, LIST));
    int64_t is_few = !o->use && gpuc_op_max_size(ctx, o->keep) <= LIST;
    bool known = o->use || is_few || gpuc_expr_is_int(few, &is_few);
    gpuc_tir_buffer *keys = NULL, *places = NULL;
    gpuc_stmt list = !known || is_few ? sort_few(o, t) : NULL, gathered = NULL;
    if (!known || !is_few) {
        gpuc_expr space = gpuc_mul(ctx, tasks, two);
        if (o->use) space = gpuc_max(ctx, space, one); /* tasks have rows without elements, too */
        t.keys = keys = gpuc_topi_par_workspace(ctx, "keys", t.type, space);
        t.places = places = gpuc_topi_par_workspace(ctx, "places", GPUC_INT32, space);
        gathered = sort_many(t, gpuc_topi_order_digits(o->value));
    }
    gpuc_stmt body = known ? (is_few ? list : gathered) : gpuc_tir_if_(ctx, few, list, gathered);
    gpuc_expr rest = gpuc_sub(ctx, o->n, t.start);
    body = gpuc_tir_let(ctx, t.wanted, whole ? o->keep : gpuc_min(ctx, o->keep, t.size), body);
    body = gpuc_tir_let(ctx, t.size, whole ? o->n : gpuc_min(ctx, width, rest), body);
    gpuc_expr start = gpuc_mul(ctx, gpuc_floormod_(ctx, item, tiles), gpuc_int(ctx, tile_size));
    body = gpuc_tir_let(ctx, t.start, whole ? zero : start, body);
    body = gpuc_tir_let(ctx, t.row, gpuc_floordiv_(ctx, item, tiles), body);
    gpuc_expr first = gpuc_mul(ctx, task, each);
    body = gpuc_tir_let(ctx, item, gpuc_add(ctx, first, own), body);
    body = gpuc_topi_par_serial(ctx, own, gpuc_min(ctx, each, gpuc_sub(ctx, items, first)), body);
    body = gpuc_topi_par_tasks(ctx, o->target, task, tasks, body);
    if (keys) body = gpuc_tir_alloc(ctx, keys, gpuc_tir_alloc(ctx, places, body));
    return body;
}

gpuc_stmt gpuc_topi_order_sort_rows(const gpuc_order *o)
{
    if (o->lanes) return gpuc_topi_order_rows_by_digits(o);
    gpuc_order all = *o;
    all.keep = o->n;
    return gpuc_topi_order_sort_keys(&all, INT64_MAX, NULL);
}
