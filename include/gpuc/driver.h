/* SPDX-License-Identifier: Apache-2.0 */
/* How a backend joins a runtime: a driver says how many devices there are and opens one; the DeviceAPI of
 * gpuc/device.h runs it. gpuc's own backends enter through the same door.
 *
 * A device can be small: without streams of its own it runs what it is given at once, and without plans it is
 * launched step by step. See docs/adding-a-backend.md. */
#ifndef GPUC_DRIVER_H
#define GPUC_DRIVER_H

#include <gpuc/kernel.h>
#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of devices. Static. */
typedef struct gpuc_driver {
    size_t struct_size; /* sizeof(gpuc_driver) of the header it was compiled with */
    const char *name;   /* "vulkan": of its devices, vulkan:0 on; a C identifier of less than 32 bytes */
    const gpuc_device_api *api; /* the functions of all its devices; static */
    /* Number of devices; *out = 0 with a status that says why if the driver is missing. */
    gpuc_status (*count)(gpuc_runtime *rt, void *self, int *out);
    /* Opens a device below the count: memory that begins with a gpuc_device, which the runtime fills in when it
     * has it, and destroys through the api when the runtime is released. */
    gpuc_status (*open)(gpuc_runtime *rt, void *self, int index, gpuc_device **out);
    void (*free_self)(gpuc_runtime *rt, void *self); /* (optional) after all its devices are destroyed */
} gpuc_driver;

/* Adds the devices of a driver to the runtime: gpuc_device_open finds them by gpuc_device_type_named(name), texts
 * as "name:0", and the registry has `device_api.<name>` (driver -> its gpuc_device_api as a handle) and
 * `device_api.<name>.<method>`, which take a device, or its number, first (docs/adding-a-backend.md lists them).
 * self is the driver's state (the handle of a library, ...), owned by the runtime from success on. count and
 * open are called one at a time, under a lock: they must not open devices themselves.
 * INVALID_ARGUMENT if the name is taken or no identifier, a function is missing that is not optional, or some
 * but not all functions of streams, or of plans, are there. UNSUPPORTED if a struct is of another version. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_driver_register(gpuc_runtime *rt, const gpuc_driver *driver,
                                                         void *self);
/* The number of registered drivers. */
GPUC_API size_t gpuc_driver_count(gpuc_runtime *rt);
/* The name of driver i, in the order of their registration; NULL behind the last. */
GPUC_API const char *gpuc_driver_name(gpuc_runtime *rt, size_t i);

/* ---- For drivers: services of the runtime ---- */

/* The application's allocator, for all memory of the host. */
GPUC_API gpuc_allocator gpuc_runtime_allocator(gpuc_runtime *rt);
/* Sends a message to the application (gpuc_runtime_desc.log). */
GPUC_API void gpuc_runtime_log(gpuc_runtime *rt, gpuc_log_level level, const char *id, const char *fmt, ...)
    GPUC_PRINTF(4, 5);
/* The application's cache of compiled code (gpuc_runtime_desc.cache_load). */
GPUC_API bool gpuc_runtime_cache_load(gpuc_runtime *rt, const char *key, const void **bytes, size_t *size);
/* The same, to keep bytes. */
GPUC_API void gpuc_runtime_cache_store(gpuc_runtime *rt, const char *key, const void *bytes, size_t size);

/* For copy functions: checks that the `bytes` from this end on (side: "source" or "destination") are memory of
 * dev or of the host. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_check_copy(const gpuc_device *dev, const gpuc_copy_end *end,
                                                           size_t bytes, const char *side);
/* For everything that takes a stream: INVALID_ARGUMENT if it is of another device. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_check_stream(const gpuc_device *dev,
                                                             const gpuc_stream *stream);
/* For launches and plans: whether the slot of a tensor is bound to memory of dev that holds all of the tensor. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_check_tensor(const gpuc_device *dev,
                                                             const gpuc_bindings *bindings,
                                                             const gpuc_step_tensor *tensor);
/* For tickets: refuses a number beyond the last that dev has given. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_device_check_ticket(const gpuc_device *dev, uint64_t ticket,
                                                             uint64_t last);

#ifdef __cplusplus
}
#endif
#endif
