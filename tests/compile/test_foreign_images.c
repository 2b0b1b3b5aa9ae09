/* SPDX-License-Identifier: Apache-2.0 */
/* Images of an application as arguments: VkImageViews and cl_mems of every format, and what is refused. */
#include "../codegen/run.h"

#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/config.h>
#include <gpuc/vulkan.h>

#include "runtime_vulkan/device.h"

enum { W = 6, H = 5, MAX = W * H * 16 };

#define VK(call) assert_int_equal(call, VK_SUCCESS)

/* ---- An application's image -------------------------------------------------------------------------- */

typedef struct app_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view;
    VkImageLayout layout;
} app_image;

static gpuc_vk_device *dev(void)
{
    return (gpuc_vk_device *)run_device();
}

static uint32_t memory_type(uint32_t bits, VkMemoryPropertyFlags want)
{
    const VkPhysicalDeviceMemoryProperties *m = &dev()->caps.memory;
    for (uint32_t i = 0; i < m->memoryTypeCount; i++)
        if ((bits >> i & 1) && (m->memoryTypes[i].propertyFlags & want) == want) return i;
    fail_msg("no type of memory");
    return 0;
}

static VkDeviceMemory allocate(const VkMemoryRequirements *need, VkMemoryPropertyFlags want)
{
    VkDeviceMemory out;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = need->size,
                                 .memoryTypeIndex = memory_type(need->memoryTypeBits, want)};
    VK(dev()->fn.AllocateMemory(dev()->handle, &info, NULL, &out));
    return out;
}

static VkImageView view_of(const app_image *a, VkFormat format)
{
    VkImageView out;
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = a->image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = format,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VK(dev()->fn.CreateImageView(dev()->handle, &view, NULL, &out));
    return out;
}

static app_image create(VkFormat format, VkImageUsageFlags usage)
{
    app_image a = {.layout = VK_IMAGE_LAYOUT_UNDEFINED};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {W, H, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage =
                                  usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VK(dev()->fn.CreateImage(dev()->handle, &info, NULL, &a.image));
    VkMemoryRequirements need;
    dev()->fn.GetImageMemoryRequirements(dev()->handle, a.image, &need);
    a.memory = allocate(&need, 0);
    VK(dev()->fn.BindImageMemory(dev()->handle, a.image, a.memory, 0));
    a.view = view_of(&a, format);
    return a;
}

static void destroy(app_image *a)
{
    dev()->fn.DestroyImageView(dev()->handle, a->view, NULL);
    dev()->fn.DestroyImage(dev()->handle, a->image, NULL);
    dev()->fn.FreeMemory(dev()->handle, a->memory, NULL);
}

static void transition(VkCommandBuffer cb, app_image *a, VkImageLayout to)
{
    VkImageMemoryBarrier b = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                              .oldLayout = a->layout,
                              .newLayout = to,
                              .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                              .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                              .image = a->image,
                              .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    dev()->fn.CmdPipelineBarrier(cb, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                 0, 0, NULL, 0, NULL, 1, &b);
    a->layout = to;
}

/* Copies bytes to the image, or from it, and leaves it in a layout. */
static void move(app_image *a, uint8_t *bytes, size_t size, bool to_image, VkImageLayout layout)
{
    const gpuc_vk_device_fns *fn = &dev()->fn;
    VkBuffer buffer;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements need;
    void *mapped;
    VK(fn->CreateBuffer(dev()->handle, &info, NULL, &buffer));
    fn->GetBufferMemoryRequirements(dev()->handle, buffer, &need);
    VkDeviceMemory memory =
        allocate(&need, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    VK(fn->BindBufferMemory(dev()->handle, buffer, memory, 0));
    VK(fn->MapMemory(dev()->handle, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    if (to_image) memcpy(mapped, bytes, size);

    VkCommandPool pool;
    VkCommandBuffer cb;
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                         .queueFamilyIndex = dev()->caps.queue_family};
    VK(fn->CreateCommandPool(dev()->handle, &pool_info, NULL, &pool));
    VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                       .commandPool = pool,
                                       .commandBufferCount = 1};
    VK(fn->AllocateCommandBuffers(dev()->handle, &one, &cb));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK(fn->BeginCommandBuffer(cb, &begin));
    VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageExtent = {W, H, 1}};
    transition(cb, a, to_image ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    if (to_image)
        fn->CmdCopyBufferToImage(cb, buffer, a->image, a->layout, 1, &copy);
    else
        fn->CmdCopyImageToBuffer(cb, a->image, a->layout, buffer, 1, &copy);
    transition(cb, a, layout);
    gpuc_vk_host_barrier(dev(), cb);
    VK(fn->EndCommandBuffer(cb));
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &cb};
    VK(fn->QueueSubmit(dev()->queue.handle, 1, &submit, VK_NULL_HANDLE));
    VK(fn->QueueWaitIdle(dev()->queue.handle));
    if (!to_image) memcpy(bytes, mapped, size);
    fn->DestroyCommandPool(dev()->handle, pool, NULL);
    fn->DestroyBuffer(dev()->handle, buffer, NULL);
    fn->FreeMemory(dev()->handle, memory, NULL);
}

/* ---- A function over images -------------------------------------------------------------------------- */

/* T[y, x, c] = A[h - 1 - y, x, c] */
static gpuc_module *build(gpuc_ctx *ctx, gpuc_dtype dtype, int channels, gpuc_function **out)
{
    gpuc_expr dims[3] = {gpuc_int(ctx, H), gpuc_int(ctx, W), gpuc_int(ctx, channels)}, at[3];
    gpuc_tensor *args[2] = {gpuc_te_placeholder(ctx, "A", 3, dims, dtype)};
    gpuc_iter *axes[3];
    for (int i = 0; i < 3; i++) {
        axes[i] = gpuc_te_axis(ctx, dims[i], (const char *[]){"y", "x", "c"}[i]);
        at[i] = gpuc_iter_var(axes[i]);
    }
    at[0] = gpuc_sub(ctx, gpuc_int(ctx, H - 1), at[0]);
    args[1] = gpuc_te_compute(ctx, "T", 3, axes, gpuc_te_read(ctx, args[0], 3, at));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    gpuc_stage *st = gpuc_schedule_stage(s, args[1]);
    gpuc_stage_set_scope(gpuc_schedule_stage(s, args[0]), "global.texture");
    gpuc_stage_set_scope(st, "global.texture");
    gpuc_stage_vectorize(st, gpuc_stage_leaf(st, 2));
    gpuc_stage_bind(st, gpuc_stage_leaf(st, 0), "blockIdx.x");
    gpuc_tir_func *f = gpuc_schedule_lower(s, "f", 2, args);
    gpuc_module *m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), f);
    run_ok(gpuc_module_get_function(m, "f", out));
    return m;
}

typedef struct row {
    VkFormat from, to;
    gpuc_dtype dtype;
    int channels;
    bool swapped; /* red and blue change places */
} row;

static const row rows[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, {GPUC_DTYPE_UINT, 8, 1}, 4, false},
    {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, {GPUC_DTYPE_UINT, 8, 1}, 4, true},
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM, {GPUC_DTYPE_UINT, 8, 1}, 4, true},
    {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_UNORM, {GPUC_DTYPE_UINT, 8, 1}, 1, false},
    {VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT, {GPUC_DTYPE_FLOAT, 16, 1}, 4, false},
    {VK_FORMAT_R32G32B32A32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT, {GPUC_DTYPE_FLOAT, 32, 1}, 4, false},
    {VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32_SFLOAT, {GPUC_DTYPE_FLOAT, 32, 1}, 1, false},
};

static bool supports(VkFormat format, VkFormatFeatureFlags want)
{
    VkFormatProperties p;
    dev()->vk->fn.GetPhysicalDeviceFormatProperties(dev()->physical, format, &p);
    return (p.optimalTilingFeatures & want) == want;
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static gpuc_vulkan_image describe(const app_image *a, VkFormat format, VkImageUsageFlags usage)
{
    return (gpuc_vulkan_image){.owner_family = GPUC_VULKAN_SAME_FAMILY,
                               .view = a->view,
                               .format = (uint32_t)format,
                               .layout = (uint32_t)a->layout,
                               .width = W,
                               .height = H,
                               .usage = usage};
}

static gpuc_ndarray *wrap(const app_image *a, VkFormat format, VkImageUsageFlags usage, int *released)
{
    gpuc_ndarray *out;
    gpuc_vulkan_image image = describe(a, format, usage);
    run_ok(gpuc_vulkan_wrap_image(run_device(), &image, count_release, released, &out));
    return out;
}

static void try_row(gpuc_ctx *ctx, void *arg)
{
    const row *r = arg;
    uint8_t in[MAX], out[MAX];
    int released = 0;
    size_t each = gpuc_dtype_bytes(r->dtype), texel = each * (size_t)r->channels, size = texel * W * H;
    if (!supports(r->from, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) ||
        !supports(r->to, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT))
        return;
    for (size_t i = 0; i < size / each; i++) {
        uint32_t word = each == 4   ? 0x3f000000 + (uint32_t)i * 0x1357
                        : each == 2 ? 0x3800 + (uint32_t)i
                                    : (uint32_t)i * 7 % 256;
        memcpy(in + i * each, &word, each);
    }
    app_image a = create(r->from, VK_IMAGE_USAGE_SAMPLED_BIT), b = create(r->to, VK_IMAGE_USAGE_STORAGE_BIT);
    move(&a, in, size, true, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    move(&b, in, size, true, VK_IMAGE_LAYOUT_GENERAL);
    gpuc_function *f;
    gpuc_module *m = build(ctx, r->dtype, r->channels, &f);
    gpuc_value args[2] = {{.kind = GPUC_VALUE_NDARRAY}, {.kind = GPUC_VALUE_NDARRAY}};
    args[0].as.ndarray = wrap(&a, r->from, VK_IMAGE_USAGE_SAMPLED_BIT, &released);
    args[1].as.ndarray = wrap(&b, r->to, VK_IMAGE_USAGE_STORAGE_BIT, &released);
    gpuc_status s = gpuc_function_call(f, args, 2, NULL);
    bool refused = r->to == VK_FORMAT_B8G8R8A8_UNORM && !run_target(ctx)->image_any_format;
    if (refused)
        run_refused(s, "only kernels of a target with image_any_format");
    else
        run_ok(s);
    run_refused(gpuc_ndarray_read(args[1].as.ndarray, out, size), "are the application's");
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(args[i].as.ndarray);
    run_ok(run_device()->api->stream_sync(run_device(), NULL));
    move(&b, out, size, false, VK_IMAGE_LAYOUT_GENERAL);
    for (size_t i = 0; i < size && !refused; i++) {
        size_t y = i / (texel * W), x = i / texel % W, c = i / each % (size_t)r->channels;
        size_t from = ((H - 1 - y) * W + x) * texel + (r->swapped && c < 3 ? 2 - c : c) * each + i % each;
        if (out[i] != in[from]) fail_msg("format %d to %d: byte %zu differs", r->from, r->to, i);
    }
    gpuc_function_release(f);
    gpuc_module_release(m);
    /* What was in use is told when that is noticed, at the latest with the next thing that is freed. */
    gpuc_buffer *spare;
    run_ok(run_device()->api->alloc_data_space(run_device(), 16, 16, &spare));
    run_device()->api->free_data_space(run_device(), spare);
    assert_int_equal(released, 2);
    destroy(&a);
    destroy(&b);
}

static void views_are_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].channels == 4 || rows[i].dtype.bits == 32 || strstr(run_target_text, "llvmpipe"))
            run_in_ctx(try_row, (void *)&rows[i]);
}

static void views_that_cannot_be(void **state)
{
    static const struct {
        uint32_t format, layout, width, height;
        bool no_view;
        const char *words;
    } bad[] = {
        {VK_FORMAT_R8G8B8A8_SRGB, VK_IMAGE_LAYOUT_GENERAL, 4, 4, false, "SRGB"},
        {VK_FORMAT_R5G6B5_UNORM_PACK16, VK_IMAGE_LAYOUT_GENERAL, 4, 4, false, "VkFormat 4"},
        {VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_UNDEFINED, 4, 4, false, "VkImageLayout 0"},
        {VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_GENERAL, 0, 4, false, "0 x 4 texels"},
        {VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_GENERAL, 4, UINT32_MAX, false, "maxImageDimension2D"},
        {VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_GENERAL, 4, 4, true, "without a view"},
    };
    app_image a = create(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_USAGE_SAMPLED_BIT);
    gpuc_ndarray *out;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gpuc_vulkan_image image = {.owner_family = GPUC_VULKAN_SAME_FAMILY,
                                   .view = bad[i].no_view ? VK_NULL_HANDLE : a.view,
                                   .format = bad[i].format,
                                   .layout = bad[i].layout,
                                   .width = bad[i].width,
                                   .height = bad[i].height,
                                   .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
        run_refused(gpuc_vulkan_wrap_image(run_device(), &image, NULL, NULL, &out), bad[i].words);
        assert_null(out);
    }
    destroy(&a);
}

/* ---- Two arrays over one image ------------------------------------------------------------------------ */

/* From the first to the last image, by way of the middle one, which is written as one array and read as another: of two
 * views, which name the image, or of one view. The validation layer complains where no barrier is between. */
static void pass_on(gpuc_ctx *ctx, bool two_views)
{
    const VkImageUsageFlags both = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    uint8_t in[W * H * 4], out[W * H * 4] = {0};
    int released = 0;
    app_image images[3];
    gpuc_ndarray *arrays[4];
    gpuc_function *f;
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 3; i++) {
        images[i] = create(format, both);
        move(&images[i], i ? out : in, sizeof in, true, VK_IMAGE_LAYOUT_GENERAL);
    }
    app_image again = images[1];
    if (two_views) again.view = view_of(&again, format);
    const app_image *wrapped[4] = {&images[0], &images[1], &again, &images[2]};
    for (int i = 0; i < 4; i++) {
        gpuc_vulkan_image image = describe(wrapped[i], format, both);
        if (two_views) image.image = wrapped[i]->image;
        run_ok(gpuc_vulkan_wrap_image(run_device(), &image, count_release, &released, &arrays[i]));
    }
    gpuc_module *m = build(ctx, GPUC_UINT8, 4, &f);
    for (int i = 0; i < 4; i += 2) {
        gpuc_value args[2] = {{.kind = GPUC_VALUE_NDARRAY, .as.ndarray = arrays[i]},
                              {.kind = GPUC_VALUE_NDARRAY, .as.ndarray = arrays[i + 1]}};
        run_ok(gpuc_function_call(f, args, 2, NULL));
    }
    run_ok(run_device()->api->stream_sync(run_device(), NULL));
    move(&images[2], out, sizeof out, false, VK_IMAGE_LAYOUT_GENERAL);
    assert_memory_equal(in, out, sizeof out); /* upside down twice */
    gpuc_function_release(f);
    gpuc_module_release(m);
    for (int i = 0; i < 4; i++) gpuc_ndarray_release(arrays[i]);
    assert_int_equal(released, 4);
    if (two_views) dev()->fn.DestroyImageView(dev()->handle, again.view, NULL);
    for (int i = 0; i < 3; i++) destroy(&images[i]);
}

static void pass_on_both_ways(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    pass_on(ctx, false);
    pass_on(ctx, true);
}

static void arrays_of_one_image_are_in_order(void **state)
{
    (void)state;
    run_in_ctx(pass_on_both_ways, NULL);
}

/* ---- Uses that the image does not have --------------------------------------------------------------- */

static void uses(gpuc_ctx *ctx, void *arg)
{
    int released = 0;
    (void)arg;
    app_image a = create(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT);
    uint8_t bytes[W * H * 4] = {0};
    gpuc_function *f;
    gpuc_module *m = build(ctx, GPUC_UINT8, 4, &f);
    move(&a, bytes, sizeof bytes, true, VK_IMAGE_LAYOUT_GENERAL);
    static const struct {
        VkImageUsageFlags in, out;
        VkImageLayout out_layout;
        const char *words;
    } cases[] = {
        {VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_LAYOUT_GENERAL, "USAGE_SAMPLED"},
        {VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_LAYOUT_GENERAL, "USAGE_STORAGE"},
        {VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
         "in the layout GENERAL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        app_image out = a;
        out.layout = cases[i].out_layout;
        gpuc_value args[2] = {{.kind = GPUC_VALUE_NDARRAY}, {.kind = GPUC_VALUE_NDARRAY}};
        args[0].as.ndarray = wrap(&a, VK_FORMAT_R8G8B8A8_UNORM, cases[i].in, &released);
        args[1].as.ndarray = wrap(&out, VK_FORMAT_R8G8B8A8_UNORM, cases[i].out, &released);
        run_refused(gpuc_function_call(f, args, 2, NULL), cases[i].words);
        for (int k = 0; k < 2; k++) gpuc_ndarray_release(args[k].as.ndarray);
    }
    assert_int_equal(released, 6);
    gpuc_function_release(f);
    gpuc_module_release(m);
    destroy(&a);
}

static void uses_that_views_lack(void **state)
{
    (void)state;
    run_in_ctx(uses, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_arguments), cmocka_unit_test(views_that_cannot_be),
        cmocka_unit_test(arrays_of_one_image_are_in_order), cmocka_unit_test(uses_that_views_lack)};
    if (!run_begin(argc > 1 ? argv[1] : "vulkan")) return 77;
    return run_end(cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL));
}
