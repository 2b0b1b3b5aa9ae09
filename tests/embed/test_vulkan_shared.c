/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that two devices share: of two VkDevices, of the host, of OpenCL. Semaphores and dma-bufs, which software drivers
 * lack, by a mock of their functions. */
#include "app.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/gpuc/sanitize.h"

#ifdef GPUC_TESTS_OPENCL
#include <gpuc/opencl.h>
#endif

enum { N = 3000, PAGE = 4096, HOST_BYTES = 4 * PAGE };

static void fill(float *x, int seed)
{
    for (int i = 0; i < N; i++) x[i] = (float)(i * 3 % 97 - seed);
}

typedef struct side {
    gpuc_runtime *rt;
    gpuc_device *dev;
} side;

static side open_side(void)
{
    side s;
    ok(gpuc_runtime_create(NULL, &s.rt));
    app_register(s.rt);
    ok(gpuc_device_open(s.rt, GPUC_DEVICE_VULKAN, 0, &s.dev));
    cli_keep_drivers_loaded();
    return s;
}

static bool skip_without(const side *s, uint32_t how, const char *what)
{
    if (gpuc_vulkan_shares(s->dev) & how) return false;
    print_message("skipped: the device does not share %s\n", what);
    return true;
}

static void test_two_devices(void **state)
{
    (void)state;
    side a = open_side(), b = open_side();
    float x[N], y[N];
    const int64_t dims[] = {N};
    gpuc_vulkan_shared memory;
    gpuc_ndarray *from, *to, *none;
    if (!skip_without(&a, GPUC_VULKAN_SHARE_FD, "memory")) {
        for (int round = 0; round < 3; round++) {
            ok(gpuc_vulkan_create_shared(a.dev, GPUC_VULKAN_SHARE_FD, GPUC_FLOAT32, 1, dims, &memory, &from));
            assert_true(memory.fd >= 0 && memory.buffer_size >= sizeof x &&
                        memory.memory_size >= memory.buffer_size);
            gpuc_vulkan_shared wrong = memory;
            wrong.buffer_size = 100;
            fails(gpuc_vulkan_import_shared(b.dev, &wrong, GPUC_FLOAT32, 1, dims, &none),
                  GPUC_INVALID_ARGUMENT, "does not fit the shared buffer of 100");
            wrong = memory;
            wrong.memory_size = 100;
            fails(gpuc_vulkan_import_shared(b.dev, &wrong, GPUC_FLOAT32, 1, dims, &none),
                  GPUC_INVALID_ARGUMENT, "but 100 are shared");
            wrong.fd = -1;
            fails(gpuc_vulkan_import_shared(b.dev, &wrong, GPUC_FLOAT32, 1, dims, &none),
                  GPUC_INVALID_ARGUMENT, "fd is -1");
            ok(gpuc_vulkan_import_shared(b.dev, &memory, GPUC_FLOAT32, 1, dims, &to));
            fill(x, round);
            ok(gpuc_ndarray_write(from, x, sizeof x));
            ok(gpuc_ndarray_read(from, y, sizeof y)); /* it is there */
            ok(gpuc_ndarray_read(to, y, sizeof y));
            assert_memory_equal(x, y, sizeof x);
            fill(x, round + 5);
            ok(gpuc_ndarray_write(to, x, sizeof x));
            ok(gpuc_ndarray_read(to, y, sizeof y));
            if (round == 1) { /* the memory lives as long as one of the two */
                gpuc_ndarray_release(to);
                to = NULL;
            }
            ok(gpuc_ndarray_read(from, y, sizeof y));
            assert_memory_equal(x, y, sizeof x);
            gpuc_ndarray_release(from);
            if (to) {
                ok(gpuc_ndarray_read(to, y, sizeof y));
                assert_memory_equal(x, y, sizeof x);
            }
            gpuc_ndarray_release(to);
        }
        fails(gpuc_vulkan_create_shared(a.dev, GPUC_VULKAN_SHARE_HOST, GPUC_FLOAT32, 1, dims, &memory, &from),
              GPUC_INVALID_ARGUMENT, "GPUC_VULKAN_SHARE_FD or _DMA_BUF");
    }
    if (!(gpuc_vulkan_shares(a.dev) & GPUC_VULKAN_SHARE_SEMAPHORE)) {
        VkSemaphore semaphore;
        int fd;
        fails(gpuc_vulkan_create_semaphore(a.dev, &fd, &semaphore), GPUC_UNSUPPORTED,
              "VK_KHR_external_semaphore_fd");
        fails(gpuc_vulkan_import_semaphore(a.dev, 3, &semaphore), GPUC_UNSUPPORTED,
              "VK_KHR_external_semaphore_fd");
    }
    gpuc_runtime_release(a.rt);
    gpuc_runtime_release(b.rt);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static void test_host(void **state)
{
    (void)state;
    side a = open_side();
    const int64_t dims[] = {N};
    float *host = aligned_alloc(PAGE, HOST_BYTES), y[N];
    int released = 0;
    gpuc_ndarray *x, *copy, *none;
    if (!skip_without(&a, GPUC_VULKAN_SHARE_HOST, "memory of the host")) {
        fill(host, 1);
        ok(gpuc_vulkan_wrap_host(a.dev, host, HOST_BYTES, GPUC_FLOAT32, 1, dims, count_release, &released,
                                 &x));
        ok(gpuc_ndarray_create(a.rt, a.dev, GPUC_FLOAT32, 1, dims, &copy));
        ok(gpuc_ndarray_copy(x, copy)); /* by the device */
        ok(gpuc_ndarray_read(copy, y, sizeof y));
        assert_memory_equal(host, y, sizeof y);
        fill(y, 7);
        ok(gpuc_ndarray_write(copy, y, sizeof y));
        ok(gpuc_ndarray_copy(copy, x));
        ok(gpuc_ndarray_read(copy, y, sizeof y)); /* after the copy, on one stream */
        assert_int_equal(released, 0);
        gpuc_ndarray_release(x);
        assert_int_equal(released, 1);
        assert_memory_equal(host, y, sizeof y);
        fails(gpuc_vulkan_wrap_host(a.dev, host + 1, PAGE, GPUC_FLOAT32, 1, dims, NULL, NULL, &none),
              GPUC_INVALID_ARGUMENT, "must be multiples of");
        fails(gpuc_vulkan_wrap_host(a.dev, host, PAGE, GPUC_FLOAT32, 1, dims, NULL, NULL, &none),
              GPUC_INVALID_ARGUMENT, "does not fit the 4096 bytes");
        gpuc_ndarray_release(copy);
    }
    gpuc_runtime_release(a.rt);
    free(host);
}

#ifdef GPUC_TESTS_OPENCL
/* One memory of the host is an array of Vulkan and one of OpenCL: what the one writes the other reads, without a copy. */
static void test_opencl(void **state)
{
    (void)state;
    side a = open_side();
    gpuc_device *cl;
    const int64_t dims[] = {N};
    float *host = aligned_alloc(PAGE, HOST_BYTES), x[N], y[N];
    gpuc_ndarray *vulkan, *opencl, *source;
    void *at;
    ok(gpuc_opencl_register(a.rt));
    gpuc_status status = gpuc_device_open(a.rt, GPUC_DEVICE_OPENCL, 0, &cl);
    if (status || !gpuc_device_get_attr(cl, GPUC_ATTR_UNIFIED_MEMORY).i) {
        print_message("skipped: no OpenCL device with unified memory\n");
        gpuc_status_release(status);
    } else if (!skip_without(&a, GPUC_VULKAN_SHARE_HOST, "memory of the host")) {
        memset(host, 0, HOST_BYTES);
        ok(gpuc_vulkan_wrap_host(a.dev, host, HOST_BYTES, GPUC_FLOAT32, 1, dims, NULL, NULL, &vulkan));
        ok(gpuc_ndarray_create(a.rt, a.dev, GPUC_FLOAT32, 1, dims, &source));
        fill(x, 4);
        ok(gpuc_ndarray_write(source, x, sizeof x));
        ok(gpuc_ndarray_copy(source, vulkan));
        ok(gpuc_ndarray_read(vulkan, y, sizeof y)); /* Vulkan is done */
        ok(gpuc_opencl_wrap_host(cl, host, HOST_BYTES, GPUC_FLOAT32, 1, dims, &opencl));
        ok(gpuc_ndarray_read(opencl, y, sizeof y));
        assert_memory_equal(x, y, sizeof x);
        fill(x, 9);
        ok(gpuc_ndarray_write(opencl, x, sizeof x));
        ok(gpuc_opencl_map(opencl, &at)); /* OpenCL is done, and the memory is the host's */
        ok(gpuc_ndarray_copy(vulkan, source));
        ok(gpuc_ndarray_read(source, y, sizeof y));
        assert_memory_equal(x, y, sizeof x);
        ok(gpuc_opencl_unmap(opencl));
        gpuc_ndarray_release(opencl);
        gpuc_ndarray_release(source);
        gpuc_ndarray_release(vulkan);
    }
    gpuc_runtime_release(a.rt);
    free(host);
}
#endif

/* What software drivers lack, on the application's device by a mock: which calls are made, and that descriptors and
 * semaphores have one owner each. */
static void test_mock(void **state)
{
    (void)state;
    app a;
    gpuc_runtime *rt;
    gpuc_device *dev;
    const int64_t dims[] = {N};
    app_open(&a, (app_options){.mock_sharing = true});
    ok(gpuc_runtime_create(NULL, &rt));
    app_register(rt);
    gpuc_vulkan_device_desc desc = app_desc(&a);
    ok(gpuc_vulkan_adopt(rt, &desc, &dev));
    assert_true(gpuc_vulkan_shares(dev) & GPUC_VULKAN_SHARE_SEMAPHORE);
    VkSemaphore made, taken;
    int fd;
    ok(gpuc_vulkan_create_semaphore(dev, &fd, &made));
    assert_int_equal(fcntl(fd, F_GETFD) < 0, 0);
    ok(gpuc_vulkan_import_semaphore(dev, fd, &taken));
    assert_int_equal(app_counted.imported_semaphores, 1);
    gpuc_vulkan_destroy_semaphore(dev, made);
    gpuc_vulkan_destroy_semaphore(dev, taken);
    gpuc_vulkan_destroy_semaphore(dev, VK_NULL_HANDLE);
    fails(gpuc_vulkan_import_semaphore(dev, -1, &taken), GPUC_INVALID_ARGUMENT, "is -1");
    if (gpuc_vulkan_shares(dev) & GPUC_VULKAN_SHARE_DMA_BUF) {
        gpuc_vulkan_shared memory;
        gpuc_ndarray *from, *to;
        float x[N], y[N];
        ok(gpuc_vulkan_create_shared(dev, GPUC_VULKAN_SHARE_DMA_BUF, GPUC_FLOAT32, 1, dims, &memory, &from));
        assert_int_equal(memory.how, GPUC_VULKAN_SHARE_DMA_BUF);
        ok(gpuc_vulkan_import_shared(dev, &memory, GPUC_FLOAT32, 1, dims, &to));
        fill(x, 2);
        ok(gpuc_ndarray_write(from, x, sizeof x));
        ok(gpuc_ndarray_read(from, y, sizeof y));
        ok(gpuc_ndarray_read(to, y, sizeof y));
        assert_memory_equal(x, y, sizeof x);
        gpuc_ndarray_release(from);
        gpuc_ndarray_release(to);
    } else {
        print_message(
            "skipped: no dma-bufs, as the device has no VK_KHR_external_memory_fd to mock them by\n");
    }
    ok(gpuc_device_close(dev));
    gpuc_runtime_release(rt);
    app_close(&a);
}

/* ---- Each call fails once ------------------------------------------------------------------------- */

typedef struct scene {
    app a;
    gpuc_runtime *rt;
    gpuc_device *dev;
    float *host;
    gpuc_ndarray *from, *to, *wrapped;
    int memory_fd, semaphore_fd; /* the test's; -1: none */
    int released;
    VkSemaphore made, taken;
} scene;

/* What the device shares. */
static gpuc_status play(scene *c)
{
    const int64_t dims[] = {N};
    gpuc_vulkan_device_desc desc = app_desc(&c->a);
    float x[N], y[N];
    GPUC_TRY(gpuc_vulkan_adopt(c->rt, &desc, &c->dev));
    GPUC_TRY(gpuc_vulkan_create_semaphore(c->dev, &c->semaphore_fd, &c->made));
    GPUC_TRY(gpuc_vulkan_import_semaphore(c->dev, c->semaphore_fd, &c->taken));
    c->semaphore_fd = -1;
    fill(x, 3);
    if (gpuc_vulkan_shares(c->dev) & GPUC_VULKAN_SHARE_FD) {
        gpuc_vulkan_shared memory;
        GPUC_TRY(gpuc_vulkan_create_shared(c->dev, GPUC_VULKAN_SHARE_FD, GPUC_FLOAT32, 1, dims, &memory,
                                           &c->from));
        c->memory_fd = memory.fd;
        GPUC_TRY(gpuc_vulkan_import_shared(c->dev, &memory, GPUC_FLOAT32, 1, dims, &c->to));
        c->memory_fd = -1;
        GPUC_TRY(gpuc_ndarray_write(c->from, x, sizeof x));
        GPUC_TRY(gpuc_ndarray_read(c->from, y, sizeof y));
        GPUC_TRY(gpuc_ndarray_read(c->to, y, sizeof y));
        assert_memory_equal(x, y, sizeof x);
    }
    if (gpuc_vulkan_shares(c->dev) & GPUC_VULKAN_SHARE_HOST) {
        GPUC_TRY(gpuc_vulkan_wrap_host(c->dev, c->host, HOST_BYTES, GPUC_FLOAT32, 1, dims, count_release,
                                       &c->released, &c->wrapped));
        GPUC_TRY(gpuc_ndarray_write(c->wrapped, x, sizeof x));
        GPUC_TRY(gpuc_ndarray_read(c->wrapped, y, sizeof y));
        assert_memory_equal(x, y, sizeof x);
    }
    return NULL;
}

static bool play_with_failure(int at, VkResult error)
{
    scene c = {.host = aligned_alloc(PAGE, HOST_BYTES), .memory_fd = -1, .semaphore_fd = -1};
    bool complete;
    app_open(&c.a, (app_options){.mock_sharing = true});
    ok(gpuc_runtime_create(NULL, &c.rt));
    app_register(c.rt);
    app_counted.fail_at = at;
    app_counted.fail_with = error;
    bool reached = app_failed(play(&c), &complete);
    app_counted.fail_at = 0;
    if (c.memory_fd >= 0) assert_int_equal(close(c.memory_fd), 0); /* it stayed the caller's */
    if (c.semaphore_fd >= 0) assert_int_equal(close(c.semaphore_fd), 0);
    if (c.dev) gpuc_vulkan_destroy_semaphore(c.dev, c.made);
    if (c.dev) gpuc_vulkan_destroy_semaphore(c.dev, c.taken);
    bool wrapped = c.wrapped != NULL;
    gpuc_ndarray_release(c.from);
    gpuc_ndarray_release(c.to);
    gpuc_ndarray_release(c.wrapped);
    if (c.dev) ok(gpuc_device_close(c.dev));
    assert_int_equal(c.released, wrapped);
    gpuc_runtime_release(c.rt);
    app_close(&c.a);
    free(c.host);
    return reached;
}

static void test_every_call_fails(void **state)
{
    (void)state;
    static const VkResult errors[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY};
    for (int i = 0; i < 2; i++) {
        int at = 1;
        while (play_with_failure(at, errors[i])) at++;
        assert_true(at > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_devices), cmocka_unit_test(test_host),
#ifdef GPUC_TESTS_OPENCL
                                       cmocka_unit_test(test_opencl),
#endif
                                       cmocka_unit_test(test_mock), cmocka_unit_test(test_every_call_fails)};
    return app_available() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
