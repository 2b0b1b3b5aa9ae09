/* SPDX-License-Identifier: Apache-2.0 */
/* Operators with all sizes left open, at sizes around those of tiles and vectors: one package serves each,
 * and every element is as a plain loop computes it. Data are small integers, whose sums are exact. */
#include "run.h"

#include <math.h>

#include "executor/model.h"
#include "base/element.h"

enum { MAX_SIZES = 3 };
static const int64_t tried[] = {0, 1, 19, 63, 64, 65, 500};
enum { TRIED = sizeof tried / sizeof *tried };

typedef struct operand {
    int ndim;
    int64_t dims[4]; /* -n: the n-th open size */
} operand;

/* The reference: element `at` of the output for these sizes. */
typedef double (*element_fn)(const int64_t *n, const float *const *ins, int64_t at);

typedef struct open_case {
    const char *op, *attrs;
    gpuc_rexpr *(*spell)(gpuc_ctx *ctx, gpuc_rexpr *x); /* instead of op with attrs */
    operand inputs[2];
    int64_t usual[MAX_SIZES]; /* of the other sizes while one is tried */
    element_fn element;
    double tolerance;
    int64_t min; /* size that it has a result for */
} open_case;

static double product(const int64_t *n, const float *const *ins, int64_t at)
{
    double sum = 0;
    for (int64_t k = 0; k < n[1]; k++)
        sum += (double)ins[0][at / n[2] * n[1] + k] * (double)ins[1][k * n[2] + at % n[2]];
    return sum;
}

static double product_of_rows(const int64_t *n, const float *const *ins, int64_t at)
{
    double sum = 0;
    for (int64_t k = 0; k < n[1]; k++)
        sum += (double)ins[0][at / n[2] * n[1] + k] * (double)ins[1][at % n[2] * n[1] + k];
    return sum;
}

/* [B, T, 8] by [B, T, 8] transposed. */
static double scores(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t b = at / n[1] / n[1], i = at / n[1] % n[1], j = at % n[1];
    double sum = 0;
    for (int64_t k = 0; k < 8; k++)
        sum += (double)ins[0][(b * n[1] + i) * 8 + k] * (double)ins[1][(b * n[1] + j) * 8 + k];
    return sum;
}

/* [A, 3, 4] by [B, 4, 5], where A is B or one of them is 1. */
static double product_of_batches(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t b = at / 15, i = at / 5 % 3, j = at % 5;
    const float *x = ins[0] + (n[0] == 1 ? 0 : b * 12), *y = ins[1] + (n[1] == 1 ? 0 : b * 20);
    double sum = 0;
    for (int64_t k = 0; k < 4; k++) sum += (double)x[i * 4 + k] * (double)y[k * 5 + j];
    return sum;
}

static double half_of(const int64_t *n, const float *const *ins, int64_t at)
{
    (void)n;
    return gpuc_float_round(GPUC_FLOAT16, (double)ins[0][at] * 8209);
}

static double with_row(const int64_t *n, const float *const *ins, int64_t at)
{
    return (double)ins[0][at] + (double)ins[1][at % n[2]];
}

/* [A, B, C] to [C, A, B]. */
static double moved(const int64_t *n, const float *const *ins, int64_t at)
{
    return (double)ins[0][at % (n[0] * n[1]) * n[2] + at / (n[0] * n[1])];
}

/* [A, B, C] twice, along B. */
static double joined(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t row = at / n[2], a = row / (2 * n[1]), b = row % (2 * n[1]);
    return (double)ins[b >= n[1]][(a * n[1] + b % n[1]) * n[2] + at % n[2]];
}

static double row_sum(const int64_t *n, const float *const *ins, int64_t at)
{
    double sum = 0;
    for (int64_t k = 0; k < n[1]; k++) sum += (double)ins[0][at * n[1] + k];
    return sum;
}

/* [N, 3, H, W] with 4 filters of 3 x 3, padded by 1. */
static double filtered(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t x = at % n[2], y = at / n[2] % n[1], o = at / n[2] / n[1] % 4, i = at / n[2] / n[1] / 4;
    double sum = 0;
    for (int64_t k = 0; k < 27; k++) {
        int64_t c = k / 9, sy = y + k / 3 % 3 - 1, sx = x + k % 3 - 1;
        if (sy < 0 || sy >= n[1] || sx < 0 || sx >= n[2]) continue;
        sum += (double)ins[0][((i * 3 + c) * n[1] + sy) * n[2] + sx] * (double)ins[1][o * 27 + k];
    }
    return sum;
}

/* The largest of 3 x 3 at every second place of [N, 3, H, W]. */
static double largest(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t h = (n[1] + 1) / 2, w = (n[2] + 1) / 2, x = at % w * 2, y = at / w % h * 2, plane = at / w / h;
    double max = -INFINITY;
    for (int64_t sy = y > 0 ? y - 1 : 0; sy <= y + 1 && sy < n[1]; sy++)
        for (int64_t sx = x > 0 ? x - 1 : 0; sx <= x + 1 && sx < n[2]; sx++)
            max = fmax(max, (double)ins[0][(plane * n[1] + sy) * n[2] + sx]);
    return max;
}

static double mean_of_row(const int64_t *n, const float *const *ins, int64_t at)
{
    double sum = 0;
    for (int64_t k = 0; k < n[0]; k++) sum += (double)ins[0][at * n[0] + k];
    return sum / (double)n[0];
}

static double mean_of_plane(const int64_t *n, const float *const *ins, int64_t at)
{
    double sum = 0;
    for (int64_t i = 0; i < n[1] * n[2]; i++) sum += (double)ins[0][at * n[1] * n[2] + i];
    return sum / (double)(n[1] * n[2]);
}

/* [A, B, C] without its first row and column. */
static double cut(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t b = n[1] - 1, c = n[2] - 1;
    return (double)ins[0][(at / c / b * n[1] + at / c % b + 1) * n[2] + at % c + 1];
}

static double joined_rows(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t c = at % (2 * n[2]), row = at / (2 * n[2]);
    return (double)ins[c >= n[2]][row * n[2] + c % n[2]];
}

static double enlarged(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t x = at % (2 * n[2]), y = at / (2 * n[2]) % (2 * n[1]), plane = at / (2 * n[2]) / (2 * n[1]);
    return (double)ins[0][(plane * n[1] + y / 2) * n[2] + x / 2];
}

enum { LONG = 6000000 };

static double lengthened(const int64_t *n, const float *const *ins, int64_t at)
{
    return (double)ins[0][at * n[0] / LONG];
}

static double share(const float *x, int64_t count, int64_t stride, int64_t at)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += exp((double)x[k * stride]);
    return exp((double)x[at * stride]) / sum;
}

static double share_of_row(const int64_t *n, const float *const *ins, int64_t at)
{
    return share(ins[0] + at / n[2] * n[2], n[2], 1, at % n[2]);
}

static double share_of_column(const int64_t *n, const float *const *ins, int64_t at)
{
    int64_t c = at % n[2], b = at / n[2] % n[1], a = at / n[2] / n[1];
    return share(ins[0] + a * n[1] * n[2] + c, n[1], n[2], b);
}

static double column_sum(const int64_t *n, const float *const *ins, int64_t at)
{
    double sum = 0;
    for (int64_t k = 0; k < n[0]; k++) sum += (double)ins[0][k * n[1] + at];
    return sum;
}

static gpuc_rexpr *slice(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    gpuc_expr sizes[] = {t->dims[0], gpuc_max(ctx, gpuc_sub(ctx, t->dims[1], one), zero),
                         gpuc_max(ctx, gpuc_sub(ctx, t->dims[2], one), zero)};
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", 3, (int64_t[]){0, 1, 1});
    a = gpuc_attrs_sizes(ctx, a, "sizes", 3, sizes);
    return gpuc_relay_op1(ctx, "strided_slice", gpuc_attrs_ints(ctx, a, "strides", 3, (int64_t[]){1, 1, 1}),
                          x);
}

static gpuc_rexpr *resize(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr two = gpuc_int(ctx, 2);
    gpuc_expr sizes[] = {t->dims[0], t->dims[1], gpuc_mul(ctx, t->dims[2], two),
                         gpuc_mul(ctx, t->dims[3], two)};
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "sizes", 4, sizes);
    a = gpuc_attrs_floats(ctx, a, "scales", 4, (double[]){1, 1, 2, 2});
    return gpuc_relay_op1(ctx, "image.resize", gpuc_attrs_string(ctx, a, "method", "nearest"), x);
}

/* To LONG elements: the products of both sizes, in halves, need more than 32 bits. */
static gpuc_rexpr *resize_long(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_expr size = gpuc_int(ctx, LONG);
    const gpuc_attrs *a =
        fx_attrs(ctx, "scales=[0.0] coordinate=\"asymmetric\" rounding=\"floor\" method=\"nearest\"");
    return gpuc_relay_op1(ctx, "image.resize", gpuc_attrs_sizes(ctx, a, "sizes", 1, &size), x);
}

/* Casts round, though targets without halves compute with them as float32. */
static gpuc_rexpr *rounded(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *args[] = {x, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 8209)};
    gpuc_rexpr *half = gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", GPUC_FLOAT16),
                                      gpuc_relay_op(ctx, "multiply", NULL, 2, args));
    return gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", GPUC_FLOAT32), half);
}

#define IMAGES                                                                                               \
    {                                                                                                        \
        4,                                                                                                   \
        {                                                                                                    \
            -1, 3, -2, -3                                                                                    \
        }                                                                                                    \
    }
#define ALL                                                                                                  \
    {                                                                                                        \
        3,                                                                                                   \
        {                                                                                                    \
            -1, -2, -3                                                                                       \
        }                                                                                                    \
    }
/* clang-format off */
static const open_case cases[] = {
    {.op = "nn.matmul", .attrs = "", .inputs = {{2, {-1, -2}}, {2, {-2, -3}}}, .usual = {65, 19, 63}, .element = product},
    {.op = "nn.matmul", .attrs = "transpose_b=1", .inputs = {{2, {-1, -2}}, {2, {-3, -2}}}, .usual = {19, 65, 64},
     .element = product_of_rows},
    {.op = "nn.matmul", .attrs = "transpose_b=1", .inputs = {{3, {-1, -2, 8}}, {3, {-1, -2, 8}}}, .usual = {2, 19},
     .element = scores},
    {.op = "nn.matmul", .attrs = "", .inputs = {{3, {-1, 3, 4}}, {3, {-2, 4, 5}}}, .usual = {1, 1},
     .element = product_of_batches},
    {.op = "add", .attrs = "", .inputs = {ALL, {1, {-3}}}, .usual = {3, 5, 19}, .element = with_row},
    {.op = "transpose", .attrs = "axes=[2, 0, 1]", .inputs = {ALL}, .usual = {3, 19, 65}, .element = moved},
    {.op = "concatenate", .attrs = "axis=1", .inputs = {ALL, ALL}, .usual = {3, 5, 19}, .element = joined},
    {.op = "concatenate", .attrs = "axis=2", .inputs = {ALL, ALL}, .usual = {3, 5, 19}, .element = joined_rows},
    {.op = "sum", .attrs = "axis=[1]", .inputs = {{2, {-1, -2}}}, .usual = {19, 65}, .element = row_sum},
    {.op = "sum", .attrs = "axis=[0]", .inputs = {{2, {-1, -2}}}, .usual = {19, 65}, .element = column_sum},
    {.op = "nn.conv2d", .attrs = "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
     .inputs = {IMAGES, {4, {4, 3, 3, 3}}}, .usual = {2, 5, 19}, .element = filtered, .min = 1},
    {.op = "nn.max_pool2d", .attrs = "pool_size=[3, 3] strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1]",
     .inputs = {IMAGES}, .usual = {2, 5, 19}, .element = largest, .min = 1},
    /* The last group of threads has rows that are none, under a condition around the loops over rows. */
    {.op = "mean", .attrs = "axis=[3]", .inputs = {{4, {3, 3, -1, -1}}}, .usual = {19}, .element = mean_of_row, .tolerance = 1e-5, .min = 1},
    {.op = "mean", .attrs = "axis=[2, 3]", .inputs = {IMAGES}, .usual = {2, 5, 19}, .element = mean_of_plane, .tolerance = 1e-5, .min = 1},
    {.op = "strided_slice", .spell = slice, .inputs = {ALL}, .usual = {3, 5, 19}, .element = cut},
    {.op = "cast", .spell = rounded, .inputs = {ALL}, .usual = {3, 5, 19}, .element = half_of},
    {.op = "image.resize", .spell = resize, .inputs = {IMAGES}, .usual = {2, 5, 19}, .element = enlarged},
    {.op = "image.resize to a long row", .spell = resize_long, .inputs = {{1, {-1}}}, .element = lengthened, .min = 1},
    {.op = "nn.softmax", .attrs = "axis=-1", .inputs = {ALL}, .usual = {3, 5, 19}, .element = share_of_row, .tolerance = 1e-5},
    {.op = "nn.softmax", .attrs = "axis=1", .inputs = {ALL}, .usual = {3, 5, 19}, .element = share_of_column, .tolerance = 1e-5},
};
/* clang-format on */

static int num_inputs(const open_case *c)
{
    return 1 + (c->inputs[1].ndim > 0);
}

static int num_sizes(const open_case *c)
{
    int n = 0;
    for (int i = 0; i < num_inputs(c); i++)
        for (int k = 0; k < c->inputs[i].ndim; k++)
            if (-c->inputs[i].dims[k] > n) n = (int)-c->inputs[i].dims[k];
    return n;
}

static int64_t extents(const operand *o, const int64_t *n, int64_t *dims)
{
    int64_t count = 1;
    for (int i = 0; i < o->ndim; i++) {
        dims[i] = o->dims[i] < 0 ? n[-o->dims[i] - 1] : o->dims[i];
        count *= dims[i];
    }
    return count;
}

static void build(gpuc_ctx *ctx, const open_case *c)
{
    gpuc_expr sizes[MAX_SIZES], dims[4];
    gpuc_rexpr *args[2];
    for (int i = 0; i < num_sizes(c); i++)
        sizes[i] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "n%d", i), GPUC_INDEX);
    for (int i = 0; i < num_inputs(c); i++) {
        const operand *o = &c->inputs[i];
        for (int k = 0; k < o->ndim; k++)
            dims[k] = o->dims[k] < 0 ? sizes[-o->dims[k] - 1] : gpuc_int(ctx, o->dims[k]);
        args[i] =
            gpuc_relay_var(ctx, i ? "y" : "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, o->ndim, dims));
    }
    gpuc_rexpr *params[] = {args[0], args[1]};
    gpuc_rexpr *body = c->spell ? c->spell(ctx, args[0]) : fx_op(ctx, c->op, c->attrs, num_inputs(c), args);
    gpuc_status status = run_build(ctx, fx_module(ctx, body, num_inputs(c), params));
    if (status) fail_msg("%s: %s", c->op, gpuc_status_message(status));
}

static void check_sizes(const open_case *c, const int64_t *n)
{
    run_array arrays[2];
    float *data[2] = {NULL, NULL};
    for (int i = 0; i < num_inputs(c); i++) {
        arrays[i] = (run_array){.dtype = GPUC_FLOAT32, .ndim = c->inputs[i].ndim};
        int64_t count = extents(&c->inputs[i], n, arrays[i].dims);
        data[i] = calloc((size_t)count + 1, sizeof(float));
        for (int64_t k = 0; k < count; k++) data[i][k] = (float)((k * (7 + 2 * i) + 3) % 11) - 5;
        arrays[i].bytes = data[i];
    }
    gpuc_status status = run_session(num_inputs(c), arrays);
    if (status) fail_msg("%s: %s", c->op, gpuc_status_message(status));
    int ndim;
    const int64_t *have;
    const float *got = run_output(0, &ndim, &have);
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) count *= have[i];
    for (int64_t i = 0; i < count; i++) {
        double want = c->element(n, (const float *const *)data, i);
        if (!(fabs((double)got[i] - want) <= c->tolerance) && (double)got[i] != want)
            fail_msg("%s with sizes %lld, %lld, %lld: element %lld is %g, should be %g", c->op,
                     (long long)n[0], (long long)n[1], (long long)(num_sizes(c) > 2 ? n[2] : 0), (long long)i,
                     (double)got[i], want);
    }
    free(data[0]);
    free(data[1]);
}

static void sizes_around_tiles(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const open_case *c = &cases[i];
        build(ctx, c);
        for (int axis = 0; axis < num_sizes(c); axis++)
            for (int k = 0; k < TRIED; k++) {
                if (tried[k] < c->min) continue;
                int64_t n[MAX_SIZES] = {c->usual[0], c->usual[1], c->usual[2]};
                n[axis] = tried[k];
                check_sizes(c, n);
            }
    }
}

/* Tasks that share a row exist only where it is long. */
static void short_rows_have_few_groups(gpuc_ctx *ctx, void *arg)
{
    enum { ROWS = 48, LENGTH = 100 };
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, ROWS), gpuc_var(ctx, "length", GPUC_INDEX)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, dims));
    gpuc_status status = run_build(ctx, fx_module(ctx, fx_op(ctx, "mean", "axis=[1]", 1, &x), 1, &x));
    if (status) fail_msg("%s", gpuc_status_message(status));
    const gpuc_program *p = run_model()->program;
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const int64_t symbols[] = {LENGTH, LENGTH};
        int64_t groups = 1, n;
        assert_true(p->kernels[i].num_scalars <= 2);
        for (int axis = 0; axis < 3; axis++) {
            status = gpuc_abi_xexpr_eval(p->kernels[i].launch[axis], symbols, p->kernels[i].num_scalars, &n);
            if (status) fail_msg("%s", gpuc_status_message(status));
            groups *= n;
        }
        if (groups > 4 * ROWS) fail_msg("kernel %u has %lld groups", i, (long long)groups);
    }
}

int main(int argc, char **argv)
{
    if (!run_available(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {fx_test(sizes_around_tiles), fx_test(short_rows_have_few_groups)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
