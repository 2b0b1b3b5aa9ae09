/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers that are inputs of the graph, too: a run may give others. */
#include "../onnx/load.h"
#include "run.h"

static const float values[] = {1, 2, 3}, given[] = {10, 20, 30};
static const gpuc_onnx_options defaults = {.struct_size = sizeof defaults, .keep_symbolic = true};

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

/* y = reshape(x + k, s): k and s are initializers and inputs. */
static void model(wr_model *m, const char *dims)
{
    static const int64_t shape[] = {1, -1};
    wr_begin(m, 13);
    wr_input(m, "x", 1, "3");
    wr_input(m, "k", 1, dims);
    wr_input(m, "s", 7, "2");
    wr_floats(m, "k", "3", values);
    wr_ints(m, "s", "2", shape);
    wr_output(m, "y");
    wr_node(m, "Add", "x,k", "t", NULL);
    wr_node(m, "Reshape", "t,s", "y", NULL);
}

static gpuc_rmodule *load(gpuc_ctx *ctx, wr_model *m, const gpuc_onnx_options *options)
{
    gpuc_buf file;
    wr_end(m, &file);
    return wr_load(ctx, &file, ".", options);
}

static void check(gpuc_session *s, const float *k)
{
    gpuc_ndarray *y;
    float got[3];
    ok(gpuc_session_run(s));
    ok(gpuc_session_get_output(s, 0, &y));
    ok(gpuc_ndarray_read(y, got, sizeof got));
    for (int i = 0; i < 3; i++) assert_float_equal(got[i], 100 + k[i], 0);
}

static void given_or_not(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    model(&m, "3");
    ok(run_build(ctx, load(ctx, &m, &defaults)));
    static const float x[] = {100, 100, 100};
    const run_array in[] = {{GPUC_FLOAT32, 1, {3}, x}, {GPUC_FLOAT32, 1, {3}, given}};
    gpuc_session *s, *other;
    assert_int_equal(gpuc_model_num_inputs(run_model()), 2); /* what decides a shape is a constant */
    assert_false(gpuc_model_input(run_model(), 0).has_default);
    assert_true(gpuc_model_input(run_model(), 1).has_default);
    ok(gpuc_session_create(run_model(), &s));
    ok(gpuc_session_create(run_model(), &other));
    fx_check_status(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "input 'x' has not been set");
    ok(run_set_input(s, 0, &in[0]));
    ok(run_set_input(other, 0, &in[0]));
    check(s, values);
    ok(run_set_input(s, 1, &in[1]));
    check(s, given);
    check(other, values); /* another session keeps it */
    ok(gpuc_session_bind_input(s, 1, NULL));
    check(s, values);
    gpuc_session_release(s);
    gpuc_session_release(other);
}

static void may_be_constants(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_onnx_options options = defaults;
    wr_model m;
    options.constant_defaults = true;
    model(&m, "3");
    ok(run_build(ctx, load(ctx, &m, &options)));
    assert_int_equal(gpuc_model_num_inputs(run_model()), 1);
    static const int64_t shape[] = {3, 1}, three = 3, two = 2;
    const gpuc_onnx_bind binds[] = {{"k", GPUC_FLOAT32, 1, &three, given}, {"s", GPUC_INT64, 1, &two, shape}};
    options = defaults;
    options.binds = binds;
    options.num_binds = 2;
    model(&m, "3");
    ok(run_build(ctx, load(ctx, &m, &options)));
    assert_int_equal(gpuc_model_num_inputs(run_model()), 1);
    assert_int_equal(gpuc_model_output(run_model(), 0).dims[0], 3);
}

/* An input without a shape has that of its default; one with an open shape may be given of another. */
static void shapes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    model(&m, NULL);
    ok(run_build(ctx, load(ctx, &m, &defaults)));
    assert_int_equal(gpuc_model_input(run_model(), 1).dims[0], 3);
    model(&m, "N");
    ok(run_build(ctx, load(ctx, &m, &defaults)));
    static const float x[] = {100, 100, 100}, one = 7, sevens[] = {7, 7, 7};
    const run_array in[] = {{GPUC_FLOAT32, 1, {3}, x}, {GPUC_FLOAT32, 1, {1}, &one}};
    gpuc_session *s;
    ok(gpuc_session_create(run_model(), &s));
    ok(run_set_input(s, 0, &in[0]));
    check(s, values);
    ok(run_set_input(s, 1, &in[1]));
    check(s, sevens);
    gpuc_session_release(s);
}

static void load_wrong(gpuc_ctx *ctx, void *arg)
{
    load(ctx, arg, &defaults);
}

static void wrong_defaults(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    model(&m, "4");
    fx_expect(ctx, GPUC_INVALID_DATA, "dimension 0 of input 'k' is 4, of its initializer 3", load_wrong, &m);
    model(&m, "3,1");
    fx_expect(ctx, GPUC_INVALID_DATA, "input 'k' has 2 dimensions, its initializer 1", load_wrong, &m);
    model(&m, "3");
    wr_floats(&m, "k", "3", values);
    fx_expect(ctx, GPUC_INVALID_DATA, "two initializers are named 'k'", load_wrong, &m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fx_test(given_or_not),
        fx_test(may_be_constants),
        fx_test(shapes),
        fx_test(wrong_defaults),
    };
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
