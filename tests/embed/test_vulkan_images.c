/* SPDX-License-Identifier: Apache-2.0 */
/* A network in the application's command buffer between images of the application: pixels come from a cleared and
 * partly drawn image, results go into another one, and are what the package's program for the CPU makes of the same
 * pixels. */
#include "app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "../relay/fixture.h"

enum { IN_W = 24, IN_H = 16, OUT_W = 12, OUT_H = 10, MAX_BYTES = IN_W * IN_H * 8 };

/* ---- A package for both devices: a convolution between images ------------------------------------- */

typedef struct row {
    const char *name;
    gpuc_image_format in, out; /* of the package */
    VkFormat in_view, out_view;
    VkImageLayout layout; /* that the input is read in */
    int64_t width;        /* that the package says of the input; 0: any size */
} row;

static const row rows[] = {
    {"rgba8", GPUC_IMAGE_RGBA8, GPUC_IMAGE_RGBA8, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM,
     VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, 0},
    {"read in the general layout", GPUC_IMAGE_RGBA8, GPUC_IMAGE_RGBA8, VK_FORMAT_R8G8B8A8_UNORM,
     VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_GENERAL, 0},
    {"encoded colours through UNORM views", GPUC_IMAGE_RGBA8_SRGB, GPUC_IMAGE_RGBA8_SRGB,
     VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, 0},
    {"blue first", GPUC_IMAGE_RGBA8, GPUC_IMAGE_RGBA8, VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM,
     VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, 0},
    {"halves", GPUC_IMAGE_RGBA16F, GPUC_IMAGE_RGBA16F, VK_FORMAT_R16G16B16A16_SFLOAT,
     VK_FORMAT_R16G16B16A16_SFLOAT, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, 0},
    {"of one size", GPUC_IMAGE_RGBA8, GPUC_IMAGE_RGBA8, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM,
     VK_IMAGE_LAYOUT_GENERAL, IN_W},
    {"wider than images of any device", GPUC_IMAGE_RGBA8, GPUC_IMAGE_RGBA8, VK_FORMAT_R8G8B8A8_UNORM,
     VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_LAYOUT_GENERAL, 1 << 20},
};
enum { NUM_ROWS = sizeof rows / sizeof *rows, ONE_SIZE = NUM_ROWS - 2, TOO_WIDE };

static char packages[NUM_ROWS][64];
static int warnings; /* of builds */

static void on_warning(void *user, const char *message)
{
    const row *r = user;
    assert_true(r->width > IN_W);
    assert_non_null(strstr(message, "have max_image_width=4096"));
    warnings++;
}

static void build(gpuc_ctx *ctx, void *arg)
{
    const row *r = arg;
    fx_rng rng = {.state = 5};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, GPUC_FLOAT32, FX_DIMS(1, 3, OUT_H, OUT_W)));
    gpuc_rexpr *args[] = {x, fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(3, 3, 3, 3)), &rng)};
    gpuc_rexpr *y =
        fx_op(ctx, "nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=1", 2, args);
    gpuc_rmodule *m = fx_module(ctx, fx_op1(ctx, "sigmoid", NULL, y), 1, &x);
    static const char *const names[] = {"y"};
    m->num_outputs = 1;
    m->output_names = names;
    gpuc_image_input in = GPUC_IMAGE_INPUT_INIT;
    in.name = "x";
    in.format = r->in;
    in.width = r->width;
    in.height = r->width ? IN_H : 0;
    gpuc_rmodule_image_input(ctx, m, &in);
    gpuc_image_output out = GPUC_IMAGE_OUTPUT_INIT;
    out.name = "y";
    out.format = r->out;
    gpuc_rmodule_image_output(ctx, m, &out);
    bool any = r->out_view == VK_FORMAT_B8G8R8A8_UNORM; /* which no kernel can name */
    const gpuc_target *targets[] = {
        gpuc_target_parse(ctx, any ? "vulkan -image_any_format=1" : "vulkan", NULL),
        gpuc_target_parse(ctx, "c", NULL)};
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    options.warning = on_warning;
    options.warning_user = (void *)r;
    gpuc_build_package(ctx, m, 2, targets, &options, packages[r - rows], NULL);
}

static int make_packages(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_ROWS; i++) app_make_package(packages[i], build, (void *)&rows[i]);
    return 0;
}

static int remove_packages(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_ROWS; i++) remove(packages[i]);
    return 0;
}

/* ---- The application ------------------------------------------------------------------------------ */

typedef struct world {
    app a;
    gpuc_runtime *rt;
    gpuc_device *dev, *cpu;
    gpuc_model *model, *reference;
    int without_warm_up; /* preparations */
} world;

static void on_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    world *w = user;
    (void)level, (void)message;
    w->without_warm_up += !strcmp(id, "model.prepare");
}

static gpuc_model *load(world *w, gpuc_device *dev, int number)
{
    gpuc_model *m;
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    d.path = packages[number];
    d.device = dev;
    d.allow_native_code = true;
    ok(gpuc_model_load(w->rt, &d, &m));
    return m;
}

static void open_host(world *w, bool plain)
{
    memset(w, 0, sizeof *w);
    app_open(&w->a, (app_options){.plain = plain});
    gpuc_runtime_desc d = GPUC_RUNTIME_DESC_INIT;
    d.log = on_log;
    d.log_user = w;
    ok(gpuc_runtime_create(&d, &w->rt));
    app_register(w->rt);
    ok(gpuc_cpu_register(w->rt));
    ok(gpuc_device_open(w->rt, GPUC_DEVICE_CPU, 0, &w->cpu));
}

static void open_world(world *w, int number, bool plain)
{
    open_host(w, plain);
    gpuc_vulkan_device_desc desc = app_desc(&w->a);
    ok(gpuc_vulkan_adopt(w->rt, &desc, &w->dev));
    w->model = load(w, w->dev, number);
    w->reference = load(w, w->cpu, number);
}

static void close_world(world *w)
{
    gpuc_model_release(w->model);
    gpuc_model_release(w->reference);
    if (w->dev) ok(gpuc_device_close(w->dev));
    gpuc_runtime_release(w->rt);
    app_close(&w->a);
}

static gpuc_vulkan_image describe(const app_image *i, VkImageLayout layout)
{
    return (gpuc_vulkan_image){.view = i->view,
                               .image = i->handle,
                               .format = (uint32_t)i->format,
                               .layout = (uint32_t)layout,
                               .width = i->width,
                               .height = i->height,
                               .usage = i->usage,
                               .owner_family = GPUC_VULKAN_SAME_FAMILY};
}

static gpuc_ndarray *wrap(world *w, const app_image *i, VkImageLayout layout, int *released)
{
    gpuc_ndarray *out;
    gpuc_vulkan_image image = describe(i, layout);
    ok(gpuc_vulkan_wrap_image(w->dev, &image, app_count_release, released, &out));
    return out;
}

static size_t texel_bytes(gpuc_image_format f)
{
    return (size_t)gpuc_image_format_channels(f) * gpuc_dtype_bytes(gpuc_image_format_dtype(f));
}

/* What the image has in memory, red first where the format of the package has it so. */
static void as_named(const row *r, VkFormat view, uint8_t *bytes, size_t size)
{
    if (view != VK_FORMAT_B8G8R8A8_UNORM || r->in != GPUC_IMAGE_RGBA8) return;
    for (size_t i = 0; i < size; i += 4) {
        uint8_t blue = bytes[i];
        bytes[i] = bytes[i + 2];
        bytes[i + 2] = blue;
    }
}

/* An image that is cleared, and gets a picture in its middle. */
static void draw(world *w, VkCommandBuffer cb, app_image *i, const app_buffer *picture, int frame)
{
    const VkClearColorValue colour = {{0.25f, 0.5f, (float)(frame % 4) / 4, 1}};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkBufferImageCopy middle = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageOffset = {IN_W / 4, IN_H / 4, 0},
                                      .imageExtent = {IN_W / 2, IN_H / 2, 1}};
    app_image_move(&w->a, cb, i, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    w->a.CmdClearColorImage(cb, i->handle, i->layout, &colour, 1, &all);
    app_image_move(&w->a, cb, i, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    w->a.CmdCopyBufferToImage(cb, picture->handle, i->handle, i->layout, 1, &middle);
}

static void take(world *w, VkCommandBuffer cb, app_image *i, const app_buffer *to)
{
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {i->width, i->height, 1}};
    w->a.CmdCopyImageToBuffer(cb, i->handle, i->layout, to->handle, 1, &all);
}

static void check(const world *w, const row *r, gpuc_session *reference, uint8_t *pixels, uint8_t *result)
{
    const int64_t in_dims[] = {IN_H, IN_W, 4};
    static uint8_t want[MAX_BYTES];
    size_t in_size = texel_bytes(r->in) * IN_W * IN_H, out_size = texel_bytes(r->out) * OUT_W * OUT_H;
    gpuc_ndarray *in, *out;
    as_named(r, r->in_view, pixels, in_size);
    as_named(r, r->out_view, result, out_size);
    ok(gpuc_ndarray_create(w->rt, w->cpu, gpuc_image_format_dtype(r->in), 3, in_dims, &in));
    ok(gpuc_ndarray_write(in, pixels, in_size));
    ok(gpuc_session_set_input(reference, 0, in));
    ok(gpuc_session_run(reference));
    ok(gpuc_session_get_output(reference, 0, &out));
    ok(gpuc_ndarray_read(out, want, out_size));
    gpuc_ndarray_release(in);
    gpuc_dtype t = gpuc_image_format_dtype(r->out);
    for (size_t i = 0; i < out_size; i += gpuc_dtype_bytes(t)) {
        double a = t.bits == 8 ? want[i] : gpuc_float_load(t, want + i);
        double b = t.bits == 8 ? result[i] : gpuc_float_load(t, result + i);
        if (!(a - b <= (t.bits == 8 ? 1 : 2e-3) && b - a <= (t.bits == 8 ? 1 : 2e-3)))
            fail_msg("%s: byte %zu is %g, not %g", r->name, i, b, a);
    }
}

/* A frame in one command buffer: draw, network, take the result away. With submit, the network is on the queue by itself,
 * between two command buffers. */
static void frame(world *w, const row *r, gpuc_session *s, app_image *in, app_image *out,
                  const app_buffer *buffers, int number, bool submit)
{
    const gpuc_vulkan_sync sync = {.src_stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   .src_access = VK_ACCESS_TRANSFER_WRITE_BIT,
                                   .dst_stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   .dst_access = VK_ACCESS_TRANSFER_READ_BIT};
    uint8_t *picture = (uint8_t *)buffers[0].floats;
    size_t texel = texel_bytes(r->in);
    for (size_t i = 0; i < texel * IN_W * IN_H / 4; i++)
        picture[i] = texel == 8 ? (uint8_t)(i % 2 ? 0x38 + i % 3 : i * 29 + (size_t)number * 7)
                                : (uint8_t)(i * 29 % 251 + (size_t)number * 7);
    app_flush(&w->a, &buffers[0]);
    VkCommandBuffer cb = app_begin(&w->a);
    draw(w, cb, in, &buffers[0], number);
    app_image_move(&w->a, cb, in, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    take(w, cb, in, &buffers[1]);
    app_image_move(&w->a, cb, in, r->layout);
    app_image_move(&w->a, cb, out, VK_IMAGE_LAYOUT_GENERAL);
    if (submit) {
        const gpuc_vulkan_submit nothing = {0};
        VkFence fence = app_submit(&w->a, cb);
        ok(gpuc_session_submit(s, &nothing));
        ok(gpuc_session_sync(s));
        app_finish(&w->a, fence);
        cb = app_begin(&w->a);
    } else {
        ok(gpuc_session_record(s, cb, &sync));
    }
    app_image_move(&w->a, cb, out, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    take(w, cb, out, &buffers[2]);
    app_run(&w->a, cb);
    for (int i = 1; i < 3; i++) app_fetch(&w->a, &buffers[i]);
}

static void run_row(int number, bool plain, bool submit)
{
    enum { FRAMES = 6, WARM = 2 };
    const row *r = &rows[number];
    int released = 0;
    world w;
    gpuc_session *s, *reference;
    open_world(&w, number, plain);
    app_image in = app_image_make(&w.a, r->in_view, IN_W, IN_H,
                                  VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                      VK_IMAGE_USAGE_TRANSFER_SRC_BIT),
              out = app_image_make(&w.a, r->out_view, OUT_W, OUT_H,
                                   VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer buffers[3];
    for (int i = 0; i < 3; i++) buffers[i] = app_buffer_make(&w.a, MAX_BYTES, APP_USAGE);
    ok(gpuc_session_create(w.model, &s));
    ok(gpuc_session_create(w.reference, &reference));
    gpuc_ndarray *x = wrap(&w, &in, r->layout, &released),
                 *y = wrap(&w, &out, VK_IMAGE_LAYOUT_GENERAL, &released);
    ok(gpuc_session_bind_input(s, 0, x));
    ok(gpuc_session_bind_output(s, 0, y));
    for (int i = 0; i < FRAMES; i++) {
        if (i == WARM) memset(&app_counted, 0, sizeof app_counted);
        frame(&w, r, s, &in, &out, buffers, i, submit);
        check(&w, r, reference, (uint8_t *)buffers[1].floats, (uint8_t *)buffers[2].floats);
    }
    assert_true(submit || app_counted.dispatches > 0);
    assert_int_equal(app_counted.allocations + app_counted.descriptor_writes, 0);
    if (!submit) assert_int_equal(app_counted.submits + app_counted.waits + app_counted.creations, 0);
    gpuc_session_release(s);
    gpuc_session_release(reference);
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(y);
    assert_int_equal(released, 2);
    for (int i = 0; i < 3; i++) app_buffer_destroy(&w.a, &buffers[i]);
    app_image_destroy(&w.a, &in);
    app_image_destroy(&w.a, &out);
    close_world(&w);
}

static bool has_any_format(void)
{
    app a;
    app_open(&a, (app_options){0});
    bool has = a.features.features.shaderStorageImageWriteWithoutFormat;
    app_close(&a);
    return has;
}

static void test_record(void **state)
{
    (void)state;
    run_row(0, true, false);
    for (int i = 0; i < TOO_WIDE; i++)
        if (rows[i].out_view != VK_FORMAT_B8G8R8A8_UNORM || has_any_format())
            run_row(i, false, false);
        else
            print_message("skipped: '%s', as the device has no shaderStorageImageWriteWithoutFormat\n",
                          rows[i].name);
}

static void test_submit(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) run_row(0, plain, true);
}

/* Images that another family owns are acquired, and released again. */
static void test_families(void **state)
{
    (void)state;
    int released = 0;
    world w;
    gpuc_session *s;
    open_world(&w, 0, false);
    app_image in = app_image_make(&w.a, rows[0].in_view, IN_W, IN_H, VK_IMAGE_USAGE_SAMPLED_BIT),
              out = app_image_make(&w.a, rows[0].out_view, OUT_W, OUT_H,
                                   VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
    gpuc_vulkan_image image = describe(&in, VK_IMAGE_LAYOUT_GENERAL);
    gpuc_ndarray *x, *y = wrap(&w, &out, VK_IMAGE_LAYOUT_GENERAL, &released);
    image.owner_family = w.a.family;
    fails(gpuc_vulkan_wrap_image(w.dev, &image, NULL, NULL, &x), GPUC_INVALID_ARGUMENT, "SAME_FAMILY");
    image.owner_family = w.a.family + 1;
    image.image = VK_NULL_HANDLE;
    fails(gpuc_vulkan_wrap_image(w.dev, &image, NULL, NULL, &x), GPUC_INVALID_ARGUMENT, "image is missing");
    image.image = in.handle;
    ok(gpuc_vulkan_wrap_image(w.dev, &image, NULL, NULL, &x));
    ok(gpuc_session_create(w.model, &s));
    ok(gpuc_session_bind_input(s, 0, x));
    ok(gpuc_session_bind_output(s, 0, y));
    memset(&app_counted, 0, sizeof app_counted);
    VkCommandBuffer cb = app_begin(&w.a);
    app_image_move(&w.a, cb, &in, VK_IMAGE_LAYOUT_GENERAL);
    app_image_move(&w.a, cb, &out, VK_IMAGE_LAYOUT_GENERAL);
    ok(gpuc_session_record(s, cb, NULL));
    app_run(&w.a, cb);
    assert_int_equal(app_counted.taken, 1);
    assert_int_equal(app_counted.given, 1);
    assert_int_equal(app_counted.other_family, w.a.family + 1);
    /* Two arrays are of one image. */
    gpuc_vulkan_image again = describe(&out, VK_IMAGE_LAYOUT_GENERAL);
    again.owner_family = image.owner_family;
    gpuc_ndarray *both[2];
    for (int i = 0; i < 2; i++) ok(gpuc_vulkan_wrap_image(w.dev, &again, NULL, NULL, &both[i]));
    ok(gpuc_session_bind_input(s, 0, both[0]));
    ok(gpuc_session_bind_output(s, 0, both[1]));
    memset(&app_counted, 0, sizeof app_counted);
    cb = app_begin(&w.a);
    ok(gpuc_session_record(s, cb, NULL));
    app_run(&w.a, cb);
    assert_int_equal(app_counted.taken, 1);
    assert_int_equal(app_counted.given, 1);
    gpuc_session_release(s);
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(both[i]);
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(y);
    app_image_destroy(&w.a, &in);
    app_image_destroy(&w.a, &out);
    close_world(&w);
}

/* What is bound and does not fit is refused, by name. */
static void test_refused(void **state)
{
    (void)state;
    int released = 0;
    world w;
    gpuc_session *s;
    gpuc_ndarray *x, *y, *bad;
    open_world(&w, 0, false);
    VkImageUsageFlags both = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
    app_image in = app_image_make(&w.a, rows[0].in_view, IN_W, IN_H, both),
              out = app_image_make(&w.a, rows[0].out_view, OUT_W, OUT_H, both);
    x = wrap(&w, &in, VK_IMAGE_LAYOUT_GENERAL, &released);
    y = wrap(&w, &out, VK_IMAGE_LAYOUT_GENERAL, &released);
    ok(gpuc_session_create(w.model, &s));
    ok(gpuc_session_bind_input(s, 0, x));
    ok(gpuc_session_bind_output(s, 0, y));
    const struct {
        uint32_t layout, usage;
        gpuc_code code;
        const char *text;
    } cases[] = {{VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, both, GPUC_INVALID_ARGUMENT, "layout GENERAL"},
                 {VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_USAGE_SAMPLED_BIT, GPUC_UNSUPPORTED, "STORAGE"}};
    VkCommandBuffer cb = app_begin(&w.a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpuc_vulkan_image image = describe(&out, (VkImageLayout)cases[i].layout);
        image.usage = cases[i].usage;
        ok(gpuc_vulkan_wrap_image(w.dev, &image, NULL, NULL, &bad));
        ok(gpuc_session_bind_output(s, 0, bad));
        fails(gpuc_session_record(s, cb, NULL), cases[i].code, cases[i].text);
        ok(gpuc_session_bind_output(s, 0, y));
        gpuc_ndarray_release(bad);
    }
    int64_t dims[] = {OUT_H, OUT_W, 4};
    ok(gpuc_ndarray_create(w.rt, w.dev, GPUC_UINT8, 3, dims, &bad));
    ok(gpuc_session_bind_output(s, 0, bad));
    fails(gpuc_session_record(s, cb, NULL), GPUC_INVALID_ARGUMENT, "gpuc_vulkan_wrap_image");
    gpuc_vulkan_buffer buffer;
    fails(gpuc_vulkan_get_buffer(x, &buffer), GPUC_INVALID_ARGUMENT, "is an image");
    app_run(&w.a, cb);
    gpuc_session_release(s);
    gpuc_ndarray_release(bad);
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(y);
    app_image_destroy(&w.a, &in);
    app_image_destroy(&w.a, &out);
    close_world(&w);
}

/* Bytes of the host through a session's own images, which hold them. */
static gpuc_status through_own_images(const world *w, gpuc_session *s, const uint8_t *pixels, uint8_t *result)
{
    const int64_t dims[] = {IN_H, IN_W, 4};
    gpuc_ndarray *in, *out;
    ok(gpuc_ndarray_create(w->rt, NULL, GPUC_UINT8, 3, dims, &in));
    ok(gpuc_ndarray_write(in, pixels, IN_W * IN_H * 4));
    gpuc_status status = gpuc_session_set_input(s, 0, in);
    if (!status) status = gpuc_session_run(s);
    if (!status) status = gpuc_session_get_output(s, 0, &out);
    if (!status) status = gpuc_ndarray_read(out, result, OUT_W * OUT_H * 4);
    gpuc_ndarray_release(in);
    return status;
}

static void make_pixels(uint8_t *pixels)
{
    for (int i = 0; i < IN_W * IN_H * 4; i++) pixels[i] = (uint8_t)(i * 31 % 253);
}

static uint64_t used_memory(const world *w)
{
    gpuc_vulkan_heap heaps[VK_MAX_MEMORY_HEAPS];
    uint32_t count = VK_MAX_MEMORY_HEAPS;
    uint64_t used = 0;
    ok(gpuc_vulkan_report_memory(w->dev, heaps, &count));
    for (uint32_t i = 0; i < count; i++) used += heaps[i].used;
    return used;
}

/* An image of another size takes memory that the queue has not left yet, and that of images which the session keeps. */
static void test_budget(void **state)
{
    (void)state;
    enum { SIDE = 2048, BYTES = SIDE * SIDE * 4 };
    world w;
    gpuc_session *s;
    uint8_t *pixels = calloc(1, BYTES);
    open_world(&w, 0, false);
    uint64_t base = used_memory(&w);
    gpuc_model_release(w.model);
    ok(gpuc_device_close(w.dev));
    gpuc_vulkan_device_desc desc = app_desc(&w.a);
    desc.memory_budget =
        base + BYTES * 7ull / 2; /* the old image, the new one, and what it is copied through */
    ok(gpuc_vulkan_adopt(w.rt, &desc, &w.dev));
    w.model = load(&w, w.dev, 0);
    ok(gpuc_session_create(w.model, &s));
    for (int i = 0; i < 4; i++) {
        const int64_t dims[] = {SIDE - i, SIDE, 4};
        gpuc_ndarray *in;
        ok(gpuc_ndarray_create(w.rt, NULL, GPUC_UINT8, 3, dims, &in));
        ok(gpuc_ndarray_write(in, pixels, gpuc_ndarray_bytes(in)));
        ok(gpuc_session_set_input(s, 0, in));
        gpuc_ndarray_release(in);
        assert_true(used_memory(&w) <= desc.memory_budget);
    }
    free(pixels);
    gpuc_session_release(s);
    close_world(&w);
}

/* They come from the application's memory where it gives some. */
static void test_memory_hook(void **state)
{
    (void)state;
    world w;
    app_arena m = {.a = &w.a, .size = 32 << 20};
    uint8_t pixels[IN_W * IN_H * 4], result[OUT_W * OUT_H * 4];
    gpuc_session *s, *reference;
    open_host(&w, false);
    gpuc_vulkan_device_desc desc = app_desc(&w.a);
    desc.memory = app_arena_hook(&m);
    ok(gpuc_vulkan_adopt(w.rt, &desc, &w.dev));
    w.model = load(&w, w.dev, 0);
    w.reference = load(&w, w.cpu, 0);
    ok(gpuc_session_create(w.model, &s));
    ok(gpuc_session_create(w.reference, &reference));
    int calls = m.calls;
    memset(&app_counted, 0, sizeof app_counted);
    make_pixels(pixels);
    ok(through_own_images(&w, s, pixels, result));
    assert_true(m.calls >= calls + 2);
    assert_int_equal(app_counted.allocations, 0);
    check(&w, &rows[0], reference, pixels, result);
    gpuc_session_release(s);
    ok(gpuc_session_create(w.model, &s));
    m.refuse = 1;
    gpuc_status status = through_own_images(&w, s, pixels, result);
    fails(status, GPUC_OUT_OF_DEVICE_MEMORY, "memory hook");
    gpuc_session_release(s);
    gpuc_session_release(reference);
    gpuc_model_release(w.model);
    gpuc_model_release(w.reference);
    w.model = w.reference = NULL;
    ok(gpuc_device_close(w.dev));
    w.dev = NULL;
    app_arena_destroy(&m);
    close_world(&w);
}

/* ---- Each call fails once ------------------------------------------------------------------------- */

typedef struct scene {
    world w;
    app_image in, out;
    gpuc_ndarray *x, *y;
    gpuc_session *s;
    VkCommandBuffer commands;
    uint8_t pixels[IN_W * IN_H * 4], result[OUT_W * OUT_H * 4];
} scene;

static gpuc_status play(scene *c)
{
    gpuc_vulkan_device_desc desc = app_desc(&c->w.a);
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    gpuc_vulkan_image in = describe(&c->in, VK_IMAGE_LAYOUT_GENERAL),
                      out = describe(&c->out, VK_IMAGE_LAYOUT_GENERAL);
    const gpuc_vulkan_submit nothing = {0};
    GPUC_TRY(gpuc_vulkan_adopt(c->w.rt, &desc, &c->w.dev));
    d.path = packages[0];
    d.device = c->w.dev;
    GPUC_TRY(gpuc_model_load(c->w.rt, &d, &c->w.model));
    GPUC_TRY(gpuc_session_create(c->w.model, &c->s));
    GPUC_TRY(gpuc_vulkan_wrap_image(c->w.dev, &in, NULL, NULL, &c->x));
    GPUC_TRY(gpuc_vulkan_wrap_image(c->w.dev, &out, NULL, NULL, &c->y));
    GPUC_TRY(gpuc_session_bind_input(c->s, 0, c->x));
    GPUC_TRY(gpuc_session_bind_output(c->s, 0, c->y));
    GPUC_TRY(gpuc_session_record(c->s, c->commands, NULL));
    GPUC_TRY(gpuc_session_submit(c->s, &nothing));
    GPUC_TRY(gpuc_session_sync(c->s));
    GPUC_TRY(gpuc_session_bind_output(c->s, 0, NULL));
    return through_own_images(&c->w, c->s, c->pixels, c->result);
}

static bool play_with_failure(int at, bool plain, VkResult error)
{
    scene c = {0};
    app *a = &c.w.a;
    gpuc_session *reference;
    bool complete;
    open_host(&c.w, plain);
    c.in = app_image_make(a, rows[0].in_view, IN_W, IN_H, VK_IMAGE_USAGE_SAMPLED_BIT);
    c.out = app_image_make(a, rows[0].out_view, OUT_W, OUT_H, VK_IMAGE_USAGE_STORAGE_BIT);
    VkCommandBuffer moves = app_begin(a);
    app_image_move(a, moves, &c.in, VK_IMAGE_LAYOUT_GENERAL);
    app_image_move(a, moves, &c.out, VK_IMAGE_LAYOUT_GENERAL);
    app_run(a, moves);
    c.commands = app_begin(a);
    make_pixels(c.pixels);
    app_counted.fail_at = at;
    app_counted.fail_with = error;
    bool reached = app_failed(play(&c), &complete);
    app_counted.fail_at = 0;
    if (complete) {
        c.w.reference = load(&c.w, c.w.cpu, 0);
        ok(gpuc_session_create(c.w.reference, &reference));
        check(&c.w, &rows[0], reference, c.pixels, c.result);
        gpuc_session_release(reference);
    }
    gpuc_session_release(c.s);
    gpuc_ndarray_release(c.x);
    gpuc_ndarray_release(c.y);
    gpuc_model_release(c.w.model);
    c.w.model = NULL;
    if (c.w.dev) ok(gpuc_device_close(c.w.dev));
    c.w.dev = NULL;
    a->QueueWaitIdle(a->queue);
    app_image_destroy(a, &c.in);
    app_image_destroy(a, &c.out);
    close_world(&c.w);
    return reached;
}

static void test_every_call_fails(void **state)
{
    (void)state;
    app_fail_each_call(play_with_failure, 50);
}

/* The row of the answer that has the name, for a package. */
static gpuc_vulkan_need need_of(world *w, int number, const char *name)
{
    gpuc_vulkan_need list[64], found = {0};
    uint32_t count = 64;
    gpuc_vulkan_question q = {.get_instance_proc_addr = app_desc(&w->a).get_instance_proc_addr,
                              .instance = w->a.instance,
                              .api_version = w->a.api_version,
                              .physical_device = w->a.physical,
                              .path = packages[number]};
    ok(gpuc_vulkan_requirements(w->rt, &q, list, &count));
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name)) {
            assert_null(found.name); /* once */
            found = list[i];
        }
    assert_non_null(found.name);
    return found;
}

static void refuse_package(world *w, int number, const char *text)
{
    gpuc_model *m;
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    d.path = packages[number];
    d.device = w->dev;
    fails(gpuc_model_load(w->rt, &d, &m), GPUC_DEVICE_UNAVAILABLE, text);
}

/* A format that kernels cannot name asks for a feature, and a device without it does not take the package. */
static void test_any_format(void **state)
{
    (void)state;
    world w;
    const int blue = 3;
    open_world(&w, 0, true);
    assert_false(need_of(&w, blue, "shaderStorageImageWriteWithoutFormat").optional);
    refuse_package(&w, blue, "it needs image_any_format");
    close_world(&w);
}

/* Sizes that the package says are known before anything runs: a device with smaller images does not take it, and the
 * warm-up makes images. */
static void test_one_size(void **state)
{
    (void)state;
    world w;
    assert_int_equal(warnings, 1);
    open_world(&w, ONE_SIZE, false);
    gpuc_vulkan_need need = need_of(&w, ONE_SIZE, "maxImageDimension2D");
    assert_true(need.present && need.needs == IN_W && need.has >= 4096);
    need = need_of(&w, TOO_WIDE, "maxImageDimension2D");
    assert_true(!need.present && need.needs == 1 << 20);
    refuse_package(&w, TOO_WIDE, "it needs max_image_width of at least 1048576");
    ok(gpuc_model_prepare(w.model, NULL, NULL));
    assert_int_equal(w.without_warm_up, 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),           cmocka_unit_test(test_submit),
        cmocka_unit_test(test_memory_hook),      cmocka_unit_test(test_budget),
        cmocka_unit_test(test_every_call_fails), cmocka_unit_test(test_families),
        cmocka_unit_test(test_refused),          cmocka_unit_test(test_any_format),
        cmocka_unit_test(test_one_size)};
    if (!app_available()) return 77;
    return cmocka_run_group_tests(tests, make_packages, remove_packages);
}
