/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a runtime. Every object that an application can hold (array, function, module,
 * model) pins the runtime; devices and drivers go when the last pin does. The registry is emptied as
 * soon as the application releases the runtime, since its functions pin it too. */
#ifndef GPUC_RUNTIME_IMPL_H
#define GPUC_RUNTIME_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/services.h"
#include "runtime/workspace_pool.h"

typedef struct gpuc_registry_entry {
    char *name;
    gpuc_function *function;
} gpuc_registry_entry;

/* current.c: the device and the streams that a thread has set. */
typedef struct gpuc_thread_current gpuc_thread_current;

#define GPUC_DRIVER_NAME_SIZE 32

typedef struct gpuc_driver_entry {
    gpuc_runtime *runtime;
    gpuc_driver driver;
    gpuc_device_type type;
    gpuc_device_api api; /* the driver's, completed: of all its devices */
    void *self;
    struct gpuc_driver_entry *next;
} gpuc_driver_entry;

/* What an entry of the registry was before it changed, while a plug-in is being loaded. */
struct gpuc_registry_change {
    struct gpuc_registry_change *next;
    gpuc_function *before; /* NULL: there was none */
    size_t size;           /* of all of it */
    char name[];
};

typedef struct gpuc_plugin {
    void *handle; /* of dlopen */
    bool failed;  /* its gpuc_plugin_init: what it registered is gone, and it may be loaded again */
    struct gpuc_plugin *next;
} gpuc_plugin;

typedef struct gpuc_open_device {
    gpuc_device_type type;
    int index;
    gpuc_device *device; /* NULL: it was closed, and the record is free */
    gpuc_workspace_pool pool;
    atomic_size_t pins;  /* arrays, streams and code on it */
    char dimensions[64]; /* GPUC_ATTR_MAX_THREAD_DIMENSIONS; empty: unknown */
    struct gpuc_open_device *next;
} gpuc_open_device;

struct gpuc_runtime {
    gpuc_runtime_desc desc;
    gpuc_allocator allocator;
    atomic_size_t pins;
    uint64_t serial;                      /* never used twice in a process */
    pthread_mutex_t mutex;                /* guards opening, and what adds to these two: */
    _Atomic(gpuc_driver_entry *) drivers; /* newest first; both only ever grow at the head: read without it */
    _Atomic(gpuc_open_device *) devices;
    pthread_mutex_t current_mutex; /* guards the list, not what is in it */
    gpuc_thread_current *currents; /* of all threads */
    gpuc_registry_entry *entries;  /* sorted by name */
    size_t num_entries, entry_capacity;
    gpuc_registry_change *changes; /* newest first, while loading is not 0 */
    int loading;                   /* plug-ins that are being loaded, one by another */
    gpuc_plugin *plugins;          /* newest first */
};

void gpuc_registry_clear(gpuc_runtime *rt);
/* Removes drivers that were registered after that one, but for those that have opened devices. Their functions must be
 * out of the registry. */
void gpuc_runtime_remove_drivers(gpuc_runtime *rt, const gpuc_driver_entry *last);
/* Destroys pools, devices and drivers. */
void gpuc_runtime_close_devices(gpuc_runtime *rt);
/* NULL if there is none for devices of this type. */
gpuc_driver_entry *gpuc_runtime_find_driver(gpuc_runtime *rt, gpuc_device_type type);
/* Writes the record's dimensions, which follow from other attributes. */
void gpuc_runtime_fill_dimensions(gpuc_open_device *open);
/* Closes the plug-ins' libraries, the newest first: nothing of their code may run any more. */
void gpuc_runtime_close_plugins(gpuc_runtime *rt);
/* The record of a device that this runtime opened, or NULL. */
gpuc_open_device *gpuc_runtime_find_open(gpuc_runtime *rt, const gpuc_device *dev);

#endif
