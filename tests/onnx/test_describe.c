/* SPDX-License-Identifier: Apache-2.0 */
/* What a model says of itself, without being built. */
#include "../relay_pass/interp.h"
#include "onnx/onnx.h"
#include "writer.h"

#include <unistd.h>

/* y = If(c, Reshape(x, s) + w, custom(x)), where the inner graphs read names of the outer one. */
static void write_model(const char *path, int ir_version)
{
    wr_model m, inner;
    gpuc_buf file, node, attribute;
    float w[6] = {0};
    wr_begin(&m, 13);
    m.ir_version = ir_version;
    wr_input(&m, "x", 1, "2,N,?");
    wr_input(&m, "s", 7, "2");
    wr_input(&m, "w", 1, "6");
    wr_input(&m, "c", 9, "");
    wr_input(&m, "words", 8, NULL);
    wr_input(&m, "both", 7, "2"); /* a shape here, numbers there */
    wr_floats(&m, "w", "6", w);
    wr_floats(&m, "bias", "2,3", w);
    wr_output_as(&m, "y", 16, "M");
    wr_begin(&inner, 13);
    wr_node(&inner, "Reshape", "x,s", "r", NULL);
    wr_node(&inner, "Add", "r,w", "t", NULL);
    wr_output(&inner, "t");
    gpuc_buf_init(&attribute, (gpuc_allocator){0});
    wr_str(&attribute, 1, "then_branch");
    wr_msg(&attribute, 6, &inner.graph);
    wr_node_begin(&node, "If", "c", "q", NULL);
    wr_msg(&node, 5, &attribute);
    wr_msg(&m.graph, 1, &node);
    wr_node_begin(&node, "Twice", "q", "u", NULL);
    wr_str(&node, 7, "com.example");
    wr_msg(&m.graph, 1, &node);
    wr_node(&m, "Reshape", "u,both", "v", NULL);
    wr_node(&m, "Abs", "both", "z", NULL);
    wr_node(&m, "Add", "v,bias", "y", NULL);
    wr_end(&m, &file);
    GPUC_CHECK(!gpuc_file_put(NULL, path, file.data, file.size));
    gpuc_buf_deinit(&file);
}

static void described(gpuc_ctx *ctx, void *arg)
{
    const char *path = gpuc_ctx_printf(ctx, "/tmp/gpuc-test-describe-%d.onnx", (int)getpid());
    (void)arg;
    write_model(path, 8);
    const gpuc_onnx_description *d = gpuc_onnx_describe(ctx, path);
    assert_int_equal(d->ir_version, 8);
    assert_int_equal(d->opset, 13);
    assert_string_equal(d->producer, "");
    assert_int_equal(d->num_inputs, 6);
    const gpuc_onnx_value *x = &d->inputs[0], *s = &d->inputs[1], *w = &d->inputs[2], *words = &d->inputs[4];
    assert_string_equal(x->name, "x");
    assert_true(x->is_tensor && x->has_shape && gpuc_dtype_equal(x->dtype, GPUC_FLOAT32));
    assert_int_equal(x->ndim, 3);
    assert_int_equal(x->dims[0], 2);
    assert_int_equal(x->dims[1], -1);
    assert_string_equal(x->dim_names[1], "N");
    assert_int_equal(x->dims[2], -1);
    assert_string_equal(x->dim_names[2], "");
    assert_false(x->decides_shape || x->has_default);
    assert_true(s->decides_shape); /* in the inner graph */
    assert_true(w->has_default);
    assert_false(w->decides_shape);
    assert_false(d->inputs[5].decides_shape);
    assert_int_equal(d->inputs[3].ndim, 0);
    assert_true(d->inputs[3].has_shape);
    assert_true(words->is_tensor && !words->has_shape && words->elem_type == 8 && words->dtype.bits == 0);
    assert_int_equal(d->num_outputs, 1);
    assert_true(gpuc_dtype_equal(d->outputs[0].dtype, GPUC_BFLOAT16));
    assert_string_equal(d->outputs[0].dim_names[0], "M");
    assert_int_equal(d->num_initializers, 2);
    assert_string_equal(d->initializers[1].name, "bias");
    assert_int_equal(d->initializers[1].dims[1], 3);
    assert_int_equal(d->num_operators, 5);
    static const char *const names[] = {"If", "Reshape", "Add", "Twice", "Abs"};
    for (int i = 0; i < 5; i++) assert_string_equal(d->operators[i].name, names[i]);
    assert_int_equal(d->operators[2].count, 2);
    assert_string_equal(d->operators[0].domain, "");
    assert_string_equal(d->operators[3].domain, "com.example");
    write_model(path, 3); /* which means constants by initializers */
    d = gpuc_onnx_describe(ctx, path);
    assert_int_equal(d->num_inputs, 5);
    assert_string_equal(d->inputs[2].name, "c");
    remove(path);
}

static void describe_path(gpuc_ctx *ctx, void *arg)
{
    gpuc_onnx_describe(ctx, arg);
}

static void no_models(gpuc_ctx *ctx, void *arg)
{
    char *path = gpuc_ctx_printf(ctx, "/tmp/gpuc-test-describe-%d.onnx", (int)getpid());
    (void)arg;
    gpuc_status status = gpuc_ctx_protect(ctx, describe_path, path);
    assert_int_equal(gpuc_status_code(status), GPUC_NOT_FOUND);
    gpuc_status_release(status);
    static const char *const bytes[] = {"", "no model at all"};
    for (int i = 0; i < 2; i++) {
        GPUC_RAISE_IF(ctx, gpuc_file_put(NULL, path, bytes[i], strlen(bytes[i])));
        status = gpuc_ctx_protect(ctx, describe_path, path);
        assert_int_equal(gpuc_status_code(status), GPUC_INVALID_DATA);
        assert_non_null(strstr(gpuc_status_message(status), path));
        gpuc_status_release(status);
    }
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(described),
        fx_test(no_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
