/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of a device. The pool keeps what is given back and hands it out again when it fits
 * without much waste. A buffer may be given back as soon as the work that uses it is queued, if its
 * next user queues on the same stream: so it knows the stream of each. Any thread. */
#ifndef GPUC_RUNTIME_WORKSPACE_POOL_H
#define GPUC_RUNTIME_WORKSPACE_POOL_H

#include <pthread.h>

#include <gpuc/device.h>

typedef struct gpuc_workspace {
    gpuc_buffer *buffer;
    const gpuc_stream *stream; /* of the work that used it last; NULL: the default one */
    bool idle;                 /* that work is done: any stream may have it */
} gpuc_workspace;

typedef struct gpuc_workspace_pool {
    gpuc_device *device;
    pthread_mutex_t mutex;
    gpuc_workspace *free; /* smallest first */
    size_t count, capacity;
    size_t free_bytes;
} gpuc_workspace_pool;

GPUC_NODISCARD gpuc_status gpuc_runtime_workspace_pool_init(gpuc_workspace_pool *pool, gpuc_device *dev);
void gpuc_runtime_workspace_pool_deinit(gpuc_workspace_pool *pool); /* frees what lies in it */
GPUC_NODISCARD gpuc_status gpuc_runtime_workspace_pool_alloc(gpuc_workspace_pool *pool,
                                                             const gpuc_stream *stream, size_t bytes,
                                                             gpuc_buffer **out);
void gpuc_runtime_workspace_pool_free(gpuc_workspace_pool *pool, const gpuc_stream *stream,
                                      gpuc_buffer *buffer);
void gpuc_runtime_workspace_pool_trim(gpuc_workspace_pool *pool); /* frees what lies in it now */

/* What callers use: the device's own workspace functions, else its pool. At least `bytes` bytes, at a
 * multiple of GPUC_SLOT_ALIGN, contents undefined, for work on the stream. */
GPUC_NODISCARD gpuc_status gpuc_runtime_workspace_alloc(gpuc_device *dev, const gpuc_stream *stream,
                                                        size_t bytes, gpuc_buffer **out);
void gpuc_runtime_workspace_free(gpuc_device *dev, const gpuc_stream *stream, gpuc_buffer *buffer);
/* The stream is idle and goes: what it used is anybody's. */
void gpuc_runtime_workspace_forget(gpuc_device *dev, const gpuc_stream *stream);

#endif
