/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: devices, arrays, packed functions, models and sessions.
 *
 * It prints nothing, touches no file, environment variable or thread unless asked, and needs the
 * C library and dlopen only. Two runtimes may live in one process.
 *
 * fork: in the child, what lies on the CPU device goes on as it was, with threads of its own, provided that
 * no other thread was inside of a call of this library. Drivers do not survive it: objects of Vulkan and
 * OpenCL devices are the parent's, and the child neither uses nor releases them; it may create a runtime of
 * its own. */
#ifndef GPUC_RUNTIME_H
#define GPUC_RUNTIME_H

#include <gpuc/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Runtime ------------------------------------------------------------------------------ */

typedef enum gpuc_log_level { GPUC_LOG_INFO, GPUC_LOG_WARNING, GPUC_LOG_ERROR } gpuc_log_level;

typedef struct gpuc_runtime_desc {
    uint32_t struct_size;
    gpuc_allocator allocator;
    /* Messages of drivers and layers, fallbacks taken. id is stable: "vulkan.validation", ... */
    void (*log)(void *user, gpuc_log_level level, const char *id, const char *message);
    void *log_user;
    /* Pipeline and program binaries, but for those of pocl, which keeps them itself. load fills *bytes from
     * storage that stays valid until the next call on the same thread; false if it has none. Both may be
     * called from several threads. */
    bool (*cache_load)(void *user, const char *key, const void **bytes, size_t *size);
    void (*cache_store)(void *user, const char *key, const void *bytes, size_t size);
    void *cache_user;
    /* Parallel loops of the CPU device; NULL uses num_threads threads (0: one per processor). */
    void (*parallel_for)(void *user, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
    void *parallel_user;
    int num_threads;
    bool vulkan_validation; /* ask for VK_LAYER_KHRONOS_validation with synchronization checks */
    bool vulkan_staging;    /* tests: copy as if the host could not see the memory of any Vulkan device */
} gpuc_runtime_desc;
#define GPUC_RUNTIME_DESC_INIT ((gpuc_runtime_desc){.struct_size = sizeof(gpuc_runtime_desc)})

GPUC_API GPUC_NODISCARD gpuc_status gpuc_runtime_create(const gpuc_runtime_desc *desc, gpuc_runtime **out);
/* Empties the registry. Arrays, functions, modules and models that are still held keep the devices
 * open; the last of them closes them. */
GPUC_API void gpuc_runtime_release(gpuc_runtime *rt);

/* Opens device number index of a kind, or returns the open one. NOT_FOUND or DEVICE_UNAVAILABLE
 * with the reason (no loader, no driver, index out of range, ...). The runtime owns it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_open(gpuc_runtime *rt, gpuc_device_type type, int index,
                                                     gpuc_device **out);
/* Number of devices of a kind that could be opened; 0 if the driver is missing. */
GPUC_API int gpuc_device_count(gpuc_runtime *rt, gpuc_device_type type);
/* Parses "vulkan", "opencl:1", "cpu", "c". */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_parse(const char *text, gpuc_device_type *type, int *index);
GPUC_API const char *gpuc_device_type_name(gpuc_device_type type);
GPUC_API gpuc_attr_value gpuc_device_get_attr(gpuc_device *dev, gpuc_device_attr attr);

/* ---- Arrays ------------------------------------------------------------------------------- */

/* A compact n-dimensional array on a device. Reference counted; retain and release are atomic. */
typedef struct gpuc_ndarray gpuc_ndarray;

/* ndim 0 is a scalar. dev NULL is the host. Contents are zero. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_create(gpuc_runtime *rt, gpuc_device *dev, gpuc_dtype dtype,
                                                        int ndim, const int64_t *dims, gpuc_ndarray **out);
GPUC_API gpuc_ndarray *gpuc_ndarray_retain(gpuc_ndarray *a);
GPUC_API void gpuc_ndarray_release(gpuc_ndarray *a);
GPUC_API gpuc_dtype gpuc_ndarray_dtype(const gpuc_ndarray *a);
GPUC_API int gpuc_ndarray_ndim(const gpuc_ndarray *a);
GPUC_API const int64_t *gpuc_ndarray_dims(const gpuc_ndarray *a);
GPUC_API size_t gpuc_ndarray_bytes(const gpuc_ndarray *a);
GPUC_API gpuc_device *gpuc_ndarray_device(const gpuc_ndarray *a); /* NULL for the host */
/* Address of the elements, or NULL where the host cannot reach them. On a device, work that is queued
 * must have been waited for. */
GPUC_API void *gpuc_ndarray_host(const gpuc_ndarray *a);
GPUC_API gpuc_binding gpuc_ndarray_binding(const gpuc_ndarray *a); /* buffer NULL for the host */
/* Whole arrays between any two places; same dtype and number of elements. Waits for a read-back. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_copy(const gpuc_ndarray *from, gpuc_ndarray *to);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_write(gpuc_ndarray *a, const void *bytes, size_t size);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_read(const gpuc_ndarray *a, void *bytes, size_t size);

/* ---- Values and packed functions ---------------------------------------------------------- */

typedef struct gpuc_function gpuc_function;
typedef struct gpuc_module gpuc_module;

typedef enum gpuc_value_kind {
    GPUC_VALUE_NULL,
    GPUC_VALUE_INT,
    GPUC_VALUE_FLOAT,
    GPUC_VALUE_HANDLE,
    GPUC_VALUE_DTYPE,
    GPUC_VALUE_DEVICE,
    GPUC_VALUE_STRING, /* borrowed in arguments; owned (allocator) in results */
    GPUC_VALUE_BYTES,
    GPUC_VALUE_NDARRAY, /* the counted kinds: a result holds a reference */
    GPUC_VALUE_MODULE,
    GPUC_VALUE_FUNCTION,
    GPUC_VALUE_OBJECT
} gpuc_value_kind;

typedef struct gpuc_bytes {
    const void *data;
    size_t size;
} gpuc_bytes;

typedef struct gpuc_value {
    gpuc_value_kind kind;
    union {
        int64_t i;
        double f;
        void *handle;
        gpuc_dtype dtype;
        gpuc_device *device;
        const char *string;
        gpuc_bytes bytes;
        gpuc_ndarray *ndarray;
        gpuc_module *module;
        gpuc_function *function;
        struct gpuc_object *object;
    } as;
} gpuc_value;

/* Drops what a result value owns, and makes it null. */
GPUC_API void gpuc_value_clear(gpuc_runtime *rt, gpuc_value *value);
/* For packed functions: a result that owns a copy. What value held is not dropped. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_value_set_string(gpuc_runtime *rt, gpuc_value *value,
                                                          const char *text);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_value_set_bytes(gpuc_runtime *rt, gpuc_value *value,
                                                         const void *data, size_t size);
GPUC_API const char *gpuc_value_kind_name(gpuc_value_kind kind); /* "int", "ndarray", ... */

typedef gpuc_status (*gpuc_packed_fn)(const gpuc_value *args, int num_args, gpuc_value *ret, void *self);

/* owner, if not NULL, is retained: the module that the code lies in. self is freed with the function;
 * the caller keeps it on failure. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_function_create(gpuc_runtime *rt, gpuc_packed_fn fn, void *self,
                                                         void (*free_self)(void *self), gpuc_module *owner,
                                                         gpuc_function **out);
GPUC_API gpuc_function *gpuc_function_retain(gpuc_function *f);
GPUC_API void gpuc_function_release(gpuc_function *f);
/* ret is cleared by the caller (gpuc_value_clear); NULL drops the result. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_function_call(gpuc_function *f, const gpuc_value *args, int num_args,
                                                       gpuc_value *ret);

/* The registry: names to packed functions. Registering a name twice is an error unless replace.
 * Lookups take no lock; registration must not run beside lookups on other threads. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_registry_set(gpuc_runtime *rt, const char *name, gpuc_function *f,
                                                      bool replace);
GPUC_API gpuc_function *gpuc_registry_get(gpuc_runtime *rt, const char *name); /* borrowed, or NULL */
GPUC_API size_t gpuc_registry_count(gpuc_runtime *rt);
GPUC_API const char *gpuc_registry_name(gpuc_runtime *rt, size_t i); /* sorted */

/* A module: functions by name, and bytes that bring it back through
 * `runtime.module.loadbinary_<type_key>`. */
typedef struct gpuc_module_ops {
    const char *type_key;
    /* A new reference; NULL if there is none of that name. */
    gpuc_status (*get_function)(gpuc_module *m, const char *name, gpuc_function **out);
    gpuc_status (*save_to_binary)(gpuc_module *m, gpuc_value *out_bytes); /* (optional) */
    void (*destroy)(gpuc_module *m);                                      /* frees state */
} gpuc_module_ops;
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_create(gpuc_runtime *rt, const gpuc_module_ops *ops,
                                                       void *state, gpuc_module **out);
GPUC_API gpuc_module *gpuc_module_retain(gpuc_module *m);
GPUC_API void gpuc_module_release(gpuc_module *m);
GPUC_API void *gpuc_module_state(gpuc_module *m);
GPUC_API const char *gpuc_module_type_key(gpuc_module *m);
/* The caller owns one reference of the function, which keeps the module. NOT_FOUND if it has none. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_get_function(gpuc_module *m, const char *name,
                                                             gpuc_function **out);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_save_binary(gpuc_module *m, gpuc_value *out_bytes);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_load_binary(gpuc_runtime *rt, const char *type_key,
                                                            const void *bytes, size_t size,
                                                            gpuc_module **out);

/* ---- Models and sessions ------------------------------------------------------------------ */

/* A package on a device: weights and pipelines. Immutable; may be shared between threads. */
typedef struct gpuc_model gpuc_model;
/* One run at a time: activations, bindings. Make one per frame in flight. */
typedef struct gpuc_session gpuc_session;

typedef struct gpuc_model_desc {
    uint32_t struct_size;
    const char *path; /* of the package; or bytes and size, which must outlive the model */
    const void *bytes;
    size_t size;
    gpuc_device *device;    /* run here; NULL: the first program whose device can be opened */
    bool allow_native_code; /* load CPU code from the package */
    bool check_weights;     /* checksum the weights too */
    bool profiling;         /* record device timestamps per kernel */
} gpuc_model_desc;
#define GPUC_MODEL_DESC_INIT ((gpuc_model_desc){.struct_size = sizeof(gpuc_model_desc)})

GPUC_API GPUC_NODISCARD gpuc_status gpuc_model_load(gpuc_runtime *rt, const gpuc_model_desc *desc,
                                                    gpuc_model **out);
GPUC_API gpuc_model *gpuc_model_retain(gpuc_model *model);
GPUC_API void gpuc_model_release(gpuc_model *model);
GPUC_API gpuc_device *gpuc_model_device(gpuc_model *model);
GPUC_API const char *gpuc_model_target(gpuc_model *model);
/* Why the programs before the chosen one were not taken; "" if it was the first. */
GPUC_API const char *gpuc_model_fallback_reason(gpuc_model *model);

typedef struct gpuc_tensor_info {
    const char *name;
    gpuc_dtype dtype;
    int ndim;
    const int64_t *dims; /* -1 where symbolic */
    const char *const *dim_names;
    bool has_default; /* an input that a session need not set: the package holds a value */
} gpuc_tensor_info;
GPUC_API int gpuc_model_num_inputs(const gpuc_model *model);
GPUC_API int gpuc_model_num_outputs(const gpuc_model *model);
GPUC_API gpuc_tensor_info gpuc_model_input(const gpuc_model *model, int i);
GPUC_API gpuc_tensor_info gpuc_model_output(const gpuc_model *model, int i);
GPUC_API int gpuc_model_find_input(const gpuc_model *model, const char *name); /* -1 */
/* Whether a kernel, or a copy, has the input's bytes as an operand: else only its shape and type count. */
GPUC_API bool gpuc_model_reads_input(const gpuc_model *model, int i);

GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_create(gpuc_model *model, gpuc_session **out);
GPUC_API void gpuc_session_release(gpuc_session *session);
/* Copies from anywhere; dtype and dims are checked. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_set_input(gpuc_session *s, int i, const gpuc_ndarray *value);
/* Uses the array itself, which must be on the model's device: no copy. Retained until replaced; NULL unbinds:
 * the input has its default again, if the package holds one. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_bind_input(gpuc_session *s, int i, gpuc_ndarray *value);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_bind_output(gpuc_session *s, int i, gpuc_ndarray *value);
/* Queues one inference. Every input that has no default must have been set. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_run(gpuc_session *s);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_sync(gpuc_session *s);
/* Borrowed device array of output i; valid after run, until the next change of input shapes. INVALID_ARGUMENT
 * where the last run failed, and for an output that was bound after it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_get_output(gpuc_session *s, int i, gpuc_ndarray **out);

/* ---- Operator by operator: for those who look for a wrong kernel ---- */

/* One operator of the fused graph. Its values are numbers: inputs, then outputs. */
typedef struct gpuc_node_info {
    const char *name; /* "conv2d_add_relu_3#7" */
    const char
        *source; /* the model's node names that it came from, comma-separated; the last gives the output */
    gpuc_device *device;
    bool on_helper; /* what the program's target cannot compute; its device may be that of the model, too */
    int num_steps; /* launches and copies; none: it gives another shape, or joins what others store in parts */
    int num_inputs, num_outputs;
    const uint32_t *values;
} gpuc_node_info;
GPUC_API int gpuc_model_num_nodes(const gpuc_model *model);
GPUC_API gpuc_node_info gpuc_model_node(const gpuc_model *model, int i); /* zeros where there is none */

/* One step of an operator. Borrowed from the model, or from what it was loaded from. */
typedef struct gpuc_node_step {
    const char *kernel;    /* as the package names it; NULL: a copy, or a size that the host reads */
    const char *variant;   /* the kernel that runs in its place on this device; often the same */
    const char *code_type; /* "spirv", "opencl_c", "cpu_so": how the code is written */
    const void *code; /* of the variant: SPIR-V words, source text, or a shared object; NULL: not found */
    size_t code_size; /* bytes */
} gpuc_node_step;
GPUC_API gpuc_node_step gpuc_model_node_step(const gpuc_model *model, int node, int step); /* zeros if none */

/* A session whose plans end where an operator does. gpuc_session_run does the same as in any other. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_create_stepped(gpuc_model *model, gpuc_session **out);
/* Runs one operator and waits: number 0 begins an inference, then each the one after the last. An inference
 * reads the inputs that it began with: setting or binding an input or an output ends it, and what is asked of
 * it then is INVALID_ARGUMENT until number 0 begins another. So does an error. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_run_node(gpuc_session *s, int node);
/* A value as it is now, as an array of the host that the caller owns. What no later operator reads may be
 * overwritten by the next one. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_read_value(gpuc_session *s, uint32_t value,
                                                            gpuc_ndarray **out);
/* Replaces what an operator computed, so that those after it see other numbers. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_write_value(gpuc_session *s, uint32_t value,
                                                             const gpuc_ndarray *from);

typedef struct gpuc_session_stats {
    uint64_t arena_bytes, arena_chunks, weight_bytes;
    uint64_t launches_device, launches_other; /* per run: on the model's device, on helpers */
} gpuc_session_stats;
GPUC_API gpuc_session_stats gpuc_session_get_stats(const gpuc_session *s);
/* With profiling: per step of the last run its kernel's name, label and nanoseconds. */
typedef struct gpuc_step_profile {
    const char *node, *kernel, *label;
    double ns;
} gpuc_step_profile;
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_profile(gpuc_session *s, gpuc_step_profile *out,
                                                         int *in_out_count);

#ifdef __cplusplus
}
#endif
#endif
