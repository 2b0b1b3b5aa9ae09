/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cts.h"

/* Steps under construction; slots are numbers that the test chooses. */
typedef struct steps {
    cts *c;
    gpuc_code_module *module;
    gpuc_step list[4096];
    gpuc_step_tensor tensors[4096][3];
    int64_t scalars[4096][4];
    uint32_t count;
} steps;

static steps *begin(cts *c, gpuc_code_module *module)
{
    steps *s = calloc(1, sizeof *s);
    s->c = c;
    s->module = module;
    return s;
}

static gpuc_step *add(steps *s, int kernel, uint32_t num_tensors, uint32_t num_scalars)
{
    uint32_t i = s->count++;
    s->list[i] = (gpuc_step){.num_tensors = num_tensors,
                             .num_scalars = num_scalars,
                             .tensors = s->tensors[i],
                             .scalars = s->scalars[i]};
    if (kernel < 0) return &s->list[i];
    const gpuc_kernel *k = cts_kernel(cts_type, kernel);
    s->list[i].module = s->module;
    s->list[i].kernel = cts_kernel_number(s->c, s->module, k->name);
    cts_launch(k, s->scalars[i], s->list[i].launch);
    return &s->list[i];
}

static gpuc_step_tensor tensor(uint32_t slot, uint8_t access, uint64_t offset, uint64_t size)
{
    return (gpuc_step_tensor){.slot = slot, .access = access, .offset = offset, .size = size};
}

static gpuc_step *add_vadd(steps *s, uint32_t a, uint32_t b, uint32_t c, int64_t n)
{
    uint32_t i = s->count;
    s->scalars[i][0] = n;
    s->tensors[i][0] = tensor(a, GPUC_ACCESS_READ, 0, (uint64_t)n * 4);
    s->tensors[i][1] = tensor(b, GPUC_ACCESS_READ, 0, (uint64_t)n * 4);
    s->tensors[i][2] = tensor(c, GPUC_ACCESS_WRITE, 0, (uint64_t)n * 4);
    return add(s, CTS_VADD, 3, 1);
}

static gpuc_step *add_affine(steps *s, uint32_t x, uint32_t y, float k, int64_t n)
{
    uint32_t i = s->count;
    s->scalars[i][0] = cts_float_scalar(k);
    s->scalars[i][1] = n;
    s->tensors[i][0] = tensor(x, GPUC_ACCESS_READ, 0, (uint64_t)n * 4);
    s->tensors[i][1] = tensor(y, GPUC_ACCESS_WRITE, 0, (uint64_t)n * 4);
    return add(s, CTS_AFFINE, 2, 2);
}

static gpuc_step *add_copy(steps *s, uint32_t from, uint32_t to, uint64_t from_at, uint64_t to_at,
                           uint64_t bytes)
{
    uint32_t i = s->count;
    s->tensors[i][0] = tensor(from, GPUC_ACCESS_READ, from_at, bytes);
    s->tensors[i][1] = tensor(to, GPUC_ACCESS_WRITE, to_at, bytes);
    return add(s, -1, 2, 0);
}

static gpuc_plan *finish_with(steps *s, uint32_t flags)
{
    gpuc_plan *plan;
    cts_ok(s->c->api->plan_create(s->c->dev, s->list, s->count, flags, &plan));
    memset(s, 0xcc, sizeof *s); /* plans copy what they need */
    free(s);
    return plan;
}

static gpuc_plan *finish(steps *s)
{
    return finish_with(s, 0);
}

static gpuc_binding whole(gpuc_buffer *b)
{
    return (gpuc_binding){.buffer = b, .size = b->size};
}

static void run(cts *c, gpuc_plan *plan, const gpuc_binding *slots, uint32_t count)
{
    const gpuc_bindings bindings = {.slots = slots, .count = count};
    cts_ok(c->api->plan_run(plan, &bindings, NULL));
}

static gpuc_buffer *filled(cts *c, size_t n, uint32_t seed, float *out)
{
    cts_fill(out, n, seed);
    gpuc_buffer *b = cts_buffer(c, n * 4);
    cts_write(c, b, 0, out, n * 4);
    return b;
}

enum { N = 1000, LARGE = 100003 };

static void one_kernel(void **state)
{
    (void)state;
    static float a[LARGE], b[LARGE], back[LARGE];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    static const int64_t sizes[] = {1, 63, 64, 65, 1000, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        if (cts_simulated && n == LARGE) continue;
        gpuc_buffer *buffers[3] = {filled(&c, (size_t)n, 1, a), filled(&c, (size_t)n, 2, b),
                                   cts_buffer(&c, (size_t)n * 4)};
        steps *s = begin(&c, m);
        add_vadd(s, 0, 1, 2, n);
        gpuc_plan *plan = finish(s);
        uint64_t before = c.dev->launches;
        gpuc_binding slots[3] = {whole(buffers[0]), whole(buffers[1]), whole(buffers[2])};
        run(&c, plan, slots, 3);
        cts_read(&c, buffers[2], 0, back, (size_t)n * 4);
        for (int64_t j = 0; j < n; j++)
            if (back[j] != a[j] + b[j]) fail_msg("n %d: item %d", (int)n, (int)j);
        assert_int_equal(c.dev->launches - before, 1);
        c.api->plan_destroy(plan);
        for (int j = 0; j < 3; j++) cts_free(&c, buffers[j]);
    }
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

static void scalars_of_every_type(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b = cts_buffer(&c, 20);
    steps *s = begin(&c, m);
    s->tensors[0][0] = tensor(0, GPUC_ACCESS_WRITE, 0, 20);
    s->scalars[0][0] = -7;
    s->scalars[0][1] = INT64_C(-0x123456789abcdef);
    s->scalars[0][2] = cts_float_scalar(-1.5f);
    s->scalars[0][3] = 1;
    add(s, CTS_SCALARS, 1, 4);
    gpuc_plan *plan = finish(s);
    gpuc_binding slot = whole(b);
    run(&c, plan, &slot, 1);
    int32_t out[5];
    cts_read(&c, b, 0, out, sizeof out);
    int64_t wide = (int64_t)((uint64_t)(uint32_t)out[2] << 32 | (uint32_t)out[1]);
    float f;
    memcpy(&f, &out[3], sizeof f);
    assert_int_equal(out[0], -7);
    assert_true(wide == INT64_C(-0x123456789abcdef));
    assert_true(f == -1.5f);
    assert_int_equal(out[4], 1);
    c.api->plan_destroy(plan);
    cts_free(&c, b);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* Each step needs the one before: a missing barrier shows. */
static void long_chains_of_dependent_steps(void **state)
{
    (void)state;
    enum { STEPS = 2000 };
    static float x[N], back[N];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *buffers[2] = {filled(&c, N, 3, x), cts_buffer(&c, N * 4)};
    steps *s = begin(&c, m);
    uint32_t count = cts_simulated ? 20 : STEPS;
    for (uint32_t i = 0; i < count; i++) add_affine(s, i % 2, 1 - i % 2, i % 2 ? 1.0f : 0.5f, N);
    gpuc_plan *plan = finish(s);
    gpuc_binding slots[2] = {whole(buffers[0]), whole(buffers[1])};
    run(&c, plan, slots, 2);
    cts_read(&c, buffers[0], 0, back, sizeof back);
    for (uint32_t i = 0; i < count; i++)
        for (int j = 0; j < N; j++) x[j] = x[j] * (i % 2 ? 1.0f : 0.5f) + 1.0f;
    for (int j = 0; j < N; j++)
        if (back[j] != x[j]) fail_msg("item %d: %g instead of %g", j, back[j], x[j]);
    c.api->plan_destroy(plan);
    cts_free(&c, buffers[0]);
    cts_free(&c, buffers[1]);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

static void plans_run_again_with_other_buffers_and_offsets(void **state)
{
    (void)state;
    enum { ROUNDS = 20 };
    static float a[N], back[4 * N], expect[4 * N];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    steps *s = begin(&c, m);
    add_affine(s, 0, 2, 2.0f, N);
    add_vadd(s, 2, 0, 1, N);
    gpuc_plan *plan = finish(s);
    gpuc_buffer *middle = cts_buffer(&c, 256 + N * 4);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        gpuc_buffer *in = filled(&c, N, r + 5, a), *out = cts_buffer(&c, 4 * N * 4);
        memset(expect, 0, sizeof expect);
        cts_write(&c, out, 0, expect, sizeof expect);
        uint64_t at = 256 * (r % 3);
        gpuc_binding slots[3] = {
            whole(in),
            {.buffer = out, .offset = at, .size = N * 4},
            {.buffer = middle, .offset = r % 2 ? 256 : 0, .size = N * 4},
        };
        run(&c, plan, slots, 3);
        cts_read(&c, out, 0, back, sizeof back);
        for (int i = 0; i < N; i++) expect[at / 4 + (uint32_t)i] = 2 * a[i] + 1 + a[i];
        assert_memory_equal(back, expect, sizeof back);
        cts_free(&c, in);
        cts_free(&c, out);
    }
    cts_free(&c, middle);
    c.api->plan_destroy(plan);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* All tensors lie in one buffer, and only offsets tell them apart. */
static void windows_of_one_arena(void **state)
{
    (void)state;
    enum { SIZE = 400, STRIDE = 512 };
    static float x[SIZE / 4], back[SIZE / 4];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *arena = cts_buffer(&c, 4 * STRIDE + SIZE);
    cts_fill(x, SIZE / 4, 9);
    cts_write(&c, arena, STRIDE, x, SIZE);
    steps *s = begin(&c, m);
    for (uint32_t i = 0; i < 3; i++) {
        gpuc_step *step = add_affine(s, 0, 0, 3.0f, SIZE / 4);
        gpuc_step_tensor *t = (gpuc_step_tensor *)step->tensors;
        t[0].offset = (i + 1) * STRIDE;
        t[1].offset = (i + 2) * STRIDE;
    }
    gpuc_plan *plan = finish(s);
    gpuc_binding slot = whole(arena);
    run(&c, plan, &slot, 1);
    cts_read(&c, arena, 4 * STRIDE, back, SIZE);
    for (int i = 0; i < SIZE / 4; i++) assert_true(back[i] == ((x[i] * 3 + 1) * 3 + 1) * 3 + 1);
    c.api->plan_destroy(plan);
    cts_free(&c, arena);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* A buffer may be larger than what one binding reaches: each step has its window. */
static void windows_of_a_buffer_beyond_one_binding(void **state)
{
    (void)state;
    static float x[N], back[N];
    cts c;
    cts_open(&c);
    gpuc_attr_value range = gpuc_device_get_attr(c.dev, GPUC_ATTR_MAX_BUFFER_RANGE);
    gpuc_attr_value largest = gpuc_device_get_attr(c.dev, GPUC_ATTR_MAX_ALLOC_BYTES);
    size_t bytes = (size_t)range.i + (range.i / 4) / 256 * 256;
    if (!range.known || !largest.known || (size_t)largest.i < bytes || bytes > (size_t)512 << 20) {
        cts_close(&c);
        skip();
    }
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b = cts_buffer(&c, bytes);
    cts_fill(x, N, 21);
    uint64_t at[4] = {0, bytes - 4096, (uint64_t)range.i - 64, 8192};
    cts_write(&c, b, at[0], x, sizeof x);
    steps *s = begin(&c, m);
    for (int i = 0; i < 3; i++) {
        gpuc_step_tensor *t = (gpuc_step_tensor *)add_affine(s, 0, 0, 3.0f, N)->tensors;
        t[0].offset = at[i];
        t[1].offset = at[i + 1];
    }
    gpuc_plan *plan = finish(s);
    gpuc_binding slot = whole(b);
    run(&c, plan, &slot, 1);
    cts_read(&c, b, at[3], back, sizeof back);
    for (int i = 0; i < N; i++) assert_true(back[i] == ((x[i] * 3 + 1) * 3 + 1) * 3 + 1);
    c.api->plan_destroy(plan);
    cts_free(&c, b);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

static void copies_between_kernels(void **state)
{
    (void)state;
    static float x[N], back[N];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b[4] = {filled(&c, N, 4, x), cts_buffer(&c, N * 4), cts_buffer(&c, N * 4 + 64),
                         cts_buffer(&c, N * 4)};
    steps *s = begin(&c, m);
    add_affine(s, 0, 1, 2.0f, N);
    add_copy(s, 1, 2, 0, 64, N * 4);
    gpuc_step *step = add_affine(s, 2, 3, 2.0f, N);
    ((gpuc_step_tensor *)step->tensors)[0].offset = 64;
    add_copy(s, 3, 0, 0, 0, N * 4);
    add_copy(s, 3, 0, 0, 0, 0);
    gpuc_plan *plan = finish(s);
    gpuc_binding slots[4];
    for (int i = 0; i < 4; i++) slots[i] = whole(b[i]);
    run(&c, plan, slots, 4);
    cts_read(&c, b[0], 0, back, sizeof back);
    for (int i = 0; i < N; i++) assert_true(back[i] == (x[i] * 2 + 1) * 2 + 1);
    c.api->plan_destroy(plan);
    for (int i = 0; i < 4; i++) cts_free(&c, b[i]);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

static void nothing_to_launch(void **state)
{
    (void)state;
    static float x[N], back[N];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b = filled(&c, N, 4, x);
    steps *s = begin(&c, m);
    for (int i = 0; i < 3; i++) {
        gpuc_step *step = add_affine(s, 0, 0, 2.0f, 0);
        for (int d = 0; d < 3; d++) step->launch[d] = 1;
        step->launch[i] = 0;
    }
    gpuc_plan *plan = finish(s);
    gpuc_binding slot = whole(b);
    uint64_t before = c.dev->launches;
    run(&c, plan, &slot, 1);
    cts_sync(&c);
    assert_int_equal(c.dev->launches, before);
    cts_read(&c, b, 0, back, sizeof back);
    assert_memory_equal(back, x, sizeof x);
    c.api->plan_destroy(plan);

    cts_ok(c.api->plan_create(c.dev, NULL, 0, 0, &plan)); /* a plan without steps */
    run(&c, plan, &slot, 1);
    cts_sync(&c);
    c.api->plan_destroy(plan);
    cts_free(&c, b);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* A kernel may have a tensor without elements and still have work to do. */
static void tensors_without_elements(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b = cts_buffer(&c, 0), *d = cts_buffer(&c, 64);
    steps *s = begin(&c, m);
    gpuc_step *step = add_vadd(s, 0, 1, 1, 0);
    for (int i = 0; i < 3; i++) step->launch[i] = 1;
    gpuc_plan *plan = finish(s);
    gpuc_binding slots[2] = {whole(b), {.buffer = d, .offset = 0, .size = 0}};
    uint64_t before = c.dev->launches;
    run(&c, plan, slots, 2);
    cts_sync(&c);
    assert_int_equal(c.dev->launches, before + 1);
    c.api->plan_destroy(plan);
    cts_free(&c, b);
    cts_free(&c, d);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* Host memory is the caller's again when a copy to the device returns, however busy the device is. */
static void host_memory_is_reusable_while_the_device_is_busy(void **state)
{
    (void)state;
    enum { STEPS = 40, ROUNDS = 8 };
    static float x[LARGE], back[LARGE], expect[LARGE];
    const int64_t n = cts_simulated ? 2000 : LARGE;
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *in = cts_buffer(&c, sizeof x), *other = cts_buffer(&c, sizeof x),
                *sum = cts_buffer(&c, sizeof x);
    memset(x, 0, sizeof x);
    cts_write(&c, sum, 0, x, sizeof x);
    steps *s = begin(&c, m);
    int busy = cts_simulated ? 1 : STEPS;
    for (int i = 0; i < busy; i++) add_affine(s, 0, 1, 1.0f, n);
    add_vadd(s, 0, 2, 1, n);
    add_copy(s, 1, 2, 0, 0, (uint64_t)n * 4);
    gpuc_plan *plan = finish(s);
    gpuc_binding slots[3] = {whole(in), whole(other), whole(sum)};
    for (uint32_t r = 0; r < ROUNDS; r++) {
        cts_fill(x, (size_t)n, r);
        for (int i = 0; i < n; i++) expect[i] += x[i];
        cts_write(&c, in, 0, x, sizeof x);
        memset(x, 0xff, sizeof x);
        run(&c, plan, slots, 3);
    }
    cts_read(&c, sum, 0, back, sizeof back);
    assert_memory_equal(back, expect, sizeof back);
    memset(expect, 0, sizeof expect);
    c.api->plan_destroy(plan);
    cts_free(&c, in);
    cts_free(&c, other);
    cts_free(&c, sum);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

static void streams_run_and_join(void **state)
{
    (void)state;
    if (cts_simulated) skip();
    static float x[N], back[N];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_stream *second;
    cts_ok(c.api->create_stream(c.dev, &second));
    gpuc_buffer *b[3] = {filled(&c, N, 4, x), cts_buffer(&c, N * 4), cts_buffer(&c, N * 4)};
    steps *s = begin(&c, m);
    for (int i = 0; i < 50; i++) add_affine(s, 0, 1, 2.0f, N);
    gpuc_plan *first_plan = finish(s);
    s = begin(&c, m);
    add_affine(s, 1, 2, 2.0f, N);
    gpuc_plan *second_plan = finish(s);
    gpuc_binding slots[3] = {whole(b[0]), whole(b[1]), whole(b[2])};
    const gpuc_bindings bindings = {.slots = slots, .count = 3};
    for (int i = 0; i < 20; i++) {
        cts_join(&c, NULL, second);
        cts_ok(c.api->plan_run(first_plan, &bindings, second));
        cts_join(&c, second, NULL);
        cts_ok(c.api->plan_run(second_plan, &bindings, NULL));
    }
    cts_ok(c.api->stream_sync(c.dev, second));
    cts_sync(&c);
    cts_ok(c.api->copy_data_from_to(c.dev, (gpuc_copy_end){.buffer = b[2]}, (gpuc_copy_end){.host = back},
                                    sizeof back, second));
    for (int i = 0; i < N; i++) assert_true(back[i] == (x[i] * 2 + 1) * 2 + 1);
    c.api->plan_destroy(first_plan);
    c.api->plan_destroy(second_plan);
    c.api->free_stream(c.dev, second);
    for (int i = 0; i < 3; i++) cts_free(&c, b[i]);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

static void profiles_of_steps(void **state)
{
    (void)state;
    static float x[LARGE];
    const int64_t n = cts_simulated ? 2000 : LARGE;
    cts c;
    cts_open(&c);
    if (!c.api->plan_profile) {
        cts_close(&c);
        skip();
    }
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b[2] = {filled(&c, LARGE, 4, x), cts_buffer(&c, LARGE * 4)};
    gpuc_binding slots[2] = {whole(b[0]), whole(b[1])};
    steps *s = begin(&c, m);
    add_affine(s, 0, 1, 2.0f, n);
    gpuc_plan *plain = finish(s);
    s = begin(&c, m);
    add_affine(s, 0, 1, 2.0f, n);
    add_affine(s, 0, 1, 2.0f, n)->launch[0] = 0;
    add_copy(s, 0, 1, 0, 0, (uint64_t)n * 4);
    gpuc_plan *plan = finish_with(s, GPUC_PLAN_PROFILING);
    double ns[3] = {-1, -1, -1};
    for (int i = 0; i < 2; i++) {
        run(&c, plan, slots, 2);
        cts_sync(&c);
        if (!cts_measured(c.api->plan_profile(plan, ns, 3))) break;
        assert_true(ns[0] > 0 && ns[0] < 1e10);
        assert_true(ns[1] == 0);
        assert_true(ns[2] >= 0 && ns[2] < 1e10);
    }
    run(&c, plain, slots, 2);
    cts_sync(&c);
    cts_fails(c.api->plan_profile(plain, ns, 1), GPUC_INVALID_ARGUMENT, "profiling");
    c.api->plan_destroy(plan);
    c.api->plan_destroy(plain);
    cts_free(&c, b[0]);
    cts_free(&c, b[1]);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* The plan of a wrong step is not made; if plans are launched step by step, it fails as it runs. */
static void refuse_step(cts *c, steps *s, const gpuc_bindings *bindings, const char *words)
{
    gpuc_plan *plan = (gpuc_plan *)c;
    gpuc_status status = c->api->plan_create(c->dev, s->list, 1, 0, &plan);
    if (!cts_defaults) assert_null(plan);
    if (!status) status = c->api->plan_run(plan, bindings, NULL);
    cts_fails(status, GPUC_INVALID_ARGUMENT, words);
    c->api->plan_destroy(plan);
    free(s);
}

static void wrong_steps_and_bindings_are_refused(void **state)
{
    (void)state;
    static float x[N];
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b = filled(&c, N, 1, x), *small = cts_buffer(&c, N * 4 - 4);
    gpuc_binding slots[3] = {whole(b), whole(b), whole(b)};
    gpuc_bindings bindings = {.slots = slots, .count = 3};
    gpuc_plan *plan;

    steps *s = begin(&c, m);
    add_vadd(s, 0, 1, 2, N)->num_tensors = 2;
    refuse_step(&c, s, &bindings, "vadd");
    s = begin(&c, m);
    add_vadd(s, 0, 1, 2, N)->num_scalars = 0;
    refuse_step(&c, s, &bindings, "vadd");
    s = begin(&c, m);
    add_vadd(s, 0, 1, 2, N)->kernel = 1000;
    refuse_step(&c, s, &bindings, "");
    s = begin(&c, m);
    gpuc_step *copy = add_copy(s, 0, 1, 0, 0, 16);
    ((gpuc_step_tensor *)copy->tensors)[1].size = 20;
    refuse_step(&c, s, &bindings, "copy");

    s = begin(&c, m);
    add_vadd(s, 0, 1, 2, N);
    plan = finish(s);
    slots[2] = whole(small);
    cts_fails(c.api->plan_run(plan, &bindings, NULL), GPUC_INVALID_ARGUMENT, "slot 2");
    bindings.count = 2;
    cts_fails(c.api->plan_run(plan, &bindings, NULL), GPUC_INVALID_ARGUMENT, "slot 2");
    bindings.count = 3;
    slots[1].buffer = NULL;
    cts_fails(c.api->plan_run(plan, &bindings, NULL), GPUC_INVALID_ARGUMENT, "slot 1");
    slots[1] = (gpuc_binding){.buffer = b, .offset = 16, .size = N * 4};
    cts_fails(c.api->plan_run(plan, &bindings, NULL), GPUC_INVALID_ARGUMENT, "slot 1");
    slots[1] = whole(b);
    slots[2] = whole(b);
    cts_ok(c.api->plan_run(plan, &bindings, NULL)); /* and the plan is as good as before */
    cts_sync(&c);
    c.api->plan_destroy(plan);
    c.api->plan_destroy(NULL);
    cts_free(&c, b);
    cts_free(&c, small);
    c.api->module_release(c.dev, m);
    c.api->module_release(c.dev, NULL);
    cts_close(&c);
}

static void wrong_modules_are_refused(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    const gpuc_kernel *kernels[1] = {cts_kernel(cts_type, CTS_VADD)};
    gpuc_module_blob blob = cts_blob(cts_type);
    gpuc_code_module *m = (gpuc_code_module *)&c;
    cts_fails(c.api->module_load(c.dev, "no_such_kind", blob.bytes, blob.size, kernels, 1, &m),
              GPUC_UNSUPPORTED, "no_such_kind");
    assert_null(m);
    gpuc_status s = c.api->module_load(c.dev, blob.type_key, blob.bytes, 10, kernels, 1, &m);
    assert_int_equal(gpuc_status_code(s), GPUC_INVALID_DATA);
    gpuc_status_release(s);
    s = c.api->module_load(c.dev, blob.type_key, "", 0, kernels, 1, &m);
    assert_int_equal(gpuc_status_code(s), GPUC_INVALID_DATA);
    gpuc_status_release(s);
    gpuc_kernel other = *kernels[0];
    other.name = "no_such_kernel";
    kernels[0] = &other;
    s = c.api->module_load(c.dev, blob.type_key, blob.bytes, blob.size, kernels, 1, &m);
    assert_non_null(strstr(gpuc_status_message(s), "no_such_kernel"));
    gpuc_status_release(s);
    assert_null(m);
    m = cts_module(&c);
    uint32_t number;
    cts_fails(c.api->kernel_get(m, "no_such_kernel", &number), GPUC_NOT_FOUND, "no_such_kernel");
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

typedef struct worker {
    cts *c;
    gpuc_code_module *module;
    uint32_t seed;
    int wrong;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    float *x = malloc(N * 4), *back = malloc(N * 4);
    for (uint32_t round = 0; round < 20; round++) {
        gpuc_buffer *b[3] = {filled(w->c, N, w->seed + round, x), cts_buffer(w->c, N * 4),
                             cts_buffer(w->c, N * 4)};
        steps *s = begin(w->c, w->module);
        for (int i = 0; i < 10; i++) {
            add_affine(s, 0, 1, 0.5f, N);
            add_vadd(s, 0, 1, 2, N);
            add_copy(s, 2, 0, 0, 0, N * 4);
        }
        gpuc_plan *plan = finish(s);
        gpuc_binding slots[3] = {whole(b[0]), whole(b[1]), whole(b[2])};
        run(w->c, plan, slots, 3);
        cts_read(w->c, b[0], 0, back, N * 4);
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < N; j++) x[j] = x[j] + (x[j] * 0.5f + 1.0f);
        w->wrong += memcmp(x, back, N * 4) != 0;
        w->c->api->plan_destroy(plan);
        for (int i = 0; i < 3; i++) cts_free(w->c, b[i]);
    }
    free(x);
    free(back);
    return NULL;
}

/* Each thread has its own plans and buffers; the device and the module are shared. */
static void threads_share_a_device(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    if (cts_simulated) skip();
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.c = &c, .module = m, .seed = 100 * i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

/* Planted: the kernel is told of more items than its buffers have. Only a simulator survives it. */
static void a_kernel_that_leaves_its_buffers(void **state)
{
    (void)state;
    static float x[N];
    if (!cts_simulated) skip();
    cts c;
    cts_open(&c);
    gpuc_code_module *m = cts_module(&c);
    gpuc_buffer *b = filled(&c, N, 1, x);
    steps *s = begin(&c, m);
    gpuc_step_tensor *t = (gpuc_step_tensor *)add_vadd(s, 0, 0, 0, N + 1000)->tensors;
    for (int i = 0; i < 3; i++) t[i].size = N * 4;
    gpuc_plan *plan = finish(s);
    gpuc_binding slot = whole(b);
    run(&c, plan, &slot, 1);
    cts_sync(&c);
    c.api->plan_destroy(plan);
    cts_free(&c, b);
    c.api->module_release(c.dev, m);
    cts_close(&c);
}

const struct CMUnitTest cts_hazard_tests[] = {cmocka_unit_test(a_kernel_that_leaves_its_buffers)};
const size_t cts_num_hazard_tests = 1;

const struct CMUnitTest cts_plan_tests[] = {
    cmocka_unit_test(one_kernel),
    cmocka_unit_test(scalars_of_every_type),
    cmocka_unit_test(long_chains_of_dependent_steps),
    cmocka_unit_test(plans_run_again_with_other_buffers_and_offsets),
    cmocka_unit_test(windows_of_one_arena),
    cmocka_unit_test(windows_of_a_buffer_beyond_one_binding),
    cmocka_unit_test(copies_between_kernels),
    cmocka_unit_test(nothing_to_launch),
    cmocka_unit_test(tensors_without_elements),
    cmocka_unit_test(host_memory_is_reusable_while_the_device_is_busy),
    cmocka_unit_test(streams_run_and_join),
    cmocka_unit_test(profiles_of_steps),
    cmocka_unit_test(wrong_steps_and_bindings_are_refused),
    cmocka_unit_test(wrong_modules_are_refused),
    cmocka_unit_test(threads_share_a_device),
};
const size_t cts_num_plan_tests = sizeof cts_plan_tests / sizeof *cts_plan_tests;
