/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plug-ins into a program that is linked with the shared library. test_plugin FOLDER: where they lie. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <gpuc/config.h>
#include <gpuc/driver.h>
#include <gpuc/plugin.h>
#if GPUC_HAVE_COMPILER
#include <gpuc/target.h>
#endif

static const char *folder;

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void ok(gpuc_status status)
{
    if (status)
        fail_msg("%s (%s:%d)", gpuc_status_message(status), gpuc_status_file(status),
                 gpuc_status_line(status));
}

static void assert_fails(gpuc_status status, gpuc_code code, const char *words)
{
    if (!status) fail_msg("no error that says '%s'", words);
    if (!strstr(gpuc_status_message(status), words) || gpuc_status_code(status) != code)
        fail_msg("%s, '%s', not %s, '%s'", gpuc_code_name(gpuc_status_code(status)),
                 gpuc_status_message(status), gpuc_code_name(code), words);
    assert_null(strchr(gpuc_status_message(status), '\n'));
    gpuc_status_release(status);
}

static gpuc_runtime *make_runtime(void)
{
    gpuc_runtime *rt;
    ok(gpuc_runtime_create(NULL, &rt));
    return rt;
}

static gpuc_runtime *runtime_with(const char *name)
{
    gpuc_runtime *rt = make_runtime();
    ok(gpuc_plugin_load(rt, path_of(name)));
    return rt;
}

static int64_t call_int(gpuc_function *f, int num_args, const gpuc_value *args)
{
    gpuc_value ret;
    assert_non_null(f);
    ok(gpuc_function_call(f, args, num_args, &ret));
    assert_int_equal(ret.kind, GPUC_VALUE_INT);
    return ret.as.i;
}

/* Whether the process has the plug-in's code. */
static bool is_open(const char *name)
{
    void *handle = dlopen(path_of(name), RTLD_NOW | RTLD_NOLOAD);
    if (handle) dlclose(handle);
    return handle;
}

/* ---- What goes between host and plug-in ---- */

static gpuc_status twice(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)self;
    assert_int_equal(num_args, 1);
    *ret = gpuc_arg_int(2 * args[0].as.i);
    return NULL;
}

static void test_functions(void **unused)
{
    (void)unused;
    gpuc_value args[] = {gpuc_arg_int(40), gpuc_arg_int(2)}, ret;
    gpuc_runtime *rt = runtime_with("good.so");
    gpuc_function *add = gpuc_registry_get(rt, "good.add");
    assert_int_equal(call_int(add, 2, args), 42);
    assert_fails(gpuc_function_call(add, args, 1, &ret), GPUC_INVALID_ARGUMENT, "good.add takes two");
    ok(gpuc_registry_set_fn(rt, "host.twice", twice, NULL, NULL, false));
    assert_int_equal(call_int(gpuc_registry_get(rt, "good.ask_host"), 1, args), 81);
    gpuc_runtime_release(rt);
}

static void test_module(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = runtime_with("good.so");
    gpuc_value module;
    gpuc_function *seven;
    ok(gpuc_function_call(gpuc_registry_get(rt, "good.module"), NULL, 0, &module));
    assert_int_equal(module.kind, GPUC_VALUE_MODULE);
    assert_string_equal(gpuc_module_type_key(module.as.module), "good");
    assert_fails(gpuc_module_get_function(module.as.module, "eight", &seven), GPUC_NOT_FOUND,
                 "the module of type 'good' has no function 'eight'");
    ok(gpuc_module_get_function(module.as.module, "seven", &seven));
    gpuc_value_clear(rt, &module);
    gpuc_runtime_release(rt);
    assert_int_equal(call_int(seven, 0, NULL), 7); /* it keeps module, runtime and code */
    assert_true(is_open("good.so"));
    gpuc_function_release(seven);
    assert_false(is_open("good.so"));
}

static void test_status(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = runtime_with("good.so");
    gpuc_status status = gpuc_function_call(gpuc_registry_get(rt, "good.fail"), NULL, 0, NULL);
    gpuc_runtime_release(rt);
    assert_false(is_open("good.so"));
    assert_non_null(strstr(gpuc_status_file(status), "good.c"));
    status = gpuc_error_prefix(status, "later");
    assert_non_null(strstr(gpuc_status_file(status), "good.c"));
    assert_fails(status, GPUC_NOT_FOUND, "later: the plug-in found none of 0 arguments");
}

#if GPUC_HAVE_COMPILER
static void parse_targets(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_target *t = gpuc_target_parse(ctx, "good_kind -good_lanes=3", NULL);
    assert_int_equal(gpuc_target_get_int(t, "max_num_threads"), 24);
    assert_int_equal(gpuc_target_device_type(t), GPUC_DEVICE_CPU);
    t = gpuc_target_parse(ctx, "good_kind/small", NULL);
    assert_int_equal(gpuc_target_get_int(t, "max_num_threads"), 8);
    t = gpuc_target_parse(ctx, "c/good", NULL);
    assert_string_equal(gpuc_target_kind(t), "c");
}

static void parse_wrong(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_target_parse(ctx, "good_kind -good_lanes=16", NULL);
}

static void test_target(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = runtime_with("good.so");
    gpuc_ctx *ctx;
    ok(gpuc_ctx_create(NULL, &ctx));
    assert_null(gpuc_target_kind_find(ctx, "good_kind"));
    gpuc_ctx_set_runtime(ctx, rt);
    assert_string_equal(gpuc_target_kind_find(ctx, "good_kind")->about, "a target of a plug-in");
    ok(gpuc_ctx_protect(ctx, parse_targets, NULL));
    assert_fails(gpuc_ctx_protect(ctx, parse_wrong, NULL), GPUC_INVALID_ARGUMENT, "must be below 16, not 16");
    gpuc_ctx_destroy(ctx);
    gpuc_runtime_release(rt);
}
#endif

/* ---- Loading ---- */

static const struct {
    const char *name; /* in the folder, if it has no slash */
    gpuc_code code;
    const char *words;
} refused[] = {
    {"none.so", GPUC_NOT_FOUND, "none.so': cannot open shared object file"},
    {"./none.so", GPUC_NOT_FOUND, "plug-in './none.so': cannot open shared object file"},
    {"tests/plugin/good.c", GPUC_INVALID_DATA, "plug-in 'tests/plugin/good.c': "},
    {"tests/plugin", GPUC_INVALID_DATA, "plug-in 'tests/plugin': "},
    {"no_init.so", GPUC_INVALID_DATA, "no_init.so': it exports no function gpuc_plugin_init"},
    {"other_abi.so", GPUC_UNSUPPORTED,
     "other_abi.so': it was compiled for version 4711 of gpuc's binary interface"},
    {"failing.so", GPUC_DEVICE_UNAVAILABLE, "failing.so': the card is not plugged in"},
};

static void test_refused(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = make_runtime();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *path = strchr(refused[i].name, '/') ? refused[i].name : path_of(refused[i].name);
        assert_fails(gpuc_plugin_load(rt, path), refused[i].code, refused[i].words);
    }
    assert_fails(gpuc_plugin_load(rt, ""), GPUC_INVALID_ARGUMENT, "the path is empty");
    assert_fails(gpuc_plugin_load(rt, NULL), GPUC_INVALID_ARGUMENT, "'path' is NULL");
    assert_fails(gpuc_plugin_load(NULL, path_of("good.so")), GPUC_INVALID_ARGUMENT, "'rt' is NULL");
    ok(gpuc_plugin_load(rt, path_of("good.so"))); /* the runtime is as good as before */
    gpuc_runtime_release(rt);
}

/* Nothing of what was registered before init failed stays; it may be loaded again. */
static void test_failed_init(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = runtime_with("good.so");
    gpuc_function *add = gpuc_registry_get(rt, "good.add");
    size_t functions = gpuc_registry_count(rt), drivers = gpuc_driver_count(rt);
    for (int i = 0; i < 2; i++) {
        assert_fails(gpuc_plugin_load(rt, path_of("failing.so")), GPUC_DEVICE_UNAVAILABLE,
                     "the card is not plugged in");
        assert_null(gpuc_registry_get(rt, "failing.one"));
        assert_null(gpuc_registry_get(rt, "device_api.cpu"));
        assert_ptr_equal(gpuc_registry_get(rt, "good.add"), add); /* it was replaced, then removed */
        assert_int_equal(gpuc_registry_count(rt), functions);
        assert_int_equal(gpuc_driver_count(rt), drivers);
    }
    gpuc_value args[] = {gpuc_arg_int(1), gpuc_arg_int(2)};
    assert_int_equal(call_int(gpuc_registry_get(rt, "good.add"), 2, args), 3);
    gpuc_runtime_release(rt);
    assert_false(is_open("failing.so"));
}

/* What it loaded is gone, too, and may be loaded by the program. */
static void test_failed_outer(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = make_runtime();
    size_t functions = gpuc_registry_count(rt);
    for (int i = 0; i < 2; i++) {
        setenv("GPUC_TEST_OTHER", path_of("good.so"), 1);
        assert_fails(gpuc_plugin_load(rt, path_of("failing.so")), GPUC_DEVICE_UNAVAILABLE,
                     "the card is not plugged in");
        unsetenv("GPUC_TEST_OTHER");
        assert_int_equal(gpuc_registry_count(rt), functions);
    }
    ok(gpuc_plugin_load(rt, path_of("good.so")));
    gpuc_value args[] = {gpuc_arg_int(1), gpuc_arg_int(2)};
    assert_int_equal(call_int(gpuc_registry_get(rt, "good.add"), 2, args), 3);
    gpuc_runtime_release(rt);
    assert_false(is_open("good.so") || is_open("failing.so"));
}

static void test_twice(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = runtime_with("good.so"), *other;
    assert_fails(gpuc_plugin_load(rt, path_of("good.so")), GPUC_INVALID_ARGUMENT, "has loaded it before");
    assert_fails(gpuc_plugin_load(rt, path_of("./good.so")), GPUC_INVALID_ARGUMENT, "has loaded it before");
    other = runtime_with("good.so");
    gpuc_runtime_release(rt);
    gpuc_value args[] = {gpuc_arg_int(1), gpuc_arg_int(2)};
    assert_int_equal(call_int(gpuc_registry_get(other, "good.add"), 2, args), 3);
    gpuc_runtime_release(other);
}

/* In the working directory, a name is enough. */
static void test_name(void **unused)
{
    (void)unused;
    char back[4096];
    gpuc_runtime *rt = make_runtime();
    assert_fails(gpuc_plugin_load(rt, "good.so"), GPUC_NOT_FOUND, "plug-in 'good.so': cannot open");
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(folder), 0);
    gpuc_status status = gpuc_plugin_load(rt, "good.so");
    assert_int_equal(chdir(back), 0);
    ok(status);
    assert_non_null(gpuc_registry_get(rt, "good.add"));
    gpuc_runtime_release(rt);
}

/* Linked with no library of gpuc, it uses the program's. */
static void test_bare(void **unused)
{
    (void)unused;
    gpuc_runtime *rt = runtime_with("bare.so");
    assert_int_equal(call_int(gpuc_registry_get(rt, "bare.four"), 0, NULL), 4);
    gpuc_runtime_release(rt);
}

/* ---- The end ---- */

static void test_closed_last(void **unused)
{
    (void)unused;
    int freed = 0;
    gpuc_value handle = {.kind = GPUC_VALUE_HANDLE, .as.handle = &freed};
    gpuc_runtime *rt = runtime_with("good.so");
    ok(gpuc_plugin_load(rt, path_of("bare.so")));
    gpuc_function *watch = gpuc_function_retain(gpuc_registry_get(rt, "good.watch"));
    ok(gpuc_function_call(watch, &handle, 1, NULL));
    gpuc_runtime_release(rt);
    assert_int_equal(freed, 0);
    assert_true(is_open("good.so") && is_open("bare.so"));
    gpuc_function_release(watch); /* runs code of the plug-in, and then closes it */
    assert_int_equal(freed, 1);
    assert_false(is_open("good.so") || is_open("bare.so"));
}

static void test_array_keeps_it(void **unused)
{
    (void)unused;
    int64_t dims[] = {3};
    gpuc_ndarray *a;
    gpuc_runtime *rt = runtime_with("good.so");
    ok(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 1, dims, &a));
    gpuc_runtime_release(rt);
    assert_true(is_open("good.so"));
    gpuc_ndarray_release(a);
    assert_false(is_open("good.so"));
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_module),
        cmocka_unit_test(test_status),
#if GPUC_HAVE_COMPILER
        cmocka_unit_test(test_target),
#endif
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_failed_init),
        cmocka_unit_test(test_failed_outer),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_closed_last),
        cmocka_unit_test(test_array_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
