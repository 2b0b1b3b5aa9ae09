/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers of an application: registration, names, what a small device gets for what it leaves out, attributes, and
 * the functions of devices as packed functions. */
#include "../base/test_heap.h"

#include <string.h>

#include "fake_device.h"

static void open_foo(fixture *f, fake_driver *d, gpuc_device **out)
{
    static const gpuc_driver foo = FAKE_DRIVER("foo");
    fixture_init(f);
    expect_success(gpuc_driver_register(f->rt, &foo, d));
    expect_success(gpuc_device_open(f->rt, gpuc_device_type_named("foo"), 0, out));
}

/* ---- Registration ---- */

static void a_driver_is_refused(void **state)
{
    (void)state;
    gpuc_device_api no_launch = fake_api, half = fake_api, old = fake_api;
    no_launch.launch = NULL;
    half.create_stream = (gpuc_status(*)(gpuc_device *, gpuc_stream **))(void (*)(void))fake_destroy;
    old.struct_size -= 8;
    const struct {
        gpuc_driver driver;
        gpuc_code code;
        const char *words;
    } rows[] = {
        {FAKE_DRIVER("vulkan"), GPUC_INVALID_ARGUMENT, "the runtime has a driver for 'vulkan' already"},
        {FAKE_DRIVER(""), GPUC_INVALID_ARGUMENT, "'' is no name for a driver"},
        {FAKE_DRIVER("foo:1"), GPUC_INVALID_ARGUMENT, "'foo:1' is no name for a driver"},
        {FAKE_DRIVER("1foo"), GPUC_INVALID_ARGUMENT, "'1foo' is no name for a driver"},
        {FAKE_DRIVER("a_name_of_thirty_two_bytes_is_one"), GPUC_INVALID_ARGUMENT, "less than 32 bytes"},
        {FAKE_DRIVER(NULL), GPUC_INVALID_ARGUMENT, "name"},
        {{.struct_size = 8}, GPUC_UNSUPPORTED, "gpuc_driver.struct_size is 8"},
        {{.struct_size = sizeof(gpuc_driver), .name = "foo", .count = fake_count, .open = fake_open},
         GPUC_INVALID_ARGUMENT,
         "the driver of 'foo' has no 'api'"},
        {{.struct_size = sizeof(gpuc_driver), .name = "foo", .api = &fake_api, .count = fake_count},
         GPUC_INVALID_ARGUMENT,
         "the driver of 'foo' has no 'open'"},
        {{.struct_size = sizeof(gpuc_driver),
          .name = "foo",
          .api = &no_launch,
          .count = fake_count,
          .open = fake_open},
         GPUC_INVALID_ARGUMENT,
         "the DeviceAPI of 'foo' has no function 'launch'"},
        {{.struct_size = sizeof(gpuc_driver),
          .name = "foo",
          .api = &half,
          .count = fake_count,
          .open = fake_open},
         GPUC_INVALID_ARGUMENT,
         "the DeviceAPI of 'foo' has no function 'free_stream'"},
        {{.struct_size = sizeof(gpuc_driver),
          .name = "foo",
          .api = &old,
          .count = fake_count,
          .open = fake_open},
         GPUC_UNSUPPORTED,
         "gpuc_device_api.struct_size of 'foo'"},
    };
    fixture f;
    fake_driver d = {0};
    fixture_init(&f);
    size_t names = gpuc_registry_count(f.rt);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_failure(gpuc_driver_register(f.rt, &rows[i].driver, &d), rows[i].code, rows[i].words);
    expect_failure(gpuc_driver_register(f.rt, NULL, &d), GPUC_INVALID_ARGUMENT, "'driver' is NULL");
    expect_failure(gpuc_driver_register(NULL, &fake_cpu, &d), GPUC_INVALID_ARGUMENT, "'rt' is NULL");
    assert_int_equal(gpuc_registry_count(f.rt), names);
    assert_int_equal(gpuc_driver_count(f.rt), 2);
    assert_int_equal(d.freed, 0); /* who is refused keeps its state */
    fixture_deinit(&f);
}

static void nothing_is_left_where_memory_ends(void **state)
{
    (void)state;
    static const gpuc_driver foo = FAKE_DRIVER("foo");
    for (uint64_t fail_at = 1;; fail_at++) {
        fixture f;
        fake_driver d = {0};
        fixture_init(&f);
        size_t names = gpuc_registry_count(f.rt);
        f.heap.fail_at = f.heap.calls + fail_at;
        gpuc_status status = gpuc_driver_register(f.rt, &foo, &d);
        f.heap.fail_at = 0;
        bool done = !status;
        if (!done) {
            assert_int_equal(gpuc_status_code(status), GPUC_OUT_OF_MEMORY);
            assert_int_equal(gpuc_registry_count(f.rt), names);
            assert_int_equal(gpuc_driver_count(f.rt), 2);
        }
        gpuc_status_release(status);
        fixture_deinit(&f);
        if (!done) continue;
        assert_true(fail_at > 16);
        return;
    }
}

static void names_are_those_of_the_drivers(void **state)
{
    (void)state;
    fixture f;
    fake_driver d = {.num_devices = 2};
    gpuc_device *dev, *second;
    gpuc_device_type type;
    int index;
    open_foo(&f, &d, &dev);
    assert_int_equal(gpuc_driver_count(f.rt), 3);
    assert_string_equal(gpuc_driver_name(f.rt, 0), "vulkan");
    assert_string_equal(gpuc_driver_name(f.rt, 2), "foo");
    assert_null(gpuc_driver_name(f.rt, 3));
    expect_success(gpuc_device_parse(f.rt, "foo:1", &type, &index));
    assert_true(type >= GPUC_DEVICE_USER_FIRST && index == 1);
    assert_string_equal(gpuc_device_type_name(f.rt, type), "foo");
    assert_string_equal(gpuc_device_type_name(NULL, type), "unknown");
    expect_success(gpuc_device_open(f.rt, type, 1, &second));
    assert_true(second->index == 1 && second->type == type && second->runtime == f.rt);
    assert_string_equal(second->api->name, "foo");
    expect_failure(gpuc_device_parse(NULL, "foo:1", &type, &index), GPUC_INVALID_ARGUMENT, "unknown device");
    expect_failure(gpuc_device_parse(f.rt, "fooo", &type, &index), GPUC_INVALID_ARGUMENT,
                   "devices are cpu, opencl, vulkan, foo,");
    expect_failure(gpuc_device_open(f.rt, gpuc_device_type_named("bar"), 0, &second), GPUC_DEVICE_UNAVAILABLE,
                   "load the plug-in");
    fixture_deinit(&f);
    assert_int_equal(d.freed, 1);
    assert_int_equal(d.opened, d.destroyed);
}

static gpuc_status open_nothing(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    (void)rt, (void)self, (void)index;
    *out = NULL;
    return NULL;
}

static gpuc_status alloc_nothing(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    (void)dev, (void)bytes, (void)alignment;
    *out = NULL;
    return NULL;
}

/* Functions that say that all is well, and give nothing. */
static void lies_are_errors(void **state)
{
    (void)state;
    gpuc_device_api empty = fake_api;
    empty.alloc_data_space = alloc_nothing;
    gpuc_driver none = FAKE_DRIVER("none"), poor = FAKE_DRIVER("poor"), negative = FAKE_DRIVER("negative");
    none.open = open_nothing;
    poor.api = &empty;
    fixture f;
    fake_driver one = {.num_devices = 1}, less = {.num_devices = -4};
    gpuc_device *dev;
    gpuc_ndarray *a;
    const int64_t n = 4;
    fixture_init(&f);
    expect_success(gpuc_driver_register(f.rt, &none, &one));
    expect_success(gpuc_driver_register(f.rt, &poor, &one));
    expect_success(gpuc_driver_register(f.rt, &negative, &less));
    expect_failure(gpuc_device_open(f.rt, gpuc_device_type_named("none"), 0, &dev), GPUC_INTERNAL,
                   "none:0: the driver opened nothing");
    expect_failure(gpuc_device_open(f.rt, gpuc_device_type_named("negative"), 0, &dev), GPUC_INTERNAL,
                   "counts -4 devices");
    assert_int_equal(gpuc_device_count(f.rt, gpuc_device_type_named("negative")), 0);
    expect_success(gpuc_device_open(f.rt, gpuc_device_type_named("poor"), 0, &dev));
    assert_int_equal(dev->launches, 0);
    expect_failure(gpuc_ndarray_create(f.rt, dev, GPUC_FLOAT32, 1, &n, &a), GPUC_INTERNAL,
                   "poor:0 gave no memory");
    fixture_deinit(&f);
}

/* ---- What a small device gets ---- */

static void streams_hold_nothing(void **state)
{
    (void)state;
    fixture f;
    fake_driver d = {.num_devices = 1};
    gpuc_device *dev;
    gpuc_stream *s;
    gpuc_ticket t;
    gpuc_ndarray *a;
    const int64_t n = 4;
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    open_foo(&f, &d, &dev);
    expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_FLOAT32, 1, &n, &a));
    expect_success(gpuc_stream_create(dev, &s));
    expect_success(gpuc_ndarray_write_on(s, a, x, sizeof x));
    expect_success(gpuc_ndarray_read_on(s, a, y, sizeof y));
    expect_success(gpuc_stream_signal(s, &t));
    assert_true(gpuc_ticket_done(t));
    expect_success(gpuc_stream_wait(s, t));
    expect_success(gpuc_ticket_wait(t, 0));
    assert_memory_equal(x, y, sizeof x);
    t.number = 1;
    expect_failure(gpuc_stream_wait(s, t), GPUC_INVALID_ARGUMENT, "was never given");
    expect_failure(gpuc_ticket_wait(t, GPUC_FOREVER), GPUC_INVALID_ARGUMENT, "was never given");
    gpuc_stream_release(s);
    gpuc_ndarray_release(a);
    fixture_deinit(&f);
}

static void plans_are_launched_step_by_step(void **state)
{
    (void)state;
    fixture f;
    fake_driver d = {.num_devices = 1};
    gpuc_device *dev;
    gpuc_plan *plan;
    open_foo(&f, &d, &dev);
    gpuc_step_tensor tensor = {.slot = 0, .access = 3, .size = 4};
    int64_t scalar = 5;
    const gpuc_step steps[2] = {{.num_tensors = 1, .tensors = &tensor, .num_scalars = 1, .scalars = &scalar},
                                {.num_tensors = 1, .tensors = &tensor}};
    const gpuc_bindings none = {0};
    expect_success(dev->api->plan_create(dev, steps, 2, 0, &plan));
    memset(&tensor, 0xff, sizeof tensor);
    expect_success(dev->api->plan_run(plan, &none, NULL));
    expect_success(dev->api->plan_run(plan, &none, NULL));
    assert_int_equal(d.launches, 4);
    dev->api->plan_destroy(plan);
    dev->api->plan_destroy(NULL);
    expect_failure(dev->api->plan_create(dev, steps, 2, GPUC_PLAN_PROFILING, &plan), GPUC_UNSUPPORTED,
                   "foo devices do not measure");
    assert_null(plan);
    for (uint64_t i = 1; i <= 6; i++) {
        f.heap.fail_at = f.heap.calls + i;
        gpuc_status status = dev->api->plan_create(dev, steps, 2, 0, &plan);
        f.heap.fail_at = 0;
        if (!status) dev->api->plan_destroy(plan);
        gpuc_status_release(status);
    }
    fixture_deinit(&f);
}

/* ---- Attributes ---- */

static void attributes_have_names(void **state)
{
    (void)state;
    gpuc_device_attr attr;
    for (int i = 0; i < GPUC_ATTR_COUNT; i++) {
        assert_non_null(gpuc_device_attr_name((gpuc_device_attr)i));
        expect_success(gpuc_device_attr_named(gpuc_device_attr_name((gpuc_device_attr)i), &attr));
        assert_int_equal(attr, i);
    }
    assert_null(gpuc_device_attr_name(GPUC_ATTR_COUNT));
    static const struct {
        const char *name;
        gpuc_device_attr attr;
    } tvm[] = {{"exist", GPUC_ATTR_EXISTS},
               {"max_shared_memory_per_block", GPUC_ATTR_MAX_SHARED_BYTES},
               {"compute_version", GPUC_ATTR_COMPUTE_VERSION},
               {"device_name", GPUC_ATTR_NAME},
               {"max_clock_rate", GPUC_ATTR_MAX_CLOCK_RATE},
               {"multi_processor_count", GPUC_ATTR_MULTI_PROCESSOR_COUNT},
               {"max_thread_dimensions", GPUC_ATTR_MAX_THREAD_DIMENSIONS},
               {"max_registers_per_block", GPUC_ATTR_MAX_REGISTERS},
               {"gcn_arch", GPUC_ATTR_GCN_ARCH},
               {"api_version", GPUC_ATTR_API_VERSION},
               {"driver_version", GPUC_ATTR_DRIVER},
               {"l2_cache_size_bytes", GPUC_ATTR_L2_CACHE_BYTES},
               {"total_global_memory", GPUC_ATTR_TOTAL_GLOBAL_BYTES},
               {"available_global_memory", GPUC_ATTR_AVAILABLE_GLOBAL_BYTES}};
    for (size_t i = 0; i < sizeof tvm / sizeof *tvm; i++) {
        expect_success(gpuc_device_attr_named(tvm[i].name, &attr));
        assert_int_equal(attr, tvm[i].attr);
    }
    expect_failure(gpuc_device_attr_named("warp_sise", &attr), GPUC_NOT_FOUND, "did you mean 'warp_size'?");
    expect_failure(gpuc_device_attr_named(NULL, &attr), GPUC_INVALID_ARGUMENT, "'name' is NULL");
}

/* ---- Packed functions ---- */

static gpuc_status call(fixture *f, const char *method, int n, const gpuc_value *args, gpuc_value *ret)
{
    char name[64] = "device_api.foo.";
    gpuc_value dropped;
    gpuc_function *fn = gpuc_registry_get(f->rt, strcat(name, method));
    assert_non_null(fn);
    gpuc_status status = gpuc_function_call(fn, args, n, ret ? ret : &dropped);
    if (!ret) gpuc_value_clear(f->rt, &dropped);
    return status;
}

static gpuc_value handle(void *h)
{
    return (gpuc_value){.kind = h ? GPUC_VALUE_HANDLE : GPUC_VALUE_NULL, .as.handle = h};
}

#define INT(value) gpuc_arg_int(value)
#define ARGS(...)                                                                                            \
    (int)(sizeof((gpuc_value[]){__VA_ARGS__}) / sizeof(gpuc_value)), (gpuc_value[])                          \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

static void devices_are_packed_functions(void **state)
{
    (void)state;
    fixture f;
    fake_driver d = {.num_devices = 1};
    gpuc_device *dev;
    gpuc_value v, buffer, stream;
    open_foo(&f, &d, &dev);
    const gpuc_value device = {.kind = GPUC_VALUE_DEVICE, .as.device = dev};
    expect_success(call(&f, "count", 0, NULL, &v));
    assert_int_equal(v.as.i, 1);
    expect_success(gpuc_function_call(gpuc_registry_get(f.rt, "device_api.foo"), NULL, 0, &v));
    assert_ptr_equal(v.as.handle, dev->api);
    expect_success(call(&f, "get_attr", ARGS(device, gpuc_arg_string("name")), &v));
    assert_string_equal(v.as.string, "fake");
    gpuc_value_clear(f.rt, &v);
    expect_success(call(&f, "get_attr", ARGS(INT(0), INT(GPUC_ATTR_EXISTS)), &v));
    assert_int_equal(v.as.i, 1);
    expect_success(call(&f, "get_attr", ARGS(INT(0), gpuc_arg_string("max_clock_rate")), &v));
    assert_int_equal(v.kind, GPUC_VALUE_NULL);

    gpuc_ndarray *host;
    const int64_t n = 4;
    float x[4] = {1, 2, 3, 4}, y[4];
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_FLOAT32, 1, &n, &host));
    expect_success(gpuc_ndarray_write(host, x, sizeof x));
    expect_success(call(&f, "create_stream", ARGS(device), &stream));
    expect_success(call(&f, "alloc_data_space", ARGS(device, INT(32), INT(64)), &buffer));
    expect_success(call(&f, "copy_data_from_to",
                        ARGS(device, gpuc_arg(host), INT(0), buffer, INT(16), INT(16), stream), NULL));
    expect_success(call(&f, "copy_data_from_to",
                        ARGS(device, buffer, INT(16), gpuc_arg(host), INT(4), INT(12), handle(NULL)), NULL));
    expect_success(gpuc_ndarray_read(host, y, sizeof y));
    assert_true(y[0] == 1 && y[1] == 1 && y[2] == 2 && y[3] == 3);
    expect_success(call(&f, "stream_signal", ARGS(device, stream), &v));
    assert_int_equal(v.as.i, 0);
    expect_success(call(&f, "ticket_wait", ARGS(device, INT(0), INT(5)), &v));
    assert_int_equal(v.as.i, 1);
    expect_success(call(&f, "stream_wait", ARGS(device, stream, INT(0)), NULL));
    expect_success(call(&f, "sync_stream_from_to", ARGS(device, stream, handle(NULL)), NULL));
    expect_success(call(&f, "set_stream", ARGS(device, stream), NULL));
    expect_success(call(&f, "stream_flush", ARGS(device, stream), NULL));
    expect_success(call(&f, "stream_sync", ARGS(device, stream), NULL));
    expect_success(call(&f, "alloc_workspace", ARGS(device, INT(100)), &v));
    expect_success(call(&f, "free_workspace", ARGS(device, v), NULL));
    expect_success(call(&f, "free_stream", ARGS(device, stream), NULL));

    const struct {
        const char *method;
        int n;
        gpuc_value args[7];
        const char *words;
    } bad[] = {
        {"get_attr", 1, {device}, "device_api.foo.get_attr: it takes 2 arguments, not 1"},
        {"get_attr", 2, {device, gpuc_arg_string("warp")}, "devices have no attribute 'warp'"},
        {"get_attr", 2, {device, INT(-1)}, "no attribute -1"},
        {"get_attr", 2, {device, INT(GPUC_ATTR_COUNT)}, "no attribute"},
        {"get_attr", 2, {device, gpuc_arg_float(1)}, "argument 1 is float, not the number or the name of"},
        {"get_attr", 2, {handle(dev), INT(0)}, "argument 0 is handle, not a device or its number"},
        {"get_attr", 2, {INT(1), INT(0)}, "no device foo:1"},
        {"get_attr", 2, {INT(INT64_C(1) << 32), INT(0)}, "no device foo:-1"},
        {"alloc_data_space", 3, {device, INT(-1), INT(1)}, "-1 bytes"},
        {"free_data_space", 2, {device, handle(NULL)}, "argument 1 is null, not the handle of a buffer"},
        {"copy_data_from_to",
         7,
         {device, gpuc_arg(host), INT(8), buffer, INT(0), INT(9), handle(NULL)},
         "a copy of 9 bytes at 8: the array has 16"},
        {"copy_data_from_to",
         7,
         {device, gpuc_arg(host), INT(-1), buffer, INT(0), INT(1), handle(NULL)},
         "a copy of 1 bytes at -1"},
        {"stream_wait", 3, {device, handle(NULL), INT(7)}, "ticket 7 of foo:0 was never given"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gpuc_status status = call(&f, bad[i].method, bad[i].n, bad[i].args, NULL);
        assert_non_null(status);
        if (!strstr(gpuc_status_message(status), bad[i].words))
            fail_msg("'%s' is not in: %s", bad[i].words, gpuc_status_message(status));
        gpuc_status_release(status);
    }
    gpuc_device *other = fixture_device(&f, GPUC_DEVICE_CPU, 0);
    const gpuc_value cpu = {.kind = GPUC_VALUE_DEVICE, .as.device = other};
    expect_failure(call(&f, "create_stream", ARGS(cpu), NULL), GPUC_INVALID_ARGUMENT, "of another driver");
    expect_success(call(&f, "free_data_space", ARGS(device, buffer), NULL));
    gpuc_ndarray_release(host);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_is_refused),
        cmocka_unit_test(nothing_is_left_where_memory_ends),
        cmocka_unit_test(names_are_those_of_the_drivers),
        cmocka_unit_test(lies_are_errors),
        cmocka_unit_test(streams_hold_nothing),
        cmocka_unit_test(plans_are_launched_step_by_step),
        cmocka_unit_test(attributes_have_names),
        cmocka_unit_test(devices_are_packed_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
