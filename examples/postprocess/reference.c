/* SPDX-License-Identifier: Apache-2.0 */
/* What the package's program for c makes of a picture, and colors.c's arithmetic on the CPU. */
#include "postprocess.h"

#include <math.h>
#include <stdlib.h>

#include <gpuc/devices.h>

/* ---- As shaders/colors.comp ------------------------------------------------------------------ */

/* Cb and Cr of the nearest pixel inside. */
static void chroma(pixels p, int64_t y, int64_t x, float out[2])
{
    y = y < 0 ? 0 : y >= p.height ? p.height - 1 : y;
    x = x < 0 ? 0 : x >= p.width ? p.width - 1 : x;
    const uint8_t *rgba = p.rgba + (y * p.width + x) * 4;
    float r = (float)rgba[0] / 255, g = (float)rgba[1] / 255, b = (float)rgba[2] / 255;
    float l = 0.299f * r + 0.587f * g + 0.114f * b;
    out[0] = (b - l) * 0.564f;
    out[1] = (r - l) * 0.713f;
}

/* Cb and Cr between four pixels. */
static void between(pixels p, float y, float x, float out[2])
{
    float fy = y - floorf(y), fx = x - floorf(x);
    out[0] = out[1] = 0;
    for (int corner = 0; corner < 4; corner++) {
        int dy = corner / 2, dx = corner % 2;
        float c[2], weight = (dy ? fy : 1 - fy) * (dx ? fx : 1 - fx);
        chroma(p, (int64_t)floorf(y) + dy, (int64_t)floorf(x) + dx, c);
        out[0] += weight * c[0];
        out[1] += weight * c[1];
    }
}

static void add_colors(uint8_t *rgba, int64_t height, int64_t width, pixels from)
{
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            uint8_t *out = rgba + (y * width + x) * 4;
            float l = (float)out[0] / 255, c[2];
            between(from, ((float)y + 0.5f) * (float)from.height / (float)height - 0.5f,
                    ((float)x + 0.5f) * (float)from.width / (float)width - 0.5f, c);
            const float rgb[] = {l + 1.403f * c[1], l - 0.344f * c[0] - 0.714f * c[1], l + 1.773f * c[0]};
            for (int i = 0; i < 3; i++)
                out[i] = (uint8_t)lrintf((rgb[i] < 0 ? 0 : rgb[i] > 1 ? 1 : rgb[i]) * 255);
        }
}

/* ---- The network on the CPU ------------------------------------------------------------------ */

typedef struct job {
    gpuc_runtime *runtime;
    gpuc_model *model;
    gpuc_session *session;
    gpuc_ndarray *input;
} job;

/* The image that comes out, into size bytes. */
static gpuc_status run(job *j, const char *package, pixels in, uint8_t *out, size_t size)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_ndarray *output;
    const int64_t dims[] = {in.height, in.width, 4};
    GPUC_TRY(gpuc_runtime_create(NULL, &j->runtime));
    GPUC_TRY(gpuc_cpu_register(j->runtime));
    GPUC_TRY(gpuc_device_open(j->runtime, GPUC_DEVICE_CPU, 0, &desc.device));
    desc.path = package;
    desc.allow_native_code = true;
    GPUC_TRY(gpuc_model_load(j->runtime, &desc, &j->model));
    GPUC_TRY(gpuc_session_create(j->model, &j->session));
    GPUC_TRY(gpuc_ndarray_create(j->runtime, NULL, GPUC_UINT8, 3, dims, &j->input));
    GPUC_TRY(gpuc_ndarray_write(j->input, in.rgba, (size_t)(in.height * in.width * 4)));
    GPUC_TRY(gpuc_session_set_input(j->session, 0, j->input));
    GPUC_TRY(gpuc_session_run(j->session));
    GPUC_TRY(gpuc_session_get_output(j->session, 0, &output));
    return gpuc_ndarray_read(output, out, size);
}

int reference_compare(const char *package, bool colors, pixels in, pixels out, int *out_differ)
{
    job j = {0};
    int worst = 0;
    size_t size = (size_t)(out.width * out.height * 4);
    uint8_t *want = malloc(size);
    if (!want) die("out of memory");
    gpuc_check(run(&j, package, in, want, size));
    if (colors) add_colors(want, out.height, out.width, in);
    *out_differ = 0;
    for (size_t i = 0; i < size; i++) {
        int difference = abs(want[i] - out.rgba[i]);
        worst = difference > worst ? difference : worst;
        *out_differ += difference != 0;
    }
    free(want);
    gpuc_ndarray_release(j.input);
    gpuc_session_release(j.session);
    gpuc_model_release(j.model);
    gpuc_runtime_release(j.runtime);
    return worst;
}
