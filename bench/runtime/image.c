/* SPDX-License-Identifier: Apache-2.0 */
/* squeezenet at 224 x 224 from an image of 640 x 480 RGBA8 pixels, beside the same network from a buffer of floats. They
 * run by turns; the medians and the fastest of all. */
#include <stdio.h>
#include <string.h>

#include "launches.h"
#include "runtime/ndarray.h"

enum { WIDTH = 640, HEIGHT = 480, SIDE = 224, WARM_UP = 3, ROUNDS = 100, KINDS = 3 };
#define MODEL "tests/models/squeezenet1_1/model.onnx"
#define IMAGE "input=rgba8,linear,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"

static const struct {
    const char *name, *image; /* NULL: floats */
} kinds[KINDS] = {
    {"a buffer of floats", NULL},
    {"an image of any size", IMAGE},
    {"an image of one size", IMAGE ",size=640x480"},
};

typedef struct network {
    gpuc_device *dev;
    const char *image;
    bench_network net;
    gpuc_ndarray *in;
} network;

static gpuc_rmodule *make(gpuc_ctx *ctx, void *arg)
{
    const network *n = arg;
    gpuc_rmodule *m = gpuc_onnx_load(ctx, MODEL, NULL);
    if (n->image) {
        gpuc_image_input image = gpuc_image_input_parse(ctx, n->image);
        gpuc_rmodule_image_input(ctx, m, &image);
    }
    return m;
}

/* Bytes as a photo has them: all of them occur. */
static gpuc_status fill_image(network *n)
{
    static uint8_t pixels[HEIGHT][WIDTH][4];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 4; c++) pixels[y][x][c] = (uint8_t)(x * 3 + y * 5 + x * y / 64 + c * 50);
    GPUC_TRY(gpuc_ndarray_create_image(n->dev, GPUC_UINT8, 3, (int64_t[]){HEIGHT, WIDTH, 4}, &n->in));
    return gpuc_ndarray_write(n->in, pixels, sizeof pixels);
}

static gpuc_status fill_floats(network *n)
{
    static float values[3][SIDE][SIDE];
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                values[c][y][x] = (float)((x * 3 + y * 5 + x * y / 64 + c * 50) % 256) / 64 - 2;
    GPUC_TRY(
        gpuc_ndarray_create(n->dev->runtime, n->dev, GPUC_FLOAT32, 4, (int64_t[]){1, 3, SIDE, SIDE}, &n->in));
    return gpuc_ndarray_write(n->in, values, sizeof values);
}

static gpuc_status load(network *n)
{
    gpuc_attr_value name = gpuc_device_get_attr(n->dev, GPUC_ATTR_NAME);
    const char *target = name.known && strstr(name.s, "llvmpipe") ? "vulkan/llvmpipe" : "vulkan";
    GPUC_TRY(bench_network_open(n->dev, target, make, n, &n->net));
    GPUC_TRY(n->image ? fill_image(n) : fill_floats(n));
    return gpuc_session_bind_input(n->net.session, 0, n->in);
}

static gpuc_status measure(network *nets)
{
    static double seconds[KINDS][ROUNDS];
    double medians[KINDS];
    for (int i = -WARM_UP; i < ROUNDS; i++)
        for (int k = 0; k < KINDS; k++) GPUC_TRY(bench_network_run(&nets[k].net, &seconds[k][i < 0 ? 0 : i]));
    printf(" squeezenet at %d x %d, from %d x %d pixels (medians of %d runs by turns, and the fastest)\n",
           SIDE, SIDE, WIDTH, HEIGHT, ROUNDS);
    for (int k = 0; k < KINDS; k++) medians[k] = bench_median(seconds[k], ROUNDS); /* sorts them */
    for (int k = 0; k < KINDS; k++)
        printf("  %-22s %9.3f ms (%.3f of the first) %9.3f ms (%.3f)\n", kinds[k].name, 1e3 * medians[k],
               medians[k] / medians[0], 1e3 * seconds[k][0], seconds[k][0] / seconds[0][0]);
    return NULL;
}

gpuc_status images_of_network(gpuc_device *dev)
{
    network nets[KINDS] = {0};
    gpuc_status status = NULL;
    for (int k = 0; k < KINDS; k++) {
        nets[k] = (network){.dev = dev, .image = kinds[k].image};
        if (!status) status = load(&nets[k]);
    }
    if (!status) status = measure(nets);
    for (int k = 0; k < KINDS; k++) {
        gpuc_ndarray_release(nets[k].in);
        bench_network_close(&nets[k].net);
    }
    return status;
}
