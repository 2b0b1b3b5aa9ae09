/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

static void no_driver_and_old_drivers(void **state)
{
    (void)state;
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev;
    spy = (cl_spy){.no_platforms = 1};
    cl_fails(cl_try_open(&desc, &rt, &dev), GPUC_DEVICE_UNAVAILABLE, "CL_PLATFORM_NOT_FOUND_KHR");
    assert_int_equal(gpuc_device_count(rt, GPUC_DEVICE_OPENCL), 0);
    spy.no_platforms = 0; /* a driver that comes later is found */
    cl_ok(gpuc_device_open(rt, GPUC_DEVICE_OPENCL, 0, &dev));
    cl_close(rt);
    spy = (cl_spy){.missing = "clEnqueueBarrierWithWaitList"};
    cl_fails(cl_try_open(&desc, &rt, &dev), GPUC_DEVICE_UNAVAILABLE, "lacks clEnqueueBarrierWithWaitList");
    cl_close(rt);
    spy = (cl_spy){.version = "OpenCL 1.1 ancient"};
    cl_fails(cl_try_open(&desc, &rt, &dev), GPUC_DEVICE_UNAVAILABLE,
             "'OpenCL 1.1 ancient', but OpenCL 1.2 is needed");
    cl_close(rt);
    spy = (cl_spy){.version = "nonsense"};
    cl_fails(cl_try_open(&desc, &rt, &dev), GPUC_DEVICE_UNAVAILABLE, "nonsense");
    cl_close(rt);
}

typedef struct scenario {
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_code_module *module;
    gpuc_buffer *x, *y;
    gpuc_plan *plan, *profiled;
    gpuc_stream *stream;
    void *blob;
} scenario;

/* Touches every kind of call. */
static gpuc_status play(scenario *s, float out[40])
{
    gpuc_runtime_desc desc = cl_desc();
    const char *source = cl_scale_source, *name = "scale";
    const gpuc_kernel *kernel = &cl_scale;
    size_t size;
    s->blob = cl_blob(&source, &name, 1, &size);
    GPUC_TRY(cl_try_open(&desc, &s->rt, &s->dev));
    const gpuc_device_api *api = s->dev->api;
    GPUC_TRY(api->module_load(s->dev, "opencl_c", s->blob, size, &kernel, 1, &s->module));
    GPUC_TRY(api->alloc_data_space(s->dev, 160, 0, &s->x));
    GPUC_TRY(api->alloc_data_space(s->dev, 160, 0, &s->y));
    float x[40];
    for (int i = 0; i < 40; i++) x[i] = (float)i;
    gpuc_copy_end host = {.host = x}, in = {.buffer = s->x}, result = {.buffer = s->y};
    GPUC_TRY(api->copy_data_from_to(s->dev, host, in, 160, NULL));
    double k = 2;
    int64_t scalars[2] = {0, 40};
    memcpy(&scalars[0], &k, sizeof k);
    const gpuc_step_tensor tensors[2] = {{.slot = 0, .access = GPUC_ACCESS_READ, .size = 160},
                                         {.slot = 1, .access = GPUC_ACCESS_WRITE, .size = 160}};
    const gpuc_step steps[2] = {{.module = s->module,
                                 .num_tensors = 2,
                                 .num_scalars = 2,
                                 .tensors = tensors,
                                 .scalars = scalars,
                                 .launch = {3, 1, 1}},
                                {.num_tensors = 2, .tensors = tensors}};
    GPUC_TRY(api->plan_create(s->dev, steps, 2, 0, &s->plan));
    GPUC_TRY(api->plan_create(s->dev, steps, 1, GPUC_PLAN_PROFILING, &s->profiled));
    GPUC_TRY(api->create_stream(s->dev, &s->stream));
    const gpuc_binding slots[2] = {{.buffer = s->x, .size = 160}, {.buffer = s->y, .size = 160}};
    const gpuc_bindings bindings = {.slots = slots, .count = 2};
    GPUC_TRY(api->plan_run(s->plan, &bindings, NULL));
    GPUC_TRY(api->copy_data_from_to(s->dev, host, in, 160, NULL)); /* staged: the queue is busy */
    GPUC_TRY(api->copy_data_from_to(s->dev, result, in, 16, NULL));
    uint64_t ticket;
    bool done;
    GPUC_TRY(api->stream_signal(s->dev, NULL, &ticket));
    GPUC_TRY(api->stream_wait(s->dev, s->stream, ticket));
    GPUC_TRY(api->launch(s->dev, s->stream, &steps[0], &bindings));
    GPUC_TRY(api->launch(s->dev, s->stream, &steps[1], &bindings));
    GPUC_TRY(api->read_later(s->dev, in, out, 160, s->stream));
    GPUC_TRY(api->stream_flush(s->dev, s->stream));
    GPUC_TRY(api->stream_signal(s->dev, s->stream, &ticket));
    GPUC_TRY(api->ticket_wait(s->dev, ticket, GPUC_FOREVER, &done));
    GPUC_TRY(api->plan_run(s->profiled, &bindings, s->stream));
    GPUC_TRY(api->stream_sync(s->dev, s->stream));
    double ns;
    GPUC_TRY(api->plan_profile(s->profiled, &ns, 1));
    GPUC_TRY(api->stream_sync(s->dev, NULL));
    return api->copy_data_from_to(s->dev, result, (gpuc_copy_end){.host = out}, 160, NULL);
}

static void tear_down(scenario *s)
{
    if (s->dev) {
        const gpuc_device_api *api = s->dev->api;
        gpuc_status_release(api->stream_sync(s->dev, NULL));
        api->plan_destroy(s->plan);
        api->plan_destroy(s->profiled);
        api->free_stream(s->dev, s->stream);
        api->free_data_space(s->dev, s->x);
        api->free_data_space(s->dev, s->y);
        api->module_release(s->dev, s->module);
    }
    free(s->blob);
    cl_close(s->rt);
}

static void every_call_may_fail(void **state)
{
    (void)state;
    static const cl_int errors[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, -9999};
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
        for (int at = 1;; at++) {
            spy = (cl_spy){.fail_at = at, .error = errors[e]};
            scenario s = {0};
            float out[40];
            gpuc_status status = play(&s, out);
            bool reached = spy.failed != NULL;
            if (reached && status) {
                if (!strstr(gpuc_status_message(status), spy.failed))
                    fail_msg("%s failed, but the message is: %s", spy.failed, gpuc_status_message(status));
                gpuc_code code = gpuc_status_code(status);
                if (e == 0)
                    assert_true(code == GPUC_OUT_OF_DEVICE_MEMORY || code == GPUC_DEVICE_LOST ||
                                code == GPUC_DEVICE_UNAVAILABLE || code == GPUC_INVALID_DATA);
            } else if (status) {
                cl_ok(status);
            } else if (reached) {
                fail_msg("the failure of %s (call %d) was lost", spy.failed, at);
            }
            gpuc_status_release(status);
            tear_down(&s);
            if (reached) continue;
            for (int i = 0; i < 40; i++) assert_true(out[i] == 2.0f * (float)i);
            assert_true(at > 25);
            break;
        }
}

static void a_lost_device_is_said_to_be_lost(void **state)
{
    (void)state;
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev = cl_open(&desc, &rt);
    spy.fail_name = "clFinish";
    cl_fails(dev->api->stream_sync(dev, NULL), GPUC_DEVICE_LOST, "clFinish: CL_OUT_OF_RESOURCES (-5)");
    spy.fail_name = NULL;
    cl_ok(dev->api->stream_sync(dev, NULL));
    cl_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver_and_old_drivers),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(a_lost_device_is_said_to_be_lost),
    };
    return cl_available() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
