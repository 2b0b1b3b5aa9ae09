/* SPDX-License-Identifier: Apache-2.0 */
/* slices FILE [BUDGET [FRAMES]]: a loop of 60 frames a second beside a network that is too large for one of
 * them: a frame gives it BUDGET microseconds of the device. Prints a histogram of the frames' times. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpuc/devices.h>

enum { BINS = 12, BIN_US = 2000, MAX_DIMS = 16 };
static const double frame_us = 1e6 / 60;

typedef struct counts {
    int frames[BINS];                /* by time */
    int late, long_ones;             /* frames over a 60th of a second; slices over 1.5 budgets */
    int inferences;                  /* complete ones */
    double at_once_us, in_slices_us; /* an inference in one run; the slices of all complete ones */
} counts;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void sleep_until(double us)
{
    long left = (long)(us - now_us());
    struct timespec t = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    if (left > 0) nanosleep(&t, NULL);
}

static void draw_the_scene(void)
{
}

static void use_the_outputs(gpuc_session *s)
{
    (void)s;
}

/* Inputs of zeros; extents that are open become 1. */
static gpuc_status set_inputs(gpuc_runtime *rt, gpuc_session *s)
{
    gpuc_model *m = gpuc_session_model(s);
    for (int i = 0; i < gpuc_model_num_inputs(m); i++) {
        gpuc_tensor_info t = gpuc_model_input(m, i);
        int64_t dims[MAX_DIMS];
        gpuc_ndarray *zeros;
        for (int d = 0; d < t.ndim && d < MAX_DIMS; d++) dims[d] = t.dims[d] < 0 ? 1 : t.dims[d];
        GPUC_TRY(gpuc_ndarray_create(rt, NULL, t.dtype, t.ndim, dims, &zeros));
        gpuc_status status = gpuc_session_set_input(s, i, zeros);
        gpuc_ndarray_release(zeros);
        GPUC_TRY(status);
    }
    return NULL;
}

/* Twice: the first run of a kernel may compile it. */
static gpuc_status run_at_once(gpuc_session *s, counts *c)
{
    for (int i = 0; i < 2; i++) {
        double start = now_us();
        GPUC_TRY(gpuc_session_run(s));
        GPUC_TRY(gpuc_session_sync(s));
        c->at_once_us = now_us() - start;
    }
    return NULL;
}

static gpuc_status run_frames(gpuc_session *s, unsigned budget_us, int num_frames, counts *c)
{
    double inference_us = 0;
    for (int i = 0; i < num_frames; i++) {
        gpuc_slice_progress progress;
        double start = now_us();
        draw_the_scene();
        GPUC_TRY(gpuc_session_run_slice(s, budget_us, &progress)); /* queued behind the scene */
        GPUC_TRY(gpuc_session_sync(s));                            /* here the frame is shown */
        double us = now_us() - start;
        inference_us += us;
        c->frames[us < BINS * BIN_US ? (int)us / BIN_US : BINS - 1]++;
        c->late += us > frame_us;
        c->long_ones += us > 1.5 * budget_us;
        if (progress.complete) {
            use_the_outputs(s);
            c->inferences++;
            c->in_slices_us += inference_us;
            inference_us = 0;
        }
        sleep_until(start + frame_us);
    }
    return NULL;
}

static void print(const counts *c, unsigned budget_us, int num_frames)
{
    for (int i = 0; i < BINS; i++)
        printf("%2d to %2d ms%s  %d\n", i * BIN_US / 1000, (i + 1) * BIN_US / 1000,
               i + 1 < BINS ? "        " : " or more", c->frames[i]);
    printf("frames: %d, of these %d over 16.7 ms; slices over 1.5 budgets of %u us: %d\n", num_frames,
           c->late, budget_us, c->long_ones);
    printf("inferences: %d, %.1f ms each; at once %.1f ms\n", c->inferences,
           c->inferences ? c->in_slices_us / c->inferences / 1e3 : 0, c->at_once_us / 1e3);
}

static gpuc_status run(gpuc_runtime *rt, int argc, char **argv)
{
    unsigned budget_us = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 8000;
    int num_frames = argc > 3 ? atoi(argv[3]) : 600;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model = NULL;
    gpuc_session *s = NULL;
    counts c = {0};
    desc.path = argv[1];
    desc.allow_native_code = true;
    gpuc_status status = gpuc_model_load(rt, &desc, &model);
    if (!status) status = gpuc_session_create(model, &s);
    if (!status) status = set_inputs(rt, s);
    if (!status) status = run_at_once(s, &c);
    if (!status) status = run_frames(s, budget_us, num_frames, &c);
    if (!status) print(&c, budget_us, num_frames);
    gpuc_session_release(s);
    gpuc_model_release(model);
    return status;
}

int main(int argc, char **argv)
{
    gpuc_runtime *rt = NULL;
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: slices FILE [BUDGET [FRAMES]]\n");
        return 2;
    }
    gpuc_status status = gpuc_runtime_create(NULL, &rt);
    if (!status) status = gpuc_devices_register(rt);
    if (!status) status = run(rt, argc, argv);
    if (status) fprintf(stderr, "slices: %s\n", gpuc_status_message(status));
    int failed = status != NULL;
    gpuc_status_release(status);
    gpuc_runtime_release(rt);
    return failed;
}
