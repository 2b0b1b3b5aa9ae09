/* SPDX-License-Identifier: Apache-2.0 */
/* target.build.<kind>: whoever takes its place sees all code that is built, as loop IR, and makes it. */
#include "../codegen/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/lower.h>
#include <gpuc/onnx.h>
#include <gpuc/te.h>

#include "tir/tir.h"

static char package_path[] = "/tmp/gpuc-builders-XXXXXX.gpuc", library_path[64];

/* ---- A builder in the place of another ---- */

typedef enum what { PASSES_ON, FAILS, RAISES, GIVES_INT, GIVES_OTHER_KERNEL, REQUIRES } what;

typedef struct wrapper {
    gpuc_function *own;
    what does;
    int calls, kernels;
} wrapper;

static wrapper wrapped;

static gpuc_module *other_kernel(gpuc_ctx *ctx, gpuc_ir_module *given)
{
    gpuc_tir_func *f = gpuc_tir_parse(ctx, gpuc_tir_text(ctx, gpuc_ir_module_func(given, 0)), "a copy");
    f->name = "stranger";
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, gpuc_ir_module_target(given));
    gpuc_ir_module_add(ir, f);
    gpuc_value args[] = {{.kind = GPUC_VALUE_HANDLE, .as.handle = ctx},
                         {.kind = GPUC_VALUE_HANDLE, .as.handle = ir}};
    gpuc_value ret;
    GPUC_RAISE_IF(ctx, gpuc_function_call(wrapped.own, args, 2, &ret));
    return ret.as.module;
}

static gpuc_status build(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    wrapper *w = self;
    gpuc_ctx *ctx = args[0].as.handle;
    gpuc_ir_module *ir = args[1].as.handle;
    w->calls++;
    for (int i = 0; i < gpuc_ir_module_count(ir); i++) {
        const gpuc_tir_func *f = gpuc_ir_module_func(ir, i);
        assert_ptr_equal(f, gpuc_ir_module_func(ir, i));
        assert_non_null(strstr(gpuc_tir_text(ctx, f), f->name));
        w->kernels++;
    }
    switch (w->does) {
    case PASSES_ON: break;
    case FAILS: return gpuc_fail(GPUC_UNSUPPORTED, "this builder does nothing on Sundays");
    case RAISES: gpuc_ir_module_func(ir, 1000); break;
    case GIVES_INT: *ret = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = 4}; return NULL;
    case GIVES_OTHER_KERNEL:
        *ret = (gpuc_value){.kind = GPUC_VALUE_MODULE, .as.module = other_kernel(ctx, ir)};
        return NULL;
    case REQUIRES: gpuc_ir_module_require(ir, "max_num_threads", INT64_C(1) << 40); break;
    }
    return gpuc_function_call(w->own, args, num_args, ret);
}

static const char *builder_name(void)
{
    static char name[64];
    snprintf(name, sizeof name, "target.build.%.*s", (int)strcspn(run_target_text, " /"), run_target_text);
    return name;
}

static void wrap(what does)
{
    wrapped = (wrapper){.own = wrapped.own, .does = does};
    run_ok(gpuc_registry_set_fn(run_runtime(), builder_name(), build, &wrapped, NULL, true));
}

static void unwrap(void)
{
    run_ok(gpuc_registry_set(run_runtime(), builder_name(), wrapped.own, true));
}

/* ---- What is built ---- */

static void build_network(gpuc_ctx *ctx)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *target = run_target(ctx);
    gpuc_build_package(ctx, gpuc_onnx_load(ctx, "tests/models/mnist_8/model.onnx", NULL), 1, &target,
                       &options, package_path, NULL);
}

static gpuc_tir_func *doubled(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr at = gpuc_iter_var(i), x = gpuc_te_read(ctx, a, 1, &at);
    gpuc_tensor *b = gpuc_te_compute(ctx, "B", 1, &i, gpuc_add(ctx, x, x));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &b);
    gpuc_stage *st = gpuc_schedule_stage(s, b);
    gpuc_iter *bx, *tx;
    gpuc_stage_split(st, gpuc_stage_axis(st, 0), 64, &bx, &tx);
    gpuc_stage_bind(st, bx, "blockIdx.x");
    gpuc_stage_bind(st, tx, "threadIdx.x");
    return gpuc_schedule_lower(s, "doubled", 2, (gpuc_tensor *[]){a, b});
}

static void build_library(gpuc_ctx *ctx)
{
    gpuc_library *l = gpuc_library_create(ctx);
    gpuc_library_add(l, run_target(ctx), doubled(ctx));
    gpuc_library_save(l, library_path);
}

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes read_file(const char *path)
{
    gpuc_mapping m;
    run_ok(gpuc_file_map(path, &m));
    bytes b = {malloc(m.size), m.size};
    assert_non_null(b.data);
    memcpy(b.data, m.data, m.size);
    gpuc_file_unmap(&m);
    unlink(path);
    return b;
}

static void infer(bytes package, float *y)
{
    float x[28 * 28];
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.bytes = package.data;
    desc.size = package.size;
    desc.device = run_device();
    desc.allow_native_code = true;
    gpuc_model *model;
    gpuc_session *s;
    gpuc_ndarray *in, *out;
    for (int i = 0; i < 28 * 28; i++) x[i] = (float)(i % 29) / 7;
    run_ok(gpuc_model_load(run_runtime(), &desc, &model));
    run_ok(gpuc_session_create(model, &s));
    run_ok(gpuc_ndarray_create(run_runtime(), NULL, GPUC_FLOAT32, 4, (int64_t[]){1, 1, 28, 28}, &in));
    run_ok(gpuc_ndarray_write(in, x, sizeof x));
    run_ok(gpuc_session_set_input(s, 0, in));
    run_ok(gpuc_session_run(s));
    run_ok(gpuc_session_get_output(s, 0, &out));
    run_ok(gpuc_ndarray_read(out, y, 10 * sizeof *y));
    gpuc_ndarray_release(in);
    gpuc_session_release(s);
    gpuc_model_release(model);
}

/* Variables of source text may have other names, since the kernels were printed and read between. */
static void same(bytes a, bytes b)
{
    if (run_device_type() == GPUC_DEVICE_OPENCL) return;
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, b.size);
}

/* ---- Tests ---- */

static void files_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_ctx_set_runtime(ctx, run_runtime());
    build_network(ctx);
    build_library(ctx);
    bytes package = read_file(package_path), library = read_file(library_path);
    wrap(PASSES_ON);
    build_network(ctx);
    assert_int_equal(wrapped.calls, 1);
    assert_true(wrapped.kernels >= 6);
    build_library(ctx);
    assert_int_equal(wrapped.calls, 2);
    unwrap();
    bytes package_again = read_file(package_path), library_again = read_file(library_path);
    same(package, package_again);
    same(library, library_again);
    float y[10], again[10];
    infer(package, y);
    infer(package_again, again);
    assert_memory_equal(y, again, sizeof y);
    free(package.data);
    free(library.data);
    free(package_again.data);
    free(library_again.data);
}

/* What is built through the wrapper is what is built without it. */
static void test_files(void **state)
{
    (void)state;
    run_in_ctx(files_body, NULL);
}

static void print_source(gpuc_ctx *ctx, void *text)
{
    *(const char **)text = gpuc_build_source(ctx, run_target(ctx), doubled(ctx));
}

static void function_body(gpuc_ctx *ctx, void *arg)
{
    const float x[3] = {1, -2, 0.25f};
    float y[3];
    gpuc_ndarray *a, *b;
    gpuc_function *f;
    (void)arg;
    wrap(PASSES_ON);
    gpuc_module *m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), doubled(ctx));
    assert_int_equal(wrapped.calls, 1);
    assert_int_equal(wrapped.kernels, 1);
    run_ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 1, (int64_t[]){3}, &a));
    run_ok(gpuc_ndarray_create(run_runtime(), run_device(), GPUC_FLOAT32, 1, (int64_t[]){3}, &b));
    run_ok(gpuc_ndarray_write(a, x, sizeof x));
    gpuc_value args[] = {{.kind = GPUC_VALUE_NDARRAY, .as.ndarray = a},
                         {.kind = GPUC_VALUE_NDARRAY, .as.ndarray = b},
                         {.kind = GPUC_VALUE_INT, .as.i = 3}};
    run_ok(gpuc_module_get_function(m, "doubled", &f));
    run_ok(gpuc_function_call(f, args, 3, NULL));
    run_ok(gpuc_ndarray_read(b, y, sizeof y));
    for (int i = 0; i < 3; i++) assert_float_equal(y[i], 2 * x[i], 0);
    gpuc_function *negative = gpuc_registry_get(run_runtime(), "topi.negative");
    run_ok(gpuc_function_call(negative, args, 2, NULL));
    assert_int_equal(wrapped.calls, 2);
    run_ok(gpuc_ndarray_read(b, y, sizeof y));
    for (int i = 0; i < 3; i++) assert_float_equal(y[i], -x[i], 0);
    gpuc_ctx_set_runtime(ctx, run_runtime());
    const char *text = "";
    gpuc_status printed = gpuc_ctx_protect(ctx, print_source, &text);
    assert_int_equal(wrapped.calls, 3);
    if (run_device_type() == GPUC_DEVICE_CPU) {
        run_refused(printed, "modules of type 'cpu_so' have no source to read");
    } else {
        run_ok(printed);
        assert_null(strstr(text, "func f0_doubled")); /* that is loop IR */
        assert_non_null(
            strstr(text, run_device_type() == GPUC_DEVICE_VULKAN ? "OpEntryPoint" : "f0_doubled"));
    }
    unwrap();
    gpuc_function_release(f);
    gpuc_module_release(m);
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
}

/* Functions of this process, and eager operators. */
static void test_functions(void **state)
{
    (void)state;
    run_in_ctx(function_body, NULL);
}

static void build_function(gpuc_ctx *ctx, void *arg)
{
    gpuc_module **m = arg;
    *m = gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), doubled(ctx));
}

static void bad_body(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        what does;
        const char *words;
    } rows[] = {
        {FAILS, "building doubled: this builder does nothing on Sundays"},
        {RAISES, "there is no kernel 1000"},
        {GIVES_INT, "gave int instead of a module"},
        {GIVES_OTHER_KERNEL, "has no kernel 'f0_doubled"},
        {REQUIRES, "it needs max_num_threads of at least 1099511627776"},
    };
    gpuc_module *m;
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool unlimited = !gpuc_device_get_attr(run_device(), GPUC_ATTR_MAX_THREADS_PER_BLOCK).known;
        if (rows[i].does == REQUIRES && unlimited) continue;
        wrap(rows[i].does);
        run_refused(gpuc_ctx_protect(ctx, build_function, &m), rows[i].words);
    }
    unwrap();
}

static void test_bad(void **state)
{
    (void)state;
    run_in_ctx(bad_body, NULL);
}

static void add_twice(gpuc_ctx *ctx, void *arg)
{
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, run_target(ctx));
    const gpuc_tir_func *const *kernels;
    gpuc_lower_passes(ctx, run_target(ctx), doubled(ctx), "lower", &kernels);
    gpuc_ir_module_add(ir, kernels[0]);
    gpuc_ir_module_add(ir, *(bool *)arg ? kernels[0] : NULL);
}

/* By hand: code of a kernel without a device. */
static void hand_body(gpuc_ctx *ctx, void *arg)
{
    const gpuc_tir_func *const *kernels;
    (void)arg;
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, run_target(ctx));
    assert_int_equal(gpuc_lower_passes(ctx, run_target(ctx), doubled(ctx), "lower", &kernels), 1);
    gpuc_ir_module_add(ir, kernels[0]);
    gpuc_module *m = gpuc_ir_module_build(ir, run_runtime());
    assert_string_equal(gpuc_module_function_name(m, 0), kernels[0]->name);
    assert_null(gpuc_module_function_name(m, 1));
    gpuc_module_release(m);
    run_refused(gpuc_ctx_protect(ctx, add_twice, &(bool){true}), "has a kernel 'doubled");
    run_refused(gpuc_ctx_protect(ctx, add_twice, &(bool){false}), "the kernel is NULL");
}

static void test_hand(void **state)
{
    (void)state;
    run_in_ctx(hand_body, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_bad), cmocka_unit_test(test_hand)};
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    int fd = mkstemps(package_path, strlen(".gpuc"));
    if (fd < 0) return 1;
    close(fd);
    snprintf(library_path, sizeof library_path, "%s-lib", package_path);
    run_ok(gpuc_compiler_register(run_runtime()));
    wrapped.own = gpuc_function_retain(gpuc_registry_get(run_runtime(), builder_name()));
    int failed = cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL);
    gpuc_function_release(wrapped.own);
    return run_end(failed);
}
