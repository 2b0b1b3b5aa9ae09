/* SPDX-License-Identifier: Apache-2.0 */
/* topi.<name> from the registry: names, arrays, attributes, what does not fit. A function whose loops are
 * longer than the device's may be. */
#include "../codegen/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/schedule.h>
#include <gpuc/target.h>

#include "op/op.h"

static void ok(gpuc_status s)
{
    if (s) fail_msg("%s", gpuc_status_message(s));
}

static gpuc_ndarray *array(gpuc_device *dev, gpuc_dtype t, int ndim, const int64_t *dims, const void *bytes)
{
    gpuc_ndarray *a;
    ok(gpuc_ndarray_create(run_runtime(), dev, t, ndim, dims, &a));
    if (bytes) ok(gpuc_ndarray_write(a, bytes, gpuc_ndarray_bytes(a)));
    return a;
}

#define DIMS(...)                                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[])                                                 \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

typedef struct call_args {
    int n;
    gpuc_value at[8];
} call_args;

static void add(call_args *c, gpuc_ndarray *a)
{
    c->at[c->n++] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = a};
}

static void add_text(call_args *c, const char *text)
{
    c->at[c->n++] = (gpuc_value){.kind = GPUC_VALUE_STRING, .as.string = text};
}

static void add_int(call_args *c, int64_t i)
{
    c->at[c->n++] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = i};
}

static gpuc_status call(const char *name, const call_args *c)
{
    gpuc_function *f = gpuc_registry_get(run_runtime(), name);
    if (!f) fail_msg("there is no %s", name);
    return gpuc_function_call(f, c->at, c->n, NULL);
}

static void expect(const gpuc_ndarray *a, int n, const float *want)
{
    float got[16];
    ok(gpuc_ndarray_read(a, got, gpuc_ndarray_bytes(a)));
    for (int i = 0; i < n; i++)
        if (got[i] - want[i] > 1e-5f || want[i] - got[i] > 1e-5f)
            fail_msg("%d is %g, not %g", i, got[i], want[i]);
}
#define EXPECT(a, n, ...) expect(a, n, (float[]){__VA_ARGS__})

static void release(call_args *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i].kind == GPUC_VALUE_NDARRAY) gpuc_ndarray_release(c->at[i].as.ndarray);
}

static void fails(const char *name, call_args *c, const char *words)
{
    gpuc_status s = call(name, c);
    if (!s) fail_msg("%s: no error where one with '%s' was expected", name, words);
    if (!strstr(gpuc_status_message(s), words)) fail_msg("'%s' is not in: %s", words, gpuc_status_message(s));
    gpuc_status_release(s);
    release(c);
}

/* Twice, with other numbers: the second call finds what the first one built. */
static void arrays_on_a_device(void **state)
{
    (void)state;
    for (int host = 0; host < (run_device_type() == GPUC_DEVICE_CPU ? 2 : 1); host++) {
        gpuc_device *dev = host ? NULL : run_device();
        for (float k = 1; k < 3; k++) {
            call_args c = {0};
            add(&c, array(dev, GPUC_FLOAT32, DIMS(2, 3), (float[]){k, 2, 3, 4, 5, 6}));
            add(&c, array(dev, GPUC_FLOAT32, DIMS(3), (float[]){10, 20, 30}));
            add(&c, array(dev, GPUC_FLOAT32, DIMS(2, 3), NULL));
            ok(call(host ? "topi.broadcast_add" : "topi.add", &c));
            EXPECT(c.at[2].as.ndarray, 6, 10 + k, 22, 33, 14, 25, 36);
            release(&c);
        }
    }
}

static void attributes(void **state)
{
    (void)state;
    static const char *const texts[] = {"axis=[1], keepdims=1", "keepdims=1 axis=1"};
    for (int i = 0; i < 3; i++) {
        call_args c = {0};
        add(&c, array(run_device(), GPUC_FLOAT32, DIMS(2, 3), (float[]){1, 2, 3, 4, 5, 6}));
        add(&c, array(run_device(), GPUC_FLOAT32, DIMS(2, 1), NULL));
        if (i < 2) {
            add_text(&c, texts[i]);
        } else { /* in the row's order */
            add_text(&c, "[1]");
            add_int(&c, 1);
        }
        ok(call("topi.sum", &c));
        EXPECT(c.at[1].as.ndarray, 2, 6, 15);
        release(&c);
    }
}

/* An operator that passes take apart, one of any number of inputs, one of several results, one whose inputs
 * decide the shape. */
static void all_sorts(void **state)
{
    (void)state;
    gpuc_device *dev = run_device();
    call_args norm = {0};
    add(&norm, array(dev, GPUC_FLOAT32, DIMS(2, 2), (float[]){1, 3, 5, 9}));
    add(&norm, array(dev, GPUC_FLOAT32, DIMS(2), (float[]){1, 1}));
    add(&norm, array(dev, GPUC_FLOAT32, DIMS(2, 2), NULL));
    add_text(&norm, "epsilon=0");
    ok(call("topi.nn.layer_norm", &norm));
    EXPECT(norm.at[2].as.ndarray, 4, -1, 1, -1, 1);
    release(&norm);

    call_args concat = {0};
    for (int i = 0; i < 3; i++) add(&concat, array(dev, GPUC_FLOAT32, DIMS(1), (float[]){(float)i}));
    add(&concat, array(dev, GPUC_FLOAT32, DIMS(3), NULL));
    ok(call("topi.concatenate", &concat));
    EXPECT(concat.at[3].as.ndarray, 3, 0, 1, 2);
    release(&concat);

    call_args split = {0};
    add(&split, array(dev, GPUC_FLOAT32, DIMS(3), (float[]){7, 8, 9}));
    add(&split, array(dev, GPUC_FLOAT32, DIMS(1), NULL));
    add(&split, array(dev, GPUC_FLOAT32, DIMS(2), NULL));
    add_text(&split, "sizes=[1, 2]");
    ok(call("topi.split", &split));
    EXPECT(split.at[2].as.ndarray, 2, 8, 9);
    release(&split);

    int64_t got[3], numbers[] = {3, 9, 2};
    call_args arange = {0};
    for (int i = 0; i < 3; i++) add(&arange, array(dev, GPUC_INT64, 0, NULL, &numbers[i]));
    add(&arange, array(dev, GPUC_INT64, DIMS(3), NULL));
    ok(call("topi.arange", &arange));
    ok(gpuc_ndarray_read(arange.at[3].as.ndarray, got, sizeof got));
    assert_int_equal(got[0] * 100 + got[1] * 10 + got[2], 357);
    release(&arange);
}

/* As TVM and NNVM write them: a row that an attribute chooses, a bias, inputs that are attributes, another default. */
static void other_spellings(void **state)
{
    (void)state;
    gpuc_device *dev = run_device();
    static const char *const kinds[] = {"max", "avg"};
    for (int i = 0; i < 2; i++) {
        call_args pool = {0};
        char text[80];
        add(&pool, array(dev, GPUC_FLOAT32, DIMS(1, 1, 2, 3), (float[]){1, 2, 3, 4, 5, 9}));
        add(&pool, array(dev, GPUC_FLOAT32, DIMS(1, 1, 1, 2), NULL));
        snprintf(text, sizeof text, "kernel=(2, 2), pool_type=\"%s\", layout=\"NCHW\"", kinds[i]);
        add_text(&pool, text);
        ok(call("topi.nn.pool2d", &pool));
        EXPECT(pool.at[1].as.ndarray, 2, i ? 3 : 5, i ? 4.75f : 9);
        release(&pool);
    }
    call_args dense = {0};
    add(&dense, array(dev, GPUC_FLOAT32, DIMS(1, 2), (float[]){1, 2}));
    add(&dense, array(dev, GPUC_FLOAT32, DIMS(2, 2), (float[]){3, 4, 5, 6}));
    add(&dense, array(dev, GPUC_FLOAT32, DIMS(2), (float[]){100, 200}));
    add(&dense, array(dev, GPUC_FLOAT32, DIMS(1, 2), NULL));
    add_text(&dense, "units=2, use_bias=True");
    ok(call("topi.dense", &dense));
    EXPECT(dense.at[3].as.ndarray, 2, 111, 217);
    release(&dense);

    call_args full = {0};
    add(&full, array(dev, GPUC_FLOAT32, DIMS(3), NULL));
    add_text(&full, "shape=[3], fill_value=7");
    ok(call("topi.full", &full));
    EXPECT(full.at[0].as.ndarray, 3, 7, 7, 7);
    release(&full);

    call_args prelu = {0}; /* the slope is of channels */
    add(&prelu, array(dev, GPUC_FLOAT32, DIMS(1, 2, 2), (float[]){-1, 1, -1, 1}));
    add(&prelu, array(dev, GPUC_FLOAT32, DIMS(2), (float[]){10, 20}));
    add(&prelu, array(dev, GPUC_FLOAT32, DIMS(1, 2, 2), NULL));
    ok(call("topi.prelu", &prelu));
    EXPECT(prelu.at[2].as.ndarray, 4, -10, 1, -20, 1);
    release(&prelu);

    call_args norm = {0}; /* without gamma and beta, which are given */
    add(&norm, array(dev, GPUC_FLOAT32, DIMS(1, 1, 2), (float[]){3, 7}));
    for (int i = 0; i < 3; i++) add(&norm, array(dev, GPUC_FLOAT32, DIMS(1), (float[]){5}));
    add(&norm, array(dev, GPUC_FLOAT32, DIMS(1), (float[]){4}));
    add(&norm, array(dev, GPUC_FLOAT32, DIMS(1, 1, 2), NULL));
    add_text(&norm, "scale=False, center=False, epsilon=0");
    ok(call("topi.nn.batch_norm", &norm));
    EXPECT(norm.at[5].as.ndarray, 2, -1, 1);
    release(&norm);

    call_args boxes = {0}; /* images and boxes in one input */
    add(&boxes, array(dev, GPUC_FLOAT32, DIMS(2, 1, 2, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8}));
    add(&boxes, array(dev, GPUC_FLOAT32, DIMS(1, 5), (float[]){1, 0, 0, 1, 1}));
    add(&boxes, array(dev, GPUC_FLOAT32, DIMS(1, 1, 1, 1), NULL));
    add_text(&boxes, "pooled_size=[1, 1], spatial_scale=1");
    ok(call("topi.vision.roi_pool", &boxes));
    EXPECT(boxes.at[2].as.ndarray, 1, 8);
    release(&boxes);
}

static void what_does_not_fit(void **state)
{
    (void)state;
    gpuc_device *dev = run_device();
    call_args none = {0}, one = {0}, pool = {0}, shape = {0}, type = {0}, name = {0}, value = {0}, many = {0};
    fails("topi.add", &none, "the arguments are arrays of inputs");
    add(&one, array(dev, GPUC_FLOAT32, DIMS(2), NULL));
    fails("topi.add", &one, "1 arrays are not its inputs and results");
    for (int i = 0; i < 3; i++) add(&shape, array(dev, GPUC_FLOAT32, DIMS(2 + i / 2), NULL));
    fails("topi.add", &shape, "result 0 is Tensor[(2), float32], array 2 is not");
    for (int i = 0; i < 2; i++) add(&type, array(dev, GPUC_INT32, DIMS(2), NULL));
    fails("topi.exp", &type, "takes floats, not int32");
    for (int i = 0; i < 2; i++) add(&name, array(dev, GPUC_FLOAT32, DIMS(2), NULL));
    value = many = name;
    for (int i = 0; i < 2; i++) {
        gpuc_ndarray_retain(name.at[i].as.ndarray);
        gpuc_ndarray_retain(name.at[i].as.ndarray);
    }
    add_text(&name, "alhpa=1");
    fails("topi.leaky_relu", &name, "did you mean 'alpha'");
    add_text(&value, "alpha=[1]");
    fails("topi.leaky_relu", &value, "must be a number");
    add_int(&many, 1);
    add_int(&many, 1);
    fails("topi.leaky_relu", &many, "has 1 attributes");
    for (int i = 0; i < 2; i++) add(&pool, array(dev, GPUC_FLOAT32, DIMS(1, 1, 2, 2), NULL));
    fails("topi.nn.global_pool", &pool, "attribute 'pool_type' is missing; it is one of max,avg");
}

/* Names of every row are there. */
static void every_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < gpuc_op_count(); i++) {
        const gpuc_op *op = gpuc_op_at(i);
        const char *lists[] = {op->name, op->topi, op->nnvm};
        for (int k = 0; k < 3; k++) {
            char name[GPUC_OP_NAME], full[GPUC_OP_NAME + 8];
            for (const char *list = lists[k]; (list = gpuc_op_next_name(list, name));) {
                snprintf(full, sizeof full, "topi.%s", name);
                if (!gpuc_registry_get(run_runtime(), full)) fail_msg("there is no %s", full);
            }
        }
    }
}

/* The sum of n floats, one after the other. */
static void build_sum(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *x = gpuc_te_placeholder(ctx, "x", 1, &n, GPUC_FLOAT32);
    gpuc_iter *one = gpuc_te_axis(ctx, gpuc_int(ctx, 1), "one"), *k = gpuc_te_reduce_axis(ctx, n, "k");
    gpuc_expr at = gpuc_iter_var(k), sum = gpuc_te_reduce(ctx, "sum", gpuc_te_read(ctx, x, 1, &at), 1, &k);
    gpuc_tensor *y = gpuc_te_compute(ctx, "y", 1, &one, sum);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &y);
    gpuc_stage *st = gpuc_schedule_stage(s, y);
    gpuc_stage_bind(st, gpuc_stage_axis(st, 0), "threadIdx.x");
    gpuc_tensor *args[] = {x, y};
    const gpuc_target *target = gpuc_target_parse(ctx, run_target_text, NULL);
    const gpuc_tir_func *f = gpuc_schedule_lower(s, "sum", 2, args);
    *(gpuc_module **)arg = gpuc_build_func(ctx, run_runtime(), run_device(), target, f);
}

/* Some devices end loops: never without a word. */
static void rounds(void **state)
{
    (void)state;
    const int64_t counts[] = {0, 99, 65536, 70001, 1 << 21};
    gpuc_module *module;
    gpuc_function *f;
    float *ones = malloc(sizeof *ones << 21);
    for (int i = 0; i < 1 << 21; i++) ones[i] = 1;
    run_in_ctx(build_sum, &module);
    ok(gpuc_module_get_function(module, "sum", &f));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        call_args c = {0};
        add(&c, array(run_device(), GPUC_FLOAT32, DIMS(counts[i]), ones));
        add(&c, array(run_device(), GPUC_FLOAT32, DIMS(1), NULL));
        add_int(&c, counts[i]);
        gpuc_status status = gpuc_function_call(f, c.at, c.n, NULL);
        if (status && (counts[i] < 1 << 21 || !strstr(gpuc_status_message(status), "(max_iterations)")))
            fail_msg("%lld: %s", (long long)counts[i], gpuc_status_message(status));
        if (!status) EXPECT(c.at[1].as.ndarray, 1, (float)counts[i]);
        gpuc_status_release(status);
        release(&c);
    }
    free(ones);
    gpuc_function_release(f);
    gpuc_module_release(module);
}

/* ---- Rows of others ---- */

/* Its attribute is what it adds. */
static void compute_plus(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], index);
    gpuc_expr by = gpuc_imm(call->ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "by", 0));
    gpuc_expr sum = gpuc_add(call->ctx, gpuc_te_read(call->ctx, ins[0], call->out[0].ndim, index), by);
    outs[0] = gpuc_topi_compute(call->ctx, "plus", "elemwise", call->out[0].ndim, axes, sum);
}

#define PLUS(text, listed, first)                                                                            \
    {                                                                                                        \
        .name = text, .min_in = 1, .max_in = 1, .types = {GPUC_T_FLOATS},                                    \
        .attrs = (const gpuc_attr_spec[]){{.name = "by", .kind = GPUC_ATTR_FLOAT, .f = (first)}, {0}},       \
        .infer = gpuc_topi_infer_same, .compute = compute_plus, .pattern = GPUC_FUSE_ELEMWISE,               \
        .topi = listed, .nnvm = "", .onnx = ""                                                               \
    }
static const gpuc_op before = PLUS("test.before", "test.first", 1),
                     after = PLUS("test.after", "test.second,abs", 2), own_relu = PLUS("relu", "", 3);

static float apply(const char *name, const char *attrs, float to)
{
    float result = 0;
    gpuc_ndarray *x = array(run_device(), GPUC_FLOAT32, DIMS(1), &to),
                 *y = array(run_device(), GPUC_FLOAT32, DIMS(1), NULL);
    call_args c = {0};
    add(&c, x);
    add(&c, y);
    if (attrs) add_text(&c, attrs);
    ok(call(name, &c));
    ok(gpuc_ndarray_read(y, &result, sizeof result));
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(y);
    return result;
}

/* By their own names, whenever they were added, and by those that they list and nobody has. */
static void added_rows(void **unused)
{
    (void)unused;
    assert_float_equal(apply("topi.relu", NULL, -5), 0, 0);
    ok(gpuc_op_register_in(run_runtime(), &after));
    ok(gpuc_op_register_in(run_runtime(), &own_relu));
    assert_float_equal(apply("topi.test.before", NULL, 5), 6, 0);
    assert_float_equal(apply("topi.test.first", "by=4", 5), 9, 0);
    assert_float_equal(apply("topi.test.after", "by=-1", 5), 4, 0);
    assert_float_equal(apply("topi.test.second", NULL, 5), 7, 0);
    assert_float_equal(apply("topi.abs", NULL, -5), 5, 0);   /* the table's */
    assert_float_equal(apply("topi.relu", NULL, -5), -2, 0); /* its own name goes before what rows list */
    assert_float_equal(apply("topi.nn.relu", NULL, -5), 0, 0);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    ok(gpuc_op_register_in(run_runtime(), &before));
    ok(gpuc_compiler_register(run_runtime()));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_on_a_device),
        cmocka_unit_test(other_spellings),
        cmocka_unit_test(attributes),
        cmocka_unit_test(all_sorts),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(every_name),
        cmocka_unit_test(rounds),
        cmocka_unit_test(added_rows),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
