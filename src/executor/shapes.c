/* SPDX-License-Identifier: Apache-2.0 */
/* What the package reader could not check, since it depends on symbols, is checked here: whatever is
 * stored in the expressions, no step gets memory outside of its slot. */
#include "abi/scope.h"
#include "base/size.h"
#include "executor/session.h"

static gpuc_status eval(const gpuc_session *s, gpuc_xexpr e, const int64_t *symbols, int64_t *out)
{
    return gpuc_abi_xexpr_eval(e, symbols, s->model->exec->num_symbols, out);
}

static const char *input_name(const gpuc_session *s, uint32_t input)
{
    return s->model->package.signature.inputs[input].name;
}

/* "'n' (dimension 0 of 'x')" if the dim is one symbol, else nothing. */
static gpuc_status wrong_dim(const gpuc_session *s, uint32_t input, uint32_t d, int64_t have, int64_t want)
{
    const gpuc_exec *e = s->model->exec;
    gpuc_xexpr dim = e->values[e->inputs[input]].dims[d];
    if (dim.count == 1 && dim.code[0].op == GPUC_XOP_DIM) {
        const gpuc_exec_symbol *sym = &e->symbols[dim.code[0].value];
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "input '%s': dimension %u is %lld, but it must be '%s', which is %lld by dimension %u of input "
            "'%s'",
            input_name(s, input), d, (long long)have, sym->name, (long long)want, sym->dim,
            input_name(s, sym->input));
    }
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "input '%s': dimension %u is %lld, but it must be %lld",
                     input_name(s, input), d, (long long)have, (long long)want);
}

/* Of the array that is set or bound, or those that are to be planned. */
static const int64_t *dims_of(const gpuc_session *s, uint32_t input)
{
    bool planned = s->planned && s->planned[input];
    return planned ? s->planned[input] : gpuc_ndarray_dims(s->inputs[input].array);
}

static gpuc_status check_input(const gpuc_session *s, uint32_t input)
{
    const gpuc_exec *e = s->model->exec;
    const gpuc_exec_value *v = &e->values[e->inputs[input]];
    const int64_t *dims = dims_of(s, input);
    for (uint32_t d = 0; d < v->ndim; d++) {
        int64_t want;
        GPUC_TRY(
            gpuc_error_prefix(eval(s, v->dims[d], s->symbols, &want), "input '%s'", input_name(s, input)));
        if (dims[d] != want) return wrong_dim(s, input, d, dims[d], want);
    }
    return NULL;
}

uint32_t gpuc_executor_num_extents(const gpuc_exec *e)
{
    uint32_t n = 0;
    while (n < e->num_symbols && e->symbols[n].value == GPUC_NO_INDEX) n++;
    return n;
}

/* The number of symbols that must be known to evaluate an expression. */
static uint32_t symbols_of(gpuc_xexpr e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e.count; i++)
        if (e.code[i].op == GPUC_XOP_DIM && (uint64_t)e.code[i].value >= n) n = (uint32_t)e.code[i].value + 1;
    return n;
}

/* Whether the extents of a value and the size of its slot are known. */
static bool is_known(const gpuc_exec *e, const gpuc_shape_state *state, const gpuc_exec_value *v)
{
    if (state->num_known == e->num_symbols) return true;
    bool known = gpuc_abi_exec_known_after(e, e->slots[v->slot].size) <= state->num_known;
    for (uint32_t d = 0; known && d < v->ndim; d++)
        known = gpuc_abi_exec_known_after(e, v->dims[d]) <= state->num_known;
    return known;
}

/* Checks the assertions that `known` symbols decide, but fewer than `min` do not. */
static gpuc_status check_asserts(const gpuc_session *s, const int64_t *symbols, uint32_t min, uint32_t known)
{
    const gpuc_exec *e = s->model->exec;
    for (uint32_t i = 0; i < e->num_asserts; i++) {
        const gpuc_exec_assert *a = &e->asserts[i];
        uint32_t needed = symbols_of(a->cond);
        int64_t holds;
        if (needed < min || needed > known) continue;
        GPUC_TRY(gpuc_error_prefix(eval(s, a->cond, symbols, &holds), "%s", a->message));
        if (!holds)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s do not fit: %s",
                             min ? "sizes that the model computes" : "these input shapes", a->message);
    }
    return NULL;
}

gpuc_status gpuc_session_eval_symbols(gpuc_session *s)
{
    const gpuc_exec *e = s->model->exec;
    uint32_t known = gpuc_executor_num_extents(e);
    for (uint32_t i = 0; i < known; i++) s->symbols[i] = dims_of(s, e->symbols[i].input)[e->symbols[i].dim];
    for (uint32_t i = 0; i < e->num_inputs; i++) GPUC_TRY(check_input(s, i));
    GPUC_TRY(check_asserts(s, s->symbols, 0, known));
    for (uint32_t i = known; i < e->num_symbols; i++)
        GPUC_TRY(gpuc_error_prefix(eval(s, e->symbols[i].upper, s->symbols, &s->symbols[i]), "'%.64s'",
                                   e->symbols[i].name));
    return NULL;
}

gpuc_status gpuc_executor_state_set_symbol(const gpuc_session *s, gpuc_shape_state *state, uint32_t symbol,
                                           int64_t value)
{
    const gpuc_exec_symbol *sym = &s->model->exec->symbols[symbol];
    if (value < 0 || value > state->extents[symbol])
        return gpuc_fail(GPUC_INVALID_DATA, "the extent '%.64s' is computed as %lld, beyond 0 to %lld",
                         sym->name, (long long)value, (long long)state->extents[symbol]);
    state->symbols[symbol] = value;
    state->num_known = symbol + 1;
    return check_asserts(s, state->symbols, symbol + 1, symbol + 1);
}

gpuc_status gpuc_executor_state_eval_slot(const gpuc_session *s, gpuc_shape_state *state, uint32_t i)
{
    const gpuc_exec *e = s->model->exec;
    GPUC_TRY(gpuc_error_prefix(eval(s, e->slots[i].size, state->symbols, &state->slots[i]), "size of '%.64s'",
                               gpuc_model_slot_name(e, i)));
    if (state->slots[i] >= 0) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "the size of '%.64s' becomes %lld with these input shapes",
                     gpuc_model_slot_name(e, i), (long long)state->slots[i]);
}

gpuc_status gpuc_executor_state_eval_value(const gpuc_session *s, const gpuc_shape_state *state,
                                           uint32_t value, gpuc_extent *out, bool *out_known)
{
    const gpuc_exec_value *v = &s->model->exec->values[value];
    int64_t slot = state->slots[v->slot], bytes = (int64_t)gpuc_dtype_bytes(v->dtype), offset, end;
    bool overflow = false, empty = false;
    *out = (gpuc_extent){.slot = v->slot};
    *out_known = is_known(s->model->exec, state, v);
    if (!*out_known) return NULL;
    for (uint32_t d = 0; d < v->ndim; d++) {
        int64_t dim;
        GPUC_TRY(eval(s, v->dims[d], state->symbols, &dim));
        if (dim < 0) return gpuc_fail(GPUC_INVALID_ARGUMENT, "dimension %u becomes %lld", d, (long long)dim);
        empty = empty || dim == 0;
        overflow = overflow || !gpuc_i64_mul(bytes, dim, &bytes);
    }
    if (empty) bytes = 0;
    if (overflow && !empty)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "its size overflows with these input shapes");
    GPUC_TRY(eval(s, v->offset, state->symbols, &offset));
    if (offset < 0 || !gpuc_i64_add(offset, bytes, &end) || end > slot)
        return gpuc_fail(GPUC_INVALID_DATA, "%lld bytes at offset %lld exceed the %lld of its slot",
                         (long long)bytes, (long long)offset, (long long)slot);
    out->offset = (uint64_t)offset;
    out->size = (uint64_t)bytes;
    return NULL;
}

static gpuc_status eval_all_values(const gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    bool known;
    for (uint32_t i = 0; i < e->num_values; i++)
        GPUC_TRY(gpuc_error_prefix(gpuc_executor_state_eval_value(s, state, i, &state->values[i], &known),
                                   "'%.64s'", e->values[i].name));
    return NULL;
}

static gpuc_status eval_output(const gpuc_session *s, gpuc_shape_state *state, uint32_t i)
{
    const gpuc_exec *e = s->model->exec;
    const gpuc_exec_value *v = &e->values[e->outputs[i]];
    gpuc_state_output *out = &state->outputs[i];
    for (uint32_t d = 0; d < v->ndim && is_known(e, state, v); d++)
        GPUC_TRY(eval(s, v->dims[d], state->symbols, &out->dims[d]));
    out->value = state->values[e->outputs[i]];
    return NULL;
}

static gpuc_status init_output(const gpuc_session *s, gpuc_shape_state *state, uint32_t i)
{
    const gpuc_exec *e = s->model->exec;
    const gpuc_exec_value *v = &e->values[e->outputs[i]];
    const gpuc_exec_slot *slot = &e->slots[v->slot];
    gpuc_state_output *out = &state->outputs[i];
    out->dims = gpuc_arena_alloc_array(&state->arena, v->ndim, sizeof *out->dims);
    if (!out->dims) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    out->late = gpuc_abi_exec_known_after(e, slot->size) != 0;
    for (uint32_t d = 0; d < v->ndim; d++) out->late |= symbols_of(v->dims[d]) > gpuc_executor_num_extents(e);
    GPUC_TRY(eval_output(s, state, i));
    out->direct = slot->kind == GPUC_SLOT_OUTPUT && slot->index == i && !out->late &&
                  out->value.offset == 0 &&
                  (uint64_t)state->slots[v->slot] <= gpuc_align_up(out->value.size, GPUC_SLOT_ROUND);
    if (out->direct) state->in_arena[v->slot] = false;
    return NULL;
}

gpuc_status gpuc_executor_state_eval_values(const gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    GPUC_TRY(eval_all_values(s, state));
    for (uint32_t i = 0; i < e->num_outputs; i++) GPUC_TRY(eval_output(s, state, i));
    return NULL;
}

static gpuc_status place_slot(const gpuc_session *s, gpuc_shape_state *state, uint32_t i)
{
    if (!state->in_arena[i]) return NULL;
    gpuc_chunks *chunks = &state->chunks[s->model->exec->slots[i].device];
    return gpuc_error_prefix(gpuc_executor_chunks_add(chunks, (uint64_t)state->slots[i], &state->places[i]),
                             "'%.64s'", gpuc_model_slot_name(s->model->exec, i));
}

static gpuc_status fill_state(const gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    state->num_known = gpuc_executor_num_extents(e);
    for (uint32_t i = 0; i < e->num_slots; i++) {
        if (gpuc_abi_exec_known_after(e, e->slots[i].size)) continue;
        GPUC_TRY(gpuc_executor_state_eval_slot(s, state, i));
        state->in_arena[i] = e->slots[i].kind == GPUC_SLOT_ARENA || e->slots[i].kind == GPUC_SLOT_OUTPUT;
    }
    GPUC_TRY(eval_all_values(s, state));
    for (uint32_t i = 0; i < e->num_outputs; i++) GPUC_TRY(init_output(s, state, i));
    for (uint32_t d = 0; d < e->num_devices; d++)
        gpuc_executor_chunks_init(&state->chunks[d], &state->arena, s->model->devices[d].code.dev);
    for (uint32_t i = 0; i < e->num_slots; i++) GPUC_TRY(place_slot(s, state, i));
    return NULL;
}

gpuc_status gpuc_executor_state_eval_sizes(const gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    gpuc_arena *a = &state->arena;
    state->slots = gpuc_arena_alloc_array(a, e->num_slots, sizeof *state->slots);
    state->values = gpuc_arena_alloc_array(a, e->num_values, sizeof *state->values);
    state->places = gpuc_arena_alloc_array(a, e->num_slots, sizeof *state->places);
    state->in_arena = gpuc_arena_alloc_array(a, e->num_slots, sizeof *state->in_arena);
    state->chunks = gpuc_arena_alloc_array(a, e->num_devices, sizeof *state->chunks);
    state->outputs = gpuc_arena_alloc_array(a, e->num_outputs, sizeof *state->outputs);
    if (!state->slots || !state->values || !state->places || !state->in_arena || !state->chunks ||
        !state->outputs)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory planning a session");
    return fill_state(s, state);
}
