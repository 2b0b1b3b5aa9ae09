/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a DeviceAPI for devices that leave them out. */
#ifndef GPUC_RUNTIME_DEFAULT_API_H
#define GPUC_RUNTIME_DEFAULT_API_H

#include <gpuc/device.h>

/* The table with a default for all that it leaves out. INVALID_ARGUMENT, with the function's name, if it lacks one
 * that has none; UNSUPPORTED if it is of another version. */
GPUC_NODISCARD gpuc_status gpuc_runtime_complete_api(const char *name, const gpuc_device_api *api,
                                                     gpuc_device_api *out);

#endif
