/* SPDX-License-Identifier: Apache-2.0 */
/* A graphics application that passes its picture through a network. A file is one subject:
 *
 *     main.c       options, and the loop over frames
 *     network.c    gpuc: the network on this application's device, in its command buffer
 *     convert.c    from a picture to the network's tensors and back, by two compute shaders
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
    VkPhysicalDeviceFeatures2 features; /* that the device was made with, with the two in its chain */
    VkPhysicalDeviceVulkan11Features features11;
    VkPhysicalDeviceVulkan12Features features12;
    double tick_ms; /* of a timestamp */
    VkPhysicalDeviceMemoryProperties memory;
    VkDebugUtilsMessengerEXT messenger;
    int messages; /* of the validation layer */
} gpu;

typedef struct gpu_options {
    bool validate, best_practices; /* with VK_LAYER_KHRONOS_validation */
    const char **instance_extensions;
    uint32_t num_instance_extensions;
} gpu_options;

#define API_VERSION VK_API_VERSION_1_2

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
    uint32_t width, height;
} image;

image image_create(gpu *g, VkFormat format, uint32_t width, uint32_t height, VkImageUsageFlags usage);
void image_destroy(gpu *g, image *i);
/* Changes the layout of a color image, behind what used it and in front of what will use it: compute shaders in
 * VK_IMAGE_LAYOUT_GENERAL, else what the layout says. */
void image_layout(VkCommandBuffer commands, const image *i, VkImageLayout from, VkImageLayout to);
/* All of an RGBA8 image, for copies from or to a buffer. */
VkBufferImageCopy image_copy(const image *i);

typedef struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    VkDeviceSize size;
    VkBufferUsageFlags usage;
    void *mapped; /* NULL: the host does not see it */
} buffer;

buffer buffer_create(gpu *g, VkDeviceSize size, VkBufferUsageFlags usage, bool host);
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

/* Binding i of set 0: a storage buffer, or an image: with a sampler in VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
 * without one in VK_IMAGE_LAYOUT_GENERAL. */
typedef struct binding {
    const buffer *buffer;
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
    image color; /* RGBA8; between frames in VK_IMAGE_LAYOUT_GENERAL */
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

/* What the network makes of a picture. */
typedef enum network_kind {
    STYLE,           /* [1, 3, H, W] to the same, RGB from 0 to 255 */
    SUPER_RESOLUTION /* [1, 1, H, W] to [1, 1, kH, kW], luminance from 0 to 1 */
} network_kind;

typedef struct network {
    gpuc_runtime *runtime;
    gpuc_device *device;
    gpuc_model *model;
    gpuc_session *session;
    int64_t in[4], out[4]; /* extents of input and output */
    buffer input, output;  /* of the application */
} network;

/* Adds the extensions and features that the package makes use of to those that the device will be made with. */
void network_ask(network *n, gpu *g, const char *package);
void network_create(network *n, gpu *g, const char *package, network_kind kind);
void network_destroy(network *n, gpu *g);
/* Records the network. Compute shaders before it have written n->input, compute shaders behind it read n->output. */
void network_record(network *n, VkCommandBuffer commands);

/* ---- convert.c ----------------------------------------------------------------------------- */

typedef struct convert {
    pass to_tensor, to_picture;
    network_kind kind;
    uint32_t in_width, in_height, out_width, out_height;
} convert;

void convert_create(convert *c, gpu *g, network_kind kind, const image *from, const network *n,
                    const image *to);
void convert_destroy(convert *c, gpu *g);
/* Writes the tensor of the network's input from the scene. */
void convert_to_tensor(const convert *c, VkCommandBuffer commands);
/* Writes the picture from the network's output, and for super-resolution the scene's colors. */
void convert_to_picture(const convert *c, VkCommandBuffer commands);

/* ---- reference.c --------------------------------------------------------------------------- */

/* Computes what the c target makes of a rendered picture (in, RGBA8), and compares: the largest difference of a
 * channel, in steps of 8 bits. *out_differ is the number of channels that differ at all. */
int reference_compare(const char *package, network_kind kind, const network *n, const uint8_t *in,
                      const uint8_t *out, int *out_differ);

/* ---- count.c ------------------------------------------------------------------------------- */

/* What gpuc has called since the program began. */
typedef struct counts {
    long submits, waits;
    long allocations; /* of device memory, of Vulkan objects, of memory of the host */
    long copies;      /* of buffers, and between the host and the device */
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
