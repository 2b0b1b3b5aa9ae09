/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of arrays, plans and barriers when an application lets go of things early, says things late, and records
 * a network piece by piece. */
#include "app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "../relay/fixture.h"

enum { ROWS = 8, COLUMNS = 256, OUT = 64, X_BYTES = ROWS * COLUMNS * 4 };

/* ---- Networks ------------------------------------------------------------------------------------ */

enum { VIEWS, COPIED, VARIANTS, NUM_NETWORKS };
static char packages[NUM_NETWORKS][64];

static void build(gpuc_ctx *ctx, void *arg)
{
    int which = *(const int *)arg;
    fx_rng rng = {.state = 5};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, GPUC_FLOAT32, FX_DIMS(ROWS, COLUMNS))), *y = x;
    if (which == VIEWS) { /* the first operator and the last one have no steps */
        y = fx_op1(ctx, "reshape", "newshape=[2048]", y);
        y = fx_op1(ctx, "nn.softmax", "axis=-1", y);
        y = fx_op1(ctx, "reshape", "newshape=[256, 8]", y);
    } else if (which == COPIED) {
        gpuc_rexpr *both[] = {fx_op1(ctx, "nn.relu", "", x), x};
        y = gpuc_relay_tuple(ctx, 2, both);
    } else {
        y = fx_op1(ctx, "nn.softmax", "axis=-1", y);
        y = fx_op2(ctx, "nn.dense", y,
                   fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(OUT, COLUMNS)), &rng));
    }
    const gpuc_target *any = gpuc_target_parse(ctx, "vulkan", NULL),
                      *rich = gpuc_target_parse(ctx, "vulkan/llvmpipe", NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_package(ctx, fx_module(ctx, y, 1, &x), which == VARIANTS ? 2 : 1,
                       which == VARIANTS ? (const gpuc_target *[]){rich, any} : &any, &options,
                       packages[which], NULL);
}

static int make_packages(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_NETWORKS; i++) app_make_package(packages[i], build, &i);
    return 0;
}

static int remove_packages(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_NETWORKS; i++) remove(packages[i]);
    return 0;
}

/* ---- The application ------------------------------------------------------------------------------ */

typedef struct world {
    app a;
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_model *model;
    gpuc_session *session;
    app_buffer x, y, z;
} world;

static void open_world(world *w, int network, bool defer)
{
    memset(w, 0, sizeof *w);
    app_open(&w->a, (app_options){0});
    gpuc_runtime_desc d = GPUC_RUNTIME_DESC_INIT;
    ok(gpuc_runtime_create(&d, &w->rt));
    app_register(w->rt);
    gpuc_vulkan_device_desc desc = app_desc(&w->a);
    ok(gpuc_vulkan_adopt(w->rt, &desc, &w->dev));
    gpuc_model_desc m = GPUC_MODEL_DESC_INIT;
    m.path = packages[network];
    m.device = w->dev;
    m.defer = defer;
    ok(gpuc_model_load(w->rt, &m, &w->model));
    ok(gpuc_session_create(w->model, &w->session));
    w->x = app_buffer_make(&w->a, X_BYTES, APP_USAGE);
    w->y = app_buffer_make(&w->a, X_BYTES, APP_USAGE);
    w->z = app_buffer_make(&w->a, X_BYTES, APP_USAGE);
    for (int i = 0; i < ROWS * COLUMNS; i++) w->x.floats[i] = (float)(i * 13 % 41 - 20) / 20;
    app_flush(&w->a, &w->x);
}

static void close_world(world *w)
{
    gpuc_session_release(w->session);
    gpuc_model_release(w->model);
    ok(gpuc_device_close(w->dev));
    gpuc_runtime_release(w->rt);
    app_buffer_destroy(&w->a, &w->x);
    app_buffer_destroy(&w->a, &w->y);
    app_buffer_destroy(&w->a, &w->z);
    app_close(&w->a);
}

static gpuc_ndarray *wrap(world *w, const app_buffer *b, int64_t rows, int64_t columns, uint32_t family,
                          int *released)
{
    int64_t dims[] = {rows, columns};
    gpuc_vulkan_buffer v = app_wrap(b, 0, b->size);
    gpuc_ndarray *out;
    v.owner_family = family;
    ok(gpuc_vulkan_wrap_buffer(w->dev, &v, GPUC_FLOAT32, 2, dims, released ? app_count_release : NULL,
                               released, &out));
    return out;
}

static void bind(world *w, int64_t out_rows, int64_t out_columns, uint32_t family)
{
    gpuc_ndarray *x = wrap(w, &w->x, ROWS, COLUMNS, family, NULL);
    gpuc_ndarray *y = wrap(w, &w->y, out_rows, out_columns, family, NULL);
    ok(gpuc_session_bind_input(w->session, 0, x));
    ok(gpuc_session_bind_output(w->session, 0, y));
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(y);
}

static const gpuc_vulkan_sync host_sync = {.src_stages = VK_PIPELINE_STAGE_HOST_BIT,
                                           .src_access = VK_ACCESS_HOST_WRITE_BIT,
                                           .dst_stages = VK_PIPELINE_STAGE_HOST_BIT,
                                           .dst_access = VK_ACCESS_HOST_READ_BIT};

/* ---- Tests ------------------------------------------------------------------------------------ */

/* What is said for both ends holds where the operators at the ends have no steps. */
static void test_ends_without_steps(void **state)
{
    (void)state;
    world w;
    open_world(&w, VIEWS, false);
    int nodes = gpuc_model_num_nodes(w.model);
    assert_int_equal(gpuc_model_node(w.model, 0).num_steps, 0);
    assert_int_equal(gpuc_model_node(w.model, nodes - 1).num_steps, 0);
    bind(&w, 256, 8, w.a.family + 1);
    const gpuc_vulkan_sync first = {.src_stages = VK_PIPELINE_STAGE_HOST_BIT,
                                    .src_access = VK_ACCESS_HOST_WRITE_BIT},
                           last = {.dst_stages = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   .dst_access = VK_ACCESS_TRANSFER_READ_BIT};
    VkBufferCopy all = {.size = X_BYTES};
    memset(&app_counted, 0, sizeof app_counted);
    VkCommandBuffer cb = app_begin(&w.a);
    for (int i = 0; i < nodes; i++) {
        ok(gpuc_session_record_nodes(w.session, cb, i == 0 ? &first : i + 1 == nodes ? &last : NULL, i, 1));
        assert_int_equal(app_counted.taken, 2);
        assert_int_equal(app_counted.given, i + 1 == nodes ? 2 : 0);
    }
    w.a.CmdCopyBuffer(cb, w.y.handle, w.z.handle, 1,
                      &all); /* behind the last barrier, or the layer complains */
    app_run(&w.a, cb);
    app_fetch(&w.a, &w.z);
    float sum = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) sum += w.z.floats[i];
    assert_true(sum > 0.999f && sum < 1.001f);
    close_world(&w);
}

/* An array that is released while its work is queued, and another one over the same buffer. */
static void test_wrapped_again(void **state)
{
    (void)state;
    world w;
    int released = 0;
    static float got[ROWS * COLUMNS];
    open_world(&w, COPIED, false);
    gpuc_ndarray *x = wrap(&w, &w.x, ROWS, COLUMNS, GPUC_VULKAN_SAME_FAMILY, NULL);
    gpuc_ndarray *z = wrap(&w, &w.z, ROWS, COLUMNS, GPUC_VULKAN_SAME_FAMILY, NULL);
    for (int round = 0; round < 3; round++) {
        gpuc_ndarray *y = wrap(&w, &w.y, ROWS, COLUMNS, GPUC_VULKAN_SAME_FAMILY, &released);
        ok(gpuc_ndarray_copy(x, y));
        gpuc_ndarray_release(y);
        assert_int_equal(released, 2 * round);
        y = wrap(&w, &w.y, ROWS, COLUMNS, GPUC_VULKAN_SAME_FAMILY, &released);
        ok(gpuc_ndarray_copy(y, z)); /* behind the first copy, or the layer complains */
        ok(gpuc_ndarray_read(z, got, sizeof got));
        assert_memory_equal(got, w.x.floats, sizeof got);
        gpuc_ndarray_release(y);
        assert_int_equal(released, 2 * round + 2);
    }
    gpuc_ndarray_release(x);
    gpuc_ndarray_release(z);
    close_world(&w);
}

/* What another family owns is in use until it has been given back, which comes after the network. */
static void test_given_back_in_use(void **state)
{
    (void)state;
    world w;
    int released[2] = {0};
    const gpuc_vulkan_submit nothing = {0};
    open_world(&w, VARIANTS, false);
    gpuc_ndarray *x = wrap(&w, &w.x, ROWS, COLUMNS, w.a.family + 1, &released[0]);
    gpuc_ndarray *y = wrap(&w, &w.y, ROWS, OUT, w.a.family + 1, &released[1]);
    ok(gpuc_session_bind_input(w.session, 0, x));
    ok(gpuc_session_bind_output(w.session, 0, y));
    ok(gpuc_session_submit(w.session, &nothing));
    ok(gpuc_session_sync(w.session)); /* waits for the network */
    ok(gpuc_session_bind_input(w.session, 0, NULL));
    ok(gpuc_session_bind_output(w.session, 0, NULL));
    app_counted.fail_with = VK_NOT_READY;
    app_counted.fail_at = app_counted.calls + 1;
    gpuc_ndarray_release(x);
    assert_string_equal(app_counted.failed, "vkGetFenceStatus");
    app_counted.fail_at = 0;
    assert_int_equal(released[0], 0);
    w.a.QueueWaitIdle(w.a.queue);
    gpuc_ndarray_release(y);
    for (int i = 0; i < 2; i++) assert_int_equal(released[i], 1);
    close_world(&w);
}

/* The application may make another buffer with the handle of one that it has destroyed. */
static void test_other_usage_afterwards(void **state)
{
    (void)state;
    world w;
    open_world(&w, COPIED, false);
    int64_t dims[] = {ROWS, COLUMNS};
    gpuc_ndarray *x = wrap(&w, &w.x, ROWS, COLUMNS, GPUC_VULKAN_SAME_FAMILY, NULL);
    gpuc_ndarray *y = wrap(&w, &w.y, ROWS, COLUMNS, GPUC_VULKAN_SAME_FAMILY, NULL);
    gpuc_vulkan_buffer v = app_wrap(&w.y, 0, w.y.size);
    ok(gpuc_ndarray_copy(x, y));
    gpuc_ndarray_release(y);
    v.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_FLOAT32, 2, dims, NULL, NULL, &y));
    gpuc_ndarray_release(y);
    gpuc_ndarray_release(x);
    close_world(&w);
}

static void test_workspace_apart(void **state)
{
    (void)state;
    world w;
    open_world(&w, VARIANTS, false);
    bind(&w, ROWS, OUT, GPUC_VULKAN_SAME_FAMILY);
    const app_buffer *under[] = {&w.x, &w.y};
    static const char *const words[] = {"the array of input 'x'", "the array of output"};
    for (int i = 0; i < 2; i++) {
        int64_t bytes = X_BYTES;
        gpuc_vulkan_buffer v = app_wrap(under[i], 0, X_BYTES);
        gpuc_ndarray *memory;
        ok(gpuc_vulkan_wrap_buffer(w.dev, &v, GPUC_UINT8, 1, &bytes, NULL, NULL, &memory));
        ok(gpuc_session_bind_workspace(w.session, memory));
        fails(gpuc_session_run(w.session), GPUC_INVALID_ARGUMENT, words[i]);
        gpuc_ndarray_release(memory);
    }
    ok(gpuc_session_bind_workspace(w.session, NULL));
    close_world(&w);
}

static const char *variant(const world *w)
{
    return gpuc_model_node_step(w->model, 0, 0).variant;
}

/* Richer kernels come while a command buffer with the general ones is pending: that stays as it is. */
static void test_prepared_after_recording(void **state)
{
    (void)state;
    world w;
    open_world(&w, VARIANTS, true);
    bind(&w, ROWS, OUT, GPUC_VULKAN_SAME_FAMILY);
    VkCommandBuffer old = app_begin(&w.a);
    ok(gpuc_session_record(w.session, old, &host_sync));
    assert_string_equal(variant(&w), gpuc_model_node_step(w.model, 0, 0).kernel);
    ok(gpuc_model_prepare(w.model, NULL, NULL));
    /* The program for any device, which the strict one runs, has one kind. */
    if (w.a.features.features.shaderInt64)
        assert_string_not_equal(variant(&w), gpuc_model_node_step(w.model, 0, 0).kernel);
    ok(gpuc_session_run(w.session));
    ok(gpuc_session_sync(w.session));
    app_fetch(&w.a, &w.y);
    static float want[ROWS * OUT];
    memcpy(want, w.y.floats, sizeof want);
    VkCommandBuffer cbs[] = {old, app_begin(&w.a)};
    ok(gpuc_session_record(w.session, cbs[1], &host_sync));
    for (int i = 0; i < 2; i++) {
        memset(w.y.floats, 0xff, X_BYTES);
        app_flush(&w.a, &w.y);
        app_run(&w.a, cbs[i]);
        app_fetch(&w.a, &w.y);
        for (int k = 0; k < ROWS * OUT; k++) assert_float_equal(w.y.floats[k], want[k], 1e-4f);
    }
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_without_steps), cmocka_unit_test(test_wrapped_again),
        cmocka_unit_test(test_given_back_in_use),  cmocka_unit_test(test_other_usage_afterwards),
        cmocka_unit_test(test_workspace_apart),    cmocka_unit_test(test_prepared_after_recording)};
    return app_available() ? cmocka_run_group_tests(tests, make_packages, remove_packages) : 77;
}
