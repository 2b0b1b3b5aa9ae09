/* SPDX-License-Identifier: Apache-2.0 */
/* Implementations of operators that a program adds: which one is taken, for which targets, calls and configurations, and what
 * it may not give. */
#include "../codegen/run.h"

#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/op.h>
#include <gpuc/target.h>

#include "autoschedule/knobs.h"
#include "compile/lowered.h"
#include "relay/relay.h"

enum { ROWS = 5, COLUMNS = 12, OTHER = 7 };

static int computed[4], scheduled; /* how often which implementation was asked */

/* Even and odd steps of the sum by themselves, which the default rules see as two products. */
static void in_halves(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr at[2], steps = gpuc_int(ctx, COLUMNS / 2);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], at), *half[2];
    gpuc_expr sums[2];
    gpuc_tensor *parts[2];
    for (int i = 0; i < 2; i++) {
        gpuc_iter **own = gpuc_topi_axes(ctx, &call->out[0], at);
        half[i] = gpuc_te_reduce_axis(ctx, steps, "k");
        gpuc_expr k =
            gpuc_add(ctx, gpuc_mul(ctx, gpuc_iter_var(half[i]), gpuc_int(ctx, 2)), gpuc_int(ctx, i));
        gpuc_expr x[2] = {at[0], k}, w[2] = {at[1], k};
        gpuc_expr product = gpuc_mul(ctx, gpuc_te_read(ctx, ins[0], 2, x), gpuc_te_read(ctx, ins[1], 2, w));
        parts[i] = gpuc_te_compute(ctx, "half", 2, own, gpuc_te_reduce(ctx, "sum", product, 1, &half[i]));
    }
    axes = gpuc_topi_axes(ctx, &call->out[0], at);
    for (int i = 0; i < 2; i++) sums[i] = gpuc_te_read(ctx, parts[i], 2, at);
    outs[0] = gpuc_topi_compute(ctx, "halves", "elemwise", 2, axes, gpuc_add(ctx, sums[0], sums[1]));
}

static void by_first(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    computed[0]++;
    in_halves(call, ins, outs);
}

static void by_second(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    computed[1]++;
    in_halves(call, ins, outs);
}

static void by_tuner(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    computed[2]++;
    in_halves(call, ins, outs);
}

static gpuc_schedule *own_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs, int n,
                                   gpuc_tensor *const *outputs)
{
    scheduled++;
    return gpuc_topi_schedule(ctx, target, knobs, n, outputs);
}

static bool of_five_rows(const gpuc_op_call *call, const gpuc_target *target)
{
    int64_t rows;
    (void)target;
    return gpuc_expr_is_int(call->in[0].dims[0], &rows) && rows == ROWS;
}

static void of_wrong_shape(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_iter *axes[2];
    gpuc_expr at[3] = {gpuc_int(call->ctx, 0)};
    for (int i = 0; i < 2; i++) {
        axes[i] = gpuc_te_axis(call->ctx, call->out[0].dims[i + 1], "i");
        at[i + 1] = gpuc_iter_var(axes[i]);
    }
    outs[0] = gpuc_te_compute(call->ctx, "flat", 2, axes, gpuc_te_read(call->ctx, ins[0], 3, at));
}

static const gpuc_op_implementation first = {.name = "test.dense_first",
                                             .op = "nn.dense",
                                             .targets = "opencl,c",
                                             .priority = 30,
                                             .applies = of_five_rows,
                                             .compute = by_first},
                                    second = {.name = "test.dense_second",
                                              .op = "nn.dense",
                                              .priority = 20,
                                              .compute = by_second,
                                              .schedule = own_schedule},
                                    tuned = {.name = "test.dense_tuned",
                                             .op = "nn.dense",
                                             .priority = 5,
                                             .compute = by_tuner};

static void ok(gpuc_status s)
{
    if (s) fail_msg("%s", gpuc_status_message(s));
}

typedef struct dense_run {
    int64_t rows;
    const gpuc_config *config;
    const char *label; /* out */
    bool relu;
    const char *name; /* of the operator; NULL: nn.dense */
} dense_run;

static void lower(gpuc_ctx *ctx, void *arg)
{
    dense_run *run = arg;
    gpuc_ctx_set_runtime(ctx, run_runtime());
    gpuc_rexpr *vars[2], *e;
    gpuc_expr x[] = {gpuc_int(ctx, run->rows), gpuc_int(ctx, COLUMNS)}, w[] = {gpuc_int(ctx, OTHER), x[1]};
    vars[0] = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, x));
    vars[1] = gpuc_relay_var(ctx, "w", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, w));
    e = gpuc_relay_op(ctx, "nn.dense", NULL, 2, vars);
    if (run->relu) e = gpuc_relay_op(ctx, "relu", NULL, 1, &e);
    gpuc_rfunction *f = (gpuc_rfunction *)gpuc_relay_function(ctx, 2, vars, e, NULL);
    gpuc_lower_task task = {
        .target = run_target(ctx), .f = f, .name = "f", .label = "dense", .config = run->config};
    const gpuc_lowered *l = gpuc_compile_lower_function(ctx, &task);
    run->label = strdup(l->kernels[l->num_kernels - 1].code.meta.label);
}

static const char *label_of(int64_t rows, const gpuc_knob_value *knob, bool relu)
{
    gpuc_config config = {.n = knob ? 1 : 0, .at = knob};
    dense_run run = {.rows = rows, .config = knob ? &config : NULL, .relu = relu};
    memset(computed, 0, sizeof computed);
    scheduled = 0;
    run_in_ctx(lower, &run);
    return run.label;
}

static void check_label(int64_t rows, const gpuc_knob_value *knob, const char *name)
{
    char *label = (char *)label_of(rows, knob, false);
    bool has = name ? strstr(label, name) != NULL : !strstr(label, "[by");
    if (!has)
        fail_msg("%lld rows: the kernel is '%s', not by %s", (long long)rows, label, name ? name : "the row");
    free(label);
}

static void the_first_that_applies(void **unused)
{
    (void)unused;
    bool vulkan = run_device_type() == GPUC_DEVICE_VULKAN;
    check_label(ROWS, NULL, vulkan ? "[by test.dense_second]" : "[by test.dense_first]");
    assert_true(computed[vulkan ? 1 : 0] > 0 && !computed[vulkan ? 0 : 1] && !computed[2]);
    assert_int_equal(scheduled > 0, vulkan);
    check_label(ROWS + 1, NULL, "[by test.dense_second]");
    assert_true(computed[1] > 0 && !computed[0] && scheduled > 0);
    free((void *)label_of(ROWS + 1, NULL, true)); /* fused: the default rules schedule it */
    assert_true(computed[1] > 0 && !scheduled);
}

static void a_configuration_chooses(void **unused)
{
    (void)unused;
    check_label(ROWS + 1, &(gpuc_knob_value){"use_test_dense_second", 0}, NULL);
    check_label(ROWS + 1, &(gpuc_knob_value){"use_test_dense_second", 1}, "[by test.dense_second]");
    gpuc_knob_value both[] = {{"use_test_dense_second", 0}, {"use_test_dense_tuned", 1}};
    gpuc_config config = {.n = 2, .at = both};
    dense_run run = {.rows = ROWS + 1, .config = &config};
    run_in_ctx(lower, &run);
    assert_non_null(strstr(run.label, "[by test.dense_tuned]"));
    free((void *)run.label);
}

static void dense(float *y, const float *x, const float *w)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < OTHER; j++) {
            y[i * OTHER + j] = 0;
            for (int k = 0; k < COLUMNS; k++) y[i * OTHER + j] += x[i * COLUMNS + k] * w[j * COLUMNS + k];
        }
}

static gpuc_ndarray *array(int64_t rows, int64_t columns, const float *values)
{
    gpuc_ndarray *a;
    ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 2, (int64_t[]){rows, columns}, &a));
    if (values) ok(gpuc_ndarray_write(a, values, gpuc_ndarray_bytes(a)));
    return a;
}

static gpuc_status call(const char *name, float *got)
{
    float x[ROWS * COLUMNS], w[OTHER * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 11 - 5);
    for (int i = 0; i < OTHER * COLUMNS; i++) w[i] = (float)(i % 7 - 3);
    gpuc_ndarray *arrays[] = {array(ROWS, COLUMNS, x), array(OTHER, COLUMNS, w), array(ROWS, OTHER, NULL)};
    gpuc_value values[3];
    for (int i = 0; i < 3; i++) values[i] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = arrays[i]};
    gpuc_status s = gpuc_function_call(gpuc_registry_get(run_runtime(), name), values, 3, NULL);
    if (!s) s = gpuc_ndarray_read(arrays[2], got, sizeof(float) * ROWS * OTHER);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    float want[ROWS * OTHER];
    dense(want, x, w);
    for (int i = 0; i < ROWS * OTHER && !s; i++) assert_float_equal(got[i], want[i], 0);
    return s;
}

static void it_computes_the_same(void **unused)
{
    float got[ROWS * OTHER];
    (void)unused;
    memset(computed, 0, sizeof computed);
    ok(call("topi.nn.dense", got));
    assert_true(computed[0] + computed[1] > 0);
}

static void wrong_ones_are_refused(void **unused)
{
    static const gpuc_op_implementation wrong[] = {
        {.name = "a b", .op = "nn.dense", .priority = 1, .compute = by_first},
        {.name = "", .op = "nn.dense", .priority = 1, .compute = by_first},
        {.op = "nn.dense", .priority = 1, .compute = by_first},
        {.name = "a2345678901234567890123456789012345678",
         .op = "nn.dense",
         .priority = 1,
         .compute = by_first},
        {.name = "a", .priority = 1, .compute = by_first},
        {.name = "a", .op = "nn.dens", .priority = 1, .compute = by_first},
        {.name = "a", .op = "nn.batch_matmul", .priority = 1, .compute = by_first},
        {.name = "a", .op = "nn.dense", .priority = GPUC_OP_OWN_PRIORITY, .compute = by_first},
        {.name = "a", .op = "nn.dense", .priority = 1},
        {.name = "test.dense_first", .op = "nn.relu", .priority = 1, .compute = by_first},
        {.name = "test_dense.first", .op = "nn.relu", .priority = 1, .compute = by_first},
        {.name = "a", .op = "nn.dense", .targets = "vulkan, c", .priority = 1, .compute = by_first},
        {.name = "a", .op = "nn.dense", .targets = "c,", .priority = 1, .compute = by_first},
        {.name = "a", .op = "nn.dense", .targets = "", .priority = 1, .compute = by_first},
    };
    static const char *const words[] = {"'a b' is no name",
                                        "'' is no name",
                                        "'NULL' is no name",
                                        "is no name",
                                        "name is NULL",
                                        "there is no operator 'nn.dens'",
                                        "'nn.batch_matmul' is another name of 'nn.",
                                        "priority of the row's own",
                                        "neither compute nor schedule",
                                        "an implementation 'test.dense_first' already",
                                        "the knob use_test_dense_first is that of 'test.dense_first'",
                                        "targets are 'vulkan, c'",
                                        "targets are 'c,'",
                                        "targets are ''"};
    (void)unused;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        run_refused(gpuc_op_implement(run_runtime(), &wrong[i]), words[i]);
    run_refused(gpuc_op_implement(NULL, &first), "'rt' is NULL");
    run_refused(gpuc_op_implement(run_runtime(), NULL), "'implementation' is NULL");

    static const gpuc_op_implementation bad = {
        .name = "test.bad", .op = "nn.matmul", .priority = 99, .compute = of_wrong_shape};
    ok(gpuc_op_implement(run_runtime(), &bad));
    gpuc_ndarray *x;
    ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 3, (int64_t[]){1, 4, 4}, &x));
    gpuc_ndarray *y;
    ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 3, (int64_t[]){1, 4, 4}, &y));
    gpuc_value values[] = {{.kind = GPUC_VALUE_NDARRAY, .as.ndarray = x},
                           {.kind = GPUC_VALUE_NDARRAY, .as.ndarray = x},
                           {.kind = GPUC_VALUE_NDARRAY, .as.ndarray = y}};
    run_refused(gpuc_function_call(gpuc_registry_get(run_runtime(), "topi.nn.matmul"), values, 3, NULL),
                "result 0 of its implementation 'test.bad' is not of the shape and type");
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(y);
}

/* ---- Rows and implementations whose functions do not keep their word ---- */

static void infer_same(gpuc_op_call *call)
{
    gpuc_topi_infer_same(call);
}

static void give_nothing(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)call;
    (void)ins;
    (void)outs;
}

static gpuc_tensor *first_row(const gpuc_op_call *call, gpuc_tensor *x, int64_t more, gpuc_dtype type)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *t = &call->in[0];
    gpuc_iter *axes[2];
    gpuc_expr at[2];
    for (int i = 0; i < 2; i++) {
        axes[i] = gpuc_te_axis(ctx, gpuc_add(ctx, t->dims[i], gpuc_int(ctx, i ? 0 : more)), "i");
        at[i] = i ? gpuc_iter_var(axes[i]) : gpuc_int(ctx, 0);
    }
    return gpuc_te_compute(ctx, "first", 2, axes, gpuc_cast(ctx, type, gpuc_te_read(ctx, x, 2, at)));
}

static void one_more(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    outs[0] = first_row(call, ins[0], 1, call->in[0].dtype);
}

static void of_integers(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    outs[0] = first_row(call, ins[0], 0, GPUC_INT32);
}

static void as_inferred(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    outs[0] = first_row(call, ins[0], 0, call->in[0].dtype);
}

static gpuc_schedule *no_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs, int n,
                                  gpuc_tensor *const *outputs)
{
    (void)ctx;
    (void)target;
    (void)knobs;
    (void)n;
    (void)outputs;
    return NULL;
}

#define ROW(n, ...)                                                                                          \
    {                                                                                                        \
        .name = "test." n, .min_in = 1, .max_in = 1, .types = {GPUC_T_FLOATS}, .infer = infer_same,          \
        .pattern = GPUC_FUSE_OPAQUE, .topi = "", .nnvm = "", .onnx = "", __VA_ARGS__                         \
    }
static const gpuc_op rows[] = {
    ROW("nothing", .compute = give_nothing),
    ROW("one_more", .compute = one_more),
    ROW("integers", .compute = of_integers),
    ROW("unscheduled", .compute = as_inferred, .schedule = no_schedule),
    ROW("more_by_another", .compute = as_inferred),
    ROW("unscheduled_by_another", .compute = as_inferred),
    ROW("kept", .compute = as_inferred),
};
static const char *const complaints[] = {
    "test.nothing: result 0 of its compute is not of the shape and type that its inference gives",
    "test.one_more: result 0 of its compute is not of the shape",
    "test.integers: result 0 of its compute is not of the shape",
    "the schedule function of test.unscheduled gave NULL",
    "result 0 of its implementation 'test.more' is not of the shape",
    "the schedule function of implementation test.null gave NULL",
    NULL,
};
static const gpuc_op_implementation broken[] = {
    {.name = "test.more", .op = "test.more_by_another", .priority = 20, .compute = one_more},
    {.name = "test.null", .op = "test.unscheduled_by_another", .priority = 20, .schedule = no_schedule},
};

typedef struct row_run {
    const char *op;
    bool open; /* its first extent */
} row_run;

static void lower_row(gpuc_ctx *ctx, void *arg)
{
    const row_run *run = arg;
    gpuc_ctx_set_runtime(ctx, run_runtime());
    gpuc_expr dims[] = {run->open ? gpuc_var(ctx, "n", GPUC_INDEX) : gpuc_int(ctx, 4), gpuc_int(ctx, 4)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, dims));
    gpuc_rexpr *e = gpuc_relay_op(ctx, run->op, NULL, 1, &x);
    gpuc_rfunction *f = (gpuc_rfunction *)gpuc_relay_function(ctx, 1, &x, e, NULL);
    gpuc_lower_task task = {.target = run_target(ctx), .f = f, .name = "f", .label = "row"};
    gpuc_compile_lower_function(ctx, &task);
}

static void lower_refused(gpuc_ctx *ctx, void *arg)
{
    const char *words = complaints[*(int *)arg];
    for (int open = 0; open < 2; open++) {
        row_run run = {.op = rows[*(int *)arg].name, .open = open};
        gpuc_status s = gpuc_ctx_protect(ctx, lower_row, &run);
        if (words)
            run_refused(s, words);
        else
            ok(s);
    }
}

static void what_is_given_must_be_what_was_said(void **unused)
{
    (void)unused;
    int n = sizeof rows / sizeof *rows;
    for (int i = 0; i < n; i++) ok(gpuc_op_register_in(run_runtime(), &rows[i]));
    for (int i = 0; i < 2; i++) ok(gpuc_op_implement(run_runtime(), &broken[i]));
    for (int i = 0; i < n; i++) run_in_ctx(lower_refused, &i);
}

static void look_up(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_null(gpuc_op_implementation_at(ctx, "nn.dense", 0)); /* it knows no runtime yet */
    gpuc_ctx_set_runtime(ctx, run_runtime());
    assert_ptr_equal(gpuc_op_implementation_at(ctx, "nn.dense", 0), &first);
    assert_ptr_equal(gpuc_op_implementation_at(ctx, "nn.dense", 1), &second);
    assert_ptr_equal(gpuc_op_implementation_at(ctx, "nn.dense", 2), &tuned);
    assert_null(gpuc_op_implementation_at(ctx, "nn.dense", 3));
    assert_null(gpuc_op_implementation_at(ctx, "relu", 0));
}

static void they_are_listed(void **unused)
{
    (void)unused;
    run_in_ctx(look_up, NULL);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    ok(gpuc_compiler_register(run_runtime()));
    ok(gpuc_op_implement(run_runtime(), &tuned));
    ok(gpuc_op_implement(run_runtime(), &second));
    ok(gpuc_op_implement(run_runtime(), &first));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_listed),         cmocka_unit_test(the_first_that_applies),
        cmocka_unit_test(a_configuration_chooses), cmocka_unit_test(it_computes_the_same),
        cmocka_unit_test(wrong_ones_are_refused),  cmocka_unit_test(what_is_given_must_be_what_was_said),
    };
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
