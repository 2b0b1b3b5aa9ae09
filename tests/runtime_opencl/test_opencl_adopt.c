/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cts/cts.h"
#include "interpose.h"
#include "runtime/ndarray.h"

enum { N = CTS_N, BYTES = 4 * N, SKIP = 256, SPACE = 1 << 16 };

/* ---- The application ---- */

typedef struct mode {
    const char *name;
    bool queue, out_of_order, one_queue; /* what is given to gpuc */
} mode;

static const mode modes[] = {{"in order", true, false, false},
                             {"in order, one queue", true, false, true},
                             {"out of order", true, true, false},
                             {"out of order, one queue", true, true, true},
                             {"queues of gpuc's own", false, true, false}};
#define EACH_MODE(m) for (const mode *m = modes; m < modes + sizeof modes / sizeof *modes; m++)

/* The application's objects, of functions without the spy. */
typedef struct app {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cts c;
} app;

static void done(cl_int error)
{
    assert_int_equal(error, CL_SUCCESS);
}

static void make_objects(app *a, const mode *m)
{
    cl_platform_id platform;
    cl_int error;
    *a = (app){0};
    done(cl_real.GetPlatformIDs(1, &platform, NULL));
    done(cl_real.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &a->id, NULL));
    a->context = cl_real.CreateContext(NULL, 1, &a->id, NULL, NULL, &error);
    done(error);
    a->queue = cl_real.CreateCommandQueue(
        a->context, a->id, m->out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &error);
    done(error);
}

static gpuc_opencl_device_desc desc_of(const app *a, const mode *m)
{
    gpuc_opencl_device_desc desc = GPUC_OPENCL_DEVICE_DESC_INIT;
    desc.context = a->context;
    desc.device = a->id;
    desc.queue = m->queue ? a->queue : NULL;
    desc.one_queue = m->one_queue;
    desc.find = cl_find;
    return desc;
}

static gpuc_status try_adopt(app *a, const mode *m)
{
    gpuc_runtime_desc runtime = cl_desc();
    const gpuc_opencl_device_desc desc = desc_of(a, m);
    GPUC_TRY(gpuc_runtime_create(&runtime, &a->c.rt));
    GPUC_TRY(gpuc_cpu_register(a->c.rt));
    GPUC_TRY(gpuc_cl_register_with(a->c.rt, cl_find, NULL));
    GPUC_TRY(gpuc_opencl_adopt(a->c.rt, &desc, &a->c.dev));
    a->c.api = a->c.dev->api;
    return NULL;
}

static void open_app(app *a, const mode *m)
{
    spy = (cl_spy){0};
    make_objects(a, m);
    cl_ok(try_adopt(a, m));
}

static cl_int of_queue(const app *a, cl_uint *out)
{
    return cl_real.GetCommandQueueInfo(a->queue, CL_QUEUE_REFERENCE_COUNT, sizeof *out, out, NULL);
}

static cl_int of_context(const app *a, cl_uint *out)
{
    return cl_real.GetContextInfo(a->context, CL_CONTEXT_REFERENCE_COUNT, sizeof *out, out, NULL);
}

/* Drivers may hold objects until their threads have seen the last command end. */
static void has_one_reference(cl_int (*ask)(const app *a, cl_uint *out), const app *a)
{
    cl_uint count = 0;
    for (int i = 0; i < 1000; i++) {
        done(ask(a, &count));
        if (count == 1) return;
        usleep(1000);
    }
    fail_msg("%u references of %s are left, after a failure of %s (%d)", count,
             ask == of_queue ? "a queue" : "a context", spy.failed ? spy.failed : "nothing", spy.fail_at);
}

static void release_objects(app *a)
{
    done(cl_real.Finish(a->queue));
    has_one_reference(of_queue, a);
    done(cl_real.ReleaseCommandQueue(a->queue));
    has_one_reference(of_context, a);
    done(cl_real.ReleaseContext(a->context));
}

/* The runtime has given back all that it took, and the application's objects are its alone. */
static void close_app(app *a)
{
    cl_ok(gpuc_device_close(a->c.dev));
    cl_close(a->c.rt);
    release_objects(a);
}

static cl_mem buffer(const app *a, cl_mem_flags flags, size_t size)
{
    cl_int error;
    cl_mem mem = cl_real.CreateBuffer(a->context, flags, size, NULL, &error);
    done(error);
    return mem;
}

enum { PICTURE = 16 };

/* NULL: the device has no images. */
static cl_mem picture(const app *a)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = PICTURE, .image_height = PICTURE};
    cl_int error;
    return cl_real.CreateImage(a->context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
}

static cl_mem part_of(cl_mem mem, cl_mem_flags flags, size_t at, size_t size)
{
    cl_int error;
    const cl_buffer_region region = {.origin = at, .size = size};
    __typeof__(&clCreateSubBuffer) create = NULL;
    void *f = cl_find(NULL, "clCreateSubBuffer");
    memcpy(&create, &f, sizeof f);
    cl_mem part = create(mem, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    done(error);
    return part;
}

static gpuc_status wrap(const app *a, cl_mem mem, size_t offset, size_t size, gpuc_ndarray **out)
{
    const int64_t n = N;
    const gpuc_opencl_buffer b = {.mem = mem, .offset = offset, .size = size};
    return gpuc_opencl_wrap_buffer(a->c.dev, &b, GPUC_FLOAT32, 1, &n, out);
}

/* Of an event that gpuc gave, which the spy has counted. */
static void drop_event(cl_event e)
{
    cl_int (*release)(cl_event);
    void *f = cl_find(NULL, "clReleaseEvent");
    memcpy(&release, &f, sizeof f);
    if (e) done(release(e));
}

static void expect(const float *x, const float *y)
{
    float w[N];
    cts_weight(w);
    for (int i = 0; i < N; i++)
        if (y[i] != (x[i] + w[i]) * 2 + 1) fail_msg("item %d: %g", i, y[i]);
}

static void read_y(const app *a, cl_mem mem, size_t at, cl_event after, float *y)
{
    memset(y, 0, BYTES);
    done(cl_real.EnqueueReadBuffer(a->queue, mem, CL_TRUE, at, BYTES, y, after != NULL, after ? &after : NULL,
                                   NULL));
}

/* ---- A network between commands of the application ---- */

/* A session over two buffers of the application: a sub-buffer, and a part of a buffer. */
typedef struct net {
    app *a;
    cl_mem whole, x_mem, y_mem;
    gpuc_ndarray *x, *y;
    gpuc_session *s;
} net;

static void make_net(net *n, app *a, gpuc_model *m)
{
    n->a = a;
    n->whole = buffer(a, CL_MEM_READ_WRITE, 4096 + BYTES);
    n->x_mem = part_of(n->whole, 0, 4096, BYTES);
    n->y_mem = buffer(a, CL_MEM_READ_WRITE, SKIP + BYTES + 16);
    cl_ok(wrap(a, n->x_mem, 0, 0, &n->x));
    cl_ok(wrap(a, n->y_mem, SKIP, BYTES, &n->y));
    cl_ok(gpuc_session_create(m, &n->s));
    cl_ok(gpuc_session_bind_input(n->s, 0, n->x));
    cl_ok(gpuc_session_bind_output(n->s, 0, n->y));
}

static void open_app_net(app *a, net *n, const mode *m)
{
    open_app(a, m);
    gpuc_model *model = cts_load(&a->c, CTS_STATIC, NULL);
    make_net(n, a, model);
    gpuc_model_release(model); /* the session has a reference */
}

static void free_net(net *n)
{
    gpuc_session_release(n->s);
    gpuc_ndarray_release(n->x);
    gpuc_ndarray_release(n->y);
    done(cl_real.ReleaseMemObject(n->x_mem));
    done(cl_real.ReleaseMemObject(n->whole));
    done(cl_real.ReleaseMemObject(n->y_mem));
}

static gpuc_status write_and_submit(net *n, const float *x, cl_event *out)
{
    cl_event written;
    done(cl_real.EnqueueWriteBuffer(n->a->queue, n->x_mem, CL_FALSE, 0, BYTES, x, 0, NULL, &written));
    done(cl_real.Flush(n->a->queue));
    gpuc_status status = gpuc_opencl_submit(n->s, 1, &written, out);
    cl_real.WaitForEvents(1, &written); /* x may go */
    done(cl_real.ReleaseEvent(written));
    return status;
}

static void runs_between_commands_of_the_application(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float x[N], y[N];
        app a;
        net n;
        open_app(&a, m);
        assert_true(a.c.dev->index >= GPUC_ADOPTED_FIRST);
        gpuc_model *model = cts_load(&a.c, CTS_STATIC, NULL);
        assert_ptr_equal(gpuc_model_device(model), a.c.dev);
        make_net(&n, &a, model);
        gpuc_model_release(model);
        for (uint32_t r = 0; r < 4; r++) {
            cl_event end;
            cts_fill(x, N, r);
            cl_ok(write_and_submit(&n, x, &end));
            read_y(&a, n.y_mem, SKIP, end, y);
            drop_event(end);
            expect(x, y);
        }
        /* The queue's own order is enough on one that has an order. */
        if (m->queue && !m->out_of_order) {
            cts_fill(x, N, 9);
            done(cl_real.EnqueueWriteBuffer(a.queue, n.x_mem, CL_FALSE, 0, BYTES, x, 0, NULL, NULL));
            cl_ok(gpuc_session_run(n.s));
            read_y(&a, n.y_mem, SKIP, NULL, y);
            expect(x, y);
        }
        cl_ok(gpuc_ndarray_read(n.y, y, BYTES));
        expect(x, y);
        free_net(&n);
        close_app(&a);
    }
}

/* Slices come after what they wait for, and what the application queues after them finds the outputs. */
static void slices_between_commands_of_the_application(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float x[N], y[N];
        app a;
        net n;
        open_app_net(&a, &n, m);
        bool ordered = m->queue && !m->out_of_order;
        for (uint32_t r = 0; r < 6; r++) {
            cl_event written, end = NULL;
            gpuc_slice_progress p = {0};
            int slices = 0;
            cts_fill(x, N, r);
            done(cl_real.EnqueueWriteBuffer(a.queue, n.x_mem, CL_FALSE, 0, BYTES, x, 0, NULL, &written));
            done(cl_real.Flush(a.queue));
            if (!ordered) cl_ok(gpuc_opencl_wait(a.c.dev, NULL, 1, &written));
            for (; !p.complete; slices++) {
                cl_ok(gpuc_session_run_slice(n.s, r % 2 ? 0 : 100, &p));
                if (r % 3 == 0) cl_ok(gpuc_session_sync(n.s));
            }
            if (r % 2) assert_true(slices >= 2);
            if (!ordered) cl_ok(gpuc_opencl_signal(a.c.dev, NULL, &end));
            read_y(&a, n.y_mem, SKIP, end, y);
            drop_event(end);
            done(cl_real.ReleaseEvent(written));
            expect(x, y);
            cl_ok(gpuc_session_run_slice(n.s, 0, NULL)); /* of another, which the next write ends */
            cl_ok(gpuc_session_sync(n.s));
            cl_ok(gpuc_session_bind_input(n.s, 0, n.x));
        }
        cl_ok(gpuc_session_run_slice(n.s, 0, NULL));
        cl_fails(gpuc_device_close(a.c.dev), GPUC_INVALID_ARGUMENT, "release them first");
        free_net(&n); /* its slice in flight */
        close_app(&a);
    }
}

static cl_event user_event(const app *a)
{
    cl_int error;
    cl_event e = cl_real.CreateUserEvent(a->context, &error);
    done(error);
    return e;
}

static cl_int state_of(cl_event e)
{
    cl_int state;
    done(cl_real.GetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state;
}

static void an_event_holds_the_work_back(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float x[N], y[N];
        app a;
        net n;
        open_app_net(&a, &n, m);
        cts_fill(x, N, 3);
        cl_ok(gpuc_ndarray_write(n.x, x, BYTES));
        cl_event gate = user_event(&a), end[2];
        cl_ok(gpuc_opencl_submit(n.s, 1, &gate, &end[0]));
        cl_ok(gpuc_opencl_submit(n.s, 0, NULL, &end[1])); /* behind the first */
        usleep(20000);
        for (int i = 0; i < 2; i++) assert_true(state_of(end[i]) > CL_COMPLETE);
        done(cl_real.SetUserEventStatus(gate, CL_COMPLETE));
        done(cl_real.WaitForEvents(2, end));
        read_y(&a, n.y_mem, SKIP, end[0], y);
        expect(x, y);
        for (int i = 0; i < 2; i++) drop_event(end[i]);
        done(cl_real.ReleaseEvent(gate));
        free_net(&n);
        close_app(&a);
    }
}

/* Work that waited for it fails; what comes after does not. The spy plays the failure: pocl 3.1 aborts the process where
 * an event fails that commands wait for. */
static void an_event_that_fails(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float x[N], y[N];
        app a;
        net n;
        open_app_net(&a, &n, m);
        cts_fill(x, N, 4);
        cl_ok(gpuc_ndarray_write(n.x, x, BYTES));
        cl_ok(gpuc_opencl_submit(n.s, 0, NULL, NULL));
        cl_ok(gpuc_session_sync(n.s));
        cl_event gate = user_event(&a), end;
        cl_ok(gpuc_opencl_submit(n.s, 0, NULL, NULL));
        spy.event_state = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        cl_fails(gpuc_session_sync(n.s), GPUC_DEVICE_LOST, "or an event that they wait for did");
        spy.event_state = 0;
        done(cl_real.SetUserEventStatus(gate, -7));
        cl_fails(gpuc_opencl_submit(n.s, 1, &gate, &end), GPUC_INVALID_ARGUMENT, "event 0: it has failed");
        assert_null(end);
        done(cl_real.ReleaseEvent(gate));
        cl_ok(write_and_submit(&n, x, &end));
        read_y(&a, n.y_mem, SKIP, end, y);
        drop_event(end);
        expect(x, y);
        free_net(&n);
        close_app(&a);
    }
}

static void events_around_streams(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float x[N], y[N];
        app a;
        gpuc_stream *s;
        gpuc_ndarray *from, *to;
        open_app(&a, m);
        cl_ok(gpuc_stream_create(a.c.dev, &s));
        cl_mem mem[2] = {buffer(&a, CL_MEM_READ_WRITE, BYTES), buffer(&a, CL_MEM_READ_WRITE, BYTES)};
        cl_ok(wrap(&a, mem[0], 0, 0, &from));
        cl_ok(wrap(&a, mem[1], 0, 0, &to));
        cts_fill(x, N, 5);
        cl_event gate = user_event(&a), end;
        cl_ok(gpuc_opencl_wait(a.c.dev, s, 1, &gate));
        cl_ok(gpuc_ndarray_write_on(s, from, x, BYTES));
        cl_ok(gpuc_ndarray_read_on(s, from, y, BYTES));
        cl_ok(gpuc_opencl_signal(a.c.dev, s, &end));
        assert_true(state_of(end) > CL_COMPLETE);
        done(cl_real.SetUserEventStatus(gate, CL_COMPLETE));
        done(cl_real.WaitForEvents(1, &end));
        assert_memory_equal(x, y, BYTES);
        drop_event(end);
        done(cl_real.ReleaseEvent(gate));
        cl_ok(gpuc_ndarray_copy(from, to));
        memset(y, 0, BYTES);
        cl_ok(gpuc_ndarray_read(to, y, BYTES));
        assert_memory_equal(x, y, BYTES);
        cl_ok(gpuc_opencl_signal(a.c.dev, NULL, &end)); /* of nothing */
        done(cl_real.WaitForEvents(1, &end));
        drop_event(end);
        gpuc_stream_release(s);
        gpuc_ndarray_release(from);
        gpuc_ndarray_release(to);
        for (int i = 0; i < 2; i++) done(cl_real.ReleaseMemObject(mem[i]));
        close_app(&a);
    }
}

static void *complete_soon(void *event)
{
    usleep(20000);
    done(cl_real.SetUserEventStatus(event, CL_COMPLETE));
    return NULL;
}

/* Sizes that the program computes, and operators on the CPU: the call waits for the event. */
static void models_that_need_the_host(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        app a;
        open_app(&a, m);
        for (int computed = 0; computed < 2; computed++) {
            float x[N], w[N], y[N];
            pthread_t thread;
            gpuc_session *s;
            gpuc_ndarray *in, *out;
            gpuc_model *model = cts_load(&a.c, computed ? CTS_COMPUTED : CTS_FALLBACK, NULL);
            assert_int_equal(gpuc_model_uses_fallback(model), !computed);
            cl_ok(gpuc_session_create(model, &s));
            assert_ptr_equal(gpuc_session_model(s), model);
            cts_fill(x, N, 6);
            cts_weight(w);
            in = cts_array(&a.c, a.c.dev, x, N);
            cl_ok(gpuc_session_bind_input(s, 0, in));
            if (computed) {
                const int64_t count = N / 2, one = 1;
                gpuc_ndarray *n;
                cl_ok(gpuc_ndarray_create(a.c.rt, NULL, GPUC_INT64, 1, &one, &n));
                cl_ok(gpuc_ndarray_write(n, &count, sizeof count));
                cl_ok(gpuc_session_set_input(s, 1, n));
                gpuc_ndarray_release(n);
            }
            cl_event gate = user_event(&a), end;
            assert_int_equal(pthread_create(&thread, NULL, complete_soon, gate), 0);
            cl_ok(gpuc_opencl_submit(s, 1, &gate, &end));
            pthread_join(thread, NULL);
            done(cl_real.WaitForEvents(1, &end));
            drop_event(end);
            done(cl_real.ReleaseEvent(gate));
            cl_ok(gpuc_session_get_output(s, 0, &out));
            size_t n = gpuc_ndarray_bytes(out) / 4;
            assert_int_equal(n, computed ? N / 2 : N);
            cl_ok(gpuc_ndarray_read(out, y, 4 * n));
            for (size_t i = 0; i < n; i++)
                assert_true(y[i] == (computed ? 0.5f * (2 * x[i] + 1) + 1 : 3 * (x[i] + w[i]) + 1 + w[i]));
            gpuc_session_release(s);
            gpuc_model_release(model);
            gpuc_ndarray_release(in);
        }
        close_app(&a);
    }
}

/* ---- What is refused ---- */

static void adopting_what_does_not_fit(void **state)
{
    (void)state;
    app a, other;
    gpuc_device *dev;
    gpuc_runtime *bare;
    gpuc_opencl_device_desc d;
    open_app(&a, &modes[0]);
    make_objects(&other, &modes[0]);
#define REFUSE(code, text) cl_fails(gpuc_opencl_adopt(a.c.rt, &d, &dev), GPUC_##code, text)
#define BAD(field, value, text)                                                                              \
    d = desc_of(&a, &modes[0]);                                                                              \
    d.field = (value);                                                                                       \
    REFUSE(INVALID_ARGUMENT, text);                                                                          \
    assert_null(dev)
    BAD(struct_size, 4, "start from GPUC_OPENCL_DEVICE_DESC_INIT");
    BAD(context, NULL, "gpuc_opencl_device_desc.context is NULL");
    BAD(device, NULL, "gpuc_opencl_device_desc.device is NULL");
    BAD(device, (cl_device_id)&a, "is none of the 1 devices of gpuc_opencl_device_desc.context");
    BAD(queue, other.queue, "queue is of another context");
    d = desc_of(&a, &modes[1]);
    d.queue = NULL;
    REFUSE(INVALID_ARGUMENT, "one_queue is set, but there is no queue");
    struct {
        gpuc_opencl_device_desc d;
        int more;
    } newer = {.d = desc_of(&a, &modes[0]), .more = 1};
    newer.d.struct_size = sizeof newer;
    cl_fails(gpuc_opencl_adopt(a.c.rt, &newer.d, &dev), GPUC_UNSUPPORTED, "a field at byte");
    cl_fails(gpuc_opencl_adopt(NULL, &d, &dev), GPUC_INVALID_ARGUMENT, "'rt' is NULL");
    cl_fails(gpuc_opencl_adopt(a.c.rt, NULL, &dev), GPUC_INVALID_ARGUMENT, "'desc' is NULL");
    cl_fails(gpuc_opencl_adopt(a.c.rt, &d, NULL), GPUC_INVALID_ARGUMENT, "'out' is NULL");

    static const struct {
        const char *call;
        cl_int error;
        const char *text;
    } unknown[] = {{"clGetContextInfo", CL_INVALID_CONTEXT, "context is not known to this OpenCL"},
                   {"clGetCommandQueueInfo", CL_INVALID_COMMAND_QUEUE, "queue is not known to this OpenCL"}};
    d = desc_of(&a, &modes[0]);
    for (int i = 0; i < 2; i++) {
        spy.fail_name = unknown[i].call;
        spy.error = unknown[i].error;
        REFUSE(INVALID_ARGUMENT, unknown[i].text);
    }
    spy.fail_name = NULL;
    spy.version = "OpenCL 1.1 ancient";
    REFUSE(DEVICE_UNAVAILABLE, "OpenCL 1.2 is needed");
    spy.version = NULL;
    spy.missing = "clRetainContext";
    REFUSE(DEVICE_UNAVAILABLE, "lacks clRetainContext");
    spy.missing = NULL;

    gpuc_runtime_desc runtime = cl_desc();
    cl_ok(gpuc_runtime_create(&runtime, &bare));
    cl_fails(gpuc_opencl_adopt(bare, &d, &dev), GPUC_DEVICE_UNAVAILABLE, "gpuc_opencl_register");
    gpuc_runtime_release(bare);
    cl_ok(gpuc_opencl_adopt(a.c.rt, &d, &dev)); /* once more: another device */
    assert_ptr_not_equal(dev, a.c.dev);
    cl_ok(gpuc_device_close(dev));
    release_objects(&other);
    close_app(&a);
}

static void memory_that_does_not_fit(void **state)
{
    (void)state;
    app a, other;
    gpuc_ndarray *x;
    open_app(&a, &modes[0]);
    make_objects(&other, &modes[0]);
    cl_mem mem = buffer(&a, CL_MEM_READ_WRITE, BYTES + 8), foreign = buffer(&other, CL_MEM_READ_WRITE, BYTES);
    cl_mem image = picture(&a);
    const struct {
        cl_mem mem;
        size_t offset, size;
        const char *text;
    } rows[] = {{NULL, 0, 0, "is NULL"},
                {foreign, 0, 0, "it is of another context than opencl:1024"},
                {mem, BYTES + 9, 0, "bytes at 4009: it has 4008"},
                {mem, 8, BYTES + 4, "4004 bytes at 8: it has 4008"},
                {mem, 12, 0, "an array of 4000 bytes does not fit the 3996 bytes"},
                {mem, 0, BYTES - 4, "does not fit the 3996 bytes"},
                {mem, 2, 0, "offset 2 is no multiple of the 4 bytes"},
                {image, 0, 0, "it is an image"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].mem && i) continue; /* a device without images */
        cl_fails(wrap(&a, rows[i].mem, rows[i].offset, rows[i].size, &x), GPUC_INVALID_ARGUMENT,
                 rows[i].text);
        assert_null(x);
    }
    spy.fail_name = "clGetMemObjectInfo";
    spy.error = CL_INVALID_MEM_OBJECT;
    cl_fails(wrap(&a, mem, 0, 0, &x), GPUC_INVALID_ARGUMENT, "no memory object of the device's OpenCL");
    spy.fail_name = NULL;

    gpuc_device *cpu;
    gpuc_opencl_buffer b = {.mem = mem};
    void *at;
    const int64_t n = N;
    cl_ok(gpuc_device_open(a.c.rt, GPUC_DEVICE_CPU, 0, &cpu));
    cl_fails(gpuc_opencl_wrap_buffer(cpu, &b, GPUC_FLOAT32, 1, &n, &x), GPUC_INVALID_ARGUMENT, "is on cpu:0");
    gpuc_ndarray *host = cts_array(&a.c, NULL, NULL, N);
    cl_fails(gpuc_opencl_get_buffer(host, &b), GPUC_INVALID_ARGUMENT, "not on an OpenCL device");
    assert_null(b.mem);
    cl_fails(gpuc_opencl_map(host, &at), GPUC_INVALID_ARGUMENT, "not on an OpenCL device");
    gpuc_ndarray_release(host);
    done(cl_real.ReleaseMemObject(mem));
    done(cl_real.ReleaseMemObject(foreign));
    if (image) done(cl_real.ReleaseMemObject(image));
    release_objects(&other);
    close_app(&a);
}

static void flags_say_what_is_allowed(void **state)
{
    (void)state;
    float x[N], y[N];
    app a;
    net n;
    gpuc_ndarray *w;
    void *at;
    open_app_net(&a, &n, &modes[0]);
    cts_fill(x, N, 1);
    cl_ok(gpuc_ndarray_write(n.x, x, BYTES));
    const struct {
        cl_mem_flags flags;
        const char *as_input, *as_output, *read, *write;
    } rows[] = {{CL_MEM_READ_ONLY, NULL, "made with CL_MEM_READ_ONLY", NULL, NULL},
                {CL_MEM_WRITE_ONLY, "made with CL_MEM_WRITE_ONLY", NULL, NULL, NULL},
                {CL_MEM_HOST_READ_ONLY, NULL, NULL, NULL, "CL_MEM_HOST_READ_ONLY"},
                {CL_MEM_HOST_WRITE_ONLY, NULL, NULL, "CL_MEM_HOST_WRITE_ONLY", NULL},
                {CL_MEM_HOST_NO_ACCESS, NULL, NULL, "CL_MEM_HOST_NO_ACCESS", "CL_MEM_HOST_NO_ACCESS"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cl_mem mem = buffer(&a, rows[i].flags, BYTES);
        cl_ok(wrap(&a, mem, 0, 0, &w));
#define TRY(call, text)                                                                                      \
    do {                                                                                                     \
        if (text)                                                                                            \
            cl_fails(call, GPUC_INVALID_ARGUMENT, text);                                                     \
        else                                                                                                 \
            cl_ok(call);                                                                                     \
    } while (0)
        TRY(gpuc_ndarray_write(w, x, BYTES), rows[i].write);
        TRY(gpuc_ndarray_read(w, y, BYTES), rows[i].read);
        cl_ok(gpuc_ndarray_copy(n.x, w)); /* on the device that is no access of the host */
        cl_ok(gpuc_session_bind_input(n.s, 0, w));
        TRY(gpuc_session_run(n.s), rows[i].as_input);
        cl_ok(gpuc_session_bind_input(n.s, 0, n.x));
        cl_ok(gpuc_session_bind_output(n.s, 0, w));
        TRY(gpuc_session_run(n.s), rows[i].as_output);
        cl_ok(gpuc_session_bind_output(n.s, 0, n.y));
        TRY(gpuc_opencl_map(w, &at), rows[i].read && rows[i].write ? rows[i].read : NULL);
        cl_ok(gpuc_session_sync(n.s));
        gpuc_ndarray_release(w); /* mapped or not */
        done(cl_real.ReleaseMemObject(mem));
    }
    free_net(&n);
    close_app(&a);
}

static void memory_is_bound_once(void **state)
{
    (void)state;
    app a;
    net n;
    gpuc_ndarray *parts[3], *own;
    gpuc_opencl_buffer b;
    open_app_net(&a, &n, &modes[0]);
    cl_mem half = part_of(n.whole, 0, 4096 - 1024, BYTES + 1024), apart = part_of(n.whole, 0, 0, 4096);
    cl_ok(wrap(&a, half, 0, 0, &parts[0]));
    cl_ok(wrap(&a, n.whole, 4096 + BYTES - BYTES, BYTES, &parts[1]));
    cl_ok(wrap(&a, apart, 0, BYTES, &parts[2]));
    for (int i = 0; i < 3; i++) {
        cl_ok(gpuc_session_bind_output(n.s, 0, parts[i]));
        TRY(gpuc_session_run(n.s), i < 2 ? "shares memory with that of input 'x'" : NULL);
    }
    /* gpuc's own memory, which comes back as the application's. */
    own = cts_array(&a.c, a.c.dev, NULL, 2 * N);
    cl_ok(gpuc_opencl_get_buffer(own, &b));
    assert_int_equal(b.size, 2 * BYTES);
    gpuc_ndarray_release(own);
    own = cts_array(&a.c, a.c.dev, NULL, N);
    cl_ok(gpuc_opencl_get_buffer(own, &b));
    cl_ok(gpuc_session_bind_input(n.s, 0, own));
    gpuc_ndarray_release(parts[0]);
    cl_ok(wrap(&a, b.mem, b.offset, b.size, &parts[0]));
    cl_ok(gpuc_session_bind_output(n.s, 0, parts[0]));
    cl_fails(gpuc_session_run(n.s), GPUC_INVALID_ARGUMENT, "shares memory");
    gpuc_ndarray_release(own);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(parts[i]);
    done(cl_real.ReleaseMemObject(half));
    done(cl_real.ReleaseMemObject(apart));
    free_net(&n);
    close_app(&a);
}

static void bad_events(void **state)
{
    (void)state;
    app a, other;
    net n;
    gpuc_device *cpu;
    cl_event none = NULL, end, foreign;
    open_app_net(&a, &n, &modes[0]);
    make_objects(&other, &modes[0]);
    foreign = user_event(&other);
    cl_fails(gpuc_opencl_submit(n.s, 1, &none, &end), GPUC_INVALID_ARGUMENT, "event 0: it is NULL");
    cl_fails(gpuc_opencl_submit(n.s, 1, &foreign, &end), GPUC_INVALID_ARGUMENT, "it is of another context");
    cl_fails(gpuc_opencl_submit(n.s, 1, NULL, &end), GPUC_INVALID_ARGUMENT, "'events' is NULL");
    cl_fails(gpuc_opencl_submit(NULL, 0, NULL, &end), GPUC_INVALID_ARGUMENT, "'session' is NULL");
    cl_ok(gpuc_device_open(a.c.rt, GPUC_DEVICE_CPU, 0, &cpu));
    cl_fails(gpuc_opencl_signal(cpu, NULL, &end), GPUC_INVALID_ARGUMENT, "is on cpu:0");
    cl_fails(gpuc_opencl_wait(cpu, NULL, 0, NULL), GPUC_INVALID_ARGUMENT, "is on cpu:0");
    done(cl_real.ReleaseEvent(foreign));
    free_net(&n);
    release_objects(&other);
    close_app(&a);
}

/* ---- Memory of the host ---- */

static void the_host_and_the_device_take_turns(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float *x = aligned_alloc(4096, 4096), *y = aligned_alloc(4096, 4096);
        const int64_t dim = N;
        app a;
        gpuc_session *s;
        gpuc_ndarray *in, *out, *bad;
        void *at;
        open_app(&a, m);
        gpuc_model *model = cts_load(&a.c, CTS_STATIC, NULL);
        cl_ok(gpuc_session_create(model, &s));
        gpuc_model_release(model);
        cts_fill(x, N, 1);
        cl_ok(gpuc_opencl_wrap_host(a.c.dev, x, 4096, GPUC_FLOAT32, 1, &dim, &in));
        cl_ok(gpuc_opencl_wrap_host(a.c.dev, y, 4096, GPUC_FLOAT32, 1, &dim, &out));
        cl_ok(gpuc_session_bind_input(s, 0, in));
        cl_ok(gpuc_session_bind_output(s, 0, out));
        for (uint32_t r = 2; r < 5; r++) {
            cl_ok(gpuc_session_run(s));
            cl_ok(gpuc_opencl_map(out, &at));
            assert_ptr_equal(at, y);
            expect(x, y);
            cl_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "gpuc_opencl_unmap gives it back");
            cl_fails(gpuc_ndarray_write(out, x, BYTES), GPUC_INVALID_ARGUMENT, "gpuc_opencl_unmap");
            cl_fails(gpuc_opencl_map(out, &at), GPUC_INVALID_ARGUMENT, "gpuc_opencl_unmap");
            cl_ok(gpuc_opencl_unmap(out));
            cl_fails(gpuc_opencl_unmap(out), GPUC_INVALID_ARGUMENT, "is not mapped");
            cl_ok(gpuc_opencl_map(in, &at));
            cts_fill(at, N, r);
            cl_ok(gpuc_opencl_unmap(in));
        }
        gpuc_ndarray *own = cts_array(&a.c, a.c.dev, x, N); /* as any array of the device */
        cl_ok(gpuc_opencl_map(own, &at));
        assert_memory_equal(at, x, BYTES);
        gpuc_ndarray_release(own);

        cl_fails(gpuc_opencl_wrap_host(a.c.dev, (char *)x + 4, 4000, GPUC_FLOAT32, 1, &dim, &bad),
                 GPUC_INVALID_ARGUMENT, "allocate it with aligned_alloc");
        cl_fails(gpuc_opencl_wrap_host(a.c.dev, x, 3999, GPUC_FLOAT32, 1, &dim, &bad), GPUC_INVALID_ARGUMENT,
                 "does not fit the 3999 bytes");
        cl_fails(gpuc_opencl_wrap_host(a.c.dev, NULL, 4000, GPUC_FLOAT32, 1, &dim, &bad),
                 GPUC_INVALID_ARGUMENT, "'host' is NULL");
        cl_ok(gpuc_opencl_wrap_host(a.c.dev, x, 4096, GPUC_FLOAT32, 1, &dim, &bad));
        cl_ok(gpuc_session_bind_output(s, 0, bad));
        cl_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "shares memory");
        gpuc_ndarray_release(bad);
        gpuc_session_release(s);
        gpuc_ndarray_release(in);
        gpuc_ndarray_release(out);
        close_app(&a);
        free(x);
        free(y);
    }
    app a;
    gpuc_ndarray *none;
    const int64_t one = 1;
    spy = (cl_spy){.discrete = true};
    make_objects(&a, &modes[0]);
    cl_ok(try_adopt(&a, &modes[0]));
    cl_fails(gpuc_opencl_wrap_host(a.c.dev, &a, 4, GPUC_FLOAT32, 1, &one, &none), GPUC_UNSUPPORTED,
             "has memory of its own");
    close_app(&a);
}

/* ---- Lifetimes and threads ---- */

static void things_go_in_any_order(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        float x[N], y[N];
        app a;
        net n;
        open_app(&a, m);
        gpuc_model *model = cts_load(&a.c, CTS_STATIC, NULL);
        make_net(&n, &a, model);
        cts_fill(x, N, 2);
        /* The application gives up everything first; gpuc has references. */
        done(cl_real.ReleaseMemObject(n.x_mem));
        done(cl_real.ReleaseMemObject(n.whole));
        done(cl_real.ReleaseMemObject(n.y_mem));
        done(cl_real.ReleaseCommandQueue(a.queue));
        done(cl_real.ReleaseContext(a.context));
        cl_ok(gpuc_ndarray_write(n.x, x, BYTES));
        cl_ok(gpuc_session_run(n.s));
        cl_ok(gpuc_ndarray_read(n.y, y, BYTES));
        expect(x, y);
        cl_fails(gpuc_device_close(a.c.dev), GPUC_INVALID_ARGUMENT, "release them first");
        cl_ok(gpuc_session_run(n.s));
        gpuc_ndarray_release(n.x); /* the session holds them */
        gpuc_ndarray_release(n.y);
        gpuc_runtime_release(a.c.rt); /* what is held keeps it */
        gpuc_model_release(model);
        gpuc_session_release(n.s);
        assert_int_equal(spy.objects, 0);
        assert_int_equal(cl_live_bytes, 0);
    }
}

static void a_new_device_after_a_failure(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        app a;
        net n;
        open_app_net(&a, &n, m);
        spy.fail_name = "clEnqueueNDRangeKernel";
        spy.error = CL_OUT_OF_RESOURCES;
        cl_fails(gpuc_session_run(n.s), GPUC_OUT_OF_DEVICE_MEMORY, "clEnqueueNDRangeKernel");
        spy.fail_name = NULL;
        free_net(&n);
        cl_ok(gpuc_device_close(a.c.dev));
        const gpuc_opencl_device_desc d = desc_of(&a, m);
        cl_ok(gpuc_opencl_adopt(a.c.rt, &d, &a.c.dev));
        assert_int_equal(a.c.dev->index, GPUC_ADOPTED_FIRST);
        close_app(&a);
    }
}

typedef struct worker {
    pthread_t thread;
    net n;
    uint32_t seed;
    bool good;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    float x[N], y[N], weight[N];
    cts_weight(weight);
    w->good = true;
    for (uint32_t r = 0; r < 40 && w->good; r++) {
        cl_event end;
        cts_fill(x, N, w->seed + r);
        gpuc_status status = write_and_submit(&w->n, x, &end);
        w->good = !status;
        gpuc_status_release(status);
        if (!w->good) break;
        w->good = cl_real.EnqueueReadBuffer(w->n.a->queue, w->n.y_mem, CL_TRUE, SKIP, BYTES, y, 1, &end,
                                            NULL) == CL_SUCCESS;
        drop_event(end);
        for (int i = 0; i < N; i++) w->good = w->good && y[i] == (x[i] + weight[i]) * 2 + 1;
    }
    return NULL;
}

static void two_sessions_on_two_threads(void **state)
{
    (void)state;
    EACH_MODE(m)
    {
        app a;
        worker w[2];
        open_app(&a, m);
        gpuc_model *model = cts_load(&a.c, CTS_STATIC, NULL);
        for (int i = 0; i < 2; i++) {
            w[i].seed = 1000 * (uint32_t)i;
            make_net(&w[i].n, &a, model);
            assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(w[i].thread, NULL);
            assert_true(w[i].good);
            free_net(&w[i].n);
        }
        gpuc_model_release(model);
        close_app(&a);
    }
}

/* ---- Every call fails once ---- */

typedef struct scenario {
    app a;
    cl_mem mem[3], image; /* the third is for the workspace */
    float *host;
    gpuc_model *model;
    gpuc_session *s;
    gpuc_ndarray *x, *y, *memory, *workspace, *wrapped, *own[2];
    gpuc_stream *stream;
    cl_event events[3];
} scenario;

/* An image of the application's, and copies between two of gpuc's. */
static gpuc_status play_images(scenario *s)
{
    const int64_t dims[] = {PICTURE, PICTURE, 4};
    static uint8_t texels[PICTURE * PICTURE * 4], back[sizeof texels];
    if (!s->image) return NULL;
    for (size_t i = 0; i < sizeof texels; i++) texels[i] = (uint8_t)(i * 7 % 251);
    GPUC_TRY(gpuc_opencl_wrap_image(s->a.c.dev, s->image, &s->wrapped));
    for (int i = 0; i < 2; i++)
        GPUC_TRY(gpuc_ndarray_create_image(s->a.c.dev, GPUC_UINT8, 3, dims, &s->own[i]));
    GPUC_TRY(gpuc_ndarray_write(s->own[0], texels, sizeof texels));
    GPUC_TRY(gpuc_ndarray_copy(s->own[0], s->own[1]));
    GPUC_TRY(gpuc_ndarray_read(s->own[1], back, sizeof back));
    assert_memory_equal(texels, back, sizeof back);
    return NULL;
}

/* A run, then another in memory of the application. */
static gpuc_status play_runs(scenario *s)
{
    const gpuc_opencl_buffer space = {.mem = s->mem[2]};
    const int64_t size = SPACE;
    GPUC_TRY(gpuc_session_run(s->s));
    GPUC_TRY(gpuc_session_sync(s->s));
    GPUC_TRY(gpuc_opencl_wrap_buffer(s->a.c.dev, &space, GPUC_UINT8, 1, &size, &s->workspace));
    return gpuc_session_bind_workspace(s->s, s->workspace);
}

/* Touches every kind of call of an adopted device. */
static gpuc_status play(scenario *s, const mode *m, const char *package, float *y)
{
    const int64_t dim = N, *all[] = {&dim};
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    void *at;
    GPUC_TRY(try_adopt(&s->a, m));
    desc.path = package;
    desc.device = s->a.c.dev;
    GPUC_TRY(gpuc_model_load(s->a.c.rt, &desc, &s->model));
    GPUC_TRY(gpuc_session_create(s->model, &s->s));
    GPUC_TRY(gpuc_session_plan(s->s, all));
    GPUC_TRY(wrap(&s->a, s->mem[0], 0, 0, &s->x));
    GPUC_TRY(wrap(&s->a, s->mem[1], 0, 0, &s->y));
    GPUC_TRY(gpuc_opencl_wrap_host(s->a.c.dev, s->host, 4096, GPUC_FLOAT32, 1, &dim, &s->memory));
    GPUC_TRY(gpuc_opencl_map(s->memory, &at));
    cts_fill(at, N, 8);
    GPUC_TRY(gpuc_opencl_unmap(s->memory));
    GPUC_TRY(gpuc_stream_create(s->a.c.dev, &s->stream));
    GPUC_TRY(gpuc_opencl_wait(s->a.c.dev, s->stream, 1, &s->events[0]));
    GPUC_TRY(gpuc_opencl_signal(s->a.c.dev, s->stream, &s->events[1]));
    GPUC_TRY(gpuc_ndarray_write(s->x, s->host, BYTES));
    GPUC_TRY(gpuc_ndarray_copy(s->memory, s->x));
    GPUC_TRY(gpuc_session_bind_input(s->s, 0, s->x));
    GPUC_TRY(gpuc_session_bind_output(s->s, 0, s->y));
    GPUC_TRY(play_runs(s));
    GPUC_TRY(gpuc_opencl_submit(s->s, 1, &s->events[0], &s->events[2]));
    GPUC_TRY(gpuc_session_sync(s->s));
    for (int i = 0; i < 3; i++) {
        GPUC_TRY(gpuc_session_run_slice(s->s, i < 2 ? 0 : UINT32_MAX, NULL));
        GPUC_TRY(gpuc_session_sync(s->s));
    }
    GPUC_TRY(play_images(s));
    return gpuc_ndarray_read(s->y, y, BYTES);
}

static void clean_up(scenario *s)
{
    for (int i = 1; i < 3; i++) drop_event(s->events[i]);
    gpuc_stream_release(s->stream);
    gpuc_session_release(s->s);
    gpuc_model_release(s->model);
    gpuc_ndarray_release(s->x);
    gpuc_ndarray_release(s->y);
    gpuc_ndarray_release(s->memory);
    gpuc_ndarray_release(s->workspace);
    gpuc_ndarray_release(s->wrapped);
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(s->own[i]);
    cl_close(s->a.c.rt);
    done(cl_real.ReleaseEvent(s->events[0]));
    for (int i = 0; i < 3; i++) done(cl_real.ReleaseMemObject(s->mem[i]));
    if (s->image) done(cl_real.ReleaseMemObject(s->image));
    release_objects(&s->a);
    free(s->host);
}

/* True if the call was reached. */
static bool fail_at(int at, const mode *m, const char *package)
{
    scenario s = {.host = aligned_alloc(4096, 4096)};
    float y[N];
    spy = (cl_spy){.fail_at = at};
    make_objects(&s.a, m);
    for (int i = 0; i < 3; i++) s.mem[i] = buffer(&s.a, CL_MEM_READ_WRITE, i < 2 ? BYTES : SPACE);
    s.image = picture(&s.a);
    s.events[0] = user_event(&s.a);
    done(cl_real.SetUserEventStatus(s.events[0], CL_COMPLETE));
    cts_fill(s.host, N, 7);
    gpuc_status status = play(&s, m, package, y);
    bool reached = spy.failed != NULL;
    if (reached && !status) fail_msg("%s: the failure of %s (call %d) was lost", m->name, spy.failed, at);
    /* A chained command takes its event, and is waited for, as part of one call. */
    bool part = reached && (!strcmp(spy.failed, "clRetainEvent") || !strcmp(spy.failed, "clWaitForEvents"));
    if (reached && !part && !strstr(gpuc_status_message(status), spy.failed))
        fail_msg("%s: %s failed, but the message is: %s", m->name, spy.failed, gpuc_status_message(status));
    if (!reached) {
        cl_ok(status);
        expect(s.host, y);
    }
    if (reached) gpuc_status_release(status);
    clean_up(&s);
    return reached;
}

static void every_call_may_fail(void **state)
{
    (void)state;
    const char *package = cts_package(CTS_STATIC, NULL);
    EACH_MODE(m)
    {
        int at = 1;
        while (fail_at(at, m, package)) at++;
        assert_true(at > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_between_commands_of_the_application),
        cmocka_unit_test(slices_between_commands_of_the_application),
        cmocka_unit_test(an_event_holds_the_work_back),
        cmocka_unit_test(an_event_that_fails),
        cmocka_unit_test(events_around_streams),
        cmocka_unit_test(models_that_need_the_host),
        cmocka_unit_test(adopting_what_does_not_fit),
        cmocka_unit_test(memory_that_does_not_fit),
        cmocka_unit_test(flags_say_what_is_allowed),
        cmocka_unit_test(memory_is_bound_once),
        cmocka_unit_test(bad_events),
        cmocka_unit_test(the_host_and_the_device_take_turns),
        cmocka_unit_test(things_go_in_any_order),
        cmocka_unit_test(a_new_device_after_a_failure),
        cmocka_unit_test(two_sessions_on_two_threads),
        cmocka_unit_test(every_call_may_fail),
    };
    char *args[] = {"test_opencl_adopt", "opencl_adopted"};
    if (!cl_available() || !cts_available(2, args)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cts_cleanup();
    return failed;
}
