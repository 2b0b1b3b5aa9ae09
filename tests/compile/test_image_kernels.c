/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are images (global.texture): every format and size, read, written and both, with the same results as
 * plain memory; and what is refused. */
#include "../codegen/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>

#include "runtime/ndarray.h"

typedef struct format {
    const char *name;
    gpuc_dtype dtype;
    int channels;
} format;

static const format formats[] = {
    {"uint8 x 4", {GPUC_DTYPE_UINT, 8, 1}, 4},     {"uint8 x 1", {GPUC_DTYPE_UINT, 8, 1}, 1},
    {"float16 x 4", {GPUC_DTYPE_FLOAT, 16, 1}, 4}, {"float16 x 1", {GPUC_DTYPE_FLOAT, 16, 1}, 1},
    {"float32 x 4", {GPUC_DTYPE_FLOAT, 32, 1}, 4}, {"float32 x 1", {GPUC_DTYPE_FLOAT, 32, 1}, 1},
};
enum { NUM_FORMATS = sizeof formats / sizeof *formats };

static const int64_t sizes[][2] = {{1, 1}, {1, 9}, {3, 5}, {16, 16}, {33, 7}};
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

/* Which of the two tensors is an image. */
enum { READS = 1, WRITES = 2 };

typedef struct setup {
    const format *f;
    int64_t h, w;
    int images;
    bool open;    /* height and width are symbols */
    bool unroll;  /* the loop over channels; else it is vectorized */
    bool varying; /* reads a channel that the place decides */
} setup;

static bool has_images(gpuc_ctx *ctx)
{
    return run_target(ctx)->images != 0;
}

static gpuc_ndarray *array_of(gpuc_ctx *ctx, const setup *s, bool image)
{
    gpuc_ndarray *a;
    int64_t dims[3] = {s->h, s->w, s->f->channels};
    if (image && has_images(ctx))
        run_ok(gpuc_ndarray_create_image(run_device(), s->f->dtype, 3, dims, &a));
    else
        run_ok(gpuc_ndarray_create(run_runtime(), run_device(), s->f->dtype, 3, dims, &a));
    return a;
}

/* T[y, x, c] = A[h - 1 - y, w - 1 - x, channels - 1 - c], or another channel. */
static gpuc_tir_func *mirror(gpuc_ctx *ctx, const setup *s)
{
    gpuc_expr h = s->open ? gpuc_var(ctx, "h", GPUC_INT64) : gpuc_int(ctx, s->h),
              w = s->open ? gpuc_var(ctx, "w", GPUC_INT64) : gpuc_int(ctx, s->w);
    gpuc_expr dims[3] = {h, w, gpuc_int(ctx, s->f->channels)}, at[3];
    gpuc_tensor *args[2] = {gpuc_te_placeholder(ctx, "A", 3, dims, s->f->dtype)};
    gpuc_iter *axes[3];
    for (int i = 0; i < 3; i++) {
        axes[i] = gpuc_te_axis(ctx, dims[i], (const char *[]){"y", "x", "c"}[i]);
        at[i] = gpuc_sub(ctx, gpuc_sub(ctx, dims[i], gpuc_int(ctx, 1)), gpuc_iter_var(axes[i]));
    }
    if (s->varying) {
        gpuc_expr sum = gpuc_add(ctx, gpuc_iter_var(axes[0]), gpuc_iter_var(axes[1]));
        at[2] = gpuc_floormod_(ctx, gpuc_add(ctx, sum, gpuc_iter_var(axes[2])), dims[2]);
    }
    args[1] = gpuc_te_compute(ctx, "T", 3, axes, gpuc_te_read(ctx, args[0], 3, at));
    gpuc_schedule *sch = gpuc_schedule_create(ctx, 1, &args[1]);
    gpuc_stage *in = gpuc_schedule_stage(sch, args[0]), *out = gpuc_schedule_stage(sch, args[1]);
    if (s->images & READS) gpuc_stage_set_scope(in, "global.texture");
    if (s->images & WRITES) gpuc_stage_set_scope(out, "global.texture");
    gpuc_iter *c = gpuc_stage_leaf(out, 2), *outer, *inner;
    gpuc_iter *pixels = gpuc_stage_fuse(out, gpuc_stage_leaf(out, 0), gpuc_stage_leaf(out, 1));
    gpuc_stage_split(out, pixels, 8, &outer, &inner);
    gpuc_stage_bind(out, outer, "blockIdx.x");
    gpuc_stage_bind(out, inner, "threadIdx.x");
    if (s->unroll)
        gpuc_stage_unroll(out, c);
    else
        gpuc_stage_vectorize(out, c);
    return gpuc_schedule_lower(sch, "f", 2, args);
}

static void fill(const setup *s, uint8_t *bytes, size_t size)
{
    size_t each = gpuc_dtype_bytes(s->f->dtype);
    for (size_t i = 0; i < size / each; i++) {
        uint64_t word = (i * 37 + 11) % 256;
        if (each == 4) word = UINT32_C(0x3f000000) + (uint32_t)(i * 0x1357 % 0x800000);
        if (each == 2) word = 0x3800 + i * 131 % 0x400;
        memcpy(bytes + i * each, &word, each);
    }
}

static void compare(const setup *s, const uint8_t *in, const uint8_t *out)
{
    size_t each = gpuc_dtype_bytes(s->f->dtype);
    int64_t channels = s->f->channels;
    for (int64_t y = 0; y < s->h; y++)
        for (int64_t x = 0; x < s->w; x++)
            for (int64_t c = 0; c < channels; c++) {
                int64_t from = s->varying ? (y + x + c) % channels : channels - 1 - c;
                from += ((s->h - 1 - y) * s->w + s->w - 1 - x) * channels;
                int64_t to = (y * s->w + x) * channels + c;
                if (memcmp(in + (size_t)from * each, out + (size_t)to * each, each) != 0)
                    fail_msg("%s, %d x %d, images %d: [%d, %d, %d] differs", s->f->name, (int)s->h, (int)s->w,
                             s->images, (int)y, (int)x, (int)c);
            }
}

/* uint8 and float16 of one channel have formats that a kernel may not be able to name. */
static bool can_write(gpuc_ctx *ctx, const setup *s)
{
    return !(s->images & WRITES) || !has_images(ctx) || run_device_type() != GPUC_DEVICE_VULKAN ||
           run_target(ctx)->image_any_format || s->f->channels == 4 || s->f->dtype.bits == 32;
}

/* PoCL 3.1 takes the bytes of CL_R, CL_HALF_FLOAT for integers. */
static bool is_right(gpuc_ctx *ctx, const setup *s)
{
    return !has_images(ctx) || run_device_type() != GPUC_DEVICE_OPENCL || s->f->channels == 4 ||
           s->f->dtype.bits != 16;
}

static void run_mirror(gpuc_ctx *ctx, void *arg)
{
    const setup *s = arg;
    if (!can_write(ctx, s) || !is_right(ctx, s)) return;
    gpuc_tir_func *func = mirror(ctx, s);
    gpuc_tir_program *p = gpuc_lower(ctx, func, run_target(ctx));
    for (int i = 0; i < p->num_kernels; i++) run_emit(ctx, run_target(ctx), p->kernels[i]); /* validates */
    gpuc_module *m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), func);
    gpuc_function *f;
    run_ok(gpuc_module_get_function(m, "f", &f));
    gpuc_ndarray *a = array_of(ctx, s, s->images & READS), *t = array_of(ctx, s, s->images & WRITES);
    size_t size = gpuc_ndarray_bytes(a);
    uint8_t *in = gpuc_ctx_alloc(ctx, size), *out = gpuc_ctx_alloc(ctx, size);
    fill(s, in, size);
    gpuc_value args[4] = {{.kind = GPUC_VALUE_NDARRAY, .as.ndarray = a},
                          {.kind = GPUC_VALUE_NDARRAY, .as.ndarray = t}};
    args[2] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = s->h};
    args[3] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = s->w};
    for (int round = 0; round < 2; round++) { /* the second follows the reading of the first */
        in[0] ^= 1;
        run_ok(gpuc_ndarray_write(a, in, size));
        run_ok(gpuc_function_call(f, args, s->open ? 4 : 2, NULL));
        run_ok(gpuc_ndarray_read(t, out, size));
        compare(s, in, out);
    }
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(t);
    gpuc_function_release(f);
    gpuc_module_release(m);
}

static void images_hold_what_memory_holds(void **state)
{
    (void)state;
    for (int f = 0; f < NUM_FORMATS; f++)
        for (int images = READS; images <= (READS | WRITES); images++)
            for (int i = 0; i < NUM_SIZES; i++) {
                setup s = {.f = &formats[f], .h = sizes[i][0], .w = sizes[i][1], .images = images};
                s.unroll = i % 2;
                s.open = i == 2;
                run_in_ctx(run_mirror, &s);
            }
}

static void any_channel_is_read(void **state)
{
    setup s = {.f = &formats[0], .h = 5, .w = 6, .images = READS, .varying = true};
    (void)state;
    run_in_ctx(run_mirror, &s);
    s.images = READS | WRITES;
    s.open = true;
    run_in_ctx(run_mirror, &s);
}

/* ---- Refusals --------------------------------------------------------------------------------------- */

typedef struct refusal {
    const char *text; /* of a function */
    const char *words;
    bool everywhere; /* also where there are no images */
} refusal;

static void lower_text(gpuc_ctx *ctx, void *arg)
{
    const refusal *r = arg;
    gpuc_tir_func *f = gpuc_tir_parse(ctx, r->text, "test");
    gpuc_tir_program *p = gpuc_lower(ctx, f, run_target(ctx));
    for (int i = 0; i < p->num_kernels; i++) run_emit(ctx, run_target(ctx), p->kernels[i]);
}

static void try_refusal(gpuc_ctx *ctx, void *arg)
{
    const refusal *r = arg;
    gpuc_status s = gpuc_ctx_protect(ctx, lower_text, arg);
    if (!r->everywhere && !has_images(ctx))
        run_ok(s);
    else
        run_refused(s, r->words);
}

static void functions_that_images_cannot_serve(void **state)
{
    static const refusal rows[] = {
        {"func f(A: float32[4, 4] global.texture, C: float32[4, 4] global) {\n"
         "  for i in 0..4 { for j in 0..4 { C[i, j] = A[i, j] } }\n}\n",
         "three dimensions", true},
        {"func f(A: float32[4, 4, 3] global.texture, C: float32[4] global) {\n"
         "  for i in 0..4 { C[i] = A[i, 0, 0] }\n}\n",
         "1 or 4 channels", true},
        {"func f(A: int32[4, 4, 4] global.texture, C: int32[4] global) {\n"
         "  for i in 0..4 { C[i] = A[i, 0, 0] }\n}\n",
         "uint8, float16 or float32", true},
        {"func f(A: float32[4] global, C: float32[4] global) {\n  alloc T: float32[4, 1, 1] global.texture\n"
         "  for i in 0..4 { T[i, 0, 0] = A[i] }\n  for i in 0..4 { C[i] = T[i, 0, 0] }\n}\n",
         "none of the function's parameters", true},
        {"func f(A: float32[4, 4] global, T: float32[4, 1, 4] global.texture) {\n"
         "  for i in 0..4 { for j in 0..4 { T[i, 0, j] = A[i, j] } }\n}\n",
         "element by element", false},
        {"func f(A: float32[4, 4] global, T: float32[4, 1, 4] global.texture) {\n"
         "  for i in 0..4 { for j in 0..4 vectorized { if (A[j, i] > 0.0) { T[i, 0, j] = A[i, j] } } }\n}\n",
         "element by element", false},
        {"func f(T: float32[4, 1, 1] global.texture) {\n"
         "  for i in 0..4 { T[i, 0, 0] = T[i, 0, 0] + 1.0 }\n}\n",
         "one of the two", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run_in_ctx(try_refusal, (void *)&rows[i]);
}

typedef void scope_fn(gpuc_ctx *ctx, gpuc_schedule *s, gpuc_tensor *a, gpuc_tensor *mid);

static void set_mid(gpuc_ctx *ctx, gpuc_schedule *s, gpuc_tensor *a, gpuc_tensor *mid)
{
    (void)ctx;
    (void)a;
    gpuc_stage_set_scope(gpuc_schedule_stage(s, mid), "global.texture");
}

static void set_flat(gpuc_ctx *ctx, gpuc_schedule *s, gpuc_tensor *a, gpuc_tensor *mid)
{
    (void)ctx;
    (void)mid;
    gpuc_stage_set_scope(gpuc_schedule_stage(s, a), "global.texture");
}

static void cache(gpuc_ctx *ctx, gpuc_schedule *s, gpuc_tensor *a, gpuc_tensor *mid)
{
    (void)ctx;
    gpuc_stage *reader = gpuc_schedule_stage(s, mid);
    gpuc_cache_read(s, a, "global.texture", 1, &reader);
}

typedef struct scope_row {
    scope_fn *fn;
    const char *words;
} scope_row;

static void try_scope(gpuc_ctx *ctx, void *arg)
{
    const scope_row *r = arg;
    gpuc_expr n = gpuc_int(ctx, 4), at;
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *j = gpuc_te_axis(ctx, n, "j");
    at = gpuc_iter_var(i);
    gpuc_tensor *mid = gpuc_te_compute(ctx, "mid", 1, &i, gpuc_te_read(ctx, a, 1, &at));
    at = gpuc_iter_var(j);
    gpuc_tensor *out = gpuc_te_compute(ctx, "out", 1, &j, gpuc_te_read(ctx, mid, 1, &at));
    r->fn(ctx, gpuc_schedule_create(ctx, 1, &out), a, mid);
}

static void schedules_with_images_that_are_none(void **state)
{
    static const scope_row rows[] = {{set_mid, "only a parameter of the function can be an image"},
                                     {set_flat, "an image has three dimensions"},
                                     {cache, "only a parameter of the function can be an image"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_ctx *ctx;
        run_ok(gpuc_ctx_create(NULL, &ctx));
        run_refused(gpuc_ctx_protect(ctx, try_scope, (void *)&rows[i]), rows[i].words);
        gpuc_ctx_destroy(ctx);
    }
}

/* Binds buffers where images are wanted, and images of another kind. */
static void wrong_memory(gpuc_ctx *ctx, void *arg)
{
    const setup s = {.f = &formats[0], .h = 4, .w = 4, .images = READS | WRITES};
    (void)arg;
    if (!has_images(ctx)) return;
    gpuc_module *m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), mirror(ctx, &s));
    gpuc_function *f;
    run_ok(gpuc_module_get_function(m, "f", &f));
    gpuc_ndarray *image = array_of(ctx, &s, true), *buffer = array_of(ctx, &s, false);
    gpuc_value args[2] = {{.kind = GPUC_VALUE_NDARRAY, .as.ndarray = buffer},
                          {.kind = GPUC_VALUE_NDARRAY, .as.ndarray = image}};
    run_refused(gpuc_function_call(f, args, 2, NULL), "is an image for this kernel");
    gpuc_function_release(f);
    gpuc_module_release(m);
    setup plain = s;
    plain.images = 0;
    m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), mirror(ctx, &plain));
    run_ok(gpuc_module_get_function(m, "f", &f));
    run_refused(gpuc_function_call(f, args, 2, NULL), "is a buffer for this kernel");
    gpuc_function_release(f);
    gpuc_module_release(m);
    gpuc_ndarray_release(image);
    gpuc_ndarray_release(buffer);
}

static void memory_that_does_not_fit(void **state)
{
    (void)state;
    run_in_ctx(wrong_memory, NULL);
}

static void arrays_that_are_no_images(void **state)
{
    static const struct {
        gpuc_dtype dtype;
        int ndim;
        int64_t dims[3];
        const char *words;
    } rows[] = {{{GPUC_DTYPE_UINT, 8, 1}, 2, {4, 4}, "2 dimensions"},
                {{GPUC_DTYPE_UINT, 8, 1}, 3, {4, 4, 3}, "3 channels"},
                {{GPUC_DTYPE_INT, 32, 1}, 3, {4, 4, 4}, "uint8, float16 or float32"},
                {{GPUC_DTYPE_UINT, 8, 1}, 3, {0, 4, 4}, "texels"},
                {{GPUC_DTYPE_UINT, 8, 1}, 3, {1, 1 << 20, 1}, "texels"}};
    gpuc_attr_value features = {0};
    (void)state;
    run_ok(run_device()->api->get_attr(run_device(), GPUC_ATTR_FEATURES, &features));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_ndarray *a;
        bool images = (features.i & GPUC_FEATURE_IMAGES) || i < 2;
        run_refused(gpuc_ndarray_create_image(run_device(), rows[i].dtype, rows[i].ndim, rows[i].dims, &a),
                    images ? rows[i].words : "images");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_hold_what_memory_holds),
        cmocka_unit_test(any_channel_is_read),
        cmocka_unit_test(functions_that_images_cannot_serve),
        cmocka_unit_test(schedules_with_images_that_are_none),
        cmocka_unit_test(memory_that_does_not_fit),
        cmocka_unit_test(arrays_that_are_no_images),
    };
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    return run_end(cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL));
}
