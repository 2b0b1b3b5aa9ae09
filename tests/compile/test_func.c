/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of this process: what they make of their arguments, and intermediates whose size a call decides. */
#include "../codegen/run.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/config.h>

enum { MAX = 512 };

/* A function on the device, and the arguments of a call. */
typedef struct func {
    gpuc_ctx *ctx;
    gpuc_module *module;
    gpuc_function *f;
    int n;
    gpuc_value at[MAX];
} func;

static void build(func *f, gpuc_schedule *s, int n, gpuc_tensor *const *args)
{
    gpuc_tir_func *lowered = gpuc_schedule_lower(s, "f", n, args);
    f->module = gpuc_build_func(f->ctx, run_runtime(), run_device(), run_target(f->ctx), lowered);
    run_ok(gpuc_module_get_function(f->module, "f", &f->f));
}

static void give(func *f, gpuc_device *dev, gpuc_dtype t, int ndim, const int64_t *dims)
{
    gpuc_value *v = &f->at[f->n++];
    v->kind = GPUC_VALUE_NDARRAY;
    run_ok(gpuc_ndarray_create(run_runtime(), dev, t, ndim, dims, &v->as.ndarray));
}
#define GIVE(f, t, ...)                                                                                      \
    give(f, run_device(), t, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})

static void give_int(func *f, int64_t i)
{
    f->at[f->n++] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = i};
}

static void give_float(func *f, double x)
{
    f->at[f->n++] = (gpuc_value){.kind = GPUC_VALUE_FLOAT, .as.f = x};
}

static gpuc_status call(func *f)
{
    return gpuc_function_call(f->f, f->at, f->n, NULL);
}

static void drop_arguments(func *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->at[i].kind == GPUC_VALUE_NDARRAY) gpuc_ndarray_release(f->at[i].as.ndarray);
    f->n = 0;
}

static void drop(func *f)
{
    drop_arguments(f);
    gpuc_function_release(f->f);
    gpuc_module_release(f->module);
}

static void put_floats(func *f, int i, const float *x)
{
    run_ok(gpuc_ndarray_write(f->at[i].as.ndarray, x, gpuc_ndarray_bytes(f->at[i].as.ndarray)));
}

static void get_floats(func *f, int i, float *x)
{
    run_ok(gpuc_ndarray_read(f->at[i].as.ndarray, x, gpuc_ndarray_bytes(f->at[i].as.ndarray)));
}

static gpuc_tensor *placeholder(gpuc_ctx *ctx, const char *name, gpuc_expr n, gpuc_expr m)
{
    gpuc_expr dims[] = {n, m};
    return gpuc_te_placeholder(ctx, name, m ? 2 : 1, dims, GPUC_FLOAT32);
}

static gpuc_expr at1(gpuc_ctx *ctx, gpuc_tensor *t, gpuc_iter *i)
{
    gpuc_expr index = gpuc_iter_var(i);
    return gpuc_te_read(ctx, t, 1, &index);
}

static gpuc_expr at2(gpuc_ctx *ctx, gpuc_tensor *t, gpuc_iter *i, gpuc_iter *j)
{
    gpuc_expr index[] = {gpuc_iter_var(i), gpuc_iter_var(j)};
    return gpuc_te_read(ctx, t, 2, index);
}

static void bind_rows(gpuc_schedule *s, gpuc_tensor *t)
{
    gpuc_stage *st = gpuc_schedule_stage(s, t);
    gpuc_stage_bind(st, gpuc_stage_leaf(st, 0), "blockIdx.x");
}

/* ---- Arguments ------------------------------------------------------------------------------------ */

/* C[i] = A[i] * alpha + shift, with A of n elements. */
static void scaled(func *f)
{
    gpuc_ctx *ctx = f->ctx;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64), alpha = gpuc_var(ctx, "alpha", GPUC_FLOAT32),
              shift = gpuc_var(ctx, "shift", GPUC_INT32);
    gpuc_tensor *a = placeholder(ctx, "A", n, NULL);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr body = gpuc_add(ctx, gpuc_mul(ctx, at1(ctx, a, i), alpha), gpuc_cast(ctx, GPUC_FLOAT32, shift));
    gpuc_tensor *args[] = {a, gpuc_te_compute(ctx, "C", 1, &i, body)};
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    bind_rows(s, args[1]);
    build(f, s, 2, args);
}

static void numbers_body(gpuc_ctx *ctx, void *arg)
{
    func f = {.ctx = ctx};
    const float x[3] = {1, 2, -3};
    float y[3];
    (void)arg;
    scaled(&f);
    GIVE(&f, GPUC_FLOAT32, 3);
    GIVE(&f, GPUC_FLOAT32, 3);
    put_floats(&f, 0, x);
    give_int(&f, 3); /* n */
    int first = f.n;
    bool alpha_first = true;
    give_int(&f, 2);
    give_int(&f, 5);
    run_ok(call(&f));
    get_floats(&f, 1, y);
    if (y[1] == 12) alpha_first = false; /* 2 * 5 + 2 */
    for (int i = 0; i < 3; i++) assert_true(y[i] == x[i] * (alpha_first ? 2 : 5) + (alpha_first ? 5 : 2));
    int alpha = alpha_first ? first : first + 1, shift = alpha_first ? first + 1 : first;
    f.at[alpha] = (gpuc_value){.kind = GPUC_VALUE_FLOAT, .as.f = 0.5};
    run_ok(call(&f));
    f.at[shift] = (gpuc_value){.kind = GPUC_VALUE_FLOAT, .as.f = 5};
    run_refused(call(&f), "('shift') is the float 5; the parameter is int32");
    f.at[shift] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = INT64_C(1) << 40};
    run_refused(call(&f), "does not fit in int32");
    f.at[shift] = (gpuc_value){.kind = GPUC_VALUE_STRING, .as.string = "5"};
    run_refused(call(&f), "('shift') is not a number but string");
    drop(&f);
}

static void test_numbers(void **state)
{
    (void)state;
    run_in_ctx(numbers_body, NULL);
}

static void arrays_body(gpuc_ctx *ctx, void *arg)
{
    func f = {.ctx = ctx};
    const int64_t three = 3;
    (void)arg;
    scaled(&f);
    GIVE(&f, GPUC_FLOAT32, 3);
    GIVE(&f, GPUC_FLOAT32, 3);
    run_refused(call(&f), "takes 2 arrays and 3 numbers, got 2 arguments");
    give_int(&f, 3);
    give_int(&f, 1);
    give_int(&f, 1);
    run_ok(call(&f));
    run_refused(gpuc_function_call(f.f, NULL, 5, NULL), "'args' is NULL");
    f.at[2].as.i = 4;
    run_refused(call(&f), "dimension 0 of argument 0 ('A') is 3; it must be 4 (n)");
    f.at[2].as.i = -3;
    run_refused(call(&f), "dimension 0 of argument 0 ('A')");
    f.at[2].as.i = 3;
    gpuc_value right = f.at[1], wrong[5];
    func other = {.ctx = ctx};
    GIVE(&other, GPUC_INT8, 3);
    GIVE(&other, GPUC_FLOAT32, 3, 1);
    GIVE(&other, GPUC_FLOAT32, 2);
    give(&other, NULL, GPUC_FLOAT32, 1, &three);
    give_int(&other, 3);
    memcpy(wrong, other.at, sizeof wrong);
    static const char *const words[] = {"argument 1 ('C') is of type int8; it must be float32",
                                        "argument 1 ('C') has 2 dimensions; it must have 1",
                                        "dimension 0 of argument 1 ('C') is 2; it must be 3 (n)",
                                        "argument 1 ('C') is on another device",
                                        "argument 1 ('C') is not an array but int"};
    for (int i = 0; i < 5; i++) {
        f.at[1] = wrong[i];
        run_refused(call(&f), words[i]);
    }
    f.at[1] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY};
    run_refused(call(&f), "argument 1 ('C') is not an array but NULL");
    f.at[1] = right;
    run_ok(call(&f));
    drop_arguments(&other);
    drop(&f);
}

static void test_arrays(void **state)
{
    (void)state;
    run_in_ctx(arrays_body, NULL);
}

/* More scalars than any fixed table, of the function and of its kernels. */
static void many_scalars_body(gpuc_ctx *ctx, void *arg)
{
    enum { COUNT = 300, N = 4 };
    func f = {.ctx = ctx};
    float y[N], want = 0;
    (void)arg;
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, N), "i");
    gpuc_expr sum = gpuc_cast(ctx, GPUC_FLOAT32, gpuc_iter_var(i));
    for (int k = 0; k < COUNT; k++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", k);
        sum = gpuc_add(ctx, sum, gpuc_var(ctx, name, GPUC_FLOAT32));
    }
    gpuc_tensor *out = gpuc_te_compute(ctx, "C", 1, &i, sum);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &out);
    bind_rows(s, out);
    build(&f, s, 1, &out);
    GIVE(&f, GPUC_FLOAT32, N);
    for (int k = 0; k < COUNT; k++) {
        if (k % 2)
            give_int(&f, k);
        else
            give_float(&f, k);
        want += (float)k;
    }
    run_ok(call(&f));
    get_floats(&f, 0, y);
    for (int k = 0; k < N; k++) assert_true(y[k] == want + (float)k);
    drop(&f);
}

static void test_many_scalars(void **state)
{
    (void)state;
    run_in_ctx(many_scalars_body, NULL);
}

static void many_dims_body(gpuc_ctx *ctx, void *arg)
{
    enum { NDIM = 40 };
    func f = {.ctx = ctx};
    gpuc_expr dims[NDIM], index[NDIM];
    gpuc_iter *axes[NDIM];
    int64_t extents[NDIM];
    float x[8], y[8];
    (void)arg;
    for (int d = 0; d < NDIM; d++) {
        extents[d] = d % 16 == 5 ? 2 : 1;
        dims[d] = gpuc_int(ctx, extents[d]);
        axes[d] = gpuc_te_axis(ctx, dims[d], "i");
        index[d] = gpuc_iter_var(axes[d]);
    }
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", NDIM, dims, GPUC_FLOAT32);
    gpuc_expr body = gpuc_mul(ctx, gpuc_te_read(ctx, a, NDIM, index), gpuc_imm(ctx, GPUC_FLOAT32, 2));
    gpuc_tensor *args[] = {a, gpuc_te_compute(ctx, "C", NDIM, axes, body)};
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    gpuc_stage *st = gpuc_schedule_stage(s, args[1]);
    gpuc_stage_vectorize(st, gpuc_stage_leaf(st, 37));
    build(&f, s, 2, args);
    for (int i = 0; i < 2; i++) give(&f, run_device(), GPUC_FLOAT32, NDIM, extents);
    for (int i = 0; i < 8; i++) x[i] = (float)i;
    put_floats(&f, 0, x);
    run_ok(call(&f));
    get_floats(&f, 1, y);
    for (int i = 0; i < 8; i++) assert_true(y[i] == 2 * x[i]);
    drop(&f);
}

static void test_many_dims(void **state)
{
    (void)state;
    run_in_ctx(many_dims_body, NULL);
}

/* ---- Intermediates of symbolic size --------------------------------------------------------------- */

typedef enum variant { PLAIN, AT_ROWS, FACTORED, VARIANTS } variant;

/* Softmax along the columns of [n, m]: four intermediates. */
static void softmax(func *f, variant v)
{
    gpuc_ctx *ctx = f->ctx;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64), m = gpuc_var(ctx, "m", GPUC_INT64);
    gpuc_tensor *a = placeholder(ctx, "A", n, m);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *j = gpuc_te_axis(ctx, m, "j"),
              *k = gpuc_te_reduce_axis(ctx, m, "k");
    gpuc_iter *both[] = {i, j};
    gpuc_tensor *top =
        gpuc_te_compute(ctx, "top", 1, &i, gpuc_te_reduce(ctx, "max", at2(ctx, a, i, k), 1, &k));
    gpuc_expr e = gpuc_call1(ctx, "exp", gpuc_sub(ctx, at2(ctx, a, i, j), at1(ctx, top, i)));
    gpuc_tensor *ex = gpuc_te_compute(ctx, "ex", 2, both, e);
    gpuc_tensor *sum =
        gpuc_te_compute(ctx, "sum", 1, &i, gpuc_te_reduce(ctx, "sum", at2(ctx, ex, i, k), 1, &k));
    gpuc_tensor *args[] = {
        a, gpuc_te_compute(ctx, "C", 2, both, gpuc_div(ctx, at2(ctx, ex, i, j), at1(ctx, sum, i)))};
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    gpuc_stage *out = gpuc_schedule_stage(s, args[1]);
    if (v == FACTORED) {
        gpuc_stage *st = gpuc_schedule_stage(s, sum);
        gpuc_iter *inner;
        gpuc_stage_split(st, gpuc_stage_reduce_axis(st, 0), 4, NULL, &inner);
        gpuc_rfactor(s, sum, inner);
    } else if (v == AT_ROWS) {
        gpuc_stage *st = gpuc_schedule_stage(s, sum);
        gpuc_stage_compute_at(gpuc_schedule_stage(s, ex), out, gpuc_stage_leaf(out, 0));
        gpuc_stage_compute_at(st, out, gpuc_stage_leaf(out, 0));
    }
    if (v != AT_ROWS) bind_rows(s, args[1]);
    build(f, s, 2, args);
}

static void check_softmax(func *f, int64_t n, int64_t m)
{
    float *x = malloc(sizeof *x * (size_t)(n * m + 1)), *y = malloc(sizeof *y * (size_t)(n * m + 1));
    GIVE(f, GPUC_FLOAT32, n, m);
    GIVE(f, GPUC_FLOAT32, n, m);
    give_int(f, n);
    give_int(f, m);
    for (int64_t i = 0; i < n * m; i++) x[i] = (float)((i * 7 + n) % 13) / 4 - 1;
    put_floats(f, 0, x);
    run_ok(call(f));
    get_floats(f, 1, y);
    for (int64_t r = 0; r < n; r++) {
        double sum = 0;
        for (int64_t c = 0; c < m; c++) sum += exp(x[r * m + c]);
        for (int64_t c = 0; c < m; c++) assert_true(fabs(y[r * m + c] - exp(x[r * m + c]) / sum) < 1e-5);
    }
    free(x);
    free(y);
    drop_arguments(f);
}

static void symbolic_body(gpuc_ctx *ctx, void *arg)
{
    static const int64_t sizes[][2] = {{5, 9}, {1, 1}, {33, 40}, {0, 7}, {3, 130}, {2, 3}};
    for (int v = 0; v < VARIANTS; v++) {
        func f = {.ctx = ctx};
        (void)arg;
        softmax(&f, (variant)v);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_softmax(&f, sizes[i][0], sizes[i][1]);
        drop(&f);
    }
}

static void test_symbolic(void **state)
{
    (void)state;
    run_in_ctx(symbolic_body, NULL);
}

static void *call_often(void *arg)
{
    func f = *(const func *)arg;
    for (int64_t i = 1; i < 12; i++) check_softmax(&f, f.n + i % 5, 3 + 5 * i);
    return NULL;
}

static void threads_body(gpuc_ctx *ctx, void *arg)
{
    enum { THREADS = 4 };
    func f = {.ctx = ctx};
    pthread_t threads[THREADS];
    (void)arg;
    softmax(&f, PLAIN);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, call_often, &f), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    drop(&f);
}

static void test_threads(void **state)
{
    (void)state;
    run_in_ctx(threads_body, NULL);
}

/* A size that no memory has, and one that overflows. */
static void huge_body(gpuc_ctx *ctx, void *arg)
{
    func f = {.ctx = ctx};
    (void)arg;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *j = gpuc_te_axis(ctx, gpuc_int(ctx, 1), "j"),
              *k = gpuc_te_reduce_axis(ctx, n, "k");
    gpuc_tensor *part = gpuc_te_compute(ctx, "part", 1, &i, gpuc_cast(ctx, GPUC_FLOAT32, gpuc_iter_var(i)));
    gpuc_tensor *out = gpuc_te_compute(ctx, "C", 1, &j, gpuc_te_reduce(ctx, "sum", at1(ctx, part, k), 1, &k));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &out);
    build(&f, s, 1, &out);
    GIVE(&f, GPUC_FLOAT32, 1);
    give_int(&f, INT64_MAX / 3);
    run_refused(call(&f), "intermediate tensor");
    f.at[1].as.i = 10;
    run_ok(call(&f));
    float y;
    get_floats(&f, 0, &y);
    assert_true(y == 45);
    drop(&f);
}

static void test_huge(void **state)
{
    (void)state;
    run_in_ctx(huge_body, NULL);
}

/* ---- Code and where it lies ----------------------------------------------------------------------- */

/* C = A * 2 + 1, by a stage of its own for the product. */
static gpuc_schedule *two_stages(gpuc_ctx *ctx, gpuc_tensor **args, gpuc_stage **product)
{
    enum { N = 12 };
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, N), "i");
    args[0] = placeholder(ctx, "A", gpuc_int(ctx, N), NULL);
    gpuc_expr two = gpuc_mul(ctx, at1(ctx, args[0], i), gpuc_imm(ctx, GPUC_FLOAT32, 2));
    gpuc_tensor *mid = gpuc_te_compute(ctx, "mid", 1, &i, two);
    args[1] =
        gpuc_te_compute(ctx, "C", 1, &i, gpuc_add(ctx, at1(ctx, mid, i), gpuc_imm(ctx, GPUC_FLOAT32, 1)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    *product = gpuc_schedule_stage(s, mid);
    return s;
}

static void texture_body(gpuc_ctx *ctx, void *arg)
{
    func f = {.ctx = ctx};
    gpuc_tensor *args[2];
    gpuc_stage *mid;
    float x[12], y[12];
    (void)arg;
    gpuc_schedule *s = two_stages(ctx, args, &mid);
    gpuc_stage_set_scope(mid, "global.texel");
    gpuc_stage_bind(mid, gpuc_stage_leaf(mid, 0), "blockIdx.x");
    bind_rows(s, args[1]);
    build(&f, s, 2, args);
    for (int i = 0; i < 2; i++) GIVE(&f, GPUC_FLOAT32, 12);
    for (int i = 0; i < 12; i++) x[i] = (float)i;
    put_floats(&f, 0, x);
    run_ok(call(&f));
    get_floats(&f, 1, y);
    for (int i = 0; i < 12; i++) assert_true(y[i] == 2 * x[i] + 1);
    drop(&f);
}

static void test_texture(void **state)
{
    (void)state;
    run_in_ctx(texture_body, NULL);
}

static gpuc_tir_func *warp_stage(gpuc_ctx *ctx, bool required)
{
    gpuc_tensor *args[2];
    gpuc_stage *mid;
    gpuc_schedule *s = two_stages(ctx, args, &mid);
    gpuc_stage *out = gpuc_schedule_stage(s, args[1]);
    gpuc_iter *block, *thread, *inner;
    gpuc_stage_split(out, gpuc_stage_leaf(out, 0), 3, &block, &thread);
    gpuc_stage_bind(out, block, "blockIdx.x");
    gpuc_stage_bind(out, thread, "threadIdx.x");
    gpuc_stage_compute_at(mid, out, thread);
    gpuc_stage_split(mid, gpuc_stage_leaf(mid, 0), 3, NULL, &inner);
    gpuc_stage_bind(mid, inner, "threadIdx.x");
    gpuc_stage_set_scope(mid, "warp");
    if (required) gpuc_stage_require_scope(mid);
    return gpuc_schedule_lower(s, "f", 2, args);
}

static void required_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_build_source(ctx, run_target(ctx), warp_stage(ctx, true));
}

static void warp_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_tir_program *p = gpuc_lower(ctx, warp_stage(ctx, false), run_target(ctx));
    assert_int_equal(p->num_kernels, 1);
    if (!strstr(p->kernels[0]->label, "mid of scope warp is shared memory: "))
        fail_msg("the label is: %s", p->kernels[0]->label);
    run_refused(gpuc_ctx_protect(ctx, required_body, NULL),
                "'mid' cannot be in scope warp, which its stage requires");
}

static void test_warp(void **state)
{
    (void)state;
    run_in_ctx(warp_body, NULL);
}

/* In every listing of SPIR-V. */
static const char *const spirv_word = GPUC_HAVE_SPIRV_TOOLS ? "OpEntryPoint GLCompute" : "07230203 ";

static void source_body(gpuc_ctx *ctx, void *arg)
{
    const char *text = gpuc_build_source(ctx, run_target(ctx), warp_stage(ctx, false));
    const char *word = run_device_type() == GPUC_DEVICE_VULKAN   ? spirv_word
                       : run_device_type() == GPUC_DEVICE_OPENCL ? "__kernel"
                                                                 : "int f0_f(";
    (void)arg;
    if (!strstr(text, word)) fail_msg("%s", text);
    /* Text needs no compiler. */
    const gpuc_target *none = gpuc_target_parse(ctx, "c -cc=/there/is/none", NULL);
    assert_non_null(strstr(gpuc_build_source(ctx, none, warp_stage(ctx, false)), "int f0_f("));
}

static void test_source(void **state)
{
    (void)state;
    run_in_ctx(source_body, NULL);
}

/* ---- Values of the loop IR's contract ---- */

/* By a divisor made of the scalar p, which is 0: x / 0 = x % 0 = 0 (gpuc/tir.h). */
static void zero_body(gpuc_ctx *ctx, void *arg)
{
    enum { DIVISORS = 5, OPS = 4 };
    const gpuc_dtype types[] = {GPUC_INT64, GPUC_INT32};
    (void)arg;
    for (int t = 0; t < 2; t++) {
        func f = {.ctx = ctx};
        gpuc_expr n = gpuc_int(ctx, 3), p = gpuc_var(ctx, "p", types[t]),
                  zero = gpuc_imm_int(ctx, types[t], 0), one = gpuc_imm_int(ctx, types[t], 1),
                  x = gpuc_imm_int(ctx, types[t], -2);
        gpuc_expr by[DIVISORS] = {p, gpuc_call2(ctx, "bitand", p, one),
                                  gpuc_min(ctx, gpuc_max(ctx, p, zero), one),
                                  gpuc_floormod_(ctx, p, gpuc_imm_int(ctx, types[t], 2)),
                                  gpuc_cast(ctx, types[t], gpuc_ne(ctx, p, zero))};
        gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
        gpuc_tensor *outs[DIVISORS * OPS];
        gpuc_expr bodies[DIVISORS * OPS];
        int count = 0;
        for (int d = 0; d < DIVISORS; d++) {
            bodies[count++] = gpuc_div(ctx, x, by[d]);
            bodies[count++] = gpuc_mod(ctx, x, by[d]);
            bodies[count++] = gpuc_floordiv_(ctx, x, by[d]);
            bodies[count++] = gpuc_floormod_(ctx, x, by[d]);
        }
        /* One kernel each: a target may have few buffers. */
        for (int k = 0; k < count; k++) {
            outs[k] = gpuc_te_compute(ctx, "C", 1, &i, bodies[k]);
            build(&f, gpuc_schedule_create(ctx, 1, &outs[k]), 1, &outs[k]);
            give(&f, run_device(), types[t], 1, (int64_t[]){3});
            give_int(&f, 0);
            run_ok(call(&f));
            int64_t got[3] = {0};
            run_ok(gpuc_ndarray_read(f.at[0].as.ndarray, got, 3 * gpuc_dtype_bytes(types[t])));
            for (int e = 0; e < 3; e++)
                if (got[e])
                    fail_msg("operator %d by divisor %d gives %lld", k % OPS, k / OPS, (long long)got[e]);
            drop(&f);
        }
    }
}

static void test_zero(void **state)
{
    (void)state;
    run_in_ctx(zero_body, NULL);
}

/* C[i] = the sum of m ones, all in one invocation: a device that ends loops refuses, or is right. */
static void nest_body(gpuc_ctx *ctx, void *arg)
{
    static const int sizes[][2] = {{16383, 1}, {16384, 1}, {21000, 1}, {32768, 0},
                                   {65535, 0}, {13106, 3}, {1, 65534}};
    (void)arg;
    func f = {.ctx = ctx};
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), m = gpuc_var(ctx, "m", GPUC_INDEX);
    gpuc_tensor *a = placeholder(ctx, "A", m, NULL);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *k = gpuc_te_reduce_axis(ctx, m, "k");
    gpuc_tensor *args[] = {
        a, gpuc_te_compute(ctx, "C", 1, &i, gpuc_te_reduce(ctx, "sum", at1(ctx, a, k), 1, &k))};
    build(&f, gpuc_schedule_create(ctx, 1, &args[1]), 2, args);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int rows = sizes[s][0], ones = sizes[s][1], wrong = 0;
        float *x = gpuc_new_array(ctx, float, rows + ones);
        GIVE(&f, GPUC_FLOAT32, ones);
        GIVE(&f, GPUC_FLOAT32, rows);
        for (int e = 0; e < ones; e++) x[e] = 1;
        put_floats(&f, 0, x);
        give_int(&f, ones);
        give_int(&f, rows);
        gpuc_status status = call(&f);
        if (status && !strstr(gpuc_status_message(status), "ends loops after"))
            fail_msg("%s", gpuc_status_message(status));
        if (!status) get_floats(&f, 1, x);
        for (int e = 0; !status && e < rows; e++) wrong += x[e] != (float)ones;
        if (wrong) fail_msg("%d of %d sums of %d are wrong", wrong, rows, ones);
        gpuc_status_release(status);
        drop_arguments(&f);
    }
    drop(&f);
}

static void test_nest(void **state)
{
    (void)state;
    run_in_ctx(nest_body, NULL);
}

static void debug_body(gpuc_ctx *ctx, void *arg)
{
    func f = {.ctx = ctx};
    char text[4096];
    int saved = dup(2);
    FILE *file = tmpfile();
    (void)arg;
    assert_null(gpuc_ctx_set_debug(ctx, "source"));
    dup2(fileno(file), 2);
    scaled(&f);
    dup2(saved, 2);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    if (!strstr(text, run_device_type() == GPUC_DEVICE_VULKAN ? spirv_word : "alpha")) fail_msg("%s", text);
    drop(&f);
}

static void test_debug(void **state)
{
    (void)state;
    run_in_ctx(debug_body, NULL);
}

static void builder_body(gpuc_ctx *ctx, void *arg)
{
    static const char *const kinds[] = {"vulkan", "opencl", "c"}, *const names[] = {"context",
                                                                                    "module of kernels"};
    gpuc_value ret,
        right[2] = {{.kind = GPUC_VALUE_HANDLE, .as.handle = ctx},
                    {.kind = GPUC_VALUE_HANDLE,
                     .as.handle = gpuc_ir_module_create(ctx, gpuc_target_parse(ctx, "opencl", NULL))}};
    (void)arg;
    gpuc_status s = gpuc_compiler_register(run_runtime());
    gpuc_status_release(s); /* another test may have been first */
    for (int k = 0; k < 3; k++) {
        char name[32];
        snprintf(name, sizeof name, "target.build.%s", kinds[k]);
        gpuc_function *f = gpuc_registry_get(run_runtime(), name);
        for (int i = 0; i < 2; i++) {
            gpuc_value args[2] = {right[0], right[1]};
            args[i].as.handle = NULL;
            run_refused(gpuc_function_call(f, args, 2, &ret), names[i]);
        }
        run_refused(gpuc_function_call(f, right, 1, &ret), "takes a context and a module of kernels");
        run_refused(gpuc_function_call(f, right, 2, &ret),
                    strcmp(kinds[k], "opencl") == 0 ? "has no kernels" : "the kernels are for 'opencl'");
    }
}

static void test_builders(void **state)
{
    (void)state;
    run_in_ctx(builder_body, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_many_scalars), cmocka_unit_test(test_many_dims),
        cmocka_unit_test(test_symbolic),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_huge),         cmocka_unit_test(test_texture),
        cmocka_unit_test(test_warp),         cmocka_unit_test(test_source),
        cmocka_unit_test(test_debug),        cmocka_unit_test(test_builders),
        cmocka_unit_test(test_zero),         cmocka_unit_test(test_nest),
    };
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    return run_end(cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL));
}
