/* SPDX-License-Identifier: Apache-2.0 */
/* Makes images and views, wraps those of the application, and copies whole images. */
#include "base/require.h"
#include "base/size.h"
#include "runtime/ndarray.h"
#include "runtime_vulkan/plan.h"

typedef struct format_row {
    VkFormat format, srgb; /* srgb: the format with the same bytes that is decoded; UNDEFINED: none */
    gpuc_dtype dtype;
    uint8_t channels;
    bool swapped; /* no kernel can say that it writes this format */
} format_row;

/* The first row of a type and number of channels is that of gpuc's own images. */
static const format_row formats[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_SRGB, {GPUC_DTYPE_UINT, 8, 1}, 4, false},
    {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_B8G8R8A8_SRGB, {GPUC_DTYPE_UINT, 8, 1}, 4, true},
    {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_SRGB, {GPUC_DTYPE_UINT, 8, 1}, 1, false},
    {VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_UNDEFINED, {GPUC_DTYPE_FLOAT, 16, 1}, 4, false},
    {VK_FORMAT_R16_SFLOAT, VK_FORMAT_UNDEFINED, {GPUC_DTYPE_FLOAT, 16, 1}, 1, false},
    {VK_FORMAT_R32G32B32A32_SFLOAT, VK_FORMAT_UNDEFINED, {GPUC_DTYPE_FLOAT, 32, 1}, 4, false},
    {VK_FORMAT_R32_SFLOAT, VK_FORMAT_UNDEFINED, {GPUC_DTYPE_FLOAT, 32, 1}, 1, false},
};
#define NUM_FORMATS (sizeof formats / sizeof *formats)

static const format_row *row_of(VkFormat format)
{
    for (size_t i = 0; i < NUM_FORMATS; i++)
        if (formats[i].format == format) return &formats[i];
    return NULL;
}

gpuc_status gpuc_vk_image_check(const gpuc_kernel *k, uint32_t t, const char *name,
                                const gpuc_vk_image *image)
{
    const gpuc_kernel_tensor *tensor = &k->tensors[t];
    bool write = tensor->access == GPUC_ACCESS_WRITE;
    VkImageUsageFlags need = write ? VK_IMAGE_USAGE_STORAGE_BIT : VK_IMAGE_USAGE_SAMPLED_BIT;
    char type[24];
    if (!tensor->image && image)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "tensor %u ('%.64s') is a buffer for this kernel, and an image is bound to it: bind an "
            "array of gpuc_ndarray_create, or, where the package has bgra8, build it with rgba8",
            t, name);
    if (!tensor->image) return NULL;
    if (!image)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "tensor %u ('%.64s') is an image for this kernel, and a buffer is bound to it: bind an "
            "image (gpuc_vulkan_wrap_image), or build with -images=0",
            t, name);
    if (!gpuc_dtype_equal(image->dtype, tensor->dtype) || image->channels != tensor->image)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "tensor %u ('%.64s'): an image of %u channels of %s is needed, and one of VkFormat %d is "
            "bound",
            t, name, tensor->image, gpuc_dtype_name(tensor->dtype, type), image->format);
    if ((image->usage & need) != need)
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "tensor %u ('%.64s'): the image was made without VK_IMAGE_USAGE_%s_BIT, or the device does "
            "not have it for VkFormat %d",
            t, name, write ? "STORAGE" : "SAMPLED", image->format);
    if (write && image->layout != VK_IMAGE_LAYOUT_GENERAL)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "tensor %u ('%.64s'): an image is written in the layout GENERAL, not in VkImageLayout %d", t,
            name, image->layout);
    if (write && row_of(image->format)->swapped && !(k->features & GPUC_FEATURE_IMAGE_ANY_FORMAT))
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "tensor %u ('%.64s'): only kernels of a target with image_any_format write VkFormat %d", t, name,
            image->format);
    return NULL;
}

/* ---- Making ------------------------------------------------------------------------------------------ */

typedef struct image_buffer {
    gpuc_vk_buffer buffer; /* first */
    gpuc_vk_image image;
} image_buffer;

static gpuc_status check_size(const gpuc_vk_device *dev, int64_t height, int64_t width)
{
    uint32_t max = dev->caps.props.limits.maxImageDimension2D;
    if (height > 0 && width > 0 && height <= max && width <= max) return NULL;
    return gpuc_fail(height > 0 && width > 0 ? GPUC_UNSUPPORTED : GPUC_INVALID_ARGUMENT,
                     "an image of %lld x %lld texels: this device has 1 to %u (maxImageDimension2D)",
                     (long long)width, (long long)height, max);
}

static gpuc_status make_head(gpuc_vk_device *dev, const format_row *row, uint32_t height, uint32_t width,
                             image_buffer **out)
{
    image_buffer *b = *out = gpuc_mem_alloc(dev->allocator, sizeof *b);
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    b->image = (gpuc_vk_image){.format = row->format,
                               .layout = VK_IMAGE_LAYOUT_GENERAL,
                               .width = width,
                               .height = height,
                               .channels = row->channels,
                               .dtype = row->dtype};
    b->buffer.image = &b->image;
    b->buffer.owner_family = GPUC_VULKAN_SAME_FAMILY;
    b->buffer.id = b->image.order = __atomic_add_fetch(&dev->next_buffer_id, 1, __ATOMIC_RELAXED);
    b->buffer.base = (gpuc_buffer){.device = &dev->base, .is_image = true};
    b->buffer.base.size = (size_t)height * width * row->channels * gpuc_dtype_bytes(row->dtype);
    b->buffer.raw.size = b->buffer.base.size;
    return NULL;
}

static gpuc_status create_view(gpuc_vk_device *dev, gpuc_vk_image *i)
{
    VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = i->handle,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = i->format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    GPUC_VK_TRY("vkCreateImageView", dev->fn.CreateImageView(dev->handle, &info, dev->host, &i->view));
    return NULL;
}

static gpuc_status create_image(gpuc_vk_device *dev, gpuc_vk_image *i)
{
    VkFormatProperties props;
    dev->vk->fn.GetPhysicalDeviceFormatProperties(dev->physical, i->format, &props);
    i->usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (props.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)
        i->usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
    if (props.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT)
        i->usage |= VK_IMAGE_USAGE_STORAGE_BIT;
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = i->format,
        .extent = {i->width, i->height, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = i->usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
        .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
    };
    GPUC_VK_TRY("vkCreateImage", dev->fn.CreateImage(dev->handle, &info, dev->host, &i->handle));
    VkMemoryRequirements need;
    dev->fn.GetImageMemoryRequirements(dev->handle, i->handle, &need);
    /* Buffers may be neighbours in the block. */
    VkDeviceSize apart = dev->caps.props.limits.bufferImageGranularity;
    if (apart > need.alignment) need.alignment = apart;
    need.size = gpuc_align_up(need.size, need.alignment);
    gpuc_status s = gpuc_vk_memory_alloc(dev, &need, GPUC_VK_USE_TENSOR, &i->span);
    if (gpuc_vk_reclaim(dev, &s)) s = gpuc_vk_memory_alloc(dev, &need, GPUC_VK_USE_TENSOR, &i->span);
    GPUC_TRY(s);
    GPUC_VK_TRY("vkBindImageMemory",
                dev->fn.BindImageMemory(dev->handle, i->handle, i->span.block->memory, i->span.offset));
    return create_view(dev, i);
}

/* Into the layout that it stays in. */
static gpuc_status begin_layout(gpuc_vk_device *dev, gpuc_vk_buffer *b)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = b->image->handle,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    gpuc_vk_queue *q = &dev->queue;
    pthread_mutex_lock(&q->lock);
    gpuc_status s = gpuc_vk_batch_begin_locked(dev);
    if (!s) {
        dev->fn.CmdPipelineBarrier(q->batch.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, stages, 0, 0, NULL,
                                   0, NULL, 1, &barrier);
        b->last_use = b->last_write = q->last_serial + 1;
    }
    pthread_mutex_unlock(&q->lock);
    return s;
}

gpuc_status gpuc_vk_image_create(gpuc_device *device, gpuc_dtype dtype, int64_t height, int64_t width,
                                 int channels, gpuc_buffer **out)
{
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    const format_row *row = NULL;
    image_buffer *b;
    *out = NULL;
    for (size_t i = 0; i < NUM_FORMATS && !row; i++)
        if (gpuc_dtype_equal(formats[i].dtype, dtype) && formats[i].channels == channels) row = &formats[i];
    if (!row)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "an image has 1 or 4 channels of uint8, float16 or float32");
    GPUC_TRY(check_size(dev, height, width));
    GPUC_TRY(make_head(dev, row, (uint32_t)height, (uint32_t)width, &b));
    gpuc_status s = create_image(dev, &b->image);
    if (!s) s = begin_layout(dev, &b->buffer);
    if (s)
        gpuc_vk_image_destroy(dev, &b->buffer);
    else
        *out = &b->buffer.base;
    return s;
}

void gpuc_vk_image_destroy(gpuc_vk_device *dev, gpuc_vk_buffer *b)
{
    gpuc_vk_image *i = b->image;
    if (i->handle && i->view) dev->fn.DestroyImageView(dev->handle, i->view, dev->host);
    if (i->handle) dev->fn.DestroyImage(dev->handle, i->handle, dev->host);
    gpuc_vk_memory_free(dev, &i->span);
    if (i->released) i->released(i->user);
    gpuc_mem_free(dev->allocator, b, sizeof(image_buffer));
}

/* ---- Copies ------------------------------------------------------------------------------------------ */

gpuc_status gpuc_vk_image_check_copy(const gpuc_vk_image *from, const gpuc_vk_image *to,
                                     VkDeviceSize buffer_offset)
{
    const gpuc_vk_image *i = from ? from : to;
    if (from && to)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "a plan does not copy an image to an image; copy through a buffer");
    if (!i->handle)
        return gpuc_fail(GPUC_UNSUPPORTED, "copies of an image of the application are the application's");
    VkDeviceSize texel = i->channels * gpuc_dtype_bytes(i->dtype);
    if (buffer_offset % texel || buffer_offset % 4)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "a copy of an image at byte %llu of a buffer, which is no multiple of a texel and 4",
                         (unsigned long long)buffer_offset);
    return NULL;
}

void gpuc_vk_image_record_copy(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_vk_bound_step *s)
{
    const gpuc_vk_image *i = s->from_image ? s->from_image : s->to_image;
    VkBufferImageCopy copy = {
        .bufferOffset = s->from_image ? s->copy.dstOffset : s->copy.srcOffset,
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .imageExtent = {i->width, i->height, 1},
    };
    if (s->from_image)
        dev->fn.CmdCopyImageToBuffer(cb, i->handle, i->layout, s->copy_to, 1, &copy);
    else
        dev->fn.CmdCopyBufferToImage(cb, s->copy_from, i->handle, i->layout, 1, &copy);
}

static gpuc_status check_whole(const gpuc_copy_end *end, size_t bytes)
{
    if (!end->buffer || !end->buffer->is_image || (end->offset == 0 && bytes == end->buffer->size))
        return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "a copy of %zu bytes at %zu of an image of %zu: it is copied whole", bytes, end->offset,
                     end->buffer->size);
}

/* To or from memory of the host, or between two images, by way of a buffer. */
static gpuc_status copy_through(gpuc_vk_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                                gpuc_stream *stream)
{
    gpuc_copy_end mid = {0};
    GPUC_TRY(gpuc_vk_buffer_create(&dev->base, bytes, 1, &mid.buffer));
    gpuc_status s = gpuc_vk_copy(&dev->base, from, mid, bytes, stream);
    if (!s) s = gpuc_vk_copy(&dev->base, mid, to, bytes, stream);
    gpuc_vk_buffer_free(&dev->base, mid.buffer);
    return s;
}

gpuc_status gpuc_vk_image_copy(gpuc_vk_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                               gpuc_stream *stream)
{
    GPUC_TRY(check_whole(&from, bytes));
    GPUC_TRY(check_whole(&to, bytes));
    if (!from.buffer || !to.buffer || (from.buffer->is_image && to.buffer->is_image))
        return copy_through(dev, from, to, bytes, stream);
    const gpuc_vk_buffer *source = (gpuc_vk_buffer *)from.buffer, *target = (gpuc_vk_buffer *)to.buffer;
    GPUC_TRY(gpuc_vk_image_check_copy(source->image, target->image, source->image ? to.offset : from.offset));
    return gpuc_vk_copy_on_device(dev, from, to, bytes, stream);
}

/* ---- Images of the application ----------------------------------------------------------------------- */

static gpuc_status refuse_format(uint32_t format)
{
    for (size_t i = 0; i < NUM_FORMATS; i++)
        if (formats[i].srgb && formats[i].srgb == (VkFormat)format)
            return gpuc_fail(
                GPUC_UNSUPPORTED,
                "an image view of VkFormat %u, which the device decodes: gpuc decodes and encodes SRGB "
                "itself; make a view of VkFormat %d of the image (VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT)",
                format, formats[i].format);
    return gpuc_fail(
        GPUC_UNSUPPORTED,
        "an image view of VkFormat %u; kernels read and write R8G8B8A8_UNORM, B8G8R8A8_UNORM, R8_UNORM, "
        "R16G16B16A16_SFLOAT, R16_SFLOAT, R32G32B32A32_SFLOAT and R32_SFLOAT",
        format);
}

static void free_wrapped(void *owner)
{
    gpuc_buffer *b = owner;
    gpuc_vk_buffer_free(b->device, b);
}

void gpuc_vk_image_take_over(const gpuc_vk_device *dev, VkCommandBuffer cb, const gpuc_vk_buffer *b,
                             bool back)
{
    const VkPipelineStageFlags ours = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               theirs = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = back ? VK_ACCESS_SHADER_WRITE_BIT : 0,
        .dstAccessMask = back ? 0 : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
        .oldLayout = b->image->layout,
        .newLayout = b->image->layout,
        .srcQueueFamilyIndex = back ? dev->caps.queue_family : b->owner_family,
        .dstQueueFamilyIndex = back ? b->owner_family : dev->caps.queue_family,
        .image = b->image->foreign,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                             VK_REMAINING_ARRAY_LAYERS},
    };
    dev->fn.CmdPipelineBarrier(cb, back ? ours : theirs, back ? theirs : ours, 0, 0, NULL, 0, NULL, 1,
                               &barrier);
}

static gpuc_status check_owner(const gpuc_vk_device *dev, const gpuc_vulkan_image *i)
{
    if (i->owner_family == GPUC_VULKAN_SAME_FAMILY) return NULL;
    if (i->owner_family == dev->caps.queue_family)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the application's image is owned by family %u, which is that of gpuc's queue: say "
                         "GPUC_VULKAN_SAME_FAMILY",
                         i->owner_family);
    if (i->image) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "family %u owns the application's image, and gpuc_vulkan_image.image is missing",
                     i->owner_family);
}

gpuc_status gpuc_vulkan_wrap_image(gpuc_device *device, const gpuc_vulkan_image *image,
                                   void (*released)(void *user), void *user, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(device);
    GPUC_REQUIRE(image);
    gpuc_vk_device *dev = (gpuc_vk_device *)device;
    const format_row *row = row_of((VkFormat)image->format);
    image_buffer *b;
    if (device->api->launch != gpuc_vk_launch)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s:%d is no Vulkan device", device->api->name,
                         device->index);
    if (!image->view) return gpuc_fail(GPUC_INVALID_ARGUMENT, "an image without a view");
    if (!row) return refuse_format(image->format);
    if (image->layout != VK_IMAGE_LAYOUT_GENERAL && image->layout != VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "an image in VkImageLayout %u; it must be in GENERAL, or, to be read, in "
                         "SHADER_READ_ONLY_OPTIMAL, while gpuc uses it",
                         image->layout);
    GPUC_TRY(check_owner(dev, image));
    GPUC_TRY(check_size(dev, image->height, image->width));
    GPUC_TRY(make_head(dev, row, image->height, image->width, &b));
    b->image.view = image->view;
    b->image.foreign = image->image;
    /* A number that another buffer has is a barrier too many at most. */
    b->image.order = image->image ? (uint64_t)image->image : (uint64_t)image->view;
    b->buffer.owner_family = image->owner_family;
    b->image.layout = (VkImageLayout)image->layout;
    b->image.usage = image->usage;
    int64_t dims[3] = {image->height, image->width, row->channels};
    gpuc_binding all = {.buffer = &b->buffer.base, .size = b->buffer.base.size};
    gpuc_status s = gpuc_ndarray_wrap(device->runtime, all, NULL, row->dtype, 3, dims, free_wrapped,
                                      &b->buffer.base, out);
    if (s) {
        gpuc_vk_image_destroy(dev, &b->buffer);
        return s;
    }
    b->image.released = released;
    b->image.user = user;
    return NULL;
}
