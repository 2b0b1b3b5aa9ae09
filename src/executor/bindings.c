/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the memory of a session's slots, and binds slots, inputs and outputs to it. */
#include <string.h>

#include "abi/scope.h"
#include "base/size.h"
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

/* Frees it after the work that is queued; where the application has recorded, with the session. */
static gpuc_status free_chunk(gpuc_session *s, uint32_t device, gpuc_buffer **at)
{
    gpuc_device *dev = s->model->devices[device].code.dev;
    GPUC_TRY(gpuc_session_settle(s));
    if (s->recording) {
        gpuc_old_chunk *old = gpuc_arena_alloc(&s->arena, sizeof *old);
        if (!old) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a session");
        *old = (gpuc_old_chunk){s->memory[device].old, *at};
        s->memory[device].old = old;
    } else {
        dev->api->free_data_space(dev, *at);
    }
    *at = NULL;
    return NULL;
}

gpuc_status gpuc_session_drop_memory(gpuc_session *s, uint32_t device)
{
    for (uint32_t i = 0; i < s->memory[device].count; i++)
        if (s->memory[device].chunks[i]) GPUC_TRY(free_chunk(s, device, &s->memory[device].chunks[i]));
    return NULL;
}

static gpuc_status ensure_chunk(gpuc_session *s, uint32_t device, uint32_t chunk, uint64_t size)
{
    gpuc_device *dev = s->model->devices[device].code.dev;
    gpuc_buffer **at = &s->memory[device].chunks[chunk];
    if (*at && (*at)->size >= size) return NULL;
    if (*at) GPUC_TRY(free_chunk(s, device, at));
    return gpuc_error_prefix(dev->api->alloc_data_space(dev, size, GPUC_SLOT_ALIGN, at),
                             "intermediate results of the session");
}

/* Bytes of chunks that lie behind one another. */
static uint64_t chunks_size(const gpuc_chunks *c, uint32_t count)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < count; i++) size += gpuc_align_up(c->sizes[i], GPUC_SLOT_ALIGN);
    return size;
}

uint64_t gpuc_session_workspace_size(const gpuc_session *s)
{
    return s->states ? chunks_size(&s->states->chunks[0], s->states->chunks[0].count) : 0;
}

static gpuc_status check_workspace(const gpuc_session *s)
{
    uint64_t need = gpuc_session_workspace_size(s), have = gpuc_ndarray_bytes(s->workspace);
    if (have >= need) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the workspace has %llu bytes, but these input shapes need %llu",
                     (unsigned long long)have, (unsigned long long)need);
}

/* Where a chunk lies: in memory of the session, or in the application's. */
static gpuc_binding chunk_at(const gpuc_session *s, uint32_t device, uint32_t chunk)
{
    if (device || !s->workspace) return (gpuc_binding){.buffer = s->memory[device].chunks[chunk]};
    gpuc_binding b = gpuc_ndarray_binding(s->workspace);
    b.offset += chunks_size(&s->states->chunks[0], chunk);
    return b;
}

gpuc_status gpuc_session_ensure_memory(gpuc_session *s)
{
    if (s->workspace) GPUC_TRY(check_workspace(s));
    for (uint32_t d = s->workspace ? 1 : 0; d < s->model->exec->num_devices; d++) {
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
        for (const gpuc_old_chunk *o = s->memory[d].old; o; o = o->next)
            dev->api->free_data_space(dev, o->buffer);
        s->memory[d].old = NULL;
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
    GPUC_TRY(gpuc_session_ensure_memory(s));
    for (uint32_t i = 0; i < e->num_outputs; i++)
        if (!state->outputs[i].late) GPUC_TRY(gpuc_session_ensure_output(s, i));
    for (uint32_t i = 0; i < e->num_slots; i++) {
        const gpuc_exec_slot *slot = &e->slots[i];
        if (gpuc_abi_exec_known_after(e, slot->size)) continue; /* as the program runs */
        if (state->in_arena[i]) {
            const gpuc_place *p = &state->places[i];
            gpuc_binding chunk = chunk_at(s, slot->device, p->chunk);
            s->bindings[i] =
                (gpuc_binding){.buffer = chunk.buffer, .offset = chunk.offset + p->offset, .size = p->size};
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
    for (uint32_t i = 0; i < e->num_outputs; i++)
        if (!state->outputs[i].late)
            s->bindings[e->num_slots + i] = gpuc_ndarray_binding(s->outputs[i].array);
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
