/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

/* ---- A cache in memory ------------------------------------------------------------------------ */

typedef struct entry {
    char key[64];
    unsigned char *bytes;
    size_t size;
} entry;

static entry entries[8];
static int num_entries, stores, loads, rejections;

static entry *find_entry(const char *key)
{
    for (int i = 0; i < num_entries; i++)
        if (strcmp(entries[i].key, key) == 0) return &entries[i];
    return NULL;
}

static bool load_entry(void *user, const char *key, const void **bytes, size_t *size)
{
    (void)user;
    entry *e = find_entry(key);
    if (!e) return false;
    *bytes = e->bytes;
    *size = e->size;
    loads++;
    return true;
}

static void store_entry(void *user, const char *key, const void *bytes, size_t size)
{
    (void)user;
    entry *e = find_entry(key);
    if (!e) e = &entries[num_entries++];
    snprintf(e->key, sizeof e->key, "%s", key);
    e->bytes = realloc(e->bytes, size);
    memcpy(e->bytes, bytes, size);
    e->size = size;
    stores++;
}

static void on_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)user;
    (void)level;
    (void)message;
    if (strcmp(id, "opencl.cache") == 0) rejections++;
}

static void forget_entries(void)
{
    for (int i = 0; i < num_entries; i++) free(entries[i].bytes);
    memset(entries, 0, sizeof entries);
    num_entries = stores = loads = rejections = 0;
}

/* Loads the module in a runtime of its own and checks that it works. is_pocl: the driver keeps what it
 * compiled. */
static void load_and_run_on(bool is_pocl, const char *fail_name)
{
    gpuc_runtime_desc desc = cl_desc();
    desc.cache_load = load_entry;
    desc.cache_store = store_entry;
    desc.log = on_log;
    gpuc_runtime *rt;
    gpuc_device *dev = cl_open(&desc, &rt);
    ((gpuc_cl_device *)dev)->caps.is_pocl = is_pocl;
    spy.fail_name = fail_name;
    spy.error = CL_INVALID_BINARY;
    gpuc_code_module *m = cl_load_scale(dev);
    spy.fail_name = NULL;
    gpuc_plan *plan = cl_plan_scale(dev, m, 5, 0);
    gpuc_buffer *b;
    float x[5] = {1, 2, 3, 4, 5};
    cl_ok(dev->api->alloc_data_space(dev, 40, 0, &b));
    cl_ok(
        dev->api->copy_data_from_to(dev, (gpuc_copy_end){.host = x}, (gpuc_copy_end){.buffer = b}, 20, NULL));
    const gpuc_binding slots[2] = {{.buffer = b, .size = 20}, {.buffer = b, .offset = 20, .size = 20}};
    cl_ok(dev->api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL));
    cl_ok(dev->api->copy_data_from_to(dev, (gpuc_copy_end){.buffer = b, .offset = 20},
                                      (gpuc_copy_end){.host = x}, 20, NULL));
    for (int i = 0; i < 5; i++) assert_true(x[i] == 2 * (float)(i + 1));
    dev->api->plan_destroy(plan);
    dev->api->free_data_space(dev, b);
    dev->api->module_release(dev, m);
    cl_close(rt);
}

static void load_and_run(const char *fail_name)
{
    load_and_run_on(false, fail_name);
}

static void drivers_with_a_cache_keep_theirs(void **state)
{
    (void)state;
    forget_entries();
    load_and_run_on(true, NULL);
    assert_int_equal(spy.sources, 1);
    assert_int_equal(stores, 0);
}

static void binaries_are_cached(void **state)
{
    (void)state;
    forget_entries();
    load_and_run(NULL);
    assert_int_equal(spy.sources, 1);
    assert_int_equal(stores, 1);
    load_and_run(NULL);
    assert_int_equal(spy.sources, 0);
    assert_int_equal(spy.binaries, 1);
    assert_int_equal(loads, 1);
    assert_int_equal(stores, 1);
    assert_int_equal(rejections, 0);
}

static void damaged_binaries_are_replaced(void **state)
{
    (void)state;
    forget_entries();
    load_and_run(NULL);
    entry *e = &entries[0];
    size_t places[] = {0, 9, 20, e->size / 2, e->size - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        e->bytes[places[i]] ^= 1;
        stores = rejections = 0;
        load_and_run(NULL);
        assert_int_equal(spy.binaries, 0); /* the driver never sees it */
        assert_int_equal(spy.sources, 1);
        assert_int_equal(stores, 1);
        assert_int_equal(rejections, 1);
    }
    uint32_t random = 99;
    for (int i = 0; i < 20; i++) {
        random = random * 1664525u + 1013904223u;
        size_t bit = (random >> 4) % (8 * e->size);
        e->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (i % 5 == 4) e->size = (random >> 8) % e->size; /* cut off, perhaps to nothing */
        load_and_run(NULL);
        assert_int_equal(spy.binaries, 0);
        assert_int_equal(spy.sources, 1);
    }
    e->size = 3;
    load_and_run(NULL);
    assert_int_equal(spy.sources, 1);
    load_and_run("clCreateProgramWithBinary"); /* one that the driver refuses */
    assert_int_equal(spy.sources, 1);
    load_and_run(NULL);
    assert_int_equal(spy.sources, 0);
    forget_entries();
}

/* A whole entry under the key of another program is none of it. */
static void binaries_of_other_programs_are_refused(void **state)
{
    (void)state;
    char key[64];
    forget_entries();
    load_and_run(NULL);
    snprintf(key, sizeof key, "%s", entries[0].key);
    entries[0].key[10] ^= 1;
    size_t size;
    assert_null(gpuc_cl_cache_open(entries[0].key, entries[0].bytes, entries[0].size, &size));
    assert_int_equal(size, 0);
    assert_non_null(gpuc_cl_cache_open(key, entries[0].bytes, entries[0].size, &size));
    forget_entries();
}

/* ---- Sources ---------------------------------------------------------------------------------- */

static gpuc_status load(gpuc_device *dev, const char *source, const gpuc_kernel *kernel, gpuc_code_module **m)
{
    const char *name = kernel->name;
    size_t size;
    void *blob = cl_blob(&source, &name, 1, &size);
    gpuc_status s = dev->api->module_load(dev, "opencl_c", blob, size, &kernel, 1, m);
    free(blob);
    return s;
}

static void build_failures_show_the_log(void **state)
{
    (void)state;
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev = cl_open(&desc, &rt);
    gpuc_code_module *m;
    gpuc_status s =
        load(dev, "__kernel void scale(__global float *x) { x[0] = not_declared; }", &cl_scale, &m);
    assert_null(m);
    assert_int_equal(gpuc_status_code(s), GPUC_INVALID_DATA);
    assert_non_null(
        strstr(gpuc_status_message(s), "OpenCL kernels scale: clBuildProgram: CL_BUILD_PROGRAM_FAILURE"));
    assert_non_null(strstr(gpuc_status_message(s), "not_declared"));
    gpuc_status_release(s);
    cl_close(rt);
}

static void kernels_are_checked_against_their_metadata(void **state)
{
    (void)state;
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev = cl_open(&desc, &rt);
    gpuc_code_module *m;
    gpuc_kernel k = cl_scale;
    k.num_scalars = 1;
    cl_fails(load(dev, cl_scale_source, &k, &m), GPUC_INVALID_DATA, "'scale' has 6 arguments in its source");
    k = cl_scale;
    k.name = "other";
    cl_fails(load(dev, cl_scale_source, &k, &m), GPUC_INVALID_DATA, "kernel 'other': clCreateKernel");
    k = cl_scale;
    k.local_size[0] = 1 << 30;
    cl_fails(load(dev, cl_scale_source, &k, &m), GPUC_DEVICE_UNAVAILABLE,
             "needs a work-group of 1073741824 in x");
    k = cl_scale;
    for (int i = 0; i < 3; i++) /* each of them is allowed, but not all together */
        k.local_size[i] =
            (uint32_t)gpuc_device_get_attr(dev, (gpuc_device_attr)(GPUC_ATTR_MAX_BLOCK_X + i)).i;
    cl_fails(
        load(dev,
             "__kernel void scale(__global float *x, int a, __global float *y, int b, float k, int n) {}", &k,
             &m),
        GPUC_DEVICE_UNAVAILABLE, "allows it");
    k = cl_scale;
    k.shared_bytes = 1u << 31;
    cl_fails(load(dev, cl_scale_source, &k, &m), GPUC_DEVICE_UNAVAILABLE, "2147483648 bytes of local memory");
    k = cl_scale;
    k.features = GPUC_FEATURE_COOPMAT;
    cl_fails(load(dev, cl_scale_source, &k, &m), GPUC_DEVICE_UNAVAILABLE, "needs coopmat");
    k = cl_scale;
    k.subgroup_size = 32;
    cl_fails(load(dev, cl_scale_source, &k, &m), GPUC_DEVICE_UNAVAILABLE, "needs subgroups of 32");
    cl_close(rt);
}

static void several_programs_in_one_module(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    char sources[COUNT][160], names[COUNT][16];
    const char *source_list[COUNT], *name_list[COUNT];
    gpuc_kernel kernels[COUNT];
    const gpuc_kernel *kernel_list[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        snprintf(sources[i], sizeof sources[i], "__kernel void k%d(__global int *x, int o) { x[o] = %d; }", i,
                 100 + i);
        source_list[i] = sources[i];
        name_list[i] = names[i];
        kernels[i] = cl_scale;
        kernels[i].name = names[i];
        kernels[i].num_tensors = 1;
        kernels[i].num_scalars = 0;
        kernels[i].local_size[0] = 1;
        kernel_list[i] = &kernels[COUNT - 1 - i];
    }
    for (int i = 0; i < COUNT; i++) kernel_list[i] = &kernels[COUNT - 1 - i];
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev = cl_open(&desc, &rt);
    size_t size;
    void *blob = cl_blob(source_list, name_list, COUNT, &size);
    gpuc_code_module *m;
    cl_ok(dev->api->module_load(dev, "opencl_c", blob, size, kernel_list, COUNT, &m));
    assert_int_equal(spy.builds, COUNT);
    gpuc_buffer *b;
    cl_ok(dev->api->alloc_data_space(dev, 4 * COUNT, 0, &b));
    gpuc_step steps[COUNT];
    gpuc_step_tensor tensors[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        tensors[i] = (gpuc_step_tensor){.access = GPUC_ACCESS_WRITE, .offset = 4 * i, .size = 4};
        steps[i] = (gpuc_step){.module = m, .num_tensors = 1, .tensors = &tensors[i], .launch = {1, 1, 1}};
        cl_ok(dev->api->kernel_get(m, names[i], &steps[i].kernel));
    }
    gpuc_plan *plan;
    cl_ok(dev->api->plan_create(dev, steps, COUNT, 0, &plan));
    const gpuc_binding slot = {.buffer = b, .size = 4 * COUNT};
    cl_ok(dev->api->plan_run(plan, &(gpuc_bindings){.slots = &slot, .count = 1}, NULL));
    int32_t out[COUNT];
    cl_ok(dev->api->copy_data_from_to(dev, (gpuc_copy_end){.buffer = b}, (gpuc_copy_end){.host = out},
                                      sizeof out, NULL));
    for (int i = 0; i < COUNT; i++) assert_int_equal(out[i], 100 + i);
    dev->api->plan_destroy(plan);
    dev->api->free_data_space(dev, b);
    dev->api->module_release(dev, m);

    source_list[7] = "this is not a program"; /* one of many fails: nothing is left of the others */
    free(blob);
    blob = cl_blob(source_list, name_list, COUNT, &size);
    cl_fails(dev->api->module_load(dev, "opencl_c", blob, size, kernel_list, COUNT, &m), GPUC_INVALID_DATA,
             "k7");
    free(blob);
    cl_close(rt);
}

static void truncated_modules(void **state)
{
    (void)state;
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev = cl_open(&desc, &rt);
    const char *source = cl_scale_source, *name = "scale";
    const gpuc_kernel *kernel = &cl_scale;
    size_t size;
    uint8_t *blob = cl_blob(&source, &name, 1, &size);
    for (size_t n = 0; n < size; n++) {
        uint8_t *part = malloc(n ? n : 1);
        memcpy(part, blob, n);
        gpuc_code_module *m;
        cl_fails(dev->api->module_load(dev, "opencl_c", part, n, &kernel, 1, &m), GPUC_INVALID_DATA,
                 "the OpenCL module");
        free(part);
    }
    free(blob);
    assert_int_equal(spy.builds, 0);
    cl_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binaries_are_cached),
        cmocka_unit_test(drivers_with_a_cache_keep_theirs),
        cmocka_unit_test(damaged_binaries_are_replaced),
        cmocka_unit_test(binaries_of_other_programs_are_refused),
        cmocka_unit_test(build_failures_show_the_log),
        cmocka_unit_test(kernels_are_checked_against_their_metadata),
        cmocka_unit_test(several_programs_in_one_module),
        cmocka_unit_test(truncated_modules),
    };
    return cl_available() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
