/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a stream: records in chunks, which one thread at a time appends to and another one runs. A fork may
 * come at any moment of who runs: where record n begins is written before n records are done, and what it kept is
 * given back after it counts as done, so that a child finds a queue that it can go on with. */
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "runtime_cpu/stream.h"

#define CHUNK_BYTES ((size_t)16 << 10)

struct gpuc_cpu_chunk {
    gpuc_cpu_chunk *next; /* set before end */
    size_t size, used;
    atomic_size_t end; /* where the next chunk goes on; SIZE_MAX: this is the last one */
    _Alignas(16) unsigned char bytes[];
};

static gpuc_cpu_chunk *make_chunk(gpuc_cpu_stream *s, size_t size)
{
    gpuc_cpu_chunk *c = size <= CHUNK_BYTES ? atomic_exchange(&s->spare, NULL) : NULL;
    if (size < CHUNK_BYTES) size = CHUNK_BYTES;
    if (!c) c = gpuc_mem_resize(s->dev->allocator, NULL, 0, sizeof *c + size);
    if (!c) return NULL;
    c->next = NULL;
    c->size = size;
    c->used = 0;
    atomic_init(&c->end, SIZE_MAX);
    return c;
}

static void free_chunk(gpuc_cpu_stream *s, gpuc_cpu_chunk *c)
{
    if (c) gpuc_mem_free(s->dev->allocator, c, sizeof *c + c->size);
}

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a stream of the CPU device");
}

gpuc_status gpuc_cpu_queue_init(gpuc_cpu_stream *s)
{
    s->last = s->places[0].chunk = make_chunk(s, 0);
    return s->last ? NULL : out_of_memory();
}

void gpuc_cpu_queue_deinit(gpuc_cpu_stream *s)
{
    free_chunk(s, s->last); /* all is done: there is no other */
    free_chunk(s, atomic_load(&s->spare));
}

gpuc_status gpuc_cpu_queue_reserve(gpuc_cpu_stream *s, uint32_t num_tensors, size_t more_bytes,
                                   gpuc_cpu_record **out)
{
    gpuc_cpu_chunk *c = s->last;
    size_t size;
    *out = NULL;
    if (!gpuc_size_add(more_bytes, sizeof(gpuc_cpu_record) + 2 * num_tensors * sizeof(void *) + 15, &size))
        return out_of_memory();
    size = size / 16 * 16;
    if (size > c->size - c->used) {
        gpuc_cpu_chunk *next = make_chunk(s, size);
        if (!next) return out_of_memory();
        c->next = next;
        atomic_store(&c->end, c->used);
        s->last = c = next;
    }
    gpuc_cpu_record *r = (gpuc_cpu_record *)(c->bytes + c->used);
    *r = (gpuc_cpu_record){.size = size, .num_tensors = num_tensors};
    memset(gpuc_cpu_record_buffers(r), 0, num_tensors * sizeof(void *));
    *out = r;
    return NULL;
}

void gpuc_cpu_queue_publish(gpuc_cpu_stream *s, const gpuc_cpu_record *r)
{
    gpuc_buffer **buffers = gpuc_cpu_record_buffers(r);
    for (uint32_t i = 0; i < r->num_tensors; i++)
        if (buffers[i])
            atomic_fetch_add_explicit(&((gpuc_cpu_buffer *)buffers[i])->refs, 1, memory_order_relaxed);
    if (r->kernel) atomic_fetch_add_explicit(&r->kernel->module->refs, 1, memory_order_relaxed);
    s->last->used += r->size;
    atomic_fetch_add(&s->queued, 1);
}

/* The record at the place, which moves to a later chunk if that is where it lies. */
static const gpuc_cpu_record *record_at(gpuc_cpu_place *place)
{
    while (place->at == atomic_load(&place->chunk->end))
        *place = (gpuc_cpu_place){.chunk = place->chunk->next};
    return (const gpuc_cpu_record *)(place->chunk->bytes + place->at);
}

static void free_chunks(gpuc_cpu_stream *s, gpuc_cpu_chunk *from, const gpuc_cpu_chunk *to)
{
    while (from != to) {
        gpuc_cpu_chunk *old = from;
        from = old->next;
        free_chunk(s, old->size == CHUNK_BYTES ? atomic_exchange(&s->spare, old) : old);
    }
}

static void release_kept(gpuc_cpu_stream *s, const gpuc_cpu_record *r)
{
    for (uint32_t i = 0; i < r->num_tensors; i++) gpuc_cpu_free(&s->dev->base, gpuc_cpu_record_buffers(r)[i]);
    if (r->kernel) gpuc_cpu_module_release(&s->dev->base, (gpuc_code_module *)r->kernel->module);
    if (r->other) gpuc_cpu_stream_unref(r->other);
}

static void run(gpuc_cpu_stream *s, const gpuc_cpu_record *r)
{
    void **tensors = gpuc_cpu_record_tensors(r);
    gpuc_status status = NULL;
    if (r->kernel)
        status = gpuc_cpu_call(s->dev, &s->dev->env, r->kernel, tensors, gpuc_cpu_record_more(r));
    else if (r->other)
        status = gpuc_cpu_stream_error(r->other, r->amount); /* what comes behind it stands on what failed */
    else
        memmove(tensors[1], tensors[0], r->amount);
    if (status) gpuc_cpu_stream_fail(s, status);
}

const gpuc_cpu_record *gpuc_cpu_queue_run(gpuc_cpu_stream *s, uint64_t position)
{
    const gpuc_cpu_record *waits = NULL;
    uint64_t done;
    if (s->dev->pool) gpuc_cpu_pool_begin_burst(s->dev->pool);
    while (!waits && (done = atomic_load(&s->done)) < position) {
        gpuc_cpu_place place = s->places[done % 2];
        gpuc_cpu_chunk *first = place.chunk;
        const gpuc_cpu_record *r = record_at(&place);
        if (r->other && atomic_load(&r->other->done) < r->amount) {
            waits = r;
            continue;
        }
        run(s, r);
        s->places[(done + 1) % 2] = (gpuc_cpu_place){.chunk = place.chunk, .at = place.at + r->size};
        atomic_store(&s->done, done + 1);
        release_kept(s, r);
        free_chunks(s, first, place.chunk);
        if (atomic_load(&s->sleepers)) gpuc_cpu_stream_wake(s);
    }
    if (s->dev->pool) gpuc_cpu_pool_end_burst(s->dev->pool);
    return waits;
}
