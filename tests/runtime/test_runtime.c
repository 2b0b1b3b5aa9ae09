/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"

#include <pthread.h>
#include <stdio.h>

#include "fake_device.h"
#include "runtime/current.h"
#include "runtime/workspace_pool.h"

static void descriptor_checks(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    expect_success(gpuc_runtime_create(NULL, &rt));
    gpuc_runtime_release(rt);
    gpuc_runtime_release(NULL);
    gpuc_runtime_desc desc = {0};
    expect_failure(gpuc_runtime_create(&desc, &rt), GPUC_INVALID_ARGUMENT, "GPUC_RUNTIME_DESC_INIT");
    assert_null(rt);
    desc = GPUC_RUNTIME_DESC_INIT;
    desc.num_threads = -1;
    expect_failure(gpuc_runtime_create(&desc, &rt), GPUC_INVALID_ARGUMENT, "num_threads");
    desc = GPUC_RUNTIME_DESC_INIT;
    desc.queue_priority = (gpuc_queue_priority)3;
    expect_failure(gpuc_runtime_create(&desc, &rt), GPUC_INVALID_ARGUMENT, "queue_priority is 3");
    /* An older application's shorter struct; a newer one's longer. */
    desc = GPUC_RUNTIME_DESC_INIT;
    desc.struct_size = offsetof(gpuc_runtime_desc, num_threads);
    desc.num_threads = -1;
    expect_success(gpuc_runtime_create(&desc, &rt));
    assert_int_equal(gpuc_runtime_get_desc(rt)->num_threads, 0);
    gpuc_runtime_release(rt);
    struct {
        gpuc_runtime_desc desc;
        uint64_t more;
    } newer = {.desc = GPUC_RUNTIME_DESC_INIT};
    newer.desc.struct_size = sizeof newer;
    expect_success(gpuc_runtime_create(&newer.desc, &rt));
    gpuc_runtime_release(rt);
    newer.more = 1;
    expect_failure(gpuc_runtime_create(&newer.desc, &rt), GPUC_UNSUPPORTED, "does not know");
}

typedef struct sink {
    char id[32], message[2000];
    int level;
    const char *key;
} sink;

static void on_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    sink *s = user;
    s->level = (int)level;
    snprintf(s->id, sizeof s->id, "%s", id);
    snprintf(s->message, sizeof s->message, "%s", message);
}

static bool on_load(void *user, const char *key, const void **bytes, size_t *size)
{
    (void)user;
    *bytes = "blob";
    *size = 4;
    return strcmp(key, "k") == 0;
}

static void on_store(void *user, const char *key, const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    ((sink *)user)->key = key;
}

static void services(void **state)
{
    (void)state;
    sink s = {0};
    gpuc_runtime *rt;
    const void *bytes;
    size_t size;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    expect_success(gpuc_runtime_create(&desc, &rt));
    gpuc_runtime_log(rt, GPUC_LOG_ERROR, "x", "no sink: %d", 1);
    assert_false(gpuc_runtime_cache_load(rt, "k", &bytes, &size));
    gpuc_runtime_cache_store(rt, "k", "b", 1);
    gpuc_runtime_release(rt);

    desc.log = on_log;
    desc.log_user = desc.cache_user = &s;
    desc.cache_load = on_load;
    desc.cache_store = on_store;
    expect_success(gpuc_runtime_create(&desc, &rt));
    gpuc_runtime_log(rt, GPUC_LOG_WARNING, "vulkan.fallback", "%s %d", "took", 2);
    assert_string_equal(s.id, "vulkan.fallback");
    assert_string_equal(s.message, "took 2");
    assert_int_equal(s.level, GPUC_LOG_WARNING);
    gpuc_runtime_log(rt, GPUC_LOG_INFO, "long", "%*d", 1500, 7);
    assert_int_equal(strlen(s.message), 1500);
    assert_true(gpuc_runtime_cache_load(rt, "k", &bytes, &size));
    assert_int_equal(size, 4);
    gpuc_runtime_cache_store(rt, "stored", "b", 1);
    assert_string_equal(s.key, "stored");
    gpuc_runtime_release(rt);
}

static void device_names(void **state)
{
    (void)state;
    gpuc_device_type type;
    int index;
    static const struct {
        const char *text;
        gpuc_device_type type;
        int index;
    } good[] = {{"cpu", GPUC_DEVICE_CPU, 0},
                {"c", GPUC_DEVICE_CPU, 0},
                {"opencl:1", GPUC_DEVICE_OPENCL, 1},
                {"vulkan", GPUC_DEVICE_VULKAN, 0},
                {"vulkan:12", GPUC_DEVICE_VULKAN, 12}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        expect_success(gpuc_device_parse(NULL, good[i].text, &type, &index));
        assert_int_equal(type, good[i].type);
        assert_int_equal(index, good[i].index);
    }
    expect_failure(gpuc_device_parse(NULL, "vulcan", &type, &index), GPUC_INVALID_ARGUMENT,
                   "did you mean 'vulkan'?");
    expect_failure(gpuc_device_parse(NULL, "opncl:1", &type, &index), GPUC_INVALID_ARGUMENT,
                   "did you mean 'opencl'?");
    expect_failure(gpuc_device_parse(NULL, "cuda", &type, &index), GPUC_INVALID_ARGUMENT,
                   "unknown device 'cuda'; devices are");
    expect_failure(gpuc_device_parse(NULL, "", &type, &index), GPUC_INVALID_ARGUMENT, "unknown device ''");
    expect_failure(gpuc_device_parse(NULL, "vulkan:", &type, &index), GPUC_INVALID_ARGUMENT, "no number");
    expect_failure(gpuc_device_parse(NULL, "vulkan:x", &type, &index), GPUC_INVALID_ARGUMENT,
                   "'x' is not a device number");
    expect_failure(gpuc_device_parse(NULL, "vulkan:-1", &type, &index), GPUC_INVALID_ARGUMENT,
                   "not a device number");
    expect_failure(gpuc_device_parse(NULL, "vulkan:99999999999", &type, &index), GPUC_INVALID_ARGUMENT,
                   "not a device");
    expect_failure(gpuc_device_parse(NULL, "a-very-long-name-that-is-no-device-at-all", &type, &index),
                   GPUC_INVALID_ARGUMENT, "unknown device");
    assert_string_equal(gpuc_device_type_name(NULL, GPUC_DEVICE_CPU), "cpu");
    assert_string_equal(gpuc_device_type_name(NULL, GPUC_DEVICE_VULKAN), "vulkan");
    assert_string_equal(gpuc_device_type_name(NULL, (gpuc_device_type)99), "unknown");
}

static void opening_devices(void **state)
{
    (void)state;
    fixture f;
    gpuc_device *a, *b;
    fixture_init(&f);
    assert_int_equal(gpuc_device_count(f.rt, GPUC_DEVICE_VULKAN), 2);
    assert_int_equal(gpuc_device_count(f.rt, GPUC_DEVICE_OPENCL), 0);
    assert_int_equal(f.vulkan.opened, 0);
    expect_success(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 1, &a));
    expect_success(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 1, &b));
    assert_ptr_equal(a, b);
    assert_int_equal(f.vulkan.opened, 1);
    expect_success(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 0, &b));
    assert_ptr_not_equal(a, b);
    expect_failure(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 2, &a), GPUC_NOT_FOUND,
                   "no device vulkan:2: there are 2, the last is vulkan:1");
    assert_null(a);
    expect_failure(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, -1, &a), GPUC_NOT_FOUND, "no device vulkan:-1");
    expect_failure(gpuc_device_open(f.rt, GPUC_DEVICE_OPENCL, 0, &a), GPUC_DEVICE_UNAVAILABLE,
                   "gpuc_opencl_register");
    expect_failure(gpuc_driver_register(f.rt, &fake_vulkan, &f.vulkan), GPUC_INVALID_ARGUMENT, "already");

    assert_string_equal(gpuc_device_get_attr(b, GPUC_ATTR_NAME).s, "fake");
    assert_false(gpuc_device_get_attr(b, GPUC_ATTR_DRIVER).known);
    assert_false(gpuc_device_get_attr(b, GPUC_ATTR_COUNT).known); /* an error is an unknown */

    f.cpu.fail_open = true;
    expect_failure(gpuc_device_open(f.rt, GPUC_DEVICE_CPU, 0, &a), GPUC_DEVICE_UNAVAILABLE,
                   "device cpu:0: it is broken");
    f.cpu.fail_open = false;
    f.cpu.missing = true;
    expect_failure(gpuc_device_open(f.rt, GPUC_DEVICE_CPU, 0, &a), GPUC_DEVICE_UNAVAILABLE, "libfake.so.1");
    assert_int_equal(gpuc_device_count(f.rt, GPUC_DEVICE_CPU), 0);
    f.cpu.missing = false;
    f.cpu.num_devices = 0;
    expect_failure(gpuc_device_open(f.rt, GPUC_DEVICE_CPU, 0, &a), GPUC_NOT_FOUND, "no cpu device");
    fixture_deinit(&f);
}

static void *open_from_thread(void *arg)
{
    gpuc_device *dev;
    gpuc_status_release(gpuc_device_open(arg, GPUC_DEVICE_VULKAN, 0, &dev));
    return dev;
}

static void opening_from_many_threads(void **state)
{
    (void)state;
    fixture f;
    pthread_t threads[8];
    void *devices[8];
    fixture_init(&f);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_from_thread, f.rt), 0);
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_join(threads[i], &devices[i]), 0);
    for (int i = 0; i < 8; i++) assert_ptr_equal(devices[i], devices[0]);
    assert_int_equal(f.vulkan.opened, 1);
    fixture_deinit(&f);
}

static void two_runtimes_are_apart(void **state)
{
    (void)state;
    fixture f, g;
    fixture_init(&f);
    fixture_init(&g);
    assert_ptr_not_equal(fixture_device(&f, GPUC_DEVICE_VULKAN, 0),
                         fixture_device(&g, GPUC_DEVICE_VULKAN, 0));
    fixture_deinit(&f);
    fixture_deinit(&g);
}

static void *look_at_current(void *arg)
{
    return gpuc_runtime_current_device(((fixture *)arg)->rt);
}

/* A thread keeps what it found lately of a few runtimes: what it set in others is still there. */
static void current_devices_of_many_runtimes(void **state)
{
    enum { N = 20 };
    (void)state;
    fixture f[N];
    gpuc_device *devices[N];
    for (int i = 0; i < N; i++) {
        fixture_init(&f[i]);
        devices[i] = fixture_device(&f[i], GPUC_DEVICE_VULKAN, i % 2);
        expect_success(gpuc_runtime_set_device(devices[i]));
    }
    for (int i = 0; i < N; i++) assert_ptr_equal(gpuc_runtime_current_device(f[i].rt), devices[i]);
    for (int i = 0; i < N; i++) fixture_deinit(&f[i]);
}

static void current_device_and_stream(void **state)
{
    (void)state;
    fixture f, g;
    fixture_init(&f);
    fixture_init(&g);
    gpuc_device *a = fixture_device(&f, GPUC_DEVICE_VULKAN, 0),
                *b = fixture_device(&f, GPUC_DEVICE_VULKAN, 1);
    gpuc_stream own = {.device = a}, foreign = {.device = b}, *stream = &own;
    assert_null(gpuc_runtime_current_device(f.rt));
    assert_null(gpuc_runtime_current_stream(a));
    gpuc_value args[2] = {{.kind = GPUC_VALUE_DEVICE, .as.device = a},
                          {.kind = GPUC_VALUE_HANDLE, .as.handle = stream}};
    gpuc_function *set_device = gpuc_registry_get(f.rt, "runtime.set_device");
    gpuc_function *set_stream = gpuc_registry_get(f.rt, "runtime.set_stream");
    expect_success(gpuc_function_call(set_device, args, 1, NULL));
    expect_success(gpuc_function_call(set_stream, args, 2, NULL));
    assert_ptr_equal(gpuc_runtime_current_device(f.rt), a);
    assert_ptr_equal(gpuc_runtime_current_stream(a), stream);
    assert_null(gpuc_runtime_current_stream(b));
    assert_null(gpuc_runtime_current_device(g.rt));
    expect_failure(gpuc_function_call(set_device, args, 2, NULL), GPUC_INVALID_ARGUMENT,
                   "takes 1 arguments, not 2");
    expect_failure(gpuc_function_call(set_device, &args[1], 1, NULL), GPUC_INVALID_ARGUMENT,
                   "is handle, not a device");
    args[1].as.handle = &foreign;
    expect_failure(gpuc_function_call(set_stream, args, 2, NULL), GPUC_INVALID_ARGUMENT, "of another device");
    args[1] = (gpuc_value){0};
    expect_success(gpuc_function_call(set_stream, args, 2, NULL));
    assert_null(gpuc_runtime_current_stream(a));
    pthread_t thread;
    void *seen;
    assert_int_equal(pthread_create(&thread, NULL, look_at_current, &f), 0);
    assert_int_equal(pthread_join(thread, &seen), 0);
    assert_null(seen); /* of this thread only */
    fixture_deinit(&f);
    fixture_deinit(&g);
}

/* Of as many runtimes and devices as there are, and of those that are gone. */
static void current_streams_of_many(void **state)
{
    (void)state;
    enum { MANY = 9 };
    fixture f[MANY];
    gpuc_device *dev[MANY][2];
    gpuc_stream own[MANY][2];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            fixture_init(&f[i]);
            for (int k = 0; k < 2; k++) {
                dev[i][k] = fixture_device(&f[i], GPUC_DEVICE_VULKAN, k);
                own[i][k] = (gpuc_stream){.device = dev[i][k]};
                assert_null(gpuc_runtime_current_stream(dev[i][k]));
                expect_success(gpuc_runtime_set_stream(dev[i][k], &own[i][k]));
            }
        }
        for (int i = 0; i < MANY; i++)
            for (int k = 0; k < 2; k++) assert_ptr_equal(gpuc_runtime_current_stream(dev[i][k]), &own[i][k]);
        gpuc_launch_stream outer, inner;
        gpuc_stream other = {.device = dev[0][0]};
        gpuc_runtime_enter_launch(&outer, &other);
        gpuc_runtime_enter_launch(&inner, &own[1][0]);
        assert_ptr_equal(gpuc_runtime_current_stream(dev[0][0]), &other);
        assert_ptr_equal(gpuc_runtime_current_stream(dev[0][1]), &own[0][1]);
        gpuc_runtime_leave_launch(&inner);
        gpuc_runtime_leave_launch(&outer);
        assert_ptr_equal(gpuc_runtime_current_stream(dev[0][0]), &own[0][0]);
        for (int i = 0; i < MANY; i++) fixture_deinit(&f[i]);
    }
}

static gpuc_status make_much(gpuc_allocator a, fake_driver *vulkan, fake_driver *cpu)
{
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_ndarray *host = NULL, *device = NULL;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.allocator = a;
    GPUC_TRY(gpuc_runtime_create(&desc, &rt));
    gpuc_status status = gpuc_driver_register(rt, &fake_vulkan, vulkan);
    if (!status) status = gpuc_driver_register(rt, &fake_cpu, cpu);
    if (!status) status = gpuc_device_open(rt, GPUC_DEVICE_VULKAN, 1, &dev);
    const int64_t dims[] = {3, 5};
    if (!status) status = gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 2, dims, &host);
    if (!status) status = gpuc_ndarray_create(rt, dev, GPUC_FLOAT32, 2, dims, &device);
    if (!status) status = gpuc_ndarray_copy(host, device);
    gpuc_buffer *w = NULL;
    if (!status) status = gpuc_runtime_workspace_alloc(dev, NULL, 1000, &w);
    gpuc_runtime_release(rt); /* before the arrays: those keep the device */
    if (w) gpuc_runtime_workspace_free(dev, NULL, w);
    gpuc_ndarray_release(host);
    gpuc_ndarray_release(device);
    return status;
}

static void failing_at_every_allocation(void **state)
{
    (void)state;
    size_t n = 1;
    for (;; n++) {
        test_heap heap = {.fail_at = n};
        fake_driver vulkan = {.num_devices = 2}, cpu = {.num_devices = 1};
        gpuc_status status = make_much(test_heap_allocator(&heap), &vulkan, &cpu);
        assert_int_equal(heap.live, 0);
        assert_int_equal(vulkan.live, 0);
        assert_int_equal(vulkan.opened, vulkan.destroyed);
        if (!status && heap.calls < n) break;
        if (status) expect_failure(status, GPUC_OUT_OF_MEMORY, "out of memory");
    }
    assert_true(n > 10);
}

static gpuc_status returns_nothing(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args, (void)num_args, (void)ret, (void)self;
    return NULL;
}

#define REFUSED(call, name) expect_failure(call, GPUC_INVALID_ARGUMENT, ": '" name "' is NULL")

static void null_objects_are_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_runtime *rt = f.rt;
    gpuc_device_type type;
    int index;
    gpuc_device *dev;
    REFUSED(gpuc_runtime_create(NULL, NULL), "out");
    REFUSED(gpuc_device_open(rt, GPUC_DEVICE_CPU, 0, NULL), "out");
    REFUSED(gpuc_device_open(NULL, GPUC_DEVICE_CPU, 0, &dev), "rt");
    REFUSED(gpuc_device_parse(NULL, NULL, &type, &index), "text");
    REFUSED(gpuc_device_parse(NULL, "cpu", NULL, &index), "type");
    REFUSED(gpuc_device_parse(NULL, "cpu", &type, NULL), "index");

    int64_t two = 2;
    gpuc_ndarray *a, *none;
    expect_success(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 1, &two, &a));
    REFUSED(gpuc_ndarray_create(NULL, NULL, GPUC_FLOAT32, 1, &two, &none), "rt");
    REFUSED(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 1, NULL, &none), "dims");
    REFUSED(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 1, &two, NULL), "out");
    REFUSED(gpuc_ndarray_copy(NULL, a), "from");
    REFUSED(gpuc_ndarray_copy(a, NULL), "to");
    REFUSED(gpuc_ndarray_write(NULL, &two, 8), "a");
    REFUSED(gpuc_ndarray_write(a, NULL, 8), "bytes");
    REFUSED(gpuc_ndarray_read(NULL, &two, 8), "a");
    REFUSED(gpuc_ndarray_read(a, NULL, 8), "bytes");
    gpuc_ndarray_release(a);

    gpuc_value value;
    gpuc_function *function;
    REFUSED(gpuc_value_set_string(NULL, &value, "x"), "rt");
    REFUSED(gpuc_value_set_string(rt, NULL, "x"), "value");
    REFUSED(gpuc_value_set_string(rt, &value, NULL), "text");
    REFUSED(gpuc_value_set_bytes(NULL, &value, "x", 1), "rt");
    REFUSED(gpuc_value_set_bytes(rt, NULL, "x", 1), "value");
    REFUSED(gpuc_value_set_bytes(rt, &value, NULL, 1), "data");
    REFUSED(gpuc_function_create(NULL, returns_nothing, NULL, NULL, NULL, &function), "rt");
    REFUSED(gpuc_function_create(rt, NULL, NULL, NULL, NULL, &function), "fn");
    REFUSED(gpuc_function_create(rt, returns_nothing, NULL, NULL, NULL, NULL), "out");
    REFUSED(gpuc_function_call(NULL, NULL, 0, &value), "f");
    expect_success(gpuc_function_create(rt, returns_nothing, NULL, NULL, NULL, &function));
    REFUSED(gpuc_function_call(function, NULL, 1, &value), "args");
    expect_success(gpuc_function_call(function, NULL, 0, NULL));
    REFUSED(gpuc_registry_set(NULL, "x", function, false), "rt");
    REFUSED(gpuc_registry_set(rt, NULL, function, false), "name");
    gpuc_function_release(function);
    fixture_deinit(&f);
}

static void null_modules_are_refused(void **state)
{
    (void)state;
    static const gpuc_module_ops ops = {.type_key = "empty"};
    fixture f;
    fixture_init(&f);
    gpuc_value value;
    gpuc_function *function;
    gpuc_module *m, *none;
    REFUSED(gpuc_module_create(NULL, &ops, NULL, &m), "rt");
    REFUSED(gpuc_module_create(f.rt, NULL, NULL, &m), "ops");
    REFUSED(gpuc_module_create(f.rt, &ops, NULL, NULL), "out");
    expect_success(gpuc_module_create(f.rt, &ops, NULL, &m));
    REFUSED(gpuc_module_get_function(NULL, "x", &function), "m");
    REFUSED(gpuc_module_get_function(m, NULL, &function), "name");
    REFUSED(gpuc_module_get_function(m, "x", NULL), "out");
    REFUSED(gpuc_module_save_binary(NULL, &value), "m");
    REFUSED(gpuc_module_save_binary(m, NULL), "out_bytes");
    REFUSED(gpuc_module_load_binary(NULL, "x", "", 1, &none), "rt");
    REFUSED(gpuc_module_load_binary(f.rt, NULL, "", 1, &none), "type_key");
    REFUSED(gpuc_module_load_binary(f.rt, "x", NULL, 1, &none), "bytes");
    REFUSED(gpuc_module_load_binary(f.rt, "x", "", 1, NULL), "out");
    gpuc_module_release(m);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptor_checks),
        cmocka_unit_test(services),
        cmocka_unit_test(device_names),
        cmocka_unit_test(opening_devices),
        cmocka_unit_test(opening_from_many_threads),
        cmocka_unit_test(two_runtimes_are_apart),
        cmocka_unit_test(current_device_and_stream),
        cmocka_unit_test(current_devices_of_many_runtimes),
        cmocka_unit_test(current_streams_of_many),
        cmocka_unit_test(failing_at_every_allocation),
        cmocka_unit_test(null_objects_are_refused),
        cmocka_unit_test(null_modules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
