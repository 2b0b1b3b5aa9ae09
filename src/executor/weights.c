/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads weights to a few chunks per device. Weights that are neighbours both in the file and in a chunk are
 * copied together, straight from the mapped file. */
#include "abi/scope.h"
#include "base/size.h"
#include "executor/chunks.h"
#include "executor/model.h"

typedef struct upload {
    gpuc_model *model;
    gpuc_place *places;  /* by weight */
    gpuc_chunks *chunks; /* by device */
} upload;

const char *gpuc_model_slot_name(const gpuc_exec *e, uint32_t slot)
{
    for (uint32_t i = 0; i < e->num_values; i++)
        if (e->values[i].slot == slot && e->values[i].name[0]) return e->values[i].name;
    return "?";
}

static const gpuc_exec_slot *slot_of(const gpuc_exec *e, uint32_t weight)
{
    return &e->slots[e->values[e->weights[weight].value].slot];
}

static gpuc_status place_weight(upload *u, uint32_t i)
{
    const gpuc_exec *e = u->model->exec;
    const gpuc_exec_slot *slot = slot_of(e, i);
    int64_t size;
    if (!gpuc_abi_xexpr_is_const(slot->size, &size) || size < 0 || (uint64_t)size < e->weights[i].size)
        return gpuc_fail(GPUC_INVALID_DATA, "its slot has no constant size of at least %llu bytes",
                         (unsigned long long)e->weights[i].size);
    return gpuc_executor_chunks_add(&u->chunks[slot->device], (uint64_t)size, &u->places[i]);
}

/* Chunks behind one another in the application's array. */
static gpuc_status use_memory(gpuc_model *m, gpuc_program_device *d, const gpuc_chunks *c)
{
    const gpuc_binding all = gpuc_ndarray_binding(m->weight_memory);
    uint64_t need = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        d->chunks[i] = (gpuc_binding){.buffer = all.buffer, .offset = all.offset + need};
        need += gpuc_align_up(c->sizes[i], GPUC_SLOT_ALIGN);
        m->weight_bytes += c->sizes[i];
    }
    if (need <= all.size && all.offset % GPUC_SLOT_ALIGN == 0) return NULL;
    return gpuc_fail(
        GPUC_INVALID_ARGUMENT,
        "gpuc_model_desc.weight_memory has %llu bytes from %llu of its buffer: the weights need %llu, from a "
        "multiple of %d",
        (unsigned long long)all.size, (unsigned long long)all.offset, (unsigned long long)need,
        GPUC_SLOT_ALIGN);
}

static gpuc_status alloc_chunks(gpuc_model *m, gpuc_program_device *d, const gpuc_chunks *c)
{
    d->chunks = gpuc_arena_alloc_array(&m->arena, c->count, sizeof *d->chunks);
    if (!d->chunks) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the weights");
    d->num_chunks = c->count;
    if (m->weight_memory && d == m->devices) return use_memory(m, d, c);
    for (uint32_t i = 0; i < c->count; i++) {
        GPUC_TRY(d->code.dev->api->alloc_data_space(d->code.dev, c->sizes[i], GPUC_SLOT_ALIGN,
                                                    &d->chunks[i].buffer));
        m->weight_bytes += c->sizes[i];
    }
    return NULL;
}

static gpuc_status copy_in(gpuc_program_device *d, const void *bytes, uint32_t chunk, uint64_t offset,
                           uint64_t size)
{
    const gpuc_binding *c = &d->chunks[chunk];
    gpuc_copy_end from = {.host = (void *)bytes}, to = {.buffer = c->buffer, .offset = c->offset + offset};
    return d->code.dev->api->copy_data_from_to(d->code.dev, from, to, size, NULL);
}

/* Zeroes the bytes behind the last element, which a vector load may read. */
static gpuc_status clear_tail(gpuc_program_device *d, const gpuc_place *p, uint64_t used)
{
    static const uint8_t zeros[GPUC_SLOT_ROUND];
    uint64_t rest = p->size - used < sizeof zeros ? p->size - used : sizeof zeros;
    return rest ? copy_in(d, zeros, p->chunk, p->offset + used, rest) : NULL;
}

static bool follows(const upload *u, uint32_t i, uint32_t first)
{
    const gpuc_exec *e = u->model->exec;
    const gpuc_place *a = &u->places[first], *b = &u->places[i];
    return slot_of(e, i)->device == slot_of(e, first)->device && a->chunk == b->chunk &&
           b->offset >= a->offset && e->weights[i].offset >= e->weights[first].offset &&
           e->weights[i].offset - e->weights[first].offset == b->offset - a->offset;
}

/* Copies the weights [first, end) at once; the gaps between them come along. */
static gpuc_status copy_run(const upload *u, uint32_t first, uint32_t end)
{
    const gpuc_exec *e = u->model->exec;
    const gpuc_exec_weight *a = &e->weights[first], *b = &e->weights[end - 1];
    gpuc_program_device *d = &u->model->devices[slot_of(e, first)->device];
    uint64_t size = b->offset + b->size - a->offset;
    if (size > 0)
        GPUC_TRY(copy_in(d, (const uint8_t *)u->model->program->weights + a->offset, u->places[first].chunk,
                         u->places[first].offset, size));
    for (uint32_t i = first; i < end; i++) GPUC_TRY(clear_tail(d, &u->places[i], e->weights[i].size));
    return NULL;
}

static void bind(upload *u)
{
    const gpuc_exec *e = u->model->exec;
    for (uint32_t i = 0; i < e->num_weights; i++) {
        uint32_t slot = e->values[e->weights[i].value].slot;
        const gpuc_place *p = &u->places[i];
        const gpuc_binding *chunk = &u->model->devices[e->slots[slot].device].chunks[p->chunk];
        u->model->weights[slot] =
            (gpuc_binding){.buffer = chunk->buffer, .offset = chunk->offset + p->offset, .size = p->size};
    }
}

static gpuc_status run_upload(upload *u)
{
    gpuc_model *m = u->model;
    const gpuc_exec *e = m->exec;
    for (uint32_t d = 0; d < e->num_devices; d++)
        gpuc_executor_chunks_init(&u->chunks[d], &m->arena, m->devices[d].code.dev);
    for (uint32_t i = 0; i < e->num_weights; i++)
        GPUC_TRY(gpuc_error_prefix(place_weight(u, i), "weight '%.64s'", e->weights[i].name));
    for (uint32_t d = 0; d < e->num_devices; d++)
        GPUC_TRY(gpuc_error_prefix(alloc_chunks(m, &m->devices[d], &u->chunks[d]), "allocating the weights"));
    for (uint32_t first = 0, end; first < e->num_weights; first = end) {
        for (end = first + 1; end < e->num_weights && follows(u, end, first) && follows(u, end, end - 1);)
            end++;
        GPUC_TRY(gpuc_error_prefix(copy_run(u, first, end), "weight '%.64s'", e->weights[first].name));
    }
    bind(u);
    for (uint32_t d = 0; d < e->num_devices; d++)
        GPUC_TRY(m->devices[d].code.dev->api->stream_sync(m->devices[d].code.dev, NULL));
    return NULL;
}

gpuc_status gpuc_model_load_weights(gpuc_model *m)
{
    const gpuc_exec *e = m->exec;
    upload u = {
        .model = m,
        .places = gpuc_arena_alloc_array(&m->arena, e->num_weights, sizeof *u.places),
        .chunks = gpuc_arena_alloc_array(&m->arena, e->num_devices, sizeof *u.chunks),
    };
    m->weights = gpuc_arena_alloc_array(&m->arena, e->num_slots, sizeof *m->weights);
    if (!u.places || !u.chunks || !m->weights)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the weights");
    return run_upload(&u);
}

void gpuc_model_unload_weights(gpuc_model *m)
{
    for (uint32_t i = 0; m->exec && i < m->exec->num_devices; i++) {
        gpuc_program_device *d = &m->devices[i];
        for (uint32_t c = 0; c < d->num_chunks; c++)
            if (d->chunks[c].buffer && (i || !m->weight_memory))
                d->code.dev->api->free_data_space(d->code.dev, d->chunks[c].buffer);
    }
    gpuc_ndarray_release(m->weight_memory);
}

/* ---- Default values of inputs ---- */

gpuc_device *gpuc_model_input_device(const gpuc_model *m, uint32_t i)
{
    const gpuc_exec *e = m->exec;
    return m->devices[e->slots[e->values[e->inputs[i]].slot].device].code.dev;
}

static gpuc_status load_default(gpuc_model *m, uint32_t i)
{
    const gpuc_signature_tensor *t = &m->package.signature.inputs[i];
    gpuc_device *dev = gpuc_model_input_device(m, i);
    GPUC_TRY(gpuc_ndarray_create(m->rt, dev, t->dtype, (int)t->ndim, t->value_dims, &m->defaults[i]));
    return gpuc_ndarray_write(m->defaults[i], t->value, (size_t)t->value_bytes);
}

gpuc_status gpuc_model_load_defaults(gpuc_model *m)
{
    const gpuc_signature *sig = &m->package.signature;
    m->defaults = gpuc_arena_alloc_array(&m->arena, sig->num_inputs, sizeof(gpuc_ndarray *));
    if (!m->defaults) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a model");
    for (uint32_t i = 0; i < sig->num_inputs; i++)
        if (sig->inputs[i].value)
            GPUC_TRY(gpuc_error_prefix(load_default(m, i), "default of input '%s'", sig->inputs[i].name));
    return NULL;
}

void gpuc_model_unload_defaults(gpuc_model *m)
{
    for (uint32_t i = 0; m->defaults && i < m->package.signature.num_inputs; i++)
        gpuc_ndarray_release(m->defaults[i]);
}
