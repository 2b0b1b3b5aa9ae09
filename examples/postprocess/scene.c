/* SPDX-License-Identifier: Apache-2.0 */
/* The scene: textured cubes over a floor, drawn into an image with a depth buffer. */
#include "postprocess.h"

#include <string.h>

#include "scene_frag_spv.h"
#include "scene_vert_spv.h"

enum { TEXTURE = 64, CUBES = 9 };
#define DEPTH_FORMAT VK_FORMAT_D16_UNORM /* the one that every device has */

typedef struct constants {
    float seconds, aspect;
} constants;

/* Tiles with a lighter edge. */
static void paint(uint8_t *rgba)
{
    for (int y = 0; y < TEXTURE; y++)
        for (int x = 0; x < TEXTURE; x++) {
            int u = x % 32, v = y % 32, edge = u < 3 || v < 3 || u > 28 || v > 28;
            int level = edge ? 250 : (x / 32 + y / 32) % 2 ? 120 : 190;
            int grain = (x * 73 + y * 151 + x * y * 7) % 29;
            uint8_t texel[] = {(uint8_t)(level - grain), (uint8_t)(level - grain / 2), (uint8_t)(level - 20),
                               255};
            memcpy(rgba + (y * TEXTURE + x) * 4, texel, 4);
        }
}

static void create_texture(scene *s, gpu *g)
{
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                   .magFilter = VK_FILTER_LINEAR,
                                   .minFilter = VK_FILTER_LINEAR};
    s->texture = image_create(g, VK_FORMAT_R8G8B8A8_UNORM, TEXTURE, TEXTURE,
                              VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                              VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    VK(vkCreateSampler(g->device, &sampler, NULL, &s->sampler));
    buffer texels = buffer_create(g, TEXTURE * TEXTURE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    VkBufferImageCopy copy = image_copy(&s->texture);
    paint(texels.mapped);
    VkCommandBuffer commands = gpu_begin(g);
    image_layout(commands, &s->texture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, texels.handle, s->texture.handle, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           1, &copy);
    image_layout(commands, &s->texture, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                 VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    gpu_finish(g, commands);
    buffer_destroy(g, &texels);
}

static void create_render_pass(scene *s, gpu *g)
{
    const VkPipelineStageFlags draws = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                                       VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                                       VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
    const VkPipelineStageFlags reads = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    const VkAccessFlags writes =
        VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
    const VkAttachmentDescription attachments[] = {
        {.format = VK_FORMAT_R8G8B8A8_UNORM,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .finalLayout = s->color.layout},
        {.format = DEPTH_FORMAT,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL}};
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkAttachmentReference depth = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = &color,
                                          .pDepthStencilAttachment = &depth};
    /* Behind what reads the frame before, in front of what reads this one. */
    const VkSubpassDependency dependencies[] = {
        {.srcSubpass = VK_SUBPASS_EXTERNAL,
         .srcStageMask = reads | draws,
         .srcAccessMask = writes,
         .dstStageMask = draws,
         .dstAccessMask = writes | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT},
        {.dstSubpass = VK_SUBPASS_EXTERNAL,
         .srcStageMask = draws,
         .srcAccessMask = writes,
         .dstStageMask = reads,
         .dstAccessMask = VK_ACCESS_SHADER_READ_BIT}};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 2,
                                         .pAttachments = attachments,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 2,
                                         .pDependencies = dependencies};
    VK(vkCreateRenderPass(g->device, &info, NULL, &s->render_pass));
    const VkImageView views[] = {s->color.view, s->depth.view};
    const VkFramebufferCreateInfo framebuffer = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                                 .renderPass = s->render_pass,
                                                 .attachmentCount = 2,
                                                 .pAttachments = views,
                                                 .width = s->color.width,
                                                 .height = s->color.height,
                                                 .layers = 1};
    VK(vkCreateFramebuffer(g->device, &framebuffer, NULL, &s->framebuffer));
}

static void create_pipeline(scene *s, gpu *g)
{
    const binding pattern = {.image = &s->texture, .sampler = s->sampler};
    s->pass = pass_create(g, &pattern, 1);
    const VkPipelineShaderStageCreateInfo stages[] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = shader_create(g, scene_vert_spv, sizeof scene_vert_spv),
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = shader_create(g, scene_frag_spv, sizeof scene_frag_spv),
         .pName = "main"}};
    const VkPipelineVertexInputStateCreateInfo no_vertices = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo triangles = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkRect2D whole = {.extent = {s->color.width, s->color.height}};
    const VkViewport area = {.width = (float)s->color.width, .height = (float)s->color.height, .maxDepth = 1};
    const VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &area,
        .scissorCount = 1,
        .pScissors = &whole};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineDepthStencilStateCreateInfo depth = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = VK_TRUE,
        .depthWriteEnable = VK_TRUE,
        .depthCompareOp = VK_COMPARE_OP_LESS};
    const VkPipelineColorBlendAttachmentState opaque = {.colorWriteMask = 0xf};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &opaque};
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .stageCount = 2,
                                               .pStages = stages,
                                               .pVertexInputState = &no_vertices,
                                               .pInputAssemblyState = &triangles,
                                               .pViewportState = &viewport,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &samples,
                                               .pDepthStencilState = &depth,
                                               .pColorBlendState = &blend,
                                               .layout = s->pass.layout,
                                               .renderPass = s->render_pass};
    VK(vkCreateGraphicsPipelines(g->device, VK_NULL_HANDLE, 1, &info, NULL, &s->pass.pipeline));
    for (int i = 0; i < 2; i++) vkDestroyShaderModule(g->device, stages[i].module, NULL);
}

void scene_create(scene *s, gpu *g, uint32_t width, uint32_t height)
{
    *s = (scene){0};
    s->color = image_create(g, VK_FORMAT_R8G8B8A8_UNORM, width, height,
                            VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                                VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                            VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    s->depth = image_create(g, DEPTH_FORMAT, width, height, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                            VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    create_texture(s, g);
    create_render_pass(s, g);
    create_pipeline(s, g);
}

void scene_destroy(scene *s, gpu *g)
{
    pass_destroy(g, &s->pass);
    vkDestroyFramebuffer(g->device, s->framebuffer, NULL);
    vkDestroyRenderPass(g->device, s->render_pass, NULL);
    vkDestroySampler(g->device, s->sampler, NULL);
    image_destroy(g, &s->texture);
    image_destroy(g, &s->depth);
    image_destroy(g, &s->color);
}

void scene_draw(const scene *s, VkCommandBuffer commands, float seconds)
{
    const VkClearValue clear[] = {{.color = {{0.45f, 0.65f, 0.9f, 1}}}, {.depthStencil = {1, 0}}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = s->render_pass,
                                         .framebuffer = s->framebuffer,
                                         .renderArea.extent = {s->color.width, s->color.height},
                                         .clearValueCount = 2,
                                         .pClearValues = clear};
    const constants push = {seconds, (float)s->color.width / (float)s->color.height};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, s->pass.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, s->pass.layout, 0, 1, &s->pass.set, 0,
                            NULL);
    vkCmdPushConstants(commands, s->pass.layout, SHADER_STAGES, 0, sizeof push, &push);
    vkCmdDraw(commands, 36, CUBES, 0, 0);
    vkCmdEndRenderPass(commands);
}
