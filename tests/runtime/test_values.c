/* SPDX-License-Identifier: Apache-2.0 */
/* Values, packed functions, the registry, modules. */
#include "../base/test_heap.h"

#include <stdio.h>

#include "fake_device.h"
#include "runtime/object.h"

typedef struct counter {
    gpuc_runtime *rt;
    int calls, frees;
} counter;

static gpuc_status add_up(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    counter *c = self;
    int64_t sum = 0;
    c->calls++;
    for (int i = 0; i < num_args; i++) {
        if (args[i].kind != GPUC_VALUE_INT)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "add: argument %d is %s, not int", i,
                             gpuc_value_kind_name(args[i].kind));
        sum += args[i].as.i;
    }
    *ret = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = sum};
    return NULL;
}

static gpuc_status greet(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    GPUC_TRY(gpuc_value_set_string(((counter *)self)->rt, ret, "hello"));
    (void)args;
    return num_args ? gpuc_fail(GPUC_INVALID_ARGUMENT, "greet takes nothing") : NULL;
}

static void count_free(void *self)
{
    ((counter *)self)->frees++;
}

static void calls_and_results(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    counter c = {.rt = f.rt};
    gpuc_function *fn;
    gpuc_value ret, args[] = {{.kind = GPUC_VALUE_INT, .as.i = 2}, {.kind = GPUC_VALUE_INT, .as.i = 40}};
    expect_success(gpuc_function_create(f.rt, add_up, &c, count_free, NULL, &fn));
    expect_success(gpuc_function_call(fn, args, 2, &ret));
    assert_int_equal(ret.kind, GPUC_VALUE_INT);
    assert_int_equal(ret.as.i, 42);
    args[1].kind = GPUC_VALUE_FLOAT;
    expect_failure(gpuc_function_call(fn, args, 2, &ret), GPUC_INVALID_ARGUMENT,
                   "argument 1 is float, not int");
    assert_int_equal(ret.kind, GPUC_VALUE_NULL);
    gpuc_function_release(gpuc_function_retain(fn));
    assert_int_equal(c.frees, 0);
    gpuc_function_release(fn);
    assert_int_equal(c.frees, 1);
    gpuc_function_release(NULL);

    expect_success(gpuc_function_create(f.rt, greet, &c, NULL, NULL, &fn));
    expect_success(gpuc_function_call(fn, NULL, 0, &ret));
    assert_string_equal(ret.as.string, "hello");
    gpuc_value_clear(f.rt, &ret);
    assert_int_equal(ret.kind, GPUC_VALUE_NULL);
    expect_success(gpuc_function_call(fn, NULL, 0, NULL)); /* a result that nobody wants */
    expect_failure(gpuc_function_call(fn, args, 1, &ret), GPUC_INVALID_ARGUMENT,
                   "nothing"); /* and one of a failure */
    expect_success(gpuc_value_set_bytes(f.rt, &ret, "\0\1", 2));
    assert_int_equal(ret.as.bytes.size, 2);
    gpuc_value_clear(f.rt, &ret);
    expect_success(gpuc_value_set_bytes(f.rt, &ret, NULL, 0));
    gpuc_value_clear(f.rt, &ret);
    gpuc_function_release(fn);
    fixture_deinit(&f);
}

static void the_registry_is_sorted(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    counter c = {0};
    gpuc_function *fn, *other;
    char name[32];
    size_t before = gpuc_registry_count(f.rt);
    expect_success(gpuc_function_create(f.rt, add_up, &c, count_free, NULL, &fn));
    expect_success(gpuc_function_create(f.rt, add_up, &c, count_free, NULL, &other));
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "topi.op%d", i * 7 % 200);
        expect_success(gpuc_registry_set(f.rt, name, fn, false));
    }
    assert_int_equal(gpuc_registry_count(f.rt), before + 200);
    for (size_t i = 1; i < gpuc_registry_count(f.rt); i++)
        assert_true(strcmp(gpuc_registry_name(f.rt, i - 1), gpuc_registry_name(f.rt, i)) < 0);
    assert_null(gpuc_registry_name(f.rt, before + 200));
    assert_ptr_equal(gpuc_registry_get(f.rt, "topi.op13"), fn);
    assert_null(gpuc_registry_get(f.rt, "topi.op200"));
    expect_failure(gpuc_registry_set(f.rt, "topi.op13", other, false), GPUC_INVALID_ARGUMENT,
                   "'topi.op13' is registered");
    expect_success(gpuc_registry_set(f.rt, "topi.op13", other, true));
    assert_ptr_equal(gpuc_registry_get(f.rt, "topi.op13"), other);
    expect_failure(gpuc_registry_set(f.rt, "", fn, false), GPUC_INVALID_ARGUMENT, "empty");
    expect_failure(gpuc_registry_set(f.rt, "x", NULL, false), GPUC_INVALID_ARGUMENT, "no function");
    gpuc_function_release(fn);
    gpuc_function_release(other);
    assert_int_equal(c.frees, 0);
    fixture_deinit(&f);
    assert_int_equal(c.frees, 2);
}

static gpuc_status unregister_self(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    gpuc_runtime *rt = self;
    (void)args, (void)num_args, (void)ret;
    GPUC_TRY(gpuc_registry_set(rt, "self", gpuc_registry_get(rt, "runtime.set_device"), true));
    return gpuc_fail(GPUC_NOT_FOUND, "done");
}

static void a_function_may_replace_itself(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_function *fn;
    expect_success(gpuc_function_create(f.rt, unregister_self, f.rt, NULL, NULL, &fn));
    expect_success(gpuc_registry_set(f.rt, "self", fn, false));
    gpuc_function_release(fn);
    expect_failure(gpuc_function_call(gpuc_registry_get(f.rt, "self"), NULL, 0, NULL), GPUC_NOT_FOUND,
                   "done");
    fixture_deinit(&f);
}

/* A module whose state is a number, which its function "get" returns. */
typedef struct number {
    gpuc_runtime *rt;
    int64_t value;
    int *destroyed;
} number;

static gpuc_status number_get(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args, (void)num_args;
    *ret = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = ((number *)gpuc_module_state(self))->value};
    return NULL;
}

static gpuc_status number_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    number *n = gpuc_module_state(m);
    if (strcmp(name, "get") != 0) return NULL;
    return gpuc_function_create(n->rt, number_get, m, NULL, m, out);
}

static gpuc_status number_save(gpuc_module *m, gpuc_value *out)
{
    number *n = gpuc_module_state(m);
    return gpuc_value_set_bytes(n->rt, out, &n->value, sizeof n->value);
}

static void number_destroy(gpuc_module *m)
{
    number *n = gpuc_module_state(m);
    if (n->destroyed) ++*n->destroyed;
    gpuc_mem_free(gpuc_runtime_allocator(n->rt), n, sizeof *n);
}

static const gpuc_module_ops number_ops = {.type_key = "number",
                                           .get_function = number_function,
                                           .save_to_binary = number_save,
                                           .destroy = number_destroy};
static const gpuc_module_ops bare_ops = {.type_key = "bare"};

static gpuc_status make_number(gpuc_runtime *rt, int64_t value, int *destroyed, gpuc_module **out)
{
    *out = NULL;
    number *n = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *n);
    if (!n) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a number");
    *n = (number){.rt = rt, .value = value, .destroyed = destroyed};
    gpuc_status status = gpuc_module_create(rt, &number_ops, n, out);
    if (status) gpuc_mem_free(gpuc_runtime_allocator(rt), n, sizeof *n);
    return status;
}

static gpuc_status load_number(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    int64_t value;
    if (num_args != 1 || args[0].kind != GPUC_VALUE_BYTES || args[0].as.bytes.size != sizeof value)
        return gpuc_fail(GPUC_INVALID_DATA, "a number has 8 bytes");
    memcpy(&value, args[0].as.bytes.data, sizeof value);
    ret->kind = GPUC_VALUE_MODULE;
    return make_number(self, value, NULL, &ret->as.module);
}

static void modules(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    int destroyed = 0;
    gpuc_module *m;
    gpuc_function *fn;
    gpuc_value ret;
    expect_success(make_number(f.rt, 7, &destroyed, &m));
    assert_string_equal(gpuc_module_type_key(m), "number");
    expect_failure(gpuc_module_get_function(m, "put", &fn), GPUC_NOT_FOUND,
                   "type 'number' has no function 'put'");
    expect_success(gpuc_module_get_function(m, "get", &fn));
    gpuc_value bytes;
    expect_success(gpuc_module_save_binary(m, &bytes));
    gpuc_module_release(m);
    assert_int_equal(destroyed, 0); /* the function keeps its module */
    expect_success(gpuc_function_call(fn, NULL, 0, &ret));
    assert_int_equal(ret.as.i, 7);
    gpuc_function_release(fn);
    assert_int_equal(destroyed, 1);

    const void *data = bytes.as.bytes.data;
    expect_failure(gpuc_module_load_binary(f.rt, "number", data, 8, &m), GPUC_NOT_FOUND,
                   "'runtime.module.loadbinary_number'");
    expect_success(gpuc_function_create(f.rt, load_number, f.rt, NULL, NULL, &fn));
    expect_success(gpuc_registry_set(f.rt, "runtime.module.loadbinary_number", fn, false));
    gpuc_function_release(fn);
    expect_success(gpuc_module_load_binary(f.rt, "number", data, 8, &m));
    expect_success(gpuc_module_get_function(m, "get", &fn));
    expect_success(gpuc_function_call(fn, NULL, 0, &ret));
    assert_int_equal(ret.as.i, 7);
    gpuc_function_release(fn);
    gpuc_module_release(m);
    expect_failure(gpuc_module_load_binary(f.rt, "number", data, 7, &m), GPUC_INVALID_DATA,
                   "module of type 'number': a number has 8 bytes");
    char long_key[200];
    memset(long_key, 'k', 199);
    long_key[199] = 0;
    expect_failure(gpuc_module_load_binary(f.rt, long_key, data, 8, &m), GPUC_INVALID_DATA, "type key");
    gpuc_value_clear(f.rt, &bytes);

    counter c = {.rt = f.rt};
    expect_success(gpuc_function_create(f.rt, greet, &c, NULL, NULL, &fn));
    expect_success(gpuc_registry_set(f.rt, "runtime.module.loadbinary_odd", fn, false));
    gpuc_function_release(fn);
    expect_success(gpuc_module_create(f.rt, &bare_ops, NULL, &m));
    expect_failure(gpuc_module_save_binary(m, &ret), GPUC_UNSUPPORTED, "'bare' cannot be saved");
    expect_failure(gpuc_module_get_function(m, "x", &fn), GPUC_NOT_FOUND, "'bare' has no function");
    assert_null(gpuc_module_function_name(m, 0));
    expect_failure(gpuc_module_get_source(m, "", NULL, &ret), GPUC_UNSUPPORTED, "'bare' have no source");
    expect_failure(gpuc_module_save_file(m, "never"), GPUC_UNSUPPORTED, "'bare' cannot be saved");
    gpuc_module_release(m);
    fixture_deinit(&f);
}

/* A function is found in imports, in their order, and keeps the module that it is of. */
static void imports(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    int destroyed = 0;
    gpuc_module *top, *middle, *seven, *eight;
    gpuc_function *fn;
    gpuc_value ret;
    expect_success(gpuc_module_create(f.rt, &bare_ops, NULL, &top));
    expect_success(gpuc_module_create(f.rt, &bare_ops, NULL, &middle));
    expect_success(make_number(f.rt, 7, &destroyed, &seven));
    expect_success(make_number(f.rt, 8, &destroyed, &eight));
    expect_success(gpuc_module_import(top, middle));
    expect_success(gpuc_module_import(middle, seven));
    expect_success(gpuc_module_import(top, eight));
    expect_failure(gpuc_module_import(seven, top), GPUC_INVALID_ARGUMENT, "which imports it");
    expect_failure(gpuc_module_import(top, NULL), GPUC_INVALID_ARGUMENT, "'other' is NULL");
    assert_ptr_equal(gpuc_module_imported(top, 0), middle);
    assert_ptr_equal(gpuc_module_imported(top, 1), eight);
    assert_null(gpuc_module_imported(top, 2));
    expect_success(gpuc_module_get_function(top, "get", &fn));
    gpuc_module_release(middle);
    gpuc_module_release(seven);
    gpuc_module_release(eight);
    gpuc_module_release(top);
    assert_int_equal(destroyed, 1);
    expect_success(gpuc_function_call(fn, NULL, 0, &ret));
    assert_int_equal(ret.as.i, 7);
    gpuc_function_release(fn);
    assert_int_equal(destroyed, 2);
    fixture_deinit(&f);
}

/* Layers of two modules that import both of the layer below have 2^60 paths. */
static void imports_grow_at_once(void **state)
{
    (void)state;
    enum { LAYERS = 60 };
    fixture f;
    fixture_init(&f);
    gpuc_module *layers[LAYERS][2];
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < 2; k++) {
            expect_success(gpuc_module_create(f.rt, &bare_ops, NULL, &layers[i][k]));
            for (int b = 0; b < 2 && i > 0; b++)
                expect_success(gpuc_module_import(layers[i][k], layers[i - 1][b]));
        }
    expect_failure(gpuc_module_import(layers[0][0], layers[LAYERS - 1][1]), GPUC_INVALID_ARGUMENT,
                   "which imports it");
    expect_failure(gpuc_module_import(layers[0][0], layers[0][0]), GPUC_INVALID_ARGUMENT, "which imports it");
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < 2; k++) gpuc_module_release(layers[i][k]);
    fixture_deinit(&f);
}

static void a_registered_function_keeps_its_module(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    int destroyed = 0;
    gpuc_module *m;
    gpuc_function *fn;
    expect_success(make_number(f.rt, 7, &destroyed, &m));
    expect_success(gpuc_module_get_function(m, "get", &fn));
    expect_success(gpuc_registry_set(f.rt, "my.get", fn, false));
    gpuc_function_release(fn);
    gpuc_module_release(m);
    assert_int_equal(destroyed, 0);
    fixture_deinit(&f);
    assert_int_equal(destroyed, 1);
}

typedef struct thing {
    gpuc_object base;
    int *destroyed;
} thing;

static void destroy_thing(gpuc_object *o)
{
    ++*((thing *)o)->destroyed;
}

static void objects_and_arrays_in_values(void **state)
{
    (void)state;
    static const gpuc_object_ops ops = {.type_key = "thing", .destroy = destroy_thing};
    fixture f;
    fixture_init(&f);
    int destroyed = 0;
    thing t = {.destroyed = &destroyed};
    gpuc_object_init(&t.base, &ops);
    gpuc_value v = {.kind = GPUC_VALUE_OBJECT, .as.object = gpuc_object_retain(&t.base)};
    gpuc_value_clear(f.rt, &v);
    assert_int_equal(destroyed, 0);
    gpuc_object_release(&t.base);
    assert_int_equal(destroyed, 1);
    gpuc_ndarray *a;
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_INT8, 0, NULL, &a));
    v = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = a};
    gpuc_value_clear(f.rt, &v);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_results),
        cmocka_unit_test(the_registry_is_sorted),
        cmocka_unit_test(a_function_may_replace_itself),
        cmocka_unit_test(modules),
        cmocka_unit_test(imports),
        cmocka_unit_test(imports_grow_at_once),
        cmocka_unit_test(a_registered_function_keeps_its_module),
        cmocka_unit_test(objects_and_arrays_in_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
