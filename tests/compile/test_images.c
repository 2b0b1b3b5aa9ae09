/* SPDX-License-Identifier: Apache-2.0 */
/* Images as inputs and outputs: what a network gets and gives, against plain C. */
#include "run.h"

#include <math.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

/* ---- Reference ---- */

typedef struct picture {
    gpuc_image_format format;
    int width, height;
    uint8_t *bytes;
} picture;

static size_t picture_bytes(const picture *p)
{
    return (size_t)p->width * (size_t)p->height * (size_t)gpuc_image_format_channels(p->format) *
           gpuc_dtype_bytes(gpuc_image_format_dtype(p->format));
}

static picture random_picture(fx_rng *rng, gpuc_image_format format, int width, int height)
{
    picture p = {format, width, height, NULL};
    gpuc_dtype t = gpuc_image_format_dtype(format);
    size_t n = picture_bytes(&p);
    p.bytes = malloc(n);
    for (size_t i = 0; i < n; i += gpuc_dtype_bytes(t))
        if (t.bits == 8)
            p.bytes[i] = (uint8_t)fx_below(rng, 256);
        else
            gpuc_float_store(t, p.bytes + i, (fx_real(rng) + 1) / 2);
    return p;
}

static bool srgb(gpuc_image_format f)
{
    return f == GPUC_IMAGE_RGBA8_SRGB || f == GPUC_IMAGE_BGRA8_SRGB;
}

static bool blue_first(gpuc_image_format f)
{
    return f == GPUC_IMAGE_BGRA8 || f == GPUC_IMAGE_BGRA8_SRGB;
}

/* Red, green or blue of a pixel. */
static double colour(const picture *p, int x, int y, int c)
{
    int channels = gpuc_image_format_channels(p->format);
    gpuc_dtype t = gpuc_image_format_dtype(p->format);
    if (channels == 1) c = 0;
    if (blue_first(p->format)) c = 2 - c;
    size_t at = ((size_t)y * (size_t)p->width + (size_t)x) * (size_t)channels + (size_t)c;
    if (t.bits > 8) return gpuc_float_load(t, p->bytes + at * gpuc_dtype_bytes(t));
    double v = p->bytes[at] / 255.0;
    if (!srgb(p->format)) return v;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Which of `size` elements, which begin at `begin`, lie around the middle of element i of n. */
typedef struct sample {
    int a, b;
    double part; /* of b */
} sample;

static int limit(int64_t i, int size)
{
    return i < 0 ? 0 : i >= size ? size - 1 : (int)i;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static sample sample_of(int i, int n, int begin, int size, bool nearest)
{
    int64_t at = (2 * (int64_t)i + 1) * size - n, unit = 2 * (int64_t)n; /* at / unit */
    if (nearest) {                                                       /* ceil(at / unit - 1/2) */
        int k = begin + limit(-floor_div(-(at - n), unit), size);
        return (sample){k, k, 0};
    }
    int64_t first = floor_div(at, unit);
    return (sample){begin + limit(first, size), begin + limit(first + 1, size),
                    (double)(at - first * unit) / (double)unit};
}

typedef struct window {
    int x, y, width, height;
} window;

static int least(int a, int b)
{
    return a < b ? a : b;
}

static window window_of(const gpuc_image_input *s, const picture *p, int width, int height)
{
    window w = {0, 0, p->width, p->height};
    if (s->crop == GPUC_IMAGE_CROP_RECT)
        w = (window){(int)s->crop_x, (int)s->crop_y, (int)s->crop_width, (int)s->crop_height};
    if (s->crop == GPUC_IMAGE_CROP_CENTER) {
        w.width = least(p->width, p->height * width / height);
        w.height = least(p->height, p->width * height / width);
        if (w.width < 1) w.width = 1;
        if (w.height < 1) w.height = 1;
        w.x = (p->width - w.width) / 2;
        w.y = (p->height - w.height) / 2;
    }
    return w;
}

static double of(int n, const double *list, int i, double otherwise)
{
    return n ? list[n == 1 ? 0 : i] : otherwise;
}

/* Channel c of the network at (j, i), before it is rounded to an integer. */
static double want_input(const gpuc_image_input *s, const picture *p, int width, int height, int channels,
                         int j, int i, int c)
{
    window w = window_of(s, p, width, height);
    sample x = sample_of(j, width, w.x, w.width, s->nearest),
           y = sample_of(i, height, w.y, w.height, s->nearest);
    bool grey = channels == 1 && gpuc_image_format_channels(p->format) > 1;
    static const double weights[] = {0.299, 0.587, 0.114};
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        if (!grey && k != (s->order == GPUC_IMAGE_ORDER_BGR ? 2 - c : c)) continue;
        double above = colour(p, x.a, y.a, k) * (1 - x.part) + colour(p, x.b, y.a, k) * x.part;
        double below = colour(p, x.a, y.b, k) * (1 - x.part) + colour(p, x.b, y.b, k) * x.part;
        sum += (above * (1 - y.part) + below * y.part) * (grey ? weights[k] : 1);
    }
    return (sum * s->range - of(s->num_mean, s->mean, c, 0)) * of(s->num_scale, s->scale, c, 1);
}

/* ---- Inputs ---- */

typedef struct input_case {
    const char *text;
    int ndim;
    int64_t dims[4]; /* of the network */
    gpuc_dtype dtype;
    bool last; /* channels */
} input_case;

#define F32 GPUC_FLOAT32
static const input_case inputs[] = {
    {"x=rgba8", 4, {1, 3, 8, 8}, F32, false},
    {"x=rgba8,linear,mean=0.485:0.456:0.406,std=0.229:0.224:0.225", 4, {1, 3, 9, 16}, F32, false},
    {"x=rgba8,nearest,range=255,mean=127.5,scale=0.0078125", 4, {1, 7, 5, 3}, F32, true},
    {"x=rgba8,order=bgr,range=255,mean=103.9:116.8:123.7", 3, {3, 6, 4}, F32, false},
    {"x=rgba8_srgb,scale=2:3:4", 3, {5, 7, 3}, F32, true},
    {"x=rgba8_srgb,nearest,order=bgr", 4, {1, 3, 4, 4}, F32, false},
    {"x=bgra8,crop=center", 4, {1, 3, 6, 9}, F32, false},
    {"x=bgra8,crop=center,nearest,order=bgr", 4, {1, 9, 4, 3}, F32, true},
    {"x=bgra8_srgb,order=gray,mean=0.5,scale=4", 4, {1, 1, 6, 5}, F32, false},
    {"x=rgba8,order=gray,range=255", 4, {1, 4, 6, 1}, F32, true},
    {"x=rgba16f,mean=0.1:0.2:0.3", 4, {1, 3, 5, 8}, F32, false},
    {"x=rgba16f,nearest,order=bgr", 3, {8, 5, 3}, F32, true},
    {"x=r32f,scale=3", 4, {1, 1, 7, 7}, F32, false},
    {"x=r32f,nearest,mean=0.1:0.2:0.3", 4, {1, 3, 5, 5}, F32, false},
    {"x=r8,mean=0.1307,std=0.3081", 4, {1, 1, 28, 28}, F32, false},
    {"x=r8,range=255,crop=center", 4, {1, 6, 3, 3}, F32, true},
    {"x=rgba8,layout=nchw", 4, {1, 3, 1, 1}, F32, false},
    {"x=rgba8,layout=nhwc,order=rgb", 3, {3, 1, 3}, F32, true},
    {"x=rgba8,std=0.25", 4, {1, 3, 6, 6}, GPUC_FLOAT16, false},
    {"x=rgba8,range=255", 4, {1, 6, 6, 3}, GPUC_UINT8, true},
    {"x=rgba8,range=255,mean=128", 4, {1, 3, 6, 6}, GPUC_INT8, false},
};

static const int sizes[][2] = {{1, 1}, {8, 8}, {3, 2}, {2, 5}, {33, 17}, {64, 48}, {9, 6}};

static void parse_and_set(gpuc_ctx *ctx, gpuc_rmodule *m, const char *text, gpuc_image_input *out)
{
    *out = gpuc_image_input_parse(ctx, text);
    gpuc_rmodule_image_input(ctx, m, out);
}

/* The network is nothing but its input. */
static gpuc_rmodule *input_module(gpuc_ctx *ctx, const input_case *k)
{
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, k->dtype, k->ndim, k->dims));
    return fx_module(ctx, x, 1, &x);
}

static int pieces; /* of all runs in pieces */

static void check_input(const input_case *k, const gpuc_image_input *s, const picture *p)
{
    const run_array in = {gpuc_image_format_dtype(s->format),
                          3,
                          {p->height, p->width, gpuc_image_format_channels(s->format)},
                          p->bytes};
    int ndim, first = k->ndim - 3;
    const int64_t *dims;
    ok(run_session(1, &in));
    const uint8_t *got = run_output(0, &ndim, &dims);
    assert_int_equal(ndim, k->ndim);
    for (int d = 0; d < ndim; d++) assert_int_equal(dims[d], k->dims[d]);
    int channels = (int)dims[k->last ? ndim - 1 : first], height = (int)dims[k->last ? first : first + 1],
        width = (int)dims[k->last ? first + 1 : first + 2];
    size_t bytes = gpuc_dtype_bytes(k->dtype);
    bool whole = !gpuc_dtype_is_float(k->dtype);
    for (int i = 0; i < height; i++)
        for (int j = 0; j < width; j++)
            for (int c = 0; c < channels; c++) {
                int at = k->last ? (i * width + j) * channels + c : (c * height + i) * width + j;
                const uint8_t *e = got + (size_t)at * bytes;
                double want = want_input(s, p, width, height, channels, j, i, c);
                double v = !whole                            ? gpuc_float_load(k->dtype, e)
                           : k->dtype.code == GPUC_DTYPE_INT ? (double)(int8_t)*e
                                                             : (double)*e;
                double scale = fabs(of(s->num_scale, s->scale, c, 1)) * s->range;
                double tolerance = whole                 ? 0.5 + 1e-4
                                   : k->dtype.bits == 16 ? 1e-3 * (1 + scale)
                                                         : 4e-6 * (1 + scale);
                if (fabs(v - want) > tolerance)
                    fail_msg("%s, %dx%d pixels: channel %d at (%d, %d) is %.9g, not %.9g", k->text, p->width,
                             p->height, c, j, i, v, want);
            }
    pieces += run_same_in_pieces(1, &in);
}

static void inputs_of_any_size(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_rng rng = {7};
    for (size_t n = 0; n < LEN(inputs); n++) {
        gpuc_image_input s;
        gpuc_rmodule *m = input_module(ctx, &inputs[n]);
        parse_and_set(ctx, m, inputs[n].text, &s);
        gpuc_tensor_info before = gpuc_rmodule_input(ctx, m, 0);
        assert_int_equal(before.image, s.format);
        ok(run_build(ctx, m));
        gpuc_tensor_info info = gpuc_model_input(run_model(), 0);
        assert_int_equal(info.image, s.format);
        assert_int_equal(info.dims[0], -1);
        assert_string_equal(info.dim_names[0], "x.height");
        assert_string_equal(info.dim_names[1], "x.width");
        assert_int_equal(info.dims[2], gpuc_image_format_channels(s.format));
        assert_int_equal(gpuc_model_output(run_model(), 0).image, GPUC_IMAGE_NONE);
        for (size_t i = 0; i < LEN(sizes); i++) {
            picture p = random_picture(&rng, s.format, sizes[i][0], sizes[i][1]);
            check_input(&inputs[n], &s, &p);
            free(p.bytes);
        }
    }
    assert_true(run_target()[0] == 'c' || pieces > (int)(LEN(inputs) * LEN(sizes))); /* kernels were cut */
}

static void inputs_of_known_size(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const input_case cases[] = {
        {"x=rgba8,size=13x7", 4, {1, 3, 8, 8}, F32, false},
        {"x=rgba8,size=8x9", 4, {1, 3, 9, 8}, F32, false}, /* the network's */
        {"x=bgra8,nearest,size=13x7,crop=center", 4, {1, 3, 5, 4}, F32, false},
        {"x=rgba8,size=40x30,crop=20x10+5+6", 4, {1, 3, 8, 8}, F32, false},
        {"x=r8,size=40x30,crop=8x8+32+22", 4, {1, 3, 8, 8}, F32, false},
    };
    fx_rng rng = {8};
    for (size_t n = 0; n < LEN(cases); n++) {
        gpuc_image_input s;
        gpuc_rmodule *m = input_module(ctx, &cases[n]);
        parse_and_set(ctx, m, cases[n].text, &s);
        ok(run_build(ctx, m));
        assert_int_equal(gpuc_model_input(run_model(), 0).dims[0], s.height);
        assert_int_equal(gpuc_model_input(run_model(), 0).dims[1], s.width);
        picture p = random_picture(&rng, s.format, (int)s.width, (int)s.height);
        check_input(&cases[n], &s, &p);
        free(p.bytes);
    }
}

/* A rectangle of an image of any size: one that does not hold it is refused when it is run. So is one that is too
 * large for 32 bits. */
static void sizes_are_checked(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const input_case cut = {"x=rgba8,crop=6x5+2+3", 4, {1, 3, 4, 4}, F32, false},
                            plain = {"x=r8", 4, {1, 1, 4, 4}, F32, false},
                            wide = {"x=r8", 4, {1, 1, 1, 20000}, F32, false};
    fx_rng rng = {9};
    gpuc_image_input s;
    gpuc_rmodule *m = input_module(ctx, &cut);
    parse_and_set(ctx, m, cut.text, &s);
    ok(run_build(ctx, m));
    static const int good[][2] = {{8, 8}, {30, 20}}, bad[][2] = {{7, 8}, {8, 7}, {1, 1}};
    for (size_t i = 0; i < LEN(good); i++) {
        picture p = random_picture(&rng, s.format, good[i][0], good[i][1]);
        check_input(&cut, &s, &p);
        free(p.bytes);
    }
    for (size_t i = 0; i < LEN(bad); i++) {
        picture p = random_picture(&rng, s.format, bad[i][0], bad[i][1]);
        const run_array in = {GPUC_UINT8, 3, {p.height, p.width, 4}, p.bytes};
        fx_check_status(run_session(1, &in), GPUC_INVALID_ARGUMENT,
                        "input image 'x' is smaller than the part of it that is taken, 6x5+2+3");
        free(p.bytes);
    }
    /* Beyond what devices have images of. */
    run_target_attributes(run_target()[0] == 'c' ? NULL : "-images=0");
    m = input_module(ctx, &wide);
    parse_and_set(ctx, m, wide.text, &s);
    ok(run_build(ctx, m));
    picture line = random_picture(&rng, s.format, 32768, 1);
    check_input(&wide, &s, &line); /* positions beyond 32 bits */
    free(line.bytes);
    m = input_module(ctx, &plain);
    parse_and_set(ctx, m, plain.text, &s);
    ok(run_build(ctx, m));
    picture p = random_picture(&rng, s.format, 32768, 2);
    check_input(&plain, &s, &p);
    free(p.bytes);
    p = random_picture(&rng, s.format, 32769, 2);
    const run_array in = {GPUC_UINT8, 3, {2, 32769, 1}, p.bytes}, none = {GPUC_UINT8, 3, {0, 4, 1}, p.bytes};
    fx_check_status(run_session(1, &in), GPUC_INVALID_ARGUMENT,
                    "input image 'x': its width is more than 32768");
    fx_check_status(run_session(1, &none), GPUC_INVALID_ARGUMENT, "nothing to take from");
    free(p.bytes);
    run_target_attributes(NULL);
}

/* A network of any size takes the image as it is. */
static void networks_of_any_size(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, 1), gpuc_int(ctx, 3), gpuc_var(ctx, "rows", GPUC_INDEX),
                        gpuc_var(ctx, "columns", GPUC_INDEX)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, F32, 4, dims));
    gpuc_rmodule *m = fx_module(ctx, x, 1, &x);
    gpuc_image_input s;
    gpuc_image_output o = gpuc_image_output_parse(ctx, "y=bgra8");
    static const char *const names[] = {"y"};
    m->output_names = names;
    m->num_outputs = 1;
    parse_and_set(ctx, m, "x=rgba8", &s);
    gpuc_rmodule_image_output(ctx, m, &o);
    ok(run_build(ctx, m));
    assert_string_equal(gpuc_model_input(run_model(), 0).dim_names[0], "rows");
    assert_int_equal(gpuc_model_output(run_model(), 0).image, GPUC_IMAGE_BGRA8);
    fx_rng rng = {10};
    for (size_t i = 0; i < LEN(sizes); i++) {
        picture p = random_picture(&rng, GPUC_IMAGE_RGBA8, sizes[i][0], sizes[i][1]);
        const run_array in = {GPUC_UINT8, 3, {p.height, p.width, 4}, p.bytes};
        int ndim;
        const int64_t *out;
        ok(run_session(1, &in));
        const uint8_t *got = run_output(0, &ndim, &out);
        assert_int_equal(ndim, 3);
        assert_true(out[0] == p.height && out[1] == p.width && out[2] == 4);
        for (int k = 0; k < p.width * p.height; k++) { /* exactly, blue first, opaque */
            assert_int_equal(got[4 * k], p.bytes[4 * k + 2]);
            assert_int_equal(got[4 * k + 1], p.bytes[4 * k + 1]);
            assert_int_equal(got[4 * k + 2], p.bytes[4 * k]);
            assert_int_equal(got[4 * k + 3], 255);
        }
        run_same_in_pieces(1, &in);
        free(p.bytes);
    }
}

/* ---- Outputs ---- */

typedef struct output_case {
    const char *text;
    int ndim;
    int64_t dims[4];
    gpuc_dtype dtype;
    bool last;
} output_case;

static const output_case outputs[] = {
    {"y=rgba8", 4, {1, 3, 6, 7}, F32, false},
    {"y=rgba8,range=255,alpha=0", 4, {1, 3, 6, 7}, F32, false},
    {"y=rgba8,order=bgr,scale=0.229:0.224:0.225,offset=0.485:0.456:0.406,alpha=0.25",
     4,
     {1, 5, 4, 3},
     F32,
     true},
    {"y=rgba8_srgb", 4, {1, 3, 9, 16}, F32, false},
    {"y=bgra8,scale=0.5,offset=0.5", 3, {3, 6, 4}, F32, false},
    {"y=bgra8_srgb,order=bgr,range=255", 3, {6, 4, 3}, F32, true},
    {"y=rgba16f,alpha=0.5", 4, {1, 3, 6, 7}, F32, false},
    {"y=rgba16f,clamp,offset=0.25", 4, {1, 1, 6, 7}, F32, false},
    {"y=r32f,scale=-2,offset=3", 4, {1, 1, 6, 7}, F32, false},
    {"y=r32f,clamp,range=2", 4, {1, 6, 7, 1}, F32, true},
    {"y=r8", 4, {1, 1, 6, 7}, F32, false},
    {"y=rgba8,layout=nchw", 4, {1, 1, 1, 1}, F32, false},
    {"y=rgba8", 4, {1, 3, 6, 7}, GPUC_FLOAT16, false},
    {"y=rgba8,range=255", 4, {1, 3, 6, 7}, GPUC_UINT8, false},
};

static double want_output(const gpuc_image_output *s, double v, int network_channel)
{
    bool bytes = gpuc_image_format_dtype(s->format).bits == 8;
    double c = (v * of(s->num_scale, s->scale, network_channel, 1) +
                of(s->num_offset, s->offset, network_channel, 0)) /
               s->range;
    if (bytes || s->clamp) c = !(c > 0) ? 0 : c > 1 ? 1 : c;
    if (srgb(s->format)) c = c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055;
    return bytes ? 255 * c : c;
}

/* Numbers beyond both ends of the range, and in formats of bytes what is none. */
static void *random_values(fx_rng *rng, const output_case *k, const gpuc_image_output *s, int n)
{
    size_t bytes = gpuc_dtype_bytes(k->dtype);
    uint8_t *out = malloc((size_t)n * bytes);
    bool odd = gpuc_image_format_dtype(s->format).bits == 8 && k->dtype.bits > 8 && n > 8;
    for (int i = 0; i < n; i++) {
        double v = (0.5 + 0.8 * fx_real(rng)) * s->range;
        if (odd && i % 7 == 3) v = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
        if (k->dtype.bits == 8)
            out[i] = (uint8_t)fx_below(rng, 256);
        else
            gpuc_float_store(k->dtype, out + (size_t)i * bytes, v);
    }
    return out;
}

static void check_pixel(const output_case *k, const gpuc_image_output *s, const uint8_t *values,
                        const uint8_t *got, int pixel, int pixels, int channels)
{
    gpuc_dtype t = gpuc_image_format_dtype(s->format);
    int count = gpuc_image_format_channels(s->format);
    for (int c = 0; c < count; c++) {
        int colour = blue_first(s->format) && c < 3 ? 2 - c : c; /* red, green, blue */
        int from = channels == 1 ? 0 : s->order == GPUC_IMAGE_ORDER_BGR ? 2 - colour : colour;
        int at = k->last ? pixel * channels + from : from * pixels + pixel;
        const uint8_t *e = got + (size_t)(pixel * count + c) * gpuc_dtype_bytes(t);
        double have = t.bits == 8 ? (double)*e : gpuc_float_load(t, e), want, tolerance = 0;
        if (c == 3) {
            want = t.bits == 8 ? rint(s->alpha * 255) : s->alpha;
        } else {
            const uint8_t *v = values + (size_t)at * gpuc_dtype_bytes(k->dtype);
            want = want_output(s, k->dtype.bits == 8 ? (double)*v : gpuc_float_load(k->dtype, v), from);
            tolerance = t.bits == 32 ? 2e-6 : t.bits == 16 ? 2e-3 : srgb(s->format) ? 0.52 : 0.5002;
        }
        if (!(fabs(have - want) <= tolerance))
            fail_msg("%s: channel %d of pixel %d is %.9g, not %.9g", k->text, c, pixel, have, want);
    }
}

static void output_images(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const names[] = {"y"};
    fx_rng rng = {11};
    for (size_t n = 0; n < LEN(outputs); n++) {
        const output_case *k = &outputs[n];
        gpuc_image_output s = gpuc_image_output_parse(ctx, k->text);
        gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, k->dtype, k->ndim, k->dims));
        gpuc_rmodule *m = fx_module(ctx, x, 1, &x);
        m->output_names = names;
        m->num_outputs = 1;
        gpuc_rmodule_image_output(ctx, m, &s);
        ok(run_build(ctx, m));
        int count = 1, first = k->ndim - 3, channels = (int)k->dims[k->last ? k->ndim - 1 : first], ndim;
        for (int d = 0; d < k->ndim; d++) count *= (int)k->dims[d];
        uint8_t *values = random_values(&rng, k, &s, count);
        run_array in = {k->dtype, k->ndim, {0}, values};
        memcpy(in.dims, k->dims, sizeof k->dims);
        const int64_t *dims;
        ok(run_session(1, &in));
        const uint8_t *got = run_output(0, &ndim, &dims);
        assert_int_equal(ndim, 3);
        assert_int_equal(dims[0], k->dims[k->last ? first : first + 1]);
        assert_int_equal(dims[1], k->dims[k->last ? first + 1 : first + 2]);
        assert_int_equal(dims[2], gpuc_image_format_channels(s.format));
        assert_int_equal(gpuc_model_output(run_model(), 0).image, s.format);
        for (int i = 0; i < count / channels; i++)
            check_pixel(k, &s, values, got, i, count / channels, channels);
        run_same_in_pieces(1, &in);
        free(values);
    }
}

/* A program in text has no names for its outputs: they are output0, output1, as in the package. */
static void outputs_without_names(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const uint8_t want[] = {0, 64, 128, 255};
    static const float values[] = {0, 64, 128, 255};
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx, "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { (nn.relu(%x), negative(%x)) }", "text", NULL);
    gpuc_image_output s = gpuc_image_output_parse(ctx, "output0=r8,range=255,layout=nchw");
    gpuc_rmodule_image_output(ctx, m, &s);
    ok(run_build(ctx, m));
    assert_int_equal(gpuc_model_output(run_model(), 0).image, GPUC_IMAGE_R8);
    assert_int_equal(gpuc_model_output(run_model(), 1).image, GPUC_IMAGE_NONE);
    const run_array in = {F32, 4, {1, 1, 2, 2}, values};
    int ndim;
    const int64_t *dims;
    ok(run_session(1, &in));
    assert_memory_equal(run_output(0, &ndim, &dims), want, sizeof want);
}

/* Halves go to even. */
static void halves(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const names[] = {"y"};
    static const float values[] = {0.5f, 1.5f, 2.5f, 253.5f, 254.5f, 0.25f, -0.5f, 255.5f};
    static const uint8_t want[] = {0, 2, 2, 254, 254, 0, 0, 255};
    const output_case k = {"y=r8,range=255", 4, {1, 1, 2, 4}, F32, false};
    gpuc_image_output s = gpuc_image_output_parse(ctx, k.text);
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, k.dtype, k.ndim, k.dims));
    gpuc_rmodule *m = fx_module(ctx, x, 1, &x);
    m->output_names = names;
    m->num_outputs = 1;
    gpuc_rmodule_image_output(ctx, m, &s);
    ok(run_build(ctx, m));
    const run_array in = {F32, 4, {1, 1, 2, 4}, values};
    int ndim;
    const int64_t *dims;
    ok(run_session(1, &in));
    assert_memory_equal(run_output(0, &ndim, &dims), want, sizeof want);
}

/* ---- Texts ---- */

static void texts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_image_input i = gpuc_image_input_parse(
        ctx,
        "a=b=bgra8_srgb,nearest,size=640x480,crop=100x90+7+8,range=255,mean=1:-2.5:3e1,scale=.5,order=bgr,"
        "layout=nhwc");
    assert_string_equal(i.name, "a=b");
    assert_int_equal(i.format, GPUC_IMAGE_BGRA8_SRGB);
    assert_true(i.nearest && i.width == 640 && i.height == 480);
    assert_true(i.crop == GPUC_IMAGE_CROP_RECT && i.crop_x == 7 && i.crop_y == 8 && i.crop_width == 100 &&
                i.crop_height == 90);
    assert_true(i.range == 255 && i.num_mean == 3 && i.mean[0] == 1 && i.mean[1] == -2.5 && i.mean[2] == 30);
    assert_true(i.num_scale == 1 && i.scale[0] == 0.5);
    assert_true(i.order == GPUC_IMAGE_ORDER_BGR && i.layout == GPUC_IMAGE_LAYOUT_NHWC);
    i = gpuc_image_input_parse(ctx, "x=r8,linear,std=2:4:8,crop=center,order=gray,layout=nchw");
    assert_true(!i.nearest && i.num_scale == 3 && i.scale[2] == 0.125 && i.crop == GPUC_IMAGE_CROP_CENTER);
    assert_true(i.order == GPUC_IMAGE_ORDER_GRAY && i.layout == GPUC_IMAGE_LAYOUT_NCHW);
    i = gpuc_image_input_parse(ctx, "x=rgba16f");
    gpuc_image_input plain = GPUC_IMAGE_INPUT_INIT;
    plain.name = i.name;
    plain.format = GPUC_IMAGE_RGBA16F;
    assert_memory_equal(&i, &plain, sizeof i);
    gpuc_image_output o = gpuc_image_output_parse(
        ctx, "y=r32f,clamp,range=2,scale=1:2:3,offset=-1,alpha=0.5,order=rgb,layout=nchw");
    assert_true(o.format == GPUC_IMAGE_R32F && o.clamp && o.range == 2 && o.num_scale == 3 &&
                o.scale[2] == 3);
    assert_true(o.num_offset == 1 && o.offset[0] == -1 && o.alpha == 0.5);
    assert_true(o.order == GPUC_IMAGE_ORDER_RGB && o.layout == GPUC_IMAGE_LAYOUT_NCHW);
}

static void parse_input(gpuc_ctx *ctx, void *arg)
{
    gpuc_image_input_parse(ctx, arg);
}

static void parse_output(gpuc_ctx *ctx, void *arg)
{
    gpuc_image_output_parse(ctx, arg);
}

typedef struct text_case {
    const char *text, *words;
} text_case;

static void wrong_texts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const text_case in[] = {
        {"rgba8", "'rgba8': it has no name; write NAME=FORMAT"},
        {"=rgba8", "it has no name"},
        {"", "it has no name"},
        {"x=", "'x': there is no format ''; the formats are rgba8, rgba8_srgb"},
        {"x=rbga8", "'x': there is no format 'rbga8'; did you mean 'rgba8'?"},
        {"x=jpeg,linear", "there is no format 'jpeg'; the formats are"},
        {"x=rgba8,", "a key is missing"},
        {"x=rgba8,,linear", "a key is missing"},
        {"x=rgba8,meen=1", "input image 'x': there is no key 'meen'; did you mean 'mean'?"},
        {"x=rgba8,gamma=1", "there is no key 'gamma'; the keys are linear, nearest, size"},
        {"x=rgba8,offset=1", "there is no key 'offset'"},
        {"x=rgba8,mean", "mean needs a value: mean=NUMBER[:NUMBER:NUMBER]"},
        {"x=rgba8,mean=", "mean needs a value"},
        {"x=rgba8,linear=1", "linear takes no value"},
        {"x=rgba8,linear,nearest", "linear and nearest exclude each other"},
        {"x=rgba8,scale=1,std=1", "scale and std exclude each other"},
        {"x=rgba8,mean=1,mean=2", "mean is given twice"},
        {"x=rgba8,mean=half", "mean takes a number, or one for each channel: 0.5:0.4:0.3, not 'half'"},
        {"x=rgba8,mean=1:2:", "mean takes"},
        {"x=rgba8,mean=1:2:3:4", "mean takes 3 numbers at most"},
        {"x=rgba8,mean=1.2.3", "mean takes"},
        {"x=rgba8,mean=1e", "mean takes"},
        {"x=rgba8,mean=0x10", "mean takes"},
        {"x=rgba8,mean=nan", "mean takes"},
        {"x=rgba8,std=0", "std takes numbers that are not 0"},
        {"x=rgba8,range=1:2", "range takes a number, not '1:2'"},
        {"x=rgba8,size=640", "size takes WIDTHxHEIGHT, not '640'"},
        {"x=rgba8,size=0x480", "size takes"},
        {"x=rgba8,size=640x480x3", "size takes"},
        {"x=rgba8,size=99999999999x1", "size takes"},
        {"x=rgba8,crop=640x480", "crop takes WIDTHxHEIGHT+X+Y or center"},
        {"x=rgba8,crop=640x480+1", "crop takes"},
        {"x=rgba8,crop=640x480-1+1", "crop takes"},
        {"x=rgba8,order=brg", "order takes rgb, bgr or gray, not 'brg'"},
        {"x=rgba8,layout=chw", "layout takes nchw or nhwc, not 'chw'"},
    };
    static const text_case out[] = {
        {"rgba8", "output image 'rgba8': it has no name"},
        {"y=rgba9", "output image 'y': there is no format 'rgba9'; did you mean 'rgba8'?"},
        {"y=rgba8,mean=1", "there is no key 'mean'; the keys are clamp, range, scale, offset"},
        {"y=rgba8,clmp", "did you mean 'clamp'?"},
        {"y=rgba8,alpha=x", "alpha takes a number, not 'x'"},
        {"y=rgba8,offset=1,offset=1", "offset is given twice"},
    };
    for (size_t i = 0; i < LEN(in); i++)
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, in[i].words, parse_input, (void *)(uintptr_t)in[i].text);
    for (size_t i = 0; i < LEN(out); i++)
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, out[i].words, parse_output, (void *)(uintptr_t)out[i].text);
}

/* ---- What does not fit ---- */

typedef struct misfit {
    const char *text;
    int ndim;
    int64_t dims[5]; /* -1: open */
    gpuc_dtype dtype;
    gpuc_code code;
    const char *words;
    bool output;
} misfit;

static void make_misfit(gpuc_ctx *ctx, void *arg)
{
    static const char *const names[] = {"x"};
    const misfit *k = arg;
    gpuc_expr dims[5];
    for (int i = 0; i < k->ndim; i++)
        dims[i] = k->dims[i] < 0 ? gpuc_var(ctx, "N", GPUC_INDEX) : gpuc_int(ctx, k->dims[i]);
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, k->dtype, k->ndim, dims));
    gpuc_rmodule *m = fx_module(ctx, x, 1, &x);
    m->output_names = names;
    m->num_outputs = 1;
    if (k->output) {
        gpuc_image_output s = gpuc_image_output_parse(ctx, k->text);
        gpuc_rmodule_image_output(ctx, m, &s);
    } else {
        gpuc_image_input s = gpuc_image_input_parse(ctx, k->text);
        gpuc_rmodule_image_input(ctx, m, &s);
    }
}

static void misfits(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
#define BAD GPUC_INVALID_ARGUMENT
    static const misfit rows[] = {
        {"z=rgba8", 4, {1, 3, 8, 8}, F32, GPUC_NOT_FOUND, "input image 'z': the network has no input", false},
        {"x=rgba8", 2, {8, 8}, F32, BAD, "is float32[8,8]; an image needs rows, columns and channels", false},
        {"x=rgba8", 5, {1, 3, 8, 8, 8}, F32, BAD, "an image needs rows", false},
        {"x=rgba8", 4, {2, 3, 8, 8}, F32, BAD, "float32[2,3,8,8]; one image needs a batch of 1", false},
        {"x=rgba8",
         4,
         {-1, 3, 8, 8},
         F32,
         BAD,
         "float32[N,3,8,8]; one image needs a batch of 1: fix it with --shape",
         false},
        {"x=rgba8", 4, {1, 3, 8, 3}, F32, BAD, "say layout=nchw or layout=nhwc", false},
        {"x=rgba8", 4, {1, 4, 8, 8}, F32, BAD, "float32[1,4,8,8] does not have 3 channels, or 1", false},
        {"x=rgba8,order=gray", 4, {1, 3, 8, 8}, F32, BAD, "does not have 1 channel", false},
        {"x=rgba8,order=rgb", 4, {1, 1, 8, 8}, F32, BAD, "does not have 3 channels", false},
        {"x=rgba8,layout=nhwc", 4, {1, 3, 8, 8}, F32, BAD, "behind rows and columns", false},
        {"x=rgba8,mean=1:2",
         4,
         {1, 3, 8, 8},
         F32,
         BAD,
         "mean has 2 numbers; give one for all channels, or one for "
         "each of the network's 3",
         false},
        {"x=rgba8,scale=1:2:3", 4, {1, 1, 8, 8}, F32, BAD, "scale has 3 numbers|the network's 1", false},
        {"x=rgba8,range=0", 4, {1, 3, 8, 8}, F32, BAD, "range is 0", false},
        {"x=rgba8", 4, {1, 3, 8, 8}, GPUC_INT64, BAD, "the network's elements are int64", false},
        {"x=rgba8", 4, {1, 3, 8, 8}, GPUC_BOOL, BAD, "the network's elements are bool", false},
        {"x=rgba8,size=8x8,crop=8x8+1+0",
         4,
         {1, 3, 8, 8},
         F32,
         BAD,
         "8x8+1+0 does not lie inside of 8 x 8",
         false},
        {"x=rgba8,size=8x8", 4, {1, 3, -1, 8}, F32, BAD, "the network's own size is open", false},
        {"x=rgba8,crop=center", 4, {1, 3, 8, -1}, F32, BAD, "the network's own size is open", false},
        {"x=rgba8", 4, {1, 3, 0, 8}, F32, BAD, "takes no pixels", false},
        {"z=rgba8",
         4,
         {1, 3, 8, 8},
         F32,
         GPUC_NOT_FOUND,
         "output image 'z': the network has no output",
         true},
        {"x=r8", 4, {1, 3, 8, 8}, F32, BAD, "gives 3 channels, an image of format r8 has 1", true},
        {"x=rgba8,alpha=2", 4, {1, 3, 8, 8}, F32, BAD, "alpha is 2, which is not 0 to 1", true},
        {"x=rgba8,range=-1", 4, {1, 3, 8, 8}, F32, BAD, "range is -1", true},
        {"x=rgba8,std=1:1e-42:1", 4, {1, 3, 8, 8}, F32, BAD, "channel 1 is multiplied by 3.9", false},
        {"x=rgba8,mean=1e20,scale=1e20", 4, {1, 3, 8, 8}, F32, BAD, "then -1e+40 is added", false},
        {"x=rgba8,scale=1e37", 4, {1, 3, 8, 8}, F32, BAD, "float32 does not hold", true},
        {"x=rgba8", 4, {1, 3, 3, 3}, F32, BAD, "say layout=nchw or layout=nhwc", true},
        {"x=rgba8,offset=1:2", 4, {1, 3, 8, 8}, F32, BAD, "offset has 2 numbers", true},
    };
    for (size_t i = 0; i < LEN(rows); i++)
        fx_expect(ctx, rows[i].code, rows[i].words, make_misfit, (void *)(uintptr_t)&rows[i]);
}

/* Tuples and lists, which programs have and networks do not. */
static void of_no_tensor(gpuc_ctx *ctx, void *arg)
{
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx, "def @main(%x: (Tensor[(3, 8, 8), float32], float32)) { (%x, 1f) }", "text", NULL);
    gpuc_image_input i = GPUC_IMAGE_INPUT_INIT;
    gpuc_image_output o = GPUC_IMAGE_OUTPUT_INIT;
    i.name = "x";
    o.name = "output0";
    i.format = o.format = GPUC_IMAGE_RGBA8;
    if (arg)
        gpuc_rmodule_image_input(ctx, m, &i);
    else
        gpuc_rmodule_image_output(ctx, m, &o);
}

static void twice_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_image_input s = GPUC_IMAGE_INPUT_INIT;
    s.name = "x";
    s.format = GPUC_IMAGE_RGBA8;
    gpuc_rmodule_image_input(ctx, arg, &s);
}

static void bad_format_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_image_input s = GPUC_IMAGE_INPUT_INIT;
    s.name = "x";
    s.format = (gpuc_image_format)77;
    gpuc_rmodule_image_input(ctx, arg, &s);
}

static void no_size_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_image_output s = {.name = "x", .format = GPUC_IMAGE_RGBA8};
    gpuc_rmodule_image_output(ctx, arg, &s);
}

static void descriptions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = input_module(ctx, &inputs[0]);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "input image 'x': the network has no tensor there", of_no_tensor,
              m);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "output image 'output0': the network has no tensor", of_no_tensor,
              NULL);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "77 is no format", bad_format_body, m);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "GPUC_IMAGE_OUTPUT_INIT", no_size_body, m);
    twice_body(ctx, m);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "input image 'x' is one already", twice_body, m);
    assert_string_equal(gpuc_image_format_name((gpuc_image_format)77), "");
    assert_int_equal(gpuc_image_format_channels(GPUC_IMAGE_NONE), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fx_test(texts),
        fx_test(wrong_texts),
        fx_test(misfits),
        fx_test(descriptions),
        fx_test(inputs_of_any_size),
        fx_test(inputs_of_known_size),
        fx_test(sizes_are_checked),
        fx_test(networks_of_any_size),
        fx_test(output_images),
        fx_test(outputs_without_names),
        fx_test(halves),
    };
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
