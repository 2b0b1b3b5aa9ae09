/* SPDX-License-Identifier: Apache-2.0 */
/* The device and stream that packed functions use when none is passed: of each thread, and of each
 * runtime. Executors do not look here. A thread remembers them for the last four runtimes that it set
 * one in, and streams for up to eight devices of each. */
#ifndef GPUC_RUNTIME_CURRENT_H
#define GPUC_RUNTIME_CURRENT_H

#include <gpuc/runtime.h>

void gpuc_runtime_set_device(gpuc_device *dev);
gpuc_device *gpuc_runtime_current_device(gpuc_runtime *rt); /* NULL until set: the host */
GPUC_NODISCARD gpuc_status gpuc_runtime_set_stream(gpuc_device *dev, gpuc_stream *stream);
gpuc_stream *gpuc_runtime_current_stream(gpuc_device *dev); /* NULL: the default stream */

/* Enters `runtime.set_device` (device) and `runtime.set_stream` (device, handle). */
GPUC_NODISCARD gpuc_status gpuc_runtime_current_register(gpuc_runtime *rt);

#endif
