/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions that store into their part of a concatenation, against the same that store alone. */
#include "run.h"

#include "executor/model.h"

enum { MAX = 4 };

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

typedef struct branches {
    gpuc_rexpr *x;
    int n;
    gpuc_rexpr *at[MAX];
    const char *axis;
} branches;

typedef void make_branches(gpuc_ctx *ctx, gpuc_expr rows, branches *out);

static gpuc_rexpr *weight(gpuc_ctx *ctx, int ndim, const int64_t *dims)
{
    fx_rng rng = {.state = (uint64_t)(dims[0] * 31 + dims[1])};
    return fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, ndim, dims), &rng);
}

static gpuc_rexpr *input(gpuc_ctx *ctx, gpuc_expr rows, int ndim, const int64_t *dims)
{
    gpuc_expr list[4] = {rows};
    for (int i = 1; i < ndim; i++) list[i] = gpuc_int(ctx, dims[i]);
    return gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, ndim, list));
}

static gpuc_rexpr *product(gpuc_ctx *ctx, gpuc_rexpr *x, int64_t columns)
{
    return fx_op2(ctx, "nn.matmul", x, weight(ctx, FX_DIMS(7, columns)));
}

static gpuc_rexpr *convolution(gpuc_ctx *ctx, gpuc_rexpr *x, int64_t channels, int64_t size)
{
    gpuc_rexpr *args[] = {x, weight(ctx, FX_DIMS(channels, 6, size, size))};
    return fx_op(ctx, "nn.conv2d",
                 size == 3 ? "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=1"
                           : "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1] groups=1",
                 2, args);
}

static void products(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    out->x = input(ctx, rows, FX_DIMS(0, 7));
    out->at[0] = product(ctx, out->x, 8);
    out->at[1] = fx_op1(ctx, "nn.relu", NULL, product(ctx, out->x, 20));
    out->at[2] = fx_op1(ctx, "tanh", NULL, product(ctx, out->x, 36));
    out->n = 3;
    out->axis = "axis=-1";
}

static void rows_of_products(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    (void)rows;
    out->x = input(ctx, gpuc_int(ctx, 3), FX_DIMS(3, 7));
    out->at[0] = product(ctx, out->x, 12);
    out->at[1] = fx_op1(ctx, "negative", NULL, product(ctx, out->x, 12));
    out->n = 2;
    out->axis = "axis=0";
}

static void convolutions(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    out->x = input(ctx, rows, FX_DIMS(0, 6, 9, 11));
    out->at[0] = convolution(ctx, out->x, 16, 1);
    out->at[1] = fx_op1(ctx, "nn.relu", NULL, convolution(ctx, out->x, 32, 3));
    out->at[2] = fx_op1(ctx, "nn.relu", NULL, convolution(ctx, out->x, 24, 3));
    out->n = 3;
    out->axis = "axis=1";
}

static void odd(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    out->x = input(ctx, rows, FX_DIMS(0, 7));
    out->at[0] = product(ctx, out->x, 5);
    out->at[1] = product(ctx, out->x, 8);
    out->n = 2;
    out->axis = "axis=1";
}

static void used_twice(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    products(ctx, rows, out);
    out->at[1] = fx_op1(ctx, "nn.softmax", "axis=-1", out->at[0]);
    out->n = 2;
}

static void read_by_product(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    products(ctx, rows, out);
    out->at[1] = fx_op2(ctx, "nn.matmul", out->at[0], weight(ctx, FX_DIMS(8, 20)));
    out->n = 2;
}

static void elementwise(gpuc_ctx *ctx, gpuc_expr rows, branches *out)
{
    out->x = input(ctx, rows, FX_DIMS(0, 8));
    out->at[0] = fx_op1(ctx, "exp", NULL, out->x);
    out->at[1] = fx_op1(ctx, "tanh", NULL, out->x);
    out->n = 2;
    out->axis = "axis=1";
}

static int count_joined(void)
{
    const gpuc_exec *e = run_model()->exec;
    int n = 0;
    for (uint32_t i = 0; i < e->num_nodes; i++) n += !e->nodes[i].num_steps && e->nodes[i].num_inputs > 1;
    return n;
}

static void run(const branches *b, int64_t rows)
{
    static float data[4096];
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(b->x);
    run_array a = {.dtype = GPUC_FLOAT32, .ndim = t->ndim, .bytes = data};
    int64_t count = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (!gpuc_expr_is_int(t->dims[i], &a.dims[i])) a.dims[i] = rows;
        count *= a.dims[i];
    }
    assert_true((size_t)count <= sizeof data / sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    ok(run_session(1, &a));
}

/* Elements of a row, from the axis on. */
static int64_t row_length(int ndim, const int64_t *dims, int axis)
{
    int64_t n = 1;
    for (int i = axis; i < ndim; i++) n *= dims[i];
    return n;
}

static void check(gpuc_ctx *ctx, make_branches *make, bool symbolic, int64_t rows, int joined)
{
    branches b;
    gpuc_expr extent = symbolic ? gpuc_var(ctx, "n", GPUC_INDEX) : gpuc_int(ctx, rows);
    make(ctx, extent, &b);
    gpuc_rexpr *whole = fx_op(ctx, "concatenate", b.axis, b.n, b.at);
    ok(run_build(ctx, fx_module(ctx, whole, 1, &b.x)));
    assert_int_equal(count_joined(), joined);
    run(&b, rows);
    int ndim, axis = (int)gpuc_attrs_get_int(gpuc_as_rcall(whole)->attrs, "axis", 0);
    const int64_t *dims;
    const float *out = run_output(0, &ndim, &dims);
    if (axis < 0) axis += ndim;
    int64_t all = row_length(ndim, dims, 0), length = row_length(ndim, dims, axis), begin = 0;
    float *got = malloc(sizeof *got * (size_t)all);
    assert_non_null(got);
    memcpy(got, out, sizeof *got * (size_t)all);
    make(ctx, extent, &b); /* a build uses constants up */
    ok(run_build(ctx, fx_module(ctx, gpuc_relay_tuple(ctx, b.n, b.at), 1, &b.x)));
    assert_int_equal(count_joined(), 0);
    run(&b, rows);
    for (int i = 0; i < b.n; i++) {
        const float *part = run_output(i, &ndim, &dims);
        int64_t own = row_length(ndim, dims, axis);
        for (int64_t r = 0; r < all / length; r++)
            for (int64_t k = 0; k < own; k++)
                if (got[r * length + begin + k] != part[r * own + k])
                    fail_msg("branch %d, row %lld, element %lld: %g is stored, %g is right", i, (long long)r,
                             (long long)k, (double)got[r * length + begin + k], (double)part[r * own + k]);
        begin += own;
    }
    assert_int_equal(begin, length);
    free(got);
}

static void are_stored_in_place(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    check(ctx, products, false, 5, 1);
    check(ctx, products, false, 1, 1);
    check(ctx, rows_of_products, false, 3, 1);
    check(ctx, convolutions, false, 1, 1);
    check(ctx, convolutions, false, 3, 1);
}

static void rows_of_any_number(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    check(ctx, products, true, 13, 1);
    check(ctx, convolutions, true, 2, 1);
}

static void others_are_copied(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    check(ctx, odd, false, 4, 0);
    check(ctx, used_twice, false, 4, 0);
    check(ctx, read_by_product, false, 4, 0);
    check(ctx, elementwise, false, 4, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(are_stored_in_place), fx_test(rows_of_any_number),
                                       fx_test(others_are_copied)};
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
