/* SPDX-License-Identifier: Apache-2.0 */
/* A graphics application that passes its picture through a network. A file is one subject:
 *
 *     main.c       options, and the loop over frames
 *     network.c    gpuc: the network on this application's device, in its command buffer
 *     colors.c     the scene's colors, for a network that makes a gray picture
 *     reference.c  the same on the CPU, to compare with
 *     count.c      counts what gpuc calls on the device
 *     vulkan.c     instance, device, images, buffers, compute shaders
 *     scene.c      the graphics pipeline
 *     overlay.c    frame times, drawn into the picture
 *     png.c        pictures as files
 *     window.c     a window with a swapchain (with SDL2)
 *
 * What fails ends the program with a message. */
#ifndef POSTPROCESS_H
#define POSTPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#include <gpuc/runtime.h>
#include <gpuc/vulkan.h>

/* Prints the message and ends the program. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the program if a Vulkan function or one of gpuc failed. */
void vk_check(VkResult result, const char *call);
#define VK(call) vk_check((call), #call)
void gpuc_check(gpuc_status status);

/* ---- vulkan.c ------------------------------------------------------------------------------ */

typedef struct gpu {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue; /* graphics, compute and transfer; and the window's */
    uint32_t family;
    VkCommandPool pool;
    const char *extensions[16]; /* that the device was made with */
    uint32_t num_extensions;
    bool debug_utils;                   /* the instance has VK_EXT_debug_utils */
    VkPhysicalDeviceFeatures2 features; /* that the device was made with, with the three in its chain */
    VkPhysicalDeviceVulkan11Features features11;
    VkPhysicalDeviceVulkan12Features features12;
    VkPhysicalDeviceVulkan13Features features13;
    double tick_ms; /* of a timestamp */
    VkPhysicalDeviceMemoryProperties memory;
    VkDebugUtilsMessengerEXT messenger;
    int messages;           /* of the validation layer */
    uint32_t layer_version; /* VkLayerProperties.specVersion; 0: not installed */
} gpu;

typedef struct gpu_options {
    bool validate, best_practices; /* with VK_LAYER_KHRONOS_validation */
    const char **instance_extensions;
    uint32_t num_instance_extensions;
} gpu_options;

#define API_VERSION VK_API_VERSION_1_3

/* The instance and the physical device. */
void gpu_open(gpu *g, const gpu_options *options);
/* The device, with the extensions and features in *g. */
void gpu_create(gpu *g);
void gpu_destroy(gpu *g);

/* A command buffer that runs at once. */
VkCommandBuffer gpu_begin(gpu *g);
void gpu_finish(gpu *g, VkCommandBuffer commands);

typedef struct image {
    VkImage handle;
    VkDeviceMemory memory;
    VkImageView view;
    VkFormat format;
    uint32_t width, height;
    VkImageUsageFlags usage;
    VkImageLayout layout; /* that shaders use it in */
} image;

image image_create(gpu *g, VkFormat format, uint32_t width, uint32_t height, VkImageUsageFlags usage,
                   VkImageLayout layout);
void image_destroy(gpu *g, image *i);
/* Changes the layout of a color image, behind what used it and in front of what will use it: compute shaders in
 * VK_IMAGE_LAYOUT_GENERAL, shaders in VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, else what the layout says. */
void image_layout(VkCommandBuffer commands, const image *i, VkImageLayout from, VkImageLayout to);
/* All of an RGBA8 image, for copies from or to a buffer. */
VkBufferImageCopy image_copy(const image *i);

typedef struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    void *mapped;
} buffer;

/* A buffer that the host sees. */
buffer buffer_create(gpu *g, VkDeviceSize size, VkBufferUsageFlags usage);
void buffer_destroy(gpu *g, buffer *b);

/* A memory barrier. */
void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
             VkPipelineStageFlags to, VkAccessFlags to_access);

/* The stages that see descriptors and push constants. */
#define SHADER_STAGES                                                                                        \
    (VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT)

/* What shaders see: descriptors, push constants, and the pipeline. */
typedef struct pass {
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
} pass;

/* Binding i of set 0: an image in its layout, with a sampler or as a storage image. */
typedef struct binding {
    const image *image;
    VkSampler sampler;
} binding;

enum { MAX_BINDINGS = 4, PUSH_BYTES = 128 };

/* All but the pipeline. */
pass pass_create(gpu *g, const binding *bindings, uint32_t count);
VkShaderModule shader_create(gpu *g, const uint32_t *code, size_t bytes);
/* A compute shader with groups of 8 x 8 threads. */
pass compute_create(gpu *g, const uint32_t *code, size_t bytes, const binding *bindings, uint32_t count);
/* Runs it with at least width x height threads. */
void compute_run(VkCommandBuffer commands, const pass *p, const void *push, uint32_t push_bytes,
                 uint32_t width, uint32_t height);
void pass_destroy(gpu *g, pass *p);

/* ---- scene.c ------------------------------------------------------------------------------- */

typedef struct scene {
    image color; /* RGBA8; outside of the render pass in VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL */
    image depth, texture;
    VkSampler sampler;
    VkRenderPass render_pass;
    VkFramebuffer framebuffer;
    pass pass;
} scene;

void scene_create(scene *s, gpu *g, uint32_t width, uint32_t height);
void scene_destroy(scene *s, gpu *g);
/* Draws the scene at a time. Compute shaders behind it see the picture. */
void scene_draw(const scene *s, VkCommandBuffer commands, float seconds);

/* ---- network.c ----------------------------------------------------------------------------- */

typedef struct network {
    gpuc_runtime *runtime;
    gpuc_device *device;
    gpuc_model *model;
    gpuc_session *session;
    uint32_t in_width, in_height, out_width, out_height; /* of the pictures; in_ is 0 where any size goes */
} network;

/* Adds the extensions and features that the package makes use of to those that the device will be made with. */
void network_ask(network *n, gpu *g, const char *package);
/* Loads the package. */
void network_create(network *n, const gpu *g, const char *package);
void network_destroy(network *n);
/* The network reads one image and writes the other from now on. */
void network_bind(network *n, const image *in, const image *out);
/* Records the network, behind and in front of compute shaders that read and write the images. */
void network_record(network *n, VkCommandBuffer commands);

/* ---- colors.c ------------------------------------------------------------------------------ */

/* Gives a gray picture the colors of the scene. Compute shaders behind it see the picture. */
pass colors_create(gpu *g, const scene *from, const image *to);
void colors_add(const pass *p, VkCommandBuffer commands, const image *to);

/* ---- reference.c --------------------------------------------------------------------------- */

/* An image's pixels on the CPU, RGBA8. */
typedef struct pixels {
    const uint8_t *rgba;
    int64_t width, height;
} pixels;

/* Computes what the package's program for c makes of a rendered picture, with the scene's colors if colors is set, and
 * compares: the largest difference of a channel, in steps of 8 bits. *out_differ is the number of channels that
 * differ at all. */
int reference_compare(const char *package, bool colors, pixels in, pixels out, int *out_differ);

/* ---- count.c ------------------------------------------------------------------------------- */

/* What gpuc has called since the program began. */
typedef struct counts {
    long submits, waits;
    long allocations; /* of device memory, of Vulkan objects, of memory of the host */
    long copies;      /* of buffers and images, and between the host and the device */
    long descriptor_writes, dispatches;
} counts;
extern counts counted;

/* vkGetInstanceProcAddr and an allocator, counted. */
gpuc_vulkan_function counting_instance_proc(VkInstance instance, const char *name);
extern const gpuc_allocator counting_allocator;

/* ---- overlay.c ----------------------------------------------------------------------------- */

enum { OVERLAY_BARS = 20 };

typedef struct overlay {
    pass pass;
    float history[OVERLAY_BARS]; /* ms of the last frames, newest last */
    double frame_ms, network_ms; /* of the last one */
} overlay;

void overlay_create(overlay *o, gpu *g, const image *on);
void overlay_destroy(overlay *o, gpu *g);
void overlay_add(overlay *o, double frame_ms, double network_ms);
void overlay_draw(const overlay *o, VkCommandBuffer commands, const image *on);

/* ---- png.c --------------------------------------------------------------------------------- */

void png_save(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height);

/* ---- window.c ------------------------------------------------------------------------------ */

typedef struct window window;

/* Opens a window, and tells which extensions the instance needs. */
window *window_open(uint32_t width, uint32_t height, const char ***out_extensions, uint32_t *out_count);
/* Makes the swapchain. */
void window_attach(window *w, gpu *g);
/* False when the user has closed it. */
bool window_poll(window *w);
/* Copies the picture to the next image of the swapchain, in commands that are being recorded for a frame of that number. */
void window_blit(window *w, VkCommandBuffer commands, const image *from, int frame);
/* Submits the commands, which are ended, and shows the image. */
void window_present(window *w, VkCommandBuffer commands, VkFence fence, int frame);
void window_close(window *w);

#endif
