/* SPDX-License-Identifier: Apache-2.0 */
/* Operators with all sizes left open, at sizes around those of tiles and vectors: one package serves each,
 * and every element is as a plain loop computes it. Data are small integers, whose sums are exact. */
#include "run.h"

#include <math.h>

enum { MOST_SIZES = 3 };
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
    int num_inputs, num_sizes;
    operand inputs[2], out;
    int64_t usual[MOST_SIZES]; /* of the other sizes while one is tried */
    element_fn element;
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

#define ALL                                                                                                  \
    {                                                                                                        \
        3,                                                                                                   \
        {                                                                                                    \
            -1, -2, -3                                                                                       \
        }                                                                                                    \
    }
static const open_case cases[] = {
    {"nn.matmul", "", 2, 3, {{2, {-1, -2}}, {2, {-2, -3}}}, {2, {-1, -3}}, {65, 19, 63}, product},
    {"nn.matmul",
     "transpose_b=1",
     2,
     3,
     {{2, {-1, -2}}, {2, {-3, -2}}},
     {2, {-1, -3}},
     {19, 65, 64},
     product_of_rows},
    {"nn.matmul",
     "transpose_b=1",
     2,
     2,
     {{3, {-1, -2, 8}}, {3, {-1, -2, 8}}},
     {3, {-1, -2, -2}},
     {2, 19},
     scores},
    {"add", "", 2, 3, {ALL, {1, {-3}}}, ALL, {3, 5, 19}, with_row},
    {"transpose", "axes=[2, 0, 1]", 1, 3, {ALL}, {3, {-3, -1, -2}}, {3, 19, 65}, moved},
    {"concatenate", "axis=1", 2, 3, {ALL, ALL}, {3, {-1, -2, -3}}, {3, 5, 19}, joined},
    {"sum", "axis=[1]", 1, 2, {{2, {-1, -2}}}, {1, {-1}}, {19, 65}, row_sum},
};

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
    gpuc_expr sizes[MOST_SIZES], dims[4];
    gpuc_rexpr *args[2];
    for (int i = 0; i < c->num_sizes; i++)
        sizes[i] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "n%d", i), GPUC_INDEX);
    for (int i = 0; i < c->num_inputs; i++) {
        const operand *o = &c->inputs[i];
        for (int k = 0; k < o->ndim; k++)
            dims[k] = o->dims[k] < 0 ? sizes[-o->dims[k] - 1] : gpuc_int(ctx, o->dims[k]);
        args[i] = gpuc_relay_var(ctx, i ? "y" : "x", gpuc_rtype_tensor(ctx, GPUC_FLOAT32, o->ndim, dims));
    }
    gpuc_rexpr *params[] = {args[0], args[1]};
    gpuc_rexpr *body = fx_op(ctx, c->op, c->attrs, c->num_inputs, args);
    gpuc_status status = run_build(ctx, fx_module(ctx, body, c->num_inputs, params));
    if (status) fail_msg("%s: %s", c->op, gpuc_status_message(status));
}

static void check_sizes(const open_case *c, const int64_t *n)
{
    run_array arrays[2];
    float *data[2] = {NULL, NULL};
    for (int i = 0; i < c->num_inputs; i++) {
        arrays[i] = (run_array){.dtype = GPUC_FLOAT32, .ndim = c->inputs[i].ndim};
        int64_t count = extents(&c->inputs[i], n, arrays[i].dims);
        data[i] = calloc((size_t)count + 1, sizeof(float));
        for (int64_t k = 0; k < count; k++) data[i][k] = (float)((k * (7 + 2 * i) + 3) % 11) - 5;
        arrays[i].bytes = data[i];
    }
    gpuc_status status = run_session(c->num_inputs, arrays);
    if (status) fail_msg("%s: %s", c->op, gpuc_status_message(status));
    int ndim;
    const int64_t *have;
    const float *got = run_output(0, &ndim, &have);
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) count *= have[i];
    for (int64_t i = 0; i < count; i++) {
        double want = c->element(n, (const float *const *)data, i);
        if ((double)got[i] != want)
            fail_msg("%s with sizes %lld, %lld, %lld: element %lld is %g, should be %g", c->op,
                     (long long)n[0], (long long)n[1], (long long)(c->num_sizes > 2 ? n[2] : 0), (long long)i,
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
        for (int axis = 0; axis < c->num_sizes; axis++)
            for (int k = 0; k < TRIED; k++) {
                int64_t n[MOST_SIZES] = {c->usual[0], c->usual[1], c->usual[2]};
                n[axis] = tried[k];
                check_sizes(c, n);
            }
    }
}

int main(int argc, char **argv)
{
    if (!run_available(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {fx_test(sizes_around_tiles)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
