/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the loops of attention. A task goes through the keys block by block, and keeps for each of its
 * queries the max score so far, the sum of exp(score - max), and the sum of values weighted by these. Where a
 * block has a larger score, the sums so far are scaled by exp(old max - new max). */
#include <float.h>

#include "topi/nn/attention.h"
#include "topi/parallel.h"

typedef struct emitter {
    const gpuc_attention *a;
    const gpuc_attention_tile *t;
    gpuc_ctx *ctx;
    gpuc_expr *batch, query; /* the task's index of the batch, its first query */
    gpuc_expr key, count;    /* first of the block, how many there are */
    gpuc_expr thread;        /* of a group; NULL: tasks are alone */
    gpuc_tir_buffer *near_keys, *near_values;
    gpuc_tir_buffer *queries, *scores, *sums, *max_score, *total, *shrunk;
} emitter;

/* A query of the task. */
typedef struct place {
    gpuc_expr vector, lane;
} place;

static gpuc_expr counter(const emitter *e, const char *name, int64_t extent)
{
    return extent == 1 ? gpuc_int(e->ctx, 0) : gpuc_var(e->ctx, name, GPUC_INDEX);
}

static place place_of(const emitter *e)
{
    return (place){counter(e, "vector", e->t->vectors), counter(e, "lane", e->t->lanes)};
}

static gpuc_stmt loop(const emitter *e, gpuc_expr var, int64_t extent, gpuc_loop_kind kind, gpuc_stmt body)
{
    if (extent == 1) return body;
    return gpuc_tir_for_(e->ctx, var, gpuc_int(e->ctx, 0), gpuc_int(e->ctx, extent), kind, GPUC_THREAD_NONE,
                         body);
}

/* Queries that tasks have from the first one of a group on. */
static int64_t queries_at_once(const emitter *e)
{
    return e->t->lanes * e->t->vectors * (e->thread ? e->t->threads : 1);
}

static gpuc_stmt each_place(const emitter *e, place p, gpuc_stmt body)
{
    body = loop(e, p.lane, e->t->lanes, GPUC_LOOP_VECTORIZED, body);
    return loop(e, p.vector, e->t->vectors, GPUC_LOOP_UNROLLED, body);
}

static gpuc_expr number(const emitter *e, double v)
{
    return gpuc_imm(e->ctx, e->a->work, v);
}

static gpuc_expr query_of(const emitter *e, place p)
{
    gpuc_expr at = gpuc_mul(e->ctx, p.vector, gpuc_int(e->ctx, e->t->lanes));
    return gpuc_add(e->ctx, e->query, gpuc_add(e->ctx, at, p.lane));
}

/* Row i of an array that has an element for each query. */
static gpuc_expr slot(const emitter *e, gpuc_expr i, place p)
{
    gpuc_ctx *ctx = e->ctx;
    gpuc_expr vector = gpuc_add(ctx, gpuc_mul(ctx, i, gpuc_int(ctx, e->t->vectors)), p.vector);
    return gpuc_add(ctx, gpuc_mul(ctx, vector, gpuc_int(ctx, e->t->lanes)), p.lane);
}

static gpuc_expr get(const emitter *e, const gpuc_tir_buffer *b, gpuc_expr i, place p)
{
    return gpuc_tir_load1(e->ctx, b, slot(e, i, p));
}

static gpuc_stmt put(const emitter *e, const gpuc_tir_buffer *b, gpuc_expr i, place p, gpuc_expr value)
{
    return gpuc_tir_store1(e->ctx, b, slot(e, i, p), value);
}

static gpuc_tir_buffer *array(const emitter *e, const char *name, int64_t rows)
{
    gpuc_expr size = gpuc_int(e->ctx, (rows > 0 ? rows : 1) * e->t->vectors * e->t->lanes);
    return gpuc_tir_buffer_make(e->ctx, name, e->a->work, 1, &size, GPUC_SCOPE_LOCAL);
}

/* The element of a tensor for an index into [batch..., row, column], under broadcasting. */
static gpuc_expr read(const emitter *e, const gpuc_attention_operand *o, gpuc_expr row, gpuc_expr column)
{
    gpuc_ctx *ctx = e->ctx;
    gpuc_expr at[GPUC_TOPI_MAX_DIMS];
    int batch = e->a->num_batch, n = batch + 2;
    for (int i = 0; i < o->ndim; i++) {
        int k = n - o->ndim + i;
        gpuc_expr dim = o->dims[i], zero = gpuc_int(ctx, 0),
                  x = k < batch    ? e->batch[k]
                      : k == batch ? row
                                   : column,
                  whole = k < batch    ? e->a->batch[k]
                          : k == batch ? e->a->queries
                                       : e->a->keys;
        bool matrix = o != &e->a->bias && k >= batch;
        if (gpuc_tir_is_const(dim, 1))
            x = zero;
        else if (!matrix && dim != whole && dim->kind != GPUC_EXPR_INT)
            x = gpuc_select(ctx, gpuc_eq(ctx, dim, gpuc_int(ctx, 1)), zero, x);
        at[o->axes[i]] = x;
    }
    return gpuc_tir_load(ctx, o->buffer, o->ndim, at);
}

static gpuc_expr widened(const emitter *e, gpuc_expr x)
{
    return gpuc_cast(e->ctx, e->a->work, x);
}

/* i, clamped to the last of n where it may be beyond. */
static gpuc_expr within(const emitter *e, gpuc_expr i, gpuc_expr n, int64_t step)
{
    gpuc_ctx *ctx = e->ctx;
    int64_t known;
    if (gpuc_expr_is_int(n, &known) && known % step == 0) return i;
    return gpuc_min(ctx, i, gpuc_sub(ctx, n, gpuc_int(ctx, 1)));
}

static gpuc_stmt start(const emitter *e)
{
    gpuc_ctx *ctx = e->ctx;
    gpuc_expr zero = gpuc_int(ctx, 0), d = counter(e, "d", e->a->head), c = counter(e, "c", e->a->value);
    place p = place_of(e), q = place_of(e), r = place_of(e);
    double min = e->a->work.bits == 64 ? -DBL_MAX : -(double)FLT_MAX;
    gpuc_expr row = within(e, query_of(e, q), e->a->queries, queries_at_once(e));
    gpuc_expr query = gpuc_mul(ctx, widened(e, read(e, &e->a->query, row, d)), number(e, e->a->scale));
    gpuc_stmt none = gpuc_tir_seq2(ctx, put(e, e->max_score, zero, p, number(e, min)),
                                   put(e, e->total, zero, p, number(e, 0)));
    gpuc_stmt all[] = {
        each_place(e, p, none),
        loop(e, d, e->a->head, GPUC_LOOP_SERIAL, each_place(e, q, put(e, e->queries, d, q, query))),
        loop(e, c, e->a->value, GPUC_LOOP_SERIAL, each_place(e, r, put(e, e->sums, c, r, number(e, 0)))),
    };
    return gpuc_tir_seq(ctx, 3, all);
}

/* Keys of a block, of which scores are made a few at a time. */
static int64_t rows_of(const gpuc_attention_tile *t)
{
    return (t->keys + t->key_tile - 1) / t->key_tile * t->key_tile;
}

/* The threads of a group copy rows of the block, the last one again where it has fewer. */
static gpuc_stmt bring(const emitter *e, const gpuc_attention_operand *from, const gpuc_tir_buffer *to,
                       int64_t columns)
{
    gpuc_ctx *ctx = e->ctx;
    int64_t rows = rows_of(e->t), total = rows * columns, turns = (total + e->t->threads - 1) / e->t->threads;
    if (total == 0) return NULL;
    gpuc_expr turn = counter(e, "turn", turns), width = gpuc_int(ctx, columns);
    gpuc_expr i = gpuc_add(ctx, gpuc_mul(ctx, turn, gpuc_int(ctx, e->t->threads)), e->thread);
    gpuc_expr row = gpuc_add(ctx, e->key, gpuc_floordiv_(ctx, i, width));
    row = within(e, row, e->a->keys, rows == e->t->keys ? rows : INT64_MAX);
    gpuc_expr value = read(e, from, row, gpuc_floormod_(ctx, i, width));
    gpuc_stmt s = gpuc_tir_store1(ctx, to, i, value);
    if (total % e->t->threads) s = gpuc_tir_if_(ctx, gpuc_lt(ctx, i, gpuc_int(ctx, total)), s, NULL);
    return loop(e, turn, turns, GPUC_LOOP_SERIAL, s);
}

/* An element of the block's keys or values: row j of it. */
static gpuc_expr near(const emitter *e, const gpuc_tir_buffer *b, gpuc_expr j, gpuc_expr column,
                      int64_t columns)
{
    gpuc_expr at = gpuc_add(e->ctx, gpuc_mul(e->ctx, j, gpuc_int(e->ctx, columns)), column);
    return gpuc_tir_load1(e->ctx, b, at);
}

static gpuc_expr biased(const emitter *e, gpuc_expr score, gpuc_expr query, gpuc_expr key)
{
    gpuc_ctx *ctx = e->ctx;
    if (!e->a->biased) return score;
    gpuc_expr bias = read(e, &e->a->bias, query, key);
    if (e->a->logical) return gpuc_select(ctx, bias, score, number(e, e->a->fill));
    return gpuc_add(ctx, score, widened(e, bias));
}

/* The scores of the block: a few keys at a time, the last of which may be the last key again. */
static gpuc_stmt score(const emitter *e)
{
    gpuc_ctx *ctx = e->ctx;
    int64_t tile = e->t->key_tile;
    gpuc_tir_buffer *dot = array(e, "dot", tile);
    gpuc_expr group = gpuc_var(ctx, "group", GPUC_INDEX), d = gpuc_var(ctx, "d", GPUC_INDEX), j[3];
    for (int i = 0; i < 3; i++) j[i] = counter(e, "j", tile);
    place p = place_of(e), q = place_of(e), r = place_of(e);
    gpuc_expr first = gpuc_mul(ctx, group, gpuc_int(ctx, tile));
    gpuc_expr own = gpuc_add(ctx, e->key, gpuc_add(ctx, first, j[1]));
    gpuc_expr key = widened(e, e->thread ? near(e, e->near_keys, gpuc_add(ctx, first, j[1]), d, e->a->head)
                                         : read(e, &e->a->key, within(e, own, e->a->keys, tile), d));
    gpuc_expr product = gpuc_mul(ctx, key, get(e, e->queries, d, q));
    gpuc_expr last = within(e, gpuc_add(ctx, e->key, gpuc_add(ctx, first, j[2])), e->a->keys, tile);
    gpuc_expr query = within(e, query_of(e, r), e->a->queries, queries_at_once(e));
    gpuc_stmt clear = each_place(e, p, put(e, dot, j[0], p, number(e, 0))),
              add = each_place(e, q, put(e, dot, j[1], q, gpuc_add(ctx, get(e, dot, j[1], q), product))),
              done = each_place(e, r,
                                put(e, e->scores, gpuc_add(ctx, first, j[2]), r,
                                    biased(e, get(e, dot, j[2], r), query, last)));
    gpuc_stmt all[] = {
        loop(e, j[0], tile, GPUC_LOOP_UNROLLED, clear),
        gpuc_topi_par_serial(ctx, d, gpuc_int(ctx, e->a->head), loop(e, j[1], tile, GPUC_LOOP_UNROLLED, add)),
        loop(e, j[2], tile, GPUC_LOOP_UNROLLED, done),
    };
    return gpuc_topi_par_serial(ctx, group, gpuc_topi_par_ceildiv(ctx, e->count, gpuc_int(ctx, tile)),
                                gpuc_tir_alloc(ctx, dot, gpuc_tir_seq(ctx, 3, all)));
}

/* Scores become weights. */
static gpuc_stmt weigh(const emitter *e)
{
    gpuc_ctx *ctx = e->ctx;
    gpuc_expr zero = gpuc_int(ctx, 0), j = gpuc_var(ctx, "j", GPUC_INDEX), k = gpuc_var(ctx, "j", GPUC_INDEX);
    gpuc_tir_buffer *max = array(e, "most", 1), *sum = array(e, "sum", 1);
    place p = place_of(e), q = place_of(e), r = place_of(e), s = place_of(e), t = place_of(e);
    gpuc_expr seen = get(e, max, zero, q), score = get(e, e->scores, j, q);
    gpuc_expr shrink =
        gpuc_call1(ctx, "exp", gpuc_sub(ctx, get(e, e->max_score, zero, r), get(e, max, zero, r)));
    gpuc_expr weight = gpuc_call1(ctx, "exp", gpuc_sub(ctx, get(e, e->scores, k, s), get(e, max, zero, s)));
    gpuc_stmt shrunk[] = {
        put(e, e->shrunk, zero, r, shrink),
        put(e, sum, zero, r, gpuc_mul(ctx, get(e, e->total, zero, r), get(e, e->shrunk, zero, r))),
        put(e, e->max_score, zero, r, get(e, max, zero, r)),
    };
    gpuc_stmt weighed =
        gpuc_tir_seq2(ctx, put(e, e->scores, k, s, weight),
                      put(e, sum, zero, s, gpuc_add(ctx, get(e, sum, zero, s), get(e, e->scores, k, s))));
    gpuc_stmt all[] = {
        each_place(e, p, put(e, max, zero, p, get(e, e->max_score, zero, p))),
        gpuc_topi_par_serial(
            ctx, j, e->count,
            each_place(e, q, put(e, max, zero, q, gpuc_select(ctx, gpuc_lt(ctx, seen, score), score, seen)))),
        each_place(e, r, gpuc_tir_seq(ctx, 3, shrunk)),
        gpuc_topi_par_serial(ctx, k, e->count, each_place(e, s, weighed)),
        each_place(e, t, put(e, e->total, zero, t, get(e, sum, zero, t))),
    };
    return gpuc_tir_alloc(ctx, max, gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 5, all)));
}

/* Columns of the result from `from` on, tile by tile: scales the sums so far and adds the values of this
 * block. */
static gpuc_stmt gather_columns(const emitter *e, int64_t from, int64_t tiles, int64_t tile)
{
    gpuc_ctx *ctx = e->ctx;
    gpuc_tir_buffer *part = array(e, "part", tile);
    gpuc_expr number_of = counter(e, "tile", tiles), j = gpuc_var(ctx, "j", GPUC_INDEX),
              zero = gpuc_int(ctx, 0), c[3];
    for (int i = 0; i < 3; i++) c[i] = counter(e, "c", tile);
    place p = place_of(e), q = place_of(e), r = place_of(e);
    gpuc_expr first = gpuc_add(ctx, gpuc_int(ctx, from), gpuc_mul(ctx, number_of, gpuc_int(ctx, tile)));
    gpuc_expr column = gpuc_add(ctx, first, c[1]);
    gpuc_expr value = widened(e, e->thread ? near(e, e->near_values, j, column, e->a->value)
                                           : read(e, &e->a->of, gpuc_add(ctx, e->key, j), column));
    gpuc_expr product = gpuc_mul(ctx, value, get(e, e->scores, j, q));
    gpuc_expr before =
        gpuc_mul(ctx, get(e, e->sums, gpuc_add(ctx, first, c[0]), p), get(e, e->shrunk, zero, p));
    gpuc_stmt load = each_place(e, p, put(e, part, c[0], p, before)),
              add = each_place(e, q, put(e, part, c[1], q, gpuc_add(ctx, get(e, part, c[1], q), product))),
              store = each_place(e, r, put(e, e->sums, gpuc_add(ctx, first, c[2]), r, get(e, part, c[2], r)));
    gpuc_stmt all[] = {
        loop(e, c[0], tile, GPUC_LOOP_UNROLLED, load),
        gpuc_topi_par_serial(ctx, j, e->count, loop(e, c[1], tile, GPUC_LOOP_UNROLLED, add)),
        loop(e, c[2], tile, GPUC_LOOP_UNROLLED, store),
    };
    return loop(e, number_of, tiles, GPUC_LOOP_SERIAL, gpuc_tir_alloc(ctx, part, gpuc_tir_seq(ctx, 3, all)));
}

static gpuc_stmt finish(const emitter *e)
{
    gpuc_ctx *ctx = e->ctx;
    const gpuc_attention *a = e->a;
    gpuc_expr zero = gpuc_int(ctx, 0), c = counter(e, "c", a->value), at[GPUC_TOPI_MAX_DIMS];
    place p = place_of(e), q = place_of(e);
    gpuc_expr total = get(e, e->total, zero, p), part = gpuc_div(ctx, number(e, 1), total);
    if (a->empty_is_zero) part = gpuc_select(ctx, gpuc_eq(ctx, total, number(e, 0)), number(e, 0), part);
    if (!gpuc_topi_proves(ctx, gpuc_lt(ctx, zero, a->keys)))
        part = gpuc_select(ctx, gpuc_lt(ctx, zero, a->keys), part, number(e, 0));
    gpuc_expr query = query_of(e, q), index[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < a->num_batch; i++) index[i] = e->batch[i];
    index[a->num_batch] = query;
    index[a->num_batch + 1] = c;
    for (int i = 0; i < a->out.ndim; i++) at[i] = index[a->out.axes[i]];
    gpuc_expr value = gpuc_mul(ctx, get(e, e->sums, c, q), get(e, e->total, zero, q));
    gpuc_stmt store = gpuc_tir_store(ctx, a->out.buffer, a->out.ndim, at, gpuc_cast(ctx, a->result, value));
    int64_t known, queries = queries_at_once(e);
    if (!gpuc_expr_is_int(a->queries, &known) || known % queries)
        store = gpuc_tir_if_(ctx, gpuc_lt(ctx, query, a->queries), store, NULL);
    return gpuc_tir_seq2(ctx, each_place(e, p, put(e, e->total, zero, p, part)),
                         loop(e, c, a->value, GPUC_LOOP_SERIAL, each_place(e, q, store)));
}

static gpuc_stmt blocks(emitter *e)
{
    gpuc_ctx *ctx = e->ctx;
    const gpuc_attention *a = e->a;
    int64_t keys = e->t->keys, tile = e->t->value_tile, known;
    gpuc_expr block = gpuc_var(ctx, "block", GPUC_INDEX), step = gpuc_int(ctx, keys);
    e->key = gpuc_mul(ctx, block, step);
    e->count = gpuc_expr_is_int(a->keys, &known) && known % keys == 0
                   ? step
                   : gpuc_min(ctx, step, gpuc_sub(ctx, a->keys, e->key));
    gpuc_stmt all[6];
    int n = 0;
    if (e->thread && a->head) all[n++] = bring(e, &a->key, e->near_keys, a->head);
    if (e->thread && a->value) all[n++] = bring(e, &a->of, e->near_values, a->value);
    all[n++] = score(e);
    all[n++] = weigh(e);
    if (a->value / tile) all[n++] = gather_columns(e, 0, a->value / tile, tile);
    if (a->value % tile) all[n++] = gather_columns(e, a->value / tile * tile, 1, a->value % tile);
    return gpuc_topi_par_serial(ctx, block, gpuc_topi_par_ceildiv(ctx, a->keys, step),
                                gpuc_tir_seq(ctx, n, all));
}

static gpuc_tir_buffer *shared(const emitter *e, const char *name, const gpuc_attention_operand *o,
                               int64_t columns)
{
    gpuc_expr size = gpuc_int(e->ctx, columns > 0 ? rows_of(e->t) * columns : 1);
    return gpuc_tir_buffer_make(e->ctx, name, o->buffer->dtype, 1, &size, GPUC_SCOPE_SHARED);
}

static gpuc_stmt as_group(const emitter *e, gpuc_expr task, gpuc_expr count, gpuc_stmt body)
{
    gpuc_ctx *ctx = e->ctx;
    gpuc_expr zero = gpuc_int(ctx, 0);
    body = gpuc_tir_for_(ctx, e->thread, zero, gpuc_int(ctx, e->t->threads), GPUC_LOOP_THREAD, GPUC_THREAD_X,
                         body);
    body = gpuc_tir_alloc(ctx, e->near_keys, gpuc_tir_alloc(ctx, e->near_values, body));
    return gpuc_tir_for_(ctx, task, zero, count, GPUC_LOOP_THREAD, GPUC_BLOCK_X, body);
}

gpuc_stmt gpuc_topi_attention_emit(const gpuc_attention *a, const gpuc_attention_tile *tile)
{
    gpuc_ctx *ctx = a->ctx;
    emitter e = {.a = a, .t = tile, .ctx = ctx};
    if (tile->threads) {
        e.thread = gpuc_var(ctx, "thread", GPUC_INDEX);
        e.near_keys = shared(&e, "near_keys", &a->key, a->head);
        e.near_values = shared(&e, "near_values", &a->of, a->value);
    }
    gpuc_expr task = gpuc_var(ctx, "task", GPUC_INDEX), queries = gpuc_int(ctx, queries_at_once(&e)),
              tasks = gpuc_topi_par_ceildiv(ctx, a->queries, queries), count = tasks;
    e.batch = gpuc_new_array(ctx, gpuc_expr, a->num_batch + 1);
    gpuc_topi_par_unravel(ctx, a->num_batch, a->batch, gpuc_floordiv_(ctx, task, tasks), e.batch);
    for (int i = 0; i < a->num_batch; i++) count = gpuc_mul(ctx, count, a->batch[i]);
    e.query = gpuc_mul(ctx, gpuc_floormod_(ctx, task, tasks), queries);
    if (e.thread) e.query = gpuc_add(ctx, e.query, e.thread);
    struct {
        gpuc_tir_buffer **buffer;
        const char *name;
        int64_t rows;
    } arrays[] = {{&e.queries, "queries", a->head}, {&e.scores, "scores", rows_of(tile)},
                  {&e.sums, "sums", a->value},      {&e.max_score, "greatest", 1},
                  {&e.total, "total", 1},           {&e.shrunk, "shrunk", 1}};
    enum { NUM_ARRAYS = sizeof arrays / sizeof *arrays };
    for (int i = 0; i < NUM_ARRAYS; i++) *arrays[i].buffer = array(&e, arrays[i].name, arrays[i].rows);
    gpuc_stmt all[] = {start(&e), blocks(&e), finish(&e)}, body = gpuc_tir_seq(ctx, 3, all);
    for (int i = NUM_ARRAYS - 1; i >= 0; i--) body = gpuc_tir_alloc(ctx, *arrays[i].buffer, body);
    return e.thread ? as_group(&e, task, count, body) : gpuc_topi_par_loop(ctx, task, count, body);
}
