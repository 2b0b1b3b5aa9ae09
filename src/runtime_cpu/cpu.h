/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device from inside. Buffers are host memory, and code is a shared object. A plan is a list that
 * plan_run walks on the calling thread, after what its stream has queued; launches and copies are queued where
 * the stream has work, and run by whoever waits for them, or by a thread of the stream once it is flushed. */
#ifndef GPUC_RUNTIME_CPU_CPU_H
#define GPUC_RUNTIME_CPU_CPU_H

#include <stdatomic.h>

#include "abi/cpu_env.h"
#include "abi/kernel.h"
#include "runtime/services.h"
#include "runtime_cpu/pool.h"

typedef struct gpuc_cpu_stream gpuc_cpu_stream;

/* A ticket that may not be done yet. */
typedef struct gpuc_cpu_ticket {
    struct gpuc_cpu_ticket *next;
    uint64_t number, position; /* done when the stream has run so much */
    gpuc_cpu_stream *stream;
    gpuc_status error; /* of one among the failures, which no longer know their stream */
} gpuc_cpu_ticket;

typedef struct gpuc_cpu_device {
    gpuc_device base;
    gpuc_allocator allocator;
    gpuc_parallel parallel; /* of the runtime's description */
    gpuc_cpu_env env;       /* what kernels get: its host is the pool, or how the application runs loops */
    gpuc_cpu_pool *pool;    /* NULL if the application runs the loops */
    int num_threads;
    gpuc_cpu_stream *main;    /* the default one */
    pthread_mutex_t lock;     /* of what follows */
    gpuc_cpu_stream *streams; /* all */
    gpuc_cpu_ticket *tickets; /* that may not be done, oldest first */
    gpuc_cpu_ticket **tickets_end;
    gpuc_cpu_ticket *failures; /* tickets of work that failed, newest first */
    uint32_t num_failures;
    uint64_t last_ticket; /* that was given */
    uint32_t features;
    int vector_bits;
    char name[96];
    char instruction_sets[640]; /* all of abi/cpu_isa.def fit */
} gpuc_cpu_device;

gpuc_status gpuc_cpu_device_open(gpuc_runtime *rt, gpuc_device **out);
/* For kernels whose loops the application runs; p must stay. */
gpuc_cpu_env gpuc_cpu_env_of(const gpuc_parallel *p);
extern const gpuc_device_api gpuc_cpu_api;

/* attr.c */
int gpuc_cpu_online_processors(void);
void gpuc_cpu_query(gpuc_cpu_device *dev);      /* fills name, features, vector_bits */
void gpuc_cpu_list_isa(char *out, size_t size); /* isa.c: " avx avx2 " */
gpuc_status gpuc_cpu_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out);

/* buffer.c */
typedef struct gpuc_cpu_buffer {
    gpuc_buffer base;
    atomic_uint refs; /* the owner's, and one per use in a queue */
    void *block;      /* what the allocator gave */
    size_t block_size;
} gpuc_cpu_buffer;

gpuc_status gpuc_cpu_alloc(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out);
void gpuc_cpu_free(gpuc_device *dev, gpuc_buffer *buffer); /* drops a reference */
gpuc_status gpuc_cpu_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                          gpuc_stream *stream);
gpuc_status gpuc_cpu_read_later(gpuc_device *dev, gpuc_copy_end from, void *host, size_t bytes,
                                gpuc_stream *stream);

/* module.c */
typedef struct gpuc_cpu_module gpuc_cpu_module;

typedef struct gpuc_cpu_kernel {
    const gpuc_kernel *meta; /* may go before queued launches do */
    const char *name;        /* the module's copy */
    gpuc_cpu_kernel_fn fn;
    gpuc_cpu_module *module;
} gpuc_cpu_kernel;

struct gpuc_cpu_module {
    gpuc_cpu_device *dev;
    atomic_uint refs; /* the owner's, and one per queued launch */
    size_t bytes;     /* of this struct, its kernels and their names */
    void *library;
    int fd; /* of the library's memory; -1 if it came from a file */
    uint32_t num_kernels;
    gpuc_cpu_kernel kernels[];
};

gpuc_status gpuc_cpu_module_load(gpuc_device *dev, const char *type_key, const void *bytes, size_t size,
                                 const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                 gpuc_code_module **out);
void gpuc_cpu_module_release(gpuc_device *dev, gpuc_code_module *module); /* drops a reference */
gpuc_status gpuc_cpu_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out);

/* step.c: what plans and streams do with a step. */
/* Its kernel, NULL for a copy; *out_empty: nothing to launch or to copy. */
GPUC_NODISCARD gpuc_status gpuc_cpu_check_step(const gpuc_cpu_device *dev, const gpuc_step *step,
                                               const gpuc_cpu_kernel **out, bool *out_empty);
/* The address of each tensor. */
GPUC_NODISCARD gpuc_status gpuc_cpu_resolve(const gpuc_cpu_device *dev, const gpuc_cpu_kernel *k,
                                            const gpuc_step_tensor *tensors, uint32_t count,
                                            const gpuc_bindings *bindings, void **out);
GPUC_NODISCARD gpuc_status gpuc_cpu_call(gpuc_cpu_device *dev, const gpuc_cpu_env *env,
                                         const gpuc_cpu_kernel *k, void *const *tensors,
                                         const int64_t *scalars);

/* stream.c; NULL: the default stream */
gpuc_cpu_stream *gpuc_cpu_stream_of(gpuc_cpu_device *dev, gpuc_stream *stream);
bool gpuc_cpu_stream_idle(gpuc_cpu_stream *s);
/* Queues a copy. staged: the bytes at from are copied now. The buffers, which may be NULL, are kept. */
GPUC_NODISCARD gpuc_status gpuc_cpu_stream_copy(gpuc_cpu_stream *s, void *to, const void *from, size_t bytes,
                                                bool staged, gpuc_buffer *to_buffer,
                                                gpuc_buffer *from_buffer);
gpuc_status gpuc_cpu_launch(gpuc_device *dev, gpuc_stream *stream, const gpuc_step *step,
                            const gpuc_bindings *bindings);
gpuc_status gpuc_cpu_stream_create(gpuc_device *dev, gpuc_stream **out);
void gpuc_cpu_stream_free(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_cpu_stream_sync(gpuc_device *dev, gpuc_stream *stream);
void gpuc_cpu_tickets_free(gpuc_cpu_device *dev); /* ticket.c; all streams must be gone */
gpuc_status gpuc_cpu_stream_flush(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_cpu_stream_signal(gpuc_device *dev, gpuc_stream *stream, uint64_t *out);
gpuc_status gpuc_cpu_stream_wait(gpuc_device *dev, gpuc_stream *stream, uint64_t ticket);
gpuc_status gpuc_cpu_ticket_wait(gpuc_device *dev, uint64_t ticket, int64_t timeout_ns, bool *out_done);

/* plan.c */
gpuc_status gpuc_cpu_plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                 gpuc_plan **out);
gpuc_status gpuc_cpu_plan_run(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream);
uint32_t gpuc_cpu_plan_units(const gpuc_plan *plan, uint32_t step);
gpuc_status gpuc_cpu_plan_run_part(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                   gpuc_stream *stream);
void gpuc_cpu_plan_set_parallel(gpuc_plan *plan, const gpuc_parallel *loops);
gpuc_status gpuc_cpu_plan_profile(gpuc_plan *plan, double *out_ns, uint32_t count);
void gpuc_cpu_plan_destroy(gpuc_plan *plan);

#endif
