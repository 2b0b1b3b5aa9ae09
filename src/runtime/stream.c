/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and tickets as applications use them. */
#include "base/arena.h"
#include "base/require.h"
#include "runtime/current.h"
#include "runtime/impl.h"
#include "runtime/ndarray.h"

#define FEW_ARGS 16

gpuc_status gpuc_stream_create(gpuc_device *dev, gpuc_stream **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(dev);
    GPUC_TRY(dev->api->create_stream(dev, out));
    gpuc_device_pin(dev);
    return NULL;
}

void gpuc_stream_release(gpuc_stream *stream)
{
    if (!stream) return;
    gpuc_device *dev = stream->device;
    gpuc_runtime_forget_stream(stream);
    gpuc_status_release(
        dev->api->stream_sync(dev, stream)); /* what lies in the pool has no order otherwise */
    gpuc_runtime_workspace_forget(dev, stream);
    dev->api->free_stream(dev, stream);
    gpuc_device_unpin(dev);
}

gpuc_status gpuc_stream_flush(gpuc_stream *stream)
{
    GPUC_REQUIRE(stream);
    return stream->device->api->stream_flush(stream->device, stream);
}

gpuc_status gpuc_stream_signal(gpuc_stream *stream, gpuc_ticket *out)
{
    GPUC_REQUIRE(out);
    *out = (gpuc_ticket){0};
    GPUC_REQUIRE(stream);
    GPUC_TRY(stream->device->api->stream_signal(stream->device, stream, &out->number));
    out->device = stream->device;
    return NULL;
}

gpuc_status gpuc_stream_wait(gpuc_stream *stream, gpuc_ticket ticket)
{
    GPUC_REQUIRE(stream);
    gpuc_device *dev = stream->device;
    if (!ticket.device) return NULL;
    if (ticket.device->runtime != dev->runtime)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the ticket is of another runtime than the stream");
    /* No queue knows the work of another device. */
    if (ticket.device != dev) return gpuc_ticket_wait(ticket, GPUC_FOREVER);
    return dev->api->stream_wait(dev, stream, ticket.number);
}

bool gpuc_ticket_done(gpuc_ticket ticket)
{
    bool done = true;
    if (!ticket.device) return true;
    gpuc_status status = ticket.device->api->ticket_wait(ticket.device, ticket.number, 0, &done);
    if (!status) return done;
    gpuc_status_release(status);
    return true;
}

gpuc_status gpuc_ticket_wait(gpuc_ticket ticket, int64_t timeout_ns)
{
    bool done;
    if (!ticket.device) return NULL;
    return ticket.device->api->ticket_wait(ticket.device, ticket.number, timeout_ns, &done);
}

/* ---- The default stream, and the current one of the thread ---- */

static gpuc_status join(gpuc_device *dev, gpuc_stream *from, gpuc_stream *to)
{
    uint64_t ticket;
    GPUC_TRY(dev->api->stream_signal(dev, from, &ticket));
    return dev->api->stream_wait(dev, to, ticket);
}

gpuc_status gpuc_runtime_enter_default(gpuc_device *dev)
{
    gpuc_stream *current = gpuc_runtime_current_stream(dev);
    return current ? join(dev, current, NULL) : NULL;
}

gpuc_status gpuc_runtime_leave_default(gpuc_device *dev)
{
    gpuc_stream *current = gpuc_runtime_current_stream(dev);
    return current ? join(dev, NULL, current) : NULL;
}

/* ---- Launches ---- */

static gpuc_status call_on(gpuc_stream *stream, gpuc_function *f, const gpuc_value *args, int num_args)
{
    gpuc_launch_stream current;
    gpuc_runtime_enter_launch(&current, stream);
    gpuc_status status = gpuc_function_call(f, args, num_args, NULL);
    gpuc_runtime_leave_launch(&current);
    return status;
}

gpuc_status gpuc_launch(gpuc_stream *stream, gpuc_function *kernel, gpuc_ndarray *const *arrays,
                        int num_arrays, const gpuc_value *scalars, int num_scalars)
{
    GPUC_REQUIRE(stream);
    GPUC_REQUIRE(kernel);
    if (num_arrays > 0) GPUC_REQUIRE(arrays);
    if (num_scalars > 0) GPUC_REQUIRE(scalars);
    if (num_arrays < 0 || num_scalars < 0 || num_arrays > INT16_MAX || num_scalars > INT16_MAX)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%d arrays and %d numbers for a launch", num_arrays,
                         num_scalars);
    for (int i = 0; i < num_arrays; i++)
        if (arrays[i] && gpuc_ndarray_device(arrays[i]) != stream->device)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "array %d of a launch is not on the stream's device", i);
    gpuc_allocator a = gpuc_runtime_allocator(stream->device->runtime);
    gpuc_value few[FEW_ARGS], *args = few;
    int count = num_arrays + num_scalars;
    size_t bytes = (size_t)count * sizeof *args;
    if (count > FEW_ARGS && !(args = gpuc_mem_alloc(a, bytes)))
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the arguments of a launch");
    for (int i = 0; i < num_arrays; i++)
        args[i] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = arrays[i]};
    for (int i = 0; i < num_scalars; i++) args[num_arrays + i] = scalars[i];
    gpuc_status status = call_on(stream, kernel, args, count);
    if (args != few) gpuc_mem_free(a, args, bytes);
    return status;
}
