/* SPDX-License-Identifier: Apache-2.0 */
/* The device and stream that packed functions use when none is passed: of each thread, and of each
 * runtime. Other work is on the default stream, which is put in order with the current one. */
#ifndef GPUC_RUNTIME_CURRENT_H
#define GPUC_RUNTIME_CURRENT_H

#include <gpuc/runtime.h>

gpuc_device *gpuc_runtime_current_device(gpuc_runtime *rt); /* NULL until set: the host */
gpuc_stream *gpuc_runtime_current_stream(gpuc_device *dev); /* NULL: the default stream */
/* Makes the default stream current where this one is, on this thread. */
void gpuc_runtime_forget_stream(const gpuc_stream *stream);
/* Forgets the device on all threads, none of which uses it meanwhile. */
void gpuc_runtime_forget_device(const gpuc_device *dev);
/* Frees what threads have set in the runtime. */
void gpuc_runtime_free_currents(gpuc_runtime *rt);

/* Between these two the stream is the current one of its device on this thread, whatever is set. They nest. */
typedef struct gpuc_launch_stream {
    const struct gpuc_launch_stream *outer;
    gpuc_stream *stream;
} gpuc_launch_stream;
void gpuc_runtime_enter_launch(gpuc_launch_stream *l, gpuc_stream *stream);
void gpuc_runtime_leave_launch(const gpuc_launch_stream *l);

/* stream.c: what is put on the default stream from now on waits for what the thread's current stream has; what is
 * put on the current one waits for the default one. */
GPUC_NODISCARD gpuc_status gpuc_runtime_enter_default(gpuc_device *dev);
GPUC_NODISCARD gpuc_status gpuc_runtime_leave_default(gpuc_device *dev);

/* Enters `runtime.set_device` (device) and `runtime.set_stream` (device, handle). */
GPUC_NODISCARD gpuc_status gpuc_runtime_current_register(gpuc_runtime *rt);

#endif
