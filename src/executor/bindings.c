/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the memory of a session's slots, and binds slots, inputs and outputs to it. */
#include <string.h>

#include "abi/scope.h"
#include "executor/session.h"

static gpuc_status grow_memory(gpuc_session *s, uint32_t device, uint32_t count)
{
    gpuc_session_memory *mem = &s->memory[device];
    if (count <= mem->count) return NULL;
    gpuc_buffer **chunks = gpuc_arena_alloc_array(&s->arena, count, sizeof *chunks);
    if (!chunks) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a session");
    if (mem->count) memcpy(chunks, mem->chunks, mem->count * sizeof *chunks);
    mem->chunks = chunks;
    mem->count = count;
    return NULL;
}

static gpuc_status ensure_chunk(gpuc_session *s, uint32_t device, uint32_t chunk, uint64_t size)
{
    gpuc_device *dev = s->model->devices[device].code.dev;
    gpuc_buffer **at = &s->memory[device].chunks[chunk];
    if (*at && (*at)->size >= size) return NULL;
    if (*at) {
        GPUC_TRY(gpuc_session_settle(s));
        dev->api->free_data_space(dev, *at);
        *at = NULL;
    }
    return gpuc_error_prefix(dev->api->alloc_data_space(dev, size, GPUC_SLOT_ALIGN, at),
                             "intermediate results of the session");
}

static gpuc_status ensure_memory(gpuc_session *s)
{
    for (uint32_t d = 0; d < s->model->exec->num_devices; d++) {
        const gpuc_chunks *c = &s->states->chunks[d];
        GPUC_TRY(grow_memory(s, d, c->count));
        for (uint32_t i = 0; i < c->count; i++) GPUC_TRY(ensure_chunk(s, d, i, c->sizes[i]));
    }
    return NULL;
}

void gpuc_session_free_memory(gpuc_session *s)
{
    for (uint32_t d = 0; d < s->model->exec->num_devices; d++) {
        gpuc_device *dev = s->model->devices[d].code.dev;
        for (uint32_t i = 0; i < s->memory[d].count; i++)
            if (s->memory[d].chunks[i]) dev->api->free_data_space(dev, s->memory[d].chunks[i]);
        s->memory[d].count = 0;
    }
    for (uint32_t i = 0; i < s->model->exec->num_slots; i++)
        if (s->late[i]) s->late[i]->device->api->free_data_space(s->late[i]->device, s->late[i]);
}

static bool has_dims(const gpuc_ndarray *a, const int64_t *dims)
{
    for (int d = 0; d < gpuc_ndarray_ndim(a); d++)
        if (gpuc_ndarray_dims(a)[d] != dims[d]) return false;
    return true;
}

static gpuc_status wrong_output(const gpuc_session *s, uint32_t i, const gpuc_ndarray *a, const int64_t *dims)
{
    int d = 0;
    while (gpuc_ndarray_dims(a)[d] == dims[d]) d++;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "output '%s': dimension %d of the bound array is %lld, but it becomes %lld",
                     s->model->package.signature.outputs[i].name, d, (long long)gpuc_ndarray_dims(a)[d],
                     (long long)dims[d]);
}

gpuc_status gpuc_session_ensure_output(gpuc_session *s, uint32_t i)
{
    const gpuc_exec *e = s->model->exec;
    const int64_t *dims = s->states->outputs[i].dims;
    gpuc_session_array *o = &s->outputs[i];
    if (o->array && has_dims(o->array, dims)) return NULL;
    if (o->bound) return wrong_output(s, i, o->array, dims);
    gpuc_ndarray *old = o->array;
    o->array = NULL;
    GPUC_TRY(gpuc_session_retire(s, old));
    return gpuc_error_prefix(gpuc_session_create_array(s, e->outputs[i], dims, &o->array), "output '%s'",
                             s->model->package.signature.outputs[i].name);
}

gpuc_status gpuc_session_bind_all(gpuc_session *s)
{
    const gpuc_exec *e = s->model->exec;
    const gpuc_shape_state *state = s->states;
    GPUC_TRY(ensure_memory(s));
    for (uint32_t i = 0; i < e->num_outputs; i++)
        if (!state->outputs[i].late) GPUC_TRY(gpuc_session_ensure_output(s, i));
    for (uint32_t i = 0; i < e->num_slots; i++) {
        const gpuc_exec_slot *slot = &e->slots[i];
        if (gpuc_abi_exec_known_after(e, slot->size)) continue; /* as the program runs */
        if (state->in_arena[i]) {
            const gpuc_place *p = &state->places[i];
            s->bindings[i] = (gpuc_binding){
                .buffer = s->memory[slot->device].chunks[p->chunk], .offset = p->offset, .size = p->size};
            continue;
        }
        switch (slot->kind) {
        case GPUC_SLOT_INPUT: s->bindings[i] = gpuc_ndarray_binding(s->inputs[slot->index].array); break;
        case GPUC_SLOT_OUTPUT: s->bindings[i] = gpuc_ndarray_binding(s->outputs[slot->index].array); break;
        case GPUC_SLOT_WEIGHT: s->bindings[i] = s->model->weights[i]; break;
        case GPUC_SLOT_ARENA:
        case GPUC_SLOT_KIND_COUNT: break;
        }
    }
    return NULL;
}

/* Allocates the memory of slot i, or more of it if what it has is too small. Queued work may still use the
 * old memory. */
static gpuc_status ensure_late(gpuc_session *s, uint32_t i)
{
    gpuc_shape_state *state = s->states;
    uint32_t device = s->model->exec->slots[i].device;
    gpuc_device *dev = s->model->devices[device].code.dev;
    gpuc_place place;
    gpuc_chunks one;
    GPUC_TRY(gpuc_executor_state_eval_slot(s, state, i));
    gpuc_executor_chunks_init(&one, &state->arena, dev);
    gpuc_arena_mark mark = gpuc_arena_save(&state->arena);
    gpuc_status status = gpuc_executor_chunks_add(&one, (uint64_t)state->slots[i], &place);
    uint64_t size = status ? 0 : gpuc_executor_chunks_total(&one);
    gpuc_arena_restore(&state->arena, mark);
    GPUC_TRY(status);
    if (s->late[i] && s->late[i]->size < size) {
        GPUC_TRY(gpuc_session_settle(s));
        dev->api->free_data_space(dev, s->late[i]);
        s->late[i] = NULL;
    }
    if (!s->late[i]) GPUC_TRY(dev->api->alloc_data_space(dev, size, GPUC_SLOT_ALIGN, &s->late[i]));
    s->bindings[i] = (gpuc_binding){.buffer = s->late[i], .size = place.size};
    return NULL;
}

gpuc_status gpuc_session_bind_late(gpuc_session *s)
{
    const gpuc_exec *e = s->model->exec;
    for (uint32_t i = 0; i < e->num_slots; i++)
        if (gpuc_abi_exec_known_after(e, e->slots[i].size) == s->states->num_known)
            GPUC_TRY(gpuc_error_prefix(ensure_late(s, i), "'%.64s'", gpuc_model_slot_name(e, i)));
    return NULL;
}
