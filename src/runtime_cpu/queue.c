/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a stream: records in chunks, which one thread at a time appends to and another one runs. */
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
    s->first = s->last = make_chunk(s, 0);
    return s->first ? NULL : out_of_memory();
}

void gpuc_cpu_queue_deinit(gpuc_cpu_stream *s)
{
    free_chunk(s, s->first); /* all is done: it is the last one, too */
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
    s->last->used += r->size;
    atomic_fetch_add(&s->queued, 1);
}

static gpuc_cpu_record *front(gpuc_cpu_stream *s)
{
    while (s->at == atomic_load(&s->first->end)) {
        gpuc_cpu_chunk *old = s->first;
        s->first = old->next;
        s->at = 0;
        free_chunk(s, old->size == CHUNK_BYTES ? atomic_exchange(&s->spare, old) : old);
    }
    return (gpuc_cpu_record *)(s->first->bytes + s->at);
}

static void run(gpuc_cpu_stream *s, const gpuc_cpu_record *r)
{
    void **tensors = gpuc_cpu_record_tensors(r);
    if (r->kernel) {
        gpuc_status status = gpuc_cpu_call(s->dev, r->kernel, tensors, gpuc_cpu_record_more(r));
        if (status) gpuc_cpu_stream_fail(s, status);
    } else if (r->other) {
        gpuc_cpu_stream_run_to(r->other, r->amount);
        gpuc_cpu_stream_unref(r->other);
    } else {
        memmove(tensors[1], tensors[0], r->amount);
    }
}

void gpuc_cpu_queue_run(gpuc_cpu_stream *s, uint64_t position)
{
    if (s->dev->pool) gpuc_cpu_pool_begin_burst(s->dev->pool);
    while (atomic_load(&s->done) < position) {
        gpuc_cpu_record *r = front(s);
        run(s, r);
        s->at += r->size;
        for (uint32_t i = 0; i < r->num_tensors; i++)
            gpuc_cpu_free(&s->dev->base, gpuc_cpu_record_buffers(r)[i]);
        atomic_fetch_add(&s->done, 1);
        if (atomic_load(&s->sleepers)) gpuc_cpu_stream_wake(s);
    }
    if (s->dev->pool) gpuc_cpu_pool_end_burst(s->dev->pool);
}
