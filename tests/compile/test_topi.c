/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc/topi.h: operators inside of programs of tensor expressions, on the target of the command line. */
#include "../codegen/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/topi.h>

enum { MAX_INS = 4, MAX_ELEMENTS = 256 };

typedef struct program {
    gpuc_ctx *ctx;
    int num_in;
    gpuc_tensor *in[MAX_INS];
    float values[MAX_INS][MAX_ELEMENTS];
    gpuc_tensor *out;
    int count; /* elements of out */
    double got[MAX_ELEMENTS];
} program;

#define DIMS(...)                                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[])                                                 \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

static int elements(int n, const int64_t *dims)
{
    int count = 1;
    for (int i = 0; i < n; i++) count *= (int)dims[i];
    return count;
}

/* One more input; its elements go from lo by step, around again after some. */
static gpuc_tensor *input(program *p, double lo, double step, int n, const int64_t *dims)
{
    gpuc_expr shape[8];
    for (int i = 0; i < n; i++) shape[i] = gpuc_int(p->ctx, dims[i]);
    for (int i = 0; i < elements(n, dims); i++) p->values[p->num_in][i] = (float)(lo + step * (i % 23));
    gpuc_tensor *t = gpuc_te_placeholder(p->ctx, "x", n, shape, GPUC_FLOAT32);
    return p->in[p->num_in++] = t;
}

static double element_of(gpuc_dtype t, const void *bytes, int i)
{
    if (gpuc_dtype_equal(t, GPUC_FLOAT32)) return ((const float *)bytes)[i];
    if (gpuc_dtype_equal(t, GPUC_INT32)) return ((const int32_t *)bytes)[i];
    assert_true(gpuc_dtype_equal(t, GPUC_BOOL));
    return ((const uint8_t *)bytes)[i];
}

static int64_t extent(gpuc_expr e)
{
    int64_t v = -1;
    assert_true(gpuc_expr_is_int(e, &v));
    return v;
}

/* Whether t is computed from an input. */
static bool reads(gpuc_tensor *t, const gpuc_tensor *in)
{
    gpuc_te_info info = gpuc_te_get(t);
    bool found = t == in;
    for (int i = 0; i < info.num_inputs; i++) found |= reads(info.inputs[i], in);
    return found;
}

/* Lowers, builds and runs what computes out, and reads its elements. */
static void run(program *p, gpuc_schedule *s)
{
    gpuc_tensor *args[MAX_INS + 1];
    gpuc_value values[MAX_INS + 1];
    gpuc_ndarray *arrays[MAX_INS + 1];
    const float *elements_of[MAX_INS + 1];
    int n = 0;
    for (int i = 0; i < p->num_in; i++) {
        if (!reads(p->out, p->in[i])) continue;
        elements_of[n] = p->values[i];
        args[n++] = p->in[i];
    }
    args[n] = p->out;
    for (int i = 0; i <= n; i++) {
        int64_t dims[8];
        int ndim = gpuc_te_ndim(args[i]);
        for (int k = 0; k < ndim; k++) dims[k] = extent(gpuc_te_shape(args[i])[k]);
        run_ok(
            gpuc_ndarray_create(run_runtime(), run_device(), gpuc_te_dtype(args[i]), ndim, dims, &arrays[i]));
        if (i < n) run_ok(gpuc_ndarray_write(arrays[i], elements_of[i], gpuc_ndarray_bytes(arrays[i])));
        values[i] = gpuc_arg(arrays[i]);
        p->count = elements(ndim, dims);
    }
    const gpuc_target *target = run_target(p->ctx);
    if (!s) s = gpuc_topi_schedule(p->ctx, target, NULL, 1, &p->out);
    gpuc_tir_func *f = gpuc_schedule_lower(s, "program", n + 1, args);
    gpuc_module *module = gpuc_build_func(p->ctx, run_runtime(), run_device(), target, f);
    gpuc_function *call;
    char bytes[MAX_ELEMENTS * 4];
    run_ok(gpuc_module_get_function(module, "program", &call));
    run_ok(gpuc_function_call(call, values, n + 1, NULL));
    run_ok(gpuc_ndarray_read(arrays[n], bytes, gpuc_ndarray_bytes(arrays[n])));
    for (int i = 0; i < p->count; i++) p->got[i] = element_of(gpuc_te_dtype(p->out), bytes, i);
    gpuc_function_release(call);
    gpuc_module_release(module);
    for (int i = 0; i <= n; i++) gpuc_ndarray_release(arrays[i]);
}

static void same(const char *what, double got, double want, int i)
{
    if (!(fabs(got - want) <= 1e-4 * (1 + fabs(want))))
        fail_msg("%s: element %d is %g, not %g", what, i, got, want);
}

static void expect(program *p, gpuc_tensor *out, const char *what, int n, const double *want)
{
    p->out = out;
    run(p, NULL);
    assert_int_equal(p->count, n);
    for (int i = 0; i < n; i++) same(what, p->got[i], want[i], i);
}
#define EXPECT(p, out, ...)                                                                                  \
    expect(p, out, #out, (int)(sizeof((double[]){__VA_ARGS__}) / 8), (double[]){__VA_ARGS__})

/* ---- Element by element ---- */

static double negative(double x)
{
    return -x;
}
static double sign(double x)
{
    return (x > 0) - (x < 0);
}
static double rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double relu(double x)
{
    return x > 0 ? x : 0;
}

static void unary(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        const char *name;
        gpuc_tensor *(*make)(gpuc_ctx *ctx, gpuc_tensor *x);
        double (*want)(double x);
        double lo;
    } rows[] = {
        {"abs", gpuc_topi_abs, fabs, -3},          {"negative", gpuc_topi_negative, negative, -3},
        {"sign", gpuc_topi_sign, sign, -3},        {"exp", gpuc_topi_exp, exp, -3},
        {"log", gpuc_topi_log, log, 0.25},         {"sqrt", gpuc_topi_sqrt, sqrt, 0.25},
        {"rsqrt", gpuc_topi_rsqrt, rsqrt, 0.25},   {"sin", gpuc_topi_sin, sin, -3},
        {"cos", gpuc_topi_cos, cos, -3},           {"tanh", gpuc_topi_tanh, tanh, -3},
        {"erf", gpuc_topi_erf, erf, -3},           {"sigmoid", gpuc_topi_sigmoid, sigmoid, -3},
        {"floor", gpuc_topi_floor, floor, -3},     {"ceil", gpuc_topi_ceil, ceil, -3},
        {"round", gpuc_topi_round, nearbyint, -3}, {"trunc", gpuc_topi_trunc, trunc, -3},
        {"relu", gpuc_topi_nn_relu, relu, -3},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        program p = {.ctx = ctx};
        gpuc_tensor *x = input(&p, rows[r].lo, 0.25, DIMS(5, 7));
        p.out = rows[r].make(ctx, x);
        run(&p, NULL);
        assert_int_equal(p.count, 35);
        for (int i = 0; i < 35; i++) same(rows[r].name, p.got[i], rows[r].want(p.values[0][i]), i);
    }
}

static double add(double a, double b)
{
    return a + b;
}
static double subtract(double a, double b)
{
    return a - b;
}
static double multiply(double a, double b)
{
    return a * b;
}
static double divide(double a, double b)
{
    return a / b;
}
static double equal(double a, double b)
{
    return a == b;
}
static double not_equal(double a, double b)
{
    return a != b;
}
static double less(double a, double b)
{
    return a < b;
}
static double less_equal(double a, double b)
{
    return a <= b;
}
static double greater(double a, double b)
{
    return a > b;
}
static double greater_equal(double a, double b)
{
    return a >= b;
}

/* [5, 7] with [7], and with a number. */
static void binary(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        const char *name;
        gpuc_tensor *(*make)(gpuc_ctx *ctx, gpuc_tensor *a, gpuc_tensor *b);
        double (*want)(double a, double b);
    } rows[] = {
        {"add", gpuc_topi_add, add},
        {"subtract", gpuc_topi_subtract, subtract},
        {"multiply", gpuc_topi_multiply, multiply},
        {"divide", gpuc_topi_divide, divide},
        {"power", gpuc_topi_power, pow},
        {"maximum", gpuc_topi_maximum, fmax},
        {"minimum", gpuc_topi_minimum, fmin},
        {"equal", gpuc_topi_equal, equal},
        {"not_equal", gpuc_topi_not_equal, not_equal},
        {"less", gpuc_topi_less, less},
        {"less_equal", gpuc_topi_less_equal, less_equal},
        {"greater", gpuc_topi_greater, greater},
        {"greater_equal", gpuc_topi_greater_equal, greater_equal},
    };
    for (size_t r = 0; r < 2 * sizeof rows / sizeof *rows; r++) {
        bool number = r % 2;
        program p = {.ctx = ctx};
        gpuc_tensor *a = input(&p, 0.25, 0.25, DIMS(5, 7));
        gpuc_tensor *b = number ? gpuc_te_const(ctx, GPUC_FLOAT32, 1.5) : input(&p, 0.5, 0.5, DIMS(7));
        p.out = rows[r / 2].make(ctx, a, b);
        run(&p, NULL);
        assert_int_equal(p.count, 35);
        for (int i = 0; i < 35; i++)
            same(rows[r / 2].name, p.got[i],
                 rows[r / 2].want(p.values[0][i], number ? 1.5 : p.values[1][i % 7]), i);
    }
}

/* A subnormal number changes nothing for those beside it in a vector. */
static void lanes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    if (!gpuc_target_computes(run_target(ctx), GPUC_FLOAT64)) return;
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 0, 0.25, DIMS(16)), *wide = gpuc_topi_cast(ctx, x, GPUC_FLOAT64);
    for (int i = 0; i < 16; i++) p.values[0][i] = i == 5 ? 0 : 1 + (float)i / 4;
    gpuc_tensor *none = gpuc_topi_less(ctx, x, gpuc_te_const(ctx, GPUC_FLOAT32, 0.5)),
                *least = gpuc_te_const(ctx, GPUC_FLOAT64, 1e-310);
    gpuc_tensor *power =
        gpuc_topi_power(ctx, gpuc_topi_where(ctx, none, least, wide), gpuc_te_const(ctx, GPUC_FLOAT64, 2.5));
    p.out = gpuc_topi_cast(ctx, power, GPUC_FLOAT32);
    run(&p, NULL);
    assert_int_equal(p.count, 16);
    for (int i = 0; i < 16; i++) same("power", p.got[i], pow(p.values[0][i], 2.5), i);
}

static void choices(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, -2, 1, DIMS(5)); /* -2 .. 2 */
    gpuc_tensor *zero = gpuc_te_const(ctx, GPUC_FLOAT32, 0), *one = gpuc_te_const(ctx, GPUC_FLOAT32, 1);
    gpuc_tensor *low = gpuc_topi_less(ctx, x, zero), *high = gpuc_topi_greater(ctx, x, one);
    EXPECT(&p, gpuc_topi_logical_or(ctx, low, high), 1, 1, 0, 0, 1);
    EXPECT(&p, gpuc_topi_logical_and(ctx, gpuc_topi_logical_not(ctx, low), high), 0, 0, 0, 0, 1);
    EXPECT(&p, gpuc_topi_where(ctx, low, x, one), -2, -1, 1, 1, 1);
    EXPECT(&p, gpuc_topi_clip(ctx, x, -1, 1.5), -1, -1, 0, 1, 1.5);
    EXPECT(
        &p,
        gpuc_topi_cast(ctx, gpuc_topi_multiply(ctx, x, gpuc_te_const(ctx, GPUC_FLOAT32, 0.75)), GPUC_INT32),
        -1, 0, 0, 0, 1);
}

/* ---- Reductions, shapes ---- */

static void reductions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 1, 1, DIMS(2, 3)); /* 1 2 3 / 4 5 6 */
    const int64_t last = -1, first = 0;
    EXPECT(&p, gpuc_topi_sum(ctx, x, 1, &last, false), 6, 15);
    EXPECT(&p, gpuc_topi_sum(ctx, x, 0, NULL, true), 21);
    EXPECT(&p, gpuc_topi_prod(ctx, x, 1, &first, false), 4, 10, 18);
    EXPECT(&p, gpuc_topi_max(ctx, x, 1, &first, true), 4, 5, 6);
    EXPECT(&p, gpuc_topi_min(ctx, x, 1, &last, false), 1, 4);
    EXPECT(&p, gpuc_topi_mean(ctx, x, 1, &last, true), 2, 5);
    EXPECT(&p, gpuc_topi_argmax(ctx, x, 1, false), 2, 2);
    EXPECT(&p, gpuc_topi_argmin(ctx, x, 0, true), 0, 0, 0);
    assert_int_equal(gpuc_te_ndim(gpuc_topi_argmin(ctx, x, 0, true)), 2);
}

static void shapes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 1, 1, DIMS(2, 3)); /* 1 2 3 / 4 5 6 */
    gpuc_expr three[] = {gpuc_int(ctx, 3), gpuc_int(ctx, 2)};
    gpuc_expr wide[] = {gpuc_int(ctx, 2), gpuc_int(ctx, 2), gpuc_int(ctx, 3)};
    EXPECT(&p, gpuc_topi_transpose(ctx, x, NULL), 1, 4, 2, 5, 3, 6);
    EXPECT(&p, gpuc_topi_transpose(ctx, x, (int64_t[]){1, 0}), 1, 4, 2, 5, 3, 6);
    EXPECT(&p, gpuc_topi_transpose(ctx, gpuc_topi_reshape(ctx, x, 2, three), NULL), 1, 3, 5, 2, 4, 6);
    EXPECT(&p, gpuc_topi_broadcast_to(ctx, x, 3, wide), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6);
    gpuc_tensor *more = gpuc_topi_expand_dims(ctx, x, 1, 2);
    assert_int_equal(gpuc_te_ndim(more), 4);
    assert_int_equal(extent(gpuc_te_shape(more)[3]), 3);
    EXPECT(&p, gpuc_topi_squeeze(ctx, more, 0, NULL), 1, 2, 3, 4, 5, 6);
    EXPECT(&p, gpuc_topi_concatenate(ctx, 2, (gpuc_tensor *[]){x, x}, 1), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    EXPECT(&p, gpuc_topi_strided_slice(ctx, x, (int64_t[]){1, 2}, (int64_t[]){2, -4}, (int64_t[]){1, -2}), 6,
           4);
    gpuc_tensor *at = gpuc_topi_cast(ctx, input(&p, 2, -1, DIMS(2)), GPUC_INT32); /* 2 1 */
    EXPECT(&p, gpuc_topi_take(ctx, x, at, 1), 3, 2, 6, 5);
}

/* ---- Neural networks ---- */

static void networks(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t ones[] = {1, 1}, twos[] = {2, 2}, none[4] = {0}, around[] = {1, 1, 1, 1};
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 1, 1, DIMS(2, 3)), *w = input(&p, 1, 1, DIMS(2, 3)),
                *b = input(&p, 10, 10, DIMS(2));
    EXPECT(&p, gpuc_topi_nn_dense(ctx, x, w, NULL), 14, 32, 32, 77);
    EXPECT(&p, gpuc_topi_nn_dense(ctx, x, w, b), 24, 52, 42, 97);
    gpuc_expr deep[] = {gpuc_int(ctx, 2), gpuc_int(ctx, 1), gpuc_int(ctx, 3)}, flat = deep[2];
    gpuc_tensor *rows = gpuc_topi_nn_dense(ctx, gpuc_topi_reshape(ctx, x, 3, deep), w, b);
    assert_int_equal(gpuc_te_ndim(rows), 3);
    EXPECT(&p, rows, 24, 52, 42, 97);
    gpuc_tensor *first =
        gpuc_topi_strided_slice(ctx, x, (int64_t[]){0, 0}, (int64_t[]){1, 3}, (int64_t[]){1, 1});
    EXPECT(&p, gpuc_topi_nn_dense(ctx, gpuc_topi_reshape(ctx, first, 1, &flat), w, b), 24, 52);
    EXPECT(&p, gpuc_topi_nn_matmul(ctx, x, w, true, false), 17, 22, 27, 22, 29, 36, 27, 36, 45);
    EXPECT(&p, gpuc_topi_nn_softmax(ctx, x, 1), 0.0900306, 0.2447285, 0.6652410, 0.0900306, 0.2447285,
           0.6652410);
    program q = {.ctx = ctx};
    gpuc_tensor *image = input(&q, 1, 1, DIMS(1, 1, 3, 3)), *kernel = input(&q, 1, 0, DIMS(1, 1, 2, 2));
    EXPECT(&q, gpuc_topi_nn_conv2d(ctx, image, kernel, ones, none, ones, 1), 12, 16, 24, 28);
    EXPECT(&q, gpuc_topi_nn_conv2d(ctx, image, kernel, twos, around, ones, 1), 1, 5, 11, 28);
    EXPECT(&q, gpuc_topi_nn_max_pool2d(ctx, image, twos, ones, none), 5, 6, 8, 9);
    EXPECT(&q, gpuc_topi_nn_avg_pool2d(ctx, image, twos, twos, around), 1, 2.5, 5.5, 7);
}

/* ---- By name ---- */

static gpuc_tensor *twice(gpuc_ctx *ctx, gpuc_tensor *t)
{
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, gpuc_te_shape(t)[0], "i"),
                         gpuc_te_axis(ctx, gpuc_te_shape(t)[1], "j")};
    gpuc_expr at[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(axes[1])};
    gpuc_expr read = gpuc_te_read(ctx, t, 2, at);
    return gpuc_te_compute(ctx, "twice", 2, axes, gpuc_add(ctx, read, read));
}

static void bind_all(gpuc_stage *stage, int num_axes)
{
    gpuc_iter *all = gpuc_stage_axis(stage, 0), *group, *thread;
    for (int i = 1; i < num_axes; i++) all = gpuc_stage_fuse(stage, all, gpuc_stage_axis(stage, i));
    gpuc_stage_split(stage, all, 4, &group, &thread);
    gpuc_stage_bind(stage, group, "blockIdx.x");
    gpuc_stage_bind(stage, thread, "threadIdx.x");
}

/* Names and attributes as TVM has them, a compute of one's own on top, scheduled by the rules and by hand. */
static void names(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const double want[] = {580, 598};
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 1, 1, DIMS(1, 1, 3, 3)), *w = input(&p, 1, 0, DIMS(2, 1, 3, 3)),
                *b = input(&p, 5, 1, DIMS(2));
    gpuc_tensor *y =
        gpuc_topi(ctx, "nn.conv2d", (gpuc_tensor *[]){x, w, b}, 3, "padding=[1, 1], channels=2, use_bias=1");
    gpuc_tensor *sums = gpuc_topi(ctx, "sum", &y, 1, "axis=[2, 3]");
    expect(&p, twice(ctx, sums), "twice", 2, want);
    p.out = twice(ctx, sums);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &p.out);
    if (run_device_type() != GPUC_DEVICE_CPU) {
        /* Each group computes for itself what its element reads, by one thread after the other. */
        bind_all(gpuc_schedule_stage(s, p.out), 2);
        bind_all(gpuc_schedule_stage(s, sums), 2);
    }
    run(&p, s);
    for (int i = 0; i < 2; i++) same("by hand", p.got[i], want[i], i);
}

/* Several results, and an operator that is written as simpler ones. */
static void results(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 1, 1, DIMS(2, 4)), *parts[2], *scale = input(&p, 1, 0, DIMS(4)),
                *shift = input(&p, 0, 0, DIMS(4));
    const gpuc_attrs *attrs = gpuc_attrs_ints(ctx, NULL, "indices_or_sections", 1, (int64_t[]){2});
    assert_int_equal(gpuc_topi_call(ctx, "split", gpuc_attrs_int(ctx, attrs, "axis", 1), 1, &x, 2, parts), 2);
    EXPECT(&p, parts[1], 3, 4, 7, 8);
    gpuc_tensor *norm = gpuc_topi(ctx, "nn.layer_norm", (gpuc_tensor *[]){x, scale, shift}, 3, "epsilon=0");
    EXPECT(&p, norm, -1.3416408, -0.4472136, 0.4472136, 1.3416408, -1.3416408, -0.4472136, 0.4472136,
           1.3416408);
}

/* Sizes that are symbols go through. */
static void symbols(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64), shape[] = {n, gpuc_int(ctx, 3)};
    gpuc_tensor *x = gpuc_te_placeholder(ctx, "x", 2, shape, GPUC_FLOAT32);
    gpuc_tensor *y = gpuc_topi_transpose(ctx, gpuc_topi_nn_relu(ctx, x), NULL);
    assert_ptr_equal(gpuc_te_shape(y)[1], n);
    gpuc_schedule *s = gpuc_topi_schedule(ctx, run_target(ctx), NULL, 1, &y);
    assert_non_null(gpuc_schedule_lower(s, "f", 2, (gpuc_tensor *[]){x, y}));
}

/* ---- Mistakes ---- */

typedef struct mistake {
    const char *words;
    void (*make)(gpuc_ctx *ctx, gpuc_tensor *x);
} mistake;

static void no_such(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi(ctx, "nn.con2d", &x, 1, NULL);
}
static void no_name(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi(ctx, NULL, &x, 1, NULL);
}
static void no_operand(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_add(ctx, x, NULL);
}
static void wrong_shape(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_nn_dense(ctx, x, x, x);
}
static void wrong_attr(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi(ctx, "sum", &x, 1, "axes=[1]");
}
static void wrong_type(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_sqrt(ctx, gpuc_topi_cast(ctx, x, GPUC_INT32));
}
static void no_axes(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_sum(ctx, x, 1, NULL, false);
}
static void no_shape(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_reshape(ctx, x, 2, NULL);
}
static void no_strides(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_nn_max_pool2d(ctx, x, NULL, NULL, NULL);
}
static void wrong_size(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_reshape(ctx, x, 2, (gpuc_expr[]){gpuc_int(ctx, 3), gpuc_var(ctx, "q", GPUC_FLOAT32)});
}
static void size_of_axis(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_expr size = gpuc_iter_var(gpuc_te_axis(ctx, gpuc_int(ctx, 3), "i"));
    gpuc_topi_broadcast_to(ctx, x, 1, &size);
}
static void no_type(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_cast(ctx, x, (gpuc_dtype){0});
}
static void vector_type(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi_cast(ctx, x, (gpuc_dtype){GPUC_DTYPE_FLOAT, 32, 4});
}
/* A placeholder of many dimensions. */
static gpuc_tensor *deep(gpuc_ctx *ctx, int ndim)
{
    gpuc_expr dims[80];
    for (int i = 0; i < ndim; i++) dims[i] = gpuc_int(ctx, 1);
    return gpuc_te_placeholder(ctx, "deep", ndim, dims, GPUC_FLOAT32);
}
static void many_labels(gpuc_ctx *ctx, gpuc_tensor *x)
{
    (void)x;
    gpuc_tensor *in[] = {deep(ctx, 40), deep(ctx, 26)};
    gpuc_topi(ctx, "einsum", in, 2, "equation=\"...,abcdefghijklmnopqrstuvwxyz->\"");
}
static void many_loops(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_iter *axes[40], *over[26];
    for (int i = 0; i < 40; i++) axes[i] = gpuc_te_axis(ctx, gpuc_int(ctx, 2), "i");
    for (int i = 0; i < 26; i++) over[i] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 2), "k");
    gpuc_expr at[] = {gpuc_iter_var(axes[39]), gpuc_iter_var(over[25])};
    gpuc_expr body = gpuc_te_reduce(ctx, "sum", gpuc_te_read(ctx, x, 2, at), 26, over);
    gpuc_tensor *y = gpuc_te_compute(ctx, "y", 40, axes, body);
    gpuc_topi_schedule(ctx, run_target(ctx), NULL, 1, &y);
}
static void folded(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi(ctx, "shape_of", &x, 1, NULL);
}
static void several(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_topi(ctx, "split", &x, 1, "indices_or_sections=2, axis=0");
}
static void no_room(gpuc_ctx *ctx, gpuc_tensor *x)
{
    gpuc_tensor *out[1];
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "indices_or_sections", 1, (int64_t[]){2});
    gpuc_topi_call(ctx, "split", gpuc_attrs_int(ctx, a, "axis", 0), 1, &x, 1, out);
}

static void attempt(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr shape[] = {gpuc_int(ctx, 2), gpuc_int(ctx, 3)};
    ((const mistake *)arg)->make(ctx, gpuc_te_placeholder(ctx, "x", 2, shape, GPUC_FLOAT32));
}

static void mistakes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const mistake rows[] = {
        {"nn.conv2d", no_such},
        {"the name is NULL", no_name},
        {"add: operand 1 is NULL", no_operand},
        {"must be a vector of 2", wrong_shape},
        {"axes", wrong_attr},
        {"sqrt", wrong_type},
        {"sum: axis is NULL", no_axes},
        {"newshape is NULL", no_shape},
        {"pool_size is NULL", no_strides},
        {"'reshape': entry 1 of newshape is of type float32", wrong_size},
        {"'broadcast_to': entry 0 of shape is i, which depends on the axis 'i'", size_of_axis},
        {"cast: attribute 'dtype' is no type, must be an element type", no_type},
        {"cast: attribute 'dtype' is float32x4, must be an element type", vector_type},
        {"einsum: names 66 different dimensions; it takes up to 64", many_labels},
        {"'y' has 40 axes and 26 that it reduces over", many_loops},
        {"make it an input", folded},
        {"use gpuc_topi_call", several},
        {"room for 1", no_room},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run_refused(gpuc_ctx_protect(ctx, attempt, (void *)&rows[i]), rows[i].words);
}

static void add_other(gpuc_ctx *ctx, void *arg)
{
    gpuc_topi_add(ctx, gpuc_te_const(ctx, GPUC_FLOAT32, 1), arg);
}

static void foreign(gpuc_ctx *ctx, void *arg)
{
    gpuc_ctx *other;
    (void)arg;
    run_ok(gpuc_ctx_create(NULL, &other));
    gpuc_tensor *x = gpuc_te_placeholder(ctx, "x", 0, NULL, GPUC_FLOAT32);
    run_refused(gpuc_ctx_protect(other, add_other, x),
                "add: operand 1: the tensor 'x' was made in another context");
    gpuc_ctx_destroy(other);
}

/* Entries as large as there are: what is beyond the tensor changes nothing. */
static void far_slices(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    program p = {.ctx = ctx};
    gpuc_tensor *x = input(&p, 0, 1, DIMS(2, 4));
    const int64_t far[] = {INT64_MAX, INT64_MAX}, before[] = {-INT64_MAX, -INT64_MAX},
                  down[] = {-INT64_MAX, -1};
    EXPECT(&p, gpuc_topi_strided_slice(ctx, x, before, far, far), 0);
    EXPECT(&p, gpuc_topi_strided_slice(ctx, x, far, before, down), 7, 6, 5, 4);
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", 2, (int64_t[]){1, 2});
    a = gpuc_attrs_string(ctx, gpuc_attrs_ints(ctx, a, "end", 2, far), "slice_mode", "size");
    gpuc_topi_call(ctx, "strided_slice", a, 1, &x, 1, &p.out);
    EXPECT(&p, p.out, 6, 7);
}

#define TEST(name)                                                                                           \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        run_in_ctx(name, NULL);                                                                              \
    }
TEST(unary)
TEST(binary)
TEST(lanes)
TEST(choices)
TEST(reductions)
TEST(shapes)
TEST(networks)
TEST(names)
TEST(results)
TEST(symbols)
TEST(mistakes)
TEST(foreign)
TEST(far_slices)

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),      cmocka_unit_test(test_binary),     cmocka_unit_test(test_choices),
        cmocka_unit_test(test_lanes),      cmocka_unit_test(test_reductions), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_networks),   cmocka_unit_test(test_names),      cmocka_unit_test(test_results),
        cmocka_unit_test(test_symbols),    cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_far_slices),
    };
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
