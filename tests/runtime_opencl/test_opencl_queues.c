/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

enum { N = 32 };

typedef struct bench {
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_code_module *module;
    gpuc_plan *plan;
    gpuc_buffer *x, *y;
} bench;

static void set_up(bench *b)
{
    gpuc_runtime_desc desc = cl_desc();
    b->dev = cl_open(&desc, &b->rt);
    b->module = cl_load_scale(b->dev);
    b->plan = cl_plan_scale(b->dev, b->module, N, 0);
    cl_ok(b->dev->api->alloc_data_space(b->dev, 1024, 0, &b->x));
    cl_ok(b->dev->api->alloc_data_space(b->dev, 1024, 0, &b->y));
}

static void tear_down(bench *b)
{
    cl_ok(b->dev->api->stream_sync(b->dev, NULL));
    b->dev->api->plan_destroy(b->plan);
    b->dev->api->free_data_space(b->dev, b->x);
    b->dev->api->free_data_space(b->dev, b->y);
    b->dev->api->module_release(b->dev, b->module);
    cl_close(b->rt);
}

static void run(bench *b, uint64_t x_at, uint64_t y_at)
{
    const gpuc_binding slots[2] = {{.buffer = b->x, .offset = x_at, .size = 4 * N},
                                   {.buffer = b->y, .offset = y_at, .size = 4 * N}};
    cl_ok(b->dev->api->plan_run(b->plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL));
}

static int args_of_run(bench *b, uint64_t x_at, uint64_t y_at)
{
    int before = spy.set_args;
    run(b, x_at, y_at);
    return spy.set_args - before;
}

static void arguments_are_set_when_they_change(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    assert_int_equal(args_of_run(&b, 0, 0), 4);
    assert_int_equal(args_of_run(&b, 0, 0), 0);
    assert_int_equal(args_of_run(&b, 256, 0), 1);
    assert_int_equal(args_of_run(&b, 256, 0), 0);
    cl_ok(b.dev->api->stream_sync(b.dev, NULL));
    b.dev->api->free_data_space(b.dev, b.y); /* another buffer, perhaps at the same address */
    cl_ok(b.dev->api->alloc_data_space(b.dev, 1024, 0, &b.y));
    assert_int_equal(args_of_run(&b, 256, 0), 2);
    tear_down(&b);
}

/* A failed call leaves arguments in an unknown state: they are set again. */
static void arguments_are_set_again_after_a_failure(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    run(&b, 0, 0);
    const gpuc_binding slots[2] = {{.buffer = b.x, .offset = 64, .size = 4 * N},
                                   {.buffer = b.y, .size = 4 * N}};
    spy.fail_name = "clSetKernelArg";
    cl_fails(b.dev->api->plan_run(b.plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL),
             GPUC_OUT_OF_DEVICE_MEMORY, "step 0 (scale): tensor 0: clSetKernelArg");
    spy.fail_name = NULL;
    assert_int_equal(args_of_run(&b, 64, 0), 2);
    tear_down(&b);
}

static void write(bench *b, size_t bytes, gpuc_buffer *to)
{
    void *host = calloc(1, bytes);
    cl_ok(b->dev->api->copy_data_from_to(b->dev, (gpuc_copy_end){.host = host}, (gpuc_copy_end){.buffer = to},
                                         bytes, NULL));
    free(host);
}

static void writes_do_not_wait_for_a_busy_queue(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    write(&b, 1024, b.x);
    assert_int_equal(spy.blocking_writes, 1); /* nothing to wait for: no copy aside */
    run(&b, 0, 0);
    write(&b, 1024, b.x);
    assert_int_equal(spy.queued_writes, 1);
    cl_ok(b.dev->api->stream_sync(b.dev, NULL));
    write(&b, 1024, b.x);
    assert_int_equal(spy.blocking_writes, 2);

    gpuc_buffer *large;
    cl_ok(b.dev->api->alloc_data_space(b.dev, 32 << 20, 0, &large));
    run(&b, 0, 0);
    write(&b, 32 << 20, large);
    assert_int_equal(spy.blocking_writes, 3);
    for (int i = 0; i < 40; i++) { /* more than may be set aside at once */
        run(&b, 0, 0);
        write(&b, 8 << 20, large);
    }
    assert_int_equal(spy.blocking_writes + spy.queued_writes, 44);
    cl_ok(b.dev->api->stream_sync(b.dev, NULL));
    b.dev->api->free_data_space(b.dev, large);
    tear_down(&b);
}

static void only_profiled_plans_pay_for_profiling(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    run(&b, 0, 0);
    assert_int_equal(spy.queues, 1);
    gpuc_plan *plans[2];
    for (int i = 0; i < 2; i++) plans[i] = cl_plan_scale(b.dev, b.module, N, GPUC_PLAN_PROFILING);
    assert_int_equal(spy.queues, 2);
    const gpuc_binding slots[2] = {{.buffer = b.x, .size = 4 * N}, {.buffer = b.y, .size = 4 * N}};
    for (int i = 0; i < 6; i++) {
        cl_ok(b.dev->api->plan_run(plans[i % 2], &(gpuc_bindings){.slots = slots, .count = 2}, NULL));
        run(&b, 0, 0);
    }
    cl_ok(b.dev->api->stream_sync(b.dev, NULL));
    double ns[2] = {-1, -1};
    cl_ok(b.dev->api->plan_profile(plans[1], ns, 2));
    assert_true(ns[0] > 0);
    assert_true(ns[1] == 0);
    for (int i = 0; i < 2; i++) b.dev->api->plan_destroy(plans[i]);
    tear_down(&b);
}

static void offsets_that_no_kernel_can_take(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    const gpuc_binding slots[2] = {{.buffer = b.x, .offset = 2, .size = 4 * N},
                                   {.buffer = b.y, .size = 4 * N}};
    cl_fails(b.dev->api->plan_run(b.plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL),
             GPUC_INVALID_ARGUMENT, "offset 2 is not a multiple of 4");
    tear_down(&b);
}

static void two_streams_are_two_queues(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    gpuc_stream *s;
    cl_ok(b.dev->api->create_stream(b.dev, &s));
    assert_non_null(s);
    assert_int_equal(spy.queues, 2);
    uint64_t ticket;
    cl_ok(b.dev->api->stream_signal(b.dev, s, &ticket));
    cl_ok(b.dev->api->stream_wait(b.dev, s, ticket));
    cl_ok(b.dev->api->stream_wait(b.dev, NULL, ticket));
    cl_ok(b.dev->api->stream_sync(b.dev, s));
    b.dev->api->free_stream(b.dev, s);
    b.dev->api->free_stream(b.dev, NULL);
    tear_down(&b);
}

/* ---- Tickets beside other threads ---- */

static struct {
    bench *b;
    const char *call; /* in front of which another thread waits for all that it sees */
    int calls;
} beside;

static void wait_beside(const char *name)
{
    uint64_t ticket;
    bool done;
    if (strcmp(name, beside.call) != 0) return;
    gpuc_device *dev = beside.b->dev;
    beside.call = "";
    beside.calls++;
    cl_ok(dev->api->stream_signal(dev, NULL, &ticket));
    cl_ok(dev->api->ticket_wait(dev, ticket, GPUC_FOREVER, &done));
}

/* A command that a thread is about to enqueue is not done when a ticket of another thread is. */
static void tickets_count_what_was_enqueued(void **state)
{
    (void)state;
    static const char *const calls[] = {"clEnqueueNDRangeKernel", "clEnqueueReadBuffer",
                                        "clEnqueueCopyBuffer", "clEnqueueWriteBuffer"};
    bench b;
    float host[N] = {0};
    set_up(&b);
    write(&b, sizeof host, b.x);
    write(&b, sizeof host, b.y);
    beside.b = &b;
    beside.call = "";
    spy.before = wait_beside;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const gpuc_device_api *api = b.dev->api;
        uint64_t ticket, last;
        bool done;
        beside.calls = 0;
        run(&b, 0, 0); /* the queue is busy, so that writes are staged */
        cl_ok(api->stream_signal(b.dev, NULL, &last));
        beside.call = calls[i];
        switch (i) {
        case 0: run(&b, 0, 0); break;
        case 1: cl_ok(api->read_later(b.dev, (gpuc_copy_end){.buffer = b.y}, host, sizeof host, NULL)); break;
        case 2:
            cl_ok(api->copy_data_from_to(b.dev, (gpuc_copy_end){.buffer = b.x},
                                         (gpuc_copy_end){.buffer = b.y}, sizeof host, NULL));
            break;
        case 3: write(&b, sizeof host, b.x); break;
        }
        cl_ok(api->stream_signal(b.dev, NULL, &ticket));
        assert_int_equal(beside.calls, 1);
        if (!ticket) fail_msg("%s: the stream is done before the command is", calls[i]);
        cl_ok(api->ticket_wait(b.dev, ticket, GPUC_FOREVER, &done));
        assert_true(done);
    }
    spy.before = NULL;
    tear_down(&b);
}

/* ---- Priorities ---- */

static void count_note(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)level;
    (void)message;
    if (strcmp(id, "opencl.priority") == 0) ++*(int *)user;
}

/* Where the device has priorities, all queues of gpuc's get the one that was asked for; elsewhere a note says so. */
static void queues_have_priorities(void **state)
{
    (void)state;
    static const struct {
        gpuc_queue_priority priority;
        cl_spy spy;
        int low, high, notes;
    } rows[] = {
        {GPUC_QUEUE_PRIORITY_DEFAULT, {.hints = true, .version = "OpenCL 3.0 spy"}, 0, 0, 0},
        {GPUC_QUEUE_PRIORITY_LOW, {.hints = true, .version = "OpenCL 3.0 spy"}, 2, 0, 0},
        {GPUC_QUEUE_PRIORITY_HIGH, {.hints = true, .version = "OpenCL 2.0 spy"}, 0, 2, 0},
        {GPUC_QUEUE_PRIORITY_HIGH, {.version = "OpenCL 3.0 spy"}, 0, 0, 1},
        {GPUC_QUEUE_PRIORITY_LOW, {.hints = true, .version = "OpenCL 1.2 spy"}, 0, 0, 1},
        {GPUC_QUEUE_PRIORITY_LOW,
         {.hints = true, .version = "OpenCL 3.0 spy", .missing = "clCreateCommandQueueWithProperties"},
         0,
         0,
         1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_runtime_desc desc = cl_desc();
        gpuc_runtime *rt;
        gpuc_device *dev;
        gpuc_stream *s;
        int notes = 0;
        desc.queue_priority = rows[i].priority;
        desc.log = count_note;
        desc.log_user = &notes;
        spy = rows[i].spy;
        cl_ok(cl_try_open(&desc, &rt, &dev));
        cl_ok(dev->api->create_stream(dev, &s));
        assert_int_equal(spy.queues, 2);
        assert_int_equal(spy.low, rows[i].low);
        assert_int_equal(spy.high, rows[i].high);
        assert_int_equal(notes, rows[i].notes);
        dev->api->free_stream(dev, s);
        cl_close(rt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_set_when_they_change),
        cmocka_unit_test(arguments_are_set_again_after_a_failure),
        cmocka_unit_test(writes_do_not_wait_for_a_busy_queue),
        cmocka_unit_test(only_profiled_plans_pay_for_profiling),
        cmocka_unit_test(offsets_that_no_kernel_can_take),
        cmocka_unit_test(two_streams_are_two_queues),
        cmocka_unit_test(tickets_count_what_was_enqueued),
        cmocka_unit_test(queues_have_priorities),
    };
    return cl_available() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
