/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc on the VkDevice of an application: adopting, buffers, recording, submitting. */
#include "app.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "../relay/fixture.h"

enum { ROWS = 8, IN = 64, HIDDEN = 32, OUT = 20 };

/* ---- A network: dense, softmax, dense, of any number of rows; the second output is the input itself --- */

static float weights1[HIDDEN * IN], weights2[OUT * HIDDEN];
static char package[64];

static double expected(const float *x, int row, int out)
{
    double hidden[HIDDEN], sum = 0, y = 0;
    for (int h = 0; h < HIDDEN; h++) {
        hidden[h] = 0;
        for (int i = 0; i < IN; i++) hidden[h] += (double)x[row * IN + i] * (double)weights1[h * IN + i];
        hidden[h] = exp(hidden[h]);
        sum += hidden[h];
    }
    for (int h = 0; h < HIDDEN; h++) y += hidden[h] / sum * (double)weights2[out * HIDDEN + h];
    return y;
}

static void build(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < HIDDEN * IN; i++) weights1[i] = (float)(i * 7 % 31 - 15) / 60;
    for (int i = 0; i < OUT * HIDDEN; i++) weights2[i] = (float)(i * 5 % 23 - 11) / 3;
    gpuc_expr dims[] = {gpuc_var(ctx, "n", GPUC_INDEX), gpuc_int(ctx, IN)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, dims));
    gpuc_rexpr *y = fx_op2(ctx, "nn.dense", x, fx_floats(ctx, FX_DIMS(HIDDEN, IN), weights1));
    y = fx_op1(ctx, "nn.softmax", "axis=-1", y);
    y = fx_op2(ctx, "nn.dense", y, fx_floats(ctx, FX_DIMS(OUT, HIDDEN), weights2));
    gpuc_rexpr *both[] = {y, x};
    const gpuc_target *target = gpuc_target_parse(ctx, "vulkan", NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_package(ctx, fx_module(ctx, gpuc_relay_tuple(ctx, 2, both), 1, &x), 1, &target, &options,
                       package, NULL);
}

static int make_package(void **state)
{
    (void)state;
    app_make_package(package, build, NULL);
    return 0;
}

static int remove_package(void **state)
{
    (void)state;
    remove(package);
    return 0;
}

/* ---- An application with a model on its device ------------------------------------------------ */

typedef struct heap {
    int64_t live, calls;
} heap;

static void *counting_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    heap *h = user;
    void *p = NULL;
    if (new_size)
        p = realloc(ptr, new_size);
    else
        free(ptr);
    if (new_size > old_size) __atomic_fetch_add(&h->calls, 1, __ATOMIC_RELAXED);
    if (p || !new_size) __atomic_fetch_add(&h->live, (int64_t)new_size - (int64_t)old_size, __ATOMIC_RELAXED);
    return p;
}

typedef struct world {
    app a;
    heap heap;
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_model *model;
    gpuc_vulkan_device_desc desc;
} world;

static void open_runtime(world *w)
{
    gpuc_runtime_desc d = GPUC_RUNTIME_DESC_INIT;
    d.allocator = (gpuc_allocator){counting_resize, &w->heap};
    ok(gpuc_runtime_create(&d, &w->rt));
    app_register(w->rt);
}

static void load(world *w)
{
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    d.path = package;
    d.device = w->dev;
    ok(gpuc_model_load(w->rt, &d, &w->model));
}

static void open_world(world *w, app_options options)
{
    memset(w, 0, sizeof *w);
    app_open(&w->a, options);
    open_runtime(w);
    w->desc = app_desc(&w->a);
    ok(gpuc_vulkan_adopt(w->rt, &w->desc, &w->dev));
    load(w);
}

/* Nothing of gpuc's is left in the application's device behind it. */
static void close_device(world *w)
{
    gpuc_model_release(w->model);
    w->model = NULL;
    ok(gpuc_device_close(w->dev));
    w->dev = NULL;
}

static void close_world(world *w)
{
    gpuc_model_release(w->model);
    if (w->dev) ok(gpuc_device_close(w->dev));
    gpuc_runtime_release(w->rt);
    assert_int_equal(w->heap.live, 0);
    app_close(&w->a);
}

static void fill(float *x, int count, int seed)
{
    for (int i = 0; i < count; i++) x[i] = (float)((i * 13 + seed * 7) % 41 - 20) / 20;
}

static void check(const float *x, const float *y, int rows)
{
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < OUT; o++) {
            double want = expected(x, r, o), got = (double)y[r * OUT + o];
            if (fabs(got - want) > 1e-4 * (1 + fabs(want)))
                fail_msg("row %d, %d: %g, not %g", r, o, got, want);
        }
}

enum { X_BYTES = ROWS * IN * 4, Y_BYTES = ROWS * OUT * 4 };

/* Input, result and copy of the input in buffers of the application. */
typedef struct io {
    app_buffer x, y, z;
    gpuc_ndarray *ax, *ay, *az;
} io;

static gpuc_ndarray *wrap(world *w, const app_buffer *b, int columns)
{
    int64_t dims[] = {ROWS, columns};
    gpuc_vulkan_buffer v = app_wrap(b, 0, b->size);
    gpuc_ndarray *out;
    ok(gpuc_vulkan_wrap_buffer(w->dev, &v, GPUC_FLOAT32, 2, dims, NULL, NULL, &out));
    return out;
}

static io make_io(world *w)
{
    io o = {.x = app_buffer_make(&w->a, X_BYTES, APP_USAGE),
            .y = app_buffer_make(&w->a, Y_BYTES, APP_USAGE),
            .z = app_buffer_make(&w->a, X_BYTES, APP_USAGE)};
    o.ax = wrap(w, &o.x, IN);
    o.ay = wrap(w, &o.y, OUT);
    o.az = wrap(w, &o.z, IN);
    return o;
}

static void free_io(world *w, io *o)
{
    gpuc_ndarray_release(o->ax);
    gpuc_ndarray_release(o->ay);
    gpuc_ndarray_release(o->az);
    app_buffer_destroy(&w->a, &o->x);
    app_buffer_destroy(&w->a, &o->y);
    app_buffer_destroy(&w->a, &o->z);
}

static void bind(gpuc_session *s, const io *o)
{
    ok(gpuc_session_bind_input(s, 0, o->ax));
    ok(gpuc_session_bind_output(s, 0, o->ay));
    ok(gpuc_session_bind_output(s, 1, o->az));
}

/* A new input; outputs that no network wrote. */
static void give_io(const world *w, const io *o, int seed)
{
    fill(o->x.floats, ROWS * IN, seed);
    memset(o->y.floats, 0xff, Y_BYTES);
    memset(o->z.floats, 0xff, X_BYTES);
    app_flush(&w->a, &o->x);
    app_flush(&w->a, &o->y);
    app_flush(&w->a, &o->z);
}

static void check_io(const world *w, const io *o)
{
    app_fetch(&w->a, &o->y);
    app_fetch(&w->a, &o->z);
    check(o->x.floats, o->y.floats, ROWS);
    assert_memory_equal(o->x.floats, o->z.floats, X_BYTES);
}

/* What the application says of a host that writes before and reads behind. */
static const gpuc_vulkan_sync host_sync = {.src_stages = VK_PIPELINE_STAGE_HOST_BIT,
                                           .src_access = VK_ACCESS_HOST_WRITE_BIT,
                                           .dst_stages = VK_PIPELINE_STAGE_HOST_BIT,
                                           .dst_access = VK_ACCESS_HOST_READ_BIT};

/* ---- Tests ------------------------------------------------------------------------------------ */

static void test_record(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        world w;
        open_world(&w, (app_options){.plain = plain});
        gpuc_session *s;
        ok(gpuc_session_create(w.model, &s));
        enum { FRAMES = 100, IN_FLIGHT = 2 };
        io o[IN_FLIGHT];
        VkFence fences[IN_FLIGHT] = {0};
        for (int i = 0; i < IN_FLIGHT; i++) o[i] = make_io(&w);
        for (int frame = 0; frame < FRAMES; frame++) {
            int i = frame % IN_FLIGHT;
            if (frame >= IN_FLIGHT) {
                app_finish(&w.a, fences[i]);
                check_io(&w, &o[i]);
            }
            if (frame == 4 * IN_FLIGHT) {
                memset(&app_counted, 0, sizeof app_counted);
                w.heap.calls = 0;
            }
            give_io(&w, &o[i], frame);
            bind(s, &o[i]);
            VkCommandBuffer cb = app_begin(&w.a);
            ok(gpuc_session_record(s, cb, &host_sync));
            fences[i] = app_submit(&w.a, cb);
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            app_finish(&w.a, fences[i]);
            check_io(&w, &o[i]);
        }
        assert_true(app_counted.dispatches >= 2 * (FRAMES - 4 * IN_FLIGHT));
        assert_int_equal(app_counted.submits, 0);
        assert_int_equal(app_counted.waits, 0);
        assert_int_equal(app_counted.allocations, 0);
        assert_int_equal(app_counted.creations, 0);
        assert_int_equal(app_counted.descriptor_writes, 0);
        assert_int_equal(w.heap.calls, 0);
        assert_true(app_counted.waited_stages &
                    VK_PIPELINE_STAGE_HOST_BIT); /* the layer does not see the host */
        assert_true(app_counted.waited_accesses & VK_ACCESS_HOST_WRITE_BIT);
        gpuc_session_release(s);
        for (int i = 0; i < IN_FLIGHT; i++) free_io(&w, &o[i]);
        close_world(&w);
    }
}

/* Copies of the application stand before and behind the network, which the layer would see out of order. */
static void test_between_copies(void **state)
{
    (void)state;
    const gpuc_vulkan_sync sync = {.src_stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   .src_access = VK_ACCESS_TRANSFER_WRITE_BIT,
                                   .dst_stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   .dst_access = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    const VkBufferCopy x_copy = {.size = X_BYTES}, y_copy = {.size = Y_BYTES};
    world w;
    open_world(&w, (app_options){0});
    gpuc_session *s;
    io inside = make_io(&w), outside = make_io(&w);
    ok(gpuc_session_create(w.model, &s));
    bind(s, &inside);
    give_io(&w, &outside, 5);
    VkCommandBuffer cb = app_begin(&w.a);
    w.a.CmdCopyBuffer(cb, outside.x.handle, inside.x.handle, 1, &x_copy);
    ok(gpuc_session_record(s, cb, &sync));
    w.a.CmdCopyBuffer(cb, inside.y.handle, outside.y.handle, 1, &y_copy);
    w.a.CmdCopyBuffer(cb, inside.z.handle, outside.z.handle, 1, &x_copy);
    w.a.CmdFillBuffer(cb, inside.x.handle, 0, X_BYTES, 0);
    app_run(&w.a, cb);
    check_io(&w, &outside);
    gpuc_session_release(s);
    free_io(&w, &inside);
    free_io(&w, &outside);
    close_world(&w);
}

/* Each frame in other buffers than those before it, so that descriptors of kernels without push descriptors are made
 * anew while older ones are pending. */
static void test_many_bindings(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){.plain = true});
    gpuc_session_desc d = GPUC_SESSION_DESC_INIT;
    gpuc_session *s;
    enum { SETS = 11, IN_FLIGHT = 2 };
    io o[SETS];
    VkFence fences[SETS] = {0};
    d.in_flight = IN_FLIGHT;
    ok(gpuc_session_create_with(w.model, &d, &s));
    for (int i = 0; i < SETS; i++) o[i] = make_io(&w);
    for (int frame = 0; frame < 5 * SETS; frame++) {
        int i = frame % SETS, before = (frame + SETS - IN_FLIGHT) % SETS;
        if (frame >= IN_FLIGHT) {
            app_finish(&w.a, fences[before]);
            check_io(&w, &o[before]);
        }
        give_io(&w, &o[i], frame);
        bind(s, &o[i]);
        VkCommandBuffer cb = app_begin(&w.a);
        ok(gpuc_session_record(s, cb, &host_sync));
        fences[i] = app_submit(&w.a, cb);
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        int last = (5 * SETS - 1 - i) % SETS;
        app_finish(&w.a, fences[last]);
        check_io(&w, &o[last]);
    }
    gpuc_session_release(s);
    for (int i = 0; i < SETS; i++) free_io(&w, &o[i]);
    close_world(&w);
}

static void test_record_nodes(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    int nodes = gpuc_model_num_nodes(w.model);
    assert_true(nodes >= 3);
    io o = make_io(&w);
    gpuc_session *s;
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = (uint32_t)nodes + 3};
    VkQueryPool queries;
    assert_int_equal(w.a.CreateQueryPool(w.a.device, &info, NULL, &queries), VK_SUCCESS);
    ok(gpuc_session_create(w.model, &s));
    bind(s, &o);
    give_io(&w, &o, 3);
    /* One operator per command buffer. */
    gpuc_vulkan_sync first = host_sync, last = host_sync;
    first.dst_stages = first.dst_access = last.src_stages = last.src_access = 0;
    for (int i = 0; i < nodes; i++) {
        VkCommandBuffer cb = app_begin(&w.a);
        ok(gpuc_session_record_nodes(s, cb, i == 0 ? &first : i + 1 == nodes ? &last : NULL, i, 1));
        app_run(&w.a, cb);
    }
    check_io(&w, &o);
    /* Times of all operators. */
    gpuc_vulkan_sync timed = host_sync;
    uint64_t ticks[32];
    timed.query_pool = queries;
    timed.first_query = 2;
    give_io(&w, &o, 4);
    VkCommandBuffer cb = app_begin(&w.a);
    if (w.a.timestamps) {
        ok(gpuc_session_record(s, cb, &timed));
        app_run(&w.a, cb);
        check_io(&w, &o);
        assert_true(nodes < 30);
        assert_int_equal(w.a.GetQueryPoolResults(w.a.device, queries, 2, (uint32_t)nodes + 1, sizeof ticks,
                                                 ticks, 8, VK_QUERY_RESULT_64_BIT),
                         VK_SUCCESS);
        for (int i = 0; i < nodes; i++) assert_true(ticks[i] <= ticks[i + 1]);
        assert_true(ticks[nodes] > ticks[0]);
    } else {
        fails(gpuc_session_record(s, cb, &timed), GPUC_UNSUPPORTED, "has no timestamps");
        app_run(&w.a, cb);
    }
    /* Out of order. */
    cb = app_begin(&w.a);
    fails(gpuc_session_record_nodes(s, cb, NULL, nodes, 1), GPUC_INVALID_ARGUMENT, "the program has");
    fails(gpuc_session_record_nodes(s, cb, NULL, -1, 1), GPUC_INVALID_ARGUMENT, "the program has");
    ok(gpuc_session_record_nodes(s, cb, NULL, 0, 1));
    fails(gpuc_session_record_nodes(s, cb, NULL, 2, 1), GPUC_INVALID_ARGUMENT, "the next one to record is 1");
    bind(s, &o);
    fails(gpuc_session_record_nodes(s, cb, NULL, 1, 1), GPUC_INVALID_ARGUMENT, "begin with operator 0");
    fails(gpuc_session_record(s, NULL, NULL), GPUC_INVALID_ARGUMENT, "commands");
    app_run(&w.a, cb);
    gpuc_session_release(s);
    free_io(&w, &o);
    w.a.DestroyQueryPool(w.a.device, queries, NULL);
    close_world(&w);
}

/* A debugger sees the model, then its operators. */
static void test_labels(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    io o = make_io(&w);
    gpuc_session *s;
    ok(gpuc_session_create(w.model, &s));
    bind(s, &o);
    VkCommandBuffer cb = app_begin(&w.a);
    memset(&app_counted, 0, sizeof app_counted);
    ok(gpuc_session_record(s, cb, &host_sync));
    app_run(&w.a, cb);
    assert_string_equal(app_counted.first_label, strrchr(package, '/') + 1);
    assert_true(app_counted.labels >= gpuc_model_num_nodes(w.model) + 1);
    gpuc_session_release(s);
    free_io(&w, &o);
    close_world(&w);
}

/* The timeline holds the network back until the host has written its input. */
static void submit_behind_timeline(const world *w, gpuc_session *s, const io *o, VkSemaphore timeline,
                                   VkSemaphore binary, int frame)
{
    uint64_t start = 2 * (uint64_t)frame - 1, done = 2 * (uint64_t)frame;
    VkSemaphore signals[] = {binary, timeline};
    uint64_t values[] = {0, done};
    gpuc_vulkan_submit first = {.wait = &timeline,
                                .wait_values = &start,
                                .num_wait = 1,
                                .signal = signals,
                                .signal_values = values,
                                .num_signal = 2};
    ok(gpuc_session_submit(s, &first));
    give_io(w, o, frame);
    VkSemaphoreSignalInfo go = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = start};
    assert_int_equal(w->a.SignalSemaphore(w->a.device, &go), VK_SUCCESS);
    VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &timeline,
                                .pValues = &done};
    assert_int_equal(w->a.WaitSemaphores(w->a.device, &wait, UINT64_MAX), VK_SUCCESS);
    check_io(w, o);
}

static void test_submit(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    io o = make_io(&w);
    gpuc_session *s;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSemaphore binary, timeline = VK_NULL_HANDLE;
    VkFence fence;
    w.a.CreateSemaphore(w.a.device, &info, NULL, &binary);
    info.pNext = &type;
    if (w.a.features12.timelineSemaphore) w.a.CreateSemaphore(w.a.device, &info, NULL, &timeline);
    w.a.CreateFence(w.a.device, &fence_info, NULL, &fence);
    ok(gpuc_session_create(w.model, &s));
    bind(s, &o);
    for (int frame = 1; frame <= 5; frame++) {
        gpuc_vulkan_submit first = {.signal = &binary, .num_signal = 1},
                           second = {.wait = &binary, .num_wait = 1, .fence = fence};
        if (timeline)
            submit_behind_timeline(&w, s, &o, timeline, binary, frame);
        else
            ok(gpuc_session_submit(s, &first));
        ok(gpuc_session_sync(s));
        /* Behind the binary one, with a fence. */
        give_io(&w, &o, 10 + frame);
        ok(gpuc_session_submit(s, &second));
        assert_int_equal(w.a.WaitForFences(w.a.device, 1, &fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
        assert_int_equal(w.a.ResetFences(w.a.device, 1, &fence), VK_SUCCESS);
        check_io(&w, &o);
        ok(gpuc_session_sync(s));
    }
    VkSemaphore none = VK_NULL_HANDLE;
    gpuc_vulkan_submit wrong = {.wait = &none, .num_wait = 1};
    fails(gpuc_session_submit(s, &wrong), GPUC_INVALID_ARGUMENT, "wait[0] is no semaphore");
    wrong = (gpuc_vulkan_submit){.num_signal = 2};
    fails(gpuc_session_submit(s, &wrong), GPUC_INVALID_ARGUMENT, "signal is NULL, but num_signal is 2");
    gpuc_session_release(s);
    w.a.DestroySemaphore(w.a.device, binary, NULL);
    w.a.DestroySemaphore(w.a.device, timeline, NULL);
    w.a.DestroyFence(w.a.device, fence, NULL);
    free_io(&w, &o);
    close_world(&w);
}

typedef struct shared_queue {
    pthread_mutex_t mutex;
    int locks;
} shared_queue;

static void lock_queue(void *user)
{
    shared_queue *q = user;
    pthread_mutex_lock(&q->mutex);
    q->locks++;
}

static void unlock_queue(void *user)
{
    pthread_mutex_unlock(&((shared_queue *)user)->mutex);
}

/* The application and gpuc take the queue by turns. */
static void open_locked_world(world *w, app_options options, shared_queue *q)
{
    app_open(&w->a, options);
    open_runtime(w);
    w->desc = app_desc(&w->a);
    w->desc.lock_queue = lock_queue;
    w->desc.unlock_queue = unlock_queue;
    w->desc.queue_user = q;
    ok(gpuc_vulkan_adopt(w->rt, &w->desc, &w->dev));
    load(w);
}

/* Slices until the inference is complete; each is one submission, and waits for nothing. */
static int run_in_slices(world *w, gpuc_session *s, uint32_t budget_us)
{
    gpuc_slice_progress p;
    for (int count = 1;; count++) {
        memset(&app_counted, 0, sizeof app_counted);
        ok(gpuc_session_run_slice(s, budget_us, &p));
        assert_true(app_counted.submits <= 1 + p.complete); /* the copy of the input may follow */
        assert_int_equal(app_counted.waits, 0);
        assert_true(count < 1000);
        if (p.complete) return count;
        app_run(&w->a, app_begin(&w->a)); /* the application's own on the queue */
    }
}

/* In the application's buffers and on its queue, beside recordings and submissions of the same session. */
static void test_slices(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        world w = {0};
        shared_queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER};
        open_locked_world(&w, (app_options){.plain = plain}, &q);
        enum { SETS = 2 };
        io o[SETS];
        gpuc_session *s;
        gpuc_vulkan_submit nothing = {0};
        for (int i = 0; i < SETS; i++) o[i] = make_io(&w);
        ok(gpuc_session_create(w.model, &s));
        bind(s, &o[0]);
        for (int i = 0; i < 6; i++) {
            int locks = q.locks;
            give_io(&w, &o[0], i);
            int slices = run_in_slices(&w, s, i % 2 ? 50 : 0);
            if (i % 2 == 0) assert_true(slices >= gpuc_model_num_nodes(w.model));
            assert_true(q.locks >= locks + slices);
            ok(gpuc_session_sync(s));
            check_io(&w, &o[0]);
        }
        for (int i = 0; i < 6; i++) {
            /* A recording is in flight, then another inference begins, and ends by one more of either kind. */
            give_io(&w, &o[0], 3 * i);
            give_io(&w, &o[1], 3 * i + 1);
            VkCommandBuffer cb = app_begin(&w.a);
            bind(s, &o[0]);
            ok(gpuc_session_record(s, cb, &host_sync));
            VkFence fence = app_submit(&w.a, cb);
            bind(s, &o[1]);
            if (i % 3 == 0) {
                run_in_slices(&w, s, 0);
            } else {
                ok(gpuc_session_run_slice(s, 0, NULL));
                ok(gpuc_session_run_slice(s, 0, NULL));
                cb = app_begin(&w.a);
                if (i % 3 == 1) ok(gpuc_session_record(s, cb, &host_sync));
                if (i % 3 == 2) ok(gpuc_session_submit(s, &nothing));
                app_run(&w.a, cb);
            }
            app_finish(&w.a, fence);
            ok(gpuc_session_sync(s));
            check_io(&w, &o[0]);
            check_io(&w, &o[1]);
        }
        ok(gpuc_session_run_slice(s, 0, NULL));
        fails(gpuc_device_close(w.dev), GPUC_INVALID_ARGUMENT, "release them first");
        gpuc_session_release(s);
        for (int i = 0; i < SETS; i++) free_io(&w, &o[i]); /* at once */
        close_world(&w);
    }
}

/* Buffers of another queue family: an asynchronous compute queue takes them over and gives them back. */
static void test_families(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    io o = make_io(&w);
    gpuc_session *s;
    ok(gpuc_session_create(w.model, &s));
    bind(s, &o);
    const app_buffer *buffers[] = {&o.x, &o.y, &o.z};
    gpuc_ndarray **arrays[] = {&o.ax, &o.ay, &o.az};
    for (int i = 0; i < 3; i++) { /* wrapped anew; the third is shared by the families */
        int64_t dims[] = {ROWS, i == 1 ? OUT : IN};
        gpuc_vulkan_buffer v = app_wrap(buffers[i], 0, buffers[i]->size);
        v.owner_family = i < 2 ? w.a.family + 1 : GPUC_VULKAN_SAME_FAMILY;
        ok(gpuc_session_bind_input(s, 0, NULL));
        ok(gpuc_session_bind_output(s, 0, NULL));
        ok(gpuc_session_bind_output(s, 1, NULL));
        gpuc_ndarray_release(*arrays[i]);
        ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 2, dims, NULL, NULL, arrays[i]));
    }
    bind(s, &o);
    for (int way = 0; way < 3; way++) {
        give_io(&w, &o, way);
        memset(&app_counted, 0, sizeof app_counted);
        VkCommandBuffer cb = app_begin(&w.a);
        gpuc_vulkan_submit nothing = {0};
        if (way == 0) {
            ok(gpuc_session_record(s, cb, &host_sync));
        } else if (way == 1) {
            int nodes = gpuc_model_num_nodes(w.model);
            ok(gpuc_session_record_nodes(s, cb, &host_sync, 0, 1));
            assert_int_equal(app_counted.taken, 2);
            assert_int_equal(app_counted.given, 0);
            ok(gpuc_session_record_nodes(s, cb, &host_sync, 1, nodes - 1));
        } else {
            ok(gpuc_session_submit(s, &nothing));
            ok(gpuc_session_sync(s));
        }
        app_run(&w.a, cb);
        check_io(&w, &o);
        assert_int_equal(app_counted.taken, 2);
        assert_int_equal(app_counted.given, 2);
        assert_int_equal(app_counted.other_family, w.a.family + 1);
    }
    gpuc_session_release(s);
    free_io(&w, &o);
    close_world(&w);
}

/* Inputs that were set lie in memory of the session; their copies are queued. */
static void test_set_inputs(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        world w;
        open_world(&w, (app_options){.plain = plain});
        io o = make_io(&w);
        gpuc_session *s;
        gpuc_ndarray *host, *own;
        int64_t dims[] = {ROWS, IN}, dims_y[] = {ROWS, OUT};
        float x[ROWS * IN], y[ROWS * OUT];
        ok(gpuc_session_create(w.model, &s));
        ok(gpuc_ndarray_create(w.rt, NULL, GPUC_FLOAT32, 2, dims, &host));
        fill(x, ROWS * IN, 5);
        ok(gpuc_ndarray_write(host, x, sizeof x));
        ok(gpuc_session_set_input(s, 0, host));
        ok(gpuc_session_sync(s));
        VkCommandBuffer cb = app_begin(&w.a);
        ok(gpuc_session_record(s, cb, &host_sync));
        app_run(&w.a, cb);
        /* The session has run nothing; its output is an array all the same. */
        ok(gpuc_ndarray_create(w.rt, w.dev, GPUC_FLOAT32, 2, dims_y, &own));
        ok(gpuc_session_bind_output(s, 0, own));
        ok(gpuc_session_run(s));
        ok(gpuc_ndarray_read(own, y, sizeof y));
        check(x, y, ROWS);
        cb = app_begin(&w.a);
        ok(gpuc_session_record(s, cb, &host_sync));
        app_run(&w.a, cb);
        ok(gpuc_ndarray_read(own, y, sizeof y));
        check(x, y, ROWS);
        gpuc_ndarray_release(own);
        gpuc_ndarray_release(host);
        gpuc_session_release(s);
        free_io(&w, &o);
        close_world(&w);
    }
}

/* What was recorded keeps the input that was set then, though it is submitted only after the next one was. */
static void test_set_between_recordings(void **state)
{
    (void)state;
    enum { FRAMES = 3 };
    world w;
    open_world(&w, (app_options){0});
    io o[FRAMES];
    VkCommandBuffer commands[FRAMES];
    VkFence fences[FRAMES];
    gpuc_session *s;
    gpuc_ndarray *host;
    const int64_t dims[] = {ROWS, IN};
    ok(gpuc_session_create(w.model, &s));
    ok(gpuc_ndarray_create(w.rt, NULL, GPUC_FLOAT32, 2, dims, &host));
    for (int i = 0; i < FRAMES; i++) {
        o[i] = make_io(&w);
        give_io(&w, &o[i], i);
        ok(gpuc_ndarray_write(host, o[i].x.floats, X_BYTES));
        ok(gpuc_session_set_input(s, 0, host));
        ok(gpuc_session_bind_output(s, 0, o[i].ay));
        ok(gpuc_session_bind_output(s, 1, o[i].az));
        commands[i] = app_begin(&w.a);
        ok(gpuc_session_record(s, commands[i], &host_sync));
    }
    for (int i = 0; i < FRAMES; i++) fences[i] = app_submit(&w.a, commands[i]);
    for (int i = 0; i < FRAMES; i++) app_finish(&w.a, fences[i]);
    for (int i = 0; i < FRAMES; i++) check_io(&w, &o[i]);
    gpuc_ndarray_release(host);
    gpuc_session_release(s);
    for (int i = 0; i < FRAMES; i++) free_io(&w, &o[i]);
    close_world(&w);
}

static void test_plan(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    gpuc_session *s;
    enum { LARGEST = 40 };
    app_buffer x = app_buffer_make(&w.a, LARGEST * IN * 4, APP_USAGE);
    app_buffer y = app_buffer_make(&w.a, LARGEST * OUT * 4, APP_USAGE);
    app_buffer z = app_buffer_make(&w.a, LARGEST * IN * 4, APP_USAGE);
    const app_buffer *buffers[] = {&x, &y, &z};
    fill(x.floats, LARGEST * IN, 1);
    app_flush(&w.a, &x);
    ok(gpuc_session_create(w.model, &s));
    static const int64_t sizes[] = {LARGEST, 3, 16, 1};
    for (int i = 0; i < 4; i++) {
        int64_t dims[] = {sizes[i], IN};
        const int64_t *all[] = {dims};
        ok(gpuc_session_plan(s, all));
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 4; i++) {
            gpuc_ndarray *arrays[3];
            for (int k = 0; k < 3; k++) {
                int64_t dims[] = {sizes[i], k == 1 ? OUT : IN};
                gpuc_vulkan_buffer v = app_wrap(buffers[k], 0, buffers[k]->size);
                ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 2, dims, NULL, NULL, &arrays[k]));
            }
            ok(gpuc_session_bind_input(s, 0, arrays[0]));
            ok(gpuc_session_bind_output(s, 0, arrays[1]));
            ok(gpuc_session_bind_output(s, 1, arrays[2]));
            for (int k = 0; k < 3; k++) gpuc_ndarray_release(arrays[k]);
            memset(y.floats, 0xff, (size_t)y.size);
            app_flush(&w.a, &y);
            memset(&app_counted, 0, sizeof app_counted);
            VkCommandBuffer cb = app_begin(&w.a);
            ok(gpuc_session_record(s, cb, &host_sync));
            app_run(&w.a, cb);
            assert_int_equal(app_counted.allocations + app_counted.submits + app_counted.waits, 0);
            app_fetch(&w.a, &y);
            check(x.floats, y.floats, (int)sizes[i]);
        }
    int64_t wrong[] = {2, IN + 1};
    const int64_t *all[] = {wrong};
    fails(gpuc_session_plan(s, all), GPUC_INVALID_ARGUMENT, "dimension 1 is 65");
    gpuc_session_release(s);
    app_buffer_destroy(&w.a, &x);
    app_buffer_destroy(&w.a, &y);
    app_buffer_destroy(&w.a, &z);
    close_world(&w);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static void test_buffers(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    app_buffer b = app_buffer_make(&w.a, 4096, APP_USAGE);
    int64_t n = 100;
    int released = 0;
    gpuc_ndarray *x, *y;
    static const struct {
        uint64_t offset, size;
        uint32_t usage;
        const char *words;
    } rows[] = {{4, 1024, APP_USAGE, "offset 4 of the application's buffer is no multiple of"},
                {0, 300, APP_USAGE, "the array has 400"},
                {256, 399, APP_USAGE, "the array has 400"},
                {0, VK_WHOLE_SIZE, APP_USAGE, "size is VK_WHOLE_SIZE"},
                {0, 1024, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "without VK_BUFFER_USAGE_STORAGE_BUFFER_BIT"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gpuc_vulkan_buffer v = app_wrap(&b, rows[i].offset, rows[i].size);
        v.usage = rows[i].usage;
        fails(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, NULL, NULL, &x), GPUC_INVALID_ARGUMENT,
              rows[i].words);
    }
    gpuc_vulkan_buffer v = app_wrap(&b, 0, 1024);
    v.buffer = VK_NULL_HANDLE;
    fails(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, NULL, NULL, &x), GPUC_INVALID_ARGUMENT,
          "buffer is missing");
    v = app_wrap(&b, 0, 1024);
    v.owner_family = w.a.family;
    fails(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, NULL, NULL, &x), GPUC_INVALID_ARGUMENT,
          "GPUC_VULKAN_SAME_FAMILY");
    /* Two arrays over one buffer. */
    v = app_wrap(&b, 0, 1024);
    ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, count_release, &released, &x));
    v = app_wrap(&b, 1024, 512);
    v.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    fails(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, NULL, NULL, &y), GPUC_INVALID_ARGUMENT,
          "another array over the same buffer");
    v.usage = APP_USAGE;
    ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, count_release, &released, &y));
    float values[100], back[100];
    fill(values, 100, 9);
    ok(gpuc_ndarray_write(x, values, sizeof values));
    ok(gpuc_ndarray_copy(x, y));
    ok(gpuc_ndarray_read(y, back, sizeof back));
    assert_memory_equal(values, back, sizeof values);
    app_fetch(&w.a, &b);
    assert_memory_equal(b.floats + 256, values, sizeof values);
    gpuc_vulkan_buffer got;
    ok(gpuc_vulkan_get_buffer(y, &got));
    assert_true(got.buffer == b.handle && got.offset == 1024 && got.size == 400);
    fails(gpuc_device_close(w.dev), GPUC_INVALID_ARGUMENT, "release them first");
    gpuc_ndarray_release(x);
    assert_int_equal(released, 0);
    gpuc_ndarray_release(y);
    assert_int_equal(released, 2);
    /* Copies need what they need. */
    app_buffer bare = app_buffer_make(&w.a, 4096, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    v = app_wrap(&bare, 0, 1024);
    ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 1, &n, NULL, NULL, &x));
    fails(gpuc_ndarray_write(x, values, sizeof values), GPUC_INVALID_ARGUMENT, "TRANSFER_DST_BIT");
    fails(gpuc_ndarray_read(x, values, sizeof values), GPUC_INVALID_ARGUMENT, "TRANSFER_SRC_BIT");
    gpuc_ndarray_release(x);
    app_buffer_destroy(&w.a, &bare);
    app_buffer_destroy(&w.a, &b);
    close_world(&w);
}

/* Input and output over one buffer, where they meet and where they do not. */
static void test_overlap(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    enum { GAP = 4096 };
    app_buffer b = app_buffer_make(&w.a, X_BYTES + GAP + Y_BYTES, APP_USAGE),
               z = app_buffer_make(&w.a, X_BYTES, APP_USAGE);
    int64_t dx[] = {ROWS, IN}, dy[] = {ROWS, OUT};
    gpuc_vulkan_buffer vx = app_wrap(&b, 0, X_BYTES), vz = app_wrap(&z, 0, X_BYTES);
    gpuc_session *s;
    gpuc_ndarray *ax, *ay, *az;
    ok(gpuc_session_create(w.model, &s));
    ok(gpuc_vulkan_wrap_buffer(w.dev, &vx, GPUC_FLOAT32, 2, dx, NULL, NULL, &ax));
    ok(gpuc_vulkan_wrap_buffer(w.dev, &vz, GPUC_FLOAT32, 2, dx, NULL, NULL, &az));
    for (int apart = 0; apart < 2; apart++) {
        gpuc_vulkan_buffer vy = app_wrap(&b, apart ? X_BYTES + GAP : X_BYTES - 256, Y_BYTES);
        ok(gpuc_vulkan_wrap_buffer(w.dev, &vy, GPUC_FLOAT32, 2, dy, NULL, NULL, &ay));
        ok(gpuc_session_bind_input(s, 0, ax));
        ok(gpuc_session_bind_output(s, 0, ay));
        ok(gpuc_session_bind_output(s, 1, az));
        fill(b.floats, ROWS * IN, 2);
        app_flush(&w.a, &b);
        VkCommandBuffer cb = app_begin(&w.a);
        if (apart)
            ok(gpuc_session_record(s, cb, &host_sync));
        else
            fails(gpuc_session_record(s, cb, &host_sync), GPUC_INVALID_ARGUMENT, "shares memory");
        app_run(&w.a, cb);
        app_fetch(&w.a, &b);
        if (apart) check(b.floats, b.floats + (X_BYTES + GAP) / 4, ROWS);
        gpuc_ndarray_release(ay);
    }
    gpuc_ndarray_release(ax);
    gpuc_ndarray_release(az);
    gpuc_session_release(s);
    app_buffer_destroy(&w.a, &b);
    app_buffer_destroy(&w.a, &z);
    close_world(&w);
}

static void test_adopt_refused(void **state)
{
    (void)state;
    world w = {0};
    app_open(&w.a, (app_options){0});
    open_runtime(&w);
    const gpuc_vulkan_device_desc good = app_desc(&w.a);
    VkPhysicalDeviceVulkan12Features no_head = {.sType =
                                                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    const char *null_name = NULL;
    gpuc_vulkan_device_desc d[12];
    const char *words[12];
    int n = 0;
#define WRONG(field, value, text)                                                                            \
    d[n] = good;                                                                                             \
    d[n].field = value;                                                                                      \
    words[n++] = text;
    WRONG(get_instance_proc_addr, NULL, "get_instance_proc_addr is missing")
    WRONG(instance, NULL, "instance is missing")
    WRONG(physical_device, NULL, "physical_device is missing")
    WRONG(device, NULL, "device is missing")
    WRONG(queue, NULL, "queue is missing")
    WRONG(api_version, VK_API_VERSION_1_0, "api_version is 1.0")
    WRONG(queue_family, 77, "queue_family is 77")
    WRONG(features, &no_head, "must be a VkPhysicalDeviceFeatures2")
    WRONG(memory.user, NULL, "")
    d[n - 1].memory.allocate = (void *)counting_resize;
    words[n - 1] = "memory.free";
    WRONG(extensions, &null_name, "extensions[0] is NULL")
    d[n - 1].num_extensions = 1;
    WRONG(lock_queue, (void *)count_release, "unlock_queue")
    for (int i = 0; i < n; i++)
        fails(gpuc_vulkan_adopt(w.rt, &d[i], &w.dev), GPUC_INVALID_ARGUMENT, words[i]);
    fails(gpuc_vulkan_adopt(w.rt, NULL, &w.dev), GPUC_INVALID_ARGUMENT, "desc");
    gpuc_runtime *bare;
    ok(gpuc_runtime_create(NULL, &bare));
    fails(gpuc_vulkan_adopt(bare, &good, &w.dev), GPUC_DEVICE_UNAVAILABLE, "gpuc_vulkan_register");
    gpuc_runtime_release(bare);
    gpuc_runtime_release(w.rt);
    assert_int_equal(w.heap.live, 0);
    app_close(&w.a);
}

static const gpuc_vulkan_need *find_need(const gpuc_vulkan_need *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    fail_msg("nothing asks for %s", name);
    return NULL;
}

static void test_requirements(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    gpuc_vulkan_question q = {.get_instance_proc_addr = w.desc.get_instance_proc_addr,
                              .instance = w.a.instance,
                              .api_version = w.a.api_version,
                              .physical_device = w.a.physical,
                              .path = package};
    gpuc_vulkan_need list[64], few[2];
    uint32_t count = 64, two = 2;
    ok(gpuc_vulkan_requirements(w.rt, &q, list, &count));
    assert_true(count > 3 && count < 64);
    ok(gpuc_vulkan_requirements(w.rt, &q, few, &two));
    assert_int_equal(two, count);
    assert_memory_equal(few, list, sizeof few);
    const gpuc_vulkan_need *n = find_need(list, count, "apiVersion");
    assert_true(n->kind == GPUC_VULKAN_NEED_VERSION && n->present && !n->optional);
    n = find_need(list, count, "weights");
    assert_true(n->kind == GPUC_VULKAN_NEED_MEMORY && n->needs >= sizeof weights1 + sizeof weights2 &&
                n->present);
    n = find_need(list, count, "VK_KHR_push_descriptor");
    assert_true(n->optional && n->buys[0]);
    bool has = false;
    for (uint32_t i = 0; i < w.a.num_extensions; i++) has = has || !strcmp(w.a.extensions[i], n->name);
    assert_int_equal(n->present, has);
    for (uint32_t i = 0; i < count; i++) assert_true(list[i].optional || list[i].present); /* it runs here */
    q.api_version = VK_API_VERSION_1_0;
    ok(gpuc_vulkan_requirements(w.rt, &q, list, &count));
    assert_false(find_need(list, count, "apiVersion")->present);
    q.physical_device = NULL;
    fails(gpuc_vulkan_requirements(w.rt, &q, list, &count), GPUC_INVALID_ARGUMENT, "physical_device");
    q.physical_device = w.a.physical;
    q.path = "/nowhere";
    fails(gpuc_vulkan_requirements(w.rt, &q, list, &count), GPUC_NOT_FOUND, "/nowhere");
    q.path = NULL;
    _Alignas(16) static const char nonsense[64] = "no package at all";
    q.bytes = nonsense;
    q.size = sizeof nonsense;
    fails(gpuc_vulkan_requirements(w.rt, &q, list, &count), GPUC_INVALID_DATA, "");
    close_world(&w);
}

static int64_t attr(gpuc_device *dev, gpuc_device_attr which)
{
    return gpuc_device_get_attr(dev, which).i;
}

/* gpuc takes what the application enabled, and no more. */
static void test_features(void **state)
{
    (void)state;
    world all, none;
    const int64_t optional = GPUC_FEATURE_FLOAT64 | GPUC_FEATURE_INT64 | GPUC_FEATURE_INT16 |
                             GPUC_FEATURE_INT8 | GPUC_FEATURE_FLOAT16 | GPUC_FEATURE_STORAGE8 |
                             GPUC_FEATURE_STORAGE16 | GPUC_FEATURE_DOT_PRODUCT | GPUC_FEATURE_ATOMIC_FLOAT |
                             GPUC_FEATURE_IMAGE_ANY_FORMAT;
    gpuc_device *own;
    open_world(&none, (app_options){.plain = true});
    assert_int_equal(attr(none.dev, GPUC_ATTR_FEATURES) & optional, 0);
    assert_int_equal(attr(none.dev, GPUC_ATTR_SUBGROUP_SIZE_CONTROL), 0);
    close_world(&none);
    open_world(&all, (app_options){0});
    ok(gpuc_device_open(all.rt, GPUC_DEVICE_VULKAN, 0, &own));
    assert_int_equal(attr(all.dev, GPUC_ATTR_FEATURES) & optional & ~GPUC_FEATURE_ATOMIC_FLOAT,
                     attr(own, GPUC_ATTR_FEATURES) & optional & ~GPUC_FEATURE_ATOMIC_FLOAT);
    assert_int_equal(attr(all.dev, GPUC_ATTR_SUBGROUP_SIZE_CONTROL),
                     attr(own, GPUC_ATTR_SUBGROUP_SIZE_CONTROL));
    fails(gpuc_device_close(own), GPUC_INVALID_ARGUMENT, "the runtime closes it");
    /* It is found by its number, among others. */
    assert_int_equal(all.dev->index, GPUC_ADOPTED_FIRST);
    gpuc_device *found, *second;
    ok(gpuc_device_open(all.rt, GPUC_DEVICE_VULKAN, GPUC_ADOPTED_FIRST, &found));
    assert_ptr_equal(found, all.dev);
    ok(gpuc_vulkan_adopt(all.rt, &all.desc, &second));
    assert_int_equal(second->index, GPUC_ADOPTED_FIRST + 1);
    ok(gpuc_device_close(second));
    ok(gpuc_vulkan_adopt(all.rt, &all.desc, &second));
    assert_int_equal(second->index, GPUC_ADOPTED_FIRST + 1);
    close_world(&all); /* the second one goes with the runtime */
}

/* ---- Two networks from two threads ------------------------------------------------------------- */

typedef struct runner {
    world *w;
    io o;
    int seed, wrong;
} runner;

static void *run_many(void *arg)
{
    runner *r = arg;
    gpuc_session *s;
    ok(gpuc_session_create(r->w->model, &s));
    bind(s, &r->o);
    for (int i = 0; i < 1000; i++) {
        fill(r->o.x.floats, ROWS * IN, r->seed + i);
        app_flush(&r->w->a, &r->o.x);
        gpuc_status status = gpuc_session_run(s);
        if (!status) status = gpuc_session_sync(s);
        if (status) r->wrong++;
        gpuc_status_release(status);
        int row = i % ROWS, out = i % OUT;
        app_fetch(&r->w->a, &r->o.y);
        double want = expected(r->o.x.floats, row, out);
        if (fabs((double)r->o.y.floats[row * OUT + out] - want) > 1e-4 * (1 + fabs(want))) r->wrong++;
    }
    gpuc_session_release(s);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    world w = {0};
    shared_queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    open_locked_world(&w, (app_options){0}, &q);
    runner r[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        r[i] = (runner){.w = &w, .o = make_io(&w), .seed = 100 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &r[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(r[i].wrong, 0);
        free_io(&w, &r[i].o);
    }
    assert_true(q.locks >= 2000);
    close_world(&w);
}

/* ---- Memory of the application ----------------------------------------------------------------- */

static void test_memory_hook(void **state)
{
    (void)state;
    world w = {0};
    app_arena m = {.a = &w.a, .size = 32 << 20};
    app_open(&w.a, (app_options){0});
    open_runtime(&w);
    w.desc = app_desc(&w.a);
    w.desc.memory = app_arena_hook(&m);
    ok(gpuc_vulkan_adopt(w.rt, &w.desc, &w.dev));
    memset(&app_counted, 0, sizeof app_counted);
    load(&w);
    io o = make_io(&w);
    gpuc_session *s;
    ok(gpuc_session_create(w.model, &s));
    bind(s, &o);
    give_io(&w, &o, 1);
    ok(gpuc_session_run(s));
    ok(gpuc_session_sync(s));
    check_io(&w, &o);
    assert_true(m.live > 0);
    assert_int_equal(app_counted.allocations, 0);
    gpuc_vulkan_heap heaps[16];
    uint32_t count = 16;
    uint64_t used = 0;
    ok(gpuc_vulkan_report_memory(w.dev, heaps, &count));
    assert_int_equal(count, w.a.memory.memoryHeapCount);
    uint64_t given = 0;
    for (uint32_t i = 0; i < count; i++) used += heaps[i].used;
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++) given += m.types[i].used;
    assert_true(used > 0 && used <= given);
    gpuc_ndarray *x;
    int64_t n = 1000;
    gpuc_stream *stream;
    float *copy = malloc((size_t)n * sizeof *copy);
    ok(gpuc_stream_create(w.dev, &stream));
    ok(gpuc_ndarray_create(w.rt, w.dev, GPUC_FLOAT32, 1, &n, &x));
    ok(gpuc_ndarray_read_on(stream, x, copy, (size_t)n * sizeof *copy)); /* by memory that the host sees */
    gpuc_ticket read;
    ok(gpuc_stream_signal(stream, &read));
    ok(gpuc_ticket_wait(read, GPUC_FOREVER));
    gpuc_stream_release(stream);
    gpuc_ndarray_release(x);
    free(copy);
    m.refuse = 1;
    fails(gpuc_ndarray_create(w.rt, w.dev, GPUC_FLOAT32, 1, &n, &x), GPUC_OUT_OF_DEVICE_MEMORY,
          "memory hook");
    m.refuse = 0;
    m.wrong_type = true;
    fails(gpuc_ndarray_create(w.rt, w.dev, GPUC_FLOAT32, 1, &n, &x), GPUC_INVALID_ARGUMENT, "memory type 31");
    m.wrong_type = false;
    m.empty = true;
    fails(gpuc_ndarray_create(w.rt, w.dev, GPUC_FLOAT32, 1, &n, &x), GPUC_INVALID_ARGUMENT, "gave no memory");
    m.empty = false;
    gpuc_session_release(s);
    free_io(&w, &o);
    close_device(&w);
    app_arena_destroy(&m);
    close_world(&w);
}

/* Blocks that Vulkan has of the application, of 0 bytes, too: drivers ask for such. What is before the memory of one: its
 * size, and how long that is. */
static void *VKAPI_PTR host_allocate(void *user, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
    size_t lead = alignment < 2 * sizeof size ? 2 * sizeof size : alignment;
    void *block;
    (void)scope;
    if (posix_memalign(&block, lead, lead + size)) return NULL;
    size_t *head = (size_t *)(void *)((char *)block + lead) - 2;
    head[0] = size;
    head[1] = lead;
    __atomic_add_fetch((int *)user, 1, __ATOMIC_RELAXED);
    return head + 2;
}

static void VKAPI_PTR host_free(void *user, void *memory)
{
    if (!memory) return;
    __atomic_sub_fetch((int *)user, 1, __ATOMIC_RELAXED);
    free((char *)memory - ((size_t *)memory)[-1]);
}

static void *VKAPI_PTR host_resize(void *user, void *old, size_t size, size_t alignment,
                                   VkSystemAllocationScope scope)
{
    void *out = size ? host_allocate(user, size, alignment, scope) : NULL;
    size_t had = old ? ((size_t *)old)[-2] : 0;
    if (out && old) memcpy(out, old, had < size ? had : size);
    if (out || !size) host_free(user, old);
    return out;
}

/* Objects of gpuc are made and destroyed with them, or the layer complains, too. */
static void test_allocation_callbacks(void **state)
{
    (void)state;
    world w = {0};
    int live = 0;
    const VkAllocationCallbacks callbacks = {.pUserData = &live,
                                             .pfnAllocation = host_allocate,
                                             .pfnReallocation = host_resize,
                                             .pfnFree = host_free};
    gpuc_session *s;
    app_open(&w.a, (app_options){0});
    open_runtime(&w);
    w.desc = app_desc(&w.a);
    w.desc.allocation_callbacks = &callbacks;
    ok(gpuc_vulkan_adopt(w.rt, &w.desc, &w.dev));
    load(&w);
    io o = make_io(&w);
    ok(gpuc_session_create(w.model, &s));
    bind(s, &o);
    for (int i = 0; i < 2; i++) {
        give_io(&w, &o, i);
        if (i) {
            VkCommandBuffer cb = app_begin(&w.a);
            ok(gpuc_session_record(s, cb, &host_sync));
            app_run(&w.a, cb);
        } else {
            ok(gpuc_session_run(s));
            ok(gpuc_session_sync(s));
        }
        check_io(&w, &o);
    }
    assert_true(live > 0);
    gpuc_session_release(s);
    free_io(&w, &o);
    close_device(&w);
    assert_int_equal(live, 0);
    close_world(&w);
}

static void test_budget(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    gpuc_device *small;
    gpuc_ndarray *a, *b;
    int64_t n = 2500000, large = 16000000;
    w.desc.memory_budget = 64 << 20; /* staging memory counts, where the host does not see the arrays */
    ok(gpuc_vulkan_adopt(w.rt, &w.desc, &small));
    ok(gpuc_ndarray_create(w.rt, small, GPUC_FLOAT32, 1, &n, &a));
    fails(gpuc_ndarray_create(w.rt, small, GPUC_FLOAT32, 1, &large, &b), GPUC_OUT_OF_DEVICE_MEMORY,
          "memory_budget is 67108864");
    ok(gpuc_ndarray_create(w.rt, small, GPUC_FLOAT32, 1, &n, &b));
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    ok(gpuc_device_close(small));
    close_world(&w);
}

/* A lost device is a status; everything can be destroyed, and another device made. */
static void test_loss(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    io o = make_io(&w);
    for (int at = 1; at <= 4; at++) {
        gpuc_session *s;
        ok(gpuc_session_create(w.model, &s));
        bind(s, &o);
        memset(&app_counted, 0, sizeof app_counted);
        app_counted.lose_after = at;
        gpuc_status status = NULL;
        for (int i = 0; i < 4 && !status; i++) {
            status = at % 2 ? gpuc_session_run(s) : gpuc_session_run_slice(s, 0, NULL);
            if (!status) status = gpuc_session_sync(s);
        }
        fails(status, GPUC_DEVICE_LOST, "");
        fails(gpuc_session_run(s), GPUC_DEVICE_LOST, "the Vulkan device was lost");
        fails(gpuc_session_run_slice(s, 0, NULL), GPUC_DEVICE_LOST, "the Vulkan device was lost");
        gpuc_vulkan_submit nothing = {0};
        fails(gpuc_session_submit(s, &nothing), GPUC_DEVICE_LOST, "");
        gpuc_session_release(s);
        free_io(&w, &o);
        gpuc_model_release(w.model);
        ok(gpuc_device_close(w.dev));
        /* Only gpuc believes that it was lost: the same VkDevice serves as the next. */
        app_counted.lose_after = 0;
        w.a.QueueWaitIdle(w.a.queue);
        ok(gpuc_vulkan_adopt(w.rt, &w.desc, &w.dev));
        load(&w);
        o = make_io(&w);
        give_io(&w, &o, at);
        ok(gpuc_session_create(w.model, &s));
        bind(s, &o);
        ok(gpuc_session_run(s));
        ok(gpuc_session_sync(s));
        check_io(&w, &o);
        gpuc_session_release(s);
    }
    free_io(&w, &o);
    close_world(&w);
}

/* Memory between operators that is the application's, shared by sessions of which one runs at a time. */
static void test_workspace(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    io o = make_io(&w);
    int64_t dims[] = {ROWS, IN}, few = 16;
    const int64_t *all[] = {dims};
    gpuc_session *s[2];
    for (int i = 0; i < 2; i++) ok(gpuc_session_create(w.model, &s[i]));
    ok(gpuc_session_plan(s[0], all));
    int64_t bytes = (int64_t)gpuc_session_get_stats(s[0]).workspace_bytes;
    assert_true(bytes > 0);
    app_buffer b = app_buffer_make(&w.a, (VkDeviceSize)bytes + 512, APP_USAGE);
    gpuc_vulkan_buffer v = app_wrap(&b, 256, (VkDeviceSize)bytes + 256);
    gpuc_ndarray *memory, *small, *host;
    ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_UINT8, 1, &bytes, NULL, NULL, &memory));
    ok(gpuc_ndarray_create(w.rt, w.dev, GPUC_UINT8, 1, &few, &small));
    ok(gpuc_ndarray_create(w.rt, NULL, GPUC_UINT8, 1, &few, &host));
    for (int i = 0; i < 2; i++) {
        ok(gpuc_session_bind_workspace(s[i], memory));
        bind(s[i], &o);
        give_io(&w, &o, i);
        VkCommandBuffer cb = app_begin(&w.a);
        ok(gpuc_session_record(s[i], cb, &host_sync));
        app_run(&w.a, cb);
        check_io(&w, &o);
        assert_int_equal(gpuc_session_get_stats(s[i]).arena_bytes, 0);
    }
    ok(gpuc_session_bind_workspace(s[0], small));
    fails(gpuc_session_run(s[0]), GPUC_INVALID_ARGUMENT, "the workspace has 16 bytes");
    fails(gpuc_session_bind_workspace(s[0], host), GPUC_INVALID_ARGUMENT, "must lie on vulkan");
    ok(gpuc_session_bind_workspace(s[0], NULL));
    ok(gpuc_session_run(s[0]));
    ok(gpuc_session_sync(s[0]));
    check_io(&w, &o);
    for (int i = 0; i < 2; i++) gpuc_session_release(s[i]);
    gpuc_ndarray_release(memory);
    gpuc_ndarray_release(small);
    gpuc_ndarray_release(host);
    app_buffer_destroy(&w.a, &b);
    free_io(&w, &o);
    close_world(&w);
}

static void test_weight_memory(void **state)
{
    (void)state;
    world w;
    open_world(&w, (app_options){0});
    app_buffer b = app_buffer_make(&w.a, 1 << 20, APP_USAGE);
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    gpuc_ndarray *small, *memory, *host;
    gpuc_model *model;
    int64_t few = 64, many = (1 << 20) - 512;
    gpuc_vulkan_buffer v = app_wrap(&b, 256, (1 << 20) - 256);
    ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_UINT8, 1, &many, NULL, NULL, &memory));
    ok(gpuc_ndarray_create(w.rt, w.dev, GPUC_UINT8, 1, &few, &small));
    ok(gpuc_ndarray_create(w.rt, NULL, GPUC_UINT8, 1, &many, &host));
    d.path = package;
    d.weight_memory = memory;
    fails(gpuc_model_load(w.rt, &d, &model), GPUC_INVALID_ARGUMENT, "which must be given");
    d.device = w.dev;
    d.weight_memory = host;
    fails(gpuc_model_load(w.rt, &d, &model), GPUC_INVALID_ARGUMENT, "must lie on gpuc_model_desc.device");
    d.weight_memory = small;
    fails(gpuc_model_load(w.rt, &d, &model), GPUC_INVALID_ARGUMENT, "has 64 bytes");
    d.weight_memory = memory;
    ok(gpuc_model_load(w.rt, &d, &model));
    gpuc_ndarray_release(memory);
    app_fetch(&w.a, &b);
    bool found = false; /* the weights lie in the application's buffer */
    for (size_t i = 64; i < (1 << 18) && !found; i++) found = b.floats[i] != 0; /* it was zeros */
    assert_true(found);
    gpuc_session *s;
    io o = make_io(&w);
    ok(gpuc_session_create(model, &s));
    bind(s, &o);
    give_io(&w, &o, 4);
    ok(gpuc_session_run(s));
    ok(gpuc_session_sync(s));
    check_io(&w, &o);
    gpuc_session_release(s);
    free_io(&w, &o);
    gpuc_model_release(model);
    gpuc_ndarray_release(small);
    gpuc_ndarray_release(host);
    app_buffer_destroy(&w.a, &b);
    close_world(&w);
}

/* The application's own pipeline cache gets the pipelines. */
static void test_pipeline_cache(void **state)
{
    (void)state;
    world w = {0};
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkPipelineCache cache;
    size_t before, after;
    app_open(&w.a, (app_options){0});
    open_runtime(&w);
    assert_int_equal(w.a.CreatePipelineCache(w.a.device, &info, NULL, &cache), VK_SUCCESS);
    w.a.GetPipelineCacheData(w.a.device, cache, &before, NULL);
    w.desc = app_desc(&w.a);
    w.desc.pipeline_cache = cache;
    ok(gpuc_vulkan_adopt(w.rt, &w.desc, &w.dev));
    load(&w);
    w.a.GetPipelineCacheData(w.a.device, cache, &after, NULL);
    assert_true(after >= before);
    close_device(&w);
    w.a.DestroyPipelineCache(w.a.device, cache, NULL);
    close_world(&w);
}

/* ---- Each call fails once ---------------------------------------------------------------------- */

/* What an application has in the middle of it all; what was not made is NULL. */
typedef struct scene {
    world w;
    io o;
    app_buffer workspace;
    gpuc_session *s;
    gpuc_ndarray *memory, *own;
    gpuc_stream *stream;
    VkCommandBuffer commands;
    VkFence fence;
    float y[ROWS * OUT], again[ROWS * OUT];
} scene;

static gpuc_status try_wrap(scene *c, const app_buffer *b, gpuc_dtype t, int64_t rows, int64_t columns,
                            gpuc_ndarray **out)
{
    const int64_t dims[] = {rows, columns};
    gpuc_vulkan_buffer v = app_wrap(b, 0, b->size);
    return gpuc_vulkan_wrap_buffer(c->w.dev, &v, t, 2, dims, NULL, NULL, out);
}

static gpuc_status try_load(scene *c)
{
    gpuc_model_desc d = GPUC_MODEL_DESC_INIT;
    const int64_t dims[] = {ROWS, IN};
    const int64_t *all[] = {dims};
    GPUC_TRY(gpuc_vulkan_adopt(c->w.rt, &c->w.desc, &c->w.dev));
    d.path = package;
    d.device = c->w.dev;
    GPUC_TRY(gpuc_model_load(c->w.rt, &d, &c->w.model));
    GPUC_TRY(gpuc_session_create(c->w.model, &c->s));
    GPUC_TRY(gpuc_session_plan(c->s, all));
    GPUC_TRY(try_wrap(c, &c->o.x, GPUC_FLOAT32, ROWS, IN, &c->o.ax));
    GPUC_TRY(try_wrap(c, &c->o.y, GPUC_FLOAT32, ROWS, OUT, &c->o.ay));
    GPUC_TRY(try_wrap(c, &c->o.z, GPUC_FLOAT32, ROWS, IN, &c->o.az));
    GPUC_TRY(try_wrap(c, &c->workspace, GPUC_UINT8, 1, (int64_t)c->workspace.size, &c->memory));
    GPUC_TRY(gpuc_session_bind_input(c->s, 0, c->o.ax));
    GPUC_TRY(gpuc_session_bind_output(c->s, 0, c->o.ay));
    return gpuc_session_bind_output(c->s, 1, c->o.az);
}

/* By each of the ways to run a network. */
static gpuc_status play(scene *c)
{
    const int64_t dims[] = {ROWS, OUT};
    float x[ROWS * IN];
    gpuc_vulkan_submit submit = {.fence = c->fence};
    gpuc_slice_progress progress = {0};
    GPUC_TRY(try_load(c));
    fill(x, ROWS * IN, 3);
    GPUC_TRY(gpuc_ndarray_write(c->o.ax, x, sizeof x));
    GPUC_TRY(gpuc_session_record(c->s, c->commands, &host_sync));
    GPUC_TRY(gpuc_session_submit(c->s, &submit));
    GPUC_TRY(gpuc_session_sync(c->s));
    GPUC_TRY(gpuc_session_bind_workspace(c->s, c->memory));
    GPUC_TRY(gpuc_session_run(c->s));
    GPUC_TRY(gpuc_session_sync(c->s));
    while (!progress.complete) GPUC_TRY(gpuc_session_run_slice(c->s, 0, &progress));
    GPUC_TRY(gpuc_session_sync(c->s));
    GPUC_TRY(gpuc_ndarray_create(c->w.rt, c->w.dev, GPUC_FLOAT32, 2, dims, &c->own));
    GPUC_TRY(gpuc_ndarray_copy(c->o.ay, c->own));
    GPUC_TRY(gpuc_ndarray_read(c->own, c->y, sizeof c->y));
    gpuc_ticket ticket;
    GPUC_TRY(gpuc_stream_create(c->w.dev, &c->stream));
    GPUC_TRY(gpuc_ndarray_write_on(c->stream, c->own, c->y, sizeof c->y));
    GPUC_TRY(gpuc_ndarray_read_on(c->stream, c->own, c->again, sizeof c->again));
    GPUC_TRY(gpuc_stream_signal(c->stream, &ticket));
    GPUC_TRY(gpuc_ticket_wait(ticket, GPUC_FOREVER));
    assert_memory_equal(c->again, c->y, sizeof c->y);
    return NULL;
}

/* True if the call was reached. */
static bool play_with_failure(int at, bool plain, VkResult error)
{
    bool complete;
    scene c = {0};
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    gpuc_runtime_desc d = GPUC_RUNTIME_DESC_INIT;
    app *a = &c.w.a;
    app_open(a, (app_options){.plain = plain});
    d.allocator = (gpuc_allocator){counting_resize, &c.w.heap};
    d.num_threads = 1;
    ok(gpuc_runtime_create(&d, &c.w.rt));
    app_register(c.w.rt);
    c.w.desc = app_desc(a);
    c.o = (io){.x = app_buffer_make(a, X_BYTES, APP_USAGE),
               .y = app_buffer_make(a, Y_BYTES, APP_USAGE),
               .z = app_buffer_make(a, X_BYTES, APP_USAGE)};
    c.workspace = app_buffer_make(a, 1 << 16, APP_USAGE);
    c.commands = app_begin(a);
    assert_int_equal(a->CreateFence(a->device, &info, NULL, &c.fence), VK_SUCCESS);
    app_counted.fail_at = at;
    app_counted.fail_with = error;
    bool reached = app_failed(play(&c), &complete);
    app_counted.fail_at = 0;
    if (complete) {
        fill(c.o.x.floats, ROWS * IN, 3);
        check(c.o.x.floats, c.y, ROWS);
    }
    gpuc_stream_release(c.stream);
    gpuc_session_release(c.s);
    gpuc_ndarray_release(c.memory);
    gpuc_ndarray_release(c.own);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(i == 0 ? c.o.ax : i == 1 ? c.o.ay : c.o.az);
    gpuc_model_release(c.w.model);
    if (c.w.dev) ok(gpuc_device_close(c.w.dev)); /* what is queued may use the buffers until then */
    c.w.model = NULL;
    c.w.dev = NULL;
    c.o.ax = c.o.ay = c.o.az = NULL;
    free_io(&c.w, &c.o);
    app_buffer_destroy(a, &c.workspace);
    a->QueueWaitIdle(a->queue);
    a->DestroyFence(a->device, c.fence, NULL);
    close_world(&c.w); /* nothing is left of gpuc's: the layer and the allocator tell */
    return reached;
}

static void test_every_call_fails(void **state)
{
    (void)state;
    app_fail_each_call(play_with_failure, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_record),
                                       cmocka_unit_test(test_between_copies),
                                       cmocka_unit_test(test_many_bindings),
                                       cmocka_unit_test(test_record_nodes),
                                       cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_submit),
                                       cmocka_unit_test(test_slices),
                                       cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_set_inputs),
                                       cmocka_unit_test(test_set_between_recordings),
                                       cmocka_unit_test(test_plan),
                                       cmocka_unit_test(test_buffers),
                                       cmocka_unit_test(test_overlap),
                                       cmocka_unit_test(test_adopt_refused),
                                       cmocka_unit_test(test_requirements),
                                       cmocka_unit_test(test_features),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_memory_hook),
                                       cmocka_unit_test(test_allocation_callbacks),
                                       cmocka_unit_test(test_budget),
                                       cmocka_unit_test(test_loss),
                                       cmocka_unit_test(test_workspace),
                                       cmocka_unit_test(test_weight_memory),
                                       cmocka_unit_test(test_pipeline_cache),
                                       cmocka_unit_test(test_every_call_fails)};
    return app_available() ? cmocka_run_group_tests(tests, make_package, remove_package) : 77;
}
