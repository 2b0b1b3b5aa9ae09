/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime gives to gpuc's own backends, executors and compiler, beyond gpuc/driver.h. */
#ifndef GPUC_RUNTIME_SERVICES_H
#define GPUC_RUNTIME_SERVICES_H

#include <gpuc/driver.h>

/* An object that an application holds pins the runtime, so that devices outlive their buffers whatever order
 * things are released in. */
void gpuc_runtime_pin(gpuc_runtime *rt);
void gpuc_runtime_unpin(gpuc_runtime *rt);
/* The same for what lies on a device: it pins the runtime, too, and the device cannot be closed meanwhile. */
void gpuc_device_pin(gpuc_device *dev);
void gpuc_device_unpin(gpuc_device *dev);

/* Enters a device that a backend has made of the application's objects, under the first free number from
 * GPUC_ADOPTED_FIRST on. driver: the backend's name. The runtime owns the device from now on; on failure it stays
 * the caller's. */
GPUC_NODISCARD gpuc_status gpuc_runtime_adopt(gpuc_runtime *rt, const char *driver, gpuc_device *dev);
const gpuc_runtime_desc *gpuc_runtime_get_desc(gpuc_runtime *rt);

typedef struct gpuc_registry_change gpuc_registry_change;
/* Begins to note changes of the registry; they nest. The result is for the end: with undo, the registry is what it was
 * then. */
gpuc_registry_change *gpuc_registry_begin_changes(gpuc_runtime *rt);
void gpuc_registry_end_changes(gpuc_runtime *rt, gpuc_registry_change *mark, bool undo);

/* Makes m import a part that its own bytes hold; before the application can make it import others. */
GPUC_NODISCARD gpuc_status gpuc_runtime_module_contain(gpuc_module *m, gpuc_module *part);
/* gpuc_module_save_binary without what it imports. */
GPUC_NODISCARD gpuc_status gpuc_runtime_module_save_alone(gpuc_module *m, gpuc_value *out_bytes);
/* Whether it was made of this code. */
bool gpuc_runtime_function_is(const gpuc_function *f, gpuc_packed_fn fn);
/* gpuc_function_call by a caller that holds f, with arguments that are there: a function that leaves by a raise
 * leaves no reference behind. */
GPUC_NODISCARD gpuc_status gpuc_runtime_function_run(gpuc_function *f, const gpuc_value *args, int num_args,
                                                     gpuc_value *ret);
/* The module in the result of the function `name`, which is taken. INTERNAL if it is something else. */
GPUC_NODISCARD gpuc_status gpuc_runtime_module_of(gpuc_runtime *rt, const char *name, gpuc_value *result,
                                                  gpuc_module **out);
/* The module that a registered function gives. INTERNAL if it gives something else. */
GPUC_NODISCARD gpuc_status gpuc_runtime_module_by(gpuc_runtime *rt, const char *name, const gpuc_value *args,
                                                  int num_args, gpuc_module **out);

/* Whether the device's CPU has an instruction set that code was compiled for: "cpu.avx2". */
GPUC_NODISCARD gpuc_status gpuc_device_check_instruction_set(gpuc_device *dev, const char *name);

#endif
