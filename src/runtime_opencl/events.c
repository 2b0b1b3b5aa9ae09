/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the application around the work of streams and sessions. */
#include "base/require.h"
#include "runtime_opencl/cl.h"

static gpuc_status check_event(const gpuc_cl_device *dev, cl_event event)
{
    cl_context context = NULL;
    if (!event) return gpuc_fail(GPUC_INVALID_ARGUMENT, "it is NULL");
    cl_int error = dev->fn->GetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    if (error == CL_INVALID_EVENT)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it is no event of the device's OpenCL (clGetEventInfo: %s)",
                         gpuc_cl_error_name(error));
    GPUC_CL_TRY("clGetEventInfo", error);
    if (context != dev->context)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it is of another context than the device");
    cl_int state = gpuc_cl_event_state(dev, event);
    if (state < 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "it has failed (%s, %d), so that its work is not done",
                         gpuc_cl_error_name(state), (int)state);
    return NULL;
}

static gpuc_status check_events(const gpuc_cl_device *dev, uint32_t count, const cl_event *events)
{
    if (count) GPUC_REQUIRE(events);
    for (uint32_t i = 0; i < count; i++)
        GPUC_TRY(gpuc_error_prefix(check_event(dev, events[i]), "event %u", i));
    return NULL;
}

static gpuc_status wait_for_events(gpuc_cl_device *dev, gpuc_cl_stream *s, uint32_t count,
                                   const cl_event *events)
{
    gpuc_cl_queue_forgive(dev, &s->queue);
    if (count == 0) return NULL;
    gpuc_status status = gpuc_cl_queue_wait(dev, &s->queue, count, events);
    atomic_fetch_add(&s->queued, 1);
    return status;
}

gpuc_status gpuc_opencl_wait(gpuc_device *device, gpuc_stream *stream, uint32_t num_events,
                             struct _cl_event *const *events)
{
    gpuc_cl_device *dev;
    GPUC_REQUIRE(device);
    GPUC_TRY(gpuc_cl_device_of(device, "the stream", &dev));
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(check_events(dev, num_events, events));
    return wait_for_events(dev, gpuc_cl_stream_of(dev, stream), num_events, events);
}

gpuc_status gpuc_opencl_signal(gpuc_device *device, gpuc_stream *stream, struct _cl_event **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    gpuc_cl_device *dev;
    GPUC_REQUIRE(device);
    GPUC_TRY(gpuc_cl_device_of(device, "the stream", &dev));
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    return gpuc_cl_queue_mark(dev, &gpuc_cl_stream_of(dev, stream)->queue, out);
}

gpuc_status gpuc_opencl_submit(gpuc_session *session, uint32_t num_wait, struct _cl_event *const *wait,
                               struct _cl_event **out_done)
{
    if (out_done) *out_done = NULL;
    gpuc_cl_device *dev;
    GPUC_REQUIRE(session);
    gpuc_model *model = gpuc_session_model(session);
    bool host = gpuc_model_uses_fallback(model); /* the CPU knows no events */
    GPUC_TRY(gpuc_cl_device_of(gpuc_model_device(model), "the model", &dev));
    GPUC_TRY(check_events(dev, num_wait, wait));
    if (host && num_wait) {
        cl_int error = dev->fn->WaitForEvents(num_wait, wait);
        if (error != CL_SUCCESS) return gpuc_cl_wait_error("clWaitForEvents", error);
    }
    GPUC_TRY(wait_for_events(dev, &dev->main, num_wait, wait));
    GPUC_TRY(gpuc_session_run(session));
    if (host) GPUC_TRY(gpuc_session_sync(session));
    return out_done ? gpuc_cl_queue_mark(dev, &dev->main.queue, out_done) : NULL;
}
