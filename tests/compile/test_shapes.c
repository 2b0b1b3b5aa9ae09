/* SPDX-License-Identifier: Apache-2.0 */
/* Extents that the build does not know: of inputs, and such as a program computes while it runs. */
#include "run.h"

#include <math.h>

static gpuc_rexpr *input(gpuc_ctx *ctx, const char *name, gpuc_dtype t, int ndim, const gpuc_expr *dims)
{
    return gpuc_relay_var(ctx, name, gpuc_relay_rtype_tensor(ctx, t, ndim, dims));
}

static gpuc_expr size(gpuc_ctx *ctx, const char *name)
{
    return gpuc_var(ctx, name, GPUC_INDEX);
}

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

static gpuc_rexpr *scalar(gpuc_ctx *ctx, double v)
{
    return gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, v);
}

static float *ramp(int64_t n)
{
    float *v = calloc((size_t)n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (float)((i * 7 + 3) % 11) - 4;
    return v;
}

static void build(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params)
{
    ok(run_build(ctx, fx_module(ctx, body, n, params)));
}

static void build_with_reads(gpuc_ctx *ctx, int num_outputs, gpuc_rexpr *const *outputs, int n,
                             gpuc_rexpr *const *params, const gpuc_ptrs *reads)
{
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_set_main(m, n, params, num_outputs, outputs, reads);
    ok(run_build(ctx, m));
}

/* Element i of output `number` against want(i); extents as given. */
static void check(int number, int ndim, const int64_t *dims, double (*want)(int64_t i, const void *arg),
                  const void *arg)
{
    int have_ndim;
    const int64_t *have;
    const float *v = run_output(number, &have_ndim, &have);
    int64_t count = 1;
    assert_int_equal(have_ndim, ndim);
    for (int d = 0; d < ndim; d++) {
        assert_int_equal(have[d], dims[d]);
        count *= dims[d];
    }
    for (int64_t i = 0; i < count; i++)
        if (fabs((double)v[i] - want(i, arg)) > 1e-4 * (1 + fabs(want(i, arg))))
            fail_msg("output %d, element %lld of %lld: %g, should be %g", number, (long long)i,
                     (long long)count, (double)v[i], want(i, arg));
}

/* ---- Counts ---- */

/* x > 0, counted. */
static gpuc_rexpr *count_positive(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *positive = fx_op2(ctx, "greater", x, scalar(ctx, 0));
    return fx_op1(ctx, "sum", NULL, fx_op1(ctx, "cast", "dtype=int64", positive));
}

static double plus_one(int64_t i, const void *x)
{
    return (double)((const float *)x)[i] + 1;
}

static int64_t positives(const float *x, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += x[i] > 0;
    return count;
}

static double sum_of_rest(int64_t i, const void *arg)
{
    const float *x = arg;
    double sum = 0;
    (void)i;
    for (int64_t k = 0; k < positives(x, 40); k++) sum += ((double)x[k] + 1) * 3;
    return sum;
}

/* The first rows, as an output and within the graph; counts differ from run to run. */
static void first_rows(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, 40)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 1, dims);
    gpuc_ptrs reads = {0};
    gpuc_expr n = gpuc_relay_read_size(ctx, &reads, "count", count_positive(ctx, x), dims[0]);
    gpuc_rexpr *y = gpuc_relay_truncate(ctx, fx_op2(ctx, "add", x, scalar(ctx, 1)), 0, n);
    gpuc_rexpr *sum = fx_op1(ctx, "sum", NULL, fx_op2(ctx, "multiply", y, scalar(ctx, 3)));
    gpuc_rexpr *outs[] = {y, sum};
    build_with_reads(ctx, 2, outs, 1, &x, &reads);
    for (int shift = -5; shift <= 7; shift += 3) {
        float *v = ramp(40);
        for (int i = 0; i < 40; i++) v[i] += (float)shift;
        const run_array in = {GPUC_FLOAT32, 1, {40}, v};
        ok(run_session(1, &in));
        int64_t count = positives(v, 40);
        check(0, 1, &count, plus_one, v);
        check(1, 0, NULL, sum_of_rest, v);
        free(v);
    }
}

static double column(int64_t i, const void *arg)
{
    const float *x = arg;
    int64_t n = positives(x, 30);
    return (double)x[i / n % 3 * 10 + i % n] * 2;
}

/* Along an axis that is not the first, of an input with a symbol, twice by one count. */
static void first_columns(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {size(ctx, "rows"), gpuc_int(ctx, 10)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
    gpuc_ptrs reads = {0};
    gpuc_expr n = gpuc_relay_read_size(ctx, &reads, "count", count_positive(ctx, x), dims[1]);
    gpuc_rexpr *a = gpuc_relay_truncate(ctx, x, 1, n),
               *b = gpuc_relay_truncate(ctx, fx_op1(ctx, "negative", NULL, x), 1, n);
    gpuc_rexpr *difference = fx_op2(ctx, "subtract", a, b);
    build_with_reads(ctx, 1, &difference, 1, &x, &reads);
    for (int64_t max = 0; max < 10; max += 3) {
        float v[30];
        for (int i = 0; i < 30; i++) v[i] = i % 7 == 0 && i / 7 < max ? 2 : (float)-i;
        const run_array in = {GPUC_FLOAT32, 2, {3, 10}, v};
        ok(run_session(1, &in));
        int64_t want[] = {3, positives(v, 30)};
        check(0, 2, want, column, v);
    }
    float *many = ramp(400); /* more positives than columns */
    const run_array in = {GPUC_FLOAT32, 2, {40, 10}, many};
    fx_check_status(run_session(1, &in), GPUC_INVALID_DATA, "count|beyond 0 to 10");
    free(many);
}

/* ---- Sizes without a bound: memory is found as the program runs ---- */

static double counted_twice(int64_t i, const void *arg)
{
    (void)arg;
    return 2 * (double)i + 1;
}

/* Positions up to a number that is an input, and what is computed of them. */
static void counting(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t counts[] = {5, 0, 1, 1000, 60000, 3};
    gpuc_rexpr *number = input(ctx, "n", GPUC_INT64, 0, NULL);
    gpuc_ptrs reads = {0};
    gpuc_expr length = gpuc_relay_read_size(ctx, &reads, "count", number, NULL);
    gpuc_rexpr *args[] = {scalar(ctx, 0), scalar(ctx, 0), scalar(ctx, 1)};
    gpuc_rexpr *all =
        gpuc_relay_op(ctx, "arange", gpuc_attrs_sizes(ctx, NULL, "length", 1, &length), 3, args);
    gpuc_rexpr *twice = fx_op2(ctx, "multiply", all, scalar(ctx, 2));
    gpuc_rexpr *outs[] = {fx_op2(ctx, "add", twice, scalar(ctx, 1)), fx_op1(ctx, "sum", NULL, twice)};
    build_with_reads(ctx, 2, outs, 1, &number, &reads);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const run_array in = {GPUC_INT64, 0, {0}, &counts[i]};
        ok(run_session(1, &in));
        check(0, 1, &counts[i], counted_twice, NULL);
        int ndim;
        const int64_t *have;
        double sum = (double)((const float *)run_output(1, &ndim, &have))[0], n = (double)counts[i];
        assert_true(ndim == 0 && fabs(sum - n * (n - 1)) <= 1e-3 * n * n);
    }
    static const int64_t wrong[] = {-1, INT64_MIN, (INT64_C(1) << 31) + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const run_array in = {GPUC_INT64, 0, {0}, &wrong[i]};
        fx_check_status(run_session(1, &in), GPUC_INVALID_DATA, "count|beyond 0 to 2147483648");
    }
}

typedef struct grid {
    int64_t rows, columns;
} grid;

static double cell(int64_t i, const void *arg)
{
    const grid *g = arg;
    return (double)(i / g->columns % g->rows) * 10;
}

/* Two sizes, one of which depends on what has the other as its extent; an intermediate result has both. */
static void sizes_of_sizes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *n = input(ctx, "n", GPUC_INT64, 0, NULL);
    gpuc_ptrs reads = {0};
    gpuc_expr dims[2] = {gpuc_relay_read_size(ctx, &reads, "rows", n, NULL)}, one = gpuc_int(ctx, 1);
    gpuc_rexpr *args[] = {scalar(ctx, 0), scalar(ctx, 0), scalar(ctx, 10)};
    gpuc_rexpr *column =
        gpuc_relay_op(ctx, "arange", gpuc_attrs_sizes(ctx, NULL, "length", 1, dims), 3, args);
    gpuc_rexpr *total = fx_op1(ctx, "cast", "dtype=int64", fx_op1(ctx, "sum", NULL, column));
    dims[1] = gpuc_relay_read_size(ctx, &reads, "columns", total, NULL);
    gpuc_expr tall[] = {dims[0], one};
    column = gpuc_relay_op1(ctx, "reshape", gpuc_attrs_sizes(ctx, NULL, "newshape", 2, tall), column);
    gpuc_rexpr *wide =
        gpuc_relay_op1(ctx, "broadcast_to", gpuc_attrs_sizes(ctx, NULL, "shape", 2, dims), column);
    gpuc_rexpr *sums = fx_op1(ctx, "sum", "axis=[1] keepdims=1", wide), *outs[] = {wide, sums};
    build_with_reads(ctx, 2, outs, 1, &n, &reads);
    for (int64_t rows = 6; rows >= 0; rows -= 2) {
        const run_array in = {GPUC_INT64, 0, {0}, &rows};
        int64_t want[] = {rows, 5 * rows * (rows - 1)}, tall_want[] = {rows, 1};
        grid g = {rows, want[1]};
        ok(run_session(1, &in));
        check(0, 2, want, cell, &g);
        int ndim;
        const int64_t *have;
        const float *v = run_output(1, &ndim, &have);
        assert_true(ndim == 2 && have[0] == tall_want[0] && have[1] == 1);
        for (int64_t i = 0; i < rows; i++) assert_true((double)v[i] == 10 * (double)(i * want[1]));
    }
}

/* Nothing has it among its extents, but its number is asked for. */
static void sizes_that_are_data(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, 40)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 1, dims);
    gpuc_ptrs reads = {0};
    gpuc_expr n = gpuc_relay_read_size(ctx, &reads, "count", count_positive(ctx, x), dims[0]);
    gpuc_rexpr *shape = fx_op1(ctx, "shape_of", NULL, gpuc_relay_truncate(ctx, x, 0, n));
    gpuc_rexpr *out = fx_op1(ctx, "cast", "dtype=float32", shape);
    build_with_reads(ctx, 1, &out, 1, &x, &reads);
    float *v = ramp(40);
    const run_array in = {GPUC_FLOAT32, 1, {40}, v};
    ok(run_session(1, &in));
    int ndim;
    const int64_t *have;
    const float *count = run_output(0, &ndim, &have);
    assert_true(ndim == 1 && have[0] == 1 && (int64_t)count[0] == positives(v, 40));
    free(v);
}

/* ---- Extents of inputs ---- */

typedef struct pair {
    int64_t n, m;
    const float *x, *y;
} pair;

static double broadcast_sum(int64_t i, const void *arg)
{
    const pair *p = arg;
    return (double)p->x[p->n == 1 ? 0 : i] + (double)p->y[p->m == 1 ? 0 : i];
}

/* Two symbols meet: equal, or one of them is 1. */
static void symbols_that_meet(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t fits[][2] = {{5, 5}, {1, 7}, {9, 1}, {1, 1}, {0, 1}, {0, 0}};
    gpuc_expr n = size(ctx, "n"), m = size(ctx, "m");
    gpuc_rexpr *in[] = {input(ctx, "x", GPUC_FLOAT32, 1, &n), input(ctx, "y", GPUC_FLOAT32, 1, &m)};
    build(ctx, fx_op2(ctx, "add", in[0], in[1]), 2, in);
    float *x = ramp(10), *y = ramp(10);
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++) {
        pair p = {fits[i][0], fits[i][1], x, y};
        const run_array a[] = {{GPUC_FLOAT32, 1, {p.n}, x}, {GPUC_FLOAT32, 1, {p.m}, y}};
        ok(run_session(2, a));
        int64_t want = p.n == 1 ? p.m : p.n;
        check(0, 1, &want, broadcast_sum, &p);
    }
    const run_array wrong[] = {{GPUC_FLOAT32, 1, {3}, x}, {GPUC_FLOAT32, 1, {4}, y}};
    fx_check_status(run_session(2, wrong), GPUC_INVALID_ARGUMENT, "n and m do not broadcast");
    free(x);
    free(y);
}

static double same(int64_t i, const void *x)
{
    return (double)((const float *)x)[i];
}

/* A reshape that must divide. */
static void reshapes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = size(ctx, "n"), dims[] = {gpuc_int(ctx, 4), gpuc_int(ctx, -1)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 1, &n);
    gpuc_rexpr *y = gpuc_relay_op1(ctx, "reshape", gpuc_attrs_sizes(ctx, NULL, "newshape", 2, dims), x);
    build(ctx, fx_op1(ctx, "nn.relu", NULL, fx_op1(ctx, "nn.relu", NULL, y)), 1, &x);
    float *v = ramp(24);
    for (int i = 0; i < 24; i++) v[i] = v[i] < 0 ? 0 : v[i];
    for (int64_t k = 0; k <= 24; k += 4) {
        const run_array in = {GPUC_FLOAT32, 1, {k}, v};
        ok(run_session(1, &in));
        int64_t want[] = {4, k / 4};
        check(0, 2, want, same, v);
    }
    const run_array wrong = {GPUC_FLOAT32, 1, {10}, v};
    fx_check_status(run_session(1, &wrong), GPUC_INVALID_ARGUMENT, "reshape|n elements do not divide");
    free(v);
}

typedef struct product {
    int64_t rows, depth, columns;
    const float *x, *w;
} product;

static double dot(int64_t i, const void *arg)
{
    const product *p = arg;
    double sum = 0;
    for (int64_t k = 0; k < p->depth; k++)
        sum += (double)p->x[i / p->columns * p->depth + k] * (double)p->w[k * p->columns + i % p->columns];
    return sum > 0 ? sum : 0;
}

/* A matrix product of any number of rows, depth and columns. */
static void products(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t sizes[][3] = {{1, 1, 1},    {5, 3, 7}, {16, 32, 24},
                                       {33, 17, 50}, {0, 4, 4}, {4, 0, 4}};
    gpuc_expr rows = size(ctx, "r"), depth = size(ctx, "k"), columns = size(ctx, "c");
    gpuc_expr a[] = {rows, depth}, b[] = {depth, columns};
    gpuc_rexpr *in[] = {input(ctx, "x", GPUC_FLOAT32, 2, a), input(ctx, "w", GPUC_FLOAT32, 2, b)};
    build(ctx, fx_op1(ctx, "nn.relu", NULL, fx_op2(ctx, "nn.matmul", in[0], in[1])), 2, in);
    float *x = ramp(2000), *w = ramp(2000);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        product p = {sizes[i][0], sizes[i][1], sizes[i][2], x, w};
        const run_array arrays[] = {{GPUC_FLOAT32, 2, {p.rows, p.depth}, x},
                                    {GPUC_FLOAT32, 2, {p.depth, p.columns}, w}};
        ok(run_session(2, arrays));
        int64_t want[] = {p.rows, p.columns};
        check(0, 2, want, dot, &p);
    }
    const run_array wrong[] = {{GPUC_FLOAT32, 2, {2, 3}, x}, {GPUC_FLOAT32, 2, {4, 5}, w}};
    fx_check_status(run_session(2, wrong), GPUC_INVALID_ARGUMENT, "'w'|dimension 0 is 4|'k', which is 3");
    free(x);
    free(w);
}

static double sum_of(int64_t i, const void *arg)
{
    const product *p = arg;
    double sum = 0;
    for (int64_t k = 0; k < p->depth; k++) sum += (double)p->x[i * p->depth + k];
    return sum;
}

/* A device that ends loops early gets kernels with unrolled loops; what is too long even so is
 * refused, never cut short. */
static void long_loops(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr rows = size(ctx, "rows"), depth = size(ctx, "depth"), one = gpuc_int(ctx, 1);
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, (gpuc_expr[]){rows, depth}),
               *w = input(ctx, "w", GPUC_FLOAT32, 2, (gpuc_expr[]){depth, one}), *params[] = {x, w};
    build(ctx, fx_op2(ctx, "nn.matmul", x, w), 2, params);
    const int64_t depths[] = {0, 1, 65534, 70001, 1 << 21};
    float *v = ramp(2 << 21), *ones = calloc(1 << 21, sizeof *ones);
    for (int64_t i = 0; i < 1 << 21; i++) ones[i] = 1;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        product p = {.rows = 2, .depth = depths[i], .x = v};
        const run_array in[] = {{GPUC_FLOAT32, 2, {2, depths[i]}, v},
                                {GPUC_FLOAT32, 2, {depths[i], 1}, ones}};
        gpuc_status status = run_session(2, in);
        if (status && depths[i] == 1 << 21)
            fx_check_status(status, GPUC_UNSUPPORTED,
                            "matmul: one invocation runs |'llvmpipe|ends loops after 65535 (max_iterations)");
        else
            ok(status);
        if (!status) check(0, 2, (int64_t[]){2, 1}, sum_of, &p);
    }
    free(ones);
    free(v);
}

/* Sizes as data: the shape itself, and counting up to an extent. */
static void sizes_as_data(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {size(ctx, "n"), gpuc_int(ctx, 3), size(ctx, "m")};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 3, dims), *shape = fx_op1(ctx, "shape_of", NULL, x);
    const int64_t zero = 0, one = 1;
    gpuc_rexpr *first[] = {shape, gpuc_relay_const_bytes(ctx, GPUC_INT64, 0, NULL, &zero)};
    gpuc_rexpr *range[] = {first[1], fx_op(ctx, "take", "axis=0", 2, first),
                           gpuc_relay_const_bytes(ctx, GPUC_INT64, 0, NULL, &one)};
    gpuc_rexpr *outs[] = {fx_op2(ctx, "multiply", shape, shape), fx_op(ctx, "arange", NULL, 3, range)};
    build(ctx, gpuc_relay_tuple(ctx, 2, outs), 1, &x);
    float *v = ramp(100);
    for (int64_t n = 0; n < 5; n += 2) {
        const run_array in = {GPUC_FLOAT32, 3, {n, 3, n + 1}, v};
        ok(run_session(1, &in));
        int ndim;
        const int64_t *have, *squares = run_output(0, &ndim, &have);
        assert_true(ndim == 1 && have[0] == 3);
        assert_true(squares[0] == n * n && squares[1] == 9 && squares[2] == (n + 1) * (n + 1));
        const int64_t *counted = run_output(1, &ndim, &have);
        assert_true(ndim == 1 && have[0] == n);
        for (int64_t i = 0; i < n; i++) assert_true(counted[i] == i);
    }
    free(v);
}

/* ---- Ranks and empty tensors ---- */

static double twice(int64_t i, const void *x)
{
    return 2 * (double)((const float *)x)[i];
}

/* From no dimension to eight, with extents of 0 and 1 among them. */
static void ranks(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t extents[] = {2, 1, 3, 1, 2, 2, 1, 3};
    float *v = ramp(72);
    for (int ndim = 0; ndim <= 8; ndim++)
        for (int empty = 0; empty < 2; empty++) {
            run_array in = {GPUC_FLOAT32, ndim, {0}, v};
            gpuc_expr dims[8];
            for (int i = 0; i < ndim; i++) {
                in.dims[i] = empty && i == ndim / 2 ? 0 : extents[i];
                dims[i] = gpuc_int(ctx, in.dims[i]);
            }
            gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, ndim, dims);
            build(ctx, fx_op2(ctx, "add", x, x), 1, &x);
            ok(run_session(1, &in));
            check(0, ndim, in.dims, twice, v);
        }
    free(v);
}

/* One of two results without elements is an output, and no step makes the other. */
static void none_of_two(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    float *v = ramp(5);
    run_array in = {GPUC_FLOAT32, 1, {5}, v};
    gpuc_expr dims[] = {gpuc_int(ctx, 5)};
    for (int i = 0; i < 2; i++) {
        gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 1, dims);
        const gpuc_attrs *a = gpuc_attrs_int(ctx, NULL, "k", 0);
        gpuc_rexpr *both = gpuc_relay_op1(ctx, "topk", gpuc_attrs_dtype(ctx, a, "dtype", GPUC_INT64), x);
        build(ctx, gpuc_relay_get(ctx, both, i), 1, &x);
        ok(run_session(1, &in));
        int ndim;
        const int64_t *have;
        run_output(0, &ndim, &have);
        assert_true(ndim == 1 && have[0] == 0);
    }
    free(v);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fx_test(first_rows),          fx_test(first_columns),     fx_test(counting), fx_test(sizes_of_sizes),
        fx_test(sizes_that_are_data), fx_test(symbols_that_meet), fx_test(reshapes), fx_test(products),
        fx_test(long_loops),          fx_test(sizes_as_data),     fx_test(ranks),    fx_test(none_of_two),
    };
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
