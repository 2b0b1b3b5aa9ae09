/* SPDX-License-Identifier: Apache-2.0 */
/* How a backend joins a runtime: one row with how many devices there are and how to open one.
 * gpuc_<kind>_register enters the row, and `device_api.<name>` in the registry. */
#ifndef GPUC_RUNTIME_DRIVER_H
#define GPUC_RUNTIME_DRIVER_H

#include <gpuc/device.h>
#include <gpuc/runtime.h>

typedef struct gpuc_device_driver {
    gpuc_device_type type;
    const char *name; /* "vulkan" */
    /* Number of devices; *out = 0 with a status that says why if the driver is missing. */
    gpuc_status (*count)(gpuc_runtime *rt, void *self, int *out);
    /* The device is destroyed through api->destroy when the runtime is released. */
    gpuc_status (*open)(gpuc_runtime *rt, void *self, int index, gpuc_device **out);
    void (*free_self)(gpuc_runtime *rt, void *self);
} gpuc_device_driver;

/* driver is static. self is the backend's state (loader handle, ...), owned by the runtime from success
 * on. count and open are called one at a time, under a lock: they must not open devices themselves. */
GPUC_NODISCARD gpuc_status gpuc_runtime_add_driver(gpuc_runtime *rt, const gpuc_device_driver *driver,
                                                   void *self);

/* For backends and executors: the runtime's services. An object that an application holds pins the
 * runtime, so that devices outlive their buffers whatever order things are released in. */
void gpuc_runtime_pin(gpuc_runtime *rt);
void gpuc_runtime_unpin(gpuc_runtime *rt);
gpuc_allocator gpuc_runtime_allocator(gpuc_runtime *rt);
const gpuc_runtime_desc *gpuc_runtime_get_desc(gpuc_runtime *rt);
void gpuc_runtime_log(gpuc_runtime *rt, gpuc_log_level level, const char *id, const char *fmt, ...)
    GPUC_PRINTF(4, 5);
bool gpuc_runtime_cache_load(gpuc_runtime *rt, const char *key, const void **bytes, size_t *size);
void gpuc_runtime_cache_store(gpuc_runtime *rt, const char *key, const void *bytes, size_t size);

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

/* For the copy functions of devices: checks that the `bytes` from this end on (side: "source" or
 * "destination") are memory of dev or of the host. */
GPUC_NODISCARD gpuc_status gpuc_device_check_copy(const gpuc_device *dev, const gpuc_copy_end *end,
                                                  size_t bytes, const char *side);

/* For everything that takes a stream: INVALID_ARGUMENT if it is of another device. */
GPUC_NODISCARD gpuc_status gpuc_device_check_stream(const gpuc_device *dev, const gpuc_stream *stream);
/* Whether the slot of a tensor is bound to memory of dev that holds all of the tensor. */
GPUC_NODISCARD gpuc_status gpuc_device_check_tensor(const gpuc_device *dev, const gpuc_bindings *bindings,
                                                    const gpuc_step_tensor *tensor);
/* Refuses the number of a ticket beyond the last that dev has given. */
GPUC_NODISCARD gpuc_status gpuc_device_check_ticket(const gpuc_device *dev, uint64_t ticket, uint64_t last);

/* Whether the device's CPU has an instruction set that code was compiled for: "cpu.avx2". */
GPUC_NODISCARD gpuc_status gpuc_device_check_instruction_set(gpuc_device *dev, const char *name);

#endif
