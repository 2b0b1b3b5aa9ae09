/* SPDX-License-Identifier: Apache-2.0 */
/* An animated scene, passed through a network of gpuc in the command buffer that draws it.
 *
 *     postprocess --style candy.gpuc [--frames 60] [--out DIR]
 *     postprocess --super-resolution sr.gpuc --window */
#include "postprocess.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    IN_FLIGHT = 2, /* frames; a gpuc session allows 3 unless it is told otherwise */
    WARM_UP = 4,   /* frames that are not counted */
    REFERENCES = 3,
    TOLERANCE = 1, /* steps of 8 bits: the picture is rounded, the reference is, too */
    QUERIES = 4
};

typedef struct options {
    const char *package, *out;
    bool colors; /* the network makes a gray picture */
    int frames;  /* 0: until the window is closed */
    bool window, reference, validate, best_practices;
} options;

/* A frame that is being recorded, or pending. */
typedef struct frame {
    VkCommandBuffer commands;
    VkFence fence;
    VkQueryPool queries;
    buffer pixels; /* of the picture, for a file */
    int number;    /* -1: not pending */
} frame;

/* A frame to compare: what went into the network, and what came out. */
typedef struct sample {
    int frame;
    buffer before, after;
} sample;

typedef struct app {
    options options;
    gpu gpu;
    scene scene;
    network network;
    image picture;
    pass colors;
    overlay overlay;
    window *window;
    frame frames[IN_FLIGHT];
    sample samples[REFERENCES];
    int measured; /* frames that the sums are of */
    double frame_ms, network_ms;
    counts warm; /* what had been counted after WARM_UP frames */
} app;

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "postprocess: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

void gpuc_check(gpuc_status status)
{
    if (status) die("%s", gpuc_status_message(status));
}

/* ---- Options --------------------------------------------------------------------------------- */

static _Noreturn void usage(void)
{
    fprintf(stderr, "usage: postprocess --style PACKAGE | --super-resolution PACKAGE [options]\n"
                    "  --frames N         end after N frames (60, with a window: none)\n"
                    "  --out DIR          write the frames there as PNG files (frames)\n"
                    "  --window           show the frames, write no files\n"
                    "  --reference        compare three frames with the package's program for c\n"
                    "  --validate         under the validation layer; a message makes the exit code 1\n"
                    "  --best-practices   the same, with its best practices\n");
    exit(2);
}

static options parse(int argc, char **argv)
{
    options o = {.frames = -1, .out = "frames"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--window"))
            o.window = true;
        else if (!strcmp(name, "--reference"))
            o.reference = true;
        else if (!strcmp(name, "--validate"))
            o.validate = true;
        else if (!strcmp(name, "--best-practices"))
            o.validate = o.best_practices = true;
        else if (!value)
            usage();
        else {
            if (!strcmp(name, "--style"))
                o.package = value, o.colors = false;
            else if (!strcmp(name, "--super-resolution"))
                o.package = value, o.colors = true;
            else if (!strcmp(name, "--frames"))
                o.frames = atoi(value);
            else if (!strcmp(name, "--out"))
                o.out = value;
            else
                usage();
            i++;
        }
    }
    if (!o.package || o.frames < -1) usage();
    if (o.frames < 0) o.frames = o.window ? 0 : 60;
    if (o.reference && o.frames < REFERENCES) die("--reference needs --frames %d at least", REFERENCES);
#ifndef WITH_PNG
    if (!o.window) die("built without libpng: only with --window");
#endif
#ifndef WITH_WINDOW
    if (o.window) die("built without SDL2: there is no --window");
#endif
    return o;
}

/* ---- Making it all --------------------------------------------------------------------------- */

static void create_gpu(app *a)
{
    gpu_options o = {.validate = a->options.validate, .best_practices = a->options.best_practices};
#ifdef WITH_WINDOW
    if (a->options.window)
        a->window = window_open(672, 672, &o.instance_extensions, &o.num_instance_extensions);
#endif
    gpu_open(&a->gpu, &o);
    if (a->window) a->gpu.extensions[a->gpu.num_extensions++] = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    network_ask(&a->network, &a->gpu, a->options.package);
    gpu_create(&a->gpu);
}

static void create_frames(app *a)
{
    gpu *g = &a->gpu;
    VkDeviceSize bytes = (VkDeviceSize)a->picture.width * a->picture.height * 4;
    for (int i = 0; i < IN_FLIGHT; i++) {
        frame *f = &a->frames[i];
        VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = g->pool,
                                                .commandBufferCount = 1};
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                         .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                         .queryCount = QUERIES};
        VK(vkAllocateCommandBuffers(g->device, &commands, &f->commands));
        VK(vkCreateFence(g->device, &fence, NULL, &f->fence));
        VK(vkCreateQueryPool(g->device, &queries, NULL, &f->queries));
        f->pixels = buffer_create(g, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
        f->number = -1;
    }
    for (int i = 0; a->options.reference && i < REFERENCES; i++)
        a->samples[i] = (sample){
            .frame = i * (a->options.frames - 1) / (REFERENCES - 1),
            .before = buffer_create(g, (VkDeviceSize)a->scene.color.width * a->scene.color.height * 4,
                                    VK_BUFFER_USAGE_TRANSFER_DST_BIT),
            .after = buffer_create(g, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT)};
}

static void create(app *a)
{
    create_gpu(a);
    network *n = &a->network;
    network_create(n, &a->gpu, a->options.package);
    bool any = !n->in_width || !n->in_height; /* the network scales what it gets */
    scene_create(&a->scene, &a->gpu, any ? n->out_width : n->in_width, any ? n->out_height : n->in_height);
    a->picture =
        image_create(&a->gpu, VK_FORMAT_R8G8B8A8_UNORM, n->out_width, n->out_height,
                     VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, VK_IMAGE_LAYOUT_GENERAL);
    VkCommandBuffer commands = gpu_begin(&a->gpu);
    image_layout(commands, &a->picture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    gpu_finish(&a->gpu, commands);
    network_bind(n, &a->scene.color, &a->picture);
    if (a->options.colors) a->colors = colors_create(&a->gpu, &a->scene, &a->picture);
    overlay_create(&a->overlay, &a->gpu, &a->picture);
    create_frames(a);
#ifdef WITH_WINDOW
    if (a->window) window_attach(a->window, &a->gpu);
#endif
}

static void destroy(app *a)
{
    gpu *g = &a->gpu;
    VK(vkQueueWaitIdle(g->queue));
#ifdef WITH_WINDOW
    if (a->window) window_close(a->window);
#endif
    for (int i = 0; i < IN_FLIGHT; i++) {
        vkDestroyFence(g->device, a->frames[i].fence, NULL);
        vkDestroyQueryPool(g->device, a->frames[i].queries, NULL);
        buffer_destroy(g, &a->frames[i].pixels);
    }
    for (int i = 0; i < REFERENCES; i++) {
        buffer_destroy(g, &a->samples[i].before);
        buffer_destroy(g, &a->samples[i].after);
    }
    overlay_destroy(&a->overlay, g);
    if (a->options.colors) pass_destroy(g, &a->colors);
    image_destroy(g, &a->picture);
    scene_destroy(&a->scene, g);
    network_destroy(&a->network);
    gpu_destroy(g);
}

/* ---- A frame --------------------------------------------------------------------------------- */

static void read_back(VkCommandBuffer commands, const image *from, const buffer *to)
{
    VkBufferImageCopy copy = image_copy(from);
    image_layout(commands, from, from->layout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, from->handle, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to->handle, 1,
                           &copy);
    image_layout(commands, from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, from->layout);
    barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* Copies what is compared later, without the overlay. */
static void take_samples(app *a, const frame *f)
{
    for (int i = 0; a->options.reference && i < REFERENCES; i++) {
        if (a->samples[i].frame != f->number) continue;
        read_back(f->commands, &a->scene.color, &a->samples[i].before);
        read_back(f->commands, &a->picture, &a->samples[i].after);
    }
}

static void mark(const frame *f, uint32_t query)
{
    vkCmdWriteTimestamp(f->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, f->queries, query);
}

/* All of a frame is one command buffer. */
static void record(app *a, frame *f)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VK(vkBeginCommandBuffer(f->commands, &begin));
    vkCmdResetQueryPool(f->commands, f->queries, 0, QUERIES);
    mark(f, 0);
    scene_draw(&a->scene, f->commands, (float)f->number / 30);
    mark(f, 1);
    network_record(&a->network, f->commands);
    if (a->options.colors) colors_add(&a->colors, f->commands, &a->picture);
    mark(f, 2);
    take_samples(a, f);
    overlay_draw(&a->overlay, f->commands, &a->picture);
    mark(f, 3);
#ifdef WITH_WINDOW
    if (a->window) window_blit(a->window, f->commands, &a->picture, f->number);
#endif
    if (!a->window) read_back(f->commands, &a->picture, &f->pixels);
    VK(vkEndCommandBuffer(f->commands));
}

static void submit(app *a, frame *f)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &f->commands};
#ifdef WITH_WINDOW
    if (a->window) {
        window_present(a->window, f->commands, f->fence, f->number);
        return;
    }
#endif
    VK(vkQueueSubmit(a->gpu.queue, 1, &info, f->fence));
}

/* Waits for a frame that is pending, and takes its times and its picture. */
static void finish(app *a, frame *f)
{
    if (f->number < 0) return;
    uint64_t ticks[QUERIES];
    VK(vkWaitForFences(a->gpu.device, 1, &f->fence, VK_TRUE, UINT64_MAX));
    VK(vkResetFences(a->gpu.device, 1, &f->fence));
    VK(vkGetQueryPoolResults(a->gpu.device, f->queries, 0, QUERIES, sizeof ticks, ticks, sizeof *ticks,
                             VK_QUERY_RESULT_64_BIT));
    double frame_ms = (double)(ticks[3] - ticks[0]) * a->gpu.tick_ms;
    double network_ms = (double)(ticks[2] - ticks[1]) * a->gpu.tick_ms;
    overlay_add(&a->overlay, frame_ms, network_ms);
    if (f->number >= WARM_UP) {
        a->measured++;
        a->frame_ms += frame_ms;
        a->network_ms += network_ms;
    }
#ifdef WITH_PNG
    char path[4096];
    snprintf(path, sizeof path, "%s/frame_%04d.png", a->options.out, f->number);
    if (!a->window) png_save(path, f->pixels.mapped, a->picture.width, a->picture.height);
#endif
    f->number = -1;
}

static int run_frames(app *a)
{
    int number = 0;
    for (; !a->options.frames || number < a->options.frames; number++) {
        frame *f = &a->frames[number % IN_FLIGHT];
#ifdef WITH_WINDOW
        if (a->window && !window_poll(a->window)) break;
#endif
        finish(a, f);
        f->number = number;
        record(a, f);
        submit(a, f);
        if (number + 1 == WARM_UP) a->warm = counted;
    }
    for (int i = 0; i < IN_FLIGHT; i++) finish(a, &a->frames[(number + i) % IN_FLIGHT]);
    return number;
}

/* ---- What came of it ------------------------------------------------------------------------- */

static pixels pixels_of(const buffer *b, const image *i)
{
    return (pixels){b->mapped, i->width, i->height};
}

/* Whether the frames are what the CPU computes. */
static bool compare(app *a)
{
    bool good = true;
    for (int i = 0; i < REFERENCES; i++) {
        const sample *s = &a->samples[i];
        int differ, worst = reference_compare(a->options.package, a->options.colors,
                                              pixels_of(&s->before, &a->scene.color),
                                              pixels_of(&s->after, &a->picture), &differ);
        printf("frame %d: at most %d of 255 from the reference (allowed: %d), %d values differ\n", s->frame,
               worst, TOLERANCE, differ);
        good = good && worst <= TOLERANCE;
    }
    return good;
}

static void report(const app *a, int frames)
{
    if (!a->measured) {
        printf("%d frames: too few to measure\n", frames);
        return;
    }
    double n = a->measured, with = a->frame_ms / n, without = (a->frame_ms - a->network_ms) / n;
    printf("%d frames: %.2f ms with the network, %.2f ms without; by the runtime per frame: %g submits, %g "
           "waits, "
           "%g allocations, %g host copies, %g descriptor writes (%g dispatches)\n",
           frames, with, without, (double)(counted.submits - a->warm.submits) / n,
           (double)(counted.waits - a->warm.waits) / n,
           (double)(counted.allocations - a->warm.allocations) / n,
           (double)(counted.copies - a->warm.copies) / n,
           (double)(counted.descriptor_writes - a->warm.descriptor_writes) / n,
           (double)(counted.dispatches - a->warm.dispatches) / n);
}

int main(int argc, char **argv)
{
    app a = {.options = parse(argc, argv)};
    if (!a.options.window && mkdir(a.options.out, 0777) && errno != EEXIST)
        die("%s: %s", a.options.out, strerror(errno));
    create(&a);
    int frames = run_frames(&a);
    report(&a, frames);
    bool good = !a.options.reference || compare(&a);
    destroy(&a);
    if (a.options.validate) printf("%d messages of the validation layer\n", a.gpu.messages);
    return good && !a.gpu.messages ? 0 : 1;
}
