/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: devices, arrays, packed functions, models and sessions.
 *
 * It prints nothing, touches no file, environment variable or thread unless asked, and needs the
 * C library and dlopen only. Two runtimes may live in one process.
 *
 * NULL: retain, release and clear do nothing with it. A function that returns a status refuses it with
 * INVALID_ARGUMENT wherever its comment gives it no meaning, but for arrays of no elements. All others take
 * objects only.
 *
 * fork: in the child, what lies on the CPU device goes on as it was, with threads of its own, provided that
 * no other thread was inside of a call of this library. What a stream was running is run again. Drivers do not
 * survive it: objects of Vulkan and OpenCL devices are the parent's, and the child neither uses nor releases them; it may create a runtime of
 * its own. */
#ifndef GPUC_RUNTIME_H
#define GPUC_RUNTIME_H

#include <gpuc/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Runtime ------------------------------------------------------------------------------ */

/* How much a log message matters. */
typedef enum gpuc_log_level { GPUC_LOG_INFO, GPUC_LOG_WARNING, GPUC_LOG_ERROR } gpuc_log_level;

/* How the queues that gpuc makes stand beside other work on the same device. */
typedef enum gpuc_queue_priority {
    GPUC_QUEUE_PRIORITY_DEFAULT, /* as the driver has it */
    GPUC_QUEUE_PRIORITY_LOW,     /* in the background: what is drawn comes first */
    GPUC_QUEUE_PRIORITY_HIGH     /* first; drivers may ask for privileges */
} gpuc_queue_priority;

/* What a runtime may use of the application. Start from GPUC_RUNTIME_DESC_INIT; callbacks may be NULL. */
typedef struct gpuc_runtime_desc {
    uint32_t struct_size;     /* set by GPUC_RUNTIME_DESC_INIT */
    gpuc_allocator allocator; /* for all memory of the host; zeros: the C library's */
    /* Receives messages of drivers and layers, and notes about fallbacks. id is stable: "vulkan.validation",
     * ... It may be called from any thread. */
    void (*log)(void *user, gpuc_log_level level, const char *id, const char *message);
    void *log_user; /* passed to log */
    /* Finds pipeline and program binaries by key (pocl keeps its own). It fills *bytes from storage that
     * stays valid until the next call on the same thread; false if it has none. Both callbacks may run on
     * several threads. */
    bool (*cache_load)(void *user, const char *key, const void **bytes, size_t *size);
    /* Keeps bytes under the key, for cache_load in this process or a later one. bytes are borrowed for the
     * call. */
    void (*cache_store)(void *user, const char *key, const void *bytes, size_t size);
    void *cache_user; /* passed to cache_load and cache_store */
    /* Parallel loops of the CPU device, and of compiling kernels; NULL uses num_threads threads. A session may have its
     * own for what it runs (gpuc_session_set_parallel_for). */
    void (*parallel_for)(void *user, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
    void *parallel_user; /* passed to parallel_for */
    int num_threads; /* of the CPU device and of what compiles, without parallel_for; 0: one per processor */
    bool vulkan_validation; /* ask for VK_LAYER_KHRONOS_validation with synchronization checks */
    bool vulkan_staging;    /* tests: copy as if the host could not see the memory of any Vulkan device */
    /* Of the queues that gpuc makes on GPUs: by VK_KHR_global_priority or VK_EXT_global_priority, by
     * cl_khr_priority_hints. A device that lacks these, or refuses, is opened as by default, with a note to log
     * ("vulkan.priority", "opencl.priority"). A queue of the application keeps its own. */
    gpuc_queue_priority queue_priority;
} gpuc_runtime_desc;
#define GPUC_RUNTIME_DESC_INIT GPUC_SIZED(gpuc_runtime_desc)

/* Creates a runtime without devices: register the kinds to use (gpuc/devices.h). desc NULL is the default;
 * it is copied, what it points to must live as long as the runtime. UNSUPPORTED if desc uses a field that
 * this version lacks. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_runtime_create(const gpuc_runtime_desc *desc, gpuc_runtime **out);
/* Empties the registry. Arrays, functions, modules and models that are still held keep the devices and
 * plug-ins (gpuc/plugin.h) open; the last of them closes them. */
GPUC_API void gpuc_runtime_release(gpuc_runtime *rt);

/* Opens device number index of a kind, or returns the open one. NOT_FOUND or DEVICE_UNAVAILABLE
 * with the reason (no loader, no driver, index out of range, ...). The runtime owns it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_open(gpuc_runtime *rt, gpuc_device_type type, int index,
                                                     gpuc_device **out);
/* The number of the first device that was made of objects of the application (gpuc/vulkan.h, gpuc/opencl.h). */
#define GPUC_ADOPTED_FIRST 1024
/* Closes a device that was made of objects of the application, which may destroy them afterwards. No other
 * thread uses it meanwhile. INVALID_ARGUMENT for other devices, which the runtime closes, and as long as there are
 * arrays, streams, modules or models on it. The tickets of the device are over. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_close(gpuc_device *dev);
/* Number of devices of a kind that could be opened; 0 if the driver is missing. Adopted ones do not count. */
GPUC_API int gpuc_device_count(gpuc_runtime *rt, gpuc_device_type type);
/* Parses "vulkan", "opencl:1", "cpu", "c" (the CPU) to a kind and a number; with a runtime also the names of its
 * other drivers, "foo:1" (gpuc/driver.h). INVALID_ARGUMENT for other texts. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_parse(gpuc_runtime *rt, const char *text,
                                                      gpuc_device_type *type, int *index);
/* The number of the devices of a name: of "cpu" ("c"), "opencl", "vulkan"; for any other name one from
 * GPUC_DEVICE_USER_FIRST on, which follows from the name alone, since packages have it. 0 for NULL and "". */
GPUC_API gpuc_device_type gpuc_device_type_named(const char *name);
/* "cpu", "opencl", "vulkan"; with a runtime also the names of its other drivers; else "unknown". */
GPUC_API const char *gpuc_device_type_name(gpuc_runtime *rt, gpuc_device_type type);
/* A limit or property of the device; known is false if it cannot tell. The string of one is borrowed from
 * the device. */
GPUC_API gpuc_attr_value gpuc_device_get_attr(gpuc_device *dev, gpuc_device_attr attr);
/* The name of an attribute: "max_threads_per_block", ...; NULL for numbers that are none. */
GPUC_API const char *gpuc_device_attr_name(gpuc_device_attr attr);
/* The attribute of a name, or of TVM's name for it ("max_shared_memory_per_block"). NOT_FOUND, with the closest
 * name, if there is none. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_attr_named(const char *name, gpuc_device_attr *out);

/* ---- Arrays ------------------------------------------------------------------------------- */

/* A compact n-dimensional array on a device. Reference counted; retain and release are atomic. */
typedef struct gpuc_ndarray gpuc_ndarray;

/* Allocates an array whose elements are zero. dev NULL is the host; ndim 0 is a scalar. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_create(gpuc_runtime *rt, gpuc_device *dev, gpuc_dtype dtype,
                                                        int ndim, const int64_t *dims, gpuc_ndarray **out);
/* One more reference, for another owner. NULL does nothing. */
GPUC_API gpuc_ndarray *gpuc_ndarray_retain(gpuc_ndarray *a);
/* Drops a reference; the last one frees the array, or gives it back to who owns its memory. */
GPUC_API void gpuc_ndarray_release(gpuc_ndarray *a);
/* The type of an element. */
GPUC_API gpuc_dtype gpuc_ndarray_dtype(const gpuc_ndarray *a);
/* The number of dimensions; 0 for a scalar. */
GPUC_API int gpuc_ndarray_ndim(const gpuc_ndarray *a);
/* The extents, outermost first: ndim of them, borrowed. */
GPUC_API const int64_t *gpuc_ndarray_dims(const gpuc_ndarray *a);
/* The bytes of all elements. */
GPUC_API size_t gpuc_ndarray_bytes(const gpuc_ndarray *a);
GPUC_API gpuc_device *gpuc_ndarray_device(const gpuc_ndarray *a); /* NULL for the host */
/* Address of the elements, or NULL where the host cannot reach them. On a device, work that is queued
 * must have been waited for. */
GPUC_API void *gpuc_ndarray_host(const gpuc_ndarray *a);
GPUC_API gpuc_binding gpuc_ndarray_binding(const gpuc_ndarray *a); /* buffer NULL for the host */
/* Copies all elements between any two places; both arrays have the same dtype and number of elements. It
 * waits if it copies to the host.
 * This, write and read come after what the device's default stream has, where sessions run, and after what the
 * current stream of the thread has; what is put there later comes after them. Work of other streams is put in
 * order by tickets. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_copy(const gpuc_ndarray *from, gpuc_ndarray *to);
/* Replaces all elements by bytes of the host, which are reusable on return. size must be
 * gpuc_ndarray_bytes. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_write(gpuc_ndarray *a, const void *bytes, size_t size);
/* Copies all elements to the host, and waits for the work that writes them. size must be
 * gpuc_ndarray_bytes. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_read(const gpuc_ndarray *a, void *bytes, size_t size);

/* ---- Streams ------------------------------------------------------------------------------ */

/* A stream (gpuc/device.h) of a device: launches and copies run in the order in which they are appended, beside
 * those of other streams: on the CPU device their parallel loops take turns, on a device with one queue what was
 * handed over first comes first. Appending does not wait: what gathers is handed to the device when the stream is
 * flushed or signalled, or is much. One thread at a time uses a stream. On the CPU device who waits runs the
 * work, and a thread of the stream once it is flushed; where the application runs the loops or asked for one
 * thread, flushing runs it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_stream_create(gpuc_device *dev, gpuc_stream **out);
/* Waits for the stream's work, and frees it. It must be no other thread's current stream. NULL does nothing. */
GPUC_API void gpuc_stream_release(gpuc_stream *stream);
/* Hands what has gathered to the device; does not wait. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_stream_flush(gpuc_stream *stream);
/* Flushes, and gives a ticket that is done when all work of the stream is. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_stream_signal(gpuc_stream *stream, gpuc_ticket *out);
/* Work that is appended from now on waits for the ticket, of a stream of the same device; the call waits for a
 * ticket of another device of the runtime. INVALID_ARGUMENT for a ticket of another runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_stream_wait(gpuc_stream *stream, gpuc_ticket ticket);
/* Whether waiting for the ticket would return at once. Any thread, any number of times. */
GPUC_API bool gpuc_ticket_done(gpuc_ticket ticket);
/* Waits until the ticket is done or so many nanoseconds are over (GPUC_FOREVER: never); gpuc_ticket_done tells
 * which. Reports what went wrong in the work. Any thread, any number of times. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ticket_wait(gpuc_ticket ticket, int64_t timeout_ns);
/* As gpuc_ndarray_write, on the stream. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_write_on(gpuc_stream *stream, gpuc_ndarray *a,
                                                          const void *bytes, size_t size);
/* Queues a copy of all elements to the host. They are there once a ticket that was signalled after it has been
 * seen to be done, or waited for; until then the memory must stay. size must be gpuc_ndarray_bytes. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_read_on(gpuc_stream *stream, const gpuc_ndarray *a,
                                                         void *bytes, size_t size);

/* The device that packed functions of this thread use where no argument tells. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_runtime_set_device(gpuc_device *dev);
/* The stream of the device that packed functions of this thread append to; NULL is the default stream.
 * INVALID_ARGUMENT for one of another device. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_runtime_set_stream(gpuc_device *dev, gpuc_stream *stream);

/* ---- Values and packed functions ---------------------------------------------------------- */

typedef struct gpuc_function gpuc_function;
typedef struct gpuc_module gpuc_module;

/* The type of a value: it names the member of gpuc_value.as. */
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

/* A string of bytes. */
typedef struct gpuc_bytes {
    const void *data; /* owned like the string of a value */
    size_t size;      /* of data */
} gpuc_bytes;

/* An argument or a result of a packed function. Arguments are borrowed for the call; a result owns what it
 * holds, until gpuc_value_clear. */
typedef struct gpuc_value {
    gpuc_value_kind kind; /* which member of as holds the value */
    /* The value; nothing for NULL. */
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

/* Releases what a result owns, and makes it null. */
GPUC_API void gpuc_value_clear(gpuc_runtime *rt, gpuc_value *value);
/* For packed functions: sets a result to a copy that it owns. What the value held before is not released. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_value_set_string(gpuc_runtime *rt, gpuc_value *value,
                                                          const char *text);
/* The same for bytes. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_value_set_bytes(gpuc_runtime *rt, gpuc_value *value,
                                                         const void *data, size_t size);
GPUC_API const char *gpuc_value_kind_name(gpuc_value_kind kind); /* "int", "ndarray", ... */

/* A packed function. It checks the number and kinds of its arguments itself. *ret is null when it is
 * called, and what it leaves there is the result; self is what gpuc_function_create got. */
typedef gpuc_status (*gpuc_packed_fn)(const gpuc_value *args, int num_args, gpuc_value *ret, void *self);

/* Makes a packed function of code and its state. owner, the module that the code lies in, is retained (NULL:
 * none). free_self(self) runs with the last release; the caller keeps self on failure. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_function_create(gpuc_runtime *rt, gpuc_packed_fn fn, void *self,
                                                         void (*free_self)(void *self), gpuc_module *owner,
                                                         gpuc_function **out);
/* One more reference, for another owner. NULL does nothing. */
GPUC_API gpuc_function *gpuc_function_retain(gpuc_function *f);
/* Drops a reference; the last one runs free_self, then releases the owner. */
GPUC_API void gpuc_function_release(gpuc_function *f);
/* Calls the function. The caller clears *ret (gpuc_value_clear); ret NULL drops the result. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_function_call(gpuc_function *f, const gpuc_value *args, int num_args,
                                                       gpuc_value *ret);

/* Arguments: an array, which is borrowed as all arguments are. */
static inline gpuc_value gpuc_arg(gpuc_ndarray *a)
{
    gpuc_value v = {GPUC_VALUE_NDARRAY, {0}};
    v.as.ndarray = a;
    return v;
}
/* A whole number. */
static inline gpuc_value gpuc_arg_int(int64_t i)
{
    gpuc_value v = {GPUC_VALUE_INT, {i}};
    return v;
}
/* A floating-point number. */
static inline gpuc_value gpuc_arg_float(double f)
{
    gpuc_value v = {GPUC_VALUE_FLOAT, {0}};
    v.as.f = f;
    return v;
}
/* A string. */
static inline gpuc_value gpuc_arg_string(const char *text)
{
    gpuc_value v = {GPUC_VALUE_STRING, {0}};
    v.as.string = text;
    return v;
}
/* gpuc_call(f, gpuc_arg(a), gpuc_arg_int(n)): gpuc_function_call with these arguments, one or more, without its
 * result. In C. */
#define gpuc_call(f, ...)                                                                                    \
    gpuc_function_call((f), (const gpuc_value[]){__VA_ARGS__},                                               \
                       (int)(sizeof((const gpuc_value[]){__VA_ARGS__}) / sizeof(gpuc_value)), NULL)
/* Calls a function of a library with arrays, then numbers, on the stream: its launches are appended there, and
 * nothing waits. Arrays may be released at once; they are kept until the work is done. INVALID_ARGUMENT for
 * arrays that are missing, on another device, of another type or size, or overlap one that is written. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_launch(gpuc_stream *stream, gpuc_function *kernel,
                                                gpuc_ndarray *const *arrays, int num_arrays,
                                                const gpuc_value *scalars, int num_scalars);

/* The registry: names to packed functions. Registering a name twice is an error unless replace.
 * Lookups take no lock; registration must not run beside lookups on other threads. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_registry_set(gpuc_runtime *rt, const char *name, gpuc_function *f,
                                                      bool replace);
/* The same for code and its state, as in gpuc_function_create: free_self runs when the function goes, on failure, too. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_registry_set_fn(gpuc_runtime *rt, const char *name,
                                                         gpuc_packed_fn fn, void *self,
                                                         void (*free_self)(void *self), bool replace);
/* Takes a function out; false if there is none of that name. It goes when its last reference does. */
GPUC_API bool gpuc_registry_remove(gpuc_runtime *rt, const char *name);
GPUC_API gpuc_function *gpuc_registry_get(gpuc_runtime *rt, const char *name); /* borrowed, or NULL */
/* The number of registered functions. */
GPUC_API size_t gpuc_registry_count(gpuc_runtime *rt);
GPUC_API const char *gpuc_registry_name(gpuc_runtime *rt, size_t i); /* sorted */

/* A module: functions by name, the modules that it imports, source to read, and bytes that bring it back through
 * `runtime.module.loadbinary_<type_key>`. Types of gpuc (gpuc_module_types_register):
 *   library   functions for one device, with what imports hold as its code
 *   spirv     SPIR-V modules        its functions are kernels, which a library launches; so are
 *   opencl_c  OpenCL C programs     those of the next two
 *   cpu_so    a shared object */
typedef struct gpuc_module_ops {
    const char *type_key; /* names the type of module; static */
    /* (optional) default: there are none. A new reference; NULL if there is none of that name. */
    gpuc_status (*get_function)(gpuc_module *m, const char *name, gpuc_function **out);
    gpuc_status (*save_to_binary)(gpuc_module *m, gpuc_value *out_bytes); /* (optional) */
    void (*destroy)(gpuc_module *m);                                      /* frees state */
    /* (optional) The name of function i, borrowed; NULL behind the last. */
    const char *(*function_name)(gpuc_module *m, size_t i);
    /* (optional) See gpuc_module_get_source. The value is null if there is no such form. */
    gpuc_status (*get_source)(gpuc_module *m, const char *form, const char *function, gpuc_value *out);
} gpuc_module_ops;
/* Makes a module of a static table and its state, which destroy frees. The caller keeps the state on
 * failure. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_create(gpuc_runtime *rt, const gpuc_module_ops *ops,
                                                       void *state, gpuc_module **out);
/* One more reference, for another owner. NULL does nothing. */
GPUC_API gpuc_module *gpuc_module_retain(gpuc_module *m);
/* Drops a reference; the last one destroys the module. */
GPUC_API void gpuc_module_release(gpuc_module *m);
/* The state that was passed to gpuc_module_create, borrowed. */
GPUC_API void *gpuc_module_state(gpuc_module *m);
/* The type key of its table. */
GPUC_API const char *gpuc_module_type_key(gpuc_module *m);
/* The caller owns one reference of the function, which keeps the module that it is of: this one, or the first of
 * those that it imports, and that they import. NOT_FOUND if none has it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_get_function(gpuc_module *m, const char *name,
                                                             gpuc_function **out);
/* The name of function i of the module itself, borrowed from it; NULL behind the last, and where the type does not
 * list them. */
GPUC_API const char *gpuc_module_function_name(gpuc_module *m, size_t i);
/* Source to read, of one function, or of all (function NULL), as a value that the caller owns: a string or bytes.
 * form: "" for the type's own, else
 *   spirv     "spv" words of one function (the default), "asm" assembly, which needs the compiler's library
 *             (gpuc_compiler_register) built with SPIRV-Tools
 *   opencl_c  "cl"
 *   cpu_so    "so": the object
 *   library   those of its code
 * NOT_FOUND if there is no such function, UNSUPPORTED for a form that the type does not have. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_get_source(gpuc_module *m, const char *form,
                                                           const char *function, gpuc_value *out);
/* Makes m import another module, which it retains; once is enough. No other thread may use m meanwhile.
 * INVALID_ARGUMENT if the other one imports m. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_import(gpuc_module *m, gpuc_module *other);
/* Import i, borrowed; NULL behind the last. */
GPUC_API gpuc_module *gpuc_module_imported(gpuc_module *m, size_t i);
/* The module as a BYTES value that the caller owns. UNSUPPORTED if its type cannot be saved, or if it imports
 * modules (gpuc_module_import), which its bytes do not hold. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_save_binary(gpuc_module *m, gpuc_value *out_bytes);
/* The same bytes as a file, which appears whole or not at all. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_save_file(gpuc_module *m, const char *path);
/* Makes a module again from the bytes of gpuc_module_save_binary. NOT_FOUND if no loader of that type is
 * registered. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_load_binary(gpuc_runtime *rt, const char *type_key,
                                                            const void *bytes, size_t size,
                                                            gpuc_module **out);

/* How a module is loaded. */
typedef enum gpuc_load_flag {
    GPUC_LOAD_NATIVE_CODE = 1 /* CPU code of a library may be loaded: it runs unchecked */
} gpuc_load_flag;
/* Loads a module from a file, by `runtime.module.loadfile_<ext>` (path, device or null, int flags) if there is one
 * for what follows the last dot of its name, else as a library of functions (gpuc_library_save): the first of its
 * programs that is for a device of this kind and that the device can run; device NULL: of those whose device can be
 * opened. flags: gpuc_load_flag. A library has a packed function per function, and maps the file, so that it
 * can be saved; the file must keep its length meanwhile (it may be removed, or replaced). A call appends its
 * launches to the thread's current stream of the device, and does not wait for them (gpuc_runtime_set_stream);
 * calls may run side by side. INVALID_DATA if the file is damaged; DEVICE_UNAVAILABLE, with the reason for each
 * program, if none can run. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_load_file(gpuc_runtime *rt, const char *path,
                                                          gpuc_device *device, uint32_t flags,
                                                          gpuc_module **out);
/* A library from memory, which is copied. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_load_bytes(gpuc_runtime *rt, const void *bytes, size_t size,
                                                           gpuc_device *device, uint32_t flags,
                                                           gpuc_module **out);
/* Registers the loaders of gpuc's types of modules (see gpuc_module_ops), each as `runtime.module.loadbinary_<type>`
 * (bytes) and as `runtime.module.loadfile_<ext>` for the files .gpuc-lib, .spirv, .opencl_c and .so. The loader of
 * libraries takes a device and flags, too. It may be called again; gpuc_compiler_register calls it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_module_types_register(gpuc_runtime *rt);

/* ---- Models and sessions ------------------------------------------------------------------ */

/* A package on a device: weights and pipelines. It computes the same at all times, and may be shared between
 * threads. */
typedef struct gpuc_model gpuc_model;
/* What one run at a time needs: activations and bindings. Make one session per frame in flight. */
typedef struct gpuc_session gpuc_session;

/* What to load, and how. Start from GPUC_MODEL_DESC_INIT. */
typedef struct gpuc_model_desc {
    uint32_t struct_size; /* set by GPUC_MODEL_DESC_INIT */
    const char *path;     /* of the package, which is mapped; NULL: it lies in bytes */
    const void *bytes;    /* a package in memory, which must outlive the model; not used with a path */
    size_t size;          /* of bytes */
    gpuc_device *device;  /* run here; NULL: the first program whose device can be opened */
    /* Keep the weights in this array, of uint8 on `device`: a buffer of the application, for example. Retained by the model,
     * which fills it when it is loaded. Where it is too small the message says how many bytes are needed; NULL: the model
     * allocates memory. */
    gpuc_ndarray *weight_memory;
    bool allow_native_code; /* load CPU code from the package */
    bool check_weights;     /* checksum the weights too */
    bool profiling;         /* record device timestamps per kernel */
    bool defer;             /* leave the kernels to gpuc_model_prepare, or to the first run */
} gpuc_model_desc;
#define GPUC_MODEL_DESC_INIT GPUC_SIZED(gpuc_model_desc)

/* Reads a package, takes the first program whose devices are there and have what it requires, loads its weights,
 * and makes its kernels, as gpuc_model_prepare does but for the warm-up.
 * With defer it makes no kernel, and takes milliseconds where the driver compiles for seconds. INVALID_DATA if the package is damaged; if no program can run here, the message
 * has the reason for each. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_model_load(gpuc_runtime *rt, const gpuc_model_desc *desc,
                                                    gpuc_model **out);
/* How far a preparation is: `done` of `total` parts and operators are ready, `name` is that of the last of them,
 * borrowed from the model. Returns whether to go on. One call at a time, on any of the threads that work. */
typedef bool (*gpuc_progress_fn)(void *user, uint32_t done, uint32_t total, const char *name);
/* Leaves nothing to wait for to the first run. It makes what is left to make of the model, pipelines and programs,
 * of each kernel the richest variant that the device has, on gpuc_runtime_desc.num_threads threads or by its
 * parallel_for; none of them outlives the call. Then, once, it runs the operators on zeros, in memory of its own that
 * it frees: drivers like lavapipe and pocl compile at the first launch. A model with open dimensions is not run.
 * progress (NULL: none) is called after each part (what the driver compiles at once, named by a kernel) and each
 * operator, until done is total. If it returns false, what is under way is finished, and the status is CANCELLED.
 * The model stays usable after that and after an error: a later call does the rest, and a run makes what it needs.
 * Any thread, beside runs and other calls for the same model, of which the caller must hold a reference until it
 * returns. Sessions of a deferred model run by the kernels that variants stand in for until a preparation has ended;
 * the next run after that makes new plans. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_model_prepare(gpuc_model *model, gpuc_progress_fn progress,
                                                       void *user);
/* One more reference, for another owner. NULL does nothing. */
GPUC_API gpuc_model *gpuc_model_retain(gpuc_model *model);
/* Drops a reference; the last one frees weights and code. Sessions hold one. */
GPUC_API void gpuc_model_release(gpuc_model *model);
/* The device of the program; operators that it cannot compute run on the CPU as the fallback device. */
GPUC_API gpuc_device *gpuc_model_device(gpuc_model *model);
/* Whether the program has such operators. They run in the call of a session's run. */
GPUC_API bool gpuc_model_uses_fallback(const gpuc_model *model);
/* The text of the target that the program was compiled for. */
GPUC_API const char *gpuc_model_target(gpuc_model *model);
/* Why the programs before the chosen one were not taken; "" if it was the first. */
GPUC_API const char *gpuc_model_fallback_reason(gpuc_model *model);

/* What an input or output must be; borrowed from the model. */
typedef struct gpuc_tensor_info {
    const char *name;             /* in the model */
    gpuc_dtype dtype;             /* of an element */
    int ndim;                     /* of dims and dim_names */
    const int64_t *dims;          /* -1 where symbolic */
    const char *const *dim_names; /* of symbolic dimensions; "" where there is none */
    bool has_default;             /* an input that a session need not set: the package holds a value */
    gpuc_image_format
        image; /* of an image, whose dims are height, width and channels; else GPUC_IMAGE_NONE */
} gpuc_tensor_info;
/* The number of inputs. */
GPUC_API int gpuc_model_num_inputs(const gpuc_model *model);
/* The number of outputs. */
GPUC_API int gpuc_model_num_outputs(const gpuc_model *model);
/* Input i; zeros where there is none. */
GPUC_API gpuc_tensor_info gpuc_model_input(const gpuc_model *model, int i);
/* Output i; zeros where there is none. */
GPUC_API gpuc_tensor_info gpuc_model_output(const gpuc_model *model, int i);
GPUC_API int gpuc_model_find_input(const gpuc_model *model, const char *name); /* -1: none of that name */
/* Whether a kernel or a copy reads the input's bytes; else only its shape and type matter. */
GPUC_API bool gpuc_model_reads_input(const gpuc_model *model, int i);

/* What a session is for. Start from GPUC_SESSION_DESC_INIT. */
typedef struct gpuc_session_desc {
    uint32_t struct_size; /* set by GPUC_SESSION_DESC_INIT */
    /* How many recordings into command buffers of the application (gpuc/vulkan.h) may be pending at a time; 0: 3. */
    uint32_t in_flight;
    bool stepped; /* its plans end where an operator does (gpuc_session_run_node) */
} gpuc_session_desc;
#define GPUC_SESSION_DESC_INIT ((gpuc_session_desc){.struct_size = sizeof(gpuc_session_desc)})

/* Creates a session; desc NULL is the default. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_create_with(gpuc_model *model, const gpuc_session_desc *desc,
                                                             gpuc_session **out);
/* Plans inferences with other extents of the inputs beforehand, and allocates memory for them: dims[i] are those of
 * input i, as many as it has; NULL: those that it has now. The plans of the last few extents are kept. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_plan(gpuc_session *s, const int64_t *const *dims);
/* The model of the session, borrowed. */
GPUC_API gpuc_model *gpuc_session_model(const gpuc_session *s);
/* Creates a session of the model, which it retains. Device memory is allocated by the first run, when
 * shapes are known. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_create(gpuc_model *model, gpuc_session **out);
/* Waits for queued work, and frees the session. NULL does nothing. */
GPUC_API void gpuc_session_release(gpuc_session *session);
/* Copies an array from the host or any device into an array of the session's own. INVALID_ARGUMENT if its
 * type or extents do not fit. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_set_input(gpuc_session *s, int i, const gpuc_ndarray *value);
/* Makes runs read the array itself, without a copy; it must be on the model's device. Retained until
 * replaced; NULL unbinds: the input has its default again, if the package holds one. A run is
 * INVALID_ARGUMENT where it shares memory with the array of an output. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_bind_input(gpuc_session *s, int i, gpuc_ndarray *value);
/* Makes runs store into the array itself, which must be on the model's device and have the extents of the
 * output. Retained until replaced; NULL unbinds: the session allocates an array. A run is
 * INVALID_ARGUMENT where it shares memory with the array of an input or of another output. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_bind_output(gpuc_session *s, int i, gpuc_ndarray *value);
/* Makes runs keep what lies between operators of the model's device in this array: of uint8, on that device. Sessions
 * of which one runs at a time may share one. Retained until replaced; NULL unbinds: the session allocates memory. A run
 * is INVALID_ARGUMENT where it has less than gpuc_session_stats.workspace_bytes. Values whose size the program computes
 * get memory of their own. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_bind_workspace(gpuc_session *s, gpuc_ndarray *memory);
/* Queues one inference, on the default streams of the devices of the model, in order with the thread's current
 * ones. On the CPU device it runs in the call. It waits where a size that the program computes must be read, and where memory must
 * grow. Every input that has no default must have been set. New shapes are planned first. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_run(gpuc_session *s);
/* Has the parallel loops of the session's later runs on the CPU device, also where that is the fallback device, run by
 * the application; NULL: as the runtime's description says. Sessions on several threads may have different ones at a
 * time. Work of streams and functions is not of a session. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_set_parallel_for(
    gpuc_session *s,
    void (*parallel_for)(void *user, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg),
    void *user);
/* Waits for the work that the session has queued, and for no other, and reports what went wrong in it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_sync(gpuc_session *s);
/* Borrowed device array of output i; valid after run, until the next change of input shapes. INVALID_ARGUMENT
 * where the last run failed, and for an output that was bound after it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_get_output(gpuc_session *s, int i, gpuc_ndarray **out);

/* ---- An inference in slices: for those who draw frames with the same device ---- */

/* How far an inference is that runs in slices. */
typedef struct gpuc_slice_progress {
    int operators, num_operators; /* queued so far, and of all (gpuc_model_num_nodes) */
    double fraction; /* of the estimated time that has been queued; it never falls, and is 1 at the end */
    bool complete; /* all is queued, as gpuc_session_run leaves it: the next call begins another inference */
    double
        device_us; /* microseconds of earlier slices on the device, of those that were found done; 0: none */
} gpuc_slice_progress;
/* Queues as much of the current inference as the device takes so many microseconds for, the rest in later calls; a
 * kernel that takes longer is cut along its work-groups where the device can. At least a piece is queued, whatever
 * the budget. Times are those that earlier slices took, and estimates at first. Else it is like
 * gpuc_session_run: the first call reads what is set and bound then, and the call waits where that waits. Setting or
 * binding an input or an output, another way of running, and an error end the inference: the next call begins one.
 * *out may be NULL. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_run_slice(gpuc_session *s, uint32_t budget_us,
                                                           gpuc_slice_progress *out);

/* ---- Operator by operator: for those who look for a wrong kernel ---- */

/* One operator of the fused graph. Its values are numbers: inputs, then outputs. */
typedef struct gpuc_node_info {
    const char *name; /* "conv2d_add_relu_3#7" */
    /* The names of the model's nodes that it came from, comma-separated; the last gives the output. */
    const char *source;
    gpuc_device *device; /* that it runs on */
    /* Whether it runs on the fallback device, as the program's target cannot compute it. */
    union {
        bool on_fallback;
        bool on_helper; /* old name */
    };
    int num_steps; /* launches and copies; 0: it gives another shape, or joins what others store in parts */
    int num_inputs, num_outputs; /* of its values */
    const uint32_t *values;      /* numbers of the inputs, then of the outputs */
} gpuc_node_info;
/* The number of operators. */
GPUC_API int gpuc_model_num_nodes(const gpuc_model *model);
/* Operator i, borrowed from the model. */
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
/* Copies a value as it is now to an array of the host, which the caller owns. A value that no later operator
 * reads may be overwritten by the next operator. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_read_value(gpuc_session *s, uint32_t value,
                                                            gpuc_ndarray **out);
/* Replaces what an operator computed, so that those after it see other numbers. The array is on the host, of the
 * value's type and as large; its shape may differ. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_write_value(gpuc_session *s, uint32_t value,
                                                             const gpuc_ndarray *from);

/* The memory that a session uses. */
typedef struct gpuc_session_stats {
    /* device memory of values between operators, the number of its chunks, and bytes of weights */
    uint64_t arena_bytes, arena_chunks, weight_bytes;
    uint64_t workspace_bytes;                 /* what gpuc_session_bind_workspace needs */
    uint64_t launches_device, launches_other; /* per run: on the model's device, on the fallback device */
} gpuc_session_stats;
/* Counts for the shapes of the last run, or of the last plan. */
GPUC_API gpuc_session_stats gpuc_session_get_stats(const gpuc_session *s);
/* How long a step of the last run took. */
typedef struct gpuc_step_profile {
    /* operator, function name and what it computes; kernel and label are "copy" or "read" for other steps */
    const char *node, *kernel, *label;
    double ns; /* on the device, in nanoseconds */
} gpuc_step_profile;
/* With gpuc_model_desc.profiling: waits for the last run, and tells the time of each of its steps.
 * *in_out_count is the room in out, and on return the number of steps; as many as fit were written. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_profile(gpuc_session *s, gpuc_step_profile *out,
                                                         int *in_out_count);

#ifdef __cplusplus
}
#endif
#endif
