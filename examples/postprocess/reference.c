/* SPDX-License-Identifier: Apache-2.0 */
/* What the package's program for c makes of a picture: the arithmetic of convert.c's shaders on the CPU. */
#include "postprocess.h"

#include <math.h>
#include <stdlib.h>

#include <gpuc/devices.h>

static float clamp01(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Red, green and blue from 0 to 1, of the nearest pixel inside. */
static void pixel(const uint8_t *rgba, int64_t height, int64_t width, int64_t y, int64_t x, float out[3])
{
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    for (int c = 0; c < 3; c++) out[c] = (float)rgba[(y * width + x) * 4 + c] / 255.0f;
}

static float luminance(const float rgb[3])
{
    return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
}

/* ---- As shaders/to_tensor.comp --------------------------------------------------------------- */

static void to_tensor(network_kind kind, const int64_t in[4], const uint8_t *rgba, float *tensor)
{
    int64_t height = in[2], width = in[3];
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            float rgb[3];
            pixel(rgba, height, width, y, x, rgb);
            if (kind == SUPER_RESOLUTION) tensor[y * width + x] = luminance(rgb);
            for (int c = 0; kind == STYLE && c < 3; c++)
                tensor[(c * height + y) * width + x] = rgb[c] * 255.0f;
        }
}

/* ---- As shaders/to_picture.comp -------------------------------------------------------------- */

/* Cb and Cr, between four pixels. */
static void chroma(const int64_t in[4], const uint8_t *rgba, float y, float x, float out[2])
{
    float fy = y - floorf(y), fx = x - floorf(x);
    out[0] = out[1] = 0;
    for (int corner = 0; corner < 4; corner++) {
        int dy = corner / 2, dx = corner % 2;
        float rgb[3], weight = (dy ? fy : 1 - fy) * (dx ? fx : 1 - fx);
        pixel(rgba, in[2], in[3], (int64_t)floorf(y) + dy, (int64_t)floorf(x) + dx, rgb);
        out[0] += weight * (rgb[2] - luminance(rgb)) * 0.564f;
        out[1] += weight * (rgb[0] - luminance(rgb)) * 0.713f;
    }
}

static void color(network_kind kind, const network *n, const uint8_t *rgba, const float *tensor, int64_t y,
                  int64_t x, float out[3])
{
    int64_t height = n->out[2], width = n->out[3];
    if (kind == STYLE) {
        for (int c = 0; c < 3; c++) out[c] = tensor[(c * height + y) * width + x] / 255.0f;
        return;
    }
    float l = tensor[y * width + x], c[2];
    chroma(n->in, rgba, ((float)y + 0.5f) * (float)n->in[2] / (float)height - 0.5f,
           ((float)x + 0.5f) * (float)n->in[3] / (float)width - 0.5f, c);
    out[0] = l + 1.403f * c[1];
    out[1] = l - 0.344f * c[0] - 0.714f * c[1];
    out[2] = l + 1.773f * c[0];
}

/* ---- The network on the CPU ------------------------------------------------------------------ */

typedef struct job {
    gpuc_runtime *runtime;
    gpuc_model *model;
    gpuc_session *session;
    gpuc_ndarray *input;
    float *output;
} job;

static gpuc_status run(job *j, const char *package, network_kind kind, const network *n, const uint8_t *rgba)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_ndarray *output;
    GPUC_TRY(gpuc_runtime_create(NULL, &j->runtime));
    GPUC_TRY(gpuc_cpu_register(j->runtime));
    GPUC_TRY(gpuc_device_open(j->runtime, GPUC_DEVICE_CPU, 0, &desc.device));
    desc.path = package;
    desc.allow_native_code = true;
    GPUC_TRY(gpuc_model_load(j->runtime, &desc, &j->model));
    GPUC_TRY(gpuc_session_create(j->model, &j->session));
    GPUC_TRY(gpuc_ndarray_create(j->runtime, NULL, GPUC_FLOAT32, 4, n->in, &j->input));
    to_tensor(kind, n->in, rgba, gpuc_ndarray_host(j->input));
    GPUC_TRY(gpuc_session_set_input(j->session, 0, j->input));
    GPUC_TRY(gpuc_session_run(j->session));
    GPUC_TRY(gpuc_session_get_output(j->session, 0, &output));
    j->output = malloc(gpuc_ndarray_bytes(output));
    if (!j->output) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the reference");
    return gpuc_ndarray_read(output, j->output, gpuc_ndarray_bytes(output));
}

int reference_compare(const char *package, network_kind kind, const network *n, const uint8_t *in,
                      const uint8_t *out, int *out_differ)
{
    job j = {0};
    int worst = 0;
    gpuc_check(run(&j, package, kind, n, in));
    *out_differ = 0;
    for (int64_t y = 0; y < n->out[2]; y++)
        for (int64_t x = 0; x < n->out[3]; x++) {
            float rgb[3];
            color(kind, n, in, j.output, y, x, rgb);
            for (int c = 0; c < 3; c++) {
                int want = (int)lrintf(clamp01(rgb[c]) * 255), got = out[(y * n->out[3] + x) * 4 + c];
                int difference = abs(want - got);
                worst = difference > worst ? difference : worst;
                *out_differ += difference != 0;
            }
        }
    free(j.output);
    gpuc_ndarray_release(j.input);
    gpuc_session_release(j.session);
    gpuc_model_release(j.model);
    gpuc_runtime_release(j.runtime);
    return worst;
}
