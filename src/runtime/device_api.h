/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of devices as packed functions: `device_api.<name>.<method>`. */
#ifndef GPUC_RUNTIME_DEVICE_API_H
#define GPUC_RUNTIME_DEVICE_API_H

#include "runtime/impl.h"

/* Enters them for a driver, which lives as long as its runtime; nothing on failure. */
GPUC_NODISCARD gpuc_status gpuc_runtime_device_api_register(gpuc_driver_entry *entry);

#endif
