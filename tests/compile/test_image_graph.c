/* SPDX-License-Identifier: Apache-2.0 */
/* Networks whose inputs and outputs are images: kernels take them where all of them can, with the results of plain
 * memory. */
#include "run.h"

#include "executor/model.h"

enum { MAX = 40 * 40 * 4 };

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

typedef struct network {
    const char *name;
    /* Makes the results of the image x, [h, w, 4] of uint8; returns how many. */
    int (*make)(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr **out);
    int inputs, outputs; /* images that kernels read and write */
} network;

static gpuc_rexpr *as_float(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op1(ctx, "cast", "dtype=float32", x);
}

static gpuc_rexpr *as_pixels(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    x = fx_op1(ctx, "clip", "a_min=0.0 a_max=255.0", x);
    return fx_op1(ctx, "cast", "dtype=uint8", fx_op1(ctx, "round", NULL, x));
}

static int invert(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr **out)
{
    gpuc_rexpr *white = fx_floats(ctx, FX_DIMS(4), (const float[]){255, 255, 255, 300});
    out[0] = as_pixels(ctx, fx_op2(ctx, "subtract", white, as_float(ctx, x)));
    return 1;
}

static gpuc_rexpr *weight(gpuc_ctx *ctx)
{
    fx_rng rng = {.state = 17};
    return fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(4, 4, 3, 3)), &rng);
}

static gpuc_rexpr *convolved(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *planes = fx_op1(ctx, "transpose", "axes=[2, 0, 1]", as_float(ctx, x));
    gpuc_rexpr *args[] = {fx_op1(ctx, "expand_dims", "axis=0", planes), weight(ctx)};
    return fx_op(ctx, "nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=1", 2, args);
}

static int convolve(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr **out)
{
    gpuc_rexpr *planes = fx_op1(ctx, "squeeze", "axis=[0]", convolved(ctx, x));
    out[0] = as_pixels(ctx, fx_op1(ctx, "transpose", "axes=[1, 2, 0]", planes));
    return 1;
}

/* Two kernels read the image; one result is no image. */
static int twice(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr **out)
{
    out[0] = as_pixels(ctx, fx_op1(ctx, "negative", NULL, fx_op1(ctx, "negative", NULL, as_float(ctx, x))));
    out[1] = fx_op1(ctx, "sum", "axis=[0, 1]", fx_op1(ctx, "cast", "dtype=int32", x));
    return 2;
}

/* The input itself is a result, and another one has its bytes in another shape: both are copied. */
static int as_it_is(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr **out)
{
    out[0] = x;
    out[1] = fx_op1(ctx, "reshape", "newshape=[-1]", x);
    return 2;
}

static const network networks[] = {{"invert", invert, 1, 1},
                                   {"convolve", convolve, 1, 1},
                                   {"twice", twice, 2, 1},
                                   {"as it is", as_it_is, 2, 1}};

static void count_images(int *inputs, int *outputs)
{
    const gpuc_program *p = run_model()->program;
    *inputs = *outputs = 0;
    for (uint32_t k = 0; k < p->num_kernels; k++)
        for (uint32_t t = 0; t < p->kernels[k].num_tensors && !p->kernels[k].variant; t++) {
            const gpuc_kernel_tensor *tensor = &p->kernels[k].tensors[t];
            if (tensor->image) ++*(tensor->access == GPUC_ACCESS_WRITE ? outputs : inputs);
        }
}

static void build(gpuc_ctx *ctx, const network *n, int64_t h, int64_t w, bool open)
{
    gpuc_rexpr *out[2];
    gpuc_expr dims[3] = {open ? gpuc_var(ctx, "h", GPUC_INDEX) : gpuc_int(ctx, h),
                         open ? gpuc_var(ctx, "w", GPUC_INDEX) : gpuc_int(ctx, w), gpuc_int(ctx, 4)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "pixels", gpuc_relay_rtype_tensor(ctx, GPUC_UINT8, 3, dims));
    int count = n->make(ctx, x, out);
    gpuc_rmodule *m = fx_module(ctx, count == 1 ? out[0] : gpuc_relay_tuple(ctx, count, out), 1, &x);
    static const char *const names[] = {"result", "other"};
    m->num_outputs = count;
    m->output_names = names;
    gpuc_strmap_set(&m->input_images, "pixels", (void *)(uintptr_t)1);
    gpuc_strmap_set(&m->output_images, "result", (void *)(uintptr_t)1);
    ok(run_build(ctx, m));
}

static size_t run(int64_t h, int64_t w, uint8_t *out)
{
    static uint8_t data[MAX];
    int ndim;
    const int64_t *dims;
    run_array a = {.dtype = GPUC_UINT8, .ndim = 3, .dims = {h, w, 4}, .bytes = data};
    size_t size = (size_t)(h * w * 4);
    assert_true(size <= sizeof data);
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(i * 89 % 251);
    ok(run_session(1, &a));
    memcpy(out, run_output(0, &ndim, &dims), size);
    return size;
}

static void check(gpuc_ctx *ctx, const network *n, int64_t h, int64_t w, bool open)
{
    static uint8_t want[MAX], got[MAX];
    int inputs, outputs;
    bool c = strncmp(run_target(), "c", 1) == 0 && run_target()[1] != 'l';
    run_target_attributes(c ? NULL : "-images=0");
    build(ctx, n, h, w, open);
    count_images(&inputs, &outputs);
    assert_int_equal(inputs + outputs, 0);
    run(h, w, want);
    run_target_attributes(NULL);
    build(ctx, n, h, w, open);
    count_images(&inputs, &outputs);
    if (inputs != (c ? 0 : n->inputs) || outputs != (c ? 0 : n->outputs))
        fail_msg("%s: %d images are read and %d written", n->name, inputs, outputs);
    size_t size = run(h, w, got);
    for (size_t i = 0; i < size; i++)
        if (abs((int)got[i] - (int)want[i]) > 1)
            fail_msg("%s, %d x %d: element %zu is %d, not %d", n->name, (int)h, (int)w, i, got[i], want[i]);
    run(h, w, got); /* in the session's own images */
    assert_true(abs((int)got[0] - (int)want[0]) <= 1);
}

static void kernels_take_images(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        check(ctx, &networks[i], 8, 12, false);
        check(ctx, &networks[i], 7, 5, false);
        check(ctx, &networks[i], 1, 1, false);
    }
}

static void of_any_size(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) check(ctx, &networks[i], 9, 13, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(kernels_take_images), fx_test(of_any_size)};
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
