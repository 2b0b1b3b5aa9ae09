/* SPDX-License-Identifier: Apache-2.0 */
/* One package for all extents, and for all numbers that decide a shape, gives what packages do that are built
 * for each of them. */
#include "../onnx/load.h"
#include "run.h"

#include <math.h>
#include <string.h>

enum { MAX_DIMS = 5, MAX_LIST = 8, MAX_SAMPLES = 5, MAX_ELEMENTS = 1 << 16 };

typedef struct sample {
    int64_t dims[MAX_DIMS], list[MAX_LIST];
} sample;

typedef struct symbolic {
    const char *op;
    int opset;
    const char *attrs,
        *inputs;      /* x: data; l: a list; f: floats; w: a weight of [3, 2, 3, 3] or [2, 3, 3, 3] */
    const char *dims; /* of x */
    int num_list;
    float floats[MAX_DIMS];
    sample samples[MAX_SAMPLES];
} symbolic;

#define IMAGE "N,2,H,W"
#define AT(...)                                                                                              \
    {                                                                                                        \
        .dims = { __VA_ARGS__ }                                                                              \
    }
#define IMAGES                                                                                               \
    {                                                                                                        \
        AT(1, 2, 7, 9), AT(2, 2, 8, 4), AT(1, 2, 3, 13), AT(3, 2, 16, 6),                                    \
    }
#define SCALED                                                                                               \
    {                                                                                                        \
        AT(1, 2, 5, 7), AT(2, 2, 10, 3), AT(1, 2, 1, 16), AT(1, 2, 9, 11),                                   \
    }
#define SIZED                                                                                                \
    {                                                                                                        \
        {{1, 2, 5, 7}, {1, 2, 10, 3}}, {{2, 2, 6, 4}, {2, 2, 3, 4}}, {{1, 2, 1, 16}, {1, 2, 7, 1}},          \
            {{1, 2, 9, 11}, {1, 2, 4, 33}}, {{1, 2, 3, 3}, {1, 2, 1, 1}},                                    \
    }
#define WINDOWS(op, opset, attrs, inputs)                                                                    \
    {op, opset, attrs, inputs, IMAGE, 0, {0}, IMAGES},                                                       \
        {op, opset, attrs " auto_pad=SAME_UPPER", inputs, IMAGE, 0, {0}, IMAGES},                            \
    {                                                                                                        \
        op, opset, attrs " auto_pad=SAME_LOWER", inputs, IMAGE, 0, {0}, IMAGES                               \
    }
#define FLOATS(...)                                                                                          \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
/* By known scales, and to sizes that are computed. */
#define RESIZED(mode)                                                                                        \
    {"Resize", 19, mode, "x,,f", IMAGE, 0, FLOATS(1, 1, 2, 0.6F), SCALED},                                   \
        {"Resize", 19, mode, "x,,,l", IMAGE, 4, {0}, SIZED},
#define PLACED(mode)                                                                                         \
    RESIZED(mode " coordinate_transformation_mode=half_pixel")                                               \
    RESIZED(mode " coordinate_transformation_mode=asymmetric")                                               \
    RESIZED(mode " coordinate_transformation_mode=align_corners")                                            \
    RESIZED(mode " coordinate_transformation_mode=pytorch_half_pixel")                                       \
    RESIZED(mode " coordinate_transformation_mode=half_pixel_symmetric")

static const symbolic cases[] = {
    {"Pad",
     13,
     "",
     "x,l",
     "N,H,W",
     6,
     {0},
     {{{2, 3, 4}, {0, 1, 2, 0, 3, 1}},
      {{1, 5, 2}, {1, 0, -1, 0, -2, 0}},
      {{0, 2, 3}, {0}},
      {{1, 4, 4}, {-1, 2, -4, 0, -6, 3}}}},
    {"Pad",
     13,
     "mode=reflect",
     "x,l",
     "N,H,W",
     6,
     {0},
     {{{2, 3, 4}, {0, 1, 2, 0, 2, 3}}, {{1, 5, 2}, {0, -1, 1, 0, 3, -1}}, {{1, 1, 1}, {0}}}},
    {"Pad",
     13,
     "mode=edge",
     "x,l",
     "N,H,W",
     6,
     {0},
     {{{2, 3, 4}, {0, 1, 2, 1, 5, 3}}, {{1, 5, 2}, {0, -1, 1, 0, 3, -1}}, {{0, 2, 2}, {0, 1}}}},
    {"Pad",
     19,
     "mode=wrap",
     "x,l",
     "N,H,W",
     6,
     {0},
     {{{2, 3, 4}, {0, 1, 2, 0, 2, 9}}, {{1, 5, 2}, {0, -1, 1, 0, 3, -1}}}},
    {"CenterCropPad",
     18,
     "",
     "x,l",
     "N,H,W",
     3,
     {0},
     {{{2, 3, 4}, {2, 6, 1}}, {{1, 5, 2}, {4, 2, 5}}, {{3, 4, 8}, {0, 4, 3}}, {{0, 1, 1}, {2, 1, 1}}}},
    {"CenterCropPad", 18, "axes=[2, 0]", "x,l", "N,H,W", 2, {0}, {{{2, 3, 4}, {7, 1}}, {{5, 1, 2}, {1, 8}}}},
    {"EyeLike", 9, "k=1", "x", "N,M", 0, {0}, {AT(3, 4), AT(5, 2), AT(0, 3), AT(1, 1)}},
    WINDOWS("Conv", 11, "strides=[2, 3]", "x,w"),
    {"Conv", 11, "strides=[4, 1] dilations=[1, 2] auto_pad=SAME_UPPER", "x,w", IMAGE, 0, {0}, IMAGES},
    WINDOWS("ConvTranspose", 11, "strides=[2, 3]", "x,w"),
    {"ConvTranspose", 11, "strides=[2, 3] output_shape=[18, 30]", "x,w", IMAGE, 0, {0}, IMAGES},
    WINDOWS("MaxPool", 12, "kernel_shape=[3, 2] strides=[2, 3]", "x"),
    WINDOWS("AveragePool", 11, "kernel_shape=[3, 3] strides=[2, 2]", "x"),
    {"AveragePool",
     11,
     "kernel_shape=[2, 3] strides=[3, 2] count_include_pad=1 auto_pad=SAME_UPPER",
     "x",
     IMAGE,
     0,
     {0},
     IMAGES},
    {"LpPool", 18, "kernel_shape=[2, 3] strides=[3, 2] auto_pad=SAME_LOWER", "x", IMAGE, 0, {0}, IMAGES},
    PLACED("mode=nearest nearest_mode=floor") PLACED("mode=linear") RESIZED(
        "mode=nearest nearest_mode=ceil") RESIZED("mode=nearest nearest_mode=round_prefer_floor "
                                                  "coordinate_transformation_mode=tf_half_pixel_for_nn")
        RESIZED(
            "mode=nearest nearest_mode=round_prefer_ceil coordinate_transformation_mode=half_pixel_symmetric")
            RESIZED("mode=cubic exclude_outside=1")
                RESIZED("mode=linear antialias=1 coordinate_transformation_mode=align_corners")
                    RESIZED("mode=cubic antialias=1 exclude_outside=1"){
                        "Upsample", 9, "", "x,f", IMAGE, 0, {1, 1, 2, 3}, SCALED},
    {"Resize", 10, "mode=linear", "x,f", IMAGE, 0, {1, 1, 0.5F, 1.25F}, SCALED},
};

static void ok(const symbolic *c, gpuc_status status)
{
    if (status) fail_msg("%s %s: %s", c->op, c->attrs, gpuc_status_message(status));
}

static void build(gpuc_ctx *ctx, const symbolic *c, const sample *known)
{
    static const float weight[2 * 3 * 3 * 3] = {1,  -2, 3, 0.5F, 2, -1,    4, 1,  1,
                                                -3, 2,  2, 5,    1, 0.25F, 1, -1, 2};
    char dims[64] = "", count[8];
    wr_model m;
    wr_begin(&m, c->opset);
    for (int d = 0; known && d <= (int)(strlen(c->dims) / 2); d++)
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), d ? ",%lld" : "%lld",
                 (long long)known->dims[d]);
    wr_input(&m, "x", 1, known ? dims : c->dims);
    snprintf(count, sizeof count, "%d", c->num_list);
    if (c->num_list && known) wr_ints(&m, "l", count, known->list);
    if (c->num_list && !known) wr_input(&m, "l", 7, count);
    if (strchr(c->inputs, 'f')) wr_floats(&m, "f", "4", c->floats);
    if (strchr(c->inputs, 'w')) wr_floats(&m, "w", strcmp(c->op, "Conv") ? "2,3,3,3" : "3,2,3,3", weight);
    wr_output(&m, "y");
    wr_node(&m, c->op, c->inputs, "y", c->attrs);
    gpuc_buf file;
    wr_end(&m, &file);
    ok(c, run_build(ctx, wr_load_open(ctx, &file)));
}

typedef struct result {
    int ndim;
    int64_t dims[MAX_DIMS], count;
    float v[MAX_ELEMENTS];
} result;

static void run(const symbolic *c, const sample *s, bool with_list, result *r)
{
    static float v[MAX_ELEMENTS];
    int64_t n = c->num_list;
    for (int i = 0; i < MAX_ELEMENTS; i++) v[i] = (float)(i * 7 % 23) - 9;
    const run_array in[] = {{GPUC_FLOAT32, (int)(strlen(c->dims) / 2 + 1), {0}, v},
                            {GPUC_INT64, 1, {n}, s->list}};
    run_array x = in[0];
    for (int d = 0; d < x.ndim; d++) x.dims[d] = s->dims[d];
    ok(c, run_session(with_list ? 2 : 1, (const run_array[]){x, in[1]}));
    const int64_t *dims;
    const float *y = run_output(0, &r->ndim, &dims);
    r->count = 1;
    for (int d = 0; d < r->ndim; d++) r->count *= r->dims[d] = dims[d];
    assert_true(r->count <= MAX_ELEMENTS);
    if (r->count) memcpy(r->v, y, sizeof *y * (size_t)r->count);
}

static void compare(const symbolic *c, int number, const result *have, const result *want)
{
    assert_int_equal(have->ndim, want->ndim);
    for (int d = 0; d < want->ndim; d++)
        if (have->dims[d] != want->dims[d])
            fail_msg("%s %s, sample %d: dimension %d is %lld, should be %lld", c->op, c->attrs, number, d,
                     (long long)have->dims[d], (long long)want->dims[d]);
    for (int64_t i = 0; i < want->count; i++)
        if (!(fabsf(have->v[i] - want->v[i]) <= 1e-4F * (1 + fabsf(want->v[i]))))
            fail_msg("%s %s, sample %d: element %lld is %g, should be %g", c->op, c->attrs, number,
                     (long long)i, (double)have->v[i], (double)want->v[i]);
}

static void alike(gpuc_ctx *ctx, void *arg)
{
    static result have[MAX_SAMPLES], want;
    (void)arg;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const symbolic *c = &cases[k];
        build(ctx, c, NULL);
        for (int i = 0; i < MAX_SAMPLES && c->samples[i].dims[1]; i++)
            run(c, &c->samples[i], c->num_list > 0, &have[i]);
        for (int i = 0; i < MAX_SAMPLES && c->samples[i].dims[1]; i++) {
            build(ctx, c, &c->samples[i]);
            run(c, &c->samples[i], false, &want);
            compare(c, i, &have[i], &want);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(alike)};
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
