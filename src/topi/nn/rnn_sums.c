/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of a recurrent layer's states and weights, and who computes them. On a GPU each thread of a group
 * makes some units. On a CPU one thread makes all, a vector at a time, which is how CPUs read weights fastest. Where
 * the threads of a subgroup are the lanes of a CPU's vector, they make a panel of units together, a vector each. */
#include "topi/nn/rnn_layer.h"
#include "topi/parallel.h"

enum { MAX_GATES = 4, TASK = GPUC_COMMON_rnn_task, SUMS = GPUC_COMMON_rnn_sums };

typedef gpuc_rnn_layer layer;

layer gpuc_topi_rnn_nth(const layer *l, int i)
{
    layer one = *l;
    one.batch = gpuc_add(l->ctx, l->batch, gpuc_int(l->ctx, i));
    one.first = i * l->units;
    return one;
}

gpuc_expr gpuc_topi_rnn_state(const layer *l, const gpuc_tir_buffer *b, gpuc_expr unit)
{
    return gpuc_tir_load1(l->ctx, b, gpuc_add(l->ctx, gpuc_int(l->ctx, l->first), unit));
}

gpuc_expr gpuc_topi_rnn_input(const layer *l, int i, int n, const gpuc_expr *index)
{
    return gpuc_cast(l->ctx, l->work, gpuc_tir_load(l->ctx, l->op->input_buffers[i], n, index));
}

/* ---- Units ---- */

/* What is done to n units; n is 1 unless a tile of more was asked for. */
typedef gpuc_stmt (*units_fn)(const layer *l, int n, const gpuc_expr *unit, const void *arg);

/* A loop over the group's threads and, in it, over the units of each. */
static gpuc_stmt by_threads(const layer *l, units_fn body, const void *arg)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr thread = gpuc_var(ctx, "thread", GPUC_INDEX), iteration = gpuc_var(ctx, "round", GPUC_INDEX),
              zero = gpuc_int(ctx, 0);
    gpuc_expr unit = gpuc_add(ctx, gpuc_mul(ctx, iteration, gpuc_int(ctx, l->threads)), thread);
    int64_t iterations = (l->units + l->threads - 1) / l->threads;
    gpuc_stmt s = body(l, 1, &unit, arg);
    if (l->units % l->threads) s = gpuc_tir_if_(ctx, gpuc_lt(ctx, unit, gpuc_int(ctx, l->units)), s, NULL);
    s = gpuc_topi_par_serial(ctx, iteration, gpuc_int(ctx, iterations), s);
    return gpuc_tir_for_(ctx, thread, zero, gpuc_int(ctx, l->threads), GPUC_LOOP_THREAD, GPUC_THREAD_X, s);
}

/* Runs the body for all iterations, each of so many products: as tasks, if there is enough work. */
static gpuc_stmt each_iteration(const layer *l, gpuc_expr iteration, int64_t iterations, int64_t products,
                                gpuc_stmt body)
{
    gpuc_ctx *ctx = l->ctx;
    if (!l->spread || iterations * products < 2 * TASK)
        return gpuc_topi_par_serial(ctx, iteration, gpuc_int(ctx, iterations), body);
    int64_t each = products < TASK ? TASK / products : 1;
    while (iterations % each) each--;
    gpuc_expr task = gpuc_var(ctx, "task", GPUC_INDEX), inner = gpuc_var(ctx, "round", GPUC_INDEX);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, task, gpuc_int(ctx, each)), inner);
    body = gpuc_tir_substitute_stmt(ctx, body, 1, &iteration, &at);
    body = gpuc_topi_par_serial(ctx, inner, gpuc_int(ctx, each), body);
    return gpuc_topi_par_loop(ctx, task, gpuc_int(ctx, iterations / each), body);
}

/* Whether a unit of a panel is one of the layer, as the last panel is filled up; NULL: it is. */
static gpuc_expr exists(const layer *l, gpuc_expr unit)
{
    gpuc_expr zero = gpuc_int(l->ctx, 0);
    if (l->width == 1 || l->units % gpuc_topi_rnn_panel(l) == 0) return NULL;
    if (l->units % l->lanes == 0) unit = gpuc_tir_substitute(l->ctx, unit, 1, &l->lane, &zero);
    return gpuc_lt(l->ctx, unit, gpuc_int(l->ctx, l->units));
}

static gpuc_stmt if_exists(const layer *l, gpuc_expr unit, gpuc_stmt body)
{
    gpuc_expr cond = exists(l, unit);
    return cond ? gpuc_tir_if_(l->ctx, cond, body, NULL) : body;
}

/* The lane's place in a panel. */
static gpuc_expr place_of(const layer *l)
{
    gpuc_ctx *ctx = l->ctx;
    if (l->width == 1) return l->lane;
    return gpuc_add(ctx, gpuc_mul(ctx, l->thread, gpuc_int(ctx, l->lanes)), l->lane);
}

/* A statement for `count` lanes of a panel. */
static gpuc_stmt by_lanes(const layer *l, int64_t count, gpuc_stmt body)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr lane = gpuc_var(ctx, "lane", GPUC_INDEX);
    body = gpuc_tir_substitute_stmt(ctx, body, 1, &l->lane, &lane);
    return gpuc_tir_for_(ctx, lane, gpuc_int(ctx, 0), gpuc_int(ctx, count), GPUC_LOOP_VECTORIZED,
                         GPUC_THREAD_NONE, body);
}

/* The same for all lanes, where threads share states between one statement and the next. */
static gpuc_stmt by_all_lanes(const layer *l, gpuc_stmt body)
{
    return l->width == 1 ? body : by_lanes(l, l->lanes, body);
}

/* Iterations of n panels each from the panel `first` on, of which `count` units are computed. */
static gpuc_stmt panels(const layer *shape, int64_t first, int64_t iterations, int n, int64_t count,
                        int64_t products, units_fn body, const void *arg)
{
    gpuc_ctx *ctx = shape->ctx;
    layer l = *shape;
    gpuc_expr iteration = gpuc_var(ctx, "round", GPUC_INDEX), size = gpuc_int(ctx, gpuc_topi_rnn_panel(&l)),
              zero = gpuc_int(ctx, 0), unit[SUMS];
    if (iterations == 0 || n == 0 || count == 0) return NULL;
    l.lane = gpuc_var(ctx, "lane", GPUC_INDEX);
    l.thread = gpuc_var(ctx, "thread", GPUC_INDEX);
    for (int i = 0; i < l.together; i++)
        l.near[i] = gpuc_tir_buffer_make(ctx, "near", l.work, 1, &size, GPUC_SCOPE_WARP);
    for (int i = 0; i < n; i++) {
        gpuc_expr panel = gpuc_add(ctx, gpuc_mul(ctx, iteration, gpuc_int(ctx, n)), gpuc_int(ctx, first + i));
        unit[i] = gpuc_add(ctx, gpuc_mul(ctx, panel, size), place_of(&l));
    }
    gpuc_stmt s = body(&l, n, unit, arg);
    if (l.width == 1) s = by_lanes(&l, count, s);
    s = each_iteration(&l, iteration, iterations, n * count * products, s);
    if (l.width == 1) return s;
    for (int i = 0; products && i < l.together; i++) s = gpuc_tir_alloc(ctx, l.near[i], s);
    return gpuc_tir_for_(ctx, l.thread, zero, gpuc_int(ctx, l.width), GPUC_LOOP_THREAD, GPUC_THREAD_X, s);
}

/* products: of each unit */
static gpuc_stmt each_tile(const layer *l, int tile, int64_t products, units_fn body, const void *arg)
{
    if (!l->lanes) return by_threads(l, body, arg);
    int64_t size = gpuc_topi_rnn_panel(l), part = l->width == 1 ? l->units % size : 0, full = l->units / size;
    if (l->width > 1) full = (l->units - 1) / size + 1;
    int64_t iterations = full / tile;
    gpuc_stmt all[] = {panels(l, 0, iterations, tile, l->lanes, products, body, arg),
                       panels(l, iterations * tile, 1, (int)(full % tile), l->lanes, products, body, arg),
                       panels(l, full, 1, 1, part, products, body, arg)};
    return gpuc_tir_seq2(l->ctx, gpuc_tir_seq2(l->ctx, all[0], all[1]), all[2]);
}

typedef struct unit_body {
    gpuc_expr unit;
    gpuc_stmt body;
} unit_body;

static gpuc_stmt place_body(const layer *l, int n, const gpuc_expr *unit, const void *arg)
{
    const unit_body *b = arg;
    gpuc_stmt body = gpuc_tir_substitute_stmt(l->ctx, b->body, n, &b->unit, unit);
    return by_all_lanes(l, if_exists(l, *unit, body));
}

gpuc_stmt gpuc_topi_rnn_each_unit(const layer *l, gpuc_expr unit, gpuc_stmt body)
{
    return each_tile(l, 1, 0, place_body, &(unit_body){unit, body});
}

/* ---- Sums ---- */

static gpuc_expr weight(const layer *l, gpuc_expr k, int gate, gpuc_expr unit)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr block = gpuc_int(ctx, l->block);
    gpuc_expr plain[] = {l->direction, k, gpuc_add(ctx, gpuc_int(ctx, gate * l->units), unit)};
    if (!l->block) return gpuc_topi_rnn_input(l, GPUC_RNN_RECURRENT, 3, plain);
    gpuc_expr packed[GPUC_RNN_PACKED_RANK] = {l->direction, gpuc_floordiv_(ctx, unit, block), k,
                                              gpuc_int(ctx, gate), gpuc_floormod_(ctx, unit, block)};
    return gpuc_topi_rnn_input(l, GPUC_RNN_RECURRENT, GPUC_RNN_PACKED_RANK, packed);
}

/* Gates first, ..., first + count - 1 of all units. */
typedef struct gates {
    const gpuc_tir_buffer *state;
    int first, count;
    gpuc_expr step;
    gpuc_rnn_unit_fn unit;
} gates;

/* The sums of n units, for each of these those of each sequence, for each of those one of each gate. */
typedef struct sums {
    const gates *g;
    int n;
    const gpuc_expr *unit;
    gpuc_tir_buffer *at[GPUC_COMMON_rnn_together * (SUMS + MAX_GATES)];
} sums;

static int num_sums(const layer *l, const sums *s)
{
    return s->n * l->together * s->g->count;
}

static int sequence_of(const layer *l, const sums *s, int i)
{
    return i / s->g->count % l->together;
}

/* A local array of so many vectors: those of all lanes, if these do each statement one after the other. */
static gpuc_tir_buffer *vectors(const layer *l, const char *name, int64_t n)
{
    gpuc_expr size = gpuc_int(l->ctx, l->width > 1 ? n * l->lanes : n);
    return gpuc_tir_buffer_make(l->ctx, name, l->work, 1, &size, GPUC_SCOPE_LOCAL);
}

static gpuc_expr element(const layer *l, int i)
{
    gpuc_expr first = gpuc_int(l->ctx, l->width > 1 ? i * l->lanes : i);
    return l->width > 1 ? gpuc_add(l->ctx, first, l->lane) : first;
}

static gpuc_expr sum_of(const layer *l, const sums *s, int i)
{
    return gpuc_tir_load1(l->ctx, s->at[i], element(l, 0));
}

static gpuc_stmt set_sum(const layer *l, const sums *s, int i, gpuc_expr value)
{
    return gpuc_tir_store1(l->ctx, s->at[i], element(l, 0), value);
}

static gpuc_expr weight_of(const layer *l, const sums *s, int i, gpuc_expr k)
{
    int gate = s->g->first + i % s->g->count;
    return weight(l, k, gate, s->unit[i / s->g->count / l->together]);
}

/* Packed weights come faster than a compiler's counters do, if those run every time. */
static gpuc_stmt add_products(const layer *l, const sums *s)
{
    enum { TIMES = GPUC_COMMON_rnn_unrolled };
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_stmt add = NULL;
    for (int i = 0; i < num_sums(l, s); i++) {
        layer one = gpuc_topi_rnn_nth(l, sequence_of(l, s, i));
        gpuc_expr product = gpuc_mul(ctx, gpuc_topi_rnn_state(&one, s->g->state, k), weight_of(l, s, i, k));
        add = gpuc_tir_seq2(ctx, add, set_sum(l, s, i, gpuc_add(ctx, sum_of(l, s, i), product)));
    }
    if (!l->lanes) return gpuc_topi_par_serial(ctx, k, gpuc_int(ctx, l->units), add);
    gpuc_expr part = gpuc_var(ctx, "part", GPUC_INDEX), times = gpuc_int(ctx, TIMES), zero = gpuc_int(ctx, 0);
    int64_t parts = l->units / TIMES, done = parts * TIMES;
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, part, times), k);
    gpuc_stmt some = gpuc_tir_for_(ctx, k, zero, times, GPUC_LOOP_UNROLLED, GPUC_THREAD_NONE,
                                   gpuc_tir_substitute_stmt(ctx, add, 1, &k, &at));
    gpuc_expr last = gpuc_var(ctx, "k", GPUC_INDEX), behind = gpuc_add(ctx, gpuc_int(ctx, done), last);
    gpuc_stmt rest = gpuc_topi_par_serial(ctx, last, gpuc_int(ctx, l->units - done),
                                          gpuc_tir_substitute_stmt(ctx, add, 1, &k, &behind));
    return gpuc_tir_seq2(ctx, gpuc_topi_par_serial(ctx, part, gpuc_int(ctx, parts), some), rest);
}

/* ---- The same by a subgroup, whose threads have a part of the states each. ---- */

/* What add_near has loaded: n states of each sequence, n weights of each vector of sums. */
typedef struct loaded {
    int n;
    gpuc_tir_buffer *state[GPUC_COMMON_rnn_together], *weight[SUMS + MAX_GATES];
} loaded;

static gpuc_stmt load_near(const layer *l, const sums *s, const loaded *have, gpuc_expr first, gpuc_expr from)
{
    gpuc_ctx *ctx = l->ctx;
    int gates = s->g->count;
    gpuc_stmt load = NULL;
    for (int j = 0; j < have->n; j++) {
        gpuc_expr at = gpuc_int(ctx, j);
        for (int i = 0; i < s->n * gates; i++) {
            gpuc_expr w = weight(l, gpuc_add(ctx, first, at), s->g->first + i % gates, s->unit[i / gates]);
            gpuc_stmt keep = gpuc_tir_store1(ctx, have->weight[i], element(l, j), w);
            load = gpuc_tir_seq2(ctx, load, by_lanes(l, l->lanes, keep));
        }
        for (int i = 0; i < l->together; i++) {
            gpuc_expr state = gpuc_tir_load1(ctx, l->near[i], gpuc_add(ctx, from, at));
            load = gpuc_tir_seq2(ctx, load, gpuc_tir_store1(ctx, have->state[i], at, state));
        }
    }
    return load;
}

/* Adds n products of each sum, of the states from `first` on, the first of which is at `from` in `near`. All
 * that is loaded comes first: a load is a call, around which registers are stored. */
static gpuc_stmt add_near(const layer *l, const sums *s, gpuc_expr first, gpuc_expr from, int n)
{
    gpuc_ctx *ctx = l->ctx;
    int gates = s->g->count;
    gpuc_expr extent = gpuc_int(ctx, n);
    loaded have = {.n = n};
    for (int i = 0; i < l->together; i++)
        have.state[i] = gpuc_tir_buffer_make(ctx, "state", l->work, 1, &extent, GPUC_SCOPE_LOCAL);
    for (int i = 0; i < s->n * gates; i++) have.weight[i] = vectors(l, "weight", n);
    gpuc_stmt all = load_near(l, s, &have, first, from);
    for (int i = 0; i < num_sums(l, s); i++) {
        gpuc_expr value = sum_of(l, s, i);
        int vector = i / gates / l->together * gates + i % gates;
        for (int j = 0; j < n; j++) {
            gpuc_expr state = gpuc_tir_load1(ctx, have.state[sequence_of(l, s, i)], gpuc_int(ctx, j));
            gpuc_expr w = gpuc_tir_load1(ctx, have.weight[vector], element(l, j));
            value = gpuc_add(ctx, value, gpuc_mul(ctx, state, w));
        }
        all = gpuc_tir_seq2(ctx, all, by_lanes(l, l->lanes, set_sum(l, s, i, value)));
    }
    for (int i = 0; i < l->together; i++) all = gpuc_tir_alloc(ctx, have.state[i], all);
    for (int i = 0; i < s->n * gates; i++) all = gpuc_tir_alloc(ctx, have.weight[i], all);
    return all;
}

/* The products of n states from `first` on, at most as many as a panel has units. */
static gpuc_stmt add_part(const layer *l, const sums *s, gpuc_expr first, int64_t n)
{
    enum { TIMES = GPUC_COMMON_rnn_loads };
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr place = place_of(l), zero = gpuc_int(ctx, 0), block = gpuc_var(ctx, "block", GPUC_INDEX);
    gpuc_stmt fetch = NULL;
    if (n == 0) return NULL;
    for (int i = 0; i < l->together; i++) {
        layer one = gpuc_topi_rnn_nth(l, i);
        gpuc_expr state = gpuc_topi_rnn_state(&one, s->g->state, gpuc_add(ctx, first, place));
        fetch = gpuc_tir_seq2(ctx, fetch, gpuc_tir_store1(ctx, l->near[i], place, state));
    }
    if (n % l->lanes == 0) place = gpuc_tir_substitute(ctx, place, 1, &l->lane, &zero);
    if (n < gpuc_topi_rnn_panel(l))
        fetch = gpuc_tir_if_(ctx, gpuc_lt(ctx, place, gpuc_int(ctx, n)), fetch, NULL);
    gpuc_expr from = gpuc_mul(ctx, block, gpuc_int(ctx, TIMES)), rest = gpuc_int(ctx, n / TIMES * TIMES);
    gpuc_stmt all[] = {by_lanes(l, l->lanes, fetch),
                       gpuc_topi_par_serial(ctx, block, gpuc_int(ctx, n / TIMES),
                                            add_near(l, s, gpuc_add(ctx, first, from), from, TIMES)),
                       n % TIMES ? add_near(l, s, gpuc_add(ctx, first, rest), rest, n % TIMES) : NULL};
    return gpuc_tir_seq2(ctx, gpuc_tir_seq2(ctx, all[0], all[1]), all[2]);
}

static gpuc_stmt add_by_parts(const layer *l, const sums *s)
{
    gpuc_ctx *ctx = l->ctx;
    int64_t size = gpuc_topi_rnn_panel(l), parts = l->units / size;
    gpuc_expr part = gpuc_var(ctx, "part", GPUC_INDEX), first = gpuc_mul(ctx, part, gpuc_int(ctx, size));
    return gpuc_tir_seq2(ctx,
                         gpuc_topi_par_serial(ctx, part, gpuc_int(ctx, parts), add_part(l, s, first, size)),
                         add_part(l, s, gpuc_int(ctx, parts * size), l->units % size));
}

static gpuc_stmt make_units(const layer *l, int n, const gpuc_expr *unit, const void *arg)
{
    gpuc_ctx *ctx = l->ctx;
    const gates *g = arg;
    sums s = {.g = g, .n = n, .unit = unit};
    gpuc_stmt begin = NULL, end = NULL;
    for (int i = 0; i < num_sums(l, &s); i++) s.at[i] = vectors(l, "sum", 1);
    for (int i = 0; i < n * l->together; i++) {
        layer one = gpuc_topi_rnn_nth(l, i % l->together);
        gpuc_expr value[MAX_GATES], start[MAX_GATES], at = unit[i / l->together], known = exists(l, at);
        for (int j = 0; j < g->count; j++) value[j] = sum_of(l, &s, i * g->count + j);
        end = gpuc_tir_seq2(ctx, end, if_exists(l, at, g->unit(&one, g->step, at, value, start)));
        for (int j = 0; j < g->count; j++) {
            if (known) start[j] = gpuc_if_then_else(ctx, known, start[j], gpuc_imm(ctx, l->work, 0));
            begin = gpuc_tir_seq2(ctx, begin, set_sum(l, &s, i * g->count + j, start[j]));
        }
    }
    gpuc_stmt add = l->width > 1 ? add_by_parts(l, &s) : add_products(l, &s);
    add = gpuc_tir_seq2(ctx, gpuc_tir_seq2(ctx, by_all_lanes(l, begin), add), by_all_lanes(l, end));
    for (int i = num_sums(l, &s) - 1; i >= 0; i--) add = gpuc_tir_alloc(ctx, s.at[i], add);
    return add;
}

gpuc_stmt gpuc_topi_rnn_each_gate(const layer *l, const gpuc_tir_buffer *state, int first, int count,
                                  gpuc_expr step, gpuc_rnn_unit_fn unit)
{
    int tile = l->together > 1 ? SUMS / count : (SUMS + count - 1) / count;
    if (l->width > 1) tile = 1; /* each of its threads has a vector, which are sums enough */
    return each_tile(l, tile, l->together * count * l->units, make_units,
                     &(gates){.state = state, .first = first, .count = count, .step = step, .unit = unit});
}
