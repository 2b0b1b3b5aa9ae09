/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the CPU device's parallel loops. They start at the first loop that needs them. */
#ifndef GPUC_RUNTIME_CPU_POOL_H
#define GPUC_RUNTIME_CPU_POOL_H

#include <pthread.h>

#include <gpuc/base.h>

typedef struct gpuc_cpu_pool gpuc_cpu_pool;

/* num_threads counts the calling thread; at least 1. */
GPUC_NODISCARD gpuc_status gpuc_cpu_pool_create(gpuc_allocator a, int num_threads, gpuc_cpu_pool **out);
void gpuc_cpu_pool_destroy(gpuc_cpu_pool *pool); /* no loop may be running; NULL is fine */

/* Calls body on disjoint ranges that cover [begin, end), and returns when all are done. A loop inside
 * of a loop runs on the thread that it is in. Loops of several threads take turns, in the order in which they
 * came. */
void gpuc_cpu_pool_run(gpuc_cpu_pool *pool, int64_t begin, int64_t end,
                       void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

/* Between these two more loops are to be expected soon: idle threads stay awake longer. A process that was
 * forked off runs loops between them only: the first starts threads of its own there. */
void gpuc_cpu_pool_begin_burst(gpuc_cpu_pool *pool);
void gpuc_cpu_pool_end_burst(gpuc_cpu_pool *pool);

/* Starts a thread that may run loops, and gets no signals. */
bool gpuc_cpu_thread_start(pthread_t *out, void *(*run)(void *), void *arg);

/* Threads that have been started, without the callers. */
int gpuc_cpu_pool_num_started(gpuc_cpu_pool *pool);

#endif
