/* SPDX-License-Identifier: Apache-2.0 */
/* Instance, device, images, buffers and compute shaders of the application. */
#include "postprocess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "VK_LAYER_KHRONOS_validation"

void vk_check(VkResult result, const char *call)
{
    if (result < 0) die("VkResult %d of %s", (int)result, call);
}

/* ---- Instance and device --------------------------------------------------------------------- */

static uint32_t layer_version(void)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (vkEnumerateInstanceLayerProperties(&count, layers) < 0) count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(layers[i].layerName, LAYER)) return layers[i].specVersion;
    return 0;
}

/* Rows of best_practices.def for the layer; id NULL: any. */
static bool is_meant(const gpu *g, const char *id, VkDebugUtilsMessageTypeFlagsEXT types)
{
    static const struct {
        uint32_t version;
        const char *id;
        VkDebugUtilsMessageTypeFlagsEXT types;
    } rows[] = {
#define MEANT(version, id, types, reason) {version, id, types},
#include "best_practices.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].version == g->layer_version &&
            (!id || (!strcmp(rows[i].id, id) && !(types & ~rows[i].types))))
            return true;
    return false;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    gpu *g = user;
    (void)severity;
    if (data->pMessageIdName && is_meant(g, data->pMessageIdName, types)) return VK_FALSE;
    g->messages++;
    fprintf(stderr, "%s: %s\n", data->pMessageIdName ? data->pMessageIdName : "", data->pMessage);
    return VK_FALSE;
}

static void create_instance(gpu *g, const gpu_options *o)
{
    static const char *const layers[] = {LAYER};
    static const VkValidationFeatureEnableEXT checks[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
        VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT};
    const char *extensions[16] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    uint32_t count = o->validate;
    g->layer_version = layer_version();
    if (o->best_practices && !is_meant(g, NULL, 0))
        die("best_practices.def does not know this version of %s", LAYER);
    for (uint32_t i = 0; i < o->num_instance_extensions; i++) extensions[count++] = o->instance_extensions[i];
    VkDebugUtilsMessengerCreateInfoEXT messages = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType =
            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = g};
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .pNext = &messages,
                                        .enabledValidationFeatureCount = 1 + o->best_practices,
                                        .pEnabledValidationFeatures = checks};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "postprocess",
                                     .apiVersion = API_VERSION};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pNext = o->validate ? &features : NULL,
                                 .pApplicationInfo = &application,
                                 .enabledLayerCount = o->validate,
                                 .ppEnabledLayerNames = layers,
                                 .enabledExtensionCount = count,
                                 .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &g->instance);
    if (result == VK_ERROR_LAYER_NOT_PRESENT) die("%s is not installed", LAYER);
    VK(result);
    g->debug_utils = o->validate;
    if (!o->validate) return;
    PFN_vkCreateDebugUtilsMessengerEXT listen = (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
        g->instance, "vkCreateDebugUtilsMessengerEXT");
    VK(listen(g->instance, &messages, NULL, &g->messenger));
}

/* The first device with a queue that can all. */
static void choose_device(gpu *g)
{
    VkPhysicalDevice devices[16];
    uint32_t count = 16;
    VK(vkEnumeratePhysicalDevices(g->instance, &count, devices));
    for (uint32_t d = 0; d < count; d++) {
        VkQueueFamilyProperties families[16];
        VkPhysicalDeviceProperties properties;
        uint32_t num_families = 0;
        const VkQueueFlags want = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
        vkGetPhysicalDeviceProperties(devices[d], &properties);
        vkGetPhysicalDeviceQueueFamilyProperties(devices[d], &num_families, NULL);
        num_families = num_families > 16 ? 16 : num_families;
        vkGetPhysicalDeviceQueueFamilyProperties(devices[d], &num_families, families);
        if (properties.apiVersion < API_VERSION) continue;
        for (uint32_t f = 0; f < num_families; f++) {
            if ((families[f].queueFlags & want) != want || !families[f].timestampValidBits) continue;
            g->physical = devices[d];
            g->family = f;
            g->tick_ms = (double)properties.limits.timestampPeriod * 1e-6;
            vkGetPhysicalDeviceMemoryProperties(g->physical, &g->memory);
            printf("on %s\n", properties.deviceName);
            return;
        }
    }
    die("there is no Vulkan 1.3 device with a queue for graphics, compute and timestamps");
}

void gpu_open(gpu *g, const gpu_options *options)
{
    *g = (gpu){.features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2},
               .features11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES},
               .features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
               .features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES}};
    g->features.pNext = &g->features11;
    g->features11.pNext = &g->features12;
    g->features12.pNext = &g->features13;
    create_instance(g, options);
    choose_device(g);
}

void gpu_create(gpu *g)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = g->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &g->features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = g->num_extensions,
                               .ppEnabledExtensionNames = g->extensions};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = g->family};
    VK(vkCreateDevice(g->physical, &info, NULL, &g->device));
    vkGetDeviceQueue(g->device, g->family, 0, &g->queue);
    VK(vkCreateCommandPool(g->device, &pool, NULL, &g->pool));
}

void gpu_destroy(gpu *g)
{
    vkDestroyCommandPool(g->device, g->pool, NULL);
    vkDestroyDevice(g->device, NULL);
    if (g->messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy =
            (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(g->instance,
                                                                       "vkDestroyDebugUtilsMessengerEXT");
        destroy(g->instance, g->messenger, NULL);
    }
    vkDestroyInstance(g->instance, NULL);
}

VkCommandBuffer gpu_begin(gpu *g)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = g->pool,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands;
    VK(vkAllocateCommandBuffers(g->device, &info, &commands));
    VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

void gpu_finish(gpu *g, VkCommandBuffer commands)
{
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    VK(vkEndCommandBuffer(commands));
    VK(vkQueueSubmit(g->queue, 1, &submit, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(g->queue));
    vkFreeCommandBuffers(g->device, g->pool, 1, &commands);
}

/* ---- Images and buffers ---------------------------------------------------------------------- */

static VkDeviceMemory allocate(gpu *g, VkMemoryRequirements need, VkMemoryPropertyFlags want)
{
    for (uint32_t i = 0; i < g->memory.memoryTypeCount; i++) {
        if (!(need.memoryTypeBits >> i & 1) || (g->memory.memoryTypes[i].propertyFlags & want) != want)
            continue;
        VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = need.size,
                                     .memoryTypeIndex = i};
        VkDeviceMemory memory;
        VK(vkAllocateMemory(g->device, &info, NULL, &memory));
        return memory;
    }
    die("the device has no memory of a type that is needed");
}

image image_create(gpu *g, VkFormat format, uint32_t width, uint32_t height, VkImageUsageFlags usage,
                   VkImageLayout layout)
{
    image out = {.format = format, .width = width, .height = height, .usage = usage, .layout = layout};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {width, height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = usage};
    VkMemoryRequirements need;
    VK(vkCreateImage(g->device, &info, NULL, &out.handle));
    vkGetImageMemoryRequirements(g->device, out.handle, &need);
    out.memory = allocate(g, need, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    VK(vkBindImageMemory(g->device, out.handle, out.memory, 0));
    bool depth = usage & VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = out.handle,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = format,
        .subresourceRange = {depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VK(vkCreateImageView(g->device, &view, NULL, &out.view));
    return out;
}

void image_destroy(gpu *g, image *i)
{
    vkDestroyImageView(g->device, i->view, NULL);
    vkDestroyImage(g->device, i->handle, NULL);
    vkFreeMemory(g->device, i->memory, NULL);
}

/* What uses an image in a layout: stages and accesses. */
typedef struct use {
    VkPipelineStageFlags stages;
    VkAccessFlags accesses;
} use;

static use use_of(VkImageLayout layout)
{
    switch ((int)layout) {
    case VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL:
        return (use){VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT};
    case VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL:
        return (use){VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};
    case VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL:
        return (use){VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                     VK_ACCESS_SHADER_READ_BIT};
    case VK_IMAGE_LAYOUT_PRESENT_SRC_KHR: return (use){VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0};
    /* The wait for an image of the swapchain is at this stage. */
    case VK_IMAGE_LAYOUT_UNDEFINED: return (use){VK_PIPELINE_STAGE_TRANSFER_BIT, 0};
    default:
        return (use){VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                     VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    }
}

void image_layout(VkCommandBuffer commands, const image *i, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier change = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                   .srcAccessMask = use_of(from).accesses,
                                   .dstAccessMask = use_of(to).accesses,
                                   .oldLayout = from,
                                   .newLayout = to,
                                   .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .image = i->handle,
                                   .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    vkCmdPipelineBarrier(commands, use_of(from).stages, use_of(to).stages, 0, 0, NULL, 0, NULL, 1, &change);
}

VkBufferImageCopy image_copy(const image *i)
{
    return (VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageExtent = {i->width, i->height, 1}};
}

buffer buffer_create(gpu *g, VkDeviceSize size, VkBufferUsageFlags usage)
{
    buffer out;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    VkMemoryRequirements need;
    VK(vkCreateBuffer(g->device, &info, NULL, &out.handle));
    vkGetBufferMemoryRequirements(g->device, out.handle, &need);
    out.memory =
        allocate(g, need, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    VK(vkBindBufferMemory(g->device, out.handle, out.memory, 0));
    VK(vkMapMemory(g->device, out.memory, 0, VK_WHOLE_SIZE, 0, &out.mapped));
    return out;
}

void buffer_destroy(gpu *g, buffer *b)
{
    vkDestroyBuffer(g->device, b->handle, NULL);
    vkFreeMemory(g->device, b->memory, NULL);
}

void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
             VkPipelineStageFlags to, VkAccessFlags to_access)
{
    VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from_access, .dstAccessMask = to_access};
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* ---- Shaders --------------------------------------------------------------------------------- */

static VkDescriptorType type_of(const binding *b)
{
    return b->sampler ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

static void write_set(gpu *g, VkDescriptorSet set, const binding *bindings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const binding *b = &bindings[i];
        VkDescriptorImageInfo image_info = {
            .sampler = b->sampler, .imageView = b->image->view, .imageLayout = b->image->layout};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .dstBinding = i,
                                      .descriptorCount = 1,
                                      .descriptorType = type_of(b),
                                      .pImageInfo = &image_info};
        vkUpdateDescriptorSets(g->device, 1, &write, 0, NULL);
    }
}

pass pass_create(gpu *g, const binding *bindings, uint32_t count)
{
    pass p = {0};
    VkDescriptorSetLayoutBinding layouts[MAX_BINDINGS];
    VkDescriptorPoolSize sizes[MAX_BINDINGS];
    for (uint32_t i = 0; i < count; i++) {
        layouts[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                    .descriptorType = type_of(&bindings[i]),
                                                    .descriptorCount = 1,
                                                    .stageFlags = SHADER_STAGES};
        sizes[i] = (VkDescriptorPoolSize){type_of(&bindings[i]), 1};
    }
    VkDescriptorSetLayoutCreateInfo set_layout = {.sType =
                                                      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                  .bindingCount = count,
                                                  .pBindings = layouts};
    VK(vkCreateDescriptorSetLayout(g->device, &set_layout, NULL, &p.set_layout));
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = count,
                                       .pPoolSizes = sizes};
    VK(vkCreateDescriptorPool(g->device, &pool, NULL, &p.pool));
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = p.pool,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &p.set_layout};
    VK(vkAllocateDescriptorSets(g->device, &set, &p.set));
    write_set(g, p.set, bindings, count);
    VkPushConstantRange push = {SHADER_STAGES, 0, PUSH_BYTES};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &p.set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    VK(vkCreatePipelineLayout(g->device, &layout, NULL, &p.layout));
    return p;
}

VkShaderModule shader_create(gpu *g, const uint32_t *code, size_t bytes)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
    VkShaderModule module;
    VK(vkCreateShaderModule(g->device, &info, NULL, &module));
    return module;
}

pass compute_create(gpu *g, const uint32_t *code, size_t bytes, const binding *bindings, uint32_t count)
{
    pass p = pass_create(g, bindings, count);
    VkShaderModule module = shader_create(g, code, bytes);
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = p.layout};
    VK(vkCreateComputePipelines(g->device, VK_NULL_HANDLE, 1, &info, NULL, &p.pipeline));
    vkDestroyShaderModule(g->device, module, NULL);
    return p;
}

void compute_run(VkCommandBuffer commands, const pass *p, const void *push, uint32_t push_bytes,
                 uint32_t width, uint32_t height)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->set, 0, NULL);
    if (push) vkCmdPushConstants(commands, p->layout, SHADER_STAGES, 0, push_bytes, push);
    vkCmdDispatch(commands, (width + 7) / 8, (height + 7) / 8, 1);
}

void pass_destroy(gpu *g, pass *p)
{
    vkDestroyPipeline(g->device, p->pipeline, NULL);
    vkDestroyPipelineLayout(g->device, p->layout, NULL);
    vkDestroyDescriptorPool(g->device, p->pool, NULL);
    vkDestroyDescriptorSetLayout(g->device, p->set_layout, NULL);
}
