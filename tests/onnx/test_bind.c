/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are given when building. */
#include "../relay_pass/interp.h"
#include "load.h"

typedef struct bind_case {
    const char *shape_dims; /* of the input "shape" */
    const char *name;
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[2];
} bind_case;

static const int64_t new_shape[] = {3, 2};

/* y = Reshape(x, shape) + k */
static gpuc_rmodule *load_bound(gpuc_ctx *ctx, const bind_case *c)
{
    wr_model m;
    gpuc_buf file;
    float one = 1;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_input(&m, "shape", 7, c->shape_dims);
    wr_floats(&m, "k", "1", &one);
    wr_output(&m, "y");
    wr_node(&m, "Reshape", "x,shape", "r", NULL);
    wr_node(&m, "Add", "r,k", "y", NULL);
    wr_end(&m, &file);
    const gpuc_onnx_bind bind = {
        .name = c->name, .dtype = c->dtype, .ndim = c->ndim, .dims = c->dims, .data = new_shape};
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.binds = &bind;
    options.num_binds = 1;
    return wr_load(ctx, &file, ".", &options);
}

static void the_input_is_gone(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const dims[] = {"2", "N", NULL};
    for (int i = 0; i < 3; i++) {
        gpuc_rmodule *m = load_bound(ctx, &(bind_case){dims[i], "shape", GPUC_INT64, 1, {2}});
        const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
        int64_t out[2];
        assert_int_equal(f->n, 1);
        assert_string_equal(gpuc_as_rvar(f->params[0])->name, "x");
        assert_true(gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(f->body), out));
        assert_int_equal(out[0], 3);
        assert_int_equal(out[1], 2);
    }
}

static void load_case(gpuc_ctx *ctx, void *arg)
{
    load_bound(ctx, arg);
}

static void what_does_not_fit(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
#define WRONG(words, ...)                                                                                    \
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, words, load_case, &(bind_case){"2", __VA_ARGS__})
    WRONG("--bind names 'shap'|no input", "shap", GPUC_INT64, 1, {2});
    WRONG("--bind k|has a value already", "k", GPUC_FLOAT32, 1, {1});
    WRONG("--bind shape|of type float32|int64", "shape", GPUC_FLOAT32, 1, {2});
    WRONG("--bind shape|0 dimensions|1", "shape", GPUC_INT64, 0, {0});
    WRONG("--bind shape|dimension 0|is 1|2", "shape", GPUC_INT64, 1, {1});
}

/* A symbolic dimension of the bound input is known to the others. */
static void symbols(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    gpuc_buf file;
    const int64_t repeats[] = {2, 1}, dims[] = {2};
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "rank,3");
    wr_input(&m, "repeats", 7, "rank");
    wr_output(&m, "y");
    wr_node(&m, "Tile", "x,repeats", "y", NULL);
    wr_end(&m, &file);
    const gpuc_onnx_bind bind = {
        .name = "repeats", .dtype = GPUC_INT64, .ndim = 1, .dims = dims, .data = repeats};
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.binds = &bind;
    options.num_binds = 1;
    gpuc_rmodule *r = wr_load(ctx, &file, ".", &options);
    int64_t out[2];
    assert_true(gpuc_relay_tensor_type_static(
        gpuc_relay_tensor_type(gpuc_as_rfunction(gpuc_rmodule_get(r, "main"))->body), out));
    assert_int_equal(out[0], 4);
}

static void which_operands(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    assert_true(gpuc_onnx_decides_shape("Reshape", 1));
    assert_true(gpuc_onnx_decides_shape("Slice", 4));
    assert_false(gpuc_onnx_decides_shape("Reshape", 0));
    assert_false(gpuc_onnx_decides_shape("Pad", 2));
    assert_false(gpuc_onnx_decides_shape("Gather", 1));
    assert_false(gpuc_onnx_decides_shape("Reshape", 33));
    assert_false(gpuc_onnx_decides_shape("Reshape", -1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(the_input_is_gone),
        fx_test(what_does_not_fit),
        fx_test(symbols),
        fx_test(which_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
