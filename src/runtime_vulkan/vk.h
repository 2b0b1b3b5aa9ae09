/* SPDX-License-Identifier: Apache-2.0 */
/* The Vulkan device from inside: the objects and what each file of this folder gives the others.
 *
 * One queue. Every submission gets the next serial number; an object is idle when the serial of
 * its last use is complete. `queue.lock` guards the queue, the copy batch, the upload ring, the
 * serials in buffers and the garbage list; it is never held while waiting for a fence. Plans record
 * into command pools of their own, without the lock. */
#ifndef GPUC_VK_VK_H
#define GPUC_VK_VK_H

#define VK_NO_PROTOTYPES 1
#include <pthread.h>
#include <vulkan/vulkan.h>

#include "abi/kernel.h"
#include "base/arena.h"
#include "runtime/driver.h"
#include "runtime_vulkan/khr.h"

typedef struct gpuc_vk_global_fns {
#define GPUC_VK_GLOBAL(name, optional) PFN_vk##name name;
#include "runtime_vulkan/functions.def"
} gpuc_vk_global_fns;

typedef struct gpuc_vk_instance_fns {
#define GPUC_VK_INSTANCE(name, optional) PFN_vk##name name;
#include "runtime_vulkan/functions.def"
} gpuc_vk_instance_fns;

typedef struct gpuc_vk_device_fns {
#define GPUC_VK_DEVICE(name, optional) PFN_vk##name name;
#include "runtime_vulkan/functions.def"
} gpuc_vk_device_fns;

/* ---- Errors (error.c) ---------------------------------------------------------------------- */

GPUC_NODISCARD gpuc_status gpuc_vk_error_at(VkResult r, const char *call, const char *file, int line);
/* expr is a VkResult; positive results (VK_INCOMPLETE, ...) pass. */
#define GPUC_VK_TRY(call, expr)                                                                              \
    do {                                                                                                     \
        VkResult try_result_ = (expr);                                                                       \
        if (try_result_ < 0) return gpuc_vk_error_at(try_result_, (call), __FILE__, __LINE__);               \
    } while (0)

/* ---- Loader and instance (loader.c, instance.c) --------------------------------------------- */

/* State of the driver in one runtime. Nothing is loaded before the first count or open. */
typedef struct gpuc_vk {
    gpuc_runtime *rt;
    gpuc_allocator allocator;
    pthread_mutex_t lock;
    bool ready;
    void *library;                            /* of dlopen; NULL if the application gave the function */
    PFN_vkGetInstanceProcAddr given_get_proc; /* of the application, or NULL */
    PFN_vkGetInstanceProcAddr get_proc;
    gpuc_vk_global_fns global;
    gpuc_vk_instance_fns fn;
    VkInstance instance;
    uint32_t api_version; /* asked for: at most 1.3 */
    bool debug_utils;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice *devices; /* those with Vulkan 1.1 and a compute queue */
    uint32_t num_devices;
} gpuc_vk;

GPUC_NODISCARD gpuc_status gpuc_vk_load_global(gpuc_vk *vk);
GPUC_NODISCARD gpuc_status gpuc_vk_load_instance(gpuc_vk *vk);
GPUC_NODISCARD gpuc_status gpuc_vk_load_device(gpuc_vk *vk, VkDevice device, gpuc_vk_device_fns *out);
void gpuc_vk_unload(gpuc_vk *vk);

/* What the validation layer is told when an instance is created. enable fills it in and chains it to info,
 * which it must outlive; the layer says nothing of what comes after the creation until listen. */
typedef struct gpuc_vk_validation {
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkValidationFeaturesEXT features;
    VkLayerSettingsCreateInfoEXT settings;
    const char *extensions[2];
} gpuc_vk_validation;

GPUC_NODISCARD gpuc_status gpuc_vk_validation_enable(gpuc_vk *vk, gpuc_vk_validation *v,
                                                     VkInstanceCreateInfo *info);
GPUC_NODISCARD gpuc_status gpuc_vk_validation_listen(gpuc_vk *vk, const gpuc_vk_validation *v);

GPUC_NODISCARD gpuc_status gpuc_vk_instance_ensure(gpuc_vk *vk);
void gpuc_vk_instance_drop(gpuc_vk *vk);
/* Index of the queue family to use, or UINT32_MAX. */
uint32_t gpuc_vk_compute_family(const gpuc_vk *vk, VkPhysicalDevice physical, uint32_t *out_timestamp_bits);

typedef struct gpuc_vk_device gpuc_vk_device;

/* ---- Capabilities (caps.c) ------------------------------------------------------------------ */

/* The feature structures that matter, chained as far as the device knows them. */
typedef struct gpuc_vk_features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceShaderFloat16Int8Features float16_int8;
    VkPhysicalDeviceSubgroupSizeControlFeatures size_control;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot_product;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR coopmat;
} gpuc_vk_features;

#define GPUC_VK_MAX_EXTENSIONS 16

typedef struct gpuc_vk_caps {
    VkPhysicalDeviceProperties props;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t api_version; /* usable: the lower of ours and the device's */
    char api_text[24];
    char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 2];
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
    uint32_t subgroup_size, min_subgroup_size, max_subgroup_size, max_subgroups;
    bool size_control; /* a size can be required in compute, with full subgroups */
    bool push_descriptors;
    uint32_t max_push_descriptors;
    uint64_t max_allocation;
    uint32_t features; /* gpuc_feature bits */
    uint32_t queue_family, timestamp_bits;
    const char *extensions[GPUC_VK_MAX_EXTENSIONS]; /* to enable */
    uint32_t num_extensions;
} gpuc_vk_caps;

/* Fills caps, and features as they are to be enabled (core.pNext is the chain). */
GPUC_NODISCARD gpuc_status gpuc_vk_caps_query(const gpuc_vk *vk, VkPhysicalDevice physical,
                                              gpuc_vk_caps *caps, gpuc_vk_features *features);
/* coopmat.c: adds GPUC_FEATURE_COOPMAT if the device multiplies all of gpuc_coopmat_rows. */
GPUC_NODISCARD gpuc_status gpuc_vk_coopmat_query(const gpuc_vk *vk, VkPhysicalDevice physical,
                                                 const gpuc_vk_features *features, uint32_t *bits);
gpuc_status gpuc_vk_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out);

/* ---- Memory (memory.c) ---------------------------------------------------------------------- */

typedef enum gpuc_vk_use {
    GPUC_VK_USE_TENSOR,  /* device-local; mapped as well where that costs nothing */
    GPUC_VK_USE_STAGING, /* mapped, cached by the host if possible */
    GPUC_VK_USE_UNIFORM, /* mapped, near the device if possible */
    GPUC_VK_USE_COUNT
} gpuc_vk_use;

typedef struct gpuc_vk_range {
    VkDeviceSize offset, size;
} gpuc_vk_range;

/* One VkDeviceMemory. free_ranges is sorted and has room for every range that a free can add. */
typedef struct gpuc_vk_block {
    struct gpuc_vk_block *next;
    VkDeviceMemory memory;
    VkDeviceSize size;
    uint32_t type, num_live;
    bool dedicated;
    uint8_t *mapped;
    gpuc_vk_range *free_ranges;
    uint32_t num_free, capacity;
} gpuc_vk_block;

typedef struct gpuc_vk_span {
    gpuc_vk_block *block;
    VkDeviceSize offset, size;
} gpuc_vk_span;

typedef struct gpuc_vk_memory {
    pthread_mutex_t lock;
    gpuc_vk_block *blocks[VK_MAX_MEMORY_TYPES];
    uint32_t ranking[GPUC_VK_USE_COUNT][VK_MAX_MEMORY_TYPES]; /* types, best first */
    uint32_t num_ranked[GPUC_VK_USE_COUNT];
    uint32_t num_allocations;
    uint64_t allocated_bytes;
    bool fell_back; /* and the log says so */
} gpuc_vk_memory;

void gpuc_vk_memory_init(gpuc_vk_device *dev);
void gpuc_vk_memory_deinit(gpuc_vk_device *dev);
GPUC_NODISCARD gpuc_status gpuc_vk_memory_alloc(gpuc_vk_device *dev, const VkMemoryRequirements *need,
                                                gpuc_vk_use use, gpuc_vk_span *out);
void gpuc_vk_memory_free(gpuc_vk_device *dev, gpuc_vk_span *span);
VkMemoryPropertyFlags gpuc_vk_span_flags(const gpuc_vk_device *dev, const gpuc_vk_span *span);
/* For mapped memory that is not coherent; nothing otherwise. */
GPUC_NODISCARD gpuc_status gpuc_vk_span_flush(gpuc_vk_device *dev, const gpuc_vk_span *span,
                                              VkDeviceSize offset, VkDeviceSize size);
GPUC_NODISCARD gpuc_status gpuc_vk_span_invalidate(gpuc_vk_device *dev, const gpuc_vk_span *span,
                                                   VkDeviceSize offset, VkDeviceSize size);

/* ---- Buffers (buffer.c) --------------------------------------------------------------------- */

/* A 16-byte read of the last element stays inside. */
#define GPUC_VK_SIZE_ROUND 16

/* A VkBuffer over a span: staging, parameters, and the inside of a gpuc_buffer. */
typedef struct gpuc_vk_raw_buffer {
    VkBuffer handle;
    gpuc_vk_span span;
    VkDeviceSize size;
    uint8_t *mapped; /* NULL if the host cannot see it */
} gpuc_vk_raw_buffer;

GPUC_NODISCARD gpuc_status gpuc_vk_raw_create(gpuc_vk_device *dev, VkDeviceSize size, VkDeviceSize alignment,
                                              VkBufferUsageFlags usage, gpuc_vk_use use,
                                              gpuc_vk_raw_buffer *out);
void gpuc_vk_raw_destroy(gpuc_vk_device *dev, gpuc_vk_raw_buffer *raw);

typedef struct gpuc_vk_buffer {
    gpuc_buffer base;
    gpuc_vk_raw_buffer raw; /* raw.size: base.size rounded up to 16 */
    uint64_t id;            /* never used twice, unlike the address and the handle */
    bool direct;            /* the host may write it by itself when it is idle */
    bool cached;            /* and reads it at full speed */
    uint64_t last_use, last_write;
    struct gpuc_vk_buffer *next_garbage;
} gpuc_vk_buffer;

gpuc_status gpuc_vk_buffer_create(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out);
/* Frees at once if the device is done with it, else when that is seen. */
void gpuc_vk_buffer_free(gpuc_device *dev, gpuc_buffer *buffer);
void gpuc_vk_buffer_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b);

/* ---- Hazards (hazard.c) --------------------------------------------------------------------- */

typedef struct gpuc_vk_access {
    uint64_t buffer; /* id */
    uint64_t begin, end;
    bool write;
    VkPipelineStageFlags stage;
} gpuc_vk_access;

#define GPUC_VK_MAX_ACCESSES 256

/* What ran since the last barrier. When it is full, or `all` is set, everything conflicts: a
 * barrier too many is harmless. */
typedef struct gpuc_vk_hazards {
    gpuc_vk_access list[GPUC_VK_MAX_ACCESSES];
    uint32_t count;
    bool all;
    VkPipelineStageFlags stages;
    VkAccessFlags writes;
} gpuc_vk_hazards;

/* The state at the head of a command buffer: anything may have run before. */
void gpuc_vk_hazards_init(gpuc_vk_hazards *h);
bool gpuc_vk_hazards_conflict(const gpuc_vk_hazards *h, const gpuc_vk_access *a, uint32_t n);
void gpuc_vk_hazards_add(gpuc_vk_hazards *h, const gpuc_vk_access *a, uint32_t n);
/* Orders what is in h before everything of `stages` that follows, and empties h. */
void gpuc_vk_hazards_barrier(const gpuc_vk_device *dev, gpuc_vk_hazards *h, VkCommandBuffer cb,
                             VkPipelineStageFlags stages);
/* Makes all writes so far visible to the host. */
void gpuc_vk_host_barrier(const gpuc_vk_device *dev, VkCommandBuffer cb);

/* ---- Queue (queue.c) ------------------------------------------------------------------------ */

typedef struct gpuc_vk_submission {
    struct gpuc_vk_submission *next;
    uint64_t serial;
    VkFence fence;
    uint32_t waiters;
    bool retired;
    VkCommandBuffer batch; /* of the copies in front, or NULL */
    uint64_t ring_end;     /* the upload ring is free up to here when it is done */
} gpuc_vk_submission;

typedef struct gpuc_vk_queue {
    pthread_mutex_t lock;
    VkQueue handle;
    uint64_t last_serial, completed;
    gpuc_vk_submission *first, *last; /* in flight, oldest first */
    gpuc_vk_submission *spare;
    gpuc_vk_buffer *garbage;
    bool lost;

    /* Copies that wait for the next submission; their serial is last_serial + 1. */
    VkCommandPool pool;
    VkCommandBuffer batch;
    VkCommandBuffer *spare_batches;
    uint32_t num_spare, spare_capacity;
    gpuc_vk_hazards hazards;

    gpuc_vk_raw_buffer ring;       /* made at the first upload that needs it */
    uint64_t ring_head, ring_tail; /* never wrap; modulo its size gives the place */
} gpuc_vk_queue;

GPUC_NODISCARD gpuc_status gpuc_vk_queue_init(gpuc_vk_device *dev);
void gpuc_vk_queue_deinit(gpuc_vk_device *dev);
/* The functions named _locked are called with queue.lock held. */
GPUC_NODISCARD gpuc_status gpuc_vk_batch_begin_locked(gpuc_vk_device *dev, VkCommandBuffer *out);
/* Submits the batch, if there is one, then each command buffer by itself; one serial for all. */
GPUC_NODISCARD gpuc_status gpuc_vk_submit_locked(gpuc_vk_device *dev, const VkCommandBuffer *cbs,
                                                 uint32_t count, uint64_t *out_serial);
GPUC_NODISCARD gpuc_status gpuc_vk_flush_locked(gpuc_vk_device *dev);
/* Notes what is complete and recycles it; does not wait. */
GPUC_NODISCARD gpuc_status gpuc_vk_poll_locked(gpuc_vk_device *dev);
/* Submits the batch if the serial is that of the batch, then waits. */
GPUC_NODISCARD gpuc_status gpuc_vk_wait(gpuc_vk_device *dev, uint64_t serial);
GPUC_NODISCARD gpuc_status gpuc_vk_wait_all(gpuc_vk_device *dev);

/* ---- Copies (copy.c) ------------------------------------------------------------------------ */

gpuc_status gpuc_vk_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                         gpuc_stream *stream);

/* ---- Modules (layout.c, module.c, cache.c) --------------------------------------------------- */

#define GPUC_VK_MAX_BINDINGS 64
#define GPUC_VK_NO_BINDING UINT32_MAX

/* Descriptor and pipeline layout of all kernels with the same signature. */
typedef struct gpuc_vk_layout {
    struct gpuc_vk_layout *next;
    uint32_t num_storage; /* bindings 0 .. num_storage - 1 */
    uint64_t texels;      /* bit per binding that is a texel view */
    uint32_t uniform;     /* binding of the parameter block, or NO_BINDING */
    uint32_t push_bytes;
    bool pushed; /* push descriptors */
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
} gpuc_vk_layout;

typedef struct gpuc_vk_module gpuc_vk_module;

/* A SPIR-V module with one entry point of that name. */
typedef struct gpuc_vk_code {
    const char *name;
    const uint32_t *words;
    uint32_t num_words;
} gpuc_vk_code;

typedef struct gpuc_vk_kernel {
    const gpuc_kernel *meta;
    const gpuc_vk_layout *layout;
    const gpuc_vk_code *code;
    VkPipeline pipeline;
    uint32_t owner;       /* the kernel of the module whose pipeline it is */
    uint32_t param_bytes; /* with the values */
    uint32_t num_texels;  /* distinct texel bindings */
    const uint32_t *scalar_offsets;
    uint32_t num_values, values_offset; /* numbers that the code takes behind the parameters */
    const uint32_t *values;
} gpuc_vk_kernel;

/* Of the parameter block when it is a uniform buffer. */
static inline VkDeviceSize gpuc_vk_uniform_bytes(const gpuc_vk_kernel *k)
{
    return ((VkDeviceSize)k->param_bytes + 15) / 16 * 16 + (k->param_bytes ? 0 : 16);
}

struct gpuc_vk_module {
    gpuc_vk_device *dev;
    gpuc_arena arena;
    uint32_t num_kernels, num_codes;
    gpuc_vk_kernel *kernels;
    gpuc_vk_code *codes;
};

/* Finds or makes; layouts live as long as the device. */
GPUC_NODISCARD gpuc_status gpuc_vk_layout_get(gpuc_vk_device *dev, const gpuc_kernel *k, uint32_t param_bytes,
                                              const gpuc_vk_layout **out);
void gpuc_vk_layouts_destroy(gpuc_vk_device *dev);
/* RGBA format of a texel view of elements, or VK_FORMAT_UNDEFINED. */
VkFormat gpuc_vk_texel_format(gpuc_dtype dtype);

/* Checks the words: header, instruction lengths, an entry point of that name for compute. */
GPUC_NODISCARD gpuc_status gpuc_vk_spirv_check(const gpuc_vk_device *dev, const char *name,
                                               const uint32_t *words, size_t count);
/* Kernels of the same code and layout get one pipeline. */
GPUC_NODISCARD gpuc_status gpuc_vk_pipelines_create(gpuc_vk_module *m);

gpuc_status gpuc_vk_module_load(gpuc_device *dev, const char *type_key, const void *bytes, size_t size,
                                const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                gpuc_code_module **out);
void gpuc_vk_module_release(gpuc_device *dev, gpuc_code_module *module);
gpuc_status gpuc_vk_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out);

/* The pipeline cache: made from what cache_load gives, handed to cache_store when it grew. */
GPUC_NODISCARD gpuc_status gpuc_vk_cache_init(gpuc_vk_device *dev);
void gpuc_vk_cache_store(gpuc_vk_device *dev);
void gpuc_vk_cache_deinit(gpuc_vk_device *dev);

/* ---- Plans (plan.c, bind.c, record.c) -------------------------------------------------------- */

typedef struct gpuc_vk_step {
    const gpuc_vk_kernel *kernel; /* NULL: a copy */
    const gpuc_step_tensor *tensors;
    const int64_t *scalars;
    const uint64_t *skipped; /* bytes of each tensor before its window; NULL: none */
    uint32_t num_tensors;
    uint32_t first[3], launch[3]; /* work-groups */
    bool empty;                   /* nothing to launch or to copy */
} gpuc_vk_step;

typedef struct gpuc_vk_slot {
    uint64_t id; /* of the buffer; 0 if the plan does not use the slot */
    uint64_t offset;
    VkBuffer handle;
    VkDeviceSize limit; /* size of the VkBuffer */
} gpuc_vk_slot;

typedef struct gpuc_vk_view {
    uint64_t buffer; /* id */
    VkDeviceSize offset, range;
    VkFormat format;
    VkBufferView handle;
    uint32_t refs;
} gpuc_vk_view;

typedef struct gpuc_vk_bound_step {
    uint32_t num_accesses;
    VkDescriptorBufferInfo *buffers; /* storage bindings, then the parameter block if it is one */
    VkBufferView *texels;            /* in the order of their bindings */
    gpuc_vk_access *accesses;
    uint8_t *params;
    VkDescriptorSet set;
    VkBuffer copy_from, copy_to;
    VkBufferCopy copy;
} gpuc_vk_bound_step;

/* A plan with one set of bindings: everything resolved, and the command buffers. */
typedef struct gpuc_vk_bound {
    struct gpuc_vk_bound *next; /* most recently used first */
    gpuc_arena arena;
    gpuc_vk_slot *slots;
    gpuc_vk_bound_step *steps;
    uint32_t *views; /* into plan->views, one reference each */
    uint32_t num_views;
    VkDescriptorPool descriptors;
    gpuc_vk_raw_buffer params;
    VkCommandBuffer *commands; /* one per cut; NULL until recorded */
    bool recorded;
    VkQueryPool queries;
    uint64_t serial; /* of the last run */
    bool external;   /* in an application's command buffer: stays until the end */
} gpuc_vk_bound;

typedef struct gpuc_vk_plan {
    gpuc_vk_device *dev;
    gpuc_arena arena;
    gpuc_vk_step *steps;   /* of a launch that is cut, one for each part (windows.c) */
    uint32_t *first_steps; /* of each step that was given, and behind the last one */
    uint32_t num_steps, num_given, num_slots, num_cuts, num_launches, step_capacity;
    uint32_t *cuts;       /* end step of each command buffer */
    uint8_t *slot_access; /* union of the steps' */
    uint64_t *slot_end;   /* bytes of the slot that the steps touch */
    VkPipelineStageFlags stages;
    bool profiling;
    uint32_t num_storage, num_texels, num_uniforms, num_sets; /* descriptors to take from a pool */
    VkDeviceSize param_bytes;                                 /* of the parameter blocks in buffers */
    VkCommandPool pool;
    gpuc_vk_view *views;
    uint32_t num_views, view_capacity;
    gpuc_vk_bound *bounds;
    gpuc_vk_bound *last_run;
} gpuc_vk_plan;

gpuc_status gpuc_vk_plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                gpuc_plan **out);
gpuc_status gpuc_vk_plan_run(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream);
gpuc_status gpuc_vk_plan_record(gpuc_plan *plan, const gpuc_bindings *bindings, uint32_t first,
                                uint32_t count, void *native_command_buffer);
gpuc_status gpuc_vk_plan_profile(gpuc_plan *plan, double *out_ns, uint32_t count);
void gpuc_vk_plan_destroy(gpuc_plan *plan);

/* Adds the step of the plan that launches a kernel: several, if a tensor is larger than a binding. */
GPUC_NODISCARD gpuc_status gpuc_vk_add_launch(gpuc_vk_plan *plan, const gpuc_vk_step *step);
bool gpuc_vk_has_windows(const gpuc_kernel *k);
/* An empty step at the end of the plan. */
GPUC_NODISCARD gpuc_status gpuc_vk_add_step(gpuc_vk_plan *plan, gpuc_vk_step **out);

/* Finds the bound of these bindings or makes one, evicting the least recently used. */
GPUC_NODISCARD gpuc_status gpuc_vk_bind(gpuc_vk_plan *plan, const gpuc_bindings *bindings,
                                        gpuc_vk_bound **out);
void gpuc_vk_bound_destroy(gpuc_vk_plan *plan, gpuc_vk_bound *b);
GPUC_NODISCARD gpuc_status gpuc_vk_record(gpuc_vk_plan *plan, gpuc_vk_bound *b);
/* Fills s->set. */
void gpuc_vk_update_set(gpuc_vk_device *dev, const gpuc_vk_layout *l, const gpuc_vk_bound_step *s);
void gpuc_vk_record_steps(gpuc_vk_plan *plan, const gpuc_vk_bound *b, VkCommandBuffer cb, uint32_t first,
                          uint32_t end, VkQueryPool queries, gpuc_vk_hazards *hazards);

/* ---- Device (device.c) ----------------------------------------------------------------------- */

struct gpuc_vk_device {
    gpuc_device base;
    gpuc_vk *vk;
    gpuc_allocator allocator;
    VkPhysicalDevice physical;
    VkDevice handle;
    gpuc_vk_device_fns fn;
    gpuc_vk_caps caps;
    gpuc_vk_memory memory;
    gpuc_vk_queue queue;
    pthread_mutex_t readback_lock; /* taken before queue.lock */
    gpuc_vk_raw_buffer readback;
    uint64_t next_buffer_id; /* atomic */

    pthread_mutex_t module_lock; /* layouts and the cache's bookkeeping */
    gpuc_vk_layout *layouts;
    VkPipelineCache cache;
    size_t cache_size; /* bytes when last loaded or stored */
    char cache_key[160];

    bool force_staging; /* the switches of testing.h */
    bool no_push_descriptors;
    bool no_barriers;
    double cut_cost; /* operations per submission */
};

GPUC_NODISCARD gpuc_status gpuc_vk_device_open(gpuc_vk *vk, int index, gpuc_device **out);
void gpuc_vk_device_destroy(gpuc_device *dev);
extern const gpuc_device_api gpuc_vk_api;
/* Shown by layers and debuggers. */
void gpuc_vk_name_object(const gpuc_vk_device *dev, VkObjectType type, uint64_t handle, const char *name);

#endif
