/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries: built for several targets, saved, and loaded by the runtime; damaged ones are refused. */
#include "../codegen/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <gpuc/build.h>
#include <gpuc/config.h>
#include <gpuc/files.h>

enum { N = 300 };

static const char path[] = "functions.gpuc-lib";

/* ---- Two functions: C = A + B in groups; and D = (A + 1) * s, whose sum lies in a workspace ---- */

static void bind(gpuc_schedule *s, gpuc_tensor *t)
{
    gpuc_stage *st = gpuc_schedule_stage(s, t);
    gpuc_iter *bx, *tx;
    gpuc_stage_split(st, gpuc_stage_axis(st, 0), 64, &bx, &tx);
    gpuc_stage_bind(st, bx, "blockIdx.x");
    gpuc_stage_bind(st, tx, "threadIdx.x");
}

static gpuc_tir_func *vector_add(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_tensor *c = gpuc_te_compute(
        ctx, "C", 1, &i, gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    bind(s, c);
    return gpuc_schedule_lower(s, "vector_add", 3, (gpuc_tensor *[]){a, b, c});
}

static gpuc_tir_func *scaled(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), factor = gpuc_var(ctx, "factor", GPUC_FLOAT32);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *j = gpuc_te_axis(ctx, n, "j");
    gpuc_expr at = gpuc_iter_var(i),
              last = gpuc_sub(ctx, gpuc_sub(ctx, n, gpuc_int(ctx, 1)), gpuc_iter_var(j));
    gpuc_tensor *t = gpuc_te_compute(
        ctx, "T", 1, &i, gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_imm(ctx, GPUC_FLOAT32, 1)));
    gpuc_tensor *d = gpuc_te_compute(ctx, "D", 1, &j, gpuc_mul(ctx, gpuc_te_read(ctx, t, 1, &last), factor));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &d);
    bind(s, t);
    bind(s, d);
    return gpuc_schedule_lower(s, "scaled", 2, (gpuc_tensor *[]){a, d});
}

static gpuc_library *make(gpuc_ctx *ctx)
{
    gpuc_library *l = gpuc_library_create(ctx);
    const gpuc_target *targets[] = {run_target(ctx), gpuc_target_parse(ctx, "opencl", NULL),
                                    gpuc_target_parse(ctx, "vulkan", NULL)};
    for (int i = 0; i < 3; i++) {
        gpuc_library_add(l, targets[i], vector_add(ctx));
        gpuc_library_add(l, targets[i], scaled(ctx));
    }
    return l;
}

/* ---- Calls ---- */

static gpuc_ndarray *array(const float *x)
{
    gpuc_ndarray *a;
    run_ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 1, (int64_t[]){N}, &a));
    if (x) run_ok(gpuc_ndarray_write(a, x, N * sizeof *x));
    return a;
}

static void call(gpuc_module *m, const char *name, int n, const gpuc_value *args)
{
    gpuc_function *f;
    run_ok(gpuc_module_get_function(m, name, &f));
    run_ok(gpuc_function_call(f, args, n, NULL));
    gpuc_function_release(f);
}

#define ARRAY(a)                                                                                             \
    {                                                                                                        \
        .kind = GPUC_VALUE_NDARRAY, .as.ndarray = (a)                                                        \
    }

static void computes(gpuc_module *m)
{
    float x[N], y[N], got[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)(N - i);
    }
    gpuc_ndarray *a = array(x), *b = array(y), *c = array(NULL);
    call(m, "vector_add", 4,
         (gpuc_value[]){ARRAY(a), ARRAY(b), ARRAY(c), {.kind = GPUC_VALUE_INT, .as.i = N}});
    run_ok(gpuc_ndarray_read(c, got, sizeof got));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], x[i] + y[i], 0);
    gpuc_value args[4] = {ARRAY(a), ARRAY(c)};
    gpuc_function *f;
    run_ok(gpuc_module_get_function(m, "scaled", &f));
    /* The scalars stand in the order in which the function first has them. */
    args[2] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = N};
    args[3] = (gpuc_value){.kind = GPUC_VALUE_FLOAT, .as.f = 3};
    run_ok(gpuc_function_call(f, args, 4, NULL));
    gpuc_function_release(f);
    run_ok(gpuc_ndarray_read(c, got, sizeof got));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], 3 * (x[N - 1 - i] + 1), 0);
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    gpuc_ndarray_release(c);
}

/* ---- Streams ---- */

/* f on an array of another runtime. */
static void foreign_array(gpuc_function *f, gpuc_stream *stream, gpuc_ndarray *a)
{
    gpuc_runtime *rt;
    gpuc_ndarray *theirs;
    const gpuc_value n = {.kind = GPUC_VALUE_INT, .as.i = N};
    run_ok(gpuc_runtime_create(NULL, &rt));
    run_ok(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 1, (int64_t[]){N}, &theirs));
    const gpuc_value args[] = {ARRAY(a), ARRAY(theirs), ARRAY(a), n};
    run_refused(gpuc_function_call(f, args, 4, NULL), "argument 1 ('B') is an array of another runtime");
    run_refused(gpuc_launch(stream, f, (gpuc_ndarray *[]){a, theirs, a}, 3, &n, 1),
                "not on the stream's device");
    gpuc_ndarray_release(theirs);
    gpuc_runtime_release(rt);
}

static void launches_body(gpuc_ctx *ctx, void *arg)
{
    float x[N], got[N], later[N] = {0};
    gpuc_module *m;
    gpuc_function *f;
    gpuc_stream *s1, *s2;
    gpuc_ticket t, done;
    (void)arg;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    m = gpuc_library_load(make(ctx), run_runtime(), run_device());
    run_ok(gpuc_module_get_function(m, "vector_add", &f));
    gpuc_ndarray *a = array(NULL), *b = array(NULL), *c = array(NULL), *host;
    const gpuc_value n = {.kind = GPUC_VALUE_INT, .as.i = N};
    run_ok(gpuc_stream_create(run_device(), &s1));
    run_ok(gpuc_stream_create(run_device(), &s2));
    run_ok(gpuc_ndarray_write_on(s1, a, x, sizeof x));
    run_ok(gpuc_launch(s1, f, (gpuc_ndarray *[]){a, a, b}, 3, &n, 1));
    run_ok(gpuc_stream_signal(s1, &t));
    run_ok(gpuc_stream_wait(s2, t));
    for (int i = 0; i < 50; i++) {
        gpuc_ndarray *sum = array(NULL);
        run_ok(gpuc_launch(s2, f, (gpuc_ndarray *[]){a, b, sum}, 3, &n, 1));
        run_ok(gpuc_launch(s2, f, (gpuc_ndarray *[]){sum, a, c}, 3, &n, 1));
        gpuc_ndarray_release(sum); /* it is in use */
    }
    run_ok(gpuc_ndarray_read_on(s2, c, later, sizeof later));
    run_ok(gpuc_stream_signal(s2, &done));
    run_ok(gpuc_ticket_wait(done, GPUC_FOREVER));
    assert_true(gpuc_ticket_done(done) && gpuc_ticket_done(t));
    for (int i = 0; i < N; i++) assert_float_equal(later[i], 4 * x[i], 0);

    /* The current stream of the thread is that of packed functions, and in order with what has no stream. */
    run_ok(gpuc_runtime_set_stream(run_device(), s1));
    call(m, "vector_add", 4, (gpuc_value[]){ARRAY(c), ARRAY(a), ARRAY(b), n});
    run_ok(gpuc_ndarray_copy(b, c));
    call(m, "vector_add", 4, (gpuc_value[]){ARRAY(c), ARRAY(a), ARRAY(b), n});
    run_ok(gpuc_ndarray_read(b, got, sizeof got));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], 6 * x[i], 0);

    gpuc_ndarray *both[3] = {a, b, b};
    run_refused(gpuc_launch(s1, f, both, 3, &n, 1), "argument 2 ('C'), which is written, shares memory with");
    run_refused(gpuc_launch(s1, f, both, 2, &n, 1), "takes 3 arrays and 1 numbers");
    run_refused(gpuc_launch(s1, f, (gpuc_ndarray *[]){a, NULL, b}, 3, &n, 1), "is not an array but NULL");
    foreign_array(f, s1, a);
    run_refused(gpuc_launch(NULL, f, both, 3, &n, 1), "'stream' is NULL");
    run_refused(gpuc_launch(s1, NULL, both, 3, &n, 1), "'kernel' is NULL");
    run_refused(gpuc_launch(s1, f, NULL, 3, &n, 1), "'arrays' is NULL");
    run_refused(gpuc_launch(s1, f, both, 3, NULL, 1), "'scalars' is NULL");
    run_refused(gpuc_launch(s1, f, both, -1, &n, 1), "-1 arrays");
    run_ok(gpuc_ndarray_create(run_runtime(), NULL, GPUC_FLOAT32, 1, (int64_t[]){N}, &host));
    run_refused(gpuc_launch(s1, f, (gpuc_ndarray *[]){a, host, b}, 3, &n, 1), "not on the stream's device");
    run_refused(gpuc_ndarray_read_on(s1, host, got, sizeof got), "the array is on the host");
    run_refused(gpuc_ndarray_write_on(s1, a, x, 4), "cannot write 4 bytes");
    t.number = UINT64_MAX;
    run_refused(gpuc_stream_wait(s1, t), "was never given");
    run_refused(gpuc_ticket_wait(t, 0), "was never given");
    gpuc_ndarray_release(host);
    gpuc_stream_release(s2);
    gpuc_stream_release(s1);
    run_refused(gpuc_stream_signal(NULL, &t), "'stream' is NULL");
    assert_true(gpuc_ticket_done(done)); /* for ever */
    run_ok(gpuc_ticket_wait((gpuc_ticket){0}, GPUC_FOREVER));
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    gpuc_ndarray_release(c);
    gpuc_function_release(f);
    gpuc_module_release(m);
}

/* ---- Round trips ---- */

static void file_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_module *m, *again;
    gpuc_value bytes, same;
    (void)arg;
    gpuc_library_save(make(ctx), path);
    run_ok(gpuc_module_load_file(run_runtime(), path, run_device(), GPUC_LOAD_NATIVE_CODE, &m));
    assert_string_equal(gpuc_module_type_key(m), "library");
    unlink(path); /* what is mapped stays */
    computes(m);
    run_ok(gpuc_module_save_binary(m, &bytes));
    gpuc_module_release(m);
    run_ok(gpuc_module_load_bytes(run_runtime(), bytes.as.bytes.data, bytes.as.bytes.size, run_device(),
                                  GPUC_LOAD_NATIVE_CODE, &again));
    computes(again);
    run_ok(gpuc_module_save_binary(again, &same));
    assert_int_equal(bytes.as.bytes.size, same.as.bytes.size);
    assert_memory_equal(bytes.as.bytes.data, same.as.bytes.data, same.as.bytes.size);
    gpuc_value_clear(run_runtime(), &bytes);
    gpuc_value_clear(run_runtime(), &same);
    gpuc_function *none;
    run_refused(gpuc_module_get_function(again, "vector_sub", &none), "no function 'vector_sub'");
    gpuc_module_release(again);
}

static void test_file(void **state)
{
    (void)state;
    run_in_ctx(file_body, NULL);
}

static void memory_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_library *l = make(ctx);
    gpuc_module *m = gpuc_library_load(l, run_runtime(), run_device());
    computes(m);
    gpuc_module_release(m);
    assert_non_null(strstr(gpuc_library_source(l, "opencl"), "vector_add"));
    assert_non_null(strstr(gpuc_library_source(l, "opencl"), "scaled"));
}

static void test_memory(void **state)
{
    (void)state;
    run_in_ctx(memory_body, NULL);
}

/* ---- Code: what the library imports ---- */

typedef struct code_row {
    gpuc_device_type device;
    const char *type, *form, *file, *start; /* what the source of a kernel begins with, after blanks */
} code_row;

static const code_row *code_row_of_device(void)
{
    static const code_row rows[] = {
        {GPUC_DEVICE_CPU, "cpu_so", "so", "kernels.so",
         "\x7f"
         "ELF"},
        {GPUC_DEVICE_OPENCL, "opencl_c", "cl", "kernels.opencl_c", NULL},
        {GPUC_DEVICE_VULKAN, "spirv", "spv", "kernels.spirv", "\x03\x02\x23\x07"},
    };
    const code_row *r = rows;
    while (r->device != run_device_type()) r++;
    return r;
}

static void same_values(gpuc_value *a, gpuc_value *b)
{
    assert_int_equal(a->kind, GPUC_VALUE_BYTES);
    assert_int_equal(b->kind, GPUC_VALUE_BYTES);
    assert_int_equal(a->as.bytes.size, b->as.bytes.size);
    assert_memory_equal(a->as.bytes.data, b->as.bytes.data, b->as.bytes.size);
    gpuc_value_clear(run_runtime(), a);
    gpuc_value_clear(run_runtime(), b);
}

static void same_module(gpuc_module *a, gpuc_module *b)
{
    gpuc_value x, y;
    assert_string_equal(gpuc_module_type_key(a), gpuc_module_type_key(b));
    for (size_t i = 0; i == 0 || gpuc_module_function_name(a, i - 1); i++) {
        const char *name = gpuc_module_function_name(a, i), *other = gpuc_module_function_name(b, i);
        assert_int_equal(name == NULL, other == NULL);
        if (name) assert_string_equal(name, other);
    }
    run_ok(gpuc_module_save_binary(a, &x));
    run_ok(gpuc_module_save_binary(b, &y));
    same_values(&x, &y);
}

static void check_source(gpuc_module *code, const char *kernel)
{
    const code_row *r = code_row_of_device();
    gpuc_value own, named, none;
    run_ok(gpuc_module_get_source(code, "", kernel, &own));
    run_ok(gpuc_module_get_source(code, r->form, kernel, &named));
    if (r->start) {
        assert_memory_equal(own.as.bytes.data, r->start, 4);
        same_values(&own, &named);
    } else {
        assert_non_null(strstr(own.as.string, "__kernel"));
        assert_non_null(strstr(own.as.string, kernel));
        assert_string_equal(own.as.string, named.as.string);
        gpuc_value_clear(run_runtime(), &own);
        gpuc_value_clear(run_runtime(), &named);
    }
    run_refused(gpuc_module_get_source(code, "poem", NULL, &none), "no source of the form 'poem'");
    run_refused(gpuc_module_get_source(code, "", "nothing", &none), "no kernel 'nothing'");
    run_refused(gpuc_module_get_source(code, NULL, NULL, &none), "'form' is NULL");
}

/* Through bytes and a file, by the registry. */
static void round_trips(gpuc_module *code)
{
    const code_row *r = code_row_of_device();
    gpuc_module *again;
    gpuc_value bytes;
    run_ok(gpuc_module_save_binary(code, &bytes));
    run_ok(gpuc_module_load_binary(run_runtime(), r->type, bytes.as.bytes.data, bytes.as.bytes.size, &again));
    same_module(code, again);
    gpuc_module_release(again);
    for (size_t i = 0; i < bytes.as.bytes.size; i += 1 + bytes.as.bytes.size / 300) {
        gpuc_status s = gpuc_module_load_binary(run_runtime(), r->type, bytes.as.bytes.data, i, &again);
        if (r->device != GPUC_DEVICE_CPU) assert_non_null(s);
        if (!s) gpuc_module_release(again);
        gpuc_status_release(s);
    }
    gpuc_value_clear(run_runtime(), &bytes);
    run_ok(gpuc_module_save_file(code, r->file));
    run_ok(gpuc_module_load_file(run_runtime(), r->file, NULL, 0, &again));
    unlink(r->file);
    same_module(code, again);
    gpuc_module_release(again);
    run_refused(gpuc_module_load_file(run_runtime(), r->file, NULL, 0, &again), r->file);
}

static void source_of_library(gpuc_module *m)
{
    gpuc_value v;
    run_refused(gpuc_module_get_source(m, "", "vector_sub", &v), "no function 'vector_sub'");
    run_ok(gpuc_module_get_source(m, "", "vector_add", &v)); /* one kernel */
    gpuc_value_clear(run_runtime(), &v);
    if (run_device_type() == GPUC_DEVICE_VULKAN) {
        run_refused(gpuc_module_get_source(m, "", NULL, &v), "name the function");
        run_refused(gpuc_module_get_source(m, "", "scaled", &v), "2 parts that are no text");
    }
    if (run_device_type() != GPUC_DEVICE_OPENCL) return;
    run_ok(gpuc_module_get_source(m, "cl", "scaled", &v)); /* two kernels of one program: its text once */
    const char *first = strstr(v.as.string, "__kernel");
    assert_non_null(first);
    gpuc_value all;
    run_ok(gpuc_module_get_source(m, "cl", NULL, &all));
    assert_int_equal(strlen(all.as.string), strlen(v.as.string));
    gpuc_value_clear(run_runtime(), &all);
    gpuc_value_clear(run_runtime(), &v);
}

/* What gpuc_compiler_register brings. */
static void check_assembly(gpuc_module *m)
{
    gpuc_value v;
    if (run_device_type() != GPUC_DEVICE_VULKAN) {
        run_refused(gpuc_module_get_source(m, "asm", "scaled", &v), "no source of the form 'asm'");
        return;
    }
    run_refused(gpuc_module_get_source(m, "asm", "scaled", &v), "gpuc_compiler_register");
    run_ok(gpuc_compiler_register(run_runtime()));
    if (!GPUC_HAVE_SPIRV_TOOLS) {
        run_refused(gpuc_module_get_source(m, "asm", "scaled", &v), "without SPIRV-Tools");
        return;
    }
    run_ok(gpuc_module_get_source(m, "asm", "scaled", &v)); /* two kernels */
    const char *first = strstr(v.as.string, "OpEntryPoint GLCompute");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "OpEntryPoint GLCompute"));
    gpuc_value_clear(run_runtime(), &v);
}

static void code_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_module *m = gpuc_library_load(make(ctx), run_runtime(), run_device()), *again;
    gpuc_value bytes;
    (void)arg;
    run_ok(gpuc_module_types_register(run_runtime()));
    run_ok(gpuc_module_types_register(run_runtime()));
    assert_string_equal(gpuc_module_function_name(m, 0), "vector_add");
    assert_string_equal(gpuc_module_function_name(m, 1), "scaled");
    assert_null(gpuc_module_function_name(m, 2));
    gpuc_module *code = gpuc_module_imported(m, 0);
    assert_non_null(code);
    assert_null(gpuc_module_imported(m, 1));
    assert_string_equal(gpuc_module_type_key(code), code_row_of_device()->type);
    int kernels = 0;
    for (size_t i = 0; gpuc_module_function_name(code, i); i++, kernels++)
        check_source(code, gpuc_module_function_name(code, i));
    assert_int_equal(kernels, 3);
    round_trips(code);
    source_of_library(m);
    check_assembly(m);
    run_ok(gpuc_module_save_file(m, path));
    run_ok(gpuc_module_load_file(run_runtime(), path, run_device(), GPUC_LOAD_NATIVE_CODE, &again));
    unlink(path);
    same_module(m, again);
    run_refused(gpuc_module_import(again, again), "which imports it");
    run_ok(gpuc_module_import(m, again));
    run_refused(gpuc_module_import(again, m), "which imports it");
    run_refused(gpuc_module_save_binary(m, &bytes), "imports one of type 'library'");
    gpuc_module_release(again);
    computes(m);
    gpuc_module_retain(code);
    gpuc_module_release(m);
    check_source(code, gpuc_module_function_name(code, 0)); /* which lives on */
    gpuc_module_release(code);
}

static void test_code(void **state)
{
    (void)state;
    run_in_ctx(code_body, NULL);
}

/* ---- Names: any that a C identifier may be, for functions, arrays and numbers ---- */

/* A[i] * s of 4 elements, in one thread. */
static gpuc_tir_func *times(gpuc_ctx *ctx, const char *function, const char *array, const char *number)
{
    gpuc_expr four = gpuc_int(ctx, 4), s = gpuc_var(ctx, number, GPUC_FLOAT32);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, array, 1, &four, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, four, "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_tensor *b = gpuc_te_compute(ctx, array, 1, &i, gpuc_mul(ctx, gpuc_te_read(ctx, a, 1, &at), s));
    return gpuc_schedule_lower(gpuc_schedule_create(ctx, 1, &b), function, 2, (gpuc_tensor *[]){a, b});
}

static void check_times(gpuc_module *m, const char *name)
{
    const float x[4] = {1, 2, 3, 4};
    float y[4];
    gpuc_ndarray *a, *b;
    gpuc_function *f;
    run_ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 1, (int64_t[]){4}, &a));
    run_ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 1, (int64_t[]){4}, &b));
    run_ok(gpuc_ndarray_write(a, x, sizeof x));
    run_ok(gpuc_module_get_function(m, name, &f));
    run_ok(gpuc_call(f, gpuc_arg(a), gpuc_arg(b), gpuc_arg_float(2)));
    run_ok(gpuc_ndarray_read(b, y, sizeof y));
    for (int i = 0; i < 4; i++) assert_float_equal(y[i], 2 * x[i], 0);
    gpuc_function_release(f);
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
}

static void names_body(gpuc_ctx *ctx, void *arg)
{
    static const char *const names[] = {"main",  "float4", "f32x8", "INT_MAX", "MAXFLOAT", "_k1",  "f",
                                        "f_k0",  "int",    "k_int", "exp",     "kernel",   "NULL", "A",
                                        "gpuc_", "f0_f",   "x__",   "global",  "EOF",      "I"};
    enum { COUNT = sizeof names / sizeof *names, LONG = 5000 };
    char *longest = gpuc_ctx_alloc(ctx, LONG + 1);
    memset(longest, 'n', LONG);
    (void)arg;
    gpuc_library *l = gpuc_library_create(ctx);
    for (int i = 0; i < COUNT; i++)
        gpuc_library_add(l, run_target(ctx),
                         times(ctx, names[i], names[(i + 3) % COUNT], names[(i + 7) % COUNT]));
    gpuc_library_add(l, run_target(ctx), times(ctx, longest, longest, longest));
    gpuc_module *m = gpuc_library_load(l, run_runtime(), run_device());
    for (int i = 0; i < COUNT; i++) check_times(m, names[i]);
    check_times(m, longest);
    gpuc_module_release(m);
}

static void test_names(void **state)
{
    (void)state;
    run_in_ctx(names_body, NULL);
}

/* ---- Bad input ---- */

/* The sum of n arrays. */
static gpuc_tir_func *sum_of_arrays(gpuc_ctx *ctx, int n)
{
    gpuc_tensor *args[16];
    gpuc_expr four = gpuc_int(ctx, 4), sum = gpuc_imm(ctx, GPUC_FLOAT32, 0);
    gpuc_iter *i = gpuc_te_axis(ctx, four, "i");
    gpuc_expr at = gpuc_iter_var(i);
    for (int k = 0; k < n; k++) {
        args[k] = gpuc_te_placeholder(ctx, "A", 1, &four, GPUC_FLOAT32);
        sum = gpuc_add(ctx, sum, gpuc_te_read(ctx, args[k], 1, &at));
    }
    args[n] = gpuc_te_compute(ctx, "S", 1, &i, sum);
    return gpuc_schedule_lower(gpuc_schedule_create(ctx, 1, &args[n]), "sum", n + 1, args);
}

/* Vulkan promises four buffers. */
static void add_many_arrays(gpuc_ctx *ctx, void *arg)
{
    gpuc_library_add(arg, gpuc_target_parse(ctx, "vulkan", NULL), sum_of_arrays(ctx, 4));
}

static gpuc_ctx *other_ctx;

static void add_foreign(gpuc_ctx *ctx, void *arg)
{
    gpuc_library_add(arg, run_target(ctx), vector_add(other_ctx));
}

static void parse_elsewhere(gpuc_ctx *ctx, void *arg)
{
    *(const gpuc_target **)arg = run_target(ctx);
}

/* A target lives no longer than its context; the library has one of its own. */
static void foreign_target(gpuc_ctx *ctx)
{
    const gpuc_target *t;
    run_ok(gpuc_ctx_create(NULL, &other_ctx));
    run_ok(gpuc_ctx_protect(other_ctx, parse_elsewhere, &t));
    gpuc_library *l = gpuc_library_create(ctx);
    gpuc_library_add(l, t, vector_add(ctx));
    run_refused(gpuc_ctx_protect(ctx, add_foreign, l), "made in another context");
    gpuc_ctx_destroy(other_ctx);
    gpuc_library_add(l, run_target(ctx), scaled(ctx));
    gpuc_module *m = gpuc_library_load(l, run_runtime(), run_device());
    computes(m);
    gpuc_module_release(m);
}

static void add_again(gpuc_ctx *ctx, void *arg)
{
    gpuc_library_add(arg, run_target(ctx), vector_add(ctx));
}

static void save_nothing(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_library_save(gpuc_library_create(ctx), path);
}

static void add_null(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_library_add(arg, NULL, NULL);
}

/* 64 threads are more than the target has: nothing of it stays in the library. */
static void add_too_many_threads(gpuc_ctx *ctx, void *arg)
{
    gpuc_library_add(arg, gpuc_target_parse(ctx, "opencl -max_num_threads=8", NULL), vector_add(ctx));
}

static void source_of_failed(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_library_source(arg, "opencl -max_num_threads=8");
}

static void source_of_other(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_library_source(arg, "opencl/pocl -max_num_threads=3");
}

/* Every byte that is changed, and every length, is noticed: the checksums hold. */
static void damage(const uint8_t *data, size_t size)
{
    gpuc_module *m;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 1 + size / 500) {
        memcpy(bytes, data, size);
        bytes[i] ^= 0x10;
        gpuc_status s = gpuc_module_load_bytes(run_runtime(), bytes, size, run_device(), 0, &m);
        assert_non_null(s);
        assert_null(m);
        gpuc_status_release(s);
        s = gpuc_module_load_bytes(run_runtime(), data, i, run_device(), 0, &m);
        assert_non_null(s);
        gpuc_status_release(s);
    }
    free(bytes);
}

static void bad_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_module *m;
    gpuc_model *model;
    gpuc_mapping file;
    (void)arg;
    gpuc_library *l = make(ctx);
    run_refused(gpuc_ctx_protect(ctx, add_again, l), "has a function 'vector_add' for target");
    run_refused(gpuc_ctx_protect(ctx, save_nothing, NULL), "the library has no functions");
    run_refused(gpuc_ctx_protect(ctx, add_null, l), "the target is NULL");
    run_refused(gpuc_ctx_protect(ctx, add_many_arrays, l), "write vulkan -max_storage_buffers=5");
    foreign_target(ctx);
    run_refused(gpuc_ctx_protect(ctx, add_too_many_threads, l), "64");
    run_refused(gpuc_ctx_protect(ctx, source_of_failed, l), "no functions for target");
    run_refused(gpuc_ctx_protect(ctx, source_of_other, l), "no functions for target 'opencl/pocl");
    gpuc_library_save(l, path);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    run_refused(gpuc_model_load(run_runtime(), &desc, &model), "library of functions, not a network");
    run_refused(gpuc_module_load_file(run_runtime(), "nothing.gpuc-lib", run_device(), 0, &m),
                "nothing.gpuc-lib");
    run_refused(gpuc_module_load_file(run_runtime(), path, run_device(), 6, &m), "flags 0x6");
    run_refused(gpuc_module_load_file(run_runtime(), NULL, run_device(), 0, &m), "'path' is NULL");
    if (run_device_type() == GPUC_DEVICE_CPU)
        run_refused(gpuc_module_load_file(run_runtime(), path, run_device(), 0, &m), "native code");
    run_ok(gpuc_file_map(path, &file));
    damage(file.data, file.size);
    gpuc_file_unmap(&file);
    unlink(path);
    gpuc_library *other = gpuc_library_create(ctx);
    bool cpu = run_device_type() == GPUC_DEVICE_CPU;
    gpuc_library_add(other, gpuc_target_parse(ctx, cpu ? "opencl" : "c", NULL), vector_add(ctx));
    gpuc_library_save(other, path);
    run_refused(gpuc_module_load_file(run_runtime(), path, run_device(), GPUC_LOAD_NATIVE_CODE, &m),
                "the library holds nothing for");
    unlink(path);
}

static void test_bad(void **state)
{
    (void)state;
    run_in_ctx(bad_body, NULL);
}

static void test_launches(void **state)
{
    (void)state;
    run_in_ctx(launches_body, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file),     cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_code),     cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_launches), cmocka_unit_test(test_bad)};
    char folder[] = "/tmp/gpuc-test-library-XXXXXX";
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    if (!mkdtemp(folder) || chdir(folder)) return 1;
    int failed = cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL);
    if (chdir("/") || rmdir(folder)) failed++;
    return run_end(failed);
}
