/* SPDX-License-Identifier: Apache-2.0 */
/* DeviceAPI: the table of functions that a device is. Applications use runtime.h; this header is
 * for who runs kernels directly or adds a device of their own.
 *
 * A slot marked (optional) may be NULL; its default stands beside it. Threads: calls on different
 * devices are independent; calls on one device may come from several threads, except that one
 * plan, and one stream that is not the default one, is used by one thread at a time. */
#ifndef GPUC_DEVICE_H
#define GPUC_DEVICE_H

#include <gpuc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_runtime gpuc_runtime;
typedef struct gpuc_device gpuc_device;
typedef struct gpuc_buffer gpuc_buffer; /* device memory; each backend embeds the struct below */
typedef struct gpuc_stream gpuc_stream; /* NULL is the default stream; backends embed the struct below */
typedef struct gpuc_code_module gpuc_code_module;
typedef struct gpuc_plan gpuc_plan;
struct gpuc_kernel;      /* metadata, gpuc/kernel.h */
struct gpuc_vulkan_sync; /* gpuc/vulkan.h */
struct gpuc_vulkan_submit;

/* What a device can be asked. Limits are of one launch; a device that does not know a limit has none. */
typedef enum gpuc_device_attr {
    GPUC_ATTR_EXISTS,                /* int */
    GPUC_ATTR_NAME,                  /* string */
    GPUC_ATTR_DRIVER,                /* string: name and version of the driver */
    GPUC_ATTR_IS_SOFTWARE,           /* int: 1 for a CPU implementation */
    GPUC_ATTR_API_VERSION,           /* string */
    GPUC_ATTR_MAX_THREADS_PER_BLOCK, /* int, from here on */
    GPUC_ATTR_MAX_BLOCK_X,
    GPUC_ATTR_MAX_BLOCK_Y,
    GPUC_ATTR_MAX_BLOCK_Z,
    GPUC_ATTR_MAX_GRID_X,
    GPUC_ATTR_MAX_GRID_Y,
    GPUC_ATTR_MAX_GRID_Z,
    GPUC_ATTR_MAX_SHARED_BYTES,
    GPUC_ATTR_WARP_SIZE,             /* subgroup size; 1 if there are none */
    GPUC_ATTR_MULTI_PROCESSOR_COUNT, /* compute units or threads */
    GPUC_ATTR_TOTAL_GLOBAL_BYTES,
    GPUC_ATTR_MAX_ALLOC_BYTES,
    GPUC_ATTR_MAX_BUFFER_RANGE,    /* bytes of one binding */
    GPUC_ATTR_MAX_STORAGE_BUFFERS, /* per kernel */
    GPUC_ATTR_MAX_PUSH_BYTES,
    GPUC_ATTR_MAX_TEXELS,
    GPUC_ATTR_BUFFER_ALIGN,          /* of a binding's offset */
    GPUC_ATTR_UNIFIED_MEMORY,        /* int: 1 if device memory is host memory */
    GPUC_ATTR_FEATURES,              /* int: gpuc_feature bits */
    GPUC_ATTR_SUBGROUP_SIZE_CONTROL, /* int: 1 if a kernel can require a subgroup size */
    GPUC_ATTR_VECTOR_BITS,           /* int: width of a native vector of one lane; 0 unknown */
    GPUC_ATTR_INSTRUCTION_SETS,      /* string: " avx avx2 fma ", of a CPU, beyond what its ABI has */
    GPUC_ATTR_MAX_ITERATIONS, /* int: max iterations of all loops of an invocation; then the device ends them */
    GPUC_ATTR_COMPUTE_VERSION,       /* string: what the device computes by: "8.6", "OpenCL 3.0", "gfx1030" */
    GPUC_ATTR_MAX_CLOCK_RATE,        /* int: kHz */
    GPUC_ATTR_MAX_THREAD_DIMENSIONS, /* string: MAX_BLOCK_X, _Y and _Z as "[1024, 1024, 64]" */
    GPUC_ATTR_MAX_REGISTERS,         /* int: 32-bit registers of a work-group */
    GPUC_ATTR_GCN_ARCH,              /* string: of AMD's devices */
    GPUC_ATTR_L2_CACHE_BYTES,        /* int */
    GPUC_ATTR_AVAILABLE_GLOBAL_BYTES, /* int: memory that is free now */
    GPUC_ATTR_MAX_IMAGE_WIDTH,        /* int, as the next: texels of an image */
    GPUC_ATTR_MAX_IMAGE_HEIGHT,
    GPUC_ATTR_COUNT
} gpuc_device_attr;

/* What a device must have to run a kernel or a program. */
typedef enum gpuc_feature {
    GPUC_FEATURE_FLOAT16 = 1 << 0, /* arithmetic */
    GPUC_FEATURE_FLOAT64 = 1 << 1,
    GPUC_FEATURE_INT8 = 1 << 2,
    GPUC_FEATURE_INT16 = 1 << 3,
    GPUC_FEATURE_INT64 = 1 << 4,
    GPUC_FEATURE_STORAGE8 = 1 << 5, /* 8-bit elements in storage buffers */
    GPUC_FEATURE_STORAGE16 = 1 << 6,
    GPUC_FEATURE_SUBGROUP = 1 << 7, /* basic + arithmetic */
    GPUC_FEATURE_SUBGROUP_SHUFFLE = 1 << 8,
    GPUC_FEATURE_DOT_PRODUCT = 1 << 9, /* integer dot product */
    GPUC_FEATURE_COOPMAT = 1 << 10,
    GPUC_FEATURE_ATOMIC_FLOAT = 1 << 11,
    GPUC_FEATURE_FLOAT_CONTROLS = 1 << 12,  /* signs of zeros, infinities and NaN can be preserved */
    GPUC_FEATURE_IMAGES = 1 << 13,          /* images as arguments */
    GPUC_FEATURE_IMAGE_ANY_FORMAT = 1 << 14 /* images of a format that the kernel does not say are written */
} gpuc_feature;
#define GPUC_FEATURE_COUNT 15
GPUC_API const char *gpuc_feature_name(gpuc_feature one_bit); /* "float16", ... the target's attribute name */

/* Answer of get_attr: nothing, an int, or a string (borrowed from the device). */
typedef struct gpuc_attr_value {
    bool known;    /* false: the device cannot tell */
    int64_t i;     /* of int attributes */
    const char *s; /* of string attributes */
} gpuc_attr_value;

/* Head of every backend's buffer. */
struct gpuc_buffer {
    gpuc_device *device; /* that the memory is of */
    size_t size;         /* in bytes */
    void *host;          /* mapped address if the host can read and write it directly, else NULL */
    bool is_image; /* it is no bytes in a row: copied and bound whole, and size is that of its elements */
};

/* Head of every backend's stream: an open batch of launches and copies, which run in the order in which they were
 * appended. It is flushed, that is, handed to the device, when asked and when its estimated cost reaches a
 * bound; nothing waits but what is said to. Work of two streams is ordered by tickets only. */
struct gpuc_stream {
    gpuc_device *device; /* that made it */
};

/* A point in a stream, which host and streams can wait for, any number of times and from any thread. It is a
 * value, good as long as the runtime of its device lives: it is done once everything that the stream had when
 * the ticket was made is done. Zeros are a ticket that is done. */
typedef struct gpuc_ticket {
    gpuc_device *device; /* that gave it */
    uint64_t number;     /* of the device */
} gpuc_ticket;
#define GPUC_FOREVER INT64_MAX /* a timeout that never ends */

/* One side of a copy. A NULL buffer is host memory. */
typedef struct gpuc_copy_end {
    gpuc_buffer *buffer; /* of the device that copies; NULL: host */
    void *host;          /* address in host memory; not used with a buffer */
    size_t offset;       /* bytes into the buffer, or behind the address */
} gpuc_copy_end;

/* A part of a buffer that a step reads or writes. The slot is a number that plan_run's bindings
 * resolve, so that one plan serves many buffers. */
typedef struct gpuc_step_tensor {
    uint32_t slot;         /* index into the bindings of a run */
    uint8_t access;        /* gpuc_access: 1 read, 2 write, 3 both */
    uint64_t offset, size; /* bytes; the offset counts from the start of the binding */
    const char *name;      /* for messages, may be NULL; lives as long as the plan */
} gpuc_step_tensor;

/* One launch or one copy, with all sizes known. */
typedef struct gpuc_step {
    gpuc_code_module *module;          /* NULL: a copy of tensors[0] to tensors[1] */
    uint32_t kernel;                   /* number from kernel_get */
    uint32_t num_tensors, num_scalars; /* of the arrays below */
    const gpuc_step_tensor *tensors;   /* the kernel's buffers, in the order of its metadata */
    const int64_t *scalars;            /* a float scalar is the bits of a double */
    uint32_t launch[3];                /* work-groups */
    const char *label; /* for debuggers: the operator; may be NULL. It lives as long as the plan */
} gpuc_step;

/* Bits of plan_create's flags. */
typedef enum gpuc_plan_flag {
    GPUC_PLAN_PROFILING = 1, /* each run measures its steps */
} gpuc_plan_flag;

/* The memory of a slot in one run. */
typedef struct gpuc_binding {
    gpuc_buffer *buffer;   /* of the plan's device */
    uint64_t offset, size; /* bytes of it that the slot has */
} gpuc_binding;

/* The memory of all slots of a plan in one run. */
typedef struct gpuc_bindings {
    const gpuc_binding *slots; /* by slot number */
    uint32_t count;            /* of slots */
    uint64_t version; /* not 0: of these slots; a plan need not look at them again while it is the same */
} gpuc_bindings;

/* A part of a plan, in the middle of an inference that is queued in parts. A step has units, pieces that may run at
 * different times (plan_units); a launch has ranges of its work-groups. */
typedef struct gpuc_plan_part {
    uint32_t step, unit;         /* where it begins: a unit of a step */
    uint32_t end_step, end_unit; /* behind its last unit; unit 0 of a step: behind the step before */
    /* Out: by step of the plan, nanoseconds that the whole step takes, where it has been measured since the last part;
     * others are left alone. */
    double *step_ns;
    double device_ns; /* out: the time of those parts that are newly known to be done; 0: of none */
} gpuc_plan_part;

/* How an application runs parallel loops. */
typedef struct gpuc_parallel {
    /* Calls body on disjoint ranges that cover [begin, end), on any threads, and returns when all are done. */
    void (*run)(void *user, int64_t begin, int64_t end, void (*body)(void *arg, int64_t begin, int64_t end),
                void *arg);
    void *user; /* passed to run */
} gpuc_parallel;

/* Where plan_record records: a piece of an inference. */
typedef struct gpuc_recording {
    void *commands;                      /* VkCommandBuffer */
    const struct gpuc_vulkan_sync *sync; /* what is before and behind; NULL: compute and transfer work only */
    bool opens, closes; /* whether what sync says before, or behind, is next to these steps */
    bool first, last;   /* whether they begin, or end, an inference: buffers change between queue families */
    uint32_t query;     /* of sync->query_pool, for a timestamp behind them; UINT32_MAX: none */
    uint32_t
        num_queries;    /* not 0: resets so many from sync->first_query on, which gets a timestamp in front */
    uint64_t number;    /* of the recording that they are part of: it grows */
    uint32_t in_flight; /* recordings up to this one that may still run; 0: all */
    const char *label;  /* for debuggers, around the steps; NULL: none */
} gpuc_recording;

/* The functions of a backend: one static table for all its devices. */
typedef struct gpuc_device_api {
    size_t struct_size; /* sizeof(gpuc_device_api) of the header it was compiled with */
    const char *name;   /* of the driver; the runtime fills it in */

    /* -- memory, copies and streams -- */
    /* A query that the device cannot answer gives known = false, not an error. */
    gpuc_status (*get_attr)(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out);
    /* Memory of at least so many bytes, aligned at least as the device needs for bindings. Contents are
     * undefined. Kernels of a target without storage8 or storage16 access the last word of 32 bits whole, so the
     * memory goes on to its end. OUT_OF_DEVICE_MEMORY if there is none. */
    gpuc_status (*alloc_data_space)(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out);
    /* Frees a buffer of alloc_data_space; NULL does nothing. */
    void (*free_data_space)(gpuc_device *dev, gpuc_buffer *buffer);
    /* (optional) default: UNSUPPORTED. An image [height, width, channels] of uint8, float16 or float32, 1 or 4
     * channels, for kernels' tensors that are images; free_data_space frees it. Copies to and from it are of all its
     * elements, row by row. Contents are undefined. */
    gpuc_status (*alloc_image)(gpuc_device *dev, gpuc_dtype dtype, int64_t height, int64_t width,
                               int channels, gpuc_buffer **out);
    /* (optional) default: the data-space functions, through the runtime's workspace pool. */
    gpuc_status (*alloc_workspace)(gpuc_device *dev, size_t bytes, gpuc_buffer **out);
    /* (optional) with alloc_workspace. Gives back a buffer of alloc_workspace. */
    void (*free_workspace)(gpuc_device *dev, gpuc_buffer *buffer);
    /* Host to device is queued, and the host bytes are reusable on return. Device to host returns
     * with the bytes in place. Device to device is queued. */
    gpuc_status (*copy_data_from_to)(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                                     gpuc_stream *stream);
    /* (optional) default: copy_data_from_to. Queues a copy from device to host, and returns. The bytes are in place
     * once a ticket that was signalled after it has been seen to be done; until then the host memory must stay. */
    gpuc_status (*read_later)(gpuc_device *dev, gpuc_copy_end from, void *host, size_t bytes,
                              gpuc_stream *stream);
    /* (optional) The functions of streams, from here to ticket_wait: all or none. Default, for devices that
     * have done a launch or copy when its function returns: streams that hold nothing, and tickets that are
     * done. A stream of its own. */
    gpuc_status (*create_stream)(gpuc_device *dev, gpuc_stream **out);
    /* Frees a stream of create_stream, after its work. */
    void (*free_stream)(gpuc_device *dev, gpuc_stream *stream);
    gpuc_status (*stream_sync)(gpuc_device *dev, gpuc_stream *stream); /* waits; reports device loss */
    /* Hands to the device what the stream has gathered; does not wait. */
    gpuc_status (*stream_flush)(gpuc_device *dev, gpuc_stream *stream);
    /* Flushes. *out is the number of a ticket for all work that the stream has; 0: that is done already. */
    gpuc_status (*stream_signal)(gpuc_device *dev, gpuc_stream *stream, uint64_t *out);
    /* Work that is appended to the stream from now on waits for the ticket, which is of this device.
     * INVALID_ARGUMENT for a number that was not given yet. */
    gpuc_status (*stream_wait)(gpuc_device *dev, gpuc_stream *stream, uint64_t ticket);
    /* Waits for a ticket of this device at most so many nanoseconds: 0 looks, GPUC_FOREVER waits. *out_done
     * says whether it is done. INVALID_ARGUMENT for a number that was not given yet. */
    gpuc_status (*ticket_wait)(gpuc_device *dev, uint64_t ticket, int64_t timeout_ns, bool *out_done);

    /* -- code and plans -- */
    /* Compiles or loads code for the kernels whose metadata is given (they name this module).
     * bytes need not outlive the call; kernels must outlive the module. */
    gpuc_status (*module_load)(gpuc_device *dev, const char *type_key, const void *bytes, size_t size,
                               const struct gpuc_kernel *const *kernels, uint32_t num_kernels,
                               gpuc_code_module **out);
    /* (optional) Called after many calls of module_load, perhaps from several threads at once: hands what was compiled
     * to the application's cache, where the driver keeps that in one piece. */
    void (*store_cache)(gpuc_device *dev);
    /* Appends one launch or copy to the stream. All of the step is read, and all is checked, before it returns.
     * Buffers may be freed and the module released while it is queued: that waits, or is done later. */
    gpuc_status (*launch)(gpuc_device *dev, gpuc_stream *stream, const gpuc_step *step,
                          const gpuc_bindings *bindings);
    /* Frees the code, after its work. Plans that launch it must be gone. */
    void (*module_release)(gpuc_device *dev, gpuc_code_module *module);
    /* The number of a kernel, for gpuc_step. NOT_FOUND if the module has none of that name. */
    gpuc_status (*kernel_get)(gpuc_code_module *module, const char *name, uint32_t *out);
    /* (optional) The functions of plans, plan_create, plan_run and plan_destroy: all or none. Default: a plan is
     * launched step by step. Copies what it needs of the steps. Barriers are derived from the access sets. flags:
     * gpuc_plan_flag. */
    gpuc_status (*plan_create)(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                               gpuc_plan **out);
    /* Queues the plan. Bindings are resolved now; buffers must live until the stream is synced. */
    gpuc_status (*plan_run)(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream);
    /* (optional) With plan_run_part. The units of a step, 1 at least. */
    uint32_t (*plan_units)(const gpuc_plan *plan, uint32_t step);
    /* (optional) Queues a part of the plan, and hands it to the device; does not wait. Parts of one run come in order, with
     * the same bindings, and cover all units. Default, for devices without plans: steps are launched. NULL with plans of
     * the device's own: a plan is run as a whole. */
    gpuc_status (*plan_run_part)(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                 gpuc_stream *stream);
    /* (optional) default: nothing, for devices whose kernels have no loops on the host. Later runs of the plan have
     * their parallel loops run by `loops`, which is copied; NULL: as the runtime's description says. */
    void (*plan_set_parallel)(gpuc_plan *plan, const gpuc_parallel *loops);
    /* (optional) Records steps [first, first + count) into the application's command buffer, with a
     * barrier in front that orders them after compute and transfer work recorded before. Vulkan: they
     * run in the compute shader and transfer stages; what comes before and after from other stages is ordered by what
     * `ends` says. Plan and buffers must outlive the command buffer. */
    gpuc_status (*plan_record)(gpuc_plan *plan, const gpuc_bindings *bindings, uint32_t first, uint32_t count,
                               const gpuc_recording *recording);
    /* (optional, Vulkan) What comes before and behind an inference that is put on the device's queue: semaphores, and
     * buffers that other queue families own. end: it is behind. What is queued comes in order. */
    gpuc_status (*submit_end)(gpuc_device *dev, const gpuc_bindings *bindings,
                              const struct gpuc_vulkan_submit *submit, bool end);
    /* (optional) After a sync: nanoseconds that each step of the last run took on the device; the
     * plan must have been created with GPUC_PLAN_PROFILING. */
    gpuc_status (*plan_profile)(gpuc_plan *plan, double *out_ns, uint32_t count);
    void (*plan_destroy)(gpuc_plan *plan); /* Frees the plan, after its work. */
    /* Closes the device, after its work. Its buffers, modules and plans must be gone. */
    void (*destroy)(gpuc_device *dev);
} gpuc_device_api;

/* Head of every backend's device object. */
struct gpuc_device {
    const gpuc_device_api *api; /* the functions of the backend, with defaults for what it leaves out */
    gpuc_runtime *runtime;      /* that opened the device, and outlives it */
    gpuc_device_type type;      /* the kind of device */
    int index;                  /* among the devices of its kind */
    uint64_t launches;          /* kernels launched since it was opened; the driver counts them, atomically */
};

#ifdef __cplusplus
}
#endif
#endif
