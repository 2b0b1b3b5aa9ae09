/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor asks of a device, seen through a CPU device with limits and eyes. */
#include <stdlib.h>
#include <string.h>

#include "cts.h"

static gpuc_device_api watched;
static const gpuc_device_api *own;
static int64_t max_range, max_alloc, max_texels;
static int plans, copies, syncs, allocations;
static size_t largest_allocation;
static bool lose_device, plan_meanwhile;
static double unit_ns,
    part_ns; /* unit_ns: what a unit of a step takes on a device that tells it; 0: the device's own.
                                 * part_ns: what the last part took */
static int disturb_every;    /* part that takes three times as long; 0: none */
static gpuc_plan *meanwhile; /* a plan of another user, made while a profiled one is */

static gpuc_status get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    GPUC_TRY(own->get_attr(dev, attr, out));
    if (attr == GPUC_ATTR_MAX_BUFFER_RANGE && max_range)
        *out = (gpuc_attr_value){.known = true, .i = max_range};
    if (attr == GPUC_ATTR_MAX_ALLOC_BYTES && max_alloc)
        *out = (gpuc_attr_value){.known = true, .i = max_alloc};
    if (attr == GPUC_ATTR_MAX_TEXELS && max_texels) *out = (gpuc_attr_value){.known = true, .i = max_texels};
    return NULL;
}

static gpuc_status alloc(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out)
{
    allocations++;
    if (bytes > largest_allocation) largest_allocation = bytes;
    return own->alloc_data_space(dev, bytes, alignment, out);
}

static gpuc_status copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                        gpuc_stream *stream)
{
    copies++;
    return own->copy_data_from_to(dev, from, to, bytes, stream);
}

static gpuc_status ticket_wait(gpuc_device *dev, uint64_t ticket, int64_t timeout_ns, bool *out_done)
{
    syncs++;
    if (lose_device) return gpuc_fail(GPUC_DEVICE_LOST, "the device is gone");
    return own->ticket_wait(dev, ticket, timeout_ns, out_done);
}

static gpuc_status plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                               gpuc_plan **out)
{
    plans++;
    if (plan_meanwhile && (flags & GPUC_PLAN_PROFILING) && !meanwhile)
        GPUC_TRY(own->plan_create(dev, NULL, 0, 0, &meanwhile));
    return own->plan_create(dev, steps, count, flags, out);
}

static gpuc_status plan_run(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    if (lose_device) return gpuc_fail(GPUC_DEVICE_LOST, "the device is gone");
    return own->plan_run(plan, bindings, stream);
}

/* As of a device whose times are known in the call. */
static void tell_times(const gpuc_plan *plan, gpuc_plan_part *part)
{
    static int number;
    double ns = disturb_every && ++number % disturb_every == 0 ? 3 * unit_ns : unit_ns;
    part->device_ns = 0;
    for (uint32_t i = part->step; i < part->end_step + (part->end_unit > 0); i++) {
        uint32_t units = own->plan_units(plan, i), from = i == part->step ? part->unit : 0;
        part->step_ns[i] = ns * units;
        part->device_ns += ns * ((i == part->end_step ? part->end_unit : units) - from);
    }
    part_ns = part->device_ns;
}

static gpuc_status plan_run_part(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                 gpuc_stream *stream)
{
    if (lose_device) return gpuc_fail(GPUC_DEVICE_LOST, "the device is gone");
    GPUC_TRY(own->plan_run_part(plan, bindings, part, stream));
    if (unit_ns > 0) tell_times(plan, part);
    return NULL;
}

static void open_watched(cts *c)
{
    cts_open(c);
    own = c->api;
    watched = *own;
    watched.get_attr = get_attr;
    watched.alloc_data_space = alloc;
    watched.copy_data_from_to = copy;
    watched.ticket_wait = ticket_wait;
    watched.plan_create = plan_create;
    watched.plan_run = plan_run;
    watched.plan_run_part = plan_run_part;
    c->dev->api = c->api = &watched;
    plans = copies = syncs = allocations = 0;
    largest_allocation = 0;
    max_range = max_alloc = max_texels = 0;
    lose_device = plan_meanwhile = false;
    unit_ns = part_ns = 0;
    disturb_every = 0;
}

static gpuc_session *open_session(cts *c, cts_model program, gpuc_model **m)
{
    gpuc_session *s;
    open_watched(c);
    *m = cts_load(c, program, NULL);
    cts_ok(gpuc_session_create(*m, &s));
    return s;
}

static void close_session(cts *c, gpuc_model *m, gpuc_session *s)
{
    gpuc_session_release(s);
    gpuc_model_release(m);
    cts_close(c);
}

static void set_input(cts *c, gpuc_session *s, int i, int64_t n)
{
    float *values = calloc((size_t)n + 1, sizeof *values);
    gpuc_ndarray *a = cts_array(c, NULL, values, n);
    cts_ok(gpuc_session_set_input(s, i, a));
    gpuc_ndarray_release(a);
    free(values);
}

static void memory_is_cut_into_chunks(void **state)
{
    (void)state;
    float x[CTS_N] = {0}, w[CTS_N], back[CTS_N];
    cts c;
    open_watched(&c);
    max_range = 10000;
    gpuc_model *m = cts_load(&c, CTS_CHAIN, NULL);
    assert_int_equal(allocations, 3); /* six weights of 4000 bytes, two in a chunk */
    gpuc_session *s;
    cts_ok(gpuc_session_create(m, &s));
    set_input(&c, s, 0, CTS_N);
    cts_ok(gpuc_session_run(s));
    gpuc_session_stats stats = gpuc_session_get_stats(s);
    assert_int_equal(stats.arena_chunks, 3);
    assert_int_equal(stats.arena_bytes, 2 * 8096 + 4000);
    assert_int_equal(stats.weight_bytes, 3 * 8096);
    assert_true(largest_allocation <= 10000);
    gpuc_ndarray *out;
    cts_ok(gpuc_session_get_output(s, 0, &out));
    cts_ok(gpuc_ndarray_read(out, back, sizeof back));
    for (int i = 0; i < 6; i++) {
        cts_weight_of(i, w);
        for (int j = 0; j < CTS_N; j++) x[j] += w[j];
    }
    assert_memory_equal(back, x, sizeof x);
    gpuc_session_release(s);
    gpuc_model_release(m);

    max_alloc = 3000;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = cts_package(CTS_CHAIN, NULL);
    desc.allow_native_code = true;
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_OUT_OF_DEVICE_MEMORY, "weight 'w': 4000 bytes exceed");
    cts_close(&c);
}

static void weights_that_are_neighbours_are_copied_together(void **state)
{
    (void)state;
    cts c;
    open_watched(&c);
    gpuc_model_release(cts_load(&c, CTS_CHAIN, NULL));
    assert_int_equal(allocations, 1);
    assert_int_equal(copies, 4); /* three of the six are spaced in the file as they are on the device */
    cts_close(&c);
}

static void plans_are_made_once_for_each_shape(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_session *s = open_session(&c, CTS_SYMBOLIC, &m);
    static const int64_t sizes[] = {100, 200, 100, 100, 200, 300, 50, 100, 200};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        set_input(&c, s, 0, sizes[i]);
        set_input(&c, s, 1, sizes[i]);
        cts_ok(gpuc_session_run(s));
    }
    assert_int_equal(plans, 4);
    for (int64_t n = 1; n <= 10; n++) { /* more shapes than are kept */
        set_input(&c, s, 0, n);
        set_input(&c, s, 1, n);
        cts_ok(gpuc_session_run(s));
    }
    assert_int_equal(plans, 14);
    set_input(&c, s, 0, 100);
    set_input(&c, s, 1, 100);
    cts_ok(gpuc_session_run(s));
    assert_int_equal(plans, 15);
    assert_true(gpuc_session_get_stats(s).arena_bytes >= 1200); /* as large as the largest shape needed */
    close_session(&c, m, s);
}

static void binding_other_arrays_makes_no_plan(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_session *s = open_session(&c, CTS_STATIC, &m);
    for (int i = 0; i < 5; i++) {
        gpuc_ndarray *in = cts_array(&c, c.dev, NULL, CTS_N), *out = cts_array(&c, c.dev, NULL, CTS_N);
        cts_ok(gpuc_session_bind_input(s, 0, in));
        cts_ok(gpuc_session_bind_output(s, 0, out));
        gpuc_ndarray_release(in);
        gpuc_ndarray_release(out);
        cts_ok(gpuc_session_run(s));
    }
    assert_int_equal(plans, 1);
    close_session(&c, m, s);
}

/* Frames may swap two arrays; a run may not write what it reads. */
static void an_output_is_no_input(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_session *s = open_session(&c, CTS_STATIC, &m);
    float x[CTS_N] = {0};
    gpuc_ndarray *a[] = {cts_array(&c, c.dev, x, CTS_N), cts_array(&c, c.dev, x, CTS_N)};
    for (int frame = 0; frame < 4; frame++) {
        cts_ok(gpuc_session_bind_input(s, 0, a[frame % 2]));
        cts_ok(gpuc_session_bind_output(s, 0, a[1 - frame % 2]));
        cts_ok(gpuc_session_run(s));
    }
    cts_ok(gpuc_session_bind_output(s, 0, a[1]));
    cts_ok(gpuc_session_bind_input(s, 0, a[1]));
    cts_fails(gpuc_session_run(s), GPUC_INVALID_ARGUMENT, "shares memory with that of input");
    cts_ok(gpuc_session_bind_output(s, 0, a[0]));
    cts_ok(gpuc_session_run(s));
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(a[i]);
    close_session(&c, m, s);
}

static void a_run_waits_for_nothing(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_session *s = open_session(&c, CTS_STATIC, &m);
    set_input(&c, s, 0, CTS_N);
    cts_ok(gpuc_session_run(s));
    int before = syncs, allocated = allocations;
    for (int i = 0; i < 10; i++) {
        set_input(&c, s, 0, CTS_N);
        cts_ok(gpuc_session_run(s));
    }
    assert_int_equal(syncs, before);
    assert_int_equal(allocations, allocated);
    close_session(&c, m, s);
}

/* Frames that bind arrays of their own do not wait for each other; what they let go of lives until it
 * is no longer used, and not for ever. */
static void rebinding_waits_for_nothing(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_session *s = open_session(&c, CTS_STATIC, &m);
    int before = syncs;
    for (int frame = 0; frame < 200; frame++) {
        gpuc_ndarray *in = cts_array(&c, c.dev, NULL, CTS_N), *out = cts_array(&c, c.dev, NULL, CTS_N);
        cts_ok(gpuc_session_bind_input(s, 0, in));
        cts_ok(gpuc_session_bind_output(s, 0, out));
        gpuc_ndarray_release(in);
        gpuc_ndarray_release(out);
        cts_ok(gpuc_session_run(s));
        if (frame == 10) assert_int_equal(syncs, before);
    }
    assert_true(syncs > before && syncs < before + 20);
    assert_true(c.heap.live < 100 * CTS_N * 4);
    close_session(&c, m, s);
}

static void a_lost_device_is_a_status(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_session *s = open_session(&c, CTS_STATIC, &m);
    set_input(&c, s, 0, CTS_N);
    cts_ok(gpuc_session_run(s));
    lose_device = true;
    cts_fails(gpuc_session_run(s), GPUC_DEVICE_LOST, "gone");
    cts_fails(gpuc_session_sync(s), GPUC_DEVICE_LOST, "gone");
    close_session(&c, m, s);
}

/* The inference is over, and the next slice begins another. */
static void a_slice_fails(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_slice_progress p;
    gpuc_session *s = open_session(&c, CTS_CHAIN, &m);
    set_input(&c, s, 0, CTS_N);
    for (int i = 0; i < 20; i++) cts_ok(gpuc_session_run_slice(s, 0, &p));
    assert_int_equal(p.operators, 1);
    lose_device = true;
    cts_fails(gpuc_session_run_slice(s, 0, &p), GPUC_DEVICE_LOST, "gone");
    assert_true(p.fraction == 0 && !p.complete);
    lose_device = false;
    cts_ok(gpuc_session_run_slice(s, 0, &p));
    assert_int_equal(p.operators, 0);
    close_session(&c, m, s);
}

/* Returns how many of the slices took more than 1.5 budgets, and the part of the budgets that they took in all. */
static int slices_over(gpuc_session *s, int count, uint32_t budget_us, double *out_filled)
{
    int over = 0;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        cts_ok(gpuc_session_run_slice(s, budget_us, NULL));
        over += part_ns > 1.5e3 * budget_us;
        sum += part_ns;
    }
    if (out_filled) *out_filled = sum / (1e3 * budget_us * count);
    return over;
}

/* Slices fill their budgets; where some take longer than they should, they become shorter, and longer again afterwards. */
static void slices_keep_their_budget(void **state)
{
    (void)state;
    enum { BUDGET = 40, SLICES = 600 };
    cts c;
    gpuc_model *m;
    double filled;
    gpuc_session *s = open_session(&c, CTS_CHAIN, &m);
    set_input(&c, s, 0, CTS_N);
    unit_ns = 1000;
    slices_over(s, 20, BUDGET, NULL);
    assert_int_equal(slices_over(s, SLICES, BUDGET, &filled), 0);
    assert_true(filled > 0.75 && filled <= 1); /* the last one of an inference is short */
    disturb_every = 25;
    assert_true(slices_over(s, SLICES, BUDGET, &filled) <= SLICES / 25);
    assert_true(slices_over(s, SLICES, BUDGET, &filled) <= SLICES / 100);
    assert_true(filled > 0.3);
    disturb_every = 0;
    slices_over(s, SLICES, BUDGET, NULL);
    assert_int_equal(slices_over(s, SLICES, BUDGET, &filled), 0);
    assert_true(filled > 0.75);
    close_session(&c, m, s);
}

/* A device may run whole plans only. */
static void plans_without_parts_run_whole(void **state)
{
    (void)state;
    cts c;
    gpuc_model *m;
    gpuc_slice_progress p;
    gpuc_session *s = open_session(&c, CTS_CHAIN, &m);
    watched.plan_run_part = NULL;
    set_input(&c, s, 0, CTS_N);
    cts_ok(gpuc_session_run_slice(s, 0, &p));
    assert_true(p.complete);
    close_session(&c, m, s);
}

static void old_descriptors_are_short(void **state)
{
    (void)state;
    cts c;
    open_watched(&c);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = cts_package(CTS_STATIC, NULL);
    desc.allow_native_code = true; /* behind the end that this caller knows */
    desc.struct_size = offsetof(gpuc_model_desc, allow_native_code);
    gpuc_model *m;
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_INVALID_ARGUMENT, "native code");
    cts_close(&c);
}

static void requirements_of_every_limit(void **state)
{
    (void)state;
    static const char *const names[] = {"max_num_threads",  "max_threads_x",     "max_threads_y",
                                        "max_threads_z",    "max_grid_x",        "max_grid_y",
                                        "max_grid_z",       "max_shared_memory", "max_buffer_range",
                                        "thread_warp_size", "max_texels"};
    cts c;
    open_watched(&c);
    max_range = 1 << 20;
    max_texels = 65536;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gpuc_requirement need = {.name = names[i], .at_least = INT64_MAX};
        const cts_package_options options = {.requirements = &need, .num_requirements = 1};
        gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
        gpuc_model *m;
        desc.path = cts_package(CTS_STATIC, &options);
        desc.allow_native_code = true;
        cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_DEVICE_UNAVAILABLE, names[i]);
        need.at_least = 0;
        desc.path = cts_package(CTS_STATIC, &options);
        cts_ok(gpuc_model_load(c.rt, &desc, &m));
        gpuc_model_release(m);
    }
    cts_close(&c);
}

static const char *kernel_that_ran(cts *c, const cts_package_options *options)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *m;
    gpuc_session *s;
    gpuc_step_profile steps[2];
    int count = 2;
    desc.path = cts_package(CTS_STATIC, options);
    desc.allow_native_code = desc.profiling = true;
    cts_ok(gpuc_model_load(c->rt, &desc, &m));
    cts_ok(gpuc_session_create(m, &s));
    set_input(c, s, 0, CTS_N);
    cts_ok(gpuc_session_run(s));
    cts_ok(gpuc_session_profile(s, steps, &count));
    assert_int_equal(count, 2);
    bool other = strcmp(steps[1].kernel, "affine_host") == 0;
    gpuc_session_release(s);
    gpuc_model_release(m);
    return other ? "variant" : "general";
}

static void variants_run_where_they_can(void **state)
{
    (void)state;
    cts c;
    open_watched(&c);
    cts_package_options options = {.variant = true, .variant_features = GPUC_FEATURE_FLOAT64};
    assert_string_equal(kernel_that_ran(&c, &options), "variant");
    options.variant_features |= GPUC_FEATURE_COOPMAT;
    assert_string_equal(kernel_that_ran(&c, &options), "general");
    options.variant_features = 0;
    options.variant_subgroup_size = 8; /* which a CPU cannot require */
    assert_string_equal(kernel_that_ran(&c, &options), "general");
    options.variant_tensors = 1;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *m;
    desc.path = cts_package(CTS_STATIC, &options);
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_INVALID_DATA,
              "kernel 'affine_host' takes other arguments than 'affine'");
    cts_close(&c);
}

static void profiling_is_of_one_plan(void **state)
{
    (void)state;
    double ns;
    cts c;
    open_watched(&c);
    cts_package_options options = {0};
    plan_meanwhile = true;
    assert_string_equal(kernel_that_ran(&c, &options), "general");
    assert_non_null(meanwhile);
    cts_fails(c.api->plan_profile(meanwhile, &ns, 1), GPUC_INVALID_ARGUMENT, "without profiling");
    c.api->plan_destroy(meanwhile);
    cts_close(&c);
}

static void a_device_that_the_package_has_nothing_for(void **state)
{
    (void)state;
    cts c;
    open_watched(&c);
    const gpuc_device_api named = {.name = "opencl"};
    gpuc_device other = {.api = &named, .runtime = c.rt, .type = GPUC_DEVICE_OPENCL};
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    const cts_package_options options = {.absent_first = true};
    gpuc_model *m;
    desc.path = cts_package(CTS_STATIC, &options);
    desc.device = &other;
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_NOT_FOUND,
              "holds nothing for opencl devices; its targets are 'somewhere else', 'c'");
    other.runtime = NULL;
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_INVALID_ARGUMENT, "another runtime");
    desc.device = NULL; /* every reason is told */
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_DEVICE_UNAVAILABLE,
              "target 'somewhere else': this runtime has no vulkan devices");
    cts_fails(gpuc_model_load(c.rt, &desc, &m), GPUC_DEVICE_UNAVAILABLE,
              "; target 'c': it contains native code");
    cts_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_cut_into_chunks),
        cmocka_unit_test(weights_that_are_neighbours_are_copied_together),
        cmocka_unit_test(plans_are_made_once_for_each_shape),
        cmocka_unit_test(binding_other_arrays_makes_no_plan),
        cmocka_unit_test(an_output_is_no_input),
        cmocka_unit_test(a_run_waits_for_nothing),
        cmocka_unit_test(rebinding_waits_for_nothing),
        cmocka_unit_test(a_lost_device_is_a_status),
        cmocka_unit_test(a_slice_fails),
        cmocka_unit_test(slices_keep_their_budget),
        cmocka_unit_test(plans_without_parts_run_whole),
        cmocka_unit_test(old_descriptors_are_short),
        cmocka_unit_test(requirements_of_every_limit),
        cmocka_unit_test(variants_run_where_they_can),
        cmocka_unit_test(profiling_is_of_one_plan),
        cmocka_unit_test(a_device_that_the_package_has_nothing_for),
    };
    char *args[] = {"test_executor", "cpu", NULL};
    if (!cts_available(2, args)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cts_cleanup();
    return failed;
}
