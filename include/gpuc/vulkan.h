/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc inside an application that owns a VkDevice: its device, buffers, command buffers and semaphores.
 *
 * The order of calls: gpuc_vulkan_requirements before the device is made, gpuc_vulkan_adopt, gpuc_model_load on the
 * adopted device, a session, gpuc_vulkan_wrap_buffer and gpuc_session_bind_input or _output, then in each frame
 * gpuc_session_record or gpuc_session_submit. See docs/embedding.md.
 *
 * No Vulkan header is needed, and one may be included before or after: the handles below are what it defines. */
#ifndef GPUC_VULKAN_H
#define GPUC_VULKAN_H

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles, as vulkan.h has them: C11 and C++ allow the same typedef twice. */
typedef struct VkInstance_T *VkInstance;
typedef struct VkPhysicalDevice_T *VkPhysicalDevice;
typedef struct VkDevice_T *VkDevice;
typedef struct VkQueue_T *VkQueue;
typedef struct VkCommandBuffer_T *VkCommandBuffer;
#ifdef VK_USE_64_BIT_PTR_DEFINES
#define GPUC_VULKAN_POINTERS_ VK_USE_64_BIT_PTR_DEFINES
#else
#define GPUC_VULKAN_POINTERS_ (UINTPTR_MAX > 0xffffffffu)
#endif
#if GPUC_VULKAN_POINTERS_
typedef struct VkBuffer_T *VkBuffer;
typedef struct VkImage_T *VkImage;
typedef struct VkImageView_T *VkImageView;
typedef struct VkDeviceMemory_T *VkDeviceMemory;
typedef struct VkSemaphore_T *VkSemaphore;
typedef struct VkFence_T *VkFence;
typedef struct VkQueryPool_T *VkQueryPool;
typedef struct VkPipelineCache_T *VkPipelineCache;
#else
typedef uint64_t VkBuffer;
typedef uint64_t VkImage;
typedef uint64_t VkImageView;
typedef uint64_t VkDeviceMemory;
typedef uint64_t VkSemaphore;
typedef uint64_t VkFence;
typedef uint64_t VkQueryPool;
typedef uint64_t VkPipelineCache;
#endif
struct VkAllocationCallbacks;
struct VkMemoryRequirements;

/* What vkGetInstanceProcAddr returns. */
typedef void (*gpuc_vulkan_function)(void);
/* vkGetInstanceProcAddr. */
typedef gpuc_vulkan_function (*gpuc_vulkan_get_proc)(VkInstance instance, const char *name);

/* ---- What a package asks of a device that is to be made -------------------------------------- */

/* What kind of thing a need is. */
typedef enum gpuc_vulkan_need_kind {
    GPUC_VULKAN_NEED_VERSION,   /* of Vulkan, as VK_MAKE_API_VERSION: of the instance and of the device */
    GPUC_VULKAN_NEED_EXTENSION, /* of the device: VkDeviceCreateInfo.ppEnabledExtensionNames */
    GPUC_VULKAN_NEED_FEATURE,   /* the member of a VkPhysicalDevice...Features structure, set to VK_TRUE */
    GPUC_VULKAN_NEED_PROPERTY,  /* what a device has or has not; nothing is enabled */
    GPUC_VULKAN_NEED_LIMIT,     /* the member of VkPhysicalDeviceLimits */
    GPUC_VULKAN_NEED_MEMORY     /* bytes of device memory, of the largest heap for tensors */
} gpuc_vulkan_need_kind;

/* One row of the answer. Its texts are static. */
typedef struct gpuc_vulkan_need {
    gpuc_vulkan_need_kind kind; /* what name names */
    const char *name;    /* "VK_KHR_8bit_storage", "shaderFloat16", "maxComputeWorkGroupInvocations", ... */
    uint32_t program;    /* the number of the program in the package that asks for it */
    bool optional;       /* without it the program runs by other kernels */
    const char *buys;    /* what an optional one is good for; "" for others */
    bool present;        /* the physical device has it, or as much */
    uint64_t needs, has; /* of a version, a limit or memory */
} gpuc_vulkan_need;

/* What to look at. Start from zeros. */
typedef struct gpuc_vulkan_question {
    gpuc_vulkan_get_proc get_instance_proc_addr; /* vkGetInstanceProcAddr */
    VkInstance instance;                         /* of the physical device */
    uint32_t api_version;                        /* VkApplicationInfo.apiVersion of the instance */
    VkPhysicalDevice physical_device;            /* that a device is to be made of */
    const char *path;                            /* of the package; NULL: it lies in bytes */
    const void *bytes;                           /* a package in memory, at a multiple of 16 */
    size_t size;                                 /* of bytes */
} gpuc_vulkan_question;

/* Tells what the Vulkan programs of a package ask of a physical device, before a VkDevice is made: what must be there,
 * and what is used where it is. A device that is made with all that is present runs each program as fast as gpuc's own
 * device would. *in_out_count is the room in out, and on return the number of rows; as many as fit were written.
 * NOT_FOUND if the package has no program for Vulkan. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_requirements(gpuc_runtime *rt,
                                                             const gpuc_vulkan_question *question,
                                                             gpuc_vulkan_need *out, uint32_t *in_out_count);

/* ---- The device --------------------------------------------------------------------------- */

/* Memory from the application, in the shape of VMA: each buffer and image of gpuc asks once. Called from any thread that
 * uses the device, one at a time. */
typedef struct gpuc_vulkan_memory_hook {
    /* Gives memory for a buffer, of one of the types in need->memoryTypeBits, which has none that is of no use;
     * the first of preferred that has room is best (types, best first, count of them). Size and alignment are
     * multiples of nonCoherentAtomSize where the memory may have to be flushed.
     * *out_mapped is the address of the memory at the offset if its type is visible to the host; it must be. *out_id
     * is passed to free. Returns a VkResult: VK_ERROR_OUT_OF_DEVICE_MEMORY (-2) where there is no room. */
    int (*allocate)(void *user, const struct VkMemoryRequirements *need, const uint32_t *preferred,
                    uint32_t count, VkDeviceMemory *out_memory, uint64_t *out_offset, uint32_t *out_type,
                    void **out_mapped, void **out_id);
    /* Takes it back, after the work that uses it. */
    void (*free)(void *user, void *id);
    void *user; /* passed to both */
} gpuc_vulkan_memory_hook;

/* A device of the application, and how it was made. Start from GPUC_VULKAN_DEVICE_DESC_INIT. All that it names must
 * live until gpuc_device_close, or until the runtime and all that is on the device has been released. */
typedef struct gpuc_vulkan_device_desc {
    uint32_t struct_size;                        /* set by GPUC_VULKAN_DEVICE_DESC_INIT */
    gpuc_vulkan_get_proc get_instance_proc_addr; /* vkGetInstanceProcAddr */
    VkInstance instance;                         /* that the device was made from */
    uint32_t api_version;             /* VkApplicationInfo.apiVersion of the instance; 1.1 at least */
    bool debug_utils;                 /* the instance has VK_EXT_debug_utils: dispatches get names */
    VkPhysicalDevice physical_device; /* of the device; Vulkan 1.1 at least */
    VkDevice device;                  /* the device */
    VkQueue queue;                    /* that gpuc submits to; its family can compute */
    uint32_t queue_family;            /* index of the queue's family */
    /* The names of the extensions that the device was made with. gpuc uses no other. */
    const char *const *extensions;
    uint32_t num_extensions; /* of extensions */
    /* The VkPhysicalDeviceFeatures2 with its chain that the device was made with; NULL: without any feature. gpuc
     * uses no other feature. */
    const void *features;
    const struct VkAllocationCallbacks *allocation_callbacks; /* for all objects of gpuc; NULL: none */
    /* Called around each use of the queue; both NULL: nobody else uses it while a function of gpuc runs. */
    void (*lock_queue)(void *user);
    void (*unlock_queue)(void *user); /* with lock_queue */
    void *queue_user;                 /* passed to both */
    gpuc_vulkan_memory_hook memory;   /* zeros: gpuc allocates blocks, and cuts them */
    uint64_t memory_budget;           /* bytes that gpuc may allocate; 0: as many as there are */
    VkPipelineCache pipeline_cache;   /* the application's; 0: gpuc's own, through the runtime's callbacks */
} gpuc_vulkan_device_desc;
#define GPUC_VULKAN_DEVICE_DESC_INIT GPUC_SIZED(gpuc_vulkan_device_desc)

/* Makes a device of the runtime from a VkDevice, which stays the application's: gpuc destroys nothing of it, and waits
 * for its own work only. Its number is GPUC_ADOPTED_FIRST or more. gpuc_device_close closes it. The runtime must have
 * the Vulkan driver (gpuc_vulkan_register), which is not loaded for this. INVALID_ARGUMENT for a field that is missing
 * or does not fit, DEVICE_UNAVAILABLE for a device that cannot compute. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_adopt(gpuc_runtime *rt, const gpuc_vulkan_device_desc *desc,
                                                      gpuc_device **out);

/* What gpuc has allocated in a heap of a device. */
typedef struct gpuc_vulkan_heap {
    uint64_t size;   /* bytes of the heap */
    uint64_t used;   /* of these, allocated by gpuc on this device */
    bool known;      /* the driver tells the two below (VK_EXT_memory_budget, enabled) */
    uint64_t budget; /* bytes that the process may use */
    uint64_t usage;  /* bytes that it uses */
} gpuc_vulkan_heap;
/* Tells about each memory heap of a Vulkan device. *in_out_count is the room in out, and on return the number of
 * heaps; as many as fit were written. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_report_memory(gpuc_device *dev, gpuc_vulkan_heap *out,
                                                              uint32_t *in_out_count);

/* ---- Buffers ------------------------------------------------------------------------------ */

#define GPUC_VULKAN_SAME_FAMILY UINT32_MAX /* no transfer between queue families */

/* A range of a buffer of the application, with memory bound. */
typedef struct gpuc_vulkan_buffer {
    VkBuffer buffer; /* of the device's VkDevice */
    uint64_t offset; /* bytes; a multiple of minStorageBufferOffsetAlignment and of 16 */
    uint64_t size;   /* bytes from there */
    /* VkBufferUsageFlags that it was made with. STORAGE_BUFFER is needed; TRANSFER_SRC and TRANSFER_DST for copies;
     * UNIFORM_TEXEL_BUFFER for kernels that read it by texels. */
    uint32_t usage;
    /* The queue family that owns it before a recording or submission, which releases it to that of gpuc's queue: all of
     * the buffer, VK_WHOLE_SIZE at 0. gpuc acquires it at the start, and at the end releases it to the same family.
     * GPUC_VULKAN_SAME_FAMILY where the families are the same or the buffer is shared (VK_SHARING_MODE_CONCURRENT). */
    uint32_t owner_family;
    void *mapped; /* coherent address of the byte at offset, for gpuc_ndarray_host; NULL: none */
} gpuc_vulkan_buffer;

/* Makes an array of a buffer: elements of the type and extents lie densely at the offset. Nothing is copied; the
 * buffer stays the application's, and must live until the array has been released and the work that uses it is done.
 * released(user), if it is not NULL, is called inside of any function of gpuc once no array is over the buffer and the
 * work that uses it is done; it must not call gpuc. INVALID_ARGUMENT for a range that is too small, an offset that is
 * not aligned, or usage without STORAGE_BUFFER. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_wrap_buffer(gpuc_device *dev,
                                                            const gpuc_vulkan_buffer *buffer,
                                                            gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                            void (*released)(void *user), void *user,
                                                            gpuc_ndarray **out);
/* The buffer of an array on a Vulkan device, gpuc's own or a wrapped one. It is the array's: good as long as the
 * array lives. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_get_buffer(const gpuc_ndarray *array,
                                                           gpuc_vulkan_buffer *out);

/* ---- Images ------------------------------------------------------------------------------- */

/* A view of one level and one layer of a 2D image, with memory bound. */
typedef struct gpuc_vulkan_image {
    VkImageView view; /* of the device's VkDevice */
    /* VkFormat of the view: R8G8B8A8_UNORM, B8G8R8A8_UNORM and R8_UNORM are arrays of uint8, R16G16B16A16_SFLOAT and
     * R16_SFLOAT of float16, R32G32B32A32_SFLOAT and R32_SFLOAT of float32. No SRGB format: gpuc decodes and
     * encodes by itself, on a UNORM view of the image. */
    uint32_t format;
    /* VkImageLayout that it is in while gpuc uses it: GENERAL, or, for what is only read, SHADER_READ_ONLY_OPTIMAL.
     * gpuc changes no layout. */
    uint32_t layout;
    uint32_t width, height; /* in texels */
    uint32_t usage;         /* VkImageUsageFlags of the image: SAMPLED for inputs, STORAGE for outputs */
    /* Of the view; needed where a family owns it, or where several arrays are of different views of the image; else it
     * may be 0. The same for all arrays of an image. */
    VkImage image;
    /* The queue family that owns the image, all its levels and layers, before a recording or submission, as
     * gpuc_vulkan_buffer has it; the layout is the same before and after. */
    uint32_t owner_family;
} gpuc_vulkan_image;

/* Makes an array [height, width, 4 or 1 channels] of an image, to be bound as an input or output that is an image.
 * gpuc does not copy from it or to it. Work on several arrays of one image is put in order. It stays the
 * application's, and must live until released(user) is called, which may be NULL: once the array has been released
 * and the work that uses it is done. UNSUPPORTED for a format
 * or size that it cannot be, INVALID_ARGUMENT for another layout. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_wrap_image(gpuc_device *dev, const gpuc_vulkan_image *image,
                                                           void (*released)(void *user), void *user,
                                                           gpuc_ndarray **out);

/* ---- Memory and semaphores that others share ------------------------------------------------ */

/* How something is shared. */
typedef enum gpuc_vulkan_share {
    GPUC_VULKAN_SHARE_FD = 1,       /* memory as an opaque file descriptor (VK_KHR_external_memory_fd) */
    GPUC_VULKAN_SHARE_DMA_BUF = 2,  /* memory as a dma-buf (VK_EXT_external_memory_dma_buf) */
    GPUC_VULKAN_SHARE_HOST = 4,     /* memory of the host (VK_EXT_external_memory_host) */
    GPUC_VULKAN_SHARE_SEMAPHORE = 8 /* semaphores as file descriptors (VK_KHR_external_semaphore_fd) */
} gpuc_vulkan_share;
/* The bits of what a Vulkan device can share; 0 for other devices. */
GPUC_API uint32_t gpuc_vulkan_shares(gpuc_device *dev);

/* Memory on its way from one device to another: of another VkDevice, process or API. */
typedef struct gpuc_vulkan_shared {
    gpuc_vulkan_share how; /* FD or DMA_BUF */
    int fd;                /* who has it closes it, or imports it */
    uint64_t memory_size;  /* bytes of the allocation */
    uint64_t buffer_size;  /* bytes of the VkBuffer that it was allocated for */
    uint64_t offset;       /* bytes of the first element */
} gpuc_vulkan_shared;
/* Makes an array with memory of its own that others can import, and the descriptor of that memory, which is the caller's.
 * UNSUPPORTED where the device does not share so. In gpuc_session_record and gpuc_session_submit arrays that are shared
 * are acquired from, and released to, the queue family EXTERNAL; two devices are put in order by semaphores, or by the
 * host, which waits. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_create_shared(gpuc_device *dev, gpuc_vulkan_share how,
                                                              gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                              gpuc_vulkan_shared *out_memory,
                                                              gpuc_ndarray **out);
/* Makes an array of memory that another device has exported. The descriptor is the driver's afterwards, unless it fails. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_import_shared(gpuc_device *dev,
                                                              const gpuc_vulkan_shared *memory,
                                                              gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                              gpuc_ndarray **out);
/* Makes an array over memory of the host, without a copy: also over that which another API uses, as
 * gpuc_opencl_wrap_host does. Address and size are multiples of what the device says (minImportedHostPointerAlignment;
 * 4096 is enough for most). The memory must stay until released(user), which may be NULL, is called. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_wrap_host(gpuc_device *dev, void *memory, size_t size,
                                                          gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                          void (*released)(void *user), void *user,
                                                          gpuc_ndarray **out);
/* Makes a binary semaphore of the device's VkDevice, for gpuc_session_submit, and a descriptor that another device imports.
 * *out_fd is the caller's. UNSUPPORTED where the device does not share semaphores. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_create_semaphore(gpuc_device *dev, int *out_fd,
                                                                 VkSemaphore *out);
/* Makes a semaphore of one that another device has exported. The descriptor is the driver's afterwards, unless it fails. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_vulkan_import_semaphore(gpuc_device *dev, int fd, VkSemaphore *out);
/* Destroys one of these two, after the work that uses it; 0 does nothing. */
GPUC_API void gpuc_vulkan_destroy_semaphore(gpuc_device *dev, VkSemaphore semaphore);

/* ---- A network in the application's command buffer ---------------------------------------- */

/* What is before and behind a recording, in the words of vkCmdPipelineBarrier: VkPipelineStageFlags and VkAccessFlags.
 * Zeros: compute and transfer work before is ordered anyway, nothing behind is. */
typedef struct gpuc_vulkan_sync {
    uint32_t src_stages, src_access; /* that wrote the inputs or read the outputs before */
    uint32_t dst_stages, dst_access; /* that read the outputs or write the inputs afterwards */
    /* Timestamps, of a pool with room for them: operator i of the recording (gpuc_model_node) takes the time between
     * queries first_query + i and first_query + i + 1. They are reset in the command buffer first. Operators then run
     * one after the other. 0: none. */
    VkQueryPool query_pool;
    uint32_t first_query; /* number in the pool */
} gpuc_vulkan_sync;

/* Records one inference of the session into a command buffer that is being recorded, outside of a render pass, and
 * that will run on a queue of gpuc's family. gpuc does not wait or allocate memory of the device; with bindings
 * and extents that it has seen before (the last gpuc_session_desc.in_flight and some more) it allocates nothing at all.
 * Barriers inside are gpuc's. Inputs are those that are bound, and set ones: what is bound or set afterwards does not
 * change the recording. The queue is used in one case: copies that
 * gpuc holds back of arrays that the network uses, and the clearing of an array for an output that is not bound, are
 * submitted first. gpuc_session_sync after setting inputs, and bound outputs, avoid that. UNSUPPORTED, with the name of
 * the operator, for a model whose steps need the host: sizes that the program computes, the fallback device. The
 * command buffers of the last in_flight recordings of the session may be pending, or be submitted again; older ones
 * must be done. On one queue they run in the order of submission; what runs on several queues at once needs a session
 * each. sync NULL is zeros. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_record(gpuc_session *s, VkCommandBuffer commands,
                                                        const gpuc_vulkan_sync *sync);
/* The same for operators [first, first + count) of the model. Number 0 begins an inference, with the bindings that
 * there are; the others go on with it, in order, in the same or in later command buffers. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_record_nodes(gpuc_session *s, VkCommandBuffer commands,
                                                              const gpuc_vulkan_sync *sync, int first,
                                                              int count);

/* ---- A network on gpuc's queue, between semaphores ---------------------------------------- */

/* Semaphores, binary or timeline. Start from zeros. */
typedef struct gpuc_vulkan_submit {
    const VkSemaphore *wait;       /* waited for by all stages; num_wait of them */
    const uint64_t *wait_values;   /* for timeline semaphores; NULL: all are binary */
    uint32_t num_wait;             /* of wait */
    const VkSemaphore *signal;     /* signalled when the inference is done; num_signal of them */
    const uint64_t *signal_values; /* as wait_values */
    uint32_t num_signal;           /* of signal */
    VkFence fence;                 /* signalled then, too; 0: none */
} gpuc_vulkan_submit;

/* gpuc_session_run on the queue of the device, behind and in front of semaphores. It does not wait, unless a step needs
 * the host: then it waits for the semaphores' work as well. On failure nothing is signalled, and what was to be waited
 * for may have been. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_session_submit(gpuc_session *s, const gpuc_vulkan_submit *submit);

#ifdef __cplusplus
}
#endif
#endif
