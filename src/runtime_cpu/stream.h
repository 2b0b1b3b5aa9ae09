/* SPDX-License-Identifier: Apache-2.0 */
/* A stream from inside: a queue of records. Appending only publishes a record. Whoever needs the queue to be at
 * some position runs it, one thread at a time; flushing gives that task to a thread of the stream.
 *
 * The thread holds `lock` at times, and a forked child has a copy of that moment but not the thread: the child
 * makes the lock anew, and goes on. It runs again what the parent was running. */
#ifndef GPUC_RUNTIME_CPU_STREAM_H
#define GPUC_RUNTIME_CPU_STREAM_H

#include "runtime_cpu/cpu.h"

/* One launch, copy or wait. Behind it: the addresses of its tensors, the buffers that it keeps (or NULL), its
 * scalars or the bytes of a copy. */
typedef struct gpuc_cpu_record {
    size_t size; /* with what is behind it */
    uint32_t num_tensors;
    const gpuc_cpu_kernel *kernel; /* NULL: a copy of tensor 0 to tensor 1, or a wait */
    gpuc_cpu_stream *other;        /* to wait for; one reference */
    uint64_t amount;               /* the position of the other stream, or the bytes of the copy */
} gpuc_cpu_record;

typedef struct gpuc_cpu_chunk gpuc_cpu_chunk;
typedef struct gpuc_cpu_place {
    gpuc_cpu_chunk *chunk;
    size_t at; /* byte of the chunk */
} gpuc_cpu_place;

struct gpuc_cpu_stream {
    gpuc_stream base;
    gpuc_cpu_device *dev;
    void *block;           /* what the allocator gave for this struct */
    gpuc_cpu_stream *next; /* of the device's, under its lock */
    atomic_uint refs;      /* the owner's, of waits in queues, of waiting threads */

    pthread_mutex_t append_lock; /* only threads of the application take it */
    gpuc_cpu_chunk *last;
    double cost; /* estimated operations since the last flush */
    uint32_t num_unflushed;
    _Atomic(gpuc_cpu_chunk *) spare;
    atomic_uint_fast64_t queued; /* records */

    /* Of who runs: record n begins at places[n % 2], once n are done. In one line of the cache, and so in one page: a
     * fork copies them of one moment. */
    _Alignas(64) gpuc_cpu_place places[2];
    atomic_uint_fast64_t done; /* records */
    gpuc_cpu_stream *behind;   /* of who runs: the stream that waits for this one, which it runs too */
    uint64_t goal;             /* of who runs a stream that waits: how far it is to run */

    atomic_int process; /* that the lock is of; 0 while it is made anew */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_uint sleepers; /* that want to know of each record */
    bool running;         /* a thread runs records */
    bool started, stop;   /* the stream's own thread */
    uint64_t flushed;     /* up to where it runs */
    pthread_t thread;
    atomic_bool failed;
    gpuc_status error;  /* the first since a synchronization reported one */
    uint64_t failed_at; /* records before the one that failed */
};

/* queue.c */
GPUC_NODISCARD gpuc_status gpuc_cpu_queue_init(gpuc_cpu_stream *s);
void gpuc_cpu_queue_deinit(gpuc_cpu_stream *s);
/* Room for a record, whose size, num_tensors and buffers (NULL) are set; with append_lock held. */
GPUC_NODISCARD gpuc_status gpuc_cpu_queue_reserve(gpuc_cpu_stream *s, uint32_t num_tensors, size_t more_bytes,
                                                  gpuc_cpu_record **out);
/* Publishes the record, and keeps its buffers. */
void gpuc_cpu_queue_publish(gpuc_cpu_stream *s, const gpuc_cpu_record *r);
/* Runs the records before the position, which are published; by one thread at a time. Stops at a record that waits
 * for another stream, which is not there yet, and gives it; NULL: all are done. */
const gpuc_cpu_record *gpuc_cpu_queue_run(gpuc_cpu_stream *s, uint64_t position);
static inline void **gpuc_cpu_record_tensors(const gpuc_cpu_record *r)
{
    return (void **)(r + 1);
}
static inline gpuc_buffer **gpuc_cpu_record_buffers(const gpuc_cpu_record *r)
{
    return (gpuc_buffer **)(gpuc_cpu_record_tensors(r) + r->num_tensors);
}
static inline void *gpuc_cpu_record_more(const gpuc_cpu_record *r)
{
    return gpuc_cpu_record_buffers(r) + r->num_tensors;
}

/* stream.c: returns when so many records are done, running them here unless another thread does. */
void gpuc_cpu_stream_run_to(gpuc_cpu_stream *s, uint64_t position);
void gpuc_cpu_stream_unref(gpuc_cpu_stream *s);
/* Tells those who sleep that a record is done. */
void gpuc_cpu_stream_wake(gpuc_cpu_stream *s);
/* Keeps the status of the record that runs, for all who wait for it or for a later one. */
void gpuc_cpu_stream_fail(gpuc_cpu_stream *s, gpuc_status status);
/* What went wrong in the records before the position, as a status of the caller's. */
GPUC_NODISCARD gpuc_status gpuc_cpu_stream_error(gpuc_cpu_stream *s, uint64_t position);
/* Hands the records that are published to the stream's thread, or runs them. */
void gpuc_cpu_stream_hand_over(gpuc_cpu_stream *s);
/* Waits until so many records are done, or so many nanoseconds are over. */
void gpuc_cpu_stream_wait_until(gpuc_cpu_stream *s, uint64_t position, int64_t timeout_ns);

/* ticket.c: the tickets of a stream that are done need it no more. */
void gpuc_cpu_tickets_settle_locked(gpuc_cpu_device *dev, const gpuc_cpu_stream *of);

#endif
