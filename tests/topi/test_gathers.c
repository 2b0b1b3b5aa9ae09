/* SPDX-License-Identifier: Apache-2.0 */
/* test_topi_gathers TARGET [CASES [SEED]]: operators that read at computed places, with random extents and attributes,
 * beside their references; and with coordinates that are any bits. */
#include <stdlib.h>
#include <string.h>

#include "../codegen/run.h"
#include "on_device.h"

static int cases = 12;
static uint64_t first = 1;

static int one_of(fx_rng *r, int n, const int *of)
{
    return of[fx_below(r, n)];
}

/* "a, b" of n extents around those of vectors. */
static const char *extents(gpuc_ctx *ctx, fx_rng *r, int n, int *out)
{
    static const int some[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33};
    const char *text = "";
    for (int i = 0; i < n; i++) {
        out[i] = one_of(r, n > 2 ? 6 : 11, some);
        text = gpuc_ctx_printf(ctx, "%s%s%d", text, i ? ", " : "", out[i]);
    }
    return text;
}

static int channels(fx_rng *r)
{
    static const int some[] = {1, 3, 16, 17, 40};
    return one_of(r, 5, some);
}

static op_case grid_sample(gpuc_ctx *ctx, fx_rng *r)
{
    static const char *const methods[] = {"nearest", "linear", "cubic"}, *const paddings[] = {
                                                                             "zeros", "border", "reflection"};
    int rank = 1 + fx_below(r, 3), batch = 1 + fx_below(r, 2), size[3], method = fx_below(r, 3);
    const char *data = extents(ctx, r, rank, size), *places = extents(ctx, r, rank, size);
    if (rank == 3 && method == 2) method = 1;
    /* Whole coordinates and halves, where rounding decides, are left to the fixed cases. */
    return (op_case){.op = "image.grid_sample",
                     .attrs = gpuc_ctx_printf(ctx, "method=\"%s\" padding_mode=\"%s\" align_corners=%d",
                                              methods[method], paddings[fx_below(r, 3)], fx_below(r, 2)),
                     .in = gpuc_ctx_printf(ctx, "float32[%d, %d, %s] float32[%d, %s, %d]", batch, channels(r),
                                           data, batch, places, rank),
                     .lo = -1.7,
                     .hi = 1.7,
                     .tolerance = 1e-3};
}

static op_case deformable(gpuc_ctx *ctx, fx_rng *r)
{
    int groups = 1 + fx_below(r, 2), offsets = 1 + fx_below(r, 2), kh = 1 + fx_below(r, 3),
        kw = 1 + fx_below(r, 3);
    int c = groups * offsets * (1 + fx_below(r, 9)), o = groups * (1 + fx_below(r, 20)),
        h = 4 + fx_below(r, 20), w = 4 + fx_below(r, 20), stride = 1 + fx_below(r, 2), pad = fx_below(r, 2);
    int oh = (h + 2 * pad - kh) / stride + 1, ow = (w + 2 * pad - kw) / stride + 1, k = offsets * kh * kw;
    const char *in =
        gpuc_ctx_printf(ctx, "float32[2, %d, %d, %d] float32[%d, %d, %d, %d] float32[2, %d, %d, %d]", c, h, w,
                        o, c / groups, kh, kw, 2 * k, oh, ow);
    if (fx_below(r, 2)) in = gpuc_ctx_printf(ctx, "%s float32[2, %d, %d, %d]", in, k, oh, ow);
    return (op_case){
        .op = "nn.deformable_conv",
        .attrs = gpuc_ctx_printf(
            ctx, "strides=[%d, %d] padding=[%d, %d, %d, %d] dilation=[1, 1] groups=%d deformable_groups=%d",
            stride, stride, pad, pad, pad, pad, groups, offsets),
        .in = in,
        .tolerance = 1e-3};
}

static op_case roi_align(gpuc_ctx *ctx, fx_rng *r)
{
    int h = 3 + fx_below(r, 18), w = 3 + fx_below(r, 18), rois = fx_below(r, 9);
    return (op_case){.op = "vision.roi_align",
                     .attrs =
                         gpuc_ctx_printf(ctx, "pooled_size=[%d, %d] sampling_ratio=%d aligned=%d mode=\"%s\"",
                                         1 + fx_below(r, 4), 1 + fx_below(r, 4), fx_below(r, 4) ? 0 : 2,
                                         fx_below(r, 2), fx_below(r, 2) ? "avg" : "max"),
                     .in = gpuc_ctx_printf(ctx, "float32[2, %d, %d, %d] float32[%d, 4] int64[%d]",
                                           channels(r), h, w, rois, rois),
                     .lo = -5,
                     .hi = 25,
                     .tolerance = 1e-3};
}

static op_case pad(gpuc_ctx *ctx, fx_rng *r)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    int n = 1 + fx_below(r, 3), size[3];
    const char *in = extents(ctx, r, n, size), *sides[] = {"", ""};
    for (int i = 0; i < n; i++)
        for (int side = 0; side < 2; side++) {
            int by = fx_below(r, 4) ? fx_below(r, 6) : fx_below(r, 3 * size[i]);
            if (fx_below(r, 5) == 0 && size[i] > 2) by = -1;
            sides[side] = gpuc_ctx_printf(ctx, "%s%s%d", sides[side], i ? ", " : "", by);
        }
    return (op_case){.op = "nn.pad",
                     .attrs = gpuc_ctx_printf(ctx, "pad_before=[%s] pad_after=[%s] mode=\"%s\"", sides[0],
                                              sides[1], modes[fx_below(r, 4)]),
                     .in = gpuc_ctx_printf(ctx, "float32[%s]", in)};
}

static op_case resize(gpuc_ctx *ctx, fx_rng *r)
{
    static const char *const methods[] = {"nearest", "linear", "cubic"}, *const coordinates[] = {
                                                                             "half_pixel", "asymmetric",
                                                                             "align_corners"};
    int n = 2 + fx_below(r, 2), from[3], to[3];
    const char *in = extents(ctx, r, n, from), *scales = "";
    extents(ctx, r, n, to);
    const char *sizes = "";
    for (int i = 0; i < n; i++) {
        if (fx_below(r, 4) == 0) to[i] = from[i];
        if (fx_below(r, 4) == 0) to[i] = 2 * from[i];
        sizes = gpuc_ctx_printf(ctx, "%s%s%d", sizes, i ? ", " : "", to[i]);
        scales = gpuc_ctx_printf(ctx, "%s%s%.17f", scales, i ? ", " : "", (double)to[i] / from[i]);
    }
    return (op_case){.op = "image.resize",
                     .attrs =
                         gpuc_ctx_printf(ctx, "sizes=[%s] scales=[%s] method=\"%s\" coordinate=\"%s\"", sizes,
                                         scales, methods[fx_below(r, 3)], coordinates[fx_below(r, 3)]),
                     .in = gpuc_ctx_printf(ctx, "float32[%s]", in),
                     .tolerance = 1e-3};
}

typedef struct random_case {
    uint64_t seed;
    op_case c;
} random_case;

static void draw(gpuc_ctx *ctx, void *arg)
{
    static op_case (*const kinds[])(gpuc_ctx *, fx_rng *) = {grid_sample, deformable, roi_align, pad, resize};
    random_case *x = arg;
    fx_rng r = {x->seed * 7919};
    x->c = kinds[x->seed % 5](ctx, &r);
    x->c.attrs = strdup(x->c.attrs);
    x->c.in = strdup(x->c.in);
}

static void at_random(void **state)
{
    (void)state;
    for (int i = 0; i < cases; i++) {
        random_case x = {.seed = first + (uint64_t)i};
        run_in_ctx(draw, &x);
        on_device_check_all(&x.c, 1);
        free((void *)x.c.attrs);
        free((void *)x.c.in);
    }
}

/* ---- Coordinates that are any bits: NaN, infinities and huge numbers read nothing outside of the data ---- */

static gpuc_rexpr *floats(gpuc_ctx *ctx, fx_rng *r, int ndim, const int64_t *dims, bool any)
{
    const gpuc_rtype *type = fx_type(ctx, GPUC_FLOAT32, ndim, dims);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    for (size_t i = 0; i < data->size / 4; i++) {
        uint32_t bits = (uint32_t)fx_next(r);
        float number = (float)fx_below(r, 9) - 4;
        memcpy((char *)data->bytes + 4 * i, any ? (const void *)&bits : (const void *)&number, 4);
    }
    return gpuc_relay_constant(ctx, type, data);
}

static void any_grid(gpuc_ctx *ctx, void *arg)
{
    static const char *const methods[] = {"nearest", "linear", "cubic"}, *const paddings[] = {
                                                                             "zeros", "border", "reflection"};
    (void)arg;
    for (int i = 0; i < 9; i++) {
        fx_rng r = {(uint64_t)i * 31 + 5};
        int64_t data[] = {1, 3, 5, 7}, grid[] = {1, 9, 33, 2};
        gpuc_rexpr *args[] = {floats(ctx, &r, 4, data, false), floats(ctx, &r, 4, grid, true)};
        const char *attrs =
            gpuc_ctx_printf(ctx, "method=\"%s\" padding_mode=\"%s\"", methods[i / 3], paddings[i % 3]);
        on_device_check_same(ctx, fx_op(ctx, "image.grid_sample", attrs, 2, args), NULL, attrs);
    }
}

static void any_places(gpuc_ctx *ctx, void *arg)
{
    fx_rng r = {77};
    int64_t data[] = {1, 2, 6, 7}, weight[] = {3, 2, 3, 3}, offset[] = {1, 18, 4, 5}, rois[] = {40, 4},
            forty = 40;
    (void)arg;
    gpuc_rexpr *x = floats(ctx, &r, 4, data, false);
    gpuc_rexpr *conv[] = {x, floats(ctx, &r, 4, weight, false), floats(ctx, &r, 4, offset, true)};
    const char *attrs = "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]";
    on_device_check_same(ctx, fx_op(ctx, "nn.deformable_conv", attrs, 3, conv), NULL, "deformable_conv");
    const gpuc_rtype *type = fx_type(ctx, GPUC_INT64, 1, &forty);
    gpuc_const_data *images = gpuc_relay_const_data_create(ctx, 8 * 40);
    for (int i = 0; i < 40; i++) ((int64_t *)images->bytes)[i] = i % 3 ? 0 : INT64_MIN + i;
    gpuc_rexpr *roi[] = {x, floats(ctx, &r, 2, rois, true), gpuc_relay_constant(ctx, type, images)};
    on_device_check_same(ctx, fx_op(ctx, "vision.roi_align", "pooled_size=[2, 3] mode=\"max\"", 3, roi), NULL,
                         "roi_align");
}

static void any_bits(void **state)
{
    (void)state;
    run_in_ctx(any_grid, NULL);
    run_in_ctx(any_places, NULL);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    if (argc > 2) cases = atoi(argv[2]);
    if (argc > 3) first = strtoull(argv[3], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_random), cmocka_unit_test(any_bits)};
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
