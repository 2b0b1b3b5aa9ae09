/* SPDX-License-Identifier: Apache-2.0 */
/* How recurrent layers take their steps. A core, or on a GPU a group, walks through the steps of one sequence, so that
 * the length of a sequence need not be known when building; or through those of several sequences if there are
 * enough. */
#include "topi/nn/rnn_functions.h"
#include "topi/nn/rnn_layer.h"
#include "topi/parallel.h"

enum { THREADS = GPUC_COMMON_rnn_threads, TASK = GPUC_COMMON_rnn_task };

typedef gpuc_rnn_layer layer;

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

/* An element of an initial state [directions, batch or 1, units]. */
static gpuc_expr initial(const layer *l, int i, gpuc_expr unit)
{
    gpuc_expr at[] = {l->direction, batch_of(l, l->call->in[i].dims[1]), unit};
    return gpuc_topi_rnn_input(l, i, 3, at);
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

/* The projected input of a gate. */
static gpuc_expr projected(const layer *l, gpuc_expr step, int gate, gpuc_expr unit)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr first = gpuc_mul(ctx, l->direction, gpuc_int(ctx, l->gates * l->units));
    gpuc_expr at[] = {step, l->batch,
                      gpuc_add(ctx, first, gpuc_add(ctx, gpuc_int(ctx, gate * l->units), unit))};
    return gpuc_topi_rnn_input(l, GPUC_RNN_PROJECTED, 3, at);
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
    *out = gpuc_topi_rnn_each_gate(l, l->hidden, 0, 1, step, rnn_unit);
    return l->next;
}

/* (1 - z) * candidate + z * hidden */
static gpuc_expr mixed(const layer *l, gpuc_expr unit, gpuc_expr z, gpuc_expr candidate)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr kept = gpuc_mul(ctx, z, gpuc_topi_rnn_state(l, l->hidden, unit));
    return gpuc_add(ctx, gpuc_mul(ctx, gpuc_sub(ctx, number_of(l, 1), z), candidate), kept);
}

static gpuc_expr recurrent_bias(const layer *l, gpuc_expr unit)
{
    gpuc_expr at[] = {l->direction, unit};
    return gpuc_topi_rnn_input(l, GPUC_RNN_RECURRENT_BIAS, 2, at);
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
    gpuc_expr gated = gpuc_mul(ctx, r, gpuc_topi_rnn_state(l, l->hidden, unit));
    return gpuc_tir_seq2(ctx, set_state(l, l->kept, unit, z), set_state(l, l->next, unit, gated));
}

static gpuc_stmt gru_candidate(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                               gpuc_expr *start)
{
    gpuc_ctx *ctx = l->ctx;
    start[0] = gpuc_add(ctx, projected(l, step, 2, unit), recurrent_bias(l, unit));
    gpuc_expr z = gpuc_topi_rnn_state(l, l->kept, unit);
    return set_state(l, l->kept, unit, mixed(l, unit, z, activated(l, 1, value[0])));
}

static const gpuc_tir_buffer *gru_step(const layer *l, gpuc_expr step, gpuc_stmt *out)
{
    if (gpuc_attrs_get_int(l->call->attrs, "linear_before_reset", 0)) {
        *out = gpuc_topi_rnn_each_gate(l, l->hidden, 0, 3, step, gru_unit);
        return l->next;
    }
    *out = gpuc_tir_seq2(l->ctx, gpuc_topi_rnn_each_gate(l, l->hidden, 0, 2, step, gru_gates),
                         gpuc_topi_rnn_each_gate(l, l->next, 2, 1, step, gru_candidate));
    return l->kept;
}

/* start + peephole * state */
static gpuc_expr peeped(const layer *l, int i, gpuc_expr unit, gpuc_expr state, gpuc_expr start)
{
    gpuc_expr at[] = {l->direction, gpuc_add(l->ctx, gpuc_int(l->ctx, i * l->units), unit)};
    return gpuc_add(l->ctx, start,
                    gpuc_mul(l->ctx, gpuc_topi_rnn_input(l, GPUC_RNN_PEEPHOLES, 2, at), state));
}

/* Gates i, o, f, c; peepholes of i, o, f. The cell's state is in `kept`. */
static gpuc_stmt lstm_unit(const layer *l, gpuc_expr step, gpuc_expr unit, const gpuc_expr *value,
                           gpuc_expr *start)
{
    gpuc_ctx *ctx = l->ctx;
    enum { I, O, F, C };
    gpuc_expr state = gpuc_topi_rnn_state(l, l->kept, unit);
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
    *out = gpuc_topi_rnn_each_gate(l, l->hidden, 0, 4, step, lstm_unit);
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
    gpuc_stmt body = output(l, 1, 3, at, gpuc_topi_rnn_state(l, l->hidden, unit));
    if (l->kind != GPUC_LSTM) return body;
    return gpuc_tir_seq2(l->ctx, body, output(l, 2, 3, at, gpuc_topi_rnn_state(l, l->kept, unit)));
}

/* Runs, for each sequence, what is done with its state before or after all steps. */
static gpuc_stmt each_state(const layer *l, gpuc_stmt (*of)(const layer *l, gpuc_expr unit))
{
    gpuc_expr unit = gpuc_var(l->ctx, "unit", GPUC_INDEX);
    gpuc_stmt body = NULL;
    for (int i = 0; i < l->together; i++) {
        layer one = gpuc_topi_rnn_nth(l, i);
        body = gpuc_tir_seq2(l->ctx, body, of(&one, unit));
    }
    return gpuc_topi_rnn_each_unit(l, unit, body);
}

/* The state that a step has made. */
static gpuc_stmt commit(const layer *l, const gpuc_tir_buffer *result, gpuc_expr step)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_expr unit = gpuc_var(ctx, "unit", GPUC_INDEX);
    gpuc_stmt body = NULL;
    for (int i = 0; i < l->together; i++) {
        layer one = gpuc_topi_rnn_nth(l, i);
        gpuc_expr coming = gpuc_topi_rnn_state(&one, result, unit),
                  at[] = {step, l->direction, one.batch, unit};
        body = gpuc_tir_seq2(ctx, body, set_state(&one, l->hidden, unit, coming));
        body = gpuc_tir_seq2(ctx, body, output(&one, 0, 4, at, coming));
    }
    return gpuc_topi_rnn_each_unit(l, unit, body);
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
    gpuc_stmt blank = gpuc_topi_rnn_each_unit(l, unit, output(l, 0, 4, behind, number_of(l, 0)));
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

/* Which of hidden, next and kept there are. */
static int num_states(const layer *l)
{
    bool keeps = l->kind != GPUC_RNN && !gpuc_attrs_get_int(l->call->attrs, "linear_before_reset", 0);
    return keeps ? 3 : 2;
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
    gpuc_tir_buffer **shared[] = {&l.hidden, &l.next, &l.kept};
    static const char *const names[] = {"hidden", "next", "kept"};
    for (int i = 0; i < 3; i++)
        *shared[i] = gpuc_tir_buffer_make(ctx, names[i], l.work, 1, &units,
                                          l.cpu ? GPUC_SCOPE_LOCAL : GPUC_SCOPE_SHARED);
    gpuc_expr length = length_of(&l);
    gpuc_stmt all[] = {each_state(&l, first_state),
                       walk(&l, length ? length : l.call->in[GPUC_RNN_PROJECTED].dims[0]),
                       each_state(&l, last_state)};
    gpuc_stmt body = gpuc_tir_seq(ctx, 3, all);
    for (int i = num_states(&l) - 1; i >= 0; i--) body = gpuc_tir_alloc(ctx, *shared[i], body);
    gpuc_expr blocks = gpuc_mul(ctx, count, directions);
    if (l.spread) return gpuc_topi_par_serial(ctx, block, blocks, body);
    if (l.cpu) return gpuc_topi_par_tasks(ctx, l.cpu, block, blocks, body);
    return gpuc_tir_for_(ctx, block, gpuc_int(ctx, 0), blocks, GPUC_LOOP_THREAD, GPUC_BLOCK_X, body);
}

/* The sequences, all directions counted, that are spread over all cores, one after the other: each step is then a meeting of
 * the cores, and must take half the time at most. That is more than a share of the cores where only a part of the weights
 * fits the cache that a core has for itself. */
static int64_t max_spread(const layer *l)
{
    int64_t weights = l->gates * l->units * l->units, tasks = weights / TASK, cores = l->cpu->num_cores,
            bytes = weights * gpuc_dtype_bytes(l->call->in[GPUC_RNN_RECURRENT].dtype),
            near = GPUC_COMMON_rnn_near * cores;
    if (bytes > l->cpu->core_cache && bytes / cores <= l->cpu->core_cache)
        return near * tasks / (near + tasks);
    return (tasks < cores ? tasks : cores) / 2;
}

/* Sequences from `first` on, each by itself: on a core, or spread over all. */
static gpuc_stmt alone(const layer *shape, gpuc_expr first, gpuc_expr count)
{
    gpuc_ctx *ctx = shape->ctx;
    layer spread = *shape;
    if (!shape->cpu || shape->cpu->language->work_groups) return sequences(shape, first, count);
    int64_t max = max_spread(&spread) / spread.directions;
    spread.spread = true;
    if (max == 0) return sequences(shape, first, count);
    return gpuc_tir_if_(ctx, gpuc_le(ctx, count, gpuc_int(ctx, max)), sequences(&spread, first, count),
                        sequences(shape, first, count));
}

/* How many sequences of one length go together on a core, so that a weight that is read serves all: no more than
 * shared memory holds the states of. */
static int together_on(const gpuc_target *t, const layer *l)
{
    bool many = t->vector_registers >= t->constants->rnn_registers;
    int64_t together = many ? GPUC_COMMON_rnn_together : t->constants->rnn_few_together;
    int64_t one = (l->units * num_states(l) + gpuc_topi_rnn_panel(l)) * gpuc_dtype_bytes(l->work);
    while (!l->cpu && together > 1 && together * one > t->max_shared_memory) together /= 2;
    return (int)together;
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
    if (on_core && r->call->num_in <= r->lengths) tile.together = together_on(target, &one);
    if (tile.together == 1) return alone(&one, zero, batch);
    int64_t all = gpuc_topi_par_cores(target) * tile.together;
    gpuc_expr size = gpuc_int(ctx, tile.together);
    gpuc_expr enough = gpuc_ge(ctx, batch, gpuc_int(ctx, (all - 1) / r->directions + 1));
    gpuc_expr tiles = gpuc_select(ctx, enough, gpuc_floordiv_(ctx, batch, size), zero);
    gpuc_expr done = gpuc_mul(ctx, tiles, size);
    return gpuc_tir_seq2(ctx, sequences(&tile, zero, tiles), alone(&one, done, gpuc_sub(ctx, batch, done)));
}
