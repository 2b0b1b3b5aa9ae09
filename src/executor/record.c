/* SPDX-License-Identifier: Apache-2.0 */
/* Inferences in command buffers of the application, and between its semaphores. */
#include <gpuc/vulkan.h>

#include "base/require.h"
#include "executor/session.h"

/* A command buffer runs on one device, and no host reads between its commands. */
static gpuc_status check_recordable(gpuc_session *s)
{
    const gpuc_model *m = s->model;
    gpuc_device *dev = m->devices[0].code.dev;
    if (s->recordable) return NULL;
    if (!dev->api->plan_record)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s devices have no command buffers of the application",
                         dev->api->name);
    for (uint32_t i = 0; i < m->exec->num_steps; i++) {
        const gpuc_exec_step *step = &m->exec->steps[i];
        bool reads = step->kind == GPUC_STEP_READ;
        if (!reads && step->device == 0) continue;
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "operator '%s' %s, so that the model cannot be recorded: gpuc_session_submit runs it",
            m->step_nodes[i], reads ? "computes a size that the host must read" : "runs on the CPU");
    }
    s->recordable = dev;
    return NULL;
}

static gpuc_status make_outputs_plan(gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    size_t room = (size_t)e->num_outputs * (sizeof(gpuc_step) + 2 * sizeof(gpuc_step_tensor));
    gpuc_step *steps = gpuc_mem_alloc(s->allocator, room ? room : 1);
    gpuc_step_tensor *tensors = (gpuc_step_tensor *)(void *)(steps + e->num_outputs);
    uint32_t count = 0;
    if (!steps) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory planning a session");
    for (uint32_t i = 0; i < e->num_outputs; i++) {
        const gpuc_state_output *out = &state->outputs[i];
        if (out->direct || !out->value.size) continue;
        gpuc_step_tensor *t = &tensors[2 * count];
        t[0] =
            (gpuc_step_tensor){out->value.slot, GPUC_ACCESS_READ, out->value.offset, out->value.size, NULL};
        t[1] = (gpuc_step_tensor){e->num_slots + i, GPUC_ACCESS_WRITE, 0, out->value.size, NULL};
        steps[count++] = (gpuc_step){.num_tensors = 2, .tensors = t, .label = "outputs"};
    }
    gpuc_device *dev = s->recordable;
    state->num_output_copies = count;
    gpuc_status status = count ? dev->api->plan_create(dev, steps, count, 0, &state->outputs_plan) : NULL;
    gpuc_mem_free(s->allocator, steps, room ? room : 1);
    return status;
}

/* Begins an inference. */
static gpuc_status begin(gpuc_session *s)
{
    GPUC_TRY(gpuc_session_prepare(s));
    gpuc_shape_state *state = s->states;
    for (uint32_t i = 0; !state->recording && i < s->model->exec->num_outputs; i++)
        if (!state->outputs[i].direct && !state->outputs_plan) GPUC_TRY(make_outputs_plan(s, state));
    state->recording = ++s->recording;
    for (uint32_t i = 0; i < s->model->exec->num_inputs; i++) s->inputs[i].recording = s->recording;
    return NULL;
}

typedef struct piece {
    gpuc_plan *plan; /* NULL: none yet */
    uint32_t first, count;
    uint32_t query; /* behind it; UINT32_MAX: none */
} piece;

/* Pieces of plans, each recorded once it is known whether another follows. */
typedef struct recorder {
    gpuc_session *s;
    gpuc_recording to;
    piece held;
    bool last; /* operator included */
} recorder;

static gpuc_status record_held(recorder *r, bool closes)
{
    const gpuc_session *s = r->s;
    const gpuc_bindings bindings = {.slots = s->bindings,
                                    .count = s->model->exec->num_slots + s->model->exec->num_outputs};
    if (!r->held.plan) return NULL;
    r->to.closes = closes;
    r->to.last = closes && r->last;
    r->to.query = r->held.query;
    GPUC_TRY(s->recordable->api->plan_record(r->held.plan, &bindings, r->held.first, r->held.count, &r->to));
    r->to.first = r->to.opens = false;
    r->to.num_queries = 0;
    return NULL;
}

static gpuc_status record_piece(recorder *r, piece next)
{
    GPUC_TRY(record_held(r, false));
    r->held = next;
    return NULL;
}

/* Steps [first, end), and a timestamp behind them. */
static gpuc_status record_steps(recorder *r, uint32_t first, uint32_t end, uint32_t query)
{
    const gpuc_part *part = &r->s->states->parts[0];
    for (uint32_t i = 0; i < part->num_segments; i++) {
        const gpuc_segment *g = &part->segments[i];
        uint32_t from = first > g->first_step ? first : g->first_step, g_end = g->first_step + g->num_steps;
        uint32_t to = end < g_end ? end : g_end;
        if (from > to || (from == to && query == UINT32_MAX)) continue;
        bool ends = to == end;
        GPUC_TRY(
            record_piece(r, (piece){g->plan, from - g->first_step, to - from, ends ? query : UINT32_MAX}));
        if (ends) return NULL;
    }
    return NULL;
}

static gpuc_status record_nodes(recorder *r, uint32_t first, uint32_t count)
{
    const gpuc_exec *e = r->s->model->exec;
    const gpuc_exec_node *n = &e->nodes[first], *end = n + count;
    uint32_t first_step = first == 0 ? 0 : n->first_step;
    uint32_t end_step = r->last ? e->num_steps : end[-1].first_step + end[-1].num_steps;
    if (r->to.num_queries) {
        for (uint32_t q = r->to.sync->first_query + 1; n < end; n++, q++) {
            uint32_t stop = n + 1 == end ? end_step : n->first_step + n->num_steps;
            GPUC_TRY(record_steps(r, first_step, stop, q));
            first_step = stop;
        }
    } else {
        GPUC_TRY(record_steps(r, first_step, end_step, UINT32_MAX));
    }
    const gpuc_part *part = &r->s->states->parts[0];
    gpuc_plan *outputs = r->s->states->outputs_plan;
    if (r->last && outputs)
        GPUC_TRY(record_piece(r, (piece){outputs, 0, r->s->states->num_output_copies, UINT32_MAX}));
    if (!r->held.plan) /* no steps, but barriers at both ends */
        r->held = (piece){part->num_segments ? part->segments[0].plan : outputs, 0, 0, UINT32_MAX};
    return record_held(r, true);
}

static gpuc_status check_nodes(const gpuc_session *s, int first, int count)
{
    uint32_t have = s->model->exec->num_nodes;
    if (first < 0 || count < 0 || (uint32_t)first > have || (uint32_t)count > have - (uint32_t)first)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "operators %d to %lld: the program has %u", first,
                         (long long)first + count, have);
    if (first && (uint32_t)first != s->next_recorded)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         s->next_recorded
                             ? "operator %d: the next one to record is %u, or 0 to begin again"
                             : "operator %d: no recording is under way (a run, and setting or binding an "
                               "input or output, end it): begin with operator 0",
                         first, s->next_recorded);
    return NULL;
}

static gpuc_status record(gpuc_session *s, VkCommandBuffer commands, const gpuc_vulkan_sync *sync, int first,
                          int count)
{
    GPUC_TRY(check_recordable(s));
    GPUC_TRY(check_nodes(s, first, count));
    if (first == 0) GPUC_TRY(begin(s));
    s->next_recorded = 0;
    recorder r = {.s = s, .last = (uint32_t)(first + count) == s->model->exec->num_nodes};
    r.to = (gpuc_recording){.commands = commands,
                            .sync = sync,
                            .opens = true,
                            .first = first == 0,
                            .num_queries = sync && sync->query_pool ? (uint32_t)count + 1 : 0,
                            .number = s->recording,
                            .in_flight = s->in_flight,
                            .label = s->model->label};
    if (count) GPUC_TRY(record_nodes(&r, (uint32_t)first, (uint32_t)count));
    s->next_recorded = (uint32_t)(first + count);
    return NULL;
}

gpuc_status gpuc_session_record_nodes(gpuc_session *s, VkCommandBuffer commands, const gpuc_vulkan_sync *sync,
                                      int first, int count)
{
    GPUC_REQUIRE(s);
    GPUC_REQUIRE(commands);
    return gpuc_error_prefix(record(s, commands, sync, first, count), "recording '%s'", s->model->label);
}

gpuc_status gpuc_session_record(gpuc_session *s, VkCommandBuffer commands, const gpuc_vulkan_sync *sync)
{
    GPUC_REQUIRE(s);
    return gpuc_session_record_nodes(s, commands, sync, 0, (int)s->model->exec->num_nodes);
}

static gpuc_status submit(gpuc_session *s, gpuc_device *dev, const gpuc_vulkan_submit *submit)
{
    const gpuc_bindings bindings = {.slots = s->bindings, .count = s->model->exec->num_slots};
    GPUC_TRY(gpuc_session_prepare(s)); /* first, so that a mistake waits for nothing */
    GPUC_TRY(dev->api->submit_end(dev, &bindings, submit, false));
    GPUC_TRY(gpuc_session_run(s));
    return dev->api->submit_end(dev, &bindings, submit, true);
}

gpuc_status gpuc_session_submit(gpuc_session *s, const gpuc_vulkan_submit *what)
{
    GPUC_REQUIRE(s);
    GPUC_REQUIRE(what);
    gpuc_device *dev = gpuc_model_device(s->model);
    if (!dev->api->submit_end)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s devices have no semaphores of the application",
                         dev->api->name);
    return gpuc_error_prefix(submit(s, dev, what), "submitting '%s'", s->model->label);
}
