/* SPDX-License-Identifier: Apache-2.0 */
/* Launches without plans: streams are open batches, tickets tell when they are done. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cts.h"

enum { N = 1000 };

typedef struct bench {
    cts c;
    gpuc_code_module *module;
    gpuc_buffer *b[4];
    float x[N];
} bench;

static void set_up(bench *t)
{
    cts_open(&t->c);
    t->module = cts_module(&t->c);
    for (int i = 0; i < 4; i++) {
        cts_fill(t->x, N, 40 + (uint32_t)i);
        t->b[i] = cts_buffer(&t->c, sizeof t->x);
        cts_write(&t->c, t->b[i], 0, t->x, sizeof t->x);
    }
    cts_fill(t->x, N, 40);
}

static void tear_down(bench *t)
{
    for (int i = 0; i < 4; i++) cts_free(&t->c, t->b[i]);
    t->c.api->module_release(t->c.dev, t->module);
    cts_close(&t->c);
}

static gpuc_stream *make_stream(bench *t)
{
    gpuc_stream *s;
    cts_ok(t->c.api->create_stream(t->c.dev, &s));
    assert_non_null(s);
    assert_ptr_equal(s->device, t->c.dev);
    return s;
}

/* y = k x + 1 */
static gpuc_status try_affine(bench *t, gpuc_stream *s, gpuc_buffer *x, gpuc_buffer *y, float k)
{
    const gpuc_kernel *kernel = cts_kernel(cts_type, CTS_AFFINE);
    const int64_t scalars[2] = {cts_float_scalar(k), N};
    const gpuc_step_tensor tensors[2] = {{.slot = 1, .access = GPUC_ACCESS_READ, .size = N * 4},
                                         {.slot = 0, .access = GPUC_ACCESS_WRITE, .size = N * 4}};
    const gpuc_binding slots[2] = {{.buffer = y, .size = N * 4}, {.buffer = x, .size = N * 4}};
    const gpuc_bindings bindings = {.slots = slots, .count = 2};
    gpuc_step step = {.module = t->module,
                      .kernel = cts_kernel_number(&t->c, t->module, kernel->name),
                      .num_tensors = 2,
                      .num_scalars = 2,
                      .tensors = tensors,
                      .scalars = scalars};
    cts_launch(kernel, scalars, step.launch);
    return t->c.api->launch(t->c.dev, s, &step, &bindings);
}

static void affine(bench *t, gpuc_stream *s, int x, int y, float k)
{
    cts_ok(try_affine(t, s, t->b[x], t->b[y], k));
}

static void copy(bench *t, gpuc_stream *s, int from, int to)
{
    const gpuc_step_tensor tensors[2] = {{.slot = 0, .size = N * 4}, {.slot = 1, .size = N * 4}};
    const gpuc_binding slots[2] = {{.buffer = t->b[from], .size = N * 4},
                                   {.buffer = t->b[to], .size = N * 4}};
    const gpuc_bindings bindings = {.slots = slots, .count = 2};
    const gpuc_step step = {.num_tensors = 2, .tensors = tensors};
    cts_ok(t->c.api->launch(t->c.dev, s, &step, &bindings));
}

static uint64_t signal_on(bench *t, gpuc_stream *s)
{
    uint64_t ticket;
    cts_ok(t->c.api->stream_signal(t->c.dev, s, &ticket));
    return ticket;
}

static bool done_in(bench *t, uint64_t ticket, int64_t ns)
{
    bool done;
    cts_ok(t->c.api->ticket_wait(t->c.dev, ticket, ns, &done));
    return done;
}

static void wait_for(bench *t, uint64_t ticket)
{
    assert_true(done_in(t, ticket, GPUC_FOREVER));
}

static void read_on(bench *t, gpuc_stream *s, int b, float *out)
{
    gpuc_copy_end from = {.buffer = t->b[b]};
    cts_ok(t->c.api->copy_data_from_to(t->c.dev, from, (gpuc_copy_end){.host = out}, N * 4, s));
}

static void write_on(bench *t, gpuc_stream *s, int b, const float *bytes)
{
    gpuc_copy_end from = {.host = (void *)bytes};
    cts_ok(t->c.api->copy_data_from_to(t->c.dev, from, (gpuc_copy_end){.buffer = t->b[b]}, N * 4, s));
}

/* Each needs the one before: a missing barrier shows. */
static void launches_run_in_order(void **state)
{
    (void)state;
    bench t;
    static float back[N];
    int count = cts_simulated ? 20 : 3000;
    set_up(&t);
    gpuc_stream *streams[2] = {NULL, make_stream(&t)};
    for (int s = 0; s < 2; s++) {
        uint64_t before = t.c.dev->launches;
        write_on(&t, streams[s], 0, t.x);
        for (int i = 0; i < count; i++) affine(&t, streams[s], i % 2, 1 - i % 2, i % 2 ? 1.0f : 0.5f);
        copy(&t, streams[s], count % 2, 2);
        affine(&t, streams[s], 2, 3, 2.0f);
        read_on(&t, streams[s], 3, back);
        assert_int_equal(t.c.dev->launches - before, count + 1);
        for (int j = 0; j < N; j++) {
            float x = t.x[j];
            for (int i = 0; i < count; i++) x = x * (i % 2 ? 1.0f : 0.5f) + 1.0f;
            if (back[j] != x * 2 + 1) fail_msg("stream %d, item %d: %g", s, j, back[j]);
        }
    }
    t.c.api->free_stream(t.c.dev, streams[1]);
    tear_down(&t);
}

/* What is written, launched and read asynchronously is in order, and host memory is reusable at once. */
static void writes_launches_and_later_reads(void **state)
{
    (void)state;
    bench t;
    static float in[N], out[10][N], same[N];
    set_up(&t);
    gpuc_stream *s = make_stream(&t);
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < N; j++) in[j] = (float)(i + j);
        write_on(&t, s, 0, in);
        affine(&t, s, 0, 1, 2.0f);
        cts_ok(t.c.api->read_later(t.c.dev, (gpuc_copy_end){.buffer = t.b[1]}, out[i], sizeof out[i], s));
    }
    for (int i = 0; i < 3; i++) { /* the last of them stays */
        for (int j = 0; j < N; j++) in[j] = (float)i;
        write_on(&t, s, 0, in);
        cts_ok(t.c.api->read_later(t.c.dev, (gpuc_copy_end){.buffer = t.b[0]}, same, sizeof same, s));
    }
    uint64_t ticket = signal_on(&t, s);
    wait_for(&t, ticket);
    for (int j = 0; j < N; j++) assert_true(same[j] == 2);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < N; j++)
            if (out[i][j] != (float)(i + j) * 2 + 1) fail_msg("round %d, item %d: %g", i, j, out[i][j]);
    assert_true(done_in(&t, ticket, 0));
    wait_for(&t, ticket);
    cts_fails(t.c.api->read_later(t.c.dev, (gpuc_copy_end){.buffer = t.b[1], .offset = 4}, out[0], N * 4, s),
              GPUC_INVALID_ARGUMENT, "source");
    cts_fails(t.c.api->read_later(t.c.dev, (gpuc_copy_end){.buffer = t.b[1]}, NULL, N * 4, s),
              GPUC_INVALID_ARGUMENT, "destination");
    cts_fails(t.c.api->read_later(t.c.dev, (gpuc_copy_end){.host = in}, out[0], N * 4, s),
              GPUC_INVALID_ARGUMENT, "memory of the host");
    t.c.api->free_stream(t.c.dev, s);
    tear_down(&t);
}

static void tickets_order_streams(void **state)
{
    (void)state;
    bench t;
    static float back[N];
    int rounds = cts_simulated ? 3 : 100;
    set_up(&t);
    gpuc_stream *a = make_stream(&t), *b = make_stream(&t);
    write_on(&t, a, 0, t.x);
    for (int i = 0; i < rounds; i++) {
        affine(&t, a, 0, 1, 1.0f);
        cts_join(&t.c, a, b);
        affine(&t, b, 1, 0, 1.0f);
        cts_join(&t.c, b, a);
    }
    uint64_t last = signal_on(&t, a); /* it waits for b, and that is work */
    wait_for(&t, last);
    read_on(&t, NULL, 0, back);
    for (int j = 0; j < N; j++)
        if (back[j] != t.x[j] + (float)(2 * rounds)) fail_msg("item %d: %g", j, back[j]);
    t.c.api->free_stream(t.c.dev, a);
    t.c.api->free_stream(t.c.dev, b);
    assert_true(done_in(&t, last, 0)); /* tickets outlive their stream */
    tear_down(&t);
}

static void tickets_end_and_stay_done(void **state)
{
    (void)state;
    bench t;
    set_up(&t);
    gpuc_stream *s = make_stream(&t);
    wait_for(&t, 0);
    assert_true(done_in(&t, 0, 0));
    wait_for(&t, signal_on(&t, s)); /* of no work */
    uint64_t tickets[40];
    for (int i = 0; i < 40; i++) {
        affine(&t, s, i % 2, 1 - i % 2, 1.0f);
        tickets[i] = signal_on(&t, s);
    }
    while (!done_in(&t, tickets[20], 1000)) continue;
    for (int i = 0; i <= 20; i++) assert_true(done_in(&t, tickets[i], 0));
    while (!done_in(&t, tickets[39], 0)) continue; /* it goes on without being waited for */
    for (int i = 39; i >= 0; i--) wait_for(&t, tickets[i]);
    bool done;
    cts_fails(t.c.api->ticket_wait(t.c.dev, tickets[39] + 1000, 0, &done), GPUC_INVALID_ARGUMENT,
              "was never given");
    assert_false(done);
    cts_fails(t.c.api->stream_wait(t.c.dev, s, tickets[39] + 1000), GPUC_INVALID_ARGUMENT, "was never given");
    t.c.api->free_stream(t.c.dev, s);
    tear_down(&t);
}

/* Buffers, streams and modules go while work with them is queued. */
static void things_may_be_freed_while_queued(void **state)
{
    (void)state;
    bench t;
    static float back[N];
    set_up(&t);
    gpuc_stream *s = make_stream(&t);
    for (int i = 0; i < 20; i++) {
        gpuc_buffer *temporary = cts_buffer(&t.c, N * 4);
        cts_ok(try_affine(&t, s, t.b[0], temporary, 1.0f));
        cts_ok(try_affine(&t, s, temporary, t.b[1], 1.0f));
        cts_free(&t.c, temporary);
    }
    t.c.api->module_release(t.c.dev, t.module);
    t.c.api->free_stream(t.c.dev, s);
    read_on(&t, NULL, 1, back);
    for (int j = 0; j < N; j++) assert_true(back[j] == t.x[j] + 2);
    t.module = cts_module(&t.c);
    affine(&t, NULL, 0, 1, 1.0f); /* left to the end of the device */
    tear_down(&t);
}

/* A plan comes behind what its stream has, and launches behind the plan. */
static void plans_and_launches_mix(void **state)
{
    (void)state;
    bench t;
    static float back[N];
    set_up(&t);
    gpuc_stream *streams[2] = {NULL, make_stream(&t)};
    const gpuc_step_tensor tensors[2] = {{.slot = 0, .size = N * 4}, {.slot = 1, .size = N * 4}};
    const gpuc_step step = {.num_tensors = 2, .tensors = tensors};
    const gpuc_binding slots[2] = {{.buffer = t.b[1], .size = N * 4}, {.buffer = t.b[2], .size = N * 4}};
    gpuc_plan *plan;
    cts_ok(t.c.api->plan_create(t.c.dev, &step, 1, 0, &plan));
    for (int s = 0; s < 2; s++) {
        write_on(&t, streams[s], 0, t.x);
        for (int i = 0; i < 10; i++) {
            affine(&t, streams[s], 0, 1, 1.0f);
            cts_ok(t.c.api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = 2}, streams[s]));
            affine(&t, streams[s], 2, 0, 1.0f);
        }
        read_on(&t, streams[s], 0, back);
        for (int j = 0; j < N; j++) assert_true(back[j] == t.x[j] + 20);
    }
    t.c.api->plan_destroy(plan);
    t.c.api->free_stream(t.c.dev, streams[1]);
    tear_down(&t);
}

static void bad_launches_are_refused(void **state)
{
    (void)state;
    bench t;
    set_up(&t);
    cts other;
    cts_open(&other);
    gpuc_stream *s = make_stream(&t), *foreign;
    gpuc_buffer *far = cts_buffer(&other, N * 4), *small = cts_buffer(&t.c, N * 2);
    cts_ok(other.api->create_stream(other.dev, &foreign));
    cts_fails(try_affine(&t, s, NULL, t.b[0], 1.0f), GPUC_INVALID_ARGUMENT, "tensor 0: slot 1 is not bound");
    cts_fails(try_affine(&t, s, far, t.b[0], 1.0f), GPUC_INVALID_ARGUMENT, "buffer of another device");
    cts_fails(try_affine(&t, s, t.b[0], small, 1.0f), GPUC_INVALID_ARGUMENT, "tensor 1: slot 0");
    cts_fails(try_affine(&t, foreign, t.b[0], t.b[1], 1.0f), GPUC_INVALID_ARGUMENT,
              "the stream is of another");
    uint64_t ticket;
    cts_fails(t.c.api->stream_signal(t.c.dev, foreign, &ticket), GPUC_INVALID_ARGUMENT, "the stream is of");
    cts_fails(t.c.api->stream_flush(t.c.dev, foreign), GPUC_INVALID_ARGUMENT, "the stream is of another");
    cts_fails(t.c.api->stream_sync(t.c.dev, foreign), GPUC_INVALID_ARGUMENT, "the stream is of another");
    cts_fails(t.c.api->stream_wait(t.c.dev, foreign, 0), GPUC_INVALID_ARGUMENT, "the stream is of another");
    gpuc_step step = {.module = t.module, .kernel = 1000, .launch = {1, 1, 1}};
    gpuc_bindings none = {0};
    cts_fails(t.c.api->launch(t.c.dev, s, &step, &none), GPUC_INVALID_ARGUMENT, "kernel");
    step.kernel = 0;
    cts_fails(t.c.api->launch(t.c.dev, s, &step, &none), GPUC_INVALID_ARGUMENT, "tensors and");
    step = (gpuc_step){0};
    cts_fails(t.c.api->launch(t.c.dev, s, &step, &none), GPUC_INVALID_ARGUMENT, "copy");
    affine(&t, s, 0, 1, 1.0f); /* it goes on */
    cts_ok(t.c.api->stream_sync(t.c.dev, s));
    cts_free(&t.c, small);
    cts_free(&other, far);
    other.api->free_stream(other.dev, foreign);
    cts_close(&other);
    t.c.api->free_stream(t.c.dev, s);
    tear_down(&t);
}

static void fails(bench *t, uint64_t ticket)
{
    bool done;
    cts_fails(t->c.api->ticket_wait(t->c.dev, ticket, GPUC_FOREVER, &done), GPUC_INTERNAL, "returned 3");
    assert_true(done);
}

static void failing_kernels_are_reported(void **state)
{
    (void)state;
    if (cts_type != GPUC_DEVICE_CPU) skip();
    bench t;
    set_up(&t);
    gpuc_stream *s = make_stream(&t), *quiet = make_stream(&t), *after = make_stream(&t);
    const gpuc_kernel *k = cts_kernel(cts_type, CTS_BROKEN);
    gpuc_module_blob blob = cts_blob(cts_type);
    gpuc_code_module *broken;
    cts_ok(t.c.api->module_load(t.c.dev, blob.type_key, blob.bytes, blob.size, &k, 1, &broken));
    const gpuc_step_tensor tensors[4] = {{.size = 4}, {.size = 4}, {.size = 4}, {.size = 4}};
    const int64_t scalars[4] = {0};
    const gpuc_binding slot = {.buffer = t.b[0], .size = 4};
    const gpuc_step step = {.module = broken,
                            .num_tensors = k->num_tensors,
                            .num_scalars = k->num_scalars,
                            .tensors = tensors,
                            .scalars = scalars,
                            .launch = {1, 1, 1}};
    cts_ok(t.c.api->launch(t.c.dev, s, &step, &(gpuc_bindings){.slots = &slot, .count = 1}));
    affine(&t, s, 0, 1, 1.0f);
    affine(&t, quiet, 0, 2, 1.0f);
    t.c.api->module_release(t.c.dev, broken); /* what is queued keeps it */
    uint64_t ticket = signal_on(&t, s), fine = signal_on(&t, quiet);
    cts_ok(t.c.api->stream_wait(t.c.dev, after, ticket));
    affine(&t, after, 2, 3, 1.0f);
    uint64_t later = signal_on(&t, after);
    wait_for(&t, fine);
    fails(&t, later); /* its input is what failed */
    gpuc_ticket polled = {t.c.dev, ticket};
    while (!gpuc_ticket_done(polled)) continue;
    for (int i = 0; i < 3; i++) fails(&t, ticket);
    cts_fails(t.c.api->stream_sync(t.c.dev, s), GPUC_INTERNAL, "returned 3");
    cts_ok(t.c.api->stream_sync(t.c.dev, s)); /* from here on it is as new */
    affine(&t, s, 0, 1, 1.0f);
    wait_for(&t, signal_on(&t, s));
    fails(&t, ticket);
    t.c.api->free_stream(t.c.dev, s);
    t.c.api->free_stream(t.c.dev, quiet);
    t.c.api->free_stream(t.c.dev, after);
    fails(&t, ticket);
    fails(&t, later);
    tear_down(&t);
}

static void tickets_of_other_devices(void **state)
{
    (void)state;
    bench t;
    cts other;
    gpuc_device *cpu;
    gpuc_stream *s, *host, *foreign;
    gpuc_ticket ticket, none = {0};
    set_up(&t);
    cts_open(&other);
    cts_ok(gpuc_device_open(t.c.rt, GPUC_DEVICE_CPU, 0, &cpu));
    cts_ok(gpuc_stream_create(t.c.dev, &s));
    cts_ok(gpuc_stream_create(cpu, &host));
    cts_ok(gpuc_stream_create(other.dev, &foreign));
    for (int i = 0; i < 50; i++) affine(&t, s, i % 2, 1 - i % 2, 0.5f);
    cts_ok(gpuc_stream_signal(s, &ticket));
    assert_ptr_equal(ticket.device, t.c.dev);
    cts_ok(gpuc_stream_wait(host, ticket));
    if (cpu != t.c.dev) assert_true(gpuc_ticket_done(ticket)); /* the call waits */
    cts_ok(gpuc_ticket_wait(ticket, GPUC_FOREVER));
    cts_ok(gpuc_stream_wait(s, none));
    assert_true(gpuc_ticket_done(none));
    cts_fails(gpuc_stream_wait(foreign, ticket), GPUC_INVALID_ARGUMENT, "of another runtime");
    cts_fails(gpuc_runtime_set_stream(t.c.dev, foreign), GPUC_INVALID_ARGUMENT, "of another device");
    gpuc_stream_release(foreign);
    gpuc_stream_release(host);
    gpuc_stream_release(s);
    gpuc_stream_release(NULL);
    cts_close(&other);
    tear_down(&t);
}

/* ---- Sessions ---- */

/* Whether the session's wait ended before so many launches that came later; a busy machine may hide it. */
static bool ends_before_the_rest(bench *t, gpuc_session *session, int num_later)
{
    uint64_t before;
    cts_ok(gpuc_session_run(session));
    before = t->c.dev->launches;
    for (int i = 0; i < num_later; i++) affine(t, NULL, i % 2, 1 - i % 2, 0.5f);
    if (cts_type == GPUC_DEVICE_CPU) { /* it counts what has run */
        cts_ok(gpuc_session_sync(session));
        return t->c.dev->launches == before;
    }
    uint64_t rest = signal_on(t, NULL);
    cts_ok(gpuc_session_sync(session));
    return !done_in(t, rest, 0);
}

static void sessions_wait_for_their_own_work(void **state)
{
    (void)state;
    if (cts_simulated || cts_defaults) skip(); /* it runs all at once */
    bench t;
    float x[CTS_N], w[CTS_N], back[CTS_N];
    set_up(&t);
    gpuc_session *session;
    gpuc_ndarray *out;
    gpuc_model *m = cts_load(&t.c, CTS_STATIC, NULL);
    cts_fill(x, CTS_N, 3);
    cts_weight(w);
    gpuc_ndarray *in = cts_array(&t.c, NULL, x, CTS_N);
    cts_ok(gpuc_session_create(m, &session));
    cts_ok(gpuc_session_set_input(session, 0, in));
    bool seen = false;
    for (int n = 500; n <= 64000 && !seen; n *= 2) seen = ends_before_the_rest(&t, session, n);
    assert_true(seen);
    cts_ok(gpuc_session_get_output(session, 0, &out));
    cts_ok(gpuc_ndarray_read(out, back, sizeof back));
    for (int i = 0; i < CTS_N; i++) assert_true(back[i] == (x[i] + w[i]) * 2 + 1);
    gpuc_ndarray_release(in);
    gpuc_session_release(session);
    gpuc_model_release(m);
    tear_down(&t);
}

/* The thread's current stream is in order with the session, which runs on the default one. */
static void sessions_and_streams_mix(void **state)
{
    (void)state;
    bench t;
    float x[CTS_N], w[CTS_N], back[CTS_N];
    set_up(&t);
    gpuc_session *session;
    gpuc_ndarray *result;
    gpuc_stream *s;
    gpuc_model *m = cts_load(&t.c, CTS_STATIC, NULL);
    cts_fill(x, CTS_N, 3);
    cts_weight(w);
    gpuc_ndarray *in = cts_array(&t.c, t.c.dev, x, CTS_N), *out = cts_array(&t.c, t.c.dev, NULL, CTS_N);
    cts_ok(gpuc_session_create(m, &session));
    cts_ok(gpuc_session_bind_input(session, 0, in));
    cts_ok(gpuc_stream_create(t.c.dev, &s));
    cts_ok(gpuc_runtime_set_stream(t.c.dev, s));
    for (int round = 0; round < 10; round++) {
        cts_ok(try_affine(&t, s, gpuc_ndarray_binding(in).buffer, gpuc_ndarray_binding(out).buffer, 1.0f));
        cts_ok(gpuc_ndarray_copy(out, in));
        cts_ok(gpuc_session_run(session));
        cts_ok(gpuc_session_get_output(session, 0, &result));
        cts_ok(
            try_affine(&t, s, gpuc_ndarray_binding(result).buffer, gpuc_ndarray_binding(out).buffer, 2.0f));
        cts_ok(gpuc_ndarray_read(out, back, sizeof back));
        for (int i = 0; i < CTS_N; i++) {
            x[i] += 1;
            assert_true(back[i] == ((x[i] + w[i]) * 2 + 1) * 2 + 1);
        }
    }
    gpuc_stream_release(s); /* and it is no longer the current one */
    cts_ok(gpuc_ndarray_read(out, back, sizeof back));
    gpuc_ndarray_release(in);
    gpuc_ndarray_release(out);
    gpuc_session_release(session);
    gpuc_model_release(m);
    tear_down(&t);
}

/* ---- Threads ---- */

enum { THREADS = 4, ROUNDS = 50 };

typedef struct worker {
    bench *t;
    int number;
    pthread_t thread;
    bool own_stream;
    uint64_t *shared; /* a ticket that all wait for */
    bool good;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    bench *t = w->t;
    const gpuc_device_api *api = t->c.api;
    static const float ones[N] = {1};
    float out[N];
    gpuc_stream *s = NULL;
    gpuc_buffer *b[2];
    bool done;
    gpuc_status status = w->own_stream ? api->create_stream(t->c.dev, &s) : NULL;
    for (int i = 0; i < 2; i++) gpuc_status_release(api->alloc_data_space(t->c.dev, N * 4, 256, &b[i]));
    if (!status) status = api->ticket_wait(t->c.dev, *w->shared, GPUC_FOREVER, &done);
    w->good = true;
    for (int round = 0; round < (cts_simulated ? 2 : ROUNDS) && !status; round++) {
        uint64_t ticket;
        status = api->copy_data_from_to(t->c.dev, (gpuc_copy_end){.host = (void *)ones},
                                        (gpuc_copy_end){.buffer = b[0]}, N * 4, s);
        for (int i = 0; i < 8 && !status; i++) status = try_affine(t, s, b[i % 2], b[1 - i % 2], 1.0f);
        if (!status) status = api->read_later(t->c.dev, (gpuc_copy_end){.buffer = b[0]}, out, N * 4, s);
        if (!status) status = api->stream_signal(t->c.dev, s, &ticket);
        if (!status) status = api->ticket_wait(t->c.dev, ticket, round % 2 ? GPUC_FOREVER : 100, &done);
        if (!status && !done) status = api->ticket_wait(t->c.dev, ticket, GPUC_FOREVER, &done);
        w->good = w->good && !status && out[0] == 9 && out[N - 1] == 8;
    }
    if (status) print_error("%s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    for (int i = 0; i < 2; i++) api->free_data_space(t->c.dev, b[i]);
    api->free_stream(t->c.dev, s);
    return NULL;
}

static void run_threads(bool own_streams)
{
    bench t;
    worker w[THREADS];
    set_up(&t);
    affine(&t, NULL, 0, 1, 1.0f);
    uint64_t shared = signal_on(&t, NULL);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.t = &t, .number = i, .own_stream = own_streams, .shared = &shared};
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        assert_true(w[i].good);
    }
    tear_down(&t);
}

static void streams_on_several_threads(void **state)
{
    (void)state;
    if (cts_simulated) skip();
    run_threads(true);
}

static void the_default_stream_on_several_threads(void **state)
{
    (void)state;
    if (cts_simulated) skip();
    run_threads(false);
}

const struct CMUnitTest cts_stream_tests[] = {
    cmocka_unit_test(launches_run_in_order),
    cmocka_unit_test(writes_launches_and_later_reads),
    cmocka_unit_test(tickets_order_streams),
    cmocka_unit_test(tickets_end_and_stay_done),
    cmocka_unit_test(things_may_be_freed_while_queued),
    cmocka_unit_test(plans_and_launches_mix),
    cmocka_unit_test(bad_launches_are_refused),
    cmocka_unit_test(failing_kernels_are_reported),
    cmocka_unit_test(tickets_of_other_devices),
    cmocka_unit_test(sessions_wait_for_their_own_work),
    cmocka_unit_test(sessions_and_streams_mix),
    cmocka_unit_test(streams_on_several_threads),
    cmocka_unit_test(the_default_stream_on_several_threads),
};
const size_t cts_num_stream_tests = sizeof cts_stream_tests / sizeof *cts_stream_tests;
