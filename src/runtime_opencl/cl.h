/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL device from inside: the objects, and what each file of this folder gives the others.
 *
 * A device is a context of its own with one in-order queue per stream, or the application's context and queue
 * (adopt.c). OpenCL calls are safe from any thread,
 * except that arguments are set on a kernel object: every step of a plan has one to itself, and a launch takes
 * one of those that its kernel has (sites). Events of profiled plans come from a queue of their own, so that
 * others do not pay for them. */
#ifndef GPUC_CL_CL_H
#define GPUC_CL_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include <gpuc/opencl.h>

#include "abi/code.h"
#include "abi/kernel.h"
#include "base/arena.h"
#include "runtime/services.h"

typedef struct gpuc_cl_fns {
#define GPUC_CL_FN(name) __typeof__(cl##name) *name;
#include "runtime_opencl/functions.def"
#undef GPUC_CL_FN
    /* Of OpenCL 2.0; NULL: the library lacks it. */
    cl_command_queue(CL_API_CALL *CreateCommandQueueWithProperties)(cl_context context, cl_device_id device,
                                                                    const cl_ulong *properties,
                                                                    cl_int *error);
} gpuc_cl_fns;

/* ---- Errors (error.c) ----------------------------------------------------------------------- */

const char *gpuc_cl_error_name(cl_int error);
/* The call's name, the error's name, and a code that fits. */
GPUC_NODISCARD gpuc_status gpuc_cl_error_at(cl_int error, const char *call, const char *file, int line);
#define GPUC_CL_TRY(call, expr)                                                                              \
    do {                                                                                                     \
        cl_int try_error_ = (expr);                                                                          \
        if (try_error_ != CL_SUCCESS) return gpuc_cl_error_at(try_error_, (call), __FILE__, __LINE__);       \
    } while (0)
#define gpuc_cl_fail(call, error) gpuc_cl_error_at((error), (call), __FILE__, __LINE__)
/* For commands that failed. */
GPUC_NODISCARD gpuc_status gpuc_cl_lost(const char *call, cl_int error);
/* For a call that waited: drivers report a kernel that faulted or hung as lack of resources. */
GPUC_NODISCARD gpuc_status gpuc_cl_wait_error(const char *call, cl_int error);

/* ---- Loader (loader.c) ---------------------------------------------------------------------- */

typedef struct gpuc_cl_id {
    cl_platform_id platform;
    cl_device_id device;
} gpuc_cl_id;

/* Where functions come from. */
typedef struct gpuc_cl_library {
    void *handle;                                /* NULL if they come from elsewhere */
    void *(*find)(void *user, const char *name); /* given by the application, or set when it is loaded */
    void *find_user;
    gpuc_cl_fns fn;
} gpuc_cl_library;

GPUC_NODISCARD gpuc_status gpuc_cl_library_load(gpuc_cl_library *library);
void gpuc_cl_library_close(gpuc_cl_library *library);

/* State of the driver in one runtime. Nothing is loaded before the first count or open. */
typedef struct gpuc_cl {
    gpuc_runtime *rt;
    gpuc_allocator allocator;
    pthread_mutex_t lock;
    bool ready;
    gpuc_cl_library library;
    gpuc_cl_id *devices; /* of all platforms, in order */
    uint32_t num_devices;
} gpuc_cl;

/* Loads the library and lists the devices, once. */
GPUC_NODISCARD gpuc_status gpuc_cl_ensure(gpuc_cl *cl);
void gpuc_cl_unload(gpuc_cl *cl);

/* ---- Queues (queue.c) ----------------------------------------------------------------------- */

/* A queue, and the order of what is put on it: the queue's own, or, where that runs commands out of order, each
 * waits for the event of the one before. Several streams may have one queue. */
typedef struct gpuc_cl_queue {
    cl_command_queue handle;
    bool shared;          /* the application's, which puts commands on it, too */
    bool chained;         /* it runs commands out of order */
    pthread_mutex_t lock; /* of a chained one, while a command is enqueued */
    cl_event last;        /* of a chained one: the command before; NULL: there is none */
} gpuc_cl_queue;

/* One command, which is enqueued between begin and end with these arguments. */
typedef struct gpuc_cl_turn {
    cl_uint num_waits;
    const cl_event *waits;
    cl_event *place; /* for its event; NULL: nobody needs it */
    cl_event event;
    cl_bool blocking; /* of a command that turn_finish ends */
} gpuc_cl_turn;

typedef struct gpuc_cl_device gpuc_cl_device;

GPUC_NODISCARD gpuc_status gpuc_cl_queue_open(const gpuc_cl_device *dev,
                                              cl_command_queue_properties properties, gpuc_cl_queue *q);
/* Takes a reference of the application's queue. */
GPUC_NODISCARD gpuc_status gpuc_cl_queue_share(const gpuc_cl_device *dev, cl_command_queue handle,
                                               bool chained, gpuc_cl_queue *q);
void gpuc_cl_queue_close(const gpuc_cl_device *dev, gpuc_cl_queue *q);
void gpuc_cl_turn_begin(gpuc_cl_queue *q, bool with_event, gpuc_cl_turn *t);
/* error: of the call that enqueued it. Gives the same, or why the event cannot be had; *out_event is the caller's. */
cl_int gpuc_cl_turn_end(const gpuc_cl_device *dev, gpuc_cl_queue *q, gpuc_cl_turn *t, cl_int error,
                        cl_event *out_event);
/* The same, once the command is done. */
cl_int gpuc_cl_turn_finish(const gpuc_cl_device *dev, gpuc_cl_queue *q, gpuc_cl_turn *t, cl_int error);
/* What is put on the queue from now on waits for the events. */
GPUC_NODISCARD gpuc_status gpuc_cl_queue_wait(const gpuc_cl_device *dev, gpuc_cl_queue *q, cl_uint count,
                                              const cl_event *events);
/* Flushes, and gives an event of all that the queue has. */
GPUC_NODISCARD gpuc_status gpuc_cl_queue_mark(const gpuc_cl_device *dev, gpuc_cl_queue *q, cl_event *out);
/* What is put on `to` from now on starts after what `from` has. */
GPUC_NODISCARD gpuc_status gpuc_cl_queue_join(const gpuc_cl_device *dev, gpuc_cl_queue *from,
                                              gpuc_cl_queue *to);
/* Waits until all is done. */
GPUC_NODISCARD gpuc_status gpuc_cl_queue_drain(const gpuc_cl_device *dev, gpuc_cl_queue *q);
/* The same before memory goes away that commands may use: a call that fails once is made again, since nobody can be told. */
void gpuc_cl_queue_settle(const gpuc_cl_device *dev, gpuc_cl_queue *q);
/* Once its failure was reported, a command no longer makes those behind it on a chained queue fail. */
void gpuc_cl_queue_forgive(const gpuc_cl_device *dev, gpuc_cl_queue *q);
/* CL_COMPLETE, or a state above it, or an error below it. */
cl_int gpuc_cl_event_state(const gpuc_cl_device *dev, cl_event event);
/* The same, once it is done. */
cl_int gpuc_cl_event_wait(const gpuc_cl_device *dev, cl_event event);

/* ---- Device (device.c, adopt.c, attr.c) ------------------------------------------------------ */

typedef struct gpuc_cl_stream {
    gpuc_stream base;
    gpuc_cl_queue queue;
    /* Commands queued so far, and how many of them are known to be complete. A command is counted after it was
     * enqueued, even where that failed in the middle: a ticket of another thread that counts it comes behind it. */
    atomic_uint_fast64_t queued, completed;
    atomic_uint_fast64_t unflushed; /* estimated operations of launches since the last flush */
} gpuc_cl_stream;

/* A ticket that is not known to be done. */
typedef struct gpuc_cl_ticket {
    struct gpuc_cl_ticket *next; /* with a higher number */
    uint64_t number;
    cl_event event;
    gpuc_cl_stream *stream;
    uint_fast64_t queued; /* commands of the stream that it is for */
} gpuc_cl_ticket;

typedef struct gpuc_cl_caps {
    char name[128], driver[192], version[96], platform[96];
    bool is_cpu, unified;
    bool is_pocl;      /* it keeps what it compiled; kernels get guards (lower/guard_loops.c) */
    uint32_t features; /* gpuc_feature bits */
    size_t max_group, max_items[3];
    uint64_t local_bytes, global_bytes, max_alloc;
    uint32_t compute_units, base_align, vector_bits, clock_mhz;
    uint64_t l2_bytes;
    uint32_t registers;                          /* of a work-group; 0: not told */
    char compute[24];                            /* NVIDIA: "8.6", AMD: "gfx1030"; empty: not told */
    size_t max_params, max_texels, max_image[2]; /* of an image: width, height */
    bool has_compiler;
    bool priorities; /* queues are made with the runtime's queue_priority */
} gpuc_cl_caps;

typedef struct gpuc_cl_staging_block {
    struct gpuc_cl_staging_block *next;
    size_t size;
    cl_event event; /* of the copy that reads it; NULL: free */
    bool taken;
    _Alignas(max_align_t) unsigned char bytes[];
} gpuc_cl_staging_block;

typedef struct gpuc_cl_staging {
    pthread_mutex_t lock;
    gpuc_cl_staging_block *blocks;
    size_t total;
} gpuc_cl_staging;

struct gpuc_cl_device {
    gpuc_device base;
    gpuc_cl_library library; /* of an adopted device */
    const gpuc_cl_fns *fn;
    gpuc_allocator allocator;
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    bool id_retained;
    bool one_queue; /* streams share the queue of main */
    gpuc_cl_stream main;
    pthread_mutex_t lock; /* of the three that follow, and of all sites */
    gpuc_cl_queue profiling_queue, fill_queue;
    gpuc_cl_ticket *tickets; /* oldest first */
    uint64_t last_ticket;    /* that was given */
    gpuc_cl_staging staging;
    gpuc_cl_caps caps;
    atomic_uint_fast64_t next_buffer_id;
};

/* Without objects of OpenCL yet. */
GPUC_NODISCARD gpuc_status gpuc_cl_device_create(gpuc_runtime *rt, gpuc_cl_device **out);
void gpuc_cl_device_destroy(gpuc_device *dev);
GPUC_NODISCARD gpuc_status gpuc_cl_device_open(gpuc_cl *cl, int index, gpuc_device **out);
extern const gpuc_device_api gpuc_cl_api;
/* The device, if it is of this driver; name: of the argument. */
GPUC_NODISCARD gpuc_status gpuc_cl_device_of(gpuc_device *device, const char *name, gpuc_cl_device **out);

GPUC_NODISCARD gpuc_status gpuc_cl_caps_query(gpuc_cl_device *dev);
gpuc_status gpuc_cl_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out);

/* ---- Streams (stream.c) --------------------------------------------------------------------- */

/* On the application's queue, or, with NULL, on a queue of its own. */
GPUC_NODISCARD gpuc_status gpuc_cl_stream_init(gpuc_cl_device *dev, gpuc_cl_stream *s,
                                               cl_command_queue shared, bool chained);
void gpuc_cl_stream_deinit(gpuc_cl_device *dev, gpuc_cl_stream *s);
gpuc_cl_stream *gpuc_cl_stream_of(gpuc_cl_device *dev, gpuc_stream *stream); /* NULL: the default one */
/* Whether a command may still be waiting or running. */
bool gpuc_cl_stream_busy(const gpuc_cl_stream *s);
/* Whether a command that is queued now may have to wait: also for what the application has queued. */
bool gpuc_cl_stream_waits(const gpuc_cl_stream *s);
gpuc_status gpuc_cl_stream_create(gpuc_device *dev, gpuc_stream **out);
void gpuc_cl_stream_free(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_cl_stream_sync(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_cl_stream_flush(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_cl_stream_signal(gpuc_device *dev, gpuc_stream *stream, uint64_t *out);
gpuc_status gpuc_cl_stream_wait(gpuc_device *dev, gpuc_stream *stream, uint64_t ticket);
gpuc_status gpuc_cl_ticket_wait(gpuc_device *dev, uint64_t ticket, int64_t timeout_ns, bool *out_done);
/* Makes a queue once, with the lock of the device. */
GPUC_NODISCARD gpuc_status gpuc_cl_ensure_queue(gpuc_cl_device *dev, cl_command_queue_properties properties,
                                                gpuc_cl_queue *queue);

/* ---- Memory (buffer.c, copy.c, staging.c, foreign.c) ----------------------------------------- */

/* What is not allowed with a buffer. The first two have the bits of gpuc_access. */
enum {
    GPUC_CL_KERNEL_READS = 1,
    GPUC_CL_KERNEL_WRITES = 2,
    GPUC_CL_HOST_READS = 4,
    GPUC_CL_HOST_WRITES = 8,
    GPUC_CL_MAPPED = 16 /* nothing is: the host has it */
};

typedef struct gpuc_cl_buffer {
    gpuc_buffer base;
    cl_mem mem;
    uint64_t id;        /* never used twice, unlike addresses */
    atomic_bool fresh;  /* no queued command has it */
    bool foreign;       /* the application's: it ends where its size says */
    uint32_t skew;      /* bytes by which its address is known not to be a multiple of GPUC_SLOT_ALIGN */
    atomic_uint limits; /* uses that are refused */
    void *mapped;       /* address that the host has */
    /* Of an image; channels 0: it is none. */
    size_t width, height;
    gpuc_dtype dtype;
    uint8_t channels;
} gpuc_cl_buffer;

/* Makes an object of a cl_mem, whose reference it owns from then on. */
GPUC_NODISCARD gpuc_status gpuc_cl_buffer_create(gpuc_cl_device *dev, cl_mem mem, size_t size,
                                                 gpuc_cl_buffer **out);
/* Whether it may be used so: bits of those above. */
GPUC_NODISCARD gpuc_status gpuc_cl_buffer_check(const gpuc_cl_buffer *b, unsigned use);
/* Those bits, of memory of the application with these flags. */
unsigned gpuc_cl_limits_of(cl_mem_flags flags);

/* What OpenCL says about a cl_mem. */
typedef struct gpuc_cl_mem_info {
    cl_mem_object_type type; /* a buffer, or which image */
    cl_context context;      /* that it is of */
    cl_mem_flags flags;      /* that it was made with */
    size_t size;             /* bytes */
    void *host;              /* of CL_MEM_USE_HOST_PTR, else NULL */
    cl_mem parent;           /* buffer that it is a part of, or an image of; NULL: of none */
    size_t offset;           /* in the parent, bytes */
} gpuc_cl_mem_info;
/* INVALID_ARGUMENT for what is no memory object. */
GPUC_NODISCARD gpuc_status gpuc_cl_mem_ask(const gpuc_cl_device *dev, cl_mem mem, gpuc_cl_mem_info *out);
/* Notes in an array of the cl_mem which memory it is: that of another cl_mem, too, where both are of one parent or
 * of one memory of the host. */
void gpuc_cl_mem_origin(const gpuc_cl_device *dev, cl_mem mem, const gpuc_cl_mem_info *m, gpuc_ndarray *a);

/* Gives it back to the device if the host has it mapped. */
GPUC_NODISCARD gpuc_status gpuc_cl_buffer_unmap(gpuc_cl_device *dev, gpuc_cl_buffer *b);

/* image.c */
gpuc_status gpuc_cl_image_create(gpuc_device *dev, gpuc_dtype dtype, int64_t height, int64_t width,
                                 int channels, gpuc_buffer **out);
/* Whether memory at an offset can be a kernel's tensor, where one of the two is an image. */
GPUC_NODISCARD gpuc_status gpuc_cl_image_check(const gpuc_kernel_tensor *t, const gpuc_cl_buffer *b,
                                               uint64_t offset);
/* Queues a copy of which an end is an image. From the host it is done at the end; to the host, if wait. */
GPUC_NODISCARD gpuc_status gpuc_cl_image_copy(gpuc_cl_device *dev, gpuc_cl_queue *queue, gpuc_copy_end from,
                                              gpuc_copy_end to, size_t bytes, bool wait, cl_event *out_event);
static inline bool gpuc_cl_is_image(gpuc_copy_end end)
{
    return end.buffer && end.buffer->is_image;
}

gpuc_status gpuc_cl_alloc(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out);
void gpuc_cl_free(gpuc_device *dev, gpuc_buffer *buffer);
gpuc_status gpuc_cl_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream);
gpuc_status gpuc_cl_read_later(gpuc_device *dev, gpuc_copy_end from, void *host, size_t bytes,
                               gpuc_stream *stream);

/* A block that no copy reads any more, or NULL if there are too many bytes in flight. */
gpuc_cl_staging_block *gpuc_cl_staging_take(gpuc_cl_device *dev, size_t size);
/* The block becomes free when the event (taken) is complete; NULL: at once. */
void gpuc_cl_staging_give(gpuc_cl_device *dev, gpuc_cl_staging_block *block, cl_event event);
void gpuc_cl_staging_deinit(gpuc_cl_device *dev);

/* ---- Modules (module.c, program.c, cache.c) ------------------------------------------------- */

/* One program of a module, in the order of the file. */
typedef struct gpuc_cl_program {
    const gpuc_opencl_source *source; /* until module_load returns */
    const char *options;              /* of the source, and for the driver */
    cl_program handle;                /* NULL: none of its kernels is used */
} gpuc_cl_program;

typedef struct gpuc_cl_arg {
    uint64_t buffer; /* id; 0: never set */
    cl_int offset;   /* in elements */
} gpuc_cl_arg;

/* A kernel object, and what its arguments are now. */
typedef struct gpuc_cl_site {
    struct gpuc_cl_site *next; /* of the free ones of a kernel */
    cl_kernel handle;
    gpuc_cl_arg *tensors;
    int64_t *scalars;
    uint32_t num_scalars_set;
} gpuc_cl_site;

typedef struct gpuc_cl_kernel {
    const gpuc_kernel *meta;
    const gpuc_opencl_function *function; /* that it is: several kernels may be one */
    cl_program program;
    bool based;          /* its code adds the global offset to the numbers of work-groups */
    gpuc_cl_site *sites; /* of launches that are over; as many as threads launched it at once */
} gpuc_cl_kernel;

typedef struct gpuc_cl_module {
    gpuc_cl_device *dev;
    gpuc_arena arena;
    uint32_t num_programs, num_kernels;
    gpuc_cl_program *programs; /* by number of the code's */
    gpuc_cl_kernel *kernels;
} gpuc_cl_module;

gpuc_status gpuc_cl_module_load(gpuc_device *dev, const char *type_key, const void *bytes, size_t size,
                                const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                gpuc_code_module **out);
void gpuc_cl_module_release(gpuc_device *dev, gpuc_code_module *module);
gpuc_status gpuc_cl_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out);
/* A handle of its own with the values set; the caller releases it. */
GPUC_NODISCARD gpuc_status gpuc_cl_kernel_create(const gpuc_cl_device *dev, const gpuc_cl_kernel *k,
                                                 cl_kernel *out);

/* Builds the program, whose handle is NULL, from the cached binary if the driver accepts that, else from source, and then caches the
 * binary. */
GPUC_NODISCARD gpuc_status gpuc_cl_program_build(gpuc_cl_device *dev, gpuc_cl_program *p);

#define GPUC_CL_CACHE_KEY 48
void gpuc_cl_cache_key(const gpuc_cl_device *dev, const gpuc_cl_program *p, char out[GPUC_CL_CACHE_KEY]);
/* The binary inside of a cache entry if the entry is whole and of this key, else NULL. */
const unsigned char *gpuc_cl_cache_open(const char *key, const void *bytes, size_t size, size_t *out_size);
void gpuc_cl_cache_put(gpuc_cl_device *dev, const char *key, cl_program program);

/* ---- Launches (launch.c) --------------------------------------------------------------------- */

/* A launch that was checked. */
typedef struct gpuc_cl_launch {
    gpuc_cl_kernel *kernel;
    bool empty;
    size_t global[3], local[3];
} gpuc_cl_launch;

GPUC_NODISCARD gpuc_status gpuc_cl_launch_check(const gpuc_cl_device *dev, const gpuc_step *step,
                                                gpuc_cl_launch *out);
/* The handle is for gpuc_cl_site_release; the rest is of the arena. */
GPUC_NODISCARD gpuc_status gpuc_cl_site_create(const gpuc_cl_device *dev, const gpuc_cl_kernel *k,
                                               gpuc_arena *arena, gpuc_cl_site **out);
void gpuc_cl_site_release(const gpuc_cl_device *dev, gpuc_cl_site *site); /* NULL is fine */
GPUC_NODISCARD gpuc_status gpuc_cl_site_set_scalars(const gpuc_cl_device *dev, const gpuc_kernel *k,
                                                    gpuc_cl_site *site, const int64_t *scalars);
/* Work-groups [first, end) along an axis. */
typedef struct gpuc_cl_groups {
    int axis;
    uint32_t first, end;
} gpuc_cl_groups;
/* groups NULL: all. */
GPUC_NODISCARD gpuc_status gpuc_cl_launch_enqueue(gpuc_cl_device *dev, const gpuc_cl_launch *launch,
                                                  const gpuc_cl_groups *groups, gpuc_cl_site *site,
                                                  const gpuc_step_tensor *tensors,
                                                  const gpuc_bindings *bindings, gpuc_cl_queue *queue,
                                                  cl_event *out_event);
/* A copy of tensors[0] to tensors[1]. */
GPUC_NODISCARD gpuc_status gpuc_cl_check_copy_step(const gpuc_step *step);
GPUC_NODISCARD gpuc_status gpuc_cl_copy_enqueue(gpuc_cl_device *dev, const gpuc_step_tensor *tensors,
                                                const gpuc_bindings *bindings, gpuc_cl_queue *queue,
                                                cl_event *out_event);
gpuc_status gpuc_cl_launch_step(gpuc_device *dev, gpuc_stream *stream, const gpuc_step *step,
                                const gpuc_bindings *bindings);

/* ---- Plans (plan.c) ------------------------------------------------------------------------- */

gpuc_status gpuc_cl_plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                gpuc_plan **out);
gpuc_status gpuc_cl_plan_run(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream);
uint32_t gpuc_cl_plan_units(const gpuc_plan *plan, uint32_t step);
gpuc_status gpuc_cl_plan_run_part(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                  gpuc_stream *stream);
gpuc_status gpuc_cl_plan_profile(gpuc_plan *plan, double *out_ns, uint32_t count);
void gpuc_cl_plan_destroy(gpuc_plan *plan);

#endif
