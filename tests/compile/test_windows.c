/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are larger than one binding of the device: launches are cut into parts with windows of them,
 * and give what whole bindings give, bit for bit. */
#include "run.h"

#include "executor/model.h"
#include "runtime_vulkan/testing.h"

enum { MAX = 4 };

static uint32_t whole_range;

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

typedef gpuc_rexpr *make_body(gpuc_ctx *ctx, gpuc_rexpr *const *x);

typedef struct window_case {
    const char *name;
    make_body *body;
    uint32_t limit;
    int num_inputs;
    gpuc_dtype dtype;
    int ndim[MAX];
    int64_t dims[MAX][4];
    int open[MAX];       /* so many leading extents are symbols */
    const char *refused; /* words of the message */
} window_case;

static gpuc_rexpr *input(gpuc_ctx *ctx, const window_case *c, int i, bool fixed, const gpuc_expr *symbols)
{
    gpuc_expr dims[4];
    for (int d = 0; d < c->ndim[i]; d++)
        dims[d] = d < c->open[i] && !fixed ? symbols[d] : gpuc_int(ctx, c->dims[i][d]);
    return gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", i),
                          gpuc_relay_rtype_tensor(ctx, c->dtype, c->ndim[i], dims));
}

static void fill(const window_case *c, run_array *in)
{
    fx_rng rng = {7};
    for (int i = 0; i < c->num_inputs; i++) {
        int64_t n = 1;
        in[i] = (run_array){.dtype = c->dtype, .ndim = c->ndim[i]};
        for (int d = 0; d < c->ndim[i]; d++) n *= in[i].dims[d] = c->dims[i][d];
        char *bytes = calloc((size_t)n, gpuc_dtype_bytes(c->dtype));
        assert_non_null(bytes);
        for (int64_t e = 0; e < n; e++) {
            float v = (float)fx_real(&rng);
            if (c->dtype.bits == 32)
                ((float *)bytes)[e] = v;
            else
                ((int8_t *)bytes)[e] = (int8_t)(v * 100);
        }
        in[i].bytes = bytes;
    }
}

static size_t output(void **out)
{
    int ndim;
    const int64_t *dims;
    const void *bytes = run_output(0, &ndim, &dims);
    size_t size = 4;
    for (int d = 0; d < ndim; d++) size *= (size_t)dims[d];
    if (!out) return size;
    *out = malloc(size + 1);
    memcpy(*out, bytes, size);
    return size;
}

static gpuc_status run(gpuc_ctx *ctx, gpuc_rmodule *m, const window_case *c, const run_array *in,
                       uint32_t range)
{
    gpuc_vk_set_max_range(run_device(), range);
    gpuc_status status = run_build(ctx, m);
    if (!status) status = run_session(c->num_inputs, in);
    gpuc_vk_set_max_range(run_device(), whole_range);
    return status;
}

static void check(gpuc_ctx *ctx, const window_case *c, bool fixed)
{
    gpuc_rexpr *x[MAX];
    run_array in[MAX];
    void *want = NULL, *got = NULL;
    const gpuc_expr symbols[] = {gpuc_var(ctx, "n", GPUC_INDEX), gpuc_var(ctx, "m", GPUC_INDEX),
                                 gpuc_var(ctx, "k", GPUC_INDEX), gpuc_var(ctx, "l", GPUC_INDEX)};
    for (int i = 0; i < c->num_inputs; i++) x[i] = input(ctx, c, i, fixed, symbols);
    gpuc_rmodule *m = fx_module(ctx, c->body(ctx, x), c->num_inputs, x);
    fill(c, in);
    run_target_attributes(fixed ? gpuc_ctx_printf(ctx, "-max_buffer_range=%u", c->limit) : NULL);
    gpuc_status status = run(ctx, m, c, in, c->limit);
    if (c->refused) {
        fx_check_status(status, fixed ? GPUC_DEVICE_UNAVAILABLE : GPUC_UNSUPPORTED,
                        fixed ? "max_buffer_range of at least" : c->refused);
    } else {
        if (status) fail_msg("%s, %s: %s", c->name, fixed ? "fixed" : "open", gpuc_status_message(status));
        size_t size = output(&got);
        ok(run(ctx, m, c, in, whole_range));
        assert_true(size == output(&want));
        if (memcmp(got, want, size))
            fail_msg("%s, %s: windows change the result", c->name, fixed ? "fixed" : "open");
    }
    run_target_attributes(NULL);
    for (int i = 0; i < c->num_inputs; i++) free((void *)in[i].bytes);
    free(want);
    free(got);
}

/* ---- Cases ---- */

static gpuc_rexpr *pointwise(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op2(ctx, "add", fx_op1(ctx, "tanh", NULL, x[0]), x[1]);
}

static gpuc_rexpr *rows(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "nn.softmax", "axis=-1", x[0]);
}

static gpuc_rexpr *sum_all(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "sum", NULL, fx_op1(ctx, "tanh", NULL, x[0]));
}

static gpuc_rexpr *sum_rows(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "sum", "axis=[1]", x[0]);
}

static gpuc_rexpr *product(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op2(ctx, "nn.matmul", x[0], x[1]);
}

static gpuc_rexpr *concat(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op(ctx, "concatenate", "axis=0", 2, x);
}

static gpuc_rexpr *swap(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "negative", NULL, fx_op1(ctx, "transpose", "axes=[0, 2, 1]", x[0]));
}

static gpuc_rexpr *backwards(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "negative", NULL, fx_op1(ctx, "reverse", "axis=0", x[0]));
}

static gpuc_rexpr *pool(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "nn.max_pool2d",
                  "pool_size=[3, 3] strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]", x[0]);
}

static gpuc_rexpr *conv(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op(ctx, "nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=1", 2, x);
}

static gpuc_rexpr *widened(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    return fx_op1(ctx, "cast", "dtype=float32", x[0]);
}

static gpuc_rexpr *gather(gpuc_ctx *ctx, gpuc_rexpr *const *x)
{
    gpuc_rexpr *args[] = {x[0], fx_op1(ctx, "cast", "dtype=int32", x[1])};
    return fx_op(ctx, "take", "axis=0 mode=\"negative\"", 2, args);
}

static const window_case cases[] = {
    {"pointwise", pointwise, 1 << 16, 2, GPUC_FLOAT32, {1, 1}, {{300007}, {300007}}, {1, 1}, NULL},
    {"broadcast", pointwise, 1 << 16, 2, GPUC_FLOAT32, {2, 2}, {{1501, 101}, {1501, 1}}, {2, 1}, NULL},
    {"softmax", rows, 1 << 16, 1, GPUC_FLOAT32, {2}, {{1501, 103}}, {2}, NULL},
    {"sum", sum_all, 1 << 20, 1, GPUC_FLOAT32, {1}, {{4000037}}, {1}, NULL},
    {"sum of rows", sum_rows, 1 << 16, 1, GPUC_FLOAT32, {2}, {{1501, 103}}, {2}, NULL},
    {"matmul", product, 1 << 16, 2, GPUC_FLOAT32, {2, 2}, {{3001, 40}, {40, 24}}, {1}, NULL},
    {"batched matmul", product, 1 << 16, 2, GPUC_FLOAT32, {3, 3}, {{17, 65, 40}, {17, 40, 90}}, {2, 1}, NULL},
    {"concat", concat, 1 << 16, 2, GPUC_FLOAT32, {2, 2}, {{2000, 33}, {103, 33}}, {1, 0}, NULL},
    {"transpose", swap, 1 << 16, 1, GPUC_FLOAT32, {3}, {{37, 65, 70}}, {3}, NULL},
    {"reverse", backwards, 1 << 16, 1, GPUC_FLOAT32, {2}, {{1501, 101}}, {2}, NULL},
    {"pool", pool, 1 << 18, 1, GPUC_FLOAT32, {4}, {{3, 5, 101, 103}}, {4}, NULL},
    {"conv", conv, 3 << 18, 2, GPUC_FLOAT32, {4, 4}, {{5, 4, 101, 103}, {8, 4, 3, 3}}, {1}, NULL},
    {"bytes", widened, 1 << 16, 1, GPUC_INT8, {1}, {{300007}}, {1}, NULL},
    {"gather",
     gather,
     1 << 16,
     2,
     GPUC_INT64, /* there are no texels of it, which would have another limit */
     {1, 1},
     {{15004}, {5}},
     {1, 0},
     "take|120032 bytes|max_buffer_range"},
};

static void cut_open(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(ctx, &cases[i], false);
}

static void cut_fixed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(ctx, &cases[i], true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(cut_open), fx_test(cut_fixed)};
    if (!run_available(argc, argv)) return 77;
    whole_range = (uint32_t)gpuc_device_get_attr(run_device(), GPUC_ATTR_MAX_BUFFER_RANGE).i;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
