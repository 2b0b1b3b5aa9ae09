/* SPDX-License-Identifier: Apache-2.0 */
/* Implements gpuc_session: runs the plans of the current shapes, and reads symbols between them. */
#include "executor/session.h"

#include <string.h>

#include "base/buf.h"
#include "base/require.h"
#include "runtime/current.h"
#include "runtime/ndarray.h"

static gpuc_status alloc_arrays(gpuc_session *s)
{
    const gpuc_exec *e = s->model->exec;
    gpuc_arena *a = &s->arena;
    s->inputs = gpuc_arena_alloc_array(a, e->num_inputs, sizeof *s->inputs);
    s->outputs = gpuc_arena_alloc_array(a, e->num_outputs, sizeof *s->outputs);
    s->memory = gpuc_arena_alloc_array(a, e->num_devices, sizeof *s->memory);
    s->late = gpuc_arena_alloc_array(a, e->num_slots, sizeof(gpuc_buffer *));
    s->bindings = gpuc_arena_alloc_array(a, (size_t)e->num_slots + e->num_outputs, sizeof *s->bindings);
    s->symbols = gpuc_arena_alloc_array(a, e->num_symbols, sizeof *s->symbols);
    s->tickets = gpuc_arena_alloc_array(a, e->num_devices, sizeof *s->tickets);
    s->marked = true; /* there is no work */
    if (s->tickets && s->inputs && s->outputs && s->memory && s->late && s->bindings && s->symbols)
        return NULL;
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a session");
}

gpuc_status gpuc_session_create(gpuc_model *model, gpuc_session **out)
{
    return gpuc_session_create_with(model, NULL, out);
}

gpuc_status gpuc_session_create_with(gpuc_model *model, const gpuc_session_desc *desc, gpuc_session **out)
{
    gpuc_session_desc known = {0};
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(model);
    if (desc) memcpy(&known, desc, desc->struct_size < sizeof known ? desc->struct_size : sizeof known);
    gpuc_session *s = gpuc_mem_alloc(model->allocator, sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a session");
    s->model = gpuc_model_retain(model);
    s->allocator = model->allocator;
    s->stepped = known.stepped;
    s->in_flight = known.in_flight ? known.in_flight : GPUC_DEFAULT_IN_FLIGHT;
    gpuc_arena_init(&s->arena, s->allocator);
    gpuc_status status = alloc_arrays(s);
    for (uint32_t i = 0; !status && i < model->exec->num_inputs; i++)
        s->inputs[i] = (gpuc_session_array){.array = gpuc_ndarray_retain(model->defaults[i]), .bound = true};
    if (status) {
        gpuc_arena_deinit(&s->arena);
        gpuc_mem_free(s->allocator, s, sizeof *s);
        gpuc_model_release(model);
        return status;
    }
    *out = s;
    return NULL;
}

static void destroy_state(gpuc_session *s, gpuc_shape_state *state)
{
    if (state->outputs_plan) gpuc_model_device(s->model)->api->plan_destroy(state->outputs_plan);
    gpuc_executor_state_destroy_parts(s, state);
    gpuc_arena_deinit(&state->arena);
    gpuc_mem_free(s->allocator, state, sizeof *state);
}

bool gpuc_session_is_in_flight(const gpuc_session *s, uint64_t recording)
{
    return recording && s->recording - recording < s->in_flight;
}

/* Queued work is done; command buffers of the application may not be. */
static void release_retired(gpuc_session *s, bool all)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->num_retired; i++)
        if (!all && gpuc_session_is_in_flight(s, s->retired[i].recording))
            s->retired[kept++] = s->retired[i];
        else
            gpuc_ndarray_release(s->retired[i].array);
    s->num_retired = kept;
}

void gpuc_session_release(gpuc_session *s)
{
    if (!s) return;
    gpuc_model *model = s->model;
    /* A lost device cannot be waited for, but its memory must be freed. */
    gpuc_status_release(gpuc_session_settle(s));
    while (s->states) {
        gpuc_shape_state *next = s->states->next;
        destroy_state(s, s->states);
        s->states = next;
    }
    release_retired(s, true);
    gpuc_mem_free(s->allocator, s->retired, s->retired_capacity * sizeof *s->retired);
    for (uint32_t i = 0; i < model->exec->num_inputs; i++) gpuc_ndarray_release(s->inputs[i].array);
    for (uint32_t i = 0; i < model->exec->num_outputs; i++) gpuc_ndarray_release(s->outputs[i].array);
    gpuc_ndarray_release(s->workspace);
    gpuc_session_free_memory(s);
    gpuc_arena_deinit(&s->arena);
    gpuc_mem_free(s->allocator, s, sizeof *s);
    gpuc_model_release(model);
}

/* Names every input that is missing. */
static gpuc_status check_inputs(const gpuc_session *s)
{
    const gpuc_signature *sig = &s->model->package.signature;
    uint32_t missing = 0;
    gpuc_buf names;
    gpuc_buf_init(&names, s->allocator);
    for (uint32_t i = 0; i < sig->num_inputs; i++)
        if (!s->inputs[i].array)
            gpuc_buf_printf(&names, "%s'%s'", missing++ ? ", " : "", sig->inputs[i].name);
    gpuc_status status =
        missing ? gpuc_fail(GPUC_INVALID_ARGUMENT, "input%s %s %s not been set", missing > 1 ? "s" : "",
                            gpuc_buf_cstr(&names), missing > 1 ? "have" : "has")
                : NULL;
    gpuc_buf_deinit(&names);
    return status;
}

static gpuc_status create_state(gpuc_session *s, gpuc_shape_state **out)
{
    *out = NULL;
    size_t count = s->model->exec->num_symbols;
    gpuc_shape_state *state = gpuc_mem_alloc(s->allocator, sizeof *state);
    if (!state) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory planning a session");
    gpuc_arena_init(&state->arena, s->allocator);
    state->symbols = gpuc_arena_alloc_array(&state->arena, count, sizeof *state->symbols);
    state->extents = gpuc_arena_alloc_array(&state->arena, count, sizeof *state->extents);
    gpuc_status status = state->symbols && state->extents
                             ? NULL
                             : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory planning a session");
    if (!status && count) memcpy(state->extents, s->symbols, count * sizeof *s->symbols);
    if (!status && count) memcpy(state->symbols, s->symbols, count * sizeof *s->symbols);
    if (!status) status = gpuc_executor_state_eval_sizes(s, state);
    if (!status) status = gpuc_executor_state_make_parts(s, state);
    if (!status) status = gpuc_executor_part_plan(s, state, &state->parts[0]);
    if (status) {
        destroy_state(s, state);
        return status;
    }
    *out = state;
    return NULL;
}

/* The plans of a state may still be running; those in command buffers of the application stay. */
static gpuc_status drop_oldest_state(gpuc_session *s)
{
    gpuc_shape_state **oldest = NULL;
    GPUC_TRY(gpuc_session_settle(s));
    for (gpuc_shape_state **at = &s->states->next; *at; at = &(*at)->next)
        if (!gpuc_session_is_in_flight(s, (*at)->recording)) oldest = at;
    if (!oldest) return NULL;
    gpuc_shape_state *gone = *oldest;
    *oldest = gone->next;
    destroy_state(s, gone);
    s->num_states--;
    return NULL;
}

/* What the application has recorded stays as it is: newer kernels, where there are some, get a state of their own. */
static bool is_outdated(const gpuc_session *s, const gpuc_shape_state *state)
{
    return state->recording && state->parts[0].richer != gpuc_model_richer(s->model);
}

/* Makes the state of the current input shapes the first one. */
static gpuc_status choose_state(gpuc_session *s)
{
    size_t bytes = s->model->exec->num_symbols * sizeof *s->symbols;
    GPUC_TRY(gpuc_session_eval_symbols(s));
    for (gpuc_shape_state **at = &s->states; *at; at = &(*at)->next) {
        gpuc_shape_state *found = *at;
        if (bytes && memcmp(found->extents, s->symbols, bytes) != 0) continue;
        if (is_outdated(s, found)) continue;
        *at = found->next;
        found->next = s->states;
        s->states = found;
        return NULL;
    }
    gpuc_shape_state *made;
    GPUC_TRY(create_state(s, &made));
    made->next = s->states;
    s->states = made;
    s->num_states++;
    return s->num_states > GPUC_MAX_STATES ? drop_oldest_state(s) : NULL;
}

void gpuc_session_end_inference(gpuc_session *s)
{
    s->next_node = s->next_recorded = 0;
    s->slices.under_way = false;
}

void gpuc_session_note_work(gpuc_session *s)
{
    s->pending = true;
    s->marked = false;
}

void gpuc_session_set_loops(const gpuc_session *s, const gpuc_segment *segment)
{
    const gpuc_device_api *api = s->model->devices[segment->device].code.dev->api;
    if (api->plan_set_parallel) api->plan_set_parallel(segment->plan, s->parallel.run ? &s->parallel : NULL);
}

gpuc_status gpuc_session_run_segment(gpuc_session *s, gpuc_segment *segment)
{
    gpuc_session_note_work(s);
    if (!segment->plan) return gpuc_session_transfer(s, segment);
    const gpuc_device_api *api = s->model->devices[segment->device].code.dev->api;
    const gpuc_bindings bindings = {
        .slots = s->bindings, .count = s->model->exec->num_slots, .version = s->bound ? s->version : 0};
    gpuc_session_set_loops(s, segment);
    return api->plan_run(segment->plan, &bindings, NULL);
}

/* Makes the plans of the part for the current symbols. */
gpuc_status gpuc_session_prepare_part(gpuc_session *s, gpuc_part *part)
{
    gpuc_shape_state *state = s->states;
    size_t bytes = s->model->exec->num_symbols * sizeof *state->symbols;
    bool same = part->symbols && (!bytes || !memcmp(part->symbols, state->symbols, bytes));
    if (same && (state->recording || part->richer == gpuc_model_richer(s->model))) return NULL;
    if (part->num_segments) GPUC_TRY(gpuc_session_settle(s));
    GPUC_TRY(gpuc_executor_state_eval_values(s, state));
    return gpuc_executor_part_plan(s, state, part);
}

static gpuc_status read_symbol(gpuc_session *s, const gpuc_exec_step *step)
{
    gpuc_shape_state *state = s->states;
    gpuc_extent x;
    bool known;
    int64_t value;
    GPUC_TRY(gpuc_executor_state_eval_value(s, state, step->tensors[0].value, &x, &known));
    GPUC_TRY(gpuc_session_read_number(s, &x, &value));
    GPUC_TRY(gpuc_executor_state_set_symbol(s, state, step->symbol, value));
    return gpuc_session_bind_late(s);
}

gpuc_status gpuc_session_end_part(gpuc_session *s, const gpuc_part *part)
{
    return gpuc_error_prefix(read_symbol(s, &s->model->exec->steps[part->end_step]), "step %u",
                             part->end_step);
}

gpuc_status gpuc_session_run_to(gpuc_session *s, uint32_t end)
{
    for (; s->next_part < s->states->num_parts; s->next_part++, s->next_segment = 0) {
        gpuc_part *part = &s->states->parts[s->next_part];
        GPUC_TRY(gpuc_session_prepare_part(s, part));
        for (; s->next_segment < part->num_segments; s->next_segment++) {
            if (part->segments[s->next_segment].first_step >= end) return NULL;
            GPUC_TRY(gpuc_session_run_segment(s, &part->segments[s->next_segment]));
        }
        if (part->end_step >= end) return NULL;
        GPUC_TRY(gpuc_session_end_part(s, part));
    }
    return NULL;
}

/* Allocates outputs whose size was known only after the last part ran. */
static gpuc_status finish_late_outputs(gpuc_session *s)
{
    if (s->states->num_parts == 1) return NULL;
    GPUC_TRY(gpuc_executor_state_eval_values(s, s->states));
    for (uint32_t i = 0; i < s->model->exec->num_outputs; i++)
        if (s->states->outputs[i].late) GPUC_TRY(gpuc_session_ensure_output(s, i));
    return NULL;
}

/* An output that is an input, a weight, or another output lies elsewhere and gets a copy. */
static gpuc_status copy_output(gpuc_session *s, uint32_t i)
{
    const gpuc_state_output *out = &s->states->outputs[i];
    if (out->direct || out->value.size == 0) return NULL;
    const gpuc_binding *from = &s->bindings[out->value.slot];
    gpuc_binding to = gpuc_ndarray_binding(s->outputs[i].array);
    gpuc_copy_end a = {.buffer = from->buffer, .offset = from->offset + out->value.offset};
    gpuc_copy_end b = {.buffer = to.buffer, .offset = to.offset};
    return to.buffer->device->api->copy_data_from_to(to.buffer->device, a, b, out->value.size, NULL);
}

static gpuc_status check_apart(const gpuc_session *s, uint32_t output, const gpuc_session_array *others,
                               uint32_t count, const char *what, const gpuc_signature_tensor *names)
{
    const gpuc_ndarray *a = s->outputs[output].array;
    for (uint32_t i = 0; i < count; i++)
        if (others[i].array && gpuc_ndarray_overlap(others[i].array, a))
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "the array of output '%s' shares memory with that of %s '%s': bind one of its own",
                s->model->package.signature.outputs[output].name, what, names[i].name);
    return NULL;
}

static gpuc_status check_workspace(const gpuc_session *s, const gpuc_session_array *others, uint32_t count,
                                   const char *what, const gpuc_signature_tensor *names)
{
    for (uint32_t i = 0; s->workspace && i < count; i++)
        if (others[i].array && gpuc_ndarray_overlap(others[i].array, s->workspace))
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "the workspace shares memory with the array of %s '%s': bind other memory", what,
                             names[i].name);
    return NULL;
}

/* A run must not write where it reads, nor write two things to one place. It is checked at a run, since frames
 * that swap two arrays bind one of them twice for a while. */
static gpuc_status check_outputs(const gpuc_session *s)
{
    const gpuc_signature *sig = &s->model->package.signature;
    for (uint32_t i = 0; i < sig->num_outputs; i++) {
        if (!s->outputs[i].array) continue;
        GPUC_TRY(check_apart(s, i, s->inputs, sig->num_inputs, "input", sig->inputs));
        GPUC_TRY(check_apart(s, i, s->outputs, i, "output", sig->outputs));
    }
    GPUC_TRY(check_workspace(s, s->inputs, sig->num_inputs, "input", sig->inputs));
    return check_workspace(s, s->outputs, sig->num_outputs, "output", sig->outputs);
}

gpuc_status gpuc_session_prepare(gpuc_session *s)
{
    const gpuc_exec *e = s->model->exec;
    s->has_run = false;
    gpuc_session_end_inference(s);
    for (uint32_t i = 0; i < e->num_outputs; i++) s->outputs[i].computed = false;
    bool chosen = !s->shapes_changed && s->states && !is_outdated(s, s->states);
    if (chosen && s->bound) return NULL;
    s->bound = false;
    GPUC_TRY(check_inputs(s));
    if (!chosen) GPUC_TRY(choose_state(s));
    s->shapes_changed = false;
    GPUC_TRY(gpuc_session_bind_all(s));
    GPUC_TRY(check_outputs(s));
    s->version++;
    s->bound = s->states->num_parts == 1; /* else slots are bound as it runs */
    return NULL;
}

gpuc_status gpuc_session_begin(gpuc_session *s)
{
    const gpuc_exec *e = s->model->exec;
    GPUC_TRY(gpuc_session_prepare(s));
    gpuc_shape_state *state = s->states;
    size_t bytes = e->num_symbols * sizeof *state->symbols;
    if (bytes) memcpy(state->symbols, state->extents, bytes);
    state->num_known = gpuc_executor_num_extents(e);
    s->next_part = s->next_segment = 0;
    gpuc_session_note_work(s);
    for (uint32_t d = 0; d < e->num_devices; d++)
        GPUC_TRY(gpuc_runtime_enter_default(s->model->devices[d].code.dev));
    return NULL;
}

static gpuc_status plan(gpuc_session *s)
{
    for (uint32_t i = 0; i < s->model->exec->num_inputs; i++)
        if (!s->planned[i] && !s->inputs[i].array) return check_inputs(s);
    GPUC_TRY(choose_state(s));
    return gpuc_session_ensure_memory(s);
}

gpuc_status gpuc_session_plan(gpuc_session *s, const int64_t *const *dims)
{
    GPUC_REQUIRE(s);
    GPUC_REQUIRE(dims);
    s->planned = dims;
    gpuc_session_end_inference(s);
    gpuc_status status = plan(s);
    s->planned = NULL;
    s->shapes_changed = true; /* the next run looks for its own */
    return status;
}

gpuc_status gpuc_session_mark(gpuc_session *s)
{
    for (uint32_t d = 0; !s->marked && d < s->model->exec->num_devices; d++) {
        gpuc_device *dev = s->model->devices[d].code.dev;
        GPUC_TRY(dev->api->stream_signal(dev, NULL, &s->tickets[d]));
        GPUC_TRY(gpuc_runtime_leave_default(dev));
    }
    s->marked = true;
    return NULL;
}

gpuc_status gpuc_session_finish(gpuc_session *s)
{
    GPUC_TRY(finish_late_outputs(s));
    gpuc_session_note_work(s);
    for (uint32_t i = 0; i < s->model->exec->num_outputs; i++) GPUC_TRY(copy_output(s, i));
    for (uint32_t i = 0; i < s->model->exec->num_outputs; i++) s->outputs[i].computed = true;
    s->has_run = true;
    return NULL;
}

gpuc_status gpuc_session_run(gpuc_session *s)
{
    GPUC_REQUIRE(s);
    gpuc_status status = gpuc_session_begin(s);
    if (!status) status = gpuc_session_run_to(s, s->model->exec->num_steps);
    if (!status) status = gpuc_session_finish(s);
    gpuc_status marked = gpuc_session_mark(s);
    if (!status) return marked;
    gpuc_status_release(marked);
    return status;
}

gpuc_status gpuc_session_sync(gpuc_session *s)
{
    GPUC_REQUIRE(s);
    gpuc_status_release(gpuc_session_mark(s)); /* in the middle of a run; without tickets all is waited for */
    for (uint32_t d = 0; d < s->model->exec->num_devices; d++) {
        gpuc_device *dev = s->model->devices[d].code.dev;
        bool done;
        GPUC_TRY(s->marked ? dev->api->ticket_wait(dev, s->tickets[d], GPUC_FOREVER, &done)
                           : dev->api->stream_sync(dev, NULL));
    }
    s->pending = false;
    release_retired(s, false);
    return NULL;
}

gpuc_status gpuc_session_settle(gpuc_session *s)
{
    return s->pending ? gpuc_session_sync(s) : NULL;
}

static gpuc_status add_retired(gpuc_session *s, gpuc_ndarray *array)
{
    if (s->num_retired == s->retired_capacity) {
        uint32_t grown = 2 * s->retired_capacity + GPUC_MAX_RETIRED;
        gpuc_retired *list = gpuc_mem_resize(s->allocator, s->retired, s->retired_capacity * sizeof *list,
                                             grown * sizeof *list);
        if (!list) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        s->retired = list;
        s->retired_capacity = grown;
    }
    s->retired[s->num_retired++] = (gpuc_retired){array, s->recording};
    return NULL;
}

/* Keeps replaced arrays until queued work is done with them, so that an application which binds other arrays
 * in every frame need not wait for the frame before. */
gpuc_status gpuc_session_retire(gpuc_session *s, gpuc_ndarray *array)
{
    if (!array) return NULL;
    gpuc_status status = s->num_retired >= GPUC_MAX_RETIRED ? gpuc_session_settle(s) : NULL;
    if (!s->pending) release_retired(s, false);
    if (!status && (s->pending || gpuc_session_is_in_flight(s, s->recording)))
        status = add_retired(s, array);
    else
        gpuc_ndarray_release(array);
    return status;
}

bool gpuc_session_reclaim(gpuc_session *s, gpuc_status *status)
{
    if (gpuc_status_code(*status) != GPUC_OUT_OF_DEVICE_MEMORY || !s->num_retired) return false;
    gpuc_status settled = gpuc_session_settle(s);
    gpuc_status_release(settled ? settled : *status);
    if (settled) return false;
    *status = NULL;
    return true;
}

gpuc_model *gpuc_session_model(const gpuc_session *s)
{
    return s->model;
}

gpuc_session_stats gpuc_session_get_stats(const gpuc_session *s)
{
    gpuc_session_stats stats = {.weight_bytes = s->model->weight_bytes,
                                .workspace_bytes = gpuc_session_workspace_size(s)};
    for (uint32_t d = 0; d < s->model->exec->num_devices; d++)
        for (uint32_t i = 0; i < s->memory[d].count; i++)
            if (s->memory[d].chunks[i]) {
                stats.arena_bytes += s->memory[d].chunks[i]->size;
                stats.arena_chunks++;
            }
    for (uint32_t i = 0; s->states && i < s->states->num_parts; i++) {
        stats.launches_device += s->states->parts[i].launches_device;
        stats.launches_other += s->states->parts[i].launches_other;
    }
    return stats;
}
