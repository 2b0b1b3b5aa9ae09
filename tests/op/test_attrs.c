/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute lists, and how rows check and complete them. */
#include <math.h>

#include "../relay/fixture.h"

static const char *print(gpuc_ctx *ctx, const gpuc_attrs *a)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_op_attrs_print(ctx, &text, a, false);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

static void lists_are_sorted_and_immutable(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    int64_t two[] = {2, 3};
    double scales[] = {0.5, 2};
    const gpuc_attrs *a = gpuc_attrs_int(ctx, NULL, "m", 1), *b = gpuc_attrs_ints(ctx, a, "a", 2, two);
    const gpuc_attrs *c = gpuc_attrs_string(ctx, b, "z", "reflect"),
                     *d = gpuc_attrs_floats(ctx, c, "f", 2, scales);
    d = gpuc_attrs_dtype(ctx, gpuc_attrs_float(ctx, d, "g", 0.1), "t", GPUC_FLOAT16);
    assert_string_equal(print(ctx, d),
                        "a=[2, 3], f=[0.5, 2], g=0.10000000000000001, m=1, t=float16, z=\"reflect\"");
    assert_string_equal(print(ctx, a), "m=1");
    assert_int_equal(a->count, 1);
    two[0] = 9; /* lists copy */
    assert_int_equal(gpuc_attrs_find(d, "a")->ints[0], 2);
    const gpuc_attrs *e = gpuc_attrs_int(ctx, d, "m", 7);
    assert_int_equal(e->count, d->count);
    assert_int_equal(gpuc_attrs_get_int(e, "m", 0), 7);
    assert_int_equal(gpuc_attrs_get_int(d, "m", 0), 1);
    assert_int_equal(gpuc_attrs_get_int(d, "nothing", -5), -5);
    assert_true(gpuc_attrs_get_float(d, "g", 0) == 0.1);
    assert_true(gpuc_attrs_get_float(NULL, "g", 3) == 3);
    assert_string_equal(gpuc_attrs_get_string(d, "z", ""), "reflect");
    assert_null(gpuc_attrs_find(NULL, "m"));
}

static void order_does_not_matter(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_attrs *a = fx_attrs(ctx, "x=1 y=2.5 z=[1, 2]"), *b = fx_attrs(ctx, "z=[1, 2] y=2.5 x=1");
    assert_true(gpuc_attrs_equal(a, b));
    assert_int_equal(gpuc_attrs_hash(a), gpuc_attrs_hash(b));
    assert_true(gpuc_attrs_equal(NULL, NULL));
    assert_false(gpuc_attrs_equal(a, NULL));
    static const char *const others[] = {"x=1 y=2.5",
                                         "x=1 y=2.5 z=[1, 3]",
                                         "x=1 y=2.5 z=[1]",
                                         "x=1 y=2.0 z=[1, 2]",
                                         "x=1.0 y=2.5 z=[1, 2]",
                                         "x=1 y=2.5 zz=[1, 2]",
                                         "x=1 y=2.5 z=[1.0, 2.0]"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const gpuc_attrs *o = fx_attrs(ctx, others[i]);
        assert_false(gpuc_attrs_equal(a, o));
        assert_int_not_equal(gpuc_attrs_hash(a), gpuc_attrs_hash(o));
    }
    /* floats by their bits */
    const gpuc_attrs *zero = gpuc_attrs_float(ctx, NULL, "x", 0.0),
                     *minus = gpuc_attrs_float(ctx, NULL, "x", -0.0);
    assert_false(gpuc_attrs_equal(zero, minus));
    const gpuc_attrs *nan1 = gpuc_attrs_float(ctx, NULL, "x", NAN),
                     *nan2 = gpuc_attrs_float(ctx, NULL, "x", NAN);
    assert_true(gpuc_attrs_equal(nan1, nan2));
}

static void rows_complete(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_op *lrn = gpuc_op_find("nn.lrn");
    assert_string_equal(print(ctx, gpuc_op_complete_attrs(ctx, lrn, fx_attrs(ctx, "size=3"))),
                        "alpha=0.0001, axis=1, beta=0.75, bias=2, size=3");
    const gpuc_op *clip = gpuc_op_find("clip");
    const gpuc_attrs *a = gpuc_op_complete_attrs(ctx, clip, NULL);
    assert_true(gpuc_attrs_get_float(a, "a_max", 0) == (double)INFINITY);
    assert_string_equal(print(ctx, gpuc_op_complete_attrs(ctx, gpuc_op_find("add"), NULL)), "");
    const gpuc_attrs *full = gpuc_op_complete_attrs(ctx, lrn, NULL);
    assert_ptr_equal(gpuc_op_complete_attrs(ctx, lrn, full), full);
}

typedef struct bad {
    const char *op, *attrs;
} bad;

static void complete_bad(gpuc_ctx *ctx, void *arg)
{
    const bad *b = arg;
    gpuc_op_complete_attrs(ctx, gpuc_op_find(b->op), fx_attrs(ctx, b->attrs));
}

static void bad_attributes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "add|no attribute 'axis'", complete_bad, &(bad){"add", "axis=1"});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "nn.lrn|'size' must be an integer, not a float", complete_bad,
              &(bad){"nn.lrn", "size=1.0"});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "nn.col2im|'image_shape' is missing", complete_bad,
              &(bad){"nn.col2im", NULL});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "cast|'dtype' is missing", complete_bad, &(bad){"cast", NULL});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "nn.conv1d|dilation has 9223372036854775807", complete_bad,
              &(bad){"nn.conv1d", "strides=[1] padding=[0, 0] dilation=[9223372036854775807]"});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "nn.lrn|size has -9223372036854775808", complete_bad,
              &(bad){"nn.lrn", "size=-9223372036854775808"});
}

static void parse(gpuc_ctx *ctx, void *arg)
{
    const bad *b = arg;
    gpuc_op_parse_row_attrs(ctx, gpuc_op_find(b->op), b->attrs);
}

static void texts_are_parsed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        const char *op, *text, *attrs; /* attrs: what it says, or what is wrong, behind an operator's name */
    } cases[] = {
        {"nn.conv2d", "strides=[2, 1]", "strides=[2, 1]"},
        {"nn.conv2d", "strides=[]", "strides=[]"},
        {"nn.conv2d", "strides=3", "strides=[3]"},
        {"nn.conv2d", "strides=[1, 0.5]", "nn.conv2d|integers, as in"},
        {"nn.conv2d", "strides=[1.0, 2]", "nn.conv2d|integers, as in"},
        {"nn.conv2d", "strides=[9223372036854775808]", "nn.conv2d|integers, as in"},
        {"nn.conv2d", "strides=[1, x]", "nn.conv2d|integers, as in"},
        {"nn.conv2d", "strides=[1, 2", "nn.conv2d|"},
        {"nn.lrn", "size=0.5", "nn.lrn|an integer"},
        {"nn.lrn", "alpha=x", "nn.lrn|a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bad b = {cases[i].op, cases[i].text};
        if (strchr(cases[i].attrs, '|'))
            fx_expect(ctx, GPUC_INVALID_ARGUMENT, cases[i].attrs, parse, &b);
        else
            assert_string_equal(print(ctx, gpuc_op_parse_row_attrs(ctx, gpuc_op_find(b.op), b.attrs)),
                                cases[i].attrs);
    }
}

/* Layouts that were renamed: callers may have the old names, and workloads of tuning logs do. */
static void layouts_have_old_names(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_op *conv = gpuc_op_find("nn.conv1d");
    const char *window = "strides=[1] padding=[0, 0] dilation=[1]";
    const gpuc_attrs *by_default = gpuc_op_complete_attrs(ctx, conv, fx_attrs(ctx, window));
    const char *old =
        gpuc_ctx_printf(ctx, "%s data_layout=\"NCS\" kernel_layout=\"OIK\"", window); /* old names */
    assert_string_equal(gpuc_attrs_get_string(by_default, "data_layout", ""), "NCHW");
    assert_string_equal(gpuc_attrs_get_string(by_default, "kernel_layout", ""), "OIHW");
    assert_true(gpuc_attrs_equal(by_default, gpuc_op_complete_attrs(ctx, conv, fx_attrs(ctx, old))));
    gpuc_buf key;
    gpuc_buf_init(&key, ctx->allocator);
    gpuc_op_attrs_print(ctx, &key, by_default, true);
    assert_non_null(strstr(gpuc_buf_cstr(&key), "data_layout=\"NCS\"")); /* old name */
    gpuc_buf_deinit(&key);
}

static void names(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    for (size_t i = 0; i < gpuc_op_count(); i++) {
        const gpuc_op *op = gpuc_op_at(i);
        assert_ptr_equal(gpuc_op_find(op->name), op); /* no name twice */
        assert_non_null(op->infer);
        assert_true(op->max_in < 0 || op->max_in >= op->min_in);
        assert_non_null(op->topi);
        assert_non_null(op->nnvm);
        assert_non_null(op->onnx);
    }
    assert_null(gpuc_op_at(gpuc_op_count()));
    assert_null(gpuc_op_find("nn.conv4d"));
    assert_string_equal(gpuc_op_nearest(ctx, "nn.conv2dd"), "nn.conv2d");
    assert_null(gpuc_op_nearest(ctx, "qqqqqqqqqqqq"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(lists_are_sorted_and_immutable),
        fx_test(order_does_not_matter),
        fx_test(rows_complete),
        fx_test(bad_attributes),
        fx_test(texts_are_parsed),
        fx_test(layouts_have_old_names),
        fx_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
