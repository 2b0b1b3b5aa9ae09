/* SPDX-License-Identifier: Apache-2.0 */
/* How recurrent layers take their steps. A group of threads walks through the steps of one sequence, each
 * thread making some units of the hidden state, which the group shares: the length of a sequence need not be
 * known when building. Where the weights come in panels of a vector's units, which is
 * how CPUs read them fastest, one thread makes all units, a vector at a time, of several sequences if there
 * are enough. */
#include "topi/parallel.h"
#include "topi/nn/rnn.h"
#include "topi/nn/rnn_functions.h"
#include "target/constants.h"
#include "target/target.h"

enum {
    MAX_GATES = 4,
    MAX_STATES = 3, /* that a group keeps of a sequence */
    THREADS = GPUC_COMMON_rnn_threads,
    TASK = GPUC_COMMON_rnn_task,
    SUMS = GPUC_COMMON_rnn_sums
};

/* One sequence in one direction, or some that are walked through together: what the statements of a step have
 * at hand. */
typedef struct layer {
    const gpuc_op_call *call;
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    const gpuc_target *cpu; /* NULL: it is none */
    gpuc_dtype work;
    int kind, gates, functions, directions, lengths;
    int64_t units, block, threads;
    int64_t lanes; /* units of a vector of a panel; 0: there are none, a group's threads make a unit each */
    int64_t width; /* threads of the subgroup that makes a panel; 1: one thread makes all */
    bool spread;   /* cores share the panels of each step */
    int together;
    gpuc_expr batch, direction;
    gpuc_expr thread, lane; /* of the panel's unit */
    gpuc_tir_buffer
        *near[GPUC_COMMON_rnn_together];   /* as many states as a panel has units, spread over the subgroup */
    int64_t first;                         /* where the sequence's units are in the buffers */
    gpuc_tir_buffer *hidden, *next, *kept; /* shared by the group: the state; made of it; the cells' own */
} layer;

/* Sequence i of those that go through the steps together. */
static layer nth(const layer *l, int i)
{
    layer one = *l;
    one.batch = gpuc_add(l->ctx, l->batch, gpuc_int(l->ctx, i));
    one.first = i * l->units;
    return one;
}

static gpuc_expr state_of(const layer *l, const gpuc_tir_buffer *b, gpuc_expr unit)
{
    return gpuc_tir_load1(l->ctx, b, gpuc_add(l->ctx, gpuc_int(l->ctx, l->first), unit));
}

static gpuc_stmt set_state(const layer *l, const gpuc_tir_buffer *b, gpuc_expr unit, gpuc_expr value)
{
    return gpuc_tir_store1(l->ctx, b, gpuc_add(l->ctx, gpuc_int(l->ctx, l->first), unit), value);
}

/* The index of the sequence along a batch dimension; 0 if that has one element, which serves all. */
static gpuc_expr batch_of(const layer *l, gpuc_expr extent)
{
    gpuc_ctx *ctx = l->ctx;
    if (extent == l->call->in[GPUC_RNN_PROJECTED].dims[1]) return l->batch;
    return gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, l->batch, gpuc_sub(ctx, extent, gpuc_int(ctx, 1))));
}

static gpuc_expr input(const layer *l, int i, int n, const gpuc_expr *index)
{
    return gpuc_cast(l->ctx, l->work, gpuc_tir_load(l->ctx, l->op->input_buffers[i], n, index));
}

/* An element of an initial state [directions, batch or 1, units]. */
static gpuc_expr initial(const layer *l, int i, gpuc_expr unit)
{
    gpuc_expr at[] = {l->direction, batch_of(l, l->call->in[i].dims[1]), unit};
    return input(l, i, 3, at);
}

static gpuc_stmt output(const layer *l, int i, int n, const gpuc_expr *index, gpuc_expr value)
{
    return gpuc_tir_store(l->ctx, l->op->output_buffers[i], n, index,
                          gpuc_cast(l->ctx, l->call->out[i].dtype, value));
}

static gpuc_expr number_of(const layer *l, double v)
{
    return gpuc_imm(l->ctx, l->work, v);
}

/* Function i of the direction, of a clipped value. */
static gpuc_expr activated(const layer *l, int i, gpuc_expr x)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_attr *alpha = gpuc_attrs_find(l->call->attrs, "alpha"),
                    *beta = gpuc_attrs_find(l->call->attrs, "beta");
    double clip = gpuc_attrs_get_float(l->call->attrs, "clip", 0);
    if (clip > 0) x = gpuc_max(ctx, number_of(l, -clip), gpuc_min(ctx, x, number_of(l, clip)));
    gpuc_expr y[GPUC_RNN_MAX_DIRECTIONS];
    for (int d = 0; d < l->directions; d++) {
        int at = d * l->functions + i;
        y[d] = gpuc_topi_rnn_activation(l->call, at)(ctx, x, number_of(l, alpha->floats[at]),
                                                     number_of(l, beta->floats[at]));
    }
    if (l->directions == 1) return y[0];
    return gpuc_select(ctx, gpuc_eq(ctx, l->direction, gpuc_int(ctx, 0)), y[0], y[1]);
}

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

static int64_t panel_size(const layer *l)
{
    return l->lanes * l->width;
}

/* Whether a unit of a panel is one of the layer, as the last panel is filled up; NULL: it is. */
static gpuc_expr exists(const layer *l, gpuc_expr unit)
{
    gpuc_expr zero = gpuc_int(l->ctx, 0);
    if (l->width == 1 || l->units % panel_size(l) == 0) return NULL;
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
    gpuc_expr iteration = gpuc_var(ctx, "round", GPUC_INDEX), size = gpuc_int(ctx, panel_size(&l)),
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
    int64_t size = panel_size(l), part = l->width == 1 ? l->units % size : 0, full = l->units / size;
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

/* The body, which declares nothing, for each value of its variable `unit`. */
static gpuc_stmt each_unit(const layer *l, gpuc_expr unit, gpuc_stmt body)
{
    return each_tile(l, 1, 0, place_body, &(unit_body){unit, body});
}

/* The projected input of a gate. */
static gpuc_expr projected(const layer *l, gpuc_expr step, int gate, gpuc_expr unit)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr first = gpuc_mul(ctx, l->direction, gpuc_int(ctx, l->gates * l->units));
    gpuc_expr at[] = {step, l->batch,
                      gpuc_add(ctx, first, gpuc_add(ctx, gpuc_int(ctx, gate * l->units), unit))};
    return input(l, GPUC_RNN_PROJECTED, 3, at);
}

static gpuc_expr weight(const layer *l, gpuc_expr k, int gate, gpuc_expr unit)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr block = gpuc_int(ctx, l->block);
    gpuc_expr plain[] = {l->direction, k, gpuc_add(ctx, gpuc_int(ctx, gate * l->units), unit)};
    if (!l->block) return input(l, GPUC_RNN_RECURRENT, 3, plain);
    gpuc_expr packed[GPUC_RNN_PACKED_RANK] = {l->direction, gpuc_floordiv_(ctx, unit, block), k,
                                              gpuc_int(ctx, gate), gpuc_floormod_(ctx, unit, block)};
    return input(l, GPUC_RNN_RECURRENT, GPUC_RNN_PACKED_RANK, packed);
}

/* What a unit does once the products of the state with the weights of its gates are in `value`. The sums of
 * these begin with `start`, which it sets. */
typedef gpuc_stmt (*unit_fn)(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                             gpuc_expr *start);

/* Gates first, ..., first + count - 1 of all units. */
typedef struct gates {
    const gpuc_tir_buffer *state;
    int first, count;
    gpuc_expr step;
    unit_fn unit;
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
        layer one = nth(l, sequence_of(l, s, i));
        gpuc_expr product = gpuc_mul(ctx, state_of(&one, s->g->state, k), weight_of(l, s, i, k));
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
        layer one = nth(l, i);
        gpuc_expr state = state_of(&one, s->g->state, gpuc_add(ctx, first, place));
        fetch = gpuc_tir_seq2(ctx, fetch, gpuc_tir_store1(ctx, l->near[i], place, state));
    }
    if (n % l->lanes == 0) place = gpuc_tir_substitute(ctx, place, 1, &l->lane, &zero);
    if (n < panel_size(l)) fetch = gpuc_tir_if_(ctx, gpuc_lt(ctx, place, gpuc_int(ctx, n)), fetch, NULL);
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
    int64_t size = panel_size(l), parts = l->units / size;
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
        layer one = nth(l, i % l->together);
        gpuc_expr value[MAX_GATES], start[MAX_GATES], at = unit[i / l->together], known = exists(l, at);
        for (int j = 0; j < g->count; j++) value[j] = sum_of(l, &s, i * g->count + j);
        end = gpuc_tir_seq2(ctx, end, if_exists(l, at, g->unit(&one, g->step, at, value, start)));
        for (int j = 0; j < g->count; j++) {
            if (known) start[j] = gpuc_if_then_else(ctx, known, start[j], number_of(l, 0));
            begin = gpuc_tir_seq2(ctx, begin, set_sum(l, &s, i * g->count + j, start[j]));
        }
    }
    gpuc_stmt add = l->width > 1 ? add_by_parts(l, &s) : add_products(l, &s);
    add = gpuc_tir_seq2(ctx, gpuc_tir_seq2(ctx, by_all_lanes(l, begin), add), by_all_lanes(l, end));
    for (int i = num_sums(l, &s) - 1; i >= 0; i--) add = gpuc_tir_alloc(ctx, s.at[i], add);
    return add;
}

static gpuc_stmt each_gate(const layer *l, const gpuc_tir_buffer *state, int first, int count, gpuc_expr step,
                           unit_fn unit)
{
    int tile = l->together > 1 ? SUMS / count : (SUMS + count - 1) / count;
    return each_tile(l, tile, l->together * count * l->units, make_units,
                     &(gates){.state = state, .first = first, .count = count, .step = step, .unit = unit});
}

/* ---- Cells: how all units take a step. Returns where the coming state is, which is not `hidden`, as other
 * units are still made of that. ---- */

typedef const gpuc_tir_buffer *(*step_fn)(const layer *l, gpuc_expr step, gpuc_stmt *out);

static gpuc_stmt rnn_unit(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                          gpuc_expr *start)
{
    start[0] = projected(l, step, 0, unit);
    return set_state(l, l->next, unit, activated(l, 0, value[0]));
}

static const gpuc_tir_buffer *rnn_step(const layer *l, gpuc_expr step, gpuc_stmt *out)
{
    *out = each_gate(l, l->hidden, 0, 1, step, rnn_unit);
    return l->next;
}

/* (1 - z) * candidate + z * hidden */
static gpuc_expr mixed(const layer *l, gpuc_expr unit, gpuc_expr z, gpuc_expr candidate)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr kept = gpuc_mul(ctx, z, state_of(l, l->hidden, unit));
    return gpuc_add(ctx, gpuc_mul(ctx, gpuc_sub(ctx, number_of(l, 1), z), candidate), kept);
}

static gpuc_expr recurrent_bias(const layer *l, gpuc_expr unit)
{
    gpuc_expr at[] = {l->direction, unit};
    return input(l, GPUC_RNN_RECURRENT_BIAS, 2, at);
}

/* Gates z, r, h. r gates the product that h is made of, */
static gpuc_stmt gru_unit(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                          gpuc_expr *start)
{
    gpuc_ctx *ctx = l->ctx;
    for (int i = 0; i < 2; i++) start[i] = projected(l, step, i, unit);
    start[2] = recurrent_bias(l, unit);
    gpuc_expr z = activated(l, 0, value[0]), r = activated(l, 0, value[1]);
    gpuc_expr h = gpuc_add(ctx, projected(l, step, 2, unit), gpuc_mul(ctx, r, value[2]));
    return set_state(l, l->next, unit, mixed(l, unit, z, activated(l, 1, h)));
}

/* or the state before that product: z goes to `kept`, the gated state to `next`. */
static gpuc_stmt gru_gates(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                           gpuc_expr *start)
{
    gpuc_ctx *ctx = l->ctx;
    for (int i = 0; i < 2; i++) start[i] = projected(l, step, i, unit);
    gpuc_expr z = activated(l, 0, value[0]), r = activated(l, 0, value[1]);
    gpuc_expr gated = gpuc_mul(ctx, r, state_of(l, l->hidden, unit));
    return gpuc_tir_seq2(ctx, set_state(l, l->kept, unit, z), set_state(l, l->next, unit, gated));
}

static gpuc_stmt gru_candidate(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                               gpuc_expr *start)
{
    gpuc_ctx *ctx = l->ctx;
    start[0] = gpuc_add(ctx, projected(l, step, 2, unit), recurrent_bias(l, unit));
    gpuc_expr z = state_of(l, l->kept, unit);
    return set_state(l, l->kept, unit, mixed(l, unit, z, activated(l, 1, value[0])));
}

static const gpuc_tir_buffer *gru_step(const layer *l, gpuc_expr step, gpuc_stmt *out)
{
    if (gpuc_attrs_get_int(l->call->attrs, "linear_before_reset", 0)) {
        *out = each_gate(l, l->hidden, 0, 3, step, gru_unit);
        return l->next;
    }
    *out = gpuc_tir_seq2(l->ctx, each_gate(l, l->hidden, 0, 2, step, gru_gates),
                         each_gate(l, l->next, 2, 1, step, gru_candidate));
    return l->kept;
}

/* start + peephole * state */
static gpuc_expr peeped(const layer *l, int i, gpuc_expr unit, gpuc_expr state, gpuc_expr start)
{
    gpuc_expr at[] = {l->direction, gpuc_add(l->ctx, gpuc_int(l->ctx, i * l->units), unit)};
    return gpuc_add(l->ctx, start, gpuc_mul(l->ctx, input(l, GPUC_RNN_PEEPHOLES, 2, at), state));
}

/* Gates i, o, f, c; peepholes of i, o, f. The cell's state is in `kept`. */
static gpuc_stmt lstm_unit(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                           gpuc_expr *start)
{
    gpuc_ctx *ctx = l->ctx;
    enum { I, O, F, C };
    gpuc_expr state = state_of(l, l->kept, unit);
    for (int g = 0; g < 4; g++) start[g] = projected(l, step, g, unit);
    start[I] = peeped(l, 0, unit, state, start[I]);
    start[F] = peeped(l, 2, unit, state, start[F]);
    gpuc_expr in = activated(l, 0, value[I]), forget = activated(l, 0, value[F]);
    if (gpuc_attrs_get_int(l->call->attrs, "input_forget", 0)) forget = gpuc_sub(ctx, number_of(l, 1), in);
    gpuc_expr fresh = gpuc_mul(ctx, in, activated(l, 1, value[C]));
    gpuc_expr open = activated(l, 0, peeped(l, 1, unit, state, value[O]));
    gpuc_expr cell = gpuc_add(ctx, gpuc_mul(ctx, forget, state), fresh);
    return gpuc_tir_seq2(ctx, set_state(l, l->kept, unit, cell),
                         set_state(l, l->next, unit, gpuc_mul(ctx, open, activated(l, 2, state))));
}

static const gpuc_tir_buffer *lstm_step(const layer *l, gpuc_expr step, gpuc_stmt *out)
{
    *out = each_gate(l, l->hidden, 0, 4, step, lstm_unit);
    return l->next;
}

static const step_fn steps[] = {rnn_step, gru_step, lstm_step};

/* ---- All steps of a sequence ---- */

static gpuc_stmt first_state(const layer *l, gpuc_expr unit)
{
    gpuc_stmt body = set_state(l, l->hidden, unit, initial(l, GPUC_RNN_INITIAL, unit));
    if (l->kind != GPUC_LSTM) return body;
    return gpuc_tir_seq2(l->ctx, body, set_state(l, l->kept, unit, initial(l, GPUC_RNN_INITIAL_CELL, unit)));
}

static gpuc_stmt last_state(const layer *l, gpuc_expr unit)
{
    gpuc_expr at[] = {l->direction, l->batch, unit};
    gpuc_stmt body = output(l, 1, 3, at, state_of(l, l->hidden, unit));
    if (l->kind != GPUC_LSTM) return body;
    return gpuc_tir_seq2(l->ctx, body, output(l, 2, 3, at, state_of(l, l->kept, unit)));
}

/* Runs, for each sequence, what is done with its state before or after all steps. */
static gpuc_stmt each_state(const layer *l, gpuc_stmt (*of)(const layer *l, gpuc_expr unit))
{
    gpuc_expr unit = gpuc_var(l->ctx, "unit", GPUC_INDEX);
    gpuc_stmt body = NULL;
    for (int i = 0; i < l->together; i++) {
        layer one = nth(l, i);
        body = gpuc_tir_seq2(l->ctx, body, of(&one, unit));
    }
    return each_unit(l, unit, body);
}

/* The state that a step has made. */
static gpuc_stmt commit(const layer *l, const gpuc_tir_buffer *result, gpuc_expr step)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr unit = gpuc_var(ctx, "unit", GPUC_INDEX);
    gpuc_stmt body = NULL;
    for (int i = 0; i < l->together; i++) {
        layer one = nth(l, i);
        gpuc_expr coming = state_of(&one, result, unit), at[] = {step, l->direction, one.batch, unit};
        body = gpuc_tir_seq2(ctx, body, set_state(&one, l->hidden, unit, coming));
        body = gpuc_tir_seq2(ctx, body, output(&one, 0, 4, at, coming));
    }
    return each_unit(l, unit, body);
}

/* The steps that there are, in the order of the direction; zeros behind them. */
static gpuc_stmt walk(const layer *l, gpuc_expr length)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr time = gpuc_var(ctx, "time", GPUC_INDEX), unit = gpuc_var(ctx, "unit", GPUC_INDEX),
              zero = gpuc_int(ctx, 0), extent = l->call->in[GPUC_RNN_PROJECTED].dims[0];
    bool reverse = gpuc_attrs_get_int(l->call->attrs, "reverse", 0);
    gpuc_expr back = gpuc_sub(ctx, gpuc_sub(ctx, length, gpuc_int(ctx, 1)), time),
              step = reverse ? back : time;
    if (l->directions > 1) step = gpuc_select(ctx, gpuc_eq(ctx, l->direction, zero), time, back);
    gpuc_stmt body;
    const gpuc_tir_buffer *result = steps[l->kind](l, step, &body);
    gpuc_stmt loop =
        gpuc_topi_par_serial(ctx, time, length, gpuc_tir_seq2(ctx, body, commit(l, result, step)));
    gpuc_expr behind[] = {gpuc_add(ctx, length, time), l->direction, l->batch, unit};
    gpuc_stmt blank = each_unit(l, unit, output(l, 0, 4, behind, number_of(l, 0)));
    return gpuc_tir_seq2(ctx, loop, gpuc_topi_par_serial(ctx, time, gpuc_sub(ctx, extent, length), blank));
}

/* The length of a sequence; NULL: all are full. */
static gpuc_expr length_of(const layer *l)
{
    gpuc_ctx *ctx = l->ctx;
    int i = l->lengths;
    if (l->call->num_in <= i) return NULL;
    gpuc_expr at = batch_of(l, l->call->in[i].dims[0]), zero = gpuc_int(ctx, 0);
    gpuc_expr length = gpuc_cast(ctx, GPUC_INDEX, gpuc_tir_load(ctx, l->op->input_buffers[i], 1, &at));
    return gpuc_max(ctx, zero, gpuc_min(ctx, length, l->call->in[GPUC_RNN_PROJECTED].dims[0]));
}

/* Sequences from `first` on: count times as many as go together, each in one direction after the other. */
static gpuc_stmt sequences(const layer *shape, gpuc_expr first, gpuc_expr count)
{
    gpuc_ctx *ctx = shape->ctx;
    layer l = *shape;
    gpuc_expr block = gpuc_var(ctx, "sequence", GPUC_INDEX), units = gpuc_int(ctx, l.together * l.units),
              directions = gpuc_int(ctx, l.directions), together = gpuc_int(ctx, l.together);
    l.direction = gpuc_floormod_(ctx, block, directions);
    l.batch = gpuc_add(ctx, first, gpuc_mul(ctx, gpuc_floordiv_(ctx, block, directions), together));
    gpuc_tir_buffer **shared[MAX_STATES] = {&l.hidden, &l.next, &l.kept};
    static const char *const names[] = {"hidden", "next", "kept"};
    for (int i = 0; i < MAX_STATES; i++)
        *shared[i] = gpuc_tir_buffer_make(ctx, names[i], l.work, 1, &units,
                                          l.cpu ? GPUC_SCOPE_LOCAL : GPUC_SCOPE_SHARED);
    gpuc_expr length = length_of(&l);
    gpuc_stmt all[] = {each_state(&l, first_state),
                       walk(&l, length ? length : l.call->in[GPUC_RNN_PROJECTED].dims[0]),
                       each_state(&l, last_state)};
    gpuc_stmt body = gpuc_tir_seq(ctx, 3, all);
    bool keeps = l.kind != GPUC_RNN && !gpuc_attrs_get_int(l.call->attrs, "linear_before_reset", 0);
    for (int i = keeps ? 2 : 1; i >= 0; i--) body = gpuc_tir_alloc(ctx, *shared[i], body);
    gpuc_expr blocks = gpuc_mul(ctx, count, directions);
    if (l.spread) return gpuc_topi_par_serial(ctx, block, blocks, body);
    if (l.cpu) return gpuc_topi_par_tasks(ctx, l.cpu, block, blocks, body);
    return gpuc_tir_for_(ctx, block, gpuc_int(ctx, 0), blocks, GPUC_LOOP_THREAD, GPUC_BLOCK_X, body);
}

/* Sequences from `first` on, each by itself: on a core, or spread over all, where steps are then a meeting of
 * the cores, and must take half the time at most. */
static gpuc_stmt alone(const layer *shape, gpuc_expr first, gpuc_expr count)
{
    gpuc_ctx *ctx = shape->ctx;
    layer spread = *shape;
    if (!shape->cpu || shape->cpu->language->work_groups) return sequences(shape, first, count);
    int64_t tasks = spread.gates * spread.units * spread.units / TASK, cores = spread.cpu->num_cores,
            max = (tasks < cores ? tasks : cores) / 2 / spread.directions;
    spread.spread = true;
    if (max == 0) return sequences(shape, first, count);
    return gpuc_tir_if_(ctx, gpuc_le(ctx, count, gpuc_int(ctx, max)), sequences(&spread, first, count),
                        sequences(shape, first, count));
}

/* How many sequences of one length go together on a core, so that a weight that is read serves all. */
static int together_on(const layer *l, const gpuc_target *t)
{
    bool many = t->vector_registers >= t->constants->rnn_registers;
    int want = many ? GPUC_COMMON_rnn_together : (int)t->constants->rnn_few_together;
    if (l->width == 1) return want;
    int64_t bytes = (MAX_STATES * l->units + panel_size(l)) * l->work.bits / 8, /* of a sequence */
        room = t->max_shared_memory / bytes;
    return room < 1 ? 1 : room < want ? (int)room : want;
}

/* Who makes the units. */
static void set_panels(layer *l, const gpuc_rnn *r, const gpuc_target *target)
{
    l->width = 1;
    l->cpu = gpuc_topi_par_cpu(target);
    if (l->cpu) {
        l->lanes = r->block ? r->block : gpuc_target_lanes(target, r->work);
    } else if (target && r->block && r->block == gpuc_target_recurrent_block(target, r->work)) {
        l->width = target->thread_warp_size;
        l->lanes = r->block / l->width;
    }
}

/* Sequences go together where that leaves work for all cores. */
gpuc_stmt gpuc_topi_rnn_emit(const gpuc_rnn *r, const gpuc_target *target)
{
    gpuc_ctx *ctx = r->ctx;
    layer one = {.call = r->call,
                 .ctx = ctx,
                 .op = r->op,
                 .work = r->work,
                 .kind = r->kind,
                 .gates = r->gates,
                 .functions = r->functions,
                 .directions = r->directions,
                 .lengths = r->lengths,
                 .units = r->units,
                 .block = r->block,
                 .threads = r->units < THREADS ? r->units : THREADS,
                 .together = 1};
    set_panels(&one, r, target);
    layer tile = one;
    gpuc_expr batch = r->call->in[GPUC_RNN_PROJECTED].dims[1], zero = gpuc_int(ctx, 0);
    bool on_core = one.cpu || one.width > 1;
    if (!on_core || r->call->num_in > r->lengths) return alone(&one, zero, batch);
    tile.together = together_on(&one, target);
    if (tile.together == 1) return alone(&one, zero, batch);
    int64_t all = gpuc_topi_par_cores(target) * tile.together;
    gpuc_expr size = gpuc_int(ctx, tile.together);
    gpuc_expr enough = gpuc_ge(ctx, batch, gpuc_int(ctx, (all - 1) / r->directions + 1));
    gpuc_expr tiles = gpuc_select(ctx, enough, gpuc_floordiv_(ctx, batch, size), zero);
    gpuc_expr done = gpuc_mul(ctx, tiles, size);
    return gpuc_tir_seq2(ctx, sequences(&tile, zero, tiles), alone(&one, done, gpuc_sub(ctx, batch, done)));
}
