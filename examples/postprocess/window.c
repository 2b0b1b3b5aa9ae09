/* SPDX-License-Identifier: Apache-2.0 */
/* A window with a swapchain, by SDL2. The picture is scaled to the window. */
#include "postprocess.h"

#include <stdlib.h>

#include <SDL.h>
#include <SDL_vulkan.h>

enum { MAX_IMAGES = 8, SLOTS = 2 };

struct window {
    SDL_Window *sdl;
    const char *extensions[8];
    gpu *gpu;
    VkSurfaceKHR surface;
    VkSurfaceFormatKHR format;
    VkSwapchainKHR swapchain;
    VkExtent2D extent;
    VkImage images[MAX_IMAGES];
    VkSemaphore acquired[SLOTS];      /* of a frame in flight */
    VkSemaphore rendered[MAX_IMAGES]; /* of an image */
    uint32_t num_images, image;
};

window *window_open(uint32_t width, uint32_t height, const char ***out_extensions, uint32_t *out_count)
{
    window *w = calloc(1, sizeof *w);
    unsigned count = 8;
    if (!w) die("out of memory");
    if (SDL_Init(SDL_INIT_VIDEO)) die("SDL: %s", SDL_GetError());
    w->sdl = SDL_CreateWindow("gpuc postprocess", SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED,
                              (int)width, (int)height, SDL_WINDOW_VULKAN | SDL_WINDOW_RESIZABLE);
    if (!w->sdl || !SDL_Vulkan_GetInstanceExtensions(w->sdl, &count, w->extensions))
        die("SDL: %s", SDL_GetError());
    *out_extensions = w->extensions;
    *out_count = count;
    return w;
}

static uint32_t clamp(uint32_t x, uint32_t min, uint32_t max)
{
    return x < min ? min : x > max ? max : x;
}

/* Eight bits without conversion, as the pictures are. */
static void choose_format(window *w)
{
    VkSurfaceFormatKHR all[64];
    uint32_t count;
    VK(vkGetPhysicalDeviceSurfaceFormatsKHR(w->gpu->physical, w->surface, &count, NULL));
    count = count > 64 ? 64 : count;
    VK(vkGetPhysicalDeviceSurfaceFormatsKHR(w->gpu->physical, w->surface, &count, all));
    w->format = all[0];
    for (uint32_t i = 0; i < count; i++)
        if (all[i].format == VK_FORMAT_B8G8R8A8_UNORM || all[i].format == VK_FORMAT_R8G8B8A8_UNORM) {
            w->format = all[i];
            return;
        }
}

static void create_swapchain(window *w)
{
    gpu *g = w->gpu;
    VkSurfaceCapabilitiesKHR can;
    VkSwapchainKHR old = w->swapchain;
    int width, height;
    SDL_Vulkan_GetDrawableSize(w->sdl, &width, &height);
    VK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(g->physical, w->surface, &can));
    w->extent.width = clamp((uint32_t)width, can.minImageExtent.width, can.maxImageExtent.width);
    w->extent.height = clamp((uint32_t)height, can.minImageExtent.height, can.maxImageExtent.height);
    VkSwapchainCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
        .surface = w->surface,
        .minImageCount = clamp(3, can.minImageCount, can.maxImageCount ? can.maxImageCount : 3),
        .imageFormat = w->format.format,
        .imageColorSpace = w->format.colorSpace,
        .imageExtent = w->extent,
        .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .preTransform = can.currentTransform,
        .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
        .presentMode = VK_PRESENT_MODE_FIFO_KHR,
        .clipped = VK_TRUE,
        .oldSwapchain = old};
    VK(vkCreateSwapchainKHR(g->device, &info, NULL, &w->swapchain));
    vkDestroySwapchainKHR(g->device, old, NULL);
    VK(vkGetSwapchainImagesKHR(g->device, w->swapchain, &w->num_images, NULL));
    if (w->num_images > MAX_IMAGES) die("the swapchain has more than %d images", MAX_IMAGES);
    VK(vkGetSwapchainImagesKHR(g->device, w->swapchain, &w->num_images, w->images));
}

void window_attach(window *w, gpu *g)
{
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkBool32 shows;
    w->gpu = g;
    if (!SDL_Vulkan_CreateSurface(w->sdl, g->instance, &w->surface)) die("SDL: %s", SDL_GetError());
    VK(vkGetPhysicalDeviceSurfaceSupportKHR(g->physical, g->family, w->surface, &shows));
    if (!shows) die("the device cannot show pictures in this window");
    for (int i = 0; i < SLOTS; i++) VK(vkCreateSemaphore(g->device, &semaphore, NULL, &w->acquired[i]));
    for (int i = 0; i < MAX_IMAGES; i++) VK(vkCreateSemaphore(g->device, &semaphore, NULL, &w->rendered[i]));
    choose_format(w);
    create_swapchain(w);
}

bool window_poll(window *w)
{
    SDL_Event event;
    (void)w;
    while (SDL_PollEvent(&event)) {
        if (event.type == SDL_QUIT) return false;
        if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE) return false;
    }
    return true;
}

void window_blit(window *w, VkCommandBuffer commands, const image *from, int frame)
{
    VkResult result;
    while ((result = vkAcquireNextImageKHR(w->gpu->device, w->swapchain, UINT64_MAX,
                                           w->acquired[frame % SLOTS], VK_NULL_HANDLE, &w->image)) ==
           VK_ERROR_OUT_OF_DATE_KHR) {
        VK(vkQueueWaitIdle(w->gpu->queue));
        create_swapchain(w);
    }
    VK(result);
    VkImageBlit all = {
        .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .srcOffsets = {{0, 0, 0}, {(int32_t)from->width, (int32_t)from->height, 1}},
        .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .dstOffsets = {{0, 0, 0}, {(int32_t)w->extent.width, (int32_t)w->extent.height, 1}},
    };
    const image to = {.handle = w->images[w->image]};
    image_layout(commands, &to, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    image_layout(commands, from, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdBlitImage(commands, from->handle, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, w->images[w->image],
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &all, VK_FILTER_LINEAR);
    image_layout(commands, from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL);
    image_layout(commands, &to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
}

void window_present(window *w, VkCommandBuffer commands, VkFence fence, int frame)
{
    const VkPipelineStageFlags blit = VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &w->acquired[frame % SLOTS],
                           .pWaitDstStageMask = &blit,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands,
                           .signalSemaphoreCount = 1,
                           .pSignalSemaphores = &w->rendered[w->image]};
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &w->rendered[w->image],
                                .swapchainCount = 1,
                                .pSwapchains = &w->swapchain,
                                .pImageIndices = &w->image};
    VK(vkQueueSubmit(w->gpu->queue, 1, &submit, fence));
    VkResult result = vkQueuePresentKHR(w->gpu->queue, &present);
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) {
        VK(vkQueueWaitIdle(w->gpu->queue));
        create_swapchain(w);
        return;
    }
    VK(result);
}

void window_close(window *w)
{
    VkDevice device = w->gpu->device;
    for (int i = 0; i < SLOTS; i++) vkDestroySemaphore(device, w->acquired[i], NULL);
    for (int i = 0; i < MAX_IMAGES; i++) vkDestroySemaphore(device, w->rendered[i], NULL);
    vkDestroySwapchainKHR(device, w->swapchain, NULL);
    vkDestroySurfaceKHR(w->gpu->instance, w->surface, NULL);
    SDL_DestroyWindow(w->sdl);
    SDL_Quit();
    free(w);
}
