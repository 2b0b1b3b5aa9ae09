/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"

#include <pthread.h>

#include "fake_device.h"
#include "runtime/impl.h"

static gpuc_buffer *take(gpuc_device *dev, size_t bytes)
{
    gpuc_buffer *b;
    expect_success(gpuc_runtime_workspace_alloc(dev, NULL, bytes, &b));
    assert_true(b->size >= bytes && b->size % 256 == 0);
    return b;
}

static void freed_buffers_are_used_again(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    gpuc_buffer *a = take(dev, 1000), *b = take(dev, 100000), *c = take(dev, 0);
    assert_int_equal(f.vulkan.allocs, 3);
    gpuc_runtime_workspace_free(dev, NULL, a);
    gpuc_runtime_workspace_free(dev, NULL, b);
    gpuc_runtime_workspace_free(dev, NULL, c);
    gpuc_runtime_workspace_free(dev, NULL, NULL);
    assert_ptr_equal(take(dev, 1024), a);
    assert_ptr_equal(take(dev, 1), c); /* the smallest that fits */
    assert_ptr_equal(take(dev, 90000), b);
    assert_int_equal(f.vulkan.allocs, 3);
    gpuc_runtime_workspace_free(dev, NULL, a);
    gpuc_runtime_workspace_free(dev, NULL, b);
    gpuc_runtime_workspace_free(dev, NULL, c);
    fixture_deinit(&f); /* frees what lies in the pool */
}

static void waste_is_bounded(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    gpuc_buffer *big = take(dev, 1 << 20);
    gpuc_runtime_workspace_free(dev, NULL, big);
    gpuc_buffer *small = take(dev, 1 << 19);
    assert_ptr_not_equal(small, big);
    gpuc_buffer *near = take(dev, 900 << 10);
    assert_ptr_equal(near, big);
    gpuc_runtime_workspace_free(dev, NULL, small);
    gpuc_runtime_workspace_free(dev, NULL, near);
    fixture_deinit(&f);
}

static void a_full_device_gets_its_free_buffers_back(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.vulkan.memory = 3 << 20;
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    gpuc_buffer *a = take(dev, 1 << 20), *b = take(dev, 1 << 20), *c;
    gpuc_runtime_workspace_free(dev, NULL, a);
    gpuc_runtime_workspace_free(dev, NULL, b);
    c = take(dev, 2 << 20); /* frees a and b, which are too small */
    assert_int_equal(f.vulkan.live, 2 << 20);
    gpuc_runtime_workspace_free(dev, NULL, c);
    a = take(dev, 1 << 20);
    b = take(dev, 1 << 20); /* too wasteful a fit is better than none */
    assert_ptr_equal(b, c);
    expect_failure(gpuc_runtime_workspace_alloc(dev, NULL, 1 << 20, &c), GPUC_OUT_OF_DEVICE_MEMORY, "full");
    expect_failure(gpuc_runtime_workspace_alloc(dev, NULL, SIZE_MAX, &c), GPUC_OUT_OF_DEVICE_MEMORY,
                   "address space");
    assert_null(c);
    gpuc_runtime_workspace_free(dev, NULL, a);
    gpuc_runtime_workspace_free(dev, NULL, b);
    gpuc_runtime_workspace_pool_trim(&gpuc_runtime_find_open(f.rt, dev)->pool);
    assert_int_equal(f.vulkan.live, 0);
    fixture_deinit(&f);
}

static void no_memory_for_the_list_frees_the_buffer(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    gpuc_buffer *a = take(dev, 5000);
    f.heap.fail_at = f.heap.calls + 1;
    gpuc_runtime_workspace_free(dev, NULL, a);
    assert_int_equal(f.vulkan.live, 0);
    fixture_deinit(&f);
}

static void buffers_stay_with_their_stream(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    gpuc_stream one = {.device = dev}, two = {.device = dev};
    gpuc_buffer *a = take(dev, 1000), *b;
    gpuc_runtime_workspace_free(dev, &one, a);
    b = take(dev, 1000);
    assert_ptr_not_equal(b, a);
    gpuc_runtime_workspace_free(dev, NULL, b);
    expect_success(gpuc_runtime_workspace_alloc(dev, &one, 1000, &b));
    assert_ptr_equal(b, a);
    gpuc_runtime_workspace_free(dev, &one, a);
    gpuc_runtime_workspace_forget(dev, &one);
    expect_success(gpuc_runtime_workspace_alloc(dev, &two, 1000, &b)); /* a stream that comes later has it */
    assert_ptr_equal(b, a);
    gpuc_runtime_workspace_free(dev, &two, b);
    gpuc_runtime_workspace_forget(dev, &two);
    a = take(dev, 1000);
    b = take(dev, 1000);
    assert_int_equal(f.vulkan.allocs, 2);
    gpuc_runtime_workspace_free(dev, NULL, a);
    gpuc_runtime_workspace_free(dev, NULL, b);
    fixture_deinit(&f);
}

static int own_allocs;

static gpuc_status own_alloc(gpuc_device *dev, size_t bytes, gpuc_buffer **out)
{
    own_allocs++;
    return fake_alloc(dev, bytes, 256, out);
}

static void own_free(gpuc_device *dev, gpuc_buffer *buffer)
{
    own_allocs--;
    fake_free(dev, buffer);
}

static void a_device_may_bring_its_own(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    gpuc_device_api api = fake_api;
    api.alloc_workspace = own_alloc;
    api.free_workspace = own_free;
    dev->api = &api;
    gpuc_buffer *b;
    expect_success(gpuc_runtime_workspace_alloc(dev, NULL, 10, &b));
    assert_int_equal(own_allocs, 1);
    gpuc_runtime_workspace_free(dev, NULL, b);
    assert_int_equal(own_allocs, 0);
    dev->api = &fake_api;
    fixture_deinit(&f);
}

static void *churn(void *arg)
{
    gpuc_device *dev = arg;
    for (int i = 0; i < 2000; i++) {
        gpuc_buffer *b;
        gpuc_status_release(gpuc_runtime_workspace_alloc(dev, NULL, (size_t)(i % 7) * 1000, &b));
        gpuc_runtime_workspace_free(dev, NULL, b);
    }
    return NULL;
}

/* The device's own calls are serialised here, since the counting heap is not for threads. */
static pthread_mutex_t device_mutex = PTHREAD_MUTEX_INITIALIZER;

static gpuc_status locked_alloc(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    pthread_mutex_lock(&device_mutex);
    gpuc_status status = fake_alloc(dev, bytes, alignment, out);
    pthread_mutex_unlock(&device_mutex);
    return status;
}

static void many_threads(void **state)
{
    (void)state;
    fake_driver d = {.num_devices = 1};
    gpuc_runtime *rt;
    gpuc_device *dev;
    expect_success(gpuc_runtime_create(NULL, &rt));
    expect_success(gpuc_driver_register(rt, &fake_vulkan, &d));
    expect_success(gpuc_device_open(rt, GPUC_DEVICE_VULKAN, 0, &dev));
    gpuc_device_api api = fake_api;
    api.alloc_data_space = locked_alloc;
    dev->api = &api;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, churn, dev), 0);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(d.allocs <= 28);
    dev->api = &fake_api;
    gpuc_runtime_release(rt);
    assert_int_equal(d.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_buffers_are_used_again),
        cmocka_unit_test(waste_is_bounded),
        cmocka_unit_test(a_full_device_gets_its_free_buffers_back),
        cmocka_unit_test(no_memory_for_the_list_frees_the_buffer),
        cmocka_unit_test(buffers_stay_with_their_stream),
        cmocka_unit_test(a_device_may_bring_its_own),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
