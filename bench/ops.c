/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose speed is that of the memory: rows of the operator table, 50 MB and
 * more. Sorting, which goes over its data many times, stands beside the memory, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "bench_ops.h"
#include "relay/relay.h"

enum { MOST_INPUTS = 6 };

typedef struct job {
    const bench_op *op;
    bench_subject *s;
    const char *package;
    gpuc_device *device;
    gpuc_session *session;
    void *data[MOST_INPUTS];
} job;

static bool is_constant(const bench_op *op, int input)
{
    return op->constants >> input & 1;
}

static size_t bytes_of(const bench_shape *s)
{
    return (size_t)bench_count(s) * 4;
}

static gpuc_status make_data(job *j)
{
    const bench_kernel *k = &j->op->kernel;
    for (int i = 0; i < k->num_inputs; i++) {
        if (!(j->data[i] = malloc(bytes_of(&k->inputs[i]))))
            return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
        bench_fill(&k->inputs[i], i, j->data[i]);
    }
    return NULL;
}

static void build(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const bench_kernel *k = &j->op->kernel;
    const gpuc_target *target = bench_open(ctx, j->s, &j->device);

    gpuc_rexpr *params[MOST_INPUTS], *args[MOST_INPUTS];
    int num_params = 0;
    for (int i = 0; i < k->num_inputs; i++) {
        const bench_shape *s = &k->inputs[i];
        const gpuc_rtype *type =
            gpuc_rtype_tensor_static(ctx, s->below ? GPUC_INT32 : GPUC_FLOAT32, s->ndim, s->dims);
        if (is_constant(j->op, i)) {
            gpuc_const_data *data = gpuc_const_data_create(ctx, bytes_of(s));
            memcpy(data->bytes, j->data[i], bytes_of(s));
            args[i] = gpuc_relay_constant(ctx, type, data);
        } else {
            args[i] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", i), type);
            params[num_params++] = args[i];
        }
    }
    const gpuc_attrs *attrs = j->op->attrs ? j->op->attrs(ctx) : NULL;
    gpuc_rexpr *call = gpuc_relay_op(ctx, j->op->relay, attrs, k->num_inputs, args);
    gpuc_rmodule *module = gpuc_rmodule_create(ctx);
    const char **names = gpuc_new_array(ctx, const char *, 1);
    names[0] = "y";
    module->num_outputs = 1;
    module->output_names = names;
    gpuc_strmap_set(&module->functions, "main", gpuc_relay_function(ctx, num_params, params, call, NULL));
    gpuc_build_report report;
    gpuc_build_options options = bench_build_options(ctx, j->s);
    gpuc_build_package(ctx, module, 1, &target, &options, j->package, &report);
}

static gpuc_status run(void *arg)
{
    job *j = arg;
    GPUC_TRY(gpuc_session_run(j->session));
    return gpuc_session_sync(j->session);
}

static gpuc_status set_inputs(job *j)
{
    const bench_kernel *k = &j->op->kernel;
    for (int i = 0, input = 0; i < k->num_inputs; i++) {
        const bench_shape *s = &k->inputs[i];
        gpuc_ndarray *array;
        if (is_constant(j->op, i)) continue;
        GPUC_TRY(gpuc_ndarray_create(j->s->rt, j->device, s->below ? GPUC_INT32 : GPUC_FLOAT32, s->ndim,
                                     s->dims, &array));
        gpuc_status status = gpuc_ndarray_write(array, j->data[i], bytes_of(s));
        if (!status) status = gpuc_session_set_input(j->session, input++, array);
        gpuc_ndarray_release(array);
        GPUC_TRY(status);
    }
    return NULL;
}

static gpuc_status check(job *j)
{
    gpuc_ndarray *y;
    GPUC_TRY(gpuc_session_get_output(j->session, 0, &y));
    size_t bytes = gpuc_ndarray_bytes(y);
    float *got = malloc(bytes + 1);
    if (!got) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
    gpuc_status status = gpuc_ndarray_read(y, got, bytes);
    if (!status)
        status = bench_compare(&j->op->kernel, (const void *const *)j->data, got, (int64_t)(bytes / 4), j->s);
    free(got);
    return status;
}

gpuc_status bench_run_op(const bench_op *op, const char *work, bench_subject *s)
{
    char package[1024];
    snprintf(package, sizeof package, "%s/ops.gpuc", work);
    job j = {.op = op, .s = s, .package = package};
    gpuc_ctx *ctx = NULL;
    gpuc_model *model = NULL;
    gpuc_status status = make_data(&j);
    if (!status) status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = bench_load(s, package, j.device, &model);
    if (!status) status = gpuc_session_create(model, &j.session);
    if (!status) status = set_inputs(&j);
    if (!status) status = run(&j);
    if (!status && j.device->type == GPUC_DEVICE_VULKAN) gpuc_pin_llvmpipe();
    if (!status) status = bench_measure(&s->plan, run, &j, &s->samples);
    if (!status) status = check(&j);
    gpuc_session_release(j.session);
    gpuc_model_release(model);
    for (int i = 0; i < MOST_INPUTS; i++) free(j.data[i]);
    remove(package);
    return status;
}

/* ---- What they should give ---- */

static const float *floats(const void *const *ins, int i)
{
    return ins[i];
}

static double relu(const bench_kernel *k, const void *const *ins, int64_t at)
{
    (void)k;
    return fmax((double)floats(ins, 0)[at], 0);
}

static double sum2(const bench_kernel *k, const void *const *ins, int64_t at)
{
    (void)k;
    return (double)(floats(ins, 0)[at] + floats(ins, 1)[at]);
}

static double sum_row_vector(const bench_kernel *k, const void *const *ins, int64_t at)
{
    return (double)(floats(ins, 0)[at] + floats(ins, 1)[at % k->inputs[1].dims[0]]);
}

static double sum_all(const bench_kernel *k, const void *const *ins, int64_t at)
{
    double sum = 0;
    (void)at;
    for (int64_t i = 0; i < k->inputs[0].dims[0]; i++) sum += (double)floats(ins, 0)[i];
    return sum;
}

static double sum_row(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)floats(ins, 0)[at * n + i];
    return sum;
}

static double sum_column(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    double sum = 0;
    for (int64_t i = 0; i < k->inputs[0].dims[0]; i++) sum += (double)floats(ins, 0)[i * n + at];
    return sum;
}

static double softmax(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    const float *x = floats(ins, 0) + at / n * n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i]);
    return exp((double)x[at % n]) / sum;
}

static double layer_norm(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    const float *x = floats(ins, 0) + at / n * n;
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
    return ((double)x[at % n] - mean) / sqrt(square + 1e-5) * (double)floats(ins, 1)[at % n] +
           (double)floats(ins, 2)[at % n];
}

static double transposed(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    return (double)floats(ins, 0)[at % d[0] * d[1] + at / d[0]];
}

static double channels_last(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    int64_t c = at % d[1], pixel = at / d[1] % (d[2] * d[3]), n = at / d[1] / (d[2] * d[3]);
    return (double)floats(ins, 0)[(n * d[1] + c) * d[2] * d[3] + pixel];
}

static double gathered(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1];
    return (double)floats(ins, 0)[((const int32_t *)ins[1])[at / n] * n + at % n];
}

static double concatenated(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[1], column = at % (3 * n);
    return (double)floats(ins, (int)(column / n))[at / (3 * n) * n + column % n];
}

static double depthwise(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    int64_t x = at % d[3], y = at / d[3] % d[2], plane = at / d[3] / d[2];
    double sum = 0;
    for (int64_t i = 0; i < 9; i++) {
        int64_t sy = y + i / 3 - 1, sx = x + i % 3 - 1;
        if (sy < 0 || sx < 0 || sy >= d[2] || sx >= d[3]) continue;
        sum +=
            (double)(floats(ins, 0)[(plane * d[2] + sy) * d[3] + sx] * floats(ins, 1)[plane % d[1] * 9 + i]);
    }
    return sum;
}

static double pooled(const bench_kernel *k, const void *const *ins, int64_t at)
{
    const int64_t *d = k->inputs[0].dims;
    int64_t h = d[2] / 2, w = d[3] / 2, x = at % w * 2, y = at / w % h * 2, plane = at / w / h;
    double most = -INFINITY;
    for (int64_t i = 0; i < 9; i++) {
        int64_t sy = y + i / 3 - 1, sx = x + i % 3 - 1;
        if (sy < 0 || sx < 0 || sy >= d[2] || sx >= d[3]) continue;
        most = fmax(most, (double)floats(ins, 0)[(plane * d[2] + sy) * d[3] + sx]);
    }
    return most;
}

/* The element that as many are not greater than as stand before it: by halving the range of values. */
static double sorted(const bench_kernel *k, const void *const *ins, int64_t at)
{
    int64_t n = k->inputs[0].dims[0];
    const float *x = floats(ins, 0);
    float lo = x[0], hi = x[0];
    for (int64_t i = 1; i < n; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    while (lo < hi) {
        float mid = lo + (hi - lo) / 2, below = lo, above = hi; /* values of x on both sides of mid */
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++) {
            count += x[i] <= mid;
            if (x[i] <= mid) below = fmaxf(below, x[i]);
            if (x[i] > mid) above = fminf(above, x[i]);
        }
        if (count > at)
            hi = below;
        else
            lo = above;
    }
    return (double)lo;
}

/* ---- Attributes ---- */

static const gpuc_attrs *axis_0(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){0});
}

static const gpuc_attrs *axis_1(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){1});
}

static const gpuc_attrs *last_axis(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, NULL, "axis", -1);
}

static const gpuc_attrs *nhwc(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axes", 4, (int64_t[]){0, 2, 3, 1});
}

static const gpuc_attrs *conv(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 2, (int64_t[]){1, 1});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){1, 1, 1, 1});
    a = gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
    return gpuc_attrs_int(ctx, a, "groups", 256);
}

static const gpuc_attrs *pool(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "pool_size", 2, (int64_t[]){3, 3});
    a = gpuc_attrs_ints(ctx, a, "strides", 2, (int64_t[]){2, 2});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){1, 1, 1, 1});
    return gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
}

/* ---- The table ---- */

/* clang-format off */
const bench_op bench_ops[] = {
    OP("relu of 16 Mi floats", ELEMWISE, BYTES(128e0 * MI), "nn.relu", NULL, relu, 101, 1, FLOATS(1, 16 * MI)),
    OP("add of 16 Mi floats", ELEMWISE, BYTES(192e0 * MI), "add", NULL, sum2, 101, 2, FLOATS(1, 16 * MI), FLOATS(1, 16 * MI)),
    OP("4096x4096 plus a row", ELEMWISE, BYTES(128e0 * MI), "add", NULL, sum_row_vector, 101, 2, FLOATS(2, 4096, 4096), FLOATS(1, 4096)),
    OP("sum of 16 Mi floats", SUM, BYTES(64e0 * MI), "sum", NULL, sum_all, 1, 1, FLOATS(1, 16 * MI)),
    OP("sums of rows, 4096x4096", SUM, BYTES(64e0 * MI), "sum", axis_1, sum_row, 101, 1, FLOATS(2, 4096, 4096)),
    OP("sums of columns, 4096x4096", SUM, BYTES(64e0 * MI), "sum", axis_0, sum_column, 101, 1, FLOATS(2, 4096, 4096)),
    OP("softmax, 16384x1024", NORM, BYTES(128e0 * MI), "nn.softmax", NULL, softmax, 10007, 1, FLOATS(2, 16384, 1024)),
    OP("layer norm, 16384x1024", NORM, BYTES(128e0 * MI), "nn.layer_norm", NULL, layer_norm, 10007, 3, FLOATS(2, 16384, 1024), FLOATS(1, 1024), FLOATS(1, 1024)),
    OP("transpose, 4096x4096", MOVE, BYTES(128e0 * MI), "transpose", NULL, transposed, 101, 1, FLOATS(2, 4096, 4096)),
    OP("NCHW to NHWC, 16x256x64x64", MOVE, BYTES(128e0 * MI), "transpose", nhwc, channels_last, 101, 1, FLOATS(4, 16, 256, 64, 64)),
    OP("gather of 65536 rows of 256", MOVE, BYTES(128e0 * MI), "take", NULL, gathered, 101, 2, FLOATS(2, 65536, 256), INDICES(65536, 65536)),
    OP("concat of three 4096x1408", ELEMWISE, BYTES(132e0 * MI), "concatenate", last_axis, concatenated, 101, 3, FLOATS(2, 4096, 1408), FLOATS(2, 4096, 1408), FLOATS(2, 4096, 1408)),
    OP("depthwise 3x3, 4x256x128x128", MOVE, BYTES(128e0 * MI), "nn.conv2d", conv, depthwise, 101, 2, FLOATS(4, 4, 256, 128, 128), FLOATS(4, 256, 1, 3, 3)),
    OP("max of 3x3 every 2, 4x256x112x112", MOVE, BYTES(61.25 * MI), "nn.max_pool2d", pool, pooled, 101, 1, FLOATS(4, 4, 256, 112, 112)),
    OP("sort of 1 Mi floats", SORT, BYTES(8e0 * MI), "sort", NULL, sorted, 262147, 1, FLOATS(1, MI)),
};
/* clang-format on */
const size_t bench_num_ops = BENCH_COUNT(bench_ops);
