/* SPDX-License-Identifier: Apache-2.0 */
/* A graphics application without a window: its own instance under the validation layer, device, queue, buffers and
 * command buffers. The functions of the device that gpuc gets are counted. */
#ifndef GPUC_TESTS_EMBED_APP_H
#define GPUC_TESTS_EMBED_APP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VK_NO_PROTOTYPES 1
#include <vulkan/vulkan.h>

#include <gpuc/ctx.h>
#include <gpuc/devices.h>
#include <gpuc/vulkan.h>

/* What gpuc has called since the counts were cleared. */
typedef struct app_counts {
    int submits, waits, allocations, creations, descriptor_writes, dispatches, labels;
    char first_label[256], last_label[256];
    int lose_after; /* the device is lost at this submission or wait, counted from 1; 0: never */
    int imported_semaphores, others;
    /* Barriers that move a buffer from one queue family to another, or back; the device has one family, so that the
     * driver does not see them. */
    int taken, given;
    uint32_t other_family; /* of the last one */
    int calls, fail_at;    /* of functions that may fail; the one with this number, from 1, does; 0: none */
    VkResult fail_with;
    const char *failed;                 /* its name; NULL: it was not reached */
    VkPipelineStageFlags waited_stages; /* of all barriers */
    VkAccessFlags waited_accesses;
} app_counts;
extern app_counts app_counted;

typedef struct app_options {
    bool plain; /* no extension and no feature is enabled */
    /* gpuc is told of dma-bufs and of semaphores as file descriptors, whose functions are a mock: a dma-buf is an opaque
     * descriptor, and a semaphore's one is a file that holds nothing. */
    bool mock_sharing;
} app_options;

#define APP_FUNCTIONS(X)                                                                                     \
    X(DestroyDevice)                                                                                         \
    X(GetDeviceQueue)                                                                                        \
    X(CreateBuffer)                                                                                          \
    X(DestroyBuffer)                                                                                         \
    X(GetBufferMemoryRequirements)                                                                           \
    X(AllocateMemory)                                                                                        \
    X(FreeMemory)                                                                                            \
    X(BindBufferMemory)                                                                                      \
    X(MapMemory)                                                                                             \
    X(CreateCommandPool)                                                                                     \
    X(DestroyCommandPool)                                                                                    \
    X(AllocateCommandBuffers)                                                                                \
    X(BeginCommandBuffer)                                                                                    \
    X(EndCommandBuffer)                                                                                      \
    X(ResetCommandPool)                                                                                      \
    X(CmdPipelineBarrier)                                                                                    \
    X(CmdCopyBuffer)                                                                                         \
    X(CmdFillBuffer) X(QueueSubmit) X(QueueWaitIdle) X(CreateFence) X(DestroyFence) X(WaitForFences)         \
        X(ResetFences) X(CreateSemaphore) X(DestroySemaphore) X(CreateQueryPool) X(DestroyQueryPool)         \
            X(GetQueryPoolResults) X(CreatePipelineCache) X(DestroyPipelineCache) X(GetPipelineCacheData)    \
                X(SignalSemaphore) X(WaitSemaphores) X(CreateImage) X(DestroyImage)                          \
                    X(GetImageMemoryRequirements) X(BindImageMemory) X(CreateImageView) X(DestroyImageView)  \
                        X(CmdClearColorImage) X(CmdCopyBufferToImage) X(CmdCopyImageToBuffer)                \
                            X(FlushMappedMemoryRanges) X(InvalidateMappedMemoryRanges)

typedef struct app {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool pool;
    int messages; /* of the layer */
    const char *extensions[64];
    uint32_t num_extensions;
    VkExtensionProperties available[256];
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceVulkan11Features features11;
    VkPhysicalDeviceVulkan12Features features12;
    VkPhysicalDeviceVulkan13Features features13;
    VkPhysicalDeviceMemoryProperties memory;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t api_version; /* of the instance, and no more than the device has */
    bool timestamps;      /* the queue has them */
    uint32_t host_type;   /* of memory that the host sees, coherent if there is such */
#define X(name) PFN_vk##name name;
    APP_FUNCTIONS(X)
#undef X
} app;

/* A buffer of the application with memory of its own, which is mapped. */
typedef struct app_buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    float *floats;
    VkDeviceSize size;
    VkBufferUsageFlags usage;
} app_buffer;

/* GPUC_VULKAN_LOADER names the loader: the strict device. */
bool app_available(void);
/* gpuc's own devices are found by the same loader. */
void app_register(gpuc_runtime *rt);
void app_open(app *a, app_options options);
/* Fails if the layer has complained. */
void app_close(app *a);
gpuc_vulkan_device_desc app_desc(const app *a);

#define APP_USAGE                                                                                            \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |                                 \
     VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT)
app_buffer app_buffer_make(app *a, VkDeviceSize size, VkBufferUsageFlags usage);
void app_buffer_destroy(app *a, app_buffer *b);
/* What the host wrote goes to the device, all of the buffer; what the device wrote comes to the host. */
void app_flush(const app *a, const app_buffer *b);
void app_fetch(const app *a, const app_buffer *b);
gpuc_vulkan_buffer app_wrap(const app_buffer *b, VkDeviceSize offset, VkDeviceSize size);

/* An image of the application with memory of its own, and a view of it. */
typedef struct app_image {
    VkImage handle;
    VkDeviceMemory memory;
    VkImageView view;
    VkFormat format;
    VkImageLayout layout; /* behind all that is recorded */
    uint32_t width, height;
    VkImageUsageFlags usage;
} app_image;
app_image app_image_make(app *a, VkFormat format, uint32_t width, uint32_t height, VkImageUsageFlags usage);
void app_image_destroy(app *a, app_image *i);
/* Into a layout, behind all that is recorded and before all that will be. */
void app_image_move(app *a, VkCommandBuffer cb, app_image *i, VkImageLayout layout);
/* Memory that gpuc gets by a hook: one piece of each type, out of which buffers and images are cut. */
typedef struct app_arena {
    app *a;
    uint64_t size; /* of each memory */
    struct {
        VkDeviceMemory memory;
        uint8_t *mapped;
        uint64_t used;
    } types[VK_MAX_MEMORY_TYPES]; /* made when they are asked for */
    int live, calls, refuse;
    bool wrong_type, empty; /* success without memory */
} app_arena;
gpuc_vulkan_memory_hook app_arena_hook(app_arena *m);
void app_arena_destroy(app_arena *m); /* all has been given back */

void app_count_release(void *user); /* an int */

VkCommandBuffer app_begin(app *a);
/* Ends, submits and waits. */
void app_run(app *a, VkCommandBuffer cb);
VkFence app_submit(app *a, VkCommandBuffer cb);
void app_finish(app *a, VkFence fence);

void ok(gpuc_status status);
void fails(gpuc_status status, gpuc_code code, const char *text);
/* For a test in which one call fails: true if it was reached, and the status, which is released, names it. Where memory
 * of the device is out, less of it may do: then all is complete. */
bool app_failed(gpuc_status status, bool *out_complete);
/* Plays with each call failing once, for want of memory of the host and of the device, on a device with what it has and
 * on a plain one. play: true if its call number `at` was reached; there are more than `min`. */
void app_fail_each_call(bool (*play)(int at, bool plain, VkResult error), int min);
/* Makes a new file and its name, and has it filled. */
void app_make_package(char path[64], void (*build)(gpuc_ctx *ctx, void *arg), void *arg);

#endif
