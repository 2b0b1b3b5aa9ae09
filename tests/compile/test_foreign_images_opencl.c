/* SPDX-License-Identifier: Apache-2.0 */
/* image2d objects of an application as arguments, and what is refused. */
#include "../codegen/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/opencl.h>

#include "../relay/fixture.h"
#include "runtime_opencl/cl.h"

enum { W = 6, H = 5, MAX = W * H * 16 };

static const size_t origin[3] = {0, 0, 0}, region[3] = {W, H, 1};

static gpuc_cl_device *dev(void)
{
    return (gpuc_cl_device *)run_device();
}

static cl_mem create(cl_channel_order order, cl_channel_type type)
{
    const cl_image_format format = {order, type};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
    cl_int error;
    cl_mem out = dev()->fn->CreateImage(dev()->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    return out;
}

/* T[y, x, c] = A[h - 1 - y, x, c] */
static gpuc_module *build(gpuc_ctx *ctx, gpuc_dtype dtype, int channels, gpuc_function **out)
{
    const char *text =
        gpuc_ctx_printf(ctx,
                        "func f(A: %s[%d, %d, %d] global.texture, T: %s[%d, %d, %d] global.texture) {\n"
                        "  for y in 0..%d bind blockIdx.x { for x in 0..%d { for c in 0..%d vectorized {\n"
                        "    T[y, x, c] = A[%d - y, x, c] } } }\n}\n",
                        gpuc_dtype_name(dtype, (char[24]){0}), H, W, channels,
                        gpuc_dtype_name(dtype, (char[24]){0}), H, W, channels, H, W, channels, H - 1);
    gpuc_tir_func *f = gpuc_tir_parse(ctx, text, "test");
    gpuc_module *m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), f);
    run_ok(gpuc_module_get_function(m, "f", out));
    return m;
}

typedef struct row {
    cl_channel_order from, to;
    cl_channel_type type;
    gpuc_dtype dtype;
    int channels;
    bool swapped; /* red and blue change places */
} row;

static const row rows[] = {
    {CL_RGBA, CL_RGBA, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 4, false},
    {CL_BGRA, CL_RGBA, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 4, true},
    {CL_RGBA, CL_BGRA, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 4, true},
    {CL_R, CL_R, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 1, false},
    {CL_RGBA, CL_RGBA, CL_HALF_FLOAT, {GPUC_DTYPE_FLOAT, 16, 1}, 4, false},
    {CL_R, CL_R, CL_FLOAT, {GPUC_DTYPE_FLOAT, 32, 1}, 1, false},
};

static void try_row(gpuc_ctx *ctx, void *arg)
{
    const row *r = arg;
    const gpuc_cl_fns *fn = dev()->fn;
    uint8_t in[MAX], out[MAX];
    size_t each = gpuc_dtype_bytes(r->dtype), texel = each * (size_t)r->channels, size = texel * W * H;
    for (size_t i = 0; i < size / each; i++) {
        uint32_t word = each == 4   ? 0x3f000000 + (uint32_t)i * 0x1357
                        : each == 2 ? 0x3800 + (uint32_t)i
                                    : (uint32_t)i * 7 % 256;
        memcpy(in + i * each, &word, each);
    }
    cl_mem a = create(r->from, r->type), b = create(r->to, r->type);
    assert_int_equal(
        fn->EnqueueWriteImage(dev()->main.queue.handle, a, CL_TRUE, origin, region, 0, 0, in, 0, NULL, NULL),
        CL_SUCCESS);
    gpuc_function *f;
    gpuc_module *m = build(ctx, r->dtype, r->channels, &f);
    gpuc_value args[2] = {{.kind = GPUC_VALUE_NDARRAY}, {.kind = GPUC_VALUE_NDARRAY}};
    run_ok(gpuc_opencl_wrap_image(run_device(), a, &args[0].as.ndarray));
    run_ok(gpuc_opencl_wrap_image(run_device(), b, &args[1].as.ndarray));
    run_ok(gpuc_function_call(f, args, 2, NULL));
    run_refused(gpuc_ndarray_read(args[1].as.ndarray, out, size), "are the application's");
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(args[i].as.ndarray);
    assert_int_equal(
        fn->EnqueueReadImage(dev()->main.queue.handle, b, CL_TRUE, origin, region, 0, 0, out, 0, NULL, NULL),
        CL_SUCCESS);
    for (size_t i = 0; i < size; i++) {
        size_t y = i / (texel * W), x = i / texel % W, c = i / each % (size_t)r->channels;
        size_t from = ((H - 1 - y) * W + x) * texel + (r->swapped && c < 3 ? 2 - c : c) * each + i % each;
        if (out[i] != in[from]) fail_msg("row %d: byte %zu differs", (int)(r - rows), i);
    }
    gpuc_function_release(f);
    gpuc_module_release(m);
    fn->ReleaseMemObject(a);
    fn->ReleaseMemObject(b);
}

static void images_are_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run_in_ctx(try_row, (void *)&rows[i]);
}

/* A package: 1 - x of colours. */
static void build_inversion(gpuc_ctx *ctx, void *arg)
{
    static const char *const names[] = {"y"};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, GPUC_FLOAT32, FX_DIMS(1, 3, H, W)));
    gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1);
    gpuc_rmodule *m = fx_module(ctx, fx_op2(ctx, "subtract", one, x), 1, &x);
    m->num_outputs = 1;
    m->output_names = names;
    gpuc_image_input in = gpuc_image_input_parse(ctx, "x=rgba8");
    gpuc_image_output out = gpuc_image_output_parse(ctx, "y=rgba8");
    in.width = W;
    in.height = H;
    gpuc_rmodule_image_input(ctx, m, &in);
    gpuc_rmodule_image_output(ctx, m, &out);
    const gpuc_target *target = run_target(ctx);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_package(ctx, m, 1, &target, &options, arg, NULL);
}

/* A second array of the image that is bound as input, or of an image in the same memory, is no place for the output. */
static void one_image_is_bound_once(gpuc_session *s, cl_mem a, gpuc_ndarray *out)
{
    static uint8_t bytes[W * H * 4];
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
    gpuc_ndarray *again, *in;
    void *at;
    run_ok(gpuc_opencl_wrap_image(run_device(), a, &again));
    run_ok(gpuc_session_bind_output(s, 0, again));
    run_refused(gpuc_session_run(s), "the array of output 'y' shares memory with that of input 'x'");
    run_refused(gpuc_opencl_map(again, &at), "it is an image");
    gpuc_ndarray_release(again);
    for (int i = 0; i < 2; i++) {
        cl_int error;
        cl_mem m = dev()->fn->CreateImage(dev()->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, &format,
                                          &desc, bytes, &error);
        assert_int_equal(error, CL_SUCCESS);
        run_ok(gpuc_opencl_wrap_image(run_device(), m, &in));
        run_ok(i ? gpuc_session_bind_output(s, 0, in) : gpuc_session_bind_input(s, 0, in));
        gpuc_ndarray_release(in);
        dev()->fn->ReleaseMemObject(m);
    }
    run_refused(gpuc_session_run(s), "the array of output 'y' shares memory with that of input 'x'");
    run_ok(gpuc_session_bind_output(s, 0, out));
}

/* A session between two images of the application, one with blue first. */
static void images_are_bound(void **state)
{
    char path[] = "/tmp/gpuc-images-XXXXXX";
    const gpuc_cl_fns *fn = dev()->fn;
    uint8_t in[W * H * 4], out[W * H * 4];
    gpuc_ndarray *arrays[2];
    gpuc_model *model;
    gpuc_session *s;
    cl_event done;
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    run_in_ctx(build_inversion, path);
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 37 % 256);
    cl_mem a = create(CL_BGRA, CL_UNORM_INT8), b = create(CL_RGBA, CL_UNORM_INT8);
    assert_int_equal(
        fn->EnqueueWriteImage(dev()->main.queue.handle, a, CL_TRUE, origin, region, 0, 0, in, 0, NULL, NULL),
        CL_SUCCESS);
    run_ok(gpuc_opencl_wrap_image(run_device(), a, &arrays[0]));
    run_ok(gpuc_opencl_wrap_image(run_device(), b, &arrays[1]));
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    d.path = path;
    d.device = run_device();
    run_ok(gpuc_model_load(run_runtime(), &d, &model));
    run_ok(gpuc_session_create(model, &s));
    run_ok(gpuc_session_bind_input(s, 0, arrays[0]));
    run_ok(gpuc_session_bind_output(s, 0, arrays[1]));
    run_ok(gpuc_opencl_submit(s, 0, NULL, &done));
    assert_int_equal(
        fn->EnqueueReadImage(dev()->main.queue.handle, b, CL_TRUE, origin, region, 0, 0, out, 1, &done, NULL),
        CL_SUCCESS);
    for (size_t i = 0; i < sizeof out; i++) {
        int want = i % 4 == 3 ? 255 : 255 - in[i / 4 * 4 + 2 - i % 4];
        if (abs(out[i] - want) > 1) fail_msg("byte %zu is %d, not %d", i, out[i], want);
    }
    fn->ReleaseEvent(done);
    one_image_is_bound_once(s, a, arrays[1]);
    gpuc_session_release(s);
    gpuc_model_release(model);
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(arrays[i]);
    fn->ReleaseMemObject(a);
    fn->ReleaseMemObject(b);
    remove(path);
}

static void objects_that_cannot_be(void **state)
{
    gpuc_ndarray *out;
    cl_int error;
    cl_mem buffer = dev()->fn->CreateBuffer(dev()->context, CL_MEM_READ_WRITE, 64, NULL, &error);
    cl_mem integers = create(CL_RGBA, CL_UNSIGNED_INT8);
    (void)state;
    run_refused(gpuc_opencl_wrap_image(run_device(), buffer, &out), "no image2d");
    run_refused(gpuc_opencl_wrap_image(run_device(), integers, &out), "channel order");
    assert_null(out);
    dev()->fn->ReleaseMemObject(buffer);
    dev()->fn->ReleaseMemObject(integers);
}

static void devices_without_images(void **state)
{
    gpuc_ndarray *out;
    gpuc_buffer *b;
    uint32_t features = dev()->caps.features;
    cl_mem a = create(CL_RGBA, CL_UNORM_INT8);
    (void)state;
    dev()->caps.features &= ~(uint32_t)GPUC_FEATURE_IMAGES;
    run_refused(gpuc_opencl_wrap_image(run_device(), a, &out), "has no images (CL_DEVICE_IMAGE_SUPPORT)");
    run_refused(run_device()->api->alloc_image(run_device(), GPUC_UINT8, 4, 4, 4, &b), "has no images");
    dev()->caps.features = features;
    dev()->fn->ReleaseMemObject(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_arguments), cmocka_unit_test(images_are_bound),
        cmocka_unit_test(objects_that_cannot_be), cmocka_unit_test(devices_without_images)};
    if (!run_begin(argc > 1 ? argv[1] : "opencl/pocl")) return 77;
    return run_end(cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL));
}
